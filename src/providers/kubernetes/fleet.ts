/**
 * Reads the fleet of a cluster: workloads with their autoscalers' bounds, nodes, pools; or one target.
 *
 * Never writes. It names the kinds that may not be read, and the reading is then not complete. Pods are targets too,
 * asked for by name; they are not listed, since their workloads and nodes are: a workload says which pods are its own.
 */
import type { V1ListMeta, V1Node, V1ObjectMeta, V1Pod } from '@kubernetes/client-node';
import { Failure } from '../../core/errors.js';
import { ANY_NODE, podGpus } from '../../core/fleet/pod-gpus.js';
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { claimedParts, claimsOf } from './claims.js';
import { allOf, type Cluster } from './client.js';
import { read } from './failures.js';
import {
  addressOf,
  cloudOf,
  isOver,
  nodeTarget,
  podTarget,
  poolOf,
  poolTarget,
  scalersByTarget,
  selectorText,
  workloadTarget,
  type Address,
  type Autoscaler,
  type Identity,
  type Workload,
} from './objects.js';
import { jobTarget, isTarget, type JobObject } from './jobs.js';
import { ownedPods, withPods, type OwnedPods, type RayClusters } from './owners.js';
import { JOB_KINDS, RESOURCES, resourceOf, type JobKind } from './resources.js';

/** Where neither a setting nor a node says whose machines these are. */
const UNKNOWN_PROVIDER = 'Kubernetes';

export type JobAddress = Extract<Address, { kind: JobKind }>;
export type WorkloadAddress = Extract<Address, { kind: 'deployment' | 'statefulset' }>;

export class FleetReader {
  private known: Identity | null = null;

  constructor(
    private readonly cluster: Cluster,
    private readonly settings: { readonly provider: string | null; readonly account: string | null },
  ) {}

  /** The provider of these machines: the setting, otherwise the first node's own data. */
  async identity(): Promise<Identity> {
    if (this.known !== null) return this.known;
    const { provider, account } = this.settings;
    const [node] =
      provider !== null
        ? []
        : ((await read('list nodes', () => this.cluster.core.listNode({ limit: 1 })))?.items ?? []);
    const found = provider ?? cloudOf(node?.spec?.providerID);
    if (found === null) return { provider: UNKNOWN_PROVIDER, account };
    return (this.known = { provider: found, account });
  }

  async reading(at: number): Promise<FleetReading> {
    const { apps, autoscaling } = this.cluster;
    const failures: Failure[] = [];
    const problems: Failure[] = [];
    const whole = async <T>(list: Promise<T[]>): Promise<T[]> =>
      list.catch((error: unknown) => {
        if (!(error instanceof Failure)) throw error;
        failures.push(error);
        return [];
      });
    const nodes = await whole(this.nodes());
    const scalers = await whole(
      allOf('list horizontalpodautoscalers.autoscaling', (page) =>
        autoscaling.listHorizontalPodAutoscalerForAllNamespaces(page),
      ),
    );
    const deployments = await whole(
      allOf('list deployments.apps', (page) => apps.listDeploymentForAllNamespaces(page)),
    );
    const sets = await whole(allOf('list statefulsets.apps', (page) => apps.listStatefulSetForAllNamespaces(page)));
    const [first] = failures;
    if (first !== undefined && failures.length === 4) throw first;
    const identity = await this.identity().catch(
      (): Identity => ({ provider: UNKNOWN_PROVIDER, account: this.settings.account }),
    );
    const owners = scalersByTarget(scalers);
    const workloads = [
      ...deployments.map((one) => ['deployment', one] as const),
      ...sets.map((one) => ['statefulset', one] as const),
    ];
    // Whose pods are measured; where the list is refused nothing else is less known for it.
    let unlisted: Failure | null = null;
    const pods = await this.pods().catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      unlisted = error;
      return [];
    });
    const jobs = await this.jobs(failures, problems);
    const owned = ownedPods(pods, rayClusters(jobs));
    const nodeTargets = nodes.map((node) => nodeTarget(node, identity));
    const byNode = new Map(nodeTargets.map((node) => [node.name, node]));
    const targets: FleetTarget[] = [];
    for (const [kind, one] of workloads) {
      const owner = owners.get(`${kind}/${one.metadata?.namespace ?? ''}/${one.metadata?.name ?? ''}`) ?? null;
      const target = workloadTarget(kind, one, owner, identity, await this.podsLeft(one).catch(() => null));
      targets.push(withPods(target, owned.get(target.target), byNode));
    }
    for (const [kind, one] of jobs) {
      const own = owned.get(nameOf(kind, one));
      targets.push(withPods(jobTarget(kind, one, identity, unlisted === null ? own !== undefined : null), own, byNode));
    }
    return {
      at,
      complete: failures.length === 0,
      problems: [...failures, ...(unlisted === null ? [] : [unlisted]), ...problems].map(({ message }) => message),
      targets: [...targets, ...nodeTargets, ...poolsOf(nodes, identity)],
    };
  }

  /** One target, read now; null if it is not there. */
  async target(target: string): Promise<FleetTarget | null> {
    const address = addressOf(target);
    if (address === null) return null;
    const identity = await this.identity();
    if (address.kind === 'node') {
      const node = await this.node(address.name);
      return node === null ? null : nodeTarget(node, identity);
    }
    if (address.kind === 'node-pool')
      return poolsOf(await this.nodes(), identity).find((pool) => pool.name === address.name) ?? null;
    if (address.kind === 'pod') {
      const pod = await this.pod(address);
      const node = pod?.spec?.nodeName === undefined ? null : await this.node(pod.spec.nodeName);
      if (pod === null) return null;
      const claimed = claimedParts(pod, await claimsOf(this.cluster, [pod]));
      return podTarget(pod, target, node?.metadata?.labels ?? {}, identity, claimed);
    }
    if (isJob(address)) return this.jobTarget(address, identity);
    const workload = await this.workload(address);
    if (workload === null) return null;
    const scaler = await this.scaler(address);
    const seen = workloadTarget(address.kind, workload, scaler, identity, await this.podsLeft(workload));
    return this.withOwned(seen, ownedPods(await this.podsOf(workload)).get(seen.target), identity);
  }

  private async withOwned(seen: FleetTarget, owned: OwnedPods | undefined, identity: Identity): Promise<FleetTarget> {
    const nodes = owned === undefined ? [] : (await this.nodes()).map((node) => nodeTarget(node, identity));
    return withPods(seen, owned, new Map(nodes.map((node) => [node.name, node])));
  }

  /**
   * Jobs with GPUs that have not ended. A kind that the cluster does not have has none; one that may not be read was
   * never known, so that nothing else is less known for it.
   */
  private async jobs(failures: Failure[], problems: Failure[]): Promise<[JobKind, JobObject][]> {
    const found: [JobKind, JobObject][] = [];
    for (const kind of JOB_KINDS) {
      const { group, version, plural: resourcePlural } = RESOURCES[kind];
      try {
        const all = await allOf(`list ${resourceOf(kind)}`, async (page) => {
          const listed: unknown = await this.cluster.objects.listCustomObjectForAllNamespaces({
            group,
            version,
            resourcePlural,
            ...page,
          });
          return listed as { items: (JobObject & { metadata?: V1ObjectMeta })[]; metadata?: V1ListMeta };
        });
        found.push(...all.filter((one) => isTarget(kind, one)).map((one): [JobKind, JobObject] => [kind, one]));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.kind === 'denied') problems.push(error);
        else if (error.kind !== 'missing') failures.push(error);
      }
    }
    return found;
  }

  async job({ kind, namespace, name }: JobAddress): Promise<JobObject | null> {
    const { group, version, plural } = RESOURCES[kind];
    return read(`get ${resourceOf(kind)} ${namespace}/${name}`, async () => {
      const got: unknown = await this.cluster.objects.getNamespacedCustomObject({
        group,
        version,
        namespace,
        plural,
        name,
      });
      return got as JobObject;
    });
  }

  private async jobTarget(address: JobAddress, identity: Identity): Promise<FleetTarget | null> {
    const job = await this.job(address);
    if (job === null) return null;
    const { kind } = address;
    const owned = await this.ownedBy(address, job);
    return this.withOwned(jobTarget(kind, job, identity, owned !== undefined), owned, identity);
  }

  private async ownedBy({ kind, namespace }: JobAddress, job: JobObject): Promise<OwnedPods | undefined> {
    const pods = await allOf(`list pods in ${namespace}`, (page) =>
      this.cluster.core.listNamespacedPod({ namespace, ...page }),
    );
    return ownedPods(pods, rayClusters([[kind, job]])).get(nameOf(kind, job));
  }

  /** Whether pods of a job with GPUs run or shut down. */
  async podsOfJob(address: JobAddress): Promise<boolean> {
    const job = await this.job(address);
    return job !== null && (await this.ownedBy(address, job)) !== undefined;
  }

  async nodes(): Promise<V1Node[]> {
    return allOf('list nodes', (page) => this.cluster.core.listNode(page));
  }

  async node(name: string): Promise<V1Node | null> {
    return read(`get nodes ${name}`, () => this.cluster.core.readNode({ name }));
  }

  /** The pods that a workload selects, where it asks for GPUs; others may be among them. */
  private async podsOf(workload: Workload): Promise<V1Pod[]> {
    const { metadata, spec } = workload;
    const labelSelector = selectorText(spec?.selector ?? {});
    const namespace = metadata?.namespace ?? '';
    if (labelSelector === null || !asksForGpus(workload)) return [];
    return allOf(`list pods in ${namespace}`, (page) =>
      this.cluster.core.listNamespacedPod({ namespace, labelSelector, ...page }),
    );
  }

  private pods(): Promise<V1Pod[]> {
    return allOf('list pods', (page) => this.cluster.core.listPodForAllNamespaces(page));
  }

  async podsOn(node: string): Promise<V1Pod[]> {
    return allOf(`list pods of node ${node}`, (page) =>
      this.cluster.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}`, ...page }),
    );
  }

  /** Null also where a pod of that name is there that has another uid. */
  async pod({ namespace, name, uid }: Extract<Address, { kind: 'pod' }>): Promise<V1Pod | null> {
    const pod = await read(`get pods ${namespace}/${name}`, () =>
      this.cluster.core.readNamespacedPod({ namespace, name }),
    );
    return pod === null || (uid !== null && pod.metadata?.uid !== uid) ? null : pod;
  }

  async workload({ kind, namespace, name }: WorkloadAddress): Promise<Workload | null> {
    const { apps } = this.cluster;
    return read<Workload>(`get ${kind}s.apps ${namespace}/${name}`, () =>
      kind === 'deployment'
        ? apps.readNamespacedDeployment({ namespace, name })
        : apps.readNamespacedStatefulSet({ namespace, name }),
    );
  }

  /** The autoscaler that owns a workload's size. */
  async scaler({ kind, namespace, name }: WorkloadAddress): Promise<Autoscaler | null> {
    const scalers = await allOf(`list horizontalpodautoscalers.autoscaling in ${namespace}`, (page) =>
      this.cluster.autoscaling.listNamespacedHorizontalPodAutoscaler({ namespace, ...page }),
    );
    return scalersByTarget(scalers).get(`${kind}/${namespace}/${name}`) ?? null;
  }

  /**
   * Whether a workload of size 0 has pods yet: a Deployment's own count leaves out those that are shutting down and
   * hold their GPUs still.
   * Null: it has a size, or asks for no GPU, and nobody has looked.
   */
  private async podsLeft(workload: Workload): Promise<boolean | null> {
    if ((workload.spec?.replicas ?? 1) > 0 || !asksForGpus(workload)) return null;
    const pods = await this.podsOf(workload);
    return pods.some((pod) => !isOver(pod));
  }
}

export const isJob = (address: Address): address is JobAddress => JOB_KINDS.some((kind) => kind === address.kind);

const nameOf = (kind: JobKind, { metadata }: JobObject): string =>
  `${kind}/${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

const rayClusters = (jobs: readonly (readonly [JobKind, JobObject])[]): RayClusters =>
  new Map(
    jobs.flatMap(([kind, job]) => {
      const cluster = job.status?.rayClusterName;
      return cluster === undefined || cluster === ''
        ? []
        : [[`${job.metadata?.namespace ?? ''}/${cluster}`, nameOf(kind, job)]];
    }),
  );

/** What selects no pod by labels has none that could be found. */
const asksForGpus = ({ spec }: Workload): boolean =>
  selectorText(spec?.selector ?? {}) !== null && podGpus(spec?.template.spec ?? {}, ANY_NODE, null).requested;

function poolsOf(nodes: readonly V1Node[], identity: Identity): FleetTarget[] {
  const pools = new Map<string, V1Node[]>();
  for (const node of nodes) {
    const pool = poolOf(node);
    if (pool !== null) pools.set(pool, [...(pools.get(pool) ?? []), node]);
  }
  return [...pools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, members]) => poolTarget(name, members, identity));
}
