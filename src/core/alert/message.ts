/**
 * The message of an alert, before any channel gives it its form: plain texts, no markup, nothing escaped.
 *
 * Pure: the same alert gives the same message. A channel cuts what it cannot hold and escapes what its markup means;
 * the words are in texts.ts. A button is there only as long as pressing it can do something.
 */
import type { Alert, AlertKind, Severity } from './alert.js';
import type { AlertTexts } from './texts.js';

export interface Fact {
  readonly name: string;
  readonly value: string;
}

export interface TextList {
  readonly title: string;
  readonly items: readonly string[];
}

export const ACTS = ['approve', 'reject', 'acknowledge'] as const;
export type Act = (typeof ACTS)[number];

export interface Button {
  readonly act: Act;
  readonly label: string;
  /** Asked before it counts; null: nothing is asked. */
  readonly confirm: { readonly title: string; readonly text: string; readonly yes: string; readonly no: string } | null;
}

export interface Message {
  /** Of the alert; what a pressed button says. Null: it is no alert's. */
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

/** What an alert says, without its buttons, link and answer. */
export type Content = Pick<Message, 'title' | 'lines' | 'facts' | 'lists'>;

/** @param publicUrl where people find Bursar, without a slash at its end; null: nobody said */
export function messageOf(alert: Alert, texts: AlertTexts, publicUrl: string | null): Message {
  const { id, kind, severity, news, state, answer, level } = alert;
  return {
    alert: id,
    kind,
    severity,
    ...texts.content(news),
    note: answer !== null ? texts.answered(answer) : state === 'open' && level > 0 ? texts.escalated(level) : null,
    link: publicUrl === null ? null : { text: texts.open, url: publicUrl + pathOf(alert) },
    buttons: state !== 'open' ? [] : news.kind === 'approval' ? texts.decisions(news) : [texts.acknowledge],
  };
}

/** The page about an alert's subject; the dashboard is one page, so the place is in the fragment. */
function pathOf({ id, news }: Alert): string {
  const [section, name] =
    news.kind === 'budget'
      ? ['budgets', news.budget]
      : news.kind === 'approval' || news.kind === 'result'
        ? ['actions', news.action]
        : ['alerts', id];
  return `/#/${section}/${encodeURIComponent(name)}`;
}

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
