/** bursar archive: raw records of old months to a folder or an object store, and back. Local only. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Done } from '../../application/usage/archive.js';
import { WHOLE } from '../context.js';
import { actor, type Session } from '../session.js';
import { table } from '../table.js';

/** Bills and corrections of the months before are still on their way. */
const LEAST_MONTHS = 3;
const DEFAULT_MONTHS = 13;

function months(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < LEAST_MONTHS || value > 1200)
    throw new InvalidArgumentError(`It is not a whole number from ${LEAST_MONTHS} to 1200.`);
  return value;
}

/** Loaded where it is used: no other verb needs what knows the tables. */
const archiving = () => import('../../application/usage/archive.js');

const local = (session: Session) => session.own({ ...WHOLE, parts: false });

const words = ({ files, blocks, records, bytes }: Done, what: string): string =>
  `${what}: ${records} records of ${blocks} blocks, ${files} files, ${bytes} bytes.\n`;

export function register(program: Command, session: Session): void {
  const archive = program.command('archive').addHelpText(
    'after',
    `
BURSAR_ARCHIVE names the folder, or s3://bucket/prefix. Costs, sums per hour and ids stay in the database.

Examples:
  bursar archive run --older-than 13
  bursar archive list
  bursar archive restore 2025-03`,
  );

  archive
    .command('run')
    .description(
      'Archive the months before the ones that stay, file by file. Each file is read back and compared first.',
    )
    .option('--older-than <months>', 'months that stay beside the current one', months, DEFAULT_MONTHS)
    .addHelpText('after', '\nSafe to interrupt and to repeat.\n\nExample:\n  bursar archive run --older-than 24')
    .action(async ({ olderThan }: { olderThan: number }) => {
      const { stores, organisation, archive: open } = await local(session);
      const now = session.context.clock.now();
      const { archiveBefore, monthsBefore } = await archiving();
      const done = await archiveBefore(
        stores,
        open(),
        organisation,
        { before: monthsBefore(now, olderThan), by: actor(), now },
        (path, records) => session.note(`${path}: ${records} records\n`),
      );
      session.print(done, () => words(done, 'Archived'));
    });

  archive
    .command('list')
    .description('List the files, with the months and sources that they hold.')
    .addHelpText('after', '\nExample:\n  bursar archive list --json')
    .action(async () => {
      const { stores, organisation } = await local(session);
      const files = await stores.archives.files(organisation);
      session.print({ files }, () =>
        table(
          ['month', 'source', 'records', 'that count', 'bytes', 'file', 'read back'],
          files.map((one) => [one.month, one.source, one.records, one.counted, one.bytes, one.path, one.restoredAt]),
        ),
      );
    });

  addRestore(archive, session);
}

function addRestore(archive: Command, session: Session): void {
  archive
    .command('restore')
    .description('Read a month back into the database; it stays for at least thirty days.')
    .argument('<month>', 'as the list names it: 2025-03')
    .option('--source <source>', 'only of this source')
    .addHelpText(
      'after',
      '\nWork that waited for these records is tried again.\n\nExample:\n  bursar archive restore 2025-03',
    )
    .action(async (month: string, { source }: { source?: string }) => {
      const { stores, organisation, archive: open } = await local(session);
      const now = session.context.clock.now();
      const { restoreArchived } = await archiving();
      const done = await restoreArchived(stores, open(), organisation, { month, source }, { by: actor(), now });
      session.print(done, () => words(done, 'Read back'));
    });
}
