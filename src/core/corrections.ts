/**
 * The corrections of metered records: whether all corrections together fit the record that they name.
 *
 * Never decides which statement of a record counts. The invariants: at no time do the corrections of a record take back
 * more than it holds, none lies outside its time, and each has the same team and price, because it names the same
 * fields.
 */
import type { UsageRecord } from './usage.js';

/** The statements that count, by id, and which of them correct which. */
export class Corrected {
  private readonly records = new Map<string, UsageRecord>();
  private readonly naming = new Map<string, Set<string>>();

  constructor(records: Iterable<UsageRecord> = []) {
    for (const record of records) this.set(record);
  }

  get(id: string): UsageRecord | undefined {
    return this.records.get(id);
  }

  /** Lets a statement count in place of the one of its id. */
  set(record: UsageRecord): void {
    const { id, corrects } = record;
    this.naming.get(this.records.get(id)?.corrects ?? '')?.delete(id);
    this.records.set(id, record);
    if (corrects !== undefined) this.naming.set(corrects, (this.naming.get(corrects) ?? new Set()).add(id));
  }

  /** The corrections that name a record. */
  correctedBy(id: string): UsageRecord[] {
    return [...(this.naming.get(id) ?? [])].flatMap((one) => this.records.get(one) ?? []);
  }

  /** Whether a correction fits its record, together with the record's other corrections. */
  fits(correction: UsageRecord): boolean {
    const record = this.get(correction.corrects ?? '');
    if (record === undefined) return false;
    const others = this.correctedBy(record.id).filter(({ id }) => id !== correction.id);
    return misfit(record, [...others, correction]) === null;
  }
}

/**
 * A correction that names something else than the record, lies outside its time, or takes back more than it holds, with
 * those beside it.
 */
export function misfit(record: UsageRecord, corrections: readonly UsageRecord[]): UsageRecord | null {
  for (const one of corrections) {
    if (one.start < record.start || one.end > record.end || differing(record, one).length > 0) return one;
    // The most is taken back where one of them begins.
    const concurrent = corrections.filter(
      ({ start, end }) => start <= one.start && one.start < Math.max(end, start + 1),
    );
    if (QUANTITIES.some((quantityOf) => isBelowZero([record, ...concurrent], quantityOf))) return one;
  }
  return null;
}

/**
 * Why a correction does not fit, for people.
 * @param what the record, as the sentence has it
 */
export function whyMisfit(record: UsageRecord, correction: UsageRecord, what: string): string {
  const names = differing(record, correction);
  return names.length > 0
    ? `names another ${names.join(', ')} than ${what}`
    : `takes back more than ${what} holds after its other corrections, or at another time`;
}

/** By these usage has its team and its price. */
const NAMES = [
  'provider',
  'account',
  'subAccount',
  'resource',
  'namespace',
  'service',
  'sku',
  'region',
  'term',
  'gpuModel',
] as const;

/** The fields in which a correction differs from its record. */
function differing(record: UsageRecord, correction: UsageRecord): string[] {
  const [own, others] = [record.tags ?? {}, correction.tags ?? {}];
  const keys = [...new Set([...Object.keys(own), ...Object.keys(others)])].sort();
  return [
    ...NAMES.filter((name) => record[name] !== correction[name]),
    ...keys.filter((key) => own[key] !== others[key]).map((key) => `tag ${key}`),
  ];
}

/** A quantity that a record holds at each instant of its time, as a fraction. */
type QuantityOf = (record: UsageRecord) => readonly [number: bigint, of: bigint];
const QUANTITIES: readonly QuantityOf[] = [
  ({ gpuParts }) => [BigInt(gpuParts ?? 0), 1n],
  ({ storageMib }) => [BigInt(storageMib ?? 0), 1n],
  ({ networkBytes, start, end }) => [BigInt(networkBytes ?? 0), BigInt(Math.max(end - start, 1))],
];

function isBelowZero(records: readonly UsageRecord[], quantityOf: QuantityOf): boolean {
  let [sum, of] = [0n, 1n];
  for (const [number, parts] of records.map(quantityOf)) [sum, of] = [sum * parts + number * of, of * parts];
  return sum < 0n;
}
