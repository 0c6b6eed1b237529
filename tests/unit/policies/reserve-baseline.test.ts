/** reserve-baseline where a team's machines are of several accounts, and where nobody says whose a purchase was. */
import { expect, it } from 'vitest';
import { policy } from '../../../src/policies/reserve-baseline.js';
import type { DemandSeries, PolicyView } from '../../../src/core/policy/view.js';

const params = policy.params.parse({});
const view = ((): PolicyView => {
  const [example] = policy.examples;
  if (example === undefined) throw new Error('the policy has examples');
  return example.view;
})();
const of = (...over: Partial<DemandSeries>[]): PolicyView => ({
  ...view,
  demand: over.flatMap((one) => view.demand.map((series) => ({ ...series, ...one }))),
});

it('proposes for each account on its own, and names it where several use the same machines', () => {
  const single = policy.evaluate(of({ account: 'a' }), params);
  expect(single.map(({ target, place }) => [target, place?.account])).toEqual([
    ['AWS/us-east-1/p3.2xlarge/reserved-1y/none', 'a'],
  ]);
  const both = of({ account: 'a' }, { account: null, bought: [{ units: 1, hoursLeft: 8000 }] });
  const proposals = policy.evaluate(both, params);
  expect(proposals.map(({ target, place, change }) => [target, place?.account, change?.['units']])).toEqual([
    ['AWS/a/us-east-1/p3.2xlarge/reserved-1y/none', 'a', 4],
    ['AWS/account unknown/us-east-1/p3.2xlarge/reserved-1y/none', undefined, 3],
  ]);
  // What is moved to spot is still known by its place alone.
  expect(new Set(proposals.map(({ subject }) => subject))).toEqual(new Set(['AWS/us-east-1/p3.2xlarge']));
  expect(policy.explain?.(both, params).map(({ target }) => target)).toEqual(proposals.map(({ target }) => target));
});

it('tells what it takes for granted of purchases of an unknown account', () => {
  const assumed = 'they are assumed to serve the account a, so that nothing is bought twice';
  const some = of({ account: 'a', bought: [{ units: 1, hoursLeft: 8000 }], boughtForUnknown: 1 });
  const [proposal] = policy.evaluate(some, params);
  expect(proposal?.risk.note).toContain(assumed);
  // Where it leaves nothing to propose, too.
  const all = of({ account: 'a', bought: [{ units: 4, hoursLeft: 8000 }], boughtForUnknown: 4 });
  expect(policy.evaluate(all, params)).toEqual([]);
  expect(policy.explain?.(all, params)[0]?.saw.join()).toContain(assumed);
  expect(policy.evaluate(of({ account: 'a' }), params)[0]?.risk.note).not.toContain(assumed);
});
