#!/usr/bin/env node
/**
 * How far anybody could get, seen in hindsight: the share captured by a dynamic program that knows tick, instance held,
 * slack and the state that a set of features gives, counted on the very recording that it is then run on. It is
 * over-fitted, in its favour, and it is never a policy: a state that is met only a few times tells what comes next
 * because it remembers what came. So every line says how many states there are and how often one is met (visits: the
 * separate stretches of a recording in which it holds), and two runs beside it say what is memory. Needs `npm run
 * build` first.
 *
 *   node tests/backtest/spot-reach.mjs --traces FILE... [--deadline-hours 54,52] [--restart-hours 0.2] [--every 5]
 *     [--sets none,single,pairs,NAME+NAME,...] [--ages 1,2,4,8,16,40,100] [--teach self|all|others] [--shift-ticks 0]
 *     [--by chain|outcome]
 *
 * `--teach self`: each zone on itself; `all`: one program for all zones, on all of them; `others`: counted on the other
 * zones, run on the one left out.
 * `--shift-ticks n`: features are read n ticks later in the recording, round its end: they keep their manner and tell
 * nothing of what comes next.
 * `--by chain`: choices follow from the Markov chain of the states, its moves counted. `--by outcome`: from what did
 * follow in all windows that could be cut, tick by tick, with no model at all; each tick and slack then chooses for
 * itself, and remembers more. `--ages`: last age of each class.
 * Sets are named in spot-features.mjs; "goes on N" reads N ticks ahead, and says what knowing them would be worth.
 */
import { parseArgs } from 'node:util';
import { optimumCost } from '../../dist/src/lab/spot/optimum.js';
import { onDemandCost, spotProblem } from '../../dist/src/planning/spot/problem.js';
import { FEATURES, statesOf, withSpells } from './spot-features.mjs';
import { bestCosts } from './spot-reach-program.mjs';
import { readRecording, windowsOf } from './spot-recordings.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    traces: { type: 'string', multiple: true, default: [] },
    'deadline-hours': { type: 'string', default: '54,52' },
    'restart-hours': { type: 'string', default: '0.2' },
    every: { type: 'string', default: '5' },
    teach: { type: 'string', default: 'self' },
    by: { type: 'string', default: 'chain' },
    sets: { type: 'string', default: 'none,single' },
    'shift-ticks': { type: 'string', default: '0' },
    ages: { type: 'string', default: '1,2,4,8,16,40,100' },
  },
});
const zones = withSpells([...values.traces, ...positionals].map(readRecording));
const deadlines = values['deadline-hours'].split(',').map(Number);
const ages = values.ages.split(',').map(Number);
const DOZENS = 24;
const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

const names = Object.keys(FEATURES);
const SETS = {
  none: [[]],
  single: names.map((name) => [name]),
  pairs: names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other])),
};
const sets = values.sets.split(',').flatMap((set) => SETS[set] ?? [set.split('+')]);

/**
 * Separate stretches in which each state holds, over some zones' recordings; and in how many of their ticks the state
 * is met by dozens.
 */
function visitsOf(states, count) {
  const visits = new Float64Array(count);
  for (const zone of states)
    zone.forEach((state, t) => {
      visits[state] += t === 0 || zone[t - 1] !== state ? 1 : 0;
    });
  const ticks = states.flatMap((zone) => [...zone]);
  const met = [...visits].filter((number) => number > 0).sort((a, b) => a - b);
  return {
    states: met.length,
    median: met[met.length >> 1],
    often: ticks.filter((state) => visits[state] >= DOZENS).length / ticks.length,
  };
}

/** How often each state was followed by each other, tick by tick: by state a map. */
function countMoves(recordings, count) {
  const moves = Array.from({ length: count }, () => new Map());
  for (const states of recordings) {
    for (let t = 0; t + 1 < states.length; t += 1)
      moves[states[t]].set(states[t + 1], (moves[states[t]].get(states[t + 1]) ?? 0) + 1);
  }
  return moves;
}

/**
 * Expectation over the next state for the chain's nodes, which come first; the windows' nodes go on as they are. A
 * state without a move stays.
 */
function follow(moves, size) {
  const [first, to, chance] = [[0], [], []];
  moves.forEach((row, state) => {
    const times = total([...row.values()]);
    for (const [next, number] of times === 0 ? [[state, 1]] : row) {
      to.push(next);
      chance.push(number / Math.max(1, times));
    }
    first.push(to.length);
  });
  return (from, out) => {
    out.set(from);
    for (let row = 0; row < from.length; row += size) {
      for (let state = 0; state < moves.length; state += 1) {
        let sum = 0;
        for (let i = first[state]; i < first[state + 1]; i += 1) sum += chance[i] * from[row + to[i]];
        out[row + state] = sum;
      }
    }
  };
}

/**
 * Nodes of a run: with a chain first its states, which teach if a recording of a teacher went through them; then the
 * windows, which teach where there is no chain. `taught`: by zone, whether it teaches.
 */
function nodesOf({ states, count, coarse }, windows, taught) {
  const lead = values.by === 'chain' ? count : 0;
  const size = lead + windows.length;
  const [kindOf, coarseOf, known] = [new Uint8Array(count), new Int32Array(count), new Uint8Array(count)];
  states.forEach((zone, z) =>
    zone.forEach((state, t) => {
      kindOf[state] = zones[z].readings[t];
      coarseOf[state] = coarse.states[z][t];
      if (taught[z]) known[state] = 1;
    }),
  );
  const weight = new Float64Array(size);
  for (let n = 0; n < size; n += 1) weight[n] = n < lead ? known[n] : lead === 0 && taught[windows[n].zone] ? 1 : 0;
  const at = (tick) => {
    const groups = Int32Array.from({ length: size }, (_, n) =>
      n < lead ? n : states[windows[n - lead].zone][windows[n - lead].start + tick],
    );
    return {
      groups,
      coarser: groups.map((state) => coarseOf[state]),
      available: Uint8Array.from(groups, (state) => kindOf[state]),
    };
  };
  const blend =
    lead > 0
      ? follow(
          countMoves(
            states.filter((_, z) => taught[z]),
            count,
          ),
          size,
        )
      : undefined;
  return { size, weight, groupCount: count, coarserCount: coarse.count, at, blend };
}

/**
 * What the tested windows cost under a feature set, by zone. `states`: by zone, where each is on its own; else the same
 * for all.
 */
function costsByZone(problem, states, windows) {
  const sums = zones.map(() => 0);
  const add = (some, taught, tested) => {
    const costs = bestCosts(problem, nodesOf(states[tested[0]], some, taught)).slice(-some.length);
    some.forEach(({ zone, count }, i) => {
      if (tested.includes(zone)) sums[zone] += count * costs[i];
    });
  };
  if (values.teach === 'all')
    add(
      windows,
      zones.map(() => true),
      [...zones.keys()],
    );
  else
    for (const tested of zones.keys()) {
      const isSelf = values.teach === 'self';
      add(
        isSelf ? windows.filter(({ zone }) => zone === tested) : windows,
        zones.map((_, z) => isSelf === (z === tested)),
        [tested],
      );
    }
  return sums;
}

/**
 * Windows by where they start, and how many of the tested ones start there; by outcome every start is a lesson, tested
 * or not.
 */
function windowsByStart(zone, z, ticks) {
  const counts = new Map(
    values.by === 'outcome' ? Array.from({ length: Math.max(...zone.starts) + 1 }, (_, start) => [start, 0]) : [],
  );
  for (const { start } of windowsOf(zone, ticks, Number(values.every))) counts.set(start, (counts.get(start) ?? 0) + 1);
  return [...counts].map(([start, count]) => ({
    zone: z,
    start,
    count,
    available: zone.readings.subarray(start, start + ticks),
  }));
}

const cells = deadlines.map((deadlineHours) => {
  const problem = spotProblem({
    jobHours: 48,
    deadlineHours,
    restartHours: Number(values['restart-hours']),
    onDemandPrice: 3.06,
    spotPrice: 0.9731,
    tickSeconds: zones[0].tickSeconds,
  });
  const windows = zones.flatMap((zone, z) => windowsByStart(zone, z, problem.ticks));
  const optimum = zones.map(() => 0);
  for (const { zone, available, count } of windows)
    if (count > 0) optimum[zone] += count * optimumCost(problem, available);
  return {
    problem,
    windows,
    optimum,
    all: zones.map((zone) => onDemandCost(problem) * windowsOf(zone, problem.ticks, Number(values.every)).length),
  };
});

/**
 * The states of a feature set, and coarser ones (kind and age) for where no teacher was; numbered by zone where each is
 * on its own.
 */
function statesFor(features) {
  const shiftTicks = Number(values['shift-ticks']);
  const make = (only) => ({
    ...statesOf(zones, { features, ages, shiftTicks, only }),
    coarse: statesOf(zones, { features: [], ages, only }),
  });
  if (values.teach === 'self') return zones.map((_, z) => make(z));
  return zones.map(
    (
      (states) => () =>
        states
    )(make()),
  );
}

const shareOf = (all, cost, optimum) => ((all - cost) / (all - optimum)).toFixed(3);
console.log(
  `features | states | visits, median | ticks in states of ${DOZENS} visits or more | ${deadlines.map((hours) => `${hours} h (by zone)`).join(' | ')}`,
);
for (const features of sets) {
  const states = statesFor(features);
  const met = [...new Set(states)].map((one) => visitsOf(one.states, one.count));
  const mean = (of) => total(met.map(of)) / met.length;
  const shares = cells.map(({ problem, windows, optimum, all }) => {
    const costs = costsByZone(problem, states, windows);
    if (costs.some((cost, z) => cost < optimum[z] - 1e-6)) throw new Error('something is cheaper than the optimum');
    return `${shareOf(total(all), total(costs), total(optimum))} (${costs.map((cost, z) => shareOf(all[z], cost, optimum[z])).join(', ')})`;
  });
  const counts = [
    Math.round(mean((one) => one.states)),
    Math.round(mean((one) => one.median)),
    mean((one) => one.often).toFixed(2),
  ];
  console.log([features.join(' + ') || 'kind and age', ...counts, ...shares].join(' | '));
}
