/** /v1/explain: the result of every policy for one target, team or budget, and why. Read-only. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { explain, type Explained } from '../../application/policy/explain.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';

const querySchema = z.strictObject({
  target: z
    .string()
    .min(1)
    .max(512)
    .describe('A target of the fleet, its name in readings (a host name, an address), a team or a budget'),
});

const explainedSchema = z
  .strictObject({
    asked: z.string(),
    kind: z
      .enum(['team', 'budget', 'target', 'measured', 'ambiguous'])
      .describe('measured: readings have this name, but no target does; ambiguous: several targets have it'),
    target: z.string(),
    team: z.string(),
    asOf: z.iso.datetime(),
    known: z.array(z.string()).describe('What is known about it, as sentences'),
    recommended: z.strictObject({
      at: z.iso.datetime().nullable().describe('When recommendations of the team were last made; null: never'),
      next: z.enum(['due', 'failed', 'when-something-changes']),
      message: z.string(),
    }),
    looks: z.array(
      z.strictObject({
        document: z.string().nullable().describe('Null: no document runs the policy for the team'),
        policy: z.string(),
        mode: z.enum(['observe', 'recommend', 'approve', 'enforce']).nullable(),
        target: z.string(),
        saw: z.array(z.string()),
        proposes: z.array(z.string()),
        leftAlone: z
          .strictObject({ code: z.string(), message: z.string(), toAct: z.string() })
          .nullable()
          .describe('Why nothing is proposed, and what would make the policy act; null: it proposes something'),
        recommendation: z
          .strictObject({
            id: z.string(),
            status: z.enum(['open', 'observed', 'approved', 'rejected', 'superseded', 'expired']),
            madeAt: z.iso.datetime(),
            decidedBy: z.string().nullable(),
            action: z.string().nullable().describe('Its newest action and the state of that action'),
            because: z.string().nullable().describe('What prevents it, or why it was refused'),
          })
          .nullable()
          .describe('Its recommendation; null: none'),
      }),
    ),
  })
  .meta({ id: 'Explanation' });

@Controller()
export class ExplainController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/explain', {
    summary: 'Explain how the policies judge a target, a team or a budget',
    description:
      'For every document that applies to it: what it saw, what was missing, and what would make it act. The policies run as they do for recommendations.',
    access: 'read',
    mayBeMissing: true,
    answer: explainedSchema,
  })
  async explain(
    @Calling() caller: Caller,
    @QueryInput(querySchema) { target }: z.infer<typeof querySchema>,
  ): Promise<Explained> {
    const { stores, clock, policies = [] } = this.parts;
    const { principal } = caller;
    return explain(
      stores,
      policies,
      principal.organisation,
      target,
      clock.now(),
      (team) => checkTeam(caller, team),
      (team) => sees(principal, team),
    );
  }
}
