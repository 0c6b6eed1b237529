/** Backtests by the API and the line: ordered, run apart, followed, drawn; what a crash leaves; who may see them. */
import { parse as parseYaml } from 'yaml';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ZodType } from 'zod';
import { run } from '../../src/cli/program.js';
import type { BacktestReport } from '../../src/core/policy/backtest.js';
import { unavailable } from '../../src/core/errors.js';
import { backtestStage } from '../../src/pipeline/backtest.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { ApartWork, Stage } from '../../src/pipeline/stage.js';
import { RUN_BACKTEST, type StoredBacktest } from '../../src/store/policy/backtests.js';
import type { OpenApiDocument } from '../../src/web/openapi.js';
import { endpoints } from '../../src/web/web.module.js';
import { instancePrice } from '../support/bursar.js';
import { decodePng } from '../support/png.js';
import { NOW, testApi, type TestApi } from '../support/web.js';
import { localOf } from '../support/local.js';

const DAY = 86_400_000;
const WINDOW = { from: new Date(NOW - DAY).toISOString().slice(0, 10), to: new Date(NOW).toISOString().slice(0, 10) };
const lease = (teams: readonly string[], name = 'rest') => ({ name, policy: 'lease', teams, mode: 'recommend' });

/** A day and a half of 8 GPUs at 98.32 an hour, before now. */
async function record(api: TestApi, teams: readonly string[]): Promise<void> {
  await api.stores.db.transaction((tx) =>
    api.stores.prices.add(tx, 'default', [{ kind: 'price', price: instancePrice('98.32') }], 'test'),
  );
  const ruled = await api.call('PUT', '/v1/rules', {
    body: { rules: teams.map((team) => ({ match: { account: team }, team })) },
  });
  expect(ruled.status, ruled.text).toBe(200);
  for (const team of teams) {
    await api.call('PUT', `/v1/teams/${team}`, { body: {} });
    const { status, text } = await api.call('POST', '/v1/usage', {
      body: [
        {
          id: `u-${team}`,
          provider: 'AWS',
          account: team,
          sku: 'p5.48xlarge',
          region: 'us-east-1',
          term: 'on-demand',
          gpus: 8,
          start: new Date(NOW - 1.5 * DAY).toISOString(),
          end: new Date(NOW).toISOString(),
        },
      ],
    });
    expect(status, text).toBe(200);
  }
}

interface Gate {
  readonly promise: Promise<void>;
  resolve(): void;
}

function gate(): Gate {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, resolve: () => open() };
}

interface World {
  readonly clock: { at: number; now(): number };
  /** A process of its own: its line, its memory of what it runs. */
  worker(change?: (stage: Stage) => Stage): Runner;
}

function worldOf(api: TestApi): World {
  const clock = { at: NOW, now: () => clock.at };
  return {
    clock,
    worker: (change = (stage) => stage) =>
      new Runner(api.stores.db, api.stores.work, clock, makeLine(api.stores, api.policies).map(change)),
  };
}

const vouched = async (api: TestApi, policy = 'lease'): Promise<{ team: string; result: unknown; made_by: string }[]> =>
  api.stores.db.query(`select team, result, made_by from policy_backtest where policy = $1 order by id`, [policy]);

/** Reads a stream of events to its end. @param onFirst called when the first event has come */
async function eventsOf(
  api: TestApi,
  id: string,
  key = api.admin,
  onFirst: () => void = () => undefined,
): Promise<{
  status: number;
  type: string | null;
  text: string;
  events: { event: string; data: Record<string, unknown> }[];
}> {
  const response = await fetch(`${api.url}/v1/backtests/${id}/events`, { headers: { authorization: `Bearer ${key}` } });
  let text = '';
  if (response.body !== null) {
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const isFirst = !/event: .*\ndata: .*\n\n/.test(text);
      text += part;
      if (isFirst && /event: .*\ndata: .*\n\n/.test(text)) onFirst();
    }
  }
  const events = [...text.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, data]) => ({
    event: event ?? '',
    data: JSON.parse(data ?? '') as Record<string, unknown>,
  }));
  return { status: response.status, type: response.headers.get('content-type'), text, events };
}

describe('a backtest by the API', async () => {
  const api = await testApi();
  let world: World;
  let id = '';
  beforeAll(async () => {
    world = worldOf(api);
    await record(api, ['a', 'b']);
    await world.worker().drain();
  });
  const order = (body: object, key?: string, headers: Readonly<Record<string, string>> = {}) =>
    api.call<StoredBacktest>('POST', '/v1/backtests', { body: { ...WINDOW, ...body }, key, headers });
  const get = async (which = id) =>
    (await api.call<StoredBacktest & { result: BacktestReport | null }>('GET', `/v1/backtests/${which}`)).body;

  it('is taken with its address, once per Idempotency-Key, and waits for the line', async () => {
    const first = await order({ policy: lease(['a', 'b']) }, undefined, { 'idempotency-key': 'once' });
    expect(first).toMatchObject({
      status: 202,
      body: {
        status: 'queued',
        progress: 0,
        teams: ['a', 'b'],
        document: { name: 'rest', policy: 'lease' },
        error: null,
        finishedAt: null,
      },
    });
    id = first.body.id;
    expect(first.headers.get('location')).toBe(`/v1/backtests/${id}`);
    const again = await order({ policy: lease(['a', 'b']) }, undefined, { 'idempotency-key': 'once' });
    expect(again).toMatchObject({ status: 202, body: { id } });
    expect(again.headers.get('location')).toBe(`/v1/backtests/${id}`);
    expect(await get()).toMatchObject({ status: 'queued', result: null });
    expect((await api.call('GET', `/v1/backtests/${id}/plot.svg`)).status).toBe(404);
    expect((await api.stores.audit.list('default', null, 1))[0]).toMatchObject({
      verb: 'backtest.order',
      target: 'rest',
      detail: { backtest: id, teams: ['a', 'b'] },
    });
  });

  it('is followed by events until it is done', async () => {
    // The stream has told that it waits before anything runs.
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const following = eventsOf(api, id, api.admin, () => begin());
    await Promise.race([begun, following]);
    await world.worker().drain();
    const { status, type, text, events } = await following;
    expect({ status, type }).toEqual({ status: 200, type: 'text/event-stream; charset=utf-8' });
    expect(text).toMatch(/^retry: \d+\n\n/);
    expect(events[0]).toMatchObject({ event: 'progress', data: { id, status: 'queued', progress: 0 } });
    expect(events.at(-1)).toEqual({ event: 'done', data: { id, status: 'done', progress: 1, error: null } });
    expect((await eventsOf(api, id)).events).toEqual([
      { event: 'done', data: { id, status: 'done', progress: 1, error: null } },
    ]);
  });

  it('has a report that the command line prints alike, and leaves the same rows behind', async () => {
    const { result, ...stored } = await get();
    expect(stored).toMatchObject({
      status: 'done',
      progress: 1,
      error: null,
      startedAt: new Date(NOW).toISOString(),
      finishedAt: new Date(NOW).toISOString(),
    });
    const byLine = await vouched(api);
    expect(byLine.map(({ team }) => team)).toEqual(['a', 'b']);
    expect(byLine[0]?.made_by).toMatch(/^key:/);
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-backtests-'));
    try {
      const file = path.join(folder, 'rest.json');
      await writeFile(file, JSON.stringify(lease(['a', 'b'])));
      let [out, err] = ['', ''];
      const { stores, policies } = api;
      const code = await run(
        ['backtest', 'policy', '--policy', file, '--from', WINDOW.from, '--to', WINDOW.to, '--json'],
        {
          environment: {},
          clock: world.clock,
          parseYaml,
          remote: null,
          serve: async () => undefined,
          stdout: { write: (text) => (out += text) },
          stderr: { write: (text) => (err += text) },
          connect: async () => localOf({ stores, policies }, world.clock),
        },
      );
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(JSON.parse(out)).toEqual(result);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    const both = await vouched(api);
    expect(both.slice(2).map(({ team, result: cells }) => ({ team, cells }))).toEqual(
      byLine.map(({ team, result: cells }) => ({ team, cells })),
    );
    // 24 hours of 8 GPUs at 98.32 for all of them.
    expect(result?.cells[0]).toMatchObject({
      name: 'a/demand',
      policies: [{ name: 'none', cost: expect.closeTo(24 * 98.32, 6) as number }, { name: 'bursar' }],
      series: { stepHours: 24, costs: { none: [2359.68], bursar: [2359.68] } },
    });
  });

  it('is run by the server that the command line goes to, which starts no database of its own', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-backtests-'));
    const cli = async (document: object): Promise<{ code: number; out: string; err: string }> => {
      const file = path.join(folder, 'there.json');
      await writeFile(file, JSON.stringify(document));
      let [out, err] = ['', ''];
      const argv = ['backtest', 'policy', '--policy', file, '--from', WINDOW.from, '--to', WINDOW.to, '--json'];
      const code = await run(argv, {
        environment: {},
        clock: world.clock,
        parseYaml,
        remote: { url: api.url, apiKey: api.admin },
        serve: async () => undefined,
        stdout: { write: (text) => (out += text) },
        stderr: { write: (text) => (err += text) },
        connect: async () => {
          throw new Error('this machine has no database');
        },
      });
      return { code, out, err };
    };
    try {
      const running = cli(lease(['a', 'b'], 'there'));
      const listed = async () => (await api.call('GET', '/v1/backtests')).text;
      await expect.poll(listed, { timeout: 30_000 }).toContain('"name":"there"');
      await world.worker().drain();
      const { code, out, err } = await running;
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const ran = JSON.parse(out) as BacktestReport;
      expect(ran.cells).toEqual((await get()).result?.cells);
      const wrong = await cli({ ...lease(['a'], 'there'), mode: 'shout' });
      expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('document/mode') as string });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('answers in the shape that its description gives', async () => {
    for (const [route, body] of [
      ['/v1/backtests/{id}', await get()],
      ['/v1/backtests', (await api.call('GET', '/v1/backtests')).body],
    ] as const) {
      const { answer } = endpoints().find((one) => one.method === 'GET' && one.path === route)!;
      const checked = (answer as ZodType).safeParse(body);
      expect(checked.success ? [] : checked.error.issues, route).toEqual([]);
    }
    const { paths } = (await api.call<OpenApiDocument>('GET', '/openapi.json')).body;
    expect(Object.keys(paths['/v1/backtests']?.['post']?.responses ?? {})).toEqual([
      '202',
      '400',
      '401',
      '403',
      '408',
      '409',
      '413',
      '415',
      '429',
      '503',
    ]);
  });

  it('has a picture in both forms', async () => {
    const svg = await api.call('GET', `/v1/backtests/${id}/plot.svg`);
    expect(svg).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^<svg role="img"[\s\S]*a\/demand[\s\S]*<\/svg>\s*$/) as string,
    });
    expect(svg.headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
    const png = await fetch(`${api.url}/v1/backtests/${id}/plot.png`, {
      headers: { authorization: `Bearer ${api.admin}` },
    });
    expect(png.headers.get('content-type')).toBe('image/png');
    const { width, height, count } = decodePng(Buffer.from(await png.arrayBuffer()));
    expect(count([255, 255, 255])).toBeLessThan(0.99 * width * height);
  });

  it('lets the policy enforce on these teams, and on no others', async () => {
    const apply = (teams: readonly string[]) =>
      api.call('PUT', '/v1/policies/stop-idle', { body: { policy: 'idle-stop', teams, mode: 'enforce' } });
    expect((await apply(['a'])).status).toBe(409);
    const { body } = await order({
      policy: { name: 'stop-idle', policy: 'idle-stop', teams: ['a', 'b'], mode: 'enforce' },
      teams: ['a'],
    });
    await world.worker().drain();
    expect(await get(body.id)).toMatchObject({ status: 'done', teams: ['a'] });
    expect((await apply(['a', 'b'])).status).toBe(409);
    expect((await apply(['a'])).status).toBe(200);
  });

  it('runs a document that holds by its name, as it was when it was asked for', async () => {
    const { status, body } = await order({ policy: 'stop-idle' });
    expect({ status, document: body.document }).toMatchObject({
      status: 202,
      document: { name: 'stop-idle', policy: 'idle-stop', teams: ['a'] },
    });
    await api.call('PUT', '/v1/policies/stop-idle', { body: { policy: 'idle-stop', teams: ['b'], mode: 'observe' } });
    await world.worker().drain();
    expect(await get(body.id)).toMatchObject({ status: 'done', teams: ['a'] });
  });

  it('that finds nothing recorded has failed, and says why', async () => {
    const { body } = await order({ policy: lease(['nobody']) });
    await world.worker().drain();
    expect(await get(body.id)).toMatchObject({
      status: 'failed',
      result: null,
      error: { message: expect.stringContaining('nothing is recorded for nobody') as string, problems: [] },
    });
    expect((await eventsOf(api, body.id)).events).toMatchObject([
      { event: 'done', data: { status: 'failed', error: { message: expect.stringContaining('nobody') as string } } },
    ]);
    expect((await api.call('GET', `/v1/backtests/${body.id}/plot.png`)).status).toBe(404);
  });

  it('names everything that is wrong with an order at once', async () => {
    const { status, body } = await api.call<{ problems: { path: string }[] }>('POST', '/v1/backtests', {
      body: { policy: { name: 'x y', policy: 'guess', teams: [], mode: 'maybe' }, from: 'soon', to: '2036-01-01' },
    });
    expect(status).toBe(400);
    expect(body.problems.map((one) => one.path).sort()).toEqual([
      'from',
      'policy/mode',
      'policy/name',
      'policy/policy',
      'policy/teams',
      'to',
    ]);
    expect((await order({ policy: 'no-such-document' })).status).toBe(400);
    expect((await api.call('GET', '/v1/backtests/999999')).status).toBe(404);
    expect((await api.call('GET', '/v1/backtests/x')).status).toBe(400);
  });
});

describe('keys', async () => {
  const api = await testApi();
  let world: World;
  beforeAll(async () => {
    world = worldOf(api);
    await record(api, ['a', 'b']);
    await world.worker().drain();
  });

  it('order and see only backtests on the history of their teams', async () => {
    const ofA = await api.keyFor({ role: 'operator', teams: ['a'] });
    const explainsA = await api.keyFor({ role: 'viewer', teams: ['a'] });
    const order = (key: string, teams: readonly string[] | '*', over?: readonly string[]) =>
      api.call<StoredBacktest>('POST', '/v1/backtests', {
        key,
        body: { ...WINDOW, policy: { ...lease([]), teams }, ...(over === undefined ? {} : { teams: over }) },
      });
    expect((await order(explainsA, ['a'])).status).toBe(403);
    expect((await order(ofA, ['a', 'b'])).status).toBe(403);
    expect((await order(ofA, '*')).status).toBe(403);
    expect((await order(ofA, ['a'], ['b'])).status).toBe(403);
    const own = await order(ofA, '*', ['a']);
    const [both, all] = [await order(api.admin, ['a', 'b']), await order(api.admin, '*')];
    expect([own.status, both.status, all.status]).toEqual([202, 202, 202]);
    await world.worker().drain();
    const list = async (key: string, query = '') =>
      (await api.call<{ items: StoredBacktest[]; nextCursor: string | null }>('GET', `/v1/backtests${query}`, { key }))
        .body;
    expect((await list(explainsA)).items.map((one) => one.id)).toEqual([own.body.id]);
    expect((await list(api.admin)).items.map((one) => one.id)).toEqual([all.body.id, both.body.id, own.body.id]);
    const page = await list(api.admin, '?limit=2');
    expect((await list(api.admin, `?limit=2&cursor=${page.nextCursor}`)).items.map((one) => one.id)).toEqual([
      own.body.id,
    ]);
    for (const part of ['', '/plot.svg', '/plot.png', '/events']) {
      const status = async (key: string, which: string) =>
        (await api.call('GET', `/v1/backtests/${which}${part}`, { key })).status;
      expect(await status(explainsA, own.body.id), part).toBe(200);
      expect(await status(explainsA, both.body.id), part).toBe(403);
      expect(await status(explainsA, all.body.id), part).toBe(403);
    }
  });

  it('cannot fill the line: so many wait, and no more', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 21; n++)
      statuses.push((await api.call('POST', '/v1/backtests', { body: { ...WINDOW, policy: lease(['a']) } })).status);
    expect(statuses).toEqual([...new Array<number>(20).fill(202), 409]);
    await world.worker().drain();
    const { status, body } = await api.call<StoredBacktest>('POST', '/v1/backtests', {
      body: { ...WINDOW, policy: lease(['a']) },
    });
    expect(status).toBe(202);
    // Its stream stays open to the end of the file: closing the server must not wait for it.
    const open = await fetch(`${api.url}/v1/backtests/${body.id}/events`, {
      headers: { authorization: `Bearer ${api.admin}` },
    });
    expect(open.status).toBe(200);
  });
});

describe('a process', async () => {
  const api = await testApi();
  let world: World;
  beforeAll(async () => {
    world = worldOf(api);
    await record(api, ['a']);
    await world.worker().drain();
  });
  const order = async () =>
    (await api.call<StoredBacktest>('POST', '/v1/backtests', { body: { ...WINDOW, policy: lease(['a']) } })).body.id;
  const get = async (id: string) => (await api.call<StoredBacktest>('GET', `/v1/backtests/${id}`)).body;
  const apartly =
    (change: (work: ApartWork) => ApartWork) =>
    (stage: Stage): Stage =>
      stage.apart === undefined ? stage : { ...stage, apart: change(stage.apart) };

  it('that dies in the middle leaves the backtest to be run again, and what it brings when it was not dead is not kept', async () => {
    const id = await order();
    const held = gate();
    const worked = gate();
    const dying = world.worker(
      apartly((work) => async (call) => {
        const save = await work(call);
        worked.resolve();
        await held.promise;
        return save;
      }),
    );
    const first = dying.drain();
    await worked.promise;
    // It holds no transaction, and its lease keeps the others away.
    expect(
      await api.stores.db.query(
        `select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
      ),
    ).toEqual([]);
    await world.worker().drain();
    expect(await get(id)).toMatchObject({ status: 'running' });
    expect(await vouched(api)).toEqual([]);
    world.clock.at += 61_000;
    await world.worker().drain();
    const done = await get(id);
    expect(done).toMatchObject({ status: 'done', startedAt: new Date(NOW + 61_000).toISOString() });
    expect(await vouched(api)).toHaveLength(1);
    held.resolve();
    await first;
    expect(await get(id)).toEqual(done);
    expect(await vouched(api)).toHaveLength(1);
    expect(await api.stores.work.duePartitions(world.clock.now() + DAY)).toEqual([]);
  });

  it('tries again after what may pass, and tells of what will not', async () => {
    const id = await order();
    let failures = 1;
    await world
      .worker(
        apartly((work) => async (call) => {
          const save = await work(call);
          if (failures-- > 0) throw unavailable('the database went away');
          return save;
        }),
      )
      .drain();
    expect(await get(id)).toMatchObject({ status: 'running' });
    world.clock.at += 10_000;
    await world.worker().drain();
    expect(await get(id)).toMatchObject({ status: 'done' });
    const broken = await order();
    await world
      .worker(
        apartly(() => async () => {
          throw new Error('a bug');
        }),
      )
      .drain();
    expect(await get(broken)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('was interrupted') as string },
    });
    expect(JSON.stringify(await get(broken))).not.toContain('a bug');
    expect((await eventsOf(api, broken)).events.at(-1)).toMatchObject({ event: 'done', data: { status: 'failed' } });
    expect((await api.call<{ items: StoredBacktest[] }>('GET', '/v1/backtests')).body.items[0]).toMatchObject({
      id: broken,
      status: 'failed',
    });
  });

  it('runs one at a time: another waits without holding a worker', async () => {
    const held = gate();
    const waiting = Object.assign(Object.create(api.stores) as typeof api.stores, {
      backtests: { begin: () => held.promise.then(() => null) },
    });
    const stage = backtestStage(waiting, api.policies);
    const call = (key: string) =>
      stage.apart!({ organisation: 'default', partition: key, key, now: NOW, clock: { now: () => NOW } });
    const first = call('1');
    const later = await (await call('2'))({} as never, NOW + 5);
    expect(later).toEqual([{ stage: RUN_BACKTEST, partition: '2', key: '2', notBefore: NOW + 2005 }]);
    held.resolve();
    expect(await (await first)({} as never, NOW)).toEqual([]);
    expect(await (await call('2'))({} as never, NOW)).toEqual([]);
  });
});
