/**
 * Signs requests as Standard Webhooks 1.0.0 says (standardwebhooks.com; "Signature scheme" and "Webhook headers" of its
 * specification).
 *
 * Signed is `id.timestamp.body`, so that neither the id by which a replay is refused nor the time can be exchanged.
 * With two secrets there are two signatures, and the receiver may change over whenever it likes. Secrets are held here
 * and shown nowhere.
 */
import { createHmac } from 'node:crypto';

/** One secret, or two while the older one is being replaced; the newer one first. */
export type Secrets = readonly Buffer[];

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
/** Of the key, in bytes ("Signature scheme": 192 to 512 bits). */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/** The secrets in a setting, divided by blanks; a text that says what is wrong with them, without showing any. */
export function readSecrets(setting: string): Secrets | string {
  const words = setting.trim().split(/\s+/);
  if (words.length > 2) return 'holds more than two secrets';
  const secrets = words.map((word) => Buffer.from(SECRET.exec(word)?.[1] ?? '', 'base64'));
  if (secrets.some((secret) => secret.length < LEAST_BYTES || secret.length > MOST_BYTES)) {
    return `is not one or two secrets of the form whsec_ and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} bytes`;
  }
  return secrets;
}

/** Whether two sets have a secret in common. */
export function share(some: Secrets, others: Secrets): boolean {
  return some.some((one) => others.some((other) => one.equals(other)));
}

/**
 * The three headers of a request.
 * @param id without a full stop, never used before
 * @param timestamp of this sending, Unix seconds
 */
export function signedHeaders(id: string, timestamp: number, body: string, secrets: Secrets): Record<string, string> {
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
