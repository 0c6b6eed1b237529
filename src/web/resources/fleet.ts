/**
 * /v1/fleet: what runs at the providers, as it was last seen, and how well that is known. Reads only; it calls no
 * provider.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { TARGET_KINDS } from '../../core/fleet/fleet.js';
import { placeOf } from '../../store/fleet/fleet.js';
import { fleetCoverageJson, fleetTargetJson } from '../../store/fleet/fleet-json.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';

const querySchema = z.strictObject({
  ...pageQuery,
  team: z.string().min(1).max(200).optional(),
  connection: z.string().min(1).max(200).optional(),
  kind: z.enum(TARGET_KINDS).optional(),
});

const unknown = 'null: not known';
const targetSchema = z
  .strictObject({
    connection: z.string(),
    team: z.string(),
    target: z.string(),
    kind: z.enum(TARGET_KINDS),
    name: z.string(),
    provider: z.string(),
    account: z.string().nullable(),
    region: z.string().nullable(),
    sku: z.string().nullable(),
    gpuModel: z.string().nullable(),
    gpus: z.number().nullable().describe(`GPUs of one replica; ${unknown}`),
    term: z.string().nullable(),
    state: z.string(),
    billing: z.string().describe('Whether the provider still bills it'),
    replicas: z
      .strictObject({ desired: z.int(), ready: z.int().nullable(), min: z.int().nullable(), max: z.int().nullable() })
      .nullable(),
    spotRatio: z.number().nullable(),
    labels: z.record(z.string(), z.string()),
    launchedAt: z.iso.datetime().nullable(),
    knownAs: z.array(z.string()).describe('Host names and addresses by which readings name it; of a workload its pods'),
    network: z.string().nullable().describe(`Within which its addresses are its alone; ${unknown}`),
    seenAt: z.iso.datetime(),
    ageSeconds: z.number().describe('Since it was last seen'),
    missed: z.int().describe('Complete readings since that lacked it: above zero it may be gone'),
  })
  .meta({ id: 'FleetTarget' });

const coverageSchema = z
  .strictObject({
    connection: z.string(),
    readAt: z.iso.datetime().nullable(),
    completeAt: z.iso.datetime().nullable().describe('When everything could be read'),
    complete: z.boolean().describe('Whether the last reading was whole'),
    targets: z.int(),
    stale: z.boolean().describe('Too old to tell anything of now'),
    problems: z.array(z.string()),
  })
  .meta({ id: 'FleetCoverage' });

@Controller()
export class FleetController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/fleet', {
    summary: 'List what runs at the providers',
    description: 'As it was last seen: a provider that does not answer leaves its targets as they were, and they age.',
    access: 'read',
    answer: pageSchema(targetSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<z.infer<typeof targetSchema>>> {
    const { stores, clock } = this.parts;
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    const { items, nextCursor } = await pageOf(query, placeOf, (after, limit) =>
      stores.fleet.list(
        stores.db,
        organisation,
        { teams: query.team === undefined ? teams : [query.team], connection: query.connection, kind: query.kind },
        after,
        limit,
      ),
    );
    return { items: items.map((item) => fleetTargetJson(item, clock.now())), nextCursor };
  }

  @Endpoint('GET /v1/fleet/coverage', {
    summary: 'How well the fleet of each connection is known',
    access: 'read',
    allTeams: true,
    answer: z.strictObject({ items: z.array(coverageSchema) }),
  })
  async coverage(@Calling() { principal }: Caller): Promise<{ items: z.infer<typeof coverageSchema>[] }> {
    const { stores, clock } = this.parts;
    const items = await stores.fleet.coverage(stores.db, principal.organisation, clock.now());
    return { items: items.map((one) => ({ ...fleetCoverageJson(one), problems: [...one.problems] })) };
  }
}
