/**
 * API keys: who may call, as what, for which teams.
 *
 * A key's text is shown once, when it is made; only its SHA-256 is stored, and compared in constant time. A revoked key
 * is refused at once by the process that revoked it and within five seconds by every other.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { teamsUnder } from '../../core/budget/budget.js';
import { conflict, invalid, missing, type Problem } from '../../core/errors.js';
import type { Database, Queryable, Transaction } from '../database.js';

/** `admin` does everything, `operator` writes usage, prices, budgets and decisions, `viewer` reads. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Who calls. */
export interface Principal {
  readonly organisation: string;
  /** Of the key. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Teams that it may see and act for, the teams below them included; null: all. */
  readonly teams: readonly string[] | null;
  /** Somebody whom an identity provider vouches for, by the subject `id`; absent: a key. */
  readonly isUser?: true;
}

export interface StoredKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** As it was given: the teams below these are meant too. Null: no restriction. */
  readonly teams: readonly string[] | null;
  readonly createdAt: string;
  readonly revokedAt: string | null;
  /** To the minute; null: never used. */
  readonly lastUsedAt: string | null;
}

export interface KeyRequest {
  readonly name: string;
  readonly role: Role;
  readonly teams: readonly string[] | null;
}

const FORM = /^bursar_([0-9a-f]{12})_[\w-]{43}$/;
const CACHED_MILLISECONDS = 5_000;
const MOST_CACHED = 10_000;
const COLUMNS = `id, name, role, teams, created_at as "createdAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

type Row = Omit<StoredKey, 'createdAt' | 'revokedAt' | 'lastUsedAt'> & {
  createdAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
};

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer');

export class KeyStore {
  private readonly cache = new Map<string, { readonly principal: Principal; readonly until: number }>();
  private readonly pending = new Map<string, Promise<Principal | null>>();

  constructor(private readonly db: Database) {}

  /** Makes a key; `text` is never to be had again. @throws Failure invalid naming every problem. */
  async create(
    tx: Queryable,
    organisation: string,
    request: KeyRequest,
  ): Promise<StoredKey & { readonly text: string }> {
    const problems: Problem[] = [];
    if (request.name.trim() === '') problems.push({ path: 'name', message: 'is empty' });
    if (!ROLES.includes(request.role)) problems.push({ path: 'role', message: `is none of ${ROLES.join(', ')}` });
    if (request.teams?.length === 0) problems.push({ path: 'teams', message: 'lists no team' });
    if (request.role === 'admin' && request.teams !== null)
      problems.push({ path: 'teams', message: 'an admin is not restricted to teams' });
    if (problems.length > 0) throw invalid('the key has problems', problems);
    const id = randomBytes(6).toString('hex');
    const text = `bursar_${id}_${randomBytes(32).toString('base64url')}`;
    const [row] = await tx.query<Row>(
      `insert into api_key (organisation, id, name, role, teams, hash) values ($1,$2,$3,$4,$5,$6) returning ${COLUMNS}`,
      [organisation, id, request.name, request.role, request.teams, digestOf(text)],
    );
    if (row === undefined) throw new Error('broken invariant: an insert returns its row');
    return { ...keyOf(row), text };
  }

  /** A page by id; `after` is the last one seen. Revoked keys are listed too. */
  async list(organisation: string, after: string | null, limit: number): Promise<StoredKey[]> {
    const rows = await this.db.query<Row>(
      `select ${COLUMNS} from api_key where organisation = $1 and ($2::text is null or id > $2) order by id limit $3`,
      [organisation, after, limit],
    );
    return rows.map(keyOf);
  }

  /** Revokes a key; one that is revoked stays as it is. @throws Failure missing, or conflict for the last admin key. */
  async revoke(tx: Transaction, organisation: string, id: string): Promise<StoredKey> {
    // Two admins that revoke each other at once would lock everybody out.
    await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
    const [row] = await tx.query<Row>(`select ${COLUMNS} from api_key where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    if (row === undefined) throw missing(`key ${id} does not exist`);
    if (row.role === 'admin' && row.revokedAt === null) {
      const [other] = await tx.query(
        `select 1 from api_key where organisation = $1 and id <> $2 and role = 'admin' and revoked_at is null`,
        [organisation, id],
      );
      if (other === undefined) throw conflict(`key ${id} is the last admin key: make another one first`);
    }
    const [revoked] = await tx.query<Row>(
      `update api_key set revoked_at = coalesce(revoked_at, now()) where organisation = $1 and id = $2 returning ${COLUMNS}`,
      [organisation, id],
    );
    return keyOf(revoked ?? row);
  }

  /** Whether this process has let the key in before, and not found since that it no longer holds. */
  hasHeld(text: string): boolean {
    return FORM.test(text) && this.cache.has(digestOf(text).toString('hex'));
  }

  /**
   * Who the key's text stands for; null for a text that is no key, an unknown or a revoked one. One look-up of a key is
   * under way at a time, so that a database that hangs does not lose all its connections to one caller.
   */
  async authenticate(text: string): Promise<Principal | null> {
    const id = FORM.exec(text)?.[1];
    if (id === undefined) return null;
    const digest = digestOf(text);
    const name = digest.toString('hex');
    const cached = this.cache.get(name);
    if (cached !== undefined && cached.until > performance.now()) return cached.principal;
    const under = this.pending.get(name);
    if (under !== undefined) return under;
    const looking = this.lookUp(id, digest, name).finally(() => this.pending.delete(name));
    this.pending.set(name, looking);
    return looking;
  }

  private async lookUp(id: string, digest: Buffer, name: string): Promise<Principal | null> {
    const rows = await this.db.query<{
      organisation: string;
      name: string;
      role: Role;
      teams: string[] | null;
      hash: Buffer;
    }>(`select organisation, name, role, teams, hash from api_key where id = $1 and revoked_at is null`, [id]);
    const row = rows.find((candidate) => timingSafeEqual(candidate.hash, digest));
    if (row === undefined) {
      this.cache.delete(name);
      return null;
    }
    const teams = row.teams === null ? null : await teamsBelow(this.db, row.organisation, row.teams);
    await this.noteUse(row.organisation, id);
    const principal = { organisation: row.organisation, id, name: row.name, role: row.role, teams };
    if (this.cache.size >= MOST_CACHED) this.cache.clear();
    this.cache.set(name, { principal, until: performance.now() + CACHED_MILLISECONDS });
    return principal;
  }

  /** Forgets who was let in: called after a key was revoked, so that this process refuses it at once. */
  forget(): void {
    this.cache.clear();
  }

  /** Makes the first admin key of an organisation that has never had one; null where there is one. */
  async firstKey(organisation: string): Promise<string | null> {
    return this.db.transaction(async (tx) => {
      // Of several processes that start at once, one makes the key.
      await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
      const [any] = await tx.query(`select 1 from api_key where organisation = $1 limit 1`, [organisation]);
      if (any !== undefined) return null;
      return (await this.create(tx, organisation, { name: 'first admin', role: 'admin', teams: null })).text;
    });
  }

  private async noteUse(organisation: string, id: string): Promise<void> {
    await this.db.query(
      `update api_key set last_used_at = now() where organisation = $1 and id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
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

function keyOf(row: Row): StoredKey {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    revokedAt: row.revokedAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
  };
}
