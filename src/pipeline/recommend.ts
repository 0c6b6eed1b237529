/**
 * recommendation.make (team): evaluates the policies whose documents apply to the team on its current view, and keeps
 * the proposals. The policies are passed in and called only through their port. Core decides which proposal wins
 * (policy/decision.ts); settle.ts handles the actions.
 */
import { decide, unseenBy, type Decision } from '../core/policy/decision.js';
import { appliesTo, type PolicyDocument } from '../core/policy/document.js';
import type { Policy, PolicyView } from '../core/policy/policy.js';
import type { Recommendation } from '../core/policy/recommendation.js';
import { alertObstacles, withRisks } from '../application/action/carry-out.js';
import type { Transaction } from '../store/database.js';
import type { Lapsing } from '../store/policy/recommendations.js';
import type { Stores } from '../store/stores.js';
import { settleActions } from './settle.js';
import type { Stage } from './stage.js';
import type { WorkItem } from '../store/work.js';

type Needed = Parameters<typeof settleActions>[0] & Pick<Stores, 'organisations' | 'prices' | 'views'>;

export function recommendStage(stores: Needed, policies: readonly Policy[]): Stage {
  return {
    name: 'recommendation.make',
    most: 1,
    async run({ organisation, keys, now, tx }) {
      const workItems: WorkItem[] = [];
      for (const team of keys)
        workItems.push(...(await recommendTo(stores, policies, tx, { organisation, team, now })));
      return workItems;
    },
  };
}

interface Asked {
  readonly organisation: string;
  readonly team: string;
  readonly now: number;
}

/** Evaluates the policies for a team and keeps their proposals; returns the work that follows. */
async function recommendTo(
  stores: Needed,
  policies: readonly Policy[],
  tx: Transaction,
  { organisation, team, now }: Asked,
): Promise<WorkItem[]> {
  const { recommendations } = stores;
  const documents = (await stores.policies.list(tx, organisation, policies)).filter(({ paused }) => !paused);
  const own = asking(documents, team, policies);
  const view = await viewOf(stores, tx, { organisation, team, now }, own);
  const decisions = decide(view, documents, policies);
  const open = await recommendationsOf(stores, tx, organisation, decisions, 'open');
  const observed = await recommendationsOf(stores, tx, organisation, decisions, 'observed');
  const names = policies.map(({ name }) => name);
  const made = [...open, ...observed].map(({ id }) => id);
  const lapsing = await recommendations.lapsing(tx, organisation, team, names, made);
  const standing = standingOf(lapsing, view, documents, policies);
  await recommendations.replaceOpen(tx, organisation, team, names, open, now, observed, standing);
  await recommendations.saveEvaluation(tx, organisation, team, now);
  const unsettled = [...open.filter(({ mode }) => mode === 'recommend'), ...observed];
  await alertObstacles(stores, tx, organisation, unsettled, now);
  const settled = await settleActions(stores, tx, {
    organisation,
    team,
    now,
    view,
    recommendations: open,
    standing,
    documents,
    policies,
  });
  return [...nextEvaluation(team, own, view, now), ...settled];
}

/** The team as it stands, with its machines one by one where a policy that is asked needs them. */
async function viewOf(
  { organisations, prices, views }: Needed,
  tx: Transaction,
  { organisation, team, now }: Asked,
  own: ReturnType<typeof asking>,
): Promise<PolicyView> {
  const currency = await organisations.currencyOf(tx, organisation, team);
  const asOf = await organisations.asOf(tx, organisation, now);
  const peak = await organisations.peak(tx, organisation);
  const book = await prices.book(tx, organisation);
  const needsInstances = own.some(({ policy }) => policy.needsInstances === true);
  return views.view(tx, organisation, team, currency, asOf, book, peak, { needsInstances });
}

async function recommendationsOf(
  stores: Needed,
  tx: Transaction,
  organisation: string,
  decisions: readonly Decision[],
  status: Decision['status'],
): Promise<Recommendation[]> {
  const found: Recommendation[] = [];
  for (const one of decisions)
    if (one.status === status) found.push(await withRisks(stores, tx, organisation, one.recommendation));
  return found;
}

/** The policies that are asked about a team, each with the document that asks. */
function asking(
  documents: readonly PolicyDocument[],
  team: string,
  policies: readonly Policy[],
): { readonly document: PolicyDocument; readonly policy: Policy }[] {
  return documents
    .filter((document) => appliesTo(document, team))
    .flatMap((document) =>
      policies.filter(({ name }) => name === document.policy).map((policy) => ({ document, policy })),
    );
}

/**
 * The next evaluation that time alone brings, where a policy names one: kept by the work table, so that a restart keeps
 * it.
 */
function nextEvaluation(team: string, own: ReturnType<typeof asking>, view: PolicyView, now: number): WorkItem[] {
  const instants = own.flatMap(
    ({ document, policy }) => policy.nextEvaluationAt?.(view, policy.params.parse(document.params)) ?? [],
  );
  if (instants.length === 0) return [];
  const notBefore = now + Math.max(0, Math.min(...instants) - view.asOf);
  return [{ stage: 'recommendation.make', partition: team, key: team, notBefore }];
}

/**
 * Recommendations that stay although no policy proposes them now, because the evidence for a decision is missing. A
 * rejected recommendation stays rejected even if nothing was measured for a long time.
 */
function standingOf(
  lapsing: readonly Lapsing[],
  view: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): string[] {
  if (lapsing.length === 0) return [];
  const unseen = unseenBy(view, documents, policies);
  return lapsing
    .filter(({ policy, target, status }) =>
      unseen.some(
        (one) => one.policy === policy && one.target === target && (one.evidence === 'late' || status === 'rejected'),
      ),
    )
    .map(({ id }) => id);
}
