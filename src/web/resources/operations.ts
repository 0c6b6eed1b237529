/** /v1/audit and /v1/work: who did what, and which work is parked with its reason. Read-only. */
import { Controller, Header } from '@nestjs/common';
import { z } from 'zod';
import { parseInstant } from '../../core/time.js';
import type { AuditCheck, AuditEntry } from '../../store/audit.js';
import type { ParkedWork } from '../../store/work.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import {
  pageOf,
  pageOfAll,
  pageQuery,
  pageQuerySchema,
  pageSchema,
  rowId,
  type Page,
  type PageQuery,
} from '../pages.js';
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

const auditQuerySchema = z.strictObject({
  ...pageQuery,
  actor: z.string().min(1).max(500).optional().describe('In full, or without the name: `key:0a1b2c3d4e5f`'),
  verb: z.string().min(1).max(100).optional().describe('`key.create`'),
  target: z.string().min(1).max(500).optional(),
  from: z.iso.datetime().optional(),
  to: z.iso.datetime().optional().describe('Before this'),
});

const checkQuerySchema = z.strictObject({
  head: z
    .string()
    .regex(/^\d{1,18}:[0-9a-f]{64}$/, 'is not <seq>:<hash>')
    .optional()
    .describe('`<seq>:<hash>` of an earlier check: it must still be in the chain'),
});

const exportQuerySchema = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,18}$/, 'is not a seq')
    .default('0')
    .describe('The last `seq` that you already have'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
});

const checkSchema = z
  .strictObject({
    holds: z.boolean(),
    entries: z.int(),
    since: z
      .strictObject({ seq: z.string(), hash: z.string(), droppedAt: z.iso.datetime() })
      .nullable()
      .describe('The last entry that was dropped by age: the chain is verified from there. Null: none was'),
    head: z.strictObject({ seq: z.string(), hash: z.string() }).nullable(),
    problems: z
      .array(z.strictObject({ seq: z.string().nullable(), entry: z.string(), message: z.string() }))
      .describe('The first hundred'),
  })
  .meta({ id: 'AuditCheck' });

const parkedSchema = z
  .strictObject({ stage: z.string(), key: z.string(), attempts: z.int(), reason: z.string() })
  .meta({ id: 'ParkedWork', description: 'Work that failed too often; it continues when something enqueues it again' });

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
    @QueryInput(auditQuerySchema) { actor, verb, target, from, to, ...page }: z.infer<typeof auditQuerySchema>,
  ): Promise<Page<AuditEntry>> {
    const instant = (text: string | undefined): number | undefined => parseInstant(text ?? '') ?? undefined;
    const filter = { actor, verb, target, from: instant(from), to: instant(to) };
    return pageOf(
      page,
      (item) => item.id,
      (after, limit) => this.parts.stores.audit.list(principal.organisation, rowId(after), limit, filter),
    );
  }

  @Endpoint('GET /v1/audit/verification', {
    summary: 'Check that the audit is whole and unchanged',
    description: 'Recomputes the hash of every entry.',
    access: 'admin',
    answer: checkSchema,
  })
  async verify(
    @Calling() { principal }: Caller,
    @QueryInput(checkQuerySchema) { head }: z.infer<typeof checkQuerySchema>,
  ): Promise<AuditCheck> {
    const [seq = '', hash = ''] = head?.split(':') ?? [];
    return this.parts.stores.audit.check(principal.organisation, head === undefined ? null : { seq, hash });
  }

  @Endpoint('GET /v1/audit/export', {
    summary: 'Entries in the order of their chain, one JSON object per line',
    description:
      'Each line has `seq`, `hash` and `text`, the JSON text that was hashed. A collector continues after the last `seq`.',
    access: 'admin',
    answer: { media: 'application/x-ndjson' },
  })
  @Header('content-type', 'application/x-ndjson; charset=utf-8')
  async export(
    @Calling() { principal }: Caller,
    @QueryInput(exportQuerySchema) { after, limit }: z.infer<typeof exportQuerySchema>,
  ): Promise<string> {
    const entries = await this.parts.stores.audit.sealed(principal.organisation, after, limit);
    return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
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
