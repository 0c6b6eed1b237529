/**
 * The fake cloud's API, as a provider's connection: the cloud's own truth, through the faults of its plan.
 *
 * A failed call has sent nothing; a lost answer is reported as unknown, whether or not the request arrived. Every fault
 * follows from the seed and from how many calls came before, or from the token and how often it was sent.
 */
import type { SpotReading } from '../../core/price/spot-reading.js';
import { denied, unavailable } from '../../core/errors.js';
import type { Effect, FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import type { EffectOutcome, ProviderConnection } from '../../core/ports.js';
import type { PriceEvent } from '../../core/price/price.js';
import type { RecordBatch, UsageRecord } from '../../core/usage.js';
import type { FakeCloud } from './cloud.js';
import { chance } from './faults.js';
import { billOf, usageOf, type Metered } from './metering.js';

const MOST_RECORDS = 1000;
/** Share of the targets that a reading with gaps lacks. */
const LACKING_RATIO = 0.3;

export class FakeConnection implements ProviderConnection {
  private calls = 0;
  private readonly sendings = new Map<string, number>();
  private losing: 'answer' | 'request' | null = null;

  constructor(
    private readonly cloud: FakeCloud,
    readonly name: string,
    readonly canAct: boolean,
  ) {}

  get account(): string {
    return this.cloud.account;
  }

  /** The next `apply` has no answer; with `arrives` the effect is taken all the same. For tests. */
  loseNextAnswer(arrives: boolean): void {
    this.losing = arrives ? 'answer' : 'request';
  }

  async *prices(since: number): AsyncIterable<readonly PriceEvent[]> {
    this.call('prices');
    yield* this.cloud.catalogue.prices(since, this.cloud.now());
  }

  async *usage(from: number, to: number): AsyncIterable<RecordBatch> {
    const call = this.call('usage');
    const { seed, faults } = this.cloud;
    const records: UsageRecord[] = [];
    for (const record of usageOf(this.metered(), from, to)) {
      if (this.isLate(record)) continue;
      records.push(record);
      if (faults.repeatedUsageRatio > 0 && chance(seed, 'repeated', call, record.id) < faults.repeatedUsageRatio)
        records.push(record);
    }
    if (faults.reordersUsage) shuffle(records, seed, call);
    yield* batchesOf(records);
  }

  async *bill(from: number, to: number): AsyncIterable<RecordBatch> {
    this.call('bill');
    const { catalogue, billDiscountPercent, billDelaySeconds } = this.cloud;
    yield* batchesOf([
      ...billOf(this.metered(), catalogue, billDiscountPercent, from, to, this.cloud.now() - billDelaySeconds * 1000),
    ]);
  }

  async *spotHistory(since: number): AsyncIterable<readonly SpotReading[]> {
    this.call('spot history');
    yield* this.cloud.catalogue.spotHistory(since, this.cloud.now());
  }

  async offers(): ReturnType<NonNullable<ProviderConnection['offers']>> {
    this.call('offers');
    return this.cloud.catalogue.offers(this.cloud.now());
  }

  async fleet(): Promise<FleetReading> {
    const call = this.call('fleet');
    const { seed, faults } = this.cloud;
    const at = this.cloud.now();
    const targets = this.cloud.targets();
    const isPartial = chance(seed, 'partial', call) < faults.partialFleetRatio;
    const isFlapping = chance(seed, 'flapping', call) < faults.flappingFleetRatio;
    if (!isPartial && !isFlapping) return { at, targets, complete: true, problems: [] };
    const seen = targets.filter(({ target }) => chance(seed, 'lacking', call, target) >= LACKING_RATIO);
    return {
      at,
      targets: seen,
      complete: !isPartial,
      problems: isPartial ? ['some pages of the targets could not be read'] : [],
    };
  }

  async target(target: string): Promise<FleetTarget | null> {
    this.call('target');
    return this.cloud.target(target);
  }

  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    if (!this.canAct) throw denied('this connection to the fake cloud is read-only: set BURSAR_FAKE_ACT');
    this.call('apply');
    const { seed, faults } = this.cloud;
    const sending = (this.sendings.get(token) ?? 0) + 1;
    this.sendings.set(token, sending);
    const happens = (what: string, ratio: number): boolean => chance(seed, what, token, sending) < ratio;
    const { losing } = this;
    this.losing = null;
    if (losing === 'request' || happens('request lost', faults.losesRequestRatio))
      return { kind: 'unknown', detail: 'the fake cloud did not answer' };
    const outcome = this.cloud.take(effect, token, before, {
      refuse: happens('refuses', faults.refusesRatio),
      delayMs: happens('delays', faults.delaysRatio)
        ? Math.ceil(chance(seed, 'delayed for', token) * faults.mostDelaySeconds) * 1000
        : 0,
    });
    return losing === 'answer' || happens('answer lost', faults.losesAnswerRatio)
      ? { kind: 'unknown', detail: 'the fake cloud did not answer' }
      : outcome;
  }

  async outcome(_effect: Effect, token: string): Promise<EffectOutcome> {
    this.call('outcome');
    return this.cloud.outcome(token);
  }

  async close(): Promise<void> {}

  /** The number of this call. @throws Failure unavailable in an outage, and if it is throttled. */
  private call(what: string): number {
    const call = ++this.calls;
    const { seed, faults } = this.cloud;
    const now = this.cloud.now();
    if (faults.outages.some(({ from, to }) => from <= now && now < to)) throw unavailable('the fake cloud is away');
    if (chance(seed, 'throttle', what, call) < faults.throttlesRatio)
      throw unavailable('the fake cloud throttles: too many requests');
    return call;
  }

  private metered(): Metered {
    const { cloud } = this;
    return {
      account: cloud.account,
      runs: cloud.runs(),
      commitments: cloud.bought(),
      meterSeconds: cloud.meterSeconds,
      now: cloud.now(),
    };
  }

  private isLate({ id, end }: UsageRecord): boolean {
    const { seed, faults } = this.cloud;
    if (faults.lateUsageRatio === 0 || chance(seed, 'late', id) >= faults.lateUsageRatio) return false;
    return this.cloud.now() < end + Math.ceil(chance(seed, 'late by', id) * faults.mostLateSeconds) * 1000;
  }
}

function* batchesOf(records: readonly UsageRecord[]): Generator<RecordBatch> {
  for (let at = 0; at < records.length; at += MOST_RECORDS)
    yield { records: records.slice(at, at + MOST_RECORDS), rejects: [] };
}

/** Fisher and Yates' shuffle. */
function shuffle(records: UsageRecord[], seed: number, call: number): void {
  for (let at = records.length - 1; at > 0; at--) {
    const other = Math.floor(chance(seed, 'shuffle', call, at) * (at + 1));
    const [here, there] = [records[at], records[other]];
    if (here === undefined || there === undefined) continue;
    records[at] = there;
    records[other] = here;
  }
}
