/**
 * The published rules that Bursar is measured against over many zones: Uniform Progress (Wu et al., "Can't Be Late",
 * NSDI 2024, section 5.2) over all zones, in one zone and in turn, greedy (section 3.4) and on-demand.
 *
 * None of them learns anything or probes. What is left open for many zones is a reading: the order of zones of
 * equal price, where on-demand is taken, whether on-demand is left before it is ahead, and whether it is kept until
 * there is spot. All readings run and each opponent is judged by its best over a call, in its favour. All run behind
 * the same guard as Bursar (`keepsDeadline`).
 */
import {
  IDLE,
  NOWHERE,
  ON_DEMAND,
  onDemandZone,
  SPOT,
  type RegionsProblem,
} from '../../planning/spot-regions/problem.js';
import {
  keepsDeadline,
  STAY_IDLE,
  type Place,
  type RegionsPolicy,
  type RegionsView,
} from '../../planning/spot-regions/simulate.js';

export interface Reading {
  /** Among equal prices: as in the file, or the other way round. */
  readonly fileOrder: boolean;
  /** On-demand where the job last ran, else in the cheapest zone. */
  readonly onDemandStays: boolean;
  /** On-demand is only left for spot once it is ahead by two restarts. */
  readonly hysteresis: boolean;
  /** On-demand that is ahead and finds no spot is kept. */
  readonly keepsOnDemand: boolean;
}

const both = [true, false] as const;

/** Every reading of a rule with a pace. */
const READINGS: readonly Reading[] = both.flatMap((fileOrder) =>
  both.flatMap((onDemandStays) =>
    both.flatMap((hysteresis) =>
      both.map((keepsOnDemand): Reading => ({ fileOrder, onDemandStays, hysteresis, keepsOnDemand })),
    ),
  ),
);

/** Which zones are tried, best first; `last`: where the job ran last. */
export type ZoneOrder = (view: RegionsView, last: number) => readonly number[];

/** All on-demand in the cheapest zone. */
function onDemandOnly(problem: RegionsProblem): RegionsPolicy {
  const zone = onDemandZone(problem, NOWHERE, 1);
  return { name: 'on-demand', start: () => () => ({ mode: ON_DEMAND, zone }) };
}

/** The cheapest zones first; those of the region that was lost last, as SkyNomad's authors run Uniform Progress. */
function cheapestFirst(problem: RegionsProblem, fileOrder: boolean): () => ZoneOrder {
  const zones = [...problem.names.keys()];
  if (!fileOrder) zones.reverse();
  return () => {
    let lostRegion = NOWHERE;
    return (view) => {
      if (view.lost !== NOWHERE) lostRegion = problem.regionOf[view.lost] ?? NOWHERE;
      const late = (zone: number): number => (problem.regionOf[zone] === lostRegion ? 1 : 0);
      return [...zones].sort((a, b) => late(a) - late(b) || view.spotPrice(a) - view.spotPrice(b));
    };
  };
}

/** The zones in turn, from the one after the last. */
function roundRobin(problem: RegionsProblem, fileOrder: boolean): () => ZoneOrder {
  const zones = [...problem.names.keys()];
  if (!fileOrder) zones.reverse();
  return () => (_view, last) => {
    const next = zones.indexOf(last) + 1;
    return [...zones.slice(next), ...zones.slice(0, next)];
  };
}

const onlyZone = (zone: number): (() => ZoneOrder) => {
  const order = [zone];
  return () => () => order;
};

export interface PacedRule {
  readonly name: string;
  readonly order: () => ZoneOrder;
  readonly reading: Reading;
  /** Greedy: no pace, only the safety net. */
  readonly waits?: boolean;
  /** The only zone that may be used. */
  readonly only?: number;
}

/** Spot where the order finds it; without, on-demand while behind the pace, until the safety net closes for good. */
function paced(problem: RegionsProblem, rule: PacedRule): RegionsPolicy {
  return {
    name: rule.name,
    start: () => {
      const run = new PacedRun(problem, rule);
      return (view) => run.decide(view);
    },
  };
}

class PacedRun {
  private readonly order: ZoneOrder;
  private last = NOWHERE;
  private untilTheEnd = false;

  constructor(
    private readonly problem: RegionsProblem,
    private readonly rule: PacedRule,
  ) {
    this.order = rule.order();
  }

  decide(view: RegionsView): Place {
    const place = this.choose(view);
    const safe = keepsDeadline(this.problem, view, place) ? place : this.onDemand(view);
    if (safe !== place) this.untilTheEnd = true;
    if (safe.mode !== IDLE) this.last = safe.zone;
    return safe;
  }

  private choose(view: RegionsView): Place {
    const { problem, rule } = this;
    const { tickUnits, jobUnits, restartUnits, ticks } = problem;
    const order = this.order(view, this.last);
    const held: Place = { mode: view.mode, zone: view.zone };
    if (view.mode === SPOT) return held;
    this.untilTheEnd ||= view.timeLeft < view.workLeft + 2 * restartUnits;
    if (this.untilTheEnd) return this.onDemand(view);
    const expected = (units: number): number => (units * jobUnits) / (ticks * tickUnits);
    const [done, now] = [jobUnits - view.workLeft, view.tick * tickUnits];
    if (view.mode === ON_DEMAND) {
      const { hysteresis, keepsOnDemand } = rule.reading;
      const ahead = done >= expected(hysteresis ? now + 2 * restartUnits : now);
      const launched = ahead || !hysteresis ? this.tried(view, order) : null;
      return launched ?? (ahead && !keepsOnDemand ? STAY_IDLE : held);
    }
    const launched = this.tried(view, order);
    if (launched !== null) return launched;
    return rule.waits !== true && done < expected(now) ? this.onDemand(view) : STAY_IDLE;
  }

  private tried(view: RegionsView, order: readonly number[]): Place | null {
    for (const zone of order) {
      const place: Place = { mode: SPOT, zone };
      if (keepsDeadline(this.problem, view, place) && view.tryLaunch(zone)) return place;
    }
    return null;
  }

  private onDemand(view: RegionsView): Place {
    if (view.mode === ON_DEMAND) return { mode: ON_DEMAND, zone: view.zone };
    const { problem, rule, last } = this;
    const hours = ((view.workLeft + problem.restartUnits) * problem.unitSeconds) / 3600;
    const stays = rule.reading.onDemandStays && last !== NOWHERE;
    const zone = rule.only ?? (stays ? last : onDemandZone(problem, view.region, hours));
    return { mode: ON_DEMAND, zone };
  }
}

/** The readings of every opponent with a pace, by the name under which their best is reported. */
export function pacedOpponents(problem: RegionsProblem): ReadonlyMap<string, readonly RegionsPolicy[]> {
  const orderings = (name: string, order: (fileOrder: boolean) => () => ZoneOrder, waits = false): RegionsPolicy[] =>
    READINGS.map((reading) => paced(problem, { name, order: order(reading.fileOrder), reading, waits }));
  const zones = [...problem.names.keys()];
  const oneZone = zones.flatMap((zone) =>
    READINGS.filter(({ fileOrder, onDemandStays }) => fileOrder && onDemandStays).map((reading) =>
      paced(problem, { name: 'uniform-progress-best-zone', order: onlyZone(zone), reading, only: zone }),
    ),
  );
  return new Map([
    ['uniform-progress-all', orderings('uniform-progress-all', (fileOrder) => cheapestFirst(problem, fileOrder))],
    ['uniform-progress-best-zone', oneZone],
    ['round-robin', orderings('round-robin', (fileOrder) => roundRobin(problem, fileOrder))],
    ['greedy', orderings('greedy', (fileOrder) => cheapestFirst(problem, fileOrder), true)],
    ['on-demand', [onDemandOnly(problem)]],
  ]);
}
