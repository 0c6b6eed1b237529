/** An alert's title, facts and links, made from its facts in the reader's language. */
import type { ComponentChildren } from 'preact';
import { endOf } from './standing.js';
import type { ApprovalReason, Driver, LackingAmount, LackingNews, News } from '../../core/alert/alert.js';
import { commitmentIn } from '../../core/alert/words.js';
import type { EffectJson } from '../../core/action/action.js';
import { monthAfter } from '../../core/time.js';
import { interval } from './expected.js';
import { code, count, day, decimal, instant, money, month, percent, periodLabel, price, within } from './format.js';
import { joined, say } from './language.js';
import { link } from './routes.js';
import { AsWritten, unpricedLine } from './ui.js';

export type FactLine = readonly [name: string, value: ComponentChildren];

/** What an effect requests, in one line. */
export function effectText(effect: EffectJson): string {
  const { target } = effect;
  switch (effect.kind) {
    case 'scale':
      return say('effect.scale', { target, n: effect.replicas });
    case 'set-bounds':
      return say('effect.bounds', { target, min: effect.min, max: effect.max });
    case 'set-spot-ratio':
      return say('effect.spot', { target, share: percent(effect.spotRatio) });
    case 'resize':
      return say('effect.resize', { target, sku: effect.sku });
    case 'move':
      return say('effect.move', {
        target,
        term: within(code('term', effect.term)),
        place: effect.zone ?? effect.region,
      });
    case 'cordon':
      return effect.cordoned ? say('effect.cordon', { target }) : say('effect.uncordon', { target });
    case 'purchase':
      return purchaseText(effect);
    default:
      return say('effect.other', { act: code('act', effect.kind), target });
  }
}

function purchaseText({ target, units, offer, currency }: Extract<EffectJson, { readonly kind: 'purchase' }>): string {
  const what = commitmentIn(target);
  if (what === null) return say('effect.purchase', { n: units, offer });
  const { sku, region, years } = what;
  return what.isPlan
    ? say('effect.savings-plan', { amount: money(String(units), currency), sku, region, years })
    : say('effect.reserve', { n: units, sku, region, years });
}

export function titleOf(news: News): string {
  switch (news.kind) {
    case 'budget':
      return say(`alert-title.budget-${news.threshold.kind}`, {
        team: news.team,
        budget: news.budget,
        share: percent(Number(news.threshold.ratio)),
      });
    case 'anomaly':
      return say(`alert-title.${news.what}`, { team: news.team, day: day(news.day) });
    case 'price':
      return say(`alert-title.price-${news.what}`, {
        price: joined([`${news.provider} ${news.sku}`, news.region, within(code('term', news.term))]),
      });
    case 'approval':
      return say('alert-title.approval', { team: news.team, effect: effectText(news.effect) });
    case 'result':
      return say('alert-title.result', {
        team: news.team,
        effect: effectText(news.effect),
        outcome: within(code('outcome', news.outcome)),
      });
    case 'health':
      return say('alert-title.health', {
        team: news.team,
        gpu: news.gpu,
        resource: news.resource,
        what: within(code('health', news.rule)),
      });
    case 'variance':
      return say('alert-title.variance', { team: news.team, source: news.source, month: month(news.month) });
    case 'digest':
      return say('alert-title.digest', { team: news.teamName, month: month(news.month) });
    case 'test':
      return say('alert-title.test');
  }
}

type NewsOf<K extends News['kind']> = Extract<News, { readonly kind: K }>;

interface Interval {
  readonly low: string;
  readonly mean: string;
  readonly high: string;
}

const between = (found: Interval | null, currency: string): string =>
  found === null
    ? say('unknown')
    : say('range', {
        mean: money(found.mean, currency),
        low: money(found.low, currency),
        high: money(found.high, currency),
      });

/** `$900.00 a month, of $1,000.00`, as far as known. */
function savingOf({ monthlySavings, monthlyCost = null, currency }: ApprovalReason): string {
  if (monthlySavings === null) return say('unknown');
  return joined([
    say('alert.monthly', { amount: money(monthlySavings, currency) }),
    monthlyCost === null ? null : say('saves.of', { cost: money(monthlyCost, currency) }),
  ]);
}

export function factsOf(news: News): readonly FactLine[] {
  switch (news.kind) {
    case 'budget':
      return budgetFacts(news);
    case 'anomaly':
      return [
        [
          say('alert.observed', { day: day(news.what === 'level-shift' ? news.decidedDay : news.day) }),
          money(news.observed, news.currency),
        ],
        [say('alert.expected'), between(news.expected, news.currency)],
      ];
    case 'price':
      return [
        [say('alert.stated'), price(news.observed, news.currency)],
        [say('alert.expected'), price(news.expected, news.currency)],
        [say('column.since'), instant(news.effectiveFrom)],
        [say('alert.source'), news.source],
      ];
    case 'approval':
      return approvalFacts(news);
    case 'result':
      return resultFacts(news);
    case 'health':
      return healthFacts(news);
    case 'variance':
      return [
        [say('alert.billed'), money(news.billed, news.currency)],
        [say('alert.metered'), money(news.expected, news.currency)],
        [say('alert.difference'), money(news.difference, news.currency)],
        [say('alert.findings'), count(news.findings)],
        ...news.parts.map(({ name, amount }) => [name, money(amount, news.currency)] as const),
      ];
    case 'digest':
      return digestFacts(news);
    case 'test':
      return [[say('alert.asked-by'), news.by]];
  }
}

function budgetFacts(news: NewsOf<'budget'>): readonly FactLine[] {
  const { spent, planned, forecast, period, periodStart, periodEnd, unpricedGpuHours, currency } = news;
  return [
    [say('column.spent'), money(spent, currency)],
    [say('column.planned'), money(planned, currency)],
    [say('budget.forecast'), between(forecast, currency)],
    [say(Number(spent) >= Number(planned) ? 'budget.ended' : 'budget.end'), endOf(news)],
    [
      say('budget.period'),
      // An older alert does not say in which zone its days are.
      period === undefined ? say('span', { from: instant(periodStart), to: instant(periodEnd) }) : periodLabel(period),
    ],
    ...(Number(unpricedGpuHours) > 0 ? [[say('teams.unpriced'), decimal(unpricedGpuHours)] as const] : []),
    ...lackingFacts(news),
  ];
}

const approvalFacts = ({ because, connection, proposedBy, expiresAt }: NewsOf<'approval'>): readonly FactLine[] => [
  [say('alert.saving'), because === null ? say('unknown') : savingOf(because)],
  ...(because === null ? [] : [[say('column.why'), <AsWritten>{because.title}</AsWritten>] as const]),
  [say('column.cloud'), connection],
  [say('alert.proposed-by'), proposedBy],
  [say('alert.approve-until'), instant(expiresAt)],
];

const resultFacts = ({ connection, approvedBy, reasons, proof }: NewsOf<'result'>): readonly FactLine[] => [
  [say('column.cloud'), connection],
  [say('alert.approved-by'), approvedBy ?? say('alert.nobody')],
  ...reasons.map((reason) => [code('event', reason.code), <AsWritten>{reason.message}</AsWritten>] as const),
  ...(proof === null
    ? []
    : [
        [
          say('alert.proof', { at: instant(proof.at) }),
          joined([
            code('value', proof.state),
            say('alert.billing', { billing: within(code('value', proof.billing)) }),
            proof.replicas === null ? null : say('alert.replicas', { n: proof.replicas }),
          ]),
        ] as const,
      ]),
];

const healthFacts = ({ workload, migInstance, source, numbers, evidence }: NewsOf<'health'>): readonly FactLine[] => [
  ...(workload === null ? [] : [[say('alert.workload'), workload] as const]),
  ...(migInstance === null ? [] : [['MIG', migInstance] as const]),
  [say('alert.source'), source],
  ...Object.entries(numbers).map(
    ([name, value]) => [code('measure', name), count(Math.round(value * 1e4) / 1e4)] as const,
  ),
  [say('evidence'), <AsWritten>{evidence.what}</AsWritten>],
];

/** What no amount includes. */
function lackingFacts({ setAside, unpriced, unconverted, unstated, unnamed }: LackingNews): readonly FactLine[] {
  const amounts = (name: string, all: readonly LackingAmount[] = []): readonly FactLine[] =>
    all.map(({ currency, amount }) => [name, amount === null ? currency : money(amount, currency)] as const);
  return [
    ...amounts(say('alert.unconverted'), unconverted),
    ...amounts(say('alert.set-aside'), setAside),
    ...amounts(say('alert.unstated'), unstated),
    ...amounts(say('alert.unnamed'), unnamed),
    ...(unpriced ?? []).map((one) => [say('alert.unpriced'), unpricedLine(one)] as const),
  ];
}

function digestFacts({
  total,
  before,
  currency,
  verified,
  measured,
  month: of,
  forecast,
  nextSoFar = null,
  nextSteps,
  ...lacking
}: NewsOf<'digest'>): readonly FactLine[] {
  const sums = (all: readonly { readonly currency: string; readonly amount: string }[]): string =>
    all.length === 0 ? say('none') : joined(all.map((one) => money(one.amount, one.currency)));
  return [
    [say('column.spent'), money(total, currency)],
    [say('spend.before'), money(before, currency)],
    ...lackingFacts(lacking),
    [say('state.verified'), sums(verified)],
    [say('state.measured'), sums(measured)],
    [say('alert.next-month', { month: month(monthAfter(of)), at: month(of) }), between(forecast, currency)],
    ...(nextSoFar === null
      ? []
      : [
          [
            say('alert.next-so-far', { month: month(monthAfter(of)) }),
            say('alert.next-so-far-text', { total: money(nextSoFar.total, currency), n: nextSoFar.days }),
          ] as const,
        ]),
    ...nextSteps.map(
      (step, at): FactLine => [
        say('alert.step', { n: at + 1 }),
        <>
          <AsWritten>{step.title}</AsWritten>: {stepSaves(step)}
        </>,
      ],
    ),
  ];
}

function stepSaves({
  monthlySavings,
  monthlySavingsLow = null,
  monthlySavingsHigh = null,
  currency,
}: NewsOf<'digest'>['nextSteps'][number]): string {
  if (monthlySavings === null) return say('unknown');
  return joined([
    say('alert.monthly', { amount: money(monthlySavings, currency) }),
    monthlySavingsLow === null || monthlySavingsHigh === null
      ? null
      : interval(monthlySavingsLow, monthlySavingsHigh, currency),
  ]);
}

/** The drivers of an alert's subject, where stated. */
export const driversIn = (news: News): readonly Driver[] =>
  news.kind === 'budget' || news.kind === 'anomaly' ? news.drivers : [];

/** The pages about its subject: name and address. A report is a document of the API. */
export function subjectsOf(news: News, language: string): readonly (readonly [name: string, address: string])[] {
  switch (news.kind) {
    case 'budget':
      return [
        [say('alert.to-budget', { id: news.budget }), link('budgets', news.budget)],
        ...(news.nextStep === null
          ? []
          : [[say('alert.to-step'), link('recommendations', news.nextStep.recommendation)] as const]),
      ];
    case 'approval':
    case 'result':
      return [[say('alert.to-action'), link('actions', news.action)]];
    case 'digest':
      return [
        [
          say('alert.to-report'),
          `/v1/reports/${encodeURIComponent(news.team)}/${news.month}?format=html&lang=${language}`,
        ],
        [say('alert.to-team', { id: news.team }), link('teams', news.team)],
      ];
    case 'price':
      return [[say('alert.to-prices'), link('imports')]];
    case 'test':
      return [];
    default:
      return [[say('alert.to-team', { id: news.team }), link('teams', news.team)]];
  }
}
