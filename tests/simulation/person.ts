/**
 * A person at the doors of Bursar: approves and rejects, takes back, pulls the kill switch and lifts it, changes
 * limits, budgets, rules and policies.
 *
 * Every order goes through what both doors call. An order that is turned down with a Failure is an answer; any other
 * error is a defect and is thrown on.
 * What was ordered and done is noted in the world, so that the laws need not ask Bursar what it should have kept to.
 */
import { Failure } from '../../src/core/errors.js';
import { readLimits, type LimitsDocument } from '../../src/core/action/limits.js';
import type { Transaction } from '../../src/store/database.js';
import {
  approveAction,
  approveRecommendation,
  rejectAction,
  rejectRecommendation,
  rollBack,
} from '../../src/application/action/set-action.js';
import { pausePolicy } from '../../src/application/policy/set-policy.js';
import { setStop } from '../../src/application/action/set-safety.js';
import { covers } from './laws.js';
import { documentsOf, NOBODYS, rulesWith } from './company.js';
import type { World } from './world.js';

/** Does something within a transaction; what it returns is noted in the world once that is committed. */
type Order = (world: World, tx: Transaction) => Promise<(() => void) | undefined>;

const BOSS = 'boss';

const decideAction: Order = async ({ stores, organisation, chance, clock }, tx) => {
  const proposed = await stores.actions.list(organisation, { state: 'proposed' }, null, 20, tx);
  for (const { action } of proposed.slice(0, 3)) {
    if (chance.happens(0.7)) await approveAction(stores, tx, organisation, action.id, BOSS, clock.at);
    else await rejectAction(stores, tx, organisation, action.id, 'not now', BOSS, clock.at);
  }
  return undefined;
};

const decideRecommendation: Order = async ({ stores, organisation, chance, clock }, tx) => {
  const open = await stores.recommendations.list(organisation, { status: 'open' }, null, 20, tx);
  if (open.length === 0) return undefined;
  const { id } = chance.pick(open);
  const decide = chance.happens(0.7) ? approveRecommendation : rejectRecommendation;
  await decide(stores, tx, organisation, id, BOSS, clock.at);
  return undefined;
};

const takeBack: Order = async ({ stores, organisation, chance, clock }, tx) => {
  const done = (await stores.actions.list(organisation, {}, null, 15, tx)).filter(
    ({ action: { state, rollbackOf } }) => ['applied', 'confirmed', 'measured'].includes(state) && rollbackOf === null,
  );
  if (done.length > 0)
    await rollBack(
      stores,
      tx,
      organisation,
      chance.pick(done).action.id,
      BOSS,
      { underStop: chance.happens(0.5) },
      clock.at,
    );
  return undefined;
};

const pullStop: Order = async (world, tx) => {
  const where = world.chance.pick([{}, {}, { team: 'red' }, { team: 'blue' }, { provider: 'fake' }]);
  const waiting = await tx.query<{ id: string; team: string }>(
    `select id, team from action
     where organisation = $1 and state in ('approved', 'intended') and asked_at is null and not under_stop`,
    [world.organisation],
  );
  const stop = await setStop(world.stores, tx, world.organisation, where, {
    lift: false,
    reason: 'a simulation',
    by: BOSS,
    now: world.clock.at,
  });
  return () => {
    for (const { id, team } of waiting) if (covers(stop, team)) world.heldByStops.add(id);
    if (world.stops.some(({ scope, name }) => scope === stop.scope && name === stop.name)) return;
    world.stops.push({ ...stop, commits: world.commits });
    world.tally.stopsPulled += 1;
  };
};

const liftStops: Order = async (world, tx) => {
  for (const { scope, name } of world.stops) {
    const where = scope === 'team' ? { team: name } : scope === 'provider' ? { provider: name } : {};
    await setStop(world.stores, tx, world.organisation, where, {
      lift: true,
      reason: '',
      by: BOSS,
      now: world.clock.at,
    });
  }
  return () => void world.stops.splice(0);
};

const changeLimits: Order = async (world, tx) => {
  const { chance, organisation, stores, clock, limits } = world;
  const document: LimitsDocument = readLimits({
    gpusPerHour: chance.pick([2, 6, 12]),
    actionsPerHour: chance.pick([1, 2, 4]),
    gpusPerAction: chance.pick([2, 4, 16]),
    minReplicas: chance.pick([0, 1, 1]),
    cooldownMinutes: chance.pick([0, 10]),
    ...(chance.happens(0.6) ? { purchasesPerMonth: { amount: chance.pick(['3000', '9000']), currency: 'USD' } } : {}),
  });
  const team = chance.pick([null, null, 'red', 'blue']);
  await stores.safety.saveLimits(tx, organisation, team, document);
  const last = limits.at(-1) ?? { since: -Infinity, organisation: {}, teams: {} };
  return () =>
    void limits.push(
      team === null
        ? { ...last, since: clock.at, organisation: document }
        : { ...last, since: clock.at, teams: { ...last.teams, [team]: document } },
    );
};

const changeBudget: Order = async (world, tx) => {
  const budget = world.chance.pick(world.currentBudgets());
  await world.setBudget(tx, {
    ...budget,
    planned: { ...budget.planned, default: String(world.chance.whole(100, 3000)) },
  });
  return undefined;
};

const changeRules: Order = async (world, tx) => {
  const team = world.chance.pick(['red', 'blue']);
  await world.stores.organisations.saveRules(tx, world.organisation, rulesWith(new Map([[NOBODYS, team]])), BOSS);
  return () => void world.moved.set(NOBODYS, team);
};

const changePolicy: Order = async (world, tx) => {
  await world.applyDocument(tx, world.chance.pick(documentsOf(world.chance)));
  return undefined;
};

const pausePolicies: Order = async ({ stores, organisation, chance, clock }, tx) => {
  await pausePolicy(
    stores,
    tx,
    organisation,
    chance.pick(['brake', 'idle', 'reckless']),
    chance.happens(0.3),
    BOSS,
    clock.at,
  );
  return undefined;
};

const ORDERS: readonly (readonly [Order, ratio: number])[] = [
  [liftStops, 0.4],
  [decideAction, 0.7],
  [decideRecommendation, 0.2],
  [takeBack, 0.35],
  [changeLimits, 0.3],
  [changeBudget, 0.15],
  [changeRules, 0.04],
  [changePolicy, 0.1],
  [pausePolicies, 0.1],
  [pullStop, 0.12],
];

/** What the person does between two looks. */
export async function giveOrders(world: World): Promise<void> {
  for (const [order, ratio] of ORDERS) if (world.chance.happens(ratio)) await give(world, order);
}

/** The limits that most companies begin with; the others have the defaults. */
export async function giveFirstOrders(world: World): Promise<void> {
  for (let n = 0; n < 2; n++) if (world.chance.happens(0.6)) await give(world, changeLimits);
}

/**
 * Plans what happens while Bursar works: the kill switch is pulled, or somebody else changes a target, between two of
 * its commits.
 */
export function planInterference(world: World): void {
  const { chance, cloud } = world;
  if (!chance.happens(0.3)) return;
  const group = `group/${chance.pick(['train', 'serve', 'lab'])}`;
  const desired = chance.whole(1, 3);
  const isBrief = chance.happens(0.4);
  world.interference = {
    ...(chance.happens(0.7)
      ? { waitsForRead: true, after: chance.whole(1, 3) }
      : { waitsForRead: false, after: chance.whole(2, 40) }),
    happens: chance.happens(0.5)
      ? async (): Promise<void> => {
          await give(world, pullStop);
          // Lifted before anybody looked: what was approved before it is over all the same.
          if (isBrief) await give(world, liftStops);
        }
      : async (): Promise<void> => cloud.change(group, { desired }),
  };
}

async function give(world: World, order: Order): Promise<void> {
  world.tally.orders += 1;
  try {
    const note = await world.db.transaction((tx) => order(world, tx));
    note?.();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    world.tally.ordersDenied += 1;
  }
}
