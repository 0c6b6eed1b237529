/**
 * The sentences about the amounts that a total lacks: every amount is shown with them.
 *
 * Pure, and plain text only, as texts.ts.
 */
import { sayUnpriced } from '../cost/unpriced.js';
import type { LackingAmount, LackingNews } from './alert.js';
import { shownAmount } from './words.js';

/** A few of them: an alert is short, the report names all. */
const MOST_UNPRICED = 3;

const shown = ({ currency, amount }: LackingAmount): string =>
  amount === null ? `Spend in ${currency}` : shownAmount(amount, currency);

/** One sentence for each reason. @param where `in any amount` */
export function lackingTexts(
  { setAside = [], unpriced = [], unconverted = [], unstated = [], unnamed = [] }: LackingNews,
  where: string,
): string[] {
  const reasons: readonly (readonly [readonly LackingAmount[], (amount: string) => string])[] = [
    [unconverted, (amount) => `${amount} has no exchange rate and is not ${where}.`],
    [
      setAside,
      (amount) =>
        `Bills that are not final charge ${amount} for usage that counts at its metered price until they are final.`,
    ],
    [unstated, (amount) => `${amount} is billed without an amortised cost and is not ${where}.`],
    [unnamed, (amount) => `${amount} is metered without the field that the filter needs and is not ${where}.`],
  ];
  return [
    ...reasons.flatMap(([amounts, sentence]) => amounts.map((one) => sentence(shown(one)))),
    ...unpricedText(unpriced, where),
  ];
}

function unpricedText(usage: NonNullable<LackingNews['unpriced']>, where: string): string[] {
  const named = usage.slice(0, MOST_UNPRICED).map((one) => sayUnpriced(one, (text) => Number(text).toFixed(1)));
  const more = usage.length - named.length;
  return named.length === 0 ? [] : [`Not ${where}: ${named.join('; ')}${more > 0 ? `; ${more} more` : ''}.`];
}

/** At the end of a line about a budget: `; not included: 900,000.00 JPY`. */
export function notInIt(
  lacking: readonly LackingAmount[] = [],
  { unpricedGpuHours, hasUnpriced }: { readonly unpricedGpuHours: string; readonly hasUnpriced: boolean } = {
    unpricedGpuHours: '0',
    hasUnpriced: false,
  },
): string {
  const parts = [
    ...lacking.map(({ currency, amount }) => (amount === null ? currency : shownAmount(amount, currency))),
    ...(Number(unpricedGpuHours) > 0 ? [`${Number(unpricedGpuHours).toFixed(1)} GPU-hours without a price`] : []),
    ...(hasUnpriced ? ['storage, traffic or other usage without a price'] : []),
  ];
  return parts.length === 0 ? '' : `; not included: ${parts.join(', ')}`;
}

/** The same for bills that are not final: nothing is missing, the usage counts as metered. */
export const countedOnce = (setAside: readonly LackingAmount[]): string =>
  setAside.length === 0
    ? ''
    : `; the same usage is counted once, as metered: bills that are not final say ${setAside.map(shown).join(', ')}`;
