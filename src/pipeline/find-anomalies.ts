/**
 * anomaly.find (team/<id>, prices): finds spend that a team's past does not explain, and unusual prices in use. Keeps
 * each finding once; alert.make makes alerts of them. A day is judged some hours after its end, on the data known by
 * then. A day without data is skipped, never taken as zero. Findings about days long ago are not kept, because they are
 * no longer news.
 */
import { DAY_MS, dayOf, formatDay, formatInstant, HOUR_MS, hourOf } from '../core/time.js';
import type { AnomalyNews, PriceNews } from '../core/alert/alert.js';
import { dailySeries, driversOf, estimateText, peersOf, priceSeries, type PriceSeries } from '../core/alert/numbers.js';
import type { Anomaly } from '../planning/anomaly/anomaly.js';
import { detectPriceAnomalies } from '../planning/anomaly/prices.js';
import { DAILY, detectSpendAnomalies } from '../planning/anomaly/spend.js';
import { parseSpendQuery } from '../core/cost/spend-query.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import type { Stage, StageCall } from './stage.js';

export const FIND_PRICES: WorkItem = { stage: 'anomaly.find', partition: 'prices', key: 'prices' };

/** Late usage of a day is waited for so long. */
const SETTLES_MS = 6 * HOUR_MS;
const HISTORY_DAYS = 120;
/** An anomaly is not kept if it could have been reported longer ago than this. */
const RECENT_MS = 14 * DAY_MS;
/** The number of series with which one is compared. */
const MOST_PEERS = 8;

type Needs = Pick<Stores, 'organisations' | 'prices' | 'spend' | 'anomalies'>;

export function findAnomaliesStage(stores: Needs): Stage {
  return {
    name: FIND_PRICES.stage,
    most: 20,
    async run(call) {
      for (const key of call.keys)
        await (key === FIND_PRICES.key
          ? findInPrices(stores, call)
          : findInSpend(stores, call, key.slice('team/'.length)));
      return [];
    },
  };
}

/** The checks that are due: prices every hour, teams for every day that has just settled. */
export function anomalyKeys(
  now: number,
  last: { readonly hour: number; readonly day: number },
): {
  readonly hour: number;
  readonly day: number;
  readonly keys: { readonly prices: boolean; readonly teams: boolean };
} {
  const [hour, day] = [hourOf(now), dayOf(now - SETTLES_MS)];
  return { hour, day, keys: { prices: hour !== last.hour, teams: day !== last.day } };
}

async function findInSpend(
  { organisations, prices, spend, anomalies }: Needs,
  { organisation, now, tx }: StageCall,
  team: string,
): Promise<void> {
  const currency = await organisations.currencyOf(tx, organisation, team);
  const until = dayOf((await organisations.asOf(tx, organisation, now)) - SETTLES_MS);
  const from = until - HISTORY_DAYS * DAY_MS;
  const fx = await prices.fx(tx, organisation);
  const ask = async (start: number, end: number, groupBy: string) =>
    (
      await spend.spend(
        organisation,
        parseSpendQuery({ from: label(start), to: label(end), groupBy, currency, teams: [team] }),
        fx,
        tx,
      )
    ).rows;
  const found = detectSpendAnomalies(dailySeries(await ask(from, until, 'day'), currency, from, until), DAILY).filter(
    ({ decidedAt }) => decidedAt >= until - RECENT_MS,
  );
  const fresh = await anomalies.fresh(
    tx,
    organisation,
    found.map((one) => spendNews(team, currency, one)),
  );
  const explained: AnomalyNews[] = [];
  for (const one of fresh) {
    const day = Date.parse(one.decidedDay);
    explained.push({ ...one, drivers: driversOf(await ask(day, day + DAY_MS, 'provider,sku,gpuModel'), currency) });
  }
  await anomalies.keep(tx, organisation, explained, now);
}

const label = (day: number): string => formatDay(day / DAY_MS);

function spendNews(team: string, currency: string, { at, decidedAt, kind, observed, expected }: Anomaly): AnomalyNews {
  return {
    kind: 'anomaly',
    team,
    what: kind === 'dirty-price' ? 'spike' : kind,
    day: label(at),
    decidedDay: label(decidedAt),
    currency,
    observed: estimateText(observed),
    expected: { low: estimateText(expected.low), mean: estimateText(expected.mean), high: estimateText(expected.high) },
    drivers: [],
  };
}

async function findInPrices(
  { organisations, prices, anomalies }: Needs,
  { organisation, now, tx }: StageCall,
): Promise<void> {
  const { prices: all, version } = await prices.book(tx, organisation);
  if (!(await anomalies.hasChanged(tx, organisation, 'prices', version))) return;
  const asOf = await organisations.asOf(tx, organisation, now);
  const used = await anomalies.usedSkus(tx, organisation);
  const series = priceSeries(all, (provider, sku) => used.has(`${provider}\u0001${sku}`));
  const found = series.flatMap((one) =>
    detectPriceAnomalies(one.points, {
      peers: peersOf(one, series)
        .slice(0, MOST_PEERS)
        .map(({ points }) => points),
    })
      // Spot prices change all the time; only a price outside their whole history is reported.
      .filter(({ kind, decidedAt }) => decidedAt >= asOf - RECENT_MS && (kind === 'dirty-price' || one.term !== 'spot'))
      .map((anomaly) => priceNews(one, anomaly)),
  );
  await anomalies.keep(tx, organisation, await anomalies.fresh(tx, organisation, found), now);
}

function priceNews(
  { provider, sku, region, term, currency, points }: PriceSeries,
  { at, decidedAt, kind, observed, expected }: Anomaly,
): PriceNews {
  return {
    kind: 'price',
    team: null,
    what: kind,
    provider,
    sku,
    region,
    term,
    effectiveFrom: formatInstant(at),
    decidedAt: formatInstant(decidedAt),
    currency,
    observed: estimateText(observed, 6),
    expected: estimateText(expected.mean, 6),
    source: points.find((point) => point.at === at)?.source ?? '',
  };
}
