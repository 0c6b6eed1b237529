/** What budget-brake says of its savings: by the month, as everybody's, with what the budget has of them beside it. */
import { expect, it } from 'vitest';
import type { Proposal } from '../../../src/core/policy/policy.js';
import { DAY_MS } from '../../../src/core/time.js';
import { policy } from '../../../src/policies/budget-brake.js';
import { AS_OF, budgetAt, exampleView, workload } from '../../../src/policies/estimating/examples.js';

const fleet = (ready: number) => ({ ready, booting: 0, minReplicas: 1, maxReplicas: 8, changedAt: null });
const TEAM = [
  workload('chat', { fleet: fleet(4) }),
  workload('train', { kind: 'training', interruptible: true, fleet: fleet(1) }),
  workload('priceless', { kind: 'training', interruptible: true, provider: 'Nobody', fleet: fleet(1) }),
];
/** Ten days before the end of the month. */
const proposals = policy.evaluate(
  exampleView({ asOf: AS_OF + 20 * DAY_MS, workloads: TEAM, budgets: [budgetAt(1000, 1200)] }),
  policy.params.parse({}),
);
const sayings = (action: string): [string, bigint | undefined, bigint | null, string | number | undefined][] =>
  proposals
    .filter((one) => one.action === action)
    .map(({ target, monthlySavings, monthlyCost, computation }: Proposal) => [
      target,
      monthlySavings?.mean,
      monthlyCost,
      computation['savesUntilThePeriodEnds'],
    ]);

it('a scale-in saves what the replicas cost that go', () => {
  // Three of four replicas at 4 USD an hour, 730 hours a month, 240 hours until the budget's period ends.
  expect(sayings('ScaleIn')).toEqual([['chat', 8_760_000_000_000n, 11_680_000_000_000n, '2880.000000']]);
});

it('a scale-in ends nothing: down to none is a stop, with its conditions', () => {
  const toNone = (ready: number) => ({ ready, booting: 0, minReplicas: 0, maxReplicas: 8, changedAt: null });
  const of = (spent: number): [string, string, unknown][] =>
    policy
      .evaluate(
        exampleView({
          asOf: AS_OF + 20 * DAY_MS,
          workloads: [
            workload('instance/i-train', { kind: 'training', fleet: { ...toNone(1), maxReplicas: 1 } }),
            workload('asg/serve', { kind: 'inference', fleet: toNone(3) }),
            workload('asg/batch', { kind: 'batch', fleet: { ...toNone(3), minReplicas: 2 } }),
            workload('instance/i-lab', { kind: 'notebook', fleet: { ...toNone(1), maxReplicas: 1 } }),
          ],
          budgets: [budgetAt(1000, spent)],
        }),
        policy.params.parse({}),
      )
      .filter(({ action }) => action === 'ScaleIn' || action === 'Stop')
      .map(({ action, target, change }) => [action, target, change?.['replicas']]);
  expect(of(1050)).toEqual([
    ['ScaleIn', 'asg/serve', 1],
    ['ScaleIn', 'asg/batch', 2],
  ]);
  // What must keep two keeps two, and no more.
  expect(of(2000)).toEqual([
    ['ScaleIn', 'asg/serve', 1],
    ['ScaleIn', 'asg/batch', 2],
    ['Stop', 'instance/i-lab', 0],
  ]);
});

it('a stop saves all that it costs; what has no price saves an unknown amount', () => {
  expect(sayings('Stop')).toEqual([
    ['train', 2_920_000_000_000n, 2_920_000_000_000n, '960.000000'],
    ['priceless', undefined, null, 'unknown'],
  ]);
});
