/**
 * The line: what happens between a usage record and a recommendation, in order. This is its table of contents.
 *
 *   sample.collect       collect-samples.ts   reads GPU evidence, settles its health findings
 *                                             enqueues fleet.collect, recommendation.make, itself, sample.pack,
 *                                             sample.purge
 *   sample.pack          collect-samples.ts   packs the hours of a source that are over
 *                                             enqueues itself, while there are rows of the version before
 *   sample.purge         collect-samples.ts   forgets what is older than it is kept
 *   fleet.collect        collect-fleet.ts     reads what runs at a provider
 *                                             enqueues recommendation.make
 *   fleet.allocate       collect-fleet.ts     gives what runs to teams anew when the rules change
 *                                             enqueues recommendation.make
 *   price.collect        collect-prices.ts    reads its prices, offers and spot
 *                                             enqueues cost.price
 *   usage.collect        collect-usage.ts     reads its usage and bill
 *                                             enqueues cost.price, cost.rollup
 *   usage.collect        collect.ts           takes records and bills in, assigns teams, sums hours
 *                                             enqueues cost.price, cost.rollup
 *   usage.allocate       allocate.ts          assigns history anew when the rules change
 *                                             enqueues cost.price, cost.rollup
 *   usage.merge          merge.ts             keeps a settled day's small deliveries as one
 *                                             enqueues itself
 *   cost.price           price.ts             prices a team's day, hour by hour, or says why not
 *                                             enqueues cost.rollup; itself, where a run changes many days
 *   bill.settle          settle-bills.ts      makes bills final whose settling time is over
 *                                             enqueues cost.rollup, bill.reconcile, itself
 *   cost.rollup          rollup.ts            sums the day: accrued, billed, actual
 *                                             enqueues cost.share, cost.credit, budget.weigh, saving.verify, bill.reconcile
 *   cost.share           share.ts             splits the day's shared costs over the teams
 *                                             enqueues cost.credit, budget.weigh
 *   cost.credit          credit.ts            takes what is due from the credits that were granted
 *                                             enqueues budget.weigh
 *   budget.weigh         evaluate-budget.ts   state, forecast and crossings of a budget's period
 *                                             enqueues recommendation.make, alert.make, itself
 *   recommendation.make  recommend.ts         shows the team to its policies
 *                                             enqueues action.execute
 *   answer.take          answer.ts            does and answers what a person in Slack pressed
 *                                             enqueues action.execute, alert.make, alert.send
 *   action.follow        follow.ts            begins what follows an action, when its time has come
 *                                             enqueues itself, action.execute
 *   action.execute       execute.ts           guards an approved action and asks the provider
 *                                             enqueues itself, action.confirm
 *   action.confirm       confirm.ts           reads the target until it shows the effect
 *                                             enqueues itself, saving.verify; action.follow, which waits for its time
 *   saving.verify        verify.ts            measures what an action saved, hour by hour
 *                                             enqueues itself
 *   bill.reconcile       reconcile.ts         compares bills with what was accrued, learns rates
 *                                             a rate learned enters again at the left, as a price
 *   anomaly.find         find-anomalies.ts    looks for unusual spend and prices
 *   alert.make           alert-make.ts        keeps what is worth telling, decides where it goes
 *                                             enqueues alert.escalate, alert.send
 *   alert.escalate       alert-make.ts        goes further when nobody answers
 *                                             enqueues itself, alert.send
 *   alert.send           alert.ts             tells one place, and shows there what became of it
 *                                             enqueues itself
 *   audit.send           send-audit.ts        hands the audit to its collector
 *                                             enqueues itself
 *   report.send          report.ts            makes a team's report of a month
 *                                             what it announces is told by the alerts
 *   backtest.run         backtest.ts          runs a policy over recorded history, apart from the rest
 *                                             enqueues itself, while another runs in this process
 *
 * A stage enqueues only stages to its right, or waits for its own key again. Late usage and corrected prices enter
 * again at the left and walk the same line.
 * Each stage runs in one transaction: what it writes, what it has done and what it enqueues are there together or not
 * at all. What takes minutes, and what asks a cloud or a channel, is done before that transaction, under a lease, while
 * no connection to the database is held.
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
import { settleBillsStage } from './settle-bills.js';
import { mergeStage } from './merge.js';
import type { Stage } from './stage.js';
import { verifyStage } from './verify.js';
import { evaluateBudgetStage } from './evaluate-budget.js';

const PLAIN_NOTIFICATIONS: NotificationOptions = { texts: ENGLISH, publicUrl: null };

/**
 * The stages after collecting, from left to right.
 * @param connections to the providers, by name; none: nothing is acted on
 * @param channels to tell people by, by name; none: alerts are kept, and wait
 * @param collector of the audit; null: none is set
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
  const { organisations, raw, prices, costs, shares, credits, budgets, reservations, learnedRates, counting } = stores;
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
    evaluateBudgetStage(organisations, prices, budgets, reservations),
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
