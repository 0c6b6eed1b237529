/** /v1/teams: the tree of teams to which costs and budgets belong. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { denied, missing } from '../../core/errors.js';
import { isZone } from '../../core/time.js';
import type { Team } from '../../store/access/organisation.js';
import { changeTeam, removeTeam } from '../../application/access/set-team.js';
import { Calling, checkTeam, sees, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOfAll, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

/** People may not assign the stand-ins of shared costs, nor the name for what no rule matches. */
export const teamId = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}+$/u, 'holds control characters')
  .refine((id) => !id.startsWith('shared:') && id.trim() === id, 'is not a name for a team');

/** Fields that budgets have too. */
export const zone = z.string().refine(isZone, 'is not an IANA time zone');
export const currency = z.string().regex(/^[A-Z]{3}$/, 'is not an ISO 4217 code');

const settable = {
  name: z.string().min(1).max(200),
  parent: teamId.nullable(),
  zone: zone.describe("Where the team's days begin"),
  currency: currency.describe("Of the team's budgets and accruals"),
};

const bodySchema = z
  .strictObject({
    name: settable.name.optional().describe('Default of a new team: its id'),
    parent: settable.parent.optional().describe('Default of a new team: none'),
    zone: settable.zone.optional().describe("Where the team's days begin; default of a new team: UTC"),
    currency: settable.currency.optional().describe("Of the team's budgets and accruals; default of a new team: USD"),
  })
  .meta({ id: 'TeamSettings', description: 'An absent field stays unchanged' });

const teamSchema = z
  .strictObject({
    id: z.string(),
    ...settable,
    assignedBy: z.string().nullable().describe('The rule that made the team, if no person did'),
  })
  .meta({ id: 'Team' });

@Controller()
export class TeamsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/teams', { summary: 'List teams', access: 'read', answer: pageSchema(teamSchema) })
  async list(@Calling() { principal }: Caller, @QueryInput(pageQuerySchema) query: PageQuery): Promise<Page<Team>> {
    const { stores } = this.parts;
    const all = await stores.organisations.teams(stores.db, principal.organisation);
    return pageOfAll(
      query,
      all.filter((team) => sees(principal, team.id)),
      (team) => team.id,
    );
  }

  @Endpoint('GET /v1/teams/:id', { summary: 'Get a team', access: 'read', answer: teamSchema })
  async get(@Calling() caller: Caller, @PathInput('id', teamId) id: string): Promise<Team> {
    checkTeam(caller, id);
    const { stores } = this.parts;
    const team = await stores.organisations.team(stores.db, caller.principal.organisation, id);
    if (team === null) throw missing(`team ${id} does not exist`);
    return team;
  }

  @Endpoint('PUT /v1/teams/:id', {
    summary: 'Add or change a team',
    description: 'What the body does not name stays unchanged.',
    access: 'configure',
    writes: true,
    answer: teamSchema,
    readBack: { addressed: ['id'], ignored: ['assignedBy'] },
  })
  async save(
    @Calling() caller: Caller,
    @PathInput('id', teamId) id: string,
    @JsonBody(bodySchema) body: z.infer<typeof bodySchema>,
  ): Promise<Team> {
    const { stores } = this.parts;
    const { principal } = caller;
    checkTeam(caller, id);
    return write(stores, caller, 'team.save', async (tx) => {
      const before = await stores.organisations.team(tx, principal.organisation, id);
      const parent = body.parent === undefined ? before?.parent : body.parent;
      // Under another team, another budget would pay; the key's own team may stay where it is.
      const moves = body.parent !== undefined || parent === undefined;
      if (principal.teams !== null && moves && (parent === undefined || parent === null || !sees(principal, parent)))
        throw denied('this key may put a team only under a team that it may change');
      const team = await changeTeam(stores, tx, principal.organisation, { id, ...body });
      return { body: team, target: id, detail: { before, after: team } };
    });
  }

  @Endpoint('DELETE /v1/teams/:id', {
    summary: 'Remove a team',
    description: 'Its spend stays. Refused while there are teams below it or budgets for it.',
    access: 'configure',
    writes: true,
    answer: teamSchema,
  })
  async remove(@Calling() caller: Caller, @PathInput('id', teamId) id: string): Promise<Team> {
    const { stores } = this.parts;
    const { organisation } = caller.principal;
    checkTeam(caller, id);
    return write(stores, caller, 'team.remove', async (tx) => {
      const team = await stores.organisations.team(tx, organisation, id);
      await removeTeam(stores, tx, organisation, id);
      if (team === null) throw missing(`team ${id} does not exist`);
      return { body: team, target: id, detail: { before: team } };
    });
  }
}
