/**
 * What a stranger, or a key in the wrong hands, sends to wear the service out: bodies that unpack to far more than they
 * are, that are nested without end, that come a byte at a time, and requests without end. Over HTTP on a real
 * PostgreSQL. What is asserted is that each is refused and for what; never how long it took.
 */
import * as fc from 'fast-check';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Principal } from '../../src/store/access/keys.js';
import { DEFAULT_GATE, Gate } from '../../src/web/gate.js';
import { endpoints } from '../../src/web/web.module.js';
import { testApi } from '../support/web.js';

const JSON_GZIP = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
const review = (object: string): string =>
  `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x","kind":{"kind":"Pod"},"operation":"CREATE","object":${object}}}`;
const many = (what: string, times: number): string => `[${`${what},`.repeat(times - 1)}${what}]`;
const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a body of a few kilobytes that is many megabytes', async () => {
  const api = await testApi();

  it('is not unpacked for anybody without a key that holds', async () => {
    const body = gzipSync(review(`{"spec":{"containers":${many('{}', 2_700_000)}}}`));
    expect(body.length).toBeLessThan(10_000);
    for (const key of [null, `bursar_000000000000_${'a'.repeat(43)}`])
      expect(await api.call('POST', '/admission/v1/reviews', { key, body, headers: JSON_GZIP })).toMatchObject({
        status: 415,
        body: { detail: 'a compressed body needs a valid key' },
      });
    const signIn = { ...JSON_GZIP, 'x-bursar-session': '1' };
    expect((await api.call('POST', '/session', { key: null, body: gzipSync('{}'), headers: signIn })).status).toBe(415);
  });

  it('is not read further than open routes need, however it comes', async () => {
    const body = review(`{"spec":{"containers":${many('{}', 2_700_000)}}}`);
    const headers = { 'content-type': 'application/json' };
    expect((await api.call('POST', '/admission/v1/reviews', { key: null, body, headers })).status).toBe(413);
    for (const { path, method, access, takes, inputs, mostUnknownBytes = 16 << 10 } of endpoints()) {
      const hasBody = inputs.body !== undefined || takes === 'bytes';
      if (access !== 'open' || !hasBody) continue;
      expect([method, path, mostUnknownBytes <= 256 << 10, takes === 'upload']).toEqual([method, path, true, false]);
    }
  });

  it('is bounded in its ratio, its values and its depth for a key that holds', async () => {
    const send = async (path: string, text: string, packed: boolean): Promise<unknown> => {
      const body = packed ? gzipSync(text) : text;
      const headers = packed ? JSON_GZIP : { 'content-type': 'application/json' };
      const { status, body: problem } = await api.call('POST', path, { body, headers });
      return [status, problem['detail'], (problem['problems'] as { message: string }[])[0]?.message];
    };
    const grows = [413, 'the gzip data grows to more than 200 times its size', undefined];
    expect(await send('/v1/usage', many('{}', 5_000_000), true)).toEqual(grows);
    expect(await send('/v1/samples', `{"samples":${many('{}', 5_000_000)}}`, true)).toEqual(grows);
    const more = 'the body is larger than is accepted here';
    expect(await send('/v1/samples', `{"samples":${many('1', 4_200_000)}}`, false)).toEqual([
      400,
      more,
      'holds more than 4194304 values',
    ]);
    for (const path of ['/v1/rules/preview', '/v1/samples', '/v1/usage', '/v1/policies/validate'])
      expect(await send(path, deep(200_000), false)).toEqual([400, more, 'is nested deeper than 100']);
    expect(await send('/v1/samples', `{"samples":${many('{}', 20_001)}}`, false)).toEqual([
      400,
      'the request has 1 problem(s)',
      'has more than 20000 entries',
    ]);
  });

  it('of lines has a line that is too deep for a record that cannot be read', async () => {
    const headers = { 'content-type': 'application/x-ndjson' };
    const body = `${deep(5000)}\n{"a":1}\n`;
    expect((await api.call('POST', '/v1/usage', { body, headers })).body).toMatchObject({ rejected: 2, accepted: 0 });
  });

  it('of few records that would become millions of hours is refused whole, and a year of a machine is not', async () => {
    const year = (n: number) => ({
      id: `year-${n}`,
      provider: 'AWS',
      account: `account-${n}`,
      sku: 'p5.48xlarge',
      gpus: 8,
      start: '2024-01-01T00:00:00Z',
      end: '2025-01-01T00:00:00Z',
    });
    const records = Array.from({ length: 40 }, (_, n) => year(n));
    const { status, body } = await api.call<{ detail: string }>('POST', '/v1/usage', { body: { records } });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('more than 250000 hours')]);
    expect(await api.stores.db.query(`select 1 from usage_hour limit 1`)).toEqual([]);
    expect((await api.call('POST', '/v1/usage', { body: { records: [year(1)] } })).body).toMatchObject({ accepted: 1 });
  });

  it('is listed with a thousand problems at most, and says how many there are', async () => {
    const { body } = await api.call('POST', '/v1/samples', {
      body: { samples: Array.from({ length: 2000 }, () => ({})) },
    });
    expect(body['detail']).toBe('the request has 6000 problem(s); the first 1000 are listed');
    expect(body['problems']).toHaveLength(1000);
  });
});

describe('texts that cannot be stored', async () => {
  const api = await testApi();
  const BAD = ['a\u0000b', 'a\ud800b', '\udfff'];

  it('are a problem with its place wherever something is written', async () => {
    for (const text of BAD) {
      for (const [method, path, body] of [
        ['PUT', '/v1/teams/red', { name: text }],
        ['POST', '/v1/keys', { name: text, role: 'viewer' }],
        ['PUT', '/v1/rules', { rules: [{ match: { tag: { key: text, value: 'x' } }, team: 'red' }] }],
        ['PUT', '/v1/admission', { contact: text }],
        ['PUT', '/v1/limits', { protectedLabels: { [text]: '*' } }],
        ['PUT', '/v1/policies/p', { policy: 'idle-stop', teams: '*', mode: 'observe', params: { a: text } }],
        ['PUT', '/v1/budgets/b', { team: text, period: 'month', planned: '1' }],
        ['POST', '/v1/samples', { samples: [{ resource: text, gpu: 'g', at: 0 }] }],
        ['POST', '/v1/stop', { team: text }],
      ] as const) {
        const reply = await api.call(method, path, { body });
        expect([method, path, reply.status, reply.text]).toEqual([
          method,
          path,
          400,
          expect.stringMatching(/holds (?:a NUL character|half of a surrogate pair)/),
        ]);
      }
    }
    expect((await api.call('GET', '/v1/costs?team=a%00b')).status).toBe(400);
    expect((await api.call('GET', '/v1/teams/a%00b')).status).toBe(400);
    expect(
      (
        await api.call('PUT', '/v1/teams/x', {
          body: '{"__proto__":{"a":1}}',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(400);
  });

  it('never keep the kill switch from being pulled', async () => {
    for (const reason of [...BAD, 'x'.repeat(5000), '', 7, null, { why: 'fire' }, ['\u0000']]) {
      const { status, body } = await api.call<{ stops: { reason: string }[] }>('POST', '/v1/stop', {
        body: { reason },
      });
      expect([reason, status]).toEqual([reason, 200]);
      const kept = body.stops[0]?.reason ?? '';
      expect(kept.isWellFormed() && !kept.includes('\u0000') && kept.length <= 1000).toBe(true);
    }
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary', maxLength: 50 }), fc.json()), async (reason) => {
        const body = `{"reason":${JSON.stringify(reason)}}`;
        const headers = { 'content-type': 'application/json' };
        expect((await api.call('POST', '/v1/stop', { body, headers })).status).toBe(200);
      }),
      { numRuns: 20 },
    );
  });
});

describe('changes that meet', async () => {
  const api = await testApi();

  it('of the rules all hold, one after the other', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        api.call('PUT', '/v1/rules', { body: { rules: [{ match: {}, team: `t${n}` }] } }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(replies.map(({ body }) => body['version']).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const late = await Promise.all(
      [8, 8].map((replaces) => api.call('PUT', '/v1/rules', { body: { replaces, rules: [] } })),
    );
    expect(late.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('of a team hold for what they name, and for nothing else', async () => {
    const put = (body: unknown) => api.call('PUT', '/v1/teams/lab', { body });
    await api.call('PUT', '/v1/teams/top', { body: {} });
    const whole = { name: 'Lab', parent: 'top', zone: 'Asia/Shanghai', currency: 'CNY' };
    await put(whole);
    expect((await put({})).body).toMatchObject(whole);
    expect((await put({ name: 'Laboratory' })).body).toMatchObject({ ...whole, name: 'Laboratory' });
    expect((await put({ parent: null })).body).toMatchObject({ ...whole, name: 'Laboratory', parent: null });
    await Promise.all([put({ zone: 'UTC' }), put({ currency: 'EUR' })]);
    expect((await api.call('GET', '/v1/teams/lab')).body).toMatchObject({ zone: 'UTC', currency: 'EUR' });
    await api.stores.db.query(`update team set assigned_by = 'a rule' where id = 'lab'`);
    expect((await put({})).body).toMatchObject({ assignedBy: 'a rule' });
    // What GET answered, sent back unchanged, changes nothing.
    const { id: _, assignedBy: __, ...same } = (await put({})).body as Record<string, unknown>;
    expect((await put(same)).body).toMatchObject({ assignedBy: 'a rule' });
    expect((await put({ name: 'Lab' })).body).toMatchObject({ assignedBy: null });
  });

  it('of a team stay within the teams of a key', async () => {
    const key = await api.keyFor({ role: 'operator', teams: ['top'] });
    const put = (body: unknown) => api.call('PUT', '/v1/teams/top', { key, body });
    expect([(await put({ name: 'T' })).status, (await put({ parent: null })).status]).toEqual([200, 403]);
  });
});

/** A connection that sends what it is given, and what came back on it when it has ended. */
function raw(url: string): { readonly socket: Socket; readonly ended: Promise<string> } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let heard = '';
  const ended = new Promise<string>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
    socket.on('error', () => undefined).once('close', () => resolve(heard));
  });
  return { socket, ended };
}

const head = (method: string, path: string, key: string | null, length: number): string =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\n${key === null ? '' : `authorization: Bearer ${key}\r\n`}` +
  `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

describe('a body that does not come', async () => {
  const api = await testApi({ gate: { ...DEFAULT_GATE, slowBodySeconds: 0.2, bodiesAtOnce: 16 } });

  it('is given up, with a key, without one, and of a file', async () => {
    for (const [path, key] of [
      ['/v1/usage', api.admin],
      ['/v1/imports?filename=a.csv', api.admin],
      ['/admission/v1/reviews', null],
      ['/session', null],
    ] as const) {
      const { socket, ended } = raw(api.url);
      socket.write(`${head('POST', path, key, 5000)}{`);
      expect(await ended).toMatch(/^HTTP\/1\.1 408 /);
    }
  });

  it('is not waited for where its sender is refused', async () => {
    for (const [path, key] of [
      ['/v1/usage', null],
      ['/v1/nothing', api.admin],
    ] as const) {
      const { socket, ended } = raw(api.url);
      socket.write(`${head('POST', path, key, 5000)}{`);
      expect(await ended).toMatch(/^HTTP\/1\.1 40[14] /);
    }
  });

  it('is taken where it comes slowly but comes', async () => {
    const { socket, ended } = raw(api.url);
    const body = Buffer.from(JSON.stringify({ records: [], note: 'x'.repeat(40_000) }));
    socket.write(head('POST', '/v1/usage', api.admin, body.length).replace('host: x', 'host: x\r\nconnection: close'));
    for (let at = 0; at < body.length; at += 1000) {
      socket.write(body.subarray(at, at + 1000));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await ended).not.toMatch(/^HTTP\/1\.1 408 /);
  });
});

describe('bodies at once', async () => {
  const most = 16;
  const api = await testApi({ gate: { ...DEFAULT_GATE, slowBodySeconds: 120, bodiesAtOnce: most } });

  it('are so many of one sender, who is told to come later, and those of others are taken', async () => {
    const all = Array.from({ length: most + 4 }, () => raw(api.url));
    for (const { socket } of all) socket.write(`${head('POST', '/v1/usage', api.admin, 5000)}{`);
    const refused: string[] = [];
    const note = async (ended: Promise<string>): Promise<void> => void refused.push(await ended);
    for (const { ended } of all) void note(ended);
    await expect.poll(() => refused.length, { timeout: 60_000 }).toBe(4);
    expect(refused.map((text) => text.slice(9, 12))).toEqual(['429', '429', '429', '429']);
    expect(refused[0]?.toLowerCase()).toContain('retry-after: 1');
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
    const other = await api.keyFor({ role: 'operator' });
    expect((await api.call('POST', '/v1/stop', { key: other, body: {} })).status).toBe(200);
    for (const { socket } of all) socket.destroy();
    await Promise.all(all.map(({ ended }) => ended));
    await expect.poll(async () => (await api.call('PUT', '/v1/teams/x', { body: {} })).status).toBe(200);
  });
});

describe('requests without end', async () => {
  const limits = { ...DEFAULT_GATE, requestsPerKey: 2, requestsPerAddress: 2, wrongKeysPerMinute: 5 };
  const api = await testApi({ gate: limits });

  it('of one key are told to come later, and trouble no other key', async () => {
    const key = await api.keyFor({});
    const replies = await Promise.all(Array.from({ length: 60 }, () => api.call('GET', '/v1/teams', { key })));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused[0]?.headers.get('content-type')).toContain('application/problem+json');
    expect((await api.call('GET', '/v1/teams', { key: await api.keyFor({}) })).status).toBe(200);
  });

  it('of guessed keys stop being looked up, while keys that have held go on', async () => {
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
    const guess = (n: number) => `bursar_${String(n).padStart(12, '0')}_${'a'.repeat(43)}`;
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++) statuses.push((await api.call('GET', '/v1/teams', { key: guess(n) })).status);
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(statuses.at(-1)).toBe(429);
    const signIn = { 'x-bursar-session': '1' };
    const body = { key: guess(99) };
    expect((await api.call('POST', '/session', { key: null, body, headers: signIn })).status).toBe(429);
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
    // Other keys of people behind the same address, also after whatever was remembered of them was forgotten.
    const [other, revoked] = [await api.keyFor({}), await api.keyFor({})];
    const idOf = (key: string): string => key.split('_')[1] ?? '';
    expect((await api.call('DELETE', `/v1/keys/${idOf(revoked)}`)).status).toBe(200);
    await expect
      .poll(async () => (await api.call('GET', '/v1/teams', { key: other })).status, { timeout: 30_000 })
      .toBe(200);
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
    // A known key's other secrets are guessed a few times.
    const secrets: number[] = [];
    for (let n = 0; n < 9; n++)
      secrets.push(
        (await api.call('GET', '/v1/teams', { key: `bursar_${idOf(other)}_${String(n).repeat(43)}` })).status,
      );
    expect([secrets.slice(0, 5), secrets.at(-1)]).toEqual([[401, 401, 401, 401, 401], 429]);
    expect((await api.call('GET', '/v1/teams', { key: other })).status).toBe(200);
  });

  it('never keep an orchestrator from its probes', async () => {
    for (let n = 0; n < 60; n++) expect((await api.call('GET', '/healthz', { key: null })).status).toBe(200);
    const replies = await Promise.all(Array.from({ length: 60 }, () => api.call('GET', '/docs', { key: null })));
    expect(replies.some(({ status }) => status === 429)).toBe(true);
  });
});

describe('what one caller may have the others wait for', async () => {
  const limits = { ...DEFAULT_GATE, extraHoursAtOnce: 10_000, computingMsAtOnce: 0 };
  const api = await testApi({ gate: limits });

  it('is so many hours of usage, whatever the number of requests', async () => {
    const year = (id: string) => ({
      id,
      provider: 'AWS',
      sku: id,
      gpus: 8,
      start: '2024-01-01T00:00:00Z',
      end: '2025-01-01T00:00:00Z',
    });
    const send = async (key: string, ...ids: string[]): Promise<number> =>
      (await api.call('POST', '/v1/usage', { key, body: { records: ids.map(year) } })).status;
    const [meter, other] = [await api.keyFor({ role: 'operator' }), await api.keyFor({ role: 'operator' })];
    expect(await send(meter, 'a')).toBe(200);
    expect(await send(meter, 'b')).toBe(429);
    // The same again is spread over nothing new.
    expect(await send(meter, 'a')).toBe(200);
    expect(await send(other, 'b')).toBe(200);
    const short = { ...year('c'), end: '2024-01-02T00:00:00Z' };
    expect((await api.call('POST', '/v1/usage', { key: meter, body: { records: [short] } })).status).toBe(200);
  });

  it('is so much of the processor for answers that are computed', async () => {
    await api.call('POST', '/v1/throughput-measurements', {
      body: {
        team: 'red',
        measurements: [{ model: 'own', gpuModel: 'A100-80GB', gpuCount: 1, batch: 1, samplesPerSecond: 1 }],
      },
    });
    const asked = { team: 'red', model: 'own', gpuModel: 'H100', gpuCount: 1, batch: 2 };
    expect((await api.call('POST', '/v1/throughput-predictions', { body: asked })).status).toBe(429);
    const measured = { team: 'red', reference: 'A100-80GB', model: 'own' };
    const body = { kind: 'training', gpus: 1, hours: 1, memoryGibPerGpu: 1, measured };
    expect((await api.call('POST', '/v1/placements', { body })).status).toBe(429);
  });
});

describe('the gate', () => {
  it('keeps bodies of known callers apart from those of nobody, however many addresses these have', () => {
    const gate = new Gate(DEFAULT_GATE, () => 0);
    const refused = expect.objectContaining({ statusCode: 429 });
    // The share of all who are not known is that of four addresses.
    for (let n = 0; n < 128; n++) gate.body(null, `10.0.0.${n % 4}`);
    expect(() => gate.body(null, '10.0.0.9')).toThrow(refused);
    expect(() => gate.body({ organisation: 'default', id: 'ada' } as Principal, '10.0.0.1')).not.toThrow();
  });

  it('counts the addresses of an IPv6 network as one', () => {
    const gate = new Gate({ ...DEFAULT_GATE, requestsPerAddress: 1 }, () => 0);
    for (let n = 0; n < 10; n++) gate.pass(null, `2001:db8:0:1::${n.toString(16)}`);
    expect(() => gate.pass(null, '2001:0db8:0000:0001:ffff:1:2:3')).toThrow();
    expect(() => gate.pass(null, '2001:db8:0:2::1')).not.toThrow();
    expect(() => gate.pass(null, '2001:db8::1')).not.toThrow();
    for (let n = 0; n < 20; n++) gate.pass(null, `::ffff:10.0.0.${n}`);
  });

  it('charges computed answers with their time, after which others have their turn', () => {
    let now = 0;
    const gate = new Gate(DEFAULT_GATE, () => now);
    const [ada, bob] = ['ada', 'bob'].map((id) => ({ organisation: 'default', id }) as Principal);
    const answer = (milliseconds: number) => () => void (now += milliseconds);
    gate.compute(ada!, answer(11_000));
    expect(() => gate.compute(ada!, answer(1))).toThrow(expect.objectContaining({ retryAfterSeconds: 6 }));
    gate.compute(bob!, answer(1));
    now += 6000;
    gate.compute(ada!, answer(1));
  });

  it('lets nobody have more than the burst and the rate, and whoever waits as it says gets in', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 3000 })), { maxLength: 200 }),
        (asked) => {
          let now = 0;
          const gate = new Gate({ ...DEFAULT_GATE, requestsPerAddress: 3 }, () => now);
          const passed = new Map<string, number>();
          for (const [address, later] of asked) {
            now += later;
            try {
              gate.pass(null, address);
              passed.set(address, (passed.get(address) ?? 0) + 1);
            } catch (error) {
              const { retryAfterSeconds } = error as { retryAfterSeconds: number };
              now += retryAfterSeconds * 1000;
              gate.pass(null, address);
              passed.set(address, (passed.get(address) ?? 0) + 1);
            }
          }
          for (const count of passed.values()) expect(count).toBeLessThanOrEqual(30 + 3 * (now / 1000) + 1e-6);
        },
      ),
    );
  });
});

describe.each([
  { what: 'that the installation trusts', trustedProxies: ['127.0.0.0/8', '::1'], isHeard: true },
  { what: 'that nobody has named', trustedProxies: [], isHeard: false },
])('the address that a proxy names, $what', async ({ trustedProxies, isHeard }) => {
  // One a second, ten at once.
  const api = await testApi({ gate: { ...DEFAULT_GATE, requestsPerAddress: 1 }, trustedProxies });

  it('is that of the request, or is not listened to', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const headers = { 'x-forwarded-for': `203.0.113.${n}` };
        return (await api.call('GET', '/openapi.json', { key: null, headers })).status;
      }),
    );
    expect(statuses.includes(429)).toBe(!isHeard);
  });
});
