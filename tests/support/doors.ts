/**
 * One command line before two doors: the database of a test's API, and that API, which is all that the second may ask.
 */
import { run } from '../../src/cli/program.js';
import { NOW, type TestApi } from './web.js';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export function bothDoors(api: TestApi): {
  here(...argv: string[]): Promise<Ran>;
  there(...argv: string[]): Promise<Ran>;
  thereAs(apiKey: string, ...argv: string[]): Promise<Ran>;
} {
  const ran = async (remote: { url: string; apiKey: string } | null, argv: readonly string[]): Promise<Ran> => {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await run(argv, {
      environment: {},
      clock: { now: () => NOW },
      remote,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
      serve: async () => undefined,
      async connect() {
        if (remote !== null) throw new Error('the database is not asked');
        return {
          stores: api.stores,
          importer: api.importer,
          organisation: 'default',
          policies: api.policies,
          drain: async () => undefined,
          migrate: async () => [],
          close: async () => undefined,
        };
      },
    });
    return { code, out: out.join(''), err: err.join('') };
  };
  const thereAs = (apiKey: string, ...argv: string[]): Promise<Ran> => ran({ url: api.url, apiKey }, argv);
  return { here: (...argv) => ran(null, argv), there: (...argv) => thereAs(api.admin, ...argv), thereAs };
}
