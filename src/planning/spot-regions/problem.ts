/**
 * A job that must finish by a deadline on spot or on-demand capacity of many zones, regions and clouds: its numbers on
 * one exact time grid.
 *
 * Nothing here decides or simulates. Prices are those of all that the job occupies (of a gang, the whole gang), per
 * unit of time, and may move from tick to tick. The invariant: tick, job and restart are whole numbers of units, and an
 * egress price that is not known is refused, never taken as free.
 */
import { invalid, type Problem } from '../../core/errors.js';
import { IDLE, ON_DEMAND, SPOT, type Mode } from '../spot/problem.js';

export { IDLE, ON_DEMAND, SPOT, type Mode };

/** Where the checkpoint lies before the first start: nowhere, so that the first start moves nothing. */
export const NOWHERE = -1;

/** A place where the job may run. */
export interface ZoneTerms {
  readonly name: string;
  /** The name that identifies a region; egress prices are stated by it. */
  readonly region: string;
  /** Per hour. */
  readonly onDemandPrice: number;
  /** USD per GB out of this zone's region, by region. A region to which the job could move must be there. */
  readonly egressPerGb: Readonly<Record<string, number>>;
}

export interface RegionsTerms {
  readonly jobHours: number;
  readonly deadlineHours: number;
  /** Time on a new instance that is paid and makes no progress. */
  readonly restartHours: number;
  /** The data that a change of region sends. */
  readonly checkpointGb: number;
  readonly tickSeconds: number;
  /** Spot time that a probe that succeeds is charged. */
  readonly probeSeconds: number;
  readonly zones: readonly ZoneTerms[];
}

export interface RegionsProblem {
  readonly unitSeconds: number;
  readonly tickUnits: number;
  readonly jobUnits: number;
  readonly restartUnits: number;
  /** Whole ticks before the deadline; a part of a tick at the end is not used by anyone. */
  readonly ticks: number;
  readonly probeSeconds: number;
  /** By zone. */
  readonly names: readonly string[];
  readonly regionOf: readonly number[];
  readonly onDemandPerHour: readonly number[];
  /** What a move costs, by region from and region to. */
  readonly egress: readonly (readonly number[])[];
}

/** What a window brings, by zone and tick: a policy sees the present prices and what it tries, nothing else. */
export interface RegionsWindow {
  /** 1 where spot can be had. */
  readonly available: readonly Uint8Array[];
  /** Per hour. */
  readonly spotPerHour: readonly Float64Array[];
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

/**
 * Puts the terms on the coarsest grid that holds tick, job and restart exactly; hours are taken to the nearest second.
 * Throws `invalid` with every problem: numbers that cannot be, a deadline that on-demand alone cannot keep after one
 * restart, a zone that stands twice, and every pair of regions without an egress price.
 */
export function regionsProblem(terms: RegionsTerms): RegionsProblem {
  const problems = [...termProblems(terms), ...zoneProblems(terms.zones)];
  if (problems.length > 0) throw invalid('the terms of the spot job cannot be used', problems);
  const { tickSeconds: tick, zones } = terms;
  const job = Math.round(terms.jobHours * 3600);
  const restart = Math.round(terms.restartHours * 3600);
  const unitSeconds = greatestCommonDivisor(greatestCommonDivisor(tick, job), restart);
  const regions = [...new Set(zones.map(({ region }) => region))];
  const ticks = Math.floor(Math.round(terms.deadlineHours * 3600) / tick);
  if (ticks * tick < job + restart) {
    throw invalid('the deadline cannot be promised', [
      {
        path: 'deadlineHours',
        message: `${terms.deadlineHours} h do not hold ${terms.jobHours} h of work and a restart of ${terms.restartHours} h`,
      },
    ]);
  }
  return {
    unitSeconds,
    tickUnits: tick / unitSeconds,
    jobUnits: job / unitSeconds,
    restartUnits: restart / unitSeconds,
    ticks,
    probeSeconds: terms.probeSeconds,
    names: zones.map(({ name }) => name),
    regionOf: zones.map(({ region }) => regions.indexOf(region)),
    onDemandPerHour: zones.map(({ onDemandPrice }) => onDemandPrice),
    egress: regions.map((from) => {
      const prices = zones.find(({ region }) => region === from)?.egressPerGb ?? {};
      return regions.map((to) => (from === to ? 0 : (prices[to] ?? Infinity) * terms.checkpointGb));
    }),
  };
}

function termProblems(terms: RegionsTerms): Problem[] {
  const problems: Problem[] = [];
  const check = (path: keyof RegionsTerms, ok: boolean, message: string): void => {
    if (!ok) problems.push({ path, message: `${message}, got ${String(terms[path])}` });
  };
  const positive = (value: number): boolean => Number.isFinite(value) && value > 0;
  const notNegative = (value: number): boolean => Number.isFinite(value) && value >= 0;
  check('jobHours', positive(terms.jobHours) && terms.jobHours * 3600 >= 1, 'must be a positive number of hours');
  check('deadlineHours', positive(terms.deadlineHours), 'must be a positive number of hours');
  check('restartHours', notNegative(terms.restartHours), 'must be zero or a positive number of hours');
  check('checkpointGb', notNegative(terms.checkpointGb), 'must be zero or a positive number of GB');
  check('probeSeconds', notNegative(terms.probeSeconds), 'must be zero or a positive number of seconds');
  const wholeTick = Number.isInteger(terms.tickSeconds) && terms.tickSeconds > 0;
  check('tickSeconds', wholeTick, 'must be a whole positive number of seconds');
  return problems;
}

function zoneProblems(zones: readonly ZoneTerms[]): Problem[] {
  const problems: Problem[] = [];
  if (zones.length === 0) problems.push({ path: 'zones', message: 'at least one zone is needed' });
  const names = new Set<string>();
  const regions = new Set(zones.map(({ region }) => region));
  for (const { name, region, onDemandPrice, egressPerGb } of zones) {
    if (names.has(name)) problems.push({ path: name, message: 'stands twice' });
    names.add(name);
    if (!(Number.isFinite(onDemandPrice) && onDemandPrice > 0))
      problems.push({ path: name, message: `its on-demand price must be positive, got ${onDemandPrice}` });
    for (const to of regions) {
      const price = egressPerGb[to];
      if (to !== region && !(price !== undefined && Number.isFinite(price) && price >= 0))
        problems.push({ path: name, message: `has no egress price from ${region} to ${to}` });
    }
  }
  return problems;
}

/** The zone where `hours` of on-demand cost least with the way there from the checkpoint; the first of equals. */
export function onDemandZone(problem: RegionsProblem, region: number, hours: number): number {
  let [best, least] = [0, Infinity];
  problem.onDemandPerHour.forEach((price, zone) => {
    const cost = price * hours + moveCost(problem, region, zone);
    if (cost < least) [best, least] = [zone, cost];
  });
  return best;
}

/** Egress that a start in `zone` pays while the checkpoint lies in `region`. */
export const moveCost = ({ egress, regionOf }: RegionsProblem, region: number, zone: number): number =>
  region === NOWHERE ? 0 : (egress[region]?.[regionOf[zone] ?? 0] ?? Infinity);

/** What all on-demand from the start costs in the cheapest zone: one restart and the work. */
export function onDemandCost(problem: RegionsProblem): number {
  const hours = ((problem.jobUnits + problem.restartUnits) * problem.unitSeconds) / 3600;
  return hours * Math.min(...problem.onDemandPerHour);
}
