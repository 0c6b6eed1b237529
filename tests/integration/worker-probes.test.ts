/** A worker that was given a port answers probes and Prometheus there, works, and has no API. */
import 'reflect-metadata';
import { afterAll, expect, it } from 'vitest';
import { AppModule, compose, openQueue } from '../../src/app.module.js';
import { parseConfig } from '../../src/config.js';
import { enqueue, ENQUEUED_CHANNEL } from '../../src/store/work.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { freshDatabase } from '../support/database.js';

const { url: databaseUrl } = await freshDatabase();
const clock = { now: () => Date.UTC(2026, 10, 21, 12) };
const config = parseConfig({ BURSAR_HEALTH_PORT: '0', DATABASE_URL: databaseUrl });

it('is told its port by a setting, and has none without it', () => {
  expect([
    config.healthPort,
    parseConfig({}).healthPort,
    parseConfig({ BURSAR_HEALTH_PORT: '8081' }).healthPort,
  ]).toEqual([0, null, 8081]);
  expect(() => parseConfig({ BURSAR_HEALTH_PORT: 'hush' })).toThrow(/BURSAR_HEALTH_PORT is not a number/);
});

it('answers whether it is live and ready, and its metrics, and nothing else', async () => {
  const bursar = await compose(databaseUrl, clock);
  const queue = await openQueue(bursar, config, 'worker', () => undefined);
  const app = await createWebApp(
    AppModule.forRole(bursar, config, clock, 'worker', queue, () => undefined),
    { logger: false },
  );
  afterAll(async () => {
    await app.close();
    await queue.close();
    await bursar.close();
  });
  const url = await listen(app, { host: '127.0.0.1', port: config.healthPort ?? 0 });
  const get = async (path: string): Promise<[number, string]> => {
    const response = await fetch(url + path);
    return [response.status, await response.text()];
  };
  expect(await get('/healthz')).toEqual([200, '{"status":"live"}']);
  expect(await get('/readyz')).toEqual([200, expect.stringContaining('"status":"ready"')]);
  // It is there to work.
  expect(await bursar.stores.db.isHeard(ENQUEUED_CHANNEL)).toBe(true);
  await enqueue(bursar.stores.db, 'default', [{ stage: 'no.stage', partition: 'a', key: 'a/1' }]);
  const [status, text] = await get('/metrics');
  expect([
    status,
    /^bursar_work_waiting\{stage="no\.stage"\} 1$/m.test(text),
    /^process_cpu_seconds_total /m.test(text),
  ]).toEqual([200, true, true]);
  for (const path of ['/', '/docs', '/openapi.json', '/v1/costs', '/v1/usage', '/session'])
    expect((await get(path))[0], path).toBe(404);
});
