/** The client of the API, against a small server: what is sent, and what its answers become. */
import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { Progress } from '../../src/cli/progress.js';
import { Api } from '../../src/cli/client/api.js';
import { HttpTransport } from '../../src/cli/client/http.js';
import { SavingClient } from '../../src/cli/client/savings.js';
import { leftIn } from '../../src/cli/client/line.js';

let server: Server | null = null;
afterEach(async () => {
  const closing = server;
  server = null;
  closing?.closeAllConnections();
  await new Promise<void>((resolve) => (closing === null ? resolve() : void closing.close(() => resolve())));
});

const over = (remote: { readonly url: string; readonly apiKey: string }): Api => new Api(new HttpTransport(remote));

type Answer = readonly [status: number, body: unknown];

/** A server that answers as told, and what it was asked. */
async function answering(
  answer: (request: IncomingMessage, body: string) => Answer,
): Promise<{ remote: Api; asked: string[] }> {
  const asked: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    asked.push(`${request.method} ${request.url} ${body}`);
    const [status, document] = answer(request, body);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof document === 'string' ? document : JSON.stringify(document));
  };
  server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { remote: over({ url: `http://127.0.0.1:${port}/base`, apiKey: 'bursar_secret' }), asked };
}

describe('a call', () => {
  it('carries the key, the query and the body, below the path of the address', async () => {
    const headers: IncomingMessage['headers'][] = [];
    const { remote, asked } = await answering((request) => (headers.push(request.headers), [200, { fine: true }]));
    expect(await remote.call('GET', '/v1/costs', { query: { from: '2026-10-01', to: null, strict: false } })).toEqual({
      fine: true,
    });
    await remote.call('PUT', '/v1/teams/a%2Fb', { json: { name: 'A' } });
    await remote.call('POST', '/v1/imports', { stream: Readable.from([Buffer.from('some '), Buffer.from('bytes')]) });
    expect(asked).toEqual([
      'GET /base/v1/costs?from=2026-10-01&strict=false ',
      'PUT /base/v1/teams/a%2Fb {"name":"A"}',
      'POST /base/v1/imports some bytes',
    ]);
    expect(headers.map((one) => one.authorization)).toEqual(Array(3).fill('Bearer bursar_secret'));
    expect(headers.map((one) => one['idempotency-key'] !== undefined)).toEqual([false, true, true]);
  });

  it('walks the pages of a list, and stops at the most that is wanted', async () => {
    const { remote, asked } = await answering((request) => {
      const cursor = Number(new URL(request.url ?? '', 'http://x').searchParams.get('cursor') ?? 0);
      return [200, { items: [cursor, cursor + 1], nextCursor: cursor < 4 ? String(cursor + 2) : null }];
    });
    expect(await remote.list('/v1/keys')).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await remote.list('/v1/keys', 3)).toEqual([0, 1, 2]);
    expect(asked.slice(-2)).toEqual(['GET /base/v1/keys?limit=3 ', 'GET /base/v1/keys?limit=1&cursor=2 ']);
  });

  it.each([
    ['leaves out where it goes on', { items: [1] }, /does not say where the list continues/, 1],
    ['leads back', { items: [1], nextCursor: 'a' }, /leads back to a page/, 2],
    ['names another after an empty page', { items: [], nextCursor: 'a' }, /an empty page that points to another/, 1],
    ['has no items', { nextCursor: null }, /is not a list/, 1],
  ])('ends where a list %s', async (_what, page, message, requests) => {
    const { remote, asked } = await answering(() => [200, page]);
    await expect(remote.list('/v1/keys')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(message) as string,
    });
    expect(asked).toHaveLength(requests);
  });

  it('ends where the hours of a saving lead back', async () => {
    const { remote, asked } = await answering(() => [200, { ledger: { items: [1], nextCursor: 'a' } }]);
    await expect(new SavingClient(remote).show('one')).rejects.toThrow(/leads back to a page/);
    expect(asked).toHaveLength(2);
  });
});

describe('an answer that is a problem', () => {
  it.each([
    [400, 'invalid'],
    [401, 'denied'],
    [403, 'denied'],
    [404, 'missing'],
    [409, 'conflict'],
    [413, 'invalid'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ] as const)('of status %i is a failure of kind %s with every problem', async (status, kind) => {
    const { remote } = await answering(() => [
      status,
      {
        status,
        title: 'T',
        detail: 'it went wrong',
        requestId: 'r-1',
        problems: [{ path: 'a/b', message: 'is odd' }, { path: null, message: 'too' }, 'rubbish'],
      },
    ]);
    const failure = remote.call('GET', '/v1/costs');
    await expect(failure).rejects.toMatchObject({
      name: 'Failure',
      kind,
      problems: [
        { path: 'a/b', message: 'is odd' },
        { path: null, message: 'too' },
      ],
    });
    await expect(failure).rejects.toThrow(
      status === 401
        ? 'it went wrong (BURSAR_API_KEY)'
        : status >= 500
          ? 'it went wrong (request r-1)'
          : /^it went wrong$/,
    );
  });

  it('without a document says the status', async () => {
    const { remote } = await answering(() => [502, '<html>Bad gateway</html>']);
    await expect(remote.call('GET', '/v1/costs')).rejects.toThrow(/GET \/v1\/costs: status 502$/);
  });

  it('is one too where it is not JSON, or a redirect', async () => {
    const { remote } = await answering(() => [200, '<html>Welcome</html>']);
    await expect(remote.call('GET', '/v1/costs')).rejects.toThrow('is it Bursar?');
    const { remote: other } = await answering(() => [302, '']);
    await expect(other.call('GET', '/v1/costs')).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('counts where it comes in the middle of an upload', async () => {
    server = createServer((request, response) => {
      response
        .writeHead(413, { connection: 'close' })
        .end(JSON.stringify({ detail: 'the file is too long', problems: [] }));
      request.resume();
    });
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const remote = over({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey: 'k' });
    const stream = Readable.from(
      (function* () {
        for (let n = 0; n < 50; n++) yield Buffer.alloc(1 << 16);
      })(),
    );
    await expect(remote.call('POST', '/v1/imports', { stream })).rejects.toThrow('the file is too long');
  });

  it('is a failure to reach it where nobody listens, without the key', async () => {
    const { remote } = await answering(() => [200, '']);
    const closing = server;
    server = null;
    await new Promise<void>((resolve) => void closing?.close(() => resolve()));
    const failure = await remote.call('GET', '/v1/costs').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(
        /^http:\/\/127\.0\.0\.1:\d+ \(BURSAR_URL\) cannot be reached: ECONNREFUSED$/,
      ) as string,
    });
    expect(JSON.stringify(failure)).not.toContain('bursar_secret');
  });
});

it('reads from the metrics what somebody waits for, or of an older server what waits at all', () => {
  const older =
    '# TYPE bursar_work_waiting gauge\nbursar_work_waiting{stage="cost.price"} 12\nbursar_work_waiting{stage="budget.weigh"} 3\nbursar_work_parked{stage="a"} 9\n';
  expect(leftIn(older, true)).toEqual([
    { stage: 'cost.price', keys: 12 },
    { stage: 'budget.weigh', keys: 3 },
  ]);
  const newer = `${older}# TYPE bursar_work_urgent gauge\nbursar_work_urgent{stage="cost.price"} 0\nbursar_work_urgent{stage="budget.weigh"} 1\n`;
  expect(leftIn(newer, true)).toEqual([{ stage: 'budget.weigh', keys: 1 }]);
  expect(leftIn(newer, false)).toEqual(leftIn(older, true));
  expect(leftIn('', true)).toEqual([]);
});

describe('progress', () => {
  const shown = (isTTY: boolean): { progress: Progress; written: () => string; at: (now: number) => void } => {
    let [out, now] = ['', 0];
    return {
      progress: new Progress({ isTTY, write: (part) => (out += part) }, { now: () => now }),
      written: () => out,
      at: (instant) => (now = instant),
    };
  };

  it('rewrites one line of a terminal, not too often, and takes it away', () => {
    const { progress, written, at } = shown(true);
    progress.show('one');
    progress.show('two');
    at(1000);
    progress.show('three\u001b[2J');
    progress.end();
    progress.end();
    expect(written()).toBe('\r\u001b[Kone\r\u001b[Kthree [2J\r\u001b[K');
  });

  it('is silent where nobody watches', () => {
    const { progress, written } = shown(false);
    progress.show('one');
    progress.end();
    expect(written()).toBe('');
  });

  it('refuses a key that no header can carry, and does not show it', () => {
    for (const apiKey of ['bursar_“abc”', 'bursar_a\nb', 'bursar_a b', 'bursar_密'])
      expect(() => over({ url: 'http://127.0.0.1:9', apiKey })).toThrow(/^BURSAR_API_KEY holds a character/);
    expect(() => over({ url: 'http://127.0.0.1:9', apiKey: '' })).not.toThrow();
  });

  it('says of a folder that is sent as a file what is wrong, not that the server is away', async () => {
    const { remote } = await answering(() => [200, {}]);
    await expect(remote.call('POST', '/v1/imports', { stream: createReadStream(tmpdir()) })).rejects.toThrow(
      'the file cannot be read: EISDIR',
    );
  });
});
