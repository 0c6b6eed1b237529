/**
 * Whom a session's cookie stands for now: by the settings of now, and by what the identity provider says when it is
 * asked again.
 *
 * The provider is asked with the refresh token that it gave, which only the cookie opens. Where it gave none, a session
 * lasts until it would have to be asked. A provider that says no ends the session at once; one that gives no answer is
 * asked again by the next request, and ends it after the same while once more.
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

/** Whoever ends a session that nobody ended. */
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

  /** Null: the text is of no session, or of one that is over. */
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
      // What an ID token tells of the name, an answer to a refresh token may leave out.
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
