/**
 * An organisation's settings of alerts: routes and mutes. It notifies nobody.
 */
import { randomBytes } from 'node:crypto';
import type { AlertKind, Severity } from '../../core/alert/alert.js';
import type { AlertRoutes, Mute } from '../../core/alert/routes.js';
import { missing } from '../../core/errors.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { OrganisationStore } from '../access/organisation.js';

const ROUTES = 'alert-routes';

export type NewMute = Omit<Mute, 'id'>;

export class AlertSettings {
  constructor(private readonly organisations: OrganisationStore) {}

  /** Null: there is none, and the default holds. */
  async routes(db: Queryable, organisation: string): Promise<AlertRoutes | null> {
    const found = await this.organisations.setting<AlertRoutes>(db, organisation, ROUTES);
    return found === null || found.routes.length === 0 ? null : found;
  }

  /** None is the default, never silence: a list that lacks everything would send every alert nowhere. */
  async saveRoutes(tx: Queryable, organisation: string, routes: AlertRoutes): Promise<void> {
    await this.organisations.saveSetting(tx, organisation, ROUTES, routes);
  }

  /** Those that hold at an instant, or all that were made. */
  async mutes(db: Queryable, organisation: string, at: number | null = null): Promise<Mute[]> {
    const rows = await db.query<Omit<Mute, 'until'> & { until: Date }>(
      `select id, team, kind, thread, up_to as "upTo", until, reason, made_by as by from alert_mute where organisation = $1 and ($2::timestamptz is null or until > $2) order by id`,
      [organisation, at === null ? null : formatInstant(at)],
    );
    return rows.map(({ until, ...row }) => ({ ...row, until: until.toISOString() }));
  }

  async mute(
    tx: Queryable,
    organisation: string,
    { team, kind, thread, upTo, until, reason, by }: NewMute,
    now: number,
  ): Promise<Mute> {
    const id = `mute-${randomBytes(8).toString('hex')}`;
    await tx.query(
      `insert into alert_mute (organisation, id, team, kind, thread, up_to, until, reason, made_by, made_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [organisation, id, team, kind, thread, upTo, until, reason, by, formatInstant(now)],
    );
    return { id, team, kind, thread, upTo, until, reason, by };
  }

  /** @throws Failure missing. */
  async knownMute(db: Queryable, organisation: string, id: string): Promise<Mute> {
    const [row] = await db.query<{
      team: string | null;
      kind: AlertKind | null;
      thread: string | null;
      upTo: Severity | null;
      until: Date;
      reason: string;
      by: string;
    }>(
      `select team, kind, thread, up_to as "upTo", until, reason, made_by as by from alert_mute where organisation = $1 and id = $2`,
      [organisation, id],
    );
    if (row === undefined) throw missing(`mute ${id} does not exist`);
    return { id, ...row, until: row.until.toISOString() };
  }

  async unmute(tx: Queryable, organisation: string, id: string): Promise<void> {
    await tx.query(`delete from alert_mute where organisation = $1 and id = $2`, [organisation, id]);
  }
}
