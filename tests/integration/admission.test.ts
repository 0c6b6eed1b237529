/**
 * The admission webhook over HTTP, with the reviews that an API server sends, against real budgets in a real database.
 */
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { listenTls } from '../../src/web/tls.js';
import { BUDGET, launchesRefused, setSpent } from '../support/admission-world.js';
import { reply as captured } from '../support/kubernetes-api.js';
import { ROOT } from '../support/source.js';
import { NOW, testApi, type Reply } from '../support/web.js';

interface Answer {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: {
    uid: string;
    allowed: boolean;
    warnings?: string[];
    auditAnnotations?: Record<string, string>;
    status?: { code: number; reason: string; message: string; status: string };
  };
}
type Json = Record<string, unknown>;

const UID = '705ab4f5-6393-11e8-b7cc-42010a800002';
const TLS = path.join(ROOT, 'tests/fixtures/tls');

/** The review of the replies, with changes to the request and to the pod. */
function review(request: Json = {}, pod: { metadata?: Json; spec?: Json } = {}): Json {
  const body = captured<{ request: { object: { metadata: Json; spec: Json } } }>('admission-review');
  const { object } = body.request;
  return {
    ...body,
    request: {
      ...body.request,
      ...request,
      object: { ...object, metadata: { ...object.metadata, ...pod.metadata }, spec: { ...object.spec, ...pod.spec } },
    },
  };
}
const withoutGpus = {
  spec: { containers: [{ name: 'main', image: 'registry.example/web:1', resources: { limits: { cpu: '1' } } }] },
};

describe('the admission webhook', async () => {
  const api = await testApi();
  let key = '';
  const ask = (body: unknown, query = '', bearer: string | null = key): Promise<Reply<Answer>> =>
    api.call<Answer>('POST', `/admission/v1/reviews${query}`, { key: bearer, body });
  const spend = (units: number): Promise<void> => setSpent(api, units);
  const choose = async (settings: Json): Promise<void> => {
    expect((await api.call('PUT', '/v1/admission', { body: settings })).status).toBe(200);
  };

  beforeAll(async () => {
    key = await api.keyFor({ role: 'viewer' });
    await api.call('PUT', '/v1/teams/research', { body: { name: 'Research' } });
    await api.call('PUT', '/v1/rules', {
      body: {
        rules: [
          { match: { namespace: 'ml', subAccount: 'east' }, team: 'research' },
          { match: { label: { key: 'team', value: 'research' } }, team: 'research' },
        ],
      },
    });
    await api.stores.budgets.save(api.stores.db, 'default', BUDGET);
    await spend(120);
  });
  afterEach(() => choose({}));

  it('refuses a pod whose team has nothing left, and echoes the uid', async () => {
    await choose({ mode: 'refuse', contact: 'finops@example.com' });
    const { status, headers, body } = await ask(review(), '?timeout=10s&cluster=east');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: UID,
        allowed: false,
        auditAnnotations: {
          owner: 'ReplicaSet trainer-5d9f7c6b8',
          team: 'research',
          budget: 'research-gpus',
          verdict: 'refused',
        },
        status: {
          status: 'Failure',
          code: 403,
          reason: 'Forbidden',
          message:
            'team research (Research) has no budget left: budget research-gpus, planned 100.00 USD, spent 120.00 USD, left -20.00 USD, until 2026-11-01T00:00:00Z; ask finops@example.com',
        },
      },
    });
  });

  it('only warns where nobody has chosen to refuse, or a team has not', async () => {
    const { body } = await ask(review());
    expect(body.response).toMatchObject({
      uid: UID,
      allowed: true,
      warnings: [expect.stringContaining('team research (Research) has no budget left')],
    });
    expect(body.response.status).toBeUndefined();
    await choose({ mode: 'refuse', teams: { research: { mode: 'warn' } } });
    expect((await ask(review())).body.response.allowed).toBe(true);
  });

  it('takes its key in the path, for an API server that sends no header', async () => {
    await choose({ mode: 'refuse' });
    const { status, body } = await api.call<Answer>('POST', `/admission/v1/reviews/${key}?timeout=3s`, {
      key: null,
      body: review(),
    });
    expect([status, body.response.allowed]).toEqual([200, false]);
  });

  it('lets nobody in without a key that holds for all teams; what is not its form is refused', async () => {
    expect((await ask(review(), '', null)).status).toBe(401);
    expect((await ask(review(), '', 'bursar_000000000000_nonsense')).status).toBe(401);
    expect(
      (await api.call('POST', '/admission/v1/reviews/bursar_000000000000_nonsense', { key: null, body: review() }))
        .status,
    ).toBe(401);
    expect((await ask(review(), '', await api.keyFor({ role: 'viewer', teams: ['research'] }))).status).toBe(403);
    for (const wrong of [
      {},
      { ...review(), apiVersion: 'admission.k8s.io/v1beta1' },
      review({ uid: undefined }),
      review({}, { spec: { containers: 'none' } }),
    ])
      expect((await ask(wrong)).status).toBe(400);
    expect(
      (await ask(review({}, { spec: { containers: [{ resources: { limits: { 'nvidia.com/gpu': {} } } }] } }))).text,
    ).toContain('request/object/spec/containers/0/resources/limits/nvidia.com/gpu');
  });

  it('allows at once, before any key, what launches no GPU', async () => {
    await choose({ mode: 'refuse' });
    for (const body of [
      review({}, withoutGpus),
      review({ operation: 'DELETE' }),
      review({ operation: 'UPDATE' }),
      review({ kind: { group: 'apps', version: 'v1', kind: 'Deployment' } }),
      review({ subResource: 'eviction' }),
    ]) {
      expect((await ask(body, '', null)).body).toEqual({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: UID, allowed: true },
      });
    }
  });

  it("knows the team by the same rules as the meter: namespace, label, cluster; what none takes is nobody's", async () => {
    await choose({ mode: 'refuse', withoutBudget: 'warn' });
    const elsewhere = (labels: Json, query = ''): Promise<Reply<Answer>> =>
      ask(review({ namespace: 'web' }, { metadata: { namespace: 'web', labels } }), query);
    expect((await ask(review({}, { metadata: { labels: {} } }), '?cluster=east')).body.response.allowed).toBe(false);
    expect((await ask(review({}, { metadata: { labels: {} } }), '?cluster=west')).body.response.warnings).toEqual([
      expect.stringContaining('team unallocated has no budget'),
    ]);
    expect((await elsewhere({ team: 'research' })).body.response.allowed).toBe(false);
    expect((await elsewhere({ team: 'product' })).body.response.allowed).toBe(true);
    // A bare pod has its name, and no controller.
    const bare = await ask(
      review(
        { name: 'notebook' },
        { metadata: { name: 'notebook', generateName: undefined, ownerReferences: undefined } },
      ),
    );
    expect(bare.body.response).toMatchObject({
      allowed: false,
      auditAnnotations: { team: 'research', budget: 'research-gpus', verdict: 'refused' },
    });
    expect(bare.body.response.auditAnnotations).not.toHaveProperty('owner');
  });

  it("leaves the cluster's own namespaces alone, and those that are exempt", async () => {
    await choose({ mode: 'refuse', exemptNamespaces: ['gpu-*'] });
    for (const namespace of ['kube-system', 'gpu-operator'])
      expect((await ask(review({ namespace }))).body.response).toEqual({ uid: UID, allowed: true });
    expect((await ask(review({ namespace: 'other' }))).body.response.allowed).toBe(false);
  });

  it('answers a dry run as any other, and neither changes anything', async () => {
    await choose({ mode: 'refuse' });
    const trace = (): Promise<unknown> =>
      api.stores.db.query(
        `select (select count(*) from audit) as audit, (select count(*) from work) as work, (select count(*) from recommendation) as recommendation, (select max(weighed_at) from budget_state) as weighed`,
      );
    const before = await trace();
    const [dry, wet] = [await ask(review({ dryRun: true })), await ask(review())];
    expect(dry.body).toEqual(wet.body);
    expect(dry.body.response.allowed).toBe(false);
    expect(await trace()).toEqual(before);
  });

  describe('with budget left', () => {
    const make = (...made: Recommendation[]): Promise<void> =>
      api.stores.db.transaction((tx) =>
        api.stores.recommendations.replaceOpen(tx, 'default', 'research', ['budget-brake'], made, NOW),
      );
    beforeAll(() => spend(90));

    it('lets pods in, until an order to refuse launches is in force', async () => {
      await choose({ mode: 'refuse' });
      expect((await ask(review())).body.response).toEqual({ uid: UID, allowed: true });
      // Proposed for people to decide: nothing is refused yet.
      await make(launchesRefused('recommend'));
      expect((await ask(review())).body.response.allowed).toBe(true);
      await api.stores.db.transaction((tx) =>
        api.stores.recommendations.decide(tx, 'default', 'refuse-recommend', 'approved', 'somebody', NOW),
      );
      const { body } = await ask(review());
      expect(body.response).toMatchObject({ allowed: false, auditAnnotations: { order: 'budget-brake' } });
      expect(body.response.status?.message).toContain('Refuse new launches of research: spend has reached 90 %');
      await api.stores.db.query(`update recommendation set expires_at = $1 where id = 'refuse-recommend'`, [
        new Date(NOW),
      ]);
      expect((await ask(review())).body.response.allowed).toBe(true);
    });

    it('refuses at once what a policy enforces, and no longer than it does', async () => {
      await choose({ mode: 'refuse' });
      await make(launchesRefused('enforce'));
      expect((await ask(review())).body.response.allowed).toBe(false);
      await make();
      expect((await ask(review())).body.response.allowed).toBe(true);
    });
  });

  describe('while the database does not answer', () => {
    /** Nobody can read budgets until `work` is done. */
    const hanging = (work: () => Promise<void>): Promise<void> =>
      api.stores.db.transaction(async (tx) => {
        await tx.query('lock table budget in access exclusive mode');
        await work();
      });

    it('follows the choice of the organisation within the time that the API server waits', async () => {
      await choose({ mode: 'refuse', onFailure: 'refuse', exemptNamespaces: ['gpu-*'] });
      await ask(review());
      await hanging(async () => {
        const { status, body } = await ask(review(), '?timeout=200ms');
        expect([status, body.response.uid, body.response.allowed, body.response.status?.code]).toEqual([
          200,
          UID,
          false,
          503,
        ]);
        expect((await ask(review({ namespace: 'kube-system' }), '?timeout=200ms')).body.response.allowed).toBe(true);
        expect((await ask(review({ namespace: 'gpu-operator' }), '?timeout=200ms')).body.response.allowed).toBe(true);
        expect((await ask(review({}, withoutGpus), '?timeout=200ms')).body.response.allowed).toBe(true);
      });
      await choose({ mode: 'refuse', onFailure: 'allow' });
      // The first may join a look-up that hung, and began before the choice.
      await ask(review());
      await ask(review());
      await hanging(async () => {
        expect((await ask(review(), '?timeout=200ms&onFailure=refuse')).body.response).toMatchObject({
          allowed: true,
          warnings: [expect.stringContaining('unchecked')],
        });
      });
    });

    it("follows the URL as long as the organisation's choice has never been read", async () => {
      const fresh = await api.keyFor({ role: 'viewer' });
      await hanging(async () => {
        expect((await ask(review(), '?timeout=200ms&onFailure=refuse', fresh)).body.response.allowed).toBe(false);
        expect((await ask(review(), '?timeout=200ms', fresh)).body.response.allowed).toBe(true);
      });
    });
  });

  it('is set by an admin, whose choice is audited', async () => {
    const whole = {
      mode: 'refuse',
      withoutBudget: 'off',
      onFailure: 'refuse',
      contact: null,
      exemptNamespaces: [],
      teams: { research: { contact: '#research' } },
    };
    expect(
      (
        await api.call('PUT', '/v1/admission', {
          body: { mode: 'refuse', onFailure: 'refuse', teams: { research: { contact: '#research' } } },
        })
      ).body,
    ).toEqual(whole);
    expect((await api.call('GET', '/v1/admission')).body).toEqual(whole);
    expect(
      (await api.call('PUT', '/v1/admission', { key: await api.keyFor({ role: 'operator' }), body: {} })).status,
    ).toBe(403);
    expect(
      (await api.call('PUT', '/v1/admission', { body: { mode: 'maybe', teams: { a: { mood: 'warn' } } } })).status,
    ).toBe(400);
    const [entry] = await api.stores.db.query<{ detail: Json }>(
      `select detail from audit where verb = 'admission.set' order by id desc limit 1`,
    );
    expect(entry?.detail).toMatchObject({ after: whole });
  });

  it('speaks TLS at a door of its own, and nothing else is behind that', async () => {
    const door = await listenTls(api.app, {
      host: '127.0.0.1',
      port: 0,
      certFile: path.join(TLS, 'cert.pem'),
      keyFile: path.join(TLS, 'key.pem'),
    });
    const post = (url: string, body: string): Promise<{ status: number | undefined; text: string }> =>
      new Promise((resolve, reject) => {
        const sent = httpsRequest(
          `${door.address}${url}`,
          {
            method: 'POST',
            ca: readFileSync(path.join(TLS, 'cert.pem')),
            headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
          },
          (response) => {
            let text = '';
            response
              .setEncoding('utf8')
              .on('data', (chunk: string) => (text += chunk))
              .on('end', () => resolve({ status: response.statusCode, text }));
          },
        );
        sent.on('error', reject).end(body);
      });
    try {
      const { status, text } = await post('/admission/v1/reviews?timeout=10s', JSON.stringify(review()));
      expect([status, (JSON.parse(text) as Answer).response.uid]).toEqual([200, UID]);
      expect((await post('/v1/quotes', '{}')).status).toBe(404);
    } finally {
      await door.close();
    }
    await expect(
      listenTls(api.app, {
        host: '127.0.0.1',
        port: 0,
        certFile: path.join(TLS, 'key.pem'),
        keyFile: path.join(TLS, 'cert.pem'),
      }),
    ).rejects.toMatchObject({ kind: 'invalid' });
  });
});
