/**
 * What the anomaly detectors do on labelled cases: false alarms per 1,000 points, and the share of injected anomalies
 * that is found.
 *
 * The measurements of docs/decisions-quality/anomaly.md come from here; the tests hold them. An injected anomaly counts
 * as found when a report of an accepted kind stands at its first point; nothing near it counts.
 */
import type { Anomaly, AnomalyKind } from '../../src/planning/anomaly/anomaly.js';
import { detectPriceAnomalies, type PricePoint } from '../../src/planning/anomaly/prices.js';
import { DAILY, detectSpendAnomalies, HOURLY, type SpendAnomalyOptions } from '../../src/planning/anomaly/spend.js';
import { mulberry32, type Random } from '../../src/lab/random.js';
import {
  asSpend,
  awsPrices,
  azurePrices,
  between,
  familyOf,
  openbDaily,
  position,
  scaled,
  scaledPrices,
  stuck,
  weeklyDays,
  weeklyHours,
} from './anomaly-cases.js';

export interface Recall {
  readonly name: string;
  readonly cases: number;
  readonly found: number;
  /** Mean number of points from the anomaly's first point to the report, of those found. */
  readonly meanDelayPoints: number;
}

export interface FalseAlarms {
  readonly name: string;
  readonly points: number;
  readonly reports: number;
  readonly perThousand: number;
}

type Detector = (values: readonly number[]) => Anomaly[];

const detector =
  (options: SpendAnomalyOptions): Detector =>
  (values) =>
    detectSpendAnomalies(asSpend(values), options);
export const bursarDaily = detector(DAILY);
export const bursarHourly = detector(HOURLY);

/** The plain rule beside it: off the mean of the last 28 points by more than three standard deviations. */
export const threeSigma: Detector = (values) =>
  values.flatMap((observed, at) => {
    const past = values.slice(Math.max(0, at - 28), at);
    if (past.length < 14) return [];
    const mean = past.reduce((sum, value) => sum + value, 0) / past.length;
    const limit = 3 * Math.sqrt(past.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (past.length - 1));
    const score = Math.abs(observed - mean) / Math.max(limit, 1e-9);
    if (score <= 1) return [];
    return [
      {
        at,
        decidedAt: at,
        kind: observed > mean ? 'spike' : 'drop',
        observed,
        score,
        expected: { low: mean - limit, mean, high: mean + limit },
        evidence: {},
      },
    ];
  });

/** Series without anomalies by name, made afresh from a seed (synthetic), or recorded. */
export const CLEAN = {
  'days, 8 % noise': (random: Random) => weeklyDays(random, 200, 0.08),
  'days, 20 % noise': (random: Random) => weeklyDays(random, 200, 0.2),
  'hours, 10 % noise': (random: Random) => weeklyHours(random, 1500, 0.1),
} as const;

export function falseAlarms(name: string, series: readonly (readonly number[])[], detect: Detector): FalseAlarms {
  const points = series.reduce((sum, values) => sum + values.length, 0);
  const reports = series.reduce((sum, values) => sum + detect(values).length, 0);
  return { name, points, reports, perThousand: (1000 * reports) / points };
}

interface Injection {
  readonly length: number;
  readonly factor: (random: Random) => number;
  readonly kinds: readonly AnomalyKind[];
}

export const SPEND_INJECTIONS: Readonly<Record<string, Injection>> = {
  'one point x 1.3': { length: 1, factor: () => 1.3, kinds: ['spike'] },
  'one point x 1.5': { length: 1, factor: () => 1.5, kinds: ['spike'] },
  'one point x 2': { length: 1, factor: () => 2, kinds: ['spike'] },
  'one point x 3': { length: 1, factor: () => 3, kinds: ['spike'] },
  'one point x 0.5': { length: 1, factor: () => 0.5, kinds: ['drop'] },
  'one point x 0': { length: 1, factor: () => 0, kinds: ['drop'] },
  'level x 1.5 from a point on': { length: Infinity, factor: () => 1.5, kinds: ['level-shift'] },
  'level x 2 from a point on': { length: Infinity, factor: () => 2, kinds: ['level-shift'] },
};

function tally(name: string, outcomes: readonly (number | null)[]): Recall {
  const delays = outcomes.filter((delay) => delay !== null);
  return {
    name,
    cases: outcomes.length,
    found: delays.length,
    meanDelayPoints: delays.length === 0 ? NaN : delays.reduce((sum, delay) => sum + delay, 0) / delays.length,
  };
}

/** One anomaly per series, at a drawn point from `first` on. */
export function spendRecall(
  name: string,
  series: readonly (readonly number[])[],
  injection: Injection,
  detect: Detector,
  first = 35,
): Recall {
  const random = mulberry32(77);
  return tally(
    name,
    series.map((values) => {
      const start = position(random, first, values.length - 5);
      const report = detect(scaled(values, start, injection.length, injection.factor(random))).find(
        ({ at, kind }) => at === start && injection.kinds.includes(kind),
      );
      return report === undefined ? null : report.decidedAt - start;
    }),
  );
}

type PriceInjection = (
  points: readonly PricePoint[],
  random: Random,
) => { readonly points: PricePoint[]; readonly start: number };
const anywhere = (points: readonly PricePoint[], random: Random): number => position(random, 20, points.length - 5);
const at =
  (length: (random: Random) => number, factor: (random: Random) => number): PriceInjection =>
  (points, random) => {
    const start = anywhere(points, random);
    return { start, points: scaledPrices(points, start, length(random), factor(random)) };
  };
const eitherWay = (random: Random, factor: number): number => (random() < 0.5 ? factor : 1 / factor);

export const PRICE_INJECTIONS: Readonly<
  Record<string, { readonly inject: PriceInjection; readonly kinds: readonly AnomalyKind[] }>
> = {
  'decimal slip, x 10 or / 10, one point': {
    inject: at(
      () => 1,
      (random) => eitherWay(random, 10),
    ),
    kinds: ['dirty-price'],
  },
  'decimal slip, x 100 or / 100, one point': {
    inject: at(
      () => 1,
      (random) => eitherWay(random, 100),
    ),
    kinds: ['dirty-price'],
  },
  'jump by 2.2 to 5 and back, one or two points': {
    inject: at(
      (random) => position(random, 1, 3),
      (random) => eitherWay(random, between(random, 2.2, 5)),
    ),
    kinds: ['dirty-price'],
  },
  'jump by 1.2 to 1.9 and back, reported at once': {
    inject: at(
      () => 1,
      (random) => eitherWay(random, between(random, 1.2, 1.9)),
    ),
    kinds: ['spike', 'drop'],
  },
  'the same, called dirty': {
    inject: at(
      () => 1,
      (random) => eitherWay(random, between(random, 1.2, 1.9)),
    ),
    kinds: ['dirty-price'],
  },
  'level by 1.3 to 2, to stay': {
    inject: at(
      () => Infinity,
      (random) => eitherWay(random, between(random, 1.3, 2)),
    ),
    kinds: ['level-shift'],
  },
};

/** The recorded series of an AWS instance type in the other zones of the region. */
function otherZones(all: ReadonlyMap<string, PricePoint[]>, key: string): PricePoint[][] {
  const [zone = '', type = ''] = key.split('/');
  return [...all]
    .filter(([other]) => other !== key && other.startsWith(zone.slice(0, -1)) && other.endsWith(`/${type}`))
    .map(([, points]) => points);
}

/** Two seeded cases on each recorded AWS series; with peers, the other zones are given too. */
export function priceRecall(name: string, withPeers: boolean): Recall {
  const { inject, kinds } = PRICE_INJECTIONS[name] ?? {
    inject: at(
      () => 1,
      () => 1,
    ),
    kinds: [],
  };
  const random = mulberry32(42);
  const all = awsPrices();
  return tally(
    name,
    [...all].flatMap(([key, series]) =>
      [series, series].map((clean) => {
        const { points, start } = inject(clean, random);
        const first = points[start]?.at;
        const peers = withPeers ? otherZones(all, key) : [];
        const report = detectPriceAnomalies(points, { peers }).find(
          (one) => one.at === first && kinds.includes(one.kind),
        );
        return report === undefined ? null : points.findIndex((point) => point.at === report.decidedAt) - start;
      }),
    ),
  );
}

/** All reports on the recorded AWS prices, which are clean. */
export function awsReports(withPeers: boolean): {
  readonly points: number;
  readonly found: readonly { readonly key: string; readonly anomaly: Anomaly }[];
} {
  const all = awsPrices();
  const found = [...all].flatMap(([key, points]) =>
    detectPriceAnomalies(points, { peers: withPeers ? otherZones(all, key) : [] }).map((anomaly) => ({ key, anomaly })),
  );
  return { points: [...all.values()].reduce((sum, points) => sum + points.length, 0), found };
}

/** All reports on the hand-collected Azure prices, each size with the others of its family as peers. */
export function azureReports(): { readonly size: string; readonly anomaly: Anomaly }[] {
  const all = azurePrices();
  return [...all].flatMap(([size, points]) => {
    const peers = [...all]
      .filter(([other]) => other !== size && familyOf(other) === familyOf(size))
      .map(([, series]) => series);
    return detectPriceAnomalies(points, { peers }).map((anomaly) => ({ size, anomaly }));
  });
}

/** Series that used to move, stuck at a drawn point in their first half; found is any report of a repeat after it. */
export function stuckRecall(): Recall {
  const random = mulberry32(43);
  const moving = [...awsPrices().values()].filter((points) => new Set(points.map(({ price }) => price)).size > 60);
  return tally(
    'feed that repeats one price from some point on',
    moving.map((clean) => {
      const start = position(random, Math.floor(clean.length / 3), Math.floor(clean.length / 2));
      const points = stuck(clean, start);
      const report = detectPriceAnomalies(points).find(
        ({ kind, decidedAt }) => kind === 'dirty-price' && decidedAt > (points[start]?.at ?? 0),
      );
      return report === undefined ? null : points.findIndex((point) => point.at === report.decidedAt) - start;
    }),
  );
}

export const seeded = (make: (random: Random) => number[], first: number, count: number): number[][] =>
  Array.from({ length: count }, (_, index) => make(mulberry32(first + index)));

/** The recorded groups that have 60 days or more, as spend of 1 per GPU-hour; ten injections in each. */
export const openbSeries = (): number[][] =>
  [...openbDaily().values()]
    .filter((values) => values.length >= 60)
    .flatMap((values) => Array.from({ length: 10 }, () => values));
