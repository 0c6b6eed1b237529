/**
 * Makes the README's pictures of the dashboard from the bundled example, light and 1280 wide: `node
 * scripts/screenshots.mjs` after `npm run build`.
 * The pages of actions and savings need something to act on: scripts/demonstration.mjs. Writes docs/images/*.png and
 * nothing else.
 */
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { withDemonstration } from './demonstration.mjs';

const FOLDER = path.resolve(import.meta.dirname, '../docs/images');
const MOST_BYTES = 200_000;
const MOST_HEIGHT = 1400;

async function picture(page, address, place, name) {
  await page.goto(`${address}/#/${place}`);
  await page.waitForFunction(
    () =>
      document.querySelector('h1') !== null &&
      document.querySelector('[aria-busy="true"]') === null &&
      [...document.querySelectorAll('.canvas')].every((one) => one.querySelector('canvas') !== null),
  );
  const height = Math.ceil(await page.evaluate(() => document.querySelector('footer').getBoundingClientRect().bottom));
  const file = path.join(FOLDER, `${name}.png`);
  await page.screenshot({
    path: file,
    clip: { x: 0, y: 0, width: 1280, height: Math.min(height, MOST_HEIGHT) },
    fullPage: true,
  });
  const { size } = await stat(file);
  if (size > MOST_BYTES) throw new Error(`${file} has ${size} bytes: more than ${MOST_BYTES}`);
  console.log(`${file}: ${size} bytes`);
}

await mkdir(FOLDER, { recursive: true });
await withDemonstration(
  async ({ address, key, act }) => {
    const browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
    try {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        locale: 'en-US',
        colorScheme: 'light',
      });
      await context.request.post(`${address}/session`, { headers: { 'x-bursar-session': 'pictures' }, data: { key } });
      const page = await context.newPage();
      await picture(page, address, '', 'overview');
      await picture(page, address, 'teams/serving', 'team');
      const { wait } = await act();
      await picture(page, address, 'recommendations', 'recommendations');
      await picture(page, address, 'actions', 'actions');
      await wait();
      await picture(page, address, 'savings', 'savings');
    } finally {
      await browser.close();
    }
  },
  (text) => console.log(text),
);
