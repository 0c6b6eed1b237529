/**
 * Several documents over one group that each follow a load: the one that wants most decides, and replicas are taken away
 * only where all agree, as Kubernetes' autoscaler does with several metrics.
 */
import { describe, expect, it } from 'vitest';
import { decide, heldSizes } from '../../../src/core/policy/decision.js';
import type { PolicyDocument } from '../../../src/core/policy/document.js';
import type { Policy, WorkloadView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView, minutes, steady, workload } from '../../../src/policies/estimating/examples.js';
import { policy as brake } from '../../../src/policies/budget-brake.js';
import { policy as steps } from '../../../src/policies/step-scaling.js';
import { policy as tracking } from '../../../src/policies/target-tracking.js';

const policies = [tracking, steps, brake] as unknown as readonly Policy[];

const document = (
  name: string,
  policy: string,
  params: unknown,
  over: Partial<PolicyDocument> = {},
): PolicyDocument => ({
  name,
  policy,
  teams: '*',
  mode: 'enforce',
  priority: 0,
  params: policies.find((one) => one.name === policy)!.params.parse(params) as PolicyDocument['params'],
  ...over,
});
const cpu = document('cpu', 'target-tracking', { target: { metric: 'cpu_utilisation_ratio', value: 0.5 } });
const seventy = document('seventy', 'target-tracking', { target: { value: 0.7 } }, { priority: 50 });

const group = (gpuUse: readonly (number | null)[] | null, cpuUse: readonly (number | null)[] | null): WorkloadView =>
  workload('asg/serve', {
    fleet: { ready: 4, booting: 0, minReplicas: 1, maxReplicas: 10, changedAt: AS_OF - 3_600_000 },
    metrics: {
      ...(gpuUse === null ? {} : { gpu_utilisation_ratio: minutes(gpuUse), memory_used_ratio: minutes(gpuUse) }),
      ...(cpuUse === null ? {} : { cpu_utilisation_ratio: minutes(cpuUse) }),
    },
  });

const decided = (one: WorkloadView, documents: readonly PolicyDocument[]) =>
  decide(exampleView({ workloads: [one] }), documents, policies).map(({ recommendation, status }) => [
    recommendation.document,
    recommendation.action,
    recommendation.change['replicas'],
    ...recommendation.insteadOf.map((lost) => lost.document),
    ...(status === 'open' ? [] : [status]),
  ]);

const busy = steady(0.9, 10);
const idle = steady(0.1, 10);

describe('two targets for one group', () => {
  it.each<[string, number[] | null, (number | null)[] | null, unknown[]]>([
    ['the one that asks for more decides, whatever the priorities', idle, busy, [['cpu', 'ScaleOut', 8, 'seventy']]],
    ['of two that ask for more the one that wants most', busy, busy, [['cpu', 'ScaleOut', 8, 'seventy']]],
    ['of two that ask for fewer the one that keeps most', steady(0.3, 10), idle, [['seventy', 'ScaleIn', 2, 'cpu']]],
    ['one that is as it is wanted holds the size', idle, steady(0.5, 10), []],
    ['one of which a minute is missing holds it', idle, [...steady(0.1, 8), null, 0.1], []],
    ['one that is not measured any more holds it', idle, [...steady(0.1, 5), null, null, null, null, null], []],
    ['one that never was holds nothing', idle, null, [['seventy', 'ScaleIn', 1]]],
  ])('%s', (_, gpuUse, cpuUse, expected) => {
    for (const documents of [
      [cpu, seventy],
      [seventy, cpu],
    ])
      expect(decided(group(gpuUse, cpuUse), documents)).toEqual(expected);
  });

  it('one that only observes holds nothing, and is seen beside', () => {
    expect(decided(group(idle, steady(0.5, 10)), [{ ...cpu, mode: 'observe' }, seventy])).toEqual([
      ['seventy', 'ScaleIn', 1],
    ]);
    expect(decided(group(steady(0.7, 10), idle), [{ ...cpu, mode: 'observe' }, seventy])).toEqual([
      ['cpu', 'ScaleIn', 1, 'observed'],
    ]);
  });

  it('one that only recommends neither outvotes nor holds up one that is carried out', () => {
    const advice: PolicyDocument = { ...cpu, mode: 'recommend', priority: 90 };
    for (const documents of [
      [advice, seventy],
      [seventy, advice],
    ]) {
      expect(decided(group(busy, busy), documents)).toEqual([['seventy', 'ScaleOut', 6, 'cpu']]);
      expect(decided(group(idle, steady(0.5, 10)), documents)).toEqual([['seventy', 'ScaleIn', 1]]);
    }
    expect(decided(group(steady(0.7, 10), busy), [advice, seventy])).toEqual([['cpu', 'ScaleOut', 8]]);
  });

  it('names who holds it', () => {
    const view = exampleView({ workloads: [group(idle, steady(0.5, 10))] });
    expect([...heldSizes(view, [cpu, seventy], policies)]).toEqual([['asg/serve', [cpu]]]);
  });

  it('holds for steps beside a target too', () => {
    const stepped = document('steps', 'step-scaling', {});
    expect(decided(group(idle, busy), [stepped, cpu])).toEqual([['cpu', 'ScaleOut', 8, 'steps']]);
    expect(decided(group(steady(0.5, 10), idle), [stepped, cpu])).toEqual([]);
    expect(decided(group(idle, idle), [stepped, cpu])).toEqual([['steps', 'ScaleIn', 3, 'cpu']]);
  });
});
