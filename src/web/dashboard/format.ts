/**
 * How values are shown: amounts from their decimal text, never through a float, and unknown as unknown, never as 0.
 *
 * Numbers and dates are in the reader's form; instants are shown in UTC, as the costs are kept.
 */
export const UNKNOWN = 'unknown';

const formats = new Map<string, Intl.NumberFormat>();

function numberFormat(key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const known = formats.get(key);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat(undefined, options);
  formats.set(key, made);
  return made;
}

/** A decimal text is formatted digit by digit (ECMA-402, Intl.NumberFormat v3). */
const exact = (text: string): Intl.StringNumericLiteral => text as Intl.StringNumericLiteral;

/** `$1,234.56`; with `whole` without the cents, for places where only the size matters. */
export function money(text: string | null, currency: string, whole = false): string {
  if (text === null) return UNKNOWN;
  const digits = whole ? { maximumFractionDigits: 0 } : {};
  return numberFormat(`money ${currency} ${whole}`, { style: 'currency', currency, ...digits }).format(exact(text));
}

/** Grouped, with at most so many digits after the point. */
export function decimal(text: string | null, digits = 2): string {
  return text === null ? UNKNOWN : numberFormat(`decimal ${digits}`, { maximumFractionDigits: digits }).format(exact(text));
}

export const count = (value: number | null): string => (value === null ? UNKNOWN : numberFormat('count', {}).format(value));

/** `1 team`, `2 teams`. */
export const several = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** 0.823 as 82 %. */
export const percent = (ratio: number | null): string => (ratio === null ? UNKNOWN : numberFormat('percent', { style: 'percent', maximumFractionDigits: 0 }).format(ratio));

const INSTANT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });

export const instant = (iso: string | null): string => (iso === null ? UNKNOWN : `${INSTANT.format(new Date(iso))} UTC`);
export const day = (iso: string | null): string => (iso === null ? UNKNOWN : DAY.format(new Date(iso)));
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
/** Of epoch milliseconds. */
export const shortDay = (at: number): string => SHORT_DAY.format(at);

/** `2026-11` as November 2026. */
export const month = (label: string): string => MONTH.format(new Date(`${label}-01`));

/** Seconds as people say them: 95 min, 3 h, 12 days. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** `PurchaseSavingsPlans` and `not-planned` as words. */
export const words = (name: string): string => {
  const text = name.replaceAll('-', ' ').replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** A value of JSON in one line, for evidence and parameters. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return UNKNOWN;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
