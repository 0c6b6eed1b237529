/**
 * Collecting from a provider, through the real stages on real PostgreSQL: the fake cloud's machines become targets,
 * workloads and cost lines; looking again changes nothing; late usage is found; an outage leaves what was known and
 * lets it age.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { compose, openConnections } from '../../src/app.module.js';
import { denied } from '../../src/core/errors.js';
import type { FleetReading, FleetTarget } from '../../src/core/fleet/fleet.js';
import { divideHalfEven } from '../../src/core/money.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { formatInstant } from '../../src/core/time.js';
import { connectTo } from '../../src/providers/fake/fake.js';
import { FakeCloud } from '../../src/providers/fake/cloud.js';
import { recount } from '../../src/providers/fake/metering.js';
import type { CloudOptions } from '../../src/providers/fake/options.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { testBursar, type TestBursar } from '../support/bursar.js';
import { freshDatabase } from '../support/database.js';
import { NOW, testApi } from '../support/web.js';
import { fleetTarget } from '../support/makers.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 9, 5);
const RULES = [
  { match: { label: { key: 'team', value: 'red' } }, team: 'red' },
  { match: { label: { key: 'team', value: 'blue' } }, team: 'blue' },
] as const;
const T4 = { sku: 'fake.t4x1', region: 'fake-east' } as const;
const ofTeam = (team: string, more: Readonly<Record<string, string>> = {}) => ({ labels: { team, ...more } });

interface Collecting extends TestBursar {
  readonly connections: Map<string, ProviderConnection>;
  readonly fleet: FleetStore;
  /** Lets time pass, looks at what is due, and works until nothing is. */
  pass(ms: number): Promise<void>;
  cloud(options: Partial<CloudOptions>): FakeCloud;
  /** Rows of a table. */
  count(table: string): Promise<number>;
}

async function collecting(): Promise<Collecting> {
  const connections = new Map<string, ProviderConnection>();
  const fleet = new FleetStore();
  const bursar = await testBursar({ now: START, connections, targets: fleet });
  const { db, stores, clock, runner } = bursar;
  let schedule: CollectingSchedule | null = null;
  beforeAll(() =>
    db.transaction(async (tx) => void (await stores.organisations.saveRules(tx, 'default', RULES, 'test'))),
  );
  return {
    ...bursar,
    connections,
    fleet,
    async pass(ms) {
      clock.at += ms;
      schedule ??= new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
      await schedule.enqueueDue(clock.at);
      await runner.drain();
    },
    cloud(options) {
      const cloud = new FakeCloud({ seed: 5, clock, from: START, ...options });
      connections.set('fake', connectTo(cloud));
      return cloud;
    },
    async count(table) {
      return Number((await db.query<{ n: string }>(`select count(*)::text as n from ${table}`))[0]?.n);
    },
  };
}

/** Nanos of a decimal string. */
const nanos = (text: string | null | undefined): bigint => {
  const [whole = '0', fraction = ''] = (text ?? '0').split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
};

describe('a look that fails for good', async () => {
  const bursar = await collecting();

  it('is made again within the hour, though its interval is a day; offers stand meanwhile', async () => {
    let asked = 0;
    bursar.connections.set('cloud', {
      name: 'cloud',
      account: null,
      canAct: false,
      async *prices() {
        asked += 1;
        yield* [];
        throw denied('the permission is missing');
      },
    });
    await bursar.pass(0);
    expect(asked).toBe(1);
    await bursar.pass(30 * MINUTE);
    expect(asked).toBe(1);
    await bursar.pass(30 * MINUTE);
    expect(asked).toBe(2);
  });
});

describe('a day of a fake cloud', async () => {
  const bursar = await collecting();
  let cloud: FakeCloud;
  const spent = async (team: string): Promise<bigint> => {
    const { rows } = await bursar.spend({
      groupBy: 'team',
      basis: 'accrued',
      from: new Date(START).toISOString(),
      to: new Date(START + 5 * DAY).toISOString(),
    });
    return nanos(rows.find((row) => row['team'] === team)?.cost);
  };
  beforeAll(() => {
    cloud = bursar.cloud({
      machines: [
        { ...T4, ...ofTeam('red') },
        { ...T4, ...ofTeam('blue') },
      ],
      groups: [
        {
          name: 'serving',
          ...T4,
          desired: 3,
          min: 1,
          max: 5,
          ...ofTeam('blue', { 'bursar.io/workload-kind': 'inference' }),
        },
      ],
    });
  });

  it('usage becomes cost lines of the teams that the rules name, at the collected prices', async () => {
    await bursar.pass(6 * HOUR + 1000);
    const hourly = cloud.catalogue.hourlyNanos(T4.sku, T4.region, 'on-demand', START) ?? 0n;
    expect(await spent('red')).toBe(6n * hourly);
    expect(await spent('blue')).toBe(24n * hourly);
  });

  it('looking again changes nothing and leaves nothing behind', async () => {
    const before = [
      await bursar.count('delivery'),
      await bursar.count('import'),
      await bursar.count('usage_hour'),
      await bursar.count('price_event'),
      await bursar.count('reject'),
      await spent('red'),
    ];
    // Within the same metered piece of five minutes there is nothing new.
    for (let n = 0; n < 3; n++) {
      await bursar.db.query(`update collection set next_at = '-infinity'`);
      await bursar.pass(1000);
    }
    expect([
      await bursar.count('delivery'),
      await bursar.count('import'),
      await bursar.count('usage_hour'),
      await bursar.count('price_event'),
      await bursar.count('reject'),
      await spent('red'),
    ]).toEqual(before);
    expect(await bursar.stores.work.parked('default')).toEqual([]);
  });

  it('a look is due once per interval, however many processes ask', async () => {
    bursar.clock.at += 120_000;
    const schedules = [1, 2, 3].map(
      () => new CollectingSchedule(bursar.stores, 'default', bursar.connections, COLLECTING_INTERVALS),
    );
    const wantedOf = async (): Promise<number> =>
      Number(
        (
          await bursar.db.query<{ wanted: string }>(
            `select wanted::text as wanted from work where stage = 'fleet.collect'`,
          )
        )[0]?.wanted,
      );
    const before = await wantedOf();
    await Promise.all(schedules.map((schedule) => schedule.enqueueDue(bursar.clock.at)));
    expect(await wantedOf()).toBe(before + 1);
    await bursar.runner.drain();
  });

  it('a stop shows in the cost, and as a target that stands still', async () => {
    await bursar.pass(0);
    const seen = await bursar.fleet.find(bursar.db, 'default', 'red', 'instance/i-000001');
    expect(seen?.seen).toMatchObject({ state: 'running', billing: 'billed' });
    cloud.take({ kind: 'stop', target: 'instance/i-000001' }, 'token', null);
    const stoppedAt = bursar.clock.at;
    await bursar.pass(3 * HOUR);
    const ran = cloud.runs().find(({ machine }) => machine === 'i-000001');
    expect(ran?.end).toBe(stoppedAt);
    const hourly = cloud.catalogue.hourlyNanos(T4.sku, T4.region, 'on-demand', START) ?? 0n;
    // Six whole hours and a piece of the seventh, which is rounded to a nano.
    expect(await spent('red')).toBe(divideHalfEven(hourly * BigInt(stoppedAt - START), 3_600_000n));
    expect((await bursar.fleet.find(bursar.db, 'default', 'red', 'instance/i-000001'))?.seen).toMatchObject({
      state: 'stopped',
      billing: 'ended',
    });
  });

  it('policies see the group as a workload, with its replicas and what its labels say', async () => {
    const [workload] = await bursar.stores.workloads.workloads(bursar.db, 'default', 'blue', bursar.clock.at);
    expect(workload).toMatchObject({
      workload: 'group/serving',
      kind: 'inference',
      sku: 'fake.t4x1',
      gpusPerReplica: 1,
      term: 'on-demand',
      interruptible: null,
      isProtected: null,
      fleet: { ready: 3, booting: 0, minReplicas: 1, maxReplicas: 5 },
    });
    // The machines of the group are no workloads beside it, nor are machines of which nobody says what they do.
    expect(await bursar.count('workload')).toBe(1);
    cloud.take({ kind: 'scale', target: 'group/serving', replicas: 4 }, 'scale', null);
    await bursar.pass(5 * MINUTE);
    const changedAt = bursar.clock.at;
    await bursar.pass(5 * MINUTE);
    expect((await bursar.stores.workloads.workloads(bursar.db, 'default', 'blue', bursar.clock.at))[0]?.fleet).toEqual({
      ready: 4,
      booting: 0,
      minReplicas: 1,
      maxReplicas: 5,
      changedAt,
    });
  });

  it('prices, offers and spot are there', async () => {
    const offers = await bursar.fleet.offers(bursar.db, 'default');
    expect(offers.find(({ sku, region }) => sku === 'fake.h100x8' && region === 'fake-east')).toMatchObject({
      connection: 'fake',
      provider: 'Fake Cloud',
      gpusPerUnit: 8,
      termHours: 8760,
      upfrontNanos: 0n,
    });
    const markets = await bursar.stores.workloads.spotMarkets(bursar.db, 'default', bursar.clock.at);
    expect(markets.map(({ provider, region, gpuModel }) => `${provider} ${region} ${gpuModel}`)).toContain(
      'Fake Cloud fake-west H100',
    );
    expect(markets[0]?.tickSeconds).toBe(600);
  });

  it('the bill of a day that is over is the actual cost of its team', async () => {
    await bursar.pass(START + DAY + 13 * HOUR - bursar.clock.at);
    const { rows } = await bursar.spend({
      groupBy: 'team',
      basis: 'billed',
      from: new Date(START).toISOString(),
      to: new Date(START + DAY).toISOString(),
    });
    const gpuMs = recount(cloud.runs(), START, START + DAY, ({ labels }) => labels['team'] === 'blue');
    const hourly = cloud.catalogue.hourlyNanos(T4.sku, T4.region, 'on-demand', START) ?? 0n;
    const billed = nanos(rows.find((row) => row['team'] === 'blue')?.cost);
    // 8 % off; each of the five machines' lines is rounded to a nano.
    const exact = (hourly * BigInt(gpuMs) * 92n) / 360_000_000n;
    expect(billed >= exact - 5n && billed <= exact + 5n).toBe(true);
    const deliveries = await bursar.count('delivery');
    await bursar.db.query(`update collection set next_at = '-infinity' where what = 'bill'`);
    await bursar.pass(1000);
    expect(await bursar.count('delivery')).toBe(deliveries);
  });
});

describe('usage that comes late, twice and in any order', async () => {
  const bursar = await collecting();

  it('is whole in the end, and no record counts twice', async () => {
    const cloud = bursar.cloud({
      seed: 11,
      machines: Array.from({ length: 6 }, () => ({ ...T4, ...ofTeam('red') })),
      faults: { lateUsageRatio: 0.4, mostLateSeconds: 2 * 3600, repeatedUsageRatio: 0.2, reordersUsage: true },
    });
    const metered = async (): Promise<number> =>
      Number(
        (
          await bursar.db.query<{ ms: string }>(
            `select (sum(gpu_part_ms) / 7000)::bigint::text as ms from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension where d.kind = 'metered'`,
          )
        )[0]?.ms,
      );
    for (let n = 0; n < 12; n++) await bursar.pass(20 * MINUTE);
    expect(await metered()).toBeLessThan(recount(cloud.runs(), START, bursar.clock.at));
    for (let n = 1; n <= 6; n++) cloud.take({ kind: 'stop', target: `instance/i-00000${n}` }, `stop ${n}`, null);
    const stoppedAt = bursar.clock.at;
    for (let n = 0; n < 8; n++) await bursar.pass(20 * MINUTE);
    expect(await metered()).toBe(6 * (stoppedAt - START));
    expect(await bursar.count('reject')).toBe(0);
  });
});

describe('an outage', async () => {
  const bursar = await collecting();
  const coverage = async () => (await bursar.fleet.coverage(bursar.db, 'default', bursar.clock.at))[0];
  const workloads = async () => bursar.stores.workloads.workloads(bursar.db, 'default', 'blue', bursar.clock.at);

  it('leaves the fleet as it was last seen, stale and with the reason, and ends by itself', async () => {
    const outage = { from: START + HOUR, to: START + 3 * HOUR };
    bursar.cloud({
      groups: [{ name: 'serving', ...T4, desired: 2, ...ofTeam('blue') }],
      faults: { outages: [outage] },
    });
    await bursar.pass(HOUR - MINUTE);
    expect(await coverage()).toMatchObject({
      connection: 'fake',
      complete: true,
      targets: 3,
      stale: false,
      problems: [],
    });
    expect((await workloads())[0]?.fleet?.ready).toBe(2);

    await bursar.pass(5 * MINUTE);
    expect(await coverage()).toMatchObject({ stale: false, problems: ['the fake cloud is away'] });
    await bursar.pass(HOUR);
    expect(await coverage()).toMatchObject({
      readAt: START + HOUR - MINUTE,
      complete: true,
      targets: 3,
      stale: true,
      problems: ['the fake cloud is away'],
    });
    expect(await bursar.fleet.list(bursar.db, 'default', { teams: null }, null, 10)).toHaveLength(3);
    expect((await workloads())[0]).toMatchObject({ workload: 'group/serving', fleet: null });

    await bursar.pass(2 * HOUR);
    expect(await coverage()).toMatchObject({ readAt: bursar.clock.at, stale: false, problems: [] });
    expect((await workloads())[0]?.fleet?.ready).toBe(2);
    // What was used meanwhile is metered all the same: four hours are over, and the piece after them is not.
    const { rows } = await bursar.spend({
      groupBy: 'team',
      basis: 'accrued',
      from: new Date(START).toISOString(),
      to: new Date(START + DAY).toISOString(),
    });
    expect(rows.map((row) => row['team'])).toEqual(['blue']);
    const [hours] = await bursar.db.query<{ n: string }>(`select count(distinct hour)::text as n from usage_hour`);
    expect(hours?.n).toBe('4');
  });

  it('keeps a connection that another process has waiting for it, and parks nothing for good', async () => {
    const elsewhere = new Map(bursar.connections);
    bursar.connections.clear();
    await bursar.pass(10 * MINUTE);
    expect((await coverage())?.problems).toEqual(['the connection fake is not open in this process']);
    for (const [name, connection] of elsewhere) bursar.connections.set(name, connection);
    await bursar.pass(10 * MINUTE);
    expect((await coverage())?.problems).toEqual([]);
  });
});

describe('readings', async () => {
  const bursar = await collecting();
  const { db, fleet } = bursar;
  const target = (name: string, over: Partial<FleetTarget> = {}): FleetTarget =>
    fleetTarget({
      target: `instance/${name}`,
      name,
      provider: 'Fake Cloud',
      account: 'a',
      region: 'fake-east',
      sku: 'fake.t4x1',
      gpuModel: 'T4',
      gpus: 1,
      labels: { team: 'red' },
      launchedAt: START,
      ...over,
    });
  let at = START;
  const read = (targets: FleetTarget[], over: Partial<FleetReading> = {}, connection = 'one'): Promise<string[]> =>
    db.transaction((tx) =>
      fleet.save(
        tx,
        'default',
        connection,
        { at: (at += MINUTE), targets, complete: true, problems: [], ...over },
        ({ labels }) => labels['team'] ?? 'unallocated',
      ),
    );
  const there = async (): Promise<string[]> =>
    (await fleet.list(db, 'default', { teams: null }, null, 100)).map(({ seen }) => seen.name);

  it('a target is gone when two complete readings, one after the other, lack it; not before', async () => {
    expect(await read([target('a'), target('b')])).toEqual(['red']);
    expect(await read([target('a'), target('b')])).toEqual([]);
    expect(await read([target('a')])).toEqual([]);
    expect(await there()).toEqual(['a', 'b']);
    expect((await fleet.named(db, 'default', 'instance/b'))?.missed).toBe(1);
    await read([target('a'), target('b')]);
    expect((await fleet.named(db, 'default', 'instance/b'))?.missed).toBe(0);
    await read([target('a')]);
    await read([target('a')], { complete: false, problems: ['page 2 could not be read'] });
    await read([], { complete: false });
    expect(await there()).toEqual(['a', 'b']);
    expect(await read([target('a')])).toEqual(['red']);
    expect(await there()).toEqual(['a']);
    expect(await fleet.find(db, 'default', 'red', 'instance/b')).toBeNull();
    expect(await read([target('a'), target('b')])).toEqual([]);
    expect(await there()).toEqual(['a', 'b']);
    expect(await read([target('a', { state: 'stopped' }), target('b', { state: 'gone' })])).toEqual(['red']);
    expect(await there()).toEqual(['a']);
  });

  it('an older reading changes nothing', async () => {
    await read([target('a', { state: 'running' })]);
    await read([target('a', { state: 'stopped' }), target('z')], { at: at - HOUR });
    expect((await fleet.named(db, 'default', 'instance/a'))?.seen.state).toBe('running');
    expect(await there()).toEqual(['a']);
  });

  it('a name is found where it is one target of the team alone', async () => {
    await read([target('a', { target: 'instance/a' }), target('c', { labels: { team: 'blue' } })], {}, 'two');
    await read([target('a'), target('d')]);
    expect(await fleet.find(db, 'default', 'red', 'd')).toMatchObject({
      connection: 'one',
      seen: { target: 'instance/d' },
      seenAt: at,
    });
    expect(await fleet.find(db, 'default', 'blue', 'd')).toBeNull();
    expect(await fleet.find(db, 'default', 'red', 'instance/a')).toBeNull();
    expect(await fleet.find(db, 'default', 'red', 'two/instance/a')).toMatchObject({ connection: 'two' });
    expect(await fleet.find(db, 'other', 'red', 'd')).toBeNull();
    expect((await fleet.list(db, 'default', { teams: ['blue'] }, null, 10)).map(({ seen }) => seen.name)).toEqual([
      'c',
    ]);
  });

  it('a workload that somebody else reports is left as that one says', async () => {
    const group = (name: string): FleetTarget =>
      target(name, {
        target: `group/${name}`,
        kind: 'group',
        replicas: { desired: 2, ready: 1, min: 0, max: 4 },
        labels: { team: 'red', 'bursar.io/protected': 'true' },
      });
    await db.transaction((tx) =>
      bursar.stores.workloads.save(
        tx,
        'default',
        'red',
        {
          workload: 'group/mine',
          kind: 'batch',
          provider: null,
          region: null,
          sku: null,
          gpuModel: null,
          term: null,
          gpusPerReplica: null,
          interruptible: true,
          isProtected: null,
          fleet: null,
          service: null,
          job: null,
          performance: [],
        },
        at,
      ),
    );
    await read([group('mine'), group('other')]);
    const all = await bursar.stores.workloads.workloads(db, 'default', 'red', at);
    expect(all.map(({ workload, kind, isProtected }) => [workload, kind, isProtected])).toEqual([
      ['group/mine', 'batch', null],
      ['group/other', null, true],
      ['one/group/mine', null, true],
    ]);
    expect(all[1]?.fleet).toEqual({ ready: 1, booting: 1, minReplicas: 0, maxReplicas: 4, changedAt: at });
    await read([]);
    await read([]);
    expect((await bursar.stores.workloads.workloads(db, 'default', 'red', at)).map(({ workload }) => workload)).toEqual(
      ['group/mine'],
    );
  });
});

describe('a cloud without a meter', async () => {
  const bursar = await collecting();

  it('is metered from its readings, never longer than the machines ran', async () => {
    const cloud = bursar.cloud({ bootSeconds: 0 });
    const connection = bursar.connections.get('fake');
    if (connection === undefined) throw new Error('the cloud has a connection');
    bursar.connections.set(
      'fake',
      new Proxy(connection, {
        get: (of, key) => (key === 'usage' || key === 'bill' ? undefined : (Reflect.get(of, key, of) as unknown)),
      }),
    );
    cloud.addMachine({ ...T4, ...ofTeam('red') });
    for (let n = 0; n < 3; n++) await bursar.pass(MINUTE);
    // Thirty seconds after a look another one starts.
    bursar.clock.at += MINUTE / 2;
    cloud.addMachine({ ...T4, ...ofTeam('blue') });
    bursar.clock.at -= MINUTE / 2;
    for (let n = 0; n < 58; n++) await bursar.pass(MINUTE);
    const hours = Object.fromEntries(
      (await bursar.spend({ groupBy: 'team', basis: 'accrued' })).rows.map((row) => [row['team'], row.gpuHours]),
    );
    // The first reading proves nothing of what was before it: an hour for red; blue's 57 and a half minutes.
    expect(hours).toEqual({ red: '1.000000', blue: '0.958333' });
  });
});

describe('the door', async () => {
  const api = await testApi();
  const target = (name: string, team: string): FleetTarget =>
    fleetTarget({
      target: `instance/${name}`,
      name,
      provider: 'Fake Cloud',
      account: null,
      region: 'fake-east',
      sku: 'fake.t4x1',
      gpuModel: 'T4',
      gpus: 1,
      term: 'spot',
      labels: { team },
      revision: '3',
    });
  beforeAll(() =>
    api.stores.db.transaction(async (tx) => {
      const reading: FleetReading = {
        at: NOW - 90_000,
        targets: [target('a', 'red'), target('b', 'blue'), target('c', 'red')],
        complete: false,
        problems: ['one region did not answer'],
      };
      await api.stores.fleet.save(tx, 'default', 'fake', reading, ({ labels }) => labels['team'] ?? '');
      await api.stores.collections.saveCollected(tx, 'default', { connection: 'fake', what: 'fleet' }, reading.at, NOW);
    }),
  );
  const namesOf = (body: unknown): string[] => (body as { items: { name: string }[] }).items.map(({ name }) => name);

  it('lists targets with their age, page by page', async () => {
    const first = await api.call<{ items: Record<string, unknown>[]; nextCursor: string }>('GET', '/v1/fleet?limit=2');
    expect(namesOf(first.body)).toEqual(['a', 'b']);
    expect(first.body.items[0]).toMatchObject({
      connection: 'fake',
      team: 'red',
      target: 'instance/a',
      ageSeconds: 90,
      missed: 0,
      launchedAt: null,
      term: 'spot',
    });
    expect(first.body.items[0]).not.toHaveProperty('revision');
    const second = await api.call<{ nextCursor: string | null }>(
      'GET',
      `/v1/fleet?limit=2&cursor=${first.body.nextCursor}`,
    );
    expect([namesOf(second.body), second.body.nextCursor]).toEqual([['c'], null]);
    expect(namesOf((await api.call('GET', '/v1/fleet?team=blue&kind=instance&connection=fake')).body)).toEqual(['b']);
  });

  it("shows a key its own teams alone, and says to all teams' keys how well the fleet is known", async () => {
    const key = await api.keyFor({ teams: ['blue'] });
    expect(namesOf((await api.call('GET', '/v1/fleet', { key })).body)).toEqual(['b']);
    expect((await api.call('GET', '/v1/fleet?team=red', { key })).status).toBe(403);
    expect((await api.call('GET', '/v1/fleet/coverage', { key })).status).toBe(403);
    expect((await api.call('GET', '/v1/fleet/coverage')).body).toEqual({
      items: [
        {
          connection: 'fake',
          readAt: formatInstant(NOW - 90_000),
          completeAt: null,
          complete: false,
          targets: 3,
          stale: false,
          problems: ['one region did not answer'],
        },
      ],
    });
  });
});

describe('connections', async () => {
  const { url } = await freshDatabase();
  const clock = { now: () => START };

  it('are opened for the providers of which a setting is there, and reach the line', async () => {
    expect([...(await openConnections({ PATH: '/bin', BURSAR_FAKE_SEED: '' }, clock)).keys()]).toEqual([]);
    const bursar = await compose(url, clock, { environment: { BURSAR_FAKE_SEED: '9', BURSAR_FAKE_TARGETS: '4' } });
    try {
      expect([...bursar.connections].map(([name, { canAct }]) => [name, canAct])).toEqual([['fake', false]]);
      await new CollectingSchedule(
        bursar.stores,
        bursar.organisation,
        bursar.connections,
        COLLECTING_INTERVALS,
      ).enqueueDue(START);
      await bursar.runner.drain();
      expect((await bursar.stores.fleet.coverage(bursar.stores.db, 'default', START))[0]).toMatchObject({
        connection: 'fake',
        complete: true,
        readAt: START,
      });
      expect(await bursar.stores.work.parked('default')).toEqual([]);
    } finally {
      await bursar.close();
    }
  });

  it('with wrong settings stop the start, every one named and no value shown', async () => {
    const opening = openConnections({ BURSAR_FAKE_SEED: 'hush-hush', BURSAR_FAKE_ACT: 'hush-hush' }, clock);
    await expect(opening).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'BURSAR_FAKE_SEED' }, { path: 'BURSAR_FAKE_ACT' }],
    });
    await expect(opening).rejects.not.toThrow(/hush/);
  });
});
