/**
 * What people do in Slack: approving and rejecting with the rights of a key, requests that are forged, old or sent
 * twice, and the slash command.
 */
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { alertWorld } from '../support/alert-world.js';
import { budgetNews } from '../support/alerts.js';
import { instance } from '../support/memory-cloud.js';
import type { SlackPost } from '../support/slack-server.js';

describe('an action that waits for approval', async () => {
  const w = await alertWorld();
  /** Lets a policy propose to stop a machine; answers the message about it. */
  const propose = async (name: string): Promise<SlackPost> => {
    w.cloud.add(instance(name));
    w.script.wants = [{ action: 'Stop', target: name }];
    await w.look(2 * HOUR_MS);
    await w.tell();
    return w.slack.posts.at(-1)!;
  };
  const states = async (): Promise<string[]> => (await w.all()).map(({ state }) => state);
  const lastReply = (): string => w.slack.replies.at(-1)?.body.text ?? '';

  it('is told with its evidence and two buttons', async () => {
    await w.document('approve');
    const post = await propose('i-1');
    const text = JSON.stringify(post.blocks);
    for (const part of ['lab: stop instance/i-1?', 'Stop i-1', 'a test, ', 'the policy doc'])
      expect(text).toContain(part);
    expect(post.blocks.at(-1)?.elements).toHaveLength(2);
    await w.tell(HOUR_MS);
    expect(w.slack.posts).toHaveLength(1);
  });

  it('is approved by nobody whom Bursar does not know, and by nobody without the right', async () => {
    const [post] = w.slack.posts as [SlackPost];
    await w.connect('U0VIEWER', 'viewer');
    await w.connect('U0OTHER', 'operator', ['elsewhere']);
    for (const [user, words] of [
      ['U0STRANGER', 'Ask an administrator of Bursar to connect you'],
      ['U0STRANGER', 'bursar slack-users connect T0WORK U0STRANGER'],
      ['U0VIEWER', 'You may not decide this'],
      ['U0OTHER', 'the right to approve for lab'],
    ] as const) {
      expect((await w.press(user, post, 'approve')).status).toBe(200);
      await w.pass(1000);
      expect(lastReply()).toContain(words);
    }
    expect(await states()).toEqual(['proposed']);
  });

  it('is approved once by who may, signed as the key behind the person, and the message says who it was', async () => {
    const [post] = w.slack.posts as [SlackPost];
    const key = await w.connect('U0ANA', 'operator', ['lab']);
    const pressed = await w.press('U0ANA', post, 'approve');
    // Slack has its answer before anything was done.
    expect([pressed.status, pressed.text, await states()]).toEqual([200, '', ['proposed']]);
    // The same press within the same second: no error in Slack, and nothing follows from it.
    expect(await pressed.resend()).toBe(200);
    await w.tell(MINUTE_MS);
    expect(await states()).toEqual(['confirmed']);
    expect(w.cloud.arrived).toBe(1);
    const [action] = await w.all();
    expect(action?.approvedBy).toBe(`key:${key} (U0ANA)`);
    const entry = (await w.stores.audit.list('default', null, 50)).find(({ verb }) => verb === 'action.approve');
    expect(entry).toMatchObject({
      actor: `key:${key} (U0ANA)`,
      target: action?.id,
      detail: { slack: 'T0WORK/U0ANA', team: 'lab' },
    });
    expect(JSON.stringify(post.blocks)).toContain('Approved by U0ANA');
    expect(post.blocks.map(({ type }) => type)).not.toContain('actions');
    // The proof follows in the same thread.
    expect(w.slack.posts.at(-1)).toMatchObject({ thread: post.ts });
    expect(JSON.stringify(w.slack.posts.at(-1)?.blocks)).toContain('stopped, no longer billed');
  });

  it('is rejected; pressing again says what has become of it', async () => {
    const post = await propose('i-2');
    const approve = { ...post, blocks: [...post.blocks] };
    await w.press('U0ANA', post, 'reject');
    await w.tell();
    expect((await states()).at(-1)).toBe('refused');
    expect(JSON.stringify(post.blocks)).toContain('Rejected by U0ANA');
    await w.press('U0ANA', approve, 'approve');
    await w.pass(1000);
    expect(lastReply()).toMatch(/^Rejected by U0ANA, [-\d]{10} [:\d]{5} UTC\.$/);
    expect((await states()).at(-1)).toBe('refused');
  });

  it('that somebody decides elsewhere shows it here', async () => {
    const post = await propose('i-3');
    await w.approve((await w.all()).at(-1)!.id, 'boss');
    await w.tell(MINUTE_MS);
    expect(JSON.stringify(post.blocks)).toContain('Approved by boss');
    expect(post.blocks.map(({ type }) => type)).not.toContain('actions');
  });

  it('and waits for capacity says so once in its thread, and once when the wait ends', async () => {
    w.cloud.add(instance('i-full'));
    w.cloud.endsBilling = false;
    w.script.wants = [{ action: 'Stop', target: 'i-full' }];
    await w.look(2 * HOUR_MS);
    await w.tell();
    const post = w.slack.posts.at(-1)!;
    w.cloud.faults.push(...Array.from({ length: 4 }, () => 'full' as const));
    const before = w.slack.posts.length;
    const told = () => w.slack.posts.slice(before).map(({ thread, blocks }) => [thread, blocks[0]?.text?.text]);
    await w.press('U0ANA', post, 'approve');
    await w.tell();
    await w.tell(30_000);
    const waits = '\u{1F7E0} lab: stop instance/i-full: waits: there is no capacity now';
    expect(told()).toEqual([[post.ts, waits]]);
    expect(JSON.stringify(w.slack.posts.at(-1)?.blocks)).toContain('the cloud has no capacity now');
    expect((await w.all()).at(-1)?.state).toBe('intended');
    await w.tell(5 * MINUTE_MS);
    await w.tell(2 * MINUTE_MS);
    expect((await w.all()).at(-1)?.state).toBe('applied');
    w.cloud.endsBilling = true;
    w.cloud.change('instance/i-full', { billing: 'ended' });
    await w.tell(5 * MINUTE_MS);
    expect((await w.all()).at(-1)?.state).toBe('confirmed');
    expect(told().map(([thread]) => thread)).toEqual([post.ts, post.ts, post.ts]);
    expect(told().map(([, title]) => title?.replace(/.*i-full: /, ''))).toEqual([
      'waits: there is no capacity now',
      'capacity was found',
      'done and proven',
    ]);
    w.cloud.faults.length = 0;
  });

  it('is not asked about when it was decided while Slack was away', async () => {
    w.slack.always = 'away';
    const before = w.slack.posts.length;
    await propose('i-4');
    await w.approve((await w.all()).at(-1)!.id, 'boss');
    w.slack.always = null;
    await w.tell(10 * MINUTE_MS);
    expect(w.slack.posts.slice(before).map(({ blocks }) => blocks[0]?.text?.text)).toEqual([
      '\u{1F535} lab: stop instance/i-4: done and proven',
    ]);
  });

  it('is proven, where it replaces, with what runs in the place of the old one', async () => {
    w.cloud.add(instance('i-6'));
    w.script.wants = [{ action: 'Replace', target: 'i-6' }];
    await w.look(2 * HOUR_MS);
    await w.approve((await w.all()).at(-1)!.id, 'boss');
    await w.tell(10 * MINUTE_MS);
    const text = JSON.stringify(w.slack.posts.at(-1)?.blocks);
    for (const part of ['replace instance/i-6', 'done and proven', 'taken before']) expect(text).toContain(part);
  });

  it('is approved by nobody whose key was revoked, nor by who wrote the document where the team forbids it', async () => {
    const post = await propose('i-5');
    const key = await w.connect('U0AUTHOR', 'operator');
    await w.limits({ separateApprover: true }, 'lab');
    await w.db.query(`update policy set updated_by = $1`, [`key:${key} (U0AUTHOR)`]);
    await w.press('U0AUTHOR', post, 'approve');
    await w.pass(1000);
    expect(lastReply()).toContain('may not approve it');
    const gone = await w.connect('U0GONE', 'operator');
    await w.db.transaction((tx) => w.stores.keys.revoke(tx, 'default', gone, 0));
    await w.press('U0GONE', post, 'approve');
    await w.pass(1000);
    expect(lastReply()).toContain('You are not known to Bursar here');
    expect((await states()).at(-1)).toBe('proposed');
  });
});

describe('an alert that comes again', async () => {
  const w = await alertWorld();
  const mutes = () => w.stores.alertSettings.mutes(w.db, 'default', w.clock.at);
  const lastReply = (): string => w.slack.replies.at(-1)?.body.text ?? '';
  const raise = async (budget: string, ratio = '0.5'): Promise<void> => {
    const news = budgetNews({ team: 'lab', budget, threshold: { kind: 'actual', ratio } });
    await w.stores.alerts.raise(w.db, 'default', news, w.clock.at);
    await w.tell();
  };

  it('mentions who is connected for its team alone, and is muted for seven days by who may configure', async () => {
    await w.connect('U0ANA', 'operator', ['lab']);
    await w.connect('U0BOB', 'viewer', ['lab']);
    await w.connect('U0ALL', 'operator');
    await w.connect('U0ELSE', 'operator', ['elsewhere']);
    await raise('b');
    const [post] = w.slack.posts as [SlackPost];
    expect(JSON.stringify(post.blocks)).toContain('<@U0ANA> <@U0BOB>');
    expect(JSON.stringify(post.blocks)).not.toMatch(/U0ALL|U0ELSE/);
    for (const user of ['U0BOB', 'U0ELSE']) {
      await w.press(user, post, 'mute');
      await w.pass(1000);
      expect(lastReply()).toContain('You may not mute this');
    }
    expect(await mutes()).toEqual([]);
    for (let n = 0; n < 2; n++) {
      await w.press('U0ANA', post, 'mute');
      await w.pass(1000);
      expect(lastReply()).toMatch(
        /^Muted until [-\d]{10} [:\d]{5} UTC: budget alerts of lab in this conversation up to the severity warning/,
      );
    }
    const [mute, ...others] = await mutes();
    expect(others).toEqual([]);
    expect(mute).toMatchObject({ team: 'lab', kind: 'budget', by: expect.stringContaining('U0ANA') as string });
    const entry = (await w.stores.audit.list('default', null, 50)).find(({ verb }) => verb === 'alert.mute');
    expect(entry).toMatchObject({ target: mute?.id, detail: { slack: 'T0WORK/U0ANA', team: 'lab' } });
    const buttons = post.blocks.at(-1)?.elements?.map((one) => (one as { action_id?: string }).action_id);
    expect(buttons).toEqual(['bursar.acknowledge', 'bursar.mute']);
    await w.press('U0ANA', post, 'acknowledge');
    await w.pass(1000);
    expect(lastReply()).toContain('you have acknowledged this');
    await w.tell();
    expect(JSON.stringify(post.blocks)).toContain('U0ANA');
    expect(post.blocks.map(({ type }) => type)).not.toContain('actions');
    await raise('b', '0.8');
    expect(w.slack.posts).toHaveLength(1);
    // Another budget is another conversation.
    await raise('c');
    expect(w.slack.posts).toHaveLength(2);
    // That the budget is gone is graver than what was muted.
    await raise('b', '1');
    expect(w.slack.posts).toHaveLength(3);
    expect(JSON.stringify(w.slack.posts.at(-1)?.blocks)).toContain('100 % of the budget b is spent');
    await w.pass(7 * DAY_MS);
    expect(await mutes()).toEqual([]);
  });
});

describe('a request', async () => {
  const w = await alertWorld();
  const form = {
    team_id: 'T0WORK',
    user_id: 'U0ANA',
    command: '/bursar',
    text: 'status',
    response_url: 'https://hooks.slack.com/x',
  };

  it.each([
    [{ offBy: -301 }, 401],
    [{ offBy: 301 }, 401],
    [{ secret: 'another' }, 401],
    [{ offBy: -299 }, 200],
    [{ offBy: 299 }, 200],
  ] as const)('with %j is answered %i', async (options, status) => {
    expect((await w.fromSlack('/slack/commands', form, options)).status).toBe(status);
  });

  it('with a NUL in a text is refused, and nothing of it is kept', async () => {
    expect((await w.fromSlack('/slack/commands', { ...form, text: 'status\u0000' })).status).toBe(400);
  });

  it('whose body was changed, or that carries no signature, is refused', async () => {
    const send = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${w.url}/slack/interactions`, { method: 'POST', headers, body: 'payload=%7B%7D' });
    expect((await send({})).status).toBe(401);
    expect(
      (
        await send({
          'x-slack-signature': `v0=${'0'.repeat(64)}`,
          'x-slack-request-timestamp': String(Math.floor(w.clock.now() / 1000)),
        })
      ).status,
    ).toBe(401);
  });

  it('that is none of ours is acknowledged, and nothing follows', async () => {
    const before = await w.stores.work.waiting();
    expect(
      (
        await w.fromSlack('/slack/interactions', {
          payload: JSON.stringify({ type: 'view_submission', user: { id: 'U0ANA' } }),
        })
      ).status,
    ).toBe(200);
    expect((await w.fromSlack('/slack/commands', { ssl_check: '1', token: 'x' })).status).toBe(200);
    expect((await w.fromSlack('/slack/interactions', { payload: 'not json' })).status).toBe(400);
    expect(await w.stores.work.waiting()).toBe(before);
  });
});

describe('/bursar', async () => {
  const w = await alertWorld();
  const ask = async (user: string, text: string): Promise<string> => {
    expect((await w.command(user, text)).status).toBe(200);
    await w.pass(1000);
    return w.slack.replies.at(-1)?.body.text ?? '';
  };

  it('tells each what he or she may see', async () => {
    await w.budget('b', '100', []);
    await w.use('m', 11);
    await w.document('approve');
    w.cloud.add(instance('i-1'));
    w.script.wants = [{ action: 'Stop', target: 'i-1' }];
    await w.look();
    await w.connect('U0ANA', 'viewer', ['lab']);
    await w.connect('U0BOB', 'viewer', ['elsewhere']);
    expect(await ask('U0ANA', 'status')).toContain('Budgets over their plan: 1 of 1');
    // A team that only rules name counts too, once it has spend.
    await w.db.query(`delete from team where id = 'lab'`);
    expect(await ask('U0ANA', 'status')).toContain('Teams: 1');
    expect(await ask('U0BOB', 'status')).toContain('Teams: 0');
    expect(await ask('U0ANA', 'budget')).toContain('b (lab): 110.00 USD of 100.00 USD, 110 %');
    await w.db.query(`update budget_state set state = state || '{"unconverted": ["JPY"]}'`);
    expect(await ask('U0ANA', 'budget')).toContain('; not included: JPY');
    expect(await ask('U0ANA', ' Actions ')).toMatch(/lab: stop instance\/i-1, until .* \(act-\w+\)/);
    expect(await ask('U0BOB', 'status')).toContain('Budgets over their plan: 0 of 0');
    expect(await ask('U0BOB', 'budget')).toContain('There are none that you may see.');
    await w.db.query(`update budget_state set state = state || '{"setAside": [{"currency": "USD", "amount": "7"}]}'`);
    expect(await ask('U0ANA', 'budget')).toContain(
      '; the same usage is counted once, as metered: bills that are not final say 7.00 USD',
    );
    expect(await ask('U0ANA', 'budget B')).toContain('b (lab): 110.00 USD');
    expect(await ask('U0ANA', 'budget lab')).toContain('b (lab): 110.00 USD');
    expect(await ask('U0ANA', 'budget other')).toBe(
      'You may see no budget with the id other, and none of a team with this id.',
    );
    expect(await ask('U0BOB', 'budget b')).toContain('You may see no budget with the id b');
    for (const text of ['dance', 'status now', 'budget b c'])
      expect(await ask('U0ANA', text)).toBe(
        'Write /bursar status, /bursar budget, /bursar budget with the id of a budget or of a team, or /bursar actions.',
      );
    expect(await ask('U0EVE', 'status')).toContain('You are not known to Bursar here.');
    expect(w.slack.replies.every(({ body }) => body.response_type === 'ephemeral')).toBe(true);
  });
});
