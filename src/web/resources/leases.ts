/**
 * /v1/leases: GPUs that somebody holds until a date. The policy `lease` warns before the end and releases GPUs whose
 * lease nobody renewed.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { canonical } from '../../core/changes.js';
import { missing } from '../../core/errors.js';
import { parseInstant } from '../../core/time.js';
import type { Transaction } from '../../store/database.js';
import { endLease, giveLease, renewLease } from '../../application/workload/set-lease.js';
import { leaseJson, type LeaseJson, type LeaseTerms } from '../../store/workload/leases.js';
import { Calling, checkTeam, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuerySchema, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { teamId } from './teams.js';

const leaseId = z.string().regex(/^[\w.:-]{1,200}$/, 'is not a name of 1 to 200 letters, digits and . _ : -');
const instant = z.string().refine((text) => parseInstant(text) !== null, 'is not a time: write 2026-10-01T00:00:00Z');
const expiresAt = instant.nullable().describe('ISO 8601; null: no end');
const place = {
  provider: z.string().nullable(),
  sku: z.string().nullable(),
  region: z.string().nullable(),
  gpuModel: z.string().nullable(),
};

const bodySchema = z
  .strictObject({
    team: teamId,
    target: z.string().min(1).max(500).describe('A resource or an allocation, as usage and the fleet name it'),
    holder: z.string().min(1).max(200).nullable().default(null),
    gpus: z.number().positive().max(100_000).nullable().default(null).describe('Absent: as in the fleet'),
    provider: place.provider.default(null),
    sku: place.sku.default(null),
    region: place.region.default(null),
    gpuModel: place.gpuModel.default(null),
    expiresAt: expiresAt.default(null),
  })
  .meta({ id: 'LeaseTerms' });
const renewalSchema = z.strictObject({ expiresAt }).meta({ id: 'LeaseRenewal' });
const leaseSchema = z
  .strictObject({
    id: z.string(),
    team: z.string(),
    target: z.string(),
    holder: z.string().nullable(),
    gpus: z.number().nullable(),
    ...place,
    startedAt: z.string(),
    expiresAt: z.string().nullable(),
    active: z.boolean().nullable().describe('Null: it is unknown whether it still holds GPUs'),
  })
  .meta({ id: 'Lease' });
const querySchema = pageQuerySchema.extend({ team: teamId.optional() });

@Controller()
export class LeasesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/leases', { summary: 'List leases', access: 'read', answer: pageSchema(leaseSchema) })
  async list(
    @Calling() caller: Caller,
    @QueryInput(querySchema) query: z.infer<typeof querySchema>,
  ): Promise<Page<LeaseJson>> {
    if (query.team !== undefined) checkTeam(caller, query.team);
    const { stores } = this.parts;
    const { organisation, teams } = caller.principal;
    return pageOf(
      query,
      ({ id }) => id,
      async (after, limit) =>
        (await stores.leases.list(stores.db, organisation, { teams, team: query.team }, after, limit)).map(leaseJson),
    );
  }

  @Endpoint('PUT /v1/leases/:id', {
    summary: 'Give a lease, or replace its terms',
    access: 'configure',
    writes: true,
    answer: leaseSchema,
  })
  async give(
    @Calling() caller: Caller,
    @PathInput('id', leaseId) id: string,
    @JsonBody(bodySchema) body: z.infer<typeof bodySchema>,
  ): Promise<LeaseJson> {
    checkTeam(caller, body.team);
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    return write(stores, caller, 'lease.give', async (tx) => {
      await this.checkLease(tx, caller, id);
      const before = await stores.leases.get(tx, organisation, id);
      const terms: LeaseTerms = { ...body, expiresAt: body.expiresAt === null ? null : parseInstant(body.expiresAt) };
      const given = await giveLease(stores, tx, organisation, id, terms, clock.now());
      const changedNothing = before !== null && canonical(leaseJson(before)) === canonical(leaseJson(given));
      return { body: leaseJson(given), target: id, detail: body, changedNothing };
    });
  }

  @Endpoint('POST /v1/leases/:id/renew', {
    summary: "Move a lease's end",
    access: 'configure',
    writes: true,
    answer: leaseSchema,
  })
  async renew(
    @Calling() caller: Caller,
    @PathInput('id', leaseId) id: string,
    @JsonBody(renewalSchema) body: z.infer<typeof renewalSchema>,
  ): Promise<LeaseJson> {
    const { stores } = this.parts;
    return write(stores, caller, 'lease.renew', async (tx) => {
      await this.checkLease(tx, caller, id);
      const until = body.expiresAt === null ? null : parseInstant(body.expiresAt);
      return {
        body: leaseJson(await renewLease(stores, tx, caller.principal.organisation, id, until)),
        target: id,
        detail: body,
      };
    });
  }

  @Endpoint('DELETE /v1/leases/:id', {
    summary: 'End a lease',
    description: 'It no longer holds anything. This stops no machine.',
    access: 'configure',
    writes: true,
    answer: leaseSchema,
  })
  async end(@Calling() caller: Caller, @PathInput('id', leaseId) id: string): Promise<LeaseJson> {
    const { stores } = this.parts;
    return write(stores, caller, 'lease.end', async (tx) => {
      await this.checkLease(tx, caller, id);
      return { body: leaseJson(await endLease(stores, tx, caller.principal.organisation, id)), target: id };
    });
  }

  /** A lease of another team does not exist for this caller. */
  private async checkLease(tx: Transaction, { principal }: Caller, id: string): Promise<void> {
    const lease = await this.parts.stores.leases.get(tx, principal.organisation, id);
    if (lease !== null && principal.teams !== null && !principal.teams.includes(lease.team))
      throw missing(`lease ${id} does not exist`);
  }
}
