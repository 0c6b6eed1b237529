/**
 * The backtest of the spot planner: every policy and the optimum over the same windows, pooled as
 * core/policy/backtest.ts says.
 *
 * It takes recordings, never files. The invariant: the model with which Bursar runs a window was learned from the
 * recordings handed in for its zone, which are never its own windows, and from that window's own past.
 */
import {
  pooledShare,
  type BacktestCell,
  type BacktestProgress,
  type BacktestReport,
  type PolicyResult,
} from '../../core/policy/backtest.js';
import { invalid, type Problem } from '../../core/errors.js';
import {
  availabilityModel,
  fitAvailability,
  leanToPast,
  type AvailabilityParameters,
} from '../../planning/spot/availability-model.js';
import { bursarPolicy } from '../../planning/spot/bursar.js';
import { opponents } from '../../planning/spot/opponents.js';
import { optimumCost } from './optimum.js';
import { planSpot } from '../../planning/spot/plan.js';
import { onDemandCost, spotProblem, type SpotProblem, type SpotTerms } from '../../planning/spot/problem.js';
import { simulate, type SpotRun } from '../../planning/spot/simulate.js';

/** The windows of one trace file, and what may be learned from for it. */
export interface SpotZone {
  readonly name: string;
  readonly tickSeconds: number;
  /** One reading per tick, 1 where spot can be had. */
  readonly windows: readonly Uint8Array[];
  /** Recordings of other zones or of the past, same tick. Empty means that the built-in parameters are used. */
  readonly recordings: readonly Uint8Array[];
  /**
   * By window: readings of the same zone that end right before it, without a gap; empty, or not given, where nothing is
   * known.
   */
  readonly pasts?: readonly Uint8Array[];
}

export interface SpotComparison {
  readonly terms: Omit<SpotTerms, 'deadlineHours' | 'tickSeconds'>;
  readonly deadlineHours: readonly number[];
  readonly zones: readonly SpotZone[];
}

/** Sums over the windows of a cell. */
interface Tally {
  readonly name: string;
  cost: number;
  misses: number;
  spotUnits: number;
  onDemandUnits: number;
  restarts: number;
}

interface ComparedCell {
  readonly cell: BacktestCell;
  readonly baseline: number;
  readonly optimum: number;
}

/**
 * Runs everything, and tells after each window how far it is. Throws `invalid` naming every zone that has no window or
 * one that is shorter than a deadline, and every bad term.
 */
export function compareSpot(comparison: SpotComparison, progress: BacktestProgress = () => undefined): BacktestReport {
  const { terms, deadlineHours, zones } = comparison;
  refuseShortWindows(comparison);
  const learned = zones.map((zone) => fitAvailability(zone.recordings));
  const compared: ComparedCell[] = [];
  const windows = deadlineHours.length * zones.reduce((sum, zone) => sum + zone.windows.length, 0);
  let done = 0;
  for (const hours of deadlineHours) {
    zones.forEach((zone, i) => {
      const problem = spotProblem({ ...terms, deadlineHours: hours, tickSeconds: zone.tickSeconds });
      compared.push(
        compareCell(`${zone.name} ${hours}h`, problem, zone, learned[i] ?? fitAvailability([]), () =>
          progress(++done / windows),
        ),
      );
    });
  }
  return {
    problem: 'spot',
    settings: { ...terms, deadlineHours, costUnit: 'the unit of the prices', learned: learnedByZone(zones, learned) },
    cells: compared.map(({ cell }) => cell),
    mean: pooledMeans(compared),
  };
}

function refuseShortWindows({ deadlineHours, zones }: SpotComparison): void {
  const problems: Problem[] = [];
  if (zones.length === 0) problems.push({ path: 'traces', message: 'at least one trace is needed' });
  if (deadlineHours.length === 0) problems.push({ path: 'deadlineHours', message: 'at least one deadline is needed' });
  for (const zone of zones) {
    if (zone.windows.length === 0) problems.push({ path: zone.name, message: 'has no window' });
    for (const hours of deadlineHours) {
      const ticks = Math.floor((hours * 3600) / zone.tickSeconds);
      const short = zone.windows.filter((window) => window.length < ticks).length;
      if (short > 0)
        problems.push({ path: zone.name, message: `${short} windows are shorter than the deadline of ${hours} h` });
    }
  }
  if (problems.length > 0) throw invalid('the spot backtest cannot run', problems);
}

function learnedByZone(
  zones: readonly SpotZone[],
  learned: readonly AvailabilityParameters[],
): Record<string, unknown> {
  return Object.fromEntries(
    zones.map((zone, i) => [
      zone.name,
      {
        recordings: zone.recordings.length,
        ticks: zone.recordings.reduce((sum, recording) => sum + recording.length, 0),
        ...learned[i],
      },
    ]),
  );
}

const NO_READINGS = new Uint8Array();
const SECONDS_PER_DAY = 86_400;

/** Windows that one plan serves. */
interface PlanGroup {
  /** The part of their past that the plan leans to: whole days, so that windows of one day share a plan. */
  readonly lesson: Uint8Array;
  readonly windows: number[];
}

function planGroups({ windows, pasts, tickSeconds }: SpotZone): PlanGroup[] {
  const perDay = Math.max(1, Math.round(SECONDS_PER_DAY / tickSeconds));
  const groups: PlanGroup[] = [];
  windows.forEach((_, i) => {
    const past = pasts?.[i] ?? NO_READINGS;
    const lesson = past.subarray(0, past.length - (past.length % perDay));
    const group = groups.find(
      (one) => one.lesson.length === lesson.length && one.lesson.every((reading, t) => reading === lesson[t]),
    );
    if (group === undefined) groups.push({ lesson, windows: [i] });
    else group.windows.push(i);
  });
  return groups;
}

function compareCell(
  name: string,
  problem: SpotProblem,
  zone: SpotZone,
  parameters: AvailabilityParameters,
  windowDone: () => void,
): ComparedCell {
  const published = opponents(problem);
  const tallies: Tally[] = ['bursar', ...published.map((policy) => policy.name)].map((policy) => ({
    name: policy,
    cost: 0,
    misses: 0,
    spotUnits: 0,
    onDemandUnits: 0,
    restarts: 0,
  }));
  let optimum = 0;
  for (const { lesson, windows } of planGroups(zone)) {
    const plan = planSpot(problem, availabilityModel(leanToPast(parameters, lesson)));
    for (const w of windows) {
      const window = zone.windows[w] ?? NO_READINGS;
      optimum += optimumCost(problem, window);
      [bursarPolicy(plan, { past: zone.pasts?.[w] ?? NO_READINGS }), ...published].forEach((policy, i) => {
        const tally = tallies[i];
        if (tally !== undefined) addRun(tally, simulate(problem, window, policy));
      });
      windowDone();
    }
  }
  const count = zone.windows.length;
  const baseline = onDemandCost(problem) * count;
  const unitHours = problem.unitSeconds / 3600;
  const result = (tally: Tally): PolicyResult => ({
    name: tally.name,
    meanCost: tally.cost / count,
    meanShare: pooledShare({ baseline, policy: tally.cost, optimum }),
    misses: tally.misses,
    meanSpotHours: (tally.spotUnits * unitHours) / count,
    meanOnDemandHours: (tally.onDemandUnits * unitHours) / count,
    meanRestarts: tally.restarts / count,
  });
  const clairvoyant: PolicyResult = {
    name: 'clairvoyant',
    meanCost: optimum / count,
    meanShare: pooledShare({ baseline, policy: optimum, optimum }),
    misses: 0,
  };
  return { cell: { name, count, policies: [clairvoyant, ...bestSlicing(tallies.map(result))] }, baseline, optimum };
}

function addRun(tally: Tally, run: SpotRun): void {
  tally.cost += run.cost;
  tally.misses += run.finished ? 0 : 1;
  tally.spotUnits += run.spotUnits;
  tally.onDemandUnits += run.onDemandUnits;
  tally.restarts += run.restarts;
}

/** The paper picks the best number of slices in hindsight; so does this, in each cell, in the opponent's favour. */
function bestSlicing(results: readonly PolicyResult[]): PolicyResult[] {
  const sliced = results.filter(({ name }) => name.startsWith('time-sliced-'));
  const best = sliced.reduce((least, result) => (Number(result.meanCost) < Number(least.meanCost) ? result : least));
  return results.flatMap((result) => {
    if (result === best)
      return [{ ...result, name: 'time-sliced', slices: Number(result.name.slice('time-sliced-'.length)) }];
    return sliced.includes(result) ? [] : [result];
  });
}

function pooledMeans(compared: readonly ComparedCell[]): BacktestReport['mean'] {
  const names = compared[0]?.cell.policies.map(({ name }) => name) ?? [];
  const baseline = compared.reduce((sum, cell) => sum + cell.baseline, 0);
  const optimum = compared.reduce((sum, cell) => sum + cell.optimum, 0);
  return names.map((name) => {
    let [policy, misses] = [0, 0];
    for (const { cell } of compared) {
      const result = cell.policies.find((candidate) => candidate.name === name);
      policy += (result?.meanCost ?? 0) * cell.count;
      misses += Number(result?.['misses'] ?? 0);
    }
    return { name, meanShare: pooledShare({ baseline, policy, optimum }), misses };
  });
}
