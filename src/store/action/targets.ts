/**
 * The location of a recommendation's target: the connection that knows it, and its last known state. A small port, so
 * that acting does not depend on the storage of the fleet. It never calls a provider.
 */
import type { OfferOnSale } from '../../core/action/acting.js';
import type { EffectKind, FleetTarget } from '../../core/fleet/fleet.js';
import type { Queryable } from '../database.js';

export interface FoundTarget {
  /** Name of the provider connection. */
  readonly connection: string;
  readonly seen: FleetTarget;
  /** Epoch milliseconds. */
  readonly seenAt: number;
  /** Effects that the connection carries out, none if it may only read; absent or null: unknown. */
  readonly carriesOut?: readonly EffectKind[] | null;
}

export interface TargetFinder {
  /**
   * The target that a team's recommendation names; null: it is unknown, gone, or another team's. @param target the name
   * in the recommendation: a target of the fleet, or a name that belongs to one target only
   */
  find(db: Queryable, organisation: string, team: string, target: string): Promise<FoundTarget | null>;
  /** Commitments on sale, as the connections last said; absent: they are not queried. */
  offers?(db: Queryable, organisation: string): Promise<readonly OfferOnSale[]>;
}

/** Knows nothing: recommendations stay recommendations. */
export const NO_TARGETS: TargetFinder = { find: async () => null };
