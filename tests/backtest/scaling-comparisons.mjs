/**
 * What the tables of docs/decisions-quality/scaling.md compare, and how: the kinds of seeded series, the pairs of boot
 * and peak, and the cut of each HPA's cost above the optimum that a frontier of settings reaches at the load that this
 * HPA leaves unserved.
 *
 * Runs no policy and draws nothing. A setting, like a rule, is `{ name, unserved, cost }`: its unserved share and its
 * cost over the optimum's.
 */
import { SERIES_DEFAULTS } from '../../dist/src/lab/scaling/series.js';

/** Boot in minutes and peak in replicas. */
export const PAIRS = [
  [5, 20],
  [1, 20],
  [10, 20],
  [5, 5],
  [5, 100],
];
export const TARGETS = [0.5, 0.7, 0.9];
export const [FLOOR, AIM] = [0.3, 0.6];

/** The five seeded kinds of the tables, one seed each, from `firstSeed` on. */
export function kinds(firstSeed) {
  const made = [
    ['days', { minutes: 4320 }],
    ['week', {}],
    ['week without bursts', { burstsPerDay: 0 }],
    ['week of small load', { base: 20 }],
    ['week of many bursts', { burstsPerDay: 24, burstFactor: 5, burstMinutes: 8 }],
  ];
  return made.map(([kind, over], n) => ({
    name: `${kind}, seed ${firstSeed + n}`,
    settings: { ...SERIES_DEFAULTS, ...over, seed: firstSeed + n },
  }));
}

/**
 * The frontier of some settings, dominated ones dropped, on a straight line at an unserved share. Infinity: no setting
 * loses so little.
 */
export function costAt(settings, unserved) {
  const frontier = [];
  for (const point of [...settings].sort((a, b) => a.unserved - b.unserved || a.cost - b.cost))
    if (frontier.length === 0 || point.cost < frontier.at(-1).cost) frontier.push(point);
  if (unserved < frontier[0].unserved - 1e-9) return Infinity;
  const next = frontier.findIndex((point) => point.unserved > unserved);
  const [low, high] = next < 0 ? [frontier.at(-1), frontier.at(-1)] : [frontier[Math.max(0, next - 1)], frontier[next]];
  const along =
    high.unserved > low.unserved ? Math.max(0, unserved - low.unserved) / (high.unserved - low.unserved) : 0;
  return low.cost + (high.cost - low.cost) * along;
}

/** Each HPA of `rules` beside the frontier of `settings`, by target. */
export function compare(rules, settings) {
  return TARGETS.map((target) => {
    const { unserved, cost } = rules.find(({ name }) => name === `hpa-${target}`);
    const own = costAt(settings, unserved);
    return { unserved, hpa: cost, own, reaches: (share) => own - 1 <= (1 - share) * (cost - 1) };
  });
}

/** One comparison as four cells of a table. */
export function cell({ unserved, hpa, own, reaches }) {
  const cut =
    own === Infinity
      ? 'no setting loses so little'
      : hpa <= 1
        ? 'HPA below the optimum'
        : `${Math.round((100 * (hpa - own)) / (hpa - 1)) || 0} %`;
  return `${unserved.toFixed(4)} | ${hpa.toFixed(3)} | ${own === Infinity ? '-' : own.toFixed(3)} | ${cut}${reaches(FLOOR) ? '' : ' **misses**'}`;
}

/** How many comparisons reach the floor and the aim, by target. */
export class Tally {
  floor = [0, 0, 0];
  aim = [0, 0, 0];
  of = 0;

  add(compared) {
    compared.forEach(({ reaches }, n) => {
      if (reaches(FLOOR)) this.floor[n] += 1;
      if (reaches(AIM)) this.aim[n] += 1;
      this.of += 1;
    });
  }
}
