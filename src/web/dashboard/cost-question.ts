/**
 * A question to the cost explorer as an address: everybody with the address sees the same question.
 *
 * Pure: it does not use the window. Unknown parameters are left out, which `unreadIn` names; absent ones have their
 * default.
 */
import { flagOf, OF_DIMENSION, type DimensionName } from '../../core/cost/spend-query.js';
import { DAY_MS } from '../../core/time.js';
import type { Query } from './api.js';

export const SPANS = ['7', '30', '90', '365', 'month', 'last-month'] as const;
export const COST_BASES = ['actual', 'accrued', 'billed', 'effective', 'list'] as const;
export const COST_KEYS = ['team', ...OF_DIMENSION] as const;
export type CostKey = 'team' | DimensionName;

export interface CostQuestion {
  /** Civil days; both empty: the span. */
  readonly from: string;
  readonly to: string;
  readonly span: string;
  /** One or two keys. */
  readonly groupBy: readonly string[];
  readonly basis: string;
  readonly zone: string;
  /** Empty: each in its own. */
  readonly currency: string;
  readonly compares: boolean;
  /** By key: the values that count. An empty text means unknown. */
  readonly filters: Readonly<Partial<Record<CostKey, readonly string[]>>>;
}

export type CostWords = Readonly<Record<string, string | readonly string[]>>;

const DEFAULT_QUESTION: CostQuestion = {
  from: '',
  to: '',
  span: '30',
  groupBy: ['team'],
  basis: 'actual',
  zone: 'UTC',
  currency: '',
  compares: true,
  filters: {},
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The last day is part of a period; the API's end is the day after it. */
export const moved = (day: string, days: number): string =>
  day === '' ? '' : new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

const oneOf = (text: string | null, all: readonly string[], otherwise: string): string =>
  text !== null && all.includes(text) ? text : otherwise;

/** The question in an address. */
export function questionOf(words: URLSearchParams): CostQuestion {
  const day = (name: string): string => (DAY.test(words.get(name) ?? '') ? (words.get(name) ?? '') : '');
  const keys = (words.get('group-by') ?? '').split(',').filter((key) => COST_KEYS.some((one) => one === key));
  const filters = Object.fromEntries(
    COST_KEYS.flatMap((key) => {
      const values = words.getAll(flagOf(key));
      return values.length === 0 ? [] : [[key, [...new Set(values)]]];
    }),
  );
  return {
    from: day('from'),
    to: day('to'),
    span: oneOf(words.get('span'), SPANS, DEFAULT_QUESTION.span),
    groupBy: keys.length === 0 ? DEFAULT_QUESTION.groupBy : [...new Set(keys)].slice(0, 2),
    basis: oneOf(words.get('basis'), COST_BASES, DEFAULT_QUESTION.basis),
    zone: words.get('zone') ?? DEFAULT_QUESTION.zone,
    currency: words.get('currency') ?? '',
    compares: words.get('compare') !== 'none',
    filters,
  };
}

/** What the address says that its question does not ask: a misspelt filter would show the costs of everything. */
export function unreadIn(words: URLSearchParams): string[] {
  const filters = new Set(COST_KEYS.map(flagOf));
  const areKeys = (text: string): boolean => {
    const keys = text.split(',');
    return keys.length <= 2 && keys.every((key) => COST_KEYS.some((one) => one === key));
  };
  const reads: Readonly<Record<string, (value: string) => boolean>> = {
    from: (value) => DAY.test(value),
    to: (value) => DAY.test(value),
    span: (value) => SPANS.some((one) => one === value),
    basis: (value) => COST_BASES.some((one) => one === value),
    compare: (value) => value === 'none' || value === 'before',
    'group-by': areKeys,
    zone: () => true,
    currency: () => true,
  };
  return [...words].flatMap(([name, value]) =>
    filters.has(name) || reads[name]?.(value) === true ? [] : [`${name}=${value}`],
  );
}

/** The same question as parameters, without defaults, so that a view moves with the days. */
export function wordsOf(question: CostQuestion): CostWords {
  const { from, to, span, groupBy, basis, zone, currency, compares, filters } = question;
  const isDefault = (text: string, name: 'span' | 'basis' | 'zone'): boolean => text === DEFAULT_QUESTION[name];
  return {
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { to }),
    ...(from !== '' || to !== '' || isDefault(span, 'span') ? {} : { span }),
    ...(groupBy.join(',') === DEFAULT_QUESTION.groupBy.join(',') ? {} : { 'group-by': groupBy.join(',') }),
    ...(isDefault(basis, 'basis') ? {} : { basis }),
    ...(isDefault(zone, 'zone') ? {} : { zone }),
    ...(currency === '' ? {} : { currency }),
    ...(compares ? {} : { compare: 'none' }),
    ...Object.fromEntries(Object.entries(filters).map(([key, values]) => [flagOf(key), values])),
  };
}

/** The API's query. */
export const queryOf = (question: CostQuestion): Query => ({ ...wordsOf(question) });

/** The same for the bridge, which has its own keys and always compares. */
export function bridgeQueryOf(question: CostQuestion): Query {
  const { 'group-by': _keys, compare: _compare, ...words } = wordsOf(question);
  return words;
}

/** Adds or removes one value of a filter. */
export function withFilter(question: CostQuestion, key: CostKey, value: string): CostQuestion {
  const values = [...new Set([...(question.filters[key] ?? []), value])];
  return { ...question, filters: { ...question.filters, [key]: values } };
}

export function withoutFilter(question: CostQuestion, key: CostKey, value: string): CostQuestion {
  const values = (question.filters[key] ?? []).filter((one) => one !== value);
  const { [key]: _gone, ...others } = question.filters;
  return { ...question, filters: values.length === 0 ? others : { ...others, [key]: values } };
}

/** The next key below a group: for teams what they use, for that where it runs. */
const NEXT: Readonly<Partial<Record<CostKey, readonly CostKey[]>>> = {
  team: ['sku', 'gpuModel', 'region'],
  provider: ['team', 'sku'],
  account: ['team', 'sku'],
  gpuModel: ['sku', 'team'],
};

/** One step down: only this group, by the next key that no filter has fixed to one value. */
export function stepInto(question: CostQuestion, key: CostKey, value: string): CostQuestion {
  const only = { ...question, filters: { ...question.filters, [key]: [value] } };
  const next = (NEXT[key] ?? ['team', 'sku', 'region', 'term']).find(
    (one) => one !== key && (only.filters[one] ?? []).length !== 1,
  );
  return { ...only, groupBy: [next ?? key] };
}
