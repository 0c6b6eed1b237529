/**
 * Azure cost and usage details as CSV: Enterprise Agreement (EA) and Microsoft Customer Agreement (MCA), of actual or
 * of amortised cost.
 *
 * Followed: Microsoft, "Cost and usage details file schema" for EA (2024-08-01) and MCA (2023-12-01-preview) at
 * learn.microsoft.com/azure/cost-management-billing/dataset-schema, "Understand cost details fields", and "Get
 * Enterprise Agreement reservation costs and usage" (which lines each kind of export has). EA writes `ChargeType`, MCA
 * `chargeType`; both are read. Days, not instants: a line covers the UTC day of its Date, and the billing period's last
 * day is inclusive in the file. The account is the billing profile, to which an invoice belongs (an enrollment has one
 * of the same number).
 *
 * Actual: billed is the cost in the billing currency. Effective is the same for what no commitment covers, nothing for
 * the purchase of a commitment (FOCUS: a purchase that covers future charges), and unknown for covered usage, which the
 * actual file states at zero. Amortised: the lines of a commitment's used and unused parts have their effective cost
 * and no billed cost, because their purchase was billed. All other lines equal those of the actual export and are
 * skipped. The list cost is in the actual export, so a line of covered usage adds none. The invariant: the lines
 * distinguish the two kinds; a file with lines of the other kind is refused as a whole.
 */
import { ZERO, type Decimal } from '../../core/decimal.js';
import { invalid, type Problem } from '../../core/errors.js';
import type { Input } from '../../core/ports.js';
import { type Interval, isoInstant } from '../../core/time.js';
import { countsMachines, countsTime, isOfMachines } from '../../core/bill/machine-hours.js';
import type { ChargeCategory, Commitment, RecordBatch, Term, UsageRecord } from '../../core/usage.js';
import { BillRow, quotedText } from './bill.js';
import { CsvTokenizer } from './csv.js';
import { Memo } from './memo.js';
import { decimalOf } from './numbers.js';
import { hasColumns, headerOf, readCsvTable, type Cells, type Header, type RowReader } from './table.js';
import { parseTags } from './tags.js';
import { parseUsDate, plusDays } from './times.js';

export type Nature = 'actual' | 'amortised';

/** A column as EA names it, and as MCA does. */
const spellings = (name: string): string[] => [name, `${name.charAt(0).toLowerCase()}${name.slice(1)}`];

const has = (input: Input, name: string): boolean => spellings(name).some((spelling) => hasColumns(input, spelling));

export function isAzureCost(input: Input): boolean {
  return (
    ['MeterCategory', 'ChargeType', 'Date'].every((name) => has(input, name)) &&
    (has(input, 'Cost') || has(input, 'CostInBillingCurrency'))
  );
}

/**
 * Which kind of export an input is, by the first line in its head that only one kind has, otherwise by its name; null
 * if nothing tells.
 */
export function natureOf(input: Input): Nature | null {
  const columns = headerOf(input);
  const at = (...names: string[]): number => columns.findIndex((column) => names.flatMap(spellings).includes(column));
  const [type, pricing, cost] = [at('ChargeType'), at('PricingModel'), at('CostInBillingCurrency', 'Cost')];
  const csv = new CsvTokenizer();
  csv.push(input.head);
  if (csv.next() && pricing >= 0) {
    while (csv.next()) {
      if (csv.malformed !== null || csv.width !== columns.length) continue;
      const nature = natureOfLine(csv.text(type), csv.text(pricing), decimalOf(csv.text(cost)) ?? null);
      if (nature !== null) return nature;
    }
  }
  return /amorti[sz]ed/i.test(input.name) ? 'amortised' : /actual/i.test(input.name) ? 'actual' : null;
}

/** Purchases of commitments are in the actual export alone; what they cover costs something in the amortised alone. */
function natureOfLine(chargeType: string, pricing: string, cost: Decimal | null): Nature | null {
  const type = chargeType.toLowerCase();
  if (!isCommitted(pricing) && !type.startsWith('unused')) return null;
  if (type === 'purchase' || type === 'refund') return 'actual';
  return cost !== null && cost.unscaled !== 0n ? 'amortised' : null;
}

const isCommitted = (pricing: string): boolean => /^(?:reservation|savingsplan)$/i.test(pricing);

export async function* readAzure(input: Input, nature: Nature): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = new AzureReader(header, nature, input.name);
    return (cells, out, problems) => {
      const record = reader.read(cells, problems);
      if (record !== null) out.push(record);
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { records: items, rejects };
}

function columnsOf(header: Header) {
  const optional = (...names: string[]): number => header.optional(...names.flatMap(spellings));
  const required = (...names: string[]): number => {
    const position = optional(...names);
    return position < 0 ? header.required(...names) : position;
  };
  return {
    date: required('Date', 'UsageDateTime'),
    account: required('BillingAccountId'),
    profile: optional('BillingProfileId'),
    periodStart: required('BillingPeriodStartDate'),
    periodEnd: required('BillingPeriodEndDate'),
    billed: required('CostInBillingCurrency', 'Cost'),
    currency: required('BillingCurrency', 'BillingCurrencyCode'),
    chargeType: required('ChargeType'),
    list: optional('PaygCostInBillingCurrency'),
    pricing: optional('PricingModel'),
    months: optional('Term'),
    benefit: optional('BenefitId', 'ReservationId'),
    benefitName: optional('BenefitName', 'ReservationName'),
    subAccount: optional('SubscriptionId', 'SubscriptionGuid'),
    resource: optional('ResourceId', 'InstanceId', 'InstanceName'),
    service: optional('MeterCategory'),
    meter: optional('MeterId'),
    meterName: optional('MeterName'),
    subCategory: optional('MeterSubCategory'),
    unit: optional('UnitOfMeasure'),
    additional: optional('AdditionalInfo'),
    region: optional('ResourceLocation', 'MeterRegion'),
    tags: optional('Tags'),
  };
}

/** Unused parts of a commitment are usage of it in FOCUS; refunds and rounding are adjustments. */
const CATEGORIES: Readonly<Record<string, ChargeCategory>> = {
  usage: 'Usage',
  purchase: 'Purchase',
  tax: 'Tax',
  credit: 'Credit',
  refund: 'Adjustment',
  adjustment: 'Adjustment',
  roundingadjustment: 'Adjustment',
  unusedreservation: 'Usage',
  unusedsavingsplan: 'Usage',
};

/** `9/2/2023`, `09/02/2023`, or ISO 8601 as newer exports write it. */
function dayOf(text: string): number {
  return text.includes('/') ? parseUsDate(text) : isoInstant(text);
}

class AzureReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row: BillRow;
  private readonly machines = new Memo((text) => ({ size: machineSizeOf(text) }));

  constructor(
    header: Header,
    private readonly nature: Nature,
    private readonly file: string,
  ) {
    this.columns = columnsOf(header);
    this.row = new BillRow(header.columns, dayOf);
  }

  /** Null if the line is none of this kind of export's own. */
  read(cells: Cells, problems: Problem[]): UsageRecord | null {
    const { row, columns } = this;
    row.begin(cells, problems);
    const start = row.instant(columns.date, 'Date');
    const periodStart = row.instant(columns.periodStart, 'BillingPeriodStartDate');
    const periodEnd = plusDays(row.instant(columns.periodEnd, 'BillingPeriodEndDate'), 1);
    row.interval(periodStart, periodEnd, row.named(columns.periodEnd, 'BillingPeriodEndDate'), true);
    this.checkOrder(cells.repeated(columns.date), start, { start: periodStart, end: periodEnd });
    const cost = row.requiredAmount(columns.billed, 'Cost') ?? ZERO;
    const chargeType = row.requiredKey(columns.chargeType, 'ChargeType');
    const category = CATEGORIES[chargeType.toLowerCase()];
    if (category === undefined && chargeType !== '')
      row.problem(row.named(columns.chargeType, 'ChargeType'), `${quotedText(chargeType)} is not a charge type`);
    const pricing = cells.repeated(columns.pricing).toLowerCase();
    const nature = natureOfLine(chargeType, pricing, cost);
    if (nature !== null && nature !== this.nature) throw this.otherNature(cells.line, chargeType, nature);
    const covered = isCommitted(pricing) || chargeType.toLowerCase().startsWith('unused');
    const amortised = this.nature === 'amortised';
    if (amortised && !covered && problems.length === 0) return null;
    const isHours = this.isHours(cells);
    return {
      id: String(cells.line),
      provider: 'Microsoft',
      account: row.key(columns.profile, 'BillingProfileId') ?? row.requiredKey(columns.account, 'BillingAccountId'),
      subAccount: row.key(columns.subAccount, 'SubscriptionId'),
      resource: row.resource(columns.resource, 'ResourceId'),
      namespace: null,
      service: row.key(columns.service, 'MeterCategory'),
      sku: this.machine(cells, isHours) ?? row.key(columns.meter, 'MeterId'),
      region: row.key(columns.region, 'ResourceLocation'),
      term: termOf(pricing, cells.repeated(columns.months)),
      gpuModel: null,
      tags: row.tags(columns.tags, 'Tags'),
      start,
      end: plusDays(start, 1),
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category: category ?? 'Usage',
        currency: row.currency(columns.currency, 'BillingCurrency'),
        billed: amortised ? ZERO : cost,
        effective: amortised ? cost : effectiveOf(cost, category ?? 'Usage', pricing),
        list: this.list(amortised && !chargeType.toLowerCase().startsWith('unused')),
        periodStart,
        periodEnd,
        ...(amortised ? { supplement: true } : {}),
        ...(isHours === null ? {} : { machineHours: isHours }),
        commitment: covered ? this.commitment(chargeType, category ?? 'Usage', pricing) : null,
      },
    };
  }

  /** Whether the line is hours of a virtual machine, by its meter; null if that, or the unit, does not say it. */
  private isHours(cells: Cells): boolean | null {
    const { columns } = this;
    const [service, unit] = [cells.repeated(columns.service), cells.repeated(columns.unit)];
    if (service === '') return null;
    const meter = [cells.repeated(columns.meterName), cells.repeated(columns.subCategory)];
    if (!countsTime(unit) || !isOfMachines(service, ...meter)) return false;
    return countsMachines(unit) ? true : null;
  }

  /** A licence names the size of its machine too; what a commitment's own line is of says it by no meter. */
  private machine(cells: Cells, isHours: boolean | null): string | null {
    const { columns } = this;
    const { size } = this.machines.valueOf(cells.repeated(columns.additional));
    const isCommitment = /^(?:savings ?plan|reservation)s?$/i.test(cells.repeated(columns.service));
    return isHours === false && !isCommitment ? null : size;
  }

  /** The actual export's line of covered usage has the list cost: the amortised one adds nothing to it. */
  private list(stated: boolean): Decimal | null {
    const list = this.row.amount(this.columns.list, 'PaygCostInBillingCurrency');
    return stated ? ZERO : list;
  }

  /** A spreadsheet may have written day and month in its own order, which is another date up to the 12th. */
  private checkOrder(text: string, start: number, period: Interval): void {
    if (Number.isNaN(start) || (start >= period.start && start < period.end)) return;
    const [first = '', second = '', year = ''] = text.split('/');
    const turned = parseUsDate(`${second}/${first}/${year}`);
    if (!(turned >= period.start && turned < period.end)) return;
    this.row.problem(
      this.row.named(this.columns.date, 'Date'),
      `${quotedText(text)} is outside of the billing period with the month first, as Azure writes it, and within it with ` +
        'the day first: a spreadsheet may have changed the dates; import the file as it was exported',
    );
  }

  private commitment(chargeType: string, category: ChargeCategory, pricing: string): Commitment | null {
    const id = this.row.resource(this.columns.benefit, 'BenefitId');
    if (id === null) return null;
    const unused = chargeType.toLowerCase().startsWith('unused');
    const plan = pricing === 'savingsplan' || chargeType.toLowerCase() === 'unusedsavingsplan';
    return {
      id,
      category: plan ? 'Spend' : 'Usage',
      type: plan ? 'Savings Plan' : 'Reservation',
      name: this.row.resource(this.columns.benefitName, 'BenefitName'),
      status: category !== 'Usage' ? null : unused ? 'Unused' : 'Used',
      quantity: null,
      unit: null,
    };
  }

  private otherNature(line: number, chargeType: string, nature: Nature): Error {
    const named = nature === 'amortised' ? 'azure-amortised' : 'azure-ea';
    return invalid(
      `${this.file}: line ${line}, ChargeType: ${quotedText(chargeType)} with this cost is a line of an export of ${nature} cost; import the file with --format ${named}`,
    );
  }
}

function termOf(pricing: string, months: string): Term | null {
  const years = Number(months) >= 36 ? '3y' : '1y';
  switch (pricing) {
    case 'ondemand':
      return 'on-demand';
    case 'spot':
      return 'spot';
    case 'reservation':
      return `reserved-${years}`;
    case 'savingsplan':
      return `savings-plan-${years}`;
    default:
      return null;
  }
}

function effectiveOf(billed: Decimal, category: ChargeCategory, pricing: string): Decimal | null {
  if (!isCommitted(pricing)) return billed;
  if (category === 'Purchase') return ZERO;
  return billed.unscaled === 0n ? null : billed;
}

/** The VM size in a virtual machine's AdditionalInfo: `{"ServiceType":"Standard_NC6s_v3",...}`. */
function machineSizeOf(text: string): string | null {
  const size = text === '' ? undefined : parseTags(text)?.['ServiceType'];
  return size !== undefined && /^(?:Standard|Basic)_/.test(size) ? size : null;
}
