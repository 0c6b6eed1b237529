/**
 * Stores the data that decides which rows count: the bill that covers metered usage, the metered SKUs of each day, and
 * the state of bills. The rule is core/bill/counting.ts; the view `hour_line` reads the stored data. Every change here
 * enqueues the roll-up of every affected day, in the same transaction.
 *
 * Code that places claims holds the lock until the end of the transaction, so that no bill and no meter miss each
 * other; it enqueues other work to the left of the roll-up before that.
 */
import {
  claimsOf,
  stateOf,
  type BilledAccounts,
  type BillFacts,
  type BillState,
  type Claim,
  type MeterKey,
} from '../../core/bill/counting.js';
import { monthOfPeriod } from '../../core/bill/reconciliation.js';
import { readSettling, settlingMs, type Settling } from '../../core/bill/settling.js';
import type { Dimension } from '../../core/cost/rollup.js';
import { DAY_MS, dayOf, formatInstant, type Interval } from '../../core/time.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { Queryable } from '../database.js';
import { enqueue, type WorkItem } from '../work.js';
import { aboutOf, reconcileItem } from './reconciliation.js';
import { isSameBill } from './same-bill.js';
import { waitForSubject } from '../locks.js';

/** One key: every bill of an organisation is looked at, and the next check is when the next of them settles. */
export const SETTLE = { stage: 'bill.settle', partition: 'bills', key: 'bills' } as const;

export interface TeamDay {
  readonly team: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
}

/** The metered usage of one name on a team's UTC day. */
export interface MeteredDay {
  readonly day: string;
  readonly dimension: Dimension;
  /** Some of it has a price. */
  readonly isPriced: boolean;
}

/** A bill with its state, for people. Instants are ISO 8601. */
export interface StatedBill {
  readonly source: string;
  readonly provider: string;
  readonly account: string | null;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly state: BillState;
  /** When time alone makes it final; null: it is, or it first has to be delivered again. */
  readonly finalAt: string | null;
}

/** A SKU of a bill and what the meter calls the same: a SKU, otherwise a GPU model. */
export interface BillName {
  readonly sku: string;
  readonly meterSku: string;
  readonly meterGpuModel: string;
}

const SETTLING = 'bill-settling';

/** Columns that distinguish metered usage, in the order of the table's key. */
const NAMES = ['provider', 'account', 'sub_account', 'sku', 'gpu_model', 'region', 'market'] as const;

interface Bill {
  id: string;
  source: string;
  provider: string;
  account: string | null;
  start: Date;
  until: Date;
  closed: boolean;
  delivered: Date;
  says_final: boolean;
  has_usage: boolean;
  has_rejects: boolean;
}

interface BilledRow {
  readonly account: string;
  readonly names: readonly string[];
  readonly start: Date;
  readonly until: Date;
  readonly closed: boolean;
  /** Starts and ends by turns, ascending; epoch milliseconds. */
  readonly reach: readonly number[] | null;
}

const billedOf = ({ account, names, start, until, closed, reach }: BilledRow): BilledAccounts => ({
  account,
  subAccounts: new Set(names),
  start: start.getTime(),
  end: until.getTime(),
  reach: reach?.flatMap((edge, at) => (at % 2 === 0 ? [{ start: edge, end: reach[at + 1] ?? edge }] : [])) ?? null,
  isFinal: closed,
});

/** As it is kept; a process of before migration 0034 did not write whether it is final. */
type KeptClaim = Omit<Claim, 'isFinal'> & { readonly isFinal: boolean | null };

const BILL = `select id::text as id, source, provider, account, period_start as start, period_end as until, closed,
  delivered_at as delivered, says_final, has_usage, has_rejects from delivery where organisation = $1 and scope is not null`;

const ABOUT = aboutOf('delivery');

const factsOf = (bill: Bill): BillFacts => ({
  periodEnd: bill.until.getTime(),
  deliveredAt: bill.delivered.getTime(),
  isFinalBySource: bill.says_final,
  hasUsage: bill.has_usage,
  hasRejects: bill.has_rejects,
});

export const rollupOf = ({ team, day }: TeamDay): WorkItem => ({
  stage: 'cost.rollup',
  partition: team,
  key: `${team}/${day}`,
});

export class CountingStore {
  constructor(private readonly organisations: OrganisationStore) {}

  /** Until the end of the transaction: who places claims sees all that was placed before. */
  async lock(tx: Queryable, organisation: string): Promise<void> {
    await waitForSubject(tx, 'bursar bills', organisation);
  }

  async settling(db: Queryable, organisation: string): Promise<Settling> {
    return readSettling(await this.organisations.setting<unknown>(db, organisation, SETTLING));
  }

  /** Saves how long bills settle. @throws Failure invalid naming every problem. */
  async saveSettling(tx: Queryable, organisation: string, settling: Settling): Promise<WorkItem[]> {
    readSettling(settling);
    await this.organisations.saveSetting(tx, organisation, SETTLING, settling);
    return [SETTLE];
  }

  /** Computes again whose bill the metered usage of some providers meets. The caller holds the lock. */
  async place(tx: Queryable, organisation: string, providers: readonly string[]): Promise<WorkItem[]> {
    const workItems: WorkItem[] = [];
    for (const provider of new Set(providers)) {
      const bills = await tx.query<BilledRow>(
        `select coalesce(account, '') as account, sub_accounts as names, period_start as start, period_end as until, closed,
           case when reach is not null then array(
             select (extract(epoch from edge) * 1000)::float8 from unnest(reach) r, unnest(array[lower(r), upper(r)]) edge order by 1) end as reach
         from delivery where organisation = $1 and scope is not null and provider = $2 order by id`,
        [organisation, provider],
      );
      const keys = await tx.query<MeterKey>(
        `select distinct account, sub_account as "subAccount" from metered_day
         where organisation = $1 and provider = $2 order by 1, 2`,
        [organisation, provider],
      );
      const claims = claimsOf(keys, bills.map(billedOf));
      workItems.push(...(await this.saveClaims(tx, organisation, provider, claims)));
    }
    return workItems;
  }

  /** Writes the keys whose claims differ from those that are kept, and enqueues the days on which they differ. */
  private async saveClaims(
    tx: Queryable,
    organisation: string,
    provider: string,
    claims: readonly Claim[],
  ): Promise<WorkItem[]> {
    const rows = await tx.query<MeterKey & { since: Date; until: Date; bill: string | null; final: boolean | null }>(
      `select account, sub_account as "subAccount", since, until, bill, final from bill_claim
       where organisation = $1 and provider = $2 order by account, sub_account, since`,
      [organisation, provider],
    );
    const kept = rows.map(
      ({ since, until, final, ...row }): KeptClaim => ({
        ...row,
        start: since.getTime(),
        end: until.getTime(),
        isFinal: final,
      }),
    );
    const [before, after] = [byKey(kept), byKey(claims)];
    const workItems: WorkItem[] = [];
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const [old, current] = [before.get(name) ?? [], after.get(name) ?? []];
      const differs = differencesOf(old, current);
      const [key] = [...current, ...old];
      if (differs.length === 0 || key === undefined) continue;
      await this.replaceClaims(tx, organisation, provider, key, current);
      const from = Math.min(...differs.map(({ start }) => start));
      const to = Math.max(...differs.map(({ end }) => end));
      workItems.push(...(await this.daysOfKey(tx, organisation, provider, key, from, to)).map(rollupOf));
      workItems.push(...(await this.unsettledLines(tx, organisation, provider, from, to)).map(rollupOf));
    }
    return workItems;
  }

  private async replaceClaims(
    tx: Queryable,
    organisation: string,
    provider: string,
    { account, subAccount }: MeterKey,
    claims: readonly Claim[],
  ): Promise<void> {
    await tx.query(
      `delete from bill_claim where organisation = $1 and provider = $2 and account = $3 and sub_account = $4`,
      [organisation, provider, account, subAccount],
    );
    await tx.query(
      `insert into bill_claim (organisation, provider, account, sub_account, since, until, bill, final)
       select $1, $2, $3, $4, since, until, bill, final
       from unnest($5::timestamptz[], $6::timestamptz[], $7::text[], $8::boolean[]) as c(since, until, bill, final)`,
      [
        organisation,
        provider,
        account,
        subAccount,
        claims.map(({ start }) => formatInstant(start)),
        claims.map(({ end }) => formatInstant(end)),
        claims.map(({ bill }) => bill),
        claims.map(({ isFinal }) => isFinal),
      ],
    );
  }

  private async daysOfKey(
    tx: Queryable,
    organisation: string,
    provider: string,
    { account, subAccount }: MeterKey,
    from: number,
    to: number,
  ): Promise<TeamDay[]> {
    return tx.query<TeamDay>(
      `select distinct team, day::text as day from metered_day
       where organisation = $1 and provider = $2 and account = $3 and sub_account = $4 and day >= $5::date and day < $6::date`,
      [organisation, provider, account, subAccount, dayText(from), dayText(to - 1 + DAY_MS)],
    );
  }

  /** Days on which bills that are not final may have lines about usage within [from, to). */
  private async unsettledLines(
    tx: Queryable,
    organisation: string,
    provider: string,
    from: number,
    to: number,
  ): Promise<TeamDay[]> {
    const bills = await tx.query<{ teams: string[]; days: string[]; start: Date; until: Date; period: Date }>(
      `select teams, long_days::text[] as days, ${ABOUT.from} as start, ${ABOUT.until} as until, period_start as period from delivery
       where organisation = $1 and scope is not null and not closed and provider = $2
         and ${ABOUT.from} < $4 and ${ABOUT.until} > $3`,
      [organisation, provider, formatInstant(from), formatInstant(to)],
    );
    return bills.flatMap(({ teams, days, start, until, period }) => {
      const own = new Set(days);
      // A civil day of a bill in another zone lies on two UTC days.
      const beyond = period.getTime() % DAY_MS === 0 ? 0 : DAY_MS;
      const [first, end] = [Math.max(from, start.getTime()) - beyond, Math.min(to, until.getTime()) + beyond];
      for (let day = dayOf(first); day < end; day += DAY_MS) own.add(dayText(day));
      return teams.flatMap((team) => [...own].map((day) => ({ team, day })));
    });
  }

  /**
   * Keeps what is metered on a team's days (all of it is given), and enqueues the days of other teams on which that
   * changes what counts.
   */
  async noteMetered(
    tx: Queryable,
    organisation: string,
    team: string,
    days: readonly string[],
    metered: readonly MeteredDay[],
  ): Promise<WorkItem[]> {
    const rows = await tx.query<{ day: string; priced: boolean } & Record<(typeof NAMES)[number], string>>(
      `select day::text as day, ${NAMES.join(', ')}, priced from metered_day
       where organisation = $1 and team = $2 and day = any($3::date[])`,
      [organisation, team, days],
    );
    const kept = new Map(
      rows.map(({ day, priced, ...names }) => {
        const key = [day, ...NAMES.map((name) => names[name])];
        return [JSON.stringify(key), { key, priced }];
      }),
    );
    const current = new Map<string, { readonly key: string[]; priced: boolean }>();
    for (const { day, dimension, isPriced } of metered) {
      const key = [day, ...namesOf(dimension)];
      const found = current.get(JSON.stringify(key));
      if (found === undefined) current.set(JSON.stringify(key), { key, priced: isPriced });
      else found.priced ||= isPriced;
    }
    const gone = [...kept].flatMap(([name, { key }]) => (current.has(name) ? [] : [key]));
    const fresh = [...current].flatMap(([name, one]) => (kept.get(name)?.priced === one.priced ? [] : [one]));
    if (gone.length === 0 && fresh.length === 0) return [];
    await this.writeMetered(tx, organisation, team, gone, fresh);
    return this.afterMetered(tx, organisation, [...gone, ...fresh.map(({ key }) => key)]);
  }

  private async writeMetered(
    tx: Queryable,
    organisation: string,
    team: string,
    gone: readonly string[][],
    fresh: readonly { readonly key: string[]; readonly priced: boolean }[],
  ): Promise<void> {
    const columns = (keys: readonly string[][]): string[][] =>
      ['day', ...NAMES].map((_, place) => keys.map((key) => key[place] ?? ''));
    const arrays = `unnest($3::date[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]`;
    if (gone.length > 0)
      await tx.query(
        `delete from metered_day m using ${arrays}) as k(day, ${NAMES.join(', ')})
         where m.organisation = $1 and m.team = $2 and m.day = k.day
           and ${NAMES.map((name) => `m.${name} = k.${name}`).join(' and ')}`,
        [organisation, team, ...columns(gone)],
      );
    if (fresh.length > 0)
      await tx.query(
        `insert into metered_day (organisation, team, day, ${NAMES.join(', ')}, priced)
         select $1, $2, k.* from ${arrays}, $11::boolean[]) as k
         on conflict (organisation, team, day, ${NAMES.join(', ')}) do update set priced = excluded.priced`,
        [organisation, team, ...columns(fresh.map(({ key }) => key)), fresh.map(({ priced }) => priced)],
      );
  }

  /** For billed providers: places keys that no bill has claimed yet, and enqueues lines that may be set aside. */
  private async afterMetered(tx: Queryable, organisation: string, keys: readonly string[][]): Promise<WorkItem[]> {
    const billed = await tx.query<{ provider: string }>(
      `select distinct provider from delivery where organisation = $1 and scope is not null and provider = any($2::text[])`,
      [organisation, [...new Set(keys.map(([, provider = '']) => provider))]],
    );
    const providers = new Set(billed.map(({ provider }) => provider));
    const own = keys.filter(([, provider = '']) => providers.has(provider));
    if (own.length === 0) return [];
    const names = own.map(
      ([, provider = '', account = '', subAccount = '']) => [provider, account, subAccount] as const,
    );
    const unknown = await tx.query<{ provider: string }>(
      `select distinct k.provider from unnest($2::text[], $3::text[], $4::text[]) as k(provider, account, sub_account)
       where not exists (select 1 from bill_claim b where b.organisation = $1 and b.provider = k.provider
         and b.account = k.account and b.sub_account = k.sub_account)`,
      [organisation, ...[0, 1, 2].map((place) => names.map((name) => name[place] ?? ''))],
    );
    const workItems: WorkItem[] = [];
    if (unknown.length > 0) {
      await this.lock(tx, organisation);
      workItems.push(
        ...(await this.place(
          tx,
          organisation,
          unknown.map(({ provider }) => provider),
        )),
      );
    }
    const days = new Map(own.map(([day = '', provider = '']) => [`${provider} ${day}`, { provider, day }]));
    for (const { provider, day } of days.values()) {
      const from = Date.parse(day);
      workItems.push(...(await this.unsettledLines(tx, organisation, provider, from, from + DAY_MS)).map(rollupOf));
      workItems.push(...(await this.unsettledBills(tx, organisation, provider, from, from + DAY_MS)));
    }
    return workItems;
  }

  /** The comparison of bills that are not final: which machines are metered of what is set aside now. */
  private async unsettledBills(
    tx: Queryable,
    organisation: string,
    provider: string,
    from: number,
    to: number,
  ): Promise<WorkItem[]> {
    const bills = await tx.query<{ source: string; start: Date; until: Date }>(
      `select distinct source, period_start as start, period_end as until from delivery
       where organisation = $1 and scope is not null and not closed and provider = $2
         and ${ABOUT.from} < $4 and ${ABOUT.until} > $3`,
      [organisation, provider, formatInstant(from), formatInstant(to)],
    );
    return bills.map(({ source, start, until }) =>
      reconcileItem(source, monthOfPeriod(start.getTime(), until.getTime())),
    );
  }

  /** Keeps what the meter calls a bill's SKUs, as its comparison found it; enqueues its lines while it is not final. */
  async saveNames(
    tx: Queryable,
    organisation: string,
    bill: { readonly delivery: string; readonly provider: string; readonly about: Interval },
    names: readonly BillName[],
  ): Promise<void> {
    const text = ({ sku, meterSku, meterGpuModel }: BillName): string => JSON.stringify([sku, meterSku, meterGpuModel]);
    const current = new Map(names.map((name) => [text(name), name]));
    const kept = await tx.query<BillName>(
      `select sku, meter_sku as "meterSku", meter_gpu_model as "meterGpuModel" from bill_name
       where organisation = $1 and delivery = $2`,
      [organisation, bill.delivery],
    );
    if (kept.length === current.size && kept.every((name) => current.has(text(name)))) return;
    const fresh = [...current.values()];
    await tx.query(`delete from bill_name where organisation = $1 and delivery = $2`, [organisation, bill.delivery]);
    await tx.query(
      `insert into bill_name (organisation, delivery, sku, meter_sku, meter_gpu_model)
       select $1, $2, n.* from unnest($3::text[], $4::text[], $5::text[]) as n`,
      [
        organisation,
        bill.delivery,
        fresh.map(({ sku }) => sku),
        fresh.map(({ meterSku }) => meterSku),
        fresh.map(({ meterGpuModel }) => meterGpuModel),
      ],
    );
    const { start, end } = bill.about;
    const lines = await this.unsettledLines(tx, organisation, bill.provider, start, end);
    await enqueue(tx, organisation, lines.map(rollupOf));
  }

  async billedProviders(db: Queryable, organisation: string): Promise<string[]> {
    const rows = await db.query<{ provider: string }>(
      `select distinct provider from delivery where organisation = $1 and scope is not null order by 1`,
      [organisation],
    );
    return rows.map(({ provider }) => provider);
  }

  /**
   * Makes final what has settled by now, and open again what would not have by a settling time that is longer now; says
   * when the next bill settles. The caller places claims after it.
   */
  async settle(
    tx: Queryable,
    organisation: string,
    now: number,
  ): Promise<{ readonly workItems: readonly WorkItem[]; readonly next: number | null }> {
    const settling = await this.settling(tx, organisation);
    const workItems: WorkItem[] = [];
    let next: number | null = null;
    for (const bill of await tx.query<Bill>(`${BILL} and (not closed or not says_final) order by id`, [organisation])) {
      const { state, finalAt } = stateOf(factsOf(bill), settlingMs(settling, bill.provider), now);
      if (finalAt !== null) next = Math.min(next ?? finalAt, finalAt);
      const isFinal = state === 'final';
      // A bill that time has never made final is as its delivery left it.
      if (bill.closed ? isFinal || finalAt === null : !isFinal) continue;
      await tx.query(`update delivery set closed = $3, final_at = $4 where organisation = $1 and id = $2`, [
        organisation,
        bill.id,
        isFinal,
        isFinal ? formatInstant(now) : null,
      ]);
      const days = await tx.query<TeamDay>(
        `select distinct team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day from usage_hour
         where organisation = $1 and delivery = $2`,
        [organisation, bill.id],
      );
      const month = monthOfPeriod(bill.start.getTime(), bill.until.getTime());
      workItems.push(...days.map(rollupOf), reconcileItem(bill.source, month));
    }
    return { workItems, next };
  }

  /** Bills that came twice, by their sources: they count twice. Such as came in before that was refused. */
  async duplicates(
    db: Queryable,
    organisation: string,
  ): Promise<{ provider: string; account: string | null; period: string; sources: string[] }[]> {
    return db.query(
      `select v.provider, v.account, to_char(v.period_start at time zone 'UTC', 'YYYY-MM-DD') as period,
         array_agg(distinct o.source order by o.source) || v.source as sources
       from delivery v join delivery o on o.organisation = v.organisation and o.scope is not null
         and (o.source, o.id) < (v.source, v.id) and ${isSameBill('o', 'v')}
       where v.organisation = $1 and v.scope is not null
       group by v.id, v.provider, v.account, v.period_start, v.source order by 3, 1, 2`,
      [organisation],
    );
  }

  /** Metered accounts since a day that no bill of their provider knows, though it is billed for that time. */
  async unknownAccounts(
    db: Queryable,
    organisation: string,
    since: number,
  ): Promise<{ provider: string; account: string; subAccount: string; from: string; to: string }[]> {
    return db.query(
      `select m.provider, m.account, m.sub_account as "subAccount", min(m.day)::text as "from", max(m.day)::text as "to"
       from metered_day m where m.organisation = $1 and m.day >= $2::date and exists (
           select 1 from delivery v where v.organisation = m.organisation and v.scope is not null and v.provider = m.provider
             and v.period_start <= m.day::timestamp at time zone 'UTC' and v.period_end > m.day::timestamp at time zone 'UTC')
         and not exists (select 1 from bill_claim b where b.organisation = m.organisation and b.provider = m.provider
           and b.account = m.account and b.sub_account = m.sub_account
           and b.since <= m.day::timestamp at time zone 'UTC' and b.until > m.day::timestamp at time zone 'UTC')
       group by 1, 2, 3 order by 1, 2, 3`,
      [organisation, dayText(since)],
    );
  }

  /**
   * The bills whose periods touch [from, to), with their states. Teams: only bills that have lines of one of them. Files
   * that add to one period are one bill, unless their states differ.
   */
  async bills(
    db: Queryable,
    organisation: string,
    {
      from,
      to,
      teams,
    }: { readonly from: string | null; readonly to: string | null; readonly teams: readonly string[] | null },
    now: number,
  ): Promise<StatedBill[]> {
    const settling = await this.settling(db, organisation);
    const rows = await db.query<Bill>(
      `${BILL} and ($2::timestamptz is null or period_end > $2) and ($3::timestamptz is null or period_start < $3)
         and ($4::text[] is null or teams && $4) order by period_start, provider, account, source`,
      [organisation, from, to, teams],
    );
    const stated = rows.map((bill): StatedBill => {
      const { state, finalAt } = stateOf(factsOf(bill), settlingMs(settling, bill.provider), now);
      const running = bill.until.getTime() > now ? 'open' : 'settling';
      return {
        source: bill.source,
        provider: bill.provider,
        account: bill.account,
        periodStart: formatInstant(bill.start.getTime()),
        periodEnd: formatInstant(bill.until.getTime()),
        state: bill.closed ? 'final' : state === 'final' ? running : state,
        finalAt: bill.closed || finalAt === null ? null : formatInstant(finalAt),
      };
    });
    return [...new Map(stated.map((bill) => [JSON.stringify(Object.values(bill)), bill])).values()];
  }
}

const dayText = (instant: number): string => formatInstant(dayOf(instant)).slice(0, 10);

/** The fields that distinguish metered usage, in the order of the columns of its table. */
export const namesOf = ({
  provider,
  account,
  subAccount,
  sku,
  gpuModel,
  region,
  term,
}: Pick<Dimension, 'provider' | 'account' | 'subAccount' | 'sku' | 'gpuModel' | 'region' | 'term'>): string[] => [
  provider,
  ...[account, subAccount, sku, gpuModel, region].map((name) => name ?? ''),
  term === null ? '' : term === 'spot' ? 'spot' : 'other',
];

function byKey<T extends MeterKey>(claims: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const claim of claims) {
    const name = JSON.stringify([claim.account, claim.subAccount]);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [claim]);
    else group.push(claim);
  }
  return groups;
}

/** When two accounts of whose bill it is, and whether that is final, differ. */
function differencesOf(before: readonly KeptClaim[], after: readonly Claim[]): Interval[] {
  const ends = [...new Set([...before, ...after].flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const at = (claims: readonly KeptClaim[], instant: number): KeptClaim | undefined =>
    claims.find(({ start, end }) => start <= instant && instant < end);
  return ends.slice(0, -1).flatMap((start, place) => {
    const [old, current] = [at(before, start), at(after, start)];
    const isSame = old?.bill === current?.bill && old?.isFinal === current?.isFinal;
    return isSame ? [] : [{ start, end: ends[place + 1] ?? start }];
  });
}
