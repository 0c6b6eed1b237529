#!/usr/bin/env node
/**
 * How far a planner could get on the seeded series of docs/decisions-quality/scaling.md that knows how they are made:
 * the rate of every minute to come without bursts, its slow walk included, the burst that runs and its height, how
 * often bursts come, how high, how they end; but neither the bursts to come, nor their ends, nor the noise of any
 * minute. Never a planner: nothing it is told could be known. Needs `npm run build` first.
 *
 *   node tests/backtest/scaling-informed.mjs [--first-seed 21] [--kinds 0,1,2,3,4] [--pairs 0,1,2,3,4] [--at-once |
 *   --walk-unknown]
 *
 * Of a burst it is told at the end of its first minute, as a planner is; with --at-once at the beginning of that
 * minute, before it decides. With
 * --walk-unknown, for kind 2 (no bursts) alone, it is told all but the walk, which it follows by a Kalman filter over
 * the minutes so far.
 *
 * At each price of unserved load it takes, of all fleets, the one whose expected bill is the least. This is exact, for
 * bursts on a grid of heights: paid and lost replica-minutes add up over the levels of the fleet (level k serves what
 * lies between k - 1 and k replicas), so each level is solved by itself, by dynamic programming over the minutes, the
 * state of the burst (or the estimate of the walk), and the level: off, booting, ready. Higher levels are needed no
 * sooner than lower ones, so that the levels together are one fleet of simulate.ts. No rule that knows less has an
 * expected bill below it at that price, and so, on the average of many weeks, none lies below its frontier; on one week
 * luck may help either.
 */
import { parseArgs } from 'node:util';
import { mulberry32 } from '../../dist/src/lab/random.js';
import { capacityPerReplica, replicasFor } from '../../dist/src/planning/scaling/load.js';
import { hpa } from '../../dist/src/planning/scaling/opponents.js';
import { clairvoyant } from '../../dist/src/planning/scaling/optimum.js';
import { normal, poisson, seededSeries } from '../../dist/src/lab/scaling/series.js';
import { simulate, startingReplicas } from '../../dist/src/planning/scaling/simulate.js';
import { cell, compare, kinds, PAIRS, TARGETS, Tally } from './scaling-comparisons.mjs';

const PRICES = [1.1, 1.8, 3, 6, 14, 35, 75, 130, 220, 400, 1000, 6000, 100_000];
/** Between two prices around an HPA's unserved share more are tried, as the frontier is a straight line there. */
const PRICES_BETWEEN = 2;
/**
 * Excess of a burst over the calm rate: even steps while it runs, halved in about six while it decays (0.8 a minute is
 * two steps).
 */
const RUNNING = 30;
const DECAYING = 22;
const DECAY_STEP = Math.sqrt(0.8);
/** Logarithm of the walk between two of its estimates, and how many there are to each side of none. */
const WALK_STEP = 0.015;
const WALK_SIDE = 32;
/** What series.ts keeps of the walk in a minute. */
const WALK_KEEPS = 0.998;
/** Logarithm of a rate between two rows of the table of needs. */
const RATE_STEP = 0.004;

/**
 * The parts of series.ts, draw by draw, which is checked minute by minute: the rate without bursts, with and without
 * the walk, the burst's factor, and whether it decays.
 */
function partsOf(settings, requests) {
  const random = mulberry32(settings.seed);
  const [pattern, calm, factor] = Array.from({ length: 3 }, () => new Float64Array(requests.length));
  const decaying = new Uint8Array(requests.length);
  let [burst, ends, decays, walk] = [1, 0, false, 0];
  for (let minute = 0; minute < requests.length; minute++) {
    const daily = 1 - settings.dailyDepth * 0.5 * (1 + Math.cos((((minute % 1440) / 60 - 2) / 24) * 2 * Math.PI));
    const weekly = Math.floor(minute / 1440) % 7 >= 5 ? 1 - settings.weekendDepth : 1;
    if (random() < settings.burstsPerDay / 1440) {
      burst = 1 + random() * (settings.burstFactor - 1);
      ends = minute - settings.burstMinutes * Math.log(1 - random());
      decays = random() < 0.5;
    }
    decaying[minute] = minute >= ends ? 1 : 0;
    if (minute >= ends) burst = decays ? 1 + (burst - 1) * 0.8 : 1;
    walk = walk * WALK_KEEPS + settings.drift * normal(random);
    pattern[minute] = settings.base * daily * weekly;
    calm[minute] = pattern[minute] * Math.exp(walk);
    factor[minute] = burst;
    if (poisson(settings.base * daily * weekly * burst * Math.exp(walk), random) !== requests[minute])
      throw new Error(`the parts differ from series.ts at minute ${minute}`);
  }
  return { pattern, calm, factor, decaying };
}

/**
 * What is known of the rate, as a chain of states. `base` is the rate of each minute in a state of factor 1,
 * `logFactors` those of the states, `seen` the state known in each minute, `expect` what a value is expected to be a
 * minute later, by the state now. The load of a minute is that of the state known in it if `isPresent`, else of the one
 * that follows. The chain of bursts: 0 is none, then running ones by height, then decaying ones.
 */
function burstChain(settings, { calm, factor, decaying }, isPresent) {
  // Where none ever begins their heights do not matter: low ones are sooner done with.
  const highest = settings.burstsPerDay === 0 ? 1e-6 : settings.burstFactor - 1;
  const onset = settings.burstsPerDay / 1440;
  const end = 1 - Math.exp(-1 / settings.burstMinutes);
  const excess = [
    0,
    ...Array.from({ length: RUNNING }, (_, i) => (highest * (i + 0.5)) / RUNNING),
    ...Array.from({ length: DECAYING }, (_, i) => highest * DECAY_STEP ** i),
  ];
  const decayed = (value) => {
    const step = Math.round(Math.log(value / highest) / Math.log(DECAY_STEP));
    return step >= DECAYING ? 0 : 1 + RUNNING + Math.max(0, step);
  };
  const next = Int32Array.from(excess, (value) => (value === 0 ? 0 : decayed(value * 0.8)));
  const stateOf = (minute) => {
    if (minute < 0 || factor[minute] - 1 < 1e-9) return 0;
    return decaying[minute] === 1
      ? decayed(factor[minute] - 1)
      : 1 + Math.min(RUNNING - 1, Math.floor(((factor[minute] - 1) / highest) * RUNNING));
  };
  return {
    base: calm,
    isPresent,
    highest: RUNNING,
    size: excess.length,
    logFactors: excess.map((value) => Math.log(1 + value)),
    varianceOf: (rate) => rate,
    seen: Int32Array.from(calm, (_, minute) => stateOf(isPresent ? minute : minute - 1)),
    expect(from, at, into) {
      let begins = 0;
      for (let i = 1; i <= RUNNING; i++) begins += from[at + i];
      begins *= onset / RUNNING;
      into[0] = begins + (1 - onset) * from[at];
      for (let i = 1; i <= RUNNING; i++)
        into[i] = begins + (1 - onset) * ((1 - end) * from[at + i] + 0.5 * end * (from[at] + from[at + next[i]]));
      for (let i = RUNNING + 1; i < next.length; i++) into[i] = begins + (1 - onset) * from[at + next[i]];
    },
  };
}

/**
 * The chain of estimates of the walk before each minute's requests: an estimate moves as much in a minute as the walk
 * does.
 */
function walkChain(settings, { pattern }, requests) {
  const moves = settings.drift ** 2;
  const after = (variance, noise) => WALK_KEEPS ** 2 * ((variance * noise) / (variance + noise)) + moves;
  let [walk, variance] = [0, moves];
  const seen = Int32Array.from(requests, (count, minute) => {
    const state = Math.min(2 * WALK_SIDE, Math.max(0, WALK_SIDE + Math.round(walk / WALK_STEP)));
    const rate = pattern[minute] * Math.exp(walk);
    walk = WALK_KEEPS * (walk + (variance / (variance + 1 / rate)) * (count / rate - 1));
    variance = after(variance, 1 / rate);
    return state;
  });
  const rows = Array.from({ length: 2 * WALK_SIDE + 1 }, (_, i) => {
    const mean = WALK_SIDE + (i - WALK_SIDE) * WALK_KEEPS;
    const first = Math.max(0, Math.round(mean) - 3);
    const weights = Array.from({ length: Math.min(2 * WALK_SIDE, Math.round(mean) + 3) - first + 1 }, (__, n) =>
      Math.exp(-(((first + n - mean) * WALK_STEP) ** 2) / (2 * moves)),
    );
    const all = weights.reduce((sum, weight) => sum + weight, 0);
    return { first, weights: Float64Array.from(weights, (weight) => weight / all) };
  });
  return {
    base: pattern,
    isPresent: true,
    highest: 2 * WALK_SIDE,
    size: rows.length,
    logFactors: rows.map((_, i) => (i - WALK_SIDE) * WALK_STEP),
    seen,
    /**
     * Of the requests of a minute whose rate is estimated: the noise of a count, and what the estimate does not know.
     */
    varianceOf(rate) {
      let unknown = moves;
      for (let n = 0; n < 500; n++) unknown = after(unknown, 1 / rate);
      return rate + rate * rate * unknown;
    },
    expect(from, at, into) {
      rows.forEach(({ first, weights }, i) => {
        let sum = 0;
        for (let n = 0; n < weights.length; n++) sum += weights[n] * from[at + first + n];
        into[i] = sum;
      });
    },
  };
}

/**
 * How much of the k-th replica is expected to be needed, k from 1, at rates that rise by RATE_STEP from `least`:
 * `table[row * levels + k - 1]`.
 */
function needs({ base, logFactors, varianceOf }, capacity, levels) {
  const least = base.reduce((low, rate) => Math.min(low, rate), Infinity) * Math.exp(Math.min(...logFactors));
  const most = base.reduce((high, rate) => Math.max(high, rate), 0) * Math.exp(Math.max(...logFactors));
  const rows = Math.ceil(Math.log(most / least) / RATE_STEP) + 2;
  const table = new Float64Array(rows * levels);
  for (let row = 0; row < rows; row++) {
    const rate = least * Math.exp(row * RATE_STEP);
    const variance = varianceOf(rate);
    const reach = 9 * Math.sqrt(variance) + 12;
    let all = 0;
    const [whole, part] = [new Float64Array(levels + 2), new Float64Array(levels + 2)];
    let chance = Math.exp(-rate);
    for (let count = rate > 30 ? Math.max(0, Math.floor(rate - reach)) : 0; count <= rate + reach; count++) {
      const weight = rate > 30 ? Math.exp(-((count - rate) ** 2) / (2 * variance)) : chance;
      chance *= rate / (count + 1);
      all += weight;
      const full = Math.min(levels, Math.floor(count / capacity));
      whole[full] += weight;
      if (full < levels) part[full + 1] += weight * (count / capacity - full);
    }
    for (let k = levels, above = 0; k >= 1; k--) {
      above += whole[k];
      table[row * levels + k - 1] = (above + part[k]) / all;
    }
  }
  return { table, least };
}

/** Expected need of level k in each minute and state. */
function needOfLevel(k, { base, logFactors, size }, { table, least }, levels) {
  const need = new Float64Array(base.length * size);
  for (let minute = 0; minute < base.length; minute++) {
    const position = Math.log(base[minute] / least) / RATE_STEP;
    for (let state = 0; state < size; state++) {
      const at = Math.max(0, position + logFactors[state] / RATE_STEP);
      const row = Math.floor(at);
      need[minute * size + state] =
        table[row * levels + k - 1] * (row + 1 - at) + table[(row + 1) * levels + k - 1] * (at - row);
    }
  }
  return need;
}

/** From each minute on, for how many in a row the need is `certain` in every state, or `nil` in every one. */
function runsOf(need, { seen: { length: minutes }, size, highest }) {
  const [certain, nil] = [new Int32Array(minutes + 1), new Int32Array(minutes + 1)];
  for (let minute = minutes - 1; minute >= 0; minute--) {
    certain[minute] = need[minute * size] > 1 - 1e-9 ? certain[minute + 1] + 1 : 0;
    nil[minute] = need[minute * size + highest] < 1e-9 ? nil[minute + 1] + 1 : 0;
  }
  return { certain, nil };
}

/**
 * The best decisions of one level at one price, by minute: bit j says that it is kept with j minutes left to boot (0 is
 * ready), bit `boot` that it is ordered when off. `need` as needOfLevel gives it.
 */
function decisionsOf({ need, certain, nil }, chain, price, boot) {
  const { seen, size } = chain;
  const decisions = new Uint32Array(seen.length);
  // value[j][state]: expected bill from this minute on with j minutes left to boot; j = boot is off.
  const value = Array.from({ length: boot + 1 }, () => new Float64Array(size));
  const ahead = value.map(() => new Float64Array(size));
  const lost = new Float64Array(size);
  // So long a need pays for a boot and for what it misses; through a shorter pause than a boot a level is kept.
  const worthBooting = Math.ceil((price * boot) / (price - 1)) + 1;
  for (let minute = seen.length - 1; minute >= 0; minute--) {
    if (certain[minute] >= worthBooting) {
      chain.expect(value[0], 0, ahead[0]);
      for (let state = 0; state < size; state++)
        for (let j = 0; j <= boot; j++) value[j][state] = 1 + ahead[0][state] + price * j;
      decisions[minute] = 2 ** (boot + 1) - 1;
    } else if (nil[minute] > boot) {
      chain.expect(value[boot], 0, ahead[boot]);
      for (const row of value) row.set(ahead[boot]);
    } else {
      for (let j = 0; j <= boot; j++) chain.expect(value[j], 0, ahead[j]);
      if (chain.isPresent) lost.set(need.subarray(minute * size, minute * size + size));
      else chain.expect(need, minute * size, lost);
      decisions[minute] = decide(value, ahead, lost, price, seen[minute]);
    }
  }
  return decisions;
}

/** One minute of the dynamic programme: fills `value`; returns the bits of the state that is known. */
function decide(value, ahead, lost, price, known) {
  const boot = value.length - 1;
  let kept = 0;
  for (let j = 0; j <= boot; j++) {
    const [row, later] = [value[j], ahead[Math.max(0, j - 1)]];
    for (let state = 0; state < row.length; state++) {
      const isOff = price * lost[state] + ahead[boot][state];
      const isOn = 1 + later[state] + (j === 0 ? 0 : price * lost[state]);
      row[state] = isOn < isOff ? isOn : isOff;
      if (state === known && isOn < isOff) kept |= 1 << j;
    }
  }
  return kept;
}

/** Adds one level that follows its decisions to the wishes of the fleet. */
function follow(decisions, boot, startsReady, wishes) {
  let left = startsReady ? 0 : boot;
  for (let minute = 0; minute < decisions.length; minute++) {
    const isOn = ((decisions[minute] >> left) & 1) === 1;
    if (isOn) wishes[minute] += 1;
    left = isOn ? Math.max(0, left - 1) : boot;
  }
}

/** One series at one pair: the rules' shares and costs, and what the informed fleet reaches at any prices. */
function workbench(settings, bootMinutes, peakReplicas, options) {
  const requests = seededSeries(settings);
  const capacity = capacityPerReplica(requests, peakReplicas);
  const load = requests.map((count) => count / capacity);
  const levels = 2 * replicasFor(load.reduce((most, value) => Math.max(most, value), 0));
  const limits = { bootMinutes, minReplicas: 1, maxReplicas: levels, cooldownMinutes: 0 };
  const optimum = clairvoyant(load, limits).replicaMinutes;
  const total = load.reduce((sum, value) => sum + value, 0);
  const measured = (name, policy) => {
    const run = simulate(load, limits, policy);
    return { name, unserved: run.unserved / total, cost: run.replicaMinutes / optimum };
  };
  const parts = partsOf(settings, requests);
  const chain = options['walk-unknown']
    ? walkChain(settings, parts, requests)
    : burstChain(settings, parts, options['at-once']);
  const told = needs(chain, capacity, levels);
  const starting = startingReplicas(load, limits);
  const informed = (prices) => {
    const wishes = prices.map(() => new Int32Array(load.length));
    for (let k = 1; k <= levels; k++) {
      const need = needOfLevel(k, chain, told, levels);
      const runs = runsOf(need, chain);
      if (runs.nil[0] === load.length) break;
      prices.forEach((price, n) =>
        follow(decisionsOf({ need, ...runs }, chain, price, bootMinutes), bootMinutes, k <= starting, wishes[n]),
      );
    }
    return wishes.map((wish, n) => ({
      price: prices[n],
      ...measured(`informed@${prices[n]}`, ({ minute }) => wish[minute]),
    }));
  };
  return { rules: TARGETS.map((target) => measured(`hpa-${target}`, hpa({ target }))), informed };
}

/** Prices between the two of `settings` around each rule's unserved share. */
function between(settings, rules) {
  const sorted = [...settings].sort((a, b) => a.price - b.price);
  return [
    ...new Set(
      rules.flatMap(({ unserved }) => {
        const above = sorted.findIndex((setting) => setting.unserved <= unserved);
        if (above <= 0) return [];
        const [low, high] = [sorted[above - 1].price, sorted[above].price];
        return Array.from({ length: PRICES_BETWEEN }, (_, i) => low * (high / low) ** ((i + 1) / (PRICES_BETWEEN + 1)));
      }),
    ),
  ];
}

const { values } = parseArgs({
  options: {
    'first-seed': { type: 'string', default: '21' },
    kinds: { type: 'string', default: '0,1,2,3,4' },
    pairs: { type: 'string', default: '0,1,2,3,4' },
    'at-once': { type: 'boolean', default: false },
    'walk-unknown': { type: 'boolean', default: false },
  },
});
const chosen = (list, all) => list.split(',').map((n) => all[Number(n)]);
const tally = new Tally();
for (const { name, settings } of chosen(values.kinds, kinds(Number(values['first-seed'])))) {
  if (values['walk-unknown'] && settings.burstsPerDay > 0)
    throw new Error('with --walk-unknown only --kinds 2: the other kinds have bursts');
  for (const [bootMinutes, peakReplicas] of chosen(values.pairs, PAIRS)) {
    const { rules, informed } = workbench(settings, bootMinutes, peakReplicas, values);
    const wide = informed(PRICES);
    const compared = compare(rules, [...wide, ...informed(between(wide, rules))]);
    tally.add(compared);
    console.log(`| ${name} | ${bootMinutes} | ${peakReplicas} | ${compared.map(cell).join(' | ')} |`);
  }
}
console.log(JSON.stringify(tally));
