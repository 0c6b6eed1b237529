/** Which recording of spot counts at a place. */
import type { SpotMarket } from './view.js';

export interface MarketPlace {
  readonly provider: string | null;
  readonly gpuModel: string | null;
  /** Absent: it is not known, or there is none. */
  readonly zone?: string;
  readonly region: string | null;
}

/** The recording of the zone, otherwise of the region, otherwise one of the cloud that names no place; null: none. */
export function spotMarketAt(
  markets: readonly SpotMarket[],
  { provider, gpuModel, zone, region }: MarketPlace,
): SpotMarket | null {
  const ofModel = markets.filter((one) => one.provider === provider && one.gpuModel === gpuModel);
  const at = (place: string | null): SpotMarket | undefined => ofModel.find((one) => one.region === place);
  return (zone === undefined ? undefined : at(zone)) ?? at(region) ?? at(null) ?? null;
}
