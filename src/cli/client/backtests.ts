/**
 * The API requests of `bursar backtest policy`: a server runs the backtest over what it has recorded, and this waits
 * for the report, with a bound.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { BacktestProgress, BacktestReport } from '../../core/policy/backtest.js';
import { Failure, invalid, unavailable, type Problem } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import type { Backtest, BacktestDetail } from '../answers.js';
import { at, type Api } from './api.js';

export interface BacktestOrder {
  /** A policy document, as its file has it: the server checks it. */
  readonly policy: unknown;
  readonly from: string;
  readonly to: string;
}

/** So long without any change is waited. */
const STILL_MILLISECONDS = 600_000;
const POLL_MILLISECONDS = 500;

export class BacktestClient {
  constructor(
    private readonly api: Api,
    private readonly clock: Clock,
  ) {}

  /** @throws Failure naming every problem of the order, or why the backtest failed; unavailable if nothing changes */
  async run(order: BacktestOrder, progress: BacktestProgress): Promise<BacktestReport> {
    const { id } = await this.api.call<Backtest>('POST', '/v1/backtests', { json: order }).catch(asOfTheFile);
    let [last, since] = ['', this.clock.now()];
    for (;;) {
      const found = await this.api.call<BacktestDetail>('GET', at('backtests', id));
      if (found.status === 'failed')
        throw invalid(found.error?.message ?? `backtest ${id} failed`, found.error?.problems ?? []);
      if (found.result !== null) return found.result;
      await progress(found.progress);
      const state = `${found.status} ${found.progress}`;
      if (state !== last) [last, since] = [state, this.clock.now()];
      if (this.clock.now() - since >= STILL_MILLISECONDS)
        throw unavailable(
          `backtest ${id} is ${found.status} and has not changed for ${STILL_MILLISECONDS / 60_000} minutes; ` +
            'it continues on the server without this command: is a worker running?',
        );
      await pause(POLL_MILLISECONDS);
    }
  }
}

/** The paths of the document as those of a file: none is taken for a flag. */
function asOfTheFile(error: unknown): never {
  if (!(error instanceof Failure)) throw error;
  const problems = error.problems.map(
    ({ path, message }): Problem => ({ path: path?.replace(/^policy(?=\/|$)/, 'document') ?? null, message }),
  );
  throw new Failure(error.kind, error.message, problems);
}
