/** Whose metered usage a record is: by the job that a pod names, by the group that a machine names, never by a guess. */
import { describe, expect, it } from 'vitest';
import { isOf } from '../../../src/core/fleet/membership.js';

const JOB = { 'batch.kubernetes.io/job-name': 'train' };
const used = (
  resource: string | null,
  tags: Record<string, string> | null,
  region: string | null = null,
): Parameters<typeof isOf>[0] => ({ resource, tags, region });

describe('metered usage', () => {
  it('is of the job that its pod names, by the new label or the old, in the namespace of the job', () => {
    expect(isOf(used('pod/ml/train-x1', JOB), 'job/ml/train')).toBe(true);
    expect(isOf(used('pod/ml/train-x1', { 'job-name': 'train' }), 'job/ml/train')).toBe(true);
    expect(isOf(used('pod/other/train-x1', JOB), 'job/ml/train')).toBe(false);
    expect(isOf(used('pod/ml/train-x1', JOB), 'job/ml/test')).toBe(false);
    expect(isOf(used(null, JOB), 'job/ml/train')).toBe(false);
  });

  it('is of a training job by its own label alone', () => {
    const tags = { 'training.kubeflow.org/job-name': 'train' };
    expect(isOf(used('pod/ml/train-master-0', tags), 'pytorchjob/ml/train')).toBe(true);
    expect(isOf(used('pod/ml/train-master-0', tags), 'job/ml/train')).toBe(false);
  });

  it('is not of a job because its pod has the name of one', () => {
    expect(isOf(used('pod/ml/train', {}), 'job/ml/train')).toBe(false);
    expect(isOf(used('pod/ml/train', null), 'job/ml/train')).toBe(false);
  });

  it('is of the machine that it names, alone or at the end of its full name', () => {
    const arn = 'arn:aws:ec2:eu-west-1:1:instance/i-1';
    expect(isOf(used('i-1', null), 'instance/i-1')).toBe(true);
    expect(isOf(used(arn, null), 'instance/i-1')).toBe(true);
    expect(isOf(used('//compute/projects/p/zones/z/instances/4711', null), 'instance/4711')).toBe(true);
    expect(isOf(used('i-11', null), 'instance/i-1')).toBe(false);
    expect(isOf(used('volume/i-1', null), 'instance/i-1')).toBe(false);
    expect(isOf(used(null, null), 'instance/i-1')).toBe(false);
    expect(isOf(used(arn, null), 'asg/i-1')).toBe(false);
    expect(isOf(used('deployment/ml/chat', null), 'deployment/ml/chat')).toBe(true);
  });

  it('is of a Deployment by the name of its pod and the hash together', () => {
    const tags = { 'pod-template-hash': '5d4f' };
    expect(isOf(used('pod/ml/chat-5d4f-abcde', tags), 'deployment/ml/chat')).toBe(true);
    expect(isOf(used('pod/ml/chat-5d4f-abcde', {}), 'deployment/ml/chat')).toBe(false);
    expect(isOf(used('pod/ml/chat-5d4f-abcde', null), 'deployment/ml/chat')).toBe(false);
    expect(isOf(used('pod/ml/chat-0', { 'apps.kubernetes.io/pod-index': '0' }), 'statefulset/ml/chat')).toBe(true);
    expect(isOf(used(null, tags), 'deployment/ml/chat')).toBe(false);
  });

  it('is of the group that its machine names, in its region where the target names one', () => {
    const tags = { 'aws:autoscaling:groupName': 'pool' };
    expect(isOf(used('i-1', tags, 'eu-west-1'), 'asg/eu-west-1/pool')).toBe(true);
    expect(isOf(used('i-1', tags, 'us-east-1'), 'asg/eu-west-1/pool')).toBe(false);
    expect(isOf(used('i-1', tags, 'us-east-1'), 'asg/pool')).toBe(true);
    expect(isOf(used('i-1', tags, 'eu-west-1'), 'group/eu-west-1/pool')).toBe(false);
    expect(isOf(used('i-1', null, 'eu-west-1'), 'asg/eu-west-1/pool')).toBe(false);
  });

  it('is of the target that its tag names, whatever else it says', () => {
    expect(isOf(used('pod/other/x', { ...JOB, 'bursar:target': 'asg/pool' }), 'asg/pool')).toBe(true);
  });
});
