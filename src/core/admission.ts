/**
 * Admission: whether a pod that asks for GPUs may be launched, by what is left of its team's budgets.
 *
 * Pure, and it changes nothing, so that a dry run is as any other. It refuses only what the organisation has chosen to refuse. The invariant: a
 * pod without GPUs is always allowed, and so is one of the cluster's own namespaces, whatever is known or not.
 */
import { covers, type Budget } from './budget.js';
import { matchesGlob, type Allocatable } from './allocation.js';
import { formatMoney } from './money.js';
import { ANY_NODE, podGpus, type PodSpec } from './pod-gpus.js';
import type { Term } from './usage.js';
import { formatInstant } from './time.js';

export const ADMISSION_MODES = ['off', 'warn', 'refuse'] as const;
/** What happens to a pod whose team has nothing left; each is severer than the one before. */
export type AdmissionMode = (typeof ADMISSION_MODES)[number];

export interface AdmissionSettings {
  readonly mode: AdmissionMode;
  /** For a team that no planned budget holds. */
  readonly withoutBudget: AdmissionMode;
  /** When the budgets cannot be looked up in time: fails open or closed. */
  readonly onFailure: 'allow' | 'refuse';
  /** Whom to ask: a person, a channel, an address. */
  readonly contact: string | null;
  /** Patterns (`*`, `?`) beside those of the cluster itself. */
  readonly exemptNamespaces: readonly string[];
  /** Of a team and the teams below it; what is absent is as above it. */
  readonly teams: Readonly<Record<string, { readonly mode?: AdmissionMode | undefined; readonly contact?: string | null | undefined }>>;
}

/** Refusing is opted into. */
export const DEFAULT_ADMISSION: AdmissionSettings = { mode: 'warn', withoutBudget: 'off', onFailure: 'allow', contact: null, exemptNamespaces: [], teams: {} };

/** Namespaces that every cluster makes for itself (Kubernetes, "Namespaces: Initial namespaces"). */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['kube-system', 'kube-public', 'kube-node-lease']);

/** What an API server asks about, as far as it matters (Kubernetes API, admission.k8s.io/v1 AdmissionRequest). */
export interface AdmissionRequest {
  readonly kind: { readonly group?: string | undefined; readonly kind: string };
  readonly operation: string;
  readonly subResource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly object?: {
    readonly metadata?: {
      readonly name?: string | undefined;
      readonly generateName?: string | undefined;
      readonly labels?: Readonly<Record<string, string>> | null | undefined;
      readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly controller?: boolean | undefined }[] | undefined;
    } | undefined;
    readonly spec?: (PodSpec & { readonly nodeSelector?: Readonly<Record<string, string>> | undefined }) | undefined;
  } | null | undefined;
}

/** A pod that asks for GPUs, before it is created. */
export interface Launch {
  readonly namespace: string;
  /** As far as it has a name: a controller's pods get their last letters later. */
  readonly name: string;
  /** `ReplicaSet trainer-5d9f`; null: nobody's. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Where its node selector says it. */
  readonly sku: string | null;
  readonly term: Term | null;
}

/** The pod that a request is about; null: it launches no GPUs, and is allowed. */
export function launchOf({ kind, operation, subResource, namespace, name, object }: AdmissionRequest): Launch | null {
  if (operation !== 'CREATE' || kind.kind !== 'Pod' || (kind.group ?? '') !== '' || (subResource ?? '') !== '') return null;
  const { metadata, spec } = object ?? {};
  if (!podGpus(spec ?? {}, ANY_NODE).requested) return null;
  const controller = metadata?.ownerReferences?.find((owner) => owner.controller === true);
  const capacity = spec?.nodeSelector?.['karpenter.sh/capacity-type'];
  return {
    namespace: namespace ?? '', name: metadata?.name ?? (name === undefined || name === '' ? (metadata?.generateName ?? '') : name),
    owner: controller === undefined ? null : `${controller.kind} ${controller.name}`, labels: metadata?.labels ?? {},
    sku: spec?.nodeSelector?.['node.kubernetes.io/instance-type'] ?? null, term: capacity === 'spot' || capacity === 'on-demand' ? capacity : null,
  };
}

/** Where the cluster is, as its webhook's URL says; the same words as in the metered usage, so that the same rules take both. */
export interface ClusterPlace {
  readonly provider: string;
  readonly account: string | null;
  readonly cluster: string | null;
}

/** The launch as allocation rules look at it. */
export const allocatableOf = ({ namespace, name, labels, sku }: Launch, { provider, account, cluster }: ClusterPlace): Allocatable => ({
  provider, account, subAccount: cluster, resource: `pod/${namespace}/${name}`, namespace, service: 'Kubernetes', sku, tags: labels,
});

export interface BudgetStanding {
  readonly budget: Budget;
  /** End of the present period, epoch milliseconds. */
  readonly periodEnd: number;
  /** Nanos; null: the period is not planned. */
  readonly planned: bigint | null;
  /** Nanos; null: the period has not been weighed yet. */
  readonly spent: bigint | null;
}

/** An order in force that a team launches nothing more. */
export interface LaunchStop {
  readonly team: string;
  /** Why, as a sentence. */
  readonly title: string;
  readonly policy: string;
  /** Epoch milliseconds. */
  readonly until: number;
}

export interface AdmissionFacts {
  readonly settings: AdmissionSettings;
  readonly teams: ReadonlyMap<string, { readonly name: string; readonly parent: string | null }>;
  readonly budgets: readonly BudgetStanding[];
  readonly stops: readonly LaunchStop[];
  /** Teams that the launch would be charged to; none: all share it. */
  teamsOf(record: Allocatable): readonly string[];
}

export interface AdmissionVerdict {
  readonly allowed: boolean;
  /** Of a refusal. */
  readonly status: { readonly code: 403 | 503; readonly reason: 'Forbidden' | 'ServiceUnavailable'; readonly message: string } | null;
  readonly warnings: readonly string[];
  /** For the API server's own audit log. */
  readonly audit: Readonly<Record<string, string>>;
}

export const ALLOWED: AdmissionVerdict = { allowed: true, status: null, warnings: [], audit: {} };
/** The API server may cut what is longer (Kubernetes API, AdmissionResponse.warnings). */
const MOST_WARNING_CHARACTERS = 256;
const MOST_MESSAGE_CHARACTERS = 1000;

/** One reason against a launch. */
interface Objection {
  readonly team: string;
  readonly mode: AdmissionMode;
  readonly message: string;
  readonly audit: Readonly<Record<string, string>>;
}

/** The answer about a launch. The severest objection decides; all of one severity are named. */
export function admit(launch: Launch, place: ClusterPlace, facts: AdmissionFacts): AdmissionVerdict {
  if (isExempt(launch, facts.settings.exemptNamespaces)) return ALLOWED;
  const objections = facts.teamsOf(allocatableOf(launch, place)).flatMap((team) => objectionsTo(launch, place, team, facts)).filter(({ mode }) => mode !== 'off');
  const refusals = objections.filter(({ mode }) => mode === 'refuse');
  if (objections.length === 0) return ALLOWED;
  const audit = Object.assign(launch.owner === null ? {} : { owner: launch.owner }, ...[...objections].reverse().map((one) => one.audit)) as Record<string, string>;
  if (refusals.length === 0) return { allowed: true, status: null, warnings: objections.map(({ message }) => printable(message, MOST_WARNING_CHARACTERS)), audit: { ...audit, verdict: 'warned' } };
  const message = printable(refusals.map((one) => one.message).join('; '), MOST_MESSAGE_CHARACTERS);
  return { allowed: false, status: { code: 403, reason: 'Forbidden', message }, warnings: [], audit: { ...audit, verdict: 'refused' } };
}

/** The answer where the budgets could not be looked up. */
export function admitUnseen(launch: Launch, onFailure: AdmissionSettings['onFailure'], exemptNamespaces: readonly string[] = []): AdmissionVerdict {
  if (isExempt(launch, exemptNamespaces)) return ALLOWED;
  const told = 'Bursar cannot look up the budgets at the moment';
  if (onFailure === 'allow') return { ...ALLOWED, warnings: [`${told}: the pod is let in unchecked`], audit: { verdict: 'unchecked' } };
  return { allowed: false, status: { code: 503, reason: 'ServiceUnavailable', message: `${told}, and pods with GPUs are refused until it can: try again later` }, warnings: [], audit: { verdict: 'refused-unchecked' } };
}

const isExempt = ({ namespace }: Launch, patterns: readonly string[]): boolean => OWN_NAMESPACES.has(namespace) || patterns.some((pattern) => matchesGlob(pattern, namespace));

/** The team and every team above it. */
function lineOf(team: string, teams: AdmissionFacts['teams']): string[] {
  const line = [team];
  for (let above = teams.get(team)?.parent ?? null; above !== null && !line.includes(above); above = teams.get(above)?.parent ?? null) line.push(above);
  return line;
}

function objectionsTo(launch: Launch, place: ClusterPlace, team: string, facts: AdmissionFacts): Objection[] {
  const { settings } = facts;
  const line = lineOf(team, facts.teams);
  const mode = line.map((one) => settings.teams[one]?.mode).find((one) => one !== undefined) ?? settings.mode;
  const contact = line.map((one) => settings.teams[one]?.contact).find((one) => one !== undefined && one !== null) ?? settings.contact;
  const ask = contact === null ? 'ask whoever set the budget' : `ask ${contact}`;
  const whose = nameOf(team, facts);
  const stops = facts.stops.filter((stop) => line.includes(stop.team)).map((stop): Objection => ({
    team, mode, audit: { team, order: stop.policy }, message: `${whose} may launch nothing at the moment: ${stop.title}; until ${formatInstant(stop.until)} at the latest; ${ask}`,
  }));
  const over = facts.budgets.filter(({ budget }) => line.includes(budget.team) && covers(budget.filters, { provider: place.provider, sku: launch.sku, term: launch.term, tags: launch.labels }));
  const empty = over.filter(isSpent).map((standing): Objection => ({ team, mode, audit: { team, budget: standing.budget.id }, message: `${whose} has no budget left: ${balanceOf(standing, team)}; ${ask}` }));
  const found = [...empty, ...stops];
  if (found.length > 0 || over.some(({ planned }) => planned !== null)) return found;
  // A team that is exempt as a whole is not asked for a budget either.
  return [{ team, mode: mode === 'off' ? 'off' : settings.withoutBudget, audit: { team, budget: 'none' }, message: `${whose} has no budget for the present period; ${ask}` }];
}

function nameOf(team: string, { teams }: AdmissionFacts): string {
  const name = teams.get(team)?.name;
  return name === undefined || name === team ? `team ${team}` : `team ${team} (${name})`;
}

/** Whether a budget allows nothing more. With a plan of 0 nothing is, before anything is spent. */
const isSpent = ({ planned, spent }: BudgetStanding): boolean => planned !== null && (planned === 0n || (spent !== null && spent >= planned));

/** Budget, plan, spent and left, in words. */
function balanceOf({ budget, planned, spent, periodEnd }: BudgetStanding, team: string): string {
  const money = (nanos: bigint): string => `${formatMoney({ nanos, currency: budget.currency })} ${budget.currency}`;
  const whose = budget.team === team ? '' : ` of team ${budget.team}`;
  const amounts = spent === null ? 'not weighed yet' : `spent ${money(spent)}, left ${money((planned ?? 0n) - spent)}`;
  return `budget ${budget.id}${whose}, planned ${money(planned ?? 0n)}, ${amounts}, until ${formatInstant(periodEnd)}`;
}

/** Texts come from people and stand in a header: printable, on one line, and no longer than is read. */
function printable(text: string, most: number): string {
  const line = text.replace(/\p{C}+/gu, ' ');
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
