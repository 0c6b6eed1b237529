/** `serve` as processes of their own, in a role, on a benchmark's database. */
import { spawn } from 'node:child_process';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');

/**
 * Starts `serve --role ROLE`. An API is ready when it says so, and names its address and, on the first start on a
 * database, the admin key; a worker when it says that it works.
 */
export async function startProcess(databaseUrl, role, environment = {}) {
  const child = spawn(
    process.execPath,
    [
      '--max-semi-space-size=64',
      '--no-allocation-site-pretenuring',
      // Of one case: BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=DIR" profiles it.
      ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? []),
      path.join(ROOT, 'dist/src/main.js'),
      'serve',
      '--role',
      role,
    ],
    { env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, PORT: '0', ...environment }, stdio: 'pipe' },
  );
  let all = '';
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const ready = role === 'worker' ? /Bursar works/ : /is ready: (\S+)/;
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        all = (all + chunk).slice(-20_000);
        if (ready.test(all)) resolve();
      });
    ended.then(() => reject(new Error(`serve --role ${role} ended: ${all}`)));
  });
  const end = (signal) => {
    child.kill(signal);
    return ended;
  };
  return {
    pid: child.pid,
    url: /is ready: (\S+)/.exec(all)?.[1] ?? null,
    key: /bursar_\S+/.exec(all)?.[0] ?? null,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

export const quantile = (list, q, digits = 1) => {
  const sorted = [...list].sort((a, b) => a - b);
  return Number(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]?.toFixed(digits) ?? 'NaN');
};
