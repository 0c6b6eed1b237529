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

  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await bodyOf(request);
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
    json(response, 200, { access_token: 'an access token', token_type: 'Bearer', expires_in: 300, id_token: idToken });
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
    if (url.pathname === '/keys') return json(response, 200, { keys: [jwk] });
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
