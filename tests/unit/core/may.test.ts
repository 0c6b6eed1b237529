/** What somebody may decide about an action or a recommendation: the same rules as the decisions themselves have. */
import { describe, expect, it } from 'vitest';
import { mayDecide, mayDecideRecommendation } from '../../../src/core/action/may.js';
import { instance } from '../../support/memory-cloud.js';

const action = {
  state: 'proposed',
  expiresAt: 100,
  askedAt: null,
  rollbackOf: null,
  takenBackBy: null,
  effect: { kind: 'stop', target: 'instance/i-1' },
  before: null,
  connection: 'aws',
} as unknown as Parameters<typeof mayDecide>[0];
const codes = (over: object, scopes: Parameters<typeof mayDecide>[1] = ['approve'], now = 50): (string | null)[] => {
  const may = mayDecide({ ...action, ...over }, scopes, now);
  return [may.approve, may.reject, may.rollback].map((one) => one?.code ?? null);
};

describe('of an action', () => {
  it('goes by its state, its end and what the provider was asked', () => {
    const done = { state: 'confirmed', askedAt: 60, before: instance('i-1') };
    expect([
      codes({}),
      codes({}, ['approve'], 100),
      codes({ state: 'approved' }),
      codes({ state: 'intended', askedAt: 60 }),
      codes({ state: 'refused' }),
      codes(done),
      codes({ ...done, before: null }),
      codes({ ...done, rollbackOf: 'act-1' }),
      codes({ ...done, takenBackBy: 'act-2' }),
    ]).toEqual([
      [null, null, 'nothing'],
      ['expired', null, 'nothing'],
      ['state', null, 'nothing'],
      ['state', 'asked', 'nothing'],
      ['state', 'state', 'nothing'],
      ['state', 'asked', null],
      ['state', 'asked', 'no-inverse'],
      ['state', 'asked', 'rollback'],
      ['state', 'asked', 'taken-back'],
    ]);
  });

  it('needs the scope approve before anything else', () => {
    expect(codes({}, ['read'])).toEqual(['scope', 'scope', 'scope']);
    expect(mayDecide(action, ['read'], 50).approve?.message).toContain('operator');
  });
});

describe('of a recommendation', () => {
  it('goes by its status and its end', () => {
    const of = (status: string, now: number, scopes: Parameters<typeof mayDecide>[1] = ['approve']): unknown =>
      mayDecideRecommendation({ status, expiresAt: '2026-11-18T12:00:00Z' }, scopes, now).approve?.code ?? null;
    const end = Date.UTC(2026, 10, 18, 12);
    expect([of('open', end - 1), of('open', end), of('rejected', 0), of('open', 0, [])]).toEqual([
      null,
      'expired',
      'state',
      'scope',
    ]);
  });
});
