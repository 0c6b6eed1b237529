/**
 * Undoes an import as a whole: everything in its call, bills and metered usage alike. Every entry point uses it. The
 * result is the state without that call: replaced bills return, and for restated records the latest other statement
 * counts. A record that a later import only repeated belongs to the first import and is removed with it; sending it
 * again restores it. For a price list, prices that only it states are withdrawn, and prices that it contradicted hold
 * again. An import that cannot be undone as a whole is refused.
 */
import { monthOfPeriod } from '../../core/bill/reconciliation.js';
import { Grouping } from '../../core/cost/rollup.js';
import { conflict, missing } from '../../core/errors.js';
import { Corrected, misfit, whyMisfit } from '../../core/corrections.js';
import { compareVersions, type UsageRecord } from '../../core/usage.js';
import type { Transaction } from '../database.js';
import { SETTLE } from '../bill/counting.js';
import { dropContracts } from '../bill/contracts.js';
import { reconcileItem } from '../bill/reconciliation.js';
import type { PriceStatement } from '../price/prices.js';
import type { Stores } from '../stores.js';
import { enqueueUrgent, type WorkItem } from '../work.js';
import { dropDelivery } from './bill-delivery.js';
import { idWords, keyBytes, wordsKey } from './digests.js';
import type { TeamDay } from './raw.js';
import { takeBackSaid } from './confirmed.js';
import { dropReplaced, restoreReplaced } from './replaced.js';
import { refuseRepeats } from './restored.js';
import { supplementItems } from './scopes.js';
import { takeOut } from './unmerging.js';
import { Places, recordsAt, setAside, sumAnew, type Statement } from './statements.js';

type Needs = Pick<Stores, 'counting' | 'dimensions' | 'intake' | 'organisations' | 'prices' | 'raw' | 'reconciliation'>;

export interface UndoneImport {
  readonly import: string;
  /** Files of the call that brought it, all of which are taken back. */
  readonly files: readonly { readonly import: string; readonly file: string }[];
  /** Records and bill lines that are gone. */
  readonly records: number;
  /** Bills that are there again. */
  readonly restored: readonly {
    readonly provider: string;
    readonly account: string | null;
    readonly periodStart: string;
    readonly records: number;
  }[];
  /** Records for which an earlier statement counts again. */
  readonly restoredRecords: number;
  /** Prices that are withdrawn, or are the statement of an earlier list again. */
  readonly prices: number;
}

interface Row {
  readonly source: string;
  readonly file: string;
  readonly call: string | null;
  readonly undone: Date | null;
  readonly statement: PriceStatement | null;
}

interface Delivery {
  readonly id: string;
  readonly scope: string | null;
  readonly provider: string | null;
  readonly account: string | null;
  readonly start: Date | null;
  readonly end: Date | null;
  readonly records: string;
}

const DELIVERY = `select id::text as id, coalesce(scope, supplement) as scope, provider, account, period_start as start, period_end as "end", records::text as records from delivery`;

/** @throws Failure missing, or conflict: undone already, from before undoing, or others build on it. */
export async function undoImport(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  by: string,
  now: number,
): Promise<UndoneImport> {
  const [row] = await tx.query<Row>(
    `select source, file, taken_with::text as call, undone_at as undone, price_statement as statement from import where organisation = $1 and id = $2`,
    [organisation, id],
  );
  if (row === undefined) throw missing(`there is no import "${id}"`);
  if (row.undone !== null) throw conflict(`the import ${id} was undone already, at ${row.undone.toISOString()}`);
  if (row.statement !== null) {
    const prices = await undoList(stores, tx, organisation, row.statement, { by, at: now });
    await tx.query(`update import set undone_at = $3, undone_by = $4 where organisation = $1 and id = $2`, [
      organisation,
      id,
      new Date(now),
      by,
    ]);
    return {
      import: id,
      files: [{ import: id, file: row.file }],
      records: 0,
      restored: [],
      restoredRecords: 0,
      prices,
    };
  }
  if (row.call === null)
    throw conflict(
      `the import ${id} cannot be undone: it is older than undoing (bursar prices withdraw takes a price back)`,
    );
  const undoing = new Undoing(stores, tx, organisation, row.source);
  await undoing.all(row.call);
  const files = await tx.query<{ import: string; file: string }>(
    `update import set undone_at = $3, undone_by = $4 where organisation = $1 and taken_with = $2 returning id::text as import, file`,
    [organisation, row.call, new Date(now), by],
  );
  await enqueueUrgent(tx, organisation, undoing.workItems);
  stores.intake.forgetOverlaps();
  const { records, restored, restoredRecords } = undoing;
  return { import: id, files, records, restored, restoredRecords, prices: 0 };
}

/** Takes a price list back; what it priced is priced again. */
async function undoList(
  { prices }: Needs,
  tx: Transaction,
  organisation: string,
  statement: PriceStatement,
  withdrawn: { readonly by: string; readonly at: number },
): Promise<number> {
  const changed = await prices.takeBack(tx, organisation, statement, withdrawn);
  const days = await prices.affected(tx, organisation, changed);
  await enqueueUrgent(
    tx,
    organisation,
    days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
  );
  return changed.length;
}

class Undoing {
  readonly workItems: WorkItem[] = [];
  readonly restored: UndoneImport['restored'][number][] = [];
  records = 0;
  restoredRecords = 0;

  constructor(
    private readonly stores: Needs,
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly source: string,
  ) {}

  async all(call: string): Promise<void> {
    const { tx, organisation, source } = this;
    // Imports of the source wait, and no process remembers the ids that go.
    await tx.query(
      `update source set version = version + 1, forgot = version + 1 where organisation = $1 and name = $2`,
      [organisation, source],
    );
    const replaced = await tx.query<{ id: string; by: string; records: string }>(
      `select id::text as id, replaced_by::text as by, bill ->> 'records' as records from delivery_replaced where organisation = $1 and import = $2`,
      [organisation, call],
    );
    for (const one of replaced) {
      // What it had replaced is what its successor has replaced now.
      await tx.query(`update delivery_replaced set replaced_by = $3 where organisation = $1 and replaced_by = $2`, [
        organisation,
        one.id,
        one.by,
      ]);
      await dropReplaced(tx, organisation, source, one.id);
      this.records += Number(one.records);
    }
    for (const id of await takeBackSaid(tx, organisation, call)) await this.said(id);
    const summing = { dimensions: this.stores.dimensions, grouping: await this.grouping() };
    this.enqueue('cost.price', await takeOut(tx, { organisation, source }, call, summing));
    const deliveries = await tx.query<Delivery>(
      `${DELIVERY} where organisation = $1 and import = $2 order by delivery.id`,
      [organisation, call],
    );
    this.records += await dropContracts(tx, organisation, call);
    for (const delivery of deliveries) {
      this.records += Number(delivery.records);
      if (delivery.scope === null) await this.metered(delivery);
      else await this.bill(delivery);
    }
  }

  /** A bill of which the same lines stay, and another state may be known. */
  private async said(id: string): Promise<void> {
    const { stores, tx, organisation, source } = this;
    const [bill] = await tx.query<Delivery>(`${DELIVERY} where organisation = $1 and id = $2`, [organisation, id]);
    if (bill === undefined) return;
    await stores.counting.lock(tx, organisation);
    this.workItems.push(SETTLE, ...(await stores.counting.place(tx, organisation, [bill.provider ?? ''])));
    this.enqueue('cost.rollup', [...(await this.daysOf(id)), ...(await this.daysOfPeriod(bill))]);
    if (bill.start !== null && bill.end !== null)
      this.workItems.push(reconcileItem(source, monthOfPeriod(bill.start.getTime(), bill.end.getTime())));
  }

  private async bill(delivery: Delivery): Promise<void> {
    const { stores, tx, organisation, source } = this;
    const days = await this.daysOf(delivery.id);
    await dropDelivery(tx, organisation, source, delivery.id);
    const restored = await restoreReplaced(tx, organisation, delivery.id);
    this.workItems.push(...(await supplementItems(tx, organisation, source, delivery.scope ?? '')));
    const rules = await stores.organisations.rules(tx, organisation);
    const tags = await stores.organisations.trackedTags(tx, organisation);
    for (const { id, source: from } of restored) {
      const made = await stores.raw.reallocate(tx, organisation, from, id, rules, tags);
      if (made === null)
        throw conflict(
          'this import cannot be undone: the bill that it replaced is in the archive (bursar archive restore)',
        );
      days.push(...made.days);
      await refuseRepeats(tx, organisation, id);
      const [bill] = await tx.query<Delivery>(`${DELIVERY} where organisation = $1 and id = $2`, [organisation, id]);
      this.workItems.push(...(await supplementItems(tx, organisation, from, bill?.scope ?? '')));
      this.restored.push({
        provider: bill?.provider ?? '',
        account: bill?.account ?? null,
        periodStart: bill?.start?.toISOString() ?? '',
        records: Number(bill?.records ?? 0),
      });
    }
    days.push(...(await this.daysOfPeriod(delivery)));
    await stores.counting.lock(tx, organisation);
    this.workItems.push(SETTLE, ...(await stores.counting.place(tx, organisation, [delivery.provider ?? ''])));
    this.enqueue('cost.rollup', days);
    const { start, end } = delivery;
    if (start !== null && end !== null)
      for (const one of new Set([source, ...restored.map((bill) => bill.source)]))
        this.workItems.push(reconcileItem(one, monthOfPeriod(start.getTime(), end.getTime())));
  }

  private async metered({ id }: Delivery): Promise<void> {
    const { stores, tx, organisation, source } = this;
    const days = await this.daysOf(id);
    const again = await this.otherStatements(id);
    await dropDelivery(tx, organisation, source, id);
    for (const table of ['usage_id', 'usage_statement'])
      await tx.query(`delete from ${table} where organisation = $1 and source = $2 and delivery = $3`, [
        organisation,
        source,
        id,
      ]);
    await setAside(tx, organisation, source, again, false);
    this.restoredRecords += again.length;
    const places = new Places();
    for (const one of again) places.addAll(one.delivery, one.record);
    const grouping = await this.grouping();
    const target = { organisation, source, tx, dimensions: stores.dimensions };
    for (const [delivery, hours] of places.hours)
      days.push(...(await sumAnew({ ...target, id: delivery }, hours, grouping)));
    this.enqueue('cost.price', days);
    // What machines are metered of those that a bill names may have changed.
    if (days.length > 0)
      this.workItems.push(
        ...(await stores.reconciliation.touching(
          tx,
          organisation,
          days.map(({ day }) => day),
          0,
        )),
      );
  }

  /**
   * What counts again when a delivery goes: of each id that it stated the latest other statement, where it is set
   * aside.
   * @throws Failure conflict: a correction would be left that does not fit what it corrects
   */
  private async otherStatements(delivery: string): Promise<Statement[]> {
    const { tx, organisation, source } = this;
    const own = await tx.query<{ key: Buffer }>(
      `select key from usage_statement where organisation = $1 and source = $2 and delivery = $3`,
      [organisation, source, delivery],
    );
    const keys = new Map(own.map(({ key }) => [keyText(key), key]));
    for (;;) {
      const { left, changed } = await this.readWithout(delivery, keys);
      const again = [...left.values()].filter(({ aside }) => aside);
      const named = again.flatMap(({ record: { corrects } }) => corrects ?? []);
      const unread = named.filter((id) => !keys.has(keyOf(id)));
      if (unread.length === 0) {
        checkCorrections([...left.values()], changed, named);
        return again;
      }
      for (const id of unread) keys.set(keyOf(id), keyBytes(id));
    }
  }

  /** What counts of some ids and of their corrections without a delivery, and the ids of which it counts now. */
  private async readWithout(
    delivery: string,
    keys: ReadonlyMap<string, Buffer>,
  ): Promise<{ readonly left: Map<string, Statement>; readonly changed: Set<string> }> {
    const { tx, organisation, source } = this;
    const noted = await tx.query<{ delivery: string; hour: Date }>(
      `select distinct delivery::text as delivery, hour from usage_statement
       where organisation = $1 and source = $2 and key = any($3::bytea[])`,
      [organisation, source, [...keys.values()]],
    );
    const places = new Places();
    for (const one of noted) places.add(one.delivery, one.hour.getTime());
    const [left, changed] = [new Map<string, Statement>(), new Set<string>()];
    const isAbout = ({ id, corrects }: UsageRecord): boolean =>
      keys.has(keyOf(id)) || (corrects !== undefined && keys.has(keyOf(corrects)));
    for await (const one of recordsAt(tx, organisation, source, places, isAbout)) {
      const { id, version } = one.record;
      const known = left.get(id);
      if (one.delivery === delivery) {
        if (!one.aside) changed.add(id);
        // Of an id that the delivery did not state again nothing changes.
      } else if (!keys.has(keyOf(id))) {
        if (!one.aside) left.set(id, one);
      } else if (known === undefined || compareVersions(version, known.record.version) > 0) left.set(id, one);
    }
    return { left, changed };
  }

  private async grouping(): Promise<Grouping> {
    const { stores, tx, organisation } = this;
    const rules = await stores.organisations.rules(tx, organisation);
    return new Grouping((record) => rules.teamOf(record), await stores.organisations.trackedTags(tx, organisation));
  }

  private enqueue(stage: string, days: readonly TeamDay[]): void {
    for (const { team, day } of days) this.workItems.push({ stage, partition: team, key: `${team}/${day}` });
  }

  private daysOf(delivery: string): Promise<TeamDay[]> {
    return this.tx.query<TeamDay>(
      `select distinct team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day from usage_hour where organisation = $1 and delivery = $2`,
      [this.organisation, delivery],
    );
  }

  /** Every day of the bill's provider within its period: whose word counts there may change. */
  private daysOfPeriod({ provider, start, end }: Delivery): Promise<TeamDay[]> {
    return this.tx.query<TeamDay>(
      `select c.team, to_char(c.hour at time zone 'UTC', 'YYYY-MM-DD') as day
       from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and d.provider = $2 and c.hour >= $3 and c.hour < $4
       union
       select u.team, to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD')
       from delivery v join usage_hour u on u.organisation = v.organisation and u.delivery = v.id
       where v.organisation = $1 and v.scope is not null and v.provider = $2 and v.period_start < $4 and v.period_end > $3`,
      [this.organisation, provider, start, end],
    );
  }
}

const keyText = (key: Buffer): string => wordsKey([key.readUInt32LE(0), key.readUInt32LE(4), key.readUInt32LE(8)]);
const keyOf = (id: string): string => wordsKey(idWords(id));

/** @throws Failure conflict: of what changes, or is corrected again, a correction does not fit what would be left */
function checkCorrections(left: readonly Statement[], changed: ReadonlySet<string>, named: readonly string[]): void {
  const corrected = new Corrected(left.map(({ record }) => record));
  for (const id of new Set([...changed, ...named])) {
    const corrections = corrected.correctedBy(id);
    if (corrections.length === 0) continue;
    const record = corrected.get(id);
    if (record === undefined && changed.has(id))
      throw conflict(`a later import corrects the record "${id}", which would be gone: undo that import first`);
    const over = record === undefined ? corrections[0] : misfit(record, corrections);
    if (over)
      throw conflict(
        `the correction "${over.id}" would not fit the statement of "${id}" that is left` +
          (record === undefined ? '' : `: it ${whyMisfit(record, over, 'that')}`) +
          `; undo the later import of either first`,
      );
  }
}
