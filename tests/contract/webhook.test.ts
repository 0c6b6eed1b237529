/**
 * The webhook provider over real HTTP: before receivers of this file that answer by script, and before the example
 * receiver in a process of its own, with a gate between them that loses requests or answers.
 */
import type { Clock } from '../../src/core/time.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { spawn, type ChildProcess } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { wallClock } from '../../src/clock.js';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { PriceEvent } from '../../src/core/price/price.js';
import type { RecordBatch } from '../../src/core/usage.js';
import {
  descriptionSchema,
  envelopeOf,
  errorSchema,
  OPERATIONS,
  RESPONSES,
  type Operation,
} from '../../src/providers/webhook/contract.js';
import { openApi } from '../../src/providers/webhook/openapi.js';
import { signedHeaders } from '../../src/providers/webhook/signature.js';
import { provider } from '../../src/providers/webhook/webhook.js';
import { ROOT } from '../support/source.js';
import { describeProviderContract } from './contract.js';
import { all, failureOf, ScriptedServer, type Asked, type Scripted } from './scripted-server.js';
import { fleetTarget } from '../support/makers.js';

const secret = (letter: string): string => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;
const READ = secret('r');
const ACT = secret('a');
const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const clock: Clock = { now: () => NOW };
const SCALE: Effect = { kind: 'scale', target: 'group/train', replicas: 6 };
const DESCRIPTION = {
  contract: 1,
  name: 'hall 2',
  abilities: { prices: true, usage: true, fleet: true, offers: true, effects: ['scale', 'purchase'] },
};
const TARGET = {
  target: 'group/train',
  kind: 'group',
  name: 'train',
  provider: 'Acme',
  state: 'running',
  billing: 'billed',
};

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function connect(url: string, settings: Readonly<Record<string, string>> = {}, at: Clock = clock): ProviderConnection {
  const connection = provider.connect(
    { BURSAR_WEBHOOK_URL: url, BURSAR_WEBHOOK_SECRET: READ, BURSAR_WEBHOOK_ACT_SECRET: ACT, ...settings },
    at,
  );
  if (connection === null) throw new Error('there are settings');
  return connection;
}

/** A receiver that describes itself and else answers by script. */
async function scripted(
  answer: (operation: string, asked: Asked) => Scripted | Promise<Scripted>,
): Promise<ScriptedServer> {
  const server = await ScriptedServer.start((asked) =>
    asked.method === 'GET' ? { body: DESCRIPTION } : answer(asked.url.split('/').at(-1) ?? '', asked),
  );
  stops.push(() => server.stop());
  return server;
}

/** The signature of the specification, computed by another implementation (Web Crypto). */
async function signatureOf({ headers, body }: Asked, whsec: string): Promise<string> {
  const key = await webcrypto.subtle.importKey(
    'raw',
    Buffer.from(whsec.slice(6), 'base64'),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  );
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  return `v1,${Buffer.from(await webcrypto.subtle.sign('HMAC', key, Buffer.from(content))).toString('base64')}`;
}

describe('the signature', () => {
  it('is that of the Standard Webhooks libraries for their own example', () => {
    const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
    expect(signedHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [key])).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('covers id, time and body of every request; actions with their own secret, ids never twice', async () => {
    const server = await scripted((operation) => ({
      body:
        operation === 'fleet' ? { targets: [] } : operation === 'apply' ? { outcome: 'taken' } : { outcome: 'absent' },
    }));
    const connection = connect(`${server.url}/below/`);
    await connection.fleet?.();
    await connection.apply?.(SCALE, 'token-1', null);
    await connection.outcome?.(SCALE, 'token-1');
    expect(server.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /below/',
      'POST /below/fleet',
      'POST /below/apply',
      'POST /below/outcome',
    ]);
    expect(new Set(server.asked.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
    for (const asked of server.asked) {
      expect(asked.headers['webhook-timestamp']).toBe(String(NOW / 1000));
      expect(asked.headers['webhook-signature']).toBe(
        await signatureOf(asked, asked.url.endsWith('/apply') ? ACT : READ),
      );
      expect(JSON.stringify(asked.headers)).not.toContain('authorization');
    }
    expect(JSON.parse(server.asked[2]?.body ?? '')).toEqual({
      type: 'bursar.apply',
      timestamp: '2026-01-01T00:00:00.000Z',
      data: { token: 'token-1', effect: SCALE, before: null },
    });
  });

  it('is there twice while a secret is replaced, the newer first', async () => {
    const server = await scripted(() => ({ body: { target: null } }));
    await connect(server.url, { BURSAR_WEBHOOK_SECRET: `${secret('n')} ${READ}` }).target?.('x');
    const [asked] = server.asked as [Asked];
    expect(asked.headers['webhook-signature']).toBe(
      `${await signatureOf(asked, secret('n'))} ${await signatureOf(asked, READ)}`,
    );
  });
});

describe('the settings', () => {
  it('are none, or all that is wrong is named and no value', async () => {
    expect(provider.connect({ BURSAR_WEBHOOK_URL: ' ' }, clock)).toBeNull();
    const failure = await failureOf(() =>
      provider.connect(
        {
          BURSAR_WEBHOOK_URL: 'http://receiver.example/?key=hush',
          BURSAR_WEBHOOK_SECRET: 'hush-hush',
          BURSAR_WEBHOOK_ACT_SECRET: `${ACT} ${ACT} ${ACT}`,
          BURSAR_WEBHOOK_TIMEOUT_SECONDS: '0',
        },
        clock,
      ),
    );
    expect(failure).toMatchObject({ kind: 'invalid' });
    expect(failure.problems.map((problem) => problem.path)).toEqual([
      'BURSAR_WEBHOOK_URL',
      'BURSAR_WEBHOOK_SECRET',
      'BURSAR_WEBHOOK_ACT_SECRET',
      'BURSAR_WEBHOOK_TIMEOUT_SECONDS',
    ]);
    expect(JSON.stringify(failure) + failure.message).not.toMatch(/hush|YWFh/);
  });

  it.each([
    ['http://receiver.example', false],
    ['https://receiver.example/x', true],
    ['http://127.0.0.2:80', true],
    ['http://localhost', true],
    ['http://[::1]:8080', true],
    ['https://u:p@receiver.example', false],
    ['http://127.0.0.1.example', false],
    ['ftp://localhost', false],
    ['https://receiver.example/#x', false],
    ['https://receiver.example/?x', false],
  ])('take %s: %s', (url, right) => {
    const connecting = (): unknown => connect(url);
    if (right) expect(connecting()).not.toBeNull();
    else expect(connecting).toThrow('BURSAR_WEBHOOK_URL');
  });

  it('take no secret for both uses', () => {
    expect(() => connect('https://receiver.example', { BURSAR_WEBHOOK_ACT_SECRET: `${ACT} ${READ}` })).toThrow(
      'ACT_SECRET holds a secret of BURSAR_WEBHOOK_SECRET',
    );
  });
});

describe('an answer to apply', () => {
  const wrongCode = { code: 'Not A Code', detail: 'x' };
  it.each<[string, Scripted, object]>([
    [
      '200 taken',
      { body: { outcome: 'taken', reference: 'c-1', detail: 'on its way' } },
      { kind: 'taken', reference: 'c-1', detail: 'on its way' },
    ],
    ['200 unknown', { body: { outcome: 'unknown' } }, { kind: 'unknown' }],
    ['200 refused, which is no answer to apply', { body: { outcome: 'refused', code: 'no' } }, { kind: 'unknown' }],
    [
      '200 without JSON',
      { body: '<html>' },
      { kind: 'unknown', detail: 'the answer is not of the contract: is not JSON' },
    ],
    ['200 with bytes that are no text', { body: Buffer.from([0xff, 0xfe]) }, { kind: 'unknown' }],
    [
      '409 with a code',
      { status: 409, body: { code: 'revision-changed', detail: 'moved on' } },
      { kind: 'refused', code: 'revision-changed', detail: 'moved on' },
    ],
    [
      '422 with a code',
      { status: 422, body: { code: 'out-of-bounds' } },
      { kind: 'refused', code: 'out-of-bounds', detail: '' },
    ],
    ['409 without a code', { status: 409, body: wrongCode }, { kind: 'unknown' }],
    ['401', { status: 401, body: { code: 'bad-signature' } }, { failure: 'denied' }],
    ['403', { status: 403 }, { failure: 'denied' }],
    ['404', { status: 404 }, { failure: 'invalid' }],
    ['400', { status: 400, body: { code: 'not-json' } }, { failure: 'invalid' }],
    ['429', { status: 429, headers: { 'retry-after': '7' } }, { failure: 'unavailable', message: 'again in 7 s' }],
    [
      '503 with Retry-After',
      { status: 503, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:02:00 GMT' } },
      { failure: 'unavailable', message: 'again in 120 s' },
    ],
    ['503 without', { status: 503 }, { kind: 'unknown' }],
    ['500', { status: 500, headers: { 'retry-after': '1' } }, { kind: 'unknown', detail: 'the receiver answered 500' }],
    ['504', { status: 504 }, { kind: 'unknown' }],
    ['302', { status: 302, headers: { location: '/elsewhere' } }, { kind: 'unknown' }],
    ['none, the connection is cut', { instead: 'drop' }, { kind: 'unknown' }],
    ['none in time', { instead: 'hang' }, { kind: 'unknown', detail: 'no answer within 0.2 s' }],
    [
      'one that is too large',
      { headers: { 'content-length': String(9 << 20) }, body: Buffer.alloc(9 << 20, ' ') },
      { kind: 'unknown' },
    ],
  ])('%s', async (_, answer, expected) => {
    const server = await scripted(() => answer);
    const connection = connect(server.url, { BURSAR_WEBHOOK_TIMEOUT_SECONDS: '0.2' });
    await connection.fleet?.().catch(() => null);
    const outcome = await Promise.resolve(connection.apply?.(SCALE, 'token-1', null)).catch((error: unknown) => ({
      failure: (error as { kind: string }).kind,
      message: (error as Error).message,
    }));
    expect(outcome).toMatchObject(
      'message' in expected ? { ...expected, message: expect.stringContaining(String(expected.message)) } : expected,
    );
    // Whatever came of it: it was sent once.
    expect(server.asked.filter(({ url }) => url === '/apply')).toHaveLength(1);
  });

  it('is not waited for where the effect is not offered, the connection is read-only, or nobody listens', async () => {
    const server = await scripted(() => ({ body: { outcome: 'taken' } }));
    expect(await connect(server.url).apply?.({ kind: 'drain', target: 'x' }, 'token-1', null)).toMatchObject({
      kind: 'refused',
      code: 'unsupported-effect',
    });
    const readOnly = connect(server.url, { BURSAR_WEBHOOK_ACT_SECRET: '' });
    expect(readOnly.canAct).toBe(false);
    expect(await failureOf(() => readOnly.apply?.(SCALE, 'token-1', null))).toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('BURSAR_WEBHOOK_ACT_SECRET'),
    });
    expect(server.asked.map(({ method }) => method)).toEqual(['GET']);
    // No connection is kept open: what is closed then is surely not there.
    const closing = await ScriptedServer.start(() => ({ headers: { connection: 'close' }, body: DESCRIPTION }));
    const known = connect(closing.url);
    await known.offers?.().catch(() => null);
    await closing.stop();
    expect(await failureOf(() => known.apply?.(SCALE, 'token-1', null))).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('carries what a purchase may cost as a decimal string', async () => {
    const server = await scripted(() => ({ body: { outcome: 'taken' } }));
    const effect: Effect = {
      kind: 'purchase',
      target: 'commitment/a100',
      offer: 'a100-8-1y',
      units: 2,
      mostNanos: 40_000_500_000_001n,
      currency: 'USD',
    };
    await connect(server.url).apply?.(effect, 'token-1', null);
    expect(JSON.parse(server.asked[1]?.body ?? '')).toMatchObject({
      data: { effect: { kind: 'purchase', most: '40000.500000001', units: 2 } },
    });
  });
});

describe('what a receiver must not do', () => {
  it('lead a signed request elsewhere', async () => {
    const elsewhere = await scripted(() => ({ body: { targets: [] } }));
    const server = await scripted(() => ({ status: 307, headers: { location: `${elsewhere.url}/fleet` } }));
    expect(await failureOf(() => connect(server.url).fleet?.())).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('redirects are not followed'),
    });
    expect(elsewhere.asked).toEqual([]);
  });

  it.each<[string, Scripted]>([
    ['stated', { headers: { 'content-length': String(9 << 20) }, body: Buffer.alloc(9 << 20, ' ') }],
    ['not stated', { endless: Buffer.alloc(1 << 16, ' ') }],
    ['packed', { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(64 << 20, ' ')) }],
  ])('answer with more than 8 MiB (%s)', async (_, answer) => {
    const server = await scripted(() => answer);
    expect(await failureOf(() => connect(server.url).target?.('x'))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('more than 8388608 bytes'),
    });
  });

  it('answer with what is not of the contract: every problem is named', async () => {
    const wrong = {
      ...TARGET,
      target: '',
      kind: 'thing',
      gpus: 0.12345,
      replicas: { desired: -1, ready: 'all' },
      launchedAt: 'yesterday',
      labels: { a: 1 },
      colour: 'red',
    };
    const server = await scripted(() => ({ body: { target: wrong } }));
    const failure = await failureOf(() => connect(server.url).target?.('x'));
    const paths = [
      'target',
      'kind',
      'gpus',
      'replicas/desired',
      'replicas/ready',
      'launchedAt',
      'labels/a',
      'colour',
    ].map((name) => `target/${name}`);
    expect(failure).toMatchObject({ kind: 'invalid' });
    expect(failure.problems.map((problem) => problem.path).sort()).toEqual(paths.sort());
    for (const one of paths) expect(failure.message).toContain(one);
  });

  it('give another target than was asked for, a cursor twice, or prices as numbers', async () => {
    const server = await scripted((operation) => ({
      body:
        operation === 'target'
          ? { target: TARGET }
          : operation === 'fleet'
            ? { targets: [], cursor: 'again' }
            : {
                prices: [
                  {
                    event: 'price',
                    provider: 'Acme',
                    sku: 's',
                    term: 'spot',
                    price: 1.5,
                    currency: 'usd',
                    per: 'gpu-hour',
                    effectiveFrom: '2026-01-01T00:00:00Z',
                  },
                ],
              },
    }));
    const connection = connect(server.url);
    expect(await failureOf(() => connection.target?.('group/other'))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('another target'),
    });
    expect(await connection.fleet?.()).toMatchObject({
      complete: false,
      problems: [expect.stringContaining('cursor')],
    });
    const failure = await failureOf(() => all(connection.prices?.(0)));
    expect(failure.problems.map((problem) => problem.path)).toEqual(['prices/0/price', 'prices/0/currency']);
  });

  it('have its knowledge of the secrets, or the signature, shown to anybody', async () => {
    const told: string[] = [];
    const quoting = `${READ} ${ACT} ${Buffer.alloc(32, 'a').toString('base64').replace('=', '')}`;
    const server = await scripted((operation) =>
      operation === 'outcome'
        ? { status: 500, body: { code: 'oops', detail: quoting } }
        : operation === 'apply'
          ? { status: 409, body: { code: 'no', detail: quoting } }
          : operation === 'fleet'
            ? { body: { targets: [{ ...TARGET, [quoting]: 1 }] } }
            : { body: { target: { [quoting]: quoting } } },
    );
    const connection = connect(server.url);
    for (const work of [() => connection.outcome?.(SCALE, 't'), () => connection.target?.('x')])
      told.push(JSON.stringify(await failureOf(work).then((failure) => [failure.message, failure.problems, failure])));
    told.push(JSON.stringify(await connection.apply?.(SCALE, 't', null)), JSON.stringify(await connection.fleet?.()));
    for (const text of told) {
      expect(text).toContain('[secret]');
      expect(text).not.toMatch(/YWFhYWFh|cnJycnJy|v1,/);
    }
  });
});

describe('readings', () => {
  it('follow the pages; what came before a broken one is known, and the fleet is not complete', async () => {
    const page = (asked: Asked): string | null =>
      (JSON.parse(asked.body) as { data: { cursor: string | null } }).data.cursor;
    const target = (name: string): object => ({
      ...TARGET,
      target: name,
      gpuModel: 'NVIDIA A100-SXM4-80GB',
      launchedAt: '2026-01-01T01:00:00+01:00',
    });
    const pages: Record<string, Scripted> = {
      null: { body: { targets: [target('a'), { ...TARGET, state: 'asleep' }], cursor: 'p2' } },
      p2: { body: { targets: [target('b'), target('a')], cursor: 'p3' } },
      p3: { status: 502 },
    };
    const server = await scripted((_, asked) => pages[String(page(asked))] ?? {});
    const reading = await connect(server.url, { BURSAR_WEBHOOK_ACCOUNT: 'hall' }).fleet?.();
    expect(reading?.targets.map((each) => each.target)).toEqual(['a', 'b']);
    expect(reading?.targets[0]).toEqual<FleetTarget>(
      fleetTarget({
        target: 'a',
        kind: 'group',
        name: 'train',
        provider: 'Acme',
        account: 'hall',
        region: null,
        sku: null,
        gpuModel: 'A100-80GB',
        gpus: null,
        term: null,
        launchedAt: NOW,
      }),
    );
    expect(reading).toMatchObject({ at: NOW, complete: false });
    expect(reading?.problems).toEqual([
      expect.stringMatching(/^page 1 cannot be read: targets\/1\/state: /),
      'page 2: targets/1/target: is listed twice',
      'page 3: the receiver answered 502 to fleet',
    ]);
    const down = await scripted(() => ({ status: 502 }));
    expect(await failureOf(() => connect(down.url).fleet?.())).toMatchObject({ kind: 'unavailable' });
  });

  it('keep records that cannot be read, with line, column and reason', async () => {
    const record = {
      id: 'r1',
      provider: 'matpool',
      gpus: 0.125,
      start: '2026-01-01T00:00:00Z',
      end: '2026-01-01T01:00:00Z',
      tags: {},
    };
    const server = await scripted((_, asked) =>
      asked.body.includes('"next"')
        ? { body: { records: [{ ...record, end: '2026-01-01T03:00:00Z' }] } }
        : {
            body: {
              records: [record, { ...record, gpus: undefined }, { ...record, start: 'noon', gpu: 1 }],
              cursor: 'next',
            },
          },
    );
    const batches: RecordBatch[] = await all(connect(server.url).usage?.(NOW, NOW + 2 * HOUR));
    // An eighth of a GPU of 7000 parts.
    expect(batches.flatMap(({ records }) => records)).toEqual([
      expect.objectContaining({
        id: 'r1',
        provider: 'Matpool',
        gpuParts: 875,
        start: NOW,
        end: NOW + HOUR,
        tags: null,
        charge: null,
      }),
    ]);
    expect(batches.flatMap(({ rejects }) => rejects).map(({ line, column }) => [line, column])).toEqual([
      [2, null],
      [3, 'start'],
      [4, 'end'],
    ]);
    expect(batches[0]?.rejects[1]?.reason).toMatch(/^start: .*; gpu: is not a field of the contract$/);
    expect(JSON.parse(batches[0]?.rejects[1]?.raw ?? '')).toMatchObject({ start: 'noon', gpu: 1 });
  });

  it('keep prices exact', async () => {
    const price = {
      event: 'price',
      provider: 'Acme',
      sku: 's',
      term: 'on-demand',
      currency: 'USD',
      effectiveFrom: '2026-01-01T00:00:00Z',
    };
    const server = await scripted(() => ({
      body: {
        prices: [
          { ...price, price: '14.40', per: 'instance-hour', gpus: 8 },
          { ...price, price: '0.25', per: 'instance-hour', gpus: 0.125 },
          { ...price, price: '0.0000000001', per: 'gpu-second' },
          { ...price, effectiveFrom: '2025-01-01T00:00:00Z', price: '1', per: 'gib-hour' },
          { event: 'withdrawn', provider: 'Acme', sku: 's', at: '2026-02-01T00:00:00Z' },
        ],
      },
    }));
    const events: PriceEvent[] = (await all(connect(server.url).prices?.(NOW))).flat();
    expect(
      events.map((event) =>
        event.kind === 'price' ? [event.price.rate.nanos, event.price.rate.quantity, event.price.gpus] : event.at,
      ),
    ).toEqual([
      // 14.40 for 8 x 3600 GPU-seconds; 0.25 x 1000 for 125 thousandths x 3600; a tenth of a nano is one nano for ten
      // seconds.
      [14_400_000_000n, 28_800n, 8],
      [250_000_000_000n, 450_000n, 0.125],
      [1n, 10n, 1],
      Date.UTC(2026, 1, 1),
    ]);
    expect(events[0]).toMatchObject({
      price: { source: 'webhook: hall 2', incrementSeconds: 1, minimumSeconds: 0, component: 'gpu' },
    });
  });
});

describe('what is published', () => {
  const file = path.join(ROOT, 'docs/reference/webhook-provider.openapi.json');

  it('is what is enforced', () => {
    const text = `${JSON.stringify(openApi(), null, 2)}\n`;
    if (process.env['BURSAR_WRITE_DOCS'] === '1') writeFileSync(file, text);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('has an example of every request and answer, and each is of the contract by either reading', () => {
    const page = readFileSync(path.join(ROOT, 'docs/how-to/connect-your-own-cloud.md'), 'utf8');
    const examples = [...page.matchAll(/```json (\w+) ?(\w*)\n([\s\S]*?)```/g)].map(
      ([, side = '', operation = '', text = '']) => ({ side, operation, value: JSON.parse(text) as unknown }),
    );
    expect(examples.map(({ side, operation }) => `${side} ${operation}`.trim()).sort()).toEqual(
      [
        'error',
        'response description',
        ...OPERATIONS.flatMap((operation) => [`request ${operation}`, `response ${operation}`]),
      ].sort(),
    );
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(JSON.parse(readFileSync(file, 'utf8')) as object, 'contract');
    for (const { side, operation, value } of examples) {
      const schema =
        side === 'error'
          ? errorSchema
          : operation === 'description'
            ? descriptionSchema
            : side === 'request'
              ? envelopeOf(operation as Operation)
              : RESPONSES[operation as Operation];
      expect(schema.safeParse(value).error).toBeUndefined();
      const content =
        side === 'request'
          ? 'post/requestBody'
          : operation === 'description'
            ? 'get/responses/200'
            : 'post/responses/200';
      const at =
        side === 'error'
          ? '#/components/schemas/Error'
          : `#/paths/~1${operation === 'description' ? '' : operation}/${content}/content/application~1json/schema`;
      expect(ajv.validate({ $ref: `contract${at}` }, value), `${side} ${operation}: ${ajv.errorsText()}`).toBe(true);
    }
  });
});

// ---- Before the example receiver
// ---------------------------------------------------------------------------------------------------------

const folder = mkdtempSync(path.join(tmpdir(), 'bursar-webhook-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let journals = 0;

interface Example {
  readonly url: string;
  readonly journal: string;
  end(): Promise<void>;
}

async function example(environment: Readonly<Record<string, string>> = {}): Promise<Example> {
  const journal = path.join(folder, `journal-${(journals += 1)}.jsonl`);
  const child: ChildProcess = spawn(process.execPath, [path.join(ROOT, 'examples/webhook-receiver/receiver.mjs')], {
    env: { PORT: '0', READ_SECRETS: READ, ACT_SECRETS: ACT, JOURNAL: journal, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await closed;
  };
  stops.push(end);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => resolve(/http:\S+/.exec(text)?.[0] ?? ''));
    child.once('close', () => reject(new Error('the example receiver ended')));
  });
  return { url, journal: environment['JOURNAL'] ?? journal, end };
}

/** Between provider and receiver: hands on what comes, or loses the next apply on its way there or back. */
class Gate {
  lose: 'request' | 'answer' | null = null;

  constructor(
    readonly server: ScriptedServer,
    private readonly to: string,
  ) {}

  static async before(to: string, tamper: (asked: Asked) => Asked = (asked) => asked): Promise<Gate> {
    const server = await ScriptedServer.start((asked) => gate.pass(tamper(asked)));
    stops.push(() => server.stop());
    const gate = new Gate(server, to);
    return gate;
  }

  /** Sends a request as it was, headers and all. */
  async pass({ method, url, headers, body }: Asked): Promise<Scripted> {
    const lose = url === '/apply' ? this.lose : null;
    if (lose !== null) this.lose = null;
    if (lose === 'request') return { instead: 'drop' };
    const signed = Object.fromEntries(
      Object.entries(headers)
        .filter(([name]) => /^(webhook-|content-type)/.test(name))
        .map(([name, value]) => [name, String(value)]),
    );
    const answer = await fetch(this.to + url, { method, headers: signed, body: method === 'POST' ? body : null });
    const text = await answer.text();
    return lose === 'answer' ? { instead: 'drop' } : { status: answer.status, body: text };
  }
}

describeProviderContract('webhook', async () => {
  const receiver = await example();
  const gate = await Gate.before(receiver.url);
  const hour = Math.floor(wallClock.now() / HOUR) * HOUR;
  return {
    connection: connect(gate.server.url, {}, wallClock),
    readOnly: connect(gate.server.url, { BURSAR_WEBHOOK_ACT_SECRET: '' }, wallClock),
    effect: SCALE,
    now: () => wallClock.now(),
    loseNextAnswer: (arrives) => (gate.lose = arrives ? 'answer' : 'request'),
    metered: { from: hour - 6 * HOUR, to: hour - 2 * HOUR },
    appliedCount: (token) =>
      linesOf(receiver.journal).filter((line) => line.token === token && line.answer.outcome === 'taken').length,
  };
});

function linesOf(journal: string): { token: string; answer: { outcome: string } }[] {
  return existsSync(journal)
    ? readFileSync(journal, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { token: string; answer: { outcome: string } })
    : [];
}

describe('the example receiver', () => {
  const denial = (code: string): object => ({ kind: 'denied', message: expect.stringContaining(code) });

  it('refuses the same request again, whatever it asked for', async () => {
    const receiver = await example();
    const gate = await Gate.before(receiver.url);
    const connection = connect(gate.server.url, {}, wallClock);
    expect(await connection.apply?.(SCALE, 'token-1', null)).toMatchObject({ kind: 'taken', reference: 'change-1' });
    const sent = gate.server.asked.at(-1) as Asked;
    expect(sent.url).toBe('/apply');
    expect(await gate.pass(sent)).toMatchObject({ status: 401, body: expect.stringContaining('replayed') });
    // Neither a new id nor a new time gets it through: both are signed.
    for (const changed of [
      { 'webhook-id': 'msg_new' },
      { 'webhook-timestamp': String(Number(sent.headers['webhook-timestamp']) + 1) },
    ]) {
      expect(await gate.pass({ ...sent, headers: { ...sent.headers, ...changed } })).toMatchObject({
        status: 401,
        body: expect.stringContaining('bad-signature'),
      });
    }
    expect(linesOf(receiver.journal)).toHaveLength(1);
  });

  it.each([
    [-310_000, false],
    [-200_000, true],
    [200_000, true],
    [310_000, false],
  ])('accepts a clock that is %s ms off: %s', async (off, accepted) => {
    const { url } = await example();
    const reading = connect(url, {}, { now: () => wallClock.now() + off }).fleet?.();
    if (accepted) expect(await reading).toMatchObject({ complete: true });
    else expect(await failureOf(() => reading)).toMatchObject(denial('bad-time'));
  });

  it('refuses a body, a path or a secret that is not the one', async () => {
    const { url, journal } = await example();
    const tampered = await Gate.before(url, (asked) => ({
      ...asked,
      body: asked.body.replace('"replicas":6', '"replicas":9'),
    }));
    expect(
      await failureOf(() => connect(tampered.server.url, {}, wallClock).apply?.(SCALE, 'token-1', null)),
    ).toMatchObject(denial('bad-signature'));
    const led = await Gate.before(url, (asked) => ({ ...asked, url: asked.url === '/target' ? '/fleet' : asked.url }));
    expect(await failureOf(() => connect(led.server.url, {}, wallClock).target?.('group/train'))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('wrong-type'),
    });
    const swapped = connect(url, { BURSAR_WEBHOOK_ACT_SECRET: secret('x') }, wallClock);
    expect(await failureOf(() => swapped.apply?.(SCALE, 'token-1', null))).toMatchObject(
      denial('BURSAR_WEBHOOK_ACT_SECRET'),
    );
    // The read secret is no act secret, and the other way round.
    expect(
      await failureOf(() =>
        connect(url, { BURSAR_WEBHOOK_SECRET: secret('x'), BURSAR_WEBHOOK_ACT_SECRET: READ }, wallClock).fleet?.(),
      ),
    ).toMatchObject(denial('bad-signature'));
    const actWithRead = await Gate.before(url);
    const reading = connect(
      actWithRead.server.url,
      { BURSAR_WEBHOOK_SECRET: READ, BURSAR_WEBHOOK_ACT_SECRET: ACT },
      wallClock,
    );
    await reading.outcome?.(SCALE, 'token-1');
    expect(await actWithRead.pass({ ...(actWithRead.server.asked.at(-1) as Asked), url: '/apply' })).toMatchObject({
      status: 401,
      body: expect.stringContaining('bad-signature'),
    });
    expect(linesOf(journal)).toEqual([]);
  });

  it('goes through a change of secrets on either side first', async () => {
    const both = `${secret('n')} ${READ}`;
    for (const [ours, theirs, works] of [
      [both, READ, true],
      [both, secret('n'), true],
      [READ, both, true],
      [secret('n'), both, true],
      [secret('n'), READ, false],
    ] as const) {
      const { url, end } = await example({ READ_SECRETS: theirs });
      const reading = Promise.resolve(connect(url, { BURSAR_WEBHOOK_SECRET: ours }, wallClock).fleet?.()).then(
        () => true,
        () => false,
      );
      expect(await reading).toBe(works);
      await end();
    }
  });

  it('refuses by its own rules, once for all under a token, and knows tokens after a restart', async () => {
    const first = await example();
    const connection = connect(first.url, {}, wallClock);
    const tooMany: Effect = { ...SCALE, replicas: 12 };
    expect(await connection.apply?.(tooMany, 'token-1', null)).toMatchObject({
      kind: 'refused',
      code: 'out-of-bounds',
    });
    expect(await connection.outcome?.(tooMany, 'token-1')).toMatchObject({ kind: 'refused', code: 'out-of-bounds' });
    expect(await connection.apply?.(SCALE, 'token-1', null)).toMatchObject({ kind: 'refused', code: 'token-reused' });
    expect(await connection.apply?.({ kind: 'stop', target: 'instance/nobody' }, 'token-2', null)).toMatchObject({
      kind: 'refused',
      code: 'no-such-target',
    });
    expect(await connection.apply?.({ kind: 'stop', target: 'instance/gpu-01' }, 'token-3', null)).toMatchObject({
      kind: 'taken',
    });
    expect(await connection.target?.('instance/gpu-01')).toMatchObject({
      state: 'stopped',
      billing: 'ended',
      revision: '2',
    });
    await first.end();
    const second = connect((await example({ JOURNAL: first.journal })).url, {}, wallClock);
    expect(await second.outcome?.({ kind: 'stop', target: 'instance/gpu-01' }, 'token-3')).toMatchObject({
      kind: 'taken',
      reference: 'change-3',
    });
    expect(await second.target?.('instance/gpu-01')).toMatchObject({
      state: 'stopped',
      billing: 'ended',
      revision: '2',
    });
    expect(await second.apply?.({ kind: 'stop', target: 'instance/gpu-01' }, 'token-3', null)).toMatchObject({
      kind: 'taken',
      reference: 'change-3',
    });
  });
});
