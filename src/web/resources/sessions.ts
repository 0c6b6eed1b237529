/**
 * /v1/sessions and /v1/me/sessions: who is signed in to the dashboard, from where, and ending a session. Any known
 * caller lists and ends their own; those of others need the scope admin.
 */
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { principalFrom, principalText } from '../../core/actor.js';
import { invalid } from '../../core/errors.js';
import type { SessionOwner, StoredSession } from '../../store/access/session-list.js';
import { sessionId } from '../../store/access/sessions.js';
import { Calling, SESSION_COOKIE, type Caller } from '../caller.js';
import { Endpoint, JsonBody, PathInput, QueryInput } from '../endpoint.js';
import { pageOf, pageQuery, pageQuerySchema, pageSchema, type Page, type PageQuery } from '../pages.js';
import { InjectParts, type WebParts } from '../parts.js';
import { readCookie } from '../session-cookie.js';
import { write } from '../writes.js';

const idSchema = z.string().regex(/^[0-9a-f]{16}$/, 'is not the id of a session');
const ofSchema = z
  .string()
  .min(1)
  .max(2000)
  .describe('`user:ada` or `key:0a1b2c3d4e5f`, as the list and the audit say');

const sessionSchema = z
  .strictObject({
    id: z.string(),
    principal: z.string().describe('Whose: `user:<subject>`, or `key:<id>` where it was opened with a key'),
    name: z.string(),
    startedAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().describe('To the minute'),
    endsAt: z.iso.datetime().describe('Where it is not used again'),
    address: z.string().nullable().describe('Where it was opened from'),
    agent: z.string().nullable().describe('What the browser called itself'),
    isCurrent: z.boolean().describe('It is the session of this request'),
  })
  .meta({ id: 'StandingSession' });

const listQuerySchema = z.strictObject({ ...pageQuery, of: ofSchema.optional() });
const endSchema = z.strictObject({ of: ofSchema }).meta({ id: 'SessionsEnd' });
const endedSchema = z.strictObject({ ended: z.array(z.string()) }).meta({ id: 'EndedSessions' });

type Listed = StoredSession & { readonly isCurrent: boolean };
interface Ended {
  readonly ended: string[];
}

@Controller()
export class SessionsController {
  constructor(@InjectParts() private readonly parts: WebParts) {}

  @Endpoint('GET /v1/sessions', {
    summary: 'List who is signed in',
    access: 'admin',
    answer: pageSchema(sessionSchema),
  })
  async list(
    @Calling() caller: Caller,
    @QueryInput(listQuerySchema) { of, ...query }: z.infer<typeof listQuerySchema>,
  ): Promise<Page<Listed>> {
    return this.page(caller, query, of === undefined ? null : ownerIn(of));
  }

  @Endpoint('DELETE /v1/sessions/:id', {
    summary: "End anybody's session",
    description: 'It is refused within five seconds everywhere.',
    access: 'admin',
    writes: true,
    answer: endedSchema,
  })
  async end(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<Ended> {
    return this.ended(caller, id, null);
  }

  @Endpoint('POST /v1/sessions/end', {
    summary: 'End all sessions of somebody',
    description: 'They can sign in again unless you first revoke the key or close the account at the provider.',
    access: 'admin',
    writes: true,
    answer: endedSchema,
  })
  async endAll(@Calling() caller: Caller, @JsonBody(endSchema) { of }: z.infer<typeof endSchema>): Promise<Ended> {
    return this.allEnded(caller, ownerIn(of), null);
  }

  @Endpoint('GET /v1/me/sessions', {
    summary: 'List your own sessions',
    access: 'known',
    answer: pageSchema(sessionSchema),
  })
  async own(@Calling() caller: Caller, @QueryInput(pageQuerySchema) query: PageQuery): Promise<Page<Listed>> {
    const owner = ownerOf(caller);
    return owner === null ? { items: [], nextCursor: null } : this.page(caller, query, owner);
  }

  @Endpoint('DELETE /v1/me/sessions/:id', {
    summary: 'End one of your own sessions',
    access: 'known',
    writes: true,
    answer: endedSchema,
  })
  async endOwn(@Calling() caller: Caller, @PathInput('id', idSchema) id: string): Promise<Ended> {
    return this.ended(caller, id, ownerOf(caller) ?? { kind: 'user', id: '' });
  }

  @Endpoint('POST /v1/me/sessions/end', {
    summary: 'End your own sessions except that of this request',
    access: 'known',
    writes: true,
    answer: endedSchema,
  })
  async endOthers(@Calling() caller: Caller): Promise<Ended> {
    const owner = ownerOf(caller);
    return owner === null ? { ended: [] } : this.allEnded(caller, owner, this.current(caller));
  }

  private async page(caller: Caller, query: PageQuery, owner: SessionOwner | null): Promise<Page<Listed>> {
    const { stores, clock } = this.parts;
    const { organisation } = caller.principal;
    const { rules } = caller.request.server.sessions;
    const current = this.current(caller);
    const page = await pageOf<StoredSession>(
      query,
      ({ id }) => id,
      (after, limit) => stores.sessionList.list(organisation, owner, { after, limit }, clock.now(), rules),
    );
    return { ...page, items: page.items.map((one) => ({ ...one, isCurrent: one.id === current })) };
  }

  /** The asking session; null: the caller used a key. */
  private current({ request }: Caller): string | null {
    if (request.headers.authorization !== undefined) return null;
    const text = readCookie(request, request.server.sessions.settings, SESSION_COOKIE);
    return text === null ? null : sessionId(text);
  }

  private async ended(caller: Caller, id: string, owner: SessionOwner | null): Promise<Ended> {
    const { stores } = this.parts;
    const done = await write<Ended>(stores, caller, 'session.end', async (tx) => {
      await stores.sessionList.end(tx, caller.principal.organisation, id, owner);
      return { body: { ended: [id] }, target: id };
    });
    stores.sessions.forget();
    return done;
  }

  private async allEnded(caller: Caller, owner: SessionOwner, but: string | null): Promise<Ended> {
    const { stores } = this.parts;
    const done = await write<Ended>(stores, caller, 'session.end', async (tx) => {
      const ended = await stores.sessionList.endAll(tx, caller.principal.organisation, owner, but);
      return { body: { ended }, target: principalText(owner), detail: { ended }, changedNothing: ended.length === 0 };
    });
    stores.sessions.forget();
    return done;
  }
}

/** Null: the command line on the database itself, which has no sessions. */
function ownerOf({ principal }: Caller): SessionOwner | null {
  if (principal.isAdministrator === true) return null;
  return { kind: principal.isUser === true ? 'user' : 'key', id: principal.id };
}

/** @throws Failure invalid where the text is not that of a principal. */
function ownerIn(text: string): SessionOwner {
  const owner = principalFrom(text);
  if (owner === null || owner.kind === 'cli')
    throw invalid('the request has 1 problem(s)', [
      { path: 'of', message: 'is neither user:<subject> nor key:<id>, as in the list and the audit' },
    ]);
  return { kind: owner.kind, id: owner.id };
}
