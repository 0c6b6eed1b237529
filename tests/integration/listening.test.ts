/** A process goes on hearing what others notify, whatever happened to its connection. */
import { afterAll, expect, it, vi } from 'vitest';
import { Database } from '../../src/store/database.js';
import { freshDatabase } from '../support/database.js';

const { url } = await freshDatabase();
const [listener, other] = await Promise.all([Database.open(url, 3), Database.open(url, 2)]);
afterAll(() => Promise.all([listener.close(), other.close()]));

const CHANNEL = 'bursar_test';
const cut = (): Promise<unknown> =>
  other.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
  );
const waitFor = (what: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await what()).toBe(true), { timeout: 15_000, interval: 20 });

it('hears again after its connection was cut, and looks once for what it missed', async () => {
  let heard = 0;
  const stop = await listener.listen(CHANNEL, () => void (heard += 1));
  await other.query(`select pg_notify($1, '')`, [CHANNEL]);
  await waitFor(() => heard === 1);

  for (const round of [1, 2]) {
    const before = heard;
    await cut();
    await waitFor(async () => !(await other.isHeard(CHANNEL)));
    // Nobody hears this one.
    await other.query(`select pg_notify($1, '')`, [CHANNEL]);
    await waitFor(() => heard === before + 1);
    expect(await other.isHeard(CHANNEL), `round ${round}`).toBe(true);
    await other.query(`select pg_notify($1, '')`, [CHANNEL]);
    await waitFor(() => heard === before + 2);
    expect(await listener.query(`select $1::int + 1 as sum`, [1])).toEqual([{ sum: 2 }]);
  }

  await stop();
  const after = heard;
  expect(await other.isHeard(CHANNEL)).toBe(false);
  await other.query(`select pg_notify($1, '')`, [CHANNEL]);
  await listener.query(`select 1`);
  expect(heard).toBe(after);
});

it('does not hear again what it was told to leave while its connection was lost', async () => {
  let heard = 0;
  const stop = await listener.listen(CHANNEL, () => void (heard += 1));
  await cut();
  await waitFor(async () => !(await other.isHeard(CHANNEL)));
  await stop();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await other.isHeard(CHANNEL)).toBe(false);
  expect(heard).toBe(0);
});
