/**
 * /v1/cost-views: questions about costs that people save for themselves or share. A view holds only the question; each
 * reader gets the answer that they may see.
 */
import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { flagOf, OF_DIMENSION } from '../../core/cost/spend-query.js';
import { conflict, denied, missing } from '../../core/errors.js';
import type { CostView, ViewReader } from '../../store/cost/views.js';
import { Calling, checkTeam, principalOf, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOfAll, pageQuerySchema, pageSchema, type Page } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { write } from '../writes.js';

const MOST_VIEWS = 200;
/** Parameters of a question: those of /v1/costs/breakdown, and how the explorer shows its answer. */
const WORDS = [
  'from',
  'to',
  'span',
  'group-by',
  'basis',
  'zone',
  'currency',
  'compare',
  'team',
  ...OF_DIMENSION.map(flagOf),
];
const text = z.string().max(200);
const query = z
  .record(
    z.string().refine((word) => WORDS.includes(word), `is not one of ${WORDS.join(', ')}`),
    z.union([text, z.array(text).max(100)]),
  )
  .describe(`Words of the question: ${WORDS.join(', ')}`);
const bodySchema = z
  .strictObject({
    name: z.string().trim().min(1).max(100),
    shared: z.boolean().default(false).describe('Visible to everybody who may see the teams that it names'),
    query,
  })
  .meta({
    id: 'CostViewSettings',
    examples: [{ name: 'GPUs of research', shared: true, query: { 'group-by': 'sku', team: 'research' } }],
  });
const viewSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    owner: z.string().describe('Who made it, by name'),
    isOwn: z.boolean(),
    shared: z.boolean(),
    query: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
    changedAt: z.iso.datetime(),
  })
  .meta({ id: 'CostView' });
type View = z.infer<typeof viewSchema>;
const viewId = z.string().regex(/^view-[0-9a-f]{16}$/, 'is not the id of a view');

@Controller()
export class CostViewsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/cost-views', {
    summary: 'List saved questions about costs',
    description: 'Your own ones, and the shared ones that name only teams that you may see.',
    access: 'read',
    answer: pageSchema(viewSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(pageQuerySchema) page: z.infer<typeof pageQuerySchema>,
  ): Promise<Page<View>> {
    const { stores } = this.parts;
    const all = await stores.costViews.list(stores.db, caller.principal.organisation, readerOf(caller));
    return pageOfAll(page, all.map(shownTo(caller)), ({ name, id }) => `${name}\u0001${id}`);
  }

  @Endpoint('POST /v1/cost-views', {
    summary: 'Save a question about costs',
    access: 'read',
    writes: true,
    answer: viewSchema,
  })
  async add(@Calling() caller: Caller, @JsonBody(bodySchema) body: z.infer<typeof bodySchema>): Promise<View> {
    const { stores } = this.parts;
    checkTeams(caller, body);
    const { id: owner } = readerOf(caller);
    return write(stores, caller, 'cost-view.add', async (tx) => {
      if ((await stores.costViews.countOf(tx, caller.principal.organisation, owner)) >= MOST_VIEWS)
        throw conflict(`you have ${MOST_VIEWS} views: remove one first`);
      return this.saved(tx, caller, { ...body, id: null, owner, ownerName: caller.principal.name });
    });
  }

  @Endpoint('PUT /v1/cost-views/:id', {
    summary: 'Change a saved question',
    description: 'Only its owner may change it.',
    access: 'read',
    writes: true,
    answer: viewSchema,
  })
  async change(
    @Calling() caller: Caller,
    @PathInput('id', viewId) id: string,
    @JsonBody(bodySchema) body: z.infer<typeof bodySchema>,
  ): Promise<View> {
    checkTeams(caller, body);
    return write(this.parts.stores, caller, 'cost-view.change', async (tx) => {
      const now = await this.owned(tx, caller, id);
      const held = { name: now.name, shared: now.shared, query: { ...now.query } };
      if (isDeepStrictEqual({ ...body, query: { ...body.query } }, held))
        return { body: shownTo(caller)(now), target: id, changedNothing: true };
      return this.saved(tx, caller, { ...body, id, owner: now.owner, ownerName: now.ownerName });
    });
  }

  @Endpoint('DELETE /v1/cost-views/:id', {
    summary: 'Remove a saved question',
    description: 'Its owner may remove it; an admin may remove a shared one.',
    access: 'read',
    writes: true,
    answer: z.strictObject({ removed: z.string() }),
  })
  async remove(@Calling() caller: Caller, @PathInput('id', viewId) id: string): Promise<{ removed: string }> {
    const { stores } = this.parts;
    return write(stores, caller, 'cost-view.remove', async (tx) => {
      const { name } = await this.owned(tx, caller, id, caller.principal.scopes.includes('admin'));
      await stores.costViews.remove(tx, caller.principal.organisation, id);
      return { body: { removed: id }, target: id, detail: { name } };
    });
  }

  private async saved(
    tx: Parameters<WebParts['stores']['costViews']['save']>[0],
    caller: Caller,
    view: Parameters<WebParts['stores']['costViews']['save']>[2],
  ): Promise<{ body: View; target: string; detail: { name: string; shared: boolean } }> {
    const { stores, clock } = this.parts;
    const saved = await stores.costViews.save(tx, caller.principal.organisation, view, clock.now());
    return { body: shownTo(caller)(saved), target: saved.id, detail: { name: saved.name, shared: saved.shared } };
  }

  /** @throws Failure missing, or denied where it is somebody else's. */
  private async owned(
    db: Parameters<WebParts['stores']['costViews']['get']>[0],
    caller: Caller,
    id: string,
    mayBeShared = false,
  ): Promise<CostView> {
    const reader = readerOf(caller);
    const view = await this.parts.stores.costViews.get(db, caller.principal.organisation, reader, id);
    if (view === null) throw missing(`view ${id} does not exist`);
    if (view.owner !== reader.id && !mayBeShared)
      throw denied(`view ${id} is ${view.ownerName}'s: save a copy of your own`);
    return view;
  }
}

const readerOf = ({ principal }: Caller): ViewReader => ({ id: principalOf(principal), teams: principal.teams });

const shownTo =
  (caller: Caller) =>
  ({ id, name, owner, ownerName, shared, query: words, changedAt }: CostView): View => ({
    id,
    name,
    owner: ownerName,
    isOwn: owner === readerOf(caller).id,
    shared,
    query: { ...words },
    changedAt,
  });

/** @throws Failure denied where it names a team that its owner may not see. */
function checkTeams(caller: Caller, { query: words }: z.infer<typeof bodySchema>): void {
  for (const team of [words['team'] ?? []].flat()) checkTeam(caller, team);
}
