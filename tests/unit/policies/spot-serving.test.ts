/**
 * The policy that holds a service on spot: its order of steps, its limits, what it refuses, what it says it has served;
 * and that no choice of its proposals, in any order, leaves fewer ready than are promised.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  READY_REPLICAS,
  type MinuteSeries,
  type PolicyView,
  type Proposal,
  type WorkloadView,
} from '../../../src/core/policy/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import {
  AS_OF,
  exampleView,
  minutes,
  offer,
  OFFERS,
  steady,
  workload,
} from '../../../src/policies/estimating/examples.js';
import { servedOf, type Served } from '../../../src/policies/estimating/served.js';
import { policy } from '../../../src/policies/spot-serving.js';

const ZONES = ['us-east-1a', 'us-east-1b', 'us-east-1c'];
const HISTORY_DAYS = 2;
const GIVEN = { service: 'chat', replicas: 3, historyDays: HISTORY_DAYS };

interface Held {
  readonly ready: number;
  readonly booting?: number;
  readonly isThere?: boolean;
}

const held = (name: string, { ready, booting = 0 }: Held, over: Partial<WorkloadView> = {}): WorkloadView =>
  workload(name, {
    term: 'spot',
    partOf: 'chat',
    fleet: { ready, booting, minReplicas: 0, maxReplicas: 10, changedAt: AS_OF - MINUTE_MS },
    ...over,
  });

/** A service on spot of zones, on demand beside it, that has served whole for two hours. */
function service(zones: readonly Held[], onDemand: Held, over: Partial<PolicyView> = {}): PolicyView {
  return exampleView({
    workloads: [
      ...zones.map((one, at) => held(`spot-${at}`, one, { zone: ZONES[at]! })),
      held('od', onDemand, { term: 'on-demand', metrics: { [READY_REPLICAS]: minutes(steady(3, 120)) } }),
    ],
    offers: [...OFFERS, ...ZONES.map((region, at) => offer('A100-80GB', 'spot', 1400 + 50 * at, { region }))],
    spotMarkets: zones.map(({ isThere = true }, at) => ({
      provider: 'AWS',
      region: ZONES[at]!,
      gpuModel: 'A100-80GB',
      tickSeconds: 600,
      from: AS_OF - HISTORY_DAYS * 24 * HOUR_MS,
      available: [...new Array<boolean>(HISTORY_DAYS * 144 - 1).fill(true), isThere],
    })),
    ...over,
  });
}

const asked = (view: PolicyView, given: object = {}): readonly Proposal[] =>
  policy.evaluate(view, policy.params.parse({ ...GIVEN, ...given }));
const short = (proposals: readonly Proposal[]): string[] =>
  proposals.map(({ action, target, change }) => `${action} ${target} ${change?.['replicas']}`);
const left = (view: PolicyView, given: object = {}): (string | undefined)[] =>
  policy.explain!(view, policy.params.parse({ ...GIVEN, ...given })).map(({ leftAlone }) => leftAlone?.code);

const none: Held = { ready: 0 };
const gone: Held = { ready: 0, isThere: false };

/** Carries proposals out at once: what is asked for is ready, where there is spot. */
function after(view: PolicyView, proposals: readonly Proposal[]): PolicyView {
  return {
    ...view,
    workloads: view.workloads.map((one) => {
      const size = proposals.find(({ target }) => target === one.workload)?.change?.['replicas'];
      return size === undefined ? one : { ...one, fleet: { ...one.fleet!, ready: Number(size), booting: 0 } };
    }),
  };
}

describe('a service on spot', () => {
  it('adds spot before on-demand goes, and rests once it stands as planned', () => {
    let view = service([none, none, none], { ready: 3 });
    const steps: string[][] = [];
    for (let proposals = asked(view); proposals.length > 0 && steps.length < 6; proposals = asked(view)) {
      steps.push(short(proposals));
      view = after(view, proposals);
    }
    expect(steps[0]!.every((step) => step.startsWith('ScaleOut spot-'))).toBe(true);
    expect(steps.flat()).toContain('ScaleIn od 0');
    expect(steps.length).toBeLessThan(6);
    expect(left(view)).toEqual(['as-planned', 'as-planned', 'as-planned', 'as-planned']);
    const spot = view.workloads.slice(0, 3).reduce((sum, { fleet }) => sum + fleet!.ready, 0);
    expect(spot).toBeGreaterThanOrEqual(3);
  });

  it('replaces lost spot on demand, stops asking where it is gone, and comes back', () => {
    const lost = asked(service([{ ready: 0, booting: 2, isThere: false }, gone, gone], { ready: 1 }));
    expect(short(lost)).toEqual(['ScaleOut od 3', 'ScaleIn spot-0 0']);
    expect(lost[0]).toMatchObject({ protective: true, computation: { readyReplicas: 1, replicasPromised: 3 } });
    // A step that costs is shown as one: two replicas on demand for a month.
    expect(lost[0]!.monthlySavings).toEqual({
      mean: -5_840_000_000_000n,
      low: -5_840_000_000_000n,
      high: -5_840_000_000_000n,
    });
    expect(lost[1]!.title).toContain('spot is gone there');
    const back = short(asked(service([none, gone, gone], { ready: 3 })));
    expect(back.length).toBeGreaterThan(0);
    expect(back.every((step) => step.startsWith('ScaleOut spot-0'))).toBe(true);
  });

  it('claims what goes with an interval: on-demand stays away while spot is there', () => {
    const view = service([{ ready: 2 }, { ready: 2 }, none], { ready: 3 });
    const [market] = view.spotMarkets;
    const half = market!.available.map((_, at) => at < 144 || at % 2 === 0);
    const less = asked({
      ...view,
      spotMarkets: [{ ...market!, available: [...half.slice(0, -1), true] }, ...view.spotMarkets.slice(1)],
    });
    const { monthlySavings, monthlyCost } = less.find(({ target }) => target === 'od')!;
    expect(monthlyCost).toBe(8_760_000_000_000n);
    expect(monthlySavings!.low).toBeLessThan(monthlySavings!.mean);
    expect(monthlySavings!.mean).toBeLessThan(monthlySavings!.high);
    expect(monthlySavings!.high).toBeLessThanOrEqual(monthlyCost!);
  });

  it('holds all on demand once nothing more may go unserved', () => {
    const view = service([{ ready: 2 }, { ready: 2 }, none], none);
    expect(short(asked(view, { windowHours: 36 }))).not.toContain('ScaleOut od 3');
    const used = view.workloads.map((one) =>
      one.workload === 'od' ? { ...one, metrics: { [READY_REPLICAS]: minutes(steady(0, 120)) } } : one,
    );
    expect(short(asked({ ...view, workloads: used }, { windowHours: 36 }))[0]).toBe('ScaleOut od 3');
  });

  it('waits for what does not come, without counting on it', () => {
    const view = service([{ ready: 0, booting: 5 }, gone, gone], none);
    expect(short(asked(view))).toEqual([]);
    const overdue = view.workloads.map((one) => ({ ...one, fleet: { ...one.fleet!, changedAt: AS_OF - HOUR_MS } }));
    expect(short(asked({ ...view, workloads: overdue }))).toEqual(['ScaleOut od 3']);
  });

  it('says why a group counts for nothing, and takes nothing away while one is unknown', () => {
    const view = service([{ ready: 3 }, { ready: 3 }, none], { ready: 3 });
    const change = (name: string, over: Partial<WorkloadView>): PolicyView => ({
      ...view,
      workloads: view.workloads.map((one) => (one.workload === name ? { ...one, ...over } : one)),
    });
    expect(short(asked(view))).toContain('ScaleIn od 0');
    const unknown = change('spot-2', { fleet: null });
    expect(short(asked(unknown)).filter((step) => step.startsWith('ScaleIn'))).toEqual([]);
    expect(left(unknown)[2]).toBe('size-unknown');
    expect(left(unknown)[3]).toBe('unknown-group');
    expect(left(change('spot-2', { isProtected: true }))[2]).toBe('protected');
    expect(left(change('spot-2', { term: 'reserved-1y' }))[2]).toBe('other-term');
    expect(left(change('spot-2', { sku: 'another' }))[2]).toBe('no-price');
    expect(left({ ...view, spotMarkets: view.spotMarkets.slice(0, 2) })[2]).toBe('not-recorded');
    expect(left(view, { historyDays: 3 })).toEqual(['not-recorded', 'not-recorded', 'not-recorded', 'no-spot']);
    expect(left(change('od', { fleet: null }))).toEqual(['no-fallback', 'no-fallback', 'no-fallback', 'size-unknown']);
    // Its size is known and its price is not: it counts for nothing, and the others keep the promise without it.
    expect(short(asked(change('spot-2', { sku: 'another' })))).toContain('ScaleIn od 0');
    expect(left(view, { objective: 0.9999, coldStartMinutes: 60 })[0]).toBe('no-plan');
    expect(policy.nextEvaluationAt!(view, policy.params.parse(GIVEN))).toBe(AS_OF + MINUTE_MS);
    expect(policy.nextEvaluationAt!(exampleView(), policy.params.parse(GIVEN))).toBeNull();
  });

  it('stands in on demand where nothing can be planned: no price, no spot that is recorded, no plan', () => {
    const view = service([{ ready: 1 }, none, none], none);
    const priceless = { ...view, offers: view.offers.filter(({ term }) => term !== 'on-demand') };
    const [added, ...others] = asked(priceless);
    expect([short([added!]), others, added!.monthlySavings, added!.monthlyCost]).toEqual([
      ['ScaleOut od 2'],
      [],
      null,
      null,
    ]);
    expect(left(priceless)).toEqual(['no-price', 'no-price', 'no-price', undefined]);
    expect(short(asked(view, { historyDays: 3 }))).toEqual(['ScaleOut od 2']);
    expect(short(asked(view, { objective: 0.9999, coldStartMinutes: 60 }))).toEqual(['ScaleOut od 2']);
    // Enough is ready: nothing is added, and nothing taken away.
    const enough = after(priceless, [{ ...added!, change: { replicas: 5 } }]);
    expect(asked(enough)).toEqual([]);
    expect(left(enough)[3]).toBe('no-price');
  });

  it('stands in on spot, one at a time in a zone, where nothing on demand is known', () => {
    const view = service([{ ready: 1 }, none, gone], none);
    const alone = { ...view, workloads: view.workloads.slice(0, 3) };
    const steps = asked(alone);
    expect(short(steps)).toEqual(['ScaleOut spot-0 2', 'ScaleOut spot-1 1']);
    expect(steps[0]!.risk.interruption).toBe('High');
    expect(steps[0]!.monthlySavings!.low).toBeLessThan(0n);
    expect(left(alone)).toEqual([undefined, undefined, 'no-fallback']);
    expect(asked(after(alone, steps))).toEqual([]);
    expect(left(after(alone, steps))).toEqual(['no-fallback', 'no-fallback', 'no-fallback']);
    // The reading of its group on demand is late: the same, and nothing is taken away.
    const late = view.workloads.map((one) => (one.workload === 'od' ? { ...one, fleet: null } : one));
    expect(short(asked({ ...view, workloads: late }))).toEqual(['ScaleOut spot-0 2', 'ScaleOut spot-1 1']);
  });

  it('counts a group on demand without a price to what can stand in', () => {
    const view = service([{ ready: 1 }, none, none], none);
    const priceless = { ...view, offers: view.offers.filter(({ term }) => term !== 'on-demand') };
    const { saw } = policy.explain!(priceless, policy.params.parse(GIVEN))[0]!;
    expect(saw.at(-1)).not.toContain('The groups on demand');
  });

  it('leaves alone what an autoscaler sizes, and counts on none of it', () => {
    const view = service([{ ready: 0 }, none, none], { ready: 3 });
    const followed = view.workloads.map((one, at) => (at === 0 ? { ...one, followedBy: 'the policy cpu60' } : one));
    const steps = asked({ ...view, workloads: followed });
    expect(steps.map(({ target }) => target)).not.toContain('spot-0');
    expect(short(steps).some((step) => step.startsWith('ScaleOut spot-1'))).toBe(true);
    expect(left({ ...view, workloads: followed })[0]).toBe('own-policy');
    // What it holds today may be gone tomorrow: on-demand does not go for it.
    const readyNow = followed.map((one, at) => (at === 0 ? { ...one, fleet: { ...one.fleet!, ready: 3 } } : one));
    expect(short(asked({ ...view, workloads: readyNow })).filter((step) => step.startsWith('ScaleIn'))).toEqual([]);
    const all = view.workloads.map((one) => ({ ...one, followedBy: 'the policy cpu60' }));
    expect(left({ ...view, workloads: all })).toEqual(new Array(4).fill('own-policy'));
  });

  it('says where less can run on demand than is promised', () => {
    const view = service([{ ready: 3 }, { ready: 3 }, none], { ready: 1 });
    const small = view.workloads.map((one) =>
      one.workload === 'od' ? { ...one, fleet: { ...one.fleet!, maxReplicas: 1 } } : one,
    );
    const word =
      'The groups on demand of chat may have 1 replicas together: where all spot is lost, 2 of the 3 promised';
    const [lower] = asked({ ...view, workloads: small });
    expect(lower!.risk.note).toContain(word);
    const [explained] = policy.explain!({ ...view, workloads: small }, policy.params.parse(GIVEN));
    expect(explained!.saw.at(-1)).toContain('chat: 7 replicas ready of 3 promised; 0 of the');
    expect(explained!.saw.at(-1)).toContain(word);
    expect(asked(view)[0]!.risk.note).not.toContain('together');
  });

  it('does not call spot gone that nobody has read, and asks on for what may come', () => {
    const view = service([{ ready: 0, booting: 2 }, none, none], { ready: 3 });
    const [market, ...others] = view.spotMarkets;
    const unread = { ...market!, available: [...market!.available.slice(0, -2), null, null] };
    const steps = asked({ ...view, spotMarkets: [unread, ...others] });
    expect(steps.map(({ target }) => target)).not.toContain('spot-0');
    expect(steps.map(({ target }) => target)).not.toContain('od');
  });

  it('counts what groups have served that are gone by now', () => {
    const view = service([{ ready: 3 }, none, none], none);
    const bare = view.workloads.map((one) => ({ ...one, metrics: {} }));
    const before = { ...bare[0]!, metrics: { [READY_REPLICAS]: minutes(steady(0, 120)) } };
    const deleted = { ...view, workloads: [before, ...bare.slice(1)] };
    // An hour and more without one ready replica leaves nothing: all on demand.
    expect(short(asked(deleted, { windowHours: 36 }))).toContain('ScaleOut od 3');
    expect(
      short(asked({ ...deleted, goneReplicas: { chat: [minutes(steady(3, 120))] } }, { windowHours: 36 })),
    ).not.toContain('ScaleOut od 3');
  });

  it('keeps groups within their bounds', () => {
    const view = service([none, gone, gone], { ready: 3 });
    const bounded = view.workloads.map((one) => ({ ...one, fleet: { ...one.fleet!, maxReplicas: 3, minReplicas: 1 } }));
    for (const { target, change } of asked({ ...view, workloads: bounded })) {
      expect(change!['replicas'], target).toBeLessThanOrEqual(3);
      expect(change!['replicas'], target).toBeGreaterThanOrEqual(1);
    }
  });

  it('leaves as many ready as are promised, whichever of its proposals are carried out, in whatever order', () => {
    const group = fc.record({ ready: fc.nat(4), booting: fc.nat(3), isThere: fc.boolean() });
    const full = { ready: 3, booting: 0, isThere: true };
    let taken = 0;
    fc.assert(
      fc.property(
        fc.array(group, { minLength: 1, maxLength: 3 }),
        group,
        fc.array(fc.boolean()),
        fc.nat(),
        (zones, onDemand, isDone, turn) => {
          const view = service(zones, onDemand);
          const proposals = asked(view);
          const turned = proposals.map((_, at) => proposals[(at + turn) % proposals.length]!);
          const promised = Math.min(
            3,
            view.workloads.reduce((sum, { fleet }) => sum + fleet!.ready, 0),
          );
          const ready = new Map(view.workloads.map(({ workload: name, fleet }) => [name, fleet!.ready]));
          for (const { target, change, action } of turned.filter((_, at) => isDone[at] !== false)) {
            const { fleet } = view.workloads.find(({ workload: name }) => name === target)!;
            // A cloud may end those that serve first; what is added is not ready yet.
            const cut = Math.max(0, fleet!.ready + fleet!.booting - Number(change!['replicas']));
            ready.set(target, fleet!.ready - Math.min(cut, fleet!.ready));
            if (action === 'ScaleIn') taken += 1;
            expect([...ready.values()].reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(promised);
          }
        },
      ),
      { numRuns: 12, examples: [[[full, full], full, [], 0]] },
    );
    expect(taken).toBeGreaterThan(0);
  });
});

describe('what was served of a promise', () => {
  const WINDOW = 48;
  const start = Math.floor(AS_OF / (WINDOW * HOUR_MS)) * WINDOW * HOUR_MS;
  const recorded = (values: readonly (number | null)[], from: number): MinuteSeries => ({ from, values });
  const at = (minute: number): number => start + minute * MINUTE_MS;
  const served = (series: readonly MinuteSeries[], replicas: number, asOf: number, since = -Infinity): Served =>
    servedOf(series, { replicas, windowHours: WINDOW }, since, asOf);

  it('counts the minutes in which too few were ready, over all groups, and never better than they were read', () => {
    const groups = [recorded([2, 2, 2, 0, 1], at(-2)), recorded([1, 1, 1, 1, 1], at(-2))];
    // From the start of the window: 3, 1 and 2 of three.
    expect(served(groups, 3, at(3))).toEqual({ from: start, until: at(WINDOW * 60), unservedSeconds: 180 });
    // Between 3 and 1 the smaller counts; a minute that nobody read yet is as the last.
    expect(served([recorded([3, null, 1, null], at(0))], 3, at(4)).unservedSeconds).toBe((2 + 2 + 2) * 60);
  });

  it('takes a group for gone where nobody read it for longer than a quarter of an hour', () => {
    const gap = (length: number): number =>
      served([recorded([1, ...new Array<null>(length).fill(null), 1], at(0))], 1, at(length + 2)).unservedSeconds;
    expect(gap(14)).toBe(0);
    expect(gap(15)).toBe(0);
    expect(gap(16)).toBe(16 * 60);
    expect(served([recorded([1], at(0))], 1, at(40)).unservedSeconds).toBe(39 * 60);
  });

  it('begins with the first reading, and then with every window', () => {
    expect(served([recorded([1], at(60))], 1, at(61))).toMatchObject({ from: at(60), until: at(2 * WINDOW * 60) });
    expect(served([recorded([1], at(-60))], 1, at(61))).toMatchObject({ from: start, until: at(WINDOW * 60) });
    expect(served([], 1, at(61) + 5)).toEqual({ from: at(61), until: at(2 * WINDOW * 60), unservedSeconds: 0 });
  });

  it('misses nothing from before the promise was made, changed or resumed', () => {
    const one = [recorded(new Array<number>(120).fill(1), at(-60))];
    const until = at(2 * WINDOW * 60);
    expect(served(one, 2, at(60)).unservedSeconds).toBe(60 * 60);
    expect(served(one, 2, at(60), at(49) + 1)).toEqual({ from: at(50), until, unservedSeconds: 10 * 60 });
    // A promise of an earlier window is missed from this one's start, and one of this minute not at all.
    expect(served(one, 2, at(60), at(-30)).unservedSeconds).toBe(60 * 60);
    expect(served(one, 2, at(60), at(60) + 5).unservedSeconds).toBe(0);
  });
});
