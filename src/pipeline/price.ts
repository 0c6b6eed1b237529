/**
 * cost.price (team/day): cost lines for every metered hour of the day, priced or unpriced with a reason.
 *
 * Prices the sums of hours; fetches raw records only for the hours that sums cannot price (a price change inside the
 * hour, a billing minimum that bites). Late usage and corrected prices come through here again.
 */
import { priceFromRecords, priceFromSums } from '../core/cost/hour-pricing.js';
import type { CostContext } from '../core/cost/cost.js';
import { dimensionKey, Grouping } from '../core/cost/rollup.js';
import { HOUR_MS } from '../core/time.js';
import type { CostStore, HourOfDimension, LineOfDimension } from '../store/cost/costs.js';
import type { LearnedRateStore } from '../store/price/learned-rates.js';
import type { OrganisationStore } from '../store/access/organisation.js';
import type { PriceStore } from '../store/price/prices.js';
import { lastPart, wakeTeamDays } from './keys.js';
import type { Stage, StageCall } from './stage.js';

export function priceStage(
  organisations: OrganisationStore,
  prices: PriceStore,
  costs: CostStore,
  learnedRates: LearnedRateStore,
): Stage {
  return {
    name: 'cost.price',
    most: 60,
    async run(call) {
      const { organisation, lane: team, keys, tx } = call;
      const days = keys.map(lastPart);
      const { book, fx } = await prices.book(tx, organisation);
      const context: CostContext = {
        book,
        fx,
        peak: await organisations.peak(tx, organisation),
        currency: await organisations.currencyOf(tx, organisation, team),
        learned: await learnedRates.applied(tx, organisation),
      };
      const lines: LineOfDimension[] = [];
      const unclear: HourOfDimension[] = [];
      for (const hour of await costs.meteredHours(tx, organisation, team, days)) {
        const priced = priceFromSums(team, hour.dimension, hour, context);
        if (priced === null) unclear.push(hour);
        else for (const line of priced) lines.push({ dimensionId: hour.dimensionId, line });
      }
      lines.push(...(await priceUnclear(call, unclear, context, organisations, costs)));
      await costs.replaceHours(tx, organisation, team, days, lines);
      return wakeTeamDays(
        'cost.rollup',
        days.map((day) => ({ team, day })),
      );
    },
  };
}

async function priceUnclear(
  call: StageCall,
  unclear: readonly HourOfDimension[],
  context: CostContext,
  organisations: OrganisationStore,
  costs: CostStore,
): Promise<LineOfDimension[]> {
  if (unclear.length === 0) return [];
  const { organisation, lane: team, tx } = call;
  const rules = await organisations.rules(tx, organisation);
  const grouping = new Grouping((record) => rules.teamOf(record), await organisations.trackedTags(tx, organisation));
  const ids = new Map(unclear.map((hour) => [dimensionKey(hour.dimension), hour.dimensionId]));
  const hours = unclear.map((hour) => hour.hour);
  const from = Math.min(...hours);
  const records = await costs.recordsOf(tx, organisation, team, from, Math.max(...hours) + HOUR_MS, grouping, ids);
  return unclear.flatMap((hour) => {
    const own = (records.get(hour.dimensionId) ?? []).filter(
      (r) => r.start < hour.hour + HOUR_MS && r.end >= hour.hour,
    );
    return priceFromRecords(team, hour.dimension, hour.hour, own, context).map((line) => ({
      dimensionId: hour.dimensionId,
      line,
    }));
  });
}
