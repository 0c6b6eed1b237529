/** Bursar's tools for a model: the protocol, that nothing can be changed through it, and whose key it is. */
import { describe, expect, it } from 'vitest';
import { ASKINGS } from '../../src/cli/mcp/tools.js';
import { run } from '../../src/cli/program.js';
import { endpoints } from '../../src/web/web.module.js';
import { NOW, testApi } from '../support/web.js';

interface Reply {
  readonly id: string | number | null;
  readonly result?: {
    readonly content?: readonly { readonly type: string; readonly text: string }[];
    readonly isError?: boolean;
    readonly [name: string]: unknown;
  };
  readonly error?: { readonly code: number };
}

describe('bursar mcp', async () => {
  const api = await testApi();

  /** What is answered to these lines, by the id of the message. */
  async function asked(lines: readonly unknown[], apiKey = api.admin, piece = 7): Promise<Map<unknown, Reply>> {
    const out: string[] = [];
    // As a pipe gives it: in pieces that end anywhere.
    const text = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
    async function* stdin(): AsyncGenerator<Uint8Array> {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
    }
    const code = await run(['mcp'], {
      environment: {},
      clock: { now: () => NOW },
      remote: { url: api.url, apiKey },
      stdin: stdin(),
      stdout: { write: (part) => out.push(part) },
      stderr: { write: () => true },
      serve: async () => undefined,
      connect: () => Promise.reject(new Error('the database is not asked')),
    });
    expect(code).toBe(0);
    const replies = out.map((line) => JSON.parse(line) as Reply & { jsonrpc: string });
    for (const { jsonrpc } of replies) expect(jsonrpc).toBe('2.0');
    return new Map(replies.map((reply) => [reply.id, reply]));
  }
  const message = (id: unknown, method: string, params?: unknown): unknown => ({ jsonrpc: '2.0', id, method, params });
  const call = (id: unknown, name: string, given?: unknown): unknown =>
    message(id, 'tools/call', { name, arguments: given });

  it('begins as the protocol says, and lists its tools as ones that only read', async () => {
    const replies = await asked([
      message(1, 'initialize', {
        protocolVersion: '2025-03-26',
        capabilities: {},
        clientInfo: { name: 't', version: '1' },
      }),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      message('two', 'ping'),
      message(3, 'tools/list'),
      message(4, 'initialize', { protocolVersion: '1999-01-01' }),
    ]);
    expect(replies.size).toBe(4);
    expect(replies.get(1)?.result).toMatchObject({
      protocolVersion: '2025-03-26',
      capabilities: { tools: {} },
      serverInfo: { name: 'bursar' },
    });
    expect(replies.get('two')?.result).toEqual({});
    expect(replies.get(4)?.result?.['protocolVersion']).toBe('2025-06-18');
    const tools = replies.get(3)?.result?.['tools'] as { name: string; annotations: object; inputSchema: object }[];
    expect(tools.length).toBe(ASKINGS.length);
    for (const tool of tools)
      expect(tool).toMatchObject({ annotations: { readOnlyHint: true }, inputSchema: { type: 'object' } });
  });

  it('answers a message that is too long, half a character and a list where one value is taken, and goes on', async () => {
    const half = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"action","arguments":{"id":"\\ud800"}}}`;
    const replies = await asked(
      [
        message(1, 'ping', { long: 'x'.repeat(9 << 20) }),
        half,
        call(3, 'costs', { team: ['a', 'b'] }),
        call(4, 'explain', { target: 'x'.repeat(100_000) }),
        call(5, 'costs', { team: 'nobody' }),
        message(6, 'ping'),
      ],
      api.admin,
      65_536,
    );
    expect(replies.get(null)?.error).toEqual({ code: -32_600, message: 'a message has at most 8388608 characters' });
    const text = (id: number): string => replies.get(id)?.result?.content?.[0]?.text ?? '';
    expect(text(2)).toContain('id holds half a character');
    expect(text(3)).toContain('team must be one text or number');
    expect(text(4)).toContain('the question is too long for an address');
    expect(text(5)).toContain('there is no team nobody');
    expect(replies.get(6)?.result).toEqual({});
  });

  it('has no tool that writes, and none of a route or a field that is not there', () => {
    for (const { method, path, fields } of ASKINGS) {
      const route = endpoints().find((one) => one.method === method && one.path === path);
      expect(route, `${method} ${path}`).toBeDefined();
      expect(route?.writes ?? false, path).toBe(false);
      expect(route?.access, path).toBe('read');
      const schema = method === 'GET' ? route?.inputs.query : route?.inputs.body;
      const shape = Object.keys((schema as { shape?: object } | undefined)?.shape ?? {});
      for (const name of Object.keys(fields))
        if (!path.includes(`{${name}}`)) expect(shape, `${path} ${name}`).toContain(name);
    }
  });

  it('reads, plans and applies nothing', async () => {
    await api.call('PUT', '/v1/teams/red', { body: {} });
    const replies = await asked([
      call(1, 'teams'),
      call(2, 'plan_configuration', { configuration: { teams: { blue: {} } } }),
      call(3, 'costs', { 'group-by': 'team' }),
      call(4, 'explain', { target: 'red' }),
      call(5, 'configuration'),
    ]);
    const textOf = (id: number): unknown => JSON.parse(replies.get(id)?.result?.content?.[0]?.text ?? 'null');
    expect(textOf(1)).toMatchObject({ items: [{ id: 'red' }] });
    expect(textOf(2)).toMatchObject({ changes: [{ section: 'teams', id: 'blue', kind: 'add' }] });
    expect(textOf(3)).toMatchObject({ rows: [] });
    expect(textOf(5)).toMatchObject({ configuration: { teams: { red: {} } } });
    expect((await api.call('GET', '/v1/teams/blue')).status).toBe(404);
  });

  it('says what it cannot do to the model, and what is no message to the program', async () => {
    const replies = await asked([
      call(1, 'costs', { basis: 'guess' }),
      call(2, 'budget_state'),
      call(3, 'approve', { id: 'act-1' }),
      message(4, 'tools/burn'),
      message(5, 'tools/call', { name: 'teams', arguments: [] }),
      call(6, 'budget_state', { id: '../teams' }),
      'so much depends',
    ]);
    expect(replies.get(1)?.result).toMatchObject({ isError: true });
    expect(replies.get(1)?.result?.content?.[0]?.text).toContain('basis');
    expect(replies.get(2)?.result?.content?.[0]?.text).toContain('id must be given');
    expect(replies.get(3)?.error?.code).toBe(-32_602);
    expect(replies.get(4)?.error?.code).toBe(-32_601);
    expect(replies.get(5)?.error?.code).toBe(-32_602);
    expect(replies.get(6)?.result).toMatchObject({ isError: true });
    expect(replies.get(null)?.error?.code).toBe(-32_700);
  });

  it('sees what the key sees', async () => {
    const key = await api.keyFor({ role: 'viewer', teams: ['blue'] });
    const replies = await asked([call(1, 'teams'), call(2, 'configuration')], key);
    expect(JSON.parse(replies.get(1)?.result?.content?.[0]?.text ?? '')).toMatchObject({ items: [] });
    expect(replies.get(2)?.result).toMatchObject({ isError: true });
  });
});
