/**
 * docs/reference/metrics.md is made of a scrape in which every metric has a sample. BURSAR_WRITE_DOCS=1 writes it anew.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { formatInstant } from '../../src/core/time.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { enqueue } from '../../src/store/work.js';
import { code, expectPage, madeOf, markdownTable } from '../support/reference-page.js';
import { NOW, testApi } from '../support/web.js';
import { monthBudget } from '../support/makers.js';

interface Metric {
  readonly name: string;
  help: string;
  type: string;
  readonly labels: Set<string>;
  samples: number;
}

/** Bursar's own metrics in a scrape, in its order (prometheus.io, "Exposition formats": text-based format). */
function metricsOf(text: string): Metric[] {
  const all = new Map<string, Metric>();
  for (const line of text.split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (bursar_\w+) (.*)$/.exec(line) ?? [];
    const [, sample = '', labels = ''] = /^(bursar_\w+)(?:\{([^}]*)\})? /.exec(line) ?? [];
    const key = name === '' ? sample : name;
    if (key === '') continue;
    const metric = all.get(key) ?? { name: key, help: '', type: '', labels: new Set(), samples: 0 };
    all.set(key, metric);
    if (word === 'HELP') metric.help = rest;
    else if (word === 'TYPE') metric.type = rest;
    else {
      metric.samples += 1;
      for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) metric.labels.add(label);
    }
  }
  return [...all.values()];
}

const state = {
  status: 'ok',
  currency: 'USD',
  planned: '200',
  spent: '50',
  credits: '0',
  committed: '10',
  forecast: { mean: '150', low: '1', high: '2', method: 'x' },
  burnRatePerDay: null,
  exhaustionAt: '2026-10-20T00:00:00Z',
  unpricedGpuHours: '0',
  ratio: 0.25,
  unconverted: [],
};

const HEAD = `# Metrics

${madeOf('a scrape', 'tests/integration/metrics-reference.test.ts')}

\`GET /metrics\` answers in Prometheus' text format. What concerns the work is open; the rest is shown to an API key, and a key that is restricted to teams sees theirs. What is not known
has no sample and is never 0. Money is in the currency of its label: never add over currencies. Every API process of an installation reports the same figures of it, so take the largest of
them; only counters (\`..._total\`) and the metrics of the process itself (\`process_...\`, \`nodejs_...\`, those of prom-client) are each process' own. How to scrape: [connect Prometheus](../how-to/connect-prometheus.md).
`;

describe('the reference of metrics', async () => {
  const api = await testApi();

  beforeAll(async () => {
    const { stores } = api;
    const budget: Budget = monthBudget({ id: 'b', planned: { default: '200', periods: {} } });
    await stores.db.transaction(async (tx) => {
      await setBudget(stores, tx, 'default', budget, NOW);
      await enqueue(tx, 'default', [{ stage: 'budget.weigh', partition: 'red', key: 'b' }]);
      const at = formatInstant(NOW - 60_000);
      await tx.query(
        `insert into budget_state (organisation, budget, period_start, period_end, state, weighed_at) values ('default', 'b', '2026-10-01', '2026-11-01', $1, $2)`,
        [JSON.stringify(state), at],
      );
      await tx.query(
        `insert into dimension (organisation, key, kind, provider, category) values ('default', 'd', 'metered', 'AWS', 'Usage')`,
      );
      await tx.query(
        `insert into cost_day (organisation, team, day, dimension, currency, records, actual, accrued, unpriced_part_ms, unpriced_lines) select 'default', 'red', '2026-10-05', id, 'USD', 1, 5, 5, 7000, 1 from dimension`,
      );
      await tx.query(
        `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, proposed_by, proposed_at, expires_at) values ('default', 'a', 'red', 'cloud', 't', '{}', 'proposed', $1, 'approve', 'x', $1, $1)`,
        [at],
      );
      await tx.query(
        `insert into recommendation (organisation, id, team, policy, action, target, body, made_at) values ('default', 'r', 'red', 'p', 'Stop', 't', '{}', $1)`,
        [at],
      );
      await tx.query(
        `insert into counterfactual (organisation, team, action, chain, connection, target, from_at, until_at, currency, spec, written_at) values ('default', 'red', 'a', 'c', 'cloud', 't', $1, $1, 'USD', '{}', $1)`,
        [at],
      );
      await tx.query(
        `insert into saving (organisation, team, action, from_at, state, counterfactual_nanos, actual_nanos, measured_nanos, verified_nanos, claimed_ms, hours, reasons, is_over, checked_at) values ('default', 'red', 'a', $1, 'measured', 2, 1, 1, 0, 0, '[]', '[]', false, $1)`,
        [at],
      );
      await tx.query(
        `insert into collection (organisation, connection, what, next_at) values ('default', 'cloud', 'fleet', $1)`,
        [at],
      );
      await tx.query(
        `insert into fleet_reading (organisation, connection, at, complete, complete_at, targets) values ('default', 'cloud', $1, true, $1, 1)`,
        [at],
      );
    });
  });

  it('is up to date', async () => {
    const { text: open } = await api.call('GET', '/metrics', { key: null });
    const { text } = await api.call('GET', '/metrics', {});
    const metrics = metricsOf(text);
    // Without a sample its labels would be missing here.
    expect(
      metrics
        .filter(({ samples, help, type }) => samples === 0 || help === '' || (type !== 'gauge' && type !== 'counter'))
        .map(({ name }) => name),
    ).toEqual([]);
    const { text: restricted } = await api.call('GET', '/metrics', { key: await api.keyFor({ teams: ['red'] }) });
    const shownTo = ({ name }: Metric): string =>
      open.includes(`# TYPE ${name} `)
        ? 'everybody'
        : restricted.includes(`# TYPE ${name} `)
          ? 'a key'
          : 'a key of all teams';
    const rows = metrics.map((metric) => [
      code(metric.name),
      [...metric.labels].map(code).join(', '),
      shownTo(metric),
      metric.help,
    ]);
    await expectPage('metrics.md', `${HEAD}\n${markdownTable(['metric', 'labels', 'shown to', 'what it is'], rows)}\n`);
  });
});
