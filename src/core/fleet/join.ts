/**
 * Matches a GPU reading to a target of the fleet, by the ids, host names, addresses and pods that exporters and clouds
 * set by themselves. Pure.
 *
 * The invariant: a reading that fits two targets is matched to none, with the reason; nor is a reading matched to a
 * machine with another card, region, network or account. The same private address in two networks is two machines,
 * until a label on the series or the model of the card distinguishes them. A pod's reading belongs to the workload that
 * owns the pod, never to the machine under it.
 *
 * Sources: dcgm-exporter writes `Hostname` (the machine's host name, or NODE_NAME on Kubernetes) and, on Kubernetes,
 * `namespace`, `pod` and `container`; Prometheus adds the target's own `instance` (host and port) and renames what
 * collides to `exported_...` (prometheus.io, "Jobs and instances"; "Configuration", honor_labels). EC2's host names are
 * `ip-10-0-1-23` or the instance's id (Amazon EC2 User Guide, "EC2 instance hostnames and domains").
 */
import type { FleetTarget } from './fleet.js';

/** Labels by which exporters and discoveries name a host or a node. */
export const HOST_LABELS = ['Hostname', 'hostname', 'exported_node', 'node', 'kubernetes_node', 'host', 'nodename'];
/** Labels that relabelling commonly makes of a discovery's own (`__meta_ec2_instance_id` and its like). */
const ID_LABELS = ['instance_id', 'ec2_instance_id', 'ecs_instance_id', 'cvm_instance_id', 'machine_id', 'InstanceId'];
const NETWORK_LABELS = ['vpc_id', 'ec2_vpc_id', 'vpc', 'network'];
const REGION_LABELS = ['region', 'ec2_region', 'topology_kubernetes_io_region', 'label_topology_kubernetes_io_region'];
const ACCOUNT_LABELS = ['account', 'account_id', 'owner_id'];
/** Labels that tell apart what has one address in two places. */
export const PLACE_LABELS: readonly string[] = [
  ...NETWORK_LABELS,
  ...REGION_LABELS,
  ...ACCOUNT_LABELS,
  ...ID_LABELS,
  'cluster',
  'datacenter',
  'site',
  'zone',
  'availability_zone',
];

/** The names in a reading for its resource. All are as written; the address is a host without its port. */
export interface Clues {
  readonly ids: readonly string[];
  /** `pod/namespace/name`; null: it is not a pod's, or the namespace is unknown. */
  readonly pod: string | null;
  readonly hosts: readonly string[];
  readonly addresses: readonly string[];
  /** The fields that distinguish equal names; null: not stated. */
  readonly network: string | null;
  readonly region: string | null;
  readonly account: string | null;
  readonly gpuModel: string | null;
}

/** The fields of a reading that name its place. */
export interface Called {
  readonly resource: string;
  readonly namespace: string | null;
  readonly pod: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly gpuModel: string | null;
}

/** A target that readings may be of, and whose. */
export interface Candidate {
  readonly connection: string;
  readonly team: string;
  /** When the fleet was first seen to have it, epoch milliseconds. */
  readonly firstSeenAt: number;
  readonly seen: Pick<
    FleetTarget,
    | 'target'
    | 'kind'
    | 'name'
    | 'provider'
    | 'account'
    | 'region'
    | 'sku'
    | 'gpuModel'
    | 'term'
    | 'knownAs'
    | 'network'
    | 'labels'
    | 'launchedAt'
    | 'outOfService'
  >;
}

const NOT_JOINED = ['no-name', 'unknown-machine', 'unknown-pod', 'ambiguous', 'contradictory'] as const;
export type NotJoined = (typeof NOT_JOINED)[number];

/**
 * The target, or the reason why there is none. `machine` is the machine of a pod if it is known, even if the pod's
 * workload is not: its prices apply to the pod.
 */
export type Joined<One extends Candidate = Candidate> =
  | { readonly found: One; readonly machine: One | null }
  | {
      readonly found: null;
      readonly machine: One | null;
      readonly because: NotJoined;
      readonly detail: string;
      /** The candidates, if there are several; otherwise none. */
      readonly among: readonly One[];
    };

const LOOPBACK = /^(?:localhost|127\..*|::1|0\.0\.0\.0)$/i;
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:]+)$/i;

const present = (values: readonly (string | null | undefined)[]): string[] => [
  ...new Set(values.filter((value): value is string => value !== undefined && value !== null && value !== '')),
];

/** A target's `instance` label without its port, and without the brackets of IPv6. */
const hostOfInstance = (instance: string): string => instance.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

/** The clues of a reading about its place. */
export function cluesOf({ resource, namespace, pod, labels, gpuModel }: Called): Clues {
  const first = (names: readonly string[]): string | null => present(names.map((name) => labels[name]))[0] ?? null;
  // A pod's resource is the pod itself; any other is what its machine is called.
  const own = pod === null ? [resource] : [];
  const said = present([...HOST_LABELS.map((name) => labels[name]), ...own, hostOfInstance(labels['instance'] ?? '')]);
  const names = said.filter((name) => !LOOPBACK.test(name));
  return {
    ids: present([...ID_LABELS.map((name) => labels[name]), ...own]).filter((id) => !LOOPBACK.test(id)),
    pod: pod === null || namespace === null ? null : `pod/${namespace}/${pod}`,
    hosts: names.filter((name) => !ADDRESS.test(name)),
    addresses: names.filter((name) => ADDRESS.test(name)),
    network: first(NETWORK_LABELS),
    region: first(REGION_LABELS),
    account: first(ACCOUNT_LABELS),
    gpuModel,
  };
}

const add = <One>(index: Map<string, One[]>, name: string, one: One): void => {
  const all = index.get(name);
  if (all === undefined) index.set(name, [one]);
  else if (!all.includes(one)) all.push(one);
};
const shortOf = (host: string): string => host.split('.', 1)[0] ?? host;

const isNode = ({ seen }: Candidate): boolean => seen.target.startsWith('node/');

/** The id that usage and readings have: what is behind the kind and the region in a target's name. */
const idOf = ({ target }: Pick<FleetTarget, 'target'>): string => target.slice(target.lastIndexOf('/') + 1);

/** Whether a name is a machine's as Kubernetes writes it down with the node: `gce://ml-prod/us-central1-a/node-1`. */
const isProviderId = (name: string): boolean => name.includes('://');

/** Finds the targets of readings among those that are there. Made once for many readings. */
export class FleetJoin<One extends Candidate = Candidate> {
  private readonly byId = new Map<string, One[]>();
  private readonly byHost = new Map<string, One[]>();
  private readonly byShort = new Map<string, One[]>();
  private readonly byAddress = new Map<string, One[]>();
  private readonly byPod = new Map<string, One[]>();
  private readonly byName = new Map<string, One[]>();
  private readonly nodes: One[] = [];
  private readonly known = new Map<string, Joined<One>>();

  constructor(targets: readonly One[]) {
    for (const one of targets) {
      const { kind, target, name, knownAs = [] } = one.seen;
      if (kind === 'workload') for (const pod of knownAs) add(this.byPod, pod, one);
      if (kind !== 'instance') continue;
      if (isNode(one)) this.nodes.push(one);
      // A node's name is a host's, which the cloud's instance under it has too.
      const ids = isNode(one)
        ? [target]
        : [target, target.slice(target.indexOf('/') + 1), idOf(one.seen), ...knownAs.filter(isProviderId)];
      for (const id of ids) add(this.byId, id, one);
      add(this.byName, name.toLowerCase(), one);
      for (const known of [...knownAs, ...(isNode(one) ? [name] : [])].map((text) => text.toLowerCase())) {
        if (ADDRESS.test(known)) add(this.byAddress, known, one);
        else {
          add(this.byHost, known, one);
          add(this.byShort, shortOf(known), one);
        }
      }
    }
  }

  /** The target that a reading is of. */
  join(clues: Clues): Joined<One> {
    const key = JSON.stringify(clues);
    const known = this.known.get(key) ?? this.find(clues);
    this.known.set(key, known);
    return known;
  }

  private find(clues: Clues): Joined<One> {
    const onMachine = this.machineOf(clues);
    if (clues.pod === null) return onMachine;
    const machine = onMachine.found;
    const owners = this.byPod.get(clues.pod) ?? [];
    // Pods of one name in two clusters: the node under them says which.
    const clusters = owners.length > 1 && machine !== null ? this.clustersOf(machine) : [];
    const fitting = owners.filter(({ connection }) => clusters.includes(connection));
    const [owner, ...others] = fitting.length === 0 ? owners : fitting;
    if (owner !== undefined && others.length === 0) return { found: owner, machine };
    return owner === undefined
      ? {
          found: null,
          machine,
          because: 'unknown-pod',
          among: [],
          detail: `no connection knows whose pod ${clues.pod} is: connect its Kubernetes cluster`,
        }
      : {
          found: null,
          machine,
          because: 'ambiguous',
          among: [owner, ...others],
          detail: `${clues.pod} is a pod of ${listed([owner, ...others])}: no label distinguishes them`,
        };
  }

  /** The clusters of which a machine is a node. */
  private clustersOf(machine: One): string[] {
    return this.nodes
      .filter((node) => node === machine || this.underNode(node) === machine)
      .map((one) => one.connection);
  }

  private machineOf(clues: Clues): Joined<One> {
    const { ids, hosts, addresses } = clues;
    const all = (names: readonly string[], of: (name: string) => readonly One[]): One[] => [
      ...new Set(names.flatMap((name) => of(name.toLowerCase())).map((one) => this.underNode(one))),
    ];
    const tiers = [
      [...new Set(ids.flatMap((id) => this.byId.get(id) ?? []).map((one) => this.underNode(one)))],
      all(hosts, (host) => this.hostsOf(host)),
      all(addresses, (address) => this.byAddress.get(address) ?? []),
    ].filter((tier) => tier.length > 0);
    if (tiers.length === 0) tiers.push(all(hosts, (host) => this.byName.get(host) ?? []));
    const [first = [], ...rest] = tiers;
    const agreed = distinguish(
      rest.reduce((left, tier) => left.filter((one) => tier.includes(one)), first),
      clues,
    );
    const [one, ...others] = agreed;
    const named = [...new Set([...ids, ...hosts, ...addresses])];
    if (one !== undefined && others.length === 0) {
      const against = ids.some((id) => this.byId.has(id)) ? null : contradiction(one, clues);
      return against === null
        ? { found: one, machine: one }
        : nothing('contradictory', `${named.join(', ')} is a name of ${listed([one])}, which ${against}`, [one]);
    }
    if (one !== undefined)
      return nothing(
        'ambiguous',
        `${named.join(', ')} could be ${listed(agreed)}: a label of the region, the account or the VPC would distinguish them`,
        agreed,
      );
    if (rest.length > 0)
      return nothing(
        'contradictory',
        `${named.join(', ')} name different machines: ${listed([...first, ...rest.flat()])}`,
        [...new Set([...first, ...rest.flat()])],
      );
    return named.length === 0
      ? nothing('no-name', 'its series name no machine, neither in Hostname nor in instance')
      : nothing('unknown-machine', `no connection knows a machine called ${named.join(', ')}`);
  }

  /**
   * The cloud's instance under a node of a cluster, where it is known: the two are one machine, and the cloud's has the
   * prices and is what is started and stopped.
   */
  private underNode(one: One): One {
    if (!isNode(one)) return one;
    const [cloud, ...others] = (one.seen.knownAs ?? []).flatMap((name) => this.byId.get(name) ?? []);
    return cloud === undefined || others.length > 0 ? one : cloud;
  }

  /** A whole name is its own machine's; of which only one side says the first part is known by that. */
  private hostsOf(host: string): readonly One[] {
    if (!host.includes('.')) return this.byShort.get(host) ?? [];
    return this.byHost.get(host) ?? this.byHost.get(shortOf(host)) ?? [];
  }
}

/** Those that fit the stated network, region, account and card; all, if none fits. */
function distinguish<One extends Candidate>(
  all: readonly One[],
  { network, region, account, gpuModel }: Clues,
): readonly One[] {
  let left = newestOfAddress(all);
  const narrow = (said: string | null, of: (seen: One['seen']) => string | null | undefined): void => {
    if (said === null || left.length < 2) return;
    const fitting = left.filter(({ seen }) => of(seen) === said);
    if (fitting.length > 0) left = fitting;
  };
  narrow(network, (seen) => seen.network);
  narrow(region, (seen) => seen.region);
  narrow(account, (seen) => seen.account);
  narrow(gpuModel, (seen) => seen.gpuModel);
  return left;
}

const shape = (text: string): string => text.replace(/[a-z]+/gi, 'a').replace(/\d+/g, '0');

/**
 * The evidence against the machine that a name or an address found, because names and private addresses are not unique;
 * null: none. A label with the user's own value (`region="lab"`) says nothing about a cloud's regions.
 */
function contradiction({ seen }: Candidate, { network, region, account, gpuModel }: Clues): string | null {
  const isVpc = (text: string): boolean => text.startsWith('vpc-');
  const differ = (said: string | null, known: string | null | undefined, isAlike: boolean): boolean =>
    said !== null && typeof known === 'string' && isAlike && !said.startsWith(known) && !known.startsWith(said);
  const likeRegion = region !== null && /\d/.test(region) && shape(region) === shape(seen.region ?? '');
  if (differ(gpuModel, seen.gpuModel, true)) return `has ${seen.gpuModel}, not ${gpuModel}`;
  if (differ(region, seen.region, likeRegion)) return `is in ${seen.region}, not in ${region}`;
  if (differ(network, seen.network, isVpc(network ?? '') && isVpc(seen.network ?? '')))
    return `is in the network ${seen.network}, not in ${network}`;
  return differ(account, seen.account, /^\d+$/.test(account ?? '') && /^\d+$/.test(seen.account ?? ''))
    ? `is of the account ${seen.account}, not of ${account}`
    : null;
}

const nothing = <One>(because: NotJoined, detail: string, among: readonly One[] = []) =>
  ({ found: null, machine: null, because, detail, among }) as const;

const listed = (all: readonly Candidate[]): string =>
  [...new Set(all.map(({ connection, seen }) => `${seen.target} of ${connection}`))].sort().slice(0, 5).join(', ');

/**
 * Within one network an address belongs to one machine at a time: if two have it, it belongs to the one that was
 * started last, and the other is leaving the list.
 */
function newestOfAddress<One extends Candidate>(all: readonly One[]): readonly One[] {
  const [first] = all;
  if (first?.seen.network === undefined || all.length < 2) return all;
  const isSame = ({ connection, seen }: One): boolean =>
    connection === first.connection && seen.network === first.seen.network && seen.launchedAt !== null;
  if (!all.every(isSame)) return all;
  const newest = Math.max(...all.map(({ seen }) => seen.launchedAt ?? 0));
  return all.filter(({ seen }) => seen.launchedAt === newest);
}
