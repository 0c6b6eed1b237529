/**
 * What is bought already for a kind of machine and no metered term tells of: commitments of the fleet, purchases of
 * Bursar's own that the fleet does not list yet, and savings plans.
 *
 * Pure. A cloud lists a machine that a commitment covers as one on demand: which one that is, the bill says. So
 * commitments are of the account, and each team that uses such machines has them whole: nothing is bought twice,
 * though of two teams that share one account both may be asked to buy less than they could.
 */
import type { FleetTarget } from '../fleet/fleet.js';
import { mayCover } from '../price/commitment-cover.js';
import { DAY_MS, HOUR_MS } from '../time.js';
import { hoursLeftOf } from './fleet-workload.js';
import type { DemandSeries } from './view.js';

/** GPUs that a purchase of Bursar's own committed. */
export interface OwnPurchase {
  readonly provider: string;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpus: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly termHours: number;
}

type Held = NonNullable<DemandSeries['committed']>[number];
type Listed = Held & { readonly at: number };

const sumOf = (held: readonly Held[]): number => held.reduce((sum, { units }) => sum + units, 0);

/** The longest of `held`, beyond the first `known` GPUs. */
function beyond(held: readonly Held[], known: number): Held[] {
  let left = known;
  return held
    .toSorted((a, b) => a.hoursLeft - b.hoursLeft)
    .flatMap(({ units, hoursLeft }) => {
      const more = units - Math.min(left, units);
      left -= units - more;
      return more > 0 ? [{ units: more, hoursLeft }] : [];
    });
}

/**
 * The series with what is bought for it beside what its metered terms say, and the savings plans that may cover it
 * where none is metered. Only use on demand, or of which no term is said, may be covered without saying so.
 */
export function withBought(
  series: DemandSeries,
  all: readonly DemandSeries[],
  fleet: readonly FleetTarget[],
  own: readonly OwnPurchase[],
  now: number,
): DemandSeries {
  if (series.term !== null && series.term !== 'on-demand') return series;
  const isSame = (account: string | null): boolean =>
    account === null || series.account === null || account === series.account;
  const covering = fleet.filter((one) => isSame(one.account) && mayCover(one, series));
  const listed = covering.flatMap((one): Listed[] =>
    isPlan(one) || one.replicas === null || one.gpus === null
      ? []
      : [
          {
            units: one.replicas.desired * one.gpus,
            hoursLeft: hoursLeftOf(one, now) ?? HOURS_UNKNOWN,
            at: one.launchedAt ?? -Infinity,
          },
        ],
  );
  const unlisted = unlistedOf(
    own.filter((one) => isOfKind(one, series)),
    listed,
    now,
  );
  const bought = beyond([...listed, ...unlisted], sumOf(series.committed ?? []));
  const isPlanMetered = all.some(
    (other) => other.provider === series.provider && other.term?.startsWith('savings-plan') === true,
  );
  const plans = isPlanMetered ? [] : covering.filter(isPlan).map(({ name }) => name);
  return { ...series, ...(bought.length === 0 ? {} : { bought }), ...(plans.length === 0 ? {} : { plans }) };
}

const isPlan = ({ term }: Pick<FleetTarget, 'term'>): boolean => term?.startsWith('savings-plan') === true;

const isOfKind = ({ provider, sku, region }: OwnPurchase, series: DemandSeries): boolean =>
  provider === series.provider &&
  (sku === null || sku === series.sku) &&
  (region === null || series.region === null || region === series.region);

/** Own purchases that hold, without those that the fleet lists: what began with a purchase, and is as large. */
function unlistedOf(own: readonly OwnPurchase[], listed: readonly Listed[], now: number): Held[] {
  const left = [...listed];
  return own.flatMap((one): Held[] => {
    const hoursLeft = Math.ceil(one.termHours - (now - one.at) / HOUR_MS);
    if (hoursLeft <= 0 || now < one.at) return [];
    const at = left.findIndex(
      ({ units, at: began }) => units === one.gpus && Math.abs(began - one.at) < LISTED_WITHIN_MS,
    );
    if (at >= 0) left.splice(at, 1);
    return at >= 0 ? [] : [{ units: one.gpus, hoursLeft }];
  });
}

/** A commitment begins when it is paid for, which may take a while. */
const LISTED_WITHIN_MS = DAY_MS;

/** Of a commitment whose end nobody says: a year, the shortest that is sold. */
const HOURS_UNKNOWN = 8760;
