/**
 * All texts of alerts in one place: another language is another object of the same type.
 *
 * Pure, and plain text only. Amounts are rounded for people here and nowhere else, half to even; an unknown amount is
 * shown as unknown.
 */
import { exhaustionDayOf, isEndKnown } from '../budget/exhaustion.js';
import type { EffectJson } from '../action/action.js';
import { monthAfter } from '../time.js';
import type { Sentences } from './words.js';
import { effectWords, figureWords, rangeWords, shownAmount, shownInstant, shownRatio } from './words.js';
import type {
  AnomalyNews,
  Answer,
  ApprovalNews,
  ApprovalReason,
  BudgetNews,
  DigestNews,
  Driver,
  HealthNews,
  News,
  NextStep,
  PriceNews,
  ResultNews,
  SpendSoFar,
  ThresholdNews,
  VarianceNews,
} from './alert.js';
import { countedOnce, lackingTexts, notInIt } from './lacking.js';
import type { Button, Content } from './message.js';
import { HEALTH_FIGURES } from '../fleet/health-figures.js';
import { COMPUTATION_FIGURES } from '../policy/computation.js';
import { MUTE_DAYS } from './routes.js';
import type { GrownPart } from './whose.js';
import { calledIn } from '../actor.js';
import { compareDecimal, parseDecimal, ZERO } from '../decimal.js';

export interface AlertTexts extends Sentences {
  content(news: News): Content;
  answered(answer: Answer): string;
  escalated(level: number): string;
  decisions(news: ApprovalNews): readonly Button[];
  readonly acknowledge: Button;
  /** For MUTE_DAYS of core/alert/routes.ts. */
  readonly mute: Button;
  readonly open: string;
  /** The description of the picture beside news. */
  picture(news: News): string;
}

const content = (title: string, over: Partial<Omit<Content, 'title'>> = {}): Content => ({
  title,
  lines: [],
  facts: [],
  lists: [],
  ...over,
});

function budget(news: BudgetNews): Content {
  const { currency, forecast, planned, spent, threshold, also = [], unpricedGpuHours, soFar = null, nextStep } = news;
  const money = (amount: string): string => shownAmount(amount, currency);
  const title =
    threshold.kind === 'actual'
      ? `${news.team}: ${shownRatio(threshold.ratio)} of the budget ${news.budget} is spent`
      : `${news.team}: the forecast reaches ${shownRatio(threshold.ratio)} of the budget ${news.budget}`;
  const exhausted = exhaustionDayOf(news);
  const isGone = compareDecimal(parseDecimal(spent) ?? ZERO, parseDecimal(planned) ?? ZERO) >= 0;
  return content(title, {
    lines: [
      exhausted === null
        ? `${isEndKnown(news) ? 'At this rate' : 'By what has a price'} the budget lasts until the end of the period.`
        : isGone
          ? `The budget ran out on ${exhausted}.`
          : `At this rate it runs out on ${exhausted}.`,
      ...(soFar === null ? [] : [soFarWords(soFar, money)]),
      ...(also.length === 0 ? [] : [`Also crossed: ${also.map(thresholdWords).join(', ')}.`]),
      ...(Number(unpricedGpuHours) > 0
        ? [`${Number(unpricedGpuHours).toFixed(1)} GPU-hours have no price yet and are not included in the spend.`]
        : []),
      ...lackingTexts(news, 'included in the spend'),
    ],
    facts: [
      { name: 'Spent', value: money(spent) },
      { name: 'Planned', value: money(planned) },
      {
        name: 'Forecast at the end',
        value:
          forecast === null ? 'unknown' : `${money(forecast.mean)} (${money(forecast.low)} to ${money(forecast.high)})`,
      },
      { name: 'Period', value: news.period ?? `${shownInstant(news.periodStart)} to ${shownInstant(news.periodEnd)}` },
    ],
    lists: [
      ...drivers(news.drivers, money),
      ...(soFar === null || soFar.grown.length === 0
        ? []
        : [
            {
              title: 'Largest increases over the previous period',
              items: soFar.grown.map(
                ({ name, more, by = [] }) =>
                  `${name}: ${money(more)} more${by.map((one) => grownByWords(one, money)).join('')}`,
              ),
            },
          ]),
      ...(nextStep === null
        ? []
        : [{ title: 'Cheapest next step', items: [`${nextStep.title}: saves about ${monthly(nextStep)}`] }]),
    ],
  });
}

const WHOSE: Readonly<Record<GrownPart['whose'], string>> = {
  person: 'by',
  workload: 'in the workload',
  namespace: 'in the namespace',
  resource: 'on',
};

const grownByWords = ({ whose, name, more }: GrownPart, money: (amount: string) => string): string =>
  `; ${money(more)} more ${WHOSE[whose]} ${name}`;

const thresholdWords = ({ kind, ratio }: ThresholdNews): string =>
  `${kind === 'actual' ? 'spent' : 'forecast'} at ${shownRatio(ratio)}`;

/** The comparison of the spend so far with the same days of the previous period. */
function soFarWords({ through, spent, before }: SpendSoFar, money: (amount: string) => string): string {
  const change = Number(before) > 0 ? Math.round((Number(spent) / Number(before) - 1) * 100) : null;
  return `Through ${through} it spent ${money(spent)}, and ${money(before)} by the same day of the period before${
    change === null ? '' : change === 0 ? ', as much' : `, ${Math.abs(change)} % ${change > 0 ? 'more' : 'less'}`
  }.`;
}

/** The monthly saving, with its interval if it is known. */
function monthly({
  monthlySavings,
  monthlySavingsLow = null,
  monthlySavingsHigh = null,
  currency,
}: Pick<NextStep, 'monthlySavings' | 'monthlySavingsLow' | 'monthlySavingsHigh' | 'currency'>): string {
  const money = (amount: string): string => shownAmount(amount, currency);
  return `${money(monthlySavings)} a month${
    monthlySavingsLow === null || monthlySavingsHigh === null
      ? ''
      : monthlySavingsLow === monthlySavingsHigh
        ? ' (interval not known)'
        : ` (80 % between ${money(monthlySavingsLow)} and ${money(monthlySavingsHigh)})`
  }`;
}

const drivers = (all: readonly Driver[], money: (amount: string) => string): Content['lists'] =>
  all.length === 0
    ? []
    : [
        {
          title: 'Main drivers',
          items: all.map(
            ({ name, cost, share }) =>
              `${name}: ${money(cost)}${share === null ? '' : ` (${Math.round(share * 100)} %)`}`,
          ),
        },
      ];

function anomaly({ team, what, day, decidedDay, currency, observed, expected, drivers: parts }: AnomalyNews): Content {
  const money = (amount: string): string => shownAmount(amount, currency);
  const title =
    what === 'level-shift'
      ? `${team}: spend has settled on another level since ${day}`
      : `${team}: spend was unusually ${what === 'spike' ? 'high' : 'low'} on ${day}`;
  return content(title, {
    facts: [
      { name: what === 'level-shift' ? `Spent on ${decidedDay}` : 'Spent that day', value: money(observed) },
      { name: 'Expected', value: `${money(expected.mean)} (${money(expected.low)} to ${money(expected.high)})` },
    ],
    lists: drivers(parts, money),
  });
}

function price({
  what,
  provider,
  sku,
  region,
  term,
  effectiveFrom,
  currency,
  observed,
  expected,
  source,
}: PriceNews): Content {
  const money = (amount: string): string => shownAmount(amount, currency, 4);
  const name = `${provider} ${sku}${region === null ? '' : ` in ${region}`}, ${term}`;
  const title =
    what === 'dirty-price'
      ? `A price looks wrong: ${name}`
      : what === 'level-shift'
        ? `A price has settled on another level: ${name}`
        : `A price went ${what === 'spike' ? 'up' : 'down'}: ${name}`;
  return content(title, {
    lines:
      what === 'dirty-price'
        ? [
            'The price is used as stated. If it is wrong, correct the price list; the usage that it priced is then priced again.',
          ]
        : [],
    facts: [
      { name: 'Stated, per GPU-hour', value: money(observed) },
      { name: 'Expected', value: money(expected) },
      { name: 'Since', value: shownInstant(effectiveFrom) },
      { name: 'Source', value: source },
    ],
  });
}

/** The saving, its interval and the cost behind it, as far as known. */
function savingWords({
  monthlySavings,
  monthlySavingsLow: low,
  monthlySavingsHigh: high,
  monthlyCost = null,
  currency,
}: ApprovalReason): string {
  if (monthlySavings === null) return 'unknown';
  const saved = rangeWords(monthlySavings, low, high, currency, ' a month');
  return monthlyCost === null ? saved : `${saved}, of ${rangeWords(monthlyCost, null, null, currency)} that it costs`;
}

function approval({ team, action, effect, connection, proposedBy, expiresAt, because }: ApprovalNews): Content {
  const saving = because === null ? 'unknown' : savingWords(because);
  return content(`${team}: ${effectWords(effect)}?`, {
    lines: because === null ? [] : [because.title, ...(because.risk === '' ? [] : [because.risk])],
    facts: [
      { name: 'Estimated saving', value: saving },
      { name: 'At', value: connection },
      { name: 'Proposed by', value: calledIn(proposedBy) },
      { name: 'Can be approved until', value: shownInstant(expiresAt) },
      { name: 'Action', value: action },
    ],
    lists:
      because === null
        ? []
        : [
            ...(because.evidence.length === 0
              ? []
              : [
                  {
                    title: 'Evidence',
                    items: because.evidence.map(
                      ({ what, from, to }) => `${what}, ${shownInstant(from)} to ${shownInstant(to)}`,
                    ),
                  },
                ]),
            ...(Object.keys(because.computation).length === 0
              ? []
              : [
                  {
                    title: 'Numbers used',
                    items: Object.entries(because.computation).map(([name, value]) =>
                      figureWords(COMPUTATION_FIGURES, name, value, because.currency),
                    ),
                  },
                ]),
          ],
  });
}

const RESULTS: Readonly<Record<ResultNews['outcome'], string>> = {
  confirmed: 'done and proven',
  refused: 'not done: it was refused',
  failed: 'failed',
  'outcome-unknown': 'its outcome is unknown',
  'billing-not-ended': 'it is stopped but still billed',
  'not-confirmed': 'the provider does not show it yet',
  expired: 'not done in time',
  'no-capacity': 'waits: there is no capacity now',
  'capacity-found': 'capacity was found',
};

const BILLING: Readonly<Record<string, string>> = {
  billed: 'billed',
  partly: 'partly billed',
  ended: 'no longer billed',
  unknown: 'whether it is billed is unknown',
};

const proofWords = ({ state, billing, replicas }: NonNullable<ResultNews['proof']>): string =>
  [
    state,
    BILLING[billing] ?? billing,
    ...(replicas === null ? [] : [`${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`]),
  ].join(', ');

function result({
  team,
  action,
  outcome,
  effect,
  connection,
  approvedBy,
  rollbackOf,
  reasons,
  proof,
}: ResultNews): Content {
  return content(`${team}: ${effectWords(effect)}: ${RESULTS[outcome]}`, {
    lines: [
      ...(outcome === 'outcome-unknown'
        ? [
            'Check the target yourself: the provider did not say whether it accepted the request, and Bursar does not send it again.',
          ]
        : []),
      ...(outcome === 'no-capacity'
        ? ['Bursar retries until the action expires, and reports the end of the wait here.']
        : []),
      ...(outcome === 'billing-not-ended' ? ['Bursar checks it every hour until billing has ended.'] : []),
      ...reasons.map(({ message }) => message),
    ],
    facts: [
      { name: 'At', value: connection },
      { name: 'Approved by', value: approvedBy === null ? 'nobody' : calledIn(approvedBy) },
      ...(proof === null ? [] : [{ name: `Proof, read ${shownInstant(proof.at)}`, value: proofWords(proof) }]),
      ...(rollbackOf === null ? [] : [{ name: 'Takes back', value: rollbackOf }]),
      { name: 'Action', value: action },
    ],
  });
}

function health({ team, title, resource, gpu, migInstance, workload, source, numbers, evidence }: HealthNews): Content {
  return content(`${team}: GPU ${gpu} of ${resource} is ${title}`, {
    facts: [
      ...(workload === null ? [] : [{ name: 'Workload', value: workload }]),
      ...(migInstance === null ? [] : [{ name: 'MIG instance', value: migInstance }]),
      { name: 'Source', value: source },
      { name: evidence.what, value: `${shownInstant(evidence.from)} to ${shownInstant(evidence.to)}` },
    ],
    lists:
      Object.keys(numbers).length === 0
        ? []
        : [
            {
              title: 'Measured',
              items: Object.entries(numbers).map(([name, value]) => figureWords(HEALTH_FIGURES, name, value, '')),
            },
          ],
  });
}

function variance({
  team,
  source,
  month,
  currency,
  billed,
  expected,
  difference,
  parts,
  findings,
}: VarianceNews): Content {
  const money = (amount: string | null): string => (amount === null ? 'partly unknown' : shownAmount(amount, currency));
  return content(`${team}: the bill of ${source} for ${month} differs from what was metered`, {
    facts: [
      { name: 'Billed', value: money(billed) },
      { name: 'Metered and priced', value: money(expected) },
      { name: 'Difference', value: money(difference) },
      { name: 'Findings', value: String(findings) },
    ],
    lists:
      parts.length === 0
        ? []
        : [{ title: 'Where it lies', items: parts.map(({ name, amount }) => `${name}: ${money(amount)}`) }],
  });
}

function digest({
  teamName,
  month,
  currency,
  total,
  before,
  unpricedGpuHours,
  budgets,
  verified,
  measured,
  forecast,
  nextSoFar = null,
  nextSteps,
  ...lacking
}: DigestNews): Content {
  const sums = (all: DigestNews['verified']): string =>
    all.length === 0 ? 'nothing' : all.map((one) => shownAmount(one.amount, one.currency)).join(', ');
  return content(`${teamName}: ${month} in short`, {
    lines: [
      ...(Number(unpricedGpuHours) > 0
        ? [`${Number(unpricedGpuHours).toFixed(1)} GPU-hours have no price and are not in any amount.`]
        : []),
      ...lackingTexts(lacking, 'in any amount'),
    ],
    facts: [
      { name: 'Spent', value: total === null ? 'unknown' : shownAmount(total, currency) },
      { name: 'The month before', value: before === null ? 'unknown' : shownAmount(before, currency) },
      { name: 'Saved, verified by the bill', value: sums(verified) },
      { name: 'Saved, measured', value: sums(measured) },
      {
        name: `Forecast of ${monthAfter(month)}, made at the end of ${month}`,
        value:
          forecast === null
            ? 'unknown'
            : `${shownAmount(forecast.mean, currency)} (${shownAmount(forecast.low, currency)} to ${shownAmount(forecast.high, currency)})`,
      },
      ...(nextSoFar === null ? [] : [{ name: `${monthAfter(month)} so far`, value: soFarText(nextSoFar, currency) }]),
    ],
    lists: [
      { title: 'Budgets', items: budgets.map(budgetLine) },
      { title: 'Best next steps', items: nextSteps.map(stepLine) },
    ].filter(({ items }) => items.length > 0),
  });
}

const soFarText = ({ days, total }: NonNullable<DigestNews['nextSoFar']>, currency: string): string =>
  `${total === null ? 'unknown' : shownAmount(total, currency)} on its first ${days === 1 ? 'day' : `${days} days`}`;

function budgetLine(one: DigestNews['budgets'][number]): string {
  const { spent, planned, ratio, currency } = one;
  const plan = planned === null ? ', not planned' : ` of ${shownAmount(planned, currency)}`;
  const share = ratio === null ? '' : `, ${Math.round(ratio * 100)} %`;
  return `${one.budget}: ${shownAmount(spent, currency)}${plan}${share}${notInIt(one.lacking)}`;
}

function stepLine({ title, monthlySavings, ...step }: DigestNews['nextSteps'][number]): string {
  return `${title}: ${monthlySavings === null ? 'its saving is unknown' : `about ${monthly({ ...step, monthlySavings })}`}`;
}

function contentOf(news: News): Content {
  switch (news.kind) {
    case 'budget':
      return budget(news);
    case 'anomaly':
      return anomaly(news);
    case 'price':
      return price(news);
    case 'approval':
      return approval(news);
    case 'result':
      return result(news);
    case 'health':
      return health(news);
    case 'variance':
      return variance(news);
    case 'digest':
      return digest(news);
    case 'test':
      return content('Bursar can reach you here', { lines: [`${news.by} asked for this test. Nothing has happened.`] });
  }
}

const moreOf = (more: number): string[] => (more > 0 ? [`${more} more are in Bursar.`] : []);

const ANSWERED: Readonly<Record<Answer['what'], string>> = {
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
  acknowledged: 'Taken on',
};

/** What is muted, until when, and what is not. */
function mutedWords({ team, kind, thread, upTo, until }: Parameters<AlertTexts['muted']>[0]): string {
  const whose = team === null ? '' : ` of ${team}`;
  const what = `${kind === null ? 'alerts' : `${kind} alerts`}${whose}${thread === null ? '' : ' in this conversation'}`;
  const isAll = upTo === null || upTo === 'critical';
  return `Muted until ${shownInstant(until)}: ${what}${isAll ? ', critical ones too' : ` up to the severity ${upTo}`}.${
    isAll ? '' : ` ${upTo === 'warning' ? 'Critical alerts' : 'Warnings and critical alerts'} are still sent.`
  } What is muted is kept in Bursar and not sent.`;
}

const approving = (effect: EffectJson): Button['confirm'] => ({
  title: 'Approve this action?',
  text: `Bursar will ${effectWords(effect)}, if its guard allows it.`,
  yes: 'Approve',
  no: 'Not now',
});

export const ENGLISH: AlertTexts = {
  content: contentOf,
  answered: ({ what, by, at }) => `${ANSWERED[what]} by ${calledIn(by)}, ${shownInstant(at)}.`,
  escalated: (level) => `Nobody has answered yet: this alert was escalated to step ${level}.`,
  decisions: ({ effect }) => [
    { act: 'approve', label: 'Approve', confirm: approving(effect) },
    { act: 'reject', label: 'Reject', confirm: null },
  ],
  acknowledge: { act: 'acknowledge', label: 'Acknowledge', confirm: null },
  mute: { act: 'mute', label: `Mute ${MUTE_DAYS} days`, confirm: null },
  open: 'Open in Bursar',
  picture: (news) =>
    news.kind === 'digest' ? `Spend of ${news.teamName} in ${news.month}, day by day` : contentOf(news).title,
  notConnected: 'You are not known to Bursar here.',
  howToConnect: (workspace, user) =>
    `Ask an administrator of Bursar to connect you with a key of your own: bursar slack-users connect ${workspace} ${user} --key ID. The page "Connect Slack" of the documentation says how.`,
  mayNot: (team) => `You may not decide this: it needs the right to approve for ${team ?? 'all teams'}.`,
  mayNotMute: (team) => `You may not mute this: it needs the right to configure for ${team ?? 'all teams'}.`,
  gone: 'This no longer exists.',
  decided: {
    approve: 'Approved. Bursar acts if its guard allows it.',
    reject: 'Rejected.',
    acknowledge: 'Noted: you have acknowledged this.',
  },
  muted: mutedWords,
  failed: (message) => `This was not done: ${message}.`,
  help: 'Write /bursar status, /bursar budget, /bursar budget with the id of a budget or of a team, or /bursar actions.',
  noSuchBudget: (name) => `You may see no budget with the id ${name}, and none of a team with this id.`,
  status: ({ teams, open, waiting, over, budgets }) =>
    content('Status of Bursar', {
      facts: [
        { name: 'Teams', value: String(teams) },
        { name: 'Budgets over their plan', value: `${over} of ${budgets}` },
        { name: 'Alerts waiting for an answer', value: String(open) },
        { name: 'Actions waiting for approval', value: String(waiting) },
      ],
    }),
  budgets: (all, more) =>
    content('Budgets', {
      lines: all.length === 0 ? ['There are none that you may see.'] : moreOf(more),
      lists:
        all.length === 0
          ? []
          : [
              {
                title: 'Spent of planned',
                items: all.map(
                  ({ name, team, spent, planned, currency, ratio, exhaustionDay, ...rest }) =>
                    `${name} (${team}): ${shownAmount(spent, currency)}${planned === null ? ', not planned' : ` of ${shownAmount(planned, currency)}`}${ratio === null ? '' : `, ${Math.round(ratio * 100)} %`}${exhaustionDay === null ? '' : `, runs out ${exhaustionDay}`}${notInIt(rest.lacking, rest)}${countedOnce(rest.setAside)}`,
                ),
              },
            ],
    }),
  actions: (all, more) =>
    content('Actions waiting for approval', {
      lines: all.length === 0 ? ['None.'] : moreOf(more),
      lists:
        all.length === 0
          ? []
          : [
              {
                title: 'Proposed',
                items: all.map(
                  ({ id, team, effect, expiresAt }) =>
                    `${team}: ${effectWords(effect)}, until ${shownInstant(expiresAt)} (${id})`,
                ),
              },
            ],
    }),
};
