/**
 * The backtest of a service on spot over many zones: every policy and the optimum over the same windows.
 *
 * It takes recordings, never files. An opponent that can be read in several ways runs in all of them, and the reading
 * that is cheapest among those that hold the objective over all windows is the opponent; where none does, the one that
 * serves most.
 */
import { pooledShare, type BacktestProgress } from '../../core/policy/backtest.js';
import { beliefAfter, evidenceOf, learnZones, type Readings } from '../../planning/spot-regions/availability.js';
import { bursarServing } from '../../planning/spot-serving/bursar.js';
import { allOnDemandCost, type ServingProblem } from '../../planning/spot-serving/problem.js';
import { simulateServing, type ServingPolicy, type ServingRun } from '../../planning/spot-serving/simulate.js';
import { mulberry32 } from '../random.js';
import type { ServingCase } from './case.js';
import { bestRuleServing, informedServing, liveServing } from './informed.js';
import { servingOpponents } from './opponents.js';
import { servingOptimum } from './optimum.js';

/**
 * Names in the order of reports. The last three run only where they are asked for: the planner asked anew at every tick,
 * told how the zones of the window are, and the rule that turned out best.
 */
export const POLICIES = [
  'bursar',
  'spothedge',
  'spothedge-guarded',
  'even-spread',
  'fixed-share',
  'cheapest-zone',
  'cheapest-zone-guarded',
  'round-robin',
  'on-demand',
  'bursar-live',
  'bursar-told',
  'bursar-best-rule',
] as const;
export const STANDARD = POLICIES.filter((name) => !name.startsWith('bursar-'));
export type PolicyName = (typeof POLICIES)[number];

export interface ServingComparison {
  readonly problem: ServingProblem;
  readonly cases: readonly ServingCase[];
  readonly lessons: readonly Readings[];
  readonly policies: readonly PolicyName[];
}

export interface ServingWindowResult {
  readonly start: number;
  readonly optimum: number;
  readonly onDemand: number;
  readonly policies: Readonly<Record<string, ServingRun>>;
}

export interface ServingSummary {
  readonly meanCost: number;
  /** Cost over the optimum's: 1.05 is 5 % dearer. */
  readonly overOptimum: number;
  readonly meanShare: number | null;
  /** Of the wanted replica time, over all windows, and in the window with the least. */
  readonly servedShare: number;
  readonly worstServedShare: number;
  /** The largest of the windows' costs over their optimum. */
  readonly worstWindow: number;
  readonly preemptions: number;
  /** Windows in which the objective was missed. */
  readonly misses: number;
}

export interface ServingResult {
  readonly windows: readonly ServingWindowResult[];
  readonly summary: Readonly<Record<string, ServingSummary>>;
}

const SEED = 20_260_118;

/** Runs everything, and tells after each window and policy how far it is. */
export function compareServing(
  comparison: ServingComparison,
  progress: BacktestProgress = () => undefined,
): ServingResult {
  const { problem, cases, policies } = comparison;
  const steps = (policies.length + 1) * cases.length;
  let done = 0;
  const counted = <T>(value: T): T => {
    progress(++done / steps);
    return value;
  };
  const optima = cases.map(({ window }) => counted(servingOptimum(problem, window)));
  const onDemand = allOnDemandCost(problem);
  const runs = new Map(policies.map((name) => [name, runsOf(name, comparison, () => counted(undefined))]));
  const windows = cases.map(
    ({ start }, i): ServingWindowResult => ({
      start,
      optimum: optima[i] ?? NaN,
      onDemand,
      policies: Object.fromEntries([...runs].flatMap(([name, of]) => (of[i] === undefined ? [] : [[name, of[i]]]))),
    }),
  );
  const summary = Object.fromEntries([...runs].map(([name, of]) => [name, summaryOf(problem, of, optima)]));
  return { windows, summary };
}

function runsOf(name: PolicyName, comparison: ServingComparison, windowDone: () => void): readonly ServingRun[] {
  const { problem, cases } = comparison;
  const ownRun = ownRuns(name, comparison);
  if (ownRun !== null)
    return cases.map((one) => {
      const run = ownRun(one);
      windowDone();
      return run;
    });
  const readings = servingOpponents(problem).get(name) ?? [];
  const all = readings.map((policy) => cases.map(({ window }) => simulateServing(problem, window, policy())));
  for (const _ of cases) windowDone();
  return bestReading(problem, all);
}

/** How Bursar, or a reading of it, runs a window; null: it is an opponent. */
function ownRuns(name: PolicyName, comparison: ServingComparison): ((one: ServingCase) => ServingRun) | null {
  const { problem } = comparison;
  const running =
    (policyOf: (one: ServingCase) => ServingPolicy) =>
    (one: ServingCase): ServingRun =>
      simulateServing(problem, one.window, policyOf(one));
  switch (name) {
    case 'bursar':
      return running(bursarPolicies(comparison));
    case 'bursar-live':
      return running((one) => liveServing(problem, one));
    case 'bursar-told':
      return running((one) => informedServing(problem, one));
    case 'bursar-best-rule':
      return (one) => bestRuleServing(problem, one);
    default:
      return null;
  }
}

/** Bursar as it runs a window: taught by what is known before its start. */
function bursarPolicies({ problem, lessons }: ServingComparison): (one: ServingCase) => ServingPolicy {
  const others = lessons.map((one) => evidenceOf(one));
  return ({ pasts }) => {
    const zones = pasts.map((past, zone) => ({ region: problem.regionOf[zone] ?? 0, past }));
    const shares = learnZones(zones, others);
    const beliefs = pasts.flatMap((past, zone) => {
      const own = shares[zone];
      return own === undefined ? [] : [beliefAfter(own, past)];
    });
    return bursarServing(problem, { beliefs, random: mulberry32(SEED) });
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const costOf = (runs: readonly ServingRun[]): number => mean(runs.map(({ cost }) => cost));
const servedBy = (runs: readonly ServingRun[]): number => mean(runs.map(({ servedShare }) => servedShare));

function bestReading(
  { allowedSeconds, wantedSeconds }: ServingProblem,
  readings: readonly (readonly ServingRun[])[],
): readonly ServingRun[] {
  const objective = 1 - allowedSeconds / wantedSeconds;
  const holding = readings.filter((runs) => servedBy(runs) >= objective - 1e-9);
  if (holding.length > 0) return holding.reduce((best, runs) => (costOf(runs) < costOf(best) ? runs : best));
  return readings.reduce((best, runs) => (servedBy(runs) > servedBy(best) ? runs : best));
}

function summaryOf(problem: ServingProblem, runs: readonly ServingRun[], optima: readonly number[]): ServingSummary {
  const [cost, optimum] = [costOf(runs), mean(optima)];
  const least = 1 - problem.allowedSeconds / problem.wantedSeconds - 1e-9;
  return {
    meanCost: cost,
    overOptimum: cost / optimum,
    meanShare: pooledShare({ baseline: allOnDemandCost(problem), policy: cost, optimum }),
    servedShare: servedBy(runs),
    worstServedShare: Math.min(...runs.map(({ servedShare }) => servedShare)),
    worstWindow: Math.max(...runs.map((run, i) => run.cost / (optima[i] ?? NaN))),
    preemptions: runs.reduce((sum, run) => sum + run.preemptions, 0),
    misses: runs.filter(({ servedShare }) => servedShare < least).length,
  };
}
