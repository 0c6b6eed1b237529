/** What the log says of requests: the route and the caller by name, and nothing that was sent. */
import { Logger } from '@nestjs/common';
import { fastify } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ProcessLog } from '../../src/log.js';
import { logRequests } from '../../src/web/request-log.js';
import { testApi } from '../support/web.js';

type Event = Readonly<Record<string, unknown>>;
let lines: string[] = [];
const events = (): Event[] => lines.map((line) => JSON.parse(line) as Event).filter(({ name }) => name === 'request');

/** The answer may be there before its event is. */
async function logged(count: number): Promise<Event[]> {
  for (let look = 0; look < 200 && events().length < count; look++)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(events()).toHaveLength(count);
  return events();
}

const listen = (): void =>
  Logger.overrideLogger(
    new ProcessLog({ level: 'debug', format: 'json' }, { now: () => 0 }, (line) => lines.push(line)),
  );
beforeEach(() => void (lines = []));
afterAll(() => Logger.overrideLogger(false));

describe('the log of requests', async () => {
  const api = await testApi();
  beforeAll(listen);

  it("names the route, the caller's key by its id, and the request by the id that it came with", async () => {
    const id = api.admin.split('_')[1];
    const reply = await api.call('PUT', '/v1/teams/red?note=hush', {
      body: { name: 'hush' },
      headers: { 'x-request-id': 'trace-me.1', 'idempotency-key': 'hush-1' },
    });
    expect(reply.headers.get('x-request-id')).toBe('trace-me.1');
    const ok = await api.call('PUT', '/v1/teams/red', {
      body: { name: 'hush' },
      headers: { 'x-request-id': 'bad id', 'idempotency-key': 'hush-2' },
    });
    const [first, second] = await logged(2);
    expect(first).toMatchObject({
      level: 'info',
      message: 'PUT /v1/teams/:id',
      method: 'PUT',
      route: '/v1/teams/:id',
      status: reply.status,
      principal: `key:${id}`,
      requestId: 'trace-me.1',
      durationMs: expect.any(Number) as number,
    });
    // An id that is none is replaced, and the new one is told.
    expect(second).toMatchObject({ requestId: ok.headers.get('x-request-id'), status: 200 });
    expect(second?.['requestId']).toMatch(/^[\da-f]{8}-/);
    expect(lines.join('')).not.toContain('hush');
    expect(lines.join('')).not.toContain(api.admin);
  });

  it('is for who looks into something where nothing is changed', async () => {
    await api.call('GET', '/v1/teams', { key: null });
    await api.call('GET', '/healthz', { key: null });
    await api.call('POST', `/admission/v1/reviews/${api.admin}`, { key: null, body: {} });
    await api.call('GET', '/hush/never', { key: null });
    expect(
      (await logged(4)).map(({ level, message, status, principal }) => [level, message, status, principal]),
    ).toEqual([
      ['debug', 'GET /v1/teams', 401, null],
      ['debug', 'GET /healthz', 200, null],
      ['debug', 'POST /admission/v1/reviews/:key', 400, null],
      ['debug', 'GET (no route)', 404, null],
    ]);
    expect(lines.join('')).not.toContain(api.admin.split('_').slice(2).join('_'));
    expect(lines.join('')).not.toContain('hush');
  });
});

describe('a request that ends badly', () => {
  beforeAll(listen);

  it('is a warning', async () => {
    const server = fastify();
    server.decorateRequest('principal', null);
    logRequests(server);
    server.get('/broken/:part', async (_, reply) => reply.status(503).send('no'));
    await server.inject('/broken/here');
    expect(await logged(1)).toMatchObject([
      { level: 'warn', message: 'GET /broken/:part', status: 503, principal: null },
    ]);
    await server.close();
  });
});
