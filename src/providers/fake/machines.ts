/**
 * The objects of the fake cloud: machines, the groups that keep a number of them, commitments, and the billed runs.
 * Types, and their form as fleet targets in the cloud's own API. Decides nothing.
 */
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Term } from '../../core/usage.js';
import { kindOf, PROVIDER, REGIONS } from './catalogue.js';

/** Tells which group a machine belongs to, on the machine's own labels. */
export const GROUP_LABEL = 'fake:group';

export interface MachineSpec {
  readonly sku: string;
  readonly region: string;
  readonly term?: 'on-demand' | 'spot';
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** A scheduler runs its work: it is moved by its checkpoint to any region and term. */
  readonly movable?: boolean;
}

export interface GroupSpec {
  readonly name: string;
  readonly sku: string;
  readonly region: string;
  readonly desired: number;
  readonly min?: number;
  readonly max?: number;
  readonly spotRatio?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** One uninterrupted stretch of a machine. Half-open, epoch milliseconds. */
export interface Run {
  readonly machine: string;
  /** Counts the runs of the machine, from 1. */
  readonly no: number;
  readonly group: string | null;
  readonly sku: string;
  readonly region: string;
  readonly term: 'on-demand' | 'spot';
  readonly labels: Readonly<Record<string, string>>;
  readonly start: number;
  /** Null while it goes on. */
  end: number | null;
  /** Until when it is billed; null while it goes on, and where billing never ends. */
  billedTo: number | null;
}

export interface Machine {
  readonly id: string;
  readonly name: string;
  sku: string;
  region: string;
  term: 'on-demand' | 'spot';
  readonly movable: boolean;
  labels: Readonly<Record<string, string>>;
  readonly group: string | null;
  state: RunState;
  readonly launchedAt: number;
  /** Raised when somebody changes its settings; what it does by itself leaves it. */
  revision: number;
  /** Raised whenever it starts or stops: what was planned before does not hold any more. */
  generation: number;
  runs: number;
  run: Run | null;
}

export interface Group {
  readonly name: string;
  readonly sku: string;
  readonly region: string;
  desired: number;
  min: number;
  max: number;
  spotRatio: number;
  labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  revision: number;
  readonly members: Set<string>;
}

export interface Commitment {
  readonly id: string;
  readonly offer: string;
  readonly sku: string;
  readonly region: string;
  readonly units: number;
  readonly start: number;
  readonly end: number;
}

/** Until when a run is billed, as far as is known at an instant. */
export const billedUntil = (run: Run, now: number): number =>
  run.end === null || run.billedTo === null ? now : Math.min(run.billedTo, now);

/** The last run of a machine decides: it is `run` until another begins. */
function billingOf({ run }: Machine, now: number): BillingState {
  if (run === null) return 'ended';
  return run.end === null || run.billedTo === null || run.billedTo > now ? 'billed' : 'ended';
}

export function machineTarget(machine: Machine, account: string, now: number): FleetTarget {
  const kind = kindOf(machine.sku);
  return {
    target: `instance/${machine.id}`,
    kind: 'instance',
    name: machine.name,
    provider: PROVIDER,
    account,
    region: machine.region,
    sku: machine.sku,
    gpuModel: kind?.gpuModel ?? null,
    gpus: kind?.gpus ?? null,
    term: machine.term,
    state: machine.state,
    billing: billingOf(machine, now),
    replicas: null,
    spotRatio: null,
    labels: machine.group === null ? machine.labels : { ...machine.labels, [GROUP_LABEL]: machine.group },
    launchedAt: machine.launchedAt,
    revision: String(machine.revision),
    ...(machine.movable ? { movesTo: REGIONS.map((region) => ({ region, zone: null })) } : {}),
  };
}

export function groupTarget(group: Group, members: readonly Machine[], account: string, now: number): FleetTarget {
  const kind = kindOf(group.sku);
  const ready = members.filter(({ state }) => state === 'running').length;
  const term: Term | null = group.spotRatio === 0 ? 'on-demand' : group.spotRatio === 1 ? 'spot' : null;
  return {
    target: `group/${group.name}`,
    kind: 'group',
    name: group.name,
    provider: PROVIDER,
    account,
    region: group.region,
    sku: group.sku,
    gpuModel: kind?.gpuModel ?? null,
    gpus: kind?.gpus ?? null,
    term,
    state: members.length === 0 ? 'stopped' : ready > 0 ? 'running' : 'starting',
    billing: members.some((member) => billingOf(member, now) === 'billed') ? 'billed' : 'ended',
    replicas: { desired: group.desired, ready, min: group.min, max: group.max },
    spotRatio: group.spotRatio,
    labels: group.labels,
    launchedAt: group.createdAt,
    revision: String(group.revision),
  };
}

export function commitmentTarget({ id, sku, region, units, start, offer }: Commitment, account: string): FleetTarget {
  const kind = kindOf(sku);
  return {
    target: id,
    kind: 'commitment',
    name: offer,
    provider: PROVIDER,
    account,
    region,
    sku,
    gpuModel: kind?.gpuModel ?? null,
    gpus: kind?.gpus ?? null,
    term: 'reserved-1y',
    state: 'running',
    billing: 'billed',
    replicas: { desired: units, ready: units, min: null, max: null },
    spotRatio: null,
    labels: {},
    launchedAt: start,
    revision: '1',
  };
}
