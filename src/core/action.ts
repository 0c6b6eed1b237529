/**
 * An action: one effect on one target, from the proposal to the measured saving, as a table of states and what may follow each.
 *
 * Pure: it says what may happen, never does it. The invariants: a target has at most one live action; nothing reaches a provider before
 * `intended` is committed with its token; an unknown outcome is asked for, never repeated blindly; a final state is left by nothing.
 */
import type { Effect } from './fleet.js';
import type { PolicyMode } from './recommendation.js';

export const ACTION_STATES = [
  'proposed', 'approved', 'intended', 'applied', 'confirmed', 'measured', 'refused', 'failed', 'rolled-back', 'expired',
] as const;
export type ActionState = (typeof ACTION_STATES)[number];

/**
 * What may follow each state. `applied`: the provider has taken the effect; `confirmed`: its own state shows it (and, after a stop, billing
 * has ended); `measured`: its saving is in the ledger. A rollback is an action of its own, and ends this one when it is confirmed.
 */
export const NEXT: Readonly<Record<ActionState, readonly ActionState[]>> = {
  proposed: ['approved', 'refused', 'expired'],
  approved: ['intended', 'refused', 'expired'],
  intended: ['applied', 'refused', 'failed'],
  applied: ['confirmed', 'failed', 'rolled-back'],
  confirmed: ['measured', 'rolled-back'],
  measured: ['rolled-back'],
  refused: [],
  failed: [],
  'rolled-back': [],
  expired: [],
};

/** States in which an action keeps others off its target. */
export const LIVE_STATES: readonly ActionState[] = ['approved', 'intended', 'applied'];

export const mayFollow = (from: ActionState, to: ActionState): boolean => NEXT[from].includes(to);

export interface Action {
  readonly id: string;
  readonly team: string;
  /** Name of the provider connection (`aws`, `kubernetes`, ...). */
  readonly connection: string;
  readonly target: string;
  readonly effect: Effect;
  readonly state: ActionState;
  readonly mode: PolicyMode;
  /** The recommendation, policy and document behind it; null: a person asked for it. */
  readonly recommendation: string | null;
  readonly policy: string | null;
  readonly document: string | null;
  /** The action that this one takes back; null: it is not a rollback. */
  readonly rollbackOf: string | null;
  /** Idempotency token that goes to the provider; made when it is intended. */
  readonly token: string | null;
  readonly proposedBy: string;
  readonly approvedBy: string | null;
  /** Epoch milliseconds. */
  readonly proposedAt: number;
  readonly expiresAt: number;
}
