/**
 * `bursar backtest policy`: reads a policy document, replays it over the recorded history of its teams, and saves the
 * result, because a policy may enforce only after a backtest. It changes nothing else.
 */
import type { BacktestProgress, BacktestReport } from '../core/policy/backtest.js';
import { checkWindow } from '../core/policy/backtest-window.js';
import { invalid, missing } from '../core/errors.js';
import { checkPolicyDocument, type PolicyDocument } from '../core/policy/document.js';
import type { Policy } from '../core/policy/policy.js';
import { backtestPolicy } from '../planning/policy/run.js';
import { vouch } from '../application/policy/vouch.js';
import { readHistory } from '../application/policy/history.js';
import type { Client } from './client/client.js';
import type { LocalBursar } from './context.js';
import { readStructured } from './structured-file.js';

export interface PolicyBacktestOptions {
  /** Path of a policy document. */
  readonly policy: string;
  /** ISO 8601: a day or a whole hour; `to` is not part of it. */
  readonly from: string;
  readonly to: string;
  readonly bursar: LocalBursar;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The caller, for the audit. */
  readonly actor: string;
  readonly parseYaml?: (text: string) => unknown;
  readonly progress?: BacktestProgress;
}

/** The same by a server, over what it has recorded; its key makes the result its own. */
export async function runPolicyBacktestThere({
  policy: file,
  parseYaml,
  from,
  to,
  server,
  progress = () => undefined,
}: Pick<PolicyBacktestOptions, 'policy' | 'parseYaml' | 'from' | 'to' | 'progress'> & {
  readonly server: Client;
}): Promise<BacktestReport> {
  return server.backtests.run({ policy: await readStructured(file, parseYaml), from, to }, progress);
}

/**
 * @throws Failure invalid for times or a document that cannot be used, missing if no team has any recorded use in the
 * window.
 */
export async function runPolicyBacktest(options: PolicyBacktestOptions): Promise<BacktestReport> {
  const {
    bursar: { stores, organisation, policies = [] },
    now,
    actor,
    progress = () => undefined,
  } = options;
  const { window, problems } = checkWindow(options, await stores.organisations.asOf(stores.db, organisation, now));
  if (window === null) throw invalid('the window cannot be run again', problems);
  const document = await readDocument(options, policies);
  const policy = policies.find(({ name }) => name === document.policy);
  if (policy === undefined) throw missing(`there is no policy ${document.policy}`);
  const asked = document.teams === '*' ? await stores.policies.teams(stores.db, organisation) : document.teams;
  const { teams, report } = await backtestPolicy(
    { policy, params: document.params, document: document.name },
    asked,
    window,
    { historyOf: (team) => readHistory(stores, organisation, team, window.from, window.to), step: progress },
  );
  await stores.db.transaction((tx) =>
    vouch(stores, tx, organisation, { document, policyVersion: policy.version, teams, ...window }, actor, now),
  );
  return report;
}

/**
 * @throws Failure invalid, naming every problem of the file: its paths begin with `document`, so that none is taken for
 * a flag.
 */
async function readDocument(
  { policy: file, parseYaml }: PolicyBacktestOptions,
  policies: readonly Policy[],
): Promise<PolicyDocument> {
  const { document, problems } = checkPolicyDocument(await readStructured(file, parseYaml), policies);
  if (document === null)
    throw invalid(
      `${file} has ${problems.length} problem(s)`,
      problems.map(({ path, message }) => ({ path: path === null ? 'document' : `document/${path}`, message })),
    );
  return document;
}
