/**
 * Rows a second, side by side in one run: PostgreSQL's own COPY of the file into a logged table with a unique key and a
 * (team, time) index; and Bursar's whole way (parsed, validated, deduplicated, allocated, priced, durable, rolled up)
 * for the same FOCUS CSV, for its rows as Parquet, and for JSON batches over HTTP. Synthetic rows from a fixed seed, in FOCUS 1.0's 43 columns.
 */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { fileWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import { from as copyFrom } from 'pg-copy-streams';
import { perSecond, priceOf, processorSeconds, seconds, seeded, withBursar } from './server.mjs';

const COLUMNS = [
  'AvailabilityZone',
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'CommitmentDiscountCategory',
  'CommitmentDiscountId',
  'CommitmentDiscountName',
  'CommitmentDiscountStatus',
  'CommitmentDiscountType',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'SkuId',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'Tags',
];
const TEAMS = 20;
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
const REGIONS = ['us-east-1', 'us-west-2', 'eu-west-1'];
const START = Date.UTC(2026, 8, 1);
const DAYS = 30;

const iso = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** One resource-hour of a bill: resources keep their team, SKU and region, hours go forward. */
function focusRow(n, random) {
  const resource = n % 1400;
  const hour = START + Math.floor((n / 1400) % (DAYS * 24)) * 3_600_000;
  const sku = SKUS[resource % SKUS.length];
  const region = REGIONS[resource % REGIONS.length];
  const team = resource % TEAMS;
  const cost = (random() * 50).toFixed(10);
  return `${region}a,${cost},1234567890123,Example Corp,USD,2026-10-01T00:00:00Z,2026-09-01T00:00:00Z,Usage,,"${sku} Linux on demand, ${region}",Usage-Based,${iso(hour + 3_600_000)},${iso(hour)},,,,,,1.0000000000,Hours,${cost},${cost},${cost},"Amazon Web Services, Inc.",${cost},55.04,Standard,1.0000000000,Hours,AWS,"Amazon Web Services, Inc.",${region},${region},i-${String(resource).padStart(17, '0')},,instance,Compute,Amazon Elastic Compute Cloud,${sku},${sku}.JRTCKXETXF,sub-${team},Sub Account ${team},"{""team"": ""team-${team}"", ""environment"": ""prod""}"\n`;
}

const FIELD = /"((?:[^"]|"")*)"|([^,\n]*)/y;

/** The fields of a row that `focusRow` has made. */
function fieldsOf(row) {
  const fields = [];
  for (FIELD.lastIndex = 0; fields.length < COLUMNS.length; FIELD.lastIndex += 1) {
    const [, quoted, bare] = FIELD.exec(row);
    fields.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
  }
  return fields;
}

/** As AWS types them in its own exports ("FOCUS 1.0 with AWS columns", Data Exports table dictionary). */
const PARQUET_TYPE = (name) =>
  /(Start|End)$/.test(name) ? 'TIMESTAMP' : /(Cost|Price|Quantity)$/.test(name) ? 'DOUBLE' : 'STRING';
const PARQUET_VALUE = { TIMESTAMP: (text) => new Date(text), DOUBLE: Number, STRING: (text) => text };
const ROW_GROUP = 100_000;

/** The rows of `writeFocus` as Parquet, one row group in memory at a time. */
async function writeFocusParquet(file, rows) {
  const types = COLUMNS.map(PARQUET_TYPE);
  const schema = schemaFromColumnData({
    columnData: COLUMNS.map((name, at) => ({ name, data: [], type: types[at], nullable: true })),
  });
  const writer = fileWriter(file);
  const parquet = new ParquetWriter({ writer, schema });
  const random = seeded(7);
  for (let from = 0; from < rows; from += ROW_GROUP) {
    const data = COLUMNS.map(() => []);
    for (let n = from; n < Math.min(rows, from + ROW_GROUP); n++)
      for (const [at, text] of fieldsOf(focusRow(n, random)).entries())
        data[at].push(text === '' ? null : PARQUET_VALUE[types[at]](text));
    await parquet.write({
      columnData: COLUMNS.map((name, at) => ({ name, data: data[at], type: types[at] })),
      rowGroupSize: ROW_GROUP,
    });
  }
  await parquet.finish();
}

async function writeFocus(file, rows) {
  const handle = await open(file, 'w');
  const random = seeded(7);
  let chunk = `${COLUMNS.join(',')}\n`;
  for (let n = 0; n < rows; n++) {
    chunk += focusRow(n, random);
    if (chunk.length > 4_000_000) {
      await handle.write(chunk);
      chunk = '';
    }
  }
  await handle.write(chunk);
  await handle.close();
}

// The yardstick's best reading: text is the fastest type to copy into, so only the time and the amounts are typed.
const TYPES = {
  BilledCost: 'numeric',
  EffectiveCost: 'numeric',
  ListCost: 'numeric',
  ChargePeriodStart: 'timestamptz',
};

/**
 * The yardstick: the file as it is, into a logged table with a unique key over the line's identity and a (team, time)
 * index.
 */
async function copyCase(url, file, rows) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(
    `create table yardstick (${COLUMNS.map((name) => `"${name}" ${TYPES[name] ?? 'text'}`).join(', ')})`,
  );
  await client.query(`create unique index on yardstick ("ResourceId", "ChargePeriodStart")`);
  await client.query(`create index on yardstick ("SubAccountId", "ChargePeriodStart")`);
  const begun = performance.now();
  await pipeline(
    createReadStream(file, { highWaterMark: 1 << 20 }),
    client.query(copyFrom(`copy yardstick from stdin (format csv, header true)`)),
  );
  const time = seconds(begun);
  await client.query('drop table yardstick');
  await client.end();
  return { name: 'copy/focus-csv', rows, recordsPerSecond: perSecond(rows, time) };
}

async function focusCase(bursar, name, file, rows) {
  const { importer, stores, runner, organisation } = bursar;
  const begun = performance.now();
  const used = process.cpuUsage();
  const input = await importer.openFile(file);
  const [result] = await importer.files([input], {
    organisation,
    source: 'bench',
    format: 'focus',
    strict: false,
    dryRun: false,
    by: 'bench',
  });
  const taken = seconds(begun);
  const processor = process.cpuUsage(used);
  let time = taken;
  await runner.drain((stage) => {
    if (WAY.test(stage)) time = seconds(begun);
  });
  const all = seconds(begun);
  await input.close();
  if (result.accepted !== rows) throw new Error(`${result.accepted} of ${rows} rows were accepted`);
  const [sum] = await stores.db.query(`select (select sum(billed) from cost_day)::text = $1 as exact`, [
    result.billed[0].amount,
  ]);
  return {
    name,
    rows,
    recordsPerSecond: perSecond(rows, time),
    exact: sum.exact,
    intakeSeconds: Number(taken.toFixed(2)),
    intakeProcessorSeconds: Number(((processor.user + processor.system) / 1e6).toFixed(2)),
    lineSeconds: Number((time - taken).toFixed(2)),
    laterStagesSeconds: Number((all - time).toFixed(2)),
  };
}

const BATCH = 20_000;

/**
 * Stages on a record's way from its source to an evaluated budget. What comes after them (comparing bills,
 * recommending, alerting) is not part of it.
 */
const WAY = /^(?!usage\.merge$)(usage|cost|budget)\./;

/** Metered records, as a meter sends them: one GPU resource for one minute each. */
function record(n) {
  const start = START + Math.floor(n / 1400) * 60_000;
  const resource = n % 1400;
  return {
    id: `m-${n}`,
    provider: 'AWS',
    account: '1234567890123',
    resource: `i-${String(resource).padStart(17, '0')}`,
    sku: SKUS[resource % SKUS.length],
    region: 'us-east-1',
    term: 'on-demand',
    gpus: 1 + (resource % 8),
    start: iso(start),
    end: iso(start + 60_000),
    tags: { team: `team-${resource % TEAMS}` },
  };
}

/** The yardstick for metered records: the same rows as CSV, with a unique id and a (team, time) index. */
async function copyMeteredCase(url, rows) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create table yardstick (id text, provider text, account text, resource text, sku text, region text, term text, gpus numeric,
    start timestamptz, until timestamptz, team text)`);
  await client.query(`create unique index on yardstick (id)`);
  await client.query(`create index on yardstick (team, start)`);
  function* lines() {
    for (let from = 0; from < rows; from += 1000) {
      let text = '';
      for (let n = from; n < Math.min(rows, from + 1000); n++) {
        const r = record(n);
        text += `${r.id},${r.provider},${r.account},${r.resource},${r.sku},${r.region},${r.term},${r.gpus},${r.start},${r.end},${r.tags.team}\n`;
      }
      yield text;
    }
  }
  const all = [...lines()];
  const begun = performance.now();
  await pipeline(Readable.from(all), client.query(copyFrom(`copy yardstick from stdin (format csv)`)));
  const time = seconds(begun);
  await client.query('drop table yardstick');
  await client.end();
  return { name: 'copy/metered-csv', rows, recordsPerSecond: perSecond(rows, time) };
}

async function addPrices({ stores, organisation }) {
  await stores.prices.add(
    stores.db,
    organisation,
    SKUS.map((sku, n) => priceOf(sku, BigInt(10 + n) * 1_000_000_000n)),
    'bench',
  );
}

/**
 * Batches over HTTP to `serve`, in one process or in several that share a database, four under way at a time, until
 * every record is priced, rolled up and evaluated.
 */
async function httpCase(bursar, { name, first, rows, processes }, log) {
  const { stores } = bursar;
  const bodies = [];
  for (let from = 0; from < rows; from += BATCH) {
    const length = Math.min(BATCH, rows - from);
    bodies.push(Buffer.from(JSON.stringify({ records: Array.from({ length }, (_, n) => record(first + from + n)) })));
  }
  const servers = [];
  for (let n = 0; n < processes; n++) servers.push(await startServer(bursar.databaseUrl));
  const processors = () => servers.reduce((sum, { pid }) => sum + processorSeconds(pid), 0);
  try {
    const begun = performance.now();
    const used = processors();
    let next = 0;
    const send = async (server) => {
      for (let at = next++; at < bodies.length; at = next++) {
        const reply = await fetch(`${server.url}/v1/usage?source=bench-http`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${server.key}`,
            'content-type': 'application/json',
            'idempotency-key': `bench-${first}-${at}`,
          },
          body: bodies[at],
        });
        if (!reply.ok) throw new Error(`batch ${at}: ${reply.status} ${await reply.text()}`);
      }
    };
    await Promise.all([0, 1, 2, 3].map((n) => send(servers[n % processes])));
    const taken = seconds(begun);
    const processor = Number((processors() - used).toFixed(2));
    const due = async () =>
      (await stores.work.duePartitions(Date.now() + 3_600_000)).some(({ stage }) => WAY.test(stage));
    while (await due()) await new Promise((resolve) => setTimeout(resolve, 50));
    const time = seconds(begun);
    const [sum] = await stores.db.query(
      `select sum(c.gpu_part_ms)::text as parts, bool_and(c.unpriced_part_ms = 0) as priced from cost_day c join dimension d on d.id = c.dimension and d.kind = 'metered'`,
    );
    const expected =
      Array.from(
        { length: 1400 },
        (_, r) => BigInt(1 + (r % 8)) * BigInt(Math.floor((first + rows) / 1400) + (r < (first + rows) % 1400 ? 1 : 0)),
      ).reduce((a, b) => a + b, 0n) *
      7000n *
      60_000n;
    log(`ingest: HTTP batches were all accepted after ${taken.toFixed(1)} s`);
    return {
      name,
      rows,
      recordsPerSecond: perSecond(rows, time),
      exact: sum.parts === String(expected) && sum.priced,
      intakeSeconds: Number(taken.toFixed(2)),
      intakeProcessorSeconds: processor,
      lineSeconds: Number((time - taken).toFixed(2)),
    };
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** Of the first start on the database, which prints it. */
let key = '';

/** `serve` on the given database. */
async function startServer(databaseUrl) {
  const child = spawn(
    process.execPath,
    [
      '--max-semi-space-size=64',
      '--no-allocation-site-pretenuring',
      path.join(import.meta.dirname, '../../dist/src/main.js'),
      'serve',
    ],
    {
      env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, PORT: '0', BURSAR_TICK_SECONDS: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const text = await new Promise((resolve, reject) => {
    let all = '';
    child.stderr.on('data', (chunk) => {
      all += chunk;
      if (/is ready: /.test(all)) resolve(all);
    });
    ended.then(() => reject(new Error(`serve ended: ${all}`)));
  });
  key ||= /bursar_\S+/.exec(text)[0];
  return {
    key,
    pid: child.pid,
    url: /is ready: (\S+)/.exec(text)[1],
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

const against = (one, yardstick) => ({
  ...one,
  against: yardstick.name,
  ratio: Number((one.recordsPerSecond / yardstick.recordsPerSecond).toFixed(2)),
});

const addRules = ({ stores, organisation }) =>
  stores.db.transaction((tx) =>
    stores.organisations.saveRules(
      tx,
      organisation,
      Array.from({ length: TEAMS }, (_, n) => ({
        match: { tag: { key: 'team', value: `team-${n}` } },
        team: `team-${n}`,
      })),
      'bench',
    ),
  );

/** In a database of its own: in the other one the bill would replace that of the CSV. */
const parquetCase = (rows, log) =>
  withBursar(async (bursar, folder) => {
    await addRules(bursar);
    const file = path.join(folder, 'focus.parquet');
    log(`ingest: writing ${rows} FOCUS rows as Parquet`);
    await writeFocusParquet(file, rows);
    log(`ingest: ${Math.round((await stat(file)).size / 2 ** 20)} MiB`);
    await bursar.stores.db.query('checkpoint');
    return focusCase(bursar, 'bursar/focus-parquet', file, rows);
  });

export async function run({ rows = 1_000_000, log }) {
  const told = (one) => {
    log(`ingest: ${one.name} ${one.recordsPerSecond}/s`);
    return one;
  };
  const cases = await csvAndJsonCases(rows, log, told);
  const [copy] = cases;
  return [...cases, against(told(await parquetCase(rows, log)), copy)];
}

const csvAndJsonCases = (rows, log, told) =>
  withBursar(async (bursar, folder) => {
    const { stores } = bursar;
    await addRules(bursar);
    const file = path.join(folder, 'focus.csv');
    log(`ingest: writing ${rows} FOCUS rows`);
    await writeFocus(file, rows);
    log(`ingest: ${Math.round((await stat(file)).size / 2 ** 20)} MiB`);
    // What one case wrote is on the disk before the next is timed.
    const settled = async (work) => {
      await stores.db.query('checkpoint');
      return told(await work());
    };
    const copy = await settled(() => copyCase(bursar.databaseUrl, file, rows));
    const focus = await settled(() => focusCase(bursar, 'bursar/focus-csv', file, rows));
    const copyMetered = await settled(() => copyMeteredCase(bursar.databaseUrl, rows));
    await addPrices(bursar);
    const one = { name: 'bursar/json-http', first: 0, rows, processes: 1 };
    const http = await settled(() => httpCase(bursar, one, log));
    const two = { name: 'bursar/json-http/two-processes', first: rows, rows, processes: 2 };
    const both = await settled(() => httpCase(bursar, two, log));
    return [copy, against(focus, copy), copyMetered, against(http, copyMetered), against(both, http)];
  });
