/** Jobs that a policy moves to other places, in a replay: by hand, by the policy itself, and against every schedule. */
import { describe, expect, it } from 'vitest';
import type { BacktestCell } from '../../src/core/policy/backtest.js';
import type { RecordedHistory } from '../../src/core/policy/history.js';
import type { Policy, Proposal, SpotMarket } from '../../src/core/policy/policy.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { HOUR_MS } from '../../src/core/time.js';
import { cheapestSchedule } from '../../src/planning/policy/job-optimum.js';
import { spendSlot, wayOf, type JobSlot, type JobState } from '../../src/planning/policy/job-run.js';
import { backtestTeam } from '../../src/planning/policy/report.js';
import { IDLE, ON_DEMAND, SPOT } from '../../src/planning/spot/problem.js';
import { AS_OF, offer, OFFERS, rate, workload } from '../../src/policies/estimating/examples.js';
import { policy as spotShift } from '../../src/policies/spot-shift.js';
import { runningThroughout } from '../support/recorded-sizes.js';

const HOURS = 48;
const at = (hours: number): number => AS_OF + hours * HOUR_MS;
const SKU = 'example.a100-80gb';
const market = (region: string, gone: readonly number[] = []): SpotMarket => ({
  provider: 'AWS',
  region,
  gpuModel: 'A100-80GB',
  from: at(-48),
  tickSeconds: 600,
  available: Array.from({ length: (48 + HOURS) * 6 }, (_, tick) => !gone.includes(Math.floor(tick / 6) - 48)),
});

/** Ten hours of work of one GPU from the beginning on, each start of which loses half an hour. */
function recorded(over: Partial<RecordedHistory> = {}, term: 'spot' | 'on-demand' = 'on-demand'): RecordedHistory {
  const one = workload('train', {
    kind: 'training',
    interruptible: true,
    term,
    job: {
      startedAt: AS_OF,
      deadline: null,
      workHours: 10,
      workLeftHours: null,
      restartHours: 0.5,
      resizable: null,
      checkpointGb: 100,
      dataGb: 0,
    },
  });
  return {
    organisation: 'default',
    team: 'lab',
    currency: 'USD',
    from: AS_OF,
    to: at(HOURS),
    demand: [],
    resources: [],
    workloads: [one],
    jobs: [
      {
        workload: 'train',
        work: { target: 'instance/train', provider: 'AWS', hours: 10, since: AS_OF, isWhole: true },
        fleet: { ready: 0, booting: 0, minReplicas: 0, maxReplicas: 1, changedAt: null },
      },
    ],
    spotMarkets: [market('us-east-1'), market('us-west-2')],
    leases: [],
    budgets: [],
    peak: NO_PEAK,
    offersAt: () => [
      ...OFFERS,
      offer('A100-80GB', 'on-demand', 4000, { region: 'us-west-2' }),
      offer('A100-80GB', 'spot', 500, { region: 'us-west-2' }),
    ],
    pricesAt: () => ({ onDemand: rate(4000), reserved: [] }),
    sizes: runningThroughout([one], AS_OF, at(HOURS)),
    ...over,
  };
}

function cellOf(past: RecordedHistory, policy: Policy, params: unknown = {}): BacktestCell {
  const read = policy.params.parse(params) as Record<string, unknown>;
  return backtestTeam(past, { policy, params: read, document: 'd', forecaster: null }).cells[0]!;
}
const row = (cell: BacktestCell, name: string) => cell.policies.find((one) => one.name === name)!;

/** Moves the job at an hour of the window. */
const moving = (hour: number, change: Proposal['change']): Policy => ({
  ...(spotShift as unknown as Policy),
  evaluate: ({ asOf }) =>
    asOf === at(hour)
      ? [
          {
            action: 'MoveToSpot',
            target: 'train',
            change: { term: 'spot', provider: 'AWS', sku: SKU, ...change },
            title: '',
            monthlySavings: null,
            monthlyCost: null,
            protective: true,
            computation: {},
            evidence: [],
            risk: { interruption: 'None', note: '' },
            restartNeeded: true,
            implementationEffort: 'Low',
            rollbackPossible: true,
            validDays: 1,
          },
        ]
      : [],
});

describe('a job that is moved in a replay', () => {
  it('pays the restart, the data and the price of the place from then on', () => {
    const cell = cellOf(recorded(), moving(2, { region: 'us-west-2', egress: '2.0' }));
    expect(row(cell, 'none')).toMatchObject({ cost: expect.closeTo(42, 9) });
    // Two hours at 4, the data, and the other eight and a half of work with another half hour at 0.5.
    expect(row(cell, 'bursar')).toMatchObject({ cost: expect.closeTo(14.5, 9), restarts: 1 });
    // Who knows it all goes there at once: 2 for the data, ten and a half hours at 0.5.
    expect(row(cell, 'clairvoyant')).toMatchObject({ cost: expect.closeTo(7.25, 9) });
  });

  it('waits there while spot is gone there, and loses a start', () => {
    const past = recorded({ spotMarkets: [market('us-east-1'), market('us-west-2', [5, 6])] });
    const cell = cellOf(past, moving(2, { region: 'us-west-2', egress: '2.0' }));
    expect(row(cell, 'bursar')).toMatchObject({ cost: expect.closeTo(14.75, 9), restarts: 2 });
  });

  it('stays where it is if the place has no price, and the proposal has no effect', () => {
    const cell = cellOf(recorded(), moving(2, { region: 'eu-west-1', egress: '2.0' }));
    expect(row(cell, 'bursar')).toMatchObject({ cost: expect.closeTo(42, 9), restarts: 0 });
  });

  it('is moved by spot-shift to the cheaper region, and nobody is cheaper than the optimum', () => {
    const egress = [
      { from: 'AWS/us-east-1', to: 'AWS/us-west-2', perGb: 0.01 },
      { from: 'AWS/us-west-2', to: 'AWS/us-east-1', perGb: 0.01 },
    ];
    const params = { historyDays: 2, places: ['AWS/us-west-2'], egress };
    const cell = cellOf(recorded({}, 'spot'), spotShift as unknown as Policy, params);
    const [moved, stayed] = [row(cell, 'bursar'), row(cell, 'none')];
    expect(stayed).toMatchObject({ cost: expect.closeTo(15.75, 9) });
    // 1 for the data.
    expect(Number(moved.cost)).toBeLessThan(8);
    expect(Number(row(cell, 'clairvoyant').cost)).toBeLessThanOrEqual(Number(moved.cost) + 1e-9);
  });
});

describe('the optimum over several places', () => {
  it('is the least of every schedule', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const places = [0, 1, 2].map((place) => slots(seed, place));
      const sent = new Map<string, number>([
        [wayOf(0, 1), seed % 3],
        [wayOf(1, 0), seed % 2],
        [wayOf(1, 2), 1],
      ]);
      const first: JobState = { held: IDLE, restartLeftMs: 0, workLeftMs: (1 + (seed % 3)) * HOUR_MS };
      const restartMs = (seed % 2) * 0.5 * HOUR_MS;
      const asked = { slots: places[0]!, elsewhere: places.slice(1), sent, first, restartMs };
      expect(cheapestSchedule(asked)).toBeCloseTo(every(places, sent, first, restartMs), 9);
    }
  });
});

const slots = (seed: number, place: number): JobSlot[] =>
  Array.from({ length: 4 }, (_, n) => {
    const drawn = (seed * 31 + place * 17 + n * 7) % 11;
    return {
      from: n * HOUR_MS,
      ms: HOUR_MS,
      onDemand: 5 + (drawn % 4),
      spot: drawn < 3 ? null : 1 + drawn / 4,
      isVerified: true,
    };
  });

function every(
  places: readonly (readonly JobSlot[])[],
  sent: ReadonlyMap<string, number>,
  state: JobState,
  restartMs: number,
  slot = 0,
): number {
  if (state.workLeftMs <= 0) return 0;
  if (slot >= places[0]!.length) return Infinity;
  const from = state.place ?? 0;
  const costs = [IDLE, SPOT, ON_DEMAND].flatMap((mode) =>
    (mode === IDLE ? [from] : [0, 1, 2]).map((to) => {
      const egress = to === from ? 0 : sent.get(wayOf(from, to));
      if (egress === undefined) return Infinity;
      const spent = spendSlot(places[to]![slot]!, state, mode, restartMs, undefined, { place: to, egress });
      return spent.cost + every(places, sent, spent.state, restartMs, slot + 1);
    }),
  );
  return Math.min(...costs);
}
