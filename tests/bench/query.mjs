/**
 * Team by SKU by day over metered records, read from the sums per day: p50 and p99 of many reads of the same four
 * weeks, and whether every row equals a full recount of the raw records, to the nano. The recount shares no code with
 * the line but the blocks.
 *
 * `--rows` says how much there is: the last four weeks are always the same records, and what is more lies before them.
 * It is taken in by the week, and recounted by the delivery, so that neither memory nor the disk of a hundred million
 * is more than what is kept. `--keep DIR` leaves the loaded data folder there, `--data DIR` asks it again.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
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
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Of a record. */
const LASTING = 8 * 60_000;
const END = Date.UTC(2026, 8, 29);
const WINDOW_DAYS = 28;
/** A delivery: a week of whole days. A source: four of them, whose ids are looked for among each other. */
const DELIVERY_DAYS = 7;
const READS = 500;
const WARMING = 100;
/** Of the same question in another zone than UTC: hours are read beside the sums per day. */
const ZONE_READS = 40;
/** Beside the data: what was loaded. */
const NOTE = 'bench.json';

const nanosPerHour = (sku) => BigInt(10 + SKUS.indexOf(sku)) * 1_234_567_891n;
const dayOf = (at) => new Date(at).toISOString().slice(0, 10);

function recordOf(n, start) {
  const resource = n % RESOURCES;
  return {
    id: `m-${start / LASTING}-${resource}`,
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
    end: start + LASTING,
    gpuParts: 7000 * (1 + (resource % 3)),
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}

/** `rows` records that end at a time, in their order; as many resources at once as there are. */
function* batches(rows, end) {
  const first = end - Math.ceil(rows / RESOURCES) * LASTING;
  for (let from = 0; from < rows; from += 20_000) {
    const records = Array.from({ length: Math.min(20_000, rows - from) }, (_, at) => {
      const n = from + at;
      return recordOf(n, first + Math.floor(n / RESOURCES) * LASTING);
    });
    yield { rejects: [], records };
  }
}

const RECORDS_A_DAY = (DAY / LASTING) * RESOURCES;

/** What is taken in at once: so many records that end at a time, the earliest first. */
function deliveries(rows) {
  const each = DELIVERY_DAYS * RECORDS_A_DAY;
  return Array.from({ length: Math.ceil(rows / each) }, (_, at) => ({
    rows: Math.min(each, rows - at * each),
    end: END - at * DELIVERY_DAYS * DAY,
    source: `bench-${Math.floor(at / 4)}`,
  })).toReversed();
}

const halfEven = (n, d) => {
  const q = n / d;
  const twice = (n % d) * 2n;
  return twice > d || (twice === d && q % 2n === 1n) ? q + 1n : q;
};

/** Nanos per team, SKU and day of a delivery's raw records: summed per hour, priced, rounded once. */
async function recountOf({ stores, organisation }, { source, id }) {
  const hours = new Map();
  for await (const records of stores.raw.records(stores.db, organisation, source, id)) {
    for (const r of records) {
      for (let at = r.start; at < r.end; ) {
        const hour = Math.floor(at / HOUR) * HOUR;
        const until = Math.min(r.end, hour + HOUR);
        let named = hours.get(hour);
        if (named === undefined) hours.set(hour, (named = new Map()));
        const key = `${r.namespace}|${r.sku}`;
        named.set(key, (named.get(key) ?? 0) + r.gpuParts * (until - at));
        at = until;
      }
    }
  }
  const days = new Map();
  for (const [hour, named] of hours) {
    for (const [key, parts] of named) {
      const nanos = halfEven(BigInt(parts) * nanosPerHour(key.split('|')[1]), 7_000_000n * 28_800n);
      const day = `${key}|${dayOf(hour)}`;
      days.set(day, (days.get(day) ?? 0n) + nanos);
    }
  }
  return days;
}

const nanosOf = (text) => BigInt(text.replace('.', ''));

/** Whether the answers are what a recount says, row by row. */
const areEqual = (rows, days) =>
  rows.length === days.size && rows.every((row) => nanosOf(row.cost) === days.get(`${row.team}|${row.sku}|${row.day}`));

/**
 * Holds each delivery's days against what is answered of them. Deliveries are of whole days.
 * @returns whether all of them are equal, and the days of the window
 */
async function recount(bursar, question, fx, window, log) {
  const { stores, organisation } = bursar;
  const ofWindow = new Map();
  let isEqual = true;
  const all = await stores.raw.deliveries(stores.db, organisation);
  for (const [at, delivery] of all.entries()) {
    const days = await recountOf(bursar, delivery);
    const named = [...days.keys()].map((key) => key.slice(-10)).sort();
    const part = { from: named[0], to: dayOf(Date.parse(named.at(-1)) + DAY) };
    const { rows } = await stores.spend.spend(organisation, { ...question, ...part }, fx);
    isEqual &&= areEqual(rows, days);
    for (const [key, nanos] of days) if (key.slice(-10) >= window.from) ofWindow.set(key, nanos);
    log(`query: recounted ${at + 1} of ${all.length} deliveries: ${isEqual ? 'equal' : 'NOT EQUAL'}`);
  }
  return { isEqual, ofWindow };
}

async function load({ stores, organisation, runner }, rows, log) {
  await stores.prices.add(
    stores.db,
    organisation,
    SKUS.map((sku) => priceOf(sku, nanosPerHour(sku))),
    'bench',
  );
  const begun = performance.now();
  let taken = 0;
  for (const { rows: count, end, source } of deliveries(rows)) {
    await stores.intake.import(
      {
        organisation,
        source,
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
            yield* batches(count, end);
          },
        },
      ],
    );
    await runner.drain();
    taken += count;
    log(`query: ${taken} of ${rows} metered records, ${perSecond(taken, seconds(begun))} records/s into the line`);
  }
  const loaded = seconds(begun);
  await stores.db.query('vacuum analyze cost_day');
  return { rows, recordsPerSecond: perSecond(rows, loaded) };
}

/** What the folder holds: loaded now, or as its note says. */
async function loadedIn(bursar, { rows = 10_000_000, keep, data, log }) {
  if (data !== undefined) {
    const note = await readFile(path.join(data, NOTE), 'utf8').catch(() => null);
    if (note === null) throw new Error(`${data} holds no data of this bench: there is no ${NOTE}`);
    return JSON.parse(note);
  }
  const loaded = await load(bursar, rows, log);
  if (keep !== undefined) await writeFile(path.join(keep, NOTE), JSON.stringify(loaded));
  return loaded;
}

const quantile = (list, q) => Number([...list].sort((a, b) => a - b)[Math.floor(q * (list.length - 1))].toFixed(2));

/** How long the question takes, in milliseconds: of all teams, of one, in another zone. */
async function measured({ stores, organisation }, question, fx) {
  const times = { all: [], team: [], zone: [] };
  // An answer is let go before the next question, as it is where it has been sent.
  const timed = async (asked, into) => {
    const from = performance.now();
    await stores.spend.spend(organisation, asked, fx);
    into.push(performance.now() - from);
  };
  for (let n = -WARMING; n < READS; n++) {
    await timed(question, n < 0 ? [] : times.all);
    await timed({ ...question, teams: [`team-${(n + WARMING) % TEAMS}`] }, n < 0 ? [] : times.team);
  }
  for (let n = 0; n < ZONE_READS; n++) await timed({ ...question, zone: 'Europe/Berlin' }, times.zone);
  return times;
}

export async function run(options) {
  const { log } = options;
  return withBursar(async (bursar) => {
    const { stores, organisation } = bursar;
    const { rows, recordsPerSecond } = await loadedIn(bursar, options);
    const { fx } = await stores.prices.book(stores.db, organisation);
    const window = { from: dayOf(END - WINDOW_DAYS * DAY), to: dayOf(END) };
    const question = { groupBy: ['team', 'sku', 'day'], basis: 'accrued', currency: null, teams: null, zone: 'UTC' };
    const ofWindow = { ...question, ...window };
    const times = await measured(bursar, ofWindow, fx);
    const answer = await stores.spend.spend(organisation, ofWindow, fx);
    log('query: recounting every raw record');
    const recounted = await recount(bursar, question, fx, window, log);
    const exact = recounted.isEqual && areEqual(answer.rows, recounted.ofWindow);
    const of = (list) => ({ p50Ms: quantile(list, 0.5), p99Ms: quantile(list, 0.99) });
    const asked = 'query/team-by-sku-by-day';
    const answerRows = answer.rows.length;
    return [
      { name: 'load/metered', rows, recordsPerSecond },
      { name: `${asked}/all-teams`, rows, answerRows, ...of(times.all), exact },
      { name: `${asked}/one-team`, rows, answerRows: answerRows / TEAMS, ...of(times.team), exact },
      { name: `${asked}/all-teams/another-zone`, rows, ...of(times.zone) },
    ];
  }, options);
}
