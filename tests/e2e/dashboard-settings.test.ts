/**
 * Everything that is set by mouse, in a real Chromium: what is unallocated becomes a rule, a budget is made and changed
 * with its preview, a key is made and revoked, everything is stopped and goes on. What the pages say is asked of the
 * API.
 */
import { expect, it } from 'vitest';
import { axe, browserFor, expectNoOverflow, focusedOn, quiet, type Visit } from '../support/browser.js';
import { dashboardWorld, NOW, P5 } from '../support/dashboard.js';
import { describeWith } from '../support/programs.js';

const HOUR = 3_600_000;
const SECTIONS =
  'teams budgets rules peak credits keys roles routes mutes stop limits admission retention reconciliation'.split(' ');

describeWith('chromium', 'the settings', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);
  const admin = (over: { width?: number; dark?: boolean; locale?: string } = {}): Promise<Visit> =>
    visit({ key: w.admin, ...over });

  it('make a rule of what no rule takes, by what it costs, and say first what moves', async () => {
    const start = new Date(NOW - 48 * HOUR).toISOString();
    await w.call('POST', '/v1/usage', [
      { id: 'audio', ...P5, tags: { team: 'audio' }, start, end: new Date(NOW - 38 * HOUR).toISOString() },
    ]);
    // Until the line has priced it, it has no cost; a poll gives the line a second.
    await w.runner.drain();
    expect(JSON.stringify(await w.call('GET', '/v1/rules/candidates'))).toContain('"800.000000000"');
    const { page, open, faults } = await admin();
    await open('settings/rules');
    const row = page.getByRole('row', { name: /tag team=audio/ });
    expect(await row.innerText()).toMatch(/\$800.00\s+80\s/);
    // By the keyboard: what is asked stands above the table, where the focus goes and whence it comes back.
    await row.getByRole('button', { name: 'Make a rule of tag team=audio' }).focus();
    await page.keyboard.press('Enter');
    expect(await focusedOn(page)).toBe('tag team=audio');
    await page.keyboard.press('Escape');
    await expect.poll(() => focusedOn(page)).toBe('Make a rule of tag team=audio');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.getByLabel('Give tag team=audio to the team').inputValue()).toBe('audio');
    await page.keyboard.press('Enter');
    await expect.poll(() => focusedOn(page)).toBe('Make a rule of tag team=audio');
    await page.getByRole('button', { name: 'Preview' }).click();
    const moves = page.getByRole('region', { name: 'What each team would have, over all history' });
    expect(await moves.getByRole('row', { name: /^audio/ }).innerText()).toMatch(/\$800.00\s+\$800.00/);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('All history is allocated again.').waitFor();
    const { rules } = await w.call<{ rules: unknown[] }>('GET', '/v1/rules');
    expect(rules.at(-1)).toEqual({ match: { tag: { key: 'team', value: 'audio' } }, team: 'audio' });
    expect(rules).toHaveLength(3);
    // And is changed in its place: only its own fields are open.
    await page.getByRole('button', { name: 'Edit 3' }).click();
    await page.getByLabel('Value', { exact: true }).first().fill('audio*');
    await page.getByRole('button', { name: 'Put first 3' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    const firstRule = async (): Promise<unknown> => (await w.call<{ rules: unknown[] }>('GET', '/v1/rules')).rules[0];
    await expect.poll(firstRule).toEqual({ match: { tag: { key: 'team', value: 'audio*' } }, team: 'audio' });
    expect(faults).toEqual([]);
  });

  it('make a budget, and change one with its burn-up under the new plan', async () => {
    const { page, open, faults } = await admin();
    await open('settings/budgets');
    expect(await page.getByRole('row', { name: /^vision-month/ }).innerText()).toMatch(
      /\$600\.00\s+no\s+80%, 100% by actual spend; 200% by forecast$/,
    );
    await page.getByRole('link', { name: 'Add' }).click();
    await page.getByLabel('Id', { exact: true }).fill('new-month');
    await page.getByLabel('Team', { exact: true }).fill('vision');
    await page.getByLabel('Amount of each period', { exact: true }).fill('1000');
    await page.getByRole('button', { name: 'Preview' }).click();
    // Last month had 31 days of 40.
    await page.getByText('It would have counted $1,240.00.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'new-month' }).waitFor();
    expect(await w.call('GET', '/v1/budgets/new-month')).toMatchObject({
      team: 'vision',
      planned: { default: '1000' },
    });
    await open('settings/budgets?one=vision-month');
    await page.getByLabel('Amount of each period', { exact: true }).fill('900');
    await page.getByRole('button', { name: 'Preview' }).click();
    const change = page.getByRole('region', { name: 'What would change' });
    expect(await change.getByRole('row').nth(1).innerText()).toMatch(/Planned \/ Amount of each period\s+600\s+900/);
    await quiet(page);
    await page.getByText('$680.00 spent of $900.00 planned', { exact: false }).waitFor();
    await page.getByText('76% of it is spent.').waitFor();
    await page.getByText('None of its thresholds is reached now.').waitFor();
    // What was typed since is in no preview.
    await page.getByLabel('Amount of each period', { exact: true }).fill('600.5');
    expect(await change.count()).toBe(0);
    await page.getByLabel('Amount of each period', { exact: true }).fill('900');
    expect(await w.call('GET', '/v1/budgets/vision-month')).toMatchObject({ planned: { default: '600' } });
    await open('settings/budgets?one=new-month');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('group', { name: 'Remove new-month?' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('link', { name: 'Add' }).waitFor();
    await expect(w.call('GET', '/v1/budgets/new-month')).rejects.toThrow('404');
    // The browser notes that no budget had the new id.
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  it('change what is emptied, and keep what is not named', async () => {
    const { page, open } = await admin();
    await open('settings/teams?one=vision');
    await page.getByLabel('Parent').fill('');
    await page.getByLabel('Zone').fill('Europe/Berlin');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await w.call('GET', '/v1/teams/vision')).toMatchObject({
      name: 'Vision',
      parent: null,
      zone: 'Europe/Berlin',
    });
    await open('settings/teams?one=vision');
    await page.getByLabel('Parent').fill('lab');
    await page.getByLabel('Zone').fill('Mars/Olympus');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('is not an IANA time zone').waitFor();
    await page.getByLabel('Zone').fill('UTC');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await w.call('GET', '/v1/teams/vision')).toMatchObject({ parent: 'lab', zone: 'UTC' });
  });

  it('keep what was typed and not saved, and ask before the tab is closed', async () => {
    const { page, open } = await admin();
    const asks = (): Promise<boolean> =>
      page.evaluate(() => !window.dispatchEvent(new Event('beforeunload', { cancelable: true })));
    await open('settings/budgets?one=vision-month');
    expect(await asks()).toBe(false);
    await page.getByLabel('Amount of each period', { exact: true }).fill('777');
    expect(await asks()).toBe(true);
    await open('settings/teams');
    await page.goBack();
    await page.getByText('These are your changes of before, not saved yet.').waitFor();
    expect(await page.getByLabel('Amount of each period', { exact: true }).inputValue()).toBe('777');
    await page.getByRole('button', { name: 'Drop my changes' }).click();
    expect(await page.getByLabel('Amount of each period', { exact: true }).inputValue()).toBe('600');
    expect(await asks()).toBe(false);
    // A new one with its id, and the rules, and a policy.
    await open('settings/teams?new=1');
    await page.getByLabel('Id', { exact: true }).fill('speech');
    await open('settings/rules');
    await page.getByRole('button', { name: 'Add a rule' }).click();
    const rows = await page.getByRole('region', { name: 'Allocation rules' }).getByRole('row').count();
    await open('policies/new?policy=idle-stop');
    await page.getByLabel('Name', { exact: true }).fill('nights');
    await open('settings/teams?new=1');
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('speech');
    await page.getByRole('button', { name: 'Drop my changes' }).click();
    await open('settings/rules');
    await page.getByText('These are your changes of before, not saved yet.').waitFor();
    expect(await page.getByRole('region', { name: 'Allocation rules' }).getByRole('row').count()).toBe(rows);
    await page.getByRole('button', { name: 'Drop my changes' }).click();
    await open('policies/new?policy=idle-stop');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('nights');
    await page.getByRole('button', { name: 'Drop my changes' }).click();
    expect(await asks()).toBe(false);
  });

  it('undo nothing that somebody else has saved since the form was opened', async () => {
    const { page, open } = await admin();
    const planned = async (): Promise<unknown> => await w.call('GET', '/v1/budgets/vision-month');
    await open('settings/budgets?one=vision-month');
    await page.getByLabel('Amount of each period', { exact: true }).fill('800');
    const before = await w.call<Record<string, unknown>>('GET', '/v1/budgets/vision-month');
    await w.call('PUT', '/v1/budgets/vision-month', {
      team: 'vision',
      planned: { default: '600' },
      thresholds: [{ kind: 'actual', ratio: '0.7' }],
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Nothing was saved: somebody has changed this', { exact: false }).waitFor();
    await page.getByRole('row', { name: /^Thresholds/ }).waitFor();
    expect(await planned()).toMatchObject({ planned: { default: '600' } });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await planned()).toMatchObject({
      planned: { default: '800' },
      thresholds: [{ kind: 'actual', ratio: '0.7' }],
    });
    await w.call('PUT', '/v1/budgets/vision-month', {
      team: 'vision',
      planned: before['planned'],
      thresholds: before['thresholds'],
    });
    // A new one does not take the place of one that is there.
    await open('settings/teams?new=1');
    await page.getByLabel('Id', { exact: true }).fill('vision');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('vision exists already.', { exact: false }).waitFor();
    expect(await w.call('GET', '/v1/teams/vision')).toMatchObject({ name: 'Vision' });
  });

  it('make a key whose secret is shown once, and revoke it', async () => {
    const { page, open, faults } = await admin();
    await open('settings/keys');
    const making = page.getByRole('region', { name: 'New key' });
    await making.getByLabel('Name', { exact: true }).fill('a meter');
    await making.getByLabel('Usage:write', { exact: false }).check();
    await making.getByRole('button', { name: 'Create the key' }).click();
    const secret = await page.locator('code.secret').innerText();
    expect(await focusedOn(page)).toMatch(/a meter/);
    expect(secret).toMatch(/^bursar_/);
    const asked = async (): Promise<number> =>
      (await fetch(`${w.address}/v1/teams`, { headers: { authorization: `Bearer ${secret}` } })).status;
    expect(await asked()).toBe(403);
    const row = page.getByRole('row', { name: /a meter/ });
    await row.getByRole('button', { name: 'Revoke' }).click();
    expect(await focusedOn(page)).toMatch(/^Revoke a meter/);
    await page.keyboard.press('Escape');
    await expect.poll(() => focusedOn(page)).toBe('Revoke a meter');
    await page.keyboard.press('Enter');
    await page
      .getByRole('group', { name: /^Revoke a meter/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await row.getByText('revoked').waitFor();
    expect(await asked()).toBe(401);
    await page.reload();
    await quiet(page);
    expect(await page.content()).not.toContain(secret);
    expect(faults).toEqual([]);
  });

  it('stop a team and let it go on, mute for a while, and try whether alerts arrive', async () => {
    const { page, open } = await admin();
    await open('settings/stop');
    await page.getByText('Nothing is stopped').waitFor();
    await page.getByLabel('What', { exact: true }).selectOption('team');
    await page.getByLabel('the team').fill('vision');
    // Without a reason nothing is asked, and nothing is stopped before the answer.
    const stop = page.getByRole('button', { name: 'Stop', exact: true });
    expect(await stop.getAttribute('aria-disabled')).toBe('true');
    await page.getByText('It needs a reason.').waitFor();
    await page.getByLabel('Reason').fill('a drill');
    await stop.click();
    const sure = page.getByRole('group', { name: 'Stop: the team vision?' });
    expect(await sure.innerText()).toContain('Running machines keep running');
    expect(await axe(page)).toEqual([]);
    await sure.getByRole('button', { name: 'Leave' }).click();
    expect(await w.call('GET', '/v1/stop')).toEqual({ stops: [] });
    // By the keyboard: the question takes the focus, Escape gives it back, and it never falls to the top of the page.
    const focused = (): Promise<string> => focusedOn(page);
    expect(await focused()).toBe('Stop');
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Stop: the team vision?');
    await page.keyboard.press('Escape');
    await sure.waitFor({ state: 'detached' });
    expect(await focused()).toBe('Stop');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Yes, stop');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /the team vision\s+a drill/ }).waitFor();
    expect(await focused()).toBe('Stop');
    expect(await w.call('GET', '/v1/stop')).toMatchObject({
      stops: [{ scope: 'team', name: 'vision', reason: 'a drill' }],
    });
    await page.locator('tbody').getByRole('button', { name: 'Lift' }).click();
    const lift = page.getByRole('group', { name: 'Lift the stop: the team vision?' });
    expect(await lift.innerText()).toContain('Machines may be stopped or scaled again.');
    expect(await w.call<{ stops: unknown[] }>('GET', '/v1/stop')).toMatchObject({ stops: [{ name: 'vision' }] });
    await lift.getByRole('button', { name: 'Yes, lift' }).click();
    await page.getByText('Nothing is stopped').waitFor();
    // The button that had been pressed is gone with its row.
    await expect.poll(focused).toBe('Kill switch');
    await open('settings/mutes');
    await page.getByLabel('Team').fill('lab');
    await page.getByLabel('Until').fill('2026-11-25T09:30');
    await page.getByLabel('Reason').fill('a migration');
    await page.getByRole('button', { name: 'Mute' }).click();
    // The browser's clock is New York's.
    await page.getByRole('row', { name: /lab.*a migration/ }).waitFor();
    expect(await w.call('GET', '/v1/alert-mutes')).toMatchObject({
      items: [{ team: 'lab', until: '2026-11-25T14:30:00.000Z' }],
    });
    await page.locator('tbody').getByRole('button', { name: 'Lift' }).click();
    await page.getByText('Nothing is muted.').waitFor();
    await open('settings/routes');
    await page.getByRole('button', { name: 'Send a test message' }).click();
    await page.getByText('Sent: the page Alerts').waitFor();
    await expect.poll(() => w.told.some(({ news }) => news.kind === 'test'), { timeout: 20_000 }).toBe(true);
  });

  it('keep the place of who uses the keyboard, where a row goes or comes and where another team is chosen', async () => {
    const { page, open } = await admin();
    const pressed = async (name: string | RegExp): Promise<string> => {
      await page
        .getByRole('button', { name, exact: typeof name === 'string' })
        .last()
        .focus();
      await page.keyboard.press('Enter');
      await page.evaluate(() => new Promise(requestAnimationFrame));
      return focusedOn(page);
    };
    await open('settings/rules');
    expect(await pressed('Add a rule')).toMatch(/^Rule \d/);
    expect(await pressed(/^Remove \d/)).toBe('Allocation rules');
    expect(await pressed(/^Edit \d/)).toMatch(/^Rule \d/);
    await open('settings/budgets?new=1');
    await pressed('Add to thresholds');
    expect(await pressed('Remove thresholds 1')).toBe('Add to thresholds');
    await open('settings/limits');
    const team = page.getByLabel('Team', { exact: true });
    await team.focus();
    for (const _ of [1, 2]) {
      const before = await team.inputValue();
      await page.keyboard.press('ArrowDown');
      await expect.poll(() => team.inputValue()).not.toBe(before);
      await quiet(page);
      expect(await team.evaluate((one) => one === document.activeElement)).toBe(true);
    }
  });

  it('can be read by everybody, on a phone and in Chinese, and say why somebody may not', async () => {
    for (const over of [{}, { width: 380, dark: true }]) {
      const { page, open, faults } = await admin(over);
      for (const place of ['settings', ...SECTIONS.map((one) => `settings/${one}`)]) {
        await open(place);
        expect([place, await axe(page)]).toEqual([place, []]);
        await expectNoOverflow(page, place);
        expect([place, await page.getByRole('alert').count()]).toEqual([place, 0]);
      }
      expect(faults).toEqual([]);
    }
    const chinese = await admin({ locale: 'zh-CN' });
    await chinese.open('settings');
    await chinese.page.getByRole('link', { name: '分摊规则' }).waitFor();
    const viewer = await visit({ key: await w.keyFor({ role: 'viewer' }) });
    await viewer.open('settings/teams?one=vision');
    await viewer.page
      .getByText(/needs? /i)
      .first()
      .waitFor();
    expect(await viewer.page.getByRole('button', { name: 'Save' }).getAttribute('aria-disabled')).toBe('true');
  });

  it('are saved by Enter in a field, but not what is refused, asks first, or acts without asking', async () => {
    const { page, open, faults } = await admin();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    const enterIn = (name: string, text: string): Promise<void> =>
      page
        .getByLabel(name, { exact: true })
        .fill(text)
        .then(() => page.getByLabel(name, { exact: true }).press('Enter'));
    await open('settings/teams?one=vision');
    await enterIn('Name', 'Seeing');
    await page.getByText('Saved.').waitFor();
    await enterIn('Name', 'Vision');
    await expect.poll(() => w.call('GET', '/v1/teams/vision')).toMatchObject({ name: 'Vision' });
    await open('settings/teams?new=1');
    await enterIn('Name', 'Nobody');
    await enterIn('Id', 'entered');
    await page.getByRole('region', { name: 'entered' }).waitFor();
    await open('settings/rules');
    await page.getByRole('button', { name: 'Edit 1' }).click();
    // Saving gives all history other teams: Enter shows what it would change.
    await page.getByLabel('Team', { exact: true }).first().press('Enter');
    await page.getByText('No team would have more or less.').waitFor();
    await open('settings/mutes');
    await page.getByLabel('Until').fill('2026-11-25T09:30');
    await enterIn('Reason', 'by Enter');
    await page.getByRole('row', { name: /by Enter/ }).waitFor();
    await open('settings/keys');
    await page.getByLabel('Usage:write', { exact: false }).check();
    await enterIn('Name', 'by Enter');
    await page.locator('code.secret').waitFor();
    await open('settings/stop');
    await enterIn('Reason', 'by Enter');
    expect(await page.getByRole('group', { name: /^Stop:/ }).count()).toBe(0);
    await open('policies/new?policy=idle-stop');
    await page.getByLabel('Teams', { exact: true }).fill('lab');
    await page.getByLabel('Mode', { exact: true }).selectOption('enforce');
    await enterIn('Name', 'entered');
    await page.getByLabel('Mode', { exact: true }).selectOption('observe');
    await enterIn('Name', 'entered');
    await page.getByRole('heading', { name: 'Policy document entered' }).waitFor();
    expect(await w.call('GET', '/v1/policies/entered')).toMatchObject({ mode: 'observe', version: 1 });
    // Only what is said here.
    expect(sent).toEqual([
      ...Array<string>(2).fill('PUT /v1/teams/vision'),
      'PUT /v1/teams/entered',
      'POST /v1/rules/preview',
      'POST /v1/alert-mutes',
      'POST /v1/keys',
      'PUT /v1/policies/entered',
    ]);
    // The browser notes that no team had the new id.
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  it('send nothing of what is half typed, and once what Enter is held for', async () => {
    const { page, open, faults } = await admin();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    await open('settings/keys');
    await page.getByLabel('Usage:write', { exact: false }).check();
    await page.getByLabel('Name', { exact: true }).fill('half');
    // A date without its time.
    await page.getByLabel('Expires at').focus();
    await page.keyboard.type('12312026');
    await page.keyboard.press('Enter');
    await w.call('PUT', '/v1/limits', { gpusPerAction: 8 });
    await open('settings/limits');
    await page.getByLabel('GPUs per action').focus();
    await page.keyboard.press('End');
    await page.keyboard.type('e');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Preview' }).click();
    await open('policies/new?policy=idle-stop');
    await page.getByLabel('Priority').focus();
    await page.keyboard.type('-');
    await page.getByRole('button', { name: 'Check' }).click();
    const backtest = page.getByRole('region', { name: 'Backtest' });
    await backtest.getByRole('button').click();
    await page.getByLabel('Priority').fill('');
    await backtest.getByLabel('From', { exact: true }).focus();
    await page.keyboard.press('Delete');
    await backtest.getByRole('button').click();
    await backtest.getByRole('button').click();
    expect(sent).toEqual([]);
    // Emptied altogether, it is what is recorded.
    await backtest.getByLabel('From', { exact: true }).fill('');
    const [asked] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'POST'),
      backtest.getByRole('button').click(),
    ]);
    expect(asked.postDataJSON()).toMatchObject({ from: '2026-10-19', to: '2026-11-18' });
    await open('settings/mutes');
    await page.getByLabel('Until').fill('2026-11-25T09:30');
    await page.getByLabel('Reason').fill('held');
    await page.keyboard.down('Enter');
    for (let n = 0; n < 5; n++) await page.keyboard.down('Enter');
    await page.getByRole('row', { name: /held/ }).waitFor();
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    expect(sent).toEqual(['POST /v1/backtests', 'POST /v1/alert-mutes']);
    expect(await w.call('GET', '/v1/limits')).toMatchObject({ document: { gpusPerAction: 8 } });
    expect(faults).toEqual([]);
  });

  it('come back half filled, and are not shown for what is not there', async () => {
    const { page, open } = await admin();
    await open('settings/mutes');
    await page.getByLabel('Reason').fill('not yet sent');
    await open('settings/keys');
    await page.getByLabel('Name', { exact: true }).fill('not yet made');
    await open('settings/mutes');
    expect(await page.getByLabel('Reason').inputValue()).toBe('not yet sent');
    await open('settings/keys');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('not yet made');
    for (const place of ['teams', 'budgets', 'roles']) {
      await open(`settings/${place}?one=ghost`);
      await page.getByText('Not there', { exact: false }).waitFor();
      expect(await page.getByRole('button', { name: /Save|Remove/ }).count()).toBe(0);
    }
  });

  it('and the search take an Enter that ends a word of an input method for no Enter', async () => {
    const { page, open } = await admin();
    await open('costs');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.fill('lab');
    await page.getByRole('option').first().waitFor();
    const before = page.url();
    await field.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
    expect([page.url(), await field.inputValue()]).toEqual([before, 'lab']);
    await field.press('Enter');
    await expect.poll(() => page.url()).not.toBe(before);
  });
});
