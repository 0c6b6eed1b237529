/**
 * The published ways to run a service on spot that Bursar is measured against: SpotHedge (Mao et al., "SkyServe",
 * arXiv 2411.01438, EuroSys 2025), even spread, round robin on spot alone, a fixed share of on-demand, the cheapest
 * zone, and on-demand.
 *
 * None of them learns anything. What a source leaves open is a reading: how many spares, whether spot that is starting
 * counts, whether the spares count for the fallback, how zones of one rank are ordered. All readings run, and each
 * opponent is judged by the cheapest that holds the objective over the call, in its favour. Failed launches are free,
 * so all of them go on to the next zone within the tick.
 */
import { ON_DEMAND, type ServingProblem } from '../../planning/spot-serving/problem.js';
import { guard, mayStopOnDemand } from '../../planning/spot-serving/rules.js';
import type { Desk, ServingPolicy } from '../../planning/spot-serving/simulate.js';

type Order = 'hedge' | 'even' | 'turn' | 'cheapest';

interface Reading {
  readonly order: Order;
  /** Among equals: as in the file, or the other way round. */
  readonly fileOrder: boolean;
  /** Where every zone of the list holds a replica: the one with the fewest of them, else the cheapest. */
  readonly evenly: boolean;
  readonly spares: number;
  /** On-demand replicas that are always held, in place of spot. */
  readonly base: number;
  /** On-demand in place of spot that is missing, up to the wanted replicas. */
  readonly fallback: boolean;
  /** Spot that is starting is not missing. */
  readonly startingCounts: boolean;
  /** The fallback stands in for missing spares too, as the paper has it. */
  readonly sparesCount: boolean;
  /** Runs behind Bursar's guard. */
  readonly guarded: boolean;
}

const PLAIN: Reading = {
  order: 'hedge',
  fileOrder: true,
  evenly: true,
  spares: 0,
  base: 0,
  fallback: false,
  startingCounts: true,
  sparesCount: false,
  guarded: false,
};
const both = [true, false] as const;
const MOST_SPARES = 3;
const upTo = (most: number): number[] => Array.from({ length: most + 1 }, (_, i) => i);

/** Every combination of a reading with the values of one property. */
const times = <K extends keyof Reading>(
  readings: readonly Reading[],
  property: K,
  values: readonly Reading[K][],
): Reading[] => readings.flatMap((reading) => values.map((value) => ({ ...reading, [property]: value })));

function hedges(guarded: boolean): Reading[] {
  const ordered = times(times([{ ...PLAIN, fallback: true, guarded }], 'fileOrder', both), 'evenly', both);
  const spares = times(times(ordered, 'startingCounts', both), 'spares', upTo(MOST_SPARES));
  return times(spares, 'sparesCount', both).filter((one) => one.spares > 0 || !one.sparesCount);
}

/** The readings of every opponent, by the name under which their best is reported. */
export function servingOpponents(problem: ServingProblem): ReadonlyMap<string, readonly (() => ServingPolicy)[]> {
  const { replicas } = problem;
  const even = times(
    times(times([{ ...PLAIN, order: 'even' }], 'fileOrder', both), 'fallback', both),
    'startingCounts',
    both,
  );
  const turn = times([{ ...PLAIN, order: 'turn' }], 'fileOrder', both);
  const cheapest = (guarded: boolean): Reading[] =>
    times(times([{ ...PLAIN, order: 'cheapest', fallback: true, guarded }], 'fileOrder', both), 'startingCounts', both);
  const readings: [string, Reading[]][] = [
    ['spothedge', hedges(false)],
    ['spothedge-guarded', hedges(true)],
    ['even-spread', even],
    ['fixed-share', times(times([{ ...PLAIN, order: 'even' }], 'fileOrder', both), 'base', upTo(replicas))],
    ['cheapest-zone', cheapest(false)],
    ['cheapest-zone-guarded', cheapest(true)],
    ['round-robin', turn],
    ['on-demand', [{ ...PLAIN, base: replicas }]],
  ];
  return new Map(readings.map(([name, all]) => [name, all.map((reading) => () => hedging(problem, reading))]));
}

function hedging(problem: ServingProblem, reading: Reading): ServingPolicy {
  const run = new HedgedRun(problem, reading);
  return (desk) => run.decide(desk);
}

class HedgedRun {
  private readonly zones: number[];
  /** Zones where spot is believed to be there: all, at first. */
  private readonly active: Set<number>;
  private next = 0;

  constructor(
    private readonly problem: ServingProblem,
    private readonly reading: Reading,
  ) {
    this.zones = [...problem.names.keys()];
    if (!reading.fileOrder) this.zones.reverse();
    this.active = new Set(this.zones);
  }

  decide(desk: Desk): void {
    const { reading, problem } = this;
    for (const zone of desk.lost) this.lose(zone);
    const wanted = problem.replicas - reading.base;
    if (wanted > 0) this.launchSpot(desk, wanted + reading.spares);
    const now = desk.tick * problem.tickSeconds;
    let counted = 0;
    for (let i = 0; i < desk.zones.length; i += 1)
      if (desk.zones[i] !== ON_DEMAND && (reading.startingCounts || (desk.readyAt[i] ?? 0) <= now)) counted += 1;
    const missing = wanted + (reading.sparesCount ? reading.spares : 0) - counted;
    const onDemand = reading.base + (reading.fallback ? Math.min(wanted, Math.max(0, missing)) : 0);
    while (desk.held(ON_DEMAND) < onDemand) desk.launchOnDemand();
    while (desk.held(ON_DEMAND) > onDemand && (!reading.guarded || mayStopOnDemand(problem, desk)))
      desk.stop(ON_DEMAND);
    if (reading.guarded) guard(problem, desk);
  }

  private launchSpot(desk: Desk, wanted: number): void {
    const failed = new Set<number>();
    for (let spot = desk.zones.length - desk.held(ON_DEMAND); spot < wanted; ) {
      const zone = this.choose(desk, failed);
      if (zone === null) return;
      if (desk.tryLaunch(zone)) {
        this.active.add(zone);
        spot += 1;
      } else {
        failed.add(zone);
        this.lose(zone);
      }
    }
  }

  /** The zone leaves the list; with fewer than two left all come back. */
  private lose(zone: number): void {
    this.active.delete(zone);
    if (this.active.size < 2) for (const one of this.zones) this.active.add(one);
  }

  private choose(desk: Desk, failed: ReadonlySet<number>): number | null {
    const { order, evenly } = this.reading;
    const open = this.zones.filter((zone) => !failed.has(zone));
    const byPrice = (a: number, b: number): number => desk.spotPrice(a) - desk.spotPrice(b);
    const byHeld = (a: number, b: number): number => desk.held(a) - desk.held(b);
    if (order === 'cheapest') return [...open].sort(byPrice)[0] ?? null;
    if (order === 'even') return [...open].sort(byHeld)[0] ?? null;
    if (order === 'turn') {
      for (let i = 0; i < this.zones.length; i += 1) {
        const zone = this.zones[(this.next + i) % this.zones.length] ?? 0;
        if (failed.has(zone)) continue;
        this.next = (this.next + i + 1) % this.zones.length;
        return zone;
      }
      return null;
    }
    // Zones that were lost are tried too, last: a failed launch is free.
    const listed = open.filter((zone) => this.active.has(zone));
    const candidates = listed.length > 0 ? listed : open;
    const empty = candidates.filter((zone) => desk.held(zone) === 0);
    if (empty.length > 0) return empty.sort(byPrice)[0] ?? null;
    return [...candidates].sort((a, b) => (evenly ? byHeld(a, b) : 0) || byPrice(a, b))[0] ?? null;
  }
}
