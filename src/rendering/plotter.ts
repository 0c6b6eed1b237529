/** The way to the pictures of backtests. The libraries that draw are heavy: they are loaded with the first picture. */
import type { BacktestPlotter } from '../core/ports.js';

export const plotter: BacktestPlotter = {
  async plot(report, format) {
    const { backtestPlot } = await import('./backtest-plot.js');
    const { drawPlot } = await import('./plot-option.js');
    const svg = drawPlot(backtestPlot(report));
    return format === 'svg' ? Buffer.from(svg) : (await import('./chart.js')).renderPng(svg);
  },
};
