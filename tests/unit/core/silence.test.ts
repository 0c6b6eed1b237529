/** When silence counts: what is demanded, each witness, and everything that speaks against a loss. */
import { describe, expect, it } from 'vitest';
import { assess, isInDoubt, type DeviceHistory } from '../../../src/core/fleet/health.js';
import { judgeSilence, type MachineReading, type Silence } from '../../../src/core/fleet/silence.js';

const NOW = Date.UTC(2026, 10, 21, 8);
const ago = (seconds: number): number => NOW - seconds * 1000;

/** A machine whose two targets have failed since 20 seconds, while another machine answers. */
const silence = (over: Partial<Silence> = {}): Silence => ({
  exporter: 'dcgm/host-1:9400',
  names: ['host-1'],
  since: ago(20),
  until: ago(2),
  failures: 4,
  othersSilent: 1,
  othersAnswering: 0,
  machinesSilent: 1,
  machinesAnswering: 1,
  machine: null,
  takenAwayBy: null,
  ...over,
});
const read = (over: Partial<MachineReading> = {}): MachineReading => ({
  state: 'running',
  missed: 0,
  groupIsWhole: null,
  ...over,
});
const kind = (over: Partial<Silence> = {}): string => judgeSilence(silence(over), NOW).kind;

describe('a machine', () => {
  it('is lost when everything on it is silent, and says by which witness', () => {
    expect(judgeSilence(silence(), NOW)).toEqual({
      kind: 'lost',
      onlySilent: true,
      witness: 'the other target of its machine became silent too',
    });
    expect(judgeSilence(silence({ othersSilent: 3 }), NOW)).toEqual({
      kind: 'lost',
      onlySilent: true,
      witness: 'all 3 other targets of its machine became silent too',
    });
    // A reboot looks the same.
    expect(judgeSilence(silence({ machine: read() }), NOW)).toEqual({
      kind: 'lost',
      onlySilent: true,
      witness: 'the other target of its machine became silent too, while its provider reports it as running',
    });
    expect(judgeSilence(silence({ machine: read({ state: 'unknown' }) }), NOW)).toMatchObject({ onlySilent: false });
    const unwell = read({ unwell: 'SystemStatus impaired' });
    expect(judgeSilence(silence({ machine: unwell, othersSilent: 0, failures: 2 }), NOW)).toEqual({
      kind: 'lost',
      onlySilent: false,
      witness: 'its cloud reports it as unhealthy (SystemStatus impaired)',
    });
    const taken = { by: 'cloud', because: 'operation compute.instances.preempted' } as const;
    expect(judgeSilence(silence({ machine: read({ state: 'stopped', ended: taken }) }), NOW)).toMatchObject({
      onlySilent: false,
      witness: 'its cloud has stopped it (operation compute.instances.preempted)',
    });
    // Its group has what it wants without it.
    expect(kind({ machine: read({ state: 'stopped', ended: taken, groupIsWhole: true }) })).toBe('none');
    // Somebody stopped it meanwhile.
    expect(kind({ machine: { ...unwell, state: 'stopped' } })).toBe('none');
    expect(kind({ machine: unwell, othersAnswering: 1 })).toBe('none');
    // What we let go leaves; a member of the same group that stays and dies is called running and unwell.
    expect(kind({ machine: unwell, takenAwayBy: 'act-1' })).toBe('lost');
    expect(kind({ machine: read(), takenAwayBy: 'act-1' })).toBe('none');
  });

  it('is undecided until its provider was asked, and lost all the same where it cannot be asked for long', () => {
    expect(kind({ machine: 'unread' })).toBe('undecided');
    expect(kind({ machine: 'unread', since: ago(29.9) })).toBe('undecided');
    expect(judgeSilence(silence({ machine: 'unread', since: ago(30) }), NOW)).toEqual({
      kind: 'lost',
      onlySilent: true,
      witness: 'the other target of its machine became silent too, and its provider could not be reached since',
    });
    // No provider knows it: nobody is waited for.
    expect(kind({ machine: null })).toBe('lost');
  });

  it.each([
    ['a single failed scrape', { failures: 1, since: ago(2) }],
    ['one failed scrape of each of its two targets', { failures: 2 }],
    ['failed scrapes within less than ten seconds', { since: ago(11) }],
    ['no witness but its exporter', { othersSilent: 0 }],
    ['a provider that still calls it running, and no other target', { othersSilent: 0, machine: read() }],
    ['a monitor that misses more machines than it reaches', { machinesSilent: 3, machinesAnswering: 2 }],
  ])('is undecided after %s', (_, over) => expect(kind(over)).toBe('undecided'));

  it.each([
    ['its provider lists it no more', read({ state: 'gone', missed: 1 })],
    ['its provider says it is gone', read({ state: 'gone' })],
    ['its node is not ready', read({ state: 'unknown' })],
    ['its cloud has stopped it', read({ state: 'stopped', ended: { by: 'cloud', because: 'a test' } })],
    ['it is gone and its group waits for another', read({ state: 'gone', groupIsWhole: false })],
  ])('is lost without another target where %s', (_, machine) =>
    expect(kind({ othersSilent: 0, machine })).toBe('lost'),
  );

  it('needs one failed scrape less where its provider misses it too, and never one alone', () => {
    const machine = read({ state: 'gone', missed: 1 });
    expect([2, 1].map((failures) => kind({ failures, othersSilent: 0, machine }))).toEqual(['lost', 'undecided']);
  });

  it.each([
    ['another of its targets answers: its exporter was restarted', { othersAnswering: 1 }],
    ['we stopped it', { takenAwayBy: 'act-1' }],
    ['somebody stopped it', { machine: read({ state: 'stopped' }) }],
    ['it is being stopped', { machine: read({ state: 'stopping' }) }],
    ['its group is whole without it', { machine: read({ state: 'gone', missed: 2, groupIsWhole: true }) }],
    ['nothing was heard of it for two minutes', { since: ago(400), until: ago(121) }],
  ])('is not lost where %s', (_, over) => expect(kind(over)).toBe('none'));
});

describe('a card', () => {
  const card = (over: Partial<DeviceHistory> = {}): DeviceHistory => ({
    resource: 'pod/ml/chat-1',
    gpu: 'GPU-1',
    migInstance: null,
    team: 'ml',
    workload: 'chat',
    exporterUpAt: null,
    exporterNamesCards: false,
    cardSeenAt: ago(25),
    silence: silence(),
    readings: [
      {
        at: ago(25),
        gpuUtilisationRatio: 0.5,
        temperatureCelsius: null,
        pcieReplays: null,
        networkLatencySeconds: null,
        fault: null,
      },
    ],
    ...over,
  });
  const gone = (one: DeviceHistory) => assess(one, NOW).find(({ rule }) => rule === 'gone');

  it('goes with its machine, with the scrapes that failed as its evidence', () => {
    expect(gone(card())).toMatchObject({
      state: 'found',
      finding: {
        severity: 'fatal',
        title: 'gone: its machine is silent, and the other target of its machine became silent too',
        numbers: { silentSeconds: 18, failedScrapes: 4, otherTargetsSilent: 1 },
        evidence: { from: '2026-11-21T07:59:40Z', to: '2026-11-21T07:59:58Z', ageSeconds: 2 },
      },
    });
    // Its cloud is asked, for its word may say more.
    expect(isInDoubt(card(), NOW)).toBe(true);
    expect(isInDoubt(card({ silence: silence({ machine: read({ state: 'gone' }) }) }), NOW)).toBe(false);
  });

  it('is not missed by who had given it up before, nor while its exporter answers', () => {
    expect(gone(card({ cardSeenAt: ago(22) }))?.state).toBe('unknown');
    expect(gone(card({ exporterUpAt: ago(1), exporterNamesCards: true, cardSeenAt: ago(1) }))?.state).toBe('well');
  });

  it('is in doubt for two minutes at most: then whoever looks need not look so often', () => {
    const doubtful = { failures: 1 };
    expect(
      [20, 119, 121].map((seconds) => isInDoubt(card({ silence: silence({ ...doubtful, since: ago(seconds) }) }), NOW)),
    ).toEqual([true, true, false]);
    expect(gone(card({ silence: silence(doubtful) }))?.state).toBe('unknown');
  });
});
