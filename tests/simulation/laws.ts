/**
 * The laws of acting and of the line. Each compares what Bursar's books say with what the wire heard, what the cloud
 * really did, and what the person ordered; a law that is broken is a sentence.
 *
 * They read the database by SQL of their own and never ask Bursar whether something was right.
 */
import { LIVE_STATES, NEXT, type ActionState } from '../../src/core/action/action.js';
import { isSameEffect, effectFromJson, type EffectJson } from '../../src/core/action/action.js';
import type { Budget } from '../../src/core/budget/budget.js';
import type { Stop } from '../../src/core/action/guard.js';
import { DEFAULT_LIMITS, type Limits } from '../../src/core/action/limits.js';
import { HOUR_MS, MINUTE_MS, formatInstant } from '../../src/core/time.js';
import type { Sending } from './wire.js';
import type { LimitsSpan, World } from './world.js';

/** An action as the laws read it. */
export interface BookedAction {
  readonly id: string;
  readonly team: string;
  readonly target: string;
  readonly effect: EffectJson;
  readonly state: ActionState;
  readonly token: string | null;
  readonly recommendation: string | null;
  readonly policy: string | null;
  readonly rollbackOf: string | null;
  readonly takenBackBy: string | null;
  readonly underStop: boolean;
  readonly approvedBy: string | null;
  readonly intendedAt: Date | null;
  readonly askedAt: Date | null;
  readonly appliedAt: Date | null;
  readonly confirmedAt: Date | null;
  readonly reasons: readonly { readonly code: string }[];
}

const BOOKED = `select id, team, target, effect, state, token, recommendation, policy, rollback_of as "rollbackOf", taken_back_by as "takenBackBy", under_stop as "underStop", approved_by as "approvedBy",
  intended_at as "intendedAt", asked_at as "askedAt", applied_at as "appliedAt", confirmed_at as "confirmedAt", reasons from action where organisation = $1`;

export const bookedActions = ({ db, organisation }: World): Promise<BookedAction[]> =>
  db.query<BookedAction>(`${BOOKED} order by no`, [organisation]);

const ABOVE: Readonly<Record<string, readonly string[]>> = { red: ['red'], blue: ['blue', 'red'] };

export const covers = ({ scope, name }: Stop, team: string): boolean =>
  scope === 'all' ||
  (scope === 'provider' && name === 'fake') ||
  (scope === 'team' && (ABOVE[team] ?? [team]).includes(name));

// --- on the wire, before a request arrives

/**
 * No request without a committed intent that says the same; none under a kill switch, nor after it is lifted if it was
 * approved before; none again unless the one before surely did not arrive.
 */
export async function onTheWire(world: World, sending: Sending): Promise<void> {
  const { token, effect } = sending;
  const [booked] = await world.db.query<BookedAction>(`${BOOKED} and token = $2`, [world.organisation, token]);
  const wrong = (what: string): void =>
    void world.broken.push(`${what}: ${effect.kind} of ${effect.target} (${token})`);
  if (booked === undefined) return wrong('a request is sent that no committed intent knows');
  if (booked.state !== 'intended' || booked.askedAt === null)
    wrong(`a request is sent before it is committed that it is (${booked.state})`);
  if (!isSameEffect(effectFromJson(booked.effect), effect)) wrong('another effect is sent than was intended');
  // Who pulls the switch after the commit that precedes the sending comes too late for it.
  if (!booked.underStop && world.stops.some((stop) => covers(stop, booked.team) && stop.commits < world.commits))
    wrong('a request is sent although the kill switch is on');
  if (world.heldByStops.has(booked.id)) wrong('a request is sent that was approved before the kill switch was pulled');
  const before = world.wire.of(token);
  if (effect.kind === 'purchase' && before.length > 0) wrong('a purchase is sent twice');
  const isUnclear =
    before.at(-1)?.answer?.kind !== undefined &&
    before.at(-1)?.answer?.kind !== 'refused' &&
    (world.wire.absences.get(token) ?? 0) < before.length;
  if (isUnclear) wrong('a request with an unknown outcome is sent again blindly');
}

// --- after every step

/**
 * No target has two live actions; nothing that is due is left; nothing is parked, but by a cloud that did not answer.
 */
export async function afterAStep(world: World): Promise<void> {
  const { db, organisation, clock, broken } = world;
  const twice = await db.query<{ target: string; n: number }>(
    `select target, count(*)::int as n from action where organisation = $1 and state = any($2::text[]) and taken_back_by is null group by connection, target having count(*) > 1`,
    [organisation, LIVE_STATES],
  );
  for (const { target, n } of twice) broken.push(`${target} has ${n} live actions`);
  const left = await db.query<{ stage: string; key: string; parked: boolean; reason: string }>(
    `select stage, key, parked_at is not null as parked, coalesce(last_error, '') as reason from work
     where organisation = $1 and done < wanted and (parked_at is not null or (not_before <= $2 and not stage = any($3::text[])))`,
    [organisation, new Date(clock.at), [...world.resting]],
  );
  for (const { stage, key, parked, reason } of left) {
    if (!parked) broken.push(`${stage} ${key} is due and not done`);
    else if (!reason.startsWith('the fake cloud '))
      broken.push(`${stage} ${key} is parked: ${reason || 'without a reason'}`);
  }
}

/** Every period whose spend by the books has reached a threshold has its crossing. */
export async function budgetsNotify(world: World): Promise<void> {
  const { db, organisation, budgets, broken } = world;
  const spent = await db.query<{ team: string; month: string; nanos: string }>(
    `select team, to_char(day, 'YYYY-MM') as month, (coalesce(sum(actual), 0) * 1000000000)::numeric(40, 0)::text as nanos from cost_day where organisation = $1 group by 1, 2`,
    [organisation],
  );
  const crossed = await db.query<{ name: string; n: number }>(
    `select budget || ' ' || to_char(period_start at time zone 'UTC', 'YYYY-MM') || ' ' || kind || ' ' || trim_scale(ratio) as name,
       count(*) filter (where rearmed_at is null)::int as n from crossing where organisation = $1 group by 1`,
    [organisation],
  );
  const names = new Map(crossed.map(({ name, n }) => [name, n]));
  for (const [name, n] of names) if (n > 1) broken.push(`the crossing ${name} is there ${n} times`);
  for (const versions of budgets.values()) {
    const budget = versions[0]?.budget;
    if (budget === undefined) continue;
    const own = spent.filter(({ team }) => (ABOVE[team] ?? [team]).includes(budget.team));
    for (const month of new Set(own.map((row) => row.month))) {
      const nanos = own.filter((row) => row.month === month).reduce((sum, row) => sum + BigInt(row.nanos), 0n);
      const planned = plannedOf(versions, month);
      for (const { kind, ratio } of budget.thresholds) {
        const limit = BigInt(Math.round(planned * Number(ratio) * 1e9));
        if (kind === 'actual' && nanos > 0n && nanos >= limit && !names.has(`${budget.id} ${month} ${kind} ${ratio}`))
          broken.push(`${budget.id} has spent ${nanos} nanos of ${month} without crossing ${ratio} of ${planned}`);
      }
    }
  }
}

/** When the last evaluation that the database refused, as it may, is tried again; null: none waits for that. */
export async function nextEvaluation({ db, organisation }: World): Promise<number | null> {
  const [row] = await db.query<{ at: Date | null }>(
    `select max(not_before) as at from work where organisation = $1 and stage = 'budget.weigh' and done < wanted and parked_at is null and attempts > 0`,
    [organisation],
  );
  return row?.at?.getTime() ?? null;
}

/**
 * The most that was planned for a month since it ended, or that is now: a plan that is changed afterwards crosses
 * nothing by itself.
 */
function plannedOf(versions: readonly { readonly since: number; readonly budget: Budget }[], month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  const end = Date.UTC(year, number, 1);
  return Math.max(
    ...versions
      .filter((_, at) => (versions[at + 1]?.since ?? Infinity) > end)
      .map(({ budget }) => Number(budget.planned.default)),
  );
}

// --- at the end

type Cap = 'gpusPerHour' | 'actionsPerHour' | 'gpusPerAction' | 'replicasPerAction';

const ofOrganisation = <K extends keyof Limits>({ organisation }: LimitsSpan, key: K): Limits[K] =>
  organisation[key] ?? DEFAULT_LIMITS[key];

/** The stricter of both documents. */
const capOf = (span: LimitsSpan, team: string | null, key: Cap): number =>
  Math.min(ofOrganisation(span, key), (team === null ? undefined : span.teams[team]?.[key]) ?? Infinity);

/**
 * The largest (or, of a floor, the smallest) of what held at any time within an interval: the guard may have looked at
 * any of them.
 */
function loosest(
  world: World,
  from: number,
  to: number,
  of: (span: LimitsSpan) => number,
  best: (...all: number[]) => number,
): number {
  const spans = world.limits.filter(
    ({ since }, at) => since <= to && (world.limits[at + 1]?.since ?? Infinity) >= from,
  );
  return best(...spans.map(of));
}

/**
 * GPUs and replicas that an effect changes of a target as it really was: counted here anew, not asked of the product.
 */
function sizeOf({ effect, seen }: Sending): { readonly replicas: number; readonly gpus: number } {
  const held = seen?.replicas?.desired ?? 1;
  const replicas =
    effect.kind === 'purchase'
      ? 0
      : effect.kind === 'scale'
        ? Math.abs(effect.replicas - held)
        : effect.kind === 'set-spot-ratio'
          ? Math.ceil(Math.abs(effect.spotRatio - (seen?.spotRatio ?? 0)) * held - 1e-9)
          : held;
  return { replicas, gpus: replicas * (seen?.gpus ?? 0) };
}

interface Deed {
  readonly sending: Sending;
  readonly action: BookedAction;
  readonly replicas: number;
  readonly gpus: number;
}

const deedsOf = (world: World, actions: readonly BookedAction[]): Deed[] => {
  const byToken = new Map(actions.map((action) => [action.token, action]));
  return world.wire.taken().flatMap((sending) => {
    const action = byToken.get(sending.token);
    return action === undefined ? [] : [{ sending, action, ...sizeOf(sending) }];
  });
};

/**
 * A request goes out at most ten minutes after the guard looked (PATIENCE.intentMs), so what arrives within fifty
 * minutes was judged within one hour.
 */
const SURE_HOUR_MS = HOUR_MS - 10 * MINUTE_MS;

/**
 * What really changed, per action and per hour, of a team and of all, is within the limits; nothing protected is
 * touched; floors are kept.
 */
export function blastRadius(world: World, actions: readonly BookedAction[]): void {
  const deeds = deedsOf(world, actions).filter(({ action }) => action.rollbackOf === null);
  for (const { sending, action, gpus, replicas } of deeds) {
    const { at, effect, seen } = sending;
    const cap = (key: Cap): number =>
      loosest(world, at - 10 * MINUTE_MS, at, (span) => capOf(span, action.team, key), Math.max);
    const name = `${effect.kind} of ${effect.target} at ${formatInstant(at)}`;
    if (gpus > cap('gpusPerAction'))
      world.broken.push(`${name} changes ${gpus} GPUs; ${cap('gpusPerAction')} are allowed at once`);
    if (replicas > cap('replicasPerAction'))
      world.broken.push(`${name} changes ${replicas} replicas; ${cap('replicasPerAction')} are allowed at once`);
    if (seen?.labels['bursar.io/protected'] === 'true') world.broken.push(`${name} touches what is protected`);
    if (effect.kind === 'scale' && effect.replicas < (seen?.replicas?.desired ?? 0)) {
      const floor = loosest(
        world,
        at - 10 * MINUTE_MS,
        at,
        (span) => Math.max(ofOrganisation(span, 'minReplicas'), span.teams[action.team]?.minReplicas ?? 0),
        Math.min,
      );
      if (effect.replicas < Math.max(floor, seen?.replicas?.min ?? 0))
        world.broken.push(`${name} leaves ${effect.replicas} replicas, fewer than its floor of ${floor}`);
    }
  }
  for (const team of [null, 'red', 'blue']) {
    const own = deeds.filter(({ action }) => team === null || action.team === team);
    for (const {
      sending: { at },
    } of own) {
      const lately = own.filter(({ sending }) => sending.at > at - SURE_HOUR_MS && sending.at <= at);
      const cap = (key: Cap): number => loosest(world, at - HOUR_MS, at, (span) => capOf(span, team, key), Math.max);
      const gpus = lately.reduce((sum, one) => sum + one.gpus, 0);
      if (gpus > cap('gpusPerHour'))
        world.broken.push(
          `${team ?? 'the organisation'} has ${gpus} GPUs changed within the hour before ${formatInstant(at)}; ${cap('gpusPerHour')} are allowed`,
        );
      if (lately.length > cap('actionsPerHour'))
        world.broken.push(
          `${team ?? 'the organisation'} has ${lately.length} actions within the hour before ${formatInstant(at)}; ${cap('actionsPerHour')} are allowed`,
        );
    }
  }
}

/** States in which an effect has taken hold, for all that Bursar knows. */
const DONE: ReadonlySet<ActionState> = new Set(['applied', 'confirmed', 'measured', 'rolled-back']);

/**
 * What the books say was done was done once, what they say was not was not, and nothing was done that is not in them.
 */
export function booksMatchTheCloud(world: World, actions: readonly BookedAction[]): void {
  const known = new Set(actions.map(({ token }) => token));
  for (const { token, effect } of world.cloud.applied())
    if (!known.has(tokenOf(token)))
      world.broken.push(`${effect.kind} of ${effect.target} was done under ${token}, and no action has that token`);
  for (const { id, state, token, askedAt, reasons } of actions) {
    const times = token === null ? 0 : world.cloud.applied().filter((one) => tokenOf(one.token) === token).length;
    if (times > 1) world.broken.push(`${id} was done ${times} times`);
    if (DONE.has(state) && times !== 1) world.broken.push(`${id} is ${state}, and was done ${times} times`);
    const isOpen = (state === 'intended' && askedAt !== null) || reasons.some(({ code }) => code === 'outcome-unknown');
    if (!DONE.has(state) && !isOpen && times > 0) world.broken.push(`${id} is ${state}, and was done all the same`);
  }
  const bought = actions.filter(({ effect, state }) => effect.kind === 'purchase' && DONE.has(state)).length;
  if (world.cloud.bought().length < bought)
    world.broken.push(`${bought} purchases are in the books, ${world.cloud.bought().length} were made`);
}

const tokenOf = (sentAs: string): string => sentAs.slice(0, sentAs.lastIndexOf('#'));

/** A stop is confirmed only when the machine is really billed no more. */
export function proofsAreTrue(world: World, actions: readonly BookedAction[]): void {
  for (const { id, effect, target, confirmedAt } of actions) {
    if (confirmedAt === null || (effect.kind !== 'stop' && effect.kind !== 'terminate')) continue;
    const at = confirmedAt.getTime();
    const isBilled = world.cloud
      .runs()
      .some(
        ({ machine, start, end, billedTo }) =>
          `instance/${machine}` === target && start <= at && (end === null || billedTo === null || billedTo > at),
      );
    if (isBilled) world.broken.push(`${id} says that ${target} was billed no more at ${formatInstant(at)}; it was`);
  }
}

/** States are left only along the table, one event after the other, and the last event is the state. */
export async function historiesAreWhole(world: World, actions: readonly BookedAction[]): Promise<void> {
  const events = await world.db.query<{
    action: string;
    no: number;
    from: ActionState | null;
    to: ActionState;
    at: Date;
  }>(
    `select action, no, from_state as "from", to_state as "to", at from action_event where organisation = $1 order by action, no`,
    [world.organisation],
  );
  for (const { id, state } of actions) {
    const own = events.filter(({ action }) => action === id);
    let now: ActionState | null = null;
    for (const [place, { no, from, to, at }] of own.entries()) {
      const isStep = now === null ? to === 'proposed' : to === now || NEXT[now].includes(to);
      if (no !== place + 1 || from !== now || !isStep || at < (own[place - 1]?.at ?? at))
        world.broken.push(`${id} goes from ${now ?? 'nothing'} to ${to} as its event ${no}`);
      now = to;
    }
    if (now !== state) world.broken.push(`${id} is ${state}, and its last event says ${now ?? 'nothing'}`);
  }
}

/** Whatever is neither over nor waits for a person has work that goes on with it. */
export async function nothingIsForgotten(world: World, actions: readonly BookedAction[]): Promise<void> {
  const rows = await world.db.query<{ key: string }>(
    `select key from work where organisation = $1 and stage in ('action.execute', 'action.confirm') and done < wanted`,
    [world.organisation],
  );
  const waiting = new Set(rows.map(({ key }) => key));
  for (const { id, state, takenBackBy } of actions) {
    const goesOn =
      state === 'proposed' ||
      state === 'approved' ||
      state === 'intended' ||
      (state === 'applied' && takenBackBy === null);
    if (goesOn && !waiting.has(id)) world.broken.push(`${id} is ${state}, and nothing goes on with it`);
  }
}

/** What policies bought by themselves is within what the month allowed. */
export function purchasesAreBounded(world: World, actions: readonly BookedAction[]): void {
  const bought = deedsOf(world, actions).filter(
    ({ sending, action }) => sending.effect.kind === 'purchase' && (action.approvedBy?.startsWith('policy:') ?? false),
  );
  for (const month of new Set(bought.map(({ sending }) => formatInstant(sending.at).slice(0, 7)))) {
    const own = bought.filter(({ sending }) => formatInstant(sending.at).startsWith(month));
    const nanos = own.reduce(
      (sum, { sending: { effect } }) => sum + (effect.kind === 'purchase' ? effect.mostNanos : 0n),
      0n,
    );
    const most = loosest(
      world,
      Math.min(...own.map(({ sending }) => sending.at)) - 10 * MINUTE_MS,
      Math.max(...own.map(({ sending }) => sending.at)),
      ({ organisation }) => Number(organisation.purchasesPerMonth?.amount ?? 0),
      Math.max,
    );
    if (nanos > BigInt(most) * 1_000_000_000n)
      world.broken.push(`policies bought for ${nanos} nanos in ${month}; ${most} USD were allowed`);
  }
}
