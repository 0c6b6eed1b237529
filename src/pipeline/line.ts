/**
 * The line: what happens between a usage record and a recommendation, in order. This is its table of contents.
 *
 *   usage.collect    takes records and bills in, assigns teams, sums hours   collect.ts    wakes cost.price, cost.rollup
 *   usage.allocate   assigns history anew when the rules change              allocate.ts   wakes cost.price, cost.rollup
 *   cost.price       prices a team's day, hour by hour, or says why not      price.ts      wakes cost.rollup
 *   cost.rollup      sums the day: accrued, billed, actual                   rollup.ts     wakes cost.share, cost.credit, budget.weigh
 *   cost.share       splits the day's shared costs over the teams            share.ts      wakes cost.credit, budget.weigh
 *   cost.credit      takes what is due from the credits that were granted    credit.ts     wakes budget.weigh
 *   budget.weigh     state, forecast and crossings of a budget's period      weigh.ts      wakes recommendation.make
 *   recommendation.make   shows the team to its policies                     recommend.ts
 *
 * A stage wakes only stages to its right. Late usage and corrected prices enter again at the left and walk the same line.
 * Each stage runs in one transaction: what it writes, what it has done and what it wakes are there together or not at all.
 */
import type { Policy } from '../core/policy.js';
import type { Stores } from '../store/stores.js';
import { allocateStage } from './allocate.js';
import { creditStage } from './credit.js';
import { priceStage } from './price.js';
import { recommendStage } from './recommend.js';
import { rollupStage } from './rollup.js';
import { shareStage } from './share.js';
import type { Stage } from './stage.js';
import { weighStage } from './weigh.js';

/** The stages after collecting, from left to right. */
export function makeLine(stores: Stores, policies: readonly Policy[]): readonly Stage[] {
  const { organisations, raw, prices, costs, shares, credits, budgets } = stores;
  return [
    allocateStage(organisations, raw),
    priceStage(organisations, prices, costs),
    rollupStage(organisations, costs, credits, budgets),
    shareStage(organisations, shares, credits, budgets),
    creditStage(credits, budgets),
    weighStage(organisations, prices, budgets),
    recommendStage(stores, policies),
  ];
}
