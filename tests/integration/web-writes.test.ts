/**
 * Writes over HTTP: usage in its forms, files, idempotency, and what is said about what is wrong. On a real PostgreSQL.
 */
import { parquetWriteBuffer } from 'hyparquet-writer';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Transaction } from '../../src/store/database.js';
import { Idempotency } from '../../src/store/idempotency.js';
import { testApi } from '../support/web.js';

const record = (id: string, over: object = {}): object => ({
  id,
  provider: 'aws',
  account: 'a1',
  sku: 'p5.48xlarge',
  region: 'us-east-1',
  term: 'on-demand',
  gpus: 8,
  start: '2026-10-05T00:00:00Z',
  end: '2026-10-05T01:00:00Z',
  ...over,
});
const event = (id: string): object => {
  const { id: _, ...data } = record(id) as { id: string };
  return { specversion: '1.0', type: 'bursar.usage.v1', source: 'meter', id, data };
};
const LINES = { 'content-type': 'application/x-ndjson' };

describe('usage', async () => {
  const api = await testApi();
  beforeEach(() =>
    api.stores.db.query(`truncate usage_hour, block, usage_id, delivery, import, reject, work, source, idempotency`),
  );
  const kept = async (): Promise<number> =>
    (await api.stores.db.query<{ n: number }>(`select coalesce(sum(records), 0)::int as n from delivery`))[0]?.n ?? -1;

  it('is taken as a batch, counted, and not taken twice', async () => {
    const body = { records: [record('1'), record('2')] };
    expect(await api.call('POST', '/v1/usage', { body })).toMatchObject({
      status: 200,
      body: { rows: 2, accepted: 2, rejected: 0, unchanged: 0, rejects: [] },
    });
    expect((await api.call('POST', '/v1/usage', { body })).body).toMatchObject({ accepted: 0, unchanged: 2 });
    expect(await kept()).toBe(2);
  });

  it('names where it is told when what follows is done, and costs say what they wait for', async () => {
    const monitor = '</v1/work/progress>; rel="monitor"';
    const { headers } = await api.call('POST', '/v1/usage', { body: [record('w')] });
    expect(headers.get('link')).toBe(monitor);
    const costs = await api.call('GET', '/v1/costs');
    expect(costs.headers.get('link')).toBeNull();
    expect(costs.body).toMatchObject({ pending: { days: 1, allocations: 0, parked: 0 } });
    // What was refused has set nothing off.
    const refused = await api.call('PUT', '/v1/teams/x', { body: { zone: 'Mars' } });
    expect([refused.status, refused.headers.get('link')]).toEqual([400, null]);
  });

  it('is taken as an array, one record, CloudEvents and JSON lines, plain and gzip', async () => {
    const events = { 'content-type': 'application/cloudevents-batch+json' };
    const lines = ['1', '2'].map((id) => JSON.stringify(record(`l${id}`))).join('\n');
    const zipped = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    for (const call of [
      { body: [record('a1'), record('a2')] },
      { body: JSON.stringify([event('e1'), event('e2')]), headers: events },
      { body: `${lines}\n`, headers: LINES },
      { body: gzipSync(JSON.stringify({ records: [record('g1'), record('g2')] })), headers: zipped },
    ])
      expect(await api.call('POST', '/v1/usage', call)).toMatchObject({
        status: 200,
        body: { accepted: 2, rejected: 0 },
      });
    expect(
      (
        await api.call('POST', '/v1/usage', {
          body: event('e3'),
          headers: { 'content-type': 'application/cloudevents+json' },
        })
      ).body,
    ).toMatchObject({ accepted: 1, format: 'cloudevents' });
    expect(await kept()).toBe(9);
  });

  it('with bad records is taken without them, and says why; strict refuses it whole', async () => {
    const body = { records: [record('1'), record('2', { gpus: -1, colour: 'red' }), 'no'] };
    const strict = await api.call('POST', '/v1/usage?strict=true', { body });
    expect(strict.status).toBe(400);
    expect(strict.body['problems']).toHaveLength(2);
    const taken = await api.call<{ rejects: { line: number; reason: string }[]; import: string }>('POST', '/v1/usage', {
      body,
    });
    expect(taken.body).toMatchObject({ accepted: 1, rejected: 2, rejects: [{ line: 2 }, { line: 3 }] });
    expect(taken.body.rejects[0]?.reason).toContain('colour');
    expect(taken.body.rejects[0]?.reason).toContain('gpus');
    expect(
      (await api.call<{ items: unknown[] }>('GET', `/v1/imports/${taken.body.import}/rejects`)).body.items,
    ).toHaveLength(2);
    const lines = await api.call('POST', '/v1/usage', {
      body: `${JSON.stringify(record('3'))}\n{"cut": \n`,
      headers: LINES,
    });
    expect(lines.body).toMatchObject({ accepted: 1, rejected: 1, rejects: [{ line: 2 }] });
  });

  it('is only counted in a dry run', async () => {
    expect((await api.call('POST', '/v1/usage?dryRun=true', { body: [record('1')] })).body).toMatchObject({
      accepted: 1,
      import: null,
    });
    expect(await kept()).toBe(0);
  });

  it('is refused with a clear problem where the body is none', async () => {
    const bad = async (call: object, path = '/v1/usage'): Promise<number> =>
      (await api.call('POST', path, call)).status;
    expect(await bad({ body: '{"records": [', headers: { 'content-type': 'application/json' } })).toBe(400);
    expect(await bad({ body: '7', headers: { 'content-type': 'application/json' } })).toBe(400);
    expect(await bad({ body: 'a,b', headers: { 'content-type': 'text/csv' } })).toBe(415);
    expect(
      await bad({ body: 'no gzip', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }),
    ).toBe(400);
    expect(await bad({ body: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'br' } })).toBe(
      415,
    );
    expect(await bad({ body: '{}', headers: LINES }, '/v1/quotes')).toBe(415);
    expect(await bad({})).toBe(400);
  });

  it('is refused where it is too large, packed or not, before it is parsed', async () => {
    const tooLarge = 'x'.repeat((64 << 20) + 1);
    expect(
      (
        await api.call('POST', '/v1/usage', {
          body: gzipSync(tooLarge),
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        })
      ).status,
    ).toBe(413);
    const refused = await api.call('PUT', '/v1/teams/big', { body: { name: 'x'.repeat(2 << 20) } });
    expect(refused).toMatchObject({ status: 413, body: { title: 'Payload Too Large' } });
  });

  it('files are imported from the body, plain and gzip, and listed', async () => {
    const csv = `${JSON.stringify(record('f1'))}\n${JSON.stringify(record('f2'))}\n`;
    const first = await api.call<{ files: object[] }>('POST', '/v1/imports?filename=usage.jsonl&source=meter', {
      body: csv,
    });
    expect(first.body.files).toMatchObject([{ file: 'usage.jsonl', format: 'bursar', rows: 2, accepted: 2 }]);
    const again = await api.call<{ files: object[] }>('POST', '/v1/imports?filename=usage.jsonl.gz&source=meter', {
      body: gzipSync(csv),
      headers: { 'content-type': 'application/gzip' },
    });
    expect(again.body.files).toMatchObject([{ file: 'usage.jsonl', accepted: 0, unchanged: 2 }]);
    expect((await api.call<{ items: object[] }>('GET', '/v1/imports')).body.items).toMatchObject([
      { file: 'usage.jsonl', unchanged: 2 },
      { file: 'usage.jsonl', accepted: 2 },
    ]);
    expect((await api.call('POST', '/v1/imports?filename=../x', { body: csv })).status).toBe(400);
    expect((await api.call('POST', '/v1/imports', { body: csv })).body['problems']).toMatchObject([
      { path: 'filename' },
    ]);
    expect((await api.call('POST', '/v1/imports?filename=x', { body: 'what is this' })).status).toBe(400);
    expect((await api.call('POST', '/v1/imports?filename=x', { body: '' })).status).toBe(400);
    // Without a body, a request has no media type either.
    for (const address of ['/v1/imports?filename=x', '/v1/prices?filename=x', '/v1/deliveries/d/files?filename=x'])
      expect(await api.call('POST', address), address).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('x is empty') },
      });
  });

  it('is refused where a text cannot be stored', async () => {
    expect(await api.call('PUT', '/v1/teams/nul', { body: { name: 'a\u0000b' } })).toMatchObject({
      status: 400,
      body: { problems: [{ message: 'holds a NUL character' }] },
    });
    expect((await api.call('GET', '/v1/prices?sku=a%00b')).status).toBe(400);
    expect((await api.call('GET', '/v1/teams/a%00b')).status).toBe(400);
    const body = [record('x\u0000y')];
    const send = () => api.call('POST', '/v1/usage', { body, headers: { 'idempotency-key': 'nul' } });
    const [first, again] = [await send(), await send()];
    expect(first).toMatchObject({ status: 200, body: { rejected: 1 } });
    expect(again.text).toBe(first.text);
  });

  it('names a field or a column that cannot be stored, and takes the rest', async () => {
    const body = [record('named'), { ...record('odd'), 'a\u0000b': 1, 'c\ud800': 2 }];
    const taken = await api.call('POST', '/v1/usage', { body });
    expect(taken).toMatchObject({ status: 200, body: { accepted: 1, rejected: 1 } });
    const { items } = (await api.call<{ items: { column: string }[] }>('GET', '/v1/rejects')).body;
    expect(items.map(({ column }) => column)).toEqual(['a\u2400b']);
    const bill = {
      BilledCost: '1',
      BillingAccountId: 'a1',
      BillingCurrency: 'USD',
      BillingPeriodStart: '2026-09-01T00:00:00Z',
      BillingPeriodEnd: '2026-10-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargePeriodStart: '2026-09-01T00:00:00Z',
      ChargePeriodEnd: '2026-09-01T01:00:00Z',
      EffectiveCost: '1',
      ListCost: '1',
      ProviderName: 'AWS',
      ServiceName: 'EC2',
      'x\u0000y': 'z',
    };
    const columnData = Object.entries(bill).map(([name, value]) => ({ name, data: [value], type: 'STRING' as const }));
    const file = new Uint8Array(parquetWriteBuffer({ columnData }));
    const imported = await api.call('POST', '/v1/imports?filename=odd.parquet&source=odd', { body: file });
    expect(imported).toMatchObject({ status: 200, body: { files: [{ accepted: 1, unknownColumns: ['x\u2400y'] }] } });
  });
});

describe('a write', async () => {
  const api = await testApi();
  const put = (name: string, key: string, path = '/v1/teams/red') =>
    api.call('PUT', path, { body: { name }, headers: { 'idempotency-key': key } });
  const audits = async (): Promise<number> =>
    (await api.call<{ items: object[] }>('GET', '/v1/audit?limit=1000')).body.items.length;

  it('sent again under its key works once and answers alike', async () => {
    const first = await put('Red', 'k1');
    const before = await audits();
    const again = await put('Red', 'k1');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(await audits()).toBe(before);
  });

  it('with another body or address under the same key is a conflict', async () => {
    expect(await put('Blue', 'k1')).toMatchObject({ status: 409, body: { problems: [{ path: 'Idempotency-Key' }] } });
    expect((await put('Red', 'k1', '/v1/teams/blue')).status).toBe(409);
    const other = await api.keyFor({ role: 'operator' });
    expect(
      (
        await api.call('PUT', '/v1/teams/red', {
          key: other,
          body: { name: 'Other' },
          headers: { 'idempotency-key': 'k1' },
        })
      ).status,
    ).toBe(200);
  });

  it('sent many times at once works once', async () => {
    const before = await audits();
    const replies = await Promise.all(Array.from({ length: 8 }, () => put('Green', 'k2', '/v1/teams/green')));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
    expect(await audits()).toBe(before + 1);
  });

  it('that failed may be sent again under its key', async () => {
    const body = { parent: 'later' };
    const send = () => api.call('PUT', '/v1/teams/child', { body, headers: { 'idempotency-key': 'k3' } });
    expect((await send()).status).toBe(404);
    await put('Later', 'k4', '/v1/teams/later');
    expect((await send()).status).toBe(200);
  });

  it('of a usage batch is repeated by its answer', async () => {
    const send = (id: string) =>
      api.call('POST', '/v1/usage', { body: [record(id)], headers: { 'idempotency-key': 'u1' } });
    expect((await send('1')).body).toMatchObject({ accepted: 1, unchanged: 0 });
    expect((await send('1')).body).toMatchObject({ accepted: 1, unchanged: 0 });
    expect((await send('2')).status).toBe(409);
  });

  it('that makes a key keeps no secret for its repeat', async () => {
    const send = () =>
      api.call('POST', '/v1/keys', { body: { name: 'once', role: 'viewer' }, headers: { 'idempotency-key': 'k5' } });
    const [first, again] = [await send(), await send()];
    expect(first.body['text']).toMatch(/^bursar_/);
    expect(again.body).toEqual({ ...first.body, text: null });
    const rows = await api.stores.db.query<{ text: string }>(`select body::text as text from idempotency`);
    expect(rows.some(({ text }) => /bursar_[0-9a-f]{12}_/.test(text))).toBe(false);
  });

  /** A claim that was renewed last so many seconds ago, by a process that says its name or by one of the version before. */
  const leaveClaim = (key: string, seconds: number, claim: string | null) =>
    api.stores.db.query(
      `insert into idempotency (organisation, key, request_hash, claim, created_at) values ('default', $1, $2, $3, now() - make_interval(secs => $4))`,
      [key, Buffer.alloc(32), claim, seconds],
    );
  const requestOf = (key: string) => ({ organisation: 'default', key, requestHash: Buffer.alloc(32) });

  it.each([
    ['', 11, '00000000-0000-4000-8000-000000000001'],
    [' of the version before', 61, null],
  ])('left behind by a process%s that died is free again', async (_, seconds, claim) => {
    const { idempotency } = api.stores;
    const request = requestOf(`dead-${seconds}`);
    await leaveClaim(request.key, seconds, claim);
    expect(await idempotency.idempotent(request, async () => ({ body: 'done' }))).toEqual({
      body: 'done',
      repeated: false,
    });
    expect(await idempotency.idempotent(request, async () => ({ body: 'twice' }))).toEqual({
      body: 'done',
      repeated: true,
    });
  });

  it('is not taken from a process of the version before, which renews its claims less often', async () => {
    await leaveClaim('old', 30, null);
    const impatient = new Idempotency(api.stores.db, 0);
    await expect(impatient.idempotent(requestOf('old'), async () => ({ body: 'twice' }))).rejects.toMatchObject({
      kind: 'conflict',
      retryAfterSeconds: 5,
    });
  });

  it('of a process that was silent and lives ends in nothing, where another has done it meanwhile', async () => {
    const { db } = api.stores;
    const [slow, quick] = [new Idempotency(db), new Idempotency(db)];
    const named = (name: string) => async (tx: Transaction) => {
      await tx.query(`insert into setting (organisation, key, value) values ('default', $1, 'true')`, [name]);
      return { body: name };
    };
    let goOn = (): void => undefined;
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    let first: Promise<unknown> = Promise.resolve();
    await new Promise<void>((isAtWork) => {
      first = slow.inTransaction(requestOf('silent'), async (tx) => {
        const written = await named('slow')(tx);
        isAtWork();
        await mayGoOn;
        return written;
      });
    });
    await db.query(`update idempotency set created_at = now() - interval '11 seconds' where key = 'silent'`);
    const answer = { body: 'quick', repeated: false };
    expect(await quick.inTransaction(requestOf('silent'), named('quick'))).toEqual(answer);
    goOn();
    await expect(first).rejects.toMatchObject({ kind: 'unavailable' });
    const kept = await db.query(`select key from setting where key in ('slow', 'quick', 'again')`);
    expect(kept).toEqual([{ key: 'quick' }]);
    expect(await slow.inTransaction(requestOf('silent'), named('again'))).toEqual({ ...answer, repeated: true });
  });
});
