import { describe, expect, it } from 'vitest';
import { FxTable } from '../../src/core/price/fx.js';
import { NO_PRICES, applyPriceEvents, type PriceHistory } from '../../src/core/price/price-book.js';
import { format as aws } from '../../src/formats/aws-price-history.js';
import { format as table } from '../../src/formats/cloud-gpu-table.js';
import { format as gcp } from '../../src/formats/gcp-prices.js';
import { cheapestOnDemand, place, singleCloud } from '../../src/planning/placement/placement.js';
import type { Market, Workload } from '../../src/planning/placement/workload.js';
import { pricesOfFile } from '../unit/formats/reading.js';

const lists = [
  [aws, 'aws_gpu_ondemand_us-east-1_2022-06_2026-07.csv'],
  [gcp, 'gcp_gpu_instances_2026-07-30.csv'],
  [table, 'cloud-gpus_2025-03-07.csv'],
] as const;

async function market(): Promise<Market> {
  let history: PriceHistory = NO_PRICES;
  for (const [format, file] of lists)
    history = applyPriceEvents(history, (await pricesOfFile(format, `price-lists/${file}`)).events);
  return { history, fx: new FxTable('USD', []), currency: 'USD', at: Date.UTC(2026, 7, 1) };
}

const base: Workload = {
  kind: 'training',
  memoryGibPerGpu: 60,
  gpus: 8,
  hours: 100,
  spotShareMax: 0,
  restOfTermUsed: false,
};

describe('placement over the bundled price lists', () => {
  it('costs at most what the opponents do, and has a reason for every price that lost', async () => {
    const world = await market();
    const providers = [...new Set(world.history.prices.map(({ provider }) => provider))];
    const workloads: Workload[] = [
      { ...base, gpusPerUnitMin: 8 },
      base,
      { ...base, spotShareMax: 1 },
      { ...base, kind: 'inference', gpus: 11, spotShareMax: 0.5 },
      { ...base, gpus: 3, memoryGibPerGpu: 14 },
    ];
    for (const workload of workloads) {
      const { best, options } = place(workload, world);
      expect(best).not.toBeNull();
      expect(options.length).toBeGreaterThan(100);
      expect(options.filter(({ losses }) => losses.length === 0).length).toBeLessThanOrEqual(1);
      const rivals = [
        cheapestOnDemand(workload, world),
        ...providers.map((provider) => singleCloud(provider, workload, world)),
      ];
      expect(rivals.some((rival) => rival !== null)).toBe(true);
      for (const rival of rivals) if (rival !== null) expect(rival.cost.nanos >= best!.cost.nanos).toBe(true);
    }
  });

  /**
   * The table of docs/decisions-quality/placement.md: best, cheapest on-demand, AWS alone, Google Cloud alone, in
   * dollars.
   */
  it.each<readonly [string, Partial<Workload>, readonly (string | null)[]]>([
    ['training on instances of 8', { gpusPerUnitMin: 8 }, ['440.00', '440.00', '2744.70', '3599.94']],
    [
      'the same on two clouds',
      { gpusPerUnitMin: 8, providers: ['AWS', 'Google Cloud'] },
      ['2744.70', '2744.70', '2744.70', '3599.94'],
    ],
    [
      'the same, spot tolerated',
      { gpusPerUnitMin: 8, providers: ['AWS', 'Google Cloud'], spotShareMax: 1 },
      ['1439.86', '2744.70', '2744.70', '1439.86'],
    ],
    [
      'inference on 11, half of it on spot',
      { kind: 'inference', gpus: 11, providers: ['AWS', 'Google Cloud'], spotShareMax: 0.5 },
      ['2917.78', '3699.43', '3699.43', '3599.87'],
    ],
  ])('%s', async (_, asked, costs) => {
    const world = await market();
    const workload = { ...base, ...asked };
    const plans = [
      place(workload, world).best,
      cheapestOnDemand(workload, world),
      singleCloud('AWS', workload, world),
      singleCloud('Google Cloud', workload, world),
    ];
    expect(plans.map((plan) => (plan === null ? null : (Number(plan.cost.nanos) / 1e9).toFixed(2)))).toEqual(costs);
  });
});
