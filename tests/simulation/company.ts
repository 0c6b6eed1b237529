/**
 * The company of a simulated month: its teams, budgets and policy documents, what runs in its cloud, and the evidence
 * that its meters send.
 *
 * All of it follows from the seed. It is small, so that a month is fast, and it has one of each thing that Bursar acts
 * on: groups that are scaled, moved and scheduled, a machine that falls idle, one that is protected, one that is lent,
 * and one that belongs to nobody.
 */
import type { AllocationRule } from '../../src/core/cost/allocation.js';
import type { Budget } from '../../src/core/budget/budget.js';
import type { GpuSample } from '../../src/core/ports.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import type { CloudOptions } from '../../src/providers/fake/options.js';
import type { MetricPoint } from '../../src/store/workload/workloads.js';
import { Chance } from './chance.js';
import { monthBudget, gpuSample } from '../support/makers.js';

/** Parents first: red counts in the budgets of nobody else, blue also in those of red. */
export const TEAMS = [
  { id: 'red', parent: null },
  { id: 'blue', parent: 'red' },
] as const;
export const PROTECTED = { 'bursar.io/protected': 'true' } as const;

const SMALL = { sku: 'fake.t4x1', region: 'fake-east' } as const;
const LARGE = { sku: 'fake.l40sx4', region: 'fake-east' } as const;
/** What is used: nobody asks for the prices of the rest. */
export const SKUS: ReadonlySet<string> = new Set([SMALL.sku, LARGE.sku]);
export const REGION = SMALL.region;

/** Resources by what they are for; machines are numbered in the order of their launch, those of groups after them. */
export const IDLE = 'i-000001';
export const VAULT = 'i-000002';
export const LENT = 'i-000003';
export const NOBODYS = 'i-000004';

const labels = (
  team: string,
  kind: string,
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => ({ team, 'bursar.io/workload-kind': kind, ...more });

/** What runs from the first instant on. */
export function fleetOf(chance: Chance): Pick<CloudOptions, 'machines' | 'groups'> {
  return {
    machines: [
      { ...SMALL, name: 'idle', labels: labels('blue', 'training') },
      { ...LARGE, name: 'vault', labels: labels('red', 'notebook', PROTECTED) },
      { ...SMALL, name: 'lent', labels: labels('blue', 'batch') },
      { ...SMALL, name: 'nobodys', labels: labels('red', 'batch') },
    ],
    groups: [
      {
        ...LARGE,
        name: 'train',
        desired: chance.whole(1, 3),
        min: 0,
        max: 6,
        spotRatio: chance.pick([0, 0.5, 1]),
        labels: labels('red', 'training', { 'bursar.io/interruptible': 'true' }),
      },
      {
        ...SMALL,
        name: 'serve',
        desired: chance.whole(2, 5),
        min: 1,
        max: 8,
        labels: labels('blue', 'inference', {
          'bursar.io/load-metric': 'requests',
          'bursar.io/boot-minutes': '3',
          'bursar.io/capacity-per-replica': '100',
        }),
      },
      { ...SMALL, name: 'lab', desired: chance.whole(1, 3), min: 0, max: 4, labels: labels('red', 'notebook') },
    ],
  };
}

const ruleFor = (team: string): AllocationRule => ({ match: { label: { key: 'team', value: team } }, team });
export const RULES: readonly AllocationRule[] = TEAMS.map(({ id }) => ruleFor(id));

/** The rules after a machine was given to another team. */
export const rulesWith = (moved: ReadonlyMap<string, string>): AllocationRule[] => [
  ...[...moved].map(([resource, team]): AllocationRule => ({ match: { resource }, team })),
  ...RULES,
];

/** Planned amounts of a month between much too little and plenty. */
export function budgetsOf(chance: Chance): Budget[] {
  const budget = (id: string, team: string, planned: number): Budget =>
    monthBudget({
      id,
      team,
      planned: { default: String(planned), periods: {} },
      thresholds: [
        { kind: 'actual', ratio: '0.5' },
        { kind: 'actual', ratio: '0.9' },
        { kind: 'forecast', ratio: '1' },
        { kind: 'actual', ratio: '1' },
      ],
    });
  return [budget('blue', 'blue', chance.whole(4000, 20_000)), budget('red', 'red', chance.whole(1000, 14_000))];
}

/** How the cloud bills, which its meter does not know. */
export interface Billing {
  /** Who is billed for the account that runs the machines; null: that account itself. */
  readonly payer: string | null;
  /** What is charged because of a machine (its disk, traffic, licence and tax) names it as its resource. */
  readonly namesMachines: boolean;
  /**
   * The hours of machines have SKUs of the bill's own: only the resource tells which of the meter's they are, and one
   * that was resized tells of two.
   */
  readonly hasOwnSkus: boolean;
}

/** By a sequence of its own: it moves nothing else of the seed. */
export function billingOf(seed: number): Billing {
  const chance = new Chance(seed ^ 0xb111);
  return {
    payer: chance.happens(0.5) ? 'payer' : null,
    namesMachines: chance.happens(0.5),
    hasOwnSkus: chance.happens(0.25),
  };
}

const OWN_SKU = 'price of ';
/** What a bill with SKUs of its own calls a machine's hours, and what the meter calls them. */
export const ownSkuOf = (sku: string): string => `${OWN_SKU}${sku}`;
export const meterSkuOf = (sku: string): string => (sku.startsWith(OWN_SKU) ? sku.slice(OWN_SKU.length) : sku);

/** What is charged because of a machine, by its size, and is not its hours. Of traffic the source does not say so. */
export const BESIDE_HOURS = [
  { what: 'disk of', isToldApart: true },
  { what: 'traffic of', isToldApart: false },
  { what: 'licence of', isToldApart: true },
] as const;

/** What is asked of the policies, as people write it. */
export function documentsOf(chance: Chance): unknown[] {
  const mode = (): string => chance.pick(['approve', 'enforce', 'enforce']);
  return [
    { name: 'idle', policy: 'idle-stop', teams: '*', mode: mode() },
    { name: 'brake', policy: 'budget-brake', teams: ['red', 'blue'], mode: mode() },
    { name: 'spot', policy: 'spot-shift', teams: ['red'], mode: mode() },
    { name: 'track', policy: 'target-tracking', teams: ['blue'], mode: mode(), params: { windowMinutes: 30 } },
    {
      name: 'nights',
      policy: 'schedule',
      teams: ['red'],
      mode: mode(),
      params: {
        targets: ['group/lab'],
        windows: [{ from: '08:00', to: '20:00', running: true }],
        otherwise: { running: false },
      },
    },
    { name: 'leases', policy: 'lease', teams: ['blue'], mode: mode(), params: { warnHours: 24 } },
    { name: 'reckless', policy: 'reckless', teams: ['red', 'blue'], mode: 'enforce', priority: -1 },
  ];
}

/** The readings of the last hours of the machines that are watched: one works now and then, one is left alone. */
export function samplesOf(chance: Chance, from: number, now: number): GpuSample[] {
  const found: GpuSample[] = [];
  const isBusy = chance.happens(0.3);
  for (
    let at = Math.ceil(Math.max(from, now - 3 * HOUR_MS) / (10 * MINUTE_MS)) * 10 * MINUTE_MS;
    at <= now;
    at += 10 * MINUTE_MS
  ) {
    found.push(
      sampleOf(IDLE, 'T4', { ...SMALL, team: 'blue', workload_kind: 'training' }, at, isBusy ? 0.9 : 0),
      sampleOf(VAULT, 'L40S', { ...LARGE, team: 'red', workload_kind: 'notebook' }, at, 0),
    );
  }
  return found;
}

const sampleOf = (
  resource: string,
  gpuModel: string,
  place: Readonly<Record<string, string>>,
  at: number,
  gpuUtilisationRatio: number,
): GpuSample =>
  gpuSample({
    resource,
    gpu: `${resource}/0`,
    gpuModel,
    at,
    gpuUtilisationRatio,
    memoryUsedRatio: 0.1,
    temperatureCelsius: 40,
    pcieReplays: 0,
    labels: { provider: 'Fake Cloud', ...place },
  });

/** The load of the service in the last minutes, in requests a minute. */
export function loadOf(chance: Chance, now: number): MetricPoint[] {
  const level = chance.whole(20, 700);
  const last = Math.floor(now / MINUTE_MS);
  return Array.from({ length: 31 }, (_, n) => ({
    workload: 'group/serve',
    name: 'requests',
    at: (last - 31 + n) * MINUTE_MS,
    value: level,
  }));
}

/** A lease that ends within the month. */
export const leaseOf = (chance: Chance, from: number) => ({
  lease: 'lease-1',
  target: `instance/${LENT}`,
  holder: 'ada',
  gpus: 1,
  startedAt: from,
  expiresAt: from + chance.whole(1, 8) * DAY_MS,
  active: true,
  provider: 'Fake Cloud',
  ...SMALL,
  gpuModel: 'T4',
});
