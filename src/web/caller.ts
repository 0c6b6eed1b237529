/**
 * Who calls, and what that caller may see and do.
 *
 * Found from the key, or from a browser's session, before a body is read. A key that is restricted to teams sees these
 * teams and those below them, and nothing about all teams at once.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import { actorText, principalText, type Actor } from '../core/actor.js';
import { denied } from '../core/errors.js';
import { rolesWith, type Scope } from '../core/scopes.js';
import type { Principal } from '../store/access/keys.js';
import type { SpreadCount } from '../store/usage/delivery.js';
import type { Knock, RouteFacts } from './endpoint.js';
import type { Gate } from './gate.js';
import type { SessionDesk } from './session-desk.js';
import { NO_SIGN_IN } from './sign-in.js';
import type { WebParts } from './parts.js';
import { Refusal } from './problem.js';
import { checkSameSite, readCookie } from './session-cookie.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on open routes, without a key. */
    principal: Principal | null;
    /** Without a principal: the key is valid, or it could not be checked in time. */
    mayBeWhole: boolean;
    /** Milliseconds that the check took. */
    knockedMilliseconds: number;
    /** SHA-256 of the body, where an Idempotency-Key needs it. */
    bodyDigest: Buffer | null;
    /** The answer is that of an earlier request with the same Idempotency-Key. */
    repeated: boolean;
  }

  interface FastifyInstance {
    gate: Gate;
    sessions: SessionDesk;
  }
}

/** A request of a known caller. */
export interface Caller {
  readonly principal: Principal;
  readonly request: FastifyRequest;
}

/** For the audit: the key, or the user of the identity provider. */
export const actorOf = ({ principal }: Pick<Caller, 'principal'>): string => actorText(actor(principal));

/** Its id, which does not change with its name. */
export const principalOf = (principal: Principal): string => principalText(actor(principal));

const actor = ({ id, name, isUser, isAdministrator }: Principal): Actor => ({
  kind: isAdministrator === true ? 'cli' : isUser === true ? 'user' : 'key',
  id,
  name,
});

/** Counts the hours over which this caller's usage is spread. */
export const spreadOf =
  ({ principal, request }: Caller): SpreadCount =>
  (hours) =>
    request.server.gate.spread(principal, hours);

/** The caller of a route that needs a key. */
export const Calling = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  if (request.principal === null) throw new Error('broken invariant: a route that needs its caller is not open');
  return { principal: request.principal, request };
});

/** The key in an Authorization header, or null. */
export const bearerOf = ({ headers }: FastifyRequest): string | null =>
  /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;

/** The owner of a key, wherever the request carries it. @throws Refusal 429 after too many wrong keys */
export const authenticate = (
  request: FastifyRequest,
  { stores, clock }: Pick<WebParts, 'stores' | 'clock'>,
  text: string,
): Promise<Principal | null> => request.server.gate.authenticate(stores.keys, text, request.ip, clock.now());

/** Why somebody without a scope is refused. */
export const scopeRefusal = ({ scopes }: Principal, scope: Scope): string =>
  `this needs the scope ${scope}, which the role ${rolesWith(scope)} has; this key has ${scopes.join(', ') || 'none'}`;

/** Name of the cookie that holds a session. */
export const SESSION_COOKIE = 'session';

/**
 * By a key where one is sent, otherwise by a session. A session alone is not enough for a change that another site may
 * have caused.
 */
async function callerOf(request: FastifyRequest, parts: WebParts): Promise<Principal | null> {
  if (request.headers.authorization !== undefined) {
    const key = bearerOf(request);
    return key === null ? null : authenticate(request, parts, key);
  }
  const session = readCookie(request, parts.signIn ?? NO_SIGN_IN, SESSION_COOKIE);
  if (session === null) return null;
  const principal = await request.server.sessions.authenticate(session);
  if (principal !== null) checkSameSite(request);
  return principal;
}

/**
 * Admits or refuses a request before its body is read.
 * @throws Refusal 401 without a valid key or session, Failure denied where the key's scopes or teams do not suffice.
 */
export async function admit(request: FastifyRequest, facts: RouteFacts, parts: WebParts): Promise<void> {
  const { gate } = request.server;
  if (facts.access === 'open') {
    if (parts.administrator !== undefined) return;
    if (facts.knock !== null) return gate.pass(await knock(request, facts.knock, parts), request.ip);
    // An open route shows more with a key; an invalid key counts as none.
    if (!facts.checksKey) request.principal = await callerOf(request, parts).catch(() => null);
    if (!facts.isProbe) gate.pass(request.principal, request.ip);
    return;
  }
  if (parts.administrator !== undefined) {
    request.principal = parts.administrator.principal;
    return;
  }
  const principal = await callerOf(request, parts);
  gate.pass(principal, request.ip);
  if (principal === null) {
    const { authorization, cookie } = request.headers;
    throw new Refusal(
      401,
      authorization !== undefined
        ? 'the API key is unknown, revoked, expired or not a key'
        : cookie === undefined
          ? 'an API key is needed: Authorization: Bearer <key>'
          : 'nobody is signed in, or the session is over: sign in, or send Authorization: Bearer <key>',
    );
  }
  // From here on a refusal can name the caller.
  request.principal = principal;
  if (facts.access !== 'known' && !principal.scopes.includes(facts.access))
    throw denied(scopeRefusal(principal, facts.access));
  if (facts.allTeams && principal.teams !== null)
    throw denied('this concerns all teams; this key is restricted to some');
  if (facts.writes && (facts.access === 'read' || facts.access === 'known')) gate.ownChange(principal);
}

/**
 * Finds the caller; null where unknown, and the route decides. The whole body is taken with a valid key, or where the
 * key cannot be checked in time.
 */
async function knock(request: FastifyRequest, ask: Knock, parts: WebParts): Promise<Principal | null> {
  const { key, milliseconds } = ask(request);
  if (key === null) return null;
  const began = performance.now();
  const timer = new AbortController();
  try {
    const found = await Promise.race([
      authenticate(request, parts, key),
      sleep(milliseconds, 'late' as const, { signal: timer.signal }),
    ]);
    request.mayBeWhole = found !== null;
    return found === 'late' ? null : found;
  } catch (error) {
    request.mayBeWhole = !(error instanceof Refusal);
    return null;
  } finally {
    timer.abort();
    request.knockedMilliseconds = performance.now() - began;
  }
}

/** @throws Failure denied where the key is restricted to other teams. */
export function checkTeam({ principal }: Caller, team: string): void {
  if (!sees(principal, team)) throw denied(`this key may not use the team ${team}`);
}

export const sees = (principal: Principal, team: string): boolean =>
  principal.teams === null || principal.teams.includes(team);
