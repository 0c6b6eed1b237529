/**
 * /v1/savings: the ledger. The savings of actions, measured against what would have happened otherwise, down to the
 * lines behind each figure.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { LEDGER_STATES } from '../../core/saving/saving.js';
import { parseInstant } from '../../core/time.js';
import type { SavingDetail, SavingTotals, StoredHour, StoredSaving } from '../../store/saving/ledger.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';

const decimal = z.string().describe('Decimal string');
const text = z.string().min(1).max(200);
const instant = z
  .string()
  .max(40)
  .refine((value) => parseInstant(value) !== null, 'is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z')
  .optional();
const querySchema = z.strictObject({
  ...pageQuery,
  team: text.optional(),
  policy: text.optional(),
  state: z.enum(LEDGER_STATES).optional(),
  from: instant.describe('Applied at or after'),
  to: instant.describe('Applied before'),
});
const actionId = z.string().min(1).max(200);
const count = z.int().min(0);
const hourState = z.enum(['measured', 'verified', 'unverifiable', 'withdrawn']);

const fields = {
  action: z.string(),
  team: z.string(),
  target: z.string(),
  effectKind: z.string(),
  policy: z.string().nullable(),
  policyVersion: z.int().nullable(),
  recommendation: z.string().nullable(),
  state: z
    .enum(LEDGER_STATES)
    .describe('verified: every hour of a closed bill period, priced whole, and the bill agrees'),
  reason: z.string().nullable().describe('Why it is unverifiable, or hours of it are'),
  currency: z.string(),
  from: z.iso.datetime().describe('When it was applied'),
  until: z.iso.datetime().describe('No saving is claimed after this'),
  isOver: z.boolean(),
  rolledBack: z.boolean().describe('Its action was taken back: its monthly estimate is in no sum'),
  counterfactualCost: decimal.describe('What the claimed hours would have cost'),
  actualCost: decimal,
  saved: decimal.describe('Below zero: a loss'),
  measured: decimal.describe('Part of the saving in measured hours'),
  verified: decimal.describe('Part of the saving in verified hours'),
  predicted: decimal.nullable().describe("The recommendation's estimate over the same time"),
  estimatedMonthlySavings: decimal.nullable(),
  estimatedMonthlySavingsLow: decimal.nullable(),
  estimatedMonthlySavingsHigh: decimal.nullable(),
  claimedSeconds: z.number(),
  hours: z.strictObject({ measured: count, verified: count, unverifiable: count }),
  reasons: z.record(z.string(), count).describe('Unverifiable hours by reason'),
  checkedAt: z.iso.datetime(),
};
const savingSchema = z.strictObject(fields).meta({ id: 'Saving' });
const amounts = z.array(z.strictObject({ currency: z.string(), amount: decimal }));
const totalsSchema = z
  .strictObject({
    estimated: z.strictObject({
      count,
      unknown: count.describe('Without an estimate; they are in no sum'),
      rolledBack: count.describe('Rolled back before any hour was measured; they are in no sum'),
      monthly: amounts,
      monthlyLow: amounts.describe('Sum of the low ends of the intervals'),
      monthlyHigh: amounts.describe('Sum of the high ends of the intervals'),
    }),
    measured: z.strictObject({ count, saved: amounts }),
    verified: z.strictObject({ count, saved: amounts }),
    unverifiable: z.strictObject({ count, reasons: z.array(z.strictObject({ reason: z.string(), count })) }),
  })
  .describe('Sums over the whole filter, not only over this page')
  .meta({ id: 'SavingTotals' });

const lineSchema = z.strictObject({
  no: count,
  recordedAt: z.iso.datetime(),
  state: hourState,
  reason: z.string().nullable(),
  counterfactual: decimal,
  actual: decimal,
  saved: decimal,
  links: z
    .record(z.string(), z.unknown())
    .describe('Usage records by source/id (the first, and a digest of all) and the prices that held'),
});
const hourSchema = z
  .strictObject({
    hour: z.iso.datetime(),
    state: hourState,
    reason: z.string().nullable(),
    currency: z.string(),
    claimedSeconds: z.number(),
    counterfactual: decimal,
    actual: decimal,
    saved: decimal,
    lines: z.array(lineSchema).describe('The first line and its corrections, which sum to the hour'),
  })
  .meta({ id: 'SavingHour' });
const detailSchema = z
  .strictObject({
    ...fields,
    effect: z.looseObject({ kind: z.string() }),
    sharedWith: z.array(z.string()).describe('Actions on the same target, in the order in which the saving is shared'),
    counterfactual: z
      .looseObject({ world: z.looseObject({ kind: z.string() }) })
      .describe('What would have happened otherwise, as recorded before'),
    ledger: pageSchema(hourSchema),
  })
  .meta({ id: 'SavingDetail' });

type Shown<T extends StoredSaving> = Omit<T, 'place'>;
function withoutPlace<T extends StoredSaving>(stored: T): Shown<T> {
  const { place: _, ...saving } = stored;
  return saving;
}

@Controller()
export class SavingsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/savings', {
    summary: 'List what actions saved, newest first',
    description: 'A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: pageSchema(savingSchema).extend({ totals: totalsSchema }),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<Shown<StoredSaving>> & { readonly totals: SavingTotals }> {
    const { organisation, teams } = caller.principal;
    const { savingLedger } = this.parts.stores;
    const { team, policy, state, from, to } = query;
    if (team !== undefined) checkTeam(caller, team);
    const filter = { team, teams, policy, state, from: parseInstant(from ?? ''), to: parseInstant(to ?? '') };
    const page = await pageOf<StoredSaving>(
      query,
      ({ place }) => place,
      (after, limit) => savingLedger.list(organisation, filter, checked(after, PLACE), limit),
    );
    return {
      items: page.items.map(withoutPlace),
      nextCursor: page.nextCursor,
      totals: await savingLedger.totals(organisation, filter),
    };
  }

  @Endpoint('GET /v1/savings/:action', {
    summary: "Get an action's saving, hour by hour, with the sources of each figure",
    access: 'read',
    answer: detailSchema,
  })
  async get(
    @Calling() caller: Caller,
    @PathInput('action', actionId) action: string,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Shown<SavingDetail> & { readonly ledger: Page<StoredHour> }> {
    const { organisation } = caller.principal;
    const { savingLedger } = this.parts.stores;
    const saving = await savingLedger.known(organisation, action);
    checkTeam(caller, saving.team);
    const ledger = await pageOf<StoredHour>(
      query,
      ({ hour }) => hour,
      (after, limit) => savingLedger.hoursWithLines(organisation, saving.team, action, checked(after, HOUR), limit),
    );
    return { ...withoutPlace(saving), ledger };
  }
}

const HOUR = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const PLACE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z \S{1,200}$/;

function checked(place: string | null, form: RegExp): string | null {
  if (place !== null && !form.test(place)) throw notACursor();
  return place;
}
