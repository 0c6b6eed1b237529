/** The report as PDF, with its fonts in it. */
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'pdf',
  media: 'application/pdf',
  async render(report, reader) {
    // What draws is heavy: it is loaded when somebody asks for a report.
    const [{ write }, { bookletOf }] = await Promise.all([
      import('../report/written.js'),
      import('../report/booklet.js'),
    ]);
    return bookletOf(write(report, reader), report.madeAt);
  },
};
