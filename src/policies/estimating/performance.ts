/**
 * The performance of each kind of GPU for a workload: as stated, otherwise as its team measured the same model,
 * otherwise as predicted from the measurements.
 *
 * A prediction counts with the end of its 90 % interval that speaks against a change: the low end for other GPUs, the
 * high end for the present ones. A workload without a stated model gets no answer.
 */
import type { ModelPerformance, PolicyView, WorkloadView } from '../../core/policy/policy.js';
import { pacesOf, type Pace } from '../../planning/throughput/pace.js';

export function performanceOf({ measurements, team }: PolicyView, one: WorkloadView): readonly ModelPerformance[] {
  const { runs, gpusPerReplica, gpuModel: own } = one;
  const stated = one.performance;
  if (
    stated.length > 0 ||
    measurements === undefined ||
    runs === undefined ||
    gpusPerReplica === null ||
    !Number.isInteger(gpusPerReplica) ||
    gpusPerReplica < 1
  )
    return stated;
  const paces = pacesOf(measurements, team);
  return paces.kinds(runs.model).flatMap((gpuModel): ModelPerformance[] => {
    const pace = paces.paceOf(runs, gpuModel, gpusPerReplica);
    if (pace === null) return [];
    const end = pace.isMeasured ? pace.samplesPerSecond : gpuModel === own ? pace.high : pace.low;
    return [
      {
        gpuModel,
        unitsPerMinute: (end * 60) / gpusPerReplica,
        fits: paces.fits(runs, gpuModel),
        source: sourceOf(pace, gpuModel === own),
      },
    ];
  });
}

const sourceOf = ({ isMeasured, rows }: Pace, isOwn: boolean): string =>
  isMeasured
    ? `measured (${rows})`
    : `predicted from ${rows} ${rows === 1 ? 'measurement' : 'measurements'}, the ${isOwn ? 'high' : 'low'} end of 90 %`;
