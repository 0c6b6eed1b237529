/**
 * /v1/rules: how usage and bills are given to teams. Saving a set allocates history anew; the preview says first what
 * moves.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { AllocationRule } from '../../core/cost/allocation.js';
import { conflict } from '../../core/errors.js';
import { previewRules, type RulePreview } from '../../store/cost/preview.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
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
  .describe('All that are given must hold; an empty match takes everything');
const split = z.union([
  z.strictObject({
    by: z.literal('fixed'),
    shares: z.record(teamId, z.string()).describe('Fractions that sum to 1, or whole parts'),
  }),
  z.strictObject({ by: z.literal('use'), of: z.array(teamId).optional().describe('Of these teams; absent: of all') }),
]);
const ruleSchema = z
  .union([z.strictObject({ match, team: teamId }), z.strictObject({ match, split })])
  .meta({ id: 'AllocationRule', description: 'The first rule that matches wins; what none takes is unallocated' });

export const rulesSchema = z.array(ruleSchema).max(10_000);
const setSchema = z
  .strictObject({ version: z.int().describe('0: no rules yet'), rules: rulesSchema })
  .meta({ id: 'RuleSet' });
const bodySchema = z
  .strictObject({
    rules: rulesSchema,
    replaces: z.int().optional().describe('Version that is replaced: refused where another one is current'),
  })
  .meta({ id: 'RuleChange' });
const amounts = {
  currency: z.string(),
  before: z.string().nullable().describe('Decimal string; null where nothing of it has a price'),
  after: z.string().nullable(),
  unpricedBefore: z.string().describe('GPU-hours without a price: in no amount'),
  unpricedAfter: z.string(),
};
const previewSchema = z
  .strictObject({
    teams: z
      .array(z.strictObject({ team: z.string(), ...amounts }))
      .describe('As /v1/costs by team has them on the basis actual, and would'),
    totals: z
      .array(z.strictObject(amounts))
      .describe(
        'Per currency; before and after are one, but where usage goes to a team of another currency, or credits are for single teams',
      ),
  })
  .meta({ id: 'RulePreview' });

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

  @Endpoint('PUT /v1/rules', {
    summary: 'Replace the allocation rules',
    description: 'History is allocated anew.',
    access: 'configure',
    allTeams: true,
    writes: true,
    answer: setSchema,
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
      };
    });
  }

  @Endpoint('POST /v1/rules/preview', {
    summary: "What other rules would make of each team's costs",
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
