/**
 * The server as `npm start` starts it: whoever gets the signal, nothing of it is left. Between npm and the server stands
 * a shell, which used to end alone while the server and its database went on.
 */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { home, isGone } from '../support/processes.js';

const READY = /Bursar is ready: (\S+)/;
const ENVIRONMENT = { BURSAR_EXAMPLE: 'off' };

describe('npm start', { timeout: 180_000 }, async () => {
  const place = await home();

  it.each(['SIGTERM', 'SIGKILL'] as const)('leaves nothing behind when npm gets %s', async (signal) => {
    const serving = place.npmStart(ENVIRONMENT);
    const url = await serving.said(READY);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const database = await place.postmaster();
    const { code, err } = await serving.end(signal);
    // Of SIGTERM npm waits for the server and ends as it did.
    if (signal === 'SIGTERM') expect([code, err]).toEqual([0, expect.stringContaining('Stopping')]);
    expect(await isGone(database)).toBe(true);
    await expect(access(path.join(place.dataDir, 'serve.lock'))).rejects.toThrow('ENOENT');
  });
});
