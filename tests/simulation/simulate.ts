/** Runs the world of a seed from its first instant to its last, and asks the laws on the way. */
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { VERIFY } from '../../src/store/action/actions.js';
import type { Database } from '../../src/store/database.js';
import { Chance } from './chance.js';
import { forget } from './database.js';
import {
  afterAStep,
  blastRadius,
  bookedActions,
  booksMatchTheCloud,
  budgetsNotify,
  historiesAreWhole,
  nextEvaluation,
  nothingIsForgotten,
  onTheWire,
  proofsAreTrue,
  purchasesAreBounded,
  type BookedAction,
} from './laws.js';
import { applyWhatBillsTaught, learnedRatesHold } from './meter.js';
import { giveFirstOrders, giveOrders, planInterference } from './person.js';
import { everyDollarCountsOnce } from './counted-once.js';
import { archivedMeanwhile } from './archiving.js';
import { costsMatchTheCloud, savingsMatchTheCloud } from './recount.js';
import type { Tally } from './tally.js';
import { MOST_LATE_MS, RECOMMEND, World, type Breakage, type Plan } from './world.js';

/** A law is broken. The message says where, and how to see it again. */
export class LawBroken extends Error {
  /** What had happened by then. */
  story: readonly string[] = [];
}

const MOST_LISTED = 5;

/** One seed in so many lives through a month. */
const MONTH_EVERY = 21;

/** The days of a seed: a month, or three days about the turn of one. */
export function planOf(seed: number): Plan {
  const chance = new Chance(seed ^ 0x5eed);
  if (seed % MONTH_EVERY === 0) {
    const start = Date.UTC(2026, 9, chance.whole(3, 20));
    return { kind: 'month', start, end: start + 30 * DAY_MS, looks: 10 };
  }
  const start = Date.UTC(2026, 9, chance.whole(27, 31), chance.whole(0, 23));
  return { kind: 'days', start, end: start + 3 * DAY_MS, looks: 3 };
}

export interface Outcome {
  readonly tally: Tally;
  /** Everything that acted or decided, in its order: the same seed tells the same story. */
  readonly story: readonly string[];
}

/**
 * @throws LawBroken naming the seed, the step and every law that is broken there
 */
export async function simulate(db: Database, seed: number, breakage: Breakage = {}): Promise<Outcome> {
  const world = new World(db, seed, planOf(seed), onTheWire, breakage);
  try {
    await world.found();
    await giveFirstOrders(world);
    for (const isTick of world.instants()) {
      if (isTick) {
        await world.evidence();
        await world.ownMeter.lives();
        await giveOrders(world);
        planInterference(world);
      }
      await worked(world, isTick);
      if (isTick) {
        await evaluated(world);
        await budgetsNotify(world);
      }
      check(world);
    }
    await finish(world);
    check(world);
    return { tally: world.tally, story: await storyOf(world) };
  } catch (error) {
    if (error instanceof LawBroken) error.story = await storyOf(world);
    throw error;
  } finally {
    await forget(db, world.organisation);
  }
}

async function storyOf({ db, organisation, wire }: World): Promise<string[]> {
  const events = await db.query<{ line: string }>(
    `select e.at || ' ' || e.action || ' ' || e.no || ' ' || e.to_state || ' ' || e.code || ' ' || e.actor as line from action_event e join action a on a.organisation = e.organisation and a.id = e.action
     where e.organisation = $1 order by a.no, e.no`,
    [organisation],
  );
  return [
    ...wire.sendings.map(
      ({ sentAs, at, effect, answer }) =>
        `${formatInstant(at)} ${sentAs} ${effect.kind} ${effect.target} ${answer?.kind ?? 'not sent'}`,
    ),
    ...events.map(({ line }) => line),
  ];
}

async function worked(world: World, collects: boolean): Promise<void> {
  await world.work(collects);
  await afterAStep(world);
  check(world);
}

/**
 * Lets the evaluations that failed be tried again: what a budget tells is asked when each of them is done, or parked.
 */
async function evaluated(world: World): Promise<void> {
  for (let at = await nextEvaluation(world); at !== null; at = await nextEvaluation(world)) {
    world.clock.at = Math.max(world.clock.at, at);
    await worked(world, false);
  }
}

/**
 * Lets everything come in that is late, and whatever waits come to its end; then the books are compared with the truth.
 */
async function finish(world: World): Promise<void> {
  const until = Math.floor(world.clock.at / HOUR_MS) * HOUR_MS;
  world.interference = null;
  // Nothing new is begun.
  world.resting.add(RECOMMEND);
  world.clock.at += MOST_LATE_MS + 2 * HOUR_MS;
  await world.collectTheRest();
  await worked(world, false);
  // Again: a cloud that throttled is asked once more.
  world.clock.at += MINUTE_MS;
  await worked(world, false);
  // An hour counts when it is whole.
  world.resting.delete(VERIFY);
  world.clock.at += 2 * HOUR_MS;
  await worked(world, false);
  // What was taken late takes hold.
  world.clock.at += 10 * MINUTE_MS;
  await evaluated(world);
  await budgetsNotify(world);
  const actions = await bookedActions(world);
  blastRadius(world, actions);
  booksMatchTheCloud(world, actions);
  proofsAreTrue(world, actions);
  purchasesAreBounded(world, actions);
  await historiesAreWhole(world, actions);
  await nothingIsForgotten(world, actions);
  await archivedMeanwhile(world, () => costsMatchTheCloud(world, until));
  await world.ownMeter.booksMatch();
  await savingsMatchTheCloud(world, actions, until);
  await count(world, actions);
  await billsSettle(world);
}

/** Every dollar counts once while bills are open, and when they have settled; and then what they teach is applied. */
async function billsSettle(world: World): Promise<void> {
  await everyDollarCountsOnce(world);
  await applyWhatBillsTaught(world);
  world.clock.at = Math.max(world.clock.at, Date.UTC(2026, 10, 11));
  await worked(world, false);
  await everyDollarCountsOnce(world);
  await learnedRatesHold(world);
}

async function count(
  { tally, wire, cloud, step, db, organisation }: World,
  actions: readonly BookedAction[],
): Promise<void> {
  const answers = wire.sendings.map(({ answer }) => answer);
  tally.steps = step;
  tally.sendings = wire.sendings.length;
  tally.taken = wire.taken().length;
  tally.refusals = answers.filter((answer) => answer?.kind === 'refused').length;
  tally.lostAnswers = answers.filter((answer) => answer?.kind === 'unknown').length;
  tally.throttled = answers.filter((answer) => answer === null).length;
  tally.sentAgain = wire.sendings.length - new Set(wire.sendings.map(({ token }) => token)).size;
  tally.lateRecords = wire.usageFaults.late;
  tally.repeatedRecords = wire.usageFaults.repeated;
  tally.interruptions = cloud
    .runs()
    .filter(({ term, end }) => term === 'spot' && end !== null && !cloud.applied().some(({ at }) => at === end)).length;
  tally.actions = actions.length;
  tally.applied = actions.filter(({ appliedAt }) => appliedAt !== null).length;
  tally.appliedOfRealPolicies = actions.filter(
    ({ appliedAt, policy, recommendation }) => appliedAt !== null && recommendation !== null && policy !== 'reckless',
  ).length;
  tally.rolledBack = actions.filter(({ state }) => state === 'rolled-back').length;
  tally.purchases = cloud.bought().length;
  tally.crossings = (await db.query(`select 1 from crossing where organisation = $1`, [organisation])).length;
}

function check({ broken, place, seed }: World): void {
  const more = broken.length > MOST_LISTED ? ` (and ${broken.length - MOST_LISTED} more)` : '';
  if (broken.length > 0)
    throw new LawBroken(
      `${place}: ${broken.slice(0, MOST_LISTED).join('; ')}${more}\nSee it again: BURSAR_SEED=${seed} npx vitest run tests/simulation`,
    );
}
