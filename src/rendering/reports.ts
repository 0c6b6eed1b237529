/**
 * The formats of a monthly report, by name. What draws and sets is heavy: each is loaded when it is first asked for.
 */
import type { ReportRenderers } from '../core/ports.js';
import { readerOf } from '../core/report/reader.js';
import type { Report } from '../core/report/report.js';
import { renderer as csv } from './formats/csv.js';
import { renderer as html } from './formats/html.js';
import { renderer as json } from './formats/json.js';
import { renderer as pdf } from './formats/pdf.js';
import { renderer as png } from './formats/png.js';
import { renderer as xlsx } from './formats/xlsx.js';

export const renderers: ReportRenderers = new Map(
  [html, pdf, csv, xlsx, json, png].map((renderer) => [renderer.name, renderer]),
);

/** The main picture of a report as PNG, for the month's digest; null where there is nothing to draw. */
export async function mainPicture(report: Report): Promise<Uint8Array | null> {
  return report.spend.byDay.length === 0 ? null : png.render(report, readerOf('en'));
}
