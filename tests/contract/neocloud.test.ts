/**
 * Lambda and Runpod, through their real client, against servers that hold each request and each answer against those
 * clouds' OpenAPI documents.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatDecimal } from '../../src/core/decimal.js';
import type { Effect } from '../../src/core/fleet/fleet.js';
import type { Provider, ProviderConnection } from '../../src/core/ports.js';
import { provider as lambda } from '../../src/providers/lambda/lambda.js';
import { provider as runpod } from '../../src/providers/runpod/runpod.js';
import { KEYS, type NeocloudServer } from '../support/neocloud-server.js';
import {
  blockedTerminate,
  connectTo,
  lambdaFailure,
  lambdaInstance,
  lambdaServer,
  LAMBDA_TYPES,
  NOW,
  pod,
  runpodFailure,
  runpodServer,
  type Pod,
} from '../support/neocloud-worlds.js';
import { describePermissionContract, describeProviderContract } from './contract.js';
import { all, failureOf } from './scripted-server.js';
import { fleetTarget } from '../support/makers.js';

const servers: NeocloudServer[] = [];
let now = NOW;
const clock = { now: () => now };
const READ_ONLY = { ACT_API_KEY: undefined };

beforeEach(() => void (now = NOW));
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.stop();
    expect(server.problems).toEqual([]);
  }
});

async function kept(starting: Promise<NeocloudServer>): Promise<NeocloudServer> {
  const server = await starting;
  servers.push(server);
  return server;
}
const atLambda = (...instances: Parameters<typeof lambdaServer>[0]): Promise<NeocloudServer> =>
  kept(lambdaServer(instances));
const atRunpod = (...pods: Pod[]): Promise<NeocloudServer> => kept(runpodServer(pods));

const CLOUDS: readonly (readonly [string, Provider, () => Promise<NeocloudServer>, Effect])[] = [
  ['Lambda', lambda, () => atLambda(lambdaInstance('abc1')), { kind: 'terminate', target: 'instance/abc1' }],
  ['Runpod', runpod, () => atRunpod(pod('pod1')), { kind: 'stop', target: 'instance/pod1' }],
];

for (const [name, provider, start, effect] of CLOUDS) {
  describeProviderContract(name, async () => {
    const server = await start();
    return {
      connection: connectTo(provider, server, clock),
      readOnly: connectTo(provider, server, clock, READ_ONLY),
      effect,
      now: clock.now,
      appliedCount: () => server.changes,
      loseNextAnswer: (arrives) => server.loseNextAnswer(arrives),
    };
  });

  describePermissionContract(name, async () => {
    const server = await start();
    const denied = provider.abilities.fleet?.[0] ?? '';
    server.script(denied, { status: 403, body: name === 'Lambda' ? lambdaFailure(403) : runpodFailure(403) });
    return {
      abilities: provider.abilities,
      connection: connectTo(provider, server, clock),
      readOnly: connectTo(provider, server, clock, READ_ONLY),
      changes: () => server.changes,
      denied: [denied],
      unknown: ['getInstance', 'terminateInstance', 'getPod', 'podAction', 'deletePod'],
    };
  });
}

describe.each(CLOUDS)('%s', (name, provider, start, effect) => {
  const list = provider.abilities.fleet?.[0] ?? '';
  const failure = name === 'Lambda' ? lambdaFailure : runpodFailure;
  const send = (connection: ProviderConnection): Promise<unknown> | undefined => connection.apply?.(effect, 't', null);

  it('asks again where it is told to wait, and not for ever', async () => {
    const server = await start();
    const busy = { status: 429, headers: { 'retry-after': '0' }, body: failure(429) };
    server.script(list, busy, busy);
    const connection = connectTo(provider, server, clock);
    expect((await connection.fleet?.())?.targets).toHaveLength(1);
    expect(server.of(list)).toHaveLength(3);
    server.script(list, busy, busy, busy);
    expect(await failureOf(() => connection.fleet?.())).toMatchObject({ kind: 'unavailable' });
    expect(server.of(list)).toHaveLength(6);
  });

  it('does not send again what is to act: it was turned away, nothing was done, and it says so', async () => {
    const server = await start();
    const [acting] = provider.abilities.effects[effect.kind] ?? [];
    server.script(acting ?? '', { status: 429, headers: { 'retry-after': '0' }, body: failure(429) });
    expect(await failureOf(() => send(connectTo(provider, server, clock)))).toMatchObject({ kind: 'unavailable' });
    expect([server.of(acting ?? '').length, server.changes]).toEqual([1, 0]);
  });

  it('does not know what became of a request that a server error answers, and may send it a minute later', async () => {
    const server = await start();
    const [acting] = provider.abilities.effects[effect.kind] ?? [];
    server.script(acting ?? '', { status: 502, body: '<html>' });
    const connection = connectTo(provider, server, clock);
    expect(await send(connection)).toMatchObject({ kind: 'unknown' });
    expect(await connection.outcome?.(effect, 't')).toMatchObject({ kind: 'unknown' });
    now += 60_000;
    expect(await connection.outcome?.(effect, 't')).toEqual({ kind: 'absent' });
    expect(await send(connection)).toMatchObject({ kind: 'taken' });
    expect(server.changes).toBe(1);
  });

  it('names what was denied, and shows no key', async () => {
    const server = await start();
    const told = [
      { status: 401, body: failure(401) },
      { status: 403, body: failure(403) },
    ];
    server.script(list, ...told);
    const connection = connectTo(provider, server, clock);
    for (const what of [/does not accept the credentials used for/, /denied .* the permission is missing/]) {
      const failed = await failureOf(() => connection.fleet?.());
      expect(failed).toMatchObject({ kind: 'denied', message: expect.stringMatching(what) as unknown });
      expect(failed.message).toContain(list);
      expect(JSON.stringify(failed)).not.toContain(KEYS.read);
    }
  });

  it('takes an answer that is no JSON, or in another shape, for no answer', async () => {
    const server = await start();
    server.script(list, { body: '<html>' }, { body: '<html>' }, { body: '<html>' }, { body: {} });
    const connection = connectTo(provider, server, clock);
    expect(await failureOf(() => connection.fleet?.())).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(() => connection.fleet?.())).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('in a shape that is not documented') as unknown,
    });
  }, 20_000);

  it('refuses what it cannot do, and a target that is no machine of its own, without asking', async () => {
    const server = await start();
    const connection = connectTo(provider, server, clock);
    expect(await connection.apply?.({ kind: 'resize', target: effect.target, sku: 'x' }, 't', null)).toMatchObject({
      kind: 'refused',
      code: 'unsupported',
    });
    for (const target of ['instance/../../keys', 'instance/', 'asg/a/b', effect.target.slice('instance/'.length)]) {
      expect(await connection.target?.(target)).toBeNull();
      expect(await failureOf(() => connection.apply?.({ ...effect, target } as Effect, 't', null))).toMatchObject({
        kind: 'invalid',
      });
    }
    expect(server.came).toEqual([]);
  });

  it('wants a key of its own for acting, and TLS save on this machine', async () => {
    const server = await start();
    const wrong = (over: Readonly<Record<string, string>>): Promise<{ message: string }> =>
      failureOf(() => connectTo(provider, server, clock, over));
    expect((await wrong({ ACT_API_KEY: KEYS.read })).message).toContain('ACT_API_KEY is the same as that for reading');
    expect((await wrong({ ENDPOINT: 'http://cloud.example.com' })).message).toContain(
      'ENDPOINT is not an https:// URL',
    );
    expect((await wrong({ TIMEOUT_SECONDS: '26', READ_API_KEY: 'a b' })).message).toMatch(
      /READ_API_KEY is no key.*TIMEOUT_SECONDS is not a number from 1 to 25/,
    );
  });
});

describe('Lambda', () => {
  it('reads an instance with what it costs nobody to guess', async () => {
    const server = await atLambda(lambdaInstance('abc1'), lambdaInstance('cpu1', { instance_type: LAMBDA_TYPES.cpu }));
    const reading = await connectTo(lambda, server, clock, { ACCOUNT: 'acme' }).fleet?.();
    expect(reading?.targets).toEqual([
      fleetTarget({
        target: 'instance/abc1',
        name: 'abc1-name',
        provider: 'Lambda',
        account: 'acme',
        region: 'us-west-1',
        sku: 'gpu_8x_h100_sxm5',
        term: null,
        labels: { team: 'research' },
        knownAs: ['abc1.cloud.lambda.ai', '10.19.60.24', '203.0.113.7'],
      }),
    ]);
  });

  it.each([
    ['booting', 'starting', 'unknown'],
    ['active', 'running', 'billed'],
    ['unhealthy', 'running', 'billed'],
    ['terminating', 'stopping', 'unknown'],
    ['terminated', 'gone', 'ended'],
    ['preempted', 'gone', 'ended'],
  ])('takes %s for %s, %s', async (status, state, billing) => {
    const server = await atLambda(lambdaInstance('abc1', { status }));
    const seen = await connectTo(lambda, server, clock).target?.('instance/abc1');
    expect(seen).toMatchObject({ state, billing });
    expect(seen?.ended?.by).toBe(status === 'preempted' ? 'cloud' : undefined);
  });

  it('says what Lambda does not allow now, and that it cannot stop at all', async () => {
    const server = await atLambda(lambdaInstance('abc1', { actions: blockedTerminate }));
    const connection = connectTo(lambda, server, clock);
    expect((await connection.target?.('instance/abc1'))?.ruledOut?.terminate).toContain('vm-has-not-launched');
    expect(await connection.effects?.()).toEqual(['terminate']);
    for (const kind of ['stop', 'start'] as const)
      expect(await connection.apply?.({ kind, target: 'instance/abc1' }, kind, null)).toMatchObject({
        kind: 'refused',
      });
    expect(server.changes).toBe(0);
  });

  it('is not complete where an entry cannot be read, and keeps the others', async () => {
    const server = await atLambda();
    server.script('listInstances', { body: { data: [lambdaInstance('abc1'), { id: 7 }] } });
    const reading = await connectTo(lambda, server, clock).fleet?.();
    expect(reading?.targets.map(({ target }) => target)).toEqual(['instance/abc1']);
    expect(reading).toMatchObject({
      complete: false,
      problems: ['machines: 1 of 2 entries are in a shape that is not documented'],
    });
  });

  it('keeps and prices the rest where a type is not known, an instance cannot be read, or reading what runs is denied', async () => {
    const odd = { ...LAMBDA_TYPES.a10, name: 'gpu_1x_x1', gpu_description: 'X1 (99 GB)' };
    const server = await atLambda();
    const broken = lambdaInstance('old1', { instance_type: { name: 'gpu_9x_old' } });
    server.script('listInstances', {
      body: { data: [broken, lambdaInstance('new1', { instance_type: odd }), lambdaInstance('abc1')] },
    });
    const connection = connectTo(lambda, server, clock);
    const reading = await connection.fleet?.();
    expect(reading?.targets).toMatchObject([
      { target: 'instance/new1', sku: 'gpu_1x_x1', gpuModel: null, gpus: 1 },
      { target: 'instance/abc1', gpuModel: 'H100', gpus: 8 },
    ]);
    expect(reading?.problems).toEqual(['machines: 1 of 3 entries are in a shape that is not documented: old1']);
    server.script('listInstances', { status: 403, body: lambdaFailure(403) });
    const lacked: string[] = [];
    const told = await all(
      connection.prices?.(0, { lacks: (_, what) => void lacked.push(what), resumeFrom: () => null }),
    );
    expect(told.flat().map((event) => event.kind === 'price' && event.price.sku)).toEqual([
      'gpu_8x_h100_sxm5',
      'gpu_1x_a10',
    ]);
    expect(lacked).toEqual([expect.stringMatching(/^Lambda denied listInstances .*the permission is missing$/)]);
  });

  it('prices what is on offer and what runs, by the minute; a new price holds from when it was seen', async () => {
    const old = {
      ...LAMBDA_TYPES.a10,
      name: 'gpu_1x_rtx6000',
      gpu_description: 'RTX 6000 (24 GB)',
      price_cents_per_hour: 50,
    };
    const server = await atLambda(lambdaInstance('abc1', { instance_type: old }));
    const connection = connectTo(lambda, server, clock);
    const told = (await all(connection.prices?.(0)))
      .flat()
      .flatMap((event) => (event.kind === 'price' ? [event.price] : []));
    expect(told.map(({ sku, gpuModel, gpus, incrementSeconds }) => [sku, gpuModel, gpus, incrementSeconds])).toEqual([
      ['gpu_1x_rtx6000', 'RTX6000', 1, 60],
      ['gpu_8x_h100_sxm5', 'H100', 8, 60],
      ['gpu_1x_a10', 'A10', 1, 60],
    ]);
    // 23.92 USD an hour for eight cards.
    const h100 = told[1]?.rate;
    expect([formatDecimal({ unscaled: h100?.nanos ?? 0n, scale: 9 }), h100?.quantity, h100?.currency]).toEqual([
      '23.920000000',
      28_800n,
      'USD',
    ]);
    now += 3_600_000;
    expect((await all(connection.prices?.(NOW + 1))).flat()).toEqual([]);
  });

  it('does not take an inactive account for a missing permission', async () => {
    const server = await atLambda();
    const error = {
      code: 'global/account-inactive',
      message: 'Your account is inactive.',
      suggestion: 'Contact Support.',
    };
    server.script('listInstances', { status: 403, body: { error } });
    expect(await failureOf(() => connectTo(lambda, server, clock).fleet?.())).toMatchObject({
      kind: 'invalid',
      message: 'Lambda refused listInstances (global/account-inactive): Your account is inactive. Contact Support.',
    });
  });
});

describe('Runpod', () => {
  it('reads a pod without its environment, and no pod without GPUs', async () => {
    const { gpu: _, ...cpu } = pod('cpu1', { cpu: { id: 'cpu3c', vcpuCount: 4, memory: 8 } });
    const server = await atRunpod(pod('pod1'), cpu as Pod);
    const reading = await connectTo(runpod, server, clock).fleet?.();
    expect(reading?.targets).toEqual([
      fleetTarget({
        target: 'instance/pod1',
        name: 'pod1-name',
        provider: 'Runpod',
        account: null,
        region: 'US-KS-2',
        sku: 'SECURE/NVIDIA H100 80GB HBM3',
        gpus: 2,
        term: null,
        launchedAt: Date.UTC(2026, 10, 22, 9, 30),
        knownAs: ['pod1.runpod.internal', '10.2.0.9'],
        paid: 'hourly',
        localDisks: true,
      }),
    ]);
    expect(server.of('listPods')[0]).toMatchObject({ key: KEYS.read });
  });

  const network = { network: [{ volumeId: 'vol1', path: '/workspace' }] };
  const PERSISTENT = { persistent: { size: 100, path: '/workspace' } };
  it.each([
    ['PROVISIONING', PERSISTENT, 1, 'starting', 'billed'],
    ['STARTING', PERSISTENT, 1, 'starting', 'billed'],
    ['RUNNING', {}, 1, 'running', 'billed'],
    ['EXITED', PERSISTENT, 0, 'stopped', 'partly'],
    ['EXITED', network, 0, 'stopped', 'partly'],
    ['EXITED', {}, 0, 'stopped', 'ended'],
    ['ERROR', {}, 1, 'unknown', 'billed'],
    ['ERROR', {}, 0, 'unknown', 'unknown'],
    ['TERMINATED', {}, 0, 'gone', 'ended'],
  ])('takes %s with %j at %d USD for %s, %s', async (status, mounts, cost, state, billing) => {
    const server = await atRunpod(pod('pod1', { status, mounts, cost }));
    expect(await connectTo(runpod, server, clock).target?.('instance/pod1')).toMatchObject({ state, billing });
  });

  it('keeps the rest where a pod or a type of GPU is not known', async () => {
    const server = await atRunpod();
    const odd = pod('odd1', { gpu: { id: 'NVIDIA X1', count: 1 } });
    server.script('listPods', { body: { pods: [{ id: 'old1', name: 7 }, odd, pod('pod1')] } });
    const type = { secure: true, community: false, price: { secure: 2.5, community: null } };
    server.script('listGpuTypes', {
      body: { gpus: [{ id: 'NVIDIA OLD' }, { ...type, id: 'NVIDIA X1' }, { ...type, id: 'NVIDIA H100 80GB HBM3' }] },
    });
    const connection = connectTo(runpod, server, clock);
    const reading = await connection.fleet?.();
    expect(reading?.targets).toMatchObject([
      { target: 'instance/odd1', gpuModel: null, gpus: 1 },
      { target: 'instance/pod1', gpuModel: 'H100', gpus: 2 },
    ]);
    expect(reading?.problems).toEqual(['machines: 1 of 3 entries are in a shape that is not documented: old1']);
    const lacked: string[] = [];
    const told = await all(
      connection.prices?.(0, { lacks: (_, what) => void lacked.push(what), resumeFrom: () => null }),
    );
    expect(told.flat().map((event) => event.kind === 'price' && [event.price.sku, event.price.gpuModel])).toEqual([
      ['SECURE/NVIDIA X1', null],
      ['SECURE/NVIDIA H100 80GB HBM3', 'H100'],
    ]);
    expect(lacked).toEqual(['1 of 3 entries are in a shape that is not documented: NVIDIA OLD']);
  });

  it('rules out what a lock or a cluster forbids', async () => {
    const server = await atRunpod(pod('lock1', { locked: true }), pod('part1', { cluster: { id: 'c1', rank: 0 } }));
    const targets = (await connectTo(runpod, server, clock).fleet?.())?.targets ?? [];
    expect(targets.map(({ ruledOut }) => Object.keys(ruledOut ?? {}))).toEqual([
      ['stop', 'terminate'],
      ['stop', 'start', 'terminate'],
    ]);
  });

  it('stops, starts and terminates with the key for acting', async () => {
    const server = await atRunpod(pod('pod1'));
    const connection = connectTo(runpod, server, clock);
    for (const kind of ['stop', 'start', 'terminate'] as const) {
      const effect: Effect = { kind, target: 'instance/pod1' };
      expect(await connection.apply?.(effect, kind, null)).toMatchObject({ kind: 'taken' });
      expect(await connection.outcome?.(effect, kind)).toMatchObject({ kind: 'taken' });
    }
    expect(await connection.target?.('instance/pod1')).toBeNull();
    expect(server.came.filter(({ key }) => key === KEYS.act).map(({ id, body }) => [id, body])).toEqual([
      ['podAction', { action: 'stop' }],
      ['podAction', { action: 'start' }],
      ['deletePod', null],
    ]);
  });

  it('gives back what Runpod says where it refuses', async () => {
    const server = await atRunpod(pod('pod1', { status: 'EXITED' }));
    expect(
      await connectTo(runpod, server, clock).apply?.({ kind: 'stop', target: 'instance/pod1' }, 't', null),
    ).toEqual({ kind: 'refused', code: 'Conflict', detail: 'It did not work.' });
  });

  it('prices a GPU in each of the clouds where it is sold', async () => {
    const server = await atRunpod();
    const told = (await all(connectTo(runpod, server, clock).prices?.(0))).flat();
    expect(
      told.map((event) => event.kind === 'price' && [event.price.sku, event.price.gpus, event.price.rate.nanos]),
    ).toEqual([
      ['SECURE/NVIDIA H100 80GB HBM3', 1, 2_690_000_000n],
      ['COMMUNITY/NVIDIA H100 80GB HBM3', 1, 2_490_000_000n],
      ['COMMUNITY/NVIDIA GeForce RTX 4090', 1, 340_000_000n],
    ]);
  });
});
