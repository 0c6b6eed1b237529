/**
 * The meaning of an error of the SDK: whether the request arrived, whether AWS refused it, and whether a retry may
 * help.
 *
 * Never passes on the SDK's error (it contains the request's headers) and never repeats AWS' words about credentials.
 * The invariant: only a request that certainly changed nothing is a failure or a refusal; any other request that may
 * have arrived is unknown. Sources: Amazon EC2 API Reference, "Error codes for the Amazon EC2 API"; Amazon EC2 Auto
 * Scaling API Reference, "Common Errors".
 */
import { denied, Failure, invalid, NoCapacity, unavailable } from '../../core/errors.js';
import type { EffectOutcome } from '../../core/ports.js';
import { NEVER_SENT } from '../../core/never-sent.js';

/**
 * AWS took nothing, and a later attempt may go through. EC2's codes for want of capacity all say so: capacity comes
 * back (Amazon EC2 User Guide, "Troubleshoot instance launch issues"). Resource contention is Auto Scaling's word for
 * a pending update.
 */
const BUSY: ReadonlySet<string> = new Set([
  'Throttling',
  'ThrottlingException',
  'ThrottledException',
  'RequestThrottled',
  'RequestThrottledException',
  'TooManyRequestsException',
  'RequestLimitExceeded',
  'EC2ThrottledException',
  'BandwidthLimitExceeded',
  'LimitExceededException',
  'SlowDown',
  'ResourceContention',
  'ResourceContentionFault',
]);
const NO_CAPACITY: ReadonlySet<string> = new Set([
  'InsufficientInstanceCapacity',
  'InsufficientHostCapacity',
  'InsufficientCapacityOnHost',
  'InsufficientCapacity',
]);
const NO_PERMISSION: ReadonlySet<string> = new Set([
  'UnauthorizedOperation',
  'AccessDenied',
  'AccessDeniedException',
  'OptInRequired',
]);
/** The credentials themselves are wrong. AWS' messages quote the signed request here. */
const NO_CREDENTIALS: ReadonlySet<string> = new Set([
  'AuthFailure',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'ExpiredToken',
  'ExpiredTokenException',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'InvalidSignatureException',
  'IncompleteSignature',
  'MissingAuthenticationToken',
  'CredentialsProviderError',
  'Blocked',
]);
/** The connection was never made: nothing can have arrived. */
const CONNECTING: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);
const MOST_CHARACTERS = 300;

export type Meaning =
  | { readonly kind: 'busy' | 'unsent' | 'lost'; readonly code: string }
  | { readonly kind: 'denied'; readonly code: string; readonly credentials: boolean }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string };

interface SdkError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function meaningOf(error: unknown): Meaning {
  const {
    name,
    code: errno,
    syscall,
    message,
    $metadata,
  } = (typeof error === 'object' && error !== null ? error : {}) as SdkError;
  const code = textOf(name);
  const status = $metadata?.httpStatusCode;
  if (BUSY.has(code) || status === 429 || NO_CAPACITY.has(code)) return { kind: 'busy', code };
  if (NO_PERMISSION.has(code)) return { kind: 'denied', code, credentials: false };
  if (NO_CREDENTIALS.has(code)) return { kind: 'denied', code, credentials: true };
  if (typeof status === 'number' && status !== 408) {
    // EC2 answers 500 where it has no capacity left: a plain no, unlike its other errors of the server.
    if ((status >= 400 && status < 500) || code.startsWith('Insufficient')) {
      return { kind: 'refused', code, detail: textOf(message).slice(0, MOST_CHARACTERS) };
    }
    return { kind: 'lost', code };
  }
  const cause = textOf(errno) === '' ? code : textOf(errno);
  const unmade =
    CONNECTING.has(textOf(syscall)) ||
    NEVER_SENT.has(textOf(errno)) ||
    textOf(message).includes('did not establish a connection');
  return { kind: unmade ? 'unsent' : 'lost', code: cause };
}

/** AWS' code of an error, or the network's. */
export const codeOf = (error: unknown): string => meaningOf(error).code;

function failureOf(meaning: Meaning, permission: string): Failure {
  switch (meaning.kind) {
    case 'busy':
      return NO_CAPACITY.has(meaning.code)
        ? new NoCapacity(`AWS has no capacity now for ${permission} (${meaning.code})`)
        : unavailable(`AWS throttled ${permission} (${meaning.code})`);
    case 'unsent':
      return unavailable(`AWS could not be reached for ${permission} (${meaning.code})`);
    case 'lost':
      return unavailable(`AWS gave no answer to ${permission} (${meaning.code})`);
    case 'denied':
      return denied(
        meaning.credentials
          ? `AWS does not accept the credentials used for ${permission} (${meaning.code})`
          : `AWS denied ${permission} (${meaning.code}): the permission is missing`,
      );
    case 'refused':
      return invalid(`AWS refused ${permission} (${meaning.code}): ${meaning.detail}`);
  }
}

/**
 * Reads: whatever goes wrong is a Failure that names the permission.
 * @param permission such as `ec2:DescribeInstances`
 */
export async function reading<T>(permission: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof Failure ? error : failureOf(meaningOf(error), permission);
  }
}

/** As `reading`, over the pages of a paginator. */
export async function* readingPages<T>(permission: string, pages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    for await (const page of pages) yield page;
  } catch (error) {
    throw error instanceof Failure ? error : failureOf(meaningOf(error), permission);
  }
}

interface Answer {
  readonly $metadata: { readonly requestId?: string | undefined };
}

/**
 * Sends a request that acts, once.
 * @returns taken with AWS' id of the request, refused with AWS' code, or unknown if the answer was lost
 * @throws Failure unavailable or denied if nothing was changed
 */
export async function acting<T extends Answer>(
  permission: string,
  call: () => Promise<T>,
  detailOf: (answer: T) => string,
): Promise<EffectOutcome> {
  try {
    const answer = await call();
    return { kind: 'taken', reference: answer.$metadata.requestId ?? null, detail: detailOf(answer) };
  } catch (error) {
    if (error instanceof Failure) throw error;
    const meaning = meaningOf(error);
    if (meaning.kind === 'lost')
      return { kind: 'unknown', detail: `the answer to ${permission} was lost (${meaning.code})` };
    if (meaning.kind === 'refused') return { kind: 'refused', code: meaning.code, detail: meaning.detail };
    throw failureOf(meaning, permission);
  }
}

/** A refusal of our own: AWS was not asked to change anything. */
export const refused = (code: string, detail: string): EffectOutcome => ({ kind: 'refused', code, detail });
