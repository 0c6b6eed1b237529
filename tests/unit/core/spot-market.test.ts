import { describe, expect, it } from 'vitest';
import { spotMarketAt } from '../../../src/core/policy/spot-market.js';

const market = (region: string | null, gpuModel = 'H100', provider = 'AWS') => ({
  provider,
  region,
  gpuModel,
  from: 0,
  tickSeconds: 60,
  available: [true],
});
const [anywhere, region, zone] = [market(null), market('us-east-1'), market('us-east-1a')];
const place = { provider: 'AWS', gpuModel: 'H100', region: 'us-east-1' };

describe('the recording of spot at a place', () => {
  // One that names no place comes first where they are read in the order of their names.
  for (const markets of [
    [anywhere, region, zone],
    [zone, region, anywhere],
  ])
    it('is that of the zone, then of the region, then one that names no place, in whatever order they stand', () => {
      expect(spotMarketAt(markets, { ...place, zone: 'us-east-1a' })).toBe(zone);
      expect(spotMarketAt(markets, { ...place, zone: 'us-east-1b' })).toBe(region);
      expect(spotMarketAt(markets, place)).toBe(region);
      expect(spotMarketAt(markets, { ...place, region: 'us-west-2' })).toBe(anywhere);
      expect(spotMarketAt(markets, { ...place, region: null })).toBe(anywhere);
    });

  it('is of the same cloud and model, or none', () => {
    const others = [market('us-east-1', 'A100'), market('us-east-1', 'H100', 'Azure')];
    expect(spotMarketAt(others, place)).toBeNull();
    expect(spotMarketAt([region], { ...place, region: 'us-west-2' })).toBeNull();
    expect(spotMarketAt([region], { ...place, region: null })).toBeNull();
    expect(spotMarketAt([region], { ...place, gpuModel: null })).toBeNull();
  });
});
