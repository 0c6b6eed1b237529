/**
 * What a recommendation rests on, as a series that can be drawn: of a purchase the GPUs that it would serve, day by day,
 * of anything else how busy the target's GPUs were, hour by hour; a group that nobody reads by itself is as busy as the
 * busiest of its machines.
 *
 * Reads only, up to the organisation's newest instant. A day or an hour of which nothing is recorded is null, not zero;
 * where nothing is recorded at all it says so.
 */
import type { DemandSeries } from '../../core/policy/policy.js';
import { READINGS_DAYS } from '../../core/policy/policy.js';
import type { PurchasePlace } from '../../core/policy/recommendation.js';
import { DAY_MS, formatInstant, HOUR_MS, hourOf } from '../../core/time.js';
import { resourceMinutes, type ResourceMinutes } from '../../store/fleet/resource-minutes.js';
import type { StoredRecommendation } from '../../store/policy/recommendations.js';
import type { Stores } from '../../store/stores.js';

type Needed = Pick<Stores, 'db' | 'fleet' | 'organisations' | 'prices' | 'views'>;

export interface EvidencePoint {
  /** ISO 8601: where the step begins. */
  readonly at: string;
  readonly value: number | null;
}

export interface EvidenceSeries {
  /** GPUs in use at a time, or the share of time that the busiest GPU of the target works; null: nothing is recorded. */
  readonly measure: 'gpus' | 'utilisation' | null;
  readonly stepSeconds: number;
  readonly points: readonly EvidencePoint[];
  /** GPUs that the purchase would serve; null: there is no such line. */
  readonly threshold: number | null;
}

const DEMAND_DAYS = 90;
const NOTHING: EvidenceSeries = { measure: null, stepSeconds: 0, points: [], threshold: null };

export async function recommendationEvidence(
  stores: Needed,
  organisation: string,
  one: Pick<StoredRecommendation, 'team' | 'target' | 'place' | 'change' | 'currency'>,
  now: number,
): Promise<EvidenceSeries> {
  const asOf = await stores.organisations.asOf(stores.db, organisation, now);
  return one.place === null || one.place === undefined
    ? busyness(stores, organisation, one, asOf)
    : served(stores, organisation, { ...one, place: one.place }, asOf);
}

/** How busy the target was in each hour of the readings that policies see. */
async function busyness(
  { db, fleet }: Needed,
  organisation: string,
  { team, target }: Pick<StoredRecommendation, 'team' | 'target'>,
  asOf: number,
): Promise<EvidenceSeries> {
  const all = await resourceMinutes(db, organisation, team, asOf - READINGS_DAYS * DAY_MS, asOf);
  const own = all.find(({ newest }) => newest.resource === target || newest.target === target);
  if (own !== undefined) return byHour(hoursOf([own]), asOf);
  const machines = await fleet.machinesOf(db, organisation, team, target);
  const isMachine = ({ newest }: ResourceMinutes): boolean =>
    machines.some((one) => one.connection === newest.connection && one.target === newest.target);
  return byHour(hoursOf(all.filter(isMachine)), asOf);
}

/** By hour the minutes of which a reading is known, each as busy as the busiest. */
function hoursOf(resources: readonly ResourceMinutes[]): Map<number, number[]> {
  const busiest = new Map<number, number>();
  for (const { minutes } of resources)
    for (const { at, gpu } of minutes) if (gpu !== null) busiest.set(at, Math.max(gpu, busiest.get(at) ?? 0));
  const hours = new Map<number, number[]>();
  for (const [at, gpu] of busiest) {
    const hour = hours.get(hourOf(at));
    if (hour === undefined) hours.set(hourOf(at), [gpu]);
    else hour.push(gpu);
  }
  return hours;
}

function byHour(hours: ReadonlyMap<number, readonly number[]>, asOf: number): EvidenceSeries {
  if (hours.size === 0) return NOTHING;
  const first = Math.min(...hours.keys());
  const steps = Math.floor((hourOf(asOf) - first) / HOUR_MS) + 1;
  return {
    measure: 'utilisation',
    stepSeconds: HOUR_MS / 1000,
    points: Array.from({ length: steps }, (_, n): EvidencePoint => {
      const all = hours.get(first + n * HOUR_MS);
      const value = all === undefined ? null : all.reduce((sum, one) => sum + one, 0) / all.length;
      return { at: formatInstant(first + n * HOUR_MS), value };
    }),
    threshold: null,
  };
}

/** GPUs that were used on demand where a purchase would serve, on average of each day. */
async function served(
  { db, views, prices }: Needed,
  organisation: string,
  {
    team,
    place,
    change,
    currency,
  }: Pick<StoredRecommendation, 'team' | 'change' | 'currency'> & { readonly place: PurchasePlace },
  asOf: number,
): Promise<EvidenceSeries> {
  const from = Math.floor(asOf / DAY_MS) * DAY_MS - DEMAND_DAYS * DAY_MS;
  const request = { organisation, team, currency, asOf };
  const demand = await views.demand(db, request, from, await prices.book(db, organisation));
  const own = demand.filter((series) => isServed(series, place));
  if (own.length === 0) return NOTHING;
  const first = Math.floor(Math.min(...own.map((series) => series.from)) / DAY_MS) * DAY_MS;
  const end = Math.max(...own.map(({ from: began, gpus }) => began + gpus.length * HOUR_MS));
  const days = Math.ceil((hourOf(asOf) - first) / DAY_MS);
  const { units } = change;
  return {
    measure: 'gpus',
    stepSeconds: DAY_MS / 1000,
    points: Array.from({ length: days }, (_, n): EvidencePoint => {
      const day = { start: first + n * DAY_MS, end: Math.min(first + (n + 1) * DAY_MS, end) };
      return { at: formatInstant(day.start), value: meanGpus(own, day) };
    }),
    threshold: typeof units === 'number' ? units : null,
  };
}

const isServed = (series: DemandSeries, { provider, region, sku, account }: PurchasePlace): boolean =>
  (series.term === null || series.term === 'on-demand') &&
  series.provider === provider &&
  (region === null || series.region === region) &&
  (sku === null || series.sku === sku) &&
  (account === null || account === undefined || series.account === account);

/** On average of what of the day is recorded. */
function meanGpus(all: readonly DemandSeries[], day: { start: number; end: number }): number | null {
  const [start, end] = [Math.max(day.start, Math.min(...all.map(({ from }) => from))), day.end];
  let sum = 0;
  for (const { from, gpus } of all)
    for (let hour = Math.max(start, from); hour < end; hour += HOUR_MS) sum += gpus[(hour - from) / HOUR_MS] ?? 0;
  return end <= start ? null : sum / ((end - start) / HOUR_MS);
}
