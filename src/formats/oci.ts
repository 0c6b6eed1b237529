/**
 * Oracle Cloud Infrastructure cost reports as CSV.
 *
 * The report names no billing period: a line belongs to the UTC calendar month of its start (Oracle bills by calendar
 * month: "Cost and usage reports overview"). Oracle writes new files through the day, each with only the new lines: a
 * file adds to its month, and the same file again replaces only itself. `lineItem/referenceNo` is the line's identity,
 * in whatever file it is (store/usage/increments.ts); a correction is an adjustment. COMPUTE is more than machines
 * (Windows, images): its description and unit say which lines are their hours.
 */
import { isMachineHours } from '../core/bill/machine-hours.js';
import { ZERO } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { Input, UsageFormat } from '../core/ports.js';
import type { RecordBatch, UsageRecord } from '../core/usage.js';
import { BillRow } from './reading/bill.js';
import { Memo } from './reading/memo.js';
import { hasColumns, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';
import { tagsOf } from './reading/tags.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'oci',
  description: 'Oracle Cloud Infrastructure cost report as CSV, whose files add up to a month',
  increments: true,
  recognises: (input) => hasColumns(input, 'lineItem/intervalUsageStart', 'cost/productSku'),
  read,
};

async function* read(input: Input): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = new OciReader(header);
    return (cells, out, problems) => {
      out.push(reader.read(cells, problems));
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { records: items, rejects };
}

function columnsOf(header: Header) {
  return {
    reference: header.required('lineItem/referenceNo'),
    tenant: header.required('lineItem/tenantId'),
    start: header.required('lineItem/intervalUsageStart'),
    end: header.required('lineItem/intervalUsageEnd'),
    billed: header.required('cost/myCost'),
    currency: header.required('cost/currencyCode'),
    service: header.optional('product/service'),
    compartment: header.optional('product/compartmentId'),
    region: header.optional('product/region'),
    resource: header.optional('product/resourceId'),
    sku: header.optional('cost/productSku'),
    correction: header.optional('lineItem/isCorrection'),
    description: header.optional('product/Description'),
    unit: header.optional('cost/skuUnitDescription'),
  };
}

class OciReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row: BillRow;
  private readonly tagColumns: readonly { key: string; column: number }[];
  private readonly hours = new Memo((text) => {
    const [service = '', description = '', unit = ''] = text.split('\n');
    return isMachineHours({ provider: 'Oracle', service, meter: '', description, unit, statesMachine: false });
  });
  private lastMonth = { start: Number.NaN, end: Number.NaN };

  constructor(header: Header) {
    this.columns = columnsOf(header);
    this.row = new BillRow(header.columns);
    this.tagColumns = header.columns
      .filter((name) => name.startsWith('tags/'))
      .map((name) => ({ key: name.slice(5), column: header.optional(name) }));
  }

  read(cells: Cells, problems: Problem[]): UsageRecord {
    const { row, columns } = this;
    row.begin(cells, problems);
    const start = row.instant(columns.start, 'lineItem/intervalUsageStart');
    const end = row.instant(columns.end, 'lineItem/intervalUsageEnd');
    row.interval(start, end, 'lineItem/intervalUsageEnd', false);
    const billed = row.requiredAmount(columns.billed, 'cost/myCost') ?? ZERO;
    const period = this.month(start);
    const tags = tagsOf(
      this.tagColumns
        .map(({ key, column }): [string, string] => [key, cells.repeated(column)])
        .filter(([, value]) => value !== ''),
    );
    const isHours = this.isHours(cells);
    return {
      id: row.resource(columns.reference, 'lineItem/referenceNo') ?? String(cells.line),
      provider: 'Oracle',
      account: row.requiredKey(columns.tenant, 'lineItem/tenantId'),
      subAccount: row.key(columns.compartment, 'product/compartmentId'),
      resource: row.resource(columns.resource, 'product/resourceId'),
      namespace: null,
      service: row.key(columns.service, 'product/service'),
      sku: row.key(columns.sku, 'cost/productSku'),
      region: row.key(columns.region, 'product/region'),
      term: null,
      gpuModel: null,
      tags: tags ?? null,
      start,
      end,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category: cells.repeated(columns.correction) === 'true' ? 'Adjustment' : 'Usage',
        currency: row.currency(columns.currency, 'cost/currencyCode'),
        billed,
        effective: billed,
        list: null,
        periodStart: period.start,
        periodEnd: period.end,
        ...(isHours === null ? {} : { machineHours: isHours }),
      },
    };
  }

  private isHours(cells: Cells): boolean | null {
    const { service, description, unit } = this.columns;
    if (description < 0) return null;
    return this.hours.valueOf([service, description, unit].map((column) => cells.repeated(column)).join('\n'));
  }

  /** The UTC calendar month that holds the instant. */
  private month(instant: number): { start: number; end: number } {
    if (instant >= this.lastMonth.start && instant < this.lastMonth.end) return this.lastMonth;
    const date = new Date(instant);
    const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    this.lastMonth = { start, end: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) };
    return this.lastMonth;
  }
}
