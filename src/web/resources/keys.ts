/** /v1/keys: API keys. Admins only. A key's text is only in the answer that made or rotated it. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { CUSTOM_ROLE, ROLES, SCOPES } from '../../core/scopes.js';
import { formatInstant, parseInstant } from '../../core/time.js';
import { MOST_OVERLAP_MS, type StoredKey } from '../../store/access/keys.js';
import { Calling, principalOf, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';
import { teamId } from './teams.js';

const DAY_SECONDS = 86_400;
const keyId = z.string().regex(/^[0-9a-f]{12}$/, 'is not the id of a key');

const requestSchema = z
  .strictObject({
    name: z.string().min(1).max(200),
    role: z
      .union([z.enum(ROLES), z.string().regex(CUSTOM_ROLE)], {
        error: `is none of ${ROLES.join(', ')} and no custom:<name>`,
      })
      .nullish()
      .describe(
        'admin: everything; operator: writes usage, prices, budgets, decisions; viewer: reads; or a custom role',
      ),
    scopes: z.array(z.enum(SCOPES)).min(1).nullish().describe('Instead of a role: these scopes and no others'),
    teams: z.array(teamId).min(1).max(1000).nullish().describe('Only these teams and those below them; absent: all'),
    owner: z
      .string()
      .min(1)
      .max(200)
      .nullish()
      .describe(
        'Who is responsible for it: a person or a group; absent: whoever is signed in. The key is revoked when SCIM closes the account of this userName, externalId, address or user:<subject>',
      ),
    expiresAt: z.iso.datetime().nullish().describe('It expires then; absent: never'),
  })
  .meta({ id: 'KeyRequest' });

const rotationSchema = z
  .strictObject({
    overlapSeconds: z
      .int()
      .min(0)
      .max(MOST_OVERLAP_MS / 1000)
      .default(DAY_SECONDS)
      .describe('How long the old secret is accepted too; 0: not at all'),
  })
  .meta({ id: 'KeyRotation' });

const keySchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: z.string().nullable().describe('Null: it has individual scopes'),
    scopes: z.array(z.enum(SCOPES)).describe('What it may do now'),
    teams: z.array(z.string()).nullable(),
    owner: z.string().nullable(),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable(),
    previousUntil: z.iso
      .datetime()
      .nullable()
      .describe('Until when the secret before the last rotation is accepted too'),
  })
  .meta({ id: 'Key' });

const createdSchema = z
  .strictObject({
    ...keySchema.shape,
    text: z
      .string()
      .nullable()
      .describe('The key itself, shown only once; null if the answer is repeated under its Idempotency-Key'),
  })
  .meta({ id: 'CreatedKey' });

type Created = StoredKey & { text: string | null };

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

  @Endpoint('POST /v1/keys', { summary: 'Create a key', access: 'admin', writes: true, answer: createdSchema })
  async create(
    @Calling() caller: Caller,
    @JsonBody(requestSchema) { expiresAt, ...body }: z.infer<typeof requestSchema>,
  ): Promise<Created> {
    const { stores, clock } = this.parts;
    // The key's creator owns it, unless they name another owner.
    const owner = body.owner ?? (caller.principal.isUser === true ? principalOf(caller.principal) : null);
    const request = { ...body, owner, teams: body.teams ?? null, expiresAt: parseInstant(expiresAt ?? '') };
    return write<Created>(stores, caller, 'key.create', async (tx) => {
      const created = await stores.keys.create(tx, caller.principal.organisation, request, clock.now());
      const { text: _, ...detail } = created;
      return { body: created, kept: { ...created, text: null }, target: created.id, detail };
    });
  }

  @Endpoint('POST /v1/keys/:id/rotate', {
    summary: 'Give a key a new secret',
    description:
      'Its id, name, scopes and teams stay. The old secret is accepted until the overlap is over; sessions that were opened with the key end.',
    access: 'admin',
    writes: true,
    answer: createdSchema,
  })
  async rotate(
    @Calling() caller: Caller,
    @PathInput('id', keyId) id: string,
    @JsonBody(rotationSchema) { overlapSeconds }: z.infer<typeof rotationSchema>,
  ): Promise<Created> {
    const { stores, clock } = this.parts;
    const now = clock.now();
    const rotated = await write<Created>(stores, caller, 'key.rotate', async (tx) => {
      const key = await stores.keys.rotate(tx, caller.principal.organisation, id, overlapSeconds * 1000, now);
      const detail = { previousUntil: overlapSeconds === 0 ? null : formatInstant(now + overlapSeconds * 1000) };
      return { body: key, kept: { ...key, text: null }, target: id, detail };
    });
    this.forget();
    return rotated;
  }

  @Endpoint('DELETE /v1/keys/:id', {
    summary: 'Revoke a key',
    description: 'It is refused within five seconds everywhere.',
    access: 'admin',
    writes: true,
    answer: keySchema,
  })
  async revoke(@Calling() caller: Caller, @PathInput('id', keyId) id: string): Promise<StoredKey> {
    const { stores, clock } = this.parts;
    const revoked = await write(stores, caller, 'key.revoke', async (tx) => ({
      body: await stores.keys.revoke(tx, caller.principal.organisation, id, clock.now()),
      target: id,
    }));
    this.forget();
    return revoked;
  }

  private forget(): void {
    this.parts.stores.keys.forget();
    this.parts.stores.sessions.forget();
  }
}
