/** Cases of moves between regions with always available spot, and the cheapest place by plain arithmetic. */
export interface ZoneCase {
  /** The first is where the job stands, on spot. Prices in thousandths of a dollar per GPU-hour. */
  readonly places: readonly (readonly [name: string, onDemand: number, spot: number])[];
  readonly perGb: number;
  readonly gb: number;
  readonly hours: number;
  readonly best: string;
}

/** Two GPUs, restarts of half an hour. */
export function zoneCases(count: number): ZoneCase[] {
  return Array.from({ length: count }, (_, n) => {
    const spot = (k: number): number => 400 + ((n * 7919 + k * 6151) % 1500);
    const places = ['us-east-1', 'us-west-2', 'eu-west-1', 'ap-south-1'].map(
      (name, k): readonly [string, number, number] => [name, 4000, spot(k)],
    );
    const [perGb, gb, hours] = [0.01 * (n % 5), 20 * (n % 9), 1 + ((n * 13) % 50)];
    const costs = places.map(([name, , price], k) => ({
      name,
      cost: 2 * hours * price + (k === 0 ? 0 : 1000 * perGb * gb + 0.5 * 2 * price),
    }));
    const best = costs.reduce((least, one) => (one.cost < least.cost ? one : least)).name;
    return { places, perGb, gb, hours, best };
  });
}
