/**
 * Health rules on hand-made histories: what each finds, with its numbers, and that missing evidence finds and clears
 * nothing.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  assess,
  HEALTH_DEFAULTS,
  HEALTH_RULES,
  settle,
  type DeviceHistory,
  type DeviceReading,
  type HealthRule,
  type OpenFinding,
  type Verdict,
} from '../../../src/core/fleet/health.js';
import { MINUTE_MS } from '../../../src/core/time.js';

const NOW = Date.UTC(2026, 10, 21, 8);
const at = (minutesAgo: number): number => NOW - minutesAgo * MINUTE_MS;

const reading = (minutesAgo: number, over: Partial<DeviceReading> = {}): DeviceReading => ({
  at: at(minutesAgo),
  gpuUtilisationRatio: null,
  temperatureCelsius: null,
  pcieReplays: null,
  networkLatencySeconds: null,
  fault: null,
  ...over,
});
const device = (readings: readonly DeviceReading[], over: Partial<DeviceHistory> = {}): DeviceHistory => ({
  resource: 'pod/ml/chat-1',
  gpu: 'GPU-1',
  migInstance: null,
  team: 'ml',
  workload: 'chat',
  exporterUpAt: null,
  exporterNamesCards: true,
  cardSeenAt: readings.at(-1)?.at ?? 0,
  readings,
  ...over,
});
const verdict = (one: DeviceHistory, rule: HealthRule, now = NOW): Verdict =>
  assess(one, now).find((each) => each.rule === rule)!;
const state = (one: DeviceHistory, rule: HealthRule, now = NOW): string => verdict(one, rule, now).state;
const utilised = (ratios: readonly (number | null)[]): DeviceHistory =>
  device(ratios.map((ratio, n) => reading(ratios.length - 1 - n, { gpuUtilisationRatio: ratio })));

describe('busy', () => {
  it('is a mean above 85 % over five minutes', () => {
    expect(verdict(utilised([0.1, 0.9, 0.8, 0.9, 0.9, 0.9]), 'busy')).toEqual({
      rule: 'busy',
      state: 'found',
      finding: {
        rule: 'busy',
        severity: 'notice',
        resource: 'pod/ml/chat-1',
        gpu: 'GPU-1',
        migInstance: null,
        team: 'ml',
        workload: 'chat',
        title: 'busy: 88 % utilised',
        numbers: { meanUtilisationRatio: (0.9 + 0.8 + 0.9 + 0.9 + 0.9) / 5, aboveRatio: 0.85, readings: 5 },
        evidence: { what: 'GPU utilisation', from: '2026-11-21T07:56:00Z', to: '2026-11-21T08:00:00Z', ageSeconds: 0 },
      },
    });
    expect(state(utilised([0.85, 0.85, 0.85, 0.85, 0.85]), 'busy')).toBe('well');
    expect(state(utilised([0.99, null, null, null, null]), 'busy')).toBe('unknown');
  });
});

describe('hot', () => {
  it.each([
    [84.9, 'well'],
    [85, 'found'],
    [97, 'found'],
    [null, 'unknown'],
    [Number.NaN, 'unknown'],
  ])('%s C', (temperatureCelsius, expected) => {
    expect(state(device([reading(0, { temperatureCelsius })]), 'hot')).toBe(expected);
  });
  it('is not told by what is older than three minutes', () => {
    expect([3, 3.1].map((minutes) => state(device([reading(minutes, { temperatureCelsius: 90 })]), 'hot'))).toEqual([
      'found',
      'unknown',
    ]);
  });
});

describe('PCIe replays', () => {
  const counted = (...counts: (number | null)[]): DeviceHistory =>
    device(counts.map((pcieReplays, n) => reading(counts.length - 1 - n, { pcieReplays })));
  it('rise', () =>
    expect(verdict(counted(4, 4, 7, null, 9), 'pcie-replays')).toMatchObject({
      state: 'found',
      finding: {
        severity: 'warning',
        numbers: { replaysMore: 5, replaysNow: 9, resets: 0 },
        evidence: { from: '2026-11-21T07:56:00Z' },
      },
    }));
  it('stand still', () => expect(state(counted(4, 4, 4), 'pcie-replays')).toBe('well'));
  it('start anew at a reset, and are never negative', () => {
    expect(state(counted(90, 90, 0, 0), 'pcie-replays')).toBe('well');
    // 3 before the reset, 2 after it; from 93 to 0 nothing is counted.
    expect(verdict(counted(90, 93, 0, 2), 'pcie-replays')).toMatchObject({
      finding: { numbers: { replaysMore: 5, replaysNow: 2, resets: 1 } },
    });
  });
  it('of one reading are unknown', () => expect(state(counted(90), 'pcie-replays')).toBe('unknown'));
  it('never fall: any order of counts and resets', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 2, maxLength: 20 }), (counts) => {
        const found = verdict(counted(...counts), 'pcie-replays');
        if (found.state === 'found') expect(found.finding.numbers['replaysMore']).toBeGreaterThan(0);
        else expect(counts.every((count, n) => n === 0 || count <= counts[n - 1]!)).toBe(true);
      }),
    );
  });
});

describe('gone', () => {
  const missing = (
    seenSecondsAgo: number,
    upSecondsAgo: number | null,
    over: Partial<DeviceHistory> = {},
  ): DeviceHistory =>
    device([reading(1)], {
      cardSeenAt: NOW - seenSecondsAgo * 1000,
      exporterUpAt: upSecondsAgo === null ? null : NOW - upSecondsAgo * 1000,
      ...over,
    });
  it('is a card that its exporter, which answers, no longer names', () => {
    expect(verdict(missing(20, 5), 'gone')).toMatchObject({
      state: 'found',
      finding: {
        severity: 'fatal',
        numbers: { missingSeconds: 15 },
        evidence: { from: '2026-11-21T07:59:40Z', to: '2026-11-21T07:59:55Z', ageSeconds: 5 },
      },
    });
  });
  it.each([
    ['it was named in the same answer', missing(5, 5), 'well'],
    ['another instance or resource of the card was named later', missing(4, 5), 'well'],
    ['its exporter is down, or nobody knows', missing(20, null), 'unknown'],
    ['its exporter was last up four minutes ago', missing(400, 240), 'unknown'],
    ['for less than ten seconds', missing(14, 5), 'unknown'],
    ['it was last seen 31 minutes ago', missing(31 * 60, 5), 'unknown'],
    [
      'an exporter that names no card has been started 50 seconds ago',
      missing(55, 5, { exporterNamesCards: false }),
      'unknown',
    ],
    ['an exporter has named no card for a minute', missing(65, 5, { exporterNamesCards: false }), 'found'],
    [
      'an exporter that names no card came back from a silence, as of a reboot, five minutes ago less a moment',
      missing(400, 5, { exporterNamesCards: false, exporterAnswers: [[NOW - 304_000, NOW - 5000]] }),
      'unknown',
    ],
    [
      'an exporter that came back has named no card for five minutes since',
      missing(400, 5, { exporterNamesCards: false, exporterAnswers: [[NOW - 305_000, NOW - 5000]] }),
      'found',
    ],
    [
      'an exporter that came back two minutes before names others, not yet all',
      missing(220, 5, { exporterAnswers: [[NOW - 125_000, NOW - 5000]] }),
      'unknown',
    ],
    [
      'an exporter that came back before it named the card names it no longer',
      missing(20, 5, { exporterAnswers: [[NOW - 60_000, NOW - 5000]] }),
      'found',
    ],
  ])('%s', (_, one, expected) => expect(state(one, 'gone')).toBe(expected));

  it.each<[string, Partial<DeviceHistory>, true | undefined]>([
    ['other cards, or since before none', {}, undefined],
    ['other cards since it came back', { exporterAnswers: [[NOW - 400_000, NOW - 5000]] }, undefined],
    // A driver that is built, an upgrade with a wrong list, a crash loop: nobody ends a machine that works for those.
    ['none, perhaps started since', { exporterNamesCards: false }, true],
    ['none since it came back', { exporterNamesCards: false, exporterAnswers: [[NOW - 400_000, NOW - 5000]] }, true],
  ])('ends a machine only where its exporter names %s', (_, over, onlySilent) => {
    const found = verdict(missing(500, 5, over), 'gone');
    expect(found.state === 'found' ? found.finding.onlySilent : null).toBe(onlySilent);
  });
});

describe('failed', () => {
  it('is what the card says of itself, as long as it is fresh', () => {
    expect(verdict(device([reading(0, { fault: 'XID 79' })]), 'failed')).toMatchObject({
      state: 'found',
      finding: { severity: 'fatal', title: 'failed: XID 79' },
    });
    expect(state(device([reading(1, { fault: 'XID 79' }), reading(0)]), 'failed')).toBe('well');
    expect(state(device([reading(4, { fault: 'XID 79' })]), 'failed')).toBe('unknown');
  });
});

describe('network latency', () => {
  it.each([
    [0.002, 'well'],
    [0.0021, 'found'],
    [null, 'unknown'],
  ])('%s s', (networkLatencySeconds, expected) =>
    expect(state(device([reading(0, { networkLatencySeconds })]), 'network-latency')).toBe(expected),
  );
});

describe('low utilisation', () => {
  const low = new Array<number | null>(30).fill(0.29);
  it('is every minute of thirty, measured, below 30 %', () => {
    expect(verdict(utilised(low), 'low-utilisation')).toMatchObject({
      state: 'found',
      finding: {
        severity: 'notice',
        numbers: { belowRatio: 0.3, minutes: 30 },
        evidence: { from: '2026-11-21T07:31:00Z', to: '2026-11-21T08:00:00Z' },
      },
    });
  });
  it('is not said where a minute is missing, blank or too high, or where there are too few', () => {
    expect(state(utilised(low.map((one, n) => (n === 12 ? null : one))), 'low-utilisation')).toBe('unknown');
    expect(state(device(utilised(low).readings.filter((_, n) => n !== 12)), 'low-utilisation')).toBe('unknown');
    expect(state(utilised(low.slice(1)), 'low-utilisation')).toBe('unknown');
    expect(state(utilised(low.map((one, n) => (n === 12 ? 0.3 : one))), 'low-utilisation')).toBe('well');
    expect(state(utilised(low), 'low-utilisation', NOW + 4 * MINUTE_MS)).toBe('unknown');
  });
});

describe('missing evidence', () => {
  const readings = fc.array(
    fc.record({
      gpuUtilisationRatio: fc.option(fc.constantFrom(0, 0.2, 0.9)),
      temperatureCelsius: fc.option(fc.constantFrom(40, 90)),
      pcieReplays: fc.option(fc.nat(3)),
      networkLatencySeconds: fc.option(fc.constantFrom(0.001, 0.01)),
    }),
    { minLength: 1, maxLength: 40 },
  );

  it('of everything says nothing of anything', () => {
    for (const one of [device([]), device([reading(0)]), device([reading(30, { gpuUtilisationRatio: 0 })])]) {
      expect(assess(one, NOW).filter(({ rule, state: said }) => said !== 'unknown' && rule !== 'failed')).toEqual([]);
    }
  });

  it('never makes a card idle: with readings taken away it is not found to be little used', () => {
    fc.assert(
      fc.property(readings, fc.nat(), (all, gone) => {
        const make = (list: typeof all): DeviceHistory =>
          device(list.map((one, n) => reading(list.length - 1 - n, one)));
        const less = make(all.map((one, n) => (n === gone % all.length ? { ...one, gpuUtilisationRatio: null } : one)));
        if (state(less, 'low-utilisation') === 'found') expect(state(make(all), 'low-utilisation')).toBe('found');
      }),
      { numRuns: 300 },
    );
  });

  it('clears nothing for an hour, but for low utilisation, which it ends at once', () => {
    const open = HEALTH_RULES.map(
      (rule, n): OpenFinding => ({
        id: String(n),
        rule,
        severity: 'warning',
        team: 'ml',
        resource: 'pod/ml/chat-1',
        gpu: 'GPU-1',
        migInstance: null,
        seenAt: NOW,
      }),
    );
    const cleared = (minutes: number, devices: readonly DeviceHistory[]): string[] =>
      settle(open, devices, NOW + minutes * MINUTE_MS).cleared.map(
        ({ open: { rule }, because }) => `${rule} ${because}`,
      );
    for (const devices of [[], [device([reading(0, { fault: null })], { cardSeenAt: 0 })]]) {
      expect(cleared(60, devices)).toEqual(['low-utilisation no-evidence']);
      expect(cleared(61, devices)).toEqual(HEALTH_RULES.map((rule) => `${rule} no-evidence`));
    }
  });
});

describe('settling', () => {
  const hot = (celsius: number | null): DeviceHistory => device([reading(0, { temperatureCelsius: celsius })]);
  const open: OpenFinding = {
    id: '7',
    rule: 'hot',
    severity: 'warning',
    team: 'ml',
    resource: 'pod/ml/chat-1',
    gpu: 'GPU-1',
    migInstance: null,
    seenAt: at(1),
  };

  it('opens once, renews, and clears by evidence', () => {
    expect(settle([], [hot(90)], NOW)).toMatchObject({ opened: [{ rule: 'hot' }], renewed: [], cleared: [] });
    expect(settle([open], [hot(91)], NOW)).toMatchObject({
      opened: [],
      renewed: [{ open: { id: '7' }, finding: { title: 'hot: 91 C' } }],
      cleared: [],
    });
    expect(settle([open], [hot(60)], NOW)).toMatchObject({
      opened: [],
      renewed: [],
      cleared: [{ open: { id: '7' }, because: 'evidence' }],
    });
    expect(settle([open], [hot(null)], NOW)).toMatchObject({ opened: [], renewed: [], cleared: [] });
  });

  it('keeps MIG instances, cards and resources apart', () => {
    const others = [
      { ...hot(90), migInstance: '1' },
      { ...hot(90), gpu: 'GPU-2' },
      { ...hot(90), resource: 'pod/ml/chat-2' },
    ];
    expect(settle([open], others, NOW).opened).toHaveLength(3);
  });

  it('takes its thresholds from the parameters', () => {
    expect(settle([], [hot(70)], NOW, { ...HEALTH_DEFAULTS, hotFromCelsius: 70 }).opened).toMatchObject([
      { rule: 'hot', numbers: { fromCelsius: 70 } },
    ]);
  });
});
