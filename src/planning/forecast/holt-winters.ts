/**
 * Holt-Winters, additive, with a season of a week: an opponent of the forecast and, its trend damped, one of its
 * experts.
 *
 * Never reads ahead: the fit that stands at a day was chosen by the errors up to that day.
 */
import { WEEK_DAYS } from './week.js';

const ALPHAS = [0.1, 0.3, 0.5, 0.8];
const BETAS = [0.01, 0.1, 0.3];
const GAMMAS = [0.05, 0.2, 0.5];

export interface HoltWinters {
  readonly level: number;
  /** Per day. */
  readonly trend: number;
  /** By day of the week, counted from the series' first day; added to the level. */
  readonly season: Float64Array;
}

interface Pass extends HoltWinters {
  readonly alpha: number;
  readonly beta: number;
  readonly gamma: number;
  /** Sum of the squared one-step errors so far. */
  error: number;
  level: number;
  trend: number;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** The first two weeks as a start. */
function passes(history: readonly number[]): Pass[] {
  const first = history.slice(0, WEEK_DAYS);
  const level = mean(first);
  const trend = (mean(history.slice(WEEK_DAYS, 2 * WEEK_DAYS)) - level) / WEEK_DAYS;
  return ALPHAS.flatMap((alpha) =>
    BETAS.flatMap((beta) =>
      GAMMAS.map((gamma) => ({
        alpha,
        beta,
        gamma,
        error: 0,
        level,
        trend,
        season: Float64Array.from(first, (value) => value - level),
      })),
    ),
  );
}

function step(pass: Pass, value: number, weekday: number): void {
  const seasonal = pass.season[weekday] ?? 0;
  pass.error += (value - pass.level - pass.trend - seasonal) ** 2;
  const level = pass.alpha * (value - seasonal) + (1 - pass.alpha) * (pass.level + pass.trend);
  pass.trend = pass.beta * (level - pass.level) + (1 - pass.beta) * pass.trend;
  pass.season[weekday] = pass.gamma * (value - level) + (1 - pass.gamma) * seasonal;
  pass.level = level;
}

/**
 * The fit after each day, its three constants by least squares on a grid over the days so far (Hyndman and
 * Athanasopoulos, FPP3, 8.3); null before two weeks are known.
 */
export function runHoltWinters(history: readonly number[]): (HoltWinters | null)[] {
  const all = passes(history);
  return history.map((value, day) => {
    if (day < WEEK_DAYS || history.length < 2 * WEEK_DAYS) return null;
    for (const pass of all) step(pass, value, day % WEEK_DAYS);
    if (day + 1 < 2 * WEEK_DAYS) return null;
    const { level, trend, season } = all.reduce((best, pass) => (pass.error < best.error ? pass : best));
    return { level, trend, season: season.slice() };
  });
}
