/**
 * budget-brake: the closer a team is to the end of its budget, the less it may start, and finally the less it may run.
 *
 * The grade depends only on the view, never on earlier actions: it lifts by itself when the period turns, the budget
 * grows or a bill is corrected. It changes only known workloads that are interruptible or of a kind that may be
 * stopped, and never protected ones. Savings are monthly, as in all policies; the part of a saving that reaches the
 * budget by the period's end is among the numbers used.
 */
import { z } from 'zod';
import { covers, type Budget, type BudgetState } from '../core/budget/budget.js';
import type {
  LeftAlone,
  TargetExplanation,
  Policy,
  PolicyView,
  Proposal,
  ResourceView,
  WorkloadView,
} from '../core/policy/policy.js';
import { spotMarketAt } from '../core/policy/spot-market.js';
import { formatMoney } from '../core/money.js';
import { compilePeak } from '../core/price/peak.js';
import { formatInstant, HOUR_MS, MINUTE_MS } from '../core/time.js';
import { AS_OF, budgetAt, exampleView, OFFERS, workload } from './estimating/examples.js';
import { shownAmount } from '../core/alert/words.js';
import { leftAlone, explainTarget, PROTECTED, sawOf } from './estimating/explanations.js';
import { mayTouch } from './estimating/minutes.js';
import {
  evidenceOf,
  monthly,
  monthlyCostOf,
  replicaHourNanos,
  replicasOf,
  units,
  workloadHourNanos,
} from './estimating/money.js';
import { cheapHoursFor } from './off-peak-shift.js';
import { recordOf, spotPrices, spotSaving } from './estimating/spot.js';

const GRADES = ['tell', 'refuse-launches', 'move', 'scale-in', 'stop'] as const;
type Grade = (typeof GRADES)[number];

const step = z.strictObject({
  of: z.enum(['actual', 'forecast']).describe('What is compared: the spend so far, or the forecast of the period'),
  ratio: z.number().gt(0).max(100).describe('Share of the planned amount; 0.8 is 80 %'),
  do: z.enum(GRADES).describe('What is done from here on, together with all milder steps'),
});

const params = z.strictObject({
  steps: z
    .array(step)
    .min(1)
    .max(50)
    .default([
      { of: 'forecast', ratio: 0.9, do: 'tell' },
      { of: 'actual', ratio: 0.8, do: 'tell' },
      { of: 'forecast', ratio: 1.1, do: 'refuse-launches' },
      { of: 'actual', ratio: 0.9, do: 'refuse-launches' },
      { of: 'actual', ratio: 0.95, do: 'move' },
      { of: 'actual', ratio: 1, do: 'scale-in' },
      { of: 'actual', ratio: 1.1, do: 'stop' },
    ])
    .describe('The severest step that is reached applies'),
  stopKinds: z
    .array(z.string().min(1))
    .default(['notebook', 'batch'])
    .describe('Kinds of workload that may be stopped although they are not stated to be interruptible'),
  restartHours: z
    .number()
    .min(0)
    .max(24)
    .default(0.2)
    .describe('Hours lost at a start on spot, if the workload does not state them'),
  historyDays: z
    .number()
    .min(1)
    .max(90)
    .default(14)
    .describe('Days of recorded spot availability that a saving is computed from'),
  staleMinutes: z
    .number()
    .min(1)
    .max(1440)
    .default(15)
    .describe('If the newest reading of a resource is older, it does not count as running'),
});
type Params = z.infer<typeof params>;

interface Braking {
  readonly budget: Budget;
  readonly state: BudgetState;
  readonly grade: Grade;
  readonly reached: Params['steps'][number];
  /** Hours left of the period, a month at most. */
  readonly hoursLeft: number;
}

const PARTS = 1_000_000;

/** Whether a step is reached. With a plan of 0 any spend reaches every step; without a plan, or a forecast, none is. */
function isReached(state: BudgetState, { of, ratio }: Params['steps'][number]): boolean {
  const nanos = of === 'actual' ? state.spent : (state.forecast?.mean ?? null);
  if (nanos === null || state.planned === null || nanos <= 0n) return false;
  return nanos * BigInt(PARTS) >= state.planned * BigInt(Math.round(ratio * PARTS));
}

function brakingOf(
  view: PolicyView,
  { budget, state }: PolicyView['budgets'][number],
  { steps }: Params,
): Braking | null {
  if (view.asOf < state.period.start || view.asOf >= state.period.end) return null;
  const reached = steps
    .filter((one) => isReached(state, one))
    .reduce<Params['steps'][number] | null>(
      (worst, one) => (worst === null || GRADES.indexOf(one.do) > GRADES.indexOf(worst.do) ? one : worst),
      null,
    );
  if (reached === null) return null;
  return {
    budget,
    state,
    grade: reached.do,
    reached,
    hoursLeft: Math.min(730, (state.period.end - view.asOf) / HOUR_MS),
  };
}

const isAtLeast = ({ grade }: Braking, other: Grade): boolean => GRADES.indexOf(grade) >= GRADES.indexOf(other);

function proposalsFor(view: PolicyView, braking: Braking, given: Params): Proposal[] {
  const workloads = view.workloads.filter((one) => mayTouch(one) && isCovered(braking.budget, one));
  return [
    tell(view, braking),
    ...(isAtLeast(braking, 'refuse-launches') ? [refuse(view, braking)] : []),
    ...workloads.flatMap((one) => severest(view, braking, one, given)),
    ...(isAtLeast(braking, 'stop') && isUnfiltered(braking.budget)
      ? view.resources.flatMap((one) => stopResource(view, braking, one, given))
      : []),
  ];
}

/** A budget that looks at some of the spend only brakes what it is known to look at. */
const isUnfiltered = ({ filters }: Budget): boolean => Object.values(filters).every((filter) => filter === undefined);

const isCovered = (budget: Budget, { provider, sku, term }: WorkloadView): boolean =>
  isUnfiltered(budget) || (provider !== null && covers(budget.filters, { provider, sku, term, tags: null }));

/** For each budget whether it brakes; and under a braking budget, the action for each workload. */
function explain(view: PolicyView, given: Params): TargetExplanation[] {
  const money = (nanos: bigint | null, currency: string): string =>
    nanos === null ? 'unknown' : shownAmount(formatMoney({ nanos, currency }), currency);
  const budgets = view.budgets.map((one) => {
    const { budget, state } = one;
    const saw = [
      `${money(state.spent, state.currency)} of ${money(state.planned, state.currency)} spent, ${money(state.forecast?.mean ?? null, state.currency)} forecast`,
    ];
    return { target: `budget/${budget.id}`, saw, braking: brakingOf(view, one, given) };
  });
  const braking = budgets.flatMap((one) => one.braking ?? []);
  return [
    ...budgets.map((one) => explainTarget(one.target, one.saw, one.braking ?? NOT_REACHED)),
    ...view.workloads.map((one) => explainTarget(one.workload, sawOf(one), aboutWorkload(view, braking, one, given))),
  ];
}

const NOT_REACHED = leftAlone(
  'not-reached',
  'none of the steps is reached in its period',
  'spend or a forecast that reaches one',
);

function aboutWorkload(
  view: PolicyView,
  all: readonly Braking[],
  one: WorkloadView,
  given: Params,
): LeftAlone | Proposal {
  if (!mayTouch(one)) return PROTECTED;
  const own = all.filter(({ budget }) => isCovered(budget, one));
  const [first] = own.flatMap((braking) => severest(view, braking, one, given));
  if (first !== undefined) return first;
  const [worst] = own.toSorted((a, b) => GRADES.indexOf(b.grade) - GRADES.indexOf(a.grade));
  return worst === undefined
    ? leftAlone('no-brake', 'no budget over it brakes', 'spend or a forecast that reaches a step')
    : leftAlone(
        'milder',
        `the budget ${worst.budget.id} has reached ${worst.grade}, which changes nothing of it that may be changed`,
        `a severer step, or that it may be interrupted or stopped (${given.stopKinds.join(', ')})`,
      );
}

/** For each workload only the most severe possible action. */
function severest(view: PolicyView, braking: Braking, one: WorkloadView, given: Params): Proposal[] {
  const replicas = replicasOf(one);
  if (replicas === null || replicas === 0 || one.fleet === null) return [];
  const mayStop = one.interruptible === true || (one.kind !== null && given.stopKinds.includes(one.kind));
  // A workload that must not go to zero goes to its minimum first.
  const { minReplicas } = one.fleet;
  if (isAtLeast(braking, 'stop') && mayStop && (minReplicas === 0 || replicas <= minReplicas))
    return [stop(view, braking, one.workload, workloadHourNanos(view, one))];
  // Down to none is a stop, which has conditions of its own; a single machine is no fleet to be made smaller.
  const least = Math.max(1, minReplicas);
  if (isAtLeast(braking, 'scale-in') && one.kind !== null && replicas > least)
    return [scaleIn(view, braking, one, replicas, least)];
  if (!isAtLeast(braking, 'move') || one.interruptible !== true) return [];
  const toCheaper = one.term === 'on-demand' ? toSpot(view, braking, one, replicas, given) : [];
  return toCheaper.length > 0 ? toCheaper : toOffPeak(view, braking, one);
}

type Shared = Pick<Proposal, 'protective' | 'computation' | 'evidence' | 'implementationEffort' | 'validDays'>;

function shared(
  view: PolicyView,
  { budget, state, reached, hoursLeft }: Braking,
  more: Proposal['computation'] = {},
): Shared {
  const money = (nanos: bigint | null): string =>
    nanos === null ? 'unknown' : formatMoney({ nanos, currency: state.currency });
  return {
    protective: true,
    implementationEffort: 'VeryLow',
    validDays: 1,
    computation: {
      budget: budget.id,
      planned: money(state.planned),
      spent: money(state.spent),
      forecast: money(state.forecast?.mean ?? null),
      currency: state.currency,
      step: `${reached.of} ${reached.ratio}`,
      periodEnds: formatInstant(state.period.end),
      hoursLeft,
      ...more,
    },
    evidence: [evidenceOf(view, `the budget ${budget.id}`, state.period.start, view.asOf)],
  };
}

const reasonOf = ({ budget, reached, state }: Braking): string =>
  `${reached.of === 'actual' ? 'spend' : 'the forecast'} has reached ${(100 * reached.ratio).toFixed(0)} % of the budget ${budget.id} (${formatMoney({ nanos: state.planned ?? 0n, currency: state.currency })} ${state.currency})`;

/**
 * The saving per hour, and the cost per hour without the change, in nanos; null: it has no price. The part that reaches
 * the budget by the period's end is among the numbers used.
 */
function saving(
  shown: Shared,
  { hoursLeft }: Braking,
  hourSaved: number | null,
  hourCost: number | null,
): Pick<Proposal, 'computation' | 'monthlySavings' | 'monthlyCost'> {
  return {
    monthlySavings: hourSaved === null ? null : monthly(hourSaved),
    monthlyCost: monthlyCostOf(hourCost),
    computation: {
      ...shown.computation,
      savesUntilThePeriodEnds: hourSaved === null ? 'unknown' : units(hourSaved * hoursLeft),
    },
  };
}

const tell = (view: PolicyView, braking: Braking): Proposal => ({
  ...shared(view, braking),
  action: 'Notify',
  target: `budget/${braking.budget.id}`,
  title: `Tell ${view.team}: ${reasonOf(braking)}`,
  monthlySavings: null,
  monthlyCost: null,
  risk: { interruption: 'None', note: 'Nothing is changed.' },
  restartNeeded: false,
  rollbackPossible: true,
});

const refuse = (view: PolicyView, braking: Braking): Proposal => ({
  ...shared(view, braking, { saving: 'unknown: it is not known what would have been launched' }),
  action: 'RefuseLaunches',
  target: `team/${view.team}`,
  title: `Refuse new launches of ${view.team}: ${reasonOf(braking)}`,
  monthlySavings: null,
  monthlyCost: null,
  risk: { interruption: 'None', note: 'Running work continues; waiting work has to wait.' },
  restartNeeded: false,
  rollbackPossible: true,
});

function toSpot(view: PolicyView, braking: Braking, one: WorkloadView, replicas: number, given: Params): Proposal[] {
  const prices = spotPrices(view, one);
  if (prices === null || prices.spot >= prices.onDemand || one.gpusPerReplica === null || one.spotIsFixed === true)
    return [];
  const record = recordOf(view, spotMarketAt(view.spotMarkets, one), given.historyDays);
  const perGpu = record === null ? null : spotSaving(prices, record, one.job?.restartHours ?? given.restartHours).mean;
  const shown = shared(view, braking, {
    onDemandPerGpuHour: units(prices.onDemand),
    spotPerGpuHour: units(prices.spot),
    spotAvailableShare: record?.share ?? 'not recorded: the saving is unknown',
  });
  const gpus = one.gpusPerReplica * replicas;
  return [
    {
      ...shown,
      ...saving(shown, braking, perGpu === null ? null : perGpu * gpus, prices.onDemand * gpus),
      action: 'MoveToSpot',
      target: one.workload,
      change: { term: 'spot', sku: prices.offer.sku },
      title: `Move ${one.workload} to spot: ${reasonOf(braking)}`,
      risk: { interruption: 'High', note: 'Spot can be taken away at any time.' },
      restartNeeded: true,
      rollbackPossible: true,
    },
  ];
}

/** Where spot is no way out, the cheap hours before a job's deadline may be. */
const toOffPeak = (view: PolicyView, braking: Braking, one: WorkloadView): Proposal[] =>
  cheapHoursFor(view, one).map((proposal) => ({
    ...proposal,
    ...shared(view, braking, proposal.computation),
    title: `${proposal.title}: ${reasonOf(braking)}`,
    evidence: [...shared(view, braking).evidence, ...proposal.evidence],
  }));

function scaleIn(view: PolicyView, braking: Braking, one: WorkloadView, now: number, least: number): Proposal {
  const nanos = replicaHourNanos(view, one);
  const shown = shared(view, braking, {
    replicasNow: now,
    replicasLeft: least,
    perReplicaHour: nanos === null ? 'no price' : units(nanos),
  });
  return {
    ...shown,
    ...saving(shown, braking, nanos === null ? null : nanos * (now - least), nanos === null ? null : nanos * now),
    action: 'ScaleIn',
    target: one.workload,
    change: { replicas: least },
    title: `Lower ${one.workload} from ${now} to ${least} replicas: ${reasonOf(braking)}`,
    risk: { interruption: 'Medium', note: 'Load beyond its smallest fleet goes unserved.' },
    restartNeeded: false,
    rollbackPossible: true,
  };
}

/** All that it costs is saved. */
function stop(view: PolicyView, braking: Braking, target: string, hourNanos: number | null): Proposal {
  const shown = shared(view, braking);
  return {
    ...shown,
    ...saving(shown, braking, hourNanos, hourNanos),
    action: 'Stop',
    target,
    change: { replicas: 0 },
    title: `Stop ${target}: ${reasonOf(braking)}`,
    risk: { interruption: 'High', note: 'It stays stopped until the next period begins or the budget grows.' },
    restartNeeded: true,
    rollbackPossible: true,
  };
}

/**
 * A resource that is not part of a workload: only of a kind that may be stopped, and only where it was seen a moment
 * ago.
 */
function stopResource(
  view: PolicyView,
  braking: Braking,
  { resource, workload: kind, readings, hourlyNanos }: ResourceView,
  given: Params,
): Proposal[] {
  const newest = readings.at(-1);
  if (
    kind === null ||
    !given.stopKinds.includes(kind) ||
    newest === undefined ||
    view.asOf - newest.at > given.staleMinutes * MINUTE_MS
  )
    return [];
  return [stop(view, braking, resource, hourlyNanos === null ? null : Number(hourlyNanos))];
}

/** The first budget that asks for an action on a target has it. */
function firstPerTarget(proposals: readonly Proposal[]): Proposal[] {
  const seen = new Set<string>();
  return proposals.filter(({ action, target }) => !seen.has(`${action} ${target}`) && seen.add(`${action} ${target}`));
}

const running = (name: string, over: Partial<WorkloadView> = {}): WorkloadView =>
  workload(name, { fleet: { ready: 4, booting: 0, minReplicas: 2, maxReplicas: 8, changedAt: null }, ...over });
const team = [
  running('chat'),
  running('train', {
    kind: 'training',
    interruptible: true,
    fleet: { ready: 1, booting: 0, minReplicas: 1, maxReplicas: 1, changedAt: null },
  }),
  running('who-knows', { kind: null, interruptible: null, fleet: null }),
];
const waiting = running('embed', {
  kind: 'etl',
  interruptible: true,
  job: {
    startedAt: AS_OF,
    deadline: AS_OF + 30 * HOUR_MS,
    workHours: 6,
    workLeftHours: 6,
    restartHours: 0.5,
    resizable: null,
  },
});
const NOTICE = { action: 'Notify', target: 'budget/b' } as const;
const REFUSAL = { action: 'RefuseLaunches', target: 'team/research' } as const;

export const policy: Policy<Params> = {
  name: 'budget-brake',
  version: 5,
  description:
    'Warns, refuses launches, moves to spot or to cheap hours, scales in and stops, step by step as the spend or the forecast of a budget passes its steps',
  params,
  holdsWhileProposed: true,
  explain,
  evaluate: (view, given) =>
    firstPerTarget(
      view.budgets.flatMap((one) => {
        const braking = brakingOf(view, one, given);
        return braking === null ? [] : proposalsFor(view, braking, given);
      }),
    ),
  examples: [
    {
      title: 'Half is spent',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(1000, 500)] }),
      proposes: [],
    },
    {
      title: '85 % is spent: the team is warned',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(1000, 850)] }),
      proposes: [NOTICE],
    },
    {
      title: '96 %: no launches, and what may be interrupted moves to spot',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(1000, 960)] }),
      proposes: [NOTICE, REFUSAL, { action: 'MoveToSpot', target: 'train' }],
    },
    {
      title: '96 %, and no spot is on offer: the cheap hours before the deadline',
      params: {},
      view: exampleView({
        offers: OFFERS.filter(({ term }) => term === 'on-demand'),
        peak: compilePeak([{ to: '12:00', zone: 'UTC', factor: '2' }]),
        workloads: [waiting],
        budgets: [budgetAt(1000, 960)],
      }),
      proposes: [NOTICE, REFUSAL, { action: 'MoveToOffPeak', target: 'embed' }],
    },
    {
      title: '120 %: the service is scaled in, the training stopped',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(1000, 1200)] }),
      proposes: [NOTICE, REFUSAL, { action: 'ScaleIn', target: 'chat' }, { action: 'Stop', target: 'train' }],
    },
    {
      title: 'The same spend after the budget grew',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(3000, 1200)] }),
      proposes: [],
    },
    {
      title: 'A new period has begun',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(1000, 1200, -1)] }),
      proposes: [],
    },
    {
      title: 'Nothing is planned: nothing is braked',
      params: {},
      view: exampleView({ workloads: team, budgets: [budgetAt(null, 1200)] }),
      proposes: [],
    },
  ],
};
