/** What is done about GPUs that are lost: spares first, each for one resource, and nothing that is only silent ends. */
import { describe, expect, it } from 'vitest';
import type { HealthFinding } from '../../../src/core/fleet/health.js';
import type { WorkloadView } from '../../../src/core/policy/policy.js';
import { goneCard, workload } from '../../../src/policies/estimating/examples.js';
import { replacements } from '../../../src/policies/estimating/replace.js';

const lost = (resource: string, over: Partial<HealthFinding> = {}): HealthFinding => ({
  ...goneCard(resource, 'w'),
  ...over,
});
const of = (health: readonly HealthFinding[], over: Partial<WorkloadView> = {}) =>
  replacements(workload('w', { health, ...over }));
const done = (health: readonly HealthFinding[], over: Partial<WorkloadView> = {}) =>
  of(health, over).map(({ action, target, subject }) => `${action} ${target} for ${subject}`);

describe('a lost resource', () => {
  it('is replaced, each by itself, in the order of their names', () => {
    expect(done([lost('b'), lost('a'), lost('b')])).toEqual(['Replace a for a', 'Replace b for b']);
    expect(done([])).toEqual([]);
    expect(done(undefined as never)).toEqual([]);
  });

  it('is so by a fatal finding only, and where its owner allows it', () => {
    expect(done([lost('a', { severity: 'warning' })])).toEqual([]);
    expect(done([lost('a')], { isProtected: true })).toEqual([]);
  });

  it('gets a spare, as long as there are any', () => {
    expect(done([lost('b'), lost('a')], { spares: ['s1'] })).toEqual(['Start s1 for a', 'Replace b for b']);
    expect(done([lost('b'), lost('a')], { spares: ['s1', 's2', 's3'] })).toEqual(['Start s1 for a', 'Start s2 for b']);
  });

  it('is not ended where it is only silent', () => {
    const silent = lost('a', { onlySilent: true });
    expect(done([silent])).toEqual([]);
    expect(done([silent, lost('a')])).toEqual(['Replace a for a']);
    expect(done([silent], { spares: ['s1'] })).toEqual(['Start s1 for a']);
  });
});

describe('the proposal', () => {
  it('counts the cards, and says of what kind the loss is', () => {
    const health = [lost('a', { gpu: 'g1' }), lost('a', { gpu: 'g1', title: 'XID 79' }), lost('a', { gpu: 'g2' })];
    const [made] = of(health, { gpusPerReplica: null });
    expect(made).toMatchObject({
      computation: { gpusLost: 2, gpusPerReplica: 'not known' },
      change: { group: 'w' },
      title:
        'Replace a of w: gone: its exporter answers and no longer names it; XID 79; gone: its exporter answers and no longer names it',
      protective: true,
      restartNeeded: true,
      rollbackPossible: false,
    });
    expect(made?.evidence.map(({ what }) => what.slice(0, 4))).toEqual(['g1: ', 'g1: ', 'g2: ']);
    const machine = lost('a', { ofMachine: true });
    expect(of([machine])[0]?.change).toEqual({ group: 'w', lost: 'machine' });
    expect(of([machine, lost('a')])[0]?.change).toEqual({ group: 'w' });
  });

  it('of a spare says what it stands for', () => {
    expect(of([lost('a')], { spares: ['s1'] })[0]).toMatchObject({
      change: { replicas: 1, replaces: 'a', group: 'w' },
      restartNeeded: false,
      rollbackPossible: true,
      computation: { gpusPerReplica: 1 },
    });
  });
});
