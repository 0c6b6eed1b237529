/** The ids of Azure's machines as targets, meters, bills and nodes have them in common. */
import { describe, expect, it } from 'vitest';
import { azureIdOf } from '../../../src/core/fleet/azure-id.js';
import { FleetJoin, cluesOf, type Candidate } from '../../../src/core/fleet/join.js';
import { isOf, machineOf } from '../../../src/core/fleet/membership.js';
import { nodeTarget } from '../../../src/providers/kubernetes/objects.js';

const BASE = '/subscriptions/S-1/resourceGroups/RG-ML/providers/Microsoft.Compute';
const billed = (resource: string) => ({ resource, tags: null, region: 'eastus' });

describe('an id of Azure', () => {
  it('is one for all spellings of a machine, and another for one of the same name in another group', () => {
    const own = { kind: 'instance', id: 's-1:rg-ml:train-01' };
    expect(azureIdOf(`${BASE}/virtualMachines/train-01`)).toEqual(own);
    expect(azureIdOf(`azure://${BASE.toLowerCase()}/virtualmachines/TRAIN-01`)).toEqual(own);
    expect(azureIdOf(`${BASE.replace('RG-ML', 'rg-dev')}/virtualMachines/train-01`)?.id).toBe('s-1:rg-dev:train-01');
    expect(azureIdOf(`${BASE}/virtualMachineScaleSets/serve`)).toEqual({ kind: 'asg', id: 's-1:rg-ml:serve' });
    expect(azureIdOf(`${BASE}/virtualMachineScaleSets/serve/virtualMachines/3`)).toEqual({
      kind: 'instance',
      id: 's-1:rg-ml:serve:3',
    });
  });

  it.each([
    'i-0abc',
    'arn:aws:ec2:us-east-1:1:instance/i-0abc',
    `${BASE}/disks/data`,
    `${BASE}/virtualMachines/train-01/extensions/gpu`,
    'azure:///subscriptions/S-1',
  ])('is none where it is no machine’s or set’s: %s', (text) => expect(azureIdOf(text)).toBeNull());

  it('says which lines of a bill are a target’s', () => {
    const line = billed(`${BASE}/virtualMachines/Train-01`);
    expect(isOf(line, 'instance/eastus/s-1:rg-ml:train-01')).toBe(true);
    expect(isOf(line, 'instance/eastus/s-1:rg-dev:train-01')).toBe(false);
    expect(isOf(line, 'instance/eastus/train-01')).toBe(false);
    expect(machineOf(line.resource)).toBe('s-1:rg-ml:train-01');
    // A uniform set is billed under its own name.
    const set = billed(`${BASE}/virtualMachineScaleSets/serve`);
    expect(isOf(set, 'asg/eastus/s-1:rg-ml:serve')).toBe(true);
    expect(isOf(set, 'instance/eastus/s-1:rg-ml:serve')).toBe(false);
  });
});

it('joins a reading of a node of AKS to the machine under it', () => {
  const seen = (target: string, knownAs: readonly string[]): Candidate['seen'] => ({
    target,
    kind: 'instance',
    name: target,
    provider: 'Microsoft',
    account: null,
    region: 'eastus',
    sku: null,
    gpuModel: 'T4',
    term: null,
    knownAs,
    labels: {},
    launchedAt: null,
  });
  const machine = {
    connection: 'azure',
    firstSeenAt: 0,
    team: 'serving',
    seen: seen('instance/eastus/s-1:mc_ml:aks-gpu-vmss:0', ['aks-gpu-vmss000000', '10.2.0.4']),
  };
  const node = {
    connection: 'kubernetes',
    firstSeenAt: 0,
    team: 'serving',
    seen: nodeTarget(
      {
        metadata: { name: 'aks-gpu-vmss000000' },
        spec: {
          providerID: `azure://${BASE.replace('RG-ML', 'mc_ml')}/virtualMachineScaleSets/aks-gpu-vmss/virtualMachines/0`,
        },
      },
      { provider: 'Microsoft', account: null },
    ),
  };
  expect(node.seen.knownAs).toContain('s-1:mc_ml:aks-gpu-vmss:0');
  const reading = { resource: 'aks-gpu-vmss000000', namespace: null, pod: null, gpuModel: 'T4' };
  const joined = new FleetJoin([machine, node]).join(
    cluesOf({ ...reading, labels: { Hostname: 'aks-gpu-vmss000000' } }),
  );
  expect(joined.found).toBe(machine);
});
