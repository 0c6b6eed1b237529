/** Corrections of metered records: what fits the record that they name, alone and together, and what is said if not. */
import { describe, expect, it } from 'vitest';
import { Corrected, misfit, whyMisfit } from '../../../src/core/corrections.js';
import { GPU_PARTS, type UsageRecord } from '../../../src/core/usage.js';
import { HOUR, metered, MONDAY } from '../../support/records.js';

const RECORD = metered('a', { start: MONDAY, end: MONDAY + 4 * HOUR, tags: { team: 'red' } });
/** Takes GPUs back from the record `a`, over hours of it. */
const back = (id: string, gpus: number, from = 0, to = 4, over: Partial<UsageRecord> = {}): UsageRecord => ({
  ...RECORD,
  id,
  corrects: 'a',
  start: MONDAY + from * HOUR,
  end: MONDAY + to * HOUR,
  gpuParts: -gpus * GPU_PARTS,
  ...over,
});
const misfitOf = (...corrections: UsageRecord[]): string | null => misfit(RECORD, corrections)?.id ?? null;

describe('corrections of a record', () => {
  it('fit while together they take back no more than it holds, at each instant', () => {
    expect(misfitOf()).toBeNull();
    expect(misfitOf(back('x', 8))).toBeNull();
    expect(misfitOf(back('x', 8.5))).toBe('x');
    expect(misfitOf(back('x', 5), back('y', 3))).toBeNull();
    expect(misfitOf(back('x', 5), back('y', 4))).toBe('x');
    expect(misfitOf(back('x', 8, 0, 2), back('y', 8, 2, 4))).toBeNull();
    expect(misfitOf(back('x', 8, 0, 3), back('y', 1, 2, 4))).toBe('y');
  });

  it('lie within its time', () => {
    expect(misfitOf(back('x', 1, 1, 5))).toBe('x');
    expect(misfitOf(back('x', 1, -1, 3))).toBe('x');
  });

  it('take back no storage and no traffic that it does not hold, traffic as it flowed', () => {
    expect(misfitOf(back('x', 0, 0, 4, { storageMib: -1 }))).toBe('x');
    const record = { ...RECORD, gpuParts: null, storageMib: 10, networkBytes: 4000 };
    const of = (over: Partial<UsageRecord>) => misfit(record, [back('x', 0, 0, 1, { gpuParts: null, ...over })]);
    expect(of({ storageMib: -10 })).toBeNull();
    expect(of({ storageMib: -11 })).not.toBeNull();
    expect(of({ networkBytes: -1000 })).toBeNull();
    expect(of({ networkBytes: -1001 })).not.toBeNull();
  });

  it('say what does not fit: the fields that differ, else the quantity or the time', () => {
    const other = back('x', 1, 0, 4, { region: 'eu-west-1', sku: 'g5', tags: { job: '7' } });
    expect(misfitOf(other)).toBe('x');
    expect(whyMisfit(RECORD, other, 'the record')).toBe('names another sku, region, tag job, tag team than the record');
    expect(whyMisfit(RECORD, back('x', 9), 'the record')).toBe(
      'takes back more than the record holds after its other corrections, or at another time',
    );
  });
});

describe('statements that count', () => {
  it('take a correction that fits beside the others, each in place of the one of its id', () => {
    const statements = new Corrected([RECORD, back('x', 5)]);
    expect(statements.fits(back('y', 3))).toBe(true);
    expect(statements.fits(back('y', 4))).toBe(false);
    expect(statements.fits(back('x', 8))).toBe(true);
    expect(statements.fits(back('y', 1, 0, 4, { corrects: 'gone' }))).toBe(false);
  });

  it('forget what a statement corrected before', () => {
    const statements = new Corrected([RECORD, back('x', 5)]);
    expect(statements.correctedBy('a').map(({ id }) => id)).toEqual(['x']);
    statements.set(back('x', 5, 0, 4, { corrects: 'b' }));
    expect(statements.correctedBy('a')).toEqual([]);
    expect(statements.correctedBy('b').map(({ id }) => id)).toEqual(['x']);
    expect(statements.correctedBy('none')).toEqual([]);
  });
});
