/** What the tests of the admission webhook share: a budget of a team, what it has spent, and a brake on launches. */
import { evaluateBudget, type Budget } from '../../src/core/budget/budget.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { DAY_MS, HOUR_MS } from '../../src/core/time.js';
import { monthBudget, recommendation } from './makers.js';
import { NOW, type TestApi } from './web.js';

export const BUDGET: Budget = monthBudget({
  id: 'research-gpus',
  team: 'research',
  planned: { default: '100', periods: {} },
});

/** Evaluates the budget as if so many units of currency had been spent an hour ago. */
export async function setSpent({ stores }: TestApi, units: number): Promise<void> {
  const nanos = BigInt(units) * 1_000_000_000n;
  const state = evaluateBudget({
    budget: BUDGET,
    now: NOW,
    committed: 0n,
    forecaster: null,
    spend: [{ at: NOW - HOUR_MS, nanos, creditNanos: 0n, unpricedQuantity: 0n }],
  });
  await stores.budgets.saveState(stores.db, 'default', state, { unconverted: [], unstated: [] }, NOW);
}

/** Refuses new launches of the team. */
export const launchesRefused = (mode: Recommendation['mode']): Recommendation =>
  recommendation({
    id: `refuse-${mode}`,
    policy: 'budget-brake',
    document: 'brake',
    mode,
    action: 'RefuseLaunches',
    target: 'team/research',
    title: 'Refuse new launches of research: spend has reached 90 %',
    estimatedMonthlySavings: null,
    estimatedMonthlySavingsLow: null,
    estimatedMonthlySavingsHigh: null,
    estimatedMonthlySavingsNanos: null,
    protective: true,
    risk: { interruption: 'None', note: '' },
    restartNeeded: false,
    implementationEffort: 'VeryLow',
    expiresAt: new Date(NOW + DAY_MS).toISOString(),
  });
