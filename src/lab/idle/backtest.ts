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
  ];
  const optimum = clairvoyantSaving(ordered, restartMinutes);
  const runs = named.map(({ name, policy }, at) => {
    progress(at / (named.length + 1));
    return { name, run: simulateIdle(ordered, restartMinutes, policy) };
  });
  const first = runs[0]!.run;
  const policies = [
    ...runs.map(({ name, run }) => resultOf(name, run, optimum)),
    betterSkiRental(ordered, restartMinutes, optimum),
    resultOf('clairvoyant', { ...first, savedMinutes: optimum, stops: 0, falseStops: 0 }, optimum),
  ];
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
