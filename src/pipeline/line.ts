/**
 * The line: what happens between a usage record and a recommendation, in order. This is its table of contents.
 *
 *   sample.collect   reads GPU evidence, settles its health findings         collect-samples.ts   wakes fleet.collect, recommendation.make, itself, sample.purge
 *   fleet.collect    reads what runs at a provider                           collect-fleet.ts   wakes recommendation.make
 *   fleet.allocate   gives what runs to teams anew when the rules change     collect-fleet.ts   wakes recommendation.make
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
 *   answer.take      does and answers what a person in Slack pressed         answer.ts     wakes action.execute, alert.make, alert.send
 *   action.follow    begins what follows an action, when its time has come   follow.ts     wakes itself, action.execute
 *   action.execute   guards an approved action and asks the provider         execute.ts    wakes itself, action.confirm
 *   action.confirm   reads the target until it shows the effect              confirm.ts    wakes itself, saving.verify; action.follow, which waits for its time
 *   saving.verify    measures what an action saved, hour by hour             verify.ts     wakes itself
 *   bill.reconcile   compares bills with what was accrued, learns rates      reconcile.ts  a rate learned enters again at the left, as a price
 *   anomaly.find     looks for unusual spend and prices                      find-anomalies.ts
 *   alert.make       keeps what is worth telling, decides where it goes      alert-make.ts wakes alert.escalate, alert.send
 *   alert.escalate   goes further when nobody answers                        alert-make.ts wakes itself, alert.send
 *   alert.send       tells one place, and shows there what became of it      alert.ts      wakes itself
 *   report.send      makes a team's report of a month                        report.ts     what it announces is told by the alerts
 *   backtest.run     runs a policy over recorded history, apart from the rest     backtest.ts   wakes itself, while another runs in this process
 *
 * A stage wakes only stages to its right, or waits for its own key again. Late usage and corrected prices enter again at the left and walk the same line.
 * Each stage runs in one transaction: what it writes, what it has done and what it wakes are there together or not at all. What takes minutes is worked
 * out before that transaction, under a lease.
 */
import { ENGLISH } from '../core/alert/texts.js';
import type { Policy } from '../core/policy/policy.js';
import type { TelemetryConnection } from '../core/ports.js';
import type { Stores } from '../store/stores.js';
import { sendStage, type Channels, type TellingOptions } from './alert.js';
import { escalateStage, makeAlertsStage } from './alert-make.js';
import { allocateStage } from './allocate.js';
import { answerStage } from './answer.js';
import { backtestStage } from './backtest.js';
import { allocateFleetStage, collectFleetStage } from './collect-fleet.js';
import { collectPricesStage } from './collect-prices.js';
import { collectUsageStage } from './collect-usage.js';
import { purgeStage, sampleStage } from './collect-samples.js';
import { confirmStage } from './confirm.js';
import { creditStage } from './credit.js';
import { executeStage, type Connections } from './execute.js';
import { findAnomaliesStage } from './find-anomalies.js';
import { followStage } from './follow.js';
import { priceStage } from './price.js';
import { recommendStage } from './recommend.js';
import { reconcileStage } from './reconcile.js';
import { reportStage } from './report.js';
import { rollupStage } from './rollup.js';
import { shareStage } from './share.js';
import type { Stage } from './stage.js';
import { verifyStage } from './verify.js';
import { weighStage } from './weigh.js';

const PLAIN_TELLING: TellingOptions = { texts: ENGLISH, publicUrl: null };

/**
 * The stages after collecting, from left to right.
 * @param connections to the providers, by name; none: nothing is acted on
 * @param channels to tell people by, by name; none: alerts are kept, and wait
 */
export function makeLine(stores: Stores, policies: readonly Policy[], telemetry: readonly TelemetryConnection[] = [], connections: Connections = new Map(), channels: Channels = new Map(), telling: TellingOptions = PLAIN_TELLING): readonly Stage[] {
  const { organisations, raw, prices, costs, shares, credits, budgets, reservations, savings, learnedRates, reconciliation } = stores;
  const line: readonly Stage[] = [
    sampleStage(stores, telemetry),
    purgeStage(stores),
    collectFleetStage(stores, connections),
    allocateFleetStage(stores),
    collectPricesStage(stores, connections),
    collectUsageStage(stores, connections),
    allocateStage(organisations, raw),
    priceStage(organisations, prices, costs, learnedRates),
    rollupStage(organisations, costs, credits, budgets, savings, reconciliation),
    shareStage(organisations, shares, credits, budgets),
    creditStage(credits, budgets),
    weighStage(organisations, prices, budgets, reservations),
    recommendStage(stores, policies),
    answerStage(stores, channels, telling),
    followStage(stores),
    executeStage(stores, policies, connections),
    confirmStage(stores, connections, (stage) => line.some(({ name }) => name === stage)),
    verifyStage(stores),
    reconcileStage(stores),
    reportStage(stores),
    backtestStage(stores, policies),
    findAnomaliesStage(stores),
    makeAlertsStage(stores, channels),
    escalateStage(stores, channels),
    sendStage(stores, channels, telling),
  ];
  return line;
}
