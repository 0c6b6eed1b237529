/**
 * The HTTP server around the controllers: admission, reading of bodies, response headers.
 *
 * Admits or refuses before a body is read. Nothing here knows a resource.
 */
import type { NestApplicationOptions, Type, DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { denied } from '../core/errors.js';
import { letGo } from './arriving.js';
import { clearUploads, readBody } from './body.js';
import { admit } from './caller.js';
import type { RouteFacts } from './endpoint.js';
import { Gate } from './gate.js';
import { WEB_PARTS, type WebParts } from './parts.js';
import { Refusals } from './refusals.js';
import { logRequests } from './request-log.js';
import { SessionDesk } from './session-desk.js';
import { traceRequests } from './tracing.js';

const REQUEST_ID = /^[\w.-]{1,100}$/;

/** Keep-alive connections are closed after this; proxies in front usually wait 60 s. */
const KEEP_ALIVE_MILLISECONDS = 65_000;

/** A request must have sent its headers within this time. */
const HEADERS_MILLISECONDS = 20_000;

/** The application of a root module that imports WebModule. Call `listen` on it. */
export async function createWebApp(
  root: Type | DynamicModule,
  { trustedProxies = [], ...options }: NestApplicationOptions & { readonly trustedProxies?: readonly string[] } = {},
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    genReqId: requestId,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    // arriving.ts watches the body after the headers. Nest's types do not know the option.
    http: { headersTimeout: HEADERS_MILLISECONDS, connectionsCheckingInterval: HEADERS_MILLISECONDS / 4 },
    requestIdHeader: false,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    routerOptions: { maxParamLength: 500 },
    // An idle connection does not hold up the end of the process.
    forceCloseConnections: 'idle',
  });
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, { ...options, bodyParser: false });
  app.useSecurityHeaders({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'frame-ancestors': ["'none'"],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
      },
    },
    // The TLS proxy in front decides about it.
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
  });
  installHooks(app, app.get<WebParts>(WEB_PARTS, { strict: false }));
  return app;
}

function requestId(request: { readonly headers: IncomingMessage['headers'] }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * Null where no route fits: the answer is 404 for every caller. A route that does not say who may call it refuses
 * everybody.
 */
function factsOf(request: FastifyRequest): RouteFacts | null {
  if (request.is404) return null;
  const { config } = request.routeOptions;
  if (!('access' in config)) throw denied('this address is closed to everybody');
  return config as unknown as RouteFacts;
}

/** Where to follow the work that a write caused (RFC 8288; `monitor`: RFC 5989). */
const FOLLOW = '</v1/work/progress>; rel="monitor"';

/** Whether a request may have caused work that goes on after its answer. */
const followsLater = (request: FastifyRequest): boolean =>
  request.url.startsWith('/v1/') && factsOf(request)?.writes === true;

function installHooks(app: NestFastifyApplication, parts: WebParts): void {
  const server = app.getHttpAdapter().getInstance();
  server.decorate('gate', new Gate(parts.gate));
  server.decorate('sessions', new SessionDesk(parts));
  server.decorate('refusals', new Refusals(parts.stores));
  server.decorateRequest('principal', null);
  server.decorateRequest('mayBeWhole', false);
  server.decorateRequest('knockedMilliseconds', 0);
  server.decorateRequest('bodyDigest', null);
  server.decorateRequest('repeated', false);
  // The log event comes first: it names the span, which the next hook ends.
  if (parts.administrator === undefined) logRequests(server);
  traceRequests(server);
  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store');
    const facts = factsOf(request);
    if (facts === null) request.server.gate.pass(null, request.ip);
    else await admit(request, facts, parts);
  });
  if (parts.administrator === undefined) server.addHook('onResponse', async (request) => letGo(request.raw));
  server.addHook('onSend', async (request, reply) => {
    if (request.repeated) reply.header('idempotency-replayed', 'true');
    if (followsLater(request) && reply.statusCode < 300) reply.header('link', FOLLOW);
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const facts = factsOf(request);
    return facts === null ? undefined : readBody(request, payload, facts);
  });
}

/** Begins to listen; returns the address, `http://127.0.0.1:8080`. Port 0 takes a free one. */
export async function listen(
  app: NestFastifyApplication,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  if (app.get<WebParts>(WEB_PARTS, { strict: false }).administrator !== undefined)
    throw new Error("broken invariant: an application whose caller is the machine's administrator listens to nobody");
  await clearUploads();
  await app.listen(port, host);
  return (await app.getUrl()).replace('[::1]', 'localhost');
}
