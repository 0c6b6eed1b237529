/** The states of the bills behind actual cost: the amounts of a bill may change until it is final. */
import type { JSX } from 'preact';
import type { Bill } from './answers.js';
import { code, day, month } from './format.js';
import { say } from './language.js';
import { Badge, type Tone } from './ui.js';

const SHOWN = 6;
const TONES: Readonly<Record<Bill['state'], Tone>> = { open: 'plain', settling: 'warn', final: 'good' };

/** By the middle of its period, which may begin at midnight of another zone. */
const monthOf = ({ periodStart, periodEnd }: Bill): string =>
  new Date((Date.parse(periodStart) + Date.parse(periodEnd)) / 2).toISOString().slice(0, 7);

export function Bills({ bills }: { readonly bills: readonly Bill[] }): JSX.Element | null {
  if (bills.length === 0) return null;
  const changing = bills.filter(({ state }) => state !== 'final');
  const shown = [...changing, ...bills.filter(({ state }) => state === 'final')].slice(0, SHOWN);
  return (
    <section aria-label={say('bills')}>
      <h3>{say('bills')}</h3>
      <ul class="plain">
        {shown.map((bill) => (
          <li key={`${bill.source} ${bill.provider} ${bill.account} ${bill.periodStart}`}>
            {bill.provider} {bill.account} {month(monthOf(bill))}{' '}
            <Badge tone={TONES[bill.state]}>{code('bill-state', bill.state)}</Badge>{' '}
            {bill.finalAt === null ? null : say('bills.final-from', { day: day(bill.finalAt) })}
          </li>
        ))}
      </ul>
      {changing.length === 0 ? null : <p class="note">{say('bills.changing')}</p>}
      {bills.length > SHOWN ? <p class="note">{say('bills.more', { n: bills.length - SHOWN })}</p> : null}
    </section>
  );
}
