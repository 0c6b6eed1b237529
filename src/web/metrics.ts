/**
 * The metrics of a process and of its installation, as Prometheus text by the official client.
 *
 * Names follow Prometheus' rules (https://prometheus.io/docs/practices/naming/): base units at the end, a ratio is 0 to
 * 1, money carries its currency as a label and is never added over currencies. An unknown value has no sample: absent,
 * never 0. Work is shown to everybody, money only with a key that allows it.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Principal } from '../store/access/keys.js';
import { parseSpendQuery } from '../core/cost/spend-query.js';
import type { WebParts } from './parts.js';

export const METRICS_MEDIA = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: string | number | null | undefined];

/** The process' own metrics (event loop, memory, garbage collection), collected from its start. */
const ofProcess = new Registry();
collectDefaultMetrics({ register: ofProcess });

/** One scrape. `principal` null: the caller is unknown, and no money is shown. */
export async function metricsText(parts: WebParts, principal: Principal | null): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, samples: readonly Sample[]): void => {
    const labelNames = [...new Set(samples.flatMap(([labels]) => Object.keys(labels)))];
    const made = new Gauge({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of samples)
      if (value !== null && value !== undefined) made.set({ ...labels }, Number(value));
  };
  await work(parts, registry, gauge);
  if (principal?.scopes.includes('read') === true) {
    await spend(parts, principal, gauge);
    await budgets(parts, principal, gauge);
    await acting(parts, principal, gauge);
  }
  return `${await registry.metrics()}${await ofProcess.metrics()}`;
}

type AddGauge = (name: string, help: string, samples: readonly Sample[]) => void;

async function work({ stores, clock, tick }: WebParts, registry: Registry, gauge: AddGauge): Promise<void> {
  const stages = await stores.gauges.stages(clock.now());
  const { queueAgeSeconds } = await stores.health.readiness(clock.now());
  gauge(
    'bursar_work_waiting',
    'Keys of a stage that wait to be processed: the depth of its queue.',
    stages.map(({ stage, waiting }) => [{ stage }, waiting]),
  );
  gauge(
    'bursar_work_urgent',
    'The waiting keys that belong to work that somebody waits for, with everything that follows from it.',
    stages.map(({ stage, urgent }) => [{ stage }, urgent]),
  );
  gauge(
    'bursar_work_parked',
    'Keys of a stage that failed too often and wait for a person.',
    stages.map(({ stage, parked }) => [{ stage }, parked]),
  );
  gauge(
    'bursar_work_lag_seconds',
    'Time since the oldest due key of a stage was enqueued; absent if none is due.',
    stages.map(({ stage, lagSeconds }) => [{ stage }, lagSeconds]),
  );
  gauge(
    'bursar_tick_failures',
    "Consecutive failures of a part of this process' tick that keeps failing; absent if none does.",
    (tick?.stuck ?? []).map(({ name, failures }) => [{ part: name }, failures]),
  );
  gauge(
    'bursar_audit_unsent',
    'Entries of the audit that its collector has not accepted; `problem` says why it accepts none. Absent if no collector is set.',
    (await stores.auditStream.gauges(clock.now())).map(({ unsent, problem }) => [{ problem: problem ?? '' }, unsent]),
  );
  const dropped = new Counter({
    name: 'bursar_admission_notes_dropped_total',
    help: 'Refusals and warnings of the admission webhook that this process could not keep, since its start.',
    registers: [registry],
  });
  dropped.inc(stores.admissions.dropped);
  gauge('bursar_work_age_seconds', 'Time since the oldest due key of any stage was enqueued; 0 if none is due.', [
    [{}, queueAgeSeconds ?? 0],
  ]);
}

/** Spend of the running month, up to the end of the known data. */
async function spend({ stores, clock }: WebParts, { organisation, teams }: Principal, gauge: AddGauge): Promise<void> {
  const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
  const fx = await stores.prices.fx(stores.db, organisation);
  const { rows } = await stores.spend.spend(
    organisation,
    parseSpendQuery({ from: new Date(asOf).toISOString().slice(0, 7), groupBy: 'team', teams }),
    fx,
  );
  const labels = (row: (typeof rows)[number]): Labels => ({ team: row['team'] ?? '', currency: row.currency });
  gauge(
    'bursar_spend_month',
    'Actual cost of the running month (UTC) in the currency of the label.',
    rows.map((row) => [labels(row), row.cost]),
  );
  gauge(
    'bursar_unpriced_gpu_seconds_month',
    'GPU-seconds of the running month that have no price and are not in any cost.',
    rows.map((row) => [labels(row), Number(row.unpricedQuantity) * 3600]),
  );
}

async function budgets(
  { stores, clock }: WebParts,
  { organisation, teams }: Principal,
  gauge: AddGauge,
): Promise<void> {
  const asOf = await stores.organisations.asOf(stores.db, organisation, clock.now());
  const states = (await stores.budgets.states(organisation, asOf)).filter(
    ({ team }) => teams === null || teams.includes(team),
  );
  const samplesOf = (value: (state: (typeof states)[number]['state']) => string | number | null): Sample[] =>
    states.map(({ budget, team, state }): Sample => [{ budget, team, currency: state.currency }, value(state)]);
  const ratio = (part: string | null | undefined, planned: string | null): number | null =>
    part === null || part === undefined || planned === null || Number(planned) === 0
      ? null
      : Number(part) / Number(planned);
  gauge(
    'bursar_budget_planned',
    'Planned amount of the running period.',
    samplesOf(({ planned }) => planned),
  );
  gauge(
    'bursar_budget_spent',
    'Spent in the running period.',
    samplesOf(({ spent }) => spent),
  );
  gauge(
    'bursar_budget_committed',
    'Owed or reserved in the running period, not yet spent.',
    samplesOf(({ committed }) => committed),
  );
  gauge(
    'bursar_budget_spent_ratio',
    'Spent over planned.',
    samplesOf(({ spent, planned }) => ratio(spent, planned)),
  );
  gauge(
    'bursar_budget_forecast',
    "Forecast of the period's end.",
    samplesOf(({ forecast }) => forecast?.mean ?? null),
  );
  gauge(
    'bursar_budget_forecast_ratio',
    "Forecast of the period's end over planned.",
    samplesOf(({ forecast, planned }) => ratio(forecast?.mean, planned)),
  );
  gauge(
    'bursar_budget_exhaustion_timestamp_seconds',
    'When the budget runs out at the present rate; absent if it does not.',
    samplesOf(({ exhaustionAt }) => (exhaustionAt === null ? null : Date.parse(exhaustionAt) / 1000)),
  );
}

async function acting({ stores, clock }: WebParts, { organisation, teams }: Principal, gauge: AddGauge): Promise<void> {
  const [actions, open, savings] = [
    await stores.gauges.actions(organisation, teams),
    await stores.gauges.recommendations(organisation, teams),
    await stores.gauges.savings(organisation, teams),
  ];
  gauge(
    'bursar_actions',
    'Actions by their state.',
    actions.map(({ team, state, count }) => [{ team, state }, count]),
  );
  gauge(
    'bursar_recommendations_open',
    'Recommendations without a decision.',
    open.map(({ team, count }) => [{ team }, count]),
  );
  gauge(
    'bursar_savings_measured',
    'Saved so far, compared with what would have happened otherwise, measured from priced usage; negative is a loss.',
    savings.map(({ team, currency, measured }) => [{ team, currency }, measured]),
  );
  gauge(
    'bursar_savings_verified',
    'The part of the measured saving that a closed bill has confirmed.',
    savings.map(({ team, currency, verified }) => [{ team, currency }, verified]),
  );
  if (teams !== null) return;
  const fleets = await stores.fleet.coverage(stores.db, organisation, clock.now());
  gauge(
    'bursar_fleet_age_seconds',
    'Time since a connection was last read completely; absent before the first time.',
    fleets.map(({ connection, completeAt }) => [
      { connection },
      completeAt === null ? null : (clock.now() - completeAt) / 1000,
    ]),
  );
  gauge(
    'bursar_fleet_targets',
    'Targets in the last reading of a connection.',
    fleets.map(({ connection, targets }) => [{ connection }, targets]),
  );
}
