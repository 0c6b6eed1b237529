/**
 * Traces: a request, what it enqueued, and what a provider was asked, as they arrive at a receiver; and nothing where
 * no endpoint is named.
 */
import { context, propagation, trace } from '@opentelemetry/api';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openConnections } from '../../src/app.module.js';
import { denied } from '../../src/core/errors.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { tracedConnection } from '../../src/pipeline/tracing.js';
import { enqueue } from '../../src/store/work.js';
import { isTraced, startTracing, type Tracing } from '../../src/tracing.js';
import { OtlpReceiver } from '../support/otlp.js';
import { NOW, testApi } from '../support/web.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const loaded = (): string[] =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    /@opentelemetry\/(?:sdk-trace|exporter|otlp|resources)/.test(file),
  );

describe('without an endpoint', () => {
  it.each([
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'x' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://h/v1/traces' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_SDK_DISABLED: 'TRUE' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://h', OTEL_TRACES_EXPORTER: 'none' }, false],
  ])('%j is traced: %s', (environment, expected) => expect(isTraced(environment)).toBe(expected));

  it('no span is made, and nothing of the SDK is loaded', async () => {
    expect(await startTracing({})).toBeNull();
    expect(trace.getTracer('x').startSpan('y').isRecording()).toBe(false);
    expect(loaded()).toEqual([]);
  });
});

describe('with an endpoint', async () => {
  const api = await testApi();
  let receiver: OtlpReceiver;
  let tracing: Tracing | null = null;
  const set = (name: string, value: string): void => {
    process.env[name] = value;
  };
  beforeAll(async () => {
    receiver = await OtlpReceiver.start();
    // Keys that earlier work of the fixture enqueued are not part of these.
    await api.stores.db.query(`delete from work`);
  });
  afterAll(() => receiver.close());
  beforeEach(async () => {
    receiver.spans.length = 0;
    receiver.text = '';
    set('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    set('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test');
    tracing = await startTracing(process.env);
  });
  afterEach(async () => {
    await tracing?.stop();
    for (const name of Object.keys(process.env).filter((one) => one.startsWith('OTEL_'))) delete process.env[name];
  });
  /** All spans are out. */
  const flushed = async (): Promise<void> => {
    await tracing?.stop();
    tracing = null;
  };
  /** The request's span ends after its answer. */
  const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  const fake = async (): Promise<ProviderConnection> => {
    const connection = (
      await openConnections({ BURSAR_FAKE_SEED: '7', BURSAR_FAKE_ACT: 'on' }, { now: () => NOW })
    ).get('fake');
    if (connection === undefined) throw new Error('the fake cloud is not there');
    return connection;
  };

  it("a request is a span of the caller's trace, named by its route, and holds nothing of what was sent", async () => {
    expect(loaded()).not.toEqual([]);
    await api.call('GET', '/v1/teams/hush?token=hush', {
      headers: { traceparent: `00-${TRACE}-${PARENT}-01`, 'x-request-id': 'r-1' },
    });
    await api.call('GET', '/nowhere/hush', { key: null });
    await api.call('GET', '/healthz', { key: null });
    await settled();
    await flushed();
    const span = receiver.one('GET /v1/teams/:id');
    expect(span).toMatchObject({ traceId: TRACE, parent: PARENT, kind: 'server', scope: 'bursar.web', failed: false });
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/v1/teams/:id',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'network.protocol.version': '1.1',
      'http.response.status_code': 404,
      'bursar.request_id': 'r-1',
      'bursar.principal': `key:${api.admin.split('_')[1]}`,
    });
    expect(span.resource).toMatchObject({ 'service.name': 'bursar', 'deployment.environment.name': 'test' });
    expect(receiver.one('GET')).toMatchObject({ parent: null, attributes: { 'http.response.status_code': 404 } });
    expect(receiver.spans).toHaveLength(2);
    expect(receiver.text).not.toContain('hush');
    expect(receiver.text).not.toContain(api.admin);
  });

  it('a run of a stage is linked to the request that enqueued it, and is the parent of what its provider is asked', async () => {
    const { stores } = api;
    const body = {
      records: [
        {
          id: 'u1',
          provider: 'AWS',
          account: 'a',
          sku: 'p5.48xlarge',
          region: 'us-east-1',
          gpus: 8,
          start: '2026-10-05T00:00:00Z',
          end: '2026-10-05T01:00:00Z',
        },
      ],
    };
    const taken = await api.call('POST', '/v1/usage', { body });
    expect(taken.status).toBe(200);
    await settled();
    const connection = await fake();
    await enqueue(stores.db, 'default', [{ stage: 'fleet.collect', partition: 'fake', key: 'fake/fleet' }]);
    const line = makeLine(stores, [], [], new Map([['fake', connection]]));
    await new Runner(stores.db, stores.work, { now: () => Date.now() }, line).drain();
    await flushed();
    const request = receiver.one('POST /v1/usage');
    const priced = receiver.one('cost.price');
    expect(priced).toMatchObject({
      parent: null,
      kind: 'consumer',
      scope: 'bursar.line',
      failed: false,
      links: [{ traceId: request.traceId, spanId: request.spanId }],
    });
    expect(priced.traceId).not.toBe(request.traceId);
    expect(priced.attributes).toEqual({
      'bursar.organisation': 'default',
      'bursar.stage': 'cost.price',
      'bursar.partition': 'unallocated',
      'bursar.keys': ['unallocated/2026-10-05'],
      'bursar.key_count': 1,
    });
    // The next stage was enqueued in the run of this one.
    expect(receiver.one('cost.rollup').links).toEqual([{ traceId: priced.traceId, spanId: priced.spanId }]);
    const collected = receiver.one('fleet.collect');
    expect(collected.links).toEqual([]);
    const read = receiver.one('fake fleet');
    expect(read).toMatchObject({
      traceId: collected.traceId,
      parent: collected.spanId,
      kind: 'client',
      scope: 'bursar.providers',
      attributes: { 'bursar.connection': 'fake', 'bursar.operation': 'fleet' },
    });
  });

  it('a call of a provider tells its kind of effect and of failure, and no words of it', async () => {
    const effect = { kind: 'stop', target: 'hush' } as const;
    const connection = tracedConnection({
      name: 'moon',
      account: null,
      canAct: true,
      apply: async () => ({ kind: 'refused', code: 'no', detail: 'hush' }),
      outcome: async () => Promise.reject(denied('hush')),
      async *usage(from) {
        yield { records: [], rejects: [] };
        expect(trace.getActiveSpan()?.isRecording()).toBe(true);
        if (from > 0) throw new Error('hush');
        yield { records: [], rejects: [] };
      },
    });
    expect(connection.fleet).toBeUndefined();
    expect(await connection.apply?.(effect, 'hush', null)).toMatchObject({ kind: 'refused' });
    await expect(connection.outcome?.(effect, 'hush')).rejects.toThrow('hush');
    const pages = async (from: number, most: number): Promise<number> => {
      let count = 0;
      for await (const _ of connection.usage?.(from, 0) ?? []) if (++count >= most) break;
      return count;
    };
    expect(await pages(0, 9)).toBe(2);
    expect(await pages(0, 1)).toBe(1);
    await expect(pages(1, 9)).rejects.toThrow('hush');
    await flushed();
    expect(
      receiver.spans.map(({ name, failed, attributes }) => [
        name,
        failed,
        attributes['bursar.effect'],
        attributes['bursar.outcome'],
        attributes['bursar.pages'],
        attributes['error.type'],
      ]),
    ).toEqual([
      ['moon apply', false, 'stop', 'refused', undefined, undefined],
      ['moon outcome', true, 'stop', undefined, undefined, 'denied'],
      ['moon usage', false, undefined, undefined, 2, undefined],
      ['moon usage', false, undefined, undefined, 1, undefined],
      ['moon usage', true, undefined, undefined, 1, 'Error'],
    ]);
    expect(receiver.text).not.toContain('hush');
  });

  it('the standard variables are followed: a sampler that takes nothing, a name, an endpoint of its own', async () => {
    await flushed();
    set('OTEL_TRACES_SAMPLER', 'always_off');
    tracing = await startTracing(process.env);
    await (await fake()).fleet?.();
    await enqueue(api.stores.db, 'default', [{ stage: 'none', partition: 'l', key: 'k' }]);
    await flushed();
    expect(receiver.spans).toEqual([]);
    set('OTEL_TRACES_SAMPLER', 'parentbased_always_on');
    set('OTEL_SERVICE_NAME', 'bursar-test');
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
    set('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `${receiver.url}/v1/traces`);
    tracing = await startTracing(process.env);
    await (await fake()).fleet?.();
    await flushed();
    expect(receiver.one('fake fleet').resource['service.name']).toBe('bursar-test');
  });

  it('a receiver that is away stops nothing', async () => {
    await flushed();
    set('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1');
    set('OTEL_EXPORTER_OTLP_TIMEOUT', '100');
    tracing = await startTracing(process.env);
    expect((await (await fake()).fleet?.())?.complete).toBe(true);
    await flushed();
    expect(context.active()).toBeDefined();
    expect(propagation.fields()).toEqual([]);
  });
});
