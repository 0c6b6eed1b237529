/**
 * Two kinds of tests. `pure` needs nothing and starts at once; `system` gets the servers of
 * tests/support/global-setup.ts, which are started only when a run holds such a test.
 */
import { defineConfig } from 'vitest/config';

const folders = (...names: string[]): string[] => names.map((name) => `tests/${name}/**/*.test.ts`);

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    projects: [
      // Its files share modules and nothing that changes: what each would load anew is loaded once for each worker.
      {
        extends: true,
        test: { name: 'pure', include: folders('unit', 'property', 'backtest', 'structure'), isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: folders('integration', 'contract', 'migrations', 'simulation', 'e2e'),
          globalSetup: ['tests/support/global-setup.ts'],
        },
      },
    ],
  },
});
