/**
 * Checks whether the queue can be reached and is set up as the line needs it. Hands out no work, does no work, and
 * creates nothing.
 */
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, SchemaMigrationRequiredError } from 'bullmq';
import { Redis } from 'ioredis';
import { unavailable } from '../core/errors.js';
import type { QueueFacts } from '../core/installed.js';
import type { Queryable } from '../store/database.js';

const CONNECT_MILLISECONDS = 5000;

/**
 * The queue in Redis. @throws Failure unavailable if it does not answer or refuses the connection; the message contains
 * no address
 */
export async function probeRedis(redisUrl: string): Promise<QueueFacts> {
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: CONNECT_MILLISECONDS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  const errors: Error[] = [];
  redis.on('error', (error) => errors.push(error));
  try {
    await redis.connect();
    await redis.ping();
    const info = await redis.info();
    const fieldOf = (name: string): string | null => new RegExp(`^${name}:(.+?)\\r?$`, 'm').exec(info)?.[1] ?? null;
    return {
      kind: 'redis',
      version: fieldOf('redis_version'),
      migrated: true,
      evictionPolicy: fieldOf('maxmemory_policy'),
    };
  } catch (error) {
    throw unavailable(`Redis does not answer: ${reasonOf(errors[0] ?? error)}`, error);
  } finally {
    redis.disconnect();
  }
}

/** A system error's code, for its message names hosts; otherwise what Redis itself says (`WRONGPASS ...`). */
function reasonOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return error instanceof Error && error.message !== '' ? error.message.slice(0, 200) : 'no reason given';
}

/**
 * The queue in the database that Bursar is on: BullMQ's tables there. @throws Failure unavailable if they are not for
 * this version
 */
export async function probePostgres(db: Queryable): Promise<QueueFacts> {
  const facts = { kind: 'postgresql', version: null, evictionPolicy: null } as const;
  try {
    const version = await assertSchemaCompatibility({
      query: async <Row>(text: string, values?: readonly unknown[]) => ({ rows: await db.query<Row>(text, values) }),
    });
    return { ...facts, migrated: version >= LATEST_SCHEMA_VERSION };
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return { ...facts, migrated: false };
    throw unavailable(
      `the queue's tables cannot be used: ${error instanceof Error ? error.message : 'no reason given'}`,
      error,
    );
  }
}
