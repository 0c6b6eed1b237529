/**
 * Whether a bill agrees with the metered usage of a target, day by day: the last step before a saving is verified.
 *
 * Compares, never corrects. A bill that does not name resources, or states them for longer than a day, is not itemised:
 * then a closed period with a price for everything must suffice.
 */
import { gpuCostOf, type HourSaving, type MeteredLine } from './attribution.js';
import type { CostContext } from '../cost/cost.js';
import { machineOf, machinesOf } from '../fleet/membership.js';
import { bearsOn, type Counterfactual } from './counterfactual.js';
import { addDecimal, tenTo, ZERO, type Decimal } from '../decimal.js';
import { divideHalfEven } from '../money.js';
import { compareWithBill, judged, type BillWord, type JudgedHour } from './saving.js';
import { DAY_MS, dayOf, HOUR_MS, type Interval } from '../time.js';

/** Raw records about some targets. */
export interface TargetUsage {
  readonly metered: readonly MeteredLine[];
  /** Usage lines of bills about the targets. */
  readonly billed: readonly MeteredLine[];
  /** Providers whose bills of the time name resources. */
  readonly itemised: ReadonlySet<string>;
}

export interface BillEvidence extends TargetUsage {
  /** Bill periods that are closed. */
  readonly closed: readonly Interval[];
}

/** Hours as the ledger keeps them: each with what its closed bill, if there is one, says of it. */
export function judgedByBill<T extends HourSaving>(
  hours: readonly T[],
  about: readonly Counterfactual[],
  evidence: BillEvidence,
  contextOf: (currency: string) => CostContext,
): (T & JudgedHour)[] {
  const byAction = new Map(about.map((one) => [one.action, one]));
  const words = new Map<string, BillWord>();
  return hours.map((hour) => {
    const counterfactual = byAction.get(hour.action);
    if (
      counterfactual === undefined ||
      !evidence.closed.some(({ start, end }) => start <= hour.hour && hour.hour + HOUR_MS <= end)
    )
      return { ...hour, ...judged(hour, false, 'not-itemised') };
    const day = dayOf(hour.hour);
    const word =
      words.get(`${hour.action} ${day}`) ??
      billWordOn(day, counterfactual, evidence, contextOf(counterfactual.currency));
    words.set(`${hour.action} ${day}`, word);
    return { ...hour, ...judged(hour, true, word) };
  });
}

/**
 * The bill's word on a target's UTC day.
 * @param day first millisecond of the day
 * @param context of the ledger's currency; a bill in another one cannot be compared and is taken to differ
 */
function billWordOn(
  day: number,
  counterfactual: Counterfactual,
  { metered, billed, itemised }: TargetUsage,
  context: CostContext,
): BillWord {
  if (
    !itemised.has(counterfactual.provider ?? '') ||
    counterfactual.world.kind === 'commitment' ||
    counterfactual.world.kind === 'plan'
  )
    return 'not-itemised';
  const end = day + DAY_MS;
  const machines = machinesOf(
    counterfactual.target,
    metered.flatMap(({ record }) => (record.start < end && record.end > day ? [record] : [])),
  );
  const lines = billed.filter(
    ({ record }) =>
      record.start < end &&
      record.end > day &&
      (bearsOn(record, counterfactual) || (record.resource !== null && machines.has(machineOf(record.resource)))),
  );
  if (lines.some(({ record }) => record.start < day || record.end > end)) return 'not-itemised';
  if (lines.some(({ record }) => record.charge?.currency !== counterfactual.currency)) return 'differs';
  const stated = lines.reduce(
    (sum, { record: { charge } }) => (charge === null ? sum : addDecimal(sum, charge.effective ?? charge.billed)),
    ZERO,
  );
  return compareWithBill(nearestNano(stated), meteredOn(day, counterfactual, metered, context));
}

const nearestNano = ({ unscaled, scale }: Decimal): bigint =>
  scale <= 9 ? unscaled * tenTo(9 - scale) : divideHalfEven(unscaled, tenTo(scale - 9));

function meteredOn(
  day: number,
  counterfactual: Counterfactual,
  metered: readonly MeteredLine[],
  context: CostContext,
): bigint | null {
  const own = metered
    .map(({ record }) => record)
    .filter(
      (record) =>
        record.gpuParts !== null && record.start < day + DAY_MS && record.end >= day && bearsOn(record, counterfactual),
    )
    .map((record) => ({ ...record, storageMib: null, networkBytes: null }));
  let sum = 0n;
  for (let hour = day; hour < day + DAY_MS; hour += HOUR_MS) {
    const cost = gpuCostOf(own, { start: hour, end: hour + HOUR_MS }, context);
    if ('reason' in cost) return null;
    sum += cost.nanos;
  }
  return sum;
}
