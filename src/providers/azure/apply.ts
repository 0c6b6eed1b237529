/**
 * Effects on virtual machines and scale sets, and the request for each.
 *
 * Every request is sent once, and states the desired state, not the difference: sent again it changes nothing more. The
 * invariant: a stop deallocates. `powerOff` would keep the host and its charges. No header makes a request idempotent:
 * after a lost answer the target's own state shows the outcome (outcomeOf in ../rpc.ts), and a stopped machine that
 * keeps its host does not prove a stop. A set has no `stop`, and its instances only change through it
 * (core/fleet/membership). Sources: Compute REST API, "Virtual Machines - Deallocate", "- Start", "- Delete", "-
 * Update" and "Virtual Machine Scale Sets - Update"; "Allocation failures" (AllocationFailed, ZonalAllocationFailed,
 * SkuNotAvailable).
 */
import { denied, invalid } from '../../core/errors.js';
import type { Effect, EffectKind, FleetTarget } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import { acting, noCapacity, outcomeOf, refused, type Sent } from '../rpc.js';
import { CLOUD, isFull, type AzureClient, type Failed, type Values } from './client.js';
import { NO_DEALLOCATION } from './machines.js';
import { OPERATIONS, PROGRESS_PERMISSION, type Operation, type ScaleSet } from './operations.js';
import { parseTarget, type AzureTarget } from './targets.js';

const { deallocate, start, remove, resize, changeScaleSet, scaleSet } = OPERATIONS;

export const EFFECT_PERMISSIONS: Readonly<Partial<Record<EffectKind, readonly string[]>>> = {
  stop: [deallocate.permission],
  start: [start.permission, PROGRESS_PERMISSION],
  terminate: [remove.permission],
  scale: [changeScaleSet.permission, scaleSet.permission, PROGRESS_PERMISSION],
  'set-spot-ratio': [changeScaleSet.permission, scaleSet.permission],
  resize: [resize.permission, PROGRESS_PERMISSION],
};

interface Request {
  readonly operation: Operation;
  readonly values: Values;
  readonly body: unknown;
  readonly detail: string;
  /** Whether Azure says only after it was accepted that it has no such machine. */
  readonly follows: boolean;
}

function machineRequest(effect: Effect, { name, values }: AzureTarget): Request | null {
  const request = (operation: Operation, detail: string, body: unknown = null, follows = false): Request => ({
    operation,
    values,
    body,
    detail,
    follows,
  });
  switch (effect.kind) {
    case 'stop':
      return request(deallocate, `${name} is being deallocated`);
    case 'start':
      return request(start, `${name} is starting`, null, true);
    case 'terminate':
      return request(remove, `${name} is being deleted`);
    case 'resize':
      return request(
        resize,
        `${name} is to be ${effect.sku}`,
        { properties: { hardwareProfile: { vmSize: effect.sku } } },
        true,
      );
    default:
      return null;
  }
}

/** @param set as it is now: its size and the base of its mix go out again as they are */
function setRequest(effect: Effect, { name, values }: AzureTarget, set: ScaleSet): Request | EffectOutcome | null {
  const change = (body: unknown, detail: string, follows: boolean): Request => ({
    operation: changeScaleSet,
    values,
    body,
    detail,
    follows,
  });
  if (effect.kind === 'scale') {
    const { name: size, tier } = set.sku ?? {};
    if (typeof size !== 'string') return refused('no-size', `${name} has no size of its own: nothing can be brought`);
    const sku = { name: size, ...(typeof tier === 'string' ? { tier } : {}), capacity: effect.replicas };
    return change({ sku }, `${name} is to have ${effect.replicas}`, true);
  }
  if (effect.kind === 'set-spot-ratio') {
    const mix = set.properties?.priorityMixPolicy ?? null;
    if (mix === null)
      return refused('no-priority-mix', `${name} has no priority mix policy: it brings machines of one priority`);
    const regular = 100 - Math.round(effect.spotRatio * 100);
    const priorityMixPolicy = {
      baseRegularPriorityCount: mix.baseRegularPriorityCount ?? 0,
      regularPriorityPercentageAboveBase: regular,
    };
    return change({ properties: { priorityMixPolicy } }, `${name} brings ${regular} % regular machines`, false);
  }
  return null;
}

async function requestFor(
  client: AzureClient,
  effect: Effect,
  target: AzureTarget,
  before: FleetTarget | null,
): Promise<Request | EffectOutcome | null> {
  if (target.kind === 'set') {
    const set = await client.find(scaleSet, target.values);
    return set === null ? refused('not-found', `${target.name} is not there`) : setRequest(effect, target, set);
  }
  if (target.kind === 'member')
    return refused(
      'group-member',
      `${target.name} is an instance of a scale set: the set is changed, not the instance`,
    );
  if (effect.kind === 'stop' && before?.ruledOut?.stop !== undefined)
    return refused('not-deallocated', `${target.name}: ${NO_DEALLOCATION}`);
  if (effect.kind === 'resize' && before !== null && before.billing !== 'partly')
    return refused('not-deallocated', `${target.name} is not deallocated: Azure would restart it to change its size`);
  return machineRequest(effect, target);
}

/**
 * Asks for an effect, once per token.
 * @returns taken, refused with Azure's code (or `unsupported`), or unknown if the answer was lost
 * @throws Failure denied without credentials or permission, unavailable if nothing was sent, invalid for a wrong target
 */
export async function applyEffect(
  client: AzureClient,
  sent: Sent,
  effect: Effect,
  token: string,
  before: FleetTarget | null,
  now: number,
): Promise<EffectOutcome> {
  if (client.settings.act === null)
    throw denied('there is no Azure identity for acting (BURSAR_AZURE_ACT_CLIENT_ID): the connection is read-only');
  const target = parseTarget(effect.target);
  if (target === null) throw invalid(`${effect.target} names no virtual machine or scale set of Azure`);
  const request = await requestFor(client, effect, target, before);
  if (request === null) return refused('unsupported', `${CLOUD} has no ${effect.kind} for ${effect.target}`);
  if ('kind' in request) return request;
  const { operation, values, body, detail, follows } = request;
  return sent.applyOnce(token, now, async () => {
    let failed: Failed | null = null;
    const outcome = await acting(CLOUD, operation.permission, detail, async () => {
      const answer = await client.act(operation, values, body, follows);
      failed = answer.failed;
      return answer.reference;
    });
    return failedOutcome(failed, operation.permission) ?? outcome;
  });
}

/**
 * What was accepted and failed after that has changed nothing that lasts: the machine or the set is as it was.
 * @throws Failure unavailable if Azure had no machine: it may have one later
 */
function failedOutcome(failed: Failed | null, permission: string): EffectOutcome | null {
  if (failed !== null && isFull(failed.code)) throw noCapacity(CLOUD, permission, failed.code);
  return failed === null ? null : refused(failed.code, failed.detail);
}

/** The outcome of an effect, from its target. @throws Failure if the target cannot be read */
export function effectOutcome(
  read: (target: string) => Promise<FleetTarget | null>,
  sent: Sent,
  effect: Effect,
  token: string,
  now: () => number,
): Promise<EffectOutcome> {
  const readAs = async (target: string): Promise<FleetTarget | null> => {
    const seen = await read(target);
    const keepsItsHost = effect.kind === 'stop' && seen?.state === 'stopped' && seen.billing === 'billed';
    return seen !== null && keepsItsHost ? { ...seen, state: 'running' } : seen;
  };
  return outcomeOf(readAs, sent, effect, token, now);
}
