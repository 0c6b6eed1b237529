/**
 * Bursar's rule for idle GPUs: stop when the quiet period so far makes a long one likely enough to pay for the restart.
 *
 * Never reads the truth of a sample, never stops on missing or stale evidence, never stops a resource that answers
 * requests. Learns only from quiet periods: their length, GPU, label and state of memory. A GPU without a process, one
 * whose process has released its memory, and one that still holds it are quiet in different ways, and a change from one
 * to another starts a new quiet period.
 */

import { StopPlan, type Level } from './stop-plan.js';
import { Quiets, spanOf } from './quiets.js';
import { activityOf, type IdleEvidence } from './samples.js';
import type { IdlePolicy } from './simulate.js';

export interface IdleSettings {
  readonly restartMinutes: number;
  /**
   * The cost of a false stop to its users beyond the restart, in GPU-minutes: 60 keeps about one stop in twenty false
   * on most mixes of pauses.
   */
  readonly falseStopMinutes: number;
  /**
   * Largest probability of a false stop at which a stop is still made. Not lower: where quiets have no memory, waiting
   * makes none of them safer, and a strict bound would never stop anything.
   */
  readonly maximumFalseStopProbability: number;
  /** Fewest minutes of quiet before any stop. */
  readonly minimumQuietMinutes: number;
  /** A silence longer than this, and than 2.5 sampling intervals, is stale evidence, and the quiet starts again. */
  readonly staleMinutes: number;
}

export const IDLE_DEFAULTS: Omit<IdleSettings, 'restartMinutes'> = {
  falseStopMinutes: 60,
  maximumFalseStopProbability: 0.3,
  minimumQuietMinutes: 1,
  staleMinutes: 5,
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

/**
 * What is known of the process behind a quiet. A process that has opened a GPU holds some hundred MiB even when it has
 * freed all it allocated (647 of 143,771 MiB in data/h200-telemetry), the driver alone holds next to nothing.
 */
type MemoryState = 'no process' | 'memory released' | 'memory held' | 'memory unknown';
const NO_PROCESS_RATIO = 0.001;
const HELD_SHARE_OF_BUSY = 0.5;

/** With how many quiets of the level above each level begins, and after how many of its own it forgets. */
const PRIOR_QUIETS = { state: 2, label: 1, resource: 40 } as const;
const REMEMBERED = { state: 600, label: 300, resource: 60 } as const;

interface Watch {
  /** The first sample of the quiet, and of its present state; null while it works. */
  quietSince: number | null;
  stateSince: number;
  state: MemoryState;
  /** Index of the span that holds the age of the present state. */
  span: number;
  lastSeen: number;
  /** Shortest time between two samples, which is how often it is sampled; null before the second. */
  interval: number | null;
  busyMemory: number;
  /** The levels that this GPU belongs to, by state, from the widest to its own; the present ones. */
  readonly known: Map<string, readonly Level[]>;
  levels: readonly Level[];
  /**
   * What to expect of the present state; not looked at yet, looked at when it began, or again when a stop was first
   * due.
   */
  readonly plan: StopPlan;
  planned: 'not yet' | 'at first' | 'again';
}

/** Decides for many GPUs; feed it every sample in the order of time. */
export class IdlePlanner implements IdlePolicy {
  private readonly watches = new Map<string, Watch>();
  /** By state, and by label and state. */
  private readonly shared = new Map<string, Quiets>();

  constructor(private readonly settings: IdleSettings) {}

  observe(evidence: IdleEvidence): boolean {
    return this.decide(evidence).stop;
  }

  /** The GPU is needed again: its quiet is over, whatever it was, and is remembered. */
  returned(resource: string, minute: number): void {
    const watch = this.watches.get(resource);
    if (watch !== undefined) endQuiet(watch, minute);
  }

  /** Takes one sample and says what to do about its GPU. */
  decide(evidence: IdleEvidence): IdleDecision {
    const watch = this.watchOf(evidence);
    const activity = activityOf(evidence);
    if (activity === 'unknown') return UNKNOWN;
    const { minute, memoryUsedRatio } = evidence;
    const gap = minute - watch.lastSeen;
    if (gap > Math.max(this.settings.staleMinutes, 2.5 * (watch.interval ?? gap))) loseTrack(watch);
    watch.lastSeen = minute;
    if (gap > 0) watch.interval = Math.min(watch.interval ?? gap, gap);
    if (activity === 'working') {
      endQuiet(watch, minute);
      if (memoryUsedRatio !== null) watch.busyMemory = Math.max(watch.busyMemory, memoryUsedRatio);
      return WORKING;
    }
    // One reading of the memory that is lost changes nothing.
    const state =
      memoryUsedRatio === null && watch.quietSince !== null
        ? watch.state
        : memoryState(memoryUsedRatio, watch.busyMemory);
    if (watch.quietSince === null || state !== watch.state) this.begin(watch, evidence, state);
    return this.evaluate(watch, minute);
  }

  private watchOf({ resource, minute }: IdleEvidence): Watch {
    let watch = this.watches.get(resource);
    if (watch === undefined) {
      watch = {
        quietSince: null,
        stateSince: minute,
        state: 'memory unknown',
        span: 0,
        lastSeen: minute,
        interval: null,
        busyMemory: 0,
        known: new Map(),
        levels: [],
        plan: new StopPlan(),
        planned: 'not yet',
      };
      this.watches.set(resource, watch);
    }
    return watch;
  }

  /**
   * A quiet begins, or continues in another state; all that is known is that the former state lasted until now.
   */
  private begin(watch: Watch, { minute, workload }: IdleEvidence, state: MemoryState): void {
    const since = watch.quietSince ?? minute;
    loseTrack(watch);
    const name = `${state}/${workload ?? ''}`;
    let levels = watch.known.get(name);
    if (levels === undefined) {
      levels = [
        { quiets: this.sharedBy(state, REMEMBERED.state), priorQuiets: PRIOR_QUIETS.state },
        { quiets: this.sharedBy(name, REMEMBERED.label), priorQuiets: PRIOR_QUIETS.label },
        { quiets: new Quiets(REMEMBERED.resource), priorQuiets: PRIOR_QUIETS.resource },
      ];
      watch.known.set(name, levels);
    }
    for (const { quiets } of levels) quiets.begin();
    Object.assign(watch, { quietSince: since, stateSince: minute, state, span: 0, levels, planned: 'not yet' });
  }

  private sharedBy(name: string, most: number): Quiets {
    let quiets = this.shared.get(name);
    if (quiets === undefined) this.shared.set(name, (quiets = new Quiets(most)));
    return quiets;
  }

  private evaluate(watch: Watch, minute: number): IdleDecision {
    const { settings } = this;
    const { plan } = watch;
    moveTo(watch, minute - watch.stateSince);
    if (watch.planned === 'not yet') {
      plan.update(watch.levels, watch.span, settings);
      watch.planned = 'at first';
    }
    const quietMinutes = minute - watch.quietSince!;
    const early = quietMinutes < settings.minimumQuietMinutes;
    if (!early && watch.planned === 'at first' && plan.stops[watch.span] === 1) {
      plan.update(watch.levels, watch.span, settings);
      watch.planned = 'again';
    }
    const { span } = watch;
    const [stops, falseStopProbability] = [plan.stops[span] === 1, plan.falseStop[span]!];
    const reason = early
      ? 'too-soon'
      : stops
        ? 'idle'
        : falseStopProbability > settings.maximumFalseStopProbability
          ? 'may-return'
          : 'wait-pays';
    return {
      stop: reason === 'idle',
      reason,
      quietMinutes,
      falseStopProbability,
      expectedSavedMinutes: plan.saved[span]!,
    };
  }
}

/** Enters in all levels how far the present state has come. */
function moveTo(watch: Watch, age: number): void {
  const from = watch.span;
  const to = spanOf(age, from);
  if (to === from) return;
  for (const { quiets } of watch.levels) quiets.move(from, to);
  watch.span = to;
}

/** The quiet, if there is one, ended in work, and is remembered. */
function endQuiet(watch: Watch, minute: number): void {
  if (watch.quietSince === null) return;
  moveTo(watch, minute - watch.stateSince);
  for (const { quiets } of watch.levels) quiets.end(watch.span);
  watch.quietSince = null;
}

/** The state, if there is one, is no longer observed; its end is unknown. */
function loseTrack(watch: Watch): void {
  if (watch.quietSince === null) return;
  for (const { quiets } of watch.levels) quiets.lose(watch.span);
  watch.quietSince = null;
}

function memoryState(ratio: number | null, busyRatio: number): MemoryState {
  if (ratio === null) return 'memory unknown';
  if (ratio < NO_PROCESS_RATIO) return 'no process';
  if (busyRatio === 0) return 'memory unknown';
  return ratio >= HELD_SHARE_OF_BUSY * busyRatio ? 'memory held' : 'memory released';
}

const undecided = (reason: 'working' | 'unknown'): IdleDecision => ({
  stop: false,
  reason,
  quietMinutes: 0,
  falseStopProbability: null,
  expectedSavedMinutes: null,
});
const WORKING = undecided('working');
const UNKNOWN = undecided('unknown');
