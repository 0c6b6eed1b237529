/**
 * The command as its readers write it, `npm run --silent bursar -- ... --json`: one JSON document on standard output,
 * whatever was built before it.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const PATIENCE_MILLISECONDS = 120_000;

describe('npm run --silent bursar', { timeout: PATIENCE_MILLISECONDS }, () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-command-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('prints one JSON document and nothing else', async () => {
    const argv = [
      'backtest',
      'throughput',
      '--measurements',
      'tests/fixtures/h200-throughput/throughput.jsonl',
      '--points',
      '8',
      '--json',
    ];
    const { stdout } = await run('npm', ['run', '--silent', 'bursar', '--', ...argv], {
      cwd: ROOT,
      maxBuffer: 1 << 26,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      problem: 'throughput',
      cells: expect.arrayContaining([expect.objectContaining({ name: 'resnet50' })]) as unknown,
    });
  });

  it('says on standard error what it builds, and builds nothing twice', async () => {
    const build = () =>
      run(process.execPath, ['scripts/build-dashboard.mjs', path.join(folder, 'dashboard')], { cwd: ROOT });
    const first = await build();
    expect(first.stdout).toBe('');
    expect(first.stderr).toContain('index.html');
    const files = await readdir(path.join(folder, 'dashboard'));
    const times = async (): Promise<number[]> =>
      Promise.all(files.map(async (file) => (await stat(path.join(folder, 'dashboard', file))).mtimeMs));
    const before = await times();
    expect(await build()).toEqual({ stdout: '', stderr: '' });
    expect(await times()).toEqual(before);
  });
});
