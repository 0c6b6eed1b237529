/**
 * The options of a fake cloud: its seed, its clock, its initial machines, and its speed.
 */
import type { Effect } from '../../core/fleet/fleet.js';
import type { Clock } from '../../core/time.js';
import type { FaultPlan } from './faults.js';
import type { GroupSpec, MachineSpec } from './machines.js';

/** An event at a time, epoch milliseconds: an applied effect, or another party's change. */
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
  /** The machines that run from the beginning. */
  readonly machines?: readonly MachineSpec[];
  readonly groups?: readonly GroupSpec[];
  /** The planned events, past or future; events before `from` happen at `from`. */
  readonly events?: readonly CloudEvent[];
  readonly account?: string;
  readonly faults?: Partial<FaultPlan>;
  readonly bootSeconds?: number;
  readonly stopSeconds?: number;
  /** Length of a usage record, a divisor of an hour. */
  readonly meterSeconds?: number;
  /** How long after a day's end the bill has it. */
  readonly billDelaySeconds?: number;
  /** The bill's discount on the list price. */
  readonly billDiscountPercent?: number;
  /** Mean lengths of the stretches in which spot of a kind is to be had, and is not. */
  readonly spotUpHours?: number;
  readonly spotDownHours?: number;
}
