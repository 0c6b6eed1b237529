/**
 * The known facts about one GPU at one moment, classified as work, idleness, or unknown.
 *
 * Unknown is never idle: a blank or impossible utilisation, a service without a count of requests, and a gap between
 * samples are all `unknown`. The truth of a sample is kept apart from its evidence, so that no policy can read it.
 */

export interface IdleEvidence {
  readonly resource: string;
  /** Minutes since any origin. */
  readonly minute: number;
  /** Null if it is missing, blank or out of 0..100. */
  readonly gpuUtilPercent: number | null;
  readonly requestsPerSecond: number | null;
  readonly memoryUsedRatio: number | null;
  /** `training`, `inference`, `notebook`, ... as the owner labels it; null if nobody did. */
  readonly workload: string | null;
}

export interface IdleSample {
  readonly evidence: IdleEvidence;
  /** The truth, for scoring only; null if it is not recorded. */
  readonly useful: boolean | null;
}

export type Activity = 'working' | 'quiet' | 'unknown';

/** Utilisation that is work whoever causes it; driver housekeeping stays below (data/h200-telemetry: 4 % at most). */
export const WORKING_PERCENT = 5;

/**
 * A utilisation in percent, or null if the number is not a measurement, as NVIDIA DCGM's blanks (dcgm_structs.h): the
 * codes from 0x7ffffff0 and from 2^63 - 16 on.
 */
export const utilisationOrMissing = (value: number): number | null => (value >= 0 && value <= 100 ? value : null);

/** Whether a label names something that answers requests, where quiet utilisation says nothing. */
const isService = (workload: string | null): boolean =>
  workload !== null && /infer|serv|api|endpoint|online|chat/i.test(workload);

/** Averages of a process that only holds memory stay below this; a service at 2 requests/s averages 0.5 %. */
export const HOUSEKEEPING_PERCENT = 0.2;

/**
 * Judges one sample by itself. A service answering requests works, whatever its utilisation; a service whose requests
 * are not counted is unknown unless it visibly computes. Where neither requests nor a label are known, utilisation
 * above that of a process that only holds memory is work, because that is how a small service looks.
 */
export function activityOf(evidence: IdleEvidence): Activity {
  const { gpuUtilPercent: percent, requestsPerSecond: requests, workload } = evidence;
  if (requests !== null && requests > 0) return 'working';
  if (percent !== null && percent >= WORKING_PERCENT) return 'working';
  if (percent === null) return 'unknown';
  if (requests !== null) return 'quiet';
  if (isService(workload)) return 'unknown';
  return workload === null && percent >= HOUSEKEEPING_PERCENT ? 'working' : 'quiet';
}
