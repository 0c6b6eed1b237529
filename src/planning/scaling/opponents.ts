/**
 * The published autoscaling rules, each as its documentation writes it: Bursar's planner is measured against them, and
 * weights them beside its own (rehearsal.ts).
 *
 * None sees more than a running autoscaler would. Each sees one metric per finished minute: the load offered to the ready
 * replicas, per replica (1 = what a replica serves). Documentation can be read two ways where the load exceeds the
 * fleet: requests per replica keep growing (`offered`), a utilisation stops at 1 (`utilisation`). `offered` reacts at
 * full strength to a burst, so it is the reading that the reports face; the other is reported beside it.
 */

import { hpaReplicas, roundUp } from './hpa.js';
import { clamp, type FleetView, type ScalingPolicy } from './simulate.js';

export type MetricReading = 'offered' | 'utilisation';

/** The metric of the minute just finished: its load per replica that served it; null before the first one. */
function metricOf(view: FleetView, reading: MetricReading): number | null {
  const load = view.past[view.minute - 1];
  if (load === undefined || view.served === 0) return null;
  const perReplica = load / view.served;
  return reading === 'utilisation' ? Math.min(1, perReplica) : perReplica;
}

export interface HpaSettings {
  /** Wanted load per replica, as a fraction of what a replica serves. */
  readonly target: number;
  readonly reading?: MetricReading;
}

const HPA_STABILISATION_MINUTES = 5;

/**
 * Kubernetes HorizontalPodAutoscaler with its defaults: desired = ceil(current x metric / target), no change within a
 * tolerance of 0.1, scale-in to the highest recommendation of the last 300 s, scale-out by at most the larger of 4 pods
 * and 100 % per 15 s (four such steps in a minute).
 *
 * Pods that are not ready, or became ready too late to have a metric of the minute: set aside when the ready ones ask
 * for fewer; counted with a metric of zero when they ask for more, and if that turns the direction or falls within the
 * tolerance, nothing changes.
 * Source: kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale (algorithm details, stabilization
 * window, default behavior) and `calcPlainMetricReplicas` in pkg/controller/podautoscaler/replica_calculator.go.
 */
export function hpa(settings: HpaSettings): ScalingPolicy {
  const reading = settings.reading ?? 'offered';
  const recommended: number[] = [];
  return (view) => {
    const current = view.ready + view.booting;
    const metric = metricOf(view, reading);
    const measured = Math.min(view.served, view.ready);
    const wish = metric === null ? current : hpaReplicas(metric / settings.target, measured, current - measured);
    recommended.push(clamp(wish, view.limits));
    if (recommended.length > HPA_STABILISATION_MINUTES) recommended.shift();
    if (wish < current) return Math.min(current, Math.max(...recommended));
    let most = current;
    for (let quarter = 0; quarter < 4; quarter++) most = Math.max(most * 2, most + 4);
    return Math.min(wish, most);
  };
}

export interface TargetTrackingSettings {
  readonly target: number;
  readonly reading?: MetricReading;
}

const AWS_COOLDOWN_MINUTES = 5;

/**
 * AWS target tracking: an alarm above the target for 3 minutes scales out in proportion; an alarm below 90 % of the
 * target for 15 minutes scales in, rounding up so that the target is not passed again; cooldowns of 300 s, where a
 * larger scale-out passes the cooldown of a smaller one, and no scale-in while replicas warm up.
 *
 * Source: docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-target-tracking.html and
 * target-tracking-scaling-policy-overview.html (cooldown, proportional out, gradual in); the alarms that the service
 * makes are 3 and 15 datapoints of one minute (aws-samples/amazon-aurora-labs-for-mysql#3).
 */
export function targetTracking(settings: TargetTrackingSettings): ScalingPolicy {
  const reading = settings.reading ?? 'offered';
  let minutesHigh = 0;
  let minutesLow = 0;
  let lastOut = -Infinity;
  let lastIn = -Infinity;
  let lastOutWish = 0;
  return (view) => {
    const current = view.ready + view.booting;
    const metric = metricOf(view, reading);
    if (metric === null) return current;
    minutesHigh = metric > settings.target ? minutesHigh + 1 : 0;
    minutesLow = metric < 0.9 * settings.target ? minutesLow + 1 : 0;
    const wish = roundUp((metric * view.served) / settings.target);
    if (minutesHigh >= 3 && wish > current && (view.minute - lastOut >= AWS_COOLDOWN_MINUTES || wish > lastOutWish)) {
      lastOut = view.minute;
      lastOutWish = wish;
      return wish;
    }
    const cooled = view.minute - Math.max(lastIn, lastOut) >= AWS_COOLDOWN_MINUTES;
    if (minutesLow >= 15 && wish < current && view.booting === 0 && cooled) {
      lastIn = view.minute;
      return wish;
    }
    return current;
  };
}

export interface StepScalingSettings {
  /** Utilisation at which `outReplicas` are added. */
  readonly outAbove: number;
  readonly outReplicas: number;
  /** Utilisation below which one replica is removed. */
  readonly inBelow: number;
  /** Own limits of the rule, inside those of the run. */
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly cooldownMinutes?: number;
  /** Memory in use per replica as a fraction, minute by minute, where it is measured; above 0.85 adds one replica. */
  readonly memoryUsedRatio?: ArrayLike<number>;
}

/**
 * Step scaling as in the brief: utilisation of 70 % adds 2, memory of 85 % adds 1 (the larger wins when both breach),
 * below 30 % removes 1 after a cooldown of 300 s. While replicas that the same step started still warm up the breach
 * adds no more.
 *
 * Source: docs.aws.amazon.com/autoscaling/ec2/userguide/as-scaling-simple-step.html (step adjustments, instance
 * warmup).
 */
export function stepScaling(settings: StepScalingSettings): ScalingPolicy {
  const cooldown = settings.cooldownMinutes ?? AWS_COOLDOWN_MINUTES;
  let lastChange = -Infinity;
  return (view) => {
    const current = view.ready + view.booting;
    const within = (replicas: number): number =>
      Math.min(settings.maxReplicas ?? Infinity, Math.max(settings.minReplicas ?? 1, replicas));
    const metric = metricOf(view, 'utilisation');
    if (metric === null) return within(current);
    const memory = settings.memoryUsedRatio?.[view.minute - 1];
    const steps = [
      metric >= settings.outAbove ? settings.outReplicas : 0,
      memory !== undefined && memory >= 0.85 ? 1 : 0,
    ];
    const add = Math.max(...steps);
    if (add > 0) {
      if (view.booting === 0) lastChange = view.minute;
      return within(view.booting === 0 ? current + add : current);
    }
    const memoryIsFree = memory === undefined || memory < 0.85;
    if (metric < settings.inBelow && memoryIsFree && view.booting === 0 && view.minute - lastChange >= cooldown) {
      lastChange = view.minute;
      return within(current - 1);
    }
    return within(current);
  };
}

/**
 * Scale-in below 30 %, the rule of many runbooks: a static fleet of `fullReplicas` that gives up one replica per 300 s
 * while its utilisation is below the threshold, and goes back to full when the utilisation passes 70 %.
 */
export function scaleInBelow(threshold: number, fullReplicas: number): ScalingPolicy {
  let lastIn = -Infinity;
  return (view) => {
    const current = view.ready + view.booting;
    const metric = metricOf(view, 'utilisation');
    if (metric === null || metric > 0.7) return Math.max(current, fullReplicas);
    if (metric < threshold && view.booting === 0 && view.minute - lastIn >= AWS_COOLDOWN_MINUTES) {
      lastIn = view.minute;
      return current - 1;
    }
    return current;
  };
}

export interface RecentPeakSettings {
  readonly minutes: number;
  readonly factor: number;
}

/**
 * The highest load of the last minutes times a factor, the sliding window of many vertical and predictive autoscalers.
 *
 * Source: Rzadca et al., "Autopilot: workload autoscaling at Google" (EuroSys 2020), moving window recommenders.
 */
export function recentPeak({ minutes, factor }: RecentPeakSettings): ScalingPolicy {
  return ({ minute, past, ready, booting }) => {
    if (minute === 0) return ready + booting;
    let peak = 0;
    for (let i = Math.max(0, minute - minutes); i < minute; i++) peak = Math.max(peak, past[i]!);
    return roundUp(factor * peak);
  };
}

/** A rule with limits of its own, inside those of the run (the brief's HPA has a minimum of 2 and a maximum of 8). */
export function limited(policy: ScalingPolicy, minReplicas: number, maxReplicas: number): ScalingPolicy {
  return (view) => Math.min(maxReplicas, Math.max(minReplicas, policy(view)));
}
