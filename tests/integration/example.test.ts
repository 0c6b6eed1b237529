/**
 * The bundled example as a new user finds it: one company, played on the line itself, at whatever instant it is
 * started. The clouds, the guard and the ledger are the product's; the present is an instant of the test.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compose, type Bursar } from '../../src/app.module.js';
import { SettableClock } from '../../src/clock.js';
import { parseInstant } from '../../src/core/time.js';
import { EXAMPLE_ACCOUNT, EXAMPLE_CONNECTION, RECORDED_ACCOUNT } from '../../src/example/company.js';
import { welcome } from '../../src/example/welcome.js';
import * as openbPods from '../../src/formats/openb-pods.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { run } from '../../src/cli/program.js';
import { limit } from '../support/cluster.js';
import { freshDatabase } from '../support/database.js';
import { expectRecorded, shapeOf } from '../support/documents.js';
import { localOfComposed } from '../support/local.js';

const NOW = parseInstant('2026-11-18T14:37:00Z') ?? 0;
const HOUR = '2026-11-18T14:00:00Z';

describe('the example', async () => {
  const { url } = await freshDatabase();
  const present = { at: NOW, now: () => present.at };
  const clock = new SettableClock(present);
  let bursar: Bursar;
  let said = '';
  beforeAll(async () => {
    bursar = await compose(url, clock, { example: true });
    const say = (text: string): void => void (said += `${text}\n`);
    await welcome({ bursar, example: bursar.example, firstKey: false, pods: openbPods, clock, say });
  }, limit(240_000));
  afterAll(() => bursar.close());

  const spend = async (question: Parameters<typeof parseSpendQuery>[0]) =>
    bursar.stores.spend.spend(
      'default',
      parseSpendQuery({ currency: 'USD', ...question }),
      (await bursar.stores.prices.book(bursar.stores.db, 'default')).fx,
    );

  it('has a history without a hole that ends at the current hour, every GPU-hour of it priced', async () => {
    const { rows } = await spend({ groupBy: 'day' });
    const days = rows.map(({ day }) => day ?? '').sort();
    expect(days.at(-1)).toBe(HOUR.slice(0, 10));
    expect(new Set(days).size).toBe(271);
    const [{ last } = { last: null }] = await bursar.stores.db.query<{ last: Date }>(
      `select max(hour) as last from usage_hour`,
    );
    expect(last?.toISOString()).toBe('2026-11-18T13:00:00.000Z');
    const all = await spend({});
    expect(Number(all.unpricedQuantity)).toBe(0);
  });

  it('belongs to teams by the tag `team`, and says of each row whether it is recorded or made up', async () => {
    const { rows } = await spend({ groupBy: 'team,account' });
    expect(new Set(rows.map(({ team }) => team))).toEqual(new Set(['research', 'serving', 'training', 'platform']));
    expect(new Set(rows.map(({ account }) => account))).toEqual(new Set([EXAMPLE_ACCOUNT, RECORDED_ACCOUNT]));
    expect(EXAMPLE_ACCOUNT).toContain('made up');
    expect(RECORDED_ACCOUNT).toContain('recorded');
  });

  it('has one budget that is nearly spent and one that is safe', async () => {
    const states = await bursar.stores.budgets.states('default', NOW);
    const used = (id: string): number => {
      const state = states.find(({ budget }) => budget === id)?.state;
      return Number(state?.spent) / Number(state?.planned);
    };
    expect(used('research-monthly')).toBeGreaterThan(0.9);
    expect(used('research-monthly')).toBeLessThan(1);
    expect(used('serving-monthly')).toBeLessThan(0.5);
    expect(states.find(({ budget }) => budget === 'serving-monthly')?.state.exhaustionAt).toBeNull();
  });

  it('recommends spot, a reservation, a stop and a schedule, each with an interval above zero', async () => {
    const open = await bursar.stores.recommendations.list('default', { status: 'open' }, null, 100);
    const lows = new Map<string, number>();
    for (const { policy, estimatedMonthlySavingsLow: low, mode } of open) {
      expect(mode).toBe('approve');
      lows.set(policy, Math.min(lows.get(policy) ?? Infinity, Number(low ?? -1)));
    }
    expect([...lows.keys()].sort()).toEqual(['idle-stop', 'reserve-baseline', 'schedule', 'spot-shift']);
    for (const [policy, low] of lows) expect(low, policy).toBeGreaterThan(0);
  });

  it('has carried out two actions and measured them, had one refused by the guard, and waits for the others', async () => {
    const { db, actions, savingLedger } = bursar.stores;
    const all = (await actions.list('default', {}, null, 100)).map(({ action }) => action);
    const of = (state: string) => all.filter((one) => one.state === state);
    expect(
      of('measured')
        .map(({ target }) => target)
        .sort(),
    ).toEqual(['group/staging', 'instance/i-000002']);
    for (const { id, approvedBy, after } of of('measured')) {
      expect(approvedBy).toBe('example');
      expect(after).not.toBeNull();
      const events = await actions.events(db, 'default', id);
      expect(events.map(({ to }) => to)).toEqual(expect.arrayContaining(['intended', 'applied', 'confirmed']));
    }
    const [refused, ...others] = of('refused');
    expect(others).toEqual([]);
    expect(refused?.approvedBy).toBe('example');
    expect(refused?.reasons.map(({ code }) => code)).toContain('protected-label');
    expect(of('proposed').length).toBeGreaterThanOrEqual(4);
    const ledger = await savingLedger.list('default', {}, null, 100);
    expect(ledger.map(({ state }) => state)).toEqual(['measured', 'measured']);
    for (const { saved } of ledger) expect(Number(saved)).toBeGreaterThan(0);
  });

  it('says all of it in its summary', () => {
    for (const text of ['Summary as of 2026-11-18T14:37', 'Every GPU-hour has a price', 'research-monthly', 'measured'])
      expect(said).toContain(text);
  });

  it('is the same cloud after a restart, with what was done to it', async () => {
    const before = await bursar.example?.cloud.target?.('instance/i-000002');
    expect(before?.state).toBe('stopped');
    present.at += 10 * 60_000;
    const again = await compose(url, clock, { example: true });
    try {
      expect(await again.example?.cloud.target?.('instance/i-000002')).toEqual(before);
      expect((await again.example?.cloud.target?.('group/staging'))?.replicas?.desired).toBe(1);
      expect([...again.connections.keys()]).toEqual([EXAMPLE_CONNECTION]);
      const quiet: string[] = [];
      const say = (text: string): void => void quiet.push(text);
      await welcome({ bursar: again, example: again.example, firstKey: false, pods: openbPods, clock, say });
      expect(quiet.join('')).not.toContain('loading');
    } finally {
      await again.close();
    }
  });

  it('is told by the command line in documents of the recorded shape', { timeout: 60_000 }, async () => {
    const here: Record<string, unknown> = {};
    const ask = async <T>(...argv: readonly string[]): Promise<T> => {
      const out: string[] = [];
      const code = await run([...argv, '--json'], {
        environment: {},
        clock,
        stdout: { write: (text) => out.push(text) },
        stderr: { write: () => true },
        serve: async () => undefined,
        connect: async () => localOfComposed(bursar, clock),
        remote: null,
      });
      const document = JSON.parse(out.join('')) as T;
      here[argv.slice(0, 2).join(' ')] = { code, document: shapeOf(document) };
      return document;
    };
    const { actions } = await ask<{ actions: { id: string; state: string }[] }>('actions');
    for (const words of ['fleet', 'recommend', 'savings', 'budgets', 'policies', 'alerts', 'admissions', 'leases'])
      await ask(words);
    const done = actions.find(({ state }) => state === 'succeeded') ?? actions[0];
    here['actions show'] = null;
    await ask('actions', 'show', done?.id ?? '');
    await ask('savings', done?.id ?? '').finally(() => {
      here['savings of one'] = here[`savings ${done?.id}`];
      delete here[`savings ${done?.id}`];
    });
    await ask('explain', 'research');
    await expectRecorded('cli-documents-example.json', { here });
  });
});
