/**
 * /v1/fleet: what runs at the providers by the newest readings, and how current these are. Read-only; calls no
 * provider.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { fleetDetails, type FleetDetails } from '../../application/fleet/details.js';
import { TARGET_KINDS } from '../../core/fleet/fleet.js';
import { placeOf } from '../../store/fleet/fleet.js';
import { fleetCoverageJson, fleetTargetJson } from '../../store/fleet/fleet-json.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { currency } from './teams.js';

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
    knownAs: z
      .array(z.string())
      .describe('Host names and addresses by which readings name it; for a workload, its pods'),
    network: z.string().nullable().describe(`Network within which its addresses are unique; ${unknown}`),
    seenAt: z.iso.datetime(),
    ageSeconds: z.number().describe('Time since it was last seen'),
    missed: z.int().describe('Complete readings since then that lacked it: above zero it may be gone'),
    onDemandBase: z.number().optional().describe('For a group: on-demand machines before the share of spot applies'),
    group: z.unknown().optional().describe('For a group: the size limits of its own settings'),
    leaving: z.int().optional().describe('For a group: machines that are leaving it, but still exist and are paid for'),
    ruledOut: z.unknown().optional().describe('Effects that its settings rule out, each with the reason'),
    followedBy: z.string().optional().describe('What already sets its size in its cloud'),
    managedBy: z
      .array(z.string())
      .readonly()
      .optional()
      .describe('Tools that keep it at the configuration that they store'),
    paid: z.enum(['hourly', 'prepaid', 'elsewhere']).optional(),
    localDisks: z.literal(true).optional().describe('Its data is lost when it stops'),
    mayKeepCharging: z.literal(true).optional().describe('It may still be billed while it is stopped'),
    asOne: z.literal(true).optional().describe('It has no size of its own: it is stopped and started as one'),
    zone: z.string().optional().describe('The zone in which it runs, or outside of which it may not run'),
    movesTo: z
      .array(z.strictObject({ region: z.string(), zone: z.string().nullable().describe('null: any of the region') }))
      .readonly()
      .optional()
      .describe('Where its provider or scheduler can start it again'),
    ended: z.strictObject({ by: z.enum(['cloud', 'somebody']), because: z.string() }).optional(),
    outOfService: z.string().optional().describe('Why its group does not count it among those in service'),
    unwell: z.string().optional().describe('What its cloud finds wrong with it while it runs'),
  })
  .meta({ id: 'FleetTarget' });

const coverageSchema = z
  .strictObject({
    connection: z.string(),
    readAt: z.iso.datetime().nullable(),
    completeAt: z.iso.datetime().nullable().describe('When everything could last be read'),
    complete: z.boolean().describe('Whether the last reading was complete'),
    targets: z.int(),
    stale: z.boolean().describe('Too old to say anything about the present'),
    problems: z.array(z.string()),
  })
  .meta({ id: 'FleetCoverage' });

const decimal = z.string().describe('Decimal string');
const detailsQuery = z.strictObject({
  team: z.string().min(1).max(200).optional(),
  currency: currency.default('USD').describe('Of costs an hour'),
});
const detailsSchema = z
  .strictObject({
    asOf: z.iso.datetime(),
    windowHours: z.number().describe('Period of the readings on the use of the GPUs'),
    items: z.array(
      z.strictObject({
        target: targetSchema.loose(),
        gpus: z.number().nullable().describe(`GPUs of all replicas; ${unknown}`),
        utilisationRatio: z.number().nullable().describe(`Mean of its busiest GPU, minute by minute; ${unknown}`),
        memoryUsedRatio: z.number().nullable(),
        evidence: z
          .strictObject({ minutes: z.int(), newestAt: z.iso.datetime(), ageSeconds: z.number() })
          .nullable()
          .describe('Null: there are no readings of it'),
        hourlyCost: decimal.nullable().describe('At the price of its term; null: unknown, or nothing is billed'),
        unused: z
          .strictObject({ low: decimal, high: decimal })
          .nullable()
          .describe(
            'Per hour: low is the cost of minutes in which certainly nothing ran; high is that of all GPU time that no reading shows as used',
          ),
        currency: z.string(),
        because: z
          .enum(['no-price', 'no-gpus', 'not-measured', 'not-billed'])
          .nullable()
          .describe('Why the cost, or what is unused, is null'),
        recommendation: z
          .strictObject({
            id: z.string(),
            title: z.string(),
            action: z.string(),
            estimatedMonthlySavings: decimal.nullable(),
            estimatedMonthlySavingsLow: decimal.nullable(),
            estimatedMonthlySavingsHigh: decimal.nullable(),
            currency: z.string(),
          })
          .nullable()
          .describe('The open one; null: none (/v1/explain gives the reason)'),
        lastAction: z
          .strictObject({ id: z.string(), effect: z.string(), state: z.string(), proposedAt: z.iso.datetime() })
          .nullable(),
      }),
    ),
    more: z.boolean().describe('Whether there are targets that are not listed'),
  })
  .meta({ id: 'FleetDetails' });

@Controller()
export class FleetController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/fleet', {
    summary: 'List what runs at the providers',
    description: 'As last seen: if a provider does not answer, its targets stay as they were, and they age.',
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

  @Endpoint('GET /v1/fleet/details', {
    summary: 'What the fleet costs, how its GPUs are used, and what is done about it',
    description: 'Each machine and group with its readings of the last hours, its open recommendation and last action.',
    access: 'read',
    answer: detailsSchema,
  })
  async details(
    @Calling() caller: Caller,
    @QueryInput(detailsQuery) query: z.infer<typeof detailsQuery>,
  ): Promise<FleetDetails> {
    const { stores, clock } = this.parts;
    const { organisation, teams } = caller.principal;
    if (query.team !== undefined) checkTeam(caller, query.team);
    return fleetDetails(
      stores,
      organisation,
      query.team === undefined ? teams : [query.team],
      query.currency,
      clock.now(),
    );
  }

  @Endpoint('GET /v1/fleet/coverage', {
    summary: 'Age and completeness of the readings of each connection',
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
