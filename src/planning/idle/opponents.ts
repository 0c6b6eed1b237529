/**
 * The published rules for stopping idle GPUs. Bursar never decides with them.
 *
 * Each uses only utilisation, as its documentation does; a missing sample counts neither for nor against. If "idle" can
 * be read in two ways, both are here, and the reports use the better one.
 */

import { activityOf, type IdleEvidence } from './samples.js';
import type { IdlePolicy } from './simulate.js';

/** Stops after `minutes` in which every sample was quiet by `isQuiet` (null: the sample says nothing). */
class QuietFor implements IdlePolicy {
  private readonly since = new Map<string, number>();
  constructor(
    private readonly minutes: number,
    private readonly isQuiet: (evidence: IdleEvidence) => boolean | null,
  ) {}

  observe(evidence: IdleEvidence): boolean {
    const quiet = this.isQuiet(evidence);
    if (quiet === null) return false;
    if (!quiet) {
      this.since.delete(evidence.resource);
      return false;
    }
    const since = this.since.get(evidence.resource) ?? evidence.minute;
    this.since.set(evidence.resource, since);
    return evidence.minute - since >= this.minutes;
  }

  returned(resource: string): void {
    this.since.delete(resource);
  }
}

const utilisationBelow =
  (percent: number) =>
  (evidence: IdleEvidence): boolean | null =>
    evidence.gpuUtilPercent === null ? null : evidence.gpuUtilPercent < percent;

/** Below 30 % for 30 minutes: the common runbook rule. */
export const below30For30 = (): IdlePolicy => new QuietFor(30, utilisationBelow(30));

/** 0 % for 60 minutes, as notebook cullers and idle-shutdown scripts are commonly set. */
export const zeroFor60 = (): IdlePolicy =>
  new QuietFor(60, (evidence) => (evidence.gpuUtilPercent === null ? null : evidence.gpuUtilPercent === 0));

/**
 * Ski rental (Karlin, Manasse, Rudolph, Sleator 1988): stop once the idle time has cost as much as a restart, which
 * never costs more than twice the optimum. Idle is utilisation below `percent`.
 */
export const skiRental = (restartMinutes: number, percent: number): IdlePolicy =>
  new QuietFor(restartMinutes, utilisationBelow(percent));

/** Ski rental with the evidence that Bursar uses (requests, labels): what the break-even rule alone is worth. */
export const skiRentalWithEvidence = (restartMinutes: number): IdlePolicy =>
  new QuietFor(restartMinutes, (evidence) => {
    const activity = activityOf(evidence);
    return activity === 'unknown' ? null : activity === 'quiet';
  });
