/**
 * Nebius AI Cloud: virtual machines with GPUs, their prices, and starting, stopping and deleting them, by its gRPC API.
 *
 * The invariants: a machine's GPUs are what its platform says of its preset, and unknown if the platform is not told; a
 * stopped machine is not billed and its disks are; a machine whose GPUs are reserved is paid for whether it runs or
 * not. The API does not state when a machine was last started.
 * Sources: github.com/nebius/api (compute/v1, billing/v1); Nebius
 * documentation, "Specific terms of Compute" (billed from the start to a complete stop; disks always), "Preemptible
 * VMs", "Reservations".
 */
import { Failure } from '../../core/errors.js';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { Provider } from '../../core/ports.js';
import type { Price } from '../../core/price/price.js';
import type { Term } from '../../core/usage.js';
import type { Lacks } from '../neocloud/client.js';
import { MACHINE, machineTarget, neocloud, type Change } from '../neocloud/cloud.js';
import { instancePrice, unlessFailed } from '../rpc.js';
import { CLOUD, credentialsMisfit, NebiusClient, permissionOf } from './client.js';
import { CREATE_INSTANCE, METHODS, type INSTANCE, type Method, type PLATFORM, type STATES } from './messages.js';
import { encode, type Decoded, type Encodable, type Message } from './protobuf.js';

type Instance = Decoded<typeof INSTANCE>;
type Platform = Decoded<typeof PLATFORM>;
type State = (typeof STATES)['words'][number];

const PAGE = 500;
/** A hundred thousand entries. */
const MOST_PAGES = 200;

/** One page of a kind. */
type ReadPage<Entry> = (
  request: Encodable,
) => Promise<{ readonly items: readonly Entry[]; readonly next_page_token: string }>;

/** Everything of a kind in a project, page by page. @throws Failure */
async function listed<Entry>(read: ReadPage<Entry>, project: string, lacks: Lacks): Promise<Entry[]> {
  const found: Entry[] = [];
  let token = '';
  for (let page = 1; ; page += 1) {
    const reply = await read({ parent_id: project, page_size: PAGE, page_token: token });
    found.push(...reply.items);
    if (reply.next_page_token === '' || reply.next_page_token === token) return found;
    if (page >= MOST_PAGES) {
      lacks(`${project}: there are more than ${PAGE * MOST_PAGES}, and the rest was not read`);
      return found;
    }
    token = reply.next_page_token;
  }
}

/** The GPUs of a platform and preset; null: unknown. */
interface Type {
  readonly model: string | null;
  readonly gpus: number | null;
  readonly mayBePreemptible: boolean;
}
type Types = ReadonlyMap<string, Type>;

const skuOf = (platform: string, preset: string): string => `${platform}/${preset}`;

/** @throws Failure */
async function typesOf(client: NebiusClient, project: string): Promise<Types> {
  const all = await listed<Platform>(
    (request) => client.read(METHODS.platforms, request),
    project,
    () => undefined,
  );
  return new Map(
    all.flatMap(({ metadata, spec, status }) =>
      (spec?.presets ?? []).map(({ name, resources }): [string, Type] => {
        const gpus = resources === null ? null : Number(resources.gpu_count);
        const memory = Number(spec?.gpu_memory_gigabytes ?? 0);
        const words = `${spec?.human_readable_name ?? ''}${memory > 0 ? ` ${memory}GB` : ''}`;
        const model = modelOf(words) ?? modelOf(metadata?.name ?? '');
        const mayBePreemptible = status?.allowed_for_preemptibles ?? false;
        return [skuOf(metadata?.name ?? '', name), { model: gpus === 0 ? null : model, gpus, mayBePreemptible }];
      }),
    ),
  );
}

const RUN_STATES: Readonly<Record<State, RunState>> = {
  UNSPECIFIED: 'unknown',
  CREATING: 'starting',
  // Its previous state is not reported.
  UPDATING: 'unknown',
  STARTING: 'starting',
  RUNNING: 'running',
  STOPPING: 'stopping',
  STOPPED: 'stopped',
  DELETING: 'stopping',
  ERROR: 'unknown',
};

/** "Specific terms of Compute": from the start to a complete stop; disks whether it runs or not. */
const BILLING: Readonly<Partial<Record<State, BillingState>>> = {
  STARTING: 'billed',
  RUNNING: 'billed',
  STOPPING: 'billed',
  STOPPED: 'partly',
};

function termOf({ spec, status }: Instance): Pick<FleetTarget, 'term' | 'paid'> {
  if (spec?.preemptible) return { term: 'spot', paid: 'hourly' };
  if (status === null) return { term: null };
  return status.reservation_id === '' ? { term: 'on-demand', paid: 'hourly' } : { term: null, paid: 'elsewhere' };
}

function namesOf({ spec, status }: Instance): string[] {
  const all = (status?.network_interfaces ?? []).flatMap((one) => [
    one.fqdn,
    one.ip_address?.address ?? '',
    one.public_ip_address?.address ?? '',
  ]);
  // An address may come with the length of its network: 10.0.0.5/32.
  return [...new Set([spec?.hostname ?? '', ...all].map((name) => name.replace(/\/\d+$/, '')))].filter(Boolean);
}

function targetOf(one: Instance, types: Types | null, account: string | null): FleetTarget | null {
  const { metadata, spec, status } = one;
  if (metadata === null || metadata.id === '') return null;
  const { platform = '', preset = '' } = spec?.resources ?? {};
  const sku = platform === '' || preset === '' ? null : skuOf(platform, preset);
  const type = sku === null ? undefined : types?.get(sku);
  const state = status?.state ?? null;
  return {
    ...MACHINE,
    target: machineTarget(metadata.id),
    name: metadata.name || metadata.id,
    provider: CLOUD,
    account: account ?? metadata.parent_id,
    // A project lies in one region, and no field says in which.
    region: null,
    sku,
    gpuModel: type === undefined ? modelOf(platform) : type.model,
    gpus: type?.gpus ?? null,
    ...termOf(one),
    state: state === null ? 'unknown' : RUN_STATES[state],
    billing: (state === null ? undefined : BILLING[state]) ?? 'unknown',
    labels: metadata.labels,
    launchedAt: null,
    knownAs: namesOf(one),
    ...(spec?.local_disks?.passthrough_group?.requested === true ? { localDisks: true as const } : {}),
  };
}

async function machines(client: NebiusClient, lacks: Lacks): Promise<FleetTarget[]> {
  const found: FleetTarget[] = [];
  const failures: unknown[] = [];
  for (const project of client.projects) {
    try {
      const all = await listed<Instance>((request) => client.read(METHODS.instances, request), project, lacks);
      const types = all.length === 0 ? null : await unlessFailed(() => typesOf(client, project), lacks);
      for (const one of all) {
        const target = targetOf(one, types, client.settings.account);
        if (target === null) lacks(`${project}: an instance without an id`);
        else if (target.gpus !== 0) found.push(target);
      }
    } catch (failure) {
      failures.push(failure);
      lacks(`${project}: ${failure instanceof Error ? failure.message : 'it could not be read'}`);
    }
  }
  if (failures.length === client.projects.length) throw failures[0];
  return found;
}

async function machine(client: NebiusClient, id: string): Promise<FleetTarget | null> {
  const one = await client.find(METHODS.instance, { id });
  if (one === null) return null;
  const project = one.metadata?.parent_id ?? '';
  // One of a project that nobody named is none of this connection's.
  if (!client.projects.includes(project)) return null;
  return targetOf(
    one,
    await unlessFailed(
      () => typesOf(client, project),
      () => undefined,
    ),
    client.settings.account,
  );
}

const TYPE_URL = `type.googleapis.com/${CREATE_INSTANCE.name}`;

/** The queried machine, under the name that the calculator returns. */
interface Wanted {
  readonly sku: string;
  readonly type: Type;
  readonly term: Term;
}

/** The hourly price of each preset with GPUs, without disks, as the calculator estimates it for a new machine. */
async function estimated(client: NebiusClient, project: string): Promise<Price[]> {
  const wanted = [...(await typesOf(client, project))].flatMap(([sku, type]): Wanted[] => {
    if (type.gpus === null || type.gpus <= 0) return [];
    const preemptible: Wanted[] = type.mayBePreemptible ? [{ sku, type, term: 'spot' }] : [];
    return [{ sku, type, term: 'on-demand' }, ...preemptible];
  });
  if (wanted.length === 0) return [];
  const reply = await client.read(METHODS.estimate, {
    resource_specs: wanted.map((one, at) => ({ spec: { type_url: TYPE_URL, value: specOf(one, at, project) } })),
    currency: 'usd',
    filter_aggregation_unit: { filter_aggregation_unit_values: ['FILTER_AGGREGATION_UNIT_HOUR'] },
  });
  const currency = reply.currency.toUpperCase();
  if (!/^[A-Z]{3}$/.test(currency)) return [];
  return reply.resource_costs.flatMap(({ metadata, aggregation_unit: unit, general }) => {
    const one = wanted[Number(/^bursar-(\d+)$/.exec(metadata?.name ?? '')?.[1] ?? -1)];
    if (one === undefined || unit?.unit_type !== 'UNIT_TYPE_TIME_BASED' || unit.unit !== 'hour') return [];
    const facts = {
      provider: CLOUD,
      sku: one.sku,
      region: null,
      term: one.term,
      gpuModel: one.type.model,
      gpus: one.type.gpus,
      effectiveFrom: 0,
      source: 'Nebius calculator',
    };
    const price = instancePrice(facts, general?.total?.cost, currency);
    return price === null ? [] : [price];
  });
}

function specOf({ sku, term }: Wanted, at: number, project: string): Uint8Array {
  const [platform = '', preset = ''] = sku.split('/');
  return encode(CREATE_INSTANCE, {
    metadata: { parent_id: project, name: `bursar-${at}` },
    spec: { resources: { platform, preset }, ...(term === 'spot' ? { preemptible: { on_preemption: 'STOP' } } : {}) },
  });
}

/** Prices of all projects; what two of them price differently has no price of its own. */
async function prices(client: NebiusClient, lacks: Lacks): Promise<Price[]> {
  const found = new Map<string, Price | null>();
  const failures: Failure[] = [];
  for (const project of client.projects) {
    const own = await estimated(client, project).catch((failure: unknown) => {
      if (!(failure instanceof Failure)) throw failure;
      failures.push(failure);
      lacks(`${project}: ${failure.message}`);
      return [];
    });
    for (const price of own) {
      const key = `${price.sku} ${price.term}`;
      const before = found.get(key);
      const isSame = before === undefined || (before !== null && before.rate.nanos === price.rate.nanos);
      found.set(key, isSame ? price : null);
    }
  }
  const [first] = failures;
  if (first !== undefined && failures.length === client.projects.length) throw first;
  return [...found.values()].filter((price) => price !== null);
}

const change = (method: Method<Message, typeof METHODS.stop.reply>, detail: string): Change<NebiusClient> => ({
  permission: permissionOf(method),
  detail,
  send: async (client, id, token) => (await client.act(method, { id }, token)).id || null,
});

const FLEET: readonly Method[] = [METHODS.instances, METHODS.instance, METHODS.platforms];
const PRICES: readonly Method[] = [METHODS.platforms, METHODS.estimate];

export const provider: Provider = neocloud<NebiusClient>({
  name: 'nebius',
  description: 'Nebius AI Cloud: virtual machines with GPUs, list prices',
  settings: {
    name: 'nebius',
    cloud: CLOUD,
    credential: 'CREDENTIALS',
    read: 'Content of the credentials file of a service account for reading; `..._FILE` names the file',
    act: 'The same of another service account, with which it acts; absent: read-only',
    misfit: credentialsMisfit,
    lists: [
      {
        name: 'PROJECTS',
        form: /^project-[a-z0-9]{1,64}$/,
        what: 'project ids',
        description: 'Ids of the projects to look at, such as `project-e00abc,project-u00def`',
      },
    ],
  },
  permissions: { fleet: FLEET.map(permissionOf), prices: PRICES.map(permissionOf) },
  id: /^computeinstance-[a-z0-9]{1,64}$/,
  open: (settings, clock) => new NebiusClient(settings, clock),
  machines,
  machine,
  prices,
  changes: {
    stop: change(METHODS.stop, 'Nebius stops the machine; its disks are billed on'),
    start: change(METHODS.start, 'Nebius starts the machine'),
    terminate: change(METHODS.remove, 'Nebius deletes the machine'),
  },
  probe: (client, permission) => {
    const questions: readonly Method[] = [METHODS.instances, METHODS.platforms];
    const asked = questions.find((one) => permissionOf(one) === permission);
    const [project] = client.projects;
    return asked === undefined || project === undefined
      ? null
      : () => client.ask(asked, { parent_id: project, page_size: 1 });
  },
});
