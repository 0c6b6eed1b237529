/**
 * The planner's current decision for a job with a deadline that may run at several places: on spot or on demand, and
 * where, or wait. It asks the policy of planning/spot-regions about the work that is left, as a job that begins now at
 * the place where its checkpoint lies; all recorded readings before are its past. A launch of spot that it tries succeeds
 * if the newest reading says that spot is there.
 *
 * The deadline is the planner's invariant. The same question has the same answer: the instant is the seed of the
 * futures that it draws.
 */
import { Failure } from '../../core/errors.js';
import type { JobFacts } from '../../core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import { beliefAfter, learnZones, UNREAD, type Readings } from '../../planning/spot-regions/availability.js';
import { bursarRegions } from '../../planning/spot-regions/bursar.js';
import {
  IDLE,
  NOWHERE,
  ON_DEMAND,
  regionsProblem,
  SPOT,
  type RegionsProblem,
} from '../../planning/spot-regions/problem.js';
import type { Place } from '../../planning/spot-regions/simulate.js';
import { random } from './random.js';
import { isThereNow, placeName, regionName, type SpotPlace, type SpotPlaces } from './spot-places.js';

export interface RegionsQuestion {
  readonly job: JobFacts;
  readonly asOf: number;
  readonly gpus: number;
  /** What it holds at the first of the places; null: nothing. */
  readonly holds: 'spot' | 'on-demand' | null;
  /** The one where it stands first. */
  readonly places: readonly SpotPlace[];
  readonly sendsGb: SpotPlaces['sendsGb'];
  readonly egressPerGb: SpotPlaces['egressPerGb'];
  readonly restartHours: number;
}

export interface RegionsWord {
  readonly word: 'spot' | 'on-demand' | 'wait';
  /** Index of the place; where it waits, 0. */
  readonly place: number;
}

/** Ticks beyond which futures would take too long: then the planner of its own place alone decides. */
const MOST_TICKS = 2000;
/** Readings that are used. */
const PAST_DAYS = 14;

/** Null if the job's numbers are not all known, or it cannot be planned on these places. */
export function regionsWord(question: RegionsQuestion): RegionsWord | null {
  const { job, asOf, places } = question;
  const [here] = places;
  if (here === undefined || job.deadline === null || job.workLeftHours === null || job.workLeftHours <= 0) return null;
  // Spot that is there is left for cheaper spot alone: the plan costs far more than this look.
  const isCheapest = places.every(({ prices }) => prices.spot >= here.prices.spot);
  if (question.holds === 'spot' && isCheapest && isThereNow(here, asOf)) return { word: 'spot', place: 0 };
  const problem = problemOf(question, job.workLeftHours, (job.deadline - asOf) / HOUR_MS);
  if (problem === null || problem.ticks > MOST_TICKS) return null;
  const tickMs = here.market.tickSeconds * 1000;
  const pasts = places.map((place) => pastOf(place, asOf, tickMs));
  const models = learnZones(
    places.map((_, zone) => ({ region: problem.regionOf[zone] ?? 0, past: pasts[zone] ?? NO_PAST })),
    [],
  );
  const beliefs = models.map((model, zone) => beliefAfter(model, pasts[zone] ?? NO_PAST));
  const { mode, zone } = decided(question, problem, beliefs);
  if (mode === IDLE || zone < 0) return { word: 'wait', place: 0 };
  return { word: mode === SPOT ? 'spot' : 'on-demand', place: zone };
}

const NO_PAST: Readings = { tickSeconds: 1, states: new Uint8Array() };

function decided(
  { places, holds, asOf, gpus }: RegionsQuestion,
  problem: RegionsProblem,
  beliefs: Parameters<typeof bursarRegions>[1]['beliefs'],
): Place {
  const isThere = places.map((place) => isThereNow(place, asOf));
  const isLost = holds === 'spot' && isThere[0] !== true;
  const mode = holds === null || isLost ? IDLE : holds === 'spot' ? SPOT : ON_DEMAND;
  return bursarRegions(problem, { beliefs, random: () => random(Math.floor(asOf / 1000)) }).start()({
    tick: 0,
    mode,
    zone: mode === IDLE ? NOWHERE : 0,
    restartLeft: 0,
    workLeft: problem.jobUnits,
    timeLeft: problem.ticks * problem.tickUnits,
    region: problem.regionOf[0] ?? 0,
    lost: isLost ? 0 : NOWHERE,
    spotPrice: (zone) => ((places[zone]?.prices.spot ?? Infinity) * gpus) / 1e9,
    tryLaunch: (zone) => isThere[zone] === true,
    probe: () => false,
  });
}

function problemOf(
  { places, restartHours, gpus, sendsGb, egressPerGb }: RegionsQuestion,
  workLeftHours: number,
  deadlineHours: number,
): RegionsProblem | null {
  // Whole minutes, more never less: a grid of seconds has no use here.
  const inMinutes = (hours: number): number => Math.ceil(hours * 60 - 1e-9) / 60;
  try {
    return regionsProblem({
      jobHours: inMinutes(workLeftHours),
      deadlineHours,
      restartHours: inMinutes(restartHours),
      checkpointGb: sendsGb ?? 0,
      tickSeconds: places[0]?.market.tickSeconds ?? 0,
      probeSeconds: 0,
      zones: places.map((from) => ({
        name: placeName(from),
        region: regionName(from),
        onDemandPrice: (from.prices.onDemand * gpus) / 1e9,
        egressPerGb: Object.fromEntries(
          places.flatMap((to) => {
            const perGb = sendsGb === 0 ? 0 : egressPerGb(from, to);
            return perGb === null ? [] : [[regionName(to), perGb / 1e9]];
          }),
        ),
      })),
    });
  } catch (error) {
    // A deadline that nobody can promise is kept as well as on-demand can, where it stands.
    if (error instanceof Failure) return null;
    throw error;
  }
}

/** Readings of a place on the ticks of the first, up to the tick that runs. */
function pastOf({ market }: SpotPlace, asOf: number, tickMs: number): Readings {
  const count = Math.floor((PAST_DAYS * DAY_MS) / tickMs);
  const end = Math.floor(asOf / tickMs) * tickMs;
  const states = Uint8Array.from({ length: count }, (_, n) => {
    const at = end - (count - n) * tickMs;
    const seen = market.available[Math.floor((at - market.from) / (market.tickSeconds * 1000))] ?? null;
    return seen === null ? UNREAD : seen ? 1 : 0;
  });
  const first = states.findIndex((state) => state !== UNREAD);
  return { tickSeconds: tickMs / 1000, states: first < 0 ? new Uint8Array() : states.subarray(first) };
}
