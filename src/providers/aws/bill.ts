/**
 * The bill by day, as Cost Explorer states it (GetCostAndUsage): per usage type, and per linked account or one cost
 * allocation tag.
 *
 * Each call costs money (0.01 USD a page), and the month's figures are estimates until AWS closes it (`Estimated` of
 * each day): a later answer replaces the month. The hours of EC2's machines are queried separately from all other
 * usage, because EMR and the marketplace have usage types of the same names. The invariant: the queries together cover
 * every charge once: a charge in none of the others is usage, so that the lines add up to the bill. Source: AWS Cost
 * Management API Reference, GetCostAndUsage (at most two groups; metrics by day) and dimensions RECORD_TYPE and
 * SERVICE.
 */
import { GetCostAndUsageCommand, type Expression, type Group, type ResultByTime } from '@aws-sdk/client-cost-explorer';
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { orLacking, type PartialRead } from '../../core/partial-read.js';
import { awsMachine, isAwsMachineHours, storageOrTrafficSku } from '../../core/price/aws-usage-type.js';
import type { RecordBatch, ChargeCategory, Reject, Term, UsageRecord } from '../../core/usage.js';
import { civilFromDays, dayOf, DAY_MS, daysFromCivil } from '../../core/time.js';
import type { Clients } from './clients.js';
import { reading } from './failures.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes } from './gpus.js';

const PERMISSION = 'ce:GetCostAndUsage';
export const BILL_PERMISSIONS: readonly string[] = [PERMISSION, TYPE_PERMISSION];

/**
 * Cost Explorer's charge types that are no usage, in FOCUS' categories; a negation cancels covered usage and stays with
 * it.
 */
const RECORD_TYPES: readonly (readonly [ChargeCategory, readonly string[]])[] = [
  ['Purchase', ['Upfront', 'Recurring', 'Fee', 'RIFee', 'SavingsPlanUpfrontFee', 'SavingsPlanRecurringFee']],
  ['Tax', ['Tax']],
  ['Credit', ['Credit']],
  [
    'Adjustment',
    [
      'Refund',
      'Enterprise Discount Program Discount',
      'Solution Provider Program Discount',
      'Bundled Discount',
      'Private Rate Discount',
      'Distributor Discount',
    ],
  ],
];

const byRecordType = (values: readonly string[]): Expression => ({
  Dimensions: { Key: 'RECORD_TYPE', Values: [...values] },
});

interface Query {
  readonly category: ChargeCategory;
  /** Usage of another service than EC2. */
  readonly isOfOthers: boolean;
  readonly filter: Expression;
}

const USAGE: Expression = { Not: byRecordType(RECORD_TYPES.flatMap(([, values]) => values)) };
/** A negation goes with the covered usage, whatever service Cost Explorer has it under. */
const OF_EC2: Expression = {
  Or: [
    { Dimensions: { Key: 'SERVICE', Values: ['Amazon Elastic Compute Cloud - Compute'] } },
    byRecordType(['SavingsPlanNegation']),
  ],
};

const QUERIES: readonly Query[] = [
  { category: 'Usage', isOfOthers: false, filter: { And: [USAGE, OF_EC2] } },
  { category: 'Usage', isOfOthers: true, filter: { And: [USAGE, { Not: OF_EC2 }] } },
  ...RECORD_TYPES.map(([category, values]) => ({ category, isOfOthers: false, filter: byRecordType(values) })),
];

/** The first instant of the month of an instant, or of a month that comes later. */
const monthStart = (instant: number, monthsLater = 0): number => {
  const { year, month } = civilFromDays(dayOf(instant) / DAY_MS);
  return daysFromCivil(year, month + monthsLater, 1) * DAY_MS;
};
const dateOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

/**
 * The bill's lines of every month that [from, to) touches, up to the month of `now`: months come whole, because a
 * month's delivery replaces the one before it.
 * @throws Failure
 */
export async function* readBill(
  clients: Clients,
  types: InstanceTypes,
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: number },
  partial?: PartialRead,
): AsyncGenerator<RecordBatch> {
  const models = await modelsOf(clients, types, partial);
  const last = Math.min(to, monthStart(now, 1));
  for (let start = monthStart(from); start < last; start = monthStart(start, 1)) {
    const month = { start, end: monthStart(start, 1) };
    for (const { filter, ...query } of QUERIES) {
      for await (const days of readDays(clients, month, filter))
        yield batchOf(days, {
          ...query,
          month,
          account: clients.settings.account,
          tag: clients.settings.billTag,
          models,
        });
    }
  }
}

/** A type does not differ between regions: an unreadable one leaves the bill unchanged. */
async function modelsOf(
  clients: Clients,
  types: InstanceTypes,
  partial?: PartialRead,
): Promise<ReadonlyMap<string, string | null>> {
  const models = new Map<string, string | null>();
  for (const region of clients.settings.regions)
    for (const [name, { model }] of await orLacking(partial, region, () => types.withGpus(region), new Map()))
      models.set(name, model);
  return models;
}

interface Month {
  readonly start: number;
  readonly end: number;
}

async function* readDays(clients: Clients, month: Month, filter: Expression): AsyncGenerator<readonly ResultByTime[]> {
  const { billTag } = clients.settings;
  let page: string | undefined;
  do {
    const command = new GetCostAndUsageCommand({
      TimePeriod: { Start: dateOf(month.start), End: dateOf(month.end) },
      Granularity: 'DAILY',
      Metrics: ['UnblendedCost', 'AmortizedCost'],
      GroupBy: [
        billTag === null ? { Type: 'DIMENSION', Key: 'LINKED_ACCOUNT' } : { Type: 'TAG', Key: billTag },
        { Type: 'DIMENSION', Key: 'USAGE_TYPE' },
      ],
      Filter: filter,
      NextPageToken: page,
    });
    const answer = await reading(PERMISSION, () => clients.costExplorer().send(command));
    yield answer.ResultsByTime ?? [];
    page = answer.NextPageToken;
  } while (page !== undefined && page !== '');
}

interface Context extends Omit<Query, 'filter'> {
  readonly month: Month;
  readonly account: string | null;
  readonly tag: string | null;
  readonly models: ReadonlyMap<string, string | null>;
}

function batchOf(days: readonly ResultByTime[], context: Context): RecordBatch {
  const records: UsageRecord[] = [];
  const rejects: Reject[] = [];
  for (const { TimePeriod, Groups, Estimated } of days) {
    const start = Date.parse(`${TimePeriod?.Start ?? ''}T00:00:00Z`);
    for (const group of Groups ?? []) {
      const record = Number.isNaN(start) ? null : recordOf(group, start, Estimated === false, context);
      if (record !== null) records.push(record);
      else
        rejects.push({
          line: records.length + rejects.length + 1,
          column: null,
          reason: 'the group states no day or no cost',
          raw: JSON.stringify(group).slice(0, 4000),
        });
    }
  }
  return { records, rejects };
}

/** Null if the group states no cost. */
function recordOf(
  { Keys = [], Metrics = {} }: Group,
  start: number,
  isFinal: boolean,
  { category, isOfOthers, month, account, tag, models }: Context,
): UsageRecord | null {
  const [by = '', usageType = ''] = Keys;
  const { UnblendedCost, AmortizedCost } = Metrics;
  const billed = amountOf(UnblendedCost?.Amount);
  if (billed === null || UnblendedCost?.Unit === undefined) return null;
  const isHours = !isOfOthers && isAwsMachineHours('', usageType) === true;
  const sku = storageOrTrafficSku(usageType) ?? skuOf(usageType, isHours);
  // Groups of a tag are `team$vision`, or `team$` where it is not set.
  const value = tag === null ? '' : by.slice(by.indexOf('$') + 1);
  return {
    id: `${dateOf(start)} ${isOfOthers ? 'Other usage' : category} ${by} ${usageType}`,
    provider: 'AWS',
    account,
    subAccount: tag === null && by !== '' ? by : null,
    resource: null,
    namespace: null,
    service: null,
    sku,
    region: null,
    term: termOf(usageType, category),
    gpuModel: sku === null ? null : (models.get(sku) ?? null),
    tags: tag === null || value === '' ? null : { [tag]: value },
    start,
    end: start + DAY_MS,
    gpuParts: null,
    storageMib: null,
    networkBytes: null,
    charge: {
      category,
      currency: UnblendedCost.Unit,
      billed,
      effective: amountOf(AmortizedCost?.Amount),
      list: null,
      periodStart: month.start,
      periodEnd: month.end,
      ...(isFinal ? { isFinal } : {}),
      ...(category === 'Usage' ? { machineHours: isHours } : {}),
    },
  };
}

/**
 * `USW2-BoxUsage:p4d.24xlarge`: after the colon is the instance type. What is not EC2's hours and names one of EC2's
 * machines (`EBSOptimized:p4d.24xlarge`, EMR's `BoxUsage:p4d.24xlarge`) keeps its usage type.
 */
function skuOf(usageType: string, isHours: boolean): string | null {
  const named = /:(.+)$/.exec(usageType)?.[1] ?? null;
  if (named === null) return null;
  return awsMachine(isHours, named, usageType) ?? usageType;
}

const amountOf = (text: string | undefined): Decimal | null => (text === undefined ? null : parseDecimal(text));

/** Hours at the on-demand usage type may be covered by a commitment: only spot has a usage type of its own. */
const termOf = (usageType: string, category: ChargeCategory): Term | null =>
  category === 'Usage' && usageType.includes('SpotUsage') ? 'spot' : null;
