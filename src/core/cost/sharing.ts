/**
 * The weights of a shared cost that is split by use: each team's own use over the charge's period.
 *
 * A day's cost is split by that day, a month's fee by the known part of the month. Use is weighted in one currency,
 * each day by its own rate, so that no team is left out because of its currency; if a rate is missing, GPU time is the
 * weight. Pure. The invariant: the weights depend only on the use, not on the caller or on the order of arrival.
 */
import { divideHalfEven } from '../money.js';
import type { FxTable } from '../price/fx.js';
import { DAY_MS } from '../time.js';

/** The usage of a team on a day, at its actual cost in one currency. */
export interface DirectUse {
  readonly team: string;
  /** Days since 1970. */
  readonly day: number;
  readonly currency: string;
  /** Null: nothing of it has a price. */
  readonly nanos: bigint | null;
  readonly gpuPartMs: bigint;
}

/** Days [first, first + count). */
export interface DaySpan {
  readonly first: number;
  readonly count: number;
}

export class UseWeights {
  private readonly known = new Map<string, ReadonlyMap<string, bigint>>();
  private readonly byDay = new Map<number, DirectUse[]>();

  constructor(
    uses: Iterable<DirectUse>,
    private readonly fx: FxTable,
  ) {
    for (const use of uses) {
      const list = this.byDay.get(use.day);
      if (list === undefined) this.byDay.set(use.day, [use]);
      else list.push(use);
    }
  }

  /** Each team's weight in a charge of a currency over some days: above zero, in one unit for all. */
  weightsOf(currency: string, { first, count }: DaySpan): ReadonlyMap<string, bigint> {
    const key = `${currency} ${first} ${count}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const uses = Array.from({ length: count }, (_, at) => this.byDay.get(first + at) ?? []).flat();
    const costs = uses.map((use) => this.converted(use, currency));
    const time = (): ReadonlyMap<string, bigint> =>
      sums(uses.map(({ team, gpuPartMs }) => ({ team, weight: gpuPartMs })));
    const cost = sums(uses.map(({ team }, at) => ({ team, weight: costs[at] ?? 0n })));
    const isWhole = uses.every(({ nanos }, at) => nanos === null || costs[at] !== null);
    const byTime = isWhole ? null : time();
    const weights = byTime !== null && byTime.size > 0 ? byTime : cost;
    this.known.set(key, weights);
    return weights;
  }

  /** Null: there is no rate, or nothing to convert. */
  private converted({ nanos, currency, day }: DirectUse, to: string): bigint | null {
    if (nanos === null || currency === to || nanos === 0n) return nanos;
    const rate = this.fx.rate(currency, to, day * DAY_MS)?.rate;
    return rate === undefined ? null : divideHalfEven(nanos * rate.numerator, rate.denominator);
  }
}

function sums(parts: readonly { readonly team: string; readonly weight: bigint }[]): Map<string, bigint> {
  const teams = new Map<string, bigint>();
  for (const { team, weight } of parts) teams.set(team, (teams.get(team) ?? 0n) + weight);
  return new Map([...teams].filter(([, weight]) => weight > 0n));
}
