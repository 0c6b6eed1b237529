/**
 * The findings of doctor, and the helpers that its checks share. A finding never contains a setting's value.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, unavailable } from '../../core/errors.js';
import { grouped } from '../table.js';

export type Status = 'ok' | 'attend' | 'wrong';

export interface Finding {
  readonly check: string;
  /** `wrong` makes the exit code 1; `attend` does not. */
  readonly status: Status;
  readonly detail: string;
  /** Null if nothing is to be done. */
  readonly remedy: string | null;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null });
export const attend = (check: string, detail: string, remedy: string): Finding => ({
  check,
  status: 'attend',
  detail,
  remedy,
});
export const wrong = (check: string, detail: string, remedy: string): Finding => ({
  check,
  status: 'wrong',
  detail,
  remedy,
});

/**
 * The result of a check, or a time-out: a hanging call hides nothing else. @throws Failure unavailable after `seconds`
 */
export async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = async (): Promise<never> => {
    await pause(seconds * 1000, undefined, { signal: done.signal });
    throw unavailable(`there was no answer within ${seconds} s`);
  };
  try {
    return await Promise.race([work, late()]);
  } finally {
    done.abort();
  }
}

/** Why something failed. Only a Failure's message is known to hold no secret. */
export function reasonOf(error: unknown): string {
  return error instanceof Failure
    ? error.message
    : `it failed unexpectedly (${error instanceof Error ? error.name : typeof error})`;
}

/** How the audit's collector stands. @param problem why it takes nothing; null: it does */
export const collectorFinding = (unsent: number, problem: string | null): Finding =>
  problem === null
    ? ok('audit collector', `it accepts entries; ${grouped(unsent)} are still to be sent`)
    : attend(
        'audit collector',
        `it does not accept the audit (${problem}); ${grouped(unsent)} entries wait`,
        'correct BURSAR_AUDIT_URL or BURSAR_AUDIT_TOKEN, or the collector: sending then continues where it stopped',
      );
