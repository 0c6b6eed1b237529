/** Budget-brake at its limits: which step is reached, what it may touch, and a plan of 0, which any spend is over. */
import { describe, expect, it } from 'vitest';
import type { PolicyView, Reading, ResourceView, WorkloadView } from '../../../src/core/policy/policy.js';
import { HOUR_MS } from '../../../src/core/time.js';
import { policy } from '../../../src/policies/budget-brake.js';
import { AS_OF, budgetAt, exampleView, OFFERS, workload } from '../../../src/policies/estimating/examples.js';

type Braked = PolicyView['budgets'][number];
const DEFAULTS = policy.params.parse({});
const fleet = (ready: number, minReplicas: number, booting = 0) => ({
  ready,
  booting,
  minReplicas,
  maxReplicas: 9,
  changedAt: null,
});
const act = (over: Partial<PolicyView>, given: object = {}) =>
  policy.evaluate(exampleView(over), policy.params.parse(given));
const done = (over: Partial<PolicyView>, given: object = {}): string[] =>
  act(over, given).map(({ action, target, change }) =>
    [action, target, ...('replicas' in (change ?? {}) ? [String(change!['replicas'])] : [])].join(' '),
  );
const withState = (one: Braked, over: Partial<Braked['state']>): Braked => ({
  ...one,
  state: { ...one.state, ...over },
});
const forecast = (dollars: number) => {
  const mean = BigInt(dollars) * 1_000_000_000n;
  return { forecast: { mean, low: 0n, high: mean * 9n, method: 'said' } };
};
const TELL = 'Notify budget/b';
const REFUSE = 'RefuseLaunches team/research';

describe('a step', () => {
  it.each<[string, Braked, string[]]>([
    ['is not reached a nano before it', withState(budgetAt(1000, 0), { spent: 799_999_999_999n }), []],
    ['is reached exactly there', budgetAt(1000, 800), [TELL]],
    ['of the forecast goes by its mean', withState(budgetAt(1000, 1), forecast(900)), [TELL]],
    ['of the forecast is not reached before', withState(budgetAt(1000, 1), forecast(899)), []],
    ['that is severer holds, whichever is compared', withState(budgetAt(1000, 800), forecast(1100)), [TELL, REFUSE]],
    [
      'of a plan of 0 is reached by any spend',
      withState(budgetAt(0, 0), { spent: 1n }),
      [TELL, REFUSE, 'Stop train 0'],
    ],
    ['of a plan of 0 is not reached by none', budgetAt(0, 0), []],
    ['of a plan of 0 is not reached by credits', withState(budgetAt(0, 0), { spent: -1n }), []],
    ['is not reached without a plan', budgetAt(null, 99_999), []],
  ])('%s', (_, budget, expected) => {
    const train = workload('train', { kind: 'training', interruptible: true, fleet: fleet(1, 1) });
    expect(done({ budgets: [budget], workloads: [train] })).toEqual(expected);
  });

  it('holds from the first instant of its period to the last', () => {
    const budget = budgetAt(1000, 1200);
    const { start, end } = budget.state.period;
    const at = (asOf: number): number => act({ asOf, budgets: [budget] }).length;
    expect([at(start - 1), at(start), at(end - 1), at(end)]).toEqual([0, 2, 2, 0]);
  });

  it('tells how much of the period is left, a month at most', () => {
    const left = (asOf: number, over: Partial<Braked['state']> = {}) =>
      act({ asOf, budgets: [withState(budgetAt(1000, 800), over)] })[0]?.computation['hoursLeft'];
    const { start, end } = budgetAt(1000, 800).state.period;
    expect(left(end - 5 * HOUR_MS)).toBe(5);
    expect(left(start)).toBe(720);
    expect(left(start, { period: { start, end: start + 2000 * HOUR_MS } })).toBe(730);
  });

  it('names what was compared', () => {
    const budget = withState(budgetAt(1000, 800), forecast(1000));
    expect(act({ budgets: [budget] })[0]).toMatchObject({
      title: 'Tell research: the forecast has reached 90 % of the budget b (1000.00 USD)',
      computation: { planned: '1000.00', spent: '800.00', forecast: '1000.00', step: 'forecast 0.9', currency: 'USD' },
    });
    expect(act({ budgets: [budgetAt(1000, 800)] })[0]).toMatchObject({
      title: 'Tell research: spend has reached 80 % of the budget b (1000.00 USD)',
      computation: { forecast: 'unknown', step: 'actual 0.8' },
    });
  });
});

describe('what is touched', () => {
  const over = (spent: number, one: Partial<WorkloadView>, more: Partial<PolicyView> = {}): string[] =>
    done({ budgets: [budgetAt(1000, spent)], workloads: [workload('w', one)], ...more }).filter(
      (text) => text !== TELL && text !== REFUSE,
    );

  it.each<[string, number, Partial<WorkloadView>, string[]]>([
    ['what is interruptible is stopped', 1100, { interruptible: true, fleet: fleet(1, 1) }, ['Stop w 0']],
    ['what is of such a kind is stopped', 1100, { kind: 'notebook', fleet: fleet(1, 1) }, ['Stop w 0']],
    ['what is neither is not', 1100, { kind: 'training', fleet: fleet(1, 1) }, []],
    ['what nobody knows is not', 1100, { kind: null, fleet: fleet(1, 1) }, []],
    ['what its owner protects is not', 1100, { interruptible: true, isProtected: true, fleet: fleet(1, 1) }, []],
    ['what may go to none goes there', 1100, { interruptible: true, fleet: fleet(4, 0) }, ['Stop w 0']],
    ['what must not goes to its least first', 1100, { interruptible: true, fleet: fleet(4, 2) }, ['ScaleIn w 2']],
    ['and is stopped from there', 1100, { interruptible: true, fleet: fleet(2, 2) }, ['Stop w 0']],
    ['or from below it', 1100, { interruptible: true, fleet: fleet(1, 2) }, ['Stop w 0']],
    ['replicas that boot count', 1000, { fleet: fleet(1, 1, 2) }, ['ScaleIn w 1']],
    ['a service is scaled in', 1000, { fleet: fleet(4, 2) }, ['ScaleIn w 2']],
    ['to one at least', 1000, { fleet: fleet(4, 0) }, ['ScaleIn w 1']],
    ['a single one is not', 1000, { fleet: fleet(1, 0) }, []],
    ['nor is what has no known kind', 1000, { kind: null, fleet: fleet(4, 2) }, []],
    ['nor before its step', 999, { fleet: fleet(4, 2) }, []],
    ['what runs on demand moves to spot', 950, { interruptible: true, fleet: fleet(1, 1) }, ['MoveToSpot w']],
    ['not before its step', 949, { interruptible: true, fleet: fleet(1, 1) }, []],
    ['not where nobody calls it interruptible', 950, { fleet: fleet(1, 1) }, []],
    ['not what runs on spot', 950, { interruptible: true, term: 'spot', fleet: fleet(1, 1) }, []],
    ['not what is fixed', 950, { interruptible: true, spotIsFixed: true, fleet: fleet(1, 1) }, []],
    ['not what has an unknown size', 950, { interruptible: true, gpusPerReplica: null, fleet: fleet(1, 1) }, []],
    ['nothing of none', 1100, { interruptible: true, fleet: fleet(0, 0) }, []],
    ['nothing of which nobody knows how many there are', 1100, { interruptible: true, fleet: null }, []],
  ])('%s', (_, spent, one, expected) => {
    expect(over(spent, one)).toEqual(expected);
  });

  it('moves to no spot that costs as much', () => {
    const dear = OFFERS.map((one) =>
      one.gpuModel === 'A100-80GB' && one.term === 'spot'
        ? { ...one, rate: OFFERS.find(({ gpuModel, term }) => gpuModel === 'A100-80GB' && term === 'on-demand')!.rate }
        : one,
    );
    expect(over(950, { interruptible: true, fleet: fleet(1, 1) }, { offers: dear })).toEqual([]);
  });

  it('is what the budget looks at, where it looks at some of the spend', () => {
    const of = (filters: Braked['budget']['filters'], one: Partial<WorkloadView> = {}): string[] => {
      const { budget, state } = budgetAt(1000, 1100);
      return done({
        budgets: [{ budget: { ...budget, filters }, state }],
        workloads: [workload('w', { interruptible: true, fleet: fleet(1, 1), ...one })],
        resources: [machine()],
      }).slice(2);
    };
    expect(of({})).toEqual(['Stop w 0', 'Stop i-1 0']);
    expect(of({ provider: undefined })).toEqual(['Stop w 0', 'Stop i-1 0']);
    expect(of({ provider: ['AWS'] })).toEqual(['Stop w 0']);
    expect(of({ provider: ['Oracle'] })).toEqual([]);
    expect(of({ provider: ['AWS'] }, { provider: null })).toEqual([]);
    expect(of({ term: ['on-demand'], sku: ['example.a100-80gb'] })).toEqual(['Stop w 0']);
    expect(of({ tag: [{ key: 'env', value: 'prod' }] })).toEqual([]);
  });

  it('is asked for once, by the first budget', () => {
    const one = workload('w', { interruptible: true, fleet: fleet(1, 1) });
    const { budget, state } = budgetAt(1000, 1100);
    const both = [
      { budget, state },
      { budget: { ...budget, id: 'c' }, state },
    ];
    expect(done({ budgets: both, workloads: [one] })).toEqual([TELL, REFUSE, 'Stop w 0', 'Notify budget/c']);
  });
});

function machine(over: Partial<ResourceView> = {}, newest: Partial<Reading> = {}): ResourceView {
  const reading = { at: AS_OF, gpuUtilisationRatio: 0.9, memoryUsedRatio: null, requestsPerSecond: null, ...newest };
  return {
    resource: 'i-1',
    workload: 'notebook',
    gpus: 1,
    gpuModel: 'T4',
    hourlyNanos: 2_000_000_000n,
    observedFrom: null,
    readings: [reading],
    ...over,
  };
}

describe('a machine that is part of no workload', () => {
  const stopped = (one: ResourceView, spent = 1100): boolean =>
    done({ budgets: [budgetAt(1000, spent)], resources: [one] }).includes('Stop i-1 0');

  it('is stopped where its kind may be and it was seen a moment ago', () => {
    const stale = DEFAULTS.staleMinutes * 60_000;
    expect(stopped(machine())).toBe(true);
    expect(stopped(machine({}, { at: AS_OF - stale }))).toBe(true);
    expect(stopped(machine({}, { at: AS_OF - stale - 1 }))).toBe(false);
    expect(stopped(machine({ readings: [] }))).toBe(false);
    expect(stopped(machine({ workload: null }))).toBe(false);
    expect(stopped(machine({ workload: 'training' }))).toBe(false);
    expect(stopped(machine(), 1099)).toBe(false);
  });

  it('saves what it costs, and an unknown amount where that is unknown', () => {
    const saving = (one: ResourceView) =>
      act({ budgets: [budgetAt(1000, 1100)], resources: [one] }).find(({ action }) => action === 'Stop');
    expect(saving(machine())).toMatchObject({ monthlySavings: { mean: 1_460_000_000_000n } });
    expect(saving(machine({ hourlyNanos: null }))).toMatchObject({ monthlySavings: null, monthlyCost: null });
  });
});

describe('an explanation', () => {
  const explain = (over: Partial<PolicyView>): [string, string | undefined][] =>
    policy.explain!(exampleView(over), DEFAULTS, 'doc').map(({ target, leftAlone }) => [target, leftAlone?.code]);
  const chat = workload('chat', { fleet: fleet(1, 1) });

  it('says of each budget whether it brakes, and of each workload what is done about it', () => {
    const of = (spent: number, one: WorkloadView) => explain({ budgets: [budgetAt(1000, spent)], workloads: [one] });
    expect(of(100, chat)).toEqual([
      ['budget/b', 'not-reached'],
      ['chat', 'no-brake'],
    ]);
    expect(of(850, chat)).toEqual([
      ['budget/b', undefined],
      ['chat', 'milder'],
    ]);
    expect(of(1100, workload('w', { interruptible: true, fleet: fleet(1, 1) }))).toEqual([
      ['budget/b', undefined],
      ['w', undefined],
    ]);
    expect(of(1100, workload('w', { isProtected: true, fleet: fleet(1, 1) }))[1]).toEqual(['w', 'protected']);
  });

  it('names the severest of several budgets', () => {
    const { budget, state } = budgetAt(1000, 960);
    const budgets = [budgetAt(1000, 850), { budget: { ...budget, id: 'severe' }, state }];
    const [found] = policy.explain!(exampleView({ budgets, workloads: [chat] }), DEFAULTS, 'doc').slice(-1);
    expect(found?.leftAlone?.message).toContain('the budget severe has reached move');
  });
});
