/**
 * What a move of a workload to another place saves, over the work that it has left or a month: the difference of the
 * expected hourly costs, less what the move sends and the restart there. And, for work without a deadline, which place is
 * the cheapest that has spot now.
 *
 * The interval is that of the two places' availability. The invariant: of work that ends only its known rest saves.
 */
import { HOURS_PER_MONTH } from '../../core/policy/policy.js';
import type { HourlySaving } from './spot.js';
import { hourlyCost, isStable, isThereNow, type SpotPlace, type SpotPlaces } from './spot-places.js';

export interface Standing {
  readonly gpus: number;
  /** Nanos that one GPU costs per hour where it is, as it is. */
  readonly costHere: HourlySaving;
  /** Hours of work left; null: it ends at an unknown time. */
  readonly workLeftHours: number | null;
  /** It runs on and on. */
  readonly isEndless: boolean;
  readonly restartHours: number;
}

export interface PlaceSaving extends HourlySaving {
  /** Hours over which it saves. */
  readonly hours: number;
  /** Nanos that are paid once for what is sent, and for the restart. */
  readonly egress: number;
  readonly restart: number;
  /** Nanos without the move. */
  readonly cost: number;
}

/** Null: egress or the work left is unknown. */
export function savingAt(
  { gpus, costHere, workLeftHours, isEndless, restartHours }: Standing,
  here: SpotPlace,
  there: SpotPlace,
  term: 'spot' | 'on-demand',
  { sendsGb, egressPerGb }: Pick<SpotPlaces, 'sendsGb' | 'egressPerGb'>,
): PlaceSaving | null {
  const hours = isEndless ? HOURS_PER_MONTH : workLeftHours;
  const perGb = egressPerGb(here, there);
  if (hours === null || (perGb !== 0 && sendsGb === null)) return null;
  const egress = sendsGb === 0 || perGb === 0 ? 0 : (sendsGb ?? 0) * (perGb ?? Infinity);
  if (!Number.isFinite(egress)) return null;
  const { onDemand, spot } = there.prices;
  const costThere =
    term === 'spot' ? hourlyCost(there, restartHours) : { mean: onDemand, low: onDemand, high: onDemand };
  const restart = restartHours * gpus * (term === 'spot' ? spot : onDemand);
  const whole = (perGpu: number): number => perGpu * gpus * hours - egress - restart;
  return {
    hours,
    egress,
    restart,
    cost: costHere.mean * gpus * hours,
    mean: whole(costHere.mean - costThere.mean),
    low: whole(costHere.low - costThere.high),
    high: whole(costHere.high - costThere.low),
  };
}

export interface Chosen {
  readonly place: SpotPlace;
  readonly saving: PlaceSaving;
}

/**
 * The place on spot that saves most, of those that have had spot for so many minutes and save with their whole interval:
 * a move that may save nothing is not worth its risk. Null: there is none.
 */
export function cheapestPlace(
  standing: Standing,
  places: SpotPlaces,
  asOf: number,
  stableMinutes: number,
): Chosen | null {
  const { here, others } = places;
  if (here === null) return null;
  return others
    .filter((place) => isThereNow(place, asOf) && isStable(place, asOf, stableMinutes))
    .flatMap((place) => {
      const saving = savingAt(standing, here, place, 'spot', places);
      return saving === null || saving.low <= 0 ? [] : [{ place, saving }];
    })
    .reduce<Chosen | null>((best, one) => (best === null || one.saving.mean > best.saving.mean ? one : best), null);
}
