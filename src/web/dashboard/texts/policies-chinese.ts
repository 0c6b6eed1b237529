/**
 * What the policies say of themselves, in Chinese: the API has it in English, in each policy's own file. A text without
 * an entry is shown in English.
 *
 * By the English text, so that a text that changes never keeps an old translation;
 * tests/unit/web/dashboard-texts.test.ts tells which one is missing.
 */

/** Names of parameters. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  steps: '步骤',
  of: '比较对象',
  ratio: '比例',
  do: '措施',
  stopKinds: '可停止的类型',
  restartHours: '重启耗时（小时）',
  historyDays: '历史天数',
  places: '可用地点',
  egress: '流量价格',
  perGb: '每 GB 价格',
  staleMinutes: '读数时效（分钟）',
  restartMinutes: '重启耗时（分钟）',
  maximumFalseStopProbability: '误停概率上限',
  falseStopMinutes: '误停代价（GPU 分钟）',
  minimumQuietMinutes: '最短空闲（分钟）',
  lagMinutes: '读数延迟（分钟）',
  warnHours: '提前通知（小时）',
  graceHours: '宽限期（小时）',
  graceMinutes: '启动后的宽限期（分钟）',
  losesLocalDisks: '允许丢失本地盘数据',
  mostReturns: '最多恢复工作次数',
  heldMemoryMinutes: '占用显存时的最短静默（分钟）',
  longestDays: '最长天数',
  windowMinutes: '窗口（分钟）',
  headroomRatio: '余量比例',
  minimumSavingPerMonth: '每月最低节省',
  anyRegion: '任意区域',
  anyProvider: '任意供应商',
  mostInstances: '实例数上限',
  mostStarts: '启动次数上限',
  horizonDays: '计划天数',
  idleWeeks: '空闲周数',
  minimumSavingRatio: '最低节省比例',
  mode: '方式',
  startGpus: '起始 GPU 数',
  fullGpus: '完整 GPU 数',
  metric: '指标',
  worthFrom: '信号阈值',
  signalMinutes: '信号持续（分钟）',
  minimumHistoryDays: '最少历史天数',
  terms: '计费方式',
  guarded: '保守',
  upfront: '付款方式',
  zone: '时区',
  targets: '对象',
  windows: '时段',
  days: '星期',
  from: '开始',
  to: '结束',
  running: '运行',
  minReplicas: '最少副本数',
  maxReplicas: '最多副本数',
  otherwise: '其余时间',
  service: '服务',
  replicas: '副本数',
  objective: '目标',
  windowHours: '窗口（小时）',
  coldStartMinutes: '冷启动（分钟）',
  stableMinutes: '稳定时间（分钟）',
  demand: '按需用量',
  outAboveRatio: '扩容利用率',
  outReplicas: '扩容副本数',
  memoryMetric: '显存指标',
  memoryAboveRatio: '扩容显存占用',
  memoryReplicas: '按显存扩容副本数',
  inBelowRatio: '缩容利用率',
  inReplicas: '缩容副本数',
  breachMinutes: '越限时间（分钟）',
  cooldownMinutes: '冷却时间（分钟）',
  unservedPrice: '未满足负载的代价',
  reserveRatio: '备用比例',
  takesOverTarget: '所接替的自动扩缩目标',
  target: '目标',
  value: '目标值',
  toleranceRatio: '容差比例',
  stabilisationMinutes: '稳定窗口（分钟）',
};

/** Descriptions of parameters; what policies say of themselves is in core/report/chinese/purposes.ts. */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'The severest step that is reached applies': '以已达到的最严步骤为准',
  'What is compared: the spend so far, or the forecast of the period': '比较对象：累计支出，或本期预测',
  'Share of the planned amount; 0.8 is 80 %': '占计划金额的比例；0.8 即 80%',
  'What is done from here on, together with all milder steps': '自此采取的措施，并包含所有更轻的措施',
  'Kinds of workload that may be stopped although they are not stated to be interruptible':
    '即使未标明可中断也可停止的工作负载类型',
  'Hours lost at a start on spot, if the workload does not state them': '工作负载未说明时，每次竞价启动损失的小时数',
  'Where workloads may run beside the place at which they are: `AWS`, `AWS/us-west-2` (with its zones) or `AWS/us-west-2a`':
    '除当前地点外，工作负载还可运行的地点：`AWS`、`AWS/us-west-2`（含其可用区）或 `AWS/us-west-2a`',
  'Prices of data between regions; for other pairs the price list of what leaves the place counts':
    '区域之间的流量价格；其余各对以价目表中流出该地的价格为准',
  'A region, as `AWS/us-east-1`': '区域，例如 `AWS/us-east-1`',
  'Another region': '另一区域',
  'Price of a GB, in the currency of the team': '每 GB 的价格，以团队的币种计',
  'Days of recorded spot availability that a saving is computed from': '估算节省所用的竞价可用性历史天数',
  'If the newest reading of a resource is older, it does not count as running':
    '最新读数早于此时间的资源视为运行状态未知',
  'Minutes until a stopped resource works again': '停止的资源恢复工作所需的分钟数',
  'Largest probability of a wrong stop at which a stop is proposed': '提议停止时允许的最大误停概率',
  'What a wrong stop costs its users beyond the restart, in GPU-minutes; less stops more, and more of it in vain. On 143 recorded services 60 saved 46 % of what is possible with 17 % wrong stops; 10, with the probability at 1, 65 % with 33 %':
    '误停除重启外给使用者带来的代价（GPU 分钟）；越小停得越多，徒劳的也越多。在 143 个有记录的服务上，60 节省了可能值的 46%，误停 17%；取 10 且概率上限为 1 时节省 65%，误停 33%',
  'Whether a machine may be stopped if the stop loses the data on its local disks':
    '是否允许停止会因此丢失本地盘数据的机器',
  'Times that a machine with an unknown workload may have worked again after such a quiet':
    '未说明用途的机器在同样的空闲之后最多可恢复工作的次数',
  'Fewest minutes of quiet before a stop': '停止前至少空闲的分钟数',
  'Minutes after its start (if unknown, after it was first seen) in which it need not have worked':
    '启动后（启动时间未知时为首次发现后）允许尚未工作的分钟数',
  'Evidence that is older does not count': '早于此时间的依据不作为依据',
  'Minutes that a reading may need to arrive after its minute: until then it is not missing':
    '读数在其所属分钟之后到达所需的分钟数：在此之前不算缺失',
  'Hours before the end at which the holder is notified': '到期前多少小时通知持有者',
  'Hours after the end before the allocation is released': '到期后多少小时释放分配',
  'End of leases without an end, in days from their start; null: they never end':
    '未设到期时间的租约自开始起的天数；null：永不到期',
  'The service: the value of the label bursar.io/service of its scaling groups':
    '服务：其伸缩组的标签 bursar.io/service 的值',
  'Replicas that must serve at all times': '任何时候都必须提供服务的副本数',
  'Share of the wanted replica time that must be served in every window': '每个窗口内必须提供服务的副本时间比例',
  'Hours of a window of the objective; windows follow each other': '目标窗口的小时数；窗口首尾相接',
  'Minutes from the order of a replica until it serves': '从请求副本到其提供服务的分钟数',
  'Days of recorded availability that a zone needs, and that a saving is computed from':
    '可用区所需的可用性记录天数，节省亦据此计算',
  'Minutes of load; a service must serve the highest of them': '服务须能承受其最高值的负载时长（分钟）',
  'Additional throughput, as a share of that': '在此之上的吞吐余量，以比例计',
  "Smallest monthly saving that is proposed, in the team's currency": '以团队货币计：低于此值不作提议',
  'Offers of other regions count too': '也考虑其他区域的报价',
  'Offers of other providers count too': '也考虑其他供应商的报价',
  'Most instances of one kind': '同一规格的实例数上限',
  'Hours lost at each start, if the job does not state them': '任务未说明时，每次启动损失的小时数',
  'Most starts that the job may have': '任务允许的启动次数上限',
  'Days ahead that are planned; a later deadline is treated as the end of these days':
    '向前计划的天数；更晚的截止时间按此计',
  'Weeks in which an hour must have been free on commitments to be counted as idle; 0: never':
    '某一小时的承诺用量须连续空闲多少周才算空闲；0：从不',
  'Smallest saving, as a share of what the job would cost in one piece': '最低节省，占任务一次性运行成本的比例',
  'ramp: small first; full: full size at the start and never resized while it runs':
    'ramp：先小规模启动；full：以完整规模启动，运行期间不调整',
  'GPUs at the start': '启动时的 GPU 数',
  'GPUs once it is worth it': '值得扩大时的 GPU 数',
  'The signal: a metric of the workload': '信号：工作负载的某项指标',
  'Value of the signal from which more GPUs are worth it': '信号达到此值时，值得使用更多 GPU',
  'Minutes for which the signal must hold, in each of them': '信号须逐分钟持续满足的分钟数',
  'Days of metered use before anything is proposed': '作出提议前所需的计量天数',
  'Terms that may be proposed; of several that suit a GPU, the one that saves most per hour':
    '可提议的计费方式；适用于同一 GPU 的有多种时，取每小时节省最多的一种',
  'Propose only what is certain never to cost twice the optimum; this needs months of use first':
    '仅提议可保证成本不超过最优两倍的方案；需要数月用量才会提议',
  'Ways of paying that may be proposed': '可提议的付款方式',
  'IANA zone of the times': '时间所用的 IANA 时区',
  'Workloads, machines and resources by name; * at the end stands for any ending':
    '按名称指定的工作负载、机器和资源；末尾的 * 表示任意结尾',
  'The first window that matches decides': '以第一个符合的时段为准',
  'Days on which the window begins; default: every day': '时段开始的星期；留空为每天',
  'First minute, local time': '开始时间（当地时间）',
  'Exclusive end; if it is earlier than from, the window ends on the next day':
    '结束时间（不含）；早于开始时间则为次日',
  'false: stopped; true: a workload is started where it is not running': 'false：停止；true：工作负载未运行时启动',
  'Fewest replicas': '副本数下限',
  'Most replicas': '副本数上限',
  'What applies outside all windows': '所有时段之外的设置',
  'Hours lost at a start on another instance, if the workload does not state them':
    '工作负载未说明时，在另一实例上启动损失的小时数',
  'Days of recorded availability that a saving is computed from': '估算节省所用的可用性历史天数',
  'Minutes that spot must have been available before a workload without a deadline returns to it':
    '无截止时间的工作负载恢复使用竞价前，竞价须持续可用的分钟数',
  'All on-demand use of the team may be interrupted, including use that no workload describes':
    '团队的全部按需用量均可中断，包括未由工作负载说明的部分',
  'Value of the metric at which replicas are added': '增加副本的指标值',
  'Replicas added by the metric': '按指标增加的副本数',
  'Memory in use at which replicas are added': '显存占用达到此值时增加副本',
  'Replicas added by memory; the larger of the two steps is taken': '按显存增加的副本数；取两者中较大者',
  'Value of the metric below which replicas are removed': '减少副本的指标下限',
  'Replicas removed': '减少的副本数',
  'Minutes for which a threshold must be passed, in each of them': '须逐分钟持续越过阈值的分钟数',
  'Minutes after a change without a scale-in': '变更后不缩容的分钟数',
  'Minutes that the saving is computed over': '计算节省所用的时长（分钟）',
  'What a replica-minute of unserved load is worth, in replica-minutes': '一个副本分钟的未满足负载的代价，以副本分钟计',
  'Replicas kept beyond the plan, as a share of it': '计划之外保留的副本比例',
  'Utilisation target of the autoscaler that this policy takes over from (0.7 for 70 %): its rule is followed until another would have been clearly cheaper in the window':
    '本策略所接替的自动扩缩器的利用率目标（0.7 即 70 %）：沿用其规则，直至窗口内另一规则明显更便宜',
  'Minutes of load that the plan is based on; a scale-in needs all of them measured':
    '计划所依据的负载时长（分钟）；减少副本须全部有实测',
  'A resource that no connection knows does not count as running if its newest reading is older':
    '没有连接知道、且最新读数早于此时间的资源，其运行状态视为未知',
  'A value at which a metric is kept, by the rule of Kubernetes; the load is then not forecast':
    '按 Kubernetes 的规则使指标保持的目标值；此时不作预测',
  'If the newest value is older, it says nothing about the present': '最新值早于此时间则不能说明当前情况',
  'Replicas are reduced only to the highest number wanted within this many minutes; each of these minutes must have been measured':
    '缩容至最近这些分钟中任一分钟所需的最大副本数；每分钟都须有测量值',
  "Fewest replicas, within the fleet's own bounds": '最少副本数，不超出其自身的上下限',
  "Most replicas, within the fleet's own bounds": '最多副本数，不超出其自身的上下限',
  'Mean over the replicas: gpu_utilisation_ratio, memory_used_ratio, or one sent to /v1/workload-metrics (cpu_utilisation_ratio, a queue per replica)':
    '各副本的平均值：gpu_utilisation_ratio、memory_used_ratio，或发送到 /v1/workload-metrics 的指标（cpu_utilisation_ratio、每副本的队列长度）',
  'Memory in use, which must be measured before a replica is removed; null: memory is ignored':
    '已用显存，减少副本前必须有测量值；为空则不看显存',
  'Minutes for which a machine that somebody has started outside its hours is left running':
    '有人在时段之外启动的机器继续运行的分钟数',
  "The measure: its GPUs' use, or the group's own metric, sent to /v1/workload-metrics":
    '度量：GPU 利用率，或发送到 /v1/workload-metrics 的自有指标',
  'Fewest minutes of quiet if more than a tenth of the memory is in use and the workload is unknown':
    '占用超过十分之一显存且无人说明运行内容时，最少的静默分钟数',
  'What the metric should be: 0.7 is 70 %': '指标应保持的值：0.7 即 70%',
  'Deviation within which nothing changes': '在此范围内不作变更',
};
