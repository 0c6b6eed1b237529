/**
 * A server span for each request, by OpenTelemetry's conventions for HTTP (opentelemetry.io, "Semantic conventions for
 * HTTP spans"): a child of the caller's span where it sends a traceparent. Without tracing the API does nothing, and
 * neither does this.
 *
 * Holds the route's template and never the path or the query (`url.path` and `url.query` of the conventions are left
 * out: one path has a key in it).
 */
import { context, propagation, SpanKind, SpanStatusCode, trace, type Context } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { NO_ROUTE, routeOf, whoAsks } from './request-log.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The context with its span active; null: it is not traced, or its span has ended. */
    traced: Context | null;
  }
}

/** Machines ask these every few seconds: they would hide everything else. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics']);

/** Install it before every hook that may do something. */
export function traceRequests(server: FastifyInstance): void {
  server.decorateRequest('traced', null);
  server.addHook('onRequest', (request, _reply, done) => {
    const route = routeOf(request);
    if (UNTRACED.has(route)) return done();
    const parent = propagation.extract(context.active(), request.headers);
    const attributes = {
      'http.request.method': request.method,
      'url.scheme': request.protocol,
      'server.address': request.hostname,
      'network.protocol.version': request.raw.httpVersion,
      'bursar.request_id': request.id,
      ...(route === NO_ROUTE ? {} : { 'http.route': route }),
    };
    const span = trace
      .getTracer('bursar.web')
      .startSpan(
        route === NO_ROUTE ? request.method : `${request.method} ${route}`,
        { kind: SpanKind.SERVER, attributes },
        parent,
      );
    request.traced = trace.setSpan(parent, span);
    context.with(request.traced, done);
  });
  // Body readers continue from the socket's own events, outside the span.
  server.addHook('preValidation', (request, _reply, done) => context.with(request.traced ?? context.active(), done));
  server.addHook('onResponse', async (request, reply) => end(request, reply.statusCode));
  server.addHook('onRequestAbort', async (request) => end(request, null));
}

function end(request: FastifyRequest, status: number | null): void {
  const span = request.traced === null ? undefined : trace.getSpan(request.traced);
  request.traced = null;
  if (span === undefined) return;
  const principal = whoAsks(request);
  span.setAttributes({
    ...(status === null ? { 'error.type': 'aborted' } : { 'http.response.status_code': status }),
    ...(principal === null ? {} : { 'bursar.principal': principal }),
  });
  // A caller's mistake is no error of the server (the conventions, "Status").
  if (status === null || status >= 500)
    span
      .setStatus({ code: SpanStatusCode.ERROR })
      .setAttribute('error.type', status === null ? 'aborted' : String(status));
  span.end();
}
