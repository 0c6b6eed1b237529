/**
 * Applies effects to a cluster, each as one write that carries its token, and tells afterwards what became of it.
 *
 * Never writes what was not read a moment before, never repeats a write. Machines are their cloud's: a node is ended
 * only where Karpenter (which ends the machine with its Node; Karpenter, "Disruption: Manual methods") has made it.
 */
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import type { Effect, FleetTarget, Move } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import { changeOf, LAST_TOKEN, refused, type Change } from './change.js';
import { FIELD_MANAGER as fieldManager, type Cluster } from './client.js';
import { cordon, drain, mustMove } from './drain.js';
import { write, type Written } from './failures.js';
import { isJob, type FleetReader, type JobAddress, type WorkloadAddress } from './fleet.js';
import { jobPatch, revisionOfJob, type JobObject } from './jobs.js';
import { jobMove, MOVING, workloadMove } from './move.js';
import type { Labels } from './quantity.js';
import { RESOURCES, resourceOf } from './resources.js';
import { addressOf, controllerOf, revisionOf, type Address, type Autoscaler, type Workload } from './objects.js';

/** The tries of a write that only a change of the status has overtaken. */
const MOST_ATTEMPTS = 4;

const KARPENTER = 'karpenter.sh/nodepool';

const taken = (detail: string): EffectOutcome => ({ kind: 'taken', reference: null, detail });
const gone = (target: string): EffectOutcome => refused('missing', `${target} is not there`);
const changed = (target: string): EffectOutcome => refused('changed', `${target} has changed since it was read`);

const halfMoved = (target: string): EffectOutcome => ({
  kind: 'half-done',
  reference: target,
  detail: `${target} is suspended, and not yet resumed`,
});

const tokenOf = (object: Workload | Autoscaler | V1Node | JobObject | null): string | undefined =>
  object?.metadata?.annotations?.[LAST_TOKEN];

export class Actor {
  /**
   * @param reader reads with the credentials for reading
   * @param cluster writes with those for acting
   */
  constructor(
    private readonly reader: FleetReader,
    private readonly cluster: Cluster,
  ) {}

  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    const address = addressOf(effect.target);
    switch (address?.kind) {
      case undefined:
        return gone(effect.target);
      case 'deployment':
      case 'statefulset':
        if (effect.kind === 'move') return this.moveWorkload(effect, token, before, address);
        return this.resize(effect, token, before, address);
      case 'node':
        return this.onNode(effect, token, before, address.name);
      case 'pod':
        return this.onPod(effect, before, address);
      case 'job':
      case 'rayjob':
      case 'pytorchjob':
        if (effect.kind === 'move') return this.moveJob(effect, token, before, address);
        return this.suspend(effect, token, before, address);
      case 'node-pool':
        return refused('not-supported', "a pool's machines are its cloud's: its own connection sizes it");
    }
  }

  /** The outcome of the effect that was sent under the token. */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    const address = addressOf(effect.target);
    if (address === null || address.kind === 'node-pool') return { kind: 'absent' };
    if (address.kind === 'pod') return this.podOutcome(effect, address);
    if (address.kind === 'node') return this.nodeOutcome(effect, token, address.name);
    if (isJob(address)) {
      const job = await this.reader.job(address);
      if (job === null) return gone(effect.target);
      if (tokenOf(job) === token) return taken('the target carries the token');
      return job.metadata?.annotations?.[MOVING] === token ? halfMoved(effect.target) : { kind: 'absent' };
    }
    const workload = await this.reader.workload(address);
    if (workload === null) return gone(effect.target);
    if (tokenOf(workload) === token || tokenOf(await this.reader.scaler(address)) === token)
      return taken('the target carries the token');
    return { kind: 'absent' };
  }

  /**
   * A write is refused where the object has changed at all since it was read, its status too. Where only that has moved
   * it is read again and written again: what was refused has surely changed nothing.
   */
  private async resize(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    address: WorkloadAddress,
    attempts = MOST_ATTEMPTS,
    revision = before?.revision ?? null,
  ): Promise<EffectOutcome> {
    const workload = await this.reader.workload(address);
    if (workload === null) return gone(effect.target);
    const scaler = await this.reader.scaler(address);
    if (tokenOf(workload) === token || tokenOf(scaler) === token)
      return taken('it was taken before, under the same token');
    const read = revisionOf(workload, scaler);
    if (revision !== null && revision !== read) return changed(effect.target);
    const change = changeOf(effect, token, workload, scaler);
    if ('kind' in change) return change;
    const written = await this.patch(address, scaler, change);
    if (written.done) return taken(change.detail);
    // Of two writes under one token the first may have arrived after all: it is searched before anything else.
    return written.code === 409 && attempts > 1
      ? this.resize(effect, token, before, address, attempts - 1, read)
      : written.outcome;
  }

  /** As `resize`: a job is suspended or resumed by one patch that carries the token. */
  private async suspend(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    address: JobAddress,
    attempts = MOST_ATTEMPTS,
    revision = before?.revision ?? null,
  ): Promise<EffectOutcome> {
    const { kind, namespace, name } = address;
    const job = await this.reader.job(address);
    if (job === null) return gone(effect.target);
    if (tokenOf(job) === token) return taken('it was taken before, under the same token');
    const read = revisionOfJob(job);
    if (revision !== null && revision !== read) return changed(effect.target);
    const body = jobPatch(effect, token, kind, job);
    if ('kind' in body) return body;
    const { group, version, plural } = RESOURCES[kind];
    const written = await write<unknown>(`patch ${resourceOf(kind)} ${namespace}/${name}`, () =>
      this.cluster.objects.patchNamespacedCustomObject({ group, version, plural, namespace, name, body, fieldManager }),
    );
    if (written.done) return taken(effect.kind === 'stop' ? 'suspended' : 'resumed');
    return written.code === 409 && attempts > 1
      ? this.suspend(effect, token, before, address, attempts - 1, read)
      : written.outcome;
  }

  private async moveWorkload(
    effect: Move,
    token: string,
    before: FleetTarget | null,
    address: WorkloadAddress,
    attempts = MOST_ATTEMPTS,
    revision = before?.revision ?? null,
  ): Promise<EffectOutcome> {
    const { kind, namespace, name } = address;
    const workload = await this.reader.workload(address);
    if (workload === null) return gone(effect.target);
    if (tokenOf(workload) === token) return taken('it was taken before, under the same token');
    const read = revisionOf(workload, await this.reader.scaler(address));
    if (revision !== null && revision !== read) return changed(effect.target);
    const body = workloadMove(effect, token, workload, await this.labels(), before?.zone ?? null);
    if ('kind' in body) return body;
    const { apps } = this.cluster;
    const written = await write<unknown>(`patch ${kind}s.apps ${namespace}/${name}`, () =>
      kind === 'deployment'
        ? apps.patchNamespacedDeployment({ namespace, name, body, fieldManager })
        : apps.patchNamespacedStatefulSet({ namespace, name, body, fieldManager }),
    );
    if (written.done) return taken(`its pods are replaced by pods in ${effect.zone ?? effect.region}`);
    return written.code === 409 && attempts > 1
      ? this.moveWorkload(effect, token, before, address, attempts - 1, read)
      : written.outcome;
  }

  /** One step of a move; asked again under its token, it takes the next. */
  private async moveJob(
    effect: Move,
    token: string,
    before: FleetTarget | null,
    address: JobAddress,
    attempts = MOST_ATTEMPTS,
    revision = before?.revision ?? null,
  ): Promise<EffectOutcome> {
    const { kind, namespace, name } = address;
    const job = await this.reader.job(address);
    if (job === null) return gone(effect.target);
    if (tokenOf(job) === token) return taken('it was taken before, under the same token');
    const read = revisionOfJob(job);
    // Its own first step has changed it.
    const isBegun = job.metadata?.annotations?.[MOVING] === token;
    if (!isBegun && revision !== null && revision !== read) return changed(effect.target);
    const step = jobMove(effect, token, kind, job, await this.reader.podsOfJob(address), await this.labels());
    if ('kind' in step) return step;
    if (step.step === 'wait') return halfMoved(effect.target);
    const { group, version, plural } = RESOURCES[kind];
    const where = { group, version, plural, namespace, name, fieldManager };
    const { objects } = this.cluster;
    if (step.step === 'clear') {
      const cleared = await write<unknown>(`patch ${resourceOf(kind)}/status ${namespace}/${name}`, () =>
        objects.patchNamespacedCustomObjectStatus({ ...where, body: { status: { startTime: null } } }),
      );
      if (!cleared.done) return cleared.outcome;
      return attempts > 1 ? this.moveJob(effect, token, null, address, attempts - 1, null) : halfMoved(effect.target);
    }
    const { body, becomes } = step;
    const written = await write<unknown>(`patch ${resourceOf(kind)} ${namespace}/${name}`, () =>
      objects.patchNamespacedCustomObject({ ...where, body }),
    );
    if (written.done && typeof becomes !== 'string') return becomes;
    if (written.done)
      return becomes === 'moved' ? taken(`resumed in ${effect.zone ?? effect.region}`) : halfMoved(effect.target);
    return written.code === 409 && attempts > 1
      ? this.moveJob(effect, token, before, address, attempts - 1, read)
      : written.outcome;
  }

  private async labels(): Promise<Labels[]> {
    return (await this.reader.nodes()).map(({ metadata }) => metadata?.labels ?? {});
  }

  private async patch(
    { kind, namespace, name }: WorkloadAddress,
    scaler: Autoscaler | null,
    { object, patch: body }: Change,
  ): Promise<Written<unknown>> {
    const { apps, autoscaling } = this.cluster;
    if (object === 'scaler') {
      const own = scaler?.metadata?.name ?? '';
      return write(`patch horizontalpodautoscalers.autoscaling ${namespace}/${own}`, () =>
        autoscaling.patchNamespacedHorizontalPodAutoscaler({ namespace, name: own, body, fieldManager }),
      );
    }
    return write<unknown>(`patch ${kind}s.apps ${namespace}/${name}`, () =>
      kind === 'deployment'
        ? apps.patchNamespacedDeployment({ namespace, name, body, fieldManager })
        : apps.patchNamespacedStatefulSet({ namespace, name, body, fieldManager }),
    );
  }

  private async onNode(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    name: string,
  ): Promise<EffectOutcome> {
    const node = await this.reader.node(name);
    if (node === null) return gone(effect.target);
    // A drain that was cut short goes on under its token.
    if (tokenOf(node) === token && effect.kind !== 'drain') return taken('it was taken before, under the same token');
    if (tokenOf(node) !== token && before !== null && before.revision !== null && before.revision !== revisionOf(node))
      return changed(effect.target);
    switch (effect.kind) {
      case 'cordon': {
        const written = await cordon(this.cluster, node, effect.cordoned, token, () => this.reader.node(name));
        return written.done ? taken(effect.cordoned ? 'cordoned' : 'open again') : written.outcome;
      }
      case 'drain':
        return drain(this.cluster, node, (await this.reader.podsOn(name)).filter(mustMove), token, () =>
          this.reader.node(name),
        );
      case 'replace':
      case 'terminate':
        return this.endNode(node, name);
      default:
        return refused('not-supported', `${effect.kind} of a machine is for its cloud's own connection`);
    }
  }

  private async endNode({ metadata }: V1Node, name: string): Promise<EffectOutcome> {
    if (metadata?.labels?.[KARPENTER] === undefined)
      return refused(
        'not-supported',
        "Karpenter has not made this node: its machine is ended by its cloud's own connection, after a drain",
      );
    const preconditions = { uid: metadata.uid };
    const written = await write(`delete nodes ${name}`, () =>
      this.cluster.core.deleteNode({ name, body: { preconditions } }),
    );
    return written.done ? taken('deleted: Karpenter drains it and ends its machine') : written.outcome;
  }

  private async onPod(
    effect: Effect,
    before: FleetTarget | null,
    address: Extract<Address, { kind: 'pod' }>,
  ): Promise<EffectOutcome> {
    const pod = await this.reader.pod(address);
    if (pod === null) return gone(effect.target);
    if (before !== null && before.revision !== null && before.revision !== revisionOf(pod))
      return changed(effect.target);
    const controller = controllerOf(pod);
    if (effect.kind === 'replace' && controller === null)
      return refused('no-controller', 'nothing would bring another pod');
    if (effect.kind === 'terminate' && controller !== null)
      return refused('would-return', `${controller.kind} ${controller.name} would bring another pod: scale it instead`);
    if (effect.kind !== 'replace' && effect.kind !== 'terminate')
      return refused('not-supported', `${effect.kind} is nothing that a pod can do`);
    return this.endPod(pod, address);
  }

  private async endPod(
    { metadata }: V1Pod,
    { namespace, name }: Extract<Address, { kind: 'pod' }>,
  ): Promise<EffectOutcome> {
    const written = await write(`delete pods ${namespace}/${name}`, () =>
      this.cluster.core.deleteNamespacedPod({ namespace, name, body: { preconditions: { uid: metadata?.uid } } }),
    );
    return written.done ? taken('deleted') : written.outcome;
  }

  private async podOutcome(effect: Effect, address: Extract<Address, { kind: 'pod' }>): Promise<EffectOutcome> {
    if (effect.kind !== 'replace' && effect.kind !== 'terminate') return { kind: 'absent' };
    const pod = await this.reader.pod(address);
    if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return taken('the pod is gone, or going');
    return address.uid === null
      ? { kind: 'unknown', detail: 'a pod of that name is there, and may be the next one' }
      : { kind: 'absent' };
  }

  private async nodeOutcome({ kind, target }: Effect, token: string, name: string): Promise<EffectOutcome> {
    const node = await this.reader.node(name);
    if (kind === 'replace' || kind === 'terminate')
      return node === null || node.metadata?.deletionTimestamp !== undefined
        ? taken('the node is gone, or going')
        : { kind: 'absent' };
    if (node === null) return gone(target);
    if (tokenOf(node) !== token) return { kind: 'absent' };
    if (kind !== 'drain') return taken('the target carries the token');
    // It may be asked for again: that evicts what is left and repeats nothing.
    return (await this.reader.podsOn(name)).some(mustMove) ? { kind: 'absent' } : taken('the node is drained');
  }
}
