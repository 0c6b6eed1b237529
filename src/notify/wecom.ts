/**
 * WeCom (企业微信): the bot of a group chat.
 *
 * By developer.work.weixin.qq.com, "群机器人配置说明" (document/path/91770): markdown of at most 4,096 bytes, pictures
 * as messages of their own of at most 2 MB, 20 messages a minute; and "全局错误码" for the codes.
 */
import { createHash } from 'node:crypto';
import type { Channel, Notification } from '../core/alert/channel.js';
import {
  asManyAsFit,
  type Bot,
  bytesOf,
  CUT,
  groupBotChannel,
  inMarkdown,
  markdownLines,
  outcomeByCode,
  short,
  titleOf,
} from './sending/group-bot.js';
import { MINUTE_MS } from '../core/time.js';

const MOST_BYTES = 4096;
const MOST_PICTURE_BYTES = 2 * 1024 * 1024;

const CODES = {
  busy: { 45_009: MINUTE_MS },
  again: new Set([-1]),
  remedies: {
    93_000: 'the address is not valid: the bot was removed, or the key is wrong',
    93_004: 'the bot was stopped',
    93_008: 'the bot is not in the group',
    40_058: 'it does not accept the format of the message',
  },
};

export const channel: Channel = groupBotChannel({
  name: 'wecom',
  description: 'WeCom, by the bot of a group chat.',
  example: 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=...',
  prefix: 'WECOM',
  signs: false,
  leastPauseMs: 3100,
  pictures: 'apart',
  request: (notification, { url }: Bot) => {
    const body =
      notification.part === 'picture'
        ? pictureOf(notification)
        : { msgtype: 'markdown', markdown: textOf(notification) };
    return body === null ? null : { url, body: JSON.stringify(body) };
  },
  outcome: (status, { errcode }) => outcomeByCode(status, errcode, CODES),
});

function textOf({ message }: Notification): { readonly content: string } {
  const { link } = message;
  const head = `**${inMarkdown(short(titleOf(message), 200))}**`;
  const tail =
    link === null ? [] : [`[${inMarkdown(link.text)}](${link.url.replaceAll('(', '%28').replaceAll(')', '%29')})`];
  const whole = (lines: readonly string[]): string => [head, ...lines, ...tail].join('\n');
  const lines = asManyAsFit(markdownLines(message), CUT, (some) => bytesOf(whole(some)) <= MOST_BYTES);
  return { content: whole(lines) };
}

function pictureOf({ picture }: Notification): object | null {
  if (picture === null || picture.png.length > MOST_PICTURE_BYTES) return null;
  const png = Buffer.from(picture.png);
  return {
    msgtype: 'image',
    image: { base64: png.toString('base64'), md5: createHash('md5').update(png).digest('hex') },
  };
}
