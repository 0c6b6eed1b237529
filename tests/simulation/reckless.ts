/**
 * A policy that wants too much: at every look it asks for something else, of any target that it sees. It is there so
 * that the guard has something to hold back; the company's other policies are the real ones.
 *
 * As every policy it is pure: the same view gives the same proposals.
 */
import { z } from 'zod';
import type { Policy, PolicyView, Proposal } from '../../src/core/policy/policy.js';
import type { Change, RecommendedAction } from '../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { chance } from '../../src/providers/fake/faults.js';

type Wish = readonly [RecommendedAction, Change];

/** @param roll from 0 to 1 */
function wishOf(target: string, isGroup: boolean, roll: number): Wish | null {
  const replicas = Math.floor(roll * 8_000) % 8;
  const wishes: readonly (Wish | null)[] = isGroup
    ? [
        null,
        null,
        ['ScaleIn', { replicas }],
        ['ScaleOut', { replicas }],
        ['MoveToSpot', {}],
        ['MoveToOnDemand', {}],
        ['Stop', {}],
        ['ScaleOut', { replicas: 6 }],
      ]
    : [
        null,
        null,
        null,
        ['Stop', {}],
        ['Start', { replicas: 1 }],
        ['Start', { replicas: 1 }],
        ['Rightsize', { sku: target.endsWith('1') ? 'fake.l40sx4' : 'fake.t4x1' }],
        ['Replace', {}],
      ];
  return wishes[Math.floor(roll * wishes.length)] ?? null;
}

function proposalsOf(view: PolicyView): Proposal[] {
  const roll = (...question: (string | number)[]): number =>
    chance(7, 'reckless', view.organisation, view.team, view.asOf, ...question);
  const targets = [
    ...new Set([
      ...view.workloads.map(({ workload }) => workload),
      ...view.resources.map(({ resource }) => `instance/${resource}`),
    ]),
  ];
  const found = targets.flatMap((target) => {
    const wish = wishOf(target, target.startsWith('group/'), roll(target));
    return wish === null ? [] : [proposalOf(view, target, wish)];
  });
  const buys = roll('buys') < 0.25;
  return buys
    ? [
        ...found,
        proposalOf(view, BOUGHT, [
          'PurchaseReservedInstances',
          {
            units: 1 + Math.floor(roll('units') * 3),
            termHours: 8760,
            upfront: 'none',
            term: 'reserved-1y',
            perGpuHourNanos: 1e12,
          },
        ]),
      ]
    : found;
}

const BOUGHT = 'Fake Cloud/fake-east/fake.t4x1';

const proposalOf = (view: PolicyView, target: string, [action, change]: Wish): Proposal => ({
  action,
  target,
  ...(target === BOUGHT ? { place: { provider: 'Fake Cloud', region: 'fake-east', sku: 'fake.t4x1' } } : {}),
  change,
  title: `${action} ${target}`,
  protective: true,
  monthlySavings: null,
  monthlyCost: null,
  computation: {},
  risk: { interruption: 'High', note: '' },
  restartNeeded: true,
  implementationEffort: 'VeryLow',
  rollbackPossible: true,
  validDays: 1,
  evidence: [{ what: 'a whim', from: formatInstant(view.asOf - HOUR_MS), to: formatInstant(view.asOf), ageSeconds: 0 }],
});

export const reckless: Policy = {
  name: 'reckless',
  version: 1,
  description: 'Asks for whatever comes to its mind',
  params: z.strictObject({}),
  evaluate: proposalsOf,
  examples: [],
};
