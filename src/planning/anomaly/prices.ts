/**
 * Unusual prices in one series of observations: distinguishes wrong ones (a decimal slip, a jump that never happened, a
 * feed that repeats itself) from real changes.
 *
 * A suspect price becomes the reference for the next one only after it has held. Never reads ahead, corrects nothing
 * and drops nothing: it reports, and the caller decides whether to keep the last correct price. Prices that are zero,
 * blank or not a number are rejected by the format; here they are an error.
 */
import { invalid, type Problem } from '../../core/errors.js';
import { nextEpisode, tailLimit, type Anomaly, type Episode } from './anomaly.js';

export interface PricePoint {
  /** When it was observed; strictly rising within a series. */
  readonly at: number;
  /** Currency units per unit of time, above 0. */
  readonly price: number;
}

export interface PriceAnomalyOptions {
  /**
   * Series that a real move would move too: other sizes of the same family, say. Without any, a jump that comes back is
   * called dirty only from a factor of 2 on.
   */
  readonly peers?: readonly (readonly PricePoint[])[];
  /** Share of usual points that may be reported, 0.001 by default; above 0, at most 0.1. */
  readonly falseAlarmRate?: number;
  /** Observations after which a new price becomes the price: 3 by default. */
  readonly shiftPoints?: number;
}

/** A move of less than a tenth is nothing to report: AWS' spot prices move by at most 5 % at a time. */
const LEAST_DEVIATION = Math.log(1.1);
const FACTOR_ALONE = Math.log(2);
/** Moves that are remembered. */
const MEMORY_POINTS = 120;
/** Changes that a feed must have shown before its silence means something. */
const LEAST_CHANGES = 10;
/** A feed is stale when it repeats itself for this many times its longest repetition so far. */
const STALE_FACTOR = 3;

interface Settings {
  readonly peers: readonly (readonly PricePoint[])[];
  readonly falseAlarmRate: number;
  readonly shiftPoints: number;
}

function checkSeries(points: readonly PricePoint[], path: string, problems: Problem[]): void {
  points.forEach(({ at, price }, index) => {
    if (!(price > 0 && Number.isFinite(price)))
      problems.push({ path: `${path}/${index}/price`, message: 'must be a finite number above 0' });
    if (!(at > (points[index - 1]?.at ?? -Infinity)))
      problems.push({ path: `${path}/${index}/at`, message: 'must be later than the point before' });
  });
}

function settingsOf(points: readonly PricePoint[], options: PriceAnomalyOptions): Settings {
  const settings = { peers: [], falseAlarmRate: 0.001, shiftPoints: 3, ...options };
  const problems: Problem[] = [];
  checkSeries(points, 'points', problems);
  settings.peers.forEach((peer, index) => checkSeries(peer, `peers/${index}`, problems));
  if (!(settings.falseAlarmRate > 0 && settings.falseAlarmRate <= 0.1))
    problems.push({ path: 'falseAlarmRate', message: 'must be above 0 and at most 0.1' });
  if (!Number.isInteger(settings.shiftPoints) || settings.shiftPoints < 1)
    problems.push({ path: 'shiftPoints', message: 'must be a whole number of at least 1' });
  if (problems.length > 0) throw invalid('the price series cannot be searched for anomalies', problems);
  return settings;
}

/**
 * The power of ten that a ratio stands for (10, 0.01, ...), or 0 for none: a misplaced decimal point, or cents read as
 * dollars.
 */
function slippedDigits(deviation: number): number {
  const digits = Math.round(deviation / Math.LN10);
  return Math.abs(deviation - digits * Math.LN10) <= LEAST_DEVIATION ? digits : 0;
}

/** The latest price at or before an instant. */
function priceAt(series: readonly PricePoint[], at: number): number | null {
  let price: number | null = null;
  for (const point of series) {
    if (point.at > at) break;
    price = point.price;
  }
  return price;
}

interface PeerView {
  readonly known: number;
  readonly moved: number;
}

/** How many peers moved, after `before` and up to `until`, the same way by at least half as much. */
function peersThatMoved(peers: Settings['peers'], before: number, until: number, deviation: number): PeerView {
  let [known, moved] = [0, 0];
  for (const peer of peers) {
    const from = priceAt(peer, before);
    if (from === null) continue;
    known += 1;
    const goesAlong = ({ at, price }: PricePoint): boolean =>
      at > before && at <= until && Math.log(price / from) / deviation >= 0.5;
    if (peer.some(goesAlong)) moved += 1;
  }
  return { known, moved };
}

/** The state after the points so far. */
interface Memory {
  reference: number;
  /** When the last accepted price was seen. */
  referenceAt: number;
  readonly moves: number[];
  lowest: number;
  changes: number;
  repeats: number;
  longestRepeat: number;
}

/** The first price of an episode, as it was judged. */
interface Suspect {
  readonly point: PricePoint;
  readonly deviation: number;
  readonly limit: number;
  readonly reported: boolean;
}

/**
 * Every anomaly of a series of prices, in the order of `decidedAt`.
 *
 * A price that differs from the last good one by a power of ten is a `dirty-price` at once. Another that is out of the
 * usual is a `spike` or a `drop` at once; when the price comes back within `shiftPoints` observations and the peers did
 * not go along (without peers: when the factor was 2 or more) it is a `dirty-price` too, and when it holds it is a
 * `level-shift`. A feed that used to change and repeats one price, not its lowest, for three times as long as usual is
 * a `dirty-price` at the observation that says so. Evidence: `factor` (observed over expected), `limit` (the factor at
 * which a report begins), `digits` (power of ten), `peers`, `peersMoved`, `points`, `repeats`, `longestRepeat`, as far
 * as the decision used them.
 * @throws invalid, naming every problem: a price that is not a finite number above 0, times that do not rise, an option
 * out of range
 */
export function detectPriceAnomalies(points: readonly PricePoint[], options: PriceAnomalyOptions = {}): Anomaly[] {
  const settings = settingsOf(points, options);
  const [start, ...rest] = points;
  if (start === undefined) return [];
  const memory: Memory = {
    reference: start.price,
    referenceAt: start.at,
    moves: [],
    lowest: start.price,
    changes: 0,
    repeats: 0,
    longestRepeat: 0,
  };
  const found: Anomaly[] = [];
  let episode: Episode | null = null;
  let suspect: Suspect | null = null;
  rest.forEach((point, index) => {
    const deviation = Math.log(point.price / memory.reference);
    const limit = Math.max(LEAST_DEVIATION, tailLimit(memory.moves, settings.falseAlarmRate) ?? 0);
    const usual = Math.abs(deviation) <= limit;
    const next = nextEpisode(episode, index, usual ? null : deviation > 0 ? 1 : -1);
    if (suspect !== null && next?.first !== episode?.first)
      found.push(...cameBack(suspect, point.at, memory, settings));
    if (next === null) {
      suspect = null;
      found.push(...repeated(point, memory, limit));
      accept(point, deviation, memory);
    } else {
      if (next.count === 1) {
        const digits = slippedDigits(deviation);
        suspect = { point, deviation, limit, reported: digits !== 0 };
        found.push(
          anomaly(
            digits !== 0 ? 'dirty-price' : deviation > 0 ? 'spike' : 'drop',
            suspect,
            point.at,
            memory,
            digits !== 0 ? { digits } : {},
          ),
        );
      }
      if (next.count >= settings.shiftPoints) {
        const first = suspect?.point ?? point;
        found.push(
          anomaly(
            'level-shift',
            { point: { ...point, at: first.at }, deviation, limit, reported: true },
            point.at,
            memory,
            { points: next.count },
          ),
        );
        Object.assign(memory, { reference: point.price, referenceAt: point.at, repeats: 0 });
        suspect = null;
      }
    }
    episode = next !== null && next.count < settings.shiftPoints ? next : null;
  });
  return found;
}

function anomaly(
  kind: Anomaly['kind'],
  { point, deviation, limit }: Suspect,
  decidedAt: number,
  { reference }: Memory,
  evidence: Record<string, number>,
): Anomaly {
  return {
    at: point.at,
    decidedAt,
    kind,
    observed: point.price,
    score: Math.abs(deviation) / limit,
    expected: { low: reference * Math.exp(-limit), mean: reference, high: reference * Math.exp(limit) },
    evidence: { factor: Math.exp(deviation), limit: Math.exp(limit), ...evidence },
  };
}

/** Whether a suspect price that did not last was dirty. */
function cameBack(suspect: Suspect, decidedAt: number, memory: Memory, { peers }: Settings): Anomaly[] {
  if (suspect.reported) return [];
  const { known, moved } = peersThatMoved(peers, memory.referenceAt, decidedAt, suspect.deviation);
  const dirty = known === 0 ? Math.abs(suspect.deviation) >= FACTOR_ALONE : 2 * moved < known;
  return dirty ? [anomaly('dirty-price', suspect, decidedAt, memory, { peers: known, peersMoved: moved })] : [];
}

/**
 * Whether this observation is the one at which a feed that used to change counts as stuck; says so once per repetition.
 * At the lowest price so far, silence is no sign: spot prices stay at a floor for weeks.
 */
function repeated(point: PricePoint, memory: Memory, limit: number): Anomaly[] {
  if (point.price !== memory.reference || memory.changes < LEAST_CHANGES || point.price <= memory.lowest) return [];
  const { repeats, longestRepeat } = memory;
  if (repeats + 1 !== STALE_FACTOR * Math.max(longestRepeat, LEAST_CHANGES)) return [];
  const suspect: Suspect = { point, deviation: 0, limit, reported: true };
  return [
    {
      ...anomaly('dirty-price', suspect, point.at, memory, { repeats: repeats + 1, longestRepeat }),
      score: (repeats + 1) / Math.max(longestRepeat, LEAST_CHANGES),
    },
  ];
}

function accept(point: PricePoint, deviation: number, memory: Memory): void {
  memory.moves.push(Math.abs(deviation));
  if (memory.moves.length > MEMORY_POINTS) memory.moves.shift();
  if (point.price === memory.reference) {
    memory.repeats += 1;
  } else {
    memory.longestRepeat = Math.max(memory.longestRepeat, memory.repeats);
    memory.changes += 1;
    memory.repeats = 0;
  }
  memory.reference = point.price;
  memory.lowest = Math.min(memory.lowest, point.price);
  memory.referenceAt = point.at;
}
