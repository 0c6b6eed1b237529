/**
 * What a verb waits for while a server lives whose line is never idle: a source that is read for ever keeps no verb
 * waiting, neither here nor through the API, and a wait that finds no worker ends at its bound and says so.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/program.js';
import { Progress } from '../../src/cli/progress.js';
import { waitForLine } from '../../src/cli/client/line.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { Stage } from '../../src/pipeline/stage.js';
import { ENQUEUED_CHANNEL, enqueue } from '../../src/store/work.js';
import { testApi } from '../support/web.js';
import { localOfComposed } from '../support/local.js';

const ENDLESS = { stage: 'test.endless', partition: 'source', key: 'source' };
/** A source that is read again as soon as it was read. */
const endless: Stage = { name: ENDLESS.stage, most: 1, run: async () => [ENDLESS] };
const BUDGET = ['budgets', 'set', 'vision-monthly', '--team', 'vision', '--amount', '5', '--json'];

describe('while a server lives that is never idle', async () => {
  const api = await testApi();
  const clock = { now: () => Date.UTC(2026, 10, 18, 12) };
  let stopListening: () => Promise<void>;
  const makeRunner = (): Runner =>
    new Runner(api.stores.db, api.stores.work, clock, [endless, ...makeLine(api.stores, [])]);
  beforeAll(async () => {
    stopListening = await api.stores.db.listen(ENQUEUED_CHANNEL, () => undefined);
    await enqueue(api.stores.db, 'default', [ENDLESS]);
  });
  afterAll(() => stopListening());

  const ran = async (remote: { url: string; apiKey: string } | null, argv: readonly string[]): Promise<unknown> => {
    let out = '';
    const runner = makeRunner();
    const code = await run(argv, {
      environment: {},
      clock,
      remote,
      stdout: { write: (text) => (out += text) },
      stderr: { write: () => undefined },
      serve: async () => undefined,
      connect: async () => localOfComposed({ ...api, runner }, clock),
    });
    expect(code).toBe(0);
    return JSON.parse(out);
  };

  it('a budget that is set here is evaluated when the verb returns', async () => {
    expect(await ran(null, BUDGET)).toMatchObject({ budget: { state: { planned: '5.000000000' } } });
  });

  it('and so is one that is set through the API', async () => {
    const argv = BUDGET.map((word) => (word === '5' ? '7' : word));
    let isOver = false;
    const asked = ran({ url: api.url, apiKey: api.admin }, argv).finally(() => (isOver = true));
    await makeRunner().drain(undefined, async () => isOver);
    expect(await asked).toMatchObject({ budget: { state: { planned: '7.000000000' } } });
  });
});

describe('a wait', () => {
  const waiting = async (left: () => readonly { stage: string; keys: number }[]): Promise<readonly string[]> => {
    let now = 0;
    const said: string[] = [];
    const clock = { now: () => (now += 50_000) };
    await waitForLine({
      clock,
      progress: new Progress({ write: () => undefined }, clock),
      note: (text) => said.push(text),
      left: async () => left(),
      pollMilliseconds: 0,
      otherwise: 'is a worker running?',
    });
    return said;
  };

  it('gives up where nothing changes, and says what it waited for', async () => {
    const said = await waiting(() => [{ stage: 'budget.weigh', keys: 2 }]);
    expect(said).toEqual([
      expect.stringMatching(
        /^Waited \d+ s for budget\.weigh \(2\), which continues without this command: is a worker running\?$/,
      ),
    ]);
  });

  it('gives up where something changes for ever', async () => {
    let keys = 0;
    const said = await waiting(() => [{ stage: 'cost.price', keys: ++keys }]);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^Waited \d+ s for cost\.price/);
  });
});
