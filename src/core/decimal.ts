/**
 * Exact decimals for amounts and quantities from other sources: a bill's own digits survive, including zeros at the
 * end.
 *
 * Never rounds. Bursar's own prices are Money (nanos), see money.ts.
 */

/** The number `unscaled / 10^scale`. `scale` is never negative. */
export interface Decimal {
  readonly unscaled: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { unscaled: 0n, scale: 0 };

/** No real amount has more; a longer exponent is an attack or a slip, and would make a giant number. */
const MOST_DIGITS = 60;
const FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/** Parses `-12.340`, `1.25E-6`, `.5`. Returns null for anything else, the empty string included. */
export function parseDecimal(text: string): Decimal | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const whole = match[2] ?? '';
  const fraction = match[3] ?? '';
  if (whole.length + fraction.length === 0 || whole.length + fraction.length > MOST_DIGITS) return null;
  const exponent = match[4] === undefined ? 0 : Number(match[4]);
  if (Math.abs(exponent) > MOST_DIGITS) return null;
  let unscaled = BigInt(whole + fraction);
  if (match[1] === '-') unscaled = -unscaled;
  const scale = fraction.length - exponent;
  return scale >= 0 ? { unscaled, scale } : { unscaled: unscaled * 10n ** BigInt(-scale), scale: 0 };
}

const POWERS: readonly bigint[] = Array.from({ length: 2 * MOST_DIGITS + 1 }, (_, power) => 10n ** BigInt(power));

/** 10^power as a bigint. */
export function tenTo(power: number): bigint {
  return POWERS[power] ?? 10n ** BigInt(power);
}

/** `decimal` with at least `scale` digits after the point. */
function unscaledAt(decimal: Decimal, scale: number): bigint {
  return decimal.scale === scale ? decimal.unscaled : decimal.unscaled * tenTo(scale - decimal.scale);
}

/** The sum, with the longer of the two scales (as PostgreSQL's numeric does). */
export function addDecimal(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { unscaled: unscaledAt(a, scale) + unscaledAt(b, scale), scale };
}

/** A sum that grows in its place, as `addDecimal` would: a bill's lines are added to several sums each. */
export class DecimalSum implements Decimal {
  unscaled = 0n;
  scale = 0;

  add(decimal: Decimal): void {
    if (decimal.scale === this.scale) {
      this.unscaled += decimal.unscaled;
      return;
    }
    const scale = Math.max(this.scale, decimal.scale);
    this.unscaled = unscaledAt(this, scale) + unscaledAt(decimal, scale);
    this.scale = scale;
  }
}

/** The same number with at least so many decimal places. */
export function withScale({ unscaled, scale }: Decimal, least: number): Decimal {
  return scale >= least ? { unscaled, scale } : { unscaled: unscaled * tenTo(least - scale), scale: least };
}

export function negateDecimal(a: Decimal): Decimal {
  return { unscaled: -a.unscaled, scale: a.scale };
}

/** Negative, zero or positive as a is below, equal to or above b. */
export function compareDecimal(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const difference = unscaledAt(a, scale) - unscaledAt(b, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Plain notation with every digit of the scale: `8.00155109870`. */
export function formatDecimal(decimal: Decimal): string {
  const digits = (decimal.unscaled < 0n ? -decimal.unscaled : decimal.unscaled)
    .toString()
    .padStart(decimal.scale + 1, '0');
  const sign = decimal.unscaled < 0n ? '-' : '';
  if (decimal.scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -decimal.scale)}.${digits.slice(-decimal.scale)}`;
}

/** part / whole to six digits, halves up; null if the whole is not above zero. */
export function ratioOf(part: Decimal, whole: Decimal): string | null {
  if (whole.unscaled <= 0n || part.unscaled < 0n) return null;
  const scaled = part.unscaled * 10n ** BigInt(whole.scale) * 2_000_000n;
  const divisor = whole.unscaled * 10n ** BigInt(part.scale);
  return formatDecimal({ unscaled: (scaled / divisor + 1n) / 2n, scale: 6 });
}
