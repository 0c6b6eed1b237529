/**
 * reserve-baseline: reserves the GPUs that a team uses nearly all the time, if a reservation or a savings plan is on
 * offer, whichever is cheaper. Uses only metered hours and quoted prices: without a price there is no proposal. The
 * planner decides what to reserve (planning/commitment); docs/decisions-quality measures its distance to the optimum
 * that knows the future.
 */
import { z } from 'zod';
import type {
  DemandSeries,
  LeftAlone,
  TargetExplanation,
  Policy,
  PolicyView,
  Proposal,
  ReservedOffer,
} from '../core/policy/policy.js';
import { HOURS_PER_MONTH } from '../core/policy/policy.js';
import { HOUR_MS } from '../core/time.js';
import type { Rate } from '../core/money.js';
import { recommendReservations, type OfferedTerm, type ReservationAdvice } from '../planning/commitment/recommend.js';
import { AS_OF, exampleView, rate } from './estimating/examples.js';
import { isLeft, leftAlone, explainTarget } from './estimating/explanations.js';
import { evidenceOf, gpuHourNanos } from './estimating/money.js';

const params = z.strictObject({
  minimumHistoryDays: z
    .number()
    .min(1)
    .max(366)
    .default(28)
    .describe('Days of metered use before anything is proposed'),
  terms: z
    .array(z.enum(['reserved-1y', 'reserved-3y', 'savings-plan-1y', 'savings-plan-3y']))
    .min(1)
    .default(['reserved-1y', 'savings-plan-1y'])
    .describe('Terms that may be proposed; of several that suit a GPU, the one that saves most per hour'),
  guarded: z
    .boolean()
    .default(false)
    .describe('Propose only what is certain never to cost twice the optimum; this needs months of use first'),
  upfront: z
    .array(z.enum(['none', 'partial', 'all']))
    .min(1)
    .default(['none'])
    .describe('Ways of paying that may be proposed'),
});
type Params = z.infer<typeof params>;

const UPFRONT_SHARE = { none: 0, partial: 0.5, all: 1 } as const;

interface Priced {
  readonly onDemand: Rate;
  readonly offers: readonly { readonly offer: ReservedOffer; readonly term: OfferedTerm }[];
}

function priced(series: DemandSeries, { terms, upfront }: Params): Priced | null {
  const { onDemand } = series;
  if (onDemand === null) return null;
  const offers = series.reserved
    .filter((offer) => (terms as readonly string[]).includes(offer.term) && upfront.includes(offer.upfront))
    .map((offer) => ({
      offer,
      term: {
        name: `${offer.term}, ${offer.upfront} upfront`,
        termHours: offer.termHours,
        priceRatio: gpuHourNanos(offer.rate) / gpuHourNanos(onDemand),
        alpha: 0,
        upfront: UPFRONT_SHARE[offer.upfront],
      },
    }))
    .filter(({ term }) => term.priceRatio > 0 && term.priceRatio < 1);
  return offers.length === 0 ? null : { onDemand, offers };
}

function judge(series: DemandSeries, view: PolicyView, given: Params): Proposal[] | LeftAlone {
  if (series.term !== null && series.term !== 'on-demand')
    return leftAlone('not-on-demand', `it is ${series.term} already`, 'use on demand');
  const days = Math.floor(series.gpus.length / 24);
  if (series.gpus.length < given.minimumHistoryDays * 24)
    return leftAlone(
      'too-young',
      `it has been metered for ${days} days`,
      `${given.minimumHistoryDays} days (minimumHistoryDays)`,
    );
  const prices = priced(series, given);
  if (prices === null)
    return leftAlone(
      'no-offer',
      series.onDemand === null
        ? 'its on-demand cost is unknown'
        : 'no price of a term that may be proposed is below the price on demand',
      `prices on demand and of ${given.terms.join(', ')} (bursar prices)`,
    );
  if (series.plans !== undefined)
    return leftAlone(
      'plan-may-cover',
      `${series.plans.length === 1 ? 'the savings plan' : 'the savings plans'} ${series.plans.join(', ')} may cover it, to an unknown extent`,
      'metered usage, or lines of a bill, that state the term savings-plan',
    );
  const advice = recommendReservations(
    totalDemand(series),
    [...(series.committed ?? []), ...(series.bought ?? [])],
    prices.offers.map(({ term }) => term),
    { guarded: given.guarded },
  );
  const proposals = advice.flatMap((one, at) => {
    const chosen = prices.offers[at];
    return one.units === 0 || chosen === undefined ? [] : [proposal(series, view, prices.onDemand, chosen, one)];
  });
  return proposals.length > 0
    ? proposals
    : leftAlone(
        'not-steady',
        'no further GPU is used often enough for a commitment to pay off',
        'steadier use, or a lower price for a term',
      );
}

/** The name for an offer of its term; with the account, if several accounts use the same. */
const nameOf = (series: DemandSeries, { demand }: Pick<PolicyView, 'demand'>): string => {
  const { provider, account, region, sku, gpuModel } = series;
  const isShared = demand.some((other) => placeOf(other) === placeOf(series) && other.account !== account);
  return isShared
    ? [provider, account ?? 'account unknown', region ?? 'any region', sku ?? gpuModel ?? 'GPU'].join('/')
    : placeOf(series);
};

const placeOf = ({ provider, region, sku, gpuModel }: DemandSeries): string =>
  [provider, region ?? 'any region', sku ?? gpuModel ?? 'GPU'].join('/');

function explain(view: PolicyView, given: Params): TargetExplanation[] {
  return view.demand.flatMap((series) => {
    const judged = judge(series, view, given);
    const saw = [
      `${Math.floor(series.gpus.length / 24)} days of metered use, ${(series.gpus.at(-1) ?? 0).toFixed(1)} GPUs in the last hour`,
      `${series.reserved.length} prices of commitments`,
      ...heldOf(series),
    ];
    return isLeft(judged)
      ? [explainTarget(nameOf(series, view), saw, judged)]
      : judged.map((one) => explainTarget(one.target, saw, one));
  });
}

/** Existing commitments, if there are any. */
function heldOf(series: DemandSeries): string[] {
  const { committed = [], bought = [] } = series;
  const gpus = [...committed, ...bought].reduce((sum, { units }) => sum + units, 0);
  return gpus === 0 ? [] : [`commitments of ${gpus} GPUs that hold`, ...assumedOf(series)];
}

/** The assumption about purchases without a known account. */
const assumedOf = ({ account, boughtForUnknown: gpus = 0 }: DemandSeries): string[] =>
  gpus === 0
    ? []
    : [
        `${gpus} GPUs were bought by a connection with an unknown account: they are assumed to serve the account ${account ?? ''}, so that nothing is bought twice`,
      ];

/** Usage on demand plus usage that commitments already cover. */
const totalDemand = ({ gpus, coveredGpus }: DemandSeries): Float64Array =>
  coveredGpus === undefined ? gpus : gpus.map((one, hour) => one + (coveredGpus[hour] ?? 0));

function proposal(
  series: DemandSeries,
  view: PolicyView,
  onDemand: Rate,
  { offer, term }: Priced['offers'][number],
  advice: ReservationAdvice,
): Proposal {
  const monthly = (onDemandHours: number): bigint =>
    BigInt(Math.round((onDemandHours / offer.termHours) * HOURS_PER_MONTH * gpuHourNanos(onDemand)));
  const kind = series.gpuModel ?? series.sku ?? 'GPU';
  return {
    action: offer.term.startsWith('reserved') ? 'PurchaseReservedInstances' : 'PurchaseSavingsPlans',
    target: [nameOf(series, view), offer.term, offer.upfront].join('/'),
    place: {
      provider: series.provider,
      region: series.region,
      sku: series.sku,
      ...(series.account === null ? {} : { account: series.account }),
    },
    // Demand that moves to spot is not reserved as well.
    subject: placeOf(series),
    change: {
      units: advice.units,
      term: offer.term,
      upfront: offer.upfront,
      termHours: offer.termHours,
      perGpuHourNanos: gpuHourNanos(offer.rate),
    },
    title: `${offer.term.startsWith('reserved') ? 'Reserve' : 'Buy a savings plan for'} ${advice.units} x ${kind} at ${series.provider} (${term.name})`,
    monthlySavings: {
      mean: monthly(advice.expectedSaving),
      low: monthly(advice.savingInterval.low),
      high: monthly(advice.savingInterval.high),
    },
    // The hours that are expected to be covered cost on demand what the commitment costs and what it saves.
    monthlyCost: monthly(advice.expectedSaving + advice.fullCost),
    computation: computationOf(onDemand, offer, advice),
    evidence: [
      evidenceOf(
        view,
        `metered GPU-hours of ${kind} at ${series.provider}`,
        series.from,
        series.from + series.gpus.length * HOUR_MS,
      ),
    ],
    risk: {
      interruption: 'None',
      note: [
        `A ${offer.term.startsWith('reserved') ? 'reservation' : 'savings plan'} is paid for whether it is used or not.`,
        ...assumedOf(series).map((one) => `${one}.`),
      ].join(' '),
    },
    restartNeeded: false,
    implementationEffort: 'VeryLow',
    rollbackPossible: false,
    validDays: 7,
  };
}

const computationOf = (
  onDemand: Rate,
  offer: Priced['offers'][number]['offer'],
  { units, evidence }: ReservationAdvice,
): Proposal['computation'] => ({
  gpusToReserve: units,
  onDemandPerGpuHour: (gpuHourNanos(onDemand) / 1e9).toFixed(6),
  reservedPerGpuHour: (gpuHourNanos(offer.rate) / 1e9).toFixed(6),
  termHours: offer.termHours,
  breakEvenUseRatio: evidence.breakEvenShare,
  hoursSeen: evidence.hoursSeen,
  gpusDemandedNow: evidence.demandNow,
  expectedUseRatioOfFirstGpu: evidence.expectedUse?.first ?? 0,
  expectedUseRatioOfLastGpu: evidence.expectedUse?.last ?? 0,
  priceList: offer.source,
});

const day = (gpus: number): number[] => new Array<number>(24).fill(gpus);
const steady = (gpus: number, days: number): Float64Array =>
  Float64Array.from(Array.from({ length: days }, () => day(gpus)).flat());

/** A team that has used four GPUs for most of a year, and a reservation at 60 % of their price. */
function demandView(gpus: Float64Array, onDemand: Rate | null, over: Partial<DemandSeries> = {}): PolicyView {
  return exampleView({
    demand: [
      {
        provider: 'AWS',
        account: null,
        sku: 'p3.2xlarge',
        region: 'us-east-1',
        gpuModel: 'V100-16GB',
        term: 'on-demand',
        from: AS_OF - gpus.length * HOUR_MS,
        gpus,
        onDemand,
        reserved: [{ term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(1836), source: 'example' }],
        ...over,
      },
    ],
  });
}

export const policy: Policy<Params> = {
  name: 'reserve-baseline',
  version: 4,
  description:
    'Proposes reservations, or a savings plan where it is cheaper, for the GPUs that a team uses nearly all the time',
  params,
  evaluate: (view, given) =>
    view.demand.flatMap((series) => {
      const judged = judge(series, view, given);
      return isLeft(judged) ? [] : judged;
    }),
  explain,
  examples: [
    {
      title: 'Four GPUs in use day and night: reserve them',
      params: {},
      view: demandView(steady(4, 330), rate(3060)),
      proposes: [{ action: 'PurchaseReservedInstances', target: 'AWS/us-east-1/p3.2xlarge/reserved-1y/none' }],
    },
    {
      title: 'A savings plan for less than the reservation: the plan',
      params: {},
      view: demandView(steady(4, 330), rate(3060), {
        reserved: [
          { term: 'reserved-1y', upfront: 'none', termHours: 8760, rate: rate(1836), source: 'example' },
          { term: 'savings-plan-1y', upfront: 'none', termHours: 8760, rate: rate(1700), source: 'example' },
        ],
      }),
      proposes: [{ action: 'PurchaseSavingsPlans', target: 'AWS/us-east-1/p3.2xlarge/savings-plan-1y/none' }],
    },
    {
      title: 'Four GPUs in use, and reserved instances of the account for four: nothing more',
      params: {},
      view: demandView(steady(4, 330), rate(3060), { bought: [{ units: 4, hoursLeft: 5000 }] }),
      proposes: [],
    },
    {
      title:
        'Four of six GPUs are covered by commitments of an unknown account: only the rest is proposed, and this is stated',
      params: {},
      view: demandView(steady(6, 330), rate(3060), {
        account: '111122223333',
        bought: [{ units: 4, hoursLeft: 5000 }],
        boughtForUnknown: 4,
      }),
      proposes: [{ action: 'PurchaseReservedInstances', target: 'AWS/us-east-1/p3.2xlarge/reserved-1y/none' }],
    },
    {
      title: 'A savings plan may cover them, to an unknown extent: nothing',
      params: {},
      view: demandView(steady(4, 330), rate(3060), { plans: ['sp-1'] }),
      proposes: [],
    },
    {
      title: 'A week of use is too little to commit to a year',
      params: {},
      view: demandView(steady(4, 7), rate(3060)),
      proposes: [],
    },
    {
      title: 'Four GPUs in use, and four reserved',
      params: {},
      view: demandView(steady(0, 330), rate(3060), {
        coveredGpus: steady(4, 330),
        committed: [{ units: 4, hoursLeft: 5000 }],
      }),
      proposes: [],
    },
    {
      title: 'Without an on-demand price the saving is unknown',
      params: {},
      view: demandView(steady(4, 330), null),
      proposes: [],
    },
  ],
};
