/**
 * The message for a person, or for a program that asked for JSON, when a verb fails: a sentence, then every problem on
 * its own line. Never a stack, except for a bug, and never a secret.
 */
import { CommanderError, InvalidArgumentError } from 'commander';
import { Failure, type Problem } from '../core/errors.js';
import { WrongUse } from './usage-error.js';

export interface FailureText {
  readonly exitCode: number;
  readonly kind: string;
  readonly message: string;
  readonly problems: readonly Problem[];
  /** Commander has printed it already. */
  readonly said: boolean;
}

export function failureTextOf(error: unknown): FailureText {
  if (error instanceof CommanderError) {
    const exitCode = error.exitCode === 0 ? 0 : 2;
    const message = error.code === 'commander.help' ? 'no verb is given' : error.message.replace(/^error: /, '');
    // A verb that checks a value by itself is the one that has to say so.
    const said = !(error instanceof InvalidArgumentError);
    return { exitCode, kind: 'usage', message, problems: [], said };
  }
  if (error instanceof WrongUse)
    return { exitCode: 2, kind: 'usage', message: error.message, problems: error.problems, said: false };
  if (error instanceof Failure)
    return { exitCode: 1, kind: error.kind, message: error.message, problems: error.problems, said: false };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, kind: 'bug', message: `this is a bug in Bursar: ${message}`, problems: [], said: false };
}

export function textOf({ message, problems }: FailureText): string {
  const lines = problems
    .filter((problem) => problems.length > 1 || !message.includes(problem.message))
    .map(({ path, message: what }) => `  ${path === null ? '' : `${path} `}${what}`);
  return [`bursar: ${headline(message, problems)}`, ...lines, ''].join('\n');
}

/** A message that already lists its problems, as one sentence, gives way to their lines. */
function headline(message: string, problems: readonly Problem[]): string {
  if (problems.length < 2 || !problems.every((problem) => message.includes(problem.message))) return message;
  const start = Math.min(
    ...problems
      .map(({ path, message: what }) => message.indexOf(path === null ? what : `${path} ${what}`))
      .filter((at) => at >= 0),
  );
  const before = Number.isFinite(start) ? message.slice(0, start).trim().replace(/:$/, '') : message;
  return before === '' ? `${problems.length} problems` : before;
}

export const documentOf = ({ kind, message, problems }: FailureText): unknown => ({
  error: { kind, message, problems },
});
