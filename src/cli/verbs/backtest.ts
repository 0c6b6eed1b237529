/**
 * bursar backtest: policies side by side on recorded data, with the optimum that knows the future. It runs here, on
 * files; `policy` runs where the history is: on the server that the verbs go to, or on this machine's database.
 *
 * A problem is loaded on demand, because the lab is large and no other verb needs it.
 */
import type { Command } from 'commander';
import type { BacktestProblem, BacktestReport } from '../../core/policy/backtest.js';
import { Failure } from '../../core/errors.js';
import { aboveZero, aboveZeroList, count, list, notNegative, readEvery, whole, wholeList } from '../flags.js';
import { plotFile } from '../plot-file.js';
import { Progress } from '../progress.js';
import { actor, type Session } from '../session.js';
import { grouped, percent, printable, table, type Cell } from '../table.js';
import { WrongUse } from '../usage-error.js';

type Flags = Readonly<Record<string, unknown>>;
type RunBacktest = (options: never) => Promise<BacktestReport>;

const PROBLEMS: Readonly<Record<BacktestProblem, () => Promise<RunBacktest>>> = {
  spot: async () => (await import('../../lab/spot/run.js')).runSpotBacktest,
  'spot-regions': async () => (await import('../../lab/spot-regions/run.js')).runSpotRegionsBacktest,
  'spot-serving': async () => (await import('../../lab/spot-serving/run.js')).runSpotServingBacktest,
  commitment: async () => (await import('../../lab/commitment/run.js')).runCommitmentBacktest,
  scaling: async () => (await import('../../lab/scaling/run.js')).runScalingBacktest,
  idle: async () => (await import('../../lab/idle/run.js')).runIdleBacktest,
  throughput: async () => (await import('../../lab/throughput/run.js')).runThroughputBacktest,
  policy: async () => (await import('../policy-backtest.js')).runPolicyBacktest,
};

/** A policy's, by a server. */
const THERE = async (): Promise<RunBacktest> => (await import('../policy-backtest.js')).runPolicyBacktestThere;

export function register(program: Command, session: Session): void {
  const backtest = program.command('backtest').addHelpText(
    'after',
    `
meanShare is the share of the optimum's saving that a policy captures: 1 is as good as knowing the future. Bursar's own
policy is named bursar.

Example:
  bursar backtest spot --traces us-west-2a.jsonl.gz --job-hours 48 --deadline-hours 52 60 72 --plot spot.svg`,
  );
  addSpot(backtest, session);
  addSpotRegions(backtest, session);
  addSpotServing(backtest, session);
  addOthers(backtest, session);
  addPolicy(backtest, session);
  for (const problem of backtest.commands) problem.option('--plot <file>', 'a picture of the result, .svg or .png');
}

function addSpot(backtest: Command, session: Session): void {
  backtest
    .command('spot')
    .description('A job with a deadline on spot capacity that comes and goes.')
    .requiredOption('--traces <file...>', 'recorded availability: JSON lines, gzip or not')
    .option('--train <file...>', 'recordings to learn from (default: the other traces of the call)', [])
    .option('--job-hours <h>', 'work of the job', aboveZero, 48)
    .option(
      '--deadline-hours <h...>',
      'time until it must be done; several make a cell each (default: 60)',
      aboveZeroList,
    )
    .option('--restart-hours <h>', 'time lost at each start', notNegative, 0.2)
    .option('--on-demand-price <p>', 'per hour', aboveZero, 3.06)
    .option('--spot-price <p>', 'per hour', notNegative, 0.9731)
    .addHelpText(
      'after',
      '\nExample:\n  bursar backtest spot --traces a.jsonl.gz b.jsonl.gz --job-hours 48 --deadline-hours 60 --restart-hours 0.2',
    )
    .action(({ deadlineHours, ...flags }: Flags) =>
      answer(session, 'spot', { ...flags, deadlineHours: deadlineHours ?? [60] }),
    );
}

function addSpotRegions(backtest: Command, session: Session): void {
  backtest
    .command('spot-regions')
    .description('A job with a deadline on spot capacity of many zones, regions and clouds.')
    .requiredOption('--traces <file>', 'a recording of many zones: JSON lines, gzip or not')
    .option('--past <file>', 'earlier ticks of the same recording')
    .option('--train <file...>', 'other recordings to learn from', [])
    .requiredOption('--job-hours <h>', 'work of the job', aboveZero)
    .requiredOption('--deadline-hours <h>', 'time until it must be done', aboveZero)
    .requiredOption('--restart-hours <h>', 'time lost at each start', notNegative)
    .requiredOption('--checkpoint-gb <g>', 'data sent at each change of region', notNegative)
    .option('--gang <n>', 'instances that must run at once; the price is that of all of them', count, 1)
    .option('--zones <names>', 'only these zones: a,b', list)
    .option('--probe-seconds <s>', 'spot time that a successful probe costs', notNegative, 60)
    .option('--past-every <t>', 'how often the past was read: full, none, or seconds such as 7200s', readEvery, 0)
    .option('--starts <ticks>', 'ticks at which a window starts: 0,288', wholeList)
    .option('--windows <n>', 'number of windows, spread evenly over the recording, if no starts are given', count, 12)
    .option('--policies <names>', 'only these policies: bursar,skynomad', list)
    .option('--decisions <file>', 'what bursar did in each tick, as JSON lines')
    .addHelpText(
      'after',
      `
overOptimum is the cost divided by that of the optimum: 1.05 is 5 % dearer. worstWindow is its largest value in a window.

Example:
  bursar backtest spot-regions --traces h100.jsonl.gz --job-hours 36 --deadline-hours 48 --restart-hours 0.2 --checkpoint-gb 50`,
    )
    .action((flags: Flags) => answer(session, 'spot-regions', flags));
}

function addSpotServing(backtest: Command, session: Session): void {
  backtest
    .command('spot-serving')
    .description('The replicas of a service on spot capacity of many zones and on on-demand.')
    .requiredOption('--traces <file>', 'a recording of many zones: JSON lines, gzip or not')
    .option('--past <file>', 'earlier ticks of the same recording')
    .option('--train <file...>', 'other recordings to learn from', [])
    .requiredOption('--replicas <n>', 'replicas that must serve at all times', count)
    .option('--gang <n>', 'instances of one replica; the price is that of all of them', count, 1)
    .option('--zones <names>', 'only these zones: a,b', list)
    .option('--cold-start-minutes <m>', 'time until a new replica serves', notNegative, 5)
    .option('--objective <s>', 'share of the wanted replica time that must be served', aboveZero, 0.99)
    .option('--window-hours <h>', 'length of a window', aboveZero, 48)
    .option('--starts <ticks>', 'ticks at which a window starts: 0,288', wholeList)
    .option('--windows <n>', 'number of windows, spread evenly over the recording, if no starts are given', count, 12)
    .option('--policies <names>', 'only these policies: bursar,spothedge', list)
    .addHelpText(
      'after',
      `
overOptimum is the cost divided by that of the optimum: 1.05 is 5 % dearer. servedShare is the served share of the wanted
replica time; misses counts the windows below the objective.

Example:
  bursar backtest spot-serving --traces h100.jsonl.gz --replicas 4 --gang 4 --cold-start-minutes 5 --objective 0.99`,
    )
    .action((flags: Flags) => answer(session, 'spot-serving', flags));
}

function addOthers(backtest: Command, session: Session): void {
  backtest
    .command('commitment')
    .description('Reserve GPUs, or pay on demand.')
    .requiredOption('--demand <file>', 'CSV: tenant,hour,gpus')
    .option('--term-hours <h>', "hours of a reservation's term", count, 168)
    .option('--price-ratio <r>', 'price of a reserved hour over that of an on-demand hour', aboveZero, 0.6)
    .option('--alpha <a>', 'the part of the price ratio that is paid in used hours only', notNegative)
    .option('--seed <n>', 'seed of the randomised opponent', whole)
    .addHelpText(
      'after',
      '\nExample:\n  bursar backtest commitment --demand demand.csv --term-hours 168 --price-ratio 0.6',
    )
    .action((flags: Flags) => answer(session, 'commitment', flags));

  backtest
    .command('scaling')
    .description('Scale the replicas of a service to its arrivals.')
    .requiredOption('--arrivals <file>', 'CSV: the first column is the time of an arrival')
    .option('--boot-minutes <m>', 'time until a new replica serves', notNegative, 5)
    .option('--peak-replicas <n>', "replicas that serve the 99th percentile of a minute's load", count, 20)
    .addHelpText(
      'after',
      '\nExample:\n  bursar backtest scaling --arrivals arrivals.csv --boot-minutes 5 --peak-replicas 20',
    )
    .action((flags: Flags) => answer(session, 'scaling', flags));

  backtest
    .command('idle')
    .description('Stop what is idle, and only that.')
    .requiredOption('--samples <file>', 'CSV: resource,timestamp,gpu_util_percent, ...')
    .option('--restart-minutes <m>', 'time until a stopped resource works again', notNegative, 10)
    .addHelpText('after', '\nExample:\n  bursar backtest idle --samples samples.csv --restart-minutes 10')
    .action((flags: Flags) => answer(session, 'idle', flags));

  backtest
    .command('throughput')
    .description('Predict training throughput from few measurements.')
    .requiredOption('--measurements <file>', 'JSON lines with model, gpu, gpu_count, batch, samples_per_s')
    .option('--points <n>', 'measurements that the prediction may see', count, 8)
    .addHelpText('after', '\nExample:\n  bursar backtest throughput --measurements throughput.jsonl --points 8')
    .action((flags: Flags) => answer(session, 'throughput', flags));
}

function addPolicy(backtest: Command, session: Session): void {
  backtest
    .command('policy')
    .description('Any policy over the recorded history of its teams.')
    .requiredOption('--policy <file>', 'a policy document, YAML or JSON')
    .requiredOption('--from <time>', 'first day or hour')
    .requiredOption('--to <time>', 'end, exclusive')
    .addHelpText(
      'after',
      `
Every proposal is carried out at once, in a simple model (docs/reference/policy-backtests.md). The result is stored,
because enforcing needs it. With BURSAR_URL, or after bursar login, that server runs it over its own history;
otherwise it runs here, on this machine's database.

Example:
  bursar backtest policy --policy idle-stop.yaml --from 2026-09-01 --to 2026-10-01`,
    )
    .action(async (flags: Flags) => {
      const { clock, parseYaml, remote } = session.context;
      const where =
        remote === null
          ? { bursar: await session.local(), now: clock.now(), actor: actor() }
          : { server: await session.client() };
      await answer(session, 'policy', { ...flags, ...where, parseYaml });
    });
}

async function answer(session: Session, problem: BacktestProblem, { plot, ...options }: Flags): Promise<void> {
  const { stderr, clock, plotter } = session.context;
  const picture = typeof plot === 'string' ? await plotFile(plot, plotter) : null;
  const run = await (options['server'] === undefined ? PROBLEMS[problem] : THERE)();
  const progress = new Progress(stderr, clock);
  const shown = (share: number): void => progress.show(`${problem}: ${Math.floor(share * 100)} %`);
  // The flags of each problem were checked above by its command.
  const report = await run({ ...options, progress: shown } as never)
    .catch((error: unknown) => {
      throw wrongFlags(error, options) ?? error;
    })
    .finally(() => progress.end());
  await picture?.write(report);
  session.print(
    picture === null ? report : { ...report, plot },
    () => `${reportText(report)}${picture === null ? '' : `\nThe picture is in ${String(plot)}\n`}`,
  );
}

/** A failure that is about nothing but flags is wrong use, told in the flags' own names. Null: it is about the data. */
function wrongFlags(error: unknown, options: Flags): WrongUse | null {
  if (!(error instanceof Failure) || error.kind !== 'invalid' || error.problems.length === 0) return null;
  if (!error.problems.every(({ path: name }) => name !== null && Object.hasOwn(options, name))) return null;
  const flag = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return new WrongUse(
    error.message,
    error.problems.map(({ path: name, message }) => ({ path: flag(name ?? ''), message })),
  );
}

/** A table per cell, and the pooled mean. */
function reportText({ problem, settings, cells, mean }: BacktestReport): string {
  const set = inOrder(Object.keys(settings), FIRST_SETTINGS)
    .map((name) => {
      const value = settings[name];
      return `${name} ${Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value)}`;
    })
    .join(', ');
  const parts = cells.map(
    (cell) =>
      `\n${printable(cell.name)} (${grouped(cell.count)} cases)\n${measures(cell.policies)}${unknownText(cell)}`,
  );
  return `${problem}: ${printable(set)}\n${parts.join('')}\nAll cells together\n${measures(mean)}`;
}

/** What is in no figure, and why. */
const unknownText = ({ unknown = [] }: BacktestReport['cells'][number]): string =>
  unknown.map(({ name, why }) => `Unknown, and not included in any figure: ${printable(name)}: ${why}\n`).join('');

/** A report that a server has kept comes back with its names in another order. */
const FIRST_SETTINGS = ['document', 'policy', 'policyVersion', 'params', 'from', 'to', 'teams'];
const FIRST_MEASURES = ['meanCost', 'meanShare', 'cost', 'saved'];

const inOrder = (names: readonly string[], first: readonly string[]): string[] => [
  ...first.filter((name) => names.includes(name)),
  ...names.filter((name) => !first.includes(name)),
];

type Measured = Readonly<Record<string, number | string | null>> & { readonly name: string };

/** One row per policy, one column per measure that any of them has. */
function measures(rows: readonly Measured[]): string {
  const found = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'name');
  const names = inOrder(found, FIRST_MEASURES);
  return table(
    ['policy', ...names],
    rows.map((row) => [row.name, ...names.map((name) => measure(name, row[name]))]),
  );
}

function measure(name: string, value: Cell): Cell {
  if (typeof value !== 'number') return value;
  if (/(Share|Error|coverage90)$/.test(name)) return percent(value);
  return Number.isInteger(value)
    ? value
    : value
        .toPrecision(6)
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '');
}
