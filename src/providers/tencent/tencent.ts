/**
 * Tencent Cloud: CVM instances and auto scaling groups with GPUs, prices of all GPU types, and the account's bill by
 * component.
 *
 * Never retries anything that acts and never acts with the keys for reading. What it cannot do is absent: metered usage
 * and commitments on sale have no part here.
 */
import type { Clock } from '../../core/time.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import { outcomeOf, SeenPrices, Sent } from '../rpc.js';
import { applyEffect, EFFECT_PERMISSIONS } from './apply.js';
import { BILL_PERMISSIONS, readBill } from './bill.js';
import { CLOUD, TencentClient } from './client.js';
import { FLEET_PERMISSIONS, membersIn, readFleet, readTarget } from './fleet.js';
import { readPrices, readSpot } from './prices.js';
import { granted } from './permissions.js';
import { parseSettings, SETTINGS, type TencentSettings } from './settings.js';
import { InstanceTypes, TYPES_PERMISSION } from './types.js';

const NAME = 'tencent';

export const provider: Provider = {
  name: NAME,
  providerName: CLOUD,
  description: 'Tencent Cloud: CVM instances, auto scaling groups, prices, spot availability, bill',
  abilities: {
    prices: [TYPES_PERMISSION],
    usage: null,
    bill: BILL_PERMISSIONS,
    spotHistory: [TYPES_PERMISSION],
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

function connectionOf(settings: TencentSettings, clock: Clock): ProviderConnection {
  const client = new TencentClient(settings);
  const types = new InstanceTypes(client);
  const members = membersIn(client);
  const sent = new Sent(clock.now());
  const seen = new SeenPrices();
  const target: NonNullable<ProviderConnection['target']> = (name) =>
    readTarget(client, types, members, name, clock.now());
  return {
    name: NAME,
    account: settings.account,
    canAct: settings.act !== null,
    effects: async () => effectsOf(provider.abilities),
    prices: (since, partial) => readPrices(client, seen, since, clock.now(), partial),
    bill: (from, to, partial) => readBill(client, from, to, clock.now(), partial),
    spotHistory: (since, partial) => readSpot(client, since, clock.now(), partial),
    fleet: () => readFleet(client, types, members, clock.now()),
    target,
    apply: (effect, token) => applyEffect(client, sent, effect, token, clock.now()),
    outcome: (effect, token) => outcomeOf(target, sent, effect, token, () => clock.now()),
    granted: (permission) => granted(client, permission, clock.now()),
  };
}
