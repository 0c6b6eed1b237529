/**
 * The effect of other allocation rules on the costs on the basis `actual`, team by team: the present `bursar costs`,
 * and what it would show. Reads only. The present side is the stored sums. The other side divides the same costs by the
 * cost of their raw records per team, priced as the line prices them (each block separately, so memory stays bounded),
 * shared and credited as the line does. So both have one sum, unless usage goes to a team of another currency or
 * credits are for single teams. Work that the line has not done yet is in neither.
 */
import { compileRules, type AllocationRule } from '../../core/cost/allocation.js';
import { readCredits } from '../../core/cost/credit.js';
import { formatDecimal, parseDecimal, type Decimal } from '../../core/decimal.js';
import { dimensionKey } from '../../core/cost/rollup.js';
import {
  divide,
  share,
  sumsOf,
  takeCredits,
  type DayCost,
  type Portion,
  type TeamSum,
} from '../../core/cost/rule-preview.js';
import type { Transaction } from '../database.js';
import { isShared } from '../access/organisation.js';
import { Apportioning, keyOf, type ApportioningNeeds } from './apportioning.js';
import { gpuHours } from './spend.js';
import type { Stores } from '../stores.js';

/** A team's costs in a currency; decimal strings, null if nothing of it has a price. */
export interface TeamPreview {
  readonly team: string;
  readonly currency: string;
  readonly before: string | null;
  readonly after: string | null;
  /** GPU-hours without a price: they are in neither. */
  readonly unpricedBefore: string;
  readonly unpricedAfter: string;
}

export interface RulePreview {
  readonly teams: readonly TeamPreview[];
  /** Per currency, over all teams. */
  readonly totals: readonly Omit<TeamPreview, 'team'>[];
}

type Needs = ApportioningNeeds & Pick<Stores, 'db' | 'credits'>;

/** @throws Failure invalid naming every problem of the rules */
export async function previewRules(
  stores: Needs,
  organisation: string,
  rules: readonly AllocationRule[],
): Promise<RulePreview> {
  compileRules(rules);
  // The line continues meanwhile.
  return stores.db.snapshot(async (tx) => {
    const wanted = stores.organisations.asRuleSet(rules);
    const before = await stated(tx, organisation);
    const direct = await directCosts(tx, organisation);
    const dimensions = await stores.dimensions.byIds(
      tx,
      organisation,
      direct.map(({ dimension }) => dimension),
    );
    const portions = await new Apportioning(
      stores,
      tx,
      organisation,
      await stores.organisations.rules(tx, organisation),
      wanted,
    ).all();
    const divided = direct.flatMap((cost) => {
      const dimension = dimensions.get(cost.dimension);
      return divide(
        cost,
        (dimension === undefined ? undefined : portions.get(keyOf(cost.team, cost.day, dimensionKey(dimension)))) ??
          new Map<string, Portion>(),
      );
    });
    const fx = await stores.prices.fx(tx, organisation);
    const after = share(divided, {
      isShared,
      assignmentOf: (standIn) => wanted.assignmentOf(standIn),
      daysOf: (id) => dimensions.get(id)?.days ?? 1,
      fx,
    });
    const credits = readCredits(await stores.credits.specs(tx, organisation));
    const sourceOf = (id: string): { provider: string; isMetered: boolean } | null => {
      const dimension = dimensions.get(id);
      return dimension === undefined
        ? null
        : { provider: dimension.provider, isMetered: dimension.kind === 'metered' && dimension.category !== 'Credit' };
    };
    const taken = takeCredits(after, credits, sourceOf, fx);
    return compared(before, sumsOf([...after, ...taken]));
  });
}

const amountOf = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));

/** The stored costs, including shares and credits, as `bursar costs --group-by team` shows them. */
async function stated(tx: Transaction, organisation: string): Promise<TeamSum[]> {
  const rows = await tx.query<{ team: string; currency: string; actual: string | null; unpriced: string }>(
    `select team, currency, sum(actual)::text as actual, sum(unpriced_part_ms - stated_part_ms)::text as unpriced from cost_day
     where organisation = $1 and team not like 'shared:%' and (actual is not null or unpriced_lines > stated_lines) group by team, currency`,
    [organisation],
  );
  return rows.map(({ team, currency, actual, unpriced }) => ({
    team,
    currency,
    actual: amountOf(actual),
    unpriced: BigInt(unpriced),
  }));
}

/** The costs before sharing and credits, including those of stand-ins. */
async function directCosts(tx: Transaction, organisation: string): Promise<DayCost[]> {
  const rows = await tx.query<{
    team: string;
    day: string;
    dimension: string;
    currency: string;
    accrued: string | null;
    actual: string | null;
    unpriced: string;
  }>(
    `select team, day::text as day, dimension::text as dimension, currency, accrued::text as accrued, actual::text as actual, (unpriced_part_ms - stated_part_ms)::text as unpriced
     from cost_day where organisation = $1 and shared_from = '' and (accrued is not null or actual is not null or unpriced_part_ms > stated_part_ms)`,
    [organisation],
  );
  return rows.map(({ accrued, actual, unpriced, ...row }) => ({
    ...row,
    accrued: amountOf(accrued),
    actual: amountOf(actual),
    unpriced: BigInt(unpriced),
  }));
}

function compared(before: readonly TeamSum[], after: readonly TeamSum[]): RulePreview {
  const pairs = (one: readonly TeamSum[], other: readonly TeamSum[]): TeamPreview[] => {
    const find = (sums: readonly TeamSum[], of: TeamSum): TeamSum | undefined =>
      sums.find(({ team, currency }) => team === of.team && currency === of.currency);
    const all = [...one, ...other.filter((sum) => find(one, sum) === undefined)].sort((a, b) =>
      a.team < b.team ? -1 : a.team > b.team ? 1 : a.currency < b.currency ? -1 : 1,
    );
    return all.map((of) => ({
      team: of.team,
      currency: of.currency,
      before: textOf(find(one, of)?.actual),
      after: textOf(find(other, of)?.actual),
      unpricedBefore: gpuHours(find(one, of)?.unpriced ?? 0n),
      unpricedAfter: gpuHours(find(other, of)?.unpriced ?? 0n),
    }));
  };
  const whole = (sums: readonly TeamSum[]): TeamSum[] => sumsOf(sums.map((sum) => ({ ...sum, team: '' })));
  return {
    teams: pairs(before, after),
    totals: pairs(whole(before), whole(after)).map(
      ({ currency, before: was, after: willBe, unpricedBefore, unpricedAfter }) => ({
        currency,
        before: was,
        after: willBe,
        unpricedBefore,
        unpricedAfter,
      }),
    ),
  };
}

const textOf = (amount: Decimal | null | undefined): string | null =>
  amount === null || amount === undefined ? null : formatDecimal(amount);
