/**
 * The dashboard in Chinese, in a real Chromium: switched to and remembered, on every page, with nothing of the English
 * catalogue left over, no serious fault by axe, nothing too wide, and no error. What people wrote stays as it is, and so
 * does what the server says elsewhere than where something is decided; it is marked as English.
 */
import { beforeAll, expect, it } from 'vitest';
import { PAGES } from '../../src/core/pages.js';
import { ENGLISH } from '../../src/web/dashboard/texts/english.js';
import { CHINESE } from '../../src/web/dashboard/texts/chinese.js';
import { axe, browserFor, englishOn, expectNoOverflow, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld } from '../support/dashboard.js';
import { home } from '../support/processes.js';
import { describeWith } from '../support/programs.js';

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** What of a text is seen between its holes; its tags are gone. */
const literals = (text: string): string[] => text.replace(/<\/?\w+>/g, '').split(/\{[^}]*\}/);
const isPhrase = (text: string): boolean => text.length >= 8 && /[A-Za-z]+\W+[A-Za-z]+/.test(text);

/**
 * By key, how its English is told: by a phrase of it anywhere; a word or two, which a name of somebody may hold too,
 * only as the whole of what is seen.
 */
const SEEN_ENGLISH = Object.entries(ENGLISH)
  .filter(([key, text]) => /[A-Za-z]{2}/.test(literals(text).join('')) && CHINESE[key as keyof typeof ENGLISH] !== text)
  .map(([key, text]) => {
    const phrases = literals(text).filter(isPhrase).map(escape);
    return {
      key,
      form:
        phrases.length > 0
          ? new RegExp(phrases.join('|'))
          : new RegExp(`^${literals(text).map(escape).join('.*')}$`, 's'),
    };
  });

/** Every text that is seen or read out, but what is marked as English or is code. */
async function textsOf({ page }: Visit): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [document.title];
    const attributes = ['aria-label', 'title', 'alt', 'placeholder'];
    const isTheirs = (node: Element | null): boolean =>
      node?.closest('[lang=en]:not(html), code, pre, script, style') !== null;
    for (const element of document.body.querySelectorAll('*')) {
      if (isTheirs(element)) continue;
      for (const name of attributes) found.push(element.getAttribute(name) ?? '');
      const isLeaf = [...element.children].every(
        (child) => isTheirs(child) || ['A', 'STRONG', 'I', 'CODE', 'SPAN'].includes(child.tagName),
      );
      if (isLeaf) {
        const own = element.cloneNode(true) as Element;
        own.querySelectorAll('[lang=en], code').forEach((theirs) => theirs.remove());
        found.push(own.textContent ?? '');
      }
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) found.push(node.textContent ?? '');
    }
    return [...new Set(found.map((text) => text.trim()).filter((text) => text !== ''))];
  });
}

const leftOver = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => SEEN_ENGLISH.filter(({ form }) => form.test(text)).map(({ key }) => `${key}: ${text}`));

describeWith('chromium', 'the dashboard in Chinese', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);
  const places = async (): Promise<string[]> => {
    const first = async (path: string): Promise<string> =>
      (await w.call<{ items: { id: string }[] }>('GET', path)).items[0]?.id ?? 'none';
    return [
      '',
      'teams',
      'teams/lab',
      'budgets',
      'budgets/lab-month',
      'budgets/vision-month',
      'recommendations',
      `recommendations/${await first('/v1/recommendations?status=open')}`,
      'actions',
      `actions/${await first('/v1/actions')}`,
      'savings',
      'alerts',
      `alerts/${await first('/v1/alerts?kind=budget')}`,
      `alerts/${await first('/v1/alerts?kind=approval')}`,
      'costs',
      'policies',
      'policies/scripted',
      'policies/new?policy=schedule',
      'imports',
      'anomalies',
      'quotes',
      'reservations',
      'reports',
      'reconciliation',
      'audit',
      'fleet',
      'explain',
      'settings',
      'help',
      'sessions',
      'no-such-page',
    ];
  };

  it('is switched to and remembered; the reader stays where the switch is, and the page says its language', async () => {
    const { page, open, faults } = await visit({ key: w.admin });
    await open('policies/new?policy=idle-stop');
    await page.getByLabel('Name').fill('half-written');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('en');
    await page.getByLabel('Language').focus();
    await page.getByLabel('Language').selectOption({ label: '简体中文' });
    await page.getByRole('heading', { name: '新建策略文档' }).waitFor();
    expect(
      await page.evaluate(() => ({
        lang: document.documentElement.lang,
        title: document.title,
        focused: document.activeElement?.tagName,
      })),
    ).toEqual({ lang: 'zh-CN', title: '新建策略文档 · Bursar', focused: 'SELECT' });
    expect(await page.getByLabel('名称').inputValue()).toBe('half-written');
    await page.reload();
    await page.getByRole('navigation', { name: '页面' }).waitFor();
    await open('');
    expect(await page.locator('.figure', { hasText: '本月至今' }).locator('.value').innerText()).toBe('US$14,280.00');
    await page.getByText('已于 2026年11月15日 耗尽').waitFor();
    await page.getByLabel('语言').selectOption('en');
    expect(await page.locator('.figure', { hasText: 'This month so far' }).locator('.value').innerText()).toBe(
      '$14,280.00',
    );
    expect(faults).toEqual([]);
  });

  it('is what a Chinese browser gets, before anybody signs in', async () => {
    const { page, faults } = await visit({ key: null, locale: 'zh-CN' });
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('登录');
    expect(await page.evaluate(() => ({ ...localStorage }))).toEqual({ 'bursar-theme': 'system' });
    expect(leftOver(await textsOf({ page } as Visit))).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('is looked at on every page there is', async () => {
    const seen = new Set((await places()).map((one) => one.split(/[/?]/)[0]));
    // A person who is signed in has no page to sign in.
    expect(Object.keys(PAGES).filter((page) => !seen.has(page) && page !== 'sign-in')).toEqual([]);
  });

  it('has on no page a text of the English catalogue', async () => {
    const seen = await visit({ key: w.admin, locale: 'zh-CN' });
    const left: string[] = [];
    for (const place of await places()) {
      await seen.open(place);
      for (const summary of await seen.page.locator('summary').all()) await summary.click();
      left.push(...leftOver(await textsOf(seen)).map((line) => `${place}: ${line}`));
    }
    expect(left).toEqual([]);
    expect(seen.faults).toEqual([]);
  });

  it('would be found out: the English page is full of them', async () => {
    const seen = await visit({ key: w.admin });
    await seen.open('budgets/vision-month');
    const left = leftOver(await textsOf(seen));
    expect(
      ['page.budgets', 'budget.one', 'budget.evaluated', 'unpriced', 'budget.lead', 'table.csv'].filter(
        (key) => !left.some((line) => line.startsWith(`${key}: `)),
      ),
    ).toEqual([]);
  });

  it.each([
    [1280, true],
    [390, false],
  ] as const)('has no serious fault by axe and nothing too wide, at %i pixels, dark: %s', async (width, dark) => {
    const { page, open, faults } = await visit({ key: w.admin, width, dark, locale: 'zh-CN' });
    for (const place of await places()) {
      await open(place);
      expect({ place, found: await axe(page) }).toEqual({ place, found: [] });
      await expectNoOverflow(page, place);
    }
    expect(faults).toEqual([]);
  });

  it('has words for the values of a form', async () => {
    const { page, open, faults } = await visit({ key: w.admin, locale: 'zh-CN' });
    await open('settings/keys');
    const choices = page.getByRole('group', { name: '权限' }).locator('label');
    await choices.first().waitFor();
    expect((await choices.allInnerTexts()).map((text) => text.trim())).toContain('写入用量（usage:write）');
    await open('settings/budgets?new=1');
    const periods = page
      .getByLabel('期间', { exact: true })
      .or(page.getByLabel('类型', { exact: true }))
      .first();
    expect(await periods.locator('option').allInnerTexts()).toEqual(expect.arrayContaining(['月', '季度', '年']));
    expect(faults).toEqual([]);
  });

  it('acts as in English: an action is rejected with a reason', async () => {
    const { page, open, faults } = await visit({ key: w.admin, locale: 'zh-CN' });
    await open('actions?state=proposed');
    await page.getByRole('link', { name: '停止 instance/i-2' }).click();
    await page.getByRole('button', { name: '拒绝', exact: true }).click();
    await page.getByLabel('原因（将记录在案）').fill('仍在训练');
    await page.getByRole('button', { name: '确认拒绝' }).click();
    await page.getByRole('status').getByText('已拒绝，当前状态：被拒绝。').waitFor();
    await page.getByText('仍在训练').first().waitFor();
    await quiet(page);
    expect(faults).toEqual([]);
  });
});

/** With the policies' own sentences, whose templates a world of tests with a made-up policy never meets. */
describeWith('chromium', 'what is decided of the example, in Chinese', async (file) => {
  const place = await home();
  let [address, key] = ['', ''];
  const visit = browserFor(file, () => address);
  const get = async <T>(path: string): Promise<T> =>
    (await (await fetch(address + path, { headers: { authorization: `Bearer ${key}` } })).json()) as T;
  const ids = async (path: string): Promise<string[]> =>
    (await get<{ items: { id: string }[] }>(path)).items.map(({ id }) => id);

  beforeAll(async () => {
    const serving = place.start(['serve'], { BURSAR_TICK_SECONDS: '1' });
    address = await serving.said(/Bursar is ready: (\S+)/);
    key = await serving.said(/(bursar_\w{12}_[\w-]{43})/);
  }, 180_000);

  const places = async (): Promise<string[]> => {
    const { catalogue, items } = await get<{ catalogue: { name: string }[]; items: { name: string }[] }>(
      '/v1/policies?limit=100',
    );
    const targets = (await get<{ items: { target: string }[] }>('/v1/recommendations')).items.map(
      ({ target }) => target,
    );
    const asked = ['instance/i-000003', 'instance/i-000005', 'group/staging', 'research', 'research-monthly', 'nobody'];
    return [
      'recommendations',
      ...(await ids('/v1/recommendations')).map((id) => `recommendations/${id}`),
      'actions',
      ...(await ids('/v1/actions')).map((id) => `actions/${id}`),
      ...[...targets, ...asked].map((target) => `explain/${encodeURIComponent(target)}`),
      'policies',
      ...items.map(({ name }) => `policies/${name}`),
      ...catalogue.map(({ name }) => `policies/new?policy=${name}`),
    ];
  };
  /** Names of the example that have a blank. */
  const withoutNames = (line: string): boolean => !/^Fake Cloud [\w-]+$/.test(line);

  it('has nowhere three English words on end', async () => {
    const { page, open } = await visit({ key, locale: 'zh-CN' });
    const left: string[] = [];
    const all = await places();
    expect(all.length).toBeGreaterThan(40);
    for (const one of all) {
      await open(one);
      left.push(...(await englishOn(page)).filter(withoutNames).map((words) => `${one}: ${words}`));
    }
    expect(left).toEqual([]);
  });

  it('would be found out: each of these pages has them in English', async () => {
    const { page, open } = await visit({ key });
    const without: string[] = [];
    for (const one of await places()) {
      await open(one);
      if ((await englishOn(page)).length === 0) without.push(one);
    }
    expect(without).toEqual([]);
  });
});
