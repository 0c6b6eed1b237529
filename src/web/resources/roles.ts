/** /v1/roles: named sets of scopes: three that every organisation has, and its own. Admins only. */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { CUSTOM_ROLE, SCOPES } from '../../core/scopes.js';
import type { StoredRole } from '../../store/access/roles.js';
import { actorOf, Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOfAll, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const roleName = z
  .string()
  .regex(CUSTOM_ROLE, 'is not custom: followed by lower-case letters, digits and hyphens')
  .describe('`custom:buyer`');

const requestSchema = z
  .strictObject({
    scopes: z.array(z.enum(SCOPES)).min(1).describe('All but admin'),
    description: z.string().max(500).nullish(),
  })
  .meta({ id: 'RoleRequest' });

const roleSchema = z
  .strictObject({
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    description: z.string().nullable(),
    updatedAt: z.iso.datetime().nullable().describe('Null: a role that every organisation has'),
    updatedBy: z.string().nullable(),
  })
  .meta({ id: 'Role' });

@Controller()
export class RolesController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/roles', { summary: 'List roles', access: 'admin', answer: pageSchema(roleSchema) })
  async list(
    @Calling() { principal }: Caller,
    @QueryInput(pageQuerySchema) query: PageQuery,
  ): Promise<Page<StoredRole>> {
    return pageOfAll(query, await this.parts.stores.roles.list(principal.organisation), ({ name }) => name);
  }

  @Endpoint('PUT /v1/roles/:name', {
    summary: 'Set a custom role',
    description: 'It takes effect within five seconds for keys and sessions that have it.',
    access: 'admin',
    writes: true,
    answer: roleSchema,
  })
  async save(
    @Calling() caller: Caller,
    @PathInput('name', roleName) name: string,
    @JsonBody(requestSchema) { scopes, description = null }: z.infer<typeof requestSchema>,
  ): Promise<StoredRole> {
    const { stores, clock } = this.parts;
    const saved = await write(stores, caller, 'role.save', async (tx) => {
      const request = { name, scopes, description };
      const { organisation } = caller.principal;
      const { role, changed } = await stores.roles.save(tx, organisation, request, actorOf(caller), clock.now());
      return { body: role, target: name, detail: { scopes: role.scopes, description }, changedNothing: !changed };
    });
    this.forget();
    return saved;
  }

  @Endpoint('DELETE /v1/roles/:name', {
    summary: 'Remove a custom role',
    description: 'Refused while keys have it. People who have it through the identity provider lose its rights.',
    access: 'admin',
    writes: true,
    answer: roleSchema,
  })
  async remove(@Calling() caller: Caller, @PathInput('name', roleName) name: string): Promise<StoredRole> {
    const { stores } = this.parts;
    const removed = await write(stores, caller, 'role.remove', async (tx) => ({
      body: await stores.roles.remove(tx, caller.principal.organisation, name),
      target: name,
    }));
    this.forget();
    return removed;
  }

  private forget(): void {
    this.parts.stores.keys.forget();
    this.parts.stores.sessions.forget();
  }
}
