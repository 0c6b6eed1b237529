import { describe, expect, it } from 'vitest';
import type { Anomaly } from '../../src/planning/anomaly/anomaly.js';
import { detectSpendAnomalies } from '../../src/planning/anomaly/spend.js';
import { mulberry32 } from '../../src/lab/random.js';
import { asSpend, awsPrices, azurePrices, openbDaily } from './anomaly-cases.js';
import {
  awsReports,
  azureReports,
  bursarDaily,
  bursarHourly,
  CLEAN,
  falseAlarms,
  openbSeries,
  PRICE_INJECTIONS,
  priceRecall,
  seeded,
  SPEND_INJECTIONS,
  spendRecall,
  stuckRecall,
  threeSigma,
  type Recall,
} from './anomaly-measures.js';

/** Set BURSAR_TABLES=1 to print the figures of docs/decisions-quality/anomaly.md. */
const print = (...cells: (string | number)[]): void => {
  if (process.env['BURSAR_TABLES'] === '1') process.stdout.write(`| ${cells.join(' | ')} |\n`);
};
const share = ({ found, cases }: Recall): number => found / cases;
const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
const DAYS = ['days, 8 % noise', 'days, 20 % noise'] as const;

describe('prices', () => {
  it('AWS: two reports on 9,591 clean prices, both of one real move, with peers or without', () => {
    for (const withPeers of [false, true]) {
      const { points, found } = awsReports(withPeers);
      print('aws', withPeers ? 'peers' : 'alone', points, found.length, ((1000 * found.length) / points).toFixed(2));
      expect(points).toBe(9591);
      expect(found.map(({ key, anomaly: { kind, at } }) => `${key} ${kind} ${day(at)}`)).toEqual([
        'us-east-1c/p2.16xlarge drop 2020-03-06',
        'us-east-1c/p2.16xlarge level-shift 2020-03-06',
      ]);
    }
  });

  it('injected into the AWS prices (seeded): slips, jumps and shifts are found', () => {
    for (const withPeers of [false, true])
      for (const name of Object.keys(PRICE_INJECTIONS)) {
        const recall = priceRecall(name, withPeers);
        print(
          name,
          withPeers ? 'peers' : 'alone',
          recall.cases,
          share(recall).toFixed(3),
          recall.meanDelayPoints.toFixed(1),
        );
        expect(share(recall)).toBeGreaterThanOrEqual(name === 'the same, called dirty' && !withPeers ? 0 : 0.97);
      }
  });

  it('a feed that stops moving is found in most series, late', () => {
    const recall = stuckRecall();
    print(recall.name, 'alone', recall.cases, share(recall).toFixed(3), recall.meanDelayPoints.toFixed(1));
    expect(share(recall)).toBeGreaterThan(0.7);
    expect(recall.meanDelayPoints).toBeLessThan(50);
  });

  it('Azure, by hand: what moved alone is dirty, what the family did together is a real move', () => {
    const found = azureReports();
    found.forEach(({ size, anomaly: { at, kind, expected, observed } }) =>
      print(size, day(at), kind, expected.mean.toFixed(5), observed.toFixed(5)),
    );
    const of = (kind: Anomaly['kind']): string[] =>
      found
        .filter(({ anomaly }) => anomaly.kind === kind)
        .map(({ size, anomaly }) => `${day(anomaly.at)} ${size}`)
        .sort();
    const family = (at: string): string[] =>
      ['NC12s v2', 'NC24rs v2', 'NC24s v2', 'NC6s v2'].map((size) => `${at} ${size}`);
    expect(of('dirty-price')).toEqual(['2020-03-07 NC24rs v2', '2020-03-10 NC12s v3']);
    expect(of('level-shift')).toEqual([...family('2020-02-26'), ...family('2020-03-01')]);
    expect(of('drop')).toEqual(family('2020-03-01'));
    expect(of('spike')).toEqual([
      ...family('2020-02-26'),
      '2020-03-07 NC24rs v2',
      '2020-03-10 NC12s v3',
      ...family('2020-03-11'),
      ...family('2020-03-21'),
    ]);
  });
});

describe('spend, seeded and clean (synthetic)', () => {
  it('reports in vain no more often than it says: 5 of 1,000 days, 1 of 1,000 hours', () => {
    for (const name of DAYS) {
      const series = seeded(CLEAN[name], 901, 100);
      const [own, plain] = [falseAlarms(name, series, bursarDaily), falseAlarms(name, series, threeSigma)];
      print(name, own.points, own.perThousand.toFixed(2), plain.perThousand.toFixed(2));
      expect(own.perThousand).toBeLessThan(5);
    }
    const hours = seeded(CLEAN['hours, 10 % noise'], 901, 6);
    const [own, plain] = [falseAlarms('hours', hours, bursarHourly), falseAlarms('hours', hours, threeSigma)];
    print('hours, 10 % noise', own.points, own.perThousand.toFixed(2), plain.perThousand.toFixed(2));
    expect(own.perThousand).toBeLessThan(1);
  });

  it('finds what was put in', () => {
    const least: Readonly<Record<string, number>> = {
      'one point x 2': 0.95,
      'one point x 3': 0.98,
      'one point x 0.5': 0.9,
      'one point x 0': 0.98,
      'level x 2 from a point on': 0.9,
    };
    for (const name of DAYS)
      for (const [what, injection] of Object.entries(SPEND_INJECTIONS)) {
        const series = seeded(CLEAN[name], 901, 100);
        const [own, plain] = [
          spendRecall(what, series, injection, bursarDaily),
          spendRecall(what, series, injection, threeSigma),
        ];
        print(name, what, own.cases, share(own).toFixed(2), share(plain).toFixed(2), own.meanDelayPoints.toFixed(1));
        if (name === 'days, 8 % noise') expect(share(own)).toBeGreaterThanOrEqual(least[what] ?? 0);
      }
  });
});

describe('spend by the hour, seeded and clean (synthetic)', () => {
  it('finds what was put in, from the fourth week on', () => {
    const series = seeded(CLEAN['hours, 10 % noise'], 901, 12).map((values) => values.slice(0, 900));
    for (const what of [
      'one point x 1.5',
      'one point x 2',
      'one point x 0.5',
      'level x 1.5 from a point on',
      'level x 2 from a point on',
    ]) {
      const injection = SPEND_INJECTIONS[what];
      if (injection === undefined) throw new Error(what);
      const [own, plain] = [
        spendRecall(what, series, injection, bursarHourly, 504),
        spendRecall(what, series, injection, threeSigma, 504),
      ];
      print(
        'hours, 10 % noise',
        what,
        own.cases,
        share(own).toFixed(2),
        share(plain).toFixed(2),
        own.meanDelayPoints.toFixed(1),
      );
      if (what.includes('x 2')) expect(share(own)).toBeGreaterThanOrEqual(0.9);
    }
  });
});

describe('spend on the recorded cluster', () => {
  it('reports the jumps of the whole and of its largest group, and nothing else', () => {
    const reports = [...openbDaily()].flatMap(([group, values]) =>
      detectSpendAnomalies(asSpend(values)).map((anomaly) => ({ group, values, anomaly })),
    );
    reports.forEach(({ group, anomaly: { at, kind, expected, observed } }) =>
      print(group, at, kind, expected.mean.toFixed(0), observed.toFixed(0)),
    );
    expect(reports.map(({ group, anomaly: { at, kind } }) => `${group} ${kind} ${at}`)).toEqual([
      'LS-one spike 18',
      'LS-one level-shift 18',
      'LS-one spike 32',
      'LS-one level-shift 32',
      'LS-one spike 35',
      'LS-one level-shift 35',
      'total spike 35',
      'total level-shift 35',
      'total spike 109',
      'total level-shift 109',
      'total spike 117',
      'total level-shift 117',
      'total spike 137',
    ]);
    // Every one of them is a day at least a tenth above the dearest of the week before; the last, within a steep climb,
    // by 14 %.
    for (const {
      values,
      anomaly: { at, kind },
    } of reports) {
      if (kind === 'spike')
        expect(values[at]).toBeGreaterThan(1.1 * Math.max(...values.slice(Math.max(0, at - 7), at)));
    }
    for (const [group, values] of openbDaily()) {
      print(
        group,
        values.length,
        falseAlarms(group, [values], bursarDaily).reports,
        falseAlarms(group, [values], threeSigma).reports,
      );
    }
  });

  it('finds half of the injected doublings: the cluster itself jumps by that much', () => {
    for (const [what, injection] of Object.entries(SPEND_INJECTIONS)) {
      const [own, plain] = [
        spendRecall(what, openbSeries(), injection, bursarDaily),
        spendRecall(what, openbSeries(), injection, threeSigma),
      ];
      print('openb', what, own.cases, share(own).toFixed(2), share(plain).toFixed(2));
      if (what === 'one point x 3') expect(share(own)).toBeGreaterThan(0.6);
    }
  });
});

describe('honesty of the backtest', () => {
  it('a shuffled future leaves every report of the past as it was', () => {
    const total = openbDaily().get('total') ?? [];
    const random = mulberry32(5);
    for (const cut of [40, 80, 112, 118]) {
      const future = total
        .slice(cut)
        .map((value) => ({ value, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ value }) => value);
      const past = (values: readonly number[]) => bursarDaily(values).filter(({ decidedAt }) => decidedAt < cut);
      expect(past([...total.slice(0, cut), ...future])).toEqual(past(total));
    }
  });

  it('control totals of the fixtures', () => {
    const aws = awsPrices();
    expect(aws.size).toBe(47);
    expect(
      [...aws].filter(([key]) => key.startsWith('us-east-1')).reduce((sum, [, points]) => sum + points.length, 0),
    ).toBe(5382);
    const azure = [...azurePrices().values()];
    expect([azure.length, azure.flat().length, azure.flat().every(({ price }) => price > 0)]).toEqual([
      12,
      azure.length * (azure[0]?.length ?? 0),
      true,
    ]);
  });
});
