/**
 * Replaces a GPU that has failed or vanished: one proposal per resource that held it, for the policies that keep a
 * workload running.
 *
 * It acts only on open, fatal findings; a warning or a stale reading replaces nothing. It saves nothing by itself: it
 * keeps the capacity that is paid for. Hot spares that the fleet declares are started first, each for one resource;
 * failed resources are replaced after that. The invariant: a resource that is only silent is never ended, because it
 * may be rebooting; a spare is started for it.
 */
import type { HealthFinding } from '../../core/fleet/health.js';
import type { Proposal, WorkloadView } from '../../core/policy/policy.js';
import { mayTouch } from './minutes.js';

/** Proposals to replace what of a workload is lost. Empty where its owner forbids to touch it, or nothing is. */
export function replacements(one: WorkloadView): Proposal[] {
  if (!mayTouch(one)) return [];
  const lost = new Map<string, HealthFinding[]>();
  for (const finding of one.health ?? [])
    if (finding.severity === 'fatal') lost.set(finding.resource, [...(lost.get(finding.resource) ?? []), finding]);
  const spares = [...(one.spares ?? [])];
  // In the order of their names: the same view gives a resource the same spare.
  return [...lost]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([resource, findings]) => [resource, findings, spares.shift() ?? null] as const)
    .filter(([, findings, spare]) => spare !== null || !findings.every(({ onlySilent }) => onlySilent === true))
    .map((found) => replacement(one, ...found));
}

function replacement(
  { workload, gpusPerReplica }: WorkloadView,
  resource: string,
  findings: readonly HealthFinding[],
  spare: string | null,
): Proposal {
  const cards = new Set(findings.map(({ gpu }) => gpu));
  const why = findings.map(({ title }) => title).join('; ');
  const common = {
    protective: true,
    subject: resource,
    monthlySavings: null,
    monthlyCost: null,
    implementationEffort: 'Low' as const,
    validDays: 1,
    computation: {
      gpusLost: cards.size,
      gpusPerReplica: gpusPerReplica ?? 'not known',
      saving: 'none is claimed: what is paid for works again',
    },
    evidence: findings.map(({ evidence, gpu, title }) => ({
      ...evidence,
      what: `${gpu}: ${evidence.what} (${title})`,
    })),
  };
  // A spare that runs is no spare any more: the next evaluation replaces what is lost.
  if (spare !== null) {
    return {
      ...common,
      action: 'Start',
      target: spare,
      change: { replicas: 1, replaces: resource, group: workload },
      title: `Start ${spare}, the hot spare of ${workload}, in place of ${resource}: ${why}`,
      risk: { interruption: 'None', note: 'The spare is paid for from its start.' },
      restartNeeded: false,
      rollbackPossible: true,
    };
  }
  return {
    ...common,
    action: 'Replace',
    target: resource,
    // The lost machine: it is read once more before it is ended.
    change: { group: workload, ...(findings.every(({ ofMachine }) => ofMachine === true) ? { lost: 'machine' } : {}) },
    title: `Replace ${resource} of ${workload}: ${why}`,
    risk: { interruption: 'Medium', note: 'What still runs on the resource ends with it.' },
    restartNeeded: true,
    rollbackPossible: false,
  };
}
