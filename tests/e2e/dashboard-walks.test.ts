/**
 * Four people at work on the demo, from an empty folder to what each came for, in a real Chromium against the built
 * product: an analyst, a team's lead, an operator, a CFO. One server for all of them, with a Slack on this machine.
 * Nothing is put into a database; what they read is compared with what the API says.
 */
import { createHmac } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import type { Report } from '../../src/core/report/report.js';
import { axe, browserFor, quiet, type Visit } from '../support/browser.js';
import { Pdf } from '../support/pdf.js';
import { home } from '../support/processes.js';
import { describeWith } from '../support/programs.js';
import { slackServer, type SlackPost } from '../support/slack-server.js';

const HOUR_MS = 3_600_000;
/** The demo plays nine months. */
const PATIENCE_MILLISECONDS = 300_000;
const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const PUBLIC = 'https://bursar.example.com';
const WORKSPACE = 'T0WORK';
const LEAD = 'U0LEAD';
/** Looks of `expect.poll` at what the line does by its clocks, which look once a second here. */
const PATIENT = { timeout: 60_000, interval: 200 };

interface Costs {
  readonly rows: readonly { readonly team: string; readonly cost: string }[];
}

describeWith('chromium', 'from an empty folder', async (file) => {
  const place = await home();
  const slack = await slackServer({ now: () => Date.now() });
  let [address, admin] = ['', ''];
  beforeAll(async () => {
    const serving = place.start(['serve'], {
      ...slack.settings(),
      BURSAR_SLACK_SIGNING_SECRET: SECRET,
      BURSAR_PUBLIC_URL: PUBLIC,
      BURSAR_TICK_SECONDS: '1',
    });
    address = await serving.said(/Bursar is ready: (\S+)/);
    admin = await serving.said(/(bursar_\w{12}_[\w-]{43})/);
  }, PATIENCE_MILLISECONDS);
  const visit = browserFor(file, () => address);
  const call = async <T>(method: string, route: string, body?: unknown): Promise<T> => {
    const response = await fetch(address + route, {
      method,
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
  const keyFor = (name: string, role: string, teams: readonly string[] | null = null) =>
    call<{ id: string; text: string }>('POST', '/v1/keys', { name, role, teams });
  const pages = (page: Visit['page']) => page.getByRole('navigation', { name: 'Pages' });

  it('an analyst finds why the spend rose, and gives what is nobody’s to a team', async () => {
    const { page, faults } = await visit({ key: admin });
    // A meter that names a team that no rule knows: eight H100 for two days.
    const end = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const usage = Array.from({ length: 48 }, (_, n) => ({
      id: `vision-${n}`,
      provider: 'AWS',
      account: '123456789012',
      sku: 'p5.48xlarge',
      region: 'us-east-1',
      term: 'on-demand',
      gpus: 8,
      resource: 'i-0vision',
      tags: { team: 'vision' },
      start: new Date(end - (n + 1) * HOUR_MS).toISOString(),
      end: new Date(end - n * HOUR_MS).toISOString(),
    }));
    await pages(page).getByRole('link', { name: 'Imports' }).click();
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({
        name: 'vision.json',
        mimeType: 'application/json',
        buffer: Buffer.from(JSON.stringify({ records: usage })),
      });
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    // Tried again after a fault, the rows are there already.
    await page.getByText(/48 rows, (48 accepted, 0 unchanged|0 accepted, 48 unchanged), 0 rejected/).waitFor();
    // The line works off nine months at the same time.
    await page.getByText('Everything is processed').waitFor({ timeout: 150_000 });
    await pages(page).getByRole('link', { name: 'Costs' }).click();
    await page.getByLabel('Time', { exact: true }).selectOption('7');
    await quiet(page);
    const groups = page.getByRole('region', { name: 'Costs', exact: true });
    const nobodys = groups.getByRole('row', { name: /^unallocated/ });
    expect(await nobodys.innerText()).toMatch(/\+\$\d/);
    const why = page.getByRole('region', { name: 'Why did it change?' });
    expect(await why.getByRole('row', { name: /^New/ }).innerText()).toMatch(/not used before\s+\+\$\d/);
    await why.locator('summary').click();
    await why.getByRole('row', { name: /AWS · p5\.48xlarge/ }).waitFor();
    expect(await axe(page)).toEqual([]);
    // One click from there to the workbench, and the tag's own value is offered as the team.
    await groups.getByRole('link', { name: 'Make a rule for them' }).click();
    await page.getByRole('button', { name: 'Make a rule of tag team=vision' }).click();
    await page.getByRole('group', { name: 'tag team=vision' }).getByRole('button', { name: 'Add the rule' }).click();
    await page.getByRole('button', { name: 'Preview' }).click();
    const moves = page.getByRole('region', { name: 'What each team would have, over all history' });
    await moves.getByRole('row', { name: /^vision/ }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('All history is allocated again.').waitFor();
    const teams = async () => (await call<Costs>('GET', '/v1/costs?group-by=team')).rows.map(({ team }) => team);
    await expect.poll(teams, PATIENT).toEqual(['platform', 'research', 'serving', 'training', 'vision']);
    await pages(page).getByRole('link', { name: 'Costs' }).click();
    await quiet(page);
    await groups.getByRole('row', { name: /^vision/ }).waitFor();
    expect([await nobodys.count(), faults]).toEqual([0, []]);
  });

  /** Somebody presses a button of a message; signed as Slack does (docs.slack.dev, "Verifying requests from Slack"). */
  const press = async (post: SlackPost, act: string): Promise<number> => {
    const button = post.blocks
      .flatMap(({ elements = [] }) => elements)
      .find((one) => one.action_id === `bursar.${act}`);
    const payload = {
      type: 'block_actions',
      user: { id: LEAD, team_id: WORKSPACE },
      team: { id: WORKSPACE },
      response_url: `${slack.url}/response/1`,
      actions: [{ action_id: button?.action_id, value: button?.value, type: 'button' }],
    };
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = Math.floor(Date.now() / 1000);
    const signed = createHmac('sha256', SECRET).update(`v0:${timestamp}:${body}`).digest('hex');
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': String(timestamp),
      'x-slack-signature': `v0=${signed}`,
    };
    return (await fetch(`${address}/slack/interactions`, { method: 'POST', headers, body })).status;
  };

  it('a lead approves from Slack, and sees the proof', async () => {
    const lead = await keyFor('lead of platform', 'operator', ['platform']);
    await call('PUT', `/v1/slack-users/${WORKSPACE}/${LEAD}`, { key: lead.id });
    const asked = (): SlackPost | undefined =>
      slack.posts.find(({ blocks }) => blocks[0]?.text?.text.includes('scale group/rehearsal to 1?') === true);
    await expect.poll(asked, PATIENT).toBeDefined();
    const post = asked() as SlackPost;
    const said = JSON.stringify(post.blocks);
    for (const part of ['Estimated saving', 'a month (', 'of 16,819 USD that it costs']) expect(said).toContain(part);
    expect(await press(post, 'approve')).toBe(200);
    await expect.poll(() => JSON.stringify(post.blocks), PATIENT).toContain('Approved by lead of platform');
    const link = /https:\/\/bursar\.example\.com\/#\/([^"|>]+)/.exec(said)?.[1] ?? '';
    const { page, open, faults } = await visit({ key: lead.text });
    await open(link);
    await page.getByRole('heading', { name: /group\/rehearsal/, level: 1 }).waitFor();
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await expect
      .poll(() => timeline.locator('.badge').allInnerTexts(), PATIENT)
      .toEqual(expect.arrayContaining(['Approved', 'Intended', 'Applied', 'Confirmed']));
    await timeline
      .getByText(/lead of platform/)
      .first()
      .waitFor();
    const proof = page.getByRole('region', { name: 'Proof' });
    expect(await proof.getByRole('row', { name: /^Replicas/ }).innerText()).toMatch(
      /^Replicas\s+4, of which 4 ready\s+1, of which 1 ready$/,
    );
    // The proof is told in the thread of the question.
    const proven = (): boolean =>
      slack.posts.some(({ thread, blocks }) => thread === post.ts && /done and proven/.test(JSON.stringify(blocks)));
    await expect.poll(proven, PATIENT).toBe(true);
    expect(await axe(page)).toEqual([]);
    // The ledger takes it in with its next look.
    const ledger = () =>
      call('GET', `/v1/savings/${link.replace('actions/', '')}`).then(
        () => true,
        () => false,
      );
    await expect.poll(ledger, PATIENT).toBe(true);
    await page.getByRole('link', { name: 'What it saved' }).click();
    await page.getByRole('heading', { name: /^Sav(ing of|ed by)/, level: 1 }).waitFor();
    expect(faults).toEqual([]);
  });

  it('an operator stops everything, and nothing is done until it is lifted', async () => {
    const operator = await keyFor('on call', 'operator');
    const { page, faults } = await visit({ key: operator.text });
    await pages(page).getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Kill switch' }).click();
    await page.getByText('Nothing is stopped').waitFor();
    await page.getByLabel('Reason').fill('a fire drill');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Yes, stop' }).click();
    await page.getByRole('row', { name: /everything\s+a fire drill/ }).waitFor();
    expect(await page.getByRole('button', { name: 'Lift' }).getAttribute('aria-disabled')).toBe('true');
    // Every page says so, and who did it.
    await pages(page)
      .getByRole('link', { name: /^Actions/ })
      .click();
    const banner = page.getByText('All actions are stopped');
    await banner.waitFor();
    await page.getByText(/by key:\w+ \(on call\): a fire drill/).waitFor();
    await page
      .getByRole('link', { name: /group\/sweep/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /group\/sweep/, level: 1 }).waitFor();
    const sweep = /#\/(actions\/act-\w+)/.exec(page.url())?.[1] ?? '';
    const state = async () => (await call<{ state: string }>('GET', `/v1/${sweep}`)).state;
    // Approving is not offered, and it says why; rejecting is.
    const offered = (name: string) => page.getByRole('button', { name, exact: true }).getAttribute('aria-disabled');
    await page.getByText(/^the kill switch is on for everything, since .* UTC, set by on call$/).waitFor();
    expect([await offered('Approve'), await offered('Reject')]).toEqual(['true', 'false']);
    expect(await state()).toBe('proposed');
    expect(await axe(page)).toEqual([]);
    // Whoever administers lifts it, and the same approval goes its way.
    const boss = await visit({ key: admin });
    await boss.page.getByRole('link', { name: 'To the kill switch' }).click();
    await boss.page.getByRole('button', { name: 'Lift' }).click();
    await boss.page.getByRole('button', { name: 'Yes, lift' }).click();
    await boss.page.getByText('Nothing is stopped').waitFor();
    await boss.page.getByText('All actions are stopped').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await banner.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('button', { name: 'Yes, approve' }).click();
    await expect.poll(state, PATIENT).toMatch(/confirmed|measured/);
    expect([faults, boss.faults]).toEqual([[], []]);
  });

  it('a programmer finds an operation on the page of the API, and tries it', async () => {
    for (const over of [{ dark: true, width: 390 }, {}]) {
      const { page, faults } = await visit({ key: admin, ...over });
      await page.goto(`${address}/docs`);
      const search = page.getByLabel('Search');
      await search.fill('kill');
      await page.getByText(/^1 of \d+ operations$/).waitFor();
      await search.fill('SPENT cost');
      const costs = page.locator('#costsCosts');
      expect(await page.locator('#tag-teams').isVisible()).toBe(false);
      await costs.locator('summary').click();
      await costs.getByLabel('group-by (query)').fill('team');
      await costs.getByRole('button', { name: 'Send' }).click();
      const answer = costs.getByRole('region', { name: 'Answer' });
      await answer.getByText('200 OK application/json').waitFor();
      expect(await answer.innerText()).toMatch(/curl -X GET 'http[^]*group-by=team'[^]*"team": "serving"/);
      // With a key of its own, and what is wrong is shown as it was answered.
      await page.getByLabel('API key to try with').fill('bursar_unknown');
      await costs.getByRole('button', { name: 'Send' }).click();
      await answer.getByText('401 Unauthorized').waitFor();
      expect(faults.splice(0)).toEqual([expect.stringContaining('401')]);
      expect([await axe(page), faults]).toEqual([[], []]);
    }
  });

  it('a CFO opens the PDF, and reads what was spent and what is saved, and how surely', async () => {
    const cfo = await keyFor('the CFO', 'viewer');
    // That of the last month that is over comes by itself; for the month that runs somebody asks.
    const made = async () => (await call<{ items: { month: string }[] }>('GET', '/v1/reports?team=ai')).items;
    await expect.poll(async () => (await made()).length, PATIENT).toBe(1);
    await call('POST', '/v1/reports', { team: 'ai', month: new Date().toISOString().slice(0, 7) });
    await expect.poll(async () => (await made()).length, PATIENT).toBe(2);
    const { page, faults } = await visit({ key: cfo.text });
    await pages(page).getByRole('link', { name: 'Reports' }).click();
    await page.getByLabel('Team', { exact: true }).first().selectOption('ai');
    await quiet(page);
    for (const { month } of await made()) {
      const href = await page.getByRole('link', { name: `PDF ai ${month}` }).getAttribute('href');
      const response = await page.request.get(`${address}${href}`, PATIENT);
      expect([response.status(), response.headers()['content-type']]).toEqual([200, 'application/pdf']);
      const words = new Pdf(await response.body()).texts.map(({ text }) => text).join('');
      const report = await call<Report>('GET', `/v1/reports/ai/${month}?format=json`);
      const { spend, savings, leftOnTable, nextSteps } = report;
      const amounts = [
        spend.total,
        ...savings.measured.map(({ amount }) => amount),
        ...[...leftOnTable.chances, ...nextSteps].flatMap((one) => [
          one.estimatedMonthlySavings,
          one.estimatedMonthlySavingsLow,
          one.estimatedMonthlySavingsHigh,
        ]),
      ];
      expect(amounts).not.toContain(null);
      for (const amount of amounts) expect(words).toContain(money(amount));
      if (!report.isOver) expect([savings.measured.length, nextSteps.length > 0]).toEqual([1, true]);
    }
    expect([await axe(page), faults]).toEqual([[], []]);
  });
});

/** As the report writes an amount for a reader of English. */
const money = (amount: string | null): string =>
  Number(amount).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
