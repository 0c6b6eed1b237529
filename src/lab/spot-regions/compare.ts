/**
 * The backtest of spot over many zones: every policy and the optimum over the same windows of one recording.
 *
 * It takes recordings, never files. An opponent that can be read in several ways runs in all of them, and the reading
 * that is cheapest over all windows is the opponent. The invariant: what Bursar knows of a window is the readings
 * before its start that the terms leave, and other recordings; what runs it never sees the window but through its desk.
 */
import { pooledShare, type BacktestProgress } from '../../core/policy/backtest.js';
import {
  beliefAfter,
  evidenceOf,
  learnZones,
  type Evidence,
  type Readings,
  type ZoneModel,
} from '../../planning/spot-regions/availability.js';
import { bursarRegions } from '../../planning/spot-regions/bursar.js';
import { onDemandCost, type RegionsProblem, type RegionsWindow } from '../../planning/spot-regions/problem.js';
import {
  simulateRegions,
  type RegionsPolicy,
  type RegionsRun,
  type RegionsStep,
} from '../../planning/spot-regions/simulate.js';
import { mulberry32 } from '../random.js';
import { pacedOpponents } from './opponents.js';
import { regionsOptimum } from './optimum.js';
import { SETTINGS, skyNomad, trueLifetimes } from './skynomad.js';

/**
 * Names in the order of reports. The last two run only where they are asked for: one is told every lifetime, the other
 * how the zones of the window are.
 */
export const POLICIES = [
  'bursar',
  'skynomad',
  'uniform-progress-all',
  'uniform-progress-best-zone',
  'round-robin',
  'greedy',
  'on-demand',
  'skynomad-told',
  'bursar-told',
] as const;
export type PolicyName = (typeof POLICIES)[number];

export interface RegionsCase {
  readonly start: number;
  readonly window: RegionsWindow;
  /** What is known of each zone before the start. */
  readonly pasts: readonly Readings[];
}

export interface RegionsComparison {
  readonly problem: RegionsProblem;
  readonly cases: readonly RegionsCase[];
  /** Other recordings to learn from. */
  readonly lessons: readonly Readings[];
  readonly policies: readonly PolicyName[];
}

export interface WindowResult {
  readonly start: number;
  readonly optimum: number;
  readonly onDemand: number;
  readonly policies: Readonly<Record<string, RegionsRun>>;
}

export interface PolicySummary {
  readonly meanCost: number;
  /** Cost over the optimum's: 1.05 is 5 % dearer. */
  readonly overOptimum: number;
  readonly meanShare: number | null;
  /** The largest of the windows' costs over their optimum. */
  readonly worstWindow: number;
  readonly misses: number;
}

export interface RegionsResult {
  readonly windows: readonly WindowResult[];
  readonly summary: Readonly<Record<string, PolicySummary>>;
}

/** A decision of `bursar` in window number `window`. */
export type TakeStep = (window: number, step: RegionsStep) => void;

/** Runs everything, and tells after each window and policy how far it is. */
export function compareRegions(
  comparison: RegionsComparison,
  progress: BacktestProgress = () => undefined,
  decided: TakeStep = () => undefined,
): RegionsResult {
  const { problem, cases, policies } = comparison;
  const runs = new Map<PolicyName, readonly RegionsRun[]>();
  const steps = policies.length + 1;
  let done = 0;
  const optima = cases.map(({ window }) => {
    const optimum = regionsOptimum(problem, window);
    progress(++done / (steps * cases.length));
    return optimum;
  });
  const tell = (): void => progress(++done / (steps * cases.length));
  for (const name of policies) runs.set(name, runsOf(name, comparison, tell, decided));
  const onDemand = onDemandCost(problem);
  const windows = cases.map(
    ({ start }, i): WindowResult => ({
      start,
      optimum: optima[i] ?? NaN,
      onDemand,
      policies: Object.fromEntries([...runs].flatMap(([name, of]) => (of[i] === undefined ? [] : [[name, of[i]]]))),
    }),
  );
  const summary = Object.fromEntries([...runs].map(([name, of]) => [name, summaryOf(of, optima, onDemand)]));
  return { windows, summary };
}

function runsOf(
  name: PolicyName,
  { problem, cases, lessons }: RegionsComparison,
  windowDone: () => void,
  decided: TakeStep,
): readonly RegionsRun[] {
  const each = (policy: (one: RegionsCase) => RegionsPolicy, record?: TakeStep): RegionsRun[] =>
    cases.map((one, i) => simulateRegions(problem, one.window, policy(one), (step) => record?.(i, step)));
  const counted = (runs: readonly RegionsRun[]): readonly RegionsRun[] => {
    for (const _ of cases) windowDone();
    return runs;
  };
  if (name === 'bursar') {
    const others = lessons.map((lesson) => evidenceOf(lesson));
    return cases.map((one, i) => {
      const run = simulateRegions(problem, one.window, bursarOf(problem, one, others), (step) => decided(i, step));
      windowDone();
      return run;
    });
  }
  if (name === 'bursar-told')
    return counted(cases.map((one) => simulateRegions(problem, one.window, informedOf(problem, one))));
  if (name === 'skynomad') return counted(cheapest(SETTINGS.map((setting) => each(() => skyNomad(problem, setting)))));
  if (name === 'skynomad-told') {
    const settings = SETTINGS.filter(({ probesAgain, mostHours }) => !probesAgain && mostHours === Infinity);
    return counted(
      cheapest(
        settings.map((setting) => each(({ window }) => skyNomad(problem, setting, trueLifetimes(problem, window)))),
      ),
    );
  }
  const readings = pacedOpponents(problem).get(name) ?? [];
  return counted(cheapest(readings.map((policy) => each(() => policy))));
}

/** Bursar as it runs one window: taught by what is known before its start. */
function bursarOf(problem: RegionsProblem, one: RegionsCase, others: readonly Evidence[]): RegionsPolicy {
  const zones = one.pasts.map((past, zone) => ({ region: problem.regionOf[zone] ?? 0, past }));
  return believing(problem, one, learnZones(zones, others));
}

/** Bursar told how often spells of which class come in each zone of this very window, and at which hours they end. */
function informedOf(problem: RegionsProblem, one: RegionsCase): RegionsPolicy {
  const tickSeconds = problem.tickUnits * problem.unitSeconds;
  const models = one.window.available.flatMap((states) =>
    learnZones([{ region: 0, past: { tickSeconds, states } }], []),
  );
  return believing(problem, one, models);
}

function believing(problem: RegionsProblem, { pasts }: RegionsCase, models: readonly ZoneModel[]): RegionsPolicy {
  const beliefs = pasts.flatMap((past, zone) => {
    const own = models[zone];
    return own === undefined ? [] : [beliefAfter(own, past)];
  });
  return bursarRegions(problem, { beliefs, random: () => mulberry32(SEED) });
}

const SEED = 20_260_106;

/** The reading that is cheapest over all windows. */
function cheapest(readings: readonly (readonly RegionsRun[])[]): readonly RegionsRun[] {
  const total = (runs: readonly RegionsRun[]): number => runs.reduce((sum, { cost }) => sum + cost, 0);
  return readings.reduce((best, runs) => (total(runs) < total(best) ? runs : best));
}

function summaryOf(runs: readonly RegionsRun[], optima: readonly number[], onDemand: number): PolicySummary {
  const [cost, optimum] = [runs.reduce((sum, run) => sum + run.cost, 0), optima.reduce((sum, one) => sum + one, 0)];
  return {
    meanCost: cost / runs.length,
    overOptimum: cost / optimum,
    meanShare: pooledShare({ baseline: onDemand * runs.length, policy: cost, optimum }),
    worstWindow: Math.max(...runs.map((run, i) => run.cost / (optima[i] ?? NaN))),
    misses: runs.filter(({ finished }) => !finished).length,
  };
}
