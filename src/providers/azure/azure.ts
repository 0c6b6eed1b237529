/**
 * Azure: virtual machines and scale sets with GPUs, retail prices, spot price history, reservations and savings plans
 * on sale.
 *
 * Knows no SQL and reads no clock of its own. The invariant: reading and acting have separate identities, and without
 * the second nothing is ever sent that could change anything. Uses REST, not Microsoft's packages: their present
 * releases need Node 22, and the two for machines and networks unpack to some 70 MB; requests and replies are compared
 * with those packages instead (operations.ts). The connection leaves out what Azure cannot do: a set does not replace
 * an ended machine (`replace`), nothing is bought, and the bill is imported as a cost export
 * (docs/how-to/connect-azure.md).
 */
import type { PartialRead } from '../../core/partial-read.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import type { Clock } from '../../core/time.js';
import { Sent } from '../rpc.js';
import { applyEffect, effectOutcome, EFFECT_PERMISSIONS } from './apply.js';
import { AzureClient } from './client.js';
import { FLEET_PERMISSIONS, readFleet, readTarget } from './fleet.js';
import { Permissions } from './permissions.js';
import { readOffers, readPrices } from './prices.js';
import { parseSettings, SETTINGS, type AzureSettings } from './settings.js';
import { Sizes, SIZES_PERMISSION } from './sizes.js';
import { readSpotHistory, SPOT_PERMISSIONS } from './spot.js';

const NAME = 'azure';

export const provider: Provider = {
  name: NAME,
  providerName: 'Microsoft',
  description:
    'Microsoft Azure: virtual machines, scale sets, retail prices, spot prices, reservations and savings plans',
  abilities: {
    prices: [SIZES_PERMISSION],
    usage: null,
    bill: null,
    spotHistory: SPOT_PERMISSIONS,
    offers: [SIZES_PERMISSION],
    fleet: FLEET_PERMISSIONS,
    effects: EFFECT_PERMISSIONS,
  },
  settings: SETTINGS,
  connect: (given, clock) => {
    const settings = parseSettings(given);
    return settings === null ? null : connectionOf(settings, clock);
  },
};

function connectionOf(settings: AzureSettings, clock: Clock): ProviderConnection {
  const client = new AzureClient(settings, clock);
  const sizes = new Sizes(client, clock);
  const permissions = new Permissions(client);
  const sent = new Sent(clock.now());
  const target: NonNullable<ProviderConnection['target']> = (name) => readTarget(client, sizes, name);
  return {
    name: NAME,
    account: settings.account,
    canAct: settings.act !== null,
    effects: async () => effectsOf(provider.abilities),
    // The cloud in China publishes its prices elsewhere, as a file.
    ...(settings.hosts.prices === null
      ? {}
      : {
          prices: (since: number, partial?: PartialRead) => readPrices(client, sizes, since, clock.now(), partial),
          offers: (partial?: PartialRead) => readOffers(client, sizes, partial),
        }),
    spotHistory: (since, partial) => readSpotHistory(client, sizes, since, partial),
    fleet: () => readFleet(client, sizes, clock.now()),
    target,
    apply: (effect, token, before) => applyEffect(client, sent, effect, token, before, clock.now()),
    outcome: (effect, token) => effectOutcome(target, sent, effect, token, () => clock.now()),
    granted: (permission, use) => permissions.granted(permission, use),
  };
}
