/**
 * From an event to the budget alert that it causes, at a steady rate of events, one of two workers killed in between:
 * an API and two workers as processes of their own, metered records over HTTP, fifty teams whose budgets' thresholds
 * are crossed at known moments by known records, and a receiver of the alerts' webhook.
 *
 * A time is from the moment at which the event was due to the moment at which its alert arrives; a sender that falls
 * behind is not waited for, and says how far it did. `--rows` is the number of events; BENCH_RATE those of a second
 * (10,000).
 */
import { createServer } from 'node:http';
import { loadavg } from 'node:os';
import { quantile, startProcess } from './processes.mjs';
import { priceOf, processorSeconds, withBursar } from './server.mjs';

const TEAMS = 50;
const THRESHOLDS = 10;
const CROSSINGS = TEAMS * THRESHOLDS;
const RESOURCES = 20_000;
const BATCHES_PER_SECOND = 20;
/** Requests that a sender has open at a time; what is due meanwhile is sent late, and counted from when it was due. */
const MOST_UNDER_WAY = 32;
const MINUTE = 60_000;
const HOUR = 3_600_000;
/** Within so many seconds the jobs of a process that has died are another's (BURSAR_STALL_SECONDS, as it is). */
const STALL_SECONDS = 10;
/** Alerts that are late are waited for. */
const PATIENCE_SECONDS = 120;
/** A minute of it costs 100 dollars, and a budget is 1,000; all else together costs less than a cent. */
const DEAR = 'p5.48xlarge';
const CHEAP = 'g5.xlarge';

async function prepare({ stores, organisation }) {
  const { db } = stores;
  await db.transaction((tx) =>
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
  await db.query(
    `insert into team (organisation, id, name) select $1, 'team-' || n, 'Team ' || n from generate_series(0, $2::int - 1) n on conflict do nothing`,
    [organisation, TEAMS],
  );
  await stores.prices.add(db, organisation, [priceOf(DEAR, 6000n * 1_000_000_000n), priceOf(CHEAP, 1000n)], 'bench');
  const thresholds = Array.from({ length: THRESHOLDS }, (_, n) => ({ kind: 'actual', ratio: String((n + 1) / 10) }));
  await db.query(
    `insert into budget (organisation, id, team, spec) select $1, 'team-' || n, 'team-' || n, jsonb_build_object('id', 'team-' || n, 'team', 'team-' || n,
       'period', 'month', 'zone', 'UTC', 'currency', 'USD', 'filters', '{}'::jsonb, 'planned', '{"default": "1000", "periods": {}}'::jsonb,
       'includeCredits', true, 'thresholds', $3::jsonb) from generate_series(0, $2::int - 1) n`,
    [organisation, TEAMS, JSON.stringify(thresholds)],
  );
}

const iso = (instant) => new Date(instant).toISOString();

const recordOf = (id, resource, team, sku, start) => ({
  id,
  provider: 'AWS',
  account: '1234567890123',
  resource,
  sku,
  region: 'us-east-1',
  term: 'on-demand',
  gpus: 8,
  start: iso(start),
  end: iso(start + MINUTE),
  tags: { team: `team-${team}` },
});

/**
 * Takes alerts, and notes when each threshold of each budget was first told of: of thresholds that are crossed between
 * two looks the highest is told of for all.
 */
async function receiver() {
  const arrived = new Map();
  const server = createServer((request, reply) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const now = performance.now();
      reply.end();
      const { news } = JSON.parse(Buffer.concat(chunks)).data;
      if (news.kind !== 'budget') return;
      for (let threshold = 1; threshold <= Math.round(10 * Number(news.threshold.ratio)); threshold++) {
        const name = `${news.budget} ${threshold / 10}`;
        if (!arrived.has(name)) arrived.set(name, now);
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { arrived, url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Sends a batch, again where it is told to come later, as a meter does; how often again. */
async function post({ url, key }, batch, body) {
  const until = performance.now() + PATIENCE_SECONDS * 1000;
  for (let again = 0; ; again++) {
    const reply = await fetch(`${url}/v1/usage?source=bench`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': `bench-${batch}`,
      },
      body,
    });
    const text = await reply.text();
    if (reply.ok) return again;
    if (![429, 503].includes(reply.status) || performance.now() > until)
      throw new Error(`batch ${batch}: ${reply.status} ${text.slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Sends at a fixed rate; each crossing is noted with the moment at which its event was due. */
async function send(api, { rate, rows, base }, killAt, kill) {
  const crossings = [];
  const lateness = [];
  const underWay = new Set();
  let repeats = 0;
  const perBatch = Math.round(rate / BATCHES_PER_SECOND);
  const batches = Math.ceil(rows / perBatch);
  const begun = performance.now();
  let killedAt = Infinity;
  for (let batch = 0; batch < batches; batch++) {
    const due = begun + ((batch + 1) * 1000) / BATCHES_PER_SECOND;
    const records = Array.from({ length: perBatch }, (_, at) => {
      const n = batch * perBatch + at;
      const resource = n % RESOURCES;
      return recordOf(`e-${n}`, `i-${resource}`, resource % TEAMS, CHEAP, base + Math.floor(n / RESOURCES) * MINUTE);
    });
    const before = Math.floor((batch * CROSSINGS) / batches);
    for (let one = before; one < Math.floor(((batch + 1) * CROSSINGS) / batches); one++) {
      const [team, threshold] = [one % TEAMS, Math.floor(one / TEAMS) + 1];
      records[one - before] = recordOf(`c-${one}`, `dear-${one}`, team, DEAR, base);
      // The first events of a batch are the oldest when it is sent.
      crossings.push({ name: `team-${team} ${threshold / 10}`, at: due - 1000 / BATCHES_PER_SECOND });
    }
    const body = JSON.stringify({ records });
    const pause = due - performance.now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    if (killedAt === Infinity && due - begun > killAt * 1000) {
      killedAt = due;
      void kill();
    }
    while (underWay.size >= MOST_UNDER_WAY) await Promise.race(underWay);
    const sending = (async () => {
      const again = await post(api, batch, body);
      repeats += again;
      lateness.push(performance.now() - due);
      underWay.delete(sending);
    })();
    underWay.add(sending);
  }
  await Promise.all(underWay);
  const elapsed = (performance.now() - begun) / 1000;
  return { crossings, lateness, repeats, killedAt, sent: batches * perBatch, elapsed };
}

/** Where the time of an alert went: medians between what each stage has noted of it, in milliseconds. */
async function stagesOf({ stores, organisation }) {
  const rows = await stores.db.query(
    `select extract(epoch from a.made_at - c.crossed_at) * 1000 as made, extract(epoch from d.sent_at - a.made_at) * 1000 as sent
     from crossing c join alert a on a.organisation = c.organisation and a.news->>'budget' = c.budget and (a.news->'threshold'->>'ratio')::numeric = c.ratio
     join alert_delivery d on d.organisation = a.organisation and d.alert = a.id where c.organisation = $1`,
    [organisation],
  );
  return {
    crossedToAlertMsP50: quantile(
      rows.map(({ made }) => Number(made)),
      0.5,
      0,
    ),
    alertToSentMsP50: quantile(
      rows.map(({ sent }) => Number(sent)),
      0.5,
      0,
    ),
  };
}

export async function run({ rows, log }) {
  const rate = Number(process.env.BENCH_RATE ?? 10_000);
  const events = rows ?? rate * 60;
  return withBursar(async (bursar) => {
    await prepare(bursar);
    const received = await receiver();
    const environment = {
      BURSAR_ALERT_WEBHOOK_URL: received.url,
      BURSAR_ALERT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    };
    const api = await startProcess(bursar.databaseUrl, 'api', environment);
    const workers = [
      await startProcess(bursar.databaseUrl, 'worker', environment),
      await startProcess(bursar.databaseUrl, 'worker', environment),
    ];
    try {
      for (let quiet = 0; quiet < 3; quiet = (await bursar.stores.work.waiting(Date.now())) === 0 ? quiet + 1 : 0)
        await new Promise((resolve) => setTimeout(resolve, 1000));
      const load = loadavg()[0];
      const used = () => [api, workers[1]].map(({ pid }) => processorSeconds(pid));
      const before = used();
      log(`alerts: ${events} events at ${rate} a second`);
      const base = Math.floor(Date.now() / HOUR) * HOUR - 3 * HOUR;
      const killAt = events / rate / 3;
      const { crossings, lateness, repeats, killedAt, sent, elapsed } = await send(
        api,
        { rate, rows: events, base },
        killAt,
        () => workers[0].kill(),
      );
      const until = performance.now() + PATIENCE_SECONDS * 1000;
      while (received.arrived.size < crossings.length && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 50));
      const after = used();
      const phases = {
        all: () => true,
        before: ({ at }) => at < killedAt,
        during: ({ at }) => at >= killedAt && at < killedAt + STALL_SECONDS * 1000,
        after: ({ at }) => at >= killedAt + STALL_SECONDS * 1000,
      };
      const stages = await stagesOf(bursar);
      const [apiSeconds, workerSeconds] = after.map((one, at) => Number((one - before[at]).toFixed(2)));
      return Object.entries(phases).map(([phase, holds]) => {
        const ours = crossings.filter(holds);
        const times = ours.flatMap(({ name, at }) =>
          received.arrived.has(name) ? [received.arrived.get(name) - at] : [],
        );
        return {
          name: `alerts/${phase === 'all' ? 'whole-run' : `${phase}-the-kill`}`,
          crossings: ours.length,
          missing: ours.length - times.length,
          p50Ms: quantile(times, 0.5, 0),
          p99Ms: quantile(times, 0.99, 0),
          mostMs: quantile(times, 1, 0),
          ...(phase === 'all'
            ? {
                rows: sent,
                eventsPerSecond: Math.round(sent / elapsed),
                answerMsP50: quantile(lateness, 0.5, 0),
                answerMsP99: quantile(lateness, 0.99, 0),
                sentAgain: repeats,
                ...stages,
                apiProcessorSeconds: apiSeconds,
                workerProcessorSeconds: workerSeconds,
                load: Number(load.toFixed(1)),
              }
            : {}),
        };
      });
    } finally {
      received.close();
      await Promise.all([api.stop(), workers[1].stop(), workers[0].kill()]);
    }
  });
}
