/**
 * recommendation.make (team): shows every policy the team as it stands and keeps what they propose.
 *
 * Policies are handed in and only ever called through their port. A proposal that would save nothing is not made.
 */
import { recommendationOf, type Policy } from '../core/policy.js';
import type { OrganisationStore } from '../store/organisation.js';
import type { PriceStore } from '../store/prices.js';
import type { RecommendationStore } from '../store/recommendations.js';
import type { ViewStore } from '../store/views.js';
import type { Stage } from './stage.js';

export function recommendStage(organisations: OrganisationStore, prices: PriceStore, views: ViewStore, recommendations: RecommendationStore, policies: readonly Policy[]): Stage {
  return {
    name: 'recommendation.make', most: 1,
    async run({ organisation, keys, now, tx }) {
      for (const team of keys) {
        const currency = await organisations.currencyOf(tx, organisation, team);
        const asOf = await organisations.asOf(tx, organisation, now);
        const view = { ...(await views.view(tx, organisation, team, currency, asOf, await prices.book(tx, organisation))), budgets: [] };
        const made = policies.flatMap((policy) => policy.evaluate(view, policy.params.parse({}))
          .filter((proposal) => proposal.monthlySavings.mean > 0n)
          .map((proposal) => recommendationOf(view, policy, proposal)));
        await recommendations.replaceOpen(tx, organisation, team, policies.map((policy) => policy.name), made, now);
      }
      return [];
    },
  };
}
