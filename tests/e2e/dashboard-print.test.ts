/** A report's page on paper, as a real Chromium prints it: A4 upright, and nothing beyond its edges. */
import { chromium } from 'playwright-core';
import { expect, it } from 'vitest';
import { readerOf } from '../../src/core/report/reader.js';
import { renderers } from '../../src/rendering/reports.js';
import { reportOf, saving } from '../support/report.js';
import { describeWith } from '../support/programs.js';

const POINTS = 72 / 25.4;
/** CSS pixels between the margins of an upright A4. */
const ROOM = Math.floor(((210 - 2 * 14) / 25.4) * 96);

describeWith('chromium', 'the printed page', (file) => {
  it.each(['en', 'zh'] as const)('is A4 upright with nothing cut off (%s)', async (language) => {
    const nanos = 9_876_543_210_000_000n;
    const month = { counterfactual: nanos, actual: nanos, measured: nanos, verified: nanos, unverifiableHours: 0 };
    const report = reportOf({
      savings: [
        saving({ target: `instance/${'x'.repeat(120)}`, savedToDate: nanos, month, team: 'a-team-of-a-long-name' }),
        saving({ action: 'act-2', estimate: { mean: nanos, low: nanos, high: nanos } }),
      ],
    });
    const bytes = (await renderers.get('html')?.render(report, readerOf(language))) ?? new Uint8Array();
    const browser = await chromium.launch({ executablePath: file, args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage({ viewport: { width: ROOM, height: 900 } });
      await page.setContent(new TextDecoder().decode(bytes));
      await page.emulateMedia({ media: 'print' });
      const beyond = await page.evaluate((room) => {
        const shown = [...document.querySelectorAll('main *')].filter((one) => one.closest('svg') === null);
        const over = shown.filter((one) => one.getBoundingClientRect().right > room + 0.5);
        // A block that holds more than it is wide writes over its neighbour.
        const full = shown.filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1);
        return [...over, ...full].map((one) => `${one.tagName} ${one.textContent?.slice(0, 40)}`);
      }, ROOM);
      expect(beyond).toEqual([]);
      const heads = await page
        .locator('table.wide thead')
        .evaluateAll((all) => all.map((one) => one.checkVisibility()));
      expect(heads.length).toBeGreaterThan(3);
      expect(new Set(heads)).toEqual(new Set([false]));
      // Each value says what it is.
      const named = await page
        .locator('table.wide tbody :is(th, td)')
        .evaluateAll((all) => all.map((one) => getComputedStyle(one, '::before').content));
      expect(named.filter((content) => content.length < 4)).toEqual([]);
      const pdf = Buffer.from(await page.pdf({ preferCSSPageSize: true })).toString('latin1');
      const boxes = [...pdf.matchAll(/\/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]/g)].map(([, ...size]) => size.map(Number));
      expect(boxes.length).toBeGreaterThan(1);
      for (const [width = 0, height = 0] of boxes)
        expect([Math.abs(width - 210 * POINTS) < 1, Math.abs(height - 297 * POINTS) < 1]).toEqual([true, true]);
    } finally {
      await browser.close();
    }
  });
});
