/**
 * What the admission webhook leaves behind, and what it finds reserved: over HTTP, on a real database. Refusals are
 * counted a team, workload and day, behind the answer; reserved budget is taken, but for the pod that names its
 * reservation.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { AdmissionNote } from '../../src/core/budget/admission.js';
import { AdmissionStore, KEPT_DAYS, type StoredAdmission } from '../../src/store/budget/admissions.js';
import type { Queryable } from '../../src/store/database.js';
import { BUDGET, setSpent } from '../support/admission-world.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { reply as captured } from '../support/kubernetes-api.js';
import { NOW, testApi, type Reply } from '../support/web.js';

interface Answer {
  readonly response: {
    allowed: boolean;
    warnings?: string[];
    auditAnnotations?: Record<string, string>;
    status?: { message: string };
  };
}
interface Page {
  readonly items: readonly StoredAdmission[];
  readonly nextCursor: string | null;
}
type Json = Record<string, unknown>;

/** A pod of a team by its label, and of a controller. */
function review(team: string, owner: string, metadata: Json = {}, request: Json = {}): Json {
  const body = captured<{ request: { object: { metadata: Json } } }>('admission-review');
  const { object } = body.request;
  const own = {
    ...object.metadata,
    labels: { team },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: 'u', controller: true }],
    ...metadata,
  };
  return { ...body, request: { ...body.request, ...request, object: { ...object, metadata: own } } };
}

const note = (workload: string, over: Partial<AdmissionNote> = {}): AdmissionNote => ({
  team: 'research',
  outcome: 'refused',
  cluster: '',
  namespace: 'ml',
  workload,
  reasons: ['budget-spent'],
  message: 'nothing is left',
  ...over,
});

describe('the admission webhook', async () => {
  const api = await testApi();
  let key = '';
  const ask = async (body: unknown, query = ''): Promise<Answer['response']> =>
    (await api.call<Answer>('POST', `/admission/v1/reviews${query}`, { key, body })).body.response;
  const listed = async (query = '', caller: string = api.admin): Promise<Reply<Page>> => {
    await api.stores.admissions.settled();
    return api.call<Page>('GET', `/v1/admissions${query}`, { key: caller });
  };
  const spend = (units: number): Promise<void> => setSpent(api, units);

  beforeAll(async () => {
    const { stores } = api;
    key = await api.keyFor({ role: 'viewer' });
    for (const id of ['research', 'product']) await api.call('PUT', `/v1/teams/${id}`, { body: { name: id } });
    await api.call('PUT', '/v1/rules', {
      body: {
        rules: ['research', 'product'].map((team) => ({ match: { label: { key: 'team', value: team } }, team })),
      },
    });
    await stores.budgets.save(stores.db, 'default', BUDGET);
    await stores.prices.add(
      stores.db,
      'default',
      [{ kind: 'price', price: instancePrice('10', { minimumSeconds: 0 }) }],
      'test',
    );
    await api.call('PUT', '/v1/admission', { body: { mode: 'refuse', withoutBudget: 'warn' } });
  });

  it('has written nothing where nobody objected, and the report does not take that for nothing refused', async () => {
    expect((await listed()).body).toEqual({ items: [], nextCursor: null });
    expect(
      (await api.stores.reports.facts(api.stores.db, 'default', 'research', '2026-10', NOW)).refusedLaunches,
    ).toEqual({ known: null, reason: 'not-recorded' });
    await spend(10);
    expect(await ask(review('research', 'trainer-1'))).toMatchObject({ allowed: true });
    expect((await listed()).body.items).toEqual([]);
    expect(
      (await api.stores.reports.facts(api.stores.db, 'default', 'research', '2026-10', NOW)).refusedLaunches,
    ).toEqual({ known: 0, reason: null });
  });

  it('counts a row a team, workload and day, not a row a retry', async () => {
    await spend(120);
    for (let tries = 0; tries < 3; tries++)
      expect((await ask(review('research', 'trainer-1'), '?cluster=east')).allowed).toBe(false);
    expect((await ask(review('research', 'trainer-2'))).allowed).toBe(false);
    expect((await ask(review('product', 'web-1'))).warnings).toHaveLength(1);
    const { items } = (await listed()).body;
    expect(
      items.map(({ team, cluster, workload, refused, warned, reasons }) => [
        team,
        cluster,
        workload,
        refused,
        warned,
        reasons,
      ]),
    ).toEqual([
      ['product', '', 'ReplicaSet web-1', 0, 1, ['no-budget']],
      ['research', '', 'ReplicaSet trainer-2', 1, 0, ['budget-spent']],
      ['research', 'east', 'ReplicaSet trainer-1', 3, 0, ['budget-spent']],
    ]);
    expect(items[2]).toMatchObject({
      day: '2026-10-07',
      namespace: 'ml',
      firstAt: '2026-10-07T00:00:00Z',
      message: expect.stringContaining('team research has no budget left: budget research-gpus') as unknown,
    });
  });

  it('leaves no note of a dry run, nor of what is exempt', async () => {
    const before = (await listed()).body;
    expect((await ask(review('research', 'trainer-3', {}, { dryRun: true }))).allowed).toBe(false);
    expect((await ask(review('research', 'trainer-3', {}, { namespace: 'kube-system' }))).allowed).toBe(true);
    expect((await listed()).body).toEqual(before);
  });

  it('is listed by team, day and page, to who may see the team', async () => {
    const first = (await listed('?limit=2')).body;
    const second = (await listed(`?limit=2&cursor=${first.nextCursor ?? ''}`)).body;
    expect([...first.items, ...second.items]).toEqual((await listed()).body.items);
    expect(second.nextCursor).toBeNull();
    expect((await listed('?team=product')).body.items.map(({ workload }) => workload)).toEqual(['ReplicaSet web-1']);
    expect((await listed('?from=2026-10-07&to=2026-10-08')).body.items).toHaveLength(3);
    expect((await listed('?from=2026-10-08')).body.items).toEqual([]);
    const product = await api.keyFor({ role: 'viewer', teams: ['product'] });
    expect((await listed('', product)).body.items.map(({ team }) => team)).toEqual(['product']);
    expect((await listed('?team=research', product)).status).toBe(403);
    for (const wrong of [
      '?cursor=nonsense',
      `?cursor=${Buffer.from('"[1]"').toString('base64url')}`,
      `?cursor=${Buffer.from(JSON.stringify(JSON.stringify(['a', '2026-99-99', '', '', '']))).toString('base64url')}`,
      '?from=yesterday',
    ]) {
      expect((await listed(wrong)).status).toBe(400);
    }
  });

  it('tells the monthly report, team by team', async () => {
    const launches = async (team: string, month = '2026-10') =>
      (await api.stores.reports.facts(api.stores.db, 'default', team, month, NOW)).refusedLaunches;
    expect(await launches('research')).toEqual({ known: 4, reason: null });
    expect(await launches('product')).toEqual({ known: 0, reason: null });
    expect(await launches('research', '2026-09')).toEqual({ known: null, reason: 'not-recorded' });
  });

  it('answers while nothing can be written, and writes it afterwards', async () => {
    await api.stores.db.transaction(async (tx) => {
      await tx.query('lock table admission in access exclusive mode');
      for (let tries = 0; tries < 5; tries++) expect((await ask(review('research', 'trainer-4'))).allowed).toBe(false);
    });
    expect(
      (await listed('?team=research')).body.items.find(({ workload }) => workload === 'ReplicaSet trainer-4')?.refused,
    ).toBe(5);
    expect((await api.call('GET', '/metrics')).text).toContain('\nbursar_admission_notes_dropped_total 0\n');
  });

  describe('with reserved budget', () => {
    let id = '';
    const named = (name: string): Json => ({ annotations: { 'bursar.io/reservation': name } });

    beforeAll(async () => {
      await spend(30);
      // Eight GPUs for seven hours: 70 of the 70 that are left.
      const { status, body } = await api.call<{ id: string }>('POST', '/v1/reservations', {
        body: { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 7, region: 'us-east-1', team: 'research' },
      });
      expect(status).toBe(200);
      ({ id } = body);
    });

    it('finds it taken, whoever else asks', async () => {
      const refused = await ask(review('research', 'other-1'));
      expect(refused.allowed).toBe(false);
      expect(refused.status?.message).toContain(
        'planned 100.00 USD, spent 30.00 USD, reserved 70.00 USD, left 0.00 USD',
      );
      expect((await ask(review('research', 'other-1', named('res-0000000000000000')))).status?.message).toContain(
        'its reservation res-0000000000000000 holds nothing of it',
      );
    });

    it('lets in the pod that names it, and says so', async () => {
      expect(await ask(review('research', 'own-1', named(id)))).toMatchObject({
        allowed: true,
        auditAnnotations: { reservation: id },
      });
      expect(
        (await ask(review('research', 'own-1', { labels: { team: 'research', 'bursar.io/reservation': id } }))).allowed,
      ).toBe(true);
      // Others have spent it meanwhile: what was promised stands.
      await spend(130);
      expect((await ask(review('research', 'own-1', named(id)))).allowed).toBe(true);
      expect((await ask(review('research', 'other-1'))).allowed).toBe(false);
      await spend(30);
    });

    it('is for nobody once it is released', async () => {
      await api.call('DELETE', `/v1/reservations/${id}`);
      expect((await ask(review('research', 'other-1'))).allowed).toBe(true);
      await spend(100);
      expect((await ask(review('research', 'own-1', named(id)))).allowed).toBe(false);
    });
  });
});

describe('what is remembered', async () => {
  const { db } = await testBursar();
  const rows = (): Promise<unknown[]> =>
    db.query(
      `select workload, refused::int as refused, warned::int as warned, reasons, message from admission order by workload`,
    );
  const review1 = (store: AdmissionStore, notes: readonly AdmissionNote[], at = NOW): void =>
    store.note({ organisation: 'default', at, notes, zoneOf: () => 'UTC' });
  /** The database, away for so many statements. */
  const away = (times: number): Queryable => ({
    async query(sql, values) {
      if (times-- > 0) throw new Error('the database is away');
      return db.query(sql, values);
    },
  });

  it('is counted together by every process that writes it', async () => {
    const [one, two] = [new AdmissionStore(db), new AdmissionStore(db)];
    review1(one, [note('a'), note('b', { outcome: 'warned', reasons: ['no-budget'] })]);
    review1(two, [note('a', { reasons: ['launches-stopped'], message: 'stop' })], NOW + 1000);
    review1(two, [note('a', { outcome: 'warned' })], NOW + 500);
    await Promise.all([one.settled(), two.settled()]);
    expect(await rows()).toEqual([
      {
        workload: 'a',
        refused: 2,
        warned: 1,
        reasons: expect.arrayContaining(['budget-spent', 'launches-stopped']) as unknown,
        message: 'stop',
      },
      { workload: 'b', refused: 0, warned: 1, reasons: ['no-budget'], message: 'nothing is left' },
    ]);
    expect(await db.query(`select reviewed::int as reviewed from admission_day`)).toEqual([{ reviewed: 3 }]);
  });

  it('is kept over an outage, and counted once', async () => {
    const failures: unknown[] = [];
    const store = new AdmissionStore(away(2), 20);
    store.onFailure = (error) => failures.push(error);
    review1(store, [note('c')]);
    await store.settled();
    review1(store, [note('c'), note('d')]);
    await expect
      .poll(async () => (await rows()).slice(2))
      .toEqual([
        { workload: 'c', refused: 2, warned: 0, reasons: ['budget-spent'], message: 'nothing is left' },
        { workload: 'd', refused: 1, warned: 0, reasons: ['budget-spent'], message: 'nothing is left' },
      ]);
    expect([failures.length, store.dropped]).toEqual([2, 0]);
  });

  it('is dropped and counted where it does not fit, and nothing else is lost', async () => {
    const store = new AdmissionStore(away(Infinity), 60_000);
    for (let n = 0; n < 6003; n++) review1(store, [note(`w${n}`)]);
    review1(store, [note('w0')]);
    await store.settled();
    expect(store.dropped).toBe(3);
  });

  it('is forgotten after a while, and no other day is', async () => {
    const DAY = 86_400_000;
    const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
    for (const age of [KEPT_DAYS + 1, KEPT_DAYS]) {
      await db.query(
        `insert into admission (organisation, team, day, cluster, namespace, workload, refused, reasons, message, first_at, last_at) values ('default', 'old', $1, '', '', 'w', 1, '{}', '', now(), now())`,
        [day(NOW - age * DAY)],
      );
    }
    const store = new AdmissionStore(db);
    review1(store, []);
    await store.settled();
    expect(await db.query(`select day::text as day from admission where team = 'old'`)).toEqual([
      { day: day(NOW - KEPT_DAYS * DAY) },
    ]);
  });
});
