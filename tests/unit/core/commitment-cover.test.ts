/** Which machines a commitment may cover: what is not said rules nothing out, and another card is another machine. */
import { expect, it } from 'vitest';
import { mayCover, type Commitment, type CoveredMachine } from '../../../src/core/price/commitment-cover.js';

const commitment = (over: Partial<Commitment>): Commitment => ({
  provider: 'AWS',
  sku: null,
  region: 'us-east-1',
  term: 'reserved-1y',
  gpuModel: null,
  ...over,
});
const machine = (over: Partial<CoveredMachine>): CoveredMachine => ({
  provider: 'AWS',
  sku: 'p3.8xlarge',
  region: 'us-east-1',
  gpuModel: 'V100',
  ...over,
});
const google = (model: string | null): Commitment => commitment({ provider: 'Google Cloud', gpuModel: model });
const ofGoogle = (model: string | null): CoveredMachine =>
  machine({ provider: 'Google Cloud', sku: 'a2-highgpu-1g', gpuModel: model });

it.each<[string, Commitment, CoveredMachine, boolean]>([
  ['a commitment of L4 and an A100', google('L4'), ofGoogle('A100-40GB'), false],
  ['a commitment of A100 and an A100', google('A100-40GB'), ofGoogle('A100-40GB'), true],
  ['one of 80 GB and one of 40', google('A100-80GB'), ofGoogle('A100-40GB'), false],
  ['an A100 whose memory nobody says', google('A100'), ofGoogle('A100-40GB'), true],
  ['a commitment of a model that nobody says', google(null), ofGoogle('A100-40GB'), true],
  ['a card that nobody knows', google('L4'), ofGoogle(null), true],
  ['another cloud', google(null), machine({}), false],
  ['another region', commitment({ region: 'eu-west-1' }), machine({}), false],
  ['another size of a flexible family', commitment({ sku: 'p3.2xlarge' }), machine({}), true],
  ['another family', commitment({ sku: 'p4d.24xlarge' }), machine({}), false],
  [
    'another size of a family without flexibility',
    commitment({ sku: 'g5.xlarge' }),
    machine({ sku: 'g5.2xlarge' }),
    false,
  ],
  ['its own size there', commitment({ sku: 'g5.xlarge' }), machine({ sku: 'g5.xlarge' }), true],
  ['a savings plan', commitment({ sku: 'g5.xlarge', region: 'eu-west-1', term: 'savings-plan-1y' }), machine({}), true],
  ['a savings plan of any family', commitment({ sku: null, region: null, term: 'savings-plan-1y' }), machine({}), true],
  ['a savings plan of its family', commitment({ sku: 'p3', term: 'savings-plan-3y' }), machine({}), true],
  ['a savings plan of another family', commitment({ sku: 'g5', term: 'savings-plan-1y' }), machine({}), false],
  [
    'a savings plan of its family elsewhere',
    commitment({ sku: 'p3', region: 'eu-west-1', term: 'savings-plan-1y' }),
    machine({}),
    false,
  ],
  [
    'another size of an Azure series',
    commitment({ provider: 'Microsoft', sku: 'Standard_NC24ads_A100_v4', gpuModel: 'A100-80GB' }),
    machine({ provider: 'Microsoft', sku: 'Standard_NC48ads_A100_v4', gpuModel: 'A100-80GB' }),
    true,
  ],
  [
    'another Azure series',
    commitment({ provider: 'Microsoft', sku: 'Standard_NC4as_T4_v3' }),
    machine({ provider: 'Microsoft', sku: 'Standard_NC24ads_A100_v4', gpuModel: 'A100-80GB' }),
    false,
  ],
  [
    'another size of a family of Alibaba Cloud',
    commitment({ provider: 'Alibaba Cloud', sku: 'ecs.gn6v-c8g1.2xlarge' }),
    machine({ provider: 'Alibaba Cloud', sku: 'ecs.gn6v-c8g1.8xlarge' }),
    true,
  ],
])('%s', (_, one, seen, expected) => expect(mayCover(one, seen)).toBe(expected));
