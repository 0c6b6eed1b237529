/** The dashboard with a key that sees one team and may change nothing: it says so, and offers nothing that is refused. */
import { expect, it } from 'vitest';
import { axe, browserFor } from '../support/browser.js';
import { dashboardWorld } from '../support/dashboard.js';
import { describeWith } from '../support/programs.js';

const SECTIONS =
  'teams budgets rules peak credits keys roles routes mutes reports stop limits admission retention reconciliation'.split(
    ' ',
  );
const PLACES = [
  ...'costs fleet teams budgets recommendations actions savings alerts policies explain imports anomalies'.split(' '),
  ...'quotes reservations reports reconciliation audit settings sessions'.split(' '),
  ...SECTIONS.map((name) => `settings/${name}`),
  ...['teams?one=vision', 'teams?new=1', 'budgets?one=vision-month', 'budgets?new=1'].map((one) => `settings/${one}`),
  'policies/new?policy=idle-stop',
  'teams/vision',
  'budgets/vision-month',
];
/** Words of buttons that change something. */
const CHANGES = /^(add|remove|save|apply|approve|reject|revoke|mute|stop|make|send|lift|backtest)\b/i;

describeWith('chromium', 'a key that sees one team and may change nothing', async (file) => {
  const w = await dashboardWorld();
  const visit = browserFor(file, () => w.address);

  it('is offered nothing on any page that would be refused, and asks for nothing that it may not see', async () => {
    const { page, open, faults } = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['vision'] }) });
    const found: string[] = [];
    for (const place of ['', ...PLACES]) {
      await open(place);
      const main = page.getByRole('main');
      const pressed = main.locator('button:enabled:not([aria-disabled=true]), a.button').filter({ visible: true });
      const offered = (await pressed.allInnerTexts()).filter((text) => CHANGES.test(text));
      const [problems, unseen] = [main.locator('.problems'), main.getByText('This is not shown to you')];
      if (offered.length > 0 || (await problems.count()) > 0 || (await unseen.count()) > 1)
        found.push(`${place}: ${offered.join(', ')} ${(await problems.allInnerTexts()).join(' ')}`);
    }
    expect([found, faults]).toEqual([[], []]);
    await open('settings/budgets?one=vision-month');
    await page
      .getByText('You can look at this, but not change it: that needs the role operator; yours is viewer.')
      .waitFor();
    expect(await page.getByLabel('Team', { exact: true }).isDisabled()).toBe(true);
    expect(await axe(page)).toEqual([]);
  });

  it.each(['teams/lab', 'budgets/lab-month', 'explain/lab'])(
    'is told once at %s what it sees, and whom to ask',
    async (place) => {
      const { page, open } = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['vision'] }) });
      await open(place);
      const main = page.getByRole('main');
      expect(await main.locator('.empty').allInnerTexts()).toEqual([
        'This is not shown to you: it is outside your teams; you see only vision. An administrator of Bursar can give you more rights.',
      ]);
      expect([await main.getByRole('alert').count(), await main.getByText('Try again').count()]).toEqual([0, 0]);
    },
  );

  it('is not offered to save what concerns all teams, though it may set up its own', async () => {
    const { page, open } = await visit({ key: await w.keyFor({ role: 'operator', teams: ['vision'] }) });
    for (const place of ['peak', 'reconciliation', 'credits', 'reports']) {
      await open(`settings/${place}`);
      await page.getByText('concerns all teams; you see only vision').first().waitFor();
      const save = page.locator('button:not([aria-disabled=true])', { hasText: /^Save$/ }).filter({ visible: true });
      expect(await save.count()).toBe(0);
    }
    await open('settings/budgets?one=vision-month');
    await expect
      .poll(() => page.getByRole('button', { name: 'Save', exact: true }).getAttribute('aria-disabled'))
      .not.toBe('true');
  });

  it('is told why it cannot approve what it sees', async () => {
    const { page, open } = await visit({ key: await w.keyFor({ role: 'viewer', teams: ['lab'] }) });
    for (const list of ['recommendations', 'actions']) {
      await open(list);
      await page.getByText('You cannot approve 2 of these: your role may not decide.').waitFor();
    }
  });
});
