/**
 * Team by SKU by day over ten million metered records, read from the sums per day: p50 and p99 of many reads, and
 * whether every row equals a full recount of the raw records, to the nano. The recount shares no code with the line but
 * the blocks.
 */
import { perSecond, priceOf, seconds, withBursar } from './server.mjs';

const TEAMS = 25;
const RESOURCES = 2000;
const SKUS = [
  'p5.48xlarge',
  'p4d.24xlarge',
  'g5.xlarge',
  'g5.12xlarge',
  'g6.xlarge',
  'p3.2xlarge',
  'g4dn.xlarge',
  'p5en.48xlarge',
];
const START = Date.UTC(2026, 8, 1);
const HOUR = 3_600_000;
const READS = 500;
const WARMING = 100;
/** Of the same question in another zone than UTC: its days are summed from hours. */
const ZONE_READS = 40;

const nanosPerHour = (sku) => BigInt(10 + SKUS.indexOf(sku)) * 1_234_567_891n;

function* batches(rows) {
  for (let from = 0; from < rows; from += 20_000) {
    yield {
      rejects: [],
      records: Array.from({ length: Math.min(20_000, rows - from) }, (_, at) => {
        const n = from + at;
        const resource = n % RESOURCES;
        const start = START + Math.floor(n / RESOURCES) * 8 * 60_000;
        return {
          id: `m-${n}`,
          provider: 'AWS',
          account: 'a',
          subAccount: null,
          resource: `i-${resource}`,
          namespace: `team-${resource % TEAMS}`,
          service: null,
          sku: SKUS[resource % SKUS.length],
          region: 'us-east-1',
          term: 'on-demand',
          gpuModel: null,
          tags: null,
          start,
          end: start + 8 * 60_000,
          gpuParts: 7000 * (1 + (resource % 3)),
          storageMib: null,
          networkBytes: null,
          charge: null,
        };
      }),
    };
  }
}

const halfEven = (n, d) => {
  const q = n / d;
  const twice = (n % d) * 2n;
  return twice > d || (twice === d && q % 2n === 1n) ? q + 1n : q;
};

/** Nanos per team, SKU and day from the raw records: summed per hour, priced, rounded once. */
async function recount(bursar) {
  const { stores, organisation } = bursar;
  const hours = new Map();
  for (const delivery of await stores.raw.deliveries(stores.db, organisation)) {
    for await (const records of stores.raw.records(stores.db, organisation, delivery.source, delivery.id)) {
      for (const r of records) {
        for (let at = r.start; at < r.end; ) {
          const hour = Math.floor(at / HOUR) * HOUR;
          const until = Math.min(r.end, hour + HOUR);
          const key = `${r.namespace}|${r.sku}|${hour}`;
          hours.set(key, (hours.get(key) ?? 0) + r.gpuParts * (until - at));
          at = until;
        }
      }
    }
  }
  const days = new Map();
  for (const [key, parts] of hours) {
    const [team, sku, hour] = key.split('|');
    const nanos = halfEven(BigInt(parts) * nanosPerHour(sku), 7_000_000n * 28_800n);
    const day = `${team}|${sku}|${new Date(Number(hour)).toISOString().slice(0, 10)}`;
    days.set(day, (days.get(day) ?? 0n) + nanos);
  }
  return days;
}

export async function run({ rows = 10_000_000, log }) {
  return withBursar(async (bursar) => {
    const { stores, organisation, runner } = bursar;
    await stores.prices.add(
      stores.db,
      organisation,
      SKUS.map((sku) => priceOf(sku, nanosPerHour(sku))),
      'bench',
    );
    log(`query: taking ${rows} metered records in`);
    const begun = performance.now();
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
            yield* batches(rows);
          },
        },
      ],
    );
    await runner.drain();
    const loaded = seconds(begun);
    log(`query: ${perSecond(rows, loaded)} records/s into the line`);
    const { fx } = await stores.prices.book(stores.db, organisation);
    await stores.db.query('vacuum analyze cost_day');
    const question = {
      from: null,
      to: null,
      groupBy: ['team', 'sku', 'day'],
      basis: 'accrued',
      currency: null,
      teams: null,
      zone: 'UTC',
    };
    const one = (team) => ({ ...question, teams: [team] });
    const times = { all: [], team: [], zone: [] };
    // An answer is let go before the next question, as it is where it has been sent.
    const timed = async (asked, into) => {
      const from = performance.now();
      await stores.spend.spend(organisation, asked, fx);
      into.push(performance.now() - from);
    };
    for (let n = -WARMING; n < READS; n++) {
      await timed(question, n < 0 ? [] : times.all);
      await timed(one(`team-${(n + WARMING) % TEAMS}`), n < 0 ? [] : times.team);
    }
    for (let n = 0; n < ZONE_READS; n++) await timed({ ...question, zone: 'Europe/Berlin' }, times.zone);
    const answer = await stores.spend.spend(organisation, question, fx);
    log('query: recounting every raw record');
    const days = await recount(bursar);
    const nanos = (text) => BigInt(text.replace('.', ''));
    const exact =
      answer.rows.length === days.size &&
      answer.rows.every((row) => nanos(row.cost) === days.get(`${row.team}|${row.sku}|${row.day}`));
    const quantile = (list, q) => Number([...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))].toFixed(2));
    return [
      { name: 'load/metered', rows, recordsPerSecond: perSecond(rows, loaded) },
      {
        name: 'query/team-by-sku-by-day/all-teams',
        rows,
        answerRows: answer.rows.length,
        p50Ms: quantile(times.all, 0.5),
        p99Ms: quantile(times.all, 0.99),
        exact,
      },
      {
        name: 'query/team-by-sku-by-day/one-team',
        rows,
        answerRows: answer.rows.length / TEAMS,
        p50Ms: quantile(times.team, 0.5),
        p99Ms: quantile(times.team, 0.99),
        exact,
      },
      {
        name: 'query/team-by-sku-by-day/all-teams/another-zone',
        rows,
        p50Ms: quantile(times.zone, 0.5),
        p99Ms: quantile(times.zone, 0.99),
      },
    ];
  });
}
