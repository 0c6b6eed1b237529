/**
 * Reads a configuration whose problems are all named at once: what has the wrong shape hides nothing of what has the
 * right one.
 */
import type { ZodType } from 'zod';
import { SECTIONS, type Sections } from '../../core/changes.js';
import { UNALLOCATED } from '../../core/cost/allocation.js';
import type { Problem } from '../../core/errors.js';
import { invalidRequest, problemsOf, type SchemaIssue } from '../problem.js';

type Entries = Readonly<Record<string, unknown>>;

/**
 * @param meaning the problems of a configuration of the right shape, without `configuration/` before their paths
 * @throws Failure invalid naming every problem of the shape, and of the meaning of everything else
 */
export function readRequest<T>(
  schema: ZodType<T>,
  configurationSchema: ZodType,
  body: unknown,
  meaning: (configuration: unknown, whole: Entries) => readonly Problem[],
): T {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const issues = read.error.issues as readonly SchemaIssue[];
  const given = isObject(body) && isObject(body['configuration']) ? body['configuration'] : {};
  const { left, indexes } = withoutIssues(given, issues);
  const rest = configurationSchema.safeParse(left);
  const found = rest.success ? meaning(rest.data, given) : [];
  const problems = [...problemsOf(issues), ...found.map((one) => ({ ...one, path: placeOf(one.path, indexes) }))];
  throw invalidRequest(problems);
}

type Indexes = ReadonlyMap<string, readonly number[]>;

/** Without the entries that have issues; of each list the places at which the items stood. */
function withoutIssues(
  given: Entries,
  issues: readonly SchemaIssue[],
): { readonly left: Entries; readonly indexes: Indexes } {
  const wrong = new Set(
    issues.map(({ path = [] }) =>
      path
        .slice(1, 3)
        .map((step) => String(typeof step === 'object' ? step.key : step))
        .join('/'),
    ),
  );
  const indexes = new Map<string, readonly number[]>();
  const left = Object.entries(given).flatMap(([section, value]): [string, unknown][] => {
    if (wrong.has(section) || !(SECTIONS as readonly string[]).includes(section)) return [];
    if (Array.isArray(value)) {
      const kept = value.flatMap((_, at) => (wrong.has(`${section}/${at}`) ? [] : [at]));
      indexes.set(section, kept);
      return [[section, kept.map((at) => (value as unknown[])[at])]];
    }
    if (!isObject(value)) return [];
    return [[section, Object.fromEntries(Object.entries(value).filter(([id]) => !wrong.has(`${section}/${id}`)))]];
  });
  return { left: Object.fromEntries(left), indexes };
}

function placeOf(path: string | null, indexes: Indexes): string {
  const [section = '', at = '', ...rest] = (path ?? '').replace(/\/$/, '').split('/');
  const place = indexes.get(section)?.[Number(at)];
  return ['configuration', section, ...(at === '' ? [] : [place === undefined ? at : String(place)]), ...rest].join(
    '/',
  );
}

interface Parents {
  readonly [id: string]: { readonly parent: string | null };
}

/** Teams below one that is not there, or below themselves. @param whole with the teams whose own shape is wrong */
export function parentProblems(teams: Parents, now: Sections, whole: Entries): Problem[] {
  const all = { ...(now.teams as Parents | undefined), ...teams };
  const known = new Set([...Object.keys(all), ...keysOf(whole['teams'])]);
  return Object.entries(teams).flatMap(([id, { parent }]): Problem[] => {
    const path = `teams/${id}/parent`;
    if (parent !== null && !known.has(parent)) return [{ path, message: `names ${parent}, which is not a team` }];
    const above = [id];
    for (let next = parent; next !== null && next !== undefined; next = all[next]?.parent ?? null) {
      above.push(next);
      if (next === id) return [{ path, message: `closes a circle: ${above.join(' below ')}` }];
      if (above.length > known.size) break;
    }
    return [];
  });
}

interface Naming {
  readonly budgets?: Readonly<Record<string, { readonly team: string }>> | undefined;
  readonly limits?: Entries | undefined;
  readonly policies?: Readonly<Record<string, { readonly teams?: unknown }>> | undefined;
  readonly routes?: readonly { readonly teams: readonly string[] | null }[] | undefined;
}

/**
 * Names of teams that nothing makes: a team is set, or a rule gives usage to it. What the present configuration names
 * already may stay.
 * @param others teams that exist already
 */
export function strangerProblems(named: Naming, now: Sections, whole: Entries, others: readonly string[]): Problem[] {
  const present = referencesIn(now as Naming);
  const known = new Set([
    UNALLOCATED,
    ...others,
    ...[now.teams, whole['teams']].flatMap(keysOf),
    ...[now.rules, whole['rules']].flatMap(ruleTeams),
    ...present.map(({ team }) => team),
  ]);
  return referencesIn(named)
    .filter(({ team }) => !known.has(team))
    .map(({ path, team }) => ({ path, message: `names ${team}, which is neither set as a team nor given by a rule` }));
}

function referencesIn({ budgets, limits, policies, routes }: Naming): { path: string; team: string }[] {
  const list = (path: string, teams: unknown): { path: string; team: string }[] =>
    Array.isArray(teams)
      ? teams.flatMap((team: unknown, at) =>
          typeof team === 'string' && team !== '*' ? [{ path: `${path}/${at}`, team }] : [],
        )
      : [];
  return [
    ...Object.entries(budgets ?? {}).map(([id, { team }]) => ({ path: `budgets/${id}/team`, team })),
    ...Object.keys(limits ?? {}).flatMap((team) => (team === '*' ? [] : [{ path: `limits/${team}`, team }])),
    ...Object.entries(policies ?? {}).flatMap(([name, { teams }]) => list(`policies/${name}/teams`, teams)),
    ...(routes ?? []).flatMap(({ teams }, at) => list(`routes/${at}/teams`, teams)),
  ];
}

function ruleTeams(rules: unknown): string[] {
  if (!Array.isArray(rules)) return [];
  return rules
    .filter(isObject)
    .flatMap(({ team, split }) => [
      ...(typeof team === 'string' ? [team] : []),
      ...(isObject(split) ? keysOf(split['shares']) : []),
    ]);
}

const keysOf = (value: unknown): string[] => (isObject(value) ? Object.keys(value) : []);

const isObject = (value: unknown): value is Entries =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
