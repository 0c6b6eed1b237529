/**
 * Bursar's own price list, every field of a price, as CSV or JSON (`{ "prices": [...] }` or an array).
 *
 * One row is one price, or, with `event` = `withdrawn`, the end of a SKU in the catalogue at `effectiveFrom`. Columns:
 * provider, sku, region, term, upfront, component, gpuModel, gpus, price, currency, per, effectiveFrom, effectiveTo,
 * incrementSeconds, minimumSeconds, source, event. `per` is the unit of the price (see PER); a month has 730 hours.
 */
import { Failure, invalid, type Problem } from '../core/errors.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import { rateOf, type RateUnit } from '../core/money.js';
import type { Input, PriceFormat } from '../core/ports.js';
import { providerName, type Component, type Price, type PriceEvent, type Upfront } from '../core/price/price.js';
import { TERMS, type Reject, type Term } from '../core/usage.js';
import { isoInstant } from '../core/time.js';
import { quotedText } from './reading/bill.js';
import { MOST_RAW_CHARACTERS } from './reading/csv.js';
import { MOST_OBJECT_BYTES, parseWithin } from './reading/json.js';
import { decimalOf, parseExactly } from './reading/numbers.js';
import { billingOf, HOURS_PER_MONTH } from './reading/price-row.js';
import { hasColumns, readCsvTable, rejectOf, type Header, type RowReader } from './reading/table.js';

const NAME = 'bursar-prices';
const COLUMNS = [
  'provider',
  'sku',
  'region',
  'term',
  'upfront',
  'component',
  'gpuModel',
  'gpus',
  'price',
  'currency',
  'per',
  'effectiveFrom',
  'effectiveTo',
  'incrementSeconds',
  'minimumSeconds',
  'source',
  'event',
] as const;
type Column = (typeof COLUMNS)[number];
/** The text of a field; '' where it is not stated. */
type Fields = (column: Column) => string;

/** Seconds that a price is for, and whether it is the whole instance's. */
const PER: Readonly<
  Record<
    string,
    {
      readonly component: Component;
      readonly unit: RateUnit;
      readonly quantity: number;
      readonly wholeInstance: boolean;
    }
  >
> = {
  'instance-hour': { component: 'gpu', unit: 'gpu-second', quantity: 3600, wholeInstance: true },
  'instance-month': { component: 'gpu', unit: 'gpu-second', quantity: 3600 * HOURS_PER_MONTH, wholeInstance: true },
  'gpu-hour': { component: 'gpu', unit: 'gpu-second', quantity: 3600, wholeInstance: false },
  'gpu-second': { component: 'gpu', unit: 'gpu-second', quantity: 1, wholeInstance: false },
  'gib-month': { component: 'storage', unit: 'gib-second', quantity: 3600 * HOURS_PER_MONTH, wholeInstance: false },
  'gib-hour': { component: 'storage', unit: 'gib-second', quantity: 3600, wholeInstance: false },
  gib: { component: 'network', unit: 'gib', quantity: 1, wholeInstance: false },
};

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: "Bursar's own price list as CSV or JSON",
  origin: 'own',
  recognises: (input) => isJson(input) || hasColumns(input, 'provider', 'sku', 'price', 'currency', 'effectiveFrom'),
  read: (input) => (isJson(input) ? readJson(input) : readCsv(input)),
};

function isJson(input: Input): boolean {
  const text = Buffer.from(input.head)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  return /^\{\s*"prices"\s*:/.test(text) || (text.startsWith('[') && /"effectiveFrom"\s*:/.test(text));
}

async function* readCsv(input: Input): ReturnType<PriceFormat['read']> {
  const prepare = (header: Header): RowReader<PriceEvent> => {
    const columns = new Map<Column, number>(COLUMNS.map((name) => [name, header.optional(name)]));
    header.required('provider');
    header.required('sku');
    header.required('effectiveFrom');
    return (cells, out, problems) => {
      const event = eventOf((name) => cells.text(columns.get(name) ?? -1).trim(), input.name, problems);
      if (event !== null) out.push(event);
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { events: items, rejects };
}

async function* readJson(input: Input): ReturnType<PriceFormat['read']> {
  const events: PriceEvent[] = [];
  const rejects: Reject[] = [];
  for (const [index, item] of (await itemsOf(input)).entries()) {
    const problems: Problem[] = [];
    const object: Readonly<Record<string, unknown>> | null =
      typeof item === 'object' && item !== null ? { ...item } : null;
    if (object === null) problems.push({ path: null, message: 'the price is not an object' });
    else {
      for (const name of Object.keys(object)) {
        if (!(COLUMNS as readonly string[]).includes(name))
          problems.push({ path: name, message: 'is not a field of a price' });
      }
      const event = eventOf((name) => textOf(object[name]), input.name, problems);
      if (event !== null && problems.length === 0) events.push(event);
    }
    if (problems.length > 0)
      rejects.push(rejectOf(index + 1, problems, JSON.stringify(item).slice(0, MOST_RAW_CHARACTERS)));
  }
  yield { events, rejects };
}

function textOf(value: unknown): string {
  return typeof value === 'string'
    ? value.trim()
    : value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value);
}

async function itemsOf(input: Input): Promise<readonly unknown[]> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of input.stream()) {
    parts.push(chunk);
    size += chunk.length;
    if (size > MOST_OBJECT_BYTES)
      throw invalid(`${input.name}: a price list as JSON has at most ${MOST_OBJECT_BYTES} bytes; use CSV`);
  }
  let value: unknown;
  try {
    value = parseWithin(input.name, Buffer.concat(parts), parseExactly);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw invalid(`${input.name}: the file is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  const items = typeof value === 'object' && value !== null && 'prices' in value ? value.prices : value;
  if (!Array.isArray(items)) throw invalid(`${input.name}: "prices" is not an array`);
  return items;
}

/** The fields of one row as values; what is wrong with one goes to `problems`. */
class Row {
  constructor(
    readonly field: Fields,
    private readonly problems: Problem[],
  ) {}

  wrong(path: Column, message: string): void {
    this.problems.push({ path, message });
  }

  required(column: Column): string {
    const text = this.field(column);
    if (text === '') this.wrong(column, 'the value is missing');
    return text;
  }

  oneOf<T extends string>(column: Column, allowed: readonly T[], otherwise: T): T {
    const text = this.field(column);
    const found = text === '' ? otherwise : allowed.find((each) => each === text);
    if (found === undefined) this.wrong(column, `${quotedText(text)} is none of ${allowed.join(', ')}`);
    return found ?? otherwise;
  }

  /** NaN where it is empty or no instant. */
  instant(column: Column): number {
    const text = this.field(column);
    const at = isoInstant(text);
    if (text !== '' && Number.isNaN(at)) this.wrong(column, `${quotedText(text)} is not a date and time`);
    return at;
  }

  wholeNumber(column: Column, otherwise: number): number {
    const text = this.field(column);
    const value = text === '' ? otherwise : Number(text);
    if (!Number.isSafeInteger(value) || value < 0)
      this.wrong(column, `${quotedText(text)} is not a whole number of at least 0`);
    return value;
  }
}

/** The event that the fields state, or null with what is wrong in `problems`. */
function eventOf(field: Fields, fileName: string, problems: Problem[]): PriceEvent | null {
  const row = new Row(field, problems);
  const before = problems.length;
  const provider = providerName(row.required('provider'));
  const sku = row.required('sku');
  const region = field('region') === '' ? null : field('region');
  row.required('effectiveFrom');
  const effectiveFrom = row.instant('effectiveFrom');
  if (row.oneOf('event', ['price', 'withdrawn'], 'price') === 'withdrawn')
    return problems.length > before ? null : { kind: 'withdrawn', provider, sku, region, at: effectiveFrom };
  const rated = ratedOf(row);
  const effectiveTo = field('effectiveTo') === '' ? null : row.instant('effectiveTo');
  if (effectiveTo !== null && effectiveTo <= effectiveFrom) row.wrong('effectiveTo', 'is not after effectiveFrom');
  const term = row.oneOf<Term>('term', TERMS, 'on-demand');
  const upfront = row.oneOf<Upfront>('upfront', ['none', 'partial', 'all'], 'none');
  const billing = billingOf(provider);
  const incrementSeconds = row.wholeNumber('incrementSeconds', billing.incrementSeconds);
  if (incrementSeconds === 0) row.wrong('incrementSeconds', 'is not at least 1');
  const minimumSeconds = row.wholeNumber('minimumSeconds', billing.minimumSeconds);
  if (problems.length > before || rated === null) return null;
  return {
    kind: 'price',
    price: {
      provider,
      sku,
      region,
      term,
      upfront,
      ...rated,
      gpuModel: field('gpuModel') === '' ? null : (modelOf(field('gpuModel')) ?? field('gpuModel')),
      effectiveFrom,
      effectiveTo,
      incrementSeconds,
      minimumSeconds,
      source: field('source') === '' ? `${NAME}: ${fileName}` : field('source'),
    },
  };
}

/** The price and its unit: null if one of its fields is wrong, which the row's problems state. */
function ratedOf(row: Row): Pick<Price, 'component' | 'gpus' | 'rate'> | null {
  const { field } = row;
  const component = row.oneOf<Component>('component', ['gpu', 'storage', 'network'], 'gpu');
  const per = PER[field('per') === '' ? 'instance-hour' : field('per')];
  if (per === undefined) row.wrong('per', `${quotedText(field('per'))} is none of ${Object.keys(PER).join(', ')}`);
  else if (per.component !== component)
    row.wrong('per', `a price of ${component} is not per ${field('per') || 'instance-hour'}`);
  const gpus = field('gpus') === '' ? null : Number(field('gpus'));
  const isGpus = gpus === null || (gpus > 0 && gpus <= 1000 && Number.isInteger(gpus * 3600));
  if (!isGpus) row.wrong('gpus', `${quotedText(field('gpus'))} is not a number of GPUs`);
  const price = decimalOf(row.required('price'));
  if (field('price') !== '' && (price === undefined || price.unscaled <= 0n))
    row.wrong('price', `${quotedText(field('price'))} is not a price above zero`);
  const currency = row.required('currency');
  const isCurrency = /^[A-Z]{3}$/.test(currency);
  if (currency !== '' && !isCurrency) row.wrong('currency', `${quotedText(currency)} is not a currency code`);
  if (price === undefined || per === undefined || !isGpus || !isCurrency) return null;
  const quantity = BigInt(Math.round(per.quantity * (per.wholeInstance ? (gpus ?? 1) : 1)));
  return {
    component,
    gpus: gpus ?? (per.unit === 'gpu-second' && !per.wholeInstance ? 1 : null),
    rate: rateOf(price, currency, quantity, per.unit),
  };
}
