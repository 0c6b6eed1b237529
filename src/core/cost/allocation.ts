/**
 * Allocation: ordered rules say to which team a usage record belongs, or how several teams share it.
 *
 * The first match wins. A record that no rule matches is `unallocated`: every amount has a team, and splitting or
 * changing rules never alters a sum. Never reads prices, never writes anything.
 */
import { addDecimal, compareDecimal, parseDecimal, tenTo, withScale, ZERO, type Decimal } from '../decimal.js';
import { invalid, type Problem } from '../errors.js';
import { splitByLargestRemainder } from '../money.js';
import { providerName } from '../price/price.js';
import type { UsageRecord } from '../usage.js';

export const UNALLOCATED = 'unallocated';

/**
 * The conditions on a record; all given fields must match, and an empty match matches everything. Values are patterns:
 * `*` is any run of characters, `?` any one, everything else itself, upper and lower case apart. A field that the
 * record does not know never matches, not even `*`. Tags and labels are one map.
 */
export interface RuleMatch {
  readonly provider?: string;
  readonly account?: string;
  readonly subAccount?: string;
  readonly tag?: { readonly key: string; readonly value: string };
  readonly label?: { readonly key: string; readonly value: string };
  readonly namespace?: string;
  readonly resource?: string;
  readonly service?: string;
  readonly sku?: string;
}

/**
 * Fixed: decimals that sum to exactly 1, or whole parts (`1`, `1`, `1` are thirds). By use: of the listed teams, or of
 * all.
 */
export type Split =
  | { readonly by: 'fixed'; readonly shares: Readonly<Record<string, string>> }
  | { readonly by: 'use'; readonly of?: readonly string[] };

export type AllocationRule =
  | { readonly match: RuleMatch; readonly team: string }
  | { readonly match: RuleMatch; readonly split: Split };

/** The fields of a record that rules look at. */
export type Allocatable = Pick<
  UsageRecord,
  'provider' | 'account' | 'subAccount' | 'resource' | 'namespace' | 'service' | 'sku' | 'tags'
>;

/** The assignment of a record. `rule` is the index of the matching rule, null if none matched. */
export type Assignment =
  | { readonly kind: 'team'; readonly team: string; readonly rule: number | null }
  | { readonly kind: 'fixed'; readonly shares: readonly Share[]; readonly rule: number }
  | { readonly kind: 'use'; readonly of: readonly string[] | null; readonly rule: number };

/** A team's weight in a fixed split: whole numbers in proportion. Sorted by team. */
export interface Share {
  readonly team: string;
  readonly weight: bigint;
}

export interface TeamAmount {
  readonly team: string;
  readonly nanos: bigint;
}

const TEXT_FIELDS = ['provider', 'account', 'subAccount', 'namespace', 'resource', 'service', 'sku'] as const;
const TAG_FIELDS = ['tag', 'label'] as const;
export const MOST_PATTERN_LENGTH = 500;
const MOST_RULES = 10_000;
const MOST_REMEMBERED = 200_000;
export const NOBODY: Assignment = { kind: 'team', team: UNALLOCATED, rule: null };

/**
 * Whether the whole text fits the pattern (`*`, `?`). Goes back to the last star only, so the time is at most the
 * product of the two lengths, whatever the pattern.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let restart = 0;
  while (t < text.length) {
    const symbol = pattern[p];
    if (symbol === '*') {
      star = p;
      restart = t;
      p += 1;
    } else if (symbol !== undefined && (symbol === '?' || symbol === text[t])) {
      p += 1;
      t += 1;
    } else if (star >= 0) {
      p = star + 1;
      restart += 1;
      t = restart;
    } else return false;
  }
  while (pattern[p] === '*') p += 1;
  return p === pattern.length;
}

type Test = (record: Allocatable) => boolean;

interface CompiledRule {
  readonly tests: readonly Test[];
  readonly assignment: Assignment;
}

/**
 * Rules as a function from a record to its assignment. Caches the answer per combination of the fields that the rules
 * name, so that repeated keys cost one look-up.
 * @throws Failure `invalid`, naming every problem of every rule.
 */
export function compileRules(rules: readonly AllocationRule[]): (record: Allocatable) => Assignment {
  const problems = problemsOfRules(rules);
  if (problems.length > 0) throw invalid(`the allocation rules have ${problems.length} problem(s)`, problems);
  const compiled = rules.map(compileRule);
  const keyOf = keyFunction(rules);
  const known = new Map<string, Assignment>();
  return (record) => {
    const key = keyOf(record);
    let assignment = known.get(key);
    if (assignment === undefined) {
      assignment = compiled.find((rule) => rule.tests.every((test) => test(record)))?.assignment ?? NOBODY;
      if (known.size >= MOST_REMEMBERED) known.clear();
      known.set(key, assignment);
    }
    return assignment;
  };
}

/** The fields that at least one rule names, as one string: two records with the same string get the same answer. */
function keyFunction(rules: readonly AllocationRule[]): (record: Allocatable) => string {
  const fields = TEXT_FIELDS.filter((field) => rules.some(({ match }) => match[field] !== undefined));
  const tagKeys = [...new Set(rules.flatMap(({ match }) => TAG_FIELDS.flatMap((field) => match[field]?.key ?? [])))];
  return (record) => {
    let key = '';
    for (const field of fields) key += part(record[field]);
    for (const tag of tagKeys) key += part(tagOf(record, tag));
    return key;
  };
}

/** The length comes first, so that no value can look like two values. */
const part = (value: string | null | undefined): string =>
  value === null || value === undefined ? '-;' : `${value.length}:${value}`;

const tagOf = (record: Allocatable, key: string): string | undefined =>
  record.tags !== null && Object.hasOwn(record.tags, key) ? record.tags[key] : undefined;

function compileRule(rule: AllocationRule, index: number): CompiledRule {
  const tests: Test[] = [];
  for (const field of TEXT_FIELDS) {
    const given = rule.match[field];
    if (given === undefined) continue;
    const fits = compilePattern(field === 'provider' ? providerName(given) : given);
    tests.push((record) => fits(record[field]));
  }
  for (const field of TAG_FIELDS) {
    const given = rule.match[field];
    if (given === undefined) continue;
    const fits = compilePattern(given.value);
    tests.push((record) => fits(tagOf(record, given.key)));
  }
  return { tests, assignment: assignmentOf(rule, index) };
}

function compilePattern(pattern: string): (value: string | null | undefined) => boolean {
  if (!/[*?]/.test(pattern)) return (value) => value === pattern;
  return (value) => value !== null && value !== undefined && matchesGlob(pattern, value);
}

function assignmentOf(rule: AllocationRule, index: number): Assignment {
  if ('team' in rule) return { kind: 'team', team: rule.team, rule: index };
  const { split } = rule;
  if (split.by === 'use') return { kind: 'use', of: split.of === undefined ? null : [...split.of].sort(), rule: index };
  const decimals = Object.entries(split.shares).map(([team, share]) => ({ team, share: parseDecimal(share) ?? ZERO }));
  const scale = Math.max(0, ...decimals.map(({ share }) => share.scale));
  const shares = decimals.map(({ team, share }) => ({ team, weight: share.unscaled * tenTo(scale - share.scale) }));
  return { kind: 'fixed', shares: shares.sort(byTeam), rule: index };
}

const byTeam = (a: { readonly team: string }, b: { readonly team: string }): number =>
  a.team < b.team ? -1 : a.team > b.team ? 1 : 0;

/** Every problem of every rule: path `rules/<index>/<field>`. Empty where the rules are fine. */
export function problemsOfRules(rules: readonly AllocationRule[]): Problem[] {
  const problems: Problem[] = [];
  if (rules.length > MOST_RULES) problems.push({ path: 'rules', message: `are more than ${MOST_RULES}` });
  rules.forEach((rule, index) => {
    const add = (field: string, message: string): void =>
      void problems.push({ path: `rules/${index}/${field}`, message });
    checkMatch(rule.match, add);
    if ('team' in rule && 'split' in rule) add('team', 'cannot be combined with a split: a rule has one of the two');
    else if ('team' in rule) checkTeam(rule.team, 'team', add);
    else if ('split' in rule) checkSplit(rule.split, add);
    else add('team', 'is missing: a rule has a team or a split');
  });
  return problems;
}

type AddProblem = (field: string, message: string) => void;

function checkMatch(match: RuleMatch, add: AddProblem): void {
  const known = new Set<string>([...TEXT_FIELDS, ...TAG_FIELDS]);
  for (const field of Object.keys(match)) {
    if (!known.has(field)) add(`match/${field}`, `is not a field that rules match (${[...known].join(', ')})`);
  }
  const pattern = (field: string, value: unknown): void => {
    if (typeof value !== 'string' || value === '') add(field, 'is not a text of at least one character');
    else if (value.length > MOST_PATTERN_LENGTH) add(field, `is longer than ${MOST_PATTERN_LENGTH} characters`);
  };
  for (const field of TEXT_FIELDS) if (match[field] !== undefined) pattern(`match/${field}`, match[field]);
  for (const field of TAG_FIELDS) {
    const given = match[field];
    if (given === undefined) continue;
    pattern(`match/${field}/key`, given.key);
    pattern(`match/${field}/value`, given.value);
  }
}

function checkTeam(team: unknown, field: string, add: AddProblem): void {
  if (typeof team !== 'string' || team.trim() === '') add(field, 'is not the name of a team');
}

function checkSplit(split: Split, add: AddProblem): void {
  if (split.by === 'use') {
    if (split.of === undefined) return;
    if (split.of.length === 0) add('split/of', 'lists no team');
    if (new Set(split.of).size !== split.of.length) add('split/of', 'lists a team twice');
    split.of.forEach((team, index) => checkTeam(team, `split/of/${index}`, add));
    return;
  }
  if (split.by !== 'fixed') return add('split/by', 'is neither fixed nor use');
  const shares = Object.entries(split.shares);
  if (shares.length === 0) return add('split/shares', 'list no team');
  let sum: Decimal = ZERO;
  let whole = true;
  let readable = true;
  for (const [team, text] of shares) {
    checkTeam(team, 'split/shares', add);
    const share = typeof text === 'string' ? parseDecimal(text) : null;
    if (share === null || share.unscaled < 0n) {
      add(`split/shares/${team}`, 'is not a share of 0 or more: write "0.25"');
      readable = false;
      continue;
    }
    sum = addDecimal(sum, share);
    whole &&= share.unscaled % tenTo(share.scale) === 0n;
  }
  if (!readable) return;
  if (sum.unscaled === 0n) add('split/shares', 'sum to 0');
  else if (!whole && compareDecimal(sum, { unscaled: 1n, scale: 0 }) !== 0)
    add('split/shares', 'are neither whole parts nor fractions that sum to exactly 1');
}

/**
 * An amount over the teams of its assignment, summing to it exactly (largest remainder, ties to the earlier name). A
 * split by use among teams of which none has used anything stays with `unallocated`: nobody's use gives it to nobody.
 * @param useByTeam each team's use, in any one unit, not negative; read for splits by use only
 */
export function splitShared(
  total: bigint,
  assignment: Assignment,
  useByTeam: ReadonlyMap<string, bigint>,
): TeamAmount[] {
  if (assignment.kind === 'team') return [{ team: assignment.team, nanos: total }];
  const shares =
    assignment.kind === 'fixed'
      ? assignment.shares
      : [...(assignment.of ?? useByTeam.keys())].sort().map((team) => ({ team, weight: useByTeam.get(team) ?? 0n }));
  const sharing = shares.filter(({ weight }) => weight > 0n);
  if (sharing.length === 0) return [{ team: UNALLOCATED, nanos: total }];
  const parts = splitByLargestRemainder(
    total,
    sharing.map(({ weight }) => weight),
  );
  return sharing.map(({ team }, index) => ({ team, nanos: parts[index] ?? 0n }));
}

/** Shares are cut to a billionth of the currency, as prices are, or finer where the amount itself is. */
export const SHARE_SCALE = 9;

/** As `splitShared`, of a stated amount: how many decimals it happens to be written with decides nothing. */
export function splitAmount(
  amount: Decimal,
  assignment: Assignment,
  useByTeam: ReadonlyMap<string, bigint>,
): { readonly team: string; readonly amount: Decimal }[] {
  const { unscaled, scale } = withScale(amount, SHARE_SCALE);
  return splitShared(unscaled, assignment, useByTeam).map(({ team, nanos }) => ({
    team,
    amount: { unscaled: nanos, scale },
  }));
}
