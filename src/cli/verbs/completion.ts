/**
 * bursar completion: completion for shells. The shells' scripts are a few lines each and call the program itself
 * (`bursar __complete`), so that they are never behind the verbs; if it has no word the shell completes names of files.
 * Ids are asked from the server that the verbs go to, for at most a second; no database is opened for them.
 *
 * Bash: "Programmable Completion" of its manual. Zsh: zshcompsys(1), `compadd`. Fish: its `complete` and `commandline`.
 */
import { Argument, type Command } from 'commander';
import { Api } from '../client/api.js';
import { HttpTransport } from '../client/http.js';
import { LISTED, wordsOfArgument, wordsOfFlag, type Listed } from '../completing.js';
import type { Session } from '../session.js';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# bursar completion bash: source this file, or put it into bash-completion's folder.
_bursar() {
  local IFS=$'\\n'
  COMPREPLY=($(bursar __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _bursar bursar
`,
  zsh: `#compdef bursar
# bursar completion zsh: a file named _bursar in a folder of $fpath, or source it after compinit.
_bursar() {
  local -a found
  found=("\${(@f)$(bursar __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} )); then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = "_bursar" ]; then _bursar "$@"; else compdef _bursar bursar; fi
`,
  fish: `# bursar completion fish: source this file, or put it into ~/.config/fish/completions/bursar.fish.
function __bursar_complete
  set -l words (commandline -opc)
  bursar __complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c bursar -a '(__bursar_complete)'
`,
};

export function register(program: Command, session: Session): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Examples:
  source <(bursar completion bash)
  bursar completion zsh > ~/.zfunc/_bursar
  bursar completion fish > ~/.config/fish/completions/bursar.fish`,
    )
    .action((shell: string) => {
      const script = SCRIPTS[shell] ?? '';
      session.print({ shell, script }, () => script);
    });
  program
    .command('__complete', { hidden: true })
    .argument('[words...]', 'the words typed so far; the last one is completed')
    .action(async (words: string[]) => {
      const found = await completionsOf(program, words, (list) => idsOf(session, list));
      session.print({ words: found }, () => found.map((word) => `${word}\n`).join(''));
    });
}

/** So long a shell waits for the ids that a server has. */
const PATIENCE_MILLISECONDS = 1_000;
const MOST_IDS = 500;

/** What there is of a list. Nothing: it is not known soon enough, for whatever reason. */
async function idsOf({ context: { remote } }: Session, list: Listed): Promise<string[]> {
  if (remote === null) return [];
  const key = LISTED[list];
  try {
    const api = new Api(new HttpTransport(remote, PATIENCE_MILLISECONDS));
    const found = await api.call<{ items: readonly Readonly<Record<string, unknown>>[] }>('GET', `/v1/${list}`, {
      query: { limit: MOST_IDS },
    });
    return found.items.flatMap(({ [key]: id }) => (typeof id === 'string' ? [id] : []));
  } catch {
    return [];
  }
}

/** The possible completions of the last word. Empty: only the person who types knows. */
export async function completionsOf(
  program: Command,
  typedWords: readonly string[],
  ids: (list: Listed) => Promise<readonly string[]> = async () => [],
): Promise<string[]> {
  const words = joined(typedWords);
  const typed = words.at(-1) ?? '';
  const { command, given, waiting } = readUpTo(program, words.slice(0, -1));
  const [flagName, value] =
    typed.startsWith('--') && typed.includes('=') ? cut(typed, typed.indexOf('=') + 1) : ['', typed];
  const flag = waiting ?? flagsOf(command, program).find((one) => one.long === flagName.slice(0, -1));
  if (flag === undefined && typed.startsWith('-')) return beginning(flagNames(command, program), typed);
  if (flag === undefined && command.commands.length > 0) return beginning(verbNames(command), typed);
  const {
    words: known,
    several = false,
    list,
  } = flag === undefined ? wordsOfArgument(command, given) : wordsOfFlag(flag);
  const all = list === undefined ? known : [...known, ...(await ids(list))];
  const [before, last] = several ? cut(value, value.lastIndexOf(',') + 1) : ['', value];
  return beginning(all, last).map((word) => `${flagName}${before}${word}`);
}

const cut = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at)];

const beginning = (all: readonly string[], typed: string): string[] => all.filter((word) => word.startsWith(typed));

/** Bash breaks words at `=`: `--term=spot` arrives as three. */
function joined(words: readonly string[]): string[] {
  const all: string[] = [];
  for (const [at, word] of words.entries()) {
    if (word !== '=' || !(words[at - 1] ?? '').startsWith('--')) all.push(word);
    else if (at === words.length - 1) all.push('');
  }
  return all;
}

/** The verb of the words, its arguments, and the flag that waits for its value. */
function readUpTo(
  program: Command,
  words: readonly string[],
): { command: Command; given: readonly string[]; waiting: Flag | undefined } {
  let command = program;
  let waiting: Flag | undefined;
  let given: string[] = [];
  for (const word of words) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    waiting = word.includes('=') ? undefined : flagsOf(command, program).find((flag) => takesWord(flag, word));
    const verb = given.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (verb !== undefined) [command, given] = [verb, []];
    else if (!word.startsWith('-') && !(command === program && word === 'help')) given.push(word);
  }
  return { command, given, waiting };
}

type Flag = Command['options'][number];

const flagsOf = (command: Command, program: Command): readonly Flag[] =>
  command === program ? program.options : [...command.options, ...defaultOf(command), ...program.options];

/** The flags of the verb that a group stands for when it is named alone. */
function defaultOf(command: Command): readonly Flag[] {
  const list = command.commands.find((one) => one.name() === 'list' || one.name() === 'show');
  return list?.options ?? [];
}

const takesWord = (flag: Flag, word: string): boolean =>
  (flag.required || flag.optional) && (flag.long === word || flag.short === word);

function flagNames(command: Command, program: Command): string[] {
  const flags = flagsOf(command, program).filter(({ hidden }) => !hidden);
  return [...new Set(['--help', ...flags.flatMap(({ long }) => long ?? [])])].sort();
}

const verbNames = (command: Command): string[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
