/**
 * What Stryker runs for each mutant (run.mjs): the pure tests that look at core, policies and planning, and of them
 * those that reach the broken place. Seeds of property tests are fixed, or a mutant would be killed on one day only.
 */
import { statSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import type { TestSequencer, TestSpecification } from 'vitest/node';

/** The first failure ends a mutant's run: cases before properties, which take seconds, and short files first. */
class QuickestFirst implements TestSequencer {
  async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      statSync(moduleId).size + (moduleId.includes('/tests/property/') ? 1e9 : 0);
    return [...files].sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    root: process.cwd(),
    include: [
      'tests/unit/{core,policies,planning}/**/*.test.ts',
      'tests/unit/{commitment,idle,scaling-*}.test.ts',
      'tests/property/**/*.test.ts',
    ],
    isolate: false,
    testTimeout: 180_000,
    setupFiles: ['tests/support/property-seed.ts'],
    sequence: { sequencer: QuickestFirst },
    env: { BURSAR_PROPERTY_SEED: '1' },
  },
});
