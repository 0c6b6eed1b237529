/**
 * Whether lines of a new bill may still be set aside because metered usage of its time waits to be priced. Until then
 * the bill's lines count although a meter stands for them, and a budget would be evaluated on money that `actual` does
 * not contain a moment later. Reads only.
 */
import { DAY_MS, formatInstant, MINUTE_MS, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { aboutOf } from '../bill/reconciliation.js';

/**
 * No budget waits longer, whatever more comes meanwhile: a line that is never done, or bills without a pause, must not
 * keep it from being evaluated. What is counted then is what `costs` says too.
 */
export const MOST_HELD_MS = 5 * MINUTE_MS;

/**
 * The stages that decide whether a bill's lines count, with the days in their keys; the others cover all days. Of any
 * team, because a meter stands for a line by the machine, and may not know its team.
 */
const BY_DAY = ['cost.price', 'cost.rollup'];
const OF_ALL_DAYS = ['usage.allocate', 'bill.settle'];

const ABOUT = aboutOf('v');

/**
 * @param period of a budget: bills about it, and work on its days, are looked at
 */
export async function isBeingPriced(
  db: Queryable,
  organisation: string,
  { start, end }: Interval,
  now: number,
): Promise<boolean> {
  const [bill] = await db.query(
    `select 1 from delivery v where v.organisation = $1 and v.scope is not null and not v.closed
       and v.delivered_at > $2 and ${ABOUT.from} < $4 and ${ABOUT.until} > $3 limit 1`,
    [organisation, formatInstant(now - MOST_HELD_MS), formatInstant(start), formatInstant(end)],
  );
  if (bill === undefined) return false;
  // Work that failed, or waits for its own time, may never be done: nothing waits for it.
  const [work] = await db.query(
    `select 1 from work where organisation = $1 and done < wanted and parked_at is null and attempts = 0
       and not_before <= $2 and (stage = any($3::text[])
         or stage = any($4::text[]) and right(key, 10) between $5 and $6) limit 1`,
    [
      organisation,
      formatInstant(now),
      OF_ALL_DAYS,
      BY_DAY,
      formatInstant(start - DAY_MS).slice(0, 10),
      formatInstant(end + DAY_MS).slice(0, 10),
    ],
  );
  return work !== undefined;
}
