/**
 * What the verbs about the fleet ask, on this machine's database and through an API: what runs, how well that is known,
 * and how it fares. Both answer alike. It reads only, and asks no provider.
 */
import { Failure } from '../core/errors.js';
import type { TargetKind } from '../core/fleet/fleet.js';
import { formatInstant, type Clock } from '../core/time.js';
import type { StoredAnomaly } from '../store/alert/anomalies.js';
import { placeOf, type SeenTarget } from '../store/fleet/fleet.js';
import {
  fleetCoverageJson,
  fleetTargetJson,
  type FleetCoverageJson,
  type FleetTargetJson,
} from '../store/fleet/fleet-json.js';
import type { StoredFinding } from '../store/fleet/health-findings.js';
import { explain, type Explained } from '../application/policy/explain.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

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
  /** Share of the expected exporters that answered; null: not known. */
  readonly coverage: number | null;
  readonly problems: readonly string[];
}

/** Every method throws Failure for what it cannot do. */
export interface FleetDoor {
  targets(filter: FleetFilter): Promise<readonly FleetTargetJson[]>;
  /** How well each connection's fleet is known; null: that is only for who sees all teams. */
  coverage(): Promise<readonly FleetCoverageJson[] | null>;
  /** About the health of GPUs, newest first. */
  findings(filter: FindingFilter, limit: number): Promise<readonly StoredFinding[]>;
  sources(): Promise<readonly EvidenceSource[]>;
  /** What every policy makes of a target, a team or a budget, and why. */
  explain(target: string): Promise<Explained>;
  /** Unusual spend and prices, newest first. */
  anomalies(team: string | null, limit: number): Promise<readonly StoredAnomaly[]>;
}

const PAGE = 500;

export class LocalFleet implements FleetDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
  ) {}

  async targets({ team, connection, kind }: FleetFilter): Promise<readonly FleetTargetJson[]> {
    const { stores, organisation } = this.bursar;
    const filter = {
      teams: team === null ? null : [team],
      connection: connection ?? undefined,
      kind: kind ?? undefined,
    };
    const found = await pages<SeenTarget>(
      (last) => stores.fleet.list(stores.db, organisation, filter, last === null ? null : placeOf(last), PAGE),
      Infinity,
    );
    return found.map((one) => fleetTargetJson(one, this.clock.now()));
  }

  async coverage(): Promise<readonly FleetCoverageJson[]> {
    const { stores, organisation } = this.bursar;
    return (await stores.fleet.coverage(stores.db, organisation, this.clock.now())).map(fleetCoverageJson);
  }

  explain(target: string): Promise<Explained> {
    const { stores, organisation, policies = [] } = this.bursar;
    return explain(stores, policies, organisation, target, this.clock.now());
  }

  findings({ team, status }: FindingFilter, limit: number): Promise<readonly StoredFinding[]> {
    const { stores, organisation } = this.bursar;
    return pages<StoredFinding>(
      (last) =>
        stores.healthFindings.list(
          stores.db,
          organisation,
          { team: team ?? undefined, status: status ?? undefined, teams: null },
          last?.id ?? null,
          PAGE,
        ),
      limit,
    );
  }

  async sources(): Promise<readonly EvidenceSource[]> {
    const { stores, organisation } = this.bursar;
    return (await stores.samples.states(stores.db, organisation)).map(({ name, readTo, coverage, problems }) => ({
      name,
      readTo: formatInstant(readTo),
      coverage,
      problems,
    }));
  }

  anomalies(team: string | null, limit: number): Promise<readonly StoredAnomaly[]> {
    const { stores, organisation } = this.bursar;
    return pages<StoredAnomaly>(
      (last) => stores.anomalies.list(organisation, { team: team ?? undefined, teams: null }, last?.id ?? null, PAGE),
      limit,
    );
  }
}

/** Items of a list that comes in pages, each after the last item of the one before, at most `most`. */
async function pages<T>(page: (last: T | null) => Promise<readonly T[]>, most: number): Promise<T[]> {
  const all: T[] = [];
  while (all.length < most) {
    const items = await page(all.at(-1) ?? null);
    all.push(...items);
    if (items.length < PAGE) break;
  }
  return all.slice(0, most);
}

export class RemoteFleet implements FleetDoor {
  constructor(private readonly remote: Remote) {}

  targets({ team, connection, kind }: FleetFilter): Promise<readonly FleetTargetJson[]> {
    return this.remote.list('/v1/fleet', Infinity, { team, connection, kind });
  }

  async coverage(): Promise<readonly FleetCoverageJson[] | null> {
    try {
      return (await this.remote.call<{ items: FleetCoverageJson[] }>('GET', '/v1/fleet/coverage')).items;
    } catch (error) {
      if (error instanceof Failure && error.kind === 'denied') return null;
      throw error;
    }
  }

  explain(target: string): Promise<Explained> {
    return this.remote.call<Explained>('GET', '/v1/explain', { query: { target } });
  }

  findings({ team, status }: FindingFilter, limit: number): Promise<readonly StoredFinding[]> {
    return this.remote.list('/v1/health-findings', limit, { team, status });
  }

  async sources(): Promise<readonly EvidenceSource[]> {
    const { items } = await this.remote.call<{ items: EvidenceSource[] }>('GET', '/v1/samples/sources');
    return items.map(({ name, readTo, coverage, problems }) => ({
      name,
      readTo: formatInstant(Date.parse(readTo)),
      coverage,
      problems,
    }));
  }

  anomalies(team: string | null, limit: number): Promise<readonly StoredAnomaly[]> {
    return this.remote.list('/v1/anomalies', limit, { team });
  }
}
