/**
 * The bots of group chats: Microsoft Teams, Feishu, DingTalk and WeCom, against a server on this machine that answers
 * as their references say. The signatures are those that the platforms' own Python examples give for these values.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/core/alert/channel.js';
import { checkRoutes } from '../../../src/core/alert/routes.js';
import { channel as dingtalk } from '../../../src/notify/dingtalk.js';
import { channel as feishu } from '../../../src/notify/feishu.js';
import { channel as teams } from '../../../src/notify/teams.js';
import { channel as wecom } from '../../../src/notify/wecom.js';
import { approvalNews, budgetNews, PIXEL, notificationOf } from '../../support/alerts.js';
import { WireServer, type WireReply } from '../../support/wire-server.js';

const clock = { now: () => Date.UTC(2026, 10, 21, 12) };
const SECRET = 'hush-hush-hush';
const ALL: readonly Channel[] = [teams, feishu, dingtalk, wecom];
const urlOf = ({ name }: Channel): string => `BURSAR_${name.toUpperCase()}_WEBHOOK_URL`;

let server: WireServer;
beforeAll(async () => {
  server = await WireServer.start();
});
afterAll(() => server.close());
beforeEach(() => server.reset());

const answers = (reply: WireReply): void => server.on(() => true, reply);
const json = (body: object, status = 200): WireReply => ({ status, body: JSON.stringify(body) });
const connected = (channel: Channel, over: Readonly<Record<string, string>> = {}) => {
  const connection = channel.connect({ [urlOf(channel)]: `${server.url}/hook?key=k1`, ...over }, clock);
  if (connection === null) throw new Error('not connected');
  return connection;
};
const sentBody = (): Record<string, unknown> => JSON.parse(server.requests.at(-1)?.body ?? '{}');
/** All texts of a JSON value, in their order. */
const textsOf = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(textsOf)
      : [];

describe('the settings of a group bot', () => {
  it('are absent, or every wrong one is named and no address or secret is quoted', () => {
    for (const channel of ALL) {
      expect(channel.connect({}, clock)).toBeNull();
      const wrong = `http://example.com/token-9 a=https://u:p@example.com/token-9 a=https://example.com/token-9`;
      let message = '';
      try {
        channel.connect({ [urlOf(channel)]: wrong }, clock);
      } catch (error) {
        message = String(error);
      }
      expect(message).toMatch(/names a twice/);
      expect(message).toMatch(/is not an https:/);
      expect(message).not.toContain('token-9');
    }
    expect(() =>
      feishu.connect(
        { BURSAR_FEISHU_WEBHOOK_URL: 'ops=https://example.com', BURSAR_FEISHU_WEBHOOK_SECRET: 'x' },
        clock,
      ),
    ).toThrow('BURSAR_FEISHU_WEBHOOK_SECRET is for an address without a name, but there is none');
  });

  it('name several bots, which routes address', async () => {
    answers(json({ errcode: 0 }));
    const connection = connected(wecom, {
      [urlOf(wecom)]: `${server.url}/hook?key=all research=${server.url}/hook?key=r`,
    });
    await connection.send(notificationOf(budgetNews()));
    await connection.send(notificationOf(budgetNews(), { address: 'research' }));
    expect(server.requests.map(({ path }) => path)).toEqual(['/hook?key=all', '/hook?key=r']);
    expect(await connection.send(notificationOf(budgetNews(), { address: 'vision' }))).toEqual({
      kind: 'refused',
      code: 'no-such-bot',
      detail: 'BURSAR_WECOM_WEBHOOK_URL names no vision',
    });
    const routeTo = (address: string) => () =>
      checkRoutes({
        routes: [
          { teams: null, kinds: null, leastSeverity: 'info', to: [{ channel: 'wecom', address }], escalation: [] },
        ],
      });
    expect(routeTo('research')).not.toThrow();
    expect(routeTo('https://example.com')).toThrow('the alert routes have problems');
  });
});

describe('what arrives', () => {
  it('is an Adaptive Card in Teams, whose texts know no markdown, with a button that opens the page', async () => {
    answers({ status: 202 });
    expect(await connected(teams).send(notificationOf(approvalNews()))).toEqual({ kind: 'sent', reference: null });
    const [attachment] = sentBody()['attachments'] as { contentType: string; content: Record<string, unknown> }[];
    expect(attachment?.contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(attachment?.content).toMatchObject({
      type: 'AdaptiveCard',
      version: '1.4',
      actions: [{ type: 'Action.OpenUrl', url: 'https://bursar.example.com/#/actions/act-0123456789abcdef' }],
    });
    const blocks = attachment?.content['body'] as { type: string; inlines: { type: string }[] }[];
    expect(new Set(blocks.map(({ type }) => type))).toEqual(new Set(['RichTextBlock']));
    expect(textsOf(blocks)).toContain('what runs there ends');
  });

  it('is a signed card in Feishu, all of it plain text', async () => {
    answers(json({ code: 0, msg: 'success', data: {} }));
    const connection = connected(feishu, { BURSAR_FEISHU_WEBHOOK_SECRET: SECRET });
    expect(await connection.send(notificationOf(budgetNews({ team: '<at user_id="all">x</at>' })))).toMatchObject({
      kind: 'sent',
    });
    const body = sentBody();
    expect(body).toMatchObject({
      timestamp: '1795262400',
      sign: 'hYejQw5PJ6+nhji3AXATDRNg1iINlBsqMGbfkqjgECE=',
      msg_type: 'interactive',
      card: { header: { template: 'orange', title: { tag: 'plain_text' } } },
    });
    expect(JSON.stringify(body['card'])).not.toMatch(/lark_md|"markdown"/);
    expect(textsOf(body['card'])).toContain('Spent\n8,123.46 USD');
    await connected(feishu).send(notificationOf(budgetNews()));
    expect(sentBody()).not.toHaveProperty('sign');
  });

  it('is an action card in DingTalk, signed in the address, whose markdown hides no link', async () => {
    answers(json({ errcode: 0, errmsg: 'ok' }));
    const connection = connected(dingtalk, { BURSAR_DINGTALK_WEBHOOK_SECRET: SECRET });
    expect(await connection.send(notificationOf(budgetNews({ team: '[a](https://evil)' })))).toMatchObject({
      kind: 'sent',
    });
    const query = new URL(server.requests[0]?.path ?? '', server.url).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      key: 'k1',
      timestamp: '1795262400000',
      sign: 'dZhNVR74U9jtOQ6bceFNtfX/1OVNwr3mfcM1RXWyEIQ=',
    });
    const { text, singleURL } = sentBody()['actionCard'] as { text: string; singleURL: string };
    expect(text).toContain('\uFF3Ba\uFF3D(https://evil)');
    expect(text).toContain('**Spent**: 8,123.46 USD');
    expect(singleURL).toBe('https://bursar.example.com/#/budgets/gpus');
  });

  it('is markdown in WeCom, which calls nobody, and a picture of its own', async () => {
    answers(json({ errcode: 0, errmsg: 'ok' }));
    await connected(wecom).send(notificationOf(budgetNews({ team: '<@everyone>' })));
    const { content } = sentBody()['markdown'] as { content: string };
    expect(content).not.toContain('<');
    expect(content).toContain('\uFF1C@everyone\uFF1E');
    expect(content).toMatch(/\(https:\/\/bursar\.example\.com\/#\/budgets\/gpus\)$/);
    await connected(wecom).send(
      notificationOf(budgetNews(), { part: 'picture', picture: { png: PIXEL, text: 'a chart' } }),
    );
    expect(sentBody()).toEqual({
      msgtype: 'image',
      image: { base64: PIXEL.toString('base64'), md5: createHash('md5').update(PIXEL).digest('hex') },
    });
    const large = { png: new Uint8Array(2 * 1024 * 1024 + 1), text: 'a chart' };
    expect(
      await connected(wecom).send(notificationOf(budgetNews(), { part: 'picture', picture: large })),
    ).toMatchObject({ kind: 'refused' });
  });

  it.each([
    [teams, 28_000],
    [feishu, 20_000],
    [dingtalk, 20_000],
    [wecom, 4096],
  ] as const)('is cut to what %o takes, in whole lines, and says so', async (channel, most) => {
    answers(channel === teams ? { status: 202 } : json({ errcode: 0, code: 0 }));
    const drivers = Array.from({ length: 900 }, (_, index) => ({
      name: `节点 ${index} ${'x'.repeat(40)}`,
      cost: '1',
      share: null,
    }));
    await connected(channel).send(notificationOf(budgetNews({ drivers })));
    const body = server.requests.at(-1)?.body ?? '';
    const counted = channel === wecom ? (sentBody()['markdown'] as { content: string }).content : body;
    expect(Buffer.byteLength(counted, 'utf8')).toBeLessThanOrEqual(most);
    expect(Buffer.byteLength(counted, 'utf8')).toBeGreaterThan(channel === feishu ? 2000 : most * 0.9);
    expect(body).toContain('\u2026');
    expect(body).toContain('https://bursar.example.com');
  });
});

describe('what becomes of it', () => {
  it.each([
    [feishu, json({ code: 11232, msg: 'too many request' }), { kind: 'busy', waitMs: 60_000 }],
    [feishu, json({ StatusCode: 0, StatusMessage: 'success' }), { kind: 'sent' }],
    [feishu, json({ code: 19021, msg: 'sign match fail' }), { kind: 'refused', code: 'code-19021' }],
    [feishu, json({ code: 9499, msg: 'Bad Request' }, 400), { kind: 'refused', code: 'code-9499' }],
    [dingtalk, json({ errcode: 130101, errmsg: 'send too fast' }), { kind: 'busy', waitMs: 600_000 }],
    [dingtalk, json({ status: 1111, wait: 5, punish: 'deny' }), { kind: 'busy', waitMs: 600_000 }],
    [dingtalk, json({ errcode: -1, errmsg: 'system busy' }), { kind: 'not-sent' }],
    [dingtalk, json({ errcode: 310000, errmsg: 'sign not match' }), { kind: 'refused', code: 'code-310000' }],
    [wecom, json({ errcode: 45009, errmsg: 'api freq out of limit' }), { kind: 'busy', waitMs: 60_000 }],
    [wecom, json({ errcode: 93000, errmsg: 'invalid webhook url' }), { kind: 'refused', code: 'code-93000' }],
    [wecom, { status: 200, body: '<html>' }, { kind: 'unknown' }],
    [wecom, { status: 404 }, { kind: 'refused', code: 'status-404' }],
    [teams, { status: 404 }, { kind: 'refused', code: 'status-404', detail: 'the workflow no longer exists' }],
    [teams, { status: 429, headers: { 'retry-after': '7' } }, { kind: 'busy', waitMs: 7000 }],
    [teams, { status: 502 }, { kind: 'unknown' }],
    [teams, { lost: true }, { kind: 'unknown' }],
  ] as const)('%o answered with %j', async (channel, reply, expected) => {
    answers(reply);
    const outcome = await connected(channel).send(notificationOf(budgetNews()));
    expect(outcome).toMatchObject(expected);
    expect(JSON.stringify(outcome)).not.toContain('k1');
    expect(server.requests).toHaveLength(1);
  });
});
