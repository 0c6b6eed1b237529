/** Every list as CSV on an installation that has nothing yet: its titles, so that a program can read it all the same. */
import { describe, expect, it } from 'vitest';
import { LISTS } from '../../src/cli/listing.js';
import { run } from '../../src/cli/program.js';
import { testApi } from '../support/web.js';

/** These ask for something by its id, or draw what is not a table. */
const WITHOUT = new Set(['actions show', 'budgets history', 'limits show']);

describe('lists as CSV, where there is nothing', async () => {
  const api = await testApi();

  it.each([...LISTS.filter((words) => !WITHOUT.has(words)), 'reconcile', 'deliveries'])(
    '%s has its titles',
    async (words) => {
      let [out, err] = ['', ''];
      const code = await run([...words.split(' '), '--csv'], {
        environment: {},
        clock: { now: () => Date.now() },
        connect: () => Promise.reject(new Error('goes through the API')),
        serve: () => Promise.resolve(),
        remote: { url: api.url, apiKey: api.admin },
        stdout: { write: (text) => (out += text) },
        stderr: { write: (text) => (err += text) },
      });
      expect(code, err).toBe(0);
      expect(out.split('\n')[0]).toMatch(/^[A-Za-z][^,]*(,[^,]+)+$/);
    },
  );
});
