/**
 * The numbers that a recommendation was made of, as people read them: each with its unit, rounded, and never as JSON.
 * What a name says of its unit (core/policy: names end in it) decides how a number is written; the words of the names are
 * in texts/english/measures.ts and texts/chinese/measures.ts.
 */
import { decimal, figureOf, instant, price } from './format.js';
import { numberFormat } from './language.js';

const MONEY = /^(per\w*Hour|perHour(Now|Then)|\w+PerGpuHour|planned|spent|forecast|savesUntilThePeriodEnds|costIn\w+)$/;
const SHARE = /(Ratio|Share|Probability)/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/** Two digits that count: a share of 0.3 % is not none. */
const share = (ratio: number): string =>
  numberFormat('measure share', { style: 'percent', maximumSignificantDigits: 2 }).format(ratio);

export function measureOf(
  name: string,
  value: string | number,
  currency: string,
): readonly [name: string, value: string] {
  const [label, text] = figureOf('measure', name, value, currency);
  const raw = String(value);
  if (INSTANT.test(raw)) return [label, instant(raw)];
  if (name.endsWith('Nanos')) return [label, text];
  if (typeof value === 'number' ? !Number.isFinite(value) : !NUMBER.test(raw)) return [label, text];
  if (MONEY.test(name)) return [label, price(raw, currency)];
  return [label, SHARE.test(name) ? share(Number(value)) : decimal(String(Number(value)))];
}
