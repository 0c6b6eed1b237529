/**
 * Every address of the dashboard that is made anywhere leads to a page of it: those of alerts, made by the alerting
 * code itself, and those that are written in sources and documents. A link that would lead nowhere fails here.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AlertKind, News } from '../../../src/core/alert/alert.js';
import { messageOf } from '../../../src/core/alert/compose.js';
import { ENGLISH } from '../../../src/core/alert/texts.js';
import { PAGES } from '../../../src/core/pages.js';
import { link, placeOf, routeOf } from '../../../src/web/dashboard/routes.js';
import { alertOf, approvalNews, budgetNews } from '../../support/alerts.js';
import { ROOT } from '../../support/source.js';

const PUBLIC = 'https://bursar.example.com';
const money = { low: '1', mean: '2', high: '3' };

/** One of each kind; the type forgets none. Names are as odd as the API lets them be. */
const NEWS: { readonly [K in AlertKind]: Extract<News, { readonly kind: K }> } = {
  budget: budgetNews({ budget: 'eu @ gpus: 2026.a' }),
  approval: approvalNews(),
  result: {
    kind: 'result',
    team: 'lab',
    action: 'act-0123456789abcdef',
    outcome: 'confirmed',
    effect: { kind: 'stop', target: 'instance/i-1' },
    connection: 'aws',
    approvedBy: null,
    rollbackOf: null,
    reasons: [],
    proof: null,
  },
  anomaly: {
    kind: 'anomaly',
    team: 'lab',
    what: 'spike',
    day: '2026-11-18',
    decidedDay: '2026-11-18',
    currency: 'USD',
    observed: '9',
    expected: money,
    drivers: [],
  },
  price: {
    kind: 'price',
    team: null,
    what: 'dirty-price',
    provider: 'AWS',
    sku: 'p5',
    region: null,
    term: 'spot',
    effectiveFrom: '2026-11-18T00:00:00Z',
    decidedAt: '2026-11-18T00:00:00Z',
    currency: 'USD',
    observed: '1',
    expected: '2',
    source: 'list',
  },
  health: {
    kind: 'health',
    team: 'lab',
    rule: 'gone',
    severity: 'fatal',
    source: 'prometheus',
    resource: 'node/1',
    gpu: '0',
    migInstance: null,
    workload: null,
    title: 'gone',
    numbers: {},
    evidence: { what: 'x', from: '2026-11-18T00:00:00Z', to: '2026-11-18T00:00:00Z', ageSeconds: 1 },
    openedAt: '2026-11-18T00:00:00Z',
  },
  variance: {
    kind: 'variance',
    team: 'lab',
    source: 'aws-cur',
    month: '2026-10',
    currency: 'USD',
    billed: null,
    expected: null,
    difference: '5',
    parts: [],
    findings: 1,
  },
  digest: {
    kind: 'digest',
    team: 'lab',
    teamName: 'Lab',
    month: '2026-10',
    currency: 'USD',
    total: null,
    before: null,
    unpricedGpuHours: '0',
    budgets: [],
    verified: [],
    measured: [],
    forecast: null,
    nextSteps: [],
  },
  test: { kind: 'test', team: null, id: 't', by: 'Ada' },
};

function addressOf(news: News): string {
  const url = messageOf(alertOf(news), ENGLISH, PUBLIC).link?.url ?? '';
  expect(url.startsWith(`${PUBLIC}/#/`)).toBe(true);
  return url.slice(PUBLIC.length + 1);
}

describe('the addresses of alerts', () => {
  it.each(Object.values(NEWS))('has a page for $kind, and the page gets its id', (news) => {
    const place = placeOf(addressOf(news));
    expect({ kind: news.kind, route: routeOf(place) }).toEqual({
      kind: news.kind,
      route: expect.stringMatching(/^(budgets|actions|alerts)$/),
    });
    expect(place.id).toBe(
      news.kind === 'budget' ? 'eu @ gpus: 2026.a' : 'action' in news ? news.action : 'alr-0123456789abcdef',
    );
  });

  it('would find one that leads nowhere', () => {
    expect(routeOf(placeOf('#/budget/gpus'))).toBeNull();
    expect(routeOf(placeOf('#/constructor'))).toBeNull();
  });
});

/** `#/` of JSON pointers is no address of the dashboard. */
const WRITTEN = /#\/(?!\$defs|components\/|paths\/)([\w-]*)(\/[\w${}-]+)?/g;

function filesUnder(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|md|html|json|ya?ml|txt)$/.test(name))
    .map((name) => path.join(folder, name));
}

describe('the addresses that are written down', () => {
  const found = ['src', 'docs', 'deploy', 'README.md']
    .flatMap((from) => (from.includes('.') ? [from] : filesUnder(from)))
    .flatMap((file) =>
      [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(WRITTEN)].map(([text, page = '', id]) => ({
        file,
        text,
        page,
        id,
      })),
    );

  it('are found: the way back from the identity provider is one of them', () => {
    expect(found.map(({ file, text }) => `${file} ${text}`)).toContainEqual(
      expect.stringMatching(/session\.ts #\/sign-in/),
    );
  });

  it('lead to a page each', () => {
    // A page whose name is a variable is made of the routes themselves (link) or of an alert's subject, which is tried
    // above.
    const lost = found.filter(
      ({ text, page, id }) =>
        !text.startsWith('#/${') &&
        page !== 'page' &&
        routeOf(placeOf(`#/${page}${id === undefined ? '' : '/x'}`)) === null &&
        !(page === '' && id === undefined),
    );
    expect(lost).toEqual([]);
  });
});

describe('addresses', () => {
  it('carry any id and come back as they went', () => {
    for (const id of ['a/b', '100 %', '预算', 'x?y#z', '..'])
      expect(placeOf(link('budgets', id, { team: 'a&b' }))).toMatchObject({ page: 'budgets', id });
    expect(placeOf(link('alerts', null, { team: 'a&b', state: '' })).query.toString()).toBe('team=a%26b');
  });

  it('that were cut are taken as they stand', () => {
    expect(placeOf('#/teams/50%')).toMatchObject({ page: 'teams', id: '50%' });
  });

  it('end at the first page where nothing is named, and take an id only where there is a page for one', () => {
    expect(['', '#', '#/'].map((hash) => routeOf(placeOf(hash)))).toEqual(['', '', '']);
    expect(Object.keys(PAGES).map((page) => routeOf({ page, id: null, query: new URLSearchParams() }))).toEqual(
      Object.keys(PAGES),
    );
  });
});
