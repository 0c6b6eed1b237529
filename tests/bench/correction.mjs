/**
 * Price corrections over many usage rows: seconds until each touched day is priced, from a day priced until the team's
 * budget shows it, and until all are through; for a correction that touches every hour, one SKU, one day. A worker of
 * its own does the line. Every team's day and every budget are compared with a recount from the records as they were
 * made up, to the nano, which shares nothing with the line.
 *
 * 28 days of machines that report every ten minutes: 25 teams and 8 SKUs make 134,400 hours whatever the number of
 * rows. What a correction prices are hours.
 */
import { loadavg } from 'node:os';
import { enqueueUrgent } from '../../dist/src/store/work.js';
import { quantile, startProcess } from './processes.mjs';
import { perSecond, priceOf, processorSeconds, seconds, withBursar } from './server.mjs';

const TEAMS = 25;
const SKUS = ['p5.48xlarge', 'p4d.24xlarge', 'g5.xlarge', 'g5.12xlarge', 'g6.xlarge', 'p3.2xlarge', 'g4dn.xlarge', 'x'];
const START = Date.UTC(2026, 8, 1);
const DAYS = 28;
const HOURS = 24 * DAYS;
const DAY = 86_400_000;
const TEN_MINUTES = 600_000;
const SLOTS = 6 * HOURS;
const ALL_TEAMS = Array.from({ length: TEAMS }, (_, team) => team);
const ALL_DAYS = Array.from({ length: DAYS }, (_, day) => day);
/** Rows of one import. */
const MOST_ROWS = 5_000_000;
const LOOK_MS = 20;

/** Part-milliseconds of each team, SKU and hour: counted beside the rows as they are made. */
class Recount {
  constructor() {
    this.parts = new Float64Array(TEAMS * SKUS.length * HOURS);
    this.rates = SKUS.map(() => [{ from: 0, nanos: 0n }]);
    this.days = new Map();
  }

  add(team, sku, start, gpuParts) {
    this.parts[(team * SKUS.length + sku) * HOURS + Math.floor((start - START) / 3_600_000)] += gpuParts * TEN_MINUTES;
  }

  /** Nanos of a team's day at the present rates, each hour rounded once. */
  day(team, day) {
    let sum = 0n;
    for (let sku = 0; sku < SKUS.length; sku++) {
      const rate = this.rates[sku].findLast(({ from }) => from <= START + day * DAY).nanos;
      for (let hour = 24 * day; hour < 24 * (day + 1); hour++) {
        const parts = this.parts[(team * SKUS.length + sku) * HOURS + hour];
        if (parts > 0) sum += halfEven(BigInt(parts) * rate, 7_000_000n * 28_800n);
      }
    }
    return sum;
  }

  /** By team and day. */
  all() {
    return ALL_TEAMS.map((team) => ALL_DAYS.map((day) => this.day(team, day)));
  }
}

const halfEven = (n, d) => {
  const q = n / d;
  const twice = (n % d) * 2n;
  return twice > d || (twice === d && q % 2n === 1n) ? q + 1n : q;
};

function* batches(from, until, machines, recount) {
  for (let at = from; at < until; at += 20_000)
    yield {
      rejects: [],
      records: Array.from({ length: Math.min(20_000, until - at) }, (_, i) => {
        const n = at + i;
        const machine = n % machines;
        const start = START + (Math.floor(n / machines) % SLOTS) * TEN_MINUTES;
        const gpuParts = 7000 * (1 + (machine % 3));
        recount.add(machine % TEAMS, machine % SKUS.length, start, gpuParts);
        return {
          id: `m-${n}`,
          provider: 'AWS',
          account: 'a',
          subAccount: null,
          resource: `i-${machine}`,
          namespace: `team-${machine % TEAMS}`,
          service: null,
          sku: SKUS[machine % SKUS.length],
          region: 'us-east-1',
          term: 'on-demand',
          gpuModel: null,
          tags: null,
          start,
          end: start + TEN_MINUTES,
          gpuParts,
          storageMib: null,
          networkBytes: null,
          charge: null,
        };
      }),
    };
}

/** In imports of five million rows each, so that none of them takes more memory than another. */
async function load({ stores, organisation }, rows, recount, log) {
  const machines = machinesOf(rows);
  const begun = performance.now();
  for (let from = 0; from < rows; from += MOST_ROWS) {
    const until = Math.min(rows, from + MOST_ROWS);
    await stores.intake.import(
      {
        organisation,
        source: 'bench',
        strict: true,
        dryRun: false,
        by: 'bench',
        now: Date.now(),
        teamOf: (r) => r.namespace,
        rulesVersion: 0,
        trackedTags: [],
      },
      [
        {
          name: 'bench',
          format: 'bench',
          async *batches() {
            yield* batches(from, until, machines, recount);
          },
        },
      ],
    );
    log(`correction: ${until} rows in, ${perSecond(until, seconds(begun))}/s`);
  }
}

const machinesOf = (rows) => Math.max(TEAMS * SKUS.length, Math.ceil(rows / SLOTS));
const lastDay = (rows) => Math.floor((Math.min(SLOTS, Math.ceil(rows / machinesOf(rows))) - 1) / 144);

/** A company over the teams; each has a budget of the month. */
async function addBudgets({ stores, organisation }) {
  const { db } = stores;
  await db.query(`insert into team (organisation, id, name) values ($1, 'company', 'Company')`, [organisation]);
  await db.query(
    `insert into team (organisation, id, name, parent) select $1, 'team-' || n, 'Team ' || n, 'company' from generate_series(0, $2::int - 1) n
     on conflict (organisation, id) do update set parent = excluded.parent`,
    [organisation, TEAMS],
  );
  await db.query(
    `insert into budget (organisation, id, team, spec) select $1, id, id, jsonb_build_object('id', id, 'team', id, 'period', 'month', 'zone', 'UTC', 'currency', 'USD', 'filters', '{}'::jsonb,
       'planned', '{"default": "1000000000000", "periods": {}}'::jsonb, 'includeCredits', true, 'thresholds', '[]'::jsonb)
     from team where organisation = $1 and (id = 'company' or id like 'team-%')`,
    [organisation],
  );
}

/** Corrects prices as a list that is imported does: stated, and every day that they may change enqueued with it. */
async function correct({ stores, organisation }, recount, skus, from, rateOf) {
  const events = skus.map((sku) => {
    const nanos = rateOf(sku);
    recount.rates[sku] = [...recount.rates[sku].filter((rate) => rate.from < from), { from, nanos }];
    const event = priceOf(SKUS[sku], nanos);
    return { ...event, price: { ...event.price, effectiveFrom: from } };
  });
  return stores.db.transaction(async (tx) => {
    const fresh = await stores.prices.add(tx, organisation, events, 'bench');
    const days = await stores.prices.affected(tx, organisation, fresh);
    await enqueueUrgent(
      tx,
      organisation,
      days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
    );
    return days.length;
  });
}

const LOOK = `select
  (select coalesce(json_agg(key), '[]') from work where organisation = $1 and stage = 'cost.price' and done < wanted) as due,
  (select coalesce(json_object_agg(budget, state->>'spent'), '{}') from budget_state where organisation = $1 and period_start = $2) as spent`;

/** Looks until everything is through; when each team's day was priced, and when the team's budget showed it. */
async function follow({ stores, organisation }, begun, expected, before) {
  const priced = new Map();
  const shown = new Map();
  /** By team: what its budget says once these days count at their new price. */
  const due = Array.from({ length: TEAMS }, () => []);
  const companyTotal = expected.flat().reduce((a, b) => a + b, 0n);
  const total = TEAMS * DAYS;
  for (;;) {
    const [look] = await stores.db.query(LOOK, [organisation, new Date(START)]);
    const now = seconds(begun);
    const open = new Set(look.due);
    for (let team = 0; team < TEAMS; team++) {
      const fresh = [];
      for (let day = 0; day < DAYS; day++) {
        const key = keyOf(team, day);
        if (priced.has(key) || open.has(key)) continue;
        priced.set(key, now);
        fresh.push({ key, day });
      }
      if (fresh.length > 0) {
        const last = due[team].at(-1) ?? { days: new Set(), sum: before[team].reduce((a, b) => a + b, 0n) };
        const sum = fresh.reduce((a, { day }) => a + expected[team][day] - before[team][day], last.sum);
        due[team].push({ days: new Set([...last.days, ...fresh.map(({ key }) => key)]), sum });
      }
      const spent = nanosOf(look.spent[`team-${team}`]);
      for (const { days, sum } of due[team])
        if (sum === spent) for (const key of days) if (!shown.has(key)) shown.set(key, now);
    }
    if (shown.size === total && nanosOf(look.spent.company) === companyTotal) return { priced, shown, time: now };
    if (now > 900) throw new Error(`${shown.size} of ${total} days are shown after 900 s`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const keyOf = (team, day) => `team-${team}/${new Date(START + day * DAY).toISOString().slice(0, 10)}`;

const changedDays = (before, expected) =>
  expected.flatMap((days, team) =>
    days.flatMap((nanos, day) => (nanos === before[team][day] ? [] : [keyOf(team, day)])),
  );

function nanosOf(text) {
  if (text === undefined || text === null) return 0n;
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

async function isExact({ stores, organisation }, expected) {
  const rows = await stores.db.query(
    `select team, day::text as day, sum(accrued)::text as cost from cost_day where organisation = $1 group by team, day`,
    [organisation],
  );
  const sums = new Map(rows.map(({ team, day, cost }) => [`${team}/${day}`, nanosOf(cost)]));
  return expected.every((days, team) => days.every((nanos, day) => (sums.get(keyOf(team, day)) ?? 0n) === nanos));
}

export async function run({ rows = 5_000_000, log }) {
  return withBursar(async (bursar) => {
    const recount = new Recount();
    const every = SKUS.map((_, sku) => sku);
    await correct(bursar, recount, every, 0, (sku) => BigInt(10 + sku) * 1_234_567_891n);
    await load(bursar, rows, recount, log);
    await addBudgets(bursar);
    const worker = await startProcess(bursar.databaseUrl, 'worker');
    try {
      let before = recount.all().map((days) => days.map(() => 0n));
      const cases = [];
      const corrections = [
        // The first pricing of what came in; then the corrections.
        { name: 'correction/first-pricing', skus: [], from: 0, rate: 0n },
        { name: 'correction/every-hour', skus: every, from: 0, rate: 20n },
        { name: 'correction/one-sku', skus: [3], from: 0, rate: 40n },
        { name: 'correction/one-day', skus: every, from: START + lastDay(rows) * DAY, rate: 30n },
      ];
      for (const { name, skus, from, rate } of corrections) {
        const used = processorSeconds(worker.pid);
        const [loaded] = loadavg();
        const begun = performance.now();
        const days =
          skus.length === 0
            ? TEAMS * DAYS
            : await correct(bursar, recount, skus, from, (sku) => (rate + BigInt(sku)) * 1_234_567_891n);
        const stated = seconds(begun);
        const expected = recount.all();
        const { priced, shown, time } = await follow(bursar, begun, expected, before);
        const changed = changedDays(before, expected);
        const pricedAt = changed.map((key) => priced.get(key));
        const lags = changed.map((key) => shown.get(key) - priced.get(key));
        cases.push({
          name,
          rows,
          days,
          changedDays: changed.length,
          statedSeconds: Number(stated.toFixed(2)),
          dayPricedSecondsP50: quantile(pricedAt, 0.5, 2),
          dayPricedSecondsMost: quantile(pricedAt, 1, 2),
          budgetAfterPricingMsP50: Math.round(1000 * quantile(lags, 0.5, 3)),
          budgetAfterPricingMsP99: Math.round(1000 * quantile(lags, 0.99, 3)),
          budgetAfterPricingMsMost: Math.round(1000 * quantile(lags, 1, 3)),
          allSeconds: Number(time.toFixed(2)),
          workerProcessorSeconds: Number((processorSeconds(worker.pid) - used).toFixed(2)),
          exact: await isExact(bursar, expected),
          load: Number(loaded.toFixed(1)),
        });
        log(`correction: ${JSON.stringify(cases.at(-1))}`);
        before = expected;
        for (let quiet = 0; quiet < 3; quiet = (await bursar.stores.work.waiting(Date.now())) === 0 ? quiet + 1 : 0)
          await new Promise((resolve) => setTimeout(resolve, 500));
      }
      return cases;
    } finally {
      await worker.stop();
    }
  });
}
