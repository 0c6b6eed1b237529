/**
 * A policy's explanation of what it saw of a subject, and why it leaves the subject alone. One judgement yields both
 * the proposal and the reason, so the explanation always matches the behaviour.
 */
import type { LeftAlone, TargetExplanation, Proposal, WorkloadView } from '../../core/policy/policy.js';

/** A policy's judgement of one subject. */
export type Judged = Proposal | LeftAlone;

export const leftAlone = (code: string, message: string, toAct: string): LeftAlone => ({ code, message, toAct });
export const isLeft = (judged: object): judged is LeftAlone => 'toAct' in judged;
export const proposalsOf = (judged: Judged): Proposal[] => (isLeft(judged) ? [] : [judged]);
export const explainTarget = (target: string, saw: readonly string[], judged: object): TargetExplanation => ({
  target,
  saw,
  leftAlone: isLeft(judged) ? judged : null,
});

export const PROTECTED = leftAlone('protected', 'its owner protects it', 'the protection to be removed');

/** The known facts about a workload, in the common words of all policies. */
export function sawOf(one: WorkloadView): string[] {
  const { kind, fleet, gpusPerReplica, gpuModel, term, provider, region, health = [] } = one;
  const size =
    fleet === null
      ? 'an unknown number of replicas'
      : `${fleet.ready} replicas ready, ${fleet.booting} booting, ${fleet.minReplicas} to ${fleet.maxReplicas} allowed`;
  return [
    `${kind ?? 'a workload of an unknown kind'}: ${size}`,
    `${gpusPerReplica ?? 'an unknown number of'} x ${gpuModel ?? 'GPU'} each, ${term ?? 'of an unknown term'}, at ${[provider, region].filter((part) => part !== null).join(' ') || 'an unknown place'}`,
    ...health.map(({ resource, gpu, title }) => `${gpu} of ${resource}: ${title}`),
  ];
}
