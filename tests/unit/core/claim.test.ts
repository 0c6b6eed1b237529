/** No saving beyond the whole spend passes the one door between policies and people, whoever claims it. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { calibrationKey } from '../../../src/core/policy/calibration.js';
import type { Calibration } from '../../../src/core/policy/view.js';
import { checkClaim, withinSpend } from '../../../src/core/policy/claim.js';
import { decide } from '../../../src/core/policy/decision.js';
import type { PolicyDocument } from '../../../src/core/policy/document.js';
import {
  recommendationOf,
  viewOf,
  type Policy,
  type PolicyView,
  type Proposal,
  type SavingsEstimate,
} from '../../../src/core/policy/policy.js';
import type { Recommendation } from '../../../src/core/policy/recommendation.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const of = (name: string): Policy => policies.find((policy) => policy.name === name)!;

const usd = (amount: number) => ({ nanos: BigInt(amount) * 1_000_000_000n, currency: 'USD' });

describe('a claim against the whole spend', () => {
  it('refuses $3,200,000 a year on clouds of $25 and $8 an hour: all of it is $289,080', () => {
    const wholeSpend = usd((25 + 8) * 8760);
    expect(wholeSpend).toEqual(usd(289_080));
    expect(checkClaim({ claimed: usd(3_200_000), wholeSpend })).toEqual({ accepted: false, reason: 'exceeds-spend' });
    expect(checkClaim({ claimed: usd(289_080), wholeSpend })).toEqual({ accepted: true });
    expect(checkClaim({ claimed: { ...wholeSpend, nanos: wholeSpend.nanos + 1n }, wholeSpend })).toEqual({
      accepted: false,
      reason: 'exceeds-spend',
    });
  });

  it('refuses what cannot be known', () => {
    expect(checkClaim({ claimed: usd(1), wholeSpend: null })).toEqual({ accepted: false, reason: 'spend-unknown' });
    expect(checkClaim({ claimed: { nanos: 1n, currency: 'CNY' }, wholeSpend: usd(5) })).toEqual({
      accepted: false,
      reason: 'currency-differs',
    });
    expect(checkClaim({ claimed: usd(-1), wholeSpend: usd(5) })).toEqual({ accepted: false, reason: 'negative' });
  });
});

const proposal = (monthlySavings: SavingsEstimate | null, monthlyCost: bigint | null): Proposal => ({
  action: 'Stop',
  target: 't',
  title: '',
  monthlySavings,
  monthlyCost,
  computation: { gpus: 8 },
  evidence: [],
  risk: { interruption: 'Low', note: '' },
  restartNeeded: false,
  implementationEffort: 'Low',
  rollbackPossible: true,
  validDays: 1,
});
const exactly = (mean: bigint): SavingsEstimate => ({ mean, low: mean, high: mean });
const more: Calibration = { ratio: 1.3, low: 1.1, high: 1.5, cases: 30 };

describe('what a proposal may claim', () => {
  it('is everything that is spent at most, whatever others realised', () => {
    // 1,000 a month, all of it saved, and 1.3 times as much was realised elsewhere: 1,300 of 1,000 cannot be.
    const all = withinSpend(proposal(exactly(1000n), 1000n), 'USD', more);
    expect(all.monthlySavings).toEqual({ mean: 1000n, low: 1000n, high: 1000n });
    expect(all.computation).toEqual({
      gpus: 8,
      calibrationRatio: 1.3,
      calibrationCases: 30,
      savingBeforeCalibrationNanos: '1000 1000 1000',
      savingBeforeBoundNanos: '1300 1100 1500',
    });
  });

  it('is bounded end by end: 600 x 1.3 is below 800, 600 x 1.5 is not', () => {
    expect(withinSpend(proposal(exactly(600n), 800n), 'USD', more)).toMatchObject({
      monthlySavings: { mean: 780n, low: 660n, high: 800n },
      computation: { savingBeforeBoundNanos: '780 660 900' },
    });
    expect(withinSpend(proposal(exactly(600n), 900n), 'USD', more).computation).not.toHaveProperty(
      'savingBeforeBoundNanos',
    );
    expect(withinSpend(proposal({ mean: 50n, low: 10n, high: 130n }, 100n), 'USD', undefined)).toMatchObject({
      monthlySavings: { mean: 50n, low: 10n, high: 100n },
      computation: { savingBeforeBoundNanos: '50 10 130' },
    });
  });

  it('is unknown where the policy itself claims more, or nobody knows what is spent, corrected or not', () => {
    for (const calibration of [undefined, more, { ...more, ratio: 0.5, low: 0.4, high: 0.6 }]) {
      expect(withinSpend(proposal(exactly(1001n), 1000n), 'USD', calibration)).toMatchObject({
        monthlySavings: null,
        monthlyCost: 1000n,
        computation: { gpus: 8, refused: 'exceeds-spend' },
      });
      expect(withinSpend(proposal(exactly(1n), 0n), 'USD', calibration)).toMatchObject({
        monthlySavings: null,
        computation: { refused: 'exceeds-spend' },
      });
      expect(withinSpend(proposal(exactly(1n), null), 'USD', calibration)).toMatchObject({
        monthlySavings: null,
        monthlyCost: null,
        computation: { refused: 'spend-unknown' },
      });
    }
  });

  it('of a policy that was written before it had to say what its target costs is nothing', () => {
    const { monthlyCost: _, ...old } = proposal(exactly(1000n), 1000n);
    expect(withinSpend(old as Proposal, 'USD', undefined)).toMatchObject({
      monthlySavings: null,
      monthlyCost: null,
      computation: { refused: 'spend-unknown' },
    });
  });

  it('is no matter of a loss, nor of what is not known', () => {
    for (const one of [
      proposal(exactly(-5n), null),
      proposal(exactly(-5n), 3n),
      proposal(null, null),
      proposal(null, 7n),
      proposal(exactly(0n), null),
    ])
      expect(withinSpend(one, 'USD', more)).toEqual(one);
    expect(withinSpend(proposal({ mean: -5n, low: -9n, high: 4n }, null), 'USD', more).monthlySavings).toEqual({
      mean: -5n,
      low: -9n,
      high: 0n,
    });
  });
});

const documentOf = ({ name }: Policy, params: object): PolicyDocument => ({
  name,
  policy: name,
  teams: '*',
  mode: 'recommend',
  params: { ...params },
  priority: 0,
});
/** The first recommendation of one policy alone. */
function made(policy: Policy, view: PolicyView, calibration?: Calibration, params: object = {}): Recommendation {
  const calibrations = calibration === undefined ? {} : { calibrations: { [calibrationKey(policy)]: calibration } };
  return decide({ ...view, ...calibrations }, [documentOf(policy, params)], [policy])[0]!.recommendation;
}
/** That of a bundled policy on one of its examples. */
function madeOf(name: string, example: number, calibration?: Calibration): Recommendation {
  const { view, params } = of(name).examples[example]!;
  return made(of(name), view, calibration, params as object);
}

describe('a recommendation', () => {
  it('to stop an idle machine of $10 an hour saves at most $7,300 a month', () => {
    const [plain, corrected] = [
      madeOf('idle-stop', 0),
      madeOf('idle-stop', 0, { ratio: 2, low: 1.9, high: 2, cases: 400 }),
    ];
    expect(plain.estimatedMonthlyCost).toBe('7300.00');
    // Idle for more than half of the time: twice of it would be more than the machine costs.
    expect(Number(plain.estimatedMonthlySavings)).toBeGreaterThan(3650);
    expect(plain.estimatedSavingsPercentage).toBeCloseTo(Number(plain.estimatedMonthlySavings) / 73, 1);
    expect(corrected).toMatchObject({
      estimatedMonthlyCost: '7300.00',
      estimatedMonthlySavings: '7300.00',
      estimatedMonthlySavingsHigh: '7300.00',
      estimatedSavingsPercentage: 100,
    });
    expect(corrected.computation).toHaveProperty('savingBeforeBoundNanos');
  });

  it('to release what costs $32 an hour saves all of it, and no correction makes it more', () => {
    for (const calibration of [undefined, more]) {
      expect(madeOf('lease', 0, calibration)).toMatchObject({
        estimatedMonthlyCost: '23360.00',
        estimatedMonthlySavings: '23360.00',
        estimatedMonthlySavingsNanos: '23360000000000',
        estimatedSavingsPercentage: 100,
      });
    }
    expect(madeOf('lease', 1)).toMatchObject({
      action: 'Notify',
      estimatedMonthlyCost: '23360.00',
      estimatedMonthlySavings: null,
      estimatedSavingsPercentage: null,
    });
  });

  it('of a saving that happens once says what the job costs in one piece: 8.5 hours at noon of $4 x 1.5', () => {
    // 12:00 to 20:00 at 6.00, and the ninth whole hour at 4.00: a start and 8 hours of work take 9 whole hours.
    const one = madeOf('off-peak-shift', 0, { ratio: 2, low: 2, high: 2, cases: 400 });
    expect(one).toMatchObject({
      estimatedMonthlyCost: '52.00',
      computation: { costInOnePiece: '52.000000', costInPieces: '36.000000' },
      estimatedMonthlySavings: '32.00',
      estimatedSavingsPercentage: 61.5,
    });
    expect(madeOf('off-peak-shift', 0)).toMatchObject({
      estimatedMonthlyCost: '52.00',
      estimatedMonthlySavings: '16.00',
      estimatedSavingsPercentage: 30.8,
    });
  });

  it('to move back on demand costs, and says what it costs now', () => {
    // 2 GPUs on spot at 1.50: 2,190 a month; on demand at 4.00 they cost 3,650 more.
    expect(madeOf('spot-shift', 1)).toMatchObject({
      action: 'MoveToOnDemand',
      estimatedMonthlyCost: '2190.00',
      estimatedMonthlySavings: '-3650.00',
      estimatedSavingsPercentage: -166.7,
    });
  });

  it('to reserve says what the covered hours cost on demand: four GPUs of $3.06 that are used day and night', () => {
    expect(madeOf('reserve-baseline', 0)).toMatchObject({
      estimatedMonthlyCost: '8935.20',
      estimatedMonthlySavings: '3574.08',
      estimatedSavingsPercentage: 40,
    });
  });

  it('to scale in says what all replicas cost now: ten of $4', () => {
    expect(madeOf('target-tracking', 6)).toMatchObject({ action: 'ScaleIn', estimatedMonthlyCost: '29200.00' });
  });

  it('of a policy of somebody else claims no more either', () => {
    const boast = (monthlyCost: bigint | null): Policy => ({
      name: 'boast',
      version: 1,
      description: '',
      params: z.looseObject({}),
      evaluate: () => [proposal(exactly(3_200_000_000_000_000n), monthlyCost)],
      examples: [],
    });
    const view = viewOf({ team: 'red', asOf: 0, currency: 'USD' });
    expect(made(boast(289_080_000_000_000n), view)).toMatchObject({
      estimatedMonthlySavings: null,
      estimatedMonthlySavingsNanos: null,
      estimatedMonthlyCost: '289080.00',
      estimatedSavingsPercentage: null,
      computation: { refused: 'exceeds-spend' },
    });
    expect(made(boast(null), view)).toMatchObject({
      estimatedMonthlySavings: null,
      estimatedMonthlyCost: null,
      estimatedSavingsPercentage: null,
      computation: { refused: 'spend-unknown' },
    });
  });

  it('is a text without bigints, and has no share of a cost of nothing', () => {
    const [policy, view] = [{ name: 'p', version: 1 }, viewOf({ team: 'red', asOf: 0, currency: 'USD' })];
    expect(
      JSON.parse(JSON.stringify(recommendationOf(view, policy, proposal(exactly(125_000_000n), 1_000_000_000n)))),
    ).toMatchObject({
      estimatedMonthlySavings: '0.12',
      estimatedMonthlyCost: '1.00',
      estimatedSavingsPercentage: 12.5,
    });
    expect(recommendationOf(view, policy, proposal(exactly(-5n), 0n))).toMatchObject({
      estimatedMonthlyCost: '0.00',
      estimatedSavingsPercentage: null,
    });
    expect(recommendationOf(view, policy, proposal(exactly(5n), 10n))).not.toHaveProperty('monthlyCost');
  });
});
