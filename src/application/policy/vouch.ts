/**
 * Saves the rows of a finished backtest that vouch for a policy (policy_backtest). Enforcing requires them.
 */
import type { BacktestCell } from '../../core/policy/backtest.js';
import type { BacktestWindow } from '../../core/policy/backtest-window.js';
import { fingerprintOf, type PolicyDocument } from '../../core/policy/document.js';
import { formatInstant } from '../../core/time.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';

/** The result that vouches for a policy on the history of one team. */
export interface TestedTeam {
  readonly team: string;
  readonly cells: readonly BacktestCell[];
  /** Since when its history counts, epoch milliseconds; what lies before was not recorded and vouches for nothing. */
  readonly from: number;
}

/** Saves the tested teams: a row per team, and the audit. Enforcing requires these rows. */
export async function vouch(
  { policies, audit }: Pick<Stores, 'policies' | 'audit'>,
  tx: Transaction,
  organisation: string,
  tested: {
    readonly document: PolicyDocument;
    readonly policyVersion: number;
    readonly teams: readonly TestedTeam[];
  } & BacktestWindow,
  by: string,
  now: number,
): Promise<void> {
  const { document, policyVersion, teams, from, to } = tested;
  const fingerprint = fingerprintOf(document, policyVersion);
  for (const { team, cells, from: since } of teams) {
    await policies.saveBacktest(
      tx,
      organisation,
      { fingerprint, policy: document.policy, policyVersion, team, from: since, to, result: cells },
      by,
      now,
    );
  }
  await audit.audit(tx, organisation, by, 'policy.backtest', document.name, {
    policy: document.policy,
    version: policyVersion,
    teams: teams.map(({ team }) => team),
    from: formatInstant(from),
    to: formatInstant(to),
  });
}
