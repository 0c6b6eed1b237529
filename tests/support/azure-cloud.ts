/**
 * Azure on 127.0.0.1, in memory: tokens of Microsoft Entra, Azure Resource Manager with machines, scale sets and
 * operations that go on after they were accepted, and the list of retail prices.
 *
 * It takes only requests that Microsoft's own model has, with the model's versions, parameters and bodies, and says what
 * of a request or of its own replies is not as the model has it (`problems`). It can lose answers, deny or throttle one
 * request, and fail an operation that it has accepted.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Clock } from '../../src/core/time.js';
import { provider } from '../../src/providers/azure/azure.js';
import { askedOf, problemsOfValue, type Asked } from './azure-model.js';
import { ROOT } from './source.js';
import { WireServer, type WireReply, type WireRequest } from './wire-server.js';

type Json = Record<string, unknown>;
export interface PlayedMachine {
  readonly id: string;
  readonly name: string;
  readonly location: string;
  tags: Record<string, string>;
  readonly properties: Json & { hardwareProfile: { vmSize: string } };
}
interface PlayedSet {
  readonly id: string;
  readonly name: string;
  readonly sku?: { capacity: number };
  readonly properties: Json;
}
interface Account {
  readonly follows: string;
  readonly machines: PlayedMachine[];
  readonly states: Record<string, { statuses: { code: string; time?: string }[] }>;
  readonly interfaces: { readonly id: string }[];
  readonly scaleSets: PlayedSet[];
  readonly members: Record<string, { readonly instanceId: string }[]>;
  readonly interfacesOfSets: Record<string, { readonly id: string }[]>;
  readonly skus: Json[];
  readonly autoscale: Json[];
}

const replyOf = <T>(name: string): T =>
  JSON.parse(readFileSync(path.join(ROOT, 'src/providers/azure/replies', `${name}.json`), 'utf8')) as T;

export const SUBSCRIPTION = '11111111-2222-3333-4444-555555555555';
export const TENANT = '99999999-8888-7777-6666-555555555555';
export const READER = { id: 'aaaaaaaa-0000-0000-0000-000000000001', secret: 'reader~secret~7f3a' };
export const ACTOR = { id: 'bbbbbbbb-0000-0000-0000-000000000002', secret: 'actor~secret~91cc' };

const json = (body: unknown, status = 200, headers: Record<string, string> = {}): WireReply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
export const errorReply = (status: number, code: string, message = 'no', headers = {}): WireReply =>
  json({ error: { code, message } }, status, headers);
export const DENIED = errorReply(
  403,
  'AuthorizationFailed',
  'The client does not have authorization to perform the action over the scope.',
);

/** An operation of Azure's that goes on after it was accepted: what it says, one look after the other. */
export type Progress = readonly (Json & { readonly status: string })[];

/** What is played for a request; null: as if nothing had been said. */
type Answer = (values: Asked['values'], first: boolean, query: Readonly<Record<string, string>>) => WireReply | null;

const lower = (text: unknown): string => String(text).toLowerCase();

export class AzureCloud {
  readonly account = replyOf<Account>('account');
  readonly prices = replyOf<{ Items: Json[] }>('retail-prices').Items;
  /** What was not as Microsoft's model has it, of requests and of replies. */
  readonly problems: string[] = [];
  /** Requests by the name that the table of requests gives them, with the identity and what they were asked with. */
  readonly taken: { name: string; by: string; values: Asked['values']; query: Json; body: unknown }[] = [];
  /** Rows of Azure Resource Graph: spot prices; and of the health of machines, where they are not all available. */
  rows: unknown[] = [];
  health: Json[] | null = null;
  granted: Json[] = [{ actions: ['*'], notActions: [] }];
  /** How often something was changed. */
  changes = 0;
  tokens = 0;
  private readonly played = new Map<string, Answer>();
  private readonly operations = new Map<string, Progress>();
  private next: Progress = [{ status: 'Succeeded' }];
  private losing: 'answer' | 'request' | null = null;
  private stamp = Date.UTC(2026, 10, 20, 7);

  private constructor(readonly server: WireServer) {
    server.on(
      () => true,
      (request) => this.answer(request),
    );
  }

  static async start(): Promise<AzureCloud> {
    return new AzureCloud(await WireServer.start());
  }

  close(): Promise<void> {
    return this.server.close();
  }

  /** A connection by its settings. */
  connect(
    over: Readonly<Record<string, string | undefined>> = {},
    clock: Clock = { now: () => Date.UTC(2026, 10, 20, 8) },
  ): ProviderConnection {
    const connection = provider.connect({ ...this.settings(), ...over }, clock);
    if (connection === null) throw new Error('there is no connection');
    return connection;
  }

  settings(): Record<string, string> {
    return {
      BURSAR_AZURE_SUBSCRIPTIONS: SUBSCRIPTION,
      BURSAR_AZURE_REGIONS: 'eastus',
      BURSAR_AZURE_TENANT_ID: TENANT,
      BURSAR_AZURE_READ_CLIENT_ID: READER.id,
      BURSAR_AZURE_READ_CLIENT_SECRET: READER.secret,
      BURSAR_AZURE_ACT_CLIENT_ID: ACTOR.id,
      BURSAR_AZURE_ACT_CLIENT_SECRET: ACTOR.secret,
      BURSAR_AZURE_ENDPOINT: this.server.url,
      BURSAR_AZURE_TIMEOUT_SECONDS: '5',
    };
  }

  /** Answers a request by its name, until told otherwise. */
  play(name: string, answer: WireReply | Answer): void {
    this.played.set(name, typeof answer === 'function' ? answer : () => answer);
  }

  loseNextAnswer(arrives: boolean): void {
    this.losing = arrives ? 'answer' : 'request';
  }

  /** What the next accepted operation says when it is asked how it goes on. */
  goesOn(progress: Progress): void {
    this.next = progress;
  }

  of(name: string): AzureCloud['taken'] {
    return this.taken.filter((one) => one.name === name);
  }

  machine(name: string, group = 'rg-ml'): PlayedMachine {
    const found = this.account.machines.find(({ id }) => lower(id).includes(`/${group}/`) && id.endsWith(`/${name}`));
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  }

  /** Puts a machine into a power state, as a person or Azure itself would. */
  power(machine: PlayedMachine, state: string): void {
    this.stamp += 1000;
    this.account.states[lower(machine.id)] = {
      statuses: [
        { code: 'ProvisioningState/succeeded', time: new Date(this.stamp).toISOString() },
        { code: `PowerState/${state}` },
      ],
    };
  }

  private answer(request: WireRequest): WireReply {
    const url = new URL(request.path, this.server.url);
    if (url.pathname.endsWith('/oauth2/v2.0/token')) return this.token(request);
    if (url.pathname === '/api/retail/prices') return this.retail(url, request);
    const by = { 'Bearer token-of-reader': 'read', 'Bearer token-of-actor': 'act' }[
      request.headers.authorization ?? ''
    ];
    if (by === undefined) return errorReply(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
    if (url.pathname.includes('/operations/')) return this.progress(url.pathname);
    const skip = Number(url.searchParams.get('$skiptoken') ?? 0);
    url.searchParams.delete('$skiptoken');
    const body: unknown = request.body === '' ? null : JSON.parse(request.body);
    const { asked, problems } = askedOf(request.method, url, body);
    this.problems.push(...problems);
    if (asked === null) return errorReply(404, 'InvalidResourceType');
    const first = this.of(asked.name).length === 0;
    const query = Object.fromEntries(url.searchParams);
    this.taken.push({ name: asked.name, by, values: asked.values, query, body });
    const played = this.played.get(asked.name)?.(asked.values, first, query) ?? null;
    if (played !== null) return played;
    const reply = this.reply(asked, url, body, by, skip);
    if (reply.status === undefined || reply.status === 200)
      this.problems.push(
        ...problemsOfValue(asked.model.reply ?? 'any', JSON.parse(reply.body ?? 'null'), `reply to ${asked.name}`),
      );
    return reply;
  }

  private token({ body }: WireRequest): WireReply {
    this.tokens += 1;
    const form = new URLSearchParams(body);
    const who = [READER, ACTOR].find(
      ({ id, secret }) => id === form.get('client_id') && secret === form.get('client_secret'),
    );
    if (
      form.get('grant_type') !== 'client_credentials' ||
      form.get('scope') !== 'https://management.azure.com/.default'
    )
      return json({ error: 'invalid_request' }, 400);
    if (who === undefined)
      return json(
        {
          error: 'invalid_client',
          error_description: `AADSTS7000215: Invalid client secret ${String(form.get('client_secret'))}`,
          error_codes: [7000215],
        },
        401,
      );
    return json({
      token_type: 'Bearer',
      expires_in: 3599,
      access_token: `token-of-${who === READER ? 'reader' : 'actor'}`,
    });
  }

  private retail(url: URL, request: WireRequest): WireReply {
    if (request.headers.authorization !== undefined) this.problems.push('a token was sent to the list of prices');
    const skip = Number(url.searchParams.get('$skip') ?? 0);
    const filter = url.searchParams.get('$filter') ?? '';
    const [, region] = /^serviceName eq 'Virtual Machines' and armRegionName eq '(\w+)' and \(/.exec(filter) ?? [];
    const names = new Set([...filter.matchAll(/armSkuName eq '(\w+)'/g)].map(([, name]) => name));
    const currency = /^'([A-Z]{3})'$/.exec(url.searchParams.get('currencyCode') ?? '')?.[1];
    if (region === undefined || currency === undefined) this.problems.push(`retail prices: ${url.search}`);
    const found = this.prices.filter(
      ({ armRegionName, armSkuName }) => armRegionName === region && names.has(String(armSkuName)),
    );
    url.searchParams.set('$skip', String(skip + 4));
    return json({
      BillingCurrency: currency,
      Items: found.slice(skip, skip + 4),
      NextPageLink: skip + 4 < found.length ? url.href : null,
      Count: Math.min(4, found.length - skip),
    });
  }

  private progress(pathname: string): WireReply {
    const [now = { status: 'Succeeded' }, ...rest] = this.operations.get(pathname) ?? [];
    if (rest.length > 0) this.operations.set(pathname, rest);
    return json(now, 200, { 'retry-after': '0' });
  }

  private page(all: readonly unknown[], url: URL, skip: number, size = 3): WireReply {
    url.searchParams.set('$skiptoken', String(skip + size));
    return json({ value: all.slice(skip, skip + size), ...(skip + size < all.length ? { nextLink: url.href } : {}) });
  }

  private found(one: unknown): WireReply {
    return one === undefined ? errorReply(404, 'ResourceNotFound', 'The Resource was not found.') : json(one);
  }

  private reply(asked: Asked, url: URL, body: unknown, by: string, skip: number): WireReply {
    const { account } = this;
    const { values } = asked;
    const set = (): string => values['vmScaleSetName'] ?? values['virtualMachineScaleSetName'] ?? '';
    switch (asked.name) {
      case 'machines':
        return this.page(this.listed(url), url, skip);
      case 'machine': {
        const one = this.named(account.machines, values['resourceGroupName'] ?? '', values['vmName'] ?? '');
        return this.found(one === undefined ? undefined : this.withView(one));
      }
      case 'scaleSets':
        return this.page(account.scaleSets, url, skip);
      case 'scaleSet':
        return this.found(this.named(account.scaleSets, values['resourceGroupName'] ?? '', set()));
      case 'members':
        return this.page(account.members[set()] ?? [], url, skip, 2);
      case 'member':
        return this.found(account.members[set()]?.find(({ instanceId }) => instanceId === values['instanceId']));
      case 'interfaces':
        return this.page(account.interfaces, url, skip);
      case 'interface':
        return this.found(
          this.named(account.interfaces, values['resourceGroupName'] ?? '', values['networkInterfaceName'] ?? ''),
        );
      case 'interfacesOfSet':
        return this.page(account.interfacesOfSets[set()] ?? [], url, skip);
      case 'interfacesOfMember':
        return this.page(
          (account.interfacesOfSets[set()] ?? []).filter(({ id }) =>
            lower(id).includes(`/virtualmachines/${values['virtualmachineIndex']}/`),
          ),
          url,
          skip,
        );
      case 'skus':
        return this.page(account.skus, url, skip);
      case 'autoscale':
        return this.page(account.autoscale, url, skip);
      case 'permissions':
        return json({ value: by === 'act' ? this.granted : [{ actions: ['*/read'], notActions: [] }] });
      case 'graph':
        return this.graph((body as { readonly query: string }).query);
      default:
        return by === 'act' ? this.change(asked, body) : DENIED;
    }
  }

  private graph(query: string): WireReply {
    const asked = [...(/targetResourceId\) in~ \((.+?)\)/.exec(query)?.[1] ?? '').matchAll(/'([^']+)'/g)];
    const available = asked.map(([, id]) => ({ targetResourceId: id, availabilityState: 'Available' }));
    const data = query.startsWith('HealthResources') ? (this.health ?? available) : this.rows;
    return json({ totalRecords: data.length, count: data.length, data });
  }

  /** All machines, with their views alone where only the states are asked for; the view of a set's where it may be. */
  private listed(url: URL): unknown[] {
    const { machines } = this.account;
    const filter = /^'virtualMachineScaleSet\/id' eq '(.+)'$/.exec(url.searchParams.get('$filter') ?? '')?.[1];
    if (filter !== undefined)
      return machines
        .filter(
          ({ properties }) =>
            lower((properties['virtualMachineScaleSet'] as Json | undefined)?.['id']) === lower(filter),
        )
        .map((one) => this.withView(one));
    if (url.searchParams.get('statusOnly') !== 'true') return machines;
    return machines.map(({ id, name, location }) => ({
      // Azure writes the names of resource groups in capitals in some of its lists.
      id: id.replace(/resourceGroups\/[^/]+/, (text) => text.toUpperCase()),
      name,
      location,
      properties: { instanceView: this.account.states[lower(id)] },
    }));
  }

  private withView(one: PlayedMachine): unknown {
    return { ...one, properties: { ...one.properties, instanceView: this.account.states[lower(one.id)] } };
  }

  private named<One extends { readonly id: string }>(
    all: readonly One[],
    group: string,
    name: string,
  ): One | undefined {
    return all.find(({ id }) => lower(id).includes(`/resourcegroups/${group}/`) && lower(id).endsWith(`/${name}`));
  }

  private change({ name, values }: Asked, body: unknown): WireReply {
    const losing = this.losing;
    this.losing = null;
    if (losing === 'request') return { lost: true };
    const { account } = this;
    const group = values['resourceGroupName'] ?? '';
    if (name === 'changeScaleSet') {
      const set = this.named(account.scaleSets, group, values['vmScaleSetName'] ?? '');
      if (set === undefined) return this.found(undefined);
      const { sku, properties } = body as { sku?: { capacity: number }; properties?: Json };
      if (this.next.at(-1)?.status === 'Succeeded') {
        if (sku !== undefined && set.sku !== undefined) set.sku.capacity = sku.capacity;
        Object.assign(set.properties, properties);
      }
    } else {
      const machine = this.named(account.machines, group, values['vmName'] ?? '');
      if (machine === undefined) return this.found(undefined);
      if (this.next.at(-1)?.status === 'Succeeded') this.changeMachine(name, machine, body);
    }
    this.changes += 1;
    if (losing === 'answer') return { lost: true };
    const id = `/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/locations/eastus/operations/op-${this.changes}`;
    this.operations.set(id, this.next);
    this.next = [{ status: 'Succeeded' }];
    return {
      status: 202,
      headers: {
        'azure-asyncoperation': `${this.server.url}${id}?api-version=2024-11-01`,
        'retry-after': '0',
        'x-ms-request-id': `op-${this.changes}`,
      },
    };
  }

  private changeMachine(name: string, machine: PlayedMachine, body: unknown): void {
    if (name === 'deallocate') this.power(machine, 'deallocated');
    if (name === 'start') this.power(machine, 'running');
    if (name === 'remove') this.account.machines.splice(this.account.machines.indexOf(machine), 1);
    if (name === 'resize')
      machine.properties.hardwareProfile.vmSize = (
        body as { properties: { hardwareProfile: { vmSize: string } } }
      ).properties.hardwareProfile.vmSize;
  }
}
