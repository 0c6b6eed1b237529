/**
 * The standard normal distribution, to seven digits: enough for the rarest load that a price can make worth serving.
 *
 * Holds no state. The tail is the rational approximation 7.1.26 of Abramowitz and Stegun (1964), absolute error below
 * 2e-7.
 */

const ROOT_TWO_PI = Math.sqrt(2 * Math.PI);

export const normalDensity = (z: number): number => Math.exp((-z * z) / 2) / ROOT_TWO_PI;

/** Probability of more than z. */
export function normalTail(z: number): number {
  const t = 1 / (1 + 0.3275911 * (Math.abs(z) / Math.SQRT2));
  const series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const tail = 0.5 * series * Math.exp((-z * z) / 2);
  return z >= 0 ? tail : 1 - tail;
}

/**
 * Adds to `shortfall` the expected load beyond k replicas, k from 0, where the square root of the load is normal.
 *
 * Closed form: for a root of mean m and deviation s, and z = (sqrt(k) - m) / s, the load beyond k is
 * (m^2 + s^2 - k) Q(z) + s (m + sqrt(k)) phi(z), with Q the tail and phi the density.
 *
 * @param weight probability of this part of a mixture; @param mean, @param deviation in square roots of replicas.
 */
export function addShortfall(shortfall: Float64Array, weight: number, mean: number, deviation: number): void {
  const spread = Math.max(deviation, 1e-6);
  const load = mean * mean + spread * spread;
  // Six deviations from the mean a replica is needed for certain, or never.
  const never = Math.min(shortfall.length - 1, Math.ceil((mean + 6 * spread) ** 2));
  const certain = Math.max(0, mean - 6 * spread) ** 2 - 1;
  for (let k = 0; k <= never; k++) {
    let beyond = load - k;
    if (k >= certain) {
      const root = Math.sqrt(k);
      const z = (root - mean) / spread;
      beyond = beyond * normalTail(z) + spread * (mean + root) * normalDensity(z);
    }
    if (beyond > 0) shortfall[k] = shortfall[k]! + weight * beyond;
  }
}
