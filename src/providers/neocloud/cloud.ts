/**
 * Makes a provider of what a neocloud says of itself: its machines, its prices, and the requests that it takes.
 *
 * A cloud is one file that calls `neocloud` (docs/how-to/write-a-provider.md). What it does not say is
 * absent. The invariants: an effect is sent once per token; none of these APIs can be asked about a token, so after a
 * lost answer the machine itself is read, and the request is sent again only once a minute has passed and it shows
 * nothing of it (rpc.ts, outcomeOf).
 */
import { denied, invalid } from '../../core/errors.js';
import type { EffectKind, FleetTarget } from '../../core/fleet/fleet.js';
import { effectsOf, type Provider, type ProviderConnection } from '../../core/ports.js';
import type { Price, PriceEvent } from '../../core/price/price.js';
import type { Clock } from '../../core/time.js';
import { acting, outcomeOf, permitted, readParts, refused, SeenPrices, Sent } from '../rpc.js';
import type { Lacks } from './client.js';
import { parseSettings, prefixOf, settingsOf, type NeoSettings, type SettingWords } from './settings.js';

/** A request that changes a machine. */
export interface Change<Client> {
  readonly permission: string;
  /** The message once it was accepted. */
  readonly detail: string;
  /** Sends it, once, and answers with the cloud's id of the request, if it gives one. @throws CallError */
  send(client: Client, id: string, token: string): Promise<string | null>;
}

/** A cloud, of which everything is said here. */
export interface Neocloud<Client> {
  /** The folder's and the file's name. */
  readonly name: string;
  readonly description: string;
  readonly settings: SettingWords;
  /** The permissions for reading the machines and the prices, in the cloud's own words. */
  readonly permissions: { readonly fleet: readonly string[]; readonly prices: readonly string[] | null };
  /** Ids of machines: what else a target's name holds is none of this cloud's. */
  readonly id: RegExp;
  open(settings: NeoSettings, clock: Clock): Client;
  /** All machines with GPUs. @throws Failure if nothing could be read */
  machines(client: Client, lacks: Lacks): Promise<FleetTarget[]>;
  /** One, read now; null: the cloud says that it is not there. @throws Failure */
  machine(client: Client, id: string): Promise<FleetTarget | null>;
  /** What holds now; `effectiveFrom` is ignored. @throws Failure if nothing could be read */
  readonly prices?: (client: Client, lacks: Lacks) => Promise<Price[]>;
  readonly changes: Readonly<Partial<Record<EffectKind, Change<Client>>>>;
  /** A question that only who has the permission is answered; null: there is none that changes nothing. */
  probe(client: Client, permission: string): (() => Promise<unknown>) | null;
  close?(client: Client): Promise<void>;
}

/** The name of a machine. */
export const machineTarget = (id: string): string => `instance/${id}`;

/** What is common to all machines of these clouds: no size, no version of their own, no spot to mix. */
export const MACHINE = { kind: 'instance', replicas: null, spotRatio: null, revision: null } as const;

/** The provider of a cloud. */
export function neocloud<Client>(cloud: Neocloud<Client>): Provider {
  const { settings: words, permissions, changes } = cloud;
  const effects = Object.fromEntries(
    Object.entries(changes).map(([kind, { permission }]) => [kind, [permission]]),
  ) as Partial<Record<EffectKind, readonly string[]>>;
  const abilities = {
    prices: permissions.prices,
    usage: null,
    bill: null,
    spotHistory: null,
    offers: null,
    fleet: permissions.fleet,
    effects,
  };
  return {
    name: cloud.name,
    providerName: words.cloud,
    description: cloud.description,
    abilities,
    settings: settingsOf(words),
    connect(given, clock): ProviderConnection | null {
      const settings = parseSettings(words, given);
      if (settings === null) return null;
      const { prices } = cloud;
      const client = cloud.open(settings, clock);
      const sent = new Sent(clock.now());
      const seen = new SeenPrices();
      const target = (name: string): Promise<FleetTarget | null> => readMachine(cloud, client, name);
      return {
        name: cloud.name,
        account: settings.account,
        canAct: settings.act !== null,
        effects: async () => effectsOf(abilities),
        ...(prices === undefined
          ? {}
          : {
              prices: (since, partial) => {
                const lacks = (what: string): void => partial?.lacks(words.cloud, what);
                return priceEvents(() => prices(client, lacks), seen, since, clock.now());
              },
            }),
        fleet: () => readParts([{ name: 'machines', read: (lacks) => cloud.machines(client, lacks) }], clock.now()),
        target,
        apply: (effect, token) => apply(cloud, client, settings, sent, effect, token, clock.now()),
        outcome: (effect, token) => outcomeOf(target, sent, effect, token, () => clock.now()),
        granted: async (permission, use) => {
          const ask = use === 'act' ? null : cloud.probe(client, permission);
          return ask === null ? null : permitted(ask);
        },
        ...(cloud.close === undefined ? {} : { close: () => cloud.close?.(client) ?? Promise.resolve() }),
      };
    },
  };
}

function idOf({ id }: { readonly id: RegExp }, target: string): string | null {
  const named = target.startsWith('instance/') ? target.slice('instance/'.length) : '';
  return id.test(named) ? named : null;
}

async function readMachine<Client>(
  cloud: Neocloud<Client>,
  client: Client,
  target: string,
): Promise<FleetTarget | null> {
  const id = idOf(cloud, target);
  return id === null ? null : cloud.machine(client, id);
}

async function apply<Client>(
  cloud: Neocloud<Client>,
  client: Client,
  { act }: NeoSettings,
  sent: Sent,
  effect: { readonly kind: EffectKind; readonly target: string },
  token: string,
  now: number,
): ReturnType<NonNullable<ProviderConnection['apply']>> {
  const { cloud: title, credential } = cloud.settings;
  if (act === null)
    throw denied(
      `there are no ${title} credentials for acting (${prefixOf(cloud.settings)}ACT_${credential}): ` +
        'the connection is read-only',
    );
  const id = idOf(cloud, effect.target);
  if (id === null) throw invalid(`${effect.target} names no machine of ${title}`);
  const change = cloud.changes[effect.kind];
  if (change === undefined) return refused('unsupported', `${title} has no ${effect.kind} for ${effect.target}`);
  return sent.applyOnce(token, now, () =>
    acting(title, change.permission, change.detail, () => change.send(client, id, token)),
  );
}

async function* priceEvents(
  prices: () => Promise<Price[]>,
  seen: SeenPrices,
  since: number,
  now: number,
): AsyncGenerator<PriceEvent[]> {
  const events = (await prices())
    .map((price) => seen.dated(price, now))
    .filter(({ effectiveFrom }) => effectiveFrom >= since)
    .map((price): PriceEvent => ({ kind: 'price', price }));
  if (events.length > 0) yield events;
}
