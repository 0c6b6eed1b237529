/**
 * GPUs that pods ask for, by hand-computed parts: whole, MIG, shared, virtual, init containers, and what cannot be
 * told.
 */
import { describe, expect, it } from 'vitest';
import { ANY_NODE, countOf, podGpus, type PodContainer } from '../../../src/core/fleet/pod-gpus.js';
import { poolOf } from '../../../src/providers/kubernetes/objects.js';
import { gpusOfNode, gpusOfParts, unitsOf } from '../../../src/providers/kubernetes/quantity.js';

const asks = (limits: Record<string, string | number>, restartPolicy?: string): PodContainer => ({
  resources: { limits },
  restartPolicy,
});
const parts = (limits: Record<string, string | number>, labels: Record<string, string> = {}): number | null =>
  podGpus({ containers: [asks(limits)] }, unitsOf(labels)).parts;
const A100 = { 'nvidia.com/gpu.product': 'NVIDIA-A100-SXM4-40GB' };

describe('a pod', () => {
  it('without a GPU asks for none', () => {
    expect(podGpus({}, ANY_NODE)).toEqual({ requested: false, parts: 0 });
    expect(podGpus({ containers: [{}, asks({ cpu: '4', memory: '16Gi', 'nvidia.com/gpu': '0' })] }, ANY_NODE)).toEqual({
      requested: false,
      parts: 0,
    });
  });

  it('sums its containers, in requests or in limits', () => {
    expect(
      podGpus(
        {
          containers: [
            asks({ 'nvidia.com/gpu': '2' }),
            { resources: { requests: { 'nvidia.com/gpu': 1 } } },
            asks({ 'amd.com/gpu': '1' }),
          ],
        },
        ANY_NODE,
      ),
    ).toEqual({ requested: true, parts: 28_000 });
    expect(
      podGpus(
        { containers: [{ resources: { requests: { 'nvidia.com/gpu': '2' }, limits: { 'nvidia.com/gpu': '2' } } }] },
        ANY_NODE,
      ).parts,
    ).toBe(14_000);
  });

  it('holds per resource the greater of its containers and any init container, with the sidecars before it', () => {
    const gpu = (count: number, restartPolicy?: string): PodContainer =>
      asks({ 'nvidia.com/gpu': count }, restartPolicy);
    expect(podGpus({ initContainers: [gpu(4), gpu(1)], containers: [gpu(2)] }, ANY_NODE).parts).toBe(28_000);
    // Sidecar 1, then an init container of 3 beside it: 4. Later the sidecar and the container: 3.
    expect(podGpus({ initContainers: [gpu(1, 'Always'), gpu(3)], containers: [gpu(2)] }, ANY_NODE).parts).toBe(28_000);
    expect(podGpus({ initContainers: [gpu(3), gpu(1, 'Always')], containers: [gpu(2)] }, ANY_NODE).parts).toBe(21_000);
    // Two resources are both set aside, though never used at once.
    expect(
      podGpus(
        { initContainers: [asks({ 'nvidia.com/mig-1g.5gb': 1 })], containers: [asks({ 'nvidia.com/mig-2g.10gb': 1 })] },
        ANY_NODE,
      ).parts,
    ).toBe(3000);
  });

  it('with MIG instances holds their compute slices', () => {
    expect(parts({ 'nvidia.com/mig-1g.5gb': '1' })).toBe(1000);
    expect(parts({ 'nvidia.com/mig-3g.20gb': '2' })).toBe(6000);
    expect(parts({ 'nvidia.com/mig-1g.5gb.me': '1' })).toBe(1000);
    expect(parts({ 'nvidia.com/mig-1g.6gb': '1' }, { 'nvidia.com/gpu.product': 'NVIDIA-A30' })).toBe(1750);
    expect(podGpus({ containers: [asks({ 'nvidia.com/mig-9g.80gb': '1' })] }, ANY_NODE)).toEqual({
      requested: true,
      parts: null,
    });
  });

  it('on a node that hands out slices or shares as GPUs holds a slice or a share', () => {
    expect(parts({ 'nvidia.com/gpu': '2' }, { 'nvidia.com/gpu.product': 'NVIDIA-A100-SXM4-40GB-MIG-1g.5gb' })).toBe(
      2000,
    );
    expect(
      parts(
        { 'nvidia.com/gpu': '1' },
        {
          'cloud.google.com/gke-accelerator': 'nvidia-tesla-a100',
          'cloud.google.com/gke-gpu-partition-size': '3g.20gb',
        },
      ),
    ).toBe(3000);
    expect(
      parts({ 'nvidia.com/gpu': '1' }, { 'nvidia.com/gpu.product': 'Tesla-T4-SHARED', 'nvidia.com/gpu.replicas': '4' }),
    ).toBe(1750);
    expect(parts({ 'nvidia.com/gpu': '1' }, { 'nvidia.com/gpu.product': 'Tesla-T4-SHARED' })).toBeNull();
    expect(parts({ 'nvidia.com/gpu.shared': '1' }, { ...A100, 'nvidia.com/gpu.replicas': '10' })).toBe(700);
    expect(parts({ 'nvidia.com/gpu.shared': '1' })).toBeNull();
    expect(parts({ 'nvidia.com/mig-1g.5gb.shared': '1' }, { ...A100, 'nvidia.com/gpu.replicas': '2' })).toBe(500);
  });

  it('with virtual GPUs holds their percent, and is never taken for whole ones', () => {
    expect(parts({ 'nvidia.com/gpu': '2', 'nvidia.com/gpucores': '10', 'nvidia.com/gpumem': '3000' })).toBe(1400);
    expect(parts({ 'nvidia.com/gpu': '1', 'nvidia.com/gpumem-percentage': '50' })).toBe(3500);
    expect(podGpus({ containers: [asks({ 'nvidia.com/gpu': '1', 'nvidia.com/gpumem': '3000' })] }, ANY_NODE)).toEqual({
      requested: true,
      parts: null,
    });
    expect(parts({ 'aliyun.com/gpu-core.percentage': '30', 'aliyun.com/gpu-mem': '4' })).toBe(2100);
    expect(parts({ 'aliyun.com/gpu-mem': '4' })).toBeNull();
  });

  it('with a quantity that is none asks for GPUs all the same', () => {
    expect(
      podGpus({ containers: [asks({ 'nvidia.com/gpu': 'two' }), asks({ 'nvidia.com/gpu': '1' })] }, ANY_NODE),
    ).toEqual({ requested: true, parts: null });
    expect(['1', '2k', '3000m', '1500m', '1.5', '', '-1', 4].map(countOf)).toEqual([
      1,
      2000,
      3,
      null,
      null,
      null,
      null,
      4,
    ]);
  });
});

describe('a node', () => {
  it("has what CoreWeave's labels say, and lies in its pool", () => {
    const labels = { 'gpu.nvidia.com/model': 'A100_PCIE_80GB', 'gpu.nvidia.com/count': '8' };
    expect([unitsOf(labels).model, gpusOfNode(labels, {})]).toEqual(['A100-80GB', 8]);
    expect(unitsOf({ 'gpu.nvidia.com/model': 'H100_NVLINK_80GB' }).model).toBe('H100');
    expect(poolOf({ metadata: { labels: { 'compute.coreweave.com/node-pool': 'h100' } } })).toBe('h100');
  });

  it('has the GPUs that its label counts, else those that it hands out', () => {
    expect(gpusOfNode({ ...A100, 'nvidia.com/gpu.count': '8' }, { 'nvidia.com/gpu': '16' })).toBe(8);
    expect(gpusOfNode(A100, { cpu: '96', 'nvidia.com/gpu': '4' })).toBe(4);
    expect(gpusOfNode(A100, { 'nvidia.com/gpu': '0', 'nvidia.com/mig-1g.5gb': '14' })).toBe(2);
    expect(
      gpusOfNode(
        { 'nvidia.com/gpu.product': 'Tesla-T4-SHARED', 'nvidia.com/gpu.replicas': '4' },
        { 'nvidia.com/gpu': '4' },
      ),
    ).toBe(1);
    expect([
      gpusOfNode({}, { cpu: '4' }),
      gpusOfNode({ 'nvidia.com/gpu.product': 'Tesla-T4-SHARED' }, { 'nvidia.com/gpu': '4' }),
    ]).toEqual([0, null]);
  });

  it('names its model by the product alone', () => {
    const models = [
      'NVIDIA-A100-SXM4-40GB-MIG-1g.5gb',
      'NVIDIA-A100-SXM4-80GB-SHARED',
      'Tesla-T4',
      'NVIDIA-H100-80GB-HBM3',
      'Quadro-P9',
    ].map((product) => unitsOf({ 'nvidia.com/gpu.product': product }).model);
    expect(models).toEqual(['A100-40GB', 'A100-80GB', 'T4', 'H100', null]);
    expect([
      unitsOf({ 'cloud.google.com/gke-accelerator': 'nvidia-h100-80gb' }).model,
      unitsOf({ 'karpenter.k8s.aws/instance-gpu-name': 'l4' }).model,
    ]).toEqual(['H100', 'L4']);
  });

  it('shows thousandths', () =>
    expect([0, 1000, 7000, 24_500, null].map(gpusOfParts)).toEqual([0, 0.143, 1, 3.5, null]));
});
