/** What an open project's repository promises beside its code: workflows that run what exists, notices, releases. */
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as { version: string; scripts: Record<string, string> };

interface Step {
  run?: string;
  uses?: string;
  with?: Record<string, unknown>;
}
interface Workflow {
  jobs: Record<string, { steps: Step[]; strategy?: { matrix: Record<string, unknown[]> } }>;
}
const workflows = readdirSync(path.join(ROOT, '.github/workflows')).map((file) => ({
  file,
  jobs: (parse(read(`.github/workflows/${file}`)) as Workflow).jobs,
}));
const stepsOf = (jobs: Workflow['jobs']): Step[] => Object.values(jobs).flatMap(({ steps }) => steps);

describe('the workflows', () => {
  it('run scripts that package.json has and files that are there', () => {
    const commands = workflows.flatMap(({ jobs }) => stepsOf(jobs).map(({ run = '' }) => run)).join('\n');
    const scripts = [...commands.matchAll(/npm (?:run (\S+)|(test))/g)].map(([, named, test]) => named ?? test ?? '');
    expect(scripts.length).toBeGreaterThan(4);
    expect(scripts.filter((name) => !(name in manifest.scripts))).toEqual([]);
    const files = [...commands.matchAll(/(?:bash|node) ([\w./-]+)/g)].map(([, file]) => file ?? '');
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect(read(file).length).toBeGreaterThan(0);
  });

  it('cover Node 20, 22 and 24, PostgreSQL 15 to 18, and both queues', () => {
    const { jobs } = workflows.find(({ file }) => file === 'ci.yml') as { jobs: Workflow['jobs'] };
    const nodes = new Set([
      ...stepsOf(jobs).map((step) => step.with?.['node-version']),
      ...(jobs.node?.strategy?.matrix.node ?? []),
    ]);
    expect([20, 22, 24].filter((version) => !nodes.has(version))).toEqual([]);
    expect(jobs.postgres?.strategy?.matrix.postgres).toEqual([15, 16, 17, 18]);
    expect(jobs.node?.strategy?.matrix.redis).toEqual(['with', 'without']);
  });
});

describe('a release', () => {
  const check = (tag: string, ...flags: string[]): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, ['scripts/check-release.mjs', tag, ...flags], { cwd: ROOT, encoding: 'utf8' });

  it('is refused where the tag, the package, the chart and the change log differ, each named', () => {
    const { status, stderr } = check('v99.0.0');
    expect(status).toBe(1);
    expect(stderr).toContain(`package.json says ${manifest.version}`);
    expect(stderr).toContain('Chart.yaml version says');
    expect(stderr).toContain('CHANGELOG.md has no section');
    expect(check('latest').stderr).toContain('not v<major>.<minor>.<patch>');
  });

  it('has one version in package.json and in the chart', () => {
    const chart = parse(read('deploy/helm/bursar/Chart.yaml')) as { version: string; appVersion: string };
    expect(chart).toMatchObject({ version: manifest.version, appVersion: manifest.version });
  });
});

describe('NOTICE', () => {
  it('names every bundled folder of data', () => {
    const notice = read('NOTICE');
    const folders = readdirSync(path.join(ROOT, 'examples/data'));
    expect(folders.filter((folder) => !notice.includes(`  ${folder} `))).toEqual([]);
  });
});

describe('the lock file', () => {
  it('has every package that another may install, so that npm ci works on each platform and with each npm', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
    const listed = (at: string, name: string): boolean => {
      for (let from = at; ; from = from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/')))) {
        if (packages[`${from === '' ? '' : `${from}/`}node_modules/${name}`] !== undefined) return true;
        if (!from.includes('/')) return false;
      }
    };
    const missing = Object.entries(packages).flatMap(([at, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !listed(at, name)),
    );
    expect(missing).toEqual([]);
  });
});
