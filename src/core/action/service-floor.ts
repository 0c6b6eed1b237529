/**
 * The ready replicas that a document promises of a service, over all its groups: what no policy's action goes below,
 * however old the look that proposed it. While fewer are ready, none that boot are ended either.
 *
 * Pure. Only certain replicas count: of another group those that its last reading showed, less what actions under way
 * take out of it; a group that nobody has read lately counts none.
 */
import { sizeAfter } from './acting.js';
import type { Effect, FleetTarget } from '../fleet/fleet.js';

export interface ServicePromise {
  readonly document: string;
  readonly service: string;
  readonly replicas: number;
  /** Its groups that were read lately, in their last known state. */
  readonly groups: readonly FleetTarget[];
  /** Replicas that actions under way take out of service, by target. */
  readonly leaving: ReadonlyMap<string, number>;
}

/** Replicas that serve and were not told to go. */
const servingReplicas = ({ replicas }: Pick<FleetTarget, 'replicas'>): number =>
  replicas === null ? 0 : Math.min(replicas.ready ?? 0, replicas.desired);

/**
 * Replicas that certainly serve after an effect; null: it takes none away.
 * @param endsBooting whether those that boot may be ended: only the promise's own document knows which will never come
 */
export function replicasKept(
  effect: Effect,
  seen: FleetTarget,
  { groups, leaving }: Pick<ServicePromise, 'groups' | 'leaving'>,
  endsBooting: boolean,
): number | null {
  const size = sizeAfter(effect, seen);
  const own = servingReplicas(seen);
  const less = size === null ? 0 : Math.max(0, (seen.replicas?.desired ?? 0) - size);
  // Whether a cloud ends one that serves or one that boots is its own choice.
  const cut = Math.min(own, less);
  if (less === 0 || (cut === 0 && endsBooting)) return null;
  const others = groups.filter(({ target }) => target !== seen.target);
  return others.reduce(
    (sum, one) => sum + Math.max(0, servingReplicas(one) - (leaving.get(one.target) ?? 0)),
    own - cut,
  );
}
