/**
 * One event per request when its answer is out: what was asked by its route's template, by whom, and how it ended.
 *
 * Holds no path as it was sent (one has a key in it), no query, no header and no body; a caller is named by the id of
 * the key and never by its text.
 */
import { Logger } from '@nestjs/common';
import { context } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteFacts } from './endpoint.js';

/** What a request is called where nothing fits it. */
export const NO_ROUTE = '(no route)';

/** `/v1/teams/:id`; never the path itself. */
export const routeOf = (request: FastifyRequest): string =>
  request.is404 ? NO_ROUTE : (request.routeOptions.url ?? NO_ROUTE);

/** `key:<id>` or `user:<id>`; null: nobody is known. */
export const whoAsks = ({ principal }: Pick<FastifyRequest, 'principal'>): string | null =>
  principal === null ? null : `${principal.isUser === true ? 'user' : 'key'}:${principal.id}`;

/** What changes something is told to whoever reads the log; what only looks is for who looks into something. */
export function logRequests(server: FastifyInstance): void {
  const logger = new Logger('request');
  server.addHook('onResponse', async (request, reply) => {
    const route = routeOf(request);
    const { method } = request;
    const event = {
      message: `${method} ${route}`,
      method,
      route,
      status: reply.statusCode,
      durationMs: Math.round(10 * reply.elapsedTime) / 10,
      principal: whoAsks(request),
      requestId: request.id,
    };
    const { writes = false } = request.routeOptions.config as Partial<RouteFacts>;
    context.with(request.traced ?? context.active(), () => {
      if (reply.statusCode >= 500) logger.warn(event);
      else if (writes) logger.log(event);
      else logger.debug(event);
    });
  });
}
