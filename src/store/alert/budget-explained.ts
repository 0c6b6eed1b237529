/**
 * What stands beside a threshold that a budget has reached: what drives the spend, how it compares with as many days of
 * the period before, whose usage it is that grew most, and where to begin.
 *
 * Reads only. Sums keep no tags: for whose usage it is the records of the part that grew most are read again, as many
 * as take no more than a moment; of more nobody is named.
 */
import type { BudgetNews, SpendSoFar } from '../../core/alert/alert.js';
import { driversOf, mostGrown, nextStepOf, spendSoFar } from '../../core/alert/numbers.js';
import { grownBy, whoseName } from '../../core/alert/whose.js';
import { BUDGET_FILTERS, periodAt, type Budget } from '../../core/budget/budget.js';
import { parseSpendQuery } from '../../core/cost/spend-query.js';
import { Failure } from '../../core/errors.js';
import { dayLabel, formatDay, localDays, startOfLocalDay, type Interval } from '../../core/time.js';
import type { SpendRow } from '../cost/spend.js';
import type { Queryable } from '../database.js';
import type { Stores } from '../stores.js';

export type Explaining = Pick<Stores, 'budgets' | 'recommendations' | 'spend' | 'prices' | 'resourceCosts'>;

/** Records that are read to say whose usage it is: alerts wait for it. */
const MOST_RECORDS = 500_000;

interface Asked {
  readonly db: Queryable;
  readonly organisation: string;
  readonly budget: Budget | null;
  readonly teams: readonly string[];
  readonly currency: string;
}

/** News of a threshold with all that. @param now epoch milliseconds */
export async function explained(
  stores: Explaining,
  db: Queryable,
  organisation: string,
  news: BudgetNews,
  now: number,
): Promise<BudgetNews> {
  const { budgets, recommendations } = stores;
  const { currency } = news;
  const budget = await budgets.get(db, organisation, news.budget);
  const teams = await budgets.teamsUnder(db, organisation, news.team);
  const asked = { db, organisation, budget, teams, currency };
  const period = { start: Date.parse(news.periodStart), end: Date.parse(news.periodEnd) };
  const open = await recommendations.list(organisation, { status: 'open', teams }, null, 1000, db);
  return {
    ...news,
    drivers: driversOf(await rowsOf(stores, asked, period), currency, budget?.filters),
    soFar: await soFarOf(stores, asked, period, now),
    nextStep: nextStepOf(open, currency),
  };
}

function queryOf({ budget, teams }: Asked, { start, end }: Interval, groupBy: readonly string[]) {
  const zone = budget?.zone ?? 'UTC';
  return parseSpendQuery({
    from: dayLabel(start, zone),
    to: dayLabel(end, zone),
    zone,
    groupBy: groupBy.join(','),
    basis: budget?.basis ?? 'actual',
    teams,
  });
}

async function rowsOf({ spend, prices }: Explaining, asked: Asked, when: Interval): Promise<readonly SpendRow[]> {
  const { db, organisation, budget, currency } = asked;
  const names = BUDGET_FILTERS.filter((one) => one !== 'tag' && budget?.filters[one]);
  const query = queryOf(asked, when, [...new Set(['provider', 'sku', 'gpuModel', ...names])]);
  const fx = await prices.fx(db, organisation);
  return (await spend.spend(organisation, { ...query, currency }, fx, db)).rows;
}

async function soFarOf(stores: Explaining, asked: Asked, period: Interval, now: number): Promise<SpendSoFar | null> {
  const days = daysAlike(asked.budget, period, now);
  if (days === null) return null;
  const rows = await rowsOf(stores, asked, days.now);
  const before = await rowsOf(stores, asked, days.before);
  const soFar = spendSoFar(days.through, rows, before, asked.currency, asked.budget?.filters);
  const [most, ...others] = soFar?.grown ?? [];
  if (soFar === null || most === undefined) return soFar;
  const by = await grownOf(stores, asked, mostGrown(soFar, rows), days);
  return by.length === 0 ? soFar : { ...soFar, grown: [{ ...most, by }, ...others] };
}

/** Whose usage of what grew most it is; nobody's where too much would have to be read. */
async function grownOf(
  { resourceCosts }: Explaining,
  asked: Asked,
  what: ReturnType<typeof mostGrown>,
  days: { readonly now: Interval; readonly before: Interval },
): Promise<ReturnType<typeof grownBy>> {
  if (what === null) return [];
  const { db, organisation, budget, currency } = asked;
  const { tag: _tag, ...filters } = budget?.filters ?? {};
  const costs = (when: Interval) => {
    const query = queryOf(asked, when, []);
    const span = { from: query.from ?? '', to: query.to ?? '' };
    const question = { ...query, ...span, filters: { ...filters, ...what } };
    return resourceCosts.costs(db, organisation, question, whoseName, MOST_RECORDS);
  };
  try {
    return grownBy(await costs(days.now), await costs(days.before), currency);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') return [];
    throw error;
  }
}

/** The whole days of a period that are over, and as many of the previous one; null if there is none. */
function daysAlike(
  budget: Budget | null,
  { start, end }: Interval,
  now: number,
): { readonly through: string; readonly now: Interval; readonly before: Interval } | null {
  if (budget === null) return null;
  const { zone } = budget;
  const first = localDays(zone, start);
  const before = periodAt(budget, start - 1);
  const firstBefore = localDays(zone, before.start);
  const length = Math.min(localDays(zone, Math.min(now, end)) - first, localDays(zone, before.end) - firstBefore);
  return length <= 0
    ? null
    : {
        through: formatDay(first + length - 1),
        now: { start, end: startOfLocalDay(zone, first + length) },
        before: { start: before.start, end: startOfLocalDay(zone, firstBefore + length) },
      };
}
