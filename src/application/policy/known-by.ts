/**
 * Resolves a name to a target of the fleet, a name used by readings, a team or a budget, and collects the known facts
 * about it.
 *
 * Reads only. An ambiguous name returns every candidate: it is never treated as one of them, and never as unknown.
 */
import { missing } from '../../core/errors.js';
import { groupOf, isMember } from '../../core/fleet/membership.js';
import { cluesOf, FleetJoin, type Candidate, type Joined } from '../../core/fleet/join.js';
import { WORKLOAD_LABELS } from '../../core/policy/fleet-workload.js';
import { countGpus, sayGpus } from '../../core/fleet/measured-gpus.js';
import { DAY_MS, dayLabel, sayInstant } from '../../core/time.js';
import type { Queryable } from '../../store/database.js';
import type { StoredState } from '../../store/budget/budgets.js';
import type { SeenTarget } from '../../store/fleet/fleet.js';
import type { MeasuredResource } from '../../store/fleet/measured.js';
import { ownEnd } from '../../store/action/own-stops.js';
import type { Stores } from '../../store/stores.js';

export interface Known {
  /** `ambiguous`: several targets have the name. */
  readonly kind: 'team' | 'budget' | 'target' | 'measured' | 'ambiguous';
  readonly target: string;
  readonly team: string;
  /** The teams of everything in the answer. */
  readonly teams: readonly string[];
  /** The known facts, as sentences. */
  readonly known: string[];
  /** Names that policies may call it by; null: everything of the team. */
  readonly names: readonly string[] | null;
}

const MEASURED_MS = DAY_MS;

interface JoinedResource extends MeasuredResource {
  readonly joined: Joined;
}

const gpusOf = (all: readonly MeasuredResource[], of?: string): string => sayGpus(countGpus(all), of);
const sayMeasured = (one: MeasuredResource): string => `${gpusOf([one])} of ${one.resource} are measured`;
const listed = (all: readonly { readonly resource: string }[]): string =>
  unique(all.map(({ resource }) => resource)).join(', ');
const unique = <Value>(all: readonly Value[]): Value[] => [...new Set(all)];
const isOne = (one: Pick<Candidate, 'connection' | 'seen'> | null, { connection, seen }: SeenTarget): boolean =>
  one !== null && one.connection === connection && one.seen.target === seen.target;

/** Facts that two sources report about one resource are listed once. */
function byResource(all: readonly JoinedResource[]): Map<string, [JoinedResource, ...JoinedResource[]]> {
  const found = new Map<string, [JoinedResource, ...JoinedResource[]]>();
  for (const one of all) {
    const known = found.get(one.resource);
    if (known === undefined) found.set(one.resource, [one]);
    else known.push(one);
  }
  return found;
}

export type KnowingStores = Pick<Stores, 'fleet' | 'measured' | 'budgets' | 'organisations' | 'recommendations'>;

/** @throws Failure missing if nothing of that name is known. */
export async function knownBy(
  { fleet, measured, budgets, organisations, recommendations }: KnowingStores,
  db: Queryable,
  organisation: string,
  asked: string,
  now: number,
): Promise<Known> {
  const machines = await measured.candidates(db, organisation);
  const join = new FleetJoin(machines);
  const all = (await measured.list(db, organisation, now - MEASURED_MS, null)).map(
    (one): JoinedResource => ({ ...one, joined: join.join(cluesOf(one.called)) }),
  );
  const [seen, ...others] = await fleet.allNamed(db, organisation, asked);
  if (seen !== undefined && others.length === 0) return ofTarget(seen, all, membersOf(seen, machines));
  const called = all.filter((one) => isCalled(one, asked));
  if (seen !== undefined) return ofSeveral(asked, [seen, ...others], called);
  if (called.length > 0) return ofMeasured(asked, called);
  const budget = (await budgets.list(db, organisation)).find(({ id }) => id === asked);
  if (budget !== undefined)
    return {
      kind: 'budget',
      target: asked,
      team: budget.team,
      teams: [budget.team],
      names: null,
      known: [
        `a budget of ${budget.team}`,
        sayState(budget.zone, await budgets.states(organisation, now, budget.id, db)),
      ],
    };
  const [proposed] = await recommendations.ofTarget(db, organisation, asked);
  if (proposed !== undefined)
    return {
      kind: 'target',
      target: asked,
      team: proposed.team,
      teams: [proposed.team],
      names: [asked],
      known: [`no connection knows it; ${proposed.policy} proposes something for it`],
    };
  const gone = await fleet.goneNamed(db, organisation, asked, now - MEASURED_MS);
  if (gone !== null) return ofGone(gone, await ownEnd(db, organisation, gone.connection, gone.seen.target));
  const own = all.filter((each) => each.team === asked);
  if (own.length === 0 && (await organisations.team(db, organisation, asked)) === null)
    throw missing(`nothing is known by the name ${asked}: no team, budget or target, and no GPU measured within a day`);
  return {
    kind: 'team',
    target: asked,
    team: asked,
    teams: [asked],
    names: null,
    known: [
      `${gpusOf(own, ' of its')} are measured`,
      ...own.flatMap(({ resource, detail }) => (detail === null ? [] : [`${resource}: ${detail}`])),
    ],
  };
}

/** Targets that have left the fleet recently: who removed them, and what follows. */
function ofGone(
  { seen, connection, team, goneAt }: SeenTarget,
  own: { readonly id: string; readonly kind: string } | null,
): Known {
  const { ended, target } = seen;
  const by =
    own !== null && ended?.by !== 'cloud'
      ? `Bursar ended it (${own.kind} of ${own.id}): bursar actions show ${own.id} says why${own.kind === 'replace' ? ', and what runs in its place' : ''}`
      : ended === undefined
        ? 'its cloud does not say who ended it'
        : `${ended.by === 'cloud' ? 'its cloud took it away' : 'somebody ended it, and Bursar does not replace what somebody ended'} (${ended.because})`;
  return {
    kind: 'target',
    target,
    team,
    teams: [team],
    names: [target, `${connection}/${target}`, seen.name],
    known: [
      `${connection} knew it as ${target}, ${seen.sku ?? 'unknown SKU'} in ${seen.region ?? 'an unknown region'}`,
      `it is gone${goneAt === null ? '' : ` since ${sayInstant(goneAt)}`}: ${by}`,
    ],
  };
}

/** By its own name, or by a host name, an address or an id that its series have. */
function isCalled({ resource, called }: MeasuredResource, asked: string): boolean {
  const { ids, hosts, addresses } = cluesOf(called);
  return resource === asked || (called.pod === null && [...ids, ...hosts, ...addresses].includes(asked));
}

/** A decimal without the zeros at its end. */
const short = (amount: string): string => (amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount);

/** The state of a budget in its current period, as a sentence; its days are those of its zone. */
function sayState(zone: string, [found]: readonly StoredState[]): string {
  if (found === undefined) return 'its spend has not been compared with its plan yet';
  const { planned, spent, currency, forecast, unpricedGpuHours } = found.state;
  const unpriced = /[1-9]/.test(unpricedGpuHours) ? `, and ${short(unpricedGpuHours)} GPU-hours without a price` : '';
  const ahead =
    forecast === null
      ? 'no forecast yet'
      : `${short(forecast.mean)} (${short(forecast.low)} to ${short(forecast.high)}) forecast`;
  const [from, to] = [Date.parse(found.periodStart), Date.parse(found.periodEnd) - 1].map((at) => dayLabel(at, zone));
  return (
    `from ${from} to ${to}: ${short(spent)} ${currency} spent${unpriced}, ` +
    `${planned === null ? 'nothing planned' : `${short(planned)} planned`}, ${ahead} at its end`
  );
}

const membersOf = (group: SeenTarget, machines: readonly Candidate[]): Candidate[] =>
  machines.filter(({ connection, seen }) => connection === group.connection && groupOf(seen) === group.seen.target);

/** @param members the machines of a group */
function ofTarget(one: SeenTarget, all: readonly JoinedResource[], members: readonly Candidate[]): Known {
  const { seen, connection, team } = one;
  const own = all.filter(({ connection: of, target }) => of === connection && target === seen.target);
  const maybe = all.filter(
    ({ target, joined }) =>
      target === null && joined.found === null && joined.among.some((candidate) => isOne(candidate, one)),
  );
  const held = all.filter(
    ({ called, target, joined }) => called.pod !== null && target !== seen.target && isOne(joined.machine, one),
  );
  const known = [
    `${connection} knows it as ${seen.target}: ${seen.state}, ${seen.sku ?? 'unknown SKU'} in ${seen.region ?? 'an unknown region'}`,
  ];
  if (seen.outOfService !== undefined)
    known.push(
      `its group does not count it among those in service (${seen.outOfService}): its use does not count for the group`,
    );
  if (own.length > 0) known.push(`${gpusOf(own)} are measured as its own: ${listed(own)}`);
  for (const [resource, [first, ...others]] of byResource(held))
    known.push(
      `${gpusOf([first, ...others], ' of its')} are held by ${resource}${first.target === null ? '' : `, of ${first.target}`}: ask about that`,
    );
  for (const [resource, [first, ...others]] of byResource(maybe))
    known.push(
      `${gpusOf([first, ...others])} are measured as ${resource}: ${first.joined.found === null ? first.joined.detail : ''}`,
    );
  const parts = all.filter(
    ({ connection: of, target }) => of === connection && members.some(({ seen: member }) => member.target === target),
  );
  if (members.length > 0)
    known.push(`it has ${members.length} machine(s), and ${gpusOf(parts, ' of their')} were measured within a day`);
  else if (own.length + held.length + maybe.length === 0) known.push('none of its GPUs was measured within a day');
  if (seen.kind === 'instance' && !isMember(seen) && seen.labels[WORKLOAD_LABELS.kind] === undefined)
    known.push(`policies for workloads, such as spot-shift, ignore it: it has no label ${WORKLOAD_LABELS.kind}`);
  return {
    kind: 'target',
    target: seen.target,
    team,
    teams: [team],
    names: [
      seen.target,
      `${connection}/${seen.target}`,
      seen.name,
      ...maybe.map(({ resource }) => resource),
      ...held.map(({ resource, target }) => target ?? resource),
      ...members.map(({ seen: member }) => member.target),
    ],
    known,
  };
}

function ofSeveral(asked: string, all: readonly SeenTarget[], called: readonly JoinedResource[]): Known {
  const [first] = all;
  const targets = all.map(({ connection, seen }) => `${seen.target} of ${connection}`);
  return {
    kind: 'ambiguous',
    target: asked,
    team: called[0]?.team ?? first?.team ?? '',
    teams: unique([...all, ...called].map(({ team }) => team)),
    names: [asked, ...called.map(({ resource, target }) => target ?? resource)],
    known: [
      `${asked} could be ${targets.join(', ')}: ask about one of them`,
      ...called.map((each) =>
        [`${sayMeasured(each)} by ${each.source}`, ...(each.detail === null ? [] : [each.detail])].join(': '),
      ),
    ],
  };
}

function ofMeasured(asked: string, called: readonly JoinedResource[]): Known {
  const [one] = called;
  return {
    kind: 'measured',
    target: called.length === 1 ? (one?.target ?? one?.resource ?? asked) : asked,
    team: one?.team ?? '',
    teams: unique(called.map(({ team }) => team)),
    names: [asked, ...called.flatMap(({ resource, target }) => [resource, ...(target === null ? [] : [target])])],
    known: called.flatMap((each) => [
      `${sayMeasured(each)} by ${each.source}`,
      ...(each.detail === null ? [] : [each.detail]),
    ]),
  };
}
