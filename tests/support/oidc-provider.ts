/**
 * A small OpenID Connect provider on this machine: metadata, keys, authorization with PKCE, tokens that jose signs. It
 * signs in whom the test says, without asking, and checks what a real one checks: client, secret, redirect, verifier,
 * one use of a code.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll } from 'vitest';

export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Claims of whoever signs in next, beside the standard ones. */
  claims: Record<string, unknown>;
  /** What is told at the userinfo endpoint only. */
  info: Record<string, unknown>;
  /** What to do wrong with the next ID token. */
  fault: 'nonce' | 'audience' | 'signature' | null;
  /** What its address of keys does. */
  keys: 'there' | 'failing' | 'cut';
  /** Whether it gives refresh tokens; each holds once. */
  gives: boolean;
  /** What it answers a refresh token instead: that it holds no more, or nothing. */
  says: 'no' | 'nothing' | null;
  /** How often it was asked by a refresh token. */
  asked: number;
  /** A logout token, as it signs one; `over` replaces claims, and takes away those that are undefined. */
  logoutToken(over?: Record<string, unknown>, how?: { typ?: string; isForeign?: boolean }): Promise<string>;
}

interface Grant {
  readonly redirect: string;
  readonly challenge: string;
  readonly nonce: string;
}

const json = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return new URLSearchParams(text);
}

export async function oidcProvider(): Promise<OidcProvider> {
  const [{ privateKey, publicKey }, other] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  const grants = new Map<string, Grant>();
  const provider: OidcProvider = {
    issuer: '',
    clientId: 'bursar-test',
    clientSecret: 'a secret of the test',
    claims: { sub: 'u-1' },
    info: {},
    fault: null,
    keys: 'there',
    gives: false,
    says: null,
    asked: 0,
    async logoutToken(over = {}, { typ = 'logout+jwt', isForeign = false } = {}) {
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        iss: provider.issuer,
        aud: provider.clientId,
        iat: now,
        exp: now + 120,
        jti: randomBytes(8).toString('hex'),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        ...over,
      };
      const signed = new SignJWT(JSON.parse(JSON.stringify(claims)) as Record<string, unknown>);
      return signed
        .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ })
        .sign(isForeign ? other.privateKey : privateKey);
    },
  };
  const refreshTokens = new Set<string>();
  const givenToken = (): Record<string, string> => {
    if (!provider.gives) return {};
    const refresh = randomBytes(16).toString('hex');
    refreshTokens.add(refresh);
    return { refresh_token: refresh };
  };

  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const redirect = query.get('redirect_uri') ?? '';
    const fine =
      query.get('client_id') === provider.clientId &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      redirect.endsWith('/session/oidc/callback');
    if (!fine) return json(response, 400, { error: 'invalid_request' });
    const code = randomBytes(16).toString('hex');
    grants.set(code, { redirect, challenge: query.get('code_challenge') ?? '', nonce: query.get('nonce') ?? '' });
    const back = new URL(redirect);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    back.searchParams.set('iss', provider.issuer);
    response.writeHead(302, { location: back.href }).end();
  };

  const refreshed = (form: URLSearchParams, response: ServerResponse): void => {
    provider.asked++;
    if (provider.says === 'nothing') return json(response, 503, {});
    const holds = refreshTokens.delete(form.get('refresh_token') ?? '') && provider.says === null;
    if (!holds || form.get('client_secret') !== provider.clientSecret)
      return json(response, 400, { error: 'invalid_grant' });
    json(response, 200, {
      access_token: 'another access token',
      token_type: 'Bearer',
      expires_in: 300,
      ...givenToken(),
    });
  };

  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await bodyOf(request);
    if (form.get('grant_type') === 'refresh_token') return refreshed(form, response);
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fine =
      form.get('client_secret') === provider.clientSecret &&
      grant?.challenge === verifier &&
      grant.redirect === form.get('redirect_uri');
    if (!fine) return json(response, 400, { error: 'invalid_grant' });
    const { fault } = provider;
    const idToken = await new SignJWT({ nonce: fault === 'nonce' ? 'another' : grant.nonce, ...provider.claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .setIssuer(provider.issuer)
      .setAudience(fault === 'audience' ? 'somebody else' : provider.clientId)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(fault === 'signature' ? other.privateKey : privateKey);
    const tokens = { access_token: 'an access token', token_type: 'Bearer', expires_in: 300, id_token: idToken };
    json(response, 200, { ...tokens, ...givenToken() });
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', provider.issuer);
    if (url.pathname === '/.well-known/openid-configuration') {
      return json(response, 200, {
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/keys`,
        userinfo_endpoint: `${provider.issuer}/userinfo`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        authorization_response_iss_parameter_supported: true,
      });
    }
    if (url.pathname === '/keys') {
      if (provider.keys === 'cut') return void response.destroy();
      return provider.keys === 'failing' ? json(response, 500, {}) : json(response, 200, { keys: [jwk] });
    }
    if (url.pathname === '/authorize') return authorize(url.searchParams, response);
    if (url.pathname === '/userinfo') return json(response, 200, { sub: provider.claims['sub'], ...provider.info });
    if (url.pathname === '/token') return void token(request, response);
    json(response, 404, {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  (provider as { issuer: string }).issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  afterAll(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return provider;
}
