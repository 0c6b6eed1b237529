/**
 * Jobs on Kubernetes through the official client: a batch Job, a RayJob and a PyTorchJob are stopped by suspending them
 * and started by resuming them, and what is measured of their pods is theirs.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { effectOf } from '../../src/core/action/acting.js';
import { progressOf } from '../../src/core/action/action.js';
import { reachOf } from '../../src/core/action/acting.js';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { isOf } from '../../src/core/fleet/membership.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider } from '../../src/providers/kubernetes/kubernetes.js';
import { KubernetesApi, refusal, type KubernetesObject } from '../support/kubernetes-api.js';

const NOW = Date.UTC(2026, 9, 20, 12);
const BORN = '2026-10-20T09:00:00Z';

let api: KubernetesApi;
beforeEach(async () => {
  api = await KubernetesApi.start();
  Object.assign(api.objects, {
    jobs: [
      object('Job', 'embed', { parallelism: 2, template: template(4) }, { active: 2, startTime: BORN }),
      object('Job', 'cpu-only', { parallelism: 1, template: { spec: { containers: [{ name: 'main' }] } } }, {}),
      object('Job', 'over', { template: template(1) }, { conditions: [{ type: 'Complete', status: 'True' }] }),
    ],
    rayjobs: [
      object(
        'RayJob',
        'tune',
        {
          shutdownAfterJobFinishes: true,
          rayClusterSpec: {
            headGroupSpec: { template: { spec: { containers: [{ name: 'head' }] } } },
            workerGroupSpecs: [{ replicas: 3, template: template(1) }],
          },
        },
        { jobDeploymentStatus: 'Running', rayClusterName: 'tune-raycluster-x7' },
      ),
    ],
    pytorchjobs: [
      object(
        'PyTorchJob',
        'finetune',
        {
          runPolicy: { cleanPodPolicy: 'None' },
          pytorchReplicaSpecs: {
            Master: { replicas: 1, template: template(8) },
            Worker: { replicas: 3, template: template(8) },
          },
        },
        { replicaStatuses: { Master: { active: 1 }, Worker: { active: 3 } } },
      ),
    ],
  });
  api.objects['pods']!.push(
    pod('embed-a1', 'Job', 'embed'),
    pod('finetune-master-0', 'PyTorchJob', 'finetune'),
    pod('tune-worker-1', 'RayCluster', 'tune-raycluster-x7'),
  );
});
afterEach(() => api.wire.close());

const template = (gpus: number): Record<string, unknown> => ({
  spec: { containers: [{ name: 'main', resources: { limits: { 'nvidia.com/gpu': String(gpus) } } }] },
});

function object(
  kind: string,
  name: string,
  spec: KubernetesObject['spec'],
  status: Record<string, unknown>,
): KubernetesObject {
  return {
    metadata: {
      name,
      namespace: 'ml',
      uid: `uid-${kind}-${name}`,
      resourceVersion: '7',
      generation: 1,
      labels: { team: 'research' },
      creationTimestamp: BORN,
    },
    spec,
    status,
  };
}

const pod = (name: string, kind: string, owner: string): KubernetesObject => ({
  metadata: {
    name,
    namespace: 'ml',
    uid: `uid-${name}`,
    resourceVersion: '9',
    ownerReferences: [{ apiVersion: 'v1', kind, name: owner, uid: 'u', controller: true }],
  },
  spec: { ...(template(4)['spec'] as Record<string, unknown>), nodeName: 'gpu-a' },
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
const act = async (effect: Effect, token: string) => {
  const connection = connect();
  return connection.apply(effect, token, await connection.target(effect.target));
};
const seen = async (target: string) => {
  const found = await connect().target(target);
  if (found === null) throw new Error(`${target} is not there`);
  return found;
};
const stop = (target: string): Effect => ({ kind: 'stop', target });
const start = (target: string): Effect => ({ kind: 'start', target });

describe('jobs', () => {
  it('with GPUs that have not ended are targets, and the pods that they have made are theirs', async () => {
    const { targets, complete, problems } = await connect().fleet();
    expect([complete, problems]).toEqual([true, []]);
    const jobs = targets.filter(({ asOne }) => asOne === true);
    expect(jobs.map(({ target, state, gpus, knownAs }) => [target, state, gpus, knownAs])).toEqual([
      ['job/ml/embed', 'running', 8, ['pod/ml/embed-a1']],
      ['rayjob/ml/tune', 'running', 3, ['pod/ml/tune-worker-1']],
      ['pytorchjob/ml/finetune', 'running', 32, ['pod/ml/finetune-master-0']],
    ]);
    for (const job of jobs) {
      const carried = effectOf({ action: 'Stop', change: { replicas: 0 } }, job);
      expect(carried).toEqual({ effect: stop(job.target) });
      expect(reachOf(stop(job.target), job)).toEqual({ replicas: 1, gpus: job.gpus });
    }
  });

  it.each([
    ['job/ml/embed', 'jobs', 'embed', { suspend: true }],
    ['rayjob/ml/tune', 'rayjobs', 'tune', { suspend: true }],
    ['pytorchjob/ml/finetune', 'pytorchjobs', 'finetune', { runPolicy: { suspend: true } }],
  ])(
    '%s is suspended for a stop, stopped when its pods are gone, and resumed for a start',
    async (target, kind, name, spec) => {
      expect(await act(stop(target), 'token-1')).toMatchObject({ kind: 'taken', detail: 'suspended' });
      const [patch] = api.writes;
      expect(patch?.headers.authorization).toBe('Bearer token-for-acting');
      expect((JSON.parse(patch!.body) as KubernetesObject).spec).toEqual(spec);
      expect(api.one(kind, name).spec).toMatchObject(spec);
      // The same again sends nothing, and what became of it is known by the token.
      expect(await act(stop(target), 'token-1')).toMatchObject({ kind: 'taken' });
      expect(api.writes).toHaveLength(1);
      expect(await connect().outcome(stop(target), 'token-1')).toMatchObject({ kind: 'taken' });
      expect(await connect().outcome(stop(target), 'token-2')).toEqual({ kind: 'absent' });
      // Its pods hold their GPUs until they are gone.
      expect(await seen(target)).toMatchObject({ state: 'stopping', billing: 'billed' });
      api.objects['pods'] = api.objects['pods']!.filter(({ metadata }) => !metadata.uid.startsWith('uid-'));
      api.edit(kind, name, (one) => (one.status = kind === 'rayjobs' ? { jobDeploymentStatus: 'Suspended' } : {}));
      const stopped = await seen(target);
      expect(stopped).toMatchObject({ state: 'stopped', billing: 'ended' });
      expect(progressOf(stop(target), stopped)).toBe('done');
      expect(await act(start(target), 'token-2')).toMatchObject({ kind: 'taken', detail: 'resumed' });
      expect((await seen(target)).state).toBe('starting');
    },
  );

  it('that a controller above them holds are not to be approved, and are refused', async () => {
    api.edit('jobs', 'embed', ({ metadata }) => {
      metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'JobSet', name: 'set', uid: 's', controller: true }];
    });
    api.edit('pytorchjobs', 'finetune', ({ metadata }) => {
      metadata.labels = { 'kueue.x-k8s.io/queue-name': 'gpus' };
    });
    api.edit('rayjobs', 'tune', ({ spec }) => delete spec['shutdownAfterJobFinishes']);
    for (const [target, why] of [
      ['job/ml/embed', /JobSet set, which owns it/],
      ['pytorchjob/ml/finetune', /Kueue, in whose queue gpus/],
      ['rayjob/ml/tune', /shutdownAfterJobFinishes/],
    ] as const) {
      const carried = effectOf({ action: 'Stop', change: {} }, await seen(target));
      expect(carried).toMatchObject({ obstacle: { code: 'ruled-out', message: expect.stringMatching(why) } });
      expect(await act(stop(target), `token-${target}`)).toMatchObject({ kind: 'refused', code: 'owned' });
    }
    expect(api.writes).toEqual([]);
  });

  it('are written anew where only their status has moved, and refused where they were changed', async () => {
    const connection = connect();
    const before = await connection.target('job/ml/embed');
    api.meanwhile = () => api.edit('jobs', 'embed', (one) => (one.status = { active: 1 }));
    expect(await connection.apply(stop('job/ml/embed'), 'token-1', before)).toMatchObject({ kind: 'taken' });
    api.edit('jobs', 'embed', ({ metadata }) => (metadata.generation = 5));
    expect(await connection.apply(start('job/ml/embed'), 'token-2', before)).toMatchObject({ code: 'changed' });
  });

  it('that may not be read, or that the cluster does not have, make nothing else less known', async () => {
    api.wire.on(
      ({ path }) => path.startsWith('/apis/batch/'),
      refusal(403, 'Forbidden', 'jobs.batch is forbidden: User "r" cannot list resource "jobs"'),
    );
    delete api.objects['rayjobs'];
    const { complete, problems, targets } = await connect().fleet();
    expect([complete, problems]).toEqual([true, ['the credentials may not list jobs.batch']]);
    expect(targets.filter(({ asOne }) => asOne === true).map(({ target }) => target)).toEqual([
      'pytorchjob/ml/finetune',
    ]);
  });

  it('are told in metered usage by the label that names them', () => {
    const usage = (label: string) => ({ resource: 'pod/ml/embed-a1', tags: { [label]: 'embed' }, region: null });
    expect(isOf(usage('batch.kubernetes.io/job-name'), 'job/ml/embed')).toBe(true);
    expect(isOf(usage('batch.kubernetes.io/job-name'), 'job/other/embed')).toBe(false);
    expect(isOf(usage('training.kubeflow.org/job-name'), 'pytorchjob/ml/embed')).toBe(true);
    expect(isOf(usage('app'), 'job/ml/embed')).toBe(false);
  });
});
