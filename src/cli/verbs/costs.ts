/** bursar costs: what was spent, grouped. */
import type { Command } from 'commander';
import type { CostsAnswer } from '../../store/usage/doubts.js';
import { parseSpendQuery, BASES, GROUP_KEYS } from '../../core/cost/spend-query.js';
import { repeated } from '../flags.js';
import type { Session } from '../session.js';
import { grouped, printable, shortAmount, table } from '../table.js';
import { typed } from '../usage-error.js';

type Unpriced = CostsAnswer['lacking']['unpriced'][number];

interface CostFlags {
  readonly from?: string;
  readonly to?: string;
  readonly groupBy?: string[];
  readonly basis: string;
  readonly currency?: string;
  readonly zone?: string;
  readonly team?: string[];
}

export function addCosts(program: Command, session: Session): void {
  program
    .command('costs')
    .description('Show what was spent.')
    .option('--from <time>', 'from this day on: 2026-10-01, 2026-10')
    .option('--to <time>', 'before this day')
    .option('--zone <zone>', 'whose days and months, such as Europe/Berlin', 'UTC')
    .option('--group-by <keys>', `separated by commas: ${GROUP_KEYS.join(', ')}`, repeated)
    .option('--basis <basis>', BASES.join(', '), 'actual')
    .option('--currency <code>', 'convert every amount by the rate of its day')
    .option('--team <team>', 'only this team; may be repeated', repeated)
    .addHelpText(
      'after',
      `
Bases: actual is the bill where it is final, else the accrual, with those lines of the bill that no meter stands for;
accrued is metered usage times price; billed, effective and list are FOCUS' BilledCost, EffectiveCost and ListCost. What has no price is in no
amount: its GPU-hours stand beside it, and below the total what else is in none of it. Whole days of a bill are the
bill's own dates in any zone.

Example:
  bursar costs --from 2026-10-01 --to 2026-11-01 --group-by team,provider`,
    )
    .action(async ({ from, to, groupBy, basis, currency, zone, team }: CostFlags) => {
      const query = typed(() =>
        parseSpendQuery({ from, to, groupBy: groupBy?.join(','), basis, currency, zone, teams: team ?? null }),
      );
      const spend = await (await session.client()).costs(query);
      session.print(spend, () => textOf(spend, query.groupBy));
    });
}

function textOf(spend: CostsAnswer, groups: readonly string[]): string {
  const rows = spend.rows.map((row) => [
    ...groups.map((key) => row[key]),
    shortAmount(row.cost),
    row.currency,
    shortAmount(row.gpuHours),
    shortAmount(row.unpricedQuantity),
  ]);
  const { unstated, unbilled, setAside, unconverted, unpriced: withoutPrice } = spend.lacking;
  const lacking = [
    ...unstated.map(
      ({ currency, cost, lines }) =>
        `${shortAmount(cost)} ${currency} billed in ${grouped(lines)} line(s) without a stated ${spend.basis} cost`,
    ),
    ...unbilled.map(({ currency, cost }) => `${shortAmount(cost)} ${currency} of metered usage without a bill`),
    ...setAside.map(
      ({ currency, cost }) =>
        `${shortAmount(cost)} ${currency} of bills that are not final, for which metered usage stands until they are`,
    ),
    ...unconverted.map(({ currency, cost }) => `${shortAmount(cost)} ${currency} without an exchange rate`),
    ...withoutPrice.map(unpricedText),
  ];
  const inNone = lacking.map((text) => `Not in it: ${text}\n`).join('');
  const totals = spend.totals.map(({ currency, cost }) => `${shortAmount(cost)} ${currency}`).join(' and ');
  const unpriced = /[1-9]/.test(spend.unpricedQuantity)
    ? `, and ${shortAmount(spend.unpricedQuantity)} GPU-hours without a price`
    : '';
  return `${table([...groups, 'cost', 'currency', 'GPU-hours', 'unpriced GPU-hours'], rows)}\nTotal (${spend.basis}): ${totals === '' ? 'nothing that has a price' : totals}${unpriced}\n${inNone}${billsText(spend.bills)}${spend.warnings.map((warning) => `Warning: ${warning}\n`).join('')}`;
}

/** Storage, traffic, and what has no quantity, without a price. */
function unpricedText({ provider, sku, component, reason, quantity, hours }: Unpriced): string {
  const name = printable(`${provider} ${sku ?? 'without a SKU'}`);
  if (quantity === null) return `${name}, of which no quantity is known, in ${hours} hours`;
  return `${shortAmount(quantity)} ${component === 'network' ? 'GiB sent' : 'GiB-hours stored'} of ${name} without a price (${reason})`;
}

/** Bills that may still change; those that are final are only counted. */
function billsText(bills: CostsAnswer['bills']): string {
  const unsettled = bills.filter(({ state }) => state !== 'final');
  const final = bills.length - unsettled.length;
  const lines = unsettled.map(
    ({ provider, account, source, periodStart, state, finalAt }) =>
      `Bill: ${printable(`${provider}${account === null ? '' : ` ${account}`}`)} from ${periodStart.slice(0, 10)} (${printable(source)}) is ${state}${finalAt === null ? '' : `, final from ${finalAt.slice(0, 10)}`}\n`,
  );
  return `${lines.join('')}${final === 0 ? '' : `Bills that are final: ${final}\n`}`;
}
