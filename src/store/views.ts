/**
 * What policies see: a team's metered demand per hour, its resources with their readings, its prices. Reads only.
 *
 * Never looks past the instant that it is asked for.
 */
import type { DemandSeries, PolicyView, Reading, ReservedOffer, ResourceView } from '../core/policy.js';
import type { FxTable } from '../core/fx.js';
import type { Rate } from '../core/money.js';
import type { PriceBook } from '../core/price-book.js';
import type { Price } from '../core/price.js';
import { formatInstant, HOUR_MS, hourOf } from '../core/time.js';
import { GPU_PARTS, type Term } from '../core/usage.js';
import type { Queryable } from './database.js';
import type { CurrentPrices } from './prices.js';

const DEMAND_HOURS = 24 * 7 * 13;
const READING_HOURS = 24 * 14;
const TERM_HOURS: Partial<Record<Term, number>> = { 'reserved-1y': 8760, 'reserved-3y': 26_280, 'savings-plan-1y': 8760, 'savings-plan-3y': 26_280 };

interface DemandRow {
  provider: string; account: string | null; sku: string | null; region: string | null; gpu_model: string | null; term: Term | null; hours: Date[]; parts: string[];
}

interface SampleRow {
  resource: string; workload: string | null; at: Date; gpu: number | null; memory: number | null; rps: number | null;
}

export class ViewStore {
  async view(db: Queryable, organisation: string, team: string, currency: string, asOf: number, prices: CurrentPrices): Promise<Omit<PolicyView, 'budgets'>> {
    return {
      organisation, team, asOf, currency,
      demand: await this.demand(db, organisation, team, currency, asOf, prices),
      resources: await this.resources(db, organisation, team, currency, asOf, prices),
    };
  }

  private async demand(db: Queryable, organisation: string, team: string, currency: string, asOf: number, prices: CurrentPrices): Promise<DemandSeries[]> {
    const until = hourOf(asOf);
    const from = until - DEMAND_HOURS * HOUR_MS;
    const rows = await db.query<DemandRow>(
      `select provider, account, sku, region, gpu_model, term, array_agg(hour order by hour) as hours, array_agg(parts::text order by hour) as parts from (
         select d.provider, d.account, d.sku, d.region, d.gpu_model, d.term, u.hour, sum(u.gpu_part_ms) as parts
         from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
         where u.organisation = $1 and u.team = $2 and u.hour >= $3 and u.hour < $4 and u.gpu_part_ms is not null
         group by 1, 2, 3, 4, 5, 6, 7) as hourly
       group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`,
      [organisation, team, formatInstant(from), formatInstant(until)],
    );
    return rows.map((row) => {
      const first = row.hours[0]?.getTime() ?? until;
      const gpus = new Float64Array(Math.max(0, (until - first) / HOUR_MS));
      row.hours.forEach((hour, at) => {
        gpus[(hour.getTime() - first) / HOUR_MS] = Number(row.parts[at]) / (GPU_PARTS * HOUR_MS);
      });
      const { provider, account, sku, region, gpu_model: gpuModel, term } = row;
      return { provider, account, sku, region, gpuModel, term, from: first, gpus, ...offers(row, currency, asOf, prices) };
    });
  }

  private async resources(db: Queryable, organisation: string, team: string, currency: string, asOf: number, { book, fx }: CurrentPrices): Promise<ResourceView[]> {
    const rows = await db.query<SampleRow & { gpus: number | null; gpu_model: string | null; provider: string | null; sku: string | null; region: string | null }>(
      `select s.resource, s.workload, s.at, s.gpu_utilisation_ratio as gpu, s.memory_used_ratio as memory, s.requests_per_second as rps,
         s.gpus, s.gpu_model, s.provider, s.sku, s.region
       from sample s where s.organisation = $1 and s.team = $2 and s.at > $3 and s.at <= $4 order by s.resource, s.at`,
      [organisation, team, formatInstant(asOf - READING_HOURS * HOUR_MS), formatInstant(asOf)],
    );
    const resources = new Map<string, ResourceView & { readings: Reading[] }>();
    for (const row of rows) {
      let resource = resources.get(row.resource);
      if (resource === undefined) {
        const rate = row.provider === null ? null : rateAt(book, fx, { provider: row.provider, sku: row.sku, gpuModel: row.gpu_model, region: row.region, term: 'on-demand' }, currency, asOf);
        const hourlyNanos = rate === null || row.gpus === null ? null : (rate.nanos * 3600n * BigInt(row.gpus)) / rate.quantity;
        resource = { resource: row.resource, workload: row.workload, gpus: row.gpus, gpuModel: row.gpu_model, hourlyNanos, readings: [] };
        resources.set(row.resource, resource);
      }
      resource.readings.push({ at: row.at.getTime(), gpuUtilisationRatio: row.gpu, memoryUsedRatio: row.memory, requestsPerSecond: row.rps });
    }
    return [...resources.values()];
  }
}

type Key = { provider: string; sku: string | null; gpuModel: string | null; region: string | null; term: Term | null };

function offers(row: DemandRow, currency: string, asOf: number, { book, fx, prices }: CurrentPrices): { onDemand: Rate | null; reserved: ReservedOffer[] } {
  const key: Key = { provider: row.provider, sku: row.sku, gpuModel: row.gpu_model, region: row.region, term: 'on-demand' };
  const found = book.find({ ...key, component: 'gpu', at: asOf });
  if ('unpriced' in found) return { onDemand: null, reserved: [] };
  // A reservation is for the SKU that the on-demand price is of, in the same region.
  const { sku, region } = found.price;
  const reserved = (Object.keys(TERM_HOURS) as Term[]).flatMap((term) => {
    const upfronts = new Set(prices.filter((p) => p.provider === row.provider && p.sku === sku && p.term === term && p.component === 'gpu').map((p) => p.upfront));
    return [...upfronts].flatMap((upfront): ReservedOffer[] => {
      const offer = book.find({ provider: row.provider, sku, gpuModel: null, region, term, component: 'gpu', upfront, at: asOf });
      if ('unpriced' in offer) return [];
      const rate = inCurrency(offer.price, fx, currency, asOf);
      return rate === null ? [] : [{ term, upfront, termHours: TERM_HOURS[term] ?? 8760, rate, source: offer.price.source }];
    });
  });
  return { onDemand: inCurrency(found.price, fx, currency, asOf), reserved };
}

function rateAt(book: PriceBook, fx: FxTable, key: Key, currency: string, at: number): Rate | null {
  const found = book.find({ ...key, component: 'gpu', at });
  return 'unpriced' in found ? null : inCurrency(found.price, fx, currency, at);
}

function inCurrency({ rate }: Price, fx: FxTable, currency: string, at: number): Rate | null {
  const used = fx.rate(rate.currency, currency, at);
  if (used === null) return null;
  return { ...rate, currency, nanos: rate.nanos * used.rate.numerator, quantity: rate.quantity * used.rate.denominator };
}
