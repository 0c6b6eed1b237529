/**
 * Sums the lines of one bill into the cells in which it is compared: per team, UTC day, and the fields that match
 * cells.
 *
 * The order of the lines does not matter, every line is in exactly one cell, and amounts keep their digits. It compares
 * nothing. Since there are millions of lines, a value that is the same for a group of lines is computed once per group.
 */
import type { BilledCell } from './matching.js';
import { addDecimal, ZERO, type Decimal } from '../decimal.js';
import type { Group } from '../cost/rollup.js';
import { DAY_MS, formatDay } from '../time.js';
import type { Charge, UsageRecord } from '../usage.js';

/** The amounts of a bill, closed or not. */
export interface BillSummary {
  readonly cells: readonly Omit<BilledCell, 'isClosed'>[];
  readonly resources: readonly ResourcesOfSku[];
}

/** Some of the resources that a bill has under a SKU: they tell what it is where its name does not. */
export interface ResourcesOfSku {
  readonly provider: string;
  /** Empty: of the lines without one that may be a machine's hours. */
  readonly sku: string;
  readonly resources: readonly string[];
  /** Of its lines; absent in what was kept before it was noted. */
  readonly services?: readonly string[];
  /** A line of it states GPUs. */
  readonly ofGpus?: boolean;
  /** Whether its lines are a machine's own hours; absent if no line says. One line that is not tells of all. */
  readonly machineHours?: boolean;
}

/** A few of a SKU's resources tell what it is: the first by name, so that two SKUs of the same machines have the same. */
const MOST_RESOURCES = 50;
/** Number of cells that are gathered before the first are stored. */
const MOST_GATHERED = 1000;
const MOST_SERVICES = 10;
/** Groups whose cells are remembered, to bound memory where every line is a group of its own. */
const MOST_NEAR = 500_000;
/** Makes one number of a group and a day since 1970, also of a day before that. */
const DAYS = 2 ** 22;

export class BillCells {
  private readonly cells = new Map<string, Cell>();
  private readonly near = new Map<number, Cell>();
  private readonly resources = new Map<string, Gathered>();

  /** @param group of the record, as one Grouping numbers them */
  add(group: Pick<Group, 'index' | 'team'>, record: UsageRecord): void {
    const { charge } = record;
    if (charge === null) return;
    const day = Math.floor(record.start / DAY_MS);
    const name = group.index * DAYS + day + DAYS / 2;
    let cell = this.near.get(name);
    if (cell === undefined) {
      if (this.near.size >= MOST_NEAR) this.near.clear();
      this.near.set(name, (cell = this.cellOf(group.team, day, record, charge)));
      this.note(record, charge);
    }
    cell.add(record, charge, day);
  }

  /** All that was added. */
  summary(): BillSummary {
    return {
      cells: [...this.cells.values()].map((cell) => cell.asBilled()),
      resources: [...this.resources.values()].map(({ provider, sku, names, services, ofGpus, machineHours }) => ({
        provider,
        sku,
        resources: firstOf(names),
        services: [...services],
        ofGpus,
        ...(machineHours === undefined ? {} : { machineHours }),
      })),
    };
  }

  private cellOf(
    team: string,
    day: number,
    { provider, account, sku, gpuModel, region, term }: UsageRecord,
    { category, currency, periodStart, periodEnd }: Charge,
  ): Cell {
    const name = JSON.stringify([
      team,
      day,
      provider,
      account,
      sku,
      gpuModel,
      region,
      term,
      category,
      currency,
      periodStart,
      periodEnd,
    ]);
    let cell = this.cells.get(name);
    if (cell === undefined)
      this.cells.set(
        name,
        (cell = new Cell({
          team,
          day: formatDay(day),
          provider,
          account,
          sku,
          gpuModel,
          region,
          term,
          category,
          currency,
          periodStart,
          periodEnd,
        })),
      );
    return cell;
  }

  private note(
    { provider, sku, resource, service, gpuParts, gpuModel }: UsageRecord,
    { category, machineHours }: Charge,
  ): void {
    if (resource === null || category !== 'Usage') return;
    if (sku === null && (machineHours === false || service === null)) return;
    const name = JSON.stringify([provider, sku]);
    const known: Gathered = this.resources.get(name) ?? {
      provider,
      sku: sku ?? '',
      names: new Set<string>(),
      services: new Set<string>(),
      ofGpus: false,
    };
    known.names.add(resource);
    if (known.names.size > MOST_GATHERED) known.names = new Set(firstOf(known.names));
    if (service !== null && known.services.size < MOST_SERVICES) known.services.add(service);
    known.ofGpus ||= gpuParts !== null || gpuModel !== null;
    if (machineHours !== undefined) known.machineHours = machineHours && (known.machineHours ?? true);
    this.resources.set(name, known);
  }
}

interface Gathered {
  readonly provider: string;
  readonly sku: string;
  names: Set<string>;
  readonly services: Set<string>;
  ofGpus: boolean;
  machineHours?: boolean;
}

const firstOf = (names: ReadonlySet<string>): string[] => [...names].sort().slice(0, MOST_RESOURCES);

type Names = Pick<
  BilledCell,
  | 'team'
  | 'day'
  | 'provider'
  | 'account'
  | 'sku'
  | 'gpuModel'
  | 'region'
  | 'term'
  | 'category'
  | 'currency'
  | 'periodStart'
  | 'periodEnd'
>;

class Cell {
  private billed = ZERO;
  private compared = ZERO;
  private effective: Decimal | null = null;
  private list: Decimal | null = ZERO;
  private partMs: bigint | null = 0n;
  private lacksEffective = false;
  private spansDays = false;
  private lastDay = -Infinity;

  constructor(private readonly names: Names) {}

  add({ start, end, gpuParts }: UsageRecord, { billed, effective, list }: Charge, day: number): void {
    const charges = effective ?? billed;
    // A line that charges nothing (a commitment's negation) says nothing of how much was used.
    const isSilent = charges.unscaled === 0n;
    this.billed = addDecimal(this.billed, billed);
    this.compared = addDecimal(this.compared, charges);
    if (effective === null) this.lacksEffective = true;
    else this.effective = this.effective === null ? effective : addDecimal(this.effective, effective);
    if (list !== null) this.list &&= addDecimal(this.list, list);
    else if (!isSilent) this.list = null;
    if (gpuParts !== null) {
      if (this.partMs !== null) this.partMs += BigInt(gpuParts) * BigInt(end - start);
    } else if (!isSilent) this.partMs = null;
    this.spansDays ||= end > (day + 1) * DAY_MS;
    this.lastDay = Math.max(this.lastDay, Math.floor(Math.max(start, end - 1) / DAY_MS));
  }

  asBilled(): Omit<BilledCell, 'isClosed'> {
    const { billed, compared, effective, list, lacksEffective, spansDays } = this;
    return {
      ...this.names,
      billedCurrency: null,
      isUnconverted: false,
      billed,
      effective,
      list,
      compared,
      lacksEffective,
      billedPartMs: this.partMs,
      spansDays,
      lastDay: formatDay(this.lastDay),
    };
  }
}
