/**
 * The wire between the line and the fake cloud: it hears every call that acts, and the cloud at its other end forgets
 * tokens.
 *
 * Real clouds often take the same request twice. So here every sending has an effect of its own: what is sent twice is
 * done twice, and shows. It changes nothing that it carries, but for leaving out prices and spot readings of machines
 * that the company does not use, and for billing as company.ts says: what no meter knows is added.
 */
import type { SpotReading } from '../../src/core/price/spot-reading.js';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { EffectOutcome, ProviderConnection } from '../../src/core/ports.js';
import type { PriceEvent } from '../../src/core/price/price.js';
import { DAY_MS, HOUR_MS } from '../../src/core/time.js';
import type { Charge, RecordBatch, UsageRecord } from '../../src/core/usage.js';
import type { FakeCloud } from '../../src/providers/fake/cloud.js';
import type { FakeConnection } from '../../src/providers/fake/connection.js';
import { connectTo } from '../../src/providers/fake/fake.js';
import { BESIDE_HOURS, ownSkuOf, REGION, SKUS, type Billing } from './company.js';

/** One request that acts, as it was sent. */
export interface Sending {
  readonly token: string;
  /** As the cloud knows it: every sending is another one. */
  readonly sentAs: string;
  readonly effect: Effect;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The target as it really was when the request arrived; null: it was not there. */
  readonly seen: FleetTarget | null;
  /** Null: the call failed, and surely nothing was sent. */
  answer: EffectOutcome | null;
}

/** The cloud could tell every ten minutes, which would be most of what a month of rows holds. */
const SPOT_TICK_MS = 6 * HOUR_MS;

export class Wire implements ProviderConnection {
  readonly name = 'fake';
  readonly canAct = true;
  readonly sendings: Sending[] = [];
  /** By token: how many sendings there were when the cloud last said that it knew none of them. */
  readonly absences = new Map<string, number>();
  /** Records that came after others of their hour had been read, and records that came twice in one answer. */
  readonly usageFaults = { late: 0, repeated: 0 };
  private readonly inner: FakeConnection;
  private readonly metered = new Set<string>();
  private meteredTo = 0;

  /**
   * @param heard called when a request is about to arrive
   * @param read called when a target is read
   */
  constructor(
    private readonly cloud: FakeCloud,
    private readonly heard: (sending: Sending) => Promise<void>,
    private readonly read: () => void,
    private readonly billing: Billing,
  ) {
    this.inner = connectTo(cloud);
  }

  get account(): string {
    return this.cloud.account;
  }

  async *prices(since: number): AsyncIterable<readonly PriceEvent[]> {
    for await (const events of this.inner.prices(since)) {
      const used = events.filter(
        (event) => event.kind === 'price' && SKUS.has(event.price.sku) && event.price.region === REGION,
      );
      if (used.length > 0) yield used;
    }
  }

  async *usage(from: number, to: number): AsyncIterable<RecordBatch> {
    const inThisTick = new Set<string>();
    for await (const batch of this.inner.usage(from, to)) {
      for (const { id, end } of batch.records) {
        if (inThisTick.has(id)) this.usageFaults.repeated += 1;
        if (!this.metered.has(id) && end <= this.meteredTo) this.usageFaults.late += 1;
        inThisTick.add(id);
        this.metered.add(id);
      }
      yield batch;
    }
    this.meteredTo = to;
  }

  async *bill(from: number, to: number): AsyncIterable<RecordBatch> {
    for await (const { records, rejects } of this.inner.bill(from, to))
      yield { records: records.flatMap((record) => this.billed(record)), rejects };
  }

  /** A line of the bill, and beside that of a machine on demand what else is charged for it and the tax on it. */
  private billed(record: UsageRecord): UsageRecord[] {
    const { payer, namesMachines, hasOwnSkus } = this.billing;
    const line = payer === null ? record : { ...record, account: payer, subAccount: record.account };
    const { charge } = line;
    if (charge === null) return [line];
    const hours = hasOwnSkus ? this.underOwnSku(line, charge) : line;
    if (line.term !== 'on-demand') return [hours];
    const beside = { ...line, resource: namesMachines ? line.resource : null, gpuModel: null, gpuParts: null };
    const charged = (cents: bigint, category: Charge['category']): Charge => {
      const amount = { unscaled: cents, scale: 2 };
      return { ...charge, category, billed: amount, effective: amount, list: amount };
    };
    const { what, isToldApart } = BESIDE_HOURS[(line.start / DAY_MS) % BESIDE_HOURS.length] ?? BESIDE_HOURS[0];
    const other = charged(123n, 'Usage');
    return [
      hours,
      {
        ...beside,
        id: `${line.id}/beside`,
        sku: `${what} ${line.sku}`,
        charge: isToldApart ? { ...other, machineHours: false } : other,
      },
      { ...beside, id: `${line.id}/tax`, charge: charged(45n, 'Tax') },
    ];
  }

  private underOwnSku(line: UsageRecord, charge: Charge): UsageRecord {
    return {
      ...line,
      sku: ownSkuOf(line.sku ?? ''),
      resource: line.resource,
      gpuModel: null,
      charge: { ...charge, machineHours: true },
    };
  }

  async *spotHistory(since: number): AsyncIterable<readonly SpotReading[]> {
    for await (const readings of this.inner.spotHistory(since)) {
      const used = readings.filter(
        ({ sku, region, at }) => sku !== null && SKUS.has(sku) && region === REGION && at % SPOT_TICK_MS === 0,
      );
      if (used.length > 0) yield used;
    }
  }

  offers(): ReturnType<FakeConnection['offers']> {
    return this.inner.offers();
  }

  fleet(): ReturnType<FakeConnection['fleet']> {
    return this.inner.fleet();
  }

  target(target: string): Promise<FleetTarget | null> {
    this.read();
    return this.inner.target(target);
  }

  async apply(effect: Effect, token: string, before: FleetTarget | null): Promise<EffectOutcome> {
    const sending: Sending = {
      token,
      sentAs: `${token}#${this.of(token).length + 1}`,
      effect,
      at: this.cloud.now(),
      seen: this.cloud.target(effect.target),
      answer: null,
    };
    await this.heard(sending);
    this.sendings.push(sending);
    sending.answer = await this.inner.apply(effect, sending.sentAs, before);
    return sending.answer;
  }

  async outcome(effect: Effect, token: string): Promise<EffectOutcome> {
    let last: EffectOutcome = { kind: 'absent' };
    for (const { sentAs } of this.of(token)) {
      const outcome = await this.inner.outcome(effect, sentAs);
      if (outcome.kind === 'taken') return outcome;
      last = outcome;
    }
    if (last.kind === 'absent') this.absences.set(token, this.of(token).length);
    return last;
  }

  /** The sendings under a token. */
  of(token: string): Sending[] {
    return this.sendings.filter((one) => one.token === token);
  }

  /** The sendings that took hold, in the order in which they were sent. */
  taken(): Sending[] {
    const applied = new Set(this.cloud.applied().map(({ token }) => token));
    return this.sendings.filter(({ sentAs }) => applied.has(sentAs));
  }
}
