/**
 * The bundled example: the pods of a real GPU cluster and real price lists, in a company that is made up around them
 * (company.ts, story.ts).
 *
 * What is recorded: the pods, their GPUs, their times and QoS classes, the nodes and their GPU models (Alibaba's openb
 * trace), the price lists. What is ASSIGNED to them, by the rules written here: the calendar (the trace's last hour is
 * the one in which the example is loaded), the node of each pod (placement.ts), the machine that a GPU model is rented
 * as, the team (by QoS class) and the exchange rates. Every row says by its tag `origin` which of both it is. Runs
 * once, on an empty database; never touches any other.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { AllocationRule } from '../core/cost/allocation.js';
import { parseDecimal } from '../core/decimal.js';
import { modelOf } from '../core/fleet/gpu-model.js';
import type { Importer, ImportOptions, UsageFormat } from '../core/ports.js';
import { HOUR_MS, hourOf } from '../core/time.js';
import { GPU_PARTS, type RecordBatch, type UsageRecord } from '../core/usage.js';
import type { Team } from '../store/access/organisation.js';
import type { Stores } from '../store/stores.js';
import { RECORDED, RECORDED_ACCOUNT } from './company.js';
import { placePods, type Node, type PodToPlace } from './placement.js';

/** How far a load has come; an interrupted load continues from there. */
const LOAD = 'example-load';
/** When the load began, epoch milliseconds, a whole hour: everything of the example counts from there. */
const BEGAN = 'example-began';
export type Loaded = 'begun' | 'acted' | 'done';
const ASSIGNED = 'assigned by the example';
/** Beside src/ in a checkout and beside dist/ once compiled. */
const DATA =
  ['../..', '../../..']
    .map((up) => path.join(import.meta.dirname, up, 'examples/data'))
    .find((folder) => existsSync(folder)) ?? 'examples/data';

const team = (id: string, name: string, parent: string | null = 'ai'): Team => ({
  id,
  name,
  parent,
  zone: 'UTC',
  currency: 'USD',
  assignedBy: ASSIGNED,
});

const EXAMPLE_TEAMS: readonly Team[] = [
  team('ai', 'AI (all teams)', null),
  team('research', 'Research'),
  team('serving', 'Serving'),
  team('training', 'Training'),
  team('platform', 'Platform'),
];

/** The tag `team` names the owner of a row. */
const EXAMPLE_RULES: readonly AllocationRule[] = ['research', 'serving', 'training', 'platform'].map((id) => ({
  match: { tag: { key: 'team', value: id } },
  team: id,
}));

/** Assigned: the team of a pod, by its QoS class. */
const TEAM_OF_QOS: Readonly<Record<string, string>> = {
  LS: 'serving',
  BE: 'research',
  Burstable: 'training',
  Guaranteed: 'platform',
};

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
  'gcp-gpu-prices/gcp_gpu_instances_2026-07-30.csv',
];

/**
 * Assigned: the machine of AWS in us-east-1 that a GPU of the trace is rented as. `G2` and `G3` are models whose names
 * the trace's authors withhold; a machine of today stands for each. A P100 is Alibaba's own.
 */
const RENTED_AS: Readonly<Record<string, { readonly sku: string; readonly gpuModel: string }>> = {
  V100M16: { sku: 'p3.2xlarge', gpuModel: 'V100-16GB' },
  V100M32: { sku: 'p3dn.24xlarge', gpuModel: 'V100-32GB' },
  T4: { sku: 'g4dn.xlarge', gpuModel: 'T4' },
  A10: { sku: 'g5.xlarge', gpuModel: 'A10G' },
  G2: { sku: 'g5.xlarge', gpuModel: 'A10G' },
  G3: { sku: 'p4d.24xlarge', gpuModel: 'A100-40GB' },
};

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

async function isCutShort(stores: Stores, organisation: string): Promise<boolean> {
  const loaded = await loadedSoFar(stores, organisation);
  return loaded !== null && loaded !== 'done';
}

/**
 * Whether the example belongs here: the database has never seen anything, or an earlier load of the example was cut
 * short.
 */
export async function wantsExample(stores: Stores, organisation: string): Promise<boolean> {
  return (await isEmpty(stores)) || (await isCutShort(stores, organisation));
}

/** When the example of this database began, epoch milliseconds; null: there is none, and it gets none. */
export async function exampleBegan(stores: Stores, organisation: string, now: number): Promise<number | null> {
  const began = await stores.organisations.setting<number>(stores.db, organisation, BEGAN);
  if (began !== null) return began;
  return (await wantsExample(stores, organisation)) ? hourOf(now) : null;
}

export const loadedSoFar = async (stores: Stores, organisation: string): Promise<Loaded | null> =>
  stores.organisations.setting<Loaded>(stores.db, organisation, LOAD);

export const saveLoaded = (stores: Stores, organisation: string, loaded: Loaded): Promise<void> =>
  stores.organisations.saveSetting(stores.db, organisation, LOAD, loaded);

/** Teams, rules, exchange rates and price lists. */
export async function loadBasics(
  stores: Stores,
  importer: Importer,
  organisation: string,
  began: number,
): Promise<void> {
  await stores.db.transaction(async (tx) => {
    await stores.organisations.saveSetting(tx, organisation, LOAD, 'begun');
    await stores.organisations.saveSetting(tx, organisation, BEGAN, began);
    for (const one of EXAMPLE_TEAMS) await stores.organisations.saveTeam(tx, organisation, one);
    if ((await stores.organisations.rules(tx, organisation)).version === 0)
      await stores.organisations.saveRules(tx, organisation, EXAMPLE_RULES, 'example');
    const quotes = EXAMPLE_FX.flatMap(({ day, currency, perBase }) => {
      const rate = parseDecimal(perBase);
      return rate === null ? [] : [{ day, currency, perBase: rate }];
    });
    await stores.prices.addFx(tx, organisation, quotes, ASSIGNED);
  });
  const options: ImportOptions = {
    organisation,
    source: 'example price lists',
    format: 'auto',
    strict: false,
    dryRun: false,
    by: 'example',
  };
  const inputs = await Promise.all(PRICE_LISTS.map((file) => importer.openFile(path.join(DATA, file))));
  try {
    await importer.prices(inputs, options);
  } finally {
    await Promise.all(inputs.map((input) => input.close()));
  }
}

/** The pods of the cluster, ending in the hour before `began`. */
export async function loadPods(
  stores: Stores,
  organisation: string,
  pods: PodSource,
  began: number,
): Promise<ExampleFacts> {
  const { records, facts } = await recordsOfCluster(pods, began);
  await loadUsage(stores, organisation, 'example cluster (recorded)', 'openb pods, placed', began, async function* () {
    yield { records, rejects: [] };
  });
  return facts;
}

/** Usage that no connection reports. @param now epoch milliseconds */
export async function loadUsage(
  stores: Stores,
  organisation: string,
  source: string,
  name: string,
  now: number,
  batches: () => AsyncIterable<RecordBatch>,
): Promise<void> {
  const rules = await stores.organisations.rules(stores.db, organisation);
  await stores.intake.import(
    {
      organisation,
      source,
      strict: true,
      dryRun: false,
      by: 'example',
      now,
      teamOf: (record) => rules.teamOf(record),
      rulesVersion: rules.version,
      trackedTags: await stores.organisations.trackedTags(stores.db, organisation),
    },
    [{ name, format: 'example', batches }],
  );
}

async function recordsOfCluster(
  source: PodSource,
  began: number,
): Promise<{ records: UsageRecord[]; facts: ExampleFacts }> {
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
  const last = placed.reduce((end, { pod }) => Math.max(end, pod.endSeconds), 0) * 1000;
  const origin = began - Math.ceil(last / HOUR_MS) * HOUR_MS;
  const records = placed.map(({ pod, node }) => recordOf(pod, node, qosOf.get(pod.name) ?? '', origin));
  return {
    records,
    facts: { pods: pods.length, metered: running.length, unplaced: placed.filter(({ node }) => node === null).length },
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

function recordOf(pod: PodToPlace, node: Node | null, qos: string, origin: number): UsageRecord {
  const rented = node === null ? undefined : RENTED_AS[node.model];
  return {
    id: pod.name,
    provider: rented === undefined ? 'Alibaba Cloud' : 'AWS',
    account: RECORDED_ACCOUNT,
    subAccount: null,
    resource: pod.name,
    namespace: null,
    service: null,
    sku: rented?.sku ?? null,
    region: rented === undefined ? null : 'us-east-1',
    term: 'on-demand',
    gpuModel: rented?.gpuModel ?? (node === null ? null : modelOf(node.model)),
    tags: {
      team: TEAM_OF_QOS[qos] ?? 'platform',
      origin: RECORDED,
      qos,
      node: node?.name ?? '',
      'recorded-gpu': node?.model ?? '',
    },
    start: origin + pod.startSeconds * 1000,
    end: origin + pod.endSeconds * 1000,
    gpuParts: pod.gpus * pod.gpuMilli * (GPU_PARTS / 1000),
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}
