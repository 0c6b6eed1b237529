/** In Chinese: the titles of the policies' examples (reworded.ts). */
export const EXAMPLE_TITLES: Readonly<Record<string, string>> = {
  // budget-brake
  'Half is spent': '已支出一半',
  '85 % is spent: the team is warned': '已支出 85%：提醒团队',
  '96 %: no launches, and what may be interrupted moves to spot': '96%：禁止启动，可中断的转为竞价',
  '96 %, and no spot is on offer: the cheap hours before the deadline': '96%，且没有竞价：移至期限前的低价时段',
  '120 %: the service is scaled in, the training stopped': '120%：服务缩容，训练停止',
  'The same spend after the budget grew': '预算增加后的同样支出',
  'A new period has begun': '新的期间已开始',
  'Nothing is planned: nothing is braked': '没有计划金额：不制动',

  // idle-stop
  'A training that ended twelve hours ago': '十二小时前结束的训练',
  'A service that answers two requests a second at 0.5 %': '利用率 0.5%、每秒应答两个请求的服务',
  'A service whose requests are not counted is unknown': '请求未被计数的服务视为未知',
  'A blank reading is no reading': '空读数不算读数',
  'Evidence of an hour ago is too old': '一小时前的依据过旧',
  'A machine that was started half an hour ago has not worked yet': '半小时前启动的机器尚未工作',
  'A machine that is stopped, but whose exporter still answers': '已停止但导出器仍有响应的机器',
  'One of the machines of a group, which would replace it': '组中的一台机器，停止后会被组替换',
  'A machine that is paid for in advance': '已预付的机器',
  'A machine with local disks, where the policy may not lose their data': '带本地盘的机器，且策略不得丢失其数据',
  'A machine with an unknown workload that works for one minute in twenty': '负载未知、每二十分钟工作一分钟的机器',
  'The same, where so many returns are allowed': '同上，但允许同样多次恢复工作',
  'A card that draws {0} W at a utilisation of 0 %': '利用率为 0% 而功率为 {0} W 的卡',
  'A card that draws what one with a loaded process draws at rest': '功率与已加载进程的空闲卡相同的卡',
  'Memory that an unknown workload holds for four hours': '未知负载占用显存四小时',
  'The same after a whole working day': '同上，满一个工作日之后',
  'A machine that was first seen a minute ago, with an unknown start': '一分钟前首次发现、启动时间未知的机器',
  'A machine with eight GPUs, of which one is measured': '八个 GPU 中仅测量一个的机器',

  // lease
  'Ended an hour ago': '一小时前到期',
  'Ends tomorrow': '明天到期',
  'Renewed for a month': '续期一个月',
  'It is unknown whether it is still held': '是否仍被占用未知',

  // mix
  'A small service on two A100: two T4 do': '两个 A100 上的小型服务：两个 T4 即可',
  'A training that an A100 beside a V100 runs as fast as two A100': 'A100 加 V100 与两个 A100 同样快的训练',
  'Measured on an A100 and on a T4, where it fits: two T4': '在 A100 和可容纳它的 T4 上均有实测：两个 T4',
  'It is unknown whether it fits into a T4': 'T4 能否容纳它未知',
  'A minute of its load is missing': '其负载缺少一分钟',

  // off-peak-shift
  'Eight hours of work at noon, until tomorrow noon: tonight': '中午有八小时工作，期限为明天中午：今晚进行',
  'The price is the same at all hours, but a reservation is idle at night': '各时段价格相同，但预留在夜间闲置',
  'A group of three machines at noon: paused until tonight': '中午三台机器的组：暂停至今晚',
  'A stopped group: the number of machines with which it will start is unknown': '已停止的组：启动时的机器数未知',
  'Nine hours until the deadline: there is no choice of hours': '距期限九小时：没有可选的时段',
  'No deadline is stated': '没有说明期限',

  // ramp
  'Four GPUs, and they scale well: sixteen': '四个 GPU，扩展性好：十六个',
  'Four GPUs, and they do not scale': '四个 GPU，扩展性差',
  'Requests sixteen at the start: four first': '启动时请求十六个：先用四个',
  'Runs on sixteen since an unknown time: it is not made smaller': '在十六个上运行，始于未知时间：不缩小',
  'Full size by choice: kept as it is': '主动选择完整规模：保持不变',

  // reserve-baseline
  'Four GPUs in use day and night: reserve them': '四个 GPU 昼夜使用：预留',
  'A savings plan for less than the reservation: the plan': '节省计划比预留便宜：采用节省计划',
  'Four GPUs in use, and reserved instances of the account for four: nothing more':
    '四个 GPU 在用，该账户已为四个购买预留：不再购买',
  'Four of six GPUs are covered by commitments of an unknown account: only the rest is proposed, and this is stated':
    '六个 GPU 中四个由账户未知的承诺覆盖：仅提议其余部分，并注明',
  'A savings plan may cover them, to an unknown extent: nothing': '节省计划可能覆盖它们，程度未知：不提议',
  'A week of use is too little to commit to a year': '仅一周的用量不足以承诺一年',
  'Four GPUs in use, and four reserved': '四个 GPU 在用，已预留四个',
  'Without an on-demand price the saving is unknown': '没有按需价格则节省未知',

  // schedule
  'A machine without measurements, on a Sunday': '星期日，没有测量的机器',
  'A machine that somebody has started outside its hours half an hour ago': '半小时前有人在时段外启动的机器',
  'A machine that somebody has stopped is not started': '有人停止的机器不会被启动',
  'Notebooks on a Sunday': '星期日的笔记本',
  'Monday at noon they are started again': '星期一中午重新启动',
  'The number of replicas is unknown': '副本数未知',
  'At most two on Sundays': '星期日至多两个',

  // spot-serving
  'Three replicas on demand, and spot is there in two zones: spot is added first':
    '三个按需副本，两个可用区有竞价资源：先增加竞价',
  'Enough replicas on spot are ready: those on demand go': '竞价上有足够的就绪副本：减去按需副本',
  'Spot is gone in both zones: on demand stands in': '两个可用区的竞价均不可用：由按需代替',
  'The size of one of its groups is unknown: nothing is taken away': '其中一个组的规模未知：不减少',
  'No group on demand to fall back to': '没有可退回的按需组',

  // spot-shift
  'Interruptible, and spot has been available for two weeks': '可中断，且竞价已持续可用两周',
  'On spot, and spot is gone': '使用竞价，而竞价已不可用',
  'Ten hours of work, sixteen left: spot': '十小时工作，剩余十六小时：竞价',
  'Ten hours of work, ten and a half left, and spot is gone: on demand': '十小时工作，剩余十个半小时，竞价不可用：按需',
  'Ten hours of work, forty left, and spot is gone: wait': '十小时工作，剩余四十小时，竞价不可用：等待',
  'The work is done, and spot is gone: it is not moved': '工作已完成，竞价不可用：不转移',
  'A deadline, but the remaining work is unknown: it stays on demand': '有期限但剩余工作未知：保持按需',
  'Spot costs a third in another region, and forty hours of work are left: it moves with its checkpoint':
    '另一区域的竞价价格为三分之一，剩余四十小时工作：携检查点迁移',
  'The same, but nobody knows the size of its checkpoint: it stays in its region': '同上，但检查点大小未知：留在本区域',
  'The same, but the price of the data that would be sent is unknown: it stays':
    '同上，但所需传输数据的价格未知：留在原处',
  'A deadline, and spot is gone where it runs: the plan over both regions goes on where there is spot':
    '有期限，且其运行地点的竞价不可用：按两个区域的计划，在有竞价资源处继续',
  'A GPU is gone, and the fleet declares a hot spare': '一个 GPU 丢失，且有声明的热备',
  'Nothing states that it may be interrupted': '没有说明它可以被中断',
  'All use of the team may be interrupted; the market was never recorded, so the saving is unknown':
    '团队的全部用量均可中断；市场从未记录，因此节省未知',

  // step-scaling
  'Ninety per cent busy: two more': '90% 繁忙：增加两个',
  'A tenth busy, memory free: one fewer': '10% 繁忙，显存空闲：减少一个',
  "By the group's own metric: a queue of 40 jobs a replica": '按该组自有指标：每副本队列 40 个作业',
  'A group whose size an autoscaler of its own sets': '规模由其自身的自动伸缩器设定的组',
  'Ninety per cent busy, but one replica of four is measured': '90% 繁忙，但四个副本只测量了一个',
  'A tenth busy, but the memory is not measured': '10% 繁忙，但显存未测量',

  // target-tracking
  'A target of 70 %: four replicas at 95 % become six': '目标 70%：四个副本在 95% 时变为六个',
  'A target of 70 %: within the tolerance nothing changes': '目标 70%：在允许偏差内不变',
  'A target of 70 %: one of the last five minutes was busy, so all four are kept':
    '目标 70%：最近五分钟中有一分钟繁忙，因此保留全部四个',
  'A target of 70 %: one of four is measured at 95 %, and the others count as idle':
    '目标 70%：四个中测得一个为 95%，其余视为空闲',
  'A target of 70 %: one of four is measured at 5 %, and the others count as wholly used':
    '目标 70%：四个中测得一个为 5%，其余视为完全占用',
  'A target that an autoscaler of Kubernetes follows already': 'Kubernetes 的自动伸缩器已在遵循的目标',
  'An hour after it took over from an autoscaler at 50 %: as many as that would hold':
    '接替 50 % 目标的自动扩缩器一小时后：副本数与其相同',
  'Ten replicas where two serve the load': '两个副本即可满足负载，而有十个',
  'Two replicas where six are needed': '需要六个副本，而有两个',
  'A minute is missing: nothing is taken away': '缺少一分钟：不减少',
  'A GPU is gone: its replica is replaced, and as many are held': '一个 GPU 丢失：替换其副本，并维持数量',
};
