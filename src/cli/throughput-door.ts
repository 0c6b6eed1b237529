/** What the verb about throughputs asks, on this machine's database and through an API; both answer alike. */
import { missing } from '../core/errors.js';
import { formatInstant, type Clock } from '../core/time.js';
import { answerThroughput, type ThroughputAnswer, type ThroughputQuestion } from '../planning/throughput/question.js';
import { measurementJson, type MeasurementJson, type NewMeasurement } from '../store/workload/measurements.js';
import type { Stores } from '../store/stores.js';
import type { Remote } from './remote.js';

export interface Handed extends Omit<NewMeasurement, 'measuredAt'> {
  /** Epoch milliseconds; null: now. */
  readonly measuredAt: number | null;
}

/** Every method throws Failure for what it cannot do. */
export interface ThroughputDoor {
  /** Newest first. */
  measurements(filter: {
    readonly team: string | null;
    readonly model: string | null;
  }): Promise<readonly MeasurementJson[]>;
  /** How many were taken. */
  add(team: string, handed: readonly Handed[]): Promise<number>;
  remove(id: string): Promise<void>;
  predict(question: ThroughputQuestion): Promise<ThroughputAnswer>;
}

const PAGE = 1000;

export class LocalThroughputs implements ThroughputDoor {
  constructor(
    private readonly stores: Stores,
    private readonly organisation: string,
    private readonly clock: Clock,
    private readonly actor: string,
  ) {}

  async measurements({
    team,
    model,
  }: {
    readonly team: string | null;
    readonly model: string | null;
  }): Promise<readonly MeasurementJson[]> {
    const { measurements, db } = this.stores;
    const found: MeasurementJson[] = [];
    for (let before: string | null = null; ; ) {
      const page = await measurements.list(
        db,
        this.organisation,
        { teams: null, team: team ?? undefined, model: model ?? undefined },
        before,
        PAGE,
      );
      found.push(...page.map(measurementJson));
      before = page.at(-1)?.id ?? null;
      if (page.length < PAGE) return found;
    }
  }

  async add(team: string, handed: readonly Handed[]): Promise<number> {
    const { db, measurements, audit } = this.stores;
    const now = this.clock.now();
    await db.transaction(async (tx) => {
      await measurements.add(
        tx,
        this.organisation,
        team,
        handed.map((one) => ({ ...one, measuredAt: one.measuredAt ?? now })),
        this.actor,
        now,
      );
      await audit.audit(tx, this.organisation, this.actor, 'measurement.add', team, {
        team,
        measurements: handed.length,
      });
    });
    return handed.length;
  }

  async remove(id: string): Promise<void> {
    const { db, measurements, audit } = this.stores;
    await db.transaction(async (tx) => {
      const gone = await measurements.remove(tx, this.organisation, id, null);
      if (gone === null) throw missing(`measurement ${id} does not exist`);
      await audit.audit(tx, this.organisation, this.actor, 'measurement.remove', id, { ...gone });
    });
  }

  async predict(question: ThroughputQuestion): Promise<ThroughputAnswer> {
    const facts = await this.stores.measurements.facts(
      this.stores,
      this.organisation,
      question.currency,
      this.clock.now(),
    );
    return answerThroughput(question, facts.measurements, facts.offers);
  }
}

export class RemoteThroughputs implements ThroughputDoor {
  constructor(private readonly remote: Remote) {}

  measurements({
    team,
    model,
  }: {
    readonly team: string | null;
    readonly model: string | null;
  }): Promise<readonly MeasurementJson[]> {
    return this.remote.list('/v1/throughput-measurements', Infinity, { team, model });
  }

  async add(team: string, handed: readonly Handed[]): Promise<number> {
    let taken = 0;
    for (let first = 0; first < handed.length; first += PAGE) {
      const measurements = handed
        .slice(first, first + PAGE)
        .map(({ gpu, measuredAt, ...one }) => ({
          ...one,
          gpuModel: gpu,
          measuredAt: measuredAt === null ? null : formatInstant(measuredAt),
        }));
      taken += (
        await this.remote.call<{ accepted: number }>('POST', '/v1/throughput-measurements', {
          json: { team, measurements },
        })
      ).accepted;
    }
    return taken;
  }

  async remove(id: string): Promise<void> {
    await this.remote.call('DELETE', `/v1/throughput-measurements/${encodeURIComponent(id)}`);
  }

  predict({ samples, provider, region, ...question }: ThroughputQuestion): Promise<ThroughputAnswer> {
    return this.remote.call('POST', '/v1/throughput-predictions', {
      json: {
        ...question,
        ...(samples === null ? {} : { samples }),
        ...(provider === null ? {} : { provider }),
        ...(region === null ? {} : { region }),
      },
    });
  }
}
