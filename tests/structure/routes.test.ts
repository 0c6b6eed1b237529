/**
 * Every route says which scope it needs. A handler that Nest routes and that has no such note would be open to anybody:
 * it is refused here, and so is a route that is open without being named below.
 */
import 'reflect-metadata';
import { Controller, Get, type Type } from '@nestjs/common';
import { expect, it } from 'vitest';
import { SCOPES } from '../../src/core/scopes.js';
import { endpointsOf } from '../../src/web/endpoint.js';
import { CONTROLLERS, endpoints } from '../../src/web/web.module.js';

/** What is answered without a key: probes, the pages, signing in, and what looks at its caller by itself. */
const OPEN = [
  'DELETE /session',
  'GET /',
  'GET /assets/{name}',
  'GET /docs',
  'GET /healthz',
  'GET /metrics',
  'GET /openapi.json',
  'GET /readyz',
  'GET /session',
  'GET /session/oidc',
  'GET /session/oidc/callback',
  'POST /admission/v1/reviews',
  'POST /admission/v1/reviews/{key}',
  'POST /session',
  'POST /session/oidc/logout',
  'POST /slack/commands',
  'POST /slack/interactions',
];

/** What Nest's own decorators leave on a handler that it routes. */
const ROUTED = 'path';

/** Handlers that are routed without the note of an endpoint. */
function unnoted(controllers: readonly Type[]): string[] {
  const noted = new Set(endpointsOf(controllers).map(({ handler }) => handler));
  return controllers.flatMap((controller) => {
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype)
      .filter((name) => typeof prototype[name] === 'function' && name !== 'constructor')
      .filter((name) => Reflect.hasMetadata(ROUTED, prototype[name] as object))
      .map((name) => `${controller.name}.${name}`)
      .filter((handler) => !noted.has(handler));
  });
}

@Controller()
class Forgotten {
  @Get('/v1/forgotten')
  get(): void {}
}

it('declares the scope of every route', () => {
  expect(unnoted([Forgotten])).toEqual(['Forgotten.get']);
  expect(unnoted(CONTROLLERS)).toEqual([]);
  const known = new Set<string>(['open', 'known', ...SCOPES]);
  expect(endpoints().filter(({ access }) => !known.has(access))).toEqual([]);
});

it('opens no route that is not meant to be open', () => {
  const open = endpoints().filter(({ access }) => access === 'open');
  expect(open.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(OPEN);
});

/** What anybody who is known may do, whatever their scopes: only with what is their own. */
it("asks no scope for one's own sessions alone", () => {
  const known = endpoints().filter(({ access }) => access === 'known');
  expect(known.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'DELETE /v1/me/sessions/{id}',
    'GET /v1/me/sessions',
    'POST /v1/me/sessions/end',
  ]);
});

it('gives every scope but admission, whose routes look at it themselves, something to do', () => {
  const used = new Set<string>(endpoints().map(({ access }) => access));
  expect(SCOPES.filter((scope) => !used.has(scope))).toEqual(['admission']);
});
