/**
 * Sends the audit as newline-delimited JSON by POST to a collector, in the form that Vector's `http_server`, the
 * OpenTelemetry collector's `webhookevent` receiver (`split_logs_at_newline`) and Fluent Bit's `http` input accept.
 *
 * At least once, in the order of the chain: a receiver recognises an entry by `seq`, and can check each by `hash` and
 * `text`. It follows no redirect, and never reveals its address or token.
 */
import { hash } from 'node:crypto';
import type { AuditCollector, ChainedEntry } from '../../core/audit-collector.js';
import { invalid } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import { addressProblem, post } from './post.js';

const URL_NAME = 'BURSAR_AUDIT_URL';
const TOKEN_NAME = 'BURSAR_AUDIT_TOKEN';

/**
 * Null: no collector is set.
 * @throws Failure invalid naming the settings that are wrong, never a value
 */
export function openAuditCollector(
  settings: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): AuditCollector | null {
  const [url, token] = [settings[URL_NAME] ?? '', settings[TOKEN_NAME] ?? ''];
  if (url === '' && token === '') return null;
  const problem = url === '' ? 'is missing' : addressProblem(url);
  if (problem !== null)
    throw invalid(`the audit's collector is wrong: ${URL_NAME} ${problem}`, [{ path: URL_NAME, message: problem }]);
  const headers = {
    'content-type': 'application/x-ndjson',
    'user-agent': 'Bursar',
    // Whole where it names its scheme: `Splunk <token>`.
    ...(token === '' ? {} : { authorization: token.includes(' ') ? token : `Bearer ${token}` }),
  };
  return {
    id: hash('sha256', url),
    async send(entries) {
      const posted = await post(url, headers, entries.map(lineOf).join(''), clock.now());
      if (posted.kind !== 'answered') return { kind: 'not-taken', problem: posted.detail, waitMs: null };
      return posted.status >= 200 && posted.status < 300
        ? { kind: 'taken' }
        : { kind: 'not-taken', problem: `status ${posted.status}`, waitMs: posted.retryAfterMs };
    },
  };
}

/** As the export prints it, and what the text says as fields. */
function lineOf(entry: ChainedEntry): string {
  const [, organisation, , id, at, actor, verb, target, detail = '{}'] = JSON.parse(entry.text) as string[];
  return `${JSON.stringify({ ...entry, organisation, id, at, actor, verb, target, detail: JSON.parse(detail) as unknown })}\n`;
}
