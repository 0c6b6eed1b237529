/**
 * The line: what happens between a usage record and a recommendation, in order. This is its table of contents.
 *
 *   sample.collect       collect-samples.ts   reads GPU evidence, settles its health findings
 *                                             enqueues fleet.collect, recommendation.make, itself, sample.pack,
 *                                             sample.purge
 *   sample.pack          collect-samples.ts   packs the hours of a source that are over
 *                                             enqueues itself, while days or rows of the previous version are left
 *   sample.purge         collect-samples.ts   deletes samples past their retention
 *   fleet.collect        collect-fleet.ts     reads what runs at a provider
 *                                             enqueues recommendation.make
 *   fleet.allocate       collect-fleet.ts     assigns the fleet to teams again when the rules change
 *                                             enqueues recommendation.make
 *   price.collect        collect-prices.ts    reads the provider's prices, offers and spot
 *                                             enqueues cost.price
 *   usage.collect        collect-usage.ts     reads the provider's usage and bill
 *                                             enqueues cost.price, cost.rollup
 *   usage.collect        collect.ts           imports records and bills, assigns teams, sums hours
 *                                             enqueues cost.price, cost.rollup
 *   usage.allocate       allocate.ts          assigns history again when the rules change
 *                                             enqueues cost.price, cost.rollup
 *   usage.merge          merge.ts             merges a settled day's small deliveries
 *                                             enqueues itself
 *   cost.price           price.ts             prices a team's day, hour by hour, or records why not
 *                                             enqueues cost.rollup; itself, if a run changes many days
 *   bill.settle          settle-bills.ts      makes bills final whose settling time is over
 *                                             enqueues cost.rollup, bill.reconcile, itself
 *   cost.rollup          rollup.ts            sums the day: accrued, billed, actual
 *                                             enqueues cost.share, cost.credit, budget.weigh, saving.verify, bill.reconcile
 *   cost.share           share.ts             splits the day's shared costs over the teams
 *                                             enqueues cost.credit, budget.weigh
 *   cost.credit          credit.ts            pays for metered usage with granted credits
 *                                             enqueues budget.weigh
 *   spend.sum            sum.ts               sums a day of all teams for questions about all of them
 *   budget.weigh         evaluate-budget.ts   state, forecast and crossings of a budget's period
 *                                             enqueues recommendation.make, alert.make, itself
 *   recommendation.make  recommend.ts         evaluates the policies for a team
 *                                             enqueues action.execute
 *   answer.take          answer.ts            executes and answers what a person in Slack pressed
 *                                             enqueues action.execute, alert.make, alert.send
 *   action.follow        follow.ts            begins an action's follow-up when its time has come
 *                                             enqueues itself, action.execute
 *   action.execute       execute.ts           guards an approved action and asks the provider
 *                                             enqueues itself, action.confirm
 *   action.confirm       confirm.ts           reads the target until the reading shows the effect
 *                                             enqueues itself, saving.verify; action.follow, which waits for its time
 *   saving.verify        verify.ts            measures the saving of an action, hour by hour
 *                                             enqueues itself
 *   bill.reconcile       reconcile.ts         compares bills with the accrual, learns rates
 *                                             a learned rate enters again at the left, as a price
 *   anomaly.find         find-anomalies.ts    finds unusual spend and prices
 *   alert.make           alert-make.ts        makes alerts of new events, decides where they go
 *                                             enqueues alert.escalate, alert.send
 *   alert.escalate       alert-make.ts        escalates an alert that nobody answers
 *                                             enqueues itself, alert.send
 *   alert.send           alert.ts             sends an alert to one place, and keeps it up to date
 *                                             enqueues itself
 *   audit.send           send-audit.ts        sends the audit to its collector
 *                                             enqueues itself
 *   report.send          report.ts            makes a team's report of a month
 *                                             alert.make sends alerts for announced reports
 *   backtest.run         backtest.ts          runs a policy over recorded history, apart from the rest
 *                                             enqueues itself, while another runs in this process
 *
 * A stage enqueues only stages to its right, or waits for its own key again. Late usage and corrected prices enter
 * again at the left and walk the same line.
 * Each stage runs in one transaction: its results, its progress and the work that it enqueues are committed together
 * or not at all. Work that takes minutes, or calls a cloud or a channel, runs before that transaction, under a lease
 * and without a connection to the database.
 */
import { ENGLISH } from '../core/alert/texts.js';
import type { AuditCollector } from '../core/audit-collector.js';
import type { Policy } from '../core/policy/policy.js';
import type { TelemetryConnection } from '../core/ports.js';
import type { Stores } from '../store/stores.js';
import { sendStage, type Channels, type NotificationOptions } from './alert.js';
import { escalateStage, makeAlertsStage } from './alert-make.js';
import { allocateStage } from './allocate.js';
import { answerStage } from './answer.js';
import { backtestStage } from './backtest.js';
import { allocateFleetStage, collectFleetStage } from './collect-fleet.js';
import { collectPricesStage } from './collect-prices.js';
import { collectUsageStage } from './collect-usage.js';
import { packStage, purgeStage, sampleStage } from './collect-samples.js';
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
import { sendAuditStage } from './send-audit.js';
import { shareStage } from './share.js';
import { sumStage } from './sum.js';
import { settleBillsStage } from './settle-bills.js';
import { mergeStage } from './merge.js';
import type { Stage } from './stage.js';
import { verifyStage } from './verify.js';
import { evaluateBudgetStage } from './evaluate-budget.js';

const PLAIN_NOTIFICATIONS: NotificationOptions = { texts: ENGLISH, publicUrl: null };

/**
 * The stages after collecting, from left to right.
 * @param connections to the providers, by name; none: Bursar does not act
 * @param channels that notify people, by name; none: alerts are kept, and wait
 * @param collector of the audit; null: none is configured
 */
export function makeLine(
  stores: Stores,
  policies: readonly Policy[],
  telemetry: readonly TelemetryConnection[] = [],
  connections: Connections = new Map(),
  channels: Channels = new Map(),
  notification: NotificationOptions = PLAIN_NOTIFICATIONS,
  collector: AuditCollector | null = null,
): readonly Stage[] {
  const { organisations, raw, prices, costs, shares, credits, budgets, learnedRates, counting } = stores;
  const line: readonly Stage[] = [
    sampleStage(stores, telemetry),
    packStage(stores),
    purgeStage(stores),
    collectFleetStage(stores, connections),
    allocateFleetStage(stores),
    collectPricesStage(stores, connections),
    collectUsageStage(stores, connections),
    allocateStage(organisations, raw, counting),
    mergeStage(stores.merging),
    priceStage(organisations, prices, costs, learnedRates, counting),
    settleBillsStage(counting),
    rollupStage(stores),
    shareStage(organisations, shares, credits, budgets, prices),
    creditStage(credits, budgets),
    sumStage(stores),
    evaluateBudgetStage(stores),
    recommendStage(stores, policies),
    answerStage(stores, channels, notification),
    followStage(stores),
    executeStage(stores, policies, connections),
    confirmStage(stores, connections, (stage) => line.some(({ name }) => name === stage)),
    verifyStage(stores),
    reconcileStage(stores),
    sendAuditStage(stores, collector),
    reportStage(stores),
    backtestStage(stores, policies),
    findAnomaliesStage(stores),
    makeAlertsStage(stores, channels),
    escalateStage(stores, channels),
    sendStage(stores, channels, notification),
  ];
  return line;
}
