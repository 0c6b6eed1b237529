/**
 * Checks which of Alibaba Cloud's permissions the credentials have, by asking the cloud itself: reading is tried,
 * acting is tried as a dry run if the API has one.
 *
 * Changes nothing. The invariant: a permission that cannot be checked without acting is unknown. Auto Scaling has no
 * dry run, nor has a change of an instance's type. Before the dry run of an effect, a reading is tried as a dry run: a
 * compatible server that answers it with the list does not know `DryRun`, and would stop machines. Sources: ECS API
 * Reference (2014-05-26), DryRun of "DescribeInstances", "StopInstance", "StartInstance" and "DeleteInstances" (the
 * credentials and the RAM user's permissions are checked; the code DryRunOperation where nothing is missing); ECS,
 * "Announcement of changes to the authentication mechanism for Alibaba Cloud ECS query API operations" (until December
 * 2025 callers without the permission to list also got an empty list).
 */
import { z } from 'zod';
import type { ProviderSetting } from '../../core/setting.js';
import { permitted } from '../rpc.js';
import { permissionOf, type AlibabaClient, type Params, type Service } from './client.js';
import { readInstances, type Instance } from './instances.js';
import { HOUR_MS } from '../../core/time.js';

const DONE_DRY = 'DryRunOperation';
/** One of this many instances must be permitted, because a policy may allow acting on some only. */
const MOST_INSTANCES = 3;
const MONTH_LENGTH = 'YYYY-MM'.length;

interface Question {
  readonly service: Service;
  readonly action: string;
  readonly params: Params;
  readonly proves?: (reply: unknown) => boolean;
}

const LISTED = z.object({ Instances: z.object({ Instance: z.array(z.unknown()).min(1) }) });

/** Calls that read, as small as they can be; made with the keys for reading, whatever needs them. */
function readings(region: string, sku: string | null, now: number): readonly Question[] {
  const RegionId = region;
  const wire = (at: number): string => new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z');
  const priced: readonly Question[] =
    sku === null
      ? []
      : [
          {
            service: 'ecs',
            action: 'DescribePrice',
            params: { RegionId, ResourceType: 'instance', InstanceType: sku, PriceUnit: 'Hour', Period: 1 },
          },
          {
            service: 'ecs',
            action: 'DescribeSpotPriceHistory',
            params: {
              RegionId,
              InstanceType: sku,
              NetworkType: 'vpc',
              StartTime: wire(now - HOUR_MS),
              EndTime: wire(now),
            },
          },
        ];
  return [
    {
      service: 'ecs',
      action: 'DescribeInstances',
      params: { RegionId, MaxResults: 1 },
      proves: (reply) => LISTED.safeParse(reply).success,
    },
    { service: 'ecs', action: 'DescribeInstanceTypes', params: { MaxResults: 1 } },
    { service: 'ecs', action: 'DescribeRegions', params: {} },
    { service: 'ecs', action: 'DescribeInstancesFullStatus', params: { RegionId, PageSize: 1 } },
    { service: 'ecs', action: 'DescribeInstanceHistoryEvents', params: { RegionId, MaxResults: 10 } },
    { service: 'ess', action: 'DescribeScalingGroups', params: { RegionId, PageSize: 1, PageNumber: 1 } },
    { service: 'ess', action: 'DescribeScalingConfigurations', params: { RegionId, PageSize: 1 } },
    { service: 'ess', action: 'DescribeLifecycleHooks', params: { RegionId, PageSize: 1, PageNumber: 1 } },
    { service: 'ess', action: 'DescribeScalingRules', params: { RegionId, PageSize: 1, PageNumber: 1 } },
    { service: 'ess', action: 'DescribeScalingInstances', params: { RegionId, PageSize: 1, PageNumber: 1 } },
    {
      service: 'bss',
      action: 'DescribeInstanceBill',
      params: { BillingCycle: wire(now).slice(0, MONTH_LENGTH), IsBillingItem: false, MaxResults: 1 },
    },
    ...priced,
  ];
}

/** Dry runs on an instance. A release names no force: it would be refused while the instance runs. */
const REHEARSALS: Readonly<Record<string, (region: string, id: string) => Params>> = {
  StopInstance: (_, InstanceId) => ({ InstanceId, StoppedMode: 'StopCharging', ForceStop: false, DryRun: true }),
  StartInstance: (_, InstanceId) => ({ InstanceId, DryRun: true }),
  DeleteInstances: (RegionId, id) => ({ RegionId, InstanceId: [id], Force: false, DryRun: true }),
};

export class Permissions {
  private keepsToDryRun: Promise<boolean> | null = null;
  private found: Promise<readonly Instance[]> | null = null;

  constructor(
    private readonly client: AlibabaClient,
    private readonly region: string,
  ) {}

  /**
   * As ProviderConnection.granted says. @param now epoch milliseconds @throws Failure if the instances cannot be listed
   * for another reason than a permission
   */
  async granted(permission: string, use: ProviderSetting['use'], now: number): Promise<boolean | null> {
    const needsType =
      permission === permissionOf('ecs', 'DescribePrice') ||
      permission === permissionOf('ecs', 'DescribeSpotPriceHistory');
    const sku = needsType ? ((await this.instances())[0]?.InstanceType ?? null) : null;
    const reading = readings(this.region, sku, now).find(
      ({ service, action }) => permissionOf(service, action) === permission,
    );
    if (reading !== undefined)
      return permitted(
        () => this.client.call(reading.service, reading.action, this.region, reading.params),
        reading.proves === undefined ? {} : { proves: reading.proves },
      );
    const [, action = ''] = permission.split(':');
    const rehearsal = permission === permissionOf('ecs', action) ? REHEARSALS[action] : undefined;
    if (rehearsal === undefined || use !== 'act' || this.client.settings.act === null || !(await this.rehearses()))
      return null;
    let verdict: boolean | null = null;
    for (const { InstanceId } of (await this.instances()).slice(0, MOST_INSTANCES)) {
      const own = await permitted(
        () => this.client.call('ecs', action, this.region, rehearsal(this.region, InstanceId), 'act'),
        { rehearsed: DONE_DRY },
      );
      if (own === true) return true;
      verdict = own ?? verdict;
    }
    return verdict;
  }

  /** Only who answers a dry reading by the code, not by the list, is asked for dry effects. */
  private rehearses(): Promise<boolean> {
    this.keepsToDryRun ??= permitted(
      () => this.client.call('ecs', 'DescribeInstances', this.region, { RegionId: this.region, DryRun: true }),
      { rehearsed: DONE_DRY, proves: () => false },
    ).then((answer) => answer === true);
    return this.keepsToDryRun;
  }

  /**
   * Machines with GPUs, those that run first: what is tried dry on them would be refused or undone more easily than on
   * others.
   */
  private instances(): Promise<readonly Instance[]> {
    this.found ??= readInstances(this.client, this.region).then((all) =>
      all
        .filter(({ GPUAmount }) => GPUAmount !== 0)
        .sort((a, b) => Number(b.Status === 'Running') - Number(a.Status === 'Running')),
    );
    return this.found;
  }
}
