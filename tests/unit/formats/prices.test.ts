/** Price lists on the real files: what they say of a few known instances, worked out by hand. */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { costOf, formatMoney } from '../../../src/core/money.js';
import type { PriceFormat } from '../../../src/core/ports.js';
import type { Price } from '../../../src/core/price/price.js';
import { GPU_PARTS, PART_MS_PER_GPU_SECOND } from '../../../src/core/usage.js';
import { format as alibaba } from '../../../src/formats/alibaba-prices.js';
import { format as history } from '../../../src/formats/aws-price-history.js';
import { format as reserved } from '../../../src/formats/aws-reserved.js';
import { format as awsSpot } from '../../../src/formats/aws-spot-history.js';
import { format as azureSpot } from '../../../src/formats/azure-spot-history.js';
import { format as own } from '../../../src/formats/bursar-prices.js';
import { format as table } from '../../../src/formats/cloud-gpu-table.js';
import { format as gcp } from '../../../src/formats/gcp-prices.js';
import { openBytes, openFile } from '../../../src/formats/reading/input.js';
import { fixture, pricesOf, pricesOfFile } from './reading.js';

/** Cost of the whole instance for an hour. */
function anHour(price: Price | undefined): string {
  if (price === undefined || price.gpus === null) throw new Error('the price has no GPU count');
  return formatMoney(costOf(BigInt(price.gpus * GPU_PARTS * 3_600_000), PART_MS_PER_GPU_SECOND, price.rate));
}

const find = (prices: readonly Price[], wanted: Partial<Price>): Price | undefined =>
  prices.find((price) => Object.entries(wanted).every(([key, value]) => price[key as keyof Price] === value));

describe('gcp-prices', () => {
  it('gives on-demand, spot and committed prices as the list states them', async () => {
    const { prices, rejects } = await pricesOfFile(gcp, 'price-lists/gcp_gpu_instances_2026-07-30.csv');
    expect(rejects).toEqual([]);
    const one = { sku: 'a2-highgpu-1g', region: 'us-central1' };
    expect(find(prices, { ...one, term: 'on-demand' })).toMatchObject({
      provider: 'Google Cloud',
      gpuModel: 'A100-40GB',
      gpus: 1,
      effectiveFrom: Date.UTC(2026, 6, 30),
      effectiveTo: null,
      incrementSeconds: 1,
      minimumSeconds: 60,
    });
    expect([
      anHour(find(prices, { ...one, term: 'on-demand' })),
      anHour(find(prices, { ...one, term: 'spot' })),
    ]).toEqual(['3.673385', '1.92802']);
    const eighth = find(prices, { sku: 'g4-standard-6', term: 'on-demand' });
    expect(eighth).toMatchObject({ gpus: 0.125, gpuModel: 'RTX-PRO-6000', rate: { quantity: 450n } });
    expect(find(prices, { ...one, term: 'reserved-1y' })).toMatchObject({
      upfront: 'none',
      rate: { quantity: 730n * 3600n },
    });
    expect(find(prices, { sku: 'a3-highgpu-8g' })).toMatchObject({ gpuModel: 'H100', gpus: 8 });
  });

  it('gives the older snapshot its own date', async () => {
    const { prices } = await pricesOfFile(gcp, 'price-lists/gcp_gpu_instances_2024-07-26.csv');
    const spot = find(prices, { sku: 'a2-highgpu-1g', region: 'us-central1', term: 'spot' });
    expect([anHour(spot), spot?.effectiveFrom]).toEqual(['1.469355', Date.UTC(2024, 6, 26)]);
  });
});

describe('aws-price-history', () => {
  it('has the cut of June 2025 and the flap of January 2026', async () => {
    const { events, prices, rejects } = await pricesOfFile(
      history,
      'price-lists/aws_gpu_ondemand_us-east-1_2022-06_2026-07.csv',
    );
    expect([events.length, rejects.length]).toEqual([109, 0]);
    const p5 = prices.filter(({ sku }) => sku === 'p5.48xlarge');
    expect(p5.map((price) => [anHour(price), new Date(price.effectiveFrom).toISOString().slice(0, 10)]).at(-1)).toEqual(
      ['55.04', '2025-06-23'],
    );
    expect(p5.map(anHour)).toEqual(['98.32', '55.04']);
    expect(p5[0]).toMatchObject({
      gpuModel: 'H100',
      gpus: 8,
      minimumSeconds: 60,
      region: 'us-east-1',
      term: 'on-demand',
    });
    const gone = events.filter((event) => event.kind === 'withdrawn');
    expect(gone.map((event) => (event.kind === 'withdrawn' ? event.sku.split('.')[0] : ''))).toEqual(
      Array(6).fill('g7e'),
    );
    const unknown = new Set(prices.filter(({ gpus }) => gpus === null).map(({ sku }) => sku.split('.')[0]));
    expect([...unknown].sort()).toEqual(['dl1', 'g7', 'inf1', 'inf2', 'trn1', 'trn1n']);
  });
});

describe('alibaba-prices', () => {
  it('are CNY, and say so; a price of zero is no price; shared GPUs have no count', async () => {
    const { prices, rejects } = await pricesOfFile(alibaba, 'price-lists/alibaba_gpu_prices_6regions.csv');
    expect([prices.length, rejects.length]).toEqual([69, 1]);
    expect(rejects[0]?.column).toBe('on_demand_price_per_hour');
    expect(prices.every(({ rate, source }) => rate.currency === 'CNY' && source.includes('currency not stated'))).toBe(
      true,
    );
    const models = new Map(
      prices.map(({ sku, gpuModel }) => [sku.replace(/^ecs\.|-.*|\..*$/g, '').replace(/\..*/, ''), gpuModel]),
    );
    expect(Object.fromEntries([...models].sort())).toEqual({
      ebmgn7ix: 'A10',
      gn5: 'P100',
      gn5i: 'P4',
      gn6e: 'V100-32GB',
      gn6i: 'T4',
      gn6v: 'V100-16GB',
      gn7i: 'A10',
      sgn6i: null,
      sgn7i: null,
    });
    expect(find(prices, { sku: 'ecs.sgn7i-vws-m2.xlarge' })?.gpus).toBeNull();
  });
});

describe('cloud-gpu-table', () => {
  it('reads what is sound and rejects what contradicts itself', async () => {
    const { prices, rejects } = await pricesOfFile(table, 'price-lists/cloud-gpus_2025-03-07.csv');
    expect(rejects.map(({ line, column }) => [line, column])).toEqual([
      [219, 'On-demand'],
      [220, 'On-demand'],
      [221, 'On-demand'],
    ]);
    expect(anHour(find(prices, { provider: 'AWS', sku: 'p4d.24xlarge', term: 'on-demand' }))).toBe('32.77');
    expect(anHour(find(prices, { provider: 'AWS', sku: 'p4d.24xlarge', term: 'spot' }))).toBe('9.83');
    expect(find(prices, { provider: 'Microsoft', sku: 'NC24ads A100 v4' })).toMatchObject({
      gpuModel: 'A100-80GB',
      gpus: 1,
      region: null,
      effectiveFrom: Date.UTC(2025, 2, 7),
    });
    const blank = find(prices, { provider: 'Exoscale', sku: 'GPU3080Ti LARGE' });
    expect([blank?.gpus, anHour(blank)]).toEqual([4, '12.56112']);
    const slots = new Map<string, Price[]>();
    for (const price of prices) {
      const slot = `${price.provider}: ${price.sku}, ${price.term}`;
      slots.set(slot, [...(slots.get(slot) ?? []), price]);
    }
    const severalPrices = [...slots]
      .filter(([, each]) => new Set(each.map(({ rate }) => rate.nanos)).size > 1)
      .map(([slot]) => slot);
    expect(severalPrices).toEqual([]);
  });

  it('reads the serverless file, dollar signs and all', async () => {
    const { prices, rejects } = await pricesOfFile(table, 'price-lists/serverless-gpus.csv');
    expect([prices.length, rejects.length]).toEqual([72, 0]);
    expect(new Set(prices.map(({ term }) => term))).toEqual(new Set(['on-demand']));
  });
});

describe('aws-reserved', () => {
  it('has terms and upfront kinds, and keeps convertible offers apart', async () => {
    const { prices, rejects } = await pricesOfFile(reserved, 'price-lists/gpu_reserved_us_regions_2017-11-12.csv');
    expect(rejects).toEqual([]);
    const p3 = { sku: 'p3.2xlarge', region: 'us-east-1' };
    expect(anHour(find(prices, { ...p3, term: 'on-demand' }))).toBe('3.06');
    expect(anHour(find(prices, { ...p3, term: 'reserved-1y', upfront: 'none' }))).toBe('2.088');
    expect(anHour(find(prices, { ...p3, term: 'reserved-3y', upfront: 'all' }))).toBe('1.159');
    expect(anHour(find(prices, { ...p3, sku: 'p3.2xlarge (convertible)', term: 'reserved-1y', upfront: 'all' }))).toBe(
      '2.243',
    );
    expect(prices.filter((price) => price.sku === 'p3.2xlarge' && price.term === 'on-demand')).toHaveLength(1);
  });

  it('reads the other columns of an instance without GPUs', async () => {
    const { prices } = await pricesOfFile(reserved, 'price-lists/x2iedn32xl_reserved_us_regions.csv');
    expect(prices).toHaveLength(13);
    expect(prices.every(({ gpus }) => gpus === null)).toBe(true);
  });
});

describe('spot histories', () => {
  it('are intervals that meet, by zone', async () => {
    const { prices, rejects } = await pricesOfFile(awsSpot, 'price-lists/spot_us-east-1.csv');
    expect(rejects).toEqual([]);
    const zone = prices.filter(({ region }) => region === 'us-east-1f');
    expect(zone[0]).toMatchObject({
      sku: 'p3.2xlarge',
      term: 'spot',
      gpuModel: 'V100-16GB',
      gpus: 1,
      effectiveFrom: Date.UTC(2019, 11, 22, 7, 9, 1),
    });
    expect(anHour(zone[0])).toBe('0.918');
    zone.slice(1).forEach((price, index) => {
      expect(price.effectiveFrom).toBe(zone[index]?.effectiveTo);
      expect(price.rate.nanos).not.toBe(zone[index]?.rate.nanos);
    });
    expect(zone.at(-1)?.effectiveTo).not.toBeNull();
  });

  it('end where an instance is not offered, and a day after the last price', async () => {
    const text =
      'Date,NC6,NC24s v3\n2/24/2020,$0.12,\n2/25/2020,$0.12,$2.4\n2/26/2020,,$2.5\n2/27/2020,$0.13,$2.5\n2/28/2020,free,$1\n';
    const { prices, rejects } = await pricesOf(azureSpot, await openBytes('us_east.csv', Buffer.from(text)));
    const day = (date: number): number => Date.UTC(2020, 1, date);
    expect(prices.map(({ sku, effectiveFrom, effectiveTo }) => [sku, effectiveFrom, effectiveTo])).toEqual([
      ['NC6', day(24), day(26)],
      ['NC6', day(27), day(28)],
      ['NC24s v3', day(25), day(26)],
      ['NC24s v3', day(26), day(28)],
    ]);
    expect(prices[3]).toMatchObject({ region: 'eastus', gpuModel: 'V100-16GB', gpus: 4, provider: 'Microsoft' });
    expect(rejects).toMatchObject([{ line: 6, column: 'NC6' }]);
    expect((await pricesOfFile(azureSpot, 'price-lists/us_east.csv')).rejects).toEqual([]);
  });
});

describe('bursar-prices', () => {
  const entry = {
    provider: 'matpool',
    sku: 'rtx',
    region: 'cn-1',
    term: 'reserved-3y',
    upfront: 'partial',
    gpuModel: 'NVIDIA A100-SXM4-80GB',
    gpus: '2',
    price: '10',
    currency: 'CNY',
    per: 'instance-hour',
    effectiveFrom: '2026-01-01',
    effectiveTo: '2026-07-01',
    incrementSeconds: '3600',
    minimumSeconds: '0',
    source: 'offer 7',
  };
  const expected = {
    provider: 'Matpool',
    sku: 'rtx',
    region: 'cn-1',
    term: 'reserved-3y',
    upfront: 'partial',
    component: 'gpu',
    gpuModel: 'A100-80GB',
    gpus: 2,
    rate: { nanos: 10_000_000_000n, currency: 'CNY', quantity: 7200n, unit: 'gpu-second' },
    effectiveFrom: Date.UTC(2026, 0, 1),
    effectiveTo: Date.UTC(2026, 6, 1),
    incrementSeconds: 3600,
    minimumSeconds: 0,
    source: 'offer 7',
  };

  it('read the same from JSON and CSV', async () => {
    const csv = `${Object.keys(entry).join(',')}\n${Object.values(entry).join(',')}\n`;
    for (const text of [JSON.stringify({ prices: [entry] }), JSON.stringify([entry]), csv]) {
      const input = await openBytes('mine', Buffer.from(text));
      expect(own.recognises(input)).toBe(true);
      expect(await pricesOf(own, input)).toMatchObject({ prices: [expected], rejects: [] });
    }
  });

  it('price storage, network and single GPUs, and withdraw', async () => {
    const base = { provider: 'AWS', currency: 'USD', effectiveFrom: '2026-01-01' };
    const { events, rejects } = await pricesOf(
      own,
      await openBytes(
        'mine.json',
        Buffer.from(
          JSON.stringify([
            { ...base, sku: '*', component: 'storage', price: 0.08, per: 'gib-month' },
            { ...base, sku: '*', component: 'network', price: '0.09', per: 'gib' },
            { ...base, sku: 'h100', price: '2.49', per: 'gpu-hour' },
            { ...base, sku: 'h100', event: 'withdrawn' },
            { ...base, sku: 'x', price: '1' },
          ]),
        ),
      ),
    );
    expect(rejects).toEqual([]);
    expect(events).toMatchObject([
      { price: { rate: { nanos: 80_000_000n, quantity: 2_628_000n, unit: 'gib-second' }, gpus: null } },
      { price: { rate: { unit: 'gib', quantity: 1n } } },
      { price: { gpus: 1, rate: { nanos: 2_490_000_000n, quantity: 3600n } } },
      { kind: 'withdrawn', at: Date.UTC(2026, 0, 1) },
      { price: { gpus: null } },
    ]);
  });

  it('name every problem of a price', async () => {
    const { rejects } = await pricesOf(
      own,
      await openBytes(
        'mine.json',
        Buffer.from(
          JSON.stringify([
            {
              sku: 'x',
              price: '0',
              currency: 'usd',
              per: 'week',
              effectiveFrom: 'now',
              term: 'x',
              gpu: 1,
              incrementSeconds: 0,
            },
          ]),
        ),
      ),
    );
    expect(rejects[0]?.reason.split('; ').map((problem) => problem.split(':')[0])).toEqual([
      'gpu',
      'provider',
      'effectiveFrom',
      'per',
      'price',
      'currency',
      'term',
      'incrementSeconds',
    ]);
  });
});

describe('recognition', () => {
  const folder = new URL('../../../src/formats/', import.meta.url);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.slice(0, -3));

  it('is by exactly one format for every file', async () => {
    const formats = await Promise.all(
      names.map(async (name) => ((await import(new URL(`${name}.ts`, folder).href)) as { format: PriceFormat }).format),
    );
    expect(formats.map(({ name }) => name)).toEqual(names);
    const files = ['focus-sample', 'bills-native', 'bills-made', 'price-lists', 'openb-pods'].flatMap((each) =>
      readdirSync(fixture(each))
        .filter((name) => !name.endsWith('.md'))
        .map((name) => `${each}/${name}`),
    );
    expect(files.length).toBeGreaterThan(14);
    for (const file of files) {
      const input = await openFile(fixture(file));
      expect(
        formats.filter((format) => format.recognises(input)),
        file,
      ).toHaveLength(1);
      await input.close();
    }
    const prices = await openBytes(
      'p.json',
      Buffer.from('[{"provider":"AWS","sku":"x","price":1,"effectiveFrom":"2026-01-01"}]'),
    );
    expect(formats.filter((format) => format.recognises(prices)).map(({ name }) => name)).toEqual(['bursar-prices']);
    for (const text of ['', 'a,b\n1,2\n', '{}', '{"hello": 1}', '# PROVENANCE']) {
      const input = await openBytes('x', Buffer.from(text));
      expect(
        formats.filter((format) => format.recognises(input)).map(({ name }) => name),
        text,
      ).toEqual([]);
    }
  });
});

describe('a number of GPUs that is none', () => {
  const lists: readonly (readonly [string, PriceFormat, string, (gpus: string) => string])[] = [
    [
      'alibaba-prices',
      alibaba,
      'region,instance_type,gpu,on_demand_price_per_hour,spot_price_per_hour',
      (gpus) => `cn-beijing,ecs.gn7i-c8g1.2xlarge,${gpus},10.5,3.1`,
    ],
    [
      'gcp-prices',
      gcp,
      'snapshot,instance_type,accelerator,region,hour,hour_spot,month_1y,month_3y',
      (gpus) => `2026-07-30,a2-highgpu-1g,nvidia-tesla-a100=${gpus},us-central1,3.67,1.1,,`,
    ],
    [
      'cloud-gpu-table',
      table,
      'Cloud,GPU Type,GPUs,On-demand,Per-GPU,Spot,Name,vCPUs,RAM',
      (gpus) => `AWS,A100,${gpus},32.77,,9.83,p4d.24xlarge,96,1152`,
    ],
  ];
  it.each(lists)('in %s is a reject, and the other rows are prices', async (name, format, header, row) => {
    for (const gpus of ['x', '0', '-1', '1e309', '0.0001', '1001']) {
      const text = `${header}\n${row('1')}\n${row(gpus)}\n`;
      const { prices, rejects } = await pricesOf(format, await openBytes(`${name}.csv`, Buffer.from(text)));
      expect(prices.length, gpus).toBeGreaterThan(0);
      expect(rejects.length, gpus).toBe(1);
    }
  });
});
