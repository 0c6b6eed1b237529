/**
 * Verifies requests that Slack has signed (docs.slack.dev, "Verifying requests from Slack"): `v0:timestamp:body` under
 * the app's signing secret, over the raw bytes, within five minutes, compared in constant time. Never says which check
 * failed.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from './problem.js';

const WINDOW_SECONDS = 300;

/**
 * The digest of a request's signature: a repeated request has the same.
 * @param now epoch milliseconds
 * @throws Refusal 401 where the signature is not valid
 */
export function verifySlackRequest(
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  signingSecret: string,
  now: number,
): string {
  const [signature, timestamp] = [headers['x-slack-signature'], headers['x-slack-request-timestamp']];
  const isWhole =
    typeof signature === 'string' &&
    typeof timestamp === 'string' &&
    /^v0=[0-9a-f]{64}$/.test(signature) &&
    /^\d{1,12}$/.test(timestamp);
  if (!isWhole || Math.abs(now / 1000 - Number(timestamp)) > WINDOW_SECONDS) throw notSlack();
  const own = createHmac('sha256', signingSecret).update(`v0:${timestamp}:`).update(body).digest();
  if (!timingSafeEqual(own, Buffer.from(signature.slice('v0='.length), 'hex'))) throw notSlack();
  return createHash('sha256').update(own).digest('hex');
}

const notSlack = (): Refusal => new Refusal(401, 'this request was not signed by Slack within the last five minutes');
