/** Which known workload a sample belongs to, and what is proposed for a workload that lost a card. */
import { describe, expect, it } from 'vitest';
import type { HealthFinding } from '../../../src/core/fleet/health.js';
import { goneCard, workload } from '../../../src/policies/estimating/examples.js';
import { replacements } from '../../../src/policies/estimating/replace.js';
import { workloadOf } from '../../../src/application/fleet/take-samples.js';

describe('the workload of a sample', () => {
  const known = [
    'deployment/ml/chat',
    'deployment/ml/chat-batch',
    'statefulset/ml/db',
    'deployment/web/chat',
    'trainer',
  ];
  it.each([
    ['ml', 'chat-6d4cf56db6-x7k2p', {}, 'deployment/ml/chat'],
    ['ml', 'chat-batch-6d4cf56db6-x7k2p', {}, 'deployment/ml/chat-batch'],
    ['web', 'chat-6d4cf56db6-x7k2p', {}, 'deployment/web/chat'],
    ['ml', 'db-0', {}, 'statefulset/ml/db'],
    // A pod that only begins alike, one of another namespace, one that nobody knows.
    ['ml', 'chatty-6d4cf56db6-x7k2p', {}, null],
    ['ops', 'chat-6d4cf56db6-x7k2p', {}, null],
    ['ml', 'chat-', {}, null],
    [null, null, {}, null],
    [null, null, { workload: 'trainer' }, 'trainer'],
    ['ml', 'anything', { workload: 'chat' }, 'deployment/ml/chat'],
    [null, null, { workload: 'new' }, 'new'],
  ])('%s/%s %j', (namespace, pod, labels, expected) =>
    expect(workloadOf({ namespace, pod, labels }, known)).toBe(expected),
  );
});

describe('what is lost is replaced', () => {
  const found = (resource: string, over: Partial<HealthFinding> = {}): HealthFinding => ({
    ...goneCard(resource, 'chat'),
    ...over,
  });
  const proposed = (health: readonly HealthFinding[], over = {}): unknown[] =>
    replacements(workload('chat', { health, ...over })).map(
      ({ target, change, protective, monthlySavings, computation }) => ({
        target,
        change,
        protective,
        monthlySavings,
        lost: computation['gpusLost'],
      }),
    );

  it('once per resource, hot spares first, without a claimed saving', () => {
    const health = [
      found('pod/ml/b'),
      found('pod/ml/a'),
      found('pod/ml/b', { gpu: 'GPU-2', rule: 'failed', title: 'failed: XID 79' }),
    ];
    expect(proposed(health, { spares: ['spare-1'] })).toEqual([
      {
        target: 'spare-1',
        change: { replicas: 1, replaces: 'pod/ml/a', group: 'chat' },
        protective: true,
        monthlySavings: null,
        lost: 1,
      },
      { target: 'pod/ml/b', change: { group: 'chat' }, protective: true, monthlySavings: null, lost: 2 },
    ]);
  });

  it('and nothing for a warning, for no finding, or where its owner forbids', () => {
    expect(proposed([found('pod/ml/a', { rule: 'hot', severity: 'warning' })])).toEqual([]);
    expect(proposed([])).toEqual([]);
    expect(proposed([found('pod/ml/a')], { isProtected: true })).toEqual([]);
  });
});
