/**
 * Logs one event per request when its answer is out: its route's template, the caller, and how it ended.
 *
 * Logs no path as it was sent (one has a key in it), no query, no header and no body. A caller is named by the key's
 * id, never by its text.
 */
import { Logger } from '@nestjs/common';
import { context } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteFacts } from './endpoint.js';

/** The name of a request that fits no route. */
export const NO_ROUTE = '(no route)';

/** `/v1/teams/:id`; never the path itself. */
export const routeOf = (request: FastifyRequest): string =>
  request.is404 ? NO_ROUTE : (request.routeOptions.url ?? NO_ROUTE);

/** `key:<id>` or `user:<id>`; null: unknown. */
export const whoAsks = ({ principal }: Pick<FastifyRequest, 'principal'>): string | null =>
  principal === null ? null : `${principal.isUser === true ? 'user' : 'key'}:${principal.id}`;

/** Changes are logged for every reader of the log, reads for debugging only. */
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
