/**
 * One run of the command line: the output of a verb, the address of Bursar, and the exit code.
 *
 * Standard output gets only the answer; with --json that is one JSON document. Everything else goes to standard error.
 * The database is opened once, when a verb asks for it, and closed at the end.
 */
import { userInfo } from 'node:os';
import { principalText } from '../core/actor.js';
import { Failure } from '../core/errors.js';
import { formatInstant } from '../core/time.js';
import type { Client } from './client/client.js';
import { WHOLE, type CliContext, type LocalBursar, type Need } from './context.js';
import { Progress } from './progress.js';
import { NO_LISTING, untilInterrupted, type Listing } from './listing.js';
import { screenOf, type Screen } from './screen.js';
import { drawnOn, fitted, grouped } from './table.js';
import { WrongUse } from './usage-error.js';

export class Session {
  /** Prints one JSON document instead of text for people. */
  json = false;
  exitCode = 0;
  /** How a list is shown. */
  listing: Listing = NO_LISTING;
  /** What a verb does while it has nothing to show: on a terminal, until the answer. */
  readonly progress: Progress;
  private printed = false;
  /** What --watch showed last. */
  private shown: string | null = null;
  private asked: Promise<Client> | null = null;
  private opened: Promise<LocalBursar> | null = null;

  constructor(readonly context: CliContext) {
    this.progress = new Progress(context.stderr, context.clock);
  }

  /**
   * This machine's database, whatever the environment says about a remote one; a run opens it once.
   * @throws WrongUse for a configuration that is wrong, Failure where the database cannot be had.
   */
  local(need: Need = WHOLE): Promise<LocalBursar> {
    this.opened ??= this.opening(need);
    return this.opened;
  }

  private async opening(need: Need): Promise<LocalBursar> {
    this.progress.show("opening this machine's database");
    try {
      return await this.context.connect(need);
    } catch (error) {
      throw error instanceof Failure && error.kind === 'invalid' ? new WrongUse(error.message, error.problems) : error;
    }
  }

  /**
   * The same for a verb that only this machine's database has. Where a server is named, the database has to be named
   * too: an embedded one would be made, empty, beside the one that is meant.
   * @throws WrongUse if only a server is named
   */
  async own(need: Need): Promise<LocalBursar> {
    const { remote, environment } = this.context;
    if (remote !== null && !environment['DATABASE_URL'] && !environment['BURSAR_DATA_DIR'])
      throw new WrongUse(
        `this verb works on the database itself, and not through ${remote.url}: run it on the server, ` +
          'or name the database with DATABASE_URL or BURSAR_DATA_DIR',
      );
    return this.local(need);
  }

  /**
   * A client of the API that the environment names, otherwise of the API in this process, on this machine's database.
   */
  client(): Promise<Client> {
    this.asked ??= this.open();
    return this.asked;
  }

  /** Help and wrong use load no client. */
  private async open(): Promise<Client> {
    const [{ Api }, { Client }] = await Promise.all([import('./client/api.js'), import('./client/client.js')]);
    const { remote, clock } = this.context;
    const { progress } = this;
    const parts = { clock, progress, note: (text: string): void => this.note(text) };
    if (remote !== null) {
      const { HttpTransport } = await import('./client/http.js');
      return new Client({ ...parts, api: new Api(new HttpTransport(remote)), local: null });
    }
    const local = await this.local();
    const { ask } = await local.api(userName(), (rows) => progress.show(`reading: ${grouped(rows)} rows`));
    return new Client({ ...parts, api: new Api({ name: 'this process', hasLog: false, ask }), local });
  }

  /** The answer of the verb: the document with --json, otherwise the text. */
  print(document: unknown, text: () => string): void {
    if (this.printed) throw new Error('broken invariant: a verb prints one answer');
    this.printed = true;
    this.progress.end();
    if (this.json) this.context.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    else this.show(text);
  }

  /** Tables fit the terminal; as CSV they are the answer, and what stands beside them is not. */
  private show(text: () => string): void {
    const { stdout, stderr, environment, clock } = this.context;
    const { wide, csv, wraps, watch } = this.listing;
    const screen = screenOf(stdout, environment, { wide, csv });
    const draw = (on: Screen): string => drawnOn(on, () => fitted(text(), wraps));
    if (screen.csv !== null) {
      draw(screen);
      stdout.write(screen.csv.join('\n'));
      const lines = draw({ ...screen, csv: [], isForPeople: true });
      if (lines.trim() !== '') stderr.write(`${lines.trim()}\n`);
      return;
    }
    const lines = draw(screen);
    if (watch === null) return void (lines === '' || stdout.write(lines));
    const isTerminal = stdout.isTTY === true;
    // A pipe or a file gets what has changed, not the same answer again and again.
    if (!isTerminal && lines === this.shown) return;
    // Control Sequences (ECMA-48): erase the display, go to its first line.
    const before = isTerminal ? '\u001b[2J\u001b[H' : this.shown === null ? '' : '\n';
    this.shown = lines;
    stdout.write(`${before}Every ${watch} s, now ${formatInstant(clock.now())}\n\n${lines}`);
  }

  /** With --watch: waits, and says whether the answer is to be given again. */
  async isToRepeat(): Promise<boolean> {
    const { watch } = this.listing;
    if (watch === null) return false;
    if (!(await (this.context.pause ?? untilInterrupted)(watch))) return false;
    this.printed = false;
    return true;
  }

  /** With --json a failure is the one document, where the verb has not printed its own. */
  printFailure(document: unknown): void {
    if (this.json && !this.printed) this.print(document, () => '');
  }

  /** A sentence beside the answer. */
  note(text: string): void {
    this.progress.end();
    this.context.stderr.write(`${text}\n`);
  }

  /** The work was done and found something wrong. */
  reportFinding(): void {
    this.exitCode = 1;
  }

  async close(): Promise<void> {
    const opened = await this.opened?.catch(() => null);
    await opened?.close();
  }
}

/** The actor for the audit: on the local database the command line is the machine's administrator. */
export const actor = (): string => principalText({ kind: 'cli', id: userName() });

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have a number and no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
