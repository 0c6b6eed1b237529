/**
 * A cloud in a test's memory: targets that a test sets, effects that it takes once per token, and faults on request. It
 * counts what it did, and by which token, so that a test can tell an effect that was sent twice.
 */
import { NoCapacity, unavailable } from '../../src/core/errors.js';
import type { Effect, EffectKind, FleetTarget } from '../../src/core/fleet/fleet.js';
import type { EffectOutcome, ProviderConnection } from '../../src/core/ports.js';
import type { OfferOnSale } from '../../src/core/action/acting.js';
import type { TargetFinder } from '../../src/store/action/targets.js';
import { fleetTarget } from './makers.js';

/**
 * What goes wrong with the next effect: its answer is lost; the caller dies after it was taken; the caller dies before
 * it was; it is refused; it cannot be sent; there is no capacity; half of it is done (and the answer is lost).
 */
export type Fault = 'half' | 'half-lost' | 'lost' | 'crash-after' | 'crash-before' | 'refused' | 'not-sent' | 'full';

export const instance = (name: string, over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({ target: `instance/${name}`, name, ...over });

export const group = (name: string, desired: number, over: Partial<FleetTarget> = {}): FleetTarget =>
  instance(name, {
    target: `asg/${name}`,
    kind: 'group',
    gpus: 4,
    replicas: { desired, ready: desired, min: 0, max: 20 },
    spotRatio: 0,
    ...over,
  });

/** Lets nobody through before so many have come. */
export function meeting(of: number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let come = 0;
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (++come >= of) waiting.splice(0).forEach((go) => go());
    });
}

const HALF: EffectOutcome = {
  kind: 'half-done',
  reference: 'i-new',
  detail: 'i-new runs, and the old one does not end',
};

export class MemoryCloud implements ProviderConnection {
  readonly name = 'cloud';
  readonly account = 'a1';
  canAct = true;
  /** As its last reading of the fleet told; null: nothing. */
  carriesOut: readonly EffectKind[] | null = null;
  readonly targets = new Map<string, FleetTarget>();
  /** Every effect that was carried out, in order. */
  readonly done: { readonly token: string; readonly effect: Effect }[] = [];
  /** Effects that arrived, repeated ones included. */
  arrived = 0;
  readonly faults: Fault[] = [];
  /** What the next machine is without. */
  lacks: readonly string[] | undefined = undefined;
  /** Tokens of which half was done. */
  readonly halves = new Set<string>();
  /** Whether machines that were stopped are billed no more at once. */
  endsBilling = true;
  /** Whether it can tell what became of a token. */
  tells = true;
  /** Waited for before a target is read. */
  beforeRead: (() => Promise<void>) | null = null;
  onSale: OfferOnSale[] = [];

  add(...all: readonly FleetTarget[]): void {
    for (const one of all) this.targets.set(one.target, one);
  }

  change(target: string, over: Partial<FleetTarget>): void {
    const known = this.targets.get(target);
    if (known !== undefined) this.targets.set(target, { ...known, ...over });
  }

  async target(target: string): Promise<FleetTarget | null> {
    await this.beforeRead?.();
    return this.targets.get(target) ?? null;
  }

  async apply(effect: Effect, token: string): Promise<EffectOutcome> {
    const fault = this.faults.shift();
    if (fault === 'not-sent') throw unavailable('the network is away');
    if (fault === 'full') throw new NoCapacity('the cloud has no capacity now');
    if (fault === 'refused') return { kind: 'refused', code: 'Quota', detail: 'no quota is left' };
    if (fault === 'crash-before') throw new Error('the process died before it asked');
    this.arrived++;
    if (fault === 'half' || fault === 'half-lost') {
      this.halves.add(token);
      return fault === 'half' ? HALF : { kind: 'unknown', detail: 'the answer was lost' };
    }
    this.halves.delete(token);
    this.take(effect, token);
    if (fault === 'crash-after') throw new Error('the process died before it heard');
    return fault === 'lost'
      ? { kind: 'unknown', detail: 'the answer was lost' }
      : {
          kind: 'taken',
          reference: `req-${this.arrived}`,
          detail: 'taken',
          ...(this.lacks === undefined ? {} : { lacks: this.lacks }),
        };
  }

  async outcome(_: Effect, token: string): Promise<EffectOutcome> {
    if (!this.tells) return { kind: 'unknown', detail: 'ask later' };
    if (this.halves.has(token)) return HALF;
    return this.done.some((one) => one.token === token)
      ? { kind: 'taken', reference: null, detail: 'taken before' }
      : { kind: 'absent' };
  }

  private take(effect: Effect, token: string): void {
    if (this.done.some((one) => one.token === token)) return;
    this.done.push({ token, effect });
    const known = this.targets.get(effect.target);
    if (effect.kind === 'stop')
      this.change(effect.target, { state: 'stopped', billing: this.endsBilling ? 'ended' : 'billed' });
    if (effect.kind === 'start') this.change(effect.target, { state: 'running', billing: 'billed' });
    if (effect.kind === 'scale' && known?.replicas)
      this.change(effect.target, { replicas: { ...known.replicas, desired: effect.replicas, ready: effect.replicas } });
    if (effect.kind === 'move')
      this.change(effect.target, { region: effect.region, term: effect.term, state: 'running', billing: 'billed' });
    if (effect.kind === 'set-spot-ratio') this.change(effect.target, { spotRatio: effect.spotRatio });
    if (effect.kind === 'terminate' || effect.kind === 'replace') this.targets.delete(effect.target);
  }

  /** Finds by a target's own name. */
  finder(clock: { now(): number }): TargetFinder {
    return {
      find: async (_, organisation, team, name) => {
        const seen = [...this.targets.values()].find(({ name: own, target }) => own === name || target === name);
        return seen === undefined || organisation === '' || team === ''
          ? null
          : { connection: this.name, seen, seenAt: clock.now(), carriesOut: this.carriesOut };
      },
      offers: async () => this.onSale,
    };
  }
}
