/**
 * The current principal of a session's cookie, by the current settings and by what the identity provider says when
 * asked again.
 *
 * The provider is asked with its refresh token, which only the cookie opens. Without one, a session lasts until that
 * check would be due. A provider's no ends the session at once. After no answer the next request asks again; after a
 * second such period without one the session ends.
 */
import { Logger } from '@nestjs/common';
import { actorText } from '../core/actor.js';
import { Failure } from '../core/errors.js';
import { knownAs } from '../store/access/directory.js';
import type { Principal } from '../store/access/keys.js';
import { DEFAULT_ORGANISATION } from '../store/access/organisation.js';
import { sessionId, type Found, type SessionRules } from '../store/access/sessions.js';
import { OidcClient } from './oidc.js';
import type { WebParts } from './parts.js';
import { seal, unseal } from './sealed.js';
import { NO_SIGN_IN, sessionRulesOf, type SignInSettings } from './sign-in.js';

/** Named as the one who ends a session that no person ended. */
const PROVIDER = 'identity provider';

type Needs = Pick<WebParts, 'stores' | 'clock' | 'signIn'>;

export class SessionDesk {
  readonly settings: SignInSettings;
  readonly rules: SessionRules;
  /** Null: people sign in with keys alone. */
  readonly oidc: OidcClient | null;
  private readonly logger = new Logger('sign-in');

  constructor(private readonly parts: Needs) {
    this.settings = parts.signIn ?? NO_SIGN_IN;
    this.rules = sessionRulesOf(this.settings);
    const { db } = parts.stores;
    this.oidc =
      this.settings.oidc === null
        ? null
        : new OidcClient(this.settings.oidc, (name) => knownAs(db, DEFAULT_ORGANISATION, name));
  }

  /** Null: there is no such session, or it is over. */
  async authenticate(text: string): Promise<Principal | null> {
    const { stores, clock } = this.parts;
    const now = clock.now();
    const found = await stores.sessions.authenticate(text, now, this.rules);
    if (found === null) return null;
    if (this.oidc === null || found.checkAt === null || found.checkAt > now) return found.principal;
    return this.askAgain(this.oidc, text, found, now);
  }

  private async askAgain(
    oidc: OidcClient,
    text: string,
    { principal, checkAt }: Found,
    now: number,
  ): Promise<Principal | null> {
    const { stores } = this.parts;
    const inTheMeantime = (checkAt ?? 0) + this.rules.checkMs > now ? principal : null;
    const sealed = await stores.sessions.claimCheck(text, now, this.rules.checkMs);
    if (sealed === 'asked') return inTheMeantime;
    const token = sealed === null ? null : unseal(sealed, text);
    if (token === null) return this.endSession(text, principal, 'the provider gave no refresh token');
    try {
      const vouched = await oidc.refresh(token, principal.id);
      if (vouched === null) return await this.endSession(text, principal, 'the provider refused');
      const { user, refreshToken } = vouched;
      if (typeof user === 'string') return await this.endSession(text, principal, user);
      // An answer to a refresh token may leave out the name that the ID token had.
      const named = user.name === user.id ? { ...user, name: principal.name } : user;
      const next = refreshToken === null ? null : seal(refreshToken, text);
      const kept = await stores.sessions.renew(text, named, next, now);
      return kept ? ((await stores.sessions.authenticate(text, now, this.rules))?.principal ?? null) : null;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
      this.logger.warn(`session ${sessionId(text)} could not be refreshed: ${error.message}`);
      return inTheMeantime;
    }
  }

  private async endSession(text: string, { organisation, id, name }: Principal, why: string): Promise<null> {
    const { stores } = this.parts;
    await stores.db.transaction(async (tx) => {
      const whose = actorText({ kind: 'user', id, name });
      await stores.audit.audit(tx, organisation, PROVIDER, 'session.end', sessionId(text), { whose, why });
      await stores.sessions.end(tx, text);
    });
    return null;
  }
}
