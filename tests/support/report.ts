/**
 * A team's October by hand, to make reports of: two providers, two GPU kinds, names that try to break out, and every
 * section with something in it.
 */
import { parseDecimal, type Decimal } from '../../src/core/decimal.js';
import type { MonthCell, ReportFacts, SavingFacts } from '../../src/core/report/facts.js';
import { makeReport } from '../../src/core/report/model.js';
import { stated, type Report } from '../../src/core/report/report.js';
import { rateOf } from '../../src/core/money.js';
import { monthOfLabel } from '../../src/core/time.js';
import { optimumOf } from '../../src/planning/commitment/hindsight.js';
import { nextMonthOf } from '../../src/planning/forecast/next-month.js';

export function decimal(text: string): Decimal {
  const value = parseDecimal(text);
  if (value === null) throw new Error(`not a decimal: ${text}`);
  return value;
}

/** Part-milliseconds of so many GPU-hours. */
export const gpuHours = (hours: number): bigint => BigInt(Math.round(hours * 1000)) * 25_200_000n;

export function cell(amount: string | null, hours: number | null, over: Partial<MonthCell> = {}): MonthCell {
  return {
    team: 'red',
    provider: 'AWS',
    sku: 'p5.48xlarge',
    gpuModel: 'H100',
    term: 'on-demand',
    category: 'Usage',
    amount: amount === null ? null : decimal(amount),
    quantity: hours === null ? null : gpuHours(hours),
    unpriced: amount === null && hours !== null ? gpuHours(hours) : 0n,
    ...over,
  };
}

export const saving = (over: Partial<SavingFacts> = {}): SavingFacts => ({
  action: 'act-1',
  team: 'red',
  target: 'instance/i-1',
  effect: 'stop',
  policy: 'idle-stop',
  state: 'measured',
  reason: null,
  appliedAt: '2026-10-05T01:45:00Z',
  counterfactual: 'held',
  currency: 'USD',
  savedToDate: 300_000_000_000n,
  estimate: { mean: 58_400_000_000_000n, low: 40_000_000_000_000n, high: 70_000_000_000_000n },
  rolledBack: false,
  month: {
    counterfactual: 320_000_000_000n,
    actual: 20_000_000_000n,
    measured: 200_000_000_000n,
    verified: 100_000_000_000n,
    unverifiableHours: 1,
  },
  ...over,
});

const days = (month: string, amounts: readonly string[]): { day: string; amount: Decimal }[] =>
  amounts.map((amount, at) => ({ day: `${month}-${String(at + 1).padStart(2, '0')}`, amount: decimal(amount) }));

const steady = (gpus: number): Float64Array => new Float64Array(31 * 24).fill(gpus);

/** October 2026 of the team red. */
export function factsOf(over: Partial<ReportFacts> = {}): ReportFacts {
  const zone = over.zone ?? 'UTC';
  const period = monthOfLabel('2026-10', zone);
  if (period === null) throw new Error('October is a month');
  return {
    team: 'red',
    teamName: 'Red <script>alert("1")</script> & 红队',
    teams: ['red', '=blue'],
    month: '2026-10',
    zone,
    currency: 'USD',
    period,
    asOf: period.end + 4 * 86_400_000,
    madeAt: period.end + 4 * 86_400_000,
    spend: {
      cells: [
        cell('1200.50', 120),
        cell('340.123456789', 100, { term: 'spot' }),
        cell('99.99', 50, { provider: 'Google Cloud', sku: 'a2-highgpu-1g', gpuModel: 'A100-40GB' }),
        cell('8.00155109870', null, { sku: 'EBS', gpuModel: null, term: null }),
        cell('-20.25', null, { sku: null, gpuModel: null, term: null, category: 'Credit' }),
        cell(null, 12, { provider: '=HYPERLINK("http://x","y")', sku: 'x99', gpuModel: 'G2', term: null }),
        cell('55', 5, { team: '=blue' }),
      ],
      unconverted: new Map([['EUR', decimal('12.5')]]),
    },
    comparedDays: null,
    before: {
      cells: [
        cell('800', 100),
        cell('500', 125, { term: 'spot' }),
        cell('77.7', 10, { provider: 'Lambda', sku: 'gpu_1x', gpuModel: 'A10' }),
      ],
      unconverted: new Map(),
    },
    days: [
      ...days('2026-09', new Array<string>(30).fill('45.9')),
      ...days('2026-10', [...new Array<string>(30).fill('50'), '183.36500788770']),
    ],
    budgets: [
      {
        budget: 'red-monthly',
        team: 'red',
        periodStart: '2026-10-01T00:00:00.000Z',
        periodEnd: '2026-11-01T00:00:00.000Z',
        status: 'planned',
        currency: 'USD',
        planned: '1500.000000000',
        spent: '1683.365007888',
        committed: '0.000000000',
        ratio: 1.122243,
        forecast: { mean: '1683.365007888', low: '1683.365007888', high: '1683.365007888' },
        exhaustionAt: '2026-10-30T00:00:00Z',
        unpricedGpuHours: '12.000000',
        lacking: [
          { currency: 'CNY', amount: null },
          { currency: 'USD', amount: '77.10' },
        ],
        crossings: [{ kind: 'actual', ratio: '1', crossedAt: '2026-10-30T01:00:00.000Z' }],
      },
    ],
    savings: [
      saving(),
      saving({
        action: 'act-2',
        state: 'unverifiable',
        reason: 'target-not-metered',
        estimate: null,
        savedToDate: 0n,
        month: { counterfactual: 0n, actual: 0n, measured: 0n, verified: 0n, unverifiableHours: 3 },
      }),
      saving({
        action: 'act-3',
        state: 'estimated',
        savedToDate: 0n,
        estimate: { mean: 1_000_000_000n, low: -500_000_000n, high: 2_500_000_000n },
        month: { counterfactual: 0n, actual: 0n, measured: 0n, verified: 0n, unverifiableHours: 0 },
      }),
    ],
    refusals: [
      {
        action: 'act-9',
        team: 'red',
        target: 'asg/train',
        effect: 'scale',
        state: 'refused',
        at: Date.UTC(2026, 9, 20),
        reasons: [{ code: 'floor', message: 'the floor of 2 replicas' }],
        estimatedMonthlySavings: '120.00',
        estimatedMonthlySavingsLow: '80.00',
        estimatedMonthlySavingsHigh: '160.00',
        currency: 'USD',
      },
    ],
    refusedLaunches: { known: null, reason: 'not-recorded' },
    chances: [
      {
        recommendation: 'rec-1',
        team: 'red',
        title: 'Stop <b>i-7</b>, idle for 40 h',
        policy: 'idle-stop',
        state: 'open',
        estimate: { mean: 900_000_000_000n, low: '400.00', high: '1100.00' },
        estimatedMonthlyCost: '16819.20',
        currency: 'USD',
        effort: 'Low',
        obstacle: null,
      },
      {
        recommendation: 'rec-2',
        team: 'red',
        title: '-2+3 GPUs to spot',
        policy: 'spot-shift',
        state: 'rejected',
        estimate: { mean: 50_000_000_000n, low: null, high: null },
        estimatedMonthlyCost: null,
        currency: 'USD',
        effort: 'Medium',
        obstacle: null,
      },
      {
        recommendation: 'rec-3',
        team: 'red',
        title: 'Ask who owns asg/x',
        policy: 'idle-stop',
        state: 'open',
        estimate: null,
        estimatedMonthlyCost: null,
        currency: 'USD',
        effort: 'VeryLow',
        obstacle: 'there is no such target',
      },
    ],
    demand: [
      {
        provider: 'AWS',
        region: 'us-east-1',
        sku: 'p5.48xlarge',
        gpuModel: 'H100',
        onDemandGpus: steady(2),
        committedGpus: steady(1),
        onDemand: rateOf(decimal('10'), 'USD', 3600n, 'gpu-second'),
        offer: { term: 'reserved-1y', termHours: 8760, rate: rateOf(decimal('6'), 'USD', 3600n, 'gpu-second') },
      },
    ],
    lowUtilisation: 0.3,
    samples: [{ gpuModel: 'H100', sampled: 6000, measured: 5400, low: 1200, utilisation: 3240 }],
    variance: stated([
      {
        provider: 'AWS',
        currency: 'USD',
        accrued: '1540.50',
        billed: '1500.00',
        amount: '-40.50',
        ratio: -0.02629,
        openFindings: 1,
      },
    ]),
    ...over,
  };
}

export function reportOf(over: Partial<ReportFacts> = {}): Report {
  const facts = factsOf(over);
  return makeReport(facts, { optimum: optimumOf(facts.demand), forecast: nextMonthOf(facts) });
}
