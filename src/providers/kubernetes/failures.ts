/**
 * What went wrong at the API server, as the line's own failures, and what a write that went wrong has done.
 *
 * A message names the verb and the resource and never a token, a header or a body. The invariant: a write is a failure
 * only where it surely did nothing; where an answer was lost it is `unknown`.
 */
import { ApiException } from '@kubernetes/client-node';
import { Failure, conflict, denied, invalid, missing, unavailable } from '../../core/errors.js';
import type { EffectOutcome } from '../../core/ports.js';
import { NEVER_SENT } from '../../core/never-sent.js';

/** Verb and resource as RBAC writes them: `list pods`, `patch deployments.apps ml/trainer`. */
export type Asked = string;

/** The API server's answer to a refused request (Kubernetes API, meta/v1 Status). */
interface Status {
  readonly reason?: string;
  readonly message?: string;
}

/** HTTP status of an answer; null: there was none. */
export const statusOf = (error: unknown): number | null => (error instanceof ApiException ? error.code : null);

/** Nothing was asked either where the credentials' file could not be read, or TLS could not be set up. */
const NOT_ASKED = /^(?:ENOENT|EACCES|ERR_TLS\w*|CERT_\w+|\w+_CERT\w*|UNABLE_TO_\w+)$/;

/** The code of a network error, wherever in the chain of causes it stands. */
function codeOf(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
    if (cause instanceof AggregateError) return codeOf(cause.errors[0]);
    if (cause.name === 'TimeoutError') return 'timeout';
  }
  return null;
}

function answerOf(error: ApiException<unknown>): Status {
  if (typeof error.body !== 'string') return {};
  try {
    const status = JSON.parse(error.body) as unknown;
    return typeof status === 'object' && status !== null ? status : {};
  } catch {
    return {};
  }
}

const messageOf = (error: ApiException<unknown>): string =>
  answerOf(error).message?.slice(0, 300) ?? `HTTP ${error.code}`;

/** Whatever was thrown, as a Failure of the kind that it is. */
export function failureOf(error: unknown, asked: Asked): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof ApiException))
    return unavailable(
      `the Kubernetes API cannot be reached to ${asked}: ${codeOf(error) ?? 'no reason given'}`,
      error,
    );
  const { code } = error as ApiException<unknown>;
  if (code === 401) return denied(`the cluster does not know the credentials (401): they are needed to ${asked}`);
  if (code === 403) return denied(`the credentials may not ${asked}`);
  if (code === 404) return missing(`there is nothing to ${asked}`);
  if (code === 409) return conflict(`${asked}: it has changed meanwhile`);
  if (code === 410 || code === 429 || code >= 500)
    return unavailable(`the Kubernetes API does not ${asked} now (${code})`, error);
  return invalid(`the Kubernetes API refuses to ${asked} (${code}): ${messageOf(error)}`);
}

/** Reads something; 404 is null. @throws Failure */
export async function read<T>(asked: Asked, call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw failureOf(error, asked);
  }
}

/** Done; or why it is not, or not surely. `code` is the HTTP status of a refusal. */
export type Written<T> =
  | { readonly done: true; readonly value: T }
  | { readonly done: false; readonly code: number | null; readonly outcome: EffectOutcome };

/**
 * Writes once, never again.
 * @param answers statuses that are answers here and not failures
 * @throws Failure denied, or unavailable, if nothing has been changed
 */
export async function write<T>(
  asked: Asked,
  call: () => Promise<T>,
  answers: readonly number[] = [],
): Promise<Written<T>> {
  try {
    return { done: true, value: await call() };
  } catch (error) {
    if (!(error instanceof ApiException)) {
      const code = codeOf(error);
      if (code !== null && (NEVER_SENT.has(code) || NOT_ASKED.test(code))) throw failureOf(error, asked);
      return {
        done: false,
        code: null,
        outcome: { kind: 'unknown', detail: `the answer to ${asked} was lost (${code ?? 'no reason given'})` },
      };
    }
    return {
      done: false,
      code: error.code,
      outcome: answers.includes(error.code)
        ? { kind: 'refused', code: `http-${error.code}`, detail: messageOf(error) }
        : refusalOf(error, asked),
    };
  }
}

/** RBAC's own words; any other 403 is a rule of the cluster that said no: a quota, an admission policy or webhook. */
const NO_ACCESS = /^$|^Forbidden$| cannot \w+ (?:resource|path) /;
/** What a webhook could not be asked about is not written (Kubernetes, "Dynamic Admission Control": failurePolicy). */
const UNASKED_HOOK = /failed calling webhook|failed to call webhook/;

function refusalOf(error: ApiException<unknown>, asked: Asked): EffectOutcome {
  const { code } = error;
  if (code === 404) return { kind: 'refused', code: 'missing', detail: `${asked}: it is not there` };
  if (code === 409) return { kind: 'refused', code: 'changed', detail: `${asked}: it has changed since it was read` };
  const { reason, message = '' } = answerOf(error);
  if ((code === 403 && !NO_ACCESS.test(message)) || (code === 500 && UNASKED_HOOK.test(message)))
    return { kind: 'refused', code: reason ?? `http-${code}`, detail: `${asked}: ${messageOf(error)}` };
  // The server turns away what it has no room for before it looks at it (Kubernetes, "API Priority and Fairness").
  if (code === 401 || code === 403 || code === 429 || (code === 503 && answerOf(error).reason === 'ServiceUnavailable'))
    throw failureOf(error, asked);
  if (code >= 500) return { kind: 'unknown', detail: `${asked}: the server failed (${code}) and may have done it` };
  return { kind: 'refused', code: answerOf(error).reason ?? `http-${code}`, detail: `${asked}: ${messageOf(error)}` };
}
