/**
 * From a recommendation to the effect that carries it out, or the reason why none does; the reach of an effect; and the
 * view that a policy would have without its own actions.
 *
 * Pure: it calls nobody. It never stretches a recommendation: if no effect of the target fits exactly, it stays a
 * recommendation with its reason.
 */
import type { Action, Next, Reason } from './action.js';
import {
  inverseOf,
  isStoppedByCloud,
  isTakenByCloud,
  type Effect,
  type FleetTarget,
  type TargetKind,
} from '../fleet/fleet.js';
import { groupOf, undoingGroup } from '../fleet/membership.js';
import { obstaclesTo } from '../fleet/settings.js';
import { isMove, moveOf } from './move-effect.js';
import type { PolicyView, ResourceView, WorkloadView } from '../policy/view.js';
import { planPurchase, type PlanPurchase } from '../price/plan-rates.js';
import type { CommitmentOffer } from '../price/commitment-offer.js';
import type { Recommendation, RecommendedAction } from '../policy/recommendation.js';
import { HOUR_MS, MINUTE_MS, parseInstant } from '../time.js';

export type Carrying = { readonly effect: Effect; readonly next?: Next } | { readonly obstacle: Reason };

/** The requested change; the rest of a recommendation does not matter here. */
export type Wanted = Pick<Recommendation, 'action' | 'change'>;

const none = (code: string, message: string): Carrying => ({ obstacle: { code, message } });

/** Kinds that have a size. */
const SIZED: ReadonlySet<TargetKind> = new Set(['group', 'workload', 'node-pool']);

const isSized = ({ kind, asOne }: FleetTarget): boolean => SIZED.has(kind) && asOne !== true;

/** Recommendations that no provider carries out, and why. */
const NOT_ACTED_ON: Readonly<Partial<Record<RecommendedAction, string>>> = {
  Keep: 'it requests no change',
  Notify: 'it is only reported, not carried out',
  RefuseLaunches: 'launches are refused where they are requested, not at a provider',
};

/** An action that only a person can carry out, with the reason. */
const byHand = (why: string): Carrying => none('by-hand', `a person has to carry it out: ${why}`);

/**
 * A job that we stopped is started late rather than never: so long after the last instant at which it would still be in
 * time.
 */
const LATE_START_MS = 6 * HOUR_MS;

/**
 * The obstacles to an effect on the target's last known state: shown with a recommendation before anybody is asked to
 * approve it, and reported by the guard.
 */
export function obstaclesOf(effect: Effect, seen: FleetTarget): Reason[] {
  const group = undoingGroup(effect, seen);
  const member: Reason[] =
    group === null
      ? []
      : [
          {
            code: 'group-member',
            message: `${seen.target} belongs to ${group}, which would replace it, or release it with its disks: scale the group, or change what it launches`,
          },
        ];
  return [...member, ...obstaclesTo(effect, seen)];
}

/**
 * The effect on a target that carries a recommendation out. Purchases have no target: see `purchaseOf`.
 * @param seen the target as it was last seen
 */
export function effectOf(wanted: Wanted, seen: FleetTarget): Carrying {
  const carrying = fittingEffect(wanted, seen);
  if ('obstacle' in carrying) return carrying;
  const [obstacle] = obstaclesOf(carrying.effect, seen);
  return obstacle === undefined ? carrying : { obstacle };
}

function fittingEffect(wanted: Wanted, seen: FleetTarget): Carrying {
  const { action } = wanted;
  const why = NOT_ACTED_ON[action];
  if (why !== undefined) return none('not-an-effect', why);
  switch (action) {
    case 'Stop':
      return isSized(seen) ? scaled(seen, 0) : onInstance(seen, { kind: 'stop', target: seen.target });
    case 'Release':
      if (seen.asOne === true) return onInstance(seen, { kind: 'stop', target: seen.target });
      return isSized(seen) ? scaled(seen, 0) : onInstance(seen, { kind: 'terminate', target: seen.target });
    case 'Replace': {
      // Never what a workload is called: only the machine's own labels say that a group brings another.
      const group = groupOf(seen);
      if (group !== null && isTakenByCloud(seen))
        return none(
          'group-replaces',
          `its cloud has taken ${seen.target} away, and ${group} replaces it by itself: nothing is done here`,
        );
      // A machine that its cloud has stopped is replaced by starting it: the cloud finds another host.
      if (group === null && isStoppedByCloud(seen)) return onInstance(seen, { kind: 'start', target: seen.target });
      return onInstance(seen, { kind: 'replace', target: seen.target, group });
    }
    case 'Start':
    case 'ScaleIn':
    case 'ScaleOut':
      return resized(wanted, seen);
    case 'MoveToSpot':
    case 'MoveToOnDemand':
      return moved(wanted, seen);
    case 'Rightsize':
      return rightsized(wanted, seen);
    case 'MoveToOffPeak':
      return shifted(wanted, seen);
    default:
      return none('no-target', 'a purchase is made from an offer, not on a target');
  }
}

function onInstance(seen: FleetTarget, effect: Effect): Carrying {
  return seen.kind === 'instance' || (seen.asOne === true && (effect.kind === 'stop' || effect.kind === 'start'))
    ? { effect }
    : none('no-effect-fits', `a ${seen.kind} is neither stopped, started nor replaced as one`);
}

function scaled(seen: FleetTarget, replicas: number): Carrying {
  if (!SIZED.has(seen.kind)) return none('no-effect-fits', `a ${seen.kind} has no number of replicas`);
  const most = seen.replicas?.max ?? null;
  if (most !== null && replicas > most)
    return none('beyond-bounds', `${replicas} replicas are more than the ${most} that ${seen.target} may have`);
  return { effect: { kind: 'scale', target: seen.target, replicas } };
}

function resized({ action, change }: Wanted, seen: FleetTarget): Carrying {
  const { replicas } = change;
  if (typeof replicas !== 'number' || !Number.isSafeInteger(replicas) || replicas < 0)
    return none('no-effect-fits', 'it does not say how many replicas there should be');
  if (isSized(seen)) return scaled(seen, replicas);
  if (replicas > 1) return none('no-effect-fits', 'a single instance cannot become several');
  if (action === 'ScaleIn')
    return none('no-effect-fits', 'a single instance has no replicas to reduce: stop it instead');
  return onInstance(seen, { kind: replicas === 0 ? 'stop' : 'start', target: seen.target });
}

/**
 * Clouds in which an instance can change its type only while it is stopped (Amazon EC2 User Guide, "Change the instance
 * type"; ECS API Reference, "ModifyInstanceSpec"); Azure changes a running one's size only where its host has the other
 * size, and restarts it (learn.microsoft.com, "Change the size of a virtual machine"). Tencent Cloud shuts it down
 * itself (CVM API Reference, "ResetInstancesType").
 */
const STOPPED_TO_RESIZE: ReadonlySet<string> = new Set(['AWS', 'Alibaba Cloud', 'Microsoft']);

/** A group of the same SKU changes its size; of another SKU only an instance changes its type. */
function rightsized(wanted: Wanted, seen: FleetTarget): Carrying {
  const { sku, replicas, instances } = wanted.change;
  if (typeof sku !== 'string') {
    if (typeof replicas === 'number') return resized(wanted, seen);
    return byHand(
      typeof instances === 'string'
        ? `no provider accepts a change to several kinds of instances at once (${instances})`
        : 'it does not say which size it should have',
    );
  }
  if (sku === seen.sku && typeof replicas === 'number') return resized(wanted, seen);
  if (seen.kind !== 'instance')
    return byHand(
      `${seen.target} launches ${seen.sku ?? 'what its template says'}, and only its template decides which instances a ${seen.kind} launches`,
    );
  if (typeof replicas === 'number' && replicas !== 1) return byHand(`a single instance cannot become ${replicas}`);
  const resize: Effect = { kind: 'resize', target: seen.target, sku };
  const [obstacle] = obstaclesOf(resize, seen);
  if (obstacle !== undefined) return { obstacle };
  if (STOPPED_TO_RESIZE.has(seen.provider) && seen.state !== 'stopped')
    return byHand(`${seen.target} has to be stopped before it can become ${sku}, and started after that`);
  return { effect: resize };
}

/**
 * A job that waits for its cheap hours: it is stopped now and started when they begin; a group is scaled to zero, and
 * later back to its previous size. A job that already runs in cheap hours continues; a job that does not run is left to
 * its scheduler.
 */
function shifted({ change }: Wanted, seen: FleetTarget): Carrying {
  const [startsAt, startsBy] = ['startsAt', 'startsBy'].map((name) =>
    typeof change[name] === 'string' ? parseInstant(change[name]) : null,
  );
  if (startsAt === undefined || startsAt === null || startsBy === undefined || startsBy === null)
    return none('runs-now', 'its first hours are running: nothing is changed before they are over');
  const times = { notBefore: startsAt, expiresAt: startsBy + LATE_START_MS };
  const standsStill = byHand(
    `${seen.target} is stopped: its scheduler, or whoever runs it, has to start it at ${String(change['startsAt'])}`,
  );
  if (isSized(seen)) return pausedGroup(seen, times, standsStill);
  if (seen.kind !== 'instance' && seen.asOne !== true)
    return byHand(
      `a ${seen.kind} is not stopped and started as one job: its scheduler, or whoever runs it, has to start it at ${String(change['startsAt'])}`,
    );
  return seen.state === 'running' || seen.state === 'starting'
    ? {
        effect: { kind: 'stop', target: seen.target },
        next: { effect: { kind: 'start', target: seen.target }, ...times },
      }
    : standsStill;
}

function pausedGroup(
  { target, replicas }: FleetTarget,
  times: Pick<Next, 'notBefore' | 'expiresAt'>,
  standsStill: Carrying,
): Carrying {
  if (replicas === null)
    return none('size-unknown', `the number of replicas of ${target} is unknown, and so is the number to restore`);
  if (replicas.desired === 0) return standsStill;
  const least = replicas.min ?? 0;
  if (least > 0)
    return none(
      'beyond-bounds',
      `its group or autoscaler keeps at least ${least} replica(s) of ${target}: it cannot be paused while that is above 0`,
    );
  return {
    effect: { kind: 'scale', target, replicas: 0 },
    next: { effect: { kind: 'scale', target, replicas: replicas.desired }, ...times },
  };
}

/**
 * The follow-up of a finished action: a group returns to its size at the pause, which may differ from the size at the
 * proposal.
 */
export function followingEffect({
  effect,
  before,
  next,
}: Pick<Action, 'effect' | 'before'> & { readonly next: Next }): Effect {
  return next.effect.kind === 'scale' && before !== null ? (inverseOf(effect, before) ?? next.effect) : next.effect;
}

function moved(wanted: Wanted, seen: FleetTarget): Carrying {
  const { action, change } = wanted;
  if (isMove(wanted, seen)) {
    const move = moveOf(wanted, seen);
    if (move === null) return none('no-effect-fits', `the region in which ${seen.target} runs is unknown`);
    return 'steps' in move ? byHand(move.steps) : move;
  }
  if (seen.spotRatio === null)
    return none('no-effect-fits', `${seen.target} is not a group whose share of spot can be set`);
  const { sku } = change;
  if (typeof sku === 'string' && seen.sku !== null && sku !== seen.sku)
    return none('no-effect-fits', `it names ${sku}, and ${seen.target} runs ${seen.sku}`);
  return { effect: { kind: 'set-spot-ratio', target: seen.target, spotRatio: action === 'MoveToSpot' ? 1 : 0 } };
}

/** An offer of a connection, with what one unit of it holds. */
export interface OfferOnSale extends CommitmentOffer {
  readonly connection: string;
  /** The only account that the connection sees; null or absent: it sees several, or this is unknown. */
  readonly account?: string | null;
  readonly provider: string;
  /** GPUs that one unit covers; null: unknown, and then it is not bought. */
  readonly gpusPerUnit: number | null;
}

/**
 * The purchase that carries out a recommendation: the cheapest fitting offer, never more GPUs than recommended, never
 * at a higher price than compared, by a connection of the account whose machines it should cover, because a purchase by
 * another account may not cover them. The amount is the whole commitment over the term. A savings plan is bought as the
 * spend per hour of that many GPUs at its rate.
 */
export function purchaseOf(
  { action, change, target, place }: Wanted & Pick<Recommendation, 'target' | 'place'>,
  offers: readonly OfferOnSale[],
): Carrying & { readonly connection?: string } {
  if (place === undefined || place === null) return none('no-effect-fits', 'it does not say where to buy');
  const { provider, region, sku, account = null } = place;
  const { units: gpus, termHours, upfront, perGpuHourNanos } = change;
  if (typeof gpus !== 'number' || typeof termHours !== 'number' || typeof perGpuHourNanos !== 'number')
    return none('no-effect-fits', 'it does not say how much to buy, for how long and at what price');
  const kind = action === 'PurchaseReservedInstances' ? 'reserved-instance' : 'savings-plan';
  const onSale = offers.filter(
    (one) =>
      one.provider === provider &&
      one.kind === kind &&
      one.termHours === termHours &&
      one.upfront === upfront &&
      (kind === 'savings-plan' || one.sku === null || one.sku === sku) &&
      (one.region === null || region === null || one.region === region),
  );
  const fitting = account === null ? onSale : ofAccount(onSale, account);
  if (fitting.length === 0 && onSale.length > 0)
    return none('no-offer', `no connection offers what ${target} needs to the account ${account ?? ''}`);
  const priced = fitting
    .flatMap((offer) => {
      const bought =
        kind === 'savings-plan' ? planPurchase(offer, gpus, sku ?? '', region ?? '') : wholeUnits(offer, gpus);
      return bought === null
        ? []
        : [{ offer, ...bought, perGpuHour: Number(bought.mostNanos) / (bought.gpus * termHours) }];
    })
    .sort((a, b) => a.perGpuHour - b.perGpuHour || (a.offer.offer < b.offer.offer ? -1 : 1));
  const [best] = priced;
  if (best === undefined)
    return none(
      'no-offer',
      fitting.length === 0 ? `no connection offers what ${target} needs` : 'no known offer is for so few GPUs',
    );
  // The price list is rounded to a nano per GPU-hour.
  if (best.perGpuHour > perGpuHourNanos + 1)
    return none('offer-dearer', 'the current offer costs more than the one that the recommendation compared');
  const { offer, units, mostNanos, gpus: held } = best;
  const covers = kind === 'savings-plan' ? { family: offer.sku, region: offer.region } : {};
  return {
    connection: offer.connection,
    effect: {
      kind: 'purchase',
      target,
      offer: offer.offer,
      units,
      mostNanos,
      currency: offer.currency,
      gpus: held,
      ...covers,
    },
  };
}

/** The offers of an account's own connections; if there are none, those of connections without a stated account. */
function ofAccount(offers: readonly OfferOnSale[], account: string): readonly OfferOnSale[] {
  const own = offers.filter((one) => one.account === account);
  return own.length > 0 ? own : offers.filter((one) => (one.account ?? null) === null);
}

/**
 * The largest number of whole units of an offer with at most this many GPUs; null: not even one fits, or the size of a
 * unit is unknown.
 */
function wholeUnits(
  { gpusPerUnit, upfrontNanos, hourlyNanos, termHours }: OfferOnSale,
  gpus: number,
): PlanPurchase | null {
  const units = gpusPerUnit === null || gpusPerUnit <= 0 ? 0 : Math.floor(gpus / gpusPerUnit + 1e-9);
  return units < 1 || gpusPerUnit === null
    ? null
    : {
        units,
        mostNanos: BigInt(units) * (upfrontNanos + hourlyNanos * BigInt(Math.ceil(termHours))),
        gpus: units * gpusPerUnit,
      };
}

/** Whether the only obstacle is that nothing can carry the action out: a person may still do it by hand. */
export const isLeftToPeople = ({ code }: { readonly code: string }): boolean =>
  code === 'no-target' || code === 'no-offer' || code === 'not-an-effect';

/** Whether the owner of the target forbids the action: then nobody can approve it, not even to do it by hand. */
export const isForbidden = ({ code }: { readonly code: string }): boolean =>
  code === 'protected' || code === 'protected-label' || code === 'floor';

export const isPurchase = (action: RecommendedAction): boolean =>
  action === 'PurchaseReservedInstances' || action === 'PurchaseSavingsPlans';

/** How much an effect changes. */
export interface Reach {
  readonly replicas: number;
  /** Null: unknown, which is never zero. */
  readonly gpus: number | null;
}

/**
 * The blast radius of an effect: how much of the target's present state it changes, in replicas and GPUs. Growth counts
 * as well as shrinking. Null: unknown. A purchase changes no running machine; limits on money apply to it.
 */
export function reachOf(effect: Effect, seen: FleetTarget | null): Reach | null {
  if (effect.kind === 'purchase') return { replicas: 0, gpus: 0 };
  const replicas = seen === null ? null : replicasChanged(effect, seen);
  if (seen === null || replicas === null) return null;
  return { replicas, gpus: replicas === 0 ? 0 : seen.gpus === null ? null : replicas * seen.gpus };
}

function replicasChanged(
  effect: Exclude<Effect, { kind: 'purchase' }>,
  { kind, replicas, spotRatio, asOne }: FleetTarget,
): number | null {
  const all = asOne === true ? 1 : (replicas?.desired ?? (kind === 'instance' ? 1 : null));
  switch (effect.kind) {
    case 'scale':
      return all === null ? null : Math.abs(effect.replicas - all);
    case 'set-bounds':
      return all === null ? null : Math.max(0, all - effect.max) + Math.max(0, effect.min - all);
    case 'set-spot-ratio':
      // With an unknown share all replicas may move. A fraction of a replica counts as a whole one.
      return all === null
        ? null
        : spotRatio === null
          ? all
          : Math.max(0, Math.ceil(Math.abs(effect.spotRatio - spotRatio) * all - 1e-9));
    default:
      return all;
  }
}

/** Replicas that a group, workload or pool has after an effect; null: it has no size, or the effect leaves it. */
export function sizeAfter(effect: Effect, { kind, replicas }: FleetTarget): number | null {
  if (!SIZED.has(kind)) return null;
  if (effect.kind === 'scale') return effect.replicas;
  if (effect.kind === 'stop' || effect.kind === 'terminate') return 0;
  return effect.kind === 'set-bounds' && replicas !== null
    ? Math.min(Math.max(replicas.desired, effect.min), effect.max)
    : null;
}

/** The newest evidence of a recommendation, in epoch milliseconds; null: it names none. */
export function newestEvidence({ evidence }: Pick<Recommendation, 'evidence'>): number | null {
  const ends = evidence.flatMap(({ to }) => parseInstant(to) ?? []);
  return ends.length === 0 ? null : Math.max(...ends);
}

/** A person's decision about a recommendation, and the events since. */
export interface Decided {
  readonly status: 'approved' | 'rejected';
  /** Whether a later evaluation no longer proposed it. */
  readonly hasLapsed: boolean;
  /** Its newest action: whether it is over, and since when; null: there was none. */
  readonly action: { readonly endedAt: number | null } | null;
  /** When it was decided; absent: not known. */
  readonly decidedAt?: number;
  /** Its newest action was done, and another number is proposed now (`asksForOther`). */
  readonly asksForOther?: boolean;
  /** It is proposed for replicas that a service was promised (`isForPromise`). */
  readonly isForPromise?: boolean;
  /**
   * Since its newest action its document has done something else to the target, or has taken that action back itself,
   * which was over then, in epoch milliseconds; absent or null: it has not.
   */
  readonly overtakenAt?: number | null;
  /** Nothing was sent, because the last reading before was an obstacle (`wasRefusedByReading`). */
  readonly refusedByReading?: boolean;
}

/** Reasons of the guard that hold for one moment only: the next reading may differ. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set([
  'runs',
  'already-so',
  'target-gone',
  'no-evidence',
  'evidence-stale',
  'intent-stale',
]);

/** Whether an action was refused before anything was sent, only for reasons of that moment. */
export const wasRefusedByReading = ({
  state,
  askedAt,
  reasons,
}: Pick<Action, 'state' | 'askedAt' | 'reasons'>): boolean =>
  state === 'refused' && askedAt === null && reasons.length > 0 && reasons.every(({ code }) => OF_THE_MOMENT.has(code));

/** Whether a recommendation asks for another number of replicas than the last finished action has set. */
export const asksForOther = (
  { state, effect }: Pick<Action, 'state' | 'effect'>,
  { change }: Pick<Recommendation, 'change'>,
): boolean =>
  (state === 'confirmed' || state === 'measured') &&
  effect.kind === 'scale' &&
  typeof change['replicas'] === 'number' &&
  change['replicas'] !== effect.replicas;

/** Whether a recommendation asks for replicas that a document promises of a service. */
export const isForPromise = ({ action, change }: Pick<Recommendation, 'action' | 'change'>): boolean =>
  action === 'ScaleOut' && change['service'] !== undefined;

/** After an action is over, or somebody has rejected it, the same is not asked for again sooner. */
const REOPEN_AFTER_MS = 30 * MINUTE_MS;
/** A promise does not wait so long for replicas that a cloud refused, or that somebody has taken away since. */
const REOPEN_PROMISE_AFTER_MS = 5 * MINUTE_MS;
/** After a refusal because of one reading, the next reading may propose the action again. */
const READ_AGAIN_AFTER_MS = MINUTE_MS;

/**
 * The time of evidence, in epoch milliseconds, from which a finished or refused action is a new question; null: its
 * action is in progress, or there was no action, or a person has rejected it.
 */
export function opensAgainFrom({
  status,
  action,
  decidedAt,
  asksForOther: isOther,
  isForPromise: isPromised,
  overtakenAt = null,
  refusedByReading,
}: Decided): number | null {
  const endedAt = action?.endedAt ?? null;
  if (status !== 'approved' || endedAt === null) return null;
  // The very first evidence after it.
  if (isOther === true) return endedAt + 1;
  if (overtakenAt !== null) return overtakenAt + 1;
  if (refusedByReading === true) return endedAt + READ_AGAIN_AFTER_MS;
  const rest = isPromised === true ? REOPEN_PROMISE_AFTER_MS : REOPEN_AFTER_MS;
  return Math.max(endedAt, decidedAt ?? -Infinity) + rest;
}

/**
 * Whether a decided recommendation that is proposed again is a new question. The rule: while its action is in progress,
 * it is not. After the action it is one when evidence from half an hour after the action's end proposes it; five
 * minutes where a service was promised the replicas. Another number of replicas is one with the first evidence after
 * the action, limited by the cooldown; so is a target that its own document has changed back since (stopped, started
 * by the calendar or by a lifted brake, and to be stopped again). An action that was refused because of the last
 * reading is one a minute later. A decision that led to no action (rejected, or nothing could carry it out) stands
 * until the situation has passed: one evaluation did not propose it, and a later one does; after a rejection at least
 * half an hour later. An evaluation without readings does not count as passing.
 */
export function opensAgain(decided: Decided, evidenceAt: number | null): boolean {
  const { status, hasLapsed, action, decidedAt } = decided;
  if (action !== null && action.endedAt === null) return false;
  if (status === 'approved' && action === null) return hasLapsed;
  if (status === 'approved') return evidenceAt !== null && evidenceAt >= (opensAgainFrom(decided) ?? Infinity);
  const rests = Math.max(action?.endedAt ?? -Infinity, decidedAt ?? -Infinity) + REOPEN_AFTER_MS;
  return hasLapsed && (evidenceAt ?? Infinity) >= rests;
}

/** A policy's knowledge of a target at its proposal: stored with the action, in a form that JSON can represent. */
export interface Subject {
  readonly action: RecommendedAction;
  /** As the recommendation names it. */
  readonly target: string;
  readonly workload: Pick<WorkloadView, 'fleet' | 'term'> | null;
  readonly resource:
    | (Omit<ResourceView, 'readings' | 'hourlyNanos'> & {
        readonly hourlyNanos: string | null;
        readonly newest: ResourceView['readings'][number] | null;
      })
    | null;
}

export function subjectOf({ action, target }: Pick<Recommendation, 'action' | 'target'>, view: PolicyView): Subject {
  const workload = view.workloads.find((one) => one.workload === target);
  const found = view.resources.find((one) => one.resource === target);
  if (found === undefined)
    return {
      action,
      target,
      workload: workload === undefined ? null : { fleet: workload.fleet, term: workload.term },
      resource: null,
    };
  const { readings, hourlyNanos, ...resource } = found;
  return {
    action,
    target,
    workload: workload === undefined ? null : { fleet: workload.fleet, term: workload.term },
    resource: {
      ...resource,
      hourlyNanos: hourlyNanos === null ? null : String(hourlyNanos),
      newest: readings.at(-1) ?? null,
    },
  };
}

/**
 * The view without the effects of the actions on these subjects: previous fleets and terms, and resources with a recent
 * reading. A policy that holds only while it proposes is evaluated on it, because it would not propose to stop a target
 * that it has already stopped.
 * @param subjects newest first
 */
export function asUntouched(view: PolicyView, subjects: readonly Subject[]): PolicyView {
  // Of several on one target the last entry wins, because the caller lists the newest first.
  const byTarget = new Map(subjects.map((one) => [one.target, one]));
  const untouched = [...byTarget.values()].flatMap(({ resource }): ResourceView[] => {
    if (resource === null) return [];
    const { newest, hourlyNanos, ...rest } = resource;
    return [
      {
        ...rest,
        hourlyNanos: hourlyNanos === null ? null : BigInt(hourlyNanos),
        readings: newest === null ? [] : [{ ...newest, at: view.asOf }],
      },
    ];
  });
  const { organisation, team, asOf, currency, demand, budgets, spotMarkets, leases, peak } = view;
  return {
    organisation,
    team,
    asOf,
    currency,
    demand,
    budgets,
    spotMarkets,
    leases,
    peak,
    // Many prices, made when somebody looks.
    get offers() {
      return view.offers;
    },
    workloads: view.workloads.map((one) => ({ ...one, ...byTarget.get(one.workload)?.workload })),
    resources: [
      ...view.resources.filter(({ resource }) => !untouched.some((one) => one.resource === resource)),
      ...untouched,
    ],
  };
}
