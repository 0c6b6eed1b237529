/**
 * /v1/waiting and /v1/search: data for the dashboard's header on every page. Read-only, and shows nothing that the
 * lists do not.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { search, SEARCHED_KINDS, waitingFor, type Found, type Waiting } from '../../store/search.js';
import { Calling, type Caller } from '../caller.js';
import { Endpoint, QueryInput } from '../endpoint.js';
import { InjectParts, type WebParts } from '../parts.js';
import { isFor } from './policies.js';

const MOST = 20;
const count = z.int().min(0);
const waitingSchema = z
  .strictObject({
    recommendations: count.describe('Open'),
    actions: count.describe('Proposed: they wait for approval'),
    alerts: count.describe('Open: they wait for an answer'),
    findings: count.describe('Differences between bills and metered usage that are open'),
  })
  .meta({ id: 'Waiting' });
const querySchema = z.strictObject({
  words: z.string().trim().min(1).max(200).describe('A part of an id or a name, in upper or lower case'),
  most: z.coerce.number().int().min(1).max(MOST).default(5).describe('Results of each kind'),
});
const foundSchema = z
  .strictObject({
    items: z.array(
      z.strictObject({
        kind: z.enum([...SEARCHED_KINDS, 'document']),
        id: z.string(),
        name: z.string(),
        team: z.string().nullable().describe('Null: a policy document, which may apply to several teams'),
        state: z.string().nullable().describe('Of an action or a recommendation'),
      }),
    ),
  })
  .meta({ id: 'Found' });
type Item = Omit<Found, 'kind' | 'team'> & { readonly kind: Found['kind'] | 'document'; readonly team: string | null };

@Controller()
export class SearchController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/waiting', {
    summary: 'How much waits for a person',
    description: 'A key that is restricted to teams counts these teams only.',
    access: 'read',
    answer: waitingSchema,
  })
  async waiting(@Calling() { principal }: Caller): Promise<Waiting> {
    return waitingFor(this.parts.stores.db, principal.organisation, principal.teams);
  }

  @Endpoint('GET /v1/search', {
    summary: 'Find teams, budgets, targets, actions, recommendations and policy documents by id or name',
    description:
      'By kind; within a kind exact matches come first, then names that begin with the text. A key that is restricted to teams finds only what belongs to these teams.',
    access: 'read',
    answer: foundSchema,
  })
  async search(
    @Calling() caller: Caller,
    @QueryInput(querySchema) { words, most }: z.infer<typeof querySchema>,
  ): Promise<{ readonly items: readonly Item[] }> {
    const { stores, policies = [] } = this.parts;
    const { organisation, teams } = caller.principal;
    const [found, documents] = await Promise.all([
      search(stores.db, organisation, { words, teams, most }),
      stores.policies.list(stores.db, organisation, policies),
    ]);
    const sought = words.toLowerCase();
    const named = documents
      .filter((one) => isFor(caller, one) && [one.name, one.policy].some((text) => text.toLowerCase().includes(sought)))
      .slice(0, most)
      .map(
        ({ name, policy }): Item => ({
          kind: 'document',
          id: name,
          name: name === policy ? name : `${name} (${policy})`,
          team: null,
          state: null,
        }),
      );
    return { items: [...found, ...named] };
  }
}
