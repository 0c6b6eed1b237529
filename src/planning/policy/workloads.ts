/**
 * A recorded workload under changes of its fleet, its machines and its term: its cost and the unserved load.
 *
 * Only hours count in which its size was recorded. Without a change it costs what was metered of it, at the price of
 * each hour; a change replaces the recorded size, term or machine from then on. The size of today says nothing of the
 * past.
 *
 * The invariant: a replica-minute without a price adds nothing and is counted separately; a workload without any
 * counted minute says why.
 */
import type { MeteredGpus, RecordedHistory } from '../../core/policy/history.js';
import type { TakenMeasurement } from '../../core/workload/measurement.js';
import type { Change } from '../../core/policy/recommendation.js';
import { READY_REPLICAS, type SpotMarket, type WorkloadView } from '../../core/policy/policy.js';
import { spotMarketAt } from '../../core/policy/spot-market.js';
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import { pacesOf } from '../throughput/pace.js';
import { availableShare, gpuHour, peakOf } from './bills.js';

export interface WorkloadBill {
  readonly cost: number;
  readonly replicaMinutes: number;
  /** In the unit of the load; 0 where no load is recorded. */
  readonly load: number;
  readonly unserved: number;
  readonly changes: number;
  /** Replica-minutes without a price: they are not in the cost. */
  readonly unpricedReplicaMinutes: number;
  /** Hours of the window in which its size was not recorded: they are in no figure. */
  readonly unrecordedHours: number;
}

/** The machine of its replicas, and the capacity of one replica per minute there (null: not measured). */
interface Machine {
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly capacityPerReplica: number | null;
}

/** What a policy made of a size. */
interface Resized {
  ready: number;
  /** When each of those that boot will be ready. */
  readonly booting: number[];
  /** On spot: asked for, and there is none; not paid. */
  waiting: number;
}

export class ReplayedWorkload {
  /** What a policy made of its size; null: it has the recorded one. */
  private resized: Resized | null = null;
  /** The term to which a policy moved it; null: it has the recorded one. */
  private moved: Term | null = null;
  private machine: Machine;
  private changedAt: number | null = null;
  /** Replicas, machine and term of the hour before. */
  private before: string;
  private recordedHours = 0;
  private bill: WorkloadBill = {
    cost: 0,
    replicaMinutes: 0,
    load: 0,
    unserved: 0,
    changes: 0,
    unpricedReplicaMinutes: 0,
    unrecordedHours: 0,
  };
  /** Why the first hour that has no price has none. */
  private why: string | null = null;
  /** What was served so far of an hour. */
  private served: Served;
  /** Ready replicas minute by minute of a group that holds replicas of a service. */
  private readonly ready: (number | null)[] = [];
  /** Of a service's group on spot: only while it is there are replicas held that a policy asked for. */
  private readonly market: SpotMarket | null;

  constructor(
    private readonly history: RecordedHistory,
    readonly facts: WorkloadView,
    private readonly bootMinutes = facts.service?.bootMinutes ?? 0,
  ) {
    this.machine = machineOf(facts);
    this.before = this.signature;
    this.served = { until: history.from, replicaMinutes: 0, load: 0, unserved: 0 };
    const isServed = facts.partOf !== undefined && facts.term === 'spot';
    this.market = isServed ? spotMarketAt(history.spotMarkets, facts) : null;
  }

  private get signature(): string {
    const { resized } = this;
    return `${resized === null ? 'recorded' : sizeOf(resized)} ${this.moved} ${this.machine.sku}`;
  }

  /** Ready replicas of each minute of the window so far; null: not recorded. */
  get readyByMinute(): readonly (number | null)[] {
    return this.ready;
  }

  private recordedAt(hour: number): readonly MeteredGpus[] | null {
    return this.history.sizes.get(this.facts.workload)?.get(hour) ?? null;
  }

  /** Whether its size was recorded in every hour of the window. */
  get isWhole(): boolean {
    for (let hour = this.history.from; hour < this.history.to; hour += HOUR_MS)
      if (this.recordedAt(hour) === null) return false;
    return true;
  }

  /** The recorded replicas of the last hour that is over; null: nobody knows. */
  private replicasBefore(at: number): number | null {
    const recorded = this.recordedAt(hourOf(at) - HOUR_MS);
    const { gpusPerReplica } = this.facts;
    return recorded === null || gpusPerReplica === null ? null : Math.round(gpusOf(recorded) / gpusPerReplica);
  }

  /** Its term then: as moved, as recorded (null: of several), or as known where nothing ran. */
  private termBefore(at: number): Term | null {
    const recorded = this.recordedAt(hourOf(at) - HOUR_MS) ?? [];
    const terms = new Set(recorded.map(({ term }) => term ?? this.facts.term));
    return this.moved ?? (terms.size === 0 ? this.facts.term : terms.size === 1 ? ([...terms][0] ?? null) : null);
  }

  /** How it looks to a policy; a fleet whose size was not recorded lately is unknown. */
  view(one: WorkloadView, at: number): WorkloadView {
    const { fleet, service } = one;
    if (fleet === null) return one;
    const { sku, gpuModel, capacityPerReplica } = this.machine;
    const { ready, booting, waiting } = this.resized ?? { ready: this.replicasBefore(at), booting: [], waiting: 0 };
    const { metrics, partOf } = one;
    return {
      ...one,
      sku,
      gpuModel,
      term: this.termBefore(at),
      service: service === null ? null : { ...service, capacityPerReplica },
      metrics:
        partOf === undefined
          ? metrics
          : { ...metrics, [READY_REPLICAS]: { from: this.history.from, values: this.ready } },
      fleet:
        ready === null
          ? null
          : {
              ...fleet,
              ready,
              booting: booting.length + waiting,
              changedAt: this.changedAt ?? this.history.from - DAY_MS,
            },
    };
  }

  /** Takes back what was done to it. */
  restore(): void {
    this.resized = null;
    this.moved = null;
    this.machine = machineOf(this.facts);
  }

  /** Takes back what was done to its size. */
  resume(): void {
    this.resized = null;
  }

  /** Does what a proposal says; false if this model knows no such thing. */
  change(action: string, change: Change, at: number): boolean {
    if (this.facts.fleet === null) return false;
    if (action === 'MoveToSpot' || action === 'MoveToOnDemand') {
      this.moved = action === 'MoveToSpot' ? 'spot' : 'on-demand';
    } else if ('sku' in change || 'instances' in change) {
      if (!this.replace(change, at)) return false;
    } else {
      const replicas = action === 'Stop' || action === 'Release' ? 0 : change['replicas'];
      if (typeof replicas !== 'number' || action === 'Keep') return false;
      this.resize(Math.max(0, Math.round(replicas)), at);
    }
    this.changedAt = at;
    return true;
  }

  /**
   * Other machines under every replica, all of which boot again, or another number of the same; false if it is not one
   * kind at its own place, or its performance there was not measured.
   */
  private replace({ sku, replicas }: Change, at: number): boolean {
    const { provider, region, gpusPerReplica } = this.facts;
    const offer = this.history
      .offersAt(at)
      .find(
        (one) =>
          one.provider === provider &&
          one.sku === sku &&
          (one.region === region || one.region === null) &&
          one.gpus === gpusPerReplica,
      );
    const speed = offer === undefined ? null : this.speedOn(offer.gpuModel);
    if (offer === undefined || speed === null || typeof replicas !== 'number' || replicas < 0) return false;
    const { capacityPerReplica } = machineOf(this.facts);
    if (offer.sku !== this.machine.sku) this.resized = { ready: 0, booting: [], waiting: 0 };
    this.machine = {
      sku: offer.sku,
      gpuModel: offer.gpuModel,
      capacityPerReplica: capacityPerReplica === null ? null : capacityPerReplica * speed,
    };
    this.resize(Math.round(replicas), at);
    return true;
  }

  /**
   * The performance of a replica on that GPU model, relative to its own: as stated, otherwise as measured or predicted;
   * null: unknown.
   */
  private speedOn(model: string): number | null {
    const { runs, gpuModel: own, gpusPerReplica } = this.facts;
    const stated = this.facts.performance;
    const speedOf = (gpuModel: string | null): number | null => {
      const known = stated.find((one) => one.gpuModel === gpuModel)?.unitsPerMinute;
      if (known !== undefined || stated.length > 0) return known ?? null;
      if (gpuModel === null || runs === undefined || gpusPerReplica === null || !Number.isInteger(gpusPerReplica))
        return null;
      return (
        pacesOf(this.history.measurements ?? NOTHING, this.history.team).paceOf(runs, gpuModel, gpusPerReplica)
          ?.samplesPerSecond ?? null
      );
    };
    const [before, after] = [speedOf(own), speedOf(model)];
    return before === null || after === null || before <= 0 ? null : after / before;
  }

  /** Its size is the policy's from now on: as recorded, until it is changed. */
  takeOver(at: number): void {
    const ready = this.replicasBefore(at);
    if (ready !== null) this.resized ??= { ready, booting: [], waiting: 0 };
  }

  /** What a policy that follows its service looks at: what it holds, and whether spot is there. */
  state(at: number): string {
    const { ready, booting, waiting } = this.resized ?? { ready: null, booting: [], waiting: 0 };
    return `${ready} ${booting.length} ${waiting} ${this.isThere(at)}`;
  }

  private isThere(at: number): boolean {
    const { market } = this;
    return market === null || market.available[Math.floor((at - market.from) / (market.tickSeconds * 1000))] === true;
  }

  private resize(wanted: number, at: number): void {
    const recorded = this.replicasBefore(at);
    if (this.resized === null && recorded === wanted) return;
    const now = (this.resized ??= { ready: recorded ?? wanted, booting: [], waiting: 0 });
    const readyAt = at + this.bootMinutes * MINUTE_MS;
    for (let n = sizeOf(now); n < wanted; n++) now.booting.push(readyAt);
    // What is not there goes first, then the youngest that still boot.
    let cut = Math.max(0, sizeOf(now) - wanted);
    const cutWaiting = Math.min(cut, now.waiting);
    now.waiting -= cutWaiting;
    cut -= cutWaiting;
    const cutBooting = Math.min(cut, now.booting.length);
    now.booting.length -= cutBooting;
    now.ready -= cut - cutBooting;
  }

  /** Pays and serves one hour. */
  runHour(hour: number): void {
    const { bill } = this;
    const recorded = this.recordedAt(hour);
    if (recorded === null) {
      this.serveUntil(hour + HOUR_MS);
      this.bill = { ...bill, unrecordedHours: bill.unrecordedHours + 1 };
      return;
    }
    this.recordedHours++;
    const isChanged = this.signature !== this.before;
    this.before = this.signature;
    this.serveUntil(hour + HOUR_MS);
    const { replicaMinutes, load, unserved } = this.served;
    const perReplicaHour = this.perReplicaHour(hour);
    this.bill = {
      ...bill,
      cost: bill.cost + (replicaMinutes / 60) * (perReplicaHour ?? 0),
      replicaMinutes: bill.replicaMinutes + replicaMinutes,
      load: bill.load + load,
      unserved: bill.unserved + unserved,
      changes: bill.changes + (isChanged ? 1 : 0),
      unpricedReplicaMinutes: bill.unpricedReplicaMinutes + (perReplicaHour === null ? replicaMinutes : 0),
    };
    if (perReplicaHour === null && replicaMinutes > 0) this.why ??= this.whyUnpriced(hour);
  }

  /** Serves the minutes of an hour up to an instant of it, or to its end. */
  serveUntil(until: number): void {
    const hour = hourOf(until - 1);
    const recorded = this.recordedAt(hour);
    if (this.served.until <= hour) this.served = { until: hour, replicaMinutes: 0, load: 0, unserved: 0 };
    const { service, gpusPerReplica, partOf } = this.facts;
    const { machine, served } = this;
    // Where nobody knows the size of a replica no minute has a price: GPUs tell at least that something ran.
    const metered = recorded === null ? null : gpusOf(recorded) / (gpusPerReplica ?? 1);
    for (; served.until < until; served.until += MINUTE_MS) {
      const minute = served.until;
      const resized = this.resizedAt(minute);
      const ready = resized?.ready ?? metered;
      if (partOf !== undefined) this.ready.push(ready);
      if (metered === null) continue;
      served.replicaMinutes += resized === null ? metered : resized.ready + resized.booting.length;
      const offered =
        service === null ? null : (service.load.values[Math.round((minute - service.load.from) / MINUTE_MS)] ?? null);
      if (offered === null || machine.capacityPerReplica === null) continue;
      served.load += offered;
      served.unserved += Math.max(0, offered - (ready ?? 0) * machine.capacityPerReplica);
    }
  }

  /** What a policy made of its size, a minute on: what has booted is ready, and what is gone waits. */
  private resizedAt(minute: number): Resized | null {
    const { resized } = this;
    if (resized === null) return null;
    if (!this.isThere(minute)) {
      resized.waiting = sizeOf(resized);
      resized.ready = 0;
      resized.booting.length = 0;
      return resized;
    }
    for (; resized.waiting > 0; resized.waiting -= 1) resized.booting.push(minute + this.bootMinutes * MINUTE_MS);
    const booted = resized.booting.filter((at) => at <= minute).length;
    resized.ready += booted;
    resized.booting.splice(0, booted);
    return resized;
  }

  /** Why its cost is unknown; null: some of it, or all, is known. */
  get unknown(): string | null {
    if (this.facts.fleet === null) return 'its number of replicas is unknown';
    if (this.recordedHours === 0) return 'none of its use was metered in the window';
    const { replicaMinutes, unpricedReplicaMinutes } = this.bill;
    return replicaMinutes > 0 && unpricedReplicaMinutes === replicaMinutes ? this.why : null;
  }

  private whyUnpriced(hour: number): string {
    const { provider, gpusPerReplica } = this.facts;
    const lacking = this.partsOf(hour).find((part) => this.priceOf(hour, part) === null);
    const { sku, region, term } = lacking ?? { ...this.facts, sku: this.machine.sku };
    if (term === null) return 'the term of its machines (on demand, spot, reserved) is unknown';
    if (gpusPerReplica === null) return 'the number of GPUs of a replica is unknown';
    return sku === null || provider === null
      ? 'the machines on which it runs are unknown'
      : `no price of ${sku} of ${provider}${region === null ? '' : ` in ${region}`} for the term ${term} is known`;
  }

  get total(): WorkloadBill {
    return this.bill;
  }

  /**
   * What the replicas of an hour are made of: as recorded where something ran, otherwise as known; on the machine that a
   * policy put under them.
   */
  private partsOf(hour: number): readonly MeteredGpus[] {
    const { facts, machine } = this;
    const { provider, zone, region, term: known } = facts;
    const isPricedByZone = this.history
      .offersAt(hour)
      .some((one) => one.provider === provider && one.sku === machine.sku && one.term === known && one.region === zone);
    const place = isPricedByZone ? (zone ?? region) : region;
    const own = { provider, region: place, sku: machine.sku, gpuModel: machine.gpuModel };
    const recorded = (this.recordedAt(hour) ?? []).map((one) => ({ ...one, term: one.term ?? facts.term }));
    if (machine.sku !== facts.sku) {
      const terms = recorded.length === 0 ? [{ term: facts.term, gpus: 1 }] : recorded;
      return terms.map(({ term, gpus }) => ({ ...own, term, gpus }));
    }
    return recorded.length === 0 ? [{ ...own, term: facts.term, gpus: 1 }] : recorded;
  }

  /** Currency units, the mean of what its replicas are made of; null if some of it has no price. */
  perReplicaHour(hour: number): number | null {
    const { history, facts } = this;
    if (facts.gpusPerReplica === null) return null;
    const parts = this.partsOf(hour);
    let cost = 0;
    for (const part of parts) {
      const price = this.priceOf(hour, part);
      if (price === null) return null;
      cost += price * part.gpus;
    }
    return (cost / gpusOf(parts)) * facts.gpusPerReplica * peakOf(history, hour);
  }

  /** Per GPU-hour. What a policy moved to spot is on it for the share of the hour in which it was there. */
  private priceOf(hour: number, { provider, sku, region, gpuModel, term }: MeteredGpus): number | null {
    const offers = this.history
      .offersAt(hour)
      .filter(
        (offer) =>
          offer.provider === provider && offer.sku === sku && (offer.region === region || offer.region === null),
      );
    const cheapest = (wanted: Term): number | null =>
      offers
        .filter((offer) => offer.term === wanted)
        .map(({ rate }) => gpuHour(rate))
        .sort((a, b) => a - b)[0] ?? null;
    const onDemand = cheapest('on-demand');
    if (this.moved === 'on-demand') return onDemand;
    const spot = cheapest('spot');
    // What was metered on spot had it.
    if (term === 'spot') return spot ?? onDemand;
    if (this.moved === null) return term === null ? null : cheapest(term);
    if (spot === null) return onDemand;
    const market = spotMarketAt(this.history.spotMarkets, { provider, gpuModel, region });
    const available = (market === null ? null : availableShare(market, hour)) ?? 0;
    return available * spot + (1 - available) * (onDemand ?? spot);
  }
}

interface Served {
  /** The first millisecond that was not yet. */
  until: number;
  replicaMinutes: number;
  load: number;
  unserved: number;
}

const sizeOf = ({ ready, booting, waiting }: Resized): number => ready + booting.length + waiting;

const gpusOf = (parts: readonly MeteredGpus[]): number => parts.reduce((sum, { gpus }) => sum + gpus, 0);

const machineOf = ({ sku, gpuModel, service }: WorkloadView): Machine => ({
  sku,
  gpuModel,
  capacityPerReplica: service?.capacityPerReplica ?? null,
});

const NOTHING: readonly TakenMeasurement[] = [];
