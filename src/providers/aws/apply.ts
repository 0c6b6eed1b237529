/**
 * Effects on instances and groups, each sent once, and their outcomes.
 *
 * Never repeats a request. The invariant: an effect that is returned as refused, or throws, has changed nothing; an
 * effect that may have arrived is `unknown` until AWS' own state shows it. EC2 and Auto Scaling take no token for these
 * effects: they are absolute, and the resulting state is their receipt.
 */
import type { Clock } from '../../core/time.js';
import {
  SetDesiredCapacityCommand,
  TerminateInstanceInAutoScalingGroupCommand,
  UpdateAutoScalingGroupCommand,
  type LaunchTemplateSpecification,
  type MixedInstancesPolicy,
} from '@aws-sdk/client-auto-scaling';
import {
  ModifyInstanceAttributeCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { denied } from '../../core/errors.js';
import { holds, type Effect, type EffectKind, type FleetTarget } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import type { Clients } from './clients.js';
import type { Commitments } from './commitments.js';
import { acting, refused } from './failures.js';
import { readTarget } from './fleet.js';
import type { InstanceTypes } from './gpus.js';
import { readGroups } from './groups.js';
import { purchase, purchaseOutcome, PURCHASE_PERMISSIONS } from './purchase.js';
import { endedAgain, hasEnded, REPLACE_PERMISSIONS, startAnother, successorOf } from './replace.js';
import { GROUP_TAG, parseTarget } from './targets.js';

const STOP = 'ec2:StopInstances';
const START = 'ec2:StartInstances';
const TERMINATE = 'ec2:TerminateInstances';
const TERMINATE_MEMBER = 'autoscaling:TerminateInstanceInAutoScalingGroup';
const SET_CAPACITY = 'autoscaling:SetDesiredCapacity';
const UPDATE_GROUP = 'autoscaling:UpdateAutoScalingGroup';
const MODIFY = 'ec2:ModifyInstanceAttribute';

export const EFFECT_PERMISSIONS: Readonly<Partial<Record<EffectKind, readonly string[]>>> = {
  stop: [STOP],
  start: [START],
  terminate: [TERMINATE],
  scale: [SET_CAPACITY],
  'set-bounds': [UPDATE_GROUP],
  // Auto Scaling checks for itself that the caller may launch from the template, and may pass on its instance profile.
  'set-spot-ratio': [UPDATE_GROUP, 'ec2:RunInstances', 'iam:PassRole'],
  replace: [TERMINATE_MEMBER, ...REPLACE_PERMISSIONS],
  resize: [MODIFY],
  purchase: PURCHASE_PERMISSIONS,
};

/**
 * For so long a state that does not show the effect proves nothing: EC2's answers may be behind its state.
 * Source: Amazon EC2 Developer Guide, "Eventual consistency in the Amazon EC2 API" (wait up to about five minutes).
 */
const SETTLE_MILLISECONDS = 300_000;

export class Effects {
  /** By token: when its outcome was first asked for, or when the request was sent from here. */
  private readonly pending = new Map<string, number>();

  constructor(
    private readonly clients: Clients,
    private readonly types: InstanceTypes,
    private readonly commitments: Commitments,
    private readonly clock: Clock,
  ) {}

  /** As ProviderConnection.apply says. @throws Failure denied without credentials for acting */
  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    if (this.clients.settings.act === null)
      throw denied('the AWS connection is read-only: it has no credentials for acting (BURSAR_AWS_ACT_ACCESS_KEY_ID)');
    if (effect.kind === 'purchase')
      return purchase(this.clients, effect, token).finally(() => this.commitments.expire());
    const target = parseTarget(effect.target);
    if (target === null)
      return refused('unknown-target', `${effect.target} names no instance and no Auto Scaling group`);
    const seen = before ?? (await readTarget(this.clients, this.types, effect.target));
    if (seen === null) return refused('not-found', `${effect.target} is not there`);
    const outcome =
      target.kind === 'instance'
        ? await this.onInstance(effect, target.region, target.id, token, seen)
        : await this.onGroup(effect, target.region, target.name, seen);
    if (outcome.kind === 'unknown') this.pending.set(token, this.clock.now());
    return outcome;
  }

  /** As ProviderConnection.outcome says. @throws Failure if AWS cannot be asked */
  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    if (effect.kind === 'purchase') return purchaseOutcome(this.clients, effect, token);
    const seen = await readTarget(this.clients, this.types, effect.target);
    const outcome = effect.kind === 'replace' ? await this.replaced(effect, token, seen) : outcomeShownBy(effect, seen);
    if (outcome.kind === 'unknown') return outcome;
    if (outcome.kind !== 'absent') {
      this.pending.delete(token);
      return outcome;
    }
    const now = this.clock.now();
    const since = this.pending.get(token) ?? now;
    this.pending.set(token, since);
    if (now - since < SETTLE_MILLISECONDS)
      return { kind: 'unknown', detail: "AWS' state does not show it, which may still be behind" };
    this.pending.delete(token);
    return outcome;
  }

  private async onInstance(
    effect: Effect,
    region: string,
    id: string,
    token: string,
    seen: FleetTarget,
  ): Promise<EffectOutcome> {
    const ec2 = this.clients.ec2(region, 'act');
    const ids = { InstanceIds: [id] };
    switch (effect.kind) {
      case 'stop':
        return acting(
          STOP,
          () => ec2.send(new StopInstancesCommand(ids)),
          (a) => `${id} is ${a.StoppingInstances?.[0]?.CurrentState?.Name ?? 'asked to stop'}`,
        );
      case 'start':
        return acting(
          START,
          () => ec2.send(new StartInstancesCommand(ids)),
          (a) => `${id} is ${a.StartingInstances?.[0]?.CurrentState?.Name ?? 'asked to start'}`,
        );
      case 'terminate':
        return acting(
          TERMINATE,
          () => ec2.send(new TerminateInstancesCommand(ids)),
          (a) => `${id} is ${a.TerminatingInstances?.[0]?.CurrentState?.Name ?? 'asked to end'}`,
        );
      case 'replace':
        return seen.labels[GROUP_TAG] !== undefined || effect.group !== null
          ? this.replaceMember(region, id)
          : startAnother(this.clients, { region, id }, token, seen);
      case 'resize':
        if (seen.state !== 'stopped')
          return refused('not-stopped', `${id} is ${seen.state}: its type can be changed only while it is stopped`);
        return acting(
          MODIFY,
          () => ec2.send(new ModifyInstanceAttributeCommand({ InstanceId: id, InstanceType: { Value: effect.sku } })),
          () => `${id} is ${effect.sku}`,
        );
      default:
        return refused('unsupported', `${effect.kind} does not apply to an instance`);
    }
  }

  /** Ends a member of a group, which brings another. */
  private replaceMember(region: string, id: string): Promise<EffectOutcome> {
    const command = new TerminateInstanceInAutoScalingGroupCommand({
      InstanceId: id,
      ShouldDecrementDesiredCapacity: false,
    });
    return acting(
      TERMINATE_MEMBER,
      () => this.clients.autoScaling(region, 'act').send(command),
      (a) => a.Activity?.Description ?? `${id} is ending`,
    );
  }

  private async onGroup(effect: Effect, region: string, name: string, seen: FleetTarget): Promise<EffectOutcome> {
    const client = this.clients.autoScaling(region, 'act');
    const group = { AutoScalingGroupName: name };
    if ((effect.kind === 'scale' || effect.kind === 'set-bounds') && seen.replicas === null) {
      return refused('not-counted-in-instances', `the capacity of ${name} is counted in weights, vCPUs or memory`);
    }
    switch (effect.kind) {
      case 'scale': {
        const command = new SetDesiredCapacityCommand({
          ...group,
          DesiredCapacity: effect.replicas,
          HonorCooldown: false,
        });
        return acting(
          SET_CAPACITY,
          () => client.send(command),
          () => `${name} is to have ${effect.replicas}`,
        );
      }
      case 'set-bounds': {
        const command = new UpdateAutoScalingGroupCommand({ ...group, MinSize: effect.min, MaxSize: effect.max });
        return acting(
          UPDATE_GROUP,
          () => client.send(command),
          () => `${name} keeps between ${effect.min} and ${effect.max}`,
        );
      }
      case 'set-spot-ratio': {
        const [read] = await readGroups(this.clients, region, [name]);
        const policy = read?.MixedInstancesPolicy;
        if (policy === undefined)
          return refused(
            'no-mixed-instances-policy',
            `${name} has no mixed instances policy: it launches one kind of capacity`,
          );
        const onDemand = 100 - Math.round(effect.spotRatio * 100);
        const command = new UpdateAutoScalingGroupCommand({
          ...group,
          MixedInstancesPolicy: withOnDemand(policy, onDemand),
        });
        return acting(
          UPDATE_GROUP,
          () => client.send(command),
          () => `${name} launches ${onDemand} % on demand`,
        );
      }
      default:
        return refused('unsupported', `${effect.kind} does not apply to an Auto Scaling group`);
    }
  }

  private async replaced(
    effect: Extract<Effect, { readonly kind: 'replace' }>,
    token: string,
    seen: FleetTarget | null,
  ): Promise<EffectOutcome> {
    const ended = seen === null || seen.state === 'gone';
    if (ended && (effect.group !== null || seen?.labels[GROUP_TAG] !== undefined))
      return { kind: 'taken', reference: null, detail: 'it has ended, and its group brings another' };
    const named = parseTarget(effect.target);
    const successor = named?.kind === 'instance' ? await successorOf(this.clients, named.region, token) : null;
    if (ended && successor?.State?.Name === 'running')
      return {
        kind: 'taken',
        reference: successor.InstanceId ?? null,
        detail: `${successor.InstanceId} runs in its place`,
      };
    if (ended)
      return {
        kind: 'unknown',
        detail:
          successor === null
            ? 'it has ended, and nothing shows what runs in its place'
            : `it has ended, and ${successor.InstanceId}, started in its place, is ${successor.State?.Name ?? 'unknown'}`,
      };
    if (seen.state === 'stopping' || seen.state === 'unknown')
      return { kind: 'unknown', detail: `it is ${seen.state}` };
    if (successor === null || named === null || named.kind !== 'instance') return { kind: 'absent' };
    const { InstanceId: reference = 'another', State } = successor;
    return hasEnded(successor)
      ? endedAgain(named.id, successor)
      : {
          kind: 'half-done',
          reference,
          detail: `${reference}, started in the place of ${named.id}, is ${State?.Name ?? 'there'}, and ${named.id} was not ended`,
        };
  }
}

/** The outcome of an absolute effect, from the target's state. */
function outcomeShownBy(effect: Effect, seen: FleetTarget | null): EffectOutcome {
  const underway =
    (effect.kind === 'stop' && seen?.state === 'stopping') || (effect.kind === 'start' && seen?.state === 'starting');
  const held = holds(effect, seen);
  if (held === true || underway)
    return { kind: 'taken', reference: null, detail: `its state shows it (${seen?.state ?? 'gone'})` };
  if (held === null || seen?.state === 'stopping')
    return { kind: 'unknown', detail: seen === null ? 'it is not there' : `its state (${seen.state}) does not tell` };
  return { kind: 'absent' };
}

/**
 * The policy whole, as it was read, with another percentage: what an update leaves out may fall back to its default. A
 * template may be named by its id or by its name, not by both (data type LaunchTemplateSpecification).
 */
function withOnDemand(policy: MixedInstancesPolicy, onDemand: number): MixedInstancesPolicy {
  const once = (template: LaunchTemplateSpecification | undefined): LaunchTemplateSpecification | undefined =>
    template?.LaunchTemplateId === undefined
      ? template
      : { LaunchTemplateId: template.LaunchTemplateId, Version: template.Version };
  const { LaunchTemplate, InstancesDistribution } = policy;
  const launch =
    LaunchTemplate === undefined
      ? {}
      : {
          LaunchTemplate: {
            LaunchTemplateSpecification: once(LaunchTemplate.LaunchTemplateSpecification),
            Overrides: LaunchTemplate.Overrides?.map((one) => ({
              ...one,
              LaunchTemplateSpecification: once(one.LaunchTemplateSpecification),
            })),
          },
        };
  return {
    ...launch,
    InstancesDistribution: { ...InstancesDistribution, OnDemandPercentageAboveBaseCapacity: onDemand },
  };
}
