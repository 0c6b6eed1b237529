/**
 * Sessions of the dashboard: who signed in, with a key or at an identity provider, from where, and until when.
 *
 * A session's text is given only to the browser, once; only its SHA-256 is stored, and its id is the beginning of the
 * SHA-256. A session that was opened with a key has the key's current role and teams, and ends when the key is revoked.
 * A session of an identity provider's user applies the current rules to the provider's last answer. It identifies the
 * caller, but never says what the caller may do. session-list.ts lists and ends sessions.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../database.js';
import { inOrder, scopesOf } from '../../core/scopes.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { knownAs, noteSubject, type Known } from './directory.js';
import { teamsBelow, type Principal } from './keys.js';
import { customScopes } from './roles.js';

/** A person's rights under the present rules. */
export interface Standing {
  /** The highest of the three that everybody has, otherwise the first of `roles`. */
  readonly role: string;
  /** All of them; absent: that one. */
  readonly roles?: readonly string[];
  /** As the claims say: the teams below these are meant too. Null: no restriction. */
  readonly teams: readonly string[] | null;
}

/** An identity provider's claims about a person's groups and teams. */
export interface Claimed {
  readonly groups: readonly string[];
  readonly teams: readonly string[];
}

/** Somebody whom an identity provider vouches for. */
export interface SessionUser extends Standing {
  /** The provider's subject. */
  readonly id: string;
  readonly name: string;
  /** The claims behind role and teams; absent: these stay unchanged. */
  readonly claimed?: Claimed;
  /** Their name in the directory (SCIM); absent: the directory is not consulted. */
  readonly directoryName?: string;
}

/** The facts about a sign-in other than the person. */
export interface SignInFacts {
  readonly address?: string | null;
  readonly agent?: string | null;
  /** The provider's own session (`sid`). */
  readonly providerSession?: string | null;
  /** A refresh token, sealed so that only the session's text opens it. */
  readonly refresh?: ((text: string) => Buffer) | null;
}

export interface StartedSession {
  /** Never to be had again. */
  readonly text: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export interface SessionRules {
  /** From signing in, whatever is done. */
  readonly lifeMs: number;
  /** From the last use. */
  readonly idleMs: number;
  /** After so long the identity provider is asked again. */
  readonly checkMs: number;
  /** The rights that the claims give now; null: none any more. Absent: as at the sign-in. */
  readonly standing?: (claimed: Claimed) => Standing | null;
  /** Absent: off. */
  readonly directory?: DirectoryUse;
}

/**
 * The use of the directory (SCIM) at a sign-in: it only excludes inactive people (off), it must know the person
 * (users), or it also provides the groups (groups). Inactive people are excluded in any case.
 */
export type DirectoryUse = 'off' | 'users' | 'groups';

/** A working day, a long break, an hour. */
export const SESSION_RULES: SessionRules = { lifeMs: 12 * HOUR_MS, idleMs: 2 * HOUR_MS, checkMs: HOUR_MS };

export interface Found {
  readonly principal: Principal;
  /** Epoch milliseconds from when the identity provider is to be asked again; null: it never is. */
  readonly checkAt: number | null;
}

/** How long other processes do not ask the provider about a session that one process asks about. */
const ASKING_MS = 30_000;

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
  claimed_groups: string[] | null;
  claimed_teams: string[] | null;
  directory_name: string | null;
  created_at: Date;
  expires_at: Date;
  seen_at: Date;
  checked_at: Date;
}

interface Held {
  readonly found: Found;
  /** On the process' own clock. */
  readonly until: number;
  /** Epoch milliseconds. */
  readonly ends: number;
}

/** The limit for one key: a further session ends the oldest. */
const MOST_SESSIONS = 100;

export class SessionStore {
  private readonly cache = new Map<string, Held>();

  constructor(private readonly db: Database) {}

  /** Opens a session and forgets those of the organisation that are over, and a key's oldest beyond a hundred. `now` is in epoch milliseconds. */
  async start(
    tx: Queryable,
    organisation: string,
    who: { readonly key: string } | { readonly user: SessionUser },
    now: number,
    { address = null, agent = null, providerSession = null, refresh = null }: SignInFacts = {},
    { lifeMs }: Pick<SessionRules, 'lifeMs'> = SESSION_RULES,
  ): Promise<StartedSession> {
    const text = randomBytes(32).toString('base64url');
    const expiresAt = now + lifeMs;
    const user = 'user' in who ? who.user : null;
    await tx.query(`delete from session where organisation = $1 and expires_at <= $2`, [organisation, new Date(now)]);
    const [column, owner] = 'key' in who ? ['key_id', who.key] : ['user_id', who.user.id];
    await tx.query(
      `delete from session where organisation = $1 and hash in (
         select hash from session where organisation = $1 and ${column} = $2 order by created_at desc offset $3)`,
      [organisation, owner, MOST_SESSIONS - 1],
    );
    await tx.query(
      `insert into session (organisation, hash, key_id, user_id, user_name, role, roles, teams, claimed_groups,
         claimed_teams, directory_name, created_at, last_seen_at, checked_at, expires_at, address, agent,
         provider_session, refresh)
       values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$12,$12,$13,$14,$15,$16,$17)`,
      [
        organisation,
        digestOf(text),
        'key' in who ? who.key : null,
        user?.id ?? null,
        ...standingColumns(user),
        new Date(now),
        new Date(expiresAt),
        address,
        agent?.slice(0, 200) ?? null,
        providerSession,
        refresh === null ? null : refresh(text),
      ],
    );
    if (user?.directoryName !== undefined) await noteSubject(tx, organisation, user.directoryName, user.id);
    return { text, expiresAt };
  }

  /**
   * Whom a session's text stands for; null for one that is unknown or over, whose key was revoked, or whose user has no
   * role any more.
   */
  async authenticate(text: string, now: number, rules: SessionRules = SESSION_RULES): Promise<Found | null> {
    if (!FORM.test(text)) return null;
    const digest = digestOf(text);
    const name = digest.toString('hex');
    const cached = this.cache.get(name);
    if (cached !== undefined && cached.until > performance.now() && cached.ends > now) return cached.found;
    this.cache.delete(name);
    const [row] = await this.db.query<Row>(
      `select s.organisation, s.key_id, s.user_id, coalesce(s.user_name, k.name) as name,
         coalesce(s.role, k.role) as role, s.roles, k.scopes, s.claimed_groups, s.claimed_teams, s.directory_name, s.created_at,
         s.expires_at, coalesce(s.last_seen_at, s.created_at) as seen_at, coalesce(s.checked_at, s.created_at) as checked_at,
         case when s.key_id is null then s.teams else k.teams end as teams
       from session s left join api_key k on k.organisation = s.organisation and k.id = s.key_id
       where s.hash = $1 and s.expires_at > $2 and (s.key_id is null or (k.id is not null and k.revoked_at is null
         and (k.expires_at is null or k.expires_at > $2)))`,
      [digest, new Date(now)],
    );
    if (row === undefined || endOf(row, rules) <= now) return null;
    const { organisation, directory_name: known } = row;
    const directory = known === null ? undefined : await knownAs(this.db, organisation, known);
    const standing = standingOf(row, rules, directory);
    if (standing === null) return null;
    await this.noteUse(row, digest, now);
    const found = {
      principal: await this.principalOf(row, standing),
      checkAt: row.user_id === null ? null : row.checked_at.getTime() + rules.checkMs,
    };
    if (this.cache.size >= MOST_CACHED) this.cache.clear();
    const ends = Math.min(row.expires_at.getTime(), row.created_at.getTime() + rules.lifeMs);
    this.cache.set(name, { found, until: performance.now() + CACHED_MILLISECONDS, ends });
    return found;
  }

  private async principalOf(row: Row, { role, roles, teams }: Partial<Standing>): Promise<Principal> {
    const { organisation } = row;
    const all = roles ?? (role === undefined ? [] : [role]);
    return {
      organisation,
      id: row.key_id ?? row.user_id ?? '',
      name: row.name,
      role: role ?? null,
      scopes:
        role === undefined ? inOrder(row.scopes ?? []) : scopesOf(all, await customScopes(this.db, organisation, all)),
      teams: (teams ?? null) === null ? null : await teamsBelow(this.db, organisation, teams ?? []),
      ...(row.user_id === null ? {} : { isUser: true }),
    };
  }

  /** To the minute. */
  private async noteUse({ seen_at: seen }: Row, digest: Buffer, now: number): Promise<void> {
    if (seen.getTime() > now - MINUTE_MS) return;
    await this.db.query(`update session set last_seen_at = $2 where hash = $1`, [digest, new Date(now)]);
  }

  /**
   * The sealed refresh token of a session whose provider is to be asked; null if the session has none, 'asked' where
   * somebody else asks just now, or has asked: a refresh token may hold once only.
   */
  async claimCheck(text: string, now: number, checkMs: number): Promise<Buffer | null | 'asked'> {
    const [row] = await this.db.query<{ refresh: Buffer | null }>(
      `update session set asking_until = $3 where hash = $1 and (asking_until is null or asking_until <= $2)
         and coalesce(checked_at, created_at) <= $4 returning refresh`,
      [digestOf(text), new Date(now), new Date(now + ASKING_MS), new Date(now - checkMs)],
    );
    return row === undefined ? 'asked' : row.refresh;
  }

  /** Saves the provider's new answer. False: the session was ended meanwhile. */
  async renew(text: string, user: SessionUser, refresh: Buffer | null, now: number): Promise<boolean> {
    const digest = digestOf(text);
    const rows = await this.db.query(
      `update session set user_name = $2, role = $3, roles = $4, teams = $5, claimed_groups = $6, claimed_teams = $7,
         directory_name = $8, refresh = coalesce($9, refresh), checked_at = $10, asking_until = null
       where hash = $1 and user_id = $11 returning 1`,
      [digest, ...standingColumns(user), refresh, new Date(now), user.id],
    );
    this.cache.delete(digest.toString('hex'));
    return rows.length > 0;
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

/** The id of a session, of its text. */
export const sessionId = (text: string): string => digestOf(text).toString('hex').slice(0, 16);

/** Epoch milliseconds from when a session is over. */
const endOf = (
  row: { readonly created_at: Date; readonly expires_at: Date; readonly seen_at: Date },
  { lifeMs, idleMs }: Pick<SessionRules, 'lifeMs' | 'idleMs'>,
): number => Math.min(row.expires_at.getTime(), row.created_at.getTime() + lifeMs, row.seen_at.getTime() + idleMs);

/**
 * Whether the directory admits a person. @param known undefined: it is not asked; null: it never reported the person
 */
export const isOpen = (known: Known | null | undefined, use: DirectoryUse = 'off'): boolean =>
  known === undefined ? use === 'off' : known === null ? use === 'off' : known.active;

function standingOf(
  row: Row,
  { standing, directory = 'off' }: SessionRules,
  known: Known | null | undefined,
): Partial<Standing> | null {
  const { role, roles, teams, claimed_groups: claimed } = row;
  if (row.user_id !== null && !isOpen(known, directory)) return null;
  const groups = directory === 'groups' ? (known?.groups ?? []) : claimed;
  if (groups !== null && standing !== undefined) return standing({ groups, teams: row.claimed_teams ?? [] });
  return { ...(role === null ? {} : { role }), ...(roles === null ? {} : { roles }), teams };
}

/** user_name, role, roles, teams, claimed_groups, claimed_teams, directory_name. */
const standingColumns = (user: SessionUser | null): readonly unknown[] => [
  user?.name ?? null,
  user?.role ?? null,
  user === null ? null : (user.roles ?? [user.role]),
  user?.teams ?? null,
  user?.claimed?.groups ?? null,
  user?.claimed?.teams ?? null,
  user?.directoryName ?? null,
];
