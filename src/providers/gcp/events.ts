/**
 * What Google itself did to instances: preempted them, lost their hosts, or deleted them on a request; read from the
 * operations of their zones.
 *
 * A witness that does not depend on the exporters of a machine. The invariant: only operations after a machine's last
 * start count, and a machine is reported as gone only if its project was listed completely; a machine without an
 * explaining operation stays as listed. A deletion by the machine's group belongs to the group, and does not count as a
 * loss. Sources: Compute Engine, "Spot VMs" and "Create and use preemptible VMs" (the operation
 * compute.instances.preempted), "Host events" (compute.instances.hostError, compute.instances.automaticRestart), "About
 * audited system events"; compute v1, Operation and zoneOperations.list (filters, order).
 */
import type { Ended, FleetTarget } from '../../core/fleet/fleet.js';
import { HOUR_MS } from '../../core/time.js';
import { unlessFailed, type Tell } from '../rpc.js';
import type { GoogleClient } from './client.js';
import { instantOf } from './instances.js';
import { OPERATIONS, type Receipt } from './operations.js';
import { parseTarget } from './targets.js';

/** Its own doing; by a restart of its own a lost host is over. */
const TAKEN: ReadonlySet<string> = new Set(['compute.instances.preempted', 'compute.instances.hostError']);
const ITS_OWN: readonly string[] = [...TAKEN, 'compute.instances.automaticRestart'];
const MOST = 500;
/** By which managed instance groups and other services of Google act in a project. */
const SERVICE = /@cloudservices\.gserviceaccount\.com$/;
/** As long as AWS goes on listing what has ended. */
const LISTED_MS = HOUR_MS;

interface Event {
  readonly kind: string;
  readonly at: number;
}

/** The last listed instances of a connection's projects, and those that have ended since. */
export class Events {
  private readonly last = new Map<string, ReadonlyMap<string, FleetTarget>>();
  private readonly gone = new Map<string, { readonly target: FleetTarget; readonly until: number }>();

  constructor(private readonly client: GoogleClient) {}

  /**
   * The instances of a project with what was done to them; those too that were done away with within the hour.
   * @param whole whether every instance of the project is among them
   * @param notRead receives what of that could not be read; the instances are kept
   */
  async withEvents(
    project: string,
    listed: readonly FleetTarget[],
    whole: boolean,
    now: number,
    notRead: Tell,
  ): Promise<FleetTarget[]> {
    const before = this.last.get(project);
    const present = new Map(listed.map((one) => [one.target, one]));
    for (const target of present.keys()) this.gone.delete(target);
    const vanished = whole ? [...(before?.values() ?? [])].filter(({ target }) => !present.has(target)) : [];
    if (whole) this.last.set(project, present);
    const known = new Map<string, FleetTarget>();
    const all = [...listed, ...vanished];
    for (const zone of new Set(all.map(zoneOf))) {
      const own = all.filter((one) => zoneOf(one) === zone);
      const tell: Tell = (message) =>
        notRead(`what Google itself did to instances in ${zone} was not read: ${message}`);
      const events = await unlessFailed(() => this.eventsIn(project, zone), tell);
      for (const one of own) known.set(one.target, withEvent(one, eventOf(one, events)));
      const ended = own.filter(({ target }) => !present.has(target));
      if (events === null || ended.length === 0) continue;
      const deleted = await unlessFailed(() => this.deletedIn(project, zone, ended), tell);
      for (const one of ended) this.end(one, eventOf(one, events), deleted ?? new Set(), now);
    }
    for (const [target, { until }] of this.gone) if (until <= now) this.gone.delete(target);
    const ours = [...this.gone.values()].filter(({ target }) => parseTarget(target.target)?.project === project);
    return [...listed.map((one) => known.get(one.target) ?? one), ...ours.map(({ target }) => target)];
  }

  private end(one: FleetTarget, event: Event | null, deleted: ReadonlySet<string>, now: number): void {
    const ended: Ended | null =
      event !== null && TAKEN.has(event.kind)
        ? { by: 'cloud', because: `operation ${event.kind}` }
        : deleted.has(idOf(one))
          ? { by: 'somebody', because: 'operation delete' }
          : null;
    if (ended === null) return;
    const { unwell: _, ...rest } = one;
    this.gone.set(one.target, { target: { ...rest, state: 'gone', billing: 'ended', ended }, until: now + LISTED_MS });
  }

  /** The newest of its own doings by the number of the instance. @throws Failure */
  private async eventsIn(project: string, zone: string): Promise<ReadonlyMap<string, Event>> {
    const filter = ITS_OWN.map((kind) => `(operationType = "${kind}")`).join(' OR ');
    const found = new Map<string, Event>();
    for (const { targetId, operationType, insertTime } of await this.operations(project, zone, filter)) {
      const at = instantOf(insertTime);
      const newest = found.get(targetId ?? '');
      if (typeof targetId === 'string' && at !== null && (newest === undefined || newest.at < at))
        found.set(targetId, { kind: operationType ?? '', at });
    }
    return found;
  }

  /** Numbers of instances that somebody has deleted. @throws Failure */
  private async deletedIn(project: string, zone: string, ended: readonly FleetTarget[]): Promise<ReadonlySet<string>> {
    const which = ended.map((one) => `(targetId = ${idOf(one)})`).join(' OR ');
    const found = await this.operations(project, zone, `(operationType = "delete") AND (${which})`);
    return new Set(
      found.flatMap(({ operationType, targetId, user, error }) =>
        operationType === 'delete' &&
        typeof targetId === 'string' &&
        !SERVICE.test(user ?? '') &&
        (error ?? null) === null
          ? [targetId]
          : [],
      ),
    );
  }

  private async operations(project: string, zone: string, filter: string): Promise<readonly Receipt[]> {
    const page = await this.client.read(OPERATIONS.zone.operations, {
      path: { project, zone },
      query: { filter, maxResults: MOST, orderBy: 'creationTimestamp desc' },
    });
    return page.items ?? [];
  }
}

const zoneOf = ({ target }: FleetTarget): string => parseTarget(target)?.place ?? '';
const idOf = ({ target }: FleetTarget): string => parseTarget(target)?.id ?? '';

/** The event after its last start. */
function eventOf(one: FleetTarget, events: ReadonlyMap<string, Event> | null): Event | null {
  const event = events?.get(idOf(one)) ?? null;
  return event === null || one.launchedAt === null || event.at < one.launchedAt ? null : event;
}

function withEvent(one: FleetTarget, event: Event | null): FleetTarget {
  if (event === null || !TAKEN.has(event.kind)) return one;
  const because = `operation ${event.kind}`;
  if (one.state === 'running') return { ...one, unwell: because };
  return one.state === 'stopped' || one.state === 'stopping' ? { ...one, ended: { by: 'cloud', because } } : one;
}
