/**
 * The sizes that the groups of a service should have now: the planner (bursar.ts) asked once, about the replicas as they
 * stand in the middle of a window.
 *
 * It keeps nothing between two questions: the same state has the same answer. What stands is taken for its rule, so that
 * it is left only for what is cheaper by more than chance. It never sees the future; what a zone has
 * room for is the newest reading of its market, and what runs in it.
 */
import { bursarServing, SPARES, type BursarServingOptions } from './bursar.js';
import { ON_DEMAND, type ServingProblem } from './problem.js';
import { scarcity, type Rule } from './rules.js';
import { Service } from './simulate.js';

/** Replicas that a group holds. */
export interface HeldReplicas {
  readonly ready: number;
  readonly booting: number;
  /** When those that boot will serve, in seconds of the window. */
  readonly readyAt: number;
}

export interface ZoneNow extends HeldReplicas {
  /** Replicas that a launch may bring it to; none may be launched: what it holds. */
  readonly room: number;
  /** Per hour of one replica. */
  readonly spotPerHour: number;
}

export interface ServingNow {
  readonly tick: number;
  /** Replica-seconds of the window that went unserved so far. */
  readonly unserved: number;
  readonly zones: readonly ZoneNow[];
  readonly onDemand: HeldReplicas;
}

export interface ServingSizes {
  /** By zone. */
  readonly spot: readonly number[];
  readonly onDemand: number;
}

const MOST_ROOM = 255;

export function servingSizes(
  problem: ServingProblem,
  { tick, unserved, zones, onDemand }: ServingNow,
  options: BursarServingOptions,
): ServingSizes {
  const window = {
    capacity: zones.map(({ room }) => Uint8Array.of(Math.min(MOST_ROOM, room))),
    spotPerHour: zones.map(({ spotPerHour }) => Float64Array.of(spotPerHour)),
  };
  const service = new Service(problem, window, 1, tick);
  const groups: (HeldReplicas & { zone: number })[] = [
    { ...onDemand, zone: ON_DEMAND },
    ...zones.map((one, zone) => ({ ...one, zone })),
  ];
  const all = [
    ...groups.flatMap(({ zone, ready }) => new Array<number>(ready).fill(zone).map((at) => ({ zone: at, readyAt: 0 }))),
    ...groups.flatMap(({ zone, booting, readyAt }) =>
      new Array<number>(booting).fill(zone).map((at) => ({ zone: at, readyAt })),
    ),
  ];
  service.beginAs({ tick, unserved, zones: all.map(({ zone }) => zone), readyAt: all.map((one) => one.readyAt) });
  bursarServing(problem, { ...options, rule: standingRule(problem, { tick, unserved, zones }) })(service);
  return { spot: zones.map((_, zone) => service.held(zone)), onDemand: service.held(ON_DEMAND) };
}

/** The rule by which as many are on spot as are; nothing where too few are there to tell. */
function standingRule(
  problem: ServingProblem,
  { tick, unserved, zones }: Pick<ServingNow, 'tick' | 'unserved' | 'zones'>,
): Partial<Rule> {
  const counts = zones.map(({ ready, booting }) => ready + booting);
  const beyond = counts.reduce((sum, held) => sum + held, 0) - problem.replicas;
  if (beyond < 0) return {};
  const scarce = scarcity(problem, { tick, unserved });
  const off = (spares: number): number => Math.abs(Math.round(spares * scarce) - beyond);
  const spares = SPARES.reduce((best, one) => (off(one) < off(best) ? one : best));
  const fullest = Math.max(...counts);
  const most = [1, Math.ceil(problem.replicas / 2)].find((limit) => fullest <= limit) ?? problem.replicas;
  return { spares, most };
}
