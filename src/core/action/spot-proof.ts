/**
 * What a group's new share of spot comes to: which machines it is about, and what runs meanwhile. The setting alone
 * moves no machine: those that run stay as they are until the group launches others.
 *
 * Pure. The invariant: a machine whose term nobody tells is counted as neither.
 */
import type { FleetTarget } from '../fleet/fleet.js';

/**
 * A sentence for people.
 * @param spotRatio the share that was asked for, 0 to 1
 * @param group as it was read after the effect
 * @param members its machines that run or start, as they were read last
 */
export function spotProof(
  spotRatio: number,
  group: Pick<FleetTarget, 'onDemandBase'> | null,
  members: readonly Pick<FleetTarget, 'term'>[],
): string {
  const base = group?.onDemandBase ?? null;
  const above =
    base === null
      ? 'of new machines above the base of the group, which is not told,'
      : base === 0
        ? 'of new machines'
        : `of new machines above a base of ${base}, which ${base === 1 ? 'is' : 'are'} on demand,`;
  const share = `${above} ${Math.round(100 * spotRatio)} % are launched on spot`;
  if (members.length === 0) return `${share}; which machines run now is not told`;
  const onSpot = members.filter(({ term }) => term === 'spot').length;
  const unknown = members.filter(({ term }) => term === null).length;
  const others = members.length - onSpot - unknown;
  return (
    `${share}; of ${members.length} that run ${others} are on demand and ${onSpot} on spot` +
    (unknown === 0 ? '' : `, and of ${unknown} that is not told`)
  );
}
