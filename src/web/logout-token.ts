/**
 * A logout token: an identity provider sends it when a session there is over (OpenID Connect Back-Channel Logout 1.0,
 * sections 2.4 and 2.6).
 *
 * It counts only if the provider signed it for us, now, as a logout token and nothing else. The store makes sure that
 * it counts once.
 */
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { invalid, unavailable } from '../core/errors.js';
import type { LoggedOut } from '../store/access/session-list.js';
import type { SigningFacts } from './oidc.js';

export interface LogoutToken {
  readonly whom: LoggedOut;
  readonly jti: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Clocks may differ by this much. */
const TOLERANCE_SECONDS = 60;
/** A provider sends it at the logout, and for a moment retries. */
const MOST_AGE_SECONDS = 300;
/** Section 2.4: `logout+jwt`; older providers say JWT, or nothing. */
const TYPES = new Set(['', 'jwt', 'logout+jwt']);

export class LogoutTokens {
  private keys: { readonly at: string; readonly get: JWTVerifyGetKey } | null = null;

  constructor(private readonly clientId: string) {}

  /** @throws Failure invalid naming what is wrong, unavailable where the provider's keys cannot be had. */
  async read(text: string, facts: SigningFacts): Promise<LogoutToken> {
    try {
      const { payload, protectedHeader } = await jwtVerify(text, this.keysAt(facts.keys), {
        issuer: facts.issuer,
        audience: this.clientId,
        algorithms: [...facts.algorithms],
        requiredClaims: ['iat', 'exp', 'jti', 'events'],
        clockTolerance: TOLERANCE_SECONDS,
        maxTokenAge: MOST_AGE_SECONDS,
      });
      if (!TYPES.has((protectedHeader.typ ?? '').toLowerCase().replace(/^application\//, '')))
        throw wrong('is a token of another type');
      return tokenOf(payload);
    } catch (error) {
      throw error instanceof errors.JOSEError ? wrong(error.message) : error;
    }
  }

  private keysAt(at: URL): JWTVerifyGetKey {
    if (this.keys?.at !== at.href) this.keys = { at: at.href, get: keysFrom(at) };
    return this.keys.get;
  }
}

/**
 * The provider's keys. A failure to read them is no fault of the token: the answer asks the provider to send it again.
 * The same holds for an unknown key that we may not fetch yet.
 */
function keysFrom(at: URL): JWTVerifyGetKey {
  const remote = createRemoteJWKSet(at);
  return async (header, token) => {
    const mayAsk = !remote.coolingDown;
    try {
      return await remote(header, token);
    } catch (error) {
      const isUnknown = error instanceof errors.JWKSNoMatchingKey && mayAsk;
      if (isUnknown || error instanceof errors.JWKSMultipleMatchingKeys || error instanceof errors.JOSENotSupported)
        throw error;
      throw unavailable("the identity provider's keys cannot be fetched", error);
    }
  };
}

function tokenOf({ events, nonce, sub, sid, jti, exp }: JWTPayload): LogoutToken {
  const event = typeof events === 'object' && events !== null ? (events as Record<string, unknown>)[EVENT] : undefined;
  if (typeof event !== 'object' || event === null || Array.isArray(event)) throw wrong('names no logout in events');
  if (nonce !== undefined) throw wrong('has a nonce: it was made from another token');
  if (typeof jti !== 'string' || jti === '' || jti.length > 500) throw wrong('has no jti');
  const subject = textOf(sub);
  const session = textOf(sid);
  const expiresAt = ((exp ?? 0) + TOLERANCE_SECONDS) * 1000;
  if (session !== null) return { whom: { session, subject }, jti, expiresAt };
  if (subject !== null) return { whom: { subject }, jti, expiresAt };
  throw wrong('names neither a sub nor a sid');
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const wrong = (message: string): Error =>
  invalid('the logout token is not accepted', [{ path: 'logout_token', message: message.slice(0, 300) }]);
