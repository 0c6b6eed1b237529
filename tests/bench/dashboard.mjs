/**
 * How soon the dashboard paints and shows its figures with 1,000 teams, run by hand: `node tests/bench/dashboard.mjs
 * [teams] [--keep FOLDER | --data FOLDER] [--answers] [--hours 7,12,19,23]` after `npm run build`. `--keep` keeps the
 * database that was loaded, `--data` asks one that was kept, `--answers` leaves the browser out, `--hours` says at
 * which hours of its last day (UTC) it is asked, each later than what is loaded.
 *
 * `--bills` adds what bills say of the same machines, a line for each hour of each team: those of months that are over,
 * and the one of this month, which is not final.
 *
 * Each question is asked twice so often: when today has changed since it was summed, and when it is summed.
 *
 * Cold loads in a fresh browser each time, over an API and a database on this machine. Prints one JSON document;
 * asserts nothing. `firstPaintMs` and `firstContentfulPaintMs` are the browser's own (W3C Paint Timing), `figuresMs` is
 * until nothing loads any more and every picture is drawn. `answers` are the questions of the cost explorer over HTTP,
 * all teams, one after the other: milliseconds until the last byte, and the processor's in this process (server and
 * asker) and in PostgreSQL, which mean more than wall time on a machine that others use.
 */
import { chromium } from 'playwright-core';
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createWebApp, listen } from '../../dist/src/web/server.js';
import { WebModule } from '../../dist/src/web/web.module.js';
import { SumSchedule } from '../../dist/src/pipeline/sum.js';
import { SettableClock } from '../../dist/src/clock.js';
import 'reflect-metadata';
import { databaseSeconds, priceOf, seeded, withBursar } from './server.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: 'string' },
    data: { type: 'string' },
    answers: { type: 'boolean', default: false },
    bills: { type: 'boolean', default: false },
    hours: { type: 'string', default: String(new Date().getUTCHours()) },
  },
});
const TEAMS = Number(positionals[0] ?? 1000);
const DAYS = 60;
const LOADS = 9;
const SKUS = ['p5.48xlarge', 'p4d.24xlarge', 'g6e.12xlarge'];
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** After the hour. */
const MINUTES = 1_200_000;
const PLACES = [
  '',
  'costs',
  'teams',
  'teams/team-0007',
  'recommendations',
  'actions',
  'savings',
  'policies',
  'imports',
];

/** Nobody has asked for its days, each time that it is asked for. */
const UNASKED = 'America/Denver';
const QUESTIONS = [
  'costs/breakdown',
  'costs/breakdown?group-by=team,sku&span=month',
  'costs/breakdown?group-by=sku,team',
  'costs/breakdown?group-by=gpu-model&sku=p5.48xlarge',
  'costs/breakdown?currency=USD',
  'costs/breakdown?zone=Europe/Berlin',
  'costs/breakdown?zone=Asia/Shanghai&group-by=sku',
  'costs/breakdown?zone=America/Los_Angeles',
  `costs/breakdown?zone=${UNASKED}`,
  'costs/bridge',
  'costs/resources?span=7&team=team-0007&sku=p5.48xlarge',
];
const ASKED = 25;
const HOURS = options.hours.split(',').map(Number);

const log = (text) => process.stderr.write(`${text}\n`);
/** Where people are; of these zones the days are summed beforehand. */
const ZONES = ['Europe/Berlin', 'Asia/Shanghai', 'UTC', 'UTC'];
const nameOf = (n) => `team-${String(n).padStart(4, '0')}`;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function sum({ stores, runner }) {
  await new SumSchedule(stores).enqueueDue();
  await runner.drain();
}

async function seed(bursar, call) {
  const { stores, organisation, runner } = bursar;
  await stores.db.transaction(async (tx) => {
    for (let n = 0; n < TEAMS; n++)
      await stores.organisations.saveTeam(tx, organisation, {
        id: nameOf(n),
        name: `Team ${n}`,
        parent: n < 20 ? null : nameOf(n % 20),
        zone: ZONES[n % ZONES.length],
        currency: 'USD',
        assignedBy: null,
      });
  });
  await stores.prices.add(
    stores.db,
    organisation,
    SKUS.map((sku, at) => priceOf(sku, BigInt(20 + 10 * at) * 1_000_000_000n)),
    'bench',
  );
  await call('PUT', '/v1/rules', {
    rules: Array.from({ length: TEAMS }, (_, n) => ({
      match: { tag: { key: 'team', value: nameOf(n) } },
      team: nameOf(n),
    })),
  });
  const random = seeded(7);
  for (let day = DAYS; day > 0; day--) {
    await sendUsage(call, () => {
      const begin = today - day * DAY_MS + Math.floor(random() * 16) * HOUR_MS;
      return [begin, begin + Math.ceil(1 + random() * 8) * HOUR_MS];
    });
    if (day % 10 === 0) log(`usage of ${DAYS - day} days sent`);
  }
  for (let n = 0; n < TEAMS; n++)
    await call('PUT', `/v1/budgets/${nameOf(n)}`, {
      team: nameOf(n),
      planned: { default: String(2000 + Math.floor(random() * 8000)) },
    });
  log('the line works');
  await runner.drain();
  log('days are summed');
  if (options.bills) await addBills(bursar);
  // Nobody is there; somebody has asked.
  await call('GET', '/v1/costs?zone=America/Los_Angeles');
  await sum(bursar);
}

/** A bill of each month: a line for each metered hour of a team and a machine type. */
async function addBills({ stores, organisation, runner }) {
  const months = await stores.db.query(
    `select distinct date_trunc('month', hour) as begin, date_trunc('month', hour) + interval '1 month' as until
     from usage_hour where hour < $1 order by 1`,
    [new Date(today).toISOString()],
  );
  for (const { begin, until } of months) {
    const rows = await stores.db.query(
      `select u.team, u.hour, d.sku
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension
       where d.kind = 'metered' and u.hour >= $1 and u.hour < $2`,
      [begin, until],
    );
    const lineOf = ({ team, hour, sku }, at) => {
      const amount = { unscaled: BigInt(20 + SKUS.indexOf(sku)), scale: 0 };
      return {
        id: `line-${at}`,
        provider: 'AWS',
        account: 'a1',
        subAccount: null,
        resource: null,
        namespace: team,
        service: 'AmazonEC2',
        sku,
        region: 'us-east-1',
        term: 'on-demand',
        gpuModel: null,
        tags: { team },
        start: hour.getTime(),
        end: hour.getTime() + HOUR_MS,
        gpuParts: null,
        storageMib: null,
        networkBytes: null,
        charge: {
          category: 'Usage',
          currency: 'USD',
          billed: amount,
          effective: amount,
          list: amount,
          periodStart: begin.getTime(),
          periodEnd: until.getTime(),
        },
      };
    };
    const about = { organisation, strict: true, dryRun: false, by: 'bench', rulesVersion: 0, trackedTags: [] };
    const batches = async function* () {
      for (let at = 0; at < rows.length; at += 20_000)
        yield { rejects: [], records: rows.slice(at, at + 20_000).map((row, n) => lineOf(row, at + n)) };
    };
    await stores.intake.import(
      { ...about, source: `bill-${begin.toISOString()}`, now: clock.now(), teamOf: ({ namespace }) => namespace },
      [{ name: 'bill', format: 'bench', batches }],
    );
    await runner.drain();
    log(`${rows.length} lines of a bill`);
  }
}

/** @param timesOf when a machine of each team begins and ends */
async function sendUsage(call, timesOf) {
  const records = Array.from({ length: TEAMS }, (_, n) =>
    SKUS.slice(0, 1 + (n % 3)).map((sku) => {
      const [begin, end] = timesOf();
      return {
        id: `${sku}-${n}-${begin}-${end}`,
        provider: 'AWS',
        account: 'a1',
        region: 'us-east-1',
        term: 'on-demand',
        sku,
        gpus: 8,
        tags: { team: nameOf(n) },
        start: new Date(begin).toISOString(),
        end: new Date(end).toISOString(),
      };
    }),
  ).flat();
  await call('POST', '/v1/usage', { records });
}

async function lastHour({ stores }) {
  const [known] = await stores.db.query(`select extract(epoch from max(hour))::float8 as last from usage_hour`);
  return known.last * 1000;
}

/** The day goes on until an hour: it has changed since it was summed. */
async function goOn({ stores, runner }, call, hour) {
  const begin = Math.max(today, (await lastHour({ stores })) + HOUR_MS);
  if (begin >= today + hour * HOUR_MS) throw new Error(`usage is there until ${new Date(begin).toISOString()}`);
  await sendUsage(call, () => [begin, today + hour * HOUR_MS]);
  await runner.drain();
}

const forget = ({ stores }) =>
  Promise.all(
    ['spend_zone_asked', 'spend_zone', 'spend_local'].map((table) =>
      stores.db.query(`delete from ${table} where zone = $1`, [UNASKED]),
    ),
  );

async function load(browser, address, key, place) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US' });
  try {
    await context.request.post(`${address}/session`, { headers: { 'x-bursar-session': 'bench' }, data: { key } });
    const page = await context.newPage();
    const bodies = [];
    page.on('requestfinished', (request) =>
      bodies.push(
        request.sizes().then(
          ({ responseBodySize }) => responseBodySize,
          () => 0,
        ),
      ),
    );
    const from = performance.now();
    await page.goto(`${address}/#/${place}`);
    await page.waitForFunction(
      () =>
        document.querySelector('h1') !== null &&
        document.querySelector('[aria-busy="true"]') === null &&
        [...document.querySelectorAll('.canvas')].every((one) => one.querySelector('canvas') !== null),
    );
    const figuresMs = performance.now() - from;
    const paints = await page.evaluate(() =>
      Object.fromEntries(performance.getEntriesByType('paint').map(({ name, startTime }) => [name, startTime])),
    );
    return {
      figuresMs,
      firstPaintMs: paints['first-paint'],
      firstContentfulPaintMs: paints['first-contentful-paint'],
      bytes: (await Promise.all(bodies)).reduce((total, size) => total + size, 0),
    };
  } finally {
    await context.close();
  }
}

/** How long an answer takes until its last byte; the first is not counted. */
async function ask(bursar, address, key, question, database) {
  const times = [];
  let before;
  let bytes = 0;
  for (let n = -1; n < ASKED; n++) {
    if (question.includes(UNASKED)) await forget(bursar);
    if (n === 0) before = { here: process.cpuUsage(), database: databaseSeconds(database) };
    const from = performance.now();
    const response = await fetch(`${address}/v1/${question}`, { headers: { authorization: `Bearer ${key}` } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${question}: ${response.status} ${text}`);
    bytes = text.length;
    if (n >= 0) times.push(performance.now() - from);
  }
  const here = process.cpuUsage(before.here);
  return {
    question,
    p50Ms: Math.round(median(times)),
    mostMs: Math.round(Math.max(...times)),
    nodeMs: Math.round((here.user + here.system) / 1000 / ASKED),
    databaseMs: Math.round(((databaseSeconds(database) - before.database) * 1000) / ASKED),
    load: loadavg()[0],
    bytes,
  };
}

const clock = new SettableClock();
/** The day that goes on: the last one of a database that was kept. */
let today = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
const answers = [];
const result = await withBursar(
  async (bursar, folder) => {
    const { stores, importer, policies } = bursar;
    const app = await createWebApp(WebModule.register({ stores, importer, clock, policies }), { logger: false });
    const request = { name: 'bench', role: 'admin', teams: null };
    const key = (await stores.keys.create(stores.db, bursar.organisation, request, 0)).text;
    const database = Number(readFileSync(path.join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    const address = await listen(app, { host: '127.0.0.1', port: 0 });
    const call = async (method, place, body) => {
      const response = await fetch(address + place, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${place}: ${response.status} ${await response.text()}`);
    };
    if (options.data === undefined) {
      clock.set(today);
      await seed(bursar, call);
    } else today = Math.floor((await lastHour(bursar)) / DAY_MS) * DAY_MS;
    for (const hour of HOURS) {
      clock.set(today + hour * HOUR_MS + MINUTES);
      await goOn(bursar, call, hour);
      for (const state of ['changed', 'summed']) {
        if (state === 'summed') await sum(bursar);
        for (const question of QUESTIONS) {
          answers.push({ hour, state, ...(await ask(bursar, address, key, question, database)) });
          log(JSON.stringify(answers.at(-1)));
        }
      }
    }
    if (options.answers) {
      await app.close();
      return [];
    }
    const browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
    try {
      const cases = [];
      for (const place of PLACES) {
        const loads = [];
        for (let n = 0; n < LOADS; n++) loads.push(await load(browser, address, key, place));
        const of = (name) => Math.round(median(loads.map((one) => one[name])));
        cases.push({
          name: place === '' ? 'overview' : place,
          firstPaintMs: of('firstPaintMs'),
          firstContentfulPaintMs: of('firstContentfulPaintMs'),
          figuresMs: of('figuresMs'),
          bytes: of('bytes'),
        });
        log(JSON.stringify(cases.at(-1)));
      }
      return cases;
    } finally {
      await browser.close();
      await app.close();
    }
  },
  { ...options, clock },
);
console.log(
  JSON.stringify(
    {
      machine: { cpus: cpus().length, model: cpus()[0]?.model, node: process.version },
      teams: TEAMS,
      days: DAYS,
      loads: LOADS,
      cases: result,
      answers,
    },
    null,
    2,
  ),
);
