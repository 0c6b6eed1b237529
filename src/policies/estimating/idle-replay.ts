/**
 * Replays the idle rule over a resource's readings, and checks whether missing readings could change its result.
 *
 * Pure. The invariant: a missing or blank reading, or one that the card's power contradicts, is neither work nor rest.
 * Both are tried: if they lead to the same result, it holds; if not, nothing new is proposed, and an earlier proposal
 * stays.
 */
import { workingWatts } from '../../core/fleet/gpu-power.js';
import type { PolicyView, Reading, ResourceView } from '../../core/policy/policy.js';
import { MINUTE_MS } from '../../core/time.js';
import { IDLE_DEFAULTS, IdlePlanner, type IdleDecision } from '../../planning/idle/planner.js';
import { activityOf, type IdleEvidence } from '../../planning/idle/samples.js';

export interface ReplaySettings {
  readonly restartMinutes: number;
  readonly maximumFalseStopProbability: number;
  readonly minimumQuietMinutes: number;
  readonly staleMinutes: number;
  readonly lagMinutes: number;
}

/** The rule's actions over a resource's readings, and its decision at the last one. */
export interface Replay {
  /** At the last reading; null unless the rule has stopped the resource in its present quiet. */
  readonly open: IdleDecision | null;
  readonly last: IdleDecision;
  /**
   * Minutes that each stop saved until the resource worked again, restart taken off; the open one until the last
   * reading.
   */
  readonly savedMinutes: readonly number[];
}

/** The newest unknown minute, and the reason. */
export interface Doubt {
  readonly at: number;
  readonly because: 'late' | 'missing' | 'blank' | 'contradictory';
}

const NOTHING_KNOWN: IdleDecision = {
  stop: false,
  reason: 'unknown',
  quietMinutes: 0,
  falseStopProbability: null,
  expectedSavedMinutes: null,
};

/** Readings beyond so many minutes of a gap tell nothing more: the quiet starts again in any case. */
const MOST_FILLED_MINUTES = 1440;

/** Where a reading should be and is not, something was done or nothing was: both are tried. */
const FILLINGS: readonly Pick<Reading, 'gpuUtilisationRatio' | 'requestsPerSecond'>[] = [
  { gpuUtilisationRatio: 1, requestsPerSecond: null },
  { gpuUtilisationRatio: 0, requestsPerSecond: 0 },
];

/** Minutes between two readings as the resource sends them: the fewest that occur. */
function intervalOf(readings: readonly Reading[]): number {
  return readings.reduce((least, { at }, n) => {
    const before = readings[n - 1];
    return before !== undefined && at > before.at ? Math.min(least, (at - before.at) / MINUTE_MS) : least;
  }, Infinity);
}

const isBlank = ({ gpuUtilisationRatio, requestsPerSecond }: Reading): boolean =>
  gpuUtilisationRatio === null && requestsPerSecond === null;

export const evidenceAt = ({ resource, workload }: ResourceView, reading: Reading, minute: number): IdleEvidence => ({
  resource,
  minute,
  gpuUtilPercent: reading.gpuUtilisationRatio === null ? null : reading.gpuUtilisationRatio * 100,
  requestsPerSecond: reading.requestsPerSecond,
  memoryUsedRatio: reading.memoryUsedRatio,
  workload,
});

type Resources = PolicyView['resources'];

interface LeastWatts {
  readonly ofResource: ReadonlyMap<string, number>;
  readonly ofModel: ReadonlyMap<string, number>;
}

/** Each resource is compared with all others of its kind: their readings are looked at once for all. */
const leastOf = new WeakMap<Resources, LeastWatts>();

function leastWatts(resources: Resources): LeastWatts {
  const found = leastOf.get(resources);
  if (found !== undefined) return found;
  const [ofResource, ofModel] = [new Map<string, number>(), new Map<string, number>()];
  const lower = (least: Map<string, number>, name: string, watts: number): void => {
    least.set(name, Math.min(least.get(name) ?? Infinity, watts));
  };
  for (const { resource, gpuModel, readings } of resources) {
    const watts = readings.reduce((least, { powerWatts }) => Math.min(least, powerWatts ?? Infinity), Infinity);
    if (!Number.isFinite(watts)) continue;
    lower(ofResource, resource, watts);
    if (gpuModel !== null) lower(ofModel, gpuModel, watts);
  }
  const least = { ofResource, ofModel };
  leastOf.set(resources, least);
  return least;
}

/** The power from which a resource's cards are at work: by the least that one of their kind drew in the view. */
export function workingWattsOf(
  { resources }: Pick<PolicyView, 'resources'>,
  { resource, gpuModel }: ResourceView,
): number | null {
  const { ofResource, ofModel } = leastWatts(resources);
  const drawn = [ofResource.get(resource), gpuModel === null ? undefined : ofModel.get(gpuModel)];
  const least = Math.min(...drawn.map((watts) => watts ?? Infinity));
  return workingWatts(gpuModel, Number.isFinite(least) ? least : null);
}

/** A reading whose card draws what only a working one does, while nothing says that it works. */
export const isContradictory = (resource: ResourceView, reading: Reading, fromWatts: number | null): boolean =>
  fromWatts !== null &&
  (reading.powerWatts ?? 0) >= fromWatts &&
  activityOf(evidenceAt(resource, reading, 0)) === 'quiet';

function replay(given: ReplaySettings, resource: ResourceView, readings: readonly Reading[]): Replay {
  const planner = new IdlePlanner({ ...IDLE_DEFAULTS, ...given });
  const first = readings[0]?.at ?? 0;
  let stoppedAt: number | null = null;
  let open: IdleDecision | null = null;
  let last = NOTHING_KNOWN;
  let minute = 0;
  const savedMinutes: number[] = [];
  for (const reading of readings) {
    minute = (reading.at - first) / MINUTE_MS;
    last = planner.decide(evidenceAt(resource, reading, minute));
    if (last.stop) {
      stoppedAt ??= minute;
      open = last;
    } else if (last.reason === 'working') {
      if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt - given.restartMinutes);
      stoppedAt = open = null;
    } else if (last.reason === 'unknown') open = null;
  }
  if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt);
  return { open, last, savedMinutes };
}

export const totalOf = ({ savedMinutes }: Replay): number => savedMinutes.reduce((sum, saved) => sum + saved, 0);

/**
 * The verdict on which all readings of the evidence agree: a stop only where the rule stops whether what is missing was
 * work or rest, and of the savings the smallest. So a lost sample makes no stop and raises no saving. `doubt` is what
 * keeps the rule from a stop that what was measured speaks for; null: what was measured decides.
 */
export function verdict(
  view: PolicyView,
  resource: ResourceView,
  given: ReplaySettings,
): { readonly replay: Replay; readonly doubt: Doubt | null } {
  const fromWatts = workingWattsOf(view, resource);
  const marked = resource.readings.map((reading) => ({
    reading,
    doubt: isBlank(reading)
      ? ('blank' as const)
      : isContradictory(resource, reading, fromWatts)
        ? ('contradictory' as const)
        : null,
  }));
  const known = marked.flatMap(({ reading, doubt }) => (doubt === null ? [reading] : []));
  const asItIs = replay(given, resource, known);
  if (asItIs.open === null) return { replay: asItIs, doubt: null };
  const gaps = gapsOf(resource, known, view.asOf, given);
  if (gaps.length === 0) return { replay: asItIs, doubt: null };
  const others = FILLINGS.map((filling) => replay(given, resource, filled(known, gaps, filling)));
  const all = [asItIs, ...others];
  if (all.every(({ open }) => open !== null))
    return { replay: all.reduce((least, one) => (totalOf(one) < totalOf(least) ? one : least)), doubt: null };
  const newest = Math.max(...gaps.map(({ from, step, count }) => from + count * step));
  const found = marked.find(({ reading, doubt }) => doubt !== null && reading.at === newest)?.doubt;
  const isLate = newest > (marked.at(-1)?.reading.at ?? 0);
  return { replay: asItIs, doubt: { at: newest, because: found ?? (isLate ? 'late' : 'missing') } };
}

/** `count` readings that are missing, each a step after the previous one, the first a step after `from`. */
interface Gap {
  readonly from: number;
  readonly step: number;
  readonly count: number;
  /** The assumed readings of the gap, except for the work. */
  readonly like: Reading;
}

/**
 * What is missing from when the resource is watched up to the view's instant. The last minute is the one that is not over
 * yet: its reading is missed once that minute and what a reading needs to arrive are over.
 */
function gapsOf(
  { observedFrom }: ResourceView,
  known: readonly Reading[],
  asOf: number,
  { lagMinutes }: ReplaySettings,
): Gap[] {
  const minutes = intervalOf(known);
  if (!Number.isFinite(minutes)) return [];
  const step = minutes * MINUTE_MS;
  const most = Math.floor(MOST_FILLED_MINUTES / minutes);
  const gap = (like: Reading, from: number, count: number): Gap[] =>
    count > 0 ? [{ like, from, step, count: Math.min(count, most) }] : [];
  return known.flatMap((reading, n) => {
    const next = known[n + 1];
    const before = n > 0 || observedFrom === null ? 0 : Math.min(Math.round((reading.at - observedFrom) / step), most);
    const after =
      next === undefined
        ? Math.floor((asOf - lagMinutes * MINUTE_MS - reading.at) / step) - 1
        : Math.round((next.at - reading.at) / step) - 1;
    return [...gap(reading, reading.at - (before + 1) * step, before), ...gap(reading, reading.at, after)];
  });
}

function filled(
  known: readonly Reading[],
  gaps: readonly Gap[],
  filling: Pick<Reading, 'gpuUtilisationRatio' | 'requestsPerSecond'>,
): Reading[] {
  const made = gaps.flatMap(({ like, from, step, count }) =>
    Array.from({ length: count }, (_, n): Reading => ({ ...like, ...filling, at: from + (n + 1) * step })),
  );
  return [...known, ...made].sort((a, b) => a.at - b.at);
}
