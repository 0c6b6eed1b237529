/**
 * Makes the message of an alert in one language, with its link and buttons.
 *
 * Pure: the same alert gives the same message. A button is shown only while pressing it has an effect.
 */
import { canBeAcknowledged, canBeMuted, type Alert } from './alert.js';
import type { Message } from './message.js';
import type { AlertTexts } from './texts.js';

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
    buttons: buttonsOf(alert, texts),
  };
}

function buttonsOf({ state, news }: Alert, texts: AlertTexts): Message['buttons'] {
  if (state !== 'open' && state !== 'told') return [];
  return [
    ...(news.kind === 'approval' && state === 'open' ? texts.decisions(news) : []),
    ...(canBeAcknowledged(news, state) ? [texts.acknowledge] : []),
    ...(canBeMuted(news) ? [texts.mute] : []),
  ];
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
