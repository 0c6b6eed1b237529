/**
 * AWS' split cost allocation data: the part of a machine's cost that its pods and tasks used, hour by hour.
 *
 * Followed: AWS Data Exports User Guide, "Understanding split cost allocation data" and "Split line item columns". A
 * pod's lines have no cost of their own beside the machine's line: SplitCost and UnusedCost state their share of the
 * machine's amortised cost. Here that share moves from the machine's line to the pods', so that every sum stays what it
 * was. The file is read twice: first to add up the shares and to find the machines.
 *
 * The invariant: a share moves only if one file contains both lines, the pod's and that of the machine in that hour,
 * and the machine's effective cost is known. Otherwise it stays with the machine, and the pod's line costs nothing, as
 * the file states. The billed cost moves too if no commitment covers the machine; the commitment's purchase has paid
 * for a covered machine.
 */
import { addDecimal, compareDecimal, negateDecimal, ZERO, type Decimal } from '../../core/decimal.js';

/** Machine hours that are held; a file with more keeps the cost of every machine whole. */
const MOST_MACHINE_HOURS = 2_000_000;

interface MachineHour {
  /** Null: a share is not stated. */
  shares: Decimal | null;
  billed: Decimal;
  /** Null: unknown, or no line of the machine. */
  effective: Decimal | null;
  hasPods: boolean;
  hasMachine: boolean;
  taken: boolean;
}

export interface Costs {
  readonly billed: Decimal;
  readonly effective: Decimal | null;
}

export class SplitCosts {
  private readonly hours = new Map<string, MachineHour>();

  /** Whether there are more hours than are held. */
  get overflows(): boolean {
    return this.hours.size > MOST_MACHINE_HOURS;
  }

  addPod(key: string, share: Decimal | null): void {
    const hour = this.hourOf(key);
    hour.hasPods = true;
    hour.shares = hour.shares === null || share === null ? null : addDecimal(hour.shares, share);
  }

  addMachine(key: string, { billed, effective }: Costs): void {
    const hour = this.hourOf(key);
    hour.billed = addDecimal(hour.billed, billed);
    hour.effective =
      effective === null || (hour.hasMachine && hour.effective === null)
        ? null
        : addDecimal(hour.effective ?? ZERO, effective);
    hour.hasMachine = true;
  }

  /** The amount that moves to a pod's line; null if nothing moves. */
  ofPod(key: string, share: Decimal | null): Costs | null {
    const hour = this.moving(key);
    if (hour === null || share === null) return null;
    return { billed: isCovered(hour) ? ZERO : share, effective: share };
  }

  /** What is left on the machine's line; asked once for each machine and hour, the first line bears it. */
  leftOf(key: string, costs: Costs): Costs {
    const hour = this.moving(key);
    if (hour === null || hour.taken || hour.shares === null || costs.effective === null) return costs;
    hour.taken = true;
    const moved = negateDecimal(hour.shares);
    return {
      billed: isCovered(hour) ? costs.billed : addDecimal(costs.billed, moved),
      effective: addDecimal(costs.effective, moved),
    };
  }

  private moving(key: string): MachineHour | null {
    const hour = this.overflows ? undefined : this.hours.get(key);
    return hour?.hasPods === true && hour.shares !== null && hour.effective !== null ? hour : null;
  }

  private hourOf(key: string): MachineHour {
    let hour = this.hours.get(key);
    if (hour === undefined) {
      hour = { shares: ZERO, billed: ZERO, effective: null, hasPods: false, hasMachine: false, taken: false };
      if (!this.overflows) this.hours.set(key, hour);
    }
    return hour;
  }
}

const isCovered = ({ billed, effective }: MachineHour): boolean =>
  effective === null || compareDecimal(billed, effective) !== 0;
