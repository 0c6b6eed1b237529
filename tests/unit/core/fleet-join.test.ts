/**
 * Which machine a GPU reading is of: by id, name, address and pod; and that what could be two machines is none, and
 * says why.
 */
import { describe, expect, it } from 'vitest';
import { cluesOf, FleetJoin, type Called, type Candidate } from '../../../src/core/fleet/join.js';

const machine = (id: string, over: Partial<Candidate['seen']> = {}, connection = 'aws'): Candidate => ({
  connection,
  team: 'vision',
  firstSeenAt: 1000,
  seen: {
    target: `instance/us-east-1/${id}`,
    kind: 'instance',
    name: id,
    provider: 'AWS',
    account: '1',
    region: 'us-east-1',
    sku: 'p4d.24xlarge',
    gpuModel: 'A100-40GB',
    term: 'on-demand',
    labels: {},
    launchedAt: 1000,
    network: 'vpc-a',
    knownAs: ['ip-10-0-1-23.ec2.internal', '10.0.1.23'],
    ...over,
  },
});
const called = (over: Partial<Called> = {}, labels: Record<string, string> = {}): Called => ({
  resource: labels['Hostname'] ?? 'somewhere',
  namespace: null,
  pod: null,
  gpuModel: null,
  ...over,
  labels,
});
const joined = (targets: readonly Candidate[], one: Called): string => {
  const result = new FleetJoin(targets).join(cluesOf(one));
  return result.found === null ? result.because : `${result.found.connection} ${result.found.seen.target}`;
};
const stock = { Hostname: 'ip-10-0-1-23', instance: '10.0.1.23:9400', job: 'dcgm', gpu: '0' };
const FOUND = 'aws instance/us-east-1/i-0a';

describe('a node of GKE', () => {
  const vm = machine(
    '4711',
    {
      target: 'instance/ml-prod/us-central1-a/4711',
      name: 'gke-ml-pool-1-x7',
      knownAs: ['gke-ml-pool-1-x7.c.ml-prod.internal', '10.0.0.7', 'gce://ml-prod/us-central1-a/gke-ml-pool-1-x7'],
    },
    'gcp',
  );
  const twin = machine(
    '4712',
    {
      target: 'instance/ml-dev/us-central1-a/4712',
      name: 'gke-ml-pool-1-x7',
      knownAs: ['gke-ml-pool-1-x7.c.ml-dev.internal', '10.0.0.7', 'gce://ml-dev/us-central1-a/gke-ml-pool-1-x7'],
    },
    'gcp',
  );
  const node = machine(
    'gke-ml-pool-1-x7',
    {
      target: 'node/gke-ml-pool-1-x7',
      name: 'gke-ml-pool-1-x7',
      knownAs: ['gke-ml-pool-1-x7', '10.0.0.7', 'gce://ml-prod/us-central1-a/gke-ml-pool-1-x7'],
    },
    'kubernetes',
  );
  it('is the instance that its provider id names, which is not its number', () => {
    expect(joined([vm, node], called({}, { Hostname: 'gke-ml-pool-1-x7' }))).toBe(
      'gcp instance/ml-prod/us-central1-a/4711',
    );
  });
  it('is not a machine of the same name in another project', () => {
    expect(joined([vm, twin, node], called({}, { node: 'node/gke-ml-pool-1-x7' }))).toBe('unknown-machine');
    expect(joined([twin, vm, node], called({ resource: 'node/gke-ml-pool-1-x7' }))).toBe(
      'gcp instance/ml-prod/us-central1-a/4711',
    );
  });
});

describe('one machine', () => {
  const all = [machine('i-0a'), machine('i-0b', { knownAs: ['ip-10-0-1-24.ec2.internal', '10.0.1.24'] })];
  it.each([
    ['EC2’s short host name', called({}, stock)],
    ['the whole private DNS name', called({}, { Hostname: 'IP-10-0-1-23.ec2.internal' })],
    ['its address alone', called({}, { Hostname: 'trainer', instance: '10.0.1.23:9400' })],
    ['its id as a label of the discovery', called({}, { Hostname: 'x', instance_id: 'i-0a' })],
    ['its id as the resource, pushed', called({ resource: 'i-0a' })],
    ['its whole target', called({ resource: 'instance/us-east-1/i-0a' })],
  ])('is found by %s', (_, one) => expect(joined(all, one)).toBe(FOUND));

  it('is not found by the loopback, nor by a name of another domain', () => {
    expect(
      joined(
        [machine('i-0a', { knownAs: ['localhost', '127.0.0.1'] })],
        called({ resource: '127.0.0.1' }, { instance: 'localhost:9400' }),
      ),
    ).toBe('no-name');
    expect(joined(all, called({}, { Hostname: 'ip-10-0-1-23.eu-west-1.compute.internal' }))).toBe('unknown-machine');
  });

  it.each([
    ['another card', called({ gpuModel: 'T4' }, stock), 'has A100-40GB, not T4'],
    ['another region', called({}, { ...stock, region: 'ap-south-1' }), 'is in us-east-1, not in ap-south-1'],
    ['another network', called({}, { ...stock, vpc_id: 'vpc-foreign' }), 'is in the network vpc-a, not in vpc-foreign'],
    ['another account', called({}, { ...stock, account_id: '2' }), 'is of the account 1, not of 2'],
  ])('is not found by its name and address where the reading says %s', (_, one, why) => {
    const result = new FleetJoin(all).join(cluesOf(one));
    expect(result).toMatchObject({ found: null, because: 'contradictory' });
    expect('detail' in result ? result.detail : '').toContain(why);
    const byId = { ...one, labels: { ...one.labels, instance_id: 'i-0a' } };
    expect(joined(all, byId)).toBe(FOUND);
  });
  it.each([
    ['a region in words of the user’s own', called({}, { ...stock, region: 'lab' })],
    ['the zone for the region', called({}, { ...stock, region: 'us-east-1a' })],
    ['a network in words of the user’s own', called({}, { ...stock, vpc: 'prod' })],
    ['an account by its name', called({}, { ...stock, account: 'research' })],
    ['the card without its memory', called({ gpuModel: 'A100' }, stock)],
  ])('is found where the reading says %s', (_, one) => expect(joined(all, one)).toBe(FOUND));

  it('is none where the name and the address say two', () =>
    expect(joined(all, called({}, { Hostname: 'ip-10-0-1-23', instance: '10.0.1.24:9400' }))).toBe('contradictory'));
});

describe('the same private address in two networks', () => {
  const twins = [machine('i-0a'), machine('i-0b', { network: 'vpc-b', region: 'us-east-1', gpuModel: 'A100-40GB' })];
  it('is none of the two, and says which they are and what would tell', () => {
    const result = new FleetJoin(twins).join(cluesOf(called({}, stock)));
    expect(result).toMatchObject({ found: null, because: 'ambiguous' });
    expect('detail' in result ? result.detail : '').toMatch(
      /ip-10-0-1-23, 10\.0\.1\.23 could be instance\/us-east-1\/i-0a of aws, instance\/us-east-1\/i-0b of aws: .*VPC/,
    );
  });
  it.each([
    ['a label of the network', { vpc_id: 'vpc-a' }, twins],
    [
      'a label of the region',
      { region: 'us-east-1' },
      [twins[0]!, machine('i-0b', { network: 'vpc-b', region: 'eu-west-1' })],
    ],
    ['a label of the account', { account_id: '1' }, [twins[0]!, machine('i-0b', { account: '2' }, 'aws:two')]],
  ])('is told apart by %s', (_, labels, all) => expect(joined(all, called({}, { ...stock, ...labels }))).toBe(FOUND));
  it('is told apart by the card', () => {
    const all = [twins[0]!, machine('i-0b', { network: 'vpc-b', gpuModel: 'T4' })];
    expect(joined(all, called({ gpuModel: 'A100-40GB' }, stock))).toBe(FOUND);
    expect(joined(all, called({ gpuModel: 'H100' }, stock))).toBe('ambiguous');
  });
  it('is none of two connections’', () =>
    expect(joined([machine('i-0a'), machine('i-0b', {}, 'alibaba')], called({}, stock))).toBe('ambiguous'));
  it('is the newer of one network’s: an address is one machine’s at a time', () =>
    expect(joined([machine('i-0old', { launchedAt: 5 }), machine('i-0a', { launchedAt: 9 })], called({}, stock))).toBe(
      FOUND,
    ));
});

describe('Kubernetes', () => {
  const node = machine(
    '',
    { target: 'node/gpu-a', name: 'gpu-a', knownAs: ['gpu-a', '10.0.1.23', 'i-0a'] },
    'kubernetes',
  );
  const workload = (connection: string): Candidate =>
    machine(
      '',
      { target: 'deployment/ml/trainer', kind: 'workload', name: 'trainer', knownAs: ['pod/ml/trainer-1-a'] },
      connection,
    );
  const pod = called({ resource: 'pod/ml/trainer-1-a', namespace: 'ml', pod: 'trainer-1-a' }, stock);

  it('takes the cloud’s instance for the node on it, which are one machine', () => {
    const both = [machine('i-0a'), node];
    expect(joined(both, called({}, { Hostname: 'gpu-a', instance: '10.0.1.23:9400' }))).toBe(FOUND);
    expect(joined(both, called({}, { Hostname: 'gpu-a' }))).toBe(FOUND);
    expect(joined([node], called({}, { Hostname: 'gpu-a' }))).toBe('kubernetes node/gpu-a');
  });
  it('gives a pod’s reading to its workload, never to the machine under it', () => {
    expect(joined([workload('kubernetes'), node, machine('i-0a')], pod)).toBe('kubernetes deployment/ml/trainer');
    const result = new FleetJoin([node, machine('i-0a')]).join(cluesOf(pod));
    expect(result).toMatchObject({
      found: null,
      because: 'unknown-pod',
      machine: { seen: { target: 'instance/us-east-1/i-0a' } },
    });
  });
  it('takes pods of one name in two clusters for neither, unless the machine under them says which', () => {
    const clusters = [workload('kubernetes'), workload('kubernetes:west')];
    expect(joined(clusters, pod)).toBe('ambiguous');
    expect(joined([...clusters, node], pod)).toBe('kubernetes deployment/ml/trainer');
  });
});
