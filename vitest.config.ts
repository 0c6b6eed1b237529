/**
 * Three kinds of tests. `pure` needs nothing and starts at once; `stores` and `system` get the servers of
 * tests/support/global-setup.ts, which are started only when a run holds such a test.
 */
import { defineConfig } from 'vitest/config';

const folders = (...names: string[]): string[] => names.map((name) => `tests/${name}/**/*.test.ts`);

/** They change what their process has one of: the tracer, the embedded server. */
const ALONE = ['tests/integration/tracing.test.ts', 'tests/integration/embedded.test.ts'];

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
      // The same with servers; each file has a database of its own.
      {
        extends: true,
        test: {
          name: 'stores',
          include: folders('integration', 'contract', 'migrations'),
          exclude: ALONE,
          globalSetup: ['tests/support/global-setup.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: [...folders('simulation', 'e2e'), ...ALONE],
          globalSetup: ['tests/support/global-setup.ts'],
        },
      },
    ],
  },
});
