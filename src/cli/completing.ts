/**
 * What may be typed for a flag or an argument: commander's own choices, words that are stated here because the verb
 * itself refuses the others (and then names every problem at once), or ids that a list of the API has.
 */
import type { Argument, Command, Option } from 'commander';

/** A list of the API whose items are named in commands, and where an item has its name. */
export const LISTED = {
  teams: 'id',
  budgets: 'id',
  recommendations: 'id',
  actions: 'id',
  alerts: 'id',
  keys: 'id',
  imports: 'id',
  'alert-mutes': 'id',
  policies: 'name',
  roles: 'name',
} as const satisfies Readonly<Record<string, 'id' | 'name'>>;
export type Listed = keyof typeof LISTED;

export const isListed = (name: string): name is Listed => Object.hasOwn(LISTED, name);

export interface Words {
  readonly words: readonly string[];
  /** Several may be given with commas between them. */
  readonly several?: boolean;
  /** In addition to `words`. */
  readonly list?: Listed;
}

type Given = (before: readonly string[]) => Words;

const STATED = new WeakMap<Option | Argument, Given>();

/** States what completes `one`. @param of told the arguments before it */
export function completedBy<T extends Option | Argument>(one: T, of: Words | Given): T {
  STATED.set(one, typeof of === 'function' ? of : () => of);
  return one;
}

/** The first argument of these verbs is the id of something that there is. */
const FIRST: Readonly<Record<string, Listed>> = {
  approve: 'recommendations',
  reject: 'recommendations',
  rollback: 'actions',
  'actions show': 'actions',
  'alerts acknowledge': 'alerts',
  'budgets history': 'budgets',
  'budgets remove': 'budgets',
  'budgets set': 'budgets',
  'imports undo': 'imports',
  'keys revoke': 'keys',
  'keys rotate': 'keys',
  'mutes lift': 'alert-mutes',
  'policies pause': 'policies',
  'policies resume': 'policies',
  'policies show': 'policies',
  'roles remove': 'roles',
  'roles set': 'roles',
  'teams remove': 'teams',
  'teams set': 'teams',
};

/** What the flag takes, where that is known. */
export function wordsOfFlag(flag: Option): Words {
  const stated = STATED.get(flag)?.([]);
  if (stated !== undefined) return stated;
  if (flag.argChoices !== undefined) return { words: flag.argChoices };
  const what = /<(\w+)>/.exec(flag.flags)?.[1];
  if (what === 'team') return { words: [], list: 'teams' };
  return { words: what === 'zone' ? Intl.supportedValuesOf('timeZone') : [] };
}

/** What the next argument of the verb may be. @param before the arguments that were given */
export function wordsOfArgument(command: Command, before: readonly string[]): Words {
  const all = command.registeredArguments;
  const argument = all[before.length] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
  if (argument === undefined) return { words: [] };
  const stated = STATED.get(argument)?.(before);
  if (stated !== undefined) return stated;
  const first = before.length === 0 ? FIRST[verbOf(command)] : undefined;
  return { words: argument.argChoices ?? [], ...(first === undefined ? {} : { list: first }) };
}

/** `budgets set`, without the program's own name. */
const verbOf = (command: Command): string =>
  command.parent?.parent ? `${verbOf(command.parent)} ${command.name()}` : command.name();
