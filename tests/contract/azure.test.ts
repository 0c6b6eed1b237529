/**
 * The Azure connection against a server on the wire that takes only requests which Microsoft's own model has, with the
 * model's versions, parameters and bodies (tests/support/azure-cloud.ts); its replies are held against the model too.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inverseOf, type Effect, type FleetTarget } from '../../src/core/fleet/fleet.js';
import { obstaclesTo, risksOf } from '../../src/core/fleet/settings.js';
import { effectsOf, type ProviderConnection } from '../../src/core/ports.js';
import type { PriceEvent } from '../../src/core/price/price.js';
import { provider } from '../../src/providers/azure/azure.js';
import { ACTOR, AzureCloud, DENIED, errorReply, READER, SUBSCRIPTION } from '../support/azure-cloud.js';
import { describeProviderContract, memberRefusals, REFUSED_TO_MEMBERS } from './contract.js';

const NOW = Date.UTC(2026, 10, 20, 8);
const own = (rest: string): string => `${SUBSCRIPTION}:${rest}`;
const TRAIN = `instance/eastus/${own('rg-ml:train-01')}`;
const MEMBER = `instance/eastus/${own('rg-ml:serve:0')}`;
const SERVE = `asg/eastus/${own('rg-ml:serve')}`;
const MIXED = `asg/eastus/${own('rg-ml:mixed')}`;
const POOL = `asg/eastus/${own('rg-ml:aks-gpu-31415926-vmss')}`;

let cloud: AzureCloud;
beforeEach(async () => void (cloud = await AzureCloud.start()));
afterEach(async () => {
  expect(cloud.problems).toEqual([]);
  await cloud.close();
});

const readOnly = (): ProviderConnection =>
  cloud.connect({ BURSAR_AZURE_ACT_CLIENT_ID: undefined, BURSAR_AZURE_ACT_CLIENT_SECRET: undefined });
const fleetOf = async (connection: ProviderConnection): Promise<readonly FleetTarget[]> =>
  (await connection.fleet?.())?.targets ?? [];
const seen = async (target: string): Promise<FleetTarget> => {
  const found = (await cloud.connect().target?.(target)) ?? null;
  if (found === null) throw new Error(`${target} is not there`);
  return found;
};
const last = (target: string): string => target.slice(target.indexOf(':') + 1);

async function all<T>(pages: AsyncIterable<readonly T[]> | undefined): Promise<T[]> {
  const found: T[] = [];
  for await (const page of pages ?? []) found.push(...page);
  return found;
}

describe('the settings', () => {
  const connect = (given: Record<string, string>) => () => provider.connect(given, { now: () => NOW });

  it('are none, complete, or named one by one without a value', () => {
    expect(connect({})()).toBeNull();
    expect(connect({ BURSAR_AZURE_ACT_CLIENT_SECRET: 'hush', BURSAR_AZURE_CLOUD: 'mars' })).toThrow(
      /^(?!.*(?:hush|mars)).*SUBSCRIPTIONS is missing.*REGIONS is missing.*TENANT_ID is missing.*READ_CLIENT_ID is missing.*ACT_CLIENT_ID is missing.*CLOUD is none/,
    );
  });

  it('name an identity for acting of its own, also where a machine or a file proves it', () => {
    const { BURSAR_AZURE_ACT_CLIENT_SECRET: _, BURSAR_AZURE_ACT_CLIENT_ID: __, ...read } = cloud.settings();
    expect(connect({ ...read, BURSAR_AZURE_ACT_CREDENTIALS: 'managed-identity' })).toThrow(/ACT_CLIENT_ID is missing/);
    expect(
      connect({ ...read, BURSAR_AZURE_ACT_CREDENTIALS: 'workload-identity', BURSAR_AZURE_ACT_CLIENT_ID: ACTOR.id }),
    ).toThrow(/FEDERATED_TOKEN_FILE is missing/);
    expect(
      connect({ ...read, BURSAR_AZURE_ACT_CREDENTIALS: 'managed-identity', BURSAR_AZURE_ACT_CLIENT_ID: ACTOR.id })()
        ?.canAct,
    ).toBe(true);
  });
});

describe('the fleet', () => {
  it('lists GPU machines over all pages, with what is billed of each', async () => {
    const reading = await cloud.connect().fleet?.();
    expect(reading).toMatchObject({ at: NOW, complete: true, problems: [] });
    const rows = (reading?.targets ?? [])
      .filter(({ kind }) => kind === 'instance')
      .map(({ target, sku, gpuModel, gpus, term, state, billing, paid, localDisks }) => [
        last(target),
        `${String(sku?.slice('Standard_'.length))}: ${String(gpus)} x ${String(gpuModel)}`,
        term,
        state,
        billing,
        paid,
        localDisks,
      ]);
    expect(rows).toEqual([
      ['rg-ml:train-01', 'NC24ads_A100_v4: 1 x A100-80GB', 'on-demand', 'running', 'billed', 'hourly', true],
      ['rg-ml:spot-01', 'NC4as_T4_v3: 1 x T4', 'spot', 'running', 'billed', 'hourly', true],
      // Powered off, it keeps its host and its charges.
      ['rg-ml:off-01', 'NV6ads_A10_v5: 0.167 x A10', 'on-demand', 'stopped', 'billed', 'hourly', true],
      ['rg-prod:train-01', 'NC4as_T4_v3: 1 x T4', 'on-demand', 'stopped', 'partly', 'elsewhere', true],
      // A size that nobody knows takes no other machine away.
      ['rg-ml:new-01', 'NC999xs_X1_v9: null x null', 'on-demand', 'running', 'billed', 'hourly', undefined],
      ['rg-ml:fleet_6a1b2c', 'NC24ads_A100_v4: 1 x A100-80GB', 'spot', 'running', 'billed', 'hourly', true],
      ['rg-ml:placed-01', 'NC4as_T4_v3: 1 x T4', 'on-demand', 'running', 'billed', 'hourly', true],
      ['rg-ml:serve:0', 'NC4as_T4_v3: 1 x T4', 'on-demand', 'running', 'billed', 'hourly', true],
      ['rg-ml:serve:2', 'NC4as_T4_v3: 1 x T4', 'on-demand', 'running', 'billed', 'hourly', true],
      ['rg-ml:serve:3', 'NC4as_T4_v3: 1 x T4', 'on-demand', 'starting', 'billed', 'hourly', true],
      ['rg-ml:aks-gpu-31415926-vmss:0', 'NC4as_T4_v3: 1 x T4', 'spot', 'running', 'billed', 'hourly', true],
    ]);
    expect(await seen(TRAIN)).toMatchObject({
      provider: 'Microsoft',
      region: 'eastus',
      name: 'train-01',
      // A tag's name has no slash.
      labels: { team: 'vision', 'bursar.io/workload-kind': 'training' },
      launchedAt: Date.UTC(2026, 10, 20, 6),
    });
    expect(cloud.taken.every(({ by }) => by === 'read')).toBe(true);
  });

  describe('has Azure own word on a machine', () => {
    const id = (rest: string): string =>
      `/subscriptions/${SUBSCRIPTION.toUpperCase()}/resourceGroups/RG-ML/providers/Microsoft.Compute/${rest}`;
    const status = (rest: string, occurredTime: string, availabilityState = 'Unavailable') => ({
      targetResourceId: id(rest),
      occurredTime,
      availabilityState,
    });
    const annotation = (rest: string, annotationName: string, context: string, category: string | null = null) => ({
      targetResourceId: id(rest),
      occurredTime: '2026-11-20T07:59:00Z',
      availabilityState: '',
      annotationName,
      context,
      category,
    });
    const wordsOf = async (): Promise<unknown[]> =>
      (await fleetOf(cloud.connect()))
        .filter(({ unwell, ended }) => unwell !== undefined || ended !== undefined)
        .map(({ target, unwell, ended }) => [last(target), unwell ?? ended]);
    const ONE = 'virtualMachines/train-01';
    const LATELY = '2026-11-20T07:58:00Z';

    it.each<[string, Record<string, unknown>[], unknown[]]>([
      ['that is available', [status(ONE, LATELY, 'Available')], []],
      [
        'whose host crashed',
        [status(ONE, LATELY), annotation(ONE, 'VirtualMachineHostCrashed', 'Platform-Initiated', 'Unplanned')],
        [['rg-ml:train-01', 'annotation VirtualMachineHostCrashed']],
      ],
      [
        'of a uniform set, whose host crashed',
        [
          status('virtualMachineScaleSets/serve/virtualMachines/0', LATELY),
          annotation(
            'virtualMachineScaleSets/serve/virtualMachines/0',
            'VirtualMachineHostCrashed',
            'Platform Initiated',
            'Unplanned',
          ),
        ],
        [['rg-ml:serve:0', 'annotation VirtualMachineHostCrashed']],
      ],
      [
        'that somebody restarts',
        [
          status(ONE, '2026-11-20T07:00:00Z'),
          annotation(ONE, 'VirtualMachineRestarted', 'Customer Initiated', 'Not Applicable'),
        ],
        [],
      ],
      ['that is unavailable for two minutes, nobody says why', [status(ONE, LATELY)], []],
      [
        'that is unavailable for a quarter of an hour, nobody says why',
        [status(ONE, '2026-11-20T07:45:00Z')],
        [['rg-ml:train-01', 'availabilityState Unavailable']],
      ],
    ])('%s', async (_, rows, words) => {
      cloud.health = [status('virtualMachines/placed-01', LATELY, 'Available'), ...rows];
      expect(await wordsOf()).toEqual(words);
    });

    it('tells an eviction of a spot machine from a stop by a person', async () => {
      cloud.power(cloud.machine('spot-01'), 'deallocated');
      const rest = 'virtualMachines/spot-01';
      const available = status('virtualMachines/placed-01', LATELY, 'Available');
      cloud.health = [available, annotation(rest, 'VirtualMachineDeallocationInitiated', 'Customer Initiated')];
      expect(await wordsOf()).toEqual([]);
      cloud.health = [available, annotation(rest, 'VirtualMachinePreempted', 'Platform Initiated', 'Unplanned')];
      expect(await wordsOf()).toEqual([
        ['rg-ml:spot-01', { by: 'cloud', because: 'annotation VirtualMachinePreempted' }],
      ]);
      // It was started again since, and stopped by a person: the newest word counts.
      const newest = annotation(rest, 'VirtualMachineDeallocationInitiated', 'Customer Initiated');
      cloud.health.unshift({ ...newest, occurredTime: '2026-11-20T07:59:30Z' });
      expect(await wordsOf()).toEqual([]);
    });

    it('or says that there was none: denied, or left out without an error; the machines stand, all of them', async () => {
      cloud.play('graph', DENIED);
      const denied = await cloud.connect().fleet?.();
      expect(denied).toMatchObject({ complete: true });
      expect(denied?.problems).toEqual(
        ['virtual machines', 'scale sets'].map(
          (part) =>
            `${SUBSCRIPTION}: ${part}: what Azure says of their health was not read: Azure denied Microsoft.ResourceGraph/resources/read (AuthorizationFailed): the permission is missing`,
        ),
      );
      cloud.play('graph', () => null);
      cloud.health = [];
      expect((await cloud.connect().fleet?.())?.problems[0]).toBe(
        `${SUBSCRIPTION}: virtual machines: the graph has no word on the health of any of the 5 that run: Microsoft.ResourceHealth/availabilityStatuses/read may be missing`,
      );
    });
  });

  it('lists the scale sets that bring GPUs, with their bounds, their mix and what is inside', async () => {
    const groups = (await fleetOf(cloud.connect())).filter(({ kind }) => kind === 'group');
    expect(groups.map(({ target }) => target)).toEqual([SERVE, MIXED, POOL]);
    expect(groups[0]).toMatchObject({
      sku: 'Standard_NC4as_T4_v3',
      gpuModel: 'T4',
      gpus: 1,
      term: 'on-demand',
      state: 'running',
      billing: 'billed',
      spotRatio: 0,
      replicas: { desired: 3, ready: 2, min: 1, max: 8 },
      labels: { team: 'serving' },
      group: {
        protectedMembers: 1,
        suspended: [],
        hooks: [{ name: 'terminate notification', seconds: 600 }],
        policies: [{ name: 'serve-scale', follows: true }],
      },
    });
    expect(groups[1]).toMatchObject({
      term: null,
      spotRatio: 0.6,
      replicas: { desired: 2, ready: 1, min: null, max: null },
      group: { protectedMembers: 0, policies: [] },
      ruledOut: {},
    });
  });

  it('knows what a network and an exporter call a machine', async () => {
    expect(await seen(TRAIN)).toMatchObject({
      knownAs: ['train-01', 'train-01.qv5xk2.bx.internal.cloudapp.net', '10.1.0.4'],
      network: `/subscriptions/${SUBSCRIPTION}/resourcegroups/rg-ml/providers/microsoft.network/virtualnetworks/vnet-ml`,
    });
    expect((await seen(MEMBER)).knownAs).toEqual([
      'serve000000',
      'serve000000.qv5xk2.bx.internal.cloudapp.net',
      '10.2.0.0',
    ]);
  });

  it('takes the answer that there is no such machine for its absence, and no other answer', async () => {
    const connection = cloud.connect();
    expect(await connection.target?.(`instance/eastus/${own('rg-ml:gone')}`)).toBeNull();
    expect(await connection.target?.(`asg/eastus/${own('rg-ml:gone')}`)).toBeNull();
    expect(await connection.target?.(`instance/eastus/${own('rg-ml:serve:77')}`)).toBeNull();
    cloud.play('machine', errorReply(404, 'SubscriptionNotFound', 'The subscription could not be found.'));
    await expect(connection.target?.(TRAIN)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('SubscriptionNotFound') as unknown,
    });
  });

  it('asks no page of another host', async () => {
    cloud.play('machines', { body: JSON.stringify({ value: [], nextLink: 'https://elsewhere.example/page' }) });
    expect(await cloud.connect().fleet?.()).toMatchObject({
      complete: false,
      problems: expect.arrayContaining([
        `${SUBSCRIPTION}: virtual machines: Azure named a next page on another host: it is not asked`,
      ]) as unknown,
    });
  });
});

describe('what cannot be read', () => {
  it.each([
    [
      'interfaces',
      /^[\w-]+: virtual machines: the network interfaces could not be read: Azure denied Microsoft\.Network/,
    ],
    ['skus', /the sizes of eastus could not be read: Azure denied Microsoft\.Compute\/skus\/read/],
    ['autoscale', /scale sets: the autoscale settings could not be read: Azure denied Microsoft\.Insights/],
    ['members', /the instances of serve could not be read: Azure denied/],
    ['interfacesOfSet', /the network interfaces of serve could not be read: Azure denied/],
    ['scaleSets', /scale sets: Azure denied Microsoft\.Compute\/virtualMachineScaleSets\/read/],
  ])('%s: is said, and hides no machine', async (name, said) => {
    cloud.play(name, DENIED);
    const reading = await cloud.connect().fleet?.();
    expect(reading?.complete).toBe(false);
    expect(reading?.problems.join('\n')).toMatch(said);
    expect(reading?.targets.map(({ target }) => target)).toEqual(expect.arrayContaining([TRAIN]));
  });

  it('the power states: each machine is there, and nothing is said of its charges', async () => {
    cloud.play('machines', (_, __, query) => (query['statusOnly'] === 'true' ? DENIED : null));
    const reading = await cloud.connect().fleet?.();
    expect(reading?.problems).toEqual([expect.stringMatching(/the power states could not be read: Azure denied/)]);
    expect(reading?.targets.find(({ target }) => target === TRAIN)).toMatchObject({
      state: 'unknown',
      billing: 'unknown',
    });
  });

  it('one subscription hides no other', async () => {
    const other = '66666666-2222-3333-4444-555555555555';
    const refuse = errorReply(403, 'AuthorizationFailed', 'no');
    for (const name of ['machines', 'scaleSets', 'skus'])
      cloud.play(name, ({ subscriptionId }) => (subscriptionId === other ? refuse : null));
    const connection = cloud.connect({ BURSAR_AZURE_SUBSCRIPTIONS: `${other},${SUBSCRIPTION}` });
    const reading = await connection.fleet?.();
    expect(reading).toMatchObject({
      complete: false,
      problems: [
        `${other}: virtual machines: Azure denied Microsoft.Compute/virtualMachines/read (AuthorizationFailed): the permission is missing`,
        expect.stringMatching(`^${other}: scale sets: Azure denied`),
      ],
    });
    expect(reading?.targets.some(({ target }) => target === TRAIN)).toBe(true);
    expect((await all(connection.prices?.(0))).length).toBeGreaterThan(0);
    expect(await connection.granted?.('Microsoft.Compute/virtualMachines/read', 'read')).toBe(true);
  });

  it('is asked again after as long as Azure says, and fails where that is too long', async () => {
    const busy = (seconds: string) => errorReply(429, 'TooManyRequests', 'busy', { 'retry-after': seconds });
    cloud.play('machine', (_, first) => (first ? busy('0') : null));
    expect(await cloud.connect().target?.(TRAIN)).not.toBeNull();
    expect(cloud.of('machine')).toHaveLength(2);
    cloud.play('machine', busy('600'));
    await expect(cloud.connect().target?.(TRAIN)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Azure throttled Microsoft.Compute/virtualMachines/read (TooManyRequests)',
    });
    expect(cloud.of('machine')).toHaveLength(3);
  });

  it('wrong credentials are told by their code alone', async () => {
    const connection = cloud.connect({ BURSAR_AZURE_READ_CLIENT_SECRET: 'guessed~secret' });
    const failure: unknown = await connection.target?.(TRAIN).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      kind: 'denied',
      message: 'Azure does not accept the credentials used for Microsoft.Compute/virtualMachines/read (AADSTS7000215)',
    });
    expect(JSON.stringify(failure)).not.toContain('guessed');
  });

  it('a token is asked for once, and anew where it is not accepted any more', async () => {
    const connection = cloud.connect();
    await connection.fleet?.();
    expect(cloud.tokens).toBe(1);
    cloud.play('machine', (_, first) => (first ? errorReply(401, 'ExpiredAuthenticationToken') : null));
    await expect(connection.target?.(TRAIN)).rejects.toMatchObject({ kind: 'denied' });
    expect(await connection.target?.(TRAIN)).not.toBeNull();
    expect(cloud.tokens).toBe(2);
  });
});

describe('a machine of a scale set', () => {
  it.each([MEMBER, `instance/eastus/${own('rg-ml:fleet_6a1b2c')}`])('%s is left to its set', async (target) => {
    const connection = cloud.connect();
    expect(await memberRefusals(connection, target)).toEqual(REFUSED_TO_MEMBERS);
  });

  it('is its own where the set brings no machines, and its set’s where the set cannot be read', async () => {
    const placed = `instance/eastus/${own('rg-ml:placed-01')}`;
    expect((await seen(placed)).labels).toEqual({});
    cloud.play('scaleSet', DENIED);
    expect((await seen(placed)).labels).toEqual({ 'bursar:target': `asg/eastus/${own('rg-ml:placement')}` });
  });

  it('is refused by the connection itself, whatever its labels say', async () => {
    expect(await cloud.connect().apply?.({ kind: 'stop', target: MEMBER }, 'token-1', null)).toMatchObject({
      kind: 'refused',
      code: 'group-member',
    });
    expect(cloud.changes).toBe(0);
  });
});

describe('acting', () => {
  const apply = (effect: Effect, before: FleetTarget | null = null) =>
    cloud.connect().apply?.(effect, 'token-1', before);

  it.each([
    ['deallocate', { kind: 'stop', target: TRAIN }, null],
    ['start', { kind: 'start', target: TRAIN }, null],
    ['remove', { kind: 'terminate', target: TRAIN }, null],
    [
      'resize',
      { kind: 'resize', target: `instance/eastus/${own('rg-prod:train-01')}`, sku: 'Standard_NC8as_T4_v3' },
      { properties: { hardwareProfile: { vmSize: 'Standard_NC8as_T4_v3' } } },
    ],
    [
      'changeScaleSet',
      { kind: 'scale', target: SERVE, replicas: 2 },
      { sku: { name: 'Standard_NC4as_T4_v3', tier: 'Standard', capacity: 2 } },
    ],
    [
      'changeScaleSet',
      { kind: 'set-spot-ratio', target: MIXED, spotRatio: 0.9 },
      { properties: { priorityMixPolicy: { baseRegularPriorityCount: 1, regularPriorityPercentageAboveBase: 10 } } },
    ],
  ] as const)('sends %s with the identity for acting for %o', async (name, effect, body) => {
    expect(await apply(effect)).toMatchObject({ kind: 'taken', reference: 'op-1' });
    expect(cloud.of(name).map((one) => [one.by, one.body])).toEqual([['act', body]]);
    expect(cloud.changes).toBe(1);
    expect(await cloud.connect().outcome?.(effect, 'token-1')).toMatchObject({ kind: 'taken' });
  });

  it('names each effect that it can carry out, and no other', async () => {
    expect(effectsOf(provider.abilities)).toEqual(['stop', 'start', 'terminate', 'scale', 'set-spot-ratio', 'resize']);
    for (const effect of [
      { kind: 'replace', target: TRAIN, group: null },
      { kind: 'stop', target: SERVE },
    ] as const)
      expect(await apply(effect)).toMatchObject({ kind: 'refused', code: 'unsupported' });
    expect(cloud.changes).toBe(0);
  });

  it('stops, confirms and starts again', async () => {
    const connection = cloud.connect();
    const before = await seen(TRAIN);
    expect(await connection.apply?.({ kind: 'stop', target: TRAIN }, 'token-1', before)).toMatchObject({
      kind: 'taken',
    });
    // The date of its last change is that of its end now, and no launch: what it was stopped by is still its own.
    expect(await seen(TRAIN)).toMatchObject({ state: 'stopped', billing: 'partly', launchedAt: null });
    const back = inverseOf({ kind: 'stop', target: TRAIN }, before);
    expect(back).toEqual({ kind: 'start', target: TRAIN });
    expect(await connection.apply?.(back as Effect, 'token-2', await seen(TRAIN))).toMatchObject({ kind: 'taken' });
    expect(await seen(TRAIN)).toMatchObject({ state: 'running', billing: 'billed' });
  });

  it.each(['AllocationFailed', 'ZonalAllocationFailed', 'OverconstrainedAllocationRequest', 'SkuNotAvailable'])(
    'tells that a restart found no capacity (%s)',
    async (code) => {
      cloud.power(cloud.machine('train-01'), 'deallocated');
      cloud.goesOn([
        { status: 'InProgress' },
        { status: 'Failed', error: { code, message: 'We do not have sufficient capacity for the requested VM size.' } },
      ]);
      await expect(apply({ kind: 'start', target: TRAIN })).rejects.toMatchObject({
        kind: 'unavailable',
        message: `Azure has no capacity now for Microsoft.Compute/virtualMachines/start/action (${code})`,
      });
      expect(await seen(TRAIN)).toMatchObject({ state: 'stopped' });
    },
  );

  it('refuses a restart for a quota, which no waiting ends', async () => {
    cloud.power(cloud.machine('train-01'), 'deallocated');
    cloud.goesOn([{ status: 'Failed', error: { code: 'OperationNotAllowed', message: 'exceeding approved quota' } }]);
    expect(await apply({ kind: 'start', target: TRAIN })).toMatchObject({
      kind: 'refused',
      code: 'OperationNotAllowed',
    });
  });

  it('does not take a machine that was shut down from within for a stopped one', async () => {
    cloud.loseNextAnswer(false);
    const connection = cloud.connect();
    const stop: Effect = { kind: 'stop', target: `instance/eastus/${own('rg-ml:off-01')}` };
    expect(await connection.apply?.(stop, 'token-1', null)).toMatchObject({ kind: 'unknown' });
    expect(await connection.outcome?.(stop, 'token-1')).toMatchObject({ kind: 'unknown' });
    expect(cloud.changes).toBe(0);
  });

  it('tells what a stop loses, and does not stop what Azure does not deallocate', async () => {
    const stop = (target: string): Effect => ({ kind: 'stop', target });
    expect(risksOf(stop(TRAIN), await seen(TRAIN)).map(({ code }) => code)).toEqual(['local-disks', 'no-capacity']);
    const ephemeral = await seen(`instance/eastus/${own('rg-ml:placed-01')}`);
    expect(ephemeral.ruledOut?.stop).toMatch(/ephemeral disk/);
    expect(obstaclesTo(stop(ephemeral.target), ephemeral)).not.toEqual([]);
    expect(await apply(stop(ephemeral.target), ephemeral)).toMatchObject({ kind: 'refused', code: 'not-deallocated' });
    expect(cloud.changes).toBe(0);
  });

  it('does not fight a set’s own autoscaling, nor what Azure Kubernetes Service keeps', async () => {
    const scale = (target: string): Effect => ({ kind: 'scale', target, replicas: 0 });
    expect(obstaclesTo(scale(SERVE), await seen(SERVE)).map(({ code }) => code)).toContain('own-policy');
    const pool = await seen(POOL);
    expect(pool.managedBy).toEqual(['Azure Kubernetes Service keeps it as the node pool gpu']);
    expect(obstaclesTo(scale(POOL), pool)).not.toEqual([]);
  });

  it('says what Azure refuses, denies and turns away, and changes nothing', async () => {
    const stop: Effect = { kind: 'stop', target: TRAIN };
    cloud.play('deallocate', errorReply(409, 'ScopeLocked', `The scope is locked; ${ACTOR.secret} ${READER.id}`));
    expect(await apply(stop)).toEqual({ kind: 'refused', code: 'ScopeLocked', detail: 'The scope is locked; *** ***' });
    cloud.play('deallocate', DENIED);
    await expect(apply(stop)).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('Microsoft.Compute/virtualMachines/deallocate/action') as unknown,
    });
    cloud.play('deallocate', errorReply(429, 'TooManyRequests', 'busy', { 'retry-after': '0' }));
    await expect(apply(stop)).rejects.toMatchObject({ kind: 'unavailable' });
    // Never sent again by itself.
    expect(cloud.of('deallocate')).toHaveLength(3);
    cloud.play('deallocate', errorReply(500, 'InternalServerError'));
    expect(await apply(stop)).toMatchObject({ kind: 'unknown' });
  });
});

describe('prices', () => {
  it('are those of the machine itself, of all terms', async () => {
    const events = await all<PriceEvent>(cloud.connect().prices?.(0));
    const rows = events.map((event) => {
      if (event.kind !== 'price') throw new Error('it withdraws nothing');
      const { sku, term, upfront, rate, gpus } = event.price;
      const hourly = (Number(rate.nanos) / 1e9 / Number(rate.quantity)) * 3600 * (gpus ?? 0);
      return `${sku} ${term} ${upfront} ${hourly.toFixed(4)} ${rate.currency}`;
    });
    expect(rows).toEqual([
      'Standard_NC4as_T4_v3 on-demand none 0.5260 USD',
      'Standard_NC4as_T4_v3 spot none 0.1492 USD',
      `Standard_NC4as_T4_v3 reserved-1y all ${(2725 / 8760).toFixed(4)} USD`,
      `Standard_NC4as_T4_v3 reserved-3y all ${(5340 / 26_280).toFixed(4)} USD`,
      'Standard_NC24ads_A100_v4 on-demand none 3.6730 USD',
      // A sixth of a card is counted in thousandths.
      'Standard_NV6ads_A10_v5 on-demand none 0.4542 USD',
    ]);
    expect(events[0]).toMatchObject({
      price: { provider: 'Microsoft', region: 'eastus', gpuModel: 'T4', effectiveFrom: Date.UTC(2024, 3, 1) },
    });
    expect(await all(cloud.connect().prices?.(NOW + 1))).toEqual([]);
  });

  it('have offers of reservations and savings plans, with what these charge', async () => {
    const offers = (await cloud.connect().offers?.()) ?? [];
    expect(
      offers.map(({ offer, upfrontNanos, hourlyNanos, rates }) => [offer, upfrontNanos, hourlyNanos, rates]),
    ).toEqual([
      ['reservation/eastus/Standard_NC4as_T4_v3/reserved-1y', 2_725_000_000_000n, 0n, undefined],
      ['reservation/eastus/Standard_NC4as_T4_v3/reserved-3y', 5_340_000_000_000n, 0n, undefined],
      ['savings-plan/savings-plan-1y', 0n, 1_000_000_000n, [expect.objectContaining({ hourlyNanos: 415_600_000n })]],
      ['savings-plan/savings-plan-3y', 0n, 1_000_000_000n, [expect.objectContaining({ hourlyNanos: 289_300_000n })]],
    ]);
  });

  it('are not asked for where the cloud has no such list', () => {
    expect(cloud.connect({ BURSAR_AZURE_CLOUD: 'china' }).prices).toBeUndefined();
  });

  it('of spot are those of the last months; a row that cannot be read is passed over', async () => {
    cloud.rows = [
      {
        skuName: 'standard_nc4as_t4_v3',
        location: 'eastus',
        spotPrices: [
          { priceUSD: 0.149174, effectiveDate: '2026-11-01T00:00:00Z' },
          { priceUSD: 0.16, effectiveDate: '2026-06-01T00:00:00Z' },
        ],
      },
      { skuName: 'standard_nc24ads_a100_v4', location: 'eastus', spotPrices: 'none' },
    ];
    const found = await all(cloud.connect().spotHistory?.(Date.UTC(2026, 9, 1)));
    expect(found).toEqual([
      {
        provider: 'Microsoft',
        region: 'eastus',
        sku: 'Standard_NC4as_T4_v3',
        gpuModel: 'T4',
        at: Date.UTC(2026, 10, 1),
        available: null,
        price: { nanos: 149_174_000n, currency: 'USD' },
      },
    ]);
  });
});

describeProviderContract('Azure', () => ({
  connection: cloud.connect(),
  readOnly: readOnly(),
  effect: { kind: 'stop', target: TRAIN },
  now: () => NOW,
  appliedCount: () => cloud.changes,
  loseNextAnswer: (arrives) => cloud.loseNextAnswer(arrives),
}));
