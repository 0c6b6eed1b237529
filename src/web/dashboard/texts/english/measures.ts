/** In English: the numbers that recommendations are made of. */
import { COMPUTATION_FIGURES } from '../../../../core/policy/computation.js';

type Words = { readonly [Name in keyof typeof COMPUTATION_FIGURES as `measure.${Name}`]: string };

const words = Object.fromEntries(
  Object.entries(COMPUTATION_FIGURES).map(([name, one]) => [`measure.${name}`, one.words]),
) as Words;

export const MEASURES = { ...words, 'measure.less-than': 'less than {share}' } as const;
