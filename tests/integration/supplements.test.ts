/**
 * What lies beside a bill and is none itself: Azure's amortised export. It counts with its bill, whatever comes first
 * and whatever becomes of it, and states the bill's open amounts once. Amounts are counted by hand from the fixtures.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImportedFile } from '../../src/core/ports.js';
import { commitmentsOf } from '../../src/store/bill/commitments.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { testBursar, type TestBursar } from '../support/bursar.js';
import { billed } from '../support/records.js';
import { ROOT } from '../support/source.js';

const text = (name: string): string => readFileSync(path.join(ROOT, 'tests/fixtures/bills-made', name), 'utf8');
const ACTUAL = text('azure_mca_actual.csv');
const AMORTISED = text('azure_mca_amortised.csv');
const [HEADER = '', ...ROWS] = ACTUAL.trimEnd().split('\n');
const ACCOUNT = 'AB12-CD34-BG7-PGB';

const EFFECTIVE_ALONE = 88.1519;
const WITH_AMORTISED = 128.1519;
const LIST = 176.304;

async function give(
  bursar: TestBursar,
  source: string,
  content: string,
  { name = 'export.csv', replace = false } = {},
): Promise<ImportedFile> {
  const input = await bursar.importer.openBytes(name, Buffer.from(content));
  const options = { organisation: 'default', source, format: 'auto', strict: true, dryRun: false, replace, by: 'test' };
  const [file] = await bursar.importer.files([input], options);
  await bursar.runner.drain();
  return file as ImportedFile;
}

async function undo(bursar: TestBursar, { import: id }: ImportedFile): Promise<void> {
  await bursar.db.transaction((tx) => undoImport(bursar.stores, tx, 'default', id ?? '', 'test', bursar.clock.at));
  await bursar.runner.drain();
}

const totals = async (bursar: TestBursar): Promise<number[]> => {
  const of = async (basis: string) =>
    Number((await bursar.spend({ basis })).totals.find(({ currency }) => currency === 'EUR')?.cost ?? 0);
  return [await of('effective'), await of('list')];
};
const open = async (bursar: TestBursar) => (await bursar.spend({ basis: 'effective' })).lacking.unstated;

describe('an amortised export', () => {
  it('adds effective cost alone: list cost and coverage are of the bill, and what it tells is unknown no more', async () => {
    const bursar = await testBursar();
    await give(bursar, 'a', ACTUAL);
    expect(await totals(bursar)).toEqual([EFFECTIVE_ALONE, LIST]);
    // The covered machine is billed nothing, and its cost is unknown, not zero.
    expect(await open(bursar)).toEqual([{ currency: 'EUR', cost: '0', lines: 1 }]);
    const { warnings } = await give(bursar, 'a', AMORTISED);
    expect(warnings).toEqual([]);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
    expect(await open(bursar)).toEqual([]);
    const { commitments, coverage } = await commitmentsOf(bursar.db, 'default', null, null);
    expect(commitments).toMatchObject([{ unknownLines: 0, utilisation: '0.991710' }]);
    expect(coverage).toMatchObject([{ covered: '88.1520', coverage: '0.500000' }]);
    // Of a day that the amortised export does not speak of yet, the cost is unknown still.
    const more = `${ACTUAL}${ROWS[1]?.replace('10/05/2026', '10/06/2026')}\n`;
    await give(bursar, 'a', more);
    expect(await open(bursar)).toEqual([{ currency: 'EUR', cost: '0', lines: 1 }]);
    const later = await commitmentsOf(bursar.db, 'default', null, null);
    expect(later.commitments).toMatchObject([{ unknownLines: 1, utilisation: null }]);
  });

  it('waits for its bill, and for one from its own source', async () => {
    const bursar = await testBursar();
    const { warnings } = await give(bursar, 'a', AMORTISED);
    expect(warnings).toEqual([expect.stringContaining('did not come from the source "a": it counts once')]);
    expect(await totals(bursar)).toEqual([0, 0]);
    expect((await commitmentsOf(bursar.db, 'default', null, null)).commitments).toEqual([]);
    await give(bursar, 'b', ACTUAL);
    expect(await totals(bursar)).toEqual([EFFECTIVE_ALONE, LIST]);
    const again = await give(bursar, 'c', AMORTISED);
    expect(again.warnings).toEqual([expect.stringContaining('from "b"')]);
    expect(await totals(bursar)).toEqual([EFFECTIVE_ALONE, LIST]);
    await give(bursar, 'b', AMORTISED);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
  });

  it('counts from when its bill comes, and no longer than it is there', async () => {
    const bursar = await testBursar();
    const first = await give(bursar, 'a', AMORTISED);
    const bill = await give(bursar, 'a', ACTUAL);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
    await undo(bursar, bill);
    expect(await totals(bursar)).toEqual([0, 0]);
    await give(bursar, 'a', ACTUAL);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
    await undo(bursar, first);
    expect(await totals(bursar)).toEqual([EFFECTIVE_ALONE, LIST]);
  });

  it('does not stay beside the bill of another source that replaces its own, and comes back with that', async () => {
    const bursar = await testBursar();
    await give(bursar, 'a', ACTUAL);
    await give(bursar, 'a', AMORTISED);
    const amount = { unscaled: 1281519n, scale: 4 };
    const whole = billed(
      'x',
      '1288.1519',
      { provider: 'Microsoft', account: ACCOUNT, start: Date.UTC(2026, 9, 5), end: Date.UTC(2026, 9, 6) },
      { currency: 'EUR', effective: amount, list: amount },
    );
    await bursar.take([whole], { source: 'focus', replace: true });
    await bursar.runner.drain();
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, WITH_AMORTISED]);
    const [last] = await bursar.db.query<{ id: string }>(`select max(id)::text as id from import`);
    await undo(bursar, { import: last?.id ?? '' } as ImportedFile);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
  });

  it('goes with an account that its bill has lost', async () => {
    const bursar = await testBursar();
    const other = (content: string): string => content.replaceAll(ACCOUNT, 'OTHER');
    await give(bursar, 'a', [HEADER, ...ROWS, ...ROWS.map(other), ''].join('\n'));
    await give(bursar, 'a', AMORTISED);
    await give(bursar, 'a', other(AMORTISED));
    expect(await totals(bursar)).toEqual([2 * WITH_AMORTISED, 2 * LIST]);
    await give(bursar, 'a', ACTUAL);
    expect(await totals(bursar)).toEqual([WITH_AMORTISED, LIST]);
  });
});
