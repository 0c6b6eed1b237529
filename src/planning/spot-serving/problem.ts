/**
 * A service that wants a number of replicas at all times, on spot capacity of many zones and on on-demand: its numbers.
 *
 * Prices are those of one replica (of a gang, the whole gang), per hour. The objective is a share of the wanted replica
 * time, so that what may go unserved is a number of replica-seconds, used up as time passes. Nothing here decides.
 */
import { invalid, type Problem } from '../../core/errors.js';

/** Where an instance is that is not spot of a zone. */
export const ON_DEMAND = -1;

export interface ServingZone {
  readonly name: string;
  readonly region: string;
  /** Per hour of one replica. */
  readonly onDemandPrice: number;
}

export interface ServingTerms {
  /** Replicas that must serve at all times. */
  readonly replicas: number;
  /** Time that a new instance is paid and does not serve. */
  readonly coldStartSeconds: number;
  /** Share of the wanted replica time that must be served over the window: 0.99. */
  readonly objective: number;
  readonly hours: number;
  readonly tickSeconds: number;
  readonly zones: readonly ServingZone[];
}

export interface ServingProblem {
  readonly replicas: number;
  readonly coldSeconds: number;
  readonly tickSeconds: number;
  /** Whole ticks of the window. */
  readonly ticks: number;
  /** Replica-seconds that are wanted, and of them those that may go unserved. */
  readonly wantedSeconds: number;
  readonly allowedSeconds: number;
  /** By zone. */
  readonly names: readonly string[];
  readonly regionOf: readonly number[];
  /** Of the cheapest zone: on-demand can be had in each. */
  readonly onDemandPerHour: number;
}

/** What a window brings, by zone and tick. A policy sees the present prices, what it holds and what it tries. */
export interface ServingWindow {
  /** The number of replicas that spot can hold. */
  readonly capacity: readonly Uint8Array[];
  /** Per hour of one replica. */
  readonly spotPerHour: readonly Float64Array[];
}

/** Throws `invalid` with every problem, an objective that the first cold start alone misses among them. */
export function servingProblem(terms: ServingTerms): ServingProblem {
  const problems: Problem[] = [];
  const { replicas, coldStartSeconds, objective, hours, tickSeconds, zones } = terms;
  const check = (path: string, ok: boolean, message: string): void => {
    if (!ok) problems.push({ path, message });
  };
  const ticks = Math.floor((hours * 3600) / tickSeconds + 1e-9);
  check('replicas', Number.isInteger(replicas) && replicas > 0, `must be a positive number, got ${replicas}`);
  check('windowHours', ticks > 0, `${hours} h do not hold a tick of ${tickSeconds} s`);
  check('objective', objective > 0 && objective < 1, `must lie between 0 and 1, got ${objective}`);
  check('coldStartMinutes', coldStartSeconds >= 0, `must be zero or more, got ${coldStartSeconds / 60}`);
  check('traces', zones.length > 0, 'at least one zone is needed');
  for (const { name, onDemandPrice } of zones)
    check(name, Number.isFinite(onDemandPrice) && onDemandPrice > 0, 'its on-demand price must be positive');
  const most = 1 - coldStartSeconds / (ticks * tickSeconds);
  check(
    'objective',
    objective <= most,
    `cannot be held: the first cold start leaves at most ${most.toFixed(5)} of ${hours} h`,
  );
  if (problems.length > 0) throw invalid('the terms of the service cannot be used', problems);
  const regions = [...new Set(zones.map(({ region }) => region))];
  const wantedSeconds = replicas * ticks * tickSeconds;
  return {
    replicas,
    coldSeconds: coldStartSeconds,
    tickSeconds,
    ticks,
    wantedSeconds,
    allowedSeconds: (1 - objective) * wantedSeconds,
    names: zones.map(({ name }) => name),
    regionOf: zones.map(({ region }) => regions.indexOf(region)),
    onDemandPerHour: Math.min(...zones.map(({ onDemandPrice }) => onDemandPrice)),
  };
}

/** What the service costs all on-demand. */
export const allOnDemandCost = ({ wantedSeconds, onDemandPerHour }: ServingProblem): number =>
  (wantedSeconds / 3600) * onDemandPerHour;
