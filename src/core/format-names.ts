/** The formats that people may name, by hand: tests/unit/docs/reference.test.ts compares them with src/formats. */
export const USAGE_FORMATS = [
  'alibaba-bill',
  'aws-cur',
  'azure-amortised',
  'azure-ea',
  'bursar',
  'cloudevents',
  'focus',
  'focus-contracts',
  'gcp-billing',
  'oci',
  'openb-pods',
  'tencent-bill',
] as const;

export const PRICE_FORMATS = [
  'alibaba-prices',
  'aws-price-history',
  'aws-reserved',
  'aws-spot-history',
  'azure-spot-history',
  'bursar-prices',
  'cloud-gpu-table',
  'gcp-prices',
] as const;
