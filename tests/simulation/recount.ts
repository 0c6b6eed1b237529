/**
 * The books recounted from what the cloud really ran: every cost line to the nano, and every hour of savings that can
 * be counted without asking who saved what.
 *
 * It shares with the product the price of an hour and the rule of rounding, and nothing else: no store, no price book,
 * no attribution.
 */
import { divideHalfEven } from '../../src/core/money.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { PART_MS_PER_GPU_HOUR, type UsageRecord } from '../../src/core/usage.js';
import { kindOf } from '../../src/providers/fake/catalogue.js';
import { recount, usageOf } from '../../src/providers/fake/metering.js';
import type { BookedAction } from './laws.js';
import { OWN_PROVIDER } from './meter.js';
import type { World } from './world.js';

/** What was really used until an instant, piece by piece. */
function truth({ cloud, clock, plan }: World, until: number): UsageRecord[] {
  return [
    ...usageOf(
      {
        account: cloud.account,
        runs: cloud.runs(),
        commitments: cloud.bought(),
        meterSeconds: cloud.meterSeconds,
        now: clock.at,
      },
      plan.start,
      until,
    ),
  ];
}

/** GPU parts x milliseconds at the price of an hour, rounded once. */
function costOf(
  { cloud }: World,
  { sku, region, term, start }: Pick<UsageRecord, 'sku' | 'region' | 'term' | 'start'>,
  partMs: bigint,
): bigint {
  const hourly =
    sku === null || region === null || term === null ? null : cloud.catalogue.hourlyNanos(sku, region, term, start);
  if (hourly === null) throw new Error(`${sku} has no price: the recount is wrong`);
  return divideHalfEven(partMs * hourly, PART_MS_PER_GPU_HOUR * BigInt(kindOf(sku ?? '')?.gpus ?? 1));
}

/**
 * What the cloud bills of each record: by the second, and of a run what is begun counts once, at its end. A run is what
 * one machine was used for under one term without a gap.
 */
function billedPartMs(records: readonly UsageRecord[]): Map<UsageRecord, bigint> {
  const billed = new Map<UsageRecord, bigint>();
  for (const own of grouped(records, ({ resource, sku, term }) => `${resource} ${sku} ${term}`).values()) {
    let begun = Number.NaN;
    const inOrder = own.toSorted((a, b) => a.start - b.start);
    for (const [at, record] of inOrder.entries()) {
      if (inOrder[at - 1]?.end !== record.start) begun = record.start;
      const ended = inOrder[at + 1]?.start !== record.end;
      const added = ended ? Math.ceil((record.end - begun) / 1000) * 1000 - (record.end - begun) : 0;
      billed.set(record, BigInt(record.gpuParts ?? 0) * BigInt(record.end - record.start + added));
    }
  }
  return billed;
}

const teamOf = ({ moved }: World, { resource, tags }: UsageRecord): string =>
  moved.get(resource ?? '') ?? tags?.['team'] ?? 'unallocated';

/**
 * Every hour that was used until an instant stands in the books with its cost, priced, to the nano, of the right team.
 */
export async function costsMatchTheCloud(world: World, until: number): Promise<void> {
  const { db, organisation, broken, clock, cloud, plan } = world;
  const records = truth(world, until);
  const gpuMs = records.reduce((sum, { gpuParts, start, end }) => sum + ((gpuParts ?? 0) / 7000) * (end - start), 0);
  if (gpuMs !== recount(cloud.runs(), plan.start, until))
    broken.push(`the meter has ${gpuMs} GPU-milliseconds, the runs ${recount(cloud.runs(), plan.start, until)}`);
  const lines = new Map<string, { record: UsageRecord; partMs: bigint }>();
  const billed = billedPartMs(truth(world, clock.at));
  const partMsOf = new Map([...billed].map(([record, partMs]) => [record.id, partMs]));
  for (const record of records) {
    const key = `${teamOf(world, record)} ${record.sku} ${record.region} ${record.term} ${Math.floor(record.start / HOUR_MS)}`;
    const line = lines.get(key) ?? { record, partMs: 0n };
    line.partMs += partMsOf.get(record.id) ?? 0n;
    lines.set(key, line);
  }
  const sums = new Map<string, bigint>();
  for (const { record, partMs } of lines.values()) {
    const key = `${teamOf(world, record)} ${record.sku} ${record.term}`;
    sums.set(key, (sums.get(key) ?? 0n) + costOf(world, record, partMs));
  }
  const rows = await db.query<{ key: string; nanos: string; unpriced: number; lines: number }>(
    `select c.team || ' ' || d.sku || ' ' || d.term as key, coalesce(sum(c.nanos), 0)::text as nanos, (count(*) filter (where c.unpriced_reason <> ''))::int as unpriced, count(*)::int as lines
     from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
     where c.organisation = $1 and c.hour < $2 and d.provider <> $3 group by 1`,
    [organisation, new Date(until), OWN_PROVIDER],
  );
  const booked = new Map(rows.map((row) => [row.key, row]));
  for (const key of new Set([...sums.keys(), ...booked.keys()])) {
    const [real, book] = [sums.get(key) ?? 0n, booked.get(key)];
    if (BigInt(book?.nanos ?? '0') !== real)
      broken.push(
        `${key} cost ${real} nanos until ${formatInstant(until)}, and the books say ${book?.nanos ?? 'nothing'}`,
      );
    if ((book?.unpriced ?? 0) > 0) broken.push(`${book?.unpriced} lines of ${key} have no price`);
  }
  world.tally.linesRecounted += lines.size;
  await statesMatchTheBooks(world);
}

/** A budget's state is the sum of the days of its teams. */
async function statesMatchTheBooks({ db, organisation, broken }: World): Promise<void> {
  const rows = await db.query<{ budget: string; start: Date; state: string; books: string }>(
    `select s.budget, s.period_start as start, s.state ->> 'spent' as state,
       (select coalesce(sum(c.actual), 0) from cost_day c where c.organisation = s.organisation and (c.team = b.team or b.team = 'red' and c.team = 'blue')
          and c.day >= (s.period_start at time zone 'UTC')::date and c.day < (s.period_end at time zone 'UTC')::date)::text as books
     from budget_state s join budget b on b.organisation = s.organisation and b.id = s.budget where s.organisation = $1`,
    [organisation],
  );
  for (const { budget, start, state, books } of rows)
    if (nanos(state) !== nanos(books))
      broken.push(
        `the budget ${budget} says that ${state} were spent from ${formatInstant(start.getTime())} on; the days sum to ${books}`,
      );
}

function grouped<T, K>(all: readonly T[], keyOf: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}

/** Nanos of a decimal text. */
function nanos(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}

interface LedgerHour {
  readonly action: string;
  readonly chain: string;
  readonly from: Date;
  readonly hour: Date;
  readonly state: string;
  readonly claimed: string;
  readonly counterfactual: string;
  readonly actual: string;
}

/**
 * Summaries are the sums of their lines; and hours that are measured whole are what the machines of the chain really
 * cost.
 */
export async function savingsMatchTheCloud(
  world: World,
  actions: readonly BookedAction[],
  until: number,
): Promise<void> {
  await entriesMatchTheLines(world);
  const hours = await world.db.query<LedgerHour>(
    `select l.action, c.chain, c.from_at as "from", l.hour, (array_agg(l.state order by l.no desc))[1] as state, sum(l.claimed_ms)::text as claimed,
       sum(l.counterfactual_nanos)::text as counterfactual, sum(l.actual_nanos)::text as actual
     from saving_line l join counterfactual c on c.organisation = l.organisation and c.team = l.team and c.action = l.action
     where l.organisation = $1 and l.hour < $2 and c.chain <> all($3::text[]) group by 1, 2, 3, 4`,
    [world.organisation, new Date(until), [...world.moved.keys()].map((resource) => `fake instance/${resource}`)],
  );
  const chains = grouped(hours, ({ chain }) => chain);
  if (chains.size === 0) return;
  const pieces = grouped(truth(world, until), ({ start }) => Math.floor(start / HOUR_MS) * HOUR_MS);
  const members = await world.db.query<{ action: string; chain: string; from: Date }>(
    `select action, chain, from_at as "from" from counterfactual where organisation = $1 order by from_at, action`,
    [world.organisation],
  );
  for (const [chain, all] of chains) {
    const own = members.filter((member) => member.chain === chain);
    for (const [hour, rows] of grouped(all, (row) => row.hour.getTime()))
      checkHour(world, chain.slice(chain.indexOf(' ') + 1), hour, rows, own, pieces.get(hour) ?? [], actions);
  }
}

/**
 * Of an hour in which every action of the chain so far is measured whole: with the last action it cost what was
 * metered. And what a single stop took away would have cost the price of its machine.
 */
function checkHour(
  world: World,
  target: string,
  hour: number,
  rows: readonly LedgerHour[],
  members: readonly { readonly action: string; readonly from: Date }[],
  pieces: readonly UsageRecord[],
  actions: readonly BookedAction[],
): void {
  const begun = members.filter(({ from }) => from.getTime() < hour + HOUR_MS);
  const isWhole = begun.every(({ action }) =>
    rows.some((row) => row.action === action && row.state === 'measured' && row.claimed === String(HOUR_MS)),
  );
  const last = rows.find(({ action }) => action === begun.at(-1)?.action);
  if (!isWhole || last === undefined) return;
  world.tally.savingHoursRecounted += 1;
  const only = actions.find(({ id }) => id === last.action);
  if (only?.effect.kind === 'purchase') return checkCommitmentHour(world, only, last, pieces);
  const name = target.slice(target.indexOf('/') + 1);
  const own = pieces.filter(({ resource, tags }) =>
    target.startsWith('group/') ? tags?.['fake:group'] === name : resource === name,
  );
  const real = [...grouped(own, ({ sku, term }) => `${sku} ${term}`).values()].reduce(
    (sum, group) =>
      sum +
      costOf(
        world,
        group[0] as UsageRecord,
        // The ledger looks at an hour by itself: a run goes on within it.
        [...billedPartMs(group).values()].reduce((parts, partMs) => parts + partMs, 0n),
      ),
    0n,
  );
  if (BigInt(last.actual) !== real)
    world.broken.push(
      `the ledger says that ${target} cost ${last.actual} nanos from ${formatInstant(hour)} on; it cost ${real}`,
    );
  const seen = world.wire.taken().find(({ token }) => token === only?.token)?.seen;
  if (begun.length === 1 && (only?.effect.kind === 'stop' || only?.effect.kind === 'terminate') && seen) {
    const full = costOf(world, { ...seen, start: hour }, BigInt((seen.gpus ?? 0) * 7000) * BigInt(HOUR_MS));
    if (BigInt(last.counterfactual) !== full)
      world.broken.push(
        `the ledger says that ${target} would have cost ${last.counterfactual} nanos from ${formatInstant(hour)} on; its price is ${full}`,
      );
  }
}

/**
 * Of the only commitment: what it served of the team that bought it would have cost the price on demand, and the
 * commitment costs its share of the term, used or not.
 */
function checkCommitmentHour(
  world: World,
  { effect, team }: BookedAction,
  { hour, counterfactual, actual, from }: LedgerHour,
  pieces: readonly UsageRecord[],
): void {
  const { cloud, broken } = world;
  const [only, ...others] = cloud.bought();
  if (effect.kind !== 'purchase' || only === undefined || others.length > 0) return;
  const served = pieces
    .filter((piece) => piece.term === 'reserved-1y' && teamOf(world, piece) === team)
    .reduce((sum, { gpuParts, start, end }) => sum + BigInt(gpuParts ?? 0) * BigInt(end - start), 0n);
  const without = costOf(
    world,
    { sku: only.sku, region: only.region, term: 'on-demand', start: hour.getTime() },
    served,
  );
  const due = (at: number): bigint => (BigInt(effect.mostNanos) * BigInt(at - from.getTime())) / BigInt(8760 * HOUR_MS);
  const share = due(hour.getTime() + HOUR_MS) - due(hour.getTime());
  if (BigInt(counterfactual) !== without || BigInt(actual) !== share)
    broken.push(
      `the ledger says of the commitment ${only.id} at ${formatInstant(hour.getTime())} ${counterfactual} - ${actual} nanos; it is ${without} - ${share}`,
    );
}

async function entriesMatchTheLines({ db, organisation, broken }: World): Promise<void> {
  const rows = await db.query<{ action: string }>(
    `select s.action from saving s left join (
       select action, sum(claimed_ms) as claimed, sum(counterfactual_nanos) as without, sum(actual_nanos) as actual from saving_line where organisation = $1 group by action) l on l.action = s.action
     where s.organisation = $1 and (s.claimed_ms, s.counterfactual_nanos, s.actual_nanos, s.measured_nanos + s.verified_nanos)
       is distinct from (coalesce(l.claimed, 0), coalesce(l.without, 0), coalesce(l.actual, 0), coalesce(l.without - l.actual, 0))`,
    [organisation],
  );
  for (const { action } of rows) broken.push(`the summary of the saving of ${action} is not the sum of its lines`);
}
