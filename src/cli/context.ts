/**
 * What main.ts passes to the command line: the outside world, and the way to the database.
 *
 * Nothing here reads a setting or opens a connection; a verb requests what it needs, when it needs it.
 */
import type { Clock } from '../core/time.js';
import type { Problem } from '../core/errors.js';
import type { InstalledPart, QueueFacts } from '../core/installed.js';
import type { Policy } from '../core/policy/policy.js';
import type { BacktestPlotter, ReportRenderers } from '../core/ports.js';
import type { Archive } from '../application/usage/archive.js';
import type { Stores } from '../store/stores.js';
import type { Transport } from './client/transport.js';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** For a terminal: the number of characters per line. */
  readonly columns?: number;
}

export type Role = 'all' | 'api' | 'worker';
export const ROLES_OF_SERVE: readonly Role[] = ['all', 'api', 'worker'];

/** Told after each portion of the line's work: the stage, the keys done, and how many waited. */
export type DrainProgress = (stage: string, done: number, waiting: number) => void;

/** What a verb needs from this machine's database, in addition to a connection. */
export interface Need {
  /** Whether the schema is brought up to date first; false: the verb says itself what has not run. */
  readonly migrate: boolean;
  /** Whether the parts are connected by their settings; false: the verb does so itself, one by one. */
  readonly parts: boolean;
}

/** What the verbs need that ask the API in process. */
export const WHOLE: Need = { migrate: true, parts: true };

/** The line in this process. */
export interface LocalLine {
  /** Works until nothing of the line is due, or until it is enough, which is asked again and again. */
  drain(progress?: DrainProgress, isEnough?: () => Promise<boolean>): Promise<void>;
  /** Whether a process of `serve` works on the same database. */
  isServed(): Promise<boolean>;
  /** Stages that a process of `serve` does and this one never: whatever asks a provider. */
  readonly leaves: readonly string[];
}

/** Bursar on the database of this machine's configuration. */
export interface LocalBursar extends LocalLine {
  readonly stores: Stores;
  readonly organisation: string;
  /** As the composition root has loaded them. */
  readonly policies: readonly Policy[];
  /**
   * The API in this process, asked as the machine's administrator. @param user of the operating system, for the audit
   * @param progress called with the number of rows read from a file
   */
  api(user: string, progress: (rows: number) => void): Promise<Pick<Transport, 'ask'>>;
  /** Runs the migrations that have not run; returns their names. */
  migrate(): Promise<string[]>;
  /**
   * Says that the database was set back to an earlier moment.
   * @param user of the operating system, for the audit
   * @returns the actions that are not carried out
   */
  restored(user: string): Promise<readonly string[]>;
  /** Where raw records of old months go. @throws Failure invalid if no setting names it */
  archive(): Archive;
  close(): Promise<void>;
}

/** Doctor's checks other than the database, one at a time: a failing one hides no other. */
export interface Examination {
  /** The settings that are no part's own: their names, and the problems of their values. */
  configuration(): Promise<{ readonly settings: readonly string[]; readonly problems: readonly Problem[] }>;
  /** Each part with the connection from its settings; the caller closes them. */
  parts(): Promise<readonly InstalledPart[]>;
  /** @throws Failure unavailable if it does not answer */
  redis(url: string): Promise<QueueFacts>;
  /** The queue in the database. @throws Failure unavailable if its tables cannot be used */
  tables(stores: Stores): Promise<QueueFacts>;
}

export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly stdout: Output;
  readonly stderr: Output;
  /** @throws Failure invalid for a wrong configuration, unavailable if the database cannot be reached. */
  connect(need: Need): Promise<LocalBursar>;
  serve(role: Role): Promise<void>;
  /** Absent: doctor looks at the database alone. */
  readonly examination?: Examination;
  /** Set: the verbs that the API has go through it. */
  readonly remote: { readonly url: string; readonly apiKey: string } | null;
  /** Waits between two answers of --watch; false: it is to end. Absent: until the process is interrupted. */
  readonly pause?: (seconds: number) => Promise<boolean>;
  /** Absent: nothing comes in. */
  readonly stdin?: AsyncIterable<string | Uint8Array>;
  /** Asks a person a question; absent: nobody is there. */
  readonly ask?: (question: string) => Promise<string>;
  /** Asks for a secret, unseen; absent: nobody can be asked. */
  readonly readSecret?: (prompt: string) => Promise<string>;
  /** Shows a page; false: nothing can. Absent: by the machine's own browser. */
  readonly openBrowser?: (url: string) => Promise<boolean>;
  /** Parses YAML; absent: only JSON is read. */
  readonly parseYaml?: (text: string) => unknown;
  /** Draws backtests; absent: there are no pictures. */
  readonly plotter?: BacktestPlotter;
  /** Absent: reports are given as JSON only. */
  readonly reports?: () => Promise<ReportRenderers>;
}
