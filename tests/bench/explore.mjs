/**
 * Ad-hoc groups of the cost explorer over five million hour costs of a thousand teams: any two dimensions with a
 * filter. Bursar's own answer beside that of DuckDB to the same question on the same rows, exported to Parquet; every
 * sum of the two is compared, to the nano.
 *
 * `table` names what Bursar reads: sums per day, and hours beside them where a day is another than UTC's. DuckDB reads
 * hours. The package @duckdb/node-api is looked for at its place among the packages; without it the case says how to
 * get it.
 *
 * Followed: DuckDB's documentation, "Node.js Client (Neo)", "Parquet Import".
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { perSecond, seconds, withBursar } from './server.mjs';

const TEAMS = 1000;
const SHAPES_OF_TEAM = 5;
const MODELS = ['H100', 'H200', 'A100', 'L40S', 'A10G', 'V100', 'T4', 'B200'];
const REGIONS = ['us-east-1', 'us-west-2', 'eu-west-1', 'eu-central-1', 'ap-southeast-1'];
/** One SKU has no price: what has none is in no sum of costs, and is counted. */
const UNPRICED = MODELS.length - 1;
const SHAPES = MODELS.flatMap((gpuModel, at) =>
  REGIONS.map((region, place) => ({
    sku: `gpu${at}.${gpuModel.toLowerCase()}`,
    gpuModel,
    region,
    account: `account-${place}`,
    term: at % 2 === 0 ? 'on-demand' : 'spot',
  })),
);
const HOUR = 3_600_000;
const START = Date.UTC(2026, 8, 1);
const READS = 60;
const WARMING = 5;
/** In another zone than UTC. */
const ZONE_READS = 5;
const NOTE = 'bench.json';

const dayOf = (at) => new Date(at).toISOString().slice(0, 10);
const nameOf = (n) => `team-${String(n).padStart(4, '0')}`;
/** Some thousand prices, no two alike. */
const nanosOf = (at, place) => BigInt(10 + at) * 1_234_567_891n + BigInt(place) * 7_654_321n;

/** The hours of a team: how much was used, and what it cost. Not all alike, so that nothing is to be had by counting. */
function* hoursOf(team, ids, hours) {
  for (let k = 0; k < SHAPES_OF_TEAM; k++) {
    const at = (team * 7 + k * 11) % SHAPES.length;
    const nanosPerHour = nanosOf(Math.floor(at / REGIONS.length), at % REGIONS.length);
    for (let hour = 0; hour < hours; hour++) {
      const milliseconds = HOUR - ((hour * 31 + team * 17 + k) % 50) * 60_000;
      const quantity = BigInt(7000 * (1 + ((hour + team) % 8)) * milliseconds);
      yield { at, dimensionId: ids[at], hour: START + hour * HOUR, quantity, milliseconds, nanosPerHour };
    }
  }
}

/** As pricing writes it. */
function lineOf({ at, dimensionId, hour, quantity, milliseconds, nanosPerHour }) {
  const common = { team: '', hour, usage: SHAPES[at], component: 'gpu', quantity };
  if (Math.floor(at / REGIONS.length) === UNPRICED)
    return { dimensionId, line: { ...common, kind: 'unpriced', reason: 'no-price' } };
  const basis = {
    start: hour,
    end: hour + milliseconds,
    quantity,
    rate: { nanos: nanosPerHour, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' },
    peak: { numerator: 1n, denominator: 1n },
    fx: null,
    source: 'bench',
    effectiveFrom: 0,
    assumed: [],
    stale: false,
  };
  const nanos = (quantity * nanosPerHour) / (7_000_000n * 28_800n);
  return { dimensionId, line: { ...common, kind: 'usage', nanos, currency: 'USD', basis: [basis] } };
}

const USAGE_HOUR = 'organisation team hour dimension delivery part records gpu_part_ms shortest_ms granule_ms'.split(
  ' ',
);

function* usageRows(organisation, name, of) {
  for (const { dimensionId, hour, quantity, milliseconds } of of)
    yield [organisation, name, new Date(hour).toISOString(), dimensionId, 1, 0, 1, quantity, milliseconds, 60_000].join(
      '\t',
    ) + '\n';
}

function* linesOf(of) {
  for (const one of of) yield lineOf(one);
}

/**
 * Writes hours of usage and of costs as intake and pricing do, and lets Bursar sum their days: the question is how they
 * are read. A team at a time.
 */
async function load({ stores, organisation }, rows, log) {
  const hours = Math.ceil(rows / (TEAMS * SHAPES_OF_TEAM));
  const days = Array.from({ length: Math.ceil(hours / 24) }, (_, at) => dayOf(START + at * 24 * HOUR));
  const ids = await stores.db.transaction(async (tx) => {
    const dimensions = SHAPES.map((shape) => ({
      ...shape,
      kind: 'metered',
      provider: 'AWS',
      subAccount: null,
      service: null,
      category: 'Usage',
      currency: null,
      tags: null,
      civil: false,
      days: 1,
      unstated: [],
    }));
    const numbers = await stores.dimensions.idsOf(tx, organisation, dimensions);
    await stores.dimensions.write(tx, organisation);
    return numbers;
  });
  const begun = performance.now();
  for (let team = 0; team < TEAMS; team++) {
    const name = nameOf(team);
    await stores.db.transaction(async (tx) => {
      await tx.copy('usage_hour', USAGE_HOUR, usageRows(organisation, name, hoursOf(team, ids, hours)));
      await stores.costs.replaceHours(tx, organisation, name, days, linesOf(hoursOf(team, ids, hours)));
      await stores.costs.rollUp(tx, organisation, name, days, 'USD');
    });
    const done = (team + 1) * hours * SHAPES_OF_TEAM;
    if ((team + 1) % 20 === 0) log(`explore: ${done} hours written, ${perSecond(done, seconds(begun))} a second`);
  }
  for (const table of ['usage_hour', 'cost_hour', 'cost_day', 'dimension'])
    await stores.db.query(`vacuum analyze ${table}`);
  return { hours };
}

async function loadedIn(bursar, { rows = 5_000_000, keep, data, log }) {
  if (data !== undefined) {
    const note = await readFile(path.join(data, NOTE), 'utf8').catch(() => null);
    if (note === null) throw new Error(`${data} holds no data of this bench: there is no ${NOTE}`);
    return JSON.parse(note);
  }
  const loaded = await load(bursar, rows, log);
  if (keep !== undefined) await writeFile(path.join(keep, NOTE), JSON.stringify(loaded));
  return loaded;
}

/** Two dimensions and a filter each. The last are of days that are not UTC's: some hours are read beside the sums per day. */
function questions({ hours }) {
  const days = Math.floor(hours / 24);
  const day = (n) => dayOf(START + n * 24 * HOUR);
  const whole = { from: day(0), to: day(days), zone: 'UTC' };
  const weeks = { from: day(Math.max(0, days - 28)), to: day(days), zone: 'UTC' };
  return [
    { groupBy: ['team', 'sku'], filters: { region: ['eu-west-1'] }, ...whole },
    { groupBy: ['sku', 'region'], filters: { term: ['spot'] }, ...whole },
    { groupBy: ['region', 'term'], filters: { gpuModel: ['H100', 'H200'] }, ...whole },
    { groupBy: ['account', 'gpuModel'], filters: { provider: ['AWS'] }, ...whole },
    { groupBy: ['team', 'region'], filters: { sku: ['gpu0.h100'] }, ...weeks },
    { groupBy: ['team', 'gpuModel'], filters: {}, ...weeks },
    { groupBy: ['team', 'sku'], teams: [nameOf(7), nameOf(8)], filters: {}, ...whole },
    { groupBy: ['sku', 'day'], filters: { region: ['us-west-2'] }, ...whole },
    { groupBy: ['team', 'sku'], filters: { region: ['eu-west-1'] }, ...whole, zone: 'Europe/Berlin' },
    { groupBy: ['region', 'term'], filters: {}, ...whole, zone: 'Europe/Berlin' },
    { groupBy: ['sku', 'day'], filters: { region: ['us-west-2'] }, ...whole, zone: 'Europe/Berlin' },
  ].map((asked) => ({ teams: null, basis: 'accrued', currency: null, ...asked }));
}

/** What the costs of hours are, with the words of their dimensions, as a file for DuckDB. */
async function exported(url, file) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await pipeline(
      client.query(
        copyTo(`copy (
          select c.team, c.hour at time zone 'UTC' as hour, d.provider, d.account, d.sku, d.region, d.term,
            d.gpu_model as "gpuModel", c.nanos, c.quantity, c.unpriced_reason <> '' as unpriced
          from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
          where c.component = 'gpu' order by c.hour, c.team) to stdout (format csv, header)`),
      ),
      createWriteStream(file),
    );
  } finally {
    await client.end();
  }
}

/** DuckDB over a Parquet file of all hours. */
async function duckOf(url, folder, log) {
  const { DuckDBInstance } = await import('@duckdb/node-api').catch(() => {
    throw new Error('npm install --no-save --ignore-scripts @duckdb/node-api');
  });
  const [csv, parquet] = [path.join(folder, 'hours.csv'), path.join(folder, 'hours.parquet')];
  log('explore: writing the hours to Parquet');
  await exported(url, csv);
  const instance = await DuckDBInstance.create(':memory:');
  const duck = await instance.connect();
  await duck.run(
    `copy (select * from read_csv('${csv}', header = true, types = {'hour': 'TIMESTAMP', 'nanos': 'BIGINT', 'quantity': 'BIGINT'}))
     to '${parquet}' (format parquet)`,
  );
  await rm(csv);
  const counted = await duck.runAndReadAll(`select count(*)::int from read_parquet('${parquet}')`);
  return { duck, parquet, rows: counted.getRows()[0][0], close: () => instance.closeSync() };
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

/** Whole hours, so that a zone without half ones is enough: Berlin, two hours ahead of UTC until October 25. */
const local = (zone) =>
  zone === 'UTC' ? 'hour' : `hour + interval (case when hour < timestamp '2026-10-25 01:00' then 2 else 1 end) hour`;

function sqlOf({ groupBy, filters, teams, zone, from, to }, parquet) {
  const word = (key) => (key === 'day' ? `strftime(${local(zone)}, '%Y-%m-%d')` : `"${key}"`);
  const conditions = [
    `${local(zone)} >= timestamp ${quoted(from)}`,
    `${local(zone)} < timestamp ${quoted(to)}`,
    ...Object.entries(filters).map(([key, values]) => `"${key}" in (${values.map(quoted).join(', ')})`),
    ...(teams === null ? [] : [`team in (${teams.map(quoted).join(', ')})`]),
  ];
  return `select ${groupBy.map(word).join(', ')}, sum(nanos)::varchar, sum(quantity)::varchar,
      sum(case when unpriced then quantity else 0 end)::varchar
    from read_parquet('${parquet}') where ${conditions.join(' and ')} group by 1, 2 order by 1, 2`;
}

const PARTS_OF_HOUR = 7000n * 3_600_000n;
/** GPU-hours to six digits, half to even, of part-milliseconds. */
function hoursText(parts) {
  const [scaled, rest] = [(parts * 1_000_000n) / PARTS_OF_HOUR, (parts * 1_000_000n) % PARTS_OF_HOUR];
  const up = rest * 2n > PARTS_OF_HOUR || (rest * 2n === PARTS_OF_HOUR && scaled % 2n === 1n);
  const digits = String(scaled + (up ? 1n : 0n)).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** Whether both answers have the same groups with the same cost, GPU-hours and hours without a price. */
function areEqual(rows, groupBy, others) {
  const known = new Map(others.map(([a, b, ...figures]) => [`${a}|${b}`, figures]));
  return (
    rows.length === known.size &&
    rows.every((row) => {
      const [nanos, parts, without] = known.get(groupBy.map((key) => row[key]).join('|')) ?? [];
      const cost = row.cost === null ? null : BigInt(row.cost.replace('.', ''));
      return (
        parts !== undefined &&
        cost === (nanos === null ? null : BigInt(nanos)) &&
        row.gpuHours === hoursText(BigInt(parts)) &&
        row.unpricedQuantity === hoursText(BigInt(without))
      );
    })
  );
}

const quantile = (list, q) => Number([...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))].toFixed(1));

/** Milliseconds of each of many answers; the first few are not counted. */
async function timed(ask, reads) {
  const times = [];
  for (let n = -Math.min(WARMING, reads / 5); n < reads; n++) {
    const from = performance.now();
    await ask();
    if (n >= 0) times.push(performance.now() - from);
  }
  return times;
}

/** Bursar's answer to a question, and DuckDB's beside it. */
async function answered({ stores, organisation }, asked, fx, other) {
  const reads = asked.zone === 'UTC' ? READS : ZONE_READS;
  const ask = () => stores.spend.spend(organisation, asked, fx);
  const own = await timed(ask, reads);
  const { rows } = await ask();
  const filters = Object.entries(asked.filters).map(([key, values]) => `${key}=${values}`);
  const teams = asked.teams === null ? [] : [`team=${asked.teams}`];
  const result = {
    name: ['explore', asked.groupBy.join('-by-'), ...filters, ...teams, asked.zone].join('/'),
    table: asked.zone === 'UTC' ? 'cost_day' : 'cost_day and hours',
    answerRows: rows.length,
    p50Ms: quantile(own, 0.5),
    p99Ms: quantile(own, 0.99),
  };
  if (other === null) return result;
  const sql = sqlOf(asked, other.parquet);
  const theirs = await timed(() => other.duck.runAndReadAll(sql), reads);
  const answer = await other.duck.runAndReadAll(sql);
  return {
    ...result,
    rows: other.rows,
    duckP50Ms: quantile(theirs, 0.5),
    duckP99Ms: quantile(theirs, 0.99),
    equal: areEqual(rows, asked.groupBy, answer.getRows()),
  };
}

export async function run(options) {
  const { log } = options;
  return withBursar(async (bursar, dataDir, url) => {
    const loaded = await loadedIn(bursar, options);
    const { fx } = await bursar.stores.prices.book(bursar.stores.db, bursar.organisation);
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-duck-'));
    const other = await duckOf(url, folder, log).catch((error) => {
      log(`explore: without DuckDB beside it: ${error.message}`);
      return null;
    });
    try {
      const cases = [];
      for (const asked of questions(loaded)) {
        cases.push(await answered(bursar, asked, fx, other));
        log(JSON.stringify(cases.at(-1)));
      }
      return cases;
    } finally {
      other?.close();
      await rm(folder, { recursive: true, force: true });
    }
  }, options);
}
