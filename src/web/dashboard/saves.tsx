/**
 * A recommendation's saving, wherever it is decided: before and after, the interval around zero, when it pays off, the
 * risk in a sentence, and the effort.
 */
import type { JSX } from 'preact';
import type { StoredRecommendation } from './answers.js';
import { interval } from './expected.js';
import { code, count, money, percent } from './format.js';
import { isKey, joined, raw, say } from './language.js';
import { SavingBar } from './saving-bar.js';
import { less } from './sums.js';
import { Amount, AsWritten, Figure } from './ui.js';

interface Props {
  readonly one: StoredRecommendation;
}

/** Its interval around zero. Empty where unknown. */
export function Bar({ one }: Props): JSX.Element | null {
  const {
    estimatedMonthlySavings: mean,
    estimatedMonthlySavingsLow: low,
    estimatedMonthlySavingsHigh: high,
    currency,
  } = one;
  return mean === null || low === null || high === null ? null : (
    <SavingBar mean={mean} low={low} high={high} currency={currency} />
  );
}

/** The target's current and later cost: the difference is the saving, with the same interval. */
function BeforeAfter({ one }: Props): JSX.Element | null {
  const {
    estimatedMonthlyCost: cost,
    estimatedMonthlySavings: mean,
    estimatedMonthlySavingsLow: low,
    estimatedMonthlySavingsHigh: high,
    currency,
  } = one;
  if (cost === null || mean === null) return null;
  return (
    <>
      <Figure name={say('saves.now')} value={<Amount amount={cost} currency={currency} />} />
      <Figure
        name={say('saves.then')}
        value={<Amount amount={less(cost, mean)} currency={currency} />}
        note={low === null || high === null ? undefined : interval(less(cost, high), less(cost, low), currency, true)}
      />
    </>
  );
}

/** `90% of a cost of $1,000.00`; null where the target's cost is unknown or zero. */
const shareOf = ({
  estimatedSavingsPercentage,
  estimatedMonthlyCost,
  currency,
}: StoredRecommendation): string | null =>
  estimatedSavingsPercentage === null || estimatedMonthlyCost === null
    ? null
    : say('saves.share', {
        share: percent(estimatedSavingsPercentage / 100),
        cost: money(estimatedMonthlyCost, currency),
      });

/** These have no payment: they save as long as they hold. */
const AT_ONCE: ReadonlySet<string> = new Set(['Stop', 'ScaleIn', 'Release', 'MoveToOffPeak']);

function BreakEven({ one: { breakEven, action, estimatedMonthlySavings } }: Props): JSX.Element | null {
  const name = say('break-even');
  if (breakEven === null)
    return AT_ONCE.has(action) && estimatedMonthlySavings !== null ? (
      <Figure name={name} value={say('break-even.at-once')} note={say('break-even.at-once-note')} />
    ) : null;
  const { of, ratio, expected, paidBackAfterDays: days } = breakEven;
  if (ratio > 1) return <Figure name={name} value={say('break-even.never')} note={say(`break-even.never-${of}`)} />;
  return (
    <Figure
      name={name}
      value={percent(ratio)}
      note={[
        say(`break-even.${of}`, { ratio: percent(ratio) }),
        expected === null
          ? say('break-even.unknown')
          : say(`break-even.${of}-expected`, { expected: percent(expected) }),
        ...(of === 'spot' || expected === null
          ? []
          : [days === null ? say('break-even.not-paid-back') : say('break-even.paid-back', { n: count(days) })]),
      ].join(' ')}
    />
  );
}

/** Its saving, its risk, and what it takes to carry it out. */
export function Figures({ one }: Props): JSX.Element {
  const { estimatedMonthlySavings: mean, estimatedMonthlySavingsLow: low, currency, risk } = one;
  const says = `risk-says.${risk.interruption}`;
  return (
    <dl class="figures">
      <BeforeAfter one={one} />
      <Figure
        name={say('saved.estimated')}
        value={one.protective && mean === null ? say('saves.protects') : <Amount amount={mean} currency={currency} />}
        note={
          low === null || one.estimatedMonthlySavingsHigh === null
            ? undefined
            : joined([shareOf(one), interval(low, one.estimatedMonthlySavingsHigh, currency)])
        }
      />
      <BreakEven one={one} />
      <Figure
        name={say('column.interruption')}
        value={code('risk', risk.interruption)}
        note={
          <>
            {isKey(says) ? `${raw(says)} ` : ''}
            <AsWritten>{risk.note}</AsWritten>
          </>
        }
      />
      <Figure
        name={say('effort')}
        value={code('effort', one.implementationEffort)}
        note={one.rollbackPossible ? say('effort.back') : say('effort.no-back')}
      />
    </dl>
  );
}
