/**
 * What is asked of Alibaba Cloud and Tencent Cloud about the health of their machines and of Alibaba Cloud for its bill,
 * and what is read of the answers, against the models of their official SDKs; and canaries: a misspelling of each kind is found. The requests on the
 * wire are held against the same models by the tests of each cloud.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BILL, billParams, ITEM } from '../../src/providers/alibaba/bill.js';
import { AT_WORK, EVENTS_REPLY, LOSSES, STATUS_REPLY } from '../../src/providers/alibaba/health.js';
import { BROKEN, OPEN, TASKS_REPLY, tasksParams } from '../../src/providers/tencent/health.js';
import { MODELS, problemsOfReply, problemsOfRequest } from '../support/rpc-model.js';

const { DescribeInstancesFullStatus, DescribeInstanceHistoryEvents } = MODELS['alibaba-ecs'];
const { DescribeTaskInfo } = MODELS['tencent-cvm'];
const { DescribeInstanceBill } = MODELS['alibaba-bss'];
const NOW = Date.UTC(2026, 10, 20, 8);

it('reads fields that the replies have, of their types', () => {
  expect(problemsOfReply(DescribeInstancesFullStatus!, STATUS_REPLY)).toEqual([]);
  expect(problemsOfReply(DescribeInstanceHistoryEvents!, EVENTS_REPLY)).toEqual([]);
  expect(problemsOfReply(DescribeTaskInfo!, TASKS_REPLY)).toEqual([]);
  expect(problemsOfReply(DescribeInstanceBill!, BILL)).toEqual([]);
  const items = z.object({ Data: z.object({ Items: z.array(ITEM) }) });
  expect(problemsOfReply(DescribeInstanceBill!, items)).toEqual([]);
});

it('asks by words and numbers that the SDKs list', () => {
  const { words } = DescribeInstanceHistoryEvents!;
  for (const one of LOSSES) expect(words['InstanceEventType']).toContain(one);
  for (const one of AT_WORK) expect(words['InstanceEventCycleStatus']).toContain(one);
  expect(DescribeInstancesFullStatus!.words['HealthStatus']).toContain('Impaired');
  for (const one of Object.keys(BROKEN)) expect(DescribeTaskInfo!.words['TaskTypeIds']).toContain(Number(one));
  for (const one of OPEN) expect(DescribeTaskInfo!.words['TaskStatus']).toContain(one);
  expect(problemsOfRequest(DescribeTaskInfo!, tasksParams(0, NOW))).toEqual([]);
  expect(problemsOfRequest(DescribeInstanceBill!, billParams('2026-10', '2026-10-01', 'next'))).toEqual([]);
});

describe('a canary finds a misspelt', () => {
  it.each([
    ['parameter', problemsOfRequest(DescribeTaskInfo!, { TaskStates: [1] }), 'TaskStates is no parameter'],
    ['list', problemsOfRequest(DescribeTaskInfo!, { TaskStatus: 1 }), 'TaskStatus is no list'],
    ['number', problemsOfRequest(DescribeTaskInfo!, { TaskTypeIds: [108] }), 'TaskTypeIds: 108 is no word'],
    [
      'word',
      problemsOfRequest(DescribeInstanceHistoryEvents!, { 'InstanceEventType.1': 'SystemFailure.Restart' }),
      'InstanceEventType.1: SystemFailure.Restart is no word',
    ],
    [
      'field',
      problemsOfReply(DescribeTaskInfo!, z.object({ RepairTaskInfoSet: z.array(z.object({ Instance: z.string() })) })),
      'reply.RepairTaskInfoSet[].Instance is no field',
    ],
    ['type', problemsOfReply(DescribeTaskInfo!, z.object({ TotalCount: z.string() })), 'reply.TotalCount is no string'],
  ])('%s', (_, problems, said) => expect(problems).toEqual([said]));
});
