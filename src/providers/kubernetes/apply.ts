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

/** A target as it was read, with the write that an effect is for it. */
interface Found {
  /** Of the effects that it carries. */
  readonly tokens: readonly (string | undefined)[];
  /** Null: not known. */
  readonly revision: string | null;
  /** An earlier step of the same effect has changed it: another revision is no surprise. */
  readonly isBegun?: boolean;
  write(): Promise<Attempt>;
}

/** The outcome of a write, and whether it may succeed if the target is read again. */
interface Attempt {
  readonly outcome: EffectOutcome;
  readonly again: boolean;
}

const ended = (outcome: EffectOutcome): Attempt => ({ outcome, again: false });
const attempted = (written: Written<unknown>, outcome: EffectOutcome): Attempt =>
  written.done ? ended(outcome) : { outcome: written.outcome, again: written.code === 409 };

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
        return this.changeWorkload(effect, token, before, address);
      case 'node':
        return this.onNode(effect, token, before, address.name);
      case 'pod':
        return this.onPod(effect, before, address);
      case 'job':
      case 'rayjob':
      case 'pytorchjob':
        return this.changeJob(effect, token, before, address);
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
   * Reads, and writes once. A write is refused where the object has changed at all since it was read, its status too.
   * Where only that has moved it is read again and written again: what was refused has surely changed nothing.
   */
  private async once(
    target: string,
    token: string,
    expected: string | null,
    find: () => Promise<Found | null>,
    attempts = MOST_ATTEMPTS,
  ): Promise<EffectOutcome> {
    const found = await find();
    if (found === null) return gone(target);
    // Of two writes under one token the first may have arrived after all: it is searched before anything else.
    if (found.tokens.includes(token)) return taken('it was taken before, under the same token');
    if (found.isBegun !== true && expected !== null && expected !== found.revision) return changed(target);
    const { outcome, again } = await found.write();
    return again && attempts > 1 ? this.once(target, token, found.revision, find, attempts - 1) : outcome;
  }

  private changeWorkload(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    address: WorkloadAddress,
  ): Promise<EffectOutcome> {
    return this.once(effect.target, token, before?.revision ?? null, async () => {
      const workload = await this.reader.workload(address);
      if (workload === null) return null;
      const scaler = await this.reader.scaler(address);
      return {
        tokens: [tokenOf(workload), tokenOf(scaler)],
        revision: revisionOf(workload, scaler),
        write: async () => {
          const change =
            effect.kind === 'move'
              ? workloadMove(effect, token, workload, await this.labels(), before?.zone ?? null)
              : changeOf(effect, token, workload, scaler);
          return 'kind' in change
            ? ended(change)
            : attempted(await this.patch(address, scaler, change), taken(change.detail));
        },
      };
    });
  }

  private changeJob(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    address: JobAddress,
  ): Promise<EffectOutcome> {
    return this.once(effect.target, token, before?.revision ?? null, async () => {
      const job = await this.reader.job(address);
      if (job === null) return null;
      return {
        tokens: [tokenOf(job)],
        revision: revisionOfJob(job),
        isBegun: effect.kind === 'move' && job.metadata?.annotations?.[MOVING] === token,
        write: () =>
          effect.kind === 'move'
            ? this.moveJob(effect, token, address, job)
            : this.suspend(effect, token, address, job),
      };
    });
  }

  /** A job is suspended or resumed by one patch that carries the token. */
  private async suspend(effect: Effect, token: string, address: JobAddress, job: JobObject): Promise<Attempt> {
    const body = jobPatch(effect, token, address.kind, job);
    if ('kind' in body) return ended(body);
    return attempted(await this.patchJob(address, body), taken(effect.kind === 'stop' ? 'suspended' : 'resumed'));
  }

  /** One step of a move; asked again under its token, it takes the next. */
  private async moveJob(effect: Move, token: string, address: JobAddress, job: JobObject): Promise<Attempt> {
    const half = halfMoved(effect.target);
    const step = jobMove(effect, token, address.kind, job, await this.reader.podsOfJob(address), await this.labels());
    if ('kind' in step) return ended(step);
    if (step.step === 'wait') return ended(half);
    if (step.step === 'patch') {
      const { body, becomes } = step;
      const then = { half, moved: taken(`resumed in ${effect.zone ?? effect.region}`) };
      return attempted(await this.patchJob(address, body), typeof becomes === 'string' ? then[becomes] : becomes);
    }
    const cleared = await this.patchJob(address, { status: { startTime: null } }, '/status');
    return cleared.done ? { outcome: half, again: true } : ended(cleared.outcome);
  }

  private patchJob(
    { kind, namespace, name }: JobAddress,
    body: object,
    part: '' | '/status' = '',
  ): Promise<Written<unknown>> {
    const { group, version, plural } = RESOURCES[kind];
    const asked = { group, version, plural, namespace, name, body, fieldManager };
    const { objects } = this.cluster;
    return write<unknown>(`patch ${resourceOf(kind)}${part} ${namespace}/${name}`, () =>
      part === '' ? objects.patchNamespacedCustomObject(asked) : objects.patchNamespacedCustomObjectStatus(asked),
    );
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
