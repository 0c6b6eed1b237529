/**
 * Applies, pauses and resumes a policy document, with all consequences: the line evaluates the teams again. Every entry
 * point (API, command line, Slack) uses these functions, so all do the same.
 */
import { conflict } from '../../core/errors.js';
import { fingerprintOf, type PolicyDocument } from '../../core/policy/document.js';
import type { Policy } from '../../core/policy/policy.js';
import type { Queryable, Transaction } from '../../store/database.js';
import type { StoredPolicy } from '../../store/policy/policies.js';
import type { Stores } from '../../store/stores.js';

type Needs = Pick<Stores, 'policies'>;

export interface ApplyRequest {
  readonly document: PolicyDocument;
  /** Why it may enforce without a backtest; null: it may not. */
  readonly override: string | null;
}

export interface Applied {
  readonly policy: StoredPolicy;
  /** For the audit. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Applies a validated document. The first document ends the defaults, so every team is evaluated again. @throws Failure
 * conflict if it would enforce without a backtest on a team's history.
 */
export async function applyPolicy(
  { policies: store }: Needs,
  tx: Transaction,
  organisation: string,
  policies: readonly Policy[],
  { document, override }: ApplyRequest,
  by: string,
  now: number,
): Promise<Applied> {
  const before = await store.get(tx, organisation, document.name);
  const untested = document.mode === 'enforce' ? await untestedTeams(store, tx, organisation, policies, document) : [];
  if (untested.length > 0 && override === null) {
    throw conflict(
      `${document.policy} may not enforce without a backtest: run bursar backtest policy, or give a reason why not`,
      untested.map((team) => ({
        path: 'mode',
        message: `${team} has no backtest of ${document.policy} with these parameters`,
      })),
    );
  }
  const policy = await store.save(tx, organisation, document, by, now);
  await enqueueAll(store, tx, organisation, document);
  return {
    policy,
    detail: {
      before: before === null ? null : { mode: before.mode, version: before.version },
      after: document,
      version: policy.version,
      ...(untested.length > 0 ? { override, withoutBacktest: untested } : {}),
    },
  };
}

/** Pauses or resumes a document. @throws Failure missing if nobody has applied it. */
export async function pausePolicy(
  { policies: store }: Needs,
  tx: Transaction,
  organisation: string,
  name: string,
  paused: boolean,
  by: string,
  now: number,
): Promise<Applied> {
  const policy = await store.setPaused(tx, organisation, name, paused, by, now);
  await enqueueAll(store, tx, organisation, policy);
  return { policy, detail: { paused, version: policy.version } };
}

async function enqueueAll(
  store: Needs['policies'],
  tx: Transaction,
  organisation: string,
  document: Pick<PolicyDocument, 'teams'>,
): Promise<void> {
  await store.enqueueTeams(tx, organisation, { teams: '*' });
  if (document.teams !== '*') await store.enqueueTeams(tx, organisation, document);
}

async function untestedTeams(
  store: Needs['policies'],
  db: Queryable,
  organisation: string,
  policies: readonly Policy[],
  document: PolicyDocument,
): Promise<string[]> {
  const version = policies.find(({ name }) => name === document.policy)?.version ?? 0;
  const tested = await store.backtested(db, organisation, fingerprintOf(document, version));
  const teams = document.teams === '*' ? await store.teams(db, organisation) : document.teams;
  return teams.filter((team) => !tested.has(team));
}
