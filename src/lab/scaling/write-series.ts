/**
 * Writes a seeded series of `series.ts` as the arrivals CSV that `bursar backtest scaling` reads.
 *
 * Synthetic, and named so in its header. The requests of a minute are spread evenly over it: only the minute counts.
 */

import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { seededSeries, SERIES_DEFAULTS, type SeriesSettings } from './series.js';

/** Writes milliseconds from the start, one arrival per line; returns how many. */
export async function writeSeededArrivals(
  options: Partial<SeriesSettings> & { readonly out: string },
): Promise<number> {
  const { out, ...settings } = options;
  const requests = seededSeries({ ...SERIES_DEFAULTS, ...settings });
  const file = createWriteStream(out);
  let arrivals = 0;
  file.write('synthetic_timestamp_ms\n');
  for (let minute = 0; minute < requests.length; minute++) {
    const count = requests[minute]!;
    let lines = '';
    for (let i = 0; i < count; i++) lines += `${minute * 60_000 + Math.floor((i * 60_000) / count)}\n`;
    arrivals += count;
    if (!file.write(lines)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
  return arrivals;
}
