/**
 * The guard: the last check before an action is intended. It takes all facts and returns either permission to act or
 * every reason against it. Pure, and it forbids what it cannot know: a target that cannot be read, GPUs that were not
 * counted, and evidence without an age are reasons against acting.
 *
 * A reason either may pass by itself (then the action waits, until it expires) or it does not (then the action is
 * refused permanently).
 *
 * A rollback has its own guard. It restores what an action has changed, so cooldown, quiet hours, evidence, labels, the
 * floor and the hourly caps do not block it, and it does not count towards the caps. The kill switch blocks it, unless
 * the caller overrides the switch.
 *
 * A move of which half is done has a target that stands still. All that is left is to start it, so only its target, its
 * connection and the kill switch are looked at, and the switch holds it until it is lifted.
 */
import { isApprovedByPolicy, isHalfMoved, progressOf, type Action, type Reason } from './action.js';
import { obstaclesOf, reachOf, sizeAfter, type Reach } from './acting.js';
import { calledIn } from '../actor.js';
import { UNALLOCATED } from '../cost/allocation.js';
import { isTakenByCloud, type Effect, type EffectKind, type FleetTarget } from '../fleet/fleet.js';
import { amountNanos, isQuiet, type BindingLimits, type Limits } from './limits.js';
import { formatMoney } from '../money.js';
import { replicasKept, type ServicePromise } from './service-floor.js';
import { gpusKept, type TeamFleet } from './team-floor.js';
import { HOUR_MS, MINUTE_MS, parseInstant, sayInstant } from '../time.js';

/** Switched off: everything, a team with the teams below it, or a provider. */
export interface Stop {
  readonly scope: 'all' | 'team' | 'provider';
  /** Empty for `all`. */
  readonly name: string;
}

export interface SetStop extends Stop {
  /** ISO 8601. */
  readonly setAt: string;
  readonly setBy: string;
}

const coverText = ({ scope, name }: Stop): string => (scope === 'all' ? 'for everything' : `for the ${scope} ${name}`);

/** What a kill switch covers, since when, and who set it. */
export const stopText = (stop: SetStop): string =>
  `${coverText(stop)}, since ${sayInstant(parseInstant(stop.setAt) ?? 0)}, set by ${calledIn(stop.setBy)}`;

/** The actions of the last hour, without rollbacks and without those that the provider refused. */
export interface RecentActions {
  readonly actions: number;
  readonly gpus: number;
  /** Nanos committed to by purchases of this calendar month (UTC) in the currency of the limit. */
  readonly purchasedNanos: bigint;
}

/** The evidence that allows enforcing. */
export type Gate =
  | { readonly kind: 'backtested' }
  /** An entry of the audit says why it may enforce without. */
  | { readonly kind: 'override' }
  | { readonly kind: 'none' };

export interface GuardFacts {
  readonly now: number;
  readonly action: Action;
  /** The connection that would act; null: there is none of that name. */
  readonly connection: { readonly canAct: boolean; readonly canRead: boolean } | null;
  /** The target as it was read just now; null: the provider says that it is not there. */
  readonly seen: FleetTarget | null;
  readonly seenAt: number;
  /**
   * The target's team by the rules, at the present reading; null: the target has no attributes left that could show it.
   */
  readonly owner: string | null;
  /** Whether its owner forbids stops, moves and resizes; null: nobody said. */
  readonly isProtected: boolean | null;
  readonly limits: BindingLimits;
  /** The fleet of its team; null if no limit needs it. */
  readonly teamFleet: TeamFleet | null;
  /** What a document promises of the service whose replicas the target holds; null: nothing, or a brake acts. */
  readonly promise: ServicePromise | null;
  readonly recent: { readonly team: RecentActions; readonly organisation: RecentActions };
  /** When another action on the target was last applied; null: never. */
  readonly lastOnTargetAt: number | null;
  /** Another live action on the target; null: there is none. */
  readonly liveOnTarget: string | null;
  /** Whether the document still enforces for the team; null: not approved by a policy. */
  readonly stillEnforces: boolean | null;
  readonly gate: Gate;
  /** The kill switches that cover the action. */
  readonly stops: readonly Stop[];
  /** For a replacement: whether the whole machine was lost, not only a card. */
  readonly lostMachine?: boolean;
  /** For a rollback: the effect that it reverses, and whether that was confirmed. */
  readonly takesBack: { readonly effect: Effect; readonly wasConfirmed: boolean } | null;
}

export interface GuardReason extends Reason {
  /** It may be temporary. */
  readonly passing: boolean;
}

export type Verdict =
  | { readonly allowed: true; readonly reach: Reach }
  | { readonly allowed: false; readonly reasons: readonly GuardReason[] };

/** A permanent refusal, and a temporary one. */
const refusal = (code: string, message: string): GuardReason => ({ code, message, passing: false });
const wait = (code: string, message: string): GuardReason => ({ code, message, passing: true });

const minutes = (ms: number): string => `${Math.ceil(ms / MINUTE_MS)} minute(s)`;

/** Every reason against acting now, or leave to act with what the action reaches. */
export function guard(facts: GuardFacts): Verdict {
  const { action, seen } = facts;
  const isPurchase = action.effect.kind === 'purchase';
  const reach = reachOf(action.effect, seen);
  const reasons = isHalfMoved(action)
    ? aboutRest(facts)
    : [
        ...aboutApproval(facts),
        ...aboutStops(facts),
        ...aboutConnection(facts),
        ...aboutAge(facts),
        ...(isPurchase ? aboutPurchase(facts) : [...aboutOwner(facts), ...aboutTarget(facts)]),
        ...(action.rollbackOf === null ? aboutPace(facts, reach) : aboutChanges(facts)),
        ...(isPurchase ? [] : aboutReach(reach, facts.limits.team)),
      ];
  return reasons.length === 0 && reach !== null ? { allowed: true, reach } : { allowed: false, reasons };
}

/** Against the second half of a move. */
const aboutRest = (facts: GuardFacts): GuardReason[] => [
  ...aboutStops(facts).map((reason) => ({ ...reason, passing: true })),
  ...aboutConnection(facts),
  ...aboutReading(facts),
  ...aboutTarget(facts),
];

/** Whether every reason may be temporary: then the action waits. */
export const isRetryable = (reasons: readonly GuardReason[]): boolean =>
  reasons.length > 0 && reasons.every(({ passing }) => passing);

function aboutApproval({ now, action, stillEnforces, gate }: GuardFacts): GuardReason[] {
  const found: GuardReason[] = [];
  if (action.approvedBy === null) found.push(refusal('not-approved', 'nobody has approved it'));
  if (action.mode === 'observe') found.push(refusal('mode', 'its policy document only observes'));
  if (now >= action.expiresAt) found.push(refusal('expired', 'the time that it was proposed for is over'));
  if (!isApprovedByPolicy(action) || action.rollbackOf !== null) return found;
  if (stillEnforces !== true)
    found.push(refusal('mode', `the policy document ${action.document ?? '(none)'} no longer enforces here`));
  if (gate.kind === 'none')
    found.push(
      refusal(
        'no-backtest',
        `there is no backtest of ${action.policy ?? 'the policy'} with these parameters on the history of ${action.team}`,
      ),
    );
  return found;
}

function aboutStops({ action, stops }: GuardFacts): GuardReason[] {
  if (action.rollbackOf !== null && action.underStop) return [];
  return stops.map((stop) => refusal('stopped', `the kill switch is on ${coverText(stop)}`));
}

function aboutConnection({ action, connection }: GuardFacts): GuardReason[] {
  if (connection === null) return [refusal('no-connection', `there is no connection ${action.connection}`)];
  return [
    ...(connection.canAct ? [] : [refusal('cannot-act', `${action.connection} has no credentials for acting`)]),
    ...(connection.canRead || action.effect.kind === 'purchase'
      ? []
      : [refusal('cannot-read', `${action.connection} cannot read a target before acting on it`)]),
  ];
}

const aboutReading = ({ now, seenAt, limits: { team } }: GuardFacts): GuardReason[] =>
  now - seenAt > team.readingSeconds * 1000
    ? [wait('reading-stale', `the target was read more than ${team.readingSeconds} seconds ago`)]
    : [];

function aboutAge(facts: GuardFacts): GuardReason[] {
  const {
    now,
    action,
    limits: { team },
  } = facts;
  const found = action.effect.kind === 'purchase' ? [] : aboutReading(facts);
  if (action.rollbackOf !== null || action.effect.kind === 'purchase') return found;
  if (action.evidenceAt === null) found.push(refusal('no-evidence', 'the age of its evidence is unknown'));
  else if (now - action.evidenceAt > team.evidenceMinutes * MINUTE_MS)
    found.push(
      refusal(
        'evidence-stale',
        `its newest evidence is ${minutes(now - action.evidenceAt)} old, more than ${team.evidenceMinutes} minutes`,
      ),
    );
  return found;
}

/**
 * An action approved for one team is not carried out on a target that belongs to another team by now, whose limits were
 * not checked.
 */
function aboutOwner({ action, owner }: GuardFacts): GuardReason[] {
  if (owner === null || owner === action.team) return [];
  const whose = owner === UNALLOCATED ? 'to no single team' : `to ${owner}`;
  return [refusal('other-team', `${action.target} now belongs ${whose}, not to ${action.team}`)];
}

function aboutTarget({ action, seen, lostMachine }: GuardFacts): GuardReason[] {
  // A machine that the cloud has reclaimed is replaced by a similar one: nothing of it is left to harm.
  if (seen !== null && action.effect.kind === 'replace' && isTakenByCloud(seen)) return [];
  if (seen === null || seen.state === 'gone')
    return [refusal('target-gone', `${action.connection} says that ${action.target} does not exist`)];
  // A reading by id may show more than the list that lacked it; a provider that calls it not ready says so again.
  if (lostMachine === true && seen.state === 'running' && seen.unwell === undefined)
    return [refusal('runs', `${action.connection} has just reported ${action.target} as running and healthy`)];
  if (seen.state === 'unknown' && lostMachine !== true)
    return [wait('target-unknown', `${action.connection} does not know the state of ${action.target}`)];
  if (progressOf(action.effect, seen) === 'done')
    return [refusal('already-so', `${action.target} is already in the wanted state`)];
  // A permanent reason is reported at once; nobody waits for it.
  const obstacles = obstaclesOf(action.effect, seen).map(({ code, message }) => refusal(code, message));
  if (obstacles.length > 0) return obstacles;
  // Clouds refuse both for good, though it passes within minutes (AWS IncorrectInstanceState, Alibaba
  // IncorrectInstanceStatus).
  if (seen.kind === 'instance' && seen.state === 'stopping' && action.effect.kind === 'start')
    return [wait('between-states', `${action.target} is still stopping; it is started once it has stopped`)];
  if (seen.kind === 'instance' && seen.state === 'starting' && action.effect.kind === 'stop')
    return [wait('between-states', `${action.target} is still starting; it is stopped once it runs`)];
  return [];
}

/** The reasons that limit the pace of all actions except rollbacks, and protect certain targets. */
function aboutPace(facts: GuardFacts, reach: Reach | null): GuardReason[] {
  const { now, action, lastOnTargetAt, liveOnTarget, limits } = facts;
  const found: GuardReason[] = [];
  if (liveOnTarget !== null)
    found.push(wait('live-action', `the action ${liveOnTarget} is under way on ${action.target}`));
  const cooledAt = lastOnTargetAt === null ? now : lastOnTargetAt + limits.team.cooldownMinutes * MINUTE_MS;
  if (now < cooledAt)
    found.push(
      wait('cooldown', `${action.target} was changed recently: ${minutes(cooledAt - now)} are left of its cooldown`),
    );
  if (isQuiet(limits.team.quietHours, now)) found.push(wait('quiet-hours', 'no actions are taken in quiet hours'));
  const sheltered = { ...facts, target: action.target, effect: action.effect };
  found.push(...aboutProtection(sheltered), ...aboutFloor(sheltered), ...aboutTeamFloor(sheltered));
  found.push(...aboutPromise(facts));
  if (reach !== null) found.push(...aboutHour(facts, reach, 'team'), ...aboutHour(facts, reach, 'organisation'));
  return found;
}

/** The lasting obstacles to an effect, for any approver at any time. */
export interface StandingFacts {
  readonly effect: Exclude<Effect, { readonly kind: 'purchase' }>;
  readonly connection: string;
  /** Effects that the connection carries out, none if it may only read; null: unknown. */
  readonly carriesOut: readonly EffectKind[] | null;
  /** As it was last seen. */
  readonly seen: FleetTarget;
  readonly isProtected: boolean | null;
  readonly limits: BindingLimits;
  readonly teamFleet: TeamFleet | null;
}

/**
 * The reasons for which the guard will certainly refuse, as long as the target and the limits stay unchanged: shown
 * with a recommendation, so that nobody is asked to approve it.
 */
export function standingReasons(facts: StandingFacts): Reason[] {
  const { effect, connection, carriesOut, seen, isProtected, limits, teamFleet } = facts;
  const reader = { target: effect.target, effect, seen, isProtected, limits, teamFleet };
  const cannot =
    carriesOut === null || carriesOut.includes(effect.kind)
      ? []
      : [
          carriesOut.length === 0
            ? refusal('cannot-act', `${connection} has no credentials for acting`)
            : refusal('missing-effect', `${connection} cannot carry out ${effect.kind}`),
        ];
  return [
    ...cannot,
    ...obstaclesOf(effect, seen),
    ...aboutProtection(reader),
    ...aboutFloor(reader),
    ...aboutTeamFloor(reader).filter(({ passing }) => !passing),
    ...aboutReach(reachOf(effect, seen), limits.team),
  ].map(({ code, message }) => ({ code, message }));
}

/** The facts about protection and minimum sizes. */
type Sheltered = Pick<GuardFacts, 'seen' | 'isProtected' | 'limits' | 'teamFleet'> & Pick<Action, 'target' | 'effect'>;

function aboutProtection({ target, seen, isProtected, limits }: Sheltered): GuardReason[] {
  const found: GuardReason[] =
    isProtected === true ? [refusal('protected', `the owner of ${target} forbids changes to it`)] : [];
  const labels = new Set(
    [limits.organisation, limits.team]
      .flatMap(({ protectedLabels }) => Object.entries(protectedLabels))
      .filter(
        ([name, value]) =>
          seen !== null && Object.hasOwn(seen.labels, name) && (value === '*' || seen.labels[name] === value),
      )
      .map(([name]) => name),
  );
  return [
    ...found,
    ...[...labels].map((name) => refusal('protected-label', `${target} carries the label ${name}, which protects it`)),
  ];
}

function aboutFloor({ target, effect, seen, limits: { team } }: Sheltered): GuardReason[] {
  const left = seen === null ? null : sizeAfter(effect, seen);
  if (left === null || seen === null) return [];
  const least = Math.max(team.minReplicas, seen.replicas?.min ?? 0);
  const found: GuardReason[] =
    left < least && left < (seen.replicas?.desired ?? Infinity)
      ? [refusal('floor', `${left} replicas are fewer than the ${least} that ${target} keeps`)]
      : [];
  if (team.minGpus === 0 || left >= (seen.replicas?.desired ?? 0)) return found;
  if (seen.gpus === null)
    return [...found, refusal('floor', `it is unknown whether ${target} keeps ${team.minGpus} GPUs`)];
  return left * seen.gpus < team.minGpus
    ? [...found, refusal('floor', `${left * seen.gpus} GPUs are fewer than the ${team.minGpus} that ${target} keeps`)]
    : found;
}

/** The minimum of a team over its whole fleet. Capacity that another action removes in the meantime may come back. */
function aboutTeamFloor({ effect, seen, limits: { team }, teamFleet }: Sheltered): GuardReason[] {
  const left = team.minTeamGpus === 0 || seen === null || teamFleet === null ? null : gpusKept(effect, seen, teamFleet);
  if (left === null || left.kept >= team.minTeamGpus) return [];
  const why = (kept: number): string =>
    `${kept} GPUs of the team would be certain to stay in service, fewer than the ${team.minTeamGpus} that it keeps`;
  return [left.alone < team.minTeamGpus ? refusal('floor', why(left.alone)) : wait('team-floor', why(left.kept))];
}

/** What a service is promised. Replicas that were lost since the proposal may come back. */
function aboutPromise({ action, seen, promise }: GuardFacts): GuardReason[] {
  const isOwn = action.document !== null && action.document === promise?.document;
  const kept = seen === null || promise === null ? null : replicasKept(action.effect, seen, promise, isOwn);
  if (kept === null || promise === null || kept >= promise.replicas) return [];
  return [
    wait(
      'service-floor',
      `${kept} replicas of ${promise.service} would be certain to stay ready, fewer than the ${promise.replicas} that the policy document ${promise.document} promises`,
    ),
  ];
}

/** The hourly caps. An action that alone exceeds a cap never passes. */
function aboutHour(
  { action, recent, limits }: GuardFacts,
  reach: Reach,
  scope: 'team' | 'organisation',
): GuardReason[] {
  const { actionsPerHour, gpusPerHour } = limits[scope];
  const { actions, gpus } = recent[scope];
  const whose = scope === 'team' ? action.team : 'the organisation';
  const found: GuardReason[] = [];
  if (actions + 1 > actionsPerHour)
    found.push(
      (actionsPerHour < 1 ? refusal : wait)(
        'actions-per-hour',
        `${whose} has had ${actions} action(s) within an hour; ${actionsPerHour} are allowed`,
      ),
    );
  if (reach.gpus !== null && gpus + reach.gpus > gpusPerHour) {
    found.push(
      (reach.gpus > gpusPerHour ? refusal : wait)(
        'gpus-per-hour',
        `${reach.gpus} GPUs apart from the ${gpus} that ${whose} has had changed within an hour are more than ${gpusPerHour}`,
      ),
    );
  }
  return found;
}

function aboutReach(reach: Reach | null, { gpusPerAction, replicasPerAction }: Limits): GuardReason[] {
  if (reach === null || reach.gpus === null)
    return [refusal('reach-unknown', 'the number of GPUs that it would change is unknown')];
  return [
    ...(reach.gpus > gpusPerAction
      ? [refusal('gpus-per-action', `it would change ${reach.gpus} GPUs; ${gpusPerAction} are allowed at once`)]
      : []),
    ...(reach.replicas > replicasPerAction
      ? [
          refusal(
            'replicas-per-action',
            `it would change ${reach.replicas} replicas; ${replicasPerAction} are allowed at once`,
          ),
        ]
      : []),
  ];
}

/** A rollback restores nothing that somebody has changed since. */
function aboutChanges({ action, seen, takesBack, liveOnTarget }: GuardFacts): GuardReason[] {
  const found: GuardReason[] =
    liveOnTarget === null ? [] : [wait('live-action', `the action ${liveOnTarget} is under way on ${action.target}`)];
  if (takesBack === null)
    return [...found, refusal('nothing-to-take-back', 'the action that it rolls back is unknown')];
  if (takesBack.wasConfirmed && progressOf(takesBack.effect, seen) === 'waiting')
    found.push(
      refusal('changed-since', `${action.target} is not as the action left it: somebody has changed it since`),
    );
  return found;
}

/**
 * A purchase by a policy stays within the monthly limit; a purchase that a person approved is that person's decision.
 */
function aboutPurchase({ action, limits, recent }: GuardFacts): GuardReason[] {
  const { effect } = action;
  if (effect.kind !== 'purchase' || !isApprovedByPolicy(action)) return [];
  return (['team', 'organisation'] as const).flatMap((scope): GuardReason[] => {
    const limit = limits[scope].purchasesPerMonth;
    if (limit === null)
      return [
        refusal(
          'purchase-needs-approval',
          `no purchases without approval are allowed to ${scope === 'team' ? action.team : 'the organisation'}`,
        ),
      ];
    if (limit.currency !== effect.currency)
      return [
        refusal('purchase-currency', `the limit of purchases is in ${limit.currency}, the offer in ${effect.currency}`),
      ];
    const left = (amountNanos(limit.amount) ?? 0n) - recent[scope].purchasedNanos;
    const text = (nanos: bigint): string => `${formatMoney({ nanos, currency: limit.currency })} ${limit.currency}`;
    return effect.mostNanos <= left
      ? []
      : [
          refusal(
            'purchase-limit',
            `it commits to ${text(effect.mostNanos)}; of the month's ${text(amountNanos(limit.amount) ?? 0n)} only ${text(left > 0n ? left : 0n)} are left`,
          ),
        ];
  });
}

/** The instant from which actions count as recent. */
export const recentSince = (now: number): number => now - HOUR_MS;
