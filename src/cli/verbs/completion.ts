/**
 * bursar completion: completion for shells. The shells' scripts are a few lines each and call the program itself
 * (`bursar __complete`), so that they are never behind the verbs; if it has no word the shell completes names of files.
 *
 * Bash: "Programmable Completion" of its manual. Zsh: zshcompsys(1), `compadd`. Fish: its `complete` and `commandline`.
 */
import { Argument, type Command } from 'commander';
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

export function addCompletion(program: Command, session: Session): void {
  program
    .command('completion')
    .description('Print a script that lets a shell complete verbs, flags and their values.')
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
    .action((words: string[]) => {
      const found = completionsOf(program, words);
      session.print({ words: found }, () => found.map((word) => `${word}\n`).join(''));
    });
}

/** The possible completions of the last word. Empty: only the person who types knows. */
export function completionsOf(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? '';
  let command = program;
  let waiting: Flag | undefined;
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    waiting = word.includes('=') ? undefined : flagsOf(command, program).find((flag) => takesWord(flag, word));
    command = command.commands.find((one) => one.name() === word) ?? command;
  }
  const choices = waiting === undefined ? candidates(command, program, typed) : (waiting.argChoices ?? []);
  return choices.filter((word) => word.startsWith(typed));
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

function candidates(command: Command, program: Command, typed: string): string[] {
  if (typed.startsWith('-')) {
    const flags = flagsOf(command, program).filter(({ hidden }) => !hidden);
    return [...new Set(['--help', ...flags.flatMap(({ long }) => long ?? [])])].sort();
  }
  const verbs = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return command.commands.length > 0 ? verbs : choices;
}
