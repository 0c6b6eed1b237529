/**
 * The GPUs that a team keeps over its whole fleet: those that certainly serve after an effect.
 *
 * Pure. Only certain GPUs count: a target with an unknown number of GPUs counts none, and if two readings may describe
 * the same cards (a group and its machines; machines and the pods on them) the larger counts, not both.
 */
import { isMember } from '../fleet/membership.js';
import type { Effect, FleetTarget } from '../fleet/fleet.js';

/** The fleet of a team in its last known state. */
export interface TeamFleet {
  readonly targets: readonly FleetTarget[];
  /** GPUs that actions under way take out of service, by target. */
  readonly leaving: ReadonlyMap<string, number>;
}

const isOne = ({ kind, asOne }: FleetTarget): boolean => kind === 'instance' || asOne === true;

/** GPUs of a target that serve now, as far as is known. */
function serving(target: FleetTarget): number {
  const { state, gpus, replicas } = target;
  if (isOne(target)) return state === 'running' ? (gpus ?? 0) : 0;
  return (replicas?.ready ?? 0) * (gpus ?? 0);
}

/** The share of a target's GPUs that an effect takes out of service. */
function shareLost(effect: Effect, target: FleetTarget): number {
  const now = Math.max(target.replicas?.desired ?? 0, target.replicas?.ready ?? 0);
  const left = (size: number): number => (isOne(target) ? Math.min(1, size) : now === 0 ? 1 : Math.min(1, size / now));
  switch (effect.kind) {
    case 'stop':
    case 'terminate':
    // The number of GPUs of the other type is unknown here.
    case 'resize':
      return 1;
    case 'scale':
      return 1 - left(effect.replicas);
    case 'set-bounds':
      return 1 - left(effect.max);
    default:
      return 0;
  }
}

/**
 * GPUs that certainly serve after an effect: with the actions in progress, and without. Null: the effect takes none out
 * of service.
 */
export function gpusKept(
  effect: Effect,
  seen: FleetTarget,
  { targets, leaving }: TeamFleet,
): { readonly kept: number; readonly alone: number } | null {
  const share = shareLost(effect, seen);
  if (share === 0 || (isOne(seen) && seen.state !== 'running')) return null;
  const after = (lost: (target: FleetTarget) => number): number => {
    const sum = (of: (target: FleetTarget) => boolean): number =>
      targets.filter(of).reduce((total, one) => total + Math.max(0, serving(one) - lost(one)), 0);
    const members = sum((one) => one.kind === 'instance' && isMember(one));
    const groups = sum(({ kind }) => kind === 'group');
    const standing = sum((one) => one.kind === 'instance' && !isMember(one));
    const pods = sum(({ kind }) => kind === 'workload');
    return Math.max(0, Math.max(standing + Math.max(members, groups), pods) - serving(seen) * share);
  };
  return { kept: after(({ target }) => leaving.get(target) ?? 0), alone: after(() => 0) };
}
