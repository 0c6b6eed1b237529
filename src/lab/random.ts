/**
 * Seeded random numbers for generators and randomised rules.
 *
 * Never reads the clock or Math.random: the same seed gives the same numbers on every machine, so every backtest and
 * every labelled series can be made again.
 */

/** A source of numbers, uniform in [0, 1). */
export type Random = () => number;

/** Mulberry32 by Tommy Ettinger: 32 bits of state, full period 2^32. `seed` is taken modulo 2^32. */
export function mulberry32(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
