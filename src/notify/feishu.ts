/**
 * Feishu and Lark (飞书): the custom bot of a group chat. Followed: open.feishu.cn, "自定义机器人使用指南"
 * (document/client-docs/bot-v3/add-custom-bot): a card of at most 20 KB, signed by timestamp and secret within the
 * body, 100 messages a minute and five a second. Its buttons only open pages: a custom bot gets no callbacks. Every
 * text is `plain_text`, which cannot mention a person.
 */
import { createHmac } from 'node:crypto';
import type { Channel, Notification } from '../core/alert/channel.js';
import type { Message } from '../core/alert/message.js';
import { asManyAsFit, type Bot, bytesOf, CUT, groupBotChannel, outcomeByCode, short } from './sending/group-bot.js';
import { MINUTE_MS } from '../core/time.js';

const MOST_BYTES = 20_000;
/** The limit of a list, which is one element of the card. */
const MOST_ITEMS = 30;
/** Colours of a card's head ("卡片标题": template). */
const COLOURS: Readonly<Record<Message['severity'], string>> = { info: 'blue', warning: 'orange', critical: 'red' };

const CODES = {
  busy: { 11_232: MINUTE_MS, 99_991_400: MINUTE_MS },
  again: new Set<number>(),
  remedies: {
    9499: 'it does not accept the format of the message',
    19_001: 'the address is not valid: the bot was removed, or the token is wrong',
    19_021: 'the signature is not valid: the secret is wrong, or a clock differs by more than an hour',
    19_022: 'its security settings do not allow this address',
    19_024: 'its security settings ask for a keyword, which is not reliable: use a signing secret',
  },
};

export const channel: Channel = groupBotChannel({
  name: 'feishu',
  description: 'Feishu or Lark, by the custom bot of a group chat.',
  example: 'https://open.feishu.cn/open-apis/bot/v2/hook/...',
  prefix: 'FEISHU',
  signs: true,
  leastPauseMs: 700,
  pictures: 'none',
  request: ({ message }: Notification, bot, now) => ({ url: bot.url, body: bodyOf(message, bot, now) }),
  outcome: (status, answer) => outcomeByCode(status, answer['code'] ?? answer['StatusCode'], CODES),
});

/** The signature of nothing, by a key of timestamp (seconds), line feed and secret. */
function signature({ secret }: Bot, now: number): { readonly timestamp: string; readonly sign: string } | object {
  if (secret === null) return {};
  const timestamp = String(Math.floor(now / 1000));
  return { timestamp, sign: createHmac('sha256', `${timestamp}\n${secret}`).digest('base64') };
}

const plain = (content: string): object => ({ tag: 'plain_text', content });

function bodyOf(message: Message, bot: Bot, now: number): string {
  const { title, severity, link } = message;
  const header = { title: plain(short(title.replaceAll(/\s+/g, ' '), 200)), template: COLOURS[severity] };
  const open =
    link === null
      ? []
      : [{ tag: 'action', actions: [{ tag: 'button', type: 'primary', text: plain(link.text), url: link.url }] }];
  const body = (elements: readonly object[]): string =>
    JSON.stringify({
      ...signature(bot, now),
      msg_type: 'interactive',
      card: { config: { wide_screen_mode: true }, header, elements: [...elements, ...open] },
    });
  const cut = { tag: 'div', text: plain(CUT) };
  return body(asManyAsFit(elementsOf(message), cut, (some) => bytesOf(body(some)) <= MOST_BYTES));
}

function elementsOf({ lines, facts, lists, note }: Message): object[] {
  return [
    ...lines.map((line) => ({ tag: 'div', text: plain(line) })),
    ...(facts.length === 0
      ? []
      : [
          {
            tag: 'div',
            fields: facts.map(({ name, value }) => ({ is_short: true, text: plain(`${name}\n${value || '-'}`) })),
          },
        ]),
    ...lists.map(({ title, items }) => ({
      tag: 'div',
      text: plain(
        [title, ...items.slice(0, MOST_ITEMS).map((item) => `\u2022 ${item}`)].join('\n') +
          (items.length > MOST_ITEMS ? `\n${CUT}` : ''),
      ),
    })),
    ...(note === null ? [] : [{ tag: 'note', elements: [plain(note)] }]),
  ];
}
