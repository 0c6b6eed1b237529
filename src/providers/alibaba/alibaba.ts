/**
 * Alibaba Cloud: ECS instances and Auto Scaling (ESS) groups with GPUs, their prices, and the account's bill by
 * instance and day.
 *
 * Never retries anything that acts and never acts with the keys for reading. The connection leaves out what the cloud
 * cannot do: metered usage and commitments on sale.
 */
import type { Clock } from '../../core/time.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import { outcomeOf, SeenPrices, Sent } from '../rpc.js';
import { applyEffect, EFFECT_PERMISSIONS } from './apply.js';
import { BILL_PERMISSIONS, readBill } from './bill.js';
import { AlibabaClient } from './client.js';
import { FLEET_PERMISSIONS, IN_USE_PERMISSIONS, membersIn, readFleet, readTarget } from './fleet.js';
import { HISTORY_PERMISSIONS, PRICES_PERMISSIONS, readPrices, readSpotHistory } from './prices.js';
import { Permissions } from './permissions.js';
import { parseSettings, SETTINGS, type AlibabaSettings } from './settings.js';
import { CLOUD, InstanceTypes } from './types.js';

const NAME = 'alibaba';

export const provider: Provider = {
  name: NAME,
  providerName: CLOUD,
  description: 'Alibaba Cloud: ECS instances, Auto Scaling groups, prices, spot price history, bill',
  abilities: {
    prices: [...PRICES_PERMISSIONS, ...IN_USE_PERMISSIONS],
    usage: null,
    bill: BILL_PERMISSIONS,
    spotHistory: [...HISTORY_PERMISSIONS, ...IN_USE_PERMISSIONS],
    offers: null,
    fleet: FLEET_PERMISSIONS,
    effects: EFFECT_PERMISSIONS,
  },
  settings: SETTINGS,
  connect: (given, clock) => {
    const settings = parseSettings(given);
    return settings === null ? null : connectionOf(settings, clock);
  },
};

function connectionOf(settings: AlibabaSettings, clock: Clock): ProviderConnection {
  const client = new AlibabaClient(settings);
  const types = new InstanceTypes(client);
  const members = membersIn(client);
  const sent = new Sent(clock.now());
  const seen = new SeenPrices();
  const permissions = new Permissions(client, settings.regions[0] ?? '');
  const target: NonNullable<ProviderConnection['target']> = (name) => readTarget(client, types, members, name);
  return {
    name: NAME,
    account: settings.account,
    canAct: settings.act !== null,
    effects: async () => effectsOf(provider.abilities),
    prices: (since, partial) => readPrices(client, types, seen, { since, now: clock.now(), partial }),
    bill: (from, to, partial) => readBill(client, types, { from, to, now: () => clock.now() }, partial),
    spotHistory: (since, partial) => readSpotHistory(client, types, { since, now: clock.now(), partial }),
    fleet: () => readFleet(client, types, members, clock.now()),
    target,
    apply: (effect, token) => applyEffect(client, sent, effect, token, clock.now()),
    outcome: (effect, token) => outcomeOf(target, sent, effect, token, () => clock.now()),
    granted: (permission, use) => permissions.granted(permission, use, clock.now()),
  };
}
