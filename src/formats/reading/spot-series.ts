/**
 * Spot prices as change points, made into intervals: a price holds until the next point of its series.
 *
 * After its last point a series is not known to hold: it ends a day later, because both sources state a price at least
 * daily. Equal prices that follow each other are one interval. The points may come in any order.
 */
import { compareDecimal, type Decimal } from '../../core/decimal.js';
import { invalid } from '../../core/errors.js';
import type { PriceEvent } from '../../core/price/price.js';
import { instancePrice, type InstancePrice } from './price-row.js';
import { plusDays } from './times.js';

/** Change points that are held in memory at once: a year of one region's GPU types has a hundredth of it. */
const MOST_POINTS = 2_000_000;

/** What all points of a series share. */
export type SpotSeries = Omit<InstancePrice, 'price' | 'effectiveFrom' | 'effectiveTo' | 'term'>;

/** `price` null: not offered from that instant on. */
interface Point {
  readonly at: number;
  readonly price: Decimal | null;
}

export class SpotPoints {
  private readonly series = new Map<string, { facts: SpotSeries; points: Point[] }>();
  private count = 0;

  add(facts: SpotSeries, at: number, price: Decimal | null): void {
    const key = `${facts.region ?? ''} ${facts.sku}`;
    const series = this.series.get(key) ?? { facts, points: [] };
    this.series.set(key, series);
    series.points.push({ at, price });
    if (++this.count > MOST_POINTS)
      throw invalid(`the spot price history has more than ${MOST_POINTS} rows; split it by region`);
  }

  /** All prices of a series at a time, ascending. */
  *events(): Generator<PriceEvent[]> {
    for (const { facts, points } of this.series.values()) {
      points.sort((a, b) => a.at - b.at);
      yield eventsOf(facts, points);
    }
  }
}

function eventsOf(facts: SpotSeries, points: readonly Point[]): PriceEvent[] {
  const events: PriceEvent[] = [];
  let start: Point | null = null;
  const close = (effectiveTo: number): void => {
    if (start === null || start.price === null || effectiveTo <= start.at) return;
    events.push(instancePrice({ ...facts, term: 'spot', price: start.price, effectiveFrom: start.at, effectiveTo }));
  };
  for (const point of points) {
    if (start !== null && areEqual(start.price, point.price)) continue;
    close(point.at);
    start = point;
  }
  const last = points[points.length - 1];
  if (last !== undefined) close(plusDays(last.at, 1));
  return events;
}

function areEqual(a: Decimal | null, b: Decimal | null): boolean {
  return a === null || b === null ? a === b : compareDecimal(a, b) === 0;
}
