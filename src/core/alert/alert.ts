/**
 * Alerts: which events are worth an alert, how severe they are, and which news are the same. Pure: it reads nothing and
 * sends nothing.
 *
 * The invariant: the same fact has the same identity, whoever finds it, when and how often. An alert is kept once per
 * identity, so late data, restarts and replicas repeat none. The content is a snapshot: amounts are decimal strings,
 * unknown is null.
 */
import type { UnpricedUsage } from '../cost/unpriced.js';
import { CAPACITY_FOUND, NO_CAPACITY, type ActionState, type EffectJson, type Reason } from '../action/action.js';
import type { HealthRule, HealthSeverity } from '../fleet/health.js';
import type { Evidence } from '../evidence.js';
import type { GrownPart } from './whose.js';
import { DAY_MS, monthOfLabel, parseInstant } from '../time.js';

export const ALERT_KINDS = [
  'budget',
  'anomaly',
  'price',
  'approval',
  'result',
  'health',
  'variance',
  'digest',
  'test',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The largest parts of a period's spend, largest first. */
export interface Driver {
  readonly name: string;
  /** Decimal string in the alert's currency. */
  readonly cost: string;
  /** Share of the whole spend, 0 to 1; null: there was none, or it has several currencies. */
  readonly share: number | null;
}

/** A budget's spend of its whole days so far, beside as many days of the period before. */
export interface SpendSoFar {
  /** The last of these days, `2026-11-20`, in the budget's zone. */
  readonly through: string;
  readonly spent: string;
  readonly before: string;
  /** The largest increases between the two, largest first. */
  readonly grown: readonly {
    readonly name: string;
    readonly more: string;
    /** Whose usage it is that grew, of the first one where that is known. */
    readonly by?: readonly GrownPart[];
  }[];
}

export interface ThresholdNews {
  readonly kind: 'actual' | 'forecast';
  readonly ratio: string;
}

/** The open recommendation that a reader may act on first. */
export interface NextStep {
  readonly recommendation: string;
  readonly title: string;
  readonly monthlySavings: string;
  /** Ends of its 80 % interval; absent in alerts from before they were stored. */
  readonly monthlySavingsLow?: string | null;
  readonly monthlySavingsHigh?: string | null;
  readonly currency: string;
}

/** Null amount: how much it is is unknown. */
export interface LackingAmount {
  readonly currency: string;
  readonly amount: string | null;
}

/** Amounts that the amounts of the news lack. Each is absent in news from before it was reported. */
export interface LackingNews {
  /** The lines of bills that are not final and that meters cover. */
  readonly setAside?: readonly LackingAmount[];
  /** Storage, traffic and what has no quantity, without a price. */
  readonly unpriced?: readonly UnpricedUsage[];
  /** Without an exchange rate. */
  readonly unconverted?: readonly LackingAmount[];
  /** Billed without an amortised cost, which the budget counts. */
  readonly unstated?: readonly LackingAmount[];
  /** Metered usage that does not say what the budget's filter asks for. */
  readonly unnamed?: readonly LackingAmount[];
}

/** A budget reached a threshold. */
export interface BudgetNews extends LackingNews {
  readonly kind: 'budget';
  readonly team: string;
  readonly budget: string;
  /** ISO 8601. */
  readonly periodStart: string;
  readonly periodEnd: string;
  /** If the budget's zone was changed: the beginning of its period when the threshold was reached. */
  readonly reachedIn?: string;
  /** The period by its name in the budget's zone, `2026-11`; absent in alerts of before it was kept. */
  readonly period?: string;
  readonly threshold: ThresholdNews;
  /** Lower thresholds that were crossed with it, which this news tells too. */
  readonly also?: readonly ThresholdNews[];
  /** The identity of the news that tells this too. */
  readonly within?: string;
  /** 2 or more: it was already notified in this period before its budget was raised. Absent: 1. */
  readonly round?: number;
  readonly currency: string;
  readonly planned: string;
  readonly spent: string;
  readonly forecast: { readonly mean: string; readonly low: string; readonly high: string } | null;
  /** When the plan runs out, or ran out; null: it lasts, as far as is known. */
  readonly exhaustionAt: string | null;
  /** Its day in the budget's zone; absent in older alerts. */
  readonly exhaustionDay?: string | null;
  readonly unpricedGpuHours: string;
  readonly drivers: readonly Driver[];
  /** Null or absent: nothing is known of the period before, or no day of this one is over. */
  readonly soFar?: SpendSoFar | null;
  readonly nextStep: NextStep | null;
}

/** A team's spend of a day that its past does not explain. */
export interface AnomalyNews {
  readonly kind: 'anomaly';
  readonly team: string;
  readonly what: 'spike' | 'drop' | 'level-shift';
  /** The first unusual day, `2026-11-18`, and the day on which it could be detected. */
  readonly day: string;
  readonly decidedDay: string;
  readonly currency: string;
  readonly observed: string;
  readonly expected: { readonly low: string; readonly mean: string; readonly high: string };
  readonly drivers: readonly Driver[];
}

/** A price in use that moved out of its usual range, or was never there. */
export interface PriceNews {
  readonly kind: 'price';
  readonly team: null;
  readonly what: 'dirty-price' | 'spike' | 'drop' | 'level-shift';
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: string;
  /** ISO 8601: the time since which it is stated, and the time at which this could be detected. */
  readonly effectiveFrom: string;
  readonly decidedAt: string;
  readonly currency: string;
  /** Per GPU-hour. */
  readonly observed: string;
  readonly expected: string;
  readonly source: string;
}

/** An action waits for somebody to approve it. */
export interface ApprovalNews {
  readonly kind: 'approval';
  readonly team: string;
  readonly action: string;
  readonly effect: EffectJson;
  readonly connection: string;
  readonly proposedBy: string;
  readonly expiresAt: string;
  /** The reason from the recommendation; null: a person requested it. */
  readonly because: ApprovalReason | null;
}

export interface ApprovalReason {
  readonly title: string;
  readonly monthlySavings: string | null;
  readonly monthlySavingsLow: string | null;
  readonly monthlySavingsHigh: string | null;
  /** The target's monthly cost without the change; null: unknown. Absent from alerts from before it was stored. */
  readonly monthlyCost?: string | null;
  readonly currency: string;
  readonly risk: string;
  readonly evidence: readonly Evidence[];
  readonly computation: Readonly<Record<string, string | number>>;
}

export const OUTCOMES = [
  'confirmed',
  'refused',
  'failed',
  'outcome-unknown',
  'billing-not-ended',
  'not-confirmed',
  'expired',
  'no-capacity',
  'capacity-found',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The result of an action, with its proof if there is one. */
export interface ResultNews {
  readonly kind: 'result';
  readonly team: string;
  readonly action: string;
  readonly outcome: Outcome;
  readonly effect: EffectJson;
  readonly connection: string;
  readonly approvedBy: string | null;
  readonly rollbackOf: string | null;
  readonly reasons: readonly Reason[];
  /** The target as the provider showed it; null: no reading shows it. */
  readonly proof: {
    readonly at: string;
    readonly state: string;
    readonly billing: string;
    readonly replicas: number | null;
  } | null;
}

/** A GPU is not well. */
export interface HealthNews {
  readonly kind: 'health';
  readonly team: string;
  readonly rule: HealthRule;
  readonly severity: HealthSeverity;
  readonly source: string;
  readonly resource: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly workload: string | null;
  readonly title: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly evidence: Evidence;
  readonly openedAt: string;
}

/** A team's part of a month's bill differs from what was metered and priced. */
export interface VarianceNews {
  readonly kind: 'variance';
  readonly team: string;
  /** The source of the bill, and its month, `2026-10`. */
  readonly source: string;
  readonly month: string;
  readonly currency: string;
  /** The differing part; null: a part of it is unknown. */
  readonly billed: string | null;
  readonly expected: string | null;
  readonly difference: string;
  /** The largest differences, largest first, and how many there are in all. */
  readonly parts: readonly { readonly name: string; readonly amount: string }[];
  readonly findings: number;
}

/** A month in short, of its report. Its chart is a picture that is kept beside it. */
export interface DigestNews extends LackingNews {
  readonly kind: 'digest';
  readonly team: string;
  readonly teamName: string;
  readonly month: string;
  readonly currency: string;
  /** Null: nothing has a price. */
  readonly total: string | null;
  /** The previous month's; null: nothing is recorded. */
  readonly before: string | null;
  readonly unpricedGpuHours: string;
  readonly budgets: readonly {
    readonly budget: string;
    readonly spent: string;
    readonly planned: string | null;
    readonly currency: string;
    readonly ratio: number | null;
    /** The parts of LackingNews that are not usage. Absent in the same cases. */
    readonly lacking?: readonly LackingAmount[];
  }[];
  readonly verified: readonly { readonly currency: string; readonly amount: string }[];
  readonly measured: readonly { readonly currency: string; readonly amount: string }[];
  readonly forecast: { readonly mean: string; readonly low: string; readonly high: string } | null;
  /** What the month that is forecast had come to when the report was made, beside the forecast. Older ones lack it. */
  readonly nextSoFar?: { readonly days: number; readonly total: string | null } | null;
  readonly nextSteps: readonly {
    readonly title: string;
    readonly monthlySavings: string | null;
    /** As of NextStep. */
    readonly monthlySavingsLow?: string | null;
    readonly monthlySavingsHigh?: string | null;
    readonly currency: string;
  }[];
}

/** Somebody tries whether alerts arrive. */
export interface TestNews {
  readonly kind: 'test';
  readonly team: null;
  readonly id: string;
  readonly by: string;
}

export type News =
  | BudgetNews
  | AnomalyNews
  | PriceNews
  | ApprovalNews
  | ResultNews
  | HealthNews
  | VarianceNews
  | DigestNews
  | TestNews;

/** Parts of an identity; what they hold may hold a slash, so each is marked off. */
const joined = (...parts: readonly (string | null)[]): string => parts.map((part) => encodePart(part ?? '')).join('/');
const encodePart = (part: string): string => part.replaceAll('%', '%25').replaceAll('/', '%2F');

/** The same for the same fact; two alerts never share it. */
export function identityOf(news: News): string {
  switch (news.kind) {
    case 'budget':
      return crossingIdentity(news);
    case 'anomaly':
      return joined('anomaly', news.team, news.day, news.what);
    case 'price':
      return joined('price', news.provider, news.sku, news.region, news.term, news.effectiveFrom, news.what);
    case 'approval':
      return approvalIdentity(news.action);
    case 'result':
      return joined('result', news.action, news.outcome);
    // A card whose finding is opened, cleared and opened again within a day is reported once.
    case 'health':
      return joined(
        'health',
        news.source,
        news.rule,
        news.resource,
        news.gpu,
        news.migInstance,
        news.openedAt.slice(0, 10),
      );
    case 'variance':
      return joined('variance', news.source, news.month, news.team, news.currency);
    case 'digest':
      return digestIdentity(news);
    case 'test':
      return joined('test', news.id);
  }
}

/** The identity of the news that a threshold was crossed. */
export const crossingIdentity = ({
  team,
  budget,
  periodStart,
  reachedIn = periodStart,
  threshold,
  round = 1,
}: Pick<BudgetNews, 'team' | 'budget' | 'periodStart' | 'reachedIn' | 'threshold' | 'round'>): string =>
  joined('budget', team, budget, reachedIn, threshold.kind, threshold.ratio, ...(round === 1 ? [] : [String(round)]));

/** By severity: actual before forecast, and the higher threshold first. */
const graver = (a: BudgetNews, b: BudgetNews): number =>
  a.threshold.kind === b.threshold.kind
    ? Number(b.threshold.ratio) - Number(a.threshold.ratio)
    : a.threshold.kind === 'actual'
      ? -1
      : 1;

/**
 * Thresholds of one budget and period that were crossed at the same time become one message: the most severe names the
 * others, and the others refer to it. Each stays a separate alert, which is not sent a second time.
 */
export function together(news: readonly News[]): News[] {
  const groups = new Map<string, BudgetNews[]>();
  for (const one of news)
    if (one.kind === 'budget') groups.set(threadOf(one), [...(groups.get(threadOf(one)) ?? []), one]);
  return news.map((one) => {
    const [first, ...others] = one.kind === 'budget' ? (groups.get(threadOf(one)) ?? []).toSorted(graver) : [];
    if (one.kind !== 'budget' || first === undefined || others.length === 0) return one;
    return one === first
      ? { ...one, also: others.map(({ threshold }) => threshold) }
      : { ...one, within: identityOf(first) };
  });
}

/** The identity of the news that a month's report is available. */
export const digestIdentity = ({ team, month }: Pick<DigestNews, 'team' | 'month'>): string =>
  joined('digest', team, month);

/** The identity of the request to approve an action. */
export const approvalIdentity = (action: string): string => joined('approval', action);

/** The conversation of news: a budget's period, an action from its approval to its proof, or a bill. */
export function threadOf(news: News): string {
  switch (news.kind) {
    case 'budget':
      return joined('budget', news.team, news.budget, news.periodStart);
    case 'approval':
    case 'result':
      return joined('action', news.action);
    case 'variance':
      return joined('variance', news.source, news.month);
    default:
      return identityOf(news);
  }
}

const FULL = 1;

export function severityOf(news: News): Severity {
  switch (news.kind) {
    case 'budget': {
      const isFull = Number(news.threshold.ratio) >= FULL;
      return news.threshold.kind === 'actual' ? (isFull ? 'critical' : 'warning') : isFull ? 'warning' : 'info';
    }
    case 'result':
      return news.outcome === 'confirmed' || news.outcome === 'capacity-found'
        ? 'info'
        : news.outcome === 'failed' || news.outcome === 'outcome-unknown'
          ? 'critical'
          : 'warning';
    case 'health':
      return news.severity === 'fatal' ? 'critical' : news.severity === 'warning' ? 'warning' : 'info';
    case 'anomaly':
      return news.what === 'drop' ? 'info' : 'warning';
    case 'price':
    case 'approval':
    case 'variance':
      return 'warning';
    case 'digest':
    case 'test':
      return 'info';
  }
}

/** Whether the news needs an answer: without one it is escalated. */
export function needsAnswer(news: News): boolean {
  return (
    news.kind === 'approval' ||
    (news.kind === 'result' && news.outcome === 'billing-not-ended') ||
    severityOf(news) === 'critical'
  );
}

/**
 * Whether a person may take it on. A warning about a budget is one of a row that leads to the critical one: whoever
 * takes it on says so, though nothing waits for it.
 */
export const canBeAcknowledged = ({ kind }: News, state: AlertState): boolean =>
  kind !== 'approval' && (state === 'open' || (state === 'told' && kind === 'budget'));

/** Whether this kind of news recurs, so that muting it has an effect. */
export const canBeMuted = ({ kind }: News): boolean =>
  kind === 'budget' || kind === 'anomaly' || kind === 'price' || kind === 'health' || kind === 'variance';

/** When what news are about was over, epoch milliseconds; null: they are about no stretch of time. */
export function endOf(news: News): number | null {
  switch (news.kind) {
    case 'budget':
      return parseInstant(news.periodEnd);
    case 'digest':
    case 'variance':
      return monthOfLabel(news.month, 'UTC')?.end ?? null;
    default:
      return null;
  }
}

/** Late data about a period that ended so long ago changes its books and alarms nobody. */
const PERIOD_SETTLED_MS = 7 * DAY_MS;
/** News that could have been reported this long ago is history, as in a price list of years. */
const OLD_MS = 7 * DAY_MS;
/** A bill of a month that began so long ago is history too. */
const OLD_BILL_MS = 100 * DAY_MS;

export const SILENCES = [
  'period-over',
  'before-connected',
  'old',
  'notice',
  'within-another',
  'muted',
  'no-route',
  // A threshold that was no longer reached when its alert was to be sent.
  'passed',
] as const;
export type Silence = (typeof SILENCES)[number];

/**
 * Why news are kept but not sent; null: they are sent. A silent fact stays silent: the same identity is never sent
 * later. @param asOf the time as of which the organisation is evaluated, epoch milliseconds
 */
export function silenceOf(news: News, asOf: number): Silence | null {
  const before = (text: string, milliseconds: number): boolean => (parseInstant(text) ?? asOf) < asOf - milliseconds;
  switch (news.kind) {
    case 'budget':
      return before(news.periodEnd, PERIOD_SETTLED_MS)
        ? 'period-over'
        : news.within === undefined
          ? null
          : 'within-another';
    case 'anomaly':
      return before(`${news.decidedDay}T00:00:00Z`, OLD_MS) ? 'old' : null;
    case 'price':
      return before(news.decidedAt, OLD_MS) ? 'old' : null;
    case 'variance':
      return before(`${news.month}-01T00:00:00Z`, OLD_BILL_MS) ? 'old' : null;
    case 'health':
      return news.severity === 'notice' ? 'notice' : null;
    default:
      return null;
  }
}

/** A step of an action, as its timeline has it. */
export interface ActionStep {
  readonly from: ActionState | null;
  readonly to: ActionState;
  readonly code: string;
}

/** Codes of refusals by a person's choice: that person already knows. */
const CHOSEN: ReadonlySet<string> = new Set(['rejected', 'withdrawn']);

/** The outcome that a step reports to those who wait for the action's result; null: nothing to report. */
export function outcomeOf({ from, to, code }: ActionStep): Outcome | null {
  if (from === to)
    return code === 'billing-not-ended' || code === 'not-confirmed' || code === NO_CAPACITY ? code : null;
  // Any other ending is reported at the end.
  if (to === 'applied') return code === CAPACITY_FOUND ? code : null;
  if (to === 'confirmed') return 'confirmed';
  if (to === 'failed') return code === 'outcome-unknown' ? 'outcome-unknown' : 'failed';
  if (to === 'refused') return from !== 'proposed' && !CHOSEN.has(code) ? 'refused' : null;
  return to === 'expired' && from === 'approved' ? 'expired' : null;
}

/** How an alert was answered. */
export const ANSWERS = ['approved', 'rejected', 'withdrawn', 'expired', 'acknowledged'] as const;
export type AnswerKind = (typeof ANSWERS)[number];

export interface Answer {
  readonly what: AnswerKind;
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The answer that a step of a proposed action gives to the request to approve it; null: none. */
export function answerOf({ from, to, code }: ActionStep): AnswerKind | null {
  if (from !== 'proposed' || to === 'proposed') return null;
  if (to === 'approved') return 'approved';
  if (to === 'expired') return 'expired';
  return code === 'withdrawn' ? 'withdrawn' : 'rejected';
}

export const ALERT_STATES = ['new', 'silent', 'open', 'answered', 'told'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** An alert as it is kept. */
export interface Alert {
  readonly id: string;
  readonly identity: string;
  readonly kind: AlertKind;
  /** Null: it concerns all teams. */
  readonly team: string | null;
  readonly severity: Severity;
  readonly thread: string;
  readonly news: News;
  /**
   * `new`: its destination is not decided yet; `open`: it waits for an answer; `told`: it needs none; `silent`: it is
   * kept and sent to nobody.
   */
  readonly state: AlertState;
  readonly silence: Silence | null;
  readonly answer: Answer | null;
  /** Steps of its escalation that were taken. */
  readonly level: number;
  /** ISO 8601. */
  readonly madeAt: string;
  /** Increases when the shown content changes. */
  readonly revision: number;
}
