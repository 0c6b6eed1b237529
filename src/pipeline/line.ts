/**
 * The line: what happens between a usage record and a recommendation, in order. This is its table of contents.
 *
 *   sample.collect   reads GPU evidence, settles its health findings         collect-samples.ts   wakes recommendation.make, itself, sample.purge
 *   fleet.collect    reads what runs at a provider                           collect-fleet.ts   wakes recommendation.make
 *   price.collect    reads its prices, offers and spot                       collect-prices.ts  wakes cost.price
 *   usage.collect    reads its usage and bill                                collect-usage.ts   wakes cost.price, cost.rollup
 *   usage.collect    takes records and bills in, assigns teams, sums hours   collect.ts    wakes cost.price, cost.rollup
 *   usage.allocate   assigns history anew when the rules change              allocate.ts   wakes cost.price, cost.rollup
 *   cost.price       prices a team's day, hour by hour, or says why not      price.ts      wakes cost.rollup
 *   cost.rollup      sums the day: accrued, billed, actual                   rollup.ts     wakes cost.share, cost.credit, budget.weigh, saving.verify, bill.reconcile
 *   cost.share       splits the day's shared costs over the teams            share.ts      wakes cost.credit, budget.weigh
 *   cost.credit      takes what is due from the credits that were granted    credit.ts     wakes budget.weigh
 *   budget.weigh     state, forecast and crossings of a budget's period      weigh.ts      wakes recommendation.make, itself
 *   recommendation.make   shows the team to its policies                     recommend.ts  wakes action.execute
 *   action.execute   guards an approved action and asks the provider         execute.ts    wakes itself, action.confirm
 *   action.confirm   reads the target until it shows the effect              confirm.ts    wakes itself, saving.verify
 *   saving.verify    measures what an action saved, hour by hour             verify.ts     wakes itself
 *   report.send      makes a team's report of a month                        report.ts     wakes alert.send
 *   bill.reconcile   compares bills with what was accrued, learns rates      reconcile.ts  a rate learned enters again at the left, as a price
 *
 * A stage wakes only stages to its right, or waits for its own key again. Late usage and corrected prices enter again at the left and walk the same line.
 * Each stage runs in one transaction: what it writes, what it has done and what it wakes are there together or not at all.
 */
import type { Policy } from '../core/policy.js';
import type { TelemetryConnection } from '../core/ports.js';
import type { Stores } from '../store/stores.js';
import { allocateStage } from './allocate.js';
import { collectFleetStage } from './collect-fleet.js';
import { collectPricesStage } from './collect-prices.js';
import { collectUsageStage } from './collect-usage.js';
import { purgeStage, sampleStage } from './collect-samples.js';
import { confirmStage } from './confirm.js';
import { creditStage } from './credit.js';
import { executeStage, type Connections } from './execute.js';
import { priceStage } from './price.js';
import { recommendStage } from './recommend.js';
import { reconcileStage } from './reconcile.js';
import { reportStage } from './report.js';
import { rollupStage } from './rollup.js';
import { shareStage } from './share.js';
import type { Stage } from './stage.js';
import { verifyStage } from './verify.js';
import { weighStage } from './weigh.js';

/**
 * The stages after collecting, from left to right.
 * @param connections to the providers, by name; none: nothing is acted on
 */
export function makeLine(stores: Stores, policies: readonly Policy[], telemetry: readonly TelemetryConnection[] = [], connections: Connections = new Map()): readonly Stage[] {
  const { organisations, raw, prices, costs, shares, credits, budgets, reservations, savings, learnedRates, reconciliation } = stores;
  const line: readonly Stage[] = [
    sampleStage(stores, telemetry),
    purgeStage(stores),
    collectFleetStage(stores, connections),
    collectPricesStage(stores, connections),
    collectUsageStage(stores, connections),
    allocateStage(organisations, raw),
    priceStage(organisations, prices, costs, learnedRates),
    rollupStage(organisations, costs, credits, budgets, savings, reconciliation),
    shareStage(organisations, shares, credits, budgets),
    creditStage(credits, budgets),
    weighStage(organisations, prices, budgets, reservations),
    recommendStage(stores, policies),
    executeStage(stores, policies, connections),
    confirmStage(stores, connections, (stage) => line.some(({ name }) => name === stage)),
    verifyStage(stores),
    reportStage(stores, (stage) => line.some(({ name }) => name === stage)),
    reconcileStage(stores),
  ];
  return line;
}
