/**
 * The refusals and warnings of the admission webhook: one row per team, workload and day, with counts, kept for a while
 * and then dropped. A review hands over a note and waits for nothing: notes are summed in memory and written after the
 * answer, many in one statement and one statement at a time. If the database cannot be reached, notes stay in memory up
 * to a bound; further notes are dropped and counted. A write whose answer is lost may count twice: these figures are
 * for people, and nothing is decided by them.
 */
import type { AdmissionNote, ObjectionReason } from '../../core/budget/admission.js';
import { stated, notStated, type Stated } from '../../core/report/report.js';
import { isStorable } from '../../core/text.js';
import { dayLabel, formatInstant, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';

/** More than a year, so that a month can be compared with that of the year before. */
export const KEPT_DAYS = 400;
/** Rows and days in memory: a minute of a database that is away, at a hundred new workloads a second. */
const MOST_PENDING = 6000;
/** Between two tries to write, where one failed. */
const PAUSE_MS = 5000;

export interface StoredAdmission {
  readonly team: string;
  /** `YYYY-MM-DD` in the team's zone. */
  readonly day: string;
  /** Empty: nobody said which. */
  readonly cluster: string;
  readonly namespace: string;
  readonly workload: string;
  readonly refused: number;
  readonly warned: number;
  readonly reasons: readonly ObjectionReason[];
  /** The last message. */
  readonly message: string;
  readonly firstAt: string;
  readonly lastAt: string;
}

export interface AdmissionFilter {
  readonly team: string | null;
  /** Null: of all. */
  readonly teams: readonly string[] | null;
  /** `YYYY-MM-DD`, half-open; null: open. */
  readonly from: string | null;
  readonly to: string | null;
}

interface PendingRow extends Omit<AdmissionNote, 'outcome' | 'reasons'> {
  readonly organisation: string;
  readonly day: string;
  refused: number;
  warned: number;
  reasons: Set<ObjectionReason>;
  message: string;
  readonly firstAt: number;
  lastAt: number;
}

interface PendingDay {
  readonly organisation: string;
  readonly day: string;
  reviewed: number;
}

/** The addition of one review. */
export interface Review {
  readonly organisation: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly notes: readonly AdmissionNote[];
  /** IANA name of a team's zone. */
  zoneOf(team: string): string;
}

const KEYS = ['team', 'day', 'cluster', 'namespace', 'workload'] as const;
const placeOfRow = (row: Pick<StoredAdmission, (typeof KEYS)[number]>): string =>
  JSON.stringify(KEYS.map((key) => row[key]));

export class AdmissionStore {
  private rows = new Map<string, PendingRow>();
  private days = new Map<string, PendingDay>();
  private writing: Promise<void> | null = null;
  private paused: NodeJS.Timeout | null = null;
  /** Organisations and days whose old rows have been dropped. */
  private readonly pruned = new Set<string>();
  private droppedNotes = 0;
  /** Told why a write failed; it is tried again. */
  onFailure: (error: unknown) => void = () => undefined;

  constructor(
    private readonly db: Queryable,
    private readonly pauseMs = PAUSE_MS,
  ) {}

  /** Notes of this process that were dropped, since its start. */
  get dropped(): number {
    return this.droppedNotes;
  }

  /** Takes a review down. Never waits and never fails. */
  note({ organisation, at, notes, zoneOf }: Review): void {
    const day = dayLabel(at, 'UTC');
    const reviewed = this.days.get(`${organisation} ${day}`);
    if (reviewed !== undefined) reviewed.reviewed += 1;
    else if (this.days.size < MOST_PENDING) this.days.set(`${organisation} ${day}`, { organisation, day, reviewed: 1 });
    for (const note of notes) this.add(organisation, note, dayLabel(at, zoneOf(note.team)), at);
    if (this.writing === null && this.paused === null) this.writing = this.writeAll();
  }

  private add(organisation: string, { outcome, reasons, ...note }: AdmissionNote, day: string, at: number): void {
    const name = JSON.stringify([organisation, day, note.team, note.cluster, note.namespace, note.workload]);
    let row = this.rows.get(name);
    if (row === undefined) {
      if (this.rows.size >= MOST_PENDING) {
        this.droppedNotes += 1;
        return;
      }
      this.rows.set(
        name,
        (row = { ...note, organisation, day, refused: 0, warned: 0, reasons: new Set(), firstAt: at, lastAt: at }),
      );
    }
    row[outcome] += 1;
    for (const reason of reasons) row.reasons.add(reason);
    if (at < row.lastAt) return;
    row.message = note.message;
    row.lastAt = at;
  }

  /** Until everything that has been noted is written, or a write has failed. */
  async settled(): Promise<void> {
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    // The answer goes out first.
    await new Promise(setImmediate);
    try {
      while (this.rows.size > 0 || this.days.size > 0) await this.writeOnce();
    } catch (error) {
      this.onFailure(error);
      this.paused = setTimeout(() => {
        this.paused = null;
        this.writing ??= this.writeAll();
      }, this.pauseMs).unref();
    } finally {
      this.writing = null;
    }
  }

  /** Leaves what it could not write where it was, with what came meanwhile added. */
  private async writeOnce(): Promise<void> {
    const [rows, days] = [this.rows, this.days];
    [this.rows, this.days] = [new Map(), new Map()];
    try {
      for (const organisation of new Set([...days.values(), ...rows.values()].map((one) => one.organisation))) {
        const own = [...rows].filter(([, row]) => row.organisation === organisation);
        await this.save(
          organisation,
          own.map(([, row]) => row),
        );
        // Written rows are not written again, whatever fails later.
        for (const [name] of own) rows.delete(name);
        for (const [name, one] of [...days].filter(([, each]) => each.organisation === organisation)) {
          await this.db.query(
            `insert into admission_day (organisation, day, reviewed) values ($1, $2, $3) on conflict (organisation, day) do update set reviewed = admission_day.reviewed + excluded.reviewed`,
            [organisation, one.day, one.reviewed],
          );
          days.delete(name);
          await this.prune(organisation, one.day);
        }
      }
    } catch (error) {
      this.takeBack(rows, days);
      throw error;
    }
  }

  private takeBack(rows: ReadonlyMap<string, PendingRow>, days: ReadonlyMap<string, PendingDay>): void {
    for (const [name, old] of rows) {
      const newer = this.rows.get(name);
      if (newer === undefined && this.rows.size >= MOST_PENDING) this.droppedNotes += old.refused + old.warned;
      else if (newer === undefined) this.rows.set(name, old);
      else
        this.rows.set(name, {
          ...newer,
          refused: newer.refused + old.refused,
          warned: newer.warned + old.warned,
          reasons: new Set([...old.reasons, ...newer.reasons]),
          firstAt: old.firstAt,
        });
    }
    for (const [name, old] of days) {
      const newer = this.days.get(name);
      if (newer === undefined) this.days.set(name, old);
      else newer.reviewed += old.reviewed;
    }
  }

  /** In one order, so that two processes never wait for each other. */
  private async save(organisation: string, rows: readonly PendingRow[]): Promise<void> {
    if (rows.length === 0) return;
    const ordered = [...rows].sort((a, b) => (placeOfRow(a) < placeOfRow(b) ? -1 : 1));
    await this.db.query(
      `insert into admission as a (organisation, team, day, cluster, namespace, workload, refused, warned, reasons, message, first_at, last_at)
       select $1, team, day, cluster, namespace, workload, refused, warned, string_to_array(reasons, ','), message, first_at, last_at
       from unnest($2::text[], $3::date[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[])
         as r(team, day, cluster, namespace, workload, refused, warned, reasons, message, first_at, last_at)
       on conflict (organisation, team, day, cluster, namespace, workload) do update set refused = a.refused + excluded.refused, warned = a.warned + excluded.warned,
         reasons = a.reasons || array(select r from unnest(excluded.reasons) r where r <> all(a.reasons)), message = case when excluded.last_at >= a.last_at then excluded.message else a.message end,
         first_at = least(a.first_at, excluded.first_at), last_at = greatest(a.last_at, excluded.last_at)`,
      [
        organisation,
        ordered.map(({ team }) => team),
        ordered.map(({ day }) => day),
        ordered.map(({ cluster }) => cluster),
        ordered.map(({ namespace }) => namespace),
        ordered.map(({ workload }) => workload),
        ordered.map(({ refused }) => refused),
        ordered.map(({ warned }) => warned),
        ordered.map(({ reasons }) => [...reasons].sort().join(',')),
        ordered.map(({ message }) => message),
        ordered.map(({ firstAt }) => formatInstant(firstAt)),
        ordered.map(({ lastAt }) => formatInstant(lastAt)),
      ],
    );
  }

  private async prune(organisation: string, day: string): Promise<void> {
    const name = `${organisation} ${day}`;
    if (this.pruned.has(name)) return;
    for (const table of ['admission', 'admission_day'])
      await this.db.query(`delete from ${table} where organisation = $1 and day < $2::date - ${KEPT_DAYS}`, [
        organisation,
        day,
      ]);
    if (this.pruned.size >= MOST_PENDING) this.pruned.clear();
    this.pruned.add(name);
  }

  /** A page, newest day first; `after` is the place of the last one seen. */
  async list(
    organisation: string,
    { team, teams, from, to }: AdmissionFilter,
    after: AdmissionPlace | null,
    limit: number,
  ): Promise<StoredAdmission[]> {
    const rows = await this.db.query<
      Omit<StoredAdmission, 'firstAt' | 'lastAt' | 'refused' | 'warned'> & {
        refused: string;
        warned: string;
        first: Date;
        last: Date;
      }
    >(
      `select team, day::text as day, cluster, namespace, workload, refused::text as refused, warned::text as warned, reasons, message, first_at as first, last_at as last from admission a
       where organisation = $1 and ($2::text is null or team = $2) and ($3::text[] is null or team = any($3)) and ($4::date is null or a.day >= $4) and ($5::date is null or a.day < $5)
         and ($6::date is null or a.day < $6 or (a.day = $6 and (team, cluster, namespace, workload) > ($7, $8, $9, $10)))
       order by a.day desc, team, cluster, namespace, workload limit $11`,
      [
        organisation,
        team,
        teams,
        from,
        to,
        after?.day ?? null,
        after?.team ?? '',
        after?.cluster ?? '',
        after?.namespace ?? '',
        after?.workload ?? '',
        limit,
      ],
    );
    return rows.map(({ first, last, refused, warned, ...row }) => ({
      ...row,
      refused: Number(refused),
      warned: Number(warned),
      firstAt: formatInstant(first.getTime()),
      lastAt: formatInstant(last.getTime()),
    }));
  }

  /**
   * How many launches of some teams were refused in a period; not known where the webhook was asked about none then.
   */
  async refused(
    db: Queryable,
    organisation: string,
    teams: readonly string[],
    { start, end }: Interval,
    zone: string,
  ): Promise<Stated<number>> {
    const days = [dayLabel(start, zone), dayLabel(end - 1, zone)];
    const [row] = await db.query<{ heard: boolean; refused: string }>(
      `select exists (select 1 from admission_day where organisation = $1 and day between $3::date and $4::date) as heard,
         (select coalesce(sum(refused), 0)::text from admission where organisation = $1 and team = any($2::text[]) and day between $3::date and $4::date) as refused`,
      [organisation, teams, ...days],
    );
    return row?.heard === true ? stated(Number(row.refused)) : notStated('not-recorded');
  }
}

export type AdmissionPlace = Pick<StoredAdmission, (typeof KEYS)[number]>;

/** Where the list goes on after a row, and back; null for what is no place. */
export const admissionPlace = {
  of: placeOfRow,
  read(text: string): AdmissionPlace | null {
    let parts: unknown;
    try {
      parts = JSON.parse(text);
    } catch {
      return null;
    }
    if (
      !Array.isArray(parts) ||
      parts.length !== KEYS.length ||
      !parts.every((part) => typeof part === 'string' && isStorable(part))
    )
      return null;
    const [team = '', day = '', cluster = '', namespace = '', workload = ''] = parts as string[];
    return /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day))
      ? { team, day, cluster, namespace, workload }
      : null;
  },
};
