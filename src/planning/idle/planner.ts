/**
 * Bursar's rule for idle GPUs: stop when the quiet so far makes a long quiet likely enough to pay for the restart.
 *
 * Never reads the truth of a sample, never stops on missing or stale evidence, never stops what answers requests. Learns
 * only from quiets that have ended: of each, how long it lasted and on which GPU, of what kind. The wait is the one
 * that minimises the expected bill over the remembered quiets that outlasted the present one (ski rental with a learned
 * distribution: Karlin, Manasse, McGeoch, Owicki 1994), a stop that turns out false being charged extra.
 */

import { Quiets } from './quiets.js';
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

/** Before anything is learned: quiets of all lengths, as many between 1 and 2 minutes as between 10 and 20 hours. */
const PRIOR = Quiets.of(Array.from({ length: 22 }, (_, i) => 2 ** (i / 2)));
/** How much a quiet of the same GPU, of the same kind, and of any other counts. */
const WEIGHTS = { prior: 0.15, resource: 1, kind: 0.5, other: 0.05 } as const;
const REMEMBERED_PER_RESOURCE = 60;
const REMEMBERED_PER_KIND = 300;

interface Watch {
  quietSince: number | null;
  lastSeen: number;
  /** Shortest time between two samples, which is how often it is sampled; null before the second. */
  interval: number | null;
  kind: string;
  busyMemory: number;
  /** Null before the first has ended. */
  quiets: Quiets | null;
}

/** Decides for many GPUs; feed it every sample in the order of time. */
export class IdlePlanner implements IdlePolicy {
  private readonly watches = new Map<string, Watch>();
  private readonly kinds = new Map<string, Quiets>();
  private readonly everyone = new Quiets(REMEMBERED_PER_KIND);

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
      watch = { quietSince: null, lastSeen: evidence.minute, interval: null, kind: kindOf(evidence, 0), busyMemory: 0, quiets: null };
      this.watches.set(evidence.resource, watch);
    }
    return watch;
  }

  private endQuiet(watch: Watch, minute: number): void {
    if (watch.quietSince === null) return;
    const minutes = minute - watch.quietSince;
    watch.quietSince = null;
    watch.quiets ??= new Quiets(REMEMBERED_PER_RESOURCE);
    watch.quiets.add(minutes);
    const kind = this.kinds.get(watch.kind) ?? new Quiets(REMEMBERED_PER_KIND);
    this.kinds.set(watch.kind, kind);
    kind.add(minutes);
    this.everyone.add(minutes);
  }

  /** All that is remembered, weighted by how near it is to this GPU. */
  private remembered(watch: Watch): readonly Weighted[] {
    const kind = this.kinds.get(watch.kind);
    const known: Weighted[] = [{ quiets: PRIOR, weight: WEIGHTS.prior }, { quiets: this.everyone, weight: WEIGHTS.other }];
    if (watch.quiets !== null) known.push({ quiets: watch.quiets, weight: WEIGHTS.resource });
    if (kind !== undefined) known.push({ quiets: kind, weight: WEIGHTS.kind });
    return known;
  }

  private weigh(watch: Watch, elapsed: number): IdleDecision {
    const { settings } = this;
    const known = this.remembered(watch);
    let [total, soon, minutes] = [0, 0, 0];
    for (const { quiets, weight } of known) {
      const [ended, back] = [quiets.upTo(elapsed), quiets.upTo(elapsed + FALSE_STOP_MINUTES)];
      total += weight * (quiets.size - ended);
      soon += weight * (back - ended);
      minutes += weight * (quiets.sumOf(quiets.size) - quiets.sumOf(ended) - elapsed * (quiets.size - ended));
    }
    if (total === 0) {
      // Longer than anything seen or thought of: the longer it was, the longer it will be.
      return { stop: elapsed >= settings.minimumQuietMinutes, reason: 'idle', quietMinutes: elapsed, falseStopProbability: 0, expectedSavedMinutes: elapsed };
    }
    const falseStop = soon / total;
    const saved = minutes / total - settings.restartMinutes - falseStop * settings.falseStopMinutes;
    const reason = elapsed < settings.minimumQuietMinutes ? 'too-soon' : falseStop > settings.maximumFalseStopProbability ? 'may-return'
      : saved <= 0 || waitPays(known, elapsed, settings) ? 'wait-pays' : 'idle';
    return { stop: reason === 'idle', reason, quietMinutes: elapsed, falseStopProbability: falseStop, expectedSavedMinutes: saved };
  }
}

interface Weighted {
  readonly quiets: Quiets;
  readonly weight: number;
}

/**
 * Whether stopping just after one of the remembered lengths is cheaper in expectation than stopping now. Walks all lengths once, in their order,
 * with a place in each list for what has ended by then and for what would come back too soon.
 */
function waitPays(known: readonly Weighted[], elapsed: number, { restartMinutes, falseStopMinutes }: IdleSettings): boolean {
  // In weights: still quiet at `wait`, back within the time that makes a stop false, and the minutes of those that have ended.
  let [left, soon, ended] = [0, 0, 0];
  const walks = known.map(({ quiets, weight }) => new Walk(quiets, weight, elapsed));
  for (const { weight, quiets, at, back } of walks) {
    left += weight * (quiets.size - at);
    soon += weight * (back - at);
  }
  const now = restartMinutes * left + falseStopMinutes * soon;
  while (true) {
    let wait = Infinity;
    for (let n = 0; n < walks.length; n++) wait = Math.min(wait, walks[n]!.next);
    // Beyond an hour more of waiting a restart has long been outweighed.
    if (wait > elapsed + 60) return false;
    // Whoever waits so long or longer pays the minutes until then at least.
    if (ended + (wait - elapsed) * left >= now - 1e-9) return false;
    for (let n = 0; n < walks.length; n++) {
      const walk = walks[n]!;
      const [gone, coming] = [walk.goTo(wait), walk.lookTo(wait + FALSE_STOP_MINUTES)];
      left -= gone;
      ended += gone * (wait - elapsed);
      soon += coming - gone;
    }
    if (ended + (wait - elapsed + restartMinutes) * left + falseStopMinutes * soon < now - 1e-9) return true;
  }
}

/** A place in a list of quiets, and one further on that looks ahead; both only go forward. */
class Walk {
  at: number;
  back: number;
  /** The length at the place; infinite at the end. */
  next: number;
  private backNext: number;

  constructor(readonly quiets: Quiets, readonly weight: number, from: number) {
    this.at = quiets.upTo(from);
    this.back = quiets.upTo(from + FALSE_STOP_MINUTES);
    this.next = quiets.lengthAt(this.at);
    this.backNext = quiets.lengthAt(this.back);
  }

  /** Passes all quiets of that length; their weight. */
  goTo(minutes: number): number {
    const from = this.at;
    while (this.next <= minutes) this.next = this.quiets.lengthAt(++this.at);
    return this.weight * (this.at - from);
  }

  /** The weight of those that the further place passes. */
  lookTo(minutes: number): number {
    const from = this.back;
    while (this.backNext <= minutes) this.backNext = this.quiets.lengthAt(++this.back);
    return this.weight * (this.back - from);
  }
}

/** GPUs of one label whose memory is as full as when they worked, or given back, are of one kind. */
function kindOf(evidence: IdleEvidence, busyMemory: number): string {
  const memory = evidence.memoryUsedRatio;
  const held = memory === null || busyMemory === 0 ? 'memory unknown' : memory >= 0.5 * busyMemory ? 'memory held' : 'memory released';
  return `${evidence.workload ?? 'no label'}/${held}`;
}

const undecided = (reason: 'working' | 'unknown'): IdleDecision => ({
  stop: false, reason, quietMinutes: 0, falseStopProbability: null, expectedSavedMinutes: null,
});
