/**
 * The rule of Kubernetes' HorizontalPodAutoscaler: how many replicas bring a mean measure to its target.
 *
 * Pure arithmetic on the present and the last minutes, without a forecast: Bursar decides by it if a policy document
 * states such a target, and is measured against it elsewhere (opponents.ts). The invariants: an unmeasured minute never
 * removes a replica; replicas without data neither add nor remove others; within the tolerance nothing changes. Source:
 * kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale (algorithm details, stabilization window)
 * and `calcPlainMetricReplicas` in pkg/controller/podautoscaler/replica_calculator.go.
 */

/** The default of the controller (horizontal-pod-autoscaler-tolerance). */
export const HPA_TOLERANCE = 0.1;

/** Absorbs the error of a floating division, so that exactly 3 replicas' load does not ask for 4. */
export const roundUp = (value: number): number => Math.ceil(value - 1e-9);

/**
 * The replica calculator: `usageRatio` is the measure of the ready pods over its target; returns desired replicas
 * before limits and stabilisation. Pods that are not ready are counted with a measure of zero where the ready ones ask
 * for more, and set aside where they ask for fewer.
 */
export function hpaReplicas(
  usageRatio: number,
  ready: number,
  notReady: number,
  tolerance: number = HPA_TOLERANCE,
): number {
  const current = ready + notReady;
  const within = (ratio: number): boolean => Math.abs(ratio - 1) <= tolerance + 1e-12;
  if (notReady === 0 || usageRatio <= 1) return within(usageRatio) ? current : roundUp(usageRatio * ready);
  const ratioWithNotReady = (usageRatio * ready) / current;
  if (within(ratioWithNotReady) || ratioWithNotReady < 1) return current;
  return Math.max(current, roundUp(ratioWithNotReady * current));
}

/**
 * The same where of some ready replicas nothing came: they count as idle where the measured ones ask for more, and as
 * wholly used (at `most` of the target) where these ask for fewer; if that turns the direction, nothing changes. Where
 * more were measured than are ready, some of them leave or boot, and the ready ones may have done all the work, or
 * none of what the others can.
 * Source: `GetResourceReplicas` in pkg/controller/podautoscaler/replica_calculator.go, missing pods: 0 % on a scale-up,
 * 100 % (or the target, where that is higher) on a scale-down.
 * @param measured of the ready ones; may be a part of one, where some of its GPUs were measured
 * @param most the whole of the measure over its target
 */
function hpaReplicasOf(
  usageRatio: number,
  measured: number,
  { ready, booting }: TrackedFleet,
  most: number,
  tolerance: number,
): number {
  const missing = ready - measured;
  if (missing < -1e-9) return hpaReplicasAmong(usageRatio, measured, { ready, booting }, most, tolerance);
  if (missing <= 1e-9) return hpaReplicas(usageRatio, ready, booting, tolerance);
  const current = ready + booting;
  // What boots counts as idle before more are ordered, and is set aside before any is given up.
  const counted = usageRatio > 1 ? current : ready;
  const ratio = (usageRatio * measured + (usageRatio < 1 ? missing * most : 0)) / counted;
  if (Math.abs(ratio - 1) <= tolerance + 1e-12 || usageRatio < 1 !== ratio < 1) return current;
  const wished = roundUp(ratio * counted);
  return ratio < 1 ? Math.min(current, wished) : Math.max(current, wished);
}

/**
 * The part that is certain whatever the ready replicas did: scale out if they need at least that many, scale in if they
 * need no more.
 */
function hpaReplicasAmong(
  usageRatio: number,
  measured: number,
  { ready, booting }: TrackedFleet,
  most: number,
  tolerance: number,
): number {
  const sum = usageRatio * measured;
  const wishOf = (ratio: number): number => hpaReplicas(ratio, ready, booting, tolerance);
  const fewest = wishOf(Math.max(0, sum - (measured - ready) * most) / ready);
  return Math.min(wishOf(Math.min(most, sum / ready)), Math.max(fewest, ready + booting));
}

/** A minute of the measure. */
export interface TrackedMinute {
  readonly value: number;
  /** How many replicas it is the mean of; more than are ready: of some that leave or boot, too. */
  readonly measured: number;
}

export interface TargetSettings {
  /** Wanted mean of the measure, above 0. */
  readonly target: number;
  readonly tolerance: number;
  /** The value of a fully used replica; the target if there is no such maximum, or if the target is higher. */
  readonly whole: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
}

export interface TrackedFleet {
  readonly ready: number;
  readonly booting: number;
}

/** What the rule asks for, and why it does not ask for fewer where the newest minute alone would. */
export interface TargetPlan {
  readonly current: number;
  readonly replicas: number;
  /** Of the newest minute, before limits and stabilisation. */
  readonly wished: number;
  readonly heldBy: 'nothing' | 'unmeasured replicas' | 'stabilisation' | 'missing minutes' | 'recent change';
}

/**
 * Replicas are reduced only to the highest number that any minute of the stabilisation window needed. Those minutes are
 * computed with the present size, so a size that has changed within the window is not reduced.
 * @param minutes the window's minutes, oldest first, null: not measured; the newest is that of `newest`
 * @param hasChanged whether the size changed within the window, or this is unknown
 */
export function trackTarget(
  newest: TrackedMinute,
  minutes: readonly (TrackedMinute | null)[],
  hasChanged: boolean,
  fleet: TrackedFleet,
  { target, tolerance, whole, minReplicas, maxReplicas }: TargetSettings,
): TargetPlan {
  const current = fleet.ready + fleet.booting;
  const bounded = (wish: number): number => Math.min(maxReplicas, Math.max(minReplicas, wish));
  const wishOf = ({ value, measured }: TrackedMinute): number =>
    hpaReplicasOf(value / target, measured, fleet, Math.max(whole, target) / target, tolerance);
  const wished = wishOf(newest);
  const now = bounded(wished);
  const ofMeasured = bounded(hpaReplicas(newest.value / target, fleet.ready, fleet.booting, tolerance));
  if (now === current && ofMeasured !== current)
    return { current, replicas: current, wished, heldBy: 'unmeasured replicas' };
  if (now >= current) return { current, replicas: now, wished, heldBy: 'nothing' };
  if (minutes.some((minute) => minute === null))
    return { current, replicas: current, wished, heldBy: 'missing minutes' };
  if (hasChanged) return { current, replicas: current, wished, heldBy: 'recent change' };
  const most = Math.min(current, Math.max(now, ...minutes.map((minute) => bounded(wishOf(minute ?? newest)))));
  return { current, replicas: most, wished, heldBy: most > now ? 'stabilisation' : 'nothing' };
}
