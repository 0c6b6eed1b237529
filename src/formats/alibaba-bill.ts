/**
 * Alibaba Cloud's bill as CSV, in the console's export and in the delivery to OSS: billing details by billable item or
 * by instance, by month, by day or in detail, with Chinese or English columns.
 *
 * Followed: Alibaba Cloud, Expenses and Costs, "Detailed file format" (BSS OpenAPI: instance billing cycle details),
 * "Billing details" (fields of the console's export, alibabacloud.com/help/en/user-center/user-guide/bill-details-2),
 * "Overview" (help/en/user-center/latest/overview: words of the types of bill), DescribeInstanceBill and
 * QuerySettleBill (help/zh/boa/latest/api-bssopenapi-2017-12-14-querysettlebill: types of bill and their Chinese words,
 * Tax and PaymentCurrency). The columns in Chinese are those of the same file from the site in China. Billed is the
 * pretax amount (after discounts and coupons), list the pretax gross amount, as the provider's own reading of the bill
 * has them; a tax amount is a line of its own of category Tax, in the currency of the payment where one is stated. Of a
 * subscription the effective cost is unknown. Times are Beijing's; a line without them spans its day, or its billing
 * cycle. Columns that are neither read nor known to be irrelevant for costs are reported. The new version of the bill
 * ("Fields in upgraded bills") has other columns and is not read.
 */
import { isMachineComponent, namesOther } from '../core/bill/components.js';
import { ZERO } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { ChargeCategory, UsageRecord } from '../core/usage.js';
import { BillRow, quotedText } from './reading/bill.js';
import { consoleBill, CURRENCY_IN_CHINA, NamedColumns, PlainCells, type ColumnsOf } from './reading/console-bill.js';
import { Memo } from './reading/memo.js';
import type { Cells, Header } from './reading/table.js';
import { isStorable, type Tags } from './reading/tags.js';
import { beijingMonth, parseBeijing, plusDays } from './reading/times.js';
import { DAY_MS, HOUR_MS } from '../core/time.js';

/** What each column is called: in Chinese, in the delivered file, in the console's English export. */
const NAMES = {
  cycle: ['账期', '账单月份', 'BillingCycle', 'Billing Cycle'],
  account: ['账号ID', 'AccountID', 'Account ID', '账号', 'AccountName', 'Account Name'],
  owner: ['Owner账号ID', 'OwnerID', 'Owner ID', 'Owner账号', 'OwnerAccountName', 'Owner Account Name'],
  product: ['产品', 'ProductName', 'Product Name', '产品Code', 'ProductCode', 'Product Code'],
  commodity: ['产品明细Code', 'CommodityCode', 'ProductType', '产品明细', 'ProductDetail', 'Product Detail'],
  subscription: ['消费类型', 'SubscriptionType', 'Subscription Type'],
  type: ['账单类型', 'Item', 'Bill Type'],
  day: ['账单日期', 'BillingDate', 'Billing Date', '消费时间', 'PaymentTime', 'Payment Time'],
  start: ['账单开始时间', '服务开始时间', 'UsageStartTime', 'Usage Start Time'],
  end: ['账单结束时间', '服务结束时间', 'UsageEndTime', 'Usage End Time'],
  instance: ['实例ID', '资产/资源实例ID', 'InstanceID', 'Instance ID'],
  spec: ['实例规格', 'InstanceSpec', 'Instance Spec'],
  billing: ['计费方式', 'BillingType', 'Billing Type'],
  item: ['计费项', 'BillingItem', 'Billing Item', '计费项Code', 'BillingItemCode', 'Billing Item Code'],
  region: ['地域', 'Region'],
  tags: ['实例标签', 'Tag', 'InstanceTag', 'Instance Tag'],
  list: ['原价', '官网价', '目录总价', 'PretaxGrossAmount', 'Pretax Gross Amount'],
  billed: ['应付金额', 'PretaxAmount', 'Pretax Amount'],
  currency: ['币种', 'Currency'],
  tax: ['税额', '税费', 'Tax', 'Tax Amount'],
  taxCurrency: ['支付币种', 'PaymentCurrency', 'Payment Currency'],
} as const;

/**
 * What those pages list apart from that: names, prices, and how the amount was paid. The amount after tax is what is read of it
 * in two parts, where the tax is there.
 */
const PASSED_OVER: ReadonlySet<string> = new Set(
  (
    '财务单元,服务时长,时长单位,订单号/账单号,订单号,账单号,计费方式,业务类型,支付状态,实例昵称,资源组,实例配置,公网IP,私网IP,可用区,' +
    '计费项,计费项Code,单价,单价单位,用量,用量单位,资源包抵扣,优惠金额,优惠券抵扣,抹零优惠,现金支付,代金券抵扣,储值卡支付金额,欠费金额,' +
    'CostUnit,CostCenter,BizType,ServicePeriod,ServicePeriodUnit,RecordID,RelatedRecordID,OrderID,BillingType,Status,' +
    'NickName,ResourceGroup,InstanceConfig,InternetIP,IntranetIP,Zone,BillingItem,BillingItemCode,ListPrice,' +
    'ListPriceUnit,Usage,UsageUnit,DeductedByResourcePackage,InvoiceDiscount,RoundDownDiscount,DeductedByCoupons,' +
    'DeductedByCashCoupons,DeductedByPrepaidCard,PaymentAmount,OutstandingAmount,CashAmount,PaymentTransactionID,' +
    'PretaxAmountLocal'
  ).split(','),
);
const AFTER_TAX = ['含税金额', 'AfterTaxAmount', 'After-tax Amount'];

export const format = consoleBill(
  {
    name: 'alibaba-bill',
    description: "Alibaba Cloud's billing details as CSV from its console or OSS, Chinese or English columns",
  },
  NAMES,
  ['cycle', 'account', 'billed', 'instance'],
  (header) => new AlibabaReader(header),
);

/**
 * `Item`, by its value in the API and the delivered file (`PayAsYouGoBill`), and by its words in the console
 * (`Pay-As-You-Go Bill`), without blanks and hyphens. `null`: by subscription.
 */
const TYPES: Readonly<Record<string, ChargeCategory | null>> = {
  subscriptionorder: 'Purchase',
  payasyougobill: 'Usage',
  refund: 'Adjustment',
  refundbill: 'Adjustment',
  adjustment: 'Adjustment',
  adjustmentbill: 'Adjustment',
  consumption: null,
  预付订单: 'Purchase',
  预付费订单: 'Purchase',
  订阅订单: 'Purchase',
  后付账单: 'Usage',
  后付费账单: 'Usage',
  按量账单: 'Usage',
  退款: 'Adjustment',
  退款账单: 'Adjustment',
  调账: 'Adjustment',
  调账账单: 'Adjustment',
  消费: null,
};

const typeOf = (text: string): ChargeCategory | null | undefined => TYPES[text.replace(/[\s-]/g, '').toLowerCase()];

const SUBSCRIPTION = /^(?:Subscription|预付费|包年包月)$/i;

class AlibabaReader {
  private readonly columns: ColumnsOf<typeof NAMES>;
  private readonly row = new BillRow([], parseBeijing);
  private readonly cells = new PlainCells();
  private readonly tags = new Memo((text) => ({ tags: tagsOf(text) }));
  private readonly months = new Memo((text) => ({ month: beijingMonth(text) }));

  readonly unknownColumns: readonly string[];

  constructor(header: Header) {
    const columns = new NamedColumns(header);
    this.columns = columns.all(NAMES, ['cycle', 'account', 'billed', 'type']);
    this.unknownColumns = columns.unknown(
      this.columns.tax.at < 0 ? PASSED_OVER : new Set([...PASSED_OVER, ...AFTER_TAX]),
    );
  }

  /** The line, and one more for its tax where it states one. */
  read(raw: Cells, problems: Problem[]): UsageRecord[] {
    const { row, columns } = this;
    const cells = this.cells.reading(raw);
    row.begin(cells, problems);
    const { month } = this.months.valueOf(cells.repeated(columns.cycle.at));
    if (month === null)
      row.problem(columns.cycle.name, `${quotedText(cells.repeated(columns.cycle.at))} is not a billing cycle`);
    const { start, end } = this.interval(cells, month ?? { start: Number.NaN, end: Number.NaN });
    const billed = row.requiredAmount(columns.billed.at, columns.billed.name) ?? ZERO;
    const prepaid = SUBSCRIPTION.test(cells.repeated(columns.subscription.at));
    const category = this.category(cells, prepaid);
    const spec = row.key(columns.spec.at, columns.spec.name);
    const isOwn = this.isOwn(cells);
    const isMachine = spec !== null && spec.startsWith('ecs.') && isOwn;
    const tax = row.amount(columns.tax.at, columns.tax.name);
    const line: UsageRecord = {
      id: String(cells.line),
      provider: 'Alibaba Cloud',
      account: row.requiredKey(columns.account.at, columns.account.name),
      subAccount: row.key(columns.owner.at, columns.owner.name),
      resource: row.resource(columns.instance.at, columns.instance.name),
      namespace: null,
      service: row.key(columns.product.at, columns.product.name),
      sku: isMachine ? spec : row.key(columns.commodity.at, columns.commodity.name),
      region: row.key(columns.region.at, columns.region.name),
      term: null,
      gpuModel: null,
      tags: this.tagsOf(cells),
      start,
      end,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category,
        currency:
          columns.currency.at < 0 ? CURRENCY_IN_CHINA : row.currency(columns.currency.at, columns.currency.name),
        billed,
        effective: prepaid ? null : billed,
        list: row.amount(columns.list.at, columns.list.name),
        periodStart: month?.start ?? Number.NaN,
        periodEnd: month?.end ?? Number.NaN,
        ...(isMachine || !isOwn ? { machineHours: isMachine } : {}),
      },
    };
    if (line.charge === null || tax === null || tax.unscaled === 0n) return [line];
    const currency =
      cells.repeated(columns.taxCurrency.at) === ''
        ? line.charge.currency
        : row.currency(columns.taxCurrency.at, columns.taxCurrency.name);
    const charge = { ...line.charge, category: 'Tax' as const, currency, billed: tax, effective: tax, list: null };
    return [line, { ...line, id: `${line.id}/tax`, charge }];
  }

  /** Whether a line that names a machine's type is of the machine itself; its disks and traffic name it too. */
  private isOwn(cells: Cells): boolean {
    const { product, commodity, billing, item } = this.columns;
    if (isMachineComponent(cells.repeated(item.at)) === false) return false;
    return ![product, commodity, billing].some(({ at }) => namesOther(cells.repeated(at)));
  }

  /** The line's own times, otherwise its day, otherwise its billing cycle. */
  private interval(cells: Cells, month: { start: number; end: number }): { start: number; end: number } {
    const { row, columns } = this;
    if (cells.repeated(columns.start.at) !== '' && cells.repeated(columns.end.at) !== '') {
      const start = row.instant(columns.start.at, columns.start.name);
      const end = row.instant(columns.end.at, columns.end.name);
      row.interval(start, end, columns.end.name, false);
      return { start, end };
    }
    if (cells.repeated(columns.day.at) === '') return month;
    const at = row.instant(columns.day.at, columns.day.name);
    // Beijing's day of the instant: its midnight is 16:00 UTC.
    const start = Math.floor((at - BEIJING_MIDNIGHT_MS) / DAY_MS) * DAY_MS + BEIJING_MIDNIGHT_MS;
    return { start, end: plusDays(start, 1) };
  }

  private category(cells: Cells, prepaid: boolean): ChargeCategory {
    const { type } = this.columns;
    const text = cells.repeated(type.at);
    const category = typeOf(text);
    if (category === undefined)
      this.row.problem(type.name, text === '' ? 'the value is missing' : `${quotedText(text)} is not a type of bill`);
    return category ?? (prepaid ? 'Purchase' : 'Usage');
  }

  private tagsOf(cells: Cells): Tags | null {
    const { tags } = this.columns;
    const text = cells.repeated(tags.at);
    const known = this.tags.valueOf(text);
    if (known.tags === undefined) this.row.problem(tags.name, `${quotedText(text)} is not a list of tags`);
    return known.tags ?? null;
  }
}

const BEIJING_MIDNIGHT_MS = 16 * HOUR_MS;

/** `key:team value:a; key:env value:prod`, or `team:a;env:prod`. Undefined where it is neither. */
function tagsOf(text: string): Tags | null | undefined {
  if (text === '') return null;
  if (!isStorable(text)) return undefined;
  const entries = text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => /^key:(\S+) value:(.*)$/.exec(part) ?? /^([^:]+):(.*)$/.exec(part));
  return entries.includes(null)
    ? undefined
    : Object.fromEntries(
        entries.flatMap((match) => (match === null ? [] : [[match[1] ?? '', (match[2] ?? '').trim()]])),
      );
}
