/**
 * A policy document: the policy, its parameters, its teams, and how far it may go. Parsed from any JSON or YAML value;
 * every problem is named, none is repaired. It never evaluates a policy and never decides about a proposal
 * (decision.ts).
 *
 * The invariant: the parameters of a parsed document have passed its policy's own schema, with defaults filled in.
 */
import { invalid, type Problem } from '../errors.js';
import type { Policy } from './policy.js';
import type { PolicyMode } from './recommendation.js';

/** From the least to the most: each includes what those before it do. */
export const POLICY_MODES: readonly PolicyMode[] = ['observe', 'recommend', 'approve', 'enforce'];

export interface PolicyDocument {
  readonly name: string;
  readonly policy: string;
  /**
   * Exactly these teams, not those below them; `*`: all, also what belongs to no team (`unallocated`). A list of `*`
   * alone is read as `*`.
   */
  readonly teams: readonly string[] | '*';
  readonly mode: PolicyMode;
  /** As the policy's schema has read them. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Higher wins among policies that ask for the same action on the same subject; 0 where absent. */
  readonly priority: number;
}

/** The policies of an organisation without any document. */
const DEFAULT_POLICIES: ReadonlySet<string> = new Set(['idle-stop', 'reserve-baseline']);

const FIELDS: readonly string[] = ['name', 'policy', 'teams', 'mode', 'params', 'priority'];
const NAME = /^[\w.-]{1,100}$/;
const MOST_PRIORITY = 1_000_000;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The document that a value is.
 * @param policies those that there are
 * @throws Failure invalid, naming every problem by its path.
 */
export function readPolicyDocument(value: unknown, policies: readonly Policy[]): PolicyDocument {
  const { document, problems } = checkPolicyDocument(value, policies);
  if (document === null) throw invalid(`the policy document has ${problems.length} problem(s)`, problems);
  return document;
}

/** The same without throwing: the document, or null and every problem. */
export function checkPolicyDocument(
  value: unknown,
  policies: readonly Policy[],
): { readonly document: PolicyDocument | null; readonly problems: readonly Problem[] } {
  if (!isObject(value))
    return {
      document: null,
      problems: [{ path: null, message: 'is not an object with name, policy, teams and mode' }],
    };
  const problems: Problem[] = Object.keys(value)
    .filter((key) => !FIELDS.includes(key))
    .map((key) => ({ path: key, message: `is none of ${FIELDS.join(', ')}` }));
  const check = (path: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path, message });
  };
  const { name, policy, teams, mode, params = {}, priority = 0 } = value;
  check('name', typeof name === 'string' && NAME.test(name), 'is not a name of 1 to 100 letters, digits and . _ -');
  const part = policies.find((one) => one.name === policy);
  check('policy', part !== undefined, `is none of ${policies.map((one) => one.name).join(', ')}`);
  problems.push(...teamProblems(teams));
  check('mode', POLICY_MODES.includes(mode as PolicyMode), `is none of ${POLICY_MODES.join(', ')}`);
  check(
    'priority',
    Number.isSafeInteger(priority) && Math.abs(priority as number) <= MOST_PRIORITY,
    `is not a whole number from -${MOST_PRIORITY} to ${MOST_PRIORITY}`,
  );
  const read = readParams(part, params, problems);
  if (problems.length > 0) return { document: null, problems };
  return {
    document: {
      name: name as string,
      policy: policy as string,
      teams: isEveryTeam(teams) ? '*' : (teams as PolicyDocument['teams']),
      mode: mode as PolicyMode,
      params: read,
      priority: priority as number,
    },
    problems,
  };
}

const isEveryTeam = (teams: unknown): boolean =>
  teams === '*' || (Array.isArray(teams) && teams.length === 1 && teams[0] === '*');

function teamProblems(teams: unknown): Problem[] {
  if (isEveryTeam(teams)) return [];
  if (!Array.isArray(teams) || teams.length === 0)
    return [{ path: 'teams', message: "is neither '*' nor a list of one team or more" }];
  return teams.flatMap((team: unknown, at) => {
    if (typeof team !== 'string' || team.trim() === '' || team.trim() !== team)
      return [{ path: `teams/${at}`, message: "is not a team's name" }];
    if (team === '*') return [{ path: `teams/${at}`, message: 'means every team: it cannot be combined with others' }];
    return teams.indexOf(team) < at ? [{ path: `teams/${at}`, message: `names ${team} again` }] : [];
  });
}

function readParams(policy: Policy | undefined, params: unknown, problems: Problem[]): Fields {
  if (!isObject(params)) {
    problems.push({ path: 'params', message: 'is not an object' });
    return {};
  }
  const result = policy?.params.safeParse(params);
  if (result === undefined) return {};
  if (result.success) return result.data as Fields;
  problems.push(
    ...result.error.issues.map(({ path, message }) => ({ path: ['params', ...path.map(String)].join('/'), message })),
  );
  return {};
}

/** The documents without any written one: idle-stop and reserve-baseline recommend to every team. */
export function defaultDocuments(policies: readonly Policy[]): PolicyDocument[] {
  return policies
    .filter(({ name }) => DEFAULT_POLICIES.has(name))
    .map(({ name, params }) => ({
      name,
      policy: name,
      teams: '*',
      mode: 'recommend',
      params: params.parse({}) as Fields,
      priority: 0,
    }));
}

export const appliesTo = ({ teams }: Pick<PolicyDocument, 'teams'>, team: string): boolean =>
  isEveryTeam(teams) || teams.includes(team);

/** Policies that hold for a team where nobody has written a document, and that none of these documents runs for it. */
export const notRunFor = (documents: readonly Pick<PolicyDocument, 'policy' | 'teams'>[], team: string): string[] =>
  [...DEFAULT_POLICIES].filter(
    (policy) => !documents.some((document) => document.policy === policy && appliesTo(document, team)),
  );

/**
 * The identity that a backtest vouches for: the policy, its version and its parameters as one text, in any order of
 * their names. A document with another text has not been backtested.
 */
export function fingerprintOf({ policy, params }: Pick<PolicyDocument, 'policy' | 'params'>, version: number): string {
  return JSON.stringify([policy, version, sorted(params)]);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
