/**
 * Moves on Kubernetes through the official client: a job is suspended, waits for its last pod, and is resumed with another
 * node selector; a Deployment has its template changed. Each step is one write, and the token says what became of it.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { effectOf } from '../../src/core/action/acting.js';
import { progressOf } from '../../src/core/action/action.js';
import { inverseOf, type Effect, type FleetTarget, type Move } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider } from '../../src/providers/kubernetes/kubernetes.js';
import { KubernetesApi, type KubernetesObject } from '../support/kubernetes-api.js';

const NOW = Date.UTC(2026, 9, 20, 12);
const BORN = '2026-10-20T09:00:00Z';
const [REGION, ZONE, CAPACITY] = [
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'karpenter.sh/capacity-type',
];

let api: KubernetesApi;
beforeEach(async () => {
  api = await KubernetesApi.start();
  Object.assign(api.objects, {
    nodes: [node('a', 'us-east-1a', 'on-demand'), node('b', 'us-east-1b', 'spot')],
    jobs: [object('Job', 'embed', { template: template() }, { active: 1, startTime: BORN })],
    rayjobs: [
      object(
        'RayJob',
        'tune',
        {
          shutdownAfterJobFinishes: true,
          rayClusterSpec: {
            headGroupSpec: { template: { spec: { containers: [{ name: 'head' }] } } },
            workerGroupSpecs: [{ groupName: 'gpu', replicas: 3, template: template() }],
          },
        },
        { jobDeploymentStatus: 'Running', rayClusterName: 'tune-cluster' },
      ),
    ],
    pytorchjobs: [
      object(
        'PyTorchJob',
        'finetune',
        { runPolicy: {}, pytorchReplicaSpecs: { Master: { template: template() }, Worker: { template: template() } } },
        { replicaStatuses: { Master: { active: 1 } } },
      ),
    ],
    deployments: [
      object(
        'Deployment',
        'trainer',
        { replicas: 1, selector: { matchLabels: { app: 'trainer' } }, template: template() },
        { observedGeneration: 1, replicas: 1, readyReplicas: 1 },
      ),
    ],
    pods: [
      pod('embed-1', 'Job', 'embed'),
      pod('tune-1', 'RayCluster', 'tune-cluster'),
      pod('finetune-1', 'PyTorchJob', 'finetune'),
      { ...pod('trainer-5d4-1', 'ReplicaSet', 'trainer-5d4') },
    ],
  });
  api.one('pods', 'trainer-5d4-1').metadata.labels = { app: 'trainer' };
});
afterEach(() => api.wire.close());

const template = (): Record<string, unknown> => ({
  spec: { containers: [{ name: 'main', resources: { limits: { 'nvidia.com/gpu': '4' } } }] },
});

function node(name: string, zone: string, capacity: string): KubernetesObject {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      labels: {
        [REGION]: 'us-east-1',
        [ZONE]: zone,
        [CAPACITY]: capacity,
        'node.kubernetes.io/instance-type': 'p4d.24xlarge',
      },
    },
    spec: { providerID: `aws:///${zone}/i-${name}` },
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { 'nvidia.com/gpu': '8' } },
  };
}

const object = (
  kind: string,
  name: string,
  spec: KubernetesObject['spec'],
  status: Record<string, unknown>,
): KubernetesObject => ({
  metadata: {
    name,
    namespace: 'ml',
    uid: `uid-${kind}-${name}`,
    resourceVersion: '7',
    generation: 1,
    creationTimestamp: BORN,
  },
  spec,
  status,
});

const pod = (name: string, kind: string, owner: string): KubernetesObject => ({
  metadata: {
    name,
    namespace: 'ml',
    uid: `uid-${name}`,
    resourceVersion: '9',
    ownerReferences: [{ apiVersion: 'v1', kind, name: owner, uid: 'u', controller: true }],
  },
  spec: { ...(template()['spec'] as Record<string, unknown>), nodeName: 'a' },
  status: { phase: 'Running' },
});

function connect(): Required<ProviderConnection> {
  return provider.connect(
    {
      BURSAR_KUBERNETES_SERVER: api.wire.url,
      BURSAR_KUBERNETES_TOKEN: 'token-for-reading',
      BURSAR_KUBERNETES_ACT_TOKEN: 'token-for-acting',
    },
    { now: () => NOW },
  ) as Required<ProviderConnection>;
}
const seen = async (target: string): Promise<FleetTarget> => (await connect().target(target))!;
const act = async (effect: Effect, token = 'token-1') => connect().apply(effect, token, await seen(effect.target));
const move = (target: string, over: Partial<Move> = {}): Move => ({
  kind: 'move',
  target,
  region: 'us-east-1',
  zone: 'us-east-1b',
  term: 'spot',
  sku: null,
  ...over,
});
const bodies = (): Record<string, unknown>[] =>
  api.writes.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const endPods = (): void => void (api.objects['pods'] = []);
const SELECTOR = { [REGION]: 'us-east-1', [ZONE]: 'us-east-1b', [CAPACITY]: 'spot' };

describe('a target', () => {
  it('says where it runs and where its scheduler can start it, in a list and alone', async () => {
    const { targets } = await connect().fleet();
    const places = [
      { region: 'us-east-1', zone: 'us-east-1a' },
      { region: 'us-east-1', zone: 'us-east-1b' },
    ];
    for (const name of ['job/ml/embed', 'rayjob/ml/tune', 'pytorchjob/ml/finetune', 'deployment/ml/trainer']) {
      const of = { zone: 'us-east-1a', region: 'us-east-1', term: 'on-demand', movesTo: places };
      expect(targets.find(({ target }) => target === name)).toMatchObject(of);
      expect(await seen(name)).toMatchObject(of);
    }
  });

  it('becomes an effect where it can be started, and steps for a person where it cannot', async () => {
    const job = await seen('job/ml/embed');
    const to = (over: object) => effectOf({ action: 'MoveToSpot', change: { provider: 'AWS', ...over } }, job);
    expect(to({ region: 'us-east-1', zone: 'us-east-1b', sku: 'p4d.24xlarge' })).toEqual({
      effect: move('job/ml/embed'),
    });
    // To another term where it is.
    expect(effectOf({ action: 'MoveToSpot', change: { term: 'spot' } }, job)).toEqual({
      effect: move('job/ml/embed', { zone: 'us-east-1a' }),
    });
    for (const elsewhere of [
      { region: 'us-west-2', sendsGb: 120 },
      { region: 'us-east-1', provider: 'Google Cloud' },
    ])
      expect(to(elsewhere)).toMatchObject({ obstacle: { code: 'by-hand' } });
    expect(to({ region: 'us-west-2', sendsGb: 120 })).toMatchObject({
      obstacle: {
        message: expect.stringContaining(
          'no connection here starts job/ml/embed in AWS us-west-2: let it write its checkpoint, stop it, copy its 120 GB there, and start it there (spot)',
        ),
      },
    });
  });
});

describe('a job', () => {
  it('is suspended, waits for its last pod, and is resumed in the other zone', async () => {
    const effect = move('job/ml/embed');
    const before = await seen('job/ml/embed');
    expect(await act(effect)).toMatchObject({ kind: 'half-done' });
    expect(bodies()).toMatchObject([
      { spec: { suspend: true }, metadata: { annotations: { 'bursar.io/moving': 'token-1' } } },
    ]);
    expect(await connect().outcome(effect, 'token-1')).toMatchObject({ kind: 'half-done' });
    // Its pods write their checkpoint: nothing more is sent.
    expect(await act(effect)).toMatchObject({ kind: 'half-done' });
    expect(api.writes).toHaveLength(1);
    endPods();
    api.edit('jobs', 'embed', (one) => (one.status = { startTime: BORN }));
    expect(await act(effect)).toMatchObject({ kind: 'taken', detail: 'resumed in us-east-1b' });
    const [, cleared, resumed] = bodies();
    expect([cleared, api.writes[1]?.path]).toEqual([
      { status: { startTime: null } },
      expect.stringMatching(/jobs\/embed\/status/),
    ]);
    expect(resumed).toMatchObject({ spec: { suspend: false, template: { spec: { nodeSelector: SELECTOR } } } });
    expect(api.one('jobs', 'embed').metadata.annotations).toEqual({ 'bursar.io/last-token': 'token-1' });
    // The same again sends nothing.
    expect(await act(effect)).toMatchObject({ kind: 'taken' });
    expect(api.writes).toHaveLength(3);
    expect(await connect().outcome(effect, 'token-1')).toMatchObject({ kind: 'taken' });
    expect(await connect().outcome(effect, 'token-2')).toEqual({ kind: 'absent' });
    expect(progressOf(effect, await seen('job/ml/embed'))).toBe('waiting');
    api.edit('jobs', 'embed', (one) => (one.status = { active: 1 }));
    expect(progressOf(effect, await seen('job/ml/embed'))).toBe('done');
    expect(inverseOf(effect, before)).toEqual(move('job/ml/embed', { zone: 'us-east-1a', term: 'on-demand' }));
  });

  it.each([
    ['pytorchjob/ml/finetune', 'pytorchjobs', 'finetune'],
    ['rayjob/ml/tune', 'rayjobs', 'tune'],
  ])('%s: every template with GPUs is moved, and no other', async (target, kind, name) => {
    expect(await act(move(target))).toMatchObject({ kind: 'half-done' });
    endPods();
    expect(await act(move(target))).toMatchObject({ kind: 'taken' });
    const { spec } = api.one(kind, name);
    const text = JSON.stringify(spec);
    expect(text.match(/nodeSelector/g)).toHaveLength(kind === 'rayjobs' ? 1 : 2);
    expect(text).toContain(JSON.stringify(SELECTOR));
    if (kind === 'rayjobs')
      expect(spec).toMatchObject({
        suspend: false,
        rayClusterSpec: { workerGroupSpecs: [{ groupName: 'gpu', replicas: 3 }] },
      });
    else expect(spec).toMatchObject({ runPolicy: { suspend: false } });
  });

  it('takes away the selectors of the old zone and term, and back again', async () => {
    await act(move('pytorchjob/ml/finetune'));
    endPods();
    await act(move('pytorchjob/ml/finetune'));
    const back = move('pytorchjob/ml/finetune', { zone: null, term: 'on-demand' });
    await act(back, 'token-2');
    await act(back, 'token-2');
    const { pytorchReplicaSpecs } = api.one('pytorchjobs', 'finetune').spec as {
      pytorchReplicaSpecs: Record<string, { template: { spec: { nodeSelector: object } } }>;
    };
    expect(pytorchReplicaSpecs['Master']?.template.spec.nodeSelector).toEqual({
      [REGION]: 'us-east-1',
      [CAPACITY]: 'on-demand',
    });
  });

  it.each<readonly [string, Move, () => void, string]>([
    ['a zone without a node', move('job/ml/embed', { zone: 'us-east-1f' }), () => undefined, 'no-node'],
    ['a region without a node', move('job/ml/embed', { region: 'eu-west-1', zone: null }), () => undefined, 'no-node'],
    [
      'nodes that do not say how they are bought',
      move('job/ml/embed'),
      () => api.objects['nodes']!.forEach(({ metadata }) => delete metadata.labels![CAPACITY]),
      'no-capacity-label',
    ],
    [
      'a template that is kept in a pool',
      move('job/ml/embed'),
      () => pinned({ 'karpenter.sh/nodepool': 'gpu' }),
      'pinned',
    ],
    [
      'a job that Kueue runs',
      move('job/ml/embed'),
      () => (api.one('jobs', 'embed').metadata.labels = { 'kueue.x-k8s.io/queue-name': 'q' }),
      'owned',
    ],
    [
      'a job that somebody has suspended',
      move('job/ml/embed'),
      () => (api.one('jobs', 'embed').spec['suspend'] = true),
      'suspended',
    ],
    [
      'a job that has ended',
      move('job/ml/embed'),
      () => (api.one('jobs', 'embed').status = { conditions: [{ type: 'Complete', status: 'True' }] }),
      'ended',
    ],
  ])('is refused for %s, before anything is written', async (_, effect, given, code) => {
    given();
    expect(await connect().apply(effect, 'token-1', null)).toMatchObject({ kind: 'refused', code });
    expect(api.writes).toEqual([]);
  });

  it('goes on from the reading before its first step, which that step has overtaken', async () => {
    const before = await seen('job/ml/embed');
    const effect = move('job/ml/embed');
    expect(await connect().apply(effect, 'token-1', before)).toMatchObject({ kind: 'half-done' });
    api.edit('jobs', 'embed', ({ metadata }) => (metadata.generation = 2));
    endPods();
    expect(await connect().apply(effect, 'token-1', before)).toMatchObject({ kind: 'taken' });
  });

  it('is resumed where it was if the other place has gone meanwhile', async () => {
    const effect = move('job/ml/embed');
    await act(effect);
    endPods();
    api.objects['nodes'] = api.objects['nodes']!.filter(({ metadata }) => metadata.name === 'a');
    expect(await act(effect)).toMatchObject({
      kind: 'refused',
      code: 'no-node',
      detail: expect.stringContaining('the job was resumed where it was'),
    });
    const { spec, metadata } = api.one('jobs', 'embed');
    expect([spec['suspend'], metadata.annotations]).toEqual([false, {}]);
    expect(JSON.stringify(spec)).not.toContain('nodeSelector');
  });

  it('is not suspended a second time where somebody has resumed it', async () => {
    const effect = move('job/ml/embed');
    await act(effect);
    api.edit('jobs', 'embed', ({ spec }) => (spec['suspend'] = false));
    expect(await act(effect)).toMatchObject({ kind: 'refused', code: 'resumed' });
    expect(api.writes).toHaveLength(1);
  });

  it('has not arrived while its pods wait for a node, as with a volume bound to the old zone', async () => {
    const effect = move('job/ml/embed');
    await act(effect);
    endPods();
    await act(effect);
    const waiting = pod('embed-2', 'Job', 'embed');
    delete waiting.spec['nodeName'];
    waiting.status = { phase: 'Pending' };
    api.objects['pods'] = [waiting];
    api.edit('jobs', 'embed', (one) => (one.status = { active: 1 }));
    expect(progressOf(effect, await seen('job/ml/embed'))).toBe('waiting');
    waiting.spec['nodeName'] = 'b';
    expect(progressOf(effect, await seen('job/ml/embed'))).toBe('done');
  });

  it('is refused where it was changed since it was read', async () => {
    const before = await seen('job/ml/embed');
    api.edit('jobs', 'embed', ({ metadata }) => (metadata.generation = 5));
    expect(await connect().apply(move('job/ml/embed'), 'token-1', before)).toMatchObject({ code: 'changed' });
  });
});

it('a Deployment is moved by one patch of its template', async () => {
  const effect = move('deployment/ml/trainer');
  expect(await act(effect)).toMatchObject({ kind: 'taken' });
  expect(bodies()).toMatchObject([{ spec: { template: { spec: { nodeSelector: SELECTOR } } } }]);
  expect(await act(effect)).toMatchObject({ kind: 'taken' });
  expect(api.writes).toHaveLength(1);
});

it('a Deployment has not arrived while a pod of it runs at the old place', async () => {
  const effect = move('deployment/ml/trainer');
  await act(effect);
  expect(progressOf(effect, await seen('deployment/ml/trainer'))).toBe('waiting');
  const next = pod('trainer-6f1-1', 'ReplicaSet', 'trainer-6f1');
  next.metadata.labels = { app: 'trainer' };
  next.spec['nodeName'] = 'b';
  api.objects['pods']!.push(next);
  expect(progressOf(effect, await seen('deployment/ml/trainer'))).toBe('waiting');
  api.objects['pods'] = [next];
  expect(progressOf(effect, await seen('deployment/ml/trainer'))).toBe('done');
});

it('a StatefulSet with volumes of its own stays in their zone', async () => {
  const set = object(
    'StatefulSet',
    'store',
    { replicas: 1, selector: { matchLabels: { app: 'store' } }, template: template(), volumeClaimTemplates: [{}] },
    { observedGeneration: 1, replicas: 1, readyReplicas: 1 },
  );
  const own = pod('store-0', 'StatefulSet', 'store');
  own.metadata.labels = { app: 'store' };
  api.objects['statefulsets'] = [set];
  api.objects['pods']!.push(own);
  expect(await act(move('statefulset/ml/store'))).toMatchObject({ kind: 'refused', code: 'volumes' });
  expect(await act(move('statefulset/ml/store', { zone: 'us-east-1a' }))).toMatchObject({ kind: 'taken' });
});

function pinned(nodeSelector: Record<string, string>): void {
  const { template: of } = api.one('jobs', 'embed').spec as { template: { spec: Record<string, unknown> } };
  of.spec['nodeSelector'] = nodeSelector;
}
