/** The verdict about a launch, by hand-made budgets: refused, warned or let in, and what the answer says. */
import { describe, expect, it } from 'vitest';
import {
  admit,
  admitUnseen,
  ALLOWED,
  allocatableOf,
  DEFAULT_ADMISSION,
  launchOf,
  usesReservation,
  type AdmissionFacts,
  type AdmissionRequest,
  type AdmissionSettings,
  type BudgetStanding,
  type Launch,
} from '../../../src/core/budget/admission.js';
import type { Budget } from '../../../src/core/budget/budget.js';
import { monthBudget } from '../../support/makers.js';

const END = Date.UTC(2026, 10, 1);
const PLACE = { provider: 'AWS', account: null, cluster: 'east' };
const LAUNCH: Launch = {
  namespace: 'ml',
  name: 'trainer-5d9f-',
  owner: 'ReplicaSet trainer-5d9f',
  labels: { team: 'research' },
  sku: null,
  term: null,
};

const budget = (id: string, team: string, over: Partial<Budget> = {}): Budget =>
  monthBudget({ id, team, planned: { default: '1000', periods: {} }, ...over });
const standing = (one: Budget, spent: number | null, planned: number | null = 1000): BudgetStanding => ({
  budget: one,
  periodEnd: END,
  planned: planned === null ? null : BigInt(planned) * 1_000_000_000n,
  spent: spent === null ? null : BigInt(Math.round(spent * 100)) * 10_000_000n,
});
const facts = (
  budgets: readonly BudgetStanding[],
  settings: Partial<AdmissionSettings> = {},
  over: Partial<AdmissionFacts> = {},
): AdmissionFacts => ({
  settings: { ...DEFAULT_ADMISSION, mode: 'refuse', ...settings },
  budgets,
  stops: [],
  teams: new Map([
    ['lab', { name: 'lab', parent: null }],
    ['research', { name: 'Research', parent: 'lab' }],
    ['product', { name: 'product', parent: null }],
  ]),
  teamsOf: ({ tags }) => [tags?.['team'] ?? 'unallocated'],
  ...over,
});
const gpus = budget('gpus', 'research');

describe('a team with nothing left', () => {
  it('is refused, by name, budget, spend, what is left and whom to ask', () => {
    expect(admit(LAUNCH, PLACE, facts([standing(gpus, 1012.5)], { contact: '#finops' }))).toMatchObject({
      allowed: false,
      warnings: [],
      audit: { owner: 'ReplicaSet trainer-5d9f', team: 'research', budget: 'gpus', verdict: 'refused' },
      status: {
        code: 403,
        reason: 'Forbidden',
        message:
          'team research (Research) has no budget left: budget gpus, planned 1000.00 USD, spent 1012.50 USD, left -12.50 USD, until 2026-11-01T00:00:00Z; ask #finops',
      },
    });
  });

  it('is warned where the organisation has chosen that, and refused where its team has', () => {
    const spent = [standing(gpus, 1000)];
    const warned = admit(LAUNCH, PLACE, facts(spent, { mode: 'warn' }));
    expect(warned).toMatchObject({ allowed: true, status: null, audit: { verdict: 'warned' } });
    expect(warned.warnings).toEqual([
      expect.stringMatching(/^team research .*left 0\.00 USD.*ask whoever set the budget$/),
    ]);
    expect(admit(LAUNCH, PLACE, facts(spent, { mode: 'off' }))).toEqual(ALLOWED);
    expect(admit(LAUNCH, PLACE, facts(spent, { mode: 'warn', teams: { research: { mode: 'refuse' } } })).allowed).toBe(
      false,
    );
    // A team is as the team above it, where it says nothing itself.
    expect(
      admit(
        LAUNCH,
        PLACE,
        facts(spent, { mode: 'warn', teams: { lab: { mode: 'refuse', contact: 'lab@example.com' } } }),
      ).status?.message,
    ).toContain('ask lab@example.com');
    expect(
      admit(LAUNCH, PLACE, facts(spent, { teams: { lab: { mode: 'refuse' }, research: { mode: 'off' } } })),
    ).toEqual(ALLOWED);
  });

  it('may be out of the budget of a team above it', () => {
    const verdict = admit(LAUNCH, PLACE, facts([standing(budget('whole-lab', 'lab'), 2000), standing(gpus, 10)]));
    expect(verdict.status?.message).toContain('budget whole-lab of team lab, planned 1000.00 USD, spent 2000.00 USD');
    expect(admit(LAUNCH, PLACE, facts([standing(budget('other', 'product'), 2000), standing(gpus, 10)]))).toEqual(
      ALLOWED,
    );
  });

  it('of a plan of 0 has nothing, before anything is spent or evaluated', () => {
    for (const spent of [0, null]) expect(admit(LAUNCH, PLACE, facts([standing(gpus, spent, 0)])).allowed).toBe(false);
    expect(admit(LAUNCH, PLACE, facts([standing(gpus, null, 0)])).status?.message).toContain('not evaluated yet');
  });
});

describe('a launch is let in', () => {
  it('where something is left, or nobody has evaluated the period yet', () => {
    expect(admit(LAUNCH, PLACE, facts([standing(gpus, 999.99)]))).toEqual(ALLOWED);
    expect(admit(LAUNCH, PLACE, facts([standing(gpus, null)]))).toEqual(ALLOWED);
  });

  it('where the budget does not cover it', () => {
    const spotOnly = standing(budget('spot', 'research', { filters: { term: ['spot'] } }), 5000);
    expect(admit({ ...LAUNCH, term: 'spot' }, PLACE, facts([spotOnly])).allowed).toBe(false);
    expect(admit(LAUNCH, PLACE, facts([spotOnly])).allowed).toBe(true);
    const tagged = standing(
      budget('tag', 'research', { filters: { tag: [{ key: 'team', value: 'research' }], provider: ['AWS'] } }),
      5000,
    );
    expect(admit(LAUNCH, PLACE, facts([tagged])).allowed).toBe(false);
    expect(admit(LAUNCH, { ...PLACE, provider: 'Kubernetes' }, facts([tagged])).allowed).toBe(true);
  });

  it("in the cluster's own namespaces and in those that are exempt, whatever is spent", () => {
    const spent = facts([standing(gpus, 5000)], { exemptNamespaces: ['gpu-*'] });
    for (const namespace of ['kube-system', 'kube-node-lease', 'gpu-operator'])
      expect(admit({ ...LAUNCH, namespace }, PLACE, spent)).toEqual(ALLOWED);
    expect(admit({ ...LAUNCH, namespace: 'kube-systems' }, PLACE, spent).allowed).toBe(false);
  });

  it('where no budget is planned, unless the organisation has chosen otherwise', () => {
    for (const budgets of [[], [standing(gpus, 50, null)]]) {
      expect(admit(LAUNCH, PLACE, facts(budgets))).toEqual(ALLOWED);
      expect(admit(LAUNCH, PLACE, facts(budgets, { withoutBudget: 'warn' })).warnings).toEqual([
        'team research (Research) has no budget for the current period; ask whoever set the budget',
      ]);
      expect(admit(LAUNCH, PLACE, facts(budgets, { withoutBudget: 'refuse' })).allowed).toBe(false);
      expect(
        admit(LAUNCH, PLACE, facts(budgets, { withoutBudget: 'refuse', teams: { research: { mode: 'off' } } })),
      ).toEqual(ALLOWED);
    }
  });
});

describe('reserved budget', () => {
  const hold = (reservation: string, units: number, team = 'research') => ({
    reservation,
    team,
    remaining: BigInt(units) * 1_000_000_000n,
  });
  const held = (spent: number | null, ...holds: ReturnType<typeof hold>[]): AdmissionFacts =>
    facts([{ ...standing(gpus, spent), holds }]);

  it('is taken for everybody else', () => {
    expect(admit(LAUNCH, PLACE, held(900, hold('res-1', 99)))).toEqual(ALLOWED);
    expect(admit(LAUNCH, PLACE, held(900, hold('res-1', 60), hold('res-2', 40))).status?.message).toContain(
      'budget gpus, planned 1000.00 USD, spent 900.00 USD, reserved 100.00 USD, left 0.00 USD, until',
    );
    // Nobody has evaluated the period, and all of it is reserved: more cannot be left.
    expect(admit(LAUNCH, PLACE, held(null, hold('res-1', 1000))).status?.message).toContain(
      'reserved 1000.00 USD, not evaluated yet',
    );
  });

  it('is there for the pod that names it, whatever others have spent meanwhile, and the audit says so', () => {
    const own = { ...LAUNCH, reservation: 'res-1' };
    expect(admit(own, PLACE, held(900, hold('res-1', 100)))).toEqual({ ...ALLOWED, audit: { reservation: 'res-1' } });
    expect(admit(own, PLACE, held(1200, hold('res-1', 1))).allowed).toBe(true);
    expect(admit({ ...own, reservation: 'res-2' }, PLACE, held(900, hold('res-1', 100))).status?.message).toContain(
      '; its reservation res-2 holds nothing of it (it is over, used up, or of another team); ask',
    );
  });

  it("of a team above is its teams' too; that of another team, or of a plan of 0, is nobody's", () => {
    const own = { ...LAUNCH, reservation: 'res-1' };
    expect(admit(own, PLACE, held(950, hold('res-1', 50, 'lab'))).allowed).toBe(true);
    expect(admit(own, PLACE, held(950, hold('res-1', 50, 'product'))).allowed).toBe(false);
    expect(admit(own, PLACE, facts([{ ...standing(gpus, 0, 0), holds: [hold('res-1', 50)] }])).allowed).toBe(false);
  });

  it('is used by the launch that names it, once a budget of its team holds a part of it', () => {
    const own = { ...LAUNCH, reservation: 'res-1' };
    const uses = (launch: Launch, given: AdmissionFacts) => usesReservation(launch, PLACE, given);
    const held1 = held(0, hold('res-1', 5));
    expect(uses(own, held1)).toBe(true);
    expect(uses(LAUNCH, held1)).toBe(false);
    expect(uses(own, held(0, hold('res-2', 5)))).toBe(false);
    expect(uses(own, held(0, hold('res-1', 0)))).toBe(false);
    expect(uses(own, facts([]))).toBe(false);
    const beside = { ...held1, budgets: [...held1.budgets, standing(budget('other', 'research'), 0)] };
    expect(uses(own, beside)).toBe(true);
    expect(uses(own, { ...held1, teamsOf: () => ['product', 'research'] })).toBe(true);
    expect(uses(own, { ...held1, teamsOf: () => [] })).toBe(false);
    expect(uses(own, { ...held1, settings: { ...held1.settings, exemptNamespaces: ['ml'] } })).toBe(false);
  });

  it('helps on its own budgets only, and not against an order', () => {
    const own = { ...LAUNCH, reservation: 'res-1' };
    const two = facts([
      { ...standing(gpus, 1000), holds: [hold('res-1', 5)] },
      standing(budget('other', 'research'), 1000),
    ]);
    expect(admit(own, PLACE, two)).toMatchObject({ allowed: false, audit: { budget: 'other' } });
    const stops = [{ team: 'lab', title: 'enough', policy: 'budget-brake', until: END }];
    expect(admit(own, PLACE, { ...held(10, hold('res-1', 5)), stops }).allowed).toBe(false);
  });

  it('is named by an annotation or a label of the pod', () => {
    const gpu = { containers: [{ resources: { limits: { 'nvidia.com/gpu': '1' } } }] };
    const launch = (metadata: object) =>
      launchOf({
        kind: { kind: 'Pod' },
        operation: 'CREATE',
        namespace: 'ml',
        object: { metadata: { name: 'p', ...metadata }, spec: gpu },
      })?.reservation;
    expect(launch({ annotations: { 'bursar.io/reservation': 'res-1' } })).toBe('res-1');
    expect(launch({ labels: { 'bursar.io/reservation': 'res-2' } })).toBe('res-2');
    expect(
      launch({ annotations: { 'bursar.io/reservation': 'res-1' }, labels: { 'bursar.io/reservation': 'res-2' } }),
    ).toBe('res-1');
    expect(launch({ annotations: { 'bursar.io/reservation': '' } })).toBeUndefined();
  });
});

describe('what is remembered of a launch', () => {
  const notesOf = (...given: Parameters<typeof admit>) =>
    admit(...given).notes?.map(({ message, ...note }) => ({ ...note, tells: message.length > 0 }));

  it('is one note a team, with what decided', () => {
    const note = {
      team: 'research',
      cluster: 'east',
      namespace: 'ml',
      workload: 'ReplicaSet trainer-5d9f',
      tells: true,
    };
    expect(notesOf(LAUNCH, PLACE, facts([standing(gpus, 5000), standing(budget('more', 'lab'), 5000)]))).toEqual([
      { ...note, outcome: 'refused', reasons: ['budget-spent'] },
    ]);
    expect(notesOf(LAUNCH, PLACE, facts([standing(gpus, 5000)], { mode: 'warn' }))).toEqual([
      { ...note, outcome: 'warned', reasons: ['budget-spent'] },
    ]);
    expect(
      notesOf(
        { ...LAUNCH, owner: null, name: 'notebook' },
        { ...PLACE, cluster: null },
        facts([], { withoutBudget: 'warn' }),
      ),
    ).toEqual([{ ...note, cluster: '', workload: 'Pod notebook', outcome: 'warned', reasons: ['no-budget'] }]);
    const stops = [{ team: 'lab', title: 'enough', policy: 'budget-brake', until: END }];
    expect(notesOf(LAUNCH, PLACE, facts([standing(gpus, 5000)], {}, { stops }))).toEqual([
      { ...note, outcome: 'refused', reasons: ['budget-spent', 'launches-stopped'] },
    ]);
  });

  it('is of the team that refused, where another would have let it in', () => {
    const shared = facts(
      [standing(gpus, 5000), standing(budget('p', 'product'), 5000)],
      { teams: { product: { mode: 'warn' } } },
      { teamsOf: () => ['research', 'product'] },
    );
    expect(notesOf(LAUNCH, PLACE, shared)?.map(({ team, outcome }) => [team, outcome])).toEqual([
      ['research', 'refused'],
    ]);
    expect(
      notesOf(LAUNCH, PLACE, { ...shared, settings: { ...shared.settings, mode: 'warn' } })?.map(
        ({ team, outcome }) => [team, outcome],
      ),
    ).toEqual([
      ['research', 'warned'],
      ['product', 'warned'],
    ]);
  });

  it('is nothing where nobody objected', () => {
    expect(admit(LAUNCH, PLACE, facts([standing(gpus, 10)])).notes).toBeUndefined();
  });
});

describe('an order to refuse launches', () => {
  const stop = { team: 'lab', title: 'spend has reached 90 % of the budget gpus', policy: 'budget-brake', until: END };

  it('holds for the team and those below it, with budget left', () => {
    const verdict = admit(LAUNCH, PLACE, facts([standing(gpus, 900)], {}, { stops: [stop] }));
    expect(verdict).toMatchObject({
      allowed: false,
      audit: { team: 'research', order: 'budget-brake', verdict: 'refused' },
    });
    expect(verdict.status?.message).toBe(
      'team research (Research) may launch nothing at the moment: spend has reached 90 % of the budget gpus; until 2026-11-01T00:00:00Z at the latest; ask whoever set the budget',
    );
    expect(admit({ ...LAUNCH, labels: { team: 'product' } }, PLACE, facts([], {}, { stops: [stop] }))).toEqual(ALLOWED);
  });
});

describe('a launch that several teams share', () => {
  it('is refused where one of them has nothing left, and the severest choice holds', () => {
    const shared = { teamsOf: () => ['product', 'research'] };
    const budgets = [standing(gpus, 5000), standing(budget('p', 'product'), 5000)];
    const verdict = admit(
      LAUNCH,
      PLACE,
      facts(budgets, { mode: 'warn', teams: { research: { mode: 'refuse' } } }, shared),
    );
    expect(verdict).toMatchObject({ allowed: false, warnings: [] });
    expect(verdict.status?.message).not.toContain('team product');
    expect(admit(LAUNCH, PLACE, facts(budgets, { mode: 'warn' }, shared)).warnings).toHaveLength(2);
    expect(admit(LAUNCH, PLACE, facts(budgets, {}, { teamsOf: () => [] }))).toEqual(ALLOWED);
  });
});

describe('without the facts', () => {
  it('it fails open or closed, but never for the cluster itself', () => {
    expect(admitUnseen(LAUNCH, 'allow')).toMatchObject({
      allowed: true,
      warnings: [expect.stringContaining('unchecked')],
    });
    expect(admitUnseen(LAUNCH, 'refuse')).toMatchObject({
      allowed: false,
      status: { code: 503, reason: 'ServiceUnavailable' },
    });
    expect(admitUnseen({ ...LAUNCH, namespace: 'kube-system' }, 'refuse')).toEqual(ALLOWED);
    expect(admitUnseen({ ...LAUNCH, namespace: 'gpu-operator' }, 'refuse', ['gpu-*'])).toEqual(ALLOWED);
  });
});

describe('texts of people', () => {
  it('stand on one line, cut where the API server would cut them', () => {
    const long = facts([standing(budget(`b${'x'.repeat(2000)}`, 'research'), 5000)], {
      mode: 'warn',
      contact: 'line one\nline two\u0007',
    });
    expect(admit(LAUNCH, PLACE, long).warnings[0]).toHaveLength(256);
    expect(
      admit(LAUNCH, PLACE, facts([standing(gpus, 5000)], { contact: 'line one\nline two\u0007!' })).status?.message,
    ).toMatch(/ask line one line two !$/);
  });
});

describe('what a request launches', () => {
  const request: AdmissionRequest = {
    kind: { group: '', kind: 'Pod' },
    operation: 'CREATE',
    namespace: 'ml',
    object: {
      metadata: {
        generateName: 'trainer-5d9f-',
        labels: { team: 'research' },
        ownerReferences: [{ kind: 'ReplicaSet', name: 'trainer-5d9f', controller: true }],
      },
      spec: {
        containers: [{ resources: { limits: { 'nvidia.com/gpu': '1' } } }],
        nodeSelector: { 'node.kubernetes.io/instance-type': 'p4d.24xlarge', 'karpenter.sh/capacity-type': 'spot' },
      },
    },
  };

  it('is a pod with GPUs, as the rules see metered pods', () => {
    const launch = launchOf(request);
    expect(launch).toEqual({ ...LAUNCH, sku: 'p4d.24xlarge', term: 'spot' });
    expect(allocatableOf(launch as Launch, PLACE)).toEqual({
      provider: 'AWS',
      account: null,
      subAccount: 'east',
      resource: 'pod/ml/trainer-5d9f-',
      namespace: 'ml',
      service: 'Kubernetes',
      sku: 'p4d.24xlarge',
      tags: { team: 'research' },
    });
    expect(launchOf({ ...request, name: 'by-name', object: { spec: request.object?.spec } })).toMatchObject({
      name: 'by-name',
      owner: null,
      labels: {},
    });
  });

  it('is nothing without GPUs, for other objects, and for what is there already', () => {
    const none: Partial<AdmissionRequest>[] = [
      { object: { spec: { containers: [{ resources: { limits: { cpu: '4' } } }] } } },
      { object: null },
      { operation: 'UPDATE' },
      { operation: 'DELETE' },
      { subResource: 'eviction' },
      { kind: { group: 'apps', kind: 'Deployment' } },
      { kind: { group: 'example.com', kind: 'Pod' } },
    ];
    for (const over of none) expect(launchOf({ ...request, ...over })).toBeNull();
    // A share that cannot be told is a GPU all the same.
    expect(
      launchOf({
        ...request,
        object: { spec: { containers: [{ resources: { limits: { 'aliyun.com/gpu-mem': '4' } } }] } },
      }),
    ).not.toBeNull();
  });
});
