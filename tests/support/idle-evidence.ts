/** One reading of one GPU for tests of idle. */
import type { IdleEvidence } from '../../src/planning/idle/samples.js';

export const evidence = (minute: number, percent: number | null, more: Partial<IdleEvidence> = {}): IdleEvidence => ({
  resource: 'gpu-0',
  minute,
  gpuUtilPercent: percent,
  requestsPerSecond: null,
  memoryUsedRatio: 0.1,
  workload: 'training',
  ...more,
});
