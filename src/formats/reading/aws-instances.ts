/**
 * GPUs of AWS' accelerated instance types.
 *
 * Source: AWS, "Amazon EC2 instance types guide: accelerated computing" (Accelerators column) and the pages of the
 * families (G6f: an eighth, a quarter and half of an L4; G7e: RTX PRO 6000; P5: p5.4xlarge has one H100). A type that
 * is not listed here is unknown: Trainium, Inferentia and Gaudi types have no GPU, G7 is not documented here yet.
 */
export interface InstanceGpus {
  readonly model: string;
  readonly gpus: number;
}

const FAMILIES: Readonly<Record<string, { readonly model: string; readonly sizes: Readonly<Record<string, number>> }>> =
  {
    g2: { model: 'K520', sizes: { '2xlarge': 1, '8xlarge': 4 } },
    g3s: { model: 'M60', sizes: { xlarge: 1 } },
    g3: { model: 'M60', sizes: { '4xlarge': 1, '8xlarge': 2, '16xlarge': 4 } },
    g4ad: { model: 'V520', sizes: { xlarge: 1, '2xlarge': 1, '4xlarge': 1, '8xlarge': 2, '16xlarge': 4 } },
    g4dn: {
      model: 'T4',
      sizes: { xlarge: 1, '2xlarge': 1, '4xlarge': 1, '8xlarge': 1, '16xlarge': 1, '12xlarge': 4, metal: 8 },
    },
    g5: {
      model: 'A10G',
      sizes: {
        xlarge: 1,
        '2xlarge': 1,
        '4xlarge': 1,
        '8xlarge': 1,
        '16xlarge': 1,
        '12xlarge': 4,
        '24xlarge': 4,
        '48xlarge': 8,
      },
    },
    g5g: { model: 'T4G', sizes: { xlarge: 1, '2xlarge': 1, '4xlarge': 1, '8xlarge': 1, '16xlarge': 2, metal: 2 } },
    g6: {
      model: 'L4',
      sizes: {
        xlarge: 1,
        '2xlarge': 1,
        '4xlarge': 1,
        '8xlarge': 1,
        '16xlarge': 1,
        '12xlarge': 4,
        '24xlarge': 4,
        '48xlarge': 8,
      },
    },
    g6f: { model: 'L4', sizes: { large: 0.125, xlarge: 0.125, '2xlarge': 0.25, '4xlarge': 0.5 } },
    gr6: { model: 'L4', sizes: { '4xlarge': 1, '8xlarge': 1 } },
    gr6f: { model: 'L4', sizes: { '4xlarge': 0.5 } },
    g6e: {
      model: 'L40S',
      sizes: {
        xlarge: 1,
        '2xlarge': 1,
        '4xlarge': 1,
        '8xlarge': 1,
        '16xlarge': 1,
        '12xlarge': 4,
        '24xlarge': 4,
        '48xlarge': 8,
      },
    },
    g7e: {
      model: 'RTX-PRO-6000',
      sizes: { '2xlarge': 1, '4xlarge': 1, '8xlarge': 1, '12xlarge': 2, '24xlarge': 4, '48xlarge': 8 },
    },
    p2: { model: 'K80', sizes: { xlarge: 1, '8xlarge': 8, '16xlarge': 16 } },
    p3: { model: 'V100-16GB', sizes: { '2xlarge': 1, '8xlarge': 4, '16xlarge': 8 } },
    p3dn: { model: 'V100-32GB', sizes: { '24xlarge': 8 } },
    p4d: { model: 'A100-40GB', sizes: { '24xlarge': 8 } },
    p4de: { model: 'A100-80GB', sizes: { '24xlarge': 8 } },
    p5: { model: 'H100', sizes: { '4xlarge': 1, '48xlarge': 8 } },
    p5e: { model: 'H200', sizes: { '48xlarge': 8 } },
    p5en: { model: 'H200', sizes: { '48xlarge': 8 } },
    'p6-b200': { model: 'B200', sizes: { '48xlarge': 8 } },
    'p6-b300': { model: 'B300', sizes: { '48xlarge': 8 } },
  };

/** Model and number of the GPUs of an instance type such as `p5.48xlarge`; null if they are unknown. */
export function awsInstanceGpus(instanceType: string): InstanceGpus | null {
  const dot = instanceType.lastIndexOf('.');
  const family = FAMILIES[instanceType.slice(0, dot)];
  const gpus = family?.sizes[instanceType.slice(dot + 1)];
  return family === undefined || gpus === undefined ? null : { model: family.model, gpus };
}
