/** A bill in parts by sub-account: which of the payer's lines several parts repeat, and which are lines of their own. */
import { describe, expect, it } from 'vitest';
import { BillParts } from '../../../src/core/bill/parts.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { billed } from '../../support/records.js';

const own = (subAccount: string): UsageRecord => billed(`of ${subAccount}`, '10', { account: 'payer', subAccount });
const tax = (id: string, amount = '7', over: Partial<UsageRecord> = {}): UsageRecord =>
  billed(id, amount, { account: 'payer', service: 'Tax', ...over }, { category: 'Tax' });

/** By file, in the order of the delivery. */
function repeated(files: Readonly<Record<string, readonly UsageRecord[]>>) {
  const parts = new BillParts();
  for (const [file, records] of Object.entries(files)) for (const record of records) parts.add(file, record);
  return parts.repeats();
}

describe('lines of the payer', () => {
  it('that two parts hold are told, with how many they are and one of them', () => {
    const two = [tax('t'), tax('u', '8')];
    expect(repeated({ 'a.csv': [own('x'), ...two], 'b.csv': [own('y'), ...two] })).toEqual([
      { files: ['a.csv', 'b.csv'], lines: 2, example: 'Tax of Tax, 7 USD of 2026-10-05' },
    ]);
    const noService = tax('t', '7', { service: null });
    expect(repeated({ a: [own('x'), noService], b: [own('y'), noService] })).toMatchObject([
      { example: 'Tax, 7 USD of 2026-10-05' },
    ]);
  });

  it('that name the payer as their sub-account are its own too', () => {
    const line = tax('t', '7', { subAccount: 'payer' });
    expect(repeated({ a: [own('x'), line], b: [own('y'), line] })).toHaveLength(1);
  });

  it('are lines of their own where they differ in anything, or the parts share a sub-account', () => {
    expect(repeated({ a: [own('x'), tax('t')], b: [own('y'), tax('t', '7.01')] })).toEqual([]);
    expect(repeated({ a: [own('x'), tax('t')], b: [own('y'), tax('t2')] })).toEqual([]);
    expect(repeated({ a: [own('x'), own('y'), tax('t')], b: [own('y'), tax('t')] })).toEqual([]);
    expect(repeated({ a: [own('x'), tax('t')], b: [own('X '), tax('t')] })).toEqual([]);
  });

  it('whose id is the number of the line are compared without it', () => {
    expect(repeated({ a: [own('x'), tax('2')], b: [own('y'), tax('31')] })).toHaveLength(1);
    expect(repeated({ a: [own('x'), tax('2/tax')], b: [own('y'), tax('31/fee')] })).toHaveLength(1);
    expect(repeated({ a: [own('x'), tax('2-1')], b: [own('y'), tax('3-1')] })).toEqual([]);
  });

  it('repeat nothing where a file is no part, or they came to nothing', () => {
    expect(repeated({ a: [own('x'), tax('t')], b: [tax('t')] })).toEqual([]);
    expect(repeated({ a: [own('x'), tax('t', '0')], b: [own('y'), tax('t', '0')] })).toEqual([]);
    expect(repeated({ a: [own('x'), tax('t'), tax('t')] })).toEqual([]);
    expect(repeated({})).toEqual([]);
  });

  it('are told of each two files, the first that had them before', () => {
    const files = { a: [own('x'), tax('t')], b: [own('y'), tax('t')], c: [own('z'), tax('t')] };
    expect(repeated(files).map((one) => one.files)).toEqual([
      ['a', 'b'],
      ['a', 'c'],
    ]);
  });
});
