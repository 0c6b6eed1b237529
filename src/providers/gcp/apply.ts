/**
 * Effects on instances and managed instance groups, each sent once, and their outcomes.
 *
 * Every request carries the action's token as its `requestId`: the server ignores a second request of the same id, and
 * its operation keeps the id, so that after a lost answer the operation itself is queried. A request that found no
 * capacity is sent again under another id, which follows from the token and the number of attempts. The invariant: an
 * effect that is returned as refused, or throws, has changed nothing; an effect that may have arrived is `unknown`
 * until the operation or the target's own state shows it. Sources: compute v1, the methods of instances,
 * instanceGroupManagers and autoscalers (requestId, discardLocalSsd), zoneOperations.list (clientOperationId) and wait.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../core/time.js';
import { denied } from '../../core/errors.js';
import { holds, type Effect, type EffectKind, type FleetTarget } from '../../core/fleet/fleet.js';
import { groupOf } from '../../core/fleet/membership.js';
import type { EffectOutcome } from '../../core/ports.js';
import { CallError, acting, noCapacity, refused, Sent } from '../rpc.js';
import { CLOUD, isFull, type Args } from './client.js';
import { readTarget } from './fleet.js';
import { findGroup, placeOf, type GroupReader } from './groups.js';
import { findInstance } from './instances.js';
import { OPERATIONS, type Operation, type Receipt } from './operations.js';
import { lastOf, parseTarget, type GcpTarget } from './targets.js';

const { stop, start, resume, setMachineType, zone, region } = OPERATIONS;
/** The outcome of an effect is queried with the credentials for reading. */
export const RECEIPT_PERMISSIONS: readonly string[] = [zone, region].flatMap(({ operations, wait }) => [
  operations.permission,
  wait.permission,
]);

export const EFFECT_PERMISSIONS: Readonly<Partial<Record<EffectKind, readonly string[]>>> = {
  stop: [stop.permission],
  start: [start.permission, resume.permission],
  terminate: [OPERATIONS.delete.permission],
  scale: [zone.resize.permission],
  'set-bounds': [zone.patchAutoscaler.permission],
  replace: [zone.recreate.permission],
  resize: [setMachineType.permission],
};

interface Request {
  readonly operation: Operation;
  readonly args: Args;
  readonly detail: string;
  /** Whether its operation is soon over and says then whether it came to anything. */
  readonly waits?: true;
}

const isOutcome = (value: Request | EffectOutcome): value is EffectOutcome => 'kind' in value;

/** A token as the UUID that `requestId` has to be: the one that stands in it, or one that is made of it. */
export function requestIdOf(token: string): string {
  const own = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.exec(token)?.[0];
  if (own !== undefined) return own;
  const hex = createHash('sha256').update(token).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export class Effects {
  private readonly sent: Sent;
  /** Attempts by token that found no capacity. */
  private readonly attempts = new Map<string, number>();

  constructor(
    private readonly reader: GroupReader,
    private readonly clock: Clock,
  ) {
    this.sent = new Sent(clock.now());
  }

  /** As ProviderConnection.apply says. @throws Failure */
  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    const { client } = this.reader;
    if (client.settings.act === null)
      throw denied(
        'there are no Google Cloud credentials for acting (BURSAR_GCP_ACT_CREDENTIALS): the connection is read-only',
      );
    const target = parseTarget(effect.target);
    if (target === null || !client.settings.projects.includes(target.project))
      return refused('unknown-target', `${effect.target} names no instance or group of this connection's projects`);
    const seen = before ?? (await readTarget(this.reader, effect.target));
    if (seen === null) return refused('not-found', `${effect.target} is not there`);
    const request =
      target.kind === 'instance' ? await this.onInstance(effect, target, seen) : await this.onGroup(effect, target);
    if (isOutcome(request)) return request;
    const outcome = await this.sent.applyOnce(token, this.clock.now(), () => this.send(request, target, token));
    return outcome;
  }

  /** As ProviderConnection.outcome says. @throws Failure if Google cannot be asked */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    const answered = this.sent.answered(token);
    if (answered !== undefined) return answered;
    const target = parseTarget(effect.target);
    if (target === null) return { kind: 'absent' };
    const receipt = await this.receiptOf(target, this.requestIdFor(token));
    // It has surely changed nothing, and may be sent again.
    if (receipt !== null && fullCode(receipt) !== null) return { kind: 'absent' };
    if (receipt !== null) return outcomeOf(receipt, 'its operation is there');
    const seen = await readTarget(this.reader, effect.target);
    return holds(effect, seen) === true
      ? { kind: 'taken', reference: null, detail: 'the target shows the effect' }
      : this.sent.unseen(token, this.clock.now());
  }

  private async onInstance(
    effect: Effect,
    { project, place, id }: GcpTarget,
    seen: FleetTarget,
  ): Promise<Request | EffectOutcome> {
    const path = { project, zone: place, instance: id };
    switch (effect.kind) {
      case 'stop':
        // Without the word a machine with local disks is not stopped at all; the loss of their data was stated before.
        return {
          operation: stop,
          args: { path, ...(seen.localDisks === true ? { query: { discardLocalSsd: true } } : {}) },
          detail: `stopping ${seen.name}`,
        };
      case 'start': {
        const now = await findInstance(this.reader.client, project, place, id);
        const operation = now?.status === 'SUSPENDED' ? resume : start;
        return { operation, args: { path }, detail: `starting ${seen.name}`, waits: true };
      }
      case 'terminate':
        return { operation: OPERATIONS.delete, args: { path }, detail: `deleting ${seen.name}` };
      case 'resize':
        return resizeOf(effect.sku, path, seen);
      case 'replace':
        return replaceOf(seen, place);
      default:
        return refused('unsupported', `${effect.kind} does not apply to an instance`);
    }
  }

  private async onGroup(effect: Effect, { project, place, id }: GcpTarget): Promise<Request | EffectOutcome> {
    const { kind, path } = placeOf(place);
    switch (effect.kind) {
      case 'scale':
        return {
          operation: kind.resize,
          args: { path: { project, ...path, instanceGroupManager: id }, query: { size: effect.replicas } },
          detail: `${id} is to have ${effect.replicas}`,
          waits: true,
        };
      case 'set-bounds': {
        const autoscaler = (await findGroup(this.reader.client, project, place, id))?.status?.autoscaler ?? '';
        if (autoscaler === '') return refused('no-autoscaler', `${id} has no autoscaler, and so no bounds`);
        return {
          operation: kind.patchAutoscaler,
          args: {
            path: { project, ...path },
            query: { autoscaler: lastOf(autoscaler) },
            body: { autoscalingPolicy: { minNumReplicas: effect.min, maxNumReplicas: effect.max } },
          },
          detail: `${id} keeps between ${effect.min} and ${effect.max}`,
          waits: true,
        };
      }
      default:
        return refused('unsupported', `${effect.kind} does not apply to a managed instance group`);
    }
  }

  private async send(
    { operation, args, detail, waits }: Request,
    target: GcpTarget,
    token: string,
  ): Promise<EffectOutcome> {
    const { client } = this.reader;
    const requestId = this.requestIdFor(token);
    const outcome = await acting(CLOUD, operation.permission, detail, async () => {
      const query = { ...args.query, requestId };
      const reply = operation.reply.safeParse(await client.call(operation, { ...args, query }, 'act'));
      return reply.success ? ((reply.data as Receipt).name ?? null) : null;
    });
    if (outcome.kind !== 'taken' || waits !== true || outcome.reference === null) return outcome;
    const receipt = await this.waited(target, outcome.reference);
    const full = receipt === null ? null : fullCode(receipt);
    if (full !== null) {
      this.attempts.set(token, (this.attempts.get(token) ?? 0) + 1);
      throw noCapacity(CLOUD, operation.permission, full);
    }
    return receipt === null ? outcome : outcomeOf({ ...receipt, name: outcome.reference }, detail);
  }

  /** The server ignores a second request of one id, also where the first has failed. */
  private requestIdFor(token: string): string {
    const attempt = this.attempts.get(token) ?? 0;
    return requestIdOf(attempt === 0 ? token : `${token} again ${attempt}`);
  }

  /** The operation, once it or the wait is over; null: unknown. */
  private async waited({ project, place }: GcpTarget, operation: string): Promise<Receipt | null> {
    const { kind, path } = placeOf(place);
    try {
      const reply = await this.reader.client.call(kind.wait, { path: { project, ...path, operation } }, 'read');
      return kind.wait.reply.safeParse(reply).data ?? null;
    } catch (error) {
      if (error instanceof CallError) return null;
      throw error;
    }
  }

  /** The operation that was made under an id; null: none shows. @throws Failure */
  private async receiptOf({ project, place }: GcpTarget, id: string): Promise<Receipt | null> {
    const { kind, path } = placeOf(place);
    const page = await this.reader.client.read(kind.operations, {
      path: { project, ...path },
      query: { filter: `clientOperationId = "${id}"`, maxResults: 500 },
    });
    return page.items?.find(({ clientOperationId }) => clientOperationId === id) ?? null;
  }
}

/** The code by which an operation says that there was no capacity; null: it does not. */
const fullCode = ({ error }: Receipt): string | null =>
  (error?.errors ?? []).map(({ code }) => code ?? '').find(isFull) ?? null;

/** The outcome of an operation: finished with an error, the effect was not applied; anything else was accepted. */
function outcomeOf({ name, error }: Receipt, detail: string): EffectOutcome {
  const [first] = error?.errors ?? [];
  return first === undefined
    ? { kind: 'taken', reference: name ?? null, detail }
    : { kind: 'refused', code: first.code ?? 'failed', detail: (first.message ?? '').slice(0, MOST_CHARACTERS) };
}

const MOST_CHARACTERS = 300;

/** A type with cards attached keeps its cards: what changes is the type before them. */
function resizeOf(
  sku: string,
  path: Readonly<Record<'project' | 'zone' | 'instance', string>>,
  seen: FleetTarget,
): Request | EffectOutcome {
  if (seen.state !== 'stopped')
    return refused('not-stopped', `${seen.name} is ${seen.state}: its type can be changed only while it is stopped`);
  const [type = '', cards] = sku.split('+');
  const [, own] = (seen.sku ?? '').split('+');
  if (cards !== own)
    return refused('other-cards', `${seen.name} keeps the cards that are attached to it: ${own ?? 'none'}`);
  return {
    operation: setMachineType,
    args: { path, body: { machineType: `zones/${path.zone}/machineTypes/${type}` } },
    detail: `changing ${seen.name} to ${type}`,
    waits: true,
  };
}

/** A member is made again by its group, under its old name and a new number; a machine of no group by nobody. */
function replaceOf(seen: FleetTarget, zoneOf: string): Request | EffectOutcome {
  const group = parseTarget(groupOf(seen) ?? '');
  if (group === null || group.kind !== 'mig')
    return refused('no-group', `${seen.name} is of no managed instance group: nothing would bring another`);
  const { kind, path } = placeOf(group.place);
  return {
    operation: kind.recreate,
    args: {
      path: { project: group.project, ...path, instanceGroupManager: group.id },
      body: { instances: [`zones/${zoneOf}/instances/${seen.name}`] },
    },
    detail: `${group.id} makes ${seen.name} anew`,
  };
}
