/** A budget's state, in a word or two and with a tone. */
import { exhaustionDayOf, isEndKnown } from '../../core/budget/exhaustion.js';
import type { BudgetState } from './answers.js';
import { day } from './format.js';
import { joined, say } from './language.js';

/** The day on which the plan runs out, in the budget's zone; null: it lasts. */
function exhaustion(state: Parameters<typeof exhaustionDayOf>[0]): string | null {
  const found = exhaustionDayOf(state);
  return found === null ? null : day(found);
}

/** The same in words; usage without a price is in no sum: nobody knows whether the budget lasts. */
export const endOf = (state: Parameters<typeof exhaustion>[0] & Parameters<typeof isEndKnown>[0]): string =>
  exhaustion(state) ?? (isEndKnown(state) ? say('budget.no-end') : joined([say('unknown'), say('standing.unpriced')]));

const isOver = ({ planned, spent }: BudgetState): boolean => planned !== null && Number(spent) > Number(planned);

export function standing(state: BudgetState | null): readonly [tone: 'good' | 'warn' | 'bad' | 'plain', text: string] {
  if (state === null) return ['plain', say('standing.not-evaluated')];
  if (state.planned === null) return ['plain', say('standing.not-planned')];
  const exhausted = exhaustion(state);
  if (isOver(state))
    return ['bad', exhausted === null ? say('standing.over') : say('standing.ran-out', { day: exhausted })];
  if (exhausted !== null) return ['warn', say('standing.runs-out', { day: exhausted })];
  if (!isEndKnown(state)) return ['warn', say('standing.unpriced')];
  return state.forecast === null ? ['plain', say('standing.no-forecast')] : ['good', say('standing.lasts')];
}
