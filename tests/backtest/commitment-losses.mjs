#!/usr/bin/env node
/**
 * Where `bursar` loses to the optimum on the seeded series, by shape, as shares of what the optimum saves. Needs `npm
 * run build` first.
 *
 *   node tests/backtest/commitment-losses.mjs [--first-seed 1] [--seeds 10] [--term-hours 168] [--price-ratio 0.6]
 *
 * With a ratio r, an hour on demand that could have been reserved loses 1 - r, an idle reserved hour r. Hours that only
 * the optimum reserves are the guard's where the panel wished for them, else the panel's (`waiting`); `idle` is what
 * was reserved and not used beyond the optimum's; `lucky` hours are reserved where the optimum pays on demand. The
 * parts sum to what is lost, which is checked for each tenant.
 */
import { parseArgs } from 'node:util';
import { coefficientOfVariation, commitmentCost, coverage } from '../../dist/src/planning/commitment/model.js';
import { optimum } from '../../dist/src/planning/commitment/optimum.js';
import { ReservationPlanner } from '../../dist/src/planning/commitment/planner.js';
import { SERIES_SHAPES, syntheticSeries } from '../../dist/src/lab/commitment/series.js';

const { values } = parseArgs({
  options: {
    'first-seed': { type: 'string', default: '1' },
    seeds: { type: 'string', default: '10' },
    'term-hours': { type: 'string', default: '168' },
    'price-ratio': { type: 'string', default: '0.6' },
  },
});
const HOURS = 4000;
const ratio = Number(values['price-ratio']);
const term = { termHours: Number(values['term-hours']), priceRatio: ratio, alpha: 0 };
const PARTS = ['guard', 'waiting', 'idle', 'lucky'];

function lossesOf({ tenant, demand }, shape) {
  const planner = new ReservationPlanner(term);
  const wished = new Int32Array(demand.length);
  const bought = demand.map((gpus, hour) => {
    const count = planner.step(gpus);
    wished[hour] = planner.wish;
    return count;
  });
  const best = optimum(demand, term);
  const [held, ideal] = [bought, best.purchases].map((purchases) => coverage(purchases, term.termHours));
  const lost = { guard: 0, waiting: 0, idle: 0, lucky: 0 };
  demand.forEach((gpus, hour) => {
    const missed = Math.max(0, Math.min(gpus, ideal[hour]) - held[hour]);
    const refused = Math.min(missed, Math.max(0, Math.min(gpus, wished[hour]) - held[hour]));
    lost.guard += (1 - ratio) * refused;
    lost.waiting += (1 - ratio) * (missed - refused);
    lost.idle += ratio * (Math.max(0, held[hour] - gpus) - Math.max(0, ideal[hour] - gpus));
    lost.lucky -= (1 - ratio) * Math.max(0, Math.min(gpus, held[hour]) - ideal[hour]);
  });
  const above = commitmentCost(demand, bought, term) - best.cost;
  if (Math.abs(PARTS.reduce((sum, part) => sum + lost[part], 0) - above) > 1e-6 * best.cost)
    throw new Error(`${tenant}: the parts do not sum to what is lost`);
  return {
    shape,
    isVariable: coefficientOfVariation(demand) >= 0.5,
    possible: demand.reduce((sum, gpus) => sum + gpus, 0) - best.cost,
    ...lost,
  };
}

const tenants = SERIES_SHAPES.flatMap((shape) =>
  Array.from({ length: Number(values.seeds) }, (_, n) =>
    lossesOf(syntheticSeries(shape, HOURS, Number(values['first-seed']) + n), shape),
  ),
);
const total = (some, name) => some.reduce((sum, tenant) => sum + tenant[name], 0);

function say(name, some) {
  const parts = PARTS.map((part) => total(some, part) / total(some, 'possible'));
  const share = 1 - parts.reduce((sum, part) => sum + part, 0);
  const weight = total(some, 'possible') / total(tenants, 'possible');
  console.log(
    `${name}: share ${share.toFixed(3)}; ${PARTS.map((part, n) => `${part} ${parts[n].toFixed(3)}`).join(', ')}; weight ${weight.toFixed(3)}`,
  );
}

for (const shape of SERIES_SHAPES)
  say(
    shape,
    tenants.filter((tenant) => tenant.shape === shape),
  );
say('all', tenants);
say(
  'cv>=0.5',
  tenants.filter(({ isVariable }) => isVariable),
);
