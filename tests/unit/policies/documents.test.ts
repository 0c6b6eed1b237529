/** Policy documents: read with every problem named, resolved by the written order. */
import { describe, expect, it } from 'vitest';
import {
  checkPolicyDocument,
  defaultDocuments,
  fingerprintOf,
  readPolicyDocument,
  type PolicyDocument,
} from '../../../src/core/policy/document.js';
import { compare, decide, resolve, type Candidate } from '../../../src/core/policy/decision.js';
import { viewOf, type Policy, type Proposal } from '../../../src/core/policy/policy.js';
import type { RecommendedAction } from '../../../src/core/policy/recommendation.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const GOOD = {
  name: 'brake',
  policy: 'budget-brake',
  teams: ['research'],
  mode: 'approve',
  params: { restartHours: 0.5 },
  priority: 3,
};

describe('a policy document', () => {
  it('is read with the defaults of its policy filled in', () => {
    const document = readPolicyDocument(GOOD, policies);
    expect(document).toMatchObject({
      name: 'brake',
      teams: ['research'],
      mode: 'approve',
      priority: 3,
      params: { restartHours: 0.5, historyDays: 14 },
    });
    expect(readPolicyDocument({ ...GOOD, params: undefined, priority: undefined, teams: '*' }, policies)).toMatchObject(
      { priority: 0, teams: '*', params: { restartHours: 0.2 } },
    );
  });

  it('names every problem of every field at once', () => {
    const { document, problems } = checkPolicyDocument(
      {
        name: 'a b',
        policy: 'idle-stop',
        teams: ['x', 'x', ' y', 3],
        mode: 'dictate',
        params: { restartMinutes: -1, colour: 'red' },
        priority: 1.5,
        owner: 'me',
      },
      policies,
    );
    expect(document).toBeNull();
    expect(problems.map(({ path }) => path).sort()).toEqual([
      'mode',
      'name',
      'owner',
      'params',
      'params/restartMinutes',
      'priority',
      'teams/1',
      'teams/2',
      'teams/3',
    ]);
    expect(() => readPolicyDocument({ ...GOOD, policy: 'guess' }, policies)).toThrow('1 problem(s)');
  });

  it.each([[null], [[]], ['text'], [7], [undefined]])('refuses %j', (value) => {
    expect(checkPolicyDocument(value, policies)).toMatchObject({ document: null, problems: [{ path: null }] });
  });

  it('names problems deep in the parameters by their place', () => {
    const { problems } = checkPolicyDocument(
      { ...GOOD, policy: 'schedule', params: { windows: [{ from: '25:00' }, { from: '09:00', to: '09:00' }] } },
      policies,
    );
    expect(problems.map(({ path }) => path)).toContain('params/windows/0/from');
    const zone = checkPolicyDocument(
      {
        ...GOOD,
        policy: 'schedule',
        params: { windows: [{ from: '09:00', to: '09:00' }], otherwise: { minReplicas: 3, maxReplicas: 1 } },
      },
      policies,
    );
    expect(zone.problems.map(({ path }) => path)).toEqual(['params/windows/0/to', 'params/otherwise/maxReplicas']);
  });

  it('runs idle-stop and reserve-baseline for everybody where there is none', () => {
    expect(defaultDocuments(policies).map(({ name, teams, mode }) => ({ name, teams, mode }))).toEqual([
      { name: 'idle-stop', teams: '*', mode: 'recommend' },
      { name: 'reserve-baseline', teams: '*', mode: 'recommend' },
    ]);
  });

  it('has one fingerprint for the same parameters in any order, and another for others', () => {
    const of = (params: Record<string, unknown>, version = 1): string =>
      fingerprintOf({ policy: 'p', params }, version);
    expect(of({ a: 1, b: { c: [2], d: 3 } })).toBe(of({ b: { d: 3, c: [2] }, a: 1 }));
    expect(new Set([of({ a: 1 }), of({ a: 2 }), of({ a: 1 }, 2)]).size).toBe(3);
  });
});

const proposal = (action: RecommendedAction, mean: bigint | null, over: Partial<Proposal> = {}): Proposal => ({
  action,
  target: 't',
  title: '',
  monthlySavings: mean === null ? null : { mean, low: mean, high: mean },
  monthlyCost: 1000n,
  computation: {},
  evidence: [],
  risk: { interruption: 'None', note: '' },
  restartNeeded: false,
  implementationEffort: 'Low',
  rollbackPossible: true,
  validDays: 1,
  ...over,
});
/** A policy that always proposes the same. */
const saying = (name: string, ...proposals: Proposal[]): Policy => ({
  ...policies[0]!,
  name,
  params: policies.find((one) => one.name === 'lease')!.params,
  evaluate: () => proposals,
  examples: [],
});
const documentOf = (policy: Policy, over: Partial<PolicyDocument> = {}): PolicyDocument => ({
  name: policy.name,
  policy: policy.name,
  teams: '*',
  mode: 'recommend',
  params: {},
  priority: 0,
  ...over,
});
const candidate = (policy: Policy, one: Proposal, over: Partial<PolicyDocument> = {}): Candidate => ({
  policy,
  document: documentOf(policy, over),
  proposal: one,
});
const VIEW = viewOf({ team: 'research', asOf: 1_793_491_200_000, currency: 'USD' });

describe('the order of conflicts', () => {
  it('is: the action, then the priority, then the larger known saving, then the name', () => {
    const order: RecommendedAction[] = [
      'Stop',
      'Replace',
      'Keep',
      'ScaleIn',
      'MoveToSpot',
      'Rightsize',
      'ScaleOut',
      'PurchaseReservedInstances',
      'RefuseLaunches',
      'Notify',
    ];
    const [a, b] = [saying('a'), saying('b')];
    order.slice(1).forEach((action, at) => {
      expect(
        compare(candidate(b, proposal(order[at]!, 1n)), candidate(a, proposal(action, 9n), { priority: 9 })),
      ).toMatchObject({ order: -1, because: 'action' });
    });
    expect(
      compare(candidate(b, proposal('Stop', 1n), { priority: 2 }), candidate(a, proposal('Stop', 9n), { priority: 1 })),
    ).toMatchObject({ order: -1, because: 'priority' });
    expect(compare(candidate(b, proposal('Stop', 9n)), candidate(a, proposal('Stop', 1n)))).toMatchObject({
      order: -1,
      because: 'saving',
    });
    expect(compare(candidate(b, proposal('Stop', -9n)), candidate(a, proposal('Stop', null)))).toMatchObject({
      order: -1,
      because: 'saving',
    });
    expect(compare(candidate(a, proposal('Stop', 1n)), candidate(b, proposal('Stop', 1n)))).toMatchObject({
      order: -1,
      because: 'name',
    });
  });

  it('does not depend on the order of the documents', () => {
    const all = [
      candidate(saying('a'), proposal('ScaleOut', 5n)),
      candidate(saying('b'), proposal('Stop', 1n)),
      candidate(saying('c'), proposal('Rightsize', null)),
      candidate(saying('d'), proposal('Stop', 2n)),
    ];
    for (const each of [all, [...all].reverse(), [all[2]!, all[0]!, all[3]!, all[1]!]]) {
      expect(resolve(each).winners.map(({ policy }) => policy.name)).toEqual(['d']);
    }
  });

  it('leaves one winner per subject, and keeps the losers on it', () => {
    const spot = saying('spot', proposal('MoveToSpot', 3n, { target: 'AWS/x' }));
    const reserve = saying(
      'reserve',
      proposal('PurchaseReservedInstances', 9n, { target: 'AWS/x/1y', subject: 'AWS/x' }),
      proposal('PurchaseReservedInstances', 1n, { target: 'AWS/y/1y', subject: 'AWS/y' }),
    );
    const decisions = decide(
      VIEW,
      [documentOf(reserve), documentOf(spot, { mode: 'enforce', name: 'night' })],
      [spot, reserve],
    );
    expect(
      decisions.map(({ status, recommendation: { action, target, document, mode } }) => ({
        status,
        action,
        target,
        document,
        mode,
      })),
    ).toEqual([
      {
        status: 'open',
        action: 'PurchaseReservedInstances',
        target: 'AWS/y/1y',
        document: 'reserve',
        mode: 'recommend',
      },
      { status: 'open', action: 'MoveToSpot', target: 'AWS/x', document: 'night', mode: 'enforce' },
    ]);
    expect(decisions[1]?.recommendation.insteadOf).toEqual([
      {
        document: 'reserve',
        policy: 'reserve',
        action: 'PurchaseReservedInstances',
        target: 'AWS/x/1y',
        estimatedMonthlySavings: '0.00',
        because: 'action',
      },
    ]);
    expect(decisions[0]?.recommendation.insteadOf).toEqual([]);
  });

  it('keeps all that one document proposes for a subject', () => {
    const reserve = saying(
      'reserve',
      proposal('PurchaseReservedInstances', 9n, { target: 'x/1y', subject: 'x' }),
      proposal('PurchaseReservedInstances', 1n, { target: 'x/3y', subject: 'x' }),
    );
    expect(decide(VIEW, [documentOf(reserve)], [reserve]).map(({ recommendation }) => recommendation.target)).toEqual([
      'x/1y',
      'x/3y',
    ]);
  });

  it('lets nobody resize what is kept, and says so only where somebody wanted to', () => {
    const keep = saying('keep', proposal('Keep', null, { protective: true }));
    const shrink = saying('shrink', proposal('Rightsize', 5n));
    const stop = saying('stop', proposal('Stop', 1n));
    const actions = (...all: Policy[]): string[] =>
      decide(
        VIEW,
        all.map((one) => documentOf(one)),
        all,
      ).map(({ recommendation }) => recommendation.action);
    expect(actions(keep)).toEqual([]);
    expect(actions(keep, shrink)).toEqual(['Keep']);
    expect(actions(keep, shrink, stop)).toEqual(['Stop']);
  });

  it('leaves out what is known to save nothing, keeps what is unknown and what protects', () => {
    const all = saying(
      'all',
      proposal('Stop', 0n, { target: 'zero' }),
      proposal('Stop', -1n, { target: 'costs' }),
      proposal('Stop', null, { target: 'unknown' }),
      proposal('ScaleOut', -20_000_000n, { target: 'protects', protective: true }),
    );
    expect(
      decide(VIEW, [documentOf(all)], [all]).map(({ recommendation }) => [
        recommendation.target,
        recommendation.estimatedMonthlySavings,
      ]),
    ).toEqual([
      ['unknown', null],
      ['protects', '-0.02'],
    ]);
  });

  it('observes without competing, and asks only the documents of the team', () => {
    const watched = saying('watched', proposal('Stop', 9n));
    const real = saying('real', proposal('Rightsize', 1n));
    const documents = [
      documentOf(watched, { mode: 'observe' }),
      documentOf(real),
      documentOf(watched, { name: 'others', teams: ['vision'] }),
    ];
    expect(
      decide(VIEW, documents, [watched, real]).map(({ status, recommendation }) => [
        status,
        recommendation.policy,
        recommendation.insteadOf.length,
      ]),
    ).toEqual([
      ['open', 'real', 0],
      ['observed', 'watched', 0],
    ]);
  });
});
