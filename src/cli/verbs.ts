/**
 * The verbs by what people come for, each with the sentence that says what it does and the file that it stands in.
 *
 * A file is loaded when one of its verbs is asked for. The list of all verbs needs no file: it is what help prints, and
 * what a name that is no verb is compared with.
 */
import type { Command } from 'commander';
import type { Session } from './session.js';

/** Adds the verbs of a file. */
type Register = (program: Command, session: Session) => void;
type Load = () => Promise<{ register: Register }>;

const GROUPS: Readonly<Record<string, Readonly<Record<string, readonly [does: string, load: Load]>>>> = {
  'Spend and budgets:': {
    costs: ['Show what was spent.', () => import('./verbs/costs.js')],
    budgets: [
      'Show every budget: planned, spent, forecast, when it runs out; set or remove one.',
      () => import('./verbs/budgets.js'),
    ],
    quote: [
      'Quote what GPUs for a number of hours would cost, whether the budgets cover it, and what the alternatives are.',
      () => import('./verbs/quote.js'),
    ],
    reservations: [
      'List the budget that is reserved for future runs; release a reservation.',
      () => import('./verbs/reservations.js'),
    ],
    report: [
      "Make a team's report of a month: spend against budget, why it changed, savings proven and left, what is next.",
      () => import('./verbs/report.js'),
    ],
    'report-schedule': [
      'Show when monthly reports are made and sent; set another time.',
      () => import('./verbs/report.js'),
    ],
    reconcile: [
      'Show how bills differ from accruals, per team, SKU and day, and the rates learned from them.',
      () => import('./verbs/reconcile.js'),
    ],
    commitments: [
      'Show how much of each commitment was used, and how much usage commitments covered, from bills.',
      () => import('./verbs/bills.js'),
    ],
    credits: ['Show the granted credits and what is left of each; set others.', () => import('./verbs/rates.js')],
  },
  'What runs:': {
    fleet: [
      'List what runs at the providers, as last seen, with the age and completeness of each reading.',
      () => import('./verbs/fleet.js'),
    ],
    health: [
      'List what was found about the health of GPUs, newest first, and the sources of the evidence.',
      () => import('./verbs/fleet.js'),
    ],
    anomalies: ['List unusual spend and unusual prices, newest first.', () => import('./verbs/fleet.js')],
    leases: ['List the leases; give, renew or end one.', () => import('./verbs/leases.js')],
    admissions: [
      'List launches that the admission webhook of Kubernetes refused or warned about, newest day first.',
      () => import('./verbs/admissions.js'),
    ],
    throughput: ['List measured throughputs; add, remove or predict one.', () => import('./verbs/throughput.js')],
  },
  'Recommendations and actions:': {
    recommend: [
      'List the open recommendations with what each would save, and on what evidence.',
      () => import('./verbs/recommendations.js'),
    ],
    explain: [
      'Explain how every policy judges a target, a team or a budget: what it saw, and what would make it act.',
      () => import('./verbs/explain.js'),
    ],
    approve: [
      'Approve an action or a recommendation. The decision is recorded with your name; the guard still checks the action.',
      () => import('./verbs/actions.js'),
    ],
    reject: [
      'Reject an action or a recommendation. The decision is recorded with your name.',
      () => import('./verbs/actions.js'),
    ],
    actions: [
      'List the actions, newest first; show one with its timeline and its proof.',
      () => import('./verbs/actions.js'),
    ],
    rollback: ['Roll an action back: restore what it changed.', () => import('./verbs/actions.js')],
    savings: [
      'Show the ledger of savings, each measured against what would have happened otherwise.',
      () => import('./verbs/savings.js'),
    ],
    policies: [
      'List the policies and the current documents; check, apply, pause and resume one.',
      () => import('./verbs/policies.js'),
    ],
    limits: [
      'Show the limits of actions; set them for the organisation or for a team.',
      () => import('./verbs/actions.js'),
    ],
    'stop-all': [
      'The kill switch: stop all actions until it is lifted. Actions approved before are refused.',
      () => import('./verbs/actions.js'),
    ],
    backtest: [
      'Run policies over recorded data, and compare them with the optimum that knows the future.',
      () => import('./verbs/backtest.js'),
    ],
  },
  'Alerts:': {
    alerts: ['List alerts, newest first, or show one and where it went.', () => import('./verbs/alerts.js')],
    mutes: ['List the mutes; mute alerts for a while, or lift a mute.', () => import('./verbs/alerts.js')],
  },
  'Bills, usage and prices:': {
    import: [
      'Import bills and metered usage, price and allocate them, and evaluate the budgets.',
      () => import('./verbs/imports.js'),
    ],
    imports: ['List the imports, newest first; undo one.', () => import('./verbs/imports.js')],
    rejects: [
      'List rows that could not be read: file, line, column, reason and the raw text.',
      () => import('./verbs/imports.js'),
    ],
    deliveries: [
      'List open deliveries (bursar import --delivery), commit one or discard it.',
      () => import('./verbs/bills.js'),
    ],
    prices: ['Import price lists, and price again the usage that they affect.', () => import('./verbs/imports.js')],
    fx: ['List the exchange rates; add or correct some.', () => import('./verbs/rates.js')],
    peak: ['Show the peak schedule; set another.', () => import('./verbs/rates.js')],
  },
  'Budgets as code:': {
    diff: [
      'Show what a folder of YAML would change: teams, rules, peak, limits, budgets, policies, routes.',
      () => import('./verbs/configuration.js'),
    ],
    apply: [
      'Apply a folder of YAML: show the plan first, then apply all of it or nothing.',
      () => import('./verbs/configuration.js'),
    ],
    export: [
      'Write the current configuration as YAML: a folder with one file per section, or one file.',
      () => import('./verbs/configuration.js'),
    ],
  },
  'Teams and access:': {
    teams: ['List the teams; set or remove one.', () => import('./verbs/teams.js')],
    rules: ['List the allocation rules; preview or set others.', () => import('./verbs/rules.js')],
    keys: ['List the API keys; create, rotate or revoke one.', () => import('./verbs/keys.js')],
    roles: ['List the roles; set or remove a custom one.', () => import('./verbs/keys.js')],
    sessions: [
      'List who is signed in to the dashboard; end one session, or all sessions of somebody.',
      () => import('./verbs/sessions.js'),
    ],
    'slack-users': [
      'List the people of Slack with the key whose rights each has; connect or disconnect one.',
      () => import('./verbs/slack-users.js'),
    ],
    audit: [
      'List who did what; verify that the audit is unchanged; export it for a collector.',
      () => import('./verbs/audit.js'),
    ],
  },
  'Running Bursar:': {
    serve: ['Run Bursar: the API, the line, or both, until it is told to stop.', () => import('./verbs/serve.js')],
    migrate: ['Bring the database to this version of the schema.', () => import('./verbs/serve.js')],
    restored: [
      'Tell Bursar that the database was restored to an earlier time: actions stop until a person lifts the kill switch.',
      () => import('./verbs/serve.js'),
    ],
    archive: [
      'Move raw records of old months to a folder or an object store, as Parquet, and read them back.',
      () => import('./verbs/archive.js'),
    ],
    doctor: ['Check this installation, and say how to fix each problem.', () => import('./verbs/doctor.js')],
    login: ['Sign in to a server with a key: the verbs go to it from now on.', () => import('./verbs/sign-in.js')],
    logout: [
      'Forget the key of a server. The key itself stays valid: bursar keys revoke ends it.',
      () => import('./verbs/sign-in.js'),
    ],
    whoami: ['Say which server the verbs go to, and as whom.', () => import('./verbs/sign-in.js')],
    open: ['Open the page of a thing in the browser.', () => import('./verbs/open.js')],
    completion: [
      'Print a script that lets a shell complete verbs, flags and their values.',
      () => import('./verbs/completion.js'),
    ],
    mcp: [
      'Serve a language model by the Model Context Protocol: its tools read, explain and plan, and change nothing.',
      () => import('./verbs/mcp.js'),
    ],
  },
};

const VERBS = Object.entries(GROUPS).flatMap(([group, verbs]) =>
  Object.entries(verbs).map(([name, [does, load]]) => ({ group, name, does, load })),
);

/**
 * Adds the verbs of the file that has the one that `argv` names. Where it names none, every verb is added by its name
 * and sentence; all are added whole for the completion of a shell, and where `argv` is null.
 */
export async function addVerbs(program: Command, session: Session, argv: readonly string[] | null): Promise<void> {
  // The program's own flags take no value: the first word that is no flag is the verb.
  const [first, second] = argv?.filter((word) => !word.startsWith('-')) ?? [];
  const name = first === 'help' ? second : first;
  const isWhole = argv === null || name === '__complete';
  const asked = isWhole ? VERBS : VERBS.filter((verb) => verb.name === name);
  for (const { register } of new Set(await Promise.all(asked.map(({ load }) => load())))) register(program, session);
  for (const verb of VERBS) {
    const loaded = program.commands.find((command) => command.name() === verb.name);
    const command = asked.length === 0 ? program.command(verb.name) : loaded;
    command?.description(verb.does).helpGroup(verb.group);
  }
}
