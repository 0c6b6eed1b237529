/**
 * sample.collect (source): reads the new data of a source of GPU evidence, keeps it, and settles its findings about
 * health. If a source fails, everything stays unchanged and the source is asked again; its silence is never evidence. A
 * card that is gone or broken enqueues its team's recommendations at once. Pushed evidence (no source of that name is
 * connected) is only settled.
 */
import { Failure } from '../core/errors.js';
import { HEALTH_DEFAULTS, isInDoubt, settle } from '../core/fleet/health.js';
import type { TelemetryConnection, TelemetryReading } from '../core/ports.js';
import type { Queryable } from '../store/database.js';
import { askAbout } from '../store/fleet/machines.js';
import { isShared } from '../store/access/organisation.js';
import { DEFAULT_RETENTION_DAYS, RETENTION_SETTING, type SourceState } from '../store/fleet/samples.js';
import type { Stores } from '../store/stores.js';
import { takeSamples } from '../application/fleet/take-samples.js';
import type { WorkItem } from '../store/work.js';
import { collectingKey } from './collecting.js';
import { apartStage, type Stage } from './stage.js';
import { HOUR_MS } from '../core/time.js';

/** How far back the first reading of a source goes, and how much is read at a time; the next reading continues. */
const FIRST_READ_MS = 24 * HOUR_MS;
const MOST_AT_ONCE_MS = 6 * HOUR_MS;
/** Samples that are written together. */
const BATCH = 20_000;

/** Between two readings of a source that is read, and at the open findings of one whose evidence is pushed. */
const SAMPLING_MS = 15_000;
const PUSHED_MS = 60_000;
/** While a machine may be lost: a replacement has to be under way within half a minute of the first sign. */
const DOUBT_MS = 5000;

type Needed = Pick<Stores, 'db' | 'organisations' | 'samples' | 'measured' | 'workloads' | 'healthFindings'>;

export function sampleStage(stores: Needed, telemetry: readonly TelemetryConnection[]): Stage {
  return apartStage('sample.collect', async ({ organisation, key: source, now }) => {
    const connection = telemetry.find(({ name }) => name === source);
    const read = connection === undefined ? null : await collect(stores, organisation, connection, now);
    return async (tx) => {
      const state = read?.state ?? null;
      if (state !== null) await stores.samples.saveState(tx, organisation, state, now);
      // A process without the source's settings (a command line) only leaves it to one that has them.
      const isReadElsewhere =
        connection === undefined && (await stores.samples.state(tx, organisation, source)) !== null;
      const { lost, stillOpen, inDoubt } = await settleHealth(stores, tx, organisation, source, now);
      const pauseMs = connection === undefined ? PUSHED_MS : inDoubt ? DOUBT_MS : SAMPLING_MS;
      const notBefore = read?.isBehind === true ? now : now + pauseMs;
      const isEnqueuedAgain = connection !== undefined || isReadElsewhere || stillOpen;
      return [
        // New evidence is evaluated; the tick's pause between two evaluations of a team limits this to one a minute.
        ...(read === null || read.isBehind ? [] : recommendationItems(read.teams)),
        ...lost,
        ...(isEnqueuedAgain ? [{ stage: 'sample.collect', partition: source, key: source, notBefore }] : []),
        { stage: 'sample.pack', partition: source, key: source, notBefore: stores.samples.nextPack(now) },
        {
          stage: 'sample.purge',
          partition: 'sample',
          key: 'sample',
          notBefore: (Math.floor(now / HOUR_MS) + 1) * HOUR_MS,
        },
      ];
    };
  });
}

const recommendationItems = (teams: readonly string[]): WorkItem[] =>
  teams
    .filter((team) => !isShared(team))
    .map((team): WorkItem => ({ stage: 'recommendation.make', partition: team, key: team }));

/** The source's own state; null if it was not asked. */
interface Read {
  readonly state: SourceState | null;
  /** There is more to read before now. */
  readonly isBehind: boolean;
  /** The teams with new samples. */
  readonly teams: readonly string[];
}

/**
 * Continues reading the source. Samples are written as they arrive, in separate transactions: repeating them changes
 * nothing, and the position of the reading is saved after the last of them.
 */
async function collect(
  stores: Needed,
  organisation: string,
  connection: TelemetryConnection,
  now: number,
): Promise<Read> {
  const before = await stores.samples.state(stores.db, organisation, connection.name);
  const from = before?.readTo ?? now - FIRST_READ_MS;
  const to = Math.min(now, from + MOST_AT_ONCE_MS);
  if (to <= from) return { state: null, isBehind: false, teams: [] };
  const teams = new Set<string>();
  // A failure of the database is not a failure of the source.
  let own: unknown = null;
  const save = async (samples: readonly TelemetryReading['samples'][number][]): Promise<void> => {
    try {
      const taken = await stores.db.transaction((tx) =>
        takeSamples(stores, tx, organisation, connection.name, samples),
      );
      for (const team of taken.teams) teams.add(team);
    } catch (error) {
      own = error;
      throw error;
    }
  };
  const nothing: SourceState = { name: connection.name, readTo: from, coverage: null, exportersUp: null, problems: [] };
  let state = nothing;
  let hasFailed = false;
  let pending: TelemetryReading['samples'][number][] = [];
  try {
    for await (const {
      samples: read,
      at,
      coverage,
      exportersUp = null,
      silent = [],
      startedAt = {},
      problems,
    } of connection.read(from, to)) {
      pending.push(...read);
      // Evidence ages from the newest reading, also where a source lags behind the clock.
      state = { name: connection.name, readTo: Math.min(to, at), coverage, exportersUp, silent, startedAt, problems };
      if (pending.length < BATCH) continue;
      await save(pending);
      pending = [];
    }
  } catch (error) {
    if (!(error instanceof Failure) || error === own) throw error;
    // It is asked again for the same; the rest of the line must not stand still for it.
    state = { ...nothing, problems: [error.message] };
    hasFailed = true;
  }
  // A source may lag behind the clock, so an empty stretch is asked for again, unless it lies hours back.
  if (!hasFailed && state.readTo <= from && to < now) state = { ...state, readTo: to };
  await save(pending);
  return { state, isBehind: !hasFailed && to < now, teams: [...teams] };
}

/** Settles the findings of a source; enqueues the teams whose cards are lost, or are no longer. */
async function settleHealth(
  { samples, healthFindings }: Needed,
  tx: Queryable,
  organisation: string,
  source: string,
  now: number,
): Promise<{ readonly lost: readonly WorkItem[]; readonly stillOpen: boolean; readonly inDoubt: boolean }> {
  const devices = await samples.histories(tx, organisation, source, now, HEALTH_DEFAULTS.replayMinutes);
  const open = await healthFindings.open(tx, organisation, source);
  const settled = settle(open, devices, now);
  await healthFindings.keep(tx, organisation, source, settled, now);
  const itemFor = (team: string, urgent: boolean): WorkItem => ({
    stage: 'recommendation.make',
    partition: team,
    key: team,
    urgent,
  });
  // A target that was only silent counts as new when its cloud reports more about it.
  const worse = settled.renewed.filter(({ open: one, finding }) => one.onlySilent === true && !finding.onlySilent);
  const lost = [...settled.opened, ...worse.map(({ finding }) => finding)]
    .filter(({ severity }) => severity === 'fatal')
    .map(({ team }) => itemFor(team, true));
  const ended = settled.cleared
    .filter((one) => one.open.severity === 'fatal')
    .map((one) => itemFor(one.open.team, false));
  const doubtful = devices.flatMap((device) =>
    device.silence !== undefined && isInDoubt(device, now) ? [device.silence] : [],
  );
  // The provider of the machine is asked now, not only at its next scheduled reading.
  const asked =
    doubtful.length === 0
      ? []
      : (await askAbout(tx, organisation, doubtful, now, DOUBT_MS)).map(
          (connection): WorkItem => ({ ...collectingKey({ connection, what: 'fleet' }), urgent: true }),
        );
  return {
    lost: [...asked, ...[...ended, ...lost].filter(({ key }) => !isShared(key))],
    stillOpen: settled.opened.length + open.length > settled.cleared.length,
    inDoubt: doubtful.length > 0,
  };
}

/**
 * sample.pack (source): once an hour packs the saved samples of earlier hours, and rows of the previous version. It
 * packs one day at a time and enqueues the rest in the same transaction: a process that is killed in between loses
 * nothing. A source that sends nothing more is left alone.
 */
export function packStage({ samples }: Pick<Stores, 'samples'>): Stage {
  return {
    name: 'sample.pack',
    most: 1,
    async run({ organisation, partition: source, now, tx }) {
      const isBehind = await samples.pack(tx, organisation, source, now);
      return isBehind ? [{ stage: 'sample.pack', partition: source, key: source, notBefore: now }] : [];
    },
  };
}

/** sample.purge: once an hour forgets samples that are older than they are kept. */
export function purgeStage({
  organisations,
  samples,
  measured,
}: Pick<Stores, 'organisations' | 'samples' | 'measured'>): Stage {
  return {
    name: 'sample.purge',
    most: 1,
    async run({ organisation, now, tx }) {
      await samples.purge(
        tx,
        organisation,
        (await organisations.setting<number>(tx, organisation, RETENTION_SETTING)) ?? DEFAULT_RETENTION_DAYS,
        now,
      );
      await measured.purge(tx, organisation, now);
      return [];
    },
  };
}
