/**
 * What the command line is handed by main.ts: the outside world, and the way to the database.
 *
 * Nothing here reads a setting or opens a connection; a verb asks for what it needs, when it needs it.
 */
import type { Policy } from '../core/policy.js';
import type { Clock, Importer } from '../core/ports.js';
import type { Stores } from '../store/stores.js';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export type Role = 'all' | 'api' | 'worker';
export const ROLES_OF_SERVE: readonly Role[] = ['all', 'api', 'worker'];

/** Told after each portion of the line's work: the stage, the keys done, and how many waited. */
export type DrainProgress = (stage: string, done: number, waiting: number) => void;

/** Bursar on the database of this machine's configuration. */
export interface LocalBursar {
  readonly stores: Stores;
  readonly importer: Importer;
  readonly organisation: string;
  /** As the composition root has loaded them. */
  readonly policies?: readonly Policy[];
  /** Works until nothing of the line is due. Keys that another process holds are not waited for. */
  drain(progress?: DrainProgress): Promise<void>;
  /** Runs the migrations that have not run; returns their names. */
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly stdout: Output;
  readonly stderr: Output;
  /** @throws Failure invalid for a wrong configuration, unavailable where the database cannot be reached. */
  connect(): Promise<LocalBursar>;
  serve(role: Role): Promise<void>;
  /** Set: the verbs that the API has go through it. */
  readonly remote: { readonly url: string; readonly apiKey: string } | null;
  /** Parses YAML; absent: only JSON is read. */
  readonly parseYaml?: (text: string) => unknown;
}
