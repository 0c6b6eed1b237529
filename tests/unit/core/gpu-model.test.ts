/** Names of GPU models as people, drivers, price lists and traces write them, and MIG profiles as shares. */
import { describe, expect, it } from 'vitest';
import { migParts, modelOf } from '../../../src/core/fleet/gpu-model.js';

describe('modelOf', () => {
  it.each([
    ['A100 (80 GB)', 'A100-80GB'],
    ['A100 (40 GB)', 'A100-40GB'],
    ['NVIDIA A100-SXM4-40GB', 'A100-40GB'],
    ['a100-80gb', 'A100-80GB'],
    ['NVIDIA A100 80GB PCIe', 'A100-80GB'],
    ['Nvidia A100', 'A100'],
    ['A100 (20 GB)', null],
    ['NC24ads A100 v4', 'A100'],
    ['V100 (16 GB)', 'V100-16GB'],
    ['Tesla V100-SXM2-32GB', 'V100-32GB'],
    ['V100M16', 'V100-16GB'],
    ['V100M32', 'V100-32GB'],
    ['V100', 'V100'],
    ['NVIDIA H100 80GB HBM3', 'H100'],
    ['H100 HGX (80GB)', 'H100'],
    ['h100-80gb-mega', 'H100'],
    ['NVIDIA H200', 'H200'],
    ['GH200 (96 GB)', 'GH200'],
    ['NVIDIA B200', 'B200'],
    ['Tesla T4', 'T4'],
    ['T4 (16 GB)', 'T4'],
    ['T4G', 'T4G'],
    ['A10', 'A10'],
    ['NVIDIA A10G', 'A10G'],
    ['l4', 'L4'],
    ['L40 (48 GB)', 'L40'],
    ['NVIDIA L40S', 'L40S'],
    ['P100', 'P100'],
    ['P4 (8 GB)', 'P4'],
    ['K80 (12 GB)', 'K80'],
    ['RTX A6000 (48 GB)', 'A6000'],
    ['A6000 (48 GB)', 'A6000'],
    ['RTX5000 (16 GB)', 'RTX5000'],
    ['Quadro RTX 6000 (24 GB)', 'RTX6000'],
    ['NVIDIA RTX 6000 Ada Generation', 'RTX6000-ADA'],
    ['NVIDIA RTX PRO 6000 Blackwell', 'RTX-PRO-6000'],
    ['3080Ti (12 GB)', 'RTX3080TI'],
    ['G2', 'G2'],
    ['G3', 'G3'],
    ['MIG', null],
    ['', null],
    ['A1000', null],
    ['XA100', null],
    ['H1000', null],
  ])('%s is %s', (text, model) => {
    expect(modelOf(text)).toBe(model);
  });

  it('leaves its own names as they are', () => {
    for (const name of [
      'A100-40GB',
      'A100-80GB',
      'V100-16GB',
      'V100-32GB',
      'RTX-PRO-6000',
      'RTX6000-ADA',
      'RTX3080TI',
      'H100',
      'A10G',
      'G2',
      'A100',
      'V100',
      'MI300X',
    ])
      expect(modelOf(name)).toBe(name);
  });
});

describe('migParts', () => {
  it('are seventh parts of a GPU, and quarters of an A30', () => {
    expect(
      ['1g.5gb', '2g.20gb', '3g.40gb', '4g.71gb', '7g.180gb', '1g.10gb+me'].map((profile) => migParts(profile, null)),
    ).toEqual([1000, 2000, 3000, 4000, 7000, 1000]);
    expect(['1g.6gb', '2g.12gb', '4g.24gb'].map((profile) => migParts(profile, 'A30'))).toEqual([1750, 3500, 7000]);
    expect(['1g.6gb', '2g.12gb', '4g.24gb', '1g.6gb+me'].map((profile) => migParts(profile, null))).toEqual([
      1750, 3500, 7000, 1750,
    ]);
  });

  it('are refused for what no GPU has', () => {
    expect([
      migParts('5g.40gb', null),
      migParts('6g.40gb', 'H100'),
      migParts('3g.18gb', 'A30'),
      migParts('8g.80gb', null),
      migParts('1g', null),
      migParts('1c.3g.20gb', null),
      migParts('', null),
    ]).toEqual(Array(7).fill(null));
  });
});
