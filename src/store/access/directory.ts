/**
 * People and groups that an identity provider reports by SCIM (RFC 7643): who has an account, whether it is open, and
 * in which groups people are.
 *
 * A resource is stored as it was sent, together with the fields that Bursar queries. Names are compared ignoring case,
 * as RFC 7643, section 4.1.1 says of userName. The consequences of a closed account are decided elsewhere
 * (application/access/provision.ts).
 */
import { randomUUID } from 'node:crypto';
import { conflict, invalid, missing } from '../../core/errors.js';
import type { Database, Queryable } from '../database.js';
import { waitForLock } from '../locks.js';
import { fileNames } from './directory-names.js';

/** The queried fields of a person; the rest is in `attributes`. */
export interface DirectoryUser {
  readonly id: string;
  readonly userName: string;
  readonly externalId: string | null;
  readonly active: boolean;
  /** Everything else that was sent, by the names of the schema. */
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Subjects by which they have signed in. */
  readonly subjects: readonly string[];
  /** By name. */
  readonly groups: readonly { readonly id: string; readonly displayName: string }[];
}

export interface DirectoryGroup {
  readonly id: string;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** By name. */
  readonly members: readonly { readonly id: string; readonly userName: string }[];
}

export type UserFields = Pick<DirectoryUser, 'userName' | 'externalId' | 'active' | 'attributes'>;
export type GroupFields = Pick<DirectoryGroup, 'displayName' | 'externalId'> & {
  /** Ids of people. */
  readonly members: readonly string[];
};

/** Equal to all of these; names and displayName without regard to case. */
export interface DirectoryFilter {
  readonly id?: string;
  readonly externalId?: string;
  readonly userName?: string;
  readonly displayName?: string;
  readonly active?: boolean;
  /** The value of an e-mail address, or of a group's member. */
  readonly email?: string;
  readonly member?: string;
}

export interface Found<T> {
  readonly total: number;
  readonly items: readonly T[];
}

/** The directory's data about a person who signs in. */
export interface Known {
  readonly active: boolean;
  readonly groups: readonly string[];
}

type Stamped<T> = Omit<T, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date };

const USER = `u.id, u.user_name as "userName", u.external_id as "externalId", u.active, u.subjects, u.attributes,
  u.created_at as "createdAt", u.updated_at as "updatedAt",
  coalesce((select jsonb_agg(jsonb_build_object('id', g.id, 'displayName', g.display_name) order by g.display_name)
    from scim_member m join scim_group g on g.organisation = m.organisation and g.id = m.group_id
    where m.organisation = u.organisation and m.user_id = u.id), '[]'::jsonb) as groups`;

const GROUP = `g.id, g.display_name as "displayName", g.external_id as "externalId", g.created_at as "createdAt",
  g.updated_at as "updatedAt",
  coalesce((select jsonb_agg(jsonb_build_object('id', u.id, 'userName', u.user_name) order by u.user_name)
    from scim_member m join scim_user u on u.organisation = m.organisation and u.id = m.user_id
    where m.organisation = g.organisation and m.group_id = g.id), '[]'::jsonb) as members`;

const USER_FITS = `u.organisation = $1 and ($2::text is null or u.id = $2) and ($3::text is null or u.external_id = $3)
  and ($4::text is null or lower(u.user_name) = lower($4)) and ($5::boolean is null or u.active = $5)
  and ($6::text is null or lower(u.attributes->>'displayName') = lower($6))
  and ($7::text is null or exists (select 1 from jsonb_each(u.attributes) a, lateral jsonb_array_elements(
      case jsonb_typeof(a.value) when 'array' then a.value else '[]' end) e, lateral jsonb_each_text(
      case jsonb_typeof(e) when 'object' then e else '{}' end) v
    where lower(a.key) = 'emails' and lower(v.key) = 'value' and lower(v.value) = lower($7)))`;

const GROUP_FITS = `g.organisation = $1 and ($2::text is null or g.id = $2) and ($3::text is null or g.external_id = $3)
  and ($4::text is null or lower(g.display_name) = lower($4))
  and ($5::text is null or exists (select 1 from scim_member m where m.organisation = g.organisation
    and m.group_id = g.id and m.user_id = $5))`;

export class DirectoryStore {
  constructor(private readonly db: Database) {}

  async users(
    organisation: string,
    { id, externalId, userName, active, displayName, email }: DirectoryFilter,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<Found<DirectoryUser>> {
    const fits = [organisation, id, externalId, userName, active, displayName, email].map((one) => one ?? null);
    const [counted] = await this.db.query<{ n: number }>(
      `select count(*)::int as n from scim_user u where ${USER_FITS}`,
      fits,
    );
    const rows = await this.db.query<Stamped<DirectoryUser>>(
      `select ${USER} from scim_user u where ${USER_FITS} order by u.id offset $8 limit $9`,
      [...fits, offset, limit],
    );
    return { total: counted?.n ?? 0, items: rows.map(stamped) };
  }

  async groups(
    organisation: string,
    { id, externalId, displayName, member }: DirectoryFilter,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<Found<DirectoryGroup>> {
    const fits = [organisation, id, externalId, displayName, member].map((one) => one ?? null);
    const [counted] = await this.db.query<{ n: number }>(
      `select count(*)::int as n from scim_group g where ${GROUP_FITS}`,
      fits,
    );
    const rows = await this.db.query<Stamped<DirectoryGroup>>(
      `select ${GROUP} from scim_group g where ${GROUP_FITS} order by g.id offset $6 limit $7`,
      [...fits, offset, limit],
    );
    return { total: counted?.n ?? 0, items: rows.map(stamped) };
  }

  /** @throws Failure missing. */
  async user(tx: Queryable, organisation: string, id: string): Promise<DirectoryUser> {
    const [row] = await tx.query<Stamped<DirectoryUser>>(
      `select ${USER} from scim_user u where u.organisation = $1 and u.id = $2`,
      [organisation, id],
    );
    if (row === undefined) throw missing(`user ${id} does not exist`);
    return stamped(row);
  }

  /** @throws Failure missing. */
  async group(tx: Queryable, organisation: string, id: string): Promise<DirectoryGroup> {
    const [row] = await tx.query<Stamped<DirectoryGroup>>(
      `select ${GROUP} from scim_group g where g.organisation = $1 and g.id = $2`,
      [organisation, id],
    );
    if (row === undefined) throw missing(`group ${id} does not exist`);
    return stamped(row);
  }

  /** One change of the directory at a time, so that a change is made to what the one before it left. */
  async lock(tx: Queryable, organisation: string): Promise<void> {
    await waitForLock(tx, `bursar directory ${organisation}`);
  }

  /**
   * Adds a person, or writes one again. @param id null: a new one
   * @throws Failure conflict if another has the name, missing if nobody has the id
   */
  async saveUser(
    tx: Queryable,
    organisation: string,
    id: string | null,
    { userName, externalId, active, attributes }: UserFields,
    now: number,
  ): Promise<DirectoryUser> {
    const [other] = await tx.query<{ id: string }>(
      `select id from scim_user where organisation = $1 and lower(user_name) = lower($2) and id is distinct from $3`,
      [organisation, userName, id],
    );
    if (other !== undefined) throw conflict(`userName ${userName} is that of user ${other.id}`);
    if (id !== null) await fileNames(tx, organisation, [id]);
    const [saved] = await tx.query<{ id: string }>(
      id === null
        ? `insert into scim_user (organisation, id, user_name, external_id, active, attributes, created_at, updated_at)
           values ($1,$2,$3,$4,$5,$6,$7,$7) returning id`
        : `update scim_user set user_name = $3, external_id = $4, active = $5, attributes = $6, updated_at = $7
           where organisation = $1 and id = $2 returning id`,
      [organisation, id ?? randomUUID(), userName, externalId, active, JSON.stringify(attributes), new Date(now)],
    );
    if (saved === undefined) throw missing(`user ${id} does not exist`);
    await fileNames(tx, organisation, [saved.id]);
    return this.user(tx, organisation, saved.id);
  }

  /** @throws Failure missing. */
  async removeUser(tx: Queryable, organisation: string, id: string): Promise<DirectoryUser> {
    const user = await this.user(tx, organisation, id);
    for (const table of ['scim_member', 'directory_name'])
      await tx.query(`delete from ${table} where organisation = $1 and user_id = $2`, [organisation, id]);
    await tx.query(`delete from scim_user where organisation = $1 and id = $2`, [organisation, id]);
    return user;
  }

  /**
   * Adds a group, or writes one again. @param id null: a new one
   * @throws Failure conflict if another has the name, invalid if a member is no user, missing
   */
  async saveGroup(
    tx: Queryable,
    organisation: string,
    id: string | null,
    { displayName, externalId, members }: GroupFields,
    now: number,
  ): Promise<DirectoryGroup> {
    const [other] = await tx.query<{ id: string }>(
      `select id from scim_group where organisation = $1 and lower(display_name) = lower($2) and id is distinct from $3`,
      [organisation, displayName, id],
    );
    if (other !== undefined) throw conflict(`displayName ${displayName} is that of group ${other.id}`);
    const wanted = [...new Set(members)];
    const known = await tx.query<{ id: string }>(`select id from scim_user where organisation = $1 and id = any($2)`, [
      organisation,
      wanted,
    ]);
    const strangers = wanted.filter((member) => !known.some((one) => one.id === member));
    if (strangers.length > 0)
      throw invalid(
        'the group has members that are not users',
        strangers.slice(0, 20).map((one) => ({ path: 'members', message: `${one} is no user` })),
      );
    const [saved] = await tx.query<{ id: string }>(
      id === null
        ? `insert into scim_group (organisation, id, display_name, external_id, created_at, updated_at)
           values ($1,$2,$3,$4,$5,$5) returning id`
        : `update scim_group set display_name = $3, external_id = $4, updated_at = $5
           where organisation = $1 and id = $2 returning id`,
      [organisation, id ?? randomUUID(), displayName, externalId, new Date(now)],
    );
    if (saved === undefined) throw missing(`group ${id} does not exist`);
    await tx.query(`delete from scim_member where organisation = $1 and group_id = $2 and user_id <> all($3)`, [
      organisation,
      saved.id,
      wanted,
    ]);
    await tx.query(
      `insert into scim_member (organisation, group_id, user_id) select $1, $2, unnest($3::text[])
       on conflict do nothing`,
      [organisation, saved.id, wanted],
    );
    return this.group(tx, organisation, saved.id);
  }

  /** @throws Failure missing. */
  async removeGroup(tx: Queryable, organisation: string, id: string): Promise<DirectoryGroup> {
    const group = await this.group(tx, organisation, id);
    await tx.query(`delete from scim_member where organisation = $1 and group_id = $2`, [organisation, id]);
    await tx.query(`delete from scim_group where organisation = $1 and id = $2`, [organisation, id]);
    return group;
  }
}

/** Remembers by which subject somebody has signed in: what they opened and own is found by it later. */
export async function noteSubject(tx: Queryable, organisation: string, name: string, subject: string): Promise<void> {
  const rows = await tx.query<{ id: string }>(
    `update scim_user set subjects = array_append(subjects, $3::text)
     where organisation = $1 and (external_id = $2 or lower(user_name) = lower($2)) and $3::text <> all(subjects)
     returning id`,
    [organisation, name, subject],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await fileNames(tx, organisation, ids);
}

/**
 * The directory's data about a person who signs in with a name: the externalId, or the userName. Null: the directory
 * never reported the person. If several match, all must be open.
 */
export async function knownAs(db: Queryable, organisation: string, name: string): Promise<Known | null> {
  const rows = await db.query<{ active: boolean; groups: string[] }>(
    `select u.active, array(select g.display_name from scim_member m
         join scim_group g on g.organisation = m.organisation and g.id = m.group_id
         where m.organisation = u.organisation and m.user_id = u.id order by 1) as groups
     from scim_user u where u.organisation = $1 and (u.external_id = $2 or lower(u.user_name) = lower($2))`,
    [organisation, name],
  );
  if (rows.length === 0) return null;
  return { active: rows.every(({ active }) => active), groups: [...new Set(rows.flatMap(({ groups }) => groups))] };
}

const stamped = <T extends { readonly createdAt: Date; readonly updatedAt: Date }>(
  row: T,
): Omit<T, 'createdAt' | 'updatedAt'> & { createdAt: string; updatedAt: string } => ({
  ...row,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
