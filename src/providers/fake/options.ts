/** What a fake cloud is made of: its seed, its clock, what runs in it at first, and how fast it is. */
import type { Clock } from '../../core/time.js';
import type { FaultPlan } from './faults.js';
import type { GroupSpec, MachineSpec } from './machines.js';

export interface CloudOptions {
  readonly seed: number;
  readonly clock: Clock;
  /** Since when it is there, epoch milliseconds; absent: since now. */
  readonly from?: number;
  /** What runs from the first instant on. */
  readonly machines?: readonly MachineSpec[];
  readonly groups?: readonly GroupSpec[];
  readonly account?: string;
  readonly faults?: Partial<FaultPlan>;
  readonly bootSeconds?: number;
  readonly stopSeconds?: number;
  /** Length of a usage record, a divisor of an hour. */
  readonly meterSeconds?: number;
  /** How long after a day's end the bill has it. */
  readonly billDelaySeconds?: number;
  /** What the bill takes off the list price. */
  readonly billDiscountPercent?: number;
  /** Mean lengths of the stretches in which spot of a kind is to be had, and is not. */
  readonly spotUpHours?: number;
  readonly spotDownHours?: number;
}
