/**
 * The dashboards: whole, readable by Grafana, and every question one that Prometheus understands and answers without
 * adding what must not be added.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { dashboards, expressions, filledIn, variableQueries, type Panel } from '../../support/grafana.js';
import { describeWith } from '../../support/programs.js';

const ALL = [...dashboards()];

/** Whether two panels share a cell of the grid. */
const overlap = (a: Panel, b: Panel): boolean =>
  a.gridPos.x < b.gridPos.x + b.gridPos.w &&
  b.gridPos.x < a.gridPos.x + a.gridPos.w &&
  a.gridPos.y < b.gridPos.y + b.gridPos.h &&
  b.gridPos.y < a.gridPos.y + a.gridPos.h;

it('there are two, each under the name of its file', () => {
  expect(ALL.map(([file, { uid }]) => [file, uid])).toEqual([
    ['bursar-line.json', 'bursar-line'],
    ['bursar-money.json', 'bursar-money'],
  ]);
});

describe.each(ALL)('%s', (_, dashboard) => {
  const { panels, templating } = dashboard;

  it('is of Grafana 12, belongs to no installation, and leads to the other one', () => {
    expect(dashboard).toMatchObject({ id: null, schemaVersion: 41 });
    expect(dashboard.links.map(({ url }) => url)).toEqual(
      ALL.map(([, { uid }]) => `/d/${uid}`).filter((url) => url !== `/d/${dashboard.uid}`),
    );
  });

  it('has panels with ids of their own that do not cover each other', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(
      panels.flatMap((a, n) =>
        panels
          .slice(n + 1)
          .filter((b) => overlap(a, b))
          .map((b) => `${a.title} and ${b.title}`),
      ),
    ).toEqual([]);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it('asks the source that is chosen, and knows every variable that it uses', () => {
    const [source] = templating.list;
    expect(source).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
    const asked = panels.filter(({ type }) => type !== 'row');
    expect(
      asked.every(
        ({ datasource, targets }) =>
          datasource?.uid === '${datasource}' &&
          targets !== undefined &&
          targets.length > 0 &&
          targets.every((one) => one.datasource.uid === '${datasource}'),
      ),
    ).toBe(true);
    const known = new Set([...templating.list.map(({ name }) => name), '__rate_interval']);
    const used = [...expressions(dashboard), ...variableQueries(dashboard).map(({ selector }) => selector)].flatMap(
      (text) => [...text.matchAll(/\$\{?(\w+)/g)].map((match) => match[1] ?? ''),
    );
    expect(used.filter((name) => !known.has(name))).toEqual([]);
    // A variable that no panel asks about would choose nothing.
    expect(
      templating.list.map(({ name }) => name).filter((name) => name !== 'datasource' && !used.includes(name)),
    ).toEqual([]);
  });
});

describeWith('promtool', 'what the dashboards ask', (promtool) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bursar-grafana-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const rulesOf = (all: readonly string[]): string =>
    stringify({ groups: [{ name: 'asked', rules: all.map((expr, n) => ({ record: `asked:${n}`, expr })) }] });
  const check = (all: readonly string[]) => {
    writeFileSync(path.join(folder, 'asked.yml'), rulesOf(all));
    return spawnSync(promtool, ['check', 'rules', 'asked.yml'], { cwd: folder, encoding: 'utf8' });
  };
  const asked = ALL.flatMap(([, dashboard]) =>
    [...expressions(dashboard), ...variableQueries(dashboard).map(({ selector }) => selector)].map(filledIn),
  );

  it('is PromQL, of which a wrong one is noticed', () => {
    const { status, stdout, stderr } = check(asked);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`${asked.length} rules found`);
    expect(check(['sum by (team (bursar_spend_month)']).status).not.toBe(0);
  });

  const money = new Map(
    (dashboards().get('bursar-money.json')?.panels ?? []).flatMap(({ title, targets }) =>
      (targets ?? []).slice(0, 1).map(({ expr }): [string, string] => [title, filledIn(expr)]),
    ),
  );
  const line = new Map(
    (dashboards().get('bursar-line.json')?.panels ?? []).flatMap(({ title, targets }) =>
      (targets ?? []).slice(0, 1).map(({ expr }): [string, string] => [title, filledIn(expr)]),
    ),
  );

  it('counts an installation once however many processes are scraped, and adds no currencies', () => {
    const series = (name: string, labels: string, value: string) =>
      ['a:8080', 'b:8080'].map((instance) => ({
        series: `${name}{${labels}, job="bursar", instance="${instance}"}`,
        values: value,
      }));
    const expected = (expr: string | undefined, exp_samples: readonly { labels: string; value: number }[]) => ({
      expr,
      eval_time: '5m',
      exp_samples,
    });
    writeFileSync(
      path.join(folder, 'asked.test.yml'),
      stringify({
        evaluation_interval: '1m',
        tests: [
          {
            interval: '1m',
            input_series: [
              ...series('bursar_spend_month', 'team="red", currency="USD"', '100x9'),
              ...series('bursar_spend_month', 'team="blue", currency="USD"', '20.5x9'),
              ...series('bursar_spend_month', 'team="blue", currency="CNY"', '700x9'),
              ...series('bursar_unpriced_gpu_seconds_month', 'team="red", currency="USD"', '3600x9'),
              ...series('bursar_unpriced_gpu_seconds_month', 'team="red", currency="CNY"', '7200x9'),
              ...series('bursar_actions', 'team="red", state="proposed"', '2x9'),
              ...series('bursar_actions', 'team="blue", state="proposed"', '1x9'),
              ...series('bursar_work_waiting', 'stage="cost.price"', '5x9'),
              ...series('bursar_work_waiting', 'stage="cost.rollup"', '7x9'),
            ],
            promql_expr_test: [
              expected(money.get('Spend this month'), [
                { labels: '{currency="USD"}', value: 120.5 },
                { labels: '{currency="CNY"}', value: 700 },
              ]),
              expected(money.get('Without a price'), [{ labels: '{}', value: 3 }]),
              expected(money.get('Actions by state'), [{ labels: '{state="proposed"}', value: 3 }]),
              expected(line.get('Waiting'), [{ labels: '{}', value: 12 }]),
            ],
          },
        ],
      }),
    );
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', 'asked.test.yml'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });
});
