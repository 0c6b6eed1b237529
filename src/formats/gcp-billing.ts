/**
 * Google Cloud's billing export to BigQuery (standard and detailed usage cost), as JSON lines or as CSV.
 *
 * Followed: Cloud Billing documentation, "Structure of Standard data export" and "Structure of Detailed data export"
 * (docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/standard-usage and detailed-usage). A CSV has
 * no nested fields: its columns are named by their path, with a point or an underscore between (`service.description`,
 * `service_description`), and lists (labels, credits) are JSON in one field.
 *
 * A line's cost is before its credits, which are negative amounts beside it; the invoice is the sum of both. Discounts
 * belong to the line's own billed cost; a grant (PROMOTION) is a separate line of category Credit. Effective is unknown
 * if a committed use discount applies: the export does not state the line's share of the fee. The billing period is the
 * calendar month of `invoice.month`. The invariant: cost and credits of a line are read whole or the line is refused; a
 * number of JSON keeps every digit that is written.
 */
import { isGoogleMachineHours } from '../core/bill/machine-hours.js';
import { addDecimal, ZERO, type Decimal } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import type { Input, UsageFormat } from '../core/ports.js';
import { GPU_PARTS, MOST_GPU_PARTS, type ChargeCategory, type RecordBatch, type UsageRecord } from '../core/usage.js';
import { BillRow, quotedText } from './reading/bill.js';
import { looksLikeJson, readJsonRecords, type ValueReader } from './reading/json.js';
import { Memo } from './reading/memo.js';
import { decimalOf, decimalOfNumber, parseExactly, scaledInteger } from './reading/numbers.js';
import { isObject } from './reading/record.js';
import { Header, headerOf, readCsvTable, type Cells, type RowReader } from './reading/table.js';
import { isStorable, tagsOf, type Tags } from './reading/tags.js';
import { calendarMonth } from './reading/times.js';

export const format: UsageFormat = {
  kind: 'usage',
  name: 'gcp-billing',
  description: 'Google Cloud billing export to BigQuery (standard and detailed usage cost), as JSON lines or CSV',
  recognises,
  read: (input) => (isJson(input) ? readJson(input) : readCsv(input)),
};

const isJson = (input: Input): boolean =>
  looksLikeJson(input, /"billing_account_id"\s*:/) && looksLikeJson(input, /"usage_start_time"\s*:/);

function recognises(input: Input): boolean {
  if (isJson(input)) return true;
  const columns = headerOf(input);
  return (
    columns.includes('billing_account_id') &&
    columns.includes('usage_start_time') &&
    (columns.includes('invoice.month') || columns.includes('invoice_month'))
  );
}

/** Every field that is read, by its path. */
const FIELDS = [
  'billing_account_id',
  'invoice.month',
  'cost_type',
  'service.description',
  'sku.id',
  'sku.description',
  'usage_start_time',
  'usage_end_time',
  'project.id',
  'labels',
  'system_labels',
  'location.region',
  'location.location',
  'cost',
  'cost_at_list',
  'currency',
  'usage.amount',
  'usage.unit',
  'credits',
  'resource.name',
  'resource.global_name',
] as const;

async function* readCsv(input: Input): AsyncGenerator<RecordBatch> {
  const prepare = (header: Header): RowReader<UsageRecord> => {
    const reader = new GcpReader(header);
    return (cells, out, problems) => {
      out.push(...reader.read(cells, problems));
    };
  };
  for await (const { items, rejects } of readCsvTable(input, prepare)) yield { records: items, rejects };
}

function readJson(input: Input): AsyncGenerator<RecordBatch> {
  const reader = new GcpReader(new Header(FIELDS, input.name));
  const read: ValueReader = (value, path, problems, line) => {
    if (!isObject(value)) {
      problems.push({ path, message: 'is not an object' });
      return null;
    }
    const records = reader.read(new FieldCells(value, line, problems), problems);
    return problems.length === 0 ? records : null;
  };
  return readJsonRecords(input, read, parseExactly);
}

/** The fields of one JSON row by their place in FIELDS; a list or an object is its JSON. */
class FieldCells implements Cells {
  constructor(
    private readonly row: Readonly<Record<string, unknown>>,
    readonly line: number,
    private readonly problems: Problem[],
  ) {}

  text(column: number): string {
    const value = this.value(column);
    if (value === null || value === undefined) return '';
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    if (!isStorable(text)) this.problems.push({ path: FIELDS[column] ?? null, message: 'the text cannot be stored' });
    return text;
  }

  repeated(column: number): string {
    return this.text(column);
  }

  decimal(column: number): Decimal | null | undefined {
    const value = this.value(column);
    if (typeof value === 'number') return decimalOfNumber(value);
    const text = this.text(column).trim();
    return text === '' ? null : decimalOf(text);
  }

  private value(column: number): unknown {
    let value: unknown = this.row;
    for (const part of FIELDS[column]?.split('.') ?? []) value = isObject(value) ? value[part] : undefined;
    return value;
  }
}

function columnsOf(header: Header) {
  const named = (path: string): string[] => [path, path.replace('.', '_')];
  const optional = (path: string): number => header.optional(...named(path));
  const required = (path: string): number => header.required(...named(path));
  return {
    account: required('billing_account_id'),
    month: required('invoice.month'),
    start: required('usage_start_time'),
    end: required('usage_end_time'),
    cost: required('cost'),
    currency: required('currency'),
    credits: required('credits'),
    type: optional('cost_type'),
    list: optional('cost_at_list'),
    project: optional('project.id'),
    service: optional('service.description'),
    skuId: optional('sku.id'),
    sku: optional('sku.description'),
    region: optional('location.region'),
    location: optional('location.location'),
    labels: optional('labels'),
    systemLabels: optional('system_labels'),
    usage: optional('usage.amount'),
    unit: optional('usage.unit'),
    resource: optional('resource.global_name'),
    resourceName: optional('resource.name'),
  };
}

/** `cost_type`, as the export writes it; adjustments and rounding are corrections of earlier lines. */
const CATEGORIES: Readonly<Record<string, ChargeCategory>> = {
  '': 'Usage',
  regular: 'Usage',
  tax: 'Tax',
  adjustment: 'Adjustment',
  rounding_error: 'Adjustment',
};

/** Fees of committed use discounts: `Commitment v1: A100 in Americas for 1 Year`, `Commitment - dollar based v1: ...`. */
const FEE = /^Commitment\b/;
const COMMITTED = /^COMMITTED_USAGE_DISCOUNT/;
const GRANTED = 'PROMOTION';

interface Credits {
  /** Of everything that lowers the line itself. */
  readonly discount: Decimal;
  /** Credits granted in addition, by the credit's own name. */
  readonly granted: readonly { readonly name: string; readonly amount: Decimal }[];
  readonly committed: boolean;
}

const NO_CREDITS: Credits = { discount: ZERO, granted: [], committed: false };

class GcpReader {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly row = new BillRow();
  private readonly labels = new Memo((text) => ({ tags: labelsOf(text) }));
  private readonly machines = new Memo((text) => ({ type: machineOf(text) }));
  private readonly months = new Memo((text) => ({ month: calendarMonth(text) }));

  constructor(header: Header) {
    this.columns = columnsOf(header);
    header.check();
  }

  /** The line, and one more for each credit that is granted. */
  read(cells: Cells, problems: Problem[]): UsageRecord[] {
    const { row, columns } = this;
    row.begin(cells, problems);
    const start = row.instant(columns.start, 'usage_start_time');
    const end = row.instant(columns.end, 'usage_end_time');
    row.interval(start, end, 'usage_end_time', false);
    const { month } = this.months.valueOf(cells.repeated(columns.month));
    if (month === null) row.problem('invoice.month', `${quotedText(cells.repeated(columns.month))} is not a month`);
    const cost = row.requiredAmount(columns.cost, 'cost') ?? ZERO;
    const credits = this.credits(cells);
    const billed = addDecimal(cost, credits.discount);
    const category = this.category(cells);
    const isHours = isGoogleMachineHours(cells.repeated(columns.service), cells.repeated(columns.sku));
    const machine = isHours === false ? null : this.machines.valueOf(cells.repeated(columns.systemLabels)).type;
    const gpuModel = isHours === false ? null : this.gpuModel(cells);
    const tags = this.tags(cells);
    const line: UsageRecord = {
      id: String(cells.line),
      provider: 'Google Cloud',
      account: row.requiredKey(columns.account, 'billing_account_id'),
      subAccount: row.key(columns.project, 'project.id'),
      resource:
        row.resource(columns.resource, 'resource.global_name') ?? row.resource(columns.resourceName, 'resource.name'),
      namespace: tags?.['k8s-namespace'] ?? null,
      service: row.key(columns.service, 'service.description'),
      sku: machine ?? row.key(columns.skuId, 'sku.id'),
      region: row.key(columns.region, 'location.region') ?? row.key(columns.location, 'location.location'),
      term: null,
      gpuModel,
      tags,
      start,
      end,
      gpuParts: gpuModel === null ? null : this.gpuParts(cells, end - start),
      storageMib: null,
      networkBytes: null,
      charge: {
        category,
        currency: row.currency(columns.currency, 'currency'),
        billed,
        effective: credits.committed || category === 'Purchase' ? null : billed,
        list: row.amount(columns.list, 'cost_at_list'),
        periodStart: month?.start ?? Number.NaN,
        periodEnd: month?.end ?? Number.NaN,
        ...(isHours === null ? {} : { machineHours: isHours }),
      },
    };
    return [line, ...grantedLines(line, credits)];
  }

  private category(cells: Cells): ChargeCategory {
    const { row, columns } = this;
    const type = cells.repeated(columns.type);
    const category = CATEGORIES[type];
    if (category === undefined) row.problem('cost_type', `${quotedText(type)} is not a cost type`);
    return category === 'Usage' && FEE.test(cells.repeated(columns.sku)) ? 'Purchase' : (category ?? 'Usage');
  }

  private credits(cells: Cells): Credits {
    const text = cells.text(this.columns.credits).trim();
    if (text === '' || text === '[]') return NO_CREDITS;
    const credits = creditsOf(text);
    if (credits === null) this.row.problem('credits', `${quotedText(text)} is not a JSON list of credits with amounts`);
    return credits ?? NO_CREDITS;
  }

  private tags(cells: Cells): Tags | null {
    const text = cells.repeated(this.columns.labels);
    const { tags } = this.labels.valueOf(text);
    if (tags === undefined) this.row.problem('labels', `${quotedText(text)} is not a JSON list of keys and values`);
    return tags ?? null;
  }

  /** Of a line that charges GPUs (`Nvidia Tesla A100 GPU running in Americas`); a machine's other lines are not GPUs. */
  private gpuModel(cells: Cells): string | null {
    const sku = cells.repeated(this.columns.sku);
    return /\bGPU\b/.test(sku) && !FEE.test(sku) ? modelOf(sku) : null;
  }

  /** GPU-seconds over the seconds of the interval, where that is a share Bursar can hold exactly. */
  private gpuParts(cells: Cells, milliseconds: number): number | null {
    const amount = cells.decimal(this.columns.usage);
    if (cells.repeated(this.columns.unit) !== 'seconds' || !amount || !(milliseconds > 0)) return null;
    const partMilliseconds = scaledInteger(amount, BigInt(GPU_PARTS) * 1000n);
    if (partMilliseconds === null || partMilliseconds < 0 || partMilliseconds % milliseconds !== 0) return null;
    const parts = partMilliseconds / milliseconds;
    return parts <= MOST_GPU_PARTS ? parts : null;
  }
}

function grantedLines(line: UsageRecord, { granted }: Credits): UsageRecord[] {
  const { charge } = line;
  if (charge === null) return [];
  return granted.map(({ name, amount }, at) => ({
    ...line,
    id: `${line.id}/credit/${at + 1} ${name}`.trim(),
    gpuParts: null,
    charge: { ...charge, category: 'Credit', billed: amount, effective: amount, list: null },
  }));
}

/** Null if the text is neither a list of credits with amounts nor one amount. */
function creditsOf(text: string): Credits | null {
  const sum = decimalOf(text);
  if (sum !== undefined) return { ...NO_CREDITS, discount: sum };
  const list = parsed(text);
  if (!Array.isArray(list)) return null;
  let discount = ZERO;
  let committed = false;
  const granted: { name: string; amount: Decimal }[] = [];
  for (const credit of list as unknown[]) {
    if (!isObject(credit)) return null;
    const { amount: stated, type, name } = credit;
    const amount = typeof stated === 'number' ? decimalOfNumber(stated) : decimalOf(String(stated ?? ''));
    if (amount === undefined) return null;
    if (type === GRANTED) granted.push({ name: String(name ?? '').slice(0, 100), amount });
    else discount = addDecimal(discount, amount);
    if (typeof type === 'string' && COMMITTED.test(type)) committed = true;
  }
  return { discount, granted, committed };
}

/** Labels as the export has them, `[{"key": "team", "value": "a"}]`, or as one object. */
function labelsOf(text: string): Tags | null | undefined {
  if (text.trim() === '') return null;
  const value = parsed(text);
  if (isObject(value)) return tagsOf(Object.entries(value));
  if (!Array.isArray(value)) return undefined;
  const entries = (value as unknown[]).map((label): [string, unknown] | null =>
    isObject(label) && typeof label['key'] === 'string' ? [label['key'], label['value']] : null,
  );
  return entries.includes(null) ? undefined : tagsOf(entries.filter((entry) => entry !== null));
}

/** The machine type that the system labels name. */
function machineOf(text: string): string | null {
  return labelsOf(text)?.['compute.googleapis.com/machine_spec'] ?? null;
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}
