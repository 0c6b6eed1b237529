/**
 * Who calls, and what that caller may see and do.
 *
 * Made from the key before a body is read. A key that is restricted to teams sees these teams and those below them, and
 * nothing that tells of all teams at once.
 */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { denied } from '../core/errors.js';
import { ROLES, type KeyStore, type Principal } from '../store/keys.js';
import type { RouteFacts } from './endpoint.js';
import { Refusal } from './problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on open routes, without a key. */
    principal: Principal | null;
    /** SHA-256 of the body, where an Idempotency-Key needs it. */
    bodyDigest: Buffer | null;
    /** The answer is that of an earlier request with the same Idempotency-Key. */
    repeated: boolean;
  }
}

/** A request of somebody who is known. */
export interface Caller {
  readonly principal: Principal;
  readonly request: FastifyRequest;
}

/** For the audit: which key did it. */
export const actorOf = ({ principal }: Caller): string => `key:${principal.id} (${principal.name})`;

/** The caller of a route that needs a key. */
export const Calling = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  if (request.principal === null) throw new Error('broken invariant: a route that needs its caller is not open');
  return { principal: request.principal, request };
});

/** The key in an Authorization header, or null. */
async function principalOf(header: string | undefined, keys: KeyStore): Promise<Principal | null> {
  const text = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
  return text === undefined ? null : keys.authenticate(text);
}

/**
 * Lets a request in, or not: runs before the body is read.
 * @throws Refusal 401 without a key that holds, Failure denied where the key's role or teams do not reach.
 */
export async function admit(request: FastifyRequest, facts: RouteFacts, keys: KeyStore): Promise<void> {
  const { authorization } = request.headers;
  if (facts.access === 'open') {
    // An open route tells more to a key; a key that does not hold is as none.
    if (authorization !== undefined) request.principal = await principalOf(authorization, keys).catch(() => null);
    return;
  }
  const principal = await principalOf(authorization, keys);
  if (principal === null) {
    throw new Refusal(401, authorization === undefined ? 'an API key is needed: Authorization: Bearer <key>' : 'the API key is unknown, revoked or not a key');
  }
  if (ROLES.indexOf(principal.role) < ROLES.indexOf(facts.access)) {
    throw denied(`this needs a key with the role ${facts.access}; this key has the role ${principal.role}`);
  }
  if (facts.allTeams && principal.teams !== null) throw denied('this concerns all teams; this key is restricted to some');
  request.principal = principal;
}

/** @throws Failure denied where the key is restricted to other teams. */
export function checkTeam({ principal }: Caller, team: string): void {
  if (!sees(principal, team)) throw denied(`this key is not for the team ${team}`);
}

export const sees = (principal: Principal, team: string): boolean => principal.teams === null || principal.teams.includes(team);
