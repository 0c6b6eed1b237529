/**
 * The workload to place, and the known facts of its surroundings.
 *
 * Nothing here is guessed: the workload's owner states its needs, and an unstated need does not restrict it.
 */
import { invalid, type Problem } from '../../core/errors.js';
import type { FxTable } from '../../core/price/fx.js';
import type { PriceHistory } from '../../core/price/price-book.js';
import type { Term } from '../../core/usage.js';

export interface Workload {
  /** A training runs on one SKU, in one place, under one term; the replicas of an inference may be a mix. */
  readonly kind: 'training' | 'inference';
  readonly memoryGibPerGpu: number;
  /** GPUs that hold it; for an inference, of the reference speed. Whole. */
  readonly gpus: number;
  /** GPUs that one unit (instance) must have, so that they share its interconnect. Absent: 1. */
  readonly gpusPerUnitMin?: number;
  /** A training's hours at the reference speed; an inference's hours of service. */
  readonly hours: number;
  /** Hours from now until a training must be done. Absent: it may take any time. */
  readonly deadlineHours?: number;
  /** GiB that leave the cloud in all. They leave from one place: a mix is then of one provider's region. */
  readonly egressGib?: number;
  /** Absent: any. Names as in Price. */
  readonly providers?: readonly string[];
  readonly regions?: readonly string[];
  readonly models?: readonly string[];
  readonly terms?: readonly Term[];
  /**
   * Speed of a GPU model over the reference's. With it, a model that is not listed is of unknown speed and cannot be
   * chosen. Absent: `gpus` and `hours` are what is held on any model, as the caller says.
   */
  readonly relativeSpeeds?: Readonly<Record<string, number>>;
  /** Largest share of the needed GPUs that may be spot, 0 to 1; a training may be on spot only at 1. */
  readonly spotShareMax: number;
  /** Whether what is left of a reservation's term is used by others; if not, the workload pays for whole terms. */
  readonly restOfTermUsed: boolean;
}

export interface Market {
  /** All components; which version holds at `at` is the price book's rule. */
  readonly history: PriceHistory;
  readonly fx: FxTable;
  /** Currency of the answer, ISO 4217. */
  readonly currency: string;
  /** Epoch milliseconds at which it starts. The prices of that instant hold throughout. */
  readonly at: number;
  /**
   * Units (instances) of a price that can be had at most, by `provider/region/sku/term`, `*` for no region. Absent: as
   * many as needed.
   */
  readonly unitLimits?: Readonly<Record<string, number>>;
  /** GiB per GPU model read off drivers; counts before the data sheets. */
  readonly measuredMemoryGib?: Readonly<Record<string, number>>;
  /**
   * Steps that a mix may take to solve, for who has to answer at once; beyond them it is refused. Absent: about a
   * second's.
   */
  readonly mostSteps?: number;
}

/** Ten thousand GPUs: beyond this a number is more likely a slip. */
export const MOST_GPUS = 10_000;
/** Three years. */
export const MOST_HOURS = 26_304;

/** @throws Failure `invalid` naming every number that cannot be. */
export function checkWorkload(workload: Workload, market: Market): void {
  const problems: Problem[] = [];
  const check = (path: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path, message });
  };
  const {
    gpus,
    gpusPerUnitMin = 1,
    hours,
    memoryGibPerGpu,
    deadlineHours,
    egressGib,
    spotShareMax,
    relativeSpeeds = {},
  } = workload;
  check(
    'gpus',
    Number.isSafeInteger(gpus) && gpus > 0 && gpus <= MOST_GPUS,
    `is not a whole number from 1 to ${MOST_GPUS}`,
  );
  check('gpusPerUnitMin', Number.isSafeInteger(gpusPerUnitMin) && gpusPerUnitMin > 0, 'is not a whole number above 0');
  check('hours', hours > 0 && hours <= MOST_HOURS, `is not above 0 and at most ${MOST_HOURS}`);
  check('memoryGibPerGpu', Number.isFinite(memoryGibPerGpu) && memoryGibPerGpu >= 0, 'is not 0 or more');
  check('deadlineHours', deadlineHours === undefined || deadlineHours > 0, 'is not above 0');
  check('egressGib', egressGib === undefined || (Number.isFinite(egressGib) && egressGib >= 0), 'is not 0 or more');
  check('spotShareMax', spotShareMax >= 0 && spotShareMax <= 1, 'is not from 0 to 1');
  for (const [model, speed] of Object.entries(relativeSpeeds))
    check(`relativeSpeeds/${model}`, speed >= 0.001 && speed <= 1000, 'is not from 0.001 to 1000');
  for (const [key, limit] of Object.entries(market.unitLimits ?? {}))
    check(`unitLimits/${key}`, Number.isSafeInteger(limit) && limit >= 0, 'is not a whole number of 0 or more');
  if (problems.length > 0) throw invalid('the workload cannot be placed', problems);
}
