/**
 * EC2's own report on running instances: its status checks, and its scheduled events.
 *
 * A witness that does not depend on the exporters of a machine. The invariant: a sign that a reboot also shows proves
 * nothing: the check of the instance (its operating system answers) counts only once it has failed for longer than a
 * machine takes to boot; the check of the system concerns the host; an event counts once its time has come, since a
 * machine that is to be retired in two weeks may be rebooted until then. Sources: Amazon EC2 User Guide, "Status checks
 * for Amazon EC2 instances" and "Scheduled events for Amazon EC2 instances"; Amazon EC2 API Reference,
 * DescribeInstanceStatus (events that are over stay listed for a week, `[Completed]` or `[Canceled]` in their text).
 */
import { paginateDescribeInstanceStatus, type InstanceStatus } from '@aws-sdk/client-ec2';
import { MINUTE_MS } from '../../core/time.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';

export const STATUS_PERMISSION = 'ec2:DescribeInstanceStatus';

/** A machine with eight GPUs takes up to ten minutes to boot. */
const BOOT_MS = 15 * MINUTE_MS;
/** The host is failing, or has. */
const ENDS: ReadonlySet<string> = new Set(['instance-retirement', 'instance-stop']);

/** The unhealthy running instances of a region, by id, each with the reason. @throws Failure */
export async function unwellInstances(
  clients: Clients,
  region: string,
  now: number,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const pages = paginateDescribeInstanceStatus({ client: clients.ec2(region) }, { MaxResults: 1000 });
  for await (const page of readingPages(STATUS_PERMISSION, pages))
    for (const one of page.InstanceStatuses ?? []) {
      const why = unwellBecause(one, now);
      if (why !== null && one.InstanceId !== undefined) found.set(one.InstanceId, why);
    }
  return found;
}

function unwellBecause({ SystemStatus, InstanceStatus: own, Events }: InstanceStatus, now: number): string | null {
  if (SystemStatus?.Status === 'impaired') return 'SystemStatus impaired';
  const event = Events?.find(
    ({ Code, Description, NotBefore }) =>
      ENDS.has(Code ?? '') &&
      NotBefore !== undefined &&
      NotBefore.getTime() <= now &&
      !/^\[(?:Completed|Canceled)\]/.test(Description ?? ''),
  );
  if (event !== undefined) return `scheduled event ${event.Code}`;
  const since = (own?.Details ?? []).flatMap(({ Status, ImpairedSince }) =>
    Status === 'failed' && ImpairedSince !== undefined ? [ImpairedSince.getTime()] : [],
  );
  const failedLong = since.some((at) => now - at >= BOOT_MS);
  return own?.Status === 'impaired' && failedLong ? 'InstanceStatus impaired' : null;
}
