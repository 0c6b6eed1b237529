/**
 * Makes the README's pictures of the dashboard, light and 1280 wide, as WebP: `npm run screenshots`, which builds first.
 * It starts the product on an empty folder, as `npm start` does, and looks at what is there: the company of the example
 * is the same every time, its days and amounts go with the hour. Writes docs/images/*.webp and nothing else; needs a
 * Chromium (CHROMIUM names it, else /usr/bin/chromium).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const ROOT = path.resolve(import.meta.dirname, '..');
const FOLDER = path.join(ROOT, 'docs/images');
const MOST_BYTES = 120_000;
const QUALITY = 70;
const MOST_HEIGHT = 1400;
const PICTURES = [
  ['', 'overview'],
  ['teams/research', 'team'],
  ['recommendations', 'recommendations'],
  ['actions', 'actions'],
  ['costs?span=7&group-by=team', 'costs'],
];

async function picture(page, address, place, name) {
  await page.goto(`${address}/#/${place}`);
  await page.waitForFunction(
    () =>
      document.querySelector('h1') !== null &&
      document.querySelector('[aria-busy="true"]') === null &&
      [...document.querySelectorAll('.canvas')].every((one) => one.querySelector('canvas') !== null),
  );
  const height = Math.ceil(await page.evaluate(() => document.querySelector('footer').getBoundingClientRect().bottom));
  // Playwright itself writes no WebP (chromedevtools.github.io/devtools-protocol, Page.captureScreenshot).
  const debugged = await page.context().newCDPSession(page);
  const { data } = await debugged.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY,
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width: 1280, height: Math.min(height, MOST_HEIGHT), scale: 1 },
  });
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MOST_BYTES) throw new Error(`${name} has ${bytes.length} bytes: more than ${MOST_BYTES}`);
  const file = path.join(FOLDER, `${name}.webp`);
  await writeFile(file, bytes);
  console.log(`${file}: ${bytes.length} bytes`);
}

/** Starts it on an empty folder, and waits until it has said its address and its key. */
function start(folder) {
  const serving = spawn(process.execPath, [path.join(ROOT, 'dist/src/main.js'), 'serve'], {
    env: { ...process.env, BURSAR_DATA_DIR: folder, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  return new Promise((resolve, reject) => {
    serving.once('exit', () => reject(new Error(`it has ended before it was ready:\n${said}`)));
    serving.stderr.on('data', (chunk) => {
      said += chunk;
      const address = /Bursar is ready: (\S+)/.exec(said)?.[1];
      const key = /bursar_[0-9a-f]{12}_[\w-]{43}/.exec(said)?.[0];
      if (address !== undefined && key !== undefined) resolve({ serving, address, key });
    });
  });
}

await mkdir(FOLDER, { recursive: true });
const folder = await mkdtemp(path.join(tmpdir(), 'bursar-pictures-'));
const { serving, address, key } = await start(path.join(folder, 'data'));
try {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: 'en-US',
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      colorScheme: 'light',
    });
    await context.request.post(`${address}/session`, { headers: { 'x-bursar-session': 'pictures' }, data: { key } });
    const page = await context.newPage();
    for (const [place, name] of PICTURES) await picture(page, address, place, name);
  } finally {
    await browser.close();
  }
} finally {
  const ended = once(serving, 'exit');
  serving.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
}
