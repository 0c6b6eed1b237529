/**
 * Incoming requests from Slack, each taken once, and the Bursar key of each Slack user.
 *
 * A person in Slack may do what the key may do, and nothing once it is revoked. A request is stored under the digest of
 * its signature, so that a repetition is recognised; the line processes it. Stored requests are deleted after a day,
 * long after their timestamp has expired.
 */
import type { Act, Message } from '../../core/alert/message.js';
import { missing } from '../../core/errors.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import { keyScopes, teamsBelow, type Principal } from '../access/keys.js';
import { customScopes } from '../access/roles.js';
import { enqueue } from '../work.js';

export const ANSWER = 'answer.take';

/** The person who asks, by Slack's ids. */
export interface SlackPerson {
  readonly workspace: string;
  readonly user: string;
}

/** The request of a person in Slack. */
export type SlackQuestion = SlackPerson & {
  /** The address for the answer. */
  readonly replyTo: string;
} & (
    | { readonly kind: 'press'; readonly act: Act; readonly alert: string }
    | { readonly kind: 'command'; readonly text: string }
  );

export interface SlackRequest {
  readonly digest: string;
  readonly question: SlackQuestion;
  /** The answer; null: not processed yet. */
  readonly reply: Message | null;
  readonly isReplied: boolean;
}

export interface SlackUser extends SlackPerson {
  /** Id of the API key whose rights the person has. */
  readonly key: string;
  readonly keyName: string;
  /** Null: the key was given its scopes one by one. */
  readonly role: string | null;
  readonly teams: readonly string[] | null;
  readonly isRevoked: boolean;
  readonly madeBy: string;
}

const KEPT_MS = DAY_MS;
const MOST_PEOPLE = 5;

type Row = SlackUser & { readonly scopes: string[] | null };

const USERS = `select u.workspace, u.slack_user as "user", u.api_key as key, k.name as "keyName", k.role, k.scopes,
  k.teams, k.revoked_at is not null as "isRevoked", u.made_by as "madeBy"
  from slack_user u join api_key k on k.organisation = u.organisation and k.id = u.api_key where u.organisation = $1`;

export class SlackDesk {
  /** Takes a request in and enqueues its work; false: the same was taken before, and nothing follows. */
  async take(
    tx: Queryable,
    organisation: string,
    digest: string,
    question: SlackQuestion,
    now: number,
  ): Promise<boolean> {
    await tx.query(`delete from slack_request where organisation = $1 and received_at < $2`, [
      organisation,
      formatInstant(now - KEPT_MS),
    ]);
    const rows = await tx.query(
      `insert into slack_request (organisation, digest, question, received_at) values ($1, $2, $3, $4) on conflict do nothing returning 1 as taken`,
      [organisation, digest, JSON.stringify(question), formatInstant(now)],
    );
    if (rows.length === 0) return false;
    await enqueue(tx, organisation, [{ stage: ANSWER, partition: 'slack', key: digest, urgent: true }]);
    return true;
  }

  async request(db: Queryable, organisation: string, digest: string): Promise<SlackRequest | null> {
    const [row] = await db.query<{ question: SlackQuestion; reply: Message | null; replied: boolean }>(
      `select question, reply, replied_at is not null as replied from slack_request where organisation = $1 and digest = $2`,
      [organisation, digest],
    );
    return row === undefined ? null : { digest, question: row.question, reply: row.reply, isReplied: row.replied };
  }

  /** Notes the answer, in the transaction of what was asked for; false: another worker has answered. */
  async answer(tx: Transaction, organisation: string, digest: string, reply: Message, now: number): Promise<boolean> {
    return (
      (
        await tx.query(
          `update slack_request set reply = $3, done_at = $4 where organisation = $1 and digest = $2 and done_at is null returning 1 as done`,
          [organisation, digest, JSON.stringify(reply), formatInstant(now)],
        )
      ).length > 0
    );
  }

  /** Notes that the answer is about to be sent; false: it was. */
  async reply(db: Queryable, organisation: string, digest: string, now: number): Promise<boolean> {
    return (
      (
        await db.query(
          `update slack_request set replied_at = $3 where organisation = $1 and digest = $2 and replied_at is null returning 1 as mine`,
          [organisation, digest, formatInstant(now)],
        )
      ).length > 0
    );
  }

  async users(db: Queryable, organisation: string): Promise<SlackUser[]> {
    return (await db.query<Row>(`${USERS} order by u.workspace, u.slack_user`, [organisation])).map(userOf);
  }

  /**
   * Slack users whose key is restricted to teams that include this one, at most MOST_PEOPLE; users of teams below it
   * and users who may see everything are left out. `now` is in epoch milliseconds.
   */
  async peopleOf(db: Queryable, organisation: string, team: string, now: number): Promise<string[]> {
    const rows = await db.query<Row>(
      `${USERS} and $2 = any(k.teams) and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
       order by u.workspace, u.slack_user limit ${MOST_PEOPLE}`,
      [organisation, team, formatInstant(now)],
    );
    return rows.map(({ user }) => user);
  }

  /** @throws Failure missing for a key that is not there or revoked. */
  async connect(
    tx: Queryable,
    organisation: string,
    { workspace, user }: SlackPerson,
    key: string,
    by: string,
    now: number,
  ): Promise<{ readonly person: SlackUser; readonly changed: boolean }> {
    const [known] = await tx.query(`select 1 from api_key where organisation = $1 and id = $2 and revoked_at is null`, [
      organisation,
      key,
    ]);
    if (known === undefined) throw missing(`key ${key} does not exist, or is revoked`);
    const changed = await tx.query(
      `insert into slack_user (organisation, workspace, slack_user, api_key, made_by, made_at) values ($1, $2, $3, $4, $5, $6)
       on conflict (organisation, workspace, slack_user) do update set api_key = excluded.api_key, made_by = excluded.made_by, made_at = excluded.made_at
       where slack_user.api_key <> excluded.api_key returning 1 as changed`,
      [organisation, workspace, user, key, by, formatInstant(now)],
    );
    return { person: await this.known(tx, organisation, { workspace, user }), changed: changed.length > 0 };
  }

  /** @throws Failure missing. */
  async disconnect(tx: Queryable, organisation: string, person: SlackPerson): Promise<SlackUser> {
    const found = await this.known(tx, organisation, person);
    await tx.query(`delete from slack_user where organisation = $1 and workspace = $2 and slack_user = $3`, [
      organisation,
      person.workspace,
      person.user,
    ]);
    return found;
  }

  private async known(db: Queryable, organisation: string, { workspace, user }: SlackPerson): Promise<SlackUser> {
    const [row] = await db.query<Row>(`${USERS} and u.workspace = $2 and u.slack_user = $3`, [
      organisation,
      workspace,
      user,
    ]);
    if (row === undefined) throw missing(`the Slack user ${user} of ${workspace} is not connected`);
    return userOf(row);
  }

  /**
   * The principal whose rights a person in Slack has, including the teams below; null: none, or the key is revoked or
   * has expired. `now` is in epoch milliseconds.
   */
  async principal(
    db: Queryable,
    organisation: string,
    { workspace, user }: SlackPerson,
    now: number,
  ): Promise<Principal | null> {
    const [row] = await db.query<Row>(
      `${USERS} and u.workspace = $2 and u.slack_user = $3 and k.revoked_at is null
         and (k.expires_at is null or k.expires_at > $4)`,
      [organisation, workspace, user, formatInstant(now)],
    );
    if (row === undefined) return null;
    const { key: id, keyName: name, role } = row;
    return {
      organisation,
      id,
      name,
      role,
      scopes: keyScopes(row, await customScopes(db, organisation, role === null ? [] : [role])),
      teams: row.teams === null ? null : await teamsBelow(db, organisation, row.teams),
    };
  }
}

function userOf(row: Row): SlackUser {
  const { scopes: _, ...user } = row;
  return user;
}
