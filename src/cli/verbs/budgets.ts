/**
 * bursar budgets: the plan, the spend and the forecast of each team; setting or removing a plan.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { exhaustionDayOf, isEndKnown } from '../../core/budget/exhaustion.js';
import { sayUnpriced } from '../../core/cost/unpriced.js';
import { aboutHours } from '../../core/cost/whole-hours.js';
import {
  BUDGET_BASES,
  BUDGET_FILTERS,
  checkBudget,
  type Budget,
  type BudgetBasis,
  type BudgetFilters,
  type Threshold,
} from '../../core/budget/budget.js';
import { periodName, type PeriodKind } from '../../core/time.js';
import { CHARGE_CATEGORIES, TERMS, type ChargeCategory, type Term } from '../../core/usage.js';
import type { BudgetPeriod, BudgetStateJson } from '../answers.js';
import type { BudgetView, Client } from '../client/client.js';
import { completedBy } from '../completing.js';
import { amount, pair, repeated } from '../flags.js';
import type { Session } from '../session.js';
import {
  estimate,
  grouped,
  money,
  percent,
  printable,
  shortAmount,
  table,
  type Cell,
  type DrawnCell,
  type Title,
} from '../table.js';
import { typed } from '../usage-error.js';

interface BudgetFlags extends BudgetFilters {
  readonly team: string;
  readonly amount?: string;
  readonly planned?: Readonly<Record<string, string>>;
  readonly period: PeriodKind;
  readonly currency?: string;
  readonly zone?: string;
  readonly threshold?: readonly Threshold[];
  readonly basis?: BudgetBasis;
  readonly credits: boolean;
}

/** Where none is given: most of it is spent, all of it is, all of it probably will be. */
const USUAL_THRESHOLDS: readonly Threshold[] = [
  { kind: 'actual', ratio: '0.8' },
  { kind: 'actual', ratio: '1' },
  { kind: 'forecast', ratio: '1' },
];

export function register(program: Command, session: Session): void {
  const budgets = program
    .command('budgets')
    .addHelpText(
      'after',
      '\nExamples:\n  bursar budgets\n  bursar budgets set vision-monthly --team vision --amount 12000 --threshold actual:0.8\n  bursar budgets remove vision-monthly',
    );

  budgets
    .command('list', { isDefault: true })
    .description('Show every budget with the state of its newest period.')
    .action(async () => {
      const all = await (await session.client()).budgets();
      session.print({ budgets: all }, () => budgetsTable(all, 'No budget is set: bursar budgets set --help\n'));
    });

  budgets
    .command('history')
    .description('Show the periods of a budget, newest first, with the result of each.')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  bursar budgets history vision-monthly')
    .action(async (id: string) => {
      const periods = await (await session.client()).budgetPeriods(id);
      session.print({ periods }, () => periodsTable(periods));
    });

  addSet(budgets, session);

  budgets
    .command('remove')
    .description('Remove a budget. Its spend and the thresholds that it crossed stay on record.')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  bursar budgets remove vision-monthly')
    .action(async (id: string) => {
      await (await session.client()).removeBudget(id);
      session.print({ removed: id }, () => `Budget ${id} is removed.\n`);
    });
}

const categoryFlag = (): Option =>
  completedBy(
    new Option(
      '--category <category>',
      `only this charge category; may be repeated: ${CHARGE_CATEGORIES.join(', ')}`,
    ).argParser(oneOf<ChargeCategory>(CHARGE_CATEGORIES)),
    { words: CHARGE_CATEGORIES },
  );

const termFlag = (): Option =>
  completedBy(new Option('--term <term>', 'only this term; may be repeated').argParser(oneOf<Term>(TERMS)), {
    words: TERMS,
  });

function addSet(budgets: Command, session: Session): void {
  budgets
    .command('set')
    .description('Add a budget, or replace the one of this id.')
    .argument('<id>')
    .requiredOption('--team <team>', 'its team; the teams below it count too')
    .option('--amount <amount>', 'planned for each period; 0 means that nothing is allowed', amount)
    .option('--planned <day=amount>', 'planned for the period that begins on this day; may be repeated', planned)
    .addOption(
      completedBy(
        new Option('--period <period>', 'month, quarter, year, or a first day and a length: 2026-10-05/14')
          .argParser(periodKind)
          .default('month'),
        { words: ['month', 'quarter', 'year'] },
      ),
    )
    .option('--currency <code>', "default: the team's")
    .option('--zone <zone>', "time zone of the period's days (default: the team's)")
    .option(
      '--threshold <kind:ratio>',
      'such as actual:0.8 or forecast:1; may be repeated (default: actual:0.8 actual:1 forecast:1)',
      thresholds,
    )
    .option('--provider <name>', 'only this provider; may be repeated', repeated)
    .option('--account <id>', 'only this billing account, with its linked accounts; may be repeated', repeated)
    .option('--sub-account <id>', 'only this sub-account (linked account, subscription); may be repeated', repeated)
    .option('--region <region>', 'only this region; may be repeated', repeated)
    .option('--service <name>', 'only this service; may be repeated', repeated)
    .addOption(categoryFlag())
    .option('--sku <sku>', 'only this SKU; may be repeated', repeated)
    .addOption(termFlag())
    .option('--tag <key=value>', 'only usage with this tag; may be repeated', tags)
    .addOption(new Option('--basis <basis>', 'what it counts (default: actual)').choices(BUDGET_BASES))
    .option('--credits', 'credits lower the spend', false)
    .addHelpText(
      'after',
      `
A threshold raises one alert per period. Removing a budget and setting it again, or lowering it, repeats no alert.
Raising a budget resets the thresholds that are no longer reached: they raise an alert again when the spend reaches
them.

Bases: actual is the bill where it counts, otherwise the accrual; effective takes the bill's amortised cost instead;
accrued is metered usage times price, whatever bills say.

Example:
  bursar budgets set vision-monthly --team vision --amount 12000 --period month --threshold actual:0.8 --threshold forecast:1`,
    )
    .action(async (id: string, flags: BudgetFlags) => {
      const client = await session.client();
      const budget = await budgetOf(id, flags, client);
      const saved = await client.saveBudget(typed(() => checkBudget(budget)));
      session.print({ budget: saved }, () => `Budget ${id} is set.\n${budgetsTable([saved])}`);
    });
}

async function budgetOf(id: string, flags: BudgetFlags, client: Client): Promise<Budget> {
  const filters = Object.fromEntries(
    BUDGET_FILTERS.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])),
  ) as BudgetFilters;
  const known =
    flags.currency !== undefined && flags.zone !== undefined
      ? undefined
      : (await client.teams()).find((team) => team.id === flags.team);
  return {
    id,
    team: flags.team,
    period: flags.period,
    zone: flags.zone ?? known?.zone ?? 'UTC',
    currency: flags.currency ?? known?.currency ?? 'USD',
    filters,
    ...(flags.basis === undefined ? {} : { basis: flags.basis }),
    planned: { default: flags.amount ?? null, periods: flags.planned ?? {} },
    includeCredits: flags.credits,
    thresholds: flags.threshold ?? USUAL_THRESHOLDS,
  };
}

function periodKind(text: string): PeriodKind {
  if (text === 'month' || text === 'quarter' || text === 'year') return text;
  const match = /^(\d{4}-\d{2}-\d{2})\/(\d{1,5})$/.exec(text);
  if (match?.[1] === undefined)
    throw new InvalidArgumentError(
      'It is none of month, quarter, year, or a first day and a length in days such as 2026-10-05/14.',
    );
  return { start: match[1], lengthDays: Number(match[2]) };
}

function planned(text: string, before: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  const [day, planOfDay] = pair(text, '=', 'DAY=AMOUNT, such as 2026-10-01=500');
  return { ...before, [day]: amount(planOfDay) };
}

function thresholds(text: string, before: readonly Threshold[] | undefined): Threshold[] {
  const [kind, ratio] = pair(text, ':', 'KIND:RATIO, such as actual:0.8');
  if (kind !== 'actual' && kind !== 'forecast')
    throw new InvalidArgumentError('Its kind is neither actual nor forecast.');
  return [...(before ?? []), { kind, ratio }];
}

const oneOf =
  <Word extends string>(known: readonly Word[]) =>
  (text: string, before: readonly Word[] | undefined): Word[] => {
    const word = known.find((one) => one === text);
    if (word === undefined) throw new InvalidArgumentError(`It is none of ${known.join(', ')}.`);
    return [...(before ?? []), word];
  };

function tags(
  text: string,
  before: readonly { key: string; value: string }[] | undefined,
): { key: string; value: string }[] {
  const [key, value] = pair(text, '=', 'KEY=VALUE');
  return [...(before ?? []), { key, value }];
}

/** From here on a budget is looked at. */
const WARNS_FROM = 0.8;

const usedCell = (ratio: number | null): DrawnCell => ({ text: percent(ratio), bar: ratio, warnsFrom: WARNS_FROM });

const BUDGET_TITLES: readonly Title[] = [
  'budget',
  { title: 'team', below: true },
  { title: 'period', below: true },
  { title: 'spent', csv: ['spent', 'planned'] },
  'used',
  { title: 'forecast (80% interval)', csv: ['forecast', 'from', 'to', 'currency'] },
  { title: 'runs out', below: true },
  { title: 'crossed', below: true },
  { title: 'unpriced GPU-hours', below: true },
];

/** Those that its change did not take away. */
const crossedText = (crossings: BudgetView['crossings']): string =>
  [...new Set(crossings.filter(({ holds }) => holds).map(({ kind, ratio }) => `${kind}:${ratio}`))].join(' ');

/** Bills that are not final: one sentence for every budget that has some. */
function setAsideText(states: readonly (readonly [name: string, state: BudgetStateJson | null])[]): string {
  const sums = states.flatMap(([name, state]) =>
    (state?.setAside ?? []).map(({ currency, amount: aside }) => `${printable(name)} ${money(aside, currency)}`),
  );
  if (sums.length === 0) return '';
  return `The same usage is counted once: as metered until its bill is final. Bills that are not final say so far: ${sums.join(', ')}\n`;
}

/** The amounts that a state lacks. */
function notesOf(name: string, state: BudgetStateJson | null): string[] {
  const note = (text: string): string => `${printable(name)}: ${text}, and is not counted\n`;
  return [
    ...(state?.unconverted.length ? [note(`spend in ${state.unconverted.join(', ')} has no exchange rate`)] : []),
    ...(state?.unstated ?? []).map(({ currency, amount: billed, lines }) =>
      note(
        `${shortAmount(billed)} ${currency} of bills${lines === undefined ? '' : ` in ${grouped(lines)} line(s)`} has no amortised cost stated`,
      ),
    ),
    ...(state?.unnamed ?? []).map(({ currency, amount: left, fields }) =>
      note(
        `${left === null ? 'metered usage without a price' : `${shortAmount(left)} ${currency} of metered usage`} names no ${fields.join(' and no ')}, by which the budget filters`,
      ),
    ),
    ...(state?.unpriced ?? []).map((one) =>
      note(printable(sayUnpriced(one, (quantity) => shortAmount(quantity) ?? quantity))),
    ),
  ];
}

function periodsTable(periods: readonly BudgetPeriod[]): string {
  const rows = periods.map(({ label, isOver, state, crossings }) => [
    label,
    isOver ? 'over' : 'running',
    state.status === 'not-planned' ? 'not planned' : shortAmount(state.planned),
    shortAmount(state.spent),
    usedCell(state.ratio),
    isOver ? null : shortAmount(state.forecast?.mean ?? null),
    shortAmount(state.unpricedGpuHours),
    state.currency,
    crossedText(crossings),
  ]);
  const columns = ['period', 'is', 'planned', 'spent', 'used', 'forecast', 'unpriced GPU-hours', 'currency', 'crossed'];
  const states = periods.map(({ label, state }) => [label, state] as const);
  const none = 'No period has been evaluated yet.\n';
  return table(columns, rows, none) + setAsideText(states) + states.flatMap((one) => notesOf(...one)).join('');
}

function budgetsTable(budgets: readonly BudgetView[], none = ''): string {
  const rows = budgets.map(({ id, team, currency, zone, periodStart, periodEnd, state, crossings }): Cell[] => [
    id,
    team,
    periodStart === null || periodEnd === null
      ? 'not evaluated yet'
      : periodName({ start: Date.parse(periodStart), end: Date.parse(periodEnd) }, zone),
    spentCell(state, currency),
    usedCell(state?.ratio ?? null),
    estimate(state?.forecast ?? { mean: null, low: null, high: null }, currency),
    state === null ? null : (exhaustionDayOf(state) ?? (isEndKnown(state) ? null : 'unknown')),
    crossedText(crossings),
    shortAmount(state?.unpricedGpuHours ?? null),
  ]);
  const states = budgets.map(({ id, state }) => [id, state] as const);
  const hours = budgets.flatMap(({ zone, periodStart, periodEnd }) =>
    periodStart === null || periodEnd === null
      ? []
      : aboutHours(zone, { start: Date.parse(periodStart), end: Date.parse(periodEnd) }),
  );
  const notes = [...states.flatMap((one) => notesOf(...one)), ...[...new Set(hours)].map((one) => `Warning: ${one}\n`)];
  return table(BUDGET_TITLES, rows, none) + setAsideText(states) + notes.join('');
}

/** `117864.92 of 235800.00 USD`. */
function spentCell(state: BudgetStateJson | null, currency: string): DrawnCell {
  if (state === null) return { text: null, csv: [null, null] };
  const isPlanned = state.status !== 'not-planned';
  const plan = isPlanned ? `of ${money(state.planned, currency) ?? 'unknown'}` : `${currency}, not planned`;
  return {
    text: `${shortAmount(state.spent) ?? 'unknown'} ${plan.replaceAll(' ', '\u00a0')}`,
    csv: [state.spent, isPlanned ? state.planned : 'not planned'],
  };
}
