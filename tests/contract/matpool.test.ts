/**
 * The Matpool provider: the two CSV forms by hand-computed cases, and the written HTTP interface over real HTTP, before
 * a gateway of this file and before one that answers as the vendor's published job API does.
 */
import type { Clock } from '../../src/core/time.js';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { costOf } from '../../src/core/money.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { PART_MS_PER_GPU_SECOND, type RecordBatch } from '../../src/core/usage.js';
import { provider } from '../../src/providers/matpool/matpool.js';
import { ROOT } from '../support/source.js';
import { describeProviderContract } from './contract.js';
import { all, failureOf, ScriptedServer, type Asked, type Scripted } from './scripted-server.js';
import { gpuPrice } from '../support/makers.js';

const folder = mkdtempSync(path.join(tmpdir(), 'bursar-matpool-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const NOW = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;
const clock: Clock = { now: () => NOW };
const SCALE: Effect = { kind: 'scale', target: 'svc/a', replicas: 6 };
const READ = 'read-token-0001';
const ACT = 'act-token-00001';
let files = 0;

function file(content: unknown): string {
  const name = path.join(folder, `file-${(files += 1)}`);
  writeFileSync(name, typeof content === 'string' ? content : JSON.stringify(content));
  return name;
}

function connect(settings: Readonly<Record<string, string>>): ProviderConnection {
  const connection = provider.connect(
    Object.fromEntries(Object.entries(settings).map(([name, value]) => [`BURSAR_MATPOOL_${name}`, value])),
    clock,
  );
  if (connection === null) throw new Error('there are settings');
  return connection;
}

async function server(answer: (asked: Asked) => Scripted): Promise<ScriptedServer> {
  const started = await ScriptedServer.start(answer);
  stops.push(() => started.stop());
  return started;
}

const page = readFileSync(path.join(ROOT, 'docs/how-to/connect-matpool.md'), 'utf8');
const examples = (kind: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text);
const [REPLICAS, JOBS] = examples('json api').map(
  (text) =>
    JSON.parse(text) as {
      baseUrl: string;
      effects: Record<string, { refused?: unknown }>;
      outcome?: unknown;
      target: { missing?: unknown };
    },
);

const usageOf = async (text: string, from: number, to: number): Promise<RecordBatch> => {
  const batches = await all(connect({ USAGE: file(text), ACCOUNT: 'acme' }).usage?.(from, to));
  return { records: batches.flatMap(({ records }) => records), rejects: batches.flatMap(({ rejects }) => rejects) };
};

describe('the price list', () => {
  it('is charged by the second and in CNY unless a row says otherwise', async () => {
    const text =
      'gpu_model,price_per_gpu_hour,effective_from,increment_seconds,currency,sku\r\nNVIDIA GeForce RTX 4090,1.98,2026-01-01T00:00:00+08:00,,,\r\n"A100, 40 GB",5.60,2026-01-01T00:00:00Z,60,USD,a100\r\n';
    const [early, late] = (await all(connect({ PRICES: file(text) }).prices?.(0))).flat();
    expect(early).toEqual({
      kind: 'price',
      price: gpuPrice({
        provider: 'Matpool',
        sku: 'NVIDIA GeForce RTX 4090',
        region: null,
        gpuModel: 'RTX4090',
        gpus: 1,
        rate: { nanos: 1_980_000_000n, currency: 'CNY', quantity: 3600n, unit: 'gpu-second' },
        effectiveFrom: Date.UTC(2025, 11, 31, 16),
        minimumSeconds: 0,
        source: 'matpool: price file',
      }),
    });
    expect(late).toMatchObject({
      price: { sku: 'a100', gpuModel: 'A100-40GB', incrementSeconds: 60, rate: { currency: 'USD' } },
    });
    expect((await all(connect({ PRICES: file(text) }).prices?.(Date.UTC(2026, 0, 1)))).flat()).toEqual([late]);
  });

  it('is refused whole, with every wrong field and its line', async () => {
    const text =
      'gpu_model,price_per_gpu_hour,effective_from,minimum_seconds\n4090,1.98,2026-01-01T00:00:00Z,\n,0,2026-01-01,-1\n"open,1,2\n';
    const failure = await failureOf(() => all(connect({ PRICES: file(text) }).prices?.(0)));
    expect(failure).toMatchObject({ kind: 'invalid' });
    expect(failure.problems.map((problem) => problem.path)).toEqual([
      'line 3/gpu_model',
      'line 3/price_per_gpu_hour',
      'line 3/effective_from',
      'line 3/minimum_seconds',
      'line 4',
    ]);
    const header = await failureOf(() => all(connect({ PRICES: file('gpu_model,price,price\n') }).prices?.(0)));
    expect(header.problems.map(({ path: column, message }) => `${column ?? ''} ${message}`)).toEqual([
      'price_per_gpu_hour the column is missing',
      'effective_from the column is missing',
      'price the column is there twice',
      'price is no column of this form',
      'price is no column of this form',
    ]);
  });
});

describe('the usage file', () => {
  const HEADER = 'resource,gpu_model,gpus,start,end,tags\n';

  it('of the documentation is read, and costs by the second what it should', async () => {
    const [prices = '', usage = ''] = examples('csv');
    const [event] = (await all(connect({ PRICES: file(prices) }).prices?.(0))).flat();
    const { records, rejects } = await usageOf(usage, Date.UTC(2026, 0, 1), NOW);
    expect(rejects).toEqual([]);
    const finished = records.filter(({ resource }) => resource === 'q5zRJv');
    // 09:00:00 to 11:20:30 in China is 01:00:00Z to 03:20:30Z: nine quarters of an hour and 5:30.
    expect(finished).toHaveLength(10);
    expect(finished[9]).toMatchObject({
      id: 'q5zRJv@2026-01-01T01:00:00.000Z#2026-01-01T03:15:00.000Z',
      start: Date.UTC(2026, 0, 1, 3, 15),
      end: Date.UTC(2026, 0, 1, 3, 20, 30),
      gpuParts: 14_000,
      account: 'acme',
      tags: { team: 'vision', env: 'dev' },
    });
    const partMs = finished.reduce(
      (sum, { start, end, gpuParts }) => sum + BigInt((end - start) * (gpuParts ?? 0)),
      0n,
    );
    // 8430 s x 2 GPUs x 1.98 CNY / 3600 s = 9.273 CNY.
    expect(event?.kind === 'price' ? costOf(partMs, PART_MS_PER_GPU_SECOND, event.price.rate) : null).toEqual({
      nanos: 9_273_000_000n,
      currency: 'CNY',
    });
  });

  it('may grow: what was read of a rental that goes on stays the same when it has ended', async () => {
    const open = await usageOf(`${HEADER}q5,4090,1,2026-01-01T10:50:00Z,,\n`, NOW - 2 * HOUR, NOW + HOUR);
    const closed = await usageOf(
      `${HEADER}q5,4090,1,2026-01-01T10:50:00Z,2026-01-01T11:40:00Z,\n`,
      NOW - 2 * HOUR,
      NOW + HOUR,
    );
    const minutes = ({ records }: RecordBatch): string[] =>
      records.map(
        ({ start, end }) =>
          `${new Date(start).toISOString().slice(11, 16)}-${new Date(end).toISOString().slice(11, 16)}`,
      );
    // Nothing of the future, and nothing that is not over.
    expect(minutes(open)).toEqual(['10:50-11:00', '11:00-11:15', '11:15-11:30', '11:30-11:45', '11:45-12:00']);
    expect(minutes(closed)).toEqual(['10:50-11:00', '11:00-11:15', '11:15-11:30', '11:30-11:40']);
    expect(closed.records.slice(0, 3)).toEqual(open.records.slice(0, 3));
  });

  it('keeps rows that cannot be read with line, column and reason, and counts the others', async () => {
    const { records, rejects } = await usageOf(
      [
        'resource,gpu_model,gpus,start,end,tags',
        'a,4090,0.5,2026-01-01 08:00:00Z,2026-01-01T08:10:00Z,"team=a=b;note=say ""hi"", please"',
        '',
        'b,4090,2,2026-01-01T08:00:00,2026-01-01T09:00:00Z,',
        'c,,0,2026-02-30T08:00:00Z,,team',
        'a,4090,1,2026-01-01T08:00:00Z,2026-01-01T09:00:00Z,',
        'd,"40"90,1,x,y,z',
        'e,4090,1',
        'f,4090,1,2026-01-01T09:00:00Z,2026-01-01T08:00:00Z,',
        '"g\nh",4090,0.0001,2026-01-01T08:00:00Z,2026-01-01T08:15:00Z,',
        'i,4090,1,2026-01-01T08:00:00Z,2026-01-01T08:15:00Z,',
      ].join('\n'),
      NOW - 6 * HOUR,
      NOW,
    );
    expect(records.map(({ resource, gpuParts, tags }) => [resource, gpuParts, tags])).toEqual([
      ['a', 3500, { team: 'a=b', note: 'say "hi", please' }],
      ['i', 7000, null],
    ]);
    expect(rejects.map(({ line, column }) => [line, column])).toEqual([
      [4, 'start'],
      [5, 'gpu_model'],
      [6, 'id'],
      [7, null],
      [8, null],
      [9, 'end'],
      [10, 'gpus'],
    ]);
    expect(rejects[1]?.reason).toBe(
      'gpu_model: the value is missing; gpus: is not a number of GPUs above 0; start: is not an ISO 8601 time with a zone, such as 2026-01-01T08:00:00+08:00; tags: is not of the form key=value;key=value',
    );
    expect(rejects[3]).toMatchObject({ reason: 'the row is not well-formed CSV', raw: 'd,"40"90,1,x,y,z' });
    expect(rejects[4]?.reason).toBe('the row has 3 fields, the header 6');
  });

  it('comes from an address too: asked with the interval and the token, and not led elsewhere', async () => {
    const vendor = await server(({ url }) =>
      url.startsWith('/moved')
        ? { status: 302, headers: { location: '/usage' } }
        : {
            status: url.startsWith('/usage') ? 200 : 403,
            body: `${HEADER}a,4090,1,2026-01-01T08:00:00Z,2026-01-01T08:15:00Z,\n`,
          },
    );
    const read = (at: string): Promise<RecordBatch[]> =>
      all(connect({ USAGE: `${vendor.url}${at}`, TOKEN: READ }).usage?.(NOW - 6 * HOUR, NOW));
    expect((await read('/usage?from={from}&to={to}')).flatMap(({ records }) => records)).toHaveLength(1);
    expect(vendor.asked[0]).toMatchObject({
      url: '/usage?from=2026-01-01T06%3A00%3A00.000Z&to=2026-01-01T12%3A00%3A00.000Z',
      headers: { authorization: `Bearer ${READ}` },
    });
    expect(await failureOf(() => read('/moved'))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('redirects are not followed'),
    });
    expect(await failureOf(() => read('/other'))).toMatchObject({
      kind: 'denied',
      message: expect.not.stringContaining(READ),
    });
    expect(vendor.asked).toHaveLength(3);
    expect(await failureOf(() => all(connect({ USAGE: path.join(folder, 'none') }).usage?.(0, 1)))).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('ENOENT'),
    });
  });
});

describe('the settings', () => {
  it('are none, or all that is wrong is named and no value', async () => {
    expect(provider.connect({ BURSAR_MATPOOL_TOKEN: '' }, clock)).toBeNull();
    const api = file({
      ...REPLICAS,
      baseUrl: 'http://gateway.example.com',
      colour: 1,
      reading: { id: 'id', state: { pointer: '/s', values: { a: 'asleep' } } },
      effects: {
        scale: {
          request: { method: 'PUT', path: '/x/{secret}/{target}', headers: { 'x y': '{target}' }, body: '{replica}' },
          success: { statuses: [] },
        },
        purchase: {},
      },
    });
    const failure = await failureOf(() =>
      connect({
        PRICES: 'http://prices.example/list',
        API: api,
        TOKEN: 'hush',
        ACT_TOKEN: 'hush hush hush',
        TIMEOUT_SECONDS: 'x',
      }),
    );
    expect(failure.problems.map((problem) => problem.path?.replace('BURSAR_MATPOOL_', '')).sort()).toEqual([
      'ACT_TOKEN',
      'API/colour',
      'API/effects/purchase',
      'API/effects/scale/request/headers/x y',
      'API/effects/scale/success/statuses',
      'API/reading/id',
      'API/reading/state/values/a',
      'PRICES',
      'TIMEOUT_SECONDS',
      'TOKEN',
    ]);
    expect(JSON.stringify(failure) + failure.message).not.toContain('hush');
    const names = await failureOf(() =>
      connect({
        API: file({
          ...REPLICAS,
          effects: {
            stop: {
              request: { method: 'GET', path: '/{secret}', headers: { a: '{target}' }, body: ['{replicas}'] },
              success: { statuses: [200] },
            },
          },
        }),
      }),
    );
    expect(
      names.problems.map(({ path: at, message }) => `${at?.split('/').at(-1) ?? ''} ${message.split(',')[0] ?? ''}`),
    ).toEqual(['path names {secret}', 'body names {replicas}', 'headers names {target}', 'body does not go with GET']);
    expect(
      await failureOf(() => connect({ API: file({ ...REPLICAS, baseUrl: 'http://gateway.example.com' }) })),
    ).toMatchObject({ problems: [{ path: 'BURSAR_MATPOOL_API/baseUrl' }] });
    expect(await failureOf(() => connect({ ACT_TOKEN: ACT, TOKEN: ACT }))).toMatchObject({
      problems: [
        { path: 'BURSAR_MATPOOL_ACT_TOKEN' },
        { path: 'BURSAR_MATPOOL_PRICES' },
        { path: 'BURSAR_MATPOOL_API' },
      ],
    });
  });

  it('leave out what is not set up', () => {
    const connection = connect({ PRICES: file('x') });
    expect([connection.canAct, connection.usage, connection.fleet, connection.apply]).toEqual([
      false,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

/**
 * A gateway of the documentation's first interface: keeps services, does each token once, and loses what it is told to
 * lose.
 */
class Gateway {
  readonly services = new Map([
    ['svc/a', 4],
    ['b', 1],
    ['c', 0],
  ]);
  readonly done = new Map<string, string>();
  /** How often a token took hold. */
  readonly held: string[] = [];
  lose: 'request' | 'answer' | null = null;

  answer({ method, url, headers, body }: Asked): Scripted {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const [kind, name = ''] = pathname.split('/').slice(1).map(decodeURIComponent);
    if (headers.authorization !== `Bearer ${method === 'PUT' ? ACT : READ}`)
      return { status: 401, body: { code: 'who', message: headers.authorization } };
    if (kind === 'requests') return { body: { state: this.done.get(name) ?? 'NEVER_SEEN' } };
    if (name === '')
      return {
        body: {
          services: [...this.services]
            .slice(2 * (Number(searchParams.get('page')) - 1), 2 * Number(searchParams.get('page')))
            .map(([id]) => this.shown(id)),
        },
      };
    if (!this.services.has(name)) return { status: 404, body: { code: 'not-found' } };
    return method === 'PUT'
      ? this.scale(name, String(headers['idempotency-key']), (JSON.parse(body) as { count: number }).count)
      : { body: this.shown(name) };
  }

  private scale(name: string, token: string, count: number): Scripted {
    const lost = this.lose;
    this.lose = null;
    if (lost === 'request') return { instead: 'drop' };
    if (count > 10) {
      this.done.set(token, 'REJECTED');
      return { status: 409, body: { code: 'too-many', message: `at most 10, not with ${ACT}` } };
    }
    if (!this.done.has(token)) {
      this.services.set(name, count);
      this.held.push(token);
    }
    this.done.set(token, 'DONE');
    return lost === 'answer' ? { instead: 'drop' } : { status: 202, body: { request: `r-${token}` } };
  }

  private shown(id: string): object {
    const wanted = this.services.get(id) ?? 0;
    return {
      id,
      gpu: 'NVIDIA GeForce RTX 4090',
      gpusPerReplica: '2',
      replicas: { wanted, ready: wanted },
      state: wanted > 0 ? 'RUNNING' : 'WHO KNOWS',
      charged: wanted > 0,
    };
  }
}

async function gateway(
  change: object = {},
): Promise<{ vendor: Gateway; asked: Asked[]; settings: Record<string, string> }> {
  const vendor = new Gateway();
  const started = await server((asked) => vendor.answer(asked));
  return {
    vendor,
    asked: started.asked,
    settings: {
      API: file({ ...REPLICAS, baseUrl: started.url, ...change }),
      TOKEN: READ,
      ACT_TOKEN: ACT,
      TIMEOUT_SECONDS: '5',
    },
  };
}

describeProviderContract('matpool', async () => {
  const { vendor, settings } = await gateway();
  const text =
    'resource,gpu_model,gpus,start,end\nq5,RTX 4090,2,2026-01-01T01:10:00Z,\nzk,RTX 4090,1,2026-01-01T02:40:00Z,2026-01-01T05:00:10Z\n';
  const both = {
    ...settings,
    USAGE: file(text),
    PRICES: file('gpu_model,price_per_gpu_hour,effective_from\nRTX 4090,1.98,2026-01-01T00:00:00+08:00\n'),
  };
  return {
    connection: connect(both),
    readOnly: connect({ ...both, ACT_TOKEN: '' }),
    effect: SCALE,
    now: () => NOW,
    metered: { from: NOW - 12 * HOUR, to: NOW - HOUR },
    loseNextAnswer: (arrives) => (vendor.lose = arrives ? 'answer' : 'request'),
    appliedCount: (token) => vendor.held.filter((each) => each === token).length,
  };
});

describe('the written interface', () => {
  it('reads and acts as it is written: escaped, with the right secret, numbers as numbers', async () => {
    const { asked, settings } = await gateway();
    const connection = connect({ ...settings, ACCOUNT: 'acme' });
    const reading = await connection.fleet?.();
    expect(reading).toMatchObject({ complete: true, problems: [] });
    expect(reading?.targets.map(({ target, state, billing }) => [target, state, billing])).toEqual([
      ['svc/a', 'running', 'billed'],
      ['b', 'running', 'billed'],
      ['c', 'unknown', 'ended'],
    ]);
    expect(reading?.targets[0]).toMatchObject({
      kind: 'workload',
      provider: 'Matpool',
      account: 'acme',
      gpuModel: 'RTX4090',
      gpus: 2,
      replicas: { desired: 4, ready: 4, min: null, max: null },
    });
    expect(await connection.apply?.(SCALE, 'token 1/x', null)).toEqual({
      kind: 'taken',
      reference: 'r-token 1/x',
      detail: '',
    });
    expect(asked.at(-1)).toMatchObject({
      method: 'PUT',
      url: '/services/svc%2Fa/replicas',
      body: '{"count":6}',
      headers: { 'idempotency-key': 'token 1/x', 'content-type': 'application/json' },
    });
    expect(await failureOf(() => connection.target?.('..'))).toMatchObject({ kind: 'invalid' });
  });

  it('says what an answer to an effect means, and no more', async () => {
    const { asked, settings } = await gateway();
    const connection = connect(settings);
    expect(await connection.apply?.({ ...SCALE, replicas: 11 }, 't1', null)).toEqual({
      kind: 'refused',
      code: 'too-many',
      detail: 'at most 10, not with [secret]',
    });
    expect(await connection.outcome?.({ ...SCALE, replicas: 11 }, 't1')).toMatchObject({ kind: 'refused' });
    // A 404 is written down neither as a success nor as a refusal.
    expect(await connection.apply?.({ ...SCALE, target: 'gone' }, 't2', null)).toMatchObject({ kind: 'unknown' });
    expect(await connection.apply?.({ kind: 'stop', target: 'b' }, 't3', null)).toMatchObject({
      kind: 'refused',
      code: 'unsupported-effect',
    });
    expect(await connection.apply?.({ kind: 'cordon', target: 'b', cordoned: true }, 't4', null)).toMatchObject({
      kind: 'refused',
      code: 'unsupported-effect',
    });
    expect(asked).toHaveLength(3);
    const failure = await failureOf(() =>
      connect({ ...settings, ACT_TOKEN: 'another-token-01' }).apply?.(SCALE, 't5', null),
    );
    expect(failure).toMatchObject({ kind: 'denied', message: expect.stringContaining('BURSAR_MATPOOL_ACT_TOKEN') });
    expect(failure.message).not.toContain('another-token');
  });

  it.each<[Scripted, object]>([
    [
      { status: 429, headers: { 'retry-after': '9' } },
      { failure: 'unavailable', message: expect.stringContaining('again in 9 s') },
    ],
    [{ status: 503, headers: { 'retry-after': '9' } }, { failure: 'unavailable' }],
    [{ status: 503 }, { kind: 'unknown' }],
    [{ status: 302, headers: { location: '/' } }, { kind: 'unknown' }],
    [
      { status: 200, body: 'not JSON' },
      { kind: 'taken', reference: null },
    ],
    [{ instead: 'hang' }, { kind: 'unknown', detail: 'no answer within 0.2 s' }],
  ])('takes %j for what it is', async (answer, expected) => {
    const vendor = await server(() => answer);
    const connection = connect({
      API: file({ ...REPLICAS, baseUrl: vendor.url }),
      ACT_TOKEN: ACT,
      TIMEOUT_SECONDS: '0.2',
    });
    expect(
      await Promise.resolve(connection.apply?.(SCALE, 't', null)).catch((error: unknown) => ({
        failure: (error as { kind: string }).kind,
        message: (error as Error).message,
      })),
    ).toMatchObject(expected);
    expect(vendor.asked).toHaveLength(1);
  });

  it('without a way to ask for a token, believes the target alone', async () => {
    const { vendor, settings } = await gateway({ outcome: undefined });
    const connection = connect(settings);
    expect(await connection.outcome?.(SCALE, 't1')).toMatchObject({ kind: 'unknown' });
    vendor.services.set('svc/a', 6);
    expect(await connection.outcome?.(SCALE, 't1')).toMatchObject({ kind: 'taken' });
  });

  it('names what cannot be read in a list, and fails where there is none', async () => {
    const listing = await server(({ url }) => ({
      body: url.includes('page=1') ? { services: [{ id: 'a' }, { id: '' }, 7] } : { services: [] },
    }));
    expect(await connect({ API: file({ ...REPLICAS, baseUrl: listing.url }) }).fleet?.()).toMatchObject({
      complete: false,
      targets: [{ target: 'a', state: 'unknown', billing: 'unknown', gpus: null, replicas: null }],
      problems: ['page 1, entry 2: there is no id at /id', 'page 1, entry 3: there is no id at /id'],
    });
    const none = await server(() => ({ body: { code: 0 } }));
    expect(await failureOf(() => connect({ API: file({ ...REPLICAS, baseUrl: none.url }) }).fleet?.())).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('no list at /services'),
    });
  });
});

describe('the published job API, as it is written down in the documentation', () => {
  /** The shape of the vendor's own example of a job (apidoc.matpool.com, "查询单个任务详情"), cut to what is read. */
  const job = (id: number, status: number): object => ({
    id,
    ctx: { nodeDisplayID: 'Zkj4Qm' },
    state: { status, log: [{ id: 2498421, status: 6, ts: { seconds: 1744020679 } }] },
    status,
    displayID: `d${id}`,
  });

  it('lists jobs, reads one, and cancels it', async () => {
    const jobs = new Map([
      [421136, 3],
      [421236, 1],
    ]);
    const vendor = await server(({ method, url, headers }) => {
      const query = new URL(url, 'http://x').searchParams;
      if (headers.authorization !== `Bearer ${method === 'DELETE' ? ACT : READ}`)
        return { body: { code: 176, msg: 'check jwt token failed' } };
      // The last page is given again for every later one.
      if (url.startsWith('/v1/job/jobs'))
        return {
          body: {
            code: 0,
            msg: '',
            pagination: { total: 2, numPages: 1 },
            job: [...jobs].map(([id, status]) => job(id, status)),
          },
        };
      const id = Number(query.get('id'));
      if (!jobs.has(id)) return { body: { code: 7, msg: 'no such job' } };
      if (method === 'DELETE') jobs.set(id, 5);
      return { body: { code: 0, msg: '', job: job(id, jobs.get(id) ?? 0) } };
    });
    const api = file({ ...JOBS, baseUrl: vendor.url });
    const connection = connect({ API: api, TOKEN: READ, ACT_TOKEN: ACT });
    expect(
      (await connection.fleet?.())?.targets.map(({ target, name, state, billing }) => [target, name, state, billing]),
    ).toEqual([
      ['421136', 'd421136', 'running', 'billed'],
      ['421236', 'd421236', 'starting', 'unknown'],
    ]);
    const cancel: Effect = { kind: 'terminate', target: '421136' };
    expect(await connection.apply?.(cancel, 'token-1', null)).toMatchObject({ kind: 'taken' });
    expect(await connection.target?.('421136')).toMatchObject({ state: 'stopping', billing: 'unknown' });
    // Being cancelled is not gone: the outcome stays open until the job has ended.
    expect(await connection.outcome?.(cancel, 'token-1')).toMatchObject({ kind: 'unknown' });
    jobs.set(421136, 4);
    expect(await connection.target?.('421136')).toMatchObject({ state: 'gone', billing: 'ended' });
    expect(await connection.outcome?.(cancel, 'token-1')).toMatchObject({ kind: 'taken' });
    // An error code under the status 200 is no success, and one that nobody has written down is no refusal either.
    expect(await connection.apply?.({ kind: 'terminate', target: '9' }, 'token-2', null)).toMatchObject({
      kind: 'unknown',
    });
    expect(await failureOf(() => connect({ API: api, TOKEN: 'wrong-token-0001' }).fleet?.())).toMatchObject({
      kind: 'denied',
    });
  });
});
