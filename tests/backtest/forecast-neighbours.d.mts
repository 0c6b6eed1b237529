interface Constant {
  readonly file: string;
  /** Its place in the file, and its text there. */
  readonly at: number;
  readonly from: string;
  readonly name: string;
  readonly neighbours: readonly number[];
}

/** Relative, below zero where the loss is smaller, with its standard error. */
interface Change {
  readonly change: number;
  readonly error: number;
}

interface Move {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

interface Measured {
  misses(constants: readonly Constant[]): Promise<(Move & Change)[]>;
  intervals(
    constants: readonly Constant[],
  ): Promise<{ held: number[]; moved: (Move & { changes: Change[]; held: number[] })[] }>;
}

/** @param change a constant that is another one from the start */
export function measured(seeds: number, every: number, change?: Constant & { readonly to: string }): Promise<Measured>;

export const COVERAGES: readonly number[];
export const FORECAST_CONSTANTS: readonly Constant[];
export const INTERVAL_CONSTANTS: readonly Constant[];
