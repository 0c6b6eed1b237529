/**
 * /scim/v2: people and groups from an identity provider (SCIM 2.0, RFC 7643 and RFC 7644), with a key that has the
 * scope `scim`. A closed or removed account loses its sessions and keys.
 *
 * Errors are in SCIM's own form (problem.ts). It covers the requests of Okta and Microsoft Entra ID.
 */
import { Controller, Header, Logger } from '@nestjs/common';
import { z } from 'zod';
import { deprovision } from '../../application/access/provision.js';
import { missing } from '../../core/errors.js';
import type { DirectoryGroup, DirectoryUser } from '../../store/access/directory.js';
import type { Transaction } from '../../store/database.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { isSecure } from '../session-cookie.js';
import { patched } from '../scim/patch.js';
import { SCIM_BASE, SCIM_MEDIA } from '../scim/problem.js';
import {
  chosen,
  filterOf,
  groupFields,
  groupResource,
  shownGroup,
  shownUser,
  userFields,
  userResource,
} from '../scim/resource.js';
import { listResponse, MOST_RESULTS, resourceTypes, schemas, serviceProviderConfig } from '../scim/schemas.js';
import { write } from '../writes.js';

const CONTENT = [`content-type`, `${SCIM_MEDIA}; charset=utf-8`] as const;
const READS = { access: 'scim', answer: { media: SCIM_MEDIA } } as const;
const WRITES = { ...READS, writes: true } as const;
const MOST_OPERATIONS = 1000;

const idSchema = z.string().min(1).max(200);
const resourceSchema = z.looseObject({}).meta({ id: 'ScimResource', description: 'RFC 7643' });
const shownSchema = z.strictObject({
  attributes: z.string().max(2000).optional().describe('These alone'),
  excludedAttributes: z.string().max(2000).optional().describe('All but these'),
});
const listSchema = z.strictObject({
  ...shownSchema.shape,
  filter: z.string().max(2000).optional().describe('`userName eq "ada"`: eq, joined by and'),
  startIndex: z.coerce.number().int().default(1).describe('From 1'),
  count: z.coerce.number().int().default(100).describe(`At most ${MOST_RESULTS}`),
});
const patchSchema = z
  .looseObject({
    Operations: z
      .array(
        z.looseObject({ op: z.string().max(50), path: z.string().max(2000).nullish(), value: z.unknown().optional() }),
      )
      .min(1)
      .max(MOST_OPERATIONS),
  })
  .meta({ id: 'ScimPatch', description: 'RFC 7644, section 3.5.2' });

type ListQuery = z.infer<typeof listSchema>;
type Shown = z.infer<typeof shownSchema>;
type Resource = Readonly<Record<string, unknown>>;

@Controller()
export class ScimController {
  private readonly logger = new Logger('scim');

  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /scim/v2/ServiceProviderConfig', { ...READS, summary: 'What this SCIM service can do' })
  @Header(...CONTENT)
  config(@Calling() caller: Caller): Resource {
    return serviceProviderConfig(this.base(caller));
  }

  @Endpoint('GET /scim/v2/ResourceTypes', { ...READS, summary: 'Which kinds of resource it has' })
  @Header(...CONTENT)
  types(@Calling() caller: Caller): Resource {
    const all = resourceTypes(this.base(caller));
    return listResponse(all, all.length);
  }

  @Endpoint('GET /scim/v2/ResourceTypes/:id', { ...READS, summary: 'One kind of resource' })
  @Header(...CONTENT)
  type(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Resource {
    return oneOf(resourceTypes(this.base(caller)), id);
  }

  @Endpoint('GET /scim/v2/Schemas', { ...READS, summary: 'Attributes that are used' })
  @Header(...CONTENT)
  schemas(@Calling() caller: Caller): Resource {
    const all = schemas(this.base(caller));
    return listResponse(all, all.length);
  }

  @Endpoint('GET /scim/v2/Schemas/:id', { ...READS, summary: 'Attributes of one kind of resource' })
  @Header(...CONTENT)
  schema(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Resource {
    return oneOf(schemas(this.base(caller)), id);
  }

  @Endpoint('GET /scim/v2/Users', { ...READS, summary: 'List people' })
  @Header(...CONTENT)
  async users(@Calling() caller: Caller, @QueryInput(listSchema) query: ListQuery): Promise<Resource> {
    const filter = filterOf('User', query.filter);
    const { total, items } = await this.parts.stores.directory.users(org(caller), filter, pageIn(query));
    return this.listed(
      query,
      total,
      items.map((one) => shownUser(one, this.base(caller))),
    );
  }

  @Endpoint('POST /scim/v2/Users', { ...WRITES, summary: 'Add a person', status: 201 })
  @Header(...CONTENT)
  async addUser(@Calling() caller: Caller, @JsonBody(resourceSchema) body: Resource): Promise<Resource> {
    return this.savedUser(caller, 'scim.user.create', null, () => userFields(body, true));
  }

  @Endpoint('GET /scim/v2/Users/:id', { ...READS, summary: 'Get a person' })
  @Header(...CONTENT)
  async user(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @QueryInput(shownSchema) { attributes, excludedAttributes }: Shown,
  ): Promise<Resource> {
    const { directory, db } = this.parts.stores;
    const user = await directory.user(db, org(caller), id);
    return chosen(shownUser(user, this.base(caller)), attributes, excludedAttributes);
  }

  @Endpoint('PUT /scim/v2/Users/:id', { ...WRITES, summary: 'Replace the attributes of a person' })
  @Header(...CONTENT)
  async replaceUser(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @JsonBody(resourceSchema) body: Resource,
  ): Promise<Resource> {
    return this.savedUser(caller, 'scim.user.replace', id, ({ active, attributes }) =>
      userFields(body, active, attributes),
    );
  }

  @Endpoint('PATCH /scim/v2/Users/:id', { ...WRITES, summary: 'Change some attributes of a person' })
  @Header(...CONTENT)
  async patchUser(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @JsonBody(patchSchema) { Operations }: z.infer<typeof patchSchema>,
  ): Promise<Resource> {
    return this.savedUser(caller, 'scim.user.change', id, (user) =>
      userFields(patched(userResource(user), Operations), user.active, user.attributes),
    );
  }

  @Endpoint('DELETE /scim/v2/Users/:id', { ...WRITES, summary: 'Remove a person', status: 204 })
  async removeUser(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<void> {
    const { directory } = this.parts.stores;
    await write(this.parts.stores, caller, 'scim.user.remove', async (tx) => {
      await directory.lock(tx, org(caller));
      const ended = await this.closed(tx, caller, id);
      const { userName } = await directory.removeUser(tx, org(caller), id);
      return { body: null, target: id, detail: { userName, ...ended } };
    });
    this.forget();
  }

  @Endpoint('GET /scim/v2/Groups', { ...READS, summary: 'List groups' })
  @Header(...CONTENT)
  async groups(@Calling() caller: Caller, @QueryInput(listSchema) query: ListQuery): Promise<Resource> {
    const filter = filterOf('Group', query.filter);
    const { total, items } = await this.parts.stores.directory.groups(org(caller), filter, pageIn(query));
    return this.listed(
      query,
      total,
      items.map((one) => shownGroup(one, this.base(caller))),
    );
  }

  @Endpoint('POST /scim/v2/Groups', { ...WRITES, summary: 'Add a group', status: 201 })
  @Header(...CONTENT)
  async addGroup(@Calling() caller: Caller, @JsonBody(resourceSchema) body: Resource): Promise<Resource> {
    return this.savedGroup(caller, 'scim.group.create', null, () => body);
  }

  @Endpoint('GET /scim/v2/Groups/:id', { ...READS, summary: 'Get a group' })
  @Header(...CONTENT)
  async group(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @QueryInput(shownSchema) { attributes, excludedAttributes }: Shown,
  ): Promise<Resource> {
    const { directory, db } = this.parts.stores;
    const group = await directory.group(db, org(caller), id);
    return chosen(shownGroup(group, this.base(caller)), attributes, excludedAttributes);
  }

  @Endpoint('PUT /scim/v2/Groups/:id', { ...WRITES, summary: 'Replace the members of a group' })
  @Header(...CONTENT)
  async replaceGroup(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @JsonBody(resourceSchema) body: Resource,
  ): Promise<Resource> {
    return this.savedGroup(caller, 'scim.group.replace', id, () => body);
  }

  @Endpoint('PATCH /scim/v2/Groups/:id', { ...WRITES, summary: 'Change the members of a group' })
  @Header(...CONTENT)
  async patchGroup(
    @Calling() caller: Caller,
    @PathInput('id', idSchema) id: string,
    @JsonBody(patchSchema) { Operations }: z.infer<typeof patchSchema>,
  ): Promise<Resource> {
    return this.savedGroup(caller, 'scim.group.change', id, (group) => patched(groupResource(group), Operations));
  }

  @Endpoint('DELETE /scim/v2/Groups/:id', { ...WRITES, summary: 'Remove a group', status: 204 })
  async removeGroup(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<void> {
    const { directory } = this.parts.stores;
    await write(this.parts.stores, caller, 'scim.group.remove', async (tx) => {
      await directory.lock(tx, org(caller));
      const { displayName } = await directory.removeGroup(tx, org(caller), id);
      return { body: null, target: id, detail: { displayName } };
    });
    this.forget();
  }

  private async savedUser(
    caller: Caller,
    verb: string,
    id: string | null,
    change: (user: DirectoryUser) => ReturnType<typeof userFields>,
  ): Promise<Resource> {
    const { stores, clock } = this.parts;
    const saved = await write(stores, caller, verb, async (tx) => {
      await stores.directory.lock(tx, org(caller));
      const before = id === null ? NOBODY : await stores.directory.user(tx, org(caller), id);
      const user = await stores.directory.saveUser(tx, org(caller), id, change(before), clock.now());
      const { userName, externalId, active } = user;
      const ended = active ? {} : await this.closed(tx, caller, user.id);
      return { body: user, target: user.id, detail: { userName, externalId, active, ...ended } };
    });
    this.forget();
    return shownUser(saved, this.base(caller));
  }

  private async savedGroup(
    caller: Caller,
    verb: string,
    id: string | null,
    change: (group: DirectoryGroup) => Resource,
  ): Promise<Resource> {
    const { stores, clock } = this.parts;
    const saved = await write(stores, caller, verb, async (tx) => {
      await stores.directory.lock(tx, org(caller));
      const before = id === null ? NO_GROUP : await stores.directory.group(tx, org(caller), id);
      const group = await stores.directory.saveGroup(tx, org(caller), id, groupFields(change(before)), clock.now());
      const [was, is] = [before, group].map(({ members }) => new Set(members.map((one) => one.id)));
      const detail = {
        displayName: group.displayName,
        added: [...(is ?? [])].filter((one) => was?.has(one) !== true),
        removed: [...(was ?? [])].filter((one) => is?.has(one) !== true),
      };
      return { body: group, target: group.id, detail };
    });
    this.forget();
    return shownGroup(saved, this.base(caller));
  }

  /** What was ended, for the audit. */
  private async closed(tx: Transaction, caller: Caller, id: string): Promise<Record<string, unknown>> {
    const ended = await deprovision(this.parts.stores, tx, org(caller), id, this.parts.clock.now());
    if (ended.kept.length > 0)
      this.logger.warn(
        `user ${id} is closed, but key ${ended.kept.join(', ')} is the last one that may create keys and stays valid`,
      );
    return { ended: { ...ended } };
  }

  private listed({ attributes, excludedAttributes, startIndex }: ListQuery, total: number, all: Resource[]): Resource {
    const shown = all.map((one) => chosen(one, attributes, excludedAttributes));
    return listResponse(shown, total, Math.max(1, startIndex));
  }

  private base({ request }: Caller): string {
    const { settings } = request.server.sessions;
    const origin = settings.publicUrl ?? `${isSecure(request, settings) ? 'https' : 'http'}://${request.host}`;
    return new URL(SCIM_BASE, origin).href;
  }

  private forget(): void {
    this.parts.stores.keys.forget();
    this.parts.stores.sessions.forget();
  }
}

const NEVER = { id: '', externalId: null, createdAt: '', updatedAt: '' };
const NOBODY: DirectoryUser = { ...NEVER, userName: '', active: true, attributes: {}, subjects: [], groups: [] };
const NO_GROUP: DirectoryGroup = { ...NEVER, displayName: '', members: [] };

const org = ({ principal }: Caller): string => principal.organisation;

/** A value out of bounds is set to the bound (RFC 7644, section 3.4.2.4). */
const pageIn = ({ startIndex, count }: ListQuery): { offset: number; limit: number } => ({
  offset: Math.min(Math.max(1, startIndex), 1_000_000) - 1,
  limit: Math.min(Math.max(0, count), MOST_RESULTS),
});

function oneOf(all: readonly Resource[], id: string): Resource {
  const found = all.find((one) => one['id'] === id);
  if (found === undefined) throw missing(`${id} does not exist`);
  return found;
}
