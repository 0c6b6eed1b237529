/**
 * The reasons for which the fake cloud refuses an effect, as a cloud's own API would: decided on the target's present
 * state, changing nothing.
 */
import type { Effect, FleetTarget } from '../../core/fleet/fleet.js';
import { type Catalogue, kindOf } from './catalogue.js';
import { GROUP_LABEL } from './machines.js';

export interface Refusal {
  readonly code: string;
  readonly detail: string;
}

const because = (code: string, detail: string): Refusal => ({ code, detail });

/**
 * Null: it is taken.
 * @param before the target as the caller saw it; another revision since refuses
 * @param seen the target as it is
 */
export function problemWith(
  effect: Effect,
  before: FleetTarget | null,
  seen: FleetTarget | null,
  catalogue: Catalogue,
  at: number,
): Refusal | null {
  if (effect.kind === 'purchase') return problemWithPurchase(effect, catalogue, at);
  if (seen === null) return because('NotFound', `${effect.target} is not there`);
  if (before !== null && before.revision !== null && before.revision !== seen.revision)
    return because('RevisionMismatch', `${effect.target} has changed since it was read`);
  if (seen.kind === 'group') return problemWithGroup(effect, seen);
  if (seen.kind === 'instance') return problemWithMachine(effect, seen, catalogue, at);
  return because('Unsupported', `${effect.kind} does not act on a ${seen.kind}`);
}

function problemWithGroup(effect: Effect, { replicas }: FleetTarget): Refusal | null {
  switch (effect.kind) {
    case 'scale':
      if (
        !Number.isInteger(effect.replicas) ||
        effect.replicas < (replicas?.min ?? 0) ||
        effect.replicas > (replicas?.max ?? 0)
      ) {
        return because(
          'OutOfBounds',
          `${effect.replicas} replicas are not between ${replicas?.min ?? 0} and ${replicas?.max ?? 0}`,
        );
      }
      return null;
    case 'set-bounds':
      return Number.isInteger(effect.min) && Number.isInteger(effect.max) && effect.min >= 0 && effect.min <= effect.max
        ? null
        : because('WrongBounds', 'the bounds are not two whole numbers in order');
    case 'set-spot-ratio':
      return effect.spotRatio >= 0 && effect.spotRatio <= 1
        ? null
        : because('WrongRatio', 'the share of spot is not between 0 and 1');
    default:
      return because('Unsupported', `${effect.kind} does not act on a group`);
  }
}

function problemWithMachine(effect: Effect, seen: FleetTarget, catalogue: Catalogue, at: number): Refusal | null {
  if (seen.state === 'gone') return because('NotFound', `${effect.target} is gone`);
  const isMember = Object.hasOwn(seen.labels, GROUP_LABEL);
  switch (effect.kind) {
    case 'terminate':
    case 'replace':
      return null;
    case 'stop':
      return isMember ? because('GroupMember', 'its group would bring another: scale the group') : null;
    case 'start':
      if (seen.state === 'stopping') return because('WrongState', `${effect.target} is stopping`);
      return seen.term === 'spot' && !catalogue.spotIsUp(seen.sku ?? '', seen.region ?? '', at)
        ? because('InsufficientCapacity', 'there is no spot capacity')
        : null;
    case 'move': {
      const reached = seen.movesTo?.some(({ region }) => region === effect.region) ?? false;
      if (!reached || (effect.sku !== null && kindOf(effect.sku) === undefined))
        return because('Unreachable', `nothing starts ${effect.target} in ${effect.region}`);
      return effect.term === 'spot' && !catalogue.spotIsUp(effect.sku ?? seen.sku ?? '', effect.region, at)
        ? because('InsufficientCapacity', 'there is no spot capacity')
        : null;
    }
    case 'resize':
      if (isMember) return because('GroupMember', 'its group says what it is');
      return kindOf(effect.sku) === undefined ? because('UnknownSku', `${effect.sku} is not sold`) : null;
    default:
      return because('Unsupported', `${effect.kind} does not act on an instance`);
  }
}

function problemWithPurchase(
  { offer, units, mostNanos, currency }: Effect & { readonly kind: 'purchase' },
  catalogue: Catalogue,
  at: number,
): Refusal | null {
  const sold = catalogue.offers(at).find((one) => one.offer === offer);
  if (sold === undefined) return because('UnknownOffer', `${offer} is not on offer`);
  if (!Number.isInteger(units) || units < 1) return because('WrongUnits', 'units are not a whole number above 0');
  if (currency !== sold.currency) return because('WrongCurrency', `it is sold in ${sold.currency}`);
  const cost = BigInt(units) * (sold.upfrontNanos + sold.hourlyNanos * BigInt(sold.termHours));
  return cost > mostNanos ? because('AboveLimit', 'it costs more than the limit') : null;
}
