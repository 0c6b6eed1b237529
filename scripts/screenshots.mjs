/**
 * Makes the README's pictures of the dashboard, light and 1280 wide: `node scripts/screenshots.mjs` after `npm run
 * build`. It starts the product on an empty folder, as `npm start` does, and looks at what is there. Writes
 * docs/images/*.png and nothing else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';

const ROOT = path.resolve(import.meta.dirname, '..');
const FOLDER = path.join(ROOT, 'docs/images');
const MOST_BYTES = 250_000;
const MOST_HEIGHT = 1400;
const PICTURES = [
  ['', 'overview'],
  ['teams/research', 'team'],
  ['recommendations', 'recommendations'],
  ['actions', 'actions'],
  ['savings', 'savings'],
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
