/**
 * Rows a second, side by side in one run: PostgreSQL's own COPY of the file into a logged table with a unique key and a
 * (team, time) index; and Bursar's whole way (parsed, validated, deduplicated, allocated, priced, durable, rolled up) for
 * the same FOCUS CSV and for JSON batches over HTTP. Synthetic rows from a fixed seed, in FOCUS 1.0's 43 columns.
 */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { perSecond, seconds, seeded, withBursar } from './server.mjs';

const COLUMNS = ['AvailabilityZone', 'BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency', 'BillingPeriodEnd', 'BillingPeriodStart',
  'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargeFrequency', 'ChargePeriodEnd', 'ChargePeriodStart', 'CommitmentDiscountCategory',
  'CommitmentDiscountId', 'CommitmentDiscountName', 'CommitmentDiscountStatus', 'CommitmentDiscountType', 'ConsumedQuantity', 'ConsumedUnit',
  'ContractedCost', 'ContractedUnitPrice', 'EffectiveCost', 'InvoiceIssuerName', 'ListCost', 'ListUnitPrice', 'PricingCategory', 'PricingQuantity',
  'PricingUnit', 'ProviderName', 'PublisherName', 'RegionId', 'RegionName', 'ResourceId', 'ResourceName', 'ResourceType', 'ServiceCategory',
  'ServiceName', 'SkuId', 'SkuPriceId', 'SubAccountId', 'SubAccountName', 'Tags'];
const TEAMS = 20;
const SKUS = ['p5.48xlarge', 'p4d.24xlarge', 'g5.xlarge', 'g5.12xlarge', 'g6.xlarge', 'p3.2xlarge', 'g4dn.xlarge', 'p5en.48xlarge'];
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

const TYPES = { BilledCost: 'numeric', ChargePeriodStart: 'timestamptz', ChargePeriodEnd: 'timestamptz', BillingPeriodStart: 'timestamptz', BillingPeriodEnd: 'timestamptz', EffectiveCost: 'numeric', ListCost: 'numeric', ContractedCost: 'numeric', Tags: 'jsonb' };

/** The yardstick: the file as it is, into a logged table with a unique key over the line's identity and a (team, time) index. */
async function copyCase(url, file, rows) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create table yardstick (${COLUMNS.map((name) => `"${name}" ${TYPES[name] ?? 'text'}`).join(', ')})`);
  await client.query(`create unique index on yardstick ("BillingAccountId", "ResourceId", "SkuId", "ChargePeriodStart")`);
  await client.query(`create index on yardstick ("SubAccountId", "ChargePeriodStart")`);
  const begun = performance.now();
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), client.query(copyFrom(`copy yardstick from stdin (format csv, header true)`)));
  const time = seconds(begun);
  await client.query('drop table yardstick');
  await client.end();
  return { name: 'copy/focus-csv', rows, recordsPerSecond: perSecond(rows, time) };
}

async function focusCase(bursar, file, rows) {
  const { importer, stores, runner, organisation } = bursar;
  const begun = performance.now();
  const input = await importer.openFile(file);
  const [result] = await importer.files([input], { organisation, source: 'bench', format: 'focus', strict: false, dryRun: false, by: 'bench' });
  const taken = seconds(begun);
  await runner.drain();
  const time = seconds(begun);
  await input.close();
  if (result.accepted !== rows) throw new Error(`${result.accepted} of ${rows} rows were accepted`);
  const [sum] = await stores.db.query(`select (select sum(billed) from cost_day)::text = $1 as exact`, [result.billed[0].amount]);
  return { name: 'bursar/focus-csv', rows, recordsPerSecond: perSecond(rows, time), exact: sum.exact, intakeSeconds: Number(taken.toFixed(2)), lineSeconds: Number((time - taken).toFixed(2)) };
}

export async function run({ rows = 1_000_000, log }) {
  return withBursar(async (bursar, folder) => {
    const { stores, organisation } = bursar;
    await stores.db.transaction((tx) => stores.organisations.saveRules(tx, organisation,
      Array.from({ length: TEAMS }, (_, n) => ({ match: { tag: { key: 'team', value: `team-${n}` } }, team: `team-${n}` })), 'bench'));
    const file = path.join(folder, 'focus.csv');
    log(`ingest: writing ${rows} FOCUS rows`);
    await writeFocus(file, rows);
    log(`ingest: ${Math.round((await stat(file)).size / 2 ** 20)} MiB`);
    const copy = await copyCase(bursar.databaseUrl, file, rows);
    log(`ingest: ${copy.name} ${copy.recordsPerSecond}/s`);
    const focus = await focusCase(bursar, file, rows);
    log(`ingest: ${focus.name} ${focus.recordsPerSecond}/s`);
    return [copy, { ...focus, against: copy.name, ratio: Number((focus.recordsPerSecond / copy.recordsPerSecond).toFixed(2)) }];
  });
}
