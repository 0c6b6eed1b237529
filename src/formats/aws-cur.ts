/**
 * AWS Cost and Usage Reports as CSV or Parquet: legacy names (`lineItem/UnblendedCost`) and CUR 2.0 names
 * (`line_item_unblended_cost`).
 *
 * Billed is the unblended cost. Effective is the amortised cost by line item type, after AWS' rules ("Understanding
 * your amortized reservation data", "Understanding Savings Plans"; the amortised-cost query of AWS' CUR Query Library):
 * covered usage carries its commitment's share, recurring fees carry only what was not used, upfront fees and negations
 * carry nothing. Where a column that a rule needs is empty, effective is null: unknown, not zero.
 */
import { addDecimal, negateDecimal, ZERO, type Decimal } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import type { ChargeCategory, RecordBatch, Term, UsageRecord } from '../core/usage.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { BillRow, shown } from './reading/bill.js';
import { isParquet } from './reading/input.js';
import { Memo } from './reading/memo.js';
import { readParquetTable } from './reading/parquet.js';
import { headerOf, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';
import { parseTags, tagsOf, type Tags } from './reading/tags.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'aws-cur',
  description: 'AWS Cost and Usage Report as CSV or Parquet, legacy and 2.0 column names',
  recognises: (input) => {
    const columns = headerOf(input);
    return columns.includes('lineItem/LineItemType') || columns.includes('line_item_line_item_type');
  },
  read: (input, options) => readCur(input, options ?? {}),
};

async function* readCur(input: Input, options: ReadOptions): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = new CurReader(header);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  const batches = isParquet(input.head)
    ? readParquetTable(input, prepare, options.mostRowGroupBytes)
    : readCsvTable(input, prepare);
  for await (const { items, rejects } of batches) yield { records: items, rejects };
}

/** `lineItem/UnblendedCost` as CUR 2.0 writes it: `line_item_unblended_cost`. */
function modernName(legacy: string): string {
  return legacy
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])(?=[A-Z])/g, '$1_')
    .replace('/', '_')
    .toLowerCase();
}

function columnsOf(header: Header) {
  const optional = (...names: string[]): number => header.optional(...names, ...names.map(modernName));
  const required = (name: string): number => header.required(name, modernName(name));
  return {
    lineItemId: optional('identity/LineItemId'),
    timeInterval: optional('identity/TimeInterval'),
    periodStart: required('bill/BillingPeriodStartDate'),
    periodEnd: required('bill/BillingPeriodEndDate'),
    account: required('bill/PayerAccountId'),
    type: required('lineItem/LineItemType'),
    start: required('lineItem/UsageStartDate'),
    end: required('lineItem/UsageEndDate'),
    currency: required('lineItem/CurrencyCode'),
    billed: required('lineItem/UnblendedCost'),
    subAccount: optional('lineItem/UsageAccountId'),
    resource: optional('lineItem/ResourceId'),
    service: optional('product/ProductName', 'lineItem/ProductCode'),
    usageType: optional('lineItem/UsageType'),
    instanceType: optional('product/instanceType'),
    sku: optional('product/sku'),
    region: optional('product/regionCode', 'product/region'),
    list: optional('pricing/publicOnDemandCost'),
    term: optional('pricing/term'),
    lease: optional('pricing/LeaseContractLength'),
    planTerm: optional('savingsPlan/PurchaseTerm'),
    reservedCost: optional('reservation/EffectiveCost'),
    unusedUpfront: optional('reservation/UnusedAmortizedUpfrontFeeForBillingPeriod'),
    unusedRecurring: optional('reservation/UnusedRecurringFee'),
    reservation: optional('reservation/ReservationARN'),
    planCost: optional('savingsPlan/SavingsPlanEffectiveCost'),
    planTotal: optional('savingsPlan/TotalCommitmentToDate'),
    planUsed: optional('savingsPlan/UsedCommitment'),
    tags: optional('resource_tags'),
    invoice: optional('bill/InvoiceId'),
  };
}

/**
 * What each line item type is in FOCUS' categories. Negations cancel covered usage and are usage with it; discounts
 * that were negotiated are adjustments, not credits that a budget may leave out.
 */
const CATEGORIES: Readonly<Record<string, ChargeCategory>> = {
  Usage: 'Usage',
  DiscountedUsage: 'Usage',
  SavingsPlanCoveredUsage: 'Usage',
  SavingsPlanNegation: 'Usage',
  Fee: 'Purchase',
  RIFee: 'Purchase',
  SavingsPlanUpfrontFee: 'Purchase',
  SavingsPlanRecurringFee: 'Purchase',
  Tax: 'Tax',
  Credit: 'Credit',
  Refund: 'Adjustment',
};

function categoryOf(type: string): ChargeCategory | null {
  return CATEGORIES[type] ?? (type.endsWith('Discount') ? 'Adjustment' : null);
}

const INVOICED = { isFinal: true } as const;
const TAG_COLUMN = /^(?:resourceTags\/|resource_tags_)(?:user[:_])?(.+)$/;

class CurReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row = new BillRow();
  private readonly tagColumns: readonly { key: string; column: number; name: string }[];
  private readonly planTags = new Memo((text) => ({ tags: parseTags(text) }));
  private readonly gpus = new Memo((text) => ({ model: awsInstanceGpus(text)?.model ?? null }));

  constructor(header: Header) {
    this.columns = columnsOf(header);
    this.tagColumns = header.columns.flatMap((name) => {
      const key = TAG_COLUMN.exec(name)?.[1];
      return key === undefined ? [] : [{ key, column: header.optional(name), name }];
    });
  }

  read(cells: Cells, problems: Problem[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const type = row.requiredKey(columns.type, 'lineItem/LineItemType');
    const category = categoryOf(type);
    if (category === null && type !== '')
      row.problem('lineItem/LineItemType', `${shown(type)} is not a line item type`);
    const start = row.instant(columns.start, 'lineItem/UsageStartDate');
    const end = row.instant(columns.end, 'lineItem/UsageEndDate');
    const periodStart = row.instant(columns.periodStart, 'bill/BillingPeriodStartDate');
    const periodEnd = row.instant(columns.periodEnd, 'bill/BillingPeriodEndDate');
    row.interval(start, end, 'lineItem/UsageEndDate', false);
    row.interval(periodStart, periodEnd, 'bill/BillingPeriodEndDate', true);
    const billed = row.requiredAmount(columns.billed, 'lineItem/UnblendedCost') ?? ZERO;
    const instanceType = row.key(columns.instanceType, 'product/instanceType');
    return {
      id: this.id(cells),
      provider: 'AWS',
      account: row.requiredKey(columns.account, 'bill/PayerAccountId'),
      subAccount: row.key(columns.subAccount, 'lineItem/UsageAccountId'),
      resource: row.resource(columns.resource, 'lineItem/ResourceId'),
      namespace: null,
      service: row.key(columns.service, 'product/ProductName'),
      sku: instanceType ?? row.key(columns.sku, 'product/sku'),
      region: row.key(columns.region, 'product/regionCode'),
      term: this.term(cells, type),
      gpuModel: instanceType === null ? null : this.gpus.of(instanceType).model,
      tags: this.tags(cells),
      start,
      end,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category: category ?? 'Usage',
        currency: row.currency(columns.currency, 'lineItem/CurrencyCode'),
        billed,
        effective: this.effective(cells, type, billed),
        list: row.amount(columns.list, 'pricing/publicOnDemandCost'),
        periodStart,
        periodEnd,
        // Blank until the report is final (AWS CUR data dictionary, bill/InvoiceId).
        ...(cells.repeated(columns.invoice) === '' ? {} : INVOICED),
      },
    };
  }

  /** A line item's id is unique within its time interval; a report without ids has the line number. */
  private id(cells: Cells): string {
    const id = cells.text(this.columns.lineItemId);
    return id === '' ? String(cells.line) : `${id} ${cells.repeated(this.columns.timeInterval)}`;
  }

  private term(cells: Cells, type: string): Term | null {
    const { columns } = this;
    if (type === 'SavingsPlanCoveredUsage' || type.startsWith('SavingsPlan'))
      return `savings-plan-${yearsOf(cells.repeated(columns.planTerm))}`;
    const pricing = cells.repeated(columns.term);
    if (type === 'DiscountedUsage' || type === 'RIFee' || pricing === 'Reserved')
      return `reserved-${yearsOf(cells.repeated(columns.lease))}`;
    if (pricing === 'Spot' || cells.repeated(columns.usageType).includes('SpotUsage')) return 'spot';
    return pricing === 'OnDemand' ? 'on-demand' : null;
  }

  private effective(cells: Cells, type: string, billed: Decimal): Decimal | null {
    const { row, columns } = this;
    switch (type) {
      case 'DiscountedUsage':
        return row.amount(columns.reservedCost, 'reservation/EffectiveCost');
      case 'SavingsPlanCoveredUsage':
        return row.amount(columns.planCost, 'savingsPlan/SavingsPlanEffectiveCost');
      case 'RIFee':
        return sum(
          row.amount(columns.unusedUpfront, 'reservation/UnusedAmortizedUpfrontFeeForBillingPeriod'),
          row.amount(columns.unusedRecurring, 'reservation/UnusedRecurringFee'),
        );
      case 'SavingsPlanRecurringFee': {
        const used = row.amount(columns.planUsed, 'savingsPlan/UsedCommitment');
        return sum(
          row.amount(columns.planTotal, 'savingsPlan/TotalCommitmentToDate'),
          used === null ? null : negateDecimal(used),
        );
      }
      case 'SavingsPlanNegation':
      case 'SavingsPlanUpfrontFee':
        return ZERO;
      case 'Fee':
        return cells.text(columns.reservation) === '' ? billed : ZERO;
      default:
        return billed;
    }
  }

  /**
   * Tag columns of the legacy report (`resourceTags/user:team`), or the one map of CUR 2.0. Empty values are no tags.
   */
  private tags(cells: Cells): Tags | null {
    const { row } = this;
    const map = cells.repeated(this.columns.tags);
    if (map !== '') {
      const { tags } = this.planTags.of(map);
      if (tags === undefined) row.problem('resource_tags', `${shown(map)} is not a JSON object of tags`);
      return tags ?? null;
    }
    if (this.tagColumns.length === 0) return null;
    const entries = this.tagColumns
      .map(({ key, column }): [string, string] => [key, cells.repeated(column)])
      .filter(([, value]) => value !== '');
    return tagsOf(entries) ?? null;
  }
}

/** `3yr` and `36` months are three years; where nothing is said, the shorter, which promises less. */
function yearsOf(text: string): '1y' | '3y' {
  return text.startsWith('3') ? '3y' : '1y';
}

function sum(a: Decimal | null, b: Decimal | null): Decimal | null {
  return a === null || b === null ? null : addDecimal(a, b);
}
