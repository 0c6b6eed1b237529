/** A sentence is matched with its Chinese template as a whole. */
import { describe, expect, it } from 'vitest';
import { inChinese } from '../../../src/core/report/reworded.js';

describe('sentences with Chinese words', () => {
  it('are matched as a whole, with what stands in their holes', () => {
    expect(inChinese('Stop instance/i-1: its 4 x A100 has done nothing for 90 minutes')).toBe(
      '停止 instance/i-1：其 4 x A100 已 90 分钟没有工作',
    );
    expect(inChinese('Tell ai: spend has reached 85 % of the budget ai-monthly (1000.00 USD)')).toBe(
      '通知 ai：支出已达预算 ai-monthly（1000.00 USD）的 85%',
    );
    expect(inChinese('Busy again within ten minutes of the stop with a probability of 0.05 %.')).toBe(
      '停止后十分钟内再次繁忙的概率为 0.05 %。',
    );
    expect(inChinese('Reserve 4 x L40S at fake (reserved-1y, none upfront)')).toBe(
      '预留 4 x L40S，位于 fake（1 年预留，无预付款）',
    );
    expect(inChinese('nobody has ever written this')).toBeNull();
  });
});
