/** What no sum of a period includes, in words. Every gap is stated: unknown is never zero. */
import type { JSX } from 'preact';
import type { CostSpan } from './answers.js';
import { code, decimal, money } from './format.js';
import { unpricedLine } from './ui.js';
import { say } from './language.js';

function linesOf({ unpricedGpuHours, lacking }: CostSpan): string[] {
  const { unstated, unbilled, setAside, unconverted, unpriced } = lacking;
  return [
    ...(Number(unpricedGpuHours) === 0 ? [] : [say('gaps.unpriced', { hours: decimal(unpricedGpuHours) })]),
    ...unstated.map(({ cost, currency, lines }) => say('gaps.unstated', { amount: money(cost, currency), n: lines })),
    ...unbilled.map(({ cost, currency }) => say('gaps.unbilled', { amount: money(cost, currency) })),
    ...setAside.map(({ cost, currency }) => say('gaps.set-aside', { amount: money(cost, currency) })),
    ...unconverted.map(({ cost, currency }) => say('gaps.unconverted', { amount: money(cost, currency) })),
    ...unpriced.map(unpricedLine),
  ];
}

export function Gaps({ span, name }: { readonly span: CostSpan; readonly name: string }): JSX.Element | null {
  const lines = linesOf(span);
  if (lines.length === 0) return null;
  return (
    <div class="warning">
      <strong>{name}</strong>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}

/** A name within a dimension, as people read it. */
export const nameIn = (key: string, value: string | null): string =>
  value === null || value === ''
    ? say('not-known')
    : key === 'term'
      ? code('term', value)
      : key === 'category'
        ? code('category', value)
        : value;
