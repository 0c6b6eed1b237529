/**
 * The pictures of a report as ECharts options. Every figure in them is in a table too; geometry alone is floating
 * point.
 *
 * Colours are Okabe and Ito's (rendering/chart.ts). Names in a picture are cut or broken, never written over others.
 */
import type { EChartsOption } from 'echarts';
import { EFFECTS } from '../../core/report/bridge.js';
import type { Report } from '../../core/report/report.js';
import { OKABE_ITO, renderSvg, shortened } from '../chart.js';
import { CHARTS, type ChartName } from './document.js';
import { printable, type Formatter } from './format.js';
import type { TextKey, Texts } from './texts.js';

const SIZE = { width: 760, height: 300 };
const FONT_SIZE = 12;
const LABEL_PIXELS = 150;
const MOST_BARS = 12;

/** For geometry only. */
const number = (amount: string | null): number => (amount === null ? 0 : Number(amount));

type Made = Pick<EChartsOption, 'series' | 'xAxis' | 'yAxis' | 'legend' | 'grid'> & { readonly height?: number };

export class Charts {
  constructor(
    private readonly report: Report,
    private readonly texts: Texts,
    private readonly format: Formatter,
  ) {}

  /** SVG text; null where there is nothing to draw. */
  svg(name: ChartName): string | null {
    const made = this.made(name);
    if (made === null) return null;
    const { height = SIZE.height, ...option } = made;
    const title = this.texts.text(`chart.${name}` as TextKey);
    return renderSvg(
      { textStyle: { fontSize: FONT_SIZE }, ...option },
      { ...SIZE, height, title, description: `${title}. ${this.texts.text('chart.table')}` },
    );
  }

  /** The picture for messages: the first that there is. */
  main(): string | null {
    return CHARTS.map((name) => this.svg(name)).find((svg) => svg !== null) ?? null;
  }

  title(name: ChartName): string {
    return this.texts.text(`chart.${name}` as TextKey);
  }

  private made(name: ChartName): Made | null {
    switch (name) {
      case 'spend':
        return this.spend();
      case 'bridge':
        return this.bridge();
      case 'gpu':
        return this.gpu();
    }
  }

  private axis(): { type: 'value'; axisLabel: { formatter: (value: number) => string }; splitNumber: number } {
    const { currency } = this.report;
    const short = new Intl.NumberFormat(this.format.reader.locale, {
      style: 'currency',
      currency,
      notation: 'compact',
      minimumFractionDigits: 0,
      maximumFractionDigits: 1,
    });
    return { type: 'value', axisLabel: { formatter: (value) => short.format(value) }, splitNumber: 4 };
  }

  private spend(): Made | null {
    const { spend, budgets, currency, team } = this.report;
    if (spend.byDay.length === 0) return null;
    let sum = 0;
    const cumulative = spend.byDay.map(({ amount }) => (sum += number(amount)));
    const planned =
      budgets.find((budget) => budget.team === team && budget.planned !== null && budget.currency === currency)
        ?.planned ?? null;
    const names = [
      this.texts.text('chart.cumulative'),
      this.texts.text('chart.daily'),
      ...(planned === null ? [] : [this.texts.text('chart.planned')]),
    ];
    return {
      grid: { left: 80, right: 24, top: 40, bottom: 40 },
      legend: { top: 4, data: names },
      xAxis: { type: 'category', data: spend.byDay.map(({ day }) => String(Number(day.slice(8)))) },
      yAxis: this.axis(),
      series: [
        {
          type: 'line',
          name: names[0] ?? '',
          data: cumulative,
          symbol: 'none',
          lineStyle: { width: 3 },
          itemStyle: { color: OKABE_ITO.blue },
        },
        {
          type: 'bar',
          name: names[1] ?? '',
          data: spend.byDay.map(({ amount }) => number(amount)),
          itemStyle: { color: OKABE_ITO.skyBlue },
        },
        ...(planned === null
          ? []
          : [
              {
                type: 'line' as const,
                name: names[2] ?? '',
                data: spend.byDay.map(() => number(planned)),
                symbol: 'none',
                lineStyle: { type: 'dashed' as const },
                itemStyle: { color: OKABE_ITO.orange },
              },
            ]),
      ],
    };
  }

  /** A waterfall: an invisible bar carries each step. */
  private bridge(): Made | null {
    const { known } = this.report.bridge;
    if (known === null) return null;
    const steps = EFFECTS.map((effect) => ({ effect, change: number(known.effects[effect]) })).filter(
      ({ change }) => change !== 0,
    );
    const [before, after] = [number(known.before), number(known.after)];
    let level = before;
    const bars = steps.map(({ effect, change }) => {
      const from = level;
      level += change;
      return {
        label: this.texts.text(`effect.${effect}`),
        low: Math.min(from, level),
        size: Math.abs(change),
        colour: change > 0 ? OKABE_ITO.orange : OKABE_ITO.bluishGreen,
      };
    });
    const all = [
      { label: this.texts.text('effect.before'), low: 0, size: before, colour: OKABE_ITO.blue },
      ...bars,
      { label: this.texts.text('effect.after'), low: 0, size: after, colour: OKABE_ITO.blue },
    ];
    return {
      grid: { left: 80, right: 24, top: 24, bottom: 64 },
      xAxis: {
        type: 'category',
        data: all.map(({ label }) => label),
        axisLabel: { interval: 0, width: (SIZE.width - 104) / all.length - 6, overflow: 'break' },
      },
      yAxis: this.axis(),
      series: [
        {
          type: 'bar',
          stack: 'step',
          silent: true,
          itemStyle: { color: 'transparent' },
          data: all.map(({ low }) => low),
        },
        {
          type: 'bar',
          stack: 'step',
          data: all.map(({ size, colour }) => ({ value: size, itemStyle: { color: colour } })),
        },
      ],
    };
  }

  private gpu(): Made | null {
    const { spend } = this.report;
    const lines = spend.byGpuModel.filter(({ amount }) => amount !== null && number(amount) > 0).slice(0, MOST_BARS);
    if (lines.length === 0) return null;
    const label = (name: string | null): string =>
      shortened(name === null ? this.texts.text('unknown') : printable(name), LABEL_PIXELS, FONT_SIZE);
    return {
      height: 70 + 28 * lines.length,
      grid: { left: LABEL_PIXELS + 20, right: 40, top: 16, bottom: 40 },
      xAxis: this.axis(),
      yAxis: {
        type: 'category',
        inverse: true,
        data: lines.map(({ name }) => label(name)),
        axisLabel: { interval: 0 },
      },
      series: [{ type: 'bar', data: lines.map(({ amount }) => number(amount)), itemStyle: { color: OKABE_ITO.blue } }],
    };
  }
}
