/** The report as a workbook: a sheet for each section. */
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'xlsx',
  media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  async render(report, reader) {
    // What draws is heavy: it is loaded when somebody asks for a report.
    const [{ write }, { workbookOf }] = await Promise.all([
      import('../report/written.js'),
      import('../report/workbook.js'),
    ]);
    const { title, leads, sections, format, texts } = write(report, reader);
    return workbookOf(title, leads, sections, format, texts.text('empty-cell'));
  },
};
