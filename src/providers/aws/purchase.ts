/**
 * Purchases of commitments: reserved instances and savings plans, each request sent once.
 *
 * Never repeated automatically, because a purchase cannot be reversed. The invariant: before a purchase its offer is
 * read again, and nothing is bought whose whole cost over the term is above the allowed amount; a lost answer stays
 * unknown until AWS shows the purchase.
 */
import type { CommitmentOffer } from '../../core/price/commitment-offer.js';
import {
  CreateTagsCommand,
  DescribeReservedInstancesCommand,
  PurchaseReservedInstancesOfferingCommand,
  type ReservedInstances,
} from '@aws-sdk/client-ec2';
import { CreateSavingsPlanCommand, DescribeSavingsPlansCommand } from '@aws-sdk/client-savingsplans';
import { formatDecimal, parseDecimal } from '../../core/decimal.js';
import type { Effect } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import type { Clients } from './clients.js';
import { acting, codeOf, reading, refused } from './failures.js';
import { readReservedOffer, readSavingsPlanOffer, RESERVED_PERMISSION, SAVINGS_PLAN_PERMISSION } from './offers.js';
import { parseOffer, TOKEN_TAG } from './targets.js';

type Purchase = Extract<Effect, { readonly kind: 'purchase' }>;

const BUY_RESERVED = 'ec2:PurchaseReservedInstancesOffering';
const BUY_PLAN = 'savingsplans:CreateSavingsPlan';
const READ_RESERVED = 'ec2:DescribeReservedInstances';
const READ_PLANS = 'savingsplans:DescribeSavingsPlans';
export const PURCHASE_PERMISSIONS: readonly string[] = [
  RESERVED_PERMISSION,
  BUY_RESERVED,
  'ec2:CreateTags',
  READ_RESERVED,
  SAVINGS_PLAN_PERMISSION,
  BUY_PLAN,
  'savingsplans:TagResource',
  READ_PLANS,
];
/** Digits after the point of a savings plan's commitment (CreateSavingsPlan). */
const MOST_COMMITMENT_DIGITS = 5;

/** Buys once. @throws Failure if nothing was sent */
export async function purchase(clients: Clients, effect: Purchase, token: string): Promise<EffectOutcome> {
  const named = parseOffer(effect.offer);
  if (named === null) return refused('unknown-offer', `${effect.offer} names no offer of AWS`);
  return named.kind === 'reserved-instance'
    ? buyReserved(clients, named, effect, token)
    : buyPlan(clients, named.id, effect, token);
}

/** Why the offer, as it is now, is not to be bought; null if it may be. */
function objection(
  offer: CommitmentOffer | null,
  effect: Purchase,
  units: { readonly unscaled: bigint; readonly scale: number },
): EffectOutcome | null {
  if (offer === null) return refused('offer-gone', `${effect.offer} is no longer on sale`);
  if (offer.currency !== effect.currency)
    return refused('other-currency', `the offer is in ${offer.currency}, the limit in ${effect.currency}`);
  const perUnit = offer.upfrontNanos + offer.hourlyNanos * BigInt(offer.termHours);
  // Both sides times 10^scale: no rounding decides over a limit.
  if (perUnit * units.unscaled > effect.mostNanos * 10n ** BigInt(units.scale)) {
    return refused(
      'above-the-limit',
      `over its term the purchase costs more than the ${formatDecimal({ unscaled: effect.mostNanos, scale: 9 })} ${effect.currency} allowed`,
    );
  }
  return null;
}

async function buyReserved(
  clients: Clients,
  named: { readonly region: string; readonly id: string },
  effect: Purchase,
  token: string,
): Promise<EffectOutcome> {
  if (!Number.isSafeInteger(effect.units) || effect.units < 1)
    return refused('invalid-units', 'reserved instances are bought by whole instances');
  const found = await readReservedOffer(clients, named.region, named.id);
  const no = objection(found?.offer ?? null, effect, { unscaled: BigInt(effect.units), scale: 0 });
  if (no !== null || found === null) return no ?? refused('offer-gone', `${effect.offer} is no longer on sale`);
  const ec2 = clients.ec2(named.region, 'purchase');
  const command = new PurchaseReservedInstancesOfferingCommand({
    ReservedInstancesOfferingId: named.id,
    InstanceCount: effect.units,
    // AWS takes a limit on the total only for offers of the marketplace, where others may change the price.
    ...(found.marketplace
      ? { LimitPrice: { Amount: found.fixedPrice * effect.units, CurrencyCode: 'USD' as const } }
      : {}),
  });
  let bought = '';
  const outcome = await acting(
    BUY_RESERVED,
    () => ec2.send(command),
    (answer) => {
      bought = answer.ReservedInstancesId ?? '';
      return `${effect.units} reserved as ${bought}`;
    },
  );
  if (outcome.kind !== 'taken' || bought === '') return outcome;
  // The request takes no token: the tag is what ties the reservation to its action from now on.
  const note = await ec2
    .send(new CreateTagsCommand({ Resources: [bought], Tags: [{ Key: TOKEN_TAG, Value: token }] }))
    .then(
      () => '',
      (error: unknown) => `, not tagged (${codeOf(error)})`,
    );
  return { ...outcome, reference: bought, detail: outcome.detail + note };
}

async function buyPlan(clients: Clients, id: string, effect: Purchase, token: string): Promise<EffectOutcome> {
  const commitment = parseDecimal(String(effect.units));
  if (commitment === null || commitment.unscaled <= 0n || commitment.scale > MOST_COMMITMENT_DIGITS) {
    return refused(
      'invalid-units',
      `a savings plan's hourly commitment is above zero, with at most ${MOST_COMMITMENT_DIGITS} digits after the point`,
    );
  }
  const no = objection(await readSavingsPlanOffer(clients, id), effect, commitment);
  if (no !== null) return no;
  const command = new CreateSavingsPlanCommand({
    savingsPlanOfferingId: id,
    commitment: formatDecimal(commitment),
    clientToken: token,
    tags: { [TOKEN_TAG]: token },
  });
  let bought: string | null = null;
  const outcome = await acting(
    BUY_PLAN,
    () => clients.savingsPlans('purchase').send(command),
    (answer) => {
      bought = answer.savingsPlanId ?? null;
      return `${formatDecimal(commitment)} ${effect.currency} per hour as ${bought ?? 'a savings plan'}`;
    },
  );
  return outcome.kind === 'taken' ? { ...outcome, reference: bought ?? outcome.reference } : outcome;
}

/**
 * What was bought under the token. Never `absent`: that AWS does not show a purchase does not prove that there is none,
 * and a second one cannot be taken back.
 * @throws Failure if AWS cannot be asked
 */
export async function purchaseOutcome(clients: Clients, effect: Purchase, token: string): Promise<EffectOutcome> {
  const named = parseOffer(effect.offer);
  if (named === null) return refused('unknown-offer', `${effect.offer} names no offer of AWS`);
  return named.kind === 'reserved-instance'
    ? reservedOutcome(clients, named, effect, token)
    : planOutcome(clients, token);
}

async function planOutcome(clients: Clients, token: string): Promise<EffectOutcome> {
  let nextToken: string | undefined;
  do {
    const command = new DescribeSavingsPlansCommand({ nextToken });
    const page = await reading(READ_PLANS, () => clients.savingsPlans().send(command));
    const bought = page.savingsPlans?.find(({ tags }) => tags?.[TOKEN_TAG] === token);
    if (bought !== undefined) {
      return bought.state === 'payment-failed'
        ? refused('payment-failed', `${bought.savingsPlanId ?? 'the savings plan'} was not paid`)
        : {
            kind: 'taken',
            reference: bought.savingsPlanId ?? null,
            detail: `${bought.savingsPlanId ?? 'a savings plan'} is ${bought.state ?? 'there'}`,
          };
    }
    nextToken = page.nextToken;
  } while (nextToken !== undefined && nextToken !== '');
  return {
    kind: 'unknown',
    detail: 'no savings plan carries the token: a person has to look before it is bought again',
  };
}

async function reservedOutcome(
  clients: Clients,
  named: { readonly region: string; readonly id: string },
  effect: Purchase,
  token: string,
): Promise<EffectOutcome> {
  const answer = await reading(READ_RESERVED, () =>
    clients.ec2(named.region).send(new DescribeReservedInstancesCommand({})),
  );
  const all = answer.ReservedInstances ?? [];
  const tagged = all.find(({ Tags }) => Tags?.some(({ Key, Value }) => Key === TOKEN_TAG && Value === token));
  if (tagged !== undefined) {
    const id = tagged.ReservedInstancesId ?? 'a reservation';
    return tagged.State === 'payment-failed'
      ? refused('payment-failed', `${id} was not paid`)
      : { kind: 'taken', reference: id, detail: `${id} is ${tagged.State ?? 'there'}` };
  }
  const found = await readReservedOffer(clients, named.region, named.id);
  const alike = found === null ? [] : all.filter((one) => isAlike(one, found, effect.units));
  const which = alike
    .map(
      ({ ReservedInstancesId, Start }) =>
        `${ReservedInstancesId ?? '?'} (from ${Start?.toISOString() ?? 'an unknown time'})`,
    )
    .join(', ');
  return {
    kind: 'unknown',
    detail: `no reservation carries the token${which === '' ? '' : `; alike and without one: ${which}`}: a person has to look before it is bought again`,
  };
}

/** Whether a reservation without a token could be what was bought. */
function isAlike(
  one: ReservedInstances,
  found: { readonly type: string; readonly seconds: number; readonly offeringType: string },
  units: number,
): boolean {
  return (
    one.InstanceType === found.type &&
    one.Duration === found.seconds &&
    one.OfferingType === found.offeringType &&
    one.InstanceCount === units &&
    !one.Tags?.some(({ Key }) => Key === TOKEN_TAG)
  );
}
