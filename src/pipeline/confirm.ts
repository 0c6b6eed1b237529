/**
 * action.confirm (action): reads the target until the provider's own state shows the effect, and after a stop until
 * billing has ended. The reading that shows the effect is kept as the proof. After a scale-in, it waits for the leaving
 * machines as long as the group's own hooks may hold them. If an effect does not show within its limit, this is
 * recorded once and checked every hour from then on; it is never dropped and never assumed. Asks only for readings.
 */
import {
  askAgainAt,
  drainingReasons,
  lackingOf,
  PATIENCE,
  progressOf,
  type Action,
  type Progress,
  type Reason,
} from '../core/action/action.js';
import { spotProof } from '../core/action/spot-proof.js';
import type { FleetTarget } from '../core/fleet/fleet.js';
import type { ProviderConnection } from '../core/ports.js';
import { HOUR_MS } from '../core/time.js';
import { CONFIRM, VERIFY } from '../store/action/actions.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { LINE, type Connections } from './execute.js';
import { reachingStage, type Stage } from './stage.js';

/** @param has whether the line has a stage: only then is it enqueued */
export function confirmStage(
  stores: Pick<Stores, 'db' | 'actions' | 'fleet'>,
  connections: Connections,
  has: (stage: string) => boolean,
): Stage {
  return reachingStage(CONFIRM, async ({ organisation, key, now }) => {
    const found = await stores.actions.get(stores.db, organisation, key);
    if (found === null || found.state !== 'applied' || found.takenBackBy !== null) return async () => [];
    const seen = await observe(found, connections.get(found.connection));
    const observed =
      seen.progress === 'done' || seen.progress === 'leaving'
        ? { ...seen, proves: await provenBy(stores, organisation, found, seen) }
        : seen;
    return (tx) => settle(stores.actions, tx, { organisation, id: key, now, observed, isVerified: has(VERIFY) });
  });
}

interface Observation {
  readonly organisation: string;
  readonly id: string;
  readonly now: number;
  readonly observed: Seen;
  /** A confirmed action is measured. */
  readonly isVerified: boolean;
}

async function settle(
  actions: Stores['actions'],
  tx: Transaction,
  { organisation, id, now, observed, isVerified }: Observation,
): Promise<readonly WorkItem[]> {
  const action = await actions.lock(tx, organisation, id);
  // Meanwhile it may have been taken back.
  if (action === null || action.state !== 'applied' || action.takenBackBy !== null) return [];
  if (observed.progress === 'done' || observed.progress === 'leaving') {
    const draining = observed.progress === 'leaving' ? drainingReasons(observed.seen) : [];
    const { workItems } = await actions.move(tx, organisation, action, 'confirmed', {
      at: now,
      actor: action.connection,
      detail: { billing: observed.seen?.billing ?? null },
      set: {
        after: observed.seen,
        afterAt: now,
        reasons: [...(observed.proves ?? []), ...draining, ...lackingOf(action)],
      },
    });
    return [...workItems, ...(isVerified ? [{ stage: VERIFY, partition: action.team, key: id }] : [])];
  }
  const since = action.appliedAt ?? now;
  if (now - since < PATIENCE.confirmMs) return [confirmLater(action, askAgainAt(since, now))];
  const reason: Reason =
    observed.progress === 'billing'
      ? { code: 'billing-not-ended', message: 'it is stopped but still billed' }
      : { code: 'not-confirmed', message: observed.message };
  if (!action.reasons.some(({ code }) => code === reason.code))
    await note(actions, tx, organisation, action, reason, now);
  return [confirmLater(action, now + HOUR_MS)];
}

const note = (
  actions: Stores['actions'],
  tx: Transaction,
  organisation: string,
  action: Action,
  reason: Reason,
  at: number,
): Promise<Action> =>
  actions.note(tx, organisation, action, {
    at,
    actor: LINE,
    code: reason.code,
    detail: { ...reason },
    set: { reasons: [reason, ...lackingOf(action)] },
  });

interface Seen {
  readonly progress: Exclude<Progress, 'not-observable'>;
  readonly seen: FleetTarget | null;
  readonly message: string;
  /** Further proven facts, in words. */
  readonly proves?: readonly Reason[];
}

/** The machine that replaced the old one; the purchase under its provider's name; the resulting share of spot. */
async function provenBy(
  { db, fleet }: Pick<Stores, 'db' | 'fleet'>,
  organisation: string,
  { connection, effect, target }: Action,
  { seen, message }: Seen,
): Promise<readonly Reason[]> {
  if (effect.kind !== 'set-spot-ratio')
    return message === '' ? [] : [{ code: effect.kind === 'purchase' ? 'bought' : 'successor', message }];
  const members = await fleet.membersOf(db, organisation, connection, target);
  return [{ code: 'spot-share', message: spotProof(effect.spotRatio, seen, members) }];
}

/** The current visibility of the effect. For an effect that no reading shows, the provider is asked by the token. */
async function observe(
  { connection: name, effect, target, token, before }: Action,
  connection: ProviderConnection | undefined,
): Promise<Seen> {
  const waiting = (message: string): Seen => ({ progress: 'waiting', seen: null, message });
  if (connection === undefined) return waiting(`the connection ${name} no longer exists`);
  try {
    const seen = effect.kind === 'purchase' || connection.target === undefined ? null : await connection.target(target);
    const progress = progressOf(effect, seen, before);
    const isReplaced = progress === 'done' && effect.kind === 'replace';
    if (progress !== 'not-observable' && !isReplaced)
      return {
        progress,
        seen,
        message: progress === 'done' || progress === 'leaving' ? '' : `${name} does not show it yet`,
      };
    const outcome = token === null ? undefined : await connection.outcome?.(effect, token);
    // The end of the old machine does not prove that its replacement runs.
    if (outcome?.kind === 'taken' || (isReplaced && outcome === undefined))
      return {
        progress: 'done',
        seen,
        message: isReplaced || effect.kind === 'purchase' ? (outcome?.detail ?? '') : '',
      };
    return waiting(outcome?.kind === 'unknown' ? outcome.detail : `${name} does not say that it was done`);
  } catch (error) {
    return waiting(error instanceof Error ? error.message : 'no reason given');
  }
}

const confirmLater = ({ team, id }: Action, notBefore: number): WorkItem => ({
  stage: CONFIRM,
  partition: team,
  key: id,
  notBefore,
});
