/**
 * One spelling for the levels of a measured configuration, so that `float32` and `FP32` are one precision; and the
 * family that a model's name implies. Contains no model, and never fills in missing values.
 */
import type { Configuration, Measurement } from '../../core/workload/measurement.js';

/** A measurement without its outcome: what a predictor may be asked. */
export function configurationOf({
  model,
  gpu,
  gpuCount,
  batch,
  family,
  params,
  size,
  optimizer,
  precision,
  nodes,
}: Configuration): Configuration {
  return { model, gpu, gpuCount, batch, family, params, size, optimizer, precision, nodes };
}

const PRECISIONS: Readonly<Record<string, string>> = {
  float32: 'fp32',
  float: 'fp32',
  single: 'fp32',
  tensorfloat32: 'tf32',
  float16: 'fp16',
  half: 'fp16',
  bfloat16: 'bf16',
  float64: 'fp64',
  double: 'fp64',
  float8: 'fp8',
};

/** One spelling per precision: `FP32`, `float32` and `torch.float32` are `fp32`. Empty where it is not stated. */
export function precisionOf({ precision }: Configuration): string {
  const name = (precision ?? '')
    .trim()
    .toLowerCase()
    .replace(/^torch\./, '');
  return PRECISIONS[name] ?? name;
}

export const optimizerOf = ({ optimizer }: Configuration): string => (optimizer ?? '').trim().toLowerCase();

/**
 * Architectures whose names are family names in all but spelling; vision transformers work on images, as `cnn` rows do.
 */
const FAMILY_OF_NAME: readonly (readonly [RegExp, string])[] = [
  [/resnet|resnext|vgg|mobilenet|efficientnet|densenet|inception|convnext|alexnet|yolo|unet|(^|[^a-z])vit/i, 'cnn'],
  [/lstm|gru|rnn/i, 'rnn'],
  [/bert|gpt|llama|mistral|qwen|transformer|(^|[^a-z])t5/i, 'transformer'],
];

/** The stated family in lower case; where none is stated, the one that the model's name says; otherwise empty. */
export function familyOf({ family, model }: Configuration): string {
  if (family !== null) return family.trim().toLowerCase();
  return FAMILY_OF_NAME.find(([name]) => name.test(model))?.[1] ?? '';
}

/** Measurements by model, in the order of each model's first row. */
export function byModel<T extends Measurement>(measurements: readonly T[]): Map<string, T[]> {
  const models = new Map<string, T[]>();
  for (const measurement of measurements) {
    const rows = models.get(measurement.model);
    if (rows === undefined) models.set(measurement.model, [measurement]);
    else rows.push(measurement);
  }
  return models;
}
