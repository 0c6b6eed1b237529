/**
 * Azure cost exports of Enterprise Agreements as CSV (cost and usage details, actual cost), in both sets of column
 * names.
 *
 * Days, not instants: a line covers the UTC day of its Date, and the billing period's last day is inclusive in the file
 * (Microsoft, "Cost and usage details file schema"). Billed is the actual cost in the billing currency. Effective is
 * the same for what no commitment covers, nothing for the purchase of a commitment (FOCUS: a purchase that covers
 * future charges), and unknown for covered usage that the actual file states at zero.
 */
import { ZERO, type Decimal } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { Input, UsageFormat } from '../core/ports.js';
import type { ChargeCategory, RecordBatch, Term, UsageRecord } from '../core/usage.js';
import { BillRow, shown } from './reading/bill.js';
import { Memo } from './reading/memo.js';
import { hasColumns, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';
import { parseTags } from './reading/tags.js';
import { parseInstant, parseUsDate, plusDays } from './reading/times.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'azure-ea',
  description: 'Azure Enterprise Agreement cost export (actual cost) as CSV',
  recognises: (input) =>
    hasColumns(input, 'MeterCategory', 'ChargeType', 'Date') &&
    (hasColumns(input, 'Cost') || hasColumns(input, 'CostInBillingCurrency')),
  read,
};

async function* read(input: Input): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = new AzureReader(header);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { records: items, rejects };
}

function columnsOf(header: Header) {
  return {
    date: header.required('Date', 'UsageDateTime'),
    account: header.required('BillingAccountId'),
    periodStart: header.required('BillingPeriodStartDate'),
    periodEnd: header.required('BillingPeriodEndDate'),
    billed: header.required('CostInBillingCurrency', 'Cost'),
    currency: header.required('BillingCurrency', 'BillingCurrencyCode'),
    chargeType: header.required('ChargeType'),
    pricing: header.optional('PricingModel'),
    months: header.optional('Term'),
    subAccount: header.optional('SubscriptionId', 'SubscriptionGuid'),
    resource: header.optional('ResourceId', 'InstanceId'),
    service: header.optional('MeterCategory'),
    meter: header.optional('MeterId'),
    additional: header.optional('AdditionalInfo'),
    region: header.optional('ResourceLocation', 'MeterRegion'),
    tags: header.optional('Tags'),
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
  return text.includes('/') ? parseUsDate(text) : parseInstant(text);
}

class AzureReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row = new BillRow(dayOf);
  private readonly machines = new Memo((text) => ({ size: machineSizeOf(text) }));

  constructor(header: Header) {
    this.columns = columnsOf(header);
  }

  read(cells: Cells, problems: Problem[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const start = row.instant(columns.date, 'Date');
    const periodStart = row.instant(columns.periodStart, 'BillingPeriodStartDate');
    const periodEnd = plusDays(row.instant(columns.periodEnd, 'BillingPeriodEndDate'), 1);
    row.interval(periodStart, periodEnd, 'BillingPeriodEndDate', true);
    const billed = row.requiredAmount(columns.billed, 'Cost') ?? ZERO;
    const chargeType = row.requiredKey(columns.chargeType, 'ChargeType');
    const category = CATEGORIES[chargeType.toLowerCase()];
    if (category === undefined && chargeType !== '')
      row.problem('ChargeType', `${shown(chargeType)} is not a charge type`);
    const pricing = cells.repeated(columns.pricing).toLowerCase();
    return {
      id: String(cells.line),
      provider: 'Microsoft',
      account: row.requiredKey(columns.account, 'BillingAccountId'),
      subAccount: row.key(columns.subAccount, 'SubscriptionId'),
      resource: row.resource(columns.resource, 'ResourceId'),
      namespace: null,
      service: row.key(columns.service, 'MeterCategory'),
      sku: this.machines.of(cells.repeated(columns.additional)).size ?? row.key(columns.meter, 'MeterId'),
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
        billed,
        effective: effectiveOf(billed, category ?? 'Usage', pricing),
        list: null,
        periodStart,
        periodEnd,
      },
    };
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
  if (pricing !== 'reservation' && pricing !== 'savingsplan') return billed;
  if (category === 'Purchase') return ZERO;
  return billed.unscaled === 0n ? null : billed;
}

/** The VM size in a virtual machine's AdditionalInfo: `{"ServiceType":"Standard_NC6s_v3",...}`. */
function machineSizeOf(text: string): string | null {
  const size = text === '' ? undefined : parseTags(text)?.['ServiceType'];
  return size !== undefined && /^(?:Standard|Basic)_/.test(size) ? size : null;
}
