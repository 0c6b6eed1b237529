/**
 * The parameters of idle-stop. What its two settings of risk do is measured in docs/decisions-quality/idle.md ("The
 * frontier").
 */
import { z } from 'zod';
import { IDLE_DEFAULTS } from '../../planning/idle/planner.js';

export const IDLE_PARAMS = z.strictObject({
  restartMinutes: z.number().min(0).max(1440).default(10).describe('Minutes until a stopped resource works again'),
  maximumFalseStopProbability: z
    .number()
    .min(0)
    .max(1)
    .default(IDLE_DEFAULTS.maximumFalseStopProbability)
    .describe('Largest probability of a wrong stop at which a stop is proposed'),
  falseStopMinutes: z
    .number()
    .min(0)
    .max(10_080)
    .default(IDLE_DEFAULTS.falseStopMinutes)
    .describe(
      'What a wrong stop costs its users beyond the restart, in GPU-minutes; less stops more, and more of it in vain. ' +
        'On 143 recorded services 60 saved 46 % of what is possible with 17 % wrong stops; 10, with the probability at 1, 65 % with 33 %',
    ),
  minimumQuietMinutes: z
    .number()
    .min(1)
    .max(1440)
    .default(IDLE_DEFAULTS.minimumQuietMinutes)
    .describe('Fewest minutes of quiet before a stop'),
  staleMinutes: z
    .number()
    .min(1)
    .max(1440)
    .default(IDLE_DEFAULTS.staleMinutes)
    .describe('Evidence that is older does not count'),
  lagMinutes: z
    .number()
    .min(0)
    .max(60)
    .default(1)
    .describe('Minutes that a reading may need to arrive after its minute: until then it is not missing'),
  graceMinutes: z
    .number()
    .min(60)
    .max(10_080)
    .default(60)
    .describe('Minutes after its start (if unknown, after it was first seen) in which it need not have worked'),
  losesLocalDisks: z
    .boolean()
    .default(true)
    .describe('Whether a machine may be stopped if the stop loses the data on its local disks'),
  mostReturns: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(3)
    .describe('Times that a machine with an unknown workload may have worked again after such a quiet'),
  heldMemoryMinutes: z
    .number()
    .min(0)
    .max(20_160)
    .default(480)
    .describe('Fewest minutes of quiet if more than a tenth of the memory is in use and the workload is unknown'),
});
export type IdleParams = z.infer<typeof IDLE_PARAMS>;
