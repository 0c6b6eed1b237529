/**
 * Every name that an account of the directory has or ever had: userName, externalId, e-mail addresses, and the subjects
 * of its sign-ins. A key or a session of the account is found by any of them, so that a rename hides nothing. They go
 * when the account is removed.
 *
 * A name is kept as the digest of its folded form (core/text.ts), which is equal for equal names and always short.
 */
import { hash } from 'node:crypto';
import { foldedName } from '../../core/text.js';
import type { Queryable } from '../database.js';

/**
 * Names of one account, by digest. Null: every key with the name is the account's. A time (epoch milliseconds): the
 * account had the name earlier, and another account has had it since then.
 */
export type AccountNames = ReadonlyMap<string, number | null>;

interface Unfiled {
  readonly id: string;
  readonly userName: string;
  readonly externalId: string | null;
  readonly subjects: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly mark: string;
}

/** Tells whether an account's names have changed since they were filed: the version before does not file them. */
const MARK = `encode(sha256(convert_to(jsonb_build_array(u.user_name, u.external_id, to_jsonb(u.subjects), u.attributes)::text,
  'UTF8')), 'hex')`;

/** Null for a name that consists of nothing. */
export function nameDigest(name: string): string | null {
  const folded = foldedName(name);
  return folded === '' ? null : hash('sha256', folded, 'hex');
}

/** Files the names that accounts have now. @param ids null: of all accounts */
export async function fileNames(tx: Queryable, organisation: string, ids: readonly string[] | null): Promise<void> {
  const users = await tx.query<Unfiled>(
    `select * from (select u.id, u.user_name as "userName", u.external_id as "externalId", u.subjects, u.attributes,
         u.filed, ${MARK} as mark
       from scim_user u where u.organisation = $1 and ($2::text[] is null or u.id = any($2))) t
     where filed is distinct from mark order by id`,
    [organisation, ids],
  );
  if (users.length === 0) return;
  const names = users.flatMap((user) => digestsOf(user).map((name) => ({ user: user.id, name })));
  const columns = [names.map(({ name }) => name), names.map(({ user }) => user)];
  await tx.query(
    `insert into directory_name (organisation, name, user_id, held_since)
     select $1, name, user_id, now() from unnest($2::text[], $3::text[]) as n (name, user_id)
     on conflict (organisation, name, user_id) do update set held_since = excluded.held_since, held_until = null
       where directory_name.held_until is not null`,
    [organisation, ...columns],
  );
  await tx.query(
    `update directory_name d set held_until = now()
     where d.organisation = $1 and d.user_id = any($4::text[]) and d.held_until is null
       and (d.name, d.user_id) not in (select name, user_id from unnest($2::text[], $3::text[]) as n (name, user_id))`,
    [organisation, ...columns, users.map(({ id }) => id)],
  );
  await tx.query(
    `update scim_user u set filed = f.mark from unnest($2::text[], $3::text[]) as f (id, mark)
     where u.organisation = $1 and u.id = f.id`,
    [organisation, users.map(({ id }) => id), users.map(({ mark }) => mark)],
  );
}

/** Every name that an account has or had. */
export async function namesOfAccount(tx: Queryable, organisation: string, id: string): Promise<AccountNames> {
  await fileNames(tx, organisation, [id]);
  const rows = await tx.query<{ name: string; takenAt: Date | null }>(
    `select d.name, case when d.held_until is not null then
         (select min(o.held_since) from directory_name o where o.organisation = d.organisation and o.name = d.name
           and o.user_id <> d.user_id and o.held_until is null) end as "takenAt"
     from directory_name d where d.organisation = $1 and d.user_id = $2`,
    [organisation, id],
  );
  return new Map(rows.map(({ name, takenAt }) => [name, takenAt?.getTime() ?? null]));
}

/** Ids of the accounts that have or had each of these names (digests). */
export async function accountsCalled(
  tx: Queryable,
  organisation: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  await fileNames(tx, organisation, null);
  const rows = await tx.query<{ name: string; ids: string[] }>(
    `select name, array_agg(user_id order by user_id) as ids from directory_name
     where organisation = $1 and name = any($2::text[]) group by name`,
    [organisation, names],
  );
  return new Map(rows.map(({ name, ids }) => [name, ids]));
}

function digestsOf({ userName, externalId, subjects, attributes }: Unfiled): string[] {
  const names = [userName, ...(externalId === null ? [] : [externalId]), ...subjects, ...addressesIn(attributes)];
  return [...new Set(names.flatMap((name) => nameDigest(name) ?? []))];
}

/** Addresses, however the names of attributes are written: rows of earlier versions have them as they were sent. */
const addressesIn = (attributes: Readonly<Record<string, unknown>>): string[] =>
  under(attributes, 'emails')
    .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : [list]))
    .flatMap((one) => under(one, 'value'))
    .filter((value) => typeof value === 'string');

const under = (holder: unknown, name: string): unknown[] =>
  typeof holder === 'object' && holder !== null
    ? Object.entries(holder).flatMap(([key, value]: [string, unknown]) => (key.toLowerCase() === name ? [value] : []))
    : [];
