/**
 * A cloud in memory: machines that boot and stop, groups that keep their number, spot that comes and goes, effects
 * under tokens.
 *
 * It uses the clock that is passed in: at every call it first executes everything that should have happened since, in
 * the order of time, so that the number of calls changes nothing. The invariant: an effect is applied once per token,
 * whatever is sent again. The real history can be read here directly (`runs`, `applied`); connection.ts is the cloud's
 * API, with its faults.
 */
import { isSameEffect } from '../../core/action/action.js';
import { assert } from '../../core/errors.js';
import type { Effect, FleetTarget } from '../../core/fleet/fleet.js';
import type { EffectOutcome } from '../../core/ports.js';
import { HOUR_MS, type Clock } from '../../core/time.js';
import { Catalogue, kindOf } from './catalogue.js';
import { chance, faultPlan, type FaultPlan } from './faults.js';
import {
  commitmentTarget,
  groupTarget,
  machineTarget,
  type Commitment,
  type Group,
  type GroupSpec,
  type Machine,
  type MachineSpec,
  type Run,
} from './machines.js';
import type { CloudOptions } from './options.js';
import { problemWith } from './refusals.js';

/** An effect that took hold. */
export interface AppliedEffect {
  readonly token: string;
  readonly effect: Effect;
  readonly at: number;
}

interface Planned {
  readonly at: number;
  happen(): void;
}

export class FakeCloud {
  readonly seed: number;
  readonly account: string;
  readonly faults: FaultPlan;
  readonly catalogue: Catalogue;
  readonly from: number;
  readonly meterSeconds: number;
  readonly billDelaySeconds: number;
  readonly billDiscountPercent: number;
  private readonly clock: Clock;
  private readonly bootMs: number;
  private readonly stopMs: number;
  private readonly machines = new Map<string, Machine>();
  private readonly groups = new Map<string, Group>();
  private readonly commitments: Commitment[] = [];
  private readonly allRuns: Run[] = [];
  private readonly answers = new Map<
    string,
    { readonly effect: Effect; readonly outcome: EffectOutcome; arrivals: number }
  >();
  private readonly done: AppliedEffect[] = [];
  /** Latest first. */
  private readonly planned: Planned[] = [];
  private readonly watched = new Set<string>();
  private launches = 0;
  private at: number;

  /** @throws Failure invalid naming every wrong fault. */
  constructor(options: CloudOptions) {
    this.seed = options.seed;
    this.clock = options.clock;
    this.account = options.account ?? 'fake-1';
    this.faults = faultPlan(options.faults ?? {});
    this.from = this.at = options.from ?? options.clock.now();
    this.bootMs = (options.bootSeconds ?? 180) * 1000;
    this.stopMs = (options.stopSeconds ?? 30) * 1000;
    this.meterSeconds = options.meterSeconds ?? 300;
    assert(3600 % this.meterSeconds === 0, 'the length of a usage record divides an hour');
    this.billDelaySeconds = options.billDelaySeconds ?? 6 * 3600;
    this.billDiscountPercent = options.billDiscountPercent ?? 8;
    this.catalogue = new Catalogue(options.seed, this.from, options.spotUpHours ?? 20, options.spotDownHours ?? 2);
    for (const spec of options.machines ?? []) this.launch(spec, null, true);
    for (const spec of options.groups ?? []) this.open(spec, true);
    for (const event of options.events ?? []) {
      if ('effect' in event) this.answers.set(event.token, known(event.effect, this.answers.size + 1));
      this.plan(event.at, () => ('effect' in event ? this.perform(event.effect, event.token) : this.alter(event)));
    }
  }

  // --- what there is, and what somebody else does to it

  /** Orders a machine; returns its target. */
  addMachine(spec: MachineSpec): string {
    this.settle();
    const machine = this.launch(spec, null, false);
    assert(machine !== null, 'spot is to be had when a test orders it');
    return `instance/${machine.id}`;
  }

  /** Makes a group and orders its machines; returns its target. */
  addGroup(spec: GroupSpec): string {
    this.settle();
    return this.open(spec, false);
  }

  /** Takes a machine away, as an interruption or a failure does. */
  lose(target: string): void {
    this.settle();
    const machine = this.machines.get(idOf(target));
    if (machine !== undefined) this.end(machine, 'gone');
  }

  /** Changes a target from outside: its revision is another one from now on. */
  change(
    target: string,
    { labels, desired }: { readonly labels?: Readonly<Record<string, string>>; readonly desired?: number },
  ): void {
    this.settle();
    this.alter({ target, ...(labels === undefined ? {} : { labels }), ...(desired === undefined ? {} : { desired }) });
  }

  private alter({
    target,
    labels,
    desired,
  }: {
    readonly target: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly desired?: number;
  }): void {
    const changed = this.machines.get(idOf(target)) ?? this.groups.get(idOf(target));
    assert(changed !== undefined, 'what is changed is there');
    changed.revision += 1;
    if (labels !== undefined) changed.labels = labels;
    if (desired !== undefined && 'desired' in changed) {
      changed.desired = desired;
      this.reconcile(changed);
    }
  }

  // --- the truth

  /** Every run so far, in the order of their starts. */
  runs(): readonly Readonly<Run>[] {
    this.settle();
    return this.allRuns;
  }

  /** Effects that took hold, in their order. */
  applied(): readonly AppliedEffect[] {
    this.settle();
    return this.done;
  }

  /** How often an effect took hold under a token; more than once would be a fault of the cloud itself. */
  appliedCount(token: string): number {
    return this.applied().filter((one) => one.token === token).length;
  }

  /** How often a request under a token arrived. */
  arrivals(token: string): number {
    return this.answers.get(token)?.arrivals ?? 0;
  }

  bought(): readonly Commitment[] {
    this.settle();
    return this.commitments;
  }

  now(): number {
    return this.clock.now();
  }

  // --- what the API asks

  targets(): FleetTarget[] {
    this.settle();
    const groups = [...this.groups.values()].map((group) =>
      groupTarget(group, this.membersOf(group), this.account, this.at),
    );
    const machines = [...this.machines.values()].map((machine) => machineTarget(machine, this.account, this.at));
    return [
      ...groups,
      ...machines,
      ...this.commitments.filter(({ end }) => end > this.at).map((one) => commitmentTarget(one, this.account)),
    ];
  }

  target(target: string): FleetTarget | null {
    this.settle();
    const group = target.startsWith('group/') ? this.groups.get(idOf(target)) : undefined;
    if (group !== undefined) return groupTarget(group, this.membersOf(group), this.account, this.at);
    const machine = target.startsWith('instance/') ? this.machines.get(idOf(target)) : undefined;
    if (machine !== undefined) return machineTarget(machine, this.account, this.at);
    const bought = this.commitments.find(({ id, end }) => id === target && end > this.at);
    return bought === undefined ? null : commitmentTarget(bought, this.account);
  }

  /**
   * Takes an effect. The same token again gets the first answer and has no further effect; another effect under it is
   * refused (as EC2's client tokens: IdempotentParameterMismatch).
   * @param how `delayMs`: it takes hold so much later; `refuse`: it is refused, whatever it is
   */
  take(
    effect: Effect,
    token: string,
    before: FleetTarget | null,
    how: { readonly delayMs?: number; readonly refuse?: boolean } = {},
  ): EffectOutcome {
    this.settle();
    const known = this.answers.get(token);
    if (known !== undefined) {
      known.arrivals += 1;
      if (isSameEffect(known.effect, effect)) return known.outcome;
      return { kind: 'refused', code: 'IdempotentParameterMismatch', detail: 'the token was used for another effect' };
    }
    const refusal =
      how.refuse === true
        ? { code: 'Refused', detail: 'the fake cloud refuses now and then' }
        : problemWith(effect, before, this.target(effect.target), this.catalogue, this.at);
    const outcome: EffectOutcome =
      refusal === null ? takenAs(effect, `req-${this.answers.size + 1}`) : { kind: 'refused', ...refusal };
    this.answers.set(token, { effect, outcome, arrivals: 1 });
    if (refusal === null) this.plan(this.at + (how.delayMs ?? 0), () => this.perform(effect, token));
    this.settle();
    return outcome;
  }

  outcome(token: string): EffectOutcome {
    this.settle();
    return this.answers.get(token)?.outcome ?? { kind: 'absent' };
  }

  // --- how time passes

  private settle(): void {
    const now = Math.max(this.at, this.clock.now());
    for (let next = this.planned.at(-1); next !== undefined && next.at <= now; next = this.planned.at(-1)) {
      this.planned.pop();
      this.at = next.at;
      next.happen();
    }
    this.at = now;
  }

  private plan(at: number, happen: () => void): void {
    if (!Number.isFinite(at)) return;
    // Of two events at one time, the one planned first happens first.
    let place = this.planned.length;
    while (place > 0 && (this.planned[place - 1]?.at ?? Infinity) <= at) place -= 1;
    this.planned.splice(place, 0, { at, happen });
  }

  private perform(effect: Effect, token: string): void {
    this.done.push({ token, effect, at: this.at });
    const machine = this.machines.get(idOf(effect.target));
    const group = this.groups.get(idOf(effect.target));
    if (effect.kind === 'purchase') this.buy(effect);
    else if (machine !== undefined) this.performOn(machine, effect);
    else if (group !== undefined) {
      group.revision += 1;
      if (effect.kind === 'scale') group.desired = effect.replicas;
      if (effect.kind === 'set-spot-ratio') group.spotRatio = effect.spotRatio;
      if (effect.kind === 'set-bounds') {
        group.min = effect.min;
        group.max = effect.max;
        group.desired = Math.min(effect.max, Math.max(effect.min, group.desired));
      }
      this.reconcile(group);
    }
  }

  private performOn(machine: Machine, effect: Effect): void {
    machine.revision += 1;
    if (effect.kind === 'stop' && isUp(machine)) this.end(machine, 'stopped');
    if (effect.kind === 'start' && machine.state === 'stopped') this.boot(machine);
    if (effect.kind === 'terminate') this.end(machine, 'gone');
    if (effect.kind === 'replace') {
      this.end(machine, 'gone');
      if (machine.group === null) this.launch(machine, null, false);
    }
    if (effect.kind === 'move') {
      this.close(machine);
      machine.sku = effect.sku ?? machine.sku;
      machine.region = effect.region;
      machine.term = effect.term;
      if (effect.term === 'spot') this.watch(machine.sku, machine.region);
      this.boot(machine);
    }
    if (effect.kind === 'resize') {
      const wasUp = isUp(machine);
      if (wasUp) this.close(machine);
      machine.sku = effect.sku;
      if (wasUp) this.boot(machine);
    }
  }

  private buy({ offer, units }: Effect & { readonly kind: 'purchase' }): void {
    const sold = this.catalogue.offers(this.at).find((one) => one.offer === offer);
    assert(sold !== undefined && sold.sku !== null && sold.region !== null, 'what is bought was on offer');
    this.commitments.push({
      id: `commitment/c-${this.commitments.length + 1}`,
      offer,
      sku: sold.sku,
      region: sold.region,
      units,
      start: this.at,
      end: this.at + sold.termHours * HOUR_MS,
    });
  }

  private open(spec: GroupSpec, atOnce: boolean): string {
    const { name, sku, region, desired, labels = {}, min = 0, max = Math.max(10, desired * 2), spotRatio = 0 } = spec;
    assert(!this.groups.has(name) && !this.machines.has(name), 'a name is used once');
    const group: Group = {
      name,
      sku,
      region,
      desired,
      min,
      max,
      spotRatio,
      labels,
      createdAt: this.at,
      revision: 1,
      members: new Set(),
    };
    this.groups.set(name, group);
    this.reconcile(group, atOnce);
    return `group/${name}`;
  }

  /** Null: it is spot, and there is none. */
  private launch(
    { sku, region, term = 'on-demand', name, labels = {}, movable = false }: MachineSpec,
    group: Group | null,
    atOnce: boolean,
  ): Machine | null {
    assert(kindOf(sku) !== undefined, `${sku} is a kind of machine`);
    if (term === 'spot') this.watch(sku, region);
    if (term === 'spot' && !this.catalogue.spotIsUp(sku, region, this.at)) return null;
    const id = `i-${String(++this.launches).padStart(6, '0')}`;
    const machine: Machine = {
      id,
      name: name ?? group?.name ?? id,
      sku,
      region,
      term,
      movable,
      labels: group?.labels ?? labels,
      group: group?.name ?? null,
      state: 'starting',
      launchedAt: this.at,
      revision: 1,
      generation: 0,
      runs: 0,
      run: null,
    };
    this.machines.set(id, machine);
    group?.members.add(id);
    if (atOnce) this.run(machine);
    else this.boot(machine);
    return machine;
  }

  private boot(machine: Machine): void {
    machine.state = 'starting';
    const generation = ++machine.generation;
    // From half to one and a half of the usual time.
    const bootMs = Math.round(this.bootMs * (0.5 + chance(this.seed, 'boot', machine.id, generation)));
    this.plan(this.at + bootMs, () => {
      if (machine.generation !== generation) return;
      this.run(machine);
      const group = this.groupOf(machine);
      if (group !== undefined) this.reconcile(group);
    });
  }

  private run(machine: Machine): void {
    const { id, group, sku, region, term, labels } = machine;
    machine.state = 'running';
    machine.run = {
      machine: id,
      no: ++machine.runs,
      group,
      sku,
      region,
      term,
      labels,
      start: this.at,
      end: null,
      billedTo: null,
    };
    this.allRuns.push(machine.run);
  }

  /** Ends the run at hand. Billing ends with it, but for the fault that lets it go on. */
  private close(machine: Machine): void {
    const { run } = machine;
    machine.generation += 1;
    if (run === null || run.end !== null) return;
    const { overbillsRatio, mostOverbilledSeconds } = this.faults;
    run.end = run.billedTo = this.at;
    if (chance(this.seed, 'overbill', machine.id, run.no) < overbillsRatio) {
      run.billedTo =
        mostOverbilledSeconds === null
          ? null
          : this.at + Math.ceil(chance(this.seed, 'overbilled for', machine.id, run.no) * mostOverbilledSeconds) * 1000;
    }
  }

  private end(machine: Machine, to: 'stopped' | 'gone'): void {
    if (machine.state === 'gone') return;
    this.close(machine);
    machine.state = 'stopping';
    const { generation } = machine;
    this.plan(this.at + this.stopMs, () => {
      if (machine.generation !== generation) return;
      machine.state = to;
      if (to === 'gone') this.forget(machine);
    });
    const group = to === 'gone' ? this.groupOf(machine) : undefined;
    if (group?.members.delete(machine.id) === true) this.reconcile(group);
  }

  /** A gone machine is listed for as long as it is billed. */
  private forget(machine: Machine): void {
    const billedTo = machine.run === null ? this.at : machine.run.billedTo;
    if (billedTo === null) return;
    if (billedTo <= this.at) this.machines.delete(machine.id);
    else this.plan(billedTo, () => this.machines.delete(machine.id));
  }

  /**
   * Orders what a group lacks, and ends what it has too many of; a machine of the wrong term stays until another has
   * taken its place.
   */
  private reconcile(group: Group, atOnce = false): void {
    const wanted = { spot: Math.round(group.desired * group.spotRatio), 'on-demand': 0 };
    wanted['on-demand'] = group.desired - wanted.spot;
    for (const term of ['spot', 'on-demand'] as const) {
      for (let have = this.membersOf(group, term).length; have < wanted[term]; have++) {
        if (this.launch({ sku: group.sku, region: group.region, term }, group, atOnce) === null) break;
      }
    }
    for (const term of ['on-demand', 'spot'] as const) {
      const own = this.membersOf(group, term);
      const newestFirst = [
        ...own.filter(({ state }) => state === 'starting'),
        ...own.filter(({ state }) => state === 'running').reverse(),
      ];
      for (const machine of newestFirst.slice(0, Math.max(0, own.length - wanted[term]))) {
        const running = this.membersOf(group).filter(({ state }) => state === 'running').length;
        if (machine.state === 'running' && running <= group.desired) break;
        group.members.delete(machine.id);
        this.end(machine, 'gone');
      }
    }
  }

  /** From the first use of a market on, its turns are felt: machines are interrupted, and groups filled again. */
  private watch(sku: string, region: string): void {
    const market = `${sku}/${region}`;
    if (this.watched.has(market)) return;
    this.watched.add(market);
    const toggle = (): void => {
      if (!this.catalogue.spotIsUp(sku, region, this.at)) {
        const interrupted = [...this.machines.values()].filter(
          (m) => m.term === 'spot' && m.sku === sku && m.region === region && isUp(m),
        );
        for (const machine of interrupted) this.end(machine, 'gone');
      }
      for (const group of this.groups.values()) if (group.sku === sku && group.region === region) this.reconcile(group);
      this.plan(this.catalogue.nextSpotChange(sku, region, this.at), toggle);
    };
    this.plan(this.catalogue.nextSpotChange(sku, region, this.at), toggle);
  }

  private groupOf({ group }: Machine): Group | undefined {
    return group === null ? undefined : this.groups.get(group);
  }

  private membersOf(group: Group, term?: 'on-demand' | 'spot'): Machine[] {
    return [...group.members]
      .flatMap((id) => this.machines.get(id) ?? [])
      .filter((machine) => term === undefined || machine.term === term);
  }
}

const takenAs = (effect: Effect, reference: string): EffectOutcome => ({
  kind: 'taken',
  reference,
  detail: `${effect.kind} of ${effect.target}`,
});

const known = (effect: Effect, no: number) => ({ effect, outcome: takenAs(effect, `req-${no}`), arrivals: 1 });

const idOf = (target: string): string => target.slice(target.indexOf('/') + 1);

const isUp = ({ state }: Machine): boolean => state === 'running' || state === 'starting';
