/**
 * Azure's own report on machines, from the table HealthResources of Azure Resource Graph: running machines that are not
 * available, and stopped spot machines that were evicted, not stopped by a person.
 *
 * A witness that does not depend on the exporters of a machine. The invariant: a sign that a reboot also shows proves
 * nothing: an unavailable machine counts at once only if Azure calls the cause unplanned and its own, and otherwise
 * once it lasts longer than a boot; a cause requested by a person or process never counts. A list without any running
 * machine is reported as not readable, because the graph leaves out, without an error, the rows that the caller may not
 * see. Sources: learn.microsoft.com, "VM availability information in Azure Resource Graph", "Resource Health virtual
 * machine Health Annotations", "Azure Resource Graph overview" (permissions).
 */
import { z } from 'zod';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { azureIdOf } from '../../core/fleet/azure-id.js';
import { MINUTE_MS } from '../../core/time.js';
import { unlessFailed, type Tell } from '../rpc.js';
import type { AzureClient } from './client.js';
import { OPERATIONS } from './operations.js';

/** The permission that the graph requires in addition to its own. */
const HEALTH_PERMISSION = 'Microsoft.ResourceHealth/availabilityStatuses/read';
export const HEALTH_PERMISSIONS: readonly string[] = [OPERATIONS.graph.permission, HEALTH_PERMISSION];

/** A machine with eight GPUs takes up to ten minutes to boot. */
const BOOT_MS = 15 * MINUTE_MS;
const MOST_IDS = 200;
const EVICTED = 'VirtualMachinePreempted';

const text = z.string().nullish();
/** A row of the answer to the question below, of either of the table's two types. */
const ROW = z.object({
  targetResourceId: z.string(),
  occurredTime: text,
  availabilityState: text,
  annotationName: text,
  context: text,
  category: text,
});
type Row = z.output<typeof ROW>;

export const healthQuery = (ids: readonly string[]): string =>
  [
    'HealthResources',
    "where type in~ ('microsoft.resourcehealth/availabilitystatuses', 'microsoft.resourcehealth/resourceannotations')",
    `where tostring(properties.targetResourceId) in~ (${ids.map((id) => `'${id}'`).join(', ')})`,
    `project ${Object.keys(ROW.shape)
      .map((name) => `${name} = tostring(properties.${name})`)
      .join(', ')}`,
    'order by targetResourceId asc',
  ].join(' | ');

/** The known facts about a machine. */
interface Health {
  readonly status: Row | null;
  /** The newest annotation. */
  readonly annotation: Row | null;
}

/** Machines with what Azure says of them. @param notRead receives what could not be read; the machines are kept */
export async function withHealth(
  client: AzureClient,
  subscription: string,
  machines: readonly FleetTarget[],
  now: number,
  notRead: Tell,
): Promise<readonly FleetTarget[]> {
  const asked = machines.filter(({ kind, state, term }) => kind === 'instance' && isAsked(state, term));
  if (asked.length === 0) return machines;
  const found = await unlessFailed(
    () =>
      readHealth(
        client,
        subscription,
        asked.map(pathOf).filter((id) => id !== null),
      ),
    (message) => notRead(`what Azure says of their health was not read: ${message}`),
  );
  if (found === null) return machines;
  const running = asked.filter(({ state }) => state === 'running').map(keyOfTarget);
  if (running.length > 0 && !running.some((key) => (found.get(key)?.status ?? null) !== null))
    notRead(
      `the graph has no word on the health of any of the ${running.length} that run: ${HEALTH_PERMISSION} may be missing`,
    );
  return machines.map((one) => asStated(one, found.get(keyOfTarget(one)), now));
}

const isAsked = (state: FleetTarget['state'], term: FleetTarget['term']): boolean =>
  state === 'running' || (term === 'spot' && (state === 'stopped' || state === 'stopping'));

async function readHealth(
  client: AzureClient,
  subscription: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Health>> {
  const found = new Map<string, Health>();
  for (let from = 0; from < ids.length; from += MOST_IDS) {
    // Two rows for each at most: one page holds them.
    const { data } = await client.ask(OPERATIONS.graph, {
      subscriptions: [subscription],
      query: healthQuery(ids.slice(from, from + MOST_IDS)),
      options: { $top: 1000, resultFormat: 'objectArray' },
    });
    for (const one of data) {
      const row = ROW.safeParse(one).data;
      const key = row === undefined ? undefined : azureIdOf(row.targetResourceId)?.id;
      if (row === undefined || key === undefined) continue;
      const { status, annotation } = found.get(key) ?? { status: null, annotation: null };
      const isStatus = (row.availabilityState ?? '') !== '';
      found.set(key, {
        status: isStatus ? newer(status, row) : status,
        annotation: isStatus ? annotation : newer(annotation, row),
      });
    }
  }
  return found;
}

const timeOf = (row: Row): number => Date.parse(row.occurredTime ?? '') || 0;
const newer = (known: Row | null, row: Row): Row => (known !== null && timeOf(known) >= timeOf(row) ? known : row);

function asStated(one: FleetTarget, health: Health | undefined, now: number): FleetTarget {
  if (health === undefined) return one;
  const { status, annotation } = health;
  if (one.state === 'running') {
    const why = status?.availabilityState === 'Unavailable' ? unwellBecause(status, annotation, now) : null;
    return why === null ? one : { ...one, unwell: why };
  }
  const isEvicted = isAsked(one.state, one.term) && annotation?.annotationName === EVICTED;
  return isEvicted ? { ...one, ended: { by: 'cloud', because: `annotation ${EVICTED}` } } : one;
}

/** Words of the annotations are written with a blank in some pages and with a hyphen in others. */
const is = (word: string | null | undefined, ...words: readonly string[]): boolean =>
  words.includes((word ?? '').toLowerCase().replaceAll('-', ' '));

function unwellBecause(status: Row, annotation: Row | null, now: number): string | null {
  const { annotationName, context, category } = annotation ?? {};
  if (is(context, 'customer initiated', 'user initiated')) return null;
  if (is(context, 'platform initiated') && is(category, 'unplanned')) return `annotation ${annotationName}`;
  const since = Date.parse(status.occurredTime ?? '');
  return now - since >= BOOT_MS ? 'availabilityState Unavailable' : null;
}

const keyOfTarget = ({ target }: FleetTarget): string => target.slice(target.lastIndexOf('/') + 1).toLowerCase();

/** Azure's own id of a machine; null: of a form that cannot stand in a question. */
function pathOf({ target }: FleetTarget): string | null {
  const [subscription, group, name = '', member] = target.slice(target.lastIndexOf('/') + 1).split(':');
  const compute = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Compute`;
  const path =
    member === undefined
      ? `${compute}/virtualMachines/${name}`
      : `${compute}/virtualMachineScaleSets/${name}/virtualMachines/${member}`;
  return /['\\|]/.test(path) ? null : path;
}
