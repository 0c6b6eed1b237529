/** The forecast of the first page beside that of a budget over the same spend: one moment for both. */
import { beforeAll, describe, expect, it } from 'vitest';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { NOW as MIDNIGHT, testApi } from '../support/web.js';

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
const NOW = MIDNIGHT + DAY_MS / 2;
const PRICES = `provider,sku,region,term,gpuModel,gpus,price,currency,per,effectiveFrom
Mine,m1,,,H100,1,2.00,USD,instance-hour,2026-01-01T00:00:00Z
`;

describe('the forecast of the overview', async () => {
  const clock = { at: NOW, now: () => clock.at };
  const api = await testApi({ clock });

  beforeAll(async () => {
    const { stores } = api;
    await api.call('PUT', '/v1/teams/red', { body: {} });
    await api.call('PUT', '/v1/rules', { body: { rules: [{ match: { provider: 'Mine' }, team: 'red' }] } });
    await api.call('POST', '/v1/prices?filename=p.csv', { body: PRICES, headers: { 'content-type': 'text/csv' } });
    const records = Array.from({ length: 20 }, (_, day) => ({
      id: `run-${day}`,
      provider: 'Mine',
      account: 'a1',
      sku: 'm1',
      gpus: 1,
      start: new Date(NOW - day * DAY_MS - (6 + (day % 5)) * 60 * MINUTE_MS).toISOString(),
      end: new Date(NOW - day * DAY_MS).toISOString(),
    }));
    expect((await api.call('POST', '/v1/usage', { body: { records } })).status).toBe(200);
    await api.call('PUT', '/v1/budgets/all', { body: { team: 'red', planned: { default: '1000' } } });
    await new Runner(stores.db, stores.work, clock, makeLine(stores, [])).drain();
  });

  const forecasts = async (): Promise<[unknown, unknown]> => {
    interface Overview {
      spend: { forecast: unknown }[];
    }
    const { body: overview } = await api.call<Overview>('GET', '/v1/overview');
    const { body: budget } = await api.call<{ state: { forecast: unknown } }>('GET', '/v1/budgets/all/state');
    return [overview.spend[0]?.forecast, budget.state.forecast];
  };

  it('is that of a budget over everything, also some minutes after it was evaluated', async () => {
    for (const minutes of [0, 20]) {
      clock.at = NOW + minutes * MINUTE_MS;
      const [overview, budget] = await forecasts();
      expect(overview).toEqual(budget);
    }
  });

  it('goes on by itself where nothing was evaluated for more than an hour', async () => {
    clock.at = NOW + 90 * MINUTE_MS;
    const [overview, budget] = await forecasts();
    expect(overview).not.toEqual(budget);
  });
});
