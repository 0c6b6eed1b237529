/**
 * The message of an alert before a channel formats it: plain texts, no markup, nothing escaped.
 *
 * Pure types. A channel cuts what is too long and escapes its markup; compose.ts makes the message of an alert, with
 * the texts of texts.ts.
 */
import type { AlertKind, Severity } from './alert.js';

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface TextList {
  readonly title: string;
  readonly items: readonly string[];
}

export const ACTS = ['approve', 'reject', 'acknowledge', 'mute'] as const;
export type Act = (typeof ACTS)[number];

export interface Button {
  readonly act: Act;
  readonly label: string;
  /** Asked before it counts; null: nothing is asked. */
  readonly confirm: { readonly title: string; readonly text: string; readonly yes: string; readonly no: string } | null;
}

export interface Message {
  /** The id of the alert, which a pressed button sends. Null: the message belongs to no alert. */
  readonly alert: string | null;
  readonly kind: AlertKind | 'answer';
  readonly severity: Severity;
  /** One line. */
  readonly title: string;
  readonly lines: readonly string[];
  readonly facts: readonly Fact[];
  readonly lists: readonly TextList[];
  /** Small print. */
  readonly note: string | null;
  readonly link: { readonly text: string; readonly url: string } | null;
  readonly buttons: readonly Button[];
}

/** The content of an alert, without its buttons, link and answer. */
export type Content = Pick<Message, 'title' | 'lines' | 'facts' | 'lists'>;

/** A message that answers one person. */
export function replyOf(content: Partial<Content> & Pick<Content, 'title'>): Message {
  return {
    alert: null,
    kind: 'answer',
    severity: 'info',
    lines: [],
    facts: [],
    lists: [],
    note: null,
    link: null,
    buttons: [],
    ...content,
  };
}

/** The message as plain text, for logs, notifications and mail without markup. */
export function plainText({ title, lines, facts, lists, note, link }: Message): string {
  return [
    title,
    ...lines,
    ...facts.map(({ name, value }) => `${name}: ${value}`),
    ...lists.flatMap((list) => [`${list.title}:`, ...list.items.map((item) => `- ${item}`)]),
    ...(note === null ? [] : [note]),
    ...(link === null ? [] : [`${link.text}: ${link.url}`]),
  ].join('\n');
}
