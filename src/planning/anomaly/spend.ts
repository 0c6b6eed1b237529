/**
 * Unusual spend: hours or days that the past does not explain, reported on the day itself. The expectation is a median
 * level times a median seasonal shape, so that a past anomaly does not become the norm; the past errors of that
 * expectation define how far off is unusual. A series that is too short reports nothing. Never reads ahead, and an
 * unknown value (null) is skipped, never taken as zero.
 */
import { invalid, type Problem } from '../../core/errors.js';
import { median, nextEpisode, tailLimit, type Anomaly, type Direction, type Episode } from './anomaly.js';

export interface SpendPoint {
  /**
   * Start of the hour or day; strictly rising. Points are one step apart: an hour or day without data is a null, not a
   * gap.
   */
  readonly at: number;
  /** Currency units; null if not known. A credit below zero counts as zero. */
  readonly spend: number | null;
}

export interface SpendAnomalyOptions {
  /** Points after which the shape comes again: 7 for days (the default), 168 for hours. */
  readonly seasonPoints?: number;
  /** Points whose median is the level: 7 for days (the default), 24 for hours. */
  readonly levelPoints?: number;
  /**
   * Share of usual points that may be reported: 0.005 for days (the default), 0.001 for hours; above 0, at most 0.1.
   */
  readonly falseAlarmRate?: number;
  /** Unusual points in a row, on one side, that make a new level: 3 by default. */
  readonly shiftPoints?: number;
}

/** For a series of days; the default. A false alarm in 200 days. */
export const DAILY = { seasonPoints: 7, levelPoints: 7, falseAlarmRate: 0.005 } as const;
/** For a series of hours. A false alarm in 1,000 hours. */
export const HOURLY = { seasonPoints: 168, levelPoints: 24, falseAlarmRate: 0.001 } as const;

/** Seasons that are remembered. */
const MEMORY_SEASONS = 8;
/** Seasons from which a shape can be seen. */
const LEAST_SEASONS = 2;
const LEAST_FACTOR = 0.05;
/** Added to both sides of a ratio, as a share of the mean level: spend near nothing doubles easily. */
const CUSHION = 0.05;
/** A ratio nearer to 1 than exp(this) is not worth a person's time: a tenth more or less. */
const LEAST_DEVIATION = 0.1;
/** A point continues an unusual run, on the same side, from this share of the run's first limit on. */
const ROW_SHARE = 0.5;

interface Settings {
  readonly seasonPoints: number;
  readonly levelPoints: number;
  readonly falseAlarmRate: number;
  readonly shiftPoints: number;
}

/** The state after the points so far. */
interface Memory {
  /** Values since the last shift, newest last. */
  recent: { readonly spend: number; readonly phase: number }[];
  /** By phase of the season: past ratios to the season's median. */
  readonly ratios: number[][];
  /** Past deviations without and with the shape, each at most what its limit then was. */
  readonly plain: number[];
  readonly shaped: number[];
}

interface Expectation {
  readonly mean: number;
  readonly deviation: number;
  readonly cushion: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const clamped = (spend: number): number => Math.max(0, spend);
const pushed = <T>(values: T[], value: T, most: number): void => {
  values.push(value);
  if (values.length > most) values.shift();
};

function settingsOf(points: readonly SpendPoint[], options: SpendAnomalyOptions): Settings {
  const settings = { ...DAILY, shiftPoints: 3, ...options };
  const problems: Problem[] = [];
  for (const name of ['seasonPoints', 'levelPoints', 'shiftPoints'] as const) {
    if (!Number.isInteger(settings[name]) || settings[name] < 1)
      problems.push({ path: name, message: 'must be a whole number of at least 1' });
  }
  if (!(settings.falseAlarmRate > 0 && settings.falseAlarmRate <= 0.1))
    problems.push({ path: 'falseAlarmRate', message: 'must be above 0 and at most 0.1' });
  points.forEach(({ at, spend }, index) => {
    if (spend !== null && !Number.isFinite(spend))
      problems.push({ path: `points/${index}/spend`, message: 'must be finite, or null where not known' });
    if (!(at > (points[index - 1]?.at ?? -Infinity)))
      problems.push({ path: `points/${index}/at`, message: 'must be later than the point before' });
  });
  if (problems.length > 0) throw invalid('the spend series cannot be searched for anomalies', problems);
  return settings;
}

/** The season's shape at a phase: the median of its past ratios, 1 while there are too few. */
const factorAt = (ratios: readonly number[][], phase: number): number => {
  const own = ratios[phase] ?? [];
  return own.length < LEAST_SEASONS ? 1 : Math.max(LEAST_FACTOR, median(own));
};

function expect(spend: number, phase: number, memory: Memory, settings: Settings, shaped: boolean): Expectation {
  const factor = (at: number): number => (shaped ? factorAt(memory.ratios, at) : 1);
  const level = median(memory.recent.slice(-settings.levelPoints).map((one) => one.spend / factor(one.phase)));
  const expected = level * factor(phase);
  const cushion = Math.max(CUSHION * mean(memory.recent.slice(-settings.seasonPoints).map((one) => one.spend)), 1e-9);
  return { mean: expected, cushion, deviation: Math.log((spend + cushion) / (expected + cushion)) };
}

/**
 * Every anomaly of a series, in the order of `decidedAt`.
 *
 * A first unusual point is a `spike` or a `drop` at once; further ones on the same side, at half its limit or more, say
 * nothing new until `shiftPoints` in a row make a `level-shift`, after which the new level is the expectation.
 * Evidence: `deviation` (logarithm of the ratio of observed to expected, each with a cushion), `limit` (the deviation
 * at which a report begins), `known` (past deviations behind the limit), `shaped` (1 where the season's shape is used),
 * for a shift `points`.
 * @throws invalid, naming every problem: a value that is not finite, times that do not rise, an option out of range
 */
export function detectSpendAnomalies(points: readonly SpendPoint[], options: SpendAnomalyOptions = {}): Anomaly[] {
  const settings = settingsOf(points, options);
  const memory: Memory = {
    recent: [],
    ratios: Array.from({ length: settings.seasonPoints }, () => []),
    plain: [],
    shaped: [],
  };
  const found: Anomaly[] = [];
  let row: Row | null = null;
  points.forEach((point, index) => {
    if (point.spend === null) return;
    const spend = clamped(point.spend);
    const phase = index % settings.seasonPoints;
    const judged: Judgement | null = memory.recent.length === 0 ? null : judge(spend, phase, memory, settings, row);
    const episode: Episode | null = nextEpisode(row, index, judged?.direction ?? null);
    row =
      episode === null || judged === null
        ? null
        : { ...episode, limit: episode.count === 1 ? judged.limit : (row?.limit ?? judged.limit) };
    remember(spend, phase, memory, settings, row === null);
    if (judged === null || row === null) return;
    const report = (kind: Anomaly['kind'], at: number, evidence: Record<string, number>): void => {
      const { expected, score } = judged;
      found.push({
        at,
        decidedAt: point.at,
        kind,
        expected,
        observed: point.spend ?? 0,
        score,
        evidence: { ...judged.evidence, ...evidence },
      });
    };
    if (row.count === 1) report(row.direction === 1 ? 'spike' : 'drop', point.at, {});
    if (row.count < settings.shiftPoints) return;
    report('level-shift', points[row.first]?.at ?? point.at, { points: row.count });
    memory.recent = memory.recent.slice(-settings.shiftPoints);
    row = null;
  });
  return found;
}

/** Unusual points in a row; the limit that the first one broke. */
interface Row extends Episode {
  readonly limit: number;
}

interface Judgement extends Pick<Anomaly, 'expected' | 'score' | 'evidence'> {
  readonly direction: Direction | null;
  readonly limit: number;
}

/**
 * Compares a value with what the past leads to expect, and learns how far off that was. Null while the past is too
 * short.
 */
function judge(spend: number, phase: number, memory: Memory, settings: Settings, row: Row | null): Judgement | null {
  const most = MEMORY_SEASONS * settings.seasonPoints;
  const known = { plain: memory.plain, shaped: memory.shaped };
  const plain = expect(spend, phase, memory, settings, false);
  const shaped =
    (memory.ratios[phase]?.length ?? 0) >= LEAST_SEASONS ? expect(spend, phase, memory, settings, true) : null;
  const limits = {
    plain: tailLimit(known.plain, settings.falseAlarmRate),
    shaped: tailLimit(known.shaped, settings.falseAlarmRate),
  };
  // The expectation that has been nearer so far; the shape has to have proven itself.
  const useShape =
    shaped !== null && limits.shaped !== null && mean(known.shaped) < mean(known.plain.slice(-known.shaped.length));
  const [chosen, tail, count] = useShape
    ? [shaped, limits.shaped, known.shaped.length]
    : [plain, limits.plain, known.plain.length];
  const least = (limit: number | null): number => Math.max(limit ?? Infinity, LEAST_DEVIATION);
  const evidence = { deviation: chosen.deviation, limit: least(tail), known: count, shaped: useShape ? 1 : 0 };
  const direction: Direction = chosen.deviation > 0 ? 1 : -1;
  const goesOn = row !== null && direction === row.direction && Math.abs(chosen.deviation) > ROW_SHARE * row.limit;
  // A past anomaly counts as no more than the limit, and once: it widens the next limit, and a wild one no more than a
  // mild one.
  if (!goesOn) {
    pushed(memory.plain, Math.min(Math.abs(plain.deviation), least(limits.plain)), most);
    if (shaped !== null) pushed(memory.shaped, Math.min(Math.abs(shaped.deviation), least(limits.shaped)), most);
  }
  if (tail === null) return null;
  const limit = least(tail);
  const edge = (sign: Direction): number =>
    Math.max(0, (chosen.mean + chosen.cushion) * Math.exp(sign * limit) - chosen.cushion);
  const score = Math.abs(chosen.deviation) / limit;
  return {
    direction: goesOn || score > 1 ? direction : null,
    limit,
    score,
    expected: { low: edge(-1), mean: chosen.mean, high: edge(1) },
    evidence,
  };
}

function remember(spend: number, phase: number, memory: Memory, settings: Settings, usual: boolean): void {
  pushed(memory.recent, { spend, phase }, settings.seasonPoints + settings.levelPoints);
  if (!usual || memory.recent.length < settings.seasonPoints) return;
  const level = median(memory.recent.slice(-settings.seasonPoints).map((one) => one.spend));
  if (level > 0) pushed(memory.ratios[phase] ?? [], spend / level, MEMORY_SEASONS);
}
