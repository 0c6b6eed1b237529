/** idle-stop at its limits: each reason to leave a resource alone, just before it holds and from where it holds. */
import { describe, expect, it } from 'vitest';
import type { MachineView, Reading, ResourceView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/idle-stop.js';

const MINUTE = 60_000;
const MACHINE: MachineView = {
  connection: 'aws',
  kind: 'instance',
  state: 'running',
  term: 'on-demand',
  gpus: 8,
  launchedAt: AS_OF - 86_400_000,
  group: null,
};

const at = (minutesAgo: number, over: Partial<Reading> = {}): Reading => ({
  at: AS_OF - minutesAgo * MINUTE,
  gpuUtilisationRatio: 0,
  memoryUsedRatio: 0,
  requestsPerSecond: null,
  ...over,
});
/** Twelve hours of readings, of which `changed` says some differently; null: it is missing. */
const readings = (changed: (minutesAgo: number) => Partial<Reading> | null = () => ({})): Reading[] =>
  Array.from({ length: 720 }, (_, n) => 719 - n).flatMap((ago) => {
    const over = changed(ago);
    return over === null ? [] : [at(ago, over)];
  });
const last = (over: Partial<Reading>) => readings((ago) => (ago === 0 ? over : {}));

function resource(over: Partial<ResourceView> = {}): ResourceView {
  const known = { resource: 'i-a', gpus: 8, gpuModel: null, hourlyNanos: 32_000_000_000n, workload: null };
  return { ...known, observedFrom: AS_OF - 719 * MINUTE, readings: readings(), machine: MACHINE, ...over };
}
const machine = (over: Partial<MachineView>, more: Partial<ResourceView> = {}): ResourceView =>
  resource({ machine: { ...MACHINE, ...over }, ...more });

const explained = (one: ResourceView, given: object = {}) =>
  policy.explain!(exampleView({ resources: [one] }), policy.params.parse(given))[0]!;
const leftAlone = (one: ResourceView, given: object = {}) => explained(one, given).leftAlone;
const codeOf = (one: ResourceView, given: object = {}) => leftAlone(one, given)?.code ?? 'stop';
const proposed = (one: ResourceView, given: object = {}) =>
  policy.evaluate(exampleView({ resources: [one] }), policy.params.parse(given))[0];

describe('the machine', () => {
  it.each<[string, Partial<MachineView>]>([
    ['stop', {}],
    ['stop', { state: 'starting' }],
    ['stop', { state: 'unknown' }],
    ['not-running', { state: 'stopped' }],
    ['not-running', { state: 'stopping' }],
    ['not-running', { state: 'gone' }],
    ['member', { group: 'asg/a' }],
    ['paid-in-advance', { stopSaving: { saves: 'nothing', because: 'it is paid' } }],
    ['stop', { stopSaving: { saves: 'unknown', because: 'who knows' } }],
    ['stop', { localDisks: true }],
    ['size-unknown', { gpus: null }],
    ['stop', { gpus: null, kind: 'workload' }],
    ['stop', { gpus: null, state: 'unknown' }],
    ['part-measured', { gpus: 9 }],
    ['stop', { gpus: 7 }],
  ])('%s: %o', (code, over) => expect(codeOf(machine(over))).toBe(code));

  it('says what it is, and what would change it', () => {
    expect(leftAlone(machine({ state: 'gone' }))).toEqual({
      code: 'not-running',
      message: 'it is gone',
      toAct: 'the machine to run again',
    });
    expect(leftAlone(machine({ stopSaving: { saves: 'nothing', because: 'it is paid' } }))?.message).toBe('it is paid');
    expect(leftAlone(machine({ gpus: 9 }))?.message).toMatch(/^8 of its 9 GPUs are measured/);
    expect(codeOf(machine({ gpus: 9 }, { gpus: null }))).toBe('stop');
  });

  it('keeps its local disks where the policy may not lose them', () => {
    const kept = { losesLocalDisks: false };
    expect(codeOf(machine({ localDisks: true }), kept)).toBe('local-disks');
    expect(codeOf(machine({}), kept)).toBe('stop');
  });

  it('saves an unknown amount where nobody knows what a stop saves', () => {
    const unknown = proposed(machine({ stopSaving: { saves: 'unknown', because: 'who knows' } }));
    expect(unknown).toMatchObject({ monthlySavings: null, computation: { savingUnknown: 'who knows' } });
    const known = proposed(machine({ stopSaving: { saves: 'its hours' } }));
    expect(known?.monthlySavings?.mean).toBeGreaterThan(0n);
    expect(known?.computation).not.toHaveProperty('savingUnknown');
  });

  it('needs a price, and says why it has none', () => {
    expect(leftAlone(resource({ hourlyNanos: null }))).toMatchObject({
      code: 'no-price',
      message: 'its hourly cost is unknown',
    });
    expect(leftAlone(resource({ hourlyNanos: null, unjoined: 'nobody knows i-a' }))?.message).toBe(
      'its hourly cost is unknown: nobody knows i-a',
    );
  });
});

describe('a machine that was just started', () => {
  const MINUTES = (n: number) => AS_OF - n * MINUTE;

  it('need not work for as long as the policy says', () => {
    expect(codeOf(machine({ launchedAt: MINUTES(60) }))).toBe('stop');
    expect(codeOf(machine({ launchedAt: MINUTES(60) + 1 }))).toBe('in-grace');
    expect(codeOf(machine({ launchedAt: MINUTES(120) + 1 }), { graceMinutes: 120 })).toBe('in-grace');
    expect(codeOf(machine({ launchedAt: MINUTES(120) }), { graceMinutes: 120 })).toBe('stop');
    expect(codeOf(resource({ machine: undefined as never, observedFrom: MINUTES(30) }))).toBe('in-grace');
    expect(codeOf(resource({ machine: undefined as never, observedFrom: null }))).toBe('stop');
  });

  it('says since when it runs, or is seen', () => {
    expect(leftAlone(machine({ launchedAt: MINUTES(30) }))).toMatchObject({
      message: 'it has not worked yet and was started 30 minutes ago',
      toAct: '60 minutes after its start (graceMinutes)',
    });
    expect(leftAlone(machine({ launchedAt: null, firstSeenAt: MINUTES(30) }))).toMatchObject({
      message: 'it has not worked yet and was first seen 30 minutes ago',
      toAct: '60 minutes after that (graceMinutes)',
    });
  });

  it('is judged as any other once it has worked since', () => {
    const worked = (ago: number) => readings((one) => (one === ago ? { gpuUtilisationRatio: 0.9 } : {}));
    const started = (ago: number) =>
      machine({ launchedAt: MINUTES(50) }, { readings: worked(ago), workload: 'training' });
    expect(codeOf(started(51))).toBe('in-grace');
    expect(codeOf(started(50))).not.toBe('in-grace');
    expect(codeOf(started(20))).not.toBe('in-grace');
  });
});

describe('the evidence', () => {
  it('is lost where nothing, or nothing of late, was measured', () => {
    expect(leftAlone(resource({ readings: [] }))).toMatchObject({ code: 'no-readings', evidence: 'lost' });
    const old = readings((ago) => (ago < 6 ? null : {}));
    expect(leftAlone(resource({ readings: old }))).toMatchObject({
      code: 'stale',
      evidence: 'lost',
      message: 'its newest reading is 6 minutes old, older than 5',
    });
    const younger = readings((ago) => (ago < 5 ? null : {}));
    expect(leftAlone(resource({ readings: younger }))).toMatchObject({ code: 'late', evidence: 'late' });
    expect(codeOf(resource({ readings: old }), { staleMinutes: 6 })).toBe('late');
  });

  it('is unknown where its readings are blank', () => {
    const blank = { gpuUtilisationRatio: null };
    expect(leftAlone(resource({ readings: readings(() => blank) }))).toMatchObject({
      code: 'unknown',
      evidence: 'lost',
    });
    expect(codeOf(resource({ readings: readings((ago) => (ago < 6 ? blank : {})) }))).toBe('unknown');
    expect(codeOf(resource({ readings: readings((ago) => (ago < 5 ? blank : {})) }))).toBe('unsure');
    expect(codeOf(resource({ readings: last(blank) }))).toBe('stop');
    // Requests that are counted are evidence too.
    const counted = readings(() => ({ ...blank, requestsPerSecond: 1 }));
    expect(codeOf(resource({ readings: counted, workload: 'inference' }))).toBe('working');
  });

  it.each<[string, string, Partial<Reading> | null, number]>([
    ['missing', 'its reading of 23:59 is missing', null, 1],
    ['blank', 'its reading of 23:59 is blank', { gpuUtilisationRatio: null }, 1],
    ['contradictory', 'it drew the power of a working card at 23:59', { powerWatts: 200 }, 1],
  ])('leaves a doubt where a reading is %s', (_, message, over, minute) => {
    const some = readings((ago) => (ago === minute ? over : { powerWatts: 50 }));
    const found = leftAlone(resource({ readings: some }));
    expect(found).toMatchObject({ code: 'unsure', evidence: 'late' });
    expect(found?.message).toContain(message);
  });

  it('is awaited for as long as a reading needs to arrive', () => {
    const late = (minutes: number) => resource({ readings: readings((ago) => (ago < minutes ? null : {})) });
    expect(codeOf(late(2))).toBe('stop');
    expect(leftAlone(late(3))).toMatchObject({
      code: 'late',
      message: expect.stringMatching(/^its reading of 23:58 is/),
    });
    expect(codeOf(late(3), { lagMinutes: 2 })).toBe('stop');
  });

  it('contradicts itself from the power of a working card on', () => {
    const drawing = (powerWatts: number) =>
      resource({ readings: readings((ago) => ({ powerWatts: ago === 0 ? powerWatts : 50 })) });
    expect(codeOf(drawing(109.9))).toBe('stop');
    expect(leftAlone(drawing(110))).toMatchObject({
      code: 'contradictory',
      message: expect.stringMatching(/^it draws 110 W at .*: from 110 W on/),
    });
  });
});

describe('a quiet', () => {
  it('is too short, may end, or does not pay for the restart', () => {
    expect(leftAlone(resource(), { minimumQuietMinutes: 720 })).toMatchObject({
      code: 'too-soon',
      message: 'quiet for 719 minutes',
      toAct: '720 minutes of quiet (minimumQuietMinutes)',
    });
    expect(codeOf(resource(), { minimumQuietMinutes: 719 })).toBe('stop');
    expect(leftAlone(resource(), { maximumFalseStopProbability: 0 })).toMatchObject({
      code: 'may-return',
      toAct: 'a probability of 0 % or less (maximumFalseStopProbability)',
    });
    // A few minutes of quiet, which lasted longer only in a mean of few.
    const short = resource({ readings: readings((ago) => (ago > 3 ? null : {})), observedFrom: AS_OF - 3 * MINUTE });
    const anyRisk = { maximumFalseStopProbability: 1, restartMinutes: 1440 };
    expect(leftAlone(short, anyRisk)).toMatchObject({
      code: 'wait-pays',
      message: 'quiet for 3 minutes: a stop now would save less than its restart costs',
    });
  });

  it('of held memory must be long where nobody says what runs', () => {
    const holding = (memoryUsedRatio: number | null) => readings(() => ({ memoryUsedRatio }));
    const given = (heldMemoryMinutes: number) => ({ heldMemoryMinutes });
    expect(codeOf(resource({ readings: holding(0.8) }), given(719))).toBe('stop');
    expect(leftAlone(resource({ readings: holding(0.8) }), given(720))).toMatchObject({
      code: 'memory-held',
      message: expect.stringMatching(/^80 % of its memory .* after 719 minutes/),
      toAct: expect.stringMatching(/^720 minutes of quiet/),
    });
    expect(codeOf(resource({ readings: holding(0.1) }), given(720))).toBe('stop');
    expect(codeOf(resource({ readings: holding(0.101) }), given(720))).toBe('memory-held');
    expect(codeOf(resource({ readings: holding(null) }), given(720))).toBe('stop');
    expect(codeOf(resource({ readings: holding(0.8), workload: 'training' }), given(720))).toBe('stop');
  });

  it('that has ended in work often enough is no end where nobody says what runs', () => {
    const example = policy.examples.find(({ title }) => title.startsWith('The same, where so many returns'))!;
    const [one] = example.view.resources;
    const stops = Number(proposed(one!, { mostReturns: 1000 })?.computation['stopsInTheReadings']);
    expect(stops).toBeGreaterThan(3);
    expect(codeOf(one!, { mostReturns: stops - 1 })).toBe('stop');
    expect(leftAlone(one!, { mostReturns: stops - 2 })).toMatchObject({
      code: 'comes-back',
      message: `it has worked again after ${stops - 1} such quiets, and its workload is unknown`,
    });
    expect(codeOf({ ...one!, workload: 'training' }, { mostReturns: 0 })).toBe('stop');
  });
});

describe('what is told', () => {
  it('names all that the newest reading measured, rounded', () => {
    const measured = { powerWatts: 49.6, memoryUsedMib: 599.5, requestsPerSecond: 0 };
    expect(explained(resource({ readings: last(measured), workload: 'inference' })).saw).toEqual([
      '720 readings of 8 x GPU',
      'the newest of 2026-11-01 00:00 UTC: 0 % busy, 50 W, 600 MiB of memory in use, 0 requests a second',
      'an hour of it costs 32.00 USD',
    ]);
    expect(
      explained(resource({ readings: last({ gpuUtilisationRatio: null }), hourlyNanos: null, gpus: null })).saw,
    ).toEqual([
      '720 readings of an unknown number of x GPU',
      'the newest of 2026-11-01 00:00 UTC: utilisation unknown',
      'its price is unknown',
    ]);
    expect(explained(resource({ readings: [] })).saw).toHaveLength(2);
    expect(proposed(resource({ readings: last(measured) }))?.computation).toMatchObject({
      powerWatts: 50,
      memoryUsedMib: 600,
    });
  });

  it('saves at most what the machine costs, and what was saved of the readings', () => {
    // Twelve hours without a minute of work, of which the first stop decides: one stop, of which nobody knows the spread.
    const { monthlySavings, monthlyCost, computation } = proposed(resource())!;
    const saved = Number(computation['savedMinutesInTheReadings']);
    expect(computation['stopsInTheReadings']).toBe(1);
    expect(computation['minutesOfReadings']).toBe(719);
    expect(monthlyCost).toBe(32n * 730n * 1_000_000_000n);
    expect(Number(monthlySavings!.mean)).toBeCloseTo((saved / 719) * 32e9 * 730, -3);
    expect(monthlySavings!.low).toBe(0n);
    expect(monthlySavings!.high).toBe(monthlyCost);
  });
});
