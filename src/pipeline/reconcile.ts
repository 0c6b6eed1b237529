/**
 * bill.reconcile (source/month): compares a source's bills of a month with what was accrued from metered usage, publishes the variance in place of what
 * was published before, and learns what closed bills teach of rates.
 *
 * A bill that comes or is restated wakes it, and so does whatever changes a day that the bill speaks of. It wakes no stage itself; a learned rate that
 * changes enters the line at the left, as a price does.
 */
import { BillCells, SkuNames, type CellKey } from '../core/bill-matching.js';
import { rateEvidence, reconcile } from '../core/reconciliation.js';
import { Grouping } from '../core/rollup.js';
import { afterTheHour } from '../core/saving.js';
import type { Price } from '../core/price.js';
import type { Queryable } from '../store/database.js';
import type { BillScope, ReconciliationStore } from '../store/reconciliation.js';
import type { Stores } from '../store/stores.js';
import type { Waking } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage, StageCall } from './stage.js';

type Needs = Pick<Stores, 'organisations' | 'prices' | 'raw' | 'reconciliation' | 'learnedRates'>;

/** Distinct groups of a bill that are kept at a time. */
const MOST_GROUPS = 200_000;

export function reconcileStage(stores: Needs): Stage {
  return {
    name: 'bill.reconcile', most: 1,
    async run(call) {
      for (const key of call.keys) await reconcileMonth(stores, call, lastPart(key));
      return [];
    },
  };
}

async function reconcileMonth(stores: Needs, call: StageCall, month: string): Promise<void> {
  const { organisation, lane: source, now, tx } = call;
  const { organisations, prices, reconciliation, learnedRates } = stores;
  const scopes = await reconciliation.scopes(tx, organisation, source, month);
  const currencies = new Map((await organisations.teams(tx, organisation)).map(({ id, currency }) => [id, currency]));
  const currencyOf = (team: string): string => currencies.get(team) ?? 'USD';
  const accrued = await reconciliation.accrued(tx, organisation, scopes, currencyOf);
  const { prices: listed, fx } = await prices.book(tx, organisation);
  const names = new SkuNames(accrued, modelOfSku(listed));
  const bill = await readBill(stores, call, scopes, ({ provider, sku }) => sku !== null && !names.isTelling(provider, sku));
  await linkByResource(reconciliation, tx, organisation, scopes, bill, names);
  const { rows, findings } = reconcile({ accrued, billed: bill.cells(currencyOf, fx), names }, await reconciliation.readThreshold(tx, organisation));
  await reconciliation.publish(tx, organisation, source, month, rows, findings, now);
  await learnedRates.learn(tx, organisation, source, month, rateEvidence({ accrued, billed: bill.asBilled(), names }, fx), now);
}

/** The GPU of a SKU by the price lists; null where they name none, undefined where they do not know the SKU. */
function modelOfSku(listed: readonly Price[]): (provider: string, sku: string) => string | null | undefined {
  const models = new Map<string, string | null>();
  for (const { provider, sku, gpuModel } of listed) models.set(`${provider}\u0001${sku}`, gpuModel ?? models.get(`${provider}\u0001${sku}`) ?? null);
  return (provider, sku) => models.get(`${provider}\u0001${sku}`);
}

async function readBill({ organisations, raw }: Needs, { organisation, lane: source, tx }: StageCall, scopes: readonly BillScope[], wantsResources: (key: CellKey) => boolean): Promise<BillCells> {
  const rules = await organisations.rules(tx, organisation);
  const grouping = new Grouping((record) => rules.teamOf(record), []);
  const bill = new BillCells(wantsResources);
  for (const { delivery, isClosed } of scopes) {
    for await (const records of raw.records(tx, organisation, source, delivery)) {
      for (const record of records) bill.add(grouping.groupOf(record).team, record, isClosed);
      grouping.trim(MOST_GROUPS);
    }
  }
  return bill;
}

/** SKUs of the bill that are no names of the meter's: the resources that both know tell what they are. */
async function linkByResource(reconciliation: ReconciliationStore, tx: Queryable, organisation: string, scopes: readonly BillScope[], bill: BillCells, names: SkuNames): Promise<void> {
  const wanted = [...bill.resourcesOfSkus].map(([key, resources]) => ({ key: JSON.parse(key) as [string, string], resources }));
  if (wanted.length === 0) return;
  const all = new Set(wanted.flatMap(({ resources }) => [...resources]));
  const metered = await reconciliation.meteredAs(tx, organisation, all, Math.min(...scopes.map(({ start }) => start)), Math.max(...scopes.map(({ end }) => end)));
  for (const { key: [provider, sku], resources } of wanted) {
    for (const resource of resources) {
      const cell = metered.get(`${provider} ${resource}`);
      if (cell !== undefined) names.link(provider, sku, cell);
    }
  }
}

/** Wakes the comparison of bills with some days (UTC) that have changed: a closed bill's now, a growing one's after the hour. */
export function reconcileLate(tx: Queryable, organisation: string, reconciliation: ReconciliationStore, days: readonly string[], now: number): Promise<Waking[]> {
  return reconciliation.touching(tx, organisation, days, afterTheHour(now));
}
