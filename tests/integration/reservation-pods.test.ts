/**
 * Pods that name a reservation, over HTTP on a real database: together they take no more GPUs than it reserved, each
 * once, and what goes gives back.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GPU_PARTS } from '../../src/core/usage.js';
import { BUDGET, launchesRefused, setSpent } from '../support/admission-world.js';
import { instancePrice } from '../support/bursar.js';
import { reply as captured } from '../support/kubernetes-api.js';
import { NOW, testApi } from '../support/web.js';

interface Answer {
  readonly response: {
    allowed: boolean;
    warnings?: string[];
    auditAnnotations?: Record<string, string>;
    status?: { code: number; message: string };
  };
}
type Json = Record<string, unknown>;

describe('a reservation of eight GPUs', async () => {
  const api = await testApi();
  let [key, id] = ['', ''];
  const send = async (body: Json, query = ''): Promise<Answer['response']> =>
    (await api.call<Answer>('POST', `/admission/v1/reviews${query}`, { key, body })).body.response;
  const object = (uid: string, gpus: number, metadata: Json = {}): Json => ({
    metadata: {
      uid,
      name: `pod-${uid}`,
      namespace: 'ml',
      labels: { team: 'research' },
      annotations: { 'bursar.io/reservation': id },
      ...metadata,
    },
    spec: { containers: [{ name: 'main', resources: { limits: { 'nvidia.com/gpu': String(gpus) } } }] },
  });
  const base = captured<{ request: Json }>('admission-review');
  const ask = (
    uid: string,
    gpus = 4,
    { query = '', metadata = {}, request = {} }: { query?: string; metadata?: Json; request?: Json } = {},
  ): Promise<Answer['response']> =>
    send({ ...base, request: { ...base.request, object: object(uid, gpus, metadata), ...request } }, query);
  const drop = (uid: string, request: Json = {}): Promise<Answer['response']> =>
    send({
      ...base,
      request: { ...base.request, operation: 'DELETE', object: null, oldObject: object(uid, 4), ...request },
    });
  const taken = async (): Promise<string[]> =>
    (
      await api.stores.db.query<{ row: string }>(
        `select pod || ' ' || gpu_parts / ${GPU_PARTS} as row from reservation_pod where reservation = $1 order by pod`,
        [id],
      )
    ).map(({ row }) => row);
  const spend = (units: number): Promise<void> => setSpent(api, units);

  beforeAll(async () => {
    const { stores } = api;
    key = await api.keyFor({ role: 'viewer' });
    await api.call('PUT', '/v1/teams/research', { body: { name: 'research' } });
    await api.call('PUT', '/v1/rules', {
      body: { rules: [{ match: { label: { key: 'team', value: 'research' } }, team: 'research' }] },
    });
    await stores.budgets.save(stores.db, 'default', BUDGET);
    await stores.prices.add(
      stores.db,
      'default',
      [{ kind: 'price', price: instancePrice('10', { minimumSeconds: 0 }) }],
      'test',
    );
  });

  beforeEach(async () => {
    await api.call('PUT', '/v1/admission', { body: { mode: 'refuse' } });
    await spend(30);
    if (id !== '') await api.call('DELETE', `/v1/reservations/${id}`);
    // Seven hours of eight GPUs: 70 of the 70 that are left, so that nobody is let in on anything else.
    const { status, body } = await api.call<{ id: string }>('POST', '/v1/reservations', {
      body: { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 7, region: 'us-east-1', team: 'research' },
    });
    expect(status).toBe(200);
    ({ id } = body);
  });

  it('lets in as many pods as it has GPUs for, before any of them is metered', async () => {
    expect([(await ask('a')).allowed, (await ask('b')).allowed]).toEqual([true, true]);
    const { allowed, status } = await ask('c', 1);
    expect([allowed, status?.code]).toEqual([false, 403]);
    expect(status?.message).toContain(
      `its reservation ${id} has 0 of its 8 GPUs left, after the pods that were admitted on it, and this one asks for 1; ask`,
    );
    expect(await taken()).toEqual(['a 4', 'b 4']);
  });

  it('counts a pod once, however often it is reviewed, and a dry run not at all', async () => {
    for (let times = 0; times < 3; times++) expect((await ask('a')).allowed).toBe(true);
    expect(await ask('b', 4, { request: { dryRun: true } })).toMatchObject({
      allowed: true,
      auditAnnotations: { reservation: id },
    });
    expect(await taken()).toEqual(['a 4']);
    expect((await ask('b')).allowed).toBe(true);
    expect((await ask('c', 4, { request: { dryRun: true } })).allowed).toBe(false);
    // One that has its part is let in by a dry run too.
    expect((await ask('a', 4, { request: { dryRun: true } })).allowed).toBe(true);
  });

  it('lets a pod in where another of its name was, and tells clusters apart', async () => {
    const named = { metadata: { name: 'worker-0' } };
    await ask('a', 8, named);
    expect((await ask('b', 8, named)).allowed).toBe(true);
    expect(await taken()).toEqual(['b 8']);
    expect((await ask('c', 8, { ...named, query: '?cluster=west' })).allowed).toBe(false);
  });

  it('tells pods without a uid apart by their cluster, namespace and name', async () => {
    const unnamed = { metadata: { uid: undefined, name: 'worker-0' } };
    for (const query of ['?cluster=east', '?cluster=west', '?cluster=east'])
      expect((await ask('x', 4, { ...unnamed, query })).allowed).toBe(true);
    expect(await taken()).toEqual(['ml/worker-0 4', 'ml/worker-0 4']);
    expect((await ask('x', 4, { metadata: { uid: undefined, name: 'worker-1' } })).allowed).toBe(false);
  });

  it('has again what a deleted pod took, but not by a dry run, nor by a stranger', async () => {
    await ask('a', 8);
    expect(await drop('a', { dryRun: true })).toEqual({ uid: base.request['uid'], allowed: true });
    expect(
      (
        await api.call<Answer>('POST', '/admission/v1/reviews', {
          key: null,
          body: { ...base, request: { ...base.request, operation: 'DELETE', object: null, oldObject: object('a', 8) } },
        })
      ).body.response.allowed,
    ).toBe(true);
    expect(await taken()).toEqual(['a 8']);
    expect((await drop('a')).allowed).toBe(true);
    expect(await taken()).toEqual([]);
    expect((await ask('b', 8)).allowed).toBe(true);
    // It was not this one's.
    await drop('a');
    expect(await taken()).toEqual(['b 8']);
  });

  it('never has its last GPUs taken twice, by however many at once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(`p${n}`, 4)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(2);
    expect(await taken()).toHaveLength(2);
  });

  it('takes nothing for a pod that is refused for another reason, or is exempt', async () => {
    const stop = launchesRefused('enforce');
    const order = (...made: (typeof stop)[]): Promise<void> =>
      api.stores.db.transaction((tx) =>
        api.stores.recommendations.replaceOpen(tx, 'default', 'research', ['budget-brake'], made, NOW),
      );
    await order(stop);
    expect((await ask('a')).allowed).toBe(false);
    await order();
    expect((await ask('a', 4, { request: { namespace: 'kube-system' } })).allowed).toBe(true);
    expect(await taken()).toEqual([]);
  });

  it('that is used up by pods leaves one more to what else the budget has, and says so', async () => {
    await spend(10);
    await ask('a', 8);
    const more = await ask('b', 4);
    expect(more).toMatchObject({
      allowed: true,
      warnings: [
        `the reservation ${id} has 0 of its 8 GPUs left, after the pods that were admitted on it, and this one asks for 4: the pod is admitted on what its budgets have left apart from it`,
      ],
    });
    expect(more.auditAnnotations).toBeUndefined();
    expect(await taken()).toEqual(['a 8']);
  });

  it('forgets its pods once it is over', async () => {
    await ask('a', 8);
    await api.call('DELETE', `/v1/reservations/${id}`);
    const { body } = await api.call<{ id: string }>('POST', '/v1/reservations', {
      body: { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 7, region: 'us-east-1', team: 'research' },
    });
    id = body.id;
    expect((await ask('b', 8)).allowed).toBe(true);
    expect(await api.stores.db.query(`select reservation, pod from reservation_pod`)).toEqual([
      { reservation: id, pod: 'b' },
    ]);
  });

  it('is not asked for longer than the API server waits, and has back what came too late for a pod that was refused', async () => {
    await api.call('PUT', '/v1/admission', { body: { mode: 'refuse', onFailure: 'refuse' } });
    await api.stores.db.transaction(async (tx) => {
      await tx.query('lock table reservation_pod in access exclusive mode');
      expect(await ask('a', 8, { query: '?timeout=300ms' })).toMatchObject({ allowed: false, status: { code: 503 } });
    });
    await expect.poll(async () => (await ask('b', 8)).allowed).toBe(true);
    expect(await taken()).toEqual(['b 8']);
  });
});
