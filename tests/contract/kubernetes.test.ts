/**
 * The kubernetes provider through the official client, before an API server of the test's own: what is sent, and what
 * is made of the answers.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { undeclared } from '../../src/parts.js';
import { provider } from '../../src/providers/kubernetes/kubernetes.js';
import { KubernetesApi, refusal, reply, type KubernetesObject } from '../support/kubernetes-api.js';
import type { WireRequest } from '../support/wire-server.js';
import { describeProviderContract } from './contract.js';
import { metered } from '../support/records.js';

const NOW = Date.UTC(2026, 9, 20, 12);
const clock = { now: () => NOW };
const LAST_TOKEN = 'bursar.io/last-token';

let api: KubernetesApi;
beforeEach(async () => {
  api = await KubernetesApi.start();
});
afterEach(() => api.wire.close());

const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  BURSAR_KUBERNETES_SERVER: api.wire.url,
  BURSAR_KUBERNETES_TOKEN: 'token-for-reading',
  BURSAR_KUBERNETES_CLUSTER: 'east',
  BURSAR_KUBERNETES_ACCOUNT: '123456789012',
  ...more,
});
function connect(more: Record<string, string> = {}): Required<ProviderConnection> {
  const connection = provider.connect(settings({ BURSAR_KUBERNETES_ACT_TOKEN: 'token-for-acting', ...more }), clock);
  if (connection === null) throw new Error('it is not connected');
  return connection as Required<ProviderConnection>;
}
/** Reads the target and applies the effect to it, as the line does. */
async function act(effect: Effect, token = 'token-1', connection = connect()): Promise<unknown> {
  return connection.apply(effect, token, await connection.target(effect.target));
}
const bodyOf = (request: WireRequest | undefined): unknown => JSON.parse(request?.body ?? 'null');
const lineOf = ({ method, path: url }: WireRequest): string => `${method} ${url}`;

describeProviderContract('kubernetes', () => ({
  connection: connect(),
  readOnly: provider.connect(settings(), clock) as ProviderConnection,
  effect: { kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 },
  now: clock.now,
  appliedCount: api.appliedCount,
  loseNextAnswer: (arrives) => (api.losing = arrives ? 'answer' : 'request'),
  metered: { from: Date.UTC(2026, 9, 20, 9), to: Date.UTC(2026, 9, 20, 11) },
}));

describe('fleet', () => {
  it('is asked for in pages, with the token for reading, and holds what the replies hold', async () => {
    api.pageItems = 2;
    const connection = connect();
    expect([connection.name, connection.account, connection.canAct, undeclared(provider, connection)]).toEqual([
      'kubernetes:east',
      '123456789012',
      true,
      [],
    ]);
    const { targets, complete, at } = await connection.fleet();
    expect([complete, at]).toEqual([true, NOW]);
    expect(api.wire.requests.map(lineOf)).toEqual([
      'GET /api/v1/nodes?limit=500',
      'GET /api/v1/nodes?continue=2&limit=500',
      'GET /apis/autoscaling/v2/horizontalpodautoscalers?limit=500',
      'GET /apis/apps/v1/deployments?limit=500',
      'GET /apis/apps/v1/deployments?continue=2&limit=500',
      'GET /apis/apps/v1/statefulsets?limit=500',
      'GET /api/v1/nodes?limit=1',
      'GET /api/v1/pods?limit=500',
      'GET /api/v1/pods?continue=2&limit=500',
      'GET /api/v1/pods?continue=4&limit=500',
      'GET /api/v1/pods?continue=6&limit=500',
      'GET /apis/batch/v1/jobs?limit=500',
      'GET /apis/ray.io/v1/rayjobs?limit=500',
      'GET /apis/kubeflow.org/v1/pytorchjobs?limit=500',
      'GET /api/v1/namespaces/ml/pods?labelSelector=app%3Dnotebook&limit=500',
    ]);
    expect(new Set(api.wire.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(['Bearer token-for-reading']),
    );
    // A revision is what is set, in sixteen characters; a pool is nobody's object.
    for (const { kind, revision } of targets)
      expect(revision ?? 'none').toMatch(kind === 'node-pool' ? /^none$/ : /^[0-9a-f]{16}$/);
    expect(Object.fromEntries(targets.map(({ target, knownAs }) => [target, knownAs]))).toMatchObject({
      'deployment/ml/trainer': ['pod/ml/trainer-5d9f7c6b8-aaaaa'],
      'node/gpu-a': ['gpu-a', 'i-0aaaaaaaaaaaaaaaa'],
    });
    const shown = targets.map(({ target, kind, gpus, gpuModel, sku, term, state, replicas }) => [
      target,
      kind,
      gpus,
      gpuModel,
      sku,
      term,
      state,
      replicas === null ? null : Object.values(replicas).join(' '),
    ]);
    expect(shown).toEqual([
      // Where a workload does not say what it runs on, its pods' nodes do.
      ['deployment/ml/trainer', 'workload', 2, 'A100-40GB', 'p4d.24xlarge', 'spot', 'running', '4 3  '],
      ['deployment/serving/chat', 'workload', 0.143, 'A100-40GB', 'p4d.24xlarge', 'on-demand', 'running', '3 3 2 10'],
      ['deployment/ml/notebook', 'workload', 1, null, null, null, 'stopped', '0 0  '],
      ['statefulset/ml/vector-store', 'workload', 0, null, null, null, 'running', '1 1  '],
      ['node/gpu-a', 'instance', 8, 'A100-40GB', 'p4d.24xlarge', 'spot', 'running', null],
      ['node/gpu-b', 'instance', 1, 'A100-40GB', 'p4d.24xlarge', 'on-demand', 'running', null],
      ['node/cpu-c', 'instance', 0, null, 'm6i.xlarge', 'on-demand', 'unknown', null],
      ['node-pool/a100', 'node-pool', 8, 'A100-40GB', 'p4d.24xlarge', 'spot', 'running', '1 1  '],
      ['node-pool/mig', 'node-pool', 1, 'A100-40GB', 'p4d.24xlarge', 'on-demand', 'running', '1 1  '],
      ['node-pool/system', 'node-pool', 0, null, 'm6i.xlarge', 'on-demand', 'unknown', '1 0  '],
    ]);
    expect(targets[0]).toMatchObject({
      provider: 'AWS',
      account: '123456789012',
      labels: { app: 'trainer', team: 'research' },
      launchedAt: Date.UTC(2026, 9, 2),
      billing: 'billed',
    });
    expect(targets[4]).toMatchObject({ region: 'us-east-1', billing: 'unknown' });
    expect(
      targets.filter(({ labels }) => labels['node.kubernetes.io/unschedulable'] === 'true').map(({ name }) => name),
    ).toEqual(['gpu-b']);
  });

  it('begins a list anew that expires on the way, and lists each target once', async () => {
    api.pageItems = 2;
    const expired = {
      status: 410,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(reply('status-expired')),
    };
    let times = 0;
    api.wire.on(({ path: url }) => url.startsWith('/apis/apps/v1/deployments?continue') && times++ < 2, expired);
    const { targets, complete } = await connect().fleet();
    expect(complete).toBe(true);
    expect(targets.map(({ target }) => target).filter((target) => target.startsWith('deployment/'))).toEqual([
      'deployment/ml/trainer',
      'deployment/serving/chat',
      'deployment/ml/notebook',
    ]);
    expect(api.wire.requests.filter(({ path: url }) => url === '/apis/apps/v1/deployments?limit=500')).toHaveLength(3);
    api.wire.on(({ path: url }) => url.includes('continue'), expired);
    await expect(connect().fleet()).resolves.toMatchObject({
      complete: false,
      problems: ['list nodes', 'list deployments.apps', 'list pods'].map((asked) => expect.stringContaining(asked)),
    });
  });

  it('says which kinds it may not read; where it may read none it fails by verb and resource', async () => {
    const forbidden = {
      status: 403,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(reply('status-forbidden')),
    };
    api.wire.on(({ path: url }) => url.includes('/deployments'), forbidden);
    const { complete, problems, targets } = await connect().fleet();
    expect([complete, problems]).toEqual([false, ['the credentials may not list deployments.apps']]);
    expect(targets.some(({ target }) => target === 'statefulset/ml/vector-store')).toBe(true);
    api.wire.on(() => true, forbidden);
    await expect(connect().fleet()).rejects.toMatchObject({
      kind: 'denied',
      message: 'the credentials may not list nodes',
    });
    api.wire.on(() => true, refusal(401, 'Unauthorized'));
    await expect(connect().target('node/gpu-a')).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('(401)'),
    });
  });

  it.each([429, 500, 503])('takes HTTP %i for unavailable', async (status) => {
    api.wire.on(() => true, refusal(status, 'Busy'));
    await expect(connect().fleet()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('takes a server that is not there, or does not answer in time, for unavailable', async () => {
    const slow = connect({ BURSAR_KUBERNETES_TIMEOUT_SECONDS: '0.1' });
    api.wire.on(() => true, { delayMilliseconds: 1000 });
    await expect(slow.target('node/gpu-a')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('timeout'),
    });
    const connection = connect();
    await api.wire.close();
    await expect(connection.fleet()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    api = await KubernetesApi.start();
  });

  it('sees a stopped workload as stopped only when its last pod has gone', async () => {
    const stopped = (): Promise<FleetTarget | null> => connect().target('deployment/ml/notebook');
    expect(await stopped()).toMatchObject({ state: 'stopped', billing: 'ended' });
    api.edit('pods', 'waiting-z9y8x', ({ metadata }) =>
      Object.assign(metadata, { labels: { app: 'notebook' }, deletionTimestamp: '2026-10-20T11:59:59Z' }),
    );
    expect(await stopped()).toMatchObject({ state: 'stopping', billing: 'billed' });
    api.edit('deployments', 'trainer', (one) => (one.metadata.generation = 4));
    expect(await connect().target('deployment/ml/trainer')).toMatchObject({ replicas: { desired: 4, ready: 3 } });
    api.edit('deployments', 'trainer', (one) => delete one.status);
    expect(await connect().target('deployment/ml/trainer')).toMatchObject({
      replicas: { desired: 4, ready: null },
      state: 'unknown',
    });
  });

  it('reads a pod by name, and by uid only that one', async () => {
    const name = 'pod/ml/trainer-5d9f7c6b8-aaaaa';
    expect(await connect().target(name)).toMatchObject({
      target: name,
      kind: 'instance',
      gpus: 2,
      gpuModel: 'A100-40GB',
      sku: 'p4d.24xlarge',
      state: 'running',
      billing: 'billed',
    });
    expect(await connect().target(`${name}@0b000000-0000-4000-8000-000000000001`)).not.toBeNull();
    expect(await connect().target(`${name}@0b000000-0000-4000-8000-000000000099`)).toBeNull();
    expect(await connect().target('pod/serving/chat-7c9d8f6b5-bbbbb')).toMatchObject({
      state: 'stopping',
      gpus: 0.143,
    });
    expect(await connect().target('pod/ml/finetune-x7k2p')).toMatchObject({ state: 'stopped', billing: 'ended' });
  });
});

describe('scaling', () => {
  it('is one merge patch with token, size and version, sent with the token for acting', async () => {
    expect(await act({ kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 })).toEqual({
      kind: 'taken',
      reference: null,
      detail: '2 replicas',
    });
    expect(api.writes.map(lineOf)).toEqual([
      'PATCH /apis/apps/v1/namespaces/ml/deployments/trainer?fieldManager=bursar',
    ]);
    const [write] = api.writes;
    expect(write?.headers).toMatchObject({
      authorization: 'Bearer token-for-acting',
      'content-type': 'application/merge-patch+json',
    });
    expect(bodyOf(write)).toEqual({
      metadata: {
        resourceVersion: '7001',
        annotations: { [LAST_TOKEN]: 'token-1', 'bursar.io/replicas-before': null },
      },
      spec: { replicas: 2 },
    });
    expect(api.one('deployments', 'trainer').spec['replicas']).toBe(2);
  });

  it('is refused where the target has changed since it was read, and changes nothing', async () => {
    const connection = connect();
    const effect = { kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 } as const;
    const before = await connection.target(effect.target);
    api.edit('deployments', 'trainer', ({ spec }) => (spec['replicas'] = 6));
    expect(await connection.apply(effect, 'token-1', before)).toMatchObject({ kind: 'refused', code: 'changed' });
    expect(api.writes).toEqual([]);
    // Between the last look and the write: the server itself refuses.
    api.meanwhile = () => api.edit('deployments', 'trainer', ({ spec }) => (spec['replicas'] = 7));
    expect(await act(effect)).toMatchObject({ kind: 'refused', code: 'changed' });
    expect(api.one('deployments', 'trainer').spec['replicas']).toBe(7);
    expect(await connection.outcome(effect, 'token-1')).toEqual({ kind: 'absent' });
  });

  it('is not refused because its status has moved meanwhile: then it is read again, and written once', async () => {
    const connection = connect();
    const effect = { kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 } as const;
    const before = await connection.target(effect.target);
    const moves = (): void =>
      api.edit('deployments', 'trainer', (one) => (one.status = { ...one.status, replicas: 3 }));
    moves();
    api.meanwhile = moves;
    expect(await connection.apply(effect, 'token-1', before)).toMatchObject({ kind: 'taken' });
    expect(api.writes).toHaveLength(2);
    expect(api.appliedCount('token-1')).toBe(1);
    api.meanwhile = () => api.edit('nodes', 'gpu-a', (one) => (one.status = { ...one.status, phase: 'Running' }));
    expect(await act({ kind: 'cordon', target: 'node/gpu-a', cordoned: true }, 'token-2')).toMatchObject({
      kind: 'taken',
    });
    expect(api.appliedCount('token-2')).toBe(1);
    // A label that protects is somebody's word, and no status.
    const seen = await connection.target(effect.target);
    api.edit('deployments', 'trainer', ({ metadata }) => (metadata.labels = { 'bursar.io/protected': 'true' }));
    expect(await connection.apply({ ...effect, replicas: 1 }, 'token-3', seen)).toMatchObject({
      kind: 'refused',
      code: 'changed',
    });
  });

  it('that a rule of the cluster refuses is an answer, not a missing permission and not an unknown outcome', async () => {
    const scale = { kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 } as const;
    const saying = (code: number, reason: string, message: string): void =>
      api.wire.on(({ method }) => method === 'PATCH', refusal(code, reason, message));
    const cases: readonly [number, string, string, object][] = [
      [
        403,
        'Forbidden',
        'deployments.apps "trainer" is forbidden: exceeded quota: gpus',
        { kind: 'refused', code: 'Forbidden' },
      ],
      [
        403,
        'Forbidden',
        'admission webhook "policy.example" denied the request: never on Fridays',
        { kind: 'refused' },
      ],
      [500, 'InternalError', 'Internal error occurred: failed calling webhook "policy.example"', { kind: 'refused' }],
      [500, 'InternalError', 'etcdserver: request timed out', { kind: 'unknown' }],
    ];
    for (const [code, reason, message, expected] of cases) {
      saying(code, reason, message);
      expect([message, await act(scale)]).toEqual([message, expect.objectContaining(expected)]);
    }
    saying(403, 'Forbidden', 'User "actor" cannot patch resource "deployments" in API group "apps"');
    await expect(act(scale)).rejects.toMatchObject({ kind: 'denied' });
  });

  it.each<
    [string, (metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }) => object, string]
  >([
    [
      'Argo CD',
      () => ({ annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:ml/trainer' } }),
      'shop',
    ],
    ['Flux', () => ({ labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }), 'apps'],
    ['Helm', () => ({ annotations: { 'meta.helm.sh/release-name': 'chat' } }), 'chat'],
    ['Argo CD', () => ({ managedFields: [{ manager: 'argocd-controller', operation: 'Apply' }] }), 'its source'],
  ])('tells that %s keeps an object as its source says', async (tool, marks, source) => {
    expect((await connect().target('deployment/ml/trainer'))?.managedBy).toBeUndefined();
    api.edit('deployments', 'trainer', ({ metadata }) => void Object.assign(metadata, marks(metadata)));
    expect((await connect().target('deployment/ml/trainer'))?.managedBy).toEqual([
      `${tool} keeps it as ${source} says`,
    ]);
  });

  it('of a request that arrives after all and its repetition takes hold once', async () => {
    api.meanwhile = () =>
      api.edit('deployments', 'trainer', ({ metadata, spec }) => {
        metadata.annotations = { [LAST_TOKEN]: 'token-1' };
        spec['replicas'] = 2;
      });
    expect(await act({ kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 })).toMatchObject({ kind: 'taken' });
    expect(api.writes).toHaveLength(1);
  });

  it('stops to nothing, notes the size, and starts at that size again', async () => {
    await act({ kind: 'stop', target: 'deployment/ml/trainer' });
    expect(bodyOf(api.writes[0])).toMatchObject({
      metadata: { annotations: { 'bursar.io/replicas-before': '4' } },
      spec: { replicas: 0 },
    });
    await act({ kind: 'stop', target: 'deployment/ml/trainer' }, 'token-2');
    expect(api.one('deployments', 'trainer').metadata.annotations).toEqual({
      [LAST_TOKEN]: 'token-2',
      'bursar.io/replicas-before': '4',
    });
    await act({ kind: 'start', target: 'deployment/ml/trainer' }, 'token-3');
    expect(api.one('deployments', 'trainer')).toMatchObject({
      spec: { replicas: 4 },
      metadata: { annotations: { [LAST_TOKEN]: 'token-3' } },
    });
    expect(api.one('deployments', 'trainer').metadata.annotations).not.toHaveProperty('bursar.io/replicas-before');
    api.edit('deployments', 'notebook', ({ metadata }) => delete metadata.annotations);
    expect(await act({ kind: 'start', target: 'deployment/ml/notebook' })).toMatchObject({
      kind: 'refused',
      code: 'no-former-size',
    });
  });

  it('of a StatefulSet goes to the StatefulSet', async () => {
    await act({ kind: 'scale', target: 'statefulset/ml/vector-store', replicas: 3 });
    expect(api.writes.map(lineOf)).toEqual([
      'PATCH /apis/apps/v1/namespaces/ml/statefulsets/vector-store?fieldManager=bursar',
    ]);
  });

  it('pins an autoscaler, which would undo anything else; set-bounds frees it; 0 pauses it', async () => {
    const chat = 'deployment/serving/chat';
    expect(await connect().target(chat)).toMatchObject({ followedBy: 'the HorizontalPodAutoscaler chat' });
    expect(await act({ kind: 'scale', target: chat, replicas: 4 })).toMatchObject({
      kind: 'taken',
      detail: 'pinned to 4 replicas (bounds before: 2-10)',
    });
    expect(api.writes.map(lineOf)).toEqual([
      'PATCH /apis/autoscaling/v2/namespaces/serving/horizontalpodautoscalers/chat?fieldManager=bursar',
    ]);
    expect(bodyOf(api.writes[0])).toEqual({
      metadata: {
        resourceVersion: '8001',
        annotations: { [LAST_TOKEN]: 'token-1', 'bursar.io/bounds-before': '2-10' },
      },
      spec: { minReplicas: 4, maxReplicas: 4 },
    });
    const pinned = await connect().target(chat);
    expect(pinned).toMatchObject({ replicas: { min: 4, max: 4 } });
    expect(pinned).not.toHaveProperty('followedBy');
    expect(await connect().outcome({ kind: 'scale', target: chat, replicas: 4 }, 'token-1')).toMatchObject({
      kind: 'taken',
    });
    await act({ kind: 'scale', target: chat, replicas: 5 }, 'token-2');
    expect(api.one('horizontalpodautoscalers', 'chat').metadata.annotations).toEqual({
      [LAST_TOKEN]: 'token-2',
      'bursar.io/bounds-before': '2-10',
    });
    await act({ kind: 'set-bounds', target: chat, min: 2, max: 10 }, 'token-3');
    expect(api.one('horizontalpodautoscalers', 'chat')).toMatchObject({
      metadata: { annotations: { [LAST_TOKEN]: 'token-3' } },
      spec: { minReplicas: 2, maxReplicas: 10 },
    });
    await act({ kind: 'scale', target: chat, replicas: 0 }, 'token-4');
    expect(api.one('deployments', 'chat')).toMatchObject({
      metadata: { annotations: { 'bursar.io/replicas-before': '3' } },
      spec: { replicas: 0 },
    });
    expect(await act({ kind: 'scale', target: chat, replicas: 11 }, 'token-5')).toMatchObject({
      kind: 'refused',
      code: 'outside-bounds',
    });
    await act({ kind: 'scale', target: chat, replicas: 3 }, 'token-6');
    expect(api.one('deployments', 'chat').spec['replicas']).toBe(3);
  });

  it('is refused where it cannot hold: no autoscaler, one that belongs to another, bounds that are none', async () => {
    expect(await act({ kind: 'set-bounds', target: 'deployment/ml/trainer', min: 1, max: 2 })).toMatchObject({
      kind: 'refused',
      code: 'no-autoscaler',
    });
    expect(await act({ kind: 'set-bounds', target: 'deployment/serving/chat', min: 5, max: 2 })).toMatchObject({
      kind: 'refused',
      code: 'invalid',
    });
    api.edit(
      'horizontalpodautoscalers',
      'chat',
      ({ metadata }) => (metadata.ownerReferences = [{ kind: 'ScaledObject', name: 'chat', controller: true }]),
    );
    expect(await act({ kind: 'scale', target: 'deployment/serving/chat', replicas: 4 })).toMatchObject({
      kind: 'refused',
      code: 'owned',
      detail: expect.stringContaining('ScaledObject chat'),
    });
    expect(await act({ kind: 'resize', target: 'deployment/ml/trainer', sku: 'p5.48xlarge' })).toMatchObject({
      kind: 'refused',
      code: 'not-supported',
    });
    expect(await act({ kind: 'scale', target: 'node-pool/a100', replicas: 2 })).toMatchObject({
      kind: 'refused',
      code: 'not-supported',
    });
    expect(await act({ kind: 'scale', target: 'deployment/ml/nobody', replicas: 2 })).toMatchObject({
      kind: 'refused',
      code: 'missing',
    });
    expect(api.writes).toEqual([]);
  });

  it('fails where nothing was sent or done, by verb and resource, and is unknown where it may have been', async () => {
    const effect = { kind: 'scale', target: 'deployment/ml/trainer', replicas: 2 } as const;
    const isWrite = ({ method }: WireRequest): boolean => method === 'PATCH';
    api.wire.on(isWrite, refusal(403, 'Forbidden'));
    await expect(act(effect)).rejects.toMatchObject({
      kind: 'denied',
      message: 'the credentials may not patch deployments.apps ml/trainer',
    });
    api.wire.on(isWrite, refusal(429, 'TooManyRequests'));
    await expect(act(effect)).rejects.toMatchObject({ kind: 'unavailable' });
    api.wire.on(isWrite, refusal(500, 'InternalError'));
    expect(await act(effect)).toMatchObject({ kind: 'unknown' });
    api.wire.on(isWrite, refusal(422, 'Invalid', 'spec.replicas: Invalid value'));
    expect(await act(effect)).toMatchObject({
      kind: 'refused',
      code: 'Invalid',
      detail: expect.stringContaining('spec.replicas'),
    });
    expect(api.appliedCount('token-1')).toBe(0);
  });
});

describe('nodes', () => {
  it('are cordoned and opened by a patch of spec.unschedulable', async () => {
    await act({ kind: 'cordon', target: 'node/gpu-a', cordoned: true });
    expect(lineOf(api.writes[0] as WireRequest)).toBe('PATCH /api/v1/nodes/gpu-a?fieldManager=bursar');
    expect(bodyOf(api.writes[0])).toEqual({
      metadata: { resourceVersion: '9001', annotations: { [LAST_TOKEN]: 'token-1' } },
      spec: { unschedulable: true },
    });
    await act({ kind: 'cordon', target: 'node/gpu-a', cordoned: false }, 'token-2');
    expect(bodyOf(api.writes[1])).toMatchObject({ spec: { unschedulable: null } });
    expect(await connect().outcome({ kind: 'cordon', target: 'node/gpu-a', cordoned: false }, 'token-2')).toMatchObject(
      { kind: 'taken' },
    );
  });

  it('are drained by evictions, after a try-out; what a DaemonSet or the node itself brought stays', async () => {
    const drain = { kind: 'drain', target: 'node/gpu-a' } as const;
    expect(await act(drain)).toEqual({ kind: 'taken', reference: null, detail: 'cordoned; 1 pod(s) evicted' });
    const eviction = 'POST /api/v1/namespaces/ml/pods/trainer-5d9f7c6b8-aaaaa/eviction';
    expect(api.writes.map(lineOf)).toEqual([
      `${eviction}?dryRun=All&fieldManager=bursar`,
      'PATCH /api/v1/nodes/gpu-a?fieldManager=bursar',
      `${eviction}?fieldManager=bursar`,
    ]);
    expect(bodyOf(api.writes[2])).toEqual({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'trainer-5d9f7c6b8-aaaaa', namespace: 'ml' },
      deleteOptions: { preconditions: { uid: '0b000000-0000-4000-8000-000000000001' } },
    });
    expect(await connect().outcome(drain, 'token-1')).toMatchObject({ kind: 'taken', detail: 'the node is drained' });
  });

  it('keep every pod that a disruption budget holds: all held is a refusal that changes nothing, some held is told', async () => {
    api.held.add('trainer-5d9f7c6b8-aaaaa');
    expect(await act({ kind: 'drain', target: 'node/gpu-a' })).toMatchObject({
      kind: 'refused',
      code: 'disruption-budget',
      detail: expect.stringContaining('ml/trainer-5d9f7c6b8-aaaaa'),
    });
    expect(api.one('nodes', 'gpu-a').metadata.resourceVersion).toBe('9001');
    api.edit('pods', 'waiting-z9y8x', ({ spec }) => (spec['nodeName'] = 'gpu-a'));
    expect(await act({ kind: 'drain', target: 'node/gpu-a' }, 'token-2')).toMatchObject({
      kind: 'taken',
      detail: 'cordoned; 1 pod(s) evicted; held by disruption budgets: ml/trainer-5d9f7c6b8-aaaaa',
    });
    // Later the budget lets go, and the same drain goes on.
    expect(await connect().outcome({ kind: 'drain', target: 'node/gpu-a' }, 'token-2')).toEqual({ kind: 'absent' });
    api.held.clear();
    expect(await act({ kind: 'drain', target: 'node/gpu-a' }, 'token-2')).toMatchObject({
      kind: 'taken',
      detail: 'cordoned; 1 pod(s) evicted',
    });
    expect(api.writes.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });

  it('are ended where Karpenter has made them, as they were read, and nowhere else', async () => {
    expect(await act({ kind: 'replace', target: 'node/cpu-c', group: null })).toMatchObject({
      kind: 'refused',
      code: 'not-supported',
    });
    const replace = { kind: 'replace', target: 'node/gpu-a', group: null } as const;
    expect(await connect().outcome(replace, 'token-1')).toEqual({ kind: 'absent' });
    expect(await act(replace)).toMatchObject({ kind: 'taken' });
    expect(api.writes.map(lineOf)).toEqual(['DELETE /api/v1/nodes/gpu-a']);
    expect(bodyOf(api.writes[0])).toEqual({ preconditions: { uid: '0a000000-0000-4000-8000-00000000000a' } });
    expect(await connect().outcome(replace, 'token-1')).toMatchObject({ kind: 'taken' });
  });
});

describe('resource claims', () => {
  const claim = (device: string, users: number, driver = 'gpu.nvidia.com'): KubernetesObject => ({
    metadata: { name: 'two-gpus', namespace: 'ml', uid: 'c1', resourceVersion: '1' },
    spec: {},
    status: {
      allocation: { devices: { results: [{ request: 'gpu', driver, pool: 'gpu-a', device }] } },
      reservedFor: Array.from({ length: users }, (_, n) => ({ resource: 'pods', name: `p${n}`, uid: `u${n}` })),
    },
  });
  const target = 'pod/ml/trainer-5d9f7c6b8-aaaaa';
  const gpusWith = async (claims: readonly KubernetesObject[] | null): Promise<number | null | undefined> => {
    if (claims !== null) api.objects['resourceclaims'] = [...claims];
    api.edit('pods', 'trainer-5d9f7c6b8-aaaaa', ({ spec }) => {
      spec['containers'] = [{ name: 'c' }];
      spec['resourceClaims'] = [{ name: 'gpu', resourceClaimName: 'two-gpus' }];
    });
    return (await connect().target(target))?.gpus;
  };

  it('are counted by what is allocated: whole GPUs, evenly shared; a part, or nothing to read, is not known', async () => {
    expect(await gpusWith([claim('gpu-3', 1)])).toBe(1);
    expect(await gpusWith([claim('gpu-3', 2)])).toBe(0.5);
    expect(await gpusWith([claim('gpu-3-mig-1g.10gb-19-0', 1)])).toBeNull();
    expect(await gpusWith([claim('nic-0', 1, 'net.example')])).toBe(0);
    expect(await gpusWith([])).toBeNull();
    delete api.objects['resourceclaims'];
    expect(await gpusWith(null)).toBeNull();
  });
});

describe('pods', () => {
  const target = 'pod/ml/trainer-5d9f7c6b8-aaaaa@0b000000-0000-4000-8000-000000000001';

  it('are replaced where a controller brings another, and ended for good where none does', async () => {
    expect(await act({ kind: 'terminate', target })).toMatchObject({ kind: 'refused', code: 'would-return' });
    expect(await act({ kind: 'replace', target: 'pod/ml/waiting-z9y8x', group: null })).toMatchObject({
      kind: 'refused',
      code: 'no-controller',
    });
    expect(await act({ kind: 'replace', target, group: null })).toMatchObject({ kind: 'taken' });
    expect(await act({ kind: 'terminate', target: 'pod/ml/waiting-z9y8x' })).toMatchObject({ kind: 'taken' });
    expect(api.writes.map(lineOf)).toEqual([
      'DELETE /api/v1/namespaces/ml/pods/trainer-5d9f7c6b8-aaaaa',
      'DELETE /api/v1/namespaces/ml/pods/waiting-z9y8x',
    ]);
    expect(bodyOf(api.writes[0])).toEqual({ preconditions: { uid: '0b000000-0000-4000-8000-000000000001' } });
  });

  it('after a lost answer are known by their uid', async () => {
    const effect = { kind: 'replace', target, group: null } as const;
    api.losing = 'request';
    expect(await act(effect)).toMatchObject({ kind: 'unknown' });
    expect(await connect().outcome(effect, 'token-1')).toEqual({ kind: 'absent' });
    expect(await connect().outcome({ ...effect, target: 'pod/ml/trainer-5d9f7c6b8-aaaaa' }, 'token-1')).toMatchObject({
      kind: 'unknown',
    });
    api.losing = 'answer';
    expect(await act(effect)).toMatchObject({ kind: 'unknown' });
    expect(await connect().outcome(effect, 'token-1')).toMatchObject({ kind: 'taken' });
  });
});

describe('usage', () => {
  const usage = async (from: number, to: number, connection = connect()): Promise<UsageRecord[]> => {
    const records: UsageRecord[] = [];
    for await (const batch of connection.usage(from, to)) records.push(...batch.records);
    return records;
  };
  const at = (hour: number, minute: number, second = 0): number => Date.UTC(2026, 9, 20, hour, minute, second);

  it('is what pods held, by the minute, from scheduling to their end', async () => {
    const records = await usage(at(9, 58), at(10, 2));
    const shown = records.map(({ resource, start, end, gpuParts }) => [
      resource?.replace(/-.*/, ''),
      (start - at(9, 58)) / 1000,
      (end - at(9, 58)) / 1000,
      gpuParts,
    ]);
    expect(shown).toEqual([
      // Scheduled at 09:58:30, two GPUs.
      ['pod/ml/trainer', 30, 60, 14_000],
      ['pod/ml/trainer', 60, 120, 14_000],
      ['pod/ml/trainer', 120, 180, 14_000],
      ['pod/ml/trainer', 180, 240, 14_000],
      // One of seven slices; shutting down at 11:59, and there until then.
      ['pod/serving/chat', 120, 180, 1000],
      ['pod/serving/chat', 180, 240, 1000],
      // Ended at 10:01:20.
      ['pod/ml/finetune', 60, 120, 7000],
      ['pod/ml/finetune', 120, 180, 7000],
      ['pod/ml/finetune', 180, 200, 7000],
      // Evicted after half a minute.
      ['pod/ml/evicted', 120, 150, 28_000],
    ]);
    expect(records[1]).toEqual(
      metered('0b000000-0000-4000-8000-000000000001/2026-10-20T09:59:00Z', {
        account: '123456789012',
        subAccount: 'east',
        resource: 'pod/ml/trainer-5d9f7c6b8-aaaaa',
        namespace: 'ml',
        service: 'Kubernetes',
        sku: 'p4d.24xlarge',
        term: 'spot',
        gpuModel: 'A100-40GB',
        tags: { app: 'trainer', team: 'research' },
        start: at(9, 59),
        end: at(10, 0),
        gpuParts: 14_000,
      }),
    );
  });

  it('leaves no gap between windows that begin anywhere, and nothing for a minute that is not over', async () => {
    const whole = await usage(at(9, 58), at(10, 2));
    const parts = [
      ...(await usage(at(9, 58), at(9, 59, 20))),
      ...(await usage(at(9, 59, 20), at(10, 1, 40))),
      ...(await usage(at(10, 1, 40), at(10, 2))),
    ];
    expect(new Map(parts.map((one) => [one.id, one]))).toEqual(new Map(whole.map((one) => [one.id, one])));
    expect(parts).toHaveLength(whole.length);
    // The minute before the last: a pod's end is told seconds after it.
    expect((await usage(at(11, 58), at(12, 30))).map(({ end }) => end)).toEqual([at(11, 59), at(11, 59)]);
  });

  it('names the provider that the settings name; of a node that has gone it knows what it saw, and no SKU where it saw none', async () => {
    const looking = connect();
    const seen = await usage(at(9, 59), at(10, 1), looking);
    api.objects['nodes'] = [];
    expect(await usage(at(9, 59), at(10, 1), looking)).toEqual(seen);
    const records = await usage(at(10, 0), at(10, 1), connect({ BURSAR_KUBERNETES_PROVIDER: 'gcp' }));
    expect(new Set(records.map(({ provider: name, sku, gpuModel }) => `${name} ${sku} ${gpuModel}`))).toEqual(
      new Set(['Google Cloud null null']),
    );
    expect(new Set((await usage(at(10, 0), at(10, 1))).map(({ provider: name }) => name))).toEqual(
      new Set(['Kubernetes']),
    );
  });

  it('fails as a whole where nodes or pods may not be read', async () => {
    api.wire.on(({ path: url }) => url.startsWith('/api/v1/pods'), refusal(403, 'Forbidden'));
    await expect(usage(at(10, 0), at(10, 1))).rejects.toMatchObject({
      kind: 'denied',
      message: 'the credentials may not list pods',
    });
  });

  it('carries the reservation that a pod names by an annotation, so that its cost takes the place of what is held', async () => {
    const named = (api.objects['pods'] ?? []) as { metadata: { name: string; annotations?: Record<string, string> } }[];
    for (const { metadata } of named)
      if (metadata.name.startsWith('trainer'))
        metadata.annotations = { 'bursar.io/reservation': 'res-0123456789abcdef' };
    const records = await usage(at(10, 0), at(10, 1));
    expect(records.filter(({ resource }) => resource?.startsWith('pod/ml/trainer')).map(({ tags }) => tags)).toEqual([
      { app: 'trainer', team: 'research', 'bursar.io/reservation': 'res-0123456789abcdef' },
    ]);
    expect(records.filter(({ tags }) => tags?.['bursar.io/reservation'] !== undefined)).toHaveLength(1);
  });
});

describe('settings', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bursar-kubeconfig-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const paths = (given: Record<string, string>): string[] => {
    try {
      provider.connect(given, clock);
    } catch (error) {
      return (error as { problems: { path: string }[] }).problems.map(({ path: name }) =>
        name.replace('BURSAR_KUBERNETES_', ''),
      );
    }
    return [];
  };

  it('may be a kubeconfig, with a context to read and another to act', async () => {
    const file = path.join(folder, 'config');
    const user = (name: string): string => `- name: ${name}\n  user: { token: ${name}-token }\n`;
    const context = (name: string): string => `- name: ${name}\n  context: { cluster: c, user: ${name} }\n`;
    writeFileSync(
      file,
      `apiVersion: v1\nkind: Config\ncurrent-context: looks\nclusters:\n- name: c\n  cluster: { server: "${api.wire.url}", insecure-skip-tls-verify: true }\nusers:\n${user('looks')}${user('acts')}contexts:\n${context('looks')}${context('acts')}`,
    );
    const given = { BURSAR_KUBERNETES_KUBECONFIG: file, BURSAR_KUBERNETES_ACT_CONTEXT: 'acts' };
    const connection = provider.connect(given, clock) as Required<ProviderConnection>;
    expect(await act({ kind: 'cordon', target: 'node/gpu-a', cordoned: true }, 'token-1', connection)).toMatchObject({
      kind: 'taken',
    });
    expect(new Set(api.wire.requests.map(({ method, headers }) => `${method} ${headers.authorization}`))).toEqual(
      new Set(['GET Bearer looks-token', 'PATCH Bearer acts-token']),
    );
    expect(paths({ ...given, BURSAR_KUBERNETES_ACT_CONTEXT: 'looks' })).toEqual(['ACT_CONTEXT']);
    expect(paths({ ...given, BURSAR_KUBERNETES_CONTEXT: 'nobody', BURSAR_KUBERNETES_TOKEN: 't' })).toEqual([
      'TOKEN',
      'CONTEXT',
    ]);
  });

  it('may be files that hold the tokens', async () => {
    const file = path.join(folder, 'token');
    writeFileSync(file, 'token-in-a-file');
    const connection = provider.connect(
      { BURSAR_KUBERNETES_SERVER: api.wire.url, BURSAR_KUBERNETES_TOKEN_FILE: file },
      clock,
    ) as Required<ProviderConnection>;
    expect([connection.canAct, await connection.target('node/nobody')]).toEqual([false, null]);
    expect(api.wire.requests.map(({ headers }) => headers.authorization)).toContain('Bearer token-in-a-file');
  });

  it('are refused by name where they are wrong', () => {
    const server = { BURSAR_KUBERNETES_SERVER: 'https://cluster.example', BURSAR_KUBERNETES_TOKEN: 'a' };
    expect(paths(server)).toEqual([]);
    expect(paths({ ...server, BURSAR_KUBERNETES_ACT_TOKEN: 'a' })).toEqual(['ACT_TOKEN']);
    expect(paths({ ...server, BURSAR_KUBERNETES_SERVER: 'http://cluster.example' })).toEqual(['SERVER']);
    expect(paths({ ...server, BURSAR_KUBERNETES_IN_CLUSTER: 'yes' })).toEqual(['SERVER']);
    expect(paths({ BURSAR_KUBERNETES_IN_CLUSTER: 'yes' })).toEqual(['IN_CLUSTER']);
    expect(paths({ BURSAR_KUBERNETES_CLUSTER: 'east' })).toEqual(['SERVER']);
    expect(
      paths({
        ...server,
        BURSAR_KUBERNETES_CA_FILE: path.join(folder, 'nothing'),
        BURSAR_KUBERNETES_TIMEOUT_SECONDS: 'soon',
      }),
    ).toEqual(['TIMEOUT_SECONDS', 'CA_FILE']);
  });
});
