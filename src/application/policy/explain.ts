/**
 * Explains why something is proposed or left alone: for one machine, workload, group, team or budget it lists every
 * policy document that evaluates it, the evidence it saw, the missing evidence, the conditions under which it would
 * act, and the outcome of its proposals. Both entry points use it. Reads only.
 *
 * The policies are evaluated on the same view as for recommendations, so the explanation matches their behaviour. The
 * invariant: every answer has a reason; if no document applies, that is the reason.
 */
import { own } from '../../core/own.js';
import { opensAgainFrom, type Decided } from '../../core/action/acting.js';
import type { Action } from '../../core/action/action.js';
import {
  candidatesOf,
  endOf,
  heldSizes,
  holdersOf,
  promisedGroups,
  promiserOf,
  sizedBy,
  type Candidate,
} from '../../core/policy/decision.js';
import { appliesTo, notRunFor, type PolicyDocument } from '../../core/policy/document.js';
import type { LeftAlone, OwnEnd, TargetExplanation, Policy, PolicyView } from '../../core/policy/policy.js';
import type { PolicyMode } from '../../core/policy/recommendation.js';
import { formatInstant, sayInstant } from '../../core/time.js';
import type { StoredPolicy } from '../../store/policy/policies.js';
import type { StoredRecommendation, TeamEvaluation } from '../../store/policy/recommendations.js';
import type { Stores } from '../../store/stores.js';
import { knownBy, type Known, type KnowingStores } from './known-by.js';

export interface Explained {
  /** The requested name, and what it was found to be. */
  readonly asked: string;
  readonly kind: Known['kind'];
  readonly target: string;
  readonly team: string;
  /** ISO 8601: as of when the policies look. */
  readonly asOf: string;
  /** The known facts, as sentences. */
  readonly known: string[];
  /** When recommendations of the team were last made, ISO 8601, null: never; and when they are made again. */
  readonly recommended: { readonly at: string | null; readonly next: TeamEvaluation['next']; readonly message: string };
  readonly looks: ExplainedPolicy[];
}

export interface ExplainedPolicy {
  /** Null: no document runs the policy for the team. */
  readonly document: string | null;
  readonly policy: string;
  readonly mode: PolicyMode | null;
  readonly target: string;
  readonly saw: string[];
  readonly proposes: string[];
  /** Null: it proposes something. */
  readonly leftAlone: { readonly code: string; readonly message: string; readonly toAct: string } | null;
  /** The recommendation that there is of it, as it was last made and decided; null: none. */
  readonly recommendation: ExplainedRecommendation | null;
}

export interface ExplainedRecommendation {
  readonly id: string;
  readonly status: StoredRecommendation['status'];
  readonly madeAt: string;
  readonly decidedBy: string | null;
  readonly action: string | null;
  /** The obstacle, or the reason of the refusal, as a sentence; null: nothing. */
  readonly because: string | null;
}

const MOST_RECOMMENDATIONS = 10_000;
/** The policy that acts for a budget. */
const BRAKE = 'budget-brake';

/** It reads what decides: the view of the policies, what they proposed, and what became of it. */
type Needs = KnowingStores & Pick<Stores, 'db' | 'prices' | 'views' | 'policies' | 'actions'>;

/**
 * @param asked a team, a budget, a target of the fleet, or what readings call it
 * @param mayAsk throws where the caller does not see a team
 * @param sees whether the caller sees a team: documents that hold only for others are not named
 * @throws Failure missing if nothing of that name is known
 */
export async function explain(
  stores: Needs,
  policies: readonly Policy[],
  organisation: string,
  asked: string,
  now: number,
  mayAsk: (team: string) => void = () => {},
  sees: (team: string) => boolean = () => true,
): Promise<Explained> {
  const { db, organisations, prices, views, policies: documents } = stores;
  const { names, teams, ...found } = await knownBy(stores, db, organisation, asked, now);
  const { team } = found;
  for (const one of teams) mayAsk(one);
  const asOf = await organisations.asOf(db, organisation, now);
  const view = await views.view(
    db,
    organisation,
    team,
    await organisations.currencyOf(db, organisation, team),
    asOf,
    await prices.book(db, organisation),
    await organisations.peak(db, organisation),
    { needsInstances: true },
  );
  const all = await documents.list(db, organisation, policies);
  const running = all.filter(({ paused }) => !paused);
  const held = heldSizes(view, running, policies);
  const promised = promisedGroups(view, running, policies);
  const looks = [
    ...all
      .filter((one) => appliesTo(one, team))
      .flatMap((document) => explanationsOf(document, view, policies, found.target, names, { held, promised })),
    ...notRun(all, policies, team, found, sees),
  ];
  const explained = await stores.recommendations.evaluationOf(db, organisation, team);
  return {
    asked,
    ...found,
    asOf: formatInstant(asOf),
    recommended: {
      at: explained.evaluatedAt === null ? null : formatInstant(explained.evaluatedAt),
      next: explained.next,
      message: evaluationMessage(team, explained),
    },
    looks: await withRecommendations(stores, organisation, team, looks, asOf),
  };
}

function evaluationMessage(team: string, { evaluatedAt, next, problem }: TeamEvaluation): string {
  const last = `recommendations of ${team} were ${evaluatedAt === null ? 'never made yet' : `last made at ${sayInstant(evaluatedAt)}`}`;
  const again = {
    due: 'and are due again now, at most once a minute',
    failed: `and failed since: ${problem ?? 'the reason is unknown'}`,
    'when-something-changes': 'and are made again within a minute of new readings, prices or changes',
  }[next];
  return `${last}, ${again}`;
}

/** Policies without a document for the team that have one elsewhere or apply by default. */
function notRun(
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
  team: string,
  { kind, target }: Pick<Known, 'kind' | 'target'>,
  sees: (team: string) => boolean,
): Omit<ExplainedPolicy, 'recommendation'>[] {
  const elsewhere = documents.map(({ policy }) => policy);
  const held = (policy: string): boolean =>
    documents.some((document) => document.policy === policy && appliesTo(document, team));
  const names = [
    ...new Set([...notRunFor(documents, team), ...elsewhere, ...(kind === 'budget' ? [BRAKE] : [])]),
  ].filter((policy) => !held(policy) && policies.some(({ name }) => name === policy));
  return names.map((policy) => {
    const why = whyNotRun(policy, documents, sees);
    return {
      document: null,
      policy,
      mode: null,
      target,
      saw: [],
      proposes: [],
      leftAlone: {
        code: 'no-document',
        message: `no document of ${policy} applies to ${team}: ${why}`,
        toAct: `a document of ${policy} with ${team} among its teams, or with teams: '*'`,
      },
    };
  });
}

function whyNotRun(policy: string, documents: readonly PolicyDocument[], sees: (team: string) => boolean): string {
  const others = documents.filter((document) => document.policy === policy);
  const named = others.flatMap(({ name, teams }) => {
    const seen = teams === '*' ? [] : teams.filter(sees);
    if (teams === '*') return [`${name} applies to every team`];
    return seen.length === 0 ? [] : [`${name} applies to ${seen.join(', ')}`];
  });
  if (others.length > 0) return named.length === 0 ? 'its documents apply to other teams' : named.join('; ');
  return policy === BRAKE
    ? 'nothing is done when a budget runs out'
    : 'the default no longer applied once there was a document';
}

/** Each with the recommendation that there is of it. */
async function withRecommendations(
  { db, recommendations, actions }: Needs,
  organisation: string,
  team: string,
  looks: readonly Omit<ExplainedPolicy, 'recommendation'>[],
  asOf: number,
): Promise<ExplainedPolicy[]> {
  const all = (await recommendations.list(organisation, { team }, null, MOST_RECOMMENDATIONS)).filter(
    ({ status }) => status !== 'superseded' && status !== 'expired',
  );
  const found = looks.map((explained) => ({
    explained,
    made: all.find(({ policy, target }) => policy === explained.policy && target === explained.target) ?? null,
  }));
  const newest = await actions.newestOf(
    db,
    organisation,
    found.flatMap(({ made }) => (made === null ? [] : [made.id])),
  );
  const decided = await recommendations.decided(
    db,
    organisation,
    found.flatMap(({ made }) => made ?? []),
  );
  return found.map(({ explained, made }) => ({
    ...explained,
    recommendation:
      made === null
        ? null
        : stateOf(made, newest.get(made.id) ?? null, decided.get(made.id) ?? null, explained.proposes, asOf),
  }));
}

const stateOf = (
  made: StoredRecommendation,
  action: Action | null,
  decided: Decided | null,
  proposes: readonly string[],
  asOf: number,
): ExplainedRecommendation => ({
  id: made.id,
  status: made.status,
  madeAt: made.madeAt,
  decidedBy: made.decidedBy,
  action: action === null ? null : `${action.id} ${action.state}`,
  because:
    action !== null && made.status !== 'open'
      ? [action.reasons[0]?.message, restsUntil(action, decided, proposes.length > 0, asOf)]
          .filter((text) => typeof text === 'string')
          .join('; ') || null
      : made.obstacles.length > 0
        ? made.obstacles.map(({ message }) => message).join('; ')
        : null,
});

/**
 * The time from which a finished or refused action is a new question; a proposal that is absent now may exist by then.
 */
function restsUntil({ endedAt }: Action, decided: Decided | null, isProposed: boolean, asOf: number): string | null {
  const from = decided === null || endedAt === null ? null : opensAgainFrom(decided);
  if (from === null || from <= asOf || endedAt === null) return null;
  const again = decided?.overtakenAt ?? null;
  const since = again === null ? '' : `, and its own document changed it back at ${sayInstant(again)}`;
  return `its last action was over at ${sayInstant(endedAt)}${since}: ${isProposed ? 'it is asked for again' : 'if it is proposed again, it is asked for'} with evidence from ${sayInstant(from)} on`;
}

function explanationsOf(
  document: StoredPolicy,
  view: PolicyView,
  policies: readonly Policy[],
  target: string,
  names: readonly string[] | null,
  others: { readonly held: ReturnType<typeof heldSizes>; readonly promised: ReturnType<typeof promisedGroups> },
): Omit<ExplainedPolicy, 'recommendation'>[] {
  const { name, policy: named, mode, paused } = document;
  const policy = policies.find((one) => one.name === named);
  const isOurs = (one: string): boolean => names === null || names.includes(one);
  const explained = (
    one: Pick<ExplainedPolicy, 'target'> & { leftAlone: LeftAlone | null } & Partial<ExplainedPolicy>,
  ) => ({
    document: name,
    policy: named,
    mode,
    saw: [],
    proposes: [],
    ...one,
    leftAlone: one.leftAlone === null ? null : plain(one.leftAlone),
  });
  if (policy === undefined) return [explained({ target, leftAlone: GONE })];
  if (paused) {
    const leftAlone = { code: 'paused', message: 'its document is paused', toAct: `bursar policies resume ${name}` };
    return [explained({ target, leftAlone })];
  }
  const candidates = candidatesOf(view, [document], policies);
  const withheld = (one: Candidate): LeftAlone | null =>
    endedBy(endOf(view, one)) ??
    heldByOthers(holdersOf(others.held, one)) ??
    ownedBy(promiserOf(view, others.promised, one));
  const proposals = candidates.filter((one) => withheld(one) === null).map(({ proposal }) => proposal);
  const because = new Map(candidates.map((one) => [one.proposal.target, withheld(one)] as const));
  const explanations = (policy.explain?.(view, policy.params.parse(document.params), name) ?? []).filter((one) =>
    isOurs(one.target),
  );
  const titles = (of: string): string[] => proposals.filter((one) => one.target === of).map(({ title }) => title);
  // An action in progress explains more than any bound, including the policy's own, which it does not propose meanwhile.
  const acting = (of: string): LeftAlone | null =>
    titles(of).length > 0 ? null : endedBy(own(view.ownEnds, of) ?? null);
  const looks = explanations.map(({ saw, leftAlone, target: of }: TargetExplanation) =>
    explained({
      target: of,
      saw: [...saw],
      proposes: titles(of),
      leftAlone: acting(of) ?? leftAlone ?? (titles(of).length > 0 ? null : (because.get(of) ?? NOT_WORTH)),
    }),
  );
  const rest = [...because.keys()].filter((of) => isOurs(of) && !explanations.some((each) => each.target === of));
  const unexplained = rest.map((of) =>
    explained({
      target: of,
      proposes: titles(of),
      leftAlone: titles(of).length > 0 ? null : (because.get(of) ?? null),
    }),
  );
  if (looks.length + unexplained.length > 0) return [...looks, ...unexplained];
  return [explained({ target, leftAlone: acting(target) ?? ofItsGroup(view, target) ?? nothingSeen(policy) })];
}

const plain = ({ code, message, toAct }: LeftAlone): NonNullable<ExplainedPolicy['leftAlone']> => ({
  code,
  message,
  toAct,
});

const GONE: LeftAlone = {
  code: 'no-policy',
  message: 'there is no such policy in this version',
  toAct: 'a document of an existing policy (bursar policies)',
};

/** It proposed something that is not kept (policy/claim.ts, policy/decision.ts). */
const NOT_WORTH: LeftAlone = {
  code: 'not-worthwhile',
  message: 'its proposal saves nothing that may be claimed, or the target is already stopped',
  toAct: 'a known saving, or a running target',
};

/** What an action ends, or has ended, is asked for by no other document. */
const endedBy = (end: OwnEnd | null): LeftAlone | null =>
  end === null
    ? null
    : {
        code: end.isOver ? 'ended-already' : 'under-way',
        message: `${end.action}${end.document === null ? '' : ` of ${end.document}`} ${END[end.kind][end.isOver ? 'over' : 'underWay']} it`,
        toAct: end.isOver
          ? 'a machine of that name that was started later'
          : `the end of that action (bursar actions show ${end.action})`,
      };

const END: Readonly<Record<OwnEnd['kind'], Readonly<Record<'over' | 'underWay', string>>>> = {
  replace: { over: 'has replaced', underWay: 'is replacing' },
  terminate: { over: 'has ended', underWay: 'is ending' },
};

/** Its load would let replicas go, and the load that another document follows does not. */
const heldByOthers = (documents: readonly string[]): LeftAlone | null =>
  documents.length === 0
    ? null
    : {
        code: 'held-by-another',
        message: `its load needs fewer, but the metric that ${documents.join(', ')} follows keeps the size`,
        toAct: 'both loads low, and both measured',
      };

const ownedBy = (document: string | null): LeftAlone | null => (document === null ? null : sizedBy(document));

/** What a policy does to a group stands at the group. */
function ofItsGroup(view: PolicyView, target: string): LeftAlone | null {
  const group = view.observedTargets?.[target]?.group ?? null;
  if (group === null) return null;
  return {
    code: 'of-a-group',
    message: `it is of ${group}, and nothing concerns it alone`,
    toAct: `what stands at its group (bursar explain ${group})`,
  };
}

const nothingSeen = (policy: Policy): LeftAlone => ({
  code: 'nothing-seen',
  message: 'it saw no evidence that it uses',
  toAct: `its purpose: ${policy.description}`,
});
