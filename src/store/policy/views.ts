/**
 * Loads the view for policies: a team's metered demand per hour, its resources with their readings, its workloads,
 * leases and budgets, and prices. Reads only.
 *
 * Never reads data after the requested time. Missing data is left out or null, never zero.
 */
import { exhaustionDayOf } from '../../core/budget/exhaustion.js';
import { plannedFor, type BudgetState } from '../../core/budget/budget.js';
import { parseDecimal } from '../../core/decimal.js';
import type { HealthFinding } from '../../core/fleet/health.js';
import { savedByStop } from '../../core/fleet/settings.js';
import { groupOf } from '../../core/fleet/membership.js';
import { nanosOf } from '../../core/money.js';
import { mayCover, type Commitment } from '../../core/price/commitment-cover.js';
import type { PeakSchedule } from '../../core/price/peak.js';
import {
  READINGS_DAYS,
  type DemandSeries,
  type InstanceView,
  type MachineView,
  type PolicyView,
  type Reading,
  type ResourceView,
  type WorkloadView,
} from '../../core/policy/policy.js';
import { withBought } from '../../core/policy/bought.js';
import { withKnownEnds, WORKLOAD_LABELS } from '../../core/policy/fleet-workload.js';
import { termHours } from '../../core/price/term.js';
import { formatInstant, HOUR_MS, hourOf, DAY_MS } from '../../core/time.js';
import { GPU_PARTS, PART_MS_PER_GPU_HOUR, type Term } from '../../core/usage.js';
import type { BudgetStateJson, BudgetStore } from '../budget/budgets.js';
import { ownPurchases } from '../action/own-purchases.js';
import { ownEnds } from '../action/own-ends.js';
import { ownStops } from '../action/own-stops.js';
import type { Queryable } from '../database.js';
import { documentsSince } from './policies.js';
import { HealthFindingStore } from '../fleet/health-findings.js';
import { JobUsage } from '../workload/job-usage.js';
import { hourlyNanos, OfferBook, pricesOf } from '../price/offers.js';
import { FLEET_STALE_MS, FleetStore, type SeenTarget } from '../fleet/fleet.js';
import { MeasuredStore } from '../fleet/measured.js';
import { takenMachines } from '../fleet/taken.js';
import {
  resourceMinutes,
  type NewestOfResource,
  type ResourceMinute,
  type ResourceMinutes,
} from '../fleet/resource-minutes.js';
import { MeasurementStore } from '../workload/measurements.js';
import type { CurrentPrices } from '../price/prices.js';
import { SavingStore } from '../saving/savings.js';
import type { WorkloadStore } from '../workload/workloads.js';

/** Bills that say what commitments covered come so late at most. */
const COVERED_DAYS = 45;

/** A year: a commitment of a year is vouched for by no less (planning/commitment/recommend.ts). */
const DEMAND_HOURS = 24 * 366;
/** Meters are late by so much at most: every reading looks so far back for late records. */
const SILENT_HOURS = 3;

interface DemandRow {
  provider: string;
  account: string | null;
  sku: string | null;
  region: string | null;
  gpu_model: string | null;
  term: Term | null;
  /** Epoch seconds of its hours and their GPU parts, a comma between: a list of instants is slow to read. */
  hours: string;
  parts: string;
}

/** The team, time and currency of a view. */
export interface ViewRequest {
  readonly organisation: string;
  readonly team: string;
  readonly currency: string;
  readonly asOf: number;
}

export class ViewStore {
  private readonly offers = new OfferBook();
  private readonly jobs = new JobUsage();

  constructor(
    private readonly budgets: BudgetStore,
    private readonly workloads: WorkloadStore,
    private readonly measurements = new MeasurementStore(),
    private readonly findings = new HealthFindingStore(),
    private readonly fleet = new FleetStore(),
    private readonly savings = new SavingStore(),
    private readonly measured = new MeasuredStore(),
  ) {}

  async view(
    db: Queryable,
    organisation: string,
    team: string,
    currency: string,
    asOf: number,
    prices: CurrentPrices,
    peak: PeakSchedule,
    { needsInstances = false }: { readonly needsInstances?: boolean } = {},
  ): Promise<PolicyView> {
    const request = { organisation, team, currency, asOf };
    const demand = await this.coveredDemand(db, request, prices);
    const health = await this.findings.openAt(db, organisation, team, asOf);
    const taken = await takenMachines(db, organisation, team, asOf);
    const running = await this.jobs.counted(
      db,
      organisation,
      team,
      asOf,
      await this.workloads.workloads(db, organisation, team, asOf),
    );
    const workloads = running.map((one) => {
      const own = health.filter(({ workload }) => workload === one.workload);
      // A machine that is a workload itself, and that its cloud took: by whatever name its exporter goes.
      const lost = taken.get(one.workload);
      return withHealth(one, lost === undefined ? own : [...own.filter(({ rule }) => rule !== 'gone'), lost]);
    });
    const own = [...demand, ...workloads].flatMap(({ provider, sku, region, gpuModel }) =>
      provider === null ? [] : [{ provider, sku, region, gpuModel }],
    );
    const leases = await this.workloads.leases(db, organisation, team, asOf);
    // Asked for only where somebody says what a workload runs.
    const measurements = workloads.some(({ runs }) => runs !== undefined)
      ? await this.measurements.upTo(db, organisation, asOf)
      : [];
    // A service has served what its groups served that are gone by now.
    const hasService = workloads.some(({ partOf }) => partOf !== undefined);
    const goneReplicas = hasService ? await this.workloads.goneReplicas(db, organisation, team, asOf) : {};
    const { offers } = this;
    return {
      organisation,
      team,
      asOf,
      currency,
      demand,
      workloads,
      peak,
      resources: await this.resources(db, request, asOf - READINGS_DAYS * DAY_MS, prices, health),
      ...(await this.observed(db, request)),
      ...(needsInstances
        ? { instances: await this.instances(db, request, prices), ownStops: await ownStops(db, organisation, team) }
        : {}),
      budgets: await this.budgetStates(db, organisation, team, asOf),
      calibrations: await this.savings.calibrations(db, organisation),
      measurements,
      // Thousands of prices, which most policies never look at.
      get offers() {
        return offers.offers(prices, currency, asOf, own);
      },
      get egress() {
        return offers.egress(prices, currency, asOf);
      },
      spotMarkets: await this.workloads.spotMarkets(db, organisation, asOf),
      ...(Object.keys(goneReplicas).length === 0 ? {} : { goneReplicas }),
      ...(hasService ? { documentsSince: await documentsSince(db, organisation) } : {}),
      leases: leases.map(({ provider, sku, region, gpuModel, ...lease }) => ({
        ...lease,
        hourlyNanos: hourlyNanos(prices, { provider, sku, region, gpuModel }, lease.gpus, currency, asOf),
      })),
    };
  }

  /** The fleet's readings of targets, with the effects of actions. */
  private async observed(
    db: Queryable,
    { organisation, team, asOf }: ViewRequest,
  ): Promise<Pick<PolicyView, 'observedTargets' | 'ownEnds'>> {
    const observedTargets = await this.fleet.observedTargets(db, organisation, team);
    return { observedTargets, ownEnds: await ownEnds(db, organisation, team, asOf) };
  }

  /** The demand of the last year, with what is bought for it already. */
  private async coveredDemand(db: Queryable, request: ViewRequest, prices: CurrentPrices): Promise<DemandSeries[]> {
    const { organisation, asOf } = request;
    const commitments = await this.fleet.commitments(db, organisation);
    const purchases = await ownPurchases(db, organisation);
    const metered = await this.demand(db, request, hourOf(asOf) - DEMAND_HOURS * HOUR_MS, prices);
    return metered.map((series) =>
      withBought(withKnownEnds(series, commitments, asOf), metered, commitments, purchases, asOf),
    );
  }

  /**
   * Metered GPUs per hour from `from` until the request's instant, with the prices that hold then. An hour counts when
   * it has been read: the last one of an account of which nothing at all is metered yet is no hour without use.
   */
  async demand(
    db: Queryable,
    { organisation, team, currency, asOf }: ViewRequest,
    from: number,
    prices: CurrentPrices,
  ): Promise<DemandSeries[]> {
    const until = hourOf(asOf);
    const readUntil = await this.readUntil(db, organisation, until);
    const rows = await db.query<DemandRow>(
      `select provider, account, sku, region, gpu_model, term, string_agg(extract(epoch from hour)::bigint::text, ',' order by hour) as hours, string_agg(parts::text, ',' order by hour) as parts from (
         select d.provider, d.account, d.sku, d.region, d.gpu_model, d.term, u.hour, sum(u.gpu_part_ms) as parts
         from usage_hour u
       join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
         where u.organisation = $1 and u.team = $2 and u.hour >= $3 and u.hour < $4 and u.gpu_part_ms is not null
         group by 1, 2, 3, 4, 5, 6, 7) as hourly
       group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`,
      [organisation, team, formatInstant(from), formatInstant(until)],
    );
    const all = rows.map((row): DemandSeries => {
      const [hours, parts] = [row.hours.split(','), row.parts.split(',')];
      const first = Number(hours[0]) * 1000;
      const end = readUntil(row.provider, row.account);
      const gpus = new Float64Array(Math.max(0, (end - first) / HOUR_MS));
      hours.forEach((hour, at) => {
        gpus[(Number(hour) * 1000 - first) / HOUR_MS] = Number(parts[at]) / (GPU_PARTS * HOUR_MS);
      });
      const { provider, account, sku, region, gpu_model: gpuModel, term } = row;
      return {
        provider,
        account,
        sku,
        region,
        gpuModel,
        term,
        from: first,
        gpus,
        ...pricesOf(prices, { provider, sku, gpuModel, region }, currency, asOf),
      };
    });
    return all.map((series) => (series.term === 'on-demand' ? withCommitments(series, all) : series));
  }

  /**
   * Where the hours end that were read of an account; one that was silent for longer than meters are late is taken to
   * use nothing.
   */
  private async readUntil(
    db: Queryable,
    organisation: string,
    until: number,
  ): Promise<(provider: string, account: string | null) => number> {
    const rows = await db.query<{ provider: string; account: string | null; newest: Date }>(
      `select d.provider, d.account, max(u.hour) as newest
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       where u.organisation = $1 and u.hour >= $2 and u.hour < $3 and u.gpu_part_ms is not null group by 1, 2`,
      [organisation, formatInstant(until - SILENT_HOURS * HOUR_MS), formatInstant(until)],
    );
    const ends = new Map(rows.map((row) => [accountKey(row.provider, row.account), row.newest.getTime() + HOUR_MS]));
    return (provider, account) => ends.get(accountKey(provider, account)) ?? until;
  }

  /**
   * Readings after `after` and up to the request's instant, by the fleet's target where it is known: of a workload all
   * its pods are one resource. A resource is as busy, and as full, as its busiest and fullest GPU. Where a GPU was
   * blank, or fewer were reported than within the hour before, that is unknown: the one that nobody saw may be the one
   * that works. A card that two sources tell of is one.
   *
   * Readings are made of packed minutes when they are looked at, those of one resource at a time: all of a large team
   * would fill the memory. Whoever looks often copies them.
   */
  async resources(
    db: Queryable,
    request: ViewRequest,
    after: number,
    prices: CurrentPrices,
    health: readonly HealthFinding[] = [],
  ): Promise<ResourceView[]> {
    const { organisation, team, currency, asOf } = request;
    const found = await resourceMinutes(db, organisation, team, after, asOf);
    const machines = await this.machines(
      db,
      request,
      found.map(({ newest }) => newest),
    );
    const measured = await this.measured.list(db, organisation, after, [team]);
    const unjoined = new Map(measured.map(({ resource, detail }) => [resource, detail]));
    let shown: { readonly at: ResourceMinutes; readonly readings: readonly Reading[] } | null = null;
    return found.map((one) => {
      const { resource, workload, gpus, gpu_model: gpuModel, provider, sku, region, term, called } = one.newest;
      const machine = machines.get(resource);
      const held = machine?.gpus ?? gpus;
      const ill = health.filter((finding) => finding.resource === resource || called.includes(finding.resource));
      return {
        resource,
        workload,
        gpus,
        gpuModel,
        hourlyNanos: hourlyNanos(prices, { provider, sku, region, gpuModel, term }, held, currency, asOf),
        observedFrom: one.firstAt,
        get readings() {
          if (shown?.at !== one) shown = { at: one, readings: readingsOf(one.minutes) };
          return shown.readings;
        },
        ...(machine === undefined ? {} : { machine }),
        ...unjoinedOf(unjoined.get(resource)),
        ...(ill.length === 0 ? {} : { health: ill }),
      };
    });
  }

  /** The machines of a team that stand by themselves. */
  private async instances(db: Queryable, request: ViewRequest, prices: CurrentPrices): Promise<InstanceView[]> {
    const { organisation, team, currency, asOf } = request;
    const found = await this.fleet.standing(db, organisation, team);
    const covered = found.length === 0 ? [] : await this.covered(db, organisation, asOf);
    return found.map(({ startedAt, ...one }) => {
      const { connection, seen } = one;
      const forbids = seen.labels[WORKLOAD_LABELS.protected];
      return {
        target: seen.target,
        names: [seen.target, `${connection}/${seen.target}`, seen.name],
        machine: machineOf(one, asOf, covered),
        isProtected: forbids === undefined ? null : forbids === 'true',
        startedAt,
        hourlyNanos: hourlyNanos(prices, seen, seen.gpus, currency, asOf),
      };
    });
  }

  /** The fleet's data about the resources that it knows, by resource. */
  private async machines(
    db: Queryable,
    { organisation, asOf }: ViewRequest,
    rows: readonly NewestOfResource[],
  ): Promise<Map<string, MachineView>> {
    const names = rows.flatMap(({ connection, target }) =>
      connection === null || target === null ? [] : [{ connection, target }],
    );
    const seen = await this.fleet.getMany(db, organisation, names);
    const covered = names.length === 0 ? [] : await this.covered(db, organisation, asOf);
    return new Map(
      rows.flatMap(({ resource, connection, target }): [string, MachineView][] => {
        const found = seen.find((one) => one.connection === connection && one.seen.target === target);
        return found === undefined ? [] : [[resource, machineOf(found, asOf, covered)]];
      }),
    );
  }

  /** The recent coverage of commitments, for any team: only the bill decides which machine they cover. */
  private covered(db: Queryable, organisation: string, asOf: number): Promise<Commitment[]> {
    return db.query<Commitment>(
      `select distinct d.provider, d.sku, d.region, d.term, d.gpu_model as "gpuModel"
       from dimension d join usage_hour u on u.organisation = d.organisation and u.dimension = d.id
       where d.organisation = $1 and (d.term like 'reserved%' or d.term like 'savings-plan%') and u.hour >= $2 and u.hour <= $3
       union select body ->> 'provider', body ->> 'sku', body ->> 'region', body ->> 'term', body ->> 'gpuModel' from fleet_target
         where organisation = $1 and gone_at is null and body ->> 'kind' = 'commitment'`,
      [organisation, formatInstant(asOf - COVERED_DAYS * DAY_MS), formatInstant(asOf)],
    );
  }

  /** The newest evaluated period of every budget over the team. What is planned is what the budget says now. */
  private async budgetStates(
    db: Queryable,
    organisation: string,
    team: string,
    asOf: number,
  ): Promise<PolicyView['budgets'][number][]> {
    const budgets = await this.budgets.budgetsOver(db, organisation, new Set([team]));
    if (budgets.length === 0) return [];
    const rows = await db.query<{ budget: string; start: Date; until: Date; state: BudgetStateJson }>(
      `select distinct on (budget) budget, period_start as start, period_end as until, state from budget_state
       where organisation = $1 and budget = any($2::text[]) and period_start <= $3 order by budget, period_start desc`,
      [organisation, budgets.map(({ id }) => id), formatInstant(asOf)],
    );
    return rows.flatMap(({ budget: id, start, until, state }) => {
      const budget = budgets.find((one) => one.id === id);
      if (budget === undefined || budget.currency !== state.currency) return [];
      const period = { start: start.getTime(), end: until.getTime() };
      const planned = plannedFor(budget, period);
      return [
        {
          budget,
          state: {
            ...stateOf(state),
            budget: id,
            period,
            planned,
            status: planned === null ? 'not-planned' : 'planned',
          },
        },
      ];
    });
  }
}

/** Where fewer devices were reported than within the hour before, how busy and how full the resource was is unknown. */
function readingsOf(minutes: readonly ResourceMinute[]): Reading[] {
  let lately: ResourceMinute[] = [];
  return minutes.map((minute) => {
    const { at, devices, gpu, memory, rps, watts, mib } = minute;
    lately = [...lately.filter((one) => one.at >= at - HOUR_MS && one.devices > devices), minute];
    const isWhole = lately.length === 1;
    return {
      at,
      gpuUtilisationRatio: isWhole ? gpu : null,
      memoryUsedRatio: isWhole ? memory : null,
      requestsPerSecond: rps,
      ...(watts === null ? {} : { powerWatts: watts }),
      ...(mib === null ? {} : { memoryUsedMib: mib }),
    };
  });
}

const unjoinedOf = (detail: string | null | undefined): Pick<ResourceView, 'unjoined'> =>
  typeof detail === 'string' ? { unjoined: detail } : {};

/** A recent reading shows the present state; a gone target is gone. */
function machineOf(
  { connection, seen, seenAt, firstSeenAt, goneAt }: SeenTarget,
  asOf: number,
  covered: readonly Commitment[],
): MachineView {
  const { kind, state, term, gpus, replicas, launchedAt } = seen;
  const isCurrent = Math.abs(asOf - seenAt) <= FLEET_STALE_MS;
  const count = kind === 'instance' ? 1 : isCurrent ? (replicas?.ready ?? null) : null;
  return {
    connection,
    kind,
    state: goneAt !== null && goneAt <= asOf ? 'gone' : isCurrent ? state : 'unknown',
    term,
    gpus: gpus === null || count === null ? null : gpus * count,
    launchedAt,
    firstSeenAt,
    group: groupOf(seen),
    stopSaving: savedByStop(
      seen,
      covered.some((one) => mayCover(one, seen)),
    ),
    ...(seen.localDisks === true ? { localDisks: true } : {}),
  };
}

const withHealth = (one: WorkloadView, health: readonly HealthFinding[]): WorkloadView =>
  health.length === 0 ? one : { ...one, health };

function nanos(text: string): bigint {
  const decimal = parseDecimal(text);
  const value = decimal === null ? null : nanosOf(decimal);
  if (value === null) throw new Error(`broken invariant: a stored amount is a decimal (${text})`);
  return value;
}

function stateOf(state: BudgetStateJson): Omit<BudgetState, 'budget' | 'period' | 'planned' | 'status'> {
  const { forecast } = state;
  return {
    currency: state.currency,
    spent: nanos(state.spent),
    credits: nanos(state.credits),
    committed: nanos(state.committed),
    ratio: state.ratio,
    forecast:
      forecast === null
        ? null
        : { mean: nanos(forecast.mean), low: nanos(forecast.low), high: nanos(forecast.high), method: forecast.method },
    burnRatePerDay: state.burnRatePerDay === null ? null : nanos(state.burnRatePerDay),
    exhaustionAt: state.exhaustionAt === null ? null : Date.parse(state.exhaustionAt),
    exhaustionDay: exhaustionDayOf(state),
    unpricedQuantity: (nanos(state.unpricedGpuHours) * PART_MS_PER_GPU_HOUR) / 1_000_000_000n,
  };
}

const accountKey = (provider: string, account: string | null): string => JSON.stringify([provider, account]);

/**
 * An on-demand series beside what commitments served of the same GPUs: their use of the last day tells how many hold
 * now.
 */
function withCommitments(series: DemandSeries, all: readonly DemandSeries[]): DemandSeries {
  const same = all.filter(
    (other) =>
      other.term !== null &&
      termHours(other.term) !== null &&
      other.provider === series.provider &&
      other.account === series.account &&
      other.sku === series.sku &&
      other.region === series.region &&
      other.gpuModel === series.gpuModel,
  );
  if (same.length === 0) return series;
  const coveredGpus = new Float64Array(series.gpus.length);
  for (const other of same) {
    const shift = (other.from - series.from) / HOUR_MS;
    other.gpus.forEach((gpus, hour) => {
      const at = hour + shift;
      if (at >= 0 && at < coveredGpus.length) coveredGpus[at] = (coveredGpus[at] ?? 0) + gpus;
    });
  }
  const committed = same.map((other) => ({
    units: Math.ceil(Math.max(0, ...other.gpus.subarray(Math.max(0, other.gpus.length - 24))) - 1e-9),
    // Metering does not tell when a commitment ends: it is taken to go on.
    hoursLeft: other.term === null ? 0 : (termHours(other.term) ?? 0),
  }));
  return { ...series, coveredGpus, committed };
}
