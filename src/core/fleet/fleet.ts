/**
 * The targets that run at a provider, as the provider itself reports them, and the effects that Bursar may request.
 *
 * Types and pure functions on them; nothing here calls a provider. Unknown is null (or `unknown`) and never zero: a
 * missing reading never makes a target look stopped, idle or free of charge.
 */
import type { Term } from '../usage.js';

export const TARGET_KINDS = ['instance', 'group', 'workload', 'node-pool', 'commitment'] as const;
/**
 * An instance or pod; a scaling group; a Deployment, StatefulSet or service; a pool of nodes; something bought for a
 * term.
 */
export type TargetKind = (typeof TARGET_KINDS)[number];

export type RunState = 'starting' | 'running' | 'stopping' | 'stopped' | 'gone' | 'unknown';

/** Whether the provider still bills the target's machines; `partly` if only storage and the like is billed. */
export type BillingState = 'billed' | 'partly' | 'ended' | 'unknown';

export interface Replicas {
  readonly desired: number;
  /** Null: the provider does not say. */
  readonly ready: number | null;
  readonly min: number | null;
  readonly max: number | null;
}

/** Of a scaling group. Null: it could not be read. */
export interface GroupSettings {
  /** Machines that a scale-in passes over (scale-in protection). */
  readonly protectedMembers: number | null;
  /** The group's suspended functions. */
  readonly suspended: readonly ('launch' | 'terminate')[] | null;
  /** Lifecycle hooks that hold a machine before it ends, and for how long at most; seconds null: not stated. */
  readonly hooks: readonly { readonly name: string; readonly seconds: number | null }[] | null;
  /** The group's own scaling policies that are in force; `follows` a target or a forecast, and so sets the size back. */
  readonly policies: readonly { readonly name: string; readonly follows: boolean }[] | null;
}

/** The effects that its settings rule out, with the reason as a clause. */
export type RuledOut = Readonly<Partial<Record<EffectKind, string>>>;

/** One target as it was seen. */
export interface FleetTarget {
  /** Unique within the provider connection and stable: `instance/i-0abc`, `asg/train-a100`, `deployment/ml/trainer`. */
  readonly target: string;
  readonly kind: TargetKind;
  readonly name: string;
  /** FOCUS ProviderName. */
  readonly provider: string;
  readonly account: string | null;
  readonly region: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  /** GPUs of one replica (of the instance itself); thousandths are allowed. */
  readonly gpus: number | null;
  readonly term: Term | null;
  readonly state: RunState;
  readonly billing: BillingState;
  /** Replicas of groups, workloads and pools; null for an instance. */
  readonly replicas: Replicas | null;
  /** Share of the group's capacity that is spot, 0 to 1; null: not a group or not known. */
  readonly spotRatio: number | null;
  /** For a group that mixes: the number of on-demand machines before `spotRatio` applies; absent: unknown. */
  readonly onDemandBase?: number;
  /** Tags or labels, as the provider spells them. */
  readonly labels: Readonly<Record<string, string>>;
  /** Epoch milliseconds; null: unknown. */
  readonly launchedAt: number | null;
  /** The provider's own version of the target, if it has one: a later write with an older revision is refused. */
  readonly revision: string | null;
  /** For a scaling group: its own settings about its size; absent: the provider does not read them. */
  readonly group?: GroupSettings;
  /** For a scaling group: machines that are leaving, but still exist and are billed; absent: none, or unknown. */
  readonly leaving?: number;
  /** Effects that its settings rule out, each with why; absent: none that is known. */
  readonly ruledOut?: RuledOut;
  /** The name of the cloud's own mechanism that sets its size by a measure (an autoscaler); absent: none known. */
  readonly followedBy?: string;
  /** Tools that hold it to what they have written down, each as a clause (`Argo CD keeps it as …`). */
  readonly managedBy?: readonly string[];
  /**
   * Its other names: the host names and addresses that it has within its network, the cloud's id of a node's machine;
   * for a workload its pods (`pod/ml/trainer-0`). Absent: unknown. core/fleet/join.ts uses these names.
   */
  readonly knownAs?: readonly string[];
  /**
   * How its hours are paid: as they run; in advance for a term, running or not; or by what was bought beside it (a
   * dedicated host, a capacity reservation). Absent: not known.
   */
  readonly paid?: 'hourly' | 'prepaid' | 'elsewhere';
  /** It has disks of its host, whose data a stop loses; absent: none is known of. */
  readonly localDisks?: true;
  /** Its cloud does not stop every machine of this kind without charges; absent: nothing is known against it. */
  readonly mayKeepCharging?: true;
  /** A workload that has no size of its own: it is stopped and started as one, as a job is suspended and resumed. */
  readonly asOne?: true;
  /** The zone in which it runs, or outside of which it may not run; absent: several, or unknown. */
  readonly zone?: string;
  /**
   * The regions and zones in which its provider or scheduler can start it again; absent: it moves nothing. A zone of
   * null: any of the region.
   */
  readonly movesTo?: readonly ReachedPlace[];
  /** The network (a VPC) within which its addresses are its alone; absent: not known. */
  readonly network?: string;
  /** Who ends, has ended or has stopped it; absent: nobody, or its cloud does not say. */
  readonly ended?: Ended;
  /**
   * Its group's report that it is not in service (it boots, leaves, stands by); absent: it is in service, or unknown.
   * Its use does not count towards the group's measure.
   */
  readonly outOfService?: string;
  /** Its cloud's report that it is unhealthy, with the name of the field; absent: none. */
  readonly unwell?: string;
  /**
   * The data of its creation, in its provider's own form: what a replacement needs, and what its cloud forgets once it
   * has ended. Absent: its provider does not need it.
   */
  readonly launch?: Readonly<Record<string, unknown>>;
}

export interface ReachedPlace {
  readonly region: string;
  readonly zone: string | null;
}

/** `cloud`: a reclaimed spot machine, a dead host. `because` is what the cloud says, with the name of its field. */
export interface Ended {
  readonly by: 'cloud' | 'somebody';
  readonly because: string;
}

/** Whether its cloud has reclaimed a machine permanently. */
export const isTakenByCloud = ({ kind, state, ended }: Pick<FleetTarget, 'kind' | 'state' | 'ended'>): boolean =>
  kind === 'instance' && state === 'gone' && ended?.by === 'cloud';

/** Whether a machine was stopped by its cloud, as a reclaimed spot machine is that keeps its disks: it may be started. */
export const isStoppedByCloud = ({ kind, state, ended }: Pick<FleetTarget, 'kind' | 'state' | 'ended'>): boolean =>
  kind === 'instance' && state === 'stopped' && ended?.by === 'cloud';

export interface FleetReading {
  /** Epoch milliseconds at which the provider was asked. */
  readonly at: number;
  readonly targets: readonly FleetTarget[];
  /**
   * False: some pages, regions or kinds could not be read, and a target that is not listed may be there all the same.
   */
  readonly complete: boolean;
  /** What could not be read, as sentences. */
  readonly problems: readonly string[];
}

/**
 * A request to a provider. Absolute, never relative: executed twice it has the same result as once (except for
 * `purchase`, so a purchase is never repeated blindly).
 */
export type Effect =
  | { readonly kind: 'stop'; readonly target: string }
  | { readonly kind: 'start'; readonly target: string }
  | { readonly kind: 'terminate'; readonly target: string }
  | { readonly kind: 'scale'; readonly target: string; readonly replicas: number }
  | { readonly kind: 'set-bounds'; readonly target: string; readonly min: number; readonly max: number }
  /** Share of new capacity that is spot, 0 to 1. */
  | { readonly kind: 'set-spot-ratio'; readonly target: string; readonly spotRatio: number }
  /** No new work on a node (`true`), or again (`false`). */
  | { readonly kind: 'cordon'; readonly target: string; readonly cordoned: boolean }
  /** Evicts what runs on a node, within its disruption budgets. Has no inverse. */
  | { readonly kind: 'drain'; readonly target: string }
  /** Ends the instance `target` and lets its group create another; without a group, starts a similar one. */
  | { readonly kind: 'replace'; readonly target: string; readonly group: string | null }
  | { readonly kind: 'resize'; readonly target: string; readonly sku: string }
  | Move
  | Purchase;

/**
 * Ends a workload where it runs, so that it writes its checkpoint, and starts it again at another place or under
 * another term. A zone of null: any of the region; a sku of null: whatever machine it asks for.
 */
export interface Move {
  readonly kind: 'move';
  readonly target: string;
  readonly region: string;
  readonly zone: string | null;
  readonly term: 'spot' | 'on-demand';
  readonly sku: string | null;
}

/** `units`: instances; of a savings plan, currency units of hourly commitment. */
export interface Purchase {
  readonly kind: 'purchase';
  readonly target: string;
  readonly offer: string;
  readonly units: number;
  readonly mostNanos: bigint;
  readonly currency: string;
  /** GPUs that it commits to; absent: of one that was decided before this was kept. */
  readonly gpus?: number;
  /** For a savings plan: the family and the region that it covers; null: any. */
  readonly family?: string | null;
  readonly region?: string | null;
}

export type EffectKind = Effect['kind'];
export const EFFECT_KINDS: readonly EffectKind[] = [
  'stop',
  'start',
  'terminate',
  'scale',
  'set-bounds',
  'set-spot-ratio',
  'cordon',
  'drain',
  'replace',
  'resize',
  'move',
  'purchase',
];

/**
 * The inverse of an effect, given the target's previous state; null: there is none. @param before the target in the
 * provider's last report before the effect
 */
export function inverseOf(effect: Effect, before: FleetTarget): Effect | null {
  const { target } = effect;
  const { min, max } = before.replicas ?? { min: null, max: null };
  switch (effect.kind) {
    case 'stop':
      return before.state === 'running' || before.state === 'starting' ? { kind: 'start', target } : null;
    case 'start':
      return before.state === 'stopped' ? { kind: 'stop', target } : null;
    case 'scale':
      return before.replicas === null ? null : { kind: 'scale', target, replicas: before.replicas.desired };
    case 'set-bounds':
      return min === null || max === null ? null : { kind: 'set-bounds', target, min, max };
    case 'set-spot-ratio':
      return before.spotRatio === null ? null : { kind: 'set-spot-ratio', target, spotRatio: before.spotRatio };
    case 'cordon':
      return { kind: 'cordon', target, cordoned: !effect.cordoned };
    case 'resize':
      return before.sku === null ? null : { kind: 'resize', target, sku: before.sku };
    case 'move':
      return movedBack(effect, before);
    default:
      return null;
  }
}

function movedBack({ target, sku }: Move, before: FleetTarget): Move | null {
  const { region, zone = null, term } = before;
  if (region === null || (term !== 'spot' && term !== 'on-demand')) return null;
  return { kind: 'move', target, region, zone, term, sku: sku === null ? null : before.sku };
}

/** Whether a target stands where a move puts it; null: unknown. */
function isAt({ region, zone, term, sku }: Move, seen: FleetTarget): boolean | null {
  if (seen.region === null || seen.term === null || (sku !== null && seen.sku === null)) return null;
  return (
    seen.region === region &&
    seen.term === term &&
    (zone === null || seen.zone === zone) &&
    (sku === null || seen.sku === sku)
  );
}

/** Whether the target's present state matches the effect; null: unknown. */
export function holds(effect: Effect, seen: FleetTarget | null): boolean | null {
  const { replicas, spotRatio, sku } = seen ?? { replicas: null, spotRatio: null, sku: null };
  switch (effect.kind) {
    case 'terminate':
    case 'replace':
      return seen === null || seen.state === 'gone' ? true : seen.state === 'unknown' ? null : false;
    case 'stop':
      return seen === null || seen.state === 'stopped' || seen.state === 'gone'
        ? true
        : seen.state === 'unknown'
          ? null
          : false;
    case 'start':
      return seen === null || seen.state === 'unknown' ? null : seen.state === 'running';
    case 'scale':
      return replicas === null ? null : replicas.desired === effect.replicas;
    case 'set-bounds':
      return replicas === null ? null : replicas.min === effect.min && replicas.max === effect.max;
    case 'set-spot-ratio':
      return spotRatio === null ? null : Math.abs(spotRatio - effect.spotRatio) < 0.005;
    case 'resize':
      return sku === null ? null : sku === effect.sku;
    case 'move': {
      if (seen === null || seen.state === 'unknown') return null;
      const at = isAt(effect, seen);
      return at === true ? seen.state === 'running' : at;
    }
    case 'cordon':
    case 'drain':
    case 'purchase':
      return null;
  }
}
