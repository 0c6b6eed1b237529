/**
 * The values of a line that stand alone, with none before and none after them: no line reaches them, so that they are
 * drawn as points, such as the first day of a saving. By their index.
 */
export const standAlone = (values: readonly (string | null)[]): number[] =>
  values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
