/**
 * Who did what, when: one entry per write, in the transaction of the write. Entries are added, never changed.
 */
import type { Queryable } from './database.js';

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  /** `key:<id> (<name>)`, or how the command line names its user. */
  readonly actor: string;
  /** `team.save`, `key.revoke`, ... */
  readonly verb: string;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export class AuditStore {
  constructor(private readonly db: Queryable) {}

  /** Adds an entry. `detail` is plain JSON and holds no secret. */
  async audit(
    tx: Queryable,
    organisation: string,
    actor: string,
    verb: string,
    target: string,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await tx.query(`insert into audit (organisation, actor, verb, target, detail) values ($1, $2, $3, $4, $5)`, [
      organisation,
      actor,
      verb,
      target,
      JSON.stringify(detail),
    ]);
  }

  /** Adds several entries of one verb, in order. */
  async auditAll(
    tx: Queryable,
    organisation: string,
    verb: string,
    entries: readonly {
      readonly actor: string;
      readonly target: string;
      readonly detail?: Readonly<Record<string, unknown>>;
    }[],
  ): Promise<void> {
    await tx.query(
      `insert into audit (organisation, actor, verb, target, detail) select $1, actor, $2, target, detail::jsonb from unnest($3::text[], $4::text[], $5::text[]) with ordinality as e(actor, target, detail, n) order by n`,
      [
        organisation,
        verb,
        entries.map(({ actor }) => actor),
        entries.map(({ target }) => target),
        entries.map(({ detail }) => JSON.stringify(detail ?? {})),
      ],
    );
  }

  /** Newest first; `before` is the id of the last one seen. */
  async list(organisation: string, before: string | null, limit: number): Promise<AuditEntry[]> {
    const rows = await this.db.query<Omit<AuditEntry, 'at'> & { at: Date }>(
      `select id::text as id, at, actor, verb, target, detail from audit
       where organisation = $1 and ($2::bigint is null or id < $2) order by audit.id desc limit $3`,
      [organisation, before, limit],
    );
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  }
}
