/**
 * The provider `kubernetes`: workloads, autoscalers, nodes and pods of one cluster, through the official client.
 *
 * It knows no prices and no bills: machines are their cloud's, and usage is filed under that cloud's name, SKU and
 * region. Acts with credentials of its own or not at all.
 */
import type { Clock } from '../../core/time.js';
import type { ProviderSetting } from '../../core/setting.js';
import { denied } from '../../core/errors.js';
import type { Effect, EffectKind, FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { effectsOf, type EffectOutcome, type Provider, type ProviderConnection } from '../../core/ports.js';
import type { RecordBatch } from '../../core/usage.js';
import { accessOf, type Access } from './access.js';
import { Actor } from './apply.js';
import { clusterOf, type Cluster } from './client.js';
import { FleetReader } from './fleet.js';
import { grants } from './permissions.js';
import { JOB_KINDS, resourceOf } from './resources.js';
import { SETTINGS } from './settings.js';
import { podUsage, type Place } from './usage.js';

const CLAIMS = 'list resourceclaims.resource.k8s.io';
const READS = [
  'list nodes',
  'get nodes',
  'list deployments.apps',
  'get deployments.apps',
  'list statefulsets.apps',
  'get statefulsets.apps',
  'list horizontalpodautoscalers.autoscaling',
  'list pods',
  'get pods',
  CLAIMS,
  ...JOB_KINDS.flatMap((kind) => [`list ${resourceOf(kind)}`, `get ${resourceOf(kind)}`]),
];
const SUSPENDS = JOB_KINDS.map((kind) => `patch ${resourceOf(kind)}`);
const RESIZES = ['patch deployments.apps', 'patch statefulsets.apps'];
const BOUNDS = ['patch horizontalpodautoscalers.autoscaling'];
const ENDS = ['delete pods', 'delete nodes'];

export const provider: Provider = {
  name: 'kubernetes',
  providerName: null,
  description:
    'Deployments, StatefulSets, Jobs, RayJobs, PyTorchJobs, autoscalers, nodes and the GPUs that pods hold in a Kubernetes cluster',
  abilities: {
    prices: null,
    usage: ['list pods', 'list nodes', CLAIMS],
    bill: null,
    spotHistory: null,
    offers: null,
    fleet: READS,
    effects: {
      stop: [...RESIZES, ...SUSPENDS],
      start: [...RESIZES, ...SUSPENDS],
      move: [...RESIZES, ...SUSPENDS, 'patch jobs.batch/status'],
      scale: [...RESIZES, ...BOUNDS],
      'set-bounds': BOUNDS,
      cordon: ['patch nodes'],
      drain: ['patch nodes', 'create pods/eviction'],
      replace: ENDS,
      terminate: ENDS,
    },
  },
  settings: SETTINGS,
  connect(settings: Readonly<Record<string, string | undefined>>, clock: Clock): ProviderConnection | null {
    const access = accessOf(settings);
    return access === null ? null : new KubernetesConnection(access, clock);
  },
};

class KubernetesConnection implements ProviderConnection {
  readonly name: string;
  readonly account: string | null;
  readonly canAct: boolean;
  private readonly cluster: Cluster;
  private readonly reader: FleetReader;
  private readonly actor: Actor | null;
  private readonly actingCluster: Cluster | null;
  private readonly places = new Map<string, Place>();

  constructor(
    private readonly access: Access,
    private readonly clock: Clock,
  ) {
    this.name = access.cluster === null ? 'kubernetes' : `kubernetes:${access.cluster}`;
    this.account = access.account;
    this.cluster = clusterOf(access.read, access.timeoutMilliseconds);
    this.reader = new FleetReader(this.cluster, access);
    this.actingCluster = access.act === null ? null : clusterOf(access.act, access.timeoutMilliseconds);
    this.actor = this.actingCluster === null ? null : new Actor(this.reader, this.actingCluster);
    this.canAct = this.actor !== null;
  }

  async effects(): Promise<EffectKind[]> {
    return effectsOf(provider.abilities);
  }

  fleet(): Promise<FleetReading> {
    return this.reader.reading(this.clock.now());
  }

  target(target: string): Promise<FleetTarget | null> {
    return this.reader.target(target);
  }

  async *usage(from: number, to: number): AsyncGenerator<RecordBatch> {
    const { cluster, provider: name } = this.access;
    const nodes = await this.reader.nodes();
    const identity = await this.reader.identity();
    // The instant before the list is read: what is listed held its GPUs at least until then.
    yield* podUsage(
      this.cluster,
      nodes,
      { identity, cluster, isNamed: name !== null, places: this.places },
      { from, to, now: this.clock.now() },
    );
  }

  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    return this.acting().apply(effect, token, before);
  }

  /** Reads only, and so needs no credentials for acting. */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    return (this.actor ?? new Actor(this.reader, this.cluster)).outcome(effect, token);
  }

  async granted(permission: string, use: ProviderSetting['use']): Promise<boolean | null> {
    const cluster = use === 'read' ? this.cluster : this.actingCluster;
    return cluster === null ? false : grants(cluster, permission);
  }

  private acting(): Actor {
    if (this.actor === null)
      throw denied(
        `${this.name} is read-only: there are no credentials for acting (BURSAR_KUBERNETES_ACT_CONTEXT, ACT_TOKEN or ACT_TOKEN_FILE)`,
      );
    return this.actor;
  }
}
