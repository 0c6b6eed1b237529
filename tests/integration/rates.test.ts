/**
 * Exchange rates and the peak schedule: what they price anew and what they leave alone, and the two doors through which
 * they are set. Every amount here is computed by hand.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse as parseYaml } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compose, type Bursar } from '../../src/app.module.js';
import { run, type CliContext } from '../../src/cli/program.js';
import { parseDecimal, type Decimal } from '../../src/core/decimal.js';
import { rateOf } from '../../src/core/money.js';
import type { PeakRule } from '../../src/core/price/peak.js';
import { setFx, setPeak } from '../../src/application/price/set-rates.js';
import { setTeam } from '../../src/application/access/set-team.js';
import { createWebApp } from '../../src/web/server.js';
import { WebModule } from '../../src/web/web.module.js';
import { instancePrice, keepDraining, testBursar, type TestBursar } from '../support/bursar.js';
import { freshDatabase } from '../support/database.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';
import { NOW, testApi } from '../support/web.js';
import { localOfComposed } from '../support/local.js';

const decimal = (text: string): Decimal => parseDecimal(text) as Decimal;
const fx = (bursar: TestBursar, ...rates: [day: string, currency: string, perUsd: string][]) =>
  bursar.db.transaction((tx) =>
    setFx(
      bursar.stores,
      tx,
      'default',
      rates.map(([day, currency, perUsd]) => ({ day, currency, perBase: decimal(perUsd) })),
      'test',
    ),
  );

describe('a peak of 1.15 on weekday hours', async () => {
  const bursar = await testBursar();
  const DAY = 24 * HOUR;
  const weekdays: PeakRule = {
    from: '09:00',
    to: '18:00',
    days: ['mon', 'tue', 'wed', 'thu', 'fri'],
    zone: 'UTC',
    factor: '1.15',
  };
  const peak = async (...rules: PeakRule[]): Promise<void> => {
    await bursar.db.transaction((tx) => setPeak(bursar.stores, tx, 'default', rules));
    await bursar.runner.drain();
  };
  /** `day hour component: nanos` of every priced hour. */
  const hours = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (
        await bursar.db.query<{ hour: Date; component: string; nanos: string }>(
          `select hour, component, nanos::text as nanos from cost_hour order by 1, 2`,
        )
      ).map(({ hour, component, nanos }) => [`${hour.toISOString().slice(5, 13)} ${component}`, Number(nanos) / 1e9]),
    );
  const onBills = async () =>
    bursar.db.query(`select day::text as day, sum(billed)::text as billed, sum(effective)::text as effective, sum(list)::text as list, sum(actual)::text as actual
    from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension and d.kind = 'billed' group by 1 order by 1`);

  it('multiplies GPUs, storage and network of those hours, and nothing else', async () => {
    const part = (component: 'storage' | 'network', rate: ReturnType<typeof rateOf>) =>
      instancePrice('1', { sku: '*', component, rate, gpuModel: null, incrementSeconds: 1, minimumSeconds: 0 });
    await bursar.setPrices([
      instancePrice('10.00', { minimumSeconds: 0 }),
      part('storage', rateOf(decimal('0.36'), 'USD', 3600n, 'gib-second')),
      part('network', rateOf(decimal('0.05'), 'USD', 1n, 'gib')),
    ]);
    // 8 GPUs at 10 an hour, 10 GiB at 0.36 an hour, 4 GiB at 0.05: at 08, 09 and 17 o'clock of Monday, 18 o'clock, and
    // 09 o'clock of Saturday.
    const starts = [
      MONDAY + 8 * HOUR,
      MONDAY + 9 * HOUR,
      MONDAY + 17 * HOUR,
      MONDAY + 18 * HOUR,
      MONDAY + 5 * DAY + 9 * HOUR,
    ];
    await bursar.take([
      ...starts.map((start, n) =>
        metered(`m${n}`, { start, end: start + HOUR, storageMib: 10 * 1024, networkBytes: 4 * 2 ** 30 }),
      ),
      ...starts.map((start, n) =>
        billed(
          `b${n}`,
          '7.00',
          { account: 'bills', start, end: start + HOUR },
          { effective: decimal('6.00'), list: decimal('8.00') },
        ),
      ),
    ]);
    await bursar.runner.drain();
    const plain = (label: string, factor = 1): Record<string, number> => ({
      [`${label} gpu`]: 10 * factor,
      [`${label} network`]: 0.2 * factor,
      [`${label} storage`]: 3.6 * factor,
    });
    const all = {
      ...plain('10-05T08'),
      ...plain('10-05T09'),
      ...plain('10-05T17'),
      ...plain('10-05T18'),
      ...plain('10-10T09'),
    };
    expect(await hours()).toEqual(all);
    const bills = await onBills();
    expect(bills).toEqual([
      { day: '2026-10-05', billed: '28.00', effective: '24.00', list: '32.00', actual: '28.00' },
      { day: '2026-10-10', billed: '7.00', effective: '6.00', list: '8.00', actual: '7.00' },
    ]);

    await peak(weekdays);
    const raised = (label: string) => ({
      [`${label} gpu`]: 11.5,
      [`${label} network`]: 0.23,
      [`${label} storage`]: 4.14,
    });
    expect(await hours()).toEqual({ ...all, ...raised('10-05T09'), ...raised('10-05T17') });
    expect(await onBills()).toEqual(bills);
    // Five plain hours are 69; two of them are raised by 15 %.
    expect((await bursar.spend({ basis: 'accrued' })).total).toBe('73.140000000');
    expect((await bursar.spend({ basis: 'billed' })).total).toBe('35.00');
  });

  it('cuts an hour where the zone of the rule does', async () => {
    await peak({ ...weekdays, from: '13:45', to: '14:45', zone: 'Asia/Kolkata' });
    // That is 08:15 to 09:15 UTC: three quarters of Monday's 08 o'clock and a quarter of its 09 o'clock.
    const now = await hours();
    expect([now['10-05T08 gpu'], now['10-05T09 gpu'], now['10-05T17 gpu'], now['10-10T09 gpu']]).toEqual([
      11.125, 10.375, 10, 10,
    ]);
    expect([now['10-05T08 storage'], now['10-05T08 network']]).toEqual([4.005, 0.2225]);
  });

  it('is gone without a trace when it is taken away', async () => {
    await peak();
    expect((await bursar.spend({ basis: 'accrued' })).total).toBe('69.000000000');
    await expect(peak({ ...weekdays, zone: 'Mars/Olympus', factor: '-1' })).rejects.toThrow('2 problem(s)');
    expect(await bursar.stores.work.waiting()).toBe(0);
  });
});

describe('an exchange rate that changes', async () => {
  const bursar = await testBursar();
  const day = (n: number) => Date.UTC(2026, 9, n);
  const use = (id: string, n: number, namespace = 'cn') =>
    metered(id, { namespace, start: day(n), end: day(n) + HOUR });
  const costs = async (): Promise<Record<string, string | null>> =>
    Object.fromEntries(
      (await bursar.spend({ basis: 'accrued', groupBy: 'team,day' })).rows.map((row) => [
        `${row['team']} ${row['day']} ${row.currency}`,
        row.cost,
      ]),
    );
  const team = (currency: string) =>
    bursar.db.transaction((tx) =>
      setTeam(bursar.stores, tx, 'default', {
        id: 'cn',
        name: 'cn',
        parent: null,
        zone: 'UTC',
        currency,
        assignedBy: null,
      }),
    );
  const due = async (stage: string): Promise<string[]> =>
    (
      await bursar.db.query<{ key: string }>(`select key from work where stage = $1 and done < wanted order by key`, [
        stage,
      ])
    ).map(({ key }) => key);

  it('prices the days that it covers anew, and no earlier one', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await bursar.db.transaction((tx) =>
      bursar.stores.organisations.saveRules(tx, 'default', [{ match: { namespace: 'cn' }, team: 'cn' }], 'test'),
    );
    await team('CNY');
    expect(await fx(bursar, ['2026-10-01', 'CNY', '7'], ['2026-10-10', 'CNY', '7.2'])).toEqual({
      rows: 2,
      changed: 2,
      from: '2026-10-01',
    });
    await bursar.take([use('a', 5), use('b', 12), use('c', 20), use('d', 12, 'us')]);
    await bursar.runner.drain();
    const before = {
      'cn 2026-10-05 CNY': '70.000000000',
      'cn 2026-10-12 CNY': '72.000000000',
      'cn 2026-10-20 CNY': '72.000000000',
      'unallocated 2026-10-12 USD': '10.000000000',
    };
    expect(await costs()).toEqual(before);

    expect(
      await fx(bursar, ['2026-10-01', 'CNY', '7.00'], ['2026-10-10', 'CNY', '7.3'], ['2026-10-20', 'CNY', '7.5']),
    ).toEqual({ rows: 3, changed: 2, from: '2026-10-10' });
    expect(await due('cost.price')).toEqual(['cn/2026-10-12', 'cn/2026-10-20', 'unallocated/2026-10-12']);
    await bursar.runner.drain();
    expect(await costs()).toEqual({
      ...before,
      'cn 2026-10-12 CNY': '73.000000000',
      'cn 2026-10-20 CNY': '75.000000000',
    });
    expect(await fx(bursar, ['2026-10-10', 'CNY', '7.3'])).toEqual({ rows: 1, changed: 0, from: null });
    expect(await due('cost.price')).toEqual([]);
  });

  it('prices what had none: a team whose currency has no rate is unpriced, with its quantity', async () => {
    await team('JPY');
    await bursar.runner.drain();
    expect(await bursar.spend({ basis: 'accrued', teams: ['cn'] })).toMatchObject({
      total: null,
      unpricedQuantity: '24.000000',
    });
    await fx(bursar, ['2026-10-12', 'JPY', '150']);
    await bursar.runner.drain();
    expect(await bursar.spend({ basis: 'accrued', teams: ['cn'] })).toMatchObject({
      total: '3000.000000000',
      unpricedQuantity: '8.000000',
      currency: 'JPY',
    });
    await team('CNY');
    await bursar.runner.drain();
    expect(await bursar.spend({ basis: 'accrued', teams: ['cn'] })).toMatchObject({
      total: '218.000000000',
      unpricedQuantity: '0.000000',
      currency: 'CNY',
    });
  });
});

describe('over HTTP', async () => {
  const api = await testApi();
  const rates = [
    { day: '2026-10-01', currency: 'EUR', perUsd: '0.92' },
    { day: '2026-10-01', currency: 'CNY', perUsd: '7.12' },
    { day: '2026-10-02', currency: 'EUR', perUsd: '0.915' },
  ];
  const rules = [{ from: '09:00', to: '18:00', days: ['mon', 'fri'], zone: 'Europe/Berlin', factor: '1.15' }];

  it('rates are added, corrected, listed in pages, and audited', async () => {
    expect(await api.call('PUT', '/v1/fx', { body: { rates, source: 'central bank' } })).toMatchObject({
      status: 200,
      body: { rows: 3, changed: 3, from: '2026-10-01' },
    });
    expect(
      (
        await api.call('PUT', '/v1/fx', {
          body: {
            rates: [
              { ...rates[2], perUsd: '0.9150' },
              { ...rates[1], perUsd: '7.13' },
            ],
          },
        })
      ).body,
    ).toEqual({ rows: 2, changed: 1, from: '2026-10-01' });
    const first = await api.call<{ items: object[]; nextCursor: string }>('GET', '/v1/fx?limit=2');
    expect(first.body.items).toMatchObject([
      { day: '2026-10-01', currency: 'CNY', perUsd: '7.13', source: expect.stringMatching(/^key:/) as string },
      { day: '2026-10-01', currency: 'EUR', perUsd: '0.92', source: 'central bank' },
    ]);
    expect((await api.call('GET', `/v1/fx?limit=2&cursor=${first.body.nextCursor}`)).body).toMatchObject({
      items: [{ day: '2026-10-02', currency: 'EUR', perUsd: '0.915' }],
      nextCursor: null,
    });
    expect((await api.call<{ items: object[] }>('GET', '/v1/fx?currency=EUR')).body.items).toHaveLength(2);
    const { items } = (await api.call<{ items: object[] }>('GET', '/v1/audit?limit=1')).body;
    expect(items).toMatchObject([{ verb: 'fx.save', detail: { rows: 2, changed: 1 } }]);
  });

  it('every problem of the rates is named, and nothing is written', async () => {
    const body = {
      rates: [
        { day: '2026-13-01', currency: 'euro', perUsd: '0' },
        rates[0],
        { ...rates[0], perUsd: 'x' },
        { day: '2026-10-01', currency: 'USD', perUsd: '1' },
      ],
    };
    const { status, body: problem } = await api.call<{ problems: { path: string }[] }>('PUT', '/v1/fx', { body });
    expect(status).toBe(400);
    expect(problem.problems.map(({ path: where }) => where)).toEqual([
      'rates/0/day',
      'rates/0/currency',
      'rates/0/perUsd',
      'rates/2/perUsd',
      'rates/2/day',
      'rates/3/currency',
    ]);
    for (const wrong of [{ rates: [] }, {}, { rates: [{ ...rates[0], perUsd: 0.92 }] }, { rates, colour: 'red' }])
      expect((await api.call('PUT', '/v1/fx', { body: wrong })).status).toBe(400);
    expect((await api.call<{ items: object[] }>('GET', '/v1/fx')).body.items).toHaveLength(3);
  });

  it('the schedule is replaced whole, and every problem of it is named', async () => {
    expect((await api.call('GET', '/v1/peak')).body).toEqual({ rules: [] });
    expect(await api.call('PUT', '/v1/peak', { body: { rules } })).toMatchObject({ status: 200, body: { rules } });
    const { status, body } = await api.call<{ problems: { path: string }[] }>('PUT', '/v1/peak', {
      body: {
        rules: [
          { zone: 'Mars/Olympus', from: '9', factor: '101' },
          { zone: 'UTC', from: '10:00', to: '10:00', factor: '1' },
        ],
      },
    });
    expect(status).toBe(400);
    expect(body.problems.map(({ path: where }) => where)).toEqual([
      'rules/0/from',
      'rules/0/zone',
      'rules/0/factor',
      'rules/1/to',
    ]);
    expect((await api.call('GET', '/v1/peak')).body).toEqual({ rules });
    expect((await api.call<{ items: object[] }>('GET', '/v1/audit?limit=1')).body.items).toMatchObject([
      { verb: 'peak.save', detail: { before: [], after: rules } },
    ]);
  });

  it('they are read by every key and written by operators of all teams', async () => {
    await api.call('PUT', '/v1/teams/red', { body: {} });
    const keys = {
      viewer: await api.keyFor({ role: 'viewer' }),
      operator: await api.keyFor({ role: 'operator' }),
      red: await api.keyFor({ role: 'operator', teams: ['red'] }),
    };
    for (const [where, body] of [
      ['/v1/fx', { rates }],
      ['/v1/peak', { rules }],
    ] as const) {
      expect((await api.call('GET', where, { key: keys.viewer })).status).toBe(200);
      expect((await api.call('PUT', where, { key: keys.viewer, body })).status).toBe(403);
      expect((await api.call('PUT', where, { key: keys.red, body })).status).toBe(403);
      expect(
        (await api.call('PUT', where, { key: keys.operator, body, headers: { 'idempotency-key': where } })).status,
      ).toBe(200);
      expect(
        (await api.call('PUT', where, { key: keys.operator, body, headers: { 'idempotency-key': where } })).headers.get(
          'idempotency-replayed',
        ),
      ).toBe('true');
    }
  });
});

describe('the command line', async () => {
  const { url } = await freshDatabase();
  const clock = { now: () => NOW };
  let folder = '';
  let opened: Bursar;
  let app: Awaited<ReturnType<typeof createWebApp>>;
  let remote: NonNullable<CliContext['remote']>;
  /** Stands in for the worker that would run beside the API. */
  let stopDraining = (): Promise<void> => Promise.resolve();
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-rates-'));
    opened = await compose(url, clock);
    app = await createWebApp(WebModule.register({ stores: opened.stores, importer: opened.importer, clock }), {
      logger: false,
    });
    await app.listen(0, '127.0.0.1');
    remote = { url: await app.getUrl(), apiKey: (await opened.stores.keys.firstKey('default')) ?? '' };
    stopDraining = keepDraining(opened.runner);
  });
  afterAll(async () => {
    await stopDraining();
    await app.close();
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(path.join(folder, name), text);
    return path.join(folder, name);
  };
  async function bursar(
    door: 'local' | 'remote',
    ...argv: string[]
  ): Promise<{ code: number; out: string; err: string; json: unknown }> {
    let [out, err] = ['', ''];
    const code = await run(argv, {
      environment: {},
      clock,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      serve: async () => undefined,
      parseYaml: (text) => parseYaml(text) as unknown,
      remote: door === 'remote' ? remote : null,
      connect: async () => {
        if (door === 'remote') throw new Error('the database is not asked');
        return localOfComposed(opened, clock);
      },
    });
    return {
      code,
      out,
      err,
      get json() {
        return JSON.parse(out) as unknown;
      },
    };
  }

  it.each(['local', 'remote'] as const)('sets and lists rates (%s)', async (door) => {
    const [first, second] = door === 'local' ? ['0.92', '0.93'] : ['0.82', '0.83'];
    const csv = await write(
      'rates.csv',
      `Currency,day,per_usd,note\r\nEUR,2026-10-01,${first},x\r\n\r\n"CNY","2026-10-01","7.12",\r\n`,
    );
    expect((await bursar(door, 'fx', 'set', csv, '--json')).json).toMatchObject({ rows: 2, from: '2026-10-01' });
    const list = await write('rates.json', JSON.stringify([{ day: '2026-10-01', currency: 'EUR', per_usd: second }]));
    expect((await bursar(door, 'fx', 'set', list)).out).toBe('1 of 1 rates are new or changed, from 2026-10-01 on.\n');
    expect((await bursar(door, 'fx', 'set', list)).out).toBe('Nothing changed: all 1 rates were already there.\n');
    expect((await bursar(door, 'fx', '--json')).json).toEqual({
      base: 'USD',
      rates: [
        { day: '2026-10-01', currency: 'CNY', perUsd: '7.12', source: 'rates.csv' },
        { day: '2026-10-01', currency: 'EUR', perUsd: second, source: 'rates.json' },
      ],
    });
    expect((await bursar(door, 'fx', 'list', '--currency', 'CNY')).out).toMatch(
      /^day +currency +for one USD +source\n[- ]+\n2026-10-01 +CNY +7\.12 +rates\.csv\n$/,
    );
    expect((await bursar(door, 'fx', 'list', '--currency', 'yuan')).code).toBe(2);
  });

  it.each(['local', 'remote'] as const)('sets, shows and takes away the schedule (%s)', async (door) => {
    const yaml = await write(
      'peak.yaml',
      '- { from: "09:00", to: "18:00", days: [mon, tue], zone: Europe/Berlin, factor: 1.15 }\n- zone: UTC\n  fromDate: 2026-12-24\n  factor: "0.9"\n',
    );
    const rules = [
      { from: '09:00', to: '18:00', days: ['mon', 'tue'], zone: 'Europe/Berlin', factor: '1.15' },
      { zone: 'UTC', fromDate: '2026-12-24', factor: '0.9' },
    ];
    expect((await bursar(door, 'peak', 'set', yaml, '--json')).json).toEqual({ rules });
    expect((await bursar(door, 'peak', '--json')).json).toEqual({ rules });
    expect((await bursar(door, 'peak', 'show')).out).toMatch(
      /0 +09:00 +18:00 +mon tue +Europe\/Berlin .*1\.15\n +1 +00:00 +24:00 +every day +UTC +2026-12-24 .*0\.9\n/,
    );
    expect((await bursar(door, 'peak', 'set', await write('none.json', '{ "rules": [] }'))).out).toBe(
      'The peak schedule is removed.\n',
    );
    expect((await bursar(door, 'peak')).out).toContain('There is no peak schedule');
  });

  it('names every problem of a file with its place, and writes nothing', async () => {
    const before = (await bursar('local', 'fx', '--json')).json;
    const csv = await write(
      'bad.csv',
      'day,currency,per_usd\n2026-10-03,EUR,0.9\n2026-10-32,EUR,\n2026-10-03,EUR,0.8\n',
    );
    const { code, err } = await bursar('local', 'fx', 'set', csv);
    expect({ code, err }).toEqual({
      code: 1,
      err: `bursar: ${csv} has 3 problem(s)\n  line 3/day is not a day written YYYY-MM-DD\n  line 3/per_usd is not a decimal above 0\n  line 4/day has a second rate for EUR\n`,
    });
    expect((await bursar('local', 'fx', 'set', await write('head.csv', 'day,rate\n2026-10-03,1\n'))).err).toContain(
      'begins without the column(s) currency, per_usd',
    );
    expect((await bursar('local', 'fx', 'set', await write('empty.csv', 'day,currency,per_usd\n'))).err).toContain(
      'holds no exchange rate',
    );
    expect((await bursar('local', 'fx', 'set', await write('odd.json', '{ "rate": 1 }'))).err).toContain(
      'neither a list of rates',
    );
    expect((await bursar('local', 'fx', 'set', path.join(folder, 'absent.csv'))).code).toBe(1);
    expect((await bursar('local', 'fx', '--json')).json).toEqual(before);
    const shapes = await bursar(
      'local',
      'peak',
      'set',
      await write('bad.yaml', '- { zon: UTC, factor: 1.15 }\n- 7\n- { zone: UTC, from: 900, days: mon, factor: 2 }\n'),
    );
    expect(shapes.code).toBe(1);
    expect([...shapes.err.matchAll(/^ {2}(rules\S+) /gm)].map(([, place]) => place)).toEqual([
      'rules/0/zon',
      'rules/0/zone',
      'rules/1',
      'rules/2/from',
      'rules/2/days',
    ]);
    expect(
      (await bursar('remote', 'peak', 'set', await write('zone.json', '[{ "zone": "Mars/Olympus", "factor": "0" }]')))
        .err,
    ).toMatch(/rules\/0\/zone .*\n.*rules\/0\/factor /);
  });

  it('audits them under the name of the user, or of the key', async () => {
    const { audit } = (await bursar('local', 'audit', '--json')).json as { audit: { actor: string; verb: string }[] };
    expect(new Set(audit.map(({ actor, verb }) => `${actor.slice(0, 4)}${verb}`))).toEqual(
      new Set(['cli:fx.save', 'cli:peak.save', 'key:fx.save', 'key:peak.save']),
    );
  });
});
