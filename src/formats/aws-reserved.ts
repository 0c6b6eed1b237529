/**
 * AWS' reserved-instance prices as effective hourly prices: 1 and 3 years; no, partial and all upfront.
 *
 * The effective price has the upfront part spread over the term already. Convertible offers are other goods than
 * standard ones and get a SKU of their own, `p3.2xlarge (convertible)`: no cheaper or more expensive offer hides the
 * other. Linux only. A list without a snapshot column is dated by its file's name, otherwise by its published snapshot,
 * 2026-07-20.
 */
import type { Input, PriceFormat } from '../core/ports.js';
import type { PriceEvent, Upfront } from '../core/price/price.js';
import { isoInstant } from '../core/time.js';
import { awsInstanceGpus } from './reading/aws-instances.js';
import { quotedText } from './reading/bill.js';
import { dateInName, instancePrice, PriceRow, readCsvPrices } from './reading/price-row.js';
import { hasColumns, type Header, type RowReader } from './reading/table.js';

const NAME = 'aws-reserved';
const SNAPSHOT = '2026-07-20';
const OFFER = /^yrTerm([13])(Standard|Convertible)\.(no|partial|all)Upfront$/;

export const format: PriceFormat = {
  kind: 'price',
  name: NAME,
  description: 'AWS reserved instances: effective hourly prices by term, class and upfront',
  recognises: (input) =>
    hasColumns(input, 'instance_type', 'region', 'os') &&
    (hasColumns(input, 'offer', 'usd_per_hour_effective') || hasColumns(input, 'term', 'usd_per_hour')),
  read: readCsvPrices(prepare, NAME),
};

function prepare(header: Header, source: string, input: Input): RowReader<PriceEvent> {
  const snapshot = header.optional('snapshot');
  const type = header.required('instance_type');
  const region = header.required('region');
  const os = header.required('os');
  const offerName = header.has('offer') ? 'offer' : 'term';
  const offer = header.required('offer', 'term');
  const priceName = header.has('usd_per_hour_effective') ? 'usd_per_hour_effective' : 'usd_per_hour';
  const hourly = header.required('usd_per_hour_effective', 'usd_per_hour');
  const onDemand = header.optional('ondemand_usd_per_hour', 'ondemand');
  const stated = new Set<string>();
  return (cells, out, problems) => {
    const row = new PriceRow(cells, problems);
    const instanceType = row.text(type, 'instance_type');
    const place = row.text(region, 'region');
    const system = row.text(os, 'os');
    if (system !== '' && system !== 'linux') row.problem('os', `${quotedText(system)} is not linux`);
    const effectiveFrom =
      snapshot < 0 ? dateInName(input.name, SNAPSHOT) : row.instant(snapshot, 'snapshot', isoInstant);
    const terms = row.text(offer, offerName);
    const match = OFFER.exec(terms);
    if (match === null) row.problem(offerName, `${quotedText(terms)} is not a reserved offer`);
    const price = row.requiredPrice(hourly, priceName);
    const known = awsInstanceGpus(instanceType);
    const instance = {
      provider: 'AWS',
      region: place,
      gpuModel: known?.model ?? null,
      gpus: known?.gpus ?? null,
      currency: 'USD',
      effectiveFrom,
      source,
    };
    if (match === null || price === null || !row.sound) return;
    out.push(
      instancePrice({
        ...instance,
        sku: match[2] === 'Standard' ? instanceType : `${instanceType} (convertible)`,
        term: match[1] === '1' ? 'reserved-1y' : 'reserved-3y',
        upfront: UPFRONT[match[3] ?? ''] ?? 'none',
        price,
      }),
    );
    const whole = row.price(onDemand, 'on-demand');
    const key = `${instanceType} ${place} ${effectiveFrom}`;
    if (whole === null || stated.has(key)) return;
    stated.add(key);
    out.push(instancePrice({ ...instance, sku: instanceType, term: 'on-demand', price: whole }));
  };
}

const UPFRONT: Readonly<Record<string, Upfront>> = { no: 'none', partial: 'partial', all: 'all' };
