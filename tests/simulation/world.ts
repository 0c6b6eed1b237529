/**
 * The world of one seed: a company, its fake cloud, a person, and Bursar, all living by one clock that only the
 * simulation moves.
 *
 * Of Bursar everything is real: stores on PostgreSQL, the line, the runner. It runs in a process that dies (crash.ts)
 * and is started anew from what is committed. Nothing sleeps and nothing reads a clock. The same seed gives the same
 * world, event for event.
 */
import type { Budget } from '../../src/core/budget/budget.js';
import type { Stop } from '../../src/core/action/guard.js';
import type { LimitsDocument } from '../../src/core/action/limits.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { formatInstant, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { CollectingSchedule, collectingKey } from '../../src/pipeline/collecting.js';
import { makeLine } from '../../src/pipeline/line.js';
import { leaseMsOf, Runner } from '../../src/pipeline/runner.js';
import type { Stage } from '../../src/pipeline/stage.js';
import { policy as budgetBrake } from '../../src/policies/budget-brake.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import { policy as lease } from '../../src/policies/lease.js';
import { policy as schedule } from '../../src/policies/schedule.js';
import { policy as spotShift } from '../../src/policies/spot-shift.js';
import { policy as targetTracking } from '../../src/policies/target-tracking.js';
import { FakeCloud } from '../../src/providers/fake/cloud.js';
import { SOME_FAULTS } from '../../src/providers/fake/faults.js';
import type { Database, Transaction } from '../../src/store/database.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { Stores } from '../../src/store/stores.js';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import { VERIFY } from '../../src/store/action/actions.js';
import { mergeItem } from '../../src/store/usage/merging.js';
import { enqueue, WorkTable, type DuePartition } from '../../src/store/work.js';
import { Chance } from './chance.js';
import { billingOf, budgetsOf, documentsOf, fleetOf, leaseOf, loadOf, RULES, samplesOf, TEAMS } from './company.js';
import { Crash, Hiccup, Life, mortal, mortalConnection, type Fuse } from './crash.js';
import { reseed } from './randomness.js';
import { reckless } from './reckless.js';
import { mergingEarly } from './merging.js';
import { OwnMeter } from './meter.js';
import { newTally, type Tally } from './tally.js';
import { Wire, type Sending } from './wire.js';

/** What a canary breaks on purpose, wherever a process begins. Nothing of it is in the product. */
export interface Breakage {
  /** Changes what the stores of the simulated processes do. */
  stores?(stores: Stores, db: Database): void;
  /** Changes what the stores do by which people give their orders. */
  orders?(stores: Stores): void;
  /** Stands between the line and the wire. */
  connection?(wire: Wire): ProviderConnection;
  /** Changes what the stages do. */
  line?(line: readonly Stage[]): readonly Stage[];
}

/** How long a seed's world is looked at, and how often. */
export interface Plan {
  readonly kind: 'month' | 'days';
  /** Epoch milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly looks: number;
}

/** Limits as the person set them, from an instant on. */
export interface LimitsSpan {
  readonly since: number;
  readonly organisation: LimitsDocument;
  readonly teams: Readonly<Record<string, LimitsDocument>>;
}

/** A kill switch as the person pulled it. */
export interface PulledStop extends Stop {
  /** Commits of the process before it was pulled. */
  readonly commits: number;
}

/** Usage may be late by so much. */
export const MOST_LATE_MS = 36 * HOUR_MS;

export const POLICIES = [
  idleStop,
  budgetBrake,
  spotShift,
  targetTracking,
  schedule,
  lease,
  reckless,
] as readonly Policy[];

/** Pauses between a look at everything and the looks at what it led to. */
const AFTERMATH_MS = [0, 2, 7, 61].map((minutes) => minutes * MINUTE_MS);
export const RECOMMEND = 'recommendation.make';
const INTERVALS = { fleet: 60, usage: 300, bill: 6 * 3600, prices: 5 * 86_400, spot: 3 * 86_400 };

/** Only what is due of one organisation: others share the database, and live at other times. */
class OwnWork extends WorkTable {
  constructor(
    db: Database,
    private readonly organisation: string,
    private readonly resting: ReadonlySet<string>,
  ) {
    super(db);
  }

  /** As the tick does it, what to recommend waits until the rest is done. */
  override async duePartitions(at: number): Promise<DuePartition[]> {
    const own = (await super.duePartitions(at)).filter(
      ({ organisation, stage }) => organisation === this.organisation && !this.resting.has(stage),
    );
    const first = own.filter(({ stage }) => stage !== RECOMMEND);
    return first.length > 0 ? first : own;
  }
}

interface Process {
  readonly life: Life;
  readonly runner: Runner;
  readonly collecting: CollectingSchedule;
}

export class World {
  readonly organisation: string;
  readonly chance: Chance;
  readonly clock: { at: number; now(): number };
  readonly cloud: FakeCloud;
  readonly wire: Wire;
  readonly tally: Tally = newTally();
  readonly ownMeter: OwnMeter;
  readonly broken: string[] = [];
  /** When small deliveries are merged: it moves nothing else of the seed. */
  private readonly chanceOfMerging: Chance;
  /** Of the doors, by which people come in: a process of their own, which does not die. */
  readonly stores: Stores;
  readonly limits: LimitsSpan[] = [];
  readonly stops: PulledStop[] = [];
  /** Actions that were approved, and not sent, when a kill switch that covers them was pulled: they are over. */
  readonly heldByStops = new Set<string>();
  /** By id: every version that was set, the newest last. */
  readonly budgets = new Map<string, { readonly since: number; readonly budget: Budget }[]>();
  /** Machines whose cost the person gave to another team. */
  readonly moved = new Map<string, string>();
  /** Commits of all processes so far. */
  commits = 0;
  step = 0;
  /** Stages whose turn it is not: what is due of them waits. */
  readonly resting = new Set<string>();
  /**
   * What the world does between two commits, once, so many commits after now or after a target is next read; null:
   * nothing is planned.
   */
  interference: { after: number; waitsForRead: boolean; readonly happens: () => Promise<void> } | null = null;
  private process: Process;

  constructor(
    readonly db: Database,
    readonly seed: number,
    readonly plan: Plan,
    heard: (world: World, sending: Sending) => Promise<void>,
    private readonly breakage: Breakage = {},
  ) {
    this.organisation = `seed-${seed}`;
    this.stores = new Stores(db, new FleetStore());
    breakage.orders?.(this.stores);
    reseed(seed);
    this.chance = new Chance(seed);
    this.chanceOfMerging = new Chance(seed ^ 0x6e26e);
    const clock = { at: plan.start, now: (): number => clock.at };
    this.clock = clock;
    this.cloud = new FakeCloud({
      seed,
      clock,
      meterSeconds: 3600,
      spotUpHours: 14,
      spotDownHours: 3,
      faults: { ...SOME_FAULTS, mostLateSeconds: MOST_LATE_MS / 1000, throttlesRatio: 0.01, overbillsRatio: 0.3 },
      ...fleetOf(this.chance),
    });
    this.wire = new Wire(
      this.cloud,
      (sending) => heard(this, sending),
      () => {
        if (this.interference !== null) this.interference.waitsForRead = false;
      },
      billingOf(seed),
    );
    this.ownMeter = new OwnMeter(this);
    this.process = this.start();
  }

  /** Where the simulation is, for people. */
  get place(): string {
    return `seed ${this.seed}, step ${this.step}, ${formatInstant(this.clock.at)}`;
  }

  async found(): Promise<void> {
    const { db, organisation, stores } = this;
    this.limits.push({ since: -Infinity, organisation: {}, teams: {} });
    await db.query(`insert into organisation (id, name) values ($1, $1)`, [organisation]);
    await db.transaction(async (tx) => {
      for (const { id, parent } of TEAMS)
        await stores.organisations.saveTeam(tx, organisation, {
          id,
          name: id,
          parent,
          zone: 'UTC',
          currency: 'USD',
          assignedBy: null,
        });
      await stores.organisations.saveRules(tx, organisation, RULES, 'founder');
      // The laws price what ran by the cloud's list; its bills are less. What they teach is applied at the end.
      await stores.learnedRates.setApplied(tx, organisation, false);
      for (const budget of budgetsOf(this.chance)) await this.setBudget(tx, budget);
      for (const document of documentsOf(this.chance)) await this.applyDocument(tx, document);
      await stores.workloads.saveLease(tx, organisation, 'blue', leaseOf(this.chance, this.plan.start));
    });
    await this.ownMeter.found();
  }

  async setBudget(tx: Transaction, budget: Budget): Promise<void> {
    await setBudget(this.stores, tx, this.organisation, budget, this.clock.at);
    this.budgets.set(budget.id, [...(this.budgets.get(budget.id) ?? []), { since: this.clock.at, budget }]);
  }

  async applyDocument(tx: Transaction, value: unknown): Promise<void> {
    const document = readPolicyDocument(value, POLICIES);
    const { detail } = await applyPolicy(
      this.stores,
      tx,
      this.organisation,
      POLICIES,
      { document, override: 'it is only a simulation' },
      'author',
      this.clock.at,
    );
    await this.stores.audit.audit(tx, this.organisation, 'author', 'policy.apply', document.name, detail);
  }

  currentBudgets(): Budget[] {
    return [...this.budgets.values()].flatMap((versions) => versions.at(-1)?.budget ?? []);
  }

  /** What the meters send, and what the cloud suffers from others. */
  async evidence(): Promise<void> {
    const { db, organisation, stores, clock, chance, plan, cloud } = this;
    await db.transaction(async (tx) => {
      await takeSamples(stores, tx, organisation, 'meter', samplesOf(chance, plan.start, clock.at));
      await stores.workloads.saveMetrics(tx, organisation, loadOf(chance, clock.at));
    });
    if (!chance.happens(0.4)) return;
    const targets = cloud
      .targets()
      .filter(({ target, state }) => target.startsWith('instance/') && state === 'running');
    if (chance.happens(0.5))
      cloud.change(`group/${chance.pick(['train', 'serve', 'lab'])}`, { desired: chance.whole(1, 3) });
    else if (targets.length > 0) cloud.lose(chance.pick(targets).target);
  }

  /** Has the last usage, bills and prices asked for, whatever the intervals say. */
  async collectTheRest(): Promise<void> {
    await enqueue(
      this.db,
      this.organisation,
      (['usage', 'bill', 'prices'] as const).map((what) => collectingKey({ connection: 'fake', what })),
    );
  }

  /**
   * Works until nothing is due, through as many crashes as the seed has.
   * @param collects whether the connections are asked for what is new
   */
  async work(collects: boolean): Promise<void> {
    this.step += 1;
    if (this.chanceOfMerging.happens(0.4)) await this.mergeSmall();
    for (let crashes = 0; ; crashes++) {
      this.process.life.light(crashes < 2 ? this.fuse(collects) : null);
      try {
        if (collects) await this.process.collecting.enqueueDue(this.clock.at);
        await this.process.runner.drain();
        return;
      } catch (error) {
        // The queue gives a job whose transaction was rolled back again to the same process.
        if (error instanceof Hiccup) continue;
        if (!(error instanceof Crash)) throw error;
        this.tally.crashes += 1;
        // What it was at work on under a lease is taken up when that has run out.
        this.clock.at += leaseMsOf(10);
        this.process = this.start();
      }
    }
  }

  /** Has what came in small deliveries merged, whether it has settled or not. */
  private async mergeSmall(): Promise<void> {
    const { db, organisation, stores } = this;
    await enqueue(
      db,
      organisation,
      (await stores.merging.sources(db, organisation)).map((source) => mergeItem(source)),
    );
  }

  /** The first steps of a look are where usage comes in: half of the fuses are short. */
  private fuse(isTick: boolean): Fuse | null {
    const { chance } = this;
    return chance.happens(isTick ? 0.5 : 0.2)
      ? { kind: chance.pick(['crash', 'hiccup']), steps: chance.whole(1, chance.pick([6, 30])) }
      : null;
  }

  /**
   * The instants at which Bursar works: true where it looks at everything, false where only what that led to goes on.
   * What was saved is measured at some.
   */
  *instants(): Generator<boolean> {
    const { start, end, looks } = this.plan;
    const gap = (end - start) / looks;
    for (let look = 0; look < looks; look++) {
      this.clock.at = Math.max(
        this.clock.at,
        1000 * Math.round((start + (look + 0.3 + (0.6 * this.chance.whole(0, 100)) / 100) * gap) / 1000),
      );
      for (const pause of AFTERMATH_MS) {
        this.clock.at += pause;
        if (pause === 0 && look % 4 === 3) this.resting.delete(VERIFY);
        else this.resting.add(VERIFY);
        yield pause === 0;
      }
    }
  }

  private start(): Process {
    const { db, organisation, clock, wire, breakage } = this;
    const life = new Life(
      () => this.betweenCommits(),
      () => void (this.tally.hiccups += 1),
    );
    const own = mortal(db, life);
    const stores = new Stores(own, new FleetStore());
    breakage.stores?.(stores, own);
    const connections = new Map([['fake', mortalConnection(breakage.connection?.(wire) ?? wire, life)]]);
    const whole = makeLine(stores, POLICIES, [], connections);
    const line = mergingEarly(breakage.line?.(whole) ?? whole, () => void (this.tally.portionsMerged += 1));
    const runner = new Runner(own, new OwnWork(own, organisation, this.resting), clock, line);
    return { life, runner, collecting: new CollectingSchedule(stores, organisation, connections, INTERVALS) };
  }

  private async betweenCommits(): Promise<void> {
    this.commits += 1;
    if (this.interference === null || this.interference.waitsForRead || --this.interference.after > 0) return;
    const { happens } = this.interference;
    this.interference = null;
    await happens();
  }
}
