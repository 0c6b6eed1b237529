/**
 * /v1/quotes and /v1/placements: what GPUs for some hours would cost, whether the budgets allow it, and where it would
 * be cheapest. Writes nothing.
 */
import { setImmediate } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { invalid } from '../../core/errors.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import { VERDICTS, type BudgetVerdict } from '../../core/quote/budget.js';
import { MOST_QUOTED_GIB } from '../../core/quote/storage-network.js';
import { MOST_QUOTED_GPUS, MOST_QUOTED_HOURS, type QuoteRequest } from '../../core/quote/quote.js';
import { TERMS, type Term } from '../../core/usage.js';
import { dirtyPrices } from '../../planning/anomaly/dirty-prices.js';
import { MOST_RUNNERS_UP, type Shortlist } from '../../planning/placement/shortlist.js';
import { MOST_GPUS, MOST_HOURS } from '../../planning/placement/workload.js';
import { pacesOf, relativeSpeeds } from '../../planning/throughput/pace.js';
import { answerQuote, placements, type PlacementQuestion, type QuoteAnswer } from '../../planning/quoting.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { Unquoted } from '../problem.js';
import { currency as currencyCode, teamId } from './teams.js';

const text = z.string().min(1).max(200);
const termSchema = z.enum(TERMS as readonly [Term, ...Term[]]);
const upfrontSchema = z.enum(['none', 'partial', 'all']);
const decimal = z.string().describe('Decimal string');
const hours = z.number().positive().max(MOST_QUOTED_HOURS);
const gib = z.number().min(0).max(MOST_QUOTED_GIB).nullish();
const list = z.array(text).min(1).max(100).optional();
const accountSchema = text
  .nullish()
  .describe(
    'Billing account that would be charged: the rates learned from its bills apply. Absent: of the accounts with learned rates, the one with the most usage',
  );

const workload = {
  kind: z
    .enum(['training', 'inference'])
    .describe('A training runs on one SKU in one place; the replicas of an inference may be a mix'),
  memoryGibPerGpu: z.number().min(0).max(10_000),
  gpusPerUnitMin: z.int().min(1).max(1000).optional().describe('GPUs that one instance must have'),
  deadlineHours: hours.optional().describe('From now until a training must be done'),
  egressGib: z.number().min(0).max(1e9).optional().describe('GiB that leave the cloud in total'),
  providers: list,
  regions: list,
  models: list.describe('GPU models'),
  terms: z.array(termSchema).min(1).optional(),
  relativeSpeeds: z
    .record(text, z.number().min(0.001).max(1000))
    .optional()
    .describe('Speed of a GPU model relative to the reference; a model that is not listed is then not chosen'),
  spotShareMax: z.number().min(0).max(1).default(0).describe('A training may use spot only if this is 1'),
  restOfTermUsed: z.boolean().default(false).describe("Whether others use the rest of a reservation's term"),
  most: z.int().min(0).max(MOST_RUNNERS_UP).default(5).describe('Runners-up to list'),
};
const placementSchema = z.strictObject(workload);

export const quoteFields = {
  provider: text.describe('AWS, Google Cloud, ... or as people write it: aws, gcp'),
  sku: text.describe('A SKU; a GPU model such as H100 stands for the cheapest SKU with it'),
  gpus: z.number().positive().max(MOST_QUOTED_GPUS).multipleOf(0.001).describe('GPUs, not instances'),
  hours,
  hoursLow: hours.nullish().describe('It may end sooner'),
  hoursHigh: hours.nullish().describe('It may take longer'),
  restartHours: z
    .number()
    .min(0)
    .max(168)
    .nullish()
    .describe('What an interruption of spot costs: hours computed again, and the start'),
  term: termSchema.default('on-demand'),
  region: text.nullish().describe('Absent: the cheapest'),
  upfront: upfrontSchema.nullish().describe('How a reservation is paid'),
  currency: currencyCode.nullish().describe('Absent: the currency of the price'),
  account: accountSchema,
  storageGib: gib.describe('Storage is kept for as long as the GPUs are billed'),
  storageSku: text
    .nullish()
    .describe('Kind of storage: its SKU or the last word of it (`gp3`); absent: the dearest that is sold there'),
  networkGib: gib.describe('GiB that leave the cloud during the run'),
};
export const tagsSchema = z
  .record(z.string().min(1).max(400), z.string().max(4096))
  .nullish()
  .describe('Tags of the future usage, for budgets that filter by tags; {}: it has none');

const requestSchema = z
  .strictObject({
    ...quoteFields,
    team: teamId.nullish().describe('Team whose budgets, with those of the teams above, should cover it'),
    tags: tagsSchema,
    placement: placementSchema.nullish().describe('Also return the cheapest places for this workload'),
  })
  .meta({ id: 'QuoteRequest' });
const measuredSchema = z
  .strictObject({
    team: teamId.describe('Team whose measurements count'),
    reference: text.describe('The GPU model that gpus and hours refer to'),
    model: text,
    batch: z.number().positive().nullable().default(null),
    precision: text.nullable().default(null),
    optimizer: text.nullable().default(null),
    size: z.number().positive().nullable().default(null),
  })
  .describe(
    'Instead of relativeSpeeds: speeds as the team measured them, or as predicted from that, at the low end of the interval; see /v1/throughput-measurements',
  );
const placeRequestSchema = z
  .strictObject({
    ...workload,
    measured: measuredSchema.optional(),
    gpus: z.int().min(1).max(MOST_GPUS),
    hours: z.number().positive().max(MOST_HOURS),
    currency: currencyCode.default('USD'),
    account: accountSchema,
  })
  .meta({ id: 'PlacementRequest' });

export const quoteShape = {
  cost: decimal,
  currency: z.string(),
  parts: z
    .strictObject({ gpu: decimal, storage: decimal.nullable(), network: decimal.nullable() })
    .describe('Parts of the cost, each with its peak factor; null: not requested'),
  interval: z.strictObject({
    low: decimal,
    high: decimal,
    because: z.array(z.string()).describe('What makes the interval as wide as it is'),
    leavesOut: z.array(z.string()).describe('What may change the cost, but is unknown'),
  }),
  storageSku: z.string().nullable().describe('SKU whose price is used for the storage; null: none, or a general price'),
  unitPrice: decimal.describe('Per GPU-hour, before the peak factor'),
  learned: z
    .strictObject({
      source: z.string().describe('bill:<source>/<month>'),
      account: z.string().nullable(),
      ratio: decimal.describe('Charged over listed'),
      listCost: decimal,
      listUnitPrice: decimal,
    })
    .nullable()
    .describe('Learned price and list price; null: it is the list price'),
  provider: z.string(),
  sku: z.string(),
  region: z.string().nullable(),
  term: termSchema,
  upfront: upfrontSchema,
  gpus: z.number(),
  hours: z.number(),
  billedHours: decimal.describe("After the seller's increment and minimum"),
  source: z.string().describe('The price list'),
  effectiveFrom: z.iso.datetime(),
  assumptions: z.array(z.string()).describe('What was assumed'),
  alternatives: z.array(
    z.strictObject({
      term: termSchema,
      upfront: upfrontSchema,
      region: z.string().nullable(),
      cost: decimal,
      unitPrice: decimal,
      learned: z.string().nullable().describe('The bill that its price was learned from'),
    }),
  ),
};
const verdict = z.enum(VERDICTS);
const leftSchema = z
  .strictObject({ before: decimal, after: decimal, afterLow: decimal.describe('At the high end of the cost') })
  .nullable();
const verdictSchema = z
  .strictObject({
    budget: z.string(),
    team: z.string(),
    verdict,
    reasons: z.array(z.string()),
    currency: z.string(),
    periodEnd: z.iso.datetime(),
    weighedAt: z.iso.datetime().nullable(),
    planned: decimal.nullable(),
    spent: decimal.nullable(),
    committed: decimal.nullable().describe('Without reservations'),
    reserved: decimal.nullable().describe('Reserved for future launches'),
    cost: z
      .strictObject({ expected: decimal, low: decimal, high: decimal })
      .nullable()
      .describe('The part in the period'),
    costLater: decimal.nullable().describe('The part in later periods, which is not judged'),
    left: leftSchema,
    leftOnForecast: leftSchema,
  })
  .describe('For a budget of a team that the key may not see, the amounts are null and the reasons are withheld')
  .meta({ id: 'BudgetVerdict' });
const placedShape = {
  parts: z.array(
    z.strictObject({
      provider: z.string(),
      sku: z.string(),
      region: z.string().nullable(),
      term: termSchema,
      upfront: upfrontSchema,
      gpuModel: z.string().nullable(),
      units: z.int(),
      gpus: z.int(),
    }),
  ),
  gpus: z.int(),
  hours: z.number(),
  cost: decimal,
  egressCost: decimal,
};
const shortlistSchema = z
  .strictObject({
    currency: z.string(),
    best: z.strictObject(placedShape).nullable(),
    runnersUp: z.array(
      z.strictObject({ ...placedShape, lost: z.array(z.strictObject({ kind: z.string(), message: z.string() })) }),
    ),
    more: z.int().describe('Prices that can serve it beyond those listed'),
    refused: z.array(z.strictObject({ kind: z.string(), count: z.int(), example: z.string() })),
    assumptions: z.array(z.string()),
  })
  .meta({ id: 'Placements' });
const answerSchema = z
  .strictObject({
    ...quoteShape,
    budgets: z.strictObject({ team: z.string(), verdict, budgets: z.array(verdictSchema) }).nullable(),
    placements: shortlistSchema.nullable(),
  })
  .meta({ id: 'Quote' });

type Body = z.infer<typeof requestSchema>;

/** The part of a body that describes the run. */
export const requestOf = ({
  provider,
  sku,
  gpus,
  hours: run,
  hoursLow,
  hoursHigh,
  restartHours,
  term,
  region,
  upfront,
  currency,
  account,
  storageGib,
  storageSku,
  networkGib,
}: Omit<Body, 'team' | 'tags' | 'placement'>): QuoteRequest => ({
  provider,
  sku,
  gpus,
  hours: run,
  hoursLow: hoursLow ?? null,
  hoursHigh: hoursHigh ?? null,
  restartHours: restartHours ?? null,
  term,
  region: region ?? null,
  upfront: upfront ?? null,
  currency: currency ?? null,
  account: account ?? null,
  storageGib: storageGib ?? null,
  storageSku: storageSku ?? null,
  networkGib: networkGib ?? null,
});

@Controller()
export class QuotesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('POST /v1/quotes', {
    summary: 'Quote a run',
    access: 'read',
    mayBeMissing: true,
    answer: answerSchema,
    description:
      'If there is no price, the answer is a problem of status 404 that names what comes close. With a team, every budget over it says whether it covers the run to the end of its period.',
  })
  async quote(@Calling() caller: Caller, @JsonBody(requestSchema) body: Body): Promise<QuoteAnswer> {
    const { stores, clock } = this.parts;
    const team = body.team ?? null;
    if (team !== null) checkTeam(caller, team);
    const request = requestOf(body);
    const facts = await stores.quotes.facts(stores.db, caller.principal.organisation, {
      request,
      team,
      now: clock.now(),
      dirtyPrices,
    });
    const answer = answerQuote(
      { request, team, tags: body.tags ?? null, placement: placementOf(body.placement) },
      facts,
    );
    if (!('unpriced' in answer))
      return {
        ...answer,
        budgets:
          answer.budgets === null
            ? null
            : { ...answer.budgets, budgets: answer.budgets.budgets.map((one) => visible(one, caller)) },
      };
    throw new Unquoted(answer);
  }

  @Endpoint('POST /v1/placements', {
    summary: 'Find the cheapest places for a workload',
    description: 'Compares every price that is known now; each runner-up says why it was not chosen.',
    access: 'read',
    answer: shortlistSchema,
  })
  async place(
    @Calling() caller: Caller,
    @JsonBody(placeRequestSchema) {
      gpus,
      hours: run,
      currency,
      account,
      measured,
      ...body
    }: z.infer<typeof placeRequestSchema>,
  ): Promise<Shortlist> {
    const { stores, clock } = this.parts;
    const { principal } = caller;
    const at = clock.now();
    const speeds =
      measured === undefined ? {} : { relativeSpeeds: await this.speeds(caller, measured, gpus, body.relativeSpeeds) };
    const { fx, history, effective } = await stores.quotes.pricesOf(
      stores.db,
      principal.organisation,
      account ?? null,
      at,
    );
    return placements({ gpus, hours: run }, questionOf({ ...body, ...speeds }), currency, {
      context: { fx, at, effective },
      history,
    });
  }

  private async speeds(
    caller: Caller,
    { team, reference, ...run }: z.infer<typeof measuredSchema>,
    gpus: number,
    stated: unknown,
  ): Promise<Record<string, number>> {
    checkTeam(caller, team);
    const { stores, clock } = this.parts;
    const all = await stores.measurements.upTo(stores.db, caller.principal.organisation, clock.now());
    const paces = pacesOf(all, team);
    // Learning each kind may take a second: others are served in between.
    for (const gpu of stated === undefined ? paces.kinds(run.model) : []) {
      caller.request.server.gate.compute(caller.principal, () => paces.paceOf(run, gpu, gpus));
      await setImmediate();
    }
    const found = stated === undefined ? relativeSpeeds(paces, run, modelOf(reference) ?? reference, gpus) : null;
    if (found !== null) return found;
    const message =
      stated === undefined
        ? `the team ${team} has no measurement of ${run.model}, or nobody has one on ${reference}`
        : 'cannot be combined with relativeSpeeds: give one of them';
    throw invalid('the workload has problems', [{ path: 'measured', message }]);
  }
}

const placementOf = (placement: Body['placement']): PlacementQuestion | null =>
  placement === null || placement === undefined ? null : questionOf(placement);

/** A field that was not given is absent, not undefined. */
const questionOf = (given: z.infer<typeof placementSchema>): PlacementQuestion =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as unknown as PlacementQuestion;

/** The verdict of a budget above the key's teams counts, but this key may not see its amounts. */
function visible(one: BudgetVerdict, { principal }: Caller): BudgetVerdict {
  if (sees(principal, one.team)) return one;
  const reasons = one.reasons.length === 0 ? [] : ['the budget belongs to a team that this key may not see'];
  return {
    ...one,
    reasons,
    planned: null,
    spent: null,
    committed: null,
    reserved: null,
    cost: null,
    costLater: null,
    left: null,
    leftOnForecast: null,
  };
}
