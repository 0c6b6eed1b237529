/**
 * The catalogue of the fake cloud: kinds of machines, their prices over time, the availability of spot, and
 * commitments.
 *
 * The prices are made up, of the size that clouds asked in 2025; they follow from the seed alone, so that any instant
 * can be asked for in any order. On-demand prices change every quarter, spot prices every six hours, both on whole
 * hours: spot wanders slowly within a band below the list and comes back, a few per cent at a time, as AWS' does
 * (docs/decisions-quality/anomaly.md: nearly all moves are of at most 5 %).
 */
import { rateOf } from '../../core/money.js';
import type { CommitmentOffer } from '../../core/price/commitment-offer.js';
import type { SpotReading } from '../../core/price/spot-reading.js';
import type { Price, PriceEvent } from '../../core/price/price.js';
import { DAY_MS, HOUR_MS } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import { chance } from './faults.js';

export const PROVIDER = 'Fake Cloud';
export const CURRENCY = 'USD';
export const REGIONS = ['fake-east', 'fake-west'] as const;

export interface MachineKind {
  readonly sku: string;
  readonly gpuModel: string;
  readonly gpus: number;
  /** The on-demand price of the first quarter in the first region, for an hour of the whole machine. */
  readonly hourlyNanos: bigint;
}

const DOLLAR = 1_000_000_000n;

export const KINDS: readonly MachineKind[] = [
  { sku: 'fake.h100x8', gpuModel: 'H100', gpus: 8, hourlyNanos: 32n * DOLLAR },
  { sku: 'fake.a100x8', gpuModel: 'A100-80GB', gpus: 8, hourlyNanos: 16n * DOLLAR },
  { sku: 'fake.l40sx4', gpuModel: 'L40S', gpus: 4, hourlyNanos: 6n * DOLLAR },
  { sku: 'fake.t4x1', gpuModel: 'T4', gpus: 1, hourlyNanos: DOLLAR / 2n },
];

const QUARTER_MS = 90 * DAY_MS;
const SPOT_STEP_MS = 6 * HOUR_MS;
/** Spot moves on a straight line from one level to the next in so many steps, with a little noise. */
const SPOT_LEVEL_STEPS = 16;
/** In ten-thousandths of the list price. */
const SPOT_BAND = { lowest: 3000, highest: 4200, noise: 40 } as const;
const SPOT_TICK_MS = 600_000;
const MOST_REMEMBERED = 50_000;
const YEAR_HOURS = 8760;
const RESERVED_PERCENT = 60n;

export const kindOf = (sku: string): MachineKind | undefined => KINDS.find((kind) => kind.sku === sku);

export class Catalogue {
  private readonly windows = new Map<string, number[]>();
  /** Nothing changes within an hour: what was asked before is remembered by the hour. */
  private readonly hourly = new Map<string, bigint | null>();

  /** @param from the first instant of which anything is known, epoch milliseconds */
  constructor(
    private readonly seed: number,
    private readonly from: number,
    private readonly spotUpHours: number,
    private readonly spotDownHours: number,
  ) {}

  /** The price of a machine-hour at a time; null: it is not sold under that term. */
  hourlyNanos(sku: string, region: string, term: Term, at: number): bigint | null {
    const key = `${sku}/${region}/${term}/${Math.floor(at / HOUR_MS)}`;
    const known = this.hourly.get(key);
    if (known !== undefined) return known;
    if (this.hourly.size >= MOST_REMEMBERED) this.hourly.clear();
    const nanos = this.priceOfHour(sku, region, term, at);
    this.hourly.set(key, nanos);
    return nanos;
  }

  private priceOfHour(sku: string, region: string, term: Term, at: number): bigint | null {
    const kind = kindOf(sku);
    const place = REGIONS.findIndex((name) => name === region);
    if (kind === undefined || place < 0) return null;
    const quarter = Math.floor(at / QUARTER_MS);
    const list =
      (kind.hourlyNanos *
        BigInt(100 + 10 * place) *
        BigInt(96 + Math.floor(chance(this.seed, 'price', sku, quarter) * 5))) /
      10_000n;
    if (term === 'on-demand') return list;
    if (term === 'reserved-1y') return (list * RESERVED_PERCENT) / 100n;
    if (term !== 'spot') return null;
    return (list * BigInt(this.spotShare(sku, region, Math.floor(at / SPOT_STEP_MS)))) / 10_000n;
  }

  /** The share of spot in the list price, in ten-thousandths, at a step counted from the epoch. */
  private spotShare(sku: string, region: string, step: number): number {
    const { lowest, highest, noise } = SPOT_BAND;
    const stretch = Math.floor(step / SPOT_LEVEL_STEPS);
    const level = (no: number): number =>
      lowest + (highest - lowest) * chance(this.seed, 'spot level', sku, region, no);
    const along = (step - stretch * SPOT_LEVEL_STEPS) / SPOT_LEVEL_STEPS;
    return Math.round(
      level(stretch) * (1 - along) +
        level(stretch + 1) * along +
        noise * (chance(this.seed, 'spot noise', sku, region, step) - 0.5),
    );
  }

  /** Every price that came to hold within [since, until], and those that held at the catalogue's first instant. */
  *prices(since: number, until: number): Generator<PriceEvent[]> {
    for (const kind of KINDS) {
      const events: PriceEvent[] = [];
      for (const region of REGIONS) {
        for (const [term, step] of [
          ['on-demand', QUARTER_MS],
          ['reserved-1y', QUARTER_MS],
          ['spot', SPOT_STEP_MS],
        ] as const) {
          for (let at = Math.floor(this.from / step) * step; at <= until; at += step) {
            if (at >= since || (at <= this.from && since <= this.from))
              events.push({ kind: 'price', price: this.priceOf(kind, region, term, at) });
          }
        }
      }
      yield events;
    }
  }

  private priceOf(kind: MachineKind, region: string, term: Term, effectiveFrom: number): Price {
    const { sku, gpuModel, gpus } = kind;
    const nanos = this.hourlyNanos(sku, region, term, effectiveFrom) ?? 0n;
    return {
      provider: PROVIDER,
      sku,
      region,
      term,
      upfront: 'none',
      component: 'gpu',
      gpuModel,
      gpus,
      rate: rateOf({ unscaled: nanos, scale: 9 }, CURRENCY, BigInt(gpus) * 3600n, 'gpu-second'),
      effectiveFrom,
      effectiveTo: null,
      incrementSeconds: 1,
      minimumSeconds: 0,
      source: 'fake',
    };
  }

  offers(at: number): CommitmentOffer[] {
    return KINDS.flatMap((kind) =>
      REGIONS.map((region) => ({
        offer: `${kind.sku}/${region}/1y`,
        kind: 'reserved-instance' as const,
        sku: kind.sku,
        region,
        termHours: YEAR_HOURS,
        upfront: 'none' as const,
        upfrontNanos: 0n,
        hourlyNanos: this.hourlyNanos(kind.sku, region, 'reserved-1y', at) ?? 0n,
        currency: CURRENCY,
      })),
    );
  }

  /** Whether spot of a kind is to be had at a place: it is at first, then there and gone by turns of chance lengths. */
  spotIsUp(sku: string, region: string, at: number): boolean {
    return this.changesUntil(sku, region, at).filter((change) => change <= at).length % 2 === 0;
  }

  /** The first instant after `at` when spot of a kind comes or goes at a place. */
  nextSpotChange(sku: string, region: string, at: number): number {
    return this.changesUntil(sku, region, at).find((change) => change > at) ?? Infinity;
  }

  /** Instants of coming and going, on whole seconds, up to the first after `at`. */
  private changesUntil(sku: string, region: string, at: number): readonly number[] {
    const market = `${sku}/${region}`;
    const changes = this.windows.get(market) ?? [];
    this.windows.set(market, changes);
    while ((changes.at(-1) ?? -Infinity) <= at) {
      const mean = changes.length % 2 === 0 ? this.spotUpHours : this.spotDownHours;
      const hours = -Math.log(1 - chance(this.seed, 'spot', market, changes.length)) * mean;
      changes.push((changes.at(-1) ?? this.from) + Math.max(60, Math.round(hours * 3600)) * 1000);
    }
    return changes;
  }

  /** The availability of spot, every ten minutes within [since, until]. */
  *spotHistory(since: number, until: number): Generator<SpotReading[]> {
    const first = Math.ceil(Math.max(since, this.from) / SPOT_TICK_MS) * SPOT_TICK_MS;
    for (const { sku, gpuModel } of KINDS) {
      for (const region of REGIONS) {
        const readings: SpotReading[] = [];
        const changes = this.changesUntil(sku, region, until);
        let passed = 0;
        for (let at = first; at <= until; at += SPOT_TICK_MS) {
          while ((changes[passed] ?? Infinity) <= at) passed += 1;
          const nanos = this.hourlyNanos(sku, region, 'spot', at);
          readings.push({
            provider: PROVIDER,
            region,
            sku,
            gpuModel,
            at,
            available: passed % 2 === 0,
            price: nanos === null ? null : { nanos, currency: CURRENCY },
          });
        }
        if (readings.length > 0) yield readings;
      }
    }
  }
}
