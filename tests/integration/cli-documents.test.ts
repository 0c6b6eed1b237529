/**
 * The --json document of every verb, in process and through the API, as callers rely on it: the names of its fields and
 * the kinds of their values, over the bundled example. What was recorded stands in fixtures/cli-documents.json;
 * BURSAR_WRITE_DOCS=1 records it again.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse as parseYaml } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compose, type Bursar } from '../../src/app.module.js';
import { run } from '../../src/cli/program.js';
import { loadBasics, loadPods } from '../../src/example/example.js';
import * as openbPods from '../../src/formats/openb-pods.js';
import { renderers } from '../../src/rendering/reports.js';
import { createWebApp } from '../../src/web/server.js';
import { WebModule } from '../../src/web/web.module.js';
import { limit } from '../support/cluster.js';
import { freshDatabase } from '../support/database.js';
import { expectRecorded, shapeOf } from '../support/documents.js';
import { localOfComposed } from '../support/local.js';
import { ROOT } from '../support/source.js';

const FOCUS = path.join(ROOT, 'examples/data/focus-sample/focus_sample_2024-09-01_18.csv');
const GCP_PRICES = path.join(ROOT, 'examples/data/gcp-gpu-prices/gcp_gpu_instances_2026-07-30.csv');
const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { now: () => NOW };
const SIDES = ['here', 'there'] as const;
type Side = (typeof SIDES)[number];
type Document = Readonly<Record<string, never>>;

describe('the documents of the command line', async () => {
  const { url } = await freshDatabase();
  const ending = new AbortController();
  let work = Promise.resolve();
  let folder = '';
  let bursar: Bursar;
  let app: Awaited<ReturnType<typeof createWebApp>>;
  let remote: { url: string; apiKey: string };
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-documents-'));
    bursar = await compose(url, clock);
    const { stores, importer, policies } = bursar;
    await loadBasics(stores, importer, 'default', NOW);
    await loadPods(stores, 'default', openbPods, NOW);
    await bursar.runner.drain();
    app = await createWebApp(WebModule.register({ stores, importer, policies, clock, reports: renderers }), {
      logger: false,
    });
    await app.listen(0, '127.0.0.1');
    const key = { name: 'test', role: 'admin', teams: null };
    remote = { url: await app.getUrl(), apiKey: (await stores.keys.create(stores.db, 'default', key, NOW)).text };
  }, limit(240_000));
  afterAll(async () => {
    ending.abort();
    await work;
    await app.close();
    await bursar.close();
    await rm(folder, { recursive: true, force: true });
  });

  const file = async (name: string, content: unknown): Promise<string> => {
    const at = path.join(folder, name);
    await writeFile(at, typeof content === 'string' ? content : JSON.stringify(content));
    return at;
  };

  async function documents(side: Side): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    const ask = async <T = Document>(name: string, ...argv: readonly string[]): Promise<T> => {
      let [out, err] = ['', ''];
      const code = await run([...argv, '--json'], {
        environment: {},
        clock,
        parseYaml: (text) => parseYaml(text) as unknown,
        reports: async () => renderers,
        remote: side === 'there' ? remote : null,
        stdout: { write: (text) => (out += text) },
        stderr: { write: (text) => (err += text) },
        serve: async () => undefined,
        connect: async () => localOfComposed(bursar, clock),
      });
      expect({ name, out: out === '' ? err : '' }).toEqual({ name, out: '' });
      const document = JSON.parse(out) as T;
      expect(found, name).not.toHaveProperty([name]);
      found[name] = { code, document: shapeOf(document) };
      return document;
    };
    await askAll(ask, side);
    return found;
  }

  type Ask = <T = Document>(name: string, ...argv: readonly string[]) => Promise<T>;

  async function askAll(ask: Ask, side: Side): Promise<void> {
    await askFiles(ask, side);
    await askMoney(ask, side);
    await askActing(ask, side);
    await askPeople(ask, side);
  }

  async function askFiles(ask: Ask, side: Side): Promise<void> {
    await ask('import --dry-run', 'import', FOCUS, '--dry-run');
    await ask('import', 'import', FOCUS, '--source', 'bill', '--replace');
    await ask('import again', 'import', FOCUS, '--source', 'bill', '--no-wait');
    await ask('import of no format', 'import', await file('poem.txt', 'so much depends\n'));
    await ask('import of no file', 'import', path.join(folder, 'none.csv'));
    await ask('import by delivery', 'import', FOCUS, '--delivery', `d-${side}`);
    await ask('deliveries', 'deliveries');
    await ask('deliveries --commit', 'deliveries', '--commit', `d-${side}`, '--dry-run');
    await ask('deliveries --discard', 'deliveries', '--discard', `d-${side}`);
    const bad = await file('bad.json', { records: [{ id: 'x' }] });
    await ask('import with rejects', 'import', bad, '--source', side);
    await ask('import --strict', 'import', bad, '--strict');
    await ask('prices', 'prices', GCP_PRICES);
    const { prices } = await ask<{ prices: { id: string }[] }>('prices list', 'prices', 'list', '--provider', 'aws');
    const price = prices[0]?.id ?? '';
    await ask('prices withdraw', 'prices', 'withdraw', price);
    await ask('prices restore', 'prices', 'restore', price);
    const { imports } = await ask<{ imports: { id: string }[] }>('imports', 'imports');
    await ask('rejects', 'rejects', '--limit', '5');
    await ask('rejects --import', 'rejects', '--import', imports[0]?.id ?? '');
    await ask('imports undo', 'imports', 'undo', imports.find(({ id }) => id !== imports[0]?.id)?.id ?? '');
    await ask('imports undo of none', 'imports', 'undo', '999999');
  }

  async function askMoney(ask: Ask, side: Side): Promise<void> {
    await ask('costs', 'costs', '--group-by', 'team,provider,day');
    await ask('costs --basis', 'costs', '--basis', 'billed', '--currency', 'EUR');
    await ask('costs of two teams', 'costs', '--team', 'research', '--team', 'red', '--group-by', 'team');
    await ask('costs of nobody', 'costs', '--team', 'nobody');
    await ask('commitments', 'commitments');
    const asked = ['--provider', 'gcp', '--sku', 'a2-highgpu-8g', '--gpus', '8', '--hours', '2'];
    await ask('quote', 'quote', ...asked, '--memory', '40');
    await ask('quote without a price', 'quote', '--provider', 'aws', '--sku', 'p9', '--gpus', '1', '--hours', '1');
    await ask('teams set', 'teams', 'set', side, '--name', 'Some');
    await ask('teams', 'teams');
    await ask('budgets set', 'budgets', 'set', `b-${side}`, '--team', side, '--amount', '9000');
    await ask('quote --reserve', 'quote', ...asked, '--team', side, '--reserve');
    const { reservations } = await ask<{ reservations: { id: string }[] }>('reservations', 'reservations');
    await ask('reservations release', 'reservations', 'release', reservations[0]?.id ?? '');
    await ask('budgets', 'budgets');
    await ask('budgets history', 'budgets', 'history', `b-${side}`);
    await ask('budgets remove', 'budgets', 'remove', `b-${side}`);
    await ask('budgets remove again', 'budgets', 'remove', `b-${side}`);
    const fx = await file('fx.csv', 'day,currency,per_usd\n2026-10-01,EUR,0.9\n');
    await ask('fx set', 'fx', 'set', fx);
    await ask('fx', 'fx');
    await ask('peak set', 'peak', 'set', await file('peak.yaml', 'rules:\n- {zone: UTC, factor: 1.2}\n'));
    await ask('peak', 'peak');
    await ask('report-schedule set', 'report-schedule', 'set', '--day', '6', '--hour', '9');
    await ask('report-schedule', 'report-schedule');
    await ask('peak set none', 'peak', 'set', await file('none.yaml', 'rules: []\n'));
    const credit = {
      id: 'c',
      kind: 'promotional',
      amount: '5',
      currency: 'USD',
      from: '2026-01-01',
      until: '2027-01-01',
    };
    await ask('credits set', 'credits', 'set', await file('credits.json', [credit]));
    await ask('credits', 'credits');
    const rules = await ask<{ rules: unknown[] }>('rules', 'rules');
    const same = await file('rules.json', { rules: rules.rules });
    await ask('rules preview', 'rules', 'preview', same);
    await ask('rules set', 'rules', 'set', same);
    await ask('reconcile', 'reconcile');
    await ask('reconcile --rates', 'reconcile', '--rates');
    await ask('reconcile --learn', 'reconcile', '--learn', 'on');
    await ask('reconcile --settling', 'reconcile', '--settling', '10');
    await ask('report', 'report', '--team', 'research', '--month', '2026-10');
    await ask('report --out', 'report', '--team', 'research', '--month', '2026-10', '--out', await file('r.html', ''));
    await ask('report of nobody', 'report', '--team', 'nobody', '--month', '2026-10');
    await ask('teams remove', 'teams', 'remove', side);
    await ask('teams remove again', 'teams', 'remove', side);
  }

  async function askActing(ask: Ask, side: Side): Promise<void> {
    const { recommendations } = await ask<{ recommendations: { id: string }[] }>('recommend', 'recommend');
    await ask('approve', 'approve', recommendations[0]?.id ?? '');
    await ask('reject', 'reject', recommendations[1]?.id ?? '', '--reason', 'no');
    await ask('approve again', 'approve', recommendations[0]?.id ?? '');
    const { actions } = await ask<{ actions: { id: string }[] }>('actions', 'actions');
    const action = actions[0]?.id ?? 'act-0123456789abcdef';
    await ask('actions show', 'actions', 'show', action);
    await ask('approve an action', 'approve', action);
    await ask('rollback', 'rollback', action);
    await ask('savings', 'savings');
    await ask('savings of none', 'savings', 'act-0123456789abcdef');
    await ask('stop-all', 'stop-all', '--team', 'research', '--reason', 'a drill');
    await ask('stop-all --lift', 'stop-all', '--team', 'research', '--lift');
    await ask('limits', 'limits');
    await ask('limits set', 'limits', 'set', await file('limits.yaml', 'gpusPerHour: 900\n'));
    await ask('limits set wrongly', 'limits', 'set', await file('wrong.yaml', 'gpusPerHour: many\n'));
    await ask('fleet', 'fleet');
    await ask('health', 'health');
    await ask('anomalies', 'anomalies');
    await ask('explain', 'explain', 'research');
    await ask('admissions', 'admissions');
    await ask(
      'leases give',
      'leases',
      'give',
      `l-${side}`,
      '--team',
      'research',
      '--target',
      'i-1',
      '--until',
      '2027-01-01',
    );
    await ask('leases', 'leases');
    await ask('leases renew', 'leases', 'renew', `l-${side}`, '--until', '2027-02-01');
    await ask('leases end', 'leases', 'end', `l-${side}`);
    const policies = await ask<{ documents?: { name: string }[] }>('policies', 'policies');
    const name = policies.documents?.[0]?.name ?? 'off-hours';
    await ask('policies show', 'policies', 'show', name);
    const own = { name: `own-${side}`, policy: 'idle-stop', mode: 'recommend', teams: ['research'], params: {} };
    await ask('policies validate', 'policies', 'validate', await file('own.json', own));
    await ask('policies apply', 'policies', 'apply', await file('own.json', own));
    await ask('policies pause', 'policies', 'pause', own.name);
    await ask('policies resume', 'policies', 'resume', own.name);
    await ask('policies validate wrongly', 'policies', 'validate', await file('odd.json', { policy: 'stone' }));
    await ask('policies apply wrongly', 'policies', 'apply', await file('odd.json', { policy: 'stone' }));
    const measured = { model: 'resnet50', gpu: 'H100', gpu_count: 8, batch: 512, samples_per_s: 9000 };
    await ask(
      'throughput add',
      'throughput',
      'add',
      await file('m.jsonl', `${JSON.stringify(measured)}\n`),
      '--team',
      'research',
    );
    const list = await ask<{ measurements?: { id: string }[] }>('throughput', 'throughput');
    const asked = ['--model', 'resnet50', '--gpu', 'H100', '--gpus', '8', '--batch', '256', '--samples', '1e6'];
    await ask('throughput predict', 'throughput', 'predict', '--team', 'research', ...asked);
    await ask('throughput remove', 'throughput', 'remove', list.measurements?.[0]?.id ?? '1');
  }

  async function askPeople(ask: Ask, side: Side): Promise<void> {
    const { alert } = await ask<{ alert: { id: string } }>('alerts test', 'alerts', 'test');
    const alerts = await ask<{ alerts: { id: string; state: string; kind: string }[] }>('alerts', 'alerts');
    await ask('alerts of one', 'alerts', alert.id);
    const open = alerts.alerts.find(({ state, kind }) => state === 'open' && kind !== 'action');
    await ask('alerts acknowledge', 'alerts', 'acknowledge', open?.id ?? alert.id);
    const { mute } = await ask<{ mute: { id: string } }>(
      'mutes set',
      'mutes',
      'set',
      '--until',
      '2026-12-01',
      '--reason',
      'x',
    );
    await ask('mutes', 'mutes');
    await ask('mutes lift', 'mutes', 'lift', mute.id);
    const { key } = await ask<{ key: { id: string } }>('keys create', 'keys', 'create', 'x', '--role', 'viewer');
    await ask('keys rotate', 'keys', 'rotate', key.id);
    await ask('keys', 'keys');
    const slackUser = ['T0123ABCD', `U0${side.toUpperCase()}`];
    await ask('slack-users connect', 'slack-users', 'connect', ...slackUser, '--key', key.id);
    await ask('slack-users', 'slack-users');
    await ask('slack-users disconnect', 'slack-users', 'disconnect', ...slackUser);
    await ask('keys revoke', 'keys', 'revoke', key.id);
    await ask('roles set', 'roles', 'set', `custom:${side}`, '--scope', 'read');
    await ask('roles', 'roles');
    await ask('roles remove', 'roles', 'remove', `custom:${side}`);
    await ask('audit', 'audit', '--limit', '3');
    await ask('audit verify', 'audit', 'verify');
    await ask('doctor', 'doctor');
    await ask('migrate', 'migrate');
    await ask('wrong use', 'quote');
  }

  it('are what was recorded, on both sides', { timeout: limit(400_000) }, async () => {
    const here = await documents('here');
    work = (async () => {
      for (; !ending.signal.aborted; await pause(50)) await bursar.runner.drain();
    })();
    const there = await documents('there');
    await expectRecorded('cli-documents.json', { here, there });
  });
});
