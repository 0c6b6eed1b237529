/** bursar audit: who did what. */
import type { Command } from 'commander';
import { count } from '../flags.js';
import type { Session } from '../session.js';
import { table } from '../table.js';

const MOST_LISTED = 100;

export function addAudit(program: Command, session: Session): void {
  program
    .command('audit')
    .description('List who did what, newest first.')
    .option('--limit <n>', 'at most so many', count, MOST_LISTED)
    .addHelpText('after', '\nExample:\n  bursar audit --limit 20')
    .action(async ({ limit }: { limit: number }) => {
      const audit = await (await session.door()).audit(limit);
      session.print({ audit }, () =>
        table(
          ['at', 'who', 'what', 'target', 'detail'],
          audit.map((a) => [
            a.at,
            a.actor,
            a.verb,
            a.target,
            Object.keys(a.detail).length === 0 ? null : JSON.stringify(a.detail),
          ]),
        ),
      );
    });
}
