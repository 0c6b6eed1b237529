/**
 * Cases for the anomaly tests: recorded prices and spend, seeded series (synthetic), and labelled anomalies put into
 * them.
 *
 * An injected anomaly is never where the detector has had no past: 35 points at least for spend, 20 for prices.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { PricePoint } from '../../src/planning/anomaly/prices.js';
import type { SpendPoint } from '../../src/planning/anomaly/spend.js';
import type { Random } from '../../src/lab/random.js';

const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
const lines = (text: string): string[][] =>
  text
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(','));

/** AWS spot prices by `zone/type`. */
export function awsPrices(): Map<string, PricePoint[]> {
  const series = new Map<string, PricePoint[]>();
  for (const region of ['us-east-1', 'us-west-2']) {
    for (const [at = '', zone = '', type = '', , price = ''] of lines(
      gunzipSync(fixture(`aws-spot-price/spot_${region}.csv.gz`)).toString(),
    ).slice(1)) {
      const key = `${zone}/${type}`;
      const points = series.get(key) ?? [];
      points.push({ at: Date.parse(at), price: Number(price) });
      series.set(key, points);
    }
  }
  return series;
}

/** Azure spot prices by size, as collected by hand: `$` signs and M/D/YYYY. */
export function azurePrices(): Map<string, PricePoint[]> {
  const [[, ...sizes] = [], ...rows] = lines(fixture('azure-spot-price/us_east.csv').toString());
  const day = (text: string): number => {
    const [month, date, year] = text.split('/').map(Number);
    return Date.UTC(year ?? 0, (month ?? 0) - 1, date);
  };
  return new Map(
    sizes.map((size, column) => [
      size,
      rows.map((row) => ({ at: day(row[0] ?? ''), price: Number((row[column + 1] ?? '').replace('$', '')) })),
    ]),
  );
}

/** The GPU family of an Azure size: `NC24rs v2` and `NC6s v2` are both `v2`. */
export const familyOf = (size: string): string => size.split(' ')[1] ?? 'v1';

/** GPU-hours per day of the recorded cluster, whole and by group, from the first day of use. */
export function openbDaily(): Map<string, number[]> {
  const [header = [], ...rows] = lines(fixture('openb-daily/daily.csv').toString());
  const columns = new Map(header.slice(1).map((name, index) => [name, rows.map((row) => Number(row[index + 1]))]));
  columns.set(
    'total',
    rows.map((row) => row.slice(1).reduce((sum, value) => sum + Number(value), 0)),
  );
  return new Map([...columns].map(([name, values]) => [name, values.slice(values.findIndex((value) => value > 0))]));
}

export const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A working week with a slowly drifting level, no jumps; `noise` is the deviation of a day's logarithm (synthetic). */
export function weeklyDays(random: Random, count: number, noise: number): number[] {
  const week = [1.1, 1.15, 1.2, 1.1, 1, 0.5, 0.4];
  let level = 100;
  return Array.from({ length: count }, (_, day) => {
    level *= Math.exp(0.002 + 0.01 * normal(random));
    return level * (week[day % 7] ?? 1) * Math.exp(noise * normal(random));
  });
}

/** Hours with a day's and a week's shape (synthetic). */
export function weeklyHours(random: Random, count: number, noise: number): number[] {
  return Array.from({ length: count }, (_, hour) => {
    const [ofDay, ofWeek] = [hour % 24, Math.floor(hour / 24) % 7];
    return (
      10 *
      (1 + 0.6 * Math.sin((2 * Math.PI * (ofDay - 8)) / 24)) *
      (ofWeek < 5 ? 1 : 0.5) *
      Math.exp(noise * normal(random))
    );
  });
}

export const asSpend = (values: readonly (number | null)[]): SpendPoint[] => values.map((spend, at) => ({ at, spend }));

/** `length` values from `start` on multiplied; to the end of the series where `length` is infinite. */
export const scaled = (values: readonly number[], start: number, length: number, factor: number): number[] =>
  values.map((value, index) => (index >= start && index < start + length ? value * factor : value));

export const scaledPrices = (
  points: readonly PricePoint[],
  start: number,
  length: number,
  factor: number,
): PricePoint[] =>
  points.map((point, index) =>
    index >= start && index < start + length ? { ...point, price: point.price * factor } : point,
  );

/** From `start` on the price of that point again and again. */
export const stuck = (points: readonly PricePoint[], start: number): PricePoint[] =>
  points.map((point, index) => (index > start ? { ...point, price: points[start]?.price ?? point.price } : point));

export const between = (random: Random, low: number, high: number): number => low + (high - low) * random();
export const position = (random: Random, low: number, high: number): number => Math.floor(between(random, low, high));
