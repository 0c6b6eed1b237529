/**
 * bursar backtest policy over the bundled example: the report, what it leaves behind, and that enforcing asks for it.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse as parseYaml } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/program.js';
import type { BacktestReport } from '../../src/core/policy/backtest.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { DAY_MS, formatInstant } from '../../src/core/time.js';
import { loadBasics, loadPods } from '../../src/example/example.js';
import * as openbPods from '../../src/formats/openb-pods.js';
import { openFile } from '../../src/formats/reading/input.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { plotter } from '../../src/rendering/plotter.js';
import { testBursar } from '../support/bursar.js';
import { localOfComposed } from '../support/local.js';
import { monthBudget } from '../support/makers.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));

describe('bursar backtest policy', async () => {
  const bursar = await testBursar({ policies });
  const { stores, importer, db } = bursar;
  let folder = '';
  let asOf = 0;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-backtest-'));
    const began = bursar.clock.now();
    await loadBasics(stores, importer, 'default', began);
    await importer.prices(
      [await openFile('examples/data/aws-reserved-price-sample/gpu_reserved_us_regions_2017-11-12.csv')],
      { organisation: 'default', source: 'reserved', format: 'auto', strict: false, dryRun: false, by: 'test' },
    );
    await loadPods(stores, 'default', openbPods, began);
    await stores.budgets.save(
      db,
      'default',
      monthBudget({ id: 'research-monthly', team: 'research', planned: { default: '100', periods: {} } }),
    );
    await bursar.runner.drain();
    asOf = await stores.organisations.asOf(db, 'default', bursar.clock.now());
  }, 240_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const cli = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    let [out, err] = ['', ''];
    const code = await run(argv, {
      environment: {},
      clock: bursar.clock,
      parseYaml,
      plotter,
      remote: null,
      serve: async () => undefined,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      connect: async () => localOfComposed({ ...bursar, policies }, bursar.clock),
    });
    return { code, out, err };
  };
  const document = async (text: string): Promise<string> => {
    const file = path.join(folder, 'policy.yaml');
    await writeFile(file, text);
    return file;
  };
  const backtest = async (text: string, days = 14): Promise<BacktestReport> => {
    const to = Math.floor(asOf / DAY_MS) * DAY_MS;
    const { code, out, err } = await cli(
      'backtest',
      'policy',
      '--policy',
      await document(text),
      '--from',
      formatInstant(to - days * DAY_MS),
      '--to',
      formatInstant(to),
      '--json',
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as BacktestReport;
  };

  it('reserves beside the look-backs and the optimum, and enforcing is allowed afterwards', async () => {
    const text = "name: base\npolicy: reserve-baseline\nteams: '*'\nmode: enforce\nparams: { minimumHistoryDays: 7 }\n";
    const apply = async () => cli('policies', 'apply', await document(text));
    expect(await apply()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/serving has no backtest of reserve-baseline/) as string,
    });
    const report = await backtest(text);
    expect(report.cells.map(({ name }) => name)).toEqual([
      'platform/demand',
      'research/demand',
      'serving/demand',
      'training/demand',
    ]);
    const serving = report.cells.find(({ name }) => name === 'serving/demand')!;
    const cost = Object.fromEntries(serving.policies.map((policy) => [policy.name, Number(policy['cost'])]));
    expect(Object.keys(cost)).toEqual([
      'none',
      'look-back-7d',
      'look-back-30d',
      'look-back-60d',
      'bursar',
      'clairvoyant',
    ]);
    for (const each of Object.values(cost)) expect(each).toBeGreaterThanOrEqual(cost['clairvoyant']! - 1e-6);
    expect(cost['bursar']).toBeLessThan(cost['none']!);
    expect(await backtest(text)).toEqual(report);
    // Teams without anything recorded in the window keep the document from enforcing.
    const tested = new Set(report.settings['teams'] as string[]);
    const others = (await stores.policies.teams(db, 'default')).filter((team) => !tested.has(team));
    const applied = await apply();
    expect(applied.code, applied.err).toBe(others.length === 0 ? 0 : 1);
    const list = await stores.audit.list('default', null, 20);
    expect(list.find(({ verb }) => verb === 'policy.backtest')).toMatchObject({
      target: 'base',
      detail: { policy: 'reserve-baseline', teams: [...tested] },
    });
  });

  it('tells when what was paid, day by day, and draws it', async () => {
    const to = Math.floor(asOf / DAY_MS) * DAY_MS;
    const picture = path.join(folder, 'base.svg');
    const text =
      'name: base\npolicy: reserve-baseline\nteams: [serving, training]\nmode: recommend\nparams: { minimumHistoryDays: 7 }\n';
    const { code, out } = await cli(
      'backtest',
      'policy',
      '--policy',
      await document(text),
      '--from',
      formatInstant(to - 10 * DAY_MS),
      '--to',
      formatInstant(to),
      '--plot',
      picture,
      '--json',
    );
    expect(code).toBe(0);
    const { plot, cells } = JSON.parse(out) as BacktestReport & { plot: string };
    expect(plot).toBe(picture);
    for (const { policies: all, series } of cells) {
      expect(series).toMatchObject({ from: formatInstant(to - 10 * DAY_MS), stepHours: 24 });
      expect(Object.keys(series!.costs).sort()).toEqual(all.map(({ name }) => name).sort());
      for (const { name, cost } of all) {
        expect(series!.costs[name]).toHaveLength(10);
        expect(
          series!.costs[name]!.reduce((sum, one) => sum + one, 0),
          name,
        ).toBeCloseTo(Number(cost), 2);
      }
    }
    const svg = await readFile(picture, 'utf8');
    for (const name of [
      'serving/demand',
      'training/demand',
      'none',
      'look-back-7d',
      'bursar',
      'clairvoyant',
      'cumulative cost (USD)',
    ])
      expect(svg).toContain(name);
  });

  it('costs what the line has accrued, where nothing is done', async () => {
    const report = await backtest('name: rest\npolicy: lease\nteams: [serving, training]\nmode: recommend\n', 7);
    const to = Math.floor(asOf / DAY_MS) * DAY_MS;
    for (const team of ['serving', 'training']) {
      const [row] = await db.query<{ accrued: string }>(
        `select coalesce(sum(c.accrued), 0)::text as accrued from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension and d.kind = 'metered'
         where c.team = $1 and c.day >= $2::date and c.day < $3::date and c.shared_from = ''`,
        [team, formatInstant(to - 7 * DAY_MS).slice(0, 10), formatInstant(to).slice(0, 10)],
      );
      const none = report.cells
        .find(({ name }) => name === `${team}/demand`)
        ?.policies.find(({ name }) => name === 'none');
      expect(Number(none?.['cost'])).toBeCloseTo(Number(row?.accrued), 2);
    }
  });

  it('refuses launches by the brake, and counts what was refused', async () => {
    const { cells, settings } = await backtest(
      'name: brake\npolicy: budget-brake\nteams: [research]\nmode: recommend\n',
    );
    expect(settings['proposalsByAction']).toMatchObject({ RefuseLaunches: expect.any(Number) as number });
    expect(cells[0]?.policies.find(({ name }) => name === 'bursar')?.['refusedGpuHours']).toBeGreaterThan(0);
  });

  it('says what is wrong with its flags and its file', async () => {
    const good = await document('name: a\npolicy: lease\nteams: [serving]\nmode: observe\n');
    const of = (from: string, to: string, file = good) =>
      cli('backtest', 'policy', '--policy', file, '--from', from, '--to', to);
    expect(await of('soon', '2026-10-02')).toMatchObject({ code: 2, err: expect.stringContaining('--from') as string });
    expect(await of('2026-10-02', '2026-10-01')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--to is not after from') as string,
    });
    expect(await of('2026-10-02', '2036-10-03')).toMatchObject({
      code: 2,
      err: expect.stringContaining('lies after what is recorded') as string,
    });
    expect(await of('2026-10-01', '2026-10-02', path.join(folder, 'absent.yaml'))).toMatchObject({ code: 1 });
    expect(
      await of('2026-10-01', '2026-10-02', await document('name: a\npolicy: guess\nteams: [serving]\nmode: observe\n')),
    ).toMatchObject({ code: 1, err: expect.stringContaining('policy is none of') as string });
    expect(
      await of('2026-10-01', '2026-10-02', await document('name: a\npolicy: lease\nteams: [nobody]\nmode: observe\n')),
    ).toMatchObject({ code: 1, err: expect.stringContaining('nothing is recorded for nobody') as string });
  });
});
