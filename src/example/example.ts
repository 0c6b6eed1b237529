/**
 * The bundled example: a real GPU cluster, metered, priced and held against budgets, with two real bills beside it.
 *
 * What is real: the pods, their GPUs, their times and QoS classes, the nodes and their GPU models (Alibaba's openb
 * trace), the price lists, the bills. What is ASSIGNED, by the rules written here and labelled so wherever it shows:
 * the calendar (when second 0 was), the node of each pod (placement.ts), the provider that a GPU model is bought from,
 * the teams (by QoS class), the budgets and the exchange rates. Runs once, on an empty database; never touches any
 * other.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { checkBudget, type Budget } from '../core/budget/budget.js';
import type { AllocationRule } from '../core/cost/allocation.js';
import { parseDecimal } from '../core/decimal.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import type { Importer, ImportOptions, UsageFormat } from '../core/ports.js';
import { HOUR_MS } from '../core/time.js';
import { GPU_PARTS, type UsageRecord } from '../core/usage.js';
import type { FileToImport } from '../store/usage/intake.js';
import type { Team } from '../store/access/organisation.js';
import type { Stores } from '../store/stores.js';
import { placePods, type Node, type PodToPlace } from './placement.js';

/** Assigned: the trace's second 0. Its last whole hour then ends at 2026-10-30T08:00Z. */
export const EXAMPLE_ORIGIN = Date.UTC(2026, 5, 3);
/** The setting that tells a load which was cut short from one that is done. */
const LOAD = 'example-load';
const ASSIGNED = 'assigned by the example: team by QoS class';
/** Beside src/ in a checkout and beside dist/ once compiled. */
const DATA =
  ['../..', '../../..']
    .map((up) => path.join(import.meta.dirname, up, 'examples/data'))
    .find((folder) => existsSync(folder)) ?? 'examples/data';

export const EXAMPLE_TEAMS: readonly Team[] = [
  { id: 'ai', name: 'AI (all teams)', parent: null, zone: 'UTC', currency: 'USD', assignedBy: ASSIGNED },
  {
    id: 'serving',
    name: 'Serving (latency-sensitive pods)',
    parent: 'ai',
    zone: 'UTC',
    currency: 'USD',
    assignedBy: ASSIGNED,
  },
  {
    id: 'research',
    name: 'Research (best-effort pods)',
    parent: 'ai',
    zone: 'UTC',
    currency: 'USD',
    assignedBy: ASSIGNED,
  },
  {
    id: 'training',
    name: 'Training (burstable pods)',
    parent: 'ai',
    zone: 'UTC',
    currency: 'USD',
    assignedBy: ASSIGNED,
  },
  {
    id: 'platform',
    name: 'Platform (guaranteed pods)',
    parent: 'ai',
    zone: 'UTC',
    currency: 'USD',
    assignedBy: ASSIGNED,
  },
];

export const EXAMPLE_RULES: readonly AllocationRule[] = [
  { match: { tag: { key: 'qos', value: 'LS' } }, team: 'serving' },
  { match: { tag: { key: 'qos', value: 'BE' } }, team: 'research' },
  { match: { tag: { key: 'qos', value: 'Burstable' } }, team: 'training' },
  { match: { tag: { key: 'qos', value: 'Guaranteed' } }, team: 'platform' },
];

const monthly = (id: string, team: string, amount: string): Budget =>
  checkBudget({
    id,
    team,
    period: 'month',
    zone: 'UTC',
    currency: 'USD',
    filters: {},
    planned: { default: amount, periods: {} },
    includeCredits: true,
    thresholds: [
      { kind: 'actual', ratio: '0.5' },
      { kind: 'actual', ratio: '0.8' },
      { kind: 'actual', ratio: '1' },
      { kind: 'forecast', ratio: '1' },
    ],
  });

/** Assigned: no plan came with the trace. */
export const EXAMPLE_BUDGETS: readonly Budget[] = [
  monthly('ai-monthly', 'ai', '48000'),
  monthly('serving-monthly', 'serving', '46000'),
  monthly('research-monthly', 'research', '700'),
  monthly('training-monthly', 'training', '400'),
  monthly('platform-monthly', 'platform', '300'),
];

/**
 * Assigned: round numbers of the size seen in autumn 2024, the date of the one list that is not in USD. No quotation.
 */
const EXAMPLE_FX = [
  { day: '2024-01-01', currency: 'CNY', perBase: '7.1' },
  { day: '2024-01-01', currency: 'EUR', perBase: '0.92' },
];

const PRICE_LISTS = [
  'alibaba-gpu-prices/alibaba_gpu_prices_6regions.csv',
  'aws-ondemand-price-history/aws_gpu_ondemand_us-east-1_2022-06_2026-07.csv',
  'aws-reserved-price-sample/gpu_reserved_us_regions_2017-11-12.csv',
  'gcp-gpu-prices/gcp_gpu_instances_2026-07-30.csv',
];
const BILLS = ['focus-sample/focus_sample_2024-09-01_18.csv', 'bills-native/oci_cost_report_first60pct.csv'];

/** The example's own reader of pods, handed in from the formats. */
export interface PodSource {
  readonly format: UsageFormat;
  readPods(
    text: string,
  ): Promise<
    readonly {
      name: string;
      gpus: number;
      gpuMilli: number;
      scheduledSeconds: number | null;
      deletedSeconds: number | null;
      qos: string;
    }[]
  >;
}

export interface ExampleFacts {
  readonly pods: number;
  readonly metered: number;
  readonly unplaced: number;
}

/** Whether the database has never seen usage, teams or prices. */
async function isEmpty(stores: Stores): Promise<boolean> {
  const [row] = await stores.db.query(
    `select 1 as used from import union all select 1 from team union all select 1 from price_event limit 1`,
  );
  return row === undefined;
}

/**
 * Whether the example belongs here: the database has never seen anything, or an earlier load of the example was cut
 * short.
 */
export async function wantsExample(stores: Stores, organisation: string): Promise<boolean> {
  return (await isEmpty(stores)) || (await stores.organisations.setting(stores.db, organisation, LOAD)) === 'begun';
}

/** Loads everything, or what is left of it; the caller drains the line afterwards. `told` gets a sentence per step. */
export async function loadExample(
  stores: Stores,
  importer: Importer,
  organisation: string,
  pods: PodSource,
  told: (step: string) => void,
): Promise<ExampleFacts> {
  const options = (source: string): ImportOptions => ({
    organisation,
    source,
    format: 'auto',
    strict: false,
    dryRun: false,
    by: 'example',
  });
  told('teams, rules, budgets');
  await stores.db.transaction(async (tx) => {
    await stores.organisations.saveSetting(tx, organisation, LOAD, 'begun');
    for (const team of EXAMPLE_TEAMS) await stores.organisations.saveTeam(tx, organisation, team);
    if ((await stores.organisations.rules(tx, organisation)).version === 0)
      await stores.organisations.saveRules(tx, organisation, EXAMPLE_RULES, 'example');
    for (const budget of EXAMPLE_BUDGETS) await stores.budgets.save(tx, organisation, budget);
    const quotes = EXAMPLE_FX.flatMap(({ day, currency, perBase }) => {
      const rate = parseDecimal(perBase);
      return rate === null ? [] : [{ day, currency, perBase: rate }];
    });
    await stores.prices.addFx(tx, organisation, quotes, 'assigned by the example');
  });
  told('four price lists');
  await withInputs(importer, PRICE_LISTS, (inputs) => importer.prices(inputs, options('example price lists')));
  told('two bills');
  await withInputs(importer, BILLS, (inputs) => importer.files(inputs, options('example bills')));
  told('the pods of a GPU cluster');
  const { records, facts, lastInstant } = await recordsOfCluster(pods);
  const file: FileToImport = {
    name: 'openb pods, placed',
    format: pods.format.name,
    async *batches() {
      yield { records, rejects: [] };
    },
  };
  const rules = await stores.organisations.rules(stores.db, organisation);
  await stores.intake.import(
    {
      organisation,
      source: 'example cluster',
      strict: true,
      dryRun: false,
      by: 'example',
      now: lastInstant,
      teamOf: (record) => rules.teamOf(record),
      rulesVersion: rules.version,
      trackedTags: [],
    },
    [file],
  );
  await stores.organisations.saveSetting(stores.db, organisation, 'as-of', Math.floor(lastInstant / HOUR_MS) * HOUR_MS);
  await stores.organisations.saveSetting(stores.db, organisation, LOAD, 'done');
  return facts;
}

async function withInputs<T>(
  importer: Importer,
  files: readonly string[],
  use: (inputs: Awaited<ReturnType<Importer['openFile']>>[]) => Promise<T>,
): Promise<T> {
  const inputs = await Promise.all(files.map((file) => importer.openFile(path.join(DATA, file))));
  try {
    return await use(inputs);
  } finally {
    await Promise.all(inputs.map((input) => input.close()));
  }
}

async function recordsOfCluster(
  source: PodSource,
): Promise<{ records: UsageRecord[]; facts: ExampleFacts; lastInstant: number }> {
  const folder = path.join(DATA, 'gpu-cluster-openb');
  const pods = await source.readPods(await readFile(path.join(folder, 'openb_pods_first60pct.csv'), 'utf8'));
  const nodes = nodesOf(await readFile(path.join(folder, 'openb_node_list_gpu_node.csv'), 'utf8'));
  const qosOf = new Map(pods.map((pod) => [pod.name, pod.qos]));
  const running = pods.flatMap((pod): PodToPlace[] => {
    const { scheduledSeconds: startSeconds, deletedSeconds: endSeconds } = pod;
    if (startSeconds === null || endSeconds === null || pod.gpus * pod.gpuMilli === 0) return [];
    // Assigned: latency-sensitive pods with GPUs of their own prefer the V100 nodes of 16 GB.
    const preferredModel = pod.qos === 'LS' && pod.gpuMilli === 1000 ? 'V100M16' : null;
    return [{ name: pod.name, gpus: pod.gpus, gpuMilli: pod.gpuMilli, startSeconds, endSeconds, preferredModel }];
  });
  const placed = placePods(running, nodes);
  const records = placed.map(({ pod, node }) => recordOf(pod, node, qosOf.get(pod.name) ?? ''));
  return {
    records,
    facts: { pods: pods.length, metered: running.length, unplaced: placed.filter(({ node }) => node === null).length },
    lastInstant: Math.max(...records.map((record) => record.end)),
  };
}

function nodesOf(csv: string): Node[] {
  return csv
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [name = '', , , gpus = '0', model = ''] = line.split(',');
      return { name, gpus: Number(gpus), model };
    });
}

/**
 * The written rule of providers: a V100 of 16 GB is bought from AWS (the one list here with reserved prices), the rest
 * from Alibaba Cloud.
 */
function recordOf(pod: PodToPlace, node: Node | null, qos: string): UsageRecord {
  const gpuModel = node === null ? null : modelOf(node.model);
  const onAws = gpuModel === 'V100-16GB';
  return {
    id: pod.name,
    provider: onAws ? 'AWS' : 'Alibaba Cloud',
    account: 'openb',
    subAccount: null,
    resource: pod.name,
    namespace: null,
    service: null,
    sku: null,
    region: onAws ? 'us-east-1' : null,
    term: 'on-demand',
    gpuModel,
    tags: { qos, node: node?.name ?? '' },
    start: EXAMPLE_ORIGIN + pod.startSeconds * 1000,
    end: EXAMPLE_ORIGIN + pod.endSeconds * 1000,
    gpuParts: pod.gpus * pod.gpuMilli * (GPU_PARTS / 1000),
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}
