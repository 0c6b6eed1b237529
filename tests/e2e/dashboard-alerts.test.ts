/**
 * Where alerts lead: every address that was told leads to its page in a real Chromium, the budget's page has what the
 * alert speaks of, and an alert shows where it went and is taken on. The figures are those of
 * tests/support/dashboard.ts, reckoned by hand.
 */
import { expect, it } from 'vitest';
import { identityOf } from '../../src/core/alert/alert.js';
import { messageOf } from '../../src/core/alert/compose.js';
import { ENGLISH } from '../../src/core/alert/texts.js';
import { axe, browserFor, expectNoOverflow, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld } from '../support/dashboard.js';
import { describeWith } from '../support/programs.js';

describeWith('chromium', 'the pages that alerts lead to', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);
  const admin = (over: { width?: number; dark?: boolean } = {}): Promise<Visit> => visit({ key: w.admin, ...over });
  const figure = (page: Visit['page'], name: string): Promise<string> =>
    page
      .locator('.figure')
      .filter({ has: page.getByText(name, { exact: true }) })
      .locator('.value')
      .innerText();

  it('are there for every alert that was told', async () => {
    const { page, faults } = await admin();
    const addresses = await Promise.all(
      w.told.map(async ({ news }) => {
        const alert = (await w.stores.alerts.list('default', { teams: null }, null, 100))
          .map((one) => one.alert)
          .find((one) => identityOf(one.news) === identityOf(news));
        return alert === undefined ? '' : (messageOf(alert, ENGLISH, w.address).link?.url ?? '');
      }),
    );
    expect(new Set(w.told.map(({ news }) => news.kind))).toEqual(new Set(['budget', 'approval']));
    for (const address of new Set(addresses)) {
      await page.goto(address);
      await quiet(page);
      expect({ address, heading: await page.getByRole('heading', { level: 1 }).innerText() }).toEqual({
        address,
        heading: expect.stringMatching(/^(Budget vision-month|Stop instance\/i-[12])$/),
      });
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    expect(faults).toEqual([]);
  });

  it('show a budget: its state, its burn-down with the interval, its thresholds, what drives it', async () => {
    const { page, open, faults } = await admin();
    await open('budgets');
    await page.getByRole('link', { name: 'vision-month' }).click();
    await page.getByRole('heading', { name: 'Budget vision-month' }).waitFor();
    await quiet(page);
    expect([await figure(page, 'Spent'), await figure(page, 'Planned'), await figure(page, 'Left')]).toEqual([
      '$680.00',
      '$600.00',
      '-$80.00',
    ]);
    await page.getByText('ran out Nov 15, 2026').waitFor();
    const thresholds = page.getByRole('region', { name: 'Thresholds' }).last();
    expect(await thresholds.getByRole('row').nth(1).innerText()).toMatch(/80% by actual spend\s+\$480\s+crossed/);
    expect(await thresholds.getByRole('row').nth(3).innerText()).toMatch(
      /200% by forecast\s+\$1,200\s+not crossed in this period/,
    );
    // All of it is four L40S: the mystery of one day has no price.
    expect(
      await page.getByRole('region', { name: 'What drives the spend' }).last().getByRole('row').nth(1).innerText(),
    ).toMatch(/AWS g6e.12xlarge\s+\$680\s+100%/);
    const picture = page.getByRole('figure');
    await picture.getByRole('button', { name: 'Show as table' }).click();
    expect(await picture.getByRole('columnheader').allInnerTexts()).toEqual([
      'Day',
      'Spent so far',
      'Forecast',
      'Forecast, low end',
      'Forecast, high end',
      'Planned',
    ]);
    expect(await picture.getByRole('row').nth(10).innerText()).toMatch(
      /Nov 10, 2026\s+\$400.00\s+unknown\s+unknown\s+unknown\s+\$600.00/,
    );
    await page
      .getByRole('region', { name: 'Alerts about it' })
      .getByRole('link', { name: 'vision: 100% of the budget vision-month is spent' })
      .waitFor();
    expect(faults).toEqual([]);
  });

  it('show what is reserved of a budget, and what would save, of the team and those below it', async () => {
    const { page, open, faults } = await admin();
    await open('budgets/lab-month');
    expect([await figure(page, 'Spent'), await figure(page, 'Committed'), await figure(page, 'Reserved part')]).toEqual(
      ['$14,280.00', '$640.00', '$640.00'],
    );
    expect(await page.getByRole('row', { name: /fine-tuning of Thursday/ }).innerText()).toMatch(
      /lab\s.*\$640.00\s+\$0.00\s+\$640.00/s,
    );
    await page.getByText('No threshold is set').waitFor();
    await page.getByText('2 teams').waitFor();
    expect(faults).toEqual([]);
  });

  it('list the alerts by team and state', async () => {
    const { page, open, faults } = await admin();
    await open('alerts');
    const rows = page.getByRole('row');
    // The head, and the lower threshold, which the message about the higher one names.
    expect(await rows.count()).toBe(2 + w.told.length);
    await page.getByLabel('Team').selectOption('vision');
    await quiet(page);
    expect(await rows.count()).toBe(3);
    await page.getByLabel('State').selectOption('open');
    await quiet(page);
    expect(await rows.count()).toBe(2);
    expect(await rows.nth(1).innerText()).toMatch(
      /vision: 100% of the budget vision-month is spent\s+Critical\s+Waits for an answer/,
    );
    expect(page.url()).toContain('#/alerts?team=vision&state=open');
    await page.getByLabel('About').selectOption('anomaly');
    await page.getByText('No alert matches.').waitFor();
    expect(faults).toEqual([]);
  });

  it('show where an alert went and when it goes further; taking it on ends that', async () => {
    const { page, open, faults } = await admin();
    await open('alerts?team=vision&state=open');
    await page.getByRole('link', { name: /100% of the budget/ }).click();
    await page.getByRole('heading', { name: 'vision: 100% of the budget vision-month is spent' }).waitFor();
    await quiet(page);
    expect(await page.getByRole('row', { name: /webhook/ }).innerText()).toMatch(/webhook\s+message\s+first\s+Sent/);
    await page
      .getByText('If nobody answers, it goes to email head@lab.example on Nov 18, 2026, 6:00 PM UTC.')
      .waitFor();
    await page.getByRole('link', { name: /80% of the budget/ }).waitFor();
    await page.getByText('The budget vision-month now:').waitFor();
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText(/^Taken on by .*, Nov 18, 2026/).waitFor();
    expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
    const { items } = await w.call<{
      items: { state: string; answer: { what: string } | null; news: { threshold: { ratio: string } } }[];
    }>('GET', '/v1/alerts?team=vision');
    expect(items.find(({ news }) => news.threshold.ratio === '1')).toMatchObject({
      state: 'answered',
      answer: { what: 'acknowledged' },
    });
    expect(faults).toEqual([]);
  });

  it('lead from a request for approval to its action, and offer a viewer nothing to press', async () => {
    const { page, open, faults } = await admin();
    await open('alerts?kind=approval');
    await page.getByRole('link', { name: 'lab: Stop instance/i-1?' }).click();
    await page.getByRole('link', { name: 'Decide its action' }).click();
    await page.getByRole('heading', { name: 'Stop instance/i-1' }).waitFor();
    expect(faults).toEqual([]);
    const viewer = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['vision'] }) });
    await viewer.open('alerts');
    expect(await viewer.page.getByRole('row').count()).toBe(3);
    await viewer.open('budgets/lab-month');
    await viewer.page.getByText('it is outside your teams; you see only vision').waitFor();
    expect(viewer.faults.splice(0)).toEqual(expect.arrayContaining([expect.stringContaining('403')]));
  });

  it.each([
    [1280, false],
    [390, true],
  ] as const)('have no serious fault by axe and nothing too wide, at %i pixels, dark: %s', async (width, dark) => {
    const { page, open, faults } = await admin({ width, dark });
    const { items } = await w.call<{ items: { id: string }[] }>('GET', '/v1/alerts');
    for (const place of [
      'budgets',
      'budgets/lab-month',
      'budgets/vision-month',
      'alerts',
      ...items.slice(0, 3).map(({ id }) => `alerts/${id}`),
    ]) {
      await open(place);
      expect({ place, found: await axe(page) }).toEqual({ place, found: [] });
      await expectNoOverflow(page, place);
    }
    expect(faults).toEqual([]);
  });
});
