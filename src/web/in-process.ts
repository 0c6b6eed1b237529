/**
 * Asks the API without a socket: the application is started and never listens. A request goes through the same routes,
 * validation, errors and audit as over HTTP (Fastify's inject, fastify.dev/docs/latest/Guides/Testing).
 *
 * The caller is whoever runs the process. A route streams a file and never holds all of it in memory.
 */
import type { DynamicModule, LoggerService } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { SCOPES } from '../core/scopes.js';
import type { Principal } from '../store/access/keys.js';
import type { Method } from './endpoint.js';
import { createWebApp } from './server.js';

/** A request: a path with its query, and a JSON value or the bytes of a file. */
export interface Asked {
  readonly method: Method;
  readonly path: string;
  readonly json?: unknown;
  readonly stream?: Readable;
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export interface InProcess {
  /** @throws Error for a bug: its message has the stack */
  ask(asked: Asked): Promise<Answered>;
  close(): Promise<void>;
}

/** The operating system's user as a caller: may do everything, like anybody who can open the database. */
export const administratorOf = (organisation: string, user: string): Principal => ({
  organisation,
  id: user,
  name: `cli:${user}`,
  role: 'admin',
  scopes: SCOPES,
  teams: null,
  isAdministrator: true,
});

/** Starts the application of a root module whose parts name an administrator. */
export async function openInProcess(
  root: DynamicModule,
  options: { readonly logger?: LoggerService | false } = {},
): Promise<InProcess> {
  const app = await createWebApp(root, options);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return { ask: (asked) => ask(app, asked), close: () => app.close() };
}

async function ask(app: NestFastifyApplication, { method, path, json, stream }: Asked): Promise<Answered> {
  const answer = await app.inject({
    method,
    url: path,
    headers: {
      accept: 'application/json',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(stream === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    },
    ...(json === undefined ? {} : { payload: JSON.stringify(json) }),
    ...(stream === undefined ? {} : { payload: stream }),
  });
  if (stream !== undefined) await letGo(stream, answer.raw.req);
  if (answer.statusCode === 500) throw new Error(bugOf(answer.payload));
  return { status: answer.statusCode, text: answer.payload };
}

/** Ends a body, of which a refused one has bytes left. This frees its slot among the bodies in transit. */
async function letGo(stream: Readable, request: Readable): Promise<void> {
  stream.destroy();
  if (request.destroyed) return;
  const closed = once(request, 'close');
  request.destroy();
  await closed;
}

function bugOf(text: string): string {
  try {
    return String((JSON.parse(text) as { detail?: unknown }).detail ?? text);
  } catch {
    return text;
  }
}
