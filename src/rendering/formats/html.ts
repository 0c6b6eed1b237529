/** The report as one HTML file. */
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'html',
  media: 'text/html; charset=utf-8',
  async render(report, reader) {
    // What draws is heavy: it is loaded when somebody asks for a report.
    const [{ write }, { pageOf }] = await Promise.all([import('../report/written.js'), import('../report/page.js')]);
    const { texts, format, charts, cover, ...page } = write(report, reader);
    return new TextEncoder().encode(pageOf({ ...page, sentences: cover.sentences }, texts, format, charts));
  },
};
