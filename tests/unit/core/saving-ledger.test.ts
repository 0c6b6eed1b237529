import { describe, expect, it } from 'vitest';
import { attribute, type HourSaving } from '../../../src/core/saving/attribution.js';
import type { ActionFacts } from '../../../src/core/saving/counterfactual.js';
import { compilePeak } from '../../../src/core/price/peak.js';
import { compareWithBill, corrections, entryOf, judged, type JudgedHour } from '../../../src/core/saving/saving.js';
import { GPU_PARTS, type UsageRecord } from '../../../src/core/usage.js';
import { instancePrice } from '../../support/bursar.js';
import { HOUR, metered, MONDAY } from '../../support/records.js';
import {
  applied,
  contextWith,
  effectsOf,
  evidence,
  group,
  groupUsage,
  machine,
  memberOf,
  PRICES,
} from '../../support/savings.js';

const usd = (amount: number): bigint => BigInt(Math.round(amount * 1e9));

interface Given {
  hours: number;
  context?: ReturnType<typeof contextWith>;
  others?: readonly ActionFacts[];
  heard?: ReadonlySet<number>;
}

function savingsOf(
  actions: readonly ActionFacts[],
  records: readonly UsageRecord[],
  { hours, context = contextWith(), others = [], heard }: Given,
): HourSaving[] {
  const found = evidence(records, hours);
  return attribute(
    actions.map((one) => memberOf(one)),
    effectsOf([...actions, ...others]),
    { ...found, meteredHours: heard ?? found.meteredHours },
    () => context,
    MONDAY + hours * HOUR,
  );
}

/** Dollars saved per hour of the test, and reasons. */
const shown = (savings: readonly HourSaving[], action: string) =>
  savings
    .filter((one) => one.action === action)
    .map(({ hour, counterfactual, actual, reason }) => [
      (hour - MONDAY) / HOUR,
      reason ?? Number(counterfactual - actual) / 1e9,
    ]);
const sum = (savings: readonly HourSaving[], action?: string): bigint =>
  savings
    .filter((one) => action === undefined || one.action === action)
    .reduce((total, one) => total + one.counterfactual - one.actual, 0n);

const stop = applied('a1', 2, { kind: 'stop', target: 'instance/i-1' }, machine());
const alone = (from: number, to: number, over: Partial<UsageRecord> = {}): UsageRecord[] =>
  groupUsage(1, from, to, { resource: 'i-1', tags: null, ...over });

describe('a stop', () => {
  it('saves what the machine cost, from the minute it was applied', () => {
    const half = applied('a1', 1.5, { kind: 'stop', target: 'instance/i-1' }, machine());
    const records = [
      ...alone(-2, 1),
      metered('last', { resource: 'i-1', start: MONDAY + HOUR, end: MONDAY + 1.75 * HOUR }),
    ];
    // Half an hour would have cost $40; a quarter of an hour still ran: $20.
    expect(shown(savingsOf([half], records, { hours: 4 }), 'a1')).toEqual([
      [1, 20],
      [2, 80],
      [3, 80],
    ]);
    expect(savingsOf([half], records, { hours: 4 })[0]).toMatchObject({
      claimedMs: HOUR / 2,
      lines: ['default/last'],
      counterfactual: usd(40),
    });
  });

  it('ends when somebody starts the machine again, whoever that is', () => {
    expect(shown(savingsOf([stop], [...alone(-2, 2), ...alone(5, 8)], { hours: 9 }), 'a1')).toEqual([
      [2, 80],
      [3, 80],
      [4, 80],
    ]);
    const start = applied('a2', 4, { kind: 'start', target: 'instance/i-1' }, machine({ state: 'stopped' }));
    expect(shown(savingsOf([stop], alone(-2, 2), { hours: 9, others: [start] }), 'a1')).toEqual([
      [2, 80],
      [3, 80],
    ]);
  });

  it('ends with a rollback and with its horizon of 14 days', () => {
    expect(sum(savingsOf([{ ...stop, takenBackAt: MONDAY + 3.25 * HOUR }], alone(-2, 2), { hours: 9 }))).toBe(usd(100));
    expect(savingsOf([stop], alone(-2, 2), { hours: 500 })).toHaveLength(14 * 24);
  });

  it('is not claimed before it is confirmed, nor for an hour that the meter may still report', () => {
    expect(savingsOf([{ ...stop, confirmedAt: null }], alone(-2, 2), { hours: 9 })).toEqual([]);
    expect(
      shown(
        savingsOf([stop], alone(-2, 2), { hours: 9, heard: new Set([MONDAY, MONDAY + HOUR, MONDAY + 4 * HOUR]) }),
        'a1',
      ),
    ).toEqual([
      [2, 'hour-not-metered'],
      [3, 'hour-not-metered'],
    ]);
  });

  it('is unverifiable where its meter never saw the machine, and claims no more than it saw', () => {
    expect(shown(savingsOf([stop], [], { hours: 4 }), 'a1')).toEqual([
      [2, 'target-not-metered'],
      [3, 'target-not-metered'],
    ]);
    expect(sum(savingsOf([stop], alone(-2, 2, { gpuParts: 2 * GPU_PARTS }), { hours: 3 }))).toBe(usd(20));
  });

  it('is priced hour by hour, by the price and the peak factor that held', () => {
    const cut = instancePrice('40', { minimumSeconds: 0, effectiveFrom: MONDAY + 3.5 * HOUR });
    const peak = compilePeak([{ from: '04:00', to: '05:00', zone: 'UTC', factor: '1.5' }]);
    expect(
      shown(savingsOf([stop], alone(-2, 2), { hours: 6, context: contextWith([...PRICES, cut], { peak }) }), 'a1'),
    ).toEqual([
      [2, 80],
      [3, 60],
      [4, 60],
      [5, 40],
    ]);
  });

  it('is unverifiable where there is no price, an assumed one, or no exchange rate', () => {
    const reasonWith = (context: ReturnType<typeof contextWith>, before = machine()) =>
      savingsOf([{ ...stop, before }], alone(-2, 2), { hours: 3, context }).map(({ reason }) => reason);
    expect(reasonWith(contextWith([]))).toEqual(['no-price: no-price-list']);
    expect(reasonWith(contextWith(), machine({ term: null }))).toEqual(['price-assumed']);
    expect(reasonWith(contextWith(PRICES, { currency: 'CNY' }))).toEqual(['no-price: no-fx-rate']);
    expect(reasonWith(contextWith(), machine({ gpus: null }))).toEqual([]);
  });
});

describe('other actions', () => {
  it('scale-in: the replicas removed, until they are raised again', () => {
    const scaled = applied('a1', 2, { kind: 'scale', target: 'asg/train', replicas: 4 }, group(8));
    const records = [...groupUsage(8, -2, 2), ...groupUsage(4, 2, 5), ...groupUsage(6, 5, 8)];
    expect(shown(savingsOf([scaled], records, { hours: 8 }), 'a1')).toEqual([
      [2, 320],
      [3, 320],
      [4, 320],
    ]);
  });

  it('spot: the hours used, at the old price; an idle hour saves nothing', () => {
    const moved = applied(
      'a1',
      2,
      { kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 },
      group(4, { spotRatio: 0.5 }),
    );
    const records = [
      ...groupUsage(4, 0, 2),
      ...groupUsage(4, 2, 3, { term: 'spot' }),
      ...groupUsage(2, 3, 4, { term: 'spot' }),
    ];
    // Half was spot before: 4 machines cost 2 x 80 + 2 x 20 = 200 against 80 now.
    expect(shown(savingsOf([moved], records, { hours: 5 }), 'a1')).toEqual([
      [2, 120],
      [3, 60],
      [4, 0],
    ]);
  });

  it('spot: what changed no machine saves nothing, and the scale-in after it has its saving', () => {
    const moved = applied('a1', 1, { kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(2));
    const scaled = applied(
      'a2',
      2,
      { kind: 'scale', target: 'asg/train', replicas: 1 },
      group(2, { spotRatio: 1, term: 'on-demand' }),
    );
    const records = [...groupUsage(2, -1, 2), ...groupUsage(1, 2, 4)];
    const savings = savingsOf([moved, scaled], records, { hours: 4 });
    expect(shown(savings, 'a1')).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
    ]);
    expect(shown(savings, 'a2')).toEqual([
      [2, 80],
      [3, 80],
    ]);
    // Of a group that was half spot by its setting, and on demand by its machines.
    const half = applied(
      'a3',
      1,
      { kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 },
      group(2, { spotRatio: 0.5 }),
    );
    expect(shown(savingsOf([half], groupUsage(2, -1, 3), { hours: 3 }), 'a3')).toEqual([
      [1, 0],
      [2, 0],
    ]);
  });

  it('spot that is dearer is a loss, and says so', () => {
    const dear = contextWith([
      instancePrice('80', { minimumSeconds: 0 }),
      instancePrice('90', { minimumSeconds: 0, term: 'spot' }),
    ]);
    const moved = applied('a1', 2, { kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(1));
    expect(shown(savingsOf([moved], groupUsage(1, 2, 4, { term: 'spot' }), { hours: 4, context: dear }), 'a1')).toEqual(
      [
        [2, -10],
        [3, -10],
      ],
    );
  });

  it('rightsize: the hours in which it ran, at the old SKU, however many records say so', () => {
    const resized = applied('a1', 2, { kind: 'resize', target: 'instance/i-1', sku: 'g5.xlarge' }, machine());
    const small = (id: string, start: number, end: number) =>
      metered(id, {
        resource: 'i-1',
        sku: 'g5.xlarge',
        gpuModel: 'A10G',
        gpuParts: GPU_PARTS,
        start: MONDAY + start * HOUR,
        end: MONDAY + end * HOUR,
      });
    expect(
      shown(savingsOf([resized], [small('x', 2, 2.5), small('y', 2.5, 3), small('z', 3, 3.5)], { hours: 4 }), 'a1'),
    ).toEqual([
      [2, 72],
      [3, 36],
    ]);
  });

  it('off-peak: as much work in one piece from the start, at the factor of those hours', () => {
    const peak = compilePeak([{ from: '02:00', to: '06:00', zone: 'UTC', factor: '2' }]);
    const recommended = {
      action: 'MoveToOffPeak' as const,
      change: {},
      policyVersion: 1,
      currency: 'USD',
      monthly: null,
      promised: null,
      once: true,
      place: null,
    };
    const shifted = { ...stop, recommended };
    const found = savingsOf([shifted], [...alone(-2, 2), ...alone(8, 11)], {
      hours: 12,
      context: contextWith(PRICES, { peak }),
    });
    // Three hours of work: $160 each at 02, 03 and 04; in fact $80 each at 08, 09 and 10.
    expect(shown(found, 'a1')).toEqual([
      [2, 160],
      [3, 160],
      [4, 160],
      [5, 0],
      [6, 0],
      [7, 0],
      [8, -80],
      [9, -80],
      [10, -80],
      [11, 0],
    ]);
  });

  it('off-peak of a group: as much work in one piece from the start, on all its replicas and each at its own term', () => {
    const peak = compilePeak([{ from: '02:00', to: '06:00', zone: 'UTC', factor: '2' }]);
    const recommended = {
      action: 'MoveToOffPeak' as const,
      change: {},
      policyVersion: 1,
      currency: 'USD',
      monthly: null,
      promised: null,
      once: true,
      place: null,
    };
    const pause = { kind: 'scale', target: 'asg/train', replicas: 0 } as const;
    const halves = applied('a1', 2, pause, group(4, { spotRatio: 0.5, term: null }), { recommended });
    const back = applied(
      'a2',
      8,
      { kind: 'scale', target: 'asg/train', replicas: 4 },
      group(0, { spotRatio: 0.5, term: null }),
    );
    const use = (from: number, to: number) => [
      ...groupUsage(2, from, to),
      ...groupUsage(2, from, to, { term: 'spot' }),
    ];
    const found = savingsOf([halves, back], [...use(-2, 2), ...use(8, 10)], {
      hours: 11,
      context: contextWith(PRICES, { peak }),
    });
    // Two hours on two machines of $80 and two of $20: $400 each at 02 and 03, by the factor 2; in fact $200 each at 08
    // and 09.
    expect(shown(found, 'a1')).toEqual([
      [2, 400],
      [3, 400],
      [4, 0],
      [5, 0],
      [6, 0],
      [7, 0],
      [8, -200],
      [9, -200],
      [10, 0],
    ]);
    expect(shown(found, 'a2').every(([, saved]) => saved === 'not-made-to-save')).toBe(true);
    // Half of the replicas came back: the same work is done in half of the time.
    const half = savingsOf(
      [applied('a1', 2, pause, group(4), { recommended })],
      [...groupUsage(4, -2, 2), ...groupUsage(2, 8, 10)],
      { hours: 11, context: contextWith(PRICES, { peak }) },
    );
    expect(shown(half, 'a1')).toEqual([
      [2, 640],
      [3, 0],
      [4, 0],
      [5, 0],
      [6, 0],
      [7, 0],
      [8, -160],
      [9, -160],
      [10, 0],
    ]);
  });

  it('a reservation: covered hours on demand less all that is paid, unused hours too: a loss of $876,000 where nothing runs', () => {
    const nanos = usd(100) * 8760n;
    const bought = applied(
      'a1',
      0,
      {
        kind: 'purchase',
        target: 'AWS/us-east-1/p5.48xlarge/reserved-1y/none',
        offer: 'o1',
        units: 2,
        mostNanos: nanos,
        currency: 'USD',
      },
      null,
      {
        recommended: {
          action: 'PurchaseReservedInstances',
          change: { term: 'reserved-1y' },
          policyVersion: 1,
          currency: 'USD',
          monthly: null,
          promised: null,
          once: false,
          place: { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' },
        },
      },
    );
    const covered = groupUsage(3, 0, 2, { term: 'reserved-1y' });
    // Two machines are covered, three ran: $160 on demand against $100 an hour; then nothing runs.
    expect(shown(savingsOf([bought], covered, { hours: 4 }), 'a1')).toEqual([
      [0, 60],
      [1, 60],
      [2, -100],
      [3, -100],
    ]);
    expect(shown(savingsOf([bought], groupUsage(3, 0, 2), { hours: 2 }), 'a1')).toEqual([
      [0, 'coverage-not-metered'],
      [1, 'coverage-not-metered'],
    ]);
  });
});

describe('a savings plan', () => {
  const prices = [
    ...PRICES,
    instancePrice('50', { minimumSeconds: 0, term: 'savings-plan-1y' }),
    instancePrice('6', { minimumSeconds: 0, term: 'savings-plan-1y', sku: 'g5.xlarge', gpus: 1, gpuModel: 'A10G' }),
  ];
  const context = contextWith(prices);
  /** $100 an hour. */
  const bought = (family: string | null = null, confirmed = {}) =>
    applied(
      'a1',
      0,
      {
        kind: 'purchase',
        target: 'AWS/us-east-1/p5.48xlarge/savings-plan-1y/none',
        offer: 'sp',
        units: 100,
        mostNanos: usd(100) * 8760n,
        currency: 'USD',
        family,
        region: null,
      },
      null,
      {
        recommended: {
          action: 'PurchaseSavingsPlans',
          change: { term: 'savings-plan-1y', upfront: 'none' },
          policyVersion: 1,
          currency: 'USD',
          monthly: null,
          promised: null,
          once: false,
          place: { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' },
        },
        ...confirmed,
      },
    );
  const term = { term: 'savings-plan-1y' } as const;
  const small = (count: number, hour: number) =>
    Array.from({ length: count }, (_, n) =>
      metered(`g-${hour}-${n}`, {
        resource: `g-${n}`,
        sku: 'g5.xlarge',
        gpuModel: 'A10G',
        gpuParts: GPU_PARTS,
        start: MONDAY + hour * HOUR,
        end: MONDAY + (hour + 1) * HOUR,
        ...term,
      }),
    );

  it('saves what it served on demand less the whole commitment, used or not, and serves no more than that buys', () => {
    // $50 a machine: three ran, two were served ($160 on demand); one; none.
    expect(
      shown(
        savingsOf([bought()], [...groupUsage(3, 0, 1, term), ...groupUsage(1, 1, 2, term)], { hours: 3, context }),
        'a1',
      ),
    ).toEqual([
      [0, 60],
      [1, -20],
      [2, -100],
    ]);
  });

  it('serves first what it discounts most, whatever the machine', () => {
    // One p5 takes $50 (62.5 % of its price), and of ten g5 at $6 (75 %) what $50 are: 50/6 machines of $8.
    const [first] = savingsOf([bought()], [...groupUsage(1, 0, 1, term), ...small(10, 0)], { hours: 1, context });
    expect(Number(first?.counterfactual) / 1e9).toBeCloseTo(80 + (50 / 6) * 8, 6);
    expect(first?.actual).toBe(usd(100));
    // A plan for the family g5 alone.
    expect(
      shown(savingsOf([bought('g5')], [...groupUsage(1, 0, 1, term), ...small(10, 0)], { hours: 1, context }), 'a1'),
    ).toEqual([[0, -20]]);
  });

  it('is charged by the minute that it began, and counts peak hours as the on-demand hours would have', () => {
    const peak = compilePeak([{ from: '00:00', to: '01:00', zone: 'UTC', factor: '2' }]);
    expect(
      shown(
        savingsOf([bought()], groupUsage(2, 0, 2, term), { hours: 2, context: contextWith(prices, { peak }) }),
        'a1',
      ),
    ).toEqual([
      [0, 220],
      [1, 60],
    ]);
    const late = { appliedAt: MONDAY + HOUR / 2, confirmedAt: MONDAY + HOUR / 2 };
    // Half an hour of two machines on demand, half of the commitment.
    expect(shown(savingsOf([bought(null, late)], groupUsage(2, 0, 1, term), { hours: 1, context }), 'a1')).toEqual([
      [0, 30],
    ]);
  });

  it('is unverifiable, with the reason, where nothing is metered as served by it, or its rate is not known', () => {
    expect(shown(savingsOf([bought()], groupUsage(2, 0, 1), { hours: 1, context }), 'a1')).toEqual([
      [0, 'coverage-not-metered'],
    ]);
    expect(shown(savingsOf([bought()], groupUsage(2, 0, 1, term), { hours: 1 }), 'a1')).toEqual([
      [0, 'no-price: no-term'],
    ]);
    expect(
      shown(
        savingsOf([bought()], groupUsage(2, 0, 1, term), {
          hours: 3,
          context,
          heard: new Set([MONDAY, MONDAY + 2 * HOUR, MONDAY + 3 * HOUR]),
        }),
        'a1',
      ),
    ).toEqual([
      [0, 60],
      [1, 'hour-not-metered'],
      [2, -100],
    ]);
  });

  it('costs exactly what was paid over its whole term', () => {
    const odd = bought();
    const paid = usd(100) * 8760n + 1n;
    const all = savingsOf(
      [
        {
          ...odd,
          action: { ...odd.action, effect: { ...odd.action.effect, mostNanos: paid } as typeof odd.action.effect },
        },
      ],
      groupUsage(1, 0, 1, term),
      { hours: 8761, context },
    );
    expect(all.reduce((total, { actual }) => total + actual, 0n)).toBe(paid);
  });
});

describe('actions on one target', () => {
  const scale = (id: string, at: number, from: number, to: number) =>
    applied(id, at, { kind: 'scale', target: 'asg/train', replicas: to }, group(from));

  it('share by the order in which they were applied, each on top of the ones before', () => {
    const records = [...groupUsage(8, -2, 2), ...groupUsage(4, 2, 3), ...groupUsage(2, 3, 5)];
    const found = savingsOf([scale('a2', 3, 4, 2), scale('a1', 2, 8, 4)], records, { hours: 5 });
    expect(shown(found, 'a1')).toEqual([
      [2, 320],
      [3, 320],
      [4, 320],
    ]);
    expect(shown(found, 'a2')).toEqual([
      [3, 160],
      [4, 160],
    ]);
    expect(sum(found)).toBe(usd(3 * 8 * 80 - (4 + 2 + 2) * 80));
  });

  it('spot first and scale-in then: the price saved on all, the replicas at the lower price', () => {
    const moved = applied('a1', 2, { kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(8));
    const fewer = applied('a2', 3, { kind: 'scale', target: 'asg/train', replicas: 4 }, group(8, { spotRatio: 1 }));
    const records = [
      ...groupUsage(8, -2, 2),
      ...groupUsage(8, 2, 3, { term: 'spot' }),
      ...groupUsage(4, 3, 4, { term: 'spot' }),
    ];
    const found = savingsOf([moved, fewer], records, { hours: 4 });
    expect(shown(found, 'a1')).toEqual([
      [2, 480],
      [3, 480],
    ]);
    expect(shown(found, 'a2')).toEqual([[3, 80]]);
  });

  it('a machine of a group: its stop is taken out of what the group saves', () => {
    const grouped = applied('a1', 2, { kind: 'scale', target: 'asg/train', replicas: 4 }, group(8));
    const one = applied(
      'a2',
      3,
      { kind: 'stop', target: 'instance/i-3' },
      machine({ target: 'instance/i-3', labels: { 'aws:autoscaling:groupName': 'train' } }),
    );
    const records = [...groupUsage(8, -2, 2), ...groupUsage(4, 2, 3), ...groupUsage(3, 3, 4)];
    const found = savingsOf([grouped, one], records, { hours: 4 });
    expect(shown(found, 'a1')).toEqual([
      [2, 320],
      [3, 320],
    ]);
    expect(shown(found, 'a2')).toEqual([[3, 80]]);
  });

  it('leave what a later one saves past its horizon to nobody', () => {
    const later = scale('a2', 3, 4, 2);
    const found = savingsOf(
      [scale('a1', 2, 8, 4), later, applied('a3', 170, { kind: 'stop', target: 'asg/train' }, group(2))],
      [...groupUsage(8, -2, 2), ...groupUsage(4, 2, 3), ...groupUsage(2, 3, 170)],
      { hours: 175 },
    );
    // a1 and a2 claim for seven days; from hour 171 on only the stop does, and only for the two replicas that it
    // stopped.
    expect(shown(found, 'a3')).toEqual([
      [170, 160],
      [171, 160],
      [172, 160],
      [173, 160],
      [174, 160],
    ]);
    expect(shown(found, 'a1').at(-1)).toEqual([169, 320]);
    expect(shown(found, 'a2').at(-1)).toEqual([170, 160]);
  });

  it('are unverifiable as far as a later one has no known world', () => {
    const blind = applied('a2', 3, { kind: 'scale', target: 'asg/train', replicas: 2 }, null);
    const found = savingsOf(
      [scale('a1', 2, 8, 4), blind],
      [...groupUsage(8, -2, 2), ...groupUsage(4, 2, 3), ...groupUsage(2, 3, 5)],
      { hours: 5 },
    );
    expect(shown(found, 'a1')).toEqual([
      [2, 320],
      [3, 'overlap-unknown'],
      [4, 'overlap-unknown'],
    ]);
    expect(shown(found, 'a2')).toEqual([]);
  });
});

const hour = (at: number, over: Partial<JudgedHour> = {}): JudgedHour => ({
  action: 'a1',
  hour: MONDAY + at * HOUR,
  state: 'measured',
  reason: null,
  claimedMs: HOUR,
  counterfactual: 80n,
  actual: 30n,
  ...over,
});

describe('the lines of the ledger', () => {
  it('are differences, and none where nothing differs', () => {
    expect(corrections([hour(0)], [])).toEqual([hour(0)]);
    expect(corrections([hour(0)], [hour(0)])).toEqual([]);
    expect(corrections([hour(0, { actual: 45n })], [hour(0)])).toEqual([
      hour(0, { claimedMs: 0, counterfactual: 0n, actual: 15n }),
    ]);
    expect(corrections([hour(0, { state: 'verified' })], [hour(0)])).toEqual([
      hour(0, { state: 'verified', claimedMs: 0, counterfactual: 0n, actual: 0n }),
    ]);
  });

  it('withdraw an hour that is no longer claimed, once', () => {
    const gone = hour(0, {
      state: 'withdrawn',
      reason: 'claim-ended',
      claimedMs: -HOUR,
      counterfactual: -80n,
      actual: -30n,
    });
    expect(corrections([], [hour(0)])).toEqual([gone]);
    expect(corrections([], [{ ...gone, claimedMs: 0, counterfactual: 0n, actual: 0n }])).toEqual([]);
  });
});

describe('an entry', () => {
  const { counterfactual } = memberOf({
    ...stop,
    recommended: {
      action: 'Stop',
      change: {},
      policyVersion: 1,
      currency: 'USD',
      monthly: { mean: 730n * 40n, low: 0n, high: 0n },
      promised: { mean: 730n * 40n, low: 0n, high: 0n },
      once: false,
      place: null,
    },
  });

  it('goes from estimated to measured to verified', () => {
    expect(entryOf(counterfactual, [], false)).toMatchObject({ state: 'estimated', predicted: null, measured: 0n });
    const both = [hour(2), hour(3, { state: 'verified' })];
    expect(entryOf(counterfactual, both, true)).toMatchObject({
      state: 'measured',
      measured: 50n,
      verified: 50n,
      predicted: 80n,
      counterfactual: 160n,
      actual: 60n,
      claimedMs: 2 * HOUR,
    });
    const verified = both.map((one) => ({ ...one, state: 'verified' as const }));
    expect(entryOf(counterfactual, verified, false).state).toBe('measured');
    expect(entryOf(counterfactual, verified, true)).toMatchObject({ state: 'verified', verified: 100n, measured: 0n });
  });

  it('is unverifiable with the commonest reason where nothing could be measured', () => {
    const blind = (at: number, reason: string) =>
      hour(at, { state: 'unverifiable', reason, claimedMs: 0, counterfactual: 0n, actual: 0n });
    expect(entryOf(counterfactual, [blind(2, 'x'), blind(3, 'y'), blind(4, 'y')], true)).toMatchObject({
      state: 'unverifiable',
      reason: 'y',
      reasons: { x: 1, y: 2 },
    });
    expect(entryOf({ ...counterfactual, world: { kind: 'unknown', reason: 'size-unknown' } }, [], false)).toMatchObject(
      { state: 'unverifiable', reason: 'size-unknown' },
    );
  });
});

describe('a bill', () => {
  const saved: HourSaving = {
    action: 'a1',
    hour: MONDAY,
    reason: null,
    claimedMs: HOUR,
    counterfactual: 9n,
    actual: 2n,
    lines: [],
    prices: [],
  };

  it('verifies an hour of a closed period, unless it says otherwise', () => {
    expect(judged(saved, false, 'agrees').state).toBe('measured');
    expect(judged(saved, true, 'agrees').state).toBe('verified');
    expect(judged(saved, true, 'not-itemised').state).toBe('verified');
    expect(judged(saved, true, 'differs')).toMatchObject({
      state: 'measured',
      reason: 'bill-differs',
      counterfactual: 9n,
    });
    expect(judged({ ...saved, reason: 'price-assumed' }, true, 'agrees')).toMatchObject({
      state: 'unverifiable',
      reason: 'price-assumed',
      counterfactual: 0n,
      actual: 0n,
    });
  });

  it('agrees within a hundredth, or a cent', () => {
    expect(compareWithBill(usd(100.9), usd(100))).toBe('agrees');
    expect(compareWithBill(usd(102), usd(100))).toBe('differs');
    expect(compareWithBill(usd(0.005), 0n)).toBe('agrees');
    expect(compareWithBill(usd(1), 0n)).toBe('differs');
    expect(compareWithBill(null, usd(100))).toBe('not-itemised');
    expect(compareWithBill(usd(1), null)).toBe('differs');
  });
});
