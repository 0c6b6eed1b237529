/**
 * Messages in Slack's Block Kit.
 *
 * Pure: the same message gives the same blocks, and they respect every limit of Slack's reference (docs.slack.dev,
 * "Reference: Block Kit": blocks, block elements, composition objects), because Slack refuses a whole message for one
 * text that is too long. A text that is too long is cut and marked as cut. The three special characters of mrkdwn are
 * escaped ("Formatting message text: Escaping text"), so that no tag can mention a channel.
 */
import type { Button, Message } from '../../core/alert/message.js';
import { plainText } from '../../core/alert/message.js';
import type { Severity } from '../../core/alert/alert.js';

/**
 * Characters, unless it says otherwise. `text` beside blocks is what notifications show; chat.postMessage asks for at
 * most 4,000.
 */
const LIMITS = {
  blocks: 50,
  text: 4000,
  header: 150,
  section: 3000,
  fields: 10,
  field: 2000,
  contextElements: 10,
  actionElements: 25,
  buttonText: 75,
  value: 2000,
  actionId: 255,
  url: 3000,
  confirmTitle: 100,
  confirmText: 300,
  confirmButton: 30,
  altText: 2000,
} as const;

interface PlainText {
  readonly type: 'plain_text';
  readonly text: string;
  readonly emoji?: boolean;
}
interface Markdown {
  readonly type: 'mrkdwn';
  readonly text: string;
}
interface ButtonElement {
  readonly type: 'button';
  readonly text: PlainText;
  readonly action_id: string;
  readonly value?: string;
  readonly url?: string;
  readonly style?: 'primary' | 'danger';
  readonly confirm?: {
    readonly title: PlainText;
    readonly text: PlainText;
    readonly confirm: PlainText;
    readonly deny: PlainText;
  };
}
export type Block =
  | { readonly type: 'header'; readonly text: PlainText }
  | { readonly type: 'section'; readonly text?: Markdown; readonly fields?: Markdown[] }
  | { readonly type: 'context'; readonly elements: Markdown[] }
  | { readonly type: 'actions'; readonly elements: ButtonElement[] };

export interface SlackMessage {
  /** For notifications, and for who reads without blocks. */
  readonly text: string;
  readonly blocks: Block[];
}

const MARKS: Readonly<Record<Severity, string>> = { info: '\u{1F535}', warning: '\u{1F7E0}', critical: '\u{1F534}' };
const CUT = '\u2026';
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Blocks kept for the note, the link and the buttons, and for the word that something was cut. */
const RESERVED = 4;
const STYLES: Readonly<Partial<Record<Button['act'], 'primary' | 'danger'>>> = { approve: 'primary', reject: 'danger' };

/** A text of at most so many characters: whole characters, and whole escapes. Slack counts the escaped text. */
export function fit(text: string, most: number, escaped: boolean): string {
  let [result, kept] = ['', ''];
  for (const character of text) {
    result += escaped ? (ESCAPES[character] ?? character) : character;
    if (result.length > most) return kept + CUT;
    if (result.length <= most - CUT.length) kept = result;
  }
  return result;
}

const plain = (text: string, most: number): PlainText => ({
  type: 'plain_text',
  text: fit(text, most, false),
  emoji: true,
});
const markdown = (text: string): Markdown => ({ type: 'mrkdwn', text });

/** @param people ids of users who are mentioned */
export function slackMessage(message: Message, people: readonly string[] = []): SlackMessage {
  const { severity, title, note, link, buttons, kind } = message;
  const name = title.replaceAll(/\s+/g, ' ').trim() || ' ';
  const content = contentBlocks(message);
  const room = LIMITS.blocks - RESERVED - 1;
  const small = [
    ...(content.length > room ? [CUT] : []),
    ...(note === null ? [] : [fit(note, LIMITS.field, true)]),
    // Where there are buttons it is one of them.
    ...(link === null || buttons.length > 0 ? [] : [linkText(link)]),
    ...(people.length === 0 ? [] : [people.map((id) => `<@${id}>`).join(' ')]),
  ].filter((text) => text.trim() !== '');
  return {
    text: fit(plainText({ ...message, link: null }), LIMITS.text, true),
    blocks: [
      { type: 'header', text: plain(kind === 'answer' ? name : `${MARKS[severity]} ${name}`, LIMITS.header) },
      ...content.slice(0, room),
      ...(small.length === 0 ? [] : [{ type: 'context' as const, elements: small.map(markdown) }]),
      ...(buttons.length === 0
        ? []
        : [
            {
              type: 'actions' as const,
              elements: [
                ...(link === null || link.url.length > LIMITS.url ? [] : [openButton(link)]),
                ...buttons.slice(0, LIMITS.actionElements - 1).map((button) => buttonOf(button, message.alert ?? '')),
              ],
            },
          ]),
    ],
  };
}

function contentBlocks({ lines, facts, lists }: Message): Block[] {
  const blocks: Block[] = sections(lines.map((line) => fit(line, LIMITS.section, true)));
  const fields = facts.map(({ name, value }) =>
    markdown(`*${fit(name, 200, true)}*\n${fit(value === '' ? '-' : value, LIMITS.field - 300, true)}`),
  );
  for (let at = 0; at < fields.length; at += LIMITS.fields)
    blocks.push({ type: 'section', fields: fields.slice(at, at + LIMITS.fields) });
  for (const { title, items } of lists)
    blocks.push(
      ...sections([
        `*${fit(title, 200, true)}*`,
        ...items.map((item) => `\u2022 ${fit(item, LIMITS.section - 10, true)}`),
      ]),
    );
  return blocks;
}

/** Lines in as few sections as hold them; each line fits one. */
function sections(lines: readonly string[]): Block[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (line === '') continue;
    if (last !== undefined && last.length + 1 + line.length <= LIMITS.section)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line);
  }
  return texts.map((text) => ({ type: 'section', text: markdown(text) }));
}

/** `<address|text>`; an address that would end early is encoded, one that is too long is left out. */
function linkText({ text, url }: NonNullable<Message['link']>): string {
  const address = url.replaceAll('|', '%7C').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('&', '&amp;');
  return address.length > LIMITS.url - 500 ? fit(text, 200, true) : `<${address}|${fit(text, 200, true)}>`;
}

/** A button with an address opens it, and tells us so, which is acknowledged and means nothing. */
const openButton = ({ text, url }: NonNullable<Message['link']>): ButtonElement => ({
  type: 'button',
  text: plain(text.trim() === '' ? url : text, LIMITS.buttonText),
  action_id: 'bursar.open',
  url,
});

function buttonOf({ act, label, confirm }: Button, alert: string): ButtonElement {
  const style = STYLES[act];
  return {
    type: 'button',
    text: plain(label, LIMITS.buttonText),
    action_id: `bursar.${act}`,
    value: alert,
    ...(style === undefined ? {} : { style }),
    ...(confirm === null
      ? {}
      : {
          confirm: {
            title: plain(confirm.title, LIMITS.confirmTitle),
            text: plain(confirm.text, LIMITS.confirmText),
            confirm: plain(confirm.yes, LIMITS.confirmButton),
            deny: plain(confirm.no, LIMITS.confirmButton),
          },
        }),
  };
}
