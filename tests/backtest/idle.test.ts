import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idleReport } from '../../src/lab/idle/backtest.js';
import { readSamples, runIdleBacktest } from '../../src/lab/idle/run.js';
import { writeReplayedSamples } from '../../src/lab/idle/write-replay.js';

const recording = {
  telemetry: 'tests/fixtures/h200-telemetry/nvidia-smi.csv',
  phases: 'tests/fixtures/h200-telemetry/phases.json',
};
let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'idle-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('backtest idle', () => {
  it('beats every published rule by 0.05 with at most half of its false stops, and reaches 0.90 with 10 %', async () => {
    const samples = join(folder, 'replay.csv');
    expect(await writeReplayedSamples({ ...recording, out: samples, resources: 12, seed: 7 })).toBeGreaterThan(51_800);
    const report = await runIdleBacktest({ samples, restartMinutes: 10 });
    const policies = report.cells[0]!.policies;
    const bursar = policies.find(({ name }) => name === 'bursar')!;
    for (const name of ['below-30-for-30', 'zero-for-60', 'ski-rental']) {
      const rival = policies.find((policy) => policy.name === name)!;
      expect(bursar.meanShare!, name).toBeGreaterThan(rival.meanShare! + 0.05);
      expect(bursar.falseStopShare as number, name).toBeLessThanOrEqual((rival.falseStopShare as number) / 2);
    }
    expect(policies.find(({ name }) => name === 'ski-rental')).toMatchObject({ reading: 'utilisation of 0 %' });
    expect(bursar.meanShare!).toBeGreaterThan(0.9);
    expect(bursar.falseStopShare as number).toBeLessThanOrEqual(0.1);
    expect(policies.find(({ name }) => name === 'clairvoyant')!.meanShare).toBe(1);
  });

  it.each([
    ['with memory', true, 0.05],
    ['without memory', false, 0.008],
  ])(
    'names Bursar at seven risks, and what it saves at the false stops of each rule (%s)',
    async (_, hasMemory, least) => {
      const all = join(folder, 'frontier.csv');
      await writeReplayedSamples({ ...recording, out: all, resources: 12, seed: 7 });
      const { samples } = await readSamples(all);
      const shown = hasMemory
        ? samples
        : samples.map(({ evidence, useful }) => ({ evidence: { ...evidence, memoryUsedRatio: null }, useful }));
      const { policies } = idleReport(shown, 10).cells[0]!;
      const named = (name: string) => policies.find((one) => one.name === name)!;
      const frontier = [0, 5, 10, 30, 60, 120, 240].map((minutes) => named(`bursar@${minutes}`));
      expect({ ...named('bursar@60'), name: 'bursar' }).toEqual(named('bursar'));
      // Who says that a false stop costs more gets fewer stops, and never more saving.
      for (const [at, { stops, meanShare }] of frontier.slice(1).entries()) {
        expect(stops as number).toBeLessThanOrEqual(frontier[at]!.stops as number);
        expect(meanShare!).toBeLessThanOrEqual(frontier[at]!.meanShare!);
      }
      for (const name of ['below-30-for-30', 'zero-for-60', 'ski-rental', 'ski-rental-with-evidence']) {
        const { bursarAtItsFalseStops: bursar, meanShare } = named(name);
        expect(bursar as number, name).toBeGreaterThan(
          meanShare! + (name === 'ski-rental-with-evidence' ? least : 0.05),
        );
      }
      expect(named('clairvoyant')).not.toHaveProperty('bursarAtItsFalseStops');
    },
  );

  it('reads blanks and NVIDIA blanks as missing, and quoted names', async () => {
    const file = join(folder, 'blanks.csv');
    await writeFile(
      file,
      'resource,timestamp,gpu_util_percent,requests_per_second,memory_used_ratio,workload,useful\n' +
        '"node 1, gpu 0",1700000000,9223372036854775794,,0.5,,1\nb,1700000060,,0,,inference,0\nc,1700000120,[N/A],2,1.5,training,\n',
    );
    const { samples, truth } = await readSamples(file);
    expect(truth).toBe('useful column');
    expect(samples).toEqual(
      [
        {
          evidence: {
            resource: 'node 1, gpu 0',
            minute: 1700000000 / 60,
            gpuUtilPercent: null,
            requestsPerSecond: null,
            memoryUsedRatio: 0.5,
            workload: null,
          },
          useful: true,
        },
        {
          evidence: {
            resource: 'b',
            minute: 1700000060 / 60,
            gpuUtilPercent: null,
            requestsPerSecond: 0,
            memoryUsedRatio: null,
            workload: 'inference',
          },
          useful: false,
        },
        {
          evidence: {
            resource: 'c',
            minute: 1700000120 / 60,
            gpuUtilPercent: null,
            requestsPerSecond: 2,
            memoryUsedRatio: null,
            workload: 'training',
          },
          useful: null,
        },
      ].map(({ evidence, useful }) => ({
        evidence: { ...evidence, minute: expect.closeTo(evidence.minute, 6) as number },
        useful,
      })),
    );
  });

  it('gives no share where nothing was idle, and names what it cannot read', async () => {
    const busy = join(folder, 'busy.csv');
    await writeFile(
      busy,
      'resource,timestamp,gpu_util_percent\na,2026-01-01T00:00:00Z,90\na,2026-01-01T00:01:00Z,95\n',
    );
    const report = await runIdleBacktest({ samples: busy, restartMinutes: 10 });
    expect(report.settings).toMatchObject({ truth: 'activity', spells: 0 });
    expect(report.cells[0]!.policies.every(({ meanShare }) => meanShare === null)).toBe(true);
    const bad = join(folder, 'bad.csv');
    await writeFile(bad, 'resource,timestamp,gpu_util_percent\n,2026-01-01T00:00:00Z,90\na,yesterday,95\n');
    await expect(readSamples(bad)).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: `${bad}:2` }, { path: `${bad}:3` }],
    });
    await writeFile(bad, 'gpu,time\n1,2\n');
    await expect(readSamples(bad)).rejects.toMatchObject({
      problems: [
        { message: 'no column resource' },
        { message: 'no column timestamp' },
        { message: 'no column gpu_util_percent' },
      ],
    });
    await expect(readSamples(join(folder, 'none.csv'))).rejects.toMatchObject({ kind: 'missing' });
  });
});
