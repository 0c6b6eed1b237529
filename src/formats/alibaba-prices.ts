/**
 * Alibaba Cloud's pay-as-you-go prices of GPU instances by region.
 *
 * The list names no currency and no date. Its amounts are those of yuan, not dollars (19.127 an hour for one A10), so
 * they are read as CNY, and every price's source says so. The date is that of the published snapshot, 2024-10-16,
 * unless the file's name holds one. The model follows from the instance family (Alibaba Cloud, "GPU-accelerated
 * compute-optimized instance families"); for families that share a GPU (sgn, vgn) the list's count is not a count of
 * GPUs and is ignored.
 */
import type { Input, PriceFormat } from '../core/ports.js';
import type { PriceEvent } from '../core/price/price.js';
import type { Term } from '../core/usage.js';
import { dateInName, instancePrice, PriceRow, readCsvPrices } from './reading/price-row.js';
import { hasColumns, type Header, type RowReader } from './reading/table.js';

const NAME = 'alibaba-prices';
const SNAPSHOT = '2024-10-16';

const MODELS: Readonly<Record<string, string>> = {
  gn5: 'P100',
  gn5i: 'P4',
  gn6v: 'V100-16GB',
  gn6e: 'V100-32GB',
  gn6i: 'T4',
  gn7: 'A100-40GB',
  gn7e: 'A100-80GB',
  gn7i: 'A10',
  gn7ix: 'A10',
};
const FAMILY = /^ecs\.(?:ebm)?(gn\d[a-z]*)[-.]/;

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'Alibaba Cloud GPU instances, pay-as-you-go by region (CNY)',
  recognises: (input) =>
    hasColumns(input, 'region', 'instance_type', 'gpu', 'on_demand_price_per_hour', 'spot_price_per_hour'),
  read: readCsvPrices(prepare, NAME),
};

function prepare(header: Header, source: string, input: Input): RowReader<PriceEvent> {
  const effectiveFrom = dateInName(input.name, SNAPSHOT);
  const region = header.required('region');
  const type = header.required('instance_type');
  const count = header.required('gpu');
  const onDemand = header.required('on_demand_price_per_hour');
  const spot = header.optional('spot_price_per_hour');
  return (cells, out, problems) => {
    const row = new PriceRow(cells, problems);
    const sku = row.text(type, 'instance_type');
    const place = row.text(region, 'region');
    const stated = row.gpus(count, 'gpu');
    const family = FAMILY.exec(sku)?.[1];
    const add = (term: Term, price: ReturnType<PriceRow['price']>): void => {
      if (price === null) return;
      out.push(
        instancePrice({
          provider: 'Alibaba Cloud',
          sku,
          region: place,
          term,
          gpuModel: family === undefined ? null : (MODELS[family] ?? null),
          gpus: family === undefined ? null : stated,
          price,
          currency: 'CNY',
          effectiveFrom,
          source: `${source} (currency not stated, CNY by magnitude)`,
        }),
      );
    };
    const prices = {
      onDemand: row.requiredPrice(onDemand, 'on_demand_price_per_hour'),
      spot: row.price(spot, 'spot_price_per_hour'),
    };
    if (!row.sound) return;
    add('on-demand', prices.onDemand);
    add('spot', prices.spot);
  };
}
