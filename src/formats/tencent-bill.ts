/**
 * Tencent Cloud's bill details (L3) as its console exports them, as CSV, with English or Chinese columns.
 *
 * Followed: Tencent Cloud, Billing Center, "Fields in Bills" (tencentcloud.com/document/product/555/37506, with its
 * enumerated values of Transaction Type), International Partners, "Fields in Customer Bills" (1085/48350) and "Bill
 * Fields Description" (1085/43050), and Billing API (2018-07-09), data type BillDetail, whose Chinese names of the
 * same fields the console in China uses; the transaction types by their words of both: "FOCUS Billing Fields
 * Description" (1085/78392), International Partners' API (2022-09-28) DescribeBillDetail, ActionType, and Billing API's
 * AnalyseActionTypeDetail. Billed is the total after discounts, whatever it is paid with (vouchers are a
 * payment), list the original cost; a tax amount is a line of its own of category Tax. A purchase's effective cost per
 * day is unknown. Times are Beijing's and an end states its last second. The billing period is the bill month, or
 * where a file has no such column (before November 2024) the month in which the line was deducted.
 */
import { isMachineComponent } from '../core/bill/components.js';
import { ZERO } from '../core/decimal.js';
import type { Problem } from '../core/errors.js';
import type { ChargeCategory, Term, UsageRecord } from '../core/usage.js';
import { BillRow, quotedText } from './reading/bill.js';
import { consoleBill, CURRENCY_IN_CHINA, NamedColumns, PlainCells, type ColumnsOf } from './reading/console-bill.js';
import { Memo } from './reading/memo.js';
import type { Cells, Header } from './reading/table.js';
import { beijingMonth, parseBeijing } from './reading/times.js';

const NAMES = {
  month: ['账单月份', 'Bill Month', 'BillMonth'],
  payer: ['支付者UIN', '支付者 UIN', 'Payer Account ID'],
  owner: ['使用者UIN', '使用者 UIN', 'Owner Account ID'],
  product: ['产品名称', 'Product Name', 'ProductName'],
  subproduct: ['子产品名称', 'Subproduct Name', 'SubproductName'],
  component: ['组件类型', 'Component Type', 'ComponentType'],
  componentName: ['组件名称', 'Component Name', 'ComponentName'],
  mode: ['计费模式', 'Billing Mode', 'BillingMode'],
  region: ['地域', 'Region Code', 'Region'],
  instance: ['资源ID', '资源 ID', '实例ID', 'Instance ID', 'InstanceID'],
  kind: ['实例类型', 'Instance Type', 'InstanceType'],
  action: ['交易类型', 'Transaction Type', 'TransactionType'],
  paid: ['扣费时间', 'Transaction Time', 'TransactionTime'],
  start: ['开始使用时间', 'Usage Start Time', 'UsageStartTime'],
  end: ['结束使用时间', 'Usage End Time', 'UsageEndTime'],
  list: ['组件原价', '原价', 'Original Cost', 'OriginalCost'],
  billed: [
    '优惠后总价',
    'Total Amount After Discount (Excluding Tax)',
    'Total Amount After Discount',
    'Total Amount after Discount (Excluding Tax)',
  ],
  tax: ['税额', 'Tax Amount', 'TaxAmount'],
  currency: ['币种', 'Currency'],
} as const;

export const format = consoleBill(
  {
    name: 'tencent-bill',
    description: "Tencent Cloud's bill details (L3) as CSV from its console, English or Chinese columns",
  },
  NAMES,
  ['payer', 'billed', 'action', 'start'],
  (header) => new TencentReader(header),
);

/**
 * Transaction types by their words, the first that fits: corrections before what they correct. What is left of a
 * subscription that turns into pay-as-you-go is given back. The hourly fee of a reserved instance or of a savings plan
 * is what the commitment costs, whoever uses it; the spend that was agreed on as a minimum is no usage.
 */
const ACTIONS: readonly (readonly [RegExp, ChargeCategory])[] = [
  [/退款|退费|退货|refund|return/i, 'Adjustment'],
  [/转按量|to pay-as-you-go/i, 'Adjustment'],
  [/调账|补偿|冲正|冲销|精度差异|保底|adjust|compensat|offset|reversal|minimum spend/i, 'Adjustment'],
  [/包年包月|节省计划|预留实例|新购|续费|[升降变]配|配置变更/, 'Purchase'],
  [/monthly subscription|savings plan|reserved instance|\bRI\b|purchase|renew|prepaid/i, 'Purchase'],
  [/upgrade|downgrade|modify/i, 'Purchase'],
  [/按量|小时结|日结|月结|竞价|扣费|pay-as-you-go|settlement|spot|postpaid|deduct/i, 'Usage'],
];

/** What those pages list apart from that: names, prices, and how the amount was paid. */
const PASSED_OVER: ReadonlySet<string> = new Set(
  (
    '操作者UIN,操作者 UIN,项目名称,可用区,资源别名,实例名称,订单ID,交易ID,组件类型,组件名称,组件刊例价,组件单价,组件价格单位,组件用量,' +
    '组件用量单位,使用时长,时长单位,折扣率,代金券支付金额,现金支付金额,赠送金支付金额,分成金支付金额,现金账户支出,赠送金账户支出,' +
    '代金券支出,配置描述,价格属性,备注属性,预留实例抵扣时长,OperatorAccountID,ResellerAccountID,ProjectName,' +
    'AvailabilityZone,AvailabilityZoneCode,InstanceName,TransactionID,OrderID,ComponentType,ComponentName,' +
    'ComponentListPrice,ComponentContractedPrice,ComponentPriceMeasurementUnit,ComponentUsage,ComponentUsageUnit,' +
    'UsageDuration,DurationUnit,ReservedInstances,AdditionalAttributes,DiscountRate,VoucherDeduction,AmountBeforeTax,' +
    'TaxRate,TotalCost,TotalCost(IncludingTax)'
  ).split(','),
);

const SPOT = /竞价|spot/i;
const ON_DEMAND = /按量|pay-as-you-go/i;
/** An end states its last second. */
const SECOND_MS = 1000;

class TencentReader {
  private readonly columns: ColumnsOf<typeof NAMES>;
  private readonly row = new BillRow([], parseBeijing);
  private readonly cells = new PlainCells();
  private readonly months = new Memo((text) => ({ month: beijingMonth(text) }));
  private readonly actions = new Memo((text) => ACTIONS.find(([words]) => words.test(text))?.[1] ?? null);

  readonly unknownColumns: readonly string[];

  constructor(header: Header) {
    const columns = new NamedColumns(header);
    this.columns = columns.all(NAMES, ['payer', 'action', 'start', 'end', 'billed']);
    this.unknownColumns = columns.unknown(PASSED_OVER);
  }

  /** The line, and one more for its tax where it states one. */
  read(raw: Cells, problems: Problem[]): UsageRecord[] {
    const { row, columns } = this;
    const cells = this.cells.reading(raw);
    row.begin(cells, problems);
    const start = row.instant(columns.start.at, columns.start.name);
    const end = row.instant(columns.end.at, columns.end.name) + SECOND_MS;
    row.interval(start, end, columns.end.name, false);
    const month = this.month(cells);
    const billed = row.requiredAmount(columns.billed.at, columns.billed.name) ?? ZERO;
    const tax = row.amount(columns.tax.at, columns.tax.name);
    const action = row.requiredKey(columns.action.at, columns.action.name);
    const category = this.actions.valueOf(action);
    if (category === null && action !== '')
      row.problem(columns.action.name, `${quotedText(action)} is not a transaction type that is known`);
    const other = this.otherComponent();
    const line: UsageRecord = {
      id: String(cells.line),
      provider: 'Tencent Cloud',
      account: row.requiredKey(columns.payer.at, columns.payer.name),
      subAccount: row.key(columns.owner.at, columns.owner.name),
      resource: row.resource(columns.instance.at, columns.instance.name),
      namespace: null,
      service: row.key(columns.product.at, columns.product.name),
      sku: other ?? row.key(columns.subproduct.at, columns.subproduct.name),
      region: row.key(columns.region.at, columns.region.name),
      term: this.term(cells, action),
      gpuModel: null,
      tags: null,
      start,
      end,
      gpuParts: null,
      storageMib: null,
      networkBytes: null,
      charge: {
        category: category ?? 'Usage',
        currency:
          columns.currency.at < 0 ? CURRENCY_IN_CHINA : row.currency(columns.currency.at, columns.currency.name),
        billed,
        effective: category === 'Purchase' ? null : billed,
        list: row.amount(columns.list.at, columns.list.name),
        periodStart: month?.start ?? Number.NaN,
        periodEnd: month?.end ?? Number.NaN,
        ...(other === null ? {} : { machineHours: false }),
      },
    };
    if (line.charge === null || tax === null || tax.unscaled === 0n) return [line];
    const charge = { ...line.charge, category: 'Tax' as const, billed: tax, effective: tax, list: null };
    return [line, { ...line, id: `${line.id}/tax`, charge }];
  }

  /** The component that a line is of, where it is not the machine itself; null if it is, or none is named. */
  private otherComponent(): string | null {
    const { row, columns } = this;
    const type = row.key(columns.component.at, columns.component.name);
    const name = row.key(columns.componentName.at, columns.componentName.name);
    return isMachineComponent(type ?? '', name ?? '') === false ? (name ?? type) : null;
  }

  private month(cells: Cells): { readonly start: number; readonly end: number } | null {
    const { row, columns } = this;
    const column = columns.month.at < 0 ? columns.paid : columns.month;
    const text = cells.repeated(column.at).slice(0, 7);
    const { month } = this.months.valueOf(text);
    if (month === null)
      row.problem(column.name, text === '' ? 'the value is missing' : `${quotedText(text)} is not a month`);
    return month;
  }

  /** Null for packages, reserved instances and savings plans, whose length is not stated. */
  private term(cells: Cells, action: string): Term | null {
    const { columns } = this;
    const kind = cells.repeated(columns.kind.at);
    if (SPOT.test(kind) || SPOT.test(action)) return 'spot';
    return kind === '' && ON_DEMAND.test(cells.repeated(columns.mode.at)) ? 'on-demand' : null;
  }
}
