/**
 * The result of a group's new share of spot: the affected machines, and the machines that run meanwhile. The setting
 * alone moves no machine: running machines stay until the group launches others.
 *
 * Pure. The invariant: a machine with an unknown term counts as neither spot nor on demand.
 */
import type { FleetTarget } from '../fleet/fleet.js';

/**
 * A sentence for people. @param spotRatio the requested share, 0 to 1 @param group its reading after the effect @param
 * members its running or starting machines, at their last reading
 */
export function spotProof(
  spotRatio: number,
  group: Pick<FleetTarget, 'onDemandBase'> | null,
  members: readonly Pick<FleetTarget, 'term'>[],
): string {
  const base = group?.onDemandBase ?? null;
  const above =
    base === null
      ? 'of new machines above the base of the group, which is unknown,'
      : base === 0
        ? 'of new machines'
        : `of new machines above a base of ${base}, which ${base === 1 ? 'is' : 'are'} on demand,`;
  const share = `${above} ${Math.round(100 * spotRatio)} % are launched on spot`;
  if (members.length === 0) return `${share}; which machines run now is unknown`;
  const onSpot = members.filter(({ term }) => term === 'spot').length;
  const unknown = members.filter(({ term }) => term === null).length;
  const others = members.length - onSpot - unknown;
  return (
    `${share}; of ${members.length} that run ${others} are on demand and ${onSpot} on spot` +
    (unknown === 0 ? '' : `, and for ${unknown} this is unknown`)
  );
}
