/** docs/reference/cli.md as text, made of what each verb prints when it is asked to explain itself. It runs no verb. */
import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/context.js';
import { programOf } from '../../src/cli/program.js';
import { Session } from '../../src/cli/session.js';
import { unavailable } from '../../src/core/errors.js';
import { madeOf } from './reference-page.js';

/** The options that every verb has: shown once, at the top. */
const GLOBAL = /\n(?:Global Options:\n(?: .*\n)+)/;
const HELP_LINE = /^ {2}-h, --help .*\n/m;

/** A context in which no verb can be run, and what it has printed. */
export function silent(): { readonly context: CliContext; readonly printed: () => string } {
  let text = '';
  const context: CliContext = {
    environment: {},
    clock: { now: () => 0 },
    remote: null,
    stdout: { write: (part) => (text += part) },
    stderr: { write: () => true },
    connect: async () => {
      throw unavailable('nothing is run here');
    },
    serve: async () => undefined,
  };
  return {
    context,
    printed() {
      const out = text;
      text = '';
      return out;
    },
  };
}

export async function commandReference(): Promise<string> {
  const { context, printed } = silent();
  const program = await programOf(new Session(context));
  const helpOf = (command: Command): string => {
    command.outputHelp();
    return printed();
  };
  const sections = (command: Command, name: string): string[] =>
    command
      .createHelp()
      .visibleCommands(command)
      .filter((verb) => verb.name() !== 'help')
      .flatMap((verb) => {
        const own = `${name} ${verb.name()}`;
        const help = helpOf(verb)
          .replace(GLOBAL, '')
          .replace(HELP_LINE, '')
          .replace(/\nOptions:\n(?=\n|$)/, '')
          .trimEnd();
        return [`## ${own}\n\n\`\`\`\n${help}\n\`\`\`\n`, ...sections(verb, own)];
      });
  return [
    `# The command line\n\n${madeOf("the verbs' own help", 'tests/unit/docs/reference.test.ts')}\n`,
    `Every verb takes \`--json\` and then prints exactly one JSON document on standard output, failures included; everything else goes to standard error.\n`,
    `\`\`\`\n${helpOf(await programOf(new Session(context), [])).trimEnd()}\n\`\`\`\n`,
    ...sections(program, 'bursar'),
  ].join('\n');
}
