/** A saving as a bar around zero: its mean and its interval; the part that may cost more is on the left. */
import type { JSX } from 'preact';
import { money } from './format.js';
import { say } from './language.js';

const WIDTH = 100;

export function SavingBar({
  low,
  mean,
  high,
  currency,
}: {
  readonly low: string;
  readonly mean: string;
  readonly high: string;
  readonly currency: string;
}): JSX.Element {
  const [a, m, b] = [Number(low), Number(mean), Number(high)];
  const most = Math.max(Math.abs(a), Math.abs(m), Math.abs(b)) || 1;
  // Zero is in the middle only where the interval reaches below it.
  const [left, right] = a < 0 ? [-most, most] : [0, most];
  const at = (value: number): number => (WIDTH * (value - left)) / (right - left);
  const percentAt = (value: number): string => `${at(value)}%`;
  return (
    <svg
      class={a < 0 ? 'saving unsure' : 'saving'}
      role="img"
      height="28"
      aria-label={say('saving.bar', {
        mean: money(mean, currency, true),
        low: money(low, currency, true),
        high: money(high, currency, true),
      })}
    >
      <rect class="mean" x={percentAt(Math.min(0, m))} width={`${Math.abs(at(m) - at(0))}%`} y="8" height="12" rx="2" />
      <line class="interval" x1={percentAt(a)} x2={percentAt(b)} y1="14" y2="14" />
      <line class="interval" x1={percentAt(a)} x2={percentAt(a)} y1="9" y2="19" />
      <line class="interval" x1={percentAt(b)} x2={percentAt(b)} y1="9" y2="19" />
      <line class="zero" x1={percentAt(0)} x2={percentAt(0)} y1="2" y2="26" />
    </svg>
  );
}
