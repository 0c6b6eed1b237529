/** What idle-stop says of what it leaves alone, and of what it stops: whose rule it was, and what would change it. */
import { describe, expect, it } from 'vitest';
import type { MachineView, Reading, ResourceView, WorkloadView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/idle-stop.js';

const GIVEN = policy.params.parse({});
const MACHINE: MachineView = {
  connection: 'aws',
  kind: 'instance',
  state: 'running',
  term: 'on-demand',
  gpus: 8,
  launchedAt: AS_OF - 86_400_000,
  group: null,
};

/** A machine that has shown the same for twelve hours. */
function resource(reading: Partial<Reading>, over: Partial<ResourceView> = {}): ResourceView {
  const readings = Array.from({ length: 720 }, (_, n) => ({
    at: AS_OF - (719 - n) * 60_000,
    gpuUtilisationRatio: 0,
    memoryUsedRatio: 0,
    requestsPerSecond: null,
    ...reading,
  }));
  const observedFrom = readings[0]!.at;
  const known = { resource: 'i-a', gpus: 8, gpuModel: 'A100-40GB', hourlyNanos: 32_000_000_000n };
  return { ...known, workload: null, observedFrom, readings, machine: MACHINE, ...over };
}

const leftAlone = (one: ResourceView, workloads: readonly WorkloadView[] = []) =>
  policy.explain!(exampleView({ resources: [one], workloads }), GIVEN, 'doc')[0]!.leftAlone;
const titleOf = (one: ResourceView) =>
  policy.evaluate(exampleView({ resources: [one] }), GIVEN, 'doc').map(({ title }) => title);

describe('What works at next to nothing', () => {
  it('is said to count as work while nobody says what it runs, and the label is named that changes it', () => {
    expect(leftAlone(resource({ gpuUtilisationRatio: 0.01 }))).toMatchObject({
      code: 'working',
      message: expect.stringMatching(/^its GPUs work at 1 %: from 0.2 % on is work while its workload is unknown/),
      toAct: expect.stringMatching(
        /^a label .*bursar\.io\/workload-kind.*from 5 % on; or less than 0.2 % for a minute or more/,
      ),
    });
  });

  it('is as it says: the label lets it be judged, and a service is not', () => {
    const training = resource({ gpuUtilisationRatio: 0.01 }, { workload: 'training' });
    expect(titleOf(training)).toHaveLength(1);
    expect(leftAlone(resource({ gpuUtilisationRatio: 0.01 }, { workload: 'inference' }))?.code).toBe('unknown');
  });

  it.each<[string, Partial<Reading>, string | null]>([
    ['a card at 5 %', { gpuUtilisationRatio: 0.05 }, null],
    ['a card at 60 % of a labelled machine', { gpuUtilisationRatio: 0.6 }, 'training'],
    ['requests that are answered', { gpuUtilisationRatio: 0.01, requestsPerSecond: 2 }, null],
  ])('is not what plainly works: %s', (_what, reading, kind) => {
    expect(leftAlone(resource(reading, { workload: kind }))?.message).toBe('its GPUs work');
  });
});

describe('A machine of a group', () => {
  const member = resource({}, { machine: { ...MACHINE, group: 'asg/quiet' } });
  const group = (minReplicas: number) =>
    workload('asg/quiet', { fleet: { ready: 2, booting: 0, minReplicas, maxReplicas: 6, changedAt: null } });

  it('is sent on to what keeps no last machine, where the group may have none', () => {
    expect(leftAlone(member, [group(0)])?.toAct).toMatch(/for the last one, which those keep, a schedule/);
    for (const others of [[group(1)], []])
      expect(leftAlone(member, others)?.toAct).toBe('a policy that scales asg/quiet (target-tracking, step-scaling)');
  });
});

it.each<[Partial<ResourceView>, string]>([
  [{}, 'its 8 x A100-40GB has done'],
  // Parts of cards are not counted as cards.
  [{ gpus: null }, 'its 8 x A100-40GB has done'],
  [{ gpus: null, machine: { ...MACHINE, kind: 'workload', gpus: null } }, 'its A100-40GB GPUs have done'],
  [{ gpus: null, gpuModel: null, machine: { ...MACHINE, kind: 'workload', gpus: null } }, 'its GPUs have done'],
])('a proposal names the cards that are known: %o', (over, said) => {
  expect(titleOf(resource({}, over))[0]).toContain(said);
});
