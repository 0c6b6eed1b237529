/**
 * Formats values: amounts from their decimal text, never through a float, and unknown as unknown, never as 0.
 *
 * Numbers and dates have the reader's format; instants are shown in UTC, like the costs.
 */
import { formatDecimal } from '../../core/decimal.js';
import { inReadersWords, isKey, numberFormat, raw, reader, say } from './language.js';

export const unknown = (): string => say('unknown');

/** A decimal text is formatted digit by digit (ECMA-402, Intl.NumberFormat v3). */
const exact = (text: string): Intl.StringNumericLiteral => text as Intl.StringNumericLiteral;

/** `$1,234.56`; with `whole` without the cents, where only the size matters. */
export function money(text: string | null, currency: string, whole = false): string {
  if (text === null) return unknown();
  const digits = whole ? { maximumFractionDigits: 0 } : {};
  return numberFormat(`money ${currency} ${whole}`, { style: 'currency', currency, ...digits }).format(exact(text));
}

/** A price: up to four digits after the point. */
export const price = (text: string, currency: string): string =>
  numberFormat(`price ${currency}`, { style: 'currency', currency, maximumFractionDigits: 4 }).format(exact(text));

/** Grouped, with at most so many digits after the point. */
export function decimal(text: string | null, digits = 2): string {
  return text === null
    ? unknown()
    : numberFormat(`decimal ${digits}`, { maximumFractionDigits: digits }).format(exact(text));
}

export const count = (value: number | null): string =>
  value === null ? unknown() : numberFormat('count', {}).format(value);

/** 0.823 as 82 %. */
export const percent = (ratio: number | null): string =>
  ratio === null ? unknown() : numberFormat('percent', { style: 'percent', maximumFractionDigits: 0 }).format(ratio);

const dates = new Map<string, Intl.DateTimeFormat>();

function dateFormat(key: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const { locale } = reader.value;
  const known = dates.get(`${locale} ${key}`) ?? new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
  dates.set(`${locale} ${key}`, known);
  return known;
}

export const instant = (iso: string | null): string =>
  iso === null
    ? unknown()
    : `${dateFormat('instant', { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(iso))} UTC`;
export const day = (iso: string | null): string =>
  iso === null ? unknown() : dateFormat('day', { dateStyle: 'medium' }).format(new Date(iso));
/** Days from the first to the last. */
export const spanOf = (first: string, last: string): string =>
  first === last ? day(first) : say('span', { from: day(first), to: day(last) });
/** Of epoch milliseconds. */
export const shortDay = (at: number): string => dateFormat('short', { month: 'short', day: 'numeric' }).format(at);
/** `2026-11` as November 2026. */
export const month = (label: string): string =>
  dateFormat('month', { month: 'long', year: 'numeric' }).format(new Date(`${label}-01`));

/** `2026-11` as November 2026; other names of periods need no change. */
export const periodLabel = (label: string): string => (/^\d{4}-\d{2}$/.test(label) ? month(label) : label);

/** Seconds for people: 95 min, 3 h, 12 days. */
export function duration(seconds: number): string {
  if (seconds < 120) return say('duration.seconds', { n: Math.round(seconds) });
  if (seconds < 7200) return say('duration.minutes', { n: Math.round(seconds / 60) });
  return seconds < 172_800
    ? say('duration.hours', { n: Math.round(seconds / 3600) })
    : say('duration.days', { n: Math.round(seconds / 86_400) });
}

/** A text that begins a line. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** `PurchaseSavingsPlans` and `not-planned` as words. */
export const words = (name: string): string => {
  const text = name
    .replaceAll('-', ' ')
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(gpu|sku)(s?)\b/g, (_, of: string, s: string) => of.toUpperCase() + s);
  return sentence(text);
};

/** Groups of codes that have words in the catalogue, as `group.code`. */
export type CodeGroup =
  | 'state'
  | 'status'
  | 'act'
  | 'do'
  | 'mode'
  | 'role'
  | 'effort'
  | 'risk'
  | 'term'
  | 'category'
  | 'world'
  | 'reason'
  | 'event'
  | 'field'
  | 'value'
  | 'stage'
  | 'because'
  | 'dimension'
  | 'alert'
  | 'alert-state'
  | 'severity'
  | 'silence'
  | 'answer'
  | 'outcome'
  | 'delivery'
  | 'threshold'
  | 'health'
  | 'measure'
  | 'bill-state'
  | 'unusual'
  | 'target'
  | 'fleet-why'
  | 'may'
  | 'found'
  | 'reservation'
  | 'verdict'
  | 'variance'
  | 'finding'
  | 'rate';

/** The words for a code; where the catalogue has none, the code's own words. */
export function code(group: CodeGroup, name: string): string {
  const key = `${group}.${name}`;
  return isKey(key) ? raw(key) : words(name);
}

/** Words inside a sentence. */
export const within = (text: string): string => text.toLocaleLowerCase(reader.value.locale);

/** A value in one line, for evidence and parameters: lists with commas, objects with their names; never as JSON. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return unknown();
  if (Array.isArray(value)) return value.length === 0 ? say('none') : value.map(shownCode).join(say('list.comma'));
  // A sentence may be the server's own: of a refusal, say.
  if (typeof value === 'string') return (value.includes(' ') ? inReadersWords(value) : null) ?? value;
  if (typeof value !== 'object') return typeof value === 'number' ? decimal(String(value), 9) : String(value);
  const parts = Object.entries(value).map(([name, one]) => `${code('field', name)} ${shownCode(one)}`);
  return parts.length === 0 ? say('none') : parts.join(say('list.comma'));
}

/** A known code as its words, any other value as it is. */
export const shownCode = (value: unknown): string =>
  typeof value === 'string' && isKey(`value.${value}`)
    ? code('value', value)
    : typeof value === 'string' && isKey(`term.${value}`)
      ? code('term', value)
      : shown(value);

/** Nanos of a currency unit, the storage unit of small amounts (core/money.ts). */
const NANOS = /Nanos$/;

/**
 * A named number of a computation, for people: money as money, in whatever unit it is stored. Blanks separate several
 * amounts; three are the mean, low and high of a saving.
 */
export function figureOf(
  group: 'measure' | 'field',
  name: string,
  value: unknown,
  currency: string,
): readonly [name: string, value: string] {
  const amounts = typeof value === 'number' || typeof value === 'string' ? String(value).split(' ') : [];
  if (!NANOS.test(name) || amounts.length === 0 || !amounts.every((one) => /^-?\d+$/.test(one)))
    return [code(group, name), shownCode(value)];
  const texts = amounts.map((one) => formatDecimal({ unscaled: BigInt(one), scale: 9 }));
  const [mean = '', low = '', high = ''] = texts.map((text) => money(text, currency));
  const shownAs =
    texts.length === 3 ? say('range', { mean, low, high }) : texts.map((text) => price(text, currency)).join(', ');
  return [code(group, name.replace(NANOS, '')), shownAs];
}
