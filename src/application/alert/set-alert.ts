/**
 * People's decisions about alerts other than routes: acknowledging one, and muting some for a while. Every entry point
 * uses these functions, so all do the same.
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
 * Acknowledges an alert, so that it is not escalated. @throws Failure conflict if it asks for a decision or waits for
 * no answer.
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
        : `alert ${id} does not wait for an answer`,
    );
  await enqueue(tx, organisation, workItems);
  return alerts.knownAlert(tx, organisation, id);
}

/**
 * Alerts during that time are kept but not sent, not even later. @throws Failure invalid if `until` is not in the
 * future.
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
    throw invalid('the mute has 1 problem(s)', [{ path: 'until', message: 'is not in the future' }]);
  return alertSettings.mute(tx, organisation, { ...wish, until: formatInstant(until) }, now);
}
