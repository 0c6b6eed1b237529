/**
 * One command line, asked twice: in process on the database of a test's API, and by HTTP through that API, which is all
 * that the second may ask.
 */
import { run } from '../../src/cli/program.js';
import { localOf } from './local.js';
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
        return localOf(api, { now: () => NOW });
      },
    });
    return { code, out: out.join(''), err: err.join('') };
  };
  const thereAs = (apiKey: string, ...argv: string[]): Promise<Ran> => ran({ url: api.url, apiKey }, argv);
  return { here: (...argv) => ran(null, argv), there: (...argv) => thereAs(api.admin, ...argv), thereAs };
}
