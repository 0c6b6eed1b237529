/**
 * What a property test imports as `fast-check` while mutants are tried: a tenth of its runs, and no search for a
 * smaller case. A mutant that only more runs would notice counts as survived. Tests that count what was drawn need all.
 */
import { assert as holds } from 'fast-check';

export * from 'fast-check';

export const runs = { share: 10 };
export const assert = (property, settings = {}) =>
  holds(property, { ...settings, numRuns: Math.ceil((settings.numRuns ?? 100) / runs.share), endOnFailure: true });
