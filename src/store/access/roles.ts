/**
 * Custom roles of an organisation: a name for a set of scopes. A change of a role reaches every key and session that
 * has it within five seconds. A role never contains the scopes admin and scim: the keys alone show who may create keys
 * and who may report people, and no change of a role can lock the last administrator out.
 */
import { conflict, invalid, missing, type Problem } from '../../core/errors.js';
import { CUSTOM_ROLE, inOrder, ROLE_SCOPES, ROLES, SCOPES, type Scope } from '../../core/scopes.js';
import type { Database, Queryable } from '../database.js';

export interface StoredRole {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly description: string | null;
  /** Null: one of the three that every organisation has. */
  readonly updatedAt: string | null;
  readonly updatedBy: string | null;
}

export interface RoleRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly description: string | null;
}

type Row = Omit<StoredRole, 'scopes' | 'updatedAt'> & { scopes: string[]; updatedAt: Date };

const COLUMNS = `name, scopes, description, updated_at as "updatedAt", updated_by as "updatedBy"`;

const roleOf = (row: Row): StoredRole => ({
  ...row,
  scopes: inOrder(row.scopes),
  updatedAt: row.updatedAt.toISOString(),
});

const FIXED: readonly StoredRole[] = ROLES.map((name) => ({
  name,
  scopes: ROLE_SCOPES[name],
  description: null,
  updatedAt: null,
  updatedBy: null,
}));

/** The problems of a list of scopes. */
export function scopeProblems(scopes: readonly string[]): Problem[] {
  if (scopes.length === 0) return [{ path: 'scopes', message: 'lists no scope' }];
  return scopes
    .filter((scope) => !(SCOPES as readonly string[]).includes(scope))
    .map((scope) => ({ path: 'scopes', message: `${scope} is none of ${SCOPES.join(', ')}` }));
}

export class RoleStore {
  constructor(private readonly db: Database) {}

  /** Those that every organisation has and its own, by name. */
  async list(organisation: string): Promise<StoredRole[]> {
    const rows = await this.db.query<Row>(`select ${COLUMNS} from access_role where organisation = $1 order by name`, [
      organisation,
    ]);
    return [...FIXED, ...rows.map(roleOf)].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Adds or replaces a role. @throws Failure invalid naming every problem. */
  async save(
    tx: Queryable,
    organisation: string,
    { name, scopes, description }: RoleRequest,
    by: string,
    now: number,
  ): Promise<{ readonly role: StoredRole; readonly changed: boolean }> {
    const problems = scopeProblems(scopes);
    if (!CUSTOM_ROLE.test(name))
      problems.push({ path: 'name', message: 'is not custom: followed by small letters, digits and hyphens' });
    for (const scope of ['admin', 'scim'].filter((one) => scopes.includes(one)))
      problems.push({
        path: 'scopes',
        message: `a role of your own cannot hold ${scope}: only keys and the role admin do`,
      });
    if (problems.length > 0) throw invalid('the role has problems', problems);
    const [row] = await tx.query<Row>(
      `insert into access_role (organisation, name, scopes, description, updated_at, updated_by)
       values ($1,$2,$3,$4,$5,$6) on conflict (organisation, name) do update set scopes = excluded.scopes,
         description = excluded.description, updated_at = excluded.updated_at, updated_by = excluded.updated_by
       where (access_role.scopes, access_role.description) is distinct from (excluded.scopes, excluded.description)
       returning ${COLUMNS}`,
      [organisation, name, inOrder(scopes), description, new Date(now), by],
    );
    if (row !== undefined) return { role: roleOf(row), changed: true };
    const [same] = await tx.query<Row>(`select ${COLUMNS} from access_role where organisation = $1 and name = $2`, [
      organisation,
      name,
    ]);
    if (same === undefined) throw new Error('broken invariant: what conflicts is there');
    return { role: roleOf(same), changed: false };
  }

  /** @throws Failure missing, or conflict while keys have it. */
  async remove(tx: Queryable, organisation: string, name: string): Promise<StoredRole> {
    const [row] = await tx.query<Row>(
      `select ${COLUMNS} from access_role where organisation = $1 and name = $2 for update`,
      [organisation, name],
    );
    if (row === undefined) throw missing(`role ${name} does not exist`);
    const holders = await tx.query<{ id: string }>(
      `select id from api_key where organisation = $1 and role = $2 and revoked_at is null order by id limit 20`,
      [organisation, name],
    );
    if (holders.length > 0) {
      throw conflict(
        `role ${name} is still had: revoke these keys first`,
        holders.map(({ id }) => ({ path: null, message: `key ${id} has it` })),
      );
    }
    await tx.query(`delete from access_role where organisation = $1 and name = $2`, [organisation, name]);
    return roleOf(row);
  }
}

/** The scopes of roles, from the joined rows of `access_role`. */
export async function customScopes(
  db: Queryable,
  organisation: string,
  roles: readonly string[],
): Promise<(role: string) => readonly string[] | undefined> {
  const custom = roles.filter((role) => CUSTOM_ROLE.test(role));
  if (custom.length === 0) return () => undefined;
  const rows = await db.query<{ name: string; scopes: string[] }>(
    `select name, scopes from access_role where organisation = $1 and name = any($2)`,
    [organisation, custom],
  );
  const found = new Map(rows.map(({ name, scopes }) => [name, scopes]));
  return (role) => found.get(role);
}
