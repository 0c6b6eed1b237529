/**
 * Weekly windows in a zone, read like the peak schedule: a window past midnight belongs to the day on which it begins,
 * and a day with a clock change has its real length. This file does not know the purpose of a window.
 */
import { Failure, type Problem } from '../../core/errors.js';
import { compilePeak, WEEKDAYS, type PeakRule } from '../../core/price/peak.js';
import { z } from 'zod';

const TIME = /^([01]\d|2[0-4]):[0-5]\d$/;

/** The parameters of a window in a policy. */
export const windowShape = {
  days: z.array(z.enum(WEEKDAYS)).min(1).optional().describe('Days on which the window begins; default: every day'),
  from: z.string().regex(TIME, 'is not a time HH:MM').default('00:00').describe('First minute, local time'),
  to: z
    .string()
    .regex(TIME, 'is not a time HH:MM')
    .default('24:00')
    .describe('Exclusive end; if it is earlier than from, the window ends on the next day'),
} as const;

type Spec = { readonly days?: PeakRule['days'] | undefined; readonly from: string; readonly to: string };

/** The factor only marks where the rule holds. */
const ruleOf = ({ days, from, to }: Spec, zone: string): PeakRule => ({
  from,
  to,
  zone,
  factor: '2',
  ...(days === undefined ? {} : { days }),
});

/** Windows asked by instant. @throws Failure invalid for a window that is none. */
export class Calendar {
  private readonly holds: readonly ((instant: number) => boolean)[];

  constructor(windows: readonly Spec[], zone: string) {
    this.holds = windows.map((spec) => {
      const one = compilePeak([ruleOf(spec, zone)]);
      return (instant) => one.at(instant).numerator === 2n;
    });
  }

  /** The index of the first window that holds; null: none does. */
  at(instant: number): number | null {
    const found = this.holds.findIndex((holds) => holds(instant));
    return found < 0 ? null : found;
  }
}

/** Everything that is wrong with windows and zone, as core/price/peak.ts says it; nothing if they can be used. */
export function windowProblems(windows: readonly Spec[], zone: string): readonly Problem[] {
  try {
    compilePeak(windows.map((spec) => ruleOf(spec, zone)));
    return [];
  } catch (error) {
    if (error instanceof Failure) return error.problems;
    throw error;
  }
}
