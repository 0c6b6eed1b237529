/**
 * A query for an unmeasured throughput, and its answer: samples a second, time and cost to finish, from a team's
 * measurements and at the cheapest valid price. Pure: the caller passes in measurements and prices.
 */
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { Configuration, TakenMeasurement } from '../../core/workload/measurement.js';
import { formatMoney, type Money, type Rate } from '../../core/money.js';
import type { GpuOffer } from '../../core/policy/policy.js';
import { providerName } from '../../core/price/price.js';
import { keptKnowledge, measuredAs, rowsFor } from './pace.js';
import { finish, predictThroughput, type Range, type ThroughputQuery } from './predict.js';
import { chosenRows } from './chosen-rows.js';

export interface ThroughputQuestion extends Omit<Configuration, 'gpu'> {
  /** Whose measurements of the model count; those of other models are background. */
  readonly team: string;
  readonly gpuModel: string;
  /** Samples until the work is done; null: neither time nor cost is asked for. */
  readonly samples: number | null;
  readonly provider: string | null;
  readonly region: string | null;
  readonly term: 'on-demand' | 'spot';
  /** ISO 4217 code. */
  readonly currency: string;
}

/** Amounts are decimal strings. */
export interface ThroughputAnswer {
  readonly samplesPerSecond: number;
  /** In this very configuration: `low` and `high` are the least and the most that was measured. */
  readonly isMeasured: boolean;
  /** Ends of the interval that holds the truth nine times in ten. */
  readonly low: number;
  readonly high: number;
  /** Rows of the model by the team, and of other models. */
  readonly measurements: number;
  readonly background: number;
  readonly secondsToFinish: Range<number> | null;
  /** Null: no samples were named, or nobody sells such GPUs. */
  readonly cost: Range<string> | null;
  readonly price: {
    readonly provider: string;
    readonly sku: string;
    readonly region: string | null;
    readonly term: string;
    readonly perGpuHour: string;
    readonly currency: string;
    readonly source: string;
  } | null;
}

/**
 * @param all of the organisation
 * @param offers in the question's currency
 */
export function answerThroughput(
  question: ThroughputQuestion,
  all: readonly TakenMeasurement[],
  offers: readonly GpuOffer[],
): ThroughputAnswer {
  const { team, gpuModel, samples, provider, region, term, currency: _currency, ...rest } = question;
  const asked: Configuration = { ...rest, gpu: modelOf(gpuModel) ?? gpuModel };
  const { own, background } = rowsFor(all, team, asked.model, asked.gpu);
  const seller = provider === null ? null : providerName(provider);
  const sold = offers.filter(
    (one) =>
      one.gpuModel === asked.gpu &&
      one.term === term &&
      (seller === null || one.provider === seller) &&
      (region === null || one.region === null || one.region === region),
  );
  const offer = sold.reduce<GpuOffer | null>(
    (best, one) => (best === null || perSecond(one.rate) < perSecond(best.rate) ? one : best),
    null,
  );
  const run: ThroughputQuery = {
    ...asked,
    ...(samples === null ? {} : { samples, ...(offer === null ? {} : { rate: offer.rate }) }),
  };
  const measured = measuredAs(own, asked);
  const chosen = chosenRows({ own, background }, asked);
  const { samplesPerSecond, low, high, secondsToFinish, cost } =
    measured === null
      ? predictThroughput(chosen.own, chosen.background, run, () => keptKnowledge(all, chosen, asked))
      : { ...measured, ...finish(measured, run) };
  return {
    samplesPerSecond,
    low,
    high,
    isMeasured: measured !== null,
    measurements: own.length,
    background: chosen.background.length,
    secondsToFinish: secondsToFinish ?? null,
    cost: cost === undefined ? null : inDecimals(cost),
    price:
      offer === null
        ? null
        : {
            provider: offer.provider,
            sku: offer.sku,
            region: offer.region,
            term: offer.term,
            perGpuHour: perHour(offer.rate),
            currency: offer.rate.currency,
            source: offer.source,
          },
  };
}

const perSecond = ({ nanos, quantity }: Rate): number => Number(nanos) / Number(quantity);
const perHour = ({ nanos, quantity, currency }: Rate): string =>
  formatMoney({ nanos: (nanos * 3600n + quantity / 2n) / quantity, currency });
const inDecimals = ({ expected, low, high }: Range<Money>): Range<string> => ({
  expected: formatMoney(expected),
  low: formatMoney(low),
  high: formatMoney(high),
});
