/**
 * Loads the data of a team's monthly report. Reads only, and judges nothing: sums are passed on as the tables contain
 * them.
 *
 * An hour belongs to the month in which it begins in the report's zone, as for budgets; amounts of civil dates (whole
 * days of a bill, shared costs, credits) belong to the month of their date in any zone. The API's own rule for the
 * basis `actual` decides which lines count, so that a report in UTC agrees with /v1/costs.
 */
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import type { Reason } from '../../core/action/action.js';
import { addDecimal, parseDecimal, tenTo, ZERO, type Decimal } from '../../core/decimal.js';
import type { EffectJson } from '../../core/action/action.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven, type Rate } from '../../core/money.js';
import type {
  ChanceFacts,
  DayAmount,
  DemandFacts,
  MonthCell,
  MonthFacts,
  RefusalFacts,
  SampleFacts,
} from '../../core/report/facts.js';
import type { Recommendation } from '../../core/policy/recommendation.js';
import { stated, notStated, type ChanceState, type Stated, type VarianceLine } from '../../core/report/report.js';
import { amountText, ratioOf } from '../../core/report/spend.js';
import {
  dayLabel,
  formatInstant,
  hourOf,
  HOUR_MS,
  MINUTE_MS,
  monthLabel,
  parseDay,
  startOfLocalDay,
  type Interval,
} from '../../core/time.js';
import { GPU_PARTS, type ChargeCategory, type Term } from '../../core/usage.js';
import { setAsideSums } from '../cost/spend-sums.js';
import { unpricedUsage } from '../cost/unpriced.js';
import type { Queryable } from '../database.js';
import { placeOf } from '../fleet/sample-block.js';
import { minuteAfter, samplesByResource, type MinuteSample } from '../fleet/sample-reading.js';
import { pricesOf } from '../price/offers.js';
import type { CurrentPrices } from '../price/prices.js';

/** The team, period and currency. */
export interface FactsRequest {
  readonly organisation: string;
  readonly teams: readonly string[];
  readonly zone: string;
  readonly currency: string;
}

interface CellRow {
  team: string;
  day: string;
  currency: string;
  provider: string;
  sku: string | null;
  gpu_model: string | null;
  term: Term | null;
  category: ChargeCategory;
  amount: string | null;
  parts: string | null;
  unpriced: string;
}

/** By UTC day, as /v1/costs has it. Sums over what tells no cell apart. */
const UTC_CELLS = `
select c.team, to_char(c.day, 'YYYY-MM-DD') as day, c.currency, d.provider, d.sku, d.gpu_model, d.term, d.category, sum(c.actual)::text as amount, sum(c.gpu_part_ms)::text as parts, sum(c.unpriced_part_ms - c.stated_part_ms)::text as unpriced
from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
where c.organisation = $1 and c.team = any($2::text[]) and c.day >= ($3::timestamptz at time zone 'UTC')::date and c.day < ($4::timestamptz at time zone 'UTC')::date
  and (c.actual is not null or c.unpriced_lines > c.stated_lines) and $5::text is not null
group by 1, 2, 3, 4, 5, 6, 7, 8`;

/**
 * By local day, from hours; metered hours and their cost lines meet in the team's currency, as in the roll-up. Whether
 * a line is of civil dates is asked line by line, as in cost/spend-sums.ts. The hours are summed apart: a Citus cluster
 * joins their view with nothing.
 */
const LOCAL_CELLS = `
with hours as materialized (
  select l.organisation, l.team, to_char(l.hour at time zone $5, 'YYYY-MM-DD') as day, l.currency, l.dimension, sum(l.actual) as amount, sum(l.gpu_part_ms) as parts,
    sum(l.unpriced_part_ms - l.stated_part_ms) as unpriced, sum(l.unpriced_lines - l.stated_lines) as without
  from hour_line l
  where l.organisation = $1 and l.team = any($2::text[]) and l.hour >= $3 and l.hour < $4 and not (
    select i.civil from dimension i where i.organisation = l.organisation and i.id = l.dimension)
  group by 1, 2, 3, 4, 5
)
select line.team, line.day, line.currency, d.provider, d.sku, d.gpu_model, d.term, d.category, sum(line.amount)::text as amount, sum(line.parts)::text as parts, sum(line.unpriced)::text as unpriced from (
  select h.team, h.day, coalesce(h.currency, t.currency, 'USD') as currency, h.dimension, sum(h.amount) as amount, sum(h.parts) as parts, sum(h.unpriced) as unpriced
  from hours h
  left join team t on t.organisation = h.organisation and t.id = h.team
  group by 1, 2, 3, 4 having sum(h.amount) is not null or sum(h.without) > 0
  union all
  select c.team, to_char(c.day, 'YYYY-MM-DD'), c.currency, c.dimension, c.actual, c.gpu_part_ms, c.unpriced_part_ms - c.stated_part_ms
  from cost_day c join dimension i on i.organisation = c.organisation and i.id = c.dimension
  where c.organisation = $1 and c.team = any($2::text[]) and (c.shared_from <> '' or i.civil)
    and c.day >= ($3::timestamptz at time zone $5)::date and c.day < ($4::timestamptz at time zone $5)::date
    and (c.actual is not null or c.unpriced_lines > c.stated_lines)
) as line join dimension d on d.organisation = $1 and d.id = line.dimension
group by 1, 2, 3, 4, 5, 6, 7, 8`;

export interface SpendFacts extends MonthFacts {
  readonly days: readonly DayAmount[];
}

/** The spend within [from, to), each day converted by its own rate. */
export async function spendFacts(
  db: Queryable,
  { organisation, teams, zone, currency }: FactsRequest,
  { start, end }: Interval,
  fx: FxTable,
): Promise<SpendFacts> {
  const rows = await db.query<CellRow>(zone === 'UTC' ? UTC_CELLS : LOCAL_CELLS, [
    organisation,
    teams,
    formatInstant(start),
    formatInstant(end),
    zone,
  ]);
  const cells = new Map<string, { -readonly [K in keyof MonthCell]: MonthCell[K] }>();
  const days = new Map<string, Decimal>();
  const unconverted = new Map<string, Decimal>();
  for (const {
    team,
    day,
    currency: from,
    provider,
    sku,
    gpu_model: gpuModel,
    term,
    category,
    amount: text,
    parts,
    unpriced,
  } of rows) {
    const parsed = text === null ? null : decimalOf(text);
    const amount =
      parsed === null ? null : converted(parsed, from, currency, startOfLocalDay(zone, parseDay(day) ?? 0), fx);
    if (parsed !== null && amount === null) unconverted.set(from, addDecimal(unconverted.get(from) ?? ZERO, parsed));
    if (amount !== null) days.set(day, addDecimal(days.get(day) ?? ZERO, amount));
    const name = JSON.stringify([team, provider, sku, gpuModel, term, category]);
    const cell = cells.get(name) ?? {
      team,
      provider,
      sku,
      gpuModel,
      term,
      category,
      amount: null,
      quantity: null,
      unpriced: 0n,
    };
    if (amount !== null) cell.amount = addDecimal(cell.amount ?? ZERO, amount);
    if (parts !== null) cell.quantity = (cell.quantity ?? 0n) + BigInt(parts);
    cell.unpriced += BigInt(unpriced);
    cells.set(name, cell);
  }
  return {
    cells: [...cells.values()],
    unconverted,
    days: [...days].map(([day, amount]) => ({ day, amount })).sort((a, b) => (a.day < b.day ? -1 : 1)),
  };
}

/** By currency: what bills that are not final state of usage within [from, to) that meters stand for. */
export async function setAsideFacts(
  db: Queryable,
  { organisation, teams, zone }: FactsRequest,
  { start, end }: Interval,
): Promise<ReadonlyMap<string, Decimal>> {
  const sums = await setAsideSums(db, organisation, {
    from: dayLabel(start, zone),
    to: dayLabel(end, zone),
    teams,
    zone,
  });
  return new Map(sums.map(({ currency, cost }) => [currency, decimalOf(cost)]));
}

/** Usage within [start, end) that is not GPU time and has no price. */
export const unpricedFacts = (
  db: Queryable,
  { organisation, teams, zone }: FactsRequest,
  { start, end }: Interval,
): Promise<UnpricedUsage[]> =>
  unpricedUsage(db, organisation, {
    from: dayLabel(start, zone),
    to: dayLabel(end, zone),
    teams,
    zone,
    basis: 'actual',
  });

function decimalOf(text: string): Decimal {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`broken invariant: a stored amount is a decimal (${text})`);
  return decimal;
}

/** To the digit of the amount, a nano at least; null: no rate. As store/cost/spend.ts converts. */
function converted(amount: Decimal, from: string, to: string, at: number, fx: FxTable): Decimal | null {
  if (from === to || amount.unscaled === 0n) return amount;
  const used = fx.rate(from, to, at);
  if (used === null) return null;
  const scale = Math.max(9, amount.scale);
  return {
    unscaled: divideHalfEven(
      amount.unscaled * tenTo(scale - amount.scale) * used.rate.numerator,
      used.rate.denominator,
    ),
    scale,
  };
}

/** Actions that came to nothing within [start, end), the newest first. */
export async function refusalFacts(
  db: Queryable,
  { organisation, teams, currency }: FactsRequest,
  { start, end }: Interval,
): Promise<RefusalFacts[]> {
  const rows = await db.query<{
    id: string;
    team: string;
    target: string;
    effect: EffectJson;
    state: string;
    at: Date;
    reasons: Reason[];
    body: Recommendation | null;
  }>(
    `select a.id, a.team, a.target, a.effect, a.state, a.ended_at as at, a.reasons, r.body from action a
     left join recommendation r on r.organisation = a.organisation and r.id = a.recommendation
     where a.organisation = $1 and a.team = any($2::text[]) and a.state in ('refused', 'failed', 'expired') and a.ended_at >= $3 and a.ended_at < $4 order by a.ended_at desc, a.id`,
    [organisation, teams, formatInstant(start), formatInstant(end)],
  );
  return rows.map(({ id, team, target, effect, state, at, reasons, body }) => ({
    action: id,
    team,
    target,
    effect: effect.kind,
    state,
    at: at.getTime(),
    reasons,
    estimatedMonthlySavings: body?.estimatedMonthlySavings ?? null,
    estimatedMonthlySavingsLow: body?.estimatedMonthlySavingsLow ?? null,
    estimatedMonthlySavingsHigh: body?.estimatedMonthlySavingsHigh ?? null,
    currency: body?.currency ?? currency,
  }));
}

/** Recommendations that are open now, or were rejected or ran out within [start, end). Nobody has taken them up. */
export async function chanceFacts(
  db: Queryable,
  { organisation, teams, currency }: FactsRequest,
  { start, end }: Interval,
  asOf: number,
): Promise<ChanceFacts[]> {
  const rows = await db.query<{
    id: string;
    state: ChanceState;
    body: Recommendation;
    nanos: string | null;
    obstacle: Reason | null;
  }>(
    `select id, case when status = 'open' and expires_at <= $5 then 'expired' else status end as state, body, estimated_monthly_nanos::text as nanos, obstacle from recommendation
     where organisation = $1 and team = any($2::text[]) and (status = 'open'
       or (status = 'rejected' and decided_at >= $3 and decided_at < $4) or (status = 'expired' and expires_at >= $3 and expires_at < $4)) order by id`,
    [organisation, teams, formatInstant(start), formatInstant(end), formatInstant(asOf)],
  );
  return rows.map(({ id, state, body, nanos, obstacle }) => ({
    recommendation: id,
    team: body.team,
    title: body.title,
    policy: body.policy,
    state,
    effort: body.implementationEffort,
    currency: body.currency ?? currency,
    obstacle: obstacle?.message ?? null,
    estimatedMonthlyCost: body.estimatedMonthlyCost ?? null,
    estimate:
      nanos === null
        ? null
        : { mean: BigInt(nanos), low: body.estimatedMonthlySavingsLow, high: body.estimatedMonthlySavingsHigh },
  }));
}

interface DemandRow {
  provider: string;
  region: string | null;
  sku: string | null;
  gpu_model: string | null;
  term: Term | null;
  /** Epoch seconds of its hours and their GPU parts, a comma between. */
  hours: string;
  parts: string;
}

/**
 * GPUs per hour within [start, end) at every place, with the prices that hold at its end. The teams count as one buyer.
 */
export async function demandFacts(
  db: Queryable,
  { organisation, teams, currency }: FactsRequest,
  { start, end }: Interval,
  prices: CurrentPrices,
): Promise<DemandFacts[]> {
  const [from, to] = [hourOf(start), hourOf(end)];
  const rows = await db.query<DemandRow>(
    `select provider, region, sku, gpu_model, term, string_agg(extract(epoch from hour)::bigint::text, ',' order by hour) as hours, string_agg(parts::text, ',' order by hour) as parts from (
       select d.provider, d.region, d.sku, d.gpu_model, d.term, u.hour, sum(u.gpu_part_ms) as parts
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       where u.organisation = $1 and u.team = any($2::text[]) and u.hour >= $3 and u.hour < $4 and u.gpu_part_ms is not null and d.term is distinct from 'spot'
       group by 1, 2, 3, 4, 5, 6) as hourly
     group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`,
    [organisation, teams, formatInstant(from), formatInstant(to)],
  );
  const places = new Map<string, DemandFacts>();
  for (const { provider, region, sku, gpu_model: gpuModel, term, hours, parts } of rows) {
    const name = JSON.stringify([provider, region, sku, gpuModel]);
    let place = places.get(name);
    if (place === undefined) {
      const { onDemand, reserved } = pricesOf(prices, { provider, region, sku, gpuModel }, currency, end - 1);
      const [first, ...others] = reserved.filter(({ termHours }) => termHours <= YEAR_HOURS);
      const offer =
        first === undefined ? null : others.reduce((best, one) => (isCheaper(one.rate, best.rate) ? one : best), first);
      const empty = (): Float64Array => new Float64Array(Math.max(0, (to - from) / HOUR_MS));
      place = { provider, region, sku, gpuModel, onDemandGpus: empty(), committedGpus: empty(), onDemand, offer };
      places.set(name, place);
    }
    const gpus = term === null || term === 'on-demand' ? place.onDemandGpus : place.committedGpus;
    const counted = parts.split(',');
    for (const [at, hour] of hours.split(',').entries()) {
      const index = (Number(hour) * 1000 - from) / HOUR_MS;
      gpus[index] = (gpus[index] ?? 0) + Number(counted[at]) / (GPU_PARTS * HOUR_MS);
    }
  }
  return [...places.values()];
}

const YEAR_HOURS = 8760;
const isCheaper = (a: Rate, b: Rate): boolean => a.nanos * b.quantity < b.nanos * a.quantity;

/**
 * Samples of whole GPUs within [start, end), each minute of a GPU once, whoever reported it. Of MIG instances it is not
 * known what share of a GPU they are:
 * they are left out.
 */
export async function sampleFacts(
  db: Queryable,
  { organisation, teams }: FactsRequest,
  { start, end }: Interval,
  low: number,
): Promise<SampleFacts[]> {
  const filter = { teams, first: minuteAfter(start - 1), last: minuteAfter(end - 1) - MINUTE_MS };
  const kinds = new Map<string | null, { sampled: number; measured: number; low: number; utilisation: number }>();
  for await (const { samples } of samplesByResource(db, organisation, filter)) {
    for (const { device, minute, group } of onePerMinute(samples)) {
      const kind = kinds.get(group.gpuModel) ?? { sampled: 0, measured: 0, low: 0, utilisation: 0 };
      kinds.set(group.gpuModel, kind);
      const ratio = device.value(UTILISATION, minute);
      kind.sampled += 1;
      if (Number.isNaN(ratio)) continue;
      kind.measured += 1;
      kind.utilisation += ratio;
      if (ratio < low) kind.low += 1;
    }
  }
  return [...kinds]
    .map(([gpuModel, sums]) => ({ gpuModel, ...sums }))
    .sort(({ gpuModel: a }, { gpuModel: b }) => (a === null ? 1 : b === null || a < b ? -1 : 1));
}

const UTILISATION = placeOf('gpuUtilisationRatio');

/** Of a resource's samples those of whole GPUs, of what several sources tell the first. */
function onePerMinute(samples: readonly MinuteSample[]): Iterable<MinuteSample> {
  const found = new Map<string, Map<number, MinuteSample>>();
  for (const sample of samples) {
    const { group, at, device } = sample;
    if (group.isPartitioned || group.migInstance !== null) continue;
    const minutes = found.get(group.gpu) ?? new Map<number, MinuteSample>();
    found.set(group.gpu, minutes);
    const before = minutes.get(at);
    if (before === undefined || device.source < before.device.source) minutes.set(at, sample);
  }
  return [...found.values()].flatMap((minutes) => [...minutes.values()]);
}

/**
 * What bills say of the month's days beside what was accrued, as bill.reconcile has published it: of these civil dates
 * in any zone, as a bill's own days. Days of which no bill speaks yet are left out.
 */
export async function varianceFacts(
  db: Queryable,
  { organisation, teams, zone }: FactsRequest,
  { start, end }: Interval,
): Promise<Stated<readonly VarianceLine[]>> {
  const rows = await db.query<{
    provider: string;
    currency: string;
    accrued: string;
    compared: string;
    amount: string;
  }>(
    `select provider, currency, coalesce(sum(accrued), 0)::text as accrued, coalesce(sum(compared), 0)::text as compared, coalesce(sum(amount), 0)::text as amount from variance
     where organisation = $1 and team = any($2::text[]) and day >= $3::date and day < $4::date
       and not (reasons && array['apart', 'not-billed-yet']) and amount is not null group by 1, 2 order by 1, 2`,
    [organisation, teams, dayLabel(start, zone), dayLabel(end, zone)],
  );
  if (rows.length === 0) return notStated('no-bill');
  const findings = await db.query<{ provider: string; currency: string; count: number }>(
    `select f.provider, f.currency, count(*)::int as count from variance_finding f where f.organisation = $1 and f.team = any($2::text[]) and f.resolved_at is null and f.month = $3 group by 1, 2`,
    [organisation, teams, monthLabel(start, zone)],
  );
  return stated(
    rows.map(({ provider, currency, accrued, compared, amount }): VarianceLine => {
      const [difference, base] = [decimalOf(amount), decimalOf(accrued)];
      const scale = Math.max(difference.scale, base.scale);
      return {
        provider,
        currency,
        accrued: amountText(base),
        billed: amountText(decimalOf(compared)),
        amount: amountText(difference),
        ratio: ratioOf(
          difference.unscaled * tenTo(scale - difference.scale),
          base.unscaled * tenTo(scale - base.scale),
        ),
        openFindings: findings.find((one) => one.provider === provider && one.currency === currency)?.count ?? 0,
      };
    }),
  );
}
