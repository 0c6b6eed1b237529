/** What is not there, or came to nothing: the pages say so, and where to go on. */
import { expect, it } from 'vitest';
import { browserFor } from '../support/browser.js';
import { dashboardWorld } from '../support/dashboard.js';
import { describeWith } from '../support/programs.js';

const OF_TEAM = 'recommendations actions savings alerts fleet anomalies reservations reports reconciliation'.split(' ');

describeWith('chromium', 'what is not there', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);

  it('is said of a team in the address, on every page that goes by one', async () => {
    const { page, open } = await visit({ key: w.admin });
    const said = page.getByText('There is no team nobody: the name in the address is mistyped');
    for (const place of OF_TEAM) {
      await open(`${place}?team=nobody`);
      await said.waitFor();
    }
    await open('recommendations?team=lab');
    expect(await said.count()).toBe(0);
  });

  it.each([
    ['en-US', 'teams/nobody', 'Team nobody does not exist.'],
    ['zh-CN', 'teams/nobody', '团队 nobody 不存在。'],
    ['zh-CN', 'budgets/nobody', '预算 nobody 不存在。'],
    ['en-US', 'actions/act-0123456789abcdef', 'Action act-0123456789abcdef does not exist.'],
  ])('is said once, in %s, at %s', async (locale, place, text) => {
    const { page, open } = await visit({ key: w.admin, locale });
    await open(place);
    const main = page.getByRole('main');
    expect(await main.locator('.empty').allInnerTexts()).toEqual([text]);
    expect(await main.getByRole('alert').count()).toBe(0);
  });

  it('is said of an approval whose action was refused', async () => {
    const { items } = await w.call<{ items: { id: string; target: string }[] }>('GET', '/v1/recommendations');
    const { id } = items.find(({ target }) => target === 'i-1')!;
    await w.call('PUT', '/v1/limits', { gpusPerAction: 0 });
    await w.call('POST', `/v1/recommendations/${id}/approve`);
    const state = async () =>
      (await w.call<{ actionState: string; status: string }>('GET', `/v1/recommendations/${id}`)).actionState;
    await expect.poll(state, { timeout: 20_000 }).toBe('refused');
    const { page, open } = await visit({ key: w.admin });
    await open('recommendations?status=approved');
    await page.getByRole('link', { name: 'its action: Refused' }).waitFor();
    await open(`recommendations/${id}?status=approved`);
    await page.getByRole('link', { name: 'its action: Refused' }).click();
    await page.getByRole('heading', { name: 'Stop instance/i-1' }).waitFor();
  });

  it('is said of a search among the teams', async () => {
    const { page, open } = await visit({ key: w.admin });
    await open('teams');
    await page.getByLabel('Find a team').fill('xyz');
    await page.getByText('No team has these words in its name.').waitFor();
  });
});

describeWith('chromium', 'a fresh start', async (file) => {
  const w = await dashboardWorld(undefined, { isEmpty: true });
  const visit = browserFor(file, () => w.address);

  it.each([
    ['budgets', 'adds one', 'New'],
    ['teams', 'add one', 'New'],
    ['teams', 'Rules', 'Rules'],
  ])('leads from %s by "%s" to the page that does it', async (place, name, title) => {
    const { page, open } = await visit({ key: w.admin });
    await open(place);
    await page.getByRole('main').getByRole('link', { name, exact: true }).click();
    await page
      .getByRole('heading', { name: new RegExp(title, 'i') })
      .first()
      .waitFor();
  });
});
