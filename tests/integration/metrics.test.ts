/** /metrics: what is there, to whom, and in Prometheus' own words. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { describeWith } from '../support/programs.js';
import { NOW, testApi } from '../support/web.js';
import { monthBudget } from '../support/makers.js';

const RULES = path.join(import.meta.dirname, '../../deploy/prometheus/bursar-rules.yml');
const state = {
  status: 'ok',
  currency: 'USD',
  planned: '200.000000000',
  spent: '50.000000000',
  credits: '0',
  committed: '10.000000000',
  forecast: { mean: '150.000000000', low: '1', high: '2', method: 'x' },
  burnRatePerDay: null,
  exhaustionAt: '2026-10-20T00:00:00Z',
  unpricedGpuHours: '0',
  ratio: 0.25,
  unconverted: [],
};

describe('metrics', async () => {
  const api = await testApi();
  const scrape = async (key?: string | null): Promise<string> =>
    (await api.call('GET', '/metrics', key === undefined ? {} : { key })).text;
  const samples = (text: string, name: string): string[] =>
    text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

  beforeAll(async () => {
    const { stores } = api;
    const budget = (id: string, team: string): Budget =>
      monthBudget({ id, team, planned: { default: '200', periods: {} } });
    await stores.db.transaction(async (tx) => {
      await setBudget(stores, tx, 'default', budget('red-monthly', 'red'), NOW);
      await setBudget(stores, tx, 'default', budget('blue-monthly', 'blue'), NOW);
    });
    await stores.db.query(
      `insert into budget_state (organisation, budget, period_start, period_end, state, weighed_at) select 'default', id, '2026-10-01', '2026-11-01', $1, now() from budget`,
      [JSON.stringify(state)],
    );
    await stores.db.query(
      `insert into dimension (organisation, key, kind, provider, category) values ('default', 'd', 'metered', 'AWS', 'Usage')`,
    );
    await stores.db.query(
      `insert into cost_day (organisation, team, day, dimension, currency, records, actual, accrued, unpriced_part_ms, unpriced_lines)
       select 'default', team, '2026-10-05', d.id, 'USD', 1, amount, amount, parts, 1 from dimension d, (values ('red', 5.5, 25200000000), ('blue', null, 0)) as v(team, amount, parts)`,
    );
  });

  it('show work to everybody, and money only to a key, of its own teams', async () => {
    const open = await scrape(null);
    expect(samples(open, 'bursar_work_waiting').length).toBeGreaterThan(0);
    expect(samples(open, 'process_resident_memory_bytes')).toHaveLength(1);
    expect(open).not.toMatch(/bursar_(spend|budget|actions|savings|unpriced)/);
    const red = await scrape(await api.keyFor({ teams: ['red'] }));
    expect(samples(red, 'bursar_budget_spent_ratio')).toEqual([
      'bursar_budget_spent_ratio{budget="red-monthly",team="red",currency="USD"} 0.25',
    ]);
    expect(red).not.toContain('blue');
  });

  it('give budgets, spend and unpriced use in base units; what is unknown has no sample', async () => {
    const text = await scrape();
    expect(samples(text, 'bursar_budget_forecast_ratio')).toContain(
      'bursar_budget_forecast_ratio{budget="red-monthly",team="red",currency="USD"} 0.75',
    );
    expect(samples(text, 'bursar_budget_exhaustion_timestamp_seconds')).toContain(
      `bursar_budget_exhaustion_timestamp_seconds{budget="red-monthly",team="red",currency="USD"} ${Date.UTC(2026, 9, 20) / 1000}`,
    );
    expect(samples(text, 'bursar_unpriced_gpu_seconds_month')).toContain(
      'bursar_unpriced_gpu_seconds_month{team="red",currency="USD"} 3600',
    );
    expect(samples(text, 'bursar_spend_month')).toEqual(['bursar_spend_month{team="red",currency="USD"} 5.5']);
  });

  it('are all that the alert rules ask for', async () => {
    const text = await scrape();
    const asked = new Set(readFileSync(RULES, 'utf8').match(/\bbursar_\w+/g));
    expect(asked.size).toBeGreaterThan(5);
    for (const name of asked) expect(text, name).toContain(`# TYPE ${name} gauge`);
  });

  describeWith('promtool', 'their form', (promtool) => {
    it('passes its check', async () => {
      const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], {
        input: await scrape(),
        encoding: 'utf8',
      });
      // The names of the process' own metrics are the official client's.
      expect((stdout + stderr).split('\n').filter((line) => line.startsWith('bursar_'))).toEqual([]);
      expect([0, 3]).toContain(status);
    });
  });
});
