/**
 * bursar backtest ... --plot: a picture of every problem, and what is refused before any work is done; how far long
 * work is.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Resvg } from '@resvg/resvg-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, type CliContext } from '../../src/cli/program.js';
import { unavailable } from '../../src/core/errors.js';
import { plotter } from '../../src/rendering/plotter.js';
import { decodePng } from '../support/png.js';

let folder = '';
const file = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'bursar-plot-'));
  const start = Date.UTC(2026, 9, 5);
  const lines = (name: string, header: string, rows: readonly string[]): Promise<void> =>
    writeFile(file(name), `${header}\n${rows.join('\n')}\n`);
  await lines(
    'demand.csv',
    'tenant,hour,gpus',
    Array.from({ length: 48 }, (_, hour) => `a,${hour},${hour % 4 === 0 ? 2 : 1}`),
  );
  await lines(
    'arrivals.csv',
    'at',
    Array.from({ length: 3000 }, (_, n) => String(start + n * 4000 + (n % 7) * 300)),
  );
  await lines(
    'samples.csv',
    'resource,timestamp,gpu_util_percent',
    Array.from(
      { length: 240 },
      (_, minute) => `vm-1,${new Date(start + minute * 60_000).toISOString()},${minute % 80 < 40 ? 90 : 0}`,
    ),
  );
  await writeFile(
    file('a.jsonl'),
    `${JSON.stringify({ available: Array.from({ length: 60 }, (_, at) => (at % 5 === 0 ? '0' : '1')).join(''), gap_seconds: 600 })}\n`,
  );
  await writeFile(
    file('zone.jsonl'),
    `${JSON.stringify({ zone: 'a', region: 'a', cloud: 'aws', available: '1110'.repeat(15), gap_seconds: 600, spot_price: [[0, 1]], on_demand_price: 3, egress_usd_per_gb: { a: 0 } })}\n`,
  );
  await writeFile(
    file('throughput.jsonl'),
    `${Array.from({ length: 14 }, (_, n) => JSON.stringify({ model: 'net', gpu: 'H200', gpu_count: 1, batch: 2 ** (n % 7), samples_per_s: ((900 * 2 ** (n % 7)) / (2 ** (n % 7) + 8)) * (n < 7 ? 1 : 1.6), precision: n < 7 ? 'fp32' : 'bf16' })).join('\n')}\n`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function bursar(
  argv: readonly string[],
  over: Partial<CliContext> = {},
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const code = await run(['backtest', ...argv], {
    environment: {},
    clock: { now: () => 0 },
    remote: null,
    plotter,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    connect: async () => {
      throw unavailable('there is no database here');
    },
    serve: async () => undefined,
    ...over,
  });
  return { code, out, err };
}

const PROBLEMS: Readonly<Record<string, () => string[]>> = {
  spot: () => ['--traces', file('a.jsonl'), '--job-hours', '4', '--deadline-hours', '6', '8'],
  'spot-regions': () =>
    `--traces ${file('zone.jsonl')} --job-hours 4 --deadline-hours 6 --restart-hours 0.1 --checkpoint-gb 10`.split(' '),
  'spot-serving': () => `--traces ${file('zone.jsonl')} --replicas 1 --objective 0.9 --window-hours 6`.split(' '),
  commitment: () => ['--demand', file('demand.csv'), '--term-hours', '24'],
  scaling: () => ['--arrivals', file('arrivals.csv')],
  idle: () => ['--samples', file('samples.csv')],
  throughput: () => ['--measurements', file('throughput.jsonl')],
};

describe.each(Object.keys(PROBLEMS))('%s', (problem) => {
  it('is drawn in both forms, and prints the same report with and without', async () => {
    const plain = await bursar([problem, ...PROBLEMS[problem]!(), '--json']);
    expect(plain).toMatchObject({ code: 0, err: '' });
    for (const name of [`${problem}.svg`, `${problem}.PNG`]) {
      const { code, out, err } = await bursar([problem, ...PROBLEMS[problem]!(), '--plot', file(name), '--json']);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(JSON.parse(out)).toEqual({ ...(JSON.parse(plain.out) as object), plot: file(name) });
    }
    const svg = await readFile(file(`${problem}.svg`), 'utf8');
    expect(svg).toContain('bursar');
    expect(() => new Resvg(svg)).not.toThrow();
    expect(decodePng(await readFile(file(`${problem}.PNG`))).width).toBe(1920);
  });
});

describe('the picture', () => {
  it('is told of in words where there is no JSON', async () => {
    const { out } = await bursar(['commitment', ...PROBLEMS['commitment']!(), '--plot', file('told.svg')]);
    expect(out).toMatch(new RegExp(`The picture is in ${file('told.svg')}\\n$`));
    expect((await bursar(['commitment', ...PROBLEMS['commitment']!()])).out).not.toContain('picture');
  });

  it('that cannot be written is refused before the work, which would have failed', async () => {
    await mkdir(file('folder.svg'));
    for (const [name, why] of [
      ['plot.pdf', 'neither a .svg nor a .png'],
      ['no/such/folder/plot.svg', 'folder of'],
      ['folder.svg', 'is a folder'],
    ] as const) {
      const { code, out, err } = await bursar(['idle', '--samples', file('absent.csv'), '--plot', file(name)]);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(why);
      expect(err).not.toContain('absent.csv');
    }
    expect(
      await bursar(['idle', '--samples', file('absent.csv'), '--plot', file('x.svg')], { plotter: undefined }),
    ).toMatchObject({ code: 1, err: expect.stringContaining('no pictures') as string });
  });
});

describe('how far it is', () => {
  it('is shown to whoever watches a terminal, and taken away at the end', async () => {
    for (const problem of Object.keys(PROBLEMS)) {
      let [shown, now] = ['', 0];
      const { code } = await bursar([problem, ...PROBLEMS[problem]!()], {
        stderr: { write: (text) => (shown += text), isTTY: true },
        clock: { now: () => (now += 1000) },
      });
      expect(code).toBe(0);
      const percents = [...shown.matchAll(/: (\d+) %/g)].map(([, percent]) => Number(percent));
      expect(percents.length, problem).toBeGreaterThan(0);
      expect(percents).toEqual([...percents].sort((a, b) => a - b));
      expect(percents.at(-1)).toBeLessThanOrEqual(100);
      expect(shown.endsWith('\r\u001b[K')).toBe(true);
    }
  });
});
