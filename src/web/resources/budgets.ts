/** /v1/budgets: the teams' plans and their current state. The line evaluates a changed budget again. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { BUDGET_BASES, checkBudget, type Budget } from '../../core/budget/budget.js';
import { aboutHours } from '../../core/cost/whole-hours.js';
import { parseDecimal } from '../../core/decimal.js';
import { missing } from '../../core/errors.js';
import { CHARGE_CATEGORIES, TERMS, type Term } from '../../core/usage.js';
import type { BudgetPeriod, StoredState } from '../../store/budget/budgets.js';
import { setBudget } from '../../application/budget/set-budget.js';
import type { Queryable } from '../../store/database.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageOfAll, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { unpricedSchema } from './costs.js';
import { currency, teamId, zone } from './teams.js';

export const budgetId = z
  .string()
  .regex(/^[\w.:@ -]{1,200}$/, 'is not an id of letters, digits, blanks and . : @ - _')
  .refine((id) => id.trim() === id, 'begins or ends with a blank');
const amount = z
  .string()
  .max(60)
  .refine((text) => parseDecimal(text) !== null, 'is not an amount: write 12000 or 12000.50')
  .describe('Decimal string');
const names = z.array(z.string().min(1).max(400)).min(1).max(1000);

const settable = {
  team: teamId.describe('The team; the teams below it count too'),
  period: z
    .union([
      z.enum(['month', 'quarter', 'year']),
      z.strictObject({ start: z.string().describe('YYYY-MM-DD'), lengthDays: z.int().min(1).max(3660) }),
    ])
    .default('month'),
  zone: zone.default('UTC').describe("IANA zone: where the period's days begin"),
  currency: currency.default('USD'),
  filters: z
    .strictObject({
      provider: names.optional(),
      account: names.optional().describe('FOCUS BillingAccountId'),
      subAccount: names.optional().describe('FOCUS SubAccountId'),
      region: names.optional(),
      service: names.optional(),
      category: z.array(z.enum(CHARGE_CATEGORIES)).min(1).optional().describe('FOCUS ChargeCategory'),
      sku: names.optional(),
      term: z
        .array(z.enum(TERMS as readonly [Term, ...Term[]]))
        .min(1)
        .optional(),
      tag: z
        .array(z.strictObject({ key: z.string().min(1).max(400), value: z.string().max(4096) }))
        .min(1)
        .optional(),
    })
    .default({})
    .describe('All given conditions must match'),
  basis: z
    .enum(BUDGET_BASES)
    .optional()
    .describe(
      'actual (the default): the billed cost where a bill counts, otherwise the accrual; effective: the amortised cost of the bill instead; accrued: metered usage at its price, whatever bills say',
    ),
  planned: z
    .strictObject({
      default: amount
        .nullable()
        .default(null)
        .describe('For each period without an amount of its own; null: not planned'),
      periods: z.record(z.string(), amount).default({}).describe("By the period's first day, 2026-10-01"),
    })
    .describe('0 allows nothing'),
  includeCredits: z.boolean().default(false).describe('Whether credits lower the spend'),
  thresholds: z
    .array(z.strictObject({ kind: z.enum(['actual', 'forecast']), ratio: z.string().max(60).describe('0.8 is 80 %') }))
    .max(50)
    .default([]),
};

export const budgetSettings = z.strictObject(settable).meta({ id: 'BudgetSettings' });
const budgetSchema = z.strictObject({ id: z.string(), ...settable }).meta({ id: 'Budget' });

export const budgetStateFields = z.strictObject({
  status: z.enum(['planned', 'not-planned']),
  currency: z.string(),
  planned: amount.nullable(),
  spent: amount,
  credits: amount,
  committed: amount,
  reserved: amount.optional().describe('Part of committed that reservations held'),
  forecast: z.strictObject({ mean: amount, low: amount, high: amount, method: z.string() }).nullable(),
  burnRatePerDay: amount.nullable(),
  exhaustionAt: z.string().nullable(),
  exhaustionDay: z.string().nullable().optional().describe("Its day in the budget's zone"),
  unpricedGpuHours: amount,
  ratio: z.number().nullable(),
  unconverted: z
    .array(z.string())
    .readonly()
    .describe('Currencies whose spend could not be converted and is not in spent'),
  unstated: z
    .array(
      z.strictObject({
        currency: z.string(),
        amount,
        lines: z.int().optional().describe('On bills; what a commitment covers is often billed at zero'),
      }),
    )
    .readonly()
    .optional()
    .describe('On the basis effective: billed lines without a stated amortised cost; not in spent'),
  setAside: z
    .array(z.strictObject({ currency: z.string(), amount }))
    .readonly()
    .optional()
    .describe('Amounts of bills that are not final, not in spent; metered usage counts instead until they are'),
  unnamed: z
    .array(
      z.strictObject({
        currency: z.string(),
        amount: amount.nullable().describe('Null: nothing of it has a price'),
        fields: z.array(z.string()).readonly().describe('The filters whose field it does not state'),
      }),
    )
    .readonly()
    .optional()
    .describe('Metered usage that a filter leaves out because it does not state the field; not in spent'),
  unpriced: unpricedSchema.optional().describe('Unpriced storage, traffic and usage without a quantity; not in spent'),
});
const crossingSchema = z.strictObject({
  budget: z.string(),
  periodStart: z.iso.datetime(),
  kind: z.string(),
  ratio: z.string(),
  crossedAt: z.iso.datetime(),
  round: z
    .int()
    .min(1)
    .describe(
      '2 or more: the threshold is reported again, after the budget was raised above the spend, or after it was no longer reached before anybody was told',
    ),
  holds: z
    .boolean()
    .describe(
      'False after the budget was raised above it, and, until its period is over, after its threshold was removed from the budget',
    ),
});

const stateSchema = z
  .strictObject({
    budget: z.string(),
    team: z.string(),
    periodStart: z.iso.datetime(),
    periodEnd: z.iso.datetime(),
    weighedAt: z.iso.datetime(),
    state: budgetStateFields,
    crossings: z.array(crossingSchema).describe('Thresholds crossed in any period, newest first'),
    warnings: z.array(z.string()).describe('Know these before you rely on the amounts'),
  })
  .meta({ id: 'BudgetState' });

const periodState = z
  .strictObject({
    periodStart: z.iso.datetime(),
    periodEnd: z.iso.datetime(),
    label: z.string().describe("In the budget's zone: 2026-11, 2026-Q4, 2026, or 2026-11-02/14 for a number of days"),
    isOver: z.boolean().describe('Whether the period has ended: spent is then the final amount, as far as known'),
    weighedAt: z.iso.datetime(),
    state: budgetStateFields,
    crossings: z.array(crossingSchema),
  })
  .meta({ id: 'BudgetPeriod' });

type Settings = z.infer<typeof budgetSettings>;
type State = StoredState & Pick<z.infer<typeof stateSchema>, 'crossings' | 'warnings'>;

@Controller()
export class BudgetsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/budgets', { summary: 'List budgets', access: 'read', answer: pageSchema(budgetSchema) })
  async list(@Calling() { principal }: Caller, @QueryInput(pageQuerySchema) query: PageQuery): Promise<Page<Budget>> {
    const { stores } = this.parts;
    const all = await stores.budgets.list(stores.db, principal.organisation);
    return pageOfAll(
      query,
      all.filter((budget) => sees(principal, budget.team)),
      (budget) => budget.id,
    );
  }

  @Endpoint('GET /v1/budgets/:id', { summary: 'Get a budget', access: 'read', answer: budgetSchema })
  async get(@Calling() caller: Caller, @PathInput('id', budgetId) id: string): Promise<Budget> {
    return this.known(caller, id);
  }

  @Endpoint('GET /v1/budgets/:id/state', {
    summary: 'Get the state of a budget in its newest evaluated period',
    access: 'read',
    answer: stateSchema,
  })
  async state(@Calling() caller: Caller, @PathInput('id', budgetId) id: string): Promise<State> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const { zone: ofDays } = await this.known(caller, id);
    const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
    const [state] = await stores.budgets.states(organisation, asOf, id);
    if (state === undefined) throw missing(`budget ${id} has not been evaluated yet`);
    const period = { start: Date.parse(state.periodStart), end: Date.parse(state.periodEnd) };
    const crossings = await stores.budgets.crossings(organisation, id);
    return { ...state, crossings, warnings: aboutHours(ofDays, period) };
  }

  @Endpoint('GET /v1/budgets/:id/periods', {
    summary: 'List the evaluated periods of a budget, newest first, with the result of each',
    access: 'read',
    answer: pageSchema(periodState),
  })
  async periods(
    @Calling() caller: Caller,
    @PathInput('id', budgetId) id: string,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<BudgetPeriod>> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const budget = await this.known(caller, id);
    const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
    const all = await stores.budgets.periods(organisation, budget, asOf);
    return pageOf(
      query,
      ({ periodStart }) => periodStart,
      (after, limit) =>
        Promise.resolve(all.filter(({ periodStart }) => after === null || periodStart < after).slice(0, limit)),
    );
  }

  @Endpoint('PUT /v1/budgets/:id', {
    summary: 'Add or change a budget',
    access: 'configure',
    writes: true,
    answer: budgetSchema,
    readBack: { addressed: ['id'] },
  })
  async save(
    @Calling() caller: Caller,
    @PathInput('id', budgetId) id: string,
    @JsonBody(budgetSettings) body: Settings,
  ): Promise<Budget> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const budget = checkBudget({ id, ...body });
    checkTeam(caller, budget.team);
    return write(stores, caller, 'budget.save', async (tx) => {
      const before = await setBudget(stores, tx, organisation, budget, clock.now());
      // An error here rolls the change back.
      if (before !== null) checkTeam(caller, before.team);
      return { body: budget, target: id, detail: { before, after: budget } };
    });
  }

  @Endpoint('DELETE /v1/budgets/:id', {
    summary: 'Remove a budget',
    access: 'configure',
    writes: true,
    answer: budgetSchema,
  })
  async remove(@Calling() caller: Caller, @PathInput('id', budgetId) id: string): Promise<Budget> {
    const { stores } = this.parts;
    return write(stores, caller, 'budget.remove', async (tx) => {
      const budget = await this.known(caller, id, tx);
      await stores.budgets.remove(tx, caller.principal.organisation, id);
      return { body: budget, target: id, detail: { before: budget } };
    });
  }

  /** @throws Failure missing, or denied where the key is for other teams. */
  private async known(caller: Caller, id: string, db: Queryable = this.parts.stores.db): Promise<Budget> {
    const { stores } = this.parts;
    const budget = await stores.budgets.get(db, caller.principal.organisation, id);
    if (budget === null) throw missing(`budget ${id} does not exist`);
    checkTeam(caller, budget.team);
    return budget;
  }
}
