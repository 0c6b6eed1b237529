/**
 * bursar import, prices, imports, rejects: imported files, and the results of their rows.
 */
import { Option, type Command } from 'commander';
import { PRICE_FORMATS, USAGE_FORMATS } from '../../core/format-names.js';
import { nearestDay } from '../../core/time.js';
import type { Delivery, ImportedFile, ImportedPrices, PriceVersion, ReplacedBill, UndoneImport } from '../answers.js';
import type { FilesToImport, ImportClient, PriceFilter } from '../client/imports.js';
import { completedBy } from '../completing.js';
import { count } from '../flags.js';
import type { Session } from '../session.js';
import { grouped, printable, table } from '../table.js';
import { WrongUse } from '../usage-error.js';

interface ImportFlags {
  readonly format: string;
  readonly source: string;
  readonly strict?: true;
  readonly dryRun?: true;
  readonly replace?: true;
  readonly wait: boolean;
  readonly delivery?: string;
}

const FIRST_REJECTS = 5;
const MOST_LISTED = 100;

export function register(program: Command, session: Session): void {
  filesVerb(program, 'import', 'auto, focus, aws-cur, azure-ea, oci, cloudevents, bursar, ...', USAGE_FORMATS)
    .option('--replace', 'replace the same bill of another source')
    .option('--delivery <name>', 'keep the files aside until the delivery is committed: bursar deliveries')
    .addHelpText(
      'after',
      `
Files may be gzipped. All files of one call are one delivery: either all of it is imported, or nothing. If the files
of a bill arrive one after another, name their delivery with --delivery; it counts once it is committed. Repeat a call
that was interrupted. If the manifest of an AWS report is among the files, an incomplete set is refused. A row that
cannot be read is set aside with its reason (bursar rejects); the other rows are imported. Importing the same file
again changes nothing. A restated bill replaces its period, and a later revision of a record replaces the earlier one.
A bill that came from another source before is refused, unless --replace is set.

Example:
  bursar import bill-2026-10.csv.gz --format focus --source aws`,
    )
    .action(async (paths: string[], flags: ImportFlags) => {
      const client = await session.client();
      if (flags.delivery !== undefined) {
        if (flags.strict || flags.dryRun || flags.replace)
          throw new WrongUse('--strict, --dry-run and --replace go with bursar deliveries --commit');
        const { format, source } = flags;
        const delivery = await client.bills.deliver({ name: flags.delivery, paths, format, source });
        session.print({ delivery }, () => openText(delivery));
        return;
      }
      const files = await client.imports.usage(requestOf(paths, flags));
      const firsts = session.json || flags.dryRun ? '' : await firstRejects(client.imports, files);
      session.print({ files }, () => usageText(files) + firsts + afterword(flags));
    });

  const prices = filesVerb(program, 'prices', 'auto, or the name of a price format', PRICE_FORMATS)
    .addHelpText(
      'after',
      `
Each price is kept with the time from which it applies. If two prices apply from the same instant, the later statement
wins. Prices that people write themselves take precedence over the provider's list, and that over tables of others.
Correct a mistake with another list, or withdraw the price by its id.

Examples:
  bursar prices gcp-2026-10.json aws-history.csv
  bursar prices list --sku p5.48xlarge
  bursar prices withdraw 0123456789abcdef0123456789abcdef`,
    )
    .action(async (paths: string[], flags: ImportFlags) => {
      const files = await (await session.client()).imports.prices(requestOf(paths, flags));
      session.print({ files }, () => countsTable(files) + afterword(flags));
    });

  addStatements(prices, session);
  addLists(program, session);
}

function addStatements(prices: Command, session: Session): void {
  prices
    .command('list')
    .description('List the stated prices, who stated them, and which were withdrawn.')
    .option('--provider <name>', 'only of this provider')
    .option('--sku <sku>', 'only of this instance type or SKU')
    .addHelpText('after', '\nExample:\n  bursar prices list --sku p5.48xlarge')
    .action(async (filter: PriceFilter) => {
      const listed = await (await session.client()).imports.statements(filter);
      session.print({ prices: listed }, () => pricesTable(listed, 'No price has been stated.\n'));
    });

  for (const [verb, isWithdrawn, description] of [
    ['withdraw', true, 'Withdraw the statement of a price; the usage that it priced is priced again.'],
    ['restore', false, 'Restore the withdrawn statement of a price.'],
  ] as const)
    prices
      .command(verb)
      .description(description)
      .argument('<id>', 'as bursar prices list shows it')
      .addHelpText('after', `\nExample:\n  bursar prices ${verb} 0123456789abcdef0123456789abcdef`)
      .action(async (id: string) => {
        if (!/^[0-9a-f]{32}$/.test(id))
          throw new WrongUse(`${id} is not the id of a price: bursar prices list shows them`);
        const price = await (await session.client()).imports.setWithdrawn(id, isWithdrawn);
        session.print({ price }, () => pricesTable([price]));
      });
}

const pricesTable = (prices: readonly PriceVersion[], none = ''): string =>
  table(
    ['id', 'provider', 'sku', 'region', 'term', 'from', 'price', 'for', 'stated by', 'in', 'undone'],
    prices.map((p) => [
      p.id,
      p.provider,
      p.sku,
      p.region ?? '',
      p.term ?? '',
      p.effectiveFrom,
      p.price === null ? 'gone from the catalogue' : `${p.price.amount} ${p.price.currency}`,
      p.price === null ? '' : `${p.price.per} ${p.price.unit}`,
      p.origin,
      p.source,
      p.withdrawnAt === null ? '' : `${p.withdrawnAt} by ${p.withdrawnBy ?? ''}`,
    ]),
    none,
  );

function filesVerb(program: Command, name: string, formats: string, all: readonly string[]): Command {
  return program
    .command(name)
    .argument('<file...>', 'files, plain or gzip')
    .addOption(completedBy(new Option('--format <name>', formats).default('auto'), { words: ['auto', ...all] }))
    .option('--source <name>', 'the meter or the origin of the bills: ids are unique within it', 'default')
    .option('--strict', 'refuse everything if a single row cannot be read')
    .option('--dry-run', 'read and count everything, write nothing')
    .option('--no-wait', 'return when the rows are stored, before they are priced');
}

const requestOf = (
  paths: readonly string[],
  { format, source, strict, dryRun, replace, wait }: ImportFlags,
): FilesToImport => ({
  paths,
  format,
  source,
  strict: strict === true,
  dryRun: dryRun === true,
  replace: replace === true,
  wait,
});

function addLists(program: Command, session: Session): void {
  const imports = program
    .command('imports')
    .option('--limit <n>', 'at most this many', count, MOST_LISTED)
    .addHelpText('after', '\nExamples:\n  bursar imports --limit 10\n  bursar imports undo 12')
    .action(async ({ limit }: { limit: number }) => {
      const listed = await (await session.client()).imports.list(limit);
      session.print({ imports: listed }, () =>
        table(
          ['import', 'at', 'by', 'source', 'file', 'format', 'rows', 'accepted', 'rejected', 'unchanged', 'undone'],
          listed.map((i) => [
            i.id,
            i.importedAt,
            i.importedBy,
            i.source,
            i.file,
            i.format,
            i.rows,
            i.accepted,
            i.rejected,
            i.unchanged,
            i.undoneAt === null ? '' : `${i.undoneAt} by ${i.undoneBy ?? ''}`,
          ]),
        ),
      );
    });

  imports
    .command('undo')
    .description(
      'Undo a whole import: everything that its call brought, bills and metered usage alike, or a price list.',
    )
    .argument('<id>', 'as bursar imports shows it')
    .addHelpText(
      'after',
      `
Bills that it replaced are restored, and for records that it restated the earlier statement counts again. A record
that a later import only repeated is removed too: send it again. Of a price list, the prices that no other list states
are withdrawn.

Example:
  bursar imports undo 12`,
    )
    .action(async (id: string) => {
      if (!/^\d{1,18}$/.test(id)) throw new WrongUse(`${id} is not the id of an import: bursar imports shows them`);
      const undone = await (await session.client()).imports.undo(id);
      session.print({ undone }, () => undoneText(undone));
    });

  addRejects(program, session);
}

function addRejects(program: Command, session: Session): void {
  program
    .command('rejects')
    .option('--import <id>', 'only of this import')
    .option('--limit <n>', 'at most this many', count, MOST_LISTED)
    .addHelpText('after', '\nExample:\n  bursar rejects --import 3')
    .action(async ({ import: id, limit }: { import?: string; limit: number }) => {
      const rejects = await (await session.client()).imports.rejects(id ?? null, limit);
      session.print({ rejects }, () =>
        table(
          ['import', 'file', 'line', 'column', 'reason', 'raw'],
          rejects.map((r) => [r.import, r.file, r.line, r.column, r.reason, r.raw]),
          'No row was rejected.\n',
        ),
      );
    });
}

function undoneText({ files, records, restored, restoredRecords, prices }: UndoneImport): string {
  if (prices > 0 && records === 0)
    return `${printable(files.map(({ file }) => file).join(', '))}: ${grouped(prices)} prices are withdrawn.\n`;
  return [
    `${files.map(({ file }) => file).join(', ')}: ${grouped(records)} records and bill lines are removed.`,
    ...restored.map(
      (r) =>
        `The bill of ${r.provider}${r.account === null ? '' : ` account ${r.account}`} from ${nearestDay(Date.parse(r.periodStart))} that it had replaced is restored (${grouped(r.records)} records).`,
    ),
    ...(restoredRecords === 0 ? [] : [`${grouped(restoredRecords)} records count again as they were stated before.`]),
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
}

type Counts = Pick<ImportedPrices, 'file' | 'format' | 'rows' | 'accepted' | 'rejected' | 'unchanged'>;

const countsTable = (files: readonly Counts[]): string =>
  table(
    ['file', 'format', 'rows', 'accepted', 'rejected', 'unchanged'],
    files.map((f) => [
      f.file,
      f.format,
      grouped(f.rows),
      grouped(f.accepted),
      grouped(f.rejected),
      grouped(f.unchanged),
    ]),
  );

const nameOf = ({ provider, account, periodStart, records }: ReplacedBill): string =>
  `the bill of ${provider}${account === null ? '' : ` account ${account}`} from ${nearestDay(Date.parse(periodStart))} (${grouped(records)} records)`;

/** Billed totals keep every digit: they are what is compared with the bill. */
export function usageText(files: readonly ImportedFile[]): string {
  const billed = files.flatMap((f) => f.billed.map((b) => [f.file, b.provider, b.amount, b.currency]));
  const notes = files.flatMap((f) => [
    ...f.replaced.map((bill) => `${f.file} replaced ${nameOf(bill)}`),
    ...f.removed.map(
      (bill) =>
        `removed: ${nameOf(bill)} came together with the bill that ${f.file} restates, and is ` +
        (files.length === 1 ? 'not in this file' : 'in none of these files'),
    ),
    ...(f.restated === 0 ? [] : [`${f.file} restated ${grouped(f.restated)} record(s) that were sent before`]),
    ...(f.outdated === 0
      ? []
      : [
          `${f.file}: ${grouped(f.outdated)} record(s) change nothing: later statements of their ids are already there`,
        ]),
    ...f.warnings.map((warning) => `${f.file}: ${warning}`),
    ...(f.unknownColumns.length === 0
      ? []
      : [
          `${f.file} has ${f.unknownColumns.length} column(s) that the format does not know, kept aside: ${f.unknownColumns.join(', ')}`,
        ]),
  ]);
  return (
    countsTable(files) +
    (billed.length === 0 ? '' : `\n${table(['file', 'provider', 'billed', 'currency'], billed)}`) +
    notes.map((note) => `${printable(note)}\n`).join('')
  );
}

async function firstRejects(imports: ImportClient, files: readonly ImportedFile[]): Promise<string> {
  const parts: string[] = [];
  for (const file of files) {
    if (file.rejected === 0 || file.import === null) continue;
    const rejects = await imports.rejects(file.import, FIRST_REJECTS);
    parts.push(
      `\n${printable(file.file)}: ${grouped(file.rejected)} row(s) were rejected; the first:\n`,
      table(
        ['line', 'column', 'reason'],
        rejects.map((r) => [r.line, r.column, r.reason]),
      ),
      `All of them: bursar rejects --import ${file.import}\n`,
    );
  }
  return parts.join('');
}

const openText = ({ name, files }: Delivery): string =>
  `${files.length} file(s) are in the delivery ${name}. They do not count yet: bursar deliveries --commit ${name}\n`;

function afterword({ dryRun, wait }: ImportFlags): string {
  if (dryRun) return 'Nothing was written (--dry-run).\n';
  return wait ? '' : 'Did not wait (--no-wait): pricing and the evaluation of budgets follow when Bursar runs.\n';
}
