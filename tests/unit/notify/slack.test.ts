/**
 * The Slack channel against a Slack on this machine: what it sends, what it finds again, and what it says of each way
 * to fail.
 */
import { describe, expect, it } from 'vitest';
import { replyOf } from '../../../src/core/alert/message.js';
import type { ChannelConnection } from '../../../src/core/alert/channel.js';
import { channel } from '../../../src/notify/slack.js';
import { approvalNews, budgetNews, PIXEL, notificationOf } from '../../support/alerts.js';
import { SlackServer, slackServer } from '../../support/slack-server.js';

const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { now: () => NOW };

function connected(settings: Readonly<Record<string, string>>): ChannelConnection {
  const connection = channel.connect(settings, clock);
  if (connection === null) throw new Error('it has settings and does not connect');
  return connection;
}

describe('settings', () => {
  it('that are not there mean that Slack is not used', () => {
    expect(channel.connect({}, clock)).toBeNull();
    expect(channel.connect({ BURSAR_SLACK_SIGNING_SECRET: 'abc' }, clock)).toBeNull();
  });

  it('that are wrong are all named, and no value is', () => {
    expect(() =>
      channel.connect(
        {
          BURSAR_SLACK_BOT_TOKEN: 'hunter2',
          BURSAR_SLACK_CHANNEL: '#general',
          BURSAR_SLACK_API_URL: 'http://slack.example/',
        },
        clock,
      ),
    ).toThrow(
      /BURSAR_SLACK_API_URL is not an https.*BURSAR_SLACK_BOT_TOKEN is not a token.*BURSAR_SLACK_CHANNEL is not the id/,
    );
    expect(() => channel.connect({ BURSAR_SLACK_BOT_TOKEN: 'hunter2' }, clock)).not.toThrow('hunter2');
  });
});

describe('a bot', async () => {
  const slack = await slackServer(clock);
  const bot = connected(slack.settings());
  const notification = notificationOf(budgetNews());

  it('posts a message with its token, and replies in its thread', async () => {
    const first = await bot.send(notification);
    expect(first).toEqual({ kind: 'sent', reference: `C0GENERAL:${slack.posts[0]?.ts}` });
    expect(slack.posts[0]).toMatchObject({
      channel: 'C0GENERAL',
      thread: null,
      metadata: { event_type: 'bursar_alert', event_payload: { token: notification.token } },
    });
    const reference = first.kind === 'sent' ? first.reference : null;
    await bot.send({ ...notification, token: 'second', threadReference: reference });
    expect(slack.posts[1]).toMatchObject({
      thread: slack.posts[0]?.ts,
      metadata: { event_payload: { token: 'second' } },
    });
  });

  it('finds a message whose answer was lost, also behind a page and in a thread', async () => {
    const reference = `C0GENERAL:${slack.posts[0]?.ts}`;
    for (const [token, threadReference] of [
      ['lost-1', null],
      ['lost-2', reference],
    ] as const) {
      slack.faults.push({ method: 'chat.postMessage', fault: 'lost' });
      const lost = { ...notification, token, threadReference };
      expect(await bot.send(lost)).toMatchObject({ kind: 'unknown' });
      for (let n = 0; n < 4; n++) await bot.send({ ...notification, token: `after ${token} ${n}`, threadReference });
      const found = slack.posts.find((post) => post.metadata?.event_payload.token === token);
      expect(await bot.outcome?.(lost)).toEqual({ kind: 'sent', reference: `C0GENERAL:${found?.ts}` });
    }
    expect(await bot.outcome?.({ ...notification, token: 'never sent' })).toEqual({
      kind: 'not-sent',
      detail: 'it is not in the conversation',
    });
  });

  it.each([
    ['away', { kind: 'unknown', detail: 'status 503' }],
    ['cut', { kind: 'unknown' }],
    [{ pause: 7 }, { kind: 'busy', waitMs: 7000 }],
    [{ error: 'not_in_channel' }, { kind: 'refused', code: 'not_in_channel', detail: 'invite the app to the channel' }],
    [{ error: 'fatal_error' }, { kind: 'unknown', detail: 'fatal_error' }],
    [{ error: 'ratelimited' }, { kind: 'busy', waitMs: 30_000 }],
  ] as const)('tells %j from the other ways to fail, and tries once', async (fault, expected) => {
    slack.faults.push({ method: 'chat.postMessage', fault });
    const before = [slack.posts.length, slack.calls.length] as const;
    expect(await bot.send(notification)).toMatchObject(expected);
    expect([slack.posts.length, slack.calls.length]).toEqual([before[0], before[1] + 1]);
  });

  it('that reaches nobody has surely sent nothing', async () => {
    const gone = await new SlackServer(clock).listen();
    await gone.close();
    const nobody = connected(gone.settings());
    expect(await nobody.send(notification)).toEqual({ kind: 'not-sent', detail: 'no connection (ECONNREFUSED)' });
  });

  it('writes to a person in the conversation with that person', async () => {
    await bot.send({ ...notification, address: 'U0ANA', token: 'to Ana' });
    expect(slack.posts.at(-1)).toMatchObject({ channel: 'DU0ANA' });
    expect(await bot.outcome?.({ ...notification, address: 'U0ANA', token: 'to Ana' })).toMatchObject({ kind: 'sent' });
  });

  it('replaces a message', async () => {
    const [post] = slack.posts;
    expect(await bot.update?.(`C0GENERAL:${post?.ts}`, replyOf({ title: 'Something else' }))).toMatchObject({
      kind: 'sent',
    });
    expect(post?.blocks).toMatchObject([{ type: 'header', text: { text: 'Something else' } }]);
    expect(await bot.update?.('C0GENERAL:1.1', replyOf({ title: 'x' }))).toMatchObject({
      kind: 'refused',
      code: 'message_not_found',
    });
  });

  it('puts a picture into the conversation, and finds it again', async () => {
    const picture = {
      ...notification,
      token: 'chart',
      part: 'picture' as const,
      picture: { png: PIXEL, text: 'a chart' },
      threadReference: `C0GENERAL:${slack.posts[0]?.ts}`,
    };
    expect(await bot.outcome?.(picture)).toMatchObject({ kind: 'not-sent' });
    slack.faults.push({ method: 'files.completeUploadExternal', fault: 'lost' });
    expect(await bot.send(picture)).toMatchObject({ kind: 'unknown' });
    expect(await bot.outcome?.(picture)).toEqual({ kind: 'sent', reference: null });
    expect(slack.posts.at(-1)).toMatchObject({ thread: slack.posts[0]?.ts, files: [{ name: 'chart.png' }] });
    expect([...slack.uploads.values()].at(-1)?.bytes?.equals(PIXEL)).toBe(true);
    slack.faults.push({ method: 'upload', fault: 'cut' });
    expect(await bot.send({ ...picture, token: 'other' })).toMatchObject({ kind: 'not-sent' });
  });

  it('answers at an address of Slack, and at no other', async () => {
    expect(await bot.answer?.(`${slack.url}/response/1`, replyOf({ title: 'Done' }))).toEqual({
      kind: 'sent',
      reference: null,
    });
    expect(slack.replies.at(-1)).toMatchObject({
      path: '/response/1',
      body: { response_type: 'ephemeral', replace_original: false, text: 'Done' },
    });
    expect(await bot.answer?.('https://slack.com.example.org/steal', replyOf({ title: 'x' }))).toMatchObject({
      kind: 'refused',
      code: 'not-slack',
    });
    expect(await bot.answer?.('file:///etc/passwd', replyOf({ title: 'x' }))).toMatchObject({ kind: 'refused' });
  });
});

describe('an incoming webhook', async () => {
  const slack = await slackServer(clock);
  const webhook = connected({
    BURSAR_SLACK_WEBHOOK_URL: `${slack.url}/services/T1/B1/x`,
    BURSAR_SLACK_API_URL: slack.apiUrl,
  });

  it('gets the message without buttons, and nothing is repeated', async () => {
    expect(await webhook.send(notificationOf(approvalNews()))).toEqual({ kind: 'sent', reference: null });
    expect(slack.replies[0]?.body.blocks.map(({ type }) => type)).not.toContain('actions');
    expect(webhook.whenUnknown).toBe('leave');
    slack.faults.push({ method: 'services', fault: 'lost' }, { method: 'services', fault: { pause: 3 } });
    expect(await webhook.send(notificationOf(budgetNews()))).toMatchObject({ kind: 'unknown' });
    expect(await webhook.send(notificationOf(budgetNews()))).toEqual({ kind: 'busy', waitMs: 3000 });
    expect(await webhook.send(notificationOf(budgetNews(), { address: 'C0OTHER' }))).toMatchObject({
      kind: 'refused',
      code: 'webhook-has-one-channel',
    });
  });
});
