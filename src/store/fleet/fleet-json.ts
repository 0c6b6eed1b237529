/**
 * The fleet, and how reliable its data is, in the form that every entry point shows: times as ISO 8601, ages in
 * seconds. An unknown value is null.
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { formatInstant } from '../../core/time.js';
import type { FleetCoverage, SeenTarget } from './fleet.js';

export type FleetTargetJson = Omit<FleetTarget, 'revision' | 'launch' | 'launchedAt' | 'knownAs' | 'network'> & {
  readonly connection: string;
  readonly team: string;
  readonly launchedAt: string | null;
  /** Host names and addresses by which readings name it; of a workload its pods. */
  readonly knownAs: string[];
  readonly network: string | null;
  readonly seenAt: string;
  /** Since it was last seen. */
  readonly ageSeconds: number;
  /** Complete readings since that lacked it. */
  readonly missed: number;
};

export type FleetCoverageJson = Omit<FleetCoverage, 'readAt' | 'completeAt'> & {
  readonly readAt: string | null;
  readonly completeAt: string | null;
};

/** @param now epoch milliseconds */
export function fleetTargetJson({ connection, team, seen, seenAt, missed }: SeenTarget, now: number): FleetTargetJson {
  const { revision: _revision, launch: _launch, launchedAt, knownAs = [], network = null, ...shown } = seen;
  return {
    connection,
    team,
    ...shown,
    launchedAt: instantOf(launchedAt),
    knownAs: [...knownAs],
    network,
    seenAt: formatInstant(seenAt),
    ageSeconds: Math.max(0, (now - seenAt) / 1000),
    missed,
  };
}

export const fleetCoverageJson = (one: FleetCoverage): FleetCoverageJson => ({
  ...one,
  readAt: instantOf(one.readAt),
  completeAt: instantOf(one.completeAt),
});

const instantOf = (at: number | null): string | null => (at === null ? null : formatInstant(at));
