/**
 * Admission: whether a pod that requests GPUs may be launched, given the rest of its team's budgets.
 *
 * Pure, and it changes nothing, so a dry run is like any other. It refuses only what the organisation has chosen to
 * refuse. Budget reserved by others is theirs; a pod that names its reservation may use it, as long as the reservation
 * has GPUs left. It prices nothing: the spend comes from the accrual, with the rates learned from bills. The invariant:
 * a pod without GPUs is always allowed, and so is a pod in the cluster's own namespaces, whatever is unknown.
 */
import { covers, type Budget } from './budget.js';
import { matchesGlob, type Allocatable } from '../cost/allocation.js';
import { formatMoney } from '../money.js';
import { ANY_NODE, podGpus, type PodSpec } from '../fleet/pod-gpus.js';
import { reservationIn } from './reservation.js';
import { claimOf, type PodClaim } from './reservation-pods.js';
import type { Term } from '../usage.js';
import { formatInstant } from '../time.js';

export const ADMISSION_MODES = ['off', 'warn', 'refuse'] as const;
/** What happens to a pod whose team has nothing left; each is severer than the previous one. */
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
  /** The modes of a team and the teams below it; an absent mode is inherited. */
  readonly teams: Readonly<
    Record<string, { readonly mode?: AdmissionMode | undefined; readonly contact?: string | null | undefined }>
  >;
}

/** Refusing is opted into. */
export const DEFAULT_ADMISSION: AdmissionSettings = {
  mode: 'warn',
  withoutBudget: 'off',
  onFailure: 'allow',
  contact: null,
  exemptNamespaces: [],
  teams: {},
};

/** Namespaces that every cluster makes for itself (Kubernetes, "Namespaces: Initial namespaces"). */
const OWN_NAMESPACES: ReadonlySet<string> = new Set(['kube-system', 'kube-public', 'kube-node-lease']);

/** The request of an API server, as far as it matters (Kubernetes API, admission.k8s.io/v1 AdmissionRequest). */
export interface AdmissionRequest {
  readonly uid?: string | undefined;
  readonly kind: { readonly group?: string | undefined; readonly kind: string };
  readonly operation: string;
  readonly subResource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly object?:
    | {
        readonly metadata?:
          | {
              readonly uid?: string | undefined;
              readonly name?: string | undefined;
              readonly generateName?: string | undefined;
              readonly labels?: Readonly<Record<string, string>> | null | undefined;
              readonly annotations?: Readonly<Record<string, string>> | null | undefined;
              readonly ownerReferences?:
                | readonly { readonly kind: string; readonly name: string; readonly controller?: boolean | undefined }[]
                | undefined;
            }
          | undefined;
        readonly spec?:
          | (PodSpec & { readonly nodeSelector?: Readonly<Record<string, string>> | undefined })
          | undefined;
      }
    | null
    | undefined;
}

/** A pod that asks for GPUs, before it is created. */
export interface Launch {
  readonly namespace: string;
  /** As far as it has a name: a controller's pods get their last letters later. */
  readonly name: string;
  /** `ReplicaSet trainer-5d9f`; null: nobody's. */
  readonly owner: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The SKU, if its node selector states it. */
  readonly sku: string | null;
  readonly term: Term | null;
  /** The reservation that it names, valid or not; absent: none. */
  readonly reservation?: string;
  /** Its claim on that reservation. */
  readonly claim?: PodClaim;
  /**
   * Its reservation has no room for it beside the pods that were let in before: why, as the rest of a sentence. Absent:
   * it has, or nobody has looked.
   */
  readonly turnedAway?: string;
}

/** The pod that a request is about; null: it launches no GPUs, and is allowed. */
export function launchOf({
  uid,
  kind,
  operation,
  subResource,
  namespace,
  name,
  object,
}: AdmissionRequest): Launch | null {
  if (operation !== 'CREATE' || kind.kind !== 'Pod' || (kind.group ?? '') !== '' || (subResource ?? '') !== '')
    return null;
  const { metadata, spec } = object ?? {};
  if (!podGpus(spec ?? {}, ANY_NODE).requested) return null;
  const controller = metadata?.ownerReferences?.find((owner) => owner.controller === true);
  const capacity = spec?.nodeSelector?.['karpenter.sh/capacity-type'];
  const reservation = reservationIn(metadata ?? {});
  return {
    ...(reservation === null ? {} : { reservation, claim: claimOf({ uid, name, namespace }, object ?? {}) }),
    namespace: namespace ?? '',
    name: metadata?.name ?? (name === undefined || name === '' ? (metadata?.generateName ?? '') : name),
    owner: controller === undefined ? null : `${controller.kind} ${controller.name}`,
    labels: metadata?.labels ?? {},
    sku: spec?.nodeSelector?.['node.kubernetes.io/instance-type'] ?? null,
    term: capacity === 'spot' || capacity === 'on-demand' ? capacity : null,
  };
}

/**
 * The location of the cluster, from its webhook's URL; the same words as in the metered usage, so that the same rules
 * match both.
 */
export interface ClusterPlace {
  readonly provider: string;
  readonly account: string | null;
  readonly cluster: string | null;
}

/** FOCUS ServiceName of metered pods. */
const KUBERNETES = 'Kubernetes';

/** The launch as allocation rules look at it. */
export const allocatableOf = (
  { namespace, name, labels, sku }: Launch,
  { provider, account, cluster }: ClusterPlace,
): Allocatable => ({
  provider,
  account,
  subAccount: cluster,
  resource: `pod/${namespace}/${name}`,
  namespace,
  service: KUBERNETES,
  sku,
  tags: labels,
});

export interface BudgetStanding {
  readonly budget: Budget;
  /** End of the present period, epoch milliseconds. */
  readonly periodEnd: number;
  /** Nanos; null: the period is not planned. */
  readonly planned: bigint | null;
  /** Nanos; null: the period has not been evaluated yet. */
  readonly spent: bigint | null;
  /** The amounts that reservations still hold; absent: nothing. */
  readonly holds?: readonly ReservationHold[];
}

/** A live reservation's part of a budget. */
export interface ReservationHold {
  readonly reservation: string;
  /** The team of the reservation. */
  readonly team: string;
  /** Nanos of the budget's currency that it counts still, above zero. */
  readonly remaining: bigint;
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
  readonly teams: ReadonlyMap<
    string,
    { readonly name: string; readonly parent: string | null; readonly zone?: string }
  >;
  readonly budgets: readonly BudgetStanding[];
  readonly stops: readonly LaunchStop[];
  /** Teams that the launch would be charged to; none: all share it. */
  teamsOf(record: Allocatable): readonly string[];
}

export interface AdmissionVerdict {
  readonly allowed: boolean;
  /** The status of a refusal. */
  readonly status: {
    readonly code: 403 | 503;
    readonly reason: 'Forbidden' | 'ServiceUnavailable';
    readonly message: string;
  } | null;
  readonly warnings: readonly string[];
  /** For the API server's own audit log. */
  readonly audit: Readonly<Record<string, string>>;
  /** The notes to store about it, one per team; absent: none. */
  readonly notes?: readonly AdmissionNote[];
}

/** Why a launch was objected to, as a code. */
export type ObjectionReason = 'budget-spent' | 'no-budget' | 'launches-stopped';

/** A launch that was refused, or warned about, for a team. */
export interface AdmissionNote {
  readonly team: string;
  readonly outcome: 'refused' | 'warned';
  /** Empty: nobody said which. */
  readonly cluster: string;
  readonly namespace: string;
  /**
   * Its controller, or the pod itself if it has none: `ReplicaSet trainer-5d9f`, `Pod notebook`. The same for every
   * retry.
   */
  readonly workload: string;
  readonly reasons: readonly ObjectionReason[];
  readonly message: string;
}

export const ALLOWED: AdmissionVerdict = { allowed: true, status: null, warnings: [], audit: {} };
/** The API server may cut what is longer (Kubernetes API, AdmissionResponse.warnings). */
const MOST_WARNING_CHARACTERS = 256;
const MOST_MESSAGE_CHARACTERS = 1000;

/** One reason against a launch. */
interface Objection {
  readonly team: string;
  readonly mode: AdmissionMode;
  readonly reason: ObjectionReason;
  readonly message: string;
  readonly audit: Readonly<Record<string, string>>;
}

/** The answer about a launch. The severest objection decides; all of one severity are named. */
export function admit(launch: Launch, place: ClusterPlace, facts: AdmissionFacts): AdmissionVerdict {
  if (isExempt(launch, facts.settings.exemptNamespaces)) return ALLOWED;
  const objections = facts
    .teamsOf(allocatableOf(launch, place))
    .flatMap((team) => objectionsTo(launch, place, team, facts))
    .filter(({ mode }) => mode !== 'off');
  const refusals = objections.filter(({ mode }) => mode === 'refuse');
  if (objections.length === 0) return letIn(launch, place, facts);
  const notes = notesOf(
    refusals.length === 0 ? objections : refusals,
    refusals.length === 0 ? 'warned' : 'refused',
    launch,
    place,
  );
  const audit = Object.assign(
    launch.owner === null ? {} : { owner: launch.owner },
    ...[...objections].reverse().map((one) => one.audit),
  ) as Record<string, string>;
  if (refusals.length === 0)
    return {
      allowed: true,
      status: null,
      warnings: objections.map(({ message }) => printable(message, MOST_WARNING_CHARACTERS)),
      audit: { ...audit, verdict: 'warned' },
      notes,
    };
  const message = printable(refusals.map((one) => one.message).join('; '), MOST_MESSAGE_CHARACTERS);
  return {
    allowed: false,
    status: { code: 403, reason: 'Forbidden', message },
    warnings: [],
    audit: { ...audit, verdict: 'refused' },
    notes,
  };
}

/**
 * There is no obstacle. If its reservation holds a part of a budget above its team, the audit says that the reservation
 * is used.
 */
function letIn(launch: Launch, place: ClusterPlace, facts: AdmissionFacts): AdmissionVerdict {
  const { reservation, turnedAway } = launch;
  if (reservation === undefined) return ALLOWED;
  if (turnedAway !== undefined)
    return {
      ...ALLOWED,
      warnings: [
        printable(
          `the reservation ${reservation} ${turnedAway}: the pod is admitted on what its budgets have left apart from it`,
          MOST_WARNING_CHARACTERS,
        ),
      ],
    };
  return usesReservation(launch, place, facts) ? { ...ALLOWED, audit: { reservation } } : ALLOWED;
}

/**
 * Whether a launch names a reservation that holds a part of a budget above its team: then it takes GPUs of the
 * reservation.
 */
export const usesReservation = (launch: Launch, place: ClusterPlace, facts: AdmissionFacts): boolean =>
  launch.reservation !== undefined &&
  !isExempt(launch, facts.settings.exemptNamespaces) &&
  facts
    .teamsOf(allocatableOf(launch, place))
    .some((team) => facts.budgets.some((standing) => ownHold(standing, launch, lineOf(team, facts.teams)) > 0n));

const MOST_NAME_CHARACTERS = 300;

function notesOf(
  objections: readonly Objection[],
  outcome: AdmissionNote['outcome'],
  { namespace, name, owner }: Launch,
  { cluster }: ClusterPlace,
): AdmissionNote[] {
  const workload = printable(owner ?? `Pod ${name}`, MOST_NAME_CHARACTERS);
  return [...new Set(objections.map(({ team }) => team))].map((team) => {
    const own = objections.filter((one) => one.team === team);
    return {
      team,
      outcome,
      cluster: cluster ?? '',
      namespace: printable(namespace, MOST_NAME_CHARACTERS),
      workload,
      reasons: [...new Set(own.map(({ reason }) => reason))].sort(),
      message: printable(own.map(({ message }) => message).join('; '), MOST_MESSAGE_CHARACTERS),
    };
  });
}

/** The answer where the budgets could not be looked up. */
export function admitUnseen(
  launch: Launch,
  onFailure: AdmissionSettings['onFailure'],
  exemptNamespaces: readonly string[] = [],
): AdmissionVerdict {
  if (isExempt(launch, exemptNamespaces)) return ALLOWED;
  const unavailable = 'Bursar cannot look up the budgets at the moment';
  if (onFailure === 'allow')
    return { ...ALLOWED, warnings: [`${unavailable}: the pod is admitted unchecked`], audit: { verdict: 'unchecked' } };
  return {
    allowed: false,
    status: {
      code: 503,
      reason: 'ServiceUnavailable',
      message: `${unavailable}, and pods with GPUs are refused until it can: try again later`,
    },
    warnings: [],
    audit: { verdict: 'refused-unchecked' },
  };
}

const isExempt = ({ namespace }: Launch, patterns: readonly string[]): boolean =>
  OWN_NAMESPACES.has(namespace) || patterns.some((pattern) => matchesGlob(pattern, namespace));

/** The team and every team above it. */
function lineOf(team: string, teams: AdmissionFacts['teams']): string[] {
  const line = [team];
  for (
    let above = teams.get(team)?.parent ?? null;
    above !== null && !line.includes(above);
    above = teams.get(above)?.parent ?? null
  )
    line.push(above);
  return line;
}

function objectionsTo(launch: Launch, place: ClusterPlace, team: string, facts: AdmissionFacts): Objection[] {
  const { settings } = facts;
  const line = lineOf(team, facts.teams);
  const mode = line.map((one) => settings.teams[one]?.mode).find((one) => one !== undefined) ?? settings.mode;
  const contact =
    line.map((one) => settings.teams[one]?.contact).find((one) => one !== undefined && one !== null) ??
    settings.contact;
  const ask = contact === null ? 'ask whoever set the budget' : `ask ${contact}`;
  const whose = nameOf(team, facts);
  const stops = facts.stops
    .filter((stop) => line.includes(stop.team))
    .map(
      (stop): Objection => ({
        team,
        mode,
        reason: 'launches-stopped',
        audit: { team, order: stop.policy },
        message: `${whose} may launch nothing at the moment: ${stop.title}; until ${formatInstant(stop.until)} at the latest; ${ask}`,
      }),
    );
  const over = facts.budgets.filter(
    ({ budget }) =>
      line.includes(budget.team) &&
      covers(budget.filters, {
        provider: place.provider,
        account: place.account,
        subAccount: place.cluster,
        service: KUBERNETES,
        category: 'Usage',
        sku: launch.sku,
        term: launch.term,
        tags: launch.labels,
      }),
  );
  const empty = over
    .filter((standing) => isSpent(standing, launch, line))
    .map(
      (standing): Objection => ({
        team,
        mode,
        reason: 'budget-spent',
        audit: { team, budget: standing.budget.id },
        message: `${whose} has no budget left: ${balanceOf(standing, team)}${whyNotReserved(launch)}; ${ask}`,
      }),
    );
  const found = [...empty, ...stops];
  if (found.length > 0 || over.some(({ planned }) => planned !== null)) return found;
  // A team that is exempt as a whole is not asked for a budget either.
  return [
    {
      team,
      mode: mode === 'off' ? 'off' : settings.withoutBudget,
      reason: 'no-budget',
      audit: { team, budget: 'none' },
      message: `${whose} has no budget for the current period; ${ask}`,
    },
  ];
}

function nameOf(team: string, { teams }: AdmissionFacts): string {
  const name = teams.get(team)?.name;
  return name === undefined || name === team ? `team ${team}` : `team ${team} (${name})`;
}

const sumOf = (holds: BudgetStanding['holds']): bigint =>
  (holds ?? []).reduce((sum, { remaining }) => sum + remaining, 0n);

/** Nanos that the launch's own reservation holds of a budget still. One of another team holds nothing for it. */
function ownHold({ holds = [] }: BudgetStanding, { reservation, turnedAway }: Launch, line: readonly string[]): bigint {
  return reservation === undefined || turnedAway !== undefined
    ? 0n
    : sumOf(holds.filter((hold) => hold.reservation === reservation && line.includes(hold.team)));
}

/**
 * Whether a budget allows nothing for the launch. A plan of 0 allows nothing, even before any spend. Reserved budget
 * counts as used, except for the holder of the reservation, who keeps it whatever others have spent.
 */
function isSpent(standing: BudgetStanding, launch: Launch, line: readonly string[]): boolean {
  const { planned, spent, holds } = standing;
  if (planned === null || planned === 0n) return planned === 0n;
  // Spend that was not evaluated yet can only add to it.
  return (
    ownHold(standing, launch, line) === 0n &&
    (spent !== null || sumOf(holds) > 0n) &&
    (spent ?? 0n) + sumOf(holds) >= planned
  );
}

const whyNotReserved = ({ reservation, turnedAway }: Launch): string =>
  reservation === undefined
    ? ''
    : `; its reservation ${reservation} ${turnedAway ?? 'holds nothing of it (it is over, used up, or of another team)'}`;

/** Budget, plan, spent and left, in words. */
function balanceOf({ budget, planned, spent, periodEnd, holds }: BudgetStanding, team: string): string {
  const money = (nanos: bigint): string => `${formatMoney({ nanos, currency: budget.currency })} ${budget.currency}`;
  const whose = budget.team === team ? '' : ` of team ${budget.team}`;
  const reserved = sumOf(holds);
  const held = reserved === 0n ? '' : `reserved ${money(reserved)}, `;
  const amounts =
    spent === null
      ? `${held}not evaluated yet`
      : `spent ${money(spent)}, ${held}left ${money((planned ?? 0n) - spent - reserved)}`;
  return `budget ${budget.id}${whose}, planned ${money(planned ?? 0n)}, ${amounts}, until ${formatInstant(periodEnd)}`;
}

/** Texts come from people and stand in a header: printable, on one line, and no longer than is read. */
function printable(text: string, most: number): string {
  const line = text.replace(/\p{C}+/gu, ' ');
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
