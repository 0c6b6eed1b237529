/**
 * The fake cloud: what runs is what is metered and billed, effects hold once, faults come from the seed, and looking
 * changes nothing.
 */
import { describe, expect, it } from 'vitest';
import { peersOf, priceSeries } from '../../../src/core/alert/numbers.js';
import type { Effect, FleetTarget } from '../../../src/core/fleet/fleet.js';
import type { EffectOutcome } from '../../../src/core/ports.js';
import type { PriceEvent } from '../../../src/core/price/price.js';
import type { RecordBatch, UsageRecord } from '../../../src/core/usage.js';
import { detectPriceAnomalies } from '../../../src/planning/anomaly/prices.js';
import { fakeCloud } from '../../../src/providers/fake/fake.js';
import { recount } from '../../../src/providers/fake/metering.js';
import type { CloudOptions } from '../../../src/providers/fake/options.js';

const START = Date.UTC(2026, 9, 5);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function setting(over: Partial<CloudOptions> = {}, seed = 1) {
  const clock = { at: START, now: () => clock.at };
  return { clock, ...fakeCloud(seed, clock, over) };
}

async function recordsOf(batches: AsyncIterable<RecordBatch>): Promise<UsageRecord[]> {
  const all: UsageRecord[] = [];
  for await (const { records } of batches) all.push(...records);
  return all;
}

const hours = (records: readonly UsageRecord[]): number =>
  records.reduce((sum, { start, end }) => sum + end - start, 0) / HOUR;
const T4 = { sku: 'fake.t4x1', region: 'fake-east' } as const;

describe('machines', () => {
  it('boot, run, stop and are metered for exactly as long as they ran', async () => {
    const { clock, cloud, connection } = setting({ bootSeconds: 120, stopSeconds: 30 });
    const target = cloud.addMachine(T4);
    expect(cloud.target(target)).toMatchObject({ state: 'starting', billing: 'ended' });
    clock.at = START + 3 * HOUR;
    expect(cloud.target(target)).toMatchObject({ state: 'running', billing: 'billed' });
    const [run] = cloud.runs();
    // Between half and one and a half of two minutes.
    expect(run?.start).toBeGreaterThanOrEqual(START + MINUTE);
    expect(run?.start).toBeLessThanOrEqual(START + 3 * MINUTE);
    expect(await connection.apply({ kind: 'stop', target }, 'a', null)).toMatchObject({ kind: 'taken' });
    expect(cloud.target(target)).toMatchObject({ state: 'stopping', billing: 'ended' });
    clock.at += 30_000;
    expect(cloud.target(target)).toMatchObject({ state: 'stopped' });
    clock.at = START + DAY;
    const records = await recordsOf(connection.usage(START, START + DAY));
    expect(hours(records)).toBe((START + 3 * HOUR - (run?.start ?? 0)) / HOUR);
    expect(records.every(({ end }) => end <= START + 3 * HOUR)).toBe(true);
    expect(recount(cloud.runs(), START, START + DAY)).toBe(START + 3 * HOUR - (run?.start ?? 0));
  });

  it('start again as another run, and are gone when they are ended', async () => {
    const { clock, cloud, connection } = setting({ machines: [T4] });
    const target = 'instance/i-000001';
    const at = async (ms: number, effect: Effect): Promise<EffectOutcome> => (
      (clock.at = START + ms), connection.apply(effect, `${effect.kind}-${ms}`, null)
    );
    await at(HOUR, { kind: 'stop', target });
    await at(2 * HOUR, { kind: 'start', target });
    await at(4 * HOUR, { kind: 'terminate', target });
    expect(cloud.runs().map(({ no, end }) => [no, end])).toEqual([
      [1, START + HOUR],
      [2, START + 4 * HOUR],
    ]);
    clock.at += HOUR;
    expect(cloud.target(target)).toBeNull();
    expect(await at(6 * HOUR, { kind: 'start', target })).toMatchObject({ kind: 'refused', code: 'NotFound' });
  });

  it('are billed on after a stop where that fault strikes, say so, and end in time or never', () => {
    const { clock, cloud } = setting({ machines: [T4], faults: { overbillsRatio: 1, mostOverbilledSeconds: 3600 } });
    clock.at = START + HOUR;
    cloud.take({ kind: 'stop', target: 'instance/i-000001' }, 'a', null);
    expect(cloud.target('instance/i-000001')).toMatchObject({ state: 'stopping', billing: 'billed' });
    const until = cloud.runs()[0]?.billedTo ?? 0;
    expect(until).toBeGreaterThan(clock.at);
    clock.at = START + 3 * HOUR;
    expect(cloud.target('instance/i-000001')).toMatchObject({ state: 'stopped', billing: 'ended' });
    expect(recount(cloud.runs(), START, clock.at)).toBe(until - START);

    const never = setting({ machines: [T4], faults: { overbillsRatio: 1, mostOverbilledSeconds: null } });
    never.cloud.take({ kind: 'terminate', target: 'instance/i-000001' }, 'a', null);
    never.clock.at = START + 90 * DAY;
    expect(never.cloud.target('instance/i-000001')).toMatchObject({ state: 'gone', billing: 'billed' });
  });

  it('change their kind with a restart, and are metered as what they were', async () => {
    const { clock, cloud, connection } = setting({ machines: [T4], bootSeconds: 0 });
    clock.at = START + 2 * HOUR;
    await connection.apply({ kind: 'resize', target: 'instance/i-000001', sku: 'fake.l40sx4' }, 'a', null);
    expect(
      await connection.apply({ kind: 'resize', target: 'instance/i-000001', sku: 'nothing' }, 'b', null),
    ).toMatchObject({ kind: 'refused', code: 'UnknownSku' });
    clock.at = START + 3 * HOUR;
    expect(recount(cloud.runs(), START, clock.at)).toBe(2 * HOUR + 4 * HOUR);
    expect(
      new Set((await recordsOf(connection.usage(START, clock.at))).map(({ sku, gpuParts }) => `${sku} ${gpuParts}`)),
    ).toEqual(new Set(['fake.t4x1 7000', 'fake.l40sx4 28000']));
  });
});

describe('groups', () => {
  const group = { name: 'serving', ...T4, desired: 4, min: 1, max: 8 };
  const replicas = (target: FleetTarget | null): unknown => [target?.replicas?.desired, target?.replicas?.ready];

  it('keep their number within their bounds', async () => {
    const { clock, cloud, connection } = setting({ groups: [group] });
    expect(replicas(cloud.target('group/serving'))).toEqual([4, 4]);
    await connection.apply({ kind: 'scale', target: 'group/serving', replicas: 6 }, 'a', null);
    expect(replicas(cloud.target('group/serving'))).toEqual([6, 4]);
    clock.at += HOUR;
    expect(replicas(cloud.target('group/serving'))).toEqual([6, 6]);
    expect(await connection.apply({ kind: 'scale', target: 'group/serving', replicas: 9 }, 'b', null)).toMatchObject({
      kind: 'refused',
      code: 'OutOfBounds',
    });
    await connection.apply({ kind: 'set-bounds', target: 'group/serving', min: 0, max: 2 }, 'c', null);
    expect(replicas(cloud.target('group/serving'))).toEqual([2, 2]);
    cloud.lose('instance/i-000001');
    clock.at += HOUR;
    expect(replicas(cloud.target('group/serving'))).toEqual([2, 2]);
    expect(cloud.targets().filter(({ kind }) => kind === 'instance')).toHaveLength(2);
  });

  it('bring another for a member that is replaced, and refuse that a member is stopped', async () => {
    const { clock, cloud, connection } = setting({ groups: [group] });
    expect(await connection.apply({ kind: 'stop', target: 'instance/i-000002' }, 'a', null)).toMatchObject({
      kind: 'refused',
      code: 'GroupMember',
    });
    await connection.apply({ kind: 'replace', target: 'instance/i-000002', group: 'group/serving' }, 'b', null);
    clock.at += HOUR;
    expect(cloud.target('instance/i-000002')).toBeNull();
    expect(cloud.target('instance/i-000005')).toMatchObject({ state: 'running' });
  });

  it('move to spot without falling below their number, and lose it when spot goes', () => {
    const { clock, cloud } = setting({ groups: [group], spotUpHours: 30, spotDownHours: 3 });
    cloud.take({ kind: 'set-spot-ratio', target: 'group/serving', spotRatio: 1 }, 'a', null);
    const gone = cloud.catalogue.nextSpotChange(T4.sku, T4.region, START);
    for (clock.at = START; clock.at < Math.min(START + HOUR, gone); clock.at += 10_000)
      expect(cloud.target('group/serving')?.replicas?.ready).toBeGreaterThanOrEqual(4);
    const members = (): string[] =>
      cloud
        .targets()
        .filter(({ kind, state }) => kind === 'instance' && state === 'running')
        .map(({ term }) => String(term));
    expect(members()).toEqual(['spot', 'spot', 'spot', 'spot']);
    clock.at = gone;
    expect(cloud.target('group/serving')?.replicas).toMatchObject({ desired: 4, ready: 0 });
    const back = cloud.catalogue.nextSpotChange(T4.sku, T4.region, gone);
    clock.at = back - 1;
    expect(members()).toEqual([]);
    clock.at = back + 10 * MINUTE;
    expect(cloud.target('group/serving')?.replicas).toMatchObject({ desired: 4, ready: 4 });
    expect(cloud.runs().filter(({ term, end }) => term === 'spot' && end === gone)).toHaveLength(4);
  });
});

describe('tokens and revisions', () => {
  const stop: Effect = { kind: 'stop', target: 'instance/i-000001' };

  it('an effect holds once per token, and a token stands for one effect', () => {
    const { cloud } = setting({ machines: [T4, T4] });
    for (let n = 0; n < 3; n++) expect(cloud.take(stop, 'a', null).kind).toBe('taken');
    expect([cloud.appliedCount('a'), cloud.arrivals('a')]).toEqual([1, 3]);
    expect(cloud.take({ kind: 'stop', target: 'instance/i-000002' }, 'a', null)).toMatchObject({
      kind: 'refused',
      code: 'IdempotentParameterMismatch',
    });
    expect(cloud.target('instance/i-000002')?.state).toBe('running');
  });

  it('what has changed since it was read is refused', () => {
    const { cloud } = setting({ machines: [T4] });
    const before = cloud.target('instance/i-000001');
    cloud.change('instance/i-000001', { labels: { keep: 'yes' } });
    expect(cloud.take(stop, 'a', before)).toMatchObject({ kind: 'refused', code: 'RevisionMismatch' });
    expect(cloud.applied()).toEqual([]);
  });

  it('a delayed effect is taken at once and holds later', async () => {
    const { clock, cloud, connection } = setting({ machines: [T4], faults: { delaysRatio: 1, mostDelaySeconds: 300 } });
    expect(await connection.apply(stop, 'a', null)).toMatchObject({ kind: 'taken' });
    expect([cloud.appliedCount('a'), cloud.target('instance/i-000001')?.state]).toEqual([0, 'running']);
    clock.at += 300_000;
    expect([cloud.appliedCount('a'), cloud.runs()[0]?.end === null]).toEqual([1, false]);
  });

  it('refused, throttled and lost: nothing is sent where it says so', async () => {
    const refused = setting({ machines: [T4], faults: { refusesRatio: 1 } });
    expect(await refused.connection.apply(stop, 'a', null)).toMatchObject({ kind: 'refused' });
    expect(await refused.connection.outcome(stop, 'a')).toMatchObject({ kind: 'refused' });
    const throttled = setting({ machines: [T4], faults: { throttlesRatio: 1 } });
    await expect(throttled.connection.apply(stop, 'a', null)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(throttled.cloud.arrivals('a')).toBe(0);
    const lost = setting({ machines: [T4], faults: { losesAnswerRatio: 1 } });
    expect(await lost.connection.apply(stop, 'a', null)).toMatchObject({ kind: 'unknown' });
    expect(await lost.connection.outcome(stop, 'a')).toMatchObject({ kind: 'taken' });
    const never = setting({ machines: [T4], faults: { losesRequestRatio: 1 } });
    expect(await never.connection.apply(stop, 'a', null)).toMatchObject({ kind: 'unknown' });
    expect(await never.connection.outcome(stop, 'a')).toEqual({ kind: 'absent' });
    expect([refused, throttled, never].flatMap(({ cloud }) => cloud.applied())).toEqual([]);
  });
});

describe('usage', () => {
  const many = { groups: [{ name: 'g', ...T4, desired: 20 }] };

  it('comes late, twice and in any order where those faults strike, and is whole in the end', async () => {
    const plain = setting(many);
    const faulty = setting({
      ...many,
      faults: { lateUsageRatio: 0.3, mostLateSeconds: 7200, repeatedUsageRatio: 0.3, reordersUsage: true },
    });
    plain.clock.at = faulty.clock.at = START + 5 * HOUR;
    const expected = await recordsOf(plain.connection.usage(START, START + 5 * HOUR));
    const early = await recordsOf(faulty.connection.usage(START, START + 5 * HOUR));
    const earlyIds = new Set(early.map(({ id }) => id));
    expect(earlyIds.size).toBeLessThan(expected.length);
    expect(earlyIds.size).toBeGreaterThan(expected.length / 2);
    expect(early.length).toBeGreaterThan(earlyIds.size);
    const ofFirst = early.filter(({ resource }) => resource === 'i-000001').map(({ start }) => start);
    expect(ofFirst).not.toEqual([...ofFirst].sort((a, b) => a - b));
    faulty.clock.at = START + 7 * HOUR;
    const late = new Map(
      (await recordsOf(faulty.connection.usage(START, START + 5 * HOUR))).map((record) => [record.id, record]),
    );
    expect(late).toEqual(new Map(expected.map((record) => [record.id, record])));
  });

  it('is the same however often the cloud was looked at in between', async () => {
    const spot = {
      groups: [{ name: 'g', ...T4, desired: 5, spotRatio: 1 }],
      spotUpHours: 5,
      spotDownHours: 1,
      from: START,
    };
    const [seldom, often] = [setting(spot), setting(spot)];
    for (often.clock.at = START; often.clock.at < START + 3 * DAY; often.clock.at += 7 * MINUTE) often.cloud.targets();
    seldom.clock.at = often.clock.at = START + 3 * DAY;
    expect(seldom.cloud.runs().length).toBeGreaterThan(10);
    expect(seldom.cloud.runs()).toEqual(often.cloud.runs());
    expect(setting(spot, 2).cloud.catalogue.nextSpotChange(T4.sku, T4.region, START)).not.toBe(
      seldom.cloud.catalogue.nextSpotChange(T4.sku, T4.region, START),
    );
  });

  it('a bill is the priced usage of whole days less the discount, to the nano', async () => {
    const { clock, cloud, connection } = setting({ machines: [T4], billDiscountPercent: 10, billDelaySeconds: 3600 });
    clock.at = START + 2 * DAY + HOUR;
    const bill = await recordsOf(connection.bill(START, START + 5 * DAY));
    expect(bill.map(({ start, end }) => [start, end])).toEqual([
      [START, START + DAY],
      [START + DAY, START + 2 * DAY],
    ]);
    const hourly = cloud.catalogue.hourlyNanos(T4.sku, T4.region, 'on-demand', START) ?? 0n;
    expect(bill[0]?.charge?.list).toEqual({ unscaled: hourly * 24n, scale: 9 });
    expect(bill[0]?.charge?.billed).toEqual({ unscaled: (hourly * 24n * 9n) / 10n, scale: 9 });
    expect(bill[0]).toMatchObject({
      gpuParts: 7000,
      charge: { periodStart: Date.UTC(2026, 9, 1), periodEnd: Date.UTC(2026, 10, 1) },
    });
  });

  it('a commitment covers as many machines as it has units, and what it leaves unused is billed', async () => {
    const { clock, connection } = setting({ machines: [T4, T4, T4], billDelaySeconds: 0, billDiscountPercent: 0 });
    const offer = (await connection.offers()).find(({ sku, region }) => sku === T4.sku && region === T4.region);
    const buy = (units: number, most: bigint): Effect => ({
      kind: 'purchase',
      target: 'x',
      offer: offer?.offer ?? '',
      units,
      mostNanos: most,
      currency: 'USD',
    });
    expect(await connection.apply(buy(2, 1n), 'a', null)).toMatchObject({ kind: 'refused', code: 'AboveLimit' });
    expect(await connection.apply(buy(2, 10n ** 15n), 'b', null)).toMatchObject({ kind: 'taken' });
    clock.at = START + HOUR;
    expect(
      (await recordsOf(connection.usage(START, clock.at)))
        .map(({ resource, term }) => `${resource} ${term}`)
        .filter((line, at, all) => all.indexOf(line) === at),
    ).toEqual(['i-000001 reserved-1y', 'i-000002 reserved-1y', 'i-000003 on-demand']);
    for (const n of [1, 2, 3])
      await connection.apply({ kind: 'stop', target: `instance/i-00000${n}` }, `stop ${n}`, null);
    clock.at = START + DAY;
    const bill = await recordsOf(connection.bill(START, START + DAY));
    const unused = bill.find(({ resource }) => resource === 'commitment/c-1');
    expect(unused?.charge?.billed).toEqual({ unscaled: (offer?.hourlyNanos ?? 0n) * 46n, scale: 9 });
  });
});

describe('the catalogue', () => {
  async function pricesOf(source: AsyncIterable<readonly PriceEvent[]>): Promise<PriceEvent[]> {
    const all: PriceEvent[] = [];
    for await (const events of source) all.push(...events);
    return all;
  }

  it('states each change of a price once, and what an hour costs is the last change before it', async () => {
    const { clock, cloud, connection } = setting();
    clock.at = START + 10 * DAY;
    const all = await pricesOf(connection.prices(0));
    const later = await pricesOf(connection.prices(START + 5 * DAY));
    expect(later.length).toBeLessThan(all.length);
    const at = START + 7 * DAY + 5 * HOUR;
    const spot = later.flatMap((event) =>
      event.kind === 'price' &&
      event.price.sku === 'fake.h100x8' &&
      event.price.region === 'fake-west' &&
      event.price.term === 'spot' &&
      event.price.effectiveFrom <= at
        ? [event.price]
        : [],
    );
    expect(spot.at(-1)?.rate).toEqual({
      nanos: cloud.catalogue.hourlyNanos('fake.h100x8', 'fake-west', 'spot', at),
      currency: 'USD',
      quantity: 28_800n,
      unit: 'gpu-second',
    });
    expect(new Set(spot.map(({ rate }) => rate.nanos)).size).toBeGreaterThan(3);
  });

  it('has prices in which the search for anomalies finds none, over the turn of a quarter too, though spot moves all the time', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const { clock, connection } = setting({}, seed);
      clock.at = START + 100 * DAY;
      const prices = (await pricesOf(connection.prices(0))).flatMap((event) =>
        event.kind === 'price' ? [event.price] : [],
      );
      const series = priceSeries(prices, () => true);
      expect(series).toHaveLength(4 * 2 * 3);
      for (const one of series) {
        expect(
          detectPriceAnomalies(one.points, { peers: peersOf(one, series).map(({ points }) => points) }),
          `${seed} ${one.sku} ${one.region} ${one.term}`,
        ).toEqual([]);
        if (one.term !== 'spot') continue;
        const all = one.points.map(({ price }) => price);
        expect(new Set(all).size).toBeGreaterThan(100);
        // It comes back: no wandering off over the days.
        expect(Math.max(...all) / Math.min(...all)).toBeLessThan(1.5);
      }
    }
  });

  it('tells when spot was to be had as the machines felt it', async () => {
    const { clock, cloud, connection } = setting({ spotUpHours: 5, spotDownHours: 2 });
    clock.at = START + 3 * DAY;
    let [up, all] = [0, 0];
    for await (const readings of connection.spotHistory(0)) {
      for (const { sku, region, at, available } of readings) {
        expect(available).toBe(cloud.catalogue.spotIsUp(sku, region, at));
        all += 1;
        if (available === true) up += 1;
      }
    }
    expect(all).toBe(8 * (3 * 144 + 1));
    expect(up).toBeGreaterThan(all / 2);
    expect(up).toBeLessThan(all);
  });
});

describe('readings with gaps', () => {
  it('say so, or do not, as the plan has it; an outage answers nothing', async () => {
    const fleet = { groups: [{ name: 'g', ...T4, desired: 30 }] };
    const partial = await setting({ ...fleet, faults: { partialFleetRatio: 1 } }).connection.fleet();
    expect(partial.complete).toBe(false);
    expect(partial.problems).toHaveLength(1);
    expect(partial.targets.length).toBeLessThan(31);
    const flapping = await setting({ ...fleet, faults: { flappingFleetRatio: 1 } }).connection.fleet();
    expect(flapping.complete).toBe(true);
    expect(flapping.targets.length).toBeLessThan(31);
    const away = setting({ ...fleet, faults: { outages: [{ from: START, to: START + HOUR }] } });
    await expect(away.connection.fleet()).rejects.toMatchObject({ kind: 'unavailable' });
    away.clock.at = START + HOUR;
    expect((await away.connection.fleet()).targets).toHaveLength(31);
  });

  it('refuses a plan with chances above 1 or lengths below 0, naming all', () => {
    expect(() => setting({ faults: { refusesRatio: 2, lateUsageRatio: Number.NaN, mostLateSeconds: -1 } })).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        problems: [
          { path: 'refusesRatio', message: 'is not between 0 and 1' },
          { path: 'lateUsageRatio', message: 'is not between 0 and 1' },
          { path: 'mostLateSeconds', message: 'is below 0' },
        ],
      }),
    );
  });
});
