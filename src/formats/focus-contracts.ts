/**
 * Commitments of contracts: the FOCUS dataset Contract Commitment (1.3 and 1.4), as CSV or Parquet.
 *
 * Followed: specification/datasets/contract_commitment in github.com/FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec
 * (dataset.md and the columns). It contains no charge and no usage: bills state the applied amounts (ContractApplied of
 * focus.ts), and `bursar commitments` shows both. A file states all contracts of its source. Unknown columns are
 * reported to the caller and kept.
 */
import type { Problem } from '../core/errors.js';
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import type { ContractCommitment, RecordBatch } from '../core/usage.js';
import { BillRow, quotedText } from './reading/bill.js';
import { isParquet } from './reading/input.js';
import { readParquetTable } from './reading/parquet.js';
import { hasColumns, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';

/** Of 1.3 and 1.4; those that say nothing of how much, of what and when are read past. */
const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  'BillingCurrency',
  'ContractCommitmentApplicability',
  'ContractCommitmentBenefitCategory',
  'ContractCommitmentCategory',
  'ContractCommitmentCost',
  'ContractCommitmentCreated',
  'ContractCommitmentDescription',
  'ContractCommitmentDiscountPercentage',
  'ContractCommitmentDurationType',
  'ContractCommitmentFulfillmentInterval',
  'ContractCommitmentId',
  'ContractCommitmentLastUpdated',
  'ContractCommitmentLifecycleStatus',
  'ContractCommitmentModel',
  'ContractCommitmentOfferCategory',
  'ContractCommitmentPaymentInterval',
  'ContractCommitmentPaymentModel',
  'ContractCommitmentPaymentUpfrontPercentage',
  'ContractCommitmentPeriodEnd',
  'ContractCommitmentPeriodStart',
  'ContractCommitmentQuantity',
  'ContractCommitmentType',
  'ContractCommitmentUnit',
  'ContractId',
  'ContractPeriodEnd',
  'ContractPeriodStart',
  'InvoiceIssuerName',
  'PricingCurrency',
  'PricingCurrencyContractCommitmentCost',
  'ServiceProviderName',
]);

export const format: UsageFormat = {
  kind: 'usage',
  name: 'focus-contracts',
  description:
    'FOCUS 1.3 and 1.4 contracts (Contract Commitment), CSV or Parquet: what `bursar commitments` measures by',
  recognises: (input) => hasColumns(input, 'ContractCommitmentId', 'ContractCommitmentCategory'),
  read: (input, options) => read(input, options ?? {}),
};

async function* read(input: Input, options: ReadOptions): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<ContractCommitment> => {
    const unknown = header.columns.filter((column) => !KNOWN_COLUMNS.has(column));
    if (unknown.length > 0) options.onUnknownColumns?.(unknown);
    const reader = new ContractReader(header);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  const batches = isParquet(input.head)
    ? readParquetTable(input, prepare, options.mostRowGroupBytes)
    : readCsvTable(input, prepare);
  for await (const { items, rejects } of batches) yield { records: [], rejects, contracts: items };
}

function columnsOf(header: Header) {
  return {
    id: header.required('ContractCommitmentId'),
    category: header.required('ContractCommitmentCategory'),
    start: header.required('ContractCommitmentPeriodStart'),
    end: header.required('ContractCommitmentPeriodEnd'),
    contract: header.optional('ContractId'),
    provider: header.optional('ServiceProviderName'),
    type: header.optional('ContractCommitmentType'),
    description: header.optional('ContractCommitmentDescription'),
    currency: header.optional('BillingCurrency'),
    cost: header.optional('ContractCommitmentCost'),
    quantity: header.optional('ContractCommitmentQuantity'),
    unit: header.optional('ContractCommitmentUnit'),
  };
}

class ContractReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row: BillRow;

  constructor(header: Header) {
    this.columns = columnsOf(header);
    this.row = new BillRow(header.columns);
  }

  read(cells: Cells, problems: Problem[]): ContractCommitment {
    const { row, columns } = this;
    row.begin(cells, problems);
    const start = row.instant(columns.start, 'ContractCommitmentPeriodStart');
    const end = row.instant(columns.end, 'ContractCommitmentPeriodEnd');
    if (end <= start) row.problem('ContractCommitmentPeriodEnd', 'is not after ContractCommitmentPeriodStart');
    const isSpend = this.category(cells) === 'Spend';
    const cost = row.amount(columns.cost, 'ContractCommitmentCost');
    const quantity = row.amount(columns.quantity, 'ContractCommitmentQuantity');
    if (isSpend && cost === null) row.problem('ContractCommitmentCost', 'the value is missing, of a category Spend');
    if (!isSpend && quantity === null)
      row.problem('ContractCommitmentQuantity', 'the value is missing, of a category Usage');
    return {
      id: row.requiredKey(columns.id, 'ContractCommitmentId'),
      contract: row.key(columns.contract, 'ContractId'),
      provider: cells.repeated(columns.provider) === '' ? null : row.provider(columns.provider, 'ServiceProviderName'),
      category: isSpend ? 'Spend' : 'Usage',
      type: row.key(columns.type, 'ContractCommitmentType'),
      description: row.resource(columns.description, 'ContractCommitmentDescription'),
      currency:
        isSpend || cells.repeated(columns.currency) !== '' ? row.currency(columns.currency, 'BillingCurrency') : null,
      cost,
      quantity,
      unit: isSpend
        ? row.key(columns.unit, 'ContractCommitmentUnit')
        : row.requiredKey(columns.unit, 'ContractCommitmentUnit'),
      start,
      end,
    };
  }

  private category(cells: Cells): 'Spend' | 'Usage' {
    const text = cells.repeated(this.columns.category);
    if (text !== 'Spend' && text !== 'Usage')
      this.row.problem('ContractCommitmentCategory', `${quotedText(text)} is neither Spend nor Usage`);
    return text === 'Usage' ? 'Usage' : 'Spend';
  }
}
