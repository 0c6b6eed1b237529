/**
 * The API requests of the verb for throughputs.
 */
import { formatInstant } from '../../core/time.js';
import type { ThroughputAnswer, ThroughputQuestion } from '../../planning/throughput/question.js';
import type { MeasurementJson, NewMeasurement } from '../../store/workload/measurements.js';
import { at, type Api } from './api.js';

export interface Handed extends Omit<NewMeasurement, 'measuredAt'> {
  /** Epoch milliseconds; null: now. */
  readonly measuredAt: number | null;
}

const PAGE = 1000;

export class ThroughputClient {
  constructor(private readonly api: Api) {}

  /** Newest first. */
  measurements({
    team,
    model,
  }: {
    readonly team: string | null;
    readonly model: string | null;
  }): Promise<readonly MeasurementJson[]> {
    return this.api.list('/v1/throughput-measurements', Infinity, { team, model });
  }

  /** How many were taken. */
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
        await this.api.call<{ accepted: number }>('POST', '/v1/throughput-measurements', {
          json: { team, measurements },
        })
      ).accepted;
    }
    return taken;
  }

  async remove(id: string): Promise<void> {
    await this.api.call('DELETE', at('throughput-measurements', id));
  }

  predict({ samples, provider, region, ...question }: ThroughputQuestion): Promise<ThroughputAnswer> {
    return this.api.call('POST', '/v1/throughput-predictions', {
      json: {
        ...question,
        ...(samples === null ? {} : { samples }),
        ...(provider === null ? {} : { provider }),
        ...(region === null ? {} : { region }),
      },
    });
  }
}
