/**
 * Reads the recorded history of a team for a replay: hours, readings, spend and the prices of each hour. It writes and
 * decides nothing.
 */
import type { RecordedHistory, SeriesPrices } from '../../core/policy/history.js';
import type { DemandSeries, GpuOffer } from '../../core/policy/policy.js';
import { Grouping } from '../../core/cost/rollup.js';
import { DAY_MS, HOUR_MS, hourOf } from '../../core/time.js';
import { READINGS_DAYS } from '../../core/policy/policy.js';
import { periodAt } from '../../core/budget/budget.js';
import { hourlyNanos, OfferBook, pricesOf } from '../../store/price/offers.js';
import type { CurrentPrices } from '../../store/price/prices.js';
import { meteredSizes } from '../../store/workload/metered-sizes.js';
import { jobsOfWindow } from '../../store/workload/recorded-jobs.js';
import type { Queryable } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';

type Needs = Pick<Stores, 'organisations' | 'views' | 'workloads' | 'budgets' | 'measurements' | 'prices'> & {
  readonly db: Queryable;
};

/** Hours before the window that its first views may look at. */
const PAST_DAYS = 91;
const MOST_CACHED_PRICES = 200_000;

/**
 * What is recorded of a team. It begins with the first hour of which anything is: before, nobody knows what ran, and
 * nothing that runs now is taken to have run then.
 * @param asked epoch milliseconds, a whole hour, as `to` is; nothing of `to` or later is read.
 */
export async function readHistory(
  stores: Needs,
  organisation: string,
  team: string,
  asked: number,
  to: number,
): Promise<RecordedHistory> {
  const { db, organisations, views, workloads, measurements } = stores;
  const prices = await stores.prices.book(db, organisation);
  const currency = await organisations.currencyOf(db, organisation, team);
  const request = { organisation, team, currency, asOf: to };
  // The instant before the end: a reading of the end itself is after the window.
  const measured = await views.resources(db, { ...request, asOf: to - 1 }, asked - READINGS_DAYS * DAY_MS, prices);
  // Copied, because every step reads them.
  const readings = measured.map((one) => ({ ...one }));
  const demand = await views.demand(db, request, asked - PAST_DAYS * DAY_MS, prices);
  const days = Math.ceil((to - asked) / DAY_MS);
  const running = await jobsOfWindow(
    db,
    { organisation, team, from: asked, to },
    await workloads.workloads(db, organisation, team, to, days + READINGS_DAYS),
    (seen) => workloads.viewsOf(db, organisation, seen, to, days + READINGS_DAYS),
  );
  const since = recordedSince({ demand, resources: readings, workloads: running.workloads });
  const from = Math.min(to, Math.max(asked, hourOf(since ?? asked)));
  const rules = await organisations.rules(db, organisation);
  const leases = await workloads.leases(db, organisation, team, to);
  const jobs = new Set(running.jobs.map(({ workload }) => workload));
  const grouping = new Grouping((record) => rules.teamOf(record), await organisations.trackedTags(db, organisation));
  return {
    organisation,
    team,
    currency,
    from,
    to,
    demand,
    resources: readings,
    ...running,
    // Jobs have their own records; of a fleet only metered usage and measurements are recorded.
    workloads: since === null && running.jobs.length === 0 ? [] : running.workloads,
    budgets: await spentOf(stores, { organisation, team, from, to }, prices.fx),
    spotMarkets: await workloads.spotMarkets(db, organisation, to - 1, days + PAST_DAYS),
    // The hour before the window is what its first view shows.
    sizes: await meteredSizes(
      db,
      { organisation, team, from: from - HOUR_MS, to, grouping },
      running.workloads.filter(({ workload }) => !jobs.has(workload)),
    ),
    leases: leases.map(({ provider, sku, region, gpuModel, ...lease }) => ({
      ...lease,
      hourlyNanos: hourlyNanos(prices, { provider, sku, region, gpuModel }, lease.gpus, currency, from),
    })),
    peak: await organisations.peak(db, organisation),
    measurements: await measurements.upTo(db, organisation, to),
    ...pricesOver(prices, currency, [...demand, ...running.workloads]),
  };
}

/** The spend that counted in the team's budgets, from the period of each budget in which the window begins. */
async function spentOf(
  { db, budgets }: Needs,
  { organisation, team, from, to }: Pick<RecordedHistory, 'organisation' | 'team' | 'from' | 'to'>,
  fx: CurrentPrices['fx'],
): Promise<RecordedHistory['budgets']> {
  const over = await budgets.budgetsOver(db, organisation, new Set([team]));
  return Promise.all(
    over.map(async (budget) => {
      const period = { start: periodAt(budget, from).start, end: to };
      const { points } = await budgets.spend(db, organisation, { ...budget, zone: 'UTC' }, period, fx);
      return { budget, spend: points };
    }),
  );
}

/** The time of the first metered usage or measurement, epoch milliseconds; null: there is none. */
function recordedSince({
  demand,
  resources,
  workloads,
}: Pick<RecordedHistory, 'demand' | 'resources' | 'workloads'>): number | null {
  const firsts = [
    ...demand.filter(({ gpus }) => gpus.length > 0).map(({ from }) => from),
    ...resources.flatMap(({ readings }) => readings[0]?.at ?? []),
    ...workloads.flatMap(({ metrics, service }) =>
      [...Object.values(metrics), ...(service === null ? [] : [service.load])].flatMap(({ from, values }) =>
        values.length > 0 ? [from] : [],
      ),
    ),
  ];
  return firsts.length === 0 ? null : Math.min(...firsts);
}

type Place = Pick<DemandSeries, 'sku' | 'region' | 'gpuModel'> & { readonly provider: string | null };

/** Prices by hour, each looked up once. */
function pricesOver(
  prices: CurrentPrices,
  currency: string,
  places: readonly Place[],
): Pick<RecordedHistory, 'offersAt' | 'egressAt' | 'pricesAt'> {
  const book = new OfferBook();
  const own = places.flatMap(({ provider, sku, region, gpuModel }) =>
    provider === null ? [] : [{ provider, sku, region, gpuModel }],
  );
  let last: { readonly instant: number; readonly offers: readonly GpuOffer[] } | null = null;
  const known = new Map<string, SeriesPrices>();
  return {
    offersAt(instant) {
      if (last?.instant !== instant) last = { instant, offers: book.offers(prices, currency, instant, own) };
      return last.offers;
    },
    egressAt: (instant) => book.egress(prices, currency, instant),
    pricesAt(series, instant) {
      const hour = Math.floor(instant / HOUR_MS);
      const name = [hour, series.provider, series.sku, series.gpuModel, series.region].join('\u0001');
      let found = known.get(name);
      if (found === undefined) {
        const { provider, sku, gpuModel, region } = series;
        found = pricesOf(prices, { provider, sku, gpuModel, region }, currency, hour * HOUR_MS);
        if (known.size >= MOST_CACHED_PRICES) known.clear();
        known.set(name, found);
      }
      return found;
    },
  };
}
