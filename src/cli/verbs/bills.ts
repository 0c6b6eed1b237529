/**
 * bursar deliveries, commitments: bills in several files, and the use of commitments.
 */
import type { Command } from 'commander';
import { parseDay } from '../../core/time.js';
import type { CommitmentReport, Delivery } from '../answers.js';
import type { Session } from '../session.js';
import { grouped, percent, shortAmount, table } from '../table.js';
import { WrongUse } from '../usage-error.js';
import { usageText } from './imports.js';

interface DeliveryFlags {
  readonly commit?: string;
  readonly discard?: string;
  readonly strict?: true;
  readonly dryRun?: true;
  readonly replace?: true;
  readonly wait: boolean;
}

export function register(program: Command, session: Session): void {
  program
    .command('deliveries')
    .option('--commit <name>', 'import its files together, all of them or nothing, and close it')
    .option('--discard <name>', 'forget it and its files')
    .option('--strict', 'with --commit: refuse everything if a single row cannot be read')
    .option('--dry-run', 'with --commit: read and count everything, write nothing')
    .option('--replace', 'with --commit: replace the same bill of another source')
    .option('--no-wait', 'with --commit: return when the rows are in, before they are priced')
    .addHelpText(
      'after',
      `
Examples:
  bursar import part-1.csv.gz part-2.csv.gz --delivery october
  bursar import october-Manifest.json --delivery october
  bursar deliveries --commit october`,
    )
    .action(async (flags: DeliveryFlags) => {
      const { commit, discard } = flags;
      if (commit !== undefined && discard !== undefined)
        throw new WrongUse('--commit and --discard cannot be combined');
      const client = (await session.client()).bills;
      if (commit !== undefined) {
        const { strict, dryRun, replace, wait } = flags;
        const how = { strict: strict === true, dryRun: dryRun === true, replace: replace === true, wait };
        const files = await client.commit(commit, how);
        session.print({ files }, () => usageText(files));
      } else if (discard !== undefined) {
        const delivery = await client.discard(discard);
        session.print({ delivery }, () => `${discard} is discarded, with ${delivery.files.length} file(s).\n`);
      } else {
        const deliveries = await client.deliveries();
        session.print({ deliveries }, () => deliveriesText(deliveries));
      }
    });

  program
    .command('commitments')
    .option('--from <day>', 'only charges that start on this UTC day or later', day)
    .option('--to <day>', 'exclusive', day)
    .addHelpText(
      'after',
      `
Utilisation is the used effective cost over the used plus the unused. Coverage is the covered list cost over the
covered plus the on-demand list cost. It counts everything in the service, also disks and traffic that no commitment
can cover. Bills that do not say how usage was paid for (Google Cloud's and Alibaba Cloud's) have no coverage. If a
line does not state what a ratio needs, the ratio is left empty and such lines are counted. Contracts come from a
FOCUS file of contract commitments, imported like any other file. Each is listed for its own period, with the amount
that bills have applied to it.

Example:
  bursar commitments --from 2026-10-01 --to 2026-11-01`,
    )
    .action(async ({ from, to }: { from?: string; to?: string }) => {
      const report = await (await session.client()).bills.commitments(from ?? null, to ?? null);
      session.print(report, () => commitmentsText(report));
    });
}

function day(text: string): string {
  if (parseDay(text) === null) throw new WrongUse(`${text} is not a day written 2026-10-01`);
  return text;
}

function deliveriesText(deliveries: readonly Delivery[]): string {
  return table(
    ['delivery', 'source', 'format', 'opened', 'file', 'bytes'],
    deliveries.flatMap(({ name, source, format, openedAt, files }) =>
      (files.length === 0 ? [null] : files).map((file) => [
        name,
        source,
        format,
        openedAt,
        file?.file ?? '',
        file === null ? '' : grouped(file.bytes),
      ]),
    ),
    'No delivery is open.\n',
  );
}

function commitmentsText({ contracts, commitments, coverage }: CommitmentReport): string {
  const ratio = (text: string | null): string | null => percent(text === null ? null : Number(text));
  const isEmpty = contracts.length + commitments.length + coverage.length === 0;
  const used = table(
    ['provider', 'account', 'commitment', 'purchased', 'used', 'unused', 'currency', 'utilisation', 'unknown lines'],
    commitments.map((one) => [
      one.provider,
      one.account,
      one.name ?? one.commitment,
      shortAmount(one.purchased),
      shortAmount(one.used),
      shortAmount(one.unused),
      one.currency,
      ratio(one.utilisation),
      one.unknownLines,
    ]),
    isEmpty ? 'No bill names a commitment or on-demand usage yet.\n' : '',
  );
  if (isEmpty) return used;
  return `${used}\n${table(
    ['provider', 'account', 'service', 'covered', 'on demand', 'currency', 'coverage', 'unknown lines'],
    coverage.map((one) => [
      one.provider,
      one.account,
      one.service,
      shortAmount(one.covered),
      shortAmount(one.onDemand),
      one.currency,
      ratio(one.coverage),
      one.unknownLines,
    ]),
  )}${contracts.length === 0 ? '' : `\n${contractsText(contracts)}`}`;
}

function contractsText(contracts: CommitmentReport['contracts']): string {
  return table(
    ['contract', 'commitment', 'from', 'to', 'committed', 'applied', 'remaining', 'unit', 'fulfilled', 'unknown lines'],
    contracts.map((one) => [
      one.contract,
      one.description ?? one.commitment,
      one.periodStart?.slice(0, 10),
      one.periodEnd?.slice(0, 10),
      shortAmount(one.committed),
      shortAmount(one.applied),
      shortAmount(one.remaining),
      one.unit,
      percent(one.fulfilment === null ? null : Number(one.fulfilment)),
      one.unknownLines,
    ]),
  );
}
