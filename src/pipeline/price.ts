/**
 * cost.price (team/day): cost lines for every metered hour of the day, priced, or unpriced with a reason. Prices the
 * sums of hours; fetches raw records only for hours that sums cannot price (a price change inside the hour, or a
 * billing minimum or increment that applies). Then it counts the runs of the day and passes them on to the next day. If
 * these change, the next day is priced again; if a run turns out to continue over midnight, the previous day is. Late
 * usage and corrected prices pass through here again, in any order, with the same result.
 */
import { DayPricing } from './price-day.js';
import type { CostStore } from '../store/cost/costs.js';
import type { CountingStore } from '../store/bill/counting.js';
import type { LearnedRateStore } from '../store/price/learned-rates.js';
import type { OrganisationStore } from '../store/access/organisation.js';
import type { PriceStore } from '../store/price/prices.js';
import { lastPart, teamDayItems } from './keys.js';
import type { Stage } from './stage.js';

export function priceStage(
  organisations: OrganisationStore,
  prices: PriceStore,
  costs: CostStore,
  learnedRates: LearnedRateStore,
  counting: CountingStore,
): Stage {
  return {
    name: 'cost.price',
    most: 60,
    async run({ organisation, partition: team, keys, tx }) {
      const settings = {
        peak: await organisations.peak(tx, organisation),
        currency: await organisations.currencyOf(tx, organisation, team),
        learned: await learnedRates.applied(tx, organisation),
      };
      const pricing = new DayPricing(prices, organisations, costs, tx, organisation, team, settings);
      const { days, later, metered } = await pricing.all(keys.map(lastPart));
      return [
        ...teamDayItems(
          'cost.rollup',
          days.map((day) => ({ team, day })),
        ),
        ...teamDayItems(
          'cost.price',
          later.map((day) => ({ team, day })),
        ),
        ...(await counting.noteMetered(tx, organisation, team, days, metered)),
      ];
    },
  };
}
