/**
 * The same tests on both queue backends: BullMQ on PostgreSQL, and on Redis where a redis-server was found.
 * Files never share a Redis database: each takes the next number of the shared server.
 */
import { Redis } from 'ioredis';
import { describe, inject } from 'vitest';
import { describeWith } from './programs.js';

export interface QueueBackend {
  readonly name: 'postgresql' | 'redis';
  /** What REDIS_URL is for this backend: null, or the address of an empty Redis database of its own. */
  redisUrl(): Promise<string | null>;
}

/** Runs `body` once per backend; the Redis run is skipped by name where there is no redis-server. */
export function describeQueues(name: string, body: (backend: QueueBackend) => void): void {
  describe(`${name} (queue on postgresql)`, () => body({ name: 'postgresql', redisUrl: async () => null }));
  describeWith('redis-server', `${name} (queue on redis)`, () => body({ name: 'redis', redisUrl: freshRedis }));
}

/** An empty database of the shared Redis; database 0 holds only the counter. */
export async function freshRedis(): Promise<string> {
  const url = inject('redisUrl');
  if (!url) throw new Error('No redis-server is running: put the test into describeQueues or describeWith.');
  const redis = new Redis(url);
  try {
    return `${url}/${await redis.incr('tests:next-database')}`;
  } finally {
    await redis.quit();
  }
}
