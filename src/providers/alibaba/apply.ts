/**
 * Effects on ECS instances and scaling groups, and the request for each.
 *
 * Every request is sent once. If the API has a ClientToken (deleting, resizing, removing from a group) the action's
 * token is sent as the ClientToken, so that sending again changes nothing more; the other requests state the desired
 * state, not the difference. The invariant: a stop asks for the economical mode, never for one in which the machine is
 * billed on. outcomeOf in ../rpc.ts determines the outcome. Sources: ECS API Reference (2014-05-26), "StopInstance",
 * "StartInstance", "DeleteInstances", "ModifyInstanceSpec" and "How to ensure idempotence"; Auto Scaling API Reference
 * (2022-02-22), "ModifyScalingGroup" and "RemoveInstances".
 */
import { z } from 'zod';
import { denied, invalid } from '../../core/errors.js';
import type { Effect, EffectKind } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import { acting, parseTarget, refused, type RpcTarget, type Sent } from '../rpc.js';
import { permissionOf, type AlibabaClient, type Params, type Service } from './client.js';
import { CLOUD } from './types.js';

/** ClientToken: ASCII, at most 64 characters. */
const TOKEN = /^[\x21-\x7e]{1,64}$/;

export const EFFECT_PERMISSIONS: Readonly<Partial<Record<EffectKind, readonly string[]>>> = {
  stop: ['ecs:StopInstance'],
  start: ['ecs:StartInstance'],
  terminate: ['ecs:DeleteInstances'],
  scale: ['ess:ModifyScalingGroup'],
  'set-bounds': ['ess:ModifyScalingGroup'],
  'set-spot-ratio': ['ess:ModifyScalingGroup'],
  replace: ['ess:RemoveInstances'],
  resize: ['ecs:ModifyInstanceSpec'],
};

interface Request {
  readonly service: Service;
  readonly action: string;
  readonly params: Params;
  readonly detail: string;
}

/** The request for an effect; null: this cloud does not support it. */
function requestFor(effect: Effect, { kind, region, id }: RpcTarget, token: string): Request | null {
  return kind === 'instance' ? instanceRequest(effect, region, id, token) : groupRequest(effect, region, id);
}

function instanceRequest(effect: Effect, region: string, id: string, token: string): Request | null {
  const ecs = (action: string, params: Params, detail: string): Request => ({ service: 'ecs', action, params, detail });
  switch (effect.kind) {
    case 'stop':
      return ecs(
        'StopInstance',
        { InstanceId: id, StoppedMode: 'StopCharging', ForceStop: false },
        'stopping in economical mode',
      );
    case 'start':
      return ecs('StartInstance', { InstanceId: id }, 'starting');
    case 'terminate':
      // A running instance is shut down properly first (ForceStop), and only then released.
      return ecs(
        'DeleteInstances',
        { RegionId: region, InstanceId: [id], Force: true, ForceStop: false, ClientToken: token },
        'releasing',
      );
    case 'resize':
      return ecs(
        'ModifyInstanceSpec',
        { InstanceId: id, InstanceType: effect.sku, ClientToken: token },
        `changing to ${effect.sku}`,
      );
    case 'replace': {
      const group = effect.group === null ? null : (parseTarget(effect.group)?.id ?? effect.group);
      if (group === null) return null;
      const params: Params = {
        RegionId: region,
        ScalingGroupId: group,
        InstanceIds: [id],
        RemovePolicy: 'release',
        DecreaseDesiredCapacity: false,
        ClientToken: token,
      };
      return {
        service: 'ess',
        action: 'RemoveInstances',
        params,
        detail: `released from ${group}, which brings another`,
      };
    }
    default:
      return null;
  }
}

function groupRequest(effect: Effect, region: string, id: string): Request | null {
  const modify = (params: Params, detail: string): Request => ({
    service: 'ess',
    action: 'ModifyScalingGroup',
    params: { RegionId: region, ScalingGroupId: id, ...params },
    detail,
  });
  switch (effect.kind) {
    case 'scale':
      return modify({ DesiredCapacity: effect.replicas }, `desired capacity ${effect.replicas}`);
    case 'set-bounds':
      return modify({ MinSize: effect.min, MaxSize: effect.max }, `from ${effect.min} to ${effect.max} instances`);
    case 'set-spot-ratio': {
      // The one number: what else there is to set for spot is the group's own, and would stay behind.
      const onDemand = Math.round(100 * (1 - effect.spotRatio));
      return modify(
        { OnDemandPercentageAboveBaseCapacity: onDemand },
        `${onDemand} % pay-as-you-go above the base capacity`,
      );
    }
    default:
      return null;
  }
}

const ANSWER = z.object({ RequestId: z.string().optional() });

/**
 * Asks for an effect, once per token.
 * @returns taken, refused with Alibaba Cloud's code (or `unsupported`), or unknown if the answer was lost
 * @throws Failure denied without credentials or permission, unavailable if nothing was sent, invalid for a wrong target
 * or token
 */
export async function applyEffect(
  client: AlibabaClient,
  sent: Sent,
  effect: Effect,
  token: string,
  now: number,
): Promise<EffectOutcome> {
  if (client.settings.act === null)
    throw denied(
      'there are no Alibaba Cloud credentials for acting (BURSAR_ALIBABA_ACT_ACCESS_KEY_ID): the connection is read-only',
    );
  const target = parseTarget(effect.target);
  if (target === null) throw invalid(`${effect.target} names no instance or scaling group of Alibaba Cloud`);
  if (!TOKEN.test(token)) throw invalid('a token of Alibaba Cloud has 1 to 64 printable characters');
  const request = requestFor(effect, target, token);
  if (request === null) return refused('unsupported', `Alibaba Cloud has no ${effect.kind} for ${effect.target}`);
  const { service, action, params, detail } = request;
  return sent.applyOnce(token, now, () =>
    acting(CLOUD, permissionOf(service, action), detail, async () => {
      const answer = ANSWER.safeParse(await client.call(service, action, target.region, params, 'act'));
      return answer.data?.RequestId ?? null;
    }),
  );
}
