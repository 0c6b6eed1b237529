/**
 * What would have happened without an action: written down when it is applied, and never changed afterwards.
 *
 * A counterfactual is a world, not an amount: the GPUs that would have been held, their SKU, region and term, and the
 * horizon. Its cost is computed hour by hour with the same price book as the metered usage (saving.ts). It never
 * assumes a percentage: an unknown part of the world is a reason. Only GPUs count; storage and traffic are assumed
 * equal with and without the action.
 */
import type { Action } from '../action/action.js';
import type { PriceKey } from '../cost/cost.js';
import type { Effect, FleetTarget, Move, Purchase } from '../fleet/fleet.js';
import { groupOf, isOf } from '../fleet/membership.js';
import { parseDecimal } from '../decimal.js';
import { nanosOf, type Money } from '../money.js';
import type { SavingsEstimate } from '../policy/policy.js';
import type { Upfront } from '../price/price.js';
import type { Change, PurchasePlace, RecommendedAction } from '../policy/recommendation.js';
import { termHours } from '../price/term.js';
import { DAY_MS, HOUR_MS } from '../time.js';
import { GPU_PARTS, TERMS, type Term, type UsageRecord } from '../usage.js';

/** The facts about an applied action, and its recommendation. Times in epoch milliseconds. */
export interface ActionFacts {
  readonly action: Pick<
    Action,
    'id' | 'team' | 'connection' | 'target' | 'effect' | 'rollbackOf' | 'recommendation' | 'policy'
  >;
  /** The target as the provider reported it just before; null: it was not there, or nobody could say. */
  readonly before: FleetTarget | null;
  readonly appliedAt: number;
  readonly confirmedAt: number | null;
  /** When a rollback of it was applied; null: it holds. */
  readonly takenBackAt: number | null;
  /** Null: a person asked for it without a recommendation. */
  readonly recommended: RecommendedSaving | null;
}

export interface RecommendedSaving {
  readonly action: RecommendedAction;
  readonly change: Change;
  readonly policyVersion: number;
  readonly currency: string;
  /** Nanos per month, as the policy estimated them, before calibration; null: it could not say. */
  readonly monthly: SavingsEstimate | null;
  /** The same as people were shown it, after calibration. */
  readonly promised: SavingsEstimate | null;
  /** The estimate is of the whole saving, which happens once. */
  readonly once: boolean;
  /** The scope of a purchase; null: it is not a purchase, or has no scope. */
  readonly place: PurchasePlace | null;
}

/** Why there is no counterfactual to compare with. */
export type WorldUnknown =
  | 'not-made-to-save' // it starts, scales out, moves to safety or rolls back: its cost is not a lost saving
  | 'target-unknown' // nobody read the target before
  | 'state-unknown'
  | 'was-not-running'
  | 'size-unknown' // GPUs or replicas were not reported
  | 'term-unknown'
  | 'egress-unknown' // a move to another region whose price nobody stated
  | 'replaced-elsewhere' // of a service whose other groups serve in its place, at a cost that its own meter does not show
  | 'no-immediate-effect' // bounds that did not bind when they were set
  | 'commitment-unknown'; // a purchase whose SKU, term or units cannot be read

/** Equal replicas at one price. */
export interface Holding {
  readonly key: PriceKey;
  /** GPU parts of one replica. */
  readonly gpuParts: number;
  readonly units: number;
}

/**
 * The world without the action.
 * - `held`: the same GPUs, hour after hour, until they are raised above `afterParts` again by whomever.
 * - `term`: the hours that were used, of them `spotRatio` on spot and the rest on demand.
 * - `size`: the hours in which an instance (or pod) ran, each of them of this SKU and size.
 * - `moved`: the hours that were used, without those of the restart, at the place and under the term before; what the move
 *   sent to another region is a cost of the first hour.
 * - `shifted`: as much GPU time as was used in the end, in one piece from the start, on all replicas that it had.
 * - `commitment`: the covered hours on demand, against the whole commitment, used or not.
 * - `plan`: the same of a savings plan, which is a spend per hour and covers whatever its rates name.
 */
export type World =
  | { readonly kind: 'held'; readonly holdings: readonly Holding[]; readonly afterParts: number }
  | { readonly kind: 'term'; readonly spotRatio: number }
  | { readonly kind: 'size'; readonly holding: Holding }
  | { readonly kind: 'moved'; readonly key: PriceKey; readonly restartMs: number; readonly egress: Money }
  | { readonly kind: 'shifted'; readonly holdings: readonly Holding[] }
  | Commitment
  | SpendPlan
  | { readonly kind: 'unknown'; readonly reason: WorldUnknown };

export interface Commitment {
  readonly kind: 'commitment';
  readonly onDemand: PriceKey;
  readonly term: Term;
  /** Units of the offer: instances of the SKU. */
  readonly units: number;
  readonly offer: string;
  /** All that is committed to over the term, used or not. */
  readonly paid: Money;
}

export interface SpendPlan {
  readonly kind: 'plan';
  readonly provider: string;
  /** Usage whose SKU is of the family (AWS: `p5` of `p5.48xlarge`) and in the region; null: any. */
  readonly family: string | null;
  readonly region: string | null;
  readonly term: Term;
  readonly upfront: Upfront;
  readonly offer: string;
  /** The commitment of an hour, and all of them over the term, used or not. */
  readonly hourly: Money;
  readonly paid: Money;
}

export interface Counterfactual {
  readonly action: string;
  readonly team: string;
  readonly connection: string;
  readonly target: string;
  /**
   * The group of the target, according to its labels; null: it has none. Actions on both share their savings.
   */
  readonly group: string | null;
  /**
   * The provider whose meter must have reported an hour before silence counts as no usage; a null account means every
   * account of the provider.
   */
  readonly provider: string | null;
  readonly account: string | null;
  /** [from, until): nothing is claimed outside, however long the effect lasts. */
  readonly from: number;
  readonly until: number;
  readonly effect: Effect;
  readonly world: World;
  /** ISO 4217 code of every amount of this action. */
  readonly currency: string;
  readonly policy: string | null;
  readonly policyVersion: number | null;
  readonly recommendation: string | null;
  /** As the policy made it: what its calibration is learned from. */
  readonly estimate: SavingsEstimate | null;
  /** As people were shown it and approved it: what the ledger says of it. */
  readonly promised: SavingsEstimate | null;
  readonly once: boolean;
}

/**
 * How long a world is believed in, in days. Stopped: as long as the readings that showed it idle reach back
 * (READINGS_DAYS). Scaled: one week, the longest cycle that load is forecast by. Moved or resized: a quarter; these
 * claim used hours only. Shifted: off-peak-shift's own horizon.
 */
const HORIZON_DAYS = { stop: 14, scale: 7, term: 90, size: 90, moved: 90, shifted: 7 } as const;

const UPFRONTS: readonly Upfront[] = ['none', 'partial', 'all'];

const COSTS_BY_DESIGN: ReadonlySet<RecommendedAction> = new Set([
  'ScaleOut',
  'Start',
  'Replace',
  'MoveToOnDemand',
  'Keep',
  'RefuseLaunches',
  'Notify',
]);

const unknown = (reason: WorldUnknown): World => ({ kind: 'unknown', reason });

/** Actions of one chain share their savings: those on one target, and on a group and its machines. */
export const chainOf = ({
  connection,
  target,
  group,
}: Pick<Counterfactual, 'connection' | 'target' | 'group'>): string => `${connection} ${group ?? target}`;

/** The counterfactual of an action that has been applied. `currency` is that of the team's accruals. */
export function counterfactualOf(
  { action, before, appliedAt, recommended }: ActionFacts,
  currency: string,
): Counterfactual {
  const { id, team, connection, target, effect, policy, recommendation } = action;
  const world = worldOf(effect, before, action.rollbackOf, recommended);
  const estimated = recommended !== null && recommended.currency === currency ? recommended : null;
  return {
    action: id,
    team,
    connection,
    target,
    effect,
    world,
    currency,
    policy,
    recommendation,
    group: before === null ? null : groupOf(before),
    provider: before?.provider ?? sellerOf(world),
    account: before?.account ?? null,
    from: appliedAt,
    until: appliedAt + horizonMs(world, effect),
    policyVersion: recommended?.policyVersion ?? null,
    once: recommended?.once ?? false,
    estimate: estimated?.monthly ?? null,
    promised: estimated?.promised ?? null,
  };
}

const sellerOf = (world: World): string | null =>
  world.kind === 'commitment' ? world.onDemand.provider : world.kind === 'plan' ? world.provider : null;

function horizonMs(world: World, effect: Effect): number {
  switch (world.kind) {
    case 'held':
      return HORIZON_DAYS[effect.kind === 'stop' || effect.kind === 'terminate' ? 'stop' : 'scale'] * DAY_MS;
    case 'commitment':
    case 'plan':
      return (termHours(world.term) ?? 0) * HOUR_MS;
    case 'unknown':
      return 0;
    default:
      return HORIZON_DAYS[world.kind] * DAY_MS;
  }
}

function worldOf(
  effect: Effect,
  before: FleetTarget | null,
  rollbackOf: string | null,
  recommended: RecommendedSaving | null,
): World {
  if (rollbackOf !== null || (recommended !== null && COSTS_BY_DESIGN.has(recommended.action)))
    return unknown('not-made-to-save');
  if (recommended?.change['service'] !== undefined) return unknown('replaced-elsewhere');
  if (effect.kind === 'purchase') return commitmentWorld(effect, recommended);
  if (effect.kind === 'start' || effect.kind === 'cordon' || effect.kind === 'drain' || effect.kind === 'replace')
    return unknown('not-made-to-save');
  if (before === null) return unknown('target-unknown');
  switch (effect.kind) {
    case 'stop':
    case 'terminate':
      return recommended?.action === 'MoveToOffPeak' ? shiftedWorld(before) : heldWorld(before, 0);
    case 'scale':
      if (before.replicas === null) return unknown('size-unknown');
      if (recommended?.action === 'MoveToOffPeak' && effect.replicas === 0) return shiftedWorld(before);
      return effect.replicas >= before.replicas.desired
        ? unknown('not-made-to-save')
        : heldWorld(before, effect.replicas);
    case 'set-bounds':
      if (before.replicas === null) return unknown('size-unknown');
      return effect.max >= before.replicas.desired ? unknown('no-immediate-effect') : heldWorld(before, effect.max);
    case 'set-spot-ratio': {
      const ratio = spotRatioOf(before);
      if (ratio === null) return unknown('term-unknown');
      return effect.spotRatio <= ratio ? unknown('not-made-to-save') : { kind: 'term', spotRatio: ratio };
    }
    case 'resize':
      return before.gpus === null || before.sku === null
        ? unknown('size-unknown')
        : { kind: 'size', holding: { key: keyOf(before, before.term), gpuParts: partsOf(before.gpus), units: 1 } };
    case 'move':
      return movedWorld(effect, before, recommended);
  }
}

const partsOf = (gpus: number): number => Math.round(gpus * GPU_PARTS);

const keyOf = ({ provider, account, sku, gpuModel, region }: FleetTarget, term: Term | null): PriceKey => ({
  provider,
  account,
  sku,
  gpuModel,
  region,
  term,
});

function spotRatioOf({ spotRatio, term }: FleetTarget): number | null {
  if (spotRatio !== null) return spotRatio;
  return term === 'spot' ? 1 : term === 'on-demand' ? 0 : null;
}

/** Replicas that were there: what was wanted but had not come would not surely have been billed. */
const replicasHeld = ({ replicas }: FleetTarget): number =>
  replicas === null ? 1 : Math.min(replicas.desired, replicas.ready ?? replicas.desired);

function heldWorld(before: FleetTarget, replicasAfter: number): World {
  if (before.replicas === null && before.state === 'unknown') return unknown('state-unknown');
  if (before.replicas === null && before.state !== 'running' && before.state !== 'starting')
    return unknown('was-not-running');
  return before.gpus === null
    ? unknown('size-unknown')
    : { kind: 'held', holdings: holdingsOf(before, before.gpus), afterParts: partsOf(before.gpus) * replicasAfter };
}

/** The holdings of a target, by the term of each replica. */
function holdingsOf(before: FleetTarget, gpus: number): Holding[] {
  const [gpuParts, units] = [partsOf(gpus), replicasHeld(before)];
  const ratio = before.replicas === null ? null : before.spotRatio;
  // For a replica that may have been either, the cheaper term is assumed.
  const spot = ratio === null ? 0 : Math.ceil(units * ratio - 1e-9);
  const holdings =
    ratio === null
      ? [{ key: keyOf(before, before.term), gpuParts, units }]
      : [
          { key: keyOf(before, 'on-demand'), gpuParts, units: units - spot },
          { key: keyOf(before, 'spot'), gpuParts, units: spot },
        ];
  return holdings.filter((holding) => holding.units > 0);
}

function shiftedWorld(before: FleetTarget): World {
  const holdings = before.gpus === null || before.gpus === 0 ? [] : holdingsOf(before, before.gpus);
  return holdings.length === 0 ? unknown('size-unknown') : { kind: 'shifted', holdings };
}

/** The egress is the stated one of the recommendation; within a region there is none. */
function movedWorld(effect: Move, before: FleetTarget, recommended: RecommendedSaving | null): World {
  if (before.term === null || before.region === null || before.sku === null) return unknown('term-unknown');
  const { egress, restartHours } = recommended?.change ?? {};
  const stated = typeof egress === 'string' ? parseDecimal(egress) : null;
  const nanos = stated === null ? (effect.region === before.region ? 0n : null) : nanosOf(stated);
  if (nanos === null) return unknown('egress-unknown');
  return {
    kind: 'moved',
    key: keyOf(before, before.term),
    restartMs: typeof restartHours === 'number' ? restartHours * HOUR_MS : 0,
    egress: { nanos, currency: recommended?.currency ?? '' },
  };
}

/** The scope of a reservation: the place of its recommendation, at its term. */
function commitmentWorld(effect: Purchase, recommended: RecommendedSaving | null): World {
  const { offer, units, mostNanos, currency } = effect;
  if (String(recommended?.change['term']).startsWith('savings-plan')) return planWorld(effect, recommended);
  const term = TERMS.find((one) => one === recommended?.change['term'] && one.startsWith('reserved'));
  const { provider, region, sku } = recommended?.place ?? { provider: '', region: null, sku: null };
  if (sku === null || term === undefined || !Number.isSafeInteger(units) || units < 1)
    return unknown('commitment-unknown');
  const onDemand: PriceKey = { provider, sku, gpuModel: null, region, term: 'on-demand' };
  return { kind: 'commitment', onDemand, term, units, offer, paid: { nanos: mostNanos, currency } };
}

function planWorld(
  { offer, units, mostNanos, currency, family, region }: Purchase,
  recommended: RecommendedSaving | null,
): World {
  const provider = recommended?.place?.provider;
  const term = TERMS.find((one) => one === recommended?.change['term'] && one.startsWith('savings-plan'));
  const upfront = UPFRONTS.find((one) => one === recommended?.change['upfront']);
  // The purchase recorded the scope of the plan; without it the covered usage is unknown.
  if (
    provider === undefined ||
    term === undefined ||
    upfront === undefined ||
    family === undefined ||
    region === undefined ||
    !(units > 0)
  )
    return unknown('commitment-unknown');
  const hourly = { nanos: BigInt(Math.round(units * 1e5)) * 10_000n, currency };
  return { kind: 'plan', provider, family, region, term, upfront, offer, hourly, paid: { nanos: mostNanos, currency } };
}

/**
 * Whether an applied effect ends what an earlier one on the same target had done: started again, raised above it, or
 * set back.
 */
export function undoes(later: Effect, earlier: Counterfactual): boolean {
  const { effect, world } = earlier;
  if (world.kind === 'shifted') return false;
  switch (effect.kind) {
    case 'stop':
    case 'terminate':
      return later.kind === 'start' || later.kind === 'replace' || (later.kind === 'scale' && later.replicas > 0);
    case 'scale':
    case 'set-bounds': {
      const after = effect.kind === 'scale' ? effect.replicas : effect.max;
      return (
        (later.kind === 'scale' && later.replicas > after) ||
        (later.kind === 'set-bounds' && later.min > after) ||
        later.kind === 'start'
      );
    }
    case 'set-spot-ratio':
      return later.kind === 'set-spot-ratio' && world.kind === 'term' && later.spotRatio <= world.spotRatio;
    case 'move':
      return (
        later.kind === 'move' &&
        world.kind === 'moved' &&
        later.region === world.key.region &&
        later.term === world.key.term
      );
    case 'resize':
      return later.kind === 'resize' && world.kind === 'size' && later.sku === world.holding.key.sku;
    default:
      return false;
  }
}

/**
 * Whether metered usage bears on an action: is of its target, or (a commitment) is metered as served by commitments of
 * its place and term.
 */
export function bearsOn(record: UsageRecord, { world, target }: Pick<Counterfactual, 'world' | 'target'>): boolean {
  if (world.kind === 'plan') {
    const isOfFamily =
      world.family === null || record.sku === world.family || (record.sku?.startsWith(`${world.family}.`) ?? false);
    return (
      record.provider === world.provider &&
      record.term === world.term &&
      isOfFamily &&
      (world.region === null || record.region === world.region)
    );
  }
  if (world.kind !== 'commitment') return isOf(record, target);
  const {
    onDemand: { provider, sku, region },
    term,
  } = world;
  return (
    record.provider === provider &&
    record.sku === sku &&
    record.term === term &&
    (region === null || record.region === region)
  );
}
