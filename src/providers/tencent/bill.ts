/**
 * The bill, by resource, hour and component, as bill lines.
 *
 * Billed is what a component costs after discounts, whatever it is paid with; list is its price before them. A
 * purchase's cost per day is not stated: its effective cost is null. The bill names sub-products, not instance types:
 * they are the SKU here. A machine's disks, bandwidth and images are components of its entry: each is a line of its own
 * SKU, its item's code, so that a meter of the machine stands for its computing alone. The invariant: a month is read
 * whole, because a bill replaces its month, and never between its end and a margin of our own of three days. Sources:
 * Billing API Reference (2018-07-09), "DescribeBillDetail" and data types BillDetail, BillDetailComponent (ComponentCode
 * and ItemCode, with their names) and ActionType's values; CVM API Reference, "DescribeRegions" (the bill has numbers
 * and names of regions, the rest of the API has their codes).
 */
import { z } from 'zod';
import { isMachineComponent } from '../../core/bill/components.js';
import { orLacking, type PartialRead } from '../../core/partial-read.js';
import { DAY_MS } from '../../core/time.js';
import type { ChargeCategory, RecordBatch, Reject, Term, UsageRecord } from '../../core/usage.js';
import { beijingInstant, billMonths, type BillMonth } from '../beijing.js';
import { decimalOf, orNull, plainName, reading } from '../rpc.js';
import { CLOUD, permissionOf, type Params, type TencentClient } from './client.js';
import { familyModel } from './types.js';

const BILL_PERMISSION = permissionOf('billing', 'DescribeBillDetail');
const REGIONS_PERMISSION = permissionOf('cvm', 'DescribeRegions');
export const BILL_PERMISSIONS: readonly string[] = [BILL_PERMISSION, REGIONS_PERMISSION];

const LIMIT = 300;
const FINAL_AFTER_MS = 3 * DAY_MS;
/** An end states its last second. */
const SECOND_MS = 1000;
/** BusinessCode of CVM. */
const MACHINES = 'p_cvm';

const text = z.string().nullish();
const COMPONENT = z.object({
  ComponentCode: text,
  ComponentCodeName: text,
  ItemCode: text,
  ItemCodeName: text,
  InstanceType: text,
  RealCost: text,
  Cost: text,
});
type Component = z.output<typeof COMPONENT>;
const DETAIL = z.object({
  Id: text,
  BillId: text,
  BusinessCode: text,
  BusinessCodeName: text,
  ProductCode: text,
  RegionName: text,
  ResourceId: text,
  ActionType: text,
  FeeBeginTime: text,
  FeeEndTime: text,
  PayerUin: text,
  OwnerUin: text,
  Tags: z.array(z.object({ TagKey: z.string(), TagValue: text })).nullish(),
  ComponentSet: z.array(COMPONENT),
});
type Detail = z.output<typeof DETAIL>;
const BILL = z.object({ Context: text, DetailSet: z.array(z.unknown()).nullish() });
const REGIONS = z.object({ RegionSet: z.array(z.object({ Region: z.string(), RegionName: text })) });

/** Lines of the months that [from, to) touches, each month whole. @throws Failure */
export async function* readBill(
  client: TencentClient,
  from: number,
  to: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<RecordBatch> {
  const months = billMonths(from, to, now, FINAL_AFTER_MS);
  if (months.length === 0) return;
  const regions = await orLacking(partial, 'the names of regions', () => regionNames(client), NO_NAMES);
  for (const month of months) {
    const lines = new Lines(month, regions, client.settings.site.currency);
    for await (const page of pagesOf(client, month)) yield lines.batch(page);
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

async function* pagesOf(client: TencentClient, month: BillMonth): AsyncGenerator<readonly unknown[]> {
  let context: string | null = null;
  for (let Offset = 0; ; Offset += LIMIT) {
    const params: Params = {
      Month: month.name,
      Offset,
      Limit: LIMIT,
      NeedRecordNum: 0,
      ...(context === null ? {} : { Context: context }),
    };
    const reply: z.output<typeof BILL> = await reading(CLOUD, BILL_PERMISSION, BILL, () =>
      client.call('billing', 'DescribeBillDetail', null, params),
    );
    const page = reply.DetailSet ?? [];
    if (page.length > 0) yield page;
    if (page.length < LIMIT) return;
    context = orNull(reply.Context);
  }
}

async function regionNames(client: TencentClient): Promise<ReadonlyMap<string, string>> {
  const home = client.settings.regions[0] ?? null;
  const reply = await reading(CLOUD, REGIONS_PERMISSION, REGIONS, () =>
    client.call('cvm', 'DescribeRegions', home, {}),
  );
  return new Map(reply.RegionSet.map(({ Region, RegionName }) => [plainName(RegionName ?? Region), Region]));
}

/** Turns the entries of one month into records with ids that are the same whenever the month is read again. */
class Lines {
  private readonly counts = new Map<string, number>();
  private read = 0;

  constructor(
    private readonly month: BillMonth,
    private readonly regions: ReadonlyMap<string, string>,
    private readonly currency: string,
  ) {}

  batch(page: readonly unknown[]): RecordBatch {
    const batch: RecordBatch = { records: [], rejects: [] };
    for (const raw of page) {
      this.read += 1;
      this.detail(raw, batch);
    }
    return batch;
  }

  private detail(raw: unknown, { records, rejects }: RecordBatch): void {
    const reject = (column: string, reason: string): void => {
      rejects.push({ line: this.read, column, reason, raw: JSON.stringify(raw).slice(0, 4000) } satisfies Reject);
    };
    const parsed = DETAIL.safeParse(raw);
    if (!parsed.success)
      return reject(
        parsed.error.issues[0]?.path.join('/') ?? '',
        parsed.error.issues[0]?.message ?? 'is not a line of a bill',
      );
    const detail = parsed.data;
    const start = beijingInstant(detail.FeeBeginTime ?? '');
    const end = beijingInstant(detail.FeeEndTime ?? '') + SECOND_MS;
    if (Number.isNaN(start)) return reject('FeeBeginTime', 'is not a time');
    if (!(end > start)) return reject('FeeEndTime', 'is not a time from FeeBeginTime on');
    const costs = detail.ComponentSet.map(({ RealCost }) => decimalOf(RealCost));
    // A resource's components stand or fall together: half of its cost would look like all of it.
    if (costs.includes(null)) return reject('ComponentSet/RealCost', 'is not an amount');
    for (const [at, component] of detail.ComponentSet.entries()) {
      const billed = costs[at];
      if (billed === null || billed === undefined) continue;
      const category = categoryOf(detail.ActionType ?? '');
      const isMachine = detail.BusinessCode === MACHINES ? isMachineOf(component) : null;
      records.push({
        ...this.common(detail),
        ...(isMachine === false ? { sku: itemOf(component), gpuModel: null } : {}),
        id: this.id(detail, component.ItemCode ?? ''),
        term: termOf(detail, component.InstanceType ?? ''),
        start,
        end,
        charge: {
          category,
          currency: this.currency,
          billed,
          effective: category === 'Purchase' ? null : billed,
          list: decimalOf(component.Cost),
          periodStart: this.month.start,
          periodEnd: this.month.end,
          ...(isMachine === null ? {} : { machineHours: isMachine }),
        },
      });
    }
  }

  private common(detail: Detail): Omit<UsageRecord, 'id' | 'term' | 'start' | 'end' | 'charge'> {
    const tags = (detail.Tags ?? []).map(({ TagKey, TagValue }): [string, string] => [TagKey, TagValue ?? '']);
    return {
      provider: CLOUD,
      account: orNull(detail.PayerUin),
      subAccount: orNull(detail.OwnerUin),
      resource: orNull(detail.ResourceId),
      namespace: null,
      service: orNull(detail.BusinessCodeName) ?? orNull(detail.BusinessCode),
      sku: orNull(detail.ProductCode) ?? orNull(detail.BusinessCode),
      region: this.regions.get(plainName(detail.RegionName ?? '')) ?? orNull(detail.RegionName),
      gpuModel: familyModel(/^sp_cvm_(\w+)$/.exec(detail.ProductCode ?? '')?.[1] ?? ''),
      tags: tags.length === 0 ? null : Object.fromEntries(tags),
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
    };
  }

  /** The id of a line; lines that share it are numbered in the order of the bill. */
  private id({ Id, BillId, ResourceId, ActionType, FeeBeginTime }: Detail, item: string): string {
    const name = [orNull(Id) ?? BillId, ResourceId, ActionType, FeeBeginTime, item].map((part) => part ?? '').join('/');
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  }
}

/**
 * By ActionType: subscriptions and the hours of savings plans are bought; returns, corrections and conversions adjust.
 */
function categoryOf(action: string): ChargeCategory {
  if (action === 'prepay_return') return 'Adjustment';
  if (action.startsWith('prepay_') || action === 'svp_hour_pay' || action === 'ripay_purchase') return 'Purchase';
  return action.startsWith('postpay_') || action.endsWith('line_deduct') ? 'Usage' : 'Adjustment';
}

/**
 * Whether a component of an instance is its computing; by its codes, otherwise by its names; null if it has neither.
 */
function isMachineOf({ ComponentCode, ComponentCodeName, ItemCode, ItemCodeName }: Component): boolean | null {
  return (
    isMachineComponent(ComponentCode ?? '', ItemCode ?? '') ??
    isMachineComponent(ComponentCodeName ?? '', ItemCodeName ?? '')
  );
}

const itemOf = ({ ComponentCode, ComponentCodeName, ItemCode, ItemCodeName }: Component): string | null =>
  orNull(ItemCode) ?? orNull(ComponentCode) ?? orNull(ItemCodeName) ?? orNull(ComponentCodeName);

/** @param kind of the component: RI, SP, a package or spot; empty or `-` for a plain instance */
function termOf({ ActionType, BusinessCode }: Detail, kind: string): Term | null {
  if (ActionType === 'postpay_deduct_s') return 'spot';
  return BusinessCode === MACHINES && ActionType === 'postpay_deduct_h' && (kind === '' || kind === '-')
    ? 'on-demand'
    : null;
}
