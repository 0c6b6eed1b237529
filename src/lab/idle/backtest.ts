/**
 * The idle backtest: the published rules, Bursar's and the optimum over the same samples.
 *
 * Reads no file and decides nothing. Costs are the minutes that a policy pays for nothing, restarts included, per idle
 * spell; a share is of the optimum's saving against never stopping.
 */

import {
  pooledShare,
  type BacktestProgress,
  type BacktestReport,
  type PolicyResult,
} from '../../core/policy/backtest.js';
import { invalid } from '../../core/errors.js';
import { below30For30, skiRental, skiRentalWithEvidence, zeroFor60 } from '../../planning/idle/opponents.js';
import { IDLE_DEFAULTS, IdlePlanner } from '../../planning/idle/planner.js';
import type { IdleSample } from '../../planning/idle/samples.js';
import {
  byTime,
  clairvoyantSaving,
  simulateIdle,
  type IdlePolicy,
  type IdleRun,
} from '../../planning/idle/simulate.js';

/**
 * Bursar at other risks: what a false stop costs its users, in GPU-minutes, from nothing to four times the default. Who
 * lowers that cost takes the risk, so no bound on the probability of a false stop stands beside it.
 */
const RISKS = [0, 5, 10, 30, 60, 120, 240];

function atRisk(falseStopMinutes: number, restartMinutes: number): IdlePlanner {
  const { maximumFalseStopProbability: bound } = IDLE_DEFAULTS;
  const maximumFalseStopProbability = falseStopMinutes < IDLE_DEFAULTS.falseStopMinutes ? 1 : bound;
  return new IdlePlanner({ ...IDLE_DEFAULTS, restartMinutes, falseStopMinutes, maximumFalseStopProbability });
}

/**
 * The share of the optimum's saving that Bursar's frontier has at a share of false stops: the most of the settings with
 * at most that, or between two of them what lies on the line from one to the other (interpolated).
 * Null: every setting has more false stops.
 */
function shareAt(frontier: readonly PolicyResult[], falseStopShare: number): number | null {
  const points = frontier
    .flatMap(({ meanShare, falseStopShare: at, stops }) =>
      meanShare === null || Number(stops) === 0 ? [] : [{ at: Number(at), share: meanShare }],
    )
    .sort((a, b) => a.at - b.at);
  let best: number | null = null;
  for (const [n, left] of points.entries()) {
    if (left.at > falseStopShare) break;
    for (const right of points.slice(n)) {
      const part = right.at === left.at ? 1 : Math.min(1, (falseStopShare - left.at) / (right.at - left.at));
      best = Math.max(best ?? -Infinity, left.share, left.share + part * (right.share - left.share));
    }
  }
  return best;
}

/** @throws invalid when a restart is not a finite number of minutes of 0 or more, or there are no samples. */
export function idleReport(
  samples: readonly IdleSample[],
  restartMinutes: number,
  described: Readonly<Record<string, unknown>> = {},
  progress: BacktestProgress = () => undefined,
): BacktestReport {
  if (!(Number.isFinite(restartMinutes) && restartMinutes >= 0)) {
    throw invalid('the restart has no cost', [{ path: 'restartMinutes', message: 'must be 0 or more minutes' }]);
  }
  if (samples.length === 0) throw invalid('no samples');
  const ordered = byTime(samples);
  const named: { name: string; policy: IdlePolicy }[] = [
    { name: 'below-30-for-30', policy: below30For30() },
    { name: 'zero-for-60', policy: zeroFor60() },
    { name: 'ski-rental-with-evidence', policy: skiRentalWithEvidence(restartMinutes) },
    { name: 'bursar', policy: new IdlePlanner({ ...IDLE_DEFAULTS, restartMinutes }) },
    ...RISKS.map((minutes) => ({ name: `bursar@${minutes}`, policy: atRisk(minutes, restartMinutes) })),
  ];
  const optimum = clairvoyantSaving(ordered, restartMinutes);
  const runs = named.map(({ name, policy }, at) => {
    progress(at / (named.length + 1));
    return { name, run: simulateIdle(ordered, restartMinutes, policy) };
  });
  const first = runs[0]!.run;
  const results = [
    ...runs.map(({ name, run }) => resultOf(name, run, optimum)),
    betterSkiRental(ordered, restartMinutes, optimum),
    resultOf('clairvoyant', { ...first, savedMinutes: optimum, stops: 0, falseStops: 0 }, optimum),
  ];
  const frontier = results.filter(({ name }) => name.startsWith('bursar@'));
  const policies = results.map((one) =>
    one.name.startsWith('bursar') || one.name === 'clairvoyant'
      ? one
      : { ...one, bursarAtItsFalseStops: shareAt(frontier, Number(one.falseStopShare)) },
  );
  return {
    problem: 'idle',
    settings: {
      ...described,
      restartMinutes,
      ...IDLE_DEFAULTS,
      samples: samples.length,
      resources: new Set(samples.map((sample) => sample.evidence.resource)).size,
      spells: first.spells,
      idleMinutes: first.idleMinutes,
      costUnit: 'GPU-minutes paid without work per idle spell, including restarts',
      shareBaseline: 'never stopping',
    },
    cells: [{ name: 'samples', count: first.spells, policies }],
    mean: policies.map(({ name, meanShare, falseStopShare }) => ({ name, meanShare, falseStopShare: falseStopShare! })),
  };
}

/** Ski rental does not say what idle is: both readings run, and the one that saves more bears the name. */
function betterSkiRental(ordered: readonly IdleSample[], restartMinutes: number, optimumSaving: number): PolicyResult {
  const readings = [
    { reading: 'utilisation of 0 %', percent: Number.MIN_VALUE },
    { reading: 'utilisation below 5 %', percent: 5 },
  ].map(({ reading, percent }) => ({
    reading,
    run: simulateIdle(ordered, restartMinutes, skiRental(restartMinutes, percent)),
  }));
  const better = readings.reduce((a, b) => (b.run.savedMinutes > a.run.savedMinutes ? b : a));
  return { ...resultOf('ski-rental', better.run, optimumSaving), reading: better.reading };
}

function resultOf(name: string, run: IdleRun, optimumSaving: number): PolicyResult {
  const policyCost = run.idleMinutes - run.savedMinutes;
  return {
    name,
    meanCost: run.spells > 0 ? policyCost / run.spells : 0,
    meanShare: pooledShare({ baseline: run.idleMinutes, policy: policyCost, optimum: run.idleMinutes - optimumSaving }),
    falseStopShare: run.stops > 0 ? run.falseStops / run.stops : 0,
    stops: run.stops,
    falseStops: run.falseStops,
  };
}
