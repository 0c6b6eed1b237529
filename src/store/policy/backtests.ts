/**
 * Backtests requested through the API, and their reports. application/policy/vouch.ts writes the rows of a finished one
 * that vouch for a policy.
 *
 * A document is kept in the version at the request. The invariant: the result of a run counts only while no later run
 * of the same backtest has begun, so a run that was presumed dead and returns changes nothing.
 */
import type { BacktestReport } from '../../core/policy/backtest.js';
import type { BacktestWindow } from '../../core/policy/backtest-window.js';
import { conflict, type Problem } from '../../core/errors.js';
import type { PolicyDocument } from '../../core/policy/document.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import { enqueue } from '../work.js';
import { waitForLock } from '../locks.js';

/** The stage that runs them; the partition and the key are the backtest's id. */
export const RUN_BACKTEST = 'backtest.run';

export type BacktestStatus = 'queued' | 'running' | 'done' | 'failed';

export interface BacktestOrder extends BacktestWindow {
  readonly document: PolicyDocument;
  /** On whose history it runs, whatever teams the document is for. */
  readonly teams: readonly string[] | '*';
}

export interface BacktestError {
  readonly message: string;
  readonly problems: readonly Problem[];
}

export interface StoredBacktest {
  readonly id: string;
  readonly status: BacktestStatus;
  /** Share of the work that is done. */
  readonly progress: number;
  readonly document: PolicyDocument;
  readonly teams: readonly string[] | '*';
  readonly from: string;
  readonly to: string;
  readonly madeBy: string;
  readonly madeAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Why it failed. */
  readonly error: BacktestError | null;
}

/** One beginning of a backtest. */
export interface BegunBacktest extends BacktestOrder {
  readonly madeBy: string;
  /** Counts the beginnings. */
  readonly run: number;
}

interface Row {
  id: string;
  document: PolicyDocument;
  teams: string[] | null;
  from_at: Date;
  to_at: Date;
  status: BacktestStatus;
  progress: number;
  error: BacktestError | null;
  made_by: string;
  made_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

const COLUMNS =
  'id::text as id, document, teams, from_at, to_at, status, progress, error, made_by, made_at, started_at, finished_at';

/** The limit of one organisation's backtests, queued or running. */
const MOST_OPEN = 20;

const storedOf = (row: Row): StoredBacktest => ({
  id: row.id,
  status: row.status,
  progress: row.progress,
  document: row.document,
  teams: row.teams ?? '*',
  from: formatInstant(row.from_at.getTime()),
  to: formatInstant(row.to_at.getTime()),
  madeBy: row.made_by,
  madeAt: row.made_at.toISOString(),
  startedAt: row.started_at?.toISOString() ?? null,
  finishedAt: row.finished_at?.toISOString() ?? null,
  error: row.error,
});

export class BacktestStore {
  /** Keeps an order and has the line run it. @throws Failure conflict while too many others wait. */
  async order(
    tx: Transaction,
    organisation: string,
    { document, teams, from, to }: BacktestOrder,
    by: string,
    now: number,
  ): Promise<StoredBacktest> {
    await waitForLock(tx, 'bursar.backtest', organisation);
    const [open] = await tx.query<{ count: number }>(
      `select count(*)::int as count from backtest where organisation = $1 and status in ('queued', 'running')`,
      [organisation],
    );
    if ((open?.count ?? 0) >= MOST_OPEN)
      throw conflict(`${MOST_OPEN} backtests wait already: try again when some are done`);
    const [row] = await tx.query<Row>(
      `insert into backtest (organisation, document, teams, from_at, to_at, made_by, made_at) values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
      [
        organisation,
        JSON.stringify(document),
        teams === '*' ? null : teams,
        formatInstant(from),
        formatInstant(to),
        by,
        formatInstant(now),
      ],
    );
    if (row === undefined) throw new Error('broken invariant: an insert returns its row');
    await enqueue(tx, organisation, [{ stage: RUN_BACKTEST, partition: row.id, key: row.id }]);
    return storedOf(row);
  }

  /** Newest first. @param teams only those on the history of none but these teams; null: all */
  async list(
    db: Queryable,
    organisation: string,
    teams: readonly string[] | null,
    before: string | null,
    limit: number,
  ): Promise<StoredBacktest[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from backtest where organisation = $1 and ($2::bigint is null or id < $2) and ($3::text[] is null or teams <@ $3) order by backtest.id desc limit $4`,
      [organisation, before, teams, limit],
    );
    return this.withParked(db, organisation, rows.map(storedOf));
  }

  async get(db: Queryable, organisation: string, id: string): Promise<StoredBacktest | null> {
    const rows = await db.query<Row>(`select ${COLUMNS} from backtest where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    return (await this.withParked(db, organisation, rows.map(storedOf)))[0] ?? null;
  }

  /** The report of a finished one. */
  async result(db: Queryable, organisation: string, id: string): Promise<BacktestReport | null> {
    const [row] = await db.query<{ result: BacktestReport | null }>(
      `select result from backtest where organisation = $1 and id = $2`,
      [organisation, id],
    );
    return row?.result ?? null;
  }

  /** A run that broke off and is not tried again has failed, though nobody was left to write it down. */
  private async withParked(
    db: Queryable,
    organisation: string,
    all: readonly StoredBacktest[],
  ): Promise<StoredBacktest[]> {
    const open = all.filter(({ status }) => status === 'queued' || status === 'running').map(({ id }) => id);
    if (open.length === 0) return [...all];
    const rows = await db.query<{ partition: string }>(
      `select lane as partition from work where organisation = $1 and lane = any($2::text[]) and stage = $3 and parked_at is not null`,
      [organisation, open, RUN_BACKTEST],
    );
    const parked = new Set(rows.map(({ partition }) => partition));
    // The reason is for those who see the whole organisation: GET /v1/work has it.
    return all.map((one) =>
      parked.has(one.id)
        ? {
            ...one,
            status: 'failed',
            error: { message: 'it was interrupted; the work list has the reason', problems: [] },
          }
        : one,
    );
  }

  /** Begins it, or begins it again. Null: it is over, or gone. */
  async begin(db: Queryable, organisation: string, id: string, now: number): Promise<BegunBacktest | null> {
    const [row] = await db.query<Row & { runs: number }>(
      `update backtest set status = 'running', progress = 0, runs = runs + 1, started_at = $3 where organisation = $1 and id = $2 and status in ('queued', 'running') returning ${COLUMNS}, runs`,
      [organisation, id, formatInstant(now)],
    );
    if (row === undefined) return null;
    return {
      document: row.document,
      teams: row.teams ?? '*',
      from: row.from_at.getTime(),
      to: row.to_at.getTime(),
      madeBy: row.made_by,
      run: row.runs,
    };
  }

  /** Notes how far a run is. False: a later one has begun. */
  async progress(db: Queryable, organisation: string, id: string, run: number, share: number): Promise<boolean> {
    const rows = await db.query(
      `update backtest set progress = $4 where organisation = $1 and id = $2 and runs = $3 and status = 'running' returning 1 as noted`,
      [organisation, id, run, Math.min(1, Math.max(0, share))],
    );
    return rows.length > 0;
  }

  /** Ends a run with its report or its error. False: a later one has begun, and nothing is changed. */
  async end(
    tx: Transaction,
    organisation: string,
    id: string,
    run: number,
    outcome: { readonly report: BacktestReport } | { readonly error: BacktestError },
    now: number,
  ): Promise<boolean> {
    const [report, error] = 'report' in outcome ? [outcome.report, null] : [null, outcome.error];
    const rows = await tx.query(
      `update backtest set status = $4, result = $5, error = $6, finished_at = $7, progress = case when $4 = 'done' then 1 else progress end
       where organisation = $1 and id = $2 and runs = $3 and status = 'running' returning 1 as ended`,
      [
        organisation,
        id,
        run,
        report === null ? 'failed' : 'done',
        report === null ? null : JSON.stringify(report),
        error === null ? null : JSON.stringify(error),
        formatInstant(now),
      ],
    );
    return rows.length > 0;
  }
}
