/**
 * spot-shift: runs interruptible work on spot, moves it back on demand when spot is gone or a deadline requires it, and
 * returns to spot later.
 *
 * Only work that its owner calls interruptible is moved to spot; work that is already there is moved back when its
 * market is gone. A job with a deadline follows the planner (planning/spot), which never risks the deadline. If nobody
 * has recorded the market's availability the saving is unknown, and is shown as unknown. If its document names other
 * places, the work may go there (estimating/spot-moves.ts).
 */
import { z } from 'zod';
import type {
  DemandSeries,
  JobFacts,
  LeftAlone,
  Policy,
  PolicyView,
  Proposal,
  SpotMarket,
  WorkloadView,
} from '../core/policy/policy.js';
import { spotMarketAt } from '../core/policy/spot-market.js';
import { DAY_MS, HOUR_MS } from '../core/time.js';
import { AS_OF, exampleView, goneCard, offer, OFFERS, rate, workload } from './estimating/examples.js';
import {
  isLeft,
  leftAlone,
  explainTarget,
  proposalsOf,
  PROTECTED,
  sawOf,
  type Judged,
} from './estimating/explanations.js';
import { gpuHourNanos, monthlyBetween, monthlyCostOf, offerAt } from './estimating/money.js';
import { replacements } from './estimating/replace.js';
import { recordOf, sizedOn, spotPrices, spotSaving } from './estimating/spot.js';
import { spotWord } from './estimating/spot-job.js';
import {
  evidence,
  mayGoElsewhere,
  NOWHERE_ELSE,
  numbers,
  overPlaces,
  sawMarket,
  sawPlaces,
  type Case,
  type Priced,
} from './estimating/spot-moves.js';
import { isStable, placesOf, seenNow } from './estimating/spot-places.js';

const params = z.strictObject({
  restartHours: z
    .number()
    .min(0)
    .max(24)
    .default(0.2)
    .describe('Hours lost at a start on another instance, if the workload does not state them'),
  historyDays: z
    .number()
    .min(1)
    .max(90)
    .default(14)
    .describe('Days of recorded availability that a saving is computed from'),
  stableMinutes: z
    .number()
    .min(0)
    .max(10_080)
    .default(60)
    .describe('Minutes that spot must have been available before a workload without a deadline returns to it'),
  demand: z
    .boolean()
    .default(false)
    .describe('All on-demand use of the team may be interrupted, including use that no workload describes'),
  places: z
    .array(z.string().regex(/^[^/]+(?:\/[^/]+)?$/, 'is not a provider, or a provider and a region or zone'))
    .max(50)
    .default([])
    .describe(
      'Where workloads may run beside the place at which they are: `AWS`, `AWS/us-west-2` (with its zones) or `AWS/us-west-2a`',
    ),
  egress: z
    .array(
      z.strictObject({
        from: z.string().describe('A region, as `AWS/us-east-1`'),
        to: z.string().describe('Another region'),
        perGb: z.number().min(0).max(1000).describe('Price of a GB, in the currency of the team'),
      }),
    )
    .max(500)
    .default([])
    .describe('Prices of data between regions; for other pairs the price list of what leaves the place counts'),
});
type Params = z.infer<typeof params>;

function pricedOf(view: PolicyView, one: WorkloadView, given: Params): Priced | LeftAlone {
  const sized = sizedOn(one);
  if (isLeft(sized)) return sized;
  const { term, fleet, gpusPerReplica } = sized;
  const market = spotMarketAt(view.spotMarkets, one);
  return {
    target: one.workload,
    gpus: Math.max(1, fleet.ready + fleet.booting) * gpusPerReplica,
    term,
    prices: spotPrices(view, one),
    market,
    record: recordOf(view, market, given.historyDays),
    restartHours: one.job?.restartHours ?? given.restartHours,
  };
}

const caseOf = (view: PolicyView, one: WorkloadView, priced: Priced, given: Params): Case | null =>
  priced.prices === null
    ? null
    : {
        ...priced,
        prices: priced.prices,
        places: given.places.length === 0 ? NOWHERE_ELSE : placesOf(view, one, priced.prices, given),
      };

function judge(view: PolicyView, one: WorkloadView, given: Params): Judged {
  const priced = pricedOf(view, one, given);
  const { job: own } = one;
  if (isLeft(priced)) return priced;
  if (own !== null && own.workLeftHours !== null && own.workLeftHours <= 0)
    return leftAlone('no-work', 'its work is done', 'work that is left');
  const found = caseOf(view, one, priced, given);
  return found === null ? withoutPrice(view, one, priced) : withPrices(view, one, found, given);
}

/**
 * Work on spot that is gone does not wait for a price; nor does a deadline where nobody knows whether spot is there.
 */
function withoutPrice(view: PolicyView, one: WorkloadView, priced: Priced): Judged {
  const { term, market } = priced;
  const isThere = market === null ? null : seenNow({ market }, view.asOf);
  const hasDeadline = (one.job?.deadline ?? null) !== null;
  if (term === 'spot' && (isThere === false || (isThere === null && hasDeadline)))
    return toOnDemand(view, priced, isThere === false ? 'spot is gone' : byWhen(one.job, view.asOf));
  return leftAlone(
    'no-price',
    'no price of its GPUs is known on spot and on demand at its place',
    'both prices of its provider, SKU and region (bursar prices)',
  );
}

function withPrices(view: PolicyView, one: WorkloadView, found: Case, given: Params): Judged {
  const { job: own } = one;
  const elsewhere = mayGoElsewhere(one, found)
    ? overPlaces(view, one, found, given.stableMinutes, bySpells(view, found, given) === 'spot')
    : null;
  if (elsewhere !== null && typeof elsewhere === 'object') return elsewhere;
  const word = elsewhere ?? (own === null ? null : byDeadline(view, one, own, found));
  const wish = word ?? bySpells(view, found, given);
  if (wish === 'on-demand' && found.term === 'spot')
    return toOnDemand(view, found, word === null ? 'spot is gone' : byWhen(own, view.asOf));
  // A deadline with too little data for a plan is not risked.
  const mayRisk = word !== null || own === null || own.deadline === null;
  const mayBe = one.interruptible === true && one.spotIsFixed !== true;
  if (wish === found.term || (wish !== 'spot' && found.term === 'on-demand'))
    return leftAlone(
      'stays',
      `${found.term} is where it should be now: ${sawMarket(found)}`,
      found.term === 'spot' ? 'that spot is gone, or its deadline needs it' : onceStable(given),
    );
  if (wish !== 'spot')
    return leftAlone('waits', `whether spot is available is unknown: ${sawMarket(found)}`, onceStable(given));
  if (!mayBe)
    return one.spotIsFixed === true
      ? leftAlone('fixed', 'it is one machine, which no cloud here turns into spot', 'a group that mixes spot')
      : leftAlone(
          'not-interruptible',
          'nothing states that it may be interrupted',
          "its owner's statement that it may",
        );
  if (!mayRisk)
    return leftAlone('deadline', 'it has a deadline, but too little is known to plan for it', 'its work left in hours');
  return toSpot(view, found);
}

const byWhen = (job: JobFacts | null, asOf: number): string =>
  (job?.deadline ?? Infinity) <= asOf ? 'its deadline has passed, and it ends soonest there' : 'its deadline needs it';

const onceStable = ({ stableMinutes }: Params): string =>
  `spot that has been there for ${stableMinutes} minutes (stableMinutes) at a lower price`;

/** Null if there is no deadline, or too little is known to plan for it. */
function byDeadline(
  view: PolicyView,
  one: WorkloadView,
  job: JobFacts,
  { prices, market, restartHours, term }: Case,
): 'spot' | 'on-demand' | 'wait' | null {
  if (market === null) return job.deadline === null ? null : 'on-demand';
  const holds = one.fleet !== null && one.fleet.ready > 0 ? term : null;
  return spotWord({ job, asOf: view.asOf, holds, market, restartHours, onDemand: prices.onDemand, spot: prices.spot });
}

/**
 * Without a deadline: away when spot is gone or more expensive, back when it has been there for a while. Not known:
 * stay.
 */
function bySpells(view: PolicyView, { prices, market }: Case, { stableMinutes }: Params): 'spot' | 'on-demand' | null {
  if (prices.spot >= prices.onDemand) return 'on-demand';
  if (market === null) return 'spot';
  const tickMs = market.tickSeconds * 1000;
  const now = Math.floor((view.asOf - market.from) / tickMs);
  // The tick that runs counts where it was seen, otherwise the one before it.
  const newest = market.available[now] ?? market.available[now - 1] ?? null;
  if (newest === false) return 'on-demand';
  return newest === true && isStable({ market }, view.asOf, stableMinutes) ? 'spot' : null;
}

function toSpot(view: PolicyView, found: Case): Judged {
  const { target, gpus, prices, record, restartHours } = found;
  const saving = record === null ? null : spotSaving(prices, record, restartHours);
  if (prices.spot >= prices.onDemand || (saving !== null && saving.mean <= 0))
    return leftAlone(
      'no-saving',
      `spot would save nothing: ${sawMarket(found)}`,
      'a lower price, or a steadier market',
    );
  return {
    action: 'MoveToSpot',
    target,
    change: { term: 'spot', sku: prices.offer.sku },
    title: `Move ${target} (${Number(gpus.toFixed(1))} GPUs) to spot`,
    monthlySavings: saving === null ? null : monthlyBetween(saving.mean * gpus, saving.low * gpus, saving.high * gpus),
    monthlyCost: monthlyCostOf(prices.onDemand * gpus),
    computation: numbers(found),
    evidence: evidence(view, found),
    risk: {
      interruption: 'High',
      note:
        record === null
          ? 'The availability of spot there has not been recorded.'
          : `Spot was gone ${(100 * (1 - record.share)).toFixed(0)} % of the time.`,
    },
    restartNeeded: true,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  };
}

function toOnDemand(view: PolicyView, found: Priced, why: string): Proposal {
  const { target, gpus, prices } = found;
  const saves = prices === null ? null : (prices.spot - prices.onDemand) * gpus;
  const isDearer = prices !== null && prices.spot >= prices.onDemand;
  return {
    action: 'MoveToOnDemand',
    target,
    protective: true,
    change: { term: 'on-demand' },
    title: `Move ${target} on demand: ${isDearer ? 'spot is no cheaper' : why}`,
    monthlySavings: saves === null ? null : monthlyBetween(saves, saves, saves),
    monthlyCost: prices === null ? null : monthlyCostOf(prices.spot * gpus),
    computation: numbers(found),
    evidence: evidence(view, found),
    risk: {
      interruption: 'Low',
      note:
        prices === null
          ? 'What it costs is unknown: no price of its replicas is known.'
          : 'It restarts on another instance; it returns when spot does.',
    },
    restartNeeded: true,
    implementationEffort: 'Low',
    rollbackPossible: true,
    validDays: 1,
  };
}

/** What was seen of the places that the document names. */
function otherPlaces(view: PolicyView, one: WorkloadView, given: Params): string[] {
  const priced = given.places.length === 0 ? PROTECTED : pricedOf(view, one, given);
  const found = isLeft(priced) ? null : caseOf(view, one, priced, given);
  return found === null ? [] : sawPlaces(found);
}

/** The team's own word that all of its use may be interrupted: its metered on-demand hours of the last days. */
function forDemand(view: PolicyView, series: DemandSeries, given: Params): Proposal[] {
  const spot = offerAt(view, series, 'spot');
  const hours = Math.round(given.historyDays * 24);
  if (series.term !== 'on-demand' || spot === null || series.onDemand === null || series.gpus.length < hours) return [];
  const gpus = series.gpus.subarray(series.gpus.length - hours).reduce((sum, one) => sum + one, 0) / hours;
  if (gpus === 0) return [];
  const market = spotMarketAt(view.spotMarkets, series);
  const judged = toSpot(view, {
    places: NOWHERE_ELSE,
    target: [series.provider, series.region ?? 'any region', series.sku ?? series.gpuModel ?? 'GPU'].join('/'),
    gpus,
    term: 'on-demand',
    prices: { onDemand: gpuHourNanos(series.onDemand), spot: gpuHourNanos(spot.rate), offer: spot },
    market,
    record: recordOf(view, market, given.historyDays),
    restartHours: given.restartHours,
  });
  return proposalsOf(judged);
}

const TICKS_PER_HOUR = 6;

/** Recorded until the examples' instant: available for `goodHours` and then as `last` says for an hour. */
function exampleMarket(goodHours: number, last: boolean): SpotMarket {
  const available = [
    ...new Array<boolean>(goodHours * TICKS_PER_HOUR).fill(true),
    ...new Array<boolean>(TICKS_PER_HOUR).fill(last),
  ];
  return {
    provider: 'AWS',
    region: 'us-east-1',
    gpuModel: 'A100-80GB',
    tickSeconds: 600,
    from: AS_OF - (goodHours + 1) * HOUR_MS,
    available,
  };
}

/** The job on spot, and another region where spot costs a third. */
const elsewhere = (own: JobFacts, isThere = true): PolicyView => {
  return exampleView({
    workloads: [batch({ term: 'spot', job: own })],
    offers: [
      ...OFFERS,
      offer('A100-80GB', 'on-demand', 4000, { region: 'us-west-2' }),
      offer('A100-80GB', 'spot', 500, { region: 'us-west-2' }),
    ],
    spotMarkets: [exampleMarket(14 * 24, isThere), { ...exampleMarket(14 * 24, true), region: 'us-west-2' }],
  });
};
const TO_AND_FRO = [
  { from: 'AWS/us-east-1', to: 'AWS/us-west-2', perGb: 0.02 },
  { from: 'AWS/us-west-2', to: 'AWS/us-east-1', perGb: 0.02 },
];
const batch = (over: Partial<WorkloadView>): WorkloadView =>
  workload('train-1', {
    kind: 'training',
    interruptible: true,
    fleet: { ready: 2, booting: 0, minReplicas: 1, maxReplicas: 2, changedAt: null },
    ...over,
  });
const job = (leftHours: number, deadlineHours: number): JobFacts => ({
  startedAt: AS_OF - 2 * HOUR_MS,
  deadline: AS_OF + deadlineHours * HOUR_MS,
  workHours: leftHours + 2,
  workLeftHours: leftHours,
  restartHours: 0.5,
  resizable: null,
});
const series: DemandSeries = {
  provider: 'AWS',
  account: null,
  sku: 'example.a100-80gb',
  region: 'us-east-1',
  gpuModel: 'A100-80GB',
  term: 'on-demand',
  from: AS_OF - 20 * DAY_MS,
  gpus: new Float64Array(480).fill(3),
  onDemand: rate(4000),
  reserved: [],
};

export const policy: Policy<Params> = {
  name: 'spot-shift',
  version: 6,
  description:
    'Runs what may be interrupted on spot, falls back on demand when spot is gone or a deadline needs it, and returns; replaces what lost a GPU',
  params,
  evaluate: (view, given) => [
    ...view.workloads.flatMap((one) => [...replacements(one), ...proposalsOf(judge(view, one, given))]),
    ...(given.demand ? view.demand.flatMap((one) => forDemand(view, one, given)) : []),
  ],
  explain: (view, given) =>
    view.workloads.map((one) => {
      const [replacement] = replacements(one);
      const judged = replacement ?? judge(view, one, given);
      return explainTarget(
        replacement?.target ?? one.workload,
        [...sawOf(one), ...otherPlaces(view, one, given)],
        judged,
      );
    }),
  examples: [
    {
      title: 'Interruptible, and spot has been available for two weeks',
      params: {},
      view: exampleView({ workloads: [batch({})], spotMarkets: [exampleMarket(14 * 24, true)] }),
      proposes: [{ action: 'MoveToSpot', target: 'train-1' }],
    },
    {
      title: 'On spot, and spot is gone',
      params: {},
      view: exampleView({ workloads: [batch({ term: 'spot' })], spotMarkets: [exampleMarket(14 * 24, false)] }),
      proposes: [{ action: 'MoveToOnDemand', target: 'train-1' }],
    },
    {
      title: 'Ten hours of work, sixteen left: spot',
      params: {},
      view: exampleView({ workloads: [batch({ job: job(10, 16) })], spotMarkets: [exampleMarket(14 * 24, true)] }),
      proposes: [{ action: 'MoveToSpot', target: 'train-1' }],
    },
    {
      title: 'Ten hours of work, ten and a half left, and spot is gone: on demand',
      params: {},
      view: exampleView({
        workloads: [batch({ job: job(10, 10.5), term: 'spot' })],
        spotMarkets: [exampleMarket(14 * 24, false)],
      }),
      proposes: [{ action: 'MoveToOnDemand', target: 'train-1' }],
    },
    {
      title: 'Ten hours of work, forty left, and spot is gone: wait',
      params: {},
      view: exampleView({
        workloads: [batch({ job: job(10, 40), term: 'spot' })],
        spotMarkets: [exampleMarket(14 * 24, false)],
      }),
      proposes: [],
    },
    {
      title: 'The work is done, and spot is gone: it is not moved',
      params: {},
      view: exampleView({
        workloads: [batch({ job: job(0, 16), term: 'spot' })],
        spotMarkets: [exampleMarket(14 * 24, false)],
      }),
      proposes: [],
    },
    {
      title: 'A deadline, but the remaining work is unknown: it stays on demand',
      params: {},
      view: exampleView({
        workloads: [batch({ job: { ...job(10, 16), workLeftHours: null } })],
        spotMarkets: [exampleMarket(14 * 24, true)],
      }),
      proposes: [],
    },
    {
      title: 'Spot costs a third in another region, and forty hours of work are left: it moves with its checkpoint',
      params: { places: ['AWS/us-west-2'], egress: TO_AND_FRO },
      view: elsewhere({ ...job(40, 100), deadline: null, checkpointGb: 120, dataGb: 0 }),
      proposes: [{ action: 'MoveToSpot', target: 'train-1' }],
    },
    {
      title: 'The same, but nobody knows the size of its checkpoint: it stays in its region',
      params: { places: ['AWS/us-west-2'], egress: TO_AND_FRO },
      view: elsewhere({ ...job(40, 100), deadline: null, dataGb: 0 }),
      proposes: [],
    },
    {
      title: 'The same, but the price of the data that would be sent is unknown: it stays',
      params: { places: ['AWS/us-west-2'] },
      view: elsewhere({ ...job(40, 100), deadline: null, checkpointGb: 120, dataGb: 0 }),
      proposes: [],
    },
    {
      title: 'A deadline, and spot is gone where it runs: the plan over both regions goes on where there is spot',
      params: { places: ['AWS/us-west-2'], egress: TO_AND_FRO },
      view: elsewhere({ ...job(20, 60), checkpointGb: 120, dataGb: 0 }, false),
      proposes: [{ action: 'MoveToSpot', target: 'train-1' }],
    },
    {
      title: 'A GPU is gone, and the fleet declares a hot spare',
      params: {},
      view: exampleView({
        workloads: [batch({ interruptible: null, spares: ['spare-1'], health: [goneCard('i-7', 'train-1')] })],
      }),
      proposes: [{ action: 'Start', target: 'spare-1' }],
    },
    {
      title: 'Nothing states that it may be interrupted',
      params: {},
      view: exampleView({ workloads: [batch({ interruptible: null })], spotMarkets: [exampleMarket(14 * 24, true)] }),
      proposes: [],
    },
    {
      title: 'All use of the team may be interrupted; the market was never recorded, so the saving is unknown',
      params: { demand: true },
      view: exampleView({ demand: [series] }),
      proposes: [{ action: 'MoveToSpot', target: 'AWS/us-east-1/example.a100-80gb' }],
    },
  ],
};
