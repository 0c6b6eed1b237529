/**
 * Replaces an instance that is not in an Auto Scaling group, from the same launch template.
 *
 * Never guesses how an instance was created: without its template the effect is refused. The invariant: the new one is
 * started before the old one is ended, and under one token at most one is started (RunInstances, ClientToken). Source:
 * Amazon EC2 Developer Guide, "Ensuring idempotency in Amazon EC2 API requests".
 */
import {
  RunInstancesCommand,
  TerminateInstancesCommand,
  type Instance,
  type ResponseLaunchTemplateData,
  type RunInstancesCommandInput,
  type SpotMarketOptions,
} from '@aws-sdk/client-ec2';
import { Failure, unavailable } from '../../core/errors.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import type { Clients } from './clients.js';
import { acting, refused } from './failures.js';
import { readTemplate } from './groups.js';
import { readInstances } from './instances.js';
import { instanceOf, templateOf, type Template } from './launch.js';
import { isKeptFromEnding, NOTHING_OWN, ownOf, OwnReader, OWN_PERMISSIONS, type Own } from './own-settings.js';
import { labelsOf, TOKEN_TAG } from './targets.js';

const RUN = 'ec2:RunInstances';
const END = 'ec2:TerminateInstances';
export const REPLACE_PERMISSIONS: readonly string[] = [RUN, END, 'ec2:CreateTags', 'iam:PassRole', ...OWN_PERMISSIONS];

/**
 * Starts one like the instance under the token, then ends the instance. One that was started under the token before (its
 * answer was lost, or the old one could not be ended) is not asked for again: the tags and the template that the request
 * is made of may have changed since, and EC2 takes the token for no other request (IdempotentParameterMismatch).
 * @param kept how it was made, and its tags, as they were told before: EC2 forgets the network of what is terminated, and
 *   its tags after a while
 * @throws Failure if nothing was started
 */
export async function startAnother(
  clients: Clients,
  { region, id }: { readonly region: string; readonly id: string },
  token: string,
  kept: Pick<FleetTarget, 'launch' | 'labels'>,
): Promise<EffectOutcome> {
  const [found] = await readInstances(clients, region, { Filters: [{ Name: 'instance-id', Values: [id] }] });
  if (found === undefined) return refused('not-found', `${id} is not there`);
  const earlier = await successorOf(clients, region, token);
  if (earlier !== null)
    return hasEnded(earlier)
      ? endedAgain(id, earlier)
      : endOld(clients, { region, id }, inPlaceOf(id, earlier), earlier);
  const labels = (found.instance.Tags ?? []).length === 0 ? kept.labels : labelsOf(found.instance.Tags);
  const from = templateOf(labels);
  if (from === null)
    return refused('no-launch-template', `${id} has no group and no launch template: how to make another is not known`);
  const template = await readTemplate(clients, region, { LaunchTemplateId: from.template, Version: from.version });
  if (template === null)
    return refused('no-launch-template', `the launch template ${from.template}, version ${from.version}, is gone`);
  const instance = instanceOf(kept.launch, found.instance);
  const why = whyNotLike(instance, template);
  if (why !== null) return refused(...why);
  const ec2 = clients.ec2(region, 'act');
  // A rehearsal: where ending the old one is denied, the new one is not started.
  const allowed = await acting(
    END,
    () => ec2.send(new TerminateInstancesCommand({ InstanceIds: [id], DryRun: true })),
    () => 'allowed',
  );
  if (allowed.kind === 'unknown') throw unavailable(`whether ${id} may be ended could not be asked: ${allowed.detail}`);
  if (allowed.kind === 'refused' && allowed.code !== 'DryRunOperation') return allowed;
  // A rehearsal is not refused for it, and the end would be, with two running by then.
  const reader = new OwnReader();
  if (await isKeptFromEnding(clients, region, instance, reader))
    return refused(
      'termination-protected',
      `${id} may not be ended (disableApiTermination), so nothing takes its place`,
    );
  const own = await ownOf(clients, region, instance, template, reader);
  let successor: Instance = {};
  const started = await acting(
    RUN,
    () => ec2.send(new RunInstancesCommand(likeIt(instance, labels, { ...from, data: template }, token, own))),
    (answer) => {
      successor = answer.Instances?.[0] ?? {};
      return inPlaceOf(id, successor);
    },
  );
  if (started.kind !== 'taken') return started;
  // For a used token EC2 answers with the instance started then, whatever its present state.
  if (hasEnded(successor)) return endedAgain(id, successor);
  const lacks = [...leftBehind(instance), ...own.lacks];
  const ended = await endOld(clients, { region, id }, started.detail, successor);
  return lacks.length > 0 && (ended.kind === 'taken' || ended.kind === 'half-done')
    ? { ...ended, detail: ended.kind === 'taken' ? [ended.detail, ...lacks].join('; ') : ended.detail, lacks }
    : ended;
}

const inPlaceOf = (id: string, { InstanceId = 'another' }: Instance): string =>
  `${InstanceId} runs in the place of ${id}`;

/** The instance started under a token no longer runs, so it replaces nothing. */
export const hasEnded = ({ State }: Instance): boolean =>
  State?.Name === 'terminated' || State?.Name === 'shutting-down';

export const endedAgain = (id: string, { InstanceId = 'another' }: Instance): EffectOutcome =>
  refused('successor-ended', `${InstanceId}, started in the place of ${id}, has ended again: ${id} was not ended`);

/** Ends the old one, now that the new one was started. */
async function endOld(
  clients: Clients,
  { region, id }: { readonly region: string; readonly id: string },
  started: string,
  { InstanceId: reference = 'another' }: Instance,
): Promise<EffectOutcome> {
  const halfDone = (why: string): EffectOutcome => ({
    kind: 'half-done',
    reference,
    detail: `${started}; ${id} was not ended: ${why}`,
  });
  try {
    const ended = await acting(
      END,
      () => clients.ec2(region, 'act').send(new TerminateInstancesCommand({ InstanceIds: [id] })),
      () => '',
    );
    if (ended.kind === 'unknown') return { kind: 'unknown', detail: `${started}; ${ended.detail}` };
    if (ended.kind === 'refused') return halfDone(`${ended.code} (${ended.detail})`);
    return { kind: 'taken', reference, detail: started };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return halfDone(error.message);
  }
}

/** Why another could not be like it, as a code and a sentence; null: it can. */
function whyNotLike(instance: Instance, data: ResponseLaunchTemplateData): readonly [string, string] | null {
  if (instance.InstanceLifecycle !== 'spot' && data.InstanceMarketOptions?.MarketType === 'spot')
    return ['template-is-spot', 'it is on demand, and its launch template makes spot instances'];
  const hasNetwork = (data.NetworkInterfaces ?? []).some(({ SubnetId }) => SubnetId !== undefined);
  return instance.SubnetId === undefined && !hasNetwork
    ? ['network-unknown', 'EC2 no longer tells its subnet, and its launch template names none']
    : null;
}

/** Volumes that outlive it, and are on no other then. */
function leftBehind({ BlockDeviceMappings = [] }: Instance): string[] {
  const volumes = BlockDeviceMappings.flatMap(({ Ebs }) =>
    Ebs?.DeleteOnTermination === false && Ebs.VolumeId !== undefined ? [Ebs.VolumeId] : [],
  );
  return volumes.length === 0
    ? []
    : [`its volumes ${volumes.join(', ')} are kept, and are not attached to the new one`];
}

/**
 * The request for another instance like one, under a token: by its template, and by what it was launched with beside
 * the template (network, security groups, image, profile, key pair, placement). An interface of the template takes the
 * place of the subnet and the groups, which may not be named beside it (Amazon EC2 API Reference, "RunInstances").
 * What it has of its own beside these (volumes, user data, its highest price) is read when it is replaced; what cannot be
 * read is the template's, and said.
 */
export function likeIt(
  instance: Instance,
  labels: Readonly<Record<string, string>>,
  from: Template & { readonly data: ResponseLaunchTemplateData },
  token: string,
  own: Own = NOTHING_OWN,
): RunInstancesCommandInput {
  const kept = Object.entries(labels).filter(([key]) => !key.startsWith('aws:') && key !== TOKEN_TAG);
  const { ImageId, InstanceType, KeyName, IamInstanceProfile, EbsOptimized, Placement, SubnetId } = instance;
  const groups = (instance.SecurityGroups ?? []).flatMap(({ GroupId }) => GroupId ?? []);
  const interfaces = from.data.NetworkInterfaces ?? [];
  const isSpot = instance.InstanceLifecycle === 'spot' && from.data.InstanceMarketOptions?.MarketType !== 'spot';
  return {
    LaunchTemplate: { LaunchTemplateId: from.template, Version: from.version },
    MinCount: 1,
    MaxCount: 1,
    ClientToken: token,
    ImageId,
    InstanceType,
    KeyName,
    EbsOptimized: EbsOptimized === true ? true : undefined,
    IamInstanceProfile: IamInstanceProfile?.Arn === undefined ? undefined : { Arn: IamInstanceProfile.Arn },
    Placement: placed(Placement),
    ...(interfaces.length === 0
      ? { SubnetId, SecurityGroupIds: groups.length === 0 ? undefined : groups }
      : {
          NetworkInterfaces: interfaces.map((one) => ({
            ...one,
            SubnetId: SubnetId ?? one.SubnetId,
            Groups: groups.length === 0 ? one.Groups : groups,
          })) as RunInstancesCommandInput['NetworkInterfaces'],
        }),
    BlockDeviceMappings: own.volumes,
    UserData: own.userData,
    InstanceMarketOptions:
      instance.InstanceLifecycle === 'spot' && own.maxPrice !== undefined
        ? { MarketType: 'spot', SpotOptions: { ...spotOptionsOf(from.data), MaxPrice: own.maxPrice } }
        : isSpot
          ? { MarketType: 'spot' }
          : undefined,
    TagSpecifications: [
      {
        ResourceType: 'instance' as const,
        Tags: [...kept, [TOKEN_TAG, token]].map(([Key, Value]) => ({ Key, Value })),
      },
    ],
  };
}

/** How a template asks for spot, which options of a request replace as a whole. */
const spotOptionsOf = ({ InstanceMarketOptions }: ResponseLaunchTemplateData): SpotMarketOptions =>
  (InstanceMarketOptions?.SpotOptions ?? {}) as SpotMarketOptions;

/** Where it stands beside its zone, which the subnet says: a group, and hardware of its own. */
function placed(placement: Instance['Placement']): RunInstancesCommandInput['Placement'] {
  const { GroupName = '', Tenancy = 'default' } = placement ?? {};
  if (GroupName === '' && Tenancy === 'default') return undefined;
  return { ...(GroupName === '' ? {} : { GroupName }), ...(Tenancy === 'default' ? {} : { Tenancy }) };
}

/** The instance that was started under the token, or null if none shows. @throws Failure */
export async function successorOf(clients: Clients, region: string, token: string): Promise<Instance | null> {
  const [found] = await readInstances(clients, region, { Filters: [{ Name: 'client-token', Values: [token] }] });
  return found?.instance ?? null;
}
