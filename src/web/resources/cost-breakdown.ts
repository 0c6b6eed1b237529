/**
 * /v1/costs/breakdown and /v1/costs/bridge: the parts of a period's costs, compared with the period before, and why
 * they changed. Answers stay small with a thousand teams: what is not listed is summed.
 *
 * Read-only, and shows nothing that /v1/costs does not: the same sums, the same gaps.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import {
  BREAKDOWN_KEYS,
  COST_SPANS,
  costBreakdown,
  costBridge,
  spanAsked,
  type CostBreakdown,
  type CostBridge,
} from '../../application/cost/breakdown.js';
import { BASES, type GroupKey } from '../../core/cost/spend-query.js';
import { addDecimal, formatDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { shareOf } from '../../core/report/breakdown.js';
import { gpuHoursText } from '../../core/report/spend.js';
import { EFFECTS } from '../../core/report/bridge.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { asked, costQuery, lackingSchema, shown, shownSchema, warningsSchema } from './costs.js';

const decimal = z.string().describe('Decimal string');
const compare = z
  .enum(['before', 'none'])
  .default('before')
  .describe('before: compare with as many days just before, or as many whole months');
const span = z
  .enum(COST_SPANS)
  .default('30')
  .describe('If neither from nor to is given: this many days until the end of the data, or a month');
const breakdownQuery = z.strictObject({
  ...costQuery,
  'group-by': z
    .string()
    .max(200)
    .default('team')
    .describe(`One or two, comma-separated: ${BREAKDOWN_KEYS.join(', ')}`),
  span,
  compare,
  limit: z.coerce.number().int().min(1).max(5000).default(100).describe('Rows per currency; the others are summed'),
});
const bridgeQuery = z.strictObject({ ...costQuery, span });
const figures = {
  currency: z.string(),
  cost: decimal.nullable().describe('Null: nothing of it has a price'),
  before: decimal.nullable().describe('In the period before; null: not requested, or nothing of it had a price'),
  change: decimal.nullable(),
  share: z.number().nullable().describe('Share of the total of its currency'),
  gpuHours: decimal.nullable(),
  unpricedGpuHours: decimal.describe('They are not in the cost'),
};
const name = z.string().nullable().describe('Null: not known');
const spanSchema = z
  .strictObject({
    from: z.string().describe('Its first day'),
    to: z.string().describe('The day after its last'),
    totals: z.array(z.strictObject({ currency: z.string(), cost: decimal })).readonly(),
    unpricedGpuHours: decimal,
    lacking: lackingSchema,
  })
  .meta({ id: 'CostSpan' });
const anomalySchema = z.strictObject({
  team: z.string(),
  day: z.string(),
  what: z.enum(['spike', 'drop', 'level-shift']),
  currency: z.string(),
  observed: decimal,
  expected: z.strictObject({ low: decimal, mean: decimal, high: decimal }),
});
const breakdownSchema = z
  .strictObject({
    basis: z.enum(BASES),
    zone: z.string(),
    groupBy: z.array(z.enum([...BREAKDOWN_KEYS] as [GroupKey, ...GroupKey[]])),
    now: spanSchema,
    before: spanSchema.nullable().describe('Null: not requested'),
    rows: z.array(z.strictObject({ names: z.array(name).readonly().describe('By the keys of groupBy'), ...figures })),
    rest: z
      .array(z.strictObject({ groups: z.int(), ...figures }))
      .describe('Sums of what is not among the rows, by currency'),
    days: z.array(z.string()),
    series: z
      .array(
        z.strictObject({
          name: z.strictObject({ value: name }).nullable().describe('By the first key; null: all others'),
          currency: z.string(),
          values: z.array(decimal.nullable()).readonly().describe('One per day; null: what was used has no price'),
        }),
      )
      .describe('The groups that cost the most, day by day'),
    daysBefore: z
      .array(z.strictObject({ currency: z.string(), values: z.array(decimal.nullable()).readonly() }))
      .describe('The total of each day of the period before, from its first day'),
    anomalies: z.array(anomalySchema).describe('Unusual days of the requested teams, whatever the filters'),
    warnings: warningsSchema,
    ...shownSchema,
  })
  .meta({
    id: 'CostBreakdown',
    examples: [
      {
        basis: 'actual',
        zone: 'UTC',
        groupBy: ['team'],
        now: spanExample('2026-11-01', '2026-11-02', '24.000000000'),
        before: spanExample('2026-10-31', '2026-11-01', '20.000000000'),
        rows: [
          {
            names: ['research'],
            currency: 'USD',
            cost: '24.000000000',
            before: '20.000000000',
            change: '4.000000000',
            share: 1,
            gpuHours: '12.000000',
            unpricedGpuHours: '0.000000',
          },
        ],
        rest: [],
        days: ['2026-11-01'],
        series: [{ name: { value: 'research' }, currency: 'USD', values: ['24.000000000'] }],
        daysBefore: [{ currency: 'USD', values: ['20.000000000'] }],
        anomalies: [],
        warnings: [],
      },
    ],
  });
const effects = z.strictObject(
  Object.fromEntries(EFFECTS.map((effect) => [effect, decimal])) as Record<(typeof EFFECTS)[number], typeof decimal>,
);
const sides = { before: decimal, after: decimal, effects };
const bridgeSchema = z
  .strictObject({
    basis: z.enum(BASES),
    zone: z.string(),
    now: spanSchema,
    before: spanSchema,
    bridges: z
      .array(
        z.strictObject({
          currency: z.string(),
          reason: z.string().nullable().describe('Why there is none: nothing-recorded-before, nothing-recorded'),
          bridge: z
            .strictObject({
              ...sides,
              change: decimal.describe('The sum of the effects, to the last digit'),
              cells: z
                .array(
                  z.strictObject({
                    provider: z.string(),
                    sku: name,
                    gpuModel: name,
                    term: name,
                    category: z.string(),
                    ...sides,
                  }),
                )
                .readonly()
                .describe('The largest changes'),
              rest: z.strictObject({ cells: z.int(), ...sides }).nullable(),
              unpricedGpuHours: z.strictObject({ before: decimal, after: decimal }),
            })
            .nullable(),
        }),
      )
      .describe('A currency each'),
    warnings: warningsSchema,
    ...shownSchema,
  })
  .meta({ id: 'CostBridge' });

function spanExample(from: string, to: string, cost: string): z.infer<typeof spanSchema> {
  return {
    from,
    to,
    totals: [{ currency: 'USD', cost }],
    unpricedGpuHours: '0.000000',
    lacking: { unstated: [], unbilled: [], setAside: [], unconverted: [], unpriced: [] },
  };
}

const resourcesQuery = z.strictObject({
  ...costQuery,
  span,
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(5000)
    .default(200)
    .describe('Rows; the answer has the number of the others'),
});
const resourcesSchema = z
  .strictObject({
    basis: z.enum(BASES),
    from: z.string(),
    to: z.string(),
    rows: z.array(
      z.strictObject({
        resource: z.string().nullable().describe('Null: it belongs to no named resource'),
        team: z.string(),
        currency: z.string(),
        cost: decimal.nullable().describe('Null: it has no price'),
        share: z.number().nullable().describe('Share of the total of its currency'),
        gpuHours: decimal.nullable(),
      }),
    ),
    more: z.int().describe('Resources that are not listed'),
    warnings: warningsSchema,
    ...shownSchema,
  })
  .meta({ id: 'CostResources' });

@Controller()
export class CostBreakdownController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/costs/breakdown', {
    summary: 'Get what costs consist of, and how they changed',
    description:
      'By one or two keys, with the largest groups day by day and the period before. A key that is restricted to teams sees these teams only.',
    access: 'read',
    answer: breakdownSchema,
  })
  async breakdown(
    @Calling() caller: Caller,
    @QueryInput(breakdownQuery) query: z.infer<typeof breakdownQuery>,
  ): Promise<CostBreakdown> {
    const { stores, clock } = this.parts;
    const { db, asOf, organisation, question, caveats } = await asked(this.parts, caller, query);
    const answer = await costBreakdown({ ...stores, db }, organisation, question, {
      compares: query.compare === 'before',
      limit: query.limit,
      last: query.span,
      now: clock.now(),
      about: caveats,
    });
    return { ...answer, ...shown(asOf) };
  }

  @Endpoint('GET /v1/costs/bridge', {
    summary: 'Get why costs changed from the period before',
    description:
      'The change is the sum of its effects, to the last digit: volume, price, mix, new, gone, charges, credits. Unpriced usage is in none of them.',
    access: 'read',
    answer: bridgeSchema,
  })
  async bridge(
    @Calling() caller: Caller,
    @QueryInput(bridgeQuery) query: z.infer<typeof bridgeQuery>,
  ): Promise<CostBridge> {
    const { stores, clock } = this.parts;
    const { db, asOf, organisation, question, caveats } = await asked(this.parts, caller, query);
    const answer = await costBridge({ ...stores, db }, organisation, question, {
      last: query.span,
      now: clock.now(),
      about: caveats,
    });
    return { ...answer, ...shown(asOf) };
  }

  @Endpoint('GET /v1/costs/resources', {
    summary: 'Get what each resource cost',
    description:
      'Reads the records again: of a day, of a team, of a SKU. Each resource gets its share, by GPU time, of the sum that /v1/costs returns; the shares add up to that sum. Amounts stay in their own currency.',
    access: 'read',
    answer: resourcesSchema,
  })
  async resources(
    @Calling() caller: Caller,
    @QueryInput(resourcesQuery) query: z.infer<typeof resourcesQuery>,
  ): Promise<z.infer<typeof resourcesSchema>> {
    const { stores, clock } = this.parts;
    const { db, asOf, organisation, question, caveats } = await asked(this.parts, caller, query);
    const when = await spanAsked({ ...stores, db }, organisation, question, query.span, clock.now());
    const { warnings } = await caveats(when);
    const all = await stores.resourceCosts.costs(db, organisation, { ...question, ...when });
    const totals = new Map<string, Decimal>();
    for (const { currency, cost } of all)
      if (cost !== null) totals.set(currency, addDecimal(totals.get(currency) ?? ZERO, cost));
    return {
      basis: question.basis,
      ...when,
      rows: all
        .slice(0, query.limit)
        .map(({ cost, parts, currency, ...row }) => ({
          ...row,
          currency,
          cost: cost === null ? null : formatDecimal(cost),
          share: shareOf(cost, totals.get(currency) ?? null),
          gpuHours: parts === null ? null : gpuHoursText(parts),
        })),
      more: Math.max(0, all.length - query.limit),
      warnings,
      ...shown(asOf),
    };
  }
}
