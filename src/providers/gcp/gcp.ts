/**
 * Google Cloud: Compute Engine instances, managed instance groups and commitments with GPUs, and list prices of all GPU
 * machines.
 *
 * Knows no SQL and reads no clock of its own. The invariant: reading and acting have separate credentials, and without
 * the second nothing is ever sent that could change anything. The connection leaves out what the cloud cannot do: the
 * bill lies in BigQuery and is imported as a file (formats/gcp-billing.ts); there is no meter, no history of spot and
 * no list of commitments on sale; spot belongs to a machine or a template, and is not mixed in a group. The Kubernetes
 * provider handles GKE.
 */
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import { SeenPrices } from '../rpc.js';
import { Effects, EFFECT_PERMISSIONS, RECEIPT_PERMISSIONS } from './apply.js';
import { CLOUD, GoogleClient } from './client.js';
import { Events } from './events.js';
import { FLEET_PERMISSIONS, readFleet, readTarget } from './fleet.js';
import { Templates, type GroupReader } from './groups.js';
import { granted } from './permissions.js';
import { PRICE_PERMISSIONS, readPrices } from './prices.js';
import { parseSettings, SETTINGS } from './settings.js';
import { MachineTypes } from './types.js';

export const provider: Provider = {
  name: 'gcp',
  providerName: CLOUD,
  description: 'Google Cloud: Compute Engine instances, managed instance groups, commitments of GPUs, list prices',
  abilities: {
    prices: PRICE_PERMISSIONS,
    usage: null,
    bill: null,
    spotHistory: null,
    offers: null,
    fleet: [...FLEET_PERMISSIONS, ...RECEIPT_PERMISSIONS],
    effects: EFFECT_PERMISSIONS,
  },
  settings: SETTINGS,
  connect(given, clock): ProviderConnection | null {
    const settings = parseSettings(given);
    if (settings === null) return null;
    const client = new GoogleClient(settings);
    const types = new MachineTypes(client);
    const reader: GroupReader = { client, types, templates: new Templates(client) };
    const effects = new Effects(reader, clock);
    const events = new Events(client);
    const seen = new SeenPrices();
    return {
      name: 'gcp',
      account: settings.account,
      canAct: settings.act !== null,
      effects: async () => effectsOf(provider.abilities),
      prices: (since, partial) => readPrices(client, types, seen, since, clock.now(), partial),
      fleet: () => readFleet(reader, events, clock.now()),
      target: (target) => readTarget(reader, target),
      apply: (effect, token, before) => effects.apply(effect, token, before),
      outcome: (effect, token) => effects.outcome(effect, token),
      granted: (permission, use) => granted(client, permission, use),
    };
  },
};
