/** /v1/recommendations: the line's recommendations, and people's decisions about them. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { ACTION_STATES, type ActionState } from '../../core/action/action.js';
import { mayDecideRecommendation } from '../../core/action/may.js';
import { missing } from '../../core/errors.js';
import { breakEvenOf, type BreakEven } from '../../core/policy/break-even.js';
import type { Queryable } from '../../store/database.js';
import type { StoredRecommendation } from '../../store/policy/recommendations.js';
import { recommendationEvidence, type EvidenceSeries } from '../../application/policy/recommendation-evidence.js';
import { stopsOverApprovals } from '../../application/action/carry-out.js';
import { approveRecommendation, rejectRecommendation } from '../../application/action/set-action.js';
import { actorOf, Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const status = z.enum(['open', 'observed', 'approved', 'rejected', 'superseded', 'expired']);
const querySchema = z.strictObject({
  ...pageQuery,
  team: z.string().min(1).max(200).optional(),
  status: status.optional(),
});
const decimal = z.string().describe('Decimal string');
const recommendationId = z.string().min(1).max(400);

const mayField = z
  .strictObject({ code: z.enum(['scope', 'state', 'expired', 'stopped']), message: z.string() })
  .nullable()
  .describe('Null: the caller may; otherwise the reason why not');

const recommendationSchema = z
  .looseObject({
    id: z.string(),
    team: z.string(),
    policy: z.string(),
    policyVersion: z.int(),
    action: z.string(),
    target: z.string(),
    title: z.string(),
    estimatedMonthlySavings: decimal.nullable().describe('Null: unknown, which is not zero'),
    estimatedMonthlySavingsLow: decimal.nullable().describe('Low end of an 80 % interval'),
    estimatedMonthlySavingsHigh: decimal.nullable(),
    estimatedMonthlyCost: decimal
      .nullable()
      .describe(
        'What the unchanged target costs over the time of the saving: no saving exceeds it. A month; the whole job if it saves once; for a purchase, the on-demand cost of the usage that it would cover. Null: unknown',
      ),
    estimatedSavingsPercentage: z
      .number()
      .nullable()
      .describe(
        'The saving as a share of that cost, in percent with one decimal; null: one of them is unknown, or the cost is 0',
      ),
    savingRecurs: z
      .enum(['monthly', 'once'])
      .optional()
      .describe('once: the estimate is a saving that happens only once; absent: monthly'),
    place: z
      .strictObject({
        provider: z.string(),
        region: z.string().nullable(),
        sku: z.string().nullable(),
        account: z
          .string()
          .nullable()
          .optional()
          .describe('Team whose machines it should serve; null or absent: not stated'),
      })
      .nullable()
      .optional()
      .describe('For a purchase: where it applies; a region of null is any'),
    currency: z.string(),
    computation: z.record(z.string(), z.union([z.string(), z.number()])).describe('The numbers behind it'),
    evidence: z.array(z.strictObject({ what: z.string(), from: z.string(), to: z.string(), ageSeconds: z.number() })),
    risk: z.strictObject({ interruption: z.string(), note: z.string() }),
    restartNeeded: z.boolean(),
    implementationEffort: z.string(),
    rollbackPossible: z.boolean(),
    expiresAt: z.string(),
    status,
    madeAt: z.string(),
    decidedBy: z.string().nullable(),
    actionId: z.string().nullable().describe('The newest action that was made from it'),
    actionState: z
      .enum(ACTION_STATES as readonly [ActionState, ...ActionState[]])
      .nullable()
      .describe('State of that action: an approved recommendation may come to nothing'),
    obstacle: z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .describe('Why it cannot be carried out; null: it can, or this has not been checked'),
    obstacles: z
      .array(z.strictObject({ code: z.string(), message: z.string() }))
      .describe('Everything that prevents it, including what the guard would refuse: nobody is asked to approve it'),
    breakEven: z
      .strictObject({
        of: z
          .enum(['use', 'spot'])
          .describe('Share of the hours of a commitment that are used, or of the time in which spot is available'),
        ratio: z.number().describe('Share from which it pays off; above 1 it never does'),
        expected: z
          .number()
          .nullable()
          .describe('Share expected from the evidence; of several GPUs, the least used one'),
        paidBackAfterDays: z
          .int()
          .nullable()
          .describe(
            'For a commitment: days of the expected use after which on-demand usage would have cost as much as the whole commitment; null: not within its term, or unknown',
          ),
      })
      .nullable()
      .describe('Point from which it pays off; null: there is none, or its numbers do not show it'),
    may: z
      .strictObject({ approve: mayField, reject: mayField })
      .describe('What the caller may decide about it now; the owner of its target is checked at the decision'),
  })
  .meta({ id: 'Recommendation' });

/** With what the reader may decide. */
type Decidable = StoredRecommendation & {
  readonly breakEven: BreakEven | null;
  readonly may: ReturnType<typeof mayDecideRecommendation>;
};

const evidenceSchema = z
  .strictObject({
    measure: z
      .enum(['gpus', 'utilisation'])
      .nullable()
      .describe(
        'gpus: on average in use on demand where the purchase would apply; utilisation: of the busiest GPU of the target, 1 is full; null: nothing is recorded',
      ),
    stepSeconds: z.int(),
    points: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        value: z.number().nullable().describe('Null: nothing about it is recorded'),
      }),
    ),
    threshold: z.number().nullable().describe('GPUs of the purchase; null: it is not a purchase'),
  })
  .meta({ id: 'RecommendationEvidence' });

@Controller()
export class RecommendationsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/recommendations', {
    summary: 'List recommendations',
    access: 'read',
    answer: pageSchema(recommendationSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<Decidable>> {
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const page = await pageOf(
      query,
      (item: StoredRecommendation) => item.id,
      (after, limit) =>
        this.parts.stores.recommendations.list(
          organisation,
          { team: query.team, status: query.status, teams },
          after,
          limit,
        ),
    );
    return { ...page, items: await this.shownAll(caller, page.items) };
  }

  @Endpoint('GET /v1/recommendations/:id', {
    summary: 'Get a recommendation',
    access: 'read',
    answer: recommendationSchema,
  })
  async get(@Calling() caller: Caller, @PathInput('id', recommendationId) id: string): Promise<Decidable> {
    return this.shown(caller, await this.found(caller, id));
  }

  @Endpoint('GET /v1/recommendations/:id/evidence', {
    summary: 'Get the evidence of a recommendation, as a series',
    description:
      'For a purchase: the GPUs that were used where it would apply, day by day. For anything else: how busy its target was, hour by hour.',
    access: 'read',
    answer: evidenceSchema,
  })
  async evidence(@Calling() caller: Caller, @PathInput('id', recommendationId) id: string): Promise<EvidenceSeries> {
    const { stores, clock } = this.parts;
    const found = await this.found(caller, id);
    return recommendationEvidence(stores, caller.principal.organisation, found, clock.now());
  }

  @Endpoint('POST /v1/recommendations/:id/approve', {
    summary: 'Approve a recommendation',
    description:
      'Its action, or a new one made from it, is approved too; obstacle says why if it cannot be carried out.',
    access: 'approve',
    writes: true,
    answer: recommendationSchema,
  })
  async approve(@Calling() caller: Caller, @PathInput('id', recommendationId) id: string): Promise<Decidable> {
    return this.decide(caller, id, 'approved');
  }

  @Endpoint('POST /v1/recommendations/:id/reject', {
    summary: 'Reject a recommendation',
    access: 'approve',
    writes: true,
    answer: recommendationSchema,
  })
  async reject(@Calling() caller: Caller, @PathInput('id', recommendationId) id: string): Promise<Decidable> {
    return this.decide(caller, id, 'rejected');
  }

  private async shownAll(
    { principal: { organisation, scopes } }: Caller,
    all: readonly StoredRecommendation[],
    db?: Queryable,
  ): Promise<Decidable[]> {
    const { stores, clock } = this.parts;
    const now = clock.now();
    const stops = await stopsOverApprovals(stores, db ?? stores.db, organisation, all, now);
    return all.map((one) => ({
      ...one,
      breakEven: breakEvenOf(one),
      may: mayDecideRecommendation(one, scopes, now, stops.get(one.id) ?? []),
    }));
  }

  private async shown(caller: Caller, one: StoredRecommendation, db?: Queryable): Promise<Decidable> {
    const [shown] = await this.shownAll(caller, [one], db);
    if (shown === undefined) throw new Error(`recommendation ${one.id} was not shown`);
    return shown;
  }

  private async found(caller: Caller, id: string): Promise<StoredRecommendation> {
    const found = await this.parts.stores.recommendations.get(caller.principal.organisation, id);
    if (found === null) throw missing(`recommendation ${id} does not exist`);
    checkTeam(caller, found.team);
    return found;
  }

  private async decide(caller: Caller, id: string, decision: 'approved' | 'rejected'): Promise<Decidable> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const found = await this.found(caller, id);
    return write(stores, caller, `recommendation.${decision === 'approved' ? 'approve' : 'reject'}`, async (tx) => {
      const decide = decision === 'approved' ? approveRecommendation : rejectRecommendation;
      const { recommendation, action } = await decide(stores, tx, organisation, id, actorOf(caller), clock.now());
      return {
        body: await this.shown(caller, recommendation, tx),
        target: id,
        detail: { team: found.team, action: found.action, actionId: action?.id ?? null },
      };
    });
  }
}
