/**
 * A table of GPU prices across clouds, collected by hand: instances on demand and spot, or serverless GPUs by the hour.
 *
 * Dirty as people's tables are: blanks, `$` signs, one name for several configurations. The instance's price counts,
 * the one per GPU stands in where it is blank; a row whose two prices contradict each other is rejected, not averaged.
 * The table states no region (its prices hold everywhere), no currency but `$`, and no date: the file's name gives it,
 * otherwise that of the published snapshot, 2025-03-07.
 */
import { modelOf } from '../core/fleet/gpu-model.js';
import { formatDecimal, type Decimal } from '../core/decimal.js';
import type { Input, PriceFormat } from '../core/ports.js';
import { providerName, type PriceEvent } from '../core/price/price.js';
import { dateInName, instancePrice, PriceRow, readCsvPrices } from './reading/price-row.js';
import { hasColumns, type Header, type RowReader } from './reading/table.js';
import type { Term } from '../core/usage.js';

const NAME = 'cloud-gpu-table';
const SNAPSHOT = '2025-03-07';

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'GPU prices across clouds, collected by hand (instances or serverless)',
  origin: 'third-party',
  recognises: (input) =>
    hasColumns(input, 'GPU Type', 'GPUs', 'Per-GPU') &&
    (hasColumns(input, 'Cloud', 'On-demand') || hasColumns(input, 'Vendor', 'Per-Hour')),
  read: readCsvPrices(prepare, NAME),
};

function prepare(header: Header, source: string, input: Input): RowReader<PriceEvent> {
  const serverless = header.has('Vendor');
  const effectiveFrom = dateInName(input.name, SNAPSHOT);
  const columns = {
    cloud: header.required('Cloud', 'Vendor'),
    type: header.required('GPU Type'),
    gpus: header.required('GPUs'),
    whole: header.required('On-demand', 'Per-Hour'),
    each: header.required('Per-GPU'),
    spot: header.optional('Spot'),
    name: header.optional('Name'),
    cpus: header.optional('vCPUs'),
    memory: header.optional('RAM'),
  };
  const offers = new Offers();
  const wholeName = serverless ? 'Per-Hour' : 'On-demand';
  return (cells, out, problems) => {
    const row = new PriceRow(cells, problems);
    const provider = providerName(row.text(columns.cloud, serverless ? 'Vendor' : 'Cloud'));
    const type = row.text(columns.type, 'GPU Type');
    const gpus = row.gpus(columns.gpus, 'GPUs');
    const whole = row.price(columns.whole, wholeName);
    const each = row.price(columns.each, 'Per-GPU');
    const spot = row.price(columns.spot, 'Spot');
    if (whole === null && each === null && row.sound) row.problem(wholeName, 'the value is missing, and so is Per-GPU');
    if (whole !== null && each !== null && contradict(whole, each, gpus)) {
      row.problem(wholeName, `${formatDecimal(whole)} for ${gpus} GPUs contradicts ${formatDecimal(each)} per GPU`);
    }
    const name = cells.repeated(columns.name).trim();
    const sku = offers.nameOf(
      whole ?? each,
      skuOf({ name, type, gpus, serverless, cpus: cells.text(columns.cpus), memory: cells.text(columns.memory) }),
    );
    const add = (term: Term, price: Decimal | null, hours: number): void => {
      if (price === null) return;
      out.push(
        instancePrice({
          provider,
          sku,
          region: null,
          term,
          gpuModel: modelOf(type),
          gpus,
          price,
          hours,
          currency: 'USD',
          effectiveFrom,
          source,
        }),
      );
    };
    if (!row.sound) return;
    // A price per GPU over 1/gpus of an hour of the instance: the same GPU-seconds.
    add('on-demand', whole ?? each, whole === null ? 1 / gpus : 1);
    add('spot', spot, 1);
  };
}

/**
 * Some sellers' price per GPU leaves out the CPUs and memory beside it, so that the instance may cost up to a third
 * more.
 */
function contradict(whole: Decimal, each: Decimal, gpus: number): boolean {
  const instance = Number(formatDecimal(whole));
  const parts = Number(formatDecimal(each)) * gpus;
  return instance > parts * 1.34 || instance < parts * 0.9;
}

/**
 * Some sellers list one configuration twice at two prices: the second is another offer, numbered in the table's order.
 */
class Offers {
  private readonly prices = new Map<string, string[]>();

  nameOf(price: Decimal | null, sku: string): string {
    const prices = this.prices.get(sku) ?? [];
    this.prices.set(sku, prices);
    const text = price === null ? '' : formatDecimal(price);
    if (!prices.includes(text)) prices.push(text);
    const number = prices.indexOf(text) + 1;
    return number === 1 ? sku : `${sku} (${number})`;
  }
}

interface Configuration {
  readonly name: string;
  readonly type: string;
  readonly gpus: number;
  readonly serverless: boolean;
  readonly cpus: string;
  readonly memory: string;
}

/** The instance's name; where there is none, or it leaves the GPUs open (Google's n1), the configuration. */
function skuOf({ name, type, gpus, serverless, cpus, memory }: Configuration): string {
  if (name.startsWith('n1-')) return `${name} + ${gpus}x ${type}`;
  if (name !== '') return name;
  const size = [cpus === '' ? '' : `${cpus} vCPU`, memory === '' ? '' : `${memory} GB`]
    .filter((part) => part !== '')
    .join(', ');
  return `${serverless ? 'serverless ' : ''}${gpus}x ${type}${size === '' ? '' : `, ${size}`}`;
}
