/**
 * The move that a recommendation asks for: an effect where the target's provider or scheduler can start it, otherwise the
 * steps for a person. Pure; nothing is moved to a place that nobody has said to be reached.
 */
import type { FleetTarget, Move } from '../fleet/fleet.js';
import type { Recommendation } from '../policy/recommendation.js';

type Asked = Pick<Recommendation, 'action' | 'change'>;

/** Whether it names a place, or the target is moved by its scheduler at its own place. */
export const isMove = ({ change }: Asked, { spotRatio, movesTo }: FleetTarget): boolean =>
  typeof change['region'] === 'string' || (spotRatio === null && movesTo !== undefined);

/** `steps` is a clause; null: the region in which the target runs is unknown. */
export function moveOf(
  { action, change }: Asked,
  seen: FleetTarget,
): { readonly effect: Move } | { readonly steps: string } | null {
  const text = (name: string): string | null => (typeof change[name] === 'string' ? change[name] : null);
  const provider = text('provider') ?? seen.provider;
  const region = text('region') ?? seen.region;
  if (region === null) return null;
  const zone = text('region') === null ? (seen.zone ?? null) : text('zone');
  const isReached = (seen.movesTo ?? []).some(
    (one) => one.region === region && (zone === null || one.zone === null || one.zone === zone),
  );
  const sku = text('sku');
  const term = action === 'MoveToSpot' ? 'spot' : 'on-demand';
  if (provider === seen.provider && isReached)
    return { effect: { kind: 'move', target: seen.target, region, zone, term, sku: sku === seen.sku ? null : sku } };
  const [where, gb] = [`${provider} ${zone ?? region}`, change['sendsGb']];
  const copied = typeof gb === 'number' && gb > 0 ? `copy its ${gb} GB there, ` : '';
  return {
    steps: `no connection here starts ${seen.target} in ${where}: let it write its checkpoint, stop it, ${copied}and start it there (${term}${sku === null ? '' : `, ${sku}`})`,
  };
}
