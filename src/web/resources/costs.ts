/** /v1/costs: what was spent, grouped and converted. A sum always carries its unpriced quantity. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { BILL_STATES } from '../../core/bill/counting.js';
import type { StatedBill } from '../../store/bill/counting.js';
import type { Spend } from '../../store/cost/spend.js';
import type { Queryable } from '../../store/database.js';
import type { Reading } from '../../store/reading.js';
import { caveatsOf, type Caveats } from '../../store/usage/doubts.js';
import {
  BASES,
  flagOf,
  GROUP_KEYS,
  OF_DIMENSION,
  parseSpendQuery,
  type DimensionName,
  type SpendQuery,
} from '../../core/cost/spend-query.js';
import type { DaySpan } from '../../core/report/breakdown.js';
import { aboutTeams } from '../../core/budget/asked-teams.js';
import { UNALLOCATED } from '../../core/cost/allocation.js';
import { aboutHours } from '../../core/cost/whole-hours.js';
import { DAY_MS } from '../../core/time.js';
import { UNPRICED_REASONS } from '../../core/price/price-book.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const text = z.string().max(200);

/** The parameters of every question about costs: time, teams, dimensions, basis. */
export const costQuery = {
  from: text.optional().describe('Inclusive: 2026-10, 2026-10-01 or a time at the start of a day of the zone'),
  to: text.optional().describe('Exclusive'),
  basis: z
    .enum(BASES)
    .optional()
    .describe('actual (the default): the bill where it is final, otherwise the accrual plus what no meter covers'),
  zone: text
    .optional()
    .describe('IANA zone of the days and months, by default UTC; whole days of a bill keep its own dates in any zone'),
  currency: text.optional().describe('Convert to this ISO 4217 code, each day by its own rate'),
  team: z
    .union([text, z.array(text).max(1000)])
    .optional()
    .describe('Only this team; repeat it for several'),
  ...filterFields(),
};

type FilterFlag = Exclude<DimensionName, 'subAccount' | 'gpuModel'> | 'sub-account' | 'gpu-model';

/** `gpu-model=H100`, and the same for each dimension. */
function filterFields(): Record<FilterFlag, z.ZodOptional<z.ZodType<string | string[]>>> {
  const values = z.union([text, z.array(text).max(1000)]);
  return Object.fromEntries(
    OF_DIMENSION.map((name) => [
      flagOf(name),
      values.optional().describe('Only this one; repeat it for several; empty for an unknown value'),
    ]),
  ) as Record<FilterFlag, ReturnType<typeof values.optional>>;
}

type CostQuery = Readonly<Record<string, unknown>>;

const texts = (one: unknown): readonly string[] | undefined =>
  one === undefined || one === null ? undefined : ([one].flat() as string[]);

const word = (one: unknown): string | null => (typeof one === 'string' ? one : null);

/**
 * The question in a query, limited to the teams that the caller may see. @throws Failure invalid naming every problem,
 * denied where it names another team
 */
function questionOf(caller: Caller, query: CostQuery): SpendQuery {
  const teams = texts(query['team']);
  teams?.forEach((team) => checkTeam(caller, team));
  return parseSpendQuery({
    from: word(query['from']),
    to: word(query['to']),
    groupBy: word(query['group-by']),
    basis: word(query['basis']),
    currency: word(query['currency']),
    zone: word(query['zone']),
    teams: teams ?? caller.principal.teams,
    filters: Object.fromEntries(OF_DIMENSION.map((name) => [flagOf(name), texts(query[flagOf(name)])])),
  });
}

const querySchema = z.strictObject({
  ...costQuery,
  'group-by': text.optional().describe(`Comma-separated: ${GROUP_KEYS.join(', ')}`),
});

const decimal = z.string().describe('Decimal string');

/** Present where a read replica answered. */
export const shownSchema = {
  asOf: z.iso
    .datetime()
    .optional()
    .describe('If a read replica that lags behind answers: what was committed after this time is not included'),
};
export const shown = (asOf: Date | null): { readonly asOf?: string } =>
  asOf === null ? {} : { asOf: asOf.toISOString() };

/** A question about costs, and where its answer is read. */
interface Asked extends Reading {
  readonly organisation: string;
  readonly question: SpendQuery;
  /** What to know before sums of some days are relied on; without days those of the question. */
  caveats(days?: DaySpan): Promise<Caveats>;
}

/** Each answer about costs begins with this. @throws Failure as questionOf */
export async function asked({ stores, clock }: WebParts, caller: Caller, query: CostQuery): Promise<Asked> {
  const question = questionOf(caller, query);
  const { organisation } = caller.principal;
  const reading = await stores.reading.current();
  // A replica answers also while the database itself is away.
  if (question.teams === null)
    await stores.spendSums.noteZone(stores.db, organisation, question.zone, clock.now()).catch(() => undefined);
  return {
    ...reading,
    organisation,
    question,
    caveats: (days) => caveatsAbout({ stores, clock }, caller, { ...question, ...days }, query, reading.db),
  };
}

/** What a sum carries that may change yet, or count twice, or be of something else than was meant. */
export const warningsSchema = z
  .array(z.string())
  .readonly()
  .describe('Know these before you rely on the sums: what is still being priced, or may be counted twice');

/** The same of every answer about costs. */
async function caveatsAbout(
  { stores, clock }: Pick<WebParts, 'stores' | 'clock'>,
  { principal }: Caller,
  question: SpendQuery,
  query: CostQuery,
  db: Queryable,
): Promise<Caveats> {
  const { organisation } = principal;
  const now = clock.now();
  const caveats = await caveatsOf(db, organisation, question, now);
  const end = question.to === null ? now : Date.parse(question.to);
  // Of all that is known, a year: clocks that change do so each year.
  const start = question.from === null ? end - 366 * DAY_MS : Date.parse(question.from);
  const named = texts(query['team']) ?? [];
  const teams = named.length === 0 ? [] : await stores.organisations.teams(db, organisation);
  const aboutAsked = await aboutTeams(
    named,
    teams.filter(({ id }) => sees(principal, id)),
    async (team) => team === UNALLOCATED || stores.organisations.hasCosts(db, organisation, team),
  );
  const warnings = [...aboutHours(question.zone, { start, end }), ...aboutAsked, ...caveats.warnings];
  return { ...caveats, warnings };
}

/** Amounts, a currency each. */
const amounts = z.array(z.strictObject({ currency: z.string(), cost: decimal })).readonly();

/** A bill with its state. */
export const billSchema = z
  .strictObject({
    source: z.string(),
    provider: z.string(),
    account: z.string().nullable(),
    periodStart: z.iso.datetime(),
    periodEnd: z.iso.datetime(),
    state: z
      .enum(BILL_STATES)
      .describe(
        'open: its period is running; settling: its period is over, but the bill may change; final: it replaces metered usage',
      ),
    finalAt: z.iso
      .datetime()
      .nullable()
      .describe('When it becomes final by time alone; null: it already is, or never does'),
  })
  .meta({ id: 'Bill' });

/** Metered usage without a price that is no GPU time. */
export const unpricedSchema = z
  .array(
    z.strictObject({
      provider: z.string(),
      sku: z.string().nullable(),
      component: z.enum(['gpu', 'storage', 'network']),
      reason: z.enum(UNPRICED_REASONS),
      quantity: decimal.nullable().describe('GiB-hours of storage or GiB of traffic; null: it has no quantity'),
      hours: z.int().describe('Hours, per team, in which it was used'),
    }),
  )
  .readonly();

/** What no total includes, apart from GPU-hours without a price. */
export const lackingSchema = z
  .strictObject({
    unstated: z
      .array(
        z.strictObject({
          currency: z.string(),
          cost: decimal,
          lines: z.int().describe('On bills; what a commitment covers is often billed at zero'),
        }),
      )
      .readonly()
      .describe('Billed lines without the amount that the basis needs'),
    unbilled: amounts.describe('On billed, effective and list: actual cost of metered usage without a bill'),
    setAside: amounts.describe(
      'On actual: amounts of bills that are not final; metered usage counts instead until they are',
    ),
    unconverted: amounts.describe('Amounts without an exchange rate to the requested currency'),
    unpriced: unpricedSchema.describe(
      'On actual and accrued: storage, traffic and what has no quantity, without a price',
    ),
  })
  .describe('What no total includes, apart from GPU-hours without a price');

const answerSchema = z
  .strictObject({
    basis: z.enum(BASES),
    rows: z
      .array(
        z.looseObject({
          cost: decimal.nullable().describe('Null if nothing is known on this basis'),
          currency: z.string(),
          gpuHours: decimal
            .nullable()
            .describe(
              'To a millionth: the sum of n rows may differ from n days or SKUs asked as one by n/2 millionths',
            ),
          unpricedQuantity: decimal.describe('GPU-hours without a price: they are not in the cost'),
          unstated: decimal
            .optional()
            .describe(
              'On effective and list: billed amounts whose bill states no such amount: they are not in the cost',
            ),
        }),
      )
      .describe('With the keys that they are grouped by'),
    total: decimal.nullable().describe('Null if there are several currencies, or nothing has a price'),
    currency: z.string().nullable(),
    totals: z.array(z.strictObject({ currency: z.string(), cost: decimal })),
    unpricedQuantity: decimal,
    lacking: lackingSchema,
    warnings: warningsSchema,
    pending: z
      .strictObject({
        days: z.int().describe('Days of teams in this period in which something still has to be priced or summed'),
        allocations: z.int().describe('Allocations of usage, and of shared costs, that are still pending'),
        parked: z.int().describe('Part of these that continues only once an error is fixed'),
      })
      .describe(
        'Work that may still change the sums; if all are 0, they are complete. GET /v1/work/progress tells when it is done',
      ),
    ...shownSchema,
    bills: z.array(billSchema).describe('For the basis actual: the bills of the requested period'),
  })
  .meta({ id: 'Costs' });

/** `answerSchema`, with rows that nobody changes. */
type CostsAnswer = Spend & Caveats & { readonly bills: readonly StatedBill[]; readonly asOf?: string };

@Controller()
export class CostsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/costs', {
    summary: 'Get what was spent',
    description: 'A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: answerSchema,
  })
  async costs(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<CostsAnswer> {
    const { stores, clock } = this.parts;
    const { db, asOf, organisation, question, caveats } = await asked(this.parts, caller, query);
    // Before the sums: what is still being worked on now may be in them, and what is not is.
    const { pending, warnings } = await caveats();
    const fx = await stores.prices.fx(db, organisation);
    const spend = await stores.spend.spend(organisation, question, fx, db);
    const bills = spend.basis === 'actual' ? await stores.counting.bills(db, organisation, question, clock.now()) : [];
    const answer = { ...spend, pending, bills };
    if (asOf === null) return { ...answer, warnings };
    const said = `a read replica answered, and it lags behind: what was committed after ${asOf.toISOString()} is not included`;
    return { ...answer, warnings: [said, ...warnings], ...shown(asOf) };
  }
}
