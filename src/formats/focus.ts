/**
 * FOCUS bills (FinOps Open Cost and Usage Specification, https://focus.finops.org), 1.0 to 1.2, as CSV or Parquet.
 *
 * Columns of later versions import too: what Bursar does not know is named to the caller and kept aside. Amounts keep
 * the bill's own digits. The id of a line is its line number: a bill is replaced by period as a whole, so that the id
 * needs to be unique within one delivery only. Columns whose absence makes a bill unusable fail the file; all others
 * may be missing.
 */
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import { GPU_PARTS, MOST_GPU_PARTS, type RecordBatch, type Term, type UsageRecord } from '../core/usage.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import type { Decimal } from '../core/decimal.js';
import { BillRow } from './reading/bill.js';
import { isParquet } from './reading/input.js';
import { Memo } from './reading/memo.js';
import { scaledInteger } from './reading/numbers.js';
import { readParquetTable } from './reading/parquet.js';
import { headerOf, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';
import { parseTags } from './reading/tags.js';

/**
 * Columns of FOCUS 1.0, 1.1 and 1.2 (specification/columns), the successor of ProviderName in 1.3, and one of
 * Microsoft's.
 */
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
  'x_SkuTerm',
]);

/** So many of these in a header make it FOCUS', even where some that must be there are not. */
const TELLING_COLUMNS = [
  'BilledCost',
  'EffectiveCost',
  'BillingCurrency',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
];
const ENOUGH_TELLING_COLUMNS = 4;

export const format: UsageFormat = {
  kind: 'usage',
  name: 'focus',
  description: 'FOCUS 1.0 to 1.2 bill, CSV or Parquet (columns of later versions are kept aside)',
  recognises: (input) => isFocusHeader(headerOf(input)),
  read: (input, options) => readFocus(input, options ?? {}),
};

function isFocusHeader(columns: readonly string[]): boolean {
  return TELLING_COLUMNS.filter((column) => columns.includes(column)).length >= ENOUGH_TELLING_COLUMNS;
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
    provider: header.required('ProviderName', 'ServiceProviderName'),
    effective: header.optional('EffectiveCost'),
    list: header.optional('ListCost'),
    subAccount: header.optional('SubAccountId'),
    resource: header.optional('ResourceId'),
    service: header.optional('ServiceName'),
    sku: header.optional('SkuId'),
    skuDetails: header.optional('SkuPriceDetails'),
    region: header.optional('RegionId', 'RegionName'),
    pricing: header.optional('PricingCategory'),
    commitment: header.optional('CommitmentDiscountCategory'),
    commitmentName: header.optional('CommitmentDiscountName'),
    skuTerm: header.optional('x_SkuTerm'),
    quantity: header.optional('ConsumedQuantity'),
    unit: header.optional('ConsumedUnit'),
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

const NO_DETAILS: SkuDetails = { instanceType: null, gpuModel: null, gpus: null };

class FocusReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row = new BillRow();
  private readonly details = new Memo(skuDetailsOf);
  private readonly pricing = new Memo((text) => text.toLowerCase());

  constructor(header: Header) {
    this.columns = columnsOf(header);
  }

  read(cells: Cells, problems: { path: string | null; message: string }[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const details = this.details.of(cells.repeated(columns.skuDetails));
    const start = row.instant(columns.start, 'ChargePeriodStart');
    const end = row.instant(columns.end, 'ChargePeriodEnd');
    const periodStart = row.instant(columns.periodStart, 'BillingPeriodStart');
    const periodEnd = row.instant(columns.periodEnd, 'BillingPeriodEnd');
    row.interval(start, end, 'ChargePeriodEnd', false);
    row.interval(periodStart, periodEnd, 'BillingPeriodEnd', true);
    const billed = row.requiredAmount(columns.billed, 'BilledCost');
    return {
      id: String(cells.line),
      provider: row.provider(columns.provider, 'ProviderName'),
      account: row.requiredKey(columns.account, 'BillingAccountId'),
      subAccount: row.key(columns.subAccount, 'SubAccountId'),
      resource: row.resource(columns.resource, 'ResourceId'),
      namespace: null,
      service: row.key(columns.service, 'ServiceName'),
      sku: details.instanceType ?? row.key(columns.sku, 'SkuId'),
      region: row.key(columns.region, 'RegionId'),
      term: this.term(cells),
      gpuModel: details.gpuModel,
      tags: row.tags(columns.tags, 'Tags'),
      start,
      end,
      gpuParts: details.gpus === null ? null : this.gpuParts(cells, details.gpus, end - start),
      storageMib: null,
      networkBytes: null,
      charge: {
        category: row.category(columns.category, 'ChargeCategory'),
        currency: row.currency(columns.currency, 'BillingCurrency'),
        billed: billed ?? NOTHING,
        effective: row.amount(columns.effective, 'EffectiveCost'),
        list: row.amount(columns.list, 'ListCost'),
        periodStart,
        periodEnd,
        // Null until the charge is on an invoice (FOCUS 1.2, InvoiceId).
        ...(cells.repeated(columns.invoice) === '' ? {} : INVOICED),
      },
    };
  }

  /**
   * PricingCategory: Dynamic is spot, Committed a commitment by CommitmentDiscountCategory (Usage: reservation, Spend:
   * savings plan). FOCUS has no column for a commitment's length; see `committedYears`.
   */
  private term(cells: Cells): Term | null {
    const pricing = this.pricing.of(cells.repeated(this.columns.pricing));
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
const INVOICED = { isFinal: true } as const;
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
  return {
    instanceType: details['InstanceType'] ?? null,
    gpuModel: details['GpuModel'] === undefined ? null : modelOf(details['GpuModel']),
    gpus: details['GpuCount'] !== undefined && Number.isInteger(gpus) && gpus > 0 && gpus <= 1000 ? gpus : null,
  };
}
