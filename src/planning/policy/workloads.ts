/**
 * A recorded workload under changes of its fleet, its machines and its term: its cost and the unserved load. The past
 * number of its replicas is not recorded: every run, and doing nothing, begins with the fleet that is known.
 *
 * The invariant: a replica-minute without a price adds nothing and is counted separately; a workload without any priced
 * minute says why.
 */
import type { RecordedHistory } from '../../core/policy/history.js';
import type { TakenMeasurement } from '../../core/workload/measurement.js';
import type { Change } from '../../core/policy/recommendation.js';
import type { WorkloadView } from '../../core/policy/policy.js';
import { DAY_MS, MINUTE_MS } from '../../core/time.js';
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
}

/** The machine of its replicas, and the capacity of one replica per minute there (null: not measured). */
interface Machine {
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly capacityPerReplica: number | null;
}

export class ReplayedWorkload {
  private ready: number;
  private booting: number[] = [];
  private term: Term | null;
  private machine: Machine;
  private changedAt: number | null = null;
  /** Replicas, machine and term of the hour before. */
  private before: string;
  private bill: WorkloadBill = {
    cost: 0,
    replicaMinutes: 0,
    load: 0,
    unserved: 0,
    changes: 0,
    unpricedReplicaMinutes: 0,
  };
  /** Why the first hour that has no price has none. */
  private why: string | null = null;

  constructor(
    private readonly history: RecordedHistory,
    readonly facts: WorkloadView,
  ) {
    this.ready = (facts.fleet?.ready ?? 0) + (facts.fleet?.booting ?? 0);
    this.term = facts.term;
    this.machine = machineOf(facts);
    this.before = this.signature;
  }

  private get signature(): string {
    return `${this.ready + this.booting.length} ${this.term} ${this.machine.sku}`;
  }

  /** How it looks to a policy now. */
  view(one: WorkloadView): WorkloadView {
    const { fleet, service } = one;
    const { sku, gpuModel, capacityPerReplica } = this.machine;
    return fleet === null
      ? one
      : {
          ...one,
          sku,
          gpuModel,
          term: this.term,
          service: service === null ? null : { ...service, capacityPerReplica },
          fleet: {
            ...fleet,
            ready: this.ready,
            booting: this.booting.length,
            changedAt: this.changedAt ?? this.history.from - DAY_MS,
          },
        };
  }

  /** Takes back what was done to it. */
  restore(): void {
    const { facts } = this;
    this.ready = (facts.fleet?.ready ?? 0) + (facts.fleet?.booting ?? 0);
    this.booting = [];
    this.term = facts.term;
    this.machine = machineOf(facts);
  }

  /** Does what a proposal says; false if this model knows no such thing. */
  change(action: string, change: Change, at: number): boolean {
    if (this.facts.fleet === null) return false;
    if (action === 'MoveToSpot' || action === 'MoveToOnDemand') {
      this.term = action === 'MoveToSpot' ? 'spot' : 'on-demand';
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
    if (offer.sku !== this.machine.sku) {
      this.ready = 0;
      this.booting = [];
    }
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

  private resize(wanted: number, at: number): void {
    const have = this.ready + this.booting.length;
    const readyAt = at + (this.facts.service?.bootMinutes ?? 0) * MINUTE_MS;
    for (let n = have; n < wanted; n++) this.booting.push(readyAt);
    // The youngest that still boot go first.
    const cut = Math.max(0, have - wanted);
    const cutBooting = Math.min(cut, this.booting.length);
    this.booting.length -= cutBooting;
    this.ready -= cut - cutBooting;
  }

  /** Pays and serves one hour. */
  runHour(hour: number): void {
    const { service } = this.facts;
    const isChanged = this.signature !== this.before;
    this.before = this.signature;
    let [replicaMinutes, load, unserved] = [0, 0, 0];
    for (let minute = hour; minute < hour + 60 * MINUTE_MS; minute += MINUTE_MS) {
      const booted = this.booting.filter((at) => at <= minute).length;
      this.ready += booted;
      this.booting.splice(0, booted);
      replicaMinutes += this.ready + this.booting.length;
      const offered =
        service === null ? null : (service.load.values[Math.round((minute - service.load.from) / MINUTE_MS)] ?? null);
      if (offered === null || service === null || this.machine.capacityPerReplica === null) continue;
      load += offered;
      unserved += Math.max(0, offered - this.ready * this.machine.capacityPerReplica);
    }
    const { bill } = this;
    const perReplicaHour = this.perReplicaHour(hour);
    this.bill = {
      cost: bill.cost + (replicaMinutes / 60) * (perReplicaHour ?? 0),
      replicaMinutes: bill.replicaMinutes + replicaMinutes,
      load: bill.load + load,
      unserved: bill.unserved + unserved,
      changes: bill.changes + (isChanged ? 1 : 0),
      unpricedReplicaMinutes: bill.unpricedReplicaMinutes + (perReplicaHour === null ? replicaMinutes : 0),
    };
    if (perReplicaHour === null && replicaMinutes > 0) this.why ??= this.whyUnpriced();
  }

  /** Why its cost is unknown; null: some of it, or all, is known. */
  get unknown(): string | null {
    if (this.facts.fleet === null) return 'its number of replicas is unknown';
    const { replicaMinutes, unpricedReplicaMinutes } = this.bill;
    return replicaMinutes > 0 && unpricedReplicaMinutes === replicaMinutes ? this.why : null;
  }

  private whyUnpriced(): string {
    const { region, provider, gpusPerReplica } = this.facts;
    const { sku } = this.machine;
    if (this.term === null) return 'the term of its machines (on demand, spot, reserved) is unknown';
    if (gpusPerReplica === null) return 'the number of GPUs of a replica is unknown';
    return sku === null || provider === null
      ? 'the machines on which it runs are unknown'
      : `no price of ${sku} of ${provider}${region === null ? '' : ` in ${region}`} for the term ${this.term} is known`;
  }

  get total(): WorkloadBill {
    return this.bill;
  }

  /**
   * Currency units; on spot for the share of the hour in which it was there, on demand for the rest; null if it has no
   * price.
   */
  perReplicaHour(hour: number): number | null {
    const { history, facts, machine } = this;
    const offers = history
      .offersAt(hour)
      .filter(
        (offer) =>
          offer.provider === facts.provider &&
          offer.sku === machine.sku &&
          (offer.region === facts.region || offer.region === null),
      );
    const priceOf = (term: Term): number | null =>
      offers
        .filter((offer) => offer.term === term)
        .map(({ rate }) => gpuHour(rate))
        .sort((a, b) => a - b)[0] ?? null;
    const onDemand = priceOf('on-demand');
    const own =
      this.term === 'spot'
        ? this.spotPrice(hour, onDemand, priceOf('spot'))
        : this.term === null
          ? null
          : priceOf(this.term);
    return own === null || facts.gpusPerReplica === null ? null : own * facts.gpusPerReplica * peakOf(history, hour);
  }

  private spotPrice(hour: number, onDemand: number | null, spot: number | null): number | null {
    const { provider, region } = this.facts;
    const { gpuModel } = this.machine;
    const market = this.history.spotMarkets.find(
      (one) => one.provider === provider && one.gpuModel === gpuModel && (one.region === null || one.region === region),
    );
    const share = market === undefined ? null : availableShare(market, hour);
    // Replicas on spot in the recording are paid as spot; replicas that a policy moved there need proof that spot was
    // available.
    const available = share ?? (this.facts.term === 'spot' ? 1 : 0);
    if (spot === null) return onDemand;
    return available * spot + (1 - available) * (onDemand ?? spot);
  }
}

const machineOf = ({ sku, gpuModel, service }: WorkloadView): Machine => ({
  sku,
  gpuModel,
  capacityPerReplica: service?.capacityPerReplica ?? null,
});

const NOTHING: readonly TakenMeasurement[] = [];
