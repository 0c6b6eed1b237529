/**
 * Calls to the API with the browser's session. A change carries the header that other sites cannot send, and a key that
 * makes a repeat harmless.
 *
 * Keeps no secret: the session is in a cookie that no script can read.
 */
import { signal } from '@preact/signals';
import { ROLES, ROLE_SCOPES, type Scope } from '../../core/scopes.js';
import type { Page, Session } from './answers.js';
import { code } from './format.js';
import { say } from './language.js';

export const session = signal<Session | null>(null);

interface Detail {
  readonly path: string | null;
  readonly message: string;
}

/** The API's error, with every problem. */
export class Trouble extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly problems: readonly Detail[] = [],
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

export const SESSION_HEADER = { 'x-bursar-session': 'dashboard' } as const;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const one of [value].flat()) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The API's error from a text that is problem+json or anything else. */
export function troubleOf(status: number, text: string): Trouble {
  try {
    const problem = JSON.parse(text) as { detail?: string; title?: string; problems?: Detail[]; requestId?: string };
    return new Trouble(
      problem.detail ?? problem.title ?? say('trouble.answered', { status }),
      status,
      problem.problems ?? [],
      problem.requestId ?? null,
    );
  } catch {
    return new Trouble(say('trouble.answered', { status }), status);
  }
}

async function call<T>(method: string, url: string, body?: unknown, halt?: AbortSignal): Promise<T> {
  const writes = method !== 'GET';
  const response = await fetch(url, {
    method,
    credentials: 'same-origin',
    ...(halt === undefined ? {} : { signal: halt }),
    headers: {
      ...(writes ? { ...SESSION_HEADER, 'idempotency-key': crypto.randomUUID() } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    if (halt?.aborted === true) throw error;
    throw new Trouble(say('trouble.unreached'), 0);
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  const trouble = troubleOf(response.status, text);
  // The session is over: the page asks to sign in again.
  if (response.status === 401 && session.value !== null && !url.startsWith('/session'))
    session.value = { ...session.value, signedIn: null };
  throw trouble;
}

export const get = <T>(path: string, query: Query = {}, halt?: AbortSignal): Promise<T> =>
  call('GET', address(path, query), undefined, halt);
export const send = <T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> =>
  call(method, path, body);

/** All items of a list, up to `most`; `more`: there are others. */
export async function list<T>(
  path: string,
  query: Query = {},
  halt?: AbortSignal,
  most = 1000,
): Promise<{ readonly items: readonly T[]; readonly more: boolean }> {
  const page = await get<Page<T>>(path, { ...query, limit: Math.min(most, 1000) }, halt);
  return { items: page.items, more: page.nextCursor !== null };
}

/** Why the signed-in user may not do something; null: they may. The server decides. */
export function refusal(scope: Scope, needsAllTeams = false): string | null {
  const caller = session.value?.signedIn;
  if (caller === null || caller === undefined) return say('refused.nobody');
  if (!caller.scopes.includes(scope)) {
    const role = code('role', ROLES.find((one) => ROLE_SCOPES[one].includes(scope)) ?? 'admin');
    const yours = caller.role === null ? caller.scopes.join(', ') : code('role', caller.role);
    return say('refused.role', { role, yours });
  }
  return needsAllTeams && caller.teams !== null ? say('refused.teams', { teams: caller.teams.join(', ') }) : null;
}

/** Why the signed-in user does not see something of a team; null: they see it. @param team null: of a team unknown here */
export function unseen(team: string | null): string | null {
  const teams = session.value?.signedIn?.teams ?? null;
  return teams === null || (team !== null && teams.includes(team))
    ? null
    : say('refused.beyond', { teams: teams.join(', ') });
}
