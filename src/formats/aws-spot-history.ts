/**
 * AWS' spot price history as describe-spot-price-history returns it, flattened to CSV: change points by availability
 * zone.
 *
 * Spot prices differ by zone, so the zone is the price's region: there is no single price of the whole region, and none
 * is made up. Linux/UNIX only: other products have other prices under the same instance type.
 */
import type { PriceFormat } from '../core/ports.js';
import { isoInstant } from '../core/time.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { quotedText } from './reading/bill.js';
import { PriceRow } from './reading/price-row.js';
import { SpotPoints } from './reading/spot-series.js';
import { hasColumns, readCsvTable, type Header, type RowReader } from './reading/table.js';

const NAME = 'aws-spot-history';
const PRODUCTS = new Set(['Linux/UNIX', 'Linux/UNIX (Amazon VPC)']);

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'AWS spot price history: change points by instance type and availability zone',
  recognises: (input) => hasColumns(input, 'Timestamp', 'AvailabilityZone', 'InstanceType', 'SpotPrice'),
  async *read(input) {
    const points = new SpotPoints();
    const source = `${NAME}: ${input.name}`;
    for await (const { rejects } of readCsvTable<never>(input, (header) => prepare(header, points, source))) {
      if (rejects.length > 0) yield { events: [], rejects };
    }
    for (const events of points.events()) yield { events, rejects: [] };
  },
};

function prepare(header: Header, points: SpotPoints, source: string): RowReader<never> {
  const at = header.required('Timestamp');
  const zone = header.required('AvailabilityZone');
  const type = header.required('InstanceType');
  const product = header.optional('ProductDescription');
  const hourly = header.required('SpotPrice');
  return (cells, _out, problems) => {
    const row = new PriceRow(cells, problems);
    const sku = row.text(type, 'InstanceType');
    const region = row.text(zone, 'AvailabilityZone');
    const instant = row.instant(at, 'Timestamp', isoInstant);
    const system = cells.repeated(product);
    if (system !== '' && !PRODUCTS.has(system))
      row.problem('ProductDescription', `${quotedText(system)} is not Linux/UNIX`);
    const price = row.requiredPrice(hourly, 'SpotPrice');
    if (price === null || !row.sound) return;
    const known = awsInstanceGpus(sku);
    points.add(
      {
        provider: 'AWS',
        sku,
        region,
        gpuModel: known?.model ?? null,
        gpus: known?.gpus ?? null,
        currency: 'USD',
        source,
      },
      instant,
      price,
    );
  };
}
