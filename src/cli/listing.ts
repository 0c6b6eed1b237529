/**
 * How a list is shown: --wide, --csv and --watch of the read-only verbs. A verb that changes anything has none of them,
 * because --watch repeats the request.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { setTimeout as pause } from 'node:timers/promises';
import { WrongUse } from './usage-error.js';

export interface Listing {
  readonly wide: boolean;
  readonly csv: boolean;
  /** Whether its sentences are wrapped at the terminal's width; what may be copied as it is, such as a script, is not. */
  readonly wraps: boolean;
  /** Seconds between two answers; null: one answer. */
  readonly watch: number | null;
}

export const NO_LISTING: Listing = { wide: false, csv: false, wraps: false, watch: null };

/** Each by its words; what stands in them reads, whatever flags it is given. */
export const LISTS: readonly string[] = [
  'costs',
  'budgets list',
  'budgets history',
  'reservations list',
  'commitments',
  'recommend',
  'actions list',
  'actions show',
  'savings',
  'policies list',
  'fleet',
  'health',
  'anomalies',
  'admissions',
  'leases list',
  'throughput list',
  'alerts',
  'mutes list',
  'imports',
  'rejects',
  'prices list',
  'teams list',
  'rules list',
  'fx list',
  'peak show',
  'credits show',
  'limits show',
  'keys list',
  'sessions list',
  'roles list',
  'slack-users list',
  'audit list',
];

/** Lists that another verb's flags could turn into a change: they are shown once. */
export const LISTS_SHOWN_ONCE: readonly string[] = ['quote', 'reconcile', 'deliveries', 'rules preview'];

const USUAL_SECONDS = 5;
const NAMES = ['wide', 'csv', 'watch'] as const;

/** Gives the lists among the program's verbs their flags; `keep` hears of them before a verb begins. */
export function addListing(program: Command, keep: (listing: Listing) => void): void {
  const lists = new Set<Command>();
  for (const words of [...LISTS, ...LISTS_SHOWN_ONCE]) {
    const verb = verbOf(program, words);
    if (verb === undefined) continue;
    lists.add(verb);
    verb.option('--wide', 'every column, at full width').option('--csv', 'CSV, with every digit');
    if (LISTS.includes(words))
      verb.option(
        '--watch [seconds]',
        `repeat every this many seconds (${USUAL_SECONDS}); into a pipe or a file only what has changed`,
        seconds,
      );
  }
  program.hook('preAction', (_, verb) => {
    const flags = verb.opts<{ wide?: true; csv?: true; watch?: number | true }>();
    const { wide = false, csv = false, watch } = flags;
    const isList = lists.has(verb);
    // What a verb passes on to the API is its own.
    for (const name of NAMES) if (isList) delete flags[name];
    if (program.opts<{ json?: true }>().json === true && (csv || watch !== undefined))
      throw new WrongUse('--json prints one document: it cannot be combined with --csv or --watch');
    if (csv && watch !== undefined) throw new WrongUse('--csv prints one table: it cannot be combined with --watch');
    const everySeconds = watch === undefined ? null : watch === true ? USUAL_SECONDS : watch;
    keep({ wide, csv, wraps: isList, watch: everySeconds });
  });
}

/** The verb of the words, where the program has it. */
export const verbOf = (program: Command, words: string): Command | undefined =>
  words
    .split(' ')
    .reduce<Command | undefined>((command, word) => command?.commands.find((one) => one.name() === word), program);

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 86_400)
    throw new InvalidArgumentError('It is not a whole number of seconds from 1 to 86400.');
  return value;
}

/** Waits; false if the process is told to end before. */
export async function untilInterrupted(length: number): Promise<boolean> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  try {
    await pause(length * 1000, undefined, { signal: ending.signal });
    return true;
  } catch {
    return false;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
  }
}
