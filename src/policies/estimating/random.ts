/** Random numbers for a planner's futures, of a seed: the same question draws the same. */

/** A linear congruence (Knuth, The Art of Computer Programming, volume 2, 3.3.4): enough to draw futures. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
