/**
 * From the recorded history of a team (core/policy/history.ts) to the views that a policy would have had, hour by hour.
 *
 * `viewAt` is the only way from a recording to a view. The invariant: a view contains nothing after its time: no
 * reading, no metered hour that is not over, no price. Facts that were never recorded over time (the facts of a
 * workload, a lease) are shown as known now, and the report says so.
 */
import type { RecordedHistory } from '../../core/policy/history.js';
import type { TakenMeasurement } from '../../core/workload/measurement.js';
import {
  READINGS_DAYS,
  type DemandSeries,
  type MinuteSeries,
  type PolicyView,
  type ResourceView,
  type WorkloadView,
} from '../../core/policy/policy.js';
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';

/** The changes by a replay that a view shows. */
export interface Changed {
  /** GPUs of a series that commitments of the replay hold, by its index, and the hours that they still do. */
  readonly committed: (
    series: number,
  ) => readonly { readonly units: number; readonly hoursLeft: number; readonly since: number }[];
  /** Null: it is not there yet. */
  readonly workload: (one: WorkloadView) => WorkloadView | null;
  readonly budgets: PolicyView['budgets'];
  /** Whether a market's reading of this very instant has come; otherwise the newest is of the step before. */
  readonly seesMarketNow?: boolean;
}

export function viewAt(history: RecordedHistory, asOf: number, changed: Changed): PolicyView {
  const { organisation, team, currency, peak } = history;
  return {
    organisation,
    team,
    currency,
    asOf,
    peak,
    budgets: changed.budgets,
    // Thousands of prices, which most policies never look at.
    get offers() {
      return history.offersAt(asOf);
    },
    get egress() {
      return history.egressAt?.(asOf) ?? [];
    },
    demand: history.demand.flatMap((series, index) => demandAt(history, series, asOf, changed.committed(index))),
    resources: history.resources.flatMap((resource) => resourceAt(resource, asOf)),
    workloads: history.workloads.flatMap((one) => changed.workload(workloadAt(one, asOf)) ?? []),
    spotMarkets: history.spotMarkets.map((market) => ({
      ...market,
      available: market.available.slice(
        0,
        Math.max(
          0,
          Math.floor((asOf - market.from) / (market.tickSeconds * 1000)) + (changed.seesMarketNow === true ? 1 : 0),
        ),
      ),
    })),
    leases: history.leases.filter(({ startedAt }) => startedAt <= asOf),
    ...(history.measurements === undefined ? {} : { measurements: measuredBy(history.measurements, asOf) }),
  };
}

/** Those of the past; the same list for as long as nothing was added, as what is learned from one is kept for it. */
function measuredBy(all: readonly TakenMeasurement[], asOf: number): readonly TakenMeasurement[] {
  const later = all.findIndex(({ measuredAt }) => measuredAt > asOf);
  if (later < 0) return all;
  const parts = PASTS.get(all) ?? new Map<number, readonly TakenMeasurement[]>();
  PASTS.set(all, parts);
  const past = parts.get(later) ?? all.slice(0, later);
  parts.set(later, past);
  return past;
}

const PASTS = new WeakMap<readonly TakenMeasurement[], Map<number, readonly TakenMeasurement[]>>();

function demandAt(
  history: RecordedHistory,
  series: DemandSeries,
  asOf: number,
  committed: ReturnType<Changed['committed']>,
): DemandSeries[] {
  const hours = Math.min(series.gpus.length, (hourOf(asOf) - series.from) / HOUR_MS);
  if (hours < 1) return [];
  const gpus = series.gpus.slice(0, hours);
  const prices = history.pricesAt(series, asOf);
  if (committed.length === 0)
    return [
      {
        ...series,
        ...prices,
        gpus,
        ...(series.coveredGpus === undefined ? {} : { coveredGpus: series.coveredGpus.slice(0, hours) }),
      },
    ];
  const coveredGpus = Float64Array.from({ length: hours }, (_, hour) => {
    const at = series.from + hour * HOUR_MS;
    const units = committed.reduce((sum, one) => sum + (one.since <= at ? one.units : 0), 0);
    const covered = Math.min(gpus[hour] ?? 0, units);
    gpus[hour] = (gpus[hour] ?? 0) - covered;
    return covered + (series.coveredGpus?.[hour] ?? 0);
  });
  return [{ ...series, ...prices, gpus, coveredGpus, committed: [...(series.committed ?? []), ...committed] }];
}

function resourceAt(resource: ResourceView, asOf: number): ResourceView[] {
  const readings = resource.readings.filter(({ at }) => at <= asOf && at >= asOf - READINGS_DAYS * DAY_MS);
  return readings.length === 0 ? [] : [{ ...resource, observedFrom: readings[0]?.at ?? null, readings }];
}

function workloadAt(one: WorkloadView, asOf: number): WorkloadView {
  const cut = (series: MinuteSeries): MinuteSeries => {
    const known = Math.max(0, Math.floor((asOf - series.from) / MINUTE_MS));
    const { values, measuredGpus } = series;
    return {
      ...series,
      values: values.slice(0, known),
      ...(measuredGpus === undefined ? {} : { measuredGpus: measuredGpus.slice(0, known) }),
    };
  };
  return {
    ...one,
    metrics: Object.fromEntries(Object.entries(one.metrics).map(([name, series]) => [name, cut(series)])),
    service: one.service === null ? null : { ...one.service, load: cut(one.service.load) },
  };
}
