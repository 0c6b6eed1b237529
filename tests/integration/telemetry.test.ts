/**
 * A real Prometheus scrapes exporters of ours: captured expositions, and DCGM's built from its counter list. What the
 * source reads of them, and what the line makes of it, from a broken card to the proposal that replaces it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { wallClock } from '../../src/clock.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { GpuSample, TelemetryConnection, TelemetryReading } from '../../src/core/ports.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { policy as tracking } from '../../src/policies/target-tracking.js';
import { source } from '../../src/telemetry/prometheus.js';
import { testBursar } from '../support/bursar.js';
import {
  captured,
  dcgmExposition,
  startExporter,
  startPrometheus,
  until,
  type DcgmLine,
  type Exporter,
  type PrometheusServer,
} from '../support/exporter.js';
import { describeWith } from '../support/programs.js';
import { readSamplesOf } from '../support/samples.js';
import { workloadFacts } from '../support/makers.js';

const NOT_SUPPORTED = '9223372036854775794';
type Labels = Readonly<Record<string, string>>;

const card = (id: number, more: Labels = {}): Labels => ({
  gpu: String(id),
  UUID: `GPU-${id}`,
  device: `nvidia${id}`,
  modelName: 'NVIDIA H100 80GB HBM3',
  Hostname: 'node-1',
  ...more,
});
const pod = (name: string): Labels => ({ container: 'main', namespace: 'ml', pod: name });
const lines = (labels: Labels, values: Readonly<Record<string, string>>): DcgmLine[] =>
  Object.entries(values).map(([field, value]) => ({ field: `DCGM_FI_${field}`, labels, value }));

const CHAT = card(0, pod('chat-6d4cf56db6-x7k2p'));
const chat = (over: Readonly<Record<string, string>> = {}): DcgmLine[] =>
  lines(CHAT, {
    DEV_GPU_UTIL: '90',
    PROF_GR_ENGINE_ACTIVE: '0.93',
    DEV_FB_USED: '20000',
    DEV_FB_FREE: '60000',
    DEV_GPU_TEMP: '86',
    DEV_POWER_USAGE: '412.5',
    DEV_PCIE_REPLAY_COUNTER: '40',
    DEV_XID_ERRORS: '0',
    ...over,
  });
const unused = (): DcgmLine[] =>
  lines(card(1), {
    DEV_GPU_UTIL: '0',
    DEV_FB_USED: '0',
    DEV_FB_FREE: '80000',
    DEV_GPU_TEMP: '31',
    DEV_POWER_USAGE: NOT_SUPPORTED,
    DEV_PCIE_REPLAY_COUNTER: '0',
    DEV_XID_ERRORS: '0',
  });
const slices = (): DcgmLine[] => [
  ...lines(card(2, { Hostname: 'node-2' }), { DEV_GPU_TEMP: '55', DEV_POWER_USAGE: '300' }),
  ...lines(card(2, { Hostname: 'node-2', GPU_I_PROFILE: '3g.40gb', GPU_I_ID: '1', ...pod('a') }), {
    PROF_GR_ENGINE_ACTIVE: '0.5',
    DEV_FB_USED: '10000',
    DEV_FB_FREE: '30000',
  }),
  ...lines(card(2, { Hostname: 'node-2', GPU_I_PROFILE: '1g.10gb', GPU_I_ID: '7', ...pod('b') }), {
    PROF_GR_ENGINE_ACTIVE: 'NaN',
    DEV_FB_USED: '0',
    DEV_FB_FREE: '10000',
  }),
];

describeWith('prometheus', 'Prometheus', (program) => {
  let connection: TelemetryConnection;
  let [dcgm, mig, smi]: Exporter[] = [];
  let prometheus: PrometheusServer | null = null;
  beforeAll(async () => {
    [dcgm, mig, smi] = await Promise.all([
      startExporter(dcgmExposition([...chat(), ...unused()])),
      startExporter(dcgmExposition(slices())),
      startExporter(captured('nvidia-h200__590.48.01__load.metrics.txt')),
    ]);
    const own = (name: string): Labels => ({ namespace: 'gpu-operator', pod: name });
    prometheus = await startPrometheus(program, [
      {
        job: 'dcgm',
        targets: [
          { instance: dcgm.instance, labels: own('dcgm-exporter-1') },
          { instance: mig.instance, labels: own('dcgm-exporter-2') },
        ],
      },
      { job: 'smi', targets: [{ instance: smi.instance }] },
    ]);
    connection = source.connect({ BURSAR_PROMETHEUS_URL: prometheus.url }, wallClock)!;
  });
  afterAll(async () => {
    await prometheus?.close();
    for (const exporter of [dcgm, mig, smi]) exporter?.close();
  });

  const readings = async (from: number, to: number): Promise<TelemetryReading[]> => {
    const all: TelemetryReading[] = [];
    for await (const reading of connection.read(from, to)) all.push(reading);
    return all;
  };
  /** The newest reading that is as it should be. */
  const read = (fits: (reading: TelemetryReading) => boolean): Promise<TelemetryReading> =>
    until(async () => {
      const now = wallClock.now();
      const [reading] = await readings(now - 1, now);
      return reading !== undefined && fits(reading) ? reading : null;
    });
  const of = ({ samples }: TelemetryReading, gpu: string, migInstance: string | null = null): GpuSample | undefined =>
    samples.find((one) => one.gpu === gpu && one.migInstance === migInstance);

  it('is read with units, labels, blanks and MIG instances as they are', async () => {
    const reading = await read((one) => one.samples.length === 6);
    expect(reading).toMatchObject({ coverage: 1, problems: [] });
    expect([...(reading.exportersUp ?? [])].sort()).toEqual(
      [`dcgm/${dcgm!.instance}`, `dcgm/${mig!.instance}`, `smi/${smi!.instance}`].sort(),
    );
    expect(of(reading, 'GPU-0')).toMatchObject({
      resource: 'pod/ml/chat-6d4cf56db6-x7k2p',
      namespace: 'ml',
      pod: 'chat-6d4cf56db6-x7k2p',
      gpuModel: 'H100',
      gpuUtilisationRatio: 0.93,
      memoryUsedMib: 20_000,
      memoryUsedRatio: 0.25,
      temperatureCelsius: 86,
      powerWatts: 412.5,
      pcieReplays: 40,
      fault: null,
    });
    // Nobody holds it: it is the machine's, not the exporter's pod's. Power that is not supported is unknown.
    expect(of(reading, 'GPU-1')).toMatchObject({
      resource: 'node-1',
      pod: null,
      gpuUtilisationRatio: 0,
      powerWatts: null,
    });
    expect(of(reading, 'GPU-2')).toMatchObject({
      resource: 'node-2',
      gpuUtilisationRatio: null,
      temperatureCelsius: 55,
      powerWatts: 300,
    });
    expect(of(reading, 'GPU-2', '1')).toMatchObject({
      resource: 'pod/ml/a',
      gpuUtilisationRatio: 0.5,
      memoryUsedRatio: 0.25,
      temperatureCelsius: 55,
      powerWatts: null,
      labels: { mig_profile: '3g.40gb' },
    });
    expect(of(reading, 'GPU-2', '7')).toMatchObject({
      resource: 'pod/ml/b',
      gpuUtilisationRatio: null,
      memoryUsedRatio: 0,
    });
    // The capture: 52 C, 627.4 W, 32362 of 143771 MiB, 100 %.
    expect(of(reading, '00000000-0000-0000-0000-000000000000')).toMatchObject({
      resource: '127.0.0.1',
      gpuModel: 'H200',
      gpuUtilisationRatio: 1,
      temperatureCelsius: 52,
      powerWatts: 627.4,
      memoryUsedMib: 32_362,
    });
    expect(of(reading, '00000000-0000-0000-0000-000000000000')?.memoryUsedRatio).toBeCloseTo(32_362 / 143_771, 6);
  });

  it('has nothing to say of the time before it ran, and says so minute by minute', async () => {
    const now = wallClock.now();
    const all = await readings(now - 4 * 3_600_000, now);
    expect(all.length).toBeGreaterThanOrEqual(240);
    expect(all.slice(0, 200).every(({ samples, coverage }) => samples.length === 0 && coverage === null)).toBe(true);
    expect(all.every(({ at }, n) => n === 0 || at > all[n - 1]!.at)).toBe(true);
    expect(new Set(all.map(({ at }) => Math.floor(at / 60_000))).size).toBe(all.length);
  });

  it('shows a card that is gone, a counter that was reset, and an exporter that is silent, each as what it is', async () => {
    dcgm!.serve(
      dcgmExposition(chat({ DEV_PCIE_REPLAY_COUNTER: '2', DEV_GPU_UTIL: NOT_SUPPORTED, PROF_GR_ENGINE_ACTIVE: 'NaN' })),
    );
    const gone = await read((one) => of(one, 'GPU-1') === undefined);
    expect(gone).toMatchObject({ coverage: 1 });
    expect(gone.exportersUp).toContain(`dcgm/${dcgm!.instance}`);
    expect(of(gone, 'GPU-0')).toMatchObject({ pcieReplays: 2, gpuUtilisationRatio: null, temperatureCelsius: 86 });
    smi!.serve(null);
    // Prometheus marks the series stale: there is no last value that goes on for five minutes.
    const silent = await read((one) => of(one, '00000000-0000-0000-0000-000000000000') === undefined);
    expect(silent.coverage).toBeCloseTo(2 / 3, 12);
    expect(silent.exportersUp).not.toContain(`smi/${smi!.instance}`);
  });

  it('is asked since when an exporter runs that names no card any more: one that was restarted may not have found them yet', async () => {
    await read((one) => one.exportersUp?.includes(`dcgm/${mig!.instance}`) === true && of(one, 'GPU-2') !== undefined);
    mig!.serve('process_start_time_seconds 1700000000\n');
    const bare = await read((one) => one.startedAt !== undefined);
    expect(bare.startedAt).toEqual({ [`dcgm/${mig!.instance}`]: 1_700_000_000_000 });
    expect(of(bare, 'GPU-2')).toBeUndefined();
    mig!.serve(dcgmExposition(slices()));
  });

  it('leads from a card that broke to the proposal that starts its hot spare, in one pass of the line', async () => {
    const { db, stores } = await testBursar();
    const connected = {
      ...connection,
      name: 'prometheus',
      read: (from: number, to: number) => connection.read(from, to),
    };
    const runner = new Runner(db, stores.work, wallClock, makeLine(stores, [tracking as Policy], [connected]));
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(tx, 'default', [{ match: { namespace: 'ml' }, team: 'lab' }], 'test');
      await stores.policies.save(
        tx,
        'default',
        { name: 'track', policy: 'target-tracking', teams: '*', mode: 'recommend', params: {}, priority: 0 },
        'test',
        wallClock.now(),
      );
      await stores.workloads.save(
        tx,
        'default',
        'lab',
        workloadFacts({
          workload: 'deployment/ml/chat',
          kind: 'inference',
          gpusPerReplica: 1,
          fleet: { ready: 1, booting: 0, minReplicas: 1, maxReplicas: 4, changedAt: null },
          spares: ['node-9'],
        }),
        wallClock.now(),
      );
    });
    const { enqueue } = await import('../../src/store/work.js');
    const look = async (): Promise<void> => {
      await enqueue(db, 'default', [{ stage: 'sample.collect', partition: 'prometheus', key: 'prometheus' }]);
      await runner.drain();
    };
    const open = () => stores.recommendations.list('default', { team: 'lab', status: 'open' }, null, 10);
    await look();
    expect(await open()).toEqual([]);
    const rules = async (): Promise<string[]> =>
      (await stores.healthFindings.list(db, 'default', { team: 'lab', status: 'open', teams: null }, null, 50))
        .map(({ rule, workload }) => `${rule} ${workload}`)
        .sort();
    expect(await rules()).toContain('hot deployment/ml/chat');

    dcgm!.serve(dcgmExposition(chat({ DEV_XID_ERRORS: '79' })));
    const [replace] = await until(async () => {
      await look();
      const found = await open();
      return found.length === 0 ? null : found;
    });
    // Its hot spare first; what failed is replaced when no spare is left.
    expect(replace).toMatchObject({
      action: 'Start',
      target: 'node-9',
      policy: 'target-tracking',
      change: { group: 'deployment/ml/chat', replaces: 'pod/ml/chat-6d4cf56db6-x7k2p' },
      protective: true,
      estimatedMonthlySavings: null,
    });
    expect(replace?.title).toContain('XID 79');

    dcgm!.serve(dcgmExposition(chat()));
    await until(async () => {
      await look();
      return (await open()).length === 0 ? true : null;
    });
    expect(await stores.recommendations.list('default', { team: 'lab', status: 'superseded' }, null, 10)).toMatchObject(
      [{ action: 'Start' }],
    );
  });

  it('leads from a machine that vanishes with all that is scraped on it to its hot spare, and from a restarted exporter to nothing', async () => {
    const [gpus, node, other] = await Promise.all([
      startExporter(dcgmExposition(lines(card(7, { Hostname: 'node-7', workload: 'train' }), { DEV_GPU_TEMP: '50' }))),
      startExporter('node_load1 1\n'),
      startExporter('node_load1 1\n'),
    ]);
    const own = await startPrometheus(program, [
      { job: 'dcgm', targets: [{ instance: gpus.instance }] },
      {
        job: 'node',
        targets: [
          { instance: node.instance, labels: { node: 'node-7' } },
          { instance: other.instance, labels: { node: 'node-8' } },
        ],
      },
    ]);
    try {
      const machine = source.connect({ BURSAR_PROMETHEUS_URL: own.url }, wallClock)!;
      const { db, stores } = await testBursar();
      const runner = new Runner(db, stores.work, wallClock, makeLine(stores, [tracking as Policy], [machine]));
      await db.transaction(async (tx) => {
        await stores.organisations.saveRules(
          tx,
          'default',
          [{ match: { tag: { key: 'workload', value: 'train' } }, team: 'lab' }],
          'test',
        );
        await stores.policies.save(
          tx,
          'default',
          { name: 'track', policy: 'target-tracking', teams: '*', mode: 'recommend', params: {}, priority: 0 },
          'test',
          wallClock.now(),
        );
        await stores.workloads.save(
          tx,
          'default',
          'lab',
          workloadFacts({ gpusPerReplica: 1, spares: ['node-9'] }),
          wallClock.now(),
        );
      });
      const { enqueue } = await import('../../src/store/work.js');
      const look = async () => {
        await enqueue(db, 'default', [{ stage: 'sample.collect', partition: 'prometheus', key: 'prometheus' }]);
        await runner.drain();
        return {
          state: await stores.samples.state(db, 'default', 'prometheus'),
          open: await stores.recommendations.list('default', { team: 'lab', status: 'open' }, null, 10),
        };
      };
      await until(async () =>
        (await readSamplesOf(db)).some(({ gpu }) => gpu === 'GPU-7') && (await look()).state?.exportersUp?.length === 1
          ? true
          : (await look(), null),
      );

      // Its exporter alone is away for longer than would be demanded of a machine.
      gpus.serve(null);
      const restarted = await until(async () => {
        const { state, open } = await look();
        expect(open).toEqual([]);
        return state?.silent?.[0] !== undefined && state.silent[0].failures >= 12 ? state.silent[0] : null;
      });
      expect(restarted).toMatchObject({
        exporter: `dcgm/${gpus.instance}`,
        names: ['node-7'],
        othersAnswering: 1,
        othersSilent: 0,
      });
      expect(restarted.until - restarted.since).toBeGreaterThanOrEqual(10_000);

      gpus.serve(dcgmExposition(lines(card(7, { Hostname: 'node-7', workload: 'train' }), { DEV_GPU_TEMP: '50' })));
      await until(async () => ((await look()).state?.exportersUp?.length === 1 ? true : null));

      gpus.serve(null);
      node.serve(null);
      const { state, proposal } = await until(async () => {
        const found = await look();
        const [first] = found.open;
        return first === undefined ? null : { state: found.state, proposal: first };
      });
      expect(proposal).toMatchObject({
        action: 'Start',
        target: 'node-9',
        change: { group: 'train', replaces: 'node-7' },
      });
      expect(proposal.title).toContain('its machine is silent, and the other target of its machine became silent too');
      const silence = state?.silent?.[0];
      expect(silence).toMatchObject({ othersSilent: 1, othersAnswering: 0, machinesSilent: 1, machinesAnswering: 1 });
      expect((silence?.until ?? 0) - (silence?.since ?? 0)).toBeGreaterThanOrEqual(10_000);
    } finally {
      await own.close();
      for (const exporter of [gpus, node, other]) exporter.close();
    }
  }, 120_000);
});
