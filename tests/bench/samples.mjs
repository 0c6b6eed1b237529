/**
 * What samples cost: bytes of each as the version before kept them and as they are kept, a minute of 100,000 GPUs
 * saved, an hour packed, a look at the health of 2,000 and 20,000 GPUs, and a team's view over 14 days with what
 * idle-stop says to it. Machines of eight cards that all report at
 * once, every fifteen seconds as a Prometheus source reads them, or every minute; the measures move as those of cards
 * at work do.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { HEALTH_DEFAULTS, settle } from '../../dist/src/core/fleet/health.js';
import { NO_PEAK } from '../../dist/src/core/price/peak.js';
import { policy as idleStop } from '../../dist/src/policies/idle-stop.js';
import { processorSeconds, seconds, seeded, withBursar } from './server.mjs';

const START = Date.UTC(2026, 10, 22, 12);
const MINUTE = 60_000;
const LOOK = 15_000;
const TEAMS = 20;
const CARDS = 8;
const TOTAL_MIB = 81_559;

/** Cards that drift; the same in every run. */
function fleet(gpus) {
  const random = seeded(7);
  return Array.from({ length: gpus }, (_, n) => {
    const machine = Math.floor(n / CARDS);
    const hex = (machine * 2_654_435_761 + n).toString(16).padStart(12, '0').slice(-12);
    return {
      base: {
        resource: `i-0${(machine * 40_503 + 7_919).toString(16).padStart(15, '0')}`,
        gpu: `GPU-${hex.slice(0, 8)}-${hex.slice(2, 6)}-4${hex.slice(1, 4)}-a${hex.slice(5, 8)}-${hex}`,
        migInstance: null,
        gpuModel: 'NVIDIA H100 80GB HBM3',
        namespace: null,
        pod: null,
        networkLatencySeconds: null,
        requestsPerSecond: null,
        labels: {},
        exporter: `dcgm/10.0.${machine >> 8}.${machine & 255}:9400`,
        team: `team-${machine % TEAMS}`,
        workload: null,
        workloadKind: 'training',
        isPartitioned: false,
        connection: 'aws',
        target: `i-0${(machine * 40_503 + 7_919).toString(16).padStart(15, '0')}`,
        provider: 'AWS',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        term: 'on-demand',
      },
      state: { utilisation: 60 + Math.floor(40 * random()), mib: 20_000 + Math.floor(60_000 * random()), celsius: 45 },
      replays: Math.floor(3 * random()),
      random,
    };
  });
}

function look(cards, at) {
  return cards.map(({ base, state, replays, random }) => {
    const drift = (value, by, least, most) =>
      Math.min(most, Math.max(least, value + Math.round(by * (2 * random() - 1))));
    state.utilisation = drift(state.utilisation, 6, 0, 100);
    state.celsius = drift(state.celsius, 2, 30, 84);
    if (random() < 0.2) state.mib = drift(state.mib, 500, 500, 80_000);
    return {
      ...base,
      at,
      gpuUtilisationRatio: state.utilisation / 100,
      memoryUsedRatio: state.mib / TOTAL_MIB,
      memoryUsedMib: state.mib,
      temperatureCelsius: state.celsius,
      powerWatts: Math.round(1000 * (90 + 6 * state.utilisation + 10 * random())) / 1000,
      pcieReplays: replays,
    };
  });
}

const save = (stores, samples) => stores.db.transaction((tx) => stores.samples.save(tx, 'default', 'bench', samples));

async function bytes(db, pattern) {
  const [{ size }] = await db.query(
    `select sum(pg_total_relation_size(oid))::float8 as size from pg_class where relkind = 'r' and relname ~ $1`,
    [pattern],
  );
  return size;
}

/** An hour of a fleet, minute by minute, as the version before wrote it. */
async function wide(stores, gpus, minutes, log) {
  const cards = fleet(gpus);
  let time = 0;
  for (let minute = 0; minute < minutes; minute += 1) {
    const rows = look(cards, START + minute * MINUTE);
    const began = performance.now();
    await stores.db.query(
      `insert into sample (organisation, source, resource, at, gpu, mig_instance, seen_at, team, workload, partitioned,
         connection, target, provider, sku, region, term, gpu_model, gpus, exporter, gpu_utilisation_ratio,
         memory_used_ratio, memory_used_mib, temperature_celsius, power_watts, pcie_replays)
       select 'default', 'bench', r ->> 'resource', $2, r ->> 'gpu', '', $2, r ->> 'team', r ->> 'workloadKind', false,
         r ->> 'connection', r ->> 'target', r ->> 'provider', r ->> 'sku', r ->> 'region', r ->> 'term',
         r ->> 'gpuModel', 1, r ->> 'exporter', (r ->> 'gpuUtilisationRatio')::real, (r ->> 'memoryUsedRatio')::real,
         (r ->> 'memoryUsedMib')::real, (r ->> 'temperatureCelsius')::real, (r ->> 'powerWatts')::real,
         (r ->> 'pcieReplays')::bigint
       from jsonb_array_elements($1::jsonb) r`,
      [JSON.stringify(rows), new Date(START + minute * MINUTE)],
    );
    time += seconds(began);
  }
  const each = (await bytes(stores.db, '^sample$')) / (gpus * minutes);
  log(`rows of the version before: ${each.toFixed(0)} bytes a sample`);
  await stores.db.query('truncate sample');
  return { name: 'samples/as rows', gpus, minutes, bytesPerSample: Math.round(each), secondsPerMinute: time / minutes };
}

/** The hour before and the one at hand of a fleet, with a look at its health at the end. */
async function packed(stores, gpus, every, log) {
  const cards = fleet(gpus);
  const end = START + 70 * MINUTE;
  let [saving, looks] = [0, 0];
  for (let at = START; at < end; at += every) {
    const samples = look(cards, at);
    const began = performance.now();
    await save(stores, samples);
    saving += seconds(began);
    looks += 1;
  }
  const recent = await bytes(stores.db, '^sample_recent$');
  const health = async (now) => {
    const [cpu, began] = [process.cpuUsage(), performance.now()];
    await stores.db.transaction(async (tx) => {
      const devices = await stores.samples.histories(tx, 'default', 'bench', now, HEALTH_DEFAULTS.replayMinutes);
      const open = await stores.healthFindings.open(tx, 'default', 'bench');
      await stores.healthFindings.keep(tx, 'default', 'bench', settle(open, devices, now), now);
    });
    const { user, system } = process.cpuUsage(cpu);
    return { time: seconds(began), workerCpu: (user + system) / 1e6 };
  };
  const first = await health(end - 1);
  const next = [];
  for (let n = 0; n < 4; n += 1) {
    const at = end + n * LOOK;
    await save(stores, look(cards, at));
    next.push(await health(at));
  }
  const began = performance.now();
  while (await stores.db.transaction((tx) => stores.samples.pack(tx, 'default', 'bench', end)));
  const packing = seconds(began);
  const each = (await bytes(stores.db, '^sample_hour_')) / (gpus * 60);
  const memoryMib = process.memoryUsage().rss / 2 ** 20;
  log(
    `${gpus} GPUs: ${each.toFixed(1)} bytes a sample, a look in ${next.map(({ time }) => time.toFixed(2)).join(', ')} s`,
  );
  await stores.db.query('truncate sample_hour');
  await stores.db.query('truncate sample_recent, health_finding');
  return {
    name: `samples/packed, ${gpus} GPUs, a look every ${every / 1000} s`,
    bytesPerSample: each,
    bytesPerLookOfTheLastHour: recent / (gpus * looks),
    secondsPerSavedMinute: (saving / looks) * (MINUTE / every),
    secondsPerPackedHour: packing,
    firstLookAtHealthSeconds: first.time,
    nextLookAtHealthSeconds: Math.max(...next.map(({ time }) => time)),
    nextLookWorkerCpuSeconds: Math.max(...next.map(({ workerCpu }) => workerCpu)),
    memoryMib,
  };
}

const VIEW_DAYS = 14;
const ROWS_AT_ONCE = 300;

/** Packed hours of one machine as those of another: its name has as many letters. */
async function copyMachine(db, rows, from, to) {
  const renamed = (text) => {
    const copy = Buffer.from(text);
    for (let at = copy.indexOf(from); at >= 0; at = copy.indexOf(from, at + 1)) copy.write(to, at);
    return copy;
  };
  for (let first = 0; first < rows.length; first += ROWS_AT_ONCE) {
    const some = rows.slice(first, first + ROWS_AT_ONCE);
    await db.query(
      `insert into sample_hour (organisation, source, resource, hour, team, id, workloads, samples, payload, minutes)
       select 'default', 'bench', $1, hour, 'team-0', nextval(pg_get_serial_sequence('sample_recent', 'id')), '{}',
         samples, payload, minutes
       from unnest($2::timestamptz[], $3::int[], $4::bytea[], $5::bytea[]) as h(hour, samples, payload, minutes)`,
      [
        to,
        some.map(({ hour }) => hour),
        some.map(({ samples }) => samples),
        some.map(({ payload }) =>
          Buffer.concat([
            payload.subarray(0, 1),
            deflateRawSync(renamed(inflateRawSync(payload.subarray(1))), { level: 6 }),
          ]),
        ),
        some.map(({ minutes }) => (minutes === null ? null : renamed(minutes))),
      ],
    );
  }
}

/** A team's machines over 14 days, as a policy sees them: from packed minutes, and from the samples beside them. */
async function view(stores, machines, log) {
  const cards = fleet(CARDS).map((card) => ({ ...card, base: { ...card.base, team: 'team-0' } }));
  const own = cards[0].base.resource;
  for (let hour = 0; hour < VIEW_DAYS * 24; hour += 1) {
    const at = START + (hour - VIEW_DAYS * 24) * 60 * MINUTE;
    const samples = Array.from({ length: 60 }, (_, minute) => look(cards, at + minute * MINUTE)).flat();
    await save(
      stores,
      samples.map((one) => (hour % 24 < 12 ? one : { ...one, gpuUtilisationRatio: 0, powerWatts: 70 })),
    );
  }
  while (await stores.db.transaction((tx) => stores.samples.pack(tx, 'default', 'bench', START + 10 * MINUTE)));
  const rows = await stores.db.query(`select hour, samples, payload, minutes from sample_hour where resource = $1`, [
    own,
  ]);
  for (let machine = 1; machine < machines; machine += 1)
    await copyMachine(stores.db, rows, own, `i-c${machine.toString(16).padStart(15, '0')}`);
  await stores.db.query('vacuum analyze sample_hour');
  const [{ bytes: ofMinutes }] = await stores.db.query(
    `select coalesce(sum(length(minutes)), 0)::float8 as bytes from sample_hour`,
  );
  const each = (await bytes(stores.db, '^sample_hour_')) / (machines * CARDS * 60 * 24 * VIEW_DAYS);
  const prices = await stores.prices.book(stores.db, 'default');
  const looked = async () => {
    const [cpu, began] = [process.cpuUsage(), performance.now()];
    const { shown, backend } = await stores.db.transaction(async (tx) => {
      const [{ pid }] = await tx.query('select pg_backend_pid() as pid');
      const before = processorSeconds(pid);
      const found = await stores.views.view(tx, 'default', 'team-0', 'USD', START, prices, NO_PEAK);
      return { shown: found, backend: processorSeconds(pid) - before };
    });
    const read = process.cpuUsage(cpu);
    globalThis.gc?.();
    const heapMib = process.memoryUsage().heapUsed / 2 ** 20;
    const external = process.memoryUsage().external / 2 ** 20;
    const judging = process.cpuUsage();
    idleStop.explain(shown, idleStop.params.parse({}));
    const judged = process.cpuUsage(judging);
    return {
      viewSeconds: seconds(began),
      viewWorkerCpuSeconds: (read.user + read.system) / 1e6,
      viewDatabaseCpuSeconds: backend,
      viewHeapMib: heapMib,
      viewBuffersMib: external,
      idleStopWorkerCpuSeconds: (judged.user + judged.system) / 1e6,
    };
  };
  const fromMinutes = await looked();
  await stores.db.query('update sample_hour set minutes = null');
  const fromSamples = await looked();
  log(
    `a view of ${machines} machines: ${fromMinutes.viewSeconds.toFixed(1)} s, from samples ${fromSamples.viewSeconds.toFixed(1)} s`,
  );
  await stores.db.query('truncate sample_hour');
  const name = `samples/view of ${machines} machines of ${CARDS} GPUs, ${VIEW_DAYS} days`;
  return [
    {
      name: `${name}, packed minutes`,
      bytesPerSample: each,
      minuteBytesPerSample: ofMinutes / (machines * CARDS * 60 * 24 * VIEW_DAYS),
      ...fromMinutes,
    },
    { name: `${name}, samples alone`, ...fromSamples },
  ];
}

/** A minute of 100,000 GPUs: four looks. */
async function oneMinute(stores, gpus) {
  const cards = fleet(gpus);
  const times = [];
  for (let n = 0; n < 4; n += 1) {
    const samples = look(cards, START + n * LOOK);
    const [cpu, began] = [process.cpuUsage(), performance.now()];
    for (let from = 0; from < samples.length; from += 20_000) await save(stores, samples.slice(from, from + 20_000));
    const { user, system } = process.cpuUsage(cpu);
    times.push([seconds(began), (user + system) / 1e6]);
  }
  await stores.db.query('truncate sample_recent');
  const sum = (at) => times.reduce((total, time) => total + time[at], 0);
  return { name: `samples/a minute of ${gpus} GPUs, four looks`, seconds: sum(0), workerCpuSeconds: sum(1) };
}

export function run({ rows = 20_000, log }) {
  return withBursar(async ({ stores }) => [
    await wide(stores, 2000, 30, log),
    await packed(stores, 2000, LOOK, log),
    await packed(stores, rows, MINUTE, log),
    await oneMinute(stores, 100_000),
    ...(await view(stores, Math.ceil(rows / 80), log)),
  ]);
}
