/** bursar costs: what was spent, grouped. */
import { Option, type Command } from 'commander';
import { sayUnpriced } from '../../core/cost/unpriced.js';
import { BASES, GROUP_KEYS, OF_DIMENSION, parseSpendQuery, type SpendQuery } from '../../core/cost/spend-query.js';
import { EFFECTS } from '../../core/report/bridge.js';
import { nearestDay, runningDay } from '../../core/time.js';
import type { CostBreakdown, CostBridge, Costs } from '../answers.js';
import { completedBy } from '../completing.js';
import { pair, repeated } from '../flags.js';
import type { Session } from '../session.js';
import { grouped, percent, printable, shortAmount, table, type Cell } from '../table.js';
import { typed, WrongUse } from '../usage-error.js';

interface CostFlags {
  readonly from?: string;
  readonly to?: string;
  readonly groupBy?: string[];
  readonly by?: string[];
  readonly basis: string;
  readonly currency?: string;
  readonly zone?: string;
  readonly team?: string[];
  readonly filter?: string[];
  readonly compare?: boolean;
  readonly why?: boolean;
}

export function register(program: Command, session: Session): void {
  program
    .command('costs')
    .option('--from <time>', 'from this day on: 2026-10-01, 2026-10')
    .option('--to <time>', 'before this day')
    .option('--zone <zone>', 'time zone of the days and months, such as Europe/Berlin; by whole hours of UTC', 'UTC')
    .addOption(keysFlag('--group-by <keys>', `separated by commas: ${GROUP_KEYS.join(', ')}`))
    .addOption(keysFlag('--by <keys>', 'the same, shorter'))
    .addOption(completedBy(new Option('--basis <basis>', BASES.join(', ')).default('actual'), { words: BASES }))
    .option('--currency <code>', 'convert every amount by the rate of its day')
    .option('--team <team>', 'only this team; may be repeated', repeated)
    .option('--filter <dimension=value>', `only this value, of ${OF_DIMENSION.join(', ')}; may be repeated`, repeated)
    .option(
      '--compare',
      'compare by one or two keys with the period before: as many days, or as many whole months; while the period ' +
        'runs, with as many days as it has',
    )
    .option('--why', 'explain the change from the period before: volume, price, mix, new, gone, charges, credits')
    .addHelpText(
      'after',
      `
Bases: actual is the bill where it is final, otherwise the accrual plus the lines of the bill that no meter covers;
accrued is metered usage times price; billed, effective and list are FOCUS' BilledCost, EffectiveCost and ListCost.
Unpriced usage is in no amount: its GPU-hours are shown beside the amount, and whatever else is left out is listed
below the total. Whole days of a bill keep the bill's own dates in any zone.

Example:
  bursar costs --from 2026-10-01 --to 2026-11-01 --group-by team,provider
  bursar costs --from 2026-10 --to 2026-11 --by team,sku --compare --filter region=us-east-1
  bursar costs --from 2026-10 --to 2026-11 --why`,
    )
    .action(async ({ compare, why, ...flags }: CostFlags) => {
      const query = typed(() => queryOf(flags, compare === true));
      if (compare === true && why === true) throw new WrongUse('use either --compare or --why');
      const client = await session.client();
      if (why === true) {
        const bridge = await client.costBridge(query);
        return session.print(bridge, () => bridgeText(bridge, session.context.clock.now()));
      }
      if (compare === true) {
        const breakdown = await client.costBreakdown(query);
        return session.print(breakdown, () => breakdownText(breakdown, session.context.clock.now()));
      }
      const spend = await client.costs(query);
      session.print(spend, () => textOf(spend, query.groupBy));
    });
}

const keysFlag = (flags: string, description: string): Option =>
  completedBy(new Option(flags, description).argParser(repeated), { words: GROUP_KEYS, several: true });

function queryOf(
  { from, to, groupBy, by, basis, currency, zone, team, filter = [] }: Omit<CostFlags, 'compare' | 'why'>,
  compares: boolean,
): SpendQuery {
  const keys = [...(groupBy ?? []), ...(by ?? [])];
  const filters: Record<string, string[]> = {};
  for (const one of filter) {
    const [name, value] = pair(one, '=', 'dimension=value');
    (filters[name] ??= []).push(value);
  }
  return parseSpendQuery({
    from,
    to,
    groupBy: keys.length === 0 && compares ? 'team' : keys.join(','),
    basis,
    currency,
    zone,
    teams: team ?? null,
    filters,
  });
}

const spanText = ({ from, to }: { readonly from: string; readonly to: string }): string => `${from} to before ${to}`;

/** The amounts that the sums of a period lack. */
function gapsText({ unpricedGpuHours, lacking }: CostBreakdown['now'], basis: string, name: string): string {
  const unpriced = /[1-9]/.test(unpricedGpuHours) ? [`${shortAmount(unpricedGpuHours)} GPU-hours without a price`] : [];
  return [...unpriced, ...lackingTexts(lacking, basis)].map((text) => `Not included (${name}): ${text}\n`).join('');
}

/** What `-` says in a column of names. */
function namelessText(groups: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const nameless = groups.filter((_, at) => rows.some((row) => row[at] === null || row[at] === undefined));
  return nameless.map((key) => `${key} "-": the records of this usage name no ${key}.\n`).join('');
}

/** Of an answer of a read replica that is behind. */
const asOfText = ({ asOf }: { readonly asOf?: string }): string =>
  asOf === undefined ? '' : `As of ${asOf}: a read replica answered, and it lags behind.\n`;

const warningsText = ({ warnings }: Pick<Costs, 'warnings'>): string =>
  warnings.map((warning) => `Warning: ${warning}\n`).join('');

/** What the comparison does to the last day, where that is not over; nothing otherwise. */
function runsText({ now, before, zone }: Pick<CostBreakdown, 'now' | 'before' | 'zone'>, at: number): string {
  const day = before === null ? null : runningDay(now, zone, at);
  return day === null ? '' : `${day} is not over: it is compared with a whole day.\n`;
}

function breakdownText(answer: CostBreakdown, at: number): string {
  const { basis, groupBy, now, before, rows, rest } = answer;
  const cells = ({
    currency,
    cost,
    before: old,
    change,
    share: of,
    gpuHours,
  }: Omit<CostBreakdown['rows'][number], 'names'>): Cell[] => [
    { text: shortAmount(cost), bar: rows.length + rest.length < 2 ? null : of },
    shortAmount(old),
    shortAmount(change),
    currency,
    percent(of),
    shortAmount(gpuHours),
  ];
  const lines = [
    ...rows.map((row) => [...row.names, ...cells(row)]),
    ...rest.map((row) => [`${row.groups} others`, ...groupBy.slice(1).map(() => null), ...cells(row)]),
  ];
  // The period before ends where this one begins, unless this one still runs.
  const isShort = before !== null && before.to !== now.from;
  const sums = `Total (${basis}), ${spanText(now)}: ${totalText(now)}\n`;
  const old = before === null ? '' : `Total of the period before, ${spanText(before)}: ${totalText(before)}\n`;
  const titles = [...groupBy, 'cost', 'before', 'change', 'currency', 'share', 'GPU-hours'];
  const compared =
    before === null
      ? ''
      : `${spanText(now)}, against ${spanText(before)}${isShort ? ': as many days so far' : ''}\n${runsText(answer, at)}\n`;
  return `${compared}${table(titles, lines)}\n${namelessText(
    groupBy,
    rows.map(({ names }) => names),
  )}${asOfText(answer)}${sums}${old}${gapsText(now, basis, 'this period')}${before === null ? '' : gapsText(before, basis, 'the period before')}${warningsText(answer)}`;
}

function bridgeText(answer: CostBridge, at: number): string {
  const { basis, now, before, bridges } = answer;
  const parts = bridges.map(({ currency, bridge }) =>
    bridge === null
      ? `${currency}: nothing was recorded in one of the two periods\n`
      : table(
          ['because of', `amount, ${currency}`],
          [
            ['before', shortAmount(bridge.before)],
            ...EFFECTS.map((effect) => [effect, shortAmount(bridge.effects[effect])]),
            ['after', shortAmount(bridge.after)],
          ],
        ),
  );
  const none = bridges.length === 0 ? 'Nothing was recorded in either period.\n' : '';
  const soFar = before.to === now.from ? '' : ': as many days so far';
  return `${asOfText(answer)}${spanText(now)}, against ${spanText(before)}${soFar} (${basis})\n${runsText(answer, at)}\n${parts.join('\n')}${none}${gapsText(now, basis, 'this period')}${gapsText(before, basis, 'the period before')}${warningsText(answer)}`;
}

function textOf(spend: Costs, groups: readonly string[]): string {
  const rows = spend.rows.map((row) => [
    ...groups.map((key) => row[key]),
    { text: shortAmount(row.cost), bar: shareOf(row, spend) },
    row.currency,
    shortAmount(row.gpuHours),
    shortAmount(row.unpricedQuantity),
  ]);
  const lacking = lackingTexts(spend.lacking, spend.basis);
  const inNone = lacking.map((text) => `Not included: ${text}\n`).join('');
  const unpriced = /[1-9]/.test(spend.unpricedQuantity)
    ? `, and ${shortAmount(spend.unpricedQuantity)} GPU-hours without a price`
    : '';
  return `${table([...groups, 'cost', 'currency', 'GPU-hours', 'unpriced GPU-hours'], rows)}\n${namelessText(groups, rows)}Total (${spend.basis}): ${totalText(spend)}${unpriced}\n${inNone}${billsText(spend.bills)}${warningsText(spend)}`;
}

/** Amounts without an exchange rate to the requested currency are not in it, and are listed below it. */
function totalText({ totals, lacking: { unconverted } }: Pick<CostBreakdown['now'], 'totals' | 'lacking'>): string {
  const counted = totals.filter(({ currency }) => !unconverted.some((one) => one.currency === currency));
  if (counted.length > 0) return counted.map(({ currency, cost }) => `${shortAmount(cost)} ${currency}`).join(' and ');
  return totals.length > 0 ? 'nothing that has an exchange rate' : 'nothing that has a price';
}

/** The amounts that no total contains, other than GPU-hours without a price. */
function lackingTexts(
  { unstated, unbilled, setAside, unconverted, unpriced: withoutPrice }: Costs['lacking'],
  basis: string,
): string[] {
  return [
    ...unstated.map(
      ({ currency, cost, lines }) =>
        `${shortAmount(cost)} ${currency} billed in ${grouped(lines)} line(s) without a stated ${basis} cost`,
    ),
    ...unbilled.map(({ currency, cost }) => `${shortAmount(cost)} ${currency} of metered usage without a bill`),
    ...setAside.map(
      ({ currency, cost }) =>
        `${shortAmount(cost)} ${currency} of bills that are not final; metered usage counts instead until they are`,
    ),
    ...unconverted.map(({ currency, cost }) => `${shortAmount(cost)} ${currency} without an exchange rate`),
    ...withoutPrice.map((one) => printable(sayUnpriced(one, (quantity) => shortAmount(quantity) ?? quantity))),
  ];
}

/** Of the total in its currency; null if there is none to be a share of. */
function shareOf({ cost, currency }: Costs['rows'][number], { totals, rows }: Costs): number | null {
  const total = Number(totals.find((one) => one.currency === currency)?.cost ?? 0);
  return rows.length < 2 || cost === null || total <= 0 ? null : Number(cost) / total;
}

/** Bills that may still change; those that are final are only counted. */
function billsText(bills: Costs['bills']): string {
  const unsettled = bills.filter(({ state }) => state !== 'final');
  const final = bills.length - unsettled.length;
  const lines = unsettled.map(
    ({ provider, account, source, periodStart, state, finalAt }) =>
      `Bill: ${printable(`${provider}${account === null ? '' : ` ${account}`}`)} from ${nearestDay(Date.parse(periodStart))} (${printable(source)}) is ${state}${finalAt === null ? '' : `, final from ${finalAt.slice(0, 10)}`}\n`,
  );
  return `${lines.join('')}${final === 0 ? '' : `Bills that are final: ${final}\n`}`;
}
