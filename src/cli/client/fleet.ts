/**
 * The API requests of the verbs for the fleet: the running targets, the age and completeness of their readings, and
 * their health.
 */
import { Failure } from '../../core/errors.js';
import type { TargetKind } from '../../core/fleet/fleet.js';
import { formatInstant } from '../../core/time.js';
import type { StoredAnomaly } from '../../store/alert/anomalies.js';
import type { FleetCoverageJson, FleetTargetJson } from '../../store/fleet/fleet-json.js';
import type { StoredFinding } from '../../store/fleet/health-findings.js';
import type { Explained } from '../../application/policy/explain.js';
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

/** A source of GPU evidence. */
export interface EvidenceSource {
  readonly name: string;
  /** ISO 8601: the newest evidence. */
  readonly readTo: string;
  /** Share of the expected exporters that answered; null: unknown. */
  readonly coverage: number | null;
  readonly problems: readonly string[];
}

export class FleetClient {
  constructor(private readonly api: Api) {}

  targets({ team, connection, kind }: FleetFilter): Promise<readonly FleetTargetJson[]> {
    return this.api.list('/v1/fleet', Infinity, { team, connection, kind });
  }

  /** How well each connection's fleet is known; null: that is only for who sees all teams. */
  async coverage(): Promise<readonly FleetCoverageJson[] | null> {
    try {
      return (await this.api.call<{ items: FleetCoverageJson[] }>('GET', '/v1/fleet/coverage')).items;
    } catch (error) {
      if (error instanceof Failure && error.kind === 'denied') return null;
      throw error;
    }
  }

  /** The evaluation of a target, a team or a budget by every policy, with the reasons. */
  explain(target: string): Promise<Explained> {
    return this.api.call<Explained>('GET', '/v1/explain', { query: { target } });
  }

  /** About the health of GPUs, newest first. */
  findings({ team, status }: FindingFilter, limit: number): Promise<readonly StoredFinding[]> {
    return this.api.list('/v1/health-findings', limit, { team, status });
  }

  async sources(): Promise<readonly EvidenceSource[]> {
    const { items } = await this.api.call<{ items: EvidenceSource[] }>('GET', '/v1/samples/sources');
    return items.map(({ name, readTo, coverage, problems }) => ({
      name,
      readTo: formatInstant(Date.parse(readTo)),
      coverage,
      problems,
    }));
  }

  /** Unusual spend and prices, newest first. */
  anomalies(team: string | null, limit: number): Promise<readonly StoredAnomaly[]> {
    return this.api.list('/v1/anomalies', limit, { team });
  }
}
