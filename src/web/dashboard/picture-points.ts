/**
 * Which values of a line stand alone, with none before and none after them: no line leads to them, so that they are
 * drawn as points, as on the first day of a saving. By their place.
 */
export const standAlone = (values: readonly (string | null)[]): number[] =>
  values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
