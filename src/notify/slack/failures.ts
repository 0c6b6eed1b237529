/**
 * The meaning of an error of Slack's client for a message: whether it arrived, whether it may be sent again, and
 * whether a person must change something.
 *
 * Never reveals more than Slack's own code. An error that is not known to be harmless counts as unknown, and the
 * message is searched for.
 */
import type { SendOutcome } from '../../core/alert/channel.js';
import { errorOutcome } from '../sending/post.js';

/** Where Slack names no pause. */
export const REST_OF_ANSWERS = 30_000;

/**
 * Errors after which, according to Slack, a part may have happened, or that say nothing (docs.slack.dev,
 * "chat.postMessage": Errors).
 */
const OPEN: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
]);
const PAUSES: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);

/** @param restMs where Slack names no pause */
export function outcomeOfError(error: unknown, restMs: number): SendOutcome {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  if (code === 'slack_webapi_rate_limited_error')
    return { kind: 'busy', waitMs: numberOf(error, 'retryAfter') * 1000 || restMs };
  if (code === 'slack_webapi_platform_error') return platformOutcome(slackCode(error), restMs);
  // Slack answers with another status than 200 and 429 only where something in front of it is broken.
  if (code === 'slack_webapi_http_error') return { kind: 'unknown', detail: `status ${numberOf(error, 'statusCode')}` };
  // A 429 whose pause the client cannot read is a plain error.
  if (error instanceof Error && error.message.startsWith('Retry header')) return { kind: 'busy', waitMs: restMs };
  return errorOutcome(error);
}

function platformOutcome(code: string, restMs: number): SendOutcome {
  if (PAUSES.has(code)) return { kind: 'busy', waitMs: restMs };
  return OPEN.has(code)
    ? { kind: 'unknown', detail: code }
    : { kind: 'refused', code, detail: REMEDIES[code] ?? 'Slack does not accept it' };
}

const REMEDIES: Readonly<Record<string, string>> = {
  not_in_channel: 'invite the app to the channel',
  channel_not_found: 'there is no such channel for this app: check the id, and invite the app',
  is_archived: 'the channel is archived',
  invalid_auth: 'the bot token is not valid',
  account_inactive: 'the bot token is not valid',
  token_revoked: 'the bot token was revoked',
  not_authed: 'the bot token is missing',
  missing_scope:
    'the app lacks a scope: chat:write, channels:history, groups:history, im:history, im:write, files:write',
};

function slackCode(error: unknown): string {
  const data: unknown = typeof error === 'object' && error !== null && 'data' in error ? error.data : null;
  const code: unknown = typeof data === 'object' && data !== null && 'error' in data ? data.error : null;
  return typeof code === 'string' && /^[a-z_]{1,60}$/.test(code) ? code : 'unknown_error';
}

function numberOf(error: unknown, name: string): number {
  const value: unknown =
    typeof error === 'object' && error !== null && name in error ? (error as Record<string, unknown>)[name] : null;
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
