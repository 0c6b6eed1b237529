/**
 * Which of Tencent Cloud's permissions the credentials have: reading is asked by reading.
 *
 * Changes nothing. The invariant: what cannot be asked without acting is unknown, and none of the effects here can be:
 * neither CVM's StopInstances, StartInstances, TerminateInstances and ResetInstancesType nor Auto Scaling's
 * ModifyAutoScalingGroup has a dry run (CVM API Reference 2017-03-12 and Auto Scaling API Reference 2018-04-19, input
 * parameters), and CAM evaluates no policy for whoever asks.
 */
import { permitted } from '../rpc.js';
import { permissionOf, type Params, type Service, type TencentClient } from './client.js';

const MONTH_LENGTH = 'YYYY-MM'.length;

interface Question {
  readonly service: Service;
  readonly action: string;
  readonly params: Params;
}

/** Calls that read, as small as they can be. */
const readings = (now: number): readonly Question[] => [
  { service: 'cvm', action: 'DescribeInstances', params: { Limit: 1 } },
  { service: 'cvm', action: 'DescribeRegions', params: {} },
  { service: 'cvm', action: 'DescribeTaskInfo', params: { Limit: 1, Offset: 0 } },
  {
    service: 'cvm',
    action: 'DescribeZoneInstanceConfigInfos',
    params: { Filters: [{ Name: 'instance-charge-type', Values: ['POSTPAID_BY_HOUR'] }] },
  },
  { service: 'as', action: 'DescribeAutoScalingGroups', params: { Limit: 1 } },
  { service: 'as', action: 'DescribeLaunchConfigurations', params: { Limit: 1 } },
  { service: 'as', action: 'DescribeAutoScalingInstances', params: { Limit: 1 } },
  { service: 'as', action: 'DescribeLifecycleHooks', params: { Limit: 1 } },
  { service: 'as', action: 'DescribeScalingPolicies', params: { Limit: 1 } },
  {
    service: 'billing',
    action: 'DescribeBillDetail',
    params: { Month: new Date(now).toISOString().slice(0, MONTH_LENGTH), Offset: 0, Limit: 1 },
  },
];

/**
 * As ProviderConnection.granted says; whatever needs a reading, it is made with the keys for reading. @param now epoch
 * milliseconds
 */
export async function granted(client: TencentClient, permission: string, now: number): Promise<boolean | null> {
  const question = readings(now).find(({ service, action }) => permissionOf(service, action) === permission);
  if (question === undefined) return null;
  const { service, action, params } = question;
  return permitted(() =>
    client.call(service, action, service === 'billing' ? null : (client.settings.regions[0] ?? null), params),
  );
}
