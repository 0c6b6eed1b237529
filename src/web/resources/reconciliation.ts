/** /v1/reconciliation: bills compared with accruals, the findings, and the rates learned from bills. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { REASONS } from '../../core/bill/reconciliation.js';
import type { Settling } from '../../core/bill/settling.js';
import { parseDay } from '../../core/time.js';
import type { StoredRate } from '../../store/price/learned-rates.js';
import type { StoredThreshold } from '../../store/bill/reconciliation.js';
import type { StoredFinding, StoredVariance, VarianceTotal } from '../../store/bill/variances.js';
import { enqueueUrgent } from '../../store/work.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const text = z.string().min(1).max(200);
const month = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'is not a month written 2026-10');
const day = z.string().refine((value) => parseDay(value) !== null, 'is not a day written 2026-10-01');
const decimal = z.string().describe('Decimal string');
const maybe = decimal.nullable();
const words = z.array(z.string());
const name = z.string().nullable();

const querySchema = z.strictObject({
  ...pageQuery,
  month: month.optional().describe('Of the bill period'),
  team: text.optional(),
  source: text.optional(),
  provider: text.optional(),
  sku: text.optional(),
  reason: z.enum(REASONS).optional(),
  from: day.optional().describe('Inclusive UTC day'),
  to: day.optional().describe('Exclusive'),
});
const varianceSchema = z
  .strictObject({
    team: z.string(),
    source: z.string().describe('Account that the bill belongs to'),
    month: z.string(),
    day: z.string(),
    provider: z.string(),
    account: name,
    sku: name.describe("The meter's name; the bill's if nothing was metered; null if there are several"),
    gpuModel: name,
    region: name,
    term: name.describe("The meter's"),
    billedTerms: words.describe('As on the bill: a commitment covers on-demand usage without the meter knowing'),
    component: name,
    category: z.string(),
    matchedBy: z
      .enum(['sku', 'resource', 'gpu-model'])
      .nullable()
      .describe("How the bill's SKU was recognised; null: it was not"),
    currency: z.string(),
    billedCurrency: name.describe('Converted from, by the rate of the day'),
    accrued: maybe.describe('Metered usage times price, including learned rates'),
    accruedList: maybe.describe('Without learned rates'),
    billed: maybe,
    effective: maybe,
    list: maybe,
    compared: maybe.describe(
      'The amount that the accrual is compared with: effective (amortised) cost, or billed cost if a line states no other',
    ),
    basis: z.enum(['effective', 'billed', 'mixed']).nullable(),
    variance: maybe.describe('compared - accrued, each as far as known'),
    ratio: maybe.describe('variance / accrued; null if the accrual is zero, absent or incomplete'),
    quantityVariance: maybe.describe("Effect of the difference in quantity, at the accrual's rate"),
    rateVariance: maybe.describe('The rest'),
    meteredGpuHours: maybe,
    billedGpuHours: maybe,
    unpricedGpuHours: decimal.describe('Metered without a price: not in the accrual'),
    reasons: z.array(z.enum(REASONS)),
  })
  .meta({ id: 'Variance' });
const totalSchema = z.strictObject({
  currency: z.string(),
  accrued: decimal,
  compared: decimal,
  variance: decimal.describe('compared - accrued'),
  apart: decimal.describe('Of both: credits, taxes, purchases, adjustments'),
  unpricedGpuHours: decimal,
});
const listSchema = pageSchema(varianceSchema).extend({
  totals: z.array(totalSchema).describe('Sums over the whole filter, not only over this page'),
});

const findingQuery = z.strictObject({
  ...pageQuery,
  month: month.optional(),
  team: text.optional(),
  state: z.enum(['open', 'resolved']).optional(),
});
const findingSchema = z
  .strictObject({
    id: z.string(),
    team: z.string(),
    source: z.string(),
    month: z.string(),
    provider: z.string(),
    account: name,
    sku: name,
    gpuModel: name,
    region: name,
    term: name,
    component: name,
    currency: z.string(),
    accrued: maybe,
    compared: maybe,
    variance: decimal,
    ratio: maybe,
    days: z.int(),
    reasons: words,
    foundAt: z.iso.datetime(),
    resolvedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'VarianceFinding' });

const rateSchema = z
  .strictObject({
    id: z.string(),
    source: z.string(),
    month: z.string(),
    provider: z.string(),
    account: name,
    sku: z.string(),
    region: name,
    term: name,
    periodStart: z.iso.datetime(),
    periodEnd: z.iso.datetime(),
    appliesFrom: z.iso.datetime(),
    numerator: maybe,
    denominator: maybe,
    ratio: maybe.describe('Charged / list price, to six digits; numerator / denominator is exact'),
    trusted: z.boolean().describe('Only trusted rates are applied'),
    distrust: words.describe('Why it is not trusted'),
    evidence: z.strictObject({
      days: z.int(),
      meteredGpuHours: decimal,
      billedGpuHours: maybe,
      listCost: decimal,
      charged: decimal,
      billedList: maybe,
      currency: z.string(),
    }),
    learnedAt: z.iso.datetime(),
    withdrawnAt: z.iso.datetime().nullable(),
    withdrawnBy: z.string().nullable(),
  })
  .meta({ id: 'LearnedRate' });
const rateId = z.string().regex(/^rate-[0-9a-f]{16}$/, 'is not the id of a learned rate');

const settlingSchema = z
  .strictObject({
    days: z.int().describe('Whole days after the end of the period: 10'),
    providers: z.record(z.string(), z.int()).describe('Providers that differ, such as { "AWS": 7 }'),
  })
  .describe('When a bill becomes final if its source does not say so; absent in a request: unchanged');
const settingsSchema = z
  .strictObject({
    learnRates: z
      .boolean()
      .describe('Whether rates learned from closed bills correct accruals; they are learned and shown in any case'),
    threshold: z
      .strictObject({
        ratio: decimal.describe('Of the accrual: 0.05'),
        amount: decimal.describe('In units of currency: 10'),
      })
      .describe('A variance beyond both thresholds is a finding'),
    settling: settlingSchema.optional(),
  })
  .meta({ id: 'ReconciliationSettings' });
/** As it is answered: the settling time is stated always. */
const storedSettingsSchema = z
  .strictObject({ ...settingsSchema.shape, settling: settlingSchema })
  .meta({ id: 'StoredReconciliationSettings' });
type Settings = { readonly learnRates: boolean; readonly threshold: StoredThreshold; readonly settling: Settling };

const PLACE = /^\d{4}-\d\d-\d\d [0-9a-f]{32}$/;
const FINDING_PLACE = /^\d{4}-\d\d [0-9a-f]{32}$/;
const RATE_PLACE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ rate-[0-9a-f]{16}$/;

function checked(place: string | null, form: RegExp): string | null {
  if (place !== null && !form.test(place)) throw notACursor();
  return place;
}

/** Without its place in the list. */
function withoutPlace<T extends { readonly place: string }>(placed: T): Omit<T, 'place'> {
  const { place: _, ...item } = placed;
  return item;
}

@Controller()
export class ReconciliationController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/reconciliation', {
    summary: 'List how bills differ from accruals, by team, SKU and day',
    description: 'A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: listSchema,
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<StoredVariance> & { readonly totals: readonly VarianceTotal[] }> {
    const { organisation, teams } = caller.principal;
    const { variances } = this.parts.stores;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const filter = { ...query, teams };
    const page = await pageOf<StoredVariance & { readonly place: string }>(
      query,
      ({ place }) => place,
      (after, limit) => variances.list(organisation, filter, checked(after, PLACE), limit),
    );
    return {
      items: page.items.map(withoutPlace),
      nextCursor: page.nextCursor,
      totals: await variances.totals(organisation, filter),
    };
  }

  @Endpoint('GET /v1/reconciliation/findings', {
    summary: 'List variances beyond the threshold, newest month first',
    access: 'read',
    answer: pageSchema(findingSchema),
  })
  async findings(
    @Calling() caller: Caller,
    @QueryInput(findingQuery) query: z.infer<typeof findingQuery>,
  ): Promise<Page<StoredFinding>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const filter = {
      teams,
      team: query.team,
      month: query.month,
      isOpen: query.state === undefined ? null : query.state === 'open',
    };
    return pageOf<StoredFinding>(
      query,
      ({ month: of, id }) => `${of} ${id}`,
      (after, limit) =>
        this.parts.stores.variances.findings(organisation, filter, checked(after, FINDING_PLACE), limit),
    );
  }

  @Endpoint('GET /v1/reconciliation/rates', {
    summary: 'List the rates learned from bills, newest period first',
    access: 'read',
    allTeams: true,
    answer: pageSchema(rateSchema),
  })
  async rates(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredRate>> {
    const { stores } = this.parts;
    const page = await pageOf<StoredRate & { readonly place: string }>(
      query,
      ({ place }) => place,
      (after, limit) => stores.learnedRates.list(stores.db, principal.organisation, checked(after, RATE_PLACE), limit),
    );
    return { items: page.items.map(withoutPlace), nextCursor: page.nextCursor };
  }

  @Endpoint('POST /v1/reconciliation/rates/:id/withdraw', {
    summary: 'Withdraw a learned rate permanently',
    description:
      'The rate before it applies again, and the usage that it affected is priced again. A restated bill does not bring it back.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: rateSchema,
  })
  async withdraw(@Calling() caller: Caller, @PathInput('id', rateId) id: string): Promise<StoredRate> {
    const { stores, clock } = this.parts;
    return write(stores, caller, 'rate.withdraw', async (tx) => ({
      body: await stores.learnedRates.withdraw(tx, caller.principal.organisation, id, actorOf(caller), clock.now()),
      target: id,
    }));
  }

  @Endpoint('GET /v1/reconciliation/settings', {
    summary: 'Get whether learned rates are applied, the threshold of findings, and how long bills settle',
    access: 'read',
    answer: storedSettingsSchema,
  })
  async settings(@Calling() { principal }: Caller): Promise<Settings> {
    const { db, learnedRates, reconciliation, counting } = this.parts.stores;
    return {
      learnRates: await learnedRates.areApplied(db, principal.organisation),
      threshold: await reconciliation.threshold(db, principal.organisation),
      settling: await counting.settling(db, principal.organisation),
    };
  }

  @Endpoint('PUT /v1/reconciliation/settings', {
    summary: 'Set whether learned rates are applied, the threshold of findings, and how long bills settle',
    description: 'What this changes is priced and compared again.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: storedSettingsSchema,
  })
  async saveSettings(
    @Calling() caller: Caller,
    @JsonBody(settingsSchema) settings: z.infer<typeof settingsSchema>,
  ): Promise<Settings> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'reconciliation.save', async (tx) => {
      const before = {
        learnRates: await stores.learnedRates.areApplied(tx, organisation),
        threshold: await stores.reconciliation.threshold(tx, organisation),
        settling: await stores.counting.settling(tx, organisation),
      };
      await stores.learnedRates.setApplied(tx, organisation, settings.learnRates);
      await enqueueUrgent(
        tx,
        organisation,
        await stores.reconciliation.saveThreshold(tx, organisation, settings.threshold),
      );
      if (settings.settling !== undefined)
        await enqueueUrgent(tx, organisation, await stores.counting.saveSettling(tx, organisation, settings.settling));
      const body = { ...settings, settling: settings.settling ?? before.settling };
      return { body, target: 'reconciliation', detail: { before, after: body } };
    });
  }
}
