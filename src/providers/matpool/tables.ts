/**
 * The two written forms of what Matpool used and what it costs, as CSV: nothing here asks anybody.
 *
 * Usage is cut at the quarters of UTC hours: a piece has the same id and the same content whenever the file is read
 * again, also while the rental goes on, so that a growing file is neither lost nor counted twice. Prices are per
 * GPU-hour and charged by the second unless a row says otherwise.
 */
import { z } from 'zod';
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { invalid, type Problem } from '../../core/errors.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import { rateOf } from '../../core/money.js';
import type { PriceEvent } from '../../core/price/price.js';
import {
  GPU_PARTS,
  MOST_GPU_PARTS,
  TERMS,
  type RecordBatch,
  type Reject,
  type Term,
  type UsageRecord,
} from '../../core/usage.js';
import { problemsText } from '../webhook/problems.js';
import { readCsv, rejectOf, type CsvRow } from './csv.js';
import { DAY_MS } from '../../core/time.js';

export const MATPOOL = 'Matpool';
const PIECE_MILLISECONDS = 900_000;
const BATCH_RECORDS = 8192;
const MOST_TEXT = 400;
/** A longer rental is a slip, and would be cut into pieces for ever. */
const MOST_RENTAL_MILLISECONDS = 6 * 366 * DAY_MS;

const USAGE = {
  required: ['resource', 'gpu_model', 'gpus', 'start', 'end'],
  optional: ['id', 'sku', 'region', 'term', 'tags'],
} as const;
const PRICES = {
  required: ['gpu_model', 'price_per_gpu_hour', 'effective_from'],
  optional: ['sku', 'region', 'term', 'currency', 'effective_to', 'increment_seconds', 'minimum_seconds'],
} as const;

const instantSchema = z.iso.datetime({ offset: true });
/** A NUL or half of a surrogate pair: no database column holds them. */
const NOT_STORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Reads one row's columns and says everything that is wrong with them. */
class Row {
  readonly problems: Problem[] = [];

  constructor(private readonly row: CsvRow) {}

  wrong(path: string, message: string): null {
    this.problems.push({ path, message });
    return null;
  }

  optional(column: string): string | null {
    const text = this.row.text(column);
    if (text === '') return null;
    return text.length <= MOST_TEXT && !NOT_STORABLE.test(text)
      ? text
      : this.wrong(column, `is not a text of 1 to ${MOST_TEXT} characters`);
  }

  required(column: string): string {
    if (this.row.text(column) === '') this.wrong(column, 'the value is missing');
    return this.optional(column) ?? '';
  }

  /** Epoch milliseconds; a time without a zone is nobody's: the console shows China's, exports may not. */
  instant(column: string): number | null {
    const text = this.row.text(column).replace(' ', 'T');
    if (text === '') return null;
    return instantSchema.safeParse(text).success
      ? Date.parse(text)
      : this.wrong(column, 'is not an ISO 8601 time with a zone, such as 2026-01-01T08:00:00+08:00');
  }

  requiredInstant(column: string): number {
    if (this.row.text(column) === '') this.wrong(column, 'the value is missing');
    return this.instant(column) ?? 0;
  }

  gpuParts(column: string): number {
    const value = parseDecimal(this.required(column));
    const product = value === null ? -1n : value.unscaled * BigInt(GPU_PARTS);
    const divisor = 10n ** BigInt(value?.scale ?? 0);
    if (product > 0n && product % divisor === 0n && product / divisor <= BigInt(MOST_GPU_PARTS))
      return Number(product / divisor);
    if (this.row.text(column) !== '') this.wrong(column, 'is not a number of GPUs above 0');
    return 0;
  }

  price(column: string): Decimal {
    const value = parseDecimal(this.required(column));
    if (value !== null && value.unscaled > 0n) return value;
    if (this.row.text(column) !== '') this.wrong(column, 'is not a price above zero');
    return { unscaled: 1n, scale: 0 };
  }

  whole(column: string, least: number, otherwise: number): number {
    const text = this.row.text(column);
    const value = text === '' ? otherwise : /^\d{1,8}$/.test(text) ? Number(text) : -1;
    if (value < least) this.wrong(column, `is not a whole number of at least ${least}`);
    return value;
  }

  term(): Term {
    const text = this.row.text('term');
    const term = text === '' ? 'on-demand' : TERMS.find((each) => each === text);
    if (term === undefined) this.wrong('term', `is none of ${TERMS.join(', ')}`);
    return term ?? 'on-demand';
  }

  /** `team=vision;env=dev`. */
  tags(): Readonly<Record<string, string>> | null {
    const text = this.optional('tags');
    if (text === null) return null;
    const pairs = text
      .split(';')
      .map((pair) => pair.split('='))
      .map(([key = '', ...value]): [string, string] => [key.trim(), value.join('=').trim()]);
    if (pairs.some(([key], at) => key === '' || !(text.split(';')[at] ?? '').includes('=')))
      return this.wrong('tags', 'is not of the form key=value;key=value');
    return Object.fromEntries(pairs);
  }
}

interface Rental {
  readonly id: string;
  readonly start: number;
  /** Null: it goes on. */
  readonly end: number | null;
  readonly record: Omit<UsageRecord, 'id' | 'start' | 'end'>;
}

/** A row of the usage form, or what is wrong with it. */
function rentalOf(csv: CsvRow, account: string | null): Rental | Problem[] {
  const row = new Row(csv);
  const resource = row.required('resource');
  const model = row.required('gpu_model');
  const gpuParts = row.gpuParts('gpus');
  const start = row.requiredInstant('start');
  const end = row.instant('end');
  const id = row.optional('id') ?? `${resource}@${new Date(start).toISOString()}`;
  if (end !== null && start !== 0 && end < start) row.wrong('end', 'is before the start');
  if (end !== null && start !== 0 && end - start > MOST_RENTAL_MILLISECONDS)
    row.wrong('end', 'is more than six years after the start');
  const record = {
    provider: MATPOOL,
    account,
    subAccount: null,
    resource,
    namespace: null,
    service: null,
    sku: row.optional('sku') ?? model,
    region: row.optional('region'),
    term: row.term(),
    gpuModel: modelOf(model) ?? model,
    tags: row.tags(),
    gpuParts,
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
  return row.problems.length > 0 ? row.problems : { id, start, end, record };
}

export interface UsageAsked {
  /** Half-open, epoch milliseconds; on whole quarters of an hour, or the pieces across its ends are left out. */
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly account: string | null;
}

/**
 * The pieces of the rentals that lie within [from, to) and are over. Rows that cannot be read come as rejects, whenever
 * they were.
 * @throws Failure invalid if the header is wrong
 */
export function* usageOf(text: string, { from, to, now, account }: UsageAsked): Generator<RecordBatch> {
  let batch: { records: UsageRecord[]; rejects: Reject[] } = { records: [], rejects: [] };
  const seen = new Set<string>();
  for (const row of readCsv('the usage file', text, USAGE.required, USAGE.optional)) {
    if (!('text' in row)) {
      batch.rejects.push(row);
      continue;
    }
    const rental = rentalOf(row, account);
    if (Array.isArray(rental)) batch.rejects.push(rejectOf(row.line, rental, row.raw));
    else if (seen.has(rental.id))
      batch.rejects.push(
        rejectOf(
          row.line,
          [{ path: 'id', message: 'came before: one rental is one row (without ids: one resource, one start)' }],
          row.raw,
        ),
      );
    else {
      seen.add(rental.id);
      for (const record of piecesOf(rental, from, Math.min(to, now))) {
        batch.records.push(record);
        if (batch.records.length >= BATCH_RECORDS) {
          yield batch;
          batch = { records: [], rejects: [] };
        }
      }
    }
  }
  if (batch.records.length + batch.rejects.length > 0) yield batch;
}

function* piecesOf({ id, start, end, record }: Rental, from: number, to: number): Generator<UsageRecord> {
  const last = Math.min(end ?? to, to);
  for (
    let at = Math.floor(Math.max(start, from) / PIECE_MILLISECONDS) * PIECE_MILLISECONDS;
    at < last;
    at += PIECE_MILLISECONDS
  ) {
    const first = Math.max(start, at);
    const over = Math.min(end ?? Number.POSITIVE_INFINITY, at + PIECE_MILLISECONDS);
    if (first >= from && over <= to && first < over)
      yield { ...record, id: `${id}#${new Date(first).toISOString()}`, start: first, end: over };
  }
}

/**
 * The prices of a list that take effect at `since` or after it.
 * @throws Failure invalid that names every wrong row: a price list is never half a list
 */
export function pricesOf(text: string, since: number): PriceEvent[] {
  const problems: Problem[] = [];
  const events: PriceEvent[] = [];
  for (const csv of readCsv('the price file', text, PRICES.required, PRICES.optional)) {
    if (!('text' in csv)) {
      problems.push({ path: `line ${csv.line}`, message: csv.reason });
      continue;
    }
    const row = new Row(csv);
    const event = priceOf(row);
    problems.push(...row.problems.map(({ path, message }) => ({ path: `line ${csv.line}/${path ?? ''}`, message })));
    events.push(event);
  }
  if (problems.length > 0) throw invalid(`the price file: ${problemsText(problems)}`, problems);
  return events.filter((event) => event.kind === 'price' && event.price.effectiveFrom >= since);
}

function priceOf(row: Row): PriceEvent {
  const model = row.required('gpu_model');
  const price = row.price('price_per_gpu_hour');
  const currency = row.optional('currency') ?? 'CNY';
  if (!/^[A-Z]{3}$/.test(currency)) row.wrong('currency', 'is not a currency code of ISO 4217');
  const effectiveFrom = row.requiredInstant('effective_from');
  const effectiveTo = row.instant('effective_to');
  if (effectiveTo !== null && effectiveTo <= effectiveFrom) row.wrong('effective_to', 'is not after effective_from');
  return {
    kind: 'price',
    price: {
      provider: MATPOOL,
      sku: row.optional('sku') ?? model,
      region: row.optional('region'),
      term: row.term(),
      upfront: 'none',
      component: 'gpu',
      gpuModel: modelOf(model) ?? model,
      gpus: 1,
      rate: rateOf(price, currency, 3600n, 'gpu-second'),
      effectiveFrom,
      effectiveTo,
      incrementSeconds: row.whole('increment_seconds', 1, 1),
      minimumSeconds: row.whole('minimum_seconds', 0, 0),
      source: 'matpool: price file',
    },
  };
}
