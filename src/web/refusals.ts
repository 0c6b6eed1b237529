/**
 * Records refusals in the audit: an invalid key or session, a scope or a team that does not suffice, a failed sign-in.
 * Each entry has who it was or claimed to be, from where and why.
 *
 * A process records the same refusal once in ten minutes, and at most thirty a minute for each key or user, and for all
 * unknown callers together: nobody can flood the audit, or hide in it the refusals of a known key. The answer does not
 * wait for the record.
 */
import { Logger } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Failure } from '../core/errors.js';
import { DEFAULT_ORGANISATION } from '../store/access/organisation.js';
import type { Stores } from '../store/stores.js';
import { actorOf, bearerOf, SESSION_COOKIE } from './caller.js';
import { Refusal } from './problem.js';
import { routeOf } from './request-log.js';
import { readCookie } from './session-cookie.js';

declare module 'fastify' {
  interface FastifyInstance {
    refusals: Refusals;
  }
}

export interface Refused {
  /** The audit's name for the caller; null: unknown. */
  readonly who: string | null;
  /** The key or session that the request claims to have: `key:0a1b2c3d4e5f`. */
  readonly claimed?: string | null;
  readonly why: string;
}

const AGAIN_MS = 10 * 60_000;
const WINDOW_MS = 60_000;
const MOST_IN_WINDOW = 30;
const MOST_REMEMBERED = 10_000;
const MOST_TEXT = 500;

export class Refusals {
  /** The same refusal is not recorded again before this time of the process' own clock. */
  private readonly entered = new Map<string, number>();
  private readonly logger = new Logger('audit');
  /** For each known caller, and for all others together: how many were recorded in the current minute. */
  private readonly windows = new Map<string, { readonly ends: number; count: number }>();

  /** @param now monotonic milliseconds */
  constructor(
    private readonly stores: Pick<Stores, 'audit' | 'db'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Records a refusal, soon. @param verb `access.refuse`, `session.refuse` */
  note(request: FastifyRequest, verb: string, { who, claimed = null, why }: Refused): void {
    const { ip: address, method } = request;
    const target = `${method} ${routeOf(request)}`;
    const detail = { address, ...(claimed === null ? {} : { claimed }), why: why.slice(0, MOST_TEXT) };
    if (!this.isNew(who ?? 'nobody', JSON.stringify([verb, who, target, detail]))) return;
    const { audit, db } = this.stores;
    audit.audit(db, DEFAULT_ORGANISATION, who ?? 'nobody', verb, target, detail).catch((error: unknown) => {
      this.logger.warn(
        `a refusal could not be recorded: ${error instanceof Error ? error.message : 'no reason given'}`,
      );
    });
  }

  /** Records an error that refuses a caller. */
  noteError(request: FastifyRequest, error: unknown): void {
    const refused = refusedBy(request, error);
    if (refused === null) return;
    this.note(request, routeOf(request).startsWith('/session') ? 'session.refuse' : 'access.refuse', refused);
  }

  private isNew(who: string, what: string): boolean {
    const now = this.now();
    if ((this.entered.get(what) ?? 0) > now) return false;
    const before = this.windows.get(who);
    const window = before !== undefined && now < before.ends ? before : { ends: now + WINDOW_MS, count: 0 };
    if (window !== before && this.windows.size >= MOST_REMEMBERED) this.windows.clear();
    this.windows.set(who, window);
    window.count++;
    if (window.count > MOST_IN_WINDOW) {
      if (window.count === MOST_IN_WINDOW + 1)
        this.logger.warn(`more than ${MOST_IN_WINDOW} refusals of ${who} in a minute: the audit has the first of them`);
      return false;
    }
    if (this.entered.size >= MOST_REMEMBERED) this.entered.clear();
    this.entered.set(what, now + AGAIN_MS);
    return true;
  }
}

/** The refusal in an error; null: it is none, or the request had no key and no session. */
function refusedBy(request: FastifyRequest, error: unknown): Refused | null {
  const isDenied = error instanceof Failure && error.kind === 'denied';
  if (!isDenied && !(error instanceof Refusal && error.statusCode === 401)) return null;
  const { principal } = request;
  if (principal !== null) return { who: actorOf({ principal }), why: error.message };
  const shown = bearerOf(request) ?? keyIn(request.body);
  const hasSession = readCookie(request, request.server.sessions.settings, SESSION_COOKIE) !== null;
  if (shown === null && !hasSession && !isDenied) return null;
  return { who: null, claimed: claimOf(shown), why: error.message };
}

const keyIn = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'key' in body && typeof body.key === 'string' ? body.key : null;

/** The key that a text claims to be: its id only. */
function claimOf(text: string | null): string | null {
  const id = /^bursar_([0-9a-f]{12})_/.exec(text?.trim() ?? '')?.[1];
  return id === undefined ? null : `key:${id}`;
}
