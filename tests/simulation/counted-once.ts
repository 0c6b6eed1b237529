/**
 * The law of `actual`: every dollar of a bill, and every metered hour without one, is in it exactly once.
 *
 * Told anew from the records of meters and bills, without the product's view, claims or states: a bill of the fake
 * cloud states whole UTC days, of one provider and of the account that meters, whoever pays for it, and never says
 * itself that it is final. It calls machines as the meter does, and their hours by the meter's SKU or one of its own;
 * what else it charges for a machine bears that machine's name at most. While it is open, a line of a SKU that was
 * metered on its day counts only if its own machine was not: its records are late, or it is what a commitment leaves
 * unused, which no meter knows.
 */
import { formatDecimal } from '../../src/core/decimal.js';
import { DAY_MS, dayOf, formatInstant } from '../../src/core/time.js';
import { meterSkuOf } from './company.js';
import type { World } from './world.js';

/** Days after its period that a bill settles, where nobody has set another time. */
const SETTLING_DAYS = 10;

interface Names {
  readonly team: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: string | null;
  /** Epoch milliseconds. */
  readonly hour: number;
  readonly amount: string;
}
interface Delivery {
  readonly source: string;
  readonly id: string;
  readonly until: Date | null;
  readonly delivered: Date;
}
interface Line extends Names {
  readonly isUsage: boolean;
  readonly isFinal: boolean;
  readonly resource: string | null;
  /** Of another account than the one that pays. */
  readonly isPaidByAnother: boolean;
  /** The bill's SKU is the meter's. */
  readonly isAsMetered: boolean;
}

/** In units of 10^-15. */
function units(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole) * 10n ** 15n + BigInt(fraction.padEnd(15, '0').slice(0, 15));
  return text.startsWith('-') ? -size : size;
}

type Dated = Pick<Names, 'account' | 'sku' | 'region' | 'term' | 'hour'>;

const kindOf = ({ account, sku, region, term }: Dated): string =>
  JSON.stringify([account, sku, region, term === 'spot']);
const onDay = (one: Dated): string => `${kindOf(one)} ${dayOf(one.hour)}`;

/** The machines that were metered of a kind on a day, by their names. */
type Machines = ReadonlyMap<string, ReadonlySet<string | null>>;

/** What bills and meters have sent and what of it counts, line by line. */
async function sent({ db, stores, organisation, clock }: World): Promise<{ lines: Line[]; machines: Machines }> {
  const deliveries = await db.query<Delivery>(
    `select source, id::text as id, period_end as until, delivered_at as delivered
     from delivery where organisation = $1`,
    [organisation],
  );
  const rules = await stores.organisations.rules(db, organisation);
  const lines: Line[] = [];
  const machines = new Map<string, Set<string | null>>();
  for (const { source, id, until, delivered } of deliveries) {
    const isFinal = until !== null && delivered >= until && clock.at >= until.getTime() + SETTLING_DAYS * DAY_MS;
    for await (const records of stores.raw.records(db, organisation, source, id))
      for (const record of records) {
        const { charge, start: hour, subAccount, region, term, resource } = record;
        const sku = record.sku === null ? null : meterSkuOf(record.sku);
        const names = { account: subAccount ?? record.account, sku, region, term, hour };
        if (charge !== null) {
          const [team, amount] = [rules.teamOf(record), formatDecimal(charge.billed)];
          const [isUsage, isPaidByAnother] = [charge.category === 'Usage', subAccount !== null];
          const isAsMetered = sku === record.sku;
          lines.push({ ...names, resource, team, amount, isUsage, isFinal, isPaidByAnother, isAsMetered });
          continue;
        }
        const known = machines.get(onDay(names));
        if (known === undefined) machines.set(onDay(names), new Set([resource]));
        else known.add(resource);
      }
  }
  return { lines, machines };
}

/** The open lines that no meter stands for although their SKU is metered on their day. */
function unmetered(lines: readonly Line[], machines: Machines): Set<Line> {
  const aside = lines.filter((line) => line.isUsage && !line.isFinal && machines.has(onDay(line)));
  const alike = new Set(aside.filter((line) => machines.get(onDay(line))?.has(line.resource)).map(kindOf));
  return new Set(
    aside.filter(
      (line) => line.resource !== null && alike.has(kindOf(line)) && !machines.get(onDay(line))?.has(line.resource),
    ),
  );
}

export async function everyDollarCountsOnce(world: World): Promise<void> {
  const { db, organisation, clock, broken, tally } = world;
  const rows = await db.query<Omit<Names, 'hour'> & { hour: Date }>(
    `select c.team, d.account, d.sku, d.region, d.term, c.hour, (c.nanos * 0.000000001)::text as amount
     from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
     where c.organisation = $1 and c.nanos is not null`,
    [organisation],
  );
  const metered = rows.map((row): Names => ({ ...row, hour: row.hour.getTime() }));
  const { lines, machines } = await sent(world);
  const reached = new Set(
    lines.filter(({ isUsage, isFinal }) => isUsage && isFinal).map(({ account, hour }) => `${account} ${dayOf(hour)}`),
  );
  const seen = new Set(metered.map(onDay));
  const sums = new Map<string, bigint>();
  const add = ({ team, amount }: Names): unknown => sums.set(team, (sums.get(team) ?? 0n) + units(amount));
  for (const hour of metered) if (!reached.has(`${hour.account} ${dayOf(hour.hour)}`)) add(hour);
  const own = unmetered(lines, machines);
  for (const line of lines) if (line.isFinal || !line.isUsage || !seen.has(onDay(line)) || own.has(line)) add(line);
  tally.billLinesRecounted += lines.length;
  tally.finalBillLines += lines.filter(({ isFinal }) => isFinal).length;
  tally.unmeteredLines += own.size;
  tallyKinds(world, lines, machines);
  const booked = await db.query<{ team: string; amount: string }>(
    `select team, coalesce(sum(actual), 0)::text as amount from cost_day
     where organisation = $1 and shared_from = '' group by team`,
    [organisation],
  );
  const found = new Map(booked.map(({ team, amount }) => [team, units(amount)]));
  for (const team of new Set([...sums.keys(), ...found.keys()]))
    if ((sums.get(team) ?? 0n) !== (found.get(team) ?? 0n))
      broken.push(
        `at ${formatInstant(clock.at)} actual of ${team} is ${found.get(team) ?? 0n}; bills and meters, each counted once, are ${sums.get(team) ?? 0n}`,
      );
}

/** Counts what open bills charge for machines that are metered. */
function tallyKinds({ tally }: World, lines: readonly Line[], machines: Machines): void {
  const metered = new Set([...machines.values()].flatMap((names) => [...names]));
  for (const line of lines) {
    if (line.isFinal || !line.isUsage || line.resource === null || !metered.has(line.resource)) continue;
    if (!machines.has(onDay(line))) tally.openLinesBesideHours += 1;
    else {
      if (line.isPaidByAnother) tally.openHoursOfPayers += 1;
      if (!line.isAsMetered) tally.openHoursByOwnSkus += 1;
    }
  }
}
