/** The report's main picture alone, for messages: spend day by day against the budget. */
import { missing } from '../../core/errors.js';
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'png',
  media: 'image/png',
  /** @throws Failure missing where there is nothing to draw. */
  async render(report, reader) {
    // What draws is heavy: it is loaded when somebody asks for a report.
    const [{ write }, { renderPng }] = await Promise.all([import('../report/written.js'), import('../chart.js')]);
    const svg = write(report, reader).charts.main();
    if (svg === null) throw missing(`the report of ${report.team} for ${report.month} has nothing to draw`);
    return renderPng(svg);
  },
};
