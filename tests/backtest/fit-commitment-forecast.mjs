#!/usr/bin/env node
/**
 * Fits the commitment planner's forecast and writes src/planning/commitment/use-forecast-weights.ts. Needs `npm run
 * build` first; some minutes.
 *
 *   node tests/backtest/fit-commitment-forecast.mjs [--tenants 8000] [--epochs 6] [--width 16] [--out FILE]
 *   node tests/backtest/fit-commitment-forecast.mjs --check   prints, of tenants that no fit has seen, what the fitted
 *                                                             numbers say against what came; seconds
 *
 * Samples: tenants of commitment-prior.mjs (SYNTHETIC), each with a term drawn from 12 hours to a year, at random hours
 * a level of the demand and the share of the coming term in which it was in use. The loss is the cross-entropy of that
 * share, so the fit is its mean; a sixth of the tenants is held out. Deterministic: the same options give the same file
 * up to the machine's last digit. Adam: Kingma and Ba, ICLR 2015.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LEVEL_FEATURES, LevelHistory } from '../../dist/src/planning/commitment/level-history.js';
import { FORECAST_WEIGHTS } from '../../dist/src/planning/commitment/use-forecast-weights.js';
import { mulberry32 } from '../../dist/src/lab/random.js';
import { logUniform, priorDemand } from './commitment-prior.mjs';

const { values } = parseArgs({
  options: {
    tenants: { type: 'string', default: '8000' },
    epochs: { type: 'string', default: '6' },
    width: { type: 'string', default: '16' },
    out: { type: 'string', default: 'src/planning/commitment/use-forecast-weights.ts' },
    check: { type: 'boolean', default: false },
  },
});
const [tenants, epochs, width] = values.check ? [150, 0, 0] : [values.tenants, values.epochs, values.width].map(Number);
/** Far from the seeds of the tables. */
const FIRST_SEED = values.check ? 900_000 : 50_000;
const HOURS_PER_TENANT = 260;
const BATCH = 512;
const RATE = 2e-3;
const DECAY = 1e-3;
const inputs = LEVEL_FEATURES + 1;
const random = mulberry32(7);

/**
 * Rows of inputs, with the share that followed and its weight: a tenant counts as much as another, an hour as its
 * demand.
 */
function sample() {
  const rows = { x: [], share: [], weight: [], isHeld: [] };
  for (let tenant = 0; tenant < tenants; tenant++) {
    const demand = priorDemand(FIRST_SEED + tenant);
    if (demand.every((gpus) => gpus === 0)) continue;
    const term = Math.round(Math.min(logUniform(random, 12, 8760), demand.length / 2.5));
    sampleTenant(demand, term, tenant % 6 === 0, rows);
  }
  return rows;
}

function sampleTenant(demand, term, isHeld, rows) {
  const history = new LevelHistory();
  let total = 0;
  for (let hour = 0; hour < demand.length - term; hour++) {
    const gpus = demand[hour];
    history.step(gpus);
    total += gpus;
    if (random() > HOURS_PER_TENANT / demand.length) continue;
    const recent = demand.subarray(Math.max(0, hour - 167), hour + 1).reduce((most, one) => Math.max(most, one), 0);
    for (const isIdle of [false, false, random() < 0.5]) {
      const [above, most] = isIdle ? [gpus, recent] : [0, gpus];
      if (most === above) continue;
      const level = above + 1 + Math.floor(random() * (most - above));
      const x = new Float64Array(inputs);
      history.describe(level, x);
      x[LEVEL_FEATURES] = Math.log(term);
      let used = 0;
      for (let later = hour; later < hour + term; later++) if (demand[later] >= level) used++;
      rows.x.push(Float32Array.from(x));
      rows.share.push(used / term);
      rows.weight.push(isIdle ? 0.3 : Math.min(3, (gpus * (hour + 1)) / total));
      rows.isHeld.push(isHeld);
    }
  }
}

/** Means and standard deviations of the inputs; the rows are centred and scaled in place. */
function standardise(x) {
  const centre = new Float64Array(inputs);
  const scale = new Float64Array(inputs);
  for (const row of x) row.forEach((value, input) => (centre[input] += value / x.length));
  for (const row of x) row.forEach((value, input) => (scale[input] += (value - centre[input]) ** 2 / x.length));
  scale.forEach((variance, input) => (scale[input] = Math.sqrt(variance) + 1e-6));
  for (const row of x) row.forEach((value, input) => (row[input] = (value - centre[input]) / scale[input]));
  return { centre, scale };
}

const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const layer = (from, to) => ({
  from,
  to,
  weights: Float64Array.from({ length: from * to }, () => normal() * Math.sqrt(2 / from)),
  bias: new Float64Array(to),
  out: new Float64Array(to),
  slope: new Float64Array(to),
});

function forward({ from, to, weights, bias, out }, x, isLast) {
  for (let output = 0; output < to; output++) out[output] = bias[output];
  for (let input = 0; input < from; input++) {
    const value = x[input];
    if (value !== 0) for (let output = 0; output < to; output++) out[output] += value * weights[input * to + output];
  }
  if (!isLast) for (let output = 0; output < to; output++) if (out[output] < 0) out[output] = 0;
  return out;
}

/** Adds this layer's gradient; `below.slope` gets what flows further down. */
function backward({ from, to, weights, slope }, gradient, x, below) {
  for (let output = 0; output < to; output++) gradient.bias[output] += slope[output];
  for (let input = 0; input < from; input++) {
    let flow = 0;
    for (let output = 0; output < to; output++) {
      gradient.weights[input * to + output] += x[input] * slope[output];
      flow += weights[input * to + output] * slope[output];
    }
    if (below) below.slope[input] = below.out[input] > 0 ? flow : 0;
  }
}

function adam(parameters) {
  const means = parameters.map((one) => new Float64Array(one.length));
  const squares = parameters.map((one) => new Float64Array(one.length));
  let step = 0;
  return (gradients, rate) => {
    step++;
    const [first, second] = [1 - 0.9 ** step, 1 - 0.999 ** step];
    parameters.forEach((one, index) => {
      const [mean, square, gradient] = [means[index], squares[index], gradients[index]];
      for (let at = 0; at < one.length; at++) {
        mean[at] += 0.1 * (gradient[at] - mean[at]);
        square[at] += 0.001 * (gradient[at] ** 2 - square[at]);
        one[at] -= rate * (mean[at] / first / (Math.sqrt(square[at] / second) + 1e-8) + DECAY * one[at]);
      }
    });
  };
}

function fit({ x, share, weight, isHeld }) {
  const layers = [layer(inputs, width), layer(width, width), layer(width, 1)];
  const gradients = layers.map(({ weights, bias }) => ({
    weights: new Float64Array(weights.length),
    bias: new Float64Array(bias.length),
  }));
  const improve = adam(layers.flatMap(({ weights, bias }) => [weights, bias]));
  const predict = (row) => {
    layers.reduce((below, one, index) => forward(one, below, index === layers.length - 1), row);
    return 1 / (1 + Math.exp(-layers.at(-1).out[0]));
  };
  const order = Int32Array.from(x.keys()).filter((row) => !isHeld[row]);
  const held = Int32Array.from(x.keys()).filter((row) => isHeld[row]);
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let last = order.length - 1; last > 0; last--) {
      const other = Math.floor(random() * (last + 1));
      [order[last], order[other]] = [order[other], order[last]];
    }
    const rate = RATE * 0.5 * (1 + Math.cos((Math.PI * epoch) / epochs));
    for (let from = 0; from < order.length; from += BATCH) {
      const batch = order.subarray(from, from + BATCH);
      for (const { weights, bias } of gradients) {
        weights.fill(0);
        bias.fill(0);
      }
      for (const row of batch) {
        layers[2].slope[0] = ((predict(x[row]) - share[row]) * weight[row]) / batch.length;
        backward(layers[2], gradients[2], layers[1].out, layers[1]);
        backward(layers[1], gradients[1], layers[0].out, layers[0]);
        backward(layers[0], gradients[0], x[row], null);
      }
      improve(
        gradients.flatMap(({ weights, bias }) => [weights, bias]),
        rate,
      );
    }
    const error = held.reduce((sum, row) => sum + (predict(x[row]) - share[row]) ** 2, 0) / held.length;
    console.error(`epoch ${epoch + 1} of ${epochs}: mean squared error on held-out tenants ${error.toFixed(5)}`);
  }
  return layers;
}

/** Four digits are as good as all. */
function rowsOf(numbers) {
  const texts = [...numbers].map((number) => `${Number(number.toPrecision(4))}`);
  const lines = [];
  for (let at = 0; at < texts.length; at += 16) lines.push(`    ${texts.slice(at, at + 16).join(', ')},`);
  return `[\n${lines.join('\n')}\n  ]`;
}

/** What stands in the source, on tenants that it was not fitted to. */
function check({ x, share }) {
  const { centre, scale, ...layers } = FORECAST_WEIGHTS;
  const distances = x[0].map((_, i) => {
    const mean = x.reduce((sum, row) => sum + row[i], 0) / x.length;
    return Math.abs(mean - centre[i]) / scale[i];
  });
  const [first, second, last] = [
    [layers.first, layers.firstBias],
    [layers.second, layers.secondBias],
    [layers.last, [layers.lastBias]],
  ].map(([weights, bias]) => ({ weights, bias, from: weights.length / bias.length, to: bias.length, out: [] }));
  const predictions = x.map((row) => {
    const scaled = row.map((value, i) => (value - centre[i]) / scale[i]);
    const [sum] = forward(last, forward(second, forward(first, scaled, false), false), true);
    return 1 / (1 + Math.exp(-sum));
  });
  const meanOf = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const mean = meanOf(share);
  return {
    samples: x.length,
    /** Of the inputs' means from those of the fit, the largest, in their deviations. */
    inputDistance: Math.max(...distances),
    meanShare: mean,
    meanPrediction: meanOf(predictions),
    squaredError: meanOf(share.map((one, i) => (one - predictions[i]) ** 2)),
    /** Of one number for all. */
    squaredErrorOfMean: meanOf(share.map((one) => (one - mean) ** 2)),
  };
}

function writeFit(rows) {
  const { centre, scale } = standardise(rows.x);
  const [first, second, last] = fit(rows);
  const text = `/**
 * The fitted numbers of the forecast of use (use-forecast.ts). Made by tests/backtest/fit-commitment-forecast.mjs from
 * SYNTHETIC demand (tests/backtest/commitment-prior.mjs): ${rows.x.length} samples of ${tenants} tenants, ${epochs}
 * epochs. Never edited by hand.
 */
export const FORECAST_WEIGHTS = {
  centre: ${rowsOf(centre)},
  scale: ${rowsOf(scale)},
  first: ${rowsOf(first.weights)},
  firstBias: ${rowsOf(first.bias)},
  second: ${rowsOf(second.weights)},
  secondBias: ${rowsOf(second.bias)},
  last: ${rowsOf(last.weights)},
  lastBias: ${Number(last.bias[0].toPrecision(4))},
};
`;
  writeFileSync(path.resolve(values.out), text);
}

const rows = sample();
if (values.check) console.log(JSON.stringify(check(rows), null, 2));
else writeFit(rows);
