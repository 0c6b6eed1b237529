/**
 * The cost explorer, the fleet and decisions as a place to work, over the API, on the command line and in a real
 * Chromium: the same question, the same sums. The figures are those of tests/support/dashboard.ts, reckoned by hand: of the last 30 days 29 have usage, of the 30
 * before 19, at 800 a day for lab and 40 for vision.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { run } from '../../src/cli/program.js';
import { axe, browserFor, expectNoOverflow, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld, NOW, P5 } from '../support/dashboard.js';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import { recommendation } from '../support/makers.js';
import { group, instance } from '../support/memory-cloud.js';
import { describeWith } from '../support/programs.js';

interface Breakdown {
  now: { from: string; to: string; totals: unknown; unpricedGpuHours: string };
  before: { from: string; to: string; totals: unknown } | null;
  rows: { names: string[]; cost: string; before: string; change: string; share: number }[];
  rest: { groups: number; cost: string }[];
  days: string[];
  series: { name: { value: string } | null; values: (string | null)[] }[];
  daysBefore: { values: (string | null)[] }[];
  anomalies: unknown[];
}

interface View {
  id: string;
  name: string;
  isOwn: boolean;
}

describeWith('chromium', 'the cost explorer', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);
  const admin = (over: { width?: number; dark?: boolean } = {}): Promise<Visit> => visit({ key: w.admin, ...over });
  const costs = (words: string): Promise<Breakdown> => w.call('GET', `/v1/costs/breakdown?${words}`);
  const asKey = async (key: string, method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(w.address + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const command = async (...argv: string[]): Promise<string> => {
    const out: string[] = [];
    const code = await run(argv, {
      environment: {},
      clock: { now: () => NOW },
      remote: { url: w.address, apiKey: w.admin },
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => out.push(text) },
      serve: async () => undefined,
      connect: async () => {
        throw new Error('the database is not asked');
      },
    });
    expect({ argv, code, out: code === 0 ? '' : out.join('') }).toEqual({ argv, code: 0, out: '' });
    return out.join('');
  };

  it('answers by two keys against the time before, with what is in none of the sums', async () => {
    const answer = await costs('group-by=team,sku&limit=1');
    expect([answer.now, answer.before]).toMatchObject([
      {
        from: '2026-10-20',
        to: '2026-11-19',
        totals: [{ currency: 'USD', cost: '24360.000000000' }],
        unpricedGpuHours: '3.000000',
      },
      { from: '2026-09-20', to: '2026-10-20', totals: [{ currency: 'USD', cost: '15960.000000000' }] },
    ]);
    expect(answer.rows).toMatchObject([
      {
        names: ['lab', 'p5.48xlarge'],
        cost: '23200.000000000',
        before: '15200.000000000',
        change: '8000.000000000',
        share: 0.952381,
      },
    ]);
    expect(answer.rest).toMatchObject([{ groups: 2, cost: '1160.000000000', unpricedGpuHours: '3.000000' }]);
    expect([answer.days.length, answer.days.at(-1)]).toEqual([30, '2026-11-18']);
    expect(answer.series.map(({ name, values }) => [name?.value, values[0], values[29]])).toEqual([
      ['lab', '800.000000000', '0'],
      ['vision', '40.000000000', '0'],
    ]);
    expect(answer.daysBefore[0]?.values.filter((one) => one !== '0')).toHaveLength(19);
  });

  it('counts only what passes the filters, in every answer', async () => {
    const one = await costs('sku=g6e.12xlarge&compare=none&span=month');
    expect([
      one.rows.map(({ names, cost, before }) => [...names, cost, before]),
      one.now.unpricedGpuHours,
      one.before,
    ]).toEqual([[['vision', '680.000000000', null]], '0.000000', null]);
    const plain = await w.call<{ total: string; unpricedQuantity: string }>(
      'GET',
      '/v1/costs?from=2026-11&sku=mystery.1&sku=g6e.12xlarge&region=us-east-1',
    );
    expect(plain).toMatchObject({ total: '680.000000000', unpricedQuantity: '3.000000' });
    expect((await costs('service=&compare=none')).rows.map(({ names }) => names)).toEqual([['lab'], ['vision']]);
    expect((await costs('service=nobody')).rows).toEqual([]);
    const berlin = await costs('zone=Europe/Berlin&sku=g6e.12xlarge&from=2026-11-02&to=2026-11-03&compare=none');
    expect(berlin.rows).toMatchObject([{ cost: '40.000000000' }]);
  });

  it('names every problem of a question', async () => {
    for (const [words, problem] of [
      ['group-by=day', 'group-by'],
      ['group-by=team,sku,region', 'group-by'],
      ['from=2001-01-01', 'from'],
      ['to=0001-01-01', 'to'],
      ['span=8', 'span'],
      ['colour=red', 'colour'],
    ] as const) {
      const response = await asKey(w.admin, 'GET', `/v1/costs/breakdown?${words}`);
      expect([words, response.status, await response.text()]).toEqual([words, 400, expect.stringContaining(problem)]);
    }
  });

  it('says why it changed, to the last digit', async () => {
    const { bridges } = await w.call<{
      bridges: { currency: string; bridge: { change: string; effects: Record<string, string> } }[];
    }>('GET', '/v1/costs/bridge');
    expect(bridges).toMatchObject([
      { currency: 'USD', bridge: { change: '8400.00', effects: { volume: '8400.00', price: '0.00', mix: '0.00' } } },
    ]);
  });

  it('is asked on the command line too', async () => {
    const compared = await command('costs', '--by', 'team', '--compare', '--filter', 'sku=p5.48xlarge');
    expect(compared).toMatch(/lab\s+23200.00\s+15200.00\s+8000.00\s+USD\s+100.0%/);
    expect(compared).toContain('Total of the period before, 2026-09-20 to before 2026-10-20: 15200.00 USD');
    const why = await command('costs', '--why');
    expect(why).toMatch(/volume\s+8400.00/);
    expect(why).toContain('Not included (this period): 3.00 GPU-hours without a price');
    expect(JSON.parse(await command('costs', '--compare', '--json'))).toMatchObject({ groupBy: ['team'] });
  });

  it('keeps views for their owner, and shared ones for who may see their teams', async () => {
    const [one, other] = [await w.keyFor({ teams: ['vision'] }), await w.keyFor({ teams: ['elsewhere'] })];
    const saved = async (key: string, body: unknown): Promise<View> => {
      const response = await asKey(key, 'POST', '/v1/cost-views', body);
      expect(response.status).toBe(200);
      return (await response.json()) as View;
    };
    const names = async (key: string): Promise<string[]> =>
      ((await (await asKey(key, 'GET', '/v1/cost-views')).json()) as { items: View[] }).items.map(({ name }) => name);
    const own = await saved(one, { name: 'mine', query: { team: 'vision' } });
    await saved(one, { name: 'ours', shared: true, query: { team: ['vision'], 'group-by': 'sku' } });
    await saved(one, { name: 'all', shared: true, query: {} });
    expect([await names(one), await names(other), await names(w.admin)]).toEqual([
      ['all', 'mine', 'ours'],
      ['all'],
      ['all', 'ours'],
    ]);
    // A team that its owner may not see is not named; another's view is neither seen nor changed.
    expect((await asKey(one, 'POST', '/v1/cost-views', { name: 'x', query: { team: 'lab' } })).status).toBe(403);
    expect((await asKey(one, 'POST', '/v1/cost-views', { name: 'x', query: { colour: 'red' } })).status).toBe(400);
    expect((await asKey(other, 'DELETE', `/v1/cost-views/${own.id}`)).status).toBe(404);
    const { items } = await w.call<{ items: View[] }>('GET', '/v1/cost-views');
    const ours = items.find(({ name }) => name === 'ours');
    expect((await asKey(w.admin, 'PUT', `/v1/cost-views/${ours?.id}`, { name: 'theirs', query: {} })).status).toBe(403);
    expect((await asKey(one, 'PUT', `/v1/cost-views/${own.id}`, { name: 'renamed', query: {} })).status).toBe(200);
    expect((await asKey(w.admin, 'DELETE', `/v1/cost-views/${ours?.id}`)).status).toBe(200);
    expect(await names(one)).toEqual(['all', 'renamed']);
  });

  it('leads from a day to a team, to a SKU, to each resource; the address is the question', async () => {
    const start = '2026-09-02T00:00:00Z';
    await w.call('POST', '/v1/usage', [
      { ...P5, id: 'r-1', resource: 'i-a', tags: { team: 'lab' }, start, end: '2026-09-02T01:00:00Z' },
      { ...P5, id: 'r-2', resource: 'i-b', tags: { team: 'lab' }, start, end: '2026-09-02T03:00:00Z' },
    ]);
    await w.runner.drain();
    const { page, open, faults } = await admin();
    await open('costs?from=2026-09-01&to=2026-09-04');
    const chart = page.getByRole('group', { name: /Enter opens one/ });
    await chart.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    const tip = page.locator('.tip');
    expect(await tip.innerText()).toMatch(/Sep 2, 2026\s+lab\s+\$320\.00/);
    await page.keyboard.press('Enter');
    await quiet(page);
    expect(page.url()).toContain('from=2026-09-02&to=2026-09-03');
    await page.getByRole('link', { name: 'lab', exact: true }).click();
    await quiet(page);
    expect(page.url()).toContain('team=lab');
    await page.getByRole('link', { name: 'p5.48xlarge' }).click();
    await quiet(page);
    const resources = page.getByRole('region', { name: 'Resources' }).last();
    await resources.getByRole('link', { name: 'i-b' }).waitFor();
    expect(await resources.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Resource'),
      expect.stringMatching(/i-b\s+lab\s+\$240.00\s+75%\s+24/),
      expect.stringMatching(/i-a\s+lab\s+\$80.00\s+25%\s+8/),
    ]);
    // Sent to somebody, the address shows the same.
    const other = await admin();
    await other.page.goto(page.url());
    await quiet(other.page);
    await other.page.getByRole('link', { name: 'i-b' }).waitFor();
    await page.getByRole('button', { name: /^SKU: p5.48xlarge/ }).click();
    await quiet(page);
    expect(page.url()).not.toContain('sku=');
    expect([faults, other.faults]).toEqual([[], []]);
  });

  it('shows the change, its bridge and what is in no sum; the CSV is what is shown', async () => {
    const { page, open, faults } = await admin();
    await open('costs');
    const figure = (name: string): Promise<string> =>
      page
        .locator('.figure')
        .filter({ has: page.getByText(name, { exact: true }) })
        .locator('.value')
        .innerText();
    expect([await figure('Spent, USD'), await figure('Change')]).toEqual(['$24,360.00', '+$8,400.00 (+53%)']);
    expect(await page.getByRole('row', { name: /^Volume/ }).innerText()).toMatch(/Volume[^]*\+\$8,400\.00/);
    await page.getByText('3 GPU-hours without a price').first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV of Costs by group' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain(
      'lab,23200.000000000,0.952381,15200.000000000,8000.000000000',
    );
    await page.getByLabel('Basis').selectOption('billed');
    await quiet(page);
    await page.getByText('No bill has this basis in this period').waitFor();
    expect(page.url()).toContain('basis=billed');
    expect(faults).toEqual([]);
  });

  it.each([
    [
      'en-US',
      'There is no team nobody, and no cost was ever allocated to it',
      'Days of Asia/Kolkata begin within an hour',
      'Not understood in the address, and left out: ',
    ],
    ['zh-CN', '没有团队 nobody，也从未有成本分配给它', 'Asia/Kolkata 的日期在 UTC 的整点之间开始', '无法识别，已忽略'],
  ])('says in %s what to know before its sums are relied on', async (locale, ofTeam, ofZone, unread) => {
    const { page, open } = await visit({ key: w.admin, locale });
    await open('costs?team=nobody&zone=Asia/Kolkata&teams=lab&span=9&group-by=team,skus&basis=list&compare=none');
    for (const sentence of [ofTeam, ofZone]) await page.getByText(sentence).waitFor();
    const left = (await page.locator('.warning').allInnerTexts()).filter((text) => text.includes(unread));
    expect(left.map((text) => /\S+=\S+/.exec(text)?.[0])).toEqual(['teams=lab', 'span=9', 'group-by=team,skus']);
    await open('costs?team=lab');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.figures').first().waitFor();
    expect(await page.getByText(ofZone).count()).toBe(0);
  });

  it('filters by what there is, and saves the question', async () => {
    const { page, open, faults } = await admin();
    await open('costs?span=month');
    await page.getByLabel('Filter').selectOption('sku');
    await page.getByLabel('SKU').selectOption('=g6e.12xlarge');
    await quiet(page);
    expect(page.url()).toContain('sku=g6e.12xlarge');
    await page.getByText('Saved views').click();
    await page.getByLabel('Name').fill('L40S this month');
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByText('L40S this month is saved.').waitFor();
    await open('costs');
    await page.getByRole('link', { name: 'L40S this month' }).click();
    await quiet(page);
    const words = new URLSearchParams(page.url().split('?')[1]);
    expect([words.get('span'), words.getAll('sku')]).toEqual(['month', ['g6e.12xlarge']]);
    expect(faults).toEqual([]);
  });

  it('shows the fleet: use, cost, what is unused between two ends, what is recommended; unknown is never zero', async () => {
    const reading = {
      at: NOW - 60_000,
      complete: true,
      problems: [],
      targets: [
        instance('i-1', { labels: { team: 'lab' }, launchedAt: NOW - 3_600_000 }),
        instance('i-3', { sku: 'mystery.1', gpuModel: null, labels: { team: 'vision' } }),
        instance('i-4', { state: 'stopped', billing: 'ended', labels: { team: 'lab' } }),
      ],
    };
    await w.db.transaction((tx) =>
      w.stores.fleet.save(tx, 'default', 'cloud', reading, ({ labels }) => labels['team'] ?? ''),
    );
    await w.call('POST', '/v1/samples', {
      samples: Array.from({ length: 60 }, (_, at) => ({
        resource: 'i-1',
        gpu: 'GPU-1',
        gpuModel: 'H100',
        at: (NOW - (60 - at) * 60_000) / 1000,
        gpuUtilisationRatio: at < 30 ? 0 : 0.5,
        memoryUsedRatio: 0.25,
      })),
    });
    const { page, open, faults } = await admin();
    await open('fleet');
    const row = (name: string): Promise<string> =>
      page
        .getByRole('row')
        .filter({ has: page.getByRole('link', { name, exact: true }) })
        .innerText();
    expect(await row('i-1')).toMatch(
      /lab\s+running\s+8\s+25%\s+25%\s+60 s ago\s+\$80\.00\s+\$40\.00 to \$60\.00\s+Stop/,
    );
    expect(await row('i-3')).toMatch(
      /vision\s+running\s+8\s+unknown\s+unknown\s+not measured\s+unknown\s+no price\s+Why nothing\?/,
    );
    expect(await row('i-4')).toMatch(/unknown\s+not billed now/);
    expect(await page.locator('.figures').innerText()).toMatch(/\$80\.00\s+unknown for 1 of 2/);
    await page.getByLabel('Team').selectOption('vision');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect(page.url()).toContain('team=vision');
    await page.getByLabel('Team').selectOption('');
    await page.getByLabel('Find').fill('mystery');
    await page.getByLabel('Find').press('Enter');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: 'Why nothing? i-3' }).click();
    await page.getByRole('heading', { name: 'Why: instance/i-3' }).waitFor();
    await quiet(page);
    // A key of another team sees none of it.
    const other = await asKey(await w.keyFor({ teams: ['elsewhere'] }), 'GET', '/v1/fleet/details');
    expect(await other.json()).toMatchObject({ items: [] });
    expect(faults).toEqual([]);
  });

  it('shows a group by its machines; the sum is that of the rows, and the surest waste is first', async () => {
    const machine = (id: string, over: Partial<FleetTarget> = {}): FleetTarget =>
      instance(id, {
        name: 'twin',
        labels: { team: 'vision', 'bursar:target': 'asg/pool' },
        launchedAt: null,
        ...over,
      });
    const reading = {
      at: NOW - 60_000,
      complete: true,
      problems: [],
      targets: [
        group('pool', 2, { sku: null, gpuModel: null, gpus: null, labels: { team: 'vision' } }),
        machine('p-1'),
        machine('p-2'),
        instance('alone', { labels: { team: 'vision' }, launchedAt: NOW - 3_600_000 }),
      ],
    };
    await w.db.transaction(async (tx) => {
      await w.stores.fleet.save(tx, 'default', 'west', reading, () => 'vision');
      const shrink = recommendation({
        id: 'rec-pool',
        team: 'vision',
        policy: 'elsewhere',
        document: 'elsewhere',
        action: 'ScaleIn',
        target: 'asg/pool',
        expiresAt: '2026-12-01T00:00:00Z',
      });
      await w.stores.recommendations.replaceOpen(tx, 'default', 'vision', ['elsewhere'], [shrink], NOW);
    });
    const samples = (resource: string, gpuUtilisationRatio: number) =>
      Array.from({ length: 60 }, (_, at) => ({
        resource,
        gpu: 'GPU-1',
        gpuModel: 'H100',
        at: (NOW - (60 - at) * 60_000) / 1000,
        gpuUtilisationRatio,
      }));
    await w.call('POST', '/v1/samples', { samples: [...samples('p-1', 0), ...samples('alone', 0.1)] });
    const { page, open, faults } = await admin();
    await open('fleet?team=vision&words=');
    await page.getByRole('link', { name: 'pool', exact: true }).waitFor();
    const rows = (await page.getByRole('row').allInnerTexts()).slice(1).map((one) => one.replaceAll(/\s+/g, ' '));
    expect(rows.map((one) => /^\w+ instance\/p-\d|^[\w-]+/.exec(one)?.[0])).toEqual([
      'pool',
      'twin instance/p-1',
      'alone',
      'i-3',
      'twin instance/p-2',
    ]);
    expect(rows[0]).toMatch(/running 16 0% unknown 60 s ago \$160\.00 \$80\.00 to \$160\.00 Scale in/);
    expect(rows[1]).toMatch(/^twin instance\/p-1 at west .* \$80\.00 \$80\.00 for its group pool: Scale in/);
    expect(rows[2]).toMatch(/\$0\.00 to \$72\.00 Why nothing\?/);
    const [targets = '', , unused = ''] = await page.locator('.figure').allInnerTexts();
    expect(targets).toMatch(/5\s+2 of them are counted with what they are in/);
    expect(unused).toMatch(/\$80\.00 to \$232\.00\s+unknown for 1 of 3/);
    // On a phone what matters, and the rest when it is asked for.
    await page.setViewportSize({ width: 390, height: 900 });
    const seen = (name: string) => page.locator(`td[data-name="${name}"]`).first().isVisible();
    expect([await seen('Memory'), await seen('Cost an hour'), await seen('Recommendation')]).toEqual([
      false,
      true,
      true,
    ]);
    await page.getByRole('button', { name: 'Show all values' }).click();
    expect([await seen('Memory'), await seen('Cost an hour')]).toEqual([true, true]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'for its group pool: Scale in' }).first().click();
    await page.getByRole('heading', { name: 'Stop it' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('stays at a recommendation that is decided, with what became of it', async () => {
    const rejected = recommendation({
      id: 'rec-away',
      team: 'vision',
      policy: 'elsewhere',
      document: 'away',
      action: 'Stop',
      target: 'instance/alone',
      expiresAt: '2026-12-01T00:00:00Z',
    });
    await w.db.transaction((tx) =>
      w.stores.recommendations.replaceOpen(tx, 'default', 'vision', ['away'], [rejected], NOW),
    );
    const { page, open, faults } = await admin();
    await open('recommendations/rec-away');
    await page.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('Rejected', { exact: true }).waitFor();
    await page.reload();
    await quiet(page);
    await page.getByText('Rejected', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Reject', exact: true }).getAttribute('aria-disabled')).toBe('true');
    expect(faults).toEqual([]);
  });

  it('says what a key may decide, and why not; several are approved from the list after one question', async () => {
    const viewer = await asKey(await w.keyFor({ role: 'viewer' }), 'GET', '/v1/actions?state=proposed');
    expect(await viewer.json()).toMatchObject({ items: [{ may: { approve: { code: 'scope' } } }, {}] });
    const { items } = await w.call<{ items: { may: unknown }[] }>('GET', '/v1/actions?state=proposed');
    expect(items.map(({ may }) => may)).toEqual([
      { approve: null, reject: null, rollback: { code: 'nothing', message: expect.any(String) } },
      expect.anything(),
    ]);
    const { page, open, faults } = await admin();
    await open('actions?state=proposed');
    await page.getByLabel(/^Choose Stop instance\/i-1/).check();
    await page.getByLabel(/^Choose Stop instance\/i-2/).check();
    await page.getByRole('button', { name: 'Approve 2 chosen …' }).click();
    expect(w.cloud.done).toEqual([]);
    await page.getByRole('button', { name: 'Yes, approve 2' }).click();
    await page.getByText('2 of 2 approved.').waitFor();
    await expect
      .poll(() => w.cloud.done.map(({ effect }) => effect.target).sort(), { timeout: 20_000 })
      .toEqual(['instance/i-1', 'instance/i-2']);
    expect(faults).toEqual([]);
  });

  it.each([
    [1280, false, 'en-US'],
    [390, true, 'zh-CN'],
  ] as const)(
    'has no serious fault by axe and nothing too wide, at %i pixels, dark: %s',
    async (width, dark, locale) => {
      const { page, open, faults } = await visit({ key: w.admin, width, dark, locale });
      for (const at of [
        'costs?group-by=team,sku',
        'costs?sku=p5.48xlarge&from=2026-11-01&to=2026-11-03',
        'costs?sku=none',
        'fleet',
      ]) {
        await open(at);
        if (at.startsWith('costs')) await page.locator('details.views summary').click();
        expect({ at, found: await axe(page) }).toEqual({ at, found: [] });
        await expectNoOverflow(page, at);
      }
      expect(faults).toEqual([]);
    },
  );

  it('refuses what has expired while somebody looks at it, and shows how it stands', async () => {
    const late = recommendation({
      id: 'rec-late',
      team: 'vision',
      policy: 'elsewhere',
      document: 'late',
      action: 'Stop',
      target: 'instance/alone',
      expiresAt: '2026-12-01T00:00:00Z',
    });
    await w.db.transaction((tx) =>
      w.stores.recommendations.replaceOpen(tx, 'default', 'vision', ['late'], [late], NOW),
    );
    const { page, open, faults } = await admin();
    await open('recommendations/rec-late');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await approve.click();
    // As the line does once its time is over.
    await w.db.query(`update recommendation set status = 'expired' where id = 'rec-late'`);
    await page.getByRole('button', { name: 'Yes, approve' }).click();
    await page
      .getByText(/expired/)
      .first()
      .waitFor();
    await expect.poll(() => approve.getAttribute('aria-disabled'), { timeout: 20_000 }).toBe('true');
    expect(faults).toEqual([expect.stringContaining('409')]);
  });
});
