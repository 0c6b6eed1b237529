/**
 * What may be claimed as saved: never more than was spent, and nothing where the spend is unknown.
 *
 * Decides nothing and estimates nothing. A refusal is a value with its reason: a claim that was refused is shown as such.
 */
import type { Money } from './money.js';

export interface SavingClaim {
  readonly claimed: Money;
  /** All that the claim's target cost, or would cost untouched, over the claim's time; null where any of it is unpriced. */
  readonly wholeSpend: Money | null;
}

export type ClaimRefusal = 'exceeds-spend' | 'spend-unknown' | 'currency-differs' | 'negative';

export type ClaimVerdict = { readonly accepted: true } | { readonly accepted: false; readonly reason: ClaimRefusal };

const refused = (reason: ClaimRefusal): ClaimVerdict => ({ accepted: false, reason });

/** Whether a saving can be true at all. Saving everything can: what is stopped costs nothing. */
export function checkClaim({ claimed, wholeSpend }: SavingClaim): ClaimVerdict {
  if (wholeSpend === null) return refused('spend-unknown');
  if (claimed.currency !== wholeSpend.currency) return refused('currency-differs');
  if (claimed.nanos < 0n) return refused('negative');
  return claimed.nanos > wholeSpend.nanos ? refused('exceeds-spend') : { accepted: true };
}

/**
 * What replacing one cost by another saves; null (unverifiable) where either is unpriced. Below zero it is a loss, and
 * says so.
 */
export function savingBetween(current: Money | null, alternative: Money | null): Money | null {
  if (current === null || alternative === null || current.currency !== alternative.currency) return null;
  return { nanos: current.nanos - alternative.nanos, currency: current.currency };
}
