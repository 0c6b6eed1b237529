/**
 * A query about costs: period, teams, basis and grouping. Parses the texts that people write.
 */
import { invalid, type Problem } from '../errors.js';
import { dayLabel, isZone, localDays, parseDay, parseInstant, plainZone, startOfLocalDay } from '../time.js';

export const BASES = ['actual', 'accrued', 'billed', 'effective', 'list'] as const;
export type Basis = (typeof BASES)[number];

/** Kept per line by an id of their own. */
export const OF_DIMENSION = [
  'provider',
  'account',
  'subAccount',
  'service',
  'sku',
  'region',
  'term',
  'gpuModel',
  'category',
] as const;
export type DimensionName = (typeof OF_DIMENSION)[number];
/** By dimension: the values that count, each one enough; an empty text is what is unknown. */
export type SpendFilters = Readonly<Partial<Record<DimensionName, readonly string[]>>>;
export const GROUP_KEYS = ['team', ...OF_DIMENSION, 'day', 'month', 'sharedFrom'] as const;
export type GroupKey = (typeof GROUP_KEYS)[number];
export interface SpendQuery {
  /** Inclusive day of the zone, null for the first that is known. */
  readonly from: string | null;
  /** Exclusive day of the zone, null for no end. */
  readonly to: string | null;
  /** IANA name: whose days and months they are. Whole days of a bill are the bill's own dates in any zone. */
  readonly zone: string;
  readonly groupBy: readonly GroupKey[];
  readonly basis: Basis;
  /** Convert every amount to this currency by the rate of its day. */
  readonly currency: string | null;
  /** Only these teams; null for all. */
  readonly teams: readonly string[] | null;
  /** All of these hold; absent: none is asked for. */
  readonly filters?: SpendFilters;
}

/** A SpendQuery from texts, as the API and the command line have them. @throws Failure invalid naming every problem. */
export function parseSpendQuery(texts: {
  from?: string | null;
  to?: string | null;
  groupBy?: string | null;
  basis?: string | null;
  currency?: string | null;
  teams?: readonly string[] | null;
  zone?: string | null;
  /** By dimension, or by the name that the API has for it: `gpuModel`, `gpu-model`. */
  filters?: Readonly<Record<string, readonly string[] | undefined>>;
}): SpendQuery {
  const problems: Problem[] = [];
  const asked = texts.zone ?? 'UTC';
  const zone = isZone(asked) ? plainZone(asked) : 'UTC';
  if (!isZone(asked)) problems.push({ path: 'zone', message: `"${asked}" is not an IANA time zone` });
  const groupBy = (texts.groupBy ?? '')
    .split(',')
    .map((g) => g.trim())
    .filter((g) => g !== '')
    .map(keyOf);
  for (const key of groupBy) {
    if (!(GROUP_KEYS as readonly string[]).includes(key))
      problems.push({ path: 'group-by', message: `"${key}" is not one of ${GROUP_KEYS.join(', ')}` });
  }
  const basis = texts.basis ?? 'actual';
  if (!(BASES as readonly string[]).includes(basis))
    problems.push({ path: 'basis', message: `"${basis}" is not one of ${BASES.join(', ')}` });
  const currency = texts.currency ?? null;
  if (currency !== null && !/^[A-Z]{3}$/.test(currency))
    problems.push({ path: 'currency', message: `"${currency}" is not an ISO 4217 code` });
  const from = readDay('from', texts.from, zone, problems);
  const to = readDay('to', texts.to, zone, problems);
  if (from !== null && to !== null && from >= to) problems.push({ path: 'to', message: 'is not after from' });
  const filters: Partial<Record<DimensionName, readonly string[]>> = {};
  for (const [name, values] of Object.entries(texts.filters ?? {})) {
    const dimension = OF_DIMENSION.find((one) => one === keyOf(name));
    if (dimension === undefined) problems.push({ path: name, message: `is not one of ${OF_DIMENSION.join(', ')}` });
    else if (values !== undefined && values.length > 0) filters[dimension] = [...new Set(values)];
  }
  if (problems.length > 0) throw invalid('the question about costs has problems', problems);
  return {
    from,
    to,
    groupBy: [...new Set(groupBy)] as GroupKey[],
    basis: basis as Basis,
    currency,
    teams: texts.teams ?? null,
    zone,
    ...(Object.keys(filters).length === 0 ? {} : { filters }),
  };
}

/** The day of the zone that a text names: a day, a month (its first day) or the instant at which the day starts. */
function readDay(path: string, text: string | null | undefined, zone: string, problems: Problem[]): string | null {
  if (text === undefined || text === null || text === '') return null;
  const date = /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text;
  const day = parseDay(date);
  if (day !== null && day < 0) problems.push({ path, message: `"${text}" lies before 1970` });
  if (day !== null) return date;
  const instant = parseInstant(date);
  if (instant === null) {
    problems.push({ path, message: `"${text}" is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z` });
    return null;
  }
  const start = startOfLocalDay(zone, localDays(zone, instant));
  if (start !== instant)
    problems.push({
      path,
      message: `"${text}" is not the start of a ${zone === 'UTC' ? 'UTC day' : `day in ${zone}`}`,
    });
  return dayLabel(instant, zone);
}

/** `gpu-model` and `gpu_model` as `gpuModel`. */
const keyOf = (text: string): string => text.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());

/** `gpuModel` as the API and the command line have it: `gpu-model`. */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
