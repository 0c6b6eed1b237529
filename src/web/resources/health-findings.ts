/** /v1/health-findings: the rules' findings about GPUs, open and cleared, with the numbers. Read-only. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { HEALTH_RULES } from '../../core/fleet/health.js';
import type { StoredFinding } from '../../store/fleet/health-findings.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, rowId, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';

const querySchema = z.strictObject({
  ...pageQuery,
  team: z.string().min(1).max(200).optional(),
  status: z.enum(['open', 'cleared']).optional(),
});

const findingSchema = z
  .strictObject({
    id: z.string(),
    source: z.string(),
    rule: z.enum(HEALTH_RULES),
    severity: z.enum(['notice', 'warning', 'fatal']),
    team: z.string(),
    workload: z.string().nullable(),
    resource: z.string(),
    gpu: z.string(),
    migInstance: z.string().nullable(),
    title: z.string(),
    numbers: z.record(z.string(), z.number()),
    evidence: z.strictObject({ what: z.string(), from: z.string(), to: z.string(), ageSeconds: z.number() }),
    openedAt: z.string(),
    seenAt: z.string().describe('When it was last found'),
    clearedAt: z.string().nullable(),
    clearedBecause: z
      .enum(['evidence', 'no-evidence'])
      .nullable()
      .describe('no-evidence: it is no longer known, which does not mean healthy'),
  })
  .meta({ id: 'HealthFinding' });

@Controller()
export class HealthFindingsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/health-findings', {
    summary: 'List findings about the health of GPUs',
    description: 'Newest first.',
    access: 'read',
    answer: pageSchema(findingSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<StoredFinding>> {
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    const { team, status } = query;
    if (team !== undefined) checkTeam(caller, team);
    return pageOf(
      query,
      ({ id }) => id,
      (after, limit) =>
        stores.healthFindings.list(stores.db, organisation, { team, status, teams }, rowId(after), limit),
    );
  }
}
