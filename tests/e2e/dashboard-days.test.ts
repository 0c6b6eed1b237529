/**
 * The days that the dashboard shows and asks for, in a real Chromium: those of a budget's or a team's own zone, one
 * mark a day below a picture, and a day that is typed. The figures are reckoned by hand (tests/support/dashboard.ts).
 */
import { expect, it } from 'vitest';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import { enqueue } from '../../src/store/work.js';
import { browserFor, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld, P5 } from '../support/dashboard.js';
import { describeWith } from '../support/programs.js';

const isQuestion = (url: string): boolean => url.includes('/v1/costs/breakdown');

/** What is written on every canvas from now on. */
const watchTexts = async (page: Visit['page']): Promise<void> => {
  await page.addInitScript(() => {
    const written: string[] = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    Object.assign(window, { written });
    CanvasRenderingContext2D.prototype.fillText = function write(this: CanvasRenderingContext2D, text, ...at): void {
      written.push(text);
      fillText.call(this, text, ...at);
    };
  });
};

/** The days below the pictures, as often as they stand there. */
const daysBelow = async (page: Visit['page']): Promise<string[]> => {
  const written = await page.evaluate(() => (window as unknown as { written: string[] }).written.splice(0));
  return written.filter((text) => /^[A-Z][a-z]{2} \d+$/.test(text));
};

describeWith('chromium', 'the days of the dashboard', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);

  it.each(['UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Shanghai', 'Asia/Kathmandu', 'Pacific/Auckland'])(
    "of a budget in %s are those of its zone: on its page, its team's and its alert's",
    async (zone) => {
      const id = `in-${zone.toLowerCase().replace(/\W/g, '-')}`;
      await w.call('PUT', `/v1/budgets/${id}`, {
        team: 'vision',
        zone,
        planned: { default: '9000' },
        thresholds: [{ kind: 'actual', ratio: '0.01' }],
      });
      await w.runner.drain();
      const { page, open, faults } = await visit({ key: w.admin });
      await open(`budgets/${id}`);
      await page.getByText(`Nov 1, 2026 to Nov 30, 2026 in the zone ${zone}`).waitFor();
      await page.getByRole('figure', { name: 'Nov 1, 2026 to Nov 30, 2026', exact: true }).waitFor();
      await open('teams/vision');
      const cards = page.getByRole('region', { name: `Budget ${id}` });
      await cards.getByRole('figure', { name: 'Nov 1, 2026 to Nov 30, 2026', exact: true }).waitFor();
      await w.db.transaction((tx) => enqueue(tx, 'default', [MAKE_ITEM]));
      await w.runner.drain();
      const { items } = await w.call<{ items: { id: string; news: { budget?: string } }[] }>('GET', '/v1/alerts');
      await open(`alerts/${items.find(({ news }) => news.budget === id)?.id}`);
      await page.getByText('November 2026', { exact: true }).waitFor();
      await open('budgets');
      const warning = page.getByText('Days of Asia/Kathmandu begin within an hour of UTC');
      await page.getByRole('link', { name: id }).waitFor();
      expect(await warning.count()).toBe(zone === 'Asia/Kathmandu' ? 1 : 0);
      expect(faults).toEqual([]);
      await w.call('DELETE', `/v1/budgets/${id}`);
    },
  );

  it("of a team's costs begin where its zone's do, and say how a cut hour counts", async () => {
    await w.call('PUT', '/v1/teams/india', { zone: 'Asia/Kolkata' });
    await w.call('POST', '/v1/usage', [
      {
        id: 'late',
        ...P5,
        tags: { team: 'india' },
        // From 01:30 to 03:30 of the 13th in India, still the 12th in UTC.
        start: '2026-11-12T20:00:00Z',
        end: '2026-11-12T22:00:00Z',
      },
    ]);
    const { rules } = await w.call<{ rules: unknown[] }>('GET', '/v1/rules');
    const forIndia = { match: { tag: { key: 'team', value: 'india' } }, team: 'india' };
    await w.call('PUT', '/v1/rules', { rules: [...rules, forIndia] });
    await w.runner.drain();
    const { page, open, faults } = await visit({ key: w.admin });
    await open('teams/india');
    await page.getByText('Days of Asia/Kolkata begin within an hour of UTC').first().waitFor();
    const figure = page.getByRole('figure', { name: 'Actual cost per day in USD' });
    await figure.getByRole('button', { name: 'Show as table' }).click();
    expect((await figure.getByRole('row').allInnerTexts()).slice(1)).toEqual([
      expect.stringMatching(/^Nov 13, 2026\s+\$160\.00$/),
    ]);
    await open('teams/vision');
    await page.getByRole('figure').first().waitFor();
    expect(await page.getByText('begin within an hour').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it.each([1280, 360])('stand once each below a picture of a few, and none beside it (%i pixels)', async (width) => {
    const { page, open, faults } = await visit({ key: w.admin, width });
    await watchTexts(page);
    await page.reload();
    for (const days of [1, 2, 3, 4, 5, 7, 10, 30]) {
      await open(`costs?from=2026-11-01&to=${new Date(Date.UTC(2026, 10, 1 + days)).toISOString().slice(0, 10)}`);
      await daysBelow(page);
      // Drawn again, since the first drawing is of a page that is being laid out.
      await page.reload();
      await quiet(page);
      const all = Array.from({ length: days }, (_, at) => `Nov ${at + 1}`);
      await expect
        .poll(() => page.evaluate(() => (window as unknown as { written: string[] }).written.length))
        .not.toBe(0);
      const shown = await daysBelow(page);
      const once = [...new Set(shown)];
      // A picture is drawn as a whole: each of its days as often as its first.
      const times = new Set(once.map((day) => shown.filter((one) => one === day).length));
      expect({ days, strange: once.filter((day) => !all.includes(day)), times: times.size }).toEqual({
        days,
        strange: [],
        times: 1,
      });
      if (width > 1000 && days <= 5) expect(once).toEqual(all);
    }
    expect(faults).toEqual([]);
  });

  it('that is typed is asked for once, when its field is left or Enter is pressed; one that is picked at once', async () => {
    const { page, open, faults } = await visit({ key: w.admin });
    await open('costs?from=2026-10-20&to=2026-11-19');
    const asked: string[] = [];
    page.on('request', (request) => isQuestion(request.url()) && asked.push(request.url()));
    const places = (): Promise<number> => page.evaluate(() => history.length);
    const before = await places();
    const from = page.getByLabel('From', { exact: true });
    await from.focus();
    await page.keyboard.type('11052026', { delay: 40 });
    expect([asked, await places()]).toEqual([[], before]);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('from=2026-11-05&to=2026-11-19');
    await expect.poll(() => asked.length).toBe(1);
    await quiet(page);
    expect([(await places()) - before, asked.length]).toEqual([1, 1]);
    await page.getByLabel('Last day').focus();
    await page.keyboard.type('11102026');
    await page.keyboard.press('Shift+Tab');
    await page.getByLabel('Currency').focus();
    await expect.poll(() => page.url()).toContain('from=2026-11-05&to=2026-11-11');
    await expect.poll(() => asked.length).toBe(2);
    await quiet(page);
    expect([(await places()) - before, asked.length]).toEqual([2, 2]);
    await from.fill('2026-11-07');
    await expect.poll(() => page.url()).toContain('from=2026-11-07&to=2026-11-11');
    expect(faults).toEqual([]);
  });

  it('that is typed beyond the other end takes it along', async () => {
    const { page, open, faults } = await visit({ key: w.admin });
    await open('costs?from=2026-10-20&to=2026-10-25');
    await page.getByLabel('From', { exact: true }).focus();
    await page.keyboard.type('11012026');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('from=2026-11-01&to=2026-11-02');
    const last = page.getByLabel('Last day');
    await expect.poll(() => last.inputValue()).toBe('2026-11-01');
    await last.focus();
    await page.keyboard.type('10282026');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('from=2026-10-28&to=2026-10-29');
    // No end stays none.
    await open('costs?from=2026-10-20');
    await page.getByLabel('From', { exact: true }).fill('2026-11-01');
    await expect.poll(() => page.url()).toMatch(/[?]from=2026-11-01$/);
    expect(faults).toEqual([]);
  });

  it('that is half typed is not taken for none, and does not keep who goes on', async () => {
    const { page, open, faults } = await visit({ key: w.admin });
    await open('costs?from=2026-10-20&to=2026-11-19');
    const asked: string[] = [];
    page.on('request', (request) => isQuestion(request.url()) && asked.push(request.url()));
    const before = page.url();
    const from = page.getByLabel('From', { exact: true });
    const isThere = (): Promise<boolean> => from.evaluate((one) => one === document.activeElement);
    // Once: `focus()` of the browser's driver is two.
    const leave = (): Promise<void> => page.getByLabel('Currency').evaluate((one) => one.focus());
    await from.focus();
    await page.keyboard.press('Delete');
    await page.keyboard.press('Enter');
    expect(await isThere()).toBe(true);
    await page.keyboard.press('ArrowRight');
    await leave();
    expect(await isThere()).toBe(true);
    await leave();
    expect(await isThere()).toBe(false);
    await quiet(page);
    expect([page.url(), asked]).toEqual([before, []]);
    await from.focus();
    await page.keyboard.type('11052026');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('from=2026-11-05&to=2026-11-19');
    // Emptied altogether, it is none.
    await from.fill('');
    await from.blur();
    await expect.poll(() => page.url()).not.toContain('from=');
    expect(faults).toEqual([]);
  });
});
