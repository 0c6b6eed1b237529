/**
 * The rows that an answer rests on where there are more than it needs: the time to learn grows with the cube of the
 * coefficients, of which each kind of GPU, precision and optimizer costs some, and whoever asks waits.
 *
 * Up to the bounds every row counts. Beyond, those nearest to the configuration that is asked about, each configuration
 * once before any of them a second time: repeats tell of the noise alone. Chooses rows only; never looks at a measured
 * value.
 */
import type { Configuration, TakenMeasurement } from '../../core/workload/measurement.js';
import { coefficientsFor, type Levels } from './features.js';
import { configurationOf, familyOf, optimizerOf, precisionOf } from './measurement.js';

export const MOST_OWN_ROWS = 200;
export const MOST_COEFFICIENTS = 80;
/** Each is a column of every coefficient's regression. */
export const MOST_FAMILIES = 12;

interface Rows {
  readonly own: readonly TakenMeasurement[];
  readonly background: readonly TakenMeasurement[];
}

export interface ChosenRows extends Rows {
  /** As many of the model's own rows as there are coefficients: the same rows for every requested batch or count. */
  readonly known: readonly TakenMeasurement[];
}

/** @param own of the asked model, oldest first */
export function chosenRows({ own, background }: Rows, asked: Configuration): ChosenRows {
  const levels = new BoundedLevels(asked);
  const known = levels.takeAll(own) ? own : mostFrequent(own).filter((row) => levels.take(row));
  return {
    known,
    own: known.length <= MOST_OWN_ROWS ? known : nearest(known, asked),
    background: levels.takeAll(background) ? background : background.filter((row) => levels.take(row)),
  };
}

/** The kinds of GPU, precisions, optimizers and families of the rows that were taken, within the bounds. */
class BoundedLevels {
  private levels: Levels;

  constructor(asked: Configuration) {
    this.levels = { gpus: new Set(), precisions: new Set(), optimizers: new Set(), families: new Set() };
    this.levels = this.with([asked]);
  }

  /** All of them, or none where they have too many. */
  takeAll(rows: readonly Configuration[]): boolean {
    const levels = this.with(rows);
    if (coefficientsFor(levels) > MOST_COEFFICIENTS || levels.families.size > MOST_FAMILIES) return false;
    this.levels = levels;
    return true;
  }

  take(row: Configuration): boolean {
    const { gpus, precisions, optimizers, families } = this.levels;
    const isKnown =
      gpus.has(row.gpu) &&
      precisions.has(precisionOf(row)) &&
      optimizers.has(optimizerOf(row)) &&
      families.has(familyOf(row));
    return isKnown || this.takeAll([row]);
  }

  private with(rows: readonly Configuration[]): Levels {
    const { gpus, precisions, optimizers, families } = this.levels;
    return {
      gpus: new Set([...gpus, ...rows.map(({ gpu }) => gpu)]),
      precisions: new Set([...precisions, ...rows.map(precisionOf)]),
      optimizers: new Set([...optimizers, ...rows.map(optimizerOf)]),
      families: new Set([...families, ...rows.map(familyOf)]),
    };
  }
}

/** First the rows of the kind, precision, optimizer and family that there are the most of. */
function mostFrequent(rows: readonly TakenMeasurement[]): TakenMeasurement[] {
  const nameOf = (row: Configuration): string =>
    JSON.stringify([row.gpu, precisionOf(row), optimizerOf(row), familyOf(row)]);
  const named = rows.map((row) => ({ row, name: nameOf(row) }));
  const counts = new Map<string, number>();
  for (const { name } of named) counts.set(name, (counts.get(name) ?? 0) + 1);
  return named.sort((a, b) => (counts.get(b.name) ?? 0) - (counts.get(a.name) ?? 0)).map(({ row }) => row);
}

/** Each configuration's newest first, and of those the nearest; in the order in which they came. */
function nearest(rows: readonly TakenMeasurement[], asked: Configuration): TakenMeasurement[] {
  const seen = new Map<string, number>();
  const ranked = rows.toReversed().map((row) => {
    const name = JSON.stringify(configurationOf(row));
    const repeats = seen.get(name) ?? 0;
    seen.set(name, repeats + 1);
    return { row, repeats, distance: distanceOf(row, asked) };
  });
  ranked.sort((a, b) => a.repeats - b.repeats || a.distance - b.distance);
  const chosen = new Set(ranked.slice(0, MOST_OWN_ROWS).map(({ row }) => row));
  return rows.filter((row) => chosen.has(row));
}

/** Another kind of GPU tells less than another precision, and that less than some doublings of a count. */
function distanceOf(row: Configuration, asked: Configuration): number {
  const apart = (a: number | null, b: number | null): number =>
    a === null || b === null ? 0 : Math.abs(Math.log(a / b));
  return (
    (row.gpu === asked.gpu ? 0 : 4) +
    (precisionOf(row) === precisionOf(asked) ? 0 : 2) +
    (optimizerOf(row) === optimizerOf(asked) ? 0 : 1) +
    apart(row.batch, asked.batch) +
    apart(row.gpuCount, asked.gpuCount) +
    apart(row.size, asked.size)
  );
}
