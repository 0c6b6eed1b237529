/**
 * What people decide about alerts apart from where they go: taking one on, muting some for a while. for every entry
 * point, so that they do the same.
 */
import type { Alert } from '../../core/alert/alert.js';
import type { Mute } from '../../core/alert/routes.js';
import { conflict, invalid } from '../../core/errors.js';
import { formatInstant, parseInstant } from '../../core/time.js';
import type { NewMute } from '../../store/alert/settings.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';
import { enqueue } from '../../store/work.js';

type Needs = Pick<Stores, 'alertSettings' | 'alerts'>;

/**
 * Somebody takes an alert on: it goes no further. @throws Failure conflict where it asks for a decision or waits for no
 * answer.
 */
export async function acknowledgeAlert(
  { alerts }: Needs,
  tx: Transaction,
  organisation: string,
  { id, kind }: Pick<Alert, 'id' | 'kind'>,
  by: string,
  now: number,
): Promise<Alert> {
  const workItems =
    kind === 'approval'
      ? null
      : await alerts.answer(tx, organisation, { id }, { what: 'acknowledged', by, at: formatInstant(now) });
  if (workItems === null)
    throw conflict(
      kind === 'approval'
        ? `alert ${id} asks for a decision: approve or reject its action`
        : `alert ${id} waits for no answer`,
    );
  await enqueue(tx, organisation, workItems);
  return alerts.knownAlert(tx, organisation, id);
}

/**
 * What is made meanwhile is kept and not told, also not later. @throws Failure invalid where `until` is no instant to
 * come.
 */
export async function muteAlerts(
  { alertSettings }: Needs,
  tx: Transaction,
  organisation: string,
  wish: NewMute,
  now: number,
): Promise<Mute> {
  const until = parseInstant(wish.until);
  if (until === null || until <= now)
    throw invalid('the mute has 1 problem(s)', [{ path: 'until', message: 'is not an instant to come' }]);
  return alertSettings.mute(tx, organisation, { ...wish, until: formatInstant(until) }, now);
}
