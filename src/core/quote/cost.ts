/**
 * The cost of a run of some GPUs, with its storage and its traffic: the cost model over its milliseconds, each times
 * its peak factor.
 *
 * Rounds each part once, at the end. A run is billed by the seller's increment and minimum; a part of it (up to the end
 * of a budget's period) is the beginning of the billed time, so that the parts of a run sum to it except for the
 * rounding.
 */
import { modelCost, QUANTITY_SCALE, type ModelPart } from '../cost/cost.js';
import { divideHalfEven, type Rate, type Ratio } from '../money.js';
import type { PeakSchedule } from '../price/peak.js';
import { GPU_PARTS } from '../usage.js';
import { converted, type Exchange } from './exchange.js';
import type { StorageNetwork } from './storage-network.js';

/** One way in which a run may go: how long it is billed, and at what rate on average. */
export interface BilledRun {
  readonly rate: Rate;
  readonly billedMs: number;
  /** Absent: GPUs alone. */
  readonly storageNetwork?: StorageNetwork;
}

/** Nanos of each part of the model; null: the run has no such part. */
export interface RunParts {
  readonly gpu: bigint;
  readonly storage: bigint | null;
  readonly network: bigint | null;
}

interface Weighted {
  readonly milliseconds: Ratio;
  readonly peaked: boolean;
}

/**
 * The costs of runs that all begin at one instant; their weighting by the peak schedule is done once for each length.
 */
export class RunCosts {
  private readonly weighted = new Map<number, Weighted>();

  /** @param at epoch milliseconds: when the runs begin */
  constructor(
    private readonly peak: PeakSchedule,
    private readonly at: number,
    private readonly gpus: number,
  ) {}

  /** Nanos of the first `withinMs` of a run, of all of it where absent. */
  nanos(run: BilledRun, exchange: Exchange, withinMs = Infinity): bigint {
    const { gpu, storage, network } = this.parts(run, exchange, withinMs);
    return gpu + (storage ?? 0n) + (network ?? 0n);
  }

  /** Storage costs by the millisecond; traffic leaves evenly over the run, as is assumed for metered traffic. */
  parts({ rate, billedMs, storageNetwork }: BilledRun, exchange: Exchange, withinMs = Infinity): RunParts {
    const milliseconds = Math.min(billedMs, Math.max(0, withinMs));
    const [storage, network] = [storageNetwork?.storage ?? null, storageNetwork?.network ?? null];
    if (milliseconds === 0) return { gpu: 0n, storage: storage && 0n, network: network && 0n };
    const within = BigInt(milliseconds);
    const gpuParts = BigInt(Math.round(this.gpus * 1000)) * BigInt(GPU_PARTS / 1000);
    const gpu: ModelPart = {
      quantity: gpuParts * within,
      quantityScale: QUANTITY_SCALE.gpu,
      rate: converted(rate, exchange),
    };
    const held = storage && {
      quantity: storage.quantity * within,
      quantityScale: QUANTITY_SCALE.storage,
      rate: storage.rate,
    };
    const sent = network && {
      quantity: (network.quantity * within) / BigInt(billedMs),
      quantityScale: QUANTITY_SCALE.network,
      rate: network.rate,
    };
    const { milliseconds: weighted } = this.weight(milliseconds);
    const costs = modelCost([gpu, ...(held === null ? [] : [held]), ...(sent === null ? [] : [sent])], {
      numerator: weighted.numerator,
      denominator: weighted.denominator * within,
    }).parts;
    const nanosAt = (index: number): bigint => costs[index]?.nanos ?? 0n;
    return { gpu: nanosAt(0), storage: held && nanosAt(1), network: sent && nanosAt(held === null ? 1 : 2) };
  }

  /** Whether the peak factor is other than 1 anywhere in the run. */
  isPeaked(billedMs: number): boolean {
    return this.weight(billedMs).peaked;
  }

  /** The run's milliseconds, each times its peak factor, as one exact fraction. */
  private weight(billedMs: number): Weighted {
    const known = this.weighted.get(billedMs);
    if (known !== undefined) return known;
    let milliseconds: Ratio = { numerator: 0n, denominator: 1n };
    let peaked = false;
    for (const { start, end, factor } of this.peak.pieces(this.at, this.at + billedMs)) {
      peaked ||= factor.numerator !== factor.denominator;
      milliseconds = reduced({
        numerator:
          milliseconds.numerator * factor.denominator +
          BigInt(end - start) * factor.numerator * milliseconds.denominator,
        denominator: milliseconds.denominator * factor.denominator,
      });
    }
    const result = { milliseconds, peaked };
    this.weighted.set(billedMs, result);
    return result;
  }
}

function reduced({ numerator, denominator }: Ratio): Ratio {
  let [a, b] = [numerator, denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  return a === 0n ? { numerator: 0n, denominator: 1n } : { numerator: numerator / a, denominator: denominator / a };
}

/** Nanos of one GPU for an hour, before the peak factor. */
export const perGpuHour = (rate: Rate, { ratio }: Exchange): bigint =>
  divideHalfEven(3600n * rate.nanos * ratio.numerator, rate.quantity * ratio.denominator);
