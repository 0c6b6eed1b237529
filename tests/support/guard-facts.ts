/**
 * Facts of the guard that speak against nothing: a stop of an instance of eight GPUs, approved by a backtested policy.
 */
import type { Action } from '../../src/core/action/action.js';
import type { GuardFacts } from '../../src/core/action/guard.js';
import { bindingLimits } from '../../src/core/action/limits.js';
import { instance } from './memory-cloud.js';

export const NOW = Date.UTC(2026, 10, 18, 12);

const ACTION: Action = {
  id: 'act-1',
  team: 'lab',
  connection: 'cloud',
  target: 'instance/i',
  effect: { kind: 'stop', target: 'instance/i' },
  state: 'approved',
  mode: 'enforce',
  recommendation: 'rec-1',
  policy: 'idle-stop',
  document: 'doc',
  rollbackOf: null,
  takenBackBy: null,
  token: null,
  underStop: false,
  proposedBy: 'policy:doc',
  approvedBy: 'policy:doc',
  proposedAt: NOW,
  expiresAt: NOW + 86_400_000,
  evidenceAt: NOW,
  approvedAt: NOW,
  intendedAt: null,
  askedAt: null,
  appliedAt: null,
  confirmedAt: null,
  endedAt: null,
  before: null,
  beforeAt: null,
  after: null,
  afterAt: null,
  reasons: [],
};

export function facts(over: Partial<GuardFacts> = {}, action: Partial<Action> = {}): GuardFacts {
  const none = { actions: 0, gpus: 0, purchasedNanos: 0n };
  return {
    now: NOW,
    action: { ...ACTION, ...action },
    connection: { canAct: true, canRead: true },
    seen: instance('i'),
    seenAt: NOW,
    owner: 'lab',
    isProtected: null,
    limits: bindingLimits({}, {}),
    teamFleet: null,
    promise: null,
    recent: { team: none, organisation: none },
    lastOnTargetAt: null,
    liveOnTarget: null,
    stillEnforces: true,
    gate: { kind: 'backtested' },
    stops: [],
    takesBack: null,
    ...over,
  };
}

export const purchase = (mostNanos: bigint): Partial<Action> => ({
  target: 'AWS/x',
  effect: { kind: 'purchase', target: 'AWS/x', offer: 'o', units: 1, mostNanos, currency: 'USD' },
});
