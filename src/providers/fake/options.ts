/** What a fake cloud is made of: its seed, its clock, what runs in it at first, and how fast it is. */
import type { Effect } from '../../core/fleet/fleet.js';
import type { Clock } from '../../core/time.js';
import type { FaultPlan } from './faults.js';
import type { GroupSpec, MachineSpec } from './machines.js';

/** What happens at an instant, epoch milliseconds: an effect that took hold, or what somebody else changed. */
export type CloudEvent =
  | { readonly at: number; readonly token: string; readonly effect: Effect }
  | {
      readonly at: number;
      readonly target: string;
      readonly labels?: Readonly<Record<string, string>>;
      readonly desired?: number;
    };

export interface CloudOptions {
  readonly seed: number;
  readonly clock: Clock;
  /** Since when it is there, epoch milliseconds; absent: since now. */
  readonly from?: number;
  /** What runs from the first instant on. */
  readonly machines?: readonly MachineSpec[];
  readonly groups?: readonly GroupSpec[];
  /** What is known to happen to it, past or to come; what lies before `from` happens at `from`. */
  readonly events?: readonly CloudEvent[];
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
