/**
 * bill.reconcile (source/month): compares a source's bills of a month with the accrual from metered usage, publishes
 * the variance in place of the previous one, and learns rates from closed bills. A new or restated bill enqueues it,
 * and so does every change of a day that the bill covers. It enqueues no stage itself; a learned rate that changes
 * enters the line at the left, as a price does.
 */
import { BillCells, type BillSummary, type ResourcesOfSku } from '../core/bill/cells.js';
import { machineSkus } from '../core/bill/links.js';
import { inTeamsCurrencies, SkuNames, type BilledCell } from '../core/bill/matching.js';
import { rateEvidence, reconcile } from '../core/bill/reconciliation.js';
import { Grouping } from '../core/cost/rollup.js';
import { afterTheHour } from '../core/saving/saving.js';
import type { Price } from '../core/price/price.js';
import type { Queryable } from '../store/database.js';
import type { BillName } from '../store/bill/counting.js';
import type { BillScope, ReconciliationStore } from '../store/bill/reconciliation.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage, StageCall } from './stage.js';
import { countUnmetered } from './unmetered.js';

type Needs = Pick<
  Stores,
  | 'organisations'
  | 'prices'
  | 'raw'
  | 'billCells'
  | 'reconciliation'
  | 'learnedRates'
  | 'counting'
  | 'dimensions'
  | 'unmetered'
>;

/** Distinct groups of a bill that are kept at a time. */
const MOST_GROUPS = 200_000;

export function reconcileStage(stores: Needs): Stage {
  return {
    name: 'bill.reconcile',
    most: 1,
    async run(call) {
      for (const key of call.keys) await reconcileMonth(stores, call, lastPart(key));
      return [];
    },
  };
}

async function reconcileMonth(stores: Needs, call: StageCall, month: string): Promise<void> {
  const { organisation, partition: source, now, tx } = call;
  const { organisations, prices, reconciliation, learnedRates } = stores;
  const scopes = await reconciliation.scopes(tx, organisation, source, month);
  const currencies = new Map((await organisations.teams(tx, organisation)).map(({ id, currency }) => [id, currency]));
  const currencyOf = (team: string): string => currencies.get(team) ?? 'USD';
  const accrued = await reconciliation.accrued(tx, organisation, scopes, currencyOf);
  const { prices: listed, fx } = await prices.book(tx, organisation);
  const names = new SkuNames(accrued, modelOfSku(listed));
  const bills = await readBills(stores, call, scopes);
  const billed = bills.flatMap(({ cells, isClosed }) => cells.map((cell): BilledCell => ({ ...cell, isClosed })));
  await linkByResource(
    reconciliation,
    tx,
    organisation,
    scopes,
    bills.flatMap(({ resources }) => resources),
    names,
  );
  for (const [at, { cells }] of bills.entries()) {
    const scope = scopes[at];
    if (scope !== undefined) await stores.counting.saveNames(tx, organisation, scope, namesOf(cells, names));
  }
  await countUnmetered(stores, call, scopes);
  const { rows, findings } = reconcile(
    { accrued, billed: inTeamsCurrencies(billed, currencyOf, fx), names },
    await reconciliation.readThreshold(tx, organisation),
  );
  await reconciliation.publish(tx, organisation, source, month, rows, findings, now);
  await learnedRates.learn(tx, organisation, source, month, rateEvidence({ accrued, billed, names }, fx), now);
}

/** The meter's names of the bill's SKUs that the meter names differently. */
function namesOf(cells: BillSummary['cells'], names: SkuNames): BillName[] {
  return cells.flatMap((cell) => {
    const named = cell.category === 'Usage' && cell.sku !== null ? names.match(cell) : null;
    if (named === null || named.by === 'sku' || cell.sku === null) return [];
    const [kind, ...rest] = named.name.split(':');
    const name = rest.join(':');
    return [{ sku: cell.sku, meterSku: kind === 'sku' ? name : '', meterGpuModel: kind === 'sku' ? '' : name }];
  });
}

/** The GPU of a SKU by the price lists; null if they name none, undefined if they do not know the SKU. */
function modelOfSku(listed: readonly Price[]): (provider: string, sku: string) => string | null | undefined {
  const models = new Map<string, string | null>();
  for (const { provider, sku, gpuModel } of listed)
    models.set(`${provider}\u0001${sku}`, gpuModel ?? models.get(`${provider}\u0001${sku}`) ?? null);
  return (provider, sku) => models.get(`${provider}\u0001${sku}`);
}

type Read = BillSummary & Pick<BillScope, 'isClosed'>;

/** The summary of the bills: as stored, or from their lines. */
async function readBills(
  { organisations, raw, billCells }: Needs,
  { organisation, partition: source, tx }: StageCall,
  scopes: readonly BillScope[],
): Promise<Read[]> {
  const rules = await organisations.rules(tx, organisation);
  const bills: Read[] = [];
  for (const { delivery, isClosed } of scopes) {
    let summary = await billCells.readKept(tx, organisation, delivery, rules.version);
    if (summary === null) {
      const [grouping, cells] = [new Grouping((record) => rules.teamOf(record), []), new BillCells()];
      for await (const records of raw.records(tx, organisation, source, delivery)) {
        for (const record of records) cells.add(grouping.groupOf(record), record);
        grouping.trim(MOST_GROUPS);
      }
      summary = cells.summary();
      await billCells.keep(tx, organisation, delivery, rules.version, summary);
    }
    bills.push({ ...summary, isClosed });
  }
  return bills;
}

/** SKUs of machines that are no names of the meter's: the resources that both know tell what they are. */
async function linkByResource(
  reconciliation: ReconciliationStore,
  tx: Queryable,
  organisation: string,
  scopes: readonly BillScope[],
  skus: readonly ResourcesOfSku[],
  names: SkuNames,
): Promise<void> {
  const wanted = machineSkus(skus, (provider, sku) => names.isSignificant(provider, sku));
  if (wanted.length === 0) return;
  const all = new Set(wanted.flatMap(({ resources }) => resources));
  const metered = await reconciliation.meteredAs(
    tx,
    organisation,
    all,
    Math.min(...scopes.map(({ about }) => about.start)),
    Math.max(...scopes.map(({ about }) => about.end)),
  );
  for (const { provider, sku, resources } of wanted) {
    for (const resource of resources) {
      const cell = metered.get(`${provider} ${resource}`);
      if (cell !== undefined) names.link(provider, sku, cell);
    }
  }
}

/**
 * Enqueues the comparison of bills with some days (UTC) that have changed: a closed bill's now, a growing one's after
 * the hour.
 */
export function reconcileLate(
  tx: Queryable,
  organisation: string,
  reconciliation: ReconciliationStore,
  days: readonly string[],
  now: number,
): Promise<WorkItem[]> {
  return reconciliation.touching(tx, organisation, days, afterTheHour(now));
}
