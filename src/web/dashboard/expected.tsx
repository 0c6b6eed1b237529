/** What is expected to be saved, always with the interval in which it lies. */
import type { JSX } from 'preact';
import type { ExpectedSaving, SavingTotals } from './answers.js';
import { count, money } from './format.js';
import { joined, say } from './language.js';
import { Amount, Amounts, Figure } from './ui.js';

/** An interval without width is one that nobody stated; in whole units where these show it. */
export function interval(low: string, high: string, currency: string, inUnits = false): string {
  if (Number(low) === Number(high)) return say('interval.unknown');
  const whole = inUnits && money(low, currency, true) !== money(high, currency, true);
  return say('interval', { low: money(low, currency, whole), high: money(high, currency, whole) });
}

/** The interval of a saving in one line, which says where only the estimate is known; nothing where that is not. */
export function Ends({
  mean,
  low,
  high,
  currency,
}: {
  readonly mean: string | null;
  readonly low: string | null;
  readonly high: string | null;
  readonly currency: string;
}): JSX.Element | null {
  if (mean === null) return null;
  return (
    <div class="note">
      {low === null || high === null ? say('interval.unknown') : interval(low, high, currency, true)}
    </div>
  );
}

/** What an action is expected to save a month, with its interval. */
export function Expected({ saves }: { readonly saves: ExpectedSaving | null }): JSX.Element {
  if (saves === null) return <span class="quiet">{say('saves.no-recommendation')}</span>;
  const { estimatedMonthlySavings: mean, estimatedMonthlySavingsLow: low, currency } = saves;
  if (mean === null && saves.protective) return <span class="quiet">{say('saves.protects')}</span>;
  return (
    <>
      <Amount amount={mean} currency={currency} whole />
      <Ends mean={mean} low={low} high={saves.estimatedMonthlySavingsHigh} currency={currency} />
    </>
  );
}

/**
 * The estimates of what is not measured yet. Of several actions only the sums of the ends are known: whether their
 * savings rise and fall together is not, so that no narrower interval is claimed.
 */
export function EstimatedFigure({ of }: { readonly of: SavingTotals['estimated'] }): JSX.Element {
  const highOf = new Map(of.monthlyHigh.map(({ currency, amount }) => [currency, amount]));
  const ends = of.monthlyLow.map(({ currency, amount }) =>
    say(of.count - of.rolledBack - of.unknown > 1 ? 'saved.between-sums' : 'interval', {
      low: money(amount, currency, true),
      high: money(highOf.get(currency) ?? null, currency, true),
    }),
  );
  return (
    <Figure
      name={say('saved.estimated')}
      value={<Amounts amounts={of.monthly} />}
      note={
        of.count === of.rolledBack
          ? say('saved.all-measured')
          : joined([
              say('saved.estimated-note', { n: of.count - of.rolledBack }),
              ...ends,
              of.unknown === 0 ? null : say('saved.without-estimate', { n: count(of.unknown) }),
            ])
      }
    />
  );
}
