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
import { addListing, verbOf } from './listing.js';
import { Session } from './session.js';
import { addActions } from './verbs/actions.js';
import { addAdmissions } from './verbs/admissions.js';
import { addAlerts, addMutes } from './verbs/alerts.js';
import { addBacktests } from './verbs/backtest.js';
import { addBudgets } from './verbs/budgets.js';
import { addConfiguration } from './verbs/configuration.js';
import { addCosts } from './verbs/costs.js';
import { addDoctor } from './verbs/doctor.js';
import { addExplain } from './verbs/explain.js';
import { addFleet } from './verbs/fleet.js';
import { addImports } from './verbs/imports.js';
import { addArchive } from './verbs/archive.js';
import { addAudit } from './verbs/audit.js';
import { addKeys, addRoles } from './verbs/keys.js';
import { addRates } from './verbs/rates.js';
import { addPolicies } from './verbs/policies.js';
import { addQuote } from './verbs/quote.js';
import { addBills } from './verbs/bills.js';
import { addReconcile } from './verbs/reconcile.js';
import { addReservations } from './verbs/reservations.js';
import { addReport } from './verbs/report.js';
import { addRecommendations } from './verbs/recommendations.js';
import { addRules } from './verbs/rules.js';
import { addSavings } from './verbs/savings.js';
import { addSlackUsers } from './verbs/slack-users.js';
import { addSessions } from './verbs/sessions.js';
import { addServe } from './verbs/serve.js';
import { addMcp } from './verbs/mcp.js';
import { addLeases } from './verbs/leases.js';
import { addTeams } from './verbs/teams.js';
import { addCompletion } from './verbs/completion.js';
import { addOpen } from './verbs/open.js';
import { addSignIn } from './verbs/sign-in.js';
import { addThroughput } from './verbs/throughput.js';

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
    do await programOf(session).parseAsync([...argv], { from: 'user' });
    while (await session.isToRepeat());
    return session.exitCode;
  } catch (error) {
    const failure = failureTextOf(error);
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

/** The verbs as the command line has them: for `run`, and for the reference that is made of them. */
export function programOf(session: Session): Command {
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
  for (const add of [
    addServe,
    addArchive,
    addDoctor,
    addImports,
    addCosts,
    addQuote,
    addReservations,
    addBudgets,
    addRecommendations,
    addActions,
    addSavings,
    addFleet,
    addExplain,
    addAdmissions,
    addAlerts,
    addMutes,
    addBills,
    addReconcile,
    addTeams,
    addLeases,
    addThroughput,
    addRules,
    addRates,
    addKeys,
    addRoles,
    addSessions,
    addSlackUsers,
    addAudit,
    addPolicies,
    addConfiguration,
    addReport,
    addBacktests,
    addSignIn,
    addOpen,
    addCompletion,
    addMcp,
  ])
    add(program, session);
  addListing(program, (listing) => (session.listing = listing));
  group(program);
  return program;
}

/** The verbs by what people come for; each verb stands in one group. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Spend and budgets:': [
    'costs',
    'budgets',
    'quote',
    'reservations',
    'report',
    'report-schedule',
    'reconcile',
    'commitments',
    'credits',
  ],
  'What runs:': ['fleet', 'health', 'anomalies', 'leases', 'admissions', 'throughput'],
  'Recommendations and actions:': [
    'recommend',
    'explain',
    'approve',
    'reject',
    'actions',
    'rollback',
    'savings',
    'policies',
    'limits',
    'stop-all',
    'backtest',
  ],
  'Alerts:': ['alerts', 'mutes'],
  'Bills, usage and prices:': ['import', 'imports', 'rejects', 'deliveries', 'prices', 'fx', 'peak'],
  'Budgets as code:': ['diff', 'apply', 'export'],
  'Teams and access:': ['teams', 'rules', 'keys', 'roles', 'sessions', 'slack-users', 'audit'],
  'Running Bursar:': [
    'serve',
    'migrate',
    'restored',
    'archive',
    'doctor',
    'login',
    'logout',
    'whoami',
    'open',
    'completion',
    'mcp',
  ],
};

function group(program: Command): void {
  for (const [heading, names] of Object.entries(GROUPS))
    for (const name of names) verbOf(program, name).helpGroup(heading);
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
