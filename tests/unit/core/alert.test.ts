/** What is worth telling, to whom, when it goes further, and which news are the same: written rules, case by case. */
import { describe, expect, it } from 'vitest';
import {
  answerOf,
  identityOf,
  needsAnswer,
  outcomeOf,
  severityOf,
  silenceOf,
  threadOf,
  together,
  type BudgetNews,
  type HealthNews,
  type News,
  type PriceNews,
  type ResultNews,
} from '../../../src/core/alert/alert.js';
import { messageOf } from '../../../src/core/alert/compose.js';
import { plainText } from '../../../src/core/alert/message.js';
import {
  dailySeries,
  driversOf,
  mostGrown,
  nextStepOf,
  peersOf,
  priceSeries,
  spendSoFar,
} from '../../../src/core/alert/numbers.js';
import {
  checkRoutes,
  defaultRoutes,
  escalationAt,
  isMuted,
  muteOf,
  type Mute,
  lineageOf,
  routeFor,
  type AlertRoute,
} from '../../../src/core/alert/routes.js';
import { ENGLISH } from '../../../src/core/alert/texts.js';
import { grownBy, whoseName } from '../../../src/core/alert/whose.js';
import { HEALTH_FIGURES } from '../../../src/core/fleet/health-figures.js';
import { COMPUTATION_FIGURES } from '../../../src/core/policy/computation.js';
import { calledIn } from '../../../src/core/actor.js';
import { effectWords, figureWords, shownAmount, shownRatio } from '../../../src/core/alert/words.js';
import { parseDecimal } from '../../../src/core/decimal.js';
import type { Recommendation } from '../../../src/core/policy/recommendation.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import { alertOf, approvalNews, budgetNews } from '../../support/alerts.js';
import { instancePrice } from '../../support/bursar.js';

const NOW = Date.UTC(2026, 10, 21, 12);

const result = (over: Partial<ResultNews> = {}): ResultNews => ({
  kind: 'result',
  team: 'red',
  action: 'act-1',
  outcome: 'confirmed',
  effect: { kind: 'stop', target: 'instance/i-1' },
  connection: 'aws',
  approvedBy: 'Ana',
  rollbackOf: null,
  reasons: [],
  proof: null,
  ...over,
});
const health = (over: Partial<HealthNews> = {}): HealthNews => ({
  kind: 'health',
  team: 'red',
  rule: 'gone',
  severity: 'fatal',
  source: 'dcgm',
  resource: 'node-1',
  gpu: 'GPU-1',
  migInstance: null,
  workload: null,
  title: 'gone',
  numbers: {},
  evidence: { what: 'x', from: '2026-11-21T11:00:00Z', to: '2026-11-21T11:00:00Z', ageSeconds: 0 },
  openedAt: '2026-11-21T11:00:00Z',
  ...over,
});
const price = (over: Partial<PriceNews> = {}): PriceNews => ({
  kind: 'price',
  team: null,
  what: 'dirty-price',
  provider: 'AWS',
  sku: 'p5',
  region: null,
  term: 'on-demand',
  effectiveFrom: '2026-11-21T00:00:00Z',
  decidedAt: '2026-11-21T00:00:00Z',
  currency: 'USD',
  observed: '1',
  expected: '10',
  source: 'list',
  ...over,
});

describe('the identity of news', () => {
  it('is made of team, budget, period and threshold, and of nothing that changes', () => {
    expect(identityOf(budgetNews({ spent: '9000', exhaustionAt: null }))).toBe(identityOf(budgetNews()));
    const others: News[] = [
      budgetNews(),
      budgetNews({ team: 'blue' }),
      budgetNews({ budget: 'other' }),
      budgetNews({ periodStart: '2026-12-01T00:00:00Z' }),
      budgetNews({ threshold: { kind: 'forecast', ratio: '0.8' } }),
      budgetNews({ threshold: { kind: 'actual', ratio: '1' } }),
      approvalNews(),
      result(),
      result({ outcome: 'failed' }),
      health(),
      health({ gpu: 'GPU-2' }),
      price(),
      price({ region: 'eu' }),
    ];
    expect(new Set(others.map(identityOf)).size).toBe(others.length);
  });

  it('is not confused by slashes in names', () => {
    expect(identityOf(budgetNews({ team: 'a/b', budget: 'c' }))).not.toBe(
      identityOf(budgetNews({ team: 'a', budget: 'b/c' })),
    );
  });

  it('of a card is the same for a day, whatever its findings do', () => {
    expect(identityOf(health({ openedAt: '2026-11-21T23:00:00Z' }))).toBe(identityOf(health()));
    expect(identityOf(health({ openedAt: '2026-11-22T00:00:00Z' }))).not.toBe(identityOf(health()));
  });
});

it("a conversation holds a budget's period, and an action from its approval to its proof", () => {
  expect(threadOf(budgetNews({ threshold: { kind: 'forecast', ratio: '1' } }))).toBe(threadOf(budgetNews()));
  expect(threadOf(budgetNews({ periodStart: '2026-12-01T00:00:00Z' }))).not.toBe(threadOf(budgetNews()));
  expect(threadOf(budgetNews({ team: 'a', budget: 'b', periodStart: 'c' }))).toBe('budget/a/b/c');
  expect(threadOf(budgetNews({ team: 'a/b' }))).not.toBe(threadOf(budgetNews({ team: 'a', budget: 'b' })));
  expect(threadOf(result({ action: 'act-0123456789abcdef' }))).toBe(threadOf(approvalNews()));
});

it.each([
  [budgetNews({ threshold: { kind: 'actual', ratio: '1' } }), 'critical', true],
  [budgetNews(), 'warning', false],
  [budgetNews({ threshold: { kind: 'forecast', ratio: '1' } }), 'warning', false],
  [budgetNews({ threshold: { kind: 'forecast', ratio: '0.9' } }), 'info', false],
  [approvalNews(), 'warning', true],
  [result(), 'info', false],
  [result({ outcome: 'outcome-unknown' }), 'critical', true],
  [result({ outcome: 'billing-not-ended' }), 'warning', true],
  [health(), 'critical', true],
  [health({ severity: 'warning' }), 'warning', false],
  [price(), 'warning', false],
] as const)('news %# are as grave as they are', (news, severity, answer) => {
  expect([severityOf(news), needsAnswer(news)]).toEqual([severity, answer]);
});

describe('silence', () => {
  it('is kept about a period that ended more than a week ago', () => {
    expect(silenceOf(budgetNews({ periodEnd: '2026-11-14T12:00:00Z' }), NOW)).toBeNull();
    expect(silenceOf(budgetNews({ periodEnd: '2026-11-14T11:59:59Z' }), NOW)).toBe('period-over');
  });

  it('is kept about history and about mere notices', () => {
    expect([silenceOf(price({ decidedAt: '2024-01-01T00:00:00Z' }), NOW), silenceOf(price(), NOW)]).toEqual([
      'old',
      null,
    ]);
    expect([silenceOf(health({ severity: 'notice' }), NOW), silenceOf(health(), NOW)]).toEqual(['notice', null]);
  });
});

it.each([
  [{ from: 'applied', to: 'confirmed', code: 'confirmed' }, 'confirmed', null],
  [{ from: 'intended', to: 'failed', code: 'outcome-unknown' }, 'outcome-unknown', null],
  [{ from: 'applied', to: 'failed', code: 'x' }, 'failed', null],
  [{ from: 'applied', to: 'applied', code: 'billing-not-ended' }, 'billing-not-ended', null],
  [{ from: 'applied', to: 'applied', code: 'asked' }, null, null],
  [{ from: 'intended', to: 'intended', code: 'no-capacity' }, 'no-capacity', null],
  [{ from: 'intended', to: 'intended', code: 'not-sent' }, null, null],
  [{ from: 'intended', to: 'applied', code: 'capacity-found' }, 'capacity-found', null],
  [{ from: 'intended', to: 'applied', code: 'applied' }, null, null],
  [{ from: 'approved', to: 'refused', code: 'refused' }, 'refused', null],
  [{ from: 'approved', to: 'refused', code: 'rejected' }, null, null],
  [{ from: 'approved', to: 'expired', code: 'expired' }, 'expired', null],
  [{ from: 'proposed', to: 'approved', code: 'approved' }, null, 'approved'],
  [{ from: 'proposed', to: 'refused', code: 'rejected' }, null, 'rejected'],
  [{ from: 'proposed', to: 'refused', code: 'withdrawn' }, null, 'withdrawn'],
  [{ from: 'proposed', to: 'expired', code: 'expired' }, null, 'expired'],
  [{ from: null, to: 'proposed', code: 'proposed' }, null, null],
  [{ from: 'confirmed', to: 'measured', code: 'measured' }, null, null],
] as const)('a step %j is a result, or an answer', (step, outcome, answer) => {
  expect([outcomeOf(step), answerOf(step)]).toEqual([outcome, answer]);
});

describe('routes', () => {
  const route = (over: Partial<AlertRoute>): AlertRoute => ({
    teams: null,
    kinds: null,
    leastSeverity: 'info',
    to: [{ channel: 'log', address: null }],
    escalation: [],
    ...over,
  });
  const routes = {
    routes: [
      route({ teams: ['red'], kinds: ['budget'] }),
      route({ leastSeverity: 'critical' }),
      route({ teams: ['red'] }),
    ],
  };

  it('of those that fit the first one holds, for the teams below too', () => {
    const lineage = lineageOf(
      'red-a',
      new Map([
        ['red-a', 'red'],
        ['red', null],
      ]),
    );
    expect(lineage).toEqual(['red-a', 'red']);
    expect(routeFor(routes, { kind: 'budget', severity: 'info', team: 'red-a' }, lineage)).toBe(routes.routes[0]);
    expect(routeFor(routes, { kind: 'health', severity: 'critical', team: 'blue' }, ['blue'])).toBe(routes.routes[1]);
    expect(routeFor(routes, { kind: 'health', severity: 'warning', team: 'red' }, ['red'])).toBe(routes.routes[2]);
    expect(routeFor(routes, { kind: 'health', severity: 'warning', team: 'blue' }, ['blue'])).toBeNull();
    // What concerns no single team is no team's.
    expect(routeFor(routes, { kind: 'price', severity: 'warning', team: null }, [])).toBeNull();
  });

  it('without a document everything goes everywhere, or to the log', () => {
    expect(defaultRoutes(['log']).routes[0]?.to).toEqual([{ channel: 'log', address: null }]);
    expect(defaultRoutes(['email', 'log', 'slack']).routes[0]?.to).toEqual([
      { channel: 'email', address: null },
      { channel: 'slack', address: null },
    ]);
  });

  it('that are wrong are refused with every problem', () => {
    const wrong = {
      routes: [
        route({
          to: [
            { channel: 'slack', address: '#general' },
            { channel: 'email', address: 'nobody' },
            { channel: 'log', address: 'x' },
          ],
          escalation: [
            { afterHours: 2, to: [] },
            { afterHours: 1, to: [{ channel: 'slack', address: '#general' }] },
          ],
        }),
      ],
    };
    let paths: (string | null)[] = [];
    try {
      checkRoutes(wrong);
    } catch (error) {
      paths = (error as { problems: { path: string }[] }).problems.map(({ path }) => path);
    }
    expect(paths).toEqual([
      'routes/0/to/0/address',
      'routes/0/to/1/address',
      'routes/0/to/2/address',
      'routes/0/escalation/0/to',
      'routes/0/escalation/1/afterHours',
      'routes/0/escalation/1/to/0/address',
      'routes/0/escalation/1/to',
    ]);
    expect(checkRoutes({ routes: [route({ to: [{ channel: 'slack', address: 'C0123ABCD' }] })] })).toBeDefined();
  });

  it('go further after their hours, as long as somebody may answer', () => {
    const steps = route({
      escalation: [
        { afterHours: 2, to: [{ channel: 'slack', address: 'C0A' }] },
        { afterHours: 4, to: [{ channel: 'slack', address: 'C0B' }] },
      ],
    });
    const made = Date.UTC(2026, 10, 21, 12);
    const open = alertOf(budgetNews());
    expect([0, 1, 2].map((level) => escalationAt({ ...open, level }, steps))).toEqual([
      made + 2 * HOUR_MS,
      made + 4 * HOUR_MS,
      null,
    ]);
    expect(escalationAt({ ...open, state: 'answered' }, steps)).toBeNull();
    expect(escalationAt(open, null)).toBeNull();
    const asked = alertOf(approvalNews({ expiresAt: '2026-11-21T14:00:00Z' }));
    expect([
      escalationAt(asked, steps),
      escalationAt(alertOf(approvalNews({ expiresAt: '2026-11-21T14:00:01Z' })), steps),
    ]).toEqual([null, made + 2 * HOUR_MS]);
  });

  it('are muted for what a mute names, until it ends', () => {
    const mute = {
      id: 'm',
      team: 'research',
      kind: 'budget' as const,
      thread: null,
      upTo: null,
      until: '2026-11-21T13:00:00Z',
      reason: '',
      by: '',
    };
    const alert = alertOf(budgetNews());
    expect([
      isMuted([mute], alert, NOW),
      isMuted([mute], alert, NOW + HOUR_MS),
      isMuted([mute], { ...alert, team: 'blue' }, NOW),
      isMuted([{ ...mute, thread: 'other' }], alert, NOW),
    ]).toEqual([true, false, false, false]);
  });

  it('are muted by the button up to the severity of its message, and not beyond', () => {
    const warning = alertOf(budgetNews({ threshold: { kind: 'actual', ratio: '0.8' } }));
    const critical = alertOf(budgetNews({ threshold: { kind: 'actual', ratio: '1' } }));
    const by = (alert: ReturnType<typeof alertOf>): Mute => ({
      id: 'm',
      ...muteOf(alert),
      until: '2026-11-21T13:00:00Z',
      reason: '',
      by: '',
    });
    expect([warning.severity, critical.severity]).toEqual(['warning', 'critical']);
    expect([warning, critical].map((alert) => isMuted([by(warning)], alert, NOW))).toEqual([true, false]);
    expect([warning, critical].map((alert) => isMuted([by(critical)], alert, NOW))).toEqual([true, true]);
    expect([warning, critical].map((alert) => isMuted([{ ...by(warning), upTo: null }], alert, NOW))).toEqual([
      true,
      true,
    ]);
    expect(ENGLISH.muted(by(warning))).toBe(
      'Muted until 2026-11-21 13:00 UTC: budget alerts of research in this conversation up to the severity warning. Critical alerts are still sent. What is muted is kept in Bursar and not sent.',
    );
    expect(ENGLISH.muted({ ...by(critical), team: null, kind: null, thread: null })).toBe(
      'Muted until 2026-11-21 13:00 UTC: alerts, critical ones too. What is muted is kept in Bursar and not sent.',
    );
  });
});

describe('numbers', () => {
  it('what drives the spend is the largest of what the budget covers', () => {
    const row = (provider: string, sku: string, cost: string | null, currency = 'USD') => ({
      provider,
      sku,
      term: 'spot',
      cost,
      currency,
    });
    const rows = [
      row('AWS', 'a', '10'),
      row('AWS', 'b', '60'),
      row('GCP', 'c', '30'),
      row('AWS', 'b', '20.5'),
      row('AWS', 'd', null),
      row('AWS', 'e', '999', 'EUR'),
      row('OCI', 'f', '1'),
    ];
    expect(driversOf(rows, 'USD')).toEqual([
      { name: 'AWS b', cost: '80.500000000', share: 0.6625 },
      { name: 'GCP c', cost: '30.000000000', share: 0.2469 },
      { name: 'AWS a', cost: '10.000000000', share: 0.0823 },
    ]);
    expect(driversOf(rows, 'USD', { provider: ['GCP'] }).map(({ name, share }) => [name, share])).toEqual([
      ['GCP c', 1],
    ]);
    // A bill that names no SKU still says what ran.
    expect(
      driversOf([{ provider: 'AWS', sku: null, gpuModel: 'H100', cost: '5', currency: 'USD' }], 'USD').map(
        ({ name }) => name,
      ),
    ).toEqual(['AWS H100']);
    expect(
      driversOf([{ provider: 'AWS', sku: 'p5', gpuModel: 'H100', cost: '5', currency: 'USD' }], 'USD').map(
        ({ name }) => name,
      ),
    ).toEqual(['AWS p5 (H100)']);
    expect(driversOf(rows, 'USD', { tag: [{ key: 'x', value: 'y' }] })).toEqual([]);
  });

  it('the spend so far stands beside the same days of the period before, with what grew most', () => {
    const before = [
      { provider: 'AWS', sku: 'a', cost: '100', currency: 'USD' },
      { provider: 'AWS', sku: 'b', cost: '50', currency: 'USD' },
      { provider: 'AWS', sku: 'c', cost: '7', currency: 'EUR' },
    ];
    const now = [
      { provider: 'AWS', sku: 'a', cost: '90', currency: 'USD' },
      { provider: 'AWS', sku: 'b', cost: '80.5', currency: 'USD' },
      { provider: 'GCP', sku: 'd', cost: '12', currency: 'USD' },
    ];
    expect(spendSoFar('2026-11-20', now, before, 'USD')).toEqual({
      through: '2026-11-20',
      spent: '182.500000000',
      before: '150.000000000',
      grown: [
        { name: 'AWS b', more: '30.500000000' },
        { name: 'GCP d', more: '12.000000000' },
      ],
    });
    // Unknown is not zero.
    expect(spendSoFar('2026-11-20', now, [], 'USD')).toBeNull();
    expect(spendSoFar('2026-11-20', now, before, 'USD', { tag: [{ key: 'x', value: 'y' }] })).toBeNull();
  });

  it('what grew most is looked for among the records of its own kind', () => {
    const rows = [
      { provider: 'AWS', sku: 'a', gpuModel: 'H100', region: 'x', cost: '100', currency: 'USD' },
      { provider: 'AWS', sku: 'b', gpuModel: null, region: 'x', cost: '300', currency: 'USD' },
    ];
    const soFar = spendSoFar('2026-11-20', rows, [{ ...rows[0]!, cost: '10' }], 'USD');
    expect(mostGrown(soFar!, rows)).toEqual({ provider: ['AWS'], sku: ['b'], gpuModel: [''] });
    expect(mostGrown({ ...soFar!, grown: [] }, rows)).toBeNull();
  });

  it('a growth is somebody’s by tags, by what Kubernetes says of a pod, and by its namespace; else a machine’s', () => {
    const cost = (record: Parameters<typeof whoseName>[0], amount: string, currency = 'USD') => ({
      resource: whoseName(record),
      team: 't',
      currency,
      cost: parseDecimal(amount),
      parts: null,
    });
    const pod = (name: string, tags: Record<string, string>) => ({ resource: `pod/ml/${name}`, namespace: 'ml', tags });
    const made = { 'pod-template-hash': '7d4b9c6f5d' };
    const now = [
      cost(pod('trainer-7d4b9c6f5d-x2x4z', { ...made, Owner: 'ada' }), '70'),
      cost(pod('trainer-7d4b9c6f5d-k9k2b', { ...made, Owner: 'lin' }), '25'),
      cost(pod('eval-0', { 'apps.kubernetes.io/pod-index': '0', created_by: 'lin' }), '30'),
      cost(pod('eval-0', { 'apps.kubernetes.io/pod-index': '0', created_by: 'lin' }), '900', 'EUR'),
    ];
    const before = [cost(pod('trainer-7d4b9c6f5d-aaaaa', { ...made, Owner: 'ada' }), '60')];
    expect(grownBy(now, before, 'USD')).toEqual([
      { whose: 'person', name: 'lin', more: '55' },
      { whose: 'workload', name: 'ml/trainer', more: '35' },
    ]);
    const bare = (resource: string) => ({ resource, namespace: null, tags: null });
    expect(grownBy([cost(bare('i-1'), '5'), cost(bare('i-2'), '9.5')], [cost(bare('i-2'), '1')], 'USD')).toEqual([
      { whose: 'resource', name: 'i-2', more: '8.5' },
    ]);
    // A name alone says nothing of an owner, and what has no price says nothing of a growth.
    expect(JSON.parse(whoseName(pod('trainer-7d4b9c6f5d-x2x4z', {})))).toEqual([
      null,
      null,
      'ml',
      'pod/ml/trainer-7d4b9c6f5d-x2x4z',
    ]);
    expect(grownBy([{ ...cost(bare('i-1'), '5'), cost: null }], [], 'USD')).toEqual([]);
    expect(grownBy([{ ...cost(bare('i-1'), '5'), resource: null }], [], 'USD')).toEqual([]);
    expect(grownBy([cost(bare(''), '5')], [], 'USD')).toEqual([]);
    expect(grownBy([cost(bare('i-1'), '5')], [cost(bare('i-1'), '5')], 'USD')).toEqual([]);
    expect(grownBy([cost(bare('i-2'), '5'), cost(bare('i-1'), '5')], [], 'USD')).toMatchObject([{ name: 'i-1' }]);
    expect(
      JSON.parse(
        whoseName({ resource: 'i-3', namespace: null, tags: { 'aws:createdBy': 'IAMUser:x:eve', 'job-name': 'j1' } }),
      ),
    ).toEqual(['IAMUser:x:eve', 'j1', null, 'i-3']);
  });

  it('a message says whose usage grew', () => {
    const { lists } = messageOf(
      alertOf(
        budgetNews({
          soFar: {
            through: '2026-11-20',
            spent: '8000',
            before: '5000',
            grown: [
              {
                name: 'AWS p5.48xlarge (H100)',
                more: '2500',
                by: [
                  { whose: 'person', name: 'ada', more: '2000' },
                  { whose: 'workload', name: 'ml/trainer', more: '1200' },
                ],
              },
            ],
          },
        }),
      ),
      ENGLISH,
      null,
    );
    expect(lists.find(({ title }) => title.startsWith('Largest increases'))?.items).toEqual([
      'AWS p5.48xlarge (H100): 2,500.00 USD more; 2,000.00 USD more by ada; 1,200.00 USD more in the workload ml/trainer',
    ]);
  });

  it.each([
    ['hourlyNanos', 2_088_500_000, 'Hourly: 2.0885 USD'],
    [
      'savingBeforeBoundNanos',
      '1000000000 500000000 2000000000',
      'Saving before it was limited to the cost: 1.00 USD (0.50 to 2.00)',
    ],
    [
      'savingBeforeCalibrationNanos',
      '3339800600000 3062772100000 3616829100000',
      'Monthly saving as the policy predicted it: 3,340 USD (3,063 to 3,617)',
    ],
    ['breakEvenUseRatio', 0.61234, 'Share of the hours from which it pays off: 61.2 %'],
    ['falseStopProbability', 0.013, 'Chance that it is busy again within ten minutes: 1.3 %'],
    ['falseStopProbability', 0.000529, 'Chance that it is busy again within ten minutes: 0.05 %'],
    ['quietMinutes', 61, 'Idle time in minutes: 61'],
    ['hoursSeen', 6480, 'Hours of metered use: 6,480'],
    ['restartHours', 0.2, 'Hours that a restart takes: 0.2'],
    ['interruptionsPerHour', 0.02381, 'Interruptions an hour: 0.024'],
    ['onDemandPerGpuHour', '1.440000', 'A GPU-hour on demand: 1.44 USD'],
    ['reservedPerGpuHour', '0.864000', 'A GPU-hour with the commitment: 0.864 USD'],
    ['perReplicaHour', 'no price', 'Cost of a replica an hour: no price'],
    ['planned', '60549.12', 'Planned: 60,549.12 USD'],
    ['step', 'actual 0.8', 'Threshold that was reached: spend at 80 %'],
    ['endsAt', '2026-11-18T14:05:00.000Z', 'Ends: 2026-11-18 14:05 UTC'],
    ['refused', 'spend-unknown', 'Why the saving is unknown: spend unknown'],
    ['gpusToReserve', 8, 'GPUs to reserve: 8'],
    ['latencySeconds', 1.23456, 'Latency seconds: 1.23'],
    ['priceList', 'aws/2026', 'Price list: aws/2026'],
  ])('%s %s is said as "%s"', (name, value, words) => {
    expect(figureWords(COMPUTATION_FIGURES, name, value, 'USD')).toBe(words);
  });

  it('a small number keeps two digits', () => {
    expect(figureWords(HEALTH_FIGURES, 'latencySeconds', 0.00234, '')).toBe('Latency in seconds: 0.0023');
  });

  it('thresholds crossed together are one, the gravest, and name each other', () => {
    const at = (kind: 'actual' | 'forecast', ratio: string, budget = 'b') =>
      budgetNews({ budget, threshold: { kind, ratio } });
    const [forecast, half, full, other, unlike] = together([
      at('forecast', '1.2'),
      at('actual', '0.5'),
      at('actual', '1'),
      at('actual', '0.5', 'c'),
      price(),
    ]) as [BudgetNews, BudgetNews, BudgetNews, BudgetNews, News];
    expect(full.also).toEqual([
      { kind: 'actual', ratio: '0.5' },
      { kind: 'forecast', ratio: '1.2' },
    ]);
    expect([forecast.within, half.within, full.within]).toEqual([identityOf(full), identityOf(full), undefined]);
    expect([other.also, other.within, unlike]).toEqual([undefined, undefined, price()]);
    expect([silenceOf(half, NOW), silenceOf(full, NOW)]).toEqual(['within-another', null]);
  });

  it('the next step is the largest low end in the currency, and never what may cost more than it saves', () => {
    const one = (id: string, saving: string | null, over: Partial<Recommendation> = {}): Recommendation =>
      ({
        id,
        title: id,
        estimatedMonthlySavings: saving,
        estimatedMonthlySavingsLow: saving,
        estimatedMonthlySavingsHigh: saving,
        currency: 'USD',
        implementationEffort: 'Low',
        ...over,
      }) as Recommendation;
    expect(
      nextStepOf(
        [
          one('a', null),
          one('b', '0'),
          one('c', '90'),
          one('d', '100', { implementationEffort: 'High' }),
          one('e', '100.0'),
          one('f', '999', { currency: 'EUR' }),
          one('g', '9219', { estimatedMonthlySavingsLow: '-14934' }),
          one('h', '500', { estimatedMonthlySavingsLow: '10' }),
          one('i', '700', { estimatedMonthlySavingsLow: null }),
        ],
        'USD',
      ),
    ).toMatchObject({ recommendation: 'e', monthlySavings: '100.0', monthlySavingsLow: '100.0' });
    expect(nextStepOf([one('a', null)], 'USD')).toBeNull();
    expect(nextStepOf([one('g', '9219', { estimatedMonthlySavingsLow: '-1' })], 'USD')).toBeNull();
  });

  it('a day that is not known is a gap, never nothing', () => {
    const from = Date.UTC(2026, 10, 1);
    const row = (day: string, cost: string | null, over = {}) => ({
      day,
      cost,
      currency: 'USD',
      gpuHours: '100.000000',
      unpricedQuantity: '0.000000',
      ...over,
    });
    const rows = [
      row('2026-11-02', '5'),
      row('2026-11-04', '7'),
      row('2026-11-04', '1', { currency: 'EUR' }),
      row('2026-11-05', '9', { unpricedQuantity: '1.1' }),
      row('2026-11-06', '0'),
    ];
    expect(dailySeries(rows, 'USD', from, from + 6 * DAY_MS).map(({ spend }) => spend)).toEqual([
      5,
      null,
      null,
      null,
      0,
    ]);
  });

  it('prices are series of one SKU, place and term, with those beside it that a real move would move', () => {
    const prices = [
      instancePrice('80'),
      instancePrice('88', { effectiveFrom: Date.UTC(2026, 0, 1) }),
      instancePrice('20', { term: 'spot' }),
      instancePrice('40', { sku: 'p5.24xlarge', gpus: 4 }),
      instancePrice('1', { sku: 'unused' }),
    ];
    const series = priceSeries(prices, (_, sku) => sku !== 'unused');
    expect(series.map(({ sku, term, points }) => [sku, term, points.map(({ price: value }) => value)])).toEqual([
      ['p5.48xlarge', 'on-demand', [10, 11]],
      ['p5.48xlarge', 'spot', [2.5]],
      ['p5.24xlarge', 'on-demand', [10]],
    ]);
    expect(peersOf(series[0]!, series)).toEqual([series[2]]);
  });
});

describe('words', () => {
  it.each([
    ['1234567.895', '1,234,567.90 USD'],
    ['1234567.885', '1,234,567.88 USD'],
    ['-0.004', '0.00 USD'],
    ['5', '5.00 USD'],
    ['-1234.5', '-1,234.50 USD'],
    ['unknown', 'unknown USD'],
  ])('%s is written %s', (amount, text) => {
    expect(shownAmount(amount, 'USD')).toBe(text);
  });

  it('ratios and effects', () => {
    expect(['0.8', '1', '0.333'].map(shownRatio)).toEqual(['80 %', '100 %', '33.3 %']);
    expect(effectWords({ kind: 'scale', target: 'asg/x', replicas: 0 })).toBe('scale asg/x to 0');
    expect(
      effectWords({
        kind: 'purchase',
        target: 'AWS/x/y',
        offer: 'o1',
        units: 2,
        mostNanos: '1500000000000',
        currency: 'USD',
      }),
    ).toBe('buy 2 of o1, at most 1,500.00 USD');
  });

  it.each([
    ['fake/fake-east/fake.l40sx4/reserved-1y/none', 2, 'reserve 2 x fake.l40sx4 in fake-east for 1 year'],
    ['AWS/123/us-east-1/p5.48xlarge/reserved-3y/all', 1, 'reserve 1 x p5.48xlarge in us-east-1 for 3 years'],
    [
      'AWS/us-east-1/p5.48xlarge/savings-plan-1y/none',
      12.5,
      'commit to 12.50 USD an hour in a savings plan for p5.48xlarge in us-east-1 for 1 year',
    ],
  ])('the purchase for %s is told without its ids', (target, units, words) => {
    const effect = {
      kind: 'purchase' as const,
      target,
      offer: 'x/1y',
      units,
      mostNanos: '60549120000000',
      currency: 'USD',
    };
    expect(effectWords(effect)).toBe(`${words}, at most 60,549.12 USD`);
  });

  it.each([
    ['key:9f1eca50c1fb (ada)', 'ada'],
    ['key:9f1eca50c1fb (ada (night))', 'ada (night)'],
    ['user:auth0%7C42 (Ann)', 'Ann'],
    ['cli:ann', 'ann'],
    ['policy:doc', 'the policy doc'],
    ['ada', 'ada'],
  ])('%s is called %s', (author, name) => {
    expect(calledIn(author)).toBe(name);
  });

  it('say what an action saves, and of what, as far as that is known', () => {
    const because = approvalNews().because!;
    const saving = (over: Partial<typeof because>): unknown =>
      messageOf(alertOf(approvalNews({ because: { ...because, ...over } })), ENGLISH, null).facts[0];
    expect(saving({ monthlyCost: '2000.00' })).toEqual({
      name: 'Estimated saving',
      value: '1,234 USD a month (900 to 1,500), of 2,000 USD that it costs',
    });
    // An alert that was kept before it was said, and one of what nobody can price.
    for (const over of [{}, { monthlyCost: null }])
      expect(saving(over)).toEqual({ name: 'Estimated saving', value: '1,234 USD a month (900 to 1,500)' });
    expect(saving({ monthlySavings: null, monthlyCost: '2000.00' })).toEqual({
      name: 'Estimated saving',
      value: 'unknown',
    });
  });

  it('say when the budget runs out, and what nobody knows', () => {
    const text = (over: Parameters<typeof budgetNews>[0]): string =>
      plainText(messageOf(alertOf(budgetNews(over)), ENGLISH, null));
    expect(text({})).toContain('At this rate it runs out on 2026-11-24.');
    // In the budget's zone, which is a day ahead of UTC there.
    expect(text({ spent: '10000', exhaustionAt: '2026-11-20T17:00:00Z', exhaustionDay: '2026-11-21' })).toContain(
      'The budget ran out on 2026-11-21.',
    );
    expect(text({ exhaustionAt: null })).toContain('At this rate the budget lasts until the end of the period.');
    const kathmandu = { periodStart: '2026-10-31T18:15:00Z', periodEnd: '2026-11-30T18:15:00Z' };
    expect(text({ ...kathmandu, period: '2026-11' })).toContain('Period: 2026-11\n');
    // Of before the name was kept: in what zone its days are nobody knows.
    expect(text(kathmandu)).toContain('Period: 2026-10-31 18:15 UTC to 2026-11-30 18:15 UTC');
    expect(text({ exhaustionAt: null, forecast: null, unpricedGpuHours: '12.5' })).toMatch(
      /By what has a price the budget lasts until the end of the period[^]*12\.5 GPU-hours have no price yet[^]*Forecast at the end: unknown/,
    );
  });

  it('name what the spend lacks, each for its reason', () => {
    const lacking = {
      unconverted: [{ currency: 'JPY', amount: null }],
      setAside: [{ currency: 'USD', amount: '1440' }],
      unstated: [{ currency: 'EUR', amount: '7' }],
      unnamed: [{ currency: 'USD', amount: '20' }],
    };
    const text = plainText(messageOf(alertOf(budgetNews(lacking)), ENGLISH, null));
    for (const said of [
      'Spend in JPY has no exchange rate and is not included in the spend.',
      'Bills that are not final charge 1,440.00 USD for usage that counts at its metered price until they are final.',
      '7.00 EUR is billed without an amortised cost and is not included in the spend.',
      '20.00 USD is metered without the field that the filter needs and is not included in the spend.',
    ])
      expect(text).toContain(said);
    expect(plainText(messageOf(alertOf(budgetNews()), ENGLISH, null))).not.toContain('is not in what');
    const line = {
      name: 'gpus',
      team: 'red',
      spent: '10',
      planned: null,
      currency: 'USD',
      ratio: null,
      exhaustionDay: null,
    };
    const items = ENGLISH.budgets(
      [
        { ...line, lacking: [], setAside: lacking.setAside, unpricedGpuHours: '0.000000', hasUnpriced: false },
        { ...line, lacking: lacking.unconverted, setAside: [], unpricedGpuHours: '2.5', hasUnpriced: true },
      ],
      0,
    ).lists[0]?.items;
    expect(items).toEqual([
      'gpus (red): 10.00 USD, not planned; the same usage is counted once, as metered: bills that are not final say 1,440.00 USD',
      'gpus (red): 10.00 USD, not planned; not included: JPY, 2.5 GPU-hours without a price, storage, traffic or other usage without a price',
    ]);
  });

  it('names the month that a digest forecasts, when that was made, and what the month has come to since', () => {
    const digest: News = {
      kind: 'digest',
      team: 'red',
      teamName: 'Red',
      month: '2026-12',
      currency: 'USD',
      total: '10',
      before: null,
      unpricedGpuHours: '0',
      budgets: [],
      verified: [],
      measured: [],
      forecast: { mean: '20', low: '15', high: '30' },
      nextSoFar: { days: 9, total: '7.5' },
      nextSteps: [
        { title: 'Stop it', monthlySavings: '5', monthlySavingsLow: '5', monthlySavingsHigh: '5', currency: 'USD' },
      ],
    };
    const text = plainText(messageOf(alertOf(digest), ENGLISH, null));
    expect(text).toContain('Forecast of 2027-01, made at the end of 2026-12: 20.00 USD (15.00 USD to 30.00 USD)');
    expect(text).toContain('2027-01 so far: 7.50 USD on its first 9 days');
    // An interval without width is one that nobody stated.
    expect(text).toContain('Stop it: about 5.00 USD a month (interval not known)');
  });
});

it('the result that is not known asks to look, and others do not', () => {
  const linesOf = (outcome: ResultNews['outcome']): readonly string[] =>
    messageOf(alertOf(result({ outcome })), ENGLISH, null).lines;
  expect(linesOf('outcome-unknown').join()).toContain('Check the target yourself');
  expect(linesOf('confirmed').join()).not.toContain('Check the target');
  expect(linesOf('confirmed').join()).not.toContain('retries');
  expect(linesOf('no-capacity').join()).toContain('Bursar retries');
});

it('a bill that differs says what was billed and metered, and what of it is partly unknown', () => {
  const news: News = {
    kind: 'variance',
    team: 'lab',
    source: 'aws-cur',
    month: '2026-10',
    currency: 'USD',
    billed: '12.5',
    expected: null,
    difference: '5',
    parts: [],
    findings: 1,
  };
  const { facts, lists } = messageOf(alertOf(news), ENGLISH, null);
  const values = facts.map(({ name, value }) => `${name}: ${value}`);
  expect(values).toEqual(
    expect.arrayContaining([
      'Billed: 12.50 USD',
      'Metered and priced: partly unknown',
      'Difference: 5.00 USD',
      'Findings: 1',
    ]),
  );
  expect(lists).toEqual([]);
  const parts = [{ name: 'p5', amount: '4' }];
  expect(messageOf(alertOf({ ...news, parts }), ENGLISH, null).lists).toEqual([
    { title: 'Where it lies', items: ['p5: 4.00 USD'] },
  ]);
});

it('a mute is of one conversation where each is by itself, a budget or a bill, else of all of its kind', () => {
  const of = (kind: 'budget' | 'variance' | 'health') =>
    muteOf({ kind, team: 'lab', thread: 't', severity: 'warning' });
  expect([of('budget').thread, of('variance').thread, of('health').thread]).toEqual(['t', 't', null]);
  expect(of('health')).toEqual({ team: 'lab', kind: 'health', thread: null, upTo: 'warning' });
});
