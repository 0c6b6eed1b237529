/** Zones in which the costs of all teams are asked for: which are noted to be summed beforehand, and for how long. */
import { expect, it } from 'vitest';
import { DAY_MS, isZone, offsetAt, plainZone } from '../../src/core/time.js';
import { NOW, testApi } from '../support/web.js';

const api = await testApi();
const noted = async (): Promise<string[]> =>
  (await api.stores.db.query<{ zone: string }>(`select zone from spend_zone_asked order by zone`)).map(
    ({ zone }) => zone,
  );
const ask = async (of: string, zone: string, key?: string): Promise<void> => {
  const { status } = await api.call('GET', `/v1/costs${of}?zone=${zone}`, key === undefined ? {} : { key });
  expect({ of, zone, status }).toEqual({ of, zone, status: 200 });
};

it('notes no zone that is UTC or a team has, and none for whom all teams are not', async () => {
  const { stores, keyFor } = api;
  const team = { id: 'red', name: 'Red', parent: null, zone: 'Europe/Berlin', currency: 'USD', assignedBy: null };
  await stores.db.transaction((tx) => stores.organisations.saveTeam(tx, 'default', team));
  for (const zone of ['UTC', 'Etc/UTC', 'Europe/Berlin']) await ask('', zone);
  await ask('', 'Asia/Tokyo', await keyFor({ teams: ['red'] }));
  await ask('', 'Asia/Tokyo&team=red');
  expect(await noted()).toEqual([]);
});

it('notes four at most, whatever the question, until nobody has asked for thirty days', async () => {
  const { stores } = api;
  const first = { '': 'America/Los_Angeles', '/breakdown': 'Asia/Tokyo', '/bridge': 'Asia/Kolkata' };
  for (const [of, zone] of Object.entries(first)) await ask(of, zone);
  for (const zone of ['America/New_York', 'Asia/Seoul', 'Australia/Perth', 'Asia/Tokyo']) await ask('/resources', zone);
  const all = ['America/Los_Angeles', 'America/New_York', 'Asia/Kolkata', 'Asia/Tokyo'];
  expect(await noted()).toEqual(all);

  await stores.spendSums.noteZone(stores.db, 'default', 'Asia/Tokyo', NOW + 20 * DAY_MS);
  expect(await stores.tidying.tidy(stores.db, NOW + 29 * DAY_MS)).toMatchObject({ zone: 0 });
  expect(await stores.tidying.tidy(stores.db, NOW + 31 * DAY_MS)).toMatchObject({ zone: 3 });
  expect(await noted()).toEqual(['Asia/Tokyo']);
  await ask('', 'Asia/Seoul');
  expect(await noted()).toEqual(['Asia/Seoul', 'Asia/Tokyo']);
});

it('is no zone that the database does not know, or knows another one by', async () => {
  const { status } = await api.call('GET', '/v1/costs?zone=US/Pacific-New');
  expect([status, await noted()]).toEqual([400, ['Asia/Seoul', 'Asia/Tokyo']]);
  const { db, spendSums } = api.stores;
  await db.query(`update team set zone = 'VST' where id = 'red'`);
  await db.transaction((tx) => spendSums.replace(tx, 'default', ['2026-10-05']));
  await expect(spendSums.noteZone(db, 'default', 'US/Pacific-New', NOW)).rejects.toThrow('not recognized');
  const instants = ['2024-01-15T12:00:00Z', '2024-07-15T12:00:00Z'];
  const all = await api.stores.db.query<{ name: string }>(`select name from pg_timezone_names where name !~ '^posix'`);
  const known = all.map(({ name }) => name).filter(isZone);
  const names = await api.stores.db.query<{ name: string; offsets: number[] }>(
    `select z.name, array(select extract(epoch from (at at time zone z.plain) - (at at time zone 'UTC'))::int
       from unnest($1::timestamptz[]) as at) as offsets
     from unnest($2::text[], $3::text[]) as z(name, plain)`,
    [instants, known, known.map(plainZone)],
  );
  expect(known.length).toBeGreaterThan(400);
  for (const { name, offsets } of names)
    expect([name, ...instants.map((at) => offsetAt(name, Date.parse(at)) / 1000)]).toEqual([name, ...offsets]);
  // What is offered, too, is known there.
  const offered = Intl.supportedValuesOf('timeZone').filter((name) => isZone(name) && !known.includes(name));
  expect(offered).toEqual([]);
});
