/**
 * Reports, reservations, quotes, anomalies, reconciliation, the audit, and what every page has around it (navigation
 * with what waits, search, how old it is), in a real Chromium. The figures are those of tests/support/dashboard.ts,
 * reckoned by hand.
 */
import { expect, it } from 'vitest';
import { renderers } from '../../src/rendering/reports.js';
import { axe, browserFor, expectNoOverflow, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld, NOW } from '../support/dashboard.js';
import { instance } from '../support/memory-cloud.js';
import { describeWith } from '../support/programs.js';

const RATE = 'rate-0123456789abcdef';

describeWith('chromium', 'the pages of work', async (file) => {
  const w = await dashboardWorld(undefined, { reports: renderers });
  const visit = browserFor(file, () => w.address);
  const admin = (over: { width?: number; dark?: boolean; locale?: string } = {}): Promise<Visit> =>
    visit({ key: w.admin, ...over });
  const cells = async (page: Visit['page'], name: RegExp): Promise<string> =>
    page.getByRole('row', { name }).first().innerText();

  it('are offered by task with what waits there; the number falls when something is decided', async () => {
    const { page, faults } = await admin();
    const nav = page.getByRole('navigation', { name: 'Pages' });
    expect(
      await nav.getByRole('list').evaluateAll((all) => all.map((one) => one.getAttribute('aria-labelledby'))),
    ).toHaveLength(4);
    for (const [task, name] of [
      ['Look', 'Anomalies'],
      ['Decide', 'Quotes'],
      ['Set', 'Imports'],
      ['Prove', 'Audit'],
    ] as const)
      await nav.getByRole('list', { name: task }).getByRole('link', { name, exact: true }).waitFor();
    const waits = nav.getByRole('link', { name: 'Actions 2 waiting' });
    await waits.waitFor();
    const { alerts } = await w.call<{ alerts: number }>('GET', '/v1/waiting');
    expect(alerts).toBeGreaterThan(0);
    await nav.getByRole('link', { name: `Alerts ${alerts} waiting` }).waitFor();
    await waits.click();
    await page.getByRole('link', { name: /instance\/i-2/ }).click();
    await page.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByRole('button', { name: 'Reject it' }).click();
    await nav.getByRole('link', { name: 'Actions 1 waiting' }).waitFor();
    // What is of another team is not counted.
    const other = await visit({ key: await w.keyFor({ teams: ['vision'] }) });
    await other.open('actions');
    const nameIn = other.page.getByRole('navigation').getByRole('link', { name: /Actions/ });
    await other.page.getByRole('link', { name: 'Alerts 1 waiting' }).waitFor();
    expect(await nameIn.innerText()).toBe('Actions');
    expect([faults, other.faults]).toEqual([[], []]);
  });

  it('are reached on a phone by a menu that opens, and closes when a page is chosen', async () => {
    const { page, faults } = await admin({ width: 390 });
    const savings = page.getByRole('navigation').getByRole('link', { name: 'Savings' });
    expect(await savings.isVisible()).toBe(false);
    const menu = page.getByRole('button', { name: 'Menu' });
    await menu.click();
    expect(await menu.getAttribute('aria-expanded')).toBe('true');
    expect(await axe(page)).toEqual([]);
    await savings.click();
    await page.getByRole('heading', { name: 'Savings', level: 1 }).waitFor();
    expect([await savings.isVisible(), await menu.getAttribute('aria-expanded')]).toEqual([false, 'false']);
    expect(await menu.innerText()).toContain('Savings');
    expect(faults).toEqual([]);
  });

  it('find teams, targets and the rest from the keyboard, and nothing of another team', async () => {
    const reading = { at: NOW, complete: true, problems: [], targets: [instance('i-9', { name: 'trainer-of-lab' })] };
    await w.db.transaction((tx) => w.stores.fleet.save(tx, 'default', 'cloud', reading, () => 'lab'));
    const { page, open, faults } = await admin();
    await open('budgets');
    await page.keyboard.press('/');
    const field = page.getByRole('combobox', { name: 'Search' });
    expect(await field.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.keyboard.type('vision');
    const options = page.getByRole('listbox', { name: 'What was found' }).getByRole('option');
    const selected = options.and(page.getByRole('option', { selected: true }));
    await expect.poll(() => options.allInnerTexts()).toEqual(['Team Vision vision', 'Budget vision-month vision']);
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await selected.innerText()).toContain('vision-month');
    expect(await field.getAttribute('aria-activedescendant')).toBe(await selected.getAttribute('id'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Budget vision-month' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('a/b');
    expect(await field.inputValue()).toBe('a/b');
    await page.getByText('No id or name contains these words.').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('listbox').count()).toBe(0);
    // Enter alone opens the first.
    await field.fill('trainer-of');
    await expect.poll(() => options.allInnerTexts()).toEqual(['Target trainer-of-lab instance/i-9 lab']);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(page.url()).toContain('words=instance%2Fi-9');
    // Pages and settings too, by their names; the words are gone on the next page.
    await field.fill('audit');
    await expect.poll(() => options.allInnerTexts()).toEqual(['Page Audit']);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor();
    await field.fill('mute');
    await expect.poll(async () => (await options.allInnerTexts())[0]).toBe('Setting Mutes');
    await open('savings');
    await expect.poll(() => field.inputValue()).toBe('');
    const other = await visit({ key: await w.keyFor({ teams: ['vision'] }) });
    await other.page.getByRole('combobox', { name: 'Search' }).fill('lab');
    await other.page.getByText('No id or name contains these words').waitFor();
    expect([faults, other.faults]).toEqual([[], []]);
  });

  it('say how old they are, and are asked for again', async () => {
    const { page, open, faults } = await admin();
    await open('teams');
    await page.clock.install();
    await open('budgets');
    await page.getByText(/^updated \d s ago/).waitFor();
    await page.clock.fastForward(70_000);
    await page.getByText(/^updated 7\d s ago/).waitFor();
    await w.call('PUT', '/v1/teams/fresh', {});
    await w.call('PUT', '/v1/budgets/fresh-month', { team: 'fresh', planned: { default: '1' } });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText(/^updated \d s ago/).waitFor();
    await page.getByRole('link', { name: 'fresh-month' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('make a report, wait until it is there, and open it; they say when and to whom reports go', async () => {
    const { page, open, faults } = await admin();
    await open('reports?team=lab&month=2026-10');
    await page.getByText('There is no such report.').waitFor();
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('The report of lab for October 2026 is ready.').waitFor();
    await quiet(page);
    expect(await cells(page, /October 2026/)).toMatch(/lab\s+\$26,040\.00\s+whole month[^]*HTML[^]*PDF[^]*CSV/);
    const files = page.getByRole('row', { name: /October 2026/ }).getByRole('link');
    const got = async (name: string): Promise<string> => {
      const href = await files.filter({ hasText: name }).getAttribute('href');
      const response = await page.request.get(w.address + href);
      expect(response.status()).toBe(200);
      return response.headers()['content-type'] ?? '';
    };
    expect([await got('HTML'), await got('PDF'), await got('CSV')]).toEqual([
      expect.stringContaining('text/html'),
      'application/pdf',
      expect.stringContaining('text/csv'),
    ]);
    const [popup] = await Promise.all([page.waitForEvent('popup'), files.filter({ hasText: 'HTML' }).click()]);
    await popup.getByRole('heading', { level: 1 }).waitFor();
    await popup.close();
    await page.getByText('on day 4 of the following month at 00:00').waitFor();
    await page.getByRole('link', { name: 'Set day and hour' }).click();
    await page.getByLabel('Day', { exact: true }).fill('6');
    await page.getByLabel('Hour', { exact: true }).fill('9');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    expect(await w.call('GET', '/v1/reports/schedule')).toEqual({ day: 6, hour: 9 });
    await open('reports?team=lab&month=2026-10');
    await page.getByText('on day 6 of the following month at 09:00').waitFor();
    expect(await cells(page, /^lab\s+webhook/)).toMatch(/lab\s+webhook/);
    const settings = page.getByRole('link', { name: 'Settings > Alert routes' });
    expect(await settings.getAttribute('href')).toBe('#/settings/routes');
    // Its alert was sent to nobody: the page says why, not when.
    await w.db.query(`update report set announced_at = $1 where team = 'lab' and month = '2026-10'`, [new Date(NOW)]);
    await w.db.query(
      `insert into alert (organisation, id, identity, kind, team, severity, thread, news, state, silence, made_at)
       values ('default', 'alr-quiet', 'digest/lab/2026-10', 'digest', 'lab', 'info', 'digest/lab/2026-10', '{}', 'silent', 'before-connected', $1)
       on conflict (organisation, identity) do update set state = 'silent', silence = 'before-connected'`,
      [new Date(NOW)],
    );
    await page.reload();
    await quiet(page);
    expect(await cells(page, /October 2026/)).toContain('Silent: the period ended before any alert could be sent');
    // The months are those of the history, and no more.
    await open('reports');
    const offered = page.getByLabel('Month', { exact: true }).first().locator('option');
    const { rows } = await w.call<{ rows: { month: string }[] }>('GET', '/v1/costs?group-by=month');
    const [first = ''] = rows.map((row) => row.month).toSorted();
    const current = new Date(NOW).toISOString().slice(0, 7);
    const values = await offered.evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
    expect([values[0], values[1], values.at(-1)]).toEqual(['', current, first]);
    expect(values.length - 1).toBe(
      1 +
        (Number(current.slice(0, 4)) - Number(first.slice(0, 4))) * 12 +
        Number(current.slice(5)) -
        Number(first.slice(5)),
    );
    const viewer = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['vision'] }) });
    await viewer.open('reports');
    await viewer.page.getByText('needs the role operator; yours is viewer').waitFor();
    await viewer.page.getByText('This is not shown to you: it concerns all teams').waitFor();
    await viewer.page.getByText('There is no report yet.').waitFor();
    expect([faults, viewer.faults]).toEqual([[], []]);
  });

  it('quote a run where it is cheapest, ask the budgets, hold it as a reservation and let it go', async () => {
    await w.call('PUT', '/v1/teams/solo', {});
    await w.call('PUT', '/v1/budgets/solo-month', { team: 'solo', planned: { default: '5000' } });
    await w.runner.drain();
    const { page, open, faults } = await admin();
    await open('quotes');
    await page.getByLabel('Hours').fill('10');
    await page.getByLabel('Team').selectOption('lab');
    await page.getByRole('button', { name: 'Find the cheapest places' }).click();
    await expect
      .poll(() => cells(page, /p5\.48xlarge/))
      .toMatch(/AWS\s+p5\.48xlarge\s+H100\s+us-east-1\s+On demand\s+8\s+10\s+\$800\.00\s+Cheapest/);
    await page.getByRole('button', { name: /^Quote p5/ }).click();
    // Of vision, below lab, something has no price: nobody can tell, and nothing is held of it.
    await page.getByText('Unknown').first().waitFor();
    await page.getByRole('button', { name: /^Reserve .* of the budgets/ }).click();
    await page.getByRole('alert').waitFor();
    expect(faults.splice(0)).toEqual([expect.stringContaining('409')]);
    await page.getByLabel('Team').selectOption('solo');
    await page.getByRole('button', { name: /^Quote p5/ }).click();
    // It has no history: there is no forecast that could say that it holds.
    await page.getByText('They may not cover it').first().waitFor();
    expect(await cells(page, /solo-month/)).toMatch(
      /solo-month\s+solo\s+They may not cover it[^]*\$5,000\.00\s+\$5,000\.00\s+\$4,200\.00/,
    );
    await page.getByLabel('What it is for').fill('the run of Friday');
    await page.getByRole('button', { name: 'Reserve $800.00 of the budgets for it' }).click();
    await page.getByText(/^\$800\.00 is reserved until .*bursar\.io\/reservation=res-/).waitFor();
    await page.getByRole('status').getByRole('link', { name: 'The reservations' }).click();
    await page.getByRole('heading', { name: 'Reservations' }).waitFor();
    await quiet(page);
    const row = page.getByRole('row', { name: /the run of Friday/ });
    expect(await row.innerText()).toMatch(
      /solo\s+Holds\s+\$800\.00\s+solo-month\s+\$800\.00 held, \$0\.00 used, \$800\.00 left\s+key:/,
    );
    await row.getByRole('button', { name: 'Release' }).click();
    await row.getByRole('button', { name: 'Yes, release it' }).click();
    await page.getByText(/^res-\w+ is released/).waitFor();
    await page.getByText('Nothing is reserved.').waitFor();
    await page.getByLabel('State').selectOption('false');
    await expect.poll(() => cells(page, /the run of Friday/)).toMatch(/Released/);
    expect(await w.call('GET', '/v1/reservations?team=solo&active=false')).toMatchObject({
      items: [{ state: 'released', reason: 'the run of Friday' }],
    });
    const viewer = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['vision'] }) });
    await viewer.open('reservations');
    await viewer.page.getByText('Nothing is reserved.').waitFor();
    expect([faults, viewer.faults]).toEqual([[], []]);
  });

  it('list what is unusual, and lead to its day', async () => {
    await w.db.transaction((tx) =>
      w.stores.anomalies.keep(
        tx,
        'default',
        [
          {
            kind: 'anomaly',
            team: 'lab',
            what: 'spike',
            day: '2026-11-10',
            decidedDay: '2026-11-10',
            currency: 'USD',
            observed: '2400',
            expected: { low: '700', mean: '800', high: '900' },
            drivers: [{ name: 'p5.48xlarge', cost: '1600', share: 1 }],
          },
          {
            kind: 'price',
            team: null,
            what: 'dirty-price',
            provider: 'AWS',
            sku: 'p5.48xlarge',
            region: null,
            term: 'spot',
            effectiveFrom: '2026-11-01T00:00:00Z',
            decidedAt: '2026-11-01T00:00:00Z',
            currency: 'USD',
            observed: '0.01',
            expected: '2',
            source: 'list',
          },
        ],
        NOW,
      ),
    );
    const { page, open, faults } = await admin();
    await open('anomalies');
    expect(await page.getByRole('row').count()).toBe(3);
    expect(await cells(page, /^lab: /)).toMatch(
      /lab\s+Nov 10, 2026\s+\$2,400\.00\s+\$800\.00 \(\$700\.00 to \$900\.00\)\s+p5\.48xlarge \$1,600/,
    );
    expect(await cells(page, /price looks wrong/)).toMatch(/for all teams[^]*\$0\.01\s+\$2\.00/);
    await page.getByRole('link', { name: /^lab: / }).click();
    await page.getByRole('heading', { name: 'Costs', level: 1 }).waitFor();
    expect(page.url()).toContain('from=2026-11-10&to=2026-11-11&team=lab');
    const other = await visit({ key: await w.keyFor({ teams: ['vision'] }) });
    await other.open('anomalies');
    await other.page.getByText('Nothing unusual was found.').waitFor();
    expect([faults, other.faults]).toEqual([[], []]);
  });

  it('show how bills differ, by finding, team and SKU, and take a learned rate back', async () => {
    const variance = (
      team: string,
      on: string,
      sku: string,
      accrued: string | null,
      amount: string,
      reasons: string,
    ): Promise<unknown> =>
      w.db.query(
        `insert into variance (organisation, team, source, month, day, id, provider, sku, billed_terms, category, currency, accrued, compared, amount, reasons)
         values ('default', $1::text, 'cur', '2026-10', $2::date, md5($1::text || $2::text || $3::text || $6::text), 'AWS', $3::text, '{}', 'Usage', 'USD', $4::numeric, coalesce($4::numeric, 0) + $5::numeric, $5::numeric, array[$6::text])`,
        [team, on, sku, accrued, amount, reasons],
      );
    await variance('lab', '2026-10-01', 'p5.48xlarge', '100', '10', 'rate');
    await variance('lab', '2026-10-02', 'p5.48xlarge', '300', '-50', 'quantity');
    await variance('vision', '2026-10-01', 'tax', null, '7', 'apart');
    await variance('vision', '2026-10-01', 'g6e.12xlarge', null, '12', 'only-billed');
    await w.db.query(
      `insert into variance_finding (organisation, team, source, month, id, provider, sku, currency, accrued, compared, amount, ratio, days, reasons, found_at, seen_at)
       values ('default', 'lab', 'cur', '2026-10', md5('a'), 'AWS', 'p5.48xlarge', 'USD', 400, 360, -40, -0.1, 2, '{rate}', $1, $1)`,
      [new Date(NOW)],
    );
    await w.db.query(
      `insert into learned_rate (organisation, id, source, month, provider, sku, period_start, period_end, applies_from, numerator, denominator, trusted, distrust, metered_part_ms, evidence, learned_at)
       values ('default', $2, 'cur', '2026-10', 'AWS', 'p5.48xlarge', $1, $1, $1, 9, 10, true, '{}', 1,
         '{"days":2,"meteredGpuHours":"80","billedGpuHours":null,"listCost":"400","charged":"360","billedList":null,"currency":"USD"}', $1)`,
      [new Date(NOW), RATE],
    );
    const { page, open, faults } = await admin();
    await open('reconciliation?month=2026-10');
    const card = (name: string): ReturnType<typeof page.getByRole> => page.getByRole('region', { name }).first();
    expect(await card('Findings').getByRole('row').nth(1).innerText()).toMatch(
      /lab\s+AWS p5\.48xlarge\s+2 days\s+October 2026\s+cur\s+\$400\.00\s+\$360\.00\s+-\$40\.00\s+-10%\s+another price\s+Open/,
    );
    const differences = card('Differences by team and SKU');
    expect(await differences.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Team'),
      expect.stringMatching(
        /lab\s+AWS p5\.48xlarge\s+\$400\.00\s+\$360\.00\s+-\$40\.00\s+-10%\s+(another price, other GPU-hours|other GPU-hours, another price)/,
      ),
      expect.stringMatching(/vision\s+AWS g6e\.12xlarge\s+unknown\s+\$12\.00\s+\$12\.00\s+unknown\s+only billed/),
    ]);
    await card('Settings').getByText('beyond 5% and 10 of its currency').waitFor();
    const rate = page.getByRole('row', { name: new RegExp(RATE) });
    expect(await rate.innerText()).toMatch(
      /0\.9\s+\$360\.00 charged of a list price of \$400\.00\s+2 days, 80 GPU-hours\s+Trusted/,
    );
    await rate.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('button', { name: 'Yes, withdraw it permanently' }).click();
    await page.getByText(`${RATE} is withdrawn`).waitFor();
    await expect
      .poll(() => card('Rates learned from bills').getByRole('row').nth(1).innerText())
      .toMatch(/Withdrawn\s+by key:/);
    const other = await visit({ key: await w.keyFor({ teams: ['vision'] }) });
    await other.open('reconciliation');
    await other.page.getByText('No difference is beyond the threshold.').waitFor();
    await other.page.getByText('This is not shown to you: it concerns all teams').waitFor();
    expect(await other.page.getByText('p5.48xlarge').count()).toBe(0);
    expect([faults, other.faults]).toEqual([[], []]);
  });

  it('show the audit by who, what, target and time, and whether it is whole', async () => {
    const { page, open, faults } = await admin();
    await open('audit');
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('Complete and unchanged').waitFor();
    await page.getByText(/\d+ entries looked at\./).waitFor();
    await page.getByLabel('What', { exact: true }).fill('team.save');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/verb=team\.save/);
    await quiet(page);
    const rows = page.getByRole('group', { name: 'Audit' }).getByRole('row');
    const all = (await rows.allInnerTexts()).slice(1);
    expect(all.length).toBeGreaterThan(2);
    expect(all.filter((row) => !row.includes('team.save'))).toEqual([]);
    await rows.getByRole('link', { name: 'solo', exact: true }).click();
    await expect.poll(() => rows.count()).toBe(2);
    expect(page.url()).toContain('verb=team.save&target=solo');
    await page.getByLabel('Last day').fill('2020-01-01');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('There are no such entries.').waitFor();
    const href = await page.getByRole('link', { name: 'Export as JSON lines' }).getAttribute('href');
    const [first] = (await (await page.request.get(w.address + href)).text()).split('\n');
    expect(JSON.parse(first ?? '')).toMatchObject({ seq: '1', hash: expect.any(String) });
    const viewer = await visit({ key: await w.keyFor({ role: 'operator' }) });
    await viewer.open('audit');
    await viewer.page.getByText('This is not shown to you: it needs the role admin').waitFor();
    expect([faults, viewer.faults]).toEqual([[], []]);
  });

  it.each([
    [1280, false, 'en-US'],
    [390, true, 'zh-CN'],
  ] as const)(
    'have no serious fault by axe and nothing too wide, at %i pixels, dark: %s',
    async (width, dark, locale) => {
      const { page, open, faults } = await admin({ width, dark, locale });
      for (const at of [
        'reports',
        'reservations?active=false',
        'quotes',
        'anomalies',
        'reconciliation',
        'audit',
        'actions',
        'imports',
        'sessions',
      ]) {
        await open(at);
        if (at === 'quotes') {
          await page.locator('form button.primary').click();
          await page.locator('td button').first().click();
          await page.locator('details').first().waitFor();
        }
        expect({ at, found: await axe(page) }).toEqual({ at, found: [] });
        await expectNoOverflow(page, at);
      }
      expect(faults).toEqual([]);
    },
  );
});
