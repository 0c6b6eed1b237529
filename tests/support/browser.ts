/**
 * A browser on the dashboard: signs in, and notes every fault that a reader would not see: console errors, failed and
 * foreign requests, bytes.
 */
import { chromium, type Browser, type Page } from 'playwright-core';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { englishRuns } from './english.js';

export interface Visit {
  readonly page: Page;
  /** Console errors, exceptions, and requests to anybody else. Empty where all is well. */
  readonly faults: string[];
  /** Compressed bytes of every body that the pages of the visit loaded so far. */
  loaded(): Promise<number>;
  /** Opens a page by its address after `#/` and waits until nothing loads. */
  open(place: string): Promise<void>;
}

export interface VisitOptions {
  /** Signs in with it; null: does not sign in. */
  readonly key: string | null;
  readonly width?: number;
  readonly dark?: boolean;
  /** BCP 47, of the browser. */
  readonly locale?: string;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * A browser for the file or block. Each visit has a context of its own: no cookie is shared. It ends with its test,
 * since an open page goes on asking the server and drawing.
 */
export function browserFor(file: string, addressOf: () => string): (options: VisitOptions) => Promise<Visit> {
  let browser: Browser;
  beforeAll(async () => {
    // The sandbox needs rights that a test's container rarely has.
    browser = await chromium.launch({ executablePath: file, args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());
  return async ({ key, width = 1280, dark = false, locale = 'en-US' }) => {
    const address = addressOf();
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      locale,
      timezoneId: 'America/New_York',
      colorScheme: dark ? 'dark' : 'light',
      acceptDownloads: true,
    });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    // A report, with its pictures, takes half a minute beside a full machine.
    page.setDefaultTimeout(60_000);
    const [faults, bodies] = [[] as string[], [] as Promise<number>[]];
    page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(address) && !url.startsWith('blob:')) faults.push(`a request to ${url}`);
    });
    page.on('requestfinished', (request) =>
      bodies.push(
        request.sizes().then(
          ({ responseBodySize }) => responseBodySize,
          () => 0,
        ),
      ),
    );
    const open = async (place: string): Promise<void> => {
      await page.goto(`${address}/#/${place}`);
      await quiet(page);
    };
    await page.goto(address);
    if (key !== null) await signIn(page, key);
    await quiet(page);
    return { page, faults, open, loaded: async () => (await Promise.all(bodies)).reduce((sum, size) => sum + size, 0) };
  };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.locator('input[type=password]').fill(key);
  await page.locator('form button.primary').click();
  await page.getByRole('navigation').waitFor();
}

/** What the one who uses the keyboard is at: its name or its text. */
export const focusedOn = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const one = document.activeElement;
    return (one?.getAttribute('aria-label') ?? one?.textContent ?? '').trim();
  });

/** What a click sets off shows some frames later: the address changes, the page is drawn, and then it loads. */
const QUIET_FRAMES = 5;

/** Waits until no part of the page loads any more, and every picture is drawn, for some frames one after the other. */
export async function quiet(page: Page): Promise<void> {
  interface Counting {
    quietFrames?: number;
  }
  await page.evaluate(() => delete (window as Counting).quietFrames);
  await page.waitForFunction((frames) => {
    const isQuiet =
      document.querySelector('[aria-busy="true"]') === null &&
      document.querySelector('h1') !== null &&
      [...document.querySelectorAll('.canvas')].every((one) => one.querySelector('canvas') !== null);
    const seen = window as Counting;
    seen.quietFrames = isQuiet ? (seen.quietFrames ?? 0) + 1 : 0;
    return seen.quietFrames >= frames;
  }, QUIET_FRAMES);
}

/**
 * What axe finds by all of its standing rules (WCAG A and AA, best practices), but the minor, as readable lines.
 */
export async function axe(page: Page): Promise<string[]> {
  // Evaluated by the browser's debugger, which the page's policy does not bind.
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { axe: run } = window as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    return (await run.run()).violations;
  });
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
    );
}

/** Wider than a phone. */
const WIDE = 600;
/** A small computer with the menu beside the page, and the least room that a table has before its rows become lists. */
const SMALLER = [1024, 640];
/** A small phone. */
const SMALLEST = [360];

/**
 * Whether anything is wider than the window, or a table than its place: in the window as it is and in smaller ones.
 */
export async function expectNoOverflow(page: Page, place: string): Promise<void> {
  const size = page.viewportSize() ?? { width: 1280, height: 900 };
  for (const width of [size.width, ...(size.width > WIDE ? SMALLER : SMALLEST)]) {
    await page.setViewportSize({ ...size, width });
    const measured = (): Promise<{ wide: boolean; cut: (string | null)[] }> =>
      page.evaluate(() => ({
        wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        cut: [...document.querySelectorAll('.scroll')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1)
          .map((one) => one.getAttribute('aria-label')),
      }));
    // Pictures follow the window a moment later.
    await expect
      .poll(async () => ({ place, width, ...(await measured()) }), { timeout: 10_000 })
      .toEqual({ place, width, wide: true, cut: [] });
  }
  await page.setViewportSize(size);
}

/**
 * What a page shows, everything unfolded, but code and what people wrote. What is marked as English counts too: the
 * mark says how it is read out, not that it had to be English.
 */
export async function englishOn(page: Page): Promise<string[]> {
  const text = await page.evaluate(() => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    const hidden = [...document.querySelectorAll<HTMLElement>('code, pre, [data-by="person"]')];
    for (const one of hidden) one.style.display = 'none';
    const seen = document.body.innerText;
    for (const one of hidden) one.style.removeProperty('display');
    return seen;
  });
  return text.split('\n').flatMap(englishRuns);
}
