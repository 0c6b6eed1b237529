/**
 * Monthly reports on a real PostgreSQL: made by the line from metered usage, a closed bill, budgets, the ledger and
 * samples; read back from every format and held against what the API answers to the same questions.
 */
import 'reflect-metadata';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, type CliContext } from '../../src/cli/program.js';
import { effectToJson } from '../../src/core/action/action.js';
import { addDecimal, compareDecimal, formatDecimal, ZERO } from '../../src/core/decimal.js';
import type { GpuSample } from '../../src/core/ports.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import type { Report } from '../../src/core/report/report.js';
import { soFarOf, spendOf } from '../../src/core/report/spend.js';
import { DAY_MS } from '../../src/core/time.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { ReportSchedule } from '../../src/pipeline/report.js';
import { renderers } from '../../src/rendering/reports.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { enqueue } from '../../src/store/work.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { WebModule } from '../../src/web/web.module.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { Pdf } from '../support/pdf.js';
import { billed, HOUR, metered } from '../support/records.js';
import { readCsv, readPage, rounded } from '../support/report-formats.js';
import { decimal } from '../support/report.js';
import { machine } from '../support/savings.js';
import { localOfComposed } from '../support/local.js';
import { recommendation, placedSample } from '../support/makers.js';

const OCTOBER = Date.UTC(2026, 9, 1);
const NOVEMBER = Date.UTC(2026, 10, 1);
const NOW = NOVEMBER + 4 * DAY_MS;
/** Where nobody has set another day. */
const DUE = NOVEMBER + 3 * DAY_MS;
const RULES = [
  { match: { account: 'a1' }, team: 'red' },
  { match: { account: 'b1' }, team: 'red' },
  { match: { account: 'a2' }, team: 'blue' },
  { match: { account: 'a3' }, team: 'east' },
  { match: { account: 'a4' }, team: 'west' },
];

/** So many hours of one instance of 8 GPUs, one record an hour. */
const hours = (name: string, from: number, count: number, over: Partial<UsageRecord> = {}): UsageRecord[] =>
  Array.from({ length: count }, (_, at) =>
    metered(`${name}-${from + at * HOUR}`, {
      resource: name,
      gpuModel: 'H100',
      start: from + at * HOUR,
      end: from + (at + 1) * HOUR,
      ...over,
    }),
  );

const recommended = (id: string, over: Partial<Recommendation> = {}): Recommendation =>
  recommendation({
    id,
    team: 'red',
    document: 'idle-stop',
    mode: 'recommend',
    target: `instance/${id}`,
    title: `Stop <i>${id}</i>`,
    estimatedMonthlySavings: '730.00',
    estimatedMonthlySavingsLow: '500.00',
    estimatedMonthlySavingsHigh: '900.00',
    estimatedMonthlySavingsNanos: '730000000000',
    estimatedMonthlyCost: '1460.00',
    estimatedSavingsPercentage: 50,
    restartNeeded: false,
    expiresAt: '2026-12-01T00:00:00Z',
    ...over,
  });

const sample = (minute: number, ratio: number | null, over: Partial<GpuSample> = {}) =>
  placedSample({
    resource: 'train',
    gpu: 'gpu-0',
    at: OCTOBER + 5 * DAY_MS + minute * 60_000,
    gpuUtilisationRatio: ratio,
    team: 'red',
    ...over,
  });

describe('monthly reports', async () => {
  const bursar = await testBursar({ now: NOW });
  const { db, stores, runner, clock } = bursar;
  let [app, url, admin, folder] = [null as NestFastifyApplication | null, '', '', ''];

  async function load(): Promise<void> {
    await db.transaction(async (tx) => {
      const team = { parent: null, zone: 'UTC', currency: 'USD', assignedBy: null };
      await stores.organisations.saveTeam(tx, 'default', {
        ...team,
        id: 'red',
        name: 'Red <script>alert(1)</script> 红队',
      });
      await stores.organisations.saveTeam(tx, 'default', { ...team, id: 'blue', name: '=Blue', parent: 'red' });
      await stores.organisations.saveTeam(tx, 'default', { ...team, id: 'east', name: 'East', zone: 'Asia/Shanghai' });
      await stores.organisations.saveTeam(tx, 'default', {
        ...team,
        id: 'west',
        name: 'West',
        zone: 'America/Los_Angeles',
      });
      await stores.organisations.saveTeam(tx, 'default', { ...team, id: 'quiet', name: 'Quiet' });
      await stores.organisations.saveRules(tx, 'default', RULES, 'test');
      const budget = {
        period: 'month' as const,
        currency: 'USD',
        filters: {},
        includeCredits: true,
        thresholds: [{ kind: 'actual' as const, ratio: '0.5' }],
      };
      await setBudget(
        stores,
        tx,
        'default',
        { ...budget, id: 'red-monthly', team: 'red', zone: 'UTC', planned: { default: '20000', periods: {} } },
        NOVEMBER - 1,
      );
      await setBudget(
        stores,
        tx,
        'default',
        {
          ...budget,
          id: 'east-monthly',
          team: 'east',
          zone: 'Asia/Shanghai',
          planned: { default: '1000', periods: {} },
        },
        NOVEMBER - DAY_MS,
      );
      for (const [id, period] of [
        ['west-monthly', 'month'],
        ['west-weekly', { start: '2026-10-05', lengthDays: 7 }],
      ] as const)
        await setBudget(
          stores,
          tx,
          'default',
          { ...budget, id, team: 'west', zone: 'UTC', period, planned: { default: '1000', periods: {} } },
          NOVEMBER - DAY_MS,
        );
    });
    await bursar.setPrices([
      instancePrice('80', { minimumSeconds: 0 }),
      instancePrice('20', { minimumSeconds: 0, term: 'spot' }),
      instancePrice('8', { minimumSeconds: 0, term: 'reserved-1y' }),
      instancePrice('88', { minimumSeconds: 0, effectiveFrom: OCTOBER + 15 * DAY_MS }),
    ]);
    await bursar.take([
      ...hours('train', OCTOBER - 20 * DAY_MS, 100),
      ...hours('train', OCTOBER + 3 * DAY_MS, 150),
      ...hours('cheap', OCTOBER - 10 * DAY_MS, 60, { term: 'spot' }),
      ...hours('cheap', OCTOBER + 9 * DAY_MS, 200, { term: 'spot' }),
      ...hours('late', OCTOBER + 20 * DAY_MS, 11, { gpuParts: GPU_PARTS / 8 }),
      ...hours('moon', OCTOBER + 2 * DAY_MS, 7, { sku: 'x99.moon', gpuModel: 'G2' }),
      ...hours('child', OCTOBER + 7 * DAY_MS, 10, { account: 'a2' }),
      // Midnight of Shanghai is 16:00 UTC: of these eight hours half lie in its September.
      ...hours('edge', OCTOBER - 12 * HOUR, 8, { account: 'a3' }),
      ...hours('i-1', OCTOBER + 4 * DAY_MS - 3 * HOUR, 5),
      ...hours('first', OCTOBER, 1, { account: 'a4' }),
      ...hours('mid', OCTOBER + 28 * DAY_MS, 3, { account: 'a4' }),
      // Midnight of Los Angeles is 07:00 UTC: two hours of its October are the budget's November.
      ...hours('last', NOVEMBER + HOUR, 2, { account: 'a4' }),
    ]);
    await bursar.take(
      [billed('w-1', '90', { account: 'a4', resource: 'first', start: OCTOBER, end: OCTOBER + HOUR })],
      { source: 'bill of west' },
    );
    await bursar.take(
      [
        billed('b-1', '8.00155109870', {
          provider: 'Microsoft',
          account: 'b1',
          sku: 'disk',
          gpuModel: null,
          term: null,
          start: OCTOBER,
          end: OCTOBER + HOUR,
        }),
      ],
      { source: 'bills' },
    );
  }

  async function act(): Promise<void> {
    const applied = new Date(OCTOBER + 4 * DAY_MS + 1.75 * HOUR);
    const effect = { kind: 'stop', target: 'instance/i-1' } as const;
    await db.query(
      `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, policy, proposed_by, proposed_at, expires_at, intended_at, token, applied_at, confirmed_at, ended_at, before)
       values ('default', 'act-1', 'red', 'aws', $1, $2, 'confirmed', $3, 'enforce', 'idle-stop', 'policy:doc', $3, $3, $3, 'act-1', $3, $3, $3, $4)`,
      [effect.target, JSON.stringify(effectToJson(effect)), applied, JSON.stringify(machine())],
    );
    await db.query(
      `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, proposed_by, proposed_at, expires_at, ended_at, reasons)
       values ('default', 'act-2', 'blue', 'aws', 'asg/x', '{"kind":"scale","target":"asg/x","replicas":0}', 'refused', $1, 'enforce', 'policy:doc', $1, $1, $1, '[{"code":"floor","message":"the floor of 2 replicas"}]')`,
      [applied],
    );
    await db.transaction((tx) =>
      stores.recommendations.replaceOpen(
        tx,
        'default',
        'red',
        ['idle-stop'],
        [
          recommended('rec-a'),
          recommended('rec-b', {
            estimatedMonthlySavings: null,
            estimatedMonthlySavingsLow: null,
            estimatedMonthlySavingsHigh: null,
            estimatedMonthlySavingsNanos: null,
          }),
          recommended('rec-c', { estimatedMonthlySavings: '10.00', estimatedMonthlySavingsNanos: '10000000000' }),
        ],
        OCTOBER + 20 * DAY_MS,
      ),
    );
    await db.transaction((tx) =>
      stores.recommendations.decide(tx, 'default', 'rec-c', 'rejected', 'boss', OCTOBER + 21 * DAY_MS),
    );
    await db.transaction((tx) =>
      stores.samples.save(tx, 'default', 'prom', [
        ...Array.from({ length: 120 }, (_, minute) => sample(minute, minute < 90 ? 0.05 : 0.9)),
        sample(200, null),
        sample(0, 0.05, { migInstance: '1' }),
      ]),
    );
    // The same minutes, seen by another source: they count once.
    await db.transaction((tx) => stores.samples.save(tx, 'default', 'smi', [sample(0, 0.06), sample(1, 0.06)]));
    await enqueue(db, 'default', [{ stage: 'saving.verify', partition: 'red', key: 'act-1' }]);
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-report-'));
    await load();
    clock.at = NOVEMBER - 1;
    await runner.drain();
    await act();
    clock.at = NOW;
    await runner.drain();
    app = await createWebApp(
      WebModule.register({ stores, importer: bursar.importer, clock, policies: [], reports: renderers }),
      { logger: false },
    );
    url = await listen(app, { host: '127.0.0.1', port: 0 });
    admin = (await stores.keys.firstKey('default')) ?? '';
  });
  afterAll(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (address: string, init: RequestInit & { key?: string } = {}): Promise<Response> =>
    fetch(url + address, {
      ...init,
      headers: {
        authorization: `Bearer ${init.key ?? admin}`,
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(init.headers as Record<string, string>),
      },
    });
  const get = async <T>(address: string): Promise<T> => (await (await ask(address)).json()) as T;
  const request = async (team: string, month: string): Promise<number> => {
    const { status } = await ask('/v1/reports', { method: 'POST', body: JSON.stringify({ team, month }) });
    // Whoever asks waits for it, from afar too: the command line waits for what is urgent.
    const waits = `select key from work where stage = 'report.send' and done < wanted and not urgent`;
    expect(await db.query(waits)).toEqual([]);
    await runner.drain();
    expect(
      await db.query(`select key, last_error from work where stage = 'report.send' and last_error is not null`),
    ).toEqual([]);
    return status;
  };
  const same = (a: string | null | undefined, b: string | null | undefined): void =>
    expect([a, compareDecimal(decimal(a ?? 'null'), decimal(b ?? 'null'))]).toEqual([a, 0]);

  it('are made by the line when somebody asks', async () => {
    expect((await ask('/v1/reports/red/2026-10')).status).toBe(404);
    expect(await request('red', '2026-10')).toBe(200);
    const report = await get<Report>('/v1/reports/red/2026-10?format=json');
    expect(report).toMatchObject({
      version: 1,
      team: 'red',
      teams: ['red', 'blue'],
      month: '2026-10',
      zone: 'UTC',
      from: '2026-10-01T00:00:00Z',
      to: '2026-11-01T00:00:00Z',
      isOver: true,
      currency: 'USD',
    });
  });

  describe('of a team in UTC', () => {
    const of = (): Promise<Report> => get<Report>('/v1/reports/red/2026-10?format=json');
    interface Costs {
      total: string;
      unpricedQuantity: string;
      rows: Record<string, string | null>[];
    }
    const costs = (groups: string, from = '2026-10-01', to = '2026-11-01'): Promise<Costs> =>
      get<Costs>(`/v1/costs?from=${from}&to=${to}&team=red&team=blue&group-by=${groups}`);

    it('say what /v1/costs says, to the last digit', async () => {
      const { spend } = await of();
      const whole = await costs('');
      same(spend.total, whole.total);
      // 150 h at 80, 200 h of spot at 20, 11 h of an eighth of a GPU at 88 for eight, 10 h of the child at 80, 5 h of
      // i-1 at 80, and the bill.
      same(
        spend.total,
        formatDecimal(
          [
            decimal('12000'),
            decimal('4000'),
            decimal('15.125'),
            decimal('800'),
            decimal('400'),
            decimal('8.00155109870'),
          ].reduce(addDecimal, ZERO),
        ),
      );
      same(spend.before, (await costs('', '2026-09-01', '2026-10-01')).total);
      same(spend.unpricedGpuHours, whole.unpricedQuantity);
      same(spend.unpricedGpuHours, '56');
      for (const [lines, group] of [
        [spend.byProvider, 'provider'],
        [spend.byGpuModel, 'gpuModel'],
        [spend.byTerm, 'term'],
        [spend.byTeam, 'team'],
      ] as const) {
        const { rows } = await costs(group);
        expect(lines.filter(({ gpuHours, amount }) => gpuHours !== null || amount !== null)).toHaveLength(rows.length);
        for (const row of rows) {
          const line = lines.find(({ name }) => name === row[group]);
          if (row['cost'] === null) expect(line?.amount).toBeNull();
          else same(line?.amount, row['cost']);
          if (row['gpuHours'] !== null) same(line?.gpuHours, row['gpuHours']);
        }
      }
      const days = (await costs('day')).rows.filter(({ cost }) => cost !== null);
      expect(spend.byDay.map(({ day }) => day)).toEqual(days.map(({ day }) => day));
      spend.byDay.forEach(({ amount }, at) => same(amount, days[at]?.['cost']));
    });

    it('say what /v1/budgets says', async () => {
      const { budgets } = await of();
      const { state } = await get<{ state: { spent: string; planned: string; ratio: number } }>(
        '/v1/budgets/red-monthly/state',
      );
      expect(budgets).toMatchObject([
        {
          budget: 'red-monthly',
          spent: state.spent,
          planned: state.planned,
          ratio: state.ratio,
          crossings: [{ kind: 'actual', ratio: '0.5' }],
        },
      ]);
      same(state.spent, '17223.126551099');
    });

    it('say what /v1/savings says', async () => {
      const { savings } = await of();
      const page = await get<{
        items: { action: string; saved: string; measured: string; verified: string }[];
        totals: { measured: { saved: unknown[] }; verified: { saved: unknown[] } };
      }>('/v1/savings?team=red&from=2026-10-01&to=2026-11-01');
      expect(savings.actions.map(({ action, savedToDate }) => ({ action, saved: savedToDate }))).toEqual(
        page.items.map(({ action, saved }) => ({ action, saved })),
      );
      const [entry] = savings.actions;
      const detail = await get<{ ledger: { items: { hour: string; saved: string; state: string }[] } }>(
        '/v1/savings/act-1?limit=1000',
      );
      const october = detail.ledger.items.filter(({ hour }) => hour.startsWith('2026-10'));
      expect(october.length).toBeGreaterThan(20);
      for (const state of ['measured', 'verified'] as const) {
        const sum = october
          .filter((hour) => hour.state === state)
          .map(({ saved }) => decimal(saved))
          .reduce(addDecimal, ZERO);
        same(entry?.[state], formatDecimal(sum));
      }
      expect(entry).toMatchObject({ effect: 'stop', counterfactual: 'held', target: 'instance/i-1' });
      expect(savings.measured.length + savings.verified.length).toBeGreaterThan(0);
    });

    it('explain the change to the nano', async () => {
      const { bridge, spend } = await of();
      const { known } = bridge;
      const sum = Object.values(known?.effects ?? {})
        .map(decimal)
        .reduce(addDecimal, ZERO);
      same(known?.change, formatDecimal(sum));
      same(known?.after, spend.total);
      same(known?.before, spend.before);
      // On demand went from 100 h of 8 GPUs to 165 and 11 eighths of one, spot from 60 h to 200: the kind grew, and
      // moved to spot. The child's hours are the same SKU's.
      expect(Number(known?.effects.volume)).toBeGreaterThan(0);
      expect(Number(known?.effects.mix)).toBeLessThan(0);
      same(known?.effects.price, '1.375');
      same(known?.effects.charges, '8.00155109870');
    });

    it('compare a month that runs with the same days of the month before', async () => {
      const facts = await stores.reports.facts(db, 'default', 'red', '2026-10', OCTOBER + 13.5 * DAY_MS);
      expect(facts.comparedDays).toEqual({ first: '2026-09-01', last: '2026-09-14' });
      // Of the 100 hours at 80 those until the end of the 14th; the hours of spot are of the 21st and later.
      same(spendOf(facts).before, '7680');
      same(spendOf(facts).before, (await costs('', '2026-09-01', '2026-09-15')).total);
      expect((await of()).comparedDays).toBeNull();
    });

    it('say what the next month has come to since, as the costs do', async () => {
      const facts = await stores.reports.facts(db, 'default', 'red', '2026-09', OCTOBER + 13.5 * DAY_MS);
      expect(facts.after).toMatchObject({ first: '2026-10-01', last: '2026-10-13' });
      same(soFarOf(facts.after ?? null)?.total, (await costs('', '2026-10-01', '2026-10-14')).total);
      expect((await stores.reports.facts(db, 'default', 'red', '2026-10', OCTOBER + 13.5 * DAY_MS)).after).toBeNull();
    });

    it('tell what was refused and left, and the next steps', async () => {
      const { refused, leftOnTable, nextSteps } = await of();
      expect(refused).toMatchObject({
        total: 1,
        byReason: [{ reason: 'floor', count: 1 }],
        actions: [{ action: 'act-2', team: 'blue', state: 'refused' }],
        launches: { known: null, reason: 'not-recorded' },
      });
      expect(leftOnTable.byState).toMatchObject([
        { state: 'open', count: 2, unknown: 1, monthly: [{ currency: 'USD', amount: '730.00' }] },
        { state: 'rejected', count: 1, unknown: 0, monthly: [{ currency: 'USD', amount: '10.00' }] },
        { state: 'expired', count: 0, unknown: 0, monthly: [] },
      ]);
      expect(nextSteps.map((step) => step.recommendation)).toEqual(['rec-a']);
    });

    it('tell the distance to the optimum, little use and the forecast from what was metered', async () => {
      const { optimum, utilisation, forecast, billVariance } = await of();
      // Nothing was committed. 1,331 GPU-hours at 11 are 14,641; who had known them would have held 8 GPUs from the 4th
      // on (672 h at 1 each) and bought 120 on demand: 6,696.
      expect(optimum.known).toMatchObject({ share: 0, saved: '0.00', possible: '7945.00', leftOutGpuHours: '56.00' });
      // 90 minutes below 0.3 at the average of H100: 17215.125 USD for 2921.375 GPU-hours.
      expect(utilisation.known?.lines).toMatchObject([
        { gpuModel: 'H100', sampledGpuHours: '2.016667', measuredGpuHours: '2.000000', lowGpuHours: '1.500000' },
      ]);
      expect(Number(utilisation.known?.lowCost)).toBeCloseTo((17215.125 / 2921.375) * 1.5, 6);
      expect(forecast.known).toMatchObject({ from: '2026-11-01', to: '2026-11-30' });
      expect(Number(forecast.known?.low)).toBeLessThanOrEqual(Number(forecast.known?.mean));
      expect(billVariance.known ?? billVariance.reason).toBeTruthy();
    });

    it('hold the same figures in every format as the API', async () => {
      const { spend, budgets, savings } = await of();
      const api = [
        (await costs('')).total,
        ...(await costs('gpuModel')).rows.flatMap(({ cost }) => cost ?? []),
        budgets[0]?.spent ?? '',
        savings.actions[0]?.savedToDate ?? '',
        spend.unpricedGpuHours,
      ];
      const html = await (await ask('/v1/reports/red/2026-10?format=html&lang=en')).text();
      const page = readPage(html);
      const csv = readCsv(await (await ask('/v1/reports/red/2026-10?format=csv')).text());
      const pdf = new Pdf(new Uint8Array(await (await ask('/v1/reports/red/2026-10?format=pdf')).arrayBuffer()));
      const isIt = (value: string, wanted: string): boolean =>
        /^-?[\d.]+$/.test(value) && compareDecimal(decimal(value), decimal(wanted)) === 0;
      for (const figure of api) {
        const shown = page.filter(({ value }) => isIt(value, figure));
        expect({ figure, page: shown.length > 0, csv: csv.some(({ value }) => isIt(value ?? '', figure)) }).toEqual({
          figure,
          page: true,
          csv: true,
        });
        expect(shown.every(({ value, unit, text }) => rounded(value, unit, text))).toBe(true);
        expect({ figure, pdf: pdf.texts.some(({ text }) => text === shown[0]?.text) }).toEqual({ figure, pdf: true });
      }
      expect(html).not.toContain('<script>');
    });
  });

  it('of a team in another zone hold its own month, as its budget does', async () => {
    expect(await request('east', '2026-10')).toBe(200);
    const east = await get<Report>('/v1/reports/east/2026-10');
    expect(east).toMatchObject({ zone: 'Asia/Shanghai', from: '2026-09-30T16:00:00Z', to: '2026-10-31T16:00:00Z' });
    same(east.spend.total, '320');
    same(east.spend.gpuHours, '32');
    same(east.spend.before, '320');
    expect(east.spend.byDay).toEqual([{ day: '2026-10-01', amount: '320.00' }]);
    const { state } = await get<{ state: { spent: string } }>('/v1/budgets/east-monthly/state');
    same(east.budgets[0]?.spent, state.spent);
    same(east.spend.total, state.spent);
  });

  it('of a team west of its budget hold the budget and the bill of the month, not of the next one', async () => {
    expect(await request('west', '2026-10')).toBe(200);
    const west = await get<Report>('/v1/reports/west/2026-10?format=json');
    expect(west.to).toBe('2026-11-01T07:00:00Z');
    same(west.spend.total, '440');
    expect(west.budgets.map(({ budget, periodStart, spent }) => [budget, periodStart, Number(spent)])).toEqual([
      ['west-monthly', '2026-10-01T00:00:00.000Z', 354],
      ['west-weekly', '2026-10-26T00:00:00.000Z', 264],
    ]);
    expect(west.billVariance.known).toMatchObject([{ billed: '90.00', accrued: '344.00' }]);
    // Of a month that runs: as of today, and nothing of a week that ended before it.
    expect(await request('west', '2026-11')).toBe(200);
    const running = await get<Report>('/v1/reports/west/2026-11?format=json');
    expect(running.budgets.map(({ budget, periodStart }) => [budget, periodStart])).toEqual([
      ['west-monthly', '2026-11-01T00:00:00.000Z'],
    ]);
  });

  it('are as far as the month is, before it is over', async () => {
    expect(await request('red', '2026-11')).toBe(200);
    const november = await get<Report>('/v1/reports/red/2026-11');
    expect(november).toMatchObject({
      isOver: false,
      spend: { total: null },
      forecast: { known: null, reason: 'month-not-over' },
      bridge: { known: null, reason: 'nothing-recorded' },
    });
    expect(
      (await ask('/v1/reports', { method: 'POST', body: JSON.stringify({ team: 'red', month: '2026-12' }) })).status,
    ).toBe(400);
    expect(
      (await ask('/v1/reports', { method: 'POST', body: JSON.stringify({ team: 'nobody', month: '2026-10' }) })).status,
    ).toBe(404);
    expect(
      (await ask('/v1/reports', { method: 'POST', body: JSON.stringify({ team: 'red', month: '2026-13' }) })).status,
    ).toBe(400);
  });

  it('come in the format and language that headers or the query name', async () => {
    const by = async (
      query: string,
      headers: Record<string, string> = {},
    ): Promise<[string | null, string, Response]> => {
      const response = await ask(`/v1/reports/red/2026-10${query}`, { headers });
      return [
        response.headers.get('content-type'),
        Buffer.from(await response.arrayBuffer()).toString('latin1'),
        response,
      ];
    };
    const [media, html, { headers }] = await by('', {
      accept: 'text/html,*/*;q=0.1',
      'accept-language': 'zh-CN,en;q=0.5',
    });
    expect(media).toBe('text/html; charset=utf-8');
    expect(html).toContain('<html lang="zh-CN">');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox/);
    expect((await by('?format=html&lang=en', { 'accept-language': 'zh' }))[1]).toContain('<html lang="en">');
    const [pdfMedia, pdf, saved] = await by('?format=pdf');
    expect([pdfMedia, pdf.slice(0, 5), saved.headers.get('content-disposition')]).toEqual([
      'application/pdf',
      '%PDF-',
      `attachment; filename="red-2026-10.pdf"; filename*=UTF-8''red-2026-10.pdf`,
    ]);
    expect((await by('?format=png'))[1].slice(1, 4)).toBe('PNG');
    expect((await by('', { accept: 'text/csv' }))[0]).toBe('text/csv; charset=utf-8; header=present');
    expect((await by('?format=docx'))[2].status).toBe(400);
  });

  it('are for those who may see the team', async () => {
    const key = async (role: 'viewer' | 'operator', teams: string[] | null): Promise<string> =>
      (await stores.keys.create(db, 'default', { name: 'test', role, teams }, 0)).text;
    const [east, viewer] = [await key('viewer', ['east']), await key('viewer', null)];
    expect((await ask('/v1/reports/red/2026-10', { key: east })).status).toBe(403);
    expect((await ask('/v1/reports/east/2026-10', { key: east })).status).toBe(200);
    expect(
      ((await (await ask('/v1/reports', { key: east })).json()) as { items: { team: string }[] }).items.map(
        ({ team }) => team,
      ),
    ).toEqual(['east']);
    expect((await ask('/v1/reports?team=red', { key: east })).status).toBe(403);
    expect(
      (
        await ask('/v1/reports', {
          key: viewer,
          method: 'POST',
          body: JSON.stringify({ team: 'red', month: '2026-10' }),
        })
      ).status,
    ).toBe(403);
    const pages = await get<{ items: { team: string; month: string }[]; nextCursor: string }>('/v1/reports?limit=2');
    expect(pages.items.map(({ team, month }) => `${month} ${team}`)).toEqual(['2026-11 red', '2026-11 west']);
    expect(
      (await get<{ items: { team: string; total: string }[] }>(`/v1/reports?limit=2&cursor=${pages.nextCursor}`)).items,
    ).toMatchObject([{ team: 'east' }, { team: 'red', isOver: true }]);
  });

  it('say in the list why the alert of one was sent to nobody', async () => {
    await db.query(
      `insert into alert (organisation, id, identity, kind, team, severity, thread, news, state, silence, made_at)
       values ('default', 'alr-1', 'digest/east/2026-10', 'digest', 'east', 'info', 'digest/east/2026-10', '{}', 'silent', 'before-connected', $1)`,
      [new Date(NOW)],
    );
    const { items } = await get<{ items: { team: string; month: string; silence: string | null }[] }>('/v1/reports');
    const said = items.map(({ team, month, silence }) => `${month} ${team}: ${silence}`);
    expect(said).toContain('2026-10 east: before-connected');
    expect(said.filter((one) => !one.endsWith(': null'))).toHaveLength(1);
    await db.query(`delete from alert where id = 'alr-1'`);
  });

  it('come by themselves once a month is due, and are announced once', async () => {
    const announced = (): Promise<{ team: string; month: string; at: Date | null }[]> =>
      db.query(`select team, month, announced_at as at from report order by month, team`);
    const at = async (instant: number): Promise<void> => {
      clock.at = instant;
      await new ReportSchedule(stores).enqueueDue(instant);
      await runner.drain();
    };
    await db.query(`delete from report`);
    await at(DUE - HOUR * 24);
    // October is not due: September is the newest month that is, in every zone.
    expect((await announced()).map(({ team, month }) => `${month} ${team}`)).toEqual([
      '2026-09 blue',
      '2026-09 east',
      '2026-09 quiet',
      '2026-09 red',
      '2026-09 west',
    ]);
    // Los Angeles' October is not due yet.
    await at(DUE + HOUR);
    const found = await announced();
    expect(
      found.filter(({ month }) => month === '2026-10').map(({ team, at: stated }) => [team, stated !== null]),
    ).toEqual([
      ['blue', true],
      ['east', true],
      ['quiet', false],
      ['red', true],
    ]);
    // Late data makes it anew, another process asks too: nobody is told again.
    const first = found.find(({ team, month }) => team === 'red' && month === '2026-10')?.at;
    await at(DUE + 3 * HOUR);
    expect(await request('red', '2026-10')).toBe(200);
    expect((await announced()).find(({ team, month }) => team === 'red' && month === '2026-10')?.at).toEqual(first);
    await db.query(`delete from report where month = '2026-09'`);
    expect(await request('red', '2026-09')).toBe(200);
    expect((await announced()).find(({ month }) => month === '2026-09')?.at).toBeNull();
  });

  it('are made on the day and at the hour that are set, and said in the audit', async () => {
    const put = async (body: unknown): Promise<{ status: number; problems: (string | undefined)[] }> => {
      const response = await ask('/v1/reports/schedule', { method: 'PUT', body: JSON.stringify(body) });
      const { problems = [] } = (await response.json()) as { problems?: { path?: string }[] };
      return { status: response.status, problems: problems.map(({ path: at }) => at) };
    };
    const audited = async (): Promise<unknown[]> =>
      db.query(`select detail from audit where verb = 'report.schedule' order by id`);
    expect(await get('/v1/reports/schedule')).toEqual({ day: 4, hour: 0 });
    const refused = await put({ day: 29, hour: 24 });
    expect([refused.status, refused.problems]).toEqual([400, ['day', 'hour']]);
    expect((await put({ day: 6, hour: 9 })).status).toBe(200);
    expect((await put({ day: 6, hour: 9 })).status).toBe(200);
    expect(await audited()).toEqual([{ detail: { before: { day: 4, hour: 0 }, after: { day: 6, hour: 9 } } }]);
    const made = async (instant: number): Promise<string[]> => {
      clock.at = instant;
      await new ReportSchedule(stores).enqueueDue(instant);
      await runner.drain();
      const rows = await db.query<{ team: string }>(
        `select team from report where month = '2026-10' and announced_at is not null order by team`,
      );
      return rows.map(({ team }) => team);
    };
    await db.query(`delete from report`);
    const sixth = NOVEMBER + 5 * DAY_MS;
    expect(await made(sixth)).toEqual([]);
    // Nine o'clock comes first in Shanghai and last in Los Angeles.
    expect(await made(sixth + 8 * HOUR)).toEqual(['east']);
    expect(await made(sixth + 9 * HOUR)).toEqual(['blue', 'east', 'red']);
    expect(await made(sixth + 17 * HOUR)).toEqual(['blue', 'east', 'red', 'west']);
  });

  describe('the command line', () => {
    const bursarOn = async (
      argv: readonly string[],
      over: Partial<CliContext> = {},
    ): Promise<{ code: number; out: string; err: string }> => {
      let [out, err] = ['', ''];
      const code = await run(argv, {
        environment: {},
        clock,
        stdout: { write: (text) => (out += text) },
        stderr: { write: (text) => (err += text) },
        serve: async () => undefined,
        remote: null,
        reports: async () => renderers,
        connect: async () => localOfComposed(bursar, clock),
        ...over,
      });
      return { code, out, err };
    };
    const file = (name: string): string => path.join(folder, name);

    it('writes each format to a file, and JSON as the one document', async () => {
      for (const [format, begins] of [
        ['html', '<!doctype html>'],
        ['pdf', '%PDF-1.7'],
        ['csv', 'section,table,item'],
        ['json', '{'],
      ] as const) {
        const { code, out } = await bursarOn([
          'report',
          '--team',
          'red',
          '--month',
          '2026-10',
          '--format',
          format,
          '--lang',
          'zh',
          '--out',
          file(`r.${format}`),
          '--json',
        ]);
        expect([code, JSON.parse(out)]).toMatchObject([
          0,
          { team: 'red', month: '2026-10', format, file: file(`r.${format}`) },
        ]);
        expect((await readFile(file(`r.${format}`), 'utf8')).startsWith(begins)).toBe(true);
      }
      const whole = JSON.parse(
        (await bursarOn(['report', '--team', 'red', '--month', '2026-10', '--json'])).out,
      ) as Report;
      expect(whole.spend).toEqual((JSON.parse(await readFile(file('r.json'), 'utf8')) as Report).spend);
      expect((await bursarOn(['report', '--team', 'red', '--month', '2026-10'])).out).toContain('<html lang="en">');
      const [audit] = await stores.audit.list('default', null, 1);
      expect(audit).toMatchObject({ verb: 'report.request', target: 'red/2026-10' });
    });

    it('goes through the API too, and takes what is there where it may not ask', async () => {
      const worker = setInterval(() => void runner.drain(), 50);
      const ran = await bursarOn(['report', '--team', 'red', '--month', '2026-10', '--json'], {
        remote: { url, apiKey: admin },
      }).finally(() => clearInterval(worker));
      await runner.drain();
      const remote = JSON.parse(ran.out) as Report;
      expect(remote.spend).toEqual((await get<Report>('/v1/reports/red/2026-10')).spend);
      const apiKey = (await stores.keys.create(db, 'default', { name: 'looks', role: 'viewer', teams: null }, 0)).text;
      const { code, out, err } = await bursarOn(['report', '--team', 'red', '--month', '2026-10', '--format', 'csv'], {
        remote: { url, apiKey },
      });
      expect([code, err]).toEqual([0, 'this key may not request a new report: the last one is shown\n']);
      expect(out).toContain('by-gpu,H100,amount');
    });

    it('says what is wrong', async () => {
      expect(await bursarOn(['report', '--team', 'red', '--month', '2026-13'])).toMatchObject({ code: 2, out: '' });
      expect(await bursarOn(['report', '--team', 'red', '--month', '2026-10', '--format', 'pdf'])).toMatchObject({
        code: 2,
        out: '',
      });
      expect(await bursarOn(['report', '--team', 'red', '--month', '2026-10', '--format', 'docx'])).toMatchObject({
        code: 2,
        out: '',
      });
      expect(await bursarOn(['report', '--team', 'nobody', '--month', '2026-10'])).toMatchObject({ code: 1, out: '' });
    });
  });
});
