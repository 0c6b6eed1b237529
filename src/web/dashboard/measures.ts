/**
 * The numbers behind a recommendation, for people: each with its unit, rounded, and never as JSON. The unit of a name
 * (core/policy/computation.ts, with its English words) decides its number's format; texts/chinese/measures.ts has the
 * Chinese words.
 */
import type { Figure } from '../../core/figures.js';
import { COMPUTATION_FIGURES } from '../../core/policy/computation.js';
import { GPU_PARTS } from '../../core/usage.js';
import { code, count, decimal, figureOf, instant, price, within } from './format.js';
import { numberFormat, say } from './language.js';

const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const NUMBER = /^-?\d+(\.\d+)?$/;
const LEAST_SHARE = 0.0001;

/** As messages have it (core/figures.ts): one digit of a per cent, two below one, `less than` for the smallest. */
function share(ratio: number): string {
  const digits = Math.abs(ratio) < 0.01 ? 2 : 1;
  const text = (of: number): string =>
    numberFormat(`measure share ${digits}`, { style: 'percent', maximumFractionDigits: digits }).format(of);
  return ratio > 0 && ratio < LEAST_SHARE ? say('measure.less-than', { share: text(LEAST_SHARE) }) : text(ratio);
}

export function measureOf(
  name: string,
  value: string | number,
  currency: string,
): readonly [name: string, value: string] {
  const [label, text] = figureOf('measure', name, value, currency);
  const raw = String(value);
  const figures: Readonly<Record<string, Figure>> = COMPUTATION_FIGURES;
  const unit = figures[name]?.unit;
  if (INSTANT.test(raw)) return [label, instant(raw)];
  if (name.endsWith('Nanos')) return [label, text];
  if (typeof value === 'number' ? !Number.isFinite(value) : !NUMBER.test(raw)) return [label, text];
  if (unit === 'money' || unit === 'price') return [label, price(raw, currency)];
  return [label, unit === 'share' ? share(Number(value)) : decimal(String(Number(value)))];
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
