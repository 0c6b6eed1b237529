/**
 * The meaning of a database error: the only rule by which database.ts decides.
 *
 * An error of a statement carries PostgreSQL's SQLSTATE. Any other error of the client library means that the
 * connection is gone or silent. An error that may pass becomes a Failure of kind `unavailable`, which the line retries
 * later and the API answers with 503; any other error stays unchanged. No other code evaluates an error's code for
 * this.
 */
import { DatabaseError } from 'pg';
import { Failure, unavailable } from '../core/errors.js';

/**
 * SQLSTATEs that may pass (PostgreSQL's documentation, appendix "PostgreSQL Error Codes"): 08 connection, 40
 * transaction rollback, 53 resources, 57P shutdown and start, 25006 the server is a standby now, 55P03 a lock was not
 * to be had, 57014 cancelled or out of time.
 */
const PASSING = /^(?:08\w{3}|40\w{3}|53\w{3}|57P\w{2}|25006|55P03|57014)$/;

/** A serialization failure and a deadlock: the whole transaction was undone, and is to be run again. */
const REPEATED = /^(?:40001|40P01)$/;

/** After these the connection leads to a server that does not serve, or will not for long. */
const CONNECTION_LOST = /^(?:08\w{3}|57P\w{2}|25006)$/;

/** An error that the client library never throws for a connection: our own fault. */
const isBug = (error: unknown): boolean =>
  !(error instanceof Error) ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof SyntaxError;

/** Failures made by `troubleOf` after which the connection must not be used again. */
const lost = new WeakSet<Failure>();

/** The error as everybody else sees it. */
export function troubleOf(error: unknown): unknown {
  if (error instanceof Failure) return error;
  if (error instanceof DatabaseError) {
    const code = error.code ?? '';
    return PASSING.test(code)
      ? noted(unavailable(`the database: ${error.message}`, error), CONNECTION_LOST.test(code))
      : error;
  }
  return isBug(error)
    ? error
    : noted(unavailable(`the connection to the database was lost: ${reasonOf(error)}`, error), true);
}

function noted(failure: Failure, isLost: boolean): Failure {
  if (isLost) lost.add(failure);
  return failure;
}

/** Whether the database asks for the same transaction again. */
export const isToBeRepeated = (error: unknown): boolean => REPEATED.test(codeOf(causeOf(error)));

/** Whether the connection on which it happened is not to be used again. */
export const isConnectionLost = (error: unknown): boolean => error instanceof Failure && lost.has(error);

/** The error of a transaction that another one has overtaken: it is run again from its start. */
export const overtaken = (message: string): Failure => unavailable(message, { code: '40001' });

const causeOf = (error: unknown): unknown => (error instanceof Failure ? error.cause : error);

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

/** A system error's message names hosts; its code does not. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== '') return code;
  return error instanceof Error && error.message !== '' ? error.message : 'no reason given';
}
