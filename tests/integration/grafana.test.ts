/** What the dashboards ask for is what /metrics gives, under the labels that it has. */
import { describe, expect, it } from 'vitest';
import { dashboards, expressions, metricsIn, variableQueries } from '../support/grafana.js';
import { testApi } from '../support/web.js';

/** Labels of what has no sample in an empty installation; Prometheus itself adds the last two. */
const LABELS = new Set(['team', 'currency', 'budget', 'state', 'stage', 'connection', 'job', 'instance']);

describe('the dashboards', async () => {
  const api = await testApi();

  it.each([...dashboards()])(
    '%s asks only for metrics that are given, by labels that they have',
    async (_, dashboard) => {
      const { text } = await api.call('GET', '/metrics');
      const given = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map((match) => match[1]));
      const asked = [...expressions(dashboard), ...variableQueries(dashboard).map(({ selector }) => selector)];
      const names = new Set(asked.flatMap(metricsIn));
      expect(names.size).toBeGreaterThan(5);
      expect([...names].filter((name) => !given.has(name))).toEqual([]);
      const labels = asked.flatMap((text_) =>
        [
          ...text_.matchAll(/(\w+)=~/g),
          ...[...text_.matchAll(/by \(([^)]+)\)/g)].flatMap((match) => [...(match[1] ?? '').matchAll(/(\w+)/g)]),
        ].map((match) => match[1] ?? ''),
      );
      expect(
        [...labels, ...variableQueries(dashboard).map(({ label }) => label)].filter((label) => !LABELS.has(label)),
      ).toEqual([]);
    },
  );

  it("between them show every metric of Bursar's own", async () => {
    const { text } = await api.call('GET', '/metrics');
    const shown = new Set([...dashboards().values()].flatMap((dashboard) => expressions(dashboard).flatMap(metricsIn)));
    expect(
      [...text.matchAll(/^# TYPE (bursar_\w+) /gm)].map((match) => match[1] ?? '').filter((name) => !shown.has(name)),
    ).toEqual([]);
  });
});
