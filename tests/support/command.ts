/** The command line in process, on a database of the test's own, with a way to empty it of all that was taken in. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { compose, type Bursar } from '../../src/app.module.js';
import { run } from '../../src/cli/program.js';
import { freshDatabase } from './database.js';
import { localOfComposed } from './local.js';

export interface TestCommand {
  readonly bursar: Bursar;
  /** The answer to a verb with --json. Throws what it said where it failed. */
  ask<T>(...argv: readonly string[]): Promise<T>;
  /** Writes a file (an object as JSON) and returns its path. */
  file(name: string, content: unknown): Promise<string>;
  /** As after the first start. */
  empty(): Promise<void>;
}

const TABLES = `usage_hour, cost_hour, cost_day, block, usage_id, usage_statement, carried_run,
  delivery, delivery_replaced, import, reject, work, source, price_event, metered_day, bill_claim, bill_name,
  unmetered_line`;

export async function testCommand(now: number): Promise<TestCommand> {
  const { url } = await freshDatabase();
  const clock = { now: () => now };
  let folder = '';
  const command = {} as { -readonly [K in keyof TestCommand]: TestCommand[K] };
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-command-'));
    const bursar = await compose(url, clock);
    const connect = async () => localOfComposed(bursar, clock);
    Object.assign(command, {
      bursar,
      async ask<T>(...argv: readonly string[]): Promise<T> {
        let [out, err] = ['', ''];
        const code = await run([...argv, '--json'], {
          environment: {},
          clock,
          stdout: { write: (text) => (out += text) },
          stderr: { write: (text) => (err += text) },
          serve: async () => undefined,
          connect,
          remote: null,
        });
        // doctor ends with 1 where it finds something wrong with the machine of the tests, and answers.
        if (code !== 0 && !(code === 1 && argv[0] === 'doctor'))
          throw new Error(`${argv.join(' ')} ended with ${code}: ${err}${out}`);
        return JSON.parse(out) as T;
      },
      async file(name: string, content: unknown) {
        const at = path.join(folder, name);
        await writeFile(at, typeof content === 'string' ? content : JSON.stringify(content));
        return at;
      },
      async empty() {
        const { db } = bursar.stores;
        await db.transaction(async (tx) => {
          await tx.query(`truncate ${TABLES}`);
          // The audit's own triggers know no exception; a Citus cluster empties what it spreads by triggers too.
          await tx.query(`set local session_replication_role = replica`);
          await tx.query(`truncate audit, audit_seal`);
        });
        await db.query(`update organisation set price_version = price_version + 1`);
      },
    });
  });
  afterAll(async () => {
    await command.bursar.close();
    await rm(folder, { recursive: true, force: true });
  });
  return command;
}
