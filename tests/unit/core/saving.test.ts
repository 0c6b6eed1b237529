import { describe, expect, it } from 'vitest';
import { checkClaim, savingBetween } from '../../../src/core/saving/saving.js';

const usd = (amount: number) => ({ nanos: BigInt(amount) * 1_000_000_000n, currency: 'USD' });

describe('a claim against the whole spend', () => {
  it('refuses $3,200,000 a year on clouds of $25 and $8 an hour: all of it is $289,080', () => {
    const wholeSpend = usd((25 + 8) * 8760);
    expect(wholeSpend).toEqual(usd(289_080));
    expect(checkClaim({ claimed: usd(3_200_000), wholeSpend })).toEqual({ accepted: false, reason: 'exceeds-spend' });
    expect(checkClaim({ claimed: usd(289_080), wholeSpend })).toEqual({ accepted: true });
    expect(checkClaim({ claimed: { ...wholeSpend, nanos: wholeSpend.nanos + 1n }, wholeSpend })).toEqual({ accepted: false, reason: 'exceeds-spend' });
  });

  it('refuses what cannot be known', () => {
    expect(checkClaim({ claimed: usd(1), wholeSpend: null })).toEqual({ accepted: false, reason: 'spend-unknown' });
    expect(checkClaim({ claimed: { nanos: 1n, currency: 'CNY' }, wholeSpend: usd(5) })).toEqual({ accepted: false, reason: 'currency-differs' });
    expect(checkClaim({ claimed: usd(-1), wholeSpend: usd(5) })).toEqual({ accepted: false, reason: 'negative' });
    expect(savingBetween(usd(5), null)).toBeNull();
    expect(savingBetween(null, usd(5))).toBeNull();
    expect(savingBetween(usd(5), { nanos: 1n, currency: 'CNY' })).toBeNull();
    expect(savingBetween(usd(5), usd(7))).toEqual(usd(-2));
  });
});
