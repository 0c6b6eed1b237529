/**
 * Sampled evidence about GPUs: one value per GPU (or MIG instance), resource and minute, the position up to which each
 * source was read, and the retention. sample-hours.ts describes the storage.
 *
 * The newest reading of a minute replaces an older one and nothing else; sending it again changes nothing. An
 * unmeasured value is null. It decides nothing about teams (take-samples.ts) or health (core/fleet/health.ts).
 */
import { own } from '../../core/own.js';
import { answeringAfter, stretchesOf, type Answering, type Stretch } from '../../core/fleet/answering.js';
import type { SilentExporter } from '../../core/fleet/silence.js';
import type { DeviceHistory } from '../../core/fleet/health.js';
import { READINGS_DAYS } from '../../core/policy/policy.js';
import { DAY_MS, formatInstant, HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { answersWithout } from './answers.js';
import { silencesOf } from './machines.js';
import { RecentDevices, seenOf } from './recent-devices.js';
import { entryOf, type Place, type PlacedSample } from './sample-entries.js';
import { addRecent, carryOver, packHours, placeHours } from './sample-hours.js';
import { minuteAfter, minuteAt, samplesOfWorkloads } from './sample-reading.js';
import { workloadMinutes } from './workload-minutes.js';

export type { Place, PlacedSample } from './sample-entries.js';

/** How far a source was read, and what its newest reading said of itself. */
export interface SourceState extends Answering {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly readTo: number;
  /** Share of the expected exporters that answered; null: unknown. */
  readonly coverage: number | null;
  /** Null: the source cannot tell. */
  readonly exportersUp: readonly string[] | null;
  /** Exporters that fell silent; absent: none, or the source cannot tell. */
  readonly silent?: readonly SilentExporter[];
  /** When exporters that name no card any more were started, epoch milliseconds; absent: not known. */
  readonly startedAt?: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

const MOST_PROBLEMS = 50;
const MINUTES_PER_STATEMENT = 5000;

/**
 * Days that samples are kept, unless the organisation says otherwise: policies look at READINGS_DAYS of them, a
 * backtest at more.
 */
export const DEFAULT_RETENTION_DAYS = 90;
export const LEAST_RETENTION_DAYS = READINGS_DAYS;
export const RETENTION_SETTING = 'sample-retention-days';

/** An hour is packed when it has been over for so long: what comes later is packed with the next. */
const SETTLED_MS = 5 * MINUTE_MS;

export class SampleStore {
  /** The data for health, by organisation and source. */
  private readonly recent = new Map<string, RecentDevices>();

  /** Adds samples; of two of one GPU, resource and minute the newer stays. */
  async save(tx: Queryable, organisation: string, source: string, samples: readonly PlacedSample[]): Promise<void> {
    await addRecent(tx, organisation, source, samples.map(entryOf));
  }

  /**
   * Packs the oldest day of a source's hours that are over, and carries over an hour of rows of the previous version.
   * Returns whether there is more of either.
   */
  async pack(tx: Queryable, organisation: string, source: string, now: number): Promise<boolean> {
    const isCarrying = await carryOver(tx, organisation, source, now);
    const isBehind = await packHours(tx, organisation, source, hourOf(now - SETTLED_MS));
    return isCarrying || isBehind;
  }

  /** When a source is to be packed next. */
  nextPack(now: number): number {
    return hourOf(now - SETTLED_MS) + HOUR_MS + SETTLED_MS;
  }

  /**
   * Writes the minutes of workloads into their metrics: the mean use of their GPUs if every one was measured, and the
   * requests of their resources. A workload with a blank card in a minute has no value for that minute.
   */
  async saveWorkloadMinutes(
    tx: Queryable,
    organisation: string,
    workloads: readonly string[],
    from: number,
    to: number,
  ): Promise<void> {
    if (workloads.length === 0) return;
    const span = { first: minuteAt(from), last: minuteAt(to) };
    const minutes = workloadMinutes(await samplesOfWorkloads(tx, organisation, workloads, span));
    for (let first = 0; first < minutes.length; first += MINUTES_PER_STATEMENT) {
      const some = minutes.slice(first, first + MINUTES_PER_STATEMENT);
      await tx.query(
        `insert into workload_metric (organisation, workload, name, at, value, gpus)
         select $1, workload, name, at, value, gpus
         from unnest($2::text[], $3::text[], $4::timestamptz[], $5::float8[], $6::int[]) as m(workload, name, at, value, gpus)
         on conflict (organisation, workload, name, at) do update set value = excluded.value, gpus = excluded.gpus`,
        [
          organisation,
          some.map(({ workload }) => workload),
          some.map(({ name }) => name),
          some.map(({ at }) => formatInstant(at)),
          some.map(({ value }) => value),
          some.map(({ gpus }) => gpus),
        ],
      );
    }
  }

  /** Every device of a source that was seen within `minutes` before `now`, as each resource held it. */
  async histories(
    tx: Queryable,
    organisation: string,
    source: string,
    now: number,
    minutes: number,
  ): Promise<DeviceHistory[]> {
    const key = JSON.stringify([organisation, source]);
    let recent = this.recent.get(key);
    if (recent === undefined) this.recent.set(key, (recent = new RecentDevices(organisation, source)));
    const devices = await recent.devices(tx, minuteAfter(now - minutes * MINUTE_MS), minuteAt(now));
    const state = await this.state(tx, organisation, source);
    const silences = await silencesOf(
      tx,
      organisation,
      state?.silent ?? [],
      devices.map(({ group }) => group),
    );
    const { cards, exporters } = seenOf(devices);
    const up = new Set(state?.exportersUp ?? []);
    const answerBy = (exporter: string | null): Answer =>
      exporter === null || state === null || !up.has(exporter)
        ? { exporterUpAt: null, exporterNamesCards: false }
        : answerOf(exporter, exporters, state);
    const answeredAt = (exporter: string): number | null => answerBy(exporter).exporterUpAt;
    const answers = await answersWithout(tx, organisation, { devices, cards, answeredAt }, now);
    return devices.map((device) => {
      const { group, seenAt, readings } = device;
      return {
        resource: group.resource,
        gpu: group.gpu,
        migInstance: group.migInstance,
        team: group.team,
        workload: group.workload,
        // An hour of every device at once would take a hundred times the memory.
        get readings() {
          return readings();
        },
        cardSeenAt: cards.get(group.gpu) ?? seenAt,
        ...answerBy(group.exporter),
        ...answers(device),
        ...silences(group.exporter, group.workload),
      };
    });
  }

  async state(db: Queryable, organisation: string, source: string): Promise<SourceState | null> {
    return (await this.states(db, organisation)).find(({ name }) => name === source) ?? null;
  }

  async states(db: Queryable, organisation: string): Promise<SourceState[]> {
    const rows = await db.query<{
      name: string;
      read_to: Date;
      coverage: number | null;
      exporters_up: string[] | null;
      silent: SilentExporter[];
      started_at: Record<string, number>;
      answering_since: AnsweringJson;
      problems: string[];
    }>(
      `select name, read_to, coverage, exporters_up, silent, started_at, answering_since, problems from telemetry_source where organisation = $1 order by name`,
      [organisation],
    );
    return rows.map((row) => ({
      name: row.name,
      readTo: row.read_to.getTime(),
      coverage: row.coverage,
      exportersUp: row.exporters_up,
      silent: row.silent,
      startedAt: row.started_at,
      ...answeringOf(row.answering_since),
      problems: row.problems,
    }));
  }

  async saveState(tx: Queryable, organisation: string, state: SourceState, now: number): Promise<void> {
    const before = await this.state(tx, organisation, state.name);
    await tx.query(
      `insert into telemetry_source (organisation, name, read_to, coverage, exporters_up, problems, read_at, silent, started_at, answering_since) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       on conflict (organisation, name) do update set read_to = excluded.read_to, coverage = excluded.coverage, exporters_up = excluded.exporters_up, problems = excluded.problems, read_at = excluded.read_at, silent = excluded.silent, started_at = excluded.started_at, answering_since = excluded.answering_since`,
      [
        organisation,
        state.name,
        formatInstant(state.readTo),
        state.coverage,
        state.exportersUp,
        state.problems.slice(0, MOST_PROBLEMS),
        formatInstant(now),
        JSON.stringify(state.silent ?? []),
        JSON.stringify(state.startedAt ?? {}),
        JSON.stringify(answeringJson(state, before)),
      ],
    );
  }

  /** Gives what was sampled of a resource since an instant its place again, where that is another. */
  async place(
    tx: Queryable,
    organisation: string,
    source: string,
    resource: string,
    since: number,
    place: Place,
  ): Promise<void> {
    await placeHours(tx, organisation, source, resource, since, place);
    const { team, workload, connection, target, provider, sku, region, term } = place;
    // What the previous version wrote.
    await tx.query(
      `update sample set team = $5, workload_id = $6, connection = $7, target = $8, provider = $9, sku = $10,
         region = $11, term = $12
       where organisation = $1 and source = $2 and resource = $3 and at >= $4
         and (team, workload_id, connection, target, provider, sku, region, term)
           is distinct from ($5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        organisation,
        source,
        resource,
        formatInstant(since),
        team,
        workload,
        connection,
        target,
        provider,
        sku,
        region,
        term,
      ],
    );
  }

  /**
   * Forgets what is older than so many days before `now`: samples, workloads' minutes, and findings that were cleared.
   * Packed samples go by whole days: one that no organisation keeps is dropped, of another what is this one's goes.
   */
  async purge(tx: Queryable, organisation: string, days: number, now: number): Promise<void> {
    const before = formatInstant(now - Math.max(LEAST_RETENTION_DAYS, days) * DAY_MS);
    await tx.query(
      `select drop_sample_hours($1::timestamptz
         - make_interval(days => max(greatest($2, coalesce((s.value #>> '{}')::int, $3)))))
       from organisation o left join setting s on s.organisation = o.id and s.key = $4`,
      [formatInstant(now), LEAST_RETENTION_DAYS, DEFAULT_RETENTION_DAYS, RETENTION_SETTING],
    );
    await tx.query(
      `delete from sample_hour where organisation = $1 and hour < date_trunc('day', $2::timestamptz at time zone 'UTC') at time zone 'UTC'`,
      [organisation, before],
    );
    await tx.query(`delete from sample_recent where organisation = $1 and last_at < $2`, [organisation, before]);
    await tx.query(`delete from sample where organisation = $1 and at < $2`, [organisation, before]);
    await tx.query(`delete from workload_metric where organisation = $1 and at < $2`, [organisation, before]);
    await tx.query(`delete from health_finding where organisation = $1 and cleared_at < $2`, [organisation, before]);
  }
}

/**
 * As it is kept: since when exporters answer that came back, as the previous version reads it, and under a name that no
 * exporter has (a host's, or a job and an address) what they answered before.
 */
type AnsweringJson = Readonly<Record<string, number>> & {
  readonly 'answered before'?: Readonly<Record<string, readonly Stretch[]>>;
};

function answeringJson(state: SourceState, before: SourceState | null): AnsweringJson {
  const { answeringSince, answered } = answeringAfter(state, before);
  return { ...answeringSince, 'answered before': answered } as AnsweringJson;
}

const answeringOf = ({ 'answered before': answered = {}, ...answeringSince }: AnsweringJson): Answering => ({
  answeringSince,
  answered,
});

type Answer = Pick<DeviceHistory, 'exporterUpAt' | 'exporterNamesCards' | 'exporterAnswers'>;

/** When an exporter that is up answered last: of machines that report at other seconds of a minute, each by its own. */
function answerOf(exporter: string, newest: ReadonlyMap<string, number>, state: SourceState): Answer {
  const named = newest.get(exporter) ?? 0;
  const isNaming = state.readTo - named < MINUTE_MS;
  // One that names none and runs since before has surely looked for them.
  const runsOn = (own(state.startedAt, exporter) ?? Infinity) < named;
  return {
    exporterUpAt: isNaming && !runsOn ? named : state.readTo,
    exporterNamesCards: isNaming || runsOn,
    exporterAnswers: stretchesOf(exporter, state, state.readTo),
  };
}
