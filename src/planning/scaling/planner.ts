/**
 * Bursar's scaling planner: how many replicas to have, decided from the past alone.
 *
 * One number sets the risk: `price`, what a replica-minute of unserved load is worth in replica-minutes of fleet. Every
 * minute the planner tells surges from the calm load (regimes.ts), forecasts the load at which a new replica would
 * arrive (forecast.ts), lets some two hundred rules, the published ones among them, decide on imagined fleets
 * (rehearsal.ts), and follows their median, weighted by what each would have cost so far (mixture.ts).
 *
 * Never sees the load of the minute that it decides for. The same history gives the same decision, live and in a
 * backtest.
 */

import { invalid, type Problem } from '../../core/errors.js';
import { Distribution } from './distribution.js';
import { LoadForecaster, priorForecast, type CalmForecast } from './forecast.js';
import { RegimeFilter } from './regimes.js';
import { Mixture, type MixtureSettings } from './mixture.js';
import { hpaRule, Rehearsal } from './rehearsal.js';
import { checkLimits, clamp, type FleetLimits, type ScalingPolicy } from './simulate.js';

export interface RiskSetting {
  /** Worth of a replica-minute of unserved load, in replica-minutes; above 1. */
  readonly price: number;
  /** Replicas kept beyond the plan, as a share of it; 0 unless load must never go unserved. */
  readonly reserve: number;
  /** The utilisation target of the HPA that the plan takes over from: it is trusted from the start. */
  readonly takesOver?: number | undefined;
}

/** Where the load jumps from minute to minute a price of 20 leaves up to half as much again unserved. */
export const DEFAULT_RISK: RiskSetting = { price: 80, reserve: 0 };

/**
 * The settings of the reports: prices, from cheapest to safest, then some with a reserve, then the default one as it
 * takes over from an HPA. A high price buys against rare surges, a reserve against the noise of every minute: where no
 * surge comes the reserve is the cheaper of the two.
 */
export const RISK_SETTINGS: readonly RiskSetting[] = [
  ...[1.05, 1.2, 1.5, 2, 3, 4, 5, 6.5, 8, 11, 15, 20, 30, 50, 80, 150, 300, 600, 2000, 6000, 20_000].map((price) => ({
    price,
    reserve: 0,
  })),
  ...(
    [
      [20, 0.05],
      [20, 0.1],
      [20, 0.2],
      [30, 0.15],
      [50, 0.2],
      [80, 0.05],
      [150, 0.05],
      [15, 0.5],
      [20, 0.5],
      [20, 0.8],
      [20_000, 1],
    ] as const
  ).map(([price, reserve]) => ({ price, reserve })),
  ...[0.5, 0.7, 0.9].map((takesOver) => ({ ...DEFAULT_RISK, takesOver })),
];

/** `bursar@80`, `bursar@2000+10%` with a reserve, or `bursar@80,hpa-0.9` where it takes over. */
export const riskName = ({ price, reserve, takesOver }: RiskSetting): string =>
  `bursar@${price}${reserve > 0 ? `+${Math.round(reserve * 100)}%` : ''}${takesOver === undefined ? '' : `,hpa-${takesOver}`}`;

/** Settings that differ in the reserve alone share one mixture. */
const mixtureOf = ({ price, takesOver }: RiskSetting): string => `${price}/${takesOver ?? ''}`;

/** Number of recent minutes that a minute to come may be like. */
const RECENT_MINUTES = 240;
/** Minutes' worth of noise that the sum of a load has to begin with. */
const FIRST_NOISE_MINUTES = 40;
/** What the past says, shared by all risk settings; decides for each of some prices. */
class LoadPlanner {
  private readonly regimes = new RegimeFilter();
  private readonly forecaster: LoadForecaster;
  private readonly rehearsal: Rehearsal;
  private readonly mixtures: ReadonlyMap<string, Mixture>;
  private readonly recent: number[] = [];
  private minutes = 0;
  private loadSum = 0;
  private calm: CalmForecast;

  constructor(
    private readonly limits: FleetLimits,
    startingReplicas: number,
    risks: readonly RiskSetting[],
    mixture?: MixtureSettings,
  ) {
    this.forecaster = new LoadForecaster(limits.bootMinutes);
    const rehearsal = new Rehearsal(limits, startingReplicas);
    this.rehearsal = rehearsal;
    this.mixtures = new Map(
      risks.map((risk) => [
        mixtureOf(risk),
        new Mixture(
          risk.price,
          startingReplicas,
          rehearsal.count,
          limits.bootMinutes,
          mixture,
          risk.takesOver === undefined ? null : hpaRule(risk.takesOver),
        ),
      ]),
    );
    this.calm = priorForecast(startingReplicas);
  }

  /** Expected load beyond k replicas, k from 0, in the minute in which a replica ordered now begins to serve. */
  get shortfall(): Float64Array {
    return this.regimes.shortfall(this.calm, this.limits.bootMinutes, this.limits.maxReplicas);
  }

  /** The load without surges in that minute, in replicas. */
  get calmLoad(): number {
    return this.calm.root * this.calm.root;
  }

  /** Takes the load of the minute that ended, and decides for the next one. */
  observe(load: number): void {
    this.rehearsal.settle(load);
    this.forecaster.observe(this.regimes.observe(load));
    this.calm = this.forecaster.predict();
    this.recent.push(Math.sqrt(load));
    if (this.recent.length > RECENT_MINUTES) this.recent.shift();
    const recentBeyond = this.recentBeyond();
    this.rehearsal.decide({
      calmRoot: this.calm.root,
      calmDeviation: this.calm.deviation,
      presentRoot: this.regimes.present(this.calm),
      recentBeyond,
    });
    this.minutes++;
    this.loadSum += load;
    const noise = (this.loadSum / this.minutes) * Math.sqrt(this.minutes + FIRST_NOISE_MINUTES);
    for (const mixture of this.mixtures.values()) mixture.decide(this.rehearsal, load, recentBeyond, noise);
  }

  /** Replicas to have in the minute that begins; the setting must be one of those given at the start. */
  wanted(risk: RiskSetting): number {
    return clamp(Math.ceil(this.mixtures.get(mixtureOf(risk))!.replicas * (1 + risk.reserve) - 1e-9), this.limits);
  }

  /** Mean load beyond k replicas, k from 0 to the largest fleet, in the recent minutes. */
  private recentBeyond(): Float64Array {
    const distribution = new Distribution(this.limits.maxReplicas);
    for (const root of this.recent) distribution.add(root, 1);
    return distribution.shortfall();
  }
}

/**
 * One policy per risk setting for `simulate`, all sharing one planner of the same load; each is for a single run.
 *
 * @param mixture given only where its settings are chosen.
 */
export function bursarPolicies(
  load: Float64Array,
  limits: FleetLimits,
  startingReplicas: number,
  risks: readonly RiskSetting[],
  mixture?: MixtureSettings,
): ScalingPolicy[] {
  const loadPlanner = new LoadPlanner(limits, startingReplicas, risks, mixture);
  const wishes = risks.map(() => new Int32Array(load.length));
  for (let minute = 0; minute < load.length; minute++) {
    // The decision for a minute is made before its load is observed; nothing later can change it.
    if (minute > 0) loadPlanner.observe(load[minute - 1]!);
    risks.forEach((risk, i) => (wishes[i]![minute] = loadPlanner.wanted(risk)));
  }
  return wishes.map((wish) => (view) => wish[view.minute]!);
}

export interface FleetState {
  readonly ready: number;
  readonly booting: number;
}

export interface PlanSettings extends FleetLimits {
  readonly risk: RiskSetting;
  /** What one replica serves in a minute, in the unit of the history (requests, tokens, busy GPU-minutes). */
  readonly capacityPerReplica: number;
}

/** A decision with the numbers that led to it; loads in replicas. */
export interface ReplicaPlan {
  readonly replicas: number;
  readonly current: number;
  /** Minutes of history used, and the minute (from the last one) that a replica ordered now would begin to serve. */
  readonly historyMinutes: number;
  readonly leadMinutes: number;
  readonly expectedLoad: number;
  readonly calmLoad: number;
  readonly price: number;
  /** Share of the expected load that the plan, and that the present fleet, would leave unserved at that minute. */
  readonly expectedUnservedShare: number;
  readonly currentUnservedShare: number;
}

/**
 * Replicas to have now, for the live policy `target-tracking`. Pure: it replays the history, so the same history gives
 * what a backtest would have decided. An empty history keeps the fleet: no evidence never means idle.
 *
 * @param history load of each finished minute, oldest first, without gaps; two weeks of it take well under a second.
 * @throws invalid naming every value that is not usable.
 */
export function planReplicas(history: ArrayLike<number>, state: FleetState, settings: PlanSettings): ReplicaPlan {
  checkLimits(settings);
  checkPlan(history, state, settings);
  const current = state.ready + state.booting;
  const load = Float64Array.from(history, (value) => value / settings.capacityPerReplica);
  const loadPlanner = new LoadPlanner(
    settings,
    clamp(load.length > 0 ? Math.ceil(load[0]! - 1e-9) : current, settings),
    [settings.risk],
  );
  for (const value of load) loadPlanner.observe(value);
  const replicas = load.length === 0 ? clamp(current, settings) : loadPlanner.wanted(settings.risk);
  const { shortfall, calmLoad } = loadPlanner;
  const expected = shortfall[0]!;
  const unserved = (fleet: number): number =>
    expected > 0 ? shortfall[Math.min(fleet, shortfall.length - 1)]! / expected : 0;
  return {
    replicas,
    current,
    historyMinutes: load.length,
    leadMinutes: settings.bootMinutes + 1,
    expectedLoad: load.length === 0 ? calmLoad : expected,
    calmLoad,
    price: settings.risk.price,
    expectedUnservedShare: unserved(replicas),
    currentUnservedShare: unserved(current),
  };
}

function checkPlan(history: ArrayLike<number>, state: FleetState, settings: PlanSettings): void {
  const problems: Problem[] = [];
  const need = (holds: boolean, path: string, message: string): void =>
    void (holds || problems.push({ path, message }));
  for (let i = 0; i < history.length && problems.length < 20; i++) {
    need(
      Number.isFinite(history[i]!) && history[i]! >= 0,
      `history/${i}`,
      'must be a load of 0 or more: a missing minute is not an idle one',
    );
  }
  need(Number.isInteger(state.ready) && state.ready >= 0, 'ready', 'must be a whole number of 0 or more');
  need(Number.isInteger(state.booting) && state.booting >= 0, 'booting', 'must be a whole number of 0 or more');
  need(
    settings.capacityPerReplica > 0 && Number.isFinite(settings.capacityPerReplica),
    'capacityPerReplica',
    'must be above 0',
  );
  need(
    settings.risk.price > 1 && Number.isFinite(settings.risk.price),
    'risk/price',
    'must be above 1, otherwise no replica ever pays off',
  );
  need(settings.risk.reserve >= 0 && settings.risk.reserve <= 10, 'risk/reserve', 'must be from 0 to 10');
  if (problems.length > 0) throw invalid('the scaling plan cannot be made from these inputs', problems);
}
