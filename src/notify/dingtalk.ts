/**
 * DingTalk (钉钉): the custom bot of a group chat. Followed: open.dingtalk.com, "自定义机器人接入" and "自定义机器人安全设置"
 * (document/robots/custom-robot-access, customize-robot-security-settings): signed by timestamp and secret in the
 * address, 20,000 bytes a message, 20 messages a minute, and ten minutes of silence for a sender that exceeds this.
 */
import { createHmac } from 'node:crypto';
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

const MOST_BYTES = 20_000;
const SILENCE_MS = 600_000;

const CODES = {
  busy: { 130_101: SILENCE_MS, 410_100: SILENCE_MS },
  again: new Set([-1]),
  remedies: {
    310_000: 'its security settings refuse it: use a signing secret, or allow this address; a keyword is not reliable',
    300_001: 'the address is not valid: the bot was removed, or the token is wrong',
    300_005: 'the address is not valid: the bot was removed, or the token is wrong',
    400_013: 'the group no longer exists',
    400_101: 'the address is not valid: the token is wrong',
    400_102: 'the bot was stopped',
    430_101: 'it refuses the link',
    460_101: 'the message is too long',
  },
};

export const channel: Channel = groupBotChannel({
  name: 'dingtalk',
  description: 'DingTalk, by the custom bot of a group chat.',
  example: 'https://oapi.dingtalk.com/robot/send?access_token=...',
  prefix: 'DINGTALK',
  signs: true,
  leastPauseMs: 3100,
  pictures: 'none',
  request: (notification, bot, now) => ({ url: signedUrl(bot, now), body: bodyOf(notification) }),
  // A sender that is held back gets `{ status: 1111, wait, punish }` instead of a code.
  outcome: (status, answer) =>
    answer['punish'] === 'deny'
      ? { kind: 'busy', waitMs: SILENCE_MS }
      : outcomeByCode(status, answer['errcode'], CODES),
});

/** `timestamp` is in milliseconds, and signed with a line feed before the secret that is the key too. */
function signedUrl({ url, secret }: Bot, now: number): string {
  if (secret === null) return url;
  const signed = new URL(url);
  signed.searchParams.set('timestamp', String(now));
  signed.searchParams.set('sign', createHmac('sha256', secret).update(`${now}\n${secret}`, 'utf8').digest('base64'));
  return signed.href;
}

/** An action card where there is a page to open, otherwise markdown. Two blanks before a line feed end a line there. */
function bodyOf({ message }: Notification): string {
  const { link } = message;
  const title = short(titleOf(message), 200);
  const body = (lines: readonly string[]): string => {
    const text = [`### ${inMarkdown(title)}`, ...lines].join('  \n');
    return JSON.stringify(
      link === null
        ? { msgtype: 'markdown', markdown: { title, text } }
        : { msgtype: 'actionCard', actionCard: { title, text, singleTitle: link.text, singleURL: link.url } },
    );
  };
  return body(asManyAsFit(markdownLines(message), CUT, (some) => bytesOf(body(some)) <= MOST_BYTES));
}
