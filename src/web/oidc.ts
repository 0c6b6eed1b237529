/**
 * Sign-in at an OpenID Connect provider: authorization code with PKCE, state and nonce (OpenID Connect Core 1.0,
 * section 3.1; RFC 7636).
 *
 * Keeps no token: what the claims allow goes into a session. The session's keeper gets the refresh token, to ask the
 * provider again (section 12); other tokens are forgotten. The provider's metadata is loaded at the first sign-in; http
 * is used only for providers on this machine.
 */
import * as client from 'openid-client';
import { unavailable } from '../core/errors.js';
import type { Known } from '../store/access/directory.js';
import type { SessionUser } from '../store/access/sessions.js';
import { claimOf, directoryNameOf, userOf, type Claims, type NotLetIn, type OidcSettings } from './sign-in.js';

/** What the browser keeps during a sign-in. */
export interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The person whom a provider's answer identifies. */
export interface Vouched {
  readonly subject: string;
  readonly user: SessionUser | NotLetIn;
  /** The provider's session (`sid` of Back-Channel Logout 1.0, section 2.1); null: it names none. */
  readonly providerSession: string | null;
  /** For asking again; null: it gave none. */
  readonly refreshToken: string | null;
}

/** The metadata that back-channel logout needs. */
export interface SigningFacts {
  readonly issuer: string;
  readonly keys: URL;
  /** Its asymmetric signature algorithms. */
  readonly algorithms: readonly string[];
}

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);
const TIMEOUT_SECONDS = 10;

export class OidcClient {
  private found: Promise<client.Configuration> | null = null;

  /** @param directory what SCIM says about a person; absent: it is not asked */
  constructor(
    private readonly settings: OidcSettings,
    private readonly directory: ((name: string) => Promise<Known | null>) | null = null,
  ) {}

  /**
   * The address for the browser, and what the browser has to keep. @throws Failure unavailable where the provider
   * cannot be reached.
   */
  async begin(redirectUri: string): Promise<{ readonly url: string; readonly attempt: Attempt }> {
    const configuration = await this.configuration();
    const attempt = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.settings.scopes,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { url: url.href, attempt };
  }

  /**
   * Identifies who came back.
   * @param returned the whole address to which the provider sent the browser
   * @throws Error where the answer does not belong to this attempt, or has no token that the provider signed for us now
   */
  async finish(returned: URL, { state, nonce, verifier }: Attempt): Promise<Vouched> {
    const configuration = await this.configuration();
    const tokens = await client.authorizationCodeGrant(configuration, returned, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('the provider sent no ID token');
    return this.vouched(configuration, tokens, claims);
  }

  /**
   * Asks the provider again about a person. Null: it says no, as the account is closed or the session there is over.
   * @throws Failure unavailable where it gives no answer
   */
  async refresh(refreshToken: string, subject: string): Promise<Vouched | null> {
    const configuration = await this.configuration();
    try {
      const tokens = await client.refreshTokenGrant(configuration, refreshToken);
      // Section 12.2: an ID token may be missing, and one that is there names the same subject.
      const claims = tokens.claims() ?? { sub: subject };
      if (claims.sub !== subject) return null;
      return await this.vouched(configuration, tokens, claims);
    } catch (error) {
      if (error instanceof client.ResponseBodyError && error.status < 500 && error.status !== 429) return null;
      throw unavailable('the identity provider gave no answer', error);
    }
  }

  /** Which logout tokens to accept. @throws Failure unavailable where the provider cannot be reached. */
  async signing(): Promise<SigningFacts> {
    const metadata = (await this.configuration()).serverMetadata();
    if (metadata.jwks_uri === undefined) throw unavailable('the identity provider names no keys');
    const named = metadata.id_token_signing_alg_values_supported ?? ['RS256'];
    return {
      issuer: metadata.issuer,
      keys: new URL(metadata.jwks_uri),
      algorithms: named.filter((one) => /^(RS|PS|ES)\d{3}$|^EdDSA$|^Ed25519$/.test(one)),
    };
  }

  private async vouched(
    configuration: client.Configuration,
    tokens: client.TokenEndpointResponse,
    claims: Claims & { readonly sub: string },
  ): Promise<Vouched> {
    const { sid } = claims;
    const all = await this.withUserInfo(configuration, tokens.access_token, claims);
    const name = directoryNameOf(all, this.settings);
    const known = name === null || this.directory === null ? undefined : await this.directory(name);
    return {
      subject: claims.sub,
      user: userOf(all, this.settings, known),
      providerSession: typeof sid === 'string' && sid !== '' ? sid : null,
      refreshToken: tokens.refresh_token ?? null,
    };
  }

  /** Some providers list groups at the userinfo endpoint only. */
  private async withUserInfo(
    configuration: client.Configuration,
    token: string,
    claims: Claims & { readonly sub: string },
  ): Promise<Claims> {
    const { rolesClaim, teamsClaim } = this.settings;
    const isThere = [rolesClaim, ...(teamsClaim === null ? [] : [teamsClaim])].every(
      (name) => claimOf(claims, name) !== undefined,
    );
    if (isThere || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await client.fetchUserInfo(configuration, token, claims.sub)), ...claims };
  }

  private configuration(): Promise<client.Configuration> {
    if (this.found !== null) return this.found;
    const { issuer, clientId, clientSecret } = this.settings;
    const server = new URL(issuer);
    const insecure = server.protocol === 'http:' && LOOPBACK.has(server.hostname);
    this.found = client
      .discovery(
        server,
        clientId,
        undefined,
        clientSecret === null ? client.None() : client.ClientSecretPost(clientSecret),
        {
          // The library would trust the TLS connection for the ID token's signature (OpenID Connect Core 1.0, section
          // 3.1.3.7, rule 6): it is checked here too.
          timeout: TIMEOUT_SECONDS,
          execute: [client.enableNonRepudiationChecks, ...(insecure ? [client.allowInsecureRequests] : [])],
        },
      )
      .catch((error: unknown) => {
        // The next sign-in asks again.
        this.found = null;
        throw unavailable('the identity provider cannot be reached', error);
      });
    return this.found;
  }
}
