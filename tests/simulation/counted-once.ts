/**
 * The law of `actual`: every dollar of a bill, and every metered hour without one, is in it exactly once.
 *
 * Told anew from the rows of meters and bills, without the product's view, claims or states: a bill of the fake cloud
 * states whole UTC days, of one provider and of the account that meters, whoever pays for it, and never says itself that
 * it is final. It calls machines as the meter does, and meters all of them. What a commitment leaves unused it bills
 * under the commitment's own name, which no meter knows: that counts at once, though others of its SKU are metered.
 */
import { DAY_MS, dayOf, formatInstant } from '../../src/core/time.js';
import type { World } from './world.js';

/** By what service the fake cloud bills what a commitment has left unused. */
const COMMITMENTS = 'Commitments';

/** Days after its period that a bill settles, where nobody has set another time. */
const SETTLING_DAYS = 10;

interface Names {
  readonly team: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: string | null;
  readonly hour: Date;
  readonly amount: string;
}
interface Line extends Names {
  readonly delivery: string;
  readonly category: string;
  readonly service: string | null;
  readonly start: Date;
  readonly until: Date;
  readonly delivered: Date;
}

/** In units of 10^-15. */
function units(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole) * 10n ** 15n + BigInt(fraction.padEnd(15, '0').slice(0, 15));
  return text.startsWith('-') ? -size : size;
}

const onDay = ({ account, sku, region, term, hour }: Names): string =>
  JSON.stringify([account, sku, region, term === 'spot', dayOf(hour.getTime())]);

export async function everyDollarCountsOnce({ db, organisation, clock, broken, tally }: World): Promise<void> {
  const metered = await db.query<Names>(
    `select c.team, d.account, d.sku, d.region, d.term, c.hour, (c.nanos * 0.000000001)::text as amount
     from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
     where c.organisation = $1 and c.nanos is not null`,
    [organisation],
  );
  const lines = await db.query<Line>(
    `select u.team, coalesce(d.sub_account, d.account) as account, d.sku, d.region, d.term, u.hour,
       u.billed::text as amount, v.id::text as delivery, d.category, d.service, v.period_start as start,
       v.period_end as until, v.delivered_at as delivered
     from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension
     join delivery v on v.organisation = u.organisation and v.id = u.delivery
     where u.organisation = $1 and v.scope is not null`,
    [organisation],
  );
  const isFinal = ({ until, delivered }: Line): boolean =>
    delivered >= until && clock.at >= until.getTime() + SETTLING_DAYS * DAY_MS;
  const usage = lines.filter(({ category }) => category === 'Usage');
  const reached = new Set(usage.filter(isFinal).map(({ account, hour }) => `${account} ${dayOf(hour.getTime())}`));
  const seen = new Set(metered.map(onDay));
  const sums = new Map<string, bigint>();
  const add = ({ team, amount }: Names): unknown => sums.set(team, (sums.get(team) ?? 0n) + units(amount));
  for (const hour of metered) if (!reached.has(`${hour.account} ${dayOf(hour.hour.getTime())}`)) add(hour);
  const isOfMeteredSku = (line: Line): boolean => line.category === 'Usage' && seen.has(onDay(line));
  for (const line of lines) if (isFinal(line) || !isOfMeteredSku(line) || line.service === COMMITMENTS) add(line);
  tally.billLinesRecounted += lines.length;
  tally.finalBillLines += lines.filter(isFinal).length;
  tally.unmeteredLines += lines.filter(
    (line) => line.service === COMMITMENTS && !isFinal(line) && isOfMeteredSku(line),
  ).length;
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
