#!/usr/bin/env node
/**
 * What the spot plan captures when it is told all that its model can say of the tested zone: parameters and far future
 * fitted on that zone's whole recording, and at each tick the hidden character and the age of the spell as the whole
 * recording reveals them. It reads ahead in everything but the next readings, so it bounds what better learning of this
 * model could bring. It never is a policy, and it says nothing of other models. Needs `npm run build` first.
 *
 *   node tests/backtest/spot-informed.mjs --traces FILE... [--deadline-hours 52] [--restart-hours 0.2] [--every 5]
 *   [--tolerance-restarts 0]
 *
 * `--every n`: every nth window, 1 for all. `--tolerance-restarts 0`: without the ties that go to Uniform Progress;
 * left out, as what runs.
 */
import { parseArgs } from 'node:util';
import {
  availabilityModel,
  fitAvailability,
  smoothCharacter,
} from '../../dist/src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../dist/src/planning/spot/bursar.js';
import { optimumCost } from '../../dist/src/lab/spot/optimum.js';
import { planSpot } from '../../dist/src/planning/spot/plan.js';
import { onDemandCost, spotProblem } from '../../dist/src/planning/spot/problem.js';
import { simulate } from '../../dist/src/planning/spot/simulate.js';
import { readRecording, windowsOf } from './spot-recordings.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    traces: { type: 'string', multiple: true, default: [] },
    'deadline-hours': { type: 'string', multiple: true, default: ['80', '70', '60', '54', '52'] },
    'restart-hours': { type: 'string', default: '0.2' },
    every: { type: 'string', default: '5' },
    'tolerance-restarts': { type: 'string' },
  },
});
const ties =
  values['tolerance-restarts'] === undefined ? {} : { toleranceRestarts: Number(values['tolerance-restarts']) };
const zones = [...values.traces, ...positionals].map(readRecording);

/** A belief that looks its answer up: after each reading the next tick of what the whole recording revealed. */
function givenBelief(revealed, start) {
  let at = start - 1;
  return {
    observe() {
      at += 1;
    },
    get age() {
      return revealed[at].age;
    },
    get components() {
      return revealed[at].weights;
    },
  };
}

/** Of each tick of the recording but the last: the weights of the nine characters and the age of the spell. */
function reveal(model, readings) {
  const revealed = [];
  smoothCharacter(model, readings, (smoothed) => {
    revealed[smoothed.tick] = smoothed;
  });
  revealed.push(revealed.at(-1));
  return revealed;
}

/** Costs of one zone at one deadline, summed over its windows. */
function run(zone, model, revealed, deadlineHours) {
  const problem = spotProblem({
    jobHours: 48,
    deadlineHours,
    restartHours: Number(values['restart-hours']),
    onDemandPrice: 3.06,
    spotPrice: 0.9731,
    tickSeconds: zone.tickSeconds,
  });
  const plan = planSpot(problem, model);
  const sums = { all: 0, informed: 0, optimum: 0, misses: 0 };
  for (const { start, available } of windowsOf(zone, problem.ticks, Number(values.every))) {
    const result = simulate(
      problem,
      available,
      bursarPolicy(plan, { ...ties, startBelief: () => givenBelief(revealed, start) }),
    );
    sums.all += onDemandCost(problem);
    sums.informed += result.cost;
    sums.optimum += optimumCost(problem, available);
    sums.misses += result.finished ? 0 : 1;
  }
  return sums;
}

const share = (some) => {
  const total = (of) => some.reduce((sum, one) => sum + one[of], 0);
  return `${((total('all') - total('informed')) / (total('all') - total('optimum'))).toFixed(3)} (misses ${total('misses')})`;
};

const models = zones.map(({ readings }) => availabilityModel(fitAvailability([readings])));
const revealed = zones.map(({ readings }, i) => reveal(models[i], readings));
for (const hours of values['deadline-hours'].flatMap((some) => some.split(',')).map(Number)) {
  const cells = zones.map((zone, i) => run(zone, models[i], revealed[i], hours));
  for (const [i, cell] of cells.entries()) console.log(`${hours} h ${zones[i].name}: ${share([cell])}`);
  console.log(`${hours} h all, pooled: ${share(cells)}`);
}
