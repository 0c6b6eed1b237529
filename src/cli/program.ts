/**
 * The command line: the verbs, their arguments, and the exit code of a run: 0 done, 1 the work found a failure, 2 wrong
 * use.
 *
 * It never decides anything: a verb parses its flags, calls a client of the API (client/client.ts) and prints
 * (session.ts). With --json standard output contains exactly one JSON document, even if the verb fails.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, Help, type Option } from 'commander';
import type { CliContext } from './context.js';
import { documentOf, textOf, failureTextOf } from './failures.js';
import { addListing } from './listing.js';
import { Session } from './session.js';
import { together } from './table.js';
import { addVerbs } from './verbs.js';

export type { CliContext, LocalBursar } from './context.js';

const EPILOGUE = `
Every verb explains itself: bursar help import
Verbs work on this machine's database (DATABASE_URL, or the embedded one in BURSAR_DATA_DIR). With BURSAR_URL and
BURSAR_API_KEY, or after bursar login, those that the API has go to that server.
Exit codes: 0 done, 1 the work found a failure, 2 wrong use.`;

/**
 * Carries out one command line.
 * @param argv the arguments after the program's name
 * @returns the exit code
 */
export async function run(argv: readonly string[], context: CliContext): Promise<number> {
  const session = new Session(context);
  try {
    do await (await programOf(session, argv)).parseAsync([...argv], { from: 'user' });
    while (await session.isToRepeat());
    return session.exitCode;
  } catch (error) {
    const failure = failureTextOf(error);
    session.progress.end();
    if (!failure.said) context.stderr.write(textOf(failure));
    if (failure.exitCode !== 0) session.printFailure(documentOf(failure));
    return failure.exitCode;
  } finally {
    await session.close();
  }
}

/** Of a verb the name alone: its arguments stand in its own help. */
const subcommandTerm = (command: Command): string =>
  command.parent?.parent === null ? command.name() : new Help().subcommandTerm(command);

/** As commander says it, and whether a verb needs the option. */
const optionDescription = (option: Option): string =>
  `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`;

/**
 * The verbs as the command line has them: for `run`, and for the reference that is made of them.
 * @param argv where it names a verb, only the verbs of that verb's file are loaded; where it names none, no file. Null:
 *   all of them are
 */
export async function programOf(session: Session, argv: readonly string[] | null = null): Promise<Command> {
  const { stdout, stderr } = session.context;
  const program = new Command('bursar')
    .description('Keeps GPU cloud spending inside its budgets: meters, prices, allocates, budgets, recommends, proves.')
    .version(version(), '-V, --version', 'print the version')
    .option('--json', 'print exactly one JSON document on standard output')
    .helpOption('-h, --help', 'explain the verb')
    .helpCommand('help [verb]', 'explain a verb')
    .configureHelp({ showGlobalOptions: true, helpWidth: 120, optionDescription, subcommandTerm })
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) })
    .showHelpAfterError('(bursar --help lists the verbs)')
    .exitOverride()
    .addHelpText('after', EPILOGUE);
  program.on('option:json', () => {
    session.json = true;
  });
  await addVerbs(program, session, argv);
  addListing(program, (listing) => (session.listing = listing));
  for (const verb of program.commands) verb.hook('preSubcommand', refuseUnknown);
  return program;
}

/** A word that is no subverb goes to the default one, which would speak of itself. */
function refuseUnknown(verb: Command, subverb: Command): void {
  const [word] = verb.args;
  if (word === undefined || word.startsWith('-') || word === subverb.name() || subverb.registeredArguments.length > 0)
    return;
  const known = verb.commands.map((one) => one.name()).filter((name) => name !== 'help');
  verb.error(`error: bursar ${verb.name()} has no ${word}: it has ${together(known)}`, {
    code: 'commander.unknownCommand',
    exitCode: 1,
  });
}

/** Of the package that this file belongs to: src/cli and dist/src/cli lie at different depths. */
function version(): string {
  for (let folder = import.meta.dirname; folder !== path.dirname(folder); folder = path.dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
        name?: unknown;
        version?: unknown;
      };
      if (found.name === 'bursar' && typeof found.version === 'string') return found.version;
    } catch {
      continue;
    }
  }
  return 'unknown';
}
