/** A backtest over more days than are recorded counts, and vouches for, the recorded ones alone. */
import { describe, expect, it } from 'vitest';
import { readHistory } from '../../src/application/policy/history.js';
import { vouch } from '../../src/application/policy/vouch.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { DAY_MS, formatInstant } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { backtestPolicy } from '../../src/planning/policy/run.js';
import { fakeCloud } from '../../src/providers/fake/fake.js';
import { testBursar } from '../support/bursar.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const TODAY = Date.UTC(2026, 10, 21);
const RECORDED_MS = 2 * DAY_MS;

describe('a backtest from before the history', async () => {
  const clock = { now: () => TODAY };
  const labels = { team: 'research', 'bursar.io/workload-kind': 'notebook' };
  const { connection } = fakeCloud(20, clock, {
    from: TODAY - RECORDED_MS,
    groups: [{ name: 'notebooks', sku: 'fake.l40sx4', region: 'fake-east', desired: 4, labels }],
    meterSeconds: 3600,
  });
  const bursar = await testBursar({ policies, now: TODAY, connections: new Map([[connection.name, connection]]) });
  const { stores, db, runner } = bursar;
  await stores.organisations.saveTeam(db, 'default', {
    id: 'research',
    name: 'Research',
    parent: null,
    zone: 'UTC',
    currency: 'USD',
    assignedBy: null,
  });
  await db.transaction((tx) =>
    stores.organisations.saveRules(
      tx,
      'default',
      [{ match: { tag: { key: 'team', value: 'research' } }, team: 'research' }],
      'test',
    ),
  );
  const window = { from: TODAY - 30 * DAY_MS, to: TODAY };
  const document = readPolicyDocument(
    {
      name: 'notebooks',
      policy: 'schedule',
      teams: ['research'],
      mode: 'approve',
      params: { targets: ['group/notebooks'], otherwise: { maxReplicas: 2 } },
    },
    policies,
  );

  const backtested = async (): Promise<readonly (readonly [string, number, number])[]> => {
    const policy = policies.find(({ name }) => name === document.policy);
    if (policy === undefined) throw new Error('there is no such policy');
    const { teams } = await backtestPolicy(
      { policy, params: document.params, document: document.name },
      ['research'],
      window,
      { historyOf: (team) => readHistory(stores, 'default', team, window.from, window.to), step: () => undefined },
    );
    return (teams[0]?.cells ?? []).map(({ name, policies: all }) => {
      const of = (who: string): number => Number(all.find((one) => one.name === who)?.['cost'] ?? NaN);
      return [name, of('none'), of('bursar')] as const;
    });
  };

  it('charges no machine for the time before', async () => {
    const connections = new Map([[connection.name, connection]]);
    await new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS).enqueueDue(TODAY);
    await runner.drain();
    const policy = policies.find(({ name }) => name === document.policy);
    if (policy === undefined) throw new Error('there is no such policy');
    const { teams, report } = await backtestPolicy(
      { policy, params: document.params, document: document.name },
      ['research'],
      window,
      { historyOf: (team) => readHistory(stores, 'default', team, window.from, window.to), step: () => undefined },
    );
    expect(teams.map(({ from }) => from)).toEqual([TODAY - RECORDED_MS]);
    expect(report.settings['recordedFrom']).toEqual({ research: formatInstant(TODAY - RECORDED_MS) });
    const [demand, workloads] = teams[0]?.cells.map(({ policies: all }) => Number(all[0]?.['cost'])) ?? [];
    // Four machines for two days cost what their metered hours did: no day before is charged.
    expect(workloads).toBeCloseTo(demand ?? NaN, 2);
    expect(demand).toBeCloseTo(Number((await bursar.spend({ basis: 'accrued' })).total), 2);
    await db.transaction((tx) =>
      vouch(stores, tx, 'default', { document, policyVersion: policy.version, teams, ...window }, 'test', TODAY),
    );
    const [row] = await db.query<{ first: Date }>(`select from_at as first from policy_backtest`);
    expect(row?.first.getTime()).toBe(TODAY - RECORDED_MS);
  });

  it('costs what was metered where nothing is done, whatever the size of today', async () => {
    const before = await backtested();
    for (const ready of [0, 1, 24]) {
      await db.query(`update workload set facts = jsonb_set(facts, '{fleet,ready}', $1::jsonb) where id = $2`, [
        JSON.stringify(ready),
        'group/notebooks',
      ]);
      expect(await backtested()).toEqual(before);
    }
    const [demand, workloads] = before;
    expect(workloads?.[1]).toBeCloseTo(demand?.[1] ?? NaN, 2);
    // Two of four machines for all hours but the first, before which nothing was recorded.
    expect(workloads?.[2]).toBeCloseTo((demand?.[1] ?? NaN) * ((4 + 47 * 2) / (48 * 4)), 2);
  });

  it('says of a workload of which nothing was metered that it is in no figure', async () => {
    await db.query(`update workload set id = 'group/elsewhere' where id = 'group/notebooks'`);
    const policy = policies.find(({ name }) => name === document.policy);
    if (policy === undefined) throw new Error('there is no such policy');
    const { report } = await backtestPolicy(
      { policy, params: document.params, document: document.name },
      ['research'],
      window,
      { historyOf: (team) => readHistory(stores, 'default', team, window.from, window.to), step: () => undefined },
    );
    expect(report.cells.find(({ name }) => name === 'research/workloads')).toMatchObject({
      unknown: [{ name: 'group/elsewhere', why: 'none of its use was metered in the window' }],
      policies: [
        { name: 'none', cost: null },
        { name: 'bursar', cost: null, saved: null },
      ],
    });
  });
});
