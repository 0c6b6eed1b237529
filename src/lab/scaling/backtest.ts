/**
 * The scaling backtest: the published rules, Bursar at each risk setting and the optimum over the same arrivals.
 *
 * Reads no file and decides nothing: it runs policies through simulate.ts and adds up. All of them get the same load,
 * limits and starting fleet. The share is a share of replica-minutes saved against a static fleet of `peakReplicas`; it
 * does not charge unserved load, so it is only comparable between policies whose `unservedShare` is alike.
 */

import {
  pooledShare,
  type BacktestProgress,
  type BacktestReport,
  type PolicyResult,
} from '../../core/policy/backtest.js';
import { invalid } from '../../core/errors.js';
import { capacityPerReplica, replicasFor } from '../../planning/scaling/load.js';
import { hpa, limited, scaleInBelow, stepScaling, targetTracking } from '../../planning/scaling/opponents.js';
import { clairvoyant } from '../../planning/scaling/optimum.js';
import { bursarPolicies, DEFAULT_RISK, riskName, RISK_SETTINGS } from '../../planning/scaling/planner.js';
import { simulate, startingReplicas, type FleetLimits, type ScalingPolicy } from '../../planning/scaling/simulate.js';

export interface ScalingBacktestSettings {
  readonly bootMinutes: number;
  /** Replicas that serve the 99th percentile of a minute's load. */
  readonly peakReplicas: number;
  /** 1 unless given. */
  readonly minReplicas?: number;
  /** Twice what the busiest minute needs unless given, so that the limit binds no policy and the optimum serves all. */
  readonly maxReplicas?: number;
}

interface NamedPolicy {
  readonly name: string;
  readonly policy: ScalingPolicy;
}

/** The published rules, fresh for one run; `-utilisation` is the reading in which the metric stops at 1. */
function opponents(peakReplicas: number): NamedPolicy[] {
  const step = { outAbove: 0.7, outReplicas: 2, inBelow: 0.3 };
  return [
    { name: 'static-peak', policy: () => peakReplicas },
    ...[0.5, 0.7, 0.9].map((target) => ({ name: `hpa-${target}`, policy: hpa({ target }) })),
    ...[0.5, 0.7, 0.9].map((target) => ({
      name: `hpa-${target}-utilisation`,
      policy: hpa({ target, reading: 'utilisation' }),
    })),
    { name: 'hpa-0.7-min-2-max-8', policy: limited(hpa({ target: 0.7 }), 2, 8) },
    { name: 'target-tracking-0.7', policy: targetTracking({ target: 0.7 }) },
    { name: 'target-tracking-0.7-utilisation', policy: targetTracking({ target: 0.7, reading: 'utilisation' }) },
    { name: 'step-scaling', policy: stepScaling(step) },
    { name: 'step-scaling-min-2-max-10', policy: stepScaling({ ...step, minReplicas: 2, maxReplicas: 10 }) },
    { name: 'scale-in-0.3', policy: scaleInBelow(0.3, peakReplicas) },
  ];
}

/**
 * Runs every policy over requests per minute.
 *
 * @param requests requests of each calendar minute, without gaps.
 * @param described what the report's settings say beside the numbers (file, seed).
 * @throws invalid on limits out of range, a peak below 1 or a load without scale.
 */
export function scalingReport(
  requests: Float64Array,
  settings: ScalingBacktestSettings,
  described: Readonly<Record<string, unknown>> = {},
  progress: BacktestProgress = () => undefined,
): BacktestReport {
  if (!(Number.isFinite(settings.peakReplicas) && settings.peakReplicas >= 1)) {
    throw invalid('the fleet cannot be scaled', [{ path: 'peakReplicas', message: 'must be 1 or more' }]);
  }
  const capacity = capacityPerReplica(requests, settings.peakReplicas);
  const load = requests.map((count) => count / capacity);
  const busiest = load.reduce((most, value) => Math.max(most, value), 0);
  const minReplicas = settings.minReplicas ?? 1;
  const limits: FleetLimits = {
    bootMinutes: settings.bootMinutes,
    minReplicas,
    maxReplicas: settings.maxReplicas ?? Math.max(minReplicas, 2 * replicasFor(busiest)),
    cooldownMinutes: 0,
  };
  const named = opponents(settings.peakReplicas);
  const risks = [DEFAULT_RISK, ...RISK_SETTINGS];
  bursarPolicies(load, limits, startingReplicas(load, limits), risks).forEach((policy, i) =>
    named.push({ name: i === 0 ? 'bursar' : riskName(risks[i]!), policy }),
  );
  const policies = resultsOf(named, load, limits, settings.peakReplicas, progress);
  return {
    problem: 'scaling',
    settings: {
      ...described,
      ...limits,
      peakReplicas: settings.peakReplicas,
      requestsPerReplicaMinute: capacity,
      minutes: load.length,
      requests: requests.reduce((sum, count) => sum + count, 0),
      defaultRisk: riskName(DEFAULT_RISK),
      costUnit: 'mean number of paid replicas per minute',
      shareBaseline:
        'static-peak: as many replicas as serve the 99th percentile of a minute, in every minute; unserved load is not charged',
    },
    cells: [{ name: 'arrivals', count: load.length, policies }],
    mean: policies.map(({ name, meanShare, unservedShare, costRatio }) => ({
      name,
      meanShare,
      unservedShare: unservedShare!,
      costRatio: costRatio!,
    })),
  };
}

function resultsOf(
  named: readonly NamedPolicy[],
  load: Float64Array,
  limits: FleetLimits,
  peakReplicas: number,
  progress: BacktestProgress,
): PolicyResult[] {
  const optimum = clairvoyant(load, limits);
  const total = load.reduce((sum, value) => sum + value, 0);
  const baseline = peakReplicas * load.length;
  const result = (name: string, replicaMinutes: number, unserved: number): PolicyResult => ({
    name,
    meanCost: replicaMinutes / load.length,
    meanShare: pooledShare({ baseline, policy: replicaMinutes, optimum: optimum.replicaMinutes }),
    unservedShare: total > 0 ? unserved / total : 0,
    costRatio: replicaMinutes / optimum.replicaMinutes,
  });
  const runs = named.map(({ name, policy }, at) => {
    const run = simulate(load, limits, policy);
    progress((at + 1) / named.length);
    return result(name, run.replicaMinutes, run.unserved);
  });
  return [...runs, result('clairvoyant', optimum.replicaMinutes, optimum.unserved)];
}
