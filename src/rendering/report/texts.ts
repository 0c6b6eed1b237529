/**
 * The words of a report, in English and in Chinese, side by side so that none is forgotten.
 *
 * Codes (states, reasons, effects) are looked up as `group.code`; a code without a word of its own is shown as it is.
 * No figure is written here.
 */
import type { Language } from '../../core/report/reader.js';
import { inChinese } from '../../core/report/reworded.js';

const TEXTS = {
  title: ['Savings report', '节省报告'],
  page: ['Page {page} of {pages}', '第 {page} 页，共 {pages} 页'],
  for: ['{team}, {month}', '{team}，{month}'],
  zone: ['Days begin in the zone {zone}. Made {at}.', '日期以 {zone} 时区为准。生成于 {at}。'],
  'whole-hours': [
    'These days begin within an hour of UTC, and usage is kept by whole hours: that whole hour counts for the day in which it begins.',
    '这些日期在 UTC 的整点之间开始，而用量按整小时保存：该小时整个计入其开始时所在的日期。',
  ],
  covers: ['It covers {teams}.', '涵盖：{teams}。'],
  open: ['The month is not over: figures are until {at} and will change.', '本月尚未结束：数字截至 {at}，仍会变化。'],
  unknown: ['not known', '未知'],
  'empty-cell': ['An empty cell: not known.', '空单元格：未知。'],
  none: ['none', '无'],
  nothing: ['Nothing to report.', '没有内容。'],
  total: ['Total', '合计'],
  others: ['{count} others', '其他 {count} 项'],
  comma: [', ', '、'],
  interval: ['{low} to {high}', '{low} 至 {high}'],
  'interval-unknown': ['interval unknown', '区间未知'],
  'no-interval': ['none: measured', '无（实测）'],
  'figure-of': ['{figure}: {value}', '{figure}：{value}'],
  'part-of': ['{title} (part {part} of {parts})', '{title}（第 {part} 部分，共 {parts} 部分）'],
  'first-of': [
    '{title} (the first {most} of {count}; all in the appendix)',
    '{title}（共 {count} 项，列前 {most} 项；全部见附录）',
  ],
  appendix: ['Appendix: the tables', '附录：数据表'],

  'say.end': ['{first}.', '{first}。'],
  'say.spent-nothing': ['Nothing is recorded for this month.', '本月没有记录。'],
  'say.spent-unknown': [
    'The cost of the month is unknown: nothing that was used has a price.',
    '本月支出未知：所用资源均没有价格。',
  ],
  'say.spent-open': [
    'Until {at} the month has cost {total}; the whole previous month cost {before}.',
    '截至 {at}，本月支出 {total}；上月全月为 {before}。',
  ],
  'say.spent-open-alone': [
    'Until {at} the month has cost {total}; nothing is recorded for the month before.',
    '截至 {at}，本月支出 {total}；上月没有记录。',
  ],
  'say.spent-alone': [
    'The month cost {total}; it cannot be compared, because nothing is recorded for the month before.',
    '本月支出 {total}；上月没有记录，增减未知。',
  ],
  'say.spent-same': ['The month cost {total}, as much as the month before.', '本月支出 {total}，与上月相同。'],
  'say.spent-more': [
    'The month cost {total}, {change}{share} more than the month before{why}.',
    '本月支出 {total}，比上月多 {change}{share}{why}。',
  ],
  'say.spent-less': [
    'The month cost {total}, {change}{share} less than the month before{why}.',
    '本月支出 {total}，比上月少 {change}{share}{why}。',
  ],
  'say.why': [': {effects}', '，主要因为{effects}'],
  'say.effect-volume': ['volume', '用量'],
  'say.effect-price': ['price', '价格'],
  'say.effect-mix': ['mix', '结构'],
  'say.effect-new': ['what is new', '新增'],
  'say.effect-gone': ['what is gone', '消失'],
  'say.effect-charges': ['charges without a quantity', '无用量的费用'],
  'say.effect-credits': ['credits', '抵扣'],
  'say.saved': [
    'Actions saved {proven}: closed bills confirm {verified}, and metered usage shows {measured}',
    '各项操作共节省 {proven}，其中 {verified} 已由关闭的账单验证，{measured} 由计量用量测得',
  ],
  'say.saved-parts': [
    'Actions saved {verified} that closed bills confirm and {measured} that metered usage shows',
    '各项操作节省：{verified} 已由关闭的账单验证，{measured} 由计量用量测得',
  ],
  'say.saved-none': ['No saving of this month has been measured or verified', '本月没有已测量或已验证的节省'],
  'say.saved-estimated': [
    '{first}; estimated, not measured yet: {mean} a month ({interval}).',
    '{first}；另有预计、尚未测量的每月 {mean}（{interval}）。',
  ],
  'say.comes': [
    'Next month is forecast at {mean} (80 %: {low} to {high})',
    '下月预测为 {mean}（80%：{low} 至 {high}）',
  ],
  'say.comes-since': [
    'At its end, the next month was forecast at {mean} (80 %: {low} to {high}); the first {days} days of it have cost {total}',
    '本月末时下月预测为 {mean}（80%：{low} 至 {high}）；下月前 {days} 天已支出 {total}',
  ],
  'say.comes-budget': [
    'The budget {budget} is forecast to end its period at {mean} (80 %: {low} to {high})',
    '预算 {budget} 预计期末为 {mean}（80%：{low} 至 {high}）',
  ],
  'say.comes-unknown': ['The coming costs are unknown', '后续支出未知'],
  'say.ahead': ['{comes}; {decide}.', '{comes}；{decide}。'],
  'say.decide': [
    'the open recommendations that certainly save ({count}) add up to at least {low} a month (estimate {mean}, at most {high})',
    '{count} 项待处理建议按其区间每月至少节省 {low}（预计 {mean}，最多 {high}）',
  ],
  'say.decide-unsure': [
    'none of the open recommendations ({count}) certainly saves',
    '{count} 项待处理建议均不能确定节省',
  ],
  'say.decide-none': ['no recommendation waits for a decision', '没有待决定的建议'],

  'tile.spend': ['Spend', '支出'],
  'tile.against': ['{change} against the month before ({before})', '较上月（{before}）{change}'],
  'tile.before': ['The whole month before: {before}', '上月全月：{before}'],
  'tile.saved': ['Saved, measured or verified', '节省（已测量或已验证）'],
  'tile.saved-parts': ['Verified {verified}, measured {measured}.', '已验证 {verified}，已测量 {measured}。'],
  'tile.saved-none': ['No action was measured in this month.', '本月没有已测量的操作。'],
  'tile.unverifiable': ['{count} cannot be verified.', '{count} 项无法验证。'],
  'tile.forecast': ['Next month', '下月'],
  'tile.budget-end': ['Budget {budget} at its end', '预算 {budget} 期末'],
  'tile.interval': ['80 %: {low} to {high}', '80%：{low} 至 {high}'],
  'tile.since': [
    'Forecast at the end of the month; its first {days} days have cost {total}.',
    '为月末时的预测；其前 {days} 天已支出 {total}。',
  ],
  'tile.decide': ['To decide, a month', '待决定（每月）'],
  'tile.decide-least': ['To decide: at least, a month', '待决定（每月至少）'],
  'tile.sure': [
    '{count} certainly save: estimate {mean}, at most {high}.',
    '{count} 项确定节省：预计 {mean}，最多 {high}。',
  ],
  'tile.decide-none': ['No open recommendation certainly saves.', '没有确定节省的待处理建议。'],
  'tile.unsure': ['{n} more may cost more than they save.', '另有 {n} 项可能得不偿失。'],
  'tile.unknown': ['The saving of {n} more is unknown.', '另有 {n} 项节省未知。'],

  'section.spent': ['What was spent, and why', '花了多少，为什么'],
  'section.saved': ['What was saved, and how certain that is', '节省了多少，有多确定'],
  'section.comes': ['What comes', '接下来'],
  'section.decide': ['What to decide', '需要决定什么'],
  'table.causes': ['Where it changed most', '变化最大之处'],
  'table.proofs': ['Savings by certainty', '按确定程度的节省'],
  'table.saved-actions': ['By action', '按操作'],
  'table.next-month': ['Next month', '下月'],
  'table.period-ends': ['Budgets at the end of their periods', '预算期末'],
  'column.proof': ['How sure', '确定程度'],
  'column.history': ['Days of history', '历史天数'],
  'column.method': ['Evidence', '依据'],
  'proof.verified': ['Verified: the bill is closed and agrees', '已验证：账单已关闭且一致'],
  'proof.measured': ['Measured: metered usage, before the bill is closed', '已测量：按计量用量，账单尚未关闭'],
  'proof.estimated': ['Estimated a month: not measured yet', '每月预计：尚未测量'],
  'note.unverifiable': [
    'The saving of some actions ({count}) cannot be verified: it is in no figure.',
    '{count} 项操作的节省无法验证，未计入任何数字。',
  ],
  'note.no-budget': ['There was no budget in this month.', '本月没有预算。'],
  'note.change-open': [
    'The month is not over: the previous month is complete, this one is not.',
    '本月尚未结束：上月为全月，本月不是。',
  ],
  'note.steps': [
    'Open recommendations whose whole interval is a saving, the largest low end first. They overlap if one makes another unnecessary.',
    '整个区间都节省的待处理建议，下限大者在前；若一项使另一项多余，则有重叠。',
  ],
  'note.no-steps': ['No open recommendation certainly saves.', '没有确定节省的待处理建议。'],
  'note.not-steps': ['Not among them; all are in the appendix:', '未列入（见附录）：'],

  'section.summary': ['In short', '摘要'],
  'section.budgets': ['Spend against budget', '支出与预算'],
  'section.spend': ['Where it was spent', '支出构成'],
  'section.change': ['What changed and why', '变化及原因'],
  'section.savings': ['Savings', '节省'],
  'section.refused': ['What was refused', '被拒绝的操作'],
  'section.left': ['Missed savings', '尚未采纳的建议'],
  'section.optimum': ['Distance to the optimum', '与最优的差距'],
  'section.utilisation': ['Utilisation and idle cost', '利用率与闲置成本'],
  'section.variance': ['Bill variance', '账单差异'],
  'section.forecast': ['Next month', '下月预测'],
  'section.steps': ['The next best steps', '下一步建议'],

  'table.summary': ['The month in figures', '本月数字'],
  'table.budgets': ['Budgets', '预算'],
  'table.budgets-lacking': ['Not included in what is spent', '已用金额中未计入的金额'],
  'table.by-provider': ['By provider', '按供应商'],
  'table.by-gpu': ['By GPU kind', '按 GPU 型号'],
  'table.by-term': ['By term', '按计费方式'],
  'table.by-team': ['By team', '按团队'],
  'table.by-day': ['By day', '按日'],
  'table.bridge': ['From the month before to this month', '从上月到本月'],
  'table.bridge-cells': ['The largest changes', '最大的变化'],
  'table.savings-totals': ['Savings by proof', '按验证程度的节省'],
  'table.savings-actions': ['By action, with what would have happened otherwise', '按操作，及其反事实'],
  'table.refused-reasons': ['Reasons', '原因'],
  'table.refused-actions': ['Refused, failed or expired actions', '被拒绝、失败或过期的操作'],
  'table.left-states': ['Recommendations that nobody acted on', '未被采纳的建议'],
  'table.left-chances': ['The largest certain savings', '其中最有把握的'],
  'table.optimum-places': ['Commitments against hindsight', '承诺用量与事后最优'],
  'table.optimum': ['Over all places', '全部合计'],
  'table.utilisation': ['Sampled GPU-hours', '采样的 GPU 小时'],
  'table.utilisation-totals': ['Over all kinds', '全部型号合计'],
  'table.variance': ['Bills compared with metered usage', '账单与计量对比'],
  'table.forecast': ['Forecast', '预测'],
  'table.steps': ['Open recommendations by certain saving', '按最低预计节省排序的待处理建议'],
  'table.set-aside': [
    'Bills that are not final, in no other figure: metered usage counts instead',
    '未定账单中由计量代替的金额，未计入其他数字',
  ],
  'table.unpriced': [
    'Unpriced storage, traffic and usage without a quantity: in no other figure',
    '没有价格的存储、流量及数量未知的用量，未计入其他数字',
  ],
  'table.unconverted': ['Without an exchange rate: in no other figure', '没有汇率，未计入其他数字'],

  'column.figure': ['Figure', '项目'],
  'column.value': ['Value', '数值'],
  'column.budget': ['Budget', '预算'],
  'column.team': ['Team', '团队'],
  'column.planned': ['Planned', '计划'],
  'column.spent': ['Spent', '已用'],
  'column.committed': ['Committed', '已承诺'],
  'column.ratio': ['Used', '使用率'],
  'column.forecast': ['Forecast', '预测'],
  'column.low': ['Low', '下限'],
  'column.high': ['High', '上限'],
  'column.exhaustion': ['Runs out', '耗尽时间'],
  'column.unpriced': ['Unpriced GPU-hours', '未定价 GPU 小时'],
  'column.lacking': ['Not included', '未计入'],
  'column.name': ['Name', '名称'],
  'column.amount': ['Amount', '金额'],
  'column.before': ['Month before', '上月'],
  'column.share': ['Share', '占比'],
  'column.gpu-hours': ['GPU-hours', 'GPU 小时'],
  'column.day': ['Day', '日期'],
  'column.after': ['This month', '本月'],
  'column.change': ['Change', '变化'],
  'column.provider': ['Provider', '供应商'],
  'column.sku': ['SKU', '规格'],
  'column.used': ['Used', '用量'],
  'used.gib': ['{n} GiB sent', '发送 {n} GiB'],
  'used.gib-hours': ['{n} GiB-hours stored', '存储 {n} GiB·小时'],
  'used.hours': ['unknown, in {n} hours', '未知，共 {n} 小时'],
  'column.gpu': ['GPU kind', 'GPU 型号'],
  'column.term': ['Term', '计费方式'],
  'column.action': ['Action', '操作'],
  'column.target': ['Target', '对象'],
  'column.effect': ['Effect', '效果'],
  'column.state': ['State', '状态'],
  'column.counterfactual': ['Otherwise', '若不操作'],
  'column.counterfactual-cost': ['Would have cost', '本应花费'],
  'column.actual-cost': ['Cost', '实际花费'],
  'column.measured': ['Measured', '已测量'],
  'column.verified': ['Verified', '已验证'],
  'column.to-date': ['Saved to date', '累计节省'],
  'column.estimated': ['Estimated a month', '预计每月'],
  'column.why': ['Why', '原因'],
  'column.count': ['Count', '数量'],
  'column.at': ['When', '时间'],
  'column.unknown': ['Estimate unknown', '预计未知'],
  'column.title': ['Recommendation', '建议'],
  'column.costs-now': ['Current cost', '现每月费用'],
  'column.effort': ['Effort', '工作量'],
  'column.region': ['Region', '区域'],
  'column.on-demand-cost': ['All on demand', '全部按需'],
  'column.bought': ['As bought', '实际购买'],
  'column.optimum': ['Optimum', '最优'],
  'column.captured': ['Captured', '已实现'],
  'column.sampled': ['Sampled', '已采样'],
  'column.low-hours': ['Little used', '低利用'],
  'column.low-cost': ['Cost of little-used hours', '低利用成本'],
  'column.mean': ['Mean utilisation', '平均利用率'],
  'column.coverage': ['Coverage', '覆盖率'],
  'column.accrued': ['Metered', '计量'],
  'column.billed': ['Billed', '账单'],
  'column.difference': ['Difference', '差异'],
  'column.findings': ['Open findings', '未解决差异'],
  'column.period': ['Period', '期间'],
  'column.cells': ['Cells', '单元'],
  'column.unit': ['Unit', '单位'],
  'column.currency': ['Currency', '货币'],

  'figure.total': ['Spend', '支出'],
  'figure.before': ['Spend of the month before', '上月支出'],
  'figure.change': ['Change', '变化'],
  'figure.credits': ['Credits included', '其中抵扣'],
  'figure.gpu-hours': ['GPU-hours', 'GPU 小时'],
  'figure.unpriced': ['GPU-hours without a price', '未定价 GPU 小时'],
  'figure.unpriced-lacking': ['GPU-hours without a price, not included', '未定价 GPU 小时，未计入'],
  'figure.unconverted': ['Without an exchange rate, not included', '没有汇率，未计入'],
  'figure.set-aside': ['Charged by bills that are not final, counted as metered', '未定账单的收费，按计量计入'],
  'figure.unpriced-usage': ['Other kinds of usage without a price, not included', '其他未定价用量（种），未计入'],
  'figure.verified': ['Verified savings', '已验证节省'],
  'figure.measured': ['Measured savings', '已测量节省'],
  'figure.estimated': ['Estimated savings a month, not measured yet', '预计每月节省（尚未测量）'],
  'figure.left': ['Open recommendations, estimated a month', '待处理建议，预计每月'],
  'figure.low-cost': ['Cost of little-used GPU-hours', '低利用 GPU 小时的成本'],
  'figure.forecast': ['Forecast of the next month', '下月预测'],
  'figure.optimum': ['Share of what was possible with hindsight', '占事后最优可节省的比例'],
  'figure.saved': ['Saved by commitments', '承诺用量已节省'],
  'figure.possible': ['Possible with hindsight', '事后最优可节省'],
  'figure.left-out': ['GPU-hours that could not be compared', '无法比较的 GPU 小时'],
  'figure.mean': ['Forecast', '预测值'],
  'figure.low': ['Low end (80 % interval)', '下限（80% 区间）'],
  'figure.high': ['High end (80 % interval)', '上限（80% 区间）'],
  'figure.so-far': ['Spent in its first {days} days', '其前 {days} 天已支出'],
  'figure.history': ['Days of history', '历史天数'],
  'figure.launches': ['Launches refused at admission', '准入时拒绝的启动'],
  'figure.unverifiable': ['Actions that cannot be verified', '无法验证的操作'],
  'figure.method': ['Evidence', '依据'],
  'figure.refused': ['Refused, failed or expired actions', '被拒绝、失败或过期的操作'],
  'figure.coverage': ['Coverage of the metered GPU-hours', '计量 GPU 小时的覆盖率'],
  'figure.low-hours': ['Little-used GPU-hours', '低利用 GPU 小时'],

  'effect.before': ['Month before', '上月'],
  'effect.volume': ['Volume', '用量'],
  'effect.price': ['Price', '价格'],
  'effect.mix': ['Mix', '结构'],
  'effect.new': ['New', '新增'],
  'effect.gone': ['Gone', '消失'],
  'effect.charges': ['Charges without a quantity', '无用量的费用'],
  'effect.credits': ['Credits', '抵扣'],
  'effect.after': ['This month', '本月'],

  'note.change': [
    'Volume: a GPU kind was used more or less, at its old price and shares. Mix: its use shifted between SKUs, providers and terms. Price: an hour of the same SKU, provider and term cost another amount. The parts sum to the change exactly; unpriced usage is in none.',
    '用量：某型号 GPU 的使用增减，按旧价格和旧占比计。结构：同一型号在规格、供应商和计费方式之间的转移。价格：同一单元每小时的金额变化。各部分之和恰好等于变化；未定价的用量不计入。',
  ],
  'note.savings': [
    'Amounts cover the hours of this month. Measured: metered usage is compared with what would have happened otherwise. Verified: the bill is closed and agrees.',
    '金额为本月小时数。已测量：按计量用量与反事实比较。已验证：账单已关闭且一致。',
  ],
  'note.left': [
    'Estimates of the policies, for a month of 730 hours. They overlap if one step makes another unnecessary.',
    '策略的预计值，按每月 730 小时计；若一项措施使另一项多余，则有重叠。',
  ],
  'note.optimum': [
    'Commitments only, with the quoted prices of the month’s end; each commitment is assumed to cover the day’s highest use all day. These are not the amounts of the bill.',
    '仅比较承诺用量，按月末报价；承诺视为全天按当日最高用量持有。并非账单金额。',
  ],
  'note.utilisation': [
    'Little used: below {threshold} % utilisation. That is not idle: a service may wait for requests. A sample counts only for its own minute; the price is the average hourly cost of the kind.',
    '低利用指利用率低于 {threshold}%，不等于闲置：服务可能在等待请求。每个采样只代表其所在分钟；价格为该型号每小时的平均成本。',
  ],
  'note.forecast': [
    'Based on the days until the end of the month; the interval covers 80 % of such cases.',
    '基于截至月末的数据；区间在 80% 的情形下成立。',
  ],
  'note.refused': [
    'Refused by the guard, failed at the provider, or not approved in time.',
    '被防护规则拒绝、在供应商处失败，或未及时批准。',
  ],

  'reason.nothing-recorded-before': ['Nothing is recorded for the month before.', '上月没有记录。'],
  'reason.nothing-recorded': ['Nothing is recorded.', '没有记录。'],
  'reason.no-samples': ['There are no GPU samples for this month.', '本月没有 GPU 采样。'],
  'reason.no-bill': ['No bill of this month has been compared yet.', '本月账单尚未核对。'],
  'reason.month-not-over': ['The month is not over.', '本月尚未结束。'],
  'reason.nothing-metered': ['Nothing was metered on demand or on commitments.', '没有按需或承诺用量的计量。'],
  'reason.no-on-demand-price': ['What was used has no on-demand price.', '所用资源没有按需价格。'],
  'reason.no-commitment-offer': [
    'No commitment of a year or less is on offer for this usage.',
    '所用资源没有一年或更短的承诺报价。',
  ],
  'reason.not-recorded': ['Not recorded.', '没有记录。'],

  'state.estimated': ['estimated', '预计'],
  'state.rolled-back': ['rolled back', '已回滚'],
  'state.measured': ['measured', '已测量'],
  'state.verified': ['verified', '已验证'],
  'state.unverifiable': ['unverifiable', '无法验证'],
  'state.refused': ['refused', '被拒绝'],
  'state.failed': ['failed', '失败'],
  'state.expired': ['expired', '已过期'],
  'state.open': ['open', '待处理'],
  'state.rejected': ['rejected', '已否决'],
  'state.planned': ['planned', '已计划'],
  'state.not-planned': ['not planned', '未计划'],
  'world.held': ['the same GPUs, kept running', '继续持有相同的 GPU'],
  'world.term': ['the same hours, at the old share of spot', '相同小时数，旧的竞价比例'],
  'world.size': ['the same hours, at the old size', '相同小时数，旧规格'],
  'world.moved': ['the same hours, at the old place and term', '相同小时数，旧地点与计费方式'],
  'world.shifted': ['the same work, at once', '相同工作，立即执行'],
  'world.commitment': ['the covered hours, on demand', '所覆盖小时数，按需'],
  'world.plan': ['the covered hours, on demand', '所覆盖小时数，按需'],
  'world.unknown': ['not known', '未知'],
  'act.stop': ['stop', '停止'],
  'act.start': ['start', '启动'],
  'act.terminate': ['terminate', '终止'],
  'act.scale': ['scale', '伸缩'],
  'act.set-bounds': ['set bounds', '设置边界'],
  'act.set-spot-ratio': ['set spot share', '设置竞价比例'],
  'act.cordon': ['cordon', '隔离节点'],
  'act.drain': ['drain', '腾空节点'],
  'act.replace': ['replace', '替换'],
  'act.resize': ['resize', '调整规格'],
  'act.move': ['move', '迁移'],
  'act.purchase': ['purchase', '购买'],
  'term.on-demand': ['on demand', '按需'],
  'term.spot': ['spot', '竞价'],
  'term.reserved-1y': ['reserved, 1 year', '预留一年'],
  'term.reserved-3y': ['reserved, 3 years', '预留三年'],
  'term.savings-plan-1y': ['savings plan, 1 year', '节省计划一年'],
  'term.savings-plan-3y': ['savings plan, 3 years', '节省计划三年'],
  'effort.VeryLow': ['very low', '很低'],
  'effort.Low': ['low', '低'],
  'effort.Medium': ['medium', '中'],
  'effort.High': ['high', '高'],
  'method.prior': ['the level of a few days', '数日水平'],
  'method.level-drift': ['level and drift', '水平与趋势'],
  'method.level-drift-week': ['level, drift and the days of the week', '水平、趋势与星期规律'],
  'category.Purchase': ['purchase', '购买'],
  'category.Tax': ['tax', '税'],
  'category.Credit': ['credit', '抵扣'],
  'category.Adjustment': ['adjustment', '调整'],
  'category.Usage': ['usage', '用量'],

  'chart.spend': ['Spend of the month, day by day, against the budget', '本月逐日累计支出与预算'],
  'chart.spend-alone': ['Spend of the month, day by day', '本月逐日累计支出'],
  'chart.bridge': ['From the month before to this month', '从上月到本月'],
  'chart.gpu': ['Spend by GPU kind', '按 GPU 型号的支出'],
  'chart.cumulative': ['Spend so far', '累计支出'],
  'chart.daily': ['Spend of the day', '当日支出'],
  'chart.planned': ['Planned', '计划'],
  'chart.table': ['The figures are in the tables.', '数字见各表。'],
} as const;

export type TextKey = keyof typeof TEXTS;

/** What is said instead where a month that runs is compared with the same days of the month before. */
const OF_SAME_DAYS: Partial<Readonly<Record<TextKey, readonly [english: string, chinese: string]>>> = {
  'say.spent-alone': [
    'Until {at} the month has cost {total}; nothing is recorded for the same days of the month before ({days}).',
    '截至 {at}，本月支出 {total}；上月同期（{days}）没有记录。',
  ],
  'say.spent-same': [
    'Until {at} the month has cost {total}, as much as the same days of the month before ({days}).',
    '截至 {at}，本月支出 {total}，与上月同期（{days}）相同。',
  ],
  'say.spent-more': [
    'Until {at} the month has cost {total}, {change}{share} more than the same days of the month before ({days}){why}.',
    '截至 {at}，本月支出 {total}，比上月同期（{days}）多 {change}{share}{why}。',
  ],
  'say.spent-less': [
    'Until {at} the month has cost {total}, {change}{share} less than the same days of the month before ({days}){why}.',
    '截至 {at}，本月支出 {total}，比上月同期（{days}）少 {change}{share}{why}。',
  ],
  'tile.against': ['{change} against the same days of the month before ({before})', '较上月同期（{before}）{change}'],
  'note.change-open': [
    'The month is not over: it is compared with the same days of the month before ({days}). The day of today is not complete.',
    '本月尚未结束：与上月同期（{days}）比较。今天的数据尚不完整。',
  ],
  'reason.nothing-recorded-before': [
    'Nothing is recorded for the same days of the month before ({days}).',
    '上月同期（{days}）没有记录。',
  ],
  'table.bridge': ['From the same days of the month before to this month so far', '从上月同期到本月至今'],
  'chart.bridge': ['From the same days of the month before to this month so far', '从上月同期到本月至今'],
  'column.before': ['Same days, month before', '上月同期'],
  'column.after': ['This month so far', '本月至今'],
  'figure.before': ['Spend of the same days of the month before', '上月同期支出'],
  'effect.before': ['Same days, month before', '上月同期'],
  'effect.after': ['This month so far', '本月至今'],
};

export class Texts {
  /** @param sameDays the days of the month before, if no more than these are compared with */
  constructor(
    readonly language: Language,
    readonly sameDays: string | null = null,
  ) {}

  /** The text, with what stands in braces filled in. */
  text(key: TextKey, filled: Readonly<Record<string, string | number>> = {}): string {
    const { sameDays } = this;
    const [english, chinese] = (sameDays === null ? undefined : OF_SAME_DAYS[key]) ?? TEXTS[key];
    return (this.language === 'zh' ? chinese : english).replace(/\{(\w+)\}/g, (whole, name: string) =>
      String(filled[name] ?? (name === 'days' ? (sameDays ?? whole) : whole)),
    );
  }

  /** A sentence of Bursar's own (a title, a refusal) in the reader's language; in English where that alone is known. */
  said(english: string): string {
    return (this.language === 'zh' ? inChinese(english) : null) ?? english;
  }

  /** Open recommendations that are no step to begin with, by why. */
  others(unsure: number, unknown: number): string[] {
    return [
      ...(unsure === 0 ? [] : [this.text('tile.unsure', { n: unsure })]),
      ...(unknown === 0 ? [] : [this.text('tile.unknown', { n: unknown })]),
    ];
  }

  /** The word for a code of a group; the code itself where there is none. */
  code(group: 'state' | 'world' | 'act' | 'term' | 'effort' | 'method' | 'reason' | 'category', code: string): string {
    const key = `${group}.${code}`;
    return Object.hasOwn(TEXTS, key) ? this.text(key as TextKey) : code;
  }
}

export const TEXT_KEYS = Object.keys(TEXTS) as TextKey[];
