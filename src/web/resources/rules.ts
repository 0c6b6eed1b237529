/**
 * /v1/rules: how usage and bills are allocated to teams. Saving a set allocates history again; the preview first shows
 * what moves.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { spanAsked } from '../../application/cost/breakdown.js';
import { UNALLOCATED, type AllocationRule } from '../../core/cost/allocation.js';
import { candidateName, ruleCandidates } from '../../core/cost/rule-candidates.js';
import { parseSpendQuery } from '../../core/cost/spend-query.js';
import { formatDecimal } from '../../core/decimal.js';
import { conflict } from '../../core/errors.js';
import { gpuHoursText } from '../../core/report/spend.js';
import { previewRules, type RulePreview } from '../../store/cost/preview.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { teamId } from './teams.js';

const pattern = z.string().min(1).max(500).describe('* is any run of characters, ? any one');
const labelled = z.strictObject({ key: z.string().min(1).max(500), value: pattern });
const match = z
  .strictObject({
    provider: pattern.optional(),
    account: pattern.optional(),
    subAccount: pattern.optional(),
    tag: labelled.optional(),
    label: labelled.optional(),
    namespace: pattern.optional(),
    resource: pattern.optional(),
    service: pattern.optional(),
    sku: pattern.optional(),
  })
  .describe('All given conditions must match; an empty match matches everything');
const split = z.union([
  z.strictObject({
    by: z.literal('fixed'),
    shares: z.record(teamId, z.string()).describe('Fractions that sum to 1, or whole parts'),
  }),
  z.strictObject({ by: z.literal('use'), of: z.array(teamId).optional().describe('Of these teams; absent: of all') }),
]);
const ruleSchema = z
  .union([z.strictObject({ match, team: teamId }), z.strictObject({ match, split })])
  .meta({ id: 'AllocationRule', description: 'The first rule that matches wins; what no rule matches is unallocated' });

export const rulesSchema = z.array(ruleSchema).max(10_000);
const setSchema = z
  .strictObject({ version: z.int().describe('0: no rules yet'), rules: rulesSchema })
  .meta({ id: 'RuleSet' });
const bodySchema = z
  .strictObject({
    rules: rulesSchema,
    replaces: z.int().optional().describe('Version to replace: the request is refused if another one is current'),
  })
  .meta({ id: 'RuleChange' });
const amounts = {
  currency: z.string(),
  before: z.string().nullable().describe('Decimal string; null if nothing of it has a price'),
  after: z.string().nullable(),
  unpricedBefore: z.string().describe('GPU-hours without a price: in no amount'),
  unpricedAfter: z.string(),
};
const previewSchema = z
  .strictObject({
    teams: z
      .array(z.strictObject({ team: z.string(), ...amounts }))
      .describe('As /v1/costs by team returns them on the basis actual, now and under the rules'),
    totals: z
      .array(z.strictObject(amounts))
      .describe(
        'Per currency; before and after are equal, unless usage moves to a team of another currency or credits are for single teams',
      ),
  })
  .meta({ id: 'RulePreview' });

const candidatesQuery = z.strictObject({
  from: z.string().max(40).optional().describe('Inclusive day (UTC); absent: thirty days until the end of the data'),
  to: z.string().max(40).optional().describe('Exclusive day'),
  limit: z.coerce.number().int().min(1).max(200).default(20).describe('Values of each field'),
});
const candidatesSchema = z
  .strictObject({
    from: z.string(),
    to: z.string(),
    rows: z
      .array(
        z.strictObject({
          match: match.describe('What a rule would match: a field or tag, and its exact value'),
          currency: z.string(),
          cost: z.string().nullable().describe('Decimal string; null if nothing of it has a price'),
          gpuHours: z.string().nullable(),
        }),
      )
      .describe('By field, the most expensive first. A record counts in every field that it has: do not add them up'),
  })
  .meta({ id: 'RuleCandidates' });

type RuleChange = z.infer<typeof bodySchema>;
interface StoredRules {
  readonly version: number;
  readonly rules: readonly AllocationRule[];
}

@Controller()
export class RulesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/rules', { summary: 'Get the allocation rules', access: 'read', allTeams: true, answer: setSchema })
  async get(@Calling() { principal }: Caller): Promise<StoredRules> {
    const { version, rules } = await this.parts.stores.organisations.rules(
      this.parts.stores.db,
      principal.organisation,
    );
    return { version, rules };
  }

  @Endpoint('GET /v1/rules/candidates', {
    summary: 'List what rules could match in unallocated costs',
    description: 'Reads the records of the period again.',
    access: 'read',
    allTeams: true,
    answer: candidatesSchema,
  })
  async candidates(
    @Calling() { principal }: Caller,
    @QueryInput(candidatesQuery) { limit, ...days }: z.infer<typeof candidatesQuery>,
  ): Promise<z.infer<typeof candidatesSchema>> {
    const { stores, clock } = this.parts;
    const { organisation } = principal;
    const question = parseSpendQuery({ ...days, teams: [UNALLOCATED] });
    const { db } = await stores.reading.current();
    const when = await spanAsked({ ...stores, db }, organisation, question, '30', clock.now());
    const costs = await stores.resourceCosts.costs(db, organisation, { ...question, ...when }, candidateName);
    return {
      ...when,
      rows: ruleCandidates(costs, limit).map(({ match: what, currency, cost, parts }) => ({
        match: what,
        currency,
        cost: cost === null ? null : formatDecimal(cost),
        gpuHours: parts === null ? null : gpuHoursText(parts),
      })),
    };
  }

  @Endpoint('PUT /v1/rules', {
    summary: 'Replace the allocation rules',
    description: 'All history is allocated again. The rules that are there already make no new version.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: setSchema,
    readBack: { ignored: ['version'] },
    mostBodyBytes: 16 << 20,
  })
  async save(@Calling() caller: Caller, @JsonBody(bodySchema) body: RuleChange): Promise<StoredRules> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'rules.save', async (tx) => {
      await stores.organisations.lockRules(tx, organisation);
      const before = await stores.organisations.rules(tx, organisation);
      if (body.replaces !== undefined && body.replaces !== before.version)
        throw conflict(`the rules are at version ${before.version}, not ${body.replaces}`);
      const { version, rules } = await stores.organisations.saveRules(tx, organisation, body.rules, actorOf(caller));
      return {
        body: { version, rules },
        target: `rules/${version}`,
        detail: { before: before.version, rules: rules.length },
        changedNothing: version === before.version,
      };
    });
  }

  @Endpoint('POST /v1/rules/preview', {
    summary: "Preview each team's costs under other rules",
    description: 'Over all history. Writes nothing.',
    access: 'configure',
    allTeams: true,
    answer: previewSchema,
    mostBodyBytes: 16 << 20,
  })
  preview(@Calling() { principal }: Caller, @JsonBody(bodySchema) body: RuleChange): Promise<RulePreview> {
    return previewRules(this.parts.stores, principal.organisation, body.rules);
  }
}
