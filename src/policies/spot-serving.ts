/**
 * spot-serving: holds the replicas of a service on spot of several zones, regions and clouds, with as many on demand as
 * its objective needs, at the least cost.
 *
 * A service is scaling groups that share the label bursar.io/service, each on spot at one place or on demand. The
 * planner (planning/spot-serving) says how many replicas each should have, and keeps what may go unserved above what the
 * loss of all spot would cost. More comes before less: replicas are taken away only where as many as are promised are
 * ready without them, and none while the state of a group is unknown.
 */
import { z } from 'zod';
import { own } from '../core/own.js';
import { WORKLOAD_LABELS } from '../core/policy/fleet-workload.js';
import {
  READY_REPLICAS,
  type LeftAlone,
  type MinuteSeries,
  type Policy,
  type PolicyView,
  type Proposal,
  type SavingsEstimate,
  type SpotMarket,
  type WorkloadView,
} from '../core/policy/policy.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, sayInstant } from '../core/time.js';
import { AS_OF, exampleView, minutes, offer, OFFERS, steady, workload } from './estimating/examples.js';
import { explainTarget, isLeft, leftAlone, sawOf, type Judged } from './estimating/explanations.js';
import { EIGHTY_PERCENT, evidenceOf, monthly, monthlyBetween, monthlyCostOf, units } from './estimating/money.js';
import { servedOf, type Served } from './estimating/served.js';
import {
  askedOf,
  fallbackMost,
  groupsOf,
  type ServingGroup,
  type ServingGroups,
  type UnpricedGroup,
} from './estimating/serving-groups.js';
import { plannedSizes, standInSizes, type Sizes } from './estimating/serving-plan.js';

const params = z.strictObject({
  service: z
    .string()
    .min(1)
    .max(128)
    .describe(`The service: the value of the label ${WORKLOAD_LABELS.service} of its scaling groups`),
  replicas: z.number().int().min(1).max(100).describe('Replicas that must serve at all times'),
  objective: z
    .number()
    .min(0.5)
    .max(0.9999)
    .default(0.99)
    .describe('Share of the wanted replica time that must be served in every window'),
  windowHours: z
    .number()
    .int()
    .min(12)
    .max(168)
    .default(48)
    .describe('Hours of a window of the objective; windows follow each other'),
  coldStartMinutes: z
    .number()
    .min(0)
    .max(120)
    .default(5)
    .describe('Minutes from the order of a replica until it serves'),
  historyDays: z
    .number()
    .min(1)
    .max(90)
    .default(14)
    .describe('Days of recorded availability that a zone needs, and that a saving is computed from'),
});
type Params = z.infer<typeof params>;

/** A service as it stands, with the sizes that its groups should have. */
interface Planned {
  readonly groups: ServingGroups;
  readonly served: Served;
  readonly sizes: Sizes;
  /** Why nothing can be planned: then on-demand only stands in for what is missing. Null: it is planned. */
  readonly unplanned: LeftAlone | null;
}

const ofService = (view: PolicyView, { service }: Params): WorkloadView[] =>
  view.workloads.filter(({ partOf }) => partOf === service);

function plan(view: PolicyView, given: Params, document: string | undefined): Planned {
  const all = ofService(view, given);
  const groups = groupsOf(view, all, given);
  const gone = view.goneReplicas?.[given.service] ?? [];
  const since = own(view.documentsSince, document ?? '') ?? -Infinity;
  const served = servedOf([...all.flatMap(readyOf), ...gone], given, since, view.asOf);
  const sizes = groups.onDemand.length * groups.spot.length === 0 ? '' : plannedSizes(groups, served, given, view.asOf);
  if (typeof sizes !== 'string') return { groups, served, sizes, unplanned: null };
  return { groups, served, sizes: standInSizes(groups, all, given), unplanned: unplannedBy(groups, given, sizes) };
}

function unplannedBy({ onDemand, unpriced, spot }: ServingGroups, { service }: Params, why: string): LeftAlone {
  if (onDemand.length + unpriced.length === 0)
    return leftAlone(
      'no-fallback',
      `no group of ${service} is known to run on demand, to which it would fall back`,
      'a scaling group on demand with that label and its size',
    );
  const standsIn = 'on-demand stands in where too few are ready, and nothing else is done';
  if (onDemand.length === 0)
    return leftAlone(
      'no-price',
      `no price of ${service} on demand is known, so nothing is planned: ${standsIn}`,
      'a price of its groups on demand',
    );
  return spot.length === 0
    ? leftAlone(
        'no-spot',
        `no group of ${service} is known to run on spot: ${standsIn}`,
        'a scaling group on spot with that label, its size, its price and readings of its market',
      )
    : leftAlone(
        'no-plan',
        `its objective cannot be planned for: ${why}; ${standsIn}`,
        'another objective, cold start or window',
      );
}

const readyOf = ({ metrics }: WorkloadView): readonly MinuteSeries[] =>
  metrics[READY_REPLICAS] === undefined ? [] : [metrics[READY_REPLICAS]];

function judge(view: PolicyView, one: WorkloadView, planned: Planned, given: Params): Judged {
  const { groups, sizes, unplanned } = planned;
  const size = sizes.get(one.workload);
  const known = [...groups.onDemand, ...groups.spot].find((each) => each.one === one);
  const group = known ?? groups.unpriced.find((each) => each.one === one);
  if (unplanned !== null && group !== undefined && size !== undefined && size > askedOf(group))
    return standIn(view, group, size, planned, given);
  const refused = groups.refused.get(one.workload) ?? unplanned;
  if (refused !== null) return refused;
  if (known === undefined || size === undefined || size === askedOf(known))
    return leftAlone('as-planned', `its size is the one of the plan for ${given.service}`, 'spot that comes or goes');
  // Others that are refused count for nothing: as many as are promised stay ready without them.
  const unknown = [...groups.refused].find(([, { code }]) => code === 'size-unknown');
  if (size < askedOf(known) && unknown !== undefined)
    return leftAlone(
      'unknown-group',
      `replicas are taken away only where every group of ${given.service} is known, and of ${unknown[0]}: ${unknown[1].message}`,
      unknown[1].toAct,
    );
  return size > askedOf(known) ? more(view, known, size, planned, given) : fewer(view, known, size, planned, given);
}

/** The state of the promise, of which every proposal and every explanation tells. */
function promiseOf({ served }: Planned, all: readonly WorkloadView[], given: Params): Proposal['computation'] {
  return {
    replicasPromised: given.replicas,
    objective: given.objective,
    readyReplicas: all.reduce((sum, { fleet }) => sum + (fleet?.ready ?? 0), 0),
    unservedReplicaMinutes: Math.round(served.unservedSeconds / 60),
    allowedReplicaMinutes: Math.round(
      ((1 - given.objective) * given.replicas * (served.until - served.from)) / MINUTE_MS,
    ),
  };
}

const common = (
  view: PolicyView,
  group: UnpricedGroup & Partial<ServingGroup>,
  size: number,
  planned: Planned,
  given: Params,
): Pick<
  Proposal,
  | 'target'
  | 'protective'
  | 'change'
  | 'monthlyCost'
  | 'computation'
  | 'evidence'
  | 'restartNeeded'
  | 'implementationEffort'
  | 'rollbackPossible'
  | 'validDays'
> => {
  const { groups, served } = planned;
  const { perHour = null, spot = null } = group;
  const [cheapest] = groups.onDemand;
  const known = [...groups.onDemand, ...groups.spot];
  return {
    target: group.one.workload,
    // Its reason is the objective: a step that costs comes before the one that saves.
    protective: true,
    change: { replicas: size, service: given.service },
    monthlyCost: perHour === null ? null : monthlyCostOf(askedOf(group) * perHour),
    computation: {
      ...promiseOf(planned, ofService(view, given), given),
      ...(perHour === null ? {} : { perReplicaHour: units(perHour) }),
      ...(cheapest === undefined
        ? {}
        : {
            servicePerHour: units(known.reduce((sum, one) => sum + askedOf(one) * one.perHour, 0)),
            onDemandAlonePerHour: units(given.replicas * cheapest.perHour),
          }),
      ...(spot === null ? {} : { spotAvailableShare: spot.record.share }),
    },
    evidence: [evidenceOf(view, `ready replicas of ${given.service}, and its spot markets`, served.from, view.asOf)],
    restartNeeded: false,
    implementationEffort: 'VeryLow',
    rollbackPossible: true,
    validDays: 1,
  };
};

function sawPromise(planned: Planned, all: readonly WorkloadView[], given: Params): string {
  const { readyReplicas, unservedReplicaMinutes, allowedReplicaMinutes } = promiseOf(planned, all, given);
  const { service, replicas } = given;
  return `${service}: ${readyReplicas} replicas ready of ${replicas} promised; ${unservedReplicaMinutes} of the ${allowedReplicaMinutes} replica-minutes that may go unserved are used until ${sayInstant(planned.served.until)}.${shortOf(planned, given)}`;
}

/** What a change of the size saves in a month as the service stands; below zero it costs. */
function savingOf(group: ServingGroup, size: number, { groups }: Planned): SavingsEstimate {
  const perHour = (askedOf(group) - size) * group.perHour;
  // Spot is paid while it is there, and is away what on-demand stands in for: both last for that share of the time.
  const record = group.spot?.record ?? groups.spot.find(({ spot }) => spot?.isThere === true)?.spot?.record;
  if (record === undefined || (group.spot === null && perHour < 0)) return monthly(perHour);
  const { share, dailyShares } = record;
  const variance = dailyShares.reduce((sum, one) => sum + (one - share) ** 2, 0) / Math.max(1, dailyShares.length - 1);
  const spread = dailyShares.length > 1 ? EIGHTY_PERCENT * Math.sqrt(variance / dailyShares.length) : share;
  const ends = [Math.max(0, share - spread) * perHour, Math.min(1, share + spread) * perHour];
  return monthlyBetween(share * perHour, Math.min(...ends), Math.max(...ends));
}

function more(view: PolicyView, group: ServingGroup, size: number, planned: Planned, given: Params): Proposal {
  const why =
    group.spot === null
      ? `too little of ${given.service} is on spot, and what may still go unserved does not cover a loss`
      : `spot of ${group.place} is to be had`;
  return {
    ...common(view, group, size, planned, given),
    action: 'ScaleOut',
    title: `Raise ${group.one.workload} from ${askedOf(group)} to ${size} replicas: ${why}`,
    monthlySavings: savingOf(group, size, planned),
    risk: {
      interruption: group.spot === null ? 'None' : 'High',
      note: `It costs more for as long as it lasts.${shortOf(planned, given)}`,
    },
  };
}

/** More where nothing can be planned: the promise does not wait for a price or a reading. */
function standIn(
  view: PolicyView,
  group: UnpricedGroup & Partial<ServingGroup>,
  size: number,
  planned: Planned,
  given: Params,
): Proposal {
  const { onDemand, spot } = planned.groups;
  const priced = [...onDemand, ...spot].find(({ one }) => one === group.one);
  return {
    ...common(view, group, size, planned, given),
    action: 'ScaleOut',
    title: `Raise ${group.one.workload} from ${askedOf(group)} to ${size} replicas: too few of ${given.service} are ready`,
    monthlySavings: priced === undefined ? null : savingOf(priced, size, planned),
    risk: {
      interruption: (group.spot ?? null) === null ? 'None' : 'High',
      note:
        priced === undefined
          ? 'What it costs is unknown: no price of its replicas is known.'
          : 'It costs more for as long as it lasts.',
    },
  };
}

/** A sentence where less can run on demand than is promised; otherwise empty. */
function shortOf({ groups }: Pick<Planned, 'groups'>, { service, replicas }: Params): string {
  const most = fallbackMost(groups);
  return most >= replicas
    ? ''
    : ` The groups on demand of ${service} may have ${most} replicas together: where all spot is lost, ${replicas - most} of the ${replicas} promised go unserved.`;
}

function fewer(view: PolicyView, group: ServingGroup, size: number, planned: Planned, given: Params): Proposal {
  const why =
    group.spot === null
      ? 'spot serves in their place'
      : group.spot.isThere === false
        ? 'spot is gone there'
        : `the plan for ${given.service} needs fewer there`;
  return {
    ...common(view, group, size, planned, given),
    action: 'ScaleIn',
    title: `Lower ${group.one.workload} from ${askedOf(group)} to ${size} replicas: ${why}`,
    monthlySavings: savingOf(group, size, planned),
    risk: {
      interruption: 'Low',
      note: `At least ${given.replicas} replicas of ${given.service} stay ready, or as many as are ready now.${shortOf(planned, given)}`,
    },
  };
}

/** More on demand first, then more on spot, then less. */
const ORDER = (one: Proposal, groups: ServingGroups): number =>
  one.action === 'ScaleIn' ? 2 : groups.onDemand.some((group) => group.one.workload === one.target) ? 0 : 1;

function evaluate(view: PolicyView, given: Params, document?: string): Proposal[] {
  const planned = plan(view, given, document);
  return ofService(view, given)
    .map((one) => judge(view, one, planned, given))
    .filter((judged): judged is Proposal => !isLeft(judged))
    .sort((a, b) => ORDER(a, planned.groups) - ORDER(b, planned.groups));
}

const TICKS_PER_HOUR = 6;

/** Recorded for two weeks until the examples' instant; in its last hour there or not. */
const market = (region: string, isThere: boolean): SpotMarket => ({
  provider: 'AWS',
  region,
  gpuModel: 'A100-80GB',
  tickSeconds: 600,
  from: AS_OF - 14 * DAY_MS,
  available: [...new Array<boolean>(14 * 24 * TICKS_PER_HOUR - 1).fill(true), isThere],
});
const group = (name: string, zone: string, term: 'spot' | 'on-demand', ready: number, booting = 0): WorkloadView =>
  workload(name, {
    zone,
    term,
    partOf: 'chat',
    fleet: { ready, booting, minReplicas: 0, maxReplicas: 10, changedAt: AS_OF - HOUR_MS },
    metrics: { [READY_REPLICAS]: minutes(steady(ready, 60)) },
  });
/** The groups of the examples: on spot in two zones, and on demand. */
const sizes = (a: number, b: number, onDemand: number): WorkloadView[] => [
  group('chat-a', 'us-east-1a', 'spot', a),
  group('chat-b', 'us-east-1b', 'spot', b),
  group('chat-od', 'us-east-1a', 'on-demand', onDemand),
];
const inZones = (isThere: readonly boolean[], groups: readonly WorkloadView[]): PolicyView => {
  const zones = ['us-east-1a', 'us-east-1b'];
  return exampleView({
    workloads: groups,
    offers: [...OFFERS, ...zones.map((region) => offer('A100-80GB', 'spot', 1500, { region }))],
    spotMarkets: zones.map((zone, at) => market(zone, isThere[at] === true)),
  });
};
const CHAT = { service: 'chat', replicas: 3 };

export const policy: Policy<Params> = {
  name: 'spot-serving',
  version: 2,
  description:
    'Holds the replicas of a service on spot of several zones, with as many on demand as its objective needs, and adds before it takes away',
  params,
  promises: ({ service, replicas }) => ({ service, replicas }),
  evaluate,
  explain: (view, given, document) => {
    const planned = plan(view, given, document);
    const all = ofService(view, given);
    const promise = sawPromise(planned, all, given);
    return all.map((one) => explainTarget(one.workload, [...sawOf(one), promise], judge(view, one, planned, given)));
  },
  nextEvaluationAt: (view, given) => (ofService(view, given).length === 0 ? null : view.asOf + MINUTE_MS),
  examples: [
    {
      title: 'Three replicas on demand, and spot is there in two zones: spot is added first',
      params: CHAT,
      view: inZones([true, true], sizes(0, 0, 3)),
      proposes: [
        { action: 'ScaleOut', target: 'chat-a' },
        { action: 'ScaleOut', target: 'chat-b' },
      ],
    },
    {
      title: 'Enough replicas on spot are ready: those on demand go',
      params: CHAT,
      view: inZones([true, true], sizes(2, 2, 3)),
      proposes: [{ action: 'ScaleIn', target: 'chat-od' }],
    },
    {
      title: 'Spot is gone in both zones: on demand stands in',
      params: CHAT,
      view: inZones([false, false], sizes(0, 0, 0)),
      proposes: [{ action: 'ScaleOut', target: 'chat-od' }],
    },
    {
      title: 'The size of one of its groups is unknown: nothing is taken away',
      params: CHAT,
      view: inZones(
        [true, true],
        [
          group('chat-a', 'us-east-1a', 'spot', 5),
          { ...group('chat-b', 'us-east-1b', 'spot', 0), fleet: null },
          group('chat-od', 'us-east-1a', 'on-demand', 3),
        ],
      ),
      proposes: [],
    },
    {
      title: 'No group on demand to fall back to',
      params: CHAT,
      view: inZones([true, true], [group('chat-a', 'us-east-1a', 'spot', 1)]),
      proposes: [{ action: 'ScaleOut', target: 'chat-a' }],
    },
  ],
};
