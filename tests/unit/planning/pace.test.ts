/**
 * What a team's measurements say of other GPUs and other counts: as measured where they say so themselves, predicted
 * where they do not, and else nothing.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RunFacts, TakenMeasurement } from '../../../src/core/workload/measurement.js';
import { parseMeasurements } from '../../../src/lab/throughput/run.js';
import { featureSpace } from '../../../src/planning/throughput/features.js';
import { keptKnowledge, Paces, pacesOf, relativeSpeeds, rowsFor } from '../../../src/planning/throughput/pace.js';
import { predictThroughput } from '../../../src/planning/throughput/predict.js';
import { answerThroughput } from '../../../src/planning/throughput/question.js';
import {
  MOST_COEFFICIENTS,
  MOST_FAMILIES,
  MOST_OWN_ROWS,
  chosenRows,
} from '../../../src/planning/throughput/chosen-rows.js';

const row = (over: Partial<TakenMeasurement>): TakenMeasurement => ({
  id: '1',
  team: 'red',
  model: 'm',
  gpu: 'A100-80GB',
  gpuCount: 1,
  batch: 32,
  samplesPerSecond: 100,
  family: 'cnn',
  params: 25e6,
  size: 224,
  optimizer: 'adamw',
  precision: 'bf16',
  nodes: null,
  peakMemoryGib: null,
  measuredAt: 0,
  ...over,
});
const run = (over: Partial<RunFacts> = {}): RunFacts => ({
  model: 'm',
  batch: null,
  precision: null,
  optimizer: null,
  size: null,
  ...over,
});

describe('the pace of a run', () => {
  it('is what was measured in this very configuration, all of its rows', () => {
    const paces = new Paces(
      [
        row({ samplesPerSecond: 90 }),
        row({ samplesPerSecond: 110 }),
        row({ gpu: 'T4', samplesPerSecond: 20 }),
        row({ batch: 64, samplesPerSecond: 150, measuredAt: -1 }),
      ],
      'red',
    );
    expect(paces.paceOf(run({ batch: 32 }), 'A100-80GB', 1)).toEqual({
      samplesPerSecond: 100,
      low: 90,
      high: 110,
      isMeasured: true,
      rows: 2,
    });
    // FP32 said in another way is the same; what is not said is as it was measured last.
    expect(paces.paceOf(run({ precision: 'bfloat16' }), 'T4', 1)).toMatchObject({ isMeasured: false });
    expect(paces.paceOf(run({ batch: 32 }), 'T4', 1)).toMatchObject({ samplesPerSecond: 20, isMeasured: true });
    expect(paces.kinds('m')).toEqual(['A100-80GB', 'T4']);
  });

  it('is predicted, with an interval, for counts and batches that nobody measured', () => {
    const paces = new Paces(
      [row({}), row({ gpuCount: 2, samplesPerSecond: 195 }), row({ gpuCount: 4, samplesPerSecond: 370 })],
      'red',
    );
    const eight = paces.paceOf(run(), 'A100-80GB', 8)!;
    expect(eight.isMeasured).toBe(false);
    expect(eight.rows).toBe(3);
    expect(eight.samplesPerSecond).toBeGreaterThan(450);
    expect(eight.samplesPerSecond).toBeLessThan(900);
    expect(eight.low).toBeLessThan(eight.samplesPerSecond);
    expect(eight.high).toBeGreaterThan(eight.samplesPerSecond);
  });

  it('is not known of a model that the team has not measured, nor on GPUs on which nobody measured anything', () => {
    const paces = new Paces([row({}), row({ team: 'blue', model: 'theirs' })], 'red');
    expect(paces.paceOf(run({ model: 'theirs' }), 'A100-80GB', 1)).toBeNull();
    expect(paces.paceOf(run(), 'H100', 1)).toBeNull();
    expect(new Paces([], 'red').paceOf(run(), 'A100-80GB', 1)).toBeNull();
  });

  it('learns of other GPUs from models that were measured on both', () => {
    const others = [
      ['a', 200, 50],
      ['b', 300, 80],
      ['c', 150, 36],
      ['d', 80, 20],
    ] as const;
    const rows = others.flatMap(([model, fast, slow]) =>
      [16, 32, 64].flatMap((batch) => [
        row({ model, team: 'blue', batch, samplesPerSecond: fast }),
        row({ model, team: 'blue', batch, gpu: 'T4', samplesPerSecond: slow }),
      ]),
    );
    const pace = new Paces([...rows, row({ samplesPerSecond: 100 })], 'red').paceOf(run(), 'T4', 1)!;
    expect(pace.isMeasured).toBe(false);
    expect(pace.samplesPerSecond).toBeGreaterThan(18);
    expect(pace.samplesPerSecond).toBeLessThan(34);
  });

  it('is near what was measured for recorded trainings, from eight rows of each', () => {
    const { measurements } = parseMeasurements(
      readFileSync('tests/fixtures/h200-throughput/throughput.jsonl', 'utf8'),
      'throughput.jsonl',
    );
    const taken = measurements.map(
      (one, at): TakenMeasurement => ({ ...one, id: String(at), team: 'red', peakMemoryGib: null, measuredAt: at }),
    );
    const errors: number[] = [];
    for (const model of ['resnet50', 'resnet101', 'resnet18']) {
      const own = taken.filter((one) => one.model === model);
      const known = own.filter((_, at) => at % 2 === 0).slice(0, 8);
      const paces = new Paces([...taken.filter((one) => one.model !== model), ...known], 'red');
      for (const { batch, precision, optimizer, size, gpu, gpuCount, samplesPerSecond } of own.filter(
        (one) => !known.includes(one),
      )) {
        const pace = paces.paceOf({ model, batch, precision, optimizer, size }, gpu, gpuCount)!;
        errors.push(Math.abs(pace.samplesPerSecond / samplesPerSecond - 1));
      }
    }
    expect(errors.length).toBeGreaterThan(20);
    expect(errors.reduce((sum, one) => sum + one, 0) / errors.length).toBeLessThan(0.15);
  });

  it('fits where it was measured with that batch or more, or where the memory that it took is no more than there is', () => {
    const paces = new Paces(
      [
        row({ peakMemoryGib: 20, batch: 32 }),
        row({ peakMemoryGib: 38, batch: 64, gpu: 'A100-40GB' }),
        row({ gpu: 'T4', batch: 8, peakMemoryGib: 9 }),
      ],
      'red',
    );
    expect([
      paces.fits(run({ batch: 32 }), 'A100-80GB'),
      paces.fits(run({ batch: 32 }), 'L4'),
      paces.fits(run({ batch: 64 }), 'L4'),
    ]).toEqual([true, true, false]);
    // Measured there, but with a smaller batch; and a GPU whose memory nobody knows.
    expect([
      paces.fits(run({ batch: 32 }), 'T4'),
      paces.fits(run({ batch: 32 }), 'A100'),
      paces.fits(run({ batch: 128 }), 'A100-80GB'),
    ]).toEqual([false, null, null]);
  });

  it('is, over a reference, what placements need: without what does not fit, and a prediction at its low end', () => {
    const paces = new Paces(
      [
        row({ peakMemoryGib: 20 }),
        row({ gpu: 'H100', samplesPerSecond: 250 }),
        row({ gpu: 'T4', batch: 8, samplesPerSecond: 9 }),
        row({ gpu: 'L40S', model: 'other' }),
      ],
      'red',
    );
    const speeds = relativeSpeeds(paces, run({ batch: 32 }), 'A100-80GB', 1)!;
    expect(Object.keys(speeds)).toEqual(['A100-80GB', 'H100', 'L40S']);
    expect([speeds['A100-80GB'], speeds['H100']]).toEqual([1, 2.5]);
    expect(speeds['L40S']).toBe(paces.paceOf(run({ batch: 32 }), 'L40S', 1)!.low / 100);
    expect(relativeSpeeds(paces, run({ model: 'unknown' }), 'A100-80GB', 1)).toBeNull();
  });

  it('learns from a part of many rows: of the models that know most of the kinds, evenly', () => {
    const many = Array.from({ length: 40 }, (_, m) =>
      Array.from({ length: 100 }, (__, n) =>
        row({ id: String(n), model: `other-${m}`, gpu: m < 5 && n % 2 === 0 ? 'T4' : 'A100-80GB' }),
      ),
    ).flat();
    const { own, background } = rowsFor([...many, row({}), row({ gpu: 'H100', model: 'other-9' })], 'red', 'm', 'T4');
    expect(own).toHaveLength(1);
    const counts = new Map<string, number>();
    for (const { model } of background) counts.set(model, (counts.get(model) ?? 0) + 1);
    expect([...counts.keys()].slice(0, 5).sort()).toEqual(['other-0', 'other-1', 'other-2', 'other-3', 'other-4']);
    expect([...counts.values()]).toEqual(new Array<number>(12).fill(24));
    expect(
      background
        .filter(({ model }) => model === 'other-0')
        .map(({ id }) => Number(id))
        .slice(0, 4),
    ).toEqual([0, 5, 9, 13]);
    // A few are all there.
    expect(
      rowsFor([row({ model: 'a' }), row({ model: 'b' }), row({})], 'red', 'm', 'A100-80GB').background,
    ).toHaveLength(2);
  });

  it('is worked out once for the same list', () => {
    const rows = [row({})];
    expect(pacesOf(rows, 'red')).toBe(pacesOf(rows, 'red'));
    expect(pacesOf(rows, 'blue').paceOf(run(), 'A100-80GB', 1)).toBeNull();
  });
});

describe('more measurements than an answer needs', () => {
  const many = (count: number, over: (at: number) => Partial<TakenMeasurement>): TakenMeasurement[] =>
    Array.from({ length: count }, (_, at) => row({ id: String(at), ...over(at) }));
  const coefficients = (rows: readonly TakenMeasurement[]): number => featureSpace(rows, 'all-gpus').features.length;
  const asked = row({ gpu: 'H100', batch: 96 });
  /** A law with some noise, that is the same again and again. */
  const lawful = (at: number): Partial<TakenMeasurement> => {
    const [batch, gpuCount, gpu] = [16 + ((at * 7) % 100), 1 + (at % 4), ['A100-80GB', 'T4', 'H100'][at % 3]!];
    const seconds = (batch / gpuCount) * { 'A100-80GB': 0.001, T4: 0.005, H100: 0.0005 }[gpu]! + 0.002;
    const samplesPerSecond = (batch / seconds) * (1 + 0.05 * Math.sin(12.9898 * at));
    return { batch, gpuCount, gpu, samplesPerSecond };
  };

  it('are all of them up to the bounds', () => {
    const own = many(MOST_OWN_ROWS, lawful);
    const background = many(200, (at) => ({ ...lawful(at), model: `other ${at % 5}`, team: 'blue' }));
    const picked = chosenRows({ own, background }, asked);
    expect(picked.own).toBe(own);
    expect(picked.background).toBe(background);
  });

  it('are the nearest, each configuration once before any of them twice', () => {
    const own = [
      ...many(150, (at) => ({ batch: 96 + at, gpu: 'H100' })),
      ...many(150, (at) => ({ batch: 5000 + at, gpu: 'T4' })),
      ...many(1000, (at) => ({ batch: 96, gpu: 'H100', id: `repeat ${at}` })),
    ];
    const { own: chosen } = chosenRows({ own, background: [] }, asked);
    expect(chosen).toHaveLength(MOST_OWN_ROWS);
    expect(chosen.filter(({ gpu }) => gpu === 'H100')).toHaveLength(150);
    expect(chosen.filter(({ gpu }) => gpu === 'T4').map(({ batch }) => batch)).toEqual(
      Array.from({ length: 50 }, (_, at) => 5000 + at),
    );
    expect(chosen.filter(({ batch }) => batch === 96).map(({ id }) => id)).toEqual(['repeat 999']);
    const repeated = chosenRows({ own: many(1000, (at) => ({ batch: 32 + (at % 4) })), background: [] }, asked).own;
    expect(repeated.map(({ id }) => Number(id))).toEqual(Array.from({ length: MOST_OWN_ROWS }, (_, at) => 800 + at));
  });

  it.each<[string, (at: number) => Partial<TakenMeasurement>]>([
    ['kinds of GPU', (at) => ({ gpu: `G${at % 97}` })],
    ['precisions', (at) => ({ precision: `p${at % 97}`, gpu: `G${at % 4}` })],
    ['optimizers', (at) => ({ optimizer: `o${at % 97}` })],
    ['families', (at) => ({ family: `f${at % 97}` })],
    ['all of these', (at) => ({ gpu: `G${at}`, precision: `p${at}`, optimizer: `o${at}`, family: `f${at}` })],
  ])('are of no more %s than can be learned of in time, in the rows of others too', (_, over) => {
    const own = many(150, (at) => ({ batch: 1 + at, ...over(at) }));
    const background = many(288, (at) => ({ ...over(at + 31), model: `other ${at % 12}`, team: 'blue' }));
    for (const rows of [
      { own, background },
      { own: [], background },
      { own: many(1000, over), background: [] },
    ]) {
      const picked = chosenRows(rows, asked);
      const all = [...picked.own, ...picked.background, asked];
      expect(coefficients(all)).toBeLessThanOrEqual(MOST_COEFFICIENTS);
      expect(new Set(all.map(({ family }) => family)).size).toBeLessThanOrEqual(MOST_FAMILIES);
      expect(all.length).toBeGreaterThan(4);
    }
  });

  it('give the answer that all of them give, and the truth, nearly', () => {
    const all = many(1000, lawful);
    const query = { ...asked, gpuCount: 2, batch: 80.5 };
    const truth = query.batch / ((query.batch / 2) * 0.0005 + 0.002);
    const bounded = answerThroughput(
      { ...query, gpuModel: 'H100', samples: null, provider: null, region: null, term: 'on-demand', currency: 'USD' },
      all,
      [],
    );
    const whole = predictThroughput(all, [], query);
    expect(bounded.measurements).toBe(1000);
    expect(Math.abs(bounded.samplesPerSecond / truth - 1)).toBeLessThan(0.1);
    expect(Math.abs(bounded.samplesPerSecond / whole.samplesPerSecond - 1)).toBeLessThan(0.05);
    expect([bounded.low < truth, truth < bounded.high]).toEqual([true, true]);
  });

  it('are learned from once, until they change', () => {
    const own = many(50, lawful);
    const background = many(100, (at) => ({ ...lawful(at), id: `b${at}`, model: `other ${at % 5}`, team: 'blue' }));
    const all = [...own, ...background];
    const kept = (over: Partial<TakenMeasurement> = {}, from = all, of = background): unknown =>
      keptKnowledge(from, { known: own, background: of }, row({ ...asked, ...over }));
    const first = kept();
    expect(kept({ batch: 7, gpuCount: 3, nodes: 2, size: 100, params: 1e6 })).toBe(first);
    for (const other of [
      kept({ gpu: 'L4' }),
      kept({ precision: 'fp32' }),
      kept({ optimizer: 'sgd' }),
      kept({ family: 'rnn' }),
      kept({}, all, background.slice(1)),
      kept({}, [...all]),
    ])
      expect(other).not.toBe(first);
    expect(kept()).toBe(first);
  });

  it('are learned from once for all batches and kinds, where they have too many kinds', () => {
    const own = many(1000, (at) => ({ batch: 1 + (at % 311), gpu: `G${String(at % 97).padStart(2, '0')}` }));
    const knowledge = ['G00', 'G07', 'G15'].flatMap((gpu) =>
      [1, 500].map((batch) => {
        const one = row({ gpu, batch });
        return keptKnowledge(own, chosenRows({ own, background: [] }, one), one);
      }),
    );
    expect(new Set(knowledge).size).toBe(1);
  });

  it('name the kinds that the team has measured the model on, and then those that most models know', () => {
    const rows = [
      ...many(40, (at) => ({ gpu: `G${at}`, model: 'other', team: 'blue' })),
      ...many(5, (at) => ({ gpu: `G${20 + at}`, model: `third ${at}`, team: 'blue' })),
      row({ gpu: 'mine' }),
    ];
    const kinds = new Paces(rows, 'red').kinds('m');
    expect(kinds).toHaveLength(16);
    expect(kinds).toEqual(expect.arrayContaining(['mine', 'G20', 'G21', 'G22', 'G23', 'G24']));
    expect(new Paces(rows.slice(0, 16), 'red').kinds('m')).toHaveLength(16);
  });
});
