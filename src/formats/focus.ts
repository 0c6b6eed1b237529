/**
 * FOCUS bills (FinOps Open Cost and Usage Specification, https://focus.finops.org), 1.0 to 1.4, as CSV or Parquet: the
 * dataset Cost and Usage.
 *
 * Followed: the specification's columns at tags v1.0 to v1.2, and specification/datasets/cost_and_usage of the later
 * versions in github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec; AWS, "FOCUS 1.0 with AWS columns" and "FOCUS 1.2
 * with AWS columns" (Data Exports table dictionary). Unknown columns are reported to the caller and kept. Amounts keep
 * the bill's own digits and are in BillingCurrency; a virtual currency (tokens) is only a unit of quantities or prices.
 * A charge that the provider split (AllocatedResourceId) belongs to the resource to which it was allocated, with the
 * tags of both; tags of the allocation win. ContractApplied names the contracts that a charge counts towards, and adds
 * no cost. The id of a line is its line number: a bill is replaced by period as a whole, so that the id needs to be
 * unique within one delivery only. Columns whose absence makes a bill unusable fail the file; all others may be
 * missing.
 */
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import {
  GPU_PARTS,
  MOST_GPU_PARTS,
  type AppliedContract,
  type Charge,
  type Commitment,
  type RecordBatch,
  type Term,
  type UsageRecord,
} from '../core/usage.js';
import { countsTime, isMachineHours, isOfMachines } from '../core/bill/machine-hours.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import { awsMachine, isAwsMachineHours, storageOrTrafficSku } from '../core/price/aws-usage-type.js';
import type { Decimal } from '../core/decimal.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { BillRow, MOST_RESOURCE_CHARACTERS, quotedText } from './reading/bill.js';
import { isParquet } from './reading/input.js';
import { Memo } from './reading/memo.js';
import { decimalOf, decimalOfNumber, scaledInteger } from './reading/numbers.js';
import { readParquetTable } from './reading/parquet.js';
import { isObject } from './reading/record.js';
import { headerOf, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';
import { costCategoryTags, isStorable, parseJsonObject, parseTags, type Tags } from './reading/tags.js';

/** Columns of FOCUS 1.0 to 1.4, one of Microsoft's, and those of AWS that are read. */
const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  'AvailabilityZone',
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingAccountType',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'CapacityReservationId',
  'CapacityReservationStatus',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'CommitmentDiscountCategory',
  'CommitmentDiscountId',
  'CommitmentDiscountName',
  'CommitmentDiscountQuantity',
  'CommitmentDiscountStatus',
  'CommitmentDiscountType',
  'CommitmentDiscountUnit',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'ContractedUnitPrice',
  'EffectiveCost',
  'InvoiceId',
  'InvoiceIssuerName',
  'ListCost',
  'ListUnitPrice',
  'PricingCategory',
  'PricingCurrency',
  'PricingCurrencyContractedUnitPrice',
  'PricingCurrencyEffectiveCost',
  'PricingCurrencyListUnitPrice',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'ServiceSubcategory',
  'SkuId',
  'SkuMeter',
  'SkuPriceDetails',
  'SkuPriceId',
  'SubAccountId',
  'SubAccountName',
  'SubAccountType',
  'Tags',
  'ServiceProviderName',
  'AllocatedMethodDetails',
  'AllocatedMethodId',
  'AllocatedResourceId',
  'AllocatedResourceName',
  'AllocatedTags',
  'CommitmentProgramEligibilityDetails',
  'ContractApplied',
  'HostProviderName',
  'InvoiceDetailId',
  'x_CostCategories',
  'x_SkuMeterCategory',
  'x_SkuMeterName',
  'x_SkuTerm',
  'x_UsageType',
]);

/** So many of these in a header make it FOCUS', even where some that must be there are not. */
const DISTINCTIVE_COLUMNS = [
  'BilledCost',
  'EffectiveCost',
  'BillingCurrency',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
];
const ENOUGH_DISTINCTIVE_COLUMNS = 4;

export const format: UsageFormat = {
  kind: 'usage',
  name: 'focus',
  description: 'FOCUS 1.0 to 1.4 bill (Cost and Usage), CSV or Parquet',
  recognises: (input) => isFocusHeader(headerOf(input)),
  read: (input, options) => readFocus(input, options ?? {}),
};

function isFocusHeader(columns: readonly string[]): boolean {
  return DISTINCTIVE_COLUMNS.filter((column) => columns.includes(column)).length >= ENOUGH_DISTINCTIVE_COLUMNS;
}

async function* readFocus(input: Input, options: ReadOptions): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const unknown = header.columns.filter((column) => !KNOWN_COLUMNS.has(column));
    const reader = new FocusReader(header);
    if (unknown.length > 0) options.onUnknownColumns?.(unknown);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  const batches = isParquet(input.head)
    ? readParquetTable(input, prepare, options.mostRowGroupBytes)
    : readCsvTable(input, prepare);
  for await (const { items, rejects } of batches) yield { records: items, rejects };
}

function columnsOf(header: Header) {
  return {
    billed: header.required('BilledCost'),
    account: header.required('BillingAccountId'),
    currency: header.required('BillingCurrency'),
    periodStart: header.required('BillingPeriodStart'),
    periodEnd: header.required('BillingPeriodEnd'),
    category: header.required('ChargeCategory'),
    start: header.required('ChargePeriodStart'),
    end: header.required('ChargePeriodEnd'),
    provider: header.required('ServiceProviderName', 'ProviderName'),
    /** Deprecated in 1.3: a bill may have both, and either may be empty. */
    olderProvider: header.optional('ProviderName'),
    effective: header.optional('EffectiveCost'),
    list: header.optional('ListCost'),
    subAccount: header.optional('SubAccountId'),
    resource: header.optional('ResourceId'),
    allocatedResource: header.optional('AllocatedResourceId'),
    allocatedTags: header.optional('AllocatedTags'),
    contract: header.optional('ContractApplied'),
    service: header.optional('ServiceName'),
    sku: header.optional('SkuId'),
    skuDetails: header.optional('SkuPriceDetails'),
    region: header.optional('RegionId', 'RegionName'),
    pricing: header.optional('PricingCategory'),
    commitment: header.optional('CommitmentDiscountCategory'),
    commitmentId: header.optional('CommitmentDiscountId'),
    commitmentName: header.optional('CommitmentDiscountName'),
    commitmentType: header.optional('CommitmentDiscountType'),
    commitmentStatus: header.optional('CommitmentDiscountStatus'),
    commitmentQuantity: header.optional('CommitmentDiscountQuantity'),
    commitmentUnit: header.optional('CommitmentDiscountUnit'),
    costCategories: header.optional('x_CostCategories'),
    usageType: header.optional('x_UsageType'),
    skuMeter: header.optional('SkuMeter'),
    // Of Microsoft's export before it had SkuMeter.
    meterCategory: header.optional('x_SkuMeterCategory'),
    meterName: header.optional('x_SkuMeterName'),
    description: header.optional('ChargeDescription'),
    skuTerm: header.optional('x_SkuTerm'),
    quantity: header.optional('ConsumedQuantity'),
    unit: header.optional('ConsumedUnit'),
    pricingUnit: header.optional('PricingUnit'),
    tags: header.optional('Tags'),
    invoice: header.optional('InvoiceId'),
  };
}

/** What SkuPriceDetails (FOCUS 1.1 and 1.2) says of the instance. */
interface SkuDetails {
  readonly instanceType: string | null;
  readonly gpuModel: string | null;
  readonly gpus: number | null;
}

const MACHINE_DETAILS = ['InstanceType', 'GpuModel', 'GpuCount'];
const NO_DETAILS: SkuDetails = { instanceType: null, gpuModel: null, gpus: null };

class FocusReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row: BillRow;
  private readonly hasBothProviders: boolean;
  private readonly details = new Memo(skuDetailsOf);
  private readonly applied = new Memo((text) => ({ contracts: appliedContracts(text) }));
  private readonly skus = new Memo(storageOrTrafficSku);
  private readonly pricing = new Memo((text) => text.toLowerCase());
  private readonly services = new Memo((text) => ({
    isEc2: isAwsMachineHours(text, ''),
    isOfMachines: isOfMachines(text),
  }));
  private readonly usageTypes = new Memo((text) => isAwsMachineHours('', text));
  private readonly units = new Memo(countsTime);
  private words = { provider: '', service: '', meter: '', unit: '', statesMachine: false };
  /** By description, of lines that agree in these words: most agree with the line before. */
  private readonly hours = new Memo((description) => isMachineHours({ ...this.words, description }));

  constructor(header: Header) {
    this.columns = columnsOf(header);
    this.row = new BillRow(header.columns);
    this.hasBothProviders = this.columns.olderProvider >= 0 && this.columns.olderProvider !== this.columns.provider;
  }

  read(cells: Cells, problems: { path: string | null; message: string }[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const isOlder =
      this.hasBothProviders && cells.repeated(columns.provider) === '' && cells.repeated(columns.olderProvider) !== '';
    const provider = row.provider(isOlder ? columns.olderProvider : columns.provider, 'ProviderName');
    const start = row.instant(columns.start, 'ChargePeriodStart');
    const end = row.instant(columns.end, 'ChargePeriodEnd');
    const periodStart = row.instant(columns.periodStart, 'BillingPeriodStart');
    const periodEnd = row.instant(columns.periodEnd, 'BillingPeriodEnd');
    row.interval(start, end, 'ChargePeriodEnd', false);
    row.interval(periodStart, periodEnd, 'BillingPeriodEnd', true);
    const billed = row.requiredAmount(columns.billed, 'BilledCost');
    const category = row.category(columns.category, 'ChargeCategory');
    const stated = this.details.valueOf(cells.repeated(columns.skuDetails));
    const isHours = category === 'Usage' ? this.isHours(cells, provider, stated) : null;
    const details = this.machine(cells, provider, isHours, stated);
    // Assigned, where there is something to assign: copies of a line's fields cost more than all else of it.
    const charge: { -readonly [K in keyof Charge]: Charge[K] } = {
      category,
      currency: row.currency(columns.currency, 'BillingCurrency'),
      billed: billed ?? NOTHING,
      effective: row.amount(columns.effective, 'EffectiveCost'),
      list: row.amount(columns.list, 'ListCost'),
      periodStart,
      periodEnd,
      commitment: this.commitment(cells),
      contracts: this.contracts(cells),
    };
    // Null until the charge is on an invoice (FOCUS 1.2, InvoiceId).
    if (cells.repeated(columns.invoice) !== '') charge.isFinal = true;
    if (isHours !== null) charge.machineHours = isHours;
    return {
      id: String(cells.line),
      provider,
      account: row.requiredKey(columns.account, 'BillingAccountId'),
      subAccount: row.key(columns.subAccount, 'SubAccountId'),
      resource:
        row.resource(columns.allocatedResource, 'AllocatedResourceId') ?? row.resource(columns.resource, 'ResourceId'),
      namespace: null,
      service: row.key(columns.service, 'ServiceName'),
      sku: details.instanceType ?? this.storageSku(cells, provider) ?? row.key(columns.sku, 'SkuId'),
      region: row.key(columns.region, 'RegionId'),
      term: this.term(cells),
      gpuModel: details.gpuModel,
      tags: this.tags(),
      start,
      end,
      gpuParts: details.gpus === null ? null : this.gpuParts(cells, details.gpus, end - start),
      storageMib: null,
      networkBytes: null,
      charge,
    };
  }

  /** What the meter calls AWS' volumes and traffic: a SkuId does not tell what it is of. */
  private storageSku(cells: Cells, provider: string): string | null {
    return provider === 'AWS' ? this.skus.valueOf(this.usageType(cells)) : null;
  }

  /**
   * Whether the line is a machine's own hours: AWS says it by usage type, others by service, meter, description and
   * unit. Null if it says nothing, or where the machine that it states says more.
   */
  private isHours(cells: Cells, provider: string, details: SkuDetails): boolean | null {
    const { columns } = this;
    const text = cells.repeated(columns.service);
    const service = this.services.valueOf(text);
    const type = this.usageType(cells);
    if (provider === 'AWS') {
      if (service.isEc2 === false) return false;
      if (type !== '') return this.usageTypes.valueOf(type);
    }
    // Most lines of a bill are of other services, or count no time: nothing more of them is looked at.
    const unit = cells.repeated(columns.unit) || cells.repeated(columns.pricingUnit);
    if (details === NO_DETAILS && text !== '' && (!service.isOfMachines || !this.units.valueOf(unit))) return false;
    const meter = type || this.meter(cells);
    const { words } = this;
    const statesMachine = details !== NO_DETAILS;
    const isAsBefore =
      words.provider === provider &&
      words.service === text &&
      words.meter === meter &&
      words.unit === unit &&
      words.statesMachine === statesMachine;
    if (!isAsBefore) {
      this.words = { provider, service: text, meter, unit, statesMachine };
      this.hours.forget();
    }
    return this.hours.valueOf(cells.repeated(columns.description));
  }

  /** By the first of its columns that is filled. */
  private usageType(cells: Cells): string {
    return cells.repeated(this.columns.usageType) || cells.repeated(this.columns.skuMeter);
  }

  private meter(cells: Cells): string {
    const category = cells.repeated(this.columns.meterCategory);
    const name = cells.repeated(this.columns.meterName);
    return category === '' ? name : name === '' ? category : `${category} ${name}`;
  }

  /**
   * What the bill says of the machine; AWS' usage type (`USW2-BoxUsage:p4d.24xlarge`) where SkuPriceDetails does not.
   */
  private machine(cells: Cells, provider: string, isHours: boolean | null, details: SkuDetails): SkuDetails {
    if (provider !== 'AWS') return isHours === false ? NO_DETAILS : details;
    const type = awsMachine(isHours, details.instanceType, this.usageType(cells));
    if (isHours === false && type === null) return NO_DETAILS;
    const known = type === null ? null : awsInstanceGpus(type);
    return {
      instanceType: type,
      gpuModel: details.gpuModel ?? known?.model ?? null,
      gpus: details.gpus ?? known?.gpus ?? null,
    };
  }

  /** Later ones win: tags, then AWS' cost categories under `costCategory/`, then the tags of the allocation. */
  private tags(): Tags | null {
    const { row, columns } = this;
    const tags = row.tags(columns.tags, 'Tags');
    if (columns.costCategories < 0 && columns.allocatedTags < 0) return tags;
    const categories = row.tags(columns.costCategories, 'x_CostCategories');
    const allocated = row.tags(columns.allocatedTags, 'AllocatedTags');
    return categories === null && allocated === null
      ? tags
      : { ...tags, ...(categories === null ? null : costCategoryTags(categories)), ...allocated };
  }

  private commitment(cells: Cells): Commitment | null {
    const { row, columns } = this;
    const id = row.resource(columns.commitmentId, 'CommitmentDiscountId');
    if (id === null) return null;
    const category = cells.repeated(columns.commitment);
    const status = cells.repeated(columns.commitmentStatus);
    return {
      id,
      category: category === 'Usage' || category === 'Spend' ? category : null,
      type: row.key(columns.commitmentType, 'CommitmentDiscountType'),
      name: row.resource(columns.commitmentName, 'CommitmentDiscountName'),
      status: status === 'Used' || status === 'Unused' ? status : null,
      quantity: row.amount(columns.commitmentQuantity, 'CommitmentDiscountQuantity'),
      unit: row.key(columns.commitmentUnit, 'CommitmentDiscountUnit'),
    };
  }

  private contracts(cells: Cells): readonly AppliedContract[] | null {
    const text = cells.repeated(this.columns.contract);
    if (text === '' || text === '{}') return null;
    const { contracts } = this.applied.valueOf(text);
    if (contracts === null)
      this.row.problem(
        'ContractApplied',
        `${quotedText(text)} is not a JSON object whose Elements each name a contract commitment and a cost, or a quantity with its unit`,
      );
    return contracts;
  }

  /**
   * PricingCategory: Dynamic is spot, Committed a commitment by CommitmentDiscountCategory (Usage: reservation, Spend:
   * savings plan). FOCUS has no column for a commitment's length; see `committedYears`.
   */
  private term(cells: Cells): Term | null {
    const pricing = this.pricing.valueOf(cells.repeated(this.columns.pricing));
    const commitment = cells.repeated(this.columns.commitment);
    if (pricing === 'dynamic') return 'spot';
    if (commitment !== '' && (pricing === 'committed' || pricing === '')) {
      const years = committedYears(cells.repeated(this.columns.skuTerm), cells.repeated(this.columns.commitmentName));
      return commitment === 'Spend' ? `savings-plan-${years}` : `reserved-${years}`;
    }
    return pricing === 'standard' ? 'on-demand' : null;
  }

  /** GpuCount x hours used / hours of the interval, where that is a share Bursar can hold exactly. */
  private gpuParts(cells: Cells, gpus: number, milliseconds: number): number | null {
    const hours = cells.decimal(this.columns.quantity);
    if (!HOURS.test(cells.repeated(this.columns.unit)) || hours === null || hours === undefined || !(milliseconds > 0))
      return null;
    const partMilliseconds = scaledInteger(hours, BigInt(gpus * GPU_PARTS) * 3_600_000n);
    if (partMilliseconds === null || partMilliseconds < 0 || partMilliseconds % milliseconds !== 0) return null;
    const parts = partMilliseconds / milliseconds;
    return parts <= MOST_GPU_PARTS ? parts : null;
  }
}

const HOURS = /^(?:1 )?(?:hours?|hrs?)$/i;
const NOTHING: Decimal = { unscaled: 0n, scale: 0 };
const THREE_YEARS = /\b(?:3|three)[ _-]?(?:y|yr|yrs|year|years)\b/i;

/**
 * By Microsoft's x_SkuTerm (months) or the commitment's own name; where neither says, the shorter, which promises less.
 */
function committedYears(months: string, name: string): '1y' | '3y' {
  if (months !== '') return Number(months) === 36 ? '3y' : '1y';
  return THREE_YEARS.test(name) ? '3y' : '1y';
}

function skuDetailsOf(text: string): SkuDetails {
  const details = text === '' ? null : parseTags(text);
  if (details === null || details === undefined) return NO_DETAILS;
  const gpus = Number(details['GpuCount'] ?? '');
  if (!MACHINE_DETAILS.some((name) => details[name] !== undefined)) return NO_DETAILS;
  return {
    instanceType: details['InstanceType'] ?? null,
    gpuModel: details['GpuModel'] === undefined ? null : modelOf(details['GpuModel']),
    gpus: details['GpuCount'] !== undefined && Number.isInteger(gpus) && gpus > 0 && gpus <= 1000 ? gpus : null,
  };
}

/**
 * What `{"Elements": [{"ContractCommitmentId": "c", "ContractCommitmentAppliedCost": 1.5}]}` says of each commitment: a
 * cost, or a quantity with its unit, or both (1.3). Null if it says something else. 1.3 was first published with keys
 * that end in `ID`.
 */
function appliedContracts(text: string): readonly AppliedContract[] | null {
  const elements = parseJsonObject(text)?.['Elements'];
  if (!Array.isArray(elements)) return null;
  const applied = (elements as unknown[]).map((element): AppliedContract | null => {
    const fields = isObject(element) ? element : {};
    const id = fields['ContractCommitmentId'] ?? fields['ContractCommitmentID'];
    const cost = numberOf(fields['ContractCommitmentAppliedCost']);
    const quantity = numberOf(fields['ContractCommitmentAppliedQuantity']);
    const unit = fields['ContractCommitmentAppliedUnit'];
    if (typeof id !== 'string' || id === '' || id.length > MOST_RESOURCE_CHARACTERS || !isStorable(id)) return null;
    const measured = quantity !== null && typeof unit === 'string' && isStorable(unit);
    return cost === null && !measured
      ? null
      : { id, cost, quantity: measured ? quantity : null, unit: measured ? unit : null };
  });
  return applied.includes(null) ? null : applied.filter((one) => one !== null);
}

/** A number of many digits comes as text. */
const numberOf = (value: unknown): Decimal | null =>
  (typeof value === 'number' ? decimalOfNumber(value) : typeof value === 'string' ? decimalOf(value) : undefined) ??
  null;
