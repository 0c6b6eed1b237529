/**
 * Whether a card draws as much power as only a working card does, whatever its utilisation says. Pure. Power is
 * compared with two values: the lowest power seen of the same card, or of another of its model, and the limit of its
 * model. The invariant: power never makes a card idle, it only contradicts idleness; a card without known power is
 * judged without it.
 *
 * Measured on an H200 (limit 700 W; tests/fixtures/h200-telemetry): 79 W with no process, 123 W while a process only
 * holds memory, 124 to 128 W while it answers two requests a second, 190 W and more while it trains, even at a
 * utilisation of 2 %. So a process that only holds memory passes as idle here, and a training does not.
 */
import { own } from '../own.js';

/**
 * The smallest power limit in watts among the cards that a model's name may mean, of the makers' data sheets ("Maximum
 * power", "TDP", "TBP"; an A10G as nvidia-smi shows it on a g5); an A100 may be the PCIe card of 250 W or the SXM4
 * module of 400 W.
 */
const LIMIT_WATTS: Readonly<Record<string, number>> = {
  GB300: 1200,
  GB200: 1000,
  B300: 1100,
  B200: 1000,
  GH200: 450,
  H200: 600,
  H100: 350,
  H800: 350,
  H20: 400,
  A100: 250,
  A800: 250,
  V100S: 250,
  V100: 250,
  A6000: 300,
  A5000: 230,
  A4000: 140,
  RTX5090: 575,
  RTX4090: 450,
  RTX3090: 350,
  RTX6000: 260,
  RTX8000: 260,
  'RTX6000-ADA': 300,
  A10G: 300,
  A10: 150,
  A30: 165,
  A40: 300,
  L40S: 350,
  L40: 300,
  L20: 275,
  L4: 72,
  T4: 70,
  P100: 250,
  P40: 250,
  MI300X: 750,
  MI325X: 1000,
};

/**
 * The power that a process adds to a card at rest by only holding memory: 44 W on an H200, more than 60 W or a seventh
 * on none.
 */
const HELD_WATTS = 60;
const HELD_SHARE_OF_LIMIT = 1 / 7;

/** The limit of a model as modelOf writes it; null: unknown. */
const limitOf = (model: string | null): number | null =>
  model === null ? null : (own(LIMIT_WATTS, model) ?? own(LIMIT_WATTS, model.replace(/-\d+GB$/, '')) ?? null);

/** The power in watts from which a card is at work. */
export function workingWatts(model: string | null, leastWatts: number | null): number | null {
  const limit = limitOf(model);
  const overRest =
    leastWatts === null
      ? Infinity
      : leastWatts + Math.max(HELD_WATTS, limit === null ? leastWatts : limit * HELD_SHARE_OF_LIMIT);
  const from = Math.min(overRest, limit === null ? Infinity : limit / 2);
  return Number.isFinite(from) ? from : null;
}
