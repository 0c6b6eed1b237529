/**
 * Where a recommendation's target is: which connection knows it, and how it was last seen. A small port, so that acting
 * does not depend on how the fleet is kept. It never calls a provider.
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
  /** Effects that the connection carries out, none where it may only read; absent or null: not known. */
  readonly carriesOut?: readonly EffectKind[] | null;
}

export interface TargetFinder {
  /**
   * The target that a team's recommendation names; null: nobody knows it, it is gone, or it is another team's.
   * @param target as the recommendation names it: a target of the fleet, or a name that is one target's alone
   */
  find(db: Queryable, organisation: string, team: string, target: string): Promise<FoundTarget | null>;
  /** Commitments on sale, as the connections last said; absent: nobody asks them. */
  offers?(db: Queryable, organisation: string): Promise<readonly OfferOnSale[]>;
}

/** Knows nothing: recommendations stay recommendations. */
export const NO_TARGETS: TargetFinder = { find: async () => null };
