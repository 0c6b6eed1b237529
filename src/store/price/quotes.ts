/**
 * The data for a quote: prices, peak schedule, the state of the budgets above a team, and the frequency of spot
 * interruptions. Reads only, in as few statements as possible: one for the organisation, one for all budgets with their
 * states and holds, and one for spot. One statement reads a state together with the holds on its budget: so a move of
 * an amount from one to the other by an evaluation is seen as a whole or not at all.
 */
import { periodAt, type Budget } from '../../core/budget/budget.js';
import { parseDecimal, ZERO } from '../../core/decimal.js';
import { effectivePrices, type EffectivePrices } from '../../core/price/effective-prices.js';
import { nanosOf } from '../../core/money.js';
import { compilePeak, NO_PEAK, type PeakRule, type PeakSchedule } from '../../core/price/peak.js';
import { findPrice, type QuoteContext, type QuoteRequest } from '../../core/quote/quote.js';
import { REFERENCE_PRICES, referenceBook } from '../../core/quote/reference-prices.js';
import type { BudgetFacts, EvaluatedFacts } from '../../core/quote/budget.js';
import {
  interruptionsIn,
  SPOT_HISTORY_MS,
  type DirtyPrices,
  type Interruptions,
} from '../../core/price/spot-history.js';
import { formatInstant } from '../../core/time.js';
import type { PriceHistory } from '../../core/price/price-book.js';
import type { BudgetStateJson } from '../budget/budgets.js';
import type { Queryable } from '../database.js';
import type { LearnedRateStore } from './learned-rates.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { CurrentPrices, PriceStore } from './prices.js';

export interface QuoteFacts {
  readonly context: QuoteContext;
  readonly history: PriceHistory;
  /** The time as of which the organisation's budgets are evaluated, epoch milliseconds. */
  readonly asOf: number;
  /** Tags by which usage is kept apart. */
  readonly trackedTags: readonly string[];
  /** Null if no team was named. */
  readonly budgets: readonly BudgetFacts[] | null;
}

export interface QuoteQuestion {
  readonly request: QuoteRequest;
  readonly team: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly dirtyPrices: DirtyPrices;
}

/** Prices as quotes go by them: the lists', times what bills have taught. */
export interface QuotePrices extends CurrentPrices {
  readonly effective: EffectivePrices;
}

interface Remembered {
  readonly rates: string;
  readonly list: CurrentPrices;
  /** Half-open: until another rate begins to hold. */
  readonly from: number;
  readonly until: number;
  readonly made: QuotePrices;
}

/** Accounts and organisations whose prices are remembered. */
const MOST_REMEMBERED = 100;

interface Head {
  version: string;
  rates: string;
  peak: PeakRule[] | null;
  recorded: number | null;
  tags: readonly string[] | null;
}
interface BudgetRow {
  spec: Budget;
  teams: string[];
  start: Date | null;
  evaluated: Date | null;
  state: BudgetStateJson | null;
  held: string | null;
  foreign: string[] | null;
}

/**
 * The budgets of the teams $2 and of every team above them, as of $3, each with the teams that it lies over and what is
 * held of it after $4. Where a budget's currency was changed, what was held in another one is not known in its own
 * until it expires.
 */
const BUDGETS = `
with recursive above(team, id) as (
  select team, team from unnest($2::text[]) as t(team) union select above.team, t.parent from team t join above on t.id = above.id where t.organisation = $1 and t.parent is not null)
select b.spec, (select array_agg(above.team) from above where above.id = b.team) as teams, s.period_start as start, s.weighed_at as evaluated, s.state, h.held, h.foreign
from budget b
left join lateral (
  select period_start, weighed_at, state from budget_state where organisation = $1 and budget = b.id and period_start <= $3 order by period_start desc limit 1) s on true
left join lateral (
  select sum(remaining_nanos) filter (where currency = b.spec->>'currency')::text as held,
    array_agg(currency) filter (where currency <> b.spec->>'currency') as foreign
  from reservation_hold where organisation = $1 and budget = b.id and expires_at > $4 and at >= s.period_start) h on true
where b.organisation = $1 and b.team = any(array(select id from above)) order by b.id`;

export class QuoteStore {
  private readonly peaks = new Map<string, { readonly text: string; readonly schedule: PeakSchedule }>();
  private readonly remembered = new Map<string, Remembered>();

  constructor(
    private readonly prices: PriceStore,
    private readonly organisations: OrganisationStore,
    private readonly learnedRates: LearnedRateStore,
  ) {}

  /**
   * The prices that hold for an account; for any where it is null. As old as the organisation's versions of prices and
   * rates say.
   * @param now epoch milliseconds
   */
  async pricesOf(db: Queryable, organisation: string, account: string | null, now: number): Promise<QuotePrices> {
    const [head] = await db.query<{ version: string; rates: string }>(
      `select price_version::text as version, rate_version::text as rates from organisation where id = $1`,
      [organisation],
    );
    return this.effective(db, organisation, account, head ?? { version: '0', rates: '0' }, now);
  }

  private async effective(
    db: Queryable,
    organisation: string,
    account: string | null,
    { version, rates }: { readonly version: string; readonly rates: string },
    now: number,
  ): Promise<QuotePrices> {
    const list = await this.prices.bookOf(db, organisation, version);
    const name = JSON.stringify([organisation, account]);
    const fresh = (): QuotePrices | null => {
      const known = this.remembered.get(name);
      return known !== undefined &&
        known.rates === rates &&
        known.list === list &&
        known.from <= now &&
        now < known.until
        ? known.made
        : null;
    };
    const known = fresh();
    if (known !== null) return known;
    const learned = await this.learnedRates.applied(db, organisation);
    // If many asked at once, the first one has made it meanwhile.
    const other = fresh();
    if (other !== null) return other;
    const effective = effectivePrices(list, learned, account, now);
    const made: QuotePrices = {
      ...list,
      effective,
      book: effective.book,
      history: effective.history,
      prices: effective.history.prices,
    };
    if (this.remembered.size >= MOST_REMEMBERED) this.remembered.clear();
    this.remembered.set(name, { rates, list, from: now, until: learned.nextAfter(now), made });
    return made;
  }

  async facts(
    db: Queryable,
    organisation: string,
    { request, team, now, dirtyPrices }: QuoteQuestion,
  ): Promise<QuoteFacts> {
    const [head] = await db.query<Head>(
      `select price_version::text as version, rate_version::text as rates, (select value from setting where organisation = $1 and key = 'peak') as peak,
         (select value from setting where organisation = $1 and key = 'as-of') as recorded, (select value from setting where organisation = $1 and key = 'tracked-tags') as tags from organisation where id = $1`,
      [organisation],
    );
    const prices = await this.effective(
      db,
      organisation,
      request.account ?? null,
      head ?? { version: '0', rates: '0' },
      now,
    );
    const asOf = (head?.recorded ?? null) === null ? now : await this.organisations.asOf(db, organisation, now);
    const { book, fx } = prices;
    return {
      history: prices.history,
      asOf,
      trackedTags: head?.tags ?? [],
      context: {
        book,
        prices: prices.prices,
        effective: prices.effective,
        references: { book: referenceBook(), prices: REFERENCE_PRICES },
        fx,
        peak: this.peakOf(organisation, head?.peak ?? null),
        at: now,
        dirtyPrices,
        interruptions:
          request.term === 'spot' ? await this.interruptions(db, organisation, request, prices, now) : null,
      },
      budgets: team === null ? null : await budgetsOver(db, organisation, team, asOf, now),
    };
  }

  /** A schedule remembers the hours that it has looked at, so it is compiled once. */
  private peakOf(organisation: string, rules: PeakRule[] | null): PeakSchedule {
    if (rules === null || rules.length === 0) return NO_PEAK;
    const text = JSON.stringify(rules);
    const known = this.peaks.get(organisation);
    if (known?.text === text) return known.schedule;
    const schedule = compilePeak(rules);
    this.peaks.set(organisation, { text, schedule });
    return schedule;
  }

  private async interruptions(
    db: Queryable,
    organisation: string,
    request: QuoteRequest,
    { book }: CurrentPrices,
    now: number,
  ): Promise<Interruptions | null> {
    const { found } = findPrice(request, { book, at: now });
    if ('unpriced' in found || found.price.gpuModel === null) return null;
    const { provider, region, gpuModel } = found.price;
    const rows = await db.query<{ at: Date; available: boolean }>(
      `select at, available from spot_reading where organisation = $1 and provider = $2 and region = $3 and gpu_model = $4 and at > $5 and at <= $6 order by at`,
      [organisation, provider, region ?? '', gpuModel, formatInstant(now - SPOT_HISTORY_MS), formatInstant(now)],
    );
    return interruptionsIn(rows.map(({ at, available }) => ({ at: at.getTime(), available })));
  }
}

/**
 * Every budget over a team, as it stands.
 * @param asOf for states and periods
 * @param now for what has expired
 */
async function budgetsOver(
  db: Queryable,
  organisation: string,
  team: string,
  asOf: number,
  now: number,
): Promise<readonly BudgetFacts[]> {
  return (await budgetsOverEach(db, organisation, [team], asOf, now)).get(team) ?? [];
}

/** The same of several teams, each budget read once. */
export async function budgetsOverEach(
  db: Queryable,
  organisation: string,
  teams: readonly string[],
  asOf: number,
  now: number,
): Promise<ReadonlyMap<string, readonly BudgetFacts[]>> {
  const rows = await db.query<BudgetRow>(BUDGETS, [organisation, teams, formatInstant(asOf), formatInstant(now)]);
  const over = new Map<string, BudgetFacts[]>(teams.map((team) => [team, []]));
  for (const row of rows) {
    const facts = factsOf(row, asOf);
    for (const team of row.teams) over.get(team)?.push(facts);
  }
  return over;
}

function factsOf({ spec: budget, start, evaluated, state, held, foreign }: BudgetRow, asOf: number): BudgetFacts {
  const period = periodAt(budget, asOf);
  // A state of an earlier period says nothing of the present one.
  const isPresent = state !== null && evaluated !== null && start?.getTime() === period.start;
  const facts = isPresent ? evaluatedFacts(state, evaluated.getTime()) : null;
  return {
    budget,
    period,
    reserved: BigInt(held ?? 0),
    state: facts === null ? null : { ...facts, unconverted: [...new Set([...facts.unconverted, ...(foreign ?? [])])] },
  };
}

function evaluatedFacts(state: BudgetStateJson, weighedAt: number): EvaluatedFacts {
  const reserved = nanos(state.reserved ?? '0');
  const { forecast } = state;
  return {
    weighedAt,
    spent: nanos(state.spent),
    owed: nanos(state.committed) - reserved,
    unpricedGpuHours: state.unpricedGpuHours,
    unconverted: state.unconverted,
    forecast:
      forecast === null
        ? null
        : {
            mean: nanos(forecast.mean) - reserved,
            low: nanos(forecast.low) - reserved,
            high: nanos(forecast.high) - reserved,
          },
  };
}

const nanos = (text: string): bigint => nanosOf(parseDecimal(text) ?? ZERO) ?? 0n;
