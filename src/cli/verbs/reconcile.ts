/**
 * bursar reconcile: bills compared with accruals, and the rates learned from bills.
 */
import type { Command } from 'commander';
import type { Variance } from '../answers.js';
import type { LearnedRateList, VarianceList } from '../client/reconciliation.js';
import type { Session } from '../session.js';
import { percent, shortAmount, table } from '../table.js';
import { WrongUse } from '../usage-error.js';

/** So many rows are printed, those that differ most; --json has all. */
const MOST_ROWS = 200;

interface Flags {
  readonly month?: string;
  readonly team?: string;
  readonly rates?: boolean;
  readonly withdraw?: string;
  readonly learn?: string;
  readonly settling?: string;
}

export function register(program: Command, session: Session): void {
  program
    .command('reconcile')
    .option('--month <month>', 'only of this bill month, such as 2026-10')
    .option('--team <team>', 'only of this team')
    .option('--rates', 'show the rates learned from closed bills, and whether they are trusted')
    .option('--withdraw <rate>', 'withdraw a learned rate permanently')
    .option('--learn <on|off>', 'whether learned rates correct accruals')
    .option('--settling <days>', 'days after its period until a bill is final: 10, or AWS=7 of one provider')
    .addHelpText(
      'after',
      `
Accruals are compared with the effective (amortised) cost, or with the billed cost where a bill states no other. A
negative variance means that the bill is lower. Credits, taxes, purchases and adjustments are shown apart. Amounts are
rounded here; --json has the exact ones.

Examples:
  bursar reconcile --month 2026-10 --team research
  bursar reconcile --rates
  bursar reconcile --withdraw rate-0123456789abcdef`,
    )
    .action(async (flags: Flags) => {
      const action = actionOf(flags);
      const client = (await session.client()).reconciliation;
      if (flags.settling !== undefined) {
        const settling = await client.settle(flags.settling);
        const others = Object.entries(settling.providers).map(([provider, days]) => `, of ${provider} ${days}`);
        session.print({ settling }, () => `Bills settle for ${settling.days} days${others.join('')}.\n`);
        return;
      }
      if (action === 'withdraw') {
        const rate = await client.withdraw(flags.withdraw ?? '');
        session.print({ rate }, () => `${rate.id} is withdrawn.\n`);
      } else if (action === 'learn' || action === 'rates') {
        const list = action === 'learn' ? await client.setApplied(flags.learn === 'on') : await client.rates();
        session.print(list, () => ratesText(list));
      } else {
        const list = await client.variance({ month: flags.month ?? null, team: flags.team ?? null });
        session.print(list, () => varianceText(list));
      }
    });
}

function actionOf({
  month,
  team,
  rates,
  withdraw,
  learn,
  settling,
}: Flags): 'variance' | 'rates' | 'withdraw' | 'learn' | 'settling' {
  if (month !== undefined && !/^\d{4}-(0[1-9]|1[0-2])$/.test(month))
    throw new WrongUse(`--month ${month} is not a month written 2026-10`);
  if (learn !== undefined && learn !== 'on' && learn !== 'off')
    throw new WrongUse(`--learn is on or off, not ${learn}`);
  const asked = [
    withdraw === undefined ? null : ('withdraw' as const),
    learn === undefined ? null : ('learn' as const),
    rates === true ? ('rates' as const) : null,
    settling === undefined ? null : ('settling' as const),
  ].filter((one) => one !== null);
  const [first] = asked;
  if (asked.length > 1 || (first !== undefined && (month !== undefined || team !== undefined)))
    throw new WrongUse('--rates, --withdraw, --learn and --settling cannot be combined');
  return first ?? 'variance';
}

const sizeOf = ({ variance }: Variance): number => Math.abs(Number(variance ?? 0));

function varianceText({ rows, totals }: VarianceList): string {
  const shown = [...rows]
    .sort((a, b) => sizeOf(b) - sizeOf(a))
    .slice(0, MOST_ROWS)
    .sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : a.team < b.team ? -1 : 1));
  const cells = shown.map((row) => [
    row.day,
    row.team,
    row.provider,
    row.sku ?? row.gpuModel ?? row.category,
    shortAmount(row.accrued),
    shortAmount(row.compared),
    shortAmount(row.variance),
    { text: percent(row.ratio === null ? null : Number(row.ratio)), csv: row.ratio },
    row.currency,
    row.reasons.join(', '),
  ]);
  const left = rows.length - shown.length;
  const sums = totals.map(
    (total) =>
      `${total.currency}: billed ${shortAmount(total.compared)} (of it apart ${shortAmount(total.apart)}), accrued ${shortAmount(total.accrued)}, variance ${shortAmount(
        total.variance,
      )}; ${total.unpricedGpuHours} GPU-hours without a price\n`,
  );
  const titles = ['day', 'team', 'provider', 'SKU', 'accrued', 'billed', 'variance', 'ratio', 'currency', 'why'];
  const drawn = table(titles, cells, 'No bill has been compared yet: bursar import takes bills in.\n');
  if (rows.length === 0) return drawn;
  return `${drawn}${left > 0 ? `${left} smaller rows are left out; --json has them.\n` : ''}\n${sums.join('')}`;
}

function ratesText({ applied, rates }: LearnedRateList): string {
  const head = `Learned rates ${applied ? 'correct accruals' : 'are shown only: bursar reconcile --learn on applies them'}.\n`;
  const cells = rates.map((rate) => [
    rate.id,
    rate.provider,
    rate.account,
    rate.sku,
    rate.region,
    rate.term,
    rate.ratio,
    rate.appliesFrom.slice(0, 10),
    `${rate.source}/${rate.month}`,
    rate.withdrawnAt !== null ? 'withdrawn' : rate.trusted ? 'trusted' : rate.distrust.join(', '),
  ]);
  return `${head}\n${table(['rate', 'provider', 'account', 'SKU', 'region', 'term', 'of list', 'from', 'bill', 'state'], cells, 'No rate has been learned from a closed bill yet.\n')}`;
}
