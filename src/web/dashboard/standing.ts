/** A budget's state, in a word or two and with a tone. */
import type { BudgetState } from './answers.js';
import { day } from './format.js';
import { say } from './language.js';

const isOver = ({ planned, spent }: BudgetState): boolean => planned !== null && Number(spent) > Number(planned);

export function standing(state: BudgetState | null): readonly [tone: 'good' | 'warn' | 'bad' | 'plain', text: string] {
  if (state === null) return ['plain', say('standing.not-evaluated')];
  if (state.planned === null) return ['plain', say('standing.not-planned')];
  if (isOver(state))
    return [
      'bad',
      state.exhaustionAt === null ? say('standing.over') : say('standing.ran-out', { day: day(state.exhaustionAt) }),
    ];
  if (state.exhaustionAt !== null) return ['warn', say('standing.runs-out', { day: day(state.exhaustionAt) })];
  // Usage without a price is in no sum: nobody knows whether the budget will last.
  if (Number(state.unpricedGpuHours) > 0) return ['warn', say('standing.unpriced')];
  return state.forecast === null ? ['plain', say('standing.no-forecast')] : ['good', say('standing.lasts')];
}
