/** The report as CSV: one row per figure. */
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'csv',
  media: 'text/csv; charset=utf-8; header=present',
  async render(report, reader) {
    // What draws is heavy: it is loaded when somebody asks for a report.
    const [{ write }, { csvOf }] = await Promise.all([import('../report/written.js'), import('../report/csv.js')]);
    const { sections, format } = write(report, reader);
    const { team, month, zone, currency, from, to, asOf, madeAt, isOver } = report;
    const facts = Object.entries({ team, month, zone, currency, from, to, asOf, madeAt, isOver: String(isOver) });
    return new TextEncoder().encode(csvOf(facts, sections, format));
  },
};
