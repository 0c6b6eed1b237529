/**
 * Among the lines that are set aside while a bill is not final (counting.ts), finds those of machines that nobody
 * meters.
 *
 * A meter of a SKU sets all lines of the SKU aside. If the line and the meter both name their resources, and use the
 * same names, a line whose resource is not metered counts at once. A line without a resource, or with names of another
 * kind (pods beside instances), stays set aside: nothing counts twice on a guess.
 */
import { datingOf } from '../cost/dating.js';
import { addDecimal, type Decimal } from '../decimal.js';
import { DAY_MS, dayOf } from '../time.js';
import type { Charge, UsageRecord } from '../usage.js';

/** Usage lines of a bill that agree in all of this. Instants are epoch milliseconds. */
export interface ResourceLine {
  readonly team: string;
  /** The hour in which its amounts are kept (cost/dating.ts). */
  readonly hour: number;
  /** The id of its dimension. */
  readonly dimension: string;
  /** The end of a line that continues beyond its first day (UTC); null for all others. */
  readonly until: number | null;
  readonly resource: string;
  billed: Decimal;
}

/** A line of a bill that counts although its SKU is set aside; the resources of it summed. */
export type UnmeteredLine = Omit<ResourceLine, 'resource'>;

/** The meters (a text for each) for which the lines of a dimension are set aside on a day. */
export class SetAside {
  private readonly meters = new Map<string, Map<number, [number, string][]>>();
  /** The time in which those meters are. */
  from = Infinity;
  to = -Infinity;

  /**
   * @param day as the line has it, its midnight UTC
   * @param meteredOn the day (UTC) of the meter: a civil day of a bill may lie on two of them
   */
  add(dimension: string, day: number, meter: string, meteredOn: number): void {
    const days = this.meters.get(dimension) ?? new Map<number, [number, string][]>();
    this.meters.set(dimension, days);
    days.set(day, [...(days.get(day) ?? []), [meteredOn, meter]]);
    this.from = Math.min(this.from, meteredOn);
    this.to = Math.max(this.to, meteredOn + DAY_MS);
  }

  has(dimension: string): boolean {
    return this.meters.has(dimension);
  }

  /** The ids of all dimensions with a line that is set aside. */
  dimensions(): string[] {
    return [...this.meters.keys()];
  }

  /** The meters that set a line aside, each with the day (UTC) of its usage. */
  *metersOf({
    dimension,
    hour,
    until,
  }: Pick<ResourceLine, 'dimension' | 'hour' | 'until'>): Generator<[number, string]> {
    const days = this.meters.get(dimension);
    const first = dayOf(hour);
    if (days === undefined) return;
    for (let day = first; day === first || day < (until ?? 0); day += DAY_MS) yield* days.get(day) ?? [];
  }
}

/** When a bill's line counts, and until when where that is beyond its first day (UTC). */
export function daysOf(record: UsageRecord, charge: Charge): Pick<ResourceLine, 'hour' | 'until'> {
  const { hour, civil, days } = datingOf(record, charge);
  const end = civil ? hour + days * DAY_MS : record.end;
  return { hour, until: end > dayOf(hour) + DAY_MS ? end : null };
}

/** Gathers a bill's lines that name a resource, summed where they agree in everything else. */
export class ResourceLines {
  private readonly lines = new Map<string, ResourceLine>();

  get size(): number {
    return this.lines.size;
  }

  /** @param dimension its id */
  add(team: string, dimension: string, record: UsageRecord): void {
    const { charge, resource } = record;
    if (charge === null || resource === null) return;
    const { hour, until } = daysOf(record, charge);
    const key = JSON.stringify([team, hour, dimension, until, resource]);
    const known = this.lines.get(key);
    if (known === undefined) this.lines.set(key, { team, hour, dimension, until, resource, billed: charge.billed });
    else known.billed = addDecimal(known.billed, charge.billed);
  }

  all(): ResourceLine[] {
    return [...this.lines.values()];
  }
}

/** The resources that meters name, day by day (UTC). */
export class MeteredResources {
  private readonly days = new Map<string, Set<string | null>>();

  add(meter: string, day: number, resource: string | null): void {
    const key = `${day} ${meter}`;
    const known = this.days.get(key);
    if (known === undefined) this.days.set(key, new Set([resource]));
    else known.add(resource);
  }

  /** Undefined: nothing is known of that day; null among them: some of its usage names none. */
  metersOn(meter: string, day: number): ReadonlySet<string | null> | undefined {
    return this.days.get(`${day} ${meter}`);
  }
}

/** The lines that no meter covers, summed by team, hour and dimension. */
export function unmeteredLines(
  lines: readonly ResourceLine[],
  aside: SetAside,
  metered: MeteredResources,
): UnmeteredLine[] {
  // Both sides call machines alike where one name at least is on both.
  const alike = new Set<string>();
  for (const line of lines)
    for (const [day, meter] of aside.metersOf(line))
      if (metered.metersOn(meter, day)?.has(line.resource)) alike.add(meter);
  const counted = new Map<string, UnmeteredLine>();
  for (const { resource, ...line } of lines) {
    const isUnmetered = [...aside.metersOf(line)].every(([day, meter]) => {
      const resources = metered.metersOn(meter, day);
      return resources !== undefined && alike.has(meter) && !resources.has(null) && !resources.has(resource);
    });
    if (!isUnmetered) continue;
    const key = JSON.stringify([line.team, line.hour, line.dimension, line.until]);
    const known = counted.get(key);
    if (known === undefined) counted.set(key, { ...line });
    else known.billed = addDecimal(known.billed, line.billed);
  }
  return [...counted.values()];
}
