/**
 * A small account at Google Cloud for tests: a project with machines, groups, a commitment and a catalogue, written
 * after the API's reference; every reply is held against the discovery documents when it is played (google-api.ts).
 */
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider } from '../../src/providers/gcp/gcp.js';
import type { GoogleApi, Resource } from './google-api.js';

const COMPUTE = 'https://www.googleapis.com/compute/v1/projects/ml-prod';
const NUMBER = '123456789012';

const cards = (type: string, count = 1): Record<string, unknown>[] => [
  { acceleratorType: `${COMPUTE}/zones/us-central1-a/acceleratorTypes/${type}`, acceleratorCount: count },
];

export function googleInstance(id: string, name: string, type: string, over: Record<string, unknown> = {}): Resource {
  const zone = String(over['zone'] ?? 'us-central1-a');
  return {
    id,
    name,
    machineType: `${COMPUTE}/zones/${zone}/machineTypes/${type}`,
    status: 'RUNNING',
    creationTimestamp: '2026-10-01T01:00:00.000-07:00',
    lastStartTimestamp: '2026-10-02T01:00:00.000-07:00',
    scheduling: { provisioningModel: 'STANDARD', preemptible: false },
    disks: [{ type: 'PERSISTENT', boot: true }],
    networkInterfaces: [{ network: `${COMPUTE}/global/networks/ml`, networkIP: `10.0.0.${Number(id) % 250}` }],
    labels: { team: 'vision' },
    ...over,
    zone: `${COMPUTE}/zones/${zone}`,
  };
}

const template = (name: string, properties: Record<string, unknown>): Resource => ({ name, properties });
const group = (name: string, place: string, template_: string, over: Record<string, unknown> = {}): Resource => ({
  name,
  [place.split('/')[0] === 'zones' ? 'zone' : 'region']: `${COMPUTE}/${place}`,
  instanceTemplate: `${COMPUTE}/global/instanceTemplates/${template_}`,
  versions: [{ instanceTemplate: `${COMPUTE}/global/instanceTemplates/${template_}` }],
  targetSize: 2,
  currentActions: { none: 2, creating: 0, deleting: 0 },
  creationTimestamp: '2026-10-01T01:00:00.000-07:00',
  status: { isStable: true },
  ...over,
});

const type = (name: string, guestCpus: number, gib: number, over: Record<string, unknown> = {}): Resource => ({
  name,
  guestCpus,
  memoryMb: gib * 1024,
  zone: 'us-central1-a',
  ...over,
});
const builtIn = (guestAcceleratorType: string, guestAcceleratorCount: number): Record<string, unknown> => ({
  accelerators: [{ guestAcceleratorType, guestAcceleratorCount }],
});

/** `price` in dollars, as the catalogue writes it: whole units and nanos. */
export function googleSku(
  description: string,
  resourceGroup: string,
  price: string,
  { usageType = 'OnDemand', unit = 'h', regions = ['us-central1', 'us-east1'] } = {},
): Record<string, unknown> {
  const [units = '0', fraction = ''] = price.split('.');
  const unitPrice = { currencyCode: 'USD', units, nanos: Number(fraction.padEnd(9, '0')) };
  return {
    name: 'services/6F81-5844-456A/skus/0000-0000-0000',
    skuId: '0000-0000-0000',
    description,
    category: { serviceDisplayName: 'Compute Engine', resourceFamily: 'Compute', resourceGroup, usageType },
    serviceRegions: regions,
    pricingInfo: [
      {
        effectiveTime: '2026-11-20T08:00:00Z',
        currencyConversionRate: 1,
        pricingExpression: { usageUnit: unit, displayQuantity: 1, tieredRates: [{ startUsageAmount: 0, unitPrice }] },
      },
    ],
  };
}

const RAM = { unit: 'GiBy.h' };
const SPOT = { usageType: 'Preemptible' };

/**
 * The unit prices of A2 in us-central1 are Google's own: with them the machine costs what
 * examples/data/gcp-gpu-prices has for it, 3.673385 dollars an hour. The others are made up.
 */
const SKUS: readonly unknown[] = [
  googleSku('A2 Instance Core running in Americas', 'CPU', '0.031611'),
  googleSku('A2 Instance Ram running in Americas', 'RAM', '0.004237', RAM),
  googleSku('Nvidia Tesla A100 GPU running in Americas', 'GPU', '2.933908'),
  googleSku('Spot Preemptible A2 Instance Core running in Americas', 'CPU', '0.01', SPOT),
  googleSku('Spot Preemptible A2 Instance Ram running in Americas', 'RAM', '0.001', { ...SPOT, ...RAM }),
  // Filed under on-demand, and named for what it is.
  googleSku('Nvidia Tesla A100 GPU attached to Spot Preemptible VMs running in Americas', 'GPU', '0.88'),
  googleSku('Commitment v1: A2 Cpu in Americas for 1 Year', 'CPU', '0.02', { usageType: 'Commit1Yr' }),
  googleSku('Commitment v1: A2 Ram in Americas for 1 Year', 'RAM', '0.002', { usageType: 'Commit1Yr', ...RAM }),
  googleSku('Commitment v1: Nvidia Tesla A100 GPU running in Americas for 1 Year', 'GPU', '1.8', {
    usageType: 'Commit1Yr',
  }),
  // Three years have no price for the card, and so none for the machine.
  googleSku('Commitment v1: A2 Cpu in Americas for 3 Years', 'CPU', '0.01', { usageType: 'Commit3Yr' }),
  googleSku('Commitment v1: A2 Ram in Americas for 3 Years', 'RAM', '0.001', { usageType: 'Commit3Yr', ...RAM }),
  // Goods of like names that are no plain machine.
  googleSku('A2 Sole Tenancy Instance Core running in Americas', 'CPU', '9'),
  googleSku('Reserved Nvidia Tesla A100 GPU in Americas', 'GPU', '0'),
  googleSku('DWS Defined Duration Nvidia Tesla A100 GPU running in Americas', 'GPU', '0.5'),
  googleSku('A2 Instance Core running in Frankfurt', 'CPU', '0.04', { regions: ['europe-west3'] }),
  // Of G2 the card has no price: the rest is not given for the whole.
  googleSku('G2 Instance Core running in Americas', 'CPU', '0.025'),
  googleSku('G2 Instance Ram running in Americas', 'RAM', '0.003', RAM),
  // Of N1 two lists say different things of the card.
  googleSku('N1 Predefined Instance Core running in Americas', 'N1Standard', '0.03'),
  googleSku('N1 Predefined Instance Ram running in Americas', 'N1Standard', '0.004', RAM),
  googleSku('Nvidia Tesla T4 GPU running in Americas', 'GPU', '0.35'),
  googleSku('A3 Instance Core running in Americas', 'CPU', '0.03'),
  googleSku('A3 Instance Ram running in Americas', 'RAM', '0.003', RAM),
  googleSku('Nvidia H100 80GB GPU running in Americas', 'GPU', '9.8'),
  googleSku('SSD backed Local Storage', 'LocalSSD', '0.08', { unit: 'GiBy.mo' }),
];

/** Fills a server with the account. */
export function playAccount(api: GoogleApi): void {
  api.types.push(
    type('a2-highgpu-1g', 12, 85, builtIn('nvidia-tesla-a100', 1)),
    type('a3-highgpu-8g', 208, 1872, { ...builtIn('nvidia-h100-80gb', 8), bundledLocalSsds: { partitionCount: 16 } }),
    type('g2-standard-4', 4, 16, builtIn('nvidia-l4', 1)),
    type('n1-standard-8', 8, 30),
    type('n1-standard-16', 16, 60),
    type('e2-standard-2', 2, 8),
  );
  api.templates.push(
    template('serving-v3', {
      machineType: 'g2-standard-4',
      scheduling: { provisioningModel: 'SPOT', preemptible: true, instanceTerminationAction: 'STOP' },
      labels: { team: 'search' },
    }),
    template('trainers-v1', {
      machineType: 'a3-highgpu-8g',
      guestAccelerators: [{ acceleratorType: 'nvidia-h100-80gb', acceleratorCount: 8 }],
    }),
    template('gke-pool', {
      machineType: 'a2-highgpu-1g',
      labels: { 'goog-gke-node': '', 'goog-k8s-node-pool-name': 'gpu-pool' },
    }),
    template('web-v1', { machineType: 'e2-standard-2' }),
  );
  api.instances.push(...machines());
  api.groups.push(
    group('serving', 'zones/us-central1-a', 'serving-v3', {
      status: { isStable: true, autoscaler: `${COMPUTE}/zones/us-central1-a/autoscalers/serving-as` },
    }),
    group('trainers', 'regions/us-central1', 'trainers-v1', {
      targetSize: 1,
      currentActions: { none: 1 },
      distributionPolicy: { zones: [{ zone: `${COMPUTE}/zones/us-central1-a` }] },
    }),
    group('gke-ml-gpu-pool-7f-grp', 'zones/us-central1-a', 'gke-pool'),
    group('web', 'zones/us-central1-a', 'web-v1'),
  );
  api.autoscalers.push({
    name: 'serving-as',
    autoscalingPolicy: { minNumReplicas: 1, maxNumReplicas: 4, mode: 'ON', cpuUtilization: { utilizationTarget: 0.6 } },
  });
  api.commitments.push(
    {
      name: 'gpus-2026',
      region: `${COMPUTE}/regions/us-central1`,
      status: 'ACTIVE',
      plan: 'TWELVE_MONTH',
      startTimestamp: '2026-03-01T00:00:00.000-08:00',
      resources: [
        { type: 'VCPU', amount: '48' },
        { type: 'ACCELERATOR', amount: '4', acceleratorType: 'nvidia-tesla-a100' },
      ],
    },
    { name: 'old', region: `${COMPUTE}/regions/us-central1`, status: 'EXPIRED', plan: 'TWELVE_MONTH', resources: [] },
  );
  api.skus = [...SKUS];
}

const machines = (): Resource[] => [
  googleInstance('1001', 'trainer-1', 'a2-highgpu-1g', {
    guestAccelerators: cards('nvidia-tesla-a100'),
    labels: { team: 'vision', 'bursar-io_workload-kind': 'training', 'bursar-io_job-restart-hours': '0_5' },
  }),
  googleInstance('1002', 'spot-1', 'g2-standard-4', {
    zone: 'us-central1-b',
    scheduling: { provisioningModel: 'SPOT', preemptible: true, instanceTerminationAction: 'DELETE' },
  }),
  googleInstance('1003', 'notebook', 'n1-standard-8', {
    status: 'TERMINATED',
    guestAccelerators: cards('nvidia-tesla-t4'),
    deletionProtection: true,
  }),
  googleInstance('1004', 'web-1', 'e2-standard-2'),
  googleInstance('1005', 'trainers-x7', 'a3-highgpu-8g', {
    guestAccelerators: cards('nvidia-h100-80gb', 8),
    disks: [
      { type: 'PERSISTENT', boot: true },
      { type: 'SCRATCH', interface: 'NVME' },
    ],
    metadata: {
      items: [
        { key: 'startup-script', value: 'export HF_TOKEN=hush' },
        { key: 'created-by', value: `projects/${NUMBER}/regions/us-central1/instanceGroupManagers/trainers` },
      ],
    },
    resourceStatus: {
      reservationConsumptionInfo: { consumedReservation: 'projects/ml-prod/zones/us-central1-a/reservations/h100' },
    },
  }),
  googleInstance('1006', 'odd', 'x9-mega-8'),
  googleInstance('1007', 'scratch', 'a2-highgpu-1g', {
    status: 'SUSPENDED',
    disks: [{ type: 'SCRATCH', interface: 'NVME' }],
  }),
  googleInstance('1008', 'elsewhere', 'a2-highgpu-1g', { zone: 'europe-west4-a' }),
];

/** The settings of a connection to the account. */
export const googleEnvironment = (api: GoogleApi): Record<string, string> => ({
  BURSAR_GCP_PROJECTS: 'ml-prod',
  BURSAR_GCP_REGIONS: 'us-central1',
  BURSAR_GCP_READ_CREDENTIALS: `file:${api.accounts.read.file}`,
  BURSAR_GCP_ACT_CREDENTIALS: `file:${api.accounts.act.file}`,
  BURSAR_GCP_ENDPOINT: api.url,
  BURSAR_GCP_TIMEOUT_SECONDS: '5',
});

/** A connection to the account. */
export function connectGoogle(
  api: GoogleApi,
  over: Readonly<Record<string, string | undefined>> = {},
  clock: { now(): number } = { now: () => Date.UTC(2026, 10, 20, 8) },
): ProviderConnection {
  const connection = provider.connect({ ...googleEnvironment(api), ...over }, clock);
  if (connection === null) throw new Error('there is no connection');
  return connection;
}
