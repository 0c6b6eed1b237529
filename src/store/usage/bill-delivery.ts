/**
 * Completes the bills of an import: each replaces the previous delivery of its account and period, and stores the data
 * that decides which rows count (core/bill/counting.ts).
 *
 * Never reads a row of a file. The invariant: there is one bill of a provider, account and period, whatever its source;
 * importing the same bill again changes only the time of its last delivery.
 */
import { stateOf } from '../../core/bill/counting.js';
import { monthOfPeriod } from '../../core/bill/reconciliation.js';
import type { BillParts } from '../../core/bill/parts.js';
import { settlingMs, type Settling } from '../../core/bill/settling.js';
import { DecimalSum } from '../../core/decimal.js';
import { conflict, type Problem } from '../../core/errors.js';
import { formatInstant } from '../../core/time.js';
import type { BillOfPeriod } from '../../core/ports.js';
import type { UsageRecord } from '../../core/usage.js';
import { rollupOf, type CountingStore, type TeamDay } from '../bill/counting.js';
import { reconcileItem } from '../bill/reconciliation.js';
import { repeatedIn } from '../bill/payer-lines.js';
import { isSameBill } from '../bill/same-bill.js';
import { knownNames, sayUnmatched, unmatchedIn } from '../bill/unmatched.js';
import type { Transaction } from '../database.js';
import type { WorkItem } from '../work.js';
import { dropConfirmed, keepBefore } from './confirmed.js';
import type { DeliveryWriter } from './delivery.js';
import type { SilentLines } from '../../core/bill/silent-lines.js';
import type { Overlaps } from './overlaps.js';
import { dropDerived, keepReplaced } from './replaced.js';
import { sharedLines } from './increments.js';
import { adopted, deliveryOf, hasItsBill, periodKey, supplementItems, twinOf } from './scopes.js';

export const NO_DIGEST = Buffer.alloc(0);

interface Billed {
  readonly provider: string;
  readonly currency: string;
  readonly amount: DecimalSum;
}

export interface FileCount {
  accepted: number;
  unchanged: number;
  rejected: number;
  readonly billed: Map<string, Billed>;
  /** The one of the line before. */
  lastBilled: Billed | null;
  readonly unknownColumns: Set<string>;
  readonly replaced: BillOfPeriod[];
  readonly removed: BillOfPeriod[];
  readonly overlaps: Overlaps;
  readonly silent: SilentLines;
  /** What else should be looked at, for people. */
  readonly warnings: string[];
  restated: number;
  outdated: number;
  id: string;
}

/** One bill of a delivery: an account's period. */
export interface Scope {
  readonly writer: DeliveryWriter;
  readonly id: string;
  /** Records by file, to count them as unchanged where the whole scope is. */
  readonly perFile: Map<FileCount, number>;
  readonly provider: string;
  readonly account: string | null;
  readonly periodStart: number;
  readonly periodEnd: number;
  /** The first import of the call that delivers it: what is delivered together. */
  readonly bundle: string;
  /** It is not a bill: it states what the bill of its period lacks. */
  readonly supplement: boolean;
  /** It adds to its period, by file. */
  readonly increment: boolean;
  /** Of a call of several files what each says of the payer; null: there is one file. */
  readonly parts: BillParts | null;
  /** That of the delivery before it; null: there was none, or it was delivered before bundles were kept. */
  oldBundle: string | null;
  digest: Buffer;
}

/** What of an import's request bears on bills. */
interface Overlapping {
  readonly id: string;
  readonly source: string;
  readonly scope: string;
  /** Empty: it names none. */
  readonly account: string;
  readonly records: string;
  readonly start: Date;
  readonly until: Date;
  readonly at: Date;
  /** Some of its sub-accounts that the new bill does not name: they go with it. */
  readonly others: readonly string[];
}

function sayOverlap(provider: string, { account, start, until, source, at, others }: Overlapping): string {
  const day = (instant: Date): string => instant.toISOString().slice(0, 10);
  const more = others.length === 0 ? '' : `, with sub-accounts that this one does not name (${others.join(', ')})`;
  return (
    `the bill of ${provider}${account === '' ? '' : ` account ${account}`} from ${day(start)} to ${day(until)} ` +
    `came from the source "${source}" on ${day(at)}${more}`
  );
}

interface BillRequest {
  readonly organisation: string;
  readonly source: string;
  readonly replace?: boolean;
  readonly now: number;
}

export class BillDelivery {
  constructor(
    private readonly tx: Transaction,
    private readonly request: BillRequest,
    private readonly counting: CountingStore,
  ) {}

  /** Everything that was delivered is written, or nothing; returns what that enqueues. */
  async finish(delivered: ReadonlyMap<string, Scope>, counts: readonly FileCount[]): Promise<WorkItem[]> {
    const { organisation } = this.request;
    if (delivered.size === 0) return [];
    const workItems: WorkItem[] = [];
    for (const scope of delivered.values()) scope.digest = await scope.writer.finish();
    await this.counting.lock(this.tx, organisation);
    const scopes = [...delivered].filter(([, { supplement }]) => !supplement);
    if (scopes.length > 0) workItems.push(...(await this.finishBills(scopes, counts)));
    for (const [key, scope] of delivered)
      if (scope.supplement) workItems.push(...(await this.finishSupplement(key, scope)));
    return workItems;
  }

  private async finishBills(
    scopes: readonly (readonly [string, Scope])[],
    counts: readonly FileCount[],
  ): Promise<WorkItem[]> {
    const { organisation } = this.request;
    const workItems: WorkItem[] = [];
    const providers = scopes.map(([, { provider }]) => provider);
    const known = await knownNames(this.tx, organisation, providers);
    const touched = await this.replaceOthers(new Map(scopes), workItems);
    const settling = await this.counting.settling(this.tx, organisation);
    const hasRejects = counts.some(({ rejected }) => rejected > 0);
    for (const [key, scope] of scopes) workItems.push(...(await this.finishScope(key, scope, hasRejects, settling)));
    if (!hasRejects) {
      const whole = scopes.map(([, scope]) => scope).filter(({ increment }) => !increment);
      touched.push(...(await this.dropLost(whole, workItems)));
    }
    workItems.push(...touched.map(rollupOf), ...(await this.counting.place(this.tx, organisation, providers)));
    await this.warnOfUnmatched(scopes, known);
    return workItems;
  }

  /** The bill's warnings name what may count twice, because bill and meter call a machine by different names. */
  private async warnOfUnmatched(
    scopes: readonly (readonly [string, Scope])[],
    known: ReadonlySet<string>,
  ): Promise<void> {
    const bills = scopes.map(([, scope]) => scope);
    for (const unmatched of await unmatchedIn(this.tx, this.request.organisation, bills, known)) {
      const files = bills.flatMap(({ provider, perFile }) =>
        provider === unmatched.provider ? [...perFile.keys()] : [],
      );
      for (const { warnings } of new Set(files)) warnings.push(sayUnmatched(unmatched));
    }
  }

  /**
   * One bill per provider, account and period: what another source has delivered of it, or this one under another
   * period that overlaps, is replaced on request. Bills of one payer that name none of the same sub-accounts are two
   * bills; the payer's bill that names an account holds that account's own.
   * @throws Failure conflict naming each bill and its source
   */
  private async replaceOthers(delivered: ReadonlyMap<string, Scope>, workItems: WorkItem[]): Promise<TeamDay[]> {
    const { organisation, replace } = this.request;
    const problems: Problem[] = [];
    const touched: TeamDay[] = [];
    for (const [key, scope] of delivered) {
      for (const other of await this.overlapping(key, scope, [...delivered.keys()])) {
        problems.push({ path: 'source', message: sayOverlap(scope.provider, other) });
        if (replace !== true) continue;
        touched.push(...(await this.daysOf(other.id)));
        await keepReplaced(this.tx, organisation, other.source, other.id, scope.id);
        workItems.push(...(await supplementItems(this.tx, organisation, other.source, other.scope)));
        noteReplaced(scope, Number(other.records));
      }
      if (scope.increment) problems.push(...(await this.repeated(key, scope, delivered, touched)));
      else await this.refuseRepeatedParts(scope);
    }
    if (problems.length > 0 && replace !== true)
      throw conflict(
        `${problems.map(({ message }) => message).join('; ')}: a second bill of the same time would count twice. ` +
          'Import it as that source and for that period, or replace what is there ' +
          '(--replace; through the API replace=true)',
        problems,
      );
    return touched;
  }

  /**
   * Parts of a bill by sub-account that each have the payer's own lines: nothing is replaced by the other part, and no
   * line of the payer counts twice.
   * @throws Failure conflict naming the parts
   */
  private async refuseRepeatedParts({
    id,
    provider,
    account,
    periodStart,
    periodEnd,
    parts,
    writer,
  }: Scope): Promise<void> {
    const { organisation, source } = this.request;
    const part = {
      delivery: id,
      source,
      provider,
      account,
      start: new Date(periodStart),
      end: new Date(periodEnd),
      subAccounts: [...writer.outline.subAccounts],
    };
    const own = (lines: number, example: string, inWhat: string): string =>
      `${lines} line(s) of the payer ${account ?? provider} itself (such as ${example}) are in ${inWhat}`;
    const problems = [
      ...(parts?.repeats() ?? []).map(({ files, lines, example }) =>
        own(lines, example, `both ${files.join(' and ')}`),
      ),
      ...(await repeatedIn(this.tx, organisation, part)).map(({ sources, lines, example }) =>
        own(lines, example, `the bill that came from the source "${sources[0]}" too`),
      ),
    ].map((message): Problem => ({ path: 'source', message }));
    if (problems.length > 0)
      throw conflict(
        `${problems.map(({ message }) => message).join('; ')}: they would count twice. Leave them out of all parts ` +
          'of the bill but one; where both are meant, deliver them in one file',
        problems,
      );
  }

  /**
   * Lines of a file that adds to its period which another file of it has: replaced with that file on request.
   * @throws Failure conflict if both come in one call: neither takes the place of the other
   */
  private async repeated(
    key: string,
    scope: Scope,
    delivered: ReadonlyMap<string, Scope>,
    touched: TeamDay[],
  ): Promise<Problem[]> {
    const { organisation, source, replace } = this.request;
    const prefix = `${periodKey(scope)}|`;
    const together = [...delivered].filter(([other]) => other !== key && other.startsWith(prefix));
    const problems: Problem[] = [];
    // A file that was there with other lines is no copy of another one of which it has the lines now.
    const before = await deliveryOf(this.tx, { ...scope, organisation, source, key });
    const isChanged = before !== undefined && !before.digest.equals(scope.digest);
    const own = { delivery: scope.id, digest: isChanged ? NO_DIGEST : scope.digest, prefix };
    const ids = together.flatMap(([, { id, digest }]) => (digest.equals(scope.digest) ? [] : [id]));
    for (const other of await sharedLines(this.tx, organisation, source, own, [...delivered.keys()], ids)) {
      const file = fileOf(other.scope ?? together.find(([, { id }]) => id === other.delivery)?.[0] ?? '');
      const message = `${other.lines} of the lines of ${fileOf(key)} (such as ${other.example}) are in ${file} too`;
      problems.push({ path: 'source', message });
      if (other.scope === null) throw conflict(`${message}: they would count twice`, problems);
      if (replace !== true) continue;
      touched.push(...(await this.daysOf(other.delivery)));
      await keepReplaced(this.tx, organisation, source, other.delivery, scope.id);
      noteReplaced(scope, Number(other.records));
    }
    return problems;
  }

  /** @param keys of all scopes that are delivered together: of this source they replace their own */
  private overlapping(key: string, scope: Scope, keys: readonly string[]): Promise<Overlapping[]> {
    const { organisation, source } = this.request;
    return this.tx.query<Overlapping>(
      `select v.id::text as id, v.source, v.scope, coalesce(v.account, '') as account, v.records::text as records,
         v.period_start as start, v.period_end as until, v.delivered_at as at,
         case when n.sub_accounts = '{}' then '{}'::text[] else array(
           select name from unnest(v.sub_accounts) name
           where account_key(name) <> all(select account_key(own) from unnest(n.sub_accounts) own) order by 1 limit 5
         ) end as others
       from delivery v, (select $2::text as source, $3::text as provider, $4::text as account, $5::text as scope,
         $6::timestamptz as period_start, $7::timestamptz as period_end, $8::text[] as sub_accounts) n
       where v.organisation = $1 and v.scope is not null and ${isSameBill('v', 'n')}
         and not (v.source = n.source and ($9 or v.scope = any($10::text[])))
       order by v.id`,
      [
        organisation,
        source,
        scope.provider,
        scope.account,
        key,
        new Date(scope.periodStart),
        new Date(scope.periodEnd),
        [...scope.writer.outline.subAccounts],
        scope.increment,
        keys,
      ],
    );
  }

  /**
   * Takes back what was delivered together with a bill that is restated here without it: accounts that the bill has
   * lost. What was delivered alone is another bill.
   */
  private async dropLost(scopes: readonly Scope[], workItems: WorkItem[]): Promise<TeamDay[]> {
    const { organisation, source } = this.request;
    const touched: TeamDay[] = [];
    const bundle = scopes[0]?.bundle ?? null;
    for (const { id: replacedBy, oldBundle, provider, periodStart, perFile } of scopes) {
      if (oldBundle === null || oldBundle === bundle) continue;
      const lost = await this.tx.query<{ id: string; scope: string; account: string | null; records: string }>(
        `select id::text as id, scope, account, records::text as records from delivery
         where organisation = $1 and source = $2 and scope is not null and bundle = $3 and provider = $4 and period_start = $5`,
        [organisation, source, oldBundle, provider, new Date(periodStart)],
      );
      for (const { id, scope, account, records } of lost) {
        touched.push(...(await this.daysOf(id)));
        await keepReplaced(this.tx, organisation, source, id, replacedBy);
        workItems.push(...(await supplementItems(this.tx, organisation, source, scope)));
        const removed = {
          provider,
          account,
          periodStart: new Date(periodStart).toISOString(),
          records: Number(records),
        };
        const [file] = perFile.keys();
        file?.removed.push(removed);
      }
    }
    return touched;
  }

  private async finishScope(key: string, scope: Scope, hasRejects: boolean, settling: Settling): Promise<WorkItem[]> {
    const { organisation, source, now } = this.request;
    const { outline } = scope.writer;
    const place = { ...scope, organisation, source, key };
    const own = (await deliveryOf(this.tx, place)) ?? (await adopted(this.tx, place, scope.digest));
    const twin = own === undefined ? await twinOf(this.tx, place, scope.digest) : undefined;
    const old = own ?? twin;
    const isFinal =
      stateOf(
        {
          periodEnd: scope.periodEnd,
          deliveredAt: now,
          isFinalBySource: outline.isFinalBySource,
          hasUsage: outline.hasUsage,
          hasRejects,
        },
        settlingMs(settling, scope.provider),
        now,
      ).state === 'final';
    const isUnchanged = old !== undefined && old.digest.equals(scope.digest);
    scope.oldBundle = old?.bundle ?? null;
    const touched = new Map(scope.writer.touched);
    if (isUnchanged) {
      await keepBefore(this.tx, organisation, old.id, scope.bundle);
      await this.tx.query(
        `update delivery_replaced set replaced_by = $3 where organisation = $1 and replaced_by = $2`,
        [organisation, scope.id, old.id],
      );
      await dropDelivery(this.tx, organisation, source, scope.id);
      for (const [count, records] of scope.perFile) {
        count.accepted -= records;
        count.unchanged += records;
      }
    } else if (old !== undefined) {
      for (const row of await this.daysOf(old.id)) touched.set(`${row.team}/${row.day}`, row);
      await keepReplaced(this.tx, organisation, source, old.id, scope.id);
      noteReplaced(scope, Number(old.records));
    }
    await this.describe(isUnchanged ? old.id : scope.id, twin?.key ?? key, scope, { isFinal, hasRejects });
    if (twin !== undefined)
      for (const { warnings } of scope.perFile.keys())
        warnings.push(`its lines are those of ${fileOf(twin.key)}, which is there already: they count once`);
    const others = old === undefined ? await supplementItems(this.tx, organisation, source, key) : [];
    if (isUnchanged && old.closed === isFinal) return [];
    const month = monthOfPeriod(scope.periodStart, scope.periodEnd);
    return [...[...touched.values()].map(rollupOf), reconcileItem(source, month), ...others];
  }

  /**
   * What a bill lacks lies beside it: it replaces what it said before, and neither closes a period nor is a bill. Where
   * its bill is not there it waits for it.
   */
  private async finishSupplement(key: string, scope: Scope): Promise<WorkItem[]> {
    const { organisation, source } = this.request;
    const { id, provider, account, periodStart, periodEnd, digest, writer, perFile } = scope;
    const old = await deliveryOf(this.tx, { ...scope, organisation, source, key });
    if (old !== undefined && old.digest.equals(digest)) {
      await dropDelivery(this.tx, organisation, source, id);
      for (const [count, records] of scope.perFile) {
        count.accepted -= records;
        count.unchanged += records;
      }
      return [];
    }
    const touched: TeamDay[] = [...writer.touched.values()];
    if (old !== undefined) {
      touched.push(...(await this.daysOf(old.id)));
      await keepReplaced(this.tx, organisation, source, old.id, id);
      noteReplaced(scope, Number(old.records));
    }
    await this.tx.query(
      `update delivery set supplement = $3, provider = $4, account = $5, period_start = $6, period_end = $7, digest = $8, records = $9
       where organisation = $1 and id = $2`,
      [organisation, id, key, provider, account, new Date(periodStart), new Date(periodEnd), digest, writer.records],
    );
    if (!(await hasItsBill(this.tx, organisation, id))) {
      await dropDerived(this.tx, organisation, id);
      for (const { warnings } of perFile.keys()) warnings.push(await this.sayWaiting(scope));
    }
    return touched.map(rollupOf);
  }

  private async sayWaiting({ provider, account, periodStart }: Scope): Promise<string> {
    const { organisation, source } = this.request;
    const others = await this.tx.query<{ source: string }>(
      `select distinct source from delivery where organisation = $1 and scope is not null and provider = $2
         and account_key(coalesce(account, '')) = account_key($3) and period_start = $4 order by 1`,
      [organisation, provider, account ?? '', new Date(periodStart)],
    );
    const where = others.length === 0 ? '' : `, but from ${others.map((one) => `"${one.source}"`).join(', ')}`;
    return (
      `it adds to the bill of ${provider}${account === null ? '' : ` account ${account}`} from ` +
      `${formatInstant(periodStart).slice(0, 10)}, which did not come from the source "${source}"${where}: it counts once ` +
      'that bill comes from the same source'
    );
  }

  /** Writes what a bill's delivery says of itself into its row. */
  private async describe(
    id: string,
    key: string,
    { writer, provider, account, periodStart, periodEnd, digest, bundle }: Scope,
    { isFinal, hasRejects }: { readonly isFinal: boolean; readonly hasRejects: boolean },
  ): Promise<void> {
    const now = new Date(this.request.now);
    const row = {
      ...writer.described,
      scope: key,
      provider,
      account,
      period_start: new Date(periodStart),
      period_end: new Date(periodEnd),
      closed: isFinal,
      final_at: isFinal ? now : null,
      says_final: writer.outline.isFinalBySource,
      has_rejects: hasRejects,
      digest,
      records: writer.records,
      delivered_at: now,
      bundle,
    };
    // A final bill that comes again as it was has been final since then.
    const value = (name: string, at: string): string =>
      name === 'final_at' && isFinal ? `coalesce(case when closed then final_at end, ${at})` : at;
    const columns = Object.keys(row).map((name, at) => `${name} = ${value(name, `$${at + 3}`)}`);
    await this.tx.query(`update delivery set ${columns.join(', ')} where organisation = $1 and id = $2`, [
      this.request.organisation,
      id,
      ...Object.values(row),
    ]);
  }

  private async daysOf(delivery: string): Promise<TeamDay[]> {
    return this.tx.query(
      `select distinct team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day from usage_hour where organisation = $1 and delivery = $2`,
      [this.request.organisation, delivery],
    );
  }
}

/** The file of an increment, of its scope's key. */
const fileOf = (key: string): string => key.split('|').slice(3).join('|');

function noteReplaced({ perFile, provider, account, periodStart }: Scope, records: number): void {
  const replaced = { provider, account, periodStart: new Date(periodStart).toISOString(), records };
  for (const count of perFile.keys()) count.replaced.push(replaced);
}

/** Removes a delivery with everything that came from it; the caller enqueues its days. */
export async function dropDelivery(tx: Transaction, organisation: string, source: string, id: string): Promise<void> {
  await dropDerived(tx, organisation, id);
  await dropConfirmed(tx, organisation, id);
  for (const table of ['commitment_use', 'contract_use'])
    await tx.query(`delete from ${table} where organisation = $1 and delivery = $2`, [organisation, id]);
  await tx.query(`delete from block where organisation = $1 and source = $2 and delivery = $3`, [
    organisation,
    source,
    id,
  ]);
  await tx.query(`delete from delivery where organisation = $1 and id = $2`, [organisation, id]);
}

/** Adds what a bill line is billed to its file. */
export function addBilled(count: FileCount, record: UsageRecord): void {
  const charge = record.charge;
  if (charge === null) return;
  const { provider } = record;
  const { currency, billed } = charge;
  let total = count.lastBilled;
  if (total?.provider !== provider || total.currency !== currency) {
    const key = `${provider}|${currency}`;
    total = count.billed.get(key) ?? { provider, currency, amount: new DecimalSum() };
    count.billed.set(key, total);
    count.lastBilled = total;
  }
  total.amount.add(billed);
}
