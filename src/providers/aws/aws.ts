/**
 * AWS: EC2, EBS and Auto Scaling, the price list, spot prices, CloudWatch, Cost Explorer, reserved instances and
 * savings plans.
 *
 * Knows no SQL and reads no clock of its own. The invariant: reading and acting have separate credentials, and without
 * the second nothing is ever sent that could change anything. EC2 has no meter of machines: the readings of the fleet
 * show what ran, and the bill shows its cost; hours computed from launch times would ignore stops and starts that
 * nobody saw. `usage` covers volumes, which are billed as long as they exist, and traffic.
 */
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import type { PriceEvent } from '../../core/price/price.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import { Effects, EFFECT_PERMISSIONS } from './apply.js';
import { BILL_PERMISSIONS, readBill } from './bill.js';
import { Clients } from './clients.js';
import { Commitments } from './commitments.js';
import { ListedHooks } from './group-settings.js';
import { FLEET_PERMISSIONS, readFleet, readTarget } from './fleet.js';
import { InstanceTypes } from './gpus.js';
import { OFFER_PERMISSIONS, readOffers } from './offers.js';
import { Permissions } from './permissions.js';
import { PRICE_PERMISSIONS, readPrices } from './prices.js';
import { readStoragePrices } from './storage-prices.js';
import { readUsage, USAGE_PERMISSIONS } from './usage.js';
import { parseSettings, SETTINGS } from './settings.js';
import { readSpotHistory, SPOT_PERMISSIONS } from './spot.js';

export const provider: Provider = {
  name: 'aws',
  providerName: 'AWS',
  description:
    'Amazon Web Services: EC2, EBS, Auto Scaling, prices, spot history, Cost Explorer, reserved instances and savings plans',
  abilities: {
    prices: PRICE_PERMISSIONS,
    usage: USAGE_PERMISSIONS,
    bill: BILL_PERMISSIONS,
    spotHistory: SPOT_PERMISSIONS,
    offers: OFFER_PERMISSIONS,
    fleet: FLEET_PERMISSIONS,
    effects: EFFECT_PERMISSIONS,
  },
  settings: SETTINGS,
  connect(given, clock): ProviderConnection | null {
    const settings = parseSettings(given);
    if (settings === null) return null;
    const clients = new Clients(settings);
    const types = new InstanceTypes(clients);
    const commitments = new Commitments(clients, types);
    const hooks = new ListedHooks(clients, clock);
    const effects = new Effects(clients, types, commitments, clock);
    const permissions = new Permissions(clients, types, settings.regions[0] ?? 'us-east-1');
    return {
      name: 'aws',
      account: settings.account,
      canAct: settings.act !== null,
      effects: async () => effectsOf(provider.abilities),
      prices: (since, partial) => pricesOf(clients, types, since, clock.now(), partial),
      usageOf: 'storage-and-traffic',
      usage: (from, to, meteredTo = null, partial) => readUsage(clients, types, { from, to, meteredTo }, partial),
      bill: (from, to, partial) => readBill(clients, types, { from, to, now: clock.now() }, partial),
      spotHistory: (since, partial) => readSpotHistory(clients, types, since, partial),
      offers: (partial) => readOffers(clients, types, partial),
      fleet: () => readFleet(clients, types, { commitments, hooks }, clock),
      target: async (target) => (await readTarget(clients, types, target)) ?? commitments.named(target, clock.now()),
      apply: (effect, token, before) => effects.apply(effect, token, before),
      outcome: (effect, token) => effects.outcome(effect, token),
      granted: (permission, use) => permissions.granted(permission, use),
      close: async () => clients.destroy(),
    };
  },
};

/** The prices of machines and volumes. */
const pricesOf = (
  clients: Clients,
  types: InstanceTypes,
  since: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<readonly PriceEvent[]> =>
  eachPart(['machines', 'volumes'], since, partial, (part, from) =>
    part === 'machines' ? readPrices(clients, types, from, partial) : readStoragePrices(clients, now, partial),
  );
