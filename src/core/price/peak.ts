/**
 * The peak factor: a schedule of ratios that multiplies Bursar's own prices, hour by hour, 1 without a rule.
 *
 * Never changes an amount of a bill. The first matching rule wins. A boundary inside a UTC hour (a rule at 09:30, or
 * any rule of a zone half an hour off) splits that hour, as a price change does: quote/cost.ts cuts by `pieces`.
 * Refusing such rules would exclude India.
 */
import { invalid, type Problem } from '../errors.js';
import { parseDecimal, tenTo } from '../decimal.js';
import { ONE, type Ratio } from '../money.js';
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  hourOf,
  isZone,
  offsetAt,
  parseDay,
  weekdayOfDays,
  type Interval,
} from '../time.js';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Times are local to the zone. A window past midnight (22:00 to 06:00) belongs to the day on which it begins. */
export interface PeakRule {
  /** `HH:MM`, 00:00 where absent. */
  readonly from?: string;
  /** `HH:MM`, exclusive, 24:00 where absent. */
  readonly to?: string;
  /** Every day where absent. */
  readonly days?: readonly Weekday[];
  /** IANA name. */
  readonly zone: string;
  /** First day, `YYYY-MM-DD`. */
  readonly fromDate?: string;
  /** The day after the last, `YYYY-MM-DD`. */
  readonly untilDate?: string;
  /** A decimal above 0, at most 100: `1.15`. */
  readonly factor: string;
}

interface CompiledRule {
  readonly fromMinute: number;
  readonly toMinute: number;
  readonly days: ReadonlySet<number>;
  readonly zone: string;
  readonly firstDay: number;
  readonly endDay: number;
  readonly factor: Ratio;
}

export interface PeakPiece extends Interval {
  readonly factor: Ratio;
}

const MINUTES_PER_DAY = 1440;
const MOST_FACTOR = 100n;
const MOST_CACHED_HOURS = 100_000;

export class PeakSchedule {
  private readonly hours = new Map<number, readonly PeakPiece[]>();

  /** Made by `compilePeak`. */
  constructor(private readonly rules: readonly CompiledRule[]) {}

  /** The factor that holds at an instant. */
  at(instant: number): Ratio {
    return this.rules.find((rule) => holds(rule, instant))?.factor ?? ONE;
  }

  /** [start, end) in order, cut where the factor changes. Whole minutes decide: no zone has finer clocks since 1972. */
  pieces(start: number, end: number): PeakPiece[] {
    if (this.rules.length === 0) return start < end ? [{ start, end, factor: ONE }] : [];
    const pieces: PeakPiece[] = [];
    for (let hour = hourOf(start); hour < end; hour += HOUR_MS) {
      for (const piece of this.hour(hour)) {
        const [from, to] = [Math.max(piece.start, start), Math.min(piece.end, end)];
        if (from < to) push(pieces, { start: from, end: to, factor: piece.factor });
      }
    }
    return pieces;
  }

  private hour(hour: number): readonly PeakPiece[] {
    const known = this.hours.get(hour);
    if (known !== undefined) return known;
    const pieces: PeakPiece[] = [];
    for (let minute = hour; minute < hour + HOUR_MS; minute += MINUTE_MS) {
      push(pieces, { start: minute, end: minute + MINUTE_MS, factor: this.at(minute) });
    }
    if (this.hours.size >= MOST_CACHED_HOURS) this.hours.clear();
    this.hours.set(hour, pieces);
    return pieces;
  }
}

/** No rule at all: 1 at every hour. */
export const NO_PEAK = new PeakSchedule([]);

function push(pieces: PeakPiece[], piece: PeakPiece): void {
  const last = pieces.at(-1);
  const same =
    last !== undefined &&
    last.end === piece.start &&
    last.factor.numerator === piece.factor.numerator &&
    last.factor.denominator === piece.factor.denominator;
  if (same) pieces[pieces.length - 1] = { ...last, end: piece.end };
  else pieces.push(piece);
}

function holds(rule: CompiledRule, instant: number): boolean {
  const local = instant + offsetAt(rule.zone, instant);
  const today = Math.floor(local / DAY_MS);
  const minute = Math.floor((local - today * DAY_MS) / MINUTE_MS);
  let day = today;
  if (rule.fromMinute < rule.toMinute) {
    if (minute < rule.fromMinute || minute >= rule.toMinute) return false;
  } else if (minute < rule.fromMinute) {
    if (minute >= rule.toMinute) return false;
    day -= 1;
  }
  return day >= rule.firstDay && day < rule.endDay && rule.days.has(weekdayOfDays(day));
}

/**
 * A schedule from its rules.
 * @throws Failure `invalid`, naming every problem of every rule.
 */
export function compilePeak(rules: readonly PeakRule[]): PeakSchedule {
  const problems: Problem[] = [];
  const compiled = rules.map((rule, index) => compileRule(rule, `rules/${index}`, problems));
  if (problems.length > 0) throw invalid(`the peak schedule has ${problems.length} problem(s)`, problems);
  return new PeakSchedule(compiled);
}

function compileRule(rule: PeakRule, path: string, problems: Problem[]): CompiledRule {
  const check = (field: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path: `${path}/${field}`, message });
  };
  const fromMinute = minuteOf(rule.from ?? '00:00');
  const toMinute = minuteOf(rule.to ?? '24:00');
  check('from', fromMinute !== null && fromMinute < MINUTES_PER_DAY, 'is not a time HH:MM before 24:00');
  check('to', toMinute !== null && toMinute > 0, 'is not a time HH:MM after 00:00 (midnight is 24:00)');
  check('to', fromMinute === null || fromMinute !== toMinute, 'is the same time as from: the window is empty');
  const days = (rule.days ?? WEEKDAYS).map((day) => WEEKDAYS.indexOf(day));
  check('days', days.length > 0 && !days.includes(-1), `are some of ${WEEKDAYS.join(', ')}`);
  check('zone', isZone(rule.zone), 'is not an IANA time zone');
  const firstDay = rule.fromDate === undefined ? -Infinity : parseDay(rule.fromDate);
  const endDay = rule.untilDate === undefined ? Infinity : parseDay(rule.untilDate);
  check('fromDate', firstDay !== null, 'is not a day written YYYY-MM-DD');
  check('untilDate', endDay !== null, 'is not a day written YYYY-MM-DD');
  check('untilDate', firstDay === null || endDay === null || firstDay < endDay, 'is not after fromDate');
  const decimal = parseDecimal(rule.factor);
  const factor = decimal === null ? null : { numerator: decimal.unscaled, denominator: tenTo(decimal.scale) };
  check(
    'factor',
    factor !== null && factor.numerator > 0n && factor.numerator <= MOST_FACTOR * factor.denominator,
    `is not a decimal above 0 and at most ${MOST_FACTOR}`,
  );
  return {
    fromMinute: fromMinute ?? 0,
    toMinute: toMinute ?? 0,
    days: new Set(days),
    zone: rule.zone,
    firstDay: firstDay ?? 0,
    endDay: endDay ?? 0,
    factor: factor ?? ONE,
  };
}

/** Minutes from midnight of `HH:MM`, 24:00 included; null for anything else. */
function minuteOf(text: string): number | null {
  const match = /^(\d\d):(\d\d)$/.exec(text);
  if (match === null) return null;
  const minute = Number(match[1]) * 60 + Number(match[2]);
  return Number(match[2]) < 60 && minute <= MINUTES_PER_DAY ? minute : null;
}
