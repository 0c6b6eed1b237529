/**
 * AWS' on-demand prices as a history of change events: an instance type was first seen, changed its price, or was
 * removed.
 *
 * A removal withdraws the type from the catalogue; the price book decides whether it is gone or the catalogue flaps. A
 * price holds from the time at which it was seen.
 */
import type { PriceFormat } from '../core/ports.js';
import type { PriceEvent } from '../core/price/price.js';
import { isoInstant } from '../core/time.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { quotedText } from './reading/bill.js';
import { instancePrice, PriceRow, readCsvPrices } from './reading/price-row.js';
import { hasColumns, type Header, type RowReader } from './reading/table.js';

const NAME = 'aws-price-history';
const PROVIDER = 'AWS';

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'AWS on-demand price history: first seen, changed and removed, by instance type',
  recognises: (input) => hasColumns(input, 'snapshot_generated_at', 'region', 'instance_type', 'usd_per_hour', 'event'),
  read: readCsvPrices(prepare, NAME),
};

function prepare(header: Header, source: string): RowReader<PriceEvent> {
  const at = header.required('snapshot_generated_at');
  const region = header.required('region');
  const type = header.required('instance_type');
  const hourly = header.required('usd_per_hour');
  const event = header.required('event');
  return (cells, out, problems) => {
    const row = new PriceRow(cells, problems);
    const sku = row.text(type, 'instance_type');
    const place = row.text(region, 'region');
    const effectiveFrom = row.instant(at, 'snapshot_generated_at', isoInstant);
    const kind = row.text(event, 'event');
    if (kind === 'removed') {
      out.push({ kind: 'withdrawn', provider: PROVIDER, sku, region: place, at: effectiveFrom });
      return;
    }
    if (kind !== 'first_seen' && kind !== 'changed')
      row.problem('event', `${quotedText(kind)} is none of first_seen, changed and removed`);
    const price = row.requiredPrice(hourly, 'usd_per_hour');
    if (price === null) return;
    const known = awsInstanceGpus(sku);
    out.push(
      instancePrice({
        provider: PROVIDER,
        sku,
        region: place,
        term: 'on-demand',
        gpuModel: known?.model ?? null,
        gpus: known?.gpus ?? null,
        price,
        currency: 'USD',
        effectiveFrom,
        source,
      }),
    );
  };
}
