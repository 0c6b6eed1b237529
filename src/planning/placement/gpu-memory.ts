/**
 * Memory of GPU models, for deciding what fits.
 *
 * Sizes are the makers' data sheets', in GB, read as decimal: the GiB that a driver reports lie between that reading
 * and the binary one (an H100 of 80 GB shows 79.6 GiB, an L40S of 48 GB with ECC 45.0, a T4 of 16 GB 15.0), so this
 * never promises memory that is not there. A model that is not listed, or whose name leaves the size open, is unknown.
 */

/**
 * GB per GPU. Sources: the product data sheets of NVIDIA and AMD of that name; two-die boards (K80, M60, A16, MI250)
 * per GPU that a system shows.
 */
const MEMORY_GB: Readonly<Record<string, number>> = {
  GB200: 186,
  B200: 180,
  H200: 141,
  H100: 80,
  H800: 80,
  H20: 96,
  'A100-40GB': 40,
  'A100-80GB': 80,
  'V100-16GB': 16,
  'V100-32GB': 32,
  V100S: 32,
  'RTX-PRO-6000': 96,
  'RTX-PRO-4500': 32,
  'RTX6000-ADA': 48,
  'RTX5000-ADA': 32,
  'RTX4000-ADA': 20,
  A6000: 48,
  A5000: 24,
  A4500: 20,
  A4000: 16,
  RTX5090: 32,
  RTX4090: 24,
  RTX4080: 16,
  RTX3090TI: 24,
  RTX3090: 24,
  RTX3080TI: 12,
  RTX2080TI: 11,
  RTX8000: 48,
  RTX6000: 24,
  RTX5000: 16,
  RTX4000: 8,
  A10G: 24,
  A10: 24,
  A16: 16,
  A30: 24,
  A40: 48,
  A2: 16,
  L40S: 48,
  L40: 48,
  L20: 48,
  L4: 24,
  T4G: 16,
  T4: 16,
  P40: 24,
  P4: 8,
  K80: 12,
  M60: 8,
  MI355X: 288,
  MI325X: 256,
  MI300X: 192,
  MI250: 64,
  V520: 8,
};

const GIB_PER_GB = 1e9 / 2 ** 30;

/**
 * GiB of one GPU of a model as modelOf writes it; null if it is not known (A100, GH200, A800, B300 and P100, among
 * others, are sold in more than one size under one name). `measured` holds GiB per model that somebody read off a
 * driver; it counts before the table.
 */
export function memoryGib(model: string, measured: Readonly<Record<string, number>> = {}): number | null {
  if (Object.hasOwn(measured, model)) return measured[model] ?? null;
  const gb = Object.hasOwn(MEMORY_GB, model) ? MEMORY_GB[model] : undefined;
  return gb === undefined ? null : gb * GIB_PER_GB;
}
