/** A short list of alerts with their states, shown beside their subject. */
import type { JSX } from 'preact';
import type { AlertState, Severity } from '../../core/alert/alert.js';
import type { Alert } from './answers.js';
import { titleOf } from './alert-news.js';
import { code } from './format.js';
import { link } from './routes.js';
import { Badge, Empty, Instant, type Tone } from './ui.js';

export const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = { info: 'plain', warning: 'warn', critical: 'bad' };
export const STATE_TONES: Readonly<Record<AlertState, Tone>> = {
  new: 'plain',
  silent: 'plain',
  open: 'warn',
  answered: 'good',
  told: 'plain',
};

export function AlertLines({ items, none }: { readonly items: readonly Alert[]; readonly none: string }): JSX.Element {
  if (items.length === 0) return <Empty>{none}</Empty>;
  return (
    <ul class="plain">
      {items.map(({ id, news, state, madeAt }) => (
        <li key={id}>
          <a href={link('alerts', id)}>{titleOf(news)}</a>
          <div class="note">
            <Badge tone={STATE_TONES[state]}>{code('alert-state', state)}</Badge> <Instant at={madeAt} />
          </div>
        </li>
      ))}
    </ul>
  );
}
