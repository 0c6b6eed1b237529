/**
 * One name per GPU model, and the share of a GPU for each MIG profile. Models with different memory and different
 * prices are different models. A name that leaves the memory open where it matters stays open (`A100`, `V100`): it is
 * never completed by a guess. Names and memory sizes come from the makers' data sheets.
 */
import { own } from '../own.js';
import { GPU_PARTS } from '../usage.js';

/** Models that are sold with several sizes of memory, in GB: the size is part of their name. */
const SIZES: Readonly<Record<string, readonly number[]>> = { A100: [40, 80], V100: [16, 32] };

/** What a name must contain, apart from blanks and dashes between its words, to what the model is called here. */
const MODELS: readonly (readonly [pattern: string, model: string])[] = [
  ['GB300', 'GB300'],
  ['GB200', 'GB200'],
  ['GH200', 'GH200'],
  ['B300', 'B300'],
  ['B200', 'B200'],
  ['H200', 'H200'],
  ['H100', 'H100'],
  ['H800', 'H800'],
  ['H20', 'H20'],
  ['A100', 'A100'],
  ['A800', 'A800'],
  ['V100S', 'V100S'],
  ['V100(?=M)', 'V100'],
  ['V100', 'V100'],
  ['RTX PRO 6000', 'RTX-PRO-6000'],
  ['RTX PRO 4500', 'RTX-PRO-4500'],
  ['RTX 6000 ADA', 'RTX6000-ADA'],
  ['RTX 5000 ADA', 'RTX5000-ADA'],
  ['RTX 4000 ADA', 'RTX4000-ADA'],
  ['(?:RTX )?A6000', 'A6000'],
  ['(?:RTX )?A5000', 'A5000'],
  ['(?:RTX )?A4500', 'A4500'],
  ['(?:RTX )?A4000', 'A4000'],
  ['(?:RTX )?5090', 'RTX5090'],
  ['(?:RTX )?4090', 'RTX4090'],
  ['(?:RTX )?4080', 'RTX4080'],
  ['(?:RTX )?3090 TI', 'RTX3090TI'],
  ['(?:RTX )?3090', 'RTX3090'],
  ['(?:RTX )?3080 TI', 'RTX3080TI'],
  ['(?:RTX )?3080', 'RTX3080'],
  ['(?:RTX )?2080 TI', 'RTX2080TI'],
  ['RTX 8000', 'RTX8000'],
  ['RTX 6000', 'RTX6000'],
  ['RTX 5000', 'RTX5000'],
  ['RTX 4000', 'RTX4000'],
  ['A10G', 'A10G'],
  ['A10', 'A10'],
  ['A16', 'A16'],
  ['A30', 'A30'],
  ['A40', 'A40'],
  ['A2', 'A2'],
  ['L40S', 'L40S'],
  ['L40', 'L40'],
  ['L20', 'L20'],
  ['L4', 'L4'],
  ['T4G', 'T4G'],
  ['T4', 'T4'],
  ['P100', 'P100'],
  ['P40', 'P40'],
  ['P4', 'P4'],
  ['K80', 'K80'],
  ['K520', 'K520'],
  ['M60', 'M60'],
  ['MI355X', 'MI355X'],
  ['MI325X', 'MI325X'],
  ['MI300X', 'MI300X'],
  ['MI250X?', 'MI250'],
  ['V520', 'V520'],
  // Alibaba does not disclose what these are (openb cluster trace): no price list knows them.
  ['G2', 'G2'],
  ['G3', 'G3'],
];

const PATTERNS: readonly (readonly [RegExp, string])[] = MODELS.map(([pattern, model]) => [
  new RegExp(`(?<![A-Z0-9])${pattern.replaceAll(' ', '[ _-]?')}${pattern.includes('(?=') ? '' : '(?![A-Z0-9])'}`),
  model,
]);

const MEMORY = /(?:(\d+)[ _-]?GI?B?(?![A-Z0-9])|M(16|32)(?![A-Z0-9]))/;

/**
 * The model that a text names: `NVIDIA A100-SXM4-80GB`, `A100 (80 GB)` and `a100-80gb` are `A100-80GB`; `V100M16` is
 * `V100-16GB`; `Tesla T4` is `T4`. Null if the text names no model that is known here, or a part of one (an A100 of 20
 * GB).
 */
export function modelOf(text: string): string | null {
  const name = text.toUpperCase();
  const found = PATTERNS.find(([pattern]) => pattern.test(name));
  if (found === undefined) return null;
  const model = found[1];
  const sizes = own(SIZES, model);
  if (sizes === undefined) return model;
  const memory = MEMORY.exec(name);
  if (memory === null) return model;
  const size = Number(memory[1] ?? memory[2]);
  return sizes.includes(size) ? `${model}-${size}GB` : null;
}

/** GPUs whose MIG profiles count four compute slices; all others count seven (NVIDIA Multi-Instance GPU User Guide). */
const FOUR_SLICE_MODELS: ReadonlySet<string> = new Set(['A30', 'RTX-PRO-6000']);
/** Profiles that only the A30 has, so that its name need not be known. */
const A30_PROFILES: ReadonlySet<string> = new Set(['1g.6gb', '2g.12gb', '4g.24gb']);
const PROFILE = /^([1-7])g\.\d{1,3}gb(?:\+[a-z.]+)?$/;

/**
 * Parts of a GPU (see GPU_PARTS) that one instance of a MIG profile is: its compute slices of 7, or of 4. `model` is as
 * modelOf writes it, or null. Null if the text is no profile, or one that the GPU cannot have.
 */
export function migParts(profile: string, model: string | null): number | null {
  const name = profile.toLowerCase();
  const match = PROFILE.exec(name);
  if (match === null) return null;
  const slices = Number(match[1]);
  const four = model === null ? A30_PROFILES.has(name.replace(/\+.*/, '')) : FOUR_SLICE_MODELS.has(model);
  const allowed = four ? [1, 2, 4] : [1, 2, 3, 4, 7];
  return allowed.includes(slices) ? (slices * GPU_PARTS) / (four ? 4 : 7) : null;
}
