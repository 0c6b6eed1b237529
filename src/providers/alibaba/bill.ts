/**
 * The bill, by instance, billable item and day, as bill lines.
 *
 * Billed is the pretax amount (after discounts and coupons), list the pretax gross amount; the shape has no tax. The
 * daily cost of a subscription is not stated here: its effective cost is null, and its order is a purchase. By instance
 * alone, a machine, its disks and its traffic would be one amount; by billable item, only the machine itself is a line
 * of its instance type. The invariant: a month is read whole, because a bill replaces its month, and never between its
 * end and its last day of change. The instance's term is not stated: null. Source: BSS OpenAPI Reference (2017-12-14),
 * "DescribeInstanceBill" (IsBillingItem, BillingItem and BillingItemCode; final after 12:00 of the third day of the
 * next month; region names, not ids); ECS API Reference (2014-05-26), "DescribeRegions" (their names in the language
 * that is asked for).
 */
import { z } from 'zod';
import { isMachineComponent, namesOther } from '../../core/bill/components.js';
import { orLacking, type PartialRead } from '../../core/partial-read.js';
import type { ChargeCategory, RecordBatch, Reject, UsageRecord } from '../../core/usage.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import { beijingInstant, billMonths, daysOf, type BillMonth } from '../beijing.js';
import { decimalOf, orNull, plainName, reading, type TypeGpus } from '../rpc.js';
import { permissionOf, type AlibabaClient, type Params } from './client.js';
import { CLOUD, TYPES_PERMISSION, type InstanceTypes } from './types.js';

const BILL_PERMISSION = permissionOf('bss', 'DescribeInstanceBill');
const REGIONS_PERMISSION = permissionOf('ecs', 'DescribeRegions');
export const BILL_PERMISSIONS: readonly string[] = [BILL_PERMISSION, REGIONS_PERMISSION, TYPES_PERMISSION];

const MOST_RESULTS = 300;
const FINAL_AFTER_MS = 2 * DAY_MS + 12 * HOUR_MS;

const text = z.string().nullish();
export const ITEM = z.object({
  InstanceID: text,
  BillingDate: text,
  ProductCode: text,
  ProductName: text,
  ProductDetail: text,
  CommodityCode: text,
  SubscriptionType: text,
  Item: text,
  BillingItem: text,
  BillingItemCode: text,
  Region: text,
  InstanceSpec: text,
  OwnerID: text,
  BillAccountID: text,
  Currency: text,
  Tag: text,
  PretaxAmount: z.unknown(),
  PretaxGrossAmount: z.unknown(),
});
type Item = z.output<typeof ITEM>;
export const BILL = z.object({
  Data: z.object({ AccountID: text, NextToken: text, Items: z.array(z.unknown()).nullish() }),
});
const REGIONS = z.object({
  Regions: z.object({ Region: z.array(z.object({ RegionId: z.string(), LocalName: z.string().optional() })) }),
});

/** `Item` of a line (DescribeInstanceBill). */
const CATEGORIES: Readonly<Record<string, ChargeCategory>> = {
  SubscriptionOrder: 'Purchase',
  PayAsYouGoBill: 'Usage',
  Refund: 'Adjustment',
  Adjustment: 'Adjustment',
};

/** Lines of the months that [from, to) touches, each month whole. @throws Failure */
export async function* readBill(
  client: AlibabaClient,
  types: InstanceTypes,
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: () => number },
  partial?: PartialRead,
): AsyncGenerator<RecordBatch> {
  const months = billMonths(from, to, now(), FINAL_AFTER_MS);
  const home = client.settings.regions[0] ?? 'cn-hangzhou';
  const names = (): Promise<ReadonlyMap<string, string>> => regionNames(client, home);
  const regions = months.length === 0 ? NO_NAMES : await orLacking(partial, 'the names of regions', names, NO_NAMES);
  for (const month of months) {
    const lines = new Lines(month, regions);
    for (const day of daysOf(month, now())) {
      for await (const { account, items } of pagesOf(client, home, month, day)) {
        const specs = items.flatMap((item) => specOf(ITEM.safeParse(item).data) ?? []);
        const known = await orLacking(partial, 'GPUs of instance types', () => types.gpusOf(home, specs), NO_TYPES);
        yield lines.batch(items, account, (spec) => known.get(spec)?.model ?? null);
      }
    }
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();
const NO_TYPES: ReadonlyMap<string, TypeGpus> = new Map();

/** An instance type, where the specification of the line is one. */
const specOf = (item: Item | undefined): string | null =>
  item?.InstanceSpec?.startsWith('ecs.') === true ? item.InstanceSpec : null;

export const billParams = (month: string, day: string, token: string): Params => ({
  BillingCycle: month,
  Granularity: 'DAILY',
  BillingDate: day,
  IsBillingItem: true,
  MaxResults: MOST_RESULTS,
  ...(token === '' ? {} : { NextToken: token }),
});

async function* pagesOf(
  client: AlibabaClient,
  region: string,
  month: BillMonth,
  day: string,
): AsyncGenerator<{ account: string | null; items: readonly unknown[] }> {
  let token = '';
  do {
    const params = billParams(month.name, day, token);
    const { Data } = await reading(CLOUD, BILL_PERMISSION, BILL, () =>
      client.call('bss', 'DescribeInstanceBill', region, params),
    );
    yield { account: Data.AccountID ?? null, items: Data.Items ?? [] };
    token = Data.NextToken ?? '';
  } while (token !== '');
}

/** The bill names regions in the account's language: both languages of the sites lead to the id. */
async function regionNames(client: AlibabaClient, region: string): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const AcceptLanguage of ['zh-CN', 'en-US']) {
    const reply = await reading(CLOUD, REGIONS_PERMISSION, REGIONS, () =>
      client.call('ecs', 'DescribeRegions', region, { AcceptLanguage }),
    );
    for (const { RegionId, LocalName } of reply.Regions.Region) {
      if (LocalName !== undefined) names.set(plainName(LocalName), RegionId);
    }
  }
  return names;
}

/** Turns the items of one month into records with ids that are the same whenever the month is read again. */
class Lines {
  private readonly counts = new Map<string, number>();
  private read = 0;

  constructor(
    private readonly month: BillMonth,
    private readonly regions: ReadonlyMap<string, string>,
  ) {}

  batch(items: readonly unknown[], account: string | null, modelOf: (spec: string) => string | null): RecordBatch {
    const records: UsageRecord[] = [];
    const rejects: Reject[] = [];
    for (const raw of items) {
      this.read += 1;
      const result = this.record(raw, account, modelOf);
      if ('reason' in result) rejects.push(result);
      else records.push(result);
    }
    return { records, rejects };
  }

  private record(raw: unknown, account: string | null, modelOf: (spec: string) => string | null): UsageRecord | Reject {
    const reject = (column: string, reason: string): Reject => ({
      line: this.read,
      column,
      reason,
      raw: JSON.stringify(raw).slice(0, 4000),
    });
    const parsed = ITEM.safeParse(raw);
    if (!parsed.success)
      return reject(
        parsed.error.issues[0]?.path.join('/') ?? '',
        parsed.error.issues[0]?.message ?? 'is not a line of a bill',
      );
    const item = parsed.data;
    const category = CATEGORIES[item.Item ?? ''];
    if (category === undefined) return reject('Item', 'is not a type of bill that is known');
    const start = beijingInstant(item.BillingDate ?? '');
    if (Number.isNaN(start)) return reject('BillingDate', 'is not a date');
    const billed = decimalOf(item.PretaxAmount);
    if (billed === null) return reject('PretaxAmount', 'is not an amount');
    if (!/^[A-Z]{3}$/.test(item.Currency ?? '')) return reject('Currency', 'is not a currency code');
    const isOwn = isMachineItem(item, category);
    const spec = isOwn ? specOf(item) : null;
    return {
      id: this.id(item),
      provider: CLOUD,
      account: orNull(item.BillAccountID) ?? account,
      subAccount: orNull(item.OwnerID),
      resource: orNull(item.InstanceID),
      namespace: null,
      service: orNull(item.ProductName) ?? orNull(item.ProductCode),
      sku: spec ?? orNull(item.CommodityCode) ?? orNull(item.ProductCode),
      region: this.regions.get(plainName(item.Region ?? '')) ?? orNull(item.Region),
      term: null,
      gpuModel: spec === null ? null : modelOf(spec),
      tags: tagsOf(item.Tag ?? ''),
      start,
      end: start + DAY_MS,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category,
        currency: item.Currency ?? '',
        billed,
        list: decimalOf(item.PretaxGrossAmount),
        effective: item.SubscriptionType === 'Subscription' ? null : billed,
        periodStart: this.month.start,
        periodEnd: this.month.end,
        ...(spec !== null || !isOwn ? { machineHours: isOwn } : {}),
      },
    };
  }

  /** The id of a line; lines that share it are numbered in the order of the bill. */
  private id({
    BillingDate,
    InstanceID,
    ProductCode,
    CommodityCode,
    SubscriptionType,
    Item,
    BillingItem,
    BillingItemCode,
    InstanceSpec,
  }: Item): string {
    const billable = orNull(BillingItemCode) ?? BillingItem;
    const name = [BillingDate, InstanceID, ProductCode, CommodityCode, SubscriptionType, Item, InstanceSpec, billable]
      .map((part) => part ?? '')
      .join('/');
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  }
}

/**
 * Whether a line may be of the machine itself. Of usage the billable item says so; an order or a refund may be of the
 * whole machine, and where no item is named the product tells.
 */
function isMachineItem(item: Item, category: ChargeCategory): boolean {
  const { BillingItem, BillingItemCode, ProductName, ProductDetail, CommodityCode } = item;
  const names = [BillingItemCode, BillingItem].map((name) => name ?? '');
  if (category === 'Usage' && isMachineComponent(...names) === false) return false;
  return ![...names, ProductName ?? '', ProductDetail ?? '', CommodityCode ?? ''].some(namesOther);
}

/** `key:team value:a; key:env value:prod`. */
function tagsOf(tag: string): Readonly<Record<string, string>> | null {
  const entries = [...tag.matchAll(/key:(\S+) value:([^;]*)/g)].map(([, key = '', value = '']): [string, string] => [
    key,
    value.trim(),
  ]);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}
