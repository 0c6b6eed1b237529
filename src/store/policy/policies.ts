/**
 * Applied policy documents, and the backtests that vouch for them.
 *
 * A document is validated before it arrives here (core/policy/document.ts); set-policy.ts checks whether it may
 * enforce. Without any document the defaults apply; no table contains them.
 */
import { missing } from '../../core/errors.js';
import { authorsAfter, type Authors } from '../../core/policy/authors.js';
import { defaultDocuments, type PolicyDocument } from '../../core/policy/document.js';
import type { Policy } from '../../core/policy/policy.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { isShared } from '../access/organisation.js';
import { enqueueUrgent } from '../work.js';

export interface StoredPolicy extends PolicyDocument {
  /** It holds because nobody has written any document. */
  readonly isDefault: boolean;
  readonly paused: boolean;
  /** Raised with every change. */
  readonly version: number;
  /** Null for a default. */
  readonly updatedAt: string | null;
  readonly updatedBy: string | null;
  /** When it was last paused or resumed, and by whom; null if nobody has. */
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
}

export interface PolicyBacktest {
  readonly fingerprint: string;
  readonly policy: string;
  readonly policyVersion: number;
  readonly team: string;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly result: unknown;
}

interface Row {
  spec: PolicyDocument;
  paused: boolean;
  version: number;
  updated_at: Date;
  updated_by: string | null;
  paused_at: Date | null;
  paused_by: string | null;
}

const COLUMNS = 'spec, paused, version, updated_at, updated_by, paused_at, paused_by';

const storedOf = ({ spec, paused, version, updated_at, updated_by, paused_at, paused_by }: Row): StoredPolicy => ({
  ...spec,
  isDefault: false,
  paused,
  version,
  updatedAt: updated_at.toISOString(),
  updatedBy: updated_by,
  pausedAt: paused_at?.toISOString() ?? null,
  pausedBy: paused_by,
});

/** When each document was last written or resumed, by its name. */
export async function documentsSince(db: Queryable, organisation: string): Promise<Record<string, number>> {
  const rows = await db.query<{ name: string; at: Date }>(
    `select id as name, greatest(updated_at, paused_at) as at from policy where organisation = $1`,
    [organisation],
  );
  return Object.fromEntries(rows.map(({ name, at }) => [name, at.getTime()]));
}

export class PolicyStore {
  /** The documents in force: by name, or the defaults if there is none. */
  async list(db: Queryable, organisation: string, policies: readonly Policy[]): Promise<StoredPolicy[]> {
    const rows = await db.query<Row>(`select ${COLUMNS} from policy where organisation = $1 order by id`, [
      organisation,
    ]);
    if (rows.length > 0) return rows.map(storedOf);
    return defaultDocuments(policies).map((document) => ({
      ...document,
      isDefault: true,
      paused: false,
      version: 0,
      updatedAt: null,
      updatedBy: null,
      pausedAt: null,
      pausedBy: null,
    }));
  }

  async get(db: Queryable, organisation: string, name: string): Promise<StoredPolicy | null> {
    const [row] = await db.query<Row>(`select ${COLUMNS} from policy where organisation = $1 and id = $2`, [
      organisation,
      name,
    ]);
    return row === undefined ? null : storedOf(row);
  }

  /** Adds or changes a document, which was checked. A repetition changes nothing, not even its version. */
  async save(
    tx: Queryable,
    organisation: string,
    document: PolicyDocument,
    by: string,
    now: number,
  ): Promise<StoredPolicy> {
    const [before] = await tx.query<{ spec: PolicyDocument; authors: Authors; updated_by: string }>(
      `select spec, authors, updated_by from policy where organisation = $1 and id = $2 for update`,
      [organisation, document.name],
    );
    const written =
      before === undefined ? null : { document: before.spec, authors: before.authors, otherwise: before.updated_by };
    await tx.query(
      `insert into policy (organisation, id, spec, updated_at, updated_by, authors) values ($1, $2, $3, $4, $5, $6)
       on conflict (organisation, id) do update set spec = excluded.spec, updated_at = excluded.updated_at, updated_by = excluded.updated_by, authors = excluded.authors, version = policy.version + 1
         where policy.spec <> excluded.spec`,
      [
        organisation,
        document.name,
        JSON.stringify(document),
        formatInstant(now),
        by,
        JSON.stringify(authorsAfter(written, document, by)),
      ],
    );
    return this.known(tx, organisation, document.name);
  }

  /** All authors of the document's present content, and its last author. */
  async authors(db: Queryable, organisation: string, name: string): Promise<string[]> {
    const [row] = await db.query<{ authors: Authors; updated_by: string }>(
      `select authors, updated_by from policy where organisation = $1 and id = $2`,
      [organisation, name],
    );
    return row === undefined ? [] : [...new Set([row.updated_by, ...Object.values(row.authors)])];
  }

  /**
   * The author of the document stays its author: pausing does not change the content.
   * @throws Failure missing, also for a default: nobody has applied it.
   */
  async setPaused(
    tx: Queryable,
    organisation: string,
    name: string,
    paused: boolean,
    by: string,
    now: number,
  ): Promise<StoredPolicy> {
    await tx.query(
      `update policy set paused = $3, paused_at = $4, paused_by = $5, version = version + 1 where organisation = $1 and id = $2 and paused <> $3`,
      [organisation, name, paused, formatInstant(now), by],
    );
    return this.known(tx, organisation, name);
  }

  /** @throws Failure missing if nobody has applied a document of the name. */
  async known(db: Queryable, organisation: string, name: string): Promise<StoredPolicy> {
    const found = await this.get(db, organisation, name);
    if (found === null) throw missing(`nobody has applied a policy document with the name ${name}`);
    return found;
  }

  async saveBacktest(
    tx: Queryable,
    organisation: string,
    { fingerprint, policy, policyVersion, team, from, to, result }: PolicyBacktest,
    by: string,
    now: number,
  ): Promise<void> {
    await tx.query(
      `insert into policy_backtest (organisation, fingerprint, policy, policy_version, team, from_at, to_at, result, made_at, made_by)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        organisation,
        fingerprint,
        policy,
        policyVersion,
        team,
        formatInstant(from),
        formatInstant(to),
        JSON.stringify(result),
        formatInstant(now),
        by,
      ],
    );
  }

  /** Teams on whose history exactly this policy, version and parameters were backtested. */
  async backtested(db: Queryable, organisation: string, fingerprint: string): Promise<Set<string>> {
    const rows = await db.query<{ team: string }>(
      `select distinct team from policy_backtest where organisation = $1 and md5(fingerprint) = md5($2::text) and fingerprint = $2`,
      [organisation, fingerprint],
    );
    return new Set(rows.map(({ team }) => team));
  }

  /** Every team that has use, a budget or a name, without the stand-ins of shared costs. */
  async teams(db: Queryable, organisation: string): Promise<string[]> {
    return (await this.everyTeam(db, organisation)).filter((team) => !isShared(team));
  }

  private async everyTeam(db: Queryable, organisation: string): Promise<string[]> {
    const rows = await db.query<{ team: string }>(
      `select id as team from team where organisation = $1 union select lane from work where organisation = $1 and stage = 'recommendation.make' order by 1`,
      [organisation],
    );
    return rows.map(({ team }) => team);
  }

  /** Has the line look at every team that a document is for. */
  async enqueueTeams(tx: Queryable, organisation: string, { teams }: Pick<PolicyDocument, 'teams'>): Promise<void> {
    const all = teams === '*' ? await this.everyTeam(tx, organisation) : teams;
    await enqueueUrgent(
      tx,
      organisation,
      all.map((team) => ({ stage: 'recommendation.make', partition: team, key: team })),
    );
  }
}
