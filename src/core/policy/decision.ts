/**
 * From the policy documents of a team to its recommendations: every policy is evaluated, and if several propose an
 * action on one subject, one wins by a fixed order. Of the documents that size one subject by a load, only the one with
 * the largest size is used, so none removes what another needs.
 *
 * The order: the action (a stop before a replacement before a scale-in before a move before a resize, see RANK), then
 * the document's priority, then the larger known saving (unknown is smallest), then the name. Losers stay on the winner
 * as `insteadOf`. A document in mode `observe` competes with no other: its proposals are kept with the status
 * `observed`. A group and one of its machines are never both changed, and a target that an action has ended is not
 * proposed again. The groups of a promised service are left to the document that promises it, and to the brake. This
 * is the only path from policies to people: no saving beyond the spend passes it (claim.ts).
 */
import { own } from '../own.js';
import { calibrationKey } from './calibration.js';
import { withinSpend } from './claim.js';
import {
  isWorthwhile,
  recommendationOf,
  type LeftAlone,
  type OwnEnd,
  type Policy,
  type PolicyView,
  type Proposal,
} from './policy.js';
import { appliesTo, POLICY_MODES, type PolicyDocument } from './document.js';
import type { Displaced, Recommendation, RecommendedAction } from './recommendation.js';

/**
 * Lower wins. Ending spend comes before lowering it, lowering before moving, moving before resizing, all before buying
 * and telling.
 */
const RANK: Readonly<Record<RecommendedAction, number>> = {
  Stop: 0,
  Release: 0,
  // A target that has lost a GPU does no work at any size or place.
  Replace: 1,
  // A target that runs at full size by its owner's choice may be stopped, but not resized or moved.
  Keep: 2,
  ScaleIn: 3,
  MoveToOnDemand: 4,
  MoveToSpot: 4,
  MoveToOffPeak: 4,
  Rightsize: 5,
  ScaleOut: 6,
  Start: 6,
  PurchaseReservedInstances: 7,
  PurchaseSavingsPlans: 7,
  RefuseLaunches: 8,
  Notify: 9,
};

/** Whether an action is at least as severe as another, by the fixed order. */
export const isAsSevereAs = (action: RecommendedAction, other: RecommendedAction): boolean =>
  RANK[action] <= RANK[other];

export interface Candidate {
  readonly document: PolicyDocument;
  readonly policy: Policy;
  readonly proposal: Proposal;
}

export interface Decision {
  readonly recommendation: Recommendation;
  readonly status: 'open' | 'observed';
}

/**
 * Every proposal of the documents that apply to the view's team, each with no more than may be claimed. A document
 * whose policy is gone proposes nothing.
 */
export function candidatesOf(
  view: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): Candidate[] {
  return documents
    .filter((document) => appliesTo(document, view.team))
    .flatMap((document) => {
      const policy = policies.find(({ name }) => name === document.policy);
      return policy === undefined
        ? []
        : policy
            .evaluate(view, policy.params.parse(document.params), document.name)
            .map((proposal) => ({
              document,
              policy,
              proposal: withinSpend(proposal, view.currency, own(view.calibrations, calibrationKey(policy))),
            }));
    })
    .filter(({ proposal }) => isWorthwhile(proposal) && !standsStill(view, proposal));
}

/** Subjects for which a policy lacked the evidence for a decision: by policy and target. */
export interface Unseen {
  readonly policy: string;
  readonly target: string;
  readonly evidence: 'late' | 'lost';
}

/** The subjects without evidence for the documents of the view's team, as their policies report. */
export const unseenBy = (
  view: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): Unseen[] =>
  documents
    .filter((document) => appliesTo(document, view.team))
    .flatMap((document) => {
      const policy = policies.find(({ name }) => name === document.policy);
      return (policy?.explain?.(view, policy.params.parse(document.params), document.name) ?? []).flatMap(
        ({ target, leftAlone }): Unseen[] =>
          leftAlone?.evidence === undefined ? [] : [{ policy: document.policy, target, evidence: leftAlone.evidence }],
      );
    });

/** An exporter may keep answering for a while after its machine was stopped: a stopped machine is not stopped again. */
function standsStill({ observedTargets }: PolicyView, { action, target }: Proposal): boolean {
  const state = action === 'Stop' ? own(observedTargets, target)?.state : undefined;
  return state === 'stopped' || state === 'stopping' || state === 'gone';
}

/**
 * The action that has replaced or ended the proposal's target, or will do so for another policy: old readings still
 * show the target. Null: there is none.
 */
export function endOf({ ownEnds }: PolicyView, { policy, proposal }: Candidate): OwnEnd | null {
  const end = own(ownEnds, proposal.target);
  return end !== undefined && (end.isOver || end.policy !== policy.name) ? end : null;
}

/** The recommendations of a team, in the order of the documents. */
export function decide(
  view: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): Decision[] {
  const held = heldSizes(view, documents, policies);
  const promised = promisedGroups(view, documents, policies);
  const all = candidatesOf(view, documents, policies).filter(
    (one) => holdersOf(held, one).length === 0 && endOf(view, one) === null && promiserOf(view, promised, one) === null,
  );
  const observed = all.filter(({ document }) => document.mode === 'observe');
  const { winners, losers } = withoutMembers(view, resolve(all.filter(({ document }) => document.mode !== 'observe')));
  const decisionOf = (candidate: Candidate, insteadOf: readonly Displaced[], status: Decision['status']): Decision => ({
    recommendation: recommendationOf(view, candidate.policy, candidate.proposal, {
      document: candidate.document.name,
      mode: candidate.document.mode,
      insteadOf,
    }),
    status,
  });
  const made = winners
    .filter(({ proposal }) => proposal.action !== 'Keep' || losers.has(subjectOf(proposal)))
    .map((winner) =>
      decisionOf(
        winner,
        (losers.get(subjectOf(winner.proposal)) ?? []).map((loser) => displaced(view, winner, loser)),
        'open',
      ),
    );
  return unique([...made, ...observed.map((candidate) => decisionOf(candidate, [], 'observed'))]);
}

/** Documents that measure the load of a workload and want no fewer replicas than it has, by the workload's name. */
export function heldSizes(
  view: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): ReadonlyMap<string, readonly PolicyDocument[]> {
  const held = new Map<string, PolicyDocument[]>();
  for (const document of documents) {
    const policy = policies.find(({ name }) => name === document.policy);
    if (policy?.followsLoad !== true || document.mode === 'observe' || !appliesTo(document, view.team)) continue;
    for (const { target, leftAlone } of policy.explain?.(view, policy.params.parse(document.params), document.name) ??
      [])
      if (leftAlone?.holds === true) held.set(target, [...(held.get(target) ?? []), document]);
  }
  return held;
}

/** The strength of a document's mode; a document that only recommends suppresses no document that acts. */
const strengthOf = ({ mode }: PolicyDocument): number => POLICY_MODES.indexOf(mode);

/** Documents that hold the size that a candidate would lower by its own load. */
export const holdersOf = (
  held: ReadonlyMap<string, readonly PolicyDocument[]>,
  { policy, proposal, document }: Candidate,
): readonly string[] =>
  policy.followsLoad === true && document.mode !== 'observe' && proposal.action === 'ScaleIn'
    ? (held.get(proposal.target) ?? []).filter((one) => strengthOf(one) >= strengthOf(document)).map(({ name }) => name)
    : [];

/**
 * The document that promises a service and may act for it, by each of the service's groups. Of several the one that may
 * go furthest sizes them, then the one that promises most.
 */
export function promisedGroups(
  { team, workloads }: PolicyView,
  documents: readonly PolicyDocument[],
  policies: readonly Policy[],
): ReadonlyMap<string, PolicyDocument> {
  const promises = promisesOf(team, documents, policies).toSorted(
    (a, b) => strengthOf(b.document) - strengthOf(a.document) || b.replicas - a.replicas,
  );
  return new Map(
    workloads.flatMap(({ workload, partOf }) => {
      const first = promises.find(({ service }) => service === partOf);
      return first === undefined ? [] : [[workload, first.document]];
    }),
  );
}

/**
 * What documents promise of services of a team. One that only observes or recommends keeps nobody else from acting.
 * @param also the name of one that counts in any mode
 */
export const promisesOf = <D extends PolicyDocument>(
  team: string,
  documents: readonly D[],
  policies: readonly Policy[],
  also: string | null = null,
): { readonly document: D; readonly service: string; readonly replicas: number }[] =>
  documents
    .filter((one) => appliesTo(one, team) && (one.mode === 'enforce' || one.mode === 'approve' || one.name === also))
    .flatMap((document) => {
      const policy = policies.find(({ name }) => name === document.policy);
      const promise = policy?.promises?.(policy.params.parse(document.params));
      return promise === undefined ? [] : [{ document, ...promise }];
    });

/**
 * The name of another document that sizes a candidate's group; null: there is none, or the candidate goes before it.
 */
export function promiserOf(
  { observedTargets }: PolicyView,
  promised: ReturnType<typeof promisedGroups>,
  { document, policy, proposal: { action, target } }: Candidate,
): string | null {
  if (document.mode === 'observe' || policy.holdsWhileProposed === true || action === 'Replace') return null;
  const promiser = promised.get(own(observedTargets, target)?.target ?? target)?.name ?? document.name;
  return promiser === document.name ? null : promiser;
}

/** Why another document does not set a size. @param sizer the name of the one that does */
export const sizedBy = (sizer: string): LeftAlone => ({
  code: 'own-policy',
  message: `${sizer} sets its size already, and two would undo each other`,
  toAct: `the removal of ${sizer}`,
});

const SIZES: ReadonlySet<RecommendedAction> = new Set(['ScaleIn', 'ScaleOut']);

/** Those that another of a load outvotes: it is carried out further or, as far as they, wants more replicas. */
function outvoted(candidates: readonly Candidate[]): ReadonlySet<Candidate> {
  const sizeOf = ({ proposal: { change } }: Candidate): number => Number(change?.['replicas'] ?? 0);
  const order = (one: Candidate, other: Candidate): number =>
    strengthOf(other.document) - strengthOf(one.document) || sizeOf(other) - sizeOf(one) || compare(one, other).order;
  const first = new Map<string, Candidate>();
  const sized = candidates.filter(({ policy, proposal }) => policy.followsLoad === true && SIZES.has(proposal.action));
  for (const one of sized) {
    const other = first.get(subjectOf(one.proposal));
    if (other === undefined || order(one, other) < 0) first.set(subjectOf(one.proposal), one);
  }
  return new Set(sized.filter((one) => first.get(subjectOf(one.proposal)) !== one));
}

/** Actions that change no running target. */
const CHANGES_NOTHING: ReadonlySet<RecommendedAction> = new Set([
  'Keep',
  'Notify',
  'RefuseLaunches',
  'PurchaseReservedInstances',
  'PurchaseSavingsPlans',
]);

/**
 * A group and one of its machines are never both changed. The group is changed instead of its machines, except for a
 * machine that has lost a GPU: that one is replaced, and the group is left unchanged meanwhile, unless it gets more
 * replicas of a promised service.
 */
function withoutMembers(
  { observedTargets = {} }: PolicyView,
  { winners, losers }: ReturnType<typeof resolve>,
): ReturnType<typeof resolve> {
  const changing = winners.filter(({ proposal }) => !CHANGES_NOTHING.has(proposal.action));
  const targetOf = ({ proposal: { target } }: Candidate): string => own(observedTargets, target)?.target ?? target;
  const lost = new Map<Candidate, Candidate>();
  for (const member of changing) {
    const group = own(observedTargets, member.proposal.target)?.group ?? null;
    for (const over of group === null ? [] : changing.filter((one) => targetOf(one) === group))
      if (member.proposal.action !== 'Replace') lost.set(member, over);
      // More replicas of a promised service do not wait for a repair.
      else if (over.policy.promises === undefined || over.proposal.action !== 'ScaleOut') lost.set(over, member);
  }
  const displacedBy = new Map(losers);
  for (const [loser, winner] of lost) {
    const subject = subjectOf(winner.proposal);
    displacedBy.set(subject, [...(displacedBy.get(subject) ?? []), loser]);
  }
  return { winners: winners.filter((one) => !lost.has(one)), losers: displacedBy };
}

const subjectOf = ({ subject, target }: Proposal): string => subject ?? target;

/**
 * One winning document per subject, with all that it proposes there on other targets; everything else there has lost.
 */
export function resolve(candidates: readonly Candidate[]): {
  readonly winners: readonly Candidate[];
  readonly losers: ReadonlyMap<string, readonly Candidate[]>;
} {
  const best = new Map<string, Candidate>();
  const lost = outvoted(candidates);
  for (const candidate of candidates) {
    if (lost.has(candidate)) continue;
    const subject = subjectOf(candidate.proposal);
    const other = best.get(subject);
    if (other === undefined || compare(candidate, other).order < 0) best.set(subject, candidate);
  }
  const winners: Candidate[] = [];
  const losers = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const subject = subjectOf(candidate.proposal);
    const winner = best.get(subject);
    const isCompanion =
      !lost.has(candidate) &&
      winner?.document === candidate.document &&
      winner.proposal.target !== candidate.proposal.target;
    if (candidate === winner || isCompanion) winners.push(candidate);
    else losers.set(subject, [...(losers.get(subject) ?? []), candidate]);
  }
  return { winners, losers };
}

/** Negative where `a` wins over `b`, and by which rule. */
export function compare(
  a: Candidate,
  b: Candidate,
): { readonly order: number; readonly because: Displaced['because'] } {
  const rank = RANK[a.proposal.action] - RANK[b.proposal.action];
  if (rank !== 0) return { order: rank, because: 'action' };
  const priority = b.document.priority - a.document.priority;
  if (priority !== 0) return { order: priority, because: 'priority' };
  const [ours, theirs] = [a.proposal.monthlySavings?.mean ?? null, b.proposal.monthlySavings?.mean ?? null];
  if (ours !== theirs)
    return { order: ours === null ? 1 : theirs === null ? -1 : ours > theirs ? -1 : 1, because: 'saving' };
  const text = ({ document, proposal }: Candidate): string =>
    `${document.name}\u0001${proposal.action}\u0001${proposal.target}`;
  return { order: text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0, because: 'name' };
}

function displaced(view: PolicyView, winner: Candidate, loser: Candidate): Displaced {
  const { document, policy, action, target, estimatedMonthlySavings } = recommendationOf(
    view,
    loser.policy,
    loser.proposal,
    { document: loser.document.name, mode: loser.document.mode, insteadOf: [] },
  );
  const isSame = subjectOf(winner.proposal) === subjectOf(loser.proposal);
  const because = isSame ? compare(winner, loser).because : 'group';
  return { document, policy, action, target, estimatedMonthlySavings, because };
}

/**
 * Two documents of one policy may propose the same: the id is the same, and the first one whose mode is not observe
 * represents both.
 */
function unique(decisions: readonly Decision[]): Decision[] {
  const ids = new Set<string>();
  return decisions.filter(({ recommendation: { id } }) => !ids.has(id) && ids.add(id));
}
