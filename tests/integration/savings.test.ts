/**
 * The savings ledger on a real PostgreSQL: measured from raw records, corrected by what comes late, never changed, and
 * told at both doors.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { Api } from '../../src/cli/client/api.js';
import { HttpTransport } from '../../src/cli/client/http.js';
import { SavingClient } from '../../src/cli/client/savings.js';
import type { CliContext } from '../../src/cli/context.js';
import { run } from '../../src/cli/program.js';
import { effectToJson } from '../../src/core/action/action.js';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { DAY_MS, hourOf } from '../../src/core/time.js';
import type { UsageRecord } from '../../src/core/usage.js';
import type { Database } from '../../src/store/database.js';
import { enqueue } from '../../src/store/work.js';
import { actingWorld, NOW } from '../support/acting.js';
import { instance } from '../support/memory-cloud.js';
import { billed, HOUR, MONDAY } from '../support/records.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { group, groupUsage, machine, PRICES } from '../support/savings.js';
import { apiOf } from '../support/local.js';
import { testApi, type TestApi } from '../support/web.js';
import { endpoints } from '../../src/web/web.module.js';
import { importRequest } from '../support/makers.js';

const RULES = [
  { match: { account: 'a1' }, team: 'red' },
  { match: { account: 'a2' }, team: 'blue' },
];

interface Given {
  id: string;
  hours: number;
  effect: Effect;
  before: FleetTarget | null;
  team?: string;
  recommendation?: string;
}

/** An action that the machine has applied and confirmed, as its table holds it. */
async function act(db: Database, { id, hours, effect, before, team = 'red', recommendation }: Given): Promise<void> {
  const instant = new Date(MONDAY + hours * HOUR);
  await db.query(
    `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, recommendation, policy, proposed_by, proposed_at, expires_at, intended_at, token, applied_at, confirmed_at, ended_at, before)
     values ('default', $1, $2, 'aws', $3, $4, 'confirmed', $5, 'enforce', $6, $7, 'policy:doc', $5, $5, $5, $1, $5, $5, $5, $8)`,
    [
      id,
      team,
      effect.target,
      JSON.stringify(effectToJson(effect)),
      instant,
      recommendation ?? null,
      recommendation === undefined ? null : 'idle-stop',
      before === null ? null : JSON.stringify(before),
    ],
  );
  await enqueue(db, 'default', [{ stage: 'saving.verify', partition: team, key: id }]);
}

const stop = (id: string, hours: number, resource = 'i-1', team = 'red'): Given => ({
  id,
  hours,
  team,
  effect: { kind: 'stop', target: `instance/${resource}` },
  before: machine({ target: `instance/${resource}`, account: team === 'red' ? 'a1' : 'a2' }),
});

const usage = (resource: string, from: number, to: number, over: Partial<UsageRecord> = {}): UsageRecord[] =>
  groupUsage(1, from, to, { resource, tags: null, ...over }).map((record) => ({
    ...record,
    id: `${resource}/${record.id}`,
  }));

async function withRules(bursar: Pick<TestBursar, 'db' | 'stores'>): Promise<void> {
  await bursar.db.transaction((tx) => bursar.stores.organisations.saveRules(tx, 'default', RULES, 'test'));
}

/** Lets the line work as of so many hours after Monday, and the ledger look. */
async function at(bursar: TestBursar, hours: number): Promise<void> {
  bursar.clock.at = MONDAY + hours * HOUR;
  await bursar.runner.drain();
}

const lines = (db: Database) =>
  db.query<{
    action: string;
    hour: Date;
    no: number;
    state: string;
    saved: string;
    links: { records: number; lines: string[]; prices: { source: string; nanos: string }[] };
  }>(
    `select action, hour, no, state, (counterfactual_nanos - actual_nanos)::text as saved, links from saving_line order by action, hour, no`,
  );

const story = async ({ stores, clock }: TestBursar, action: string) => {
  const found = await new SavingClient(await apiOf({ stores }, clock)).show(action);
  return {
    state: found.state,
    saved: found.saved,
    hours: found.ledger.map((hour) => [(Date.parse(hour.hour) - MONDAY) / HOUR, hour.state, hour.saved]),
  };
};

describe('the ledger', async () => {
  const bursar = await testBursar();

  beforeAll(async () => {
    await withRules(bursar);
    await bursar.setPrices(PRICES);
  });

  it('measures a stop from raw records, hour by hour, and links each line to what it came from', async () => {
    await bursar.take([...usage('i-1', -3, 2), ...usage('i-2', -3, 6)]);
    await act(bursar.db, stop('act-1', 1.75));
    await at(bursar, 6);
    // The machine ran on for a quarter of an hour: $20 would have been saved had it stopped at once, and were not.
    expect(await story(bursar, 'act-1')).toEqual({
      state: 'measured',
      saved: '240.00',
      hours: [
        [1, 'measured', '0.00'],
        [2, 'measured', '80.00'],
        [3, 'measured', '80.00'],
        [4, 'measured', '80.00'],
      ],
    });
    const [first] = await lines(bursar.db);
    expect(first?.links).toMatchObject({
      records: 1,
      lines: ['default/i-1/on-demand-1-0-i-1'],
      prices: [{ source: 'test', nanos: '80000000000', gpuSeconds: '28800', currency: 'USD' }],
    });
    expect(await bursar.db.query(`select state from action where id = 'act-1'`)).toEqual([{ state: 'measured' }]);
  });

  it('writes nothing where nothing differs, and comes back by itself until the horizon is over', async () => {
    const before = await lines(bursar.db);
    await enqueue(bursar.db, 'default', [{ stage: 'saving.verify', partition: 'red', key: 'act-1' }]);
    await at(bursar, 6);
    expect(await lines(bursar.db)).toEqual(before);
    const [next] = await bursar.db.query<{ at: Date }>(
      `select not_before as at from work where stage = 'saving.verify' and key = 'act-1' and done < wanted`,
    );
    expect(next?.at.getTime()).toBe(MONDAY + 6 * HOUR + DAY_MS);
  });

  it('takes late usage as a correction beside the old line, and what a restart ends back whole', async () => {
    await bursar.take(usage('i-1', 4, 6, { id: 'late' }).map((record, n) => ({ ...record, id: `late-${n}` })));
    await at(bursar, 6);
    expect((await story(bursar, 'act-1')).saved).toBe('240.00');
    await at(bursar, 7.2);
    // It ran again from 04:00: the hour is no longer claimed.
    expect((await story(bursar, 'act-1')).hours.at(-1)).toEqual([4, 'withdrawn', '0.00']);
    expect((await story(bursar, 'act-1')).saved).toBe('160.00');
    const [old, correction, ...more] = (await lines(bursar.db)).filter(
      ({ hour }) => hour.getTime() === MONDAY + 4 * HOUR,
    );
    expect([old?.saved, correction?.saved, more]).toEqual(['80000000000', '-80000000000', []]);
  });

  it('takes another price as a correction', async () => {
    await bursar.setPrices([instancePrice('100', { minimumSeconds: 0, effectiveFrom: MONDAY + 3 * HOUR })]);
    await at(bursar, 8.5);
    await at(bursar, 9.5);
    expect((await story(bursar, 'act-1')).hours.slice(1, 3)).toEqual([
      [2, 'measured', '80.00'],
      [3, 'measured', '100.00'],
    ]);
  });

  it('shares what several actions save on one group, whichever is verified first', async () => {
    await bursar.take([...groupUsage(8, 20, 24), ...groupUsage(4, 24, 25), ...groupUsage(2, 25, 30)]);
    const scale = (id: string, hours: number, from: number, to: number): Given => ({
      id,
      hours,
      effect: { kind: 'scale', target: 'asg/train', replicas: to },
      before: group(from),
    });
    await act(bursar.db, scale('act-3', 25, 4, 2));
    await at(bursar, 30);
    await act(bursar.db, scale('act-2', 24, 8, 4));
    await at(bursar, 30);
    const [two, three] = [await story(bursar, 'act-2'), await story(bursar, 'act-3')];
    expect(two.hours).toEqual([24, 25, 26, 27, 28].map((hour) => [hour, 'measured', '400.00']));
    expect(three.hours).toEqual([25, 26, 27, 28].map((hour) => [hour, 'measured', '200.00']));
    expect((await bursar.stores.savingLedger.known('default', 'act-2')).sharedWith).toEqual(['act-3']);
  });

  it('says what cannot be known, and why', async () => {
    await act(bursar.db, { ...stop('act-4', 26, 'i-9'), before: machine({ target: 'instance/i-9' }) });
    await act(bursar.db, { ...stop('act-5', 26, 'i-8'), before: null });
    await at(bursar, 30);
    const of = async (action: string) => {
      const { state, reason, saved } = await bursar.stores.savingLedger.known('default', action);
      return { state, reason, saved };
    };
    expect(await of('act-4')).toEqual({ state: 'unverifiable', reason: 'target-not-metered', saved: '0.00' });
    expect(await of('act-5')).toEqual({ state: 'unverifiable', reason: 'target-unknown', saved: '0.00' });
    const { totals } = await new SavingClient(await apiOf(bursar, bursar.clock)).list(null);
    expect(totals.unverifiable).toEqual({
      count: 2,
      reasons: [
        { reason: 'target-not-metered', count: 1 },
        { reason: 'target-unknown', count: 1 },
      ],
    });
  });

  it('keeps a summary that is the sum of its lines, and a counterfactual as it was written', async () => {
    const broken = await bursar.db.query(
      `select s.action from saving s left join (select action, sum(counterfactual_nanos) as c, sum(actual_nanos) as a from saving_line group by action) l on l.action = s.action
       where s.counterfactual_nanos <> coalesce(l.c, 0) or s.actual_nanos <> coalesce(l.a, 0) or s.measured_nanos + s.verified_nanos <> coalesce(l.c - l.a, 0)`,
    );
    expect(broken).toEqual([]);
    const written = await bursar.db.query(`select action, spec, written_at from counterfactual order by action`);
    await bursar.db.query(`update action set before = null where id = 'act-1'`);
    await enqueue(bursar.db, 'default', [{ stage: 'saving.verify', partition: 'red', key: 'act-1' }]);
    await at(bursar, 31);
    expect(await bursar.db.query(`select action, spec, written_at from counterfactual order by action`)).toEqual(
      written,
    );
  });
});

describe('a bill', async () => {
  const bursar = await testBursar();

  it('verifies the hours of a closed period where it agrees, and is heard where it does not', async () => {
    await withRules(bursar);
    await bursar.setPrices(PRICES);
    // Two machines are stopped at midnight of the second day; one of them is billed on.
    await bursar.take([...usage('i-1', 20, 24), ...usage('i-2', 20, 24), ...usage('i-3', 20, 24 * 16)]);
    await act(bursar.db, stop('act-1', 24, 'i-1'));
    await act(bursar.db, stop('act-2', 24, 'i-2'));
    await at(bursar, 24 * 16);
    const of = async (action: string) => {
      const { state, hours, measured, verified } = await bursar.stores.savingLedger.known('default', action);
      return { state, hours, measured, verified };
    };
    expect(await of('act-1')).toMatchObject({
      state: 'measured',
      hours: { measured: 336, verified: 0, unverifiable: 0 },
    });
    const day = (resource: string, no: number, amount: string) =>
      billed(`${resource}-${no}`, amount, { resource, start: MONDAY + no * DAY_MS, end: MONDAY + (no + 1) * DAY_MS });
    const days = Array.from({ length: 15 }, (_, n) => n + 1);
    bursar.clock.at = Date.UTC(2026, 10, 3);
    await bursar.take([...days.map((n) => day('i-3', n, '1920')), ...days.map((n) => day('i-2', n, '50'))], {
      source: 'bill',
    });
    await bursar.runner.drain();
    bursar.clock.at += 2 * HOUR;
    await bursar.runner.drain();
    expect(await of('act-1')).toEqual({
      state: 'verified',
      hours: { measured: 0, verified: 336, unverifiable: 0 },
      measured: '0.00',
      verified: '26880.00',
    });
    expect(await of('act-2')).toMatchObject({
      state: 'measured',
      hours: { measured: 336, verified: 0, unverifiable: 0 },
    });
    expect((await bursar.stores.savingLedger.hoursWithLines('default', 'red', 'act-2', null, 1))[0]).toMatchObject({
      state: 'measured',
      reason: 'bill-differs',
    });
    // The verification is a line of its own, that moves no money.
    expect(
      (await lines(bursar.db))
        .filter(({ action, no }) => action === 'act-1' && no === 2)
        .every(({ saved, state }) => saved === '0' && state === 'verified'),
    ).toBe(true);
  });
});

describe('what was realised', async () => {
  const bursar = await testBursar();

  it('calibrates the next estimate of the same policy and version, and of no other', async () => {
    await withRules(bursar);
    await bursar.setPrices(PRICES);
    await bursar.take([...usage('i-1', 0, 24), ...usage('i-3', 0, 24 * 16)]);
    const promised: Partial<Recommendation> = {
      id: 'rec-1',
      team: 'red',
      policy: 'idle-stop',
      policyVersion: 3,
      action: 'Stop',
      target: 'i-1',
      currency: 'USD',
      change: {},
      computation: {},
      // $160 an hour was promised and $80 came.
      estimatedMonthlySavings: '116800.00',
      estimatedMonthlySavingsLow: '116800.00',
      estimatedMonthlySavingsHigh: '116800.00',
      estimatedMonthlySavingsNanos: '116800000000000',
    };
    await bursar.db.query(
      `insert into recommendation (organisation, id, team, policy, action, target, body, made_at) values ('default', 'rec-1', 'red', 'idle-stop', 'Stop', 'i-1', $1, now())`,
      [JSON.stringify(promised)],
    );
    await act(bursar.db, { ...stop('act-1', 24), recommendation: 'rec-1' });
    await at(bursar, 24 * 17);
    const { predicted, saved, ...entry } = await bursar.stores.savingLedger.known('default', 'act-1');
    expect([predicted, saved]).toEqual(['53760.00', '26880.00']);
    // An interval without a width is not known: an estimate is never certain.
    expect(entry).toMatchObject({
      estimatedMonthlySavings: '116800.00',
      estimatedMonthlySavingsLow: null,
      estimatedMonthlySavingsHigh: null,
    });
    await bursar.db.query(`update counterfactual set spec = jsonb_set(spec, '{promised,low}', '"80000000000000"')`);
    expect(await bursar.stores.savingLedger.known('default', 'act-1')).toMatchObject({
      estimatedMonthlySavingsLow: '80000.00',
      estimatedMonthlySavingsHigh: '116800.00',
    });
    // Rolled back within its first hour: it is in no sum of what is expected, and its page says so.
    const estimated = async () => (await bursar.stores.savingLedger.totals('default', {})).estimated;
    await bursar.db.query(`update saving set state = 'estimated' where action = 'act-1'`);
    const monthly = [{ currency: 'USD', amount: '116800.00' }];
    expect(await estimated()).toMatchObject({ count: 1, unknown: 0, rolledBack: 0, monthly, monthlyHigh: monthly });
    await bursar.db.query(`update action set state = 'rolled-back' where id = 'act-1'`);
    expect(await estimated()).toEqual({
      count: 1,
      unknown: 0,
      rolledBack: 1,
      monthly: [],
      monthlyLow: [],
      monthlyHigh: [],
    });
    expect(await bursar.stores.savingLedger.known('default', 'act-1')).toMatchObject({ rolledBack: true });
    await bursar.db.query(`update saving set state = 'measured' where action = 'act-1'`);
    await bursar.db.query(`update action set state = 'confirmed' where id = 'act-1'`);
    const calibrations = await bursar.stores.savings.calibrations(bursar.db, 'default');
    // (10 x 1 + 1 x 0.5) / 11
    expect(calibrations).toEqual({ 'idle-stop@3': expect.objectContaining({ ratio: 0.954545, cases: 1 }) as unknown });
    const { views, prices, organisations } = bursar.stores;
    const view = await views.view(
      bursar.db,
      'default',
      'red',
      'USD',
      bursar.clock.at,
      await prices.book(bursar.db, 'default'),
      await organisations.peak(bursar.db, 'default'),
    );
    expect(view.calibrations).toEqual(calibrations);
  });

  it('is told beside what people were shown, and compared with what the policy had said before', async () => {
    const amounts = ['Savings', 'SavingsLow', 'SavingsHigh'] as const;
    const shown = { Savings: '110000.00', SavingsLow: '100000.00', SavingsHigh: '120000.00' };
    const corrected = {
      id: 'rec-2',
      team: 'blue',
      policy: 'idle-stop',
      policyVersion: 3,
      action: 'Stop',
      target: 'i-4',
      currency: 'USD',
      change: {},
      computation: { savingBeforeCalibrationNanos: Array(3).fill('116800000000000').join(' ') },
      ...Object.fromEntries(amounts.map((amount) => [`estimatedMonthly${amount}`, shown[amount]])),
      estimatedMonthlySavingsNanos: '110000000000000',
    };
    await bursar.db.query(
      `insert into recommendation (organisation, id, team, policy, action, target, body, made_at) values ('default', 'rec-2', 'blue', 'idle-stop', 'Stop', 'i-4', $1, now())`,
      [JSON.stringify(corrected)],
    );
    await bursar.take([...usage('i-4', 0, 24, { account: 'a2' }), ...usage('i-5', 0, 24 * 16, { account: 'a2' })]);
    await act(bursar.db, { ...stop('act-2', 24, 'i-4', 'blue'), recommendation: 'rec-2' });
    await at(bursar, 24 * 17);
    const ledger = bursar.stores.savingLedger;
    const entry = await ledger.known('default', 'act-2');
    expect(entry.predicted).toBe('53760.00');
    expect(amounts.map((amount) => entry[`estimatedMonthly${amount}`])).toEqual(Object.values(shown));
    const totals = async () => (await ledger.totals('default', { team: 'blue' })).estimated;
    const sum = (amount: string) => [{ currency: 'USD', amount }];
    await bursar.db.query(`update saving set state = 'estimated' where action = 'act-2'`);
    const [monthly, monthlyLow, monthlyHigh] = Object.values(shown).map(sum);
    expect(await totals()).toMatchObject({ monthly, monthlyLow, monthlyHigh });
    // Written down before both were kept: the policy's own estimate.
    await bursar.db.query(`update counterfactual set spec = spec - 'promised' where action = 'act-2'`);
    expect(await totals()).toMatchObject({ monthly: sum('116800.00'), monthlyLow: [] });
  });
});

describe('the action machine', async () => {
  const w = await actingWorld();

  it('brings what it has confirmed into the ledger, and a rollback ends it', async () => {
    const start = hourOf(NOW);
    const ran = (resource: string, from: number, to: number) =>
      groupUsage(1, from, to, { resource, tags: null }).map((record) => ({
        ...record,
        id: `${resource}/${record.id}`,
        start: record.start - MONDAY + start,
        end: record.end - MONDAY + start,
      }));
    await w.db.transaction((tx) =>
      w.stores.organisations.saveRules(tx, 'default', [{ match: { account: 'a1' }, team: 'lab' }], 'test'),
    );
    await w.setPrices(PRICES);
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.document('enforce');
    await w.look();
    await w.pass(0);
    await w.take([...ran('i-1', -3, 0), ...ran('i-2', -3, 5)]);
    const [stopped] = await w.all();
    expect(stopped?.state).toBe('confirmed');
    w.script.wants = [];
    await w.pass(4 * HOUR);
    await w.pass(1.5 * HOUR);
    const id = stopped?.id ?? '';
    expect((await w.stores.actions.known(w.db, 'default', id)).state).toBe('measured');
    expect(await w.stores.savingLedger.known('default', id)).toMatchObject({
      state: 'measured',
      saved: '320.00',
      policy: 'scripted',
      policyVersion: 1,
      estimatedMonthlySavings: null,
    });
    await w.take(ran('i-2', 5, 12));
    await w.rollBack(id);
    await w.pass(0);
    await w.pass(HOUR);
    await w.pass(6 * HOUR);
    await w.pass(1.5 * HOUR);
    expect((await w.all()).map(({ state }) => state)).toEqual(['rolled-back', 'confirmed']);
    // Taken back five and a half hours after it was applied; nothing is claimed later.
    expect(await w.stores.savingLedger.known('default', id)).toMatchObject({ state: 'measured', saved: '440.00' });
    const [, rollback] = await w.all();
    expect(await w.stores.savingLedger.known('default', rollback?.id ?? '')).toMatchObject({
      state: 'unverifiable',
      reason: 'not-made-to-save',
      saved: '0.00',
    });
  });
});

describe('the doors', async () => {
  const api: TestApi = await testApi();
  const door = (): SavingClient => new SavingClient(new Api(new HttpTransport({ url: api.url, apiKey: api.admin })));

  beforeAll(async () => {
    const { stores } = api;
    await withRules({ db: stores.db, stores });
    const bursar = await seeded(api);
    await act(stores.db, stop('act-1', 1));
    await act(stores.db, stop('act-2', 2, 'i-4', 'blue'));
    await bursar();
  });

  /** The line over the API's own database. */
  async function seeded({ stores }: TestApi): Promise<() => Promise<void>> {
    const { makeLine } = await import('../../src/pipeline/line.js');
    const { Runner } = await import('../../src/pipeline/runner.js');
    const clock = { now: () => MONDAY + 8 * HOUR };
    const runner = new Runner(stores.db, stores.work, clock, makeLine(stores, []));
    const rules = await stores.organisations.rules(stores.db, 'default');
    await stores.db.transaction(
      async (tx) =>
        void (await stores.prices.add(
          tx,
          'default',
          PRICES.map((price) => ({ kind: 'price', price })),
          'test',
        )),
    );
    const records = [
      ...usage('i-1', -3, 1),
      ...usage('i-2', -3, 6),
      ...usage('i-4', -3, 2, { account: 'a2' }),
      ...usage('i-5', -3, 6, { account: 'a2' }),
    ];
    await stores.intake.import(
      importRequest({ now: clock.now(), teamOf: (record) => rules.teamOf(record), rulesVersion: rules.version }),
      [
        {
          name: 'test',
          format: 'test',
          async *batches() {
            yield { records, rejects: [] };
          },
        },
      ],
    );
    return () => runner.drain();
  }

  it('list entries by page with totals of the whole filter, and refuse another team', async () => {
    const first = await api.call<{
      items: { action: string; saved: string }[];
      nextCursor: string;
      totals: { measured: unknown; estimated: unknown };
    }>('GET', '/v1/savings?limit=1');
    expect(first.status).toBe(200);
    expect(first.body.items.map(({ action }) => action)).toEqual(['act-2']);
    expect(first.body.totals.estimated).toEqual({
      count: 0,
      unknown: 0,
      rolledBack: 0,
      monthly: [],
      monthlyLow: [],
      monthlyHigh: [],
    });
    expect(first.body.totals.measured).toEqual({ count: 2, saved: [{ currency: 'USD', amount: '560.00' }] });
    const second = await api.call<{ items: { action: string }[]; nextCursor: string | null }>(
      'GET',
      `/v1/savings?limit=1&cursor=${first.body.nextCursor}`,
    );
    expect([second.body.items.map(({ action }) => action), second.body.nextCursor]).toEqual([['act-1'], null]);
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/savings?state=verified')).body.items).toEqual([]);
    expect(
      (
        await api.call<{ items: { action: string }[] }>('GET', '/v1/savings?from=2026-10-05T01:30:00Z&team=blue')
      ).body.items.map(({ action }) => action),
    ).toEqual(['act-2']);
    const key = await api.keyFor({ teams: ['blue'] });
    expect(
      (await api.call<{ items: { action: string }[] }>('GET', '/v1/savings', { key })).body.items.map(
        ({ action }) => action,
      ),
    ).toEqual(['act-2']);
    expect((await api.call('GET', '/v1/savings?team=red', { key })).status).toBe(403);
    expect((await api.call('GET', '/v1/savings/act-1', { key })).status).toBe(403);
    expect((await api.call('GET', '/v1/savings/act-99')).status).toBe(404);
    expect(
      (await api.call('GET', `/v1/savings?cursor=${Buffer.from('"nonsense"').toString('base64url')}`)).status,
    ).toBe(400);
    expect((await api.call('GET', '/v1/savings?from=soon')).status).toBe(400);
  });

  it("show an action's hours by page, with their lines and links", async () => {
    interface Detail {
      saved: string;
      sharedWith: string[];
      counterfactual: { world: { kind: string } };
      ledger: {
        items: { hour: string; saved: string; lines: { no: number; links: { records: number } }[] }[];
        nextCursor: string | null;
      };
    }
    const { status, body } = await api.call<Detail>('GET', '/v1/savings/act-1?limit=3');
    expect([status, body.saved, body.counterfactual.world.kind]).toEqual([200, '320.00', 'held']);
    expect(body.ledger.items.map(({ hour, saved }) => [hour, saved])).toEqual(
      [1, 2, 3].map((hour) => [`2026-10-05T0${hour}:00:00.000Z`, '80.00']),
    );
    expect(body.ledger.items[0]?.lines).toMatchObject([{ no: 1, links: { records: 0 } }]);
    const rest = await api.call<Detail>('GET', `/v1/savings/act-1?limit=3&cursor=${body.ledger.nextCursor}`);
    expect(rest.body.ledger.items).toHaveLength(1);
    const answer = endpoints().find(({ path }) => path === '/v1/savings/{action}')?.answer;
    expect(
      answer !== undefined && 'safeParse' in answer ? answer.safeParse(body).error?.issues : 'no endpoint',
    ).toBeUndefined();
  });

  it('are alike, on the database and through the API', async () => {
    const local = new SavingClient(await apiOf(api, { now: () => NOW }));
    expect(await door().list(null)).toEqual(await local.list(null));
    expect(await door().list('red')).toEqual(await local.list('red'));
    expect(await door().show('act-1')).toEqual(JSON.parse(JSON.stringify(await local.show('act-1'))));
  });

  it('print what the ledger says', async () => {
    const out: string[] = [];
    const sink = (into: string[]) => ({ isTTY: false, write: (text: string) => into.push(text) > 0 });
    const context: CliContext = {
      environment: {},
      stdout: sink(out),
      stderr: sink([]),
      clock: { now: () => MONDAY },
      remote: { url: api.url, apiKey: api.admin },
      connect: () => Promise.reject(new Error('goes through the API')),
      serve: () => Promise.resolve(),
    };
    const command = (argv: string[]) => run(argv, context);
    expect(await command(['savings', '--team', 'red', '--json'])).toBe(0);
    expect(JSON.parse(out.join(''))).toMatchObject({
      savings: [{ action: 'act-1', state: 'measured', saved: '320.00' }],
      totals: { measured: { count: 1 } },
    });
    out.length = 0;
    expect(await command(['savings'])).toBe(0);
    expect(out.join('')).toMatch(/act-2 .*measured[\s\S]*measured 560\.00 USD/);
  });
});
