/**
 * The numbers behind a recommendation, for people: each with its unit, rounded, and never as JSON. The unit at the end
 * of a name (core/policy) decides its number's format; the words of the names are in texts/english/measures.ts and
 * texts/chinese/measures.ts.
 */
import { GPU_PARTS } from '../../core/usage.js';
import { code, count, decimal, figureOf, instant, price, within } from './format.js';
import { numberFormat, say } from './language.js';

const MONEY = /^(per\w*Hour|perHour(Now|Then)|\w+PerGpuHour|planned|spent|forecast|savesUntilThePeriodEnds|costIn\w+)$/;
const SHARE = /(Ratio|Share|Probability)/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/** Two significant digits: a share of 0.3 % is not none. */
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

/** GPUs of the parts in which they are kept. */
export const gpusOfParts = (parts: number): string => say('saving.gpus', { n: count(parts / GPU_PARTS) });

/** Equal replicas at one price: how many, of which SKU, under which term, and how many GPUs each has. */
export function heldText(value: unknown): string {
  const { key, gpuParts, units } = value as {
    readonly key: { readonly sku: string; readonly term: string };
    readonly gpuParts: number;
    readonly units: number;
  };
  return say('saving.held', {
    n: units,
    sku: key.sku,
    term: within(code('term', key.term)),
    gpus: gpusOfParts(gpuParts),
  });
}
