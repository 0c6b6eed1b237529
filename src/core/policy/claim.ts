/**
 * The saving that a policy may claim: never more than the spend, and nothing if the spend is unknown.
 *
 * Estimates nothing. A refusal is a value with its reason: a refused saving is shown as unknown, with the reason. The
 * rule applies to a policy's claim and to its calibrated value: whoever wrote the policy, no saving beyond the whole
 * spend leaves decision.ts.
 */
import { withCalibration } from './calibration.js';
import type { Calibration } from './view.js';
import type { Proposal } from './policy.js';
import type { Money } from '../money.js';

export interface SavingClaim {
  readonly claimed: Money;
  /**
   * All that the claim's target cost, or would cost untouched, over the claim's time; null if any of it is unpriced.
   */
  readonly wholeSpend: Money | null;
}

export type ClaimRefusal = 'exceeds-spend' | 'spend-unknown' | 'currency-differs' | 'negative';

export type ClaimVerdict = { readonly accepted: true } | { readonly accepted: false; readonly reason: ClaimRefusal };

const ACCEPTED: ClaimVerdict = { accepted: true };
const refused = (reason: ClaimRefusal): ClaimVerdict => ({ accepted: false, reason });

/** Whether a saving is possible. Saving everything is possible: a stopped target costs nothing. */
export function checkClaim({ claimed, wholeSpend }: SavingClaim): ClaimVerdict {
  if (wholeSpend === null) return refused('spend-unknown');
  if (claimed.currency !== wholeSpend.currency) return refused('currency-differs');
  if (claimed.nanos < 0n) return refused('negative');
  return claimed.nanos > wholeSpend.nanos ? refused('exceeds-spend') : ACCEPTED;
}

/**
 * The computation's entries that a claim's check adds: why it was refused; the estimate in nanos (mean, low, high)
 * before it was cut to the spend.
 */
export const CLAIM_ENTRIES = { refused: 'refused', before: 'savingBeforeBoundNanos' } as const;

/**
 * A proposal with the saving that may be claimed. If the policy's own expected saving is impossible, the saving becomes
 * unknown, with the reason: that is the policy's mistake, and no part of it is worth showing. For other proposals
 * calibration corrects the estimate; neither its ratio nor the width of an interval raises it above the whole spend. A
 * loss claims nothing, and stays.
 * @param currency of the proposal's amounts
 */
export function withinSpend(proposal: Proposal, currency: string, calibration: Calibration | undefined): Proposal {
  // A policy that was written before it had to say what its target costs says nothing.
  const { monthlySavings, monthlyCost = null, computation } = proposal;
  const wholeSpend = monthlyCost === null ? null : { nanos: monthlyCost, currency };
  const verdict =
    monthlySavings === null || monthlySavings.mean <= 0n
      ? ACCEPTED
      : checkClaim({ claimed: { nanos: monthlySavings.mean, currency }, wholeSpend });
  if (!verdict.accepted)
    return {
      ...proposal,
      monthlyCost,
      monthlySavings: null,
      computation: { ...computation, [CLAIM_ENTRIES.refused]: verdict.reason },
    };
  return bounded(withCalibration({ ...proposal, monthlyCost }, calibration));
}

/** The estimate and both its ends are at most the whole spend; where that is unknown, at most nothing. */
function bounded(proposal: Proposal): Proposal {
  const { monthlySavings, monthlyCost, computation } = proposal;
  if (monthlySavings === null) return proposal;
  const { mean, low, high } = monthlySavings;
  const most = monthlyCost ?? 0n;
  if (mean <= most && low <= most && high <= most) return proposal;
  const atMost = (nanos: bigint): bigint => (nanos > most ? most : nanos);
  return {
    ...proposal,
    monthlySavings: { mean: atMost(mean), low: atMost(low), high: atMost(high) },
    computation: { ...computation, [CLAIM_ENTRIES.before]: [mean, low, high].join(' ') },
  };
}
