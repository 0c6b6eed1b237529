/**
 * The complete answer to a quote: its cost with the uncertainty, whether the team's budgets can hold it, and where the
 * workload would be cheapest. Combines the parts and decides nothing: each part states its own unknowns. Every entry
 * point uses it, so that they all give the same answer.
 */
import { judgeBudgets, overall, type BudgetFacts, type BudgetVerdict, type Verdict } from '../core/quote/budget.js';
import type { NoQuote } from '../core/quote/close.js';
import {
  quoteInDetail,
  type Quote,
  type QuoteContext,
  type QuoteDetail,
  type QuoteRequest,
} from '../core/quote/quote.js';
import type { PriceHistory } from '../core/price/price-book.js';
import { shortlist, type Shortlist } from './placement/shortlist.js';
import type { Workload } from './placement/workload.js';

/** A workload to place; its GPUs and hours are those of the quote. */
export interface PlacementQuestion extends Omit<Workload, 'gpus' | 'hours'> {
  /** Runners-up to list. */
  readonly most: number;
}

export interface WholeQuestion {
  readonly request: QuoteRequest;
  readonly team: string | null;
  /** Tags of the future usage, for budgets that filter by them; null: not given. */
  readonly tags: Readonly<Record<string, string>> | null;
  readonly placement: PlacementQuestion | null;
}

/** The data that a quote uses. */
export interface QuoteWorld {
  readonly context: QuoteContext;
  readonly history: PriceHistory;
  /** The instant as of which budgets are looked at, epoch milliseconds. */
  readonly asOf: number;
  readonly budgets: readonly BudgetFacts[] | null;
}

export interface BudgetsAnswer {
  readonly team: string;
  /** The severest; `unknown` where no budget covers the run. */
  readonly verdict: Verdict;
  readonly budgets: readonly BudgetVerdict[];
}

export interface QuoteAnswer extends Quote {
  /** Null: no team was named. */
  readonly budgets: BudgetsAnswer | null;
  /** Null: nobody asked for it. */
  readonly placements: Shortlist | null;
}

/**
 * Places are compared by GPUs and egress: if the quote includes more than that, their costs are not comparable with its
 * own.
 */
const withoutStorageNetwork = ({ storageGib, networkGib }: QuoteRequest, found: Shortlist): Shortlist =>
  (storageGib ?? 0) === 0 && (networkGib ?? 0) === 0
    ? found
    : {
        ...found,
        assumptions: [
          ...found.assumptions,
          'places are compared by GPUs and egress alone, without the storage and the traffic of the quote',
        ],
      };

/** @throws Failure invalid naming every number that cannot be, of the quote or of the workload */
export function answerQuote(
  { request, team, tags, placement }: WholeQuestion,
  world: QuoteWorld,
): QuoteAnswer | NoQuote {
  const detail = quoteInDetail(request, world.context);
  if ('unpriced' in detail) return detail;
  const { currency } = detail.quote;
  return {
    ...detail.quote,
    budgets: team === null ? null : budgetsAnswer(team, tags, detail, world),
    placements:
      placement === null ? null : withoutStorageNetwork(request, placements(request, placement, currency, world)),
  };
}

function budgetsAnswer(
  team: string,
  tags: WholeQuestion['tags'],
  detail: QuoteDetail,
  { asOf, budgets, context }: QuoteWorld,
): BudgetsAnswer {
  const { provider, sku, term, currency } = detail.quote;
  const judged = judgeBudgets(detail, budgets ?? [], { asOf, provider, sku, term, tags, fx: context.fx, currency });
  return { team, verdict: overall(judged), budgets: judged.map(({ view }) => view) };
}

/** @param currency of the answer */
export function placements(
  { gpus, hours }: Pick<QuoteRequest, 'gpus' | 'hours'>,
  { most, ...workload }: PlacementQuestion,
  currency: string,
  {
    context: { fx, at, effective },
    history,
  }: { readonly context: Pick<QuoteContext, 'fx' | 'at' | 'effective'>; readonly history: PriceHistory },
): Shortlist {
  const found = shortlist({ ...workload, gpus, hours }, { history, fx, currency, at }, most);
  const taught = effective?.taught ?? 0;
  return taught === 0
    ? found
    : {
        ...found,
        assumptions: [
          ...found.assumptions,
          `${taught} of the prices were learned from bills, the others are list prices`,
        ],
      };
}
