/** The REST API on a free port over a fresh database, with the real formats behind it, and a way to call it. */
import type { Clock } from '../../src/core/time.js';
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll } from 'vitest';
import type { Policy } from '../../src/core/policy/policy.js';
import { recordSchema } from '../../src/formats/bursar.js';
import { recordSchema as eventSchema } from '../../src/formats/cloudevents.js';
import { loadParts } from '../../src/parts.js';
import type { Collector } from '../../src/pipeline/collect.js';
import { plotter } from '../../src/rendering/plotter.js';
import { renderers } from '../../src/rendering/reports.js';
import { Database, type Patience } from '../../src/store/database.js';
import type { KeyRequest } from '../../src/store/access/keys.js';
import type { ReplicaAddress } from '../../src/store/reading.js';
import { Stores } from '../../src/store/stores.js';
import { createWebApp, listen } from '../../src/web/server.js';
import type { WebParts } from '../../src/web/parts.js';
import { WebModule } from '../../src/web/web.module.js';
import { testCollector } from './bursar.js';
import { freshDatabase } from './database.js';
import { MONDAY } from './records.js';

export interface Reply<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
  readonly text: string;
}

export interface Call {
  /** A key's text; absent: the admin's. Null: none at all. */
  readonly key?: string | null;
  /** Sent as JSON, or as it is where it is bytes or a text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestApi {
  readonly stores: Stores;
  readonly policies: readonly Policy[];
  readonly importer: Collector;
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly admin: string;
  call<T = Record<string, unknown>>(method: string, path: string, call?: Call): Promise<Reply<T>>;
  keyFor(request: Partial<KeyRequest>): Promise<string>;
}

/** A Wednesday, two days after the records of support/records.ts. */
export const NOW = MONDAY + 2 * 86_400_000;

/** Starts it before the tests of the file or block, and stops it after them. The object is filled by then. */
export async function testApi({
  connections,
  patience,
  replica,
  through = async (url) => url,
  trustedProxies = [],
  ...given
}: Partial<WebParts> & {
  readonly connections?: number;
  readonly patience?: Partial<Patience>;
  readonly replica?: ReplicaAddress;
  /** Where the database is reached instead. */
  readonly through?: (url: string) => Promise<string>;
  readonly trustedProxies?: readonly string[];
} = {}): Promise<TestApi> {
  const databaseUrl = await through((await freshDatabase()).url);
  const api = {} as { -readonly [K in keyof TestApi]: TestApi[K] };
  beforeAll(async () => {
    const db = await Database.open(databaseUrl, connections, patience);
    const stores = new Stores(db, undefined, undefined, replica);
    const policies = await loadParts<Policy>('policies', 'policy', () => []);
    const clock: Clock = { now: () => NOW };
    const importer = await testCollector(stores, clock);
    const app = await createWebApp(
      WebModule.register({
        stores,
        importer,
        clock,
        policies,
        plotter,
        reports: renderers,
        recordSchemas: { record: recordSchema, event: eventSchema },
        ...given,
      }),
      { logger: false, trustedProxies },
    );
    const admin = await stores.keys.firstKey('default');
    if (admin === null) throw new Error('a fresh database has no key');
    const url = await listen(app, { host: '127.0.0.1', port: 0 });
    Object.assign(api, {
      stores,
      policies,
      importer,
      app,
      url,
      admin,
      call: caller(url, admin),
      keyFor: keyMaker(stores),
    });
  });
  afterAll(async () => {
    await api.app.close();
    await api.stores.reading.close();
    await api.stores.db.close();
  });
  return api;
}

const keyMaker =
  (stores: Stores) =>
  async (request: Partial<KeyRequest>): Promise<string> =>
    (
      await stores.keys.create(
        stores.db,
        'default',
        { name: 'test', ...(request.scopes === undefined ? { role: 'viewer' } : {}), teams: null, ...request },
        NOW,
      )
    ).text;

function caller(url: string, admin: string): TestApi['call'] {
  return async <T>(method: string, path: string, { key = admin, body, headers }: Call = {}): Promise<Reply<T>> => {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(raw ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = text !== '' && /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : null) as T };
  };
}
