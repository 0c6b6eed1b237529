/**
 * Reference prices: list prices of well-known GPU instances as public sources have recorded them, so that a quote
 * answers before any price list was read.
 *
 * They are facts with a source and a date, never what anybody is charged: they price quotes alone, no usage, and only
 * where no list that was read knows the SKU, the model or the region. Nothing is added to them by a guess: a price
 * without a stated currency, region or date is left out.
 *
 * Sources: AWS, on-demand Linux, us-east-1: the price constants of aws/karpenter-provider-aws, whose last snapshot here
 * is of 2026-07-20 (Apache-2.0). Google Cloud, us-central1: the pricing.yml of
 * Cyclenerd/google-cloud-pricing-cost-calculator of 2026-07-30, made from the Cloud Billing API (Apache-2.0). Tencent
 * Cloud, Guangzhou (the source says zone 3), without disks and network: the price overview of GPU instances in
 * tencentyun/intlcloud-documents, Tencent's own documentation, as it was last changed on 2023-06-30.
 */
import { parseDecimal } from '../decimal.js';
import { assert } from '../errors.js';
import { rateOf } from '../money.js';
import type { Price } from '../price/price.js';
import { PriceBook } from '../price/price-book.js';
import { parseInstant } from '../time.js';
import type { Term } from '../usage.js';

/** How every source of a reference price begins. */
export const REFERENCE = 'reference: ';

interface Sheet {
  readonly provider: string;
  readonly region: string;
  readonly source: string;
  /** The day of the source's statement. */
  readonly seen: string;
  readonly minimumSeconds: number;
  /** SKU, GPU model, GPUs, USD for a whole instance for an hour, since which day the source has had that price. */
  readonly rows: readonly (readonly [
    sku: string,
    model: string,
    gpus: number,
    hourly: string,
    since: string,
    term: Term,
  ])[];
}

const SHEETS: readonly Sheet[] = [
  {
    provider: 'AWS',
    region: 'us-east-1',
    source: 'github.com/aws/karpenter-provider-aws',
    seen: '2026-07-20',
    minimumSeconds: 60,
    rows: [
      ['g4dn.xlarge', 'T4', 1, '0.526', '2022-06-23', 'on-demand'],
      ['g4dn.12xlarge', 'T4', 4, '3.912', '2022-06-23', 'on-demand'],
      ['g5.xlarge', 'A10G', 1, '1.006', '2022-06-23', 'on-demand'],
      ['g5.12xlarge', 'A10G', 4, '5.672', '2022-06-23', 'on-demand'],
      ['g5.48xlarge', 'A10G', 8, '16.288', '2022-06-23', 'on-demand'],
      ['p3.2xlarge', 'V100-16GB', 1, '3.06', '2022-06-23', 'on-demand'],
      ['p3.8xlarge', 'V100-16GB', 4, '12.24', '2022-06-23', 'on-demand'],
      ['p3.16xlarge', 'V100-16GB', 8, '24.48', '2022-06-23', 'on-demand'],
      ['p4d.24xlarge', 'A100-40GB', 8, '21.957642', '2025-06-23', 'on-demand'],
      ['p4de.24xlarge', 'A100-80GB', 8, '27.44705', '2025-06-23', 'on-demand'],
      ['p5.4xlarge', 'H100', 1, '6.88', '2025-08-25', 'on-demand'],
      ['p5.48xlarge', 'H100', 8, '55.04', '2025-06-23', 'on-demand'],
      ['p5en.48xlarge', 'H200', 8, '63.296', '2025-06-23', 'on-demand'],
    ],
  },
  {
    provider: 'Google Cloud',
    region: 'us-central1',
    source: 'github.com/Cyclenerd/google-cloud-pricing-cost-calculator',
    seen: '2026-07-30',
    minimumSeconds: 60,
    rows: [
      ['a2-highgpu-1g', 'A100-40GB', 1, '3.673385', '2026-07-30', 'on-demand'],
      ['a2-highgpu-1g', 'A100-40GB', 1, '1.92802', '2026-07-30', 'spot'],
      ['a2-highgpu-8g', 'A100-40GB', 8, '29.38708', '2026-07-30', 'on-demand'],
      ['a3-highgpu-8g', 'H100', 8, '88.4899999025753', '2026-07-30', 'on-demand'],
      ['a3-highgpu-8g', 'H100', 8, '50.6095408219178', '2026-07-30', 'spot'],
    ],
  },
  {
    provider: 'Tencent Cloud',
    region: 'ap-guangzhou',
    source: 'github.com/tencentyun/intlcloud-documents',
    seen: '2023-06-30',
    minimumSeconds: 0,
    rows: [
      ['GN10Xp.2XLARGE40', 'V100-32GB', 1, '1.72', '2023-06-30', 'on-demand'],
      ['GN10Xp.5XLARGE80', 'V100-32GB', 2, '3.44', '2023-06-30', 'on-demand'],
      ['GN10Xp.10XLARGE160', 'V100-32GB', 4, '6.89', '2023-06-30', 'on-demand'],
      ['GN10Xp.20XLARGE320', 'V100-32GB', 8, '13.78', '2023-06-30', 'on-demand'],
    ],
  },
];

const priceOf = (
  { provider, region, source, seen, minimumSeconds }: Sheet,
  [sku, gpuModel, gpus, hourly, since, term]: Sheet['rows'][number],
): Price => {
  const price = parseDecimal(hourly);
  const effectiveFrom = parseInstant(`${since}T00:00:00Z`);
  assert(price !== null && effectiveFrom !== null, `a reference price of ${sku} is written down`);
  return {
    provider,
    sku,
    region,
    term,
    upfront: 'none',
    component: 'gpu',
    gpuModel,
    gpus,
    rate: rateOf(price, 'USD', BigInt(3600 * gpus), 'gpu-second'),
    effectiveFrom,
    effectiveTo: null,
    incrementSeconds: 1,
    minimumSeconds,
    source: `${REFERENCE}${source}, ${seen}`,
  };
};

export const REFERENCE_PRICES: readonly Price[] = SHEETS.flatMap((sheet) =>
  sheet.rows.map((row) => priceOf(sheet, row)),
);

let book: PriceBook | null = null;

/** The book of them, made when it is first asked for. */
export const referenceBook = (): PriceBook => (book ??= new PriceBook({ prices: REFERENCE_PRICES, withdrawals: [] }));
