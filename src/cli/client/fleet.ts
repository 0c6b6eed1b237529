/**
 * The API requests of the verbs for the fleet: the running targets, the age and completeness of their readings, and
 * their health.
 */
import { Failure } from '../../core/errors.js';
import type { TargetKind } from '../../core/fleet/fleet.js';
import { formatInstant } from '../../core/time.js';
import type { Anomaly, Explanation, FleetCoverage, FleetTarget, HealthFinding, TelemetrySource } from '../answers.js';
import type { Api } from './api.js';

export interface FleetFilter {
  readonly team: string | null;
  readonly connection: string | null;
  readonly kind: TargetKind | null;
}

export interface FindingFilter {
  readonly team: string | null;
  readonly status: 'open' | 'cleared' | null;
}

export class FleetClient {
  constructor(private readonly api: Api) {}

  targets({ team, connection, kind }: FleetFilter): Promise<readonly FleetTarget[]> {
    return this.api.list('/v1/fleet', Infinity, { team, connection, kind });
  }

  /** How well each connection's fleet is known; null: that is only for who sees all teams. */
  async coverage(): Promise<readonly FleetCoverage[] | null> {
    try {
      return (await this.api.call<{ items: FleetCoverage[] }>('GET', '/v1/fleet/coverage')).items;
    } catch (error) {
      if (error instanceof Failure && error.kind === 'denied') return null;
      throw error;
    }
  }

  /** The evaluation of a target, a team or a budget by every policy, with the reasons. */
  explain(target: string): Promise<Explanation> {
    return this.api.call<Explanation>('GET', '/v1/explain', { query: { target } });
  }

  /** About the health of GPUs, newest first. */
  findings({ team, status }: FindingFilter, limit: number): Promise<readonly HealthFinding[]> {
    return this.api.list('/v1/health-findings', limit, { team, status });
  }

  async sources(): Promise<readonly TelemetrySource[]> {
    const { items } = await this.api.call<{ items: TelemetrySource[] }>('GET', '/v1/samples/sources');
    return items.map(({ name, readTo, coverage, problems }) => ({
      name,
      readTo: formatInstant(Date.parse(readTo)),
      coverage,
      problems,
    }));
  }

  /** Unusual spend and prices, newest first. */
  anomalies(team: string | null, limit: number): Promise<readonly Anomaly[]> {
    return this.api.list('/v1/anomalies', limit, { team });
  }
}
