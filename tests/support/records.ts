/** Small makers of usage records for tests. Never random: what a test needs it says. */
import { parseDecimal } from '../../src/core/decimal.js';
import { GPU_PARTS, type Charge, type UsageRecord } from '../../src/core/usage.js';

export const HOUR = 3_600_000;
/** 2026-10-05T00:00:00Z, a Monday. */
export const MONDAY = 1_791_158_400_000;

/** The place of a sample of which the fleet knows nothing. */
export const NOWHERE = { connection: null, target: null, provider: null, sku: null, region: null, term: null };

export function metered(id: string, over: Partial<UsageRecord> = {}): UsageRecord {
  return {
    id,
    provider: 'AWS',
    account: 'a1',
    subAccount: null,
    resource: null,
    namespace: null,
    service: null,
    sku: 'p5.48xlarge',
    region: 'us-east-1',
    term: 'on-demand',
    gpuModel: null,
    tags: null,
    start: MONDAY,
    end: MONDAY + HOUR,
    gpuParts: 8 * GPU_PARTS,
    storageMib: null,
    networkBytes: null,
    charge: null,
    ...over,
  };
}

export function billed(
  id: string,
  amount: string,
  over: Partial<UsageRecord> = {},
  charge: Partial<Charge> = {},
): UsageRecord {
  const billedAmount = parseDecimal(amount);
  if (billedAmount === null) throw new Error(`not an amount: ${amount}`);
  return metered(id, {
    gpuParts: null,
    ...over,
    charge: {
      category: 'Usage',
      currency: 'USD',
      billed: billedAmount,
      effective: null,
      list: null,
      periodStart: Date.UTC(2026, 9, 1),
      periodEnd: Date.UTC(2026, 10, 1),
      ...charge,
    },
  });
}
