/**
 * What an Auto Scaling group's own settings say of its size: scale-in protection, suspended processes, lifecycle hooks
 * and scaling policies.
 *
 * The invariant: what may not be read is unknown, never none. Fields: Amazon EC2 Auto Scaling API Reference,
 * "DescribeLifecycleHooks", "DescribePolicies" and data types AutoScalingGroup, SuspendedProcess and ScalingPolicy.
 */
import {
  DescribeLifecycleHooksCommand,
  paginateDescribePolicies,
  type AutoScalingGroup,
  type ScalingPolicy,
} from '@aws-sdk/client-auto-scaling';
import type { FleetTarget, GroupSettings } from '../../core/fleet/fleet.js';
import type { Clients } from './clients.js';
import { orUnknown, type Reading } from '../unread.js';
import { reading, readingPages } from './failures.js';

const HOOKS = 'autoscaling:DescribeLifecycleHooks';
const POLICIES = 'autoscaling:DescribePolicies';
export const SETTINGS_PERMISSIONS: readonly string[] = [HOOKS, POLICIES];

const ENDING = 'autoscaling:EC2_INSTANCE_TERMINATING';

/** @throws Failure before acting, where AWS cannot be asked now */
export async function withSettings(
  clients: Clients,
  region: string,
  group: AutoScalingGroup,
  target: FleetTarget,
  when: Reading,
): Promise<FleetTarget> {
  const name = group.AutoScalingGroupName ?? '';
  const settings: GroupSettings = {
    protectedMembers: (group.Instances ?? []).filter(({ ProtectedFromScaleIn }) => ProtectedFromScaleIn === true)
      .length,
    suspended: (group.SuspendedProcesses ?? []).flatMap(({ ProcessName }) =>
      ProcessName === 'Launch' ? ['launch' as const] : ProcessName === 'Terminate' ? ['terminate' as const] : [],
    ),
    hooks: await orUnknown(when, () => readHooks(clients, region, name)),
    policies: await orUnknown(when, () => readPolicies(clients, region, name)),
  };
  const ruledOut =
    group.MixedInstancesPolicy === undefined
      ? { 'set-spot-ratio': 'it has no mixed instances policy, and so launches one kind of capacity' }
      : undefined;
  return { ...target, group: settings, ...(ruledOut === undefined ? {} : { ruledOut }) };
}

async function readHooks(clients: Clients, region: string, name: string): Promise<GroupSettings['hooks']> {
  const command = new DescribeLifecycleHooksCommand({ AutoScalingGroupName: name });
  const { LifecycleHooks = [] } = await reading(HOOKS, () => clients.autoScaling(region).send(command));
  return LifecycleHooks.filter(({ LifecycleTransition }) => LifecycleTransition === ENDING).map(
    ({ LifecycleHookName = '', HeartbeatTimeout, GlobalTimeout }) => ({
      name: LifecycleHookName,
      seconds: GlobalTimeout ?? HeartbeatTimeout ?? null,
    }),
  );
}

async function readPolicies(clients: Clients, region: string, name: string): Promise<GroupSettings['policies']> {
  const found: ScalingPolicy[] = [];
  const pages = paginateDescribePolicies({ client: clients.autoScaling(region) }, { AutoScalingGroupName: name });
  for await (const page of readingPages(POLICIES, pages)) found.push(...(page.ScalingPolicies ?? []));
  return found
    .filter(
      ({ Enabled, PredictiveScalingConfiguration }) =>
        Enabled !== false && PredictiveScalingConfiguration?.Mode !== 'ForecastOnly',
    )
    .map(({ PolicyName = '', PolicyType }) => ({ name: PolicyName, follows: PolicyType === 'TargetTrackingScaling' }));
}
