/**
 * Signs messages according to Standard Webhooks 1.0.0 (standardwebhooks.com, "Signature scheme" and "Webhook headers").
 * The provider webhook has the same few lines, because parts do not import each other, and both sides of the scheme
 * must agree. Secrets are held here and shown nowhere.
 */
import { createHmac } from 'node:crypto';

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** One secret, or two while the older one is being replaced; a text that says what is wrong, without showing any. */
export function readSecrets(setting: string): readonly Buffer[] | string {
  const words = setting.trim().split(/\s+/);
  if (words.length > 2) return 'holds more than two secrets';
  const secrets = words.map((word) => Buffer.from(SECRET.exec(word)?.[1] ?? '', 'base64'));
  return secrets.some(({ length }) => length < LEAST_BYTES || length > MOST_BYTES)
    ? `is not one or two secrets of the form whsec_ and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} bytes`
    : secrets;
}

/**
 * The three headers of a request.
 * @param id the same however often it is sent, without a full stop
 * @param timestamp of this sending, Unix seconds
 */
export function signedHeaders(
  id: string,
  timestamp: number,
  body: string,
  secrets: readonly Buffer[],
): Record<string, string> {
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
