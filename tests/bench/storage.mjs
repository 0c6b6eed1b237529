/**
 * What usage costs to keep: a meter that sends every five minutes for four weeks, as its deliveries come and with each
 * day merged when it has settled. Bytes are those of the files, with indexes and TOAST, after a plain VACUUM a day, as
 * autovacuum does it, and what is left when the tables are written anew (VACUUM FULL). Both times every cost is the same,
 * which is looked at.
 */
import { priceOf, seconds, withBursar } from './server.mjs';

const DAYS = 28;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EVERY = 5 * MINUTE;
const PER_TEAM = 20;
const SKUS = ['p5.48xlarge', 'p4d.24xlarge', 'g5.12xlarge', 'g6.xlarge'];
const START = Date.UTC(2026, 8, 1);
const TABLES = ['block', 'usage_id', 'usage_hour', 'usage_statement', 'delivery', 'import'];

function batch(start, resources) {
  return Array.from({ length: resources }, (_, n) => ({
    id: `m-${((start - START) / EVERY) * resources + n}`,
    provider: 'AWS',
    account: 'a',
    subAccount: null,
    resource: `i-${n}`,
    namespace: `team-${Math.floor(n / PER_TEAM)}`,
    service: null,
    sku: SKUS[n % SKUS.length],
    region: 'us-east-1',
    term: 'on-demand',
    gpuModel: null,
    tags: null,
    start,
    end: start + EVERY,
    gpuParts: 7000 * (1 + (n % 3)),
    storageMib: null,
    networkBytes: null,
    charge: null,
  }));
}

const price = (sku, at) => priceOf(sku, BigInt(10 + at) * 1_234_567_891n);

const take = ({ stores, organisation }, source, records, now) =>
  stores.intake.import(
    {
      organisation,
      source,
      strict: true,
      dryRun: false,
      by: 'bench',
      now,
      teamOf: (record) => record.namespace,
      rulesVersion: 0,
      trackedTags: [],
    },
    [
      {
        name: 'usage',
        format: 'bursar',
        async *batches() {
          yield { records, rejects: [] };
        },
      },
    ],
  );

/** Merges what has settled by an instant. */
async function merge({ stores, organisation }, source, now) {
  for (;;) {
    const next = await stores.db.transaction((tx) => stores.merging.merge(tx, organisation, source, now));
    if (next !== now) return;
  }
}

async function bytes(db, table) {
  const [{ size }] = await db.query(`select pg_total_relation_size($1::regclass)::float8 as size`, [table]);
  return size;
}

/** Bytes a record, by table. */
async function sizesOf(db, records) {
  const sizes = {};
  for (const table of TABLES) sizes[table] = Math.round((100 * (await bytes(db, table))) / records) / 100;
  return sizes;
}

const total = (sizes) => Object.values(sizes).reduce((sum, size) => sum + size, 0);

const vacuum = async (db) => {
  for (const table of TABLES) await db.query(`vacuum ${table}`);
};

async function keep(bursar, resources, merges, log) {
  const { stores, runner } = bursar;
  const { db } = stores;
  // A meter of its own each time: what a process remembers of ids is of a source.
  const source = merges ? 'merged meter' : 'meter';
  let [merging, mergedDays] = [0, 0];
  const began = performance.now();
  for (let day = 0; day < DAYS; day += 1) {
    for (let n = 0; n < 288; n += 1) {
      const start = START + day * 24 * HOUR + n * EVERY;
      await take(bursar, source, batch(start, resources), start + EVERY);
      // As it would be on the way: at two in the night.
      if (merges && n === 24 && day > 0) {
        const before = performance.now();
        await merge(bursar, source, start + EVERY);
        merging += seconds(before);
        mergedDays += 1;
        await vacuum(db);
      }
    }
    if (day % 7 === 6) log(`storage: day ${day + 1}, ${seconds(began).toFixed(0)} s`);
  }
  if (merges) await merge(bursar, source, START + DAYS * 24 * HOUR + 2 * HOUR);
  await vacuum(db);
  await runner.drain();
  const records = resources * 288 * DAYS;
  const sizes = await sizesOf(db, records);
  const [hours] = await db.query(`select count(*)::float8 as rows from usage_hour`);
  const [costs] = await db.query(
    `select count(*)::float8 as rows, sum(nanos)::text as nanos, md5(string_agg(c::text, '|' order by team, hour, dimension)) as digest from cost_hour c`,
  );
  await db.query('vacuum full cost_hour');
  for (const table of TABLES) await db.query(`vacuum full ${table}`);
  const rewritten = await sizesOf(db, records);
  const result = {
    name: `storage/${merges ? 'merged' : 'as it comes'}`,
    records,
    bytesPerRecord: total(sizes),
    bytesPerRecordRewritten: total(rewritten),
    bytesOf: sizes,
    bytesOfRewritten: rewritten,
    usageHourRows: hours.rows,
    costHourRows: costs.rows,
    bytesPerCostHour: Math.round((await bytes(db, 'cost_hour')) / costs.rows),
    costNanos: costs.nanos,
    costDigest: costs.digest,
    ...(merges ? { secondsPerMergedDay: merging / mergedDays } : {}),
  };
  log(
    `${result.name}: ${result.bytesPerRecord.toFixed(1)} bytes a record, ${result.bytesPerRecordRewritten.toFixed(1)} rewritten`,
  );
  await db.query(
    `truncate usage_hour, cost_hour, cost_day, block, usage_id, usage_statement, carried_run, metered_day, delivery, import, work, source`,
  );
  return result;
}

export function run({ rows: resources = 200, log }) {
  return withBursar(async (bursar) => {
    await bursar.stores.prices.add(bursar.stores.db, bursar.organisation, SKUS.map(price), 'bench');
    const before = await keep(bursar, resources, false, log);
    const after = await keep(bursar, resources, true, log);
    if (before.costDigest !== after.costDigest) throw new Error('the costs are not the same with and without merging');
    return [
      before,
      { ...after, exact: true, ratio: before.bytesPerRecord / after.bytesPerRecord, against: before.name },
    ];
  });
}
