/**
 * In Chinese: what explains a target beside its policies, and sums over days, by the English with numbered holes
 * (reworded.ts).
 */
export const EXPLANATIONS: Readonly<Record<string, string>> = {
  'recommendations of {0} were {1}': '{0} 的建议{1}',
  'never made yet': '尚未生成过',
  'last made at {0}': '最近生成于 {0}',
  'and are due again now, at most once a minute': '现在即将再次生成，每分钟至多一次',
  'and failed since: {0}': '此后失败：{0}',
  'the reason is unknown': '原因未知',
  'and are made again within a minute of new readings, prices or changes': '有新读数、价格或变动时一分钟内再次生成',
  '{0}, {1}': '{0}，{1}',
  'no document of {0} applies to {1}: {2}': '没有适用于 {1} 的 {0} 文档：{2}',
  "a document of {0} with {1} among its teams, or with teams: '*'": "团队中含 {1} 或 teams: '*' 的 {0} 文档",
  '{0} applies to every team': '{0} 适用于所有团队',
  '{0} applies to {1}': '{0} 适用于 {1}',
  'its documents apply to other teams': '其文档适用于其他团队',
  'nothing is done when a budget runs out': '预算用尽时不采取措施',
  'the default no longer applied once there was a document': '一旦有文档，默认即不再适用',
  ', and its own document changed it back at {0}': '，其自身文档于 {0} 又改回',
  'its last action was over at {0}{1}: {2} with evidence from {3} on':
    '其上一操作于 {0} 结束{1}：{2}，须有 {3} 起的依据',
  'it is asked for again': '将再次请求',
  'if it is proposed again, it is asked for': '若再次提议，则会请求',
  'its document is paused': '其文档已暂停',
  'there is no such policy in this version': '此版本没有该策略',
  'a document of an existing policy (bursar policies)': '现有策略的文档（bursar policies）',
  'its proposal saves nothing that may be claimed, or the target is already stopped':
    '其提议没有可计入的节省，或对象已停止',
  'a known saving, or a running target': '已知的节省，或运行中的对象',
  '{0}{1} {2} it': '{0}{1} {2}',
  ' of {0}': '（{0}）',
  'a machine of that name that was started later': '之后启动的同名机器',
  'the end of that action (bursar actions show {0})': '该操作结束（bursar actions show {0}）',
  'has replaced': '已将其替换',
  'is replacing': '正在替换它',
  'has ended': '已将其终止',
  'is ending': '正在终止它',
  'its load needs fewer, but the metric that {0} follows keeps the size':
    '按其负载可减少，但 {0} 所跟随的指标维持该规模',
  'both loads low, and both measured': '两种负载都低，且都有测量',
  'it saw no evidence that it uses': '没有看到它所用的依据',
  'it is of {0}, and nothing concerns it alone': '它属于 {0}，没有单独针对它的内容',
  'what stands at its group (bursar explain {0})': '见其所属组的说明（bursar explain {0}）',
  'its purpose: {0}': '其用途：{0}',

  // What is known of what was asked about.
  '{0} of {1} are measured': '{1} 的 {0} 有测量',
  'a budget of {0}': '{0} 的预算',
  'no connection knows it; {0} proposes something for it': '没有连接认识它；{0} 对它有提议',
  '{0} are measured': '{0} 有测量',
  ' of its': '（其自身）',
  'Bursar ended it ({0} of {1}): bursar actions show {2} says why{3}':
    '由 Bursar 终止（{1} 的 {0}）：原因见 bursar actions show {2}{3}',
  ', and what runs in its place': '，以及替代它运行的对象',
  'its cloud does not say who ended it': '其云未说明由谁终止',
  '{0} ({1})': '{0}（{1}）',
  'its cloud took it away': '被其云收回',
  'somebody ended it, and Bursar does not replace what somebody ended': '有人终止了它，Bursar 不替换人为终止的对象',
  '{0} knew it as {1}, {2} in {3}': '{0} 曾记录为 {1}，{2}，位于 {3}',
  'unknown SKU': '未知规格',
  'an unknown region': '未知区域',
  'it is gone{0}: {1}': '已不存在{0}：{1}',
  ' since {0}': '（自 {0}）',
  'its spend has not been compared with its plan yet': '其支出尚未与计划比较',
  ', and {0} GPU-hours without a price': '，另有 {0} GPU 小时没有价格',
  'no forecast yet': '尚无预测',
  '{0} ({1} to {2}) forecast': '预测 {0}（{1} 至 {2}）',
  'from {0} to {1}: {2} {3} spent{4}, {5}, {6} at its end': '{0} 至 {1}：已支出 {2} {3}{4}，{5}，期末{6}',
  'nothing planned': '没有计划金额',
  '{0} planned': '计划 {0}',
  '{0} knows it as {1}: {2}, {3} in {4}': '{0} 记录为 {1}：{2}，{3}，位于 {4}',
  'its group does not count it among those in service ({0}): its use does not count for the group':
    '其组未将其计入服务中的机器（{0}）：其用量不计入该组',
  '{0} are measured as its own: {1}': '{0} 测得为自身所用：{1}',
  '{0} are held by {1}{2}: ask about that': '{0} 由 {1} 占用{2}：请查询它',
  ', of {0}': '（属于 {0}）',
  '{0} are measured as {1}: {2}': '{0} 以 {1} 之名测得：{2}',
  'it has {0} machine(s), and {1} were measured within a day': '有 {0} 台机器，一天内测得 {1}',
  ' of their': '（其机器）',
  'none of its GPUs was measured within a day': '一天内没有测量其任何 GPU',
  'policies for workloads, such as spot-shift, ignore it: it has no label {0}':
    '针对工作负载的策略（如 spot-shift）忽略它：没有标签 {0}',
  '{0} could be {1}: ask about one of them': '{0} 可能是 {1}：请查询其中之一',
  '{0} by {1}': '{0}，来源 {1}',
  '{0}{1} GPUs{2}': '{0} 个 GPU{1}{2}',
  ' ({0} split: {1} MIG part{2})': '（{0} 个已切分：{1} 个 MIG 分区）',
  running: '运行中',
  stopped: '已停止',
  starting: '启动中',
  stopping: '停止中',
  gone: '已不存在',
  unknown: '未知',
  'on-demand': '按需',
  spot: '竞价',

  // Health of GPUs.
  'busy: {0} utilised': '繁忙：利用率 {0}',
  'GPU utilisation': 'GPU 利用率',
  'hot: {0} C': '过热：{0} °C',
  'GPU temperature': 'GPU 温度',
  'PCIe replays rise: {0} more': 'PCIe 重传增加：多 {0} 次',
  'PCIe replay counter': 'PCIe 重传计数',
  'gone: its exporter answers and no longer names it': '丢失：其导出器有响应但不再列出它',
  'gone: its exporter answers, was perhaps restarted, and names no card at all':
    '丢失：其导出器有响应（可能已重启），但没有列出任何卡',
  'answers of the exporter without the card': '导出器的响应中没有该卡',
  'gone: its machine is silent, and {0}': '丢失：其机器没有响应，且{0}',
  'failed scrapes of its exporter and its machine': '对其导出器和机器的采集失败',
  'failed: {0}': '故障：{0}',
  'what the card reports: {0}': '该卡的报告：{0}',
  'network latency {0} ms': '网络延迟 {0} 毫秒',
  'network latency as the probe reports it': '探针报告的网络延迟',
  'below {0} for {1} minutes': '低于 {0} 达 {1} 分钟',
  'GPU utilisation, every minute measured': 'GPU 利用率，每分钟测量',
  'days of {0} begin within an hour of UTC, and usage is kept by whole hours: that whole hour counts for the day in which it begins':
    '{0} 的日期在 UTC 的整点之间开始，而用量按整小时保存：该小时整个计入其开始时所在的日期',

  // What sums of costs carry.
  '{0} day(s) of teams are being priced or summed: these sums are not what they will be':
    '{0} 个团队日正在定价或汇总：这些合计还会变化',
  'usage or shared costs are being given to teams: these sums are not what they will be':
    '正在把用量或共享成本分配给团队：这些合计还会变化',
  '{0} of that wait because of an error: bursar doctor says which':
    '其中 {0} 项因错误而等待：bursar doctor 会说明是哪些',
  '{0} of metered usage of {1} from {2} to {3} may be counted twice: bills of several accounts ({4}) cover its hours, and it cannot be told which has them':
    '{1} 在 {2} 至 {3} 的计量用量中有 {0} 可能被重复计入：多个账户（{4}）的账单覆盖其时段，无法判断属于哪一个',
  'there is no team {0}, and no cost was ever allocated to it: its sum is not zero, it is not known':
    '没有团队 {0}，也从未有成本分配给它：其合计不是零，而是未知',
  'there is no team {0}, and no cost was ever allocated to it: its sum is not zero, it is not known (did you mean {1}?)':
    '没有团队 {0}，也从未有成本分配给它：其合计不是零，而是未知（是否指 {1}？）',
  'the sums have only what {0} itself has: the teams below it ({1}) are not in them':
    '合计只包含 {0} 自身的成本：其下级团队（{1}）不在其中',
};
