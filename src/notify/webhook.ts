/**
 * The generic webhook: alerts as signed JSON to an address of the installation's choice.
 *
 * At least once: `webhook-id` stays the same however often an alert is sent, so a receiver that keeps the ids accepts
 * each alert once. It follows no redirect, and never reveals its address or secret.
 */
import { invalid, type Problem } from '../core/errors.js';
import { plainText } from '../core/alert/message.js';
import type { Channel, ChannelConnection, Notification, SendOutcome } from '../core/alert/channel.js';
import { addressProblem, DEFAULT_REST_MS, post } from './sending/post.js';
import { readSecrets, signedHeaders } from './sending/signature.js';
import { formatInstant } from '../core/time.js';

const URL_NAME = 'BURSAR_ALERT_WEBHOOK_URL';
const SECRET_NAME = 'BURSAR_ALERT_WEBHOOK_SECRET';

export const channel: Channel = {
  name: 'webhook',
  description: 'Signed JSON to an address of your own (Standard Webhooks).',
  settings: [
    { name: URL_NAME, description: 'Where alerts are posted', required: true, secret: true },
    {
      name: SECRET_NAME,
      description:
        'The secret that signs them, whsec_ and base64; two, separated by a blank, while one is being replaced',
      required: true,
      secret: true,
    },
  ],
  connect(settings, clock) {
    const [url, secret] = [settings[URL_NAME] ?? '', settings[SECRET_NAME] ?? ''];
    if (url === '' && secret === '') return null;
    const secrets = secret === '' ? 'is missing' : readSecrets(secret);
    const wrongUrl = url === '' ? 'is missing' : addressProblem(url);
    const problems: Problem[] = [
      ...(wrongUrl === null ? [] : [{ path: URL_NAME, message: wrongUrl }]),
      ...(typeof secrets === 'string' ? [{ path: SECRET_NAME, message: secrets }] : []),
    ];
    if (typeof secrets === 'string' || problems.length > 0)
      throw invalid(
        `the alert webhook's settings are wrong: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
        problems,
      );
    const connection: ChannelConnection = {
      name: 'webhook',
      leastPauseMs: 0,
      whenUnknown: 'send-again',
      threads: false,
      pictures: 'within',
      async send(notification) {
        const now = clock.now();
        const body = bodyOf(notification, now);
        const posted = await post(
          url,
          {
            'content-type': 'application/json',
            'user-agent': 'Bursar',
            ...signedHeaders(notification.token, Math.floor(now / 1000), body, secrets),
          },
          body,
          now,
        );
        return posted.kind === 'answered' ? outcomeOfStatus(posted.status, posted.retryAfterMs) : posted;
      },
    };
    return connection;
  },
};

/** The payload's form is Standard Webhooks' ("Payload structure"): type, timestamp, data. */
function bodyOf({ message, news, thread, picture }: Notification, now: number): string {
  const { alert, severity, title, lines, facts, lists, note, link } = message;
  return JSON.stringify({
    type: `alert.${news.kind}`,
    timestamp: formatInstant(now),
    data: {
      alert,
      severity,
      thread,
      title,
      text: plainText(message),
      lines,
      facts,
      lists,
      note,
      link: link?.url ?? null,
      news,
      ...(picture === null
        ? {}
        : { picture: { media: 'image/png', text: picture.text, base64: Buffer.from(picture.png).toString('base64') } }),
    },
  });
}

/**
 * 2xx: taken. 429 and 503: a pause. Other answers above 499 may have happened after it was taken. The rest says that a
 * person has to change something.
 */
function outcomeOfStatus(status: number, retryAfterMs: number | null): SendOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent', reference: null };
  if (status === 429 || status === 503) return { kind: 'busy', waitMs: retryAfterMs ?? DEFAULT_REST_MS };
  return status >= 500
    ? { kind: 'unknown', detail: `status ${status}` }
    : { kind: 'refused', code: `status-${status}`, detail: 'the receiver did not accept it' };
}
