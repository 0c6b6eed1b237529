/**
 * Candidates for rules among the costs that no rule matches: for each field that rules can match, the values with the
 * highest cost. A record counts once in every field that it states, so fields overlap and are not added.
 */
import { addDecimal, compareDecimal, ZERO, type Decimal } from '../decimal.js';
import { MOST_PATTERN_LENGTH, type Allocatable, type RuleMatch } from './allocation.js';
import type { ResourceCost } from './by-resource.js';

const FIELDS = ['namespace', 'account', 'subAccount', 'service', 'sku', 'resource', 'provider'] as const;

/** The number of a record's tags that are considered: a record with thousands of tags names no team. */
const MOST_TAGS = 50;

export interface RuleCandidate {
  /** The match of a possible rule, with the exact value: a pattern may be wider. */
  readonly match: RuleMatch;
  readonly currency: string;
  /** Null: nothing of it has a price. */
  readonly cost: Decimal | null;
  /** GPU part-milliseconds; null: none was recorded. */
  readonly parts: bigint | null;
}

/** All fields of a record that rules match by, as one text. */
export function candidateName(record: Allocatable): string {
  const tags = Object.entries(record.tags ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, MOST_TAGS);
  return JSON.stringify([FIELDS.map((field) => record[field]), tags]);
}

/**
 * @param costs by `candidateName`
 * @param most values of each field, those that cost the most; of tags over all their names
 */
export function ruleCandidates(costs: readonly ResourceCost[], most: number): RuleCandidate[] {
  const found = new Map<string, Map<string, { -readonly [K in keyof RuleCandidate]: RuleCandidate[K] }>>();
  for (const { resource, currency, cost, parts } of costs) {
    for (const [field, match] of resource === null ? [] : matchesOf(resource)) {
      let values = found.get(field);
      if (values === undefined) found.set(field, (values = new Map()));
      const key = JSON.stringify([match, currency]);
      const known = values.get(key) ?? { match, currency, cost: null, parts: null };
      values.set(key, known);
      if (cost !== null) known.cost = addDecimal(known.cost ?? ZERO, cost);
      if (parts !== null) known.parts = (known.parts ?? 0n) + parts;
    }
  }
  return ['tag', ...FIELDS].flatMap((field) => [...(found.get(field)?.values() ?? [])].sort(byCost).slice(0, most));
}

function matchesOf(name: string): [field: string, match: RuleMatch][] {
  const [values, tags] = JSON.parse(name) as [(string | null)[], [string, string][]];
  return [
    ...FIELDS.flatMap((field, at): [string, RuleMatch][] => {
      const value = values[at] ?? '';
      return isWritable(value) ? [[field, { [field]: value }]] : [];
    }),
    ...tags
      .filter(([key, value]) => isWritable(key) && isWritable(value))
      .map(([key, value]): [string, RuleMatch] => ['tag', { tag: { key, value } }]),
  ];
}

/** Whether a rule can name it. */
const isWritable = (text: string): boolean => text !== '' && text.length <= MOST_PATTERN_LENGTH;

/** By cost, largest first; entries without a price last, by their GPU time. */
const byCost = (a: RuleCandidate, b: RuleCandidate): number =>
  a.cost === null || b.cost === null
    ? (a.cost === null ? 1 : 0) - (b.cost === null ? 1 : 0) || Number((b.parts ?? 0n) - (a.parts ?? 0n))
    : compareDecimal(b.cost, a.cost);
