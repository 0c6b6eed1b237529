/** In Chinese: the savings ledger. */
import type { SAVINGS as ENGLISH } from '../english/savings.js';

export const SAVINGS: Readonly<Record<keyof typeof ENGLISH, string>> = {
  'savings.lead': '每一笔节省都与反事实（不操作时的情形）比较得出',
  'savings.caption': '节省台账',
  'savings.many': '仅列出最新的 500 条；合计包含全部。',
  'savings.empty': '台账为空。操作生效时产生条目；其小时数随用量测量，并以账单验证。<a>查看建议</a>。',
  'saving.of': '{id} 的节省',
  'saving.by': '节省来源：{action} {target}',
  'saving.not-yet': '台账中还没有该操作的记录。每个整点小时结束后不久即会计量。',
  'saving.ledger': '节省台账',
  'saving.hours': '小时数',
  'saving.verifiable': '全部可验证',
  'saving.unverifiable': '另有 {n} 小时无法验证',
  'saving.time': '自 {from} 起；{until} 之后不再计入。',
  'saving.world': '反事实',
  'saving.shared': '该对象的节省与以下操作共享：',
  'saving.days': '按日',
  'saving.no-hour': '尚未测量：随用量数据到达后测量。',
  'saving.picture': '每日成本与反事实成本',
  'saving.summary': '两线之间 {amount}，共 {n} 天。',
  'saving.by-hour': '按小时',
  'saving.many': '仅显示前一千小时。',
  'saving.caption': '台账的小时明细',
  'saving.gpus': '{n} 块 GPU',
  'saving.held': '{n} × {sku}，{term}，每个 {gpus}',
};
