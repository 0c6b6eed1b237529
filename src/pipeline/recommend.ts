/**
 * recommendation.make (team): shows the team as it stands to the policies whose documents apply to it, and keeps what
 * they propose.
 *
 * Policies are handed in and only ever called through their port; which of them wins is core's word
 * (policy/decision.ts), what becomes of the actions is settle.ts'.
 */
import { decide, unseenBy } from '../core/policy/decision.js';
import { appliesTo, type PolicyDocument } from '../core/policy/document.js';
import type { Policy, PolicyView } from '../core/policy/policy.js';
import type { Recommendation } from '../core/policy/recommendation.js';
import { alertObstacles, withRisks } from '../application/action/carry-out.js';
import type { Lapsing } from '../store/policy/recommendations.js';
import type { Stores } from '../store/stores.js';
import { settleActions } from './settle.js';
import type { Stage } from './stage.js';
import type { WorkItem } from '../store/work.js';

export function recommendStage(stores: Stores, policies: readonly Policy[]): Stage {
  const { organisations, prices, views, recommendations, policies: documents } = stores;
  return {
    name: 'recommendation.make',
    most: 1,
    async run({ organisation, keys, now, tx }) {
      const workItems: WorkItem[] = [];
      for (const team of keys) {
        const currency = await organisations.currencyOf(tx, organisation, team);
        const asOf = await organisations.asOf(tx, organisation, now);
        const peak = await organisations.peak(tx, organisation);
        const applied = (await documents.list(tx, organisation, policies)).filter(({ paused }) => !paused);
        const own = asking(applied, team, policies);
        const view = await views.view(
          tx,
          organisation,
          team,
          currency,
          asOf,
          await prices.book(tx, organisation),
          peak,
          { needsInstances: own.some(({ policy }) => policy.needsInstances === true) },
        );
        workItems.push(...nextEvaluation(team, own, view, now));
        const decisions = decide(view, applied, policies);
        const recommendationsIn = async (status: 'open' | 'observed') => {
          const found: Recommendation[] = [];
          for (const one of decisions)
            if (one.status === status) found.push(await withRisks(stores, tx, organisation, one.recommendation));
          return found;
        };
        const open = await recommendationsIn('open');
        const observed = await recommendationsIn('observed');
        const names = policies.map(({ name }) => name);
        const made = [...open, ...observed].map(({ id }) => id);
        const lapsing = await recommendations.lapsing(tx, organisation, team, names, made);
        const standing = standingOf(lapsing, view, applied, policies);
        await recommendations.replaceOpen(tx, organisation, team, names, open, now, observed, standing);
        await recommendations.saveEvaluation(tx, organisation, team, now);
        await alertObstacles(
          stores,
          tx,
          organisation,
          [...open.filter(({ mode }) => mode === 'recommend'), ...observed],
          now,
        );
        workItems.push(
          ...(await settleActions(stores, tx, {
            organisation,
            team,
            now,
            view,
            recommendations: open,
            standing,
            documents: applied,
            policies,
          })),
        );
      }
      return workItems;
    },
  };
}

/** The policies that are asked about a team, each with the document that asks. */
export function asking(
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
 * Those that do not lapse though nobody proposes them now: nobody could see whether to. What a person has rejected
 * stays rejected also where nothing was measured for long.
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
