/**
 * Sums by the days of a zone, read from sums per day and a few hours, are those that all hours add up to: over drawn
 * usage, bills, shared costs and credits, and drawn questions. What is expected is the plain sum of every hour by the
 * day that PostgreSQL says it is on.
 *
 * A failure prints its seed: `BURSAR_PROPERTY_SEED=N` draws the same again.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { removeTeam, setTeam } from '../../src/application/access/set-team.js';
import { costBreakdown, type CostBreakdown } from '../../src/application/cost/breakdown.js';
import { formatDecimal, parseDecimal } from '../../src/core/decimal.js';
import { BASES, parseSpendQuery, type Basis } from '../../src/core/cost/spend-query.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { daySource, type DayUnit } from '../../src/store/cost/local-days.js';
import { spendByDay } from '../../src/store/cost/overview.js';
import { ASKED, LINES, setAsideSums, unbilledSums } from '../../src/store/cost/spend-sums.js';
import type { Queryable } from '../../src/store/database.js';
import { SumSchedule } from '../../src/pipeline/sum.js';
import { Chance } from '../simulation/chance.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';

const DAY = 24 * HOUR;
const FIRST = Date.UTC(2026, 9, 20);
const DAYS = 32;
const NOW = Date.UTC(2026, 10, 21);
const QUESTIONS = 100;

/** Both sides of Greenwich, half hours, more than half a day, and clocks that change within the days. */
const ZONES = [
  'Europe/Berlin',
  'America/Los_Angeles',
  'Asia/Shanghai',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
  'Pacific/Chatham',
  'America/St_Johns',
  'Etc/GMT+12',
  'Europe/London',
  'Africa/Abidjan',
];

const FIGURES = [
  'records',
  'gpu_part_ms',
  'unpriced_part_ms',
  'unpriced_lines',
  'stated_part_ms',
  'stated_lines',
  'accrued',
  'actual',
  'billed',
  'effective',
  'list',
] as const;

const sums = (table: string): string => FIGURES.map((name) => `sum(${table}.${name}) as ${name}`).join(', ');

/** Every hour, by the day of the zone `$6` that it begins on. */
const EVERY_HOUR = `(
  with s as materialized (
    select l.organisation, l.team, (l.hour at time zone $6)::date as day, l.dimension, l.currency, ${sums('l')}
    from hour_line l
    where l.organisation = $1 and l.dimension not in (select i.id from dimension i where i.organisation = $1 and i.civil)
    group by 1, 2, 3, 4, 5
  )
  select x.organisation, x.team, x.day, x.dimension, x.currency, x.shared_from, ${FIGURES.map((name) => `x.${name}`).join(', ')}
  from cost_day x join dimension i on i.organisation = x.organisation and i.id = x.dimension
  where x.organisation = $1 and (x.shared_from <> '' or i.civil)
  union all
  select s.organisation, s.team, s.day, s.dimension, coalesce(s.currency, t.currency, 'USD'), '', ${sums('s')}
  from s left join team t on t.organisation = s.organisation and t.id = s.team
  group by 1, 2, 3, 4, 5)`;

interface Question {
  readonly zone: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly teams: readonly string[] | null;
  readonly dimensions: readonly string[] | null;
  readonly basis: Basis;
  readonly unit: DayUnit;
}

/** What an answer is made of: each team, dimension, currency and day (or month) with every figure of the basis. */
async function answers({ db }: TestBursar, asked: Question, table: string, params: unknown[]): Promise<string[]> {
  const { basis, unit } = asked;
  const day = unit === null ? `''::text` : unit === 'month' ? `to_char(c.day, 'YYYY-MM')` : 'c.day::text';
  const open = `case when c.${basis} is null then c.billed end`;
  const figures = [
    `c.${basis}`,
    'c.gpu_part_ms',
    'c.unpriced_part_ms',
    'c.unpriced_lines',
    'c.stated_part_ms',
    'c.stated_lines',
    // What is billed is asked of lines that count by no basis of meters.
    ...(basis === 'actual' || basis === 'accrued' ? [] : ['c.billed']),
    ...(basis === 'effective' || basis === 'list' ? [open, `case when ${open} is null then 0 else c.records end`] : []),
  ];
  const rows = await db.query<{ row: string }>(
    `select concat_ws(' ', c.team, c.dimension, c.currency, c.shared_from, ${day}, ${figures.map((one) => `coalesce(trim_scale(sum(${one})::numeric)::text, '-')`).join(', ')}) as row
     from ${table} c where ${ASKED} and ${LINES[basis]} group by c.team, c.dimension, c.currency, c.shared_from, ${day} order by 1`,
    params,
  );
  return rows.map(({ row }) => row);
}

const own = async (bursar: TestBursar, asked: Question): Promise<string[]> => {
  const { table, params } = await daySource(bursar.db, 'default', asked, asked.basis, asked.unit);
  return answers(bursar, asked, table, params);
};

const expected = (bursar: TestBursar, asked: Question): Promise<string[]> => {
  const { from, to, teams, dimensions, zone } = asked;
  // The parameter is named where the table is not.
  const table = zone === 'UTC' ? 'cost_day' : EVERY_HOUR;
  return answers(bursar, asked, table, ['default', from, to, teams, dimensions, ...(zone === 'UTC' ? [] : [zone])]);
};

/** It has an answer whatever was drawn. */
const EVERYTHING: Question = {
  zone: 'Asia/Kolkata',
  from: null,
  to: null,
  teams: null,
  dimensions: null,
  basis: 'actual',
  unit: 'day',
};

const dayText = (day: number): string => new Date(FIRST + day * DAY).toISOString().slice(0, 10);

async function world(seed: number): Promise<TestBursar> {
  const bursar = await testBursar({ now: NOW, settlingDays: 10 });
  const { db, stores } = bursar;
  const chance = new Chance(seed);
  const usual = { minimumSeconds: 0 };
  await bursar.setPrices([
    instancePrice('10.37', usual),
    instancePrice('0', { ...usual, sku: 'free' }),
    instancePrice('3.1', { ...usual, sku: 'late', effectiveFrom: FIRST + 9 * DAY + 5 * HOUR }),
  ]);
  await db.transaction(async (tx) => {
    await stores.organisations.saveRules(
      tx,
      'default',
      [
        { match: { service: 'support' }, split: { by: 'use' as const } },
        ...['red', 'blue'].map((team) => ({ match: { namespace: team }, team })),
      ],
      'test',
    );
    const team = { id: 'blue', name: 'blue', parent: null, zone: 'UTC', currency: 'EUR', assignedBy: null };
    await stores.organisations.saveTeam(tx, 'default', team);
    // The zones of teams are summed beforehand.
    for (const [at, zone] of ZONES.slice(0, 6).entries())
      await stores.organisations.saveTeam(tx, 'default', { ...team, id: `zone-${at}`, name: zone, zone });
    await stores.credits.save(tx, 'default', [
      { id: 'g', kind: 'promotional', amount: '90', currency: 'USD', from: '2026-10-22', until: '2027-01-01' },
    ]);
  });
  await bursar.take(drawnUsage(chance, 90, 'm'), { source: 'meter' });
  // Many years away from all else: of such a range only the known days are looked at.
  const longAgo = { account: 'a1', namespace: 'red', start: Date.UTC(2010, 4, 5, 23), end: Date.UTC(2010, 4, 6, 2) };
  await bursar.take([metered('long-ago', longAgo)], { source: 'meter' });
  // October's bills are final, November's are not; of Beijing the months begin at 16:00 UTC.
  for (const [at, account] of ['a1', 'a3', 'b1'].entries()) {
    const ahead = account === 'b1' ? 8 * HOUR : 0;
    for (const month of [9, 10])
      await bursar.take(
        drawnBill(chance, account, Date.UTC(2026, month, 1) - ahead, Date.UTC(2026, month + 1, 1) - ahead),
        { source: `bill-${at}-${month}` },
      );
  }
  await bursar.runner.drain();
  return bursar;
}

function drawnUsage(chance: Chance, count: number, name: string): UsageRecord[] {
  return Array.from({ length: count }, (_, n) => {
    const start = FIRST + chance.whole(0, (DAYS - 3) * 48) * (HOUR / 2);
    const stores = chance.happens(0.1);
    return metered(`${name}${n}`, {
      account: chance.pick(['a1', 'a2', 'b1']),
      namespace: chance.pick(['red', 'red', 'blue', null]),
      sku: stores ? 'gp3' : chance.pick(['p5.48xlarge', 'p5.48xlarge', 'free', 'late', 'none']),
      resource: chance.happens(0.5) ? `i-${n}` : null,
      start,
      end: start + chance.pick([HOUR / 2, HOUR, 3 * HOUR, 30 * HOUR]),
      gpuParts: stores ? null : chance.pick([1, 8]) * GPU_PARTS,
      storageMib: stores ? 1024 * chance.whole(1, 9) : null,
    });
  });
}

/** Lines of hours, some of what is metered too, lines of whole days, and a fee that all share. */
function drawnBill(chance: Chance, account: string, periodStart: number, periodEnd: number): UsageRecord[] {
  const period = { periodStart, periodEnd };
  const [from, to] = [Math.max(periodStart, FIRST), Math.min(periodEnd, FIRST + DAYS * DAY)];
  const hours = Math.floor((to - from) / HOUR);
  const lines = Array.from({ length: 40 }, (_, n) => {
    const start = from + chance.whole(0, hours - 25) * HOUR;
    const amount = chance.happens(0.2)
      ? '0'
      : `${chance.whole(-3, 40)}.${chance.whole(0, 9)}${chance.pick(['', '0001'])}`;
    const stated = (): ReturnType<typeof parseDecimal> => (chance.happens(0.3) ? null : parseDecimal(amount));
    return billed(
      `${account}-${n}`,
      amount,
      {
        account,
        namespace: chance.pick(['red', 'blue']),
        sku: chance.pick(['p5.48xlarge', 'late', 'egress']),
        start,
        end: start + chance.pick([HOUR, HOUR, 3 * HOUR]),
        // Some bills say of how many GPUs a line is.
        gpuParts: chance.happens(0.5) ? 8 * GPU_PARTS : null,
      },
      { ...period, effective: stated(), list: stated() },
    );
  });
  const whole = (id: string, start: number, end: number, service: string | null) =>
    billed(`${account}-${id}`, '31.5', { account, namespace: 'red', service, sku: id, start, end }, period);
  return [
    ...lines,
    whole('day', from + (periodStart % DAY === 0 ? DAY : 0), from + (periodStart % DAY === 0 ? 2 : 1) * DAY, null),
    whole('fee', periodStart, periodEnd, 'support'),
  ];
}

const questionOf = (dimensions: readonly string[]): fc.Arbitrary<Question> =>
  fc.record({
    zone: fc.constantFrom(...ZONES),
    from: fc.option(fc.integer({ min: -2, max: DAYS }).map(dayText)),
    to: fc.option(fc.integer({ min: -1, max: DAYS + 2 }).map(dayText)),
    teams: fc.option(fc.subarray(['red', 'blue', 'unallocated'], { minLength: 1 })),
    dimensions: fc.option(fc.subarray([...dimensions], { minLength: 1 })),
    basis: fc.constantFrom(...BASES),
    unit: fc.constantFrom<DayUnit>('day', 'month', null),
  });

/** Without the zeros at the end of a decimal: what is taken away leaves as many digits as it had. */
const inShort = (answer: CostBreakdown): unknown =>
  JSON.parse(JSON.stringify(answer), (_, value: unknown) =>
    typeof value === 'string' && /^-?\d+\.\d+$/.test(value) ? value.replace(/\.?0+$/, '') : value,
  );

async function sumBeforehand({ stores, runner }: TestBursar): Promise<void> {
  await new SumSchedule(stores).enqueueDue();
  await runner.drain();
}

/** Usage that arrives later. */
async function changeDays(bursar: TestBursar, time: number): Promise<void> {
  await bursar.take(drawnUsage(new Chance(seed + time), 4, `later-${time}-`), { source: 'meter' });
  await bursar.runner.drain();
}

const keysOf = fc.constantFrom(
  'team',
  'sku',
  'service,team',
  'sharedFrom',
  'team,sharedFrom',
  'category,sku',
  'account',
);

const seed = Number(process.env['BURSAR_PROPERTY_SEED'] || Math.floor(Math.random() * 2 ** 31));

describe(`sums by the days of a zone (BURSAR_PROPERTY_SEED=${seed})`, async () => {
  const bursar = await world(seed);
  const ids = (
    await bursar.db.query<{ id: string }>(`select distinct dimension::text as id from cost_day order by 1`)
  ).map(({ id }) => id);

  it('are those of every hour, whatever is asked', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(questionOf(ids), async (asked) => {
        const wanted = await expected(bursar, asked);
        if (wanted.length > 0) answered += 1;
        expect(await own(bursar, asked)).toEqual(wanted);
      }),
      { numRuns: QUESTIONS, seed, examples: [[EVERYTHING]] },
    );
    expect((await expected(bursar, EVERYTHING)).length).toBeGreaterThan(DAYS);
    expect(answered).toBeGreaterThan(QUESTIONS / 5);
  });

  it('are the same from sums that were made beforehand, with some days changed since', async () => {
    await sumBeforehand(bursar);
    const [known] = await bursar.db.query<{ weeks: number; stale: number }>(
      `select (select count(*) from spend_week)::int as weeks, (select count(*) from spend_stale)::int as stale`,
    );
    expect(known?.weeks).toBeGreaterThan(3);
    expect(known?.stale).toBe(0);
    const read = new Map([
      ['spend_week', 0],
      ['spend_local', 0],
    ]);
    const compare = async (numRuns: number): Promise<void> =>
      fc.assert(
        fc.asyncProperty(questionOf(ids), async (question) => {
          const asked = { ...question, teams: null };
          expect(await own(bursar, asked)).toEqual(await expected(bursar, asked));
          const { table } = await daySource(bursar.db, 'default', asked, asked.basis, asked.unit);
          for (const name of read.keys()) if (table.includes(name)) read.set(name, (read.get(name) ?? 0) + 1);
        }),
        { numRuns, seed },
      );
    await compare(QUESTIONS);
    await changeDays(bursar, 1);
    expect(await bursar.db.query(`select 1 from spend_stale limit 1`)).toHaveLength(1);
    await compare(QUESTIONS / 2);
    expect([...read.values()].every((times) => times > 0)).toBe(true);
  });

  it('give the explorer the same answer with and without what is summed beforehand', async () => {
    const { stores, db } = bursar;
    await sumBeforehand(bursar);
    await changeDays(bursar, 2);
    let readsSums = 0;
    const answer = async (
      question: Parameters<typeof parseSpendQuery>[0],
    ): Promise<CostBreakdown & { overview: object[] }> => {
      const { from, to, teams } = parseSpendQuery(question);
      const overview = await spendByDay(db, 'default', { from: from ?? '', to: to ?? '', teams });
      return {
        ...(await costBreakdown({ ...stores, db }, 'default', parseSpendQuery(question), {
          compares: true,
          limit: 5,
          last: '30',
          now: NOW,
          about: async () => ({ warnings: [] }),
        })),
        overview: overview.map(({ cost, unpricedQuantity, ...day }) => ({
          ...day,
          cost: cost && formatDecimal(cost),
          unpriced: unpricedQuantity.toString(),
        })),
      };
    };
    await fc.assert(
      fc.asyncProperty(questionOf(ids), keysOf, async (asked, groupBy) => {
        const [from, to] = [asked.from ?? dayText(0), asked.to ?? dayText(DAYS)].sort();
        const question = { ...asked, from, to: from === to ? dayText(DAYS + 3) : to, groupBy };
        const said = await answer(question);
        if (said.series.length > 0 && asked.teams === null) readsSums += 1;
        // Without one of them no change is known, and nothing is read from the sums.
        await db.query(`alter table cost_day disable trigger spend_moved`);
        const wanted = await answer(question);
        await db.query(`alter table cost_day enable trigger spend_moved`);
        expect(inShort(said)).toEqual(inShort(wanted));
      }),
      { numRuns: QUESTIONS / 2, seed },
    );
    expect(readsSums).toBeGreaterThan(0);
  });

  it('of all teams together are those of each team, of a team that waits by its name', async () => {
    const { db } = bursar;
    const figures = [...FIGURES, 'doubtful']
      .map((name) => `coalesce(trim_scale(sum(l.${name})::numeric)::text, '-')`)
      .join(', ');
    const of = (table: string, team: string, currency: string): Promise<{ row: string }[]> =>
      db.query(
        `select concat_ws(' ', ${team}, l.hour, l.dimension, ${currency},
           ${figures}) as row
         from ${table} l left join team t on t.organisation = l.organisation and t.id = l.team
         where l.organisation = 'default' and l.team not like 'shared:%'
         group by ${team}, l.hour, l.dimension, ${currency} order by 1`,
      );
    for (const waits of ['nobody', 'red']) {
      const waiting = `stage = 'cost.rollup' and key like '${waits}/%'`;
      await db.query(`update work set wanted = wanted + 1 where ${waiting}`);
      const [team, currency] = [
        `case when l.team = '${waits}' then l.team else '' end`,
        `coalesce(l.currency, t.currency, 'USD')`,
      ];
      const wanted = await of('hour_line', team, currency);
      expect(wanted.length).toBeGreaterThan(DAYS);
      expect(wanted.some(({ row }) => row.startsWith('red'))).toBe(waits === 'red');
      expect(await of('hour_line_of_all', 'l.team', 'l.currency')).toEqual(wanted);
      await db.query(`update work set wanted = done where ${waiting}`);
    }
  });

  it('say the same of what is set aside for meters until bills are final', async () => {
    let amounts = 0;
    for (const asked of [EVERYTHING, ...fc.sample(questionOf(ids), { numRuns: 40, seed })]) {
      const { from, to, teams, dimensions, zone } = asked;
      const wanted = await bursar.db.query<{ currency: string; cost: string }>(
        `select c.currency, trim_scale(sum(c.billed - coalesce(c.actual, 0)))::text as cost
         from ${EVERY_HOUR} c join dimension d on d.organisation = c.organisation and d.id = c.dimension
         where ${ASKED} and d.kind = 'billed' and c.billed is not null
         group by 1 having sum(c.billed - coalesce(c.actual, 0)) <> 0 order by 1`,
        ['default', from, to, teams, dimensions, zone],
      );
      amounts += wanted.length;
      const said = await setAsideSums(bursar.db, 'default', asked);
      expect(said.map(({ currency, cost }) => [currency, Number(cost)])).toEqual(
        wanted.map(({ currency, cost }) => [currency, Number(cost)]),
      );
    }
    expect(amounts).toBeGreaterThan(0);
  });
});

describe('a refund that begins before the bill', async () => {
  const bursar = await testBursar({ now: NOW, settlingDays: 10 });

  it('is on the days of the zone what its hours are', async () => {
    const november = Date.UTC(2026, 10, 1);
    const period = { periodStart: november, periodEnd: Date.UTC(2026, 11, 1) };
    const refund = (id: string, start: number, end: number) =>
      billed(id, '-7', { start: november + start * HOUR, end: november + end * HOUR, gpuParts: 8 * GPU_PARTS }, period);
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    await bursar.take([metered('m', { start: november, end: november + 12 * HOUR })], { source: 'meter' });
    // Each touches four days of UTC. What is metered stands for the second one; in Shanghai both begin on one day.
    const lines = [refund('before', -76, -4), refund('into', -67, 5)];
    const use = { start: november + HOUR, end: november + 2 * HOUR };
    await bursar.take([...lines, billed('use', '50', use, period)], { source: 'bill' });
    await bursar.runner.drain();
    const asked = { ...EVERYTHING, zone: 'Asia/Shanghai', from: '2026-10-20', to: '2026-11-10' };
    const wanted = await expected(bursar, { ...asked, unit: null });
    expect(await own(bursar, { ...asked, unit: null })).toEqual(wanted);
    await sumBeforehand(bursar);
    for (const unit of ['day', 'month', null] as const)
      expect(await own(bursar, { ...asked, unit })).toEqual(await expected(bursar, { ...asked, unit }));
  });
});

describe('what only adds up over a range', async () => {
  const bursar = await testBursar({ now: NOW });

  it('is read by days, but for the hours at the ends of the range', async () => {
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    const days = { start: FIRST, end: FIRST + 20 * DAY };
    await bursar.take([metered('m', days), metered('n', { ...days, namespace: 'red' })]);
    await bursar.runner.drain();
    await sumBeforehand(bursar);
    const hours: unknown[] = [];
    const db: Queryable = {
      query(sql, parameters = []) {
        hours.push(...parameters.flat().filter((one) => String(one).endsWith(':00Z')));
        return bursar.db.query(sql, parameters);
      },
    };
    const asked = { ...EVERYTHING, from: dayText(1), to: dayText(20), groupBy: [] };
    // The last hours of Los Angeles are not metered any more; in Berlin an hour comes twice.
    for (const [zone, most] of [
      ['Asia/Shanghai', 19 * 24],
      ['America/Los_Angeles', 19 * 24 - 7],
      ['Europe/Berlin', 19 * 24 + 1],
    ] as const) {
      const said = await unbilledSums(db, 'default', { ...asked, zone, basis: 'billed' });
      expect(said.map(({ cost }) => Number(cost))).toEqual([2 * 10 * most]);
    }
    expect(new Set(hours).size).toBeGreaterThan(0);
    expect(new Set(hours).size).toBeLessThan(40);
  });
});

describe('the end of a final bill', async () => {
  const bursar = await testBursar({ now: NOW, settlingDays: 10 });

  it('divides a day of the zone as it divides the hours', async () => {
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    const november = Date.UTC(2026, 10, 1);
    const period = { periodStart: Date.UTC(2026, 9, 1), periodEnd: november };
    const last = { start: november - HOUR, end: november };
    await bursar.take([metered('m', { start: november - 6 * HOUR, end: november + 6 * HOUR })], { source: 'meter' });
    await bursar.take([billed('b', '77', last, period)], { source: 'bill' });
    await bursar.runner.drain();
    const range = { from: '2026-10-20', to: '2026-11-10', teams: null, dimensions: null, basis: 'actual' } as const;
    for (const zone of ['Europe/Berlin', 'Asia/Shanghai', 'America/Los_Angeles'])
      for (const unit of [null, 'month', 'day'] as const) {
        const asked = { ...range, zone, unit };
        const wanted = await expected(bursar, asked);
        expect(wanted.length).toBeGreaterThan(1);
        expect(await own(bursar, asked)).toEqual(wanted);
      }
  });
});

describe('a day that is priced and not summed yet', async () => {
  const bursar = await testBursar({ now: NOW });
  const { runner, stores, clock } = bursar;
  const berlin = { zone: 'Europe/Berlin', from: '2026-11-02', to: '2026-11-04', groupBy: 'day', basis: 'accrued' };
  const days = async (): Promise<string[]> =>
    (await bursar.spend(berlin)).rows.map(({ day, cost }) => `${day}: ${Number(cost)}`);
  const at = (day: number, hour: number) => {
    const start = Date.UTC(2026, 10, day, hour);
    return { start, end: start + HOUR };
  };

  it('is summed from its hours: nothing is taken from sums that do not have it', async () => {
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    await bursar.take([metered('before', at(2, 10))], { source: 'meter' });
    await runner.drain();
    expect(await days()).toEqual(['2026-11-02: 10']);
    // 23:00 in UTC is the day after in Berlin.
    await bursar.take([metered('a', at(2, 23)), metered('b', at(2, 23)), metered('c', at(2, 12))], { source: 'meter' });
    for (const { partition } of (await stores.work.duePartitions(clock.at)).filter(
      ({ stage }) => stage === 'cost.price',
    ))
      await runner.runPartition({ organisation: 'default', stage: 'cost.price', partition }, async () => true);
    const settled = ['2026-11-02: 20', '2026-11-03: 20'];
    expect(await days()).toEqual(settled);
    await runner.drain();
    expect(await days()).toEqual(settled);
  });
});

describe('a day that has only begun, and has changed since it was summed', async () => {
  const bursar = await testBursar({ now: NOW + 5 * HOUR, settlingDays: 10 });
  const { runner, stores, clock, db } = bursar;
  const today = (name: string, namespace: string, hour: number) =>
    metered(name, { namespace, start: NOW + hour * HOUR, end: NOW + (hour + 2) * HOUR, account: 'a1' });
  const range = { from: '2026-11-01', to: '2026-11-21', teams: null, dimensions: null } as const;

  /** Each way to ask for the days until yesterday in Los Angeles, where it is still yesterday. */
  const compare = async (): Promise<void> => {
    for (const basis of BASES)
      for (const [unit, to] of [
        [null, range.to],
        ['day', null],
        ['day', range.to],
      ] as const) {
        const asked = { ...range, to, zone: 'America/Los_Angeles', basis, unit };
        expect([basis, unit, await own(bursar, asked)]).toEqual([basis, unit, await expected(bursar, asked)]);
      }
    for (const groupBy of ['team', 'sku'])
      for (const basis of BASES) expect(await explored(groupBy, basis)).toEqual(await withoutSums(groupBy, basis));
  };
  const explored = async (groupBy: string, basis: Basis): Promise<unknown> => {
    const question = parseSpendQuery({
      from: range.from,
      to: '2026-11-22',
      zone: 'America/Los_Angeles',
      groupBy,
      basis,
    });
    const about = { compares: true, limit: 5, last: '30', now: NOW, about: async () => ({ warnings: [] }) } as const;
    return inShort(await costBreakdown({ ...stores, db }, 'default', question, about));
  };
  const withoutSums = async (groupBy: string, basis: Basis): Promise<unknown> => {
    await db.query(`alter table cost_day disable trigger spend_moved`);
    const answer = await explored(groupBy, basis);
    await db.query(`alter table cost_day enable trigger spend_moved`);
    return answer;
  };
  const isWhole = async (): Promise<boolean> => {
    const asked = { ...range, zone: 'America/Los_Angeles', basis: 'accrued', unit: null } as const;
    return (await daySource(db, 'default', asked, asked.basis, asked.unit)).table.includes('w(day, local)');
  };

  it('goes to the day before as a whole, but for lines of dates, and for teams that wait', async () => {
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    await db.transaction((tx) =>
      stores.organisations.saveRules(
        tx,
        'default',
        ['red', 'blue'].map((team) => ({ match: { namespace: team }, team })),
        'test',
      ),
    );
    const period = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
    const line = { namespace: 'red', start: NOW, end: NOW + DAY };
    await bursar.take([billed('date', '31.5', line, period)], { source: 'bill' });
    await bursar.take([today('before', 'red', -30), today('one', 'red', 0), today('two', 'blue', 1)], { source: 'm' });
    await runner.drain();
    await db.query(
      `insert into spend_zone_asked (organisation, zone, asked_at) values ('default', 'America/Los_Angeles', now())`,
    );
    await sumBeforehand(bursar);
    expect(await isWhole()).toBe(false);
    await bursar.take([today('three', 'blue', 2)], { source: 'm' });
    await runner.drain();
    expect(await isWhole()).toBe(true);
    await compare();
    await bursar.take([today('four', 'blue', 1), today('five', 'green', 2)], { source: 'm' });
    for (const { partition } of (await stores.work.duePartitions(clock.at)).filter(
      ({ stage }) => stage === 'cost.price',
    ))
      await runner.runPartition({ organisation: 'default', stage: 'cost.price', partition }, async () => true);
    expect(await isWhole()).toBe(true);
    await compare();
    await bursar.take([today('later', 'red', 9)], { source: 'm' });
    await runner.drain();
    expect(await isWhole()).toBe(false);
    await compare();
  });
});

describe('a team that is removed', async () => {
  const bursar = await testBursar({ now: NOW });
  const { stores, db } = bursar;

  it('has what has no price once, in the currency of a team that nobody has set', async () => {
    const team = { id: 'red', name: 'red', parent: null, zone: 'UTC', currency: 'EUR', assignedBy: null };
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(tx, 'default', [{ match: { namespace: 'red' }, team: 'red' }], 'test');
      await setTeam(stores, tx, 'default', team);
    });
    const start = Date.UTC(2026, 10, 2, 20);
    await bursar.take([metered('m', { namespace: 'red', start, end: start + 4 * HOUR })], { source: 'meter' });
    await bursar.runner.drain();
    const hours = async (zone: string): Promise<unknown> =>
      (await bursar.spend({ from: '2026-11-01', to: '2026-11-05', groupBy: 'day', zone })).rows.map(
        ({ day, currency, gpuHours, unpricedQuantity }) => [day, currency, Number(gpuHours), Number(unpricedQuantity)],
      );
    for (const currency of ['EUR', 'USD']) {
      expect(await hours('UTC')).toEqual([['2026-11-02', currency, 32, 32]]);
      expect(await hours('Europe/Berlin')).toEqual([
        ['2026-11-02', currency, 24, 24],
        ['2026-11-03', currency, 8, 8],
      ]);
      if (currency === 'EUR') {
        await db.transaction((tx) => removeTeam(stores, tx, 'default', 'red'));
        // Its hours are ahead of its sums now.
        expect(await hours('Europe/Berlin')).toEqual([
          ['2026-11-02', 'USD', 24, 24],
          ['2026-11-03', 'USD', 8, 8],
        ]);
      }
      await bursar.runner.drain();
    }
  });
});
