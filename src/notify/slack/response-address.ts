/**
 * Answers one person at a request's response_url (docs.slack.dev, "Handling user interaction: Message responses").
 *
 * The address arrived in a signed request and is still not trusted: only Slack's own hosts and the host of the
 * configured API are called.
 */
import type { Message } from '../../core/alert/message.js';
import type { SendOutcome } from '../../core/alert/channel.js';
import { DEFAULT_REST_MS, post } from '../sending/post.js';
import { slackMessage } from './blocks.js';

const HOSTS: ReadonlySet<string> = new Set(['https://hooks.slack.com', 'https://hooks.slack-gov.com']);

export class ResponseAddress {
  private readonly own: string;

  constructor(apiUrl: string) {
    this.own = new URL(apiUrl).origin;
  }

  /** Only the person who asked sees the answer; the message stays. */
  async answer(to: string, message: Message, now: number): Promise<SendOutcome> {
    const origin = URL.canParse(to) ? new URL(to).origin : '';
    if (!HOSTS.has(origin) && origin !== this.own)
      return { kind: 'refused', code: 'not-slack', detail: "the response address is not one of Slack's" };
    const posted = await post(
      to,
      { 'content-type': 'application/json' },
      JSON.stringify({ response_type: 'ephemeral', replace_original: false, ...slackMessage(message) }),
      now,
    );
    if (posted.kind !== 'answered') return posted;
    if (posted.status === 429) return { kind: 'busy', waitMs: posted.retryAfterMs ?? DEFAULT_REST_MS };
    return posted.status === 200
      ? { kind: 'sent', reference: null }
      : { kind: 'refused', code: `status-${posted.status}`, detail: 'Slack did not accept the answer' };
  }
}
