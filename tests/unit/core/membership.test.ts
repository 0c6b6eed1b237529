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
