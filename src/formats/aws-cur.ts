/**
 * AWS Cost and Usage Reports as CSV or Parquet: legacy names (`lineItem/UnblendedCost`) and CUR 2.0 names
 * (`line_item_unblended_cost`).
 *
 * Followed: AWS Data Exports User Guide, "Cost and Usage Report 2.0" table dictionary, "Discount columns" and "Split
 * line item columns". Billed is the unblended cost, or what the net columns state where an account's discounts are
 * inside its lines: the report has those columns in months with a discount, and then a line of the discount itself
 * costs what its net cell says, nothing if that is empty. Cost categories are tags under `costCategory/`. The part of a
 * machine that pods used is charged to the pods, see reading/aws-split.ts. Effective is the amortised cost by line item
 * type, after AWS' rules ("Understanding your amortized reservation data", "Understanding Savings Plans"; the
 * amortised-cost query of AWS' CUR Query Library): covered usage carries its commitment's share, recurring fees carry
 * only what was not used, upfront fees and negations carry nothing. If a column that a rule needs is empty, effective
 * is null: unknown, not zero.
 */
import { addDecimal, negateDecimal, ZERO, type Decimal } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import { awsMachine, awsMachineOf, isAwsMachineHours, storageOrTrafficSku } from '../core/price/aws-usage-type.js';
import type { ChargeCategory, Commitment, RecordBatch, Term, UsageRecord } from '../core/usage.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { SplitCosts, type Costs } from './reading/aws-split.js';
import { BillRow, MOST_KEY_CHARACTERS, quotedText } from './reading/bill.js';
import { isParquet } from './reading/input.js';
import { Memo } from './reading/memo.js';
import { readParquetTable } from './reading/parquet.js';
import { headerOf, readCsvTable, type Cells, type Header, type RowReader, type TableBatch } from './reading/table.js';
import { COST_CATEGORY, costCategoryTags, parseTags, tagsOf, type Tags } from './reading/tags.js';

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
  const splits = SPLIT_COLUMNS.some((name) => headerOf(input).includes(name)) ? new SplitCosts() : null;
  if (splits !== null) {
    const note: Prepare = (header) => {
      const reader = new CurReader(header, splits);
      const checker = new CurReader(header, null);
      return (cells, _, problems) => {
        // A line that will be rejected takes and leaves nothing. Its problem is reported when it is read.
        if (problems.length === 0) checker.read(cells, problems);
        if (problems.length === 0) reader.note(cells, problems);
        problems.length = 0;
      };
    };
    for await (const _ of tableOf(input, note, options)) continue;
  }
  const prepare: Prepare = (header) => {
    const reader = new CurReader(header, splits);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  for await (const { items, rejects } of tableOf(input, prepare, options)) yield { records: items, rejects };
}

type Prepare = (header: Header) => RowReader<UsageRecord>;

const tableOf = (input: Input, prepare: Prepare, options: ReadOptions): AsyncGenerator<TableBatch<UsageRecord>> =>
  isParquet(input.head) ? readParquetTable(input, prepare, options.mostRowGroupBytes) : readCsvTable(input, prepare);

const SPLIT_COLUMNS = ['splitLineItem/ParentResourceId', 'split_line_item_parent_resource_id'];

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
    product: optional('lineItem/ProductCode', 'product/ProductName'),
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
    // Of CUR 2.0: what the export has no column of its own for.
    productMap: optional('product'),
    tags: optional('resource_tags'),
    invoice: optional('bill/InvoiceId'),
    netBilled: optional('lineItem/NetUnblendedCost'),
    netReservedCost: optional('reservation/NetEffectiveCost'),
    netUnusedUpfront: optional('reservation/NetUnusedAmortizedUpfrontFeeForBillingPeriod'),
    netUnusedRecurring: optional('reservation/NetUnusedRecurringFee'),
    netPlanCost: optional('savingsPlan/NetSavingsPlanEffectiveCost'),
    plan: optional('savingsPlan/SavingsPlanARN'),
    operation: optional('lineItem/Operation'),
    costCategories: optional('cost_category'),
    parent: optional('splitLineItem/ParentResourceId'),
    split: optional('splitLineItem/SplitCost'),
    unused: optional('splitLineItem/UnusedCost'),
    netSplit: optional('splitLineItem/NetSplitCost'),
    netUnused: optional('splitLineItem/NetUnusedCost'),
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
  return CATEGORIES[type] ?? (isDiscount(type) ? 'Adjustment' : null);
}

const isDiscount = (type: string): boolean => type.endsWith('Discount');

const INVOICED = { isFinal: true } as const;
const TAG_COLUMN = /^(?:resourceTags\/|resource_tags_)(?:user[:_])?(.+)$/;
const CATEGORY_COLUMN = /^(?:costCategory\/|cost_category_)(.+)$/;
/** The tags that AWS gives a pod's line; the namespace is one. */
const NAMESPACE = /^aws[:_]eks[:_]namespace$/;

/** The key of a column of tags or of a cost category; null for another column. */
function tagKeyOf(column: string): string | null {
  const category = CATEGORY_COLUMN.exec(column)?.[1];
  return category === undefined ? (TAG_COLUMN.exec(column)?.[1] ?? null) : `${COST_CATEGORY}${category}`;
}

class CurReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row: BillRow;
  private readonly tagColumns: readonly { key: string; column: number; name: string }[];
  private readonly planTags = new Memo((text) => ({ tags: parseTags(text) }));
  private readonly skus = new Memo(storageOrTrafficSku);
  private readonly machines = new Memo(awsMachineOf);
  private readonly gpus = new Memo((text) => ({ model: awsInstanceGpus(text)?.model ?? null }));

  constructor(
    header: Header,
    private readonly splits: SplitCosts | null,
  ) {
    this.columns = columnsOf(header);
    this.row = new BillRow(header.columns);
    this.tagColumns = header.columns.flatMap((name) => {
      const key = tagKeyOf(name);
      return key === null ? [] : [{ key, column: header.optional(name), name }];
    });
  }

  /** Notes what a row has to do with split costs, before any is read. */
  note(cells: Cells, problems: Problem[]): void {
    const { row, columns, splits } = this;
    if (splits === null) return;
    row.begin(cells, problems);
    const parent = cells.text(columns.parent);
    if (parent !== '') splits.addPod(this.hourKey(cells, parent), this.share());
    else if (this.isMachine(cells)) {
      const type = cells.repeated(columns.type);
      const billed = this.billed(type) ?? ZERO;
      splits.addMachine(this.hourKey(cells, cells.text(columns.resource)), {
        billed,
        effective: this.effective(cells, type, billed),
      });
    }
  }

  private hourKey(cells: Cells, resource: string): string {
    return `${resource} ${cells.repeated(this.columns.start)}`;
  }

  /** A line of the hours of a machine, as EC2 names them; its traffic and disks have other operations. */
  private isMachine(cells: Cells): boolean {
    return (
      cells.repeated(this.columns.operation).startsWith('RunInstances') &&
      (this.product(cells, this.columns.instanceType, 'instance_type') !== null ||
        this.machines.valueOf(cells.repeated(this.columns.usageType)) !== null) &&
      MACHINE_TYPES.has(cells.repeated(this.columns.type)) &&
      cells.text(this.columns.resource) !== ''
    );
  }

  /** In a report with net columns a discount is inside the lines that it is of. */
  private billed(type: string): Decimal | null {
    const { row, columns } = this;
    const net = row.amount(columns.netBilled, 'lineItem/NetUnblendedCost');
    if (net !== null) return net;
    const gross = row.amount(columns.billed, 'lineItem/UnblendedCost');
    return columns.netBilled >= 0 && gross !== null && isDiscount(type) ? ZERO : gross;
  }

  /** A pod's share of its machine: what it used, and its part of what nobody did. */
  private share(): Decimal | null {
    const { row, columns } = this;
    const unused =
      row.amount(columns.netUnused, 'splitLineItem/NetUnusedCost') ??
      row.amount(columns.unused, 'splitLineItem/UnusedCost');
    return sum(
      row.amount(columns.netSplit, 'splitLineItem/NetSplitCost') ??
        row.amount(columns.split, 'splitLineItem/SplitCost'),
      unused ?? ZERO,
    );
  }

  /** Billed and effective as the line states them, with what pods took of a machine moved to them. */
  private costs(cells: Cells, type: string): Costs {
    const { row, columns, splits } = this;
    const parent = row.resource(columns.parent, 'splitLineItem/ParentResourceId') ?? '';
    const stated = this.billed(type);
    if (stated === null && parent === '' && cells.text(columns.billed) === '')
      row.problem(row.named(columns.billed, 'lineItem/UnblendedCost'), 'the value is missing');
    const billed = stated ?? ZERO;
    const costs = { billed, effective: this.effective(cells, type, billed) };
    if (splits === null) return costs;
    if (parent !== '') return splits.ofPod(this.hourKey(cells, parent), this.share()) ?? costs;
    const bears = this.isMachine(cells) && type !== 'SavingsPlanNegation';
    return bears ? splits.leftOf(this.hourKey(cells, cells.text(columns.resource)), costs) : costs;
  }

  read(cells: Cells, problems: Problem[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const type = row.requiredKey(columns.type, 'lineItem/LineItemType');
    const category = categoryOf(type);
    if (category === null && type !== '')
      row.problem(row.named(columns.type, 'lineItem/LineItemType'), `${quotedText(type)} is not a line item type`);
    const start = row.instant(columns.start, 'lineItem/UsageStartDate');
    const end = row.instant(columns.end, 'lineItem/UsageEndDate');
    const periodStart = row.instant(columns.periodStart, 'bill/BillingPeriodStartDate');
    const periodEnd = row.instant(columns.periodEnd, 'bill/BillingPeriodEndDate');
    row.interval(start, end, row.named(columns.end, 'lineItem/UsageEndDate'), false);
    row.interval(periodStart, periodEnd, row.named(columns.periodEnd, 'bill/BillingPeriodEndDate'), true);
    const { billed, effective } = this.costs(cells, type);
    const tags = this.tags(cells);
    const usageType = cells.repeated(columns.usageType);
    const isHours = isAwsMachineHours(cells.repeated(columns.product), usageType);
    const stated = this.product(cells, columns.instanceType, 'instance_type');
    const instanceType = awsMachine(isHours, stated, usageType);
    return {
      id: this.id(cells),
      provider: 'AWS',
      account: row.requiredKey(columns.account, 'bill/PayerAccountId'),
      subAccount: row.key(columns.subAccount, 'lineItem/UsageAccountId'),
      resource: row.resource(columns.resource, 'lineItem/ResourceId'),
      namespace: namespaceOf(tags),
      service: row.key(columns.service, 'product/ProductName'),
      sku: instanceType ?? this.skus.valueOf(usageType) ?? this.product(cells, columns.sku, 'sku'),
      region: this.product(cells, columns.region, 'region_code', 'region'),
      term: this.term(cells, type),
      gpuModel: instanceType === null ? null : this.gpus.valueOf(instanceType).model,
      tags,
      start,
      end,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category: category ?? 'Usage',
        currency: row.currency(columns.currency, 'lineItem/CurrencyCode'),
        billed,
        effective,
        list: row.amount(columns.list, 'pricing/publicOnDemandCost'),
        periodStart,
        periodEnd,
        // Blank until the report is final (AWS CUR data dictionary, bill/InvoiceId).
        ...(cells.repeated(columns.invoice) === '' ? {} : INVOICED),
        ...(isHours === null ? {} : { machineHours: isHours }),
        commitment: this.commitment(type),
      },
    };
  }

  /** Fees count with what of the commitment was not used: that is their effective cost. */
  private commitment(type: string): Commitment | null {
    const { row, columns } = this;
    const reservation = row.resource(columns.reservation, 'reservation/ReservationARN');
    const plan = row.resource(columns.plan, 'savingsPlan/SavingsPlanARN');
    const id = type.startsWith('SavingsPlan') ? plan : reservation;
    if (id === null || type === 'SavingsPlanNegation') return null;
    const used = type === 'DiscountedUsage' || type === 'SavingsPlanCoveredUsage';
    const unused = type === 'RIFee' || type === 'SavingsPlanRecurringFee';
    return {
      id,
      category: id === plan ? 'Spend' : 'Usage',
      type: id === plan ? 'Savings Plan' : 'Reserved Instance',
      name: null,
      status: used ? 'Used' : unused ? 'Unused' : null,
      quantity: null,
      unit: null,
    };
  }

  /** An attribute of the product: its own column, or where the report has none the first of its names in the map. */
  private product(cells: Cells, column: number, ...names: readonly string[]): string | null {
    const { row, columns } = this;
    if (column >= 0 || columns.productMap < 0) return row.key(column, `product_${names[0] ?? ''}`);
    const attributes = this.map(cells, columns.productMap, 'product') ?? {};
    const value = names.map((name) => attributes[name] ?? '').find((text) => text !== '') ?? null;
    if (value !== null && value.length > MOST_KEY_CHARACTERS)
      row.problem('product', `the text has more than ${MOST_KEY_CHARACTERS} characters`);
    return value;
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
        return (
          row.amount(columns.netReservedCost, 'reservation/NetEffectiveCost') ??
          row.amount(columns.reservedCost, 'reservation/EffectiveCost')
        );
      case 'SavingsPlanCoveredUsage':
        return (
          row.amount(columns.netPlanCost, 'savingsPlan/NetSavingsPlanEffectiveCost') ??
          row.amount(columns.planCost, 'savingsPlan/SavingsPlanEffectiveCost')
        );
      case 'RIFee':
        return sum(
          row.amount(columns.netUnusedUpfront, 'reservation/NetUnusedAmortizedUpfrontFeeForBillingPeriod') ??
            row.amount(columns.unusedUpfront, 'reservation/UnusedAmortizedUpfrontFeeForBillingPeriod'),
          row.amount(columns.netUnusedRecurring, 'reservation/NetUnusedRecurringFee') ??
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
    const map = this.map(cells, this.columns.tags, 'resource_tags');
    const categories = this.map(cells, this.columns.costCategories, 'cost_category');
    const entries = this.tagColumns
      .map(({ key, column }): [string, string] => [key, cells.repeated(column)])
      .filter(([, value]) => value !== '');
    if (categories !== null) entries.push(...Object.entries(costCategoryTags(categories)));
    if (entries.length === 0) return map;
    return tagsOf([...Object.entries(map ?? {}), ...entries]) ?? null;
  }

  /** A map of CUR 2.0, as JSON. */
  private map(cells: Cells, column: number, name: string): Tags | null {
    const text = cells.repeated(column);
    if (text === '') return null;
    const { tags } = this.planTags.valueOf(text);
    if (tags === undefined) this.row.problem(name, `${quotedText(text)} is not a JSON object`);
    return tags ?? null;
  }
}

/** Line item types that a machine's hours have. */
const MACHINE_TYPES: ReadonlySet<string> = new Set([
  'Usage',
  'DiscountedUsage',
  'SavingsPlanCoveredUsage',
  'SavingsPlanNegation',
]);

function namespaceOf(tags: Tags | null): string | null {
  for (const key in tags) if (NAMESPACE.test(key)) return tags[key] || null;
  return null;
}

/** `3yr` and `36` months are three years; where nothing is said, the shorter, which promises less. */
function yearsOf(text: string): '1y' | '3y' {
  return text.startsWith('3') ? '3y' : '1y';
}

function sum(a: Decimal | null, b: Decimal | null): Decimal | null {
  return a === null || b === null ? null : addDecimal(a, b);
}
