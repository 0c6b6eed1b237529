/**
 * Code that all price lists share: from a row's fields to a Price, with every problem of the row named.
 *
 * A cell without a price is not a price of zero; a price of zero or below is a problem of the row.
 */
import type { Decimal } from '../../core/decimal.js';
import type { Problem } from '../../core/errors.js';
import { rateOf } from '../../core/money.js';
import type { Input, PriceFormat } from '../../core/ports.js';
import type { Price, PriceEvent, Upfront } from '../../core/price/price.js';
import type { Term } from '../../core/usage.js';
import { quotedText } from './bill.js';
import { decimalOf } from './numbers.js';
import { readCsvTable, type Cells, type Header, type RowReader } from './table.js';

/** Hours of the month that sellers quote monthly prices for. */
export const HOURS_PER_MONTH = 730;

/**
 * Billing increment and minimum in seconds. AWS: per second, at least 60 (EC2 on-demand pricing page). Google: per
 * second, at least 60 (VM instance pricing page). Others are taken by the second: their lists state none.
 */
export function billingOf(provider: string): { incrementSeconds: number; minimumSeconds: number } {
  return { incrementSeconds: 1, minimumSeconds: provider === 'AWS' || provider === 'Google Cloud' ? 60 : 0 };
}

/** The data that a price of a GPU instance needs. */
export interface InstancePrice {
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: Term;
  readonly upfront?: Upfront;
  readonly gpuModel: string | null;
  readonly gpus: number | null;
  /** Price of the whole instance for `hours`. */
  readonly price: Decimal;
  readonly hours?: number;
  readonly currency: string;
  readonly effectiveFrom: number;
  readonly effectiveTo?: number | null;
  readonly source: string;
}

/**
 * The price of an instance as a rate per GPU-second. Fractions of a GPU must make whole seconds of the hours (an eighth
 * of a GPU for an hour is 450 GPU-seconds); without a GPU count the rate is the whole instance's, and prices no GPU.
 */
export function instancePrice(instance: InstancePrice): PriceEvent {
  const { price, hours = 1, currency, gpus, upfront = 'none', effectiveTo = null, ...rest } = instance;
  const seconds = BigInt(Math.round(3600 * hours * (gpus ?? 1)));
  const whole: Price = {
    ...rest,
    upfront,
    gpus,
    effectiveTo,
    component: 'gpu',
    rate: rateOf(price, currency, seconds, 'gpu-second'),
    ...billingOf(instance.provider),
  };
  return { kind: 'price', price: whole };
}

/** Collects the problems of a price row. */
export class PriceRow {
  constructor(
    private readonly cells: Cells,
    private readonly problems: Problem[],
  ) {}

  get sound(): boolean {
    return this.problems.length === 0;
  }

  problem(path: string | null, message: string): void {
    this.problems.push({ path, message });
  }

  text(column: number, name: string): string {
    const text = this.cells.repeated(column).trim();
    if (text === '') this.problem(name, 'the value is missing');
    return text;
  }

  /** A price above zero, with or without a leading `$`; null if the cell is empty. */
  price(column: number, name: string): Decimal | null {
    const text = this.cells.text(column).trim();
    if (text === '') return null;
    const price = decimalOf(text.replace(/^\$\s*/, ''));
    if (price !== undefined && price.unscaled > 0n) return price;
    this.problem(name, `${quotedText(text)} is not a price`);
    return null;
  }

  requiredPrice(column: number, name: string): Decimal | null {
    if (this.cells.text(column).trim() === '') this.problem(name, 'the value is missing');
    return this.price(column, name);
  }

  /** GPUs of an instance: above zero, up to 1000, fractions allowed; NaN, which makes no price, where it is none. */
  gpus(column: number, name: string): number {
    const text = this.text(column, name);
    return text === '' ? Number.NaN : this.gpusOf(text, name);
  }

  gpusOf(text: string, name: string): number {
    const gpus = Number(text);
    // Of an hour at least a GPU-second is left.
    if (gpus * 3600 >= 1 && gpus <= 1000) return gpus;
    this.problem(name, `${quotedText(text)} is not a number of GPUs`);
    return Number.NaN;
  }

  instant(column: number, name: string, parse: (text: string) => number): number {
    const text = this.text(column, name);
    const instant = parse(text);
    if (text !== '' && Number.isNaN(instant)) this.problem(name, `${quotedText(text)} is not a date`);
    return instant;
  }
}

/** A price list that is a CSV table: its `read` from the reader of a row. */
export function readCsvPrices(
  prepare: (header: Header, source: string, input: Input) => RowReader<PriceEvent>,
  formatName: string,
): PriceFormat['read'] {
  return async function* read(input) {
    const source = `${formatName}: ${input.name}`;
    for await (const { items, rejects } of readCsvTable<PriceEvent>(input, (header) => prepare(header, source, input)))
      yield { events: items, rejects };
  };
}

const DATE = /(\d{4})-(\d{2})-(\d{2})/;

/** Midnight UTC of the date in a file's name, or of `otherwise` where it holds none. */
export function dateInName(name: string, otherwise: string): number {
  const date = DATE.exec(name)?.[0] ?? otherwise;
  const instant = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(instant) ? Date.parse(`${otherwise}T00:00:00Z`) : instant;
}
