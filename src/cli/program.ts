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

/** As commander says it, and whether a verb needs the option. */
const optionDescription = (option: Option): string =>
  `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`;

/**
 * The verbs as the command line has them: for `run`, and for the reference that is made of them.
 * @param argv where it names a verb, only the verbs of that verb's file are loaded
 */
export async function programOf(session: Session, argv: readonly string[] = []): Promise<Command> {
  const { stdout, stderr } = session.context;
  const program = new Command('bursar')
    .description('Keeps GPU cloud spending inside its budgets: meters, prices, allocates, budgets, recommends, proves.')
    .version(version(), '-V, --version', 'print the version')
    .option('--json', 'print exactly one JSON document on standard output')
    .helpOption('-h, --help', 'explain the verb')
    .helpCommand('help [verb]', 'explain a verb')
    .configureHelp({ showGlobalOptions: true, helpWidth: 120, optionDescription })
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

/** Adds the verbs of a file. */
type Register = (program: Command, session: Session) => void;

/** The verbs by what people come for, each with the file that it stands in. */
const VERBS: Readonly<Record<string, Readonly<Record<string, () => Promise<{ register: Register }>>>>> = {
  'Spend and budgets:': {
    costs: () => import('./verbs/costs.js'),
    budgets: () => import('./verbs/budgets.js'),
    quote: () => import('./verbs/quote.js'),
    reservations: () => import('./verbs/reservations.js'),
    report: () => import('./verbs/report.js'),
    'report-schedule': () => import('./verbs/report.js'),
    reconcile: () => import('./verbs/reconcile.js'),
    commitments: () => import('./verbs/bills.js'),
    credits: () => import('./verbs/rates.js'),
  },
  'What runs:': {
    fleet: () => import('./verbs/fleet.js'),
    health: () => import('./verbs/fleet.js'),
    anomalies: () => import('./verbs/fleet.js'),
    leases: () => import('./verbs/leases.js'),
    admissions: () => import('./verbs/admissions.js'),
    throughput: () => import('./verbs/throughput.js'),
  },
  'Recommendations and actions:': {
    recommend: () => import('./verbs/recommendations.js'),
    explain: () => import('./verbs/explain.js'),
    approve: () => import('./verbs/actions.js'),
    reject: () => import('./verbs/actions.js'),
    actions: () => import('./verbs/actions.js'),
    rollback: () => import('./verbs/actions.js'),
    savings: () => import('./verbs/savings.js'),
    policies: () => import('./verbs/policies.js'),
    limits: () => import('./verbs/actions.js'),
    'stop-all': () => import('./verbs/actions.js'),
    backtest: () => import('./verbs/backtest.js'),
  },
  'Alerts:': { alerts: () => import('./verbs/alerts.js'), mutes: () => import('./verbs/alerts.js') },
  'Bills, usage and prices:': {
    import: () => import('./verbs/imports.js'),
    imports: () => import('./verbs/imports.js'),
    rejects: () => import('./verbs/imports.js'),
    deliveries: () => import('./verbs/bills.js'),
    prices: () => import('./verbs/imports.js'),
    fx: () => import('./verbs/rates.js'),
    peak: () => import('./verbs/rates.js'),
  },
  'Budgets as code:': {
    diff: () => import('./verbs/configuration.js'),
    apply: () => import('./verbs/configuration.js'),
    export: () => import('./verbs/configuration.js'),
  },
  'Teams and access:': {
    teams: () => import('./verbs/teams.js'),
    rules: () => import('./verbs/rules.js'),
    keys: () => import('./verbs/keys.js'),
    roles: () => import('./verbs/keys.js'),
    sessions: () => import('./verbs/sessions.js'),
    'slack-users': () => import('./verbs/slack-users.js'),
    audit: () => import('./verbs/audit.js'),
  },
  'Running Bursar:': {
    serve: () => import('./verbs/serve.js'),
    migrate: () => import('./verbs/serve.js'),
    restored: () => import('./verbs/serve.js'),
    archive: () => import('./verbs/archive.js'),
    doctor: () => import('./verbs/doctor.js'),
    login: () => import('./verbs/sign-in.js'),
    logout: () => import('./verbs/sign-in.js'),
    whoami: () => import('./verbs/sign-in.js'),
    open: () => import('./verbs/open.js'),
    completion: () => import('./verbs/completion.js'),
    mcp: () => import('./verbs/mcp.js'),
  },
};

/** Adds the verbs of the file that has the one that `argv` names, or all: for help, and for a name that is none. */
async function addVerbs(program: Command, session: Session, argv: readonly string[]): Promise<void> {
  const verbs = Object.entries(VERBS).flatMap(([heading, files]) =>
    Object.entries(files).map(([name, load]) => ({ heading, name, load })),
  );
  if (argv[0] === '--version' || argv[0] === '-V') return;
  // The program's own flags take no value: the first word that is no flag is the verb.
  const [first, second] = argv.filter((word) => !word.startsWith('-'));
  const name = first === 'help' ? second : first;
  const named = verbs.find((verb) => verb.name === name);
  const loaded = await Promise.all((named === undefined ? verbs : [named]).map(({ load }) => load()));
  for (const { register } of new Set(loaded)) register(program, session);
  for (const { heading, name: verb } of verbs)
    program.commands.find((command) => command.name() === verb)?.helpGroup(heading);
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
