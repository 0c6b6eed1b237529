/** The report as JSON: the model itself, whoever reads it. */
import type { ReportRenderer } from '../../core/ports.js';

export const renderer: ReportRenderer = {
  name: 'json',
  media: 'application/json; charset=utf-8',
  render: async (report) => new TextEncoder().encode(`${JSON.stringify(report, null, 2)}\n`),
};
