/**
 * Another instance like one that is to end, where no Auto Scaling group brings it: from the launch template that made
 * the first.
 *
 * Never guesses how an instance was made: without its template it is refused. The invariant: the new one is started
 * before the old one is ended, and under one token at most one is started (RunInstances, ClientToken).
 * Source: Amazon EC2 Developer Guide, "Ensuring idempotency in Amazon EC2 API requests".
 */
import { RunInstancesCommand, TerminateInstancesCommand, type Instance } from '@aws-sdk/client-ec2';
import { Failure, unavailable } from '../../core/errors.js';
import type { EffectOutcome } from '../../core/ports.js';
import type { Clients } from './clients.js';
import { acting, refused } from './failures.js';
import { readInstances } from './instances.js';
import { labelsOf, TOKEN_TAG } from './targets.js';

const RUN = 'ec2:RunInstances';
const END = 'ec2:TerminateInstances';
export const REPLACE_PERMISSIONS: readonly string[] = [RUN, END, 'ec2:CreateTags', 'iam:PassRole'];

/** Tags that EC2 puts on what it launches from a template. */
const TEMPLATE_TAG = 'aws:ec2launchtemplate:id';
const VERSION_TAG = 'aws:ec2launchtemplate:version';

/** Starts one like the instance under the token, then ends the instance. @throws Failure where nothing was started */
export async function startAnother(
  clients: Clients,
  region: string,
  id: string,
  token: string,
): Promise<EffectOutcome> {
  const [found] = await readInstances(clients, region, { Filters: [{ Name: 'instance-id', Values: [id] }] });
  if (found === undefined) return refused('not-found', `${id} is not there`);
  const labels = labelsOf(found.instance.Tags);
  const from = templateOf(labels);
  if (from === null)
    return refused('no-launch-template', `${id} has no group and no launch template: how to make another is not known`);
  const ec2 = clients.ec2(region, 'act');
  const ending = { InstanceIds: [id] };
  // A rehearsal: where ending the old one is denied, the new one is not started.
  const allowed = await acting(
    END,
    () => ec2.send(new TerminateInstancesCommand({ ...ending, DryRun: true })),
    () => 'allowed',
  );
  if (allowed.kind === 'unknown') throw unavailable(`whether ${id} may be ended could not be asked: ${allowed.detail}`);
  if (allowed.kind === 'refused' && allowed.code !== 'DryRunOperation') return allowed;
  let successor = '';
  const started = await acting(
    RUN,
    () => ec2.send(new RunInstancesCommand(likeIt(found.instance, labels, from, token))),
    (answer) => {
      successor = answer.Instances?.[0]?.InstanceId ?? 'another';
      return `${successor} runs in the place of ${id}`;
    },
  );
  if (started.kind !== 'taken') return started;
  try {
    const ended = await acting(
      END,
      () => ec2.send(new TerminateInstancesCommand(ending)),
      () => '',
    );
    if (ended.kind === 'unknown') return { kind: 'unknown', detail: `${started.detail}; ${ended.detail}` };
    if (ended.kind === 'refused')
      return { ...started, detail: `${started.detail}, which was not ended: ${ended.code}` };
    return { ...started, reference: successor };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { kind: 'unknown', detail: `${started.detail}, which could not be ended yet: ${error.message}` };
  }
}

interface Template {
  readonly template: string;
  readonly version: string;
}

/** The launch template that an instance was made from; null: it was made otherwise. */
export function templateOf(labels: Readonly<Record<string, string>>): Template | null {
  const template = labels[TEMPLATE_TAG];
  const version = labels[VERSION_TAG];
  return template === undefined || version === undefined ? null : { template, version };
}

/** The request for another instance like one, under a token. */
export function likeIt(instance: Instance, labels: Readonly<Record<string, string>>, from: Template, token: string) {
  const kept = Object.entries(labels).filter(([key]) => !key.startsWith('aws:') && key !== TOKEN_TAG);
  return {
    LaunchTemplate: { LaunchTemplateId: from.template, Version: from.version },
    MinCount: 1,
    MaxCount: 1,
    ClientToken: token,
    InstanceType: instance.InstanceType,
    SubnetId: instance.SubnetId,
    ...(instance.InstanceLifecycle === 'spot' ? { InstanceMarketOptions: { MarketType: 'spot' as const } } : {}),
    TagSpecifications: [
      {
        ResourceType: 'instance' as const,
        Tags: [...kept, [TOKEN_TAG, token]].map(([Key, Value]) => ({ Key, Value })),
      },
    ],
  };
}

/** The instance that was started under the token, or null where none shows. @throws Failure */
export async function successorOf(clients: Clients, region: string, token: string): Promise<string | null> {
  const [found] = await readInstances(clients, region, { Filters: [{ Name: 'client-token', Values: [token] }] });
  return found?.instance.InstanceId ?? null;
}
