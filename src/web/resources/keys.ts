/** /v1/keys: API keys. Admins only. A key's text is in the answer that made it, and nowhere else. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { ROLES, type StoredKey } from '../../store/access/keys.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { teamId } from './teams.js';

const requestSchema = z
  .strictObject({
    name: z.string().min(1).max(200),
    role: z
      .enum(ROLES)
      .describe('admin: everything; operator: writes usage, prices, budgets, decisions; viewer: reads'),
    teams: z.array(teamId).min(1).max(1000).nullish().describe('Only these teams and those below them; absent: all'),
  })
  .meta({ id: 'KeyRequest' });

const keySchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    teams: z.array(z.string()).nullable(),
    createdAt: z.iso.datetime(),
    revokedAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Key' });

const createdSchema = z
  .strictObject({
    ...keySchema.shape,
    text: z
      .string()
      .nullable()
      .describe('The key itself, shown this once; null where the answer is repeated under its Idempotency-Key'),
  })
  .meta({ id: 'CreatedKey' });

@Controller()
export class KeysController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/keys', { summary: 'List keys', access: 'admin', answer: pageSchema(keySchema) })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredKey>> {
    return pageOf(
      query,
      (item) => item.id,
      (after, limit) => this.parts.stores.keys.list(principal.organisation, after, limit),
    );
  }

  @Endpoint('POST /v1/keys', { summary: 'Make a key', access: 'admin', writes: true, answer: createdSchema })
  async create(
    @Calling() caller: Caller,
    @JsonBody(requestSchema) body: z.infer<typeof requestSchema>,
  ): Promise<StoredKey & { text: string | null }> {
    const { stores } = this.parts;
    const request = { ...body, teams: body.teams ?? null };
    return write<StoredKey & { text: string | null }>(stores, caller, 'key.create', async (tx) => {
      const created = await stores.keys.create(tx, caller.principal.organisation, request);
      return { body: created, kept: { ...created, text: null }, target: created.id, detail: request };
    });
  }

  @Endpoint('DELETE /v1/keys/:id', {
    summary: 'Revoke a key',
    description: 'It is refused within five seconds everywhere.',
    access: 'admin',
    writes: true,
    answer: keySchema,
  })
  async revoke(
    @Calling() caller: Caller,
    @PathInput('id', z.string().regex(/^[0-9a-f]{12}$/, 'is not the id of a key')) id: string,
  ): Promise<StoredKey> {
    const { stores } = this.parts;
    const revoked = await write(stores, caller, 'key.revoke', async (tx) => ({
      body: await stores.keys.revoke(tx, caller.principal.organisation, id),
      target: id,
    }));
    stores.keys.forget();
    stores.sessions.forget();
    return revoked;
  }
}
