/** When a budget's plan runs out, as it is shown. Never decides when that is (budget.ts does). */

/**
 * `2026-11-20`, in the budget's zone; null: the plan lasts. What was kept before the day was: the day in UTC.
 *
 * A day and not an hour: the daily spend of a bill says no more.
 */
export const exhaustionDayOf = (of: {
  readonly exhaustionAt: string | null;
  readonly exhaustionDay?: string | null | undefined;
}): string | null => of.exhaustionDay ?? of.exhaustionAt?.slice(0, 10) ?? null;

/** Whether a budget without such a day lasts: usage without a price is in no forecast, so nobody knows. */
export const isEndKnown = ({ unpricedGpuHours }: { readonly unpricedGpuHours: string }): boolean =>
  !(Number(unpricedGpuHours) > 0);
