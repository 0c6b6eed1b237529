/** The alert rules, by Prometheus' own tool: they are rules, and they fire when they should and not before. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeWith } from '../../support/programs.js';

const FOLDER = path.join(import.meta.dirname, '../../../deploy/prometheus');

describeWith('promtool', 'the alert rules', (promtool) => {
  const run = (...words: string[]) => spawnSync(promtool, words, { cwd: FOLDER, encoding: 'utf8' });

  it('are rules, with nothing to complain about', () => {
    const { status, stdout, stderr } = run('check', 'rules', '--lint=all', '--lint-fatal', 'bursar-rules.yml');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('9 rules found');
  });

  it('fire when they should, and each of them is tested', () => {
    const { status, stdout, stderr } = run('test', 'rules', 'bursar-rules.test.yml');
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    const rules = parse(readFileSync(path.join(FOLDER, 'bursar-rules.yml'), 'utf8')) as {
      groups: { rules: { alert: string }[] }[];
    };
    const tests = parse(readFileSync(path.join(FOLDER, 'bursar-rules.test.yml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const tested = new Set(
      tests.tests.flatMap(({ alert_rule_test: all }) =>
        all.filter(({ exp_alerts: fired }) => fired.length > 0).map(({ alertname }) => alertname),
      ),
    );
    expect(
      rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert)).filter((alert) => !tested.has(alert)),
    ).toEqual([]);
  });
});
