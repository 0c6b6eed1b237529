/**
 * Bursar's rule for idle GPUs: stop when the quiet so far makes a long quiet likely enough to pay for the restart.
 *
 * Never reads the truth of a sample, never stops on missing or stale evidence, never stops what answers requests. Learns
 * only from quiets that have ended: of each, how long it lasted and on which GPU, of what kind. The wait is the one
 * that minimises the expected bill over the remembered quiets that outlasted the present one (ski rental with a learned
 * distribution: Karlin, Manasse, McGeoch, Owicki 1994), a stop that turns out false being charged extra.
 */

import { activityOf, type IdleEvidence } from './samples.js';
import { FALSE_STOP_MINUTES, type IdlePolicy } from './simulate.js';

export interface IdleSettings {
  readonly restartMinutes: number;
  /** What a false stop costs its users beyond the restart, in GPU-minutes: 70 keeps one stop in ten false on most mixes of pauses. */
  readonly falseStopMinutes: number;
  /**
   * Largest probability of a false stop at which a stop is still made. Not lower: where quiets have no memory, waiting
   * makes none of them safer, and a strict bound would never stop anything.
   */
  readonly maximumFalseStopProbability: number;
  /** Fewest minutes of quiet before any stop. */
  readonly minimumQuietMinutes: number;
  /** A silence longer than this, and than 2.5 sampling intervals, is stale evidence, and the quiet begins anew. */
  readonly staleMinutes: number;
}

export const IDLE_DEFAULTS: Omit<IdleSettings, 'restartMinutes'> = {
  falseStopMinutes: 70, maximumFalseStopProbability: 0.3, minimumQuietMinutes: 2, staleMinutes: 5,
};

/** Why a GPU is stopped or not, with the numbers used. */
export interface IdleDecision {
  readonly stop: boolean;
  readonly reason: 'working' | 'unknown' | 'too-soon' | 'may-return' | 'wait-pays' | 'idle';
  readonly quietMinutes: number;
  /** Probability that it is needed again within ten minutes; null while it works or nothing is known. */
  readonly falseStopProbability: number | null;
  /** Expected GPU-minutes saved by stopping now, restart and false stop charged; null likewise. */
  readonly expectedSavedMinutes: number | null;
}

interface Quiet {
  readonly minutes: number;
  readonly weight: number;
}

/** Before anything is learned: quiets of all lengths, as many between 1 and 2 minutes as between 10 and 20 hours. */
const PRIOR: readonly Quiet[] = Array.from({ length: 22 }, (_, i) => ({ minutes: 2 ** (i / 2), weight: 0.15 }));
/** How much a quiet of the same GPU, of the same kind, and of any other counts. */
const WEIGHTS = { resource: 1, kind: 0.5, other: 0.05 } as const;
const REMEMBERED_PER_RESOURCE = 60;
const REMEMBERED_PER_KIND = 300;

interface Watch {
  quietSince: number | null;
  lastSeen: number;
  /** Shortest time between two samples, which is how often it is sampled; null before the second. */
  interval: number | null;
  kind: string;
  busyMemory: number;
  quiets: number[];
}

/** Decides for many GPUs; feed it every sample in the order of time. */
export class IdlePlanner implements IdlePolicy {
  private readonly watches = new Map<string, Watch>();
  private readonly kinds = new Map<string, number[]>();
  private readonly everyone: number[] = [];

  constructor(private readonly settings: IdleSettings) {}

  observe(evidence: IdleEvidence): boolean {
    return this.decide(evidence).stop;
  }

  /** The GPU is needed again: its quiet is over, whatever it was, and is remembered. */
  returned(resource: string, minute: number): void {
    const watch = this.watches.get(resource);
    if (watch !== undefined) this.endQuiet(watch, minute);
  }

  /** Takes one sample and says what to do about its GPU. */
  decide(evidence: IdleEvidence): IdleDecision {
    const watch = this.watchOf(evidence);
    const activity = activityOf(evidence);
    const gap = evidence.minute - watch.lastSeen;
    const silent = gap > Math.max(this.settings.staleMinutes, 2.5 * (watch.interval ?? gap));
    if (activity === 'unknown') return undecided('unknown');
    watch.lastSeen = evidence.minute;
    if (gap > 0) watch.interval = Math.min(watch.interval ?? gap, gap);
    if (silent) watch.quietSince = null;
    if (activity === 'working') {
      this.endQuiet(watch, evidence.minute);
      if (evidence.memoryUsedRatio !== null) watch.busyMemory = Math.max(watch.busyMemory, evidence.memoryUsedRatio);
      return undecided('working');
    }
    watch.quietSince ??= evidence.minute;
    watch.kind = kindOf(evidence, watch.busyMemory);
    return this.weigh(watch, evidence.minute - watch.quietSince);
  }

  private watchOf(evidence: IdleEvidence): Watch {
    let watch = this.watches.get(evidence.resource);
    if (watch === undefined) {
      watch = { quietSince: null, lastSeen: evidence.minute, interval: null, kind: kindOf(evidence, 0), busyMemory: 0, quiets: [] };
      this.watches.set(evidence.resource, watch);
    }
    return watch;
  }

  private endQuiet(watch: Watch, minute: number): void {
    if (watch.quietSince === null) return;
    const minutes = minute - watch.quietSince;
    watch.quietSince = null;
    remember(watch.quiets, minutes, REMEMBERED_PER_RESOURCE);
    const kind = this.kinds.get(watch.kind) ?? [];
    this.kinds.set(watch.kind, kind);
    remember(kind, minutes, REMEMBERED_PER_KIND);
    remember(this.everyone, minutes, REMEMBERED_PER_KIND);
  }

  /** The quiets that outlasted `elapsed`, weighted by how near they are to this GPU. */
  private outlasting(watch: Watch, elapsed: number): Quiet[] {
    const longer: Quiet[] = PRIOR.filter((quiet) => quiet.minutes > elapsed);
    const take = (quiets: readonly number[], weight: number): void => {
      for (const minutes of quiets) if (minutes > elapsed) longer.push({ minutes, weight });
    };
    take(watch.quiets, WEIGHTS.resource);
    take(this.kinds.get(watch.kind) ?? [], WEIGHTS.kind);
    take(this.everyone, WEIGHTS.other);
    return longer.sort((a, b) => a.minutes - b.minutes);
  }

  private weigh(watch: Watch, elapsed: number): IdleDecision {
    const { settings } = this;
    const quiets = this.outlasting(watch, elapsed);
    const total = quiets.reduce((sum, quiet) => sum + quiet.weight, 0);
    if (total === 0) {
      // Longer than anything seen or thought of: the longer it was, the longer it will be.
      return { stop: elapsed >= settings.minimumQuietMinutes, reason: 'idle', quietMinutes: elapsed, falseStopProbability: 0, expectedSavedMinutes: elapsed };
    }
    const falseStop = quiets.reduce((sum, quiet) => sum + (quiet.minutes <= elapsed + FALSE_STOP_MINUTES ? quiet.weight : 0), 0) / total;
    const saved = quiets.reduce((sum, quiet) => sum + quiet.weight * (quiet.minutes - elapsed), 0) / total
      - settings.restartMinutes - falseStop * settings.falseStopMinutes;
    const decision = { quietMinutes: elapsed, falseStopProbability: falseStop, expectedSavedMinutes: saved };
    if (elapsed < settings.minimumQuietMinutes) return { ...decision, stop: false, reason: 'too-soon' };
    if (falseStop > settings.maximumFalseStopProbability) return { ...decision, stop: false, reason: 'may-return' };
    if (saved <= 0 || bestWait(quiets, elapsed, settings) > elapsed) return { ...decision, stop: false, reason: 'wait-pays' };
    return { ...decision, stop: true, reason: 'idle' };
  }
}

/** Elapsed minutes at which stopping is cheapest in expectation: now, or just after one of the remembered lengths. */
function bestWait(quiets: readonly Quiet[], elapsed: number, settings: IdleSettings): number {
  const bill = (wait: number): number => {
    let sum = 0;
    for (const { minutes, weight } of quiets) {
      const paid = minutes <= wait ? minutes : wait + settings.restartMinutes
        + (minutes <= wait + FALSE_STOP_MINUTES ? settings.falseStopMinutes : 0);
      sum += weight * (paid - elapsed);
    }
    return sum;
  };
  let best = elapsed;
  let least = bill(elapsed);
  // Beyond an hour more of waiting a restart has long been outweighed.
  for (const { minutes } of quiets) {
    if (minutes > elapsed + 60) break;
    const expected = bill(minutes);
    if (expected < least - 1e-9) {
      least = expected;
      best = minutes;
    }
  }
  return best;
}

/** GPUs of one label whose memory is as full as when they worked, or given back, are of one kind. */
function kindOf(evidence: IdleEvidence, busyMemory: number): string {
  const memory = evidence.memoryUsedRatio;
  const held = memory === null || busyMemory === 0 ? 'memory unknown' : memory >= 0.5 * busyMemory ? 'memory held' : 'memory released';
  return `${evidence.workload ?? 'no label'}/${held}`;
}

function remember(quiets: number[], minutes: number, most: number): void {
  quiets.push(minutes);
  if (quiets.length > most) quiets.shift();
}

const undecided = (reason: 'working' | 'unknown'): IdleDecision => ({
  stop: false, reason, quietMinutes: 0, falseStopProbability: null, expectedSavedMinutes: null,
});
