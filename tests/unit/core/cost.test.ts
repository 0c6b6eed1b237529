import { describe, expect, it } from 'vitest';
import {
  billableMs,
  cutsWithin,
  modelCost,
  priceHour,
  quantitiesWithin,
  QUANTITY_SCALE,
  type CostContext,
  type CostLine,
  type PriceKey,
  type UsageSlice,
} from '../../../src/core/cost/cost.js';
import { parseDecimal } from '../../../src/core/decimal.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { formatMoney, rateOf } from '../../../src/core/money.js';
import { compilePeak, NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import { HOUR_MS, parseInstant } from '../../../src/core/time.js';
import { GPU_PARTS, type UsageRecord } from '../../../src/core/usage.js';
import { metered } from '../../support/records.js';
import { gpuPrice } from '../../support/makers.js';

const at = (text: string): number => parseInstant(text) ?? Number.NaN;
const decimal = (text: string) => parseDecimal(text) ?? { unscaled: 0n, scale: 0 };
const usd = (amount: number) => ({ nanos: BigInt(Math.round(amount * 100)) * 10_000_000n, currency: 'USD' });
const perGpuHour = (text: string, gpus = 1n, currency = 'USD') =>
  rateOf(decimal(text), currency, 3600n * gpus, 'gpu-second');

function price(hourly: string, from: string, rest: Partial<Price> = {}): Price {
  return gpuPrice({ rate: perGpuHour(hourly, 8n), effectiveFrom: at(from), source: 'aws-ondemand', ...rest });
}
const p5: PriceKey = { provider: 'AWS', sku: 'p5.48xlarge', gpuModel: null, region: 'us-east-1', term: 'on-demand' };
const context = (prices: Price[], rest: Partial<CostContext> = {}): CostContext => ({
  book: new PriceBook({ prices, withdrawals: [] }),
  peak: NO_PEAK,
  currency: null,
  fx: null,
  ...rest,
});

function record(start: number, end: number, rest: Partial<UsageRecord> = {}): UsageRecord {
  return metered('r', { account: null, resource: 'i-1', start, end, gpuParts: 8 * GPU_PARTS, ...rest });
}
const gpuPartMsOfHours = (gpus: number, hours: number): bigint =>
  BigInt(gpus) * BigInt(GPU_PARTS) * BigInt(hours * HOUR_MS);
/** Cuts, sums and prices the records over [start, end), as the line does for an hour. */
function priced(records: UsageRecord[], start: number, end: number, ctx: CostContext, usage: PriceKey = p5) {
  const bounds = [start, ...cutsWithin(usage, start, end, ctx), end];
  const slices: UsageSlice[] = bounds
    .slice(1)
    .map((bound, index) => quantitiesWithin(records, bounds[index] ?? start, bound));
  return priceHour('research', usage, slices, ctx);
}

describe('the model', () => {
  it('(720 h x (8 x $0.46) + $500 storage) x 1.15 = $3,622.04', () => {
    const gpu = { quantity: gpuPartMsOfHours(8, 720), quantityScale: QUANTITY_SCALE.gpu, rate: perGpuHour('0.46') };
    const { parts, total } = modelCost([gpu, usd(500)], { numerator: 115n, denominator: 100n });
    expect(parts.map(formatMoney)).toEqual(['3047.04', '575.00']);
    expect(formatMoney(total)).toBe('3622.04');
  });

  it('multiplies storage and network by the peak factor too, on lines', () => {
    const prices = [
      price('3.68', '2025-01-01'),
      price('0', '2025-01-01', {
        component: 'storage',
        gpus: null,
        rate: rateOf(decimal('0.36'), 'USD', 3600n, 'gib-second'),
      }),
      price('0', '2025-01-01', { component: 'network', gpus: null, rate: rateOf(decimal('0.09'), 'USD', 1n, 'gib') }),
    ];
    const hour = at('2025-02-01T05:00:00Z');
    const used = record(hour, hour + HOUR_MS, { storageMib: 2048, networkBytes: 3 * 2 ** 30 });
    const peak = compilePeak([{ zone: 'UTC', factor: '1.5' }]);
    const lines = priced([used], hour, hour + HOUR_MS, context(prices, { peak }));
    expect(
      lines.map((line) => [
        line.kind === 'usage' ? formatMoney(line) : line.reason,
        'component' in line ? line.component : '',
      ]),
    ).toEqual([
      ['5.52', 'gpu'],
      ['1.08', 'storage'],
      ['0.405', 'network'],
    ]);
  });

  it('the $12,000 month: $5,040 where spot takes all that the mix leaves, $6,480 where it covers a third of the hours', () => {
    const mixed = modelCost([usd(12_000)], { numerator: 60n, denominator: 100n }).total;
    expect(formatMoney(mixed)).toBe('7200.00');
    const spot = (share: { numerator: bigint; denominator: bigint }) => {
      const denominator = 10n * share.denominator;
      return formatMoney(modelCost([mixed], { numerator: denominator - 3n * share.numerator, denominator }).total);
    };
    expect(spot({ numerator: 1n, denominator: 1n })).toBe('5040.00');
    expect(spot({ numerator: 1n, denominator: 3n })).toBe('6480.00');
  });
});

describe('billing increment and minimum', () => {
  const aws = { incrementSeconds: 1, minimumSeconds: 60 };
  const matpool = { incrementSeconds: 1, minimumSeconds: 0 };
  const hourly = { incrementSeconds: 3600, minimumSeconds: 0 };
  it.each([
    [61_000, aws, 61_000],
    [59_000, aws, 60_000],
    [0, aws, 0],
    [60_001, aws, 61_000],
    [1, aws, 60_000],
    [61_000, matpool, 61_000],
    [59_000, matpool, 59_000],
    [0, matpool, 0],
    [1, matpool, 1000],
    [61_000, hourly, 3_600_000],
    [3_600_001, hourly, 7_200_000],
  ])('%d ms under %j is %d ms', (duration, rule, expected) => expect(billableMs(duration, rule)).toBe(expected));

  it('costs 61 s, 59 s and 0 s of a p5.48xlarge at $55.04: 61, 60 and 0 seconds of it', () => {
    const cost = (seconds: number) =>
      formatMoney(
        modelCost([
          {
            quantity: BigInt(8 * GPU_PARTS * billableMs(seconds * 1000, aws)),
            quantityScale: QUANTITY_SCALE.gpu,
            rate: perGpuHour('55.04', 8n),
          },
        ]).total,
      );
    expect(cost(61)).toBe('0.932622222');
    expect(cost(59)).toBe('0.917333333');
    expect(cost(0)).toBe('0.00');
  });
});

describe('a price change inside an hour', () => {
  const cut = [price('98.320000', '2023-08-08T13:58:38Z'), price('55.040000', '2025-06-23T13:18:30Z')];
  const hour = at('2025-06-23T13:00:00Z');

  it('a p5.48xlarge hour across the cut of June 2025: 1,110 s at $98.32 and 2,490 s at $55.04', () => {
    const [line] = priced([record(hour - HOUR_MS, hour + 5 * HOUR_MS)], hour, hour + HOUR_MS, context(cut));
    expect(line).toMatchObject({
      kind: 'usage',
      team: 'research',
      hour,
      nanos: 68_384_666_667n,
      currency: 'USD',
      quantity: gpuPartMsOfHours(8, 1),
    });
    expect((line as CostLine).basis.map(({ start, source, peak }) => [start, source, peak.numerator])).toEqual([
      [hour, 'aws-ondemand', 1n],
      [at('2025-06-23T13:18:30Z'), 'aws-ondemand', 1n],
    ]);
  });

  it('is cut in the order of time, by prices and by the peak factor alike', () => {
    const peak = compilePeak([
      { from: '13:05', to: '13:10', zone: 'UTC', factor: '2' },
      { from: '13:30', zone: 'UTC', factor: '2' },
    ]);
    const times = ['13:05:00', '13:10:00', '13:18:30', '13:30:00'].map((time) => at(`2025-06-23T${time}Z`));
    expect(cutsWithin(p5, hour, hour + HOUR_MS, context(cut, { peak }))).toEqual(times);
    const flat = context([cut[0] as Price], { peak });
    expect(cutsWithin(p5, hour, hour + HOUR_MS, flat)).toEqual(times.filter((_, n) => n !== 2));
  });

  it('needs one sum where nothing changes, and refuses a sum over a change', () => {
    expect(cutsWithin(p5, hour - HOUR_MS, hour, context(cut))).toEqual([]);
    expect(cutsWithin(p5, hour, hour + HOUR_MS, context(cut))).toEqual([at('2025-06-23T13:18:30Z')]);
    const whole = quantitiesWithin([record(hour, hour + HOUR_MS)], hour, hour + HOUR_MS);
    expect(() => priceHour('research', p5, [whole], context(cut))).toThrow('between two price changes');
    const peak = compilePeak([{ from: '13:30', zone: 'UTC', factor: '2' }]);
    expect(() => priceHour('research', p5, [whole], context([cut[0] as Price], { peak }))).toThrow('peak factor');
  });

  it('gives the same nanos whether a price is restated inside the hour or not', () => {
    const restated = [cut[1] as Price, price('55.040000', '2025-07-01T10:20:30Z', { source: 'again' })];
    const later = at('2025-07-01T10:00:00Z');
    const used = [record(later + 1234, later + HOUR_MS, { gpuParts: 3333 })];
    const nanos = (ctx: CostContext) => (priced(used, later, later + HOUR_MS, ctx)[0] as CostLine).nanos;
    expect(nanos(context(restated))).toBe(nanos(context([cut[1] as Price])));
  });

  it('prices the part after the first price, and keeps the part before it as unpriced', () => {
    const start = at('2023-08-08T13:00:00Z');
    const lines = priced([record(start, start + HOUR_MS)], start, start + HOUR_MS, context(cut));
    expect(lines).toMatchObject([
      { kind: 'usage', quantity: 56_000n * 82_000n },
      { kind: 'unpriced', reason: 'before-first-price', quantity: 56_000n * 3_518_000n },
    ]);
  });
});

describe('unknown is never zero', () => {
  const hour = at('2025-02-01');
  it('names the reason and keeps the quantity', () => {
    const unknown = { ...p5, sku: 'p9.huge' };
    expect(
      priced([record(hour, hour + HOUR_MS)], hour, hour + HOUR_MS, context([price('1', '2025-01-01')]), unknown),
    ).toMatchObject([{ kind: 'unpriced', component: 'gpu', reason: 'unknown-sku', quantity: gpuPartMsOfHours(8, 1) }]);
  });
  it('tells a record without quantities from an idle one', () => {
    const ctx = context([price('1', '2025-01-01')]);
    expect(priced([record(hour, hour + HOUR_MS, { gpuParts: null })], hour, hour + HOUR_MS, ctx)).toMatchObject([
      { kind: 'unpriced', reason: 'quantity-unknown', quantity: null },
    ]);
    expect(priced([record(hour, hour + HOUR_MS, { gpuParts: 0 })], hour, hour + HOUR_MS, ctx)).toEqual([]);
  });
});

describe('shares of a GPU', () => {
  it('whole, milli-GPU and MIG slices of one GPU cost what the GPU costs', () => {
    const hour = at('2025-02-01');
    const cost = (gpuParts: number[]) =>
      (
        priced(
          gpuParts.map((parts) => record(hour, hour + HOUR_MS, { gpuParts: parts })),
          hour,
          hour + HOUR_MS,
          context([price('28', '2025-01-01')]),
        )[0] as CostLine
      ).nanos;
    const gpu = cost([GPU_PARTS]);
    expect(gpu).toBe(3_500_000_000n);
    expect(cost([460 * 7, 540 * 7])).toBe(gpu);
    expect(cost([1000, 2000, 4000])).toBe(gpu);
    expect(cost([1750, 1750, 1750, 1750])).toBe(gpu);
    expect(cost([1000])).toBe(500_000_000n);
  });
});

describe('currencies', () => {
  const fx = new FxTable('USD', [
    { day: '2025-01-10', currency: 'CNY', perBase: decimal('7.30') },
    { day: '2025-02-01', currency: 'CNY', perBase: decimal('7.20') },
    { day: '2025-01-10', currency: 'EUR', perBase: decimal('0.96') },
  ]);
  const alibaba: PriceKey = { ...p5, provider: 'Alibaba Cloud', sku: 'ecs.gn7i-c16g1.4xlarge', region: 'cn-beijing' };
  const cny = price('1', '2024-10-16', {
    provider: 'Alibaba Cloud',
    sku: alibaba.sku ?? '',
    region: 'cn-beijing',
    gpus: 1,
    rate: perGpuHour('19.127', 1n, 'CNY'),
  });
  const line = (day: string, currency: string | null) => {
    const hour = at(day);
    return priced(
      [record(hour, hour + HOUR_MS, { gpuParts: GPU_PARTS })],
      hour,
      hour + HOUR_MS,
      context([cny], { fx, currency }),
      alibaba,
    )[0];
  };

  it('stays in the price currency, or converts by the latest rate not after the day, rounding once', () => {
    expect(line('2025-02-05', null)).toMatchObject({ nanos: 19_127_000_000n, currency: 'CNY', basis: [{ fx: null }] });
    expect(line('2025-01-31', 'USD')).toMatchObject({
      nanos: 2_620_136_986n,
      currency: 'USD',
      basis: [{ fx: { from: 'CNY', to: 'USD', day: '2025-01-10' } }],
    });
    expect(line('2025-02-01', 'USD')).toMatchObject({ nanos: 2_656_527_778n, basis: [{ fx: { day: '2025-02-01' } }] });
    expect(line('2025-02-01', 'EUR')).toMatchObject({
      nanos: 2_550_266_667n,
      currency: 'EUR',
      basis: [{ fx: { day: '2025-01-10' } }],
    });
  });

  it('is unpriced where no rate is known', () => {
    expect(line('2025-01-09', 'USD')).toMatchObject({ kind: 'unpriced', reason: 'no-fx-rate' });
    expect(line('2025-02-01', 'GBP')).toMatchObject({ kind: 'unpriced', reason: 'no-fx-rate' });
  });

  it('names every bad rate', () => {
    const bad = [
      { day: 'x', currency: 'euro', perBase: decimal('0') },
      { day: '2025-01-01', currency: 'USD', perBase: decimal('1') },
    ];
    expect(() => new FxTable('USD', bad)).toThrow(
      expect.objectContaining({
        problems: [
          { path: 'quotes/0/day' },
          { path: 'quotes/0/currency' },
          { path: 'quotes/0/perBase' },
          { path: 'quotes/1/currency' },
        ].map((p) => expect.objectContaining(p)),
      }),
    );
  });
});

describe('network bytes', () => {
  it('are spread evenly over the record, each byte in one piece', () => {
    const used = record(0, 7, { networkBytes: 10, gpuParts: null });
    const bytes = [0, 1, 2, 3, 4, 5, 6].map((ms) => quantitiesWithin([used], ms, ms + 1).networkBytes);
    expect(bytes.reduce((sum, piece) => (sum ?? 0n) + (piece ?? 0n), 0n)).toBe(10n);
    expect(quantitiesWithin([record(5, 5, { networkBytes: 10, gpuParts: null })], 0, 10).networkBytes).toBe(10n);
  });
});
