/** A bill in several files, through the API and on the command line; increments; amortised cost; commitments. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitmentReport } from '../../src/core/bill/commitments.js';
import { run } from '../../src/cli/program.js';
import { CHUNK_BYTES, type OpenDelivery } from '../../src/store/usage/deliveries.js';
import { ROOT } from '../support/source.js';
import { testApi, type Reply } from '../support/web.js';

const api = await testApi();
const made = (name: string): string => path.join(ROOT, 'tests/fixtures/bills-made', name);
const text = (name: string): string => readFileSync(made(name), 'utf8');
const half = (name: string, part: 0 | 1): string => {
  const [header = '', ...rows] = text(name).trimEnd().split('\n');
  const middle = Math.ceil(rows.length / 2);
  return `${[header, ...(part === 0 ? rows.slice(0, middle) : rows.slice(middle))].join('\n')}\n`;
};
const send = (delivery: string, filename: string, body: string): Promise<Reply> =>
  api.call('POST', `/v1/deliveries/${delivery}/files?filename=${filename}`, { body });
const open = (delivery: string, source: string): Promise<Reply> =>
  api.call('PUT', `/v1/deliveries/${delivery}`, { body: { source } });

interface Counted {
  readonly billed: string | null;
  readonly effective: string | null;
  readonly lines: string;
  readonly deliveries: string;
}

/** What a source's deliveries hold, summed in the database. */
async function held(source: string): Promise<Counted> {
  const [row] = await api.stores.db.query<Counted>(
    `select sum(u.billed)::text as billed, sum(u.effective)::text as effective, coalesce(sum(u.records), 0)::text as lines,
       count(distinct d.id)::text as deliveries
     from delivery d left join usage_hour u on u.organisation = d.organisation and u.delivery = d.id where d.source = $1`,
    [source],
  );
  return row as Counted;
}

describe('a delivery', () => {
  it('counts when it is committed, whole, and is gone then', async () => {
    expect((await open('october', 'parts')).status).toBe(200);
    const first = await send('october', 'part-1.csv', half('focus_1_3.csv', 0));
    expect(first.body).toMatchObject({ file: 'part-1.csv', bytes: Buffer.byteLength(half('focus_1_3.csv', 0)) });
    // The connection broke: the whole call is made again.
    await open('october', 'parts');
    expect((await send('october', 'part-1.csv', half('focus_1_3.csv', 0))).body).toEqual(first.body);
    await send('october', 'part-2.csv', half('focus_1_3.csv', 1));
    expect((await held('parts')).lines).toBe('0');
    const dry = await api.call('POST', '/v1/deliveries/october/commit?dryRun=true');
    expect(dry.status).toBe(200);
    expect((await held('parts')).lines).toBe('0');
    const { status, body } = await api.call<{ files: { file: string; accepted: number }[] }>(
      'POST',
      '/v1/deliveries/october/commit',
    );
    expect([status, body.files.map(({ file, accepted }) => [file, accepted])]).toEqual([
      200,
      [
        ['part-1.csv', 3],
        ['part-2.csv', 2],
      ],
    ]);
    expect(await held('parts')).toMatchObject({ billed: '14904.6000', lines: '5', deliveries: '1' });
    expect((await api.call('POST', '/v1/deliveries/october/commit')).status).toBe(404);
    expect((await api.call<{ deliveries: unknown[] }>('GET', '/v1/deliveries')).body.deliveries).toEqual([]);
  });

  it('takes a file larger than a piece, byte for byte, and gives it up when it is discarded', async () => {
    await open('large', 'large');
    const body = `${text('focus_1_3.csv')}${'\n'.repeat(CHUNK_BYTES)}`;
    await send('large', 'large.csv', body);
    const parts: Uint8Array[] = [];
    for await (const part of api.stores.deliveries.content('default', 'large', 'large.csv')) parts.push(part);
    expect(parts.length).toBe(2);
    expect(Buffer.concat(parts).toString()).toBe(body);
    expect((await api.call<OpenDelivery>('DELETE', '/v1/deliveries/large')).body.files).toHaveLength(1);
    expect((await api.call('POST', '/v1/deliveries/large/commit')).status).toBe(404);
    const [left] = await api.stores.db.query<{ n: string }>(`select count(*)::text as n from open_delivery_chunk`);
    expect(left?.n).toBe('0');
  });

  it('of a report with a manifest is refused while a file is missing, by its name, and stays open', async () => {
    await open('cur', 'cur');
    const manifest = { reportKeys: ['p/cur-00001.csv.gz', 'p/cur-00002.csv.gz'], account: '111122223333' };
    await send('cur', 'cur-Manifest.json', JSON.stringify(manifest));
    await send('cur', 'cur-00001.csv', half('cur2_net_split.csv', 0));
    const refused = await api.call('POST', '/v1/deliveries/cur/commit');
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('cur-00002.csv');
    expect(refused.text).not.toContain('cur-00001.csv');
    expect((await held('cur')).deliveries).toBe('0');
    await send('cur', 'cur-00002.csv', half('cur2_net_split.csv', 1));
    expect((await api.call('POST', '/v1/deliveries/cur/commit')).status).toBe(200);
    expect(Number((await held('cur')).billed)).toBe(49.54034);
  });

  it('of a report with a manifest takes no part that it does not name, and none of another period', async () => {
    await open('stale', 'stale');
    const billingPeriod = { start: '20261101T000000.000Z', end: '20261201T000000.000Z' };
    const manifest = { reportKeys: ['p/cur-00001.csv.gz'], billingPeriod };
    await send('stale', 'cur-Manifest.json', JSON.stringify(manifest));
    await send('stale', 'cur-00001.csv', half('cur2_net_split.csv', 0));
    await send('stale', 'cur-00002.csv', half('cur2_net_split.csv', 1));
    const stale = await api.call('POST', '/v1/deliveries/stale/commit');
    expect([stale.status, stale.text]).toEqual([400, expect.stringContaining('cur-00002.csv is not named')]);
    await api.call('DELETE', '/v1/deliveries/stale');
    await open('stale', 'stale');
    await send('stale', 'cur-Manifest.json', JSON.stringify(manifest));
    await send('stale', 'cur-00001.csv', half('cur2_net_split.csv', 0));
    const month = await api.call('POST', '/v1/deliveries/stale/commit');
    expect([month.status, month.text]).toEqual([400, expect.stringContaining('period from 2026-11-01')]);
    expect((await held('stale')).deliveries).toBe('0');
    await api.call('DELETE', '/v1/deliveries/stale');
  });

  it('keeps a file against another one of its name, unless that is to take its place', async () => {
    await open('twice', 'twice');
    await send('twice', 'cur-00001.csv', half('focus_1_3.csv', 0));
    const other = await send('twice', 'cur-00001.csv', half('focus_1_3.csv', 1));
    expect([other.status, other.text]).toEqual([
      409,
      expect.stringContaining('another file of the name cur-00001.csv'),
    ]);
    const files = async () => (await api.call<OpenDelivery>('DELETE', '/v1/deliveries/twice')).body.files;
    expect(await files()).toMatchObject([{ bytes: Buffer.byteLength(half('focus_1_3.csv', 0)) }]);
    await open('twice', 'twice');
    await send('twice', 'cur-00001.csv', half('focus_1_3.csv', 0));
    expect((await send('twice', 'cur-00001.csv&replace=true', half('focus_1_3.csv', 1))).status).toBe(200);
    expect(await files()).toMatchObject([{ bytes: Buffer.byteLength(half('focus_1_3.csv', 1)) }]);
  });

  it('takes a file once that is sent several times at once, and refuses others of its name', async () => {
    await open('at-once', 'at-once');
    const same = await Promise.all(Array.from({ length: 5 }, () => send('at-once', 'a.csv', half('focus_1_3.csv', 0))));
    expect(same.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const others = await Promise.all(
      [0, 1].map((part) => send('at-once', 'b.csv', half('focus_1_3.csv', part as 0 | 1))),
    );
    expect(others.map(({ status }) => status).sort()).toEqual([200, 409]);
    await api.call('DELETE', '/v1/deliveries/at-once');
  });

  it('refuses a part that is there under two names, and keeps one that comes while it is imported', async () => {
    await open('copied', 'copied');
    await send('copied', 'a.csv', half('focus_1_3.csv', 0));
    await send('copied', 'b.csv', half('focus_1_3.csv', 0));
    const copied = await api.call('POST', '/v1/deliveries/copied/commit');
    expect([copied.status, copied.text]).toEqual([400, expect.stringContaining('b.csv has the same content as a.csv')]);
    const { db, deliveries } = api.stores;
    const { files } = await deliveries.get(db, 'default', 'copied');
    const before = files.slice(0, 1);
    await expect(db.transaction((tx) => deliveries.close(tx, 'default', 'copied', before))).rejects.toThrow(
      /^b\.csv came while the delivery copied was imported/,
    );
    expect((await deliveries.get(db, 'default', 'copied')).files).toHaveLength(2);
    await db.transaction((tx) => deliveries.close(tx, 'default', 'copied', files));
    await db.transaction((tx) => deliveries.close(tx, 'default', 'copied', files));
    expect((await api.call('POST', '/v1/deliveries/copied/commit')).status).toBe(404);
  });

  it('is of one source, needs a file, and is for those who may import', async () => {
    await open('mine', 'a');
    expect((await open('mine', 'b')).status).toBe(409);
    expect((await api.call('POST', '/v1/deliveries/mine/commit')).status).toBe(400);
    // It is a parameter of the query: in a body nobody would look at it.
    const misplaced = await api.call('POST', '/v1/deliveries/mine/commit', { body: { strict: true } });
    expect([misplaced.status, misplaced.text]).toEqual([400, expect.stringContaining('strict')]);
    expect((await send('nobody', 'x.csv', 'x')).status).toBe(404);
    const viewer = await api.keyFor({ role: 'viewer' });
    expect((await api.call('POST', '/v1/deliveries/mine/commit', { key: viewer })).status).toBe(403);
    await api.call('DELETE', '/v1/deliveries/mine');
  });
});

describe('increments and supplements', () => {
  const oci = (reference: string, day: number, cost: string): string =>
    [
      'lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,lineItem/intervalUsageEnd,cost/myCost,cost/currencyCode,cost/productSku',
      `${reference},t,2026-10-0${day}T01:00Z,2026-10-0${day}T02:00Z,${cost},USD,B1`,
    ].join('\n');
  const load = (filename: string, source: string, body: string): Promise<Reply> =>
    api.call('POST', `/v1/imports?filename=${filename}&source=${source}`, { body });

  it("Oracle's files add up to their month; the same file again replaces only itself", async () => {
    await load('0001.csv', 'oci', oci('r1', 1, '1.25'));
    await load('0002.csv', 'oci', oci('r2', 2, '2.50'));
    expect((await held('oci')).billed).toBe('3.75');
    const again = await load('0001.csv', 'oci', oci('r1', 1, '1.25'));
    expect(again.body['files']).toMatchObject([{ accepted: 0, unchanged: 1 }]);
    await load('0001.csv', 'oci', oci('r1', 1, '1.75'));
    expect(await held('oci')).toMatchObject({ billed: '4.25', lines: '2', deliveries: '2' });
    // Its header alone takes nothing back.
    const none = await load('0001.csv', 'oci', `${oci('r1', 1, '1').split('\n')[0] ?? ''}\n`);
    expect(none.body['files']).toMatchObject([{ rows: 0, warnings: [expect.stringContaining('it changes nothing')] }]);
    expect(await held('oci')).toMatchObject({ billed: '4.25', lines: '2', deliveries: '2' });
    // A copy under another name is the same report; another file with its name is not.
    const copy = await load('0002 (1).csv', 'oci', oci('r2', 2, '2.50'));
    expect(copy.body['files']).toMatchObject([
      { accepted: 0, unchanged: 1, warnings: [expect.stringContaining('those of 0002.csv')] },
    ]);
    await load('0002.csv', 'oci', oci('r2', 2, '3.50'));
    expect(await held('oci')).toMatchObject({ billed: '5.25', lines: '2', deliveries: '2' });
    // A line is one by its reference, whatever files it comes in; the next file may take the place of the other.
    const both = `${oci('r2', 2, '3.50')}\n${oci('r3', 2, '4.00').split('\n')[1]}`;
    const refused = await load('0003.csv', 'oci', both);
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining('1 of the lines of 0003.csv (such as r2) are in 0002.csv too'),
    ]);
    expect(await held('oci')).toMatchObject({ billed: '5.25', lines: '2' });
    expect((await load('0003.csv&replace=true', 'oci', both)).body['files']).toMatchObject([
      { accepted: 2, replaced: [{ records: 1 }] },
    ]);
    expect(await held('oci')).toMatchObject({ billed: '9.25', lines: '3', deliveries: '2' });
  });

  it('an amortised export beside the actual one adds effective cost, and nothing that is billed', async () => {
    await load('actual.csv', 'azure', text('azure_mca_actual.csv'));
    const before = await held('azure');
    await load('amortised.csv', 'azure', text('azure_mca_amortised.csv'));
    await load('amortised.csv', 'azure', text('azure_mca_amortised.csv'));
    const after = await held('azure');
    expect(Number(before.billed)).toBe(1288.1519);
    expect(Number(after.billed)).toBe(1288.1519);
    expect([Number(before.effective), Number(after.effective)]).toEqual([88.1519, 128.1519]);
    const [bills] = await api.stores.db.query<{ n: string }>(
      `select count(*)::text as n from delivery where source = 'azure' and scope is not null`,
    );
    expect(bills?.n).toBe('1');
  });
});

describe('commitments', () => {
  it('are reported from the bills, for the days that are asked for', async () => {
    const { body } = await api.call<CommitmentReport>('GET', '/v1/commitments?from=2026-10-01&to=2026-11-01');
    expect(body.commitments.find(({ commitment }) => commitment === 'res-9')).toMatchObject({
      purchased: '14880.00',
      used: '16.00',
      unused: '4.00',
      unknownLines: 0,
      utilisation: '0.800000',
    });
    // The actual export does not state what the covered line cost, the amortised one beside it does.
    expect(body.commitments.find(({ provider }) => provider === 'Microsoft')).toMatchObject({
      used: '39.6684',
      unused: '0.33160',
      unknownLines: 0,
      utilisation: '0.991710',
    });
    const backwards = await api.call('GET', '/v1/commitments?from=2026-11-01&to=2026-10-01');
    expect([backwards.status, backwards.text]).toEqual([400, expect.stringContaining('is not after from')]);
    const blank = await Promise.all([
      api.call('POST', '/v1/imports?filename=a.csv&source=%20', { body: 'a' }),
      api.call('POST', '/v1/usage?source=meter%20', { body: { records: [] } }),
    ]);
    for (const { status, text: said } of blank)
      expect([status, said]).toEqual([400, expect.stringContaining('begins or ends with a blank')]);
    const later = await api.call<CommitmentReport>('GET', '/v1/commitments?from=2026-11-01');
    expect(later.body).toMatchObject({ commitments: [], coverage: [] });
  });

  it('of contracts are measured by what the source says was agreed, and the last statement of it counts', async () => {
    const give = async (name: string, body: string) =>
      api.call<{ files: { import: string; format: string; accepted: number; unchanged: number; rejected: number }[] }>(
        'POST',
        `/v1/imports?source=contracts&filename=${name}`,
        { body, headers: { 'content-type': 'text/csv' } },
      );
    const contracts = async () => (await api.call<CommitmentReport>('GET', '/v1/commitments')).body.contracts;
    // Four lines of the deliveries before.
    const applied = { commitment: 'CC-1', unit: 'USD', applied: '24.60' };
    const unagreed = { committed: null, remaining: null, fulfilment: null };
    const hours = { commitment: 'CC-2', unit: 'GPU-Hours', applied: '6', ...unagreed };
    expect(await contracts()).toMatchObject([{ ...applied, ...unagreed }, hours]);
    await give('tokens.csv', text('focus_1_4.csv'));
    const terms = text('focus_contracts_1_4.csv');
    expect((await give('c.csv', terms)).body.files).toMatchObject([{ format: 'focus-contracts', accepted: 2 }]);
    expect(await contracts()).toMatchObject([
      {
        ...applied,
        contract: 'C-1',
        category: 'Spend',
        committed: '98.40',
        remaining: '73.80',
        fulfilment: '0.250000',
      },
      { commitment: 'CC-3', unit: 'Tokens', committed: '4000000', applied: '1667215', fulfilment: '0.416804' },
      hours,
    ]);
    expect((await give('c.csv', terms)).body.files).toMatchObject([{ accepted: 0, unchanged: 2 }]);
    const { files } = (await give('c.csv', terms.replace('98.40', '49.20'))).body;
    expect(await contracts()).toMatchObject([
      { committed: '49.20', fulfilment: '0.500000' },
      { commitment: 'CC-3' },
      hours,
    ]);
    await api.call('POST', `/v1/imports/${files[0]?.import}/undo`);
    expect(await contracts()).toMatchObject([
      { committed: '98.40', fulfilment: '0.250000' },
      { commitment: 'CC-3' },
      hours,
    ]);
    const broken = await give('c.csv', terms.replace(',98.40,', ',,').replace(',Usage,', ',Gift,'));
    expect(broken.body.files).toMatchObject([{ accepted: 0, rejected: 2 }]);
  });
});

describe('the command line', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-deliveries-'));
    await writeFile(path.join(folder, 'one.csv'), half('focus_aws.csv', 0).replaceAll('111122223333', '999988887777'));
    await writeFile(path.join(folder, 'two.csv'), half('focus_aws.csv', 1).replaceAll('111122223333', '999988887777'));
    await writeFile(path.join(folder, 'bad.csv'), 'hello\nworld\n');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function bursar(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run(argv, {
      environment: {},
      clock: { now: () => Date.UTC(2026, 10, 1) },
      stdout: { write: (chunk) => (out += chunk) },
      stderr: { write: (chunk) => (err += chunk) },
      serve: async () => undefined,
      connect: () => Promise.reject(new Error('goes through the API')),
      remote: { url: api.url, apiKey: api.admin },
    });
    return { code, out, err };
  }
  const file = (name: string): string => path.join(folder, name);

  it('names a delivery over several calls, and commits it', async () => {
    const first = await bursar('import', file('one.csv'), '--delivery', 'cli', '--source', 'cli', '--json');
    expect([first.code, first.err]).toEqual([0, '']);
    expect(JSON.parse(first.out)).toMatchObject({ delivery: { files: [{ file: 'one.csv' }] } });
    await bursar('import', file('two.csv'), '--delivery', 'cli', '--source', 'cli', '--json');
    expect((await bursar('deliveries')).out).toContain('two.csv');
    const done = await bursar('deliveries', '--commit', 'cli', '--no-wait', '--json');
    expect([done.code, JSON.parse(done.out).files.length]).toEqual([0, 2]);
    expect(Number((await held('cli')).billed)).toBe(34.5358818284);
    expect((await bursar('commitments', '--json')).code).toBe(0);
  });

  it('takes several files of one call in together through the API, or none of them', async () => {
    const refused = await bursar('import', file('one.csv'), file('bad.csv'), '--source', 'call', '--no-wait', '--json');
    expect(refused.code).toBe(1);
    expect((await held('call')).deliveries).toBe('0');
    const call = ['import', file('one.csv'), file('two.csv'), '--source', 'call', '--no-wait', '--json'];
    // The same bill came from the source `cli` before: asked, not counted twice.
    expect(await bursar(...call)).toMatchObject({ code: 1, err: expect.stringContaining('--replace') as string });
    const both = await bursar(...call, '--replace');
    expect([both.code, both.err]).toEqual([0, '']);
    expect((await held('cli')).deliveries).toBe('0');
    expect(await held('call')).toMatchObject({ lines: '5', deliveries: '1' });
    expect((await api.call<{ deliveries: unknown[] }>('GET', '/v1/deliveries')).body.deliveries).toEqual([]);
  });
});
