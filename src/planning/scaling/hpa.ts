/**
 * The rule of Kubernetes' HorizontalPodAutoscaler: how many replicas bring a mean measure to its target.
 *
 * Pure arithmetic of the present and the last minutes, without a forecast: Bursar decides by it where a policy document
 * states such a target, and is measured against it elsewhere (opponents.ts). The invariants: a minute that nobody
 * measured never takes a replica away, and within the tolerance nothing changes.
 * Source: kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale (algorithm details, stabilization
 * window) and `calcPlainMetricReplicas` in pkg/controller/podautoscaler/replica_calculator.go.
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

export interface TargetSettings {
  /** Wanted mean of the measure, above 0. */
  readonly target: number;
  readonly tolerance: number;
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
  readonly heldBy: 'nothing' | 'stabilisation' | 'missing minutes' | 'recent change';
}

/**
 * Replicas are reduced only to the highest number that any minute of the stabilisation window asked for. Those minutes
 * are computed with the present size, so a size that has changed within the window is not reduced.
 * @param values the window's minutes, oldest first, null: not measured; the newest is that of `newest`
 * @param hasChanged whether the size changed within the window, or nobody knows
 */
export function trackTarget(
  newest: number,
  values: readonly (number | null)[],
  hasChanged: boolean,
  { ready, booting }: TrackedFleet,
  { target, tolerance, minReplicas, maxReplicas }: TargetSettings,
): TargetPlan {
  const current = ready + booting;
  const bounded = (wish: number): number => Math.min(maxReplicas, Math.max(minReplicas, wish));
  const wishOf = (value: number): number => hpaReplicas(value / target, ready, booting, tolerance);
  const wished = wishOf(newest);
  const now = bounded(wished);
  if (now >= current) return { current, replicas: now, wished, heldBy: 'nothing' };
  if (values.some((value) => value === null)) return { current, replicas: current, wished, heldBy: 'missing minutes' };
  if (hasChanged) return { current, replicas: current, wished, heldBy: 'recent change' };
  const most = Math.min(current, Math.max(now, ...values.map((value) => bounded(wishOf(value ?? target)))));
  return { current, replicas: most, wished, heldBy: most > now ? 'stabilisation' : 'nothing' };
}
