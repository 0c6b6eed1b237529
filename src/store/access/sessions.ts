/**
 * Sessions of the dashboard: who signed in, with a key or at an identity provider, and until when.
 *
 * A session's text is told once, to the browser; only its SHA-256 is stored. A session that was opened with a key has
 * the role and teams that the key has now, and ends when the key is revoked. It says who calls, never what they may do.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../database.js';
import { inOrder, scopesOf } from '../../core/scopes.js';
import { teamsBelow, type Principal } from './keys.js';
import { customScopes } from './roles.js';

/** Somebody whom an identity provider vouches for. */
export interface SessionUser {
  /** The provider's subject. */
  readonly id: string;
  readonly name: string;
  /** The highest of the three that everybody has, else the first of `roles`. */
  readonly role: string;
  /** All of them; absent: that one. */
  readonly roles?: readonly string[];
  /** As the claims say: the teams below these are meant too. Null: no restriction. */
  readonly teams: readonly string[] | null;
}

export interface StartedSession {
  /** Never to be had again. */
  readonly text: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** A working day; then people sign in again. */
export const SESSION_SECONDS = 12 * 3600;

const FORM = /^[\w-]{43}$/;
const CACHED_MILLISECONDS = 5_000;
const MOST_CACHED = 10_000;

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');

interface Row {
  organisation: string;
  key_id: string | null;
  name: string;
  role: string | null;
  roles: string[] | null;
  scopes: string[] | null;
  teams: string[] | null;
  user_id: string | null;
}

export class SessionStore {
  private readonly cache = new Map<string, { readonly principal: Principal; readonly until: number }>();

  constructor(private readonly db: Database) {}

  /** Opens a session and forgets those of the organisation that are over. `now` is in epoch milliseconds. */
  async start(
    tx: Queryable,
    organisation: string,
    who: { readonly key: string } | { readonly user: SessionUser },
    now: number,
  ): Promise<StartedSession> {
    const text = randomBytes(32).toString('base64url');
    const expiresAt = now + SESSION_SECONDS * 1000;
    const user = 'user' in who ? who.user : null;
    await tx.query(`delete from session where organisation = $1 and expires_at <= $2`, [organisation, new Date(now)]);
    await tx.query(
      `insert into session (organisation, hash, key_id, user_id, user_name, role, roles, teams, created_at, expires_at)
       values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)`,
      [
        organisation,
        digestOf(text),
        'key' in who ? who.key : null,
        user?.id ?? null,
        user?.name ?? null,
        user?.role ?? null,
        user === null ? null : (user.roles ?? [user.role]),
        user?.teams ?? null,
        new Date(now),
        new Date(expiresAt),
      ],
    );
    return { text, expiresAt };
  }

  /** Whom a session's text stands for; null for one that is unknown, over, or opened with a key that was revoked. */
  async authenticate(text: string, now: number): Promise<Principal | null> {
    if (!FORM.test(text)) return null;
    const digest = digestOf(text);
    const name = digest.toString('hex');
    const cached = this.cache.get(name);
    if (cached !== undefined && cached.until > performance.now()) return cached.principal;
    this.cache.delete(name);
    const [row] = await this.db.query<Row>(
      `select s.organisation, s.key_id, s.user_id, coalesce(s.user_name, k.name) as name,
         coalesce(s.role, k.role) as role, s.roles, k.scopes,
         case when s.key_id is null then s.teams else k.teams end as teams
       from session s left join api_key k on k.organisation = s.organisation and k.id = s.key_id
       where s.hash = $1 and s.expires_at > $2 and (s.key_id is null or (k.id is not null and k.revoked_at is null
         and (k.expires_at is null or k.expires_at > $2)))`,
      [digest, new Date(now)],
    );
    if (row === undefined) return null;
    const teams = row.teams === null ? null : await teamsBelow(this.db, row.organisation, row.teams);
    const roles = row.roles ?? (row.role === null ? [] : [row.role]);
    const principal: Principal = {
      organisation: row.organisation,
      id: row.key_id ?? row.user_id ?? '',
      name: row.name,
      role: row.role,
      scopes:
        row.role === null
          ? inOrder(row.scopes ?? [])
          : scopesOf(roles, await customScopes(this.db, row.organisation, roles)),
      teams,
      ...(row.user_id === null ? {} : { isUser: true }),
    };
    if (this.cache.size >= MOST_CACHED) this.cache.clear();
    this.cache.set(name, { principal, until: performance.now() + CACHED_MILLISECONDS });
    return principal;
  }

  /**
   * Ends a session: at once in this process, within five seconds in every other. One that is not there is over already.
   */
  async end(tx: Queryable, text: string): Promise<void> {
    const digest = digestOf(text);
    await tx.query(`delete from session where hash = $1`, [digest]);
    this.cache.delete(digest.toString('hex'));
  }

  /** Forgets who was let in: called after a key was revoked, so that this process ends its sessions at once. */
  forget(): void {
    this.cache.clear();
  }
}
