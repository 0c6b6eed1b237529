/**
 * Sets the data that metered usage is priced with: exchange rates, the peak schedule, and withdrawn statements of
 * prices. The line then prices the affected usage again. Every entry point (API, command line, Slack) uses these
 * functions, so all do the same. The amounts of a bill stay unchanged.
 */
import { canonical } from '../../core/changes.js';
import type { FxQuote } from '../../core/price/fx.js';
import { compilePeak, type PeakRule } from '../../core/price/peak.js';
import type { Transaction } from '../../store/database.js';
import type { ListedPrice } from '../../store/price/prices.js';
import type { Stores } from '../../store/stores.js';
import { CREDIT_ITEM } from '../../store/cost/credits.js';
import { enqueueUrgent } from '../../store/work.js';

type Needs = Pick<Stores, 'budgets' | 'credits' | 'organisations' | 'prices' | 'shares'>;

export interface FxChange {
  /** Rates that were sent. */
  readonly rows: number;
  /** Rates that are new or have another value now. */
  readonly changed: number;
  /** The earliest day of those; null if nothing changed. */
  readonly from: string | null;
}

/** Adds or corrects rates for one USD; removes none. Costs before the earliest changed day stay unchanged. */
export async function setFx(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  quotes: readonly FxQuote[],
  source: string,
): Promise<FxChange> {
  const days = await stores.prices.addFx(tx, organisation, quotes, source);
  const from = days[0] ?? null;
  if (from !== null) {
    await enqueuePricing(stores, tx, organisation, { from });
    // Shares by use are weighted in one currency, and credits are taken in theirs.
    await enqueueUrgent(tx, organisation, [
      ...(await stores.shares.itemsFrom(tx, organisation, from)),
      ...((await stores.credits.some(tx, organisation)) ? [CREDIT_ITEM] : []),
    ]);
    // A bill's amounts in another currency are converted when a budget is evaluated.
    await stores.budgets.enqueueEvaluated(tx, organisation, Date.parse(from));
  }
  return { rows: quotes.length, changed: days.length, from };
}

/** Replaces the schedule; returns the previous one. @throws Failure invalid naming every problem. */
export async function setPeak(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  rules: readonly PeakRule[],
): Promise<readonly PeakRule[]> {
  compilePeak(rules);
  const before = await stores.organisations.peakRules(tx, organisation);
  if (canonical(before) === canonical(rules)) return before;
  await stores.organisations.saveSetting(tx, organisation, 'peak', rules);
  await enqueuePricing(stores, tx, organisation);
  return before;
}

/**
 * Withdraws the statement of a price, or (null) restores it; the usage that it priced is priced again. @throws Failure
 * missing
 */
export async function setPriceWithdrawn(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  withdrawn: { readonly by: string; readonly at: number } | null,
): Promise<ListedPrice> {
  const event = await stores.prices.setWithdrawn(tx, organisation, id, withdrawn);
  if (event !== null) {
    const days = await stores.prices.affected(tx, organisation, [event]);
    await enqueueUrgent(
      tx,
      organisation,
      days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
    );
  }
  return stores.prices.one(tx, organisation, id);
}

/** Enqueues the pricing of metered days: all, those of a team, or those from a UTC day on. */
export async function enqueuePricing(
  { prices }: Needs,
  tx: Transaction,
  organisation: string,
  only: { readonly from?: string; readonly team?: string } = {},
): Promise<void> {
  const days = await prices.meteredDays(tx, organisation, only);
  await enqueueUrgent(
    tx,
    organisation,
    days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
  );
}
