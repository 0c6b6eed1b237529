/** In Chinese: what the policies say of themselves (reworded.ts). */
export const POLICY_PURPOSES: Readonly<Record<string, string>> = {
  'Warns, refuses launches, moves to spot or to cheap hours, scales in and stops, step by step as the spend or the forecast of a budget passes its steps':
    '随预算的支出或预测逐级越过阈值，依次通知、拒绝新启动、转为竞价或低价时段、缩容、停止',
  'Proposes to stop resources whose GPUs do nothing, when the quiet has lasted long enough to pay for the restart':
    '当 GPU 空闲的时间足以抵偿重启代价时，提议停止该资源',
  'Ends allocations whose lease nobody renewed, and notifies their holders in time':
    '终止租约无人续期的分配，并提前通知持有者',
  'Finds the cheapest one or two GPU models that do the work of a workload, from measured performance and current prices':
    '根据实测性能和当前价格，找出能完成工作负载且最便宜的一种或两种 GPU 型号',
  'Cuts a long job that may be interrupted into pieces for the cheap or idle hours before its deadline':
    '将可中断的长任务分段安排到截止时间之前的低价或空闲时段',
  'Starts trainings on few GPUs and grows them once a signal says that it is worth it, or starts them at full size and keeps them so':
    '训练先以少量 GPU 启动，待信号表明值得时再扩大；或以完整规模启动并保持不变',
  'Proposes reservations, or a savings plan where it is cheaper, for the GPUs that a team uses nearly all the time':
    '为团队几乎始终在用的 GPU 提议购买预留，若节省计划更便宜则提议节省计划',
  'Starts, stops and bounds workloads and machines by a weekly calendar in a time zone':
    '按某一时区的每周日程启动、停止工作负载和机器，并限定其规模',
  'Holds the replicas of a service on spot of several zones, with as many on demand as its objective needs, and adds before it takes away':
    '将服务的副本放在多个可用区的竞价实例上，并按其目标保留所需的按需副本；先增后减',
  'Runs what may be interrupted on spot, falls back on demand when spot is gone or a deadline needs it, and returns; replaces what lost a GPU':
    '可中断的任务使用竞价实例；竞价不可用或临近截止时间时转回按需，之后再恢复；替换丢失 GPU 的资源',
  'Adds or removes replicas by steps when utilisation or memory stays beyond a threshold':
    '当利用率或显存持续越过阈值时，按步增减副本',
  'Keeps as many replicas of a service as the load ahead needs, forecast from its measured load, or as hold a metric at a target (70 % of the GPUs); replaces those that lost a GPU':
    '根据实测负载预测后续负载、保持所需的服务副本数，或使指标保持在目标值（如 GPU 利用率 70%）；并替换丢失 GPU 的副本',
};
