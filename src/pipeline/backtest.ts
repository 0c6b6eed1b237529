/**
 * backtest.run (backtest): runs a policy document over the recorded history of its teams, reports progress, and keeps
 * the report with the rows that vouch for the policy.
 *
 * It runs apart (stage.ts), without an open transaction. The other work of the process continues, because the replay
 * runs in small steps with a rest after every few milliseconds, and because a process runs one backtest at a time: a
 * second one waits without holding a worker. After a crash the lease expires and the backtest starts again; the result
 * of a run that was overtaken is not kept. A fault in the order is a result of the backtest. Only failures that may
 * pass are retried.
 */
import { setImmediate as rest } from 'node:timers/promises';
import { Failure, missing } from '../core/errors.js';
import type { Policy } from '../core/policy/policy.js';
import { backtestPolicy, type FinishedBacktest } from '../planning/policy/run.js';
import { vouch } from '../application/policy/vouch.js';
import { RUN_BACKTEST, type BacktestError, type BegunBacktest } from '../store/policy/backtests.js';
import { readHistory } from '../application/policy/history.js';
import type { Stores } from '../store/stores.js';
import { apartStage, type ApartWork, type Stage } from './stage.js';

/** Work between two rests: a request that comes meanwhile waits about so long. */
const STRETCH_MS = 15;
/** Between two notes of how far it is. */
const NOTE_MS = 500;
/** Until a backtest that found another one running looks again. */
const WAIT_MS = 2000;

/** A later run of the same backtest has begun. */
class Overtaken extends Error {}

type Outcome = FinishedBacktest | { readonly error: BacktestError };
type Needed = Parameters<typeof readHistory>[0] & Parameters<typeof vouch>[0] & Pick<Stores, 'backtests' | 'reading'>;

export function backtestStage(stores: Needed, policies: readonly Policy[]): Stage {
  let isRunning = false;
  const apart: ApartWork = async ({ organisation, partition, key, now }) => {
    if (isRunning) return async (_, at) => [{ stage: RUN_BACKTEST, partition, key, notBefore: at + WAIT_MS }];
    isRunning = true;
    try {
      const begun = await stores.backtests.begin(stores.db, organisation, key, now);
      if (begun === null) return async () => [];
      const outcome = await outcomeOf(stores, policies, { organisation, id: key, begun });
      return async (tx, endedAt) => {
        const ended = await stores.backtests.end(
          tx,
          organisation,
          key,
          begun.run,
          'error' in outcome ? outcome : { report: outcome.report },
          endedAt,
        );
        if (ended && 'report' in outcome) {
          const { document, from, to, madeBy } = begun;
          await vouch(
            stores,
            tx,
            organisation,
            { document, policyVersion: policyOf(policies, begun).version, teams: outcome.teams, from, to },
            madeBy,
            endedAt,
          );
        }
        return [];
      };
    } catch (error) {
      if (error instanceof Overtaken) return async () => [];
      throw error;
    } finally {
      isRunning = false;
    }
  };
  return apartStage(RUN_BACKTEST, apart);
}

interface Run {
  readonly organisation: string;
  readonly id: string;
  readonly begun: BegunBacktest;
}

/** The report, or the faults of the order. @throws Overtaken, failures that may pass, and bugs. */
async function outcomeOf(stores: Needed, policies: readonly Policy[], run: Run): Promise<Outcome> {
  const {
    organisation,
    begun: { document, teams: asked, from, to },
  } = run;
  try {
    const policy = policyOf(policies, run.begun);
    const teams = asked === '*' ? await stores.policies.teams(stores.db, organisation) : asked;
    // A backtest may vouch for a policy, so it reads a source that has all committed data.
    const recorded = { ...stores, db: await stores.reading.whole() };
    return await backtestPolicy(
      { policy, params: document.params, document: document.name },
      teams,
      { from, to },
      { historyOf: (team) => readHistory(recorded, organisation, team, from, to), step: stepper(stores, run) },
    );
  } catch (error) {
    if (error instanceof Failure && error.kind !== 'unavailable')
      return { error: { message: error.message, problems: error.problems } };
    throw error;
  }
}

function policyOf(policies: readonly Policy[], { document }: Pick<BegunBacktest, 'document'>): Policy {
  const found = policies.find(({ name }) => name === document.policy);
  if (found === undefined) throw missing(`there is no policy ${document.policy}`);
  return found;
}

/** Rests after a stretch of work, and notes now and then how far it is. */
function stepper({ db, backtests }: Needed, { organisation, id, begun }: Run): (share: number) => Promise<void> | void {
  let [restedAt, notedAt] = [performance.now(), performance.now()];
  const pause = async (share: number): Promise<void> => {
    if (performance.now() - notedAt >= NOTE_MS) {
      if (!(await backtests.progress(db, organisation, id, begun.run, share))) throw new Overtaken();
      notedAt = performance.now();
    }
    await rest();
    restedAt = performance.now();
  };
  return (share) => (performance.now() - restedAt < STRETCH_MS ? undefined : pause(share));
}
