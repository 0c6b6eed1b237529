/**
 * Part of bill.reconcile: finds the lines of a bill that is not final that count although a meter stands for their SKU,
 * because their own machines are not metered. Decides nothing itself: core/bill/unmetered.ts does.
 */
import { ResourceLines, unmeteredLines, type ResourceLine, type SetAside } from '../core/bill/unmetered.js';
import { Grouping, type Cell } from '../core/cost/rollup.js';
import type { BillScope } from '../store/bill/reconciliation.js';
import type { Stores } from '../store/stores.js';
import type { StageCall } from './stage.js';

type Needs = Pick<Stores, 'organisations' | 'raw' | 'dimensions' | 'unmetered'>;

/** A bill with more of them is set aside by SKU alone. */
const MOST_LINES = 500_000;
const MOST_GROUPS = 200_000;

export async function countUnmetered(stores: Needs, call: StageCall, scopes: readonly BillScope[]): Promise<void> {
  const { organisation, tx } = call;
  for (const { delivery, isClosed } of scopes) {
    if (isClosed) {
      await stores.unmetered.save(tx, organisation, delivery, []);
      continue;
    }
    const aside = await stores.unmetered.setAside(tx, organisation, delivery);
    const lines = aside.to > aside.from ? await linesOf(stores, call, delivery, aside) : [];
    const metered = lines.length === 0 ? null : await stores.unmetered.metered(tx, organisation, aside.from, aside.to);
    await stores.unmetered.save(
      tx,
      organisation,
      delivery,
      metered === null ? [] : unmeteredLines(lines, aside, metered),
    );
  }
}

/** The usage lines that name a resource and may be set aside; none if they are too many. */
async function linesOf(
  { organisations, raw, dimensions }: Needs,
  { organisation, partition: source, tx }: StageCall,
  delivery: string,
  aside: SetAside,
): Promise<ResourceLine[]> {
  const rules = await organisations.rules(tx, organisation);
  const grouping = new Grouping((record) => rules.teamOf(record), await organisations.trackedTags(tx, organisation));
  const idOf = new Map<Cell, string>();
  const lines = new ResourceLines();
  for await (const records of raw.records(tx, organisation, source, delivery)) {
    const grouped = records.flatMap((record) =>
      record.charge?.category === 'Usage' && record.resource !== null
        ? [{ record, cell: grouping.groupOf(record).cell }]
        : [],
    );
    const fresh = [...new Set(grouped.map(({ cell }) => cell))].filter((cell) => !idOf.has(cell));
    const ids = await dimensions.idsOf(
      tx,
      organisation,
      fresh.map(({ dimension }) => dimension),
    );
    fresh.forEach((cell, at) => idOf.set(cell, ids[at] ?? ''));
    for (const { record, cell } of grouped) {
      const dimension = idOf.get(cell) ?? '';
      if (aside.has(dimension)) lines.add(cell.team, dimension, record);
    }
    grouping.trim(MOST_GROUPS);
    if (lines.size > MOST_LINES) return [];
  }
  return lines.all();
}
