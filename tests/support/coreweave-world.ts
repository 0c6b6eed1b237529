/**
 * A cluster of CoreWeave's Kubernetes service: a node with eight H100, one without GPUs, and a Deployment of two pods
 * that hold all eight.
 *
 * Labels are those that CoreWeave's own pages name: `node.kubernetes.io/instance-type` with the id of the instance
 * ("Workload scheduling on CKS"), `topology.kubernetes.io/region` ("General Access", region labels),
 * `gpu.nvidia.com/model` and `gpu.nvidia.com/count` ("Advanced Label Selectors"). `compute.coreweave.com/node-pool` is
 * the one that the cluster autoscaler reads (kubernetes/autoscaler, cloudprovider/coreweave); that nodes without GPUs
 * have an empty model is reported by users. No page names a provider id or a label for what a node is bought as.
 */
import { KubernetesApi, type KubernetesObject } from './kubernetes-api.js';

export const SKU = 'gd-8xh100ib-i128';
export const REGION = 'US-EAST-04';
export const DEPLOYMENT = 'deployment/serving/chat';
export const PODS = ['chat-6d4cf56db6-k2v9x', 'chat-6d4cf56db6-zw7qp'] as const;

const instant = (at: number): string => new Date(at).toISOString().replace('.000', '');
const GPUS = { limits: { 'nvidia.com/gpu': '4' }, requests: { 'nvidia.com/gpu': '4' } };

const node = (name: string, labels: Record<string, string>, capacity: Record<string, string>): KubernetesObject => ({
  metadata: {
    name,
    uid: `0a000000-0000-4000-8000-${name.padStart(12, '0')}`,
    resourceVersion: '9001',
    creationTimestamp: '2026-10-01T00:00:00Z',
    labels: {
      'kubernetes.io/hostname': name,
      'topology.kubernetes.io/region': REGION,
      'topology.kubernetes.io/zone': `${REGION}A`,
      'node.coreweave.cloud/state': 'production',
      ...labels,
    },
  },
  spec: {},
  status: {
    capacity: { cpu: '128', memory: '2014Gi', pods: '110', ...capacity },
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-10-01T00:00:00Z' }],
    addresses: [
      { type: 'InternalIP', address: `10.202.192.${name === 'g1a2b3c' ? 7 : 8}` },
      { type: 'Hostname', address: name },
    ],
  },
});

const pod = (name: string, n: number, since: number): KubernetesObject => ({
  metadata: {
    name,
    namespace: 'serving',
    uid: `0b000000-0000-4000-8000-00000000000${n}`,
    resourceVersion: '6001',
    creationTimestamp: instant(since),
    labels: { app: 'chat', team: 'product' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'chat-6d4cf56db6', uid: '0f', controller: true },
    ],
  },
  spec: { nodeName: 'g1a2b3c', containers: [{ name: 'main', image: 'registry.example/chat:1', resources: GPUS }] },
  status: {
    phase: 'Running',
    startTime: instant(since),
    conditions: [
      { type: 'PodScheduled', status: 'True', lastTransitionTime: instant(since) },
      { type: 'Ready', status: 'True', lastTransitionTime: instant(since) },
    ],
  },
});

const deployment = (): KubernetesObject => ({
  metadata: {
    name: 'chat',
    namespace: 'serving',
    uid: '0d000000-0000-4000-8000-000000000001',
    resourceVersion: '7001',
    generation: 3,
    creationTimestamp: '2026-10-02T00:00:00Z',
    labels: { app: 'chat' },
  },
  spec: {
    replicas: PODS.length,
    selector: { matchLabels: { app: 'chat' } },
    template: {
      metadata: { labels: { app: 'chat', team: 'product' } },
      spec: {
        nodeSelector: { 'gpu.nvidia.com/model': 'H100_NVLINK_80GB' },
        containers: [{ name: 'main', image: 'registry.example/chat:1', resources: GPUS }],
      },
    },
  },
  status: { observedGeneration: 3, replicas: PODS.length, readyReplicas: PODS.length },
});

/** @param since when the pods were scheduled, epoch milliseconds */
export async function coreweaveCluster(since: number): Promise<KubernetesApi> {
  const api = await KubernetesApi.start();
  Object.assign(api.objects, {
    nodes: [
      node(
        'g1a2b3c',
        {
          'node.kubernetes.io/instance-type': SKU,
          'compute.coreweave.com/node-pool': 'h100',
          'gpu.nvidia.com/model': 'H100_NVLINK_80GB',
          'gpu.nvidia.com/count': '8',
        },
        { 'nvidia.com/gpu': '8', 'rdma/ib': '8' },
      ),
      node(
        'c4d5e6f',
        {
          'node.kubernetes.io/instance-type': 'cd-gp-a192-genoa',
          'compute.coreweave.com/node-pool': 'cpu',
          'gpu.nvidia.com/model': '',
        },
        {},
      ),
    ],
    deployments: [deployment()],
    statefulsets: [],
    horizontalpodautoscalers: [],
  });
  play(api, PODS.length, since);
  return api;
}

/** What the Deployment's controller and the scheduler make of its size. */
export function play(api: KubernetesApi, replicas: number, since: number): void {
  api.objects['pods'] = PODS.slice(0, replicas).map((name, n) => pod(name, n + 1, since));
  api.edit('deployments', 'chat', ({ metadata, status }) =>
    Object.assign(status ?? {}, { observedGeneration: metadata.generation, replicas, readyReplicas: replicas }),
  );
}
