/**
 * Microsoft Teams: the webhook of a workflow ("Post to a channel when a webhook request is received").
 *
 * By learn.microsoft.com, "Create incoming webhooks with Workflows for Microsoft Teams" and "Create and send messages":
 * an Adaptive Card (adaptivecards.io, schema 1.4) in the attachments of a message, at most 28 KB, four requests a
 * second; the workflow answers 202 before it posts. Texts are TextRuns, which know no markdown.
 */
import type { Channel, SendOutcome } from '../core/alert/channel.js';
import type { Message } from '../core/alert/message.js';
import { asManyAsFit, bytesOf, CUT, groupBotChannel, short, titleOf } from './sending/group-bot.js';

const MOST_BYTES = 28_000;
const COLOURS: Readonly<Record<Message['severity'], string>> = {
  info: 'Accent',
  warning: 'Warning',
  critical: 'Attention',
};

export const channel: Channel = groupBotChannel({
  name: 'teams',
  description: 'Microsoft Teams, by the webhook of a workflow.',
  example: 'https://....logic.azure.com/workflows/... or https://....powerplatform.com/...',
  prefix: 'TEAMS',
  signs: false,
  leastPauseMs: 1000,
  pictures: 'none',
  request: ({ message }, { url }) => ({ url, body: bodyOf(message) }),
  outcome: (status): SendOutcome =>
    status >= 200 && status < 300
      ? { kind: 'sent', reference: null }
      : { kind: 'refused', code: `status-${status}`, detail: REMEDIES[status] ?? 'the workflow does not accept it' },
});

const REMEDIES: Readonly<Record<number, string>> = {
  400: 'the workflow is stopped, or does not accept the format of the message',
  401: 'the address is not valid: its signature is wrong, or the workflow wants people to sign in',
  403: 'the address is not valid: its signature is wrong, or the workflow wants people to sign in',
  404: 'the workflow no longer exists',
};

interface Run {
  readonly type: 'TextRun';
  readonly text: string;
  readonly [style: string]: unknown;
}
const run = (text: string, style: object = {}): Run => ({ type: 'TextRun', text, ...style });
const block = (...inlines: readonly Run[]): object => ({ type: 'RichTextBlock', inlines });

function bodyOf(message: Message): string {
  const { link, severity } = message;
  const title = block(
    run(short(titleOf(message), 300), { weight: 'Bolder', size: 'Medium', color: COLOURS[severity] }),
  );
  const body = (blocks: readonly object[]): string =>
    JSON.stringify({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            msteams: { width: 'Full' },
            body: [title, ...blocks],
            ...(link === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: link.text, url: link.url }] }),
          },
        },
      ],
    });
  return body(asManyAsFit(blocksOf(message), block(run(CUT)), (some) => bytesOf(body(some)) <= MOST_BYTES));
}

function blocksOf({ lines, facts, lists, note }: Message): object[] {
  return [
    ...lines.map((line) => block(run(line))),
    ...facts.map(({ name, value }) => block(run(`${name}: `, { weight: 'Bolder' }), run(value || '-'))),
    ...lists.flatMap(({ title, items }) => [
      block(run(title, { weight: 'Bolder' })),
      ...items.map((item) => block(run(`\u2022 ${item}`))),
    ]),
    ...(note === null ? [] : [block(run(note, { isSubtle: true, size: 'Small' }))]),
  ];
}
