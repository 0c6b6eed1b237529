/**
 * One policy over the samples of many GPUs in the order of time: what stopping would have saved, and whom it disturbed.
 *
 * Semantics: a policy sees each sample of a running GPU, without its truth, and may stop the GPU at that moment. A
 * stopped GPU sends no samples and is not paid; at the first sample whose truth is useful it is back, and the restart
 * is paid (`restartMinutes` of the GPU). The timeline itself does not shift. A spell is a run of samples that are not
 * useful, until the next useful one; what is not recorded counts as useful, since no saving may be claimed for it. A
 * spell that ends with the data needs no restart.
 */

import type { IdleEvidence, IdleSample } from './samples.js';

export interface IdlePolicy {
  /** True to stop the GPU now. Called in the order of time, over all GPUs. */
  observe(evidence: IdleEvidence): boolean;
  /** A GPU that this policy stopped is needed again. */
  returned(resource: string, minute: number): void;
}

export interface IdleRun {
  readonly spells: number;
  /** Minutes in all spells: what never stopping pays for nothing. */
  readonly idleMinutes: number;
  /** Minutes not paid because of stops, less the restarts paid. */
  readonly savedMinutes: number;
  readonly stops: number;
  /** Stops whose GPU was useful again within ten minutes. */
  readonly falseStops: number;
}

export const FALSE_STOP_MINUTES = 10;

/** Orders samples by time; those of the same moment keep their order. */
export function byTime(samples: readonly IdleSample[]): IdleSample[] {
  return [...samples].sort((a, b) => a.evidence.minute - b.evidence.minute);
}

interface Timeline {
  stoppedAt: number | null;
  lastMinute: number;
  spellStart: number | null;
}

/** @param samples in the order of time (`byTime`). */
export function simulateIdle(samples: readonly IdleSample[], restartMinutes: number, policy: IdlePolicy): IdleRun {
  const timelines = new Map<string, Timeline>();
  const run = { spells: 0, idleMinutes: 0, savedMinutes: 0, stops: 0, falseStops: 0 };
  const endSpell = (timeline: Timeline, end: number): void => {
    if (timeline.spellStart === null) return;
    run.spells++;
    run.idleMinutes += end - timeline.spellStart;
    timeline.spellStart = null;
  };
  for (const { evidence, useful } of samples) {
    const timeline = timelines.get(evidence.resource) ?? {
      stoppedAt: null,
      lastMinute: evidence.minute,
      spellStart: null,
    };
    timelines.set(evidence.resource, timeline);
    timeline.lastMinute = evidence.minute;
    if (useful === false) timeline.spellStart ??= evidence.minute;
    else {
      endSpell(timeline, evidence.minute);
      if (timeline.stoppedAt !== null) {
        const away = evidence.minute - timeline.stoppedAt;
        run.savedMinutes += away - restartMinutes;
        if (away <= FALSE_STOP_MINUTES) run.falseStops++;
        timeline.stoppedAt = null;
        policy.returned(evidence.resource, evidence.minute);
      }
    }
    if (timeline.stoppedAt === null && policy.observe(evidence)) {
      run.stops++;
      timeline.stoppedAt = evidence.minute;
    }
  }
  for (const timeline of timelines.values()) {
    if (timeline.stoppedAt !== null) run.savedMinutes += timeline.lastMinute - timeline.stoppedAt;
    endSpell(timeline, timeline.lastMinute);
  }
  return run;
}

/** Saving of stopping, at its first sample, every spell that outlasts the restart: it knows the future. */
export function clairvoyantSaving(samples: readonly IdleSample[], restartMinutes: number): number {
  const open = new Map<string, { start: number; last: number }>();
  let saved = 0;
  for (const { evidence, useful } of samples) {
    const spell = open.get(evidence.resource);
    if (useful === false)
      open.set(evidence.resource, { start: spell?.start ?? evidence.minute, last: evidence.minute });
    else if (spell !== undefined) {
      saved += Math.max(0, evidence.minute - spell.start - restartMinutes);
      open.delete(evidence.resource);
    }
  }
  for (const { start, last } of open.values()) if (last - start > restartMinutes) saved += last - start;
  return saved;
}
