/**
 * budget.weigh (budget/period): the state of a budget in one period, and the thresholds that it crosses. Late usage
 * evaluates a past period again. People are notified of a threshold once per period, whatever arrives later, unless the
 * budget is raised above the spend. After a bill has arrived, the budget is not evaluated while metered usage of the
 * bill's time waits for its price (store/budget/being-priced.ts). For the current period the stage also records what
 * runs have cost of the budget reserved for them, and evaluates again when a reservation expires.
 */
import {
  crossings,
  raised,
  evaluateBudget,
  type Budget,
  type Forecaster,
  type NotifiedCrossing,
} from '../core/budget/budget.js';
import type { FxTable } from '../core/price/fx.js';
import { periodOf, parseDay, startOfLocalDay, DAY_MS, type Interval } from '../core/time.js';
import { forecastPeriodEnd } from '../planning/forecast/forecast.js';
import { MAKE_ITEM } from '../store/alert/alerts.js';
import { isBeingPriced, MOST_HELD_MS } from '../store/budget/being-priced.js';
import { periodLabel } from '../store/budget/budgets.js';
import { unnamedUsage } from '../store/budget/unnamed.js';
import { unpricedOfBudget } from '../store/budget/unpriced.js';
import type { Queryable, Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage } from './stage.js';

/** The pause before a budget that waits for prices is tried again. */
const PUT_BACK_MS = 2000;

const forecaster: Forecaster = (dailySpend, elapsedFractionOfDay, daysLeft) =>
  forecastPeriodEnd(dailySpend, elapsedFractionOfDay, daysLeft);

type Needed = Pick<Stores, 'organisations' | 'prices' | 'budgets' | 'reservations'>;

export function evaluateBudgetStage(stores: Needed): Stage {
  const { organisations, prices, budgets } = stores;
  return {
    name: 'budget.weigh',
    most: 20,
    async run({ organisation, partition, keys, now, tx, pausedSince }): Promise<WorkItem[]> {
      const budget = await budgets.get(tx, organisation, partition);
      if (budget === null) return [];
      const fx = await prices.fx(tx, organisation);
      const asOf = await organisations.asOf(tx, organisation, now);
      const teams = await budgets.teamsUnder(tx, organisation, budget.team);
      const workItems: WorkItem[] = [];
      for (const key of keys) {
        const day = parseDay(lastPart(key));
        if (day === null) continue;
        const instant = startOfLocalDay(budget.zone, day);
        const period = periodOf(budget.period, instant, budget.zone);
        const item = { stage: 'budget.weigh', partition, key };
        // Its last state holds until then. The key is put back, so that the work that it waits for can run.
        const since = pausedSince(key) ?? now;
        if (now - since < MOST_HELD_MS && (await isBeingPriced(tx, organisation, period, now))) {
          workItems.push({ ...item, pauseMs: PUT_BACK_MS });
          continue;
        }
        const about = { budget, teams, instant, period, asOf, now, fx };
        const { again, isCrossed } = await evaluatePeriod(stores, tx, organisation, about);
        if (again !== null) workItems.push({ ...item, notBefore: again });
        // The alerts check for news every few seconds anyway. The delay collects all crossings of this moment in one
        // check.
        if (isCrossed) workItems.push({ ...MAKE_ITEM, notBefore: now + 1 });
        workItems.push({ stage: 'recommendation.make', partition: budget.team, key: budget.team });
      }
      return workItems;
    },
  };
}

interface Asked {
  readonly budget: Budget;
  /** The budget's and those under it. */
  readonly teams: readonly string[];
  readonly instant: number;
  readonly period: Interval;
  readonly asOf: number;
  readonly now: number;
  readonly fx: FxTable;
}

/**
 * Keeps the state of a period and the thresholds it crosses; returns whether it crosses one that it had not, and when a
 * reservation of it expires next.
 */
async function evaluatePeriod(
  { budgets, reservations }: Needed,
  tx: Transaction,
  organisation: string,
  { budget, teams, instant, period, asOf, now, fx }: Asked,
): Promise<{ readonly again: number | null; readonly isCrossed: boolean }> {
  // Before the spend is read: what comes in between is then counted twice for a moment, never not at all.
  const reserved = await reservations.settle(
    tx,
    organisation,
    budget,
    { period, asOf, now },
    () => Promise.resolve([...teams]),
    fx,
  );
  const { points, unconverted, unstated, setAside } = await budgets.spend(tx, organisation, budget, period, fx);
  const lacking = {
    unconverted: [...new Set([...unconverted, ...reserved.unconverted])],
    unstated,
    setAside,
    unnamed: await unnamedUsage(tx, organisation, budget, teams, period),
    unpriced: await unpricedOfBudget(tx, organisation, budget, teams, period),
  };
  const owed = points.filter((point) => point.at > asOf && point.at >= period.start && point.at < period.end);
  const state = evaluateBudget({
    budget,
    instant,
    spend: points.filter((point) => point.at <= asOf),
    committed: owed.reduce((sum, point) => sum + point.nanos, 0n),
    reserved: reserved.nanos,
    now: asOf,
    forecaster,
  });
  await budgets.saveState(tx, organisation, state, lacking, now, reserved.nanos);
  const notified = await budgets.notified(tx, organisation, budget.id, period);
  const changed = raised(state, notified);
  await budgets.saveNotified(tx, organisation, budget.id, period, changed, now);
  const sameAs = (one: NotifiedCrossing) => (other: NotifiedCrossing) =>
    one.kind === other.kind && one.ratio === other.ratio;
  const standing = notified.map((one) => changed.find(sameAs(one)) ?? one);
  const fresh = await budgets.saveCrossings(tx, organisation, crossings(budget, state, standing), now);
  return { again: reserved.nextExpiry, isCrossed: fresh.length > 0 };
}

/** Enqueues every budget over the given teams, for the periods that the days (UTC) may lie in. */
export async function budgetItems(
  tx: Queryable,
  organisation: string,
  budgets: Stores['budgets'],
  changed: readonly { team: string; days: readonly string[] }[],
): Promise<WorkItem[]> {
  const workItems = new Map<string, WorkItem>();
  for (const { team, days } of changed) {
    workItems.set(`team ${team}`, { stage: 'recommendation.make', partition: team, key: team });
    for (const budget of await budgets.budgetsOver(tx, organisation, new Set([team]))) {
      for (const day of days) {
        const start = Date.parse(day);
        // A UTC day may touch two local periods; both are evaluated.
        for (const instant of [start, start + DAY_MS - 1]) {
          const key = `${budget.id}/${periodLabel(budget, instant)}`;
          workItems.set(key, { stage: 'budget.weigh', partition: budget.id, key });
        }
      }
    }
  }
  return [...workItems.values()];
}
