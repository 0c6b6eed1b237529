/**
 * What an exporter's answer without a card implies about the card, judged by the cards that it names instead and by the
 * start of its machine: a machine that was moved to another host has other cards, and an address may belong to another
 * machine by now.
 *
 * Facts only; core/fleet/health.ts judges.
 */
import type { DeviceHistory } from '../../core/fleet/health.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { RecentDevice } from './recent-devices.js';
import type { SampleGroup } from './sample-block.js';

/** A machine that was started so shortly ago may still look for its cards. */
const BOOT_MS = 15 * MINUTE_MS;

export interface SeenDevices {
  readonly devices: readonly RecentDevice[];
  /** When each card was seen last. */
  readonly cards: ReadonlyMap<string, number>;
  /** When an exporter answered last; null: it does not now. */
  readonly answeredAt: (exporter: string) => number | null;
}

type Answers = (device: RecentDevice) => Pick<DeviceHistory, 'answer'>;

export async function answersWithout(
  db: Queryable,
  organisation: string,
  { devices, cards, answeredAt }: SeenDevices,
  now: number,
): Promise<Answers> {
  const seenAt = ({ group: { gpu } }: RecentDevice): number => cards.get(gpu) ?? -Infinity;
  const missing = devices.filter(
    (one) => one.group.exporter !== null && seenAt(one) < (answeredAt(one.group.exporter) ?? -Infinity),
  );
  if (missing.length === 0) return () => ({});
  const firsts = firstSeen(devices, new Set(missing.map(({ group }) => group.exporter)));
  const launched = await launchesOf(db, organisation, missing, seenAt, now);
  const isMissing = new Set(missing);
  const byExporter = new Map<string | null, RecentDevice[]>(missing.map(({ group }) => [group.exporter, []]));
  for (const one of devices) byExporter.get(one.group.exporter)?.push(one);
  const answers = new Map(
    missing.map((one): readonly [RecentDevice, ReturnType<Answers>] => {
      const ofExporter = byExporter.get(one.group.exporter) ?? [];
      const away = ofExporter.filter(
        (other) => isMissing.has(other) && Math.abs(seenAt(other) - seenAt(one)) <= MINUTE_MS,
      );
      const since = ofExporter.filter(({ group }) => (firsts.get(group.gpu) ?? -Infinity) > seenAt(one));
      const isReplaced = cardsOf(since) > 0 && cardsOf(since) >= cardsOf(away);
      const isOwn = since.some(({ group }) => isOneMachine(group, one.group));
      if (isReplaced) return [one, { answer: isOwn ? 'another-card' : 'another-machine' }];
      return [one, launched.has(keyOf(one.group)) ? { answer: 'started-since' } : {}];
    }),
  );
  return (device) => answers.get(device) ?? {};
}

const cardsOf = (devices: readonly RecentDevice[]): number => new Set(devices.map(({ group }) => group.gpu)).size;

/** When each card that some exporters report was seen first, as far back as is looked. */
function firstSeen(
  devices: readonly RecentDevice[],
  exporters: ReadonlySet<string | null>,
): ReadonlyMap<string, number> {
  const firsts = new Map<string, number>();
  for (const { group, seenAt, readings } of devices.filter((one) => exporters.has(one.group.exporter)))
    firsts.set(group.gpu, Math.min(readings()[0]?.at ?? seenAt, firsts.get(group.gpu) ?? Infinity));
  return firsts;
}

const keyOf = ({ connection, target }: SampleGroup): string => JSON.stringify([connection, target]);

/** Pods come and go on one machine; of machines the names and what the fleet says have to agree. */
function isOneMachine(one: SampleGroup, other: SampleGroup): boolean {
  const differ = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b;
  if (differ(one.region, other.region)) return false;
  if (one.pod !== null || other.pod !== null) return true;
  return one.resource === other.resource && !differ(one.target, other.target);
}

/** Machines that were started a moment ago, after a card of theirs was seen last. */
async function launchesOf(
  db: Queryable,
  organisation: string,
  devices: readonly RecentDevice[],
  seenAt: (device: RecentDevice) => number,
  now: number,
): Promise<ReadonlySet<string>> {
  const joined = devices.filter(({ group: { target } }) => target?.startsWith('instance/') === true);
  if (joined.length === 0) return new Set();
  const rows = await db.query<{ connection: string; target: string; launched: string }>(
    `select connection, target, body ->> 'launchedAt' as launched from fleet_target
     where organisation = $1 and target = any($2::text[]) and gone_at is null
       and to_timestamp((body ->> 'launchedAt')::float8 / 1000) > $3`,
    [organisation, [...new Set(joined.map(({ group }) => group.target))], formatInstant(now - BOOT_MS)],
  );
  const at = new Map(
    rows.map(({ connection, target, launched }) => [JSON.stringify([connection, target]), Number(launched)]),
  );
  return new Set(
    joined.filter((one) => (at.get(keyOf(one.group)) ?? -Infinity) > seenAt(one)).map(({ group }) => keyOf(group)),
  );
}
