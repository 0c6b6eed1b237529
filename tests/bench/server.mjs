/**
 * One embedded PostgreSQL with the product's own settings (fsync on) for a benchmark's duration: in a temporary folder,
 * in one that is kept, or in one that was kept before.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbedded } from '../../dist/src/store/embedded/embedded.js';
import { compose } from '../../dist/src/app.module.js';
import { wallClock } from '../../dist/src/clock.js';

/**
 * @param keep an empty folder that stays, loaded; @param data a folder that was loaded before
 */
export async function withBursar(use, { keep, data, clock = wallClock } = {}) {
  const dataDir = data ?? keep ?? (await mkdtemp(path.join(tmpdir(), 'bursar-bench-')));
  if (keep !== undefined) {
    await mkdir(keep, { recursive: true });
    if ((await readdir(keep)).length > 0) throw new Error(`${keep} is not empty: --data asks what lies there`);
  }
  const server = await startEmbedded({ dataDir, log: () => undefined });
  try {
    const bursar = await compose(server.url, clock);
    try {
      return await use(bursar, dataDir, server.url);
    } finally {
      await bursar.close();
    }
  } finally {
    await server.stop();
    if (keep === undefined && data === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** Processor seconds that a process has used; NaN where there is no /proc (proc_pid_stat(5): in hundredths). */
export function processorSeconds(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** Processor seconds of PostgreSQL: of its first process, of its children, and of those that have ended. */
export function databaseSeconds(pid) {
  let sum = processorSeconds(pid);
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const text = readFileSync(`/proc/${name}/stat`, 'utf8');
      if (text.slice(text.lastIndexOf(')') + 2).split(' ')[1] === String(pid)) sum += processorSeconds(name);
    } catch {
      // It has ended meanwhile.
    }
  }
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return sum + (Number(fields[13]) + Number(fields[14])) / 100;
}

export const seconds = (from) => (performance.now() - from) / 1000;
export const perSecond = (rows, time) => Math.round(rows / time);

/** A small seeded generator (mulberry32): the same rows in every run. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An on-demand price of a machine of eight GPUs; `nanos` for an hour of the machine. */
export const priceOf = (sku, nanos) => ({
  kind: 'price',
  price: {
    provider: 'AWS',
    sku,
    region: 'us-east-1',
    term: 'on-demand',
    upfront: 'none',
    component: 'gpu',
    gpuModel: null,
    gpus: 8,
    rate: { nanos, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' },
    effectiveFrom: 0,
    effectiveTo: null,
    incrementSeconds: 1,
    minimumSeconds: 60,
    source: 'bench',
  },
});
