/** Utilisation and coverage of commitments: counted by hand, and unknown where a line does not say. */
import { describe, expect, it } from 'vitest';
import { CommitmentSums, commitmentReport } from '../../../src/core/bill/commitments.js';
import { checkFiles, manifestOf, periodsOf } from '../../../src/core/bill/manifest.js';
import { parseDecimal } from '../../../src/core/decimal.js';
import { Failure } from '../../../src/core/errors.js';
import type { Charge, Commitment, Term, UsageRecord } from '../../../src/core/usage.js';
import { metered } from '../../support/records.js';

const DAY = Date.UTC(2026, 9, 5);
const PLAN: Commitment = {
  id: 'sp-1',
  category: 'Spend',
  type: 'Savings Plan',
  name: 'ML',
  status: 'Used',
  quantity: null,
  unit: null,
};

interface Line extends Partial<Pick<Charge, 'category'>> {
  readonly billed?: string;
  readonly effective?: string | null;
  readonly list?: string | null;
  readonly commitment?: Commitment | null;
  readonly term?: Term | null;
}

function line({
  billed = '0',
  effective = null,
  list = null,
  commitment = null,
  term = null,
  category,
}: Line): UsageRecord {
  return metered('1', {
    account: '42',
    service: 'EC2',
    sku: null,
    region: null,
    term,
    start: DAY,
    end: DAY + 3_600_000,
    gpuParts: null,
    charge: {
      category: category ?? 'Usage',
      currency: 'USD',
      billed: parseDecimal(billed)!,
      effective: effective === null ? null : parseDecimal(effective),
      list: list === null ? null : parseDecimal(list),
      periodStart: Date.UTC(2026, 9, 1),
      periodEnd: Date.UTC(2026, 10, 1),
      commitment,
    },
  });
}

function reportOf(lines: readonly UsageRecord[]) {
  const sums = new CommitmentSums();
  for (const one of lines) sums.add(one);
  return commitmentReport(sums.drain());
}

const USED = line({ effective: '15.0', list: '20', commitment: PLAN, term: 'savings-plan-1y' });
const UNUSED = line({ effective: '5.00', commitment: { ...PLAN, status: 'Unused' } });
const BOUGHT = line({ billed: '20', effective: '0', category: 'Purchase', commitment: { ...PLAN, status: null } });
const ON_DEMAND = line({ billed: '60', effective: '60', list: '60', term: 'on-demand' });
const SPOT = line({ billed: '3', effective: '3', list: '9', term: 'spot' });

describe('a report on commitments', () => {
  it('divides what was used by what was committed, and what was covered by what could have been', () => {
    expect(reportOf([USED, UNUSED, BOUGHT, ON_DEMAND, SPOT])).toEqual({
      contracts: [],
      commitments: [
        {
          provider: 'AWS',
          account: '42',
          commitment: 'sp-1',
          category: 'Spend',
          type: 'Savings Plan',
          name: 'ML',
          currency: 'USD',
          purchased: '20',
          used: '15.0',
          unused: '5.00',
          unknownLines: 0,
          utilisation: '0.750000',
        },
      ],
      coverage: [
        {
          provider: 'AWS',
          account: '42',
          service: 'EC2',
          currency: 'USD',
          covered: '20',
          onDemand: '60',
          unknownLines: 0,
          coverage: '0.250000',
        },
      ],
    });
  });

  it.each<[string, UsageRecord]>([
    ['no effective cost', line({ list: '20', commitment: PLAN })],
    ['no status', line({ effective: '4', commitment: { ...PLAN, status: null } })],
  ])('leaves the utilisation open where a line has %s, and counts it', (_, unknown) => {
    const [one] = reportOf([USED, UNUSED, unknown]).commitments;
    expect(one).toMatchObject({ used: '15.0', unknownLines: 1, utilisation: null });
  });

  it('leaves the coverage open where a line has no list cost', () => {
    const [one] = reportOf([USED, ON_DEMAND, line({ billed: '1', effective: '1', term: 'on-demand' })]).coverage;
    expect(one).toMatchObject({ covered: '20', onDemand: '60', unknownLines: 1, coverage: null });
  });

  it('counts fees as purchased in whichever status, less what was given back, and neither tax nor credits', () => {
    // AWS states on a reservation's fee what of it was not used.
    const fee = line({
      billed: '600',
      effective: '580',
      category: 'Purchase',
      commitment: { ...PLAN, status: 'Unused' },
    });
    const beside = (billed: string, category: Charge['category']): UsageRecord =>
      line({ billed, category, commitment: { ...PLAN, status: null } });
    const lines = [USED, fee, beside('-40', 'Adjustment'), beside('9', 'Tax'), beside('-5', 'Credit')];
    expect(reportOf(lines).commitments).toMatchObject([
      { purchased: '560', used: '15.0', unused: '580', unknownLines: 0, utilisation: '0.025210' },
    ]);
  });

  it('is open where nothing was committed, and the same whatever the order of the lines', () => {
    expect(reportOf([BOUGHT]).commitments).toMatchObject([{ used: '0', unused: '0', utilisation: null }]);
    expect(reportOf([SPOT])).toEqual({ contracts: [], commitments: [], coverage: [] });
    const lines = [USED, ON_DEMAND, UNUSED, BOUGHT];
    expect(reportOf(lines.toReversed())).toEqual(reportOf(lines));
  });
});

describe('a manifest', () => {
  const OCTOBER = Date.UTC(2026, 9, 1);
  const keys = (...names: string[]): object => ({ reportKeys: names });
  const cur = (...names: string[]) => names.map((name) => ({ name, format: 'aws-cur' }));
  const check = (manifests: readonly object[], files: ReturnType<typeof cur>): void =>
    checkFiles(
      manifests.map((value) => manifestOf('m.json', value)!),
      files,
    );

  it('names the files of a report or of an export, and their billing period', () => {
    const billingPeriod = { start: '20261001T000000.000Z', end: '20261101T000000.000Z' };
    const report = manifestOf('m.json', { ...keys('cur/20261001-20261101/x-00001.csv.gz'), billingPeriod });
    expect([...(periodsOf([report!], 'x-00001.csv') ?? [])]).toEqual([OCTOBER]);
    const month = manifestOf('m.json', { dataFiles: ['s3://b/data/BILLING_PERIOD=2026-10/x-00001.snappy.parquet'] });
    expect([...(periodsOf([month!], 'x-00001.snappy.parquet') ?? [])]).toEqual([OCTOBER]);
    expect(periodsOf([report!, manifestOf('n.json', keys('y/x-00001.csv'))!], 'x-00001.csv')).toBeNull();
    expect(periodsOf([report!], 'other.csv')).toBeNull();
    for (const value of [null, [], {}, { reportKeys: [] }, { reportKeys: [1] }])
      expect(manifestOf('m.json', value)).toBeNull();
  });

  it('refuses a set that is not complete, naming every missing file', () => {
    expect(() => check([keys('p/a.csv', 'p/b.csv.gz')], cur('b.csv.gz', 'a.csv'))).not.toThrow();
    const refused = (): void => check([keys('a.csv', 'b.csv', 'c.csv')], cur('b.csv'));
    expect(refused).toThrow(Failure);
    expect(refused).toThrow(/m\.json names 3 file\(s\).*a\.csv is missing; c\.csv is missing/);
    try {
      refused();
    } catch (error) {
      expect((error as Failure).problems.map(({ path }) => path)).toEqual(['a.csv', 'c.csv']);
    }
  });

  it('refuses a part that it does not name, and one that is there twice: both would count twice', () => {
    expect(() => check([keys('p/a.csv')], cur('a.csv', 'b.csv'))).toThrow(/b\.csv is not named/);
    expect(() => check([keys('p/a.csv')], [...cur('a.csv'), { name: 'azure.csv', format: 'azure-ea' }])).not.toThrow();
    expect(() => check([keys('p/a.csv')], cur('a.csv', 'a.csv.gz'))).toThrow(/a\.csv is there 2 times/);
    // Parts of two months have the same names; a report's manifest lies in two folders.
    expect(() => check([keys('oct/a.csv'), keys('nov/a.csv')], cur('a.csv', 'a.csv'))).not.toThrow();
    expect(() => check([keys('oct/a.csv'), keys('oct/a.csv')], cur('a.csv', 'a.csv'))).toThrow(/2 times/);
  });
});
