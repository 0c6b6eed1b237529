import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { compare, decide, type Candidate } from '../../../src/core/policy/decision.js';
import type { PolicyDocument } from '../../../src/core/policy/document.js';
import type { OwnEnd, Policy, PolicyView, Proposal, ObservedTarget } from '../../../src/core/policy/policy.js';
import type { RecommendedAction } from '../../../src/core/policy/recommendation.js';
import { exampleView } from '../../../src/policies/estimating/examples.js';

const GROUP: ObservedTarget = { target: 'asg/us-east-1/web', state: 'running', group: null };
const MEMBER: ObservedTarget = { target: 'instance/us-east-1/i-1', state: 'running', group: GROUP.target };
const STOPPED: ObservedTarget = { target: 'instance/us-east-1/i-2', state: 'stopped', group: null };
const observedTargets = {
  [GROUP.target]: GROUP,
  web: GROUP,
  [MEMBER.target]: MEMBER,
  'i-1': MEMBER,
  [STOPPED.target]: STOPPED,
  'i-2': STOPPED,
};

const proposal = (action: RecommendedAction, target: string): Proposal => ({
  action,
  target,
  title: `${action} ${target}`,
  monthlySavings: null,
  monthlyCost: null,
  computation: {},
  evidence: [],
  risk: { interruption: 'Low', note: '' },
  restartNeeded: false,
  implementationEffort: 'Low',
  rollbackPossible: true,
  validDays: 1,
});

/** A policy of each name that proposes what is given, each with a document in mode approve. */
function decided(wants: Readonly<Record<string, readonly Proposal[]>>, over: Partial<PolicyView> = {}) {
  const policies = Object.entries(wants).map(
    ([name, all]): Policy => ({
      name,
      version: 1,
      description: '',
      params: z.unknown(),
      evaluate: () => all,
      examples: [],
    }),
  );
  const view = exampleView({ observedTargets, ...over });
  const documents = policies.map(
    ({ name }): PolicyDocument => ({
      name,
      policy: name,
      teams: [view.team],
      mode: 'approve',
      priority: 0,
      params: {},
    }),
  );
  return decide(view, documents, policies).map(({ recommendation: { action, target, insteadOf } }) => ({
    does: `${action} ${target}`,
    insteadOf: insteadOf.map((one) => `${one.action} ${one.target} (${one.because})`),
  }));
}

describe('a group and one of its machines', () => {
  it.each([
    ['of two policies', { a: [proposal('Stop', 'i-1')], b: [proposal('ScaleIn', 'asg/us-east-1/web')] }],
    ['of one policy', { a: [proposal('Stop', 'i-1'), proposal('ScaleIn', 'asg/us-east-1/web')] }],
  ])('%s are not both changed: the group stands for it', (_, wants) => {
    expect(decided(wants)).toEqual([{ does: 'ScaleIn asg/us-east-1/web', insteadOf: ['Stop i-1 (group)'] }]);
  });

  it('by other names that they have', () => {
    expect(decided({ a: [proposal('Rightsize', MEMBER.target)], b: [proposal('ScaleIn', 'web')] })).toEqual([
      { does: 'ScaleIn web', insteadOf: [`Rightsize ${MEMBER.target} (group)`] },
    ]);
  });

  it('that has lost a GPU: it is replaced, and the group waits', () => {
    expect(decided({ a: [proposal('Replace', 'i-1')], b: [proposal('ScaleIn', 'web')] })).toEqual([
      { does: 'Replace i-1', insteadOf: ['ScaleIn web (group)'] },
    ]);
  });

  it('are both told of what changes nothing', () => {
    expect(decided({ a: [proposal('Notify', 'i-1')], b: [proposal('ScaleIn', 'web')] })).toHaveLength(2);
  });
});

it('what stands still is not stopped again, whatever goes on telling of it, and may be released', () => {
  expect(decided({ a: [proposal('Stop', 'i-2'), proposal('Stop', STOPPED.target)], b: [] })).toEqual([]);
  expect(decided({ a: [proposal('Release', 'i-2')] })).toHaveLength(1);
});

describe('what an action ends', () => {
  const end: OwnEnd = { action: 'act-1', policy: 'a', document: 'a', kind: 'replace', isOver: false };
  const wants = { a: [proposal('Replace', 'i-1')], b: [proposal('Stop', 'i-1')], c: [proposal('Replace', 'i-3')] };
  const does = (ended: OwnEnd): string[] => decided(wants, { ownEnds: { 'i-1': ended } }).map((one) => one.does);
  it('is asked for by the policy of that action alone while it is under way', () =>
    expect(does(end)).toEqual(['Replace i-1', 'Replace i-3']));
  it('is asked for by none where a person wanted it, or it is over', () => {
    expect(does({ ...end, policy: null, document: null })).toEqual(['Replace i-3']);
    expect(does({ ...end, isOver: true })).toEqual(['Replace i-3']);
  });
});

describe('of two that want the same target', () => {
  const saves = (mean: bigint | null) => (mean === null ? null : { mean, low: mean, high: mean });
  const candidate = (
    name: string,
    mean: bigint | null,
    priority = 0,
    action: RecommendedAction = 'Stop',
  ): Candidate => ({
    document: { name, policy: name, teams: '*', mode: 'approve', priority, params: {} },
    policy: { name, version: 1, description: '', params: z.unknown(), evaluate: () => [], examples: [] },
    proposal: { ...proposal(action, 'i-1'), monthlySavings: saves(mean) },
  });
  const first = (a: Candidate, b: Candidate): string => {
    const [there, back] = [compare(a, b), compare(b, a)];
    expect(back.because).toBe(there.because);
    expect(Math.sign(back.order)).toBe(-Math.sign(there.order) || 0);
    return `${(there.order < 0 ? a : b).document.name} by ${there.because}`;
  };

  it('the higher priority wins, then the larger saving, then the name', () => {
    expect(first(candidate('a', 9n), candidate('b', 1n, 1))).toBe('b by priority');
    expect(first(candidate('a', 1n), candidate('b', 9n))).toBe('b by saving');
    expect(first(candidate('b', 9n), candidate('a', 9n))).toBe('a by name');
    expect(first(candidate('b', null), candidate('a', null))).toBe('a by name');
  });

  it('a saving that nobody knows loses against any, a loss too', () => {
    expect(first(candidate('a', null), candidate('b', -5n))).toBe('b by saving');
    expect(first(candidate('a', null), candidate('b', 0n))).toBe('b by saving');
  });

  it('neither wins where they are the same', () => {
    expect(compare(candidate('a', 1n), candidate('a', 1n))).toEqual({ order: 0, because: 'name' });
  });
});
