/**
 * The settings of an Auto Scaling group that affect its size: scale-in protection, suspended processes, lifecycle hooks
 * and scaling policies.
 *
 * The invariant: an unreadable setting is unknown, never absent. The listing runs every minute, so it uses little of
 * the rate limits that the whole account shares: it reads the policies of a region by pages, and the hooks, which AWS
 * returns for one group at a time, once in ten minutes. Before acting both are read again. Fields: Amazon EC2 Auto
 * Scaling API Reference, "DescribeLifecycleHooks" (AutoScalingGroupName is required), "DescribePolicies" (it is not, up
 * to 100 a page) and data types AutoScalingGroup, SuspendedProcess and ScalingPolicy.
 */
import {
  DescribeLifecycleHooksCommand,
  paginateDescribePolicies,
  type AutoScalingGroup,
  type ScalingPolicy,
} from '@aws-sdk/client-auto-scaling';
import type { FleetTarget, GroupSettings } from '../../core/fleet/fleet.js';
import { MINUTE_MS, type Clock } from '../../core/time.js';
import type { Clients } from './clients.js';
import { orUnknown } from '../unread.js';
import { reading, readingPages } from './failures.js';

const HOOKS = 'autoscaling:DescribeLifecycleHooks';
const POLICIES = 'autoscaling:DescribePolicies';
export const SETTINGS_PERMISSIONS: readonly string[] = [HOOKS, POLICIES];

const ENDING = 'autoscaling:EC2_INSTANCE_TERMINATING';

const HOOKS_KEPT_MS = 10 * MINUTE_MS;
/** The most that DescribePolicies takes. */
const MOST_POLICIES = 100;

type Hooks = GroupSettings['hooks'];

interface Found {
  readonly group: AutoScalingGroup;
  readonly target: FleetTarget;
}

/** Hooks of the groups that are listed, as they were read last; a missing permission is kept like an answer. */
export class ListedHooks {
  private readonly kept = new Map<string, { readonly at: number; readonly hooks: Hooks }>();

  constructor(
    private readonly clients: Clients,
    private readonly clock: Clock,
  ) {}

  async hooksOf(region: string, name: string): Promise<Hooks> {
    const now = this.clock.now();
    for (const [key, { at }] of this.kept) if (now - at >= HOOKS_KEPT_MS) this.kept.delete(key);
    const key = `${region}/${name}`;
    const kept = this.kept.get(key);
    if (kept !== undefined) return kept.hooks;
    return orUnknown('listing', async () => {
      const hooks = await orUnknown('acting', () => readHooks(this.clients, region, name));
      this.kept.set(key, { at: now, hooks });
      return hooks;
    });
  }
}

/** A group, its settings read now. @throws Failure before acting, if AWS cannot be asked now */
export async function withSettingsNow(
  clients: Clients,
  region: string,
  { group, target }: Found,
): Promise<FleetTarget> {
  const name = group.AutoScalingGroupName ?? '';
  const hooks = await orUnknown('acting', () => readHooks(clients, region, name));
  const policies = await orUnknown('acting', () => readPolicies(clients, region, name));
  return withSettings(group, target, hooks, policies);
}

/** The groups of a region as they are listed. */
export async function withSettingsListed(
  clients: Clients,
  listed: ListedHooks,
  region: string,
  groups: readonly Found[],
): Promise<FleetTarget[]> {
  if (groups.length === 0) return [];
  const policies = await orUnknown('listing', () => readPolicies(clients, region));
  const targets: FleetTarget[] = [];
  for (const { group, target } of groups) {
    const name = group.AutoScalingGroupName ?? '';
    const own = policies?.filter(({ AutoScalingGroupName }) => AutoScalingGroupName === name) ?? null;
    targets.push(withSettings(group, target, await listed.hooksOf(region, name), own));
  }
  return targets;
}

async function readHooks(clients: Clients, region: string, name: string): Promise<Hooks> {
  const command = new DescribeLifecycleHooksCommand({ AutoScalingGroupName: name });
  const { LifecycleHooks = [] } = await reading(HOOKS, () => clients.autoScaling(region).send(command));
  return LifecycleHooks.filter(({ LifecycleTransition }) => LifecycleTransition === ENDING).map(
    ({ LifecycleHookName = '', HeartbeatTimeout, GlobalTimeout }) => ({
      name: LifecycleHookName,
      seconds: GlobalTimeout ?? HeartbeatTimeout ?? null,
    }),
  );
}

function withSettings(
  group: AutoScalingGroup,
  target: FleetTarget,
  hooks: Hooks,
  policies: readonly ScalingPolicy[] | null,
): FleetTarget {
  const settings: GroupSettings = {
    protectedMembers: (group.Instances ?? []).filter(({ ProtectedFromScaleIn }) => ProtectedFromScaleIn === true)
      .length,
    suspended: (group.SuspendedProcesses ?? []).flatMap(({ ProcessName }) =>
      ProcessName === 'Launch' ? ['launch' as const] : ProcessName === 'Terminate' ? ['terminate' as const] : [],
    ),
    hooks,
    policies: policies === null ? null : inForce(policies),
  };
  const ruledOut =
    group.MixedInstancesPolicy === undefined
      ? { 'set-spot-ratio': 'it has no mixed instances policy, and so launches one kind of capacity' }
      : undefined;
  return { ...target, group: settings, ...(ruledOut === undefined ? {} : { ruledOut }) };
}

/** Policies of a region, or of one group of it. */
async function readPolicies(clients: Clients, region: string, name?: string): Promise<ScalingPolicy[]> {
  const found: ScalingPolicy[] = [];
  const client = clients.autoScaling(region);
  const request = { MaxRecords: MOST_POLICIES, ...(name === undefined ? {} : { AutoScalingGroupName: name }) };
  for await (const page of readingPages(POLICIES, paginateDescribePolicies({ client }, request)))
    found.push(...(page.ScalingPolicies ?? []));
  return found;
}

const inForce = (policies: readonly ScalingPolicy[]): NonNullable<GroupSettings['policies']> =>
  policies
    .filter(
      ({ Enabled, PredictiveScalingConfiguration }) =>
        Enabled !== false && PredictiveScalingConfiguration?.Mode !== 'ForecastOnly',
    )
    .map(({ PolicyName = '', PolicyType }) => ({ name: PolicyName, follows: PolicyType === 'TargetTrackingScaling' }));
