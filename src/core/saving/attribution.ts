/**
 * Which action saved what, hour by hour: the written order in which actions on one target, or on a group and its
 * machines, share a saving.
 *
 * The rule: begin with the metered usage, and take the actions back one by one, the last applied first (of two at one
 * time the greater id first). Each step is a world: the machines that would have run with only the earlier actions. An
 * action's saving is the cost of the world without it minus the cost of the world with it. So the savings of one hour
 * sum to (the first counterfactual - the metered cost), to the nano, and nothing is counted twice; one that is below
 * zero is a loss and stays one. An action whose horizon is over stays in the chain and claims nothing: what it saves
 * longer than anybody can know is nobody's. Only GPU costs are compared. An hour is looked at once the meter has
 * reported a later one. Unknown is never zero: no price, an assumed price, no metering or an unknown world make the
 * hour unverifiable, with the reason.
 */
import { commitmentHours, isPurchase } from './commitment-saving.js';
import { bearsOn, undoes, type Holding } from './counterfactual.js';
import type { CostContext, PriceKey } from '../cost/cost.js';
import type { Effect } from '../fleet/fleet.js';
import { priceFromRecords } from '../cost/hour-pricing.js';
import {
  hourIndex,
  nothing,
  partMsWithin,
  summed,
  type ChainEvidence,
  type GpuCost,
  type HourSaving,
  type Member,
  type Piece,
  type UnverifiableReason,
} from './evidence.js';
import { asMetered, heldAtOnce, hasMoreSpot, lastBefore, type RanBefore } from './ran-before.js';
import { DAY_MS, HOUR_MS, hourOf, type Interval } from '../time.js';
import type { UsageRecord } from '../usage.js';

export type {
  ChainEvidence,
  HourSaving,
  Member,
  MeteredLine,
  PriceUsed,
} from './evidence.js';

/** Any effect that reached a target of the chain, also those that claim nothing: they end what others saved. */
export interface AppliedEffect {
  readonly action: string;
  readonly target: string;
  readonly effect: Effect;
  readonly appliedAt: number;
}

interface Span extends Interval {
  readonly member: Member;
  /** Nothing is claimed from here on, though it may still hold. */
  readonly claimedUntil: number;
  /** GPU parts that its meter saw held at once in the day before; null: none were. */
  readonly meteredParts: number | null;
  /** The last metered usage before the action, by term and resource; null: none. */
  readonly ranBefore: RanBefore | null;
  /** For a moved world: when its restart was over; Infinity: it has not begun again. */
  readonly upAt: number;
  /** For a shifted world: the time at which the one piece would have been done. */
  readonly doneAt: number;
}

type Level = readonly Piece[] | null;
/**
 * Every hour that can be judged of every confirmed action of a chain.
 * @param until end of the last whole hour that has passed, epoch milliseconds
 */
export function attribute(
  members: readonly Member[],
  effects: readonly AppliedEffect[],
  evidence: ChainEvidence,
  contextOf: (currency: string) => CostContext,
  until: number,
): HourSaving[] {
  const lastHour = Math.max(-Infinity, ...evidence.meteredHours);
  const end = Math.min(until, lastHour);
  const [purchases, others] = [members.filter(isPurchase), members.filter((member) => !isPurchase(member))];
  const chain = others.sort(
    (a, b) =>
      a.counterfactual.from - b.counterfactual.from || (a.counterfactual.action < b.counterfactual.action ? -1 : 1),
  );
  const pieces = evidence.metered.flatMap(({ record, line }): Piece[] => {
    const targets = targetsOf(record, chain);
    return targets.length === 0 || record.gpuParts === null
      ? []
      : [{ record: { ...record, storageMib: null, networkBytes: null }, line, targets }];
  });
  const spans = chain.map((member) => spanOf(member, effects, pieces, end));
  return [
    ...chainHours(spans, pieces, evidence.meteredHours, contextOf, end),
    ...purchases.flatMap((member) => commitmentHours(member, evidence, contextOf(member.counterfactual.currency), end)),
  ];
}

function targetsOf(record: UsageRecord, chain: readonly Member[]): string[] {
  return chain
    .filter(({ counterfactual }) => bearsOn(record, counterfactual))
    .flatMap(({ counterfactual: { target, group } }) => (group === null ? [target] : [target, group]));
}

const within = (pieces: readonly Piece[], target: string): Piece[] =>
  pieces.filter(({ targets }) => targets.includes(target));

function spanOf(member: Member, effects: readonly AppliedEffect[], pieces: readonly Piece[], until: number): Span {
  const { counterfactual, takenBackAt, confirmedAt } = member;
  const { from, target, world } = counterfactual;
  const own = within(pieces, target);
  const ends = effects
    .filter(
      (one) =>
        one.target === target &&
        one.action !== counterfactual.action &&
        one.appliedAt >= from &&
        undoes(one.effect, counterfactual),
    )
    .map(({ appliedAt }) => appliedAt);
  const raised =
    world.kind === 'held' && confirmedAt !== null
      ? raisedAt(own, world.afterParts, confirmedAt, Math.min(until, counterfactual.until))
      : Infinity;
  const end = Math.max(from, Math.min(takenBackAt ?? Infinity, raised, ...ends));
  const claimedUntil = Math.min(end, counterfactual.until);
  const shifted =
    world.kind === 'shifted'
      ? partMsWithin(own, { start: from, end: Math.min(claimedUntil, until) }) /
        BigInt(world.holdings.reduce((sum, { gpuParts, units }) => sum + gpuParts * units, 0))
      : 0n;
  return {
    member,
    start: from,
    end,
    claimedUntil,
    meteredParts: heldAtOnce(own, { start: from - DAY_MS, end: from }),
    ranBefore: lastBefore(own, from),
    upAt:
      world.kind === 'moved'
        ? Math.min(...own.flatMap(({ record }) => (record.start >= from ? [record.start] : []))) + world.restartMs
        : from,
    doneAt: from + Number(shifted),
  };
}

/** The first whole hour after the confirmation that has more GPUs than the action left: somebody raised them again. */
function raisedAt(pieces: readonly Piece[], afterParts: number, confirmedAt: number, until: number): number {
  for (let hour = Math.ceil(confirmedAt / HOUR_MS) * HOUR_MS; hour < until; hour += HOUR_MS) {
    if (partMsWithin(pieces, { start: hour, end: hour + HOUR_MS }) > BigInt(afterParts) * BigInt(HOUR_MS)) return hour;
  }
  return Infinity;
}

function chainHours(
  spans: readonly Span[],
  pieces: readonly Piece[],
  meteredHours: ReadonlySet<number>,
  contextOf: (currency: string) => CostContext,
  until: number,
): HourSaving[] {
  const byHour = hourIndex(pieces);
  const savings: HourSaving[] = [];
  const sent = new Set<string>();
  const first = hourOf(Math.min(Infinity, ...spans.map(({ start }) => start)));
  const last = Math.min(until, Math.max(-Infinity, ...spans.map(({ claimedUntil }) => claimedUntil)));
  for (let hour = first; hour < last; hour += HOUR_MS) {
    const own = byHour.get(hour) ?? [];
    const heard = own.length > 0 || meteredHours.has(hour);
    const found = new Map<string, HourSaving>();
    for (const window of windowsOf(hour, spans)) {
      for (const saving of windowSavings(window, spans, own, heard, contextOf))
        found.set(saving.action, added(found.get(saving.action), withEgress(saving, spans, sent)));
    }
    savings.push(...found.values());
  }
  return savings;
}

/**
 * The first hour that counts bears what a move sent to another region. It is stated with the recommendation, and is in
 * no metered cost. @param sent actions that have borne it
 */
function withEgress(saving: HourSaving, spans: readonly Span[], sent: Set<string>): HourSaving {
  const world = spans.find(({ member }) => member.counterfactual.action === saving.action)?.member.counterfactual.world;
  if (world?.kind !== 'moved' || saving.reason !== null || sent.has(saving.action)) return saving;
  sent.add(saving.action);
  return { ...saving, actual: saving.actual + world.egress.nanos };
}

/** The hour, cut where an action begins, ends, or stops to claim. */
function windowsOf(hour: number, spans: readonly Span[]): Interval[] {
  const cuts = new Set(
    spans
      .flatMap(({ start, end, claimedUntil, upAt, doneAt }) => [start, end, claimedUntil, upAt, doneAt])
      .filter((at) => at > hour && at < hour + HOUR_MS),
  );
  const bounds = [hour, ...[...cuts].sort((a, b) => a - b), hour + HOUR_MS];
  return bounds.slice(1).map((end, at) => ({ start: bounds[at] ?? hour, end }));
}

function windowSavings(
  window: Interval,
  spans: readonly Span[],
  pieces: readonly Piece[],
  heard: boolean,
  contextOf: (currency: string) => CostContext,
): HourSaving[] {
  const active = spans.filter(({ start, end }) => start <= window.start && window.end <= end);
  const levels: Level[] = [pieces];
  for (const span of active.toReversed()) levels.unshift(undone(levels[0] ?? null, span, window));
  return active.flatMap((span, at): HourSaving[] => {
    const {
      confirmedAt,
      counterfactual: { action, currency },
    } = span.member;
    if (confirmedAt === null || window.end > span.claimedUntil) return [];
    const refused = refusal(span, heard);
    const context = contextOf(currency);
    const [without, withIt] = [
      costOf(levels[at] ?? null, window, context),
      costOf(levels[at + 1] ?? null, window, context),
    ];
    const reason = refused ?? ('reason' in without ? without.reason : 'reason' in withIt ? withIt.reason : null);
    const lines = within(pieces, span.member.counterfactual.target).flatMap(({ line }) => line ?? []);
    const hour = hourOf(window.start);
    if (reason !== null) return [nothing(action, hour, reason, lines)];
    if ('reason' in without || 'reason' in withIt) return [];
    return [
      {
        action,
        hour,
        reason,
        claimedMs: window.end - window.start,
        counterfactual: without.nanos,
        actual: withIt.nanos,
        lines,
        prices: [...without.prices, ...withIt.prices],
      },
    ];
  });
}

/** Why nothing can be said of an action's hour, whatever its price. */
function refusal(
  {
    member: {
      counterfactual: { world },
    },
    meteredParts,
  }: Span,
  heard: boolean,
): UnverifiableReason | null {
  if (world.kind === 'unknown') return world.reason;
  if ((world.kind === 'held' || world.kind === 'shifted') && meteredParts === null) return 'target-not-metered';
  return heard ? null : 'hour-not-metered';
}

/** The world without one action more; null: nobody can know it. */
function undone(level: Level, span: Span, window: Interval): Level {
  const { target, group, world } = span.member.counterfactual;
  if (world.kind === 'unknown')
    return world.reason === 'not-made-to-save' ||
      world.reason === 'no-immediate-effect' ||
      world.reason === 'was-not-running'
      ? level
      : null;
  if (level === null || world.kind === 'commitment' || world.kind === 'plan') return level;
  const targets = group === null ? [target] : [target, group];
  const [own, others] = [within(level, target), level.filter((piece) => !piece.targets.includes(target))];
  switch (world.kind) {
    case 'held':
      return [
        ...others,
        ...cappedAt(asMetered(world.holdings, span.ranBefore), span.meteredParts).flatMap((holding) =>
          standing(holding, targets, window),
        ),
      ];
    case 'shifted':
      return window.start < span.doneAt
        ? [
            ...others,
            ...asMetered(world.holdings, span.ranBefore).flatMap((holding) => standing(holding, targets, window)),
          ]
        : others;
    case 'term':
      // A share of new machines has changed nothing as long as no machine runs on spot that did not before.
      return hasMoreSpot(own, span.ranBefore, window)
        ? [...others, ...own.flatMap((piece) => splitBySpot(piece, world.spotRatio))]
        : level;
    case 'moved':
      return [...others, ...own.flatMap((piece) => movedBack(piece, world.key, span))];
    case 'size':
      return [
        ...others,
        ...runsOf(own).map(({ resource, start, end }) => heldBy(resource, world.holding, targets, { start, end })),
      ];
  }
}

/** What ran from the move on, after its restart, at the place and under the term before. */
function movedBack(piece: Piece, key: PriceKey, { start: movedAt, upAt }: Span): Piece[] {
  const { record } = piece;
  // Until it has been ended there, it is the same in both worlds.
  if (record.start < movedAt) return [piece];
  const start = Math.max(record.start, upAt);
  return start >= record.end ? [] : [{ ...piece, record: { ...record, ...key, account: record.account, start } }];
}

/** Never more than the meter saw before: what the fleet says beyond it was not billed by the same measure. */
function cappedAt(holdings: readonly Holding[], most: number | null): Holding[] {
  const all = holdings.reduce((sum, { gpuParts, units }) => sum + gpuParts * units, 0);
  return most === null || all <= most
    ? [...holdings]
    : holdings.map((holding) => ({ ...holding, gpuParts: Math.floor((holding.gpuParts * most) / all) }));
}

/**
 * Replicas that would have run on: they began before the window and end after it, so that no billing minimum is counted
 * for the cut.
 */
const standing = (holding: Holding, targets: readonly string[], { start, end }: Interval): Piece[] =>
  Array.from({ length: holding.units }, (_, at) =>
    heldBy(`${targets[0]}#${holding.key.term}#${at}`, holding, targets, { start: start - HOUR_MS, end: end + HOUR_MS }),
  );

function heldBy(
  resource: string | null,
  { key, gpuParts }: Holding,
  targets: readonly string[],
  { start, end }: Interval,
): Piece {
  const { provider, account = null, sku, gpuModel, region, term } = key;
  const record: UsageRecord = {
    id: '',
    provider,
    account,
    subAccount: null,
    resource,
    namespace: null,
    service: null,
    sku,
    region,
    term,
    gpuModel,
    tags: null,
    start,
    end,
    gpuParts,
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
  return { record, line: null, targets };
}

function splitBySpot(piece: Piece, spotRatio: number): Piece[] {
  const parts = piece.record.gpuParts ?? 0;
  const spot = Math.round(parts * spotRatio);
  const pieceOf = (term: 'spot' | 'on-demand', gpuParts: number): Piece[] =>
    gpuParts === 0 ? [] : [{ ...piece, record: { ...piece.record, term, gpuParts } }];
  return [...pieceOf('spot', spot), ...pieceOf('on-demand', parts - spot)];
}

/** When each resource ran, however many records say so. */
function runsOf(pieces: readonly Piece[]): { resource: string | null; start: number; end: number }[] {
  const runs: { resource: string | null; start: number; end: number }[] = [];
  const order = pieces
    .map(({ record }) => record)
    .filter(({ gpuParts }) => gpuParts !== null && gpuParts > 0)
    .sort((a, b) =>
      (a.resource ?? '') < (b.resource ?? '') ? -1 : (a.resource ?? '') > (b.resource ?? '') ? 1 : a.start - b.start,
    );
  for (const { resource, start, end } of order) {
    const last = runs.at(-1);
    if (last !== undefined && last.resource === resource && start <= last.end) last.end = Math.max(last.end, end);
    else runs.push({ resource, start, end });
  }
  return runs;
}

/**
 * The cost of a level within a window: the hour up to its end minus the hour up to its start, so that the pieces of an
 * hour sum to the hour.
 */
function costOf(level: Level, { start, end }: Interval, context: CostContext): GpuCost {
  if (level === null) return { reason: 'overlap-unknown' };
  const [hour, records] = [hourOf(start), level.map(({ record }) => record)];
  const whole = gpuCostOf(records, { start: hour, end }, context);
  const before = start === hour ? { nanos: 0n } : gpuCostOf(records, { start: hour, end: start }, context);
  return 'reason' in whole ? whole : 'reason' in before ? before : { ...whole, nanos: whole.nanos - before.nanos };
}

/** What records cost within a piece of one UTC hour, GPUs only; or why that is unknown. */
export function gpuCostOf(all: readonly UsageRecord[], window: Interval, context: CostContext): GpuCost {
  const groups = new Map<string, { key: PriceKey; records: UsageRecord[] }>();
  for (const record of all) {
    if (
      record.start >= window.end ||
      (record.end <= window.start && record.end !== record.start) ||
      record.gpuParts === 0
    )
      continue;
    const { provider, account, sku, gpuModel, region, term } = record;
    const name = JSON.stringify([provider, account, sku, gpuModel, region, term]);
    const group = groups.get(name);
    if (group === undefined)
      groups.set(name, { key: { provider, account, sku, gpuModel, region, term }, records: [record] });
    else group.records.push(record);
  }
  return summed(
    [...groups.values()].flatMap(({ key, records }) =>
      priceFromRecords('', key, hourOf(window.start), records, context, { within: window }),
    ),
  );
}

/** Two windows of one hour; where one of them is unverifiable the hour is. */
function added(a: HourSaving | undefined, b: HourSaving): HourSaving {
  if (a === undefined) return b;
  const reason = a.reason ?? b.reason;
  if (reason !== null) return nothing(b.action, b.hour, reason, b.lines);
  return {
    ...b,
    claimedMs: a.claimedMs + b.claimedMs,
    counterfactual: a.counterfactual + b.counterfactual,
    actual: a.actual + b.actual,
    prices: [...a.prices, ...b.prices],
  };
}
