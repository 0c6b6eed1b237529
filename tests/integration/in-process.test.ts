/** The API asked in process: who is its caller, what only it may do, and that it is as the one that listens. */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unavailable } from '../../src/core/errors.js';
import { DEFAULT_GATE } from '../../src/web/gate.js';
import { administratorOf, openInProcess, type InProcess } from '../../src/web/in-process.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { describeApi, WebModule } from '../../src/web/web.module.js';
import { ROOT } from '../support/source.js';
import { NOW, testApi } from '../support/web.js';

const FOCUS = path.join(ROOT, 'examples/data/focus-sample/focus_sample_2024-09-01_18.csv');

describe('the API in process', async () => {
  const api = await testApi();
  const rows: number[] = [];
  let inProcess: InProcess;
  let folder = '';
  const moduleOf = (over: object = {}) =>
    WebModule.register({
      stores: api.stores,
      importer: api.importer,
      clock: { now: () => NOW },
      gate: { ...DEFAULT_GATE, bodiesAtOnce: 1 },
      administrator: { principal: administratorOf('default', 'ada'), progress: (read) => rows.push(read) },
      ...over,
    });
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-in-process-'));
    inProcess = await openInProcess(moduleOf(), { logger: false });
  });
  afterAll(async () => {
    await inProcess.close();
    await rm(folder, { recursive: true, force: true });
  });
  const told = async (method: 'GET' | 'POST' | 'PUT', at: string, json?: unknown) => {
    const { status, text } = await inProcess.ask({ method, path: at, ...(json === undefined ? {} : { json }) });
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };

  it('is asked by the machine’s administrator, without a key, under the name of the user', async () => {
    expect(await told('PUT', '/v1/teams/red', { name: 'Red' })).toMatchObject({ status: 200, body: { id: 'red' } });
    expect((await told('GET', '/v1/audit?limit=1')).body).toMatchObject({
      items: [{ actor: 'cli:ada', verb: 'team.save', target: 'red' }],
    });
    expect((await told('GET', '/v1/keys')).status).toBe(200);
  });

  it('answers and refuses as the API that listens does', async () => {
    for (const at of ['/v1/teams', '/v1/budgets/none', '/v1/costs?basis=guess', '/v1/nothing']) {
      const there = await api.call('GET', at);
      const here = await told('GET', at);
      for (const body of [there.body, here.body]) delete body['requestId'];
      expect(here).toEqual({ status: there.status, body: there.body });
    }
  });

  it('never listens', async () => {
    const app = await createWebApp(moduleOf(), { logger: false });
    await expect(listen(app, { host: '127.0.0.1', port: 0 })).rejects.toThrow('listens to nobody');
    await app.close();
  });

  it('alone may be told a path of this machine: nobody who listens has the route, nor its description', async () => {
    const request = { paths: [FOCUS], format: 'auto', source: 'x', strict: false, dryRun: true, replace: false };
    expect((await api.call('POST', '/v1/local/imports', { body: request })).status).toBe(404);
    expect((await api.call('POST', '/v1/local/prices', { body: request })).status).toBe(404);
    expect(Object.keys(describeApi({}).paths).filter((at) => at.startsWith('/v1/local'))).toEqual([]);
    expect(await told('POST', '/v1/local/imports', request)).toMatchObject({
      status: 200,
      body: { files: [{ rows: 545, accepted: 545 }] },
    });
  });

  it('tells how many rows were read while it reads', () => {
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.at(-1)).toBe(545);
  });

  it('takes files one after another as streams, more than may be on their way at once, and lets go of refused ones', async () => {
    await told('PUT', '/v1/deliveries/d', { format: 'auto', source: 'default' });
    for (const no of [1, 2, 3]) {
      const file = path.join(folder, `${no}.csv`);
      await writeFile(file, `a,b\n${no},2\n`);
      const at = `/v1/deliveries/d/files?filename=${no}.csv`;
      expect((await inProcess.ask({ method: 'POST', path: at, stream: createReadStream(file) })).status).toBe(200);
      const gone = '/v1/deliveries/gone/files?filename=x.csv';
      const stream = createReadStream(FOCUS);
      expect((await inProcess.ask({ method: 'POST', path: gone, stream })).status).toBe(404);
      expect(stream.destroyed).toBe(true);
    }
    expect((await told('GET', '/v1/deliveries')).body).toMatchObject({
      deliveries: [{ name: 'd', files: [{ file: '1.csv' }, { file: '2.csv' }, { file: '3.csv' }] }],
    });
  });

  it('tells the cause of an outage, and a bug with its stack, which a caller from outside never sees', async () => {
    const failing = (error: Error) => ({
      ...api.stores,
      organisations: {
        teams: async () => {
          throw error;
        },
      },
    });
    const outage = await openInProcess(moduleOf({ stores: failing(unavailable('the disk is full')) }), {
      logger: false,
    });
    expect(await outage.ask({ method: 'GET', path: '/v1/teams' })).toMatchObject({
      status: 503,
      text: expect.stringContaining('the disk is full') as string,
    });
    await outage.close();
    const bug = await openInProcess(moduleOf({ stores: failing(new TypeError('two is three')) }), { logger: false });
    await expect(bug.ask({ method: 'GET', path: '/v1/teams' })).rejects.toThrow(/TypeError: two is three\n +at /);
    await bug.close();
  });
});
