/**
 * Decisions a second on one core, in process, and one evaluation of ten thousand teams end to end, through the queue.
 */
import { IDLE_DEFAULTS, IdlePlanner } from '../../dist/src/planning/idle/planner.js';
import { availabilityModel, BUILT_IN_PARAMETERS } from '../../dist/src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../dist/src/planning/spot/bursar.js';
import { planSpot } from '../../dist/src/planning/spot/plan.js';
import { spotProblem } from '../../dist/src/planning/spot/problem.js';
import { simulate } from '../../dist/src/planning/spot/simulate.js';
import { LineQueue } from '../../dist/src/pipeline/queue.js';
import { enqueue } from '../../dist/src/store/work.js';
import { perSecond, seconds, seeded, withBursar } from './server.mjs';

const DAY = 86_400_000;

/** Idle decisions over many GPUs: each is fed a reading a minute, working and quiet by turns. */
function idleCase(decisions) {
  const planner = new IdlePlanner({ ...IDLE_DEFAULTS, restartMinutes: 10 });
  const random = seeded(3);
  const gpus = Array.from({ length: 1000 }, (_, n) => ({ resource: `gpu-${n}`, until: 0, working: true }));
  let stops = 0;
  const begun = performance.now();
  for (let n = 0; n < decisions; n++) {
    const minute = Math.floor(n / gpus.length);
    const gpu = gpus[n % gpus.length];
    if (minute >= gpu.until) {
      gpu.working = !gpu.working;
      gpu.until = minute + 1 + Math.floor(random() * (gpu.working ? 120 : 60));
    }
    const decision = planner.decide({
      resource: gpu.resource,
      minute,
      gpuUtilPercent: gpu.working ? 80 : 0,
      requestsPerSecond: null,
      memoryUsedRatio: 0.5,
      workload: 'training',
    });
    if (decision.stop) stops += 1;
  }
  const time = seconds(begun);
  return { name: 'decide/idle-in-process', rows: decisions, recordsPerSecond: perSecond(decisions, time), stops };
}

/** Spot decisions: the planner's own policy under the simulator, one decision a tick of every window. */
function spotCase(decisions) {
  const problem = spotProblem({
    jobHours: 48,
    deadlineHours: 60,
    restartHours: 0.2,
    onDemandPrice: 3.06,
    spotPrice: 0.9731,
    tickSeconds: 600,
  });
  const policy = bursarPolicy(planSpot(problem, availabilityModel(BUILT_IN_PARAMETERS)));
  const random = seeded(5);
  const count = { made: 0 };
  const counted = {
    name: policy.name,
    start: () => {
      const decide = policy.start();
      return (view) => {
        count.made += 1;
        return decide(view);
      };
    },
  };
  const windows = Array.from({ length: 200 }, () => {
    let [available, left] = [random() < 0.5 ? 1 : 0, 0];
    return Uint8Array.from({ length: problem.ticks }, () => {
      if (left-- <= 0) [available, left] = [1 - available, Math.floor(random() * 40)];
      return available;
    });
  });
  const begun = performance.now();
  for (let n = 0; count.made < decisions; n++) simulate(problem, windows[n % windows.length], counted);
  return { name: 'decide/spot-in-process', rows: count.made, recordsPerSecond: perSecond(count.made, seconds(begun)) };
}

/**
 * Every team has a budget and sixty days of spend; all budgets are enqueued at once and evaluated by workers of the
 * queue.
 */
async function evaluateCase(bursar, teams) {
  const { stores, organisation, runner, databaseUrl } = bursar;
  const { db } = stores;
  const today = Math.floor(Date.now() / DAY) * DAY;
  await db.query(
    `insert into team (organisation, id, name) select $1, 'team-' || n, 'Team ' || n from generate_series(1, $2::int) n`,
    [organisation, teams],
  );
  await db.query(
    `insert into budget (organisation, id, team, spec) select $1, 'budget-' || n, 'team-' || n, jsonb_build_object('id', 'budget-' || n, 'team', 'team-' || n, 'period', 'month',
       'zone', 'UTC', 'currency', 'USD', 'filters', '{}'::jsonb, 'planned', '{"default": "10000", "periods": {}}'::jsonb, 'includeCredits', true,
       'thresholds', '[{"kind": "actual", "ratio": "0.8"}, {"kind": "forecast", "ratio": "1"}]'::jsonb) from generate_series(1, $2::int) n`,
    [organisation, teams],
  );
  const [dimension] = await db.query(
    `insert into dimension (organisation, key, kind, provider, category) values ($1, '\\x00', 'metered', 'AWS', 'Usage') returning id::text as id`,
    [organisation],
  );
  await db.query(
    `insert into cost_day (organisation, team, day, dimension, currency, records, accrued, actual)
     select $1, 'team-' || n, ($3::date - d), $4, 'USD', 24, 200 + (n * 7919 + d * 104729) % 200, 200 + (n * 7919 + d * 104729) % 200
     from generate_series(1, $2::int) n, generate_series(0, 59) d`,
    [organisation, teams, new Date(today).toISOString().slice(0, 10), dimension.id],
  );
  await db.query('vacuum analyze cost_day');
  const label = `${new Date(today).toISOString().slice(0, 7)}-01`;
  const workItems = Array.from({ length: teams }, (_, n) => ({
    stage: 'budget.weigh',
    partition: `budget-${n + 1}`,
    key: `budget-${n + 1}/${label}`,
  }));
  const queue = await LineQueue.open({ databaseUrl, redisUrl: null, concurrency: 4 }, runner, (error) => {
    throw error;
  });
  const begun = performance.now();
  await enqueue(db, organisation, workItems);
  await queue.handOut((await stores.work.duePartitions(Date.now())).filter(({ stage }) => stage === 'budget.weigh'));
  const evaluated = async () => (await db.query('select count(*)::int as n from budget_state'))[0].n;
  while ((await evaluated()) < teams) await new Promise((resolve) => setTimeout(resolve, 100));
  const time = seconds(begun);
  await queue.close();
  const [state] = await db.query(`select count(*)::int as crossed from crossing`);
  return {
    name: 'decide/weigh-teams-through-the-queue',
    rows: teams,
    ms: Math.round(time * 1000),
    recordsPerSecond: perSecond(teams, time),
    crossings: state.crossed,
  };
}

export async function run({ rows, log }) {
  const spot = spotCase(rows ?? 1_000_000);
  log(`decide: ${spot.recordsPerSecond} spot decisions/s`);
  const idle = idleCase(rows ?? 1_000_000);
  log(`decide: ${idle.recordsPerSecond} idle decisions/s`);
  const evaluate = await withBursar((bursar) => evaluateCase(bursar, 10_000));
  return [spot, idle, evaluate];
}
