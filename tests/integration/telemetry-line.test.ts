/**
 * Evidence on the line and at the doors: samples by minute, teams and workloads, findings, what a lost card leads to
 * and how soon, silence, late lines, pushed samples, and what is forgotten. The sources are scripts and the clock is
 * set by hand.
 */
import { SchedulerRegistry } from '@nestjs/schedule';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/core/errors.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { GpuSample, TelemetryConnection, TelemetryReading } from '../../src/core/ports.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { makeLine } from '../../src/pipeline/line.js';
import type { LineQueue } from '../../src/pipeline/queue.js';
import { Runner } from '../../src/pipeline/runner.js';
import { Tick } from '../../src/pipeline/tick.js';
import { policy as shift } from '../../src/policies/spot-shift.js';
import { enqueue, type DuePartition } from '../../src/store/work.js';
import { testBursar } from '../support/bursar.js';
import { NOWHERE } from '../support/records.js';
import { readSamplesOf } from '../support/samples.js';
import { NOW as API_NOW, testApi } from '../support/web.js';
import { gpuSample, workloadFacts } from '../support/makers.js';

const START = Date.UTC(2026, 10, 21, 8);

const sample = (gpu: string, at: number, over: Partial<GpuSample> = {}): GpuSample =>
  gpuSample({
    resource: 'host-1',
    gpu,
    at,
    exporter: 'dcgm/host-1',
    gpuUtilisationRatio: 0.5,
    memoryUsedRatio: 0.5,
    temperatureCelsius: 50,
    labels: { workload: 'train' },
    ...over,
  });

describe('a source that is read', async () => {
  const bursar = await testBursar({ now: START });
  const { db, stores, clock } = bursar;
  /** What the source gives for the present look; a failure is thrown. */
  let script: (from: number, to: number) => readonly TelemetryReading[] | Failure = () => [];
  const asked: [number, number][] = [];
  const connection: TelemetryConnection = {
    name: 'script',
    async *read(from, to) {
      asked.push([from, to]);
      const given = script(from, to);
      if (given instanceof Failure) throw given;
      yield* given;
    },
  };
  const runner = new Runner(db, stores.work, clock, makeLine(stores, [shift as Policy], [connection]));
  const reading = (samples: readonly GpuSample[], over: Partial<TelemetryReading> = {}): TelemetryReading => ({
    at: clock.now(),
    samples,
    coverage: 1,
    problems: [],
    exportersUp: ['dcgm/host-1'],
    ...over,
  });
  /** The clock goes on, and the line does what is due by then. */
  const after = async (ms: number, next: typeof script): Promise<void> => {
    clock.at += ms;
    script = next;
    await runner.drain();
  };
  const rows = async () =>
    (await readSamplesOf(db)).map(({ gpu, at, gpuUtilisationRatio: util, team, workload, workloadKind }) => ({
      gpu,
      at,
      util,
      team,
      workload,
      workloadKind,
    }));
  const findings = async (status: 'open' | 'cleared' = 'open'): Promise<string[]> =>
    (await stores.healthFindings.list(db, 'default', { status, teams: null }, null, 50))
      .map((one) => `${one.rule} ${one.gpu}${one.clearedBecause === null ? '' : ` ${one.clearedBecause}`}`)
      .sort();
  const proposals = async () => stores.recommendations.list('default', { team: 'lab', status: 'open' }, null, 10);

  beforeAll(async () => {
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'workload', value: 'train' } }, team: 'lab' }],
        'test',
      );
      await stores.policies.save(
        tx,
        'default',
        { name: 'shift', policy: 'spot-shift', teams: ['lab'], mode: 'recommend', params: {}, priority: 0 },
        'test',
        START,
      );
      await stores.workloads.save(tx, 'default', 'lab', workloadFacts({ gpusPerReplica: 2 }), START);
    });
    await enqueue(db, 'default', [{ stage: 'sample.collect', partition: 'script', key: 'script' }]);
  });

  it('is first asked for a day, six hours at a time, and then every fifteen seconds for what is new', async () => {
    await after(0, (_, to) => [{ ...reading([sample('GPU-0', to), sample('GPU-1', to)]), at: to }]);
    expect(asked).toEqual([24, 18, 12, 6].map((hours) => [START - hours * HOUR_MS, START - (hours - 6) * HOUR_MS]));
    await after(14_000, () => []);
    expect(asked).toHaveLength(4);
    await after(1000, () => [reading([sample('GPU-0', clock.now()), sample('GPU-1', clock.now())])]);
    expect(asked.at(-1)).toEqual([START, START + 15_000]);
  });

  it('gives a row per GPU and minute, with team, workload and kind; the newest look of a minute stays, and again changes nothing', async () => {
    expect((await rows()).filter(({ at }) => at.getTime() === START)).toMatchObject([
      { gpu: 'GPU-0', team: 'lab', workload: 'train', workloadKind: 'training' },
      { gpu: 'GPU-1' },
    ]);
    const look = [
      sample('GPU-0', START + 29_000, { gpuUtilisationRatio: 0.25 }),
      sample('GPU-0', START + 30_000, { gpuUtilisationRatio: 0.75 }),
      sample('GPU-1', START + 30_000),
    ];
    await after(15_000, () => [reading(look)]);
    const before = await rows();
    expect(before.filter(({ at }) => at.getTime() === START).map(({ gpu, util }) => [gpu, util])).toEqual([
      ['GPU-0', 0.75],
      ['GPU-1', 0.5],
    ]);
    await after(15_000, () => [
      reading([...look, sample('GPU-0', START + 1000, { gpuUtilisationRatio: 0 })], { at: START + 45_000 }),
    ]);
    expect(await rows()).toEqual(before);
  });

  it('fills the metrics of a workload, where every card was measured', async () => {
    const view = await stores.views.view(
      db,
      'default',
      'lab',
      'USD',
      START + MINUTE_MS,
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    const measured = view.workloads[0]?.metrics['gpu_utilisation_ratio'];
    expect([measured?.values.at(-1), measured?.measuredGpus?.at(-1)]).toEqual([0.625, 2]);
    await after(30_000, () => [
      reading([sample('GPU-0', clock.now()), sample('GPU-1', clock.now(), { gpuUtilisationRatio: null })]),
    ]);
    const metrics = await db.query<{ name: string; at: Date }>(`select name, at from workload_metric where at > $1`, [
      new Date(START),
    ]);
    expect(metrics).toEqual([{ name: 'memory_used_ratio', at: new Date(START + MINUTE_MS) }]);
  });

  it('shows a resource as busy as its busiest card, and as unknown where a card was blank or is not there', async () => {
    const view = await stores.views.view(
      db,
      'default',
      'lab',
      'USD',
      clock.now(),
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    expect(view.resources).toMatchObject([{ resource: 'host-1', workload: 'training', gpus: 2 }]);
    expect(view.resources[0]?.readings.slice(-2)).toMatchObject([
      { at: START, gpuUtilisationRatio: 0.75 },
      { at: START + MINUTE_MS, gpuUtilisationRatio: null, memoryUsedRatio: 0.5 },
    ]);
  });

  it('leads from a card that is gone to its replacement within two looks, and takes it back when the card is there again', async () => {
    await after(15_000, () => [reading([sample('GPU-0', clock.now()), sample('GPU-1', clock.now())])]);
    const seen = clock.now();
    expect(await proposals()).toEqual([]);
    await after(15_000, () => [reading([sample('GPU-0', clock.now())])]);
    expect(await findings()).toEqual(['gone GPU-1']);
    const [proposal] = await proposals();
    expect(proposal).toMatchObject({
      action: 'Replace',
      target: 'host-1',
      policy: 'spot-shift',
      change: { group: 'train' },
      evidence: [{ ageSeconds: 0 }],
    });
    expect(Date.parse(proposal!.madeAt) - seen).toBeLessThanOrEqual(30_000);
    const view = await stores.views.view(
      db,
      'default',
      'lab',
      'USD',
      clock.now(),
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    expect([view.resources[0]?.health, view.workloads[0]?.health]).toMatchObject([
      [{ rule: 'gone' }],
      [{ rule: 'gone', gpu: 'GPU-1' }],
    ]);
    expect(view.resources[0]?.readings.at(-1)).toMatchObject({ gpuUtilisationRatio: 0.5 });
    // In the next minute the one that is left does not stand for the two.
    await after(MINUTE_MS, () => [reading([sample('GPU-0', clock.now())])]);
    expect(
      (
        await stores.views.view(
          db,
          'default',
          'lab',
          'USD',
          clock.now(),
          await stores.prices.book(db, 'default'),
          await stores.organisations.peak(db, 'default'),
        )
      ).resources[0]?.readings.at(-1),
    ).toMatchObject({ gpuUtilisationRatio: null });
    await after(15_000, () => [reading([sample('GPU-0', clock.now()), sample('GPU-1', clock.now())])]);
    expect([await findings(), await findings('cleared'), await proposals()]).toEqual([[], ['gone GPU-1 evidence'], []]);
  });

  it('is never taken for lost cards where it is silent: it fails, its exporter is down, or it has nothing new', async () => {
    const readTo = (await stores.samples.state(db, 'default', 'script'))?.readTo;
    await after(15_000, () => new Failure('unavailable', 'no answer'));
    expect(await stores.samples.state(db, 'default', 'script')).toMatchObject({
      readTo,
      problems: ['no answer'],
      coverage: null,
    });
    await after(15_000, () => [reading([], { exportersUp: [], coverage: 0 })]);
    await after(15_000, () => []);
    expect(await findings()).toEqual([]);
    expect(await proposals()).toEqual([]);
    expect(await stores.work.parked('default')).toEqual([]);
  });

  it('that lags behind the clock is asked again from where its evidence ends', async () => {
    const from = (await stores.samples.state(db, 'default', 'script'))!.readTo;
    await after(15_000, () => [{ ...reading([]), at: from }]);
    expect((await stores.samples.state(db, 'default', 'script'))?.readTo).toBe(from);
    await after(15_000, () => [{ ...reading([]), at: from }]);
    expect(asked.at(-1)?.[0]).toBe(from);
  });

  it('is left to a process that has its settings by one that has not', async () => {
    clock.at += 15_000;
    const before = asked.length;
    await new Runner(db, stores.work, clock, makeLine(stores, [])).drain();
    expect(asked).toHaveLength(before);
    await after(MINUTE_MS, () => []);
    expect(asked).toHaveLength(before + 1);
  });

  it('is kept as long as the setting says, and findings with it', async () => {
    await db.transaction((tx) => stores.organisations.saveSetting(tx, 'default', 'sample-retention-days', 20));
    const count = async (): Promise<number> => (await rows()).length;
    const before = await count();
    await stores.samples.save(
      db,
      'default',
      'script',
      [21, 19].map((days) => ({
        ...sample('GPU-0', clock.now() - days * DAY_MS),
        team: 'lab',
        workload: null,
        ...NOWHERE,
        workloadKind: null,
        isPartitioned: false,
      })),
    );
    expect(await count()).toBe(before + 2);
    await after(HOUR_MS, () => []);
    expect(await count()).toBe(before + 1);
  });
});

describe('urgent work', async () => {
  const { db, stores, clock } = await testBursar({ now: START });

  it('does not wait for the pause of its partition, other work does', async () => {
    const handed: DuePartition[] = [];
    const queue = {
      whenDone: () => undefined,
      handOut: async (partitions: readonly DuePartition[]) =>
        void handed.push(...partitions.filter(({ stage }) => stage === 'recommendation.make')),
    } as unknown as LineQueue;
    const tick = new Tick(
      stores,
      queue,
      clock,
      3600,
      new SchedulerRegistry(),
      (error) => expect.unreachable(error.message),
      [{ organisation: 'default', workItems: [{ stage: 'sample.collect', partition: 'p', key: 'p' }] }],
    );
    const workItem = { stage: 'recommendation.make', partition: 'lab', key: 'lab' };
    const handedOut = async (count: number): Promise<void> => {
      while (handed.length < count) await pause(20);
    };
    await tick.onApplicationBootstrap();
    try {
      await enqueue(db, 'default', [workItem]);
      await handedOut(1);
      await enqueue(db, 'default', [workItem]);
      await pause(1300);
      expect(handed).toHaveLength(1);
      // The partition rests for a minute, which is longer than this test may take.
      await enqueue(db, 'default', [{ ...workItem, urgent: true }]);
      await handedOut(2);
      expect(handed.map(({ urgent }) => urgent)).toEqual([false, true]);
    } finally {
      await tick.onApplicationShutdown();
    }
    expect(await db.query(`select done < wanted as due from work where stage = 'sample.collect'`)).toEqual([
      { due: true },
    ]);
    const runner = new Runner(db, stores.work, clock, makeLine(stores, []));
    await runner.drain();
    expect(await db.query(`select urgent from work where stage = 'recommendation.make'`)).toEqual([{ urgent: false }]);
  }, 20_000);
});

describe('pushed samples', async () => {
  const api = await testApi();
  const at = new Date(API_NOW - 30_000).toISOString();
  const push = (body: unknown, call = {}) =>
    api.call<Record<string, unknown>>('POST', '/v1/samples', { body, ...call });
  const card = {
    resource: 'i-1',
    gpu: 'GPU-0',
    at,
    gpuModel: 'NVIDIA H100 80GB HBM3',
    temperatureCelsius: 91,
    gpuUtilisationRatio: 0.4,
    labels: { squad: 'lab' },
  };
  beforeAll(() =>
    api.stores.db.transaction((tx) =>
      api.stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { tag: { key: 'squad', value: 'lab' } }, team: 'lab' }],
        'test',
      ),
    ),
  );

  it('are taken whole, the same again changes nothing, and the line finds what they say', async () => {
    expect(
      await push({
        source: 'cron',
        samples: [card, { ...card, gpu: 'GPU-1', temperatureCelsius: null, at: (API_NOW - 30_000) / 1000 }],
      }),
    ).toMatchObject({ status: 200, body: { accepted: 2, teams: ['lab'] } });
    expect((await push({ source: 'cron', samples: [card] })).body).toEqual({ accepted: 1, teams: ['lab'] });
    const kept = await readSamplesOf(api.stores.db);
    expect(
      kept.map(({ gpu, gpuModel, temperatureCelsius, seenAt }) => [gpu, gpuModel, temperatureCelsius, seenAt]),
    ).toEqual([
      ['GPU-0', 'H100', 91, new Date(at)],
      ['GPU-1', 'H100', null, new Date(at)],
    ]);
    await new Runner(api.stores.db, api.stores.work, { now: () => API_NOW }, makeLine(api.stores, [])).drain();
    const { body } = await api.call<{ items: Record<string, unknown>[] }>('GET', '/v1/health-findings?status=open');
    expect(body.items).toMatchObject([
      {
        rule: 'hot',
        team: 'lab',
        resource: 'i-1',
        gpu: 'GPU-0',
        source: 'cron',
        severity: 'warning',
        numbers: { temperatureCelsius: 91, fromCelsius: 85 },
        clearedAt: null,
        evidence: { ageSeconds: 30 },
      },
    ]);
  });

  it('are refused with every problem, and then nothing of them is kept', async () => {
    const { status, body } = await push({
      samples: [
        { ...card, gpu: 'GPU-9' },
        { ...card, gpuUtilisationRatio: 40, at: 'noon' },
        { resource: '', gpu: 'g', at, powerWatts: -1, watts: 3 },
      ],
    });
    expect(status).toBe(400);
    const named = JSON.stringify(body);
    for (const problem of ['1.*gpuUtilisationRatio', '1.*at', '2.*resource', '2.*powerWatts', 'watts'])
      expect(named).toMatch(new RegExp(problem));
    const ahead = await push({
      samples: [
        { ...card, gpu: 'GPU-9' },
        { ...card, at: API_NOW / 1000 + 300 },
      ],
    });
    expect(ahead).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'samples/1/at', message: 'lies in the future' }] },
    });
    const days = Array.from({ length: 40 }, (_, n) => ({ ...card, gpu: 'GPU-9', at: API_NOW / 1000 - n * 86_400 }));
    expect(await push({ samples: [...days, { ...card, at: API_NOW / 1000 - 91 * 86_400 }] })).toMatchObject({
      status: 400,
      body: {
        problems: [
          { path: 'samples/40/at', message: 'is older than samples are kept (90 days)' },
          { path: 'samples', message: 'are of more than 31 days: send them in several parts' },
        ],
      },
    });
    expect((await readSamplesOf(api.stores.db)).filter(({ gpu }) => gpu === 'GPU-9')).toEqual([]);
  });

  it('need a key of all teams that may write; findings are shown to their team alone', async () => {
    const [viewer, lab, vision] = [
      await api.keyFor({ role: 'viewer' }),
      await api.keyFor({ role: 'operator', teams: ['lab'] }),
      await api.keyFor({ role: 'operator', teams: ['vision'] }),
    ];
    expect([
      (await push({ samples: [card] }, { key: viewer })).status,
      (await push({ samples: [card] }, { key: lab })).status,
      (await push({ samples: [card] }, { key: null })).status,
    ]).toEqual([403, 403, 401]);
    const seen = async (key: string, query = ''): Promise<unknown> =>
      (await api.call<{ items?: unknown[] }>('GET', `/v1/health-findings${query}`, { key })).body.items?.length;
    expect([await seen(lab), await seen(vision), await seen(lab, '?team=vision')]).toEqual([1, 0, undefined]);
  });

  it('say how long they are kept, and who is read', async () => {
    const get = async () => (await api.call('GET', '/v1/samples/retention')).body;
    expect(await get()).toEqual({ days: 90 });
    expect((await api.call('PUT', '/v1/samples/retention', { body: { days: 3 } })).status).toBe(400);
    expect((await api.call('PUT', '/v1/samples/retention', { body: { days: 30 } })).status).toBe(200);
    expect(await get()).toEqual({ days: 30 });
    await api.stores.samples.saveState(
      api.stores.db,
      'default',
      { name: 'prometheus', readTo: API_NOW, coverage: 0.5, exportersUp: ['a'], problems: ['one is partial'] },
      API_NOW,
    );
    expect((await api.call('GET', '/v1/samples/sources')).body).toEqual({
      items: [
        { name: 'prometheus', readTo: new Date(API_NOW).toISOString(), coverage: 0.5, problems: ['one is partial'] },
      ],
    });
    expect(await push({ source: 'prometheus', samples: [card] })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'source' }] },
    });
  });
});
