/**
 * `spot-serving` replayed over a recorded history: spot is lost for hours in one zone and then in all, on-demand stands
 * in, and the promise is held for less than on-demand alone costs.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { BacktestCell } from '../../src/core/policy/backtest.js';
import type { MeteredGpus, RecordedHistory } from '../../src/core/policy/history.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { DAY_MS, HOUR_MS } from '../../src/core/time.js';
import type { Policy, WorkloadView } from '../../src/core/policy/policy.js';
import { backtestTeam } from '../../src/planning/policy/report.js';
import { offer, OFFERS, workload } from '../../src/policies/estimating/examples.js';
import { policy } from '../../src/policies/spot-serving.js';

/** Where a window of the promise begins. */
const FROM = Date.UTC(2026, 9, 6);
const TO = FROM + 2 * DAY_MS;
const ZONES = ['us-east-1a', 'us-east-1b'];
const PAST_DAYS = 4;
/** Hours of the window in which a zone has no spot. */
const GONE: readonly (readonly [number, number])[][] = [
  [
    [6, 9],
    [20, 22],
  ],
  [
    [20, 21.5],
    [30, 31],
  ],
];

const isThere = (zone: number, hour: number): boolean => !GONE[zone]!.some(([from, to]) => hour >= from && hour < to);
const group = (name: string, zone: string, term: 'spot' | 'on-demand'): WorkloadView =>
  workload(name, {
    zone,
    term,
    partOf: 'chat',
    fleet: { ready: 0, booting: 0, minReplicas: 0, maxReplicas: 10, changedAt: null },
  });

function history(): RecordedHistory {
  const metered = (gpus: number): [number, readonly MeteredGpus[]][] =>
    Array.from({ length: 49 }, (_, hour) => [
      FROM + (hour - 1) * HOUR_MS,
      gpus === 0
        ? []
        : [
            {
              provider: 'AWS',
              region: 'us-east-1',
              sku: 'example.a100-80gb',
              gpuModel: 'A100-80GB',
              term: 'on-demand',
              gpus,
            },
          ],
    ]);
  return {
    organisation: 'default',
    team: 'research',
    currency: 'USD',
    from: FROM,
    to: TO,
    demand: [],
    resources: [],
    workloads: [...ZONES.map((zone, at) => group(`spot-${at}`, zone, 'spot')), group('od', 'us-east-1a', 'on-demand')],
    jobs: [],
    sizes: new Map([
      ['spot-0', new Map(metered(0))],
      ['spot-1', new Map(metered(0))],
      ['od', new Map(metered(3))],
    ]),
    spotMarkets: ZONES.map((region, zone) => ({
      provider: 'AWS',
      region,
      gpuModel: 'A100-80GB',
      from: FROM - PAST_DAYS * DAY_MS,
      tickSeconds: 600,
      // The past had the same hours.
      available: Array.from({ length: (PAST_DAYS + 2) * 144 }, (_, tick) =>
        isThere(zone, tick < PAST_DAYS * 144 ? (tick / 6) % 48 : tick / 6 - PAST_DAYS * 24),
      ),
    })),
    leases: [],
    budgets: [],
    peak: NO_PEAK,
    offersAt: () => [...OFFERS, ...ZONES.map((region) => offer('A100-80GB', 'spot', 1200, { region }))],
    pricesAt: () => ({ onDemand: null, reserved: [] }),
  };
}

describe('a service replayed on spot', () => {
  let cell: BacktestCell;
  let decisions: readonly { readonly action: string; readonly at: number; readonly target: string }[];
  beforeAll(() => {
    const params = policy.params.parse({ service: 'chat', replicas: 3, historyDays: PAST_DAYS, coldStartMinutes: 5 });
    const request = { policy: policy as unknown as Policy, params, document: 'chat', forecaster: null };
    const tested = backtestTeam(history(), request);
    cell = tested.cells.find(({ name }) => name === 'research/workloads')!;
    decisions = tested.run.decisions;
  });
  const of = (name: string): BacktestCell['policies'][number] => cell.policies.find((one) => one.name === name)!;

  it('holds the promise, and costs less than on-demand alone', () => {
    expect(of('none')).toMatchObject({ cost: 3 * 4 * 48, servedShare: 1 });
    expect(of('on-demand')).toMatchObject({ cost: 3 * 4 * 48, servedShare: 1, saved: 0 });
    const { cost, servedShare, saved } = of('bursar');
    expect(servedShare).toBeGreaterThanOrEqual(0.99);
    expect(servedShare).toBeLessThan(1);
    expect(Number(cost)).toBeLessThan(0.5 * 3 * 4 * 48);
    expect(saved).toBeCloseTo(3 * 4 * 48 - Number(cost), 9);
    // No cheaper than three on spot whenever there is any.
    expect(Number(cost)).toBeGreaterThan(3 * 1.2 * 46.5 + 3 * 4 * 1.5);
  });

  it('brings on-demand back while spot is gone, and lets it go again', () => {
    const ofOnDemand = decisions
      .filter(({ target }) => target === 'od')
      .map(({ action, at }) => [action, (at - FROM) / HOUR_MS]);
    expect(ofOnDemand[0]![0]).toBe('ScaleIn');
    expect(ofOnDemand.some(([action, hour]) => action === 'ScaleOut' && Number(hour) >= 20 && Number(hour) < 21)).toBe(
      true,
    );
    expect(ofOnDemand.some(([action, hour]) => action === 'ScaleIn' && Number(hour) >= 21.5)).toBe(true);
    expect(decisions.length).toBeLessThan(40);
  });
});
