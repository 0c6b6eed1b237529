/**
 * The words of a report, in English and in Chinese, side by side so that none is forgotten.
 *
 * Codes (states, reasons, effects) are looked up as `group.code`; a code without a word of its own is shown as it is. No figure is written here.
 */
import type { Language } from '../../core/report/reader.js';

const TEXTS = {
  'title': ['Savings report', '节省报告'], 'page': ['Page {page} of {pages}', '第 {page} 页，共 {pages} 页'],
  'for': ['{team}, {month}', '{team}，{month}'], 'zone': ['Days begin in the zone {zone}. Made {at}.', '日期以 {zone} 时区为准。生成于 {at}。'],
  'covers': ['It covers {teams}.', '涵盖：{teams}。'], 'open': ['The month is not over: figures are until {at} and will change.', '本月尚未结束：数字截至 {at}，仍会变化。'],
  'unknown': ['not known', '未知'], 'none': ['none', '无'], 'nothing': ['Nothing to tell.', '没有内容。'], 'total': ['Total', '合计'], 'others': ['{count} others', '其他 {count} 项'],

  'section.summary': ['In short', '摘要'], 'section.budgets': ['Spend against budget', '支出与预算'], 'section.spend': ['Where it was spent', '支出构成'], 'section.change': ['What changed and why', '变化及原因'],
  'section.savings': ['Savings', '节省'], 'section.refused': ['What was refused', '被拒绝的操作'], 'section.left': ['What was left on the table', '尚未采纳的建议'], 'section.optimum': ['Distance to the optimum', '与最优的差距'],
  'section.utilisation': ['Utilisation and idle cost', '利用率与闲置成本'], 'section.variance': ['Bill variance', '账单差异'], 'section.forecast': ['Next month', '下月预测'], 'section.steps': ['The next best steps', '下一步建议'],

  'table.summary': ['The month in figures', '本月数字'], 'table.budgets': ['Budgets', '预算'], 'table.by-provider': ['By provider', '按供应商'], 'table.by-gpu': ['By GPU kind', '按 GPU 型号'], 'table.by-term': ['By term', '按计费方式'],
  'table.by-team': ['By team', '按团队'], 'table.by-day': ['By day', '按日'], 'table.bridge': ['From the month before to this month', '从上月到本月'], 'table.bridge-cells': ['The largest changes', '最大的变化'],
  'table.savings-totals': ['Savings by proof', '按验证程度的节省'], 'table.savings-actions': ['By action, with what would have happened otherwise', '按操作，及其反事实'], 'table.refused-reasons': ['Reasons', '原因'],
  'table.refused-actions': ['Refused, failed or expired actions', '被拒绝、失败或过期的操作'], 'table.left-states': ['Recommendations that nobody took up', '未被采纳的建议'], 'table.left-chances': ['The largest of them', '其中最大的'],
  'table.optimum-places': ['Commitments against hindsight', '承诺用量与事后最优'], 'table.optimum': ['Over all places', '全部合计'], 'table.utilisation': ['Sampled GPU-hours', '采样的 GPU 小时'], 'table.utilisation-totals': ['Over all kinds', '全部型号合计'], 'table.variance': ['Bills beside what was metered', '账单与计量对比'],
  'table.forecast': ['Forecast', '预测'], 'table.steps': ['Open recommendations by estimated saving', '按预计节省排序的待处理建议'], 'table.unconverted': ['Without an exchange rate: in no other figure', '没有汇率，未计入其他数字'],

  'column.figure': ['Figure', '项目'], 'column.value': ['Value', '数值'], 'column.budget': ['Budget', '预算'], 'column.team': ['Team', '团队'], 'column.planned': ['Planned', '计划'], 'column.spent': ['Spent', '已用'],
  'column.committed': ['Committed', '已承诺'], 'column.ratio': ['Used', '使用率'], 'column.forecast': ['Forecast', '预测'], 'column.low': ['Low', '下限'], 'column.high': ['High', '上限'], 'column.exhaustion': ['Runs out', '耗尽时间'],
  'column.unpriced': ['Unpriced GPU-hours', '未定价 GPU 小时'], 'column.name': ['Name', '名称'], 'column.amount': ['Amount', '金额'], 'column.before': ['Month before', '上月'], 'column.share': ['Share', '占比'], 'column.gpu-hours': ['GPU-hours', 'GPU 小时'],
  'column.day': ['Day', '日期'], 'column.after': ['This month', '本月'], 'column.change': ['Change', '变化'], 'column.provider': ['Provider', '供应商'], 'column.sku': ['SKU', '规格'], 'column.gpu': ['GPU kind', 'GPU 型号'], 'column.term': ['Term', '计费方式'],
  'column.action': ['Action', '操作'], 'column.target': ['Target', '对象'], 'column.effect': ['Effect', '效果'], 'column.state': ['State', '状态'], 'column.counterfactual': ['Otherwise', '若不操作'], 'column.counterfactual-cost': ['Would have cost', '本应花费'],
  'column.actual-cost': ['Cost', '实际花费'], 'column.measured': ['Measured', '已测量'], 'column.verified': ['Verified', '已验证'], 'column.to-date': ['Saved to date', '累计节省'], 'column.estimated': ['Estimated a month', '预计每月'],
  'column.why': ['Why', '原因'], 'column.count': ['Count', '数量'], 'column.at': ['When', '时间'], 'column.unknown': ['Estimate unknown', '预计未知'], 'column.title': ['Recommendation', '建议'], 'column.costs-now': ['Of a cost of', '现每月费用'], 'column.effort': ['Effort', '工作量'],
  'column.region': ['Region', '区域'], 'column.on-demand-cost': ['All on demand', '全部按需'], 'column.bought': ['As bought', '实际购买'], 'column.optimum': ['Optimum', '最优'], 'column.captured': ['Captured', '已实现'], 'column.sampled': ['Sampled', '已采样'],
  'column.low-hours': ['Little used', '低利用'], 'column.low-cost': ['Cost of little use', '低利用成本'], 'column.mean': ['Mean utilisation', '平均利用率'], 'column.coverage': ['Coverage', '覆盖率'], 'column.accrued': ['Metered', '计量'],
  'column.billed': ['Billed', '账单'], 'column.difference': ['Difference', '差异'], 'column.findings': ['Open findings', '未解决差异'], 'column.period': ['Period', '期间'], 'column.cells': ['Cells', '单元'], 'column.unit': ['Unit', '单位'], 'column.currency': ['Currency', '货币'],

  'figure.total': ['Spend', '支出'], 'figure.before': ['Spend of the month before', '上月支出'], 'figure.change': ['Change', '变化'], 'figure.credits': ['Credits in it', '其中抵扣'], 'figure.gpu-hours': ['GPU-hours', 'GPU 小时'], 'figure.unpriced': ['GPU-hours without a price', '未定价 GPU 小时'],
  'figure.verified': ['Verified savings', '已验证节省'], 'figure.measured': ['Measured savings', '已测量节省'], 'figure.estimated': ['Estimated savings a month, not measured yet', '预计每月节省（尚未测量）'], 'figure.left': ['Open recommendations, estimated a month', '待处理建议，预计每月'],
  'figure.low-cost': ['Cost of little-used GPUs', '低利用 GPU 成本'], 'figure.forecast': ['Forecast of the next month', '下月预测'], 'figure.optimum': ["Share of the clairvoyant's savings", '占先知最优节省的比例'], 'figure.saved': ['Saved by commitments', '承诺用量已节省'],
  'figure.possible': ['Possible with hindsight', '事后最优可节省'], 'figure.left-out': ['GPU-hours that could not be compared', '无法比较的 GPU 小时'], 'figure.mean': ['Forecast', '预测值'], 'figure.low': ['Low end (80 % interval)', '下限（80% 区间）'],
  'figure.high': ['High end (80 % interval)', '上限（80% 区间）'], 'figure.history': ['Days of history', '历史天数'], 'figure.launches': ['Launches refused at admission', '准入时拒绝的启动'], 'figure.unverifiable': ['Actions that cannot be verified', '无法验证的操作'],
  'figure.method': ['It rests on', '依据'], 'figure.refused': ['Refused, failed or expired actions', '被拒绝、失败或过期的操作'], 'figure.coverage': ['Coverage of the metered GPU-hours', '计量 GPU 小时的覆盖率'], 'figure.low-hours': ['Little-used GPU-hours', '低利用 GPU 小时'],

  'effect.before': ['Month before', '上月'], 'effect.volume': ['Volume', '用量'], 'effect.price': ['Price', '价格'], 'effect.mix': ['Mix', '结构'], 'effect.new': ['New', '新增'], 'effect.gone': ['Gone', '消失'], 'effect.charges': ['Charges without a quantity', '无用量的费用'],
  'effect.credits': ['Credits', '抵扣'], 'effect.after': ['This month', '本月'],

  'note.change': [
    'Volume: a GPU kind was used more or less, at its old price and shares. Mix: what was used of it shifted between SKUs, providers and terms. Price: an hour of the same cell cost another amount. The parts sum to the change exactly; what has no price is in none.',
    '用量：某型号 GPU 的使用增减，按旧价格和旧占比计。结构：同一型号在规格、供应商和计费方式之间的转移。价格：同一单元每小时的金额变化。各部分之和恰好等于变化；未定价的用量不计入。'],
  'note.savings': ['Amounts are of the hours of this month. Measured: by metered usage against what would have happened otherwise. Verified: the bill is closed and agrees.', '金额为本月小时数。已测量：按计量用量与反事实比较。已验证：账单已关闭且一致。'],
  'note.left': ['Estimates of the policies, a month of 730 hours. They overlap where one step makes another needless.', '策略的预计值，按每月 730 小时计；若一项措施使另一项多余，则有重叠。'],
  'note.optimum': ['Commitments only, with the quoted prices of the month’s end; a commitment is taken to be held all day at the day’s highest use. Not the bill.', '仅比较承诺用量，按月末报价；承诺视为全天按当日最高用量持有。并非账单金额。'],
  'note.utilisation': ['Little used is not idle: a service may wait for requests. A sample vouches for its own minute; the price is what an hour of the kind cost on average.', '低利用不等于闲置：服务可能在等待请求。每个采样只代表其所在分钟；价格为该型号每小时的平均成本。'],
  'note.forecast': ['From the days until the month’s end; the interval holds 80 % of such cases.', '基于截至月末的数据；区间在 80% 的情形下成立。'],
  'note.refused': ['Refused by the guard, failed at the provider, or not approved in time.', '被防护规则拒绝、在供应商处失败，或未及时批准。'],

  'reason.nothing-recorded-before': ['Nothing is recorded of the month before.', '上月没有记录。'], 'reason.nothing-recorded': ['Nothing is recorded.', '没有记录。'], 'reason.no-samples': ['There are no GPU samples of this month.', '本月没有 GPU 采样。'],
  'reason.no-bill': ['No bill of this month has been compared yet.', '本月账单尚未核对。'], 'reason.month-not-over': ['The month is not over.', '本月尚未结束。'], 'reason.nothing-metered': ['Nothing was metered on demand or on commitments.', '没有按需或承诺用量的计量。'],
  'reason.no-on-demand-price': ['What was used has no on-demand price.', '所用资源没有按需价格。'], 'reason.no-commitment-offer': ['No commitment of a year or less is on offer for what was used.', '所用资源没有一年或更短的承诺报价。'], 'reason.not-recorded': ['Not recorded.', '没有记录。'],

  'state.estimated': ['estimated', '预计'], 'state.measured': ['measured', '已测量'], 'state.verified': ['verified', '已验证'], 'state.unverifiable': ['unverifiable', '无法验证'], 'state.refused': ['refused', '被拒绝'], 'state.failed': ['failed', '失败'],
  'state.expired': ['expired', '已过期'], 'state.open': ['open', '待处理'], 'state.rejected': ['rejected', '已否决'], 'state.planned': ['planned', '已计划'], 'state.not-planned': ['not planned', '未计划'],
  'world.held': ['the same GPUs, held on', '继续持有相同的 GPU'], 'world.term': ['the same hours, at the old share of spot', '相同小时数，旧的竞价比例'], 'world.size': ['the same hours, at the old size', '相同小时数，旧规格'],
  'world.shifted': ['the same work, at once', '相同工作，立即执行'], 'world.commitment': ['the covered hours, on demand', '所覆盖小时数，按需'], 'world.plan': ['the covered hours, on demand', '所覆盖小时数，按需'], 'world.unknown': ['not known', '未知'],
  'act.stop': ['stop', '停止'], 'act.start': ['start', '启动'], 'act.terminate': ['terminate', '终止'], 'act.scale': ['scale', '伸缩'], 'act.set-bounds': ['set bounds', '设置边界'], 'act.set-spot-ratio': ['set spot share', '设置竞价比例'],
  'act.cordon': ['cordon', '隔离节点'], 'act.drain': ['drain', '腾空节点'], 'act.replace': ['replace', '替换'], 'act.resize': ['resize', '调整规格'], 'act.purchase': ['purchase', '购买'],
  'term.on-demand': ['on demand', '按需'], 'term.spot': ['spot', '竞价'], 'term.reserved-1y': ['reserved, 1 year', '预留一年'], 'term.reserved-3y': ['reserved, 3 years', '预留三年'], 'term.savings-plan-1y': ['savings plan, 1 year', '节省计划一年'],
  'term.savings-plan-3y': ['savings plan, 3 years', '节省计划三年'], 'effort.VeryLow': ['very low', '很低'], 'effort.Low': ['low', '低'], 'effort.Medium': ['medium', '中'], 'effort.High': ['high', '高'],
  'method.prior': ['the level of a few days', '数日水平'], 'method.level-drift': ['level and drift', '水平与趋势'], 'method.level-drift-week': ['level, drift and the days of the week', '水平、趋势与星期规律'],
  'category.Purchase': ['purchase', '购买'], 'category.Tax': ['tax', '税'], 'category.Credit': ['credit', '抵扣'], 'category.Adjustment': ['adjustment', '调整'], 'category.Usage': ['usage', '用量'],

  'chart.spend': ['Spend of the month, day by day, against the budget', '本月逐日累计支出与预算'], 'chart.bridge': ['From the month before to this month', '从上月到本月'], 'chart.gpu': ['Spend by GPU kind', '按 GPU 型号的支出'],
  'chart.cumulative': ['Spend so far', '累计支出'], 'chart.daily': ['Spend of the day', '当日支出'], 'chart.planned': ['Planned', '计划'], 'chart.table': ['The figures are in the tables of this section.', '数字见本节表格。'],
} as const;

export type TextKey = keyof typeof TEXTS;

export class Texts {
  constructor(readonly language: Language) {}

  /** The text, with what stands in braces filled in. */
  of(key: TextKey, filled: Readonly<Record<string, string | number>> = {}): string {
    const [english, chinese] = TEXTS[key];
    return (this.language === 'zh' ? chinese : english).replace(/\{(\w+)\}/g, (whole, name: string) => String(filled[name] ?? whole));
  }

  /** The word for a code of a group; the code itself where there is none. */
  code(group: 'state' | 'world' | 'act' | 'term' | 'effort' | 'method' | 'reason' | 'category', code: string): string {
    const key = `${group}.${code}`;
    return Object.hasOwn(TEXTS, key) ? this.of(key as TextKey) : code;
  }
}

export const TEXT_KEYS = Object.keys(TEXTS) as TextKey[];
