/** /v1/audit and /v1/work: who did what, and which work is parked with its reason. Reads only. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import type { AuditEntry } from '../../store/audit.js';
import type { ParkedWork } from '../../store/work.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { pageOf, pageOfAll, pageQuerySchema, pageSchema, rowId, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';

const entrySchema = z
  .strictObject({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    verb: z.string(),
    target: z.string(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntry' });

const parkedSchema = z
  .strictObject({ stage: z.string(), key: z.string(), attempts: z.int(), reason: z.string() })
  .meta({ id: 'ParkedWork', description: 'Work that failed too often; it goes on when something wakes it again' });

@Controller()
export class OperationsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/audit', {
    summary: 'List what was done, newest first',
    access: 'admin',
    answer: pageSchema(entrySchema),
  })
  async audit(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<AuditEntry>> {
    return pageOf(
      query,
      (item) => item.id,
      (after, limit) => this.parts.stores.audit.list(principal.organisation, rowId(after), limit),
    );
  }

  @Endpoint('GET /v1/work', {
    summary: 'List parked work',
    description: 'The first 1000 keys.',
    access: 'read',
    allTeams: true,
    answer: pageSchema(parkedSchema),
  })
  async work(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<ParkedWork>> {
    return pageOfAll(
      query,
      await this.parts.stores.work.parked(principal.organisation),
      (item) => `${item.stage}/${item.key}`,
    );
  }
}
