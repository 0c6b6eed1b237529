/**
 * The hours of the day at which spot of a zone is harder to get: how much sooner than on average it is lost, and how
 * much sooner it returns, by part of the day.
 *
 * Demand has working hours, so that zones of one part of the world fall away together. It is learned from readings of
 * the past, by the day that begins with the job's first tick (no clock of any place is needed). A zone's own losses and
 * returns count beside those of its region, and both beside a prior of no season, so that a short past teaches little.
 */
const DAY_SECONDS = 86_400;
export const PARTS = 8;
const PART_SECONDS = DAY_SECONDS / PARTS;
/** Losses, or returns, in a part of the day that the belief in no season is worth. */
const PRIOR_EVENTS = 4;

/** By part of the day: the chance that a spell ends, of its average over the day. */
export interface Season {
  readonly returns: Float64Array;
  readonly losses: Float64Array;
}

const flat = new Float64Array(PARTS).fill(1);
export const NO_SEASON: Season = { returns: flat, losses: flat };

/** The part of the day of a tick, counted from the first tick of the job; those before it are negative. */
export function partOf(tick: number, tickSeconds: number): number {
  const parts = Math.floor((tick * tickSeconds) / PART_SECONDS);
  return parts - PARTS * Math.floor(parts / PARTS);
}

/** The first tick of the next part of the day. */
export const nextPart = (tick: number, tickSeconds: number): number =>
  Math.ceil(((Math.floor((tick * tickSeconds) / PART_SECONDS) + 1) * PART_SECONDS) / tickSeconds);

/** Readings of a zone: 1 available, 0 absent, else unread; the last is of the tick before the job's first. */
interface DayReadings {
  readonly tickSeconds: number;
  readonly states: Uint8Array;
}

/** By part of the day: spells that ended, and how many would have, had they ended at their average over the day. */
interface Ends {
  readonly seen: Float64Array;
  readonly expected: Float64Array;
}

/** The seasons of zones. */
export function seasonsOf(zones: readonly { readonly region: number; readonly past: DayReadings }[]): Season[] {
  const own = zones.map(({ past }) => [endsOf(past, 0), endsOf(past, 1)] as const);
  return zones.map(({ region }, zone) => {
    const mates = own.filter((_, other) => zones[other]?.region === region);
    const ratio = (state: 0 | 1): Float64Array =>
      flat.map((_, part) => {
        const all = [own[zone]?.[state], ...mates.map((mate) => mate[state])];
        const sum = (of: keyof Ends): number => all.reduce((total, ends) => total + (ends?.[of][part] ?? 0), 0);
        return (sum('seen') + PRIOR_EVENTS) / (sum('expected') + PRIOR_EVENTS);
      });
    return { returns: ratio(0), losses: ratio(1) };
  });
}

/** How spells of `state` ended between one reading and the next. */
function endsOf({ states, tickSeconds }: DayReadings, state: 0 | 1): Ends {
  const [seen, time] = [new Float64Array(PARTS), new Float64Array(PARTS)];
  let before = -1;
  states.forEach((reading, t) => {
    if (reading > 1) return;
    if (before >= 0 && states[before] === state) {
      const part = partOf((before + t) / 2 - states.length, tickSeconds);
      time[part] = (time[part] ?? 0) + t - before;
      if (reading !== state) seen[part] = (seen[part] ?? 0) + 1;
    }
    before = t;
  });
  const total = (row: Float64Array): number => row.reduce((sum, one) => sum + one, 0);
  const rate = total(seen) / Math.max(1, total(time));
  return { seen, expected: time.map((ticks) => ticks * rate) };
}
