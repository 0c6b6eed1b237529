/**
 * The API requests of the verb for throughputs.
 */
import type { NewMeasurement, ThroughputMeasurement, ThroughputPrediction, ThroughputQuestion } from '../answers.js';
import { at, type Api } from './api.js';

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
  }): Promise<readonly ThroughputMeasurement[]> {
    return this.api.list('/v1/throughput-measurements', Infinity, { team, model });
  }

  /** How many were taken. */
  async add(team: string, handed: readonly NewMeasurement[]): Promise<number> {
    let taken = 0;
    for (let first = 0; first < handed.length; first += PAGE) {
      const measurements = handed.slice(first, first + PAGE);
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

  predict(question: ThroughputQuestion): Promise<ThroughputPrediction> {
    return this.api.call('POST', '/v1/throughput-predictions', { json: question });
  }
}
