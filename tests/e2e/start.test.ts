/**
 * The first minutes with Bursar, as a new user has them: separate processes of the built product on empty folders.
 * Nothing is mocked and nothing is timed; a killed process is a killed process.
 */
import { access, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hourOf } from '../../src/core/time.js';
import { home, isGone, type BursarProcess, type Home } from '../support/processes.js';

const KEY = /bursar_\w{12}_[\w-]{43}/g;
const READY = /Bursar is ready: (\S+)/;
const PATIENCE_MILLISECONDS = 180_000;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function get(url: string, key?: string): Promise<Answer> {
  const response = await fetch(url, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  return { status: response.status, body: await response.json() };
}

/** The one JSON document that a verb printed. */
async function json<T>(place: Home, ...argv: string[]): Promise<T> {
  const { code, out, err } = await place.run([...argv, '--json']);
  expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
  return JSON.parse(out) as T;
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** What two loads of the example must say alike. */
const ALIKE = ['costs?group-by=team,sku,month', 'rules', 'budgets', 'teams'];
const saidBy = (url: string, key: string | undefined): Promise<unknown[]> =>
  Promise.all(ALIKE.map(async (question) => (await get(`${url}/v1/${question}`, key)).body));
/** Of the load that nothing cut short, and the hour from which its story counts; null: there was none yet. */
let unbroken: { readonly hour: number; readonly said: unknown[] } | null = null;

/** Ends it as an operator does, and sees that nothing of it is left. */
async function stopsCleanly(
  place: Home,
  serving: BursarProcess,
  signal: 'SIGTERM' | 'SIGHUP' = 'SIGTERM',
): Promise<void> {
  const pid = await place.postmaster();
  const { code, out } = await serving.end(signal);
  expect({ code, out }).toEqual({ code: 0, out: '' });
  expect(await isGone(pid)).toBe(true);
  expect(await isThere(path.join(place.dataDir, 'postgres/postmaster.pid'))).toBe(false);
  expect(await isThere(path.join(place.dataDir, 'serve.lock'))).toBe(false);
}

describe('the first start', { timeout: PATIENCE_MILLISECONDS }, async () => {
  const place = await home();
  let serving: BursarProcess;
  let url = '';
  let key = '';

  it('loads the example with its progress, prints the summary and one admin key, and serves', async () => {
    const hour = hourOf(Date.now());
    serving = place.start(['serve']);
    url = await serving.said(READY);
    const { err, out } = serving;
    expect(out).toBe('');
    let at = 0;
    const order = [
      'The database is empty',
      'loading teams',
      'loading nine months',
      'action.execute',
      'loading the recorded pods',
      'saving.verify',
      'budget.weigh',
      'Summary as of ',
      'Spend per team',
      'Budgets, this month',
      'Every GPU-hour has a price',
      'Recommendations',
      'Actions',
      'The admin key',
      'Bursar is ready',
    ].map((text) => (at = err.indexOf(text, Math.max(0, at))));
    expect(
      order.every((found, n) => found >= 0 && found > (order[n - 1] ?? -1)),
      `the order of:\n${err}`,
    ).toBe(true);
    const keys = err.match(KEY) ?? [];
    expect(keys).toHaveLength(1);
    key = keys[0] ?? '';
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200 });
    expect(await get(`${url}/readyz`)).toMatchObject({ status: 200 });
    expect(await get(`${url}/v1/costs`)).toMatchObject({ status: 401 });
    unbroken = { hour, said: await saidBy(url, key) };
  });

  it('has a command line beside it that says what the API says', async () => {
    for (const [query, flags] of [
      ['', []],
      ['?group-by=team,sku,month&basis=accrued', ['--group-by', 'team,sku,month', '--basis', 'accrued']],
    ] as const) {
      const answer = await get(`${url}/v1/costs${query}`, key);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(await json(place, 'costs', ...flags));
    }
    const { rows } = await json<{ rows: { team: string; unpricedQuantity: string }[] }>(
      place,
      'costs',
      '--group-by',
      'team',
    );
    expect(rows.map(({ team }) => team)).toEqual(
      expect.arrayContaining(['platform', 'research', 'serving', 'training']),
    );
    // The attached verb has left, and the server goes on.
    expect(await get(`${url}/readyz`)).toMatchObject({ status: 200 });
  });

  it('refuses a second serve on the same folder, and says where the first one is', async () => {
    const { code, out, err } = await place.run(['serve']);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(/^bursar: Bursar is already running on \S+ \(process \d+, at http:\/\/127\.0\.0\.1:\d+\)/);
    expect(err).toContain(url);
    expect(await get(`${url}/readyz`)).toMatchObject({ status: 200 });
  });

  it('survives kill -9: the next start keeps the data, makes no key and loads nothing twice', async () => {
    const facts = async () => ({
      costs: (await get(`${url}/v1/costs?group-by=team,month`, key)).body,
      imports: (await get(`${url}/v1/imports`, key)).body,
      budgets: (await get(`${url}/v1/budgets`, key)).body,
    });
    const before = await facts();
    await serving.end('SIGKILL');
    serving = place.start(['serve']);
    url = await serving.said(READY);
    expect(serving.err).not.toContain('loading');
    expect(serving.err).not.toMatch(KEY);
    expect(await facts()).toEqual(before);
  });

  it('stops on SIGTERM with nothing left running', async () => {
    await stopsCleanly(place, serving);
    expect((await json<{ keys: unknown[] }>(place, 'keys')).keys).toHaveLength(1);
  });
});

describe('a first start that is cut short', { timeout: PATIENCE_MILLISECONDS }, async () => {
  const place = await home();
  const whole = await home();
  const stopped = await home();

  const saidByOneMore = async (): Promise<unknown[]> => {
    const third = whole.start(['serve']);
    const url = await third.said(READY);
    const said = await saidBy(url, third.err.match(KEY)?.[0]);
    await stopsCleanly(whole, third);
    return said;
  };

  it('by kill -9 is completed by the next one, which prints the key', async () => {
    const hour = hourOf(Date.now());
    const first = place.start(['serve']);
    await first.said(/loading the recorded pods/);
    const { err } = await first.end('SIGKILL');
    expect(err).not.toMatch(KEY);
    const second = place.start(['serve']);
    const url = await second.said(READY);
    const [key] = second.err.match(KEY) ?? [];
    // In another hour the story is another one: it is loaded once more.
    const said = unbroken?.hour === hour ? unbroken.said : await saidByOneMore();
    expect(await saidBy(url, key)).toEqual(said);
    await stopsCleanly(place, second);
  });

  it('by SIGHUP, as of a terminal that is closed, leaves nothing running', async () => {
    const first = stopped.start(['serve']);
    await first.said(/loading nine months/);
    await stopsCleanly(stopped, first, 'SIGHUP');
  });
});

describe('BURSAR_EXAMPLE=off', { timeout: PATIENCE_MILLISECONDS }, async () => {
  const place = await home();

  it('starts empty, with a key', async () => {
    const serving = place.start(['serve'], { BURSAR_EXAMPLE: 'off' });
    const url = await serving.said(READY);
    expect(serving.err).not.toContain('loading');
    const [key] = serving.err.match(KEY) ?? [];
    expect(await get(`${url}/v1/costs`, key)).toMatchObject({ status: 200, body: { rows: [], total: '0' } });
    expect(await get(`${url}/v1/teams`, key)).toMatchObject({ body: { items: [] } });
    await stopsCleanly(place, serving);
  });
});

describe('a verb on an empty folder', { timeout: PATIENCE_MILLISECONDS }, async () => {
  const place = await home();
  const usage = {
    records: [
      {
        id: 'r1',
        provider: 'AWS',
        account: 'a1',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        gpus: 8,
        start: '2026-10-05T00:00:00Z',
        end: '2026-10-05T02:00:00Z',
      },
    ],
  };

  it('starts the database for its own duration, loads no example, and prints one JSON document', async () => {
    await writeFile(place.file('usage.json'), JSON.stringify(usage));
    const run = place.start(['import', place.file('usage.json'), '--json']);
    const { code, out, err } = await run.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      files: [{ file: 'usage.json', format: 'bursar', rows: 1, accepted: 1, rejected: 0, unchanged: 0 }],
    });
    expect(await isThere(path.join(place.dataDir, 'postgres/postmaster.pid'))).toBe(false);
    // PostgreSQL's own last word.
    expect((await readFile(path.join(place.dataDir, 'postgres.log'), 'utf8')).trimEnd()).toMatch(
      /database system is shut down$/,
    );
    expect(await json(place, 'teams')).toEqual({ teams: [] });
    expect(await json(place, 'imports')).toMatchObject({ imports: [{ file: 'usage.json' }] });
    // Nothing has a price: the quantity stands there, and the cost is unknown.
    expect(await json(place, 'costs')).toMatchObject({ total: null, unpricedQuantity: '16.000000' });
  });

  it('is a failure with one JSON document too, and leaves nothing running', async () => {
    const { code, out } = await place.run(['import', place.file('absent.csv'), '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ error: { kind: 'missing' } });
    expect(await isThere(path.join(place.dataDir, 'postgres/postmaster.pid'))).toBe(false);
  });

  it('makes the folder one that has been used: serve loads no example into it', async () => {
    const serving = place.start(['serve']);
    await serving.said(READY);
    expect(serving.err).not.toContain('loading');
    expect(serving.err.match(KEY)).toHaveLength(1);
    await stopsCleanly(place, serving);
  });
});
