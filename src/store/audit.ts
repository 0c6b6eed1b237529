/**
 * Who did what, and when: one entry per write, in the transaction of the write. Entries are added, never changed:
 * database triggers refuse changes, and seal each entry into a chain of hashes at its commit (docs/reference/audit.md).
 * If configured, old entries are removed from the beginning of the chain, which then becomes a checkpoint.
 */
import { hash } from 'node:crypto';
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

export interface AuditFilter {
  /** Whole, or the principal without its name: `key:0a1b2c3d4e5f`. */
  readonly actor?: string | undefined;
  readonly verb?: string | undefined;
  readonly target?: string | undefined;
  /** Epoch milliseconds; half-open. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** An entry with its place in the chain. */
export interface SealedEntry {
  /** From 1, without a gap. */
  readonly seq: string;
  /** SHA-256 of `text`, hexadecimal. */
  readonly hash: string;
  /** The JSON text that the hash is of; its first item is the hash before. */
  readonly text: string;
}

export interface AuditCheck {
  /** Whether every entry is as it was written, and none is missing from the chain. */
  readonly holds: boolean;
  readonly entries: number;
  /** Where the chain begins: the last entry of those that were dropped by age. Null: with the first that there ever was. */
  readonly since: { readonly seq: string; readonly hash: string; readonly droppedAt: string } | null;
  /** The chain's end: kept elsewhere, it shows later that nothing was cut off. Null: there is nothing. */
  readonly head: { readonly seq: string; readonly hash: string } | null;
  /** The first hundred. */
  readonly problems: readonly { readonly seq: string | null; readonly entry: string; readonly message: string }[];
}

/** Entries from the chain's beginning on, up to a place in it. */
export interface Droppable {
  readonly entries: number;
  readonly head: NonNullable<AuditCheck['head']>;
}

interface SealRow {
  readonly seq: string;
  readonly entry: string;
  readonly hash: string;
  /** Null: the entry is gone. */
  readonly at: string | null;
  readonly actor: string;
  readonly verb: string;
  readonly target: string;
  readonly detail: string;
}

const BEGINNING = '0'.repeat(64);
const PAGE = 5000;
const MOST_PROBLEMS = 100;

/** The text that an entry's hash is of; the database's function `audit_text` makes the same. */
const textOf = (organisation: string, previous: string, row: SealRow): string =>
  JSON.stringify([previous, organisation, row.seq, row.entry, row.at, row.actor, row.verb, row.target, row.detail]);

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
  async list(
    organisation: string,
    before: string | null,
    limit: number,
    { actor, verb, target, from, to }: AuditFilter = {},
  ): Promise<AuditEntry[]> {
    const instant = (at: number | undefined): Date | null => (at === undefined ? null : new Date(at));
    const rows = await this.db.query<Omit<AuditEntry, 'at'> & { at: Date }>(
      `select id::text as id, at, actor, verb, target, detail from audit
       where organisation = $1 and ($2::bigint is null or id < $2)
         and ($4::text is null or actor = $4 or starts_with(actor, $4 || ' (')) and ($5::text is null or verb = $5)
         and ($6::text is null or target = $6) and ($7::timestamptz is null or at >= $7)
         and ($8::timestamptz is null or at < $8)
       order by audit.id desc limit $3`,
      [organisation, before, limit, actor ?? null, verb ?? null, target ?? null, instant(from), instant(to)],
    );
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  }

  /** Entries in the order of the chain, after a place in it. */
  async sealed(organisation: string, after: string, limit: number): Promise<SealedEntry[]> {
    const rows = await this.seals(organisation, after, limit);
    let previous = await this.hashBefore(organisation, rows[0]?.seq ?? '1');
    return rows.map((row) => {
      const text = textOf(organisation, previous, row);
      previous = row.hash;
      return { seq: row.seq, hash: row.hash, text };
    });
  }

  /**
   * Works every hash out again, outside the database, from where entries were dropped last.
   * @param known the end of the chain as it was once: it must be in it still
   */
  async check(organisation: string, known: AuditCheck['head']): Promise<AuditCheck> {
    const dropped = await this.dropped(organisation);
    const since = dropped.at(-1) ?? null;
    const { entries, head, problems, isKnown } = await this.chain(organisation, since, null, known);
    const unsealed = await this.db.query<{ id: string }>(
      `select a.id::text as id from audit a left join audit_seal s on s.organisation = a.organisation and s.entry = a.id
       where a.organisation = $1 and s.seq is null order by a.id limit ${MOST_PROBLEMS}`,
      [organisation],
    );
    problems.push(...unsealed.map(({ id }) => ({ seq: null, entry: id, message: 'the entry is not in the chain' })));
    const isFound = isKnown || dropped.some(({ seq, hash: at }) => seq === known?.seq && at === known.hash);
    if (known !== null && !isFound)
      problems.push({
        seq: known.seq,
        entry: '',
        message:
          since !== null && Number(known.seq) < Number(since.seq)
            ? `the end that was kept lies among entries that were dropped by age, up to ${since.seq}: it cannot be looked for`
            : 'the end that was kept is not (or no longer) in the chain',
      });
    return { holds: problems.length === 0, entries, since, head, problems: problems.slice(0, MOST_PROBLEMS) };
  }

  /**
   * The entries before an instant that may go: of a chain that holds up to there, and nothing that a collector still
   * waits for. Null: there are none.
   * @param before epoch milliseconds
   * @param taken the last place that every collector has; null: there is none
   */
  async droppable(organisation: string, before: number, taken: string | null): Promise<Droppable | null> {
    const [row] = await this.db.query<{ to: string | null }>(
      `select (least((select min(s.seq) from audit_seal s left join audit a on a.organisation = s.organisation and a.id = s.entry
           where s.organisation = $1 and (a.at is null or a.at >= $2)),
         (select max(seq) from audit_seal where organisation = $1), $3::bigint + 1) - 1)::text as to`,
      [organisation, new Date(before), taken],
    );
    const since = (await this.dropped(organisation)).at(-1) ?? null;
    const to = row?.to ?? '0';
    if (Number(to) <= Number(since?.seq ?? 0)) return null;
    const { entries, head, problems } = await this.chain(organisation, since, to, null);
    return problems.length > 0 || head === null ? null : { entries, head };
  }

  /** Drops them and enters that; the last one stays as a checkpoint. The database refuses what is less than a year old. */
  async drop(tx: Queryable, organisation: string, { entries, head }: Droppable): Promise<void> {
    const [row] = await tx.query<{ gone: string }>(`select drop_audit($1, $2::bigint)::text as gone`, [
      organisation,
      head.seq,
    ]);
    // Another process was faster.
    if (row?.gone === '0') return;
    await this.audit(tx, organisation, 'bursar', 'audit.drop', 'audit', { entries, to: `${head.seq}:${head.hash}` });
  }

  /** The chain after a place, up to another, with what does not fit. */
  private async chain(
    organisation: string,
    since: AuditCheck['head'],
    to: string | null,
    known: AuditCheck['head'],
  ): Promise<{
    readonly entries: number;
    readonly head: AuditCheck['head'];
    readonly problems: AuditCheck['problems'][number][];
    readonly isKnown: boolean;
  }> {
    const problems: AuditCheck['problems'][number][] = [];
    let head: AuditCheck['head'] = since === null ? null : { seq: since.seq, hash: since.hash };
    let isKnown = known === null;
    let entries = 0;
    for (;;) {
      const all: SealRow[] = await this.seals(organisation, head?.seq ?? '0', PAGE);
      const rows = to === null ? all : all.filter(({ seq }) => Number(seq) <= Number(to));
      for (const row of rows) {
        const expected = String(Number(head?.seq ?? 0) + 1);
        const text = textOf(organisation, head?.hash ?? BEGINNING, row);
        const message =
          row.seq !== expected
            ? `place ${expected} of the chain is missing`
            : row.at === null
              ? 'the entry is missing'
              : hash('sha256', text) === row.hash
                ? null
                : 'the entry, or the one before it, is not as it was written';
        if (message !== null) problems.push({ seq: row.seq, entry: row.entry, message });
        head = { seq: row.seq, hash: row.hash };
        isKnown ||= known?.seq === row.seq && known.hash === row.hash;
        entries++;
      }
      if (rows.length < PAGE) return { entries, head, problems, isKnown };
    }
  }

  /** Where entries were dropped, in order. */
  private async dropped(organisation: string): Promise<NonNullable<AuditCheck['since']>[]> {
    const rows = await this.db.query<{ seq: string; hash: string; at: Date }>(
      `select seq::text as seq, encode(hash, 'hex') as hash, dropped_at as at from audit_checkpoint
       where organisation = $1 order by audit_checkpoint.seq`,
      [organisation],
    );
    return rows.map(({ at, ...row }) => ({ ...row, droppedAt: at.toISOString() }));
  }

  private seals(organisation: string, after: string, limit: number): Promise<SealRow[]> {
    return this.db.query<SealRow>(
      `select s.seq::text as seq, s.entry::text as entry, encode(s.hash, 'hex') as hash,
         to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
         a.actor, a.verb, a.target, a.detail::text as detail
       from audit_seal s left join audit a on a.organisation = s.organisation and a.id = s.entry
       where s.organisation = $1 and s.seq > $2::bigint order by s.seq limit $3`,
      [organisation, after, limit],
    );
  }

  /** The hash that an entry's own is made with. */
  private async hashBefore(organisation: string, seq: string): Promise<string> {
    const [row] = await this.db.query<{ hash: string }>(
      `select encode(hash, 'hex') as hash from audit_seal where organisation = $1 and seq = $2::bigint - 1
       union all select encode(hash, 'hex') from audit_checkpoint where organisation = $1 and seq = $2::bigint - 1`,
      [organisation, seq],
    );
    return row?.hash ?? BEGINNING;
  }
}
