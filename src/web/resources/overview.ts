/**
 * /v1/overview and related routes: the dashboard's first page, in one answer that stays small with a thousand teams.
 *
 * Read-only, and shows nothing that the other resources do not. The forecast is the budgets' own, for everything that
 * the caller may see.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { periodAt, plannedFor, evaluateBudget, type Budget, type SpendPoint } from '../../core/budget/budget.js';
import { aboutHours } from '../../core/cost/whole-hours.js';
import {
  addDecimal,
  compareDecimal,
  formatDecimal,
  parseDecimal,
  tenTo,
  ZERO,
  type Decimal,
} from '../../core/decimal.js';
import { missing } from '../../core/errors.js';
import { divideHalfEven } from '../../core/money.js';
import { formatInstant, dayLabel, DAY_MS, HOUR_MS } from '../../core/time.js';
import { forecastPeriodEnd } from '../../planning/forecast/forecast.js';
import type { StoredState } from '../../store/budget/budgets.js';
import { spendByDay, type DaySpend } from '../../store/cost/overview.js';
import { unpricedOfBudget } from '../../store/budget/unpriced.js';
import { setAsideSums } from '../../store/cost/spend-sums.js';
import { unpricedUsage } from '../../store/cost/unpriced.js';
import { gpuHours } from '../../store/cost/spend.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { pageOfAll, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { budgetId, budgetStateFields } from './budgets.js';
import { billSchema, unpricedSchema } from './costs.js';
import { teamId } from './teams.js';

const decimal = z.string().describe('Decimal string');
const count = z.int().min(0);
const forecast = z
  .strictObject({ mean: decimal, low: decimal, high: decimal, method: z.string() })
  .nullable()
  .describe(
    'For the whole month, without credits; made at the newest evaluation of a budget where that is within the last hour; null if there is no history',
  );
const standingSchema = z
  .strictObject({
    budget: z.string(),
    team: z.string(),
    periodStart: z.iso.datetime().nullable(),
    periodEnd: z.iso.datetime().nullable(),
    state: budgetStateFields.nullable().describe('Null: not evaluated yet'),
    warnings: z.array(z.string()).describe('Know these before you rely on the amounts'),
  })
  .meta({ id: 'BudgetStanding' });
const overviewSchema = z
  .strictObject({
    asOf: z.iso.datetime().describe('Now, or the end of the recorded history'),
    month: z.string(),
    monthStart: z.iso.datetime(),
    monthEnd: z.iso.datetime(),
    spend: z
      .array(
        z.strictObject({
          currency: z.string(),
          month: decimal.describe('Actual cost of the month (UTC) so far'),
          monthBefore: decimal.nullable().describe('Of the whole previous month; null if nothing is known about it'),
          forecast,
          days: z
            .array(z.strictObject({ day: z.string(), cost: decimal }))
            .describe('From the first day of the previous month'),
        }),
      )
      .describe('One per currency: they are never added'),
    unpricedGpuHours: decimal.describe('In the month: they are in no sum'),
    setAside: z
      .array(z.strictObject({ currency: z.string(), cost: decimal }))
      .describe(
        'Amounts of bills of the month that are not final, in no sum; metered usage counts instead until they are',
      ),
    unpriced: unpricedSchema.describe('Unpriced storage, traffic and usage without a quantity in the month: in no sum'),
    bills: z.array(billSchema).describe('Bills of the month and the previous one, with their states'),
    budgets: z.strictObject({
      count,
      over: count.describe('Spent more than planned'),
      forecastOver: count.describe('Will spend more than planned, by the forecast'),
      notPlanned: count,
      notWeighed: count,
      items: z.array(standingSchema).describe('The twelve nearest to their limit'),
    }),
  })
  .meta({ id: 'Overview' });
const statesQuery = z.strictObject({ ...pageQuery, team: teamId.optional() });
const burnSchema = z
  .strictObject({
    budget: z.string(),
    team: z.string(),
    currency: z.string(),
    zone: z.string(),
    periodStart: z.iso.datetime(),
    periodEnd: z.iso.datetime(),
    asOf: z.iso.datetime(),
    planned: decimal.nullable(),
    days: z.array(
      z.strictObject({
        day: z.string(),
        spent: decimal,
        total: decimal.describe('In the period so far'),
        unpricedGpuHours: decimal,
      }),
    ),
    unconverted: z.array(z.string()),
    setAside: z
      .array(z.strictObject({ currency: z.string(), amount: decimal }))
      .readonly()
      .describe('Amounts of bills that are not final, in no day; metered usage counts instead until they are'),
    unpriced: unpricedSchema.describe('Unpriced storage, traffic and usage without a quantity: in no day'),
  })
  .meta({ id: 'BurnDown' });
const leaseSchema = z
  .strictObject({
    lease: z.string(),
    target: z.string(),
    holder: z.string().nullable(),
    gpus: z.number().nullable(),
    startedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    active: z.boolean().nullable().describe('Null: it is unknown whether it is still held'),
    provider: z.string().nullable(),
    sku: z.string().nullable(),
    region: z.string().nullable(),
    gpuModel: z.string().nullable(),
  })
  .meta({ id: 'TeamLease' });

type Overview = z.infer<typeof overviewSchema>;
type Standing = z.infer<typeof standingSchema>;

const MOST_BUDGETS = 12;
const HISTORY_DAYS = 91;

@Controller()
export class OverviewController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/overview', {
    summary: 'Spend, forecast and budgets at a glance',
    description: 'A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: overviewSchema,
  })
  async overview(@Calling() caller: Caller): Promise<Overview> {
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    const asOf = await this.asOf(caller);
    const month = periodAt({ period: 'month', zone: 'UTC' }, asOf);
    const before = periodAt({ period: 'month', zone: 'UTC' }, month.start - 1);
    const days = { from: dayLabel(month.start, 'UTC'), to: dayLabel(month.end, 'UTC') };
    const [rows, setAside, unpriced, { standings, newest }, bills] = await Promise.all([
      spendByDay(stores.db, organisation, {
        from: dayLabel(month.start - HISTORY_DAYS * DAY_MS, 'UTC'),
        to: dayLabel(month.end, 'UTC'),
        teams,
      }),
      setAsideSums(stores.db, organisation, { ...days, teams, zone: 'UTC' }),
      unpricedUsage(stores.db, organisation, { ...days, teams, zone: 'UTC', basis: 'actual' }),
      this.standings(caller, asOf),
      stores.counting.bills(
        stores.db,
        organisation,
        { from: formatInstant(before.start), to: formatInstant(month.end), teams },
        this.parts.clock.now(),
      ),
    ]);
    // The forecasts of the budgets were made then: one moment for all forecasts of the page.
    const forecastAt = newest >= Math.max(month.start, asOf - HOUR_MS) ? Math.min(asOf, newest) : asOf;
    const [firstDay, monthDay] = [dayLabel(before.start, 'UTC'), dayLabel(month.start, 'UTC')];
    const currencies = [
      ...new Set(rows.filter(({ cost, day }) => cost !== null && day >= firstDay).map(({ currency }) => currency)),
    ];
    return {
      asOf: formatInstant(asOf),
      month: monthDay.slice(0, 7),
      monthStart: formatInstant(month.start),
      monthEnd: formatInstant(month.end),
      spend: currencies.map((currency) =>
        spendOf(
          currency,
          rows.filter((row) => row.currency === currency),
          { asOf, forecastAt, firstDay, monthDay },
        ),
      ),
      unpricedGpuHours: gpuHours(
        rows.filter(({ day }) => day >= monthDay).reduce((sum, { unpricedQuantity }) => sum + unpricedQuantity, 0n),
      ),
      setAside,
      unpriced,
      bills,
      budgets: {
        ...countsOf(standings),
        items: [...standings].sort((a, b) => urgency(b) - urgency(a)).slice(0, MOST_BUDGETS),
      },
    };
  }

  @Endpoint('GET /v1/budget-states', {
    summary: 'List the state of budgets in their newest evaluated periods',
    access: 'read',
    answer: pageSchema(standingSchema),
  })
  async states(
    @Calling() caller: Caller,
    @QueryInput(statesQuery) query: z.infer<typeof statesQuery>,
  ): Promise<Page<Standing>> {
    if (query.team !== undefined) checkTeam(caller, query.team);
    const { standings: all } = await this.standings(caller, await this.asOf(caller));
    return pageOfAll(
      query,
      all.filter(({ team }) => query.team === undefined || team === query.team),
      ({ budget }) => budget,
    );
  }

  @Endpoint('GET /v1/budgets/:id/burn-down', {
    summary: 'What a budget covers, day by day of its period',
    access: 'read',
    answer: burnSchema,
  })
  async burnDown(
    @Calling() caller: Caller,
    @PathInput('id', budgetId) id: string,
  ): Promise<z.infer<typeof burnSchema>> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    const budget = await stores.budgets.get(stores.db, organisation, id);
    if (budget === null) throw missing(`budget ${id} does not exist`);
    checkTeam(caller, budget.team);
    const asOf = await this.asOf(caller);
    // The period of the state beside it: a new period is shown as soon as it is evaluated.
    const [evaluated] = await stores.budgets.states(organisation, asOf, id);
    const period =
      evaluated === undefined
        ? periodAt(budget, asOf)
        : { start: Date.parse(evaluated.periodStart), end: Date.parse(evaluated.periodEnd) };
    const fx = await stores.prices.fx(stores.db, organisation);
    const { points, unconverted, setAside } = await stores.budgets.spend(stores.db, organisation, budget, period, fx);
    const teams = await stores.budgets.teamsUnder(stores.db, organisation, budget.team);
    const unpriced = await unpricedOfBudget(stores.db, organisation, budget, teams, period);
    const planned = plannedFor(budget, period);
    const days = daysOf(
      budget,
      points.filter(({ at }) => at >= period.start && at <= asOf),
    );
    return {
      budget: id,
      team: budget.team,
      currency: budget.currency,
      zone: budget.zone,
      periodStart: formatInstant(period.start),
      periodEnd: formatInstant(period.end),
      asOf: formatInstant(asOf),
      planned: planned === null ? null : money(planned),
      days,
      unconverted,
      setAside,
      unpriced,
    };
  }

  @Endpoint('GET /v1/teams/:id/leases', {
    summary: "List a team's leases",
    access: 'read',
    answer: z.strictObject({ items: z.array(leaseSchema) }),
  })
  async leases(
    @Calling() caller: Caller,
    @PathInput('id', teamId) id: string,
  ): Promise<{ items: z.infer<typeof leaseSchema>[] }> {
    checkTeam(caller, id);
    const { stores } = this.parts;
    const leases = await stores.workloads.leases(stores.db, caller.principal.organisation, id, await this.asOf(caller));
    return {
      items: leases.map(
        ({ lease, target, holder, gpus, startedAt, expiresAt, active, provider, sku, region, gpuModel }) => ({
          lease,
          target,
          holder,
          gpus,
          startedAt: formatInstant(startedAt),
          expiresAt: expiresAt === null ? null : formatInstant(expiresAt),
          active,
          provider,
          sku,
          region,
          gpuModel,
        }),
      ),
    };
  }

  private asOf({ principal }: Caller): Promise<number> {
    const { stores, clock } = this.parts;
    return stores.organisations.asOf(stores.db, principal.organisation, clock.now());
  }

  /** Of the budgets that the caller may see, and when the newest of their states was made. */
  private async standings(
    { principal }: Caller,
    asOf: number,
  ): Promise<{ readonly standings: Standing[]; readonly newest: number }> {
    const { stores } = this.parts;
    const budgets = await stores.budgets.list(stores.db, principal.organisation);
    const states = new Map(
      (await stores.budgets.states(principal.organisation, asOf)).map((state): [string, StoredState] => [
        state.budget,
        state,
      ]),
    );
    const seen = budgets
      .filter(({ team }) => sees(principal, team))
      .map(({ id, team, zone }) => ({ id, team, zone, found: states.get(id) }));
    return {
      standings: seen.map(({ id, team, zone, found }) => ({
        budget: id,
        team,
        periodStart: found?.periodStart ?? null,
        periodEnd: found?.periodEnd ?? null,
        state: found?.state ?? null,
        warnings:
          found === undefined
            ? []
            : aboutHours(zone, { start: Date.parse(found.periodStart), end: Date.parse(found.periodEnd) }),
      })),
      newest: Math.max(...seen.flatMap(({ found }) => (found === undefined ? [] : [Date.parse(found.weighedAt)]))),
    };
  }
}

const money = (nanos: bigint): string => formatDecimal({ unscaled: nanos, scale: 9 });

/** For the forecast; displayed amounts keep every digit. */
const nanosOf = ({ unscaled, scale }: Decimal): bigint =>
  scale <= 9 ? unscaled * tenTo(9 - scale) : divideHalfEven(unscaled, tenTo(scale - 9));

/** Everything as one budget without a plan: its state has the spend and the forecast. */
const everything = (currency: string): Budget => ({
  id: '',
  team: '',
  period: 'month',
  zone: 'UTC',
  currency,
  filters: {},
  planned: { default: null, periods: {} },
  includeCredits: false,
  thresholds: [],
});

function spendOf(
  currency: string,
  rows: readonly DaySpend[],
  {
    asOf,
    forecastAt,
    firstDay,
    monthDay,
  }: { readonly asOf: number; readonly forecastAt: number; readonly firstDay: string; readonly monthDay: string },
): Overview['spend'][number] {
  const points = rows.map((row): SpendPoint => {
    const nanos = row.cost === null ? 0n : nanosOf(row.cost);
    return {
      at: Date.parse(row.day),
      nanos: row.isCredit ? 0n : nanos,
      creditNanos: row.isCredit ? nanos : 0n,
      unpricedQuantity: row.unpricedQuantity,
    };
  });
  const { forecast: found } = evaluateBudget({
    budget: everything(currency),
    spend: points.filter(({ at }) => at <= asOf),
    committed: 0n,
    now: forecastAt,
    forecaster: forecastPeriodEnd,
  });
  const days = new Map<string, Decimal>();
  for (const { cost, day } of rows)
    if (cost !== null && day >= firstDay && Date.parse(day) <= asOf)
      days.set(day, addDecimal(days.get(day) ?? ZERO, cost));
  const sum = (wanted: (day: string) => boolean): string =>
    formatDecimal([...days].reduce((total, [day, cost]) => (wanted(day) ? addDecimal(total, cost) : total), ZERO));
  return {
    currency,
    month: sum((day) => day >= monthDay),
    monthBefore: [...days.keys()].some((day) => day < monthDay) ? sum((day) => day < monthDay) : null,
    forecast:
      found === null
        ? null
        : { mean: money(found.mean), low: money(found.low), high: money(found.high), method: found.method },
    days: [...days].map(([day, cost]) => ({ day, cost: formatDecimal(cost) })),
  };
}

function countsOf(standings: readonly Standing[]): Omit<Overview['budgets'], 'items'> {
  const counted = (wanted: (state: NonNullable<Standing['state']>) => boolean): number =>
    standings.filter(({ state }) => state !== null && wanted(state)).length;
  return {
    count: standings.length,
    over: counted(isOver),
    forecastOver: counted((state) => !isOver(state) && state.exhaustionAt !== null),
    notPlanned: counted(({ status }) => status === 'not-planned'),
    notWeighed: standings.filter(({ state }) => state === null).length,
  };
}

const amount = (text: string): Decimal => parseDecimal(text) ?? ZERO;

const isOver = ({ planned, spent }: NonNullable<Standing['state']>): boolean =>
  planned !== null && compareDecimal(amount(spent), amount(planned)) > 0;

/**
 * Orders budgets by how near they are to their end: the larger of the forecast's and the spend's share of the plan.
 * Budgets without a plan come last.
 */
function urgency({ state }: Standing): number {
  if (state === null || state.planned === null) return -1;
  const most = Math.max(Number(state.spent), Number(state.forecast?.mean ?? 0));
  return Number(state.planned) === 0 ? (most > 0 ? Infinity : 0) : most / Number(state.planned);
}

function daysOf(budget: Budget, points: readonly SpendPoint[]): z.infer<typeof burnSchema>['days'] {
  const days = new Map<string, { nanos: bigint; unpriced: bigint }>();
  for (const { at, nanos, creditNanos, unpricedQuantity } of [...points].sort((a, b) => a.at - b.at)) {
    const day = dayLabel(at, budget.zone);
    const known = days.get(day) ?? { nanos: 0n, unpriced: 0n };
    days.set(day, {
      nanos: known.nanos + nanos + (budget.includeCredits ? creditNanos : 0n),
      unpriced: known.unpriced + unpricedQuantity,
    });
  }
  let total = 0n;
  return [...days].map(([day, { nanos, unpriced }]) => ({
    day,
    spent: money(nanos),
    total: money((total += nanos)),
    unpricedGpuHours: gpuHours(unpriced),
  }));
}
