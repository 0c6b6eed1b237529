/**
 * A machine that vanishes with its exporter, on a clock that the test sets second by second: scrapes as Prometheus
 * makes them (a dead machine's fail after their time-out), the line as it is due, and how long it takes from the first
 * failed scrape that can be seen to the committed intent.
 */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../src/core/policy/policy.js';
import type { FleetReading, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { GpuSample, ProviderConnection, TelemetryConnection, TelemetryReading } from '../../src/core/ports.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { policy as shift } from '../../src/policies/spot-shift.js';
import { policy as tracking } from '../../src/policies/target-tracking.js';
import { explain } from '../../src/application/policy/explain.js';
import type { Transaction } from '../../src/store/database.js';
import { enqueue } from '../../src/store/work.js';
import type { Series } from '../../src/telemetry/reading/series.js';
import { KnownExporter, silentExporters } from '../../src/telemetry/reading/silence.js';
import { takenMachines } from '../../src/store/fleet/taken.js';
import { fleetTargetJson } from '../../src/store/fleet/fleet-json.js';
import { applied } from '../support/acting.js';
import { testBursar } from '../support/bursar.js';
import { instance, MemoryCloud } from '../support/memory-cloud.js';
import { gpuSample, workloadFacts, proposedAction } from '../support/makers.js';

const START = Date.UTC(2026, 10, 18, 12);
const at = (seconds: number): number => START + seconds * 1000;
/** A scrape of what is dead fails when its time is over; Prometheus writes it at the instant at which it began. */
const TIMEOUT_MS = 10_000;

interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly everySeconds: number;
  readonly offsetSeconds: number;
  readonly isUp: (at: number) => boolean;
  /** It refuses at once, as a process that is away does on a machine that lives. */
  readonly failsAtOnce?: boolean;
}

/** Scrapes of a target that are written by an instant. */
function scraped({ labels, everySeconds, offsetSeconds, isUp, failsAtOnce = false }: Target, until: number): Series {
  const points: [number, string][] = [];
  for (let when = at(offsetSeconds - 600); when <= until; when += everySeconds * 1000) {
    if (isUp(when)) points.push([when / 1000, '1']);
    else if (failsAtOnce || when + TIMEOUT_MS <= until) points.push([when / 1000, '0']);
  }
  return { labels, points };
}

const DCGM = { job: 'dcgm', instance: '10.0.0.1:9400' };
const EXPORTER = 'dcgm/10.0.0.1:9400';

/** A world of one GPU machine, and one elsewhere. */
async function world(
  targets: readonly Target[],
  fleet: (now: number) => readonly FleetTarget[] | null,
  { spares = true, policy = shift as Policy, others = [] as readonly Policy[] } = {},
) {
  const policies = [policy, ...others];
  const cloud = new MemoryCloud();
  cloud.add(instance('host-1'), instance('node-9', { state: 'stopped', billing: 'ended' }));
  const clock = { at: START, now: () => clock.at };
  const finder = cloud.finder(clock);
  const { db, stores } = await testBursar({ now: START, targets: finder });
  const dcgm = targets.find(({ labels }) => labels['job'] === 'dcgm')!;
  const known = new Map([[EXPORTER, new KnownExporter()]]);
  known.get(EXPORTER)!.add({ ...DCGM, Hostname: 'host-1' });
  const card = (seen: number): GpuSample =>
    gpuSample({
      resource: 'host-1',
      gpu: 'GPU-0',
      at: seen,
      exporter: EXPORTER,
      gpuUtilisationRatio: 0.5,
      memoryUsedRatio: 0.5,
      temperatureCelsius: 50,
      labels: { workload: 'train' },
    });
  const connection: TelemetryConnection = {
    name: 'script',
    async *read(_, to) {
      const window = targets.map((one) => scraped(one, to));
      const isUp = scraped(dcgm, to).points.at(-1)?.[1] === '1';
      yield {
        at: to,
        samples: isUp ? [card(to)] : [],
        coverage: 1,
        problems: [],
        exportersUp: isUp ? [EXPORTER] : [],
        silent: silentExporters(known, window, window, to),
      };
    },
  };
  const asked: number[] = [];
  const provider: ProviderConnection = {
    name: 'cloud',
    account: 'a1',
    canAct: true,
    target: (name) => cloud.target(name),
    apply: (effect, token) => cloud.apply(effect, token),
    outcome: (effect, token) => cloud.outcome(effect, token),
    usage: async function* () {},
    async fleet(): Promise<FleetReading> {
      asked.push(clock.at);
      const listed = fleet(clock.at);
      return { at: clock.at, targets: listed ?? [], complete: listed !== null, problems: [] };
    },
  };
  const runner = new Runner(
    db,
    stores.work,
    clock,
    makeLine(stores, policies, [connection], new Map([['cloud', provider]])),
  );
  const enforced = (tx: Transaction, name: string, of: string, priority = 0): Promise<void> =>
    applied(stores, tx, policies, { name, policy: of, teams: ['lab'], mode: 'enforce', priority }, START);
  await db.transaction(async (tx) => {
    await stores.organisations.saveRules(tx, 'default', [{ match: {}, team: 'lab' }], 'test');
    await enforced(tx, 'doc', policy.name);
    await stores.workloads.save(tx, 'default', 'lab', workloadFacts({ spares: spares ? ['node-9'] : [] }), START);
    await enqueue(tx, 'default', [
      { stage: 'sample.collect', partition: 'script', key: 'script' },
      ...(fleet(START) === null ? [] : [{ stage: 'fleet.collect', partition: 'cloud', key: 'cloud/fleet' }]),
    ]);
  });
  const run = async (seconds: number): Promise<void> => {
    for (const end = clock.at + seconds * 1000; clock.at < end; ) {
      clock.at += 1000;
      await runner.drain();
    }
  };
  await runner.drain();
  return {
    run,
    /** Has the fleet read now, as it is once a minute and after every action. */
    readFleet: () => enqueue(db, 'default', [{ stage: 'fleet.collect', partition: 'cloud', key: 'cloud/fleet' }]),
    /** Another document of a policy, which wins over the first where both want something. */
    another: (name: string, of: string) =>
      db.transaction(async (tx) => {
        await enforced(tx, name, of, 10);
        await enqueue(tx, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
      }),
    explained: async (name: string) =>
      (await explain(stores, policies, 'default', name, clock.at)).looks.map(({ document, proposes, leftAlone }) => ({
        document,
        proposes: proposes.length,
        because: leftAlone?.code ?? null,
      })),
    clock,
    asked,
    stores,
    db,
    cloud,
    actions: async () => (await stores.actions.list('default', {}, null, 10)).map(({ action }) => action),
    findings: async () =>
      (await stores.healthFindings.list(db, 'default', { status: 'open', teams: null }, null, 10)).map(
        ({ rule }) => rule,
      ),
  };
}

const dies =
  (second: number) =>
  (when: number): boolean =>
    when < at(second);
const always = (): boolean => true;
const none = (): null => null;

describe('a machine that dies with its exporter', () => {
  const targets = (everySeconds: number, isUp: (when: number) => boolean): Target[] => [
    { labels: DCGM, everySeconds, offsetSeconds: 4, isUp },
    { labels: { job: 'node', instance: '10.0.0.1:9100' }, everySeconds, offsetSeconds: 9, isUp },
    { labels: { job: 'node', instance: '10.0.0.2:9100' }, everySeconds, offsetSeconds: 1, isUp: always },
  ];

  it.each([
    [1, shift as Policy],
    [5, tracking as Policy],
    [15, shift as Policy],
    [15, tracking as Policy],
  ])('scraped every %i s has its hot spare ordered within 30 s of the first sign', async (every, policy) => {
    const { run, actions, cloud } = await world(targets(every, dies(31)), none, { policy });
    await run(30);
    expect(await actions()).toEqual([]);
    await run(60);
    const [action, ...others] = await actions();
    expect(others).toEqual([]);
    expect(action).toMatchObject({ target: 'instance/node-9', effect: { kind: 'start' }, policy: policy.name });
    // The first scrape after its death can be seen to have failed when its time is over.
    const first = targets(every, dies(31)).flatMap((one) =>
      scraped(one, at(600))
        .points.filter(([, up]) => up === '0')
        .map(([when]) => when * 1000 + TIMEOUT_MS),
    );
    const intended = action?.intendedAt ?? Infinity;
    expect(intended - Math.min(...first)).toBeGreaterThanOrEqual(0);
    expect(intended - Math.min(...first)).toBeLessThanOrEqual(30_000);
    expect(cloud.targets.get('instance/node-9')?.state).toBe('running');
  });

  it('is not ended for its silence alone: it may be rebooting, and nothing else is at hand', async () => {
    for (const fleet of [none, () => [instance('host-1')]]) {
      const { run, actions, stores } = await world(targets(15, dies(31)), fleet, { spares: false });
      await run(120);
      expect(await actions()).toEqual([]);
      const [found] = await stores.healthFindings.list(stores.db, 'default', { teams: null }, null, 10);
      expect(found).toMatchObject({ rule: 'gone', onlySilent: true });
    }
  });

  it('is itself replaced where its cloud does not call it running, and there is no hot spare', async () => {
    const { run, actions, cloud } = await world(
      targets(15, dies(31)),
      (now) => [instance('host-1', { state: now < at(31) ? 'running' : 'unknown' })],
      { spares: false },
    );
    await run(30);
    cloud.add(instance('host-1', { state: 'unknown' }));
    await run(60);
    const [action, ...others] = await actions();
    expect([action?.effect, others]).toEqual([{ kind: 'replace', target: 'instance/host-1', group: null }, []]);
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
    expect(cloud.done).toMatchObject([{ effect: { kind: 'replace' } }]);
  });

  it('is asked for by no other document while an action replaces it, and after that', async () => {
    const other: Policy = { ...shift, name: 'other-shift' };
    const { run, actions, cloud, another, explained } = await world(
      targets(15, dies(31)),
      (now) => [instance('host-1', { state: now < at(31) ? 'running' : 'unknown' })],
      { spares: false, others: [other] },
    );
    await run(30);
    cloud.add(instance('host-1', { state: 'unknown' }));
    cloud.faults.push('lost');
    cloud.tells = false;
    for (let seconds = 0; seconds < 60 && (await actions()).length === 0; seconds++) await run(1);
    await another('second', other.name);
    await run(10);
    const [own] = await actions();
    expect([own?.state, (await actions()).length]).toEqual(['intended', 1]);
    expect(await explained('host-1')).toContainEqual({ document: 'second', proposes: 0, because: 'under-way' });
    cloud.tells = true;
    await run(60);
    expect((await actions()).map(({ id, state }) => ({ id, state }))).toEqual([{ id: own?.id, state: 'confirmed' }]);
    for (const document of ['doc', 'second'])
      expect(await explained('host-1')).toContainEqual({ document, proposes: 0, because: 'ended-already' });
  });

  it('is itself replaced where its cloud calls it running, and not well', async () => {
    const { run, actions } = await world(
      targets(15, dies(31)),
      (now) => [instance('host-1', now < at(31) ? {} : { unwell: 'SystemStatus impaired' })],
      { spares: false },
    );
    await run(90);
    const [action, ...others] = await actions();
    expect([action?.effect, others]).toEqual([{ kind: 'replace', target: 'instance/host-1', group: null }, []]);
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
  });

  it('is so though its group, which goes on counting it as ready, looks whole', async () => {
    const group = instance('train', {
      target: 'train',
      kind: 'group',
      replicas: { desired: 2, ready: 2, min: 0, max: 4 },
    });
    const { run, actions } = await world(
      targets(15, dies(31)),
      (now) => [instance('host-1', now < at(31) ? {} : { unwell: 'SystemStatus impaired' }), group],
      { spares: false },
    );
    await run(90);
    expect((await actions()).map(({ effect }) => effect.kind)).toEqual(['replace']);
  });

  it('is replaced by another like it where its cloud has taken it away for good', async () => {
    const ended = { by: 'cloud', because: 'StateReason Server.SpotInstanceTermination' } as const;
    const taken = instance('host-1', { state: 'gone', billing: 'ended', ended });
    const [dcgm, , elsewhere] = targets(15, dies(31));
    const { run, actions, cloud } = await world(
      [dcgm!, elsewhere!],
      (now) => [now < at(31) ? instance('host-1', { launch: { SubnetId: 'subnet-1' } }) : taken],
      { spares: false },
    );
    await run(30);
    cloud.add(taken);
    await run(60);
    const [action, ...others] = await actions();
    // Its cloud has forgotten how it was made; what was told before is kept, whoever was restarted since.
    expect(action?.before).toMatchObject({ state: 'gone', launch: { SubnetId: 'subnet-1' } });
    expect([action?.effect, others]).toEqual([{ kind: 'replace', target: 'instance/host-1', group: null }, []]);
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
    expect(cloud.done).toMatchObject([{ effect: { kind: 'replace' } }]);
  });

  it('is replaced where its cloud was seen to have taken it before the first scrape of it failed', async () => {
    const ended = { by: 'cloud', because: 'StateReason Server.SpotInstanceTermination' } as const;
    // EC2 forgets the names and addresses of what has ended.
    const known = { name: 'worker', knownAs: ['host-1'], launch: { SubnetId: 'subnet-1' } };
    const taken = instance('host-1', { name: 'worker', knownAs: [], state: 'gone', billing: 'ended', ended });
    const { run, actions, readFleet, cloud, stores, db } = await world(
      targets(15, dies(31)),
      (now) => [now < at(31) ? instance('host-1', known) : taken],
      { spares: false },
    );
    await run(31);
    cloud.add({ ...taken, name: 'host-1' });
    await readFleet();
    await run(1);
    expect((await stores.fleet.named(db, 'default', 'host-1'))?.seen).toMatchObject({
      state: 'gone',
      knownAs: ['host-1'],
    });
    await run(58);
    const [action, ...others] = await actions();
    expect([action?.effect, others]).toEqual([{ kind: 'replace', target: 'instance/host-1', group: null }, []]);
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
  });

  it('is replaced within 30 s of its cloud taking it where it was only silent before', async () => {
    const ended = { by: 'cloud', because: 'StateReason Server.SpotInstanceTermination' } as const;
    const taken = instance('host-1', { state: 'gone', billing: 'ended', ended });
    const { run, actions, findings, cloud } = await world(
      targets(5, dies(31)),
      (now) => [now < at(71) ? instance('host-1') : taken],
      { spares: false },
    );
    await run(70);
    expect([await findings(), await actions()]).toEqual([['gone'], []]);
    cloud.add(taken);
    await run(30);
    expect((await actions()).map(({ effect }) => effect.kind)).toEqual(['replace']);
  });

  it('is not ended where its cloud, asked for it once more, calls it running and well', async () => {
    const { run, actions, cloud, stores } = await world(
      targets(15, dies(31)),
      (now) => [instance('host-1', { state: now < at(31) ? 'running' : 'unknown' })],
      { spares: false },
    );
    await run(90);
    const [action, ...others] = await actions();
    expect(others).toEqual([]);
    expect(action).toMatchObject({ effect: { kind: 'replace' }, state: 'refused' });
    expect(action?.reasons).toEqual([
      { code: 'runs', message: 'cloud has just reported instance/host-1 as running and healthy' },
    ]);
    expect([cloud.done, (await stores.fleet.named(stores.db, 'default', 'host-1'))?.seen.state]).toEqual([
      [],
      'unknown',
    ]);
  });

  it('is not lost by one list that lacks it', async () => {
    const [dcgm, , elsewhere] = targets(15, dies(31));
    let lacking = 1;
    const { run, findings } = await world([dcgm!, elsewhere!], (now) =>
      now < at(31) || --lacking < 0 ? [instance('host-1')] : [],
    );
    await run(150);
    expect([lacking < 0, await findings()]).toEqual([true, []]);
  });

  it.each(['gone', 'stopped'] as const)(
    'is a workload itself, and %s by its cloud, whatever its exporter says',
    async (state) => {
      const labels = { 'bursar.io/workload-kind': 'training' };
      const ended = { by: 'cloud', because: 'StateReason Server.SpotInstanceTermination' } as const;
      const alone = instance('alone', { labels });
      const taken = { ...alone, state, billing: 'ended', ended } as const;
      const { run, actions, readFleet, cloud, clock } = await world(
        targets(15, always),
        (now) => [instance('host-1'), now < at(31) ? alone : taken],
        { spares: false },
      );
      await run(31);
      expect(await actions()).toEqual([]);
      cloud.add(taken);
      await readFleet();
      await run(10);
      const kind = state === 'gone' ? 'replace' : 'start';
      expect((await actions()).map(({ effect }) => effect)).toMatchObject([{ kind, target: 'instance/alone' }]);
      expect(cloud.done).toHaveLength(1);
      // Once is enough, though its cloud goes on telling.
      for (let minute = 0; minute < 50; minute += 1) {
        clock.at += 59_000;
        await readFleet();
        await run(1);
      }
      expect(cloud.done).toHaveLength(1);
    },
  );

  it('is started again where its cloud has stopped it, as a spot machine that keeps its disks', async () => {
    const ended = { by: 'cloud', because: 'annotation VirtualMachinePreempted' } as const;
    const stopped = instance('host-1', { state: 'stopped', billing: 'partly', ended });
    const [dcgm, , elsewhere] = targets(15, dies(31));
    const { run, actions, cloud } = await world(
      [dcgm!, elsewhere!],
      (now) => [now < at(31) ? instance('host-1') : stopped],
      { spares: false },
    );
    await run(30);
    cloud.add(stopped);
    await run(60);
    const [action, ...others] = await actions();
    expect([action?.effect, others]).toEqual([{ kind: 'start', target: 'instance/host-1' }, []]);
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
    expect(cloud.targets.get('instance/host-1')?.state).toBe('running');
  });

  it('is left to its own scaling group, and that is said', async () => {
    const ended = { by: 'cloud', because: 'StateReason Server.SpotInstanceTermination' } as const;
    const labels = { 'aws:autoscaling:groupName': 'train' };
    const taken = instance('host-1', { state: 'gone', billing: 'ended', ended, labels });
    const [dcgm, , elsewhere] = targets(15, dies(31));
    const { run, actions, cloud, stores } = await world(
      [dcgm!, elsewhere!],
      (now) => [now < at(31) ? instance('host-1', { labels }) : taken],
      { spares: false },
    );
    await run(30);
    cloud.add(taken);
    await run(90);
    expect(await actions()).toEqual([]);
    const [found] = await stores.recommendations.list('default', {}, null, 10);
    expect(found?.obstacle).toEqual({
      code: 'group-replaces',
      message: 'its cloud has taken instance/host-1 away, and asg/train replaces it by itself: nothing is done here',
    });
  });

  it('is known as lost by its provider alone, which is asked at once', async () => {
    const [dcgm, , elsewhere] = targets(15, dies(31));
    const { run, actions, asked } = await world([dcgm!, elsewhere!], (now) =>
      now < at(31) ? [instance('host-1')] : [],
    );
    expect(asked).toEqual([START]);
    await run(30);
    expect(asked).toEqual([START]);
    await run(60);
    const [action] = await actions();
    expect(action).toMatchObject({ target: 'instance/node-9', effect: { kind: 'start' } });
    expect(action?.intendedAt).toBeLessThanOrEqual(at(44) + 30_000);
    // The scrape of 12:00:34 has failed at 12:00:44; the provider need not wait for its minute.
    expect(asked[1]).toBeLessThanOrEqual(at(60));
  });
});

describe('nothing is replaced', () => {
  const beside: Target = {
    labels: { job: 'node', instance: '10.0.0.1:9100' },
    everySeconds: 15,
    offsetSeconds: 9,
    isUp: always,
  };
  const elsewhere: Target = {
    labels: { job: 'node', instance: '10.0.0.2:9100' },
    everySeconds: 15,
    offsetSeconds: 1,
    isUp: always,
  };
  const dcgm = (isUp: Target['isUp'], everySeconds = 15): Target => ({
    labels: DCGM,
    everySeconds,
    offsetSeconds: 4,
    isUp,
    failsAtOnce: true,
  });
  const away =
    (from: number, to: number) =>
    (when: number): boolean =>
      when < at(from) || when >= at(to);

  it.each<[string, Target[], Parameters<typeof world>[1]]>([
    [
      'when its exporter is restarted: what else is on the machine answers',
      [dcgm(away(31, 120)), beside, elsewhere],
      none,
    ],
    [
      'when its exporter is restarted, and its provider calls the machine running',
      [dcgm(away(31, 120)), elsewhere],
      () => [instance('host-1')],
    ],
    [
      'when a scrape of everything failed once',
      [dcgm(away(31, 46)), { ...beside, isUp: away(31, 46) }, elsewhere],
      none,
    ],
    ['when nobody else can tell', [dcgm(away(31, 120)), elsewhere], none],
    [
      'when the monitor itself is cut off',
      [dcgm(away(31, 120)), { ...beside, isUp: away(31, 120) }, { ...elsewhere, isUp: away(31, 120) }],
      none,
    ],
    [
      'when somebody stopped the machine',
      [dcgm(dies(31)), { ...beside, isUp: dies(31) }, elsewhere],
      (now) => [instance('host-1', { state: now < at(31) ? 'running' : 'stopped' })],
    ],
    [
      'when somebody ended the machine',
      [dcgm(dies(31)), { ...beside, isUp: dies(31) }, elsewhere],
      (now) => [
        now < at(31)
          ? instance('host-1')
          : instance('host-1', {
              state: 'gone',
              billing: 'ended',
              ended: { by: 'somebody', because: 'StateReason Client.UserInitiatedShutdown' },
            }),
      ],
    ],
  ])('%s', async (_, targets, fleet) => {
    const { run, actions, findings } = await world(targets, fleet);
    await run(150);
    expect([await findings(), await actions()]).toEqual([[], []]);
  });

  it('when somebody stopped the machine while its provider gave no answer for some seconds, nor for a moment', async () => {
    const { run, stores, actions, asked } = await world(
      [dcgm(dies(31)), { ...beside, isUp: dies(31) }, elsewhere],
      (now) => (now < at(31) ? [instance('host-1')] : now < at(58) ? null : [instance('host-1', { state: 'stopped' })]),
    );
    await run(150);
    expect(asked.some((when) => when > at(31) && when < at(58))).toBe(true);
    expect(await stores.healthFindings.list(stores.db, 'default', { teams: null }, null, 10)).toEqual([]);
    expect(await actions()).toEqual([]);
  });

  it('when we stopped it ourselves', async () => {
    const { run, actions, stores, db, clock } = await world(
      [dcgm(dies(31)), { ...beside, isUp: dies(31) }, elsewhere],
      none,
    );
    await db.transaction(async (tx) => {
      const { action } = await stores.actions.propose(
        tx,
        'default',
        proposedAction({
          target: 'host-1',
          effect: { kind: 'stop', target: 'host-1' },
          proposedBy: 'ada',
          evidenceAt: clock.at,
          expiresAt: clock.at + 3_600_000,
        }),
        clock.at,
      );
      const approved = await stores.actions.move(tx, 'default', action, 'approved', {
        at: clock.at,
        actor: 'boss',
        set: { approvedBy: 'boss' },
      });
      await stores.actions.move(tx, 'default', approved.action, 'intended', {
        at: clock.at,
        actor: 'line',
        set: { token: 'bursar-1' },
      });
    });
    await run(150);
    expect((await actions()).map(({ effect }) => effect.kind)).toEqual(['stop']);
  });
});

/**
 * A source of one exporter that always answers. `alone`: nothing but the exporter says so, and no machine is ended for it.
 */
async function answering() {
  const { db, stores } = await testBursar({ now: START });
  const clock = { at: START, now: () => clock.at };
  let next: Partial<TelemetryReading> = {};
  const connection: TelemetryConnection = {
    name: 'script',
    async *read(_, to) {
      yield { at: to, samples: [], coverage: 1, problems: [], exportersUp: [EXPORTER], ...next };
    },
  };
  const runner = new Runner(db, stores.work, clock, makeLine(stores, [], [connection]));
  const after = async (seconds: number, over: Partial<TelemetryReading>): Promise<string[]> => {
    clock.at += seconds * 1000;
    next = over;
    await enqueue(db, 'default', [{ stage: 'sample.collect', partition: 'script', key: 'script' }]);
    await runner.drain();
    return (await stores.healthFindings.list(db, 'default', { status: 'open', teams: null }, null, 10)).map(
      ({ rule, onlySilent }) => (onlySilent === true ? `${rule}, alone` : rule),
    );
  };
  const samples = (): GpuSample[] => [
    gpuSample({ resource: 'host-1', gpu: 'GPU-0', at: clock.at, exporter: EXPORTER, gpuUtilisationRatio: 0.5 }),
  ];
  const card = async (): Promise<string[]> => {
    clock.at += 60_000;
    return after(0, { samples: samples() });
  };
  const looks = async (times: number, seconds: number, over: Partial<TelemetryReading>): Promise<string[][]> => {
    const found: string[][] = [];
    for (let look = 0; look < times; look++) found.push(await after(seconds, over));
    return found;
  };
  return { clock, after, samples, card, looks };
}

describe('an exporter that answers and names no card any more', async () => {
  const { after, card, clock, looks } = await answering();

  it('has lost it within 15 seconds where it runs since before', async () => {
    expect(await card()).toEqual([]);
    expect(await after(15, { startedAt: { [EXPORTER]: START - 3_600_000 } })).toEqual(['gone']);
  });

  it('is given a minute where nobody knows since when it runs', async () => {
    expect(await card()).toEqual([]);
    expect([await after(15, {}), await after(30, {}), await after(15, {})]).toEqual([[], [], ['gone, alone']]);
  });

  it('is given five where it was restarted after the card was seen', async () => {
    expect(await card()).toEqual([]);
    const told = { startedAt: { [EXPORTER]: clock.at + 5000 } };
    expect(await looks(10, 30, told)).toEqual(looked(10, []));
    expect(await after(5, told)).toEqual(['gone, alone']);
  });
});

const looked = (times: number, found: readonly string[]): (readonly string[])[] =>
  new Array<readonly string[]>(times).fill(found);

describe('an exporter that answers again after a silence, and does not name its card yet', async () => {
  const { after, card, clock, looks, samples } = await answering();

  it('has five minutes from its return: what a reboot takes until every card is there again', async () => {
    expect(await card()).toEqual([]);
    expect(await after(15, { exportersUp: [] })).toEqual([]);
    expect(await after(75, { exportersUp: [] })).toEqual([]);
    expect(await after(15, {})).toEqual([]);
    expect(await looks(9, 30, {})).toEqual(looked(9, []));
    expect(await after(30, {})).toEqual(['gone, alone']);
  });

  it('has them where nobody looked for a while, too', async () => {
    expect(await card()).toEqual([]);
    expect(await after(300, {})).toEqual([]);
    expect(await looks(9, 30, {})).toEqual(looked(9, []));
    expect(await after(30, {})).toEqual(['gone, alone']);
  });

  it('has no more of them where it is away again and again: it is lost by its sixth return', async () => {
    const minute = async (): Promise<string[]> => [
      ...(await after(15, { exportersUp: [] })),
      ...(await looks(3, 15, {})).flat(),
    ];
    expect(await card()).toEqual([]);
    for (let away = 0; away < 5; away++) expect(await minute()).toEqual([]);
    expect(await minute()).toContain('gone, alone');
    // What was named since is missed anew from then on.
    expect(await card()).toEqual([]);
    for (let away = 0; away < 5; away++) expect(await minute()).toEqual([]);
    expect(await minute()).toContain('gone, alone');
  });

  it('has them where it names another already', async () => {
    const naming = async (...cards: string[]): Promise<string[]> => {
      clock.at += 30_000;
      return after(0, { samples: samples().flatMap((one) => cards.map((gpu) => ({ ...one, gpu }))) });
    };
    expect(await card()).toEqual([]);
    expect(await naming('GPU-0', 'GPU-1')).toEqual([]);
    expect(await after(15, { exportersUp: [] })).toEqual([]);
    expect(await after(75, { exportersUp: [] })).toEqual([]);
    for (let look = 0; look < 10; look++) expect(await naming('GPU-0')).toEqual([]);
    expect(await naming('GPU-0')).toEqual(['gone']);
    expect(await naming('GPU-0', 'GPU-1')).toEqual([]);
  });
});

describe('an exporter that answers and names other cards', async () => {
  const { clock, after, samples } = await answering();

  it('has not lost it where the machine has others in its place: it was stopped, and started on another host', async () => {
    const of = (gpu: string): GpuSample[] => samples().map((one) => ({ ...one, gpu }));
    clock.at += 60_000;
    expect(await after(0, { samples: [...of('GPU-A'), ...of('GPU-B')] })).toEqual([]);
    clock.at += 90_000;
    expect(await after(0, { samples: [...of('GPU-C'), ...of('GPU-D')] })).toEqual([]);
    clock.at += 30_000;
    expect(await after(0, { samples: [...of('GPU-C'), ...of('GPU-D')] })).toEqual([]);
    // Of those one is lost.
    clock.at += 30_000;
    expect(await after(0, { samples: of('GPU-C') })).toEqual(['gone']);
    // And again another host.
    for (const seconds of [30, 30]) {
      clock.at += seconds * 1000;
      expect(await after(0, { samples: [...of('GPU-E'), ...of('GPU-F')] })).toEqual([]);
    }
  });
});

it('how a machine was made is in no answer of the API', () => {
  const seen = instance('host-1', { launch: { SubnetId: 'subnet-1' }, unwell: 'SystemStatus impaired' });
  const known = { connection: 'aws', team: 'lab', seen, seenAt: START, firstSeenAt: START, missed: 0, goneAt: null };
  expect(fleetTargetJson(known, START)).not.toHaveProperty('launch');
  expect(fleetTargetJson(known, START)).toMatchObject({ unwell: 'SystemStatus impaired' });
});

it('what the cloud has taken is found, and is a workload, for an hour; what somebody ended is gone at once', async () => {
  const { db, stores } = await testBursar({ now: START });
  const labels = { 'bursar.io/workload-kind': 'training' };
  const machine = (name: string, by: 'cloud' | 'somebody'): FleetTarget =>
    instance(name, { state: 'gone', labels, ended: { by, because: 'a test' } });
  const read = async (when: number, targets: readonly FleetTarget[]): Promise<(string | undefined)[]> => {
    const reading = { at: when, targets, complete: true, problems: [] };
    await stores.fleet.save(db, 'default', 'cloud', reading, () => 'lab');
    const found = ['instance/a', 'instance/b'].map((name) => stores.fleet.named(db, 'default', name));
    const workloads = await stores.workloads.namesOf(db, 'default', 'lab');
    return [...(await Promise.all(found)).map((one) => one?.seen.target), ...workloads];
  };
  const both = [machine('a', 'cloud'), machine('b', 'somebody')];
  expect(await read(START, both)).toEqual(['instance/a', undefined, 'instance/a']);
  expect(await read(START + 59 * 60_000, [])).toEqual(['instance/a', undefined, 'instance/a']);
  expect(await read(START + 61 * 60_000, [])).toEqual([undefined, undefined]);
});

it('what its cloud has ended, and forgets the tags of, is still whose it was, until somebody else runs under its name', async () => {
  const { db, stores } = await testBursar({ now: START });
  const teamOf = ({ labels }: FleetTarget): string => labels['team'] ?? 'unallocated';
  const read = async (minutes: number, over: Partial<FleetTarget>) => {
    const targets = [instance('a', { labels: {}, ...over })];
    const reading = { at: START + minutes * 60_000, targets, complete: true, problems: [] };
    await stores.fleet.save(db, 'default', 'cloud', reading, teamOf);
    const [row] = await db.query<{ team: string; labels: unknown }>(
      `select team, body -> 'labels' as labels from fleet_target`,
    );
    return [row?.team, row?.labels];
  };
  const labels = { team: 'lab', 'bursar.io/workload-kind': 'training' };
  const ended = { by: 'cloud', because: 'Server.SpotInstanceTermination' } as const;
  expect(await read(0, { labels })).toEqual(['lab', labels]);
  expect(await read(1, { state: 'stopping', ended })).toEqual(['lab', labels]);
  expect(await read(2, { state: 'gone', ended })).toEqual(['lab', labels]);
  expect(await read(3, { state: 'gone', ended })).toEqual(['lab', labels]);
  expect(await stores.workloads.namesOf(db, 'default', 'lab')).toEqual(['instance/a']);
  // A machine that runs without tags has none.
  expect(await read(4, {})).toEqual(['unallocated', {}]);
});

it('what was replaced on its way out is not lost again when its end is seen; what has started since under its name is', async () => {
  const { db, stores } = await testBursar({ now: START });
  const read = async (seconds: number, over: Partial<FleetTarget>): Promise<number> => {
    const ended = { by: 'cloud', because: 'Server.SpotInstanceTermination' } as const;
    const targets = [instance('a', { state: 'gone', launchedAt: START - 3_600_000, ended, ...over })];
    const reading = { at: at(seconds), targets, complete: true, problems: [] };
    await stores.fleet.save(db, 'default', 'cloud', reading, () => 'lab');
    return (await takenMachines(db, 'default', 'lab', at(seconds))).size;
  };
  expect(await read(0, { state: 'stopping' })).toBe(0);
  const target = 'instance/a';
  const made = proposedAction({
    target,
    effect: { kind: 'replace', target, group: null } as const,
    mode: 'enforce' as const,
    evidenceAt: null,
    expiresAt: at(3600),
  });
  // Without it, the end is found.
  expect(await read(5, {})).toBe(2);
  await db.transaction((tx) => stores.actions.propose(tx, 'default', made, at(1)));
  await db.query(
    `update action set state = 'confirmed', token = 'bursar-1', intended_at = $1, applied_at = $2, confirmed_at = $2`,
    [new Date(at(2)), new Date(at(3))],
  );
  expect(await read(7, {})).toBe(0);
  expect(await read(60, { launchedAt: at(2.5) })).toBe(2);
});
