/**
 * Google Cloud's list prices of accelerator machine types, as one row per machine type and region with hourly, spot and
 * committed prices and the date of the snapshot.
 *
 * `hour` is on demand, `hour_spot` spot, `month_1y` and `month_3y` are resource-based commitments over months of 730
 * hours, paid monthly: reserved without upfront. A snapshot's price holds from its date on. The machine types' `a100`
 * has 40 GB and `rtx6000` is the RTX PRO 6000 (Google Cloud, "GPU machine types").
 */
import { modelOf } from '../core/fleet/gpu-model.js';
import type { PriceFormat } from '../core/ports.js';
import type { PriceEvent } from '../core/price/price.js';
import type { Term } from '../core/usage.js';
import { isoInstant } from '../core/time.js';
import { quotedText } from './reading/bill.js';
import { HOURS_PER_MONTH, instancePrice, PriceRow, readCsvPrices } from './reading/price-row.js';
import { hasColumns, type Header, type RowReader } from './reading/table.js';

const NAME = 'gcp-prices';
const PROVIDER = 'Google Cloud';
/** Google's names that say less than the model, or another one. */
const MODELS: Readonly<Record<string, string>> = { a100: 'A100-40GB', rtx6000: 'RTX-PRO-6000' };
const ACCELERATOR = /^([a-z0-9-]+)=(\d+(?:\.\d+)?)$/;

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'Google Cloud accelerator machine types: hourly, spot, 1- and 3-year prices by region',
  recognises: (input) => hasColumns(input, 'instance_type', 'accelerator', 'hour', 'hour_spot', 'month_1y'),
  read: readCsvPrices(prepare, NAME),
};

function prepare(header: Header, source: string): RowReader<PriceEvent> {
  const snapshot = header.required('snapshot');
  const type = header.required('instance_type');
  const accelerator = header.required('accelerator');
  const region = header.required('region');
  const offers: readonly { name: string; column: number; term: Term; hours: number }[] = [
    { name: 'hour', column: header.required('hour'), term: 'on-demand', hours: 1 },
    { name: 'hour_spot', column: header.optional('hour_spot'), term: 'spot', hours: 1 },
    { name: 'month_1y', column: header.optional('month_1y'), term: 'reserved-1y', hours: HOURS_PER_MONTH },
    { name: 'month_3y', column: header.optional('month_3y'), term: 'reserved-3y', hours: HOURS_PER_MONTH },
  ];
  return (cells, out, problems) => {
    const row = new PriceRow(cells, problems);
    const sku = row.text(type, 'instance_type');
    const place = row.text(region, 'region');
    const effectiveFrom = row.instant(snapshot, 'snapshot', isoInstant);
    const text = row.text(accelerator, 'accelerator');
    const match = ACCELERATOR.exec(text);
    if (match === null) return row.problem('accelerator', `${quotedText(text)} is not an accelerator and its number`);
    const name = match[1] ?? '';
    const gpus = row.gpusOf(match[2] ?? '', 'accelerator');
    if (!row.sound) return;
    for (const { name: offer, column, term, hours } of offers) {
      const price = row.price(column, offer);
      if (price === null) continue;
      out.push(
        instancePrice({
          provider: PROVIDER,
          sku,
          region: place,
          term,
          gpuModel: MODELS[name] ?? modelOf(name),
          gpus,
          price,
          hours,
          currency: 'USD',
          effectiveFrom,
          source,
        }),
      );
    }
  };
}
