/**
 * The series that the forecast's constants are chosen on, none of which is in the published tables: synthetic kinds
 * (forecast-kinds.mjs) with seeds of their own, from 20,000 on (the second half, from 30,000 on, was only looked at),
 * and the two virtual clusters of tests/fixtures/commitment-demand: arrivals and GPU counts recorded, durations drawn.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  bursts,
  changing,
  fromFirstSpend,
  held,
  project,
  rising,
  risingAndLeaving,
  steps,
  walk,
  weekly,
  weeklyCalm,
} from './forecast-kinds.mjs';

const MONTHS = { periodDays: 30, firstDays: [0, 15] };
const FORTNIGHTS = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
const monthOf = (series) => fromFirstSpend(series.slice(40, 70));
/** A month out of the middle of each, for groups that live no longer; of those that spend nothing then, none. */
const monthsOf = (series) => series.map(monthOf).filter(({ length }) => length > 16);

/** GPU-hours per day of each virtual cluster, from its first day and from ten and twenty days on. */
function philly() {
  const clusters = new Map();
  for (const line of gunzipSync(readFileSync(new URL('../fixtures/commitment-demand/philly.csv.gz', import.meta.url)))
    .toString()
    .trim()
    .split('\n')
    .slice(1)) {
    const [tenant, hour, gpus] = line.split(',');
    const days = clusters.get(tenant) ?? clusters.set(tenant, []).get(tenant);
    const day = Math.floor(Number(hour) / 24);
    while (days.length <= day) days.push(0);
    days[day] += Number(gpus);
  }
  return [...clusters.values()].flatMap((days) => [
    days,
    fromFirstSpend(days.slice(10)),
    fromFirstSpend(days.slice(20)),
  ]);
}

/**
 * The kinds: a name, series of spend per day, and the periods in which they are forecast.
 * @param half the first is chosen on; the second, of other seeds and without recordings, was only looked at
 * @param count of seeds of each kind
 */
export function seriesToChooseOn(half, count) {
  const base = half === 'first' ? 20_000 : 30_000;
  const seeds = (offset, kind) => Array.from({ length: count }, (_, index) => kind(base + offset + index));
  const months = (offset, kind) => monthsOf(seeds(offset, kind));
  return [
    ['weekly, drifting', seeds(0, weekly), MONTHS],
    ['weekly, calm', seeds(100, weeklyCalm), MONTHS],
    ['steps', seeds(200, steps), MONTHS],
    ['steps, a month of each, 14 days', months(300, steps), FORTNIGHTS],
    ['projects, 14 days', seeds(400, project), FORTNIGHTS],
    ['bursts', seeds(500, bursts), MONTHS],
    ['bursts, a month of each, 14 days', months(600, bursts), FORTNIGHTS],
    ['random walks', seeds(700, walk), MONTHS],
    ['random walks, a month of each, 14 days', months(800, walk), FORTNIGHTS],
    ['only rising', seeds(900, rising), MONTHS],
    ['rising and leaving', seeds(1000, risingAndLeaving), MONTHS],
    ['batch jobs', seeds(1100, held), MONTHS],
    ['batch jobs, a month of each, 14 days', months(1200, held), FORTNIGHTS],
    ['one kind, then another', seeds(1300, changing), MONTHS],
    ['the same, other seeds', seeds(1400, changing), MONTHS],
    ...(half === 'first' ? [['Philly, two virtual clusters, 14 days', philly(), FORTNIGHTS]] : []),
  ];
}
