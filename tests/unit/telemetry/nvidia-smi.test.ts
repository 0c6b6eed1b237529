/** nvidia-smi's output as it was captured, and the words that it writes where there is no number. */
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TelemetryReading } from '../../../src/core/ports.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { readOutput, source } from '../../../src/telemetry/nvidia-smi.js';
import { cellOf } from '../../../src/telemetry/reading/smi-cells.js';
import { localInstant } from '../../../src/telemetry/reading/smi-csv.js';
import { samplesOf } from '../../../src/telemetry/reading/smi-samples.js';
import { ROOT } from '../../support/source.js';

const FIXTURES = path.join(ROOT, 'tests/fixtures');
const capture = (name: string): Promise<string> => readFile(path.join(FIXTURES, 'nvidia-smi', name), 'utf8');
const MINUTE = Date.UTC(2026, 10, 20, 18, 13);
const NOW = Date.UTC(2026, 10, 20, 18, 20);

async function readings(settings: Record<string, string>, from: number, to: number): Promise<TelemetryReading[]> {
  const connection = source.connect(settings, { now: () => NOW });
  const all: TelemetryReading[] = [];
  for await (const reading of connection?.read(from, to) ?? []) all.push(reading);
  return all;
}

describe('cells', () => {
  it.each([
    ['627.40 W', 627.4, null],
    ['100 %', 100, null],
    ['0', 0, null],
    ['143771 MiB', 143_771, null],
    ['-8 C', -8, null],
    ['[N/A]', null, null],
    ['N/A', null, null],
    ['[Not Supported]', null, null],
    ['[Requested functionality has been deprecated]', null, null],
    ['', null, null],
    ['ERR!', null, 'ERR!'],
    ['[Unknown Error]', null, 'Unknown Error'],
    ['[GPU requires reset]', null, 'GPU requires reset'],
    ['[GPU is lost]', null, 'GPU is lost'],
  ])('%s', (text, value, fault) => expect(cellOf(text)).toEqual({ value, fault }));
});

describe('captures', () => {
  it.each([
    [
      'h200__590.48.01.load.csv',
      {
        gpuModel: 'H200',
        gpuUtilisationRatio: 1,
        memoryUsedMib: 32_362,
        memoryUsedRatio: 32_362 / 143_771,
        temperatureCelsius: 52,
        powerWatts: 627.4,
        at: Date.UTC(2026, 6, 3, 22, 11, 9, 763),
      },
    ],
    [
      'l40s__595.80.load.csv',
      {
        gpuModel: 'L40S',
        gpuUtilisationRatio: 0.09,
        memoryUsedMib: 1235,
        memoryUsedRatio: 1235 / 46_068,
        temperatureCelsius: 54,
        powerWatts: 110.23,
        at: Date.UTC(2026, 6, 3, 8, 33, 53, 415),
      },
    ],
    // In MIG mode utilization.gpu is [N/A]: unknown, not 0.
    [
      'h100-mig__590.48.01.load.csv',
      {
        gpuModel: 'H100',
        gpuUtilisationRatio: null,
        memoryUsedMib: 11_125,
        memoryUsedRatio: 11_125 / 81_559,
        temperatureCelsius: 53,
        powerWatts: 433.78,
        at: Date.UTC(2026, 6, 14, 9, 0, 44, 579),
      },
    ],
  ])('%s', async (name, expected) => {
    const { rows, problems } = readOutput(await capture(name), 'UTC');
    expect(problems).toEqual([]);
    expect(samplesOf(rows, 'machine-1', 0)).toMatchObject([
      {
        resource: 'machine-1',
        exporter: 'machine-1',
        gpu: 'GPU-00000000-0000-0000-0000-000000000000',
        migInstance: null,
        pcieReplays: null,
        fault: null,
        ...expected,
      },
    ]);
  });

  it('-q with MIG devices: the card and its four instances', async () => {
    const { rows, problems } = readOutput(await capture('h100-mig__590.48.01.load.q.txt'), 'UTC');
    expect(problems).toEqual([]);
    const samples = samplesOf(rows, 'machine-1', 0);
    const at = Date.UTC(2026, 6, 14, 9, 0, 44);
    expect(samples).toMatchObject([
      {
        migInstance: null,
        gpuModel: 'H100',
        memoryUsedMib: 11_125,
        memoryUsedRatio: 11_125 / 81_559,
        temperatureCelsius: 53,
        powerWatts: 432.21,
        pcieReplays: 9,
        gpuUtilisationRatio: null,
        at,
      },
      {
        migInstance: '2',
        memoryUsedMib: 11_091,
        memoryUsedRatio: 11_091 / 40_448,
        temperatureCelsius: 53,
        powerWatts: null,
        pcieReplays: 9,
        gpuUtilisationRatio: null,
        at,
      },
      { migInstance: '3', memoryUsedMib: 17, memoryUsedRatio: 17 / 20_096, at },
      { migInstance: '9', memoryUsedMib: 9, at },
      { migInstance: '10', memoryUsedMib: 9, at },
    ]);
  });

  it('one sample a minute of a log of every second: the mean of its use, the worst of its heat', async () => {
    const all = await readings(
      { BURSAR_NVIDIA_SMI_PATH: path.join(FIXTURES, 'h200-telemetry/nvidia-smi.csv') },
      MINUTE,
      MINUTE + MINUTE_MS - 1,
    );
    expect(all).toHaveLength(1);
    // Sums of the file's 60 lines of 18:13.
    expect(all[0]).toMatchObject({ at: MINUTE + 59_706, coverage: 1, problems: [], exportersUp: ['nvidia-smi'] });
    const [sample] = all[0]!.samples;
    expect(sample).toMatchObject({
      resource: 'nvidia-smi',
      gpu: 'nvidia-smi/0',
      gpuModel: 'H200',
      temperatureCelsius: 52,
      memoryUsedMib: 14_769,
      at: MINUTE + 59_706,
    });
    expect(sample?.gpuUtilisationRatio).toBeCloseTo(1933 / 6000, 12);
    expect(sample?.powerWatts).toBeCloseTo(227.314, 3);
  });
});

describe('-q -x', () => {
  // Hand-written after the elements that nvidia-smi's own DTD (nvsmi_device_v12.dtd) declares: no capture of the XML is
  // at hand.
  const xml = (body: string): string =>
    `<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n<timestamp>Tue Jul 14 09:00:44 2026</timestamp>\n${body}\n</nvidia_smi_log>\n`;
  const gpu = `<gpu id="00000000:00:09.0"><product_name>NVIDIA A100 &amp; more 80GB</product_name><uuid>GPU-1</uuid><fan_speed/>
    <mig_devices><mig_device><index>0</index><gpu_instance_id>7</gpu_instance_id><fb_memory_usage><total>9856 MiB</total><used>100 MiB</used></fb_memory_usage></mig_device></mig_devices>
    <pci><replay_counter>4</replay_counter></pci><fb_memory_usage><total>81920 MiB</total><used>8192 MiB</used></fb_memory_usage>
    <utilization><gpu_util>37 %</gpu_util></utilization><temperature><gpu_temp>ERR!</gpu_temp></temperature><gpu_power_readings><power_draw>101.5 W</power_draw></gpu_power_readings></gpu>`;

  it('gives the same samples as the text', () => {
    const { rows, problems } = readOutput(xml(gpu), 'UTC');
    expect(problems).toEqual([]);
    expect(samplesOf(rows, 'm', 0)).toMatchObject([
      {
        gpu: 'GPU-1',
        migInstance: null,
        gpuModel: 'A100-80GB',
        gpuUtilisationRatio: 0.37,
        memoryUsedRatio: 0.1,
        pcieReplays: 4,
        powerWatts: 101.5,
        temperatureCelsius: null,
        fault: 'ERR!',
        at: Date.UTC(2026, 6, 14, 9, 0, 44),
      },
      { gpu: 'GPU-1', migInstance: '7', gpuUtilisationRatio: null, memoryUsedMib: 100, pcieReplays: 4 },
    ]);
  });

  it('says of output that was cut short that it is not whole', () => {
    expect(readOutput(xml(gpu.slice(0, -6)), 'UTC')).toEqual({ rows: [], problems: ['an answer is not whole XML'] });
  });
});

describe('clocks', () => {
  it("are the machines' own, in the zone that a setting says, also where a zone turns its clocks", () => {
    expect(localInstant('2026/11/20 18:11:53.661', 'Asia/Shanghai')).toBe(Date.UTC(2026, 10, 20, 10, 11, 53, 661));
    expect(localInstant('2026/03/29 01:59:59.000', 'Europe/Berlin')).toBe(Date.UTC(2026, 2, 29, 0, 59, 59));
    expect(localInstant('2026/03/29 03:00:00.000', 'Europe/Berlin')).toBe(Date.UTC(2026, 2, 29, 1));
    expect(localInstant('yesterday', 'UTC')).toBeNull();
  });
});

describe('a folder and an address', () => {
  let folder = '';
  beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), 'bursar-smi-'))));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const csv = (...lines: string[]): string =>
    [
      'timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], memory.total [MiB], gpu_recovery_action',
      ...lines,
      '',
    ].join('\n');

  it('read what is new of every machine, say who is silent and what cannot be read', async () => {
    await writeFile(
      path.join(folder, 'a.csv'),
      csv(
        '2026/11/20 18:13:01.000, 0, GPU-a0, 10, 1, 100, None',
        '2026/11/20 18:13:02.000, 1, GPU-a1, [N/A], 1, 100, Reset',
        '2026/11/20 18:13:02.000, 1',
      ),
    );
    await writeFile(
      path.join(folder, 'b.csv'),
      csv(
        '2026/11/20 18:13:30.000, 0, GPU-b0, 30, 1, 100, None',
        '2026/11/20 18:14:30.000, 0, GPU-b0, 50, 1, 100, None',
      ),
    );
    await writeFile(path.join(folder, 'c.txt'), 'command not found');
    await writeFile(path.join(folder, 'd.csv'), csv('2026/11/20 10:00:00.000, 0, GPU-d0, 0, 1, 100, None'));
    await writeFile(path.join(folder, 'notes.md'), 'nothing of a machine');
    await utimes(path.join(folder, 'd.csv'), new Date(NOW - 8 * HOUR_MS), new Date(NOW - 8 * HOUR_MS));
    const problems = [
      'a: 1 line(s) have another number of cells than the header',
      'c: is neither CSV with a header nor the output of nvidia-smi -q',
    ];
    const all = await readings({ BURSAR_NVIDIA_SMI_PATH: folder }, MINUTE, MINUTE + 2 * MINUTE_MS);
    expect(
      all.map(({ samples, ...rest }) => ({
        ...rest,
        gpus: samples.map(({ gpu, gpuUtilisationRatio, fault }) => [gpu, gpuUtilisationRatio, fault]),
      })),
    ).toEqual([
      {
        at: MINUTE + 30_000,
        coverage: 0.5,
        problems,
        exportersUp: ['a', 'b'],
        gpus: [
          ['GPU-a0', 0.1, null],
          ['GPU-a1', null, 'recovery action Reset'],
          ['GPU-b0', 0.3, null],
        ],
      },
      { at: MINUTE + 90_000, coverage: 0.25, problems, exportersUp: ['b'], gpus: [['GPU-b0', 0.5, null]] },
    ]);
    // Nothing new: one empty reading where the last one ended, so that late lines are still read.
    expect(await readings({ BURSAR_NVIDIA_SMI_PATH: folder }, NOW, NOW + 1000)).toMatchObject([
      { at: NOW, samples: [], coverage: 0 },
    ]);
  });

  it("says that a machine's clock is ahead", async () => {
    const file = path.join(folder, 'ahead.csv');
    await writeFile(file, csv('2026/11/21 02:13:01.000, 0, GPU-a0, 10, 1, 100, None'));
    const [reading] = await readings({ BURSAR_NVIDIA_SMI_PATH: file }, MINUTE, NOW);
    expect(reading).toMatchObject({
      samples: [],
      problems: ['ahead: its clock is ahead: BURSAR_NVIDIA_SMI_ZONE may be wrong'],
    });
    expect(
      await readings({ BURSAR_NVIDIA_SMI_PATH: file, BURSAR_NVIDIA_SMI_ZONE: 'Asia/Shanghai' }, MINUTE, NOW),
    ).toMatchObject([{ samples: [{ at: Date.UTC(2026, 10, 20, 18, 13, 1) }] }]);
  });

  it('fetches what an agent keeps at an address, with its token', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.headers.authorization === 'Bearer t0k3n' ? 200 : 401;
      response.end(csv('2026/11/20 18:13:01.000, 0, GPU-a0, 10, 1, 100, None'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/smi`;
    try {
      expect(
        await readings({ BURSAR_NVIDIA_SMI_URL: url, BURSAR_NVIDIA_SMI_TOKEN: 't0k3n' }, MINUTE, NOW),
      ).toMatchObject([{ samples: [{ resource: '127.0.0.1', gpuUtilisationRatio: 0.1 }] }]);
      await expect(readings({ BURSAR_NVIDIA_SMI_URL: url }, MINUTE, NOW)).rejects.toMatchObject({
        kind: 'denied',
        message: expect.stringContaining('BURSAR_NVIDIA_SMI_TOKEN') as string,
      });
    } finally {
      server.close();
    }
    await expect(readings({ BURSAR_NVIDIA_SMI_URL: url }, MINUTE, NOW)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(readings({ BURSAR_NVIDIA_SMI_PATH: path.join(folder, 'nowhere') }, MINUTE, NOW)).rejects.toMatchObject(
      { kind: 'unavailable' },
    );
  });
});

describe('settings', () => {
  it('that are all absent mean that it is not used', () => expect(source.connect({}, { now: () => NOW })).toBeNull());
  it('that are wrong are all named, without a value', () => {
    const settings = {
      BURSAR_NVIDIA_SMI_URL: 'ftp://secret',
      BURSAR_NVIDIA_SMI_PATH: '/secret',
      BURSAR_NVIDIA_SMI_ZONE: 'Moon/secret',
    };
    try {
      source.connect(settings, { now: () => NOW });
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        kind: 'invalid',
        problems: [
          { path: 'BURSAR_NVIDIA_SMI_URL' },
          { path: 'BURSAR_NVIDIA_SMI_ZONE' },
          { path: 'BURSAR_NVIDIA_SMI_PATH' },
        ],
      });
      expect((error as Error).message).not.toContain('secret');
    }
  });
});
