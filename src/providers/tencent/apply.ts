/**
 * Effects on CVM instances and auto scaling groups: what is sent for each.
 *
 * Every request goes out once. None of these APIs has a token of idempotency: each request states what is wanted, not
 * what changes, so that sending it again changes nothing more. The invariant: a stop asks for no charges when shut
 * down, never for a stop in which the machine is billed on. How an outcome is decided: outcomeOf in ../rpc.ts.
 * Sources: CVM API Reference (2017-03-12), "StopInstances", "StartInstances", "TerminateInstances",
 * "ResetInstancesType"; Auto Scaling API Reference (2018-04-19), "ModifyAutoScalingGroup"; Auto Scaling, "Maintaining
 * the expected number of instances".
 */
import { z } from 'zod';
import { denied, invalid } from '../../core/errors.js';
import type { Effect, EffectKind } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import { acting, parseTarget, refused, type RpcTarget, type Sent } from '../rpc.js';
import { CLOUD, permissionOf, type Params, type Service, type TencentClient } from './client.js';
import { GROUPS_PERMISSION, readGroup, type Group } from './groups.js';

export const EFFECT_PERMISSIONS: Readonly<Partial<Record<EffectKind, readonly string[]>>> = {
  stop: ['cvm:StopInstances'],
  start: ['cvm:StartInstances'],
  terminate: ['cvm:TerminateInstances'],
  scale: ['as:ModifyAutoScalingGroup'],
  'set-bounds': ['as:ModifyAutoScalingGroup'],
  'set-spot-ratio': ['as:ModifyAutoScalingGroup', GROUPS_PERMISSION],
  replace: ['cvm:TerminateInstances'],
  resize: ['cvm:ResetInstancesType'],
};

interface Request {
  readonly service: Service;
  readonly action: string;
  readonly params: Params;
  readonly detail: string;
}

function instanceRequest(effect: Effect, id: string): Request | null {
  const cvm = (action: string, params: Params, detail: string): Request => ({
    service: 'cvm',
    action,
    params: { InstanceIds: [id], ...params },
    detail,
  });
  switch (effect.kind) {
    case 'stop':
      // A system that does not shut down by itself is switched off: else it would be billed on.
      return cvm(
        'StopInstances',
        { StopType: 'SOFT_FIRST', StoppedMode: 'STOP_CHARGING' },
        'stopping without charges when shut down',
      );
    case 'start':
      return cvm('StartInstances', {}, 'starting');
    case 'terminate':
      return cvm('TerminateInstances', {}, 'terminating');
    case 'resize':
      return cvm('ResetInstancesType', { InstanceType: effect.sku, ForceStop: false }, `changing to ${effect.sku}`);
    case 'replace':
      // Removing it from the group would lower the desired capacity; terminated, it is missed and replaced.
      return effect.group === null ? null : cvm('TerminateInstances', {}, 'terminating; its group brings another');
    default:
      return null;
  }
}

/** @param group as it is now: its other spot settings would fall back to their defaults */
function groupRequest(effect: Effect, id: string, group: Group | null): Request | null {
  const modify = (params: Params, detail: string): Request => ({
    service: 'as',
    action: 'ModifyAutoScalingGroup',
    params: { AutoScalingGroupId: id, ...params },
    detail,
  });
  switch (effect.kind) {
    case 'scale':
      return modify({ DesiredCapacity: effect.replicas }, `desired capacity ${effect.replicas}`);
    case 'set-bounds':
      return modify({ MinSize: effect.min, MaxSize: effect.max }, `from ${effect.min} to ${effect.max} instances`);
    case 'set-spot-ratio': {
      const onDemand = Math.round(100 * (1 - effect.spotRatio));
      const kept = Object.entries(group?.SpotMixedAllocationPolicy ?? {}).filter(
        ([, value]) => value !== null && value !== undefined,
      );
      const SpotMixedAllocationPolicy = { ...Object.fromEntries(kept), OnDemandPercentageAboveBaseCapacity: onDemand };
      return modify(
        { InstanceAllocationPolicy: 'SPOT_MIXED', SpotMixedAllocationPolicy },
        `${onDemand} % pay-as-you-go above the base capacity`,
      );
    }
    default:
      return null;
  }
}

async function requestFor(
  client: TencentClient,
  effect: Effect,
  { kind, region, id }: RpcTarget,
): Promise<Request | null> {
  if (kind === 'instance') return instanceRequest(effect, id);
  return groupRequest(effect, id, effect.kind === 'set-spot-ratio' ? await readGroup(client, region, id) : null);
}

const ANSWER = z.object({ RequestId: z.string().optional() });

/**
 * Asks for an effect, once per token.
 * @returns taken, refused with Tencent Cloud's code (or `unsupported`), or unknown if the answer was lost
 * @throws Failure denied without credentials or permission, unavailable if nothing was sent, invalid for a wrong target
 */
export async function applyEffect(
  client: TencentClient,
  sent: Sent,
  effect: Effect,
  token: string,
  now: number,
): Promise<EffectOutcome> {
  if (client.settings.act === null)
    throw denied(
      'there are no Tencent Cloud credentials for acting (BURSAR_TENCENT_ACT_SECRET_ID): the connection is read-only',
    );
  const target = parseTarget(effect.target);
  if (target === null) throw invalid(`${effect.target} names no instance or auto scaling group of Tencent Cloud`);
  const request = await requestFor(client, effect, target);
  if (request === null) return refused('unsupported', `Tencent Cloud has no ${effect.kind} for ${effect.target}`);
  const { service, action, params, detail } = request;
  return sent.applyOnce(token, now, () =>
    acting(CLOUD, permissionOf(service, action), detail, async () => {
      const answer = ANSWER.safeParse(await client.call(service, action, target.region, params, 'act'));
      return answer.data?.RequestId ?? null;
    }),
  );
}
