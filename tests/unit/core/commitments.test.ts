/** Utilisation and coverage of commitments: counted by hand, and unknown where a line does not say. */
import { describe, expect, it } from 'vitest';
import { CommitmentSums, commitmentReport } from '../../../src/core/bill/commitments.js';
import { checkComplete, manifestFiles } from '../../../src/core/bill/manifest.js';
import { parseDecimal } from '../../../src/core/decimal.js';
import { Failure } from '../../../src/core/errors.js';
import type { Charge, Commitment, Term, UsageRecord } from '../../../src/core/usage.js';

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
  return {
    id: '1',
    provider: 'AWS',
    account: '42',
    subAccount: null,
    resource: null,
    namespace: null,
    service: 'EC2',
    sku: null,
    region: null,
    term,
    gpuModel: null,
    tags: null,
    start: DAY,
    end: DAY + 3_600_000,
    gpuParts: null,
    storageMib: null,
    networkBytes: null,
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
  };
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

  it('is open where nothing was committed, and the same whatever the order of the lines', () => {
    expect(reportOf([BOUGHT]).commitments).toMatchObject([{ used: '0', unused: '0', utilisation: null }]);
    expect(reportOf([SPOT])).toEqual({ contracts: [], commitments: [], coverage: [] });
    const lines = [USED, ON_DEMAND, UNUSED, BOUGHT];
    expect(reportOf(lines.toReversed())).toEqual(reportOf(lines));
  });
});

describe('a manifest', () => {
  it('names the files of a report or of an export, without folders and gzip', () => {
    expect(manifestFiles({ reportKeys: ['cur/20261001-20261101/x-00001.csv.gz'] })).toEqual(['x-00001.csv']);
    expect(manifestFiles({ dataFiles: ['s3://b/x-00001.snappy.parquet'] })).toEqual(['x-00001.snappy.parquet']);
    for (const value of [null, [], {}, { reportKeys: [] }, { reportKeys: [1] }])
      expect(manifestFiles(value)).toBeNull();
  });

  it('refuses a set that is not complete, naming every missing file', () => {
    expect(() => checkComplete('m.json', ['a.csv', 'b.csv'], ['b.csv.gz', 'a.csv', 'c.csv'])).not.toThrow();
    const refused = (): void => checkComplete('m.json', ['a.csv', 'b.csv', 'c.csv'], ['b.csv']);
    expect(refused).toThrow(Failure);
    expect(refused).toThrow(/m\.json names 3 file\(s\), and 2 of them are missing/);
    try {
      refused();
    } catch (error) {
      expect((error as Failure).problems.map(({ path }) => path)).toEqual(['a.csv', 'c.csv']);
    }
  });
});
