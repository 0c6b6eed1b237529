/**
 * The backtest of a policy on the recorded history of teams: what it would have cost, saved, refused and disturbed,
 * compared with doing nothing, the published rules and the optimum, if there are any. A cell is a team and one part of
 * its bill: its demand, its resources, its workloads, its jobs. Without a known optimum the share is null, never zero.
 * Use that is unpriced, with the policy or without it, is in no figure and is listed beside them with the reason; if
 * nothing of a cell has a price its figures are null. Cells are not added up, because the same GPU may be metered and
 * sampled.
 */
import {
  pooledShare,
  type BacktestCell,
  type BacktestReport,
  type PolicyResult,
  type UnknownCase,
} from '../../core/policy/backtest.js';
import type { Forecaster } from '../../core/budget/budget.js';
import type { RecordedHistory } from '../../core/policy/history.js';
import type { Policy } from '../../core/policy/policy.js';
import { formatInstant } from '../../core/time.js';
import {
  commitmentAlternatives,
  idleAlternatives,
  scalingAlternatives,
  servingAlternatives,
  type Alternative,
  type IsKnown,
  type PendingAlternative,
} from './alternatives.js';
import { jobAlternatives } from './job-alternatives.js';
import { fleetsOf, jobCases } from './job-cases.js';
import { isOnDemand, replaySteps, stepHoursOf, type ReplayedCase, type ReplayRun } from './replay.js';
import { CostSteps, finished, within, type Steps } from './steps.js';

export interface PolicyBacktestRequest {
  readonly policy: Policy;
  /** As the policy's schema has read them. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The document's name, for the report. */
  readonly document: string;
  readonly forecaster: Forecaster | null;
}

export interface TeamBacktest {
  readonly team: string;
  /** Since when its history counts, epoch milliseconds: what was asked for, or the first hour that is recorded. */
  readonly from: number;
  readonly run: ReplayRun;
  readonly cells: readonly BacktestCell[];
}

const RESTART_MINUTES = 10;

const restartMinutesOf = ({ params }: PolicyBacktestRequest): number =>
  typeof params['restartMinutes'] === 'number' ? params['restartMinutes'] : RESTART_MINUTES;

/** One team. Deterministic: the same history gives the same decisions and the same costs. */
export const backtestTeam = (history: RecordedHistory, request: PolicyBacktestRequest): TeamBacktest =>
  finished(teamSteps(history, request));

/** Where each part of the work ends. */
const [POLICY_DONE, NOTHING_DONE] = [0.7, 0.8];

/** The same in steps. */
export function* teamSteps(history: RecordedHistory, request: PolicyBacktestRequest): Steps<TeamBacktest> {
  const { policy, params } = request;
  const restartMinutes = restartMinutesOf(request);
  const { coldStartMinutes } = params;
  const settings = {
    stepHours: stepHoursOf(policy.name),
    restartMinutes,
    forecaster: request.forecaster,
    coldStartMinutes: typeof coldStartMinutes === 'number' ? coldStartMinutes : undefined,
  };
  const jobs = jobCases(history);
  const run = yield* within(replaySteps(history, policy, params, settings, jobs), 0, POLICY_DONE);
  const nothing = yield* within(replaySteps(history, null, params, settings, jobs), POLICY_DONE, NOTHING_DONE);
  const unknown = {
    demand: unknownOf(run, nothing, 'demand'),
    resources: unknownOf(run, nothing, 'resources'),
    workloads: unknownOf(run, nothing, 'workloads'),
    jobs: unknownOf(run, nothing, 'jobs'),
  };
  const isKnown =
    (name: Part): IsKnown =>
    (index) =>
      unknown[name][index] === null;
  const pending = pendingAlternatives(history, request, run, isKnown);
  const count = pending.demand.length + pending.resources.length + pending.workloads.length + pending.jobs.length;
  let worked = 0;
  function* work(all: readonly PendingAlternative[]): Steps<Alternative[]> {
    const found: Alternative[] = [];
    for (const one of all) {
      found.push(one());
      yield NOTHING_DONE + (1 - NOTHING_DONE) * (++worked / count);
    }
    return found;
  }
  const steps = new CostSteps(history);
  const { demand, resources } = run;
  const part = (
    name: Part,
    alternatives: readonly Alternative[],
    measures: Measures,
    without: Measures = {},
  ): BacktestCell => {
    const known = (of: ReplayRun): readonly ReplayedCase[] => of.cases[name].filter((_, index) => isKnown(name)(index));
    const cost = (of: ReplayRun): number => known(of).reduce((sum, one) => sum + one.cost, 0);
    const left = run.cases[name].flatMap((one, index): UnknownCase[] =>
      isKnown(name)(index) ? [] : [{ name: one.name, why: unknown[name][index] ?? '' }],
    );
    return cell(
      `${history.team}/${name}`,
      { all: run.cases[name].length, unknown: left },
      { baseline: cost(nothing), cost: cost(run), alternatives, measures, without },
      steps,
      new Map([
        ['none', steps.sum(known(nothing))],
        ...alternatives.flatMap(({ name: who, paid }) => (paid === undefined ? [] : [[who, paid] as const])),
        ['bursar', steps.sum(known(run))],
      ]),
    );
  };
  const cells = [
    part('demand', yield* work(pending.demand), {
      refusedGpuHours: demand.refusedGpuHours,
      spotGpuHours: demand.spotGpuHours,
      unverifiedGpuHours: demand.unverifiedGpuHours,
      unpricedGpuHours: demand.unpricedGpuHours,
      gpusCommitted: run.commitments.reduce((sum, { units }) => sum + units, 0),
    }),
    part('resources', yield* work(pending.resources), {
      stops: resources.stops,
      falseStops: resources.falseStops,
      falseStopShare: resources.stops > 0 ? resources.falseStops / resources.stops : 0,
      preventedWorkMinutes: resources.preventedMinutes,
    }),
    part('workloads', yield* work(pending.workloads), fleetMeasures(run, params), servedMeasure(nothing, params)),
    part('jobs', yield* work(pending.jobs), { ...run.jobs }, { ...nothing.jobs }),
  ].filter(({ count: size }) => size > 0);
  return { team: history.team, from: history.from, run, cells };
}

/** What else could have been done with each part of the history. */
function pendingAlternatives(
  history: RecordedHistory,
  request: PolicyBacktestRequest,
  run: ReplayRun,
  isKnown: (name: Part) => IsKnown,
): Readonly<Record<Part, readonly PendingAlternative[]>> {
  const { policy, params } = request;
  const onDemand = history.demand.flatMap((series, index) => (isOnDemand(series) ? [index] : []));
  const jobs = jobCases(history).flatMap((one) => ('job' in one ? [one.job] : []));
  return {
    demand: commitmentAlternatives(history, policy, params, (index) => isKnown('demand')(onDemand.indexOf(index))),
    resources: idleAlternatives(history, policy, restartMinutesOf(request), isKnown('resources')),
    workloads: [
      ...scalingAlternatives({ ...history, workloads: fleetsOf(history) }, policy, isKnown('workloads')),
      ...servingAlternatives(history, policy, params),
    ],
    jobs: jobAlternatives(jobs, policy.name, new CostSteps(history), run.jobSizes, run.jobPlaces),
  };
}

const fleetMeasures = (run: ReplayRun, params: PolicyBacktestRequest['params']): Measures => {
  const { changes, load, unserved, unpricedReplicaMinutes, unrecordedHours } = run.workloads;
  return {
    changes,
    unservedShare: load > 0 ? unserved / load : null,
    unpricedReplicaHours: unpricedReplicaMinutes / 60,
    unrecordedHours,
    ...servedMeasure(run, params),
  };
};

/** Of a service whose replicas are promised: the share of the wanted replica time that was served. */
function servedMeasure({ ready }: ReplayRun, { service, replicas }: PolicyBacktestRequest['params']): Measures {
  const held = typeof service === 'string' ? ready.get(service) : undefined;
  if (held === undefined || typeof replicas !== 'number') return {};
  const known = held.filter((one) => one !== null);
  const served = known.reduce((sum, one) => sum + Math.min(replicas, one), 0);
  return { servedShare: known.length === 0 ? null : served / (known.length * replicas) };
}

type Measures = Readonly<Record<string, number | null>>;

type Part = keyof ReplayRun['cases'];

/**
 * Why each case of a part is in no figure: it has no price with the policy, or without it, so the difference is
 * unknown. Null: it has a price.
 */
const unknownOf = (run: ReplayRun, nothing: ReplayRun, part: Part): readonly (string | null)[] =>
  nothing.cases[part].map(({ unknown }, index) => unknown ?? run.cases[part][index]?.unknown ?? null);

interface Costs {
  readonly baseline: number;
  readonly cost: number;
  readonly alternatives: readonly Alternative[];
  /** The measures of the policy itself, other than its cost. */
  readonly measures: Measures;
  /** The measures of doing nothing. */
  readonly without: Measures;
}

/** `none`, the published rules, `bursar` (the policy itself) and, where it is known, `clairvoyant`. */
function cell(
  name: string,
  cases: { readonly all: number; readonly unknown: readonly UnknownCase[] },
  { baseline, cost, alternatives, measures, without }: Costs,
  steps: CostSteps,
  paid: ReadonlyMap<string, Float64Array>,
): BacktestCell {
  const count = cases.all - cases.unknown.length;
  const optimum = alternatives.find((one) => one.name === 'clairvoyant')?.cost ?? null;
  const resultOf = (who: string, whole: number, more: Measures = {}): PolicyResult =>
    count === 0
      ? { name: who, meanCost: null, meanShare: null, cost: null, saved: null, ...more }
      : {
          name: who,
          meanCost: whole / count,
          meanShare: optimum === null ? null : pooledShare({ baseline, policy: whole, optimum }),
          cost: whole,
          saved: baseline - whole,
          ...more,
        };
  const published = alternatives.filter((one) => one.name !== 'clairvoyant');
  const served = (one: Alternative): Measures => ({
    ...(one.unservedShare === undefined ? {} : { unservedShare: one.unservedShare }),
    ...one.measures,
  });
  return {
    name,
    count: cases.all,
    ...(cases.unknown.length === 0 ? {} : { unknown: cases.unknown }),
    policies: [
      resultOf('none', baseline, without),
      ...published.map((one) => resultOf(one.name, one.cost, served(one))),
      resultOf('bursar', cost, measures),
      ...alternatives
        .filter((one) => one.name === 'clairvoyant')
        .map((one) => resultOf(one.name, one.cost, served(one))),
    ],
    ...(count === 0 ? {} : { series: steps.series(paid) }),
  };
}

const costOf = ({ policies }: BacktestCell, who: string): number =>
  Number(policies.find(({ name }) => name === who)?.['cost'] ?? 0);

/**
 * The part of a team that represents it in a sum of money. Its parts describe the same GPUs, metered, measured and as a
 * fleet: the part in which the policy changes most, or, if it changes nothing, the part with the most known data.
 */
function standingFor(cells: readonly BacktestCell[]): BacktestCell | undefined {
  const change = (one: BacktestCell): number => Math.abs(costOf(one, 'none') - costOf(one, 'bursar'));
  return cells
    .filter(({ policies }) => policies.some((one) => one.name === 'none' && one['cost'] !== null))
    .toSorted((a, b) => change(b) - change(a) || costOf(b, 'none') - costOf(a, 'none'))[0];
}

/**
 * The report over all teams; `mean` pools, per policy, the shares of the cells that have an optimum, and adds up the
 * money of one cell of each team, so that no GPU is counted twice.
 */
export function policyReport(
  teams: readonly TeamBacktest[],
  request: PolicyBacktestRequest,
  window: { readonly from: number; readonly to: number; readonly currency: string },
): BacktestReport {
  const { policy, params, document } = request;
  const cells = teams.flatMap((team) => team.cells);
  const names = [...new Set(cells.flatMap(({ policies }) => policies.map(({ name }) => name)))];
  const total = (all: readonly BacktestCell[], who: string): number =>
    all.reduce((sum, one) => sum + costOf(one, who), 0);
  const summed = teams.flatMap((team) => standingFor(team.cells) ?? []);
  const decided = teams.flatMap(({ run }) => run.decisions);
  return {
    problem: 'policy',
    settings: {
      document,
      policy: policy.name,
      policyVersion: policy.version,
      params,
      from: formatInstant(window.from),
      to: formatInstant(window.to),
      stepHours: stepHoursOf(policy.name),
      restartMinutes: restartMinutesOf(request),
      teams: teams.map(({ team }) => team),
      costUnit: `${window.currency} over the whole window, per series, resource, workload or job`,
      shareBaseline: 'doing nothing',
      summedCells: summed.map(({ name }) => name),
      ...(teams.every(({ from }) => from <= window.from)
        ? {}
        : {
            recordedFrom: Object.fromEntries(
              teams.filter(({ from }) => from > window.from).map(({ team, from }) => [team, formatInstant(from)]),
            ),
          }),
      proposals: decided.length,
      proposalsByAction: countsOf(decided.map(({ action }) => action)),
      proposalsWithoutModelledEffect: teams.reduce((sum, { run }) => sum + run.withoutEffect, 0),
      inNoFigure: cells.reduce((sum, { unknown = [] }) => sum + unknown.length, 0),
      assumed:
        'every proposal is carried out at once; facts of workloads and leases are as known now, sizes as metered',
    },
    cells,
    mean: names.map((name) => {
      const own = cells.filter(
        ({ policies }) =>
          policies.some((one) => one.name === name) && policies.some((one) => one.name === 'clairvoyant'),
      );
      const cost = { baseline: total(own, 'none'), policy: total(own, name), optimum: total(own, 'clairvoyant') };
      const all = summed.filter(({ policies }) => policies.some((one) => one.name === name && one['cost'] !== null));
      if (all.length === 0) return { name, meanShare: null, cost: null, saved: null };
      return {
        name,
        meanShare: own.length === 0 ? null : pooledShare(cost),
        cost: total(all, name),
        saved: total(all, 'none') - total(all, name),
      };
    }),
  };
}

function countsOf(actions: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const action of [...actions].sort()) counts[action] = (counts[action] ?? 0) + 1;
  return counts;
}
