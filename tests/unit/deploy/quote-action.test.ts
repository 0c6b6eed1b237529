/** The GitHub Action that quotes a run in a pull request, against a server of ours and one like GitHub's. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { VERDICTS } from '../../../src/core/quote/budget.js';
import { ROOT } from '../../support/source.js';

const ACTION = path.join(ROOT, '.github/actions/quote');
const QUOTE = {
  cost: '48.00',
  currency: 'USD',
  interval: { low: '40.00', high: '60.00' },
  unitPrice: '2.00',
  term: 'on-demand',
  region: 'eu|west',
  budgets: {
    team: 'red',
    verdict: 'exceeds',
    budgets: [
      {
        budget: 'red-*monthly*',
        verdict: 'exceeds',
        left: { after: '-8.00' },
        currency: 'USD',
        periodEnd: '2026-11-01T00:00:00Z',
      },
    ],
  },
  alternatives: [{ term: 'spot', region: null, cost: '12.00' }],
};

describe('the action', () => {
  let folder = '';
  let server: Server;
  let url = '';
  let answer: readonly [number, unknown] = [200, QUOTE];
  let comments: { id: number; body: string }[] = [];
  const asked: string[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-action-'));
    server = createServer((request, response) => {
      void (async () => {
        const body = await text(request);
        asked.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
        const sent = (body === '' ? {} : JSON.parse(body)) as { readonly body?: string };
        const isQuote = request.url === '/v1/quotes';
        if (request.method === 'POST' && !isQuote) comments.push({ id: 7, body: sent.body ?? '' });
        if (request.method === 'PATCH') comments = comments.map((one) => ({ ...one, body: sent.body ?? '' }));
        const [status, document] = isQuote ? answer : [200, request.method === 'GET' ? comments : {}];
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      })();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await writeFile(path.join(folder, 'event.json'), JSON.stringify({ pull_request: { number: 12 } }));
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    [answer, comments] = [[200, QUOTE], []];
    asked.length = 0;
    for (const file of ['out', 'summary']) await writeFile(path.join(folder, file), '');
  });

  async function run(over: Readonly<Record<string, string>> = {}): Promise<{ code: number | null; out: string }> {
    const inputs = {
      url: `${url}/`,
      'api-key': 'k',
      provider: 'aws',
      sku: 'H100',
      gpus: '8',
      hours: '3',
      team: 'red',
      ...over,
    };
    const child = spawn(process.execPath, [path.join(ACTION, 'index.mjs')], {
      env: {
        ...Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
        GITHUB_OUTPUT: path.join(folder, 'out'),
        GITHUB_STEP_SUMMARY: path.join(folder, 'summary'),
        GITHUB_EVENT_PATH: path.join(folder, 'event.json'),
        GITHUB_API_URL: url,
        GITHUB_REPOSITORY: 'o/r',
      },
    });
    const [out, code] = await Promise.all([
      text(child.stdout),
      new Promise<number | null>((resolve) => void child.once('close', resolve)),
    ]);
    return { code, out };
  }
  const written = (name: string): Promise<string> => readFile(path.join(folder, name), 'utf8');

  it('writes the quote, its interval and the budgets, and no words of others as Markdown', async () => {
    expect(await run()).toEqual({ code: 0, out: '' });
    const summary = await written('summary');
    expect(summary).toContain('**48.00 USD** (40.00 to 60.00) for 8 GPUs of aws H100 for 3 h in eu\\|west');
    expect(summary).toContain('Budgets of red: **exceeds**');
    expect(summary).toContain('red-\\*monthly\\*');
    expect(summary).toContain('| spot | any | 12.00 USD |');
    expect(await written('out')).toMatch(/cost<<end-\S+\n48\.00\n/);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain('POST /v1/quotes Bearer k {"provider":"aws","sku":"H100","gpus":8,"hours":3');
  });

  it('rounds amounts for people, and keeps every digit in the outputs', async () => {
    const [small, large] = ['0.000123', '1053.966816'];
    const budgets = {
      ...QUOTE.budgets,
      budgets: [{ ...QUOTE.budgets.budgets[0], left: { after: '-1217.377071179' } }],
    };
    const alternatives = [{ term: 'spot', region: null, cost: small }];
    const interval = { low: large, high: large };
    answer = [200, { ...QUOTE, cost: large, interval, unitPrice: '2.74470525', budgets, alternatives }];
    expect((await run()).code).toBe(0);
    const summary = await written('summary');
    expect(summary).toContain('**1,053.97 USD** for 8 GPUs');
    expect(summary).toContain('at 2.7447 USD per GPU-hour');
    expect(summary).toContain('| -1,217.38 USD |');
    expect(summary).toContain('| spot | any | 0.00012 USD |');
    expect(await written('out')).toContain('\n1053.966816\n');
  });

  it('keeps one comment, which it writes over', async () => {
    await run({ 'github-token': 't' });
    await run({ 'github-token': 't' });
    expect(comments).toHaveLength(1);
    expect(comments[0]?.body).toMatch(/^<!-- bursar-quote aws\/H100\/red -->\n### What this run would cost/);
    expect(asked.filter((one) => one.includes('/issues')).map((one) => one.split(' ').slice(0, 2).join(' '))).toEqual([
      'GET /repos/o/r/issues/12/comments?per_page=100&page=1',
      'POST /repos/o/r/issues/12/comments',
      'GET /repos/o/r/issues/12/comments?per_page=100&page=1',
      'PATCH /repos/o/r/issues/comments/7',
    ]);
  });

  it('fails where it is told to and the budgets do not hold the run', async () => {
    const { code, out } = await run({ 'fail-when': 'exceeds' });
    expect({ code, out }).toEqual({ code: 1, out: '::error::The budgets of red do not hold this run\n' });
  });

  it('says where there is no price, and makes none up', async () => {
    answer = [404, { detail: 'no price', quote: { unpriced: 'no-price', message: 'nobody sells it' } }];
    expect((await run()).code).toBe(0);
    expect(await written('summary')).toContain('**no price**. nobody sells it');
    expect(await written('out')).toMatch(/cost<<end-\S+\n\n/);
  });

  it('fails with every problem where it is used wrongly', async () => {
    answer = [400, { detail: 'the request has 1 problem(s)', problems: [{ path: 'gpus', message: 'is too small' }] }];
    expect(await run()).toEqual({
      code: 1,
      out: '::error::Bursar answered 400: the request has 1 problem(s); gpus is too small\n',
    });
    const away = await run({ url: 'http://name:secret@127.0.0.1:9/below' });
    expect(away.code).toBe(1);
    expect(away.out).toMatch(/^::error::http:\/\/127\.0\.0\.1:9\/below\/v1\/quotes cannot be reached: .+\n$/);
    expect(away.out).not.toMatch(/secret|fetch failed/);
    const gone = createServer();
    await new Promise<void>((resolve) => void gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise<void>((resolve) => void gone.close(() => resolve()));
    expect((await run({ url: `http://127.0.0.1:${port}` })).out).toBe(
      `::error::http://127.0.0.1:${port}/v1/quotes cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}\n`,
    );
    await run({ gpus: 'eight' });
    expect(asked.at(-1)).toContain('"gpus":"eight"');
  });

  it('declares every input that it reads, and the verdicts that there are', async () => {
    const declared = parse(await readFile(path.join(ACTION, 'action.yml'), 'utf8')) as {
      inputs: Record<string, unknown>;
      outputs: { verdict: { description: string } };
    };
    const program = await readFile(path.join(ACTION, 'index.mjs'), 'utf8');
    const read = [...new Set([...program.matchAll(/input\('([\w-]+)'\)/g)].map(([, name]) => name))];
    expect(read.sort()).toEqual(Object.keys(declared.inputs).sort());
    for (const verdict of VERDICTS) expect(declared.outputs.verdict.description).toContain(verdict);
  });
});
