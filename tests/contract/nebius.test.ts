/**
 * Nebius, through its real client, against a server that speaks gRPC by Nebius' own protocol buffers and checks the
 * signed claims of each service account.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Effect } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider } from '../../src/providers/nebius/nebius.js';
import { credentials, NebiusServer, type Handlers, type Played } from '../support/nebius-server.js';
import { describePermissionContract, describeProviderContract } from './contract.js';
import { all, failureOf } from './scripted-server.js';
import { fleetTarget } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const PROJECT = 'project-e00ml';
const ID = 'computeinstance-e00train';
const TARGET = `instance/${ID}`;
const INSTANCES = 'nebius.compute.v1.InstanceService';
const [LIST, GET, STOP] = [`${INSTANCES}/List`, `${INSTANCES}/Get`, `${INSTANCES}/Stop`];
const PLATFORMS = 'nebius.compute.v1.PlatformService/List';
const ESTIMATE = 'nebius.billing.v1.CalculatorService/EstimateBatch';
const EXCHANGE = 'nebius.iam.v1.TokenExchangeService/Exchange';

interface Machine {
  readonly metadata: {
    readonly id: string;
    readonly parent_id: string;
    readonly name?: string;
    readonly labels?: object;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: { state: string } & Readonly<Record<string, unknown>>;
}
const H100 = { platform: 'gpu-h100-sxm', preset: '8gpu-128vcpu-1600gb' };
const machine = (
  id: string,
  { state = 'RUNNING', spec = {}, status = {}, project = PROJECT, resources = H100 as object } = {},
): Machine => ({
  metadata: { id, parent_id: project, name: `${id}-name`, labels: { team: 'research' } },
  spec: { resources, hostname: 'train-1', ...spec },
  status: {
    state,
    network_interfaces: [{ ip_address: { address: '10.0.0.5/32' }, fqdn: 'train-1.internal' }],
    ...status,
  },
});

const preset = (name: string, gpu_count: number) => ({ name, resources: { gpu_count, vcpu_count: 16 } });
const PLATFORM_REPLY = {
  items: [
    {
      metadata: { name: 'gpu-h100-sxm' },
      spec: {
        presets: [preset(H100.preset, 8), preset('1gpu-16vcpu-200gb', 1)],
        human_readable_name: 'NVIDIA® H100 NVLink with Intel Sapphire Rapids',
        gpu_memory_gigabytes: 80,
      },
      status: { allowed_for_preemptibles: true },
    },
    { metadata: { name: 'cpu-d3' }, spec: { presets: [preset('4vcpu-16gb', 0)], human_readable_name: 'AMD EPYC' } },
  ],
};

const none: Played = { status: 5, words: 'not found', error: { code: 'NotFound' } };

/** A project with these machines, one to a page. */
function world(machines: Machine[]): Handlers {
  const found = (request: Readonly<Record<string, unknown>>): Machine | undefined =>
    machines.find(({ metadata }) => metadata.id === request['id']);
  const into =
    (state: string) =>
    (request: Readonly<Record<string, unknown>>): Played => {
      const one = found(request);
      if (one === undefined) return none;
      if (one.status.state === state)
        return { status: 9, words: `it is ${state} already`, error: { code: 'BadResourceState' } };
      one.status.state = state;
      return { reply: { id: 'computeoperation-e00op' } };
    };
  return {
    [LIST]: ({ parent_id, page_token }) => {
      const own = machines.filter(({ metadata }) => metadata.parent_id === parent_id);
      const at = Number(page_token ?? 0);
      const next = at + 1 < own.length ? String(at + 1) : '';
      return { reply: { items: own.slice(at, at + 1), next_page_token: next } };
    },
    [GET]: (request) => {
      const one = found(request);
      return one === undefined ? none : { reply: one as never };
    },
    [STOP]: into('STOPPED'),
    [`${INSTANCES}/Start`]: into('RUNNING'),
    [`${INSTANCES}/Delete`]: (request) => {
      const at = machines.findIndex(({ metadata }) => metadata.id === request['id']);
      if (at < 0) return none;
      machines.splice(at, 1);
      return { reply: { id: 'computeoperation-e00op' } };
    },
    [PLATFORMS]: () => ({ reply: PLATFORM_REPLY }),
    [ESTIMATE]: ({ resource_specs }) => {
      const costs = (resource_specs as unknown[]).map((_, at) => ({
        metadata: { name: `bursar-${at}` },
        aggregation_unit: { unit: 'hour', unit_type: 'UNIT_TYPE_TIME_BASED' },
        general: { total: { cost: ['23.6', '10', '2.95', '1.25'][at], cost_rounded: '0' } },
      }));
      return { reply: { resource_costs: costs, currency: 'usd' } };
    },
  };
}

const servers: NebiusServer[] = [];
let now = NOW;
const clock = { now: () => now };
beforeEach(() => void (now = NOW));
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.stop();
    expect(server.problems).toEqual([]);
  }
});

async function start(...machines: Machine[]): Promise<NebiusServer> {
  const server = await NebiusServer.start(world(machines), clock.now);
  servers.push(server);
  return server;
}

const connect = (server: NebiusServer, over: Readonly<Record<string, string | undefined>> = {}): ProviderConnection => {
  const given = {
    READ_CREDENTIALS: credentials('read'),
    ACT_CREDENTIALS: credentials('act'),
    PROJECTS: PROJECT,
    ENDPOINT: server.url,
    TIMEOUT_SECONDS: '5',
    ...over,
  };
  return provider.connect(
    Object.fromEntries(Object.entries(given).map(([name, value]) => [`BURSAR_NEBIUS_${name}`, value])),
    clock,
  )!;
};
const READ_ONLY = { ACT_CREDENTIALS: undefined };
const STOPPING: Effect = { kind: 'stop', target: TARGET };

describeProviderContract('Nebius', async () => {
  const server = await start(machine(ID), machine('computeinstance-e00other', { state: 'STOPPED' }));
  return {
    connection: connect(server),
    readOnly: connect(server, READ_ONLY),
    effect: STOPPING,
    now: clock.now,
    appliedCount: () => server.changes,
    loseNextAnswer: (arrives) => server.loseNextAnswer(arrives),
  };
});

describePermissionContract('Nebius', async () => {
  const server = await start(machine(ID));
  server.script(PLATFORMS, { status: 7, words: 'no', error: { code: 'PermissionDenied' } });
  return {
    abilities: provider.abilities,
    connection: connect(server),
    readOnly: connect(server, READ_ONLY),
    changes: () => server.changes,
    denied: [PLATFORMS],
    unknown: [GET, ESTIMATE, STOP, `${INSTANCES}/Start`, `${INSTANCES}/Delete`],
  };
});

describe('Nebius', () => {
  it('reads the machines of all pages of a project, with the GPUs that their platform has', async () => {
    const server = await start(
      machine(ID),
      machine('computeinstance-e00cpu', { resources: { platform: 'cpu-d3', preset: '4vcpu-16gb' } }),
    );
    const reading = await connect(server).fleet?.();
    expect(reading).toMatchObject({ complete: true, problems: [] });
    expect(reading?.targets).toEqual([
      fleetTarget({
        target: TARGET,
        name: `${ID}-name`,
        provider: 'Nebius',
        account: PROJECT,
        region: null,
        sku: 'gpu-h100-sxm/8gpu-128vcpu-1600gb',
        paid: 'hourly',
        labels: { team: 'research' },
        knownAs: ['train-1', 'train-1.internal', '10.0.0.5'],
      }),
    ]);
    expect(server.of(LIST).map(({ request }) => request['page_token'] ?? '')).toEqual(['', '1']);
    expect(server.tokens).toBe(1);
  });

  it.each([
    ['CREATING', 'starting', 'unknown'],
    ['UPDATING', 'unknown', 'unknown'],
    ['STARTING', 'starting', 'billed'],
    ['RUNNING', 'running', 'billed'],
    ['STOPPING', 'stopping', 'billed'],
    ['STOPPED', 'stopped', 'partly'],
    ['DELETING', 'stopping', 'unknown'],
    ['ERROR', 'unknown', 'unknown'],
    ['UNSPECIFIED', 'unknown', 'unknown'],
  ])('takes %s for %s, %s', async (word, state, billing) => {
    const server = await start(machine(ID, { state: word }));
    expect(await connect(server).target?.(TARGET)).toMatchObject({ state, billing });
  });

  it('tells spot, what is reserved, and local disks', async () => {
    const server = await start(
      machine('computeinstance-1', { spec: { preemptible: { on_preemption: 'STOP' } } }),
      machine('computeinstance-2', { status: { reservation_id: 'capacityblockgroup-1' } }),
      machine('computeinstance-3', { spec: { local_disks: { passthrough_group: { requested: true } } } }),
    );
    const targets = (await connect(server).fleet?.())?.targets ?? [];
    expect(targets.map(({ term, paid, localDisks }) => [term, paid, localDisks])).toEqual([
      ['spot', 'hourly', undefined],
      [null, 'elsewhere', undefined],
      ['on-demand', 'hourly', true],
    ]);
  });

  it('knows no GPUs where the platforms are not told, and says so', async () => {
    const server = await start(machine(ID));
    server.script(PLATFORMS, { status: 7, words: 'no' });
    const reading = await connect(server).fleet?.();
    expect(reading?.targets).toMatchObject([{ gpus: null, gpuModel: 'H100' }]);
    expect(reading?.complete).toBe(false);
    expect(reading?.problems.join()).toContain(
      `Nebius denied ${PLATFORMS} (PERMISSION_DENIED): the permission is missing`,
    );
  });

  it('keeps the projects that answer, and has nothing of one that nobody named', async () => {
    const server = await start(machine(ID), machine('computeinstance-far', { project: 'project-u00x' }));
    server.script(LIST, { status: 7, words: 'no' });
    const reading = await connect(server, { PROJECTS: `project-u00gone,${PROJECT}` }).fleet?.();
    expect([reading?.targets.map(({ target }) => target), reading?.complete]).toEqual([[TARGET], false]);
    expect(reading?.problems).toEqual([
      `machines: project-u00gone: Nebius denied ${LIST} (PERMISSION_DENIED): the permission is missing`,
    ]);
    expect(await connect(server).target?.('instance/computeinstance-far')).toBeNull();
  });

  it('keeps a machine of a platform that nobody tells of: how many GPUs it has is not known, and the rest is', async () => {
    const odd = machine('computeinstance-e00odd', { resources: { platform: 'gpu-x1', preset: '1gpu' } });
    const reading = await connect(await start(odd, machine(ID))).fleet?.();
    expect(reading?.targets).toMatchObject([
      { target: 'instance/computeinstance-e00odd', sku: 'gpu-x1/1gpu', gpus: null, gpuModel: null },
      { target: TARGET, gpus: 8, gpuModel: 'H100' },
    ]);
  });

  it('has the prices of the projects that answer, and names the one that does not', async () => {
    const server = await start(machine(ID));
    server.script(PLATFORMS, { status: 7, words: 'no' });
    const lacked: string[] = [];
    const connection = connect(server, { PROJECTS: `project-u00gone,${PROJECT}` });
    const told = await all(
      connection.prices?.(0, { lacks: (_, what) => void lacked.push(what), resumeFrom: () => null }),
    );
    expect(told.flat()).toHaveLength(4);
    expect(lacked).toEqual([
      `project-u00gone: Nebius denied ${PLATFORMS} (PERMISSION_DENIED): the permission is missing`,
    ]);
  });

  it('prices presets with GPUs, on demand and spot, as the calculator says; what projects price differently has none', async () => {
    const server = await start(machine(ID));
    const told = (await all(connect(server).prices?.(0))).flat();
    expect(
      told.map(
        (event) =>
          event.kind === 'price' && [event.price.sku, event.price.term, event.price.gpus, event.price.rate.nanos],
      ),
    ).toEqual([
      ['gpu-h100-sxm/8gpu-128vcpu-1600gb', 'on-demand', 8, 23_600_000_000n],
      ['gpu-h100-sxm/8gpu-128vcpu-1600gb', 'spot', 8, 10_000_000_000n],
      ['gpu-h100-sxm/1gpu-16vcpu-200gb', 'on-demand', 1, 2_950_000_000n],
      ['gpu-h100-sxm/1gpu-16vcpu-200gb', 'spot', 1, 1_250_000_000n],
    ]);
    const cost = (name: string, unit: string, value: string) => ({
      metadata: { name },
      aggregation_unit: { unit, unit_type: 'UNIT_TYPE_TIME_BASED' },
      general: { total: { cost: value } },
    });
    server.script(ESTIMATE, {
      reply: {
        currency: 'usd',
        resource_costs: [cost('bursar-0', 'hour', '99'), cost('bursar-2', 'month', '9'), cost('x', 'hour', '9')],
      },
    });
    const both = (await all(connect(server, { PROJECTS: `${PROJECT},project-u00x` }).prices?.(0))).flat();
    expect(both.map((event) => event.kind === 'price' && `${event.price.sku} ${event.price.term}`)).toEqual([
      'gpu-h100-sxm/8gpu-128vcpu-1600gb spot',
      'gpu-h100-sxm/1gpu-16vcpu-200gb on-demand',
      'gpu-h100-sxm/1gpu-16vcpu-200gb spot',
    ]);
  });

  it('stops, starts and deletes with the token for acting, each under its own key', async () => {
    const server = await start(machine(ID));
    const connection = connect(server);
    for (const kind of ['stop', 'start', 'terminate'] as const) {
      const effect: Effect = { kind, target: TARGET };
      expect(await connection.apply?.(effect, `token-${kind}`, null)).toMatchObject({
        kind: 'taken',
        reference: 'computeoperation-e00op',
      });
      expect(await connection.outcome?.(effect, `token-${kind}`)).toMatchObject({ kind: 'taken' });
    }
    expect(await connection.target?.(TARGET)).toBeNull();
    expect(
      server.asked.filter(({ use }) => use === 'act').map(({ method, idempotencyKey }) => [method, idempotencyKey]),
    ).toEqual([
      [STOP, 'token-stop'],
      [`${INSTANCES}/Start`, 'token-start'],
      [`${INSTANCES}/Delete`, 'token-terminate'],
    ]);
  });

  it.each<readonly [string, Played, object]>([
    [
      'a state that forbids it',
      { status: 9, words: 'it is stopped', error: { code: 'BadResourceState' } },
      { kind: 'refused', code: 'BadResourceState', detail: 'it is stopped' },
    ],
    [
      'a quota',
      { status: 8, words: 'quota', error: { code: 'QuotaFailure', quota_failure: {} } },
      { kind: 'refused', code: 'QuotaFailure' },
    ],
    ['a conflict', { status: 10, words: 'another operation' }, { kind: 'refused', code: 'ABORTED' }],
    ['an error within', { status: 13, words: 'oops' }, { kind: 'unknown' }],
    ['a service that is away', { status: 14, words: 'away' }, { kind: 'unknown' }],
    ['an answer that is no message', 'nonsense', { kind: 'unknown' }],
    ['a connection that breaks', 'drop', { kind: 'unknown' }],
  ])('tells %s', async (_, played, outcome) => {
    const server = await start(machine(ID));
    server.script(STOP, played);
    expect(await connect(server).apply?.(STOPPING, 't', null)).toMatchObject(outcome);
    expect(server.of(STOP)).toHaveLength(1);
  });

  it('does not send again what is to act: too many requests is no refusal', async () => {
    const server = await start(machine(ID));
    server.script(STOP, { status: 8, words: 'slow down', error: { code: 'TooManyRequests' } });
    expect(await failureOf(() => connect(server).apply?.(STOPPING, 't', null))).toMatchObject({
      kind: 'unavailable',
      message: `Nebius throttled ${STOP} (TooManyRequests)`,
    });
    expect([server.of(STOP).length, server.changes]).toEqual([1, 0]);
  });

  it('tells that there are no GPUs now as what may pass: nothing was done', async () => {
    const server = await start(machine(ID));
    server.script(STOP, { status: 8, words: 'none', error: { code: 'NotEnoughResources', not_enough_resources: {} } });
    expect(await failureOf(() => connect(server).apply?.(STOPPING, 't', null))).toMatchObject({
      kind: 'unavailable',
      message: `Nebius has no capacity now for ${STOP} (NotEnoughResources)`,
    });
    expect([server.of(STOP).length, server.changes]).toEqual([1, 0]);
  });

  it('asks again where reading is turned away, and not for ever', async () => {
    const server = await start(machine(ID));
    const busy: Played = { status: 14, words: 'away' };
    server.script(LIST, busy, 'drop');
    expect((await connect(server).fleet?.())?.targets).toHaveLength(1);
    server.script(LIST, busy, busy, busy);
    expect(await failureOf(() => connect(server).fleet?.())).toMatchObject({ kind: 'unavailable' });
  });

  it('exchanges a token anew when it ends or is not taken any more, and says whose credentials are wrong', async () => {
    const server = await start(machine(ID));
    const connection = connect(server);
    await connection.fleet?.();
    await connection.fleet?.();
    expect(server.tokens).toBe(1);
    now += 3_600_000;
    await connection.fleet?.();
    expect(server.tokens).toBe(2);
    server.script(LIST, { status: 16, words: 'unauthenticated' });
    const failed = await failureOf(() => connection.fleet?.());
    expect(failed).toMatchObject({
      kind: 'denied',
      message: `Nebius does not accept the credentials used for ${LIST} (UNAUTHENTICATED)`,
    });
    await connection.fleet?.();
    expect(server.tokens).toBe(3);
    const other = credentials('read').replace('publickey-read', 'publickey-act');
    expect(await failureOf(() => connect(server, { READ_CREDENTIALS: other }).fleet?.())).toMatchObject({
      kind: 'denied',
    });
    server.script(EXCHANGE, { status: 14, words: 'away' });
    expect(await failureOf(() => connect(server).apply?.(STOPPING, 't', null))).toMatchObject({
      kind: 'unavailable',
      message: `Nebius could not be reached for ${STOP} (token: UNAVAILABLE)`,
    });
    expect(server.changes).toBe(0);
  });

  it('says that nothing was sent where nobody listens', async () => {
    const server = await start(machine(ID));
    const connection = connect(server);
    await connection.fleet?.();
    await server.stop();
    expect(await failureOf(() => connection.apply?.(STOPPING, 't', null))).toMatchObject({ kind: 'unavailable' });
    servers.splice(0);
  });

  it('names every wrong setting, and shows nothing of a key', async () => {
    const server = await start();
    const wrong = credentials('read').replace('PRIVATE KEY', 'SECRET KEY');
    const failed = await failureOf(() =>
      connect(server, { READ_CREDENTIALS: wrong, PROJECTS: 'Mine', ACT_CREDENTIALS: '{"a":1}' }),
    );
    expect(failed.problems.map(({ path }) => path)).toEqual(
      ['READ_CREDENTIALS', 'ACT_CREDENTIALS', 'PROJECTS'].map((name) => `BURSAR_NEBIUS_${name}`),
    );
    expect(JSON.stringify(failed)).not.toMatch(/SECRET KEY|serviceaccount|MII/);
  });
});
