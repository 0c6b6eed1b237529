/**
 * The network errors that prove that a request never left, so that code that must not act twice may send again. After
 * any other error the request may have arrived.
 */

/** What fails before a connection stands: the name, the way, the handshake. Codes of Node, undici and OpenSSL. */
export const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

const MOST_CAUSES = 5;

/** The code of a network error, wherever in the chain of its causes it stands; '' where there is none. */
export function networkCode(error: unknown): string {
  let cause: unknown = error;
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(cause.code))
      return cause.code;
    // Slack's client names it `original`; a host with several addresses has an error for each.
    if ('original' in cause) cause = cause.original;
    else cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return '';
}
