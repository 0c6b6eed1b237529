/**
 * One run of the command line: what a verb prints, where it finds Bursar, and the exit code that it earns.
 *
 * Standard output gets the answer and nothing else; with --json that is one JSON document. Everything besides goes to
 * standard error. The database is opened when a verb asks for it, once, and closed at the end.
 */
import { userInfo } from 'node:os';
import { Failure } from '../core/errors.js';
import type { CliContext, LocalBursar } from './context.js';
import type { Door } from './door.js';
import { LocalDoor } from './local-door.js';
import { Progress } from './progress.js';
import { RemoteDoor } from './remote-door.js';
import { Remote } from './remote.js';
import { WrongUse } from './usage-error.js';

export class Session {
  /** Prints one JSON document instead of text for people. */
  json = false;
  exitCode = 0;
  private printed = false;
  private opened: Promise<LocalBursar> | null = null;

  constructor(readonly context: CliContext) {}

  /**
   * This machine's database, whatever the environment says about a remote one.
   * @throws WrongUse for a configuration that is wrong, Failure where the database cannot be had.
   */
  local(): Promise<LocalBursar> {
    this.opened ??= this.context.connect().catch((error: unknown) => {
      throw error instanceof Failure && error.kind === 'invalid' ? new WrongUse(error.message, error.problems) : error;
    });
    return this.opened;
  }

  /**
   * Where the verbs that the API has too are carried out: the API that the environment names, else this machine's
   * database.
   */
  async door(): Promise<Door> {
    const { remote, clock, stderr } = this.context;
    const note = (text: string): void => this.note(text);
    const progress = new Progress(stderr, clock);
    if (remote !== null) return new RemoteDoor(new Remote(remote), clock, progress, note);
    return new LocalDoor(await this.local(), clock, actor(), progress, note);
  }

  /** The answer of the verb: the document with --json, else the text. */
  print(document: unknown, text: () => string): void {
    if (this.printed) throw new Error('broken invariant: a verb prints one answer');
    this.printed = true;
    const lines = this.json ? `${JSON.stringify(document, null, 2)}\n` : text();
    if (lines !== '') this.context.stdout.write(lines);
  }

  /** With --json a failure is the one document, where the verb has not printed its own. */
  printFailure(document: unknown): void {
    if (this.json && !this.printed) this.print(document, () => '');
  }

  /** A sentence beside the answer. */
  note(text: string): void {
    this.context.stderr.write(`${text}\n`);
  }

  /** The work was done and found something wrong. */
  found(): void {
    this.exitCode = 1;
  }

  async close(): Promise<void> {
    const opened = await this.opened?.catch(() => null);
    await opened?.close();
  }
}

/** Who acts, for the audit: on the local database the command line is the machine's administrator. */
export function actor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container's user may have a number and no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
