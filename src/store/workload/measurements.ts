/**
 * Measured throughputs of teams: submitted by people and platforms, read by policies and predictions. Reads and writes;
 * predicts nothing.
 *
 * The invariant: an unchanged list is the same object, because the model learned from a list is cached for it.
 */
import type { Measurement, TakenMeasurement } from '../../core/workload/measurement.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { GpuOffer } from '../../core/policy/policy.js';
import { formatInstant, MINUTE_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { OfferBook } from '../price/offers.js';
import type { PriceStore } from '../price/prices.js';

/** Newer ones push out older ones of the team that has the most: what is predicted changes little beyond. */
const MOST_READ = 5000;
const MOST_CACHED = 20;
/** Nobody measures the future; the clock of whoever measured may be ahead. */
export const CLOCKS_APART_MS = 5 * MINUTE_MS;
const CLOCKS_APART = `${CLOCKS_APART_MS} milliseconds`;

export interface NewMeasurement extends Measurement {
  readonly peakMemoryGib: number | null;
  /** Epoch milliseconds. */
  readonly measuredAt: number;
}

interface Row {
  id: string;
  team: string;
  model: string;
  gpu_model: string;
  gpu_count: number;
  batch: number;
  samples: number;
  family: string | null;
  params: number | null;
  size: number | null;
  optimizer: string | null;
  precision: string | null;
  nodes: number | null;
  peak: number | null;
  at: Date;
}

const COLUMNS = `id::text as id, team, model, gpu_model, gpu_count, batch, samples_per_second as samples, family, params, size, optimizer, "precision", nodes, peak_memory_gib as peak, measured_at as at`;

const takenOf = ({
  id,
  team,
  model,
  gpu_model: gpu,
  gpu_count: gpuCount,
  batch,
  samples,
  family,
  params,
  size,
  optimizer,
  precision,
  nodes,
  peak,
  at,
}: Row): TakenMeasurement => ({
  id,
  team,
  model,
  gpu,
  gpuCount,
  batch,
  samplesPerSecond: samples,
  family,
  params,
  size,
  optimizer,
  precision,
  nodes,
  peakMemoryGib: peak,
  measuredAt: at.getTime(),
});

/** As callers read it. */
export type MeasurementJson = Omit<TakenMeasurement, 'gpu' | 'measuredAt'> & {
  readonly gpuModel: string;
  readonly measuredAt: string;
};

export const measurementJson = ({ gpu, measuredAt, ...one }: TakenMeasurement): MeasurementJson => ({
  ...one,
  gpuModel: gpu,
  measuredAt: formatInstant(measuredAt),
});

export class MeasurementStore {
  private readonly offers = new OfferBook();
  private readonly known = new Map<string, { readonly state: string; readonly all: readonly TakenMeasurement[] }>();

  /** @param by who hands them in */
  async add(
    tx: Queryable,
    organisation: string,
    team: string,
    taken: readonly NewMeasurement[],
    by: string,
    now: number,
  ): Promise<void> {
    const column = <T>(read: (one: NewMeasurement) => T): T[] => taken.map(read);
    await tx.query(
      `insert into throughput_measurement (organisation, team, made_by, made_at, model, gpu_model, gpu_count, batch, samples_per_second, family, params, size, optimizer, "precision", nodes, peak_memory_gib, measured_at)
       select $1, $2, $3, $4, m.* from unnest($5::text[], $6::text[], $7::int[], $8::float8[], $9::float8[], $10::text[], $11::float8[], $12::float8[], $13::text[], $14::text[], $15::int[], $16::float8[], $17::timestamptz[]) as m`,
      [
        organisation,
        team,
        by,
        formatInstant(now),
        column(({ model }) => model),
        column(({ gpu }) => modelOf(gpu) ?? gpu),
        column(({ gpuCount }) => gpuCount),
        column(({ batch }) => batch),
        column(({ samplesPerSecond }) => samplesPerSecond),
        column(({ family }) => family),
        column(({ params }) => params),
        column(({ size }) => size),
        column(({ optimizer }) => optimizer),
        column(({ precision }) => precision),
        column(({ nodes }) => nodes),
        column(({ peakMemoryGib }) => peakMemoryGib),
        column(({ measuredAt }) => formatInstant(measuredAt)),
      ],
    );
  }

  /** A page, newest first. @param filter `teams` null: of all */
  async list(
    db: Queryable,
    organisation: string,
    filter: {
      readonly teams: readonly string[] | null;
      readonly team?: string | undefined;
      readonly model?: string | undefined;
    },
    after: string | null,
    limit: number,
  ): Promise<TakenMeasurement[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from throughput_measurement where organisation = $1 and ($2::text[] is null or team = any($2)) and ($3::text is null or team = $3) and ($4::text is null or model = $4)
         and ($5::bigint is null or id < $5) order by throughput_measurement.id desc limit $6`,
      [organisation, filter.teams, filter.team ?? null, filter.model ?? null, after, limit],
    );
    return rows.map(takenOf);
  }

  /** Null: there is none. */
  async remove(
    tx: Queryable,
    organisation: string,
    id: string,
    teams: readonly string[] | null,
  ): Promise<TakenMeasurement | null> {
    const [row] = await tx.query<Row>(
      `delete from throughput_measurement where organisation = $1 and id = $2 and ($3::text[] is null or team = any($3)) returning ${COLUMNS}`,
      [organisation, id, teams],
    );
    return row === undefined ? null : takenOf(row);
  }

  /** The newest of the organisation up to an instant, oldest first. */
  async upTo(db: Queryable, organisation: string, asOf: number): Promise<readonly TakenMeasurement[]> {
    const all = await this.newest(db, organisation);
    // Measured after the instant: almost always none.
    const later = all.findIndex(({ measuredAt }) => measuredAt > asOf);
    return later < 0 ? all : all.slice(0, later);
  }

  /** The input of a prediction: the measurements, and the prices of GPUs. */
  async facts(
    { db, prices }: { readonly db: Queryable; readonly prices: PriceStore },
    organisation: string,
    currency: string,
    now: number,
  ): Promise<{ readonly measurements: readonly TakenMeasurement[]; readonly offers: readonly GpuOffer[] }> {
    return {
      measurements: await this.upTo(db, organisation, now),
      offers: this.offers.offers(await prices.book(db, organisation), currency, now, []),
    };
  }

  private async newest(db: Queryable, organisation: string): Promise<readonly TakenMeasurement[]> {
    const [found] = await db.query<{ state: string }>(
      `select count(*) || ' ' || coalesce(max(id), 0) || ' ' || coalesce(min(id), 0) as state from throughput_measurement where organisation = $1`,
      [organisation],
    );
    const state = found?.state ?? '';
    const known = this.known.get(organisation);
    if (known?.state === state) return known.all;
    const rows = state.startsWith('0 ')
      ? []
      : await db.query<Row>(
          `select ${COLUMNS} from (
             select m.*, row_number() over (partition by team order by measured_at desc, m.id desc) as place
             from throughput_measurement m where organisation = $1 and measured_at <= made_at + interval '${CLOCKS_APART}'
             order by place, measured_at desc, m.id desc limit ${MOST_READ}) as throughput_measurement
           order by measured_at desc, throughput_measurement.id desc`,
          [organisation],
        );
    const all = rows.reverse().map(takenOf);
    if (this.known.size >= MOST_CACHED) this.known.clear();
    this.known.set(organisation, { state, all });
    return all;
  }
}
