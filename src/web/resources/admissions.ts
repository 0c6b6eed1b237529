/**
 * /v1/admissions: launches that the admission webhook refused or warned about, one item per team, workload and day.
 * Read-only.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { admissionPlace, type StoredAdmission } from '../../store/budget/admissions.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { notACursor, pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { teamId } from './teams.js';

const day = z.iso.date();
const querySchema = z.strictObject({
  ...pageQuery,
  team: teamId.optional(),
  from: day.optional().describe('First day'),
  to: day.optional().describe('The day after the last'),
});

const admissionSchema = z
  .strictObject({
    team: z.string(),
    day: day.describe("In the team's zone"),
    cluster: z.string().describe('Empty: the webhook does not name it'),
    namespace: z.string(),
    workload: z.string().describe('The controller of the pods, or the pod if it has none'),
    refused: z.int().describe('Attempts that were refused'),
    warned: z.int().describe('Attempts that were admitted with a warning'),
    reasons: z.array(z.enum(['budget-spent', 'no-budget', 'launches-stopped'])),
    message: z.string().describe('As reported the last time'),
    firstAt: z.iso.datetime(),
    lastAt: z.iso.datetime(),
  })
  .meta({ id: 'Admission' });

@Controller()
export class AdmissionsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/admissions', {
    summary: 'List refused and warned launches',
    access: 'read',
    answer: pageSchema(admissionSchema),
    description:
      'Newest day first. A launch that several teams share is in the list of each team that objected. Rows are written a moment after the answer and kept for 400 days.',
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<StoredAdmission>> {
    const { organisation, teams } = caller.principal;
    const { team = null, from = null, to = null } = query;
    if (team !== null) checkTeam(caller, team);
    return pageOf(query, admissionPlace.of, (after, limit) => {
      const place = after === null ? null : admissionPlace.read(after);
      if (after !== null && place === null) throw notACursor();
      return this.parts.stores.admissions.list(organisation, { team, teams, from, to }, place, limit);
    });
  }
}
