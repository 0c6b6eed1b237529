/**
 * Lists the sessions and ends them: one's own, or anybody's. The process that ends a session refuses it at once, and
 * every other process within five seconds. Nothing here reveals a session's text, because it is not stored.
 */
import { missing } from '../../core/errors.js';
import { principalText } from '../../core/actor.js';
import type { Database, Queryable } from '../database.js';
import { nameDigest, type AccountNames } from './directory-names.js';
import type { SessionRules } from './sessions.js';

/** The owner of sessions: a key, or an identity provider's user. */
export interface SessionOwner {
  readonly kind: 'key' | 'user';
  readonly id: string;
}

export interface StoredSession {
  readonly id: string;
  /** `key:0a1b2c3d4e5f` or `user:ada`. */
  readonly principal: string;
  readonly name: string;
  readonly startedAt: string;
  /** To the minute. */
  readonly lastUsedAt: string;
  /** When it ends where it is not used again. */
  readonly endsAt: string;
  /** The address it was opened from; null: unknown. */
  readonly address: string | null;
  /** The browser's user agent; null: not stated. */
  readonly agent: string | null;
}

/** The sessions that a logout at the provider ends: one session, or all of a person. */
export type LoggedOut = { readonly session: string; readonly subject: string | null } | { readonly subject: string };

interface Row {
  id: string;
  key_id: string | null;
  user_id: string | null;
  name: string;
  created_at: Date;
  seen_at: Date;
  ends_at: Date;
  address: string | null;
  agent: string | null;
}

const ID = `encode(substring(s.hash from 1 for 8), 'hex')`;

export class SessionList {
  constructor(private readonly db: Database) {}

  /** A page by id of those that hold, `owner`'s or everybody's. `now` is in epoch milliseconds. */
  async list(
    organisation: string,
    owner: SessionOwner | null,
    { after, limit }: { readonly after: string | null; readonly limit: number },
    now: number,
    { lifeMs, idleMs }: SessionRules,
  ): Promise<StoredSession[]> {
    const rows = await this.db.query<Row>(
      `select * from (select ${ID} as id, s.key_id, s.user_id, coalesce(s.user_name, k.name) as name, s.created_at,
           coalesce(s.last_seen_at, s.created_at) as seen_at, s.address, s.agent,
           least(s.expires_at, s.created_at + $7::double precision * interval '1 millisecond',
             coalesce(s.last_seen_at, s.created_at) + $8::double precision * interval '1 millisecond') as ends_at
         from session s left join api_key k on k.organisation = s.organisation and k.id = s.key_id
         where s.organisation = $1 and ($2::text is null or s.key_id = $2) and ($3::text is null or s.user_id = $3)
           and (s.key_id is null or (k.id is not null and k.revoked_at is null
             and (k.expires_at is null or k.expires_at > $6)))) t
       where ends_at > $6 and ($4::text is null or id > $4) order by id limit $5`,
      [organisation, ...columns(owner), after, limit, new Date(now), lifeMs, idleMs],
    );
    return rows.map(shown);
  }

  /**
   * Ends one. @param owner whose it must be; null: anybody's
   * @throws Failure missing if there is none such
   */
  async end(tx: Queryable, organisation: string, id: string, owner: SessionOwner | null): Promise<void> {
    const rows = await tx.query(
      `delete from session s where s.organisation = $1 and ${ID} = $4
         and ($2::text is null or s.key_id = $2) and ($3::text is null or s.user_id = $3) returning 1`,
      [organisation, ...columns(owner), id],
    );
    if (rows.length === 0) throw missing(`session ${id} does not exist, or is over`);
  }

  /** Ends all of somebody. @param but the id of one that stays @returns their ids */
  async endAll(tx: Queryable, organisation: string, owner: SessionOwner, but: string | null = null): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `delete from session s where s.organisation = $1 and ($2::text is null or s.key_id = $2)
         and ($3::text is null or s.user_id = $3) and ($4::text is null or ${ID} <> $4) returning ${ID} as id`,
      [organisation, ...columns(owner), but],
    );
    return rows.map(({ id }) => id).sort();
  }

  /** Ends everybody's. @returns how many there were */
  async endEverybody(tx: Queryable, organisation: string): Promise<number> {
    return (await tx.query(`delete from session where organisation = $1 returning 1`, [organisation])).length;
  }

  /**
   * Ends all of a person: sessions of the account's subjects, and those under its names but the ones that another
   * account has by now. @returns their ids
   */
  async endOfPerson(tx: Queryable, organisation: string, names: AccountNames): Promise<string[]> {
    const known = await tx.query<{ name: string }>(
      `select user_id as name from session where organisation = $1 and user_id is not null
       union select directory_name from session where organisation = $1 and directory_name is not null`,
      [organisation],
    );
    const theirs = known.flatMap(({ name }) => (names.get(nameDigest(name) ?? '') === null ? [name] : []));
    const rows = await tx.query<{ id: string }>(
      `delete from session s where s.organisation = $1 and s.user_id is not null
         and (s.user_id = any($2) or s.directory_name = any($2)) returning ${ID} as id`,
      [organisation, theirs],
    );
    return rows.map(({ id }) => id).sort();
  }

  /**
   * Ends what a logout token of the provider names (OpenID Connect Back-Channel Logout 1.0, section 2.7). Null: the
   * token was taken before. @param expiresAt epoch milliseconds until when the token holds
   */
  async logOut(
    tx: Queryable,
    organisation: string,
    whom: LoggedOut,
    { jti, expiresAt }: { readonly jti: string; readonly expiresAt: number },
  ): Promise<string[] | null> {
    await tx.query(`delete from logout_token where organisation = $1 and expires_at < now()`, [organisation]);
    const taken = await tx.query(
      `insert into logout_token (organisation, jti, expires_at) values ($1, $2, $3) on conflict do nothing returning 1`,
      [organisation, jti, new Date(expiresAt)],
    );
    if (taken.length === 0) return null;
    const rows = await tx.query<{ id: string }>(
      `delete from session s where s.organisation = $1 and s.user_id is not null
         and ($2::text is null or s.provider_session = $2) and ($3::text is null or s.user_id = $3)
       returning ${ID} as id`,
      [organisation, 'session' in whom ? whom.session : null, whom.subject],
    );
    return rows.map(({ id }) => id).sort();
  }
}

const columns = (owner: SessionOwner | null): [string | null, string | null] => [
  owner?.kind === 'key' ? owner.id : null,
  owner?.kind === 'user' ? owner.id : null,
];

const shown = (row: Row): StoredSession => ({
  id: row.id,
  principal: principalText(
    row.key_id === null ? { kind: 'user', id: row.user_id ?? '' } : { kind: 'key', id: row.key_id },
  ),
  name: row.name,
  startedAt: row.created_at.toISOString(),
  lastUsedAt: row.seen_at.toISOString(),
  endsAt: row.ends_at.toISOString(),
  address: row.address,
  agent: row.agent,
});
