/**
 * Three kinds of tests. `pure` needs nothing and starts at once; `stores` and `system` get the servers of
 * tests/support/global-setup.ts, which are started only when a run holds such a test.
 */
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const folders = (...names: string[]): string[] => names.map((name) => `tests/${name}/**/*.test.ts`);

/** They change what their process has one of: the tracer, the embedded server. */
const ALONE = ['tests/integration/tracing.test.ts', 'tests/integration/embedded.test.ts'];

/**
 * Simulations are small files that take minutes, and what starts processes waits for them a minute or more: begun last,
 * one of them would be waited for with idle cores.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId, project }: TestSpecification): number =>
      moduleId.includes('/tests/simulation/') ? 0 : project.name === 'system' ? 1 : 2;
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other));
  }
}

/**
 * Vitest reads an import anew at each use, by a call, and inner loops take three times as long by it. Files of src/
 * import in no circle (tests/structure/rooms.test.ts) and export nothing that changes, so they may take what they
 * import once.
 */
const importsOnce: Plugin = {
  name: 'imports-once',
  enforce: 'post',
  transform(code, id) {
    if (!id.startsWith(`${import.meta.dirname}/src/`)) return null;
    const once = code.replace(/^import \{ ([^{}\n]+) \} from ("[^"\n]+");$/gm, (_, list: string, from: string) => {
      const names = list.split(', ').map((one) => one.split(' as ') as [string, string?]);
      const taken = names.map(([name, own = name]) => [`${name} as once_${own}`, `${own} = once_${own}`]);
      return `import { ${taken.map(([one]) => one).join(', ')} } from ${from}; const ${taken.map(([, two]) => two).join(', ')};`;
    });
    return { code: once, map: null };
  },
};

export default defineConfig({
  plugins: [importsOnce],
  test: {
    testTimeout: 180_000,
    // Given on the command line it would not reach the projects. On a cluster each statement is several.
    hookTimeout: process.env['TEST_CITUS_URL'] ? 600_000 : 120_000,
    // One more than CI has cores: many tests wait, for a process to start or a silence to be long enough.
    maxWorkers: 3,
    // As the product runs itself (package.json).
    execArgv: ['--max-semi-space-size=64', '--no-allocation-site-pretenuring'],
    sequence: { sequencer: LongestFirst },
    projects: [
      // Its files share modules and nothing that changes: what each would load anew is loaded once for each worker.
      {
        extends: true,
        test: {
          name: 'pure',
          include: folders('unit', 'property', 'backtest', 'structure'),
          setupFiles: ['tests/support/property-seed.ts'],
          isolate: false,
        },
      },
      // The same with servers; each file has a database of its own.
      {
        extends: true,
        test: {
          name: 'stores',
          include: folders('integration', 'contract', 'migrations'),
          exclude: ALONE,
          globalSetup: ['tests/support/global-setup.ts'],
          setupFiles: ['tests/support/property-seed.ts'],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          // Real browsers and processes beside a full machine: what passes at a second try passes, and the run names it.
          retry: 1,
          include: [...folders('simulation', 'e2e'), ...ALONE],
          globalSetup: ['tests/support/global-setup.ts'],
        },
      },
    ],
  },
});
