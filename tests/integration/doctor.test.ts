/**
 * bursar doctor on a real database, a real queue, a cluster's own word on permissions, and a fleet that is not read any
 * more.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Examination } from '../../src/cli/context.js';
import { run } from '../../src/cli/program.js';
import { parseConfig, SETTING_NAMES } from '../../src/config.js';
import { UNALLOCATED } from '../../src/core/cost/allocation.js';
import { Failure } from '../../src/core/errors.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { GpuSample } from '../../src/core/ports.js';
import { inspectParts } from '../../src/parts.js';
import { LineQueue } from '../../src/pipeline/queue.js';
import { probePostgres, probeRedis } from '../../src/pipeline/queue-probe.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import { rejoin, takeSamples } from '../../src/application/fleet/take-samples.js';
import { testBursar } from '../support/bursar.js';
import { instance } from '../support/memory-cloud.js';
import { KubernetesApi, refusal } from '../support/kubernetes-api.js';
import { describeWith } from '../support/programs.js';
import { freshRedis } from '../support/queues.js';
import { HOUR, metered, MONDAY } from '../support/records.js';
import { localOfComposed } from '../support/local.js';
import { gpuSample } from '../support/makers.js';

const measured = (at: number): GpuSample =>
  gpuSample({
    resource: 'gpu-1.lab',
    gpu: 'GPU-1',
    at,
    gpuUtilisationRatio: 0,
    memoryUsedRatio: 0,
    memoryUsedMib: 0,
    labels: { Hostname: 'gpu-1.lab' },
  });

interface Answer {
  readonly ok: boolean;
  readonly findings: readonly { check: string; status: string; detail: string; remedy: string | null }[];
  readonly permissions: readonly { connection: string; use: string; ability: string; checked: string }[];
}

describe('doctor', async () => {
  const bursar = await testBursar({ now: MONDAY + 50 * HOUR });
  const { clock } = bursar;
  let cluster: KubernetesApi;
  beforeAll(async () => {
    cluster = await KubernetesApi.start();
  });
  afterAll(() => cluster.wire.close());

  async function doctor(environment: Record<string, string> = {}): Promise<Answer & { text: string }> {
    let out = '';
    const examination: Examination = {
      configuration: async () => ({ settings: SETTING_NAMES, problems: [] }),
      parts: () => inspectParts(environment, clock),
      redis: probeRedis,
      tables: ({ db }) => probePostgres(db),
    };
    parseConfig(environment);
    const { stores, importer, runner } = bursar;
    await run(['doctor', '--json'], {
      environment: { DATABASE_URL: bursar.url, ...environment },
      clock,
      stdout: { write: (text) => (out += text) },
      stderr: { write: () => undefined },
      serve: async () => undefined,
      remote: null,
      examination,
      connect: async () => localOfComposed({ stores, importer, policies: [idleStop as Policy], runner }, clock),
    });
    return { ...(JSON.parse(out) as Answer), text: out };
  }
  const found = ({ findings }: Answer, check: string): string[] =>
    findings.filter((finding) => finding.check === check).map(({ status, detail }) => `${status}: ${detail}`);

  it('says that the queue has no tables before the first start, and that it has them after', async () => {
    expect(found(await doctor(), 'queue')).toEqual(['attend: in PostgreSQL; its tables do not exist yet']);
    await (
      await LineQueue.open(
        { databaseUrl: bursar.url, redisUrl: null, concurrency: 0, stallSeconds: 10 },
        bursar.runner,
        () => undefined,
      )
    ).close();
    const answer = await doctor();
    expect(found(answer, 'queue')).toEqual(['ok: in PostgreSQL']);
    expect(found(answer, 'providers')).toEqual(['ok: none is set up: usage, bills and prices come by import']);
  });

  it('names what has no price, by SKU', async () => {
    await bursar.take([
      metered('a', { start: MONDAY, end: MONDAY + HOUR }),
      metered('b', { start: MONDAY + HOUR, end: MONDAY + 3 * HOUR }),
    ]);
    await bursar.runner.drain();
    expect(found(await doctor(), 'unpriced usage')).toEqual([
      expect.stringMatching(/^attend: AWS p5\.48xlarge: 24(\.0+)? GPU-hours of 2026-10 are in no cost$/),
    ]);
  });

  it('says of how many measured GPUs no machine, no document or no team is known, and what to do', async () => {
    const { db, stores } = bursar;
    const evidence = async () => (await doctor()).findings.find(({ check }) => check === 'evidence')!;
    const take = async (): Promise<void> => {
      const card = measured(clock.now());
      const parts = ['1', '2'].map((migInstance) => ({ ...card, gpu: 'GPU-9', migInstance }));
      // Two sources tell of one machine, one of them of a card that is split, too.
      await db.transaction((tx) =>
        takeSamples(stores, tx, 'default', 'dcgm', [card, { ...card, gpu: 'GPU-9' }, ...parts]),
      );
      await db.transaction((tx) => takeSamples(stores, tx, 'default', 'smi', [card]));
    };
    const fleet = (team: string): Promise<unknown> =>
      db.transaction(async (tx) => {
        clock.at += 1000;
        const targets = [{ ...instance('gpu-1'), name: 'gpu-1', launchedAt: 0, knownAs: ['gpu-1.lab'] }];
        const reading = { at: clock.now(), complete: true, problems: [], targets };
        await stores.fleet.save(tx, 'default', 'lab', reading, () => team);
        await stores.fleet.reassign(tx, 'default', 'lab', () => team);
        await rejoin(stores, tx, 'default', clock.now());
      });
    expect(await evidence()).toMatchObject({ status: 'ok', detail: 'no GPU was measured within an hour' });
    await take();
    expect(await evidence()).toMatchObject({
      status: 'attend',
      detail: expect.stringMatching(
        /^2 GPUs \(1 split: 2 MIG parts\) are measured whose machine, team and price are unknown.*no connection knows a machine called gpu-1/,
      ),
      remedy: expect.stringContaining('connect the cloud'),
    });
    await fleet(UNALLOCATED);
    expect(await evidence()).toMatchObject({
      detail: '2 GPUs (1 split: 2 MIG parts) are measured on machines that belong to no team',
    });
    const document = { name: 'mine', policy: 'idle-stop', teams: ['research'], mode: 'recommend' };
    const read = readPolicyDocument(document, [idleStop as Policy]);
    await stores.policies.save(db, 'default', read, 'test', clock.now());
    expect(await evidence()).toMatchObject({
      status: 'attend',
      detail: `2 GPUs (1 split: 2 MIG parts) are measured for teams to which no idle-stop document applies: ${UNALLOCATED}`,
      remedy: expect.stringContaining("teams: '*'"),
    });
    await fleet('research');
    expect(await evidence()).toMatchObject({ status: 'ok' });
  });

  it('names what says by a tag whose it is and belongs to nobody, with the command that makes the rules', async () => {
    const { db, stores } = bursar;
    const teams = async () => (await doctor()).findings.find(({ check }) => check === 'teams');
    const save = (team: string, ...labels: Record<string, string>[]): Promise<unknown> =>
      db.transaction(async (tx) => {
        clock.at += 1000;
        const targets = labels.map((of, n) => ({ ...instance(`t-${n}`), labels: of }));
        const reading = { at: clock.now(), complete: true, problems: [], targets };
        await stores.fleet.save(tx, 'default', 'tagged', reading, () => team);
        await stores.fleet.reassign(tx, 'default', 'tagged', () => team);
      });
    const all: Record<string, string>[] = [
      { team: 'research' },
      { team: 'research' },
      { Team: "o'neil" },
      { team: ' ' },
      { cost: 'research' },
    ];
    await save(UNALLOCATED, ...all);
    expect(await teams()).toMatchObject({
      status: 'attend',
      detail: expect.stringMatching(/: team=research \(2\), Team=o'neil \(1\)$/),
      remedy:
        `echo '[{"match":{"tag":{"key":"team","value":"research"}},"team":"research"},` +
        `{"match":{"tag":{"key":"Team","value":"o'\\''neil"}},"team":"o'\\''neil"}]' > rules.json && bursar rules set rules.json`,
    });
    // Where rules hold, setting these alone would take those away.
    await stores.organisations.saveRules(db, 'default', [{ match: { namespace: 'x' }, team: 'y' }], 'test');
    expect((await teams())?.remedy).toMatch(/^add this to the current rules .*"value":"research"/);
    await save('research', ...all);
    expect(await teams()).toBeUndefined();
  });

  it('reads a cluster, and asks it what the two credentials may do', async () => {
    cluster.wire.on(
      ({ path }) => path.endsWith('/selfsubjectaccessreviews'),
      ({ body, headers }) => {
        const { spec } = JSON.parse(body) as {
          spec: { resourceAttributes: { verb: string; resource: string; group: string; subresource?: string } };
        };
        const { verb, resource, group, subresource } = spec.resourceAttributes;
        const acts = headers['authorization'] === 'Bearer hush-acting';
        const reads = verb === 'get' || verb === 'list';
        const allowed = acts ? `${verb} ${resource}.${group}/${subresource ?? ''}` !== 'delete nodes./' : reads;
        return {
          status: 201,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ spec, status: { allowed } }),
        };
      },
    );
    const answer = await doctor({
      BURSAR_KUBERNETES_SERVER: cluster.wire.url,
      BURSAR_KUBERNETES_TOKEN: 'hush-reading',
      BURSAR_KUBERNETES_ACT_TOKEN: 'hush-acting',
      BURSAR_KUBERNETES_CLUSTER: 'lab',
    });
    const [read] = found(answer, 'provider kubernetes:lab');
    expect(read).toMatch(/^ok: read now: \d+ target\(s\)$/);
    expect(answer.permissions.map(({ use, ability, checked }) => `${use} ${ability} ${checked}`)).toEqual([
      'read usage granted',
      'read fleet granted',
      'act stop granted',
      'act start granted',
      'act move granted',
      'act scale granted',
      'act set-bounds granted',
      'act cordon granted',
      'act drain granted',
      'act replace refused',
      'act terminate refused',
    ]);
    expect(found(answer, 'provider kubernetes:lab').slice(1)).toEqual([
      'attend: replace is refused: delete nodes',
      'attend: terminate is refused: delete nodes',
    ]);
    expect(cluster.writes.filter(({ path }) => !path.endsWith('/selfsubjectaccessreviews'))).toEqual([]);
    expect(answer.text).not.toContain('hush');
  });

  it('says what a cluster refuses, and what may be done', async () => {
    const closed = await KubernetesApi.start();
    try {
      closed.wire.on(
        ({ method }) => method === 'GET',
        () => refusal(401, 'Unauthorized'),
      );
      const answer = await doctor({ BURSAR_KUBERNETES_SERVER: closed.wire.url, BURSAR_KUBERNETES_TOKEN: 'old' });
      expect(answer.ok).toBe(false);
      expect(answer.findings.find(({ check }) => check === 'provider kubernetes')).toMatchObject({
        status: 'wrong',
        detail: expect.stringContaining('401') as string,
        remedy: expect.stringContaining('list nodes') as string,
      });
    } finally {
      await closed.wire.close();
    }
  });

  it('says which parts of a collection could not be read', async () => {
    const { stores } = bursar;
    const lacking = [{ part: 'eu-west-1', problem: 'AWS denied ec2:DescribeInstanceTypes', readTo: null }];
    const collection = { connection: 'aws', what: 'spot' as const };
    const now = clock.now();
    await stores.collections.saveCollected(stores.db, 'default', collection, now, now, lacking);
    expect(found(await doctor({}), 'spot aws')).toEqual([
      'attend: read in part: eu-west-1: AWS denied ec2:DescribeInstanceTypes',
    ]);
    await stores.collections.saveCollected(stores.db, 'default', collection, now, now);
    expect(found(await doctor({}), 'spot aws')).toEqual([]);
  });

  it('says which fleets are not read any more', async () => {
    const { stores } = bursar;
    await stores.collections.takeDue(
      stores.db,
      'default',
      [
        { connection: 'fake', what: 'fleet', everyMs: 60_000 },
        { connection: 'gone', what: 'fleet', everyMs: 60_000 },
      ],
      clock.now(),
    );
    await stores.fleet.save(
      stores.db,
      'default',
      'fake',
      { at: clock.now() - 60_000, targets: [], complete: true, problems: [] },
      () => 'unallocated',
    );
    await stores.fleet.save(
      stores.db,
      'default',
      'gone',
      { at: clock.now() - 2 * HOUR, targets: [], complete: true, problems: [] },
      () => 'unallocated',
    );
    const answer = await doctor({ BURSAR_FAKE_SEED: '1' });
    expect(found(answer, 'fleet fake')).toEqual(['ok: 0 targets, read 60 s ago']);
    expect(found(answer, 'fleet gone')).toEqual([
      'attend: last read 7,200 s ago, and this machine has no such connection',
    ]);
    // What another process reads is connected there.
    expect(found(await doctor(), 'providers')).toEqual([]);
    expect(found(answer, 'channel log')).toEqual([expect.stringContaining('ok: one line per alert on standard error')]);
    clock.at += HOUR;
    expect(found(await doctor({ BURSAR_FAKE_SEED: '1' }), 'fleet fake')).toEqual(['wrong: last read 3,660 s ago']);
  });

  describeWith('redis-server', 'with Redis', () => {
    it('asks it, and says where it does not answer, without its address', async () => {
      const [finding = ''] = found(await doctor({ REDIS_URL: await freshRedis() }), 'queue');
      expect(finding).toMatch(/^(ok|attend): in Redis \d+\.\d+\.\d+, which answers/);
      const away = await doctor({ REDIS_URL: 'redis://:hush@127.0.0.1:1' });
      expect(found(away, 'queue')).toEqual(['wrong: Redis does not answer: ECONNREFUSED']);
      expect(away.text).not.toContain('hush');
      await expect(probeRedis('redis://user:hush@127.0.0.1:1')).rejects.toThrow(Failure);
    });
  });
});
