/**
 * The Google Cloud connection before a server that holds each request and each reply against Google's discovery
 * documents and verifies every token.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { cluesOf, FleetJoin } from '../../src/core/fleet/join.js';
import type { Price, PriceEvent } from '../../src/core/price/price.js';
import { requestIdOf } from '../../src/providers/gcp/apply.js';
import { provider } from '../../src/providers/gcp/gcp.js';
import { nodeTarget } from '../../src/providers/kubernetes/objects.js';
import { allOperations } from '../support/discovery.js';
import { googleError, GoogleApi } from '../support/google-api.js';
import { connectGoogle, googleInstance, googleSku, playAccount } from '../support/google-world.js';
import { ROOT } from '../support/source.js';
import { describeProviderContract, memberRefusals, REFUSED_TO_MEMBERS } from './contract.js';

const NOW = Date.UTC(2026, 10, 20, 8);
const AT = 'instance/ml-prod/us-central1-a';
const TRAINER = `${AT}/1001`;
const NOTEBOOK = `${AT}/1003`;
const MEMBER = `${AT}/1005`;
const SCRATCH = `${AT}/1007`;
const SERVING = 'mig/ml-prod/us-central1-a/serving';
const TRAINERS = 'mig/ml-prod/us-central1/trainers';
const TOKEN = 'bursar-3f2a1c9e-7b54-4d86-9a10-5c1d2e3f4a5b';

let api: GoogleApi;
let now = NOW;
const clock = { now: () => now };
const connect = (over: Readonly<Record<string, string | undefined>> = {}) => connectGoogle(api, over, clock);
const readOnly = () => connect({ BURSAR_GCP_ACT_CREDENTIALS: undefined });

beforeEach(async () => {
  now = NOW;
  api = await GoogleApi.start();
  playAccount(api);
});
afterEach(async () => {
  expect(api.problems).toEqual([]);
  await api.close();
});

async function pricesOf(connection = connect()): Promise<Price[]> {
  const events: PriceEvent[] = [];
  for await (const page of connection.prices?.(0) ?? []) events.push(...page);
  return events.flatMap((event) => (event.kind === 'price' ? [event.price] : []));
}

/** Dollars of an hour of the whole machine, cut at a hundredth of a nano. */
const hourly = ({ rate, gpus }: Price): number =>
  Number((rate.nanos * 360_000n * BigInt(gpus ?? 0)) / rate.quantity) / 1e11;

const applied = async (effect: Effect, token = TOKEN, connection = connect()) =>
  connection.apply?.(effect, token, (await connection.target?.(effect.target)) ?? null);

describe('the settings', () => {
  it('are none, complete, or named one by one without a value', () => {
    expect(provider.connect({}, clock)).toBeNull();
    expect(() =>
      provider.connect(
        { BURSAR_GCP_PROJECTS: 'Not A Project', BURSAR_GCP_ACT_CREDENTIALS: 'default', BURSAR_GCP_CURRENCY: 'pesetas' },
        clock,
      ),
    ).toThrow(
      /^(?!.*(?:Not A|pesetas)).*REGIONS is missing.*READ_CREDENTIALS is missing.*PROJECTS is not a list.*ACT_CREDENTIALS is not file.*CURRENCY/,
    );
  });
});

describe('the page that tells how to connect it', () => {
  const page = readFileSync(path.join(ROOT, 'docs/how-to/connect-gcp.md'), 'utf8');
  const role = (name: string): unknown => {
    const yaml = new RegExp('```yaml ' + name + '\\n([^`]+)```').exec(page)?.[1] ?? '';
    return (parse(yaml) as { includedPermissions: unknown }).includedPermissions;
  };
  const { effects, ...reading } = provider.abilities;
  const permissions = (all: readonly (readonly string[] | null)[]) =>
    [...new Set(all.flatMap((one) => one ?? []))].sort();

  it('has roles with what is declared, and nothing more', () => {
    expect(role('read')).toEqual(permissions(Object.values(reading)));
    expect(role('act')).toEqual(permissions(Object.values(effects)));
  });

  it('has variables that connect, and says what the doctor then says', async () => {
    const given = Object.fromEntries(
      [...page.matchAll(/^export (BURSAR_GCP_\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    const files = {
      'file:/etc/bursar/read.json': api.accounts.read.file,
      'file:/etc/bursar/act.json': api.accounts.act.file,
    };
    const settings = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        value in files ? `file:${files[value as keyof typeof files]}` : value,
      ]),
    );
    const connection = provider.connect({ ...settings, BURSAR_GCP_ENDPOINT: api.url }, clock);
    expect(connection?.canAct).toBe(true);
    expect(page).toContain(`read now: ${(await connection?.fleet?.())?.targets.length} target(s)`);
    expect(page).toContain(`may be asked to ${(await connection?.effects?.())?.join(', ')};`);
    expect((await connection?.target?.(TRAINER))?.name).toBe('trainer-1');
  });

  it('gives those rights that the operations need, and the operations need those', () => {
    const needed = allOperations().flatMap(({ permission }) => (permission.startsWith('compute.') ? [permission] : []));
    expect(permissions([role('read') as string[], role('act') as string[]])).toEqual(permissions([needed]));
  });
});

describe('the fleet', () => {
  it('is what has GPUs, or may have, in the regions that are looked at', async () => {
    const { targets, complete, problems } = (await connect().fleet?.()) ?? { targets: [] };
    expect({ complete, problems }).toEqual({ complete: true, problems: [] });
    expect(
      targets.map((one) => [one.target, one.sku, one.gpuModel, one.gpus, one.term, one.state, one.billing]),
    ).toEqual([
      [TRAINER, 'a2-highgpu-1g', 'A100-40GB', 1, 'on-demand', 'running', 'billed'],
      ['instance/ml-prod/us-central1-b/1002', 'g2-standard-4', 'L4', 1, 'spot', 'running', 'billed'],
      [NOTEBOOK, 'n1-standard-8+1xnvidia-tesla-t4', 'T4', 1, 'on-demand', 'stopped', 'partly'],
      [MEMBER, 'a3-highgpu-8g', 'H100', 8, 'on-demand', 'running', 'billed'],
      // A type that Google does not know blinds nothing, and is not known itself.
      [`${AT}/1006`, 'x9-mega-8', null, null, 'on-demand', 'running', 'billed'],
      [SCRATCH, 'a2-highgpu-1g', 'A100-40GB', 1, 'on-demand', 'stopped', 'partly'],
      [SERVING, 'g2-standard-4', 'L4', 1, 'spot', 'running', 'billed'],
      [TRAINERS, 'a3-highgpu-8g', 'H100', 8, 'on-demand', 'running', 'billed'],
      [
        'mig/ml-prod/us-central1-a/gke-ml-gpu-pool-7f-grp',
        'a2-highgpu-1g',
        'A100-40GB',
        1,
        'on-demand',
        'running',
        'billed',
      ],
      ['commitment/ml-prod/us-central1/gpus-2026', null, 'A100-40GB', 1, 'reserved-1y', 'running', 'billed'],
    ]);
    expect(new Set(api.asked.map(({ use }) => use))).toEqual(new Set(['read']));
  });

  it('says how others call a machine, what a stop loses, who keeps it, and what its labels mean', async () => {
    const connection = connect();
    expect(await connection.target?.(TRAINER)).toMatchObject({
      knownAs: [
        'trainer-1.us-central1-a.c.ml-prod.internal',
        'trainer-1.c.ml-prod.internal',
        '10.0.0.1',
        'gce://ml-prod/us-central1-a/trainer-1',
      ],
      paid: 'hourly',
      labels: {
        team: 'vision',
        'bursar.io/workload-kind': 'training',
        'bursar.io/job-restart-hours': '0.5',
        'google:project': 'ml-prod',
      },
    });
    // Its reservation is paid for whether it runs or not; of its metadata nothing is kept but the group.
    const member = await connection.target?.(MEMBER);
    expect(member).toMatchObject({ paid: 'elsewhere', localDisks: true, labels: { 'bursar:target': TRAINERS } });
    expect(JSON.stringify(member)).not.toContain('hush');
    expect((await connection.target?.(NOTEBOOK))?.ruledOut).toMatchObject({ terminate: expect.any(String) as string });
  });

  it('has the machine under a node of GKE, which names it in a way of its own', async () => {
    const node = nodeTarget(
      { metadata: { name: 'trainer-1' }, spec: { providerID: 'gce://ml-prod/us-central1-a/trainer-1' } },
      { provider: 'Google Cloud', account: null },
    );
    const machine = (await connect().target?.(TRAINER)) ?? node;
    const all = [
      { connection: 'gcp', team: 'vision', firstSeenAt: 0, seen: machine },
      { connection: 'kubernetes', team: 'vision', firstSeenAt: 0, seen: node },
    ];
    const labels = { Hostname: 'trainer-1' };
    const clues = cluesOf({ resource: 'trainer-1', namespace: null, pod: null, labels, gpuModel: null });
    expect(new FleetJoin(all).join(clues).found?.seen.target).toBe(TRAINER);
  });

  it('says of a group who sets its size: its autoscaler, or GKE', async () => {
    const connection = connect();
    expect(await connection.target?.(SERVING)).toMatchObject({
      replicas: { desired: 2, ready: 2, min: 1, max: 4 },
      spotRatio: 1,
      group: { policies: [{ name: 'serving-as', follows: true }] },
      ruledOut: { scale: expect.stringContaining('serving-as') as string },
    });
    const pool = await connection.target?.('mig/ml-prod/us-central1-a/gke-ml-gpu-pool-7f-grp');
    expect(pool?.ruledOut?.scale).toContain('GKE');
    expect(await connection.target?.(TRAINERS)).toMatchObject({ replicas: { min: null, max: null } });
  });

  it('is incomplete where a zone does not answer, an entry cannot be read, or an API is denied: the rest stands', async () => {
    api.unreachable = ['zones/us-central1-b', 'zones/asia-east1-a'];
    api.instances.push({ ...googleInstance('1009', 'later', 'a2-highgpu-1g'), status: 'RUNNING' });
    api.denied = ['compute.regionCommitments.aggregatedList'];
    const reading = await connect().fleet?.();
    expect(reading?.complete).toBe(false);
    expect(reading?.targets).toHaveLength(9);
    expect([...(reading?.problems ?? [])].sort()).toEqual([
      'ml-prod: commitments: Google Cloud denied compute.commitments.list (forbidden): the permission is missing',
      'ml-prod: instances: us-central1-b (UNREACHABLE) did not answer',
      'ml-prod: instances: us-central1-b did not answer',
      'ml-prod: managed instance groups: us-central1-b (UNREACHABLE) did not answer',
      'ml-prod: managed instance groups: us-central1-b did not answer',
    ]);
  });

  it('reads on past an entry in a shape of its own', async () => {
    const list = { instances: [{ name: 'no-number' }, googleInstance('1001', 'trainer-1', 'a2-highgpu-1g')] };
    api.script('compute.instances.aggregatedList', { status: 200, body: { items: { 'zones/us-central1-a': list } } });
    const reading = await connect().fleet?.();
    expect(reading?.targets.map(({ target }) => target)).toContain(TRAINER);
    expect(reading?.problems).toEqual([
      'ml-prod: instances: us-central1-a: 1 of 2 entries are in a shape that is not documented',
    ]);
  });

  it('waits where Google is busy, three times at most, and only to read', async () => {
    const busy = googleError(429, 'rateLimitExceeded', 'slow down', { 'retry-after': '0' });
    const quota = googleError(403, 'rateLimitExceeded', 'slow down', { 'retry-after': '0' });
    api.script('compute.instances.get', busy, quota);
    expect((await connect().target?.(TRAINER))?.name).toBe('trainer-1');
    api.script('compute.instances.get', busy, busy, busy);
    await expect(connect().target?.(TRAINER)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(api.of('compute.instances.get')).toHaveLength(6);
    api.script('compute.instances.stop', busy);
    await expect(applied({ kind: 'stop', target: TRAINER })).rejects.toMatchObject({ kind: 'unavailable' });
    expect(api.of('compute.instances.stop')).toHaveLength(1);
  });

  it('tells an API that is switched off from a permission, and credentials that are not there from both', async () => {
    api.script('compute.instances.get', {
      status: 403,
      body: {
        error: { message: 'Enable the API', status: 'PERMISSION_DENIED', details: [{ reason: 'SERVICE_DISABLED' }] },
      },
    });
    await expect(connect().target?.(TRAINER)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'Google Cloud refused compute.instances.get (SERVICE_DISABLED): Enable the API',
    });
    const gone = connect({ BURSAR_GCP_READ_CREDENTIALS: 'file:/nowhere/key.json' });
    await expect(gone.target?.(TRAINER)).rejects.toMatchObject({ kind: 'denied' });
    writeFileSync(
      api.accounts.read.file,
      '{"type":"service_account","private_key":"-----BEGIN hush-----","client_email":"x"}',
    );
    const failure = await Promise.resolve(connect().target?.(TRAINER)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'Failure', kind: 'denied' });
    expect(String((failure as Error).message)).not.toContain('hush');
  });
});

describe('what Google itself did to an instance', () => {
  const LATE = '2026-11-20T00:59:00.000-07:00';
  let count = 0;
  const did = (operationType: string, targetId: string, over: Record<string, unknown> = {}): void => {
    count += 1;
    api.operations.push({
      name: `system-${count}`,
      operationType,
      targetId,
      insertTime: LATE,
      user: 'system',
      zone: 'https://www.googleapis.com/compute/v1/projects/ml-prod/zones/us-central1-a',
      status: 'DONE',
      ...over,
    });
  };
  const person = { user: 'ada@example.com' };
  const remove = (id: string): void => {
    api.instances.splice(
      api.instances.findIndex((one) => one['id'] === id),
      1,
    );
  };
  const seen = async (target: string, connection = connect()) =>
    (await connection.fleet?.())?.targets.find((one) => one.target === target);

  it('is that its host failed while it is called running, until it was started again', async () => {
    did('compute.instances.hostError', '1001');
    expect(await seen(TRAINER)).toMatchObject({ state: 'running', unwell: 'operation compute.instances.hostError' });
    did('compute.instances.automaticRestart', '1001', { insertTime: '2026-11-20T01:00:00.000-07:00' });
    expect(await seen(TRAINER)).not.toHaveProperty('unwell');
    api.operations.pop();
    const trainer = api.instances.find(({ name }) => name === 'trainer-1');
    if (trainer !== undefined) trainer['lastStartTimestamp'] = '2026-11-20T01:00:00.000-07:00';
    expect(await seen(TRAINER)).not.toHaveProperty('unwell');
  });

  it('is that it was preempted, and stands still; what a person stopped says nothing', async () => {
    did('stop', '1003', person);
    expect(await seen(NOTEBOOK)).not.toHaveProperty('ended');
    did('compute.instances.preempted', '1003');
    const ended = { by: 'cloud', because: 'operation compute.instances.preempted' };
    expect(await seen(NOTEBOOK)).toMatchObject({ state: 'stopped', ended });
    // A preemption before its last start is over.
    api.operations.pop();
    did('compute.instances.preempted', '1003', { insertTime: '2026-10-01T23:00:00.000-07:00' });
    expect(await seen(NOTEBOOK)).not.toHaveProperty('ended');
  });

  it.each([
    ['preempted', { by: 'cloud', because: 'operation compute.instances.preempted' }, ['compute.instances.preempted']],
    ['deleted by a person', { by: 'somebody', because: 'operation delete' }, ['delete']],
    [
      'preempted, and deleted for that',
      { by: 'cloud', because: 'operation compute.instances.preempted' },
      ['compute.instances.preempted', 'delete'],
    ],
  ])('is told for an hour of an instance that is not listed any more: %s', async (_, ended, kinds) => {
    const connection = connect();
    expect(await seen(TRAINER, connection)).toMatchObject({ state: 'running' });
    for (const kind of kinds) did(kind, '1001', person);
    remove('1001');
    for (const minutes of [1, 58]) {
      now += minutes * 60_000;
      expect(await seen(TRAINER, connection)).toMatchObject({
        state: 'gone',
        billing: 'ended',
        ended,
        name: 'trainer-1',
      });
    }
    now += 2 * 60_000;
    expect(await seen(TRAINER, connection)).toBeUndefined();
  });

  it('is not said of one that its group deleted, of one whose deletion failed, or that nothing explains', async () => {
    for (const over of [
      { user: '123@cloudservices.gserviceaccount.com' },
      { ...person, error: { errors: [] } },
      null,
    ]) {
      const connection = connect();
      const before = [...api.instances];
      expect(await seen(TRAINER, connection)).toMatchObject({ state: 'running' });
      if (over !== null) did('delete', '1001', over);
      remove('1001');
      expect(await seen(TRAINER, connection)).toBeUndefined();
      api.instances.splice(0, api.instances.length, ...before);
      api.operations.length = 0;
    }
  });

  it('is not asked of a reading that lacks a zone: what is not listed may be there', async () => {
    const connection = connect();
    await seen(TRAINER, connection);
    did('delete', '1001', person);
    remove('1001');
    api.unreachable = ['zones/us-central1-b'];
    expect(await seen(TRAINER, connection)).toBeUndefined();
    api.unreachable = [];
    expect(await seen(TRAINER, connection)).toMatchObject({ state: 'gone' });
  });

  it('is named as not read where that is denied, and the instances stand, all of them', async () => {
    api.withoutOperations = ['us-central1-a'];
    const reading = await connect().fleet?.();
    expect(reading).toMatchObject({
      complete: true,
      problems: [
        'ml-prod: instances: what Google itself did to instances in us-central1-a was not read: Google Cloud denied compute.zoneOperations.list (forbidden): the permission is missing',
      ],
    });
    expect(reading?.targets.map(({ target }) => target)).toContain(TRAINER);
  });
});

describe('acting', () => {
  it('stops and starts, each once, under the token as the request id', async () => {
    const connection = connect();
    expect(await applied({ kind: 'stop', target: TRAINER })).toMatchObject({ kind: 'taken', reference: 'operation-1' });
    expect((await connection.target?.(TRAINER))?.state).toBe('stopping');
    api.settle();
    expect(await connection.target?.(TRAINER)).toMatchObject({ state: 'stopped', billing: 'partly' });
    expect(await applied({ kind: 'start', target: TRAINER }, 'another')).toMatchObject({ kind: 'taken' });
    expect(api.of('compute.instances.stop')[0]?.query).toEqual({ requestId: '3f2a1c9e-7b54-4d86-9a10-5c1d2e3f4a5b' });
    expect(requestIdOf('another')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('says that local disks may be discarded where there are some, and resumes what was suspended', async () => {
    expect(await applied({ kind: 'stop', target: MEMBER })).toMatchObject({ kind: 'taken' });
    expect(api.of('compute.instances.stop')[0]?.query).toMatchObject({ discardLocalSsd: 'true' });
    expect(await applied({ kind: 'start', target: SCRATCH }, 'start')).toMatchObject({ kind: 'taken' });
    expect([api.of('compute.instances.resume').length, api.of('compute.instances.start').length]).toEqual([1, 0]);
  });

  it.each(['ZONE_RESOURCE_POOL_EXHAUSTED', 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'])(
    'finds no capacity (%s), and is sent again under another id, by whichever process',
    async (code) => {
      api.ends.set('compute.instances.start', { code, message: 'try another zone' });
      const start: Effect = { kind: 'start', target: NOTEBOOK };
      const connection = connect();
      const send = async (of: ReturnType<typeof connect>): Promise<unknown> =>
        of.apply?.(start, 'token-9', null).catch((failure: unknown) => failure);
      expect(await send(connection)).toMatchObject({
        kind: 'unavailable',
        message: `Google Cloud has no capacity now for compute.instances.start (${code})`,
      });
      const restarted = connect();
      expect(await restarted.outcome?.(start, 'token-9')).toEqual({ kind: 'absent' });
      expect(await send(restarted)).toMatchObject({ kind: 'unavailable' });
      api.ends.clear();
      expect(await send(restarted)).toMatchObject({ kind: 'taken' });
      const ids = api.of('compute.instances.start').map(({ query }) => query['requestId']);
      expect([ids.length, new Set(ids).size]).toEqual([3, 2]);
    },
  );

  it('is refused what the operation says came to nothing: a quota', async () => {
    api.ends.set('compute.instances.start', { code: 'QUOTA_EXCEEDED', message: 'no more cards' });
    expect(await applied({ kind: 'start', target: NOTEBOOK })).toEqual({
      kind: 'refused',
      code: 'QUOTA_EXCEEDED',
      detail: 'no more cards',
    });
  });

  it('changes the type of a stopped machine, and keeps its cards', async () => {
    const resize = (sku: string): Effect => ({ kind: 'resize', target: NOTEBOOK, sku });
    expect(await applied(resize('n1-standard-16'), 'a')).toMatchObject({ kind: 'refused', code: 'other-cards' });
    expect(await applied({ kind: 'resize', target: TRAINER, sku: 'a2-highgpu-2g' }, 'b')).toMatchObject({
      code: 'not-stopped',
    });
    expect(await applied(resize('n1-standard-16+1xnvidia-tesla-t4'), 'c')).toMatchObject({ kind: 'taken' });
    expect((await connect().target?.(NOTEBOOK))?.sku).toBe('n1-standard-16+1xnvidia-tesla-t4');
  });

  it('sizes a group, sets the bounds of its autoscaler, and lets a group make a member anew', async () => {
    expect(await applied({ kind: 'scale', target: TRAINERS, replicas: 3 }, 'a')).toMatchObject({ kind: 'taken' });
    expect((await connect().target?.(TRAINERS))?.replicas?.desired).toBe(3);
    expect(await applied({ kind: 'set-bounds', target: SERVING, min: 2, max: 6 }, 'b')).toMatchObject({
      kind: 'taken',
    });
    expect((await connect().target?.(SERVING))?.replicas).toMatchObject({ min: 2, max: 6 });
    expect(await applied({ kind: 'set-bounds', target: TRAINERS, min: 0, max: 1 }, 'c')).toMatchObject({
      code: 'no-autoscaler',
    });
    expect(await applied({ kind: 'replace', target: MEMBER, group: TRAINERS }, 'd')).toMatchObject({ kind: 'taken' });
    // The same name, another machine: the old number is gone.
    expect(await connect().target?.(MEMBER)).toBeNull();
    expect(await applied({ kind: 'replace', target: TRAINER, group: null }, 'e')).toMatchObject({ code: 'no-group' });
  });

  it('is refused for the members of a group before anything is sent', async () => {
    expect(await memberRefusals(connect(), MEMBER)).toEqual(REFUSED_TO_MEMBERS);
  });

  it('asks after a lost answer for the operation, whichever process asks; and sends it once', async () => {
    api.script('compute.instances.stop', 'drop');
    const effect: Effect = { kind: 'stop', target: TRAINER };
    expect(await applied(effect)).toMatchObject({ kind: 'unknown' });
    expect(await connect().outcome?.(effect, TOKEN)).toEqual({
      kind: 'taken',
      reference: 'operation-1',
      detail: 'its operation is there',
    });
    // Sent again all the same, the server does it once.
    await connect().apply?.(effect, TOKEN, null);
    expect(api.applied(TOKEN)).toBe(1);
  });

  it('tells of a lost request, a minute later, that it never came; and of one that came to nothing, why', async () => {
    const connection = connect();
    const effect: Effect = { kind: 'stop', target: TRAINER };
    api.script('compute.instances.stop', 'cut');
    expect(await applied(effect, TOKEN, connection)).toMatchObject({ kind: 'unknown' });
    expect(await connection.outcome?.(effect, TOKEN)).toMatchObject({ kind: 'unknown' });
    now += 61_000;
    expect(await connection.outcome?.(effect, TOKEN)).toEqual({ kind: 'absent' });
    api.ends.set('compute.instances.stop', { code: 'RESOURCE_NOT_READY', message: 'later' });
    api.script('compute.instances.stop', 'drop');
    await applied(effect, 'second', connection);
    expect(await connection.outcome?.(effect, 'second')).toMatchObject({ kind: 'refused', code: 'RESOURCE_NOT_READY' });
  });

  it('denies where the permission is missing, and nothing has changed', async () => {
    api.denied = ['compute.instances.stop'];
    await expect(applied({ kind: 'stop', target: TRAINER })).rejects.toMatchObject({
      kind: 'denied',
      message: 'Google Cloud denied compute.instances.stop (forbidden): the permission is missing',
    });
    expect((await connect().target?.(TRAINER))?.state).toBe('running');
  });
});

describe('prices', () => {
  const shown = (all: readonly Price[]) => all.map((one) => [one.sku, one.term, hourly(one)]);

  it('are the sums of all parts: vCPUs, memory, cards and the local SSD that comes with them', async () => {
    expect(shown(await pricesOf())).toEqual([
      // What examples/data/gcp-gpu-prices has for us-central1, to the digit.
      ['a2-highgpu-1g', 'on-demand', 3.673385],
      ['a2-highgpu-1g', 'spot', 1.085],
      ['a2-highgpu-1g', 'reserved-1y', 2.21],
      // 208 vCPUs, 1872 GiB, 8 cards, and 6000 GiB of local SSD at 0.08 a month of 730 hours.
      ['a3-highgpu-8g', 'on-demand', 90.91353424657],
      // As it is put together by its owner: the machine with its cards.
      ['n1-standard-8+1xnvidia-tesla-t4', 'on-demand', 0.71],
    ]);
  });

  it('are none where a part has none: never some of the parts for the whole', async () => {
    api.skus = api.skus.filter((one) => !JSON.stringify(one).includes('SSD backed'));
    expect((await pricesOf()).map(({ sku }) => sku)).not.toContain('a3-highgpu-8g');
    expect((await pricesOf()).map(({ sku }) => sku)).not.toContain('g2-standard-4');
  });

  it('are none where two SKUs say different things of one part', async () => {
    api.skus = [...api.skus, googleSku('Nvidia Tesla T4 GPU running in Americas', 'GPU', '0.36')];
    expect((await pricesOf()).map(({ sku }) => sku)).not.toContain('n1-standard-8+1xnvidia-tesla-t4');
  });

  it('hold from when they were first seen so', async () => {
    const connection = connect();
    const first = await pricesOf(connection);
    now += 3_600_000;
    api.skus = [...api.skus.slice(1), googleSku('A2 Instance Core running in Americas', 'CPU', '0.04')];
    const second = await pricesOf(connection);
    expect(first.map(({ effectiveFrom }) => effectiveFrom)).toEqual(first.map(() => NOW));
    expect(second.filter(({ effectiveFrom }) => effectiveFrom === now).map(({ sku, term }) => [sku, term])).toEqual([
      ['a2-highgpu-1g', 'on-demand'],
    ]);
  });
});

describeProviderContract('Google Cloud', () => ({
  connection: connect(),
  readOnly: readOnly(),
  effect: { kind: 'stop', target: TRAINER },
  appliedCount: (token) => api.applied(token),
  loseNextAnswer: (arrives) => api.script('compute.instances.stop', arrives ? 'drop' : 'cut'),
  now: clock.now,
}));
