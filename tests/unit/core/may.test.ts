/** What somebody may decide about an action or a recommendation: the same rules as the decisions themselves have. */
import { describe, expect, it } from 'vitest';
import { halfDoneReason } from '../../../src/core/action/action.js';
import { mayDecide, mayDecideRecommendation } from '../../../src/core/action/may.js';
import { inChinese } from '../../../src/core/report/reworded.js';
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
  reasons: [],
} as unknown as Parameters<typeof mayDecide>[0];
const codes = (
  over: object,
  scopes: Parameters<typeof mayDecide>[1] = ['approve'],
  now = 50,
  stops: Parameters<typeof mayDecide>[3] = [],
): (string | null)[] => {
  const may = mayDecide({ ...action, ...over }, scopes, now, stops);
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
      codes({ ...done, state: 'failed' }),
      codes({ ...done, state: 'failed', reasons: [halfDoneReason('i-2 runs beside it')] }),
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
      ['state', 'state', 'nothing'],
      ['state', 'state', 'no-inverse'],
    ]);
  });

  it('needs the scope approve for what anybody may, and for nothing else', () => {
    expect(codes({}, ['read'])).toEqual(['scope', 'scope', 'nothing']);
    expect(codes({ state: 'refused' }, ['read'])).toEqual(['state', 'state', 'nothing']);
    const approved = { status: 'approved', expiresAt: '2026-11-18T12:00:00Z' };
    expect(mayDecideRecommendation(approved, ['read'], 50, []).approve?.code).toBe('state');
    expect(mayDecide(action, ['read'], 50, []).approve?.message).toContain('operator');
  });
});

describe('under the kill switch', () => {
  const all = { scope: 'all', name: '', setAt: '2026-11-18T12:00:00.000Z', setBy: 'key:1 (on call)' } as const;
  const lab = { ...all, scope: 'team', name: 'lab' } as const;

  it('nothing is approved or rolled back, but everything can be rejected; another reason comes first', () => {
    const done = { state: 'confirmed', before: instance('i-1') };
    expect([
      codes({}, ['approve'], 50, [lab]),
      codes(done, ['approve'], 50, [lab]),
      codes({}, ['read'], 50, [lab]),
    ]).toEqual([
      ['stopped', null, 'nothing'],
      ['state', 'asked', 'stopped'],
      ['scope', 'scope', 'nothing'],
    ]);
    const open = { status: 'open', expiresAt: '2026-11-18T12:00:00Z' };
    expect(mayDecideRecommendation(open, ['approve'], 50, [lab])).toMatchObject({
      approve: { code: 'stopped' },
      reject: null,
    });
  });

  it('says for what, since when and by whom, of several the widest; in Chinese too', () => {
    const said = mayDecide(action, ['approve'], 50, [all, lab]).approve?.message ?? '';
    expect(said).toBe('the kill switch is on for everything, since 2026-11-18 12:00 UTC, set by on call');
    expect(inChinese(said)).toBe('紧急停止已开启：全部，自 2026-11-18 12:00 UTC 起，由 on call 设置');
    const back = mayDecide({ ...action, state: 'applied', before: instance('i-1') }, ['approve'], 50, [lab]).rollback;
    expect(back?.message).toMatch(/^the kill switch is on for the team lab, since .* --under-stop works/);
    expect(inChinese(back?.message ?? '')).not.toMatch(/since|works/);
  });
});

describe('of a recommendation', () => {
  it('goes by its status and its end', () => {
    const of = (status: string, now: number, scopes: Parameters<typeof mayDecide>[1] = ['approve']): unknown =>
      mayDecideRecommendation({ status, expiresAt: '2026-11-18T12:00:00Z' }, scopes, now, []).approve?.code ?? null;
    const end = Date.UTC(2026, 10, 18, 12);
    expect([of('open', end - 1), of('open', end), of('rejected', 0), of('open', 0, [])]).toEqual([
      null,
      'expired',
      'state',
      'scope',
    ]);
  });
});
