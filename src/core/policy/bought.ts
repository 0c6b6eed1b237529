/**
 * Commitments for a kind of machine that no metered term shows: commitments of the fleet, Bursar's own purchases that
 * the fleet does not list yet, and savings plans.
 *
 * Pure. A cloud lists a machine that a commitment covers as on demand; only the bill says which machine it is. So a
 * commitment belongs to the account that holds it, and counts in full for each team that uses such machines: nothing is
 * bought twice, though two teams that share one account may both be advised to buy less than they could.
 */
import type { FleetTarget } from '../fleet/fleet.js';
import { mayCover } from '../price/commitment-cover.js';
import { DAY_MS, HOUR_MS } from '../time.js';
import { hoursLeftOf } from './fleet-workload.js';
import type { DemandSeries } from './view.js';

/** GPUs that a purchase of Bursar's own committed. */
export interface OwnPurchase {
  readonly provider: string;
  /** The account of the buying connection; null: unknown, or it sees several. */
  readonly account: string | null;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpus: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly termHours: number;
}

type Held = NonNullable<DemandSeries['committed']>[number];
/** As the fleet lists it. */
type Listed = Held & { readonly at: number; readonly account: string | null };
/** As Bursar bought it, and the fleet does not list it yet. */
type Unlisted = Held & { readonly account: string | null };

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
 * The series with the commitments that its metered terms do not show, and the savings plans that may cover it if none
 * is metered. Only usage on demand, or without a stated term, may be covered unnoticed.
 */
export function withBought(
  series: DemandSeries,
  all: readonly DemandSeries[],
  fleet: readonly FleetTarget[],
  own: readonly OwnPurchase[],
  now: number,
): DemandSeries {
  if (series.term !== null && series.term !== 'on-demand') return series;
  const covering = fleet.filter((one) => mayCover(one, series));
  const ofAll = covering.flatMap((one): Listed[] =>
    isPlan(one) || one.replicas === null || one.gpus === null
      ? []
      : [
          {
            units: one.replicas.desired * one.gpus,
            hoursLeft: hoursLeftOf(one, now) ?? HOURS_UNKNOWN,
            at: one.launchedAt ?? -Infinity,
            account: one.account,
          },
        ],
  );
  const isSame = ({ account }: { readonly account: string | null }): boolean => isOneAccount(account, series.account);
  // For a purchase without a known account, the account that lists it.
  const unlisted = unlistedOf(
    own.filter((one) => isOfKind(one, series)),
    ofAll,
    now,
  ).filter(isSame);
  const known = sumOf(series.committed ?? []);
  const bought = beyond([...ofAll.filter(isSame), ...unlisted], known);
  const sure = beyond([...ofAll.filter(isSame), ...unlisted.filter(({ account }) => account !== null)], known);
  const assumed = series.account === null ? 0 : sumOf(bought) - sumOf(sure);
  const isPlanMetered = all.some(
    (other) => other.provider === series.provider && other.term?.startsWith('savings-plan') === true,
  );
  const plans = isPlanMetered ? [] : covering.filter((one) => isSame(one) && isPlan(one)).map(({ name }) => name);
  return {
    ...series,
    ...(bought.length === 0 ? {} : { bought: bought.map(({ units, hoursLeft }) => ({ units, hoursLeft })) }),
    ...(assumed > 0 ? { boughtForUnknown: assumed } : {}),
    ...(plans.length === 0 ? {} : { plans }),
  };
}

/** Whether two may be one account: an unknown account may be any. */
const isOneAccount = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one === other;

const isPlan = ({ term }: Pick<FleetTarget, 'term'>): boolean => term?.startsWith('savings-plan') === true;

const isOfKind = ({ provider, sku, region }: OwnPurchase, series: DemandSeries): boolean =>
  provider === series.provider &&
  (sku === null || sku === series.sku) &&
  (region === null || series.region === null || region === series.region);

/** Own purchases that hold, without those that the fleet lists: what began with a purchase, and is as large. */
function unlistedOf(own: readonly OwnPurchase[], listed: readonly Listed[], now: number): Unlisted[] {
  const left = [...listed];
  // Purchases of known accounts come first: they leave other accounts' listings to purchases without a known account.
  const sorted = own.toSorted((a, b) => Number(a.account === null) - Number(b.account === null));
  return sorted.flatMap((one): Unlisted[] => {
    const hoursLeft = Math.ceil(one.termHours - (now - one.at) / HOUR_MS);
    if (hoursLeft <= 0 || now < one.at) return [];
    const at = left.findIndex(
      ({ units, at: began, account }) =>
        units === one.gpus && Math.abs(began - one.at) < LISTED_WITHIN_MS && isOneAccount(account, one.account),
    );
    if (at >= 0) left.splice(at, 1);
    return at >= 0 ? [] : [{ units: one.gpus, hoursLeft, account: one.account }];
  });
}

/** A commitment begins when it is paid for, which may take a while. */
const LISTED_WITHIN_MS = DAY_MS;

/** For a commitment without a stated end: a year, the shortest term on sale. */
const HOURS_UNKNOWN = 8760;
