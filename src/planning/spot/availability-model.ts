/**
 * A semi-Markov model of spot availability whose zone character is hidden: what comes next, given what was seen so far.
 *
 * Spells of availability and of absence alternate. The chance that a spell goes on for another tick is a logistic
 * function of the logarithm of its age, plus a frailty of the spell's kind: zones differ, and so do the weeks of one
 * zone. The frailties (one for available, one for absent) are a hidden state with nine values, a three-point
 * Gauss-Hermite rule each way; it persists from spell to spell with `persistence` and is otherwise drawn afresh. The
 * model is fitted by expectation maximisation (Baum-Welch with a logistic M-step) on other zones or on the past, and a
 * belief over the nine values follows the window that is being run.
 *
 * A zone that was never read starts from the broad prior, because it may be like none before. The far future beyond the
 * present character is what the recordings showed on average (`characterShares`), leaning to the zone's own as its past
 * grows (`leanToPast`).
 *
 * It never sees the window ahead. The invariant: every probability lies strictly between 0 and 1, so no future is ruled
 * out.
 */

/** Ages, in ticks, at which the model is tabulated; between them it is linear, beyond the last it is constant. */
export const AGE_GRID: readonly number[] = [1, 2, 4, 8, 16, 40, 100];
/** Combinations of the two three-point frailties. */
export const COMPONENTS = 9;

/**
 * Everything that is learned. Logits of "this spell goes on": intercept at an age of e^1.2 ticks, slope per unit of log
 * age.
 */
export interface AvailabilityParameters {
  readonly absent: readonly [intercept: number, slope: number];
  readonly available: readonly [intercept: number, slope: number];
  /** Standard deviation of the frailties, in logits. */
  readonly frailtySd: number;
  /** Chance that the frailties stay the same when a spell ends. */
  readonly persistence: number;
  /** How spells were shared among the nine components in the recordings; sums to one. */
  readonly characterShares: readonly number[];
}

/**
 * The parameters as tables. `stay[state]` holds P(spell goes on) by age index times COMPONENTS plus component; state 1
 * is available.
 */
export interface AvailabilityModel {
  readonly parameters: AvailabilityParameters;
  readonly stay: readonly [Float64Array, Float64Array];
  /** The belief about a window without readings. */
  readonly prior: Float64Array;
  /** The result of redrawing the frailties in the far future of a plan. */
  readonly reversion: Float64Array;
  readonly persistence: number;
}

const NODES = [-Math.sqrt(3), 0, Math.sqrt(3)] as const;
const WEIGHTS = [1 / 6, 2 / 3, 1 / 6] as const;
const PRIOR: readonly number[] = Array.from(
  { length: COMPONENTS },
  (_, k) => (WEIGHTS[Math.floor(k / 3)] ?? 0) * (WEIGHTS[k % 3] ?? 0),
);
const AGE_CENTRE = 1.2;
/**
 * Chosen, with PERSISTENCE, on the likelihood of held-out zones, which is flat around both
 * (docs/decisions-quality/spot.md).
 */
const FRAILTY_SD = 0.7;
const PERSISTENCE = 0.95;
const EM_ROUNDS = 30;
const EM_TOLERANCE = 1e-4;
/**
 * Spells of what was believed before that are counted beside the recorded ones, so that a few zones, or a few days of
 * one, do not rule a character out. The likelihood of what a zone did some days later is flat around it
 * (docs/decisions-quality/spot.md).
 */
const PRIOR_SPELLS = 50;
const RIDGE: readonly [number, number] = [0.01, 1];

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));
/** Frailty of a component for spells of `state` (1 available, 0 absent), in standard deviations. */
const frailty = (component: number, state: number): number =>
  NODES[state === 1 ? Math.floor(component / 3) : component % 3] ?? 0;
const stayLogit = (parameters: AvailabilityParameters, state: number, age: number, component: number): number => {
  const [intercept, slope] = state === 1 ? parameters.available : parameters.absent;
  return intercept + slope * (Math.log(age) - AGE_CENTRE) + parameters.frailtySd * frailty(component, state);
};

/** Tabulates the model. */
export function availabilityModel(parameters: AvailabilityParameters): AvailabilityModel {
  const table = (state: number): Float64Array =>
    Float64Array.from({ length: AGE_GRID.length * COMPONENTS }, (_, cell) =>
      logistic(stayLogit(parameters, state, AGE_GRID[Math.floor(cell / COMPONENTS)] ?? 1, cell % COMPONENTS)),
    );
  return {
    parameters,
    stay: [table(0), table(1)],
    prior: Float64Array.from(PRIOR),
    reversion: Float64Array.from(parameters.characterShares),
    persistence: parameters.persistence,
  };
}

/** Position of an age on AGE_GRID: index of the point at or below it and the fraction of the way to the next. */
export function agePosition(age: number): { readonly index: number; readonly fraction: number } {
  const last = AGE_GRID.length - 1;
  let index = 0;
  while (index < last && age >= (AGE_GRID[index + 1] ?? Infinity)) index += 1;
  if (index === last) return { index, fraction: 0 };
  const below = AGE_GRID[index] ?? 1;
  return { index, fraction: (age - below) / ((AGE_GRID[index + 1] ?? below + 1) - below) };
}

/**
 * The very first reading belongs to a spell that began before it, and long spells are met more often: taken to be this
 * old.
 */
const FIRST_AGE = 16;

/** The belief about one zone after the readings so far. */
export class AvailabilityBelief {
  readonly components: Float64Array;
  age = 0;
  private state = -1;

  constructor(private readonly model: AvailabilityModel) {
    this.components = Float64Array.from(model.prior);
  }

  /** Takes the next reading (1 available, 0 absent) in. */
  observe(state: number): void {
    if (this.state === -1) this.age = FIRST_AGE;
    else {
      this.updateWeights(state === this.state);
      this.age = state === this.state ? this.age + 1 : 1;
    }
    this.state = state;
  }

  /** Bayes' rule on "the spell went on", then the possible redraw of the frailties at the end of a spell. */
  private updateWeights(wentOn: boolean): void {
    const { model, components } = this;
    let total = 0;
    for (let k = 0; k < COMPONENTS; k += 1) {
      const stays = logistic(stayLogit(model.parameters, this.state, this.age, k));
      components[k] = (components[k] ?? 0) * (wentOn ? stays : 1 - stays);
      total += components[k] ?? 0;
    }
    const keep = wentOn ? 1 : model.persistence;
    for (let k = 0; k < COMPONENTS; k += 1)
      components[k] = (keep * (components[k] ?? 0)) / total + (1 - keep) * (model.prior[k] ?? 0);
  }
}

/**
 * Built in, for a zone without other data: what `node tests/backtest/learn-spot.mjs` learns of four zones, which
 * docs/decisions-quality/spot.md names.
 */
export const BUILT_IN_PARAMETERS: AvailabilityParameters = {
  absent: [1.6911, 0.6523],
  available: [1.4839, 0.3687],
  frailtySd: FRAILTY_SD,
  persistence: PERSISTENCE,
  characterShares: [0.0145, 0.2131, 0.0075, 0.1769, 0.3437, 0.0419, 0.1299, 0.0654, 0.0071],
};

/** Where learning starts: nothing that was learned, so that no zone leaks into what is learned without it. */
const START: AvailabilityParameters = {
  absent: [1.5, 0.5],
  available: [1.5, 0.5],
  frailtySd: FRAILTY_SD,
  persistence: PERSISTENCE,
  characterShares: PRIOR,
};

/**
 * Learns the parameters from recordings (1 available, 0 absent, one reading per tick; each a stretch without gaps, none
 * of it from the window that will be run). Deterministic. With no reading at all it returns the built-in parameters.
 */
export function fitAvailability(recordings: readonly Uint8Array[]): AvailabilityParameters {
  if (recordings.every((recording) => recording.length < 2)) return BUILT_IN_PARAMETERS;
  let parameters = START;
  for (let round = 0; round < EM_ROUNDS; round += 1) {
    const rows: [SpellRows, SpellRows] = [new SpellRows(), new SpellRows()];
    for (const recording of recordings) collectRows(availabilityModel(parameters), recording, rows);
    const absent = fitLogistic(rows[0], 0, parameters.absent);
    const available = fitLogistic(rows[1], 1, parameters.available);
    const change = largestChange([...parameters.absent, ...parameters.available], [...absent, ...available]);
    parameters = {
      absent,
      available,
      frailtySd: FRAILTY_SD,
      persistence: PERSISTENCE,
      characterShares: sharesOf(rows, PRIOR),
    };
    if (change < EM_TOLERANCE) break;
  }
  return parameters;
}

const largestChange = (before: readonly number[], after: readonly number[]): number =>
  Math.max(...after.map((value, i) => Math.abs(value - (before[i] ?? 0))));

/** Expected counts by (age, component): how often a spell of that age was seen, and how often it went on. */
class SpellRows {
  readonly seen = new Map<number, Float64Array>();
  readonly wentOn = new Map<number, Float64Array>();

  add(age: number, weights: Float64Array, wentOn: boolean): void {
    for (const table of wentOn ? [this.seen, this.wentOn] : [this.seen]) {
      const row = table.get(age) ?? new Float64Array(COMPONENTS);
      for (let k = 0; k < COMPONENTS; k += 1) row[k] = (row[k] ?? 0) + (weights[k] ?? 0);
      table.set(age, row);
    }
  }
}

/**
 * Leans the far future to what the zone's own past showed: its spells are counted by character beside those that
 * `parameters` stand for.
 * The chances of a spell stay as they are. `past`: readings of the zone, oldest first, without a gap, all before the
 * run that is planned.
 */
export function leanToPast(parameters: AvailabilityParameters, past: Uint8Array): AvailabilityParameters {
  if (past.length < 2) return parameters;
  const rows: [SpellRows, SpellRows] = [new SpellRows(), new SpellRows()];
  collectRows(availabilityModel(parameters), past, rows);
  return { ...parameters, characterShares: sharesOf(rows, parameters.characterShares) };
}

/** Spells by component, counted at their first tick, together with those of `prior`. */
function sharesOf(rows: readonly [SpellRows, SpellRows], prior: readonly number[]): number[] {
  const counts = prior.map(
    (weight, k) => PRIOR_SPELLS * weight + rows.reduce((sum, { seen }) => sum + (seen.get(1)?.[k] ?? 0), 0),
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => count / total);
}

/** Expectation step: adds the smoothed weights of one recording to the rows of each state. */
function collectRows(model: AvailabilityModel, recording: Uint8Array, rows: readonly [SpellRows, SpellRows]): void {
  smoothCharacter(model, recording, ({ tick, age, weights, wentOn }) =>
    rows[recording[tick] === 1 ? 1 : 0].add(age, weights, wentOn),
  );
}

/**
 * A tick in the light of the whole recording: `weights` of the components, by what came before and after; whether its
 * spell `wentOn`.
 */
export interface SmoothedTick {
  readonly tick: number;
  readonly age: number;
  readonly weights: Float64Array;
  readonly wentOn: boolean;
}

/**
 * Forward-backward over one recording; hands over each tick but the last, in falling order. It reads ahead: for
 * learning, never for running.
 */
export function smoothCharacter(
  model: AvailabilityModel,
  recording: Uint8Array,
  take: (smoothed: SmoothedTick) => void,
): void {
  const steps = recording.length - 1;
  if (steps < 1) return;
  const likelihood: Float64Array[] = [];
  const forward: Float64Array[] = [];
  const belief = new AvailabilityBelief(model);
  const ages = new Int32Array(steps);
  for (let t = 0; t < steps; t += 1) {
    const state = recording[t] ?? 0;
    belief.observe(state);
    ages[t] = belief.age;
    forward.push(Float64Array.from(belief.components));
    const wentOn = recording[t + 1] === state;
    likelihood.push(
      Float64Array.from({ length: COMPONENTS }, (_, k) => {
        const stays = logistic(stayLogit(model.parameters, state, belief.age, k));
        return wentOn ? stays : 1 - stays;
      }),
    );
  }
  let backward: Float64Array = new Float64Array(COMPONENTS).fill(1);
  for (let t = steps - 1; t >= 0; t -= 1) {
    const wentOn = recording[t + 1] === recording[t];
    const keep = wentOn ? 1 : model.persistence;
    const fresh = backward.reduce((sum, value, k) => sum + value * (model.prior[k] ?? 0), 0);
    const now = likelihood[t] ?? backward;
    backward = normalised(backward.map((value, k) => (now[k] ?? 0) * (keep * value + (1 - keep) * fresh)));
    take({
      tick: t,
      age: ages[t] ?? 1,
      weights: normalised(backward.map((value, k) => value * (forward[t]?.[k] ?? 0))),
      wentOn,
    });
  }
}

function normalised(weights: Float64Array): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/**
 * Maximisation step: ridge logistic regression of "goes on" on log age with the component's frailty as an offset, by
 * Newton's method.
 */
function fitLogistic(rows: SpellRows, state: number, start: readonly [number, number]): [number, number] {
  let [intercept, slope] = start;
  for (let round = 0; round < 20; round += 1) {
    let [g0, g1] = [-RIDGE[0] * intercept, -RIDGE[1] * slope];
    let [h00, h01, h11] = [RIDGE[0], 0, RIDGE[1]];
    for (const [age, seen] of rows.seen) {
      const x = Math.log(age) - AGE_CENTRE;
      const wentOn = rows.wentOn.get(age);
      for (let k = 0; k < COMPONENTS; k += 1) {
        const stays = logistic(intercept + slope * x + FRAILTY_SD * frailty(k, state));
        const residual = (wentOn?.[k] ?? 0) - (seen[k] ?? 0) * stays;
        const weight = (seen[k] ?? 0) * stays * (1 - stays);
        g0 += residual;
        g1 += residual * x;
        h00 += weight;
        h01 += weight * x;
        h11 += weight * x * x;
      }
    }
    const determinant = h00 * h11 - h01 * h01;
    const [step0, step1] = [(h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant];
    intercept += step0;
    slope += step1;
    if (Math.abs(step0) + Math.abs(step1) < 1e-9) break;
  }
  return [intercept, slope];
}
