/**
 * The audit reaches its collector in the order of its chain, whole, whatever the collector does meanwhile. On a real
 * PostgreSQL and over HTTP.
 */
import { hash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openAuditCollector } from '../../src/notify/sending/audit-collector.js';
import { AUDIT_ITEM, sendAuditStage } from '../../src/pipeline/send-audit.js';
import { Runner } from '../../src/pipeline/runner.js';
import { enqueue } from '../../src/store/work.js';
import { testApi } from '../support/web.js';

interface Line {
  readonly seq: string;
  readonly hash: string;
  readonly text: string;
  readonly verb: string;
  readonly target: string;
  readonly detail: Record<string, unknown>;
}

describe('the audit stream', async () => {
  let at = Date.parse('2026-11-22T10:00:00Z');
  const clock = { now: () => at };
  const api = await testApi({ clock });
  let requests: { headers: IncomingMessage['headers']; lines: Line[] }[] = [];
  let answer = { status: 200, headers: {} as Record<string, string> };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const lines = body.trimEnd().split('\n');
      requests.push({ headers: request.headers, lines: lines.map((line) => JSON.parse(line) as Line) });
      response.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  afterAll(() => void server.close());
  beforeEach(() => {
    requests = [];
    answer = { status: 200, headers: {} };
  });

  const add = (target: string, detail: Record<string, unknown> = {}): Promise<void> =>
    api.stores.audit.audit(api.stores.db, 'default', 'cli:test', 'test.add', target, detail);
  const start = async (path: string): Promise<Runner> => {
    const settings = { BURSAR_AUDIT_URL: `${address}${path}`, BURSAR_AUDIT_TOKEN: 'hush' };
    const runner = new Runner(api.stores.db, api.stores.work, clock, [
      sendAuditStage(api.stores, openAuditCollector(settings, clock)),
    ]);
    await api.stores.db.transaction((tx) => enqueue(tx, 'default', [AUDIT_ITEM]));
    return runner;
  };
  const doctor = async (): Promise<string | undefined> =>
    /^bursar_audit_unsent\{.*$/m.exec((await api.call('GET', '/metrics')).text)?.[0];
  /** When it looks again, in seconds from now. */
  const nextIn = async (): Promise<number> => {
    const [row] = await api.stores.db.query<{ at: Date }>(
      `select not_before as at from work where stage = 'audit.send'`,
    );
    return ((row?.at.getTime() ?? 0) - clock.now()) / 1000;
  };

  it('sends every entry once and in order, each to be checked by its hash alone, and goes on from there', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, n) => add(`t${n}`, { n, text: 'ä\u2028"\n' })));
    const runner = await start('/a');
    await runner.drain();
    const lines = requests.flatMap((one) => one.lines);
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, n) => String(n + 1)));
    let previous = '0'.repeat(64);
    for (const { text, hash: stated, target, detail, verb } of lines) {
      expect(hash('sha256', text)).toBe(stated);
      const [before, , , , , , ...said] = JSON.parse(text) as string[];
      expect([before, ...said]).toEqual([previous, verb, target, expect.anything()]);
      expect(JSON.parse(said[2] ?? '')).toEqual(detail);
      previous = stated;
    }
    expect(lines.filter(({ verb }) => verb === 'test.add')).toHaveLength(30);
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer hush',
      'content-type': 'application/x-ndjson',
    });
    const { length } = requests;
    await add('later');
    at += 6000;
    await runner.drain();
    expect(requests.slice(length).flatMap((one) => one.lines.map(({ target }) => target))).toEqual(['later']);
    expect(await doctor()).toBe('bursar_audit_unsent{problem=""} 0');
  });

  it('sends again from the same place what was not taken, ever more slowly, skips nothing and parks nothing', async () => {
    const runner = await start('/b');
    answer = { status: 503, headers: {} };
    const waits: number[] = [];
    for (let n = 0; n < 9; n++) {
      await runner.drain();
      waits.push(await nextIn());
      at += (waits.at(-1) ?? 0) * 1000;
    }
    expect(waits).toEqual([5, 5, 10, 20, 40, 80, 160, 300, 300]);
    expect(new Set(requests.map(({ lines }) => lines[0]?.seq))).toEqual(new Set(['1']));
    expect(await doctor()).toMatch(/^bursar_audit_unsent\{problem="status 503"\} [1-9]\d*$/);
    expect(await api.stores.work.parked('default')).toEqual([]);
    requests = [];
    answer = { status: 204, headers: {} };
    await runner.drain();
    const lines = requests.flatMap((one) => one.lines);
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, n) => String(n + 1)));
    expect(await doctor()).toBe('bursar_audit_unsent{problem=""} 0');
  });

  it('waits as long as it is told to, and does not follow to another address', async () => {
    const runner = await start('/c');
    answer = { status: 429, headers: { 'retry-after': '120' } };
    await runner.drain();
    expect(await nextIn()).toBe(120);
    at += 120_000;
    answer = { status: 307, headers: { location: `${address}/elsewhere` } };
    requests = [];
    await runner.drain();
    expect(requests).toHaveLength(1);
    expect(await doctor()).toContain('status 307');
  });

  it('never puts more than some 1 MiB into a request, but for one entry that is larger', async () => {
    const before = (await api.stores.audit.sealed('default', '0', 10_000)).length;
    for (let n = 0; n < 4; n++) await add(`big${n}`, { text: 'x'.repeat(n === 2 ? 2_000_000 : 400_000) });
    const runner = await start('/d');
    await runner.drain();
    expect(requests.map(({ lines }) => lines.length)).toEqual([before + 2, 1, 1]);
  });

  it('is left alone by a process without the settings while another has them', async () => {
    const without = new Runner(api.stores.db, api.stores.work, clock, [sendAuditStage(api.stores, null)]);
    at += 6000;
    await without.drain();
    expect(await nextIn()).toBe(5);
    at += 4_000_000;
    await without.drain();
    const [row] = await api.stores.db.query<{ open: boolean }>(
      `select done < wanted as open from work where stage = 'audit.send'`,
    );
    expect(row?.open).toBe(false);
  });

  it('names what is wrong with its settings, and no value', () => {
    for (const [settings, message] of [
      [{ BURSAR_AUDIT_TOKEN: 'hush' }, 'BURSAR_AUDIT_URL is missing'],
      [{ BURSAR_AUDIT_URL: 'http://collector.example/secret' }, 'BURSAR_AUDIT_URL is not an https:// URL'],
      [{ BURSAR_AUDIT_URL: 'https://me:secret@collector.example' }, 'holds a user name or a password'],
    ] as const) {
      expect(() => openAuditCollector(settings, clock)).toThrow(message);
      expect(() => openAuditCollector(settings, clock)).not.toThrow(/secret|hush/);
    }
    expect(openAuditCollector({}, clock)).toBeNull();
  });
});
