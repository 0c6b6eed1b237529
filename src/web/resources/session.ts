/**
 * /session: signing in to the dashboard with a key or at an identity provider, and signing out. Outside /v1, since
 * programs have no use for it.
 *
 * A key is exchanged for a session and forgotten; a session can do what the key, or the provider's claims, allow, and
 * never more.
 */
import { Controller, Logger, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { actorText, principalText } from '../../core/actor.js';
import { invalid, missing } from '../../core/errors.js';
import { DEFAULT_ORGANISATION } from '../../store/access/organisation.js';
import { SCOPES } from '../../core/scopes.js';
import type { Principal } from '../../store/access/keys.js';
import type { SessionUser, SignInFacts } from '../../store/access/sessions.js';
import { actorOf, authenticate, SESSION_COOKIE } from '../caller.js';
import { Endpoint, JsonBody } from '../endpoint.js';
import type { Attempt, OidcClient, Vouched } from '../oidc.js';
import { storable } from '../json.js';
import { LogoutTokens } from '../logout-token.js';
import { InjectParts, type WebParts } from '../parts.js';
import { Refusal } from '../problem.js';
import { seal } from '../sealed.js';
import { checkSameSite, isSecure, readCookie, setCookie } from '../session-cookie.js';
import { NO_SIGN_IN, type NotLetIn, type SignInSettings } from '../sign-in.js';

const signInSchema = z.strictObject({ key: z.string().min(1).max(200).describe('An API key') }).meta({ id: 'SignIn' });
const sessionSchema = z
  .strictObject({
    signedIn: z
      .strictObject({
        kind: z.enum(['key', 'user']),
        id: z.string(),
        name: z.string(),
        role: z.string().nullable().describe('Null: a key with individual scopes'),
        scopes: z.array(z.enum(SCOPES)),
        teams: z.array(z.string()).nullable().describe('Null: all'),
      })
      .nullable(),
    oidc: z.boolean().describe('Whether people can sign in at an identity provider, at /session/oidc'),
  })
  .meta({ id: 'Session' });

type Session = z.infer<typeof sessionSchema>;

const loggedOutSchema = z
  .strictObject({ ended: z.int().describe('Number of sessions that were ended') })
  .meta({ id: 'LoggedOut' });

/** A person whom the provider identified and the settings admit. */
type LetIn = Omit<Vouched, 'user'> & { readonly user: SessionUser };

/**
 * What the browser keeps during the visit to the provider. SameSite=Lax: the way back begins on the provider's page.
 */
const ATTEMPT_COOKIE = 'sign-in';
const ATTEMPT_SECONDS = 600;
const attemptSchema = z.strictObject({
  state: z.string().min(1),
  nonce: z.string().min(1),
  verifier: z.string().min(43),
});

const REDIRECT = { access: 'open', checksKey: true, answer: { media: 'text/html' } } as const;

@Controller()
export class SessionController {
  private readonly logger = new Logger('sign-in');
  private readonly settings: SignInSettings;
  private readonly logoutTokens: LogoutTokens;

  constructor(@InjectParts() private readonly parts: WebParts) {
    this.settings = parts.signIn ?? NO_SIGN_IN;
    this.logoutTokens = new LogoutTokens(this.settings.oidc?.clientId ?? '');
  }

  @Endpoint('GET /session', { summary: 'Who is signed in', access: 'open', answer: sessionSchema })
  current(@Req() { principal }: FastifyRequest): Session {
    return this.shown(principal);
  }

  @Endpoint('POST /session', {
    summary: 'Sign in with a key',
    description: 'Sets a cookie. Needs the header x-bursar-session.',
    access: 'open',
    checksKey: true,
    answer: sessionSchema,
  })
  async signIn(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @JsonBody(signInSchema) { key }: z.infer<typeof signInSchema>,
  ): Promise<Session> {
    checkSameSite(request);
    const { stores, clock } = this.parts;
    const principal = await authenticate(request, this.parts, key.trim());
    if (principal === null) throw new Refusal(401, 'the API key is unknown, revoked, expired or not a key');
    request.server.gate.signIn(principal);
    const { text } = await stores.db.transaction(async (tx) => {
      await stores.audit.audit(tx, principal.organisation, actorOf({ principal }), 'session.start', principal.id);
      const who = { key: principal.id };
      const { rules } = request.server.sessions;
      return stores.sessions.start(tx, principal.organisation, who, clock.now(), factsOf(request), rules);
    });
    this.give(request, reply, text);
    return this.shown(principal);
  }

  @Endpoint('DELETE /session', {
    summary: 'Sign out',
    description: 'Ends the session and removes the cookie.',
    access: 'open',
    checksKey: true,
    answer: sessionSchema,
  })
  async signOut(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Session> {
    checkSameSite(request);
    const session = readCookie(request, this.settings, SESSION_COOKIE);
    if (session !== null) await this.parts.stores.sessions.end(this.parts.stores.db, session);
    setCookie(request, reply, this.settings, SESSION_COOKIE, '', { sameSite: 'Strict', maxAgeSeconds: 0 });
    return this.shown(null);
  }

  @Endpoint('GET /session/oidc', { ...REDIRECT, summary: 'Sign in at the identity provider' })
  async begin(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { url, attempt } = await provider(request).begin(this.redirectUri(request));
    setCookie(
      request,
      reply,
      this.settings,
      ATTEMPT_COOKIE,
      Buffer.from(JSON.stringify(attempt)).toString('base64url'),
      { sameSite: 'Lax', maxAgeSeconds: ATTEMPT_SECONDS },
    );
    await reply.redirect(url, 303);
  }

  @Endpoint('GET /session/oidc/callback', { ...REDIRECT, summary: 'Where the identity provider sends people back to' })
  async finish(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const oidc = provider(request);
    const attempt = readAttempt(readCookie(request, this.settings, ATTEMPT_COOKIE));
    setCookie(request, reply, this.settings, ATTEMPT_COOKIE, '', { sameSite: 'Lax', maxAgeSeconds: 0 });
    const outcome = attempt === null ? 'over' : await this.userBehind(oidc, request, attempt);
    if (typeof outcome === 'string') return void (await reply.redirect(`/#/sign-in/${outcome}`, 303));
    this.give(request, reply, await this.open(request, outcome));
    // The page asks for the session itself: a cookie of SameSite=Strict is not sent with a navigation that began
    // elsewhere.
    await reply.redirect('/', 303);
  }

  @Endpoint('POST /session/oidc/logout', {
    summary: 'The identity provider says that a session there is over',
    description:
      'Back-channel logout: a form with `logout_token`, signed by the provider. Ends the sessions that the token names; a token can be used once.',
    access: 'open',
    checksKey: true,
    takes: 'bytes',
    answer: loggedOutSchema,
  })
  async loggedOut(@Req() request: FastifyRequest): Promise<z.infer<typeof loggedOutSchema>> {
    const oidc = provider(request);
    const token = new URLSearchParams(Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '').get(
      'logout_token',
    );
    if (token === null || token === '')
      throw invalid('the request has 1 problem(s)', [{ path: 'logout_token', message: 'is missing' }]);
    const { whom, ...once } = await this.logoutTokens.read(token, await oidc.signing());
    const { stores } = this.parts;
    const ended = await stores.db.transaction(async (tx) => {
      const ids = await stores.sessionList.logOut(tx, DEFAULT_ORGANISATION, whom, once);
      if (ids === null)
        throw invalid('the logout token is not accepted', [{ path: 'logout_token', message: 'was used before' }]);
      const entries = ids.map((target) => ({
        actor: 'identity provider',
        target,
        detail: { why: 'logged out there' },
      }));
      await stores.audit.auditAll(tx, DEFAULT_ORGANISATION, 'session.end', entries);
      return ids.length;
    });
    stores.sessions.forget();
    return { ended };
  }

  private async userBehind(
    oidc: OidcClient,
    request: FastifyRequest,
    attempt: Attempt,
  ): Promise<LetIn | NotLetIn | 'failed'> {
    try {
      const { user, ...rest } = await oidc.finish(new URL(request.url, this.redirectUri(request)), attempt);
      if (typeof user !== 'string') return { user, ...rest };
      const who = principalText({ kind: 'user', id: rest.subject });
      request.server.refusals.note(request, 'session.refuse', { who, why: user });
      return user;
    } catch (error) {
      request.server.refusals.note(request, 'session.refuse', { who: null, why: 'the identity provider refused' });
      // The library's messages and codes name no secret; the causes may hold tokens.
      this.logger.warn(
        `a sign-in at the identity provider failed: ${error instanceof Error ? error.message : 'no reason given'}`,
      );
      return 'failed';
    }
  }

  private open(request: FastifyRequest, { user, refreshToken, providerSession }: LetIn): Promise<string> {
    const { stores, clock } = this.parts;
    const { rules } = request.server.sessions;
    const facts = {
      ...factsOf(request),
      providerSession,
      refresh: refreshToken === null ? null : (text: string) => seal(refreshToken, text),
    };
    return stores.db.transaction(async (tx) => {
      await stores.audit.audit(
        tx,
        DEFAULT_ORGANISATION,
        actorText({ kind: 'user', ...user }),
        'session.start',
        user.id,
        { role: user.role, teams: user.teams },
      );
      return (await stores.sessions.start(tx, DEFAULT_ORGANISATION, { user }, clock.now(), facts, rules)).text;
    });
  }

  private give(request: FastifyRequest, reply: FastifyReply, text: string): void {
    setCookie(request, reply, this.settings, SESSION_COOKIE, text, {
      sameSite: 'Strict',
      maxAgeSeconds: request.server.sessions.rules.lifeMs / 1000,
    });
  }

  private redirectUri(request: FastifyRequest): string {
    const origin =
      this.settings.publicUrl ?? `${isSecure(request, this.settings) ? 'https' : 'http'}://${request.host}`;
    return new URL('/session/oidc/callback', origin).href;
  }

  private shown(principal: Principal | null): Session {
    const oidc = this.settings.oidc !== null;
    if (principal === null) return { signedIn: null, oidc };
    const { isUser, scopes, teams, id, name, role } = principal;
    return {
      signedIn: {
        id,
        name,
        role,
        kind: isUser === true ? 'user' : 'key',
        scopes: [...scopes],
        teams: teams === null ? null : [...teams],
      },
      oidc,
    };
  }
}

/** @throws Failure missing where there is no provider. */
function provider({ server }: FastifyRequest): OidcClient {
  if (server.sessions.oidc === null) throw missing('no identity provider is set: BURSAR_OIDC_ISSUER names it');
  return server.sessions.oidc;
}

/** Facts by which people recognise their own sessions. */
const factsOf = ({ ip, headers }: FastifyRequest): SignInFacts => ({
  address: ip,
  agent: headers['user-agent'] === undefined ? null : storable(headers['user-agent']),
});

function readAttempt(cookie: string | null): Attempt | null {
  if (cookie === null) return null;
  try {
    return attemptSchema.safeParse(JSON.parse(Buffer.from(cookie, 'base64url').toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}
