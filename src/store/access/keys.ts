/**
 * API keys: who may call, what they may do, for which teams, until when.
 *
 * A key's text is shown once, when it is created or rotated; only its SHA-256 is stored, and compared in constant time.
 * The process that revokes a key refuses it at once, and every other process within five seconds; the same holds for an
 * expired key. A rotation keeps the key and replaces its secret, so its owner stays the same.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ownerName, principalFrom, principalIn } from '../../core/actor.js';
import { teamsUnder } from '../../core/budget/budget.js';
import { conflict, invalid, missing, type Problem } from '../../core/errors.js';
import { CUSTOM_ROLE, inOrder, isRole, ROLES, scopesOf, type Scope } from '../../core/scopes.js';
import { DAY_MS } from '../../core/time.js';
import type { Database, Queryable, Transaction } from '../database.js';
import { accountsCalled, nameDigest, type AccountNames } from './directory-names.js';
import { customScopes, scopeProblems } from './roles.js';

/** The caller. */
export interface Principal {
  readonly organisation: string;
  /** The id of the key. */
  readonly id: string;
  readonly name: string;
  /** Null: a key that was given its scopes one by one. */
  readonly role: string | null;
  readonly scopes: readonly Scope[];
  /** Teams that it may see and act for, the teams below them included; null: all. */
  readonly teams: readonly string[] | null;
  /** Somebody whom an identity provider vouches for, by the subject `id`; absent: a key. */
  readonly isUser?: true;
  /** The user of the command line on the database itself, by the operating system's user `id`; absent: a key. */
  readonly isAdministrator?: true;
}

export interface StoredKey {
  readonly id: string;
  readonly name: string;
  /** Null: it was given its scopes one by one. */
  readonly role: string | null;
  /** Its present rights. */
  readonly scopes: readonly Scope[];
  /** As it was given: the teams below these are meant too. Null: no restriction. */
  readonly teams: readonly string[] | null;
  /** Its owner: a person or a group, under the installation's name for them. */
  readonly owner: string | null;
  readonly createdAt: string;
  /** Null: until it is revoked. */
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** To the minute; null: never used. */
  readonly lastUsedAt: string | null;
  /** Until when the secret before the last rotation is taken too; null: it is not. */
  readonly previousUntil: string | null;
}

export interface KeyRequest {
  readonly name: string;
  /** Either a role or scopes. */
  readonly role?: string | null;
  readonly scopes?: readonly string[] | null;
  readonly teams: readonly string[] | null;
  readonly owner?: string | null;
  /** Epoch milliseconds; null or absent: until it is revoked. */
  readonly expiresAt?: number | null;
}

/** A key beside its text, which is never to be had again. */
export type KeyWithText = StoredKey & { readonly text: string };

/** Two secrets of a key hold at once for at most so long. */
export const MOST_OVERLAP_MS = 30 * DAY_MS;

const FORM = /^bursar_([0-9a-f]{12})_[\w-]{43}$/;
const CACHED_MILLISECONDS = 5_000;
const MOST_CACHED = 10_000;
const COLUMNS = `id, name, role, scopes, teams, owner, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt", previous_until as "previousUntil"`;

interface Row {
  id: string;
  name: string;
  role: string | null;
  scopes: string[] | null;
  teams: string[] | null;
  owner: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  previousUntil: Date | null;
}

interface Held {
  readonly principal: Principal;
  /** On the process' own clock. */
  readonly until: number;
  /** Epoch milliseconds from which the secret is no longer valid. */
  readonly ends: number;
}

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');

export class KeyStore {
  private readonly cache = new Map<string, Held>();
  private readonly pending = new Map<string, Promise<Principal | null>>();
  /** Digests of texts that were let in and not refused since: what is cached may be forgotten, this is not. */
  private readonly held = new Set<string>();
  private ids: ReadonlySet<string> = new Set();
  private idsUntil = 0;

  constructor(private readonly db: Database) {}

  /**
   * Makes a key. @param now epoch milliseconds
   * @throws Failure invalid naming every problem, missing for a role that nobody has set.
   */
  async create(tx: Queryable, organisation: string, request: KeyRequest, now: number): Promise<KeyWithText> {
    const { name, role = null, scopes = null, teams, expiresAt = null } = request;
    const problems = problemsOf(request, now);
    if (problems.length > 0) throw invalid('the key has problems', problems);
    if (role !== null && !isRole(role) && (await customScopes(tx, organisation, [role]))(role) === undefined)
      throw missing(`role ${role} does not exist`);
    const id = randomBytes(6).toString('hex');
    const text = secretOf(id);
    const [row] = await tx.query<Row>(
      `insert into api_key (organisation, id, name, role, scopes, teams, owner, expires_at, hash)
       values ($1,$2,$3,$4,$5,$6,$7,$8,$9) returning ${COLUMNS}`,
      [
        organisation,
        id,
        name,
        role,
        scopes === null ? null : inOrder(scopes),
        teams,
        request.owner?.trim() ?? null,
        expiresAt === null ? null : new Date(expiresAt),
        digestOf(text),
      ],
    );
    return { ...(await this.keyOf(tx, organisation, row)), text };
  }

  /** A page by id; `after` is the last one seen. Revoked keys are listed too. */
  async list(organisation: string, after: string | null, limit: number): Promise<StoredKey[]> {
    const rows = await this.db.query<Row>(
      `select ${COLUMNS} from api_key where organisation = $1 and ($2::text is null or id > $2) order by id limit $3`,
      [organisation, after, limit],
    );
    const custom = await customScopes(this.db, organisation, rowsRoles(rows));
    return rows.map((row) => keyOf(row, custom));
  }

  /** Ids of the keys that hold and that the account with these names answers for. */
  async ownedBy(tx: Queryable, organisation: string, names: AccountNames): Promise<string[]> {
    const rows = await tx.query<{ id: string; owner: string; createdAt: Date }>(
      `select id, owner, created_at as "createdAt" from api_key
       where organisation = $1 and revoked_at is null and owner is not null order by id`,
      [organisation],
    );
    return rows.flatMap(({ id, owner, createdAt }) => {
      const takenAt = names.get(nameDigest(ownerName(owner)) ?? '');
      return takenAt === null || (takenAt !== undefined && createdAt.getTime() <= takenAt) ? [id] : [];
    });
  }

  /**
   * Revokes a key; a revoked one stays unchanged. @param now epoch milliseconds
   * @throws Failure missing, or conflict for the last key that may make keys.
   */
  async revoke(tx: Transaction, organisation: string, id: string, now: number): Promise<StoredKey> {
    // Two admins that revoke each other at once would lock everybody out.
    await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
    const key = await this.known(tx, organisation, id);
    if (key.scopes.includes('admin') && key.revokedAt === null) {
      const [other] = await tx.query(
        `select 1 from api_key where organisation = $1 and id <> $2 and revoked_at is null
           and (role = 'admin' or 'admin' = any(scopes)) and (expires_at is null or expires_at > $3)`,
        [organisation, id, new Date(now)],
      );
      if (other === undefined) throw conflict(`key ${id} is the last admin key: make another one first`);
    }
    const [revoked] = await tx.query<Row>(
      `update api_key set revoked_at = coalesce(revoked_at, now()) where organisation = $1 and id = $2
       returning ${COLUMNS}`,
      [organisation, id],
    );
    return this.keyOf(tx, organisation, revoked);
  }

  /**
   * Gives a key another secret; the previous one holds for `overlapMs` more, and those before it no longer. Sessions
   * that were opened with the key end: whoever knew the old secret may have opened one.
   * @throws Failure missing, conflict for a key that is revoked or has expired, invalid for an overlap that is too long
   */
  async rotate(
    tx: Transaction,
    organisation: string,
    id: string,
    overlapMs: number,
    now: number,
  ): Promise<KeyWithText> {
    if (!(overlapMs >= 0 && overlapMs <= MOST_OVERLAP_MS))
      throw invalid('the rotation has 1 problem(s)', [
        { path: 'overlapSeconds', message: `is not between 0 and ${MOST_OVERLAP_MS / 1000}` },
      ]);
    await tx.query(`select 1 from api_key where organisation = $1 and id = $2 for update`, [organisation, id]);
    const key = await this.known(tx, organisation, id);
    if (key.revokedAt !== null) throw conflict(`key ${id} is revoked`);
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= now) throw conflict(`key ${id} has expired`);
    const text = secretOf(id);
    const [row] = await tx.query<Row>(
      `update api_key set hash = $3, previous_hash = case when $4::timestamptz > $5 then hash end,
         previous_until = case when $4::timestamptz > $5 then $4::timestamptz end
       where organisation = $1 and id = $2 returning ${COLUMNS}`,
      [organisation, id, digestOf(text), new Date(now + overlapMs), new Date(now)],
    );
    await tx.query(`delete from session where organisation = $1 and key_id = $2`, [organisation, id]);
    return { ...(await this.keyOf(tx, organisation, row)), text };
  }

  /**
   * The key that a text names: its id, and whether this process has accepted this text before and not refused it since.
   * Null: there is no such key. Ids are read from the database at most every few seconds, for all callers together.
   */
  async named(text: string): Promise<{ readonly id: string; readonly hasHeld: boolean } | null> {
    const id = FORM.exec(text)?.[1];
    if (id === undefined) return null;
    if (this.held.has(digestOf(text).toString('hex'))) return { id, hasHeld: true };
    if (!this.ids.has(id) && performance.now() >= this.idsUntil) {
      this.idsUntil = performance.now() + CACHED_MILLISECONDS;
      const rows = await this.db.query<{ id: string }>(`select id from api_key where revoked_at is null`);
      this.ids = new Set(rows.map((row) => row.id));
    }
    return this.ids.has(id) ? { id, hasHeld: false } : null;
  }

  /**
   * The principal of a key's text; null for a text that is not a key, or an unknown or revoked key. Only one look-up of
   * a key runs at a time, so that a hanging database does not lose all its connections to one caller.
   */
  async authenticate(text: string, now: number): Promise<Principal | null> {
    const id = FORM.exec(text)?.[1];
    if (id === undefined) return null;
    const digest = digestOf(text);
    const name = digest.toString('hex');
    const cached = this.cache.get(name);
    if (cached !== undefined && cached.until > performance.now() && cached.ends > now) return cached.principal;
    const under = this.pending.get(name);
    if (under !== undefined) return under;
    const found = this.lookUp(id, digest, name, now).finally(() => this.pending.delete(name));
    this.pending.set(name, found);
    return found;
  }

  private async lookUp(id: string, digest: Buffer, name: string, now: number): Promise<Principal | null> {
    const rows = await this.db.query<
      Pick<Row, 'name' | 'role' | 'scopes' | 'teams' | 'expiresAt' | 'previousUntil'> & {
        organisation: string;
        hash: Buffer;
        previousHash: Buffer | null;
      }
    >(
      `select organisation, name, role, scopes, teams, hash, expires_at as "expiresAt",
         previous_hash as "previousHash", previous_until as "previousUntil"
       from api_key where id = $1 and revoked_at is null`,
      [id],
    );
    const held = rows
      .map((row) => {
        const expires = row.expiresAt?.getTime() ?? Infinity;
        if (timingSafeEqual(row.hash, digest)) return { row, ends: expires };
        const isPrevious = row.previousHash !== null && timingSafeEqual(row.previousHash, digest);
        return { row, ends: isPrevious ? Math.min(expires, row.previousUntil?.getTime() ?? 0) : 0 };
      })
      .find(({ ends }) => ends > now);
    if (held === undefined) {
      this.cache.delete(name);
      this.held.delete(name);
      return null;
    }
    const { row, ends } = held;
    const { organisation, role } = row;
    const custom = await customScopes(this.db, organisation, rowsRoles([row]));
    const teams = row.teams === null ? null : await teamsBelow(this.db, organisation, row.teams);
    await this.noteUse(organisation, id);
    const principal = { organisation, id, name: row.name, role, scopes: keyScopes(row, custom), teams };
    if (this.cache.size >= MOST_CACHED) this.cache.clear();
    if (this.held.size >= MOST_CACHED) this.held.clear();
    this.held.add(name);
    this.cache.set(name, { principal, until: performance.now() + CACHED_MILLISECONDS, ends });
    return principal;
  }

  /** Forgets who was let in: called after a key or a role was changed, so that this process knows at once. */
  forget(): void {
    this.cache.clear();
  }

  /**
   * The names of the person behind each principal's text. Two principals belong to one person if they share a name: the
   * principal itself, the owner of its key, or the directory's user who has or had that subject, user name, external id
   * or address. Names are folded: a false match only demands another approver.
   */
  async peopleOf(tx: Queryable, organisation: string, principals: readonly string[]): Promise<string[][]> {
    const known = principals.map(principalFrom);
    const keyIds = known.flatMap((one) => (one?.kind === 'key' ? [one.id] : []));
    const keys = await tx.query<{ id: string; owner: string }>(
      `select id, owner from api_key where organisation = $1 and id = any($2::text[]) and owner is not null`,
      [organisation, keyIds],
    );
    const owners = new Map(keys.map(({ id, owner }) => [id, ownerName(owner)]));
    const called = known.map((one) => nameDigest((one?.kind === 'user' ? one.id : owners.get(one?.id ?? '')) ?? ''));
    const names = called.filter((name) => name !== null);
    const accounts = await accountsCalled(tx, organisation, names);
    return principals.map((text, at) => {
      const name = called[at] ?? null;
      if (name === null) return [principalIn(text)];
      return [principalIn(text), `called ${name}`, ...(accounts.get(name) ?? []).map((id) => `listed ${id}`)];
    });
  }

  /** Makes the first admin key of an organisation that has never had one; null if there is one. */
  async firstKey(organisation: string): Promise<string | null> {
    return this.db.transaction(async (tx) => {
      // If several processes start at once, one of them makes the key.
      await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
      const [any] = await tx.query(`select 1 from api_key where organisation = $1 limit 1`, [organisation]);
      if (any !== undefined) return null;
      return (await this.create(tx, organisation, { name: 'first admin', role: 'admin', teams: null }, 0)).text;
    });
  }

  private async known(tx: Queryable, organisation: string, id: string): Promise<StoredKey> {
    const [row] = await tx.query<Row>(`select ${COLUMNS} from api_key where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    if (row === undefined) throw missing(`key ${id} does not exist`);
    return this.keyOf(tx, organisation, row);
  }

  private async keyOf(tx: Queryable, organisation: string, row: Row | undefined): Promise<StoredKey> {
    if (row === undefined) throw new Error('broken invariant: the key was there');
    return keyOf(row, await customScopes(tx, organisation, rowsRoles([row])));
  }

  private async noteUse(organisation: string, id: string): Promise<void> {
    await this.db.query(
      `update api_key set last_used_at = now() where organisation = $1 and id = $2
         and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
      [organisation, id],
    );
  }
}

/** Teams with those below them, sorted. */
export async function teamsBelow(db: Queryable, organisation: string, teams: readonly string[]): Promise<string[]> {
  const all = await db.query<{ id: string; parent: string | null }>(
    `select id, parent from team where organisation = $1`,
    [organisation],
  );
  const parents = new Map(all.map(({ id, parent }) => [id, parent]));
  return [...new Set(teams.flatMap((team) => [...teamsUnder(team, parents)]))].sort();
}

type Custom = Awaited<ReturnType<typeof customScopes>>;

const rowsRoles = (rows: readonly Pick<Row, 'role'>[]): string[] => rows.flatMap(({ role }) => role ?? []);

export const keyScopes = ({ role, scopes }: Pick<Row, 'role' | 'scopes'>, custom: Custom): Scope[] =>
  role === null ? inOrder(scopes ?? []) : scopesOf([role], custom);

const secretOf = (id: string): string => `bursar_${id}_${randomBytes(32).toString('base64url')}`;

function problemsOf({ name, role, scopes, teams, owner, expiresAt }: KeyRequest, now: number): Problem[] {
  const problems: Problem[] = [];
  if (name.trim() === '') problems.push({ path: 'name', message: 'is empty' });
  if (owner?.trim() === '') problems.push({ path: 'owner', message: 'is empty' });
  if ((role ?? null) === null && (scopes ?? null) === null)
    problems.push({ path: 'role', message: 'is missing: a key has a role or scopes' });
  if ((role ?? null) !== null && (scopes ?? null) !== null)
    problems.push({ path: 'scopes', message: 'cannot be combined with a role: a key has one or the other' });
  if ((role ?? null) !== null && !isRole(role ?? '') && !CUSTOM_ROLE.test(role ?? ''))
    problems.push({ path: 'role', message: `is none of ${ROLES.join(', ')} and no custom:<name>` });
  if ((scopes ?? null) !== null) problems.push(...scopeProblems(scopes ?? []));
  if (teams?.length === 0) problems.push({ path: 'teams', message: 'lists no team' });
  if (teams !== null && (role === 'admin' || scopes?.includes('admin') === true))
    problems.push({ path: 'teams', message: 'an admin is not restricted to teams' });
  if (teams !== null && scopes?.includes('scim') === true && !scopes.includes('admin'))
    problems.push({ path: 'teams', message: 'the directory concerns all teams: a key with scim is not restricted' });
  if ((expiresAt ?? Infinity) <= now) problems.push({ path: 'expiresAt', message: 'is over' });
  return problems;
}

const instantOf = (date: Date | null): string | null => date?.toISOString() ?? null;

function keyOf(row: Row, custom: Custom): StoredKey {
  return {
    ...row,
    scopes: keyScopes(row, custom),
    createdAt: row.createdAt.toISOString(),
    expiresAt: instantOf(row.expiresAt),
    revokedAt: instantOf(row.revokedAt),
    lastUsedAt: instantOf(row.lastUsedAt),
    previousUntil: instantOf(row.previousUntil),
  };
}
